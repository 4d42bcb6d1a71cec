"""The options of `kafka-chaos replicas` and of `python -m kafkafiles.side_by_side`.

Apart from what carries them out: every start of the program builds them, and Arrow takes a second to load.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

DEFAULT_LIMIT: Final = 10
"""Differences shown of each partition."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "directories", nargs="+", type=Path, metavar="DIRECTORY", help="a partition's or a log directory"
    )
    parser.add_argument("--compacted", action="store_true", help="records that one replica lacks are no difference")
    parser.add_argument("--limit", type=int, default=DEFAULT_LIMIT, help="differences shown of each partition")
    parser.add_argument("--json", action="store_true", help="as JSON; keys and values in hexadecimal")
