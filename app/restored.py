"""The runs that were published before there was a ledger, restored from the history of git.

    python -m app.restored        adds to results/ledger/ what it lacks of them

Until then pages were made of counts: at first of tables (docs/reproduced.md), then of a file for each scenario with the
names of its runs (docs/scenarios/data/, later results/scenarios/), beside the audit's matrix (audit/matrix.json, later
results/audit/runs.csv). Whoever counted a cell anew replaced its counts, so that runs that had been published were
gone, failures among them. Here every version of these files is read:

    restored        a run that some version named, with its verdict where the counts leave one only
    restored-cell   a version of a cell that has figures of runs which no later one has; and runs without names

Nothing is guessed. A run has a verdict if some version listed it as not as documented, or if all others of its cell are
accounted for. Runs without names are counted as far as they cannot be named ones. A version that counts more runs than
were named and had begun by then has at least that number of others. Two versions without names are of other runs if
they have no commit in common, and else the larger counts. So no run is counted twice, and some may be missing.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from app import ledger as store
from evidence import ledger
from evidence.errors import KafkaChaosError, UsageError
from evidence.ledger import AnyLine, Counts, RestoredCell, RestoredRun
from evidence.run import DEFAULT_CASE
from harness.cluster import versions
from judgement.verdict import AS_DOCUMENTED, EXIT_STATUS

DATA: Final = ("docs/scenarios/data", "results/scenarios")
TABLE: Final = "docs/reproduced.md"
MATRICES: Final = ("audit/matrix.json", "results/audit/runs.csv")
HEADING: Final = "| scenario | version | documented | seen |"
RUN: Final = re.compile(r"(?P<begun>\d{8}t\d{6})-(?P<what>.+)-s(?P<seed>\d+)-[0-9a-f]{4}")
SHORT: Final = 8
GOOD: Final = (AS_DOCUMENTED, "observed")
VERDICT: Final = re.compile(rf"(?:^|: )({'|'.join(EXIT_STATUS)})(?:: |$)")

Key = tuple[str, str, str]
"""Scenario, case and version."""


@dataclass(frozen=True, kw_only=True)
class CellState:
    """What one version of a file says of a cell."""

    commit: str
    at: datetime
    """When that was committed."""
    counts: Counts
    runs: tuple[str, ...] = ()
    not_good: tuple[str, ...] = ()
    """Lines "NAME: what", five at most."""
    commits: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()

    @cached_property
    def bad(self) -> Mapping[str, str]:
        """What was published of the runs that it names as not as documented."""
        pairs = (line.partition(": ") for line in self.not_good)
        return {name: told for name, _, told in pairs}

    @property
    def bad_runs(self) -> int:
        return self.counts.runs - self.counts.good


def begun(run: str) -> datetime:
    """When a run was begun, as its name says.

    >>> begun("20261123t004111-memory-survives-killed-0-10-2-2-s2001-314c").isoformat()
    '2026-11-23T00:41:11+00:00'
    """
    return datetime.strptime(run[:15], "%Y%m%dt%H%M%S").replace(tzinfo=UTC)


def seed_of(run: str) -> int | None:
    """The seed of a run, as its name says."""
    found = RUN.fullmatch(run)
    return int(found["seed"]) if found else None


# From states to lines: pure


def lines_of(key: Key, states: Sequence[CellState]) -> Iterator[AnyLine]:
    """The lines of a cell, from everything that was published of it, in the order of time."""
    yield from _runs(key, states)
    yield from _cells(key, states)


def _runs(key: Key, states: Sequence[CellState]) -> Iterator[RestoredRun]:
    scenario, case, version = key
    named = dict.fromkeys(run for state in states for run in (*state.runs, *state.bad))
    verdicts = verdicts_of(states)
    told = {run: text for state in reversed(states) for run, text in state.bad.items()}
    for run in sorted(named):
        having = [state for state in states if run in state.runs or run in state.bad]
        listing = [state for state in having if run in state.runs]
        seen, unsure = anomalies_of(listing)
        yield RestoredRun(
            schema=ledger.SCHEMA,
            run=run,
            at=ledger.stamp(begun(run)),
            scenario=scenario,
            case=case,
            version=version,
            seed=seed_of(run),
            source=having[0].commit,
            gone=_gone(run, states),
            commits=_commits(listing or having),
            verdict=verdicts.get(run),
            told=told.get(run, ""),
            lost=lost_in(told.get(run, "")),
            seen=seen,
            unsure=unsure,
        )


def lost_in(told: str) -> int | None:
    """How many records were lost, in the words of an outcome; None if they do not say.

    >>> lost_in("1 of 561 acknowledged records LOST: unexpected"), lost_in("all 561 acknowledged records kept: unknown")
    (1, 0)
    """
    if found := re.match(r"([\d ]+?) (?:of [\d ]+ )?acknowledged (?:records? )?LOST", told):
        return int(found[1].replace(" ", ""))
    return 0 if re.match(r"(?:all [\d ]+|1) acknowledged records? kept", told) else None


def _gone(run: str, states: Sequence[CellState]) -> str | None:
    """The commit that no longer names a run which the one before named; None if it is named to the end."""
    without = None
    for state in states:
        if run in state.runs:
            without = None
        elif state.runs and without is None:
            without = state.commit
    return without if any(run in state.runs for state in states) else None


def _commits(having: Sequence[CellState]) -> tuple[str, ...]:
    """The commits that a run may be of: those that all states which have it name."""
    common = set(having[0].commits).intersection(*(state.commits for state in having))
    return tuple(sorted(common))


def verdicts_of(states: Sequence[CellState]) -> dict[str, str]:
    """The verdicts of runs, as far as the states tell: listed ones as listed, others where all that were not as
    documented are listed.
    """
    known: dict[str, str] = {}
    for state in states:
        for run, told in state.bad.items():
            found = VERDICT.search(told)
            known.setdefault(run, found[1] if found else "")
    known = {run: verdict for run, verdict in known.items() if verdict}
    for _ in states:
        for state in states:
            if state.runs and sum(known.get(run, GOOD[0]) not in GOOD for run in state.runs) >= state.bad_runs:
                only = next((name for name in state.counts.verdicts if name in GOOD), AS_DOCUMENTED)
                known |= {run: only for run in state.runs if run not in known}
    return known


def anomalies_of(listing: Sequence[CellState]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The anomalies that a run had, and those that it may have had, from the states that list it."""
    seen: set[str] = set()
    never: set[str] = set()
    some: set[str] = set()
    for state in listing:
        counts = state.counts.seen
        seen |= {name for name, number in counts.items() if number == state.counts.runs}
        some |= set(counts)
    for state in listing:
        never |= some - set(state.counts.seen)
    return tuple(sorted(seen)), tuple(sorted(some - seen - never))


def _cells(key: Key, states: Sequence[CellState]) -> Iterator[RestoredCell]:
    """The last state, those before it that have other runs, and runs without names."""
    covered: set[str] = set()
    for number, state in enumerate(reversed(states)):
        if state.runs and (number == 0 or not covered >= set(state.runs)):
            covered |= set(state.runs)
            yield _cell(key, state)
    named = {run for state in states for run in (*state.runs, *state.bad)}
    yield from (_cell(key, state, unnamed, good) for state, unnamed, good in unnamed_of(states, named))


def unnamed_of(states: Sequence[CellState], named: Iterable[str]) -> list[tuple[CellState, int, int]]:
    """States that have runs without names, how many at least, and how many of these ended as documented."""
    found: list[tuple[CellState, int, int, set[str]]] = []
    for state in states:
        if state.runs:
            continue
        had_begun = [run for run in named if begun(run) < state.at]
        unnamed = state.counts.runs - len(had_begun)
        if unnamed <= 0:
            continue
        bad = max(0, state.bad_runs - len(state.bad))
        commits = set(state.commits)
        same = [one for one in found if one[3] & commits]
        most = max([(state, unnamed, unnamed - bad), *(one[:3] for one in same)], key=lambda one: one[1])
        found = [one for one in found if one not in same] + [(*most, commits.union(*(one[3] for one in same)))]
    return [one[:3] for one in found]


def _cell(key: Key, state: CellState, unnamed: int = 0, good: int = 0) -> RestoredCell:
    scenario, case, version = key
    return RestoredCell(
        schema=ledger.SCHEMA,
        at=ledger.stamp(state.at),
        scenario=scenario,
        case=case,
        version=version,
        source=state.commit,
        runs=tuple(sorted(state.runs)),
        unnamed=unnamed,
        unnamed_good=good,
        commits=state.commits,
        machines=state.machines,
        counts=state.counts,
    )


# From files to states


def state_of(commit: str, at: datetime, cell: Mapping[str, Any], machines: Iterable[str]) -> CellState:
    """A cell of a scenario's file."""
    counts = Counts(
        runs=cell["runs"],
        good=cell["good"],
        verdicts=cell.get("verdicts") or {},
        lost=cell.get("lost", 0),
        acknowledged=_pair(cell.get("acknowledged")),
        lost_records=_pair(cell.get("lost_records")),
        seen=cell.get("seen") or {},
        claims=cell.get("claims") or {},
        timings={
            name: {key: tuple(values) for key, values in timing.items()}
            for name, timing in (cell.get("timings") or {}).items()
        },
        clients={name: tuple(values) for name, values in (cell.get("clients") or {}).items()},
        seconds=cell.get("seconds"),
        ack_ms=cell.get("ack_ms"),
    )
    return CellState(
        commit=commit,
        at=at,
        counts=counts,
        runs=tuple(cell.get("ids") or ()),
        not_good=tuple(cell.get("not_good") or ()),
        commits=tuple(cell.get("commits") or ()),
        machines=tuple(machines),
    )


def _pair(values: Sequence[int] | None) -> tuple[int, int] | None:
    return (values[0], values[1]) if values else None


def states_of_table(commit: str, at: datetime, text: str) -> Iterator[tuple[Key, CellState]]:
    """The cells of a table as docs/reproduced.md had it at first; none of a later one."""
    if HEADING not in text:
        return
    machine = re.search(r"^Machine: (.*?)\.?$", text, re.MULTILINE)
    for row in re.findall(r"^\| ([\w-]+) \| ([\w.-]+) \| (.*) \|$", text, re.MULTILINE):
        name, version, rest = row
        columns = rest.split(" | ")
        if len(columns) != 6 or not re.fullmatch(r"\d+ of \d+", columns[2]):
            continue  # the heading
        _, seen, ran, seconds, _, commits = columns
        good, runs = map(int, ran.split(" of "))
        counts = Counts(
            runs=runs,
            good=good,
            verdicts={AS_DOCUMENTED: good} if good == runs else {},
            lost=_seen(seen, runs).get("lost-write", 0),
            seen=_seen(seen, runs),
            seconds=float(seconds.removesuffix(" s")) if seconds.strip() else None,
        )
        named = tuple(word for word in re.findall(r"[0-9a-f]{8}\+?", commits))
        yield (
            (name, DEFAULT_CASE, version),
            CellState(commit=commit, at=at, counts=counts, commits=named, machines=(machine[1],) if machine else ()),
        )


def _seen(text: str, runs: int) -> dict[str, int]:
    """Anomalies as a table named them, `a, b (1 of 5)`, as counts."""
    found = re.findall(r"([a-z-]+)(?: \((\d+) of \d+\))?", "" if text == "none" else text)
    return {name: int(number or runs) for name, number in found}


def audited(commit: str, at: datetime, path: str, text: str) -> Iterator[tuple[Key, CellState]]:
    """Each run of a version of the audit's matrix, as a cell of its own."""
    if path.endswith(".json"):
        runs = [(name, about["commit"]) for name, about in json.loads(text)["runs"].items()]
    else:
        runs = [(row["id"], row["commit"]) for row in csv.DictReader(io.StringIO(text))]
    for name, of in runs:
        found = RUN.fullmatch(name)
        if found is None:
            raise UsageError(f"{path} at {commit[:SHORT]}: {name} is not the name of a run")
        version = max(
            (one.id for one in versions.KNOWN if found["what"].endswith(f"-{one.id.replace('.', '-')}")),
            key=len,
        )
        scenario = found["what"].removesuffix(f"-{version.replace('.', '-')}")
        yield (
            (scenario, DEFAULT_CASE, version),
            CellState(commit=commit, at=at, counts=Counts(runs=1, good=0), runs=(name,), commits=(of,)),
        )


# From history to files


class GitHistory:
    """What git keeps of some files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str) -> str:
        """What git says. Raises UsageError where it says nothing."""
        try:
            return subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", "") or str(error)
            raise UsageError(f"{self.root}: no git history to restore runs from ({' '.join(why.split())})") from None

    def versions(self, *places: str) -> Iterator[tuple[str, datetime, str, str]]:
        """Every version of the files at these places: commit, its moment, path and text; each text of a path once."""
        had: dict[str, str] = {}
        for line in self.git("log", "--reverse", "--format=%H %ct", "--", *places).splitlines():
            commit, stamp = line.split()
            for entry in self.git("ls-tree", "-r", commit, "--", *places).splitlines():
                about, path = entry.split("\t")
                blob = about.split()[2]
                if had.get(path) != blob:
                    had[path] = blob
                    yield commit, datetime.fromtimestamp(int(stamp), UTC), path, self.git("cat-file", "blob", blob)


def published(history: GitHistory) -> dict[Key, list[CellState]]:
    """Every state that was published of each cell, in the order of time, each once."""
    found: dict[Key, list[CellState]] = {}

    def add(key: Key, state: CellState) -> None:
        states = found.setdefault(key, [])
        if not states or (states[-1].counts, states[-1].runs) != (state.counts, state.runs):
            states.append(state)

    for commit, at, _, text in history.versions(TABLE):
        for key, state in states_of_table(commit, at, text):
            add(key, state)
    for commit, at, path, text in history.versions(*DATA):
        if not path.endswith(".json"):
            continue
        value = json.loads(text)
        for case, of_case in (value.get("cases") or {}).items():
            for version, cell in of_case.items():
                add((Path(path).stem, case, version), state_of(commit, at, cell, value.get("machines") or ()))
    return found


def audits(history: GitHistory) -> Iterator[RestoredRun]:
    """A line for each run that the audit's matrix ever named. Its verdict was not published: it was sound."""
    lines: dict[str, RestoredRun] = {}
    here: set[str] = set()
    for commit, at, path, text in history.versions(*MATRICES):
        named = set()
        for key, state in audited(commit, at, path, text):
            (line,) = _runs(key, [state])
            lines.setdefault(line.run, replace(line, seen=None))
            named.add(line.run)
        for run in here - named:
            lines[run] = replace(lines[run], gone=commit)
        for run in named:
            lines[run] = replace(lines[run], gone=None)
        here = named
    yield from lines.values()


def restore(into: store.LedgerFolder, history: GitHistory) -> Counter[str]:
    """Add every line that the ledger lacks; how many of each kind there are."""
    lines = [line for key, states in published(history).items() for line in lines_of(key, states)]
    counts: Counter[str] = Counter()
    for line in [*lines, *audits(history)]:
        counts[str(line.__struct_config__.tag)] += 1
        into.add(ledger.encode(line), line, "git")
    return counts


def main() -> int:
    """Restore what the ledger lacks."""
    try:
        kept = store.load()
        counts = restore(kept, GitHistory(store.FOLDER.parents[1]))
        written = store.save(kept)
    except KafkaChaosError as error:
        print(f"restored: {error}", file=sys.stderr)
        return error.exit_status
    print(f"{dict(counts)}; {len(written)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
