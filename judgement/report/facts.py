"""A run directory as the reports see it: one frozen value, gathered once, with intervals instead of events.

The timeline says what happened at instants; a picture and a story need to know what held in between: which process
was up from when to when, who led a partition and with which ISR, who was the controller. These are pure functions of
the events (`process_intervals`, `partition_intervals`, …), so that each can be tested with a handful of events
written by hand.

Nothing here judges. An interval that the events leave open ends where the timeline does. Times are CLOCK_MONOTONIC
nanoseconds as recorded; `RunFacts.at` turns one into seconds since the run began.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from evidence import timeline
from evidence.errors import UsageError
from evidence.events import (
    Answer,
    Broker,
    Container,
    Controller,
    Ends,
    Event,
    Fault,
    Log,
    Note,
    Partition,
    Precondition,
    of,
)
from evidence.events import Moment as MomentEvent
from evidence.events import Send as SendEvent
from evidence.events import Step as StepEvent
from evidence.rundir import RunDir, scenario_of
from judgement.verdict import Verdict, blind_intervals, fault_windows, judge, read_findings, read_verdict

TopicPartition = tuple[str, int]


UP: Final = "up"
DOWN: Final = "down"
FROZEN: Final = "frozen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What held for one node from `begin_ns` to `end_ns`."""

    begin_ns: int
    end_ns: int
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInterval:
    """A partition's state as the cluster stated it, until it stated another. `leader` is -1 for none."""

    begin_ns: int
    end_ns: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int | None = None
    version: int | None = None
    elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """One scripted record: when it was handed over, when and how that ended. `done_ns` is None if it never did."""

    process: str
    topic: str
    partition: int
    producer: int
    sequence: int
    acks: str
    sent_ns: int
    done_ns: int | None
    outcome: str
    """acked, failed, unknown (an error that does not say whether it happened) or open (no answer recorded)."""
    offset: int | None = None
    error: str | None = None

    @property
    def key(self) -> tuple[str, int, int, int]:
        return (self.topic, self.partition, self.producer, self.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultFact:
    """One fault: what, to whom in which role, its proof, and whether and when it was healed."""

    id: str
    kind: str
    node: str
    role: str
    description: str
    inject_ns: int
    proved_ns: int | None
    healed_ns: int | None
    proof: Mapping[str, Any]
    unproved: bool

    @property
    def status(self) -> str:
        if self.unproved:
            return "unproved"
        return "proved" if self.proved_ns is not None else "never verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The replicas' files at one moment: node → "topic-partition" → how far it goes."""

    name: str
    at_ns: int
    nodes: Mapping[str, Mapping[str, Ends]]

    @property
    def label(self) -> str:
        """The moment's name without its number.

        >>> Moment(name="01-final", at_ns=0, nodes={}).label
        'final'
        """
        number, _, rest = self.name.partition("-")
        return rest if number.isdigit() and rest else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """Something a broker logged about a partition, with its line as printed."""

    at_ns: int
    node: str
    event: str
    topic: str | None
    partition: int | None
    offset: int | None
    leader_epoch: int | None = None
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the scenario; `end_ns` is None if it never ended."""

    name: str
    begin_ns: int
    end_ns: int | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Everything a report says about a run."""

    run_dir: RunDir
    run: Mapping[str, Any]
    verdict: Verdict
    findings: Mapping[str, Any] | None
    events: tuple[Event, ...]
    damaged: tuple[str, ...]
    begin_ns: int
    end_ns: int
    nodes: tuple[str, ...]
    """Brokers first, by number, then coordinators and controllers."""
    processes: Mapping[str, tuple[Interval, ...]]
    registrations: Mapping[str, tuple[Interval, ...]]
    """When the cluster took each broker for alive: "registered", or how that ended (gone, fenced)."""
    cuts: tuple[tuple[str, Interval], ...]
    """(node, interval) for each node that a network cut concerns."""
    partitions: Mapping[TopicPartition, tuple[PartitionInterval, ...]]
    controllers: tuple[Interval, ...]
    sends: tuple[Send, ...]
    faults: tuple[FaultFact, ...]
    moments: tuple[Moment, ...]
    log: tuple[LogLine, ...]
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    preconditions: tuple[Precondition, ...]
    blind: tuple[tuple[int, int, str], ...]
    windows: tuple[tuple[int, int, str], ...] = field(default=())

    def at(self, at_ns: int) -> float:
        """Seconds since the run began."""
        return (at_ns - self.begin_ns) / 1e9

    @property
    def name(self) -> str:
        return f"{scenario_of(self.run)} on {self.run.get('version')}"

    @property
    def brokers(self) -> tuple[str, ...]:
        return tuple(node for node in self.nodes if node.startswith("broker-"))

    @property
    def assignment(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The replicas of each partition, the preferred leader first."""
        return {
            (str(topic.get("name")), int(number)): tuple(brokers)
            for topic in self.run.get("topics") or ()
            for number, brokers in (topic.get("partitions") or {}).items()
        }

    def found(self, anomaly: str) -> list[Mapping[str, Any]]:
        """The findings of one anomaly."""
        return [f for f in (self.findings or {}).get("findings") or () if f.get("anomaly") == anomaly]

    def send_of(self, topic: str, partition: int, producer: object, sequence: object) -> Send | None:
        """The scripted send of a record, if it was one."""
        return next((s for s in self.sends if s.key == (topic, partition, producer, sequence)), None)

    def state_at(self, topic: str, partition: int, at_ns: int) -> PartitionInterval | None:
        """What the cluster stated about a partition at a time."""
        states = self.partitions.get((topic, partition), ())
        return next((s for s in reversed(states) if s.begin_ns <= at_ns), None)

    def controller_at(self, at_ns: int) -> Interval | None:
        """Who was the controller at a time, as far as the cluster said."""
        return next((i for i in reversed(self.controllers) if i.begin_ns <= at_ns), None)

    def process_at(self, node: str, at_ns: int) -> str:
        """Whether a node was up, down or frozen at a time (down if nothing is known of it)."""
        return next((i.value for i in self.processes.get(node, ()) if i.begin_ns <= at_ns < i.end_ns), DOWN)

    def registered_at(self, node: str, at_ns: int) -> bool:
        """Whether the cluster took a broker for alive at a time."""
        return any(i.value == "registered" and i.begin_ns <= at_ns < i.end_ns for i in self.registrations.get(node, ()))

    def record_name(self, producer: object, sequence: object) -> str:
        """What a record is called: "m3", and of which producer where there are several that sent single records."""
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


def process_intervals(events: Iterable[Event], end_ns: int) -> dict[str, tuple[Interval, ...]]:
    """When each container was up, down or frozen, from Docker's events. A node is down before its first start."""
    result: dict[str, list[Interval]] = {}
    current: dict[str, tuple[int, str, str]] = {}

    def change(node: str, at_ns: int, value: str, detail: str) -> None:
        if node in current:
            begin_ns, before, why = current[node]
            if before == value:
                return
            result[node].append(Interval(begin_ns=begin_ns, end_ns=at_ns, value=before, detail=why))
        else:
            result[node] = []
        current[node] = (at_ns, value, detail)

    for event in of(events, Container):
        node, at_ns = event.node, event.monotonic_ns
        if event.action == "start":
            change(node, at_ns, UP, "started")
        elif event.action == "die":
            change(node, at_ns, DOWN, "ended" if event.exit_code is None else f"exit code {event.exit_code}")
        elif event.action == "pause":
            change(node, at_ns, FROZEN, "docker pause")
        elif event.action == "unpause":
            change(node, at_ns, UP, "thawed")
    for node, (begin_ns, value, why) in current.items():
        result[node].append(Interval(begin_ns=begin_ns, end_ns=max(end_ns, begin_ns), value=value, detail=why))
    return {node: tuple(intervals) for node, intervals in result.items()}


def registration_intervals(events: Iterable[Event], end_ns: int) -> dict[str, tuple[Interval, ...]]:
    """When the cluster took each broker for alive, from its sessions in ZooKeeper or its fencing in KRaft."""
    changes: dict[str, list[tuple[int, str]]] = {}
    for event in of(events, Broker):
        value = "registered" if event.alive else event.state if event.state != "registered" else "fenced"
        history = changes.setdefault(event.node, [])
        # A broker that registers begins fenced, with KRaft: nobody takes it for dead by that.
        if history[-1][1] != value if history else event.alive:
            history.append((event.monotonic_ns, value))
    return {
        node: tuple(
            Interval(begin_ns=begin, end_ns=following[0] if following else max(end_ns, begin), value=value)
            for (begin, value), following in itertools.zip_longest(history, history[1:])
        )
        for node, history in changes.items()
    }


def partition_intervals(events: Iterable[Event], end_ns: int) -> dict[TopicPartition, tuple[PartitionInterval, ...]]:
    """What held for each partition between the cluster's statements about it; equal statements in a row are one."""
    stated: dict[TopicPartition, list[Partition]] = {}
    for event in of(events, Partition):
        history = stated.setdefault((event.topic, event.partition), [])
        if not history or _state(history[-1]) != _state(event):
            history.append(event)
    return {
        key: tuple(
            PartitionInterval(
                begin_ns=event.monotonic_ns,
                end_ns=following.monotonic_ns if following else max(end_ns, event.monotonic_ns),
                leader=event.leader,
                leader_epoch=event.leader_epoch,
                isr=event.isr,
                controller_epoch=event.controller_epoch,
                version=event.version,
                elr=event.elr,
            )
            for event, following in itertools.zip_longest(history, history[1:])
        )
        for key, history in stated.items()
    }


def _state(event: Partition) -> tuple[Any, ...]:
    return (event.leader, event.leader_epoch, event.isr, event.elr)


def controller_intervals(events: Iterable[Event], end_ns: int) -> tuple[Interval, ...]:
    """Who was the controller in which controller epoch; "" for nobody."""
    history: list[tuple[int, str, str]] = []
    for event in of(events, Controller):
        value, detail = event.node or "", f"epoch {event.epoch}"
        if not history or history[-1][1:] != (value, detail):
            history.append((event.monotonic_ns, value, detail))
    return tuple(
        Interval(begin_ns=begin, end_ns=following[0] if following else max(end_ns, begin), value=value, detail=detail)
        for (begin, value, detail), following in itertools.zip_longest(history, history[1:])
    )


def sends_of(events: Iterable[Event]) -> tuple[Send, ...]:
    """The scripted records, each send matched with its answer, in the order of sending."""
    opened: dict[tuple[Any, ...], SendEvent] = {}
    ended: dict[tuple[Any, ...], Answer] = {}
    for event in events:
        if isinstance(event, SendEvent):
            opened.setdefault(event.record, event)
        elif isinstance(event, Answer):
            ended.setdefault(event.record, event)
    sends = []
    for key in dict.fromkeys([*opened, *ended]):
        end = ended.get(key)
        about = end or opened[key]
        begin = opened.get(key) or about
        sends.append(
            Send(
                process=about.process,
                topic=about.topic,
                partition=about.partition,
                producer=about.producer,
                sequence=about.sequence,
                acks=acks_text(about.acks),
                # The recorder's own times are the better ones: an answer may be heard long after it came.
                sent_ns=(end and end.invoked_ns) or begin.monotonic_ns,
                done_ns=(end.completed_ns or end.monotonic_ns) if end else None,
                outcome="open" if end is None else "unknown" if end.outcome == "info" else end.kind,
                offset=end.offset if end else None,
                error=end.error if end else None,
            )
        )
    return tuple(sorted(sends, key=lambda send: send.sent_ns))


def acks_text(acks: object) -> str:
    """How people write an acks setting.

    >>> acks_text(-1), acks_text("1"), acks_text(None)
    ('all', '1', '?')
    """
    if acks is None:
        return "?"
    return "all" if str(acks) in ("-1", "all") else str(acks)


def faults_of(events: Iterable[Event]) -> tuple[FaultFact, ...]:
    """Each fault with its proof, in the order of injection."""
    histories: dict[str, list[Fault]] = {}
    for event in of(events, Fault):
        histories.setdefault(event.id, []).append(event)
    faults = []
    for fault_id, history in histories.items():
        phases = {event.phase: event for event in history}
        first = history[0]
        proof = phases.get("unproved") or phases.get("verified")
        faults.append(
            FaultFact(
                id=fault_id,
                kind=first.fault,
                node=first.target.node,
                role=first.target.role,
                description=first.description,
                inject_ns=first.monotonic_ns,
                proved_ns=phases["verified"].monotonic_ns if "verified" in phases else None,
                healed_ns=phases["healed"].monotonic_ns if "healed" in phases else None,
                proof=proof.proof if proof else {},
                unproved="unproved" in phases,
            )
        )
    return tuple(faults)


def cuts_of(faults: Iterable[FaultFact], end_ns: int) -> tuple[tuple[str, Interval], ...]:
    """The nodes that a network cut concerns, and from when to when."""
    return tuple(
        (node.strip(), Interval(begin_ns=f.inject_ns, end_ns=f.healed_ns or end_ns, value="cut", detail=f.description))
        for f in faults
        if f.kind == "cut"
        for node in f.node.split(",")
        if node.strip()
    )


def steps_of(events: Iterable[Event]) -> tuple[Step, ...]:
    """The scenario's steps; a step's end is the next end of the same name."""
    steps: list[Step] = []
    opened: list[tuple[str, int, Mapping[str, Any]]] = []
    for event in of(events, StepEvent):
        if event.phase == "begin":
            opened.append((event.name, event.monotonic_ns, event.detail))
        else:
            for index in range(len(opened) - 1, -1, -1):
                if opened[index][0] == event.name:
                    name, begin_ns, detail = opened.pop(index)
                    steps.append(Step(name=name, begin_ns=begin_ns, end_ns=event.monotonic_ns, detail=detail))
                    break
    steps += [Step(name=name, begin_ns=begin_ns, end_ns=None, detail=detail) for name, begin_ns, detail in opened]
    return tuple(sorted(steps, key=lambda step: step.begin_ns))


def log_lines(events: Iterable[Event]) -> tuple[LogLine, ...]:
    """What brokers logged, as far as the observer of their logs understood it."""
    return tuple(
        LogLine(
            at_ns=event.monotonic_ns,
            node=event.node,
            event=event.event,
            topic=event.topic,
            partition=event.partition,
            offset=event.offset,
            leader_epoch=event.leader_epoch,
            line=event.line,
        )
        for event in of(events, Log)
    )


def _mappings(value: object) -> list[dict[str, Any]]:
    """The mappings in a list that may hold anything, each without its empty values."""
    entries = value if isinstance(value, list) else []
    return [{k: v for k, v in entry.items() if v is not None} for entry in entries if isinstance(entry, dict)]


def _topics(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    topics = _mappings(run.get("topics"))
    for topic in topics:
        partitions = topic.get("partitions")
        every = partitions.items() if isinstance(partitions, dict) else ()
        topic["partitions"] = {number: list(brokers) for number, brokers in every if isinstance(brokers, list)}
    return topics


def gather(
    run_dir: RunDir,
    run: Mapping[str, Any],
    events: Sequence[Event],
    findings: Mapping[str, Any] | None,
    verdict: Verdict,
    damaged: Sequence[str] = (),
) -> RunFacts:
    """Facts from values already read; pure."""
    # Lines of brokers' logs carry the node's own wall clock and may lie outside what the harness itself saw.
    own = [event.monotonic_ns for event in events if not isinstance(event, Log)]
    begin_ns = int(run.get("started_monotonic_ns") or (own[0] if own else 0))
    end_ns = max(own, default=begin_ns)
    faults = faults_of(events)
    processes = process_intervals(events, end_ns)
    run = dict(run) | {"topics": _topics(run), "processes": _mappings(run.get("processes"))}
    assigned = {f"broker-{b}" for t in run["topics"] for brokers in t["partitions"].values() for b in brokers}
    return RunFacts(
        run_dir=run_dir,
        run=run,
        verdict=verdict,
        findings=findings,
        events=tuple(events),
        damaged=tuple(damaged),
        begin_ns=begin_ns,
        end_ns=end_ns,
        nodes=tuple(sorted(set(processes) | assigned, key=node_order)),
        processes=processes,
        registrations=registration_intervals(events, end_ns),
        cuts=cuts_of(faults, end_ns),
        partitions=partition_intervals(events, end_ns),
        controllers=controller_intervals(events, end_ns),
        sends=sends_of(events),
        faults=faults,
        moments=tuple(
            Moment(name=moment.name, at_ns=moment.monotonic_ns, nodes=moment.nodes)
            for moment in of(events, MomentEvent)
        ),
        log=log_lines(events),
        steps=steps_of(events),
        notes=tuple(of(events, Note)),
        preconditions=tuple(of(events, Precondition)),
        blind=tuple((begin, min(end, end_ns), why) for begin, end, why in blind_intervals(events)),
        windows=tuple(fault_windows(events)),
    )


def load(run_dir: RunDir) -> RunFacts:
    """Read a run directory; judge it from its files if it has no readable verdict.

    Raises UsageError if this is no run directory or its run.json cannot be read.
    """
    run = run_dir.read_run()
    reading = timeline.read(run_dir.timeline)
    findings, unreadable = read_findings(run_dir)
    try:
        verdict = read_verdict(run_dir)
    except UsageError:
        verdict = judge(run, reading.events, findings, reading.damaged, analysis_failure=unreadable)
    return gather(run_dir, run, reading.events, findings, verdict, reading.damaged)


def load_all(run_dirs: Iterable[RunDir]) -> tuple[list[RunFacts], list[str]]:
    """The facts of many runs, and one line for each directory that could not be read."""
    loaded, unreadable = [], []
    for run_dir in run_dirs:
        try:
            loaded.append(load(run_dir))
        except UsageError as error:
            unreadable.append(str(error))
    return loaded, unreadable
