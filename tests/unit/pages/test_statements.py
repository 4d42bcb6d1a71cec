"""The page of the design documents' statements: its registry names what exists, and its verdicts are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import results
from checks import claims
from harness.scenario import all_scenarios
from pages.statements import page
from pages.statements.documents import STATEMENTS
from pages.statements.judged import StatementVerdict, all_judged, judged
from pages.statements.statement import Area, Statement
from pages.statements.witness import RunTally, Witness, against, as_documented, held, held_everywhere, kept

CLAIM = "leader-elected-from-isr"


def cell(version: str, good: int = 0, bad: int = 0, unknown: int = 0, lost: int = 0, **outcomes: int) -> dict[str, Any]:
    """A row of cells.jsonl of so many runs; `outcomes` are those of CLAIM."""
    verdicts = {"as-documented": good, "unexpected": bad, "unknown": unknown}
    return {
        "version": version,
        "runs": good + bad + unknown,
        "good": good,
        "verdicts": verdicts,
        "lost": lost,
        "claims": {CLAIM: outcomes} if outcomes else {},
    }


def data(*cells: Mapping[str, Any], case: str = "default", scenario: str = "baseline") -> dict[str, Any]:
    return {scenario: {"cases": {case: {one["version"]: one for one in cells}}}}


def statement(*by: Witness, not_yet: str = "") -> Statement:
    return Statement(number=1, area=Area.REPLICAS, sentence="Brokers are brokers.", by=by, not_yet=not_yet)


@pytest.mark.parametrize(
    ("witness", "found"),
    [
        (as_documented("baseline"), RunTally(4, 1)),
        (as_documented("baseline", "other"), None),
        (as_documented("double-failover"), None),
        (kept("baseline"), RunTally(2, 3)),
        (held("baseline", CLAIM), RunTally(3, 2)),
        (held("baseline", "leader-epoch-rises-by-one"), None),
        (held_everywhere(CLAIM), RunTally(3, 2)),
        (against(held("baseline", CLAIM)), RunTally(2, 3)),
    ],
)
def test_runs_that_say_something_are_counted(witness: Witness, found: RunTally | None) -> None:
    row = cell("4.3.1", good=4, bad=1, unknown=2, lost=3, held=3, contradicted=2)
    assert witness.by_version(data(row)) == ({} if found is None else {"4.3.1": found})


def test_of_several_claims_the_weakest_counts() -> None:
    row = cell("4.3.1", good=3) | {"claims": {"a": {"held": 3}, "b": {"held": 2, "not-observed": 1}}}
    assert held("baseline", "a", "b").by_version(data(row)) == {"4.3.1": RunTally(2, 0)}


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ([cell("2.8.2", good=5), cell("4.3.1", good=5)], StatementVerdict.SHOWN),
        ([cell("2.8.2", good=5), cell("4.3.1", good=5, bad=1)], StatementVerdict.NOT_ALWAYS),
        ([cell("2.8.2", good=5), cell("4.3.1", bad=5)], StatementVerdict.DEPENDS),
        ([cell("2.8.2", good=1, bad=5)], StatementVerdict.CONTRADICTED),
        ([cell("2.8.2", unknown=5)], StatementVerdict.NOT_RUN),
        ([], StatementVerdict.NOT_RUN),
    ],
)
def test_the_verdict_follows_from_the_runs(cells: list[dict[str, Any]], verdict: StatementVerdict) -> None:
    assert judged(statement(as_documented("baseline")), data(*cells)).verdict == verdict


def test_a_statement_is_false_on_a_release_if_one_part_of_it_is() -> None:
    rows = data(cell("4.3.1", good=5, lost=5))
    one = judged(statement(as_documented("baseline"), kept("baseline")), rows)
    assert (one.verdict, one.tally("4.3.1"), one.runs) == (StatementVerdict.CONTRADICTED, RunTally(5, 5), 10)


def test_what_is_left_open_makes_it_shown_in_part_or_not_at_all() -> None:
    rows = data(cell("4.3.1", good=5))
    assert judged(statement(as_documented("baseline"), not_yet="the rest"), rows).verdict == StatementVerdict.IN_PART
    assert judged(statement(not_yet="all of it"), rows).verdict == StatementVerdict.NOT_SHOWN


# The registry


def test_statements_are_numbered_in_the_order_of_the_documents() -> None:
    assert [one.number for one in STATEMENTS] == list(range(1, 83))
    assert sorted(STATEMENTS, key=lambda one: list(Area).index(one.area)) == list(STATEMENTS)


@pytest.mark.parametrize("one", STATEMENTS, ids=lambda one: str(one.number))
def test_a_statement_names_scenarios_cases_and_claims_that_exist(one: Statement) -> None:
    known = all_scenarios()
    for witness in one.by:
        assert set(witness.claims) <= claims.CATALOGUE.keys()
        if witness.scenario:
            made = known[witness.scenario]
            assert set(witness.cases) <= made.cases.keys()
            cases = witness.cases or tuple(made.cases)
            declared = {
                name
                for version in made.versions
                for case in cases
                if made.applies_to(version, made.cases[case])
                for name in made.documented_for(version, case).claims
            }
            assert set(witness.claims) <= declared, f"{witness.scenario} states no such claim"


@pytest.mark.parametrize("one", STATEMENTS, ids=lambda one: str(one.number))
def test_a_statement_is_shown_or_says_what_is_missing(one: Statement) -> None:
    assert one.by or one.not_yet or one.not_showable
    assert len(set(one.by)) == len(one.by)


def test_no_statement_is_without_a_scenario_and_none_without_a_run() -> None:
    every = all_judged(STATEMENTS, results.by_scenario())
    assert [one.statement.number for one in every if not (one.statement.by and one.runs)] == []


def test_of_a_statement_that_a_release_contradicts_it_is_said_why() -> None:
    against = {StatementVerdict.DEPENDS, StatementVerdict.CONTRADICTED}
    every = all_judged(STATEMENTS, results.by_scenario())
    assert [one.statement.number for one in every if one.verdict in against and not one.statement.corrected] == []


@pytest.mark.parametrize("number", [8, 16, 55, 57])
def test_the_page_says_where_the_documents_are_wrong(number: int) -> None:
    assert STATEMENTS[number - 1].corrected
    assert f"\n- **{number}.** " in page.page(results.by_scenario())


# The page


def test_the_page_has_every_statement_with_its_verdict() -> None:
    made = page.page(results.by_scenario())
    headings = [line.removeprefix("### ") for line in made.splitlines() if line.startswith("### ")]
    assert [heading.partition(". ")[0] for heading in headings] == [str(number) for number in range(1, 83)]
    assert {heading.partition(". ")[2] for heading in headings} <= set(StatementVerdict)


def test_an_entry_tells_witnesses_releases_and_what_is_open() -> None:
    rows = data(cell("2.8.2", good=5), cell("4.3.1", good=2, bad=1))
    told = page.entry(judged(statement(as_documented("baseline"), not_yet="the rest"), rows))
    assert told == [
        "[baseline](scenarios/baseline.md): 7 of 8 runs ended as documented.",
        "Shown on 2.8.2 (5).",
        "Not in every run on 4.3.1 (2 of 3).",
        "Open: the rest.",
    ]


def test_the_summary_counts_each_statement_once() -> None:
    found = page.summary([judged(one, {}) for one in STATEMENTS])
    assert [line[-1] for line in found] == ["19", "32", "13", "10", "8", "82"]
