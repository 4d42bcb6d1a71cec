"""A run directory as the reports see it: one frozen value, gathered once.

It is the state of the run (evidence/run_state.py) with what was run, found and judged. Nothing here judges. Times are
CLOCK_MONOTONIC nanoseconds as recorded; `JudgedRun.at` turns one into seconds since the run began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import msgspec

from evidence import manifest, timeline
from evidence.errors import UsageError
from evidence.events import Duty, Event, Log, Moment, Note, Precondition, of
from evidence.events import Step as StepEvent
from evidence.faults.network import NetworkProof
from evidence.findings import Finding, Findings, read_findings
from evidence.manifest import ChangedFile
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import FaultFact, Interval, RunState, Sent
from evidence.rundir import RunDir, write_json
from judgement.policy import judge
from judgement.verdict import Verdict, read_verdict

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioStep:
    """A step of the scenario; `end_ns` is None if it never ended."""

    name: str
    begin_ns: int
    end_ns: int | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class JudgedRun(RunState):
    """Everything a report says about a run: what held when, and what was run, found and judged."""

    run_dir: RunDir
    run: RunRecord
    verdict: Verdict
    findings: Findings | None
    damaged: tuple[str, ...]
    _made: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, make: Callable[[JudgedRun], T]) -> T:
        """The value that `make` returns for this run, made on the first call and kept for every report."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @cached_property
    def begin_ns(self) -> int:
        """When the run began."""
        return self.run.started_monotonic_ns

    @cached_property
    def end_ns(self) -> int:
        return max(super().end_ns, self.begin_ns)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Brokers first, by number, then coordinators and controllers."""
        assigned = {f"broker-{broker}" for brokers in self.assignment.values() for broker in brokers}
        return tuple(sorted({*self.processes, *assigned}, key=node_order))

    @cached_property
    def cuts(self) -> tuple[tuple[str, Interval], ...]:
        """(node, interval) for each node that a network cut concerns."""
        return cuts_of(self.faults, self.end_ns)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        return tuple(of(self.events, Moment))

    @cached_property
    def log(self) -> tuple[Log, ...]:
        """What brokers logged, as far as the observer of their logs understood it."""
        return tuple(of(self.events, Log))

    @cached_property
    def steps(self) -> tuple[ScenarioStep, ...]:
        return steps_of(self.events)

    @property
    def notes(self) -> list[Note]:
        return of(self.events, Note)

    @property
    def preconditions(self) -> list[Precondition]:
        return of(self.events, Precondition)

    @property
    def duties(self) -> list[Duty]:
        """What Kafka owes, as the steps checked it."""
        return of(self.events, Duty)

    def at(self, at_ns: int) -> float:
        """Seconds since the run began."""
        return (at_ns - self.begin_ns) / 1e9

    @property
    def name(self) -> str:
        return f"{self.run.full_name} on {self.run.version}"

    @property
    def brokers(self) -> tuple[str, ...]:
        return tuple(node for node in self.nodes if node.startswith("broker-"))

    @property
    def assignment(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The replicas of each partition, the preferred leader first."""
        return self.run.assignment

    @property
    def everything_found(self) -> tuple[Finding, ...]:
        """All findings; none if the run was not analysed."""
        return self.findings.findings if self.findings is not None else ()

    def found(self, anomaly: str) -> list[Finding]:
        """The findings of one anomaly."""
        return [one for one in self.everything_found if one.anomaly == anomaly]

    def send_of(self, topic: str, partition: int, producer: object, sequence: object) -> Sent | None:
        """The scripted send of a record, if it was one."""
        return next((s for s in self.sends if s.key == (topic, partition, producer, sequence)), None)

    def record_name(self, producer: object, sequence: object) -> str:
        """The name of a record in reports: "m3", with its producer where several sent single records."""
        producers = {send.producer for send in self.sends}
        if producer in (None, -1):
            return "a record that is not ours"
        return f"m{sequence}" if producers <= {producer} else f"m{sequence} of producer {producer}"


def node_order(node: str) -> tuple[int, int, str]:
    """Brokers first, by number; then the others by name.

    >>> sorted(["zookeeper", "broker-10", "broker-2"], key=node_order)
    ['broker-2', 'broker-10', 'zookeeper']
    """
    kind, _, number = node.rpartition("-")
    return (0 if kind == "broker" else 1, int(number) if number.isdigit() else 0, node)


def broker_id(node: str) -> int | None:
    """The id of a node, or None if it has no number (zookeeper)."""
    number = node.rpartition("-")[2]
    return int(number) if number.isdigit() else None


def cuts_of(faults: Iterable[FaultFact], end_ns: int) -> tuple[tuple[str, Interval], ...]:
    """The nodes that a fault of the network concerns, and from when to when; the value is its kind."""
    return tuple(
        (node, Interval(begin_ns=f.inject_ns, end_ns=f.healed_ns or end_ns, value=f.kind, detail=f.description))
        for f in faults
        if issubclass(f.proof_type, NetworkProof)
        for node in f.nodes
        if node
    )


def steps_of(events: Iterable[Event]) -> tuple[ScenarioStep, ...]:
    """The scenario's steps; a step's end is the next end of the same name."""
    steps: list[ScenarioStep] = []
    opened: list[tuple[str, int, Mapping[str, Any]]] = []
    for event in of(events, StepEvent):
        if event.phase == "begin":
            opened.append((event.name, event.monotonic_ns, event.detail))
        else:
            for index in range(len(opened) - 1, -1, -1):
                if opened[index][0] == event.name:
                    name, begin_ns, detail = opened.pop(index)
                    steps.append(ScenarioStep(name=name, begin_ns=begin_ns, end_ns=event.monotonic_ns, detail=detail))
                    break
    steps += [
        ScenarioStep(name=name, begin_ns=begin_ns, end_ns=None, detail=detail) for name, begin_ns, detail in opened
    ]
    return tuple(sorted(steps, key=lambda step: step.begin_ns))


def gather(
    run_dir: RunDir,
    run: RunRecord,
    events: Sequence[Event],
    findings: Findings | None,
    verdict: Verdict,
    damaged: Sequence[str] = (),
) -> JudgedRun:
    """Facts from values already read; pure."""
    return JudgedRun(
        run_dir=run_dir,
        run=run,
        verdict=verdict,
        findings=findings,
        events=tuple(events),
        damaged=tuple(damaged),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunFiles:
    """The files of a run directory, read once."""

    run: RunRecord
    reading: timeline.TimelineRead
    findings: Findings | None
    unreadable: str | None
    """What is wrong with the findings."""
    manifest: str
    """SHA-256 of the manifest; "" if there is none."""
    unbound: tuple[ChangedFile, ...] = ()
    """What the files have otherwise than the manifest."""

    def judged(self, analysis_failure: str | None = None) -> Verdict:
        judged = judge(
            self.run,
            RunState(self.reading.events),
            self.findings,
            (*self.reading.damaged, *manifest.describe(self.unbound)),
            contradicted=[one.path for one in self.unbound],
            analysis_failure=analysis_failure or self.unreadable,
        )
        return msgspec.structs.replace(judged, manifest=self.manifest)

    def facts(self, run_dir: RunDir, verdict: Verdict) -> JudgedRun:
        return gather(run_dir, self.run, self.reading.events, self.findings, verdict, self.reading.damaged)


def _read(run_dir: RunDir) -> _RunFiles:
    findings, unreadable = read_findings(run_dir)
    return _RunFiles(
        run=run_dir.read_run(),
        reading=timeline.read(run_dir.timeline),
        findings=findings,
        unreadable=unreadable,
        manifest=manifest.digest(run_dir),
    )


def unbound(run_dir: RunDir) -> tuple[ChangedFile, ...]:
    """What a run's files have otherwise than its manifest, which is to read them all.

    Raises UsageError if this is no run directory.
    """
    return tuple(manifest.verify(run_dir, run_dir.read_run()))


def judge_run(
    run_dir: RunDir, *, analysis_failure: str | None = None, differs: tuple[ChangedFile, ...] | None = None
) -> JudgedRun:
    """Judge a run from its files, write verdict.json, and return what was read and judged. `differs` is what `unbound`
    said of them, if it was asked already.

    Raises UsageError if this is no run directory or its run.json cannot be read.
    """
    files = replace(_read(run_dir), unbound=unbound(run_dir) if differs is None else differs)
    verdict = files.judged(analysis_failure)
    write_json(run_dir.verdict, verdict.as_json())
    return files.facts(run_dir, verdict)


def load(run_dir: RunDir) -> JudgedRun:
    """Read a run directory; judge it from its files if it has no readable verdict.

    Raises UsageError if this is no run directory or its run.json cannot be read.
    """
    files = _read(run_dir)
    try:
        verdict = read_verdict(run_dir)
    except UsageError:
        verdict = replace(files, unbound=unbound(run_dir)).judged()
    return files.facts(run_dir, verdict)


class Loaded(NamedTuple):
    """Many runs, and one line for each directory that could not be read."""

    facts: list[JudgedRun]
    unreadable: list[str]


def load_all(run_dirs: Iterable[RunDir]) -> Loaded:
    """The facts of many runs, read once for all reports."""
    loaded = Loaded([], [])
    for run_dir in run_dirs:
        try:
            loaded.facts.append(load(run_dir))
        except UsageError as error:
            loaded.unreadable.append(str(error))
    return loaded
