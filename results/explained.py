"""Why each run that counts and did not end as documented did not: results/explained.toml, as a type.

The ledger has what such a run came to, in its reasons. Why, and what followed, somebody has to find out: in the code,
its history, the machine's load, Kafka's source. Here it is written down, once for all runs of one cause.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from results import ROOT

EXPLAINED: Final = "explained.toml"
NOT_KNOWN: Final = "not-known"
CAUSES: Final[Mapping[str, str]] = {
    "kafka": "Kafka did what no document says",
    "our-statement": "our statement was wrong",
    "our-harness": "a defect of the harness",
    "client": "a defect of a client library",
    "machine": "the machine was busy or lacked something",
    NOT_KNOWN: "the cause is not known, or not proved",
}
"""The causes that there are, in words."""
DOUBTED: Final = re.compile(r"not proved|not known|nobody proved")
"""Words of an entry that has no other cause than `NOT_KNOWN`: what is likely is counted as nothing else."""
FIELDS: Final = frozenset({"runs", "cause", "why", "followed", "commits", "bug"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Why runs did not end as documented."""

    runs: tuple[str, ...]
    """Their names."""
    cause: str
    """One of `CAUSES`."""
    why: str
    """What happened and why, as far as it is known, in sentences."""
    followed: str = ""
    """What was mended, stated otherwise or found because of it, in sentences."""
    commits: tuple[str, ...] = ()
    """Those that did it: 40 hexadecimal digits each."""
    bug: str = ""
    """The museum's bug that the runs showed, unprompted: docs/recall.md counts it as found."""


def entries(root: Path = ROOT) -> list[Explained]:
    """Every entry of the file, in its order; none if there is no file.

    Raises ValueError if one has a field or a cause that there is not, lacks a field that it needs, names a cause and
    says that it is not proved, or names a run that another one has.
    """
    path = root / EXPLAINED
    if not path.exists():
        return []
    found = [_entry(values) for values in tomllib.loads(path.read_text(encoding="utf-8"))["run"]]
    names = [run for one in found for run in one.runs]
    if twice := sorted({run for run in names if names.count(run) > 1}):
        raise ValueError(f"{EXPLAINED}: {', '.join(twice)} stands there twice: leave one entry")
    return found


def by_run(root: Path = ROOT) -> dict[str, Explained]:
    """The entry of each run."""
    return {run: one for one in entries(root) for run in one.runs}


def _entry(values: Mapping[str, object]) -> Explained:
    runs, cause = _strings(values.get("runs")), values.get("cause")
    why, followed = (" ".join(str(values.get(name, "")).split()) for name in ("why", "followed"))
    place = f"{EXPLAINED}: the entry of {runs[0] if runs else 'no run'}"
    if unknown := sorted(values.keys() - FIELDS):
        raise ValueError(f"{place} has the field {unknown[0]!r}; there are {', '.join(sorted(FIELDS))}")
    if not runs or not why:
        raise ValueError(f"{place} lacks {'why' if runs else 'runs'}")
    if not isinstance(cause, str) or cause not in CAUSES:
        raise ValueError(f"{place} has the cause {cause!r}; there are {', '.join(CAUSES)}")
    if cause != NOT_KNOWN and (doubt := DOUBTED.search(why)):
        raise ValueError(f"{place} says {doubt[0]!r}: its cause is {NOT_KNOWN!r}, not {cause!r}")
    commits = _strings(values.get("commits"))
    if commits and not followed:
        raise ValueError(f"{place} names commits and does not say what they did: followed")
    bug = str(values.get("bug", ""))
    if bug and cause not in ("kafka", "client"):
        raise ValueError(f"{place} names the bug {bug} and the cause {cause!r}: a bug is Kafka's or a client's")
    return Explained(runs=runs, cause=cause, why=why, followed=followed, commits=commits, bug=bug)


def _strings(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
