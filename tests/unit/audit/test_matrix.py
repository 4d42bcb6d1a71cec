"""The measured matrix as files: nothing is lost, a run more changes no line, and damage is told in one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from audit.cells import Cell
from audit.matrix import load, save
from evidence.errors import UsageError
from tests.unit.audit.test_cells import cell, key, ran

KRAFT = key(version="4.3.1", line="kraft")
NONE = key("none")


def files(folder: Path, cells: Iterable[Cell]) -> dict[str, str]:
    save(cells, folder)
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.csv")}


def test_what_is_saved_is_loaded_and_sorted_whatever_the_order(tmp_path: Path) -> None:
    cells = [
        cell(NONE, ran("r3", latency_p50_ms=1.5, refused=2), must="refuses"),
        cell(key(), ran("r1", lost=7), ran("r2", unknown_present=1, unknown_absent=3)),
        replace(cell(KRAFT, ran("r0", commit="", client_release="")), overrides={"a.ms": "1", "b": "x=y"}),
    ]
    assert files(tmp_path / "a", cells) == files(tmp_path / "b", reversed(cells))
    assert list(load(tmp_path / "a")) == cells
    assert load(tmp_path / "none") == ()


def test_a_run_more_is_a_line_for_it_and_one_for_each_of_its_cells_behind_the_others(tmp_path: Path) -> None:
    other = key(acks="all")
    before = files(tmp_path, [cell(None, ran("r2")), cell(other, ran("r2"))])
    after = files(tmp_path, [cell(None, ran("r2"), ran("r1", lost=3)), cell(other, ran("r2"), ran("r1"))])
    changed = {name: after[name].removeprefix(text) for name, text in before.items() if after[name] != text}
    assert {name: text.count("\n") for name, text in changed.items()} == {
        "runs.csv": 1,
        "counts/leader-crash-behind.csv": 2,
    }
    assert changed["runs.csv"].startswith("2,r1,leader-crash-behind,2.8.2,")
    assert [[run.run for run in one.runs] for one in load(tmp_path)] == [["r1", "r2"], ["r1", "r2"]]


def test_another_rule_changes_no_measurement(tmp_path: Path) -> None:
    before = files(tmp_path, [cell(), cell(key(acks="all"))])
    after = files(tmp_path, [cell(), cell(key(acks="all"), must="reorders")])
    assert {name for name, text in before.items() if after[name] != text} == {
        "stated.csv",
        "cells/leader-crash-behind.csv",
    }
    assert after["stated.csv"].startswith(before["stated.csv"])


def test_a_fault_that_is_measured_no_more_has_no_files(tmp_path: Path) -> None:
    assert "cells/none.csv" in files(tmp_path, [cell(), cell(NONE, ran("r2"))])
    assert set(files(tmp_path, [cell()])) == {
        "runs.csv", "stated.csv", "given.csv", "cells/leader-crash-behind.csv", "counts/leader-crash-behind.csv",
    }  # fmt: skip


def test_latencies_are_columns_of_the_fault_that_is_none(tmp_path: Path) -> None:
    made = files(tmp_path, [cell(), cell(NONE, ran("r2", latency_p50_ms=0.25))])
    assert made["counts/none.csv"].splitlines()[0].endswith("latency_p50_ms,latency_p99_ms,records_per_s")
    assert made["counts/leader-crash-behind.csv"].splitlines()[0].endswith("unknown_absent")


def test_one_run_is_of_one_fault_on_one_version_with_one_release_of_a_client(tmp_path: Path) -> None:
    for other in (cell(NONE), cell(KRAFT), cell(key(acks="all"), ran(client_release="3.0.0"))):
        with pytest.raises(ValueError, match="r1 is not one run"):
            save([cell(), other], tmp_path)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("runs.csv", ""),
        ("runs.csv", "run,id\n"),
        ("stated.csv", "stated,must,may,why,source\n"),
        ("stated.csv", "stated,must,may,why,source\n1,losses,,w,s\n"),
        ("counts/leader-crash-behind.csv", None),
        ("cells/leader-crash-behind.csv", "line,version\n"),
    ],
)
def test_a_damaged_folder_is_told_in_one_line(tmp_path: Path, file: str, text: str | None) -> None:
    save([cell()], tmp_path)
    if text is None:
        (tmp_path / file).write_text((tmp_path / file).read_text() + "1,java\n")
    else:
        (tmp_path / file).write_text(text)
    with pytest.raises(UsageError, match=r"not a measured matrix .*make audit-matrix") as told:
        load(tmp_path)
    assert "\n" not in str(told.value)


def test_a_file_that_is_missing_is_damage(tmp_path: Path) -> None:
    save([cell()], tmp_path)
    (tmp_path / "given.csv").unlink()
    with pytest.raises(UsageError, match=r"not a measured matrix .*given\.csv"):
        load(tmp_path)
