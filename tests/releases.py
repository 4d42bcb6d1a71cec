"""The versions of Kafka that the tests use: the one list of them.

    python -m tests.releases

prints it, and `make test` sets their images up with what is printed. tests/unit/test_releases.py holds it against the
versions that the tests name, so that none is found missing on a machine that has nothing.
"""

from __future__ import annotations

import sys
from typing import Final

VERSIONS: Final = ("0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "2.8.2", "3.9.2-zk", "4.3.1")
"""Oldest first."""

if __name__ == "__main__":
    sys.stdout.write(" ".join(VERSIONS) + "\n")
