"""docs/recall.md: which of the museum's bugs scenarios that are not the museum's find, unprompted.

    python -m pages.recall             the page (`make docs` writes it)
    python -m pages.recall releases    the releases that have a bug, for `make recall`

A bug is found by a run on a release that has it, if two things hold. The verdict is *unexpected* and names an anomaly
or a claim that the museum's own scenario requires of that bug. Somebody found out that the bug is the reason
(results/explained.toml, `bug`), since a sign alone may come of something else. Where a scenario states the bug itself,
as what is documented of these releases, its runs are not unprompted: they are not counted, and the page says which do.
A run that found a bug before a scenario stated it counts as that.

All runs are those of the ledger. A verdict is the first one that was given, by what was documented before the run.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import results
from checks.claims import CONTRADICTED
from evidence import ledger
from evidence.ledger import AnyLine, Excluded, RestoredRun, RunJudged, RunStarted
from evidence.text import plural
from harness.cluster import versions
from harness.scenario import all_scenarios
from judgement.report.cells import version_key
from judgement.verdict import UNEXPECTED
from results.explained import by_run

PAGE: Final = Path("docs/recall.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """One of the museum's bugs, and what shows it."""

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
    "KAFKA-20330": "a member of a share group that accepts records whose broker has gone",
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
class Sought:
    """What runs of other scenarios on releases with a bug showed of it."""

    runs: Mapping[str, int]
    """How many have a verdict, for each release that has the bug and any run."""
    scenarios: int
    """Of how many scenarios these are."""
    unexpected: int
    found: tuple[str, ...] = ()
    """The runs that showed it, as is explained of them."""
    named: int = 0
    """How many unexpected runs named one of its signs for another reason."""

    @property
    def count(self) -> int:
        """How many runs, on all releases."""
        return sum(self.runs.values())


def sought(
    lines: Iterable[AnyLine], bugs: Sequence[Affected], museum: Collection[str], shown: Mapping[str, str]
) -> dict[str, Sought]:
    """What the ledger's runs say of each bug: those of no scenario of the `museum` and of none that states the bug, of
    a clean tree, unchanged brokers and nobody's own settings. `shown` is the bug that a run is known to have shown.
    """
    every = list(lines)
    excluded = {line.run for line in every if isinstance(line, Excluded)}
    said = _said(every)
    counted = [
        line
        for line in every
        if isinstance(line, RunStarted | RestoredRun)
        and line.run in said
        and line.run not in excluded
        and line.scenario not in museum
        and not line.aside
    ]
    return {bug.bug: _of(bug, counted, said, shown) for bug in bugs}


def _of(
    bug: Affected, counted: Sequence[RunStarted | RestoredRun], said: Mapping[str, Said], shown: Mapping[str, str]
) -> Sought:
    of = [line for line in counted if line.version in bug.affected and line.scenario not in bug.stated]
    unexpected = [line.run for line in of if said[line.run].verdict == UNEXPECTED]
    named = [run for run in unexpected if any(said[run].names(sign) for sign in bug.signs)]
    told = [line.run for line in counted if shown.get(line.run) == bug.bug and said[line.run].verdict == UNEXPECTED]
    found = [run for run in told if any(said[run].names(sign) for sign in bug.signs)]
    return Sought(
        runs={v: n for v in bug.affected if (n := sum(line.version == v for line in of))},
        scenarios=len({line.scenario for line in of}),
        unexpected=len(unexpected),
        found=tuple(found),
        named=len(set(named) - set(found)),
    )


@dataclass(frozen=True, slots=True)
class Said:
    """The verdict on a run, and what it was given for."""

    verdict: str
    named: frozenset[str]
    """Anomalies and claims."""
    told: str = ""
    """What was published of a run that is restored."""

    def names(self, sign: str) -> bool:
        """Whether an anomaly or a claim is among what it was given for."""
        return sign in self.named or sign in self.told


def _said(lines: Iterable[AnyLine]) -> dict[str, Said]:
    said: dict[str, Said] = {}
    for line in lines:
        if isinstance(line, RunJudged):
            claims = (one.name for one in line.claims if one.outcome == CONTRADICTED)
            said.setdefault(line.run, Said(line.verdict, frozenset({*line.unexpected, *claims})))
        elif isinstance(line, RestoredRun):
            said[line.run] = Said(line.verdict or "", frozenset(line.seen or ()), line.told)
    return said


def in_ledger(bugs: Sequence[Affected], root: Path = results.ROOT / results.LEDGER) -> dict[str, Sought]:
    """The same of the ledger in a folder."""
    museum = {one.name for one in all_scenarios().values() if one.exhibit is not None}
    shown = {run: one.bug for run, one in by_run(root.parent).items() if one.bug}
    return sought((line for path in ledger.files_of(root) for _, line in ledger.read(path)), bugs, museum, shown)


def releases(bugs: Iterable[Affected]) -> list[str]:
    """Every version that a bug is shown on, the oldest first."""
    return sorted({version for bug in bugs for version in bug.affected}, key=version_key)


def page(bugs: Sequence[Affected], by_bug: Mapping[str, Sought]) -> str:
    """The page of what was sought and found."""
    stated = [bug for bug in bugs if bug.stated]
    found = [bug for bug in bugs if by_bug[bug.bug].found]
    missed = [bug for bug in bugs if by_bug[bug.bug].count and bug not in found and not bug.stated]
    free = [bug.bug for bug in bugs if not by_bug[bug.bug].count]
    out = [
        "# Recall: do other scenarios find the museum's bugs?",
        "",
        "<!-- `make docs` makes this page from results/ledger/: do not edit it. -->",
        "",
        "Scenarios that are not the museum's are run on the releases that have its bugs (`make recall`, and all other",
        "runs of the [ledger](ledger.md)). A bug is found if such a run is *unexpected*, names an anomaly or claim",
        "that the museum's own scenario requires of it, and the bug is known to be the reason. A verdict is the first",
        "one that was given, by what was documented before the run. A scenario that states a bug itself, as",
        "documented of its releases, cannot be surprised by it: its runs are not counted here. A run that found the",
        "bug before the scenario stated it counts.",
        "",
        f"**{len(found)} of {len(bugs)} bugs were found unprompted.** {plural(len(stated), 'bug')} "
        f"{'is' if len(stated) == 1 else 'are'} stated by another scenario besides. {len(missed)} "
        f"{'was' if len(missed) == 1 else 'were'} not found, and no",
        "other scenario states them. Each needs something that no run of another scenario had: the last column says",
        "what.",
        "",
        *([f"No run with a verdict is on a release that has {', '.join(free)}.", ""] if free else []),
        "Some unexpected runs named a sign of a bug for another reason: the machine, our harness, or something else",
        "that Kafka does. They found nothing.",
        "",
        "| bug | what it does | signs | runs on its releases | scenarios | unexpected | of these with a sign, for "
        "another reason | found by | stated by | needs |",
        "|---|---|---|---|---:|---:|---:|---|---|---|",
    ]
    return "\n".join([*out, *(f"| {' | '.join(_row(bug, by_bug[bug.bug]))} |" for bug in bugs), ""])


def _row(bug: Affected, of: Sought) -> tuple[str, ...]:
    return (
        bug.bug,
        bug.title,
        ", ".join(sorted(bug.signs)) or "–",
        ", ".join(f"{version} ({of.runs.get(version, 0)})" for version in sorted(bug.affected, key=version_key)),
        str(of.scenarios),
        str(of.unexpected),
        str(of.named),
        ", ".join(of.found) or "–",
        ", ".join(bug.stated) or "–",
        NEEDS.get(bug.bug, "–"),
    )


if __name__ == "__main__":
    BUGS = exhibits()
    if sys.argv[1:] == ["releases"]:
        print(*releases(BUGS))
    else:
        PAGE.write_text(page(BUGS, in_ledger(BUGS)), encoding="utf-8")
