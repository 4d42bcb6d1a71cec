"""docs/recall.md: which of the museum's bugs scenarios that are not the museum's find, unprompted.

A bug is found by a run on a release that has it, if the verdict is *unexpected* and names an anomaly or a claim that
the museum's own scenario requires of that bug. Where a scenario states the bug itself, as what is documented of these
releases, its runs are not unprompted: the page says which do.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from harness.cluster import versions
from harness.scenario import all_scenarios
from tests.mutants.rows import UNEXPECTED, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """One of the museum's bugs, as far as recall is concerned."""

    bug: str
    title: str
    affected: tuple[str, ...]
    """The versions that it is shown on."""
    signs: frozenset[str]
    """Anomalies and claims that its own scenario requires on these."""
    stated: tuple[str, ...] = ()
    """Other scenarios that name the bug."""


def exhibits() -> list[Affected]:
    """The museum's bugs, by their names."""
    every = all_scenarios().values()
    texts = {one.name: inspect.getsource(sys.modules[one.file]) for one in every if one.exhibit is None and one.file}
    found = []
    for one in every:
        if one.exhibit is None:
            continue
        signs: set[str] = set()
        for version in map(versions.get, one.exhibit.affected):
            for case in one.cases_for(version):
                documented = one.documented_for(version, case.name)
                signs |= {*documented.required, *documented.claims}
        bug = one.exhibit.bug
        found.append(
            Affected(
                bug=bug.id,
                title=bug.title,
                affected=one.exhibit.affected,
                signs=frozenset(signs),
                stated=tuple(sorted(name for name, text in texts.items() if bug.id in text)),
            )
        )
    return sorted(found, key=lambda one: one.bug)


def finds(row: Row, bug: Affected) -> tuple[str, ...]:
    """What a run names of a bug's signs, unprompted; nothing if it does not find it."""
    if row.verdict != UNEXPECTED or row.version not in bug.affected or row.scenario in bug.stated:
        return ()
    return tuple(sorted(bug.signs & {*row.anomalies, *row.claims}))


def page(every: Sequence[Row], bugs: Sequence[Affected]) -> str:
    """The page of these runs."""
    tried = [bug for bug in bugs if any(row.version in bug.affected for row in every)]
    found = [bug for bug in tried if any(finds(row, bug) for row in every)]
    out = [
        "# Recall: do other scenarios find the museum's bugs?",
        "",
        "Made by `make recall` from `results/recall.csv`; do not edit. Scenarios that are not the museum's are run on",
        "the releases that have its bugs. A bug is found if such a run is *unexpected* and names an anomaly or a claim",
        "that the museum's own scenario requires of it, and the scenario does not state the bug itself.",
        "",
        f"Of {len(bugs)} bugs {len(tried)} are on a release that was run, and {len(found)} of these were found, by",
        f"{len(every)} runs on {len({row.version for row in every})} releases.",
        "",
        "| bug | what it does | on | signs | runs | found by |",
        "|---|---|---|---|---:|---|",
    ]
    for bug in bugs:
        runs = [row for row in every if row.version in bug.affected]
        by = [f"{row.what} on {row.version} ({', '.join(finds(row, bug))})" for row in runs if finds(row, bug)]
        stated = f"stated by {', '.join(bug.stated)}" if bug.stated else ""
        said = "; ".join(filter(None, [*by, stated])) or ("–" if runs else "not run")
        signs = ", ".join(sorted(bug.signs)) or "–"
        out.append(f"| {bug.bug} | {bug.title} | {', '.join(bug.affected)} | {signs} | {len(runs)} | {said} |")
    out += ["", "## Every run", "", "| scenario | release | verdict | what it said first | s | commit |"]
    out += ["|---|---|---|---|---:|---|"]
    for row in sorted(every, key=lambda row: (row.version, row.what, row.run)):
        first = row.reasons[0].replace("|", "\\|")[:160] if row.reasons else ""
        out.append(f"| {row.what} | {row.version} | {row.verdict} | {first} | {row.seconds} | {row.commit} |")
    return "\n".join([*out, ""])
