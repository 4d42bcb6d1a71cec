"""`kafka-chaos statements OLD [NEW]`: what is stated about Kafka in two commits, and where the one allows more.

A statement that was widened can no longer be contradicted by what contradicted it. So every change of a statement is
shown, in words that say in which direction it goes:

- *widened*: more runs are as documented than before. An anomaly that had to be seen may be seen now, or one that was
  unexpected. A claim is dropped, a bound is longer, a case or a version is left out, or a cell of the audit may come to
  more.
- *narrowed*: fewer runs are. The reverse of each of these, and whatever is new.
- *turned*: what had to be seen must not be seen any more, or the other way: neither more nor less.
- *judged otherwise*: the same is stated, and the code is another that holds runs against it: a claim's, an anomaly's,
  an excuse, a duty, or the account of what held when. Which way that goes no program can tell, so each part is named,
  and somebody has to read it. One that only moved is not named.
- *run otherwise*: the same is stated, and what a scenario does is other code: its steps, its cluster or its settings. A
  sequence that asks less shows less. Each part is named here too.
- *rests on*: the same is stated from another source.

The registry of a commit is made by its own code, in a process of its own, in a folder with its files (app/registry.py).
Changes that are the same on several versions, or in several cells, stand in one line. The comparison is a pure function
of two registries.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from evidence.errors import UsageError
from evidence.text import plural

Direction = Literal["widened", "narrowed", "turned", "judged otherwise", "run otherwise", "rests on"]
DIRECTIONS: Final[tuple[Direction, ...]] = (
    "widened",
    "narrowed",
    "turned",
    "judged otherwise",
    "run otherwise",
    "rests on",
)
CODE: Final = ("judged otherwise", "run otherwise")
"""What is told of code: each part of it by name."""
Registry = Mapping[str, Any]
Stated = Mapping[str, Any]
LIMIT_S: Final = 300
NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
WORKING_TREE: Final = "the working tree"
SHOWN: Final = 6
"""Of the places in which a change is the same so many are named; of parts of code each one."""
KINDS: Final = (
    ("scenarios/", "sequences"),
    ("claims", "claims"),
    ("anomalies", "anomalies"),
    ("excuses", "excuses"),
    ("disturbances", "excuses"),
    ("duties", "duties"),
    ("judgement", "verdicts"),
    ("evidence", "the account of what held when"),
)
"""What a file of code has, by the first of these words that its path has; else what all checks share."""


@dataclass(frozen=True, slots=True, order=True)
class StatementChange:
    """A change of one statement."""

    direction: Direction
    what: str
    """The statement: a scenario and its case, a claim, a fault of the audit."""
    how: str
    """What is different, such as "lost-write had to be seen, and may be seen now"."""
    where: str = ""
    """The version, or the cell; empty if there is only one."""


# The registries


def base_of(repository: Path) -> str:
    """What a branch is compared with if nobody says: the last tag before it; without one the commit at which it left
    origin/main, and on main itself the commit before. Raises UsageError if there is none of these.
    """
    for words in (("describe", "--tags", "--abbrev=0"), ("merge-base", "HEAD", "origin/main"), ("rev-parse", "HEAD~1")):
        done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=False)
        found = done.stdout.strip()
        if done.returncode == 0 and found != _run(["git", "-C", str(repository), "rev-parse", "HEAD"], "HEAD").strip():
            return found[:12] if words[0] != "describe" else found
    raise UsageError(f"{repository}: no commit before this one; say which one to compare with")


def registry_of(commit: str, repository: Path) -> dict[str, Any]:
    """What a commit states. Raises UsageError if there is no such commit, or if its registry cannot be made."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-statements-") as folder:
        checkout = Path(folder) / "checkout"
        checkout.mkdir()
        archive = Path(folder) / "archive.tar"
        _run(["git", "-C", str(repository), "archive", "--output", str(archive), commit], f"commit {commit}")
        _run(["tar", "--extract", "--file", str(archive), "--directory", str(checkout)], f"commit {commit}")
        return registry_in(checkout, f"commit {commit}")


def registry_in(checkout: Path, name: str = WORKING_TREE) -> dict[str, Any]:
    """What the code in a folder states. Raises UsageError if its registry cannot be made."""
    code = Path(__file__).with_name("registry.py").resolve()
    made: dict[str, Any] = json.loads(_run([sys.executable, str(code)], name, cwd=checkout))
    return made


def _run(command: Sequence[str], name: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{name}: {error}") from None
    if done.returncode:
        why = done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"]
        raise UsageError(f"{name}: what it states cannot be read: {why[-1]}")
    return done.stdout


# The comparison


def compared(old: Registry, new: Registry) -> list[StatementChange]:
    """Every change from the one to the other, widenings first."""
    found = [
        *_scenarios(old["scenarios"], new["scenarios"]),
        *_entries("claim", old["claims"], new["claims"]),
        *_entries("anomaly", old["anomalies"], new["anomalies"]),
        *_cells(old["cells"], new["cells"]),
        *_codes(old.get("judge", {}), new.get("judge", {}), "judged otherwise"),
        *_codes(old.get("sequences", {}), new.get("sequences", {}), "run otherwise"),
    ]
    return sorted(set(found), key=lambda one: (DIRECTIONS.index(one.direction), one))


def _scenarios(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[StatementChange]:
    for name in sorted({*old, *new}):
        if name not in new:
            yield StatementChange("widened", f"scenario {name}", "is not there any more")
        elif name not in old:
            yield StatementChange("narrowed", f"scenario {name}", "is new")
        else:
            yield from _cases(name, old[name], new[name])


def _cases(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[StatementChange]:
    for case in sorted({*old, *new}):
        what = f"scenario {name}, case {case}"
        if case not in new:
            yield StatementChange("widened", what, "is not there any more")
        elif case not in old:
            yield StatementChange("narrowed", what, "is new")
        else:
            for version in sorted({*old[case], *new[case]}):
                for direction, how in _outcomes(old[case].get(version), new[case].get(version)):
                    yield StatementChange(direction, what, how, version)


def _outcomes(old: Stated | None, new: Stated | None) -> Iterator[tuple[Direction, str]]:
    """How what is stated of a case on a version has changed; None: it does not apply there."""
    if old is None or new is None:
        yield ("narrowed", "applies now") if old is None else ("widened", "does not apply any more")
        return
    yield from _names(old["required"], old["allowed"], new["required"], new["allowed"])
    for name in sorted({*old["claims"]} - {*new["claims"]}):
        yield "widened", f"the claim {name} is dropped"
    for name in sorted({*new["claims"]} - {*old["claims"]}):
        yield "narrowed", f"the claim {name} is held too"
    if old["out_of_sync"] != new["out_of_sync"]:
        yield (
            ("widened", "a replica may be out of sync at the end")
            if new["out_of_sync"]
            else ("narrowed", "all replicas are in sync at the end")
        )
    yield from _rests(old, new)


def _names(
    old_must: Iterable[str], old_may: Iterable[str], new_must: Iterable[str], new_may: Iterable[str]
) -> Iterator[tuple[Direction, str]]:
    """How what must and what may be seen has changed."""
    was = dict.fromkeys(old_may, "may") | dict.fromkeys(old_must, "must")
    now = dict.fromkeys(new_may, "may") | dict.fromkeys(new_must, "must")
    table: Mapping[tuple[str, str], tuple[Direction, str]] = {
        ("must", "may"): ("widened", "had to be seen, and may be seen now"),
        ("", "may"): ("widened", "was unexpected, and may be seen now"),
        ("may", "must"): ("narrowed", "could be seen, and must be seen now"),
        ("may", ""): ("narrowed", "could be seen, and is unexpected now"),
        ("must", ""): ("turned", "had to be seen, and is unexpected now"),
        ("", "must"): ("turned", "was unexpected, and must be seen now"),
    }
    for name in sorted({*was, *now}):
        change = table.get((was.get(name, ""), now.get(name, "")))
        if change is not None:
            yield change[0], f"{name} {change[1]}"


def _entries(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[StatementChange]:
    """How a catalogue has changed."""
    for name in sorted({*old, *new}):
        what = f"{kind} {name}"
        if name not in new:
            yield StatementChange("widened", what, "is not in the catalogue any more")
        elif name not in old:
            yield StatementChange("narrowed", what, "is new")
        else:
            for direction, how in (
                *_bounds(old[name].get("bound", ""), new[name].get("bound", "")),
                *_permitted(old[name].get("permitted", ""), new[name].get("permitted", "")),
                *_defined(old[name].get("definition", ""), new[name].get("definition", "")),
                *_rests(old[name], new[name]),
            ):
                yield StatementChange(direction, what, how)


def _bounds(old: str, new: str) -> Iterator[tuple[Direction, str]]:
    """How a bound has changed, by the numbers in its words."""
    if old == new:
        return
    if not old or not new:
        yield ("narrowed", "has a bound now") if new else ("widened", "has no bound any more")
        return
    before, after = ([float(number) for number in NUMBER.findall(text)] for text in (old, new))
    told = f"its bound was “{old}” and is “{new}”"
    if len(before) == len(after) and before != after:
        longer, shorter = (
            any(one > other for one, other in zip(*pair, strict=True)) for pair in ((after, before), (before, after))
        )
        if longer != shorter:
            yield ("widened" if longer else "narrowed"), told
            return
    yield "turned", told


def _permitted(old: str, new: str) -> Iterator[tuple[Direction, str]]:
    """How it has changed when Kafka permits an anomaly."""
    if old != new:
        direction: Direction = "turned" if old and new else "widened" if new else "narrowed"
        yield direction, f"it was permitted {old or 'never'}, and is {new or 'never'}"


def _defined(old: str, new: str) -> Iterator[tuple[Direction, str]]:
    if old != new:
        yield "turned", f"it was “{old}” and is “{new}”"


def _rests(old: Stated, new: Stated) -> Iterator[tuple[Direction, str]]:
    """How that has changed which a statement rests on."""
    before, after = (f"{one.get('source', '')} ({one.get('basis') or 'no basis'})" for one in (old, new))
    if before != after:
        yield "rests on", f"{after}, before on {before}"


def _cells(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[StatementChange]:
    """How what is stated of the audit's cells has changed."""
    for key in sorted({*old, *new}):
        what = f"audit {key.partition(' ')[0]}"
        if key not in new or key not in old:
            yield (
                StatementChange("narrowed", what, "cells are new", key)
                if key in new
                else StatementChange("widened", what, "cells are not there any more", key)
            )
            continue
        for direction, how in (
            *_names(old[key]["must"], old[key]["may"], new[key]["must"], new[key]["may"]),
            *_rests(old[key], new[key]),
        ):
            yield StatementChange(direction, what, how, key)


def _codes(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]], direction: Direction
) -> Iterator[StatementChange]:
    """Which parts of files are other code. One that moved to another file, under its name, is not."""
    moved = _moved(old, new)
    for path in sorted({*old, *new}):
        before, after = old.get(path, {}), new.get(path, {})
        for name in sorted({*before, *after}):
            if before.get(name) == after.get(name) or name in moved:
                continue
            how = "is new" if name not in before else "is not there any more" if name not in after else "is other code"
            yield StatementChange(direction, f"{kind_of(path)}, {path}", how, name)


def _moved(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> set[str]:
    """The names that stand once in either, with one digest, in two files."""
    places: list[dict[str, list[tuple[str, str]]]] = [{}, {}]
    for found, registry in zip(places, (old, new), strict=True):
        for path, parts in registry.items():
            for name, digest in parts.items():
                found.setdefault(name, []).append((digest, path))
    before, after = places
    return {
        name
        for name in before.keys() & after.keys()
        if len(before[name]) == len(after[name]) == 1 and before[name][0][0] == after[name][0][0]
    }


def kind_of(path: str) -> str:
    """What a file of code has.

    >>> kind_of("checks/claims/storage/logs.py"), kind_of("checks/disturbances.py"), kind_of("checks/view.py")
    ('claims', 'excuses', 'what checks share')
    >>> kind_of("scenarios/lag/baseline.py")
    'sequences'
    """
    return next((kind for word, kind in KINDS if word in path), "what checks share")


# For people


def as_text(found: Sequence[StatementChange], old: str, new: str, *, sources: bool = False) -> str:
    """The changes in lines, those that are the same in several places in one. `sources`: also what rests on another
    source, which is only counted otherwise.
    """
    lines = [f"statements of {new}, beside those of {old}: {summary(found)}"]
    for direction in DIRECTIONS:
        of_it = [one for one in found if one.direction == direction]
        if not of_it or (direction == "rests on" and not sources):
            continue
        lines += ["", f"{direction} ({len(of_it)})"]
        grouped: dict[tuple[str, str], list[str]] = {}
        for one in of_it:
            grouped.setdefault((one.what, one.how), []).append(one.where)
        shown = None if direction in CODE else SHOWN
        lines += [f"  {what}: {how}{_places(where, shown)}" for (what, how), where in grouped.items()]
    return "\n".join(lines)


def summary(found: Sequence[StatementChange]) -> str:
    """How many changes go in which direction."""
    counts = {direction: sum(one.direction == direction for one in found) for direction in DIRECTIONS}
    *told, sources = [f"{count} {direction}" for direction, count in counts.items()]
    return f"{', '.join(told)}; {plural(int(sources.split()[0]), 'statement')} from another source"


def _places(where: Sequence[str], shown: int | None) -> str:
    named = [one for one in where if one]
    more = f" and {len(named) - shown} more" if shown is not None and len(named) > shown else ""
    return f" [{'; '.join(named[:shown])}{more}]" if named else ""


def as_json(found: Sequence[StatementChange], old: str, new: str) -> dict[str, Any]:
    """The same for programs."""
    told = [{"direction": one.direction, "what": one.what, "how": one.how, "where": one.where} for one in found]
    return {"old": old, "new": new, "changes": told}
