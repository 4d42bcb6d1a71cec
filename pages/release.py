"""A page about one release of Kafka: what changed against the release before it, as its jars tell and as runs show.

Nothing here runs anything or reads a jar: `app/releases.py` gathers what this is made of, as plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import results
from evidence.cells import pooled
from evidence.run import DEFAULT_CASE
from evidence.text import markdown as escaped
from evidence.text import plural
from pages import deviations
from pages.render import render

Keys = Mapping[str, Mapping[str, str | None]]
"""By its name, what a setting is: `default`, and `type` and `valid` where the code tells them."""
Data = Mapping[str, Any]
"""What runs showed, by scenario (results.of_rows)."""

PAGE: Final = "release.md"
KINDS: Final[Mapping[str, str]] = {"broker": "Brokers", "topic": "Topics", "java-producer": "Java producers"}
OUTCOMES: Final = ("scenario", "case")
TIMES: Final = ("what", "scenario", "case")
UNITS: Final = {
    "write_pause_ms": "pause of writes",
    "read_pause_ms": "pause of reads",
    "first_success_ms": "first success",
}
ENOUGH: Final = 3
"""With fewer runs than these on a side, two ranges are not compared: one run's is a point."""
TOOLS: Final = "org.apache.kafka:kafka-tools"
APART: Final = "the ranges do not meet"


@dataclass(frozen=True, kw_only=True)
class ComparedReleases:
    """Two releases, and all that the page says of them."""

    release: str
    before: str
    versions: tuple[tuple[str, str], ...]
    """The versions that were run, in pairs of one way to run: (of the release before, of the release)."""
    made: str
    """The day, and the machine."""
    settings: Mapping[str, tuple[Keys, Keys]]
    """By kind of setting (KINDS): those of the release before, and those of the release."""
    jars: tuple[Mapping[str, str], Mapping[str, str]]
    """The versions of the libraries, by group and artifact: of the release before, and of the release."""
    data: Data
    cells: tuple[tuple[str, str, str], ...]
    """What was to be run: scenario, case, version."""


def changed_settings(before: Keys, after: Keys) -> Iterator[str]:
    """A line for each setting that came or went, or has another default, type or range of values; in that order.

    >>> list(changed_settings({"a": {"default": "1"}, "b": {"default": None}}, {"a": {"default": "2"}}))
    ['gone: `b` (had no default)', '`a`: default 1 → 2']
    """
    for name in sorted(after.keys() - before.keys()):
        yield f"new: `{name}` ({_default(after[name], 'has')})"
    for name in sorted(before.keys() - after.keys()):
        yield f"gone: `{name}` ({_default(before[name], 'had')})"
    for name in sorted(before.keys() & after.keys()):
        told = [
            f"{what} {_value(before[name].get(what))} → {_value(after[name].get(what))}"
            for what in ("default", "type", "valid")
            if before[name].get(what) != after[name].get(what)
        ]
        if told:
            yield f"`{name}`: {', '.join(told)}"


def _default(key: Mapping[str, str | None], verb: str) -> str:
    default = key.get("default")
    return f"{verb} no default" if default is None else f"default {_value(default)}"


def _value(value: str | None) -> str:
    if value is None:
        return "none"
    return escaped(value) if value else "empty"


def changed_jars(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """A line for each library that came, went, or has another version; Kafka's own are left out.

    >>> list(changed_jars({"g:a": "1", "org.apache.kafka:x": "1"}, {"g:a": "2", "g:b": "1"}))
    ['g:a 1 → 2', 'new: g:b 1']
    """
    if (TOOLS in before) != (TOOLS in after):
        which = "the release before" if TOOLS in after else "this release"
        yield f"{which} was resolved without Kafka's tools: what only they need is missing there"
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new or name.startswith("org.apache.kafka:"):
            continue
        yield f"{name} {old} → {new}" if old and new else f"new: {name} {new}" if new else f"gone: {name} {old}"


def page(compared: ComparedReleases) -> str:
    """The page, as Markdown."""
    bad = list(_bad(compared))
    return render(
        PAGE,
        release=compared.release,
        before=compared.before,
        versions=[name for pair in compared.versions for name in pair],
        made=compared.made,
        summary=_summary(compared),
        bad=bad,
        outcomes=[(*OUTCOMES, *_heads(compared), "differs"), *_outcomes(compared)],
        not_run=sorted({f"{name} on {version}" for name, case, version in _missing(compared)}),
        times=[(*TIMES, *_heads(compared), ""), *_times(compared)],
        settings=[(title, list(changed_settings(*compared.settings[kind]))) for kind, title in KINDS.items()],
        jars=list(changed_jars(*compared.jars)),
    )


def _missing(compared: ComparedReleases) -> Iterator[tuple[str, str, str]]:
    """The cells that were to be run, and were not."""
    return (one for one in compared.cells if not _cell(compared.data, *one))


def _heads(compared: ComparedReleases) -> list[str]:
    return [name for pair in compared.versions for name in pair]


def _cell(data: Data, name: str, case: str, version: str) -> Mapping[str, Any] | None:
    return results.cells_of(data, name, case).get(version)


def _rows(compared: ComparedReleases) -> list[tuple[str, str]]:
    return list(dict.fromkeys((name, case) for name, case, _ in compared.cells))


def _case(case: str) -> str:
    return "" if case == DEFAULT_CASE else case


def _summary(compared: ComparedReleases) -> str:
    new = {pair[1] for pair in compared.versions}
    cells = [
        cell
        for name, case, version in compared.cells
        if version in new and (cell := _cell(compared.data, name, case, version))
    ]
    runs, good = sum(cell["runs"] for cell in cells), sum(cell["good"] for cell in cells)
    settings = sum(len(list(changed_settings(*compared.settings[kind]))) for kind in KINDS)
    return (
        f"On {compared.release} {good} of {plural(runs, 'run')} ended as documented; "
        f"{plural(settings, 'setting')} came, went or changed."
    )


def _bad(compared: ComparedReleases) -> Iterator[str]:
    for name, case, version in compared.cells:
        cell = _cell(compared.data, name, case, version)
        for one in deviations.of([((case,), cell)]) if cell else ():
            place = f"{name}{f', case {case},' if _case(case) else ''} on {version}"
            for run in one.runs:
                yield escaped(f"{place}: {run.reason}" + (f". {one.cause}. {one.sentences}" if one.explained else ""))


def _outcomes(compared: ComparedReleases) -> Iterator[tuple[str, ...]]:
    for name, case in _rows(compared):
        cells = [_cell(compared.data, name, case, version) for version in _heads(compared)]
        if any(cells):
            differs = any(
                _seen(cells[at]) != _seen(cells[at + 1])
                for at in range(0, len(cells), 2)
                if cells[at] and cells[at + 1]
            )
            yield name, _case(case), *map(_outcome, cells), "yes" if differs else ""


def _seen(cell: Mapping[str, Any] | None) -> tuple[bool, frozenset[str]]:
    """What a cell showed, counts apart: whether all ended as documented, and which anomalies were seen."""
    return (cell["good"] == cell["runs"], frozenset(cell["seen"])) if cell else (True, frozenset())


def _outcome(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "–"
    seen = ", ".join(f"{anomaly} {count}" for anomaly, count in cell["seen"].items())
    return f"{cell['good']} of {cell['runs']}" + (f" ({seen})" if seen else "")


def _times(compared: ComparedReleases) -> Iterator[tuple[str, ...]]:
    for name, case in _rows(compared):
        cells = [_cell(compared.data, name, case, version) for version in _heads(compared)]
        timed = [_timed(cell) for cell in cells]
        for what in dict.fromkeys(what for each in timed for what in each):
            spreads = [each.get(what) for each in timed]
            apart = any(_apart(spreads[at], spreads[at + 1]) for at in range(0, len(spreads), 2))
            yield what, name, _case(case), *map(_spread, spreads), APART if apart else ""


def _timed(cell: Mapping[str, Any] | None) -> dict[str, Sequence[float]]:
    """The spreads of a cell in ms (number, least, median, greatest), by what they are of."""
    if cell is None:
        return {}
    claims = {f"`{name}`": pooled(tuple(one["ms"]) for one in timings) for name, timings in cell["timings"].items()}
    clients = {words: cell["clients"][name] for name, words in UNITS.items() if cell["clients"].get(name)}
    return claims | clients


def _spread(spread: Sequence[float] | None) -> str:
    if not spread:
        return "–"
    least, median, most = (f"{ms / 1000:.2f}" for ms in spread[1:])
    return f"{least} / {median} / {most}"


def _apart(one: Sequence[float] | None, other: Sequence[float] | None) -> bool:
    if not one or not other or min(one[0], other[0]) < ENOUGH:
        return False
    return one[3] < other[1] or other[3] < one[1]


def versions_of_jars(coordinates: Iterable[str]) -> dict[str, str]:
    """The version of each library, by group and artifact; of several artifacts of Kafka's for a Scala the last.

    >>> versions_of_jars(["org.a:b:1.0", "org.a:c:2.0:linux"])
    {'org.a:b': '1.0', 'org.a:c:linux': '2.0'}
    """
    found = {}
    for coordinate in coordinates:
        group, artifact, version, *classifier = coordinate.split(":")
        found[":".join((group, artifact, *classifier))] = version
    return found
