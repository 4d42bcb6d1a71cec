"""The matrix as people read it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

from audit.cells import Cell, CellKey
from pages.audit_matrix import COLOURS, heat_map, page, pages
from tests.unit.audit.test_cells import cell, key, ran

SVG = "{http://www.w3.org/2000/svg}"


def lost(at: CellKey, *counts: int) -> Cell:
    return cell(at, *(ran(f"r{number}", lost=count) for number, count in enumerate(counts)))


def entry(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def test_a_cell_that_always_loses_has_no_number_and_one_that_sometimes_does_has() -> None:
    told = page([lost(key(), 7, 7), lost(key(acks="all"), 7, 0)])
    assert entry(told, "| acks=1, 5 in flight |").endswith("| **loses** |")
    assert entry(told, "| acks=all, 5 in flight |").endswith("| **loses** 1/2 |")


def test_cells_that_came_to_the_same_share_a_row_and_others_do_not() -> None:
    cells = [lost(key(), 7), lost(key(client="librdkafka"), 7), lost(key(replication_factor=2), 0)]
    rows = [line for line in page(cells).splitlines() if line.startswith("| acks=1")]
    assert rows == [
        "| acks=1, 5 in flight | java | 2/1 | kept |",
        "| acks=1, 5 in flight | librdkafka, java | 3/1 | **loses** |",
    ]


def test_what_was_not_measured_is_said() -> None:
    told = page([lost(key(), 7), lost(key(line="kraft", version="4.3.1", acks="0"), 7)])
    assert entry(told, "| acks=0 |") == "| acks=0 | java | 3/1 | · | **loses** |"


def test_what_is_not_as_stated_is_listed_with_what_was_stated_and_seen() -> None:
    told = page([lost(key(), 7, 0)])
    assert "## Not as stated: 1 cells" in told
    assert "| loses | loses 1/2 |" in told
    assert "Every cell came to what was stated" in page([lost(key(), 7)])


def test_what_differs_between_runs_is_counted_with_what_is_stated_of_it() -> None:
    told = page([lost(key(), 7, 0), lost(key(acks="all"), 0, 0)])
    assert "## Not the same in every run: 1 cells" in told
    assert f"| leader-crash-behind | loses | 1 | {cell().stated.why} |" in told
    assert "Every cell came to the same in each of its runs." in page([lost(key(), 7, 7)])


def test_how_often_each_fault_was_measured_is_said_for_each_line() -> None:
    kraft = lost(key(line="kraft", version="4.3.1"), 7)
    told = page([lost(key(), 7, 7), lost(key(acks="all"), 0), kraft])
    assert "| leader-crash-behind | 1–2 | 1 |" in told
    assert "| none | · | 1 |" in page([lost(key(), 7), replace(kraft, key=replace(kraft.key, fault="none"))])


def test_a_heat_map_has_the_worst_of_each_cell_and_a_dot_for_what_cannot_differ() -> None:
    made = ET.fromstring(heat_map([lost(key(), 7, 0), lost(key(acks="all"), 0)], "epoch"))
    titled = {one.find(f"{SVG}title").text: one for one in made.iter() if one.find(f"{SVG}title") is not None}  # type: ignore[union-attr]
    colours = {title.split(", in flight")[0]: one.get("fill") for title, one in titled.items() if title}
    assert colours["leader-crash-behind on 2.8.2: java, acks=1"] == COLOURS["loses"]
    assert colours["leader-crash-behind on 2.8.2: java, acks=all"] == COLOURS[""]
    unclean = replace(key(), unclean=True)
    both = ET.fromstring(heat_map([lost(key(), 7), lost(replace(unclean, acks="all"), 0)], "epoch"))
    dots = list(both.iter(f"{SVG}circle"))
    assert [dot.get("fill") for dot in dots] == [COLOURS["loses"], COLOURS[""]]


def test_costs_are_medians() -> None:
    runs = [
        ran(f"r{n}", latency_p50_ms=p50, latency_p99_ms=9.0, records_per_s=1000.0)
        for n, p50 in enumerate((1.0, 2.0, 8.0))
    ]
    told = page([replace(cell(key("none"), *runs), stated=replace(cell().stated, must=frozenset()))])
    assert "| acks=1, 5 in flight | java | 3/1 | 2.0 / 9.0; 1 000/s |" in told


def test_there_is_a_map_for_each_line_that_was_measured() -> None:
    assert set(pages([lost(key(), 7)])) == {"audit-matrix.md", "audit-matrix-epoch.svg"}
    assert pages([replace(lost(key(), 7), runs=())]).keys() == {"audit-matrix.md"}


def test_what_is_not_on_record_of_its_runs_is_said() -> None:
    aside = [{"run": "r0", "runs": 1, "why": "modified"}, {"run": "of another time", "runs": 1, "why": "modified"}]
    row = {"runs": 5, "verdicts": {"not told": 3, "as-documented": 2}, "aside": aside}
    told = page([lost(key(), 7)], {"audit-none": {"cases": {"default": {"4.3.1": row}}}, "baseline": {"cases": {}}})
    assert "Of 2 runs of these faults the ledger has the verdict. Of 3 runs [the ledger]" in told
    assert "Runs of a tree with changes stay in the files of the matrix and count in no cell." in told
    assert "the ledger" not in page([lost(key(), 7)])
