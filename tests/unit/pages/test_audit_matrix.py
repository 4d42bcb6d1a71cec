"""The matrix as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from audit.cells import Cell, CellKey
from pages.audit_matrix import of_fault, page, pages
from tests.unit.audit.test_cells import cell, key, ran

FAULT = "leader-crash-behind"


def lost(at: CellKey, *counts: int) -> Cell:
    return cell(at, *(ran(f"r{number}", lost=count) for number, count in enumerate(counts)))


def entry(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def of_all(cells: Sequence[Cell]) -> str:
    """The table of every client and setting."""
    return of_fault(cells, FAULT).rpartition("not measured.")[2]


def test_a_cell_that_always_loses_has_no_number_and_one_that_sometimes_does_has() -> None:
    told = of_all([lost(key(), 7, 7), lost(key(acks="all"), 7, 0)])
    assert entry(told, "| acks=1, 5 in flight |").endswith("| **loses** |")
    assert entry(told, "| acks=all, 5 in flight |").endswith("| **loses** 1/2 |")


def test_cells_that_came_to_the_same_share_a_row_and_others_do_not() -> None:
    cells = [lost(key(), 7), lost(key(client="librdkafka"), 7), lost(key(replication_factor=2), 0)]
    rows = [line for line in of_all(cells).splitlines() if line.startswith("| acks=1")]
    assert rows == [
        "| acks=1, 5 in flight | java | 2/1 | kept |",
        "| acks=1, 5 in flight | librdkafka, java | 3/1 | **loses** |",
    ]


def test_what_was_not_measured_is_said() -> None:
    told = of_all([lost(key(), 7), lost(key(line="kraft", version="4.3.1", acks="0"), 7)])
    assert entry(told, "| acks=0 |") == "| acks=0 | java | 3/1 | · | **loses** |"


def test_what_is_not_as_stated_is_listed_with_what_was_stated_and_seen() -> None:
    told = page([lost(key(), 7, 0)])
    assert "## Not as stated: 1 cells" in told
    assert "| loses | loses 1/2 |" in told
    assert "No run contradicts the expected result of its cell" in page([lost(key(), 7)])


def test_what_differs_between_runs_is_counted_with_what_is_stated_of_it() -> None:
    cells = [lost(key(), 7, 0), lost(key(acks="all"), 0, 0)]
    assert "In 1 cells the runs differ" in page(cells)
    told = of_fault(cells, FAULT)
    assert "The runs of 1 of 2 cells differ" in told
    assert f"| loses | 1 | {cell().stated.why} |" in told
    assert "Not the same" not in of_fault([lost(key(), 7, 7)], FAULT)
    assert "Every cell came to the same in each of its runs." in page([lost(key(), 7, 7)])


def test_how_often_each_fault_was_measured_is_said_for_each_line() -> None:
    kraft = lost(key(line="kraft", version="4.3.1"), 7)
    told = page([lost(key(), 7, 7), lost(key(acks="all"), 0), kraft])
    assert "| leader-crash-behind | 1–2 | 1 |" in told
    assert "| none | · | 1 |" in page([lost(key(), 7), replace(kraft, key=replace(kraft.key, fault="none"))])


def test_the_atlas_of_a_measured_release_has_the_worst_outcome_and_its_runs() -> None:
    of_java = key(client="java", line="epoch", version="2.8.2")
    told = page([lost(of_java, 7, 0), lost(replace(of_java, acks="0"), 0, 0, 0)])
    assert "### 2.8.2" in told
    row = entry(told, "| [Leader killed, followers behind](scenarios/audit-leader-crash-behind.md)")
    assert row.split(" | ")[1:4] == ["✓ 3", "✕ 1/2?", "·"]
    assert "## The Atlas" not in page([lost(replace(of_java, version="2.8.1"), 7)])


def test_costs_are_medians() -> None:
    runs = [
        ran(f"r{n}", latency_p50_ms=p50, latency_p99_ms=9.0, records_per_s=1000.0)
        for n, p50 in enumerate((1.0, 2.0, 8.0))
    ]
    cells = [replace(cell(key("none"), *runs), stated=replace(cell().stated, must=frozenset()))]
    told = of_fault(cells, "none")
    assert "| acks=1, 5 in flight | java | 3/1 | 2.0 / 9.0; 1 000/s |" in told


def test_the_page_of_a_fault_has_its_row_of_each_atlas() -> None:
    of_java = key(client="java", line="epoch", version="2.8.2")
    pinned = lost(replace(of_java, line="pinned", version="3.9.2-pinned"), 0)
    told = of_fault([lost(of_java, 7, 0), pinned], FAULT)
    assert "| settings | 2.8.2 | 3.9.2-pinned |" in told
    assert entry(told, "| acks=1 |") == "| acks=1 | ✕ 1/2? | ✓ 1? |"
    assert "There is no idempotence on 3.9.2-pinned." in told
    assert "### Every client and setting" not in of_fault([lost(replace(of_java, version="2.8.1"), 7)], FAULT)


def test_what_was_not_run_is_on_no_page() -> None:
    assert pages([replace(lost(key(), 7), runs=())])["audit-matrix.md"].count("**0 cells**") == 1
    assert of_fault([replace(lost(key(), 7), runs=())], "leader-crash-behind") == ""


def test_what_is_not_on_record_of_its_runs_is_said() -> None:
    aside = [{"run": "r0", "runs": 1, "why": "modified"}, {"run": "of another time", "runs": 1, "why": "modified"}]
    row = {"runs": 5, "verdicts": {"not told": 3, "as-documented": 2}, "aside": aside}
    told = page([lost(key(), 7)], {"audit-none": {"cases": {"default": {"4.3.1": row}}}, "baseline": {"cases": {}}})
    assert "verdict of 2 runs of these faults. It has the name and no verdict of 3 runs" in told
    assert "Runs of a tree with changes stay in the files of the matrix and count in no cell." in told
    assert "the ledger" not in page([lost(key(), 7)])
