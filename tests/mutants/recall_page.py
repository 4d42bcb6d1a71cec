"""docs/recall.md: which of the museum's bugs scenarios that are not the museum's find, unprompted.

A bug is found by a run on a release that has it, if the verdict is *unexpected* and names an anomaly or a claim that
the museum's own scenario requires of that bug. Where a scenario states the bug itself, as what is documented of these
releases, its runs are not unprompted: the page says which do.

The ledger has thousands of such runs from before. They are counted beside the others, for a sign that they name counts
as well as any; but what is documented was made with them at hand, so that they find nothing proves less.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checks.claims import CONTRADICTED
from evidence import ledger
from evidence.ledger import AnyLine, Excluded, RestoredRun, RunJudged, RunStarted
from evidence.text import plural
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


NEEDS: Final[Mapping[str, str]] = {
    "KAFKA-13598": "Kafka's own producer of that release with its default settings; these runs send with librdkafka",
    "KAFKA-13636": "offsets.retention.minutes that passes while a group forms",
    "KAFKA-13727": "a topic that is compacted, and a cleaner that runs between two transactions",
    "KAFKA-14010": "a controller whose ZooKeeper session ends while a leader asks it to change an ISR",
    "KAFKA-14055": "a topic that is compacted, transactions, and keys that are integers",
    "KAFKA-14196": "Kafka's own consumer of that release, and a rebalance while it has records that nobody polled",
    "KAFKA-14402": "a request of a transaction that comes after its end",
    "KAFKA-14616": "a topic that is deleted, and made again while a broker is down",
    "KAFKA-15375": "a torn log, and a start of brokers while no controller is there",
    "KAFKA-15552": "a migration from ZooKeeper",
    "KAFKA-15665": "a reassignment to a replica that is not in sync when the others are taken away",
    "KAFKA-17375": "segment.bytes that is lowered below a batch",
    "KAFKA-17754": "requests of a transaction that are held up until after its time-out",
    "KAFKA-18641": "Kafka's own consumer of that release, with group.protocol=consumer and automatic commits",
    "KAFKA-19012": "Kafka's own producer, whose batches expire while they are sent",
    "KAFKA-20634": "hundreds of commits under way while a coordinator moves",
    "KAFKA-20685": "an application of Kafka Streams that has a store and large values, and dies in a transaction",
    "KAFKA-20716": "a transaction that is open when records are lost",
    "KAFKA-4682": "offsets.retention.minutes that passes while a group has nothing to read",
    "KAFKA-4893": "a topic with a long name, which is deleted",
    "KAFKA-5600": "offsets in several segments, and a coordinator that moves",
    "KAFKA-6003": "a new replica of a partition whose idempotent producer's first records are deleted",
    "KAFKA-6119": "a transaction that lasts longer than its time-out",
    "KAFKA-6361": "two replicas that lead in turns by unclean elections",
    "KAFKA-6975": "records deleted up to the middle of a batch, before a follower comes back",
    "KAFKA-7192": "an application of Kafka Streams that has a store and large values, and dies in a transaction",
    "KAFKA-7286": "a commit larger than offsets.load.buffer.size",
    "KAFKA-8069": "an upgrade in the middle, and a group without members",
    "KAFKA-9254": "a setting of all brokers that is changed twice while they run",
    "deleted-records-return": "a start of all brokers while no controller is there",
    "poll-commits-ahead": "Kafka's own consumer of that release, with group.protocol=consumer and automatic commits",
    "observers-spin": "a measure of how busy a broker's threads are",
}
"""What a bug needs, by its museum's sequence, that no run of a generic scenario has had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What runs of other scenarios on releases with a bug have shown, of the ledger."""

    runs: int
    unexpected: int
    found: tuple[tuple[str, str], ...]
    """A bug, and the run that named one of its signs."""
    until: str
    """The day of the newest of these lines."""


def published(lines: Iterable[AnyLine], bugs: Sequence[Affected], museum: Collection[str]) -> Published:
    """The runs of the ledger that count here: of no scenario of the `museum`, on a release with a bug, of a clean tree
    and with nobody's own settings.
    """
    every = list(lines)
    excluded = {line.run for line in every if isinstance(line, Excluded)}
    affected = {version for bug in bugs for version in bug.affected}
    of = {
        line.run: line
        for line in every
        if isinstance(line, RunStarted | RestoredRun)
        and line.run not in excluded
        and line.scenario not in museum
        and line.version in affected
        and _counts(line)
    }
    said = _said(every)
    unexpected = [run for run in of if run in said and said[run][0] == UNEXPECTED]
    found = [
        (bug.bug, run)
        for run in unexpected
        for bug in bugs
        if of[run].version in bug.affected and of[run].scenario not in bug.stated
        if any(sign in said[run][1] or sign in said[run][2] for sign in bug.signs)
    ]
    days = [of[run].at[:10] for run in of]
    return Published(runs=len(of), unexpected=len(unexpected), found=tuple(found), until=max(days, default=""))


def _counts(line: RunStarted | RestoredRun) -> bool:
    """Whether a run is of a clean tree, of unchanged brokers and of nobody's own settings."""
    return isinstance(line, RestoredRun) or not (line.modified or line.observed or line.mutant)


def _said(lines: Iterable[AnyLine]) -> dict[str, tuple[str, set[str], str]]:
    """The verdict on each run, the names that it was given for, and what was published of it."""
    said: dict[str, tuple[str, set[str], str]] = {}
    for line in lines:
        if isinstance(line, RunJudged):
            names = {*line.unexpected, *(one.name for one in line.claims if one.outcome == CONTRADICTED)}
            said.setdefault(line.run, (line.verdict, names, ""))
        elif isinstance(line, RestoredRun):
            said[line.run] = (line.verdict or "", set(line.seen or ()), line.told)
    return said


def in_ledger(root: Path, bugs: Sequence[Affected]) -> Published:
    """The same of the ledger in a folder."""
    museum = {one.name for one in all_scenarios().values() if one.exhibit is not None}
    return published((line for path in sorted(root.glob("*.jsonl")) for _, line in ledger.read(path)), bugs, museum)


def finds(row: Row, bug: Affected) -> tuple[str, ...]:
    """What a run names of a bug's signs, unprompted; nothing if it does not find it."""
    if row.verdict != UNEXPECTED or row.version not in bug.affected or row.scenario in bug.stated:
        return ()
    return tuple(sorted(bug.signs & {*row.anomalies, *row.claims}))


def of_ledger(before: Published) -> list[str]:
    """What is said of the runs that the ledger has."""
    found = ", ".join(f"{bug} ({run})" for bug, run in before.found) or "none of them names a sign of a bug"
    return [
        f"Until {before.until} the ledger has {before.runs} runs of such scenarios on releases that have a bug.",
        f"{before.unexpected} of these are *unexpected*: {found}. Outcomes were documented with most of these",
        "runs at hand, so new runs say more about the scenarios' power to find bugs.",
        "",
    ]


def page(every: Sequence[Row], bugs: Sequence[Affected], before: Published | None = None) -> str:
    """The page of these runs, and of those that the ledger had before."""
    tried = [bug for bug in bugs if any(row.version in bug.affected for row in every)]
    found = [bug for bug in tried if any(finds(row, bug) for row in every)]
    out = [
        "# Recall: do other scenarios find the museum's bugs?",
        "",
        "Made by `make recall` from `results/recall.csv`. Scenarios that are not the museum's are run on",
        "the releases that have its bugs. A bug is found if such a run is *unexpected* and names an anomaly or a claim",
        "that the museum's own scenario requires of it, and the scenario does not state the bug itself.",
        "",
        f"{len(tried)} of {len(bugs)} bugs are on a release that was run, and {len(found)} of these were found, by",
        f"{plural(len(every), 'run')} on {plural(len({row.version for row in every}), 'release')}.",
        "",
        *(of_ledger(before) if before else []),
        "A bug of which a scenario other than the museum's knows, and documents it, cannot be found any more: its runs",
        "are as documented. The last column says what the other bugs need; no run of another scenario had that.",
        "",
        "| bug | what it does | on | signs | runs | found by | needs |",
        "|---|---|---|---|---:|---|---|",
    ]
    for bug in bugs:
        runs = [row for row in every if row.version in bug.affected]
        by = [f"{row.what} on {row.version} ({', '.join(finds(row, bug))})" for row in runs if finds(row, bug)]
        stated = f"stated by {', '.join(bug.stated)}" if bug.stated else ""
        said = "; ".join(filter(None, [*by, stated])) or ("–" if runs else "not run")
        signs = ", ".join(sorted(bug.signs)) or "–"
        about = f"| {bug.bug} | {bug.title} | {', '.join(bug.affected)} | {signs} | {len(runs)} | {said} |"
        out.append(f"{about} {NEEDS.get(bug.bug, '–')} |")
    out += ["", "## Every run", "", "| scenario | release | verdict | what it said first | s | commit |"]
    out += ["|---|---|---|---|---:|---|"]
    for row in sorted(every, key=lambda row: (row.version, row.what, row.run)):
        first = row.reasons[0].replace("|", "\\|")[:160] if row.reasons else ""
        out.append(f"| {row.what} | {row.version} | {row.verdict} | {first} | {row.seconds} | {row.commit} |")
    return "\n".join([*out, ""])
