"""Brokers that the cluster takes for dead, and that are in an ISR, or are made to lead.

With KRaft the controller decides both, in one log that is read whole. It takes a broker that it fences out of each ISR
in the same batch, refuses those that are fenced to whoever asks (INELIGIBLE_REPLICA), and elects none of them
(ClusterControlManager.isActive). The same holds of brokers whose controlled shutdown is under way.

With ZooKeeper the controller takes a broker whose session is over out of each ISR, but a leader that hears it fetch may
take it in again. So there a broker is dead if its process is down as well, and has been for some seconds, for what was
on its way may come after.

Before 2.3 a new controller leaves followers that were dead before it to their leader (KAFKA-3143), which misses them by
their lag: before 2.1 always, later only if they lack a record (KAFKA-7152). An election of a leader in place of a dead
one leaves them out as well.

The last member stays in an ISR although it is dead. Then nobody leads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from checks.anomalies.availability import LIMIT_NS, calm_since, down, gone, ruled, well_since
from checks.anomaly import CLUSTER, SETTINGS, anomaly
from checks.claims.replication.isr import shrinks_within_ms
from checks.claims.spontaneous import SETTLED_NS
from checks.settings import releases_of_controller
from evidence.basis import Basis
from evidence.borders import CONTROLLER_LOOKS_AFTER_DEAD_FOLLOWERS, LAGS_BEHIND_RECORDS
from evidence.events import NO_LEADER, Metadata, Partition, of
from evidence.node_releases import release_at
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.releases import numbers
from evidence.run import RunRecord
from evidence.run_state import ALIVE, DOWN, PartitionInterval, RunState
from evidence.spans import NEVER_NS, Span, common

Evidence = dict[str, Any]

REGISTERED: Final = "REGISTER_BROKER_RECORD"
CHANGED: Final = "BROKER_REGISTRATION_CHANGE_RECORD"
FENCED: Final = "KIP-841 (fenced replicas are not in the ISR, and do not lead); KIP-903"


@anomaly("dead-replica-in-isr", source=FENCED, basis=Basis.KIP, reads=(CLUSTER, SETTINGS))
def dead_replica_in_isr(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A broker that the cluster took for dead joined an ISR, or stayed in one.

    With KRaft it was fenced, or one that joins was in its controlled shutdown; with ZooKeeper it was not registered,
    and its process was down. One that stays is found if another led, registered and up, for 45 s in which there was a
    controller, and no fault lasted anywhere but that death. Where it is left to its leader, that one has the time of
    its lag.
    """
    stops = _shutdowns(run_state)
    joined = (
        _row((after.topic, after.partition), after.at_ns, number, after.leader, after.isr)
        for before, after in _changes(run_state)
        for number in sorted(set(after.isr) - set(before.isr))
        if _dead(run_state, after, number) or _stops(stops.get(number, ()), after)
    )
    return [*joined, *_stayed(run_state, run)]


@anomaly("dead-replica-elected", source=FENCED, basis=Basis.KIP, reads=(CLUSTER,))
def dead_replica_elected(run_state: RunState) -> list[Evidence]:
    """A broker that the cluster took for dead was made the leader of a partition.

    With KRaft it was fenced, or in its controlled shutdown; with ZooKeeper it was not registered, and its process was
    down. Whether it was in the ISR, eligible (KIP-966) or neither is no matter.
    """
    stops = _shutdowns(run_state)
    return [
        _row((after.topic, after.partition), after.at_ns, after.leader, after.leader, after.isr)
        for before, after in _changes(run_state)
        if after.leader not in (NO_LEADER, before.leader)
        and (_dead(run_state, after, after.leader) or _stops(stops.get(after.leader, ()), after))
    ]


def _changes(run_state: RunState) -> Iterator[tuple[Partition, Partition]]:
    """Each state of a partition with that before it, but for topics that were made again."""
    pairs = (pair for states in run_state.states.values() for pair in pairwise(states))
    return ((before, after) for before, after in pairs if after.leader_epoch >= before.leader_epoch)


def _shutdowns(run_state: RunState) -> Mapping[int, Sequence[tuple[int, bool]]]:
    """By broker: the offsets in the metadata log from which on it was, or was not, in its controlled shutdown."""
    found: dict[int, list[tuple[int, bool]]] = {}
    for event in of(run_state.events, Metadata):
        stops = bool(event.fields.get("in_controlled_shutdown"))
        if event.type == REGISTERED or (event.type == CHANGED and stops):
            found.setdefault(int(event.fields["broker_id"]), []).append((event.offset, stops))
    return found


def _stops(stated: Sequence[tuple[int, bool]], state: Partition) -> bool:
    """Whether a broker was in its controlled shutdown, by the metadata log, when a state was written there."""
    if state.source != "kraft" or state.version is None:
        return False
    return max((one for one in stated if one[0] < state.version), default=(0, False))[1]


def _dead(run_state: RunState, state: Partition, number: int) -> bool:
    """Whether a broker was dead to the cluster before it stated this, and still then."""
    node, at_ns = broker(number), state.at_ns
    told = [one for one in run_state.registrations.get(node, ()) if one.begin_ns <= at_ns][-1:]
    dead = [one.begin_ns for one in told if one.value != ALIVE and one.begin_ns < at_ns]
    if state.source == "kraft" or not dead:
        return bool(dead)
    died_ns = run_state.died_by(node, at_ns)
    ended = died_ns is not None and run_state.condition_at(node, at_ns) == DOWN
    return ended and at_ns - max(*dead, died_ns or 0) >= SETTLED_NS


def _stayed(run_state: RunState, run: RunRecord) -> Iterator[Evidence]:
    for where, states in run_state.partitions.items():
        kraft = run_state.states[where][0].source == "kraft"
        for state in states:
            for number in sorted(set(state.isr) - {state.leader}):
                for span in _dead_in(run_state, broker(number), state, kraft=kraft):
                    stayed_ns = _stays_ns(run_state, run, where, state.leader, broker(number), span)
                    if stayed_ns:
                        row = _row(where, span[0], number, state.leader, state.isr)
                        yield row | {"stayed_ms": round(stayed_ns / 1e6)}


def _dead_in(run_state: RunState, node: str, state: PartitionInterval, *, kraft: bool) -> list[Span]:
    """From when to when a broker was dead to the cluster in a state."""
    spans = common([(state.begin_ns, state.end_ns)], gone(run_state, node))
    return spans if kraft else common(spans, down(run_state, node))


def _stays_ns(run_state: RunState, run: RunRecord, where: TopicPartition, leader: int, node: str, span: Span) -> int:
    """For how long, in this time and under one controller, a dead broker could have been taken out of the ISR; 0 if it
    could not, or if that was not too long.
    """
    if leader == NO_LEADER:
        return 0
    longest_ns = 0
    for since_ns, until_ns in ruled(run_state, span, node):
        at_ns = until_ns - 1
        leads_ns = well_since(run_state, broker(leader), at_ns)
        if leads_ns is None:
            continue
        stays_ns = at_ns - max(since_ns, leads_ns, calm_since(run_state, at_ns, node))
        left = _left_to_leader(run_state, run, where, node, at_ns)
        if stays_ns >= (_lag_ns(run_state, run, broker(leader), at_ns) if left else LIMIT_NS):
            longest_ns = max(longest_ns, stays_ns)
    return longest_ns


def _left_to_leader(run_state: RunState, run: RunRecord, where: TopicPartition, node: str, at_ns: int) -> bool:
    """Whether the controller at a time leaves a broker to the leader, because it was dead before that took office.

    A new controller reads who is there some moments after it took office. It takes the dead out where it elects a
    leader in place of one that is gone.
    """
    if min(releases_of_controller(run, run_state, at_ns)) >= CONTROLLER_LOOKS_AFTER_DEAD_FOLLOWERS.release:
        return False
    office = run_state.controller_at(at_ns)
    died_ns = max((begin_ns for begin_ns, _ in gone(run_state, node) if begin_ns <= at_ns), default=NEVER_NS)
    if office is None or died_ns >= office.begin_ns + SETTLED_NS:
        return False
    return not any(
        after.leader_epoch > before.leader_epoch and not _led(run_state, before, after.at_ns)
        for before, after in pairwise(run_state.states[where])
        if office.begin_ns <= after.at_ns <= at_ns
    )


def _led(run_state: RunState, state: Partition, at_ns: int) -> bool:
    """Whether the leader of a state was still there at a time."""
    return state.leader != NO_LEADER and run_state.alive_at(broker(state.leader), at_ns)


def _lag_ns(run_state: RunState, run: RunRecord, leader: str, at_ns: int) -> int:
    """After how long a leader has taken a dead follower out by its lag; never for sure from KAFKA-7152 on."""
    if numbers(release_at(run, run_state, leader, at_ns)) >= LAGS_BEHIND_RECORDS.release:
        return NEVER_NS
    return max(LIMIT_NS, round(shrinks_within_ms(run) * 1e6))


def _row(where: TopicPartition, at_ns: int, number: int, leader: int, isr: tuple[int, ...]) -> Evidence:
    about = {"topic": where[0], "partition": where[1], "at_ns": at_ns, "node": broker(number)}
    return about | {"leader": leader, "isr": list(isr)}
