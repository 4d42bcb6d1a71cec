"""What runs of a cell come to, in a few words: how many, what that leaves possible, how many more would decide it.

Runs that show nothing (unknown, an error of the harness, a verdict that is not on record) say nothing about Kafka: they
are counted apart, and no interval rests on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import results
from checks.names import TRUNCATED
from evidence.run import DEFAULT_CASE
from judgement import sampling
from judgement.rates import NOTHING_SHOWN, rate, telling
from results import Value

NOT_RUN: Final = "not run"


def shown(name: str, version: str, data: Value, case: str = DEFAULT_CASE) -> str:
    """How often a case of a scenario ended as documented on a version, of the runs that say something: "5 of 5".

    Every page and command that tells of such runs says it by this function.
    """
    cell = results.cells_of(data, name, case).get(version)
    return f"{cell['good']} of {telling(cell)}" if cell and telling(cell) else NOT_RUN


def contradicted(cell: Value) -> int:
    """How many of these contradict what is documented."""
    return telling(cell) - int(cell["good"])


def ran(cell: Value) -> str:
    """How many runs of those that say something were as documented, and how many say nothing.

    >>> ran({"runs": 20, "good": 18, "verdicts": {"as-documented": 18, "unexpected": 1, "unknown": 1}})
    '18/19, 1 unknown'
    """
    apart = [f"{number} {word}" for name, word in NOTHING_SHOWN.items() if (number := cell["verdicts"].get(name, 0))]
    return ", ".join([f"{cell['good']}/{telling(cell)}", *apart])


def interval(otherwise: int, runs: int, what: str) -> str:
    """What so many runs leave possible: "at most 14 % lose"; "" without runs."""
    return f"at most {sampling.percent(sampling.at_most(otherwise, runs))} {what}" if runs else ""


def stated(one: Value, case: str, version: str) -> Value:
    """What is documented of a case of a described scenario on a version; nothing if that is not said."""
    outcomes = next((each["documented"] for each in one["cases"] if each["name"] == case), ())
    return next((outcome for outcome in outcomes if version in outcome["versions"]), {"required": (), "allowed": ()})


def does_harm(required: Iterable[str]) -> bool:
    """Whether what must be seen is more than the trace that a power loss leaves on a disk, whose records are kept.

    >>> does_harm([TRUNCATED]), does_harm([TRUNCATED, "lost-write"])
    (False, True)
    """
    return bool(set(required) - {TRUNCATED})


def shows_harm(one: Value, case: str, version: str) -> bool:
    """Whether a described scenario's case shows harm on a version: because its runs must show an anomaly or, where an
    outcome is stated for releases with the bug of an exhibit, because it is such a release. Others may lose records for
    another reason.
    """
    bug = (one.get("exhibit") or {}).get("bug")
    outcomes = next((each["documented"] for each in one["cases"] if each["name"] == case), ())
    with_bug = [outcome for outcome in outcomes if bug and str(outcome["on"]).startswith(f"{bug}: ")]
    if with_bug:
        return any(version in outcome["versions"] for outcome in with_bug)
    return does_harm(stated(one, case, version)["required"])


def racy(outcome: Value) -> bool:
    """Whether one run may differ from the next: something may be seen, or no harm must."""
    return bool(outcome["allowed"]) or not does_harm(outcome["required"])


def missing(cell: Value | None, outcome: Value) -> int:
    """How many more runs would decide a cell; 0 if it is decided."""
    good, bad = (0, 0) if cell is None else (int(cell["good"]), contradicted(cell))
    return sampling.missing(good, bad, racy=racy(outcome))


def decision(cell: Value, outcome: Value) -> str:
    """The same in words."""
    if more := missing(cell, outcome):
        return f"{more} more"
    return (
        "otherwise in one of ten or more"
        if sampling.decided(cell["good"], contradicted(cell)) == "often"
        else "decided"
    )


def allowed(outcome: Value, seen: Mapping[str, Value]) -> list[str]:
    """What may be seen, each with how often it was in the cells of a case, by version, on which that is stated."""
    cells = [seen[version] for version in outcome["versions"] if version in seen]
    return [rate(name, cells) for name in outcome["allowed"]]
