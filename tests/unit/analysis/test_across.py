"""The checks that cross partitions: cut into groups they find what they find in all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import across
from analysis.across import GatheredRow, Group, GroupFindings, check_group, in_one_process, merged, moments
from analysis.result import Result
from checks.anomalies.cycles import DEPENDENCIES, ends_of
from checks.anomaly import gathered_by
from checks.catalogue import checks_of
from checks.view import EVIDENCE_LIMIT
from evidence.findings import CRASHED
from tests.properties import examples
from tests.unit.analysis.histories_of_transactions import told


def edge(before: int, after: int, before_ns: int, after_ns: int) -> dict[str, Any]:
    place = {"topic": "t", "partition": 0, "offset": 0, "producer": 1, "sequence": 0, "next": {}}
    ends = {"before": ["w", before], "after": ["w", after], "before_ns": before_ns, "after_ns": after_ns}
    return {"kind": "write-write"} | ends | place


def groups_of(results: Sequence[Result]) -> list[Group]:
    """The groups that a run falls into, as Spark makes them, in one process."""
    found: dict[Any, Group] = {}
    kinds = {kind.name: kind for kind in map(gathered_by, checks_of(across.ACROSS))}
    rows = [
        GatheredRow("run", name, (number, place), row)
        for number, result in enumerate(results)
        for name, own in result.gathered.items()
        for place, row in enumerate(own)
    ]
    first_ns: dict[Any, int] = {}
    graph = [one for one in rows if one.kind == DEPENDENCIES.name]
    for one in graph:
        for key, at_ns in across._times_of(one):
            first_ns[key] = min(first_ns.get(key, at_ns), at_ns)
    placed = [(one, moments(one.row, *(first_ns["run", end] for end in ends_of(one.row)))) for one in graph]
    intervals = dict(across._spans(placed)).get(("run", DEPENDENCIES.name), [])
    keyed: list[Any] = [pair for one, ends in placed for pair in across._of_interval(one, ends, intervals)]
    keyed += [
        ((one.run, one.kind, *(one.row[name] for name in kinds[one.kind].by)), (one.at, one.row))
        for one in rows
        if kinds[one.kind].by
    ]
    for key, row in keyed:
        found.setdefault(key, Group("run", key[1], [])).rows.append(row)
    return list(found.values())


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(400), deadline=None)
def test_groups_come_to_what_all_rows_come_to(random: Random) -> None:
    results = told(random)
    found: dict[tuple[str, str], GroupFindings] = {}
    for group in reversed(groups_of(results)):
        for key, one in check_group(group):
            found[key] = found.get(key, GroupFindings()) + one
    assert across._result("run", found).findings == in_one_process(results).findings


def test_a_graph_without_a_way_back_is_in_no_group() -> None:
    result = Result(gathered={DEPENDENCIES.name: [edge(1, 2, 10, 20), edge(2, 3, 20, 30)]})
    assert groups_of([result]) == []


def test_cycles_apart_are_in_groups_apart() -> None:
    rows = [edge(1, 2, 10, 20), edge(2, 1, 20, 10), edge(2, 3, 20, 30), edge(3, 4, 30, 40), edge(4, 3, 40, 30)]
    groups = groups_of([Result(gathered={DEPENDENCIES.name: rows})])
    assert [[place for (_, place), _ in group.rows] for group in groups] == [[0, 1], [3, 4]]
    (finding,) = in_one_process([Result(gathered={DEPENDENCIES.name: rows})]).findings
    assert (finding.anomaly, finding.count) == ("G0", 2)
    assert "before_ns" not in finding.evidence[0].detail["cycle"][0]


def test_intervals_that_meet_in_one_transaction_are_one() -> None:
    a, b, c, d = ((at, ("w", at)) for at in range(4))
    assert merged([(c, d), (a, b)]) == [(a, b), (c, d)]
    assert merged([(b, c), (a, b), (c, d)]) == [(a, d)]
    assert merged([(a, d), (b, c)]) == [(a, d)]


def test_what_is_found_is_cut_to_its_first_rows_and_counted_whole() -> None:
    many = [
        GroupFindings(1, ({"process": "w", "transaction": number},)) for number in reversed(range(EVIDENCE_LIMIT + 2))
    ]
    total = sum(many, GroupFindings())
    assert (total.total, len(total.rows), total.rows[0]["transaction"]) == (EVIDENCE_LIMIT + 2, EVIDENCE_LIMIT, 0)


def test_a_crash_in_a_group_is_what_is_found() -> None:
    torn = Group("run", "transactions_of", [((0, 0), {"process": "w"})])
    ((key, found),) = check_group(torn)
    assert (key, found.crash) == (("run", "torn-transaction"), "KeyError: 'transaction'")
    result = across._result("run", {key: GroupFindings() + found})
    (check,) = (one for one in result.checks if one.name == "torn-transaction")
    assert check.status == CRASHED
    assert "KeyError: 'transaction'" in str(check.reason)


@pytest.mark.parametrize("check", checks_of(across.ACROSS), ids=lambda check: check.anomaly)
def test_evidence_of_every_check_names_its_transaction(check: Any) -> None:
    """By which it is put in order."""
    kind = gathered_by(check)
    assert kind.by in ((), ("process", "transaction"))
