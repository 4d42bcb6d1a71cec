"""`kafka-chaos replicas`: compares replicas' data directories."""

from __future__ import annotations

import argparse

from evidence.errors import UsageError
from kafkafiles import errors, side_by_side


def run(options: argparse.Namespace) -> int:
    """Compare directories. Raises UsageError for a path that is no partition's directory."""
    try:
        return side_by_side.run(options)
    except errors.FilesError as error:
        raise UsageError(str(error)) from None
