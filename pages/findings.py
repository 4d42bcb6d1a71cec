"""docs/findings.md: what was found here that no document says.

Made of the registry (harness/discoveries.py) and of what runs showed (results/).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import results
from evidence.text import plural
from harness.cluster import versions
from harness.discoveries import TAKEN_BACK, every
from harness.scenario import all_scenarios
from pages.counted import NOT_RUN, shown
from pages.render import render
from results import Value

PAGE: Final = "findings.md"


def counted(found: Value, data: Value) -> dict[str, Any]:
    """A discovery, each of its arms with what runs on record came to, by version: how often its case ended as
    documented (`runs`), and the other cases of an exhibit of which the same is documented there (`others`); how many
    runs of its case do not count (`aside`); and the same in words (`told`).
    """
    return {**found, **{side: _counted(found[side], data) for side in ("seen", "control")}}


def _counted(arm: Value, data: Value) -> dict[str, Any]:
    name, case = arm["scenario"], arm["case"]
    runs = {on: shown(name, on, data, case) for on in arm["on"]}
    others = {on: _others(name, case, on, data) for on in arm["on"]}
    aside = {on: _aside(name, case, on, data) for on in arm["on"]}
    told = {on: _told(runs[on], others[on], aside[on]) for on in arm["on"]}
    return {
        **arm,
        "runs": runs,
        "others": {on: cases for on, cases in others.items() if cases},
        "aside": {on: number for on, number in aside.items() if number},
        "told": told,
    }


def _others(name: str, case: str, version: str, data: Value) -> dict[str, str]:
    """Of the other cases of an exhibit that show what this one shows on a version (its bug, or that it is not there),
    those that were run, with how often they ended as documented.
    """
    alike = all_scenarios()[name].alike(versions.get(version), case)
    return {other: count for other in alike if (count := shown(name, version, data, other)) != NOT_RUN}


def _aside(name: str, case: str, version: str, data: Value) -> int:
    """How many runs of a case on a version do not count."""
    cell = results.cells_of(data, name, case).get(version, {})
    return sum(one["runs"] for one in cell.get("aside", ()))


def _told(count: str, others: Mapping[str, str], aside: int) -> str:
    """In words.

    >>> _told("not run", {"frozen": "1 of 1", "cut": "1 of 1"}, 1)
    'not run (1 run does not count; case frozen 1 of 1, case cut 1 of 1)'
    >>> _told("2 of 2", {}, 0)
    '2 of 2'
    """
    apart = [f"{plural(aside, 'run')} {'does' if aside == 1 else 'do'} not count"] if aside else []
    cases = ", ".join(f"case {name} {of}" for name, of in others.items())
    beside = "; ".join(filter(None, [*apart, cases]))
    return f"{count} ({beside})" if beside else count


def all_counted(data: Value | None = None) -> list[dict[str, Any]]:
    """All of them, as plain values."""
    runs = results.by_scenario() if data is None else data
    return [counted(one, runs) for one in every(all_scenarios())]


def page(data: Value) -> str:
    """The page."""
    return render(PAGE, found=all_counted(data), taken_back=TAKEN_BACK)
