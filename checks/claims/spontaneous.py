"""Elections, shrinks of an ISR, ends of sessions and of a controller's office, and whether the run explains them.

In a cluster that nobody disturbs none of these comes about: a leader stays (an automatic rebalance and whoever asks for
an election apart), a follower that fetches stays in the ISR, a broker that runs keeps its session, and a controller its
office (the leader of a quorum as long as voters hear it, KIP-595). So each of them has a cause in the timeline, or is
Kafka's own doing. Causes are:

- a fault that struck a node which may bring the change about, while it lasts and `after_ns` longer. An election is
  brought about by the leader that was, a shrink by the follower and its leaders, the end of a session by its broker,
  and any of them by who coordinates: ZooKeeper, KRaft's controllers, and a broker while it is the controller. What lies
  between two brokers ends no session, and makes no other follower lag. What lies between a broker and who coordinates
  concerns that broker. A machine under pressure concerns everybody, and faults of clients nobody;
- what the engine did to such a node's container, whoever asked for it;
- the start of a broker until it is registered, and that of one of KRaft's controllers;
- that a partition is new. Its leader counts from the moment that it leads, and followers fetch when they are told. That
  may be later than a replica.lag.time.max.ms of less than a second (Partition.makeLeader, 2.2.2);
- what an administrator asked for: a reassignment, an election, a setting, another controller (`PLANNED`). A
  reassignment that is not completed concerns its own partition;
- an automatic rebalance, where it is on: the preferred leader, which is in sync, leads;
- an observer that saw nothing meanwhile: nobody knows what happened.

A partition that nobody leads, or whose leader's process is not up, gets another leader, and whose process is not up
leaves the ISR, or its office. That follows from the end of a process, which has a cause or is told as an anomaly of its
own.

A machine that stood still, or on which processes wait for a CPU, may end a session and hold up a follower. What it may
have done is a doubt, and no anomaly (`Change.by_machine`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal

from checks.claims.basis import ELECTION_MS, session_bound_ms, session_ms, setting_ms
from checks.claims.replication.isr import lag_time_ms, shrinks_within_ms
from evidence.events import NO_LEADER, Container, DeleteTopic, MoveReplica, Partition, Reassign, Step, of
from evidence.faults.base import FaultProof
from evidence.faults.clients import FreezeClientProof, KillClientProof, ResetProof, WithheldProof
from evidence.faults.pressure import PressureProof
from evidence.foreign import foreign_events
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import ALIVE, CLIENTS, UP, FaultFact, RunState
from evidence.spans import NEVER_NS, Span

What = Literal["election", "isr-shrink", "fencing", "controller-change"]

OF_CLIENTS: Final[tuple[type[FaultProof], ...]] = (FreezeClientProof, KillClientProof, ResetProof, WithheldProof)
PLANNED: Final = (
    "ask for other replicas",
    "ask for the preferred leader",
    "delete /controller",
    "delete topic",
    "downgrade",
    "finalize",
    "migrate to KRaft",
    "move a replica",
    "move the controller",
    "revert the migration",
    "set ",
    "throttle moves",
    "upgrade",
    "withdraw the deletion",
)
"""How steps begin by which an administrator may move a leader, or hold up a follower."""
BROKER: Final = "broker-"
"""How the names of brokers begin, where others coordinate."""
OF_CONTAINERS: Final = ("connect", "disconnect")
"""What the engine tells of containers that start and end anyway; what else it tells of them is an act."""
SETTLED_NS: Final = 5_000_000_000
"""From a broker's registration until it serves and fetches, and from what comes of a session's end until that is told.
Ours: nothing is documented of it."""
SESSION_MS: Final = 18_000
"""The longest default of a session: zookeeper.session.timeout.ms from 2.5 on (KIP-537)."""
QUORUM_FETCH: Final = "controller.quorum.fetch.timeout.ms"
QUORUM_FETCH_MS: Final = 2000
"""Its default (KIP-595): after so long a voter that does not hear the leader asks to be elected, and a leader that no
majority has heard of gives up half as much later (KAFKA-15489)."""
SHARE: Final = 0.5
"""The machine may be the reason of a change if it held somebody up, shortly before, for so much of the time that a
session lasts, or that a follower may lag. Ours. A broker tells of itself several times in a session (to ZooKeeper after
each third of it; broker.heartbeat.interval.ms), and a follower fetches each half second, so one that was held up for
less was heard in time, or had caught up.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A leader was replaced or elected again, a follower left the ISR, a session ended, or the controller was another,
    in another epoch or nobody, of a process that was up.
    """

    what: What
    at_ns: int
    node: str
    """The leader or controller that was, who left the ISR, or whose session ended."""
    where: TopicPartition | None = None
    others: frozenset[str] = frozenset()
    """Other nodes that may bring it about: of a shrink, those that led the partition then and shortly before; of a
    controller, those that elect it."""
    detail: dict[str, Any] = field(default_factory=dict)
    limit_ns: int
    """How long a session lasts, or a follower may lag."""
    held_up_ns: int
    """For how long the machine stood still, or some process waited for a CPU, in the time before it in which its reason
    may lie (`after_ns`)."""

    @property
    def by_machine(self) -> bool:
        """Whether the machine may be the reason."""
        return self.held_up_ns >= SHARE * self.limit_ns

    @property
    def text(self) -> str:
        """What happened, in a few words."""
        of = "" if self.where is None else " of {}-{}".format(*self.where)
        return {
            "election": f"an election{of}, which {self.node} had led",
            "isr-shrink": f"{self.node} left the ISR{of}",
            "fencing": f"the session of {self.node} ended",
            "controller-change": f"{self.node} was the controller no more, or in another epoch",
        }[self.what]

    def row(self) -> dict[str, Any]:
        """As evidence."""
        about = {} if self.where is None else {"topic": self.where[0], "partition": self.where[1]}
        held = {"held_up_ms": round(self.held_up_ns / 1e6), "limit_ms": round(self.limit_ns / 1e6)}
        return about | {"node": self.node, "at_ns": self.at_ns} | self.detail | held


@dataclass(frozen=True, slots=True)
class Cause:
    """Something of the run that may bring a change about."""

    span: Span
    nodes: frozenset[str] | None = None
    """Whom it concerns; None for everybody."""
    pairs: frozenset[frozenset[str]] = frozenset()
    """Between which brokers it lies."""
    where: TopicPartition | None = None
    """The partition that it concerns; None for all."""
    what: What | None = None
    """What it may bring about; None for anything."""

    def explains(self, change: Change, later_ns: int) -> bool:
        """Whether it lasted at the time of a change, or was over for no longer than that."""
        begin_ns, end_ns = self.span
        lasted = begin_ns <= change.at_ns <= min(end_ns, NEVER_NS - later_ns) + later_ns
        of = self.where in (None, change.where) and self.what in (None, change.what)
        return lasted and of and self._concerns(change)

    def _concerns(self, change: Change) -> bool:
        if self.nodes is None or self.nodes & {change.node, *change.others}:
            return True
        return not self.pairs.isdisjoint(frozenset((change.node, other)) for other in change.others)


def after_ns(run: RunRecord, what: What) -> int:
    """So long after a cause sessions may end and leaders be elected because of it, or followers leave an ISR."""
    longest_ms = session_bound_ms(_longest_session_ms(run)) + ELECTION_MS
    lag_ms = shrinks_within_ms(run) if what == "isr-shrink" else 0
    return round(max(longest_ms, lag_ms)) * 1_000_000


def _longest_session_ms(run: RunRecord) -> int:
    name = "zookeeper.session.timeout.ms" if run.mode == "zookeeper" else "broker.session.timeout.ms"
    stated = [int(value) for key, value in run.settings.items() if key.rpartition(":")[2] == name and value.isdigit()]
    return max(stated, default=SESSION_MS)


def changes(run_state: RunState, run: RunRecord, where: TopicPartition | None = None) -> list[Change]:
    """Every such change of the run, in the order of time, whatever explains it; or those of one partition."""
    if where is not None:
        found = [*_of_partition(run_state, run, run_state.states.get(where, ()))]
    else:
        states = run_state.states.values()
        found = [*_fenced(run_state, run), *_deposed(run_state, run)]
        found += (one for each in states for one in _of_partition(run_state, run, each))
    return sorted(found, key=lambda one: one.at_ns)


def by_cause(
    run_state: RunState, run: RunRecord, where: TopicPartition | None = None
) -> tuple[list[Change], list[Change]]:
    """The changes that something of the run explains, and those that nothing does (of one partition, or of all)."""
    acting, starting = list(acts(run_state)), list(starts(run_state))
    explained, spontaneous = list[Change](), list[Change]()
    for one in changes(run_state, run, where):
        later_ns = after_ns(run, one.what)
        caused = any(cause.explains(one, later_ns) for cause in acting)
        caused = caused or any(cause.explains(one, SETTLED_NS) for cause in starting)
        (explained if caused else spontaneous).append(one)
    return explained, spontaneous


def by_machine(run_state: RunState, run: RunRecord) -> frozenset[tuple[TopicPartition | None, int]]:
    """Of which changes the machine may be the reason: their partitions, and their times (monotonic, ns)."""
    return frozenset((one.where, one.at_ns) for one in changes(run_state, run) if one.by_machine)


def spontaneous(run_state: RunState, run: RunRecord) -> list[Change]:
    """Those that nothing of the run explains; the machine may have been the reason of some."""
    return by_cause(run_state, run)[1]


# What explains a change


def acts(run_state: RunState) -> Iterator[Cause]:
    """What of the run may bring a change about, as long as it lasts and `after_ns` longer."""
    for fault in run_state.faults:
        if not issubclass(fault.proof_type, OF_CLIENTS):
            yield from _of_fault(run_state, fault)
    started = set[str]()
    for event in of(run_state.events, Container):
        if event.action not in OF_CONTAINERS and (event.action != "start" or event.node in started):
            yield from _of_nodes(run_state, {event.node}, (event.at_ns, event.at_ns))
        started |= {event.node} if event.action == "start" else set()
    # Of what others did nobody knows when it was over.
    yield from (Cause((one.since_ns, NEVER_NS)) for one in foreign_events(run_state) if one.acted)
    yield from (Cause((begin_ns, end_ns)) for begin_ns, end_ns, _ in run_state.blind)
    yield from _planned(run_state)


def _of_fault(run_state: RunState, fault: FaultFact) -> Iterator[Cause]:
    span = (fault.inject_ns, fault.until_ns)
    if issubclass(fault.proof_type, PressureProof):
        yield Cause(span)
    elif fault.links:
        for link in fault.links:
            if CLIENTS not in link:
                yield from _of_link(run_state, frozenset(link), span)
    else:
        yield from _of_nodes(run_state, set(fault.nodes), span)


def _of_link(run_state: RunState, ends: frozenset[str], span: Span) -> Iterator[Cause]:
    """Of what lies between two nodes."""
    brokers = frozenset(one for one in ends if not _coordinates(run_state, one))
    if not brokers:
        yield Cause(span)
    elif brokers < ends:
        yield Cause(span, brokers)
    else:
        yield Cause(span, frozenset(), frozenset({ends}), what="isr-shrink")
    yield from _in_office(run_state, brokers, span)


def _of_nodes(run_state: RunState, nodes: Set[str], span: Span) -> Iterator[Cause]:
    """Of what befell these nodes."""
    coordinates = any(_coordinates(run_state, node) for node in nodes)
    yield Cause(span, None if coordinates else frozenset(nodes))
    yield from _in_office(run_state, nodes, span)


def _coordinates(run_state: RunState, node: str) -> bool:
    """Whether a node is ZooKeeper or one of KRaft's controllers, which any node is where none are apart."""
    combined = not run_state.coordinators and any(one.value.startswith(BROKER) for one in run_state.controllers)
    return combined or not node.startswith(BROKER)


def _in_office(run_state: RunState, nodes: Set[str], span: Span) -> Iterator[Cause]:
    """What befalls the controller concerns everybody while it is in office, and when that is over: it may not know that
    it is not any more.
    """
    for office in run_state.controllers:
        begin_ns, end_ns = max(span[0], office.begin_ns), min(span[1], office.end_ns)
        if office.value in nodes and begin_ns <= end_ns:
            yield from (Cause((begin_ns, end_ns)), Cause((span[1], span[1])))


def _planned(run_state: RunState) -> Iterator[Cause]:
    """The acts of an administrator, each as long as it took."""
    begun: dict[str, int] = {}
    for step in of(run_state.events, Step):
        if step.name.startswith(PLANNED) and step.phase == "begin":
            begun[step.name] = step.at_ns
        elif step.name in begun:
            yield Cause((begun.pop(step.name), step.at_ns))
    yield from (Cause((at_ns, NEVER_NS)) for at_ns in begun.values())
    for asked in of(run_state.events, Reassign):
        done_ns = _reassigned_ns(run_state, asked)
        own = (asked.topic, asked.partition) if done_ns == NEVER_NS else None
        yield Cause((asked.at_ns, done_ns), where=own)
    for kind in (DeleteTopic, MoveReplica):
        yield from (Cause((one.at_ns, one.at_ns)) for one in of(run_state.events, kind))


def _reassigned_ns(run_state: RunState, asked: Reassign) -> int:
    """When a partition had the replicas that were asked for, all in sync."""
    states = run_state.states.get((asked.topic, asked.partition), ())
    wanted = set(asked.replicas)
    done = (one for one in states if one.at_ns >= asked.at_ns and set(one.replicas or ()) == set(one.isr) == wanted)
    return next((one.at_ns for one in done), NEVER_NS)


def starts(run_state: RunState) -> Iterator[Cause]:
    """From the start of each broker until it is registered, the starts of who coordinates (a voter that begins may ask
    to be elected before it has heard the leader), and when each partition was new.
    """
    for event in of(run_state.events, Container):
        if event.action == "start":
            alive = (one.begin_ns for one in run_state.registrations.get(event.node, ()) if one.value == ALIVE)
            registered_ns = next((at_ns for at_ns in alive if at_ns >= event.at_ns), event.at_ns)
            yield Cause((event.at_ns, registered_ns), frozenset({event.node}))
    for place, states in run_state.states.items():
        yield Cause((states[0].at_ns, states[0].at_ns), where=place, what="isr-shrink")


# What changed


def _fenced(run_state: RunState, run: RunRecord) -> Iterator[Change]:
    """Each end of a session of a broker whose process is up."""
    for node, intervals in run_state.registrations.items():
        for before, after in pairwise(intervals):
            if before.value == ALIVE and run_state.condition_at(node, after.begin_ns) == UP:
                yield Change(
                    what="fencing",
                    at_ns=after.begin_ns,
                    node=node,
                    detail={"state": after.value},
                    limit_ns=_session_ns(run, node),
                    held_up_ns=_held_up_ns(run_state, run, "fencing", after.begin_ns),
                )


def _deposed(run_state: RunState, run: RunRecord) -> Iterator[Change]:
    """Each end of an office of a controller whose process is up."""
    for before, after in pairwise(run_state.controllers):
        if before.value and run_state.condition_at(before.value, after.begin_ns) == UP:
            yield Change(
                what="controller-change",
                at_ns=after.begin_ns,
                node=before.value,
                others=frozenset(run_state.coordinators),
                detail={"controller": after.value, "office": after.detail, "office_before": before.detail},
                limit_ns=_office_ns(run, before.value),
                held_up_ns=_held_up_ns(run_state, run, "controller-change", after.begin_ns),
            )


def _of_partition(run_state: RunState, run: RunRecord, states: Sequence[Partition]) -> Iterator[Change]:
    """Each replaced leader of a partition and each follower that left the ISR, if its process is up."""
    for before, after in pairwise(states):
        if before.leader == NO_LEADER or after.leader_epoch < before.leader_epoch:
            continue  # somebody has to lead; a topic that was deleted and made again
        if _elected(before, after) and not _rebalanced(run, before, after):
            yield from _of_replica(run_state, run, "election", before.leader, before, after)
        for number in _left(before, after):
            yield from _of_replica(run_state, run, "isr-shrink", number, before, after)


def _elected(before: Partition, after: Partition) -> bool:
    """Whether a leader was replaced, or elected again. That its epoch rises because a follower leaves the ISR
    (KafkaController.removeReplicaFromIsr; KRaft up to 3.5, KAFKA-15021), or because replicas change, is no election.
    """
    same = before.leader == after.leader
    again = after.leader_epoch > before.leader_epoch and not _left(before, after) and before.replicas == after.replicas
    return again or not same


def _left(before: Partition, after: Partition) -> list[int]:
    """Who left the ISR, and is a replica still."""
    gone = set(before.isr) - set(after.isr)
    return sorted(gone if after.replicas is None else gone & set(after.replicas))


def _rebalanced(run: RunRecord, before: Partition, after: Partition) -> bool:
    """Whether an automatic rebalance is on (auto.leader.rebalance.enable, true by default) and may have made the
    preferred leader lead, which was in sync.
    """
    on = run.settings.get("auto.leader.rebalance.enable", "true").lower() == "true"
    return on and [after.leader] == list(after.replicas or ())[:1] and after.leader in before.isr


def _of_replica(
    run_state: RunState, run: RunRecord, what: What, number: int, before: Partition, after: Partition
) -> Iterator[Change]:
    node, at_ns, where = broker(number), after.at_ns, (after.topic, after.partition)
    if run_state.condition_at(node, at_ns) != UP:
        return
    lags = what == "isr-shrink" and _keeps_session(run_state, node, at_ns)
    limit_ns = lag_time_ms(run) * 1_000_000 if lags else _session_ns(run, node)
    held_up_ns = _held_up_ns(run_state, run, what if lags or what == "election" else "fencing", at_ns)
    if what == "election" and run.mode == "kraft" and _keeps_session(run_state, node, at_ns):
        # The controller fences the old leader before, which is a record (ReplicationControlManager.handleBrokerFenced).
        held_up_ns = 0
    yield Change(
        what=what,
        at_ns=at_ns,
        node=node,
        where=where,
        others=_others(run_state, run, what, before, after),
        detail={
            "leader": after.leader,
            "leader_before": before.leader,
            "leader_epoch": after.leader_epoch,
            "leader_epoch_before": before.leader_epoch,
            "isr": list(after.isr),
            "isr_before": list(before.isr),
        },
        limit_ns=limit_ns,
        held_up_ns=held_up_ns,
    )


def _others(run_state: RunState, run: RunRecord, what: What, before: Partition, after: Partition) -> frozenset[str]:
    """Who else may bring the change of a partition about. What befalls the one that is elected takes nobody's place.
    Where a leader is elected again, a follower may have left the ISR and come back between two looks at ZooKeeper,
    which raises the epoch.
    """
    if what == "isr-shrink":
        begin_ns, end_ns = after.at_ns - after_ns(run, what), after.at_ns
        terms = run_state.partitions[after.topic, after.partition]
        lasted = (one for one in terms if one.begin_ns <= end_ns and begin_ns <= one.end_ns)
        return frozenset(broker(one.leader) for one in lasted if one.leader != NO_LEADER)
    again = before.leader == after.leader and after.source == "zookeeper"
    return frozenset(map(broker, before.replicas or before.isr)) if again else frozenset()


def _session_ns(run: RunRecord, node: str) -> int:
    return (session_ms(run, node) or SESSION_MS) * 1_000_000


def _office_ns(run: RunRecord, node: str) -> int:
    """How long a controller that nobody hears of keeps its office: its session, or what voters wait for a leader."""
    if run.mode == "zookeeper" and node.startswith("broker-"):
        return _session_ns(run, node)
    return setting_ms(run, QUORUM_FETCH, QUORUM_FETCH_MS) * 1_000_000


def _keeps_session(run_state: RunState, node: str, at_ns: int) -> bool:
    """Whether a broker is registered at a time, and shortly after: its session's end may be told a little later than
    what comes of it.
    """
    told = [one.value for one in run_state.registrations.get(node, ()) if one.begin_ns <= at_ns][-1:]
    told += [one.value for one in run_state.registrations.get(node, ()) if at_ns < one.begin_ns <= at_ns + SETTLED_NS]
    return bool(told) and all(value == ALIVE for value in told)


def _held_up_ns(run_state: RunState, run: RunRecord, what: What, at_ns: int) -> int:
    """For how long the machine held somebody up in the time before a change in which its reason may lie. Where nothing
    says when it was busy it was so in all of the run alike.
    """
    before_ns = after_ns(run, what)
    evenly_ns = 0 if run_state.waits else round(run_state.busy * before_ns)
    return run_state.held_up_ns((at_ns - before_ns, at_ns)) + evenly_ns
