"""What a crash skips and repeats: cells as the data has them, nothing where nothing was run."""

from __future__ import annotations

from typing import Any

from harness.scenario import all_scenarios
from pages import delivery


def cell(good: int, runs: int, **seen: int) -> dict[str, Any]:
    counted = {name.replace("_", "-"): count for name, count in seen.items()}
    return {"runs": runs, "good": good, "verdicts": {}, "seen": counted, "permitted": {}, "ids": ["r1", "r2"]}


def test_a_cell_tells_in_how_many_runs_inputs_were_skipped_and_repeated() -> None:
    assert delivery.cell_text(cell(2, 2, skipped_processing=2)) == "**skips** 2/2, repeats 0/2"
    assert delivery.cell_text(cell(2, 2)) == "skips 0/2, repeats 0/2"
    assert delivery.cell_text(cell(1, 2, repeated_processing=1)) == "skips 0/2, **repeats** 1/2 (1/2 as documented)"
    assert delivery.cell_text(None) == ""
    blind = cell(0, 1) | {"verdicts": {"unknown": 1}}
    assert delivery.cell_text(blind) == "not told: 0/0, 1 unknown as documented"


def test_what_a_way_costs_is_told_if_it_was_measured() -> None:
    paced = {"latency_p50_ms": [2, 8, 9.5, 11], "latency_p99_ms": [2, 30, 31, 32], "inputs_per_s": [2, 90, 120.4, 200]}
    both = cell(2, 2) | {"paces": [paced | {"load": "busy", "inputs_per_s": [9, 1, 2, 3]}, paced | {"load": "quiet"}]}
    assert delivery.cell_text(both) == "skips 0/2, repeats 0/2; 9.5 ms (99 %: 31), 120/s"
    busy = cell(1, 2) | {"paces": [paced | {"load": "busy"}]}
    assert delivery.cell_text(busy) == "skips 0/2, repeats 0/2; 9.5 ms (99 %: 31), 120/s, busy (1/2 as documented)"


def test_what_settings_permit_counts_as_well() -> None:
    permitted = cell(2, 2) | {"permitted": {"repeated-processing": 2}}
    assert delivery.cell_text(permitted) == "skips 0/2, **repeats** 2/2"


def test_the_page_has_a_row_for_each_way_and_a_column_for_what_was_run() -> None:
    data = {"at-most-once": {"cases": {"between": {"4.3.1": cell(2, 2, skipped_processing=2)}}}}
    text = delivery.page(data)
    assert "| code | client | killed | 4.3.1 |" in text
    row = "| [commit, then process](scenarios/at-most-once.md) | librdkafka | between the two |"
    assert f"{row} **skips** 2/2, repeats 0/2 |" in text
    assert text.endswith("\n- at-most-once (between)\n  - 4.3.1: `r1`, `r2`\n")


def test_a_release_outside_the_matrix_has_a_column_if_it_was_run() -> None:
    rows = {version: cell(1, 1) for version in ("4.3.1", "4.2.2")}
    assert "| 4.2.2 | 4.3.1 |" in delivery.page({"share-group": {"cases": {"killed": rows}}})


def test_each_case_of_a_scenario_with_an_application_is_a_way() -> None:
    of_applications = {way.scenario for way in delivery.ROWS}
    cases = {(name, case) for name, one in all_scenarios().items() if name in of_applications for case in one.cases}
    assert {(way.scenario, way.case) for way in delivery.ROWS} == cases
