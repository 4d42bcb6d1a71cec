"""The table of verdicts: each of its rules, in their order, and the documentation, which says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judgement.policy import TABLE, Weighed, decide
from judgement.verdict import EXIT_STATUS

DOCS = Path(__file__).parents[3] / "docs" / "how-a-run-works.md"

EACH: list[tuple[dict[str, Any], str]] = [
    ({"unexpected": ("phantom",), "undocumented": ("phantom: 1",)}, "unexpected"),
    ({"contradicted": ("the claim x is contradicted",)}, "unexpected"),
    ({"failure": ("the harness failed: x",)}, "error"),
    ({"doubts": ("a doubt",)}, "unknown"),
    ({"refused": ("records refused",), "undocumented": ("records refused",)}, "unexpected"),
    ({"unshown": ("the claim x was not observed",)}, "unknown"),
    ({"missing": ("lost-write was not seen",)}, "not-reproduced"),
    ({"observed": True}, "observed"),
    ({}, "as-documented"),
]
"""What makes each rule of the table hold, and its verdict."""


@pytest.mark.parametrize(("place", "verdict"), [(place, verdict) for place, (_, verdict) in enumerate(EACH)])
def test_each_rule_outranks_those_below_it(place: int, verdict: str) -> None:
    everything_below: dict[str, Any] = {}
    for part, _ in reversed(EACH[place:]):
        everything_below |= part
    weighed = Weighed(**everything_below)
    assert [rule.verdict for rule in TABLE if rule.holds(weighed)] == [verdict for _, verdict in EACH[place:]]
    told, reasons = decide(weighed)
    assert told == verdict
    first = next((lines for name, lines in EACH[place][0].items() if name not in ("observed", "unexpected")), ())
    assert not first or first[0] in reasons


def test_reasons_of_the_rule_come_first_then_the_failure_then_the_doubts() -> None:
    weighed = Weighed(unexpected=("a",), undocumented=("a: 1",), failure=("failed",), doubts=("doubt",))
    assert decide(weighed) == ("unexpected", ("a: 1", "failed", "doubt"))


def test_nothing_at_all_is_as_documented_for_no_reason() -> None:
    assert decide(Weighed()) == ("as-documented", ())


def test_the_documentation_has_the_table() -> None:
    text = DOCS.read_text()
    lines = text[text.index("| the first that holds |") :].splitlines()[2:]
    told = lines[: lines.index("")]
    assert told == [f"| {rule.condition} | {rule.verdict} |" for rule in TABLE]


def test_verdicts_are_explained_with_their_exit_status() -> None:
    text = DOCS.read_text()
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    told = {line[0]: int(line[-1]) for line in lines if line[0] in EXIT_STATUS and line[-1].isdigit()}
    assert told == {name: status % 256 for name, status in EXIT_STATUS.items()}
