"""What the runs of a night showed, as `compare` takes it: results/nights/NAME.json, a file a night.

Run directories of nights are not kept, and a ledger has no lines of brokers' logs. So each run is kept as the
comparison has it (judgement.comparison.Ran), and the comparison can be made again from the file alone. Fingerprints of
lines are kept once for the night, and runs name them by their numbers. The file of a night is never changed, but for
runs that are added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evidence.errors import UsageError
from judgement.comparison import Fact, Ran
from tests.planted import PLANTED, RELEASE, UNCHANGED

SCHEMA: Final = 1
NAME: Final = re.compile(r"([a-z][a-z-]*)-(\d+)")
"""Of a night: what is planted in it, and its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """The runs of a night."""

    name: str
    runs: tuple[Ran, ...]

    @property
    def planted(self) -> str:
        """What is planted in it; "unchanged" if nothing is."""
        return split(self.name)[0]

    @property
    def number(self) -> int:
        return split(self.name)[1]


def split(name: str) -> tuple[str, int]:
    """What is planted in a night, and its number. Raises UsageError for another name.

    >>> split("elections-late-2")
    ('elections-late', 2)
    """
    found = NAME.fullmatch(name)
    known = [UNCHANGED, *(one.name for one in PLANTED)]
    if found is None or found[1] not in known:
        raise UsageError(f"{name}: a night is called as what is planted in it and a number; known: {', '.join(known)}")
    return found[1], int(found[2])


def as_json(night: Night) -> str:
    """The file's text."""
    every = sorted({fact for run in night.runs for fact in run.lines or ()})
    number = {fact: at for at, fact in enumerate(every)}
    runs = [_run_json(run, number) for run in sorted(night.runs, key=lambda run: run.run)]
    head = {"schema": SCHEMA, "night": night.name}
    rows = ",\n".join("  " + json.dumps(row, sort_keys=True) for row in runs)
    lines = ",\n".join("  " + json.dumps([fact.kind, fact.name]) for fact in every)
    return f'{json.dumps(head)[:-1]},\n "lines": [\n{lines}\n ],\n "runs": [\n{rows}\n ]}}\n'


def _run_json(run: Ran, number: Mapping[Fact, int]) -> dict[str, Any]:
    return {
        "run": run.run,
        "cell": run.cell,
        "at": run.at,
        "code": run.code,
        "setting": run.setting,
        "waited": run.waited,
        "verdict": run.verdict,
        "text": run.text,
        "shown": [[fact.kind, fact.name, shown] for fact, shown in sorted(run.shown.items())],
        "times_ms": dict(sorted(run.times_ms.items())),
        "lines": None if run.lines is None else sorted(number[fact] for fact in run.lines),
    }


def from_json(text: str, source: str) -> Night:
    """A night from its file. Raises UsageError for a text that is none."""
    try:
        value = json.loads(text)
        if value["schema"] != SCHEMA:
            raise UsageError(f"{source}: schema {value['schema']}, and {SCHEMA} is known here")
        every = [Fact(kind, name) for kind, name in value["lines"]]
        return Night(name=value["night"], runs=tuple(_run(row, every) for row in value["runs"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UsageError(f"{source}: not a night ({error!r})") from None


def _run(row: Mapping[str, Any], every: list[Fact]) -> Ran:
    scenario, case, version = row["cell"]
    machine, load = row["setting"]
    return Ran(
        run=row["run"],
        cell=(scenario, case, version),
        at=row["at"],
        code=row["code"],
        setting=(machine, load),
        waited=row.get("waited"),
        verdict=row["verdict"],
        text=row["text"],
        shown={Fact(kind, name): shown for kind, name, shown in row["shown"]},
        times_ms=row["times_ms"],
        lines=None if row["lines"] is None else frozenset(every[at] for at in row["lines"]),
    )


def merged(before: Night | None, runs: Iterable[Ran], name: str) -> Night:
    """A night with runs added: those that are there stay as they are."""
    kept = {run.run: run for run in (before.runs if before else ())}
    for run in runs:
        kept.setdefault(run.run, run)
    return Night(name=name, runs=tuple(kept[run] for run in sorted(kept)))


def read(folder: Path) -> list[Night]:
    """All nights that are kept, the unchanged ones first. Raises UsageError."""
    nights = [from_json(path.read_text(encoding="utf-8"), str(path)) for path in sorted(folder.glob("*.json"))]
    order = [UNCHANGED, *(one.name for one in PLANTED)]
    return sorted(nights, key=lambda night: (order.index(night.planted), night.number))


def alike(runs: Iterable[Ran]) -> list[Ran]:
    """Runs with the version of their build replaced by its release, so that they can be held beside its runs."""
    return [replace(run, cell=(run.cell[0], run.cell[1], RELEASE)) for run in runs]
