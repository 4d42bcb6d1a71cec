"""Cycles of dependencies between transactions: each history is a table of who wrote and read what where."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.jsonl import check_history, exit_status, summary
from checks.anomalies.cycles import _components, dependencies, read_cycles, write_cycles
from checks.view import Evidence
from tests.unit.checks.histories import Row, polled, sent, view


def wrote(transaction: int, offset: int, *, outcome: str = "ok") -> Row:
    """A transaction of process w has a value at an offset; the value is named for both."""
    return sent(100 * transaction + offset, offset, outcome, process="w", transaction=transaction)


def read(transaction: int, offset: int, *, writer: int) -> Row:
    """A transaction was given a transaction's value at an offset."""
    return polled(offset, 100 * writer + offset, process="w", transaction=transaction)


def cycles(*partitions: list[Row]) -> tuple[Sequence[Evidence], Sequence[Evidence]]:
    edges = [one for rows in partitions for one in dependencies(view(*rows))]
    return write_cycles(edges), read_cycles(edges)


def of(evidence: Sequence[Evidence]) -> list[list[tuple[str, int, int]]]:
    return [[(edge["kind"], edge["before"][1], edge["after"][1]) for edge in row["cycle"]] for row in evidence]


def test_two_transactions_interleaved_in_two_partitions() -> None:
    g0, g1c = cycles([wrote(1, 0), wrote(2, 1)], [wrote(2, 0), wrote(1, 1)])
    assert [sorted(edges) for edges in of(g0)] == [[("write-write", 1, 2), ("write-write", 2, 1)]]
    assert g1c == []


def test_two_transactions_in_one_order_everywhere() -> None:
    assert cycles([wrote(1, 0), wrote(2, 1)], [wrote(1, 0), wrote(2, 1)]) == ([], [])


def test_a_transaction_that_read_what_was_written_after_it() -> None:
    g0, g1c = cycles([wrote(1, 0), wrote(2, 1)], [wrote(2, 0), read(1, 0, writer=2)])
    assert g0 == []
    assert of(g1c) == [[("write-read", 2, 1), ("write-write", 1, 2)]]


def test_two_transactions_that_read_each_other() -> None:
    _, g1c = cycles([wrote(1, 0), read(2, 0, writer=1)], [wrote(2, 0), read(1, 0, writer=2)])
    assert [{kind for kind, _, _ in edges} for edges in of(g1c)] == [{"write-read"}]


def test_reading_what_was_written_before_is_no_cycle() -> None:
    assert cycles([wrote(1, 0), read(2, 0, writer=1), wrote(2, 1)]) == ([], [])


def test_reading_ones_own_is_no_cycle() -> None:
    assert cycles([wrote(1, 0), read(1, 0, writer=1)]) == ([], [])


def test_a_cycle_through_three() -> None:
    g0, _ = cycles([wrote(1, 0), wrote(2, 1)], [wrote(2, 0), wrote(3, 1)], [wrote(3, 0), wrote(1, 1)])
    assert [len(edges) for edges in of(g0)] == [3]


def test_an_aborted_transaction_has_no_place() -> None:
    aborted = [wrote(2, 0, outcome="fail"), wrote(1, 1)]
    assert cycles([wrote(1, 0), wrote(2, 1)], aborted) == ([], [])


def test_a_dependency_says_what_shows_it() -> None:
    (edge,) = dependencies(view(wrote(1, 4), wrote(2, 7)))
    assert (edge["topic"], edge["partition"], edge["offset"], edge["next_offset"]) == ("t", 0, 4, 7)
    assert (edge["sequence"], edge["next"]["sequence"]) == (104, 207)


def test_sends_between_two_transactions_part_them_not() -> None:
    (edge,) = dependencies(view(wrote(1, 0), sent(5, 1), wrote(2, 2)))
    assert (edge["before"], edge["after"]) == (["w", 1], ["w", 2])


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_components_are_what_reaches_each_other(edges: set[tuple[int, int]]) -> None:
    graph: dict[Any, list[Any]] = {("w", n): [("w", b) for a, b in sorted(edges) if a == n] for n in range(8)}
    reach = np.eye(8, dtype=bool)
    for a, b in edges:
        reach[a, b] = True
    for via in range(8):
        reach |= np.outer(reach[:, via], reach[via])
    mutual = reach & reach.T
    expected = {frozenset(np.flatnonzero(row).tolist()) for row in mutual if row.sum() > 1}
    assert {frozenset(n for _, n in component) for component in _components(graph)} == expected


@pytest.mark.parametrize(("order", "names"), [((0, 1), ["G0"]), ((1, 0), [])])
def test_cycles_run_through_all_keys_of_a_history(tmp_path: Path, order: tuple[int, int], names: list[str]) -> None:
    first = [["send", "k", [0, "a"]], ["send", "l", [order[1], "b"]]]
    second = [["send", "k", [1, "c"]], ["send", "l", [order[0], "d"]]]
    lines: list[dict[str, Any]] = [
        {"process": n, "type": "ok", "f": "txn", "value": value} for n, value in enumerate((first, second))
    ]
    polls = {"k": [[0, "a"], [1, "c"]], "l": sorted([[order[1], "b"], [order[0], "d"]])}
    lines.append({"process": 9, "type": "ok", "f": "poll", "value": [["poll", polls]]})
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    findings = check_history(path)
    found = findings.findings
    assert [finding.anomaly for finding in found] == names
    assert exit_status(findings) == 0
    assert next(iter(summary(findings))) == (
        "G0: 1 (no contradiction: Kafka's transactions allow cycles of writes)"
        if names
        else "no anomaly and nothing in doubt"
    )
    if found:
        assert found[0].evidence[0].detail["cycle"][0]["value"] in ("a", "d")


def test_a_read_in_a_cycle_is_a_contradiction(tmp_path: Path) -> None:
    lines = [
        {"process": 0, "type": "ok", "f": "txn", "value": [["send", "x", [0, "a"]], ["poll", {"y": [[0, "b"]]}]]},
        {"process": 1, "type": "ok", "f": "txn", "value": [["send", "y", [0, "b"]], ["poll", {"x": [[0, "a"]]}]]},
    ]
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    findings = check_history(path)
    assert ([finding.anomaly for finding in findings.findings], exit_status(findings)) == (["G1c"], 1)
