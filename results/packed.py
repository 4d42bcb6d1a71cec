"""Build step of the package: its ledger and the cells made of it are compressed to a tenth, and stay so when installed.

An installation without extras is to take 30 MB at most, and both grow with each night. In a checkout they stay as they
are: lines that are added, which Git compares.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RESULTS = Path("results")
PACKED = ("ledger/*.jsonl", "cells.jsonl")
PROGRAM = Path("kafka_chaos", "program")
"""Where a wheel has the program's packages (kafka_chaos/__main__.py)."""


class PackedLedger(BuildHookInterface):  # type: ignore[type-arg]  # of whatever configuration
    """Puts each of these files into the wheel compressed; pyproject.toml leaves the plain ones out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compress them, before the wheel is made. The same lines become the same bytes."""
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self.root)
        for path in sorted(path for files in PACKED for path in (root / RESULTS).glob(files)):
            packed = Path(self._folder.name) / f"{path.name}.gz"
            packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            build_data["force_include"][str(packed)] = f"{PROGRAM / path.relative_to(root)}.gz"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compressed files, which are in the wheel."""
        self._folder.cleanup()
