"""The rows of cells, by Spark: what one process makes of the ledger, Spark makes of it too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import results
from analysis.ledger import rows, text_of
from evidence import ledger
from evidence.ledger import AnyLine
from tests.ledgers import ended, judged, restored, restored_cell, started

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]


def derived(folder: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis.ledger", str(folder), "--out", str(out)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_spark_makes_the_rows_that_one_process_makes(tmp_path: Path) -> None:
    """Of a part of this repository's ledger, and of runs that it does not have yet."""
    folder = tmp_path / "ledger"
    folder.mkdir()
    for name in ("memory-survives", "last-replica-standing", "audit-none"):
        file = results.ROOT / results.LEDGER / f"{name}.jsonl"
        (folder / file.name).write_bytes(file.read_bytes())
    more: list[AnyLine] = [
        started("r1"),
        ended("r1"),
        judged("r1", "unexpected", lost=1, anomalies={"lost-write": 1}),
        started("r2"),
    ]
    more += [restored("r0"), restored_cell(1, 1, "r0", seen={"x": 1}), started("r3", case="other"), judged("r3")]
    for line in more:
        ledger.append(folder / "s.jsonl", line)
    done = derived(folder, tmp_path / "cells.jsonl")
    assert done.returncode == 0, done.stderr
    every = [line for file in sorted(folder.glob("*.jsonl")) for _, line in ledger.read(file)]
    assert (tmp_path / "cells.jsonl").read_text() == text_of(rows(every))
    assert f"{len(rows(every))} cells" in done.stdout


def test_a_folder_without_a_ledger_is_told_in_one_line(tmp_path: Path) -> None:
    done = derived(tmp_path, tmp_path / "cells.jsonl")
    assert (done.returncode, done.stderr.count("\n")) == (254, 1), done.stderr
    assert "no ledger here" in done.stderr
