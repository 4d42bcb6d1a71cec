"""What a reader of a scenario's page asks first: on which versions are acknowledged records lost?

`documented` answers it from what is stated, for the index. `seen` answers it from runs, for the top of a page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from checks.catalogue import LOST_WRITE
from evidence.run import DEFAULT_CASE
from judgement.rates import telling
from judgement.report.cells import version_key
from pages.counted import contradicted, does_harm, stated

Value = Mapping[str, Any]

EVERY_VERSION: Final = "every version"
IN_A_ROW: Final = 3
"""So many neighbours are told as a range."""


def in_words(chosen: Collection[str], every: Sequence[str]) -> str:
    """Versions of a list in its order, neighbours as a range.

    >>> in_words(["a", "b", "c", "e"], ["a", "b", "c", "d", "e"])
    'a to c, e'
    >>> in_words(["a", "b"], ["a", "b"])
    'every version'
    """
    if set(every) <= set(chosen):
        return EVERY_VERSION
    rows = list[list[str]]()
    for before, version in zip(["", *every], every, strict=False):
        if version not in chosen:
            continue
        if rows and rows[-1][-1] == before:
            rows[-1].append(version)
        else:
            rows.append([version])
    parts = [[f"{row[0]} to {row[-1]}"] if len(row) >= IN_A_ROW else row for row in rows]
    return ", ".join(part for row in parts for part in row)


def run_on(scenarios: Sequence[Value]) -> list[str]:
    """The versions that scenarios are run on, but for those that exhibits alone are, in their order."""
    stated_for = (
        outcome for one in scenarios if not one["exhibit"] for each in one["cases"] for outcome in each["documented"]
    )
    return sorted({version for outcome in stated_for for version in outcome["versions"]}, key=version_key)


def documented(one: Value, versions: Sequence[str]) -> str:
    """Where a scenario's loss is documented, of the versions that there are: each set with its cases; "" if nowhere. An
    exhibit is run on few versions, and its bug says which releases have it.
    """
    if one["exhibit"]:
        return ""
    of_words: dict[str, list[str]] = {}
    for case in one["cases"]:
        outcomes = [outcome for outcome in case["documented"] if LOST_WRITE in outcome["required"]]
        if losing := {version for outcome in outcomes for version in outcome["versions"]}:
            of_words.setdefault(in_words(losing, versions), []).append(case["name"])
    named = [case["name"] for case in one["cases"]] != [DEFAULT_CASE]
    return "; ".join(f"{words} ({', '.join(cases)})" if named else words for words, cases in of_words.items())


def lost_in(one: Value, data: Value, versions: Sequence[str]) -> tuple[int, int]:
    """In how many of the cells whose loss is documented a run lost records, and how many such cells there are."""
    stated = [
        (case["name"], version)
        for case in one["cases"]
        for outcome in case["documented"]
        if LOST_WRITE in outcome["required"]
        for version in outcome["versions"]
        if version in versions
    ]
    of_cases = data.get("cases") or {}
    return sum(bool((of_cases.get(case) or {}).get(version, {}).get("lost")) for case, version in stated), len(stated)


LOST: Final = "✕ acknowledged records were lost"
OTHER: Final = "! not as documented"
ANOMALY: Final = "▲ no acknowledged record was lost, and an anomaly was seen"
DELETED: Final = "– records are gone that were deleted by request"
KEPT: Final = "✓ every acknowledged record was kept"
TONES: Final = (LOST, OTHER, ANOMALY, DELETED, KEPT)


def deletes(one: Value, case: str, version: str) -> bool:
    """Whether the records of a cell that show as lost were deleted by request, as the sequence has it."""
    return bool(stated(one, case, version).get("deletes"))


def _tone(one: Value, case: str, version: str, cell: Value) -> tuple[str, str]:
    """What became of the records of a cell, and in how many runs that say something."""
    runs = telling(cell)
    if cell["lost"]:
        asked = deletes(one, case, version) and not contradicted(cell)
        return DELETED if asked else LOST, f"{cell['lost']} of {max(runs, cell['lost'])}"
    if otherwise := contradicted(cell):
        return OTHER, f"{otherwise} of {runs}"
    found = {name: times for name, times in sorted(cell["seen"].items()) if times and does_harm([name])}
    if found:
        return ANOMALY, ", ".join(f"`{name}` {min(times, runs)} of {runs}" for name, times in found.items())
    return KEPT, f"{runs} of {runs}"


def seen(one: Value, data: Value) -> list[tuple[str, list[tuple[str, str]]]]:
    """What runs showed, for each case of a scenario that has such runs: what became of the records, the worst first,
    and on which versions, the newest first, in how many runs of how many.
    """
    of_cases = data.get("cases") or {}
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for case in one["cases"]:
        by_tone: dict[str, list[str]] = {}
        cells = of_cases.get(case["name"]) or {}
        for version in sorted(cells, key=version_key, reverse=True):
            if telling(cells[version]):
                tone, times = _tone(one, case["name"], version, cells[version])
                by_tone.setdefault(tone, []).append(f"{version} ({times})")
        if by_tone:
            found.append((case["name"], [(tone, ", ".join(by_tone[tone])) for tone in TONES if tone in by_tone]))
    return found


def commands(one: Value) -> Iterator[str]:
    """A command for each documented outcome, on the newest version that it is stated for, what does harm first."""
    found: list[tuple[bool, str, str]] = []
    for case in one["cases"]:
        name = "" if case["name"] == DEFAULT_CASE else f" --case {case['name']}"
        for outcome in case["documented"]:
            if outcome["versions"]:
                newest = max(outcome["versions"], key=version_key)
                affected = (one["exhibit"] or {}).get("affected") or ()
                shown = next((version for version in reversed(affected) if version in outcome["versions"]), newest)
                must = ", ".join(outcome["required"]) or "no anomaly"
                command = f"kafka-chaos run {one['name']}{name} --version {shown}"
                found.append((not does_harm(outcome["required"]), command, must))
    width = max((len(command) for _, command, _ in found), default=0)
    for _, command, must in sorted(found, key=lambda row: row[0]):
        yield f"{command:<{width}}  # {must}"
