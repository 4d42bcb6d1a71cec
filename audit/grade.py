"""Grades: what a producer's settings risk on a topic, each statement with the measured cell that shows it.

| grade | what it takes |
|---|---|
| A | no graded fault lost, duplicated or reordered an acknowledged record |
| B | none is lost by a graded fault; one duplicates or reorders some |
| C | some are lost if several things fail one after the other |
| D | some are lost if one broker fails at a bad moment: its followers are behind, or it stands still or is cut off |
| E | some are lost if one broker fails at any moment under load |
| F | some are lost although no broker fails: at an orderly restart, or when an answer is late or gone; or all are lost
with one disk, at any time |

Nothing is graded that was not measured: a grade is "at best" if a fault that could make it worse has no cell, and "?"
if there is no cell at all. What was stated beforehand about a cell plays no part, only what its runs show.

Loss of power is not in the grade: of all replicas at one moment, or of the last one in sync. Records that no replica
has flushed are gone then, whatever a producer asks for. So are records that only those replicas have flushed which the
last one makes truncate. (Against the second there are acks=all, min.insync.replicas=2 and eligible leader replicas.) If
this loss were graded, nearly every producer would be a C, and none could be told from another. So it is measured, and
told in lines of its own, with what removes it (flush.messages=1) and what that costs. It decides over nothing else.
What is written twice while the brokers come back is graded: idempotence prevents it.

The smallest change is searched for among cells as well: first each single setting, then each two, then newer brokers.
It removes what was measured to do harm now and to do none with the change; what it leaves is said. Its cost is what the
same two settings show without a fault, in the same runs if there are any that have both: a busy hour costs both alike.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Final, Literal

from audit.cells import (
    DISK_LOST,
    FAULTS,
    LAST_DISK_LOST,
    LAST_REPLICA,
    LOSES_POWER,
    Cell,
    Covering,
    Index,
    RunCounts,
    Settings,
    covering_in,
    indexed,
)
from audit.defaults import FOREVER, NAMES, RULES, Concept
from audit.model import InputProblem, Inputs, Origin, ProducerConfig, Setting
from audit.policies import Policy
from audit.proof import Proved
from audit.resolve import Resolved, Value, resolve, written
from audit.topics import (
    FLUSH_MESSAGES,
    IF_ONE,
    IF_THREE,
    MIN_INSYNC_REPLICAS,
    REPLICATION_FACTOR,
    UNCLEAN_ELECTION,
    ResolvedTopic,
    StatedByUser,
    topics_of,
    with_one_replica,
)
from evidence.borders import UNCLEAN_OFF
from evidence.releases import numbers

Effect = Literal["loss", "duplicate", "reorder"]
EFFECTS: Final[tuple[Effect, ...]] = ("loss", "duplicate", "reorder")
COUNTED: Final[Mapping[Effect, str]] = {"loss": "lost", "duplicate": "duplicated", "reorder": "reordered"}
"""The count of a run that shows each effect."""

GRADES: Final[Mapping[str, str]] = {
    "A": "no graded fault lost, duplicated or reordered an acknowledged record",
    "B": "no acknowledged record is lost by a graded fault; one duplicates or reorders some",
    "C": "acknowledged records are lost if several things fail one after the other",
    "D": "acknowledged records are lost if one broker fails at a bad moment",
    "E": "acknowledged records are lost if one broker fails at any moment under load",
    "F": "acknowledged records are lost although no broker fails, or all of them with one disk",
}
LOSE_NOTHING: Final = frozenset({"A", "B"})
"""Grades that promise that no acknowledged record is lost."""
NOT_MEASURED: Final = "?"
REFUSED: Final = "-"
ORDER: Final = (REFUSED, "A", "B", NOT_MEASURED, "C", "D", "E", "F")
"""From harmless to worst."""
GRADE_IF_LOST: Final[Mapping[str, str]] = {
    "leader-crash-behind": "D",
    "leader-cut-off": "D",
    "zombie-leader": "D",
    "leader-crash-under-load": "E",
    "shrunk-isr-crash": "C",
    "whole-isr-down": "C",
    "double-failover": "C",
    "follower-reboot": "C",
    "broker-restart": "F",
    "rolling-restart": "F",
    "lost-acknowledgement": "F",
    "refused-then-accepted": "F",
    "time-out": "F",
    "client-crash": "F",
    "disk-lost": "F",
    "rack-lost": "C",
    "last-disk-lost": "C",
}
"""The grade if a fault loses acknowledged records; every fault of `audit.cells` has one but "none" and `UNGRADED`."""
UNGRADED: Final = LOSES_POWER
"""Faults whose losses are not for a producer's settings to prevent: told apart from it, and by words of their own
for --fail-on. What they duplicate or reorder idempotence prevents, and is graded like any other.
"""
NEEDS_FOLLOWERS: Final = frozenset(
    {"leader-crash-behind", "leader-cut-off", "zombie-leader", "shrunk-isr-crash", "double-failover",
     "follower-reboot", LAST_REPLICA, LAST_DISK_LOST}
)  # fmt: skip
"""Faults that there are not with a single replica."""
NO_FAULT: Final = "none"


def worst(grades: Iterable[str]) -> str:
    """The worst of grades; "-" of none.

    >>> worst(["A", "D", "?"])
    'D'
    """
    return max(grades, key=ORDER.index, default=REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredHarm:
    """One fault that does one kind of harm to acknowledged records, and the measured cell that shows it."""

    effect: Effect
    fault: str
    covering: Covering
    run: RunCounts
    """Of the cell's runs the one with the most harm."""

    @property
    def count(self) -> int:
        """How many acknowledged records of that run: one that is written three times is one that was written twice."""
        return min(int(getattr(self.run, COUNTED[self.effect])), self.run.acknowledged)

    @property
    def kind(self) -> str:
        """What --fail-on calls it: the effect, or the fault if it is not graded."""
        return self.effect if self.graded else self.fault

    @property
    def graded(self) -> bool:
        """Whether it decides over the grade."""
        return self.fault not in UNGRADED or self.effect != "loss"

    @property
    def times(self) -> int:
        """In how many of the cell's runs it was seen."""
        return sum(getattr(run, COUNTED[self.effect]) > 0 for run in self.covering.cell.runs)

    @property
    def of(self) -> int:
        """How many runs the cell has."""
        return len(self.covering.cell.runs)

    @property
    def sentence(self) -> str:
        """In words, such as "37 of 37 acknowledged records were lost"."""
        what = {"loss": "lost", "duplicate": "written twice", "reorder": "reordered"}[self.effect]
        records = "record" if self.run.acknowledged == 1 else "records"
        # With acks=0 a client reports success when it has handed a record over: nobody acknowledges anything.
        asked = self.covering.cell.key.acks != "0"
        of = f"acknowledged {records}" if asked else f"{records} sent with acks=0"
        return f"{self.count} of {self.run.acknowledged} {of} {'was' if self.count == 1 else 'were'} {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """What the policy grades beside measured losses: by Kafka's documents, or by refusals that cells show."""

    fault: str
    """The policy's own name of it: "single-replica", "acknowledged-by-one", "refused"."""
    letter: str
    sentence: str
    source: str
    """Whose statement it is, or the run that shows it."""
    effect: Effect = "loss"
    kind: str = "loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Sends that failed for good by a fault: the run of its cell with the most."""

    fault: str
    failed: int
    sent: int
    times: int
    """In how many of the cell's runs sends failed."""
    of: int
    run: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What settings cost without a fault: medians over the runs of a cell; None where that was not measured."""

    latency_p50_ms: float | None
    latency_p99_ms: float | None
    records_per_s: float | None
    runs: tuple[str, ...]
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)
    """The least and the most of the runs, by the names above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting to change, of the producer, the topic or the brokers."""

    where: Literal["producer", "topic", "brokers"]
    key: str
    value: str
    written: str
    """As it is written in that place."""
    origin: Origin | None = None
    """The line that has it now; None if it is to be added."""

    @property
    def label(self) -> str:
        """For people: "acks=all"; `origin` is told beside it."""
        if self.key == VERSION:
            return f"brokers of {self.value}"
        if self.key == PROTOCOL:
            return "finish the upgrade: an inter.broker.protocol.version of the brokers' own release"
        return f"{self.written}={self.value}" + ("" if self.where == "producer" else " for the topic")


VERSION: Final = "version"
PROTOCOL: Final = "inter.broker.protocol.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A change, what it removes, and what it costs."""

    changes: tuple[SettingChange, ...]
    removes: tuple[MeasuredHarm, ...]
    leaves: tuple[MeasuredHarm, ...]
    """What it was to remove and does not; empty unless nothing better was found."""
    brings: tuple[MeasuredHarm, ...] = ()
    """Harm of a kind that there was none of before."""
    grade: str
    """The grade with the change."""
    at_best: bool = False
    """Whether a fault that could make it worse is not measured with the change."""
    refuses: tuple[str, ...] = ()
    """Faults in which, with the change and not without, sends are refused."""
    before: Cost | None = None
    after: Cost | None = None
    remains: str = ""
    """Why the grade is no better, in a few words: "losses by broker-restart"; "" if it is better."""

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What kinds of harm it removes altogether."""
        left = {one.effect for one in self.leaves}
        return tuple(each for each in EFFECTS if each in {one.effect for one in self.removes} - left)


@dataclass(frozen=True, kw_only=True)
class ProducerCase:
    """A producer, resolved one way, on a topic, or on several that are alike."""

    resolved: Resolved
    topic: ResolvedTopic
    settings: Settings
    covered: Mapping[str, Covering]
    findings: tuple[MeasuredHarm, ...]
    """Those that are graded."""
    fixes: tuple[Fix, ...] = ()
    ungraded: tuple[MeasuredHarm, ...] = ()
    """The others: losses by loss of power."""
    flushed: Fix | None = None
    """What flushing each record does against these."""
    eligible: Fix | None = None
    """The smallest other change against what the last replica in sync loses: another one may lead."""
    breaches: tuple[Breach, ...] = ()
    """What the policy grades beside these, the worst first."""
    policy: Policy = field(default_factory=Policy)
    proved: Proved | None = None
    measured: Mapping[str, Covering] = field(default_factory=dict)
    """The cells of the matrix alone, if something was proved: `covered` has the proofs of faults without a cell too."""

    @property
    def when(self) -> str:
        """What was not told and is taken to be so, of the producer and of the topic; empty if all was told."""
        return " and ".join(filter(None, (self.resolved.when, self.topic.provided)))

    @cached_property
    def applies(self) -> tuple[str, ...]:
        """The faults that there are for this topic: with one replica those that need followers only if measured."""
        single = self.topic.replication_factor.value == 1
        there = (each for each in FAULTS if each != NO_FAULT)
        return tuple(each for each in there if each in self.covered or not (single and each in NEEDS_FOLLOWERS))

    @property
    def not_measured(self) -> tuple[str, ...]:
        """Faults without a cell that covers these settings."""
        return tuple(each for each in self.applies if each not in self.covered)

    @property
    def harmless(self) -> tuple[str, ...]:
        """Faults that were measured and did no harm to acknowledged records."""
        harm = {one.fault for one in self.every_finding}
        return tuple(each for each in self.applies if each in self.covered and each not in harm)

    @cached_property
    def refusals(self) -> tuple[Refusals, ...]:
        """What failed for good, by each graded fault that strikes brokers: to an application that does not send it
        again, it is lost. The most of it first.
        """
        found = [one for one in _refused_by(self.covered) if one.fault in GRADE_IF_LOST]
        return tuple(sorted(found, key=lambda one: -one.failed / one.sent))

    @property
    def every_finding(self) -> tuple[MeasuredHarm, ...]:
        """Graded or not."""
        return (*self.findings, *self.ungraded)

    @property
    def harm(self) -> tuple[MeasuredHarm | Breach, ...]:
        """Everything that is found: by cells, and by the policy."""
        return (*self.every_finding, *self.breaches)

    @property
    def grade(self) -> str:
        """A to F, "?" if nothing was measured, "-" if the client refuses its settings."""
        measured = bool(_graded(self.applies) & self.covered.keys())
        return grade_of(self.resolved, self.findings, self.breaches, measured=measured, policy=self.policy)

    @property
    def at_best(self) -> bool:
        """Whether a fault that was not measured could make the grade worse."""
        if self.grade in (REFUSED, NOT_MEASURED):
            return False
        return any(ORDER.index(GRADE_IF_LOST[fault]) > ORDER.index(self.grade) for fault in _graded(self.not_measured))

    @property
    def worst(self) -> MeasuredHarm | None:
        """The finding that the grade is given for."""
        return max(self.findings, key=lambda one: _weight(one, self.policy), default=None)

    @property
    def reason(self) -> str:
        """The grade's reason, in one line."""
        if self.grade == REFUSED:
            return "the client refuses these settings: " + self.resolved.refused[0]
        if self.grade == NOT_MEASURED:
            return "no cell of the matrix covers these settings"
        finding = self.worst
        if self.breaches and (
            finding is None or ORDER.index(self.breaches[0].letter) > _weight(finding, self.policy)[0]
        ):
            return self.breaches[0].sentence
        if finding is None:
            few, of = len(_graded(self.not_measured)), len(_graded(self.applies))
            return GRADES["A"] + (f"; {few} of {of} faults are not measured" if self.at_best else "")
        return f"{finding.sentence} by {finding.fault}: {FAULTS[finding.fault]}"

    @property
    def rests_on(self) -> str:
        """What the grade is given for, in a few words: "losses by broker-restart"; "" where nothing is."""
        finding = self.worst
        if self.breaches and (
            finding is None or ORDER.index(self.breaches[0].letter) > _weight(finding, self.policy)[0]
        ):
            if not self.breaches[0].fault.startswith(REFUSED_SENDS):
                return self.breaches[0].fault
            return f"sends that fail for good{', as retries=0' if self.resolved.retries.value == 0 else ''}"
        nouns = {"loss": "losses", "duplicate": "duplicates", "reorder": "reordering"}
        return f"{nouns[finding.effect]} by {finding.fault}" if finding else ""

    def has(self, effect: Effect) -> tuple[MeasuredHarm, ...]:
        """The findings of one effect, worst first."""
        return tuple(one for one in self.findings if one.effect == effect)


def _graded(faults: Iterable[str]) -> set[str]:
    return set(faults) - UNGRADED


def _letter(finding: MeasuredHarm, policy: Policy) -> str:
    if finding.effect == "loss" and finding.fault in policy.lost_disks:
        return policy.lost_disks[finding.fault] or "A"
    counts = finding.effect == "loss" or (finding.effect == "reorder" and policy.reordered == "as-lost")
    return GRADE_IF_LOST.get(finding.fault, "B") if counts else "B"


def _weight(finding: MeasuredHarm, policy: Policy) -> tuple[int, int, float]:
    share = finding.count / max(1, finding.run.acknowledged)
    return ORDER.index(_letter(finding, policy)), -EFFECTS.index(finding.effect), share


def grade_of(
    resolved: Resolved,
    findings: Sequence[MeasuredHarm],
    breaches: Sequence[Breach] = (),
    *,
    measured: bool,
    policy: Policy | None = None,
) -> str:
    """The grade for what was found, by the table above."""
    if resolved.refused:
        return REFUSED
    if not measured and not breaches:
        return NOT_MEASURED
    letters = [_letter(one, policy or Policy()) for one in findings] + [one.letter for one in breaches]
    return worst([*letters, "A"])


@dataclass(frozen=True, kw_only=True)
class ProducerRow:
    """A producer on a topic: a case for each thing that is not told and would change the answer."""

    producer: ProducerConfig
    number: int
    """Counts producers of one name in one file, from 0."""
    cases: tuple[ProducerCase, ...]

    @property
    def worst(self) -> ProducerCase:
        """The case with the worst grade; of equals the one of the newest client."""
        return max(reversed(self.cases), key=lambda case: ORDER.index(case.grade))

    @property
    def best(self) -> ProducerCase:
        """The case with the best grade: what it says is certain. Of equals the one of the newest client."""
        return min(reversed(self.cases), key=lambda case: ORDER.index(case.grade))

    @property
    def certain(self) -> bool:
        """Whether all that is not told leaves the grade as it is."""
        return len({case.grade for case in self.cases}) == 1

    @property
    def shown(self) -> ProducerCase:
        """The case that is told first: the worst of those that are certain, else the best."""
        return self.worst if self.certain else self.best

    @property
    def grade(self) -> str:
        """What is certain: the best grade of its cases; "?" if that is none of harm, and others say otherwise."""
        return NOT_MEASURED if not self.certain and self.best.grade in ("A", REFUSED) else self.best.grade

    @property
    def reason(self) -> str:
        """The grade's reason, in one line."""
        if self.certain or self.grade != NOT_MEASURED:
            return self.shown.reason
        return f"what is not told decides: from {self.best.grade} to {self.worst.grade}"

    def certainly(self, kind: str) -> bool:
        """Whether every case has harm of a kind of --fail-on. One replica does no less harm than the three that are
        assumed, measured or not.
        """
        asked = [case for case in self.cases if case.topic.provided != IF_ONE]
        return all(kind in {one.kind for one in case.harm} for case in asked)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics it is about; empty: any."""
        return self.cases[0].topic.names

    @property
    def name(self) -> str:
        """For people: producer → topics."""
        return f"{self.producer.name} → {self.cases[0].topic.label}"


@dataclass(frozen=True, kw_only=True)
class AuditAnswer:
    """All that an audit found."""

    rows: tuple[ProducerRow, ...]
    problems: tuple[InputProblem, ...] = ()
    read: tuple[str, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    cells: int = 0
    """How many measured cells the answers were looked up in."""
    runs: int = 0

    @property
    def grades(self) -> Mapping[str, int]:
        """How many rows have each grade, worst first."""
        counts = Counter(row.grade for row in self.rows)
        return {letter: counts[letter] for letter in reversed(ORDER) if counts[letter]}

    @property
    def worst(self) -> ProducerRow | None:
        """The row with the worst grade."""
        return max(self.rows, key=lambda row: ORDER.index(row.grade), default=None)


class Grader:
    """Grades producers against one matrix. Questions that agree are looked up once."""

    def __init__(self, cells: Iterable[Cell], policy: Policy | None = None) -> None:
        self.cells = tuple(cells)
        self.policy = policy or Policy()
        self._index: Index = indexed(self.cells)
        self._covered: dict[Settings, Mapping[str, Covering]] = {}

    def answer(self, inputs: Inputs, stated: StatedByUser) -> AuditAnswer:
        """The audit of everything that was read."""
        rows = []
        seen: Counter[tuple[str, str]] = Counter()
        for producer in inputs.producers:
            at = (producer.origin.path, producer.name)
            rows += self._rows(producer, seen[at], inputs, stated)
            seen[at] += 1
        return AuditAnswer(
            rows=tuple(rows),
            problems=inputs.problems,
            read=inputs.read,
            ignored=inputs.ignored,
            cells=sum(bool(cell.runs) for cell in self.cells),
            runs=sum(len(cell.runs) for cell in self.cells),
        )

    def _rows(self, producer: ProducerConfig, number: int, inputs: Inputs, stated: StatedByUser) -> list[ProducerRow]:
        by_topic: dict[tuple[str, ...], list[ProducerCase]] = {}
        for resolved in resolve(producer):
            for topic in topics_of(producer, resolved, inputs, stated):
                by_topic.setdefault(topic.names, []).extend(self._cases(resolved, topic))
        return [ProducerRow(producer=producer, number=number, cases=tuple(cases)) for cases in by_topic.values()]

    def _cases(self, resolved: Resolved, topic: ResolvedTopic) -> list[ProducerCase]:
        """A producer on a topic. That nothing is lost may be due to the replicas that are assumed: then what becomes of
        one replica is told too.
        """
        case = self.case(resolved, topic)
        single = with_one_replica(topic) if case.grade in LOSE_NOTHING else None
        if single is None:
            return [case]
        return [replace(case, topic=replace(topic, provided=IF_THREE)), self.case(resolved, single)]

    def case(self, resolved: Resolved, topic: ResolvedTopic) -> ProducerCase:
        """One producer, resolved, on one topic, with what to change."""
        plain = self._assessed(resolved, topic)
        fixes = self._fixed(plain) if plain.findings else ()
        flushed = self._flushed(plain) if plain.ungraded else None
        return replace(plain, fixes=fixes, flushed=flushed, eligible=self._eligible(plain))

    def _assessed(self, resolved: Resolved, topic: ResolvedTopic) -> ProducerCase:
        settings = Settings(
            client=resolved.client,
            line=topic.line,
            version=topic.version.value,
            replication_factor=topic.replication_factor.value,
            min_insync_replicas=topic.min_insync_replicas.value,
            unclean=topic.unclean.value,
            acks=resolved.acks.value,
            idempotence=resolved.idempotence.value,
            in_flight=resolved.in_flight.value,
            retries=str(resolved.retries.value),
            flush_each=topic.flush_each.value,
        )
        covered: Mapping[str, Covering] = {} if resolved.refused else self._covering(settings)
        findings, ungraded = _sorted(_findings(covered))
        return ProducerCase(
            resolved=resolved,
            topic=topic,
            settings=settings,
            covered=covered,
            findings=findings,
            ungraded=ungraded,
            breaches=tuple(_breaches(resolved, topic, covered, self.policy)),
            policy=self.policy,
        )

    def _covering(self, settings: Settings) -> Mapping[str, Covering]:
        if settings not in self._covered:
            self._covered[settings] = covering_in(self._index, settings)
        return self._covered[settings]

    # The smallest change

    def _fixed(self, case: ProducerCase) -> tuple[Fix, ...]:
        """The smallest change against losses, and the smallest against all harm, if that is another."""
        present = {one.effect for one in case.findings}
        tried = [self._smallest(case, frozenset({"loss"}), may_bring=True)] if "loss" in present else []
        tried.append(self._smallest(case, frozenset(present), may_bring=False))
        found = {fix.changes: fix for fix in tried if fix is not None}
        return tuple(found.values())

    def _smallest(self, case: ProducerCase, target: frozenset[Effect], *, may_bring: bool) -> Fix | None:
        """The best of the smallest changes that remove all harm of these kinds; if none does, the one that removes
        most of it. `may_bring`: whether it may do harm of a kind that there was none of.
        """
        now = [one for one in case.findings if one.effect in target]
        present = {one.effect for one in case.findings}
        best: tuple[tuple[int, ...], Fix] | None = None
        harm_of: dict[SettingChange, set[str]] = {}
        for size, changes in self._changes(case):
            made = self._changed(case, changes)
            if made is None or made.resolved.refused:
                continue
            if len(changes) == 1:
                harm_of[changes[0]] = {one.fault for one in made.findings}
            # Harm that a part of a change was seen to do is not gone because the whole was not measured.
            if any(harm_of.get(change, set()) - made.covered.keys() for change in changes):
                continue
            left = {(one.fault, one.effect) for one in made.findings if one.effect in target}
            known = {(one.fault, one.effect) for one in now}
            new = tuple(one for one in made.findings if one.effect not in present)
            if left - known or (new and not may_bring):
                continue
            removed = [one for one in now if one.fault in made.covered and (one.fault, one.effect) not in left]
            if not removed:
                continue
            fix = self._fix(case, made, changes, removed, [one for one in now if one not in removed])
            fix = replace(fix, brings=new)
            harm = (-len(made.findings), -ORDER.index(fix.grade), -len(fix.refuses), len(_graded(made.covered)))
            rank = (-len(fix.leaves), -size, *harm)
            if best is None or rank > best[0]:
                best = (rank, fix)
        return best[1] if best else None

    def _flushed(self, case: ProducerCase) -> Fix | None:
        """That each replica flushes a record before it counts, if that was measured to do against loss of power."""
        if case.topic.flush_each.value:
            return None
        origin = case.topic.flush_each.origin
        change = SettingChange(where="topic", key=FLUSH_MESSAGES, value="1", written=FLUSH_MESSAGES, origin=origin)
        return self._against_power(case, (change,), LOSES_POWER)

    def _eligible(self, case: ProducerCase) -> Fix | None:
        """The smallest change of the producer or the topic after which eligible leader replicas (of KRaft alone) keep
        what the last replica in sync had lost; one that does no harm, if there is any.
        """
        if case.topic.line != "kraft" or all(one.fault != LAST_REPLICA for one in case.ungraded):
            return None
        faults = frozenset({LAST_REPLICA})
        tried = (self._against_power(case, changes, faults) for _, changes in self._changes(case))
        return min((fix for fix in tried if fix is not None), key=lambda fix: len(fix.brings), default=None)

    def _against_power(
        self, case: ProducerCase, changes: Sequence[SettingChange], faults: frozenset[str]
    ) -> Fix | None:
        """What changes do against losses by these faults; None if that was not measured, or nothing."""
        made = self._changed(case, changes)
        if made is None or made.resolved.refused:
            return None
        left = {one.fault for one in made.ungraded}
        asked = [one for one in case.ungraded if one.fault in faults]
        removed = [one for one in asked if one.fault in made.covered and one.fault not in left]
        if not removed:
            return None
        known = {(one.fault, one.effect) for one in case.every_finding}
        fix = self._fix(case, made, changes, removed, [one for one in asked if one not in removed])
        return replace(fix, brings=tuple(one for one in made.every_finding if (one.fault, one.effect) not in known))

    def _changes(self, case: ProducerCase) -> Iterator[tuple[int, tuple[SettingChange, ...]]]:
        """Every change of one setting, then of two, then of the brokers' release alone and with one setting."""
        settings = [*_of_producer(case.resolved), *_of_topic(case.topic)]
        for one in settings:
            yield 1, (one,)
        for two in itertools.combinations(settings, 2):
            yield 2, two
        for release in self._of_brokers(case):
            yield 3, (release,)
            for one in settings:
                yield 4, (release, one)

    def _of_brokers(self, case: ProducerCase) -> Iterator[SettingChange]:
        topic = case.topic
        if topic.line == "pinned":
            yield SettingChange(where="brokers", key=PROTOCOL, value="", written=PROTOCOL)
        elif topic.line in ("old", "epoch") and topic.version.why != "assumed":
            measured = {cell.key.version for cell in self.cells if cell.runs and cell.key.line == "epoch"}
            newer = [each for each in measured if numbers(each) > numbers(topic.version.value)]
            if newer:
                yield SettingChange(where="brokers", key=VERSION, value=max(newer, key=numbers), written="")

    def _changed(self, case: ProducerCase, changes: Sequence[SettingChange]) -> ProducerCase | None:
        producer, topic = case.resolved.producer, case.topic
        for change in changes:
            if change.where == "producer":
                producer = _with(producer, case.resolved.client, change)
            else:
                topic = _topic_with(topic, change)
        release = case.resolved.release or None
        told = replace(producer, client=case.resolved.client, release=release)  # type: ignore[arg-type]
        answers = resolve(told)
        return self._assessed(answers[0], topic) if len(answers) == 1 else None

    def _fix(
        self,
        case: ProducerCase,
        made: ProducerCase,
        changes: Sequence[SettingChange],
        removed: Sequence[MeasuredHarm],
        left: Sequence[MeasuredHarm],
    ) -> Fix:
        def refusing(of: ProducerCase) -> set[str]:
            return {fault for fault, cover in of.covered.items() if "refuses" in cover.cell.seen}

        return Fix(
            changes=tuple(changes),
            removes=tuple(removed),
            leaves=tuple(left),
            grade=made.grade,
            at_best=made.at_best,
            refuses=tuple(fault for fault in FAULTS if fault in _graded(refusing(made) - refusing(case))),
            before=cost(case.covered, made.covered),
            after=cost(made.covered, case.covered),
            remains=made.rests_on if made.grade == case.grade else "",
        )


def _breaches(
    resolved: Resolved, topic: ResolvedTopic, covered: Mapping[str, Covering], policy: Policy
) -> list[Breach]:
    """What the policy grades beside measured losses, the worst first. Only what is told counts, nothing assumed,
    and only where no cell shows it.
    """
    found: list[Breach] = []
    factor, least = topic.replication_factor, topic.min_insync_replicas
    if resolved.refused:
        return found
    if (
        factor.value == 1
        and DISK_LOST not in covered
        and not factor.why.startswith("assumed")
        and policy.single_replica
    ):
        sentence = "the topic has a single replica: a disk or node that is gone for good takes every record with it"
        found.append(
            Breach(fault="single-replica", letter=policy.single_replica, sentence=sentence, source=REPLICATION)
        )
    elif (
        least.value == 1
        and factor.value > 1
        and LAST_DISK_LOST not in covered
        and resolved.acks.value == "all"
        and not least.why.startswith("assumed")
        and policy.acknowledged_by_one
    ):
        sentence = (
            "acks=all is acknowledged by one replica where min.insync.replicas is 1: when the others are out of sync "
            "and its disk is gone for good, so are the records"
        )
        found.append(
            Breach(fault="acknowledged-by-one", letter=policy.acknowledged_by_one, sentence=sentence, source=MIN_ISR)
        )
    if policy.refused == "always" or (policy.refused == "without-retries" and resolved.retries.value == 0):
        found += _refusals(covered)
    return sorted(found, key=lambda one: -ORDER.index(one.letter))


REFUSED_SENDS: Final = "refused-"
"""How the name of a breach begins whose sends failed for good."""
REPLICATION: Final = "https://kafka.apache.org/documentation/#replication"
MIN_ISR: Final = "https://kafka.apache.org/documentation/#topicconfigs_min.insync.replicas"


def _failed(run: RunCounts) -> int:
    """Sends that were refused, or never answered and not written."""
    return run.refused + run.unknown_absent


def _refused_by(covered: Mapping[str, Covering]) -> Iterator[Refusals]:
    """Sends that failed for good, by fault; not where a refusal is the fault itself."""
    for fault, covering in covered.items():
        runs = covering.cell.runs
        most = max(runs, key=_failed)
        if (failed := _failed(most)) and fault not in ("refused-then-accepted", NO_FAULT):
            yield Refusals(
                fault=fault,
                failed=failed,
                sent=failed + most.acknowledged,
                times=sum(_failed(run) > 0 for run in runs),
                of=len(runs),
                run=most.run,
            )


def _refusals(covered: Mapping[str, Covering]) -> Iterator[Breach]:
    """Sends that failed for good in a cell: to an application that does not send them again, they are lost."""
    for one in _refused_by(covered):
        if one.fault in GRADE_IF_LOST:
            sentence = (
                f"{one.failed} of {one.sent} sends failed, and are not in the log, by {one.fault}: {FAULTS[one.fault]}"
            )
            yield Breach(
                fault=f"{REFUSED_SENDS}{one.fault}",
                letter=GRADE_IF_LOST[one.fault],
                sentence=sentence,
                source=f"run {one.run}",
            )


def _sorted(findings: Iterable[MeasuredHarm]) -> tuple[tuple[MeasuredHarm, ...], tuple[MeasuredHarm, ...]]:
    """Findings, the worst first: those that are graded, and the others."""
    ordered = sorted(findings, key=lambda one: _weight(one, Policy()), reverse=True)
    return (
        tuple(one for one in ordered if one.graded),
        tuple(one for one in ordered if not one.graded),
    )


def _findings(covered: Mapping[str, Covering]) -> Iterator[MeasuredHarm]:
    for fault, covering in covered.items():
        if fault == NO_FAULT:
            continue
        for effect in EFFECTS:
            run = max(covering.cell.runs, key=lambda one: getattr(one, COUNTED[effect]))
            if getattr(run, COUNTED[effect]):
                yield MeasuredHarm(effect=effect, fault=fault, covering=covering, run=run)


def with_proofs(case: ProducerCase, proved: Proved) -> ProducerCase:
    """A case with what was proved of it: a fault without a cell is covered by its proof, and harm that only a proof
    shows is a finding.
    """
    own = {one.fault: one.covering for one in proved.proofs if one.covering is not None}
    known = {(one.fault, one.effect) for one in case.every_finding}
    more = [one for one in _findings(own) if (one.fault, one.effect) not in known]
    findings, ungraded = _sorted((*case.every_finding, *more))
    covered = {**own, **case.covered}
    return replace(case, proved=proved, measured=case.covered, covered=covered, findings=findings, ungraded=ungraded)


def cost(covered: Mapping[str, Covering], beside: Mapping[str, Covering]) -> Cost | None:
    """What the settings cost without a fault, or None if that was not measured: in the runs that have those `beside`
    them too, or in all if none has.
    """
    if NO_FAULT not in covered:
        return None
    runs = covered[NO_FAULT].cell.runs
    others = {run.run for run in beside[NO_FAULT].cell.runs} if NO_FAULT in beside else set()
    runs = tuple(run for run in runs if run.run in others) or runs

    measured = {
        name: values
        for name in ("latency_p50_ms", "latency_p99_ms", "records_per_s")
        if (values := [value for run in runs if (value := getattr(run, name)) is not None])
    }
    middle = {name: median(values) for name, values in measured.items()}
    found = Cost(
        middle.get("latency_p50_ms"),
        middle.get("latency_p99_ms"),
        middle.get("records_per_s"),
        tuple(run.run for run in runs),
        {name: (min(values), max(values)) for name, values in measured.items()},
    )
    return found if found.latency_p99_ms is not None or found.records_per_s is not None else None


# Changes


def _of_producer(resolved: Resolved) -> Iterator[SettingChange]:
    rules = RULES[resolved.client](resolved.release)
    if resolved.acks.value != "all":
        yield _producer_change(resolved, "acks", "-1" if resolved.client == "scala" else "all")
    if rules.idempotence is not None and not resolved.idempotence.value:
        yield _producer_change(resolved, "idempotence", "true")
    if resolved.in_flight.value > 1 and "in_flight" in NAMES[resolved.client]:
        yield _producer_change(resolved, "in_flight", "1")
    if resolved.retries.value == 0:
        yield _producer_change(resolved, "retries", str(FOREVER))


def _producer_change(resolved: Resolved, concept: Concept, value: str) -> SettingChange:
    setting = written(resolved.producer, resolved.client, concept)
    own = setting if setting is not None and setting.key in resolved.producer.settings else None
    key = own.key if own else NAMES[resolved.client][concept][0]
    spelled = resolved.producer.spelled(key)
    return SettingChange(where="producer", key=key, value=value, written=spelled, origin=own.origin if own else None)


def _with(producer: ProducerConfig, client: str, change: SettingChange) -> ProducerConfig:
    """The producer with a setting changed, whatever it was called before."""
    names = next((names for names in NAMES[client].values() if change.key in names), (change.key,))
    settings = {key: setting for key, setting in producer.settings.items() if key not in names}
    presets = {key: setting for key, setting in producer.presets.items() if key not in names}
    settings[change.key] = Setting(change.key, change.value, change.origin or producer.origin)
    return replace(producer, settings=settings, presets=presets)


def _of_topic(topic: ResolvedTopic) -> Iterator[SettingChange]:
    def change(key: str, value: str, now: Value[int] | Value[bool]) -> SettingChange:
        return SettingChange(where="topic", key=key, value=value, written=key, origin=now.origin)

    if topic.min_insync_replicas.value < 2:
        yield change(MIN_INSYNC_REPLICAS, "2", topic.min_insync_replicas)
    if topic.unclean.value:
        yield change(UNCLEAN_ELECTION, "false", topic.unclean)
    if topic.replication_factor.value < 3:
        yield change(REPLICATION_FACTOR, "3", topic.replication_factor)


def _topic_with(topic: ResolvedTopic, change: SettingChange) -> ResolvedTopic:
    if change.key == MIN_INSYNC_REPLICAS:
        return replace(topic, min_insync_replicas=Value(int(change.value), "changed"))
    if change.key == UNCLEAN_ELECTION:
        return replace(topic, unclean=Value(False, "changed"))
    if change.key == REPLICATION_FACTOR:
        return replace(topic, replication_factor=Value(int(change.value), "changed"))
    if change.key == FLUSH_MESSAGES:
        return replace(topic, flush_each=Value(True, "changed"))
    if change.key == PROTOCOL:
        return replace(topic, line="zk3" if numbers(topic.version.value) >= (3,) else "epoch")
    unclean = topic.unclean if topic.unclean.origin else Value(numbers(change.value) < UNCLEAN_OFF.release, "default")
    return replace(topic, version=Value(change.value, "changed"), line="epoch", unclean=unclean)
