"""The versions of Kafka that the tests use: the one list of them.

    python -m tests.releases [test]

prints it, or those of it that the tier `test` uses, and `make` sets their images up with what is printed.
tests/unit/test_releases.py holds both against the versions that the tests name, so that none is found missing on a
machine that has nothing.
"""

from __future__ import annotations

import sys
from typing import Final

VERSIONS: Final = ("0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "2.8.2", "3.9.2-zk", "4.3.1", "4.4.0")
"""Oldest first."""
OF_TEST: Final = ("0.10.2.2", "4.3.1")
"""One before leader epochs, and the newest."""

if __name__ == "__main__":
    sys.stdout.write(" ".join(OF_TEST if sys.argv[1:] == ["test"] else VERSIONS) + "\n")
