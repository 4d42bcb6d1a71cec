"""What held when: the one account of a run, made from its timeline and asked by everybody else.

Events say what happened at instants. Checks, verdict and reports need what held in between: who was up, registered and
not fenced, leader, in the ISR, controller; which faults lasted, when an observer was blind, what clients had in flight.
Each aspect is worked out when it is first asked for, by a pure function of the events.

Three readings that used to differ, decided here for all:

- A partition's state that is stated once more, because an observer looked anew after a silence, is a repetition and
  left out. It is known by its version (the znode's, or the offset in the metadata log) being older than one already
  seen, with the content that this version had; or by being the last statement over again. Limit: a topic deleted and
  created again under its name begins with version 0 again.
- A broker is alive to the cluster while it is registered and not fenced. ZooKeeper's registered is alive; KRaft's is
  fenced until the controller says otherwise (`events.Broker.alive`).
- A process is gone when Docker says `die`. From Docker's `kill` (of a signal that ends it) until then it is dying: not
  up, for claims that need it up, and no proof of death either. A container that the engine tells nothing of is taken
  for up (histories of others have no engine); one that it starts later is down until then.

A state without an end in the events lasts until the timeline's end. Faults and blindness without an end last forever.
All times are CLOCK_MONOTONIC nanoseconds, as the events have them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any, Final, TypeVar

from evidence.events import (
    NO_LEADER,
    Answer,
    Blind,
    Broker,
    Container,
    Controller,
    Event,
    Fault,
    Log,
    Machine,
    Partition,
    Send,
    Stillness,
    Waits,
    of,
)
from evidence.faults import KINDS
from evidence.faults.base import FaultProof, Lasts
from evidence.faults.process import RevertProof, RunningProof, StartProof
from evidence.records import RecordId, TopicPartition
from evidence.spans import NEVER_NS, Span, overlap_ns

P = TypeVar("P", bound=FaultProof)

UP: Final = "up"
DYING: Final = "dying"
DOWN: Final = "down"
FROZEN: Final = "frozen"
ALIVE: Final = "alive"
CLIENTS: Final = "clients"
"""The other end of a link that clients are cut from."""
DEADLY: Final = (None, 9, 15)
"""Signals that end a process, and the engine's kill that names none."""
REPLACES_PROCESS: Final = ("start", "die", "kill", "stop", "oom")
LATE_TIMES: Final = 4
"""No waiting for a CPU excuses so many times its bound. Ours. The kernel counts whoever waits, Kafka or not, so on a
machine on which somebody always waits the sum excuses anything, and what never comes would be excused too. A share p of
the time excuses 1 / (1 - p) bounds, so this limits the excuse where more than three quarters of a time were waited. The
most that was seen of a Kafka that was in order is 3.8, with starved clients, at a load of 28 on two cores.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What held from `begin_ns` to `end_ns`."""

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
class FaultFact:
    """One fault: what, to whom in which role, its proof, and how long it lasted."""

    id: str
    kind: str
    node: str
    role: str
    description: str
    inject_ns: int
    proved_ns: int | None
    heal_ns: int | None
    """When its healing began; None if it was never tried."""
    healed_ns: int | None
    until_ns: int
    """Until it is healed; of a broker that ended, until its process is proved to run again, whether it was started as
    it was, as another release or with other settings, or until the cluster is proved to do without it (a migration that
    was reverted); of a start, until verified.
    """
    proof: FaultProof | None
    """None if it was not proved."""
    unproved: bool
    seen: str = ""
    """What was seen in place of a proof, of one that was not proved."""
    links: tuple[tuple[str, str], ...] = ()
    """Of a fault of the network: from whom to whom packets are dropped, or slow."""
    port: int = 0
    """Of a cut: only connections to this port are; 0 for all packets."""
    injected_ns: int | None = None
    """When its injection had ended; None until it has been verified, or was found not to have taken effect."""

    @property
    def whole_ns(self) -> int:
        """End of the injection; its start, if it was never verified. Durations are measured from here."""
        return self.inject_ns if self.injected_ns is None else self.injected_ns

    @property
    def nodes(self) -> tuple[str, ...]:
        """Whom it struck, by name: nodes, or processes of clients."""
        return tuple(name.strip() for name in self.node.split(","))

    @property
    def proof_type(self) -> type[FaultProof]:
        """The type of its kind, which knows what the kind means."""
        return KINDS[self.kind]

    @property
    def starts(self) -> bool:
        """Whether it starts a process, as it was or as another release or with other settings: that strikes nobody."""
        return issubclass(self.proof_type, StartProof)

    def between(self, one: str, other: str) -> bool:
        """Whether it lies between two nodes, one way at least."""
        return (one, other) in self.links or (other, one) in self.links

    @property
    def status(self) -> str:
        if self.unproved:
            return "unproved"
        return "proved" if self.proved_ns is not None else "never verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
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
    expected_loss: bool = False
    """Whether the scenario says that this is a record whose loss it documents."""

    @property
    def key(self) -> RecordId:
        return RecordId(self.topic, self.partition, self.producer, self.sequence)


@dataclass(frozen=True)
class RunState:
    """What held when, of one run."""

    events: tuple[Event, ...] = ()
    """In order of time."""

    @cached_property
    def end_ns(self) -> int:
        """The time of the last event; lines of brokers' logs do not count, their clock may lie outside the run."""
        return max((event.at_ns for event in self.events if not isinstance(event, Log)), default=0)

    @cached_property
    def states(self) -> Mapping[TopicPartition, tuple[Partition, ...]]:
        """The states of each partition in the order they were stated, repetitions left out."""
        return states_of(self.events)

    @cached_property
    def partitions(self) -> Mapping[TopicPartition, tuple[PartitionInterval, ...]]:
        """What held for each partition between the cluster's statements; statements that change nothing are one."""
        return {key: _partition_intervals(states, self.end_ns) for key, states in self.states.items()}

    @cached_property
    def controllers(self) -> tuple[Interval, ...]:
        """Who was the controller ("" for nobody), in detail "epoch N"."""
        stated = [(one.at_ns, one.node or "", f"epoch {one.epoch}") for one in of(self.events, Controller)]
        return _intervals(stated, self.end_ns)

    @cached_property
    def processes(self) -> Mapping[str, tuple[Interval, ...]]:
        """When each node's container was up, dying, down or frozen."""
        nodes = dict.fromkeys(event.node for event in of(self.events, Container))
        return {node: _intervals(_conditions(self.events, node), self.end_ns) for node in nodes}

    @cached_property
    def registrations(self) -> Mapping[str, tuple[Interval, ...]]:
        """When the cluster took each broker for alive, or how that ended (gone, fenced)."""
        stated: dict[str, list[tuple[int, str, str]]] = {}
        for event in of(self.events, Broker):
            value = ALIVE if event.alive else "gone" if event.state == "gone" else "fenced"
            # A broker that registers with KRaft begins fenced: nobody takes it for dead by that.
            if event.alive or event.node in stated:
                stated.setdefault(event.node, []).append((event.at_ns, value, ""))
        return {node: _intervals(history, self.end_ns) for node, history in stated.items()}

    @cached_property
    def faults(self) -> tuple[FaultFact, ...]:
        """Each fault with its proof, in the order of injection."""
        return faults_of(self.events)

    def proved(self, proof_type: type[P]) -> Iterator[tuple[FaultFact, P]]:
        """The faults that were proved by a proof of this type, each with it, in the order of injection."""
        return ((one, one.proof) for one in self.faults if isinstance(one.proof, proof_type))

    @cached_property
    def severed(self) -> tuple[FaultFact, ...]:
        """The proved cuts of all packets between nodes, or between nodes and clients."""
        return tuple(f for f in self.faults if f.kind == "cut" and not f.port and f.proved_ns is not None)

    def healing_of(self, cut: FaultFact) -> int:
        """When a cut began to be healed; the end of the run if it never was."""
        return self.end_ns if cut.heal_ns is None else cut.heal_ns

    @cached_property
    def coordinators(self) -> tuple[str, ...]:
        """ZooKeeper, or KRaft's controllers apart."""
        return tuple(one for one in self.processes if one == "zookeeper" or one.startswith("controller-"))

    def off_coordinator(self, node: str, at_ns: int) -> bool:
        """Whether a node is cut from ZooKeeper, or from all of KRaft's controllers apart (but itself)."""
        others = [keeper for keeper in self.coordinators if keeper != node]
        return bool(others) and all(self._cut_between(node, keeper, at_ns) for keeper in others)

    def reaches_coordinator(self, node: str, at_ns: int) -> bool:
        """Whether ZooKeeper, or one of KRaft's controllers apart, runs at a time and is not cut from a node."""
        return any(
            self.condition_at(keeper, at_ns) == UP and not self._cut_between(node, keeper, at_ns)
            for keeper in self.coordinators
        )

    def _cut_between(self, one: str, other: str, at_ns: int) -> bool:
        lasting = (cut for cut in self.severed if cut.inject_ns <= at_ns < self.healing_of(cut))
        return any(cut.between(one, other) for cut in lasting)

    @cached_property
    def blind(self) -> tuple[tuple[int, int, str], ...]:
        """(begin, end, who and why) of each interval in which an observer saw nothing."""
        return blind_intervals(self.events)

    @cached_property
    def still(self) -> tuple[Span, ...]:
        """Each time in which the machine stood still."""
        return tuple((one.begin_ns, one.at_ns) for one in of(self.events, Stillness))

    @cached_property
    def waits(self) -> tuple[tuple[int, int, int], ...]:
        """(begin, end, ns) of each slice of time, and for how much of it some process waited for a CPU; none in a
        timeline of before there were slices.
        """
        return tuple(_slices(of(self.events, Waits)))

    def held_up_ns(self, one: Span) -> int:
        """For how much of a time the machine stood still, or some process waited for a CPU. Of a slice that lies in it
        in part as much as that part lasts is taken for waiting, since nobody knows when in the slice it was.
        """
        return _held_up_ns(one, self.still, self.waits)

    def held_up_since(self, span_ns: int) -> Iterator[Span]:
        """When each slice with some waiting, and each stillness, began, and for how much of so long a time from then on
        the machine stood still, or some process waited for a CPU.
        """
        begun = [begin_ns for begin_ns, _, _ in self.waits]
        waited = {begin_ns for begin_ns, _, waited_ns in self.waits if waited_ns}
        for begin_ns in sorted(waited | {begin_ns for begin_ns, _ in self.still}):
            one = (begin_ns, begin_ns + span_ns)
            near = self.waits[max(bisect_right(begun, one[0]) - 1, 0) : bisect_left(begun, one[1])]
            yield begin_ns, _held_up_ns(one, self.still, near)

    @cached_property
    def busy(self) -> float:
        """The share of the run in which some process waited for a CPU, from 0 to 1; 0 if the machine does not tell."""
        return max((one.cpu for one in of(self.events, Machine)), default=0.0)

    @cached_property
    def sends(self) -> tuple[Sent, ...]:
        """The scripted records, each send matched with its answer, in the order of sending."""
        return sends_of(self.events)

    def state_at(self, topic: str, partition: int, at_ns: int) -> PartitionInterval | None:
        """What the cluster stated about a partition at a time."""
        states = self.partitions.get((topic, partition), ())
        return next((state for state in reversed(states) if state.begin_ns <= at_ns), None)

    def controller_at(self, at_ns: int) -> Interval | None:
        """Who was the controller at a time, as far as the cluster said."""
        return next((one for one in reversed(self.controllers) if one.begin_ns <= at_ns), None)

    def condition_at(self, node: str, at_ns: int) -> str:
        """Whether a node's process was up, dying, down or frozen at a time."""
        intervals = self.processes.get(node, ())
        begun = [one.value for one in intervals if one.begin_ns <= at_ns]
        if begun:
            return begun[-1]
        return DOWN if intervals and intervals[0].value == UP else UP

    def undisturbed_since(self, node: str, at_ns: int) -> int:
        """From when on a node's process ran until a time, or lay still, without being replaced; 0: always."""
        replaced = [
            event.at_ns
            for event in of(self.events, Container)
            if event.node == node and event.action in REPLACES_PROCESS and event.at_ns <= at_ns
        ]
        return max(replaced, default=0)

    def died_by(self, node: str, at_ns: int) -> int | None:
        """When a node's process last ended, by a time."""
        died = [one.begin_ns for one in self.processes.get(node, ()) if one.value == DOWN and one.begin_ns <= at_ns]
        return died[-1] if died else None

    def alive_at(self, node: str, at_ns: int) -> bool:
        """Whether the cluster took a broker for alive at a time."""
        return any(
            one.value == ALIVE and one.begin_ns <= at_ns < one.end_ns for one in self.registrations.get(node, ())
        )


def _held_up_ns(one: Span, still: Sequence[Span], waits: Iterable[tuple[int, int, int]]) -> int:
    """For how much of a time the machine stood still, or some process waited for a CPU, by these slices of time."""
    held_ns = overlap_ns(one, still)
    for begin_ns, end_ns, waited_ns in waits:
        part = (max(begin_ns, one[0]), min(end_ns, one[1]))
        if part[0] < part[1]:
            held_ns += min(waited_ns, part[1] - part[0] - overlap_ns(part, still))
    return held_ns


def _slices(told: Iterable[Waits]) -> Iterator[tuple[int, int, int]]:
    for event in told:
        at_ns = event.begin_ns
        for lasted_us, waited_us in event.slices:
            yield at_ns, at_ns + lasted_us * 1000, waited_us * 1000
            at_ns += lasted_us * 1000


def _intervals(stated: Iterable[tuple[int, str, str]], end_ns: int) -> tuple[Interval, ...]:
    """From (time, value, detail): each until the next that says something else; the last until `end_ns`."""
    changes: list[tuple[int, str, str]] = []
    for one in stated:
        if not changes or changes[-1][1:] != one[1:]:
            changes.append(one)
    return tuple(
        Interval(begin_ns=begin, end_ns=following[0] if following else max(end_ns, begin), value=value, detail=detail)
        for (begin, value, detail), following in zip_longest(changes, changes[1:])
    )


# Partitions


def leader_of(state: Partition) -> int | None:
    """The leader that a state names; None for none."""
    return None if state.leader == NO_LEADER else state.leader


def states_of(events: Iterable[Event]) -> dict[TopicPartition, tuple[Partition, ...]]:
    """The states of each partition in the order they were stated, repetitions left out."""
    found: dict[TopicPartition, list[Partition]] = {}
    seen: dict[TopicPartition, dict[int, tuple[Any, ...]]] = {}
    for state in of(events, Partition):
        key, content = (state.topic, state.partition), (state.leader, state.leader_epoch, state.isr)
        history, known = found.setdefault(key, []), seen.setdefault(key, {})
        if state.version is not None:
            older = state.version < max(known, default=state.version)
            if known.get(state.version) == content and (older or _same(history[-1], state)):
                continue
            known[state.version] = content
        history.append(state)
    return {key: tuple(history) for key, history in found.items()}


def _same(one: Partition, other: Partition) -> bool:
    names = ("version", "leader", "leader_epoch", "isr", "elr", "replicas", "adding", "removing", "controller_epoch")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _partition_intervals(states: Sequence[Partition], end_ns: int) -> tuple[PartitionInterval, ...]:
    def shown(state: Partition) -> tuple[Any, ...]:
        return (state.leader, state.leader_epoch, state.isr, state.elr)

    changes = [*states[:1], *(after for before, after in pairwise(states) if shown(before) != shown(after))]
    return tuple(
        PartitionInterval(
            begin_ns=state.at_ns,
            end_ns=following.at_ns if following else max(end_ns, state.at_ns),
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            controller_epoch=state.controller_epoch,
            version=state.version,
            elr=state.elr,
        )
        for state, following in zip_longest(changes, changes[1:])
    )


def isr_at(states: Iterable[Partition], at_ns: int) -> list[int] | None:
    """The ISR of a partition last stated at or before a time; None if nothing had been stated."""
    stated = [state.isr for state in states if state.at_ns <= at_ns]
    return list(stated[-1]) if stated else None


def in_isr_throughout(states: Sequence[Partition], begin_ns: int, end_ns: int) -> set[int]:
    """The brokers in every ISR that was stated to hold at some time between `begin_ns` and `end_ns`."""
    brokers = set(isr_at(states, begin_ns) or ())
    for state in states:
        if begin_ns < state.at_ns <= end_ns:
            brokers &= set(state.isr)
    return brokers


def one_leader(states: Sequence[Partition], begin_ns: int, end_ns: int) -> Partition | None:
    """The state of the leader that led from `begin_ns` to `end_ns`; None if that changed, or there was none."""
    held = [state for state in states if state.at_ns <= begin_ns][-1:]
    held += [state for state in states if begin_ns < state.at_ns <= end_ns]
    terms = {(leader_of(state), state.leader_epoch) for state in held}
    return held[0] if len(terms) == 1 and leader_of(held[0]) is not None else None


# Processes


def _conditions(events: Iterable[Event], node: str) -> Iterable[tuple[int, str, str]]:
    """(time, condition, detail) of each change of a node's process."""
    condition = ""
    for event in of(events, Container):
        if event.node != node:
            continue
        told = {
            "start": (UP, "started"),
            "die": (DOWN, "ended" if event.exit_code is None else f"exit code {event.exit_code}"),
            "pause": (FROZEN, "docker pause"),
        }.get(event.action)
        if event.action == "unpause" and condition == FROZEN:
            told = (UP, "thawed")
        elif (event.action == "kill" and event.signal in DEADLY) or event.action == "oom":
            told = (DYING, event.action) if condition != DOWN else None
        if told is not None and told[0] != condition:
            condition = told[0]
            yield (event.at_ns, *told)


# Faults, observers, clients


def faults_of(events: Iterable[Event]) -> tuple[FaultFact, ...]:
    """Each fault with its proof, in the order of injection."""
    said = of(events, Fault)
    histories: dict[str, list[Fault]] = {}
    for event in said:
        histories.setdefault(event.id, []).append(event)
    found = []
    for history in histories.values():
        first, phases = history[0], {event.phase: event for event in history}
        proof = phases.get("unproved") or phases.get("verified")
        times = {phase: event.at_ns for phase, event in phases.items()}
        found.append(
            FaultFact(
                id=first.id,
                kind=first.fault_kind,
                node=first.target.node,
                role=first.target.role,
                description=first.description,
                inject_ns=first.at_ns,
                proved_ns=times.get("verified"),
                heal_ns=times.get("heal"),
                healed_ns=times.get("healed"),
                until_ns=next((event.at_ns for event in said if _ends(event, first)), NEVER_NS),
                proof=proof.proof if proof else None,
                unproved="unproved" in phases,
                seen=proof.seen if proof else "",
                links=first.links,
                port=first.port,
                injected_ns=proof.injected_ns if proof else None,
            )
        )
    return tuple(found)


def _ends(event: Fault, begin: Fault) -> bool:
    """Whether what begins with `begin` is over with this event."""
    if event.at_ns < begin.at_ns:
        return False
    if (lasts := KINDS[begin.fault_kind].lasts) is Lasts.UNTIL_STARTED:
        runs = issubclass(KINDS[event.fault_kind], RunningProof) and event.target.node == begin.target.node
        left_out = isinstance(event.proof, RevertProof) and event.proof.before == begin.target.node
        return event.phase == "verified" and (runs or left_out)
    return event.id == begin.id and event.phase == ("verified" if lasts is Lasts.AT_ONCE else "healed")


def blind_intervals(events: Iterable[Event]) -> tuple[tuple[int, int, str], ...]:
    """(begin, end, who and why) of each interval in which an observer saw nothing; each observer by itself."""
    intervals, open_since = [], dict[str, Blind]()
    for event in of(events, Blind):
        if event.phase == "begin":
            open_since.setdefault(event.source, event)
        elif event.source in open_since:
            begin = open_since.pop(event.source)
            intervals.append((begin.at_ns, event.at_ns, _blind_reason(begin)))
    intervals += [(begin.at_ns, NEVER_NS, _blind_reason(begin)) for begin in open_since.values()]
    return tuple(sorted(intervals))


def _blind_reason(begin: Blind) -> str:
    return f"{begin.source} observer: {begin.reason or 'no reason given'}"


def sends_of(events: Iterable[Event]) -> tuple[Sent, ...]:
    """The scripted records, each send matched with its answer, in the order of sending."""
    opened: dict[tuple[Any, ...], Send] = {}
    ended: dict[tuple[Any, ...], Answer] = {}
    for event in events:
        if isinstance(event, Send):
            opened.setdefault(event.record, event)
        elif isinstance(event, Answer):
            ended.setdefault(event.record, event)
    sends = []
    for key in dict.fromkeys([*opened, *ended]):
        end = ended.get(key)
        about = end or opened[key]
        sends.append(
            Sent(
                process=about.process,
                topic=about.topic,
                partition=about.partition,
                producer=about.producer,
                sequence=about.sequence,
                acks=acks_text(about.acks),
                # The recorder's own times are the better ones: an answer may be heard long after it came.
                sent_ns=(end and end.invoked_ns) or opened.get(key, about).at_ns,
                done_ns=(end.completed_ns or end.at_ns) if end else None,
                outcome="open" if end is None else "unknown" if end.outcome == "info" else end.kind,
                offset=end.offset if end else None,
                error=end.error if end else None,
                expected_loss=key in opened and opened[key].expected_loss,
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
