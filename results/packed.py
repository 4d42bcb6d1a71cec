"""Build step of the package: its ledger is compressed, to a tenth of 6 MB, and takes no more than that when installed.

An installation without extras is to take 30 MB at most, and the ledger grows with each night. In a checkout it stays
as it is: lines that are added, which Git compares.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEDGER = Path("results", "ledger")
PROGRAM = Path("kafka_chaos", "program")
"""Where a wheel has the program's packages (kafka_chaos/__main__.py)."""


class PackedLedger(BuildHookInterface):  # type: ignore[type-arg]  # of whatever configuration
    """Puts each file of results/ledger/ into the wheel compressed; pyproject.toml leaves the plain ones out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compress them, before the wheel is made. The same lines become the same bytes."""
        self._folder = tempfile.TemporaryDirectory()
        for path in sorted((Path(self.root) / LEDGER).glob("*.jsonl")):
            packed = Path(self._folder.name) / f"{path.name}.gz"
            packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            build_data["force_include"][str(packed)] = str(PROGRAM / LEDGER / packed.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compressed files, which are in the wheel."""
        self._folder.cleanup()
