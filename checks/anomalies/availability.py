"""Kafka's duties after the faults: brokers stay up, others lead and control, replicas return, records can be read.

A violation loses no record at once and gives no client a wrong answer, but it wakes an operator. Each is found in the
cluster's stated states and in the engine's events, and only where no action on the cluster explains it. So no fault
lasts that could, no observer was blind, the machine did not stand still, and nobody else acted on a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from checks import excuses
from checks.anomaly import CLUSTER, GUARANTEES, SETTINGS, anomaly
from evidence.basis import Basis
from evidence.events import NO_LEADER, DeleteTopic, Moment, Unread, of
from evidence.faults.disks import RefusingDiskProof
from evidence.faults.files import WipeProof
from evidence.faults.process import EndProof, StartProof
from evidence.foreign import foreign_events
from evidence.nodes import broker
from evidence.own_ends import own_ends
from evidence.run import RunRecord
from evidence.run_state import ALIVE, DOWN, LATE_TIMES, UP, Interval, PartitionInterval, RunState
from evidence.spans import NEVER_NS, Span, common

Evidence = dict[str, Any]

LIMIT_NS: Final = 45_000_000_000
"""Longer than anything here takes that is documented: sessions of a run are a few seconds, replica.lag.time.max.ms at
most 30 s by default, and the longest recovery of a log in a run some seconds."""
FINAL: Final = "final"
ZOOKEEPER: Final = "zookeeper"
VOTER: Final = "controller-"
"""How the nodes are called that are KRaft's controllers."""
REGISTERED: Final = (
    "KIP-631 (brokers register and send heartbeats); KAFKA-7165 (a registration after an expired session failed)"
)
QUORUM: Final = "KIP-595 (a majority of the voters elects a leader); Kafka documentation, Operations: KRaft, ZooKeeper"
DEATH_AND_START: Final = (EndProof, StartProof)


def calm_since(run_state: RunState, at_ns: int, dead: str = "") -> int:
    """Since when, at a time, no fault has lasted, no observer was blind, and the machine was not stopped; that time if
    one of these was otherwise, or if something other than a fault of the run has acted on a node. Death and start of
    the node `dead` are no such faults.
    """
    faults = [one for one in run_state.faults if one.node != dead or not issubclass(one.proof_type, DEATH_AND_START)]
    ended = [min(fault.until_ns, at_ns) for fault in faults if fault.inject_ns <= at_ns]
    blind = [min(end_ns, at_ns) for begin_ns, end_ns, _ in run_state.blind if begin_ns <= at_ns]
    still = [min(end_ns, at_ns) for begin_ns, end_ns in run_state.still if begin_ns <= at_ns]
    acted = [at_ns for one in foreign_events(run_state) if one.acted and one.since_ns <= at_ns]
    return max([0, *ended, *blind, *still, *acted])


def well_since(run_state: RunState, node: str, at_ns: int) -> int | None:
    """Since when, at a time, a broker is registered and its process up; None if it is not."""
    registered = [one for one in run_state.registrations.get(node, ()) if one.begin_ns <= at_ns]
    up_ns = up_since(run_state, node, at_ns)
    if not registered or registered[-1].value != ALIVE or up_ns is None:
        return None
    return max(registered[-1].begin_ns, up_ns)


def up_since(run_state: RunState, node: str, at_ns: int) -> int | None:
    """Since when, at a time, a node's process is up; None if it is not, 0 if the engine tells nothing of it."""
    if run_state.condition_at(node, at_ns) != UP:
        return None
    return max((one.begin_ns for one in run_state.processes.get(node, ()) if one.begin_ns <= at_ns), default=0)


def gone(run_state: RunState, node: str) -> list[Span]:
    """From when to when the cluster took a broker, which had been registered, for dead."""
    return [(one.begin_ns, one.end_ns) for one in run_state.registrations.get(node, ()) if one.value != ALIVE]


def ruled(run_state: RunState, span: Span, dead: str) -> Iterator[Span]:
    """The parts of a time in each of which one controller was in office, and could act.

    A broker that dies may have been the controller. The node `dead` could act while it was registered and up, and its
    successor does what is left.
    """
    for office in run_state.controllers:
        begin_ns, end_ns = max(span[0], office.begin_ns), min(span[1], office.end_ns)
        if not office.value or begin_ns >= end_ns:
            continue
        if office.value == dead:
            well_ns = well_since(run_state, dead, end_ns - 1)
            if well_ns is None:
                continue
            begin_ns = max(begin_ns, well_ns)
        yield begin_ns, end_ns


def down(run_state: RunState, node: str) -> list[Span]:
    """From when to when a node's process had ended."""
    return [(one.begin_ns, one.end_ns) for one in run_state.processes.get(node, ()) if one.value == DOWN]


@anomaly(
    "broker-exit",
    source=GUARANTEES,
    basis=Basis.DOCUMENTATION,
    reads=(CLUSTER,),
    permitted="if a broker lost its session with ZooKeeper while it started on a busy machine; "
    "if no controller ran in its time to register, or the machine was busy for half of it",
    permits=excuses.could_not_start,
)
def broker_exit(run_state: RunState) -> list[Evidence]:
    """A broker or a controller exited, and no fault had struck it.

    Processes of brokers and controllers that ended with an exit code that is no signal's, but for nodes that were down
    by a fault, had lost their disk, files, memory or clock to one, or whose end the scenario expects.
    """
    return [
        {"node": died.node, "at_ns": died.at_ns, "exit_code": died.exit_code} for died in own_ends(run_state.events)
    ]


def leaderless(run_state: RunState) -> Iterator[tuple[Evidence, bool]]:
    """Times in which a partition had no leader for long, and whether the machine may be why."""
    for (topic, partition), intervals in run_state.partitions.items():
        led_last, deleted_ns = NO_LEADER, _deleted_ns(run_state, topic)
        for state in intervals:
            led_last = state.leader if state.leader != NO_LEADER else led_last
            for begin_ns, end_ns in common([(0, deleted_ns)], _without_leader(run_state, state)):
                if could := _could_lead(run_state, state, led_last, (begin_ns, end_ns)):
                    waited_ms = round((end_ns - begin_ns) / 1e6)
                    row = {"topic": topic, "partition": partition, "at_ns": begin_ns, "without_ms": waited_ms}
                    names = list(dict.fromkeys(node for node, _ in could))
                    detail = {"leader": state.leader, "isr": list(state.isr), "could_lead": names}
                    elr = {"elr": list(state.elr)} if state.elr else {}
                    yield row | detail | elr, all(_held_up(run_state, span) for _, span in could)


@anomaly("no-leader", source=GUARANTEES, basis=Basis.DOCUMENTATION, reads=(CLUSTER,))
def no_leader(run_state: RunState) -> list[Evidence]:
    """A partition had no leader for long, although a replica of its ISR was alive.

    States without a leader, or whose leader was not registered, that lasted for 45 s in which no fault lasted anywhere
    but the death of who led last, one controller was in office, and a member of the ISR, or an eligible leader replica
    (KIP-966), was registered and up. Whether the leader's process is up is no matter: its session is over, and
    the controller replaces it. Where the machine may be why nobody was elected in time there is a doubt.
    """
    return [row for row, by_machine in leaderless(run_state) if not by_machine]


def uncontrolled(run_state: RunState) -> Iterator[tuple[Evidence, bool]]:
    """Times in which there was no controller for long, and whether the machine may be why."""
    last = ""
    for office in run_state.controllers:
        last = office.value or last
        for begin_ns, end_ns in _without_controller(run_state, office):
            if could := _could_control(run_state, last, begin_ns, end_ns):
                row = {"node": office.value} if office.value else {}
                without_ms = round((end_ns - begin_ns) / 1e6)
                detail = {"at_ns": begin_ns, "without_ms": without_ms, "could_be": list(could)}
                yield row | detail, all(_held_up(run_state, span) for span in could.values())


@anomaly("no-controller", source=QUORUM, basis=Basis.KIP, reads=(CLUSTER,))
def no_controller(run_state: RunState) -> list[Evidence]:
    """There was no controller for long, although somebody could have been elected.

    Nobody was the controller, or one whose process was down, for 45 s in which no fault lasted anywhere but that death.
    With ZooKeeper, it was up, and so was a registered broker; with KRaft, a majority of the controllers was. Where the
    machine may be why nobody was elected in time there is a doubt.
    """
    return [row for row, by_machine in uncontrolled(run_state) if not by_machine]


def _deleted_ns(run_state: RunState, topic: str) -> int:
    """When somebody asked first to delete a topic; never, if nobody did. With ZooKeeper its last state may stay: nobody
    leads, and one is in sync (TopicDeletionManager).
    """
    return min((one.at_ns for one in of(run_state.events, DeleteTopic) if one.topic == topic), default=NEVER_NS)


def _held_up(run_state: RunState, span: Span) -> bool:
    """Whether the machine may be why something took this long: it is over its time by no more than somebody was held
    up, and not by several times.
    """
    took_ns = span[1] - span[0]
    return took_ns < LATE_TIMES * LIMIT_NS and run_state.held_up_ns(span) >= took_ns - LIMIT_NS


def _without_controller(run_state: RunState, office: Interval) -> list[Span]:
    """From when to when nobody was the controller in a term: all the time, or while the one that is named was down."""
    if not office.value:
        return [(office.begin_ns, office.end_ns)]
    return common([(office.begin_ns, office.end_ns)], down(run_state, office.value))


def _long(begun: Mapping[str, int | None], since_ns: int, at_ns: int) -> dict[str, Span]:
    """Of nodes that are well since these moments, those that were for long at a time, counted from another moment on:
    from when to when.
    """
    spans = {node: (max(begun_ns, since_ns), at_ns) for node, begun_ns in begun.items() if begun_ns is not None}
    return {node: span for node, span in spans.items() if span[1] - span[0] >= LIMIT_NS}


def _could_control(run_state: RunState, last: str, begin_ns: int, end_ns: int) -> dict[str, Span]:
    """Who could have been elected for long at the end of this time, after the last controller, and from when to when:
    another of KRaft's controllers after one of these, with which ZooKeeper's part is over (KIP-866).
    """
    at_ns = end_ns - 1
    since_ns = max(begin_ns, calm_since(run_state, at_ns, last))
    if ZOOKEEPER not in run_state.coordinators or last.startswith(VOTER):
        voters = sorted(one for one in {*run_state.coordinators, last} if one.startswith(VOTER))
        up = _long({node: up_since(run_state, node, at_ns) for node in voters}, since_ns, at_ns)
        if 2 * len(up) <= len(voters):
            return {}
        # The last that came up makes the majority: before that nobody could have been elected.
        majority_ns = sorted(span[0] for span in up.values())[len(voters) // 2]
        return dict.fromkeys(up, (majority_ns, at_ns))
    keeper_ns = up_since(run_state, ZOOKEEPER, at_ns)
    if keeper_ns is None:
        return {}
    well = {node: well_since(run_state, node, at_ns) for node in run_state.registrations}
    return _long(well, max(since_ns, keeper_ns), at_ns)


def _without_leader(run_state: RunState, state: PartitionInterval) -> list[Span]:
    """From when to when nobody led a partition in a state: all the time, or while its leader was not registered."""
    if state.leader == NO_LEADER:
        return [(state.begin_ns, state.end_ns)]
    return common([(state.begin_ns, state.end_ns)], gone(run_state, broker(state.leader)))


def _could_lead(run_state: RunState, state: PartitionInterval, led_last: int, span: Span) -> list[tuple[str, Span]]:
    """Who could have led a leaderless partition for long, and from when to when: members of its ISR or of its eligible
    leader replicas, under one controller.
    """
    dead = "" if led_last == NO_LEADER else broker(led_last)
    found: list[tuple[str, Span]] = []
    for begin_ns, end_ns in ruled(run_state, span, dead):
        at_ns = end_ns - 1
        since_ns = max(begin_ns, calm_since(run_state, at_ns, dead))
        members = map(broker, dict.fromkeys((*state.isr, *(state.elr or ()))))
        well = {
            node: well_since(run_state, node, at_ns) for node in members if not _lost_directory(run_state, node, at_ns)
        }
        found += _long(well, since_ns, at_ns).items()
    return found


def _lost_directory(run_state: RunState, node: str, at_ns: int) -> bool:
    """Whether a broker's log directory may be offline for the controller, which elects nobody then (KIP-858,
    LeaderAcceptor). A disk that refused is used again when the broker starts anew (KIP-112). After a blank disk the
    directory is another one, of which the controller may hear late.
    """
    up_ns = up_since(run_state, node, at_ns) or 0
    refused = [fact.inject_ns for fact, _ in run_state.proved(RefusingDiskProof) if node in fact.nodes]
    wiped = [fact.inject_ns for fact, _ in run_state.proved(WipeProof) if node in fact.nodes]
    return any(up_ns <= one <= at_ns for one in refused) or any(one <= at_ns for one in wiped)


def unregistered(run_state: RunState) -> Iterator[tuple[Evidence, bool]]:
    """Brokers that could have registered for long, and whether the machine may be why they did not.

    A process that starts reads jars and logs first, which takes CPU. So the machine may be why if it has not registered
    since it began, and is over its time by no more than somebody was held up.
    """
    for node, intervals in run_state.registrations.items():
        for one in intervals:
            at_ns = one.end_ns - 1
            up_ns, keeper_ns = up_since(run_state, node, at_ns), _keeper_since(run_state, at_ns)
            if one.value == ALIVE or up_ns is None or keeper_ns is None:
                continue
            since_ns = max(one.begin_ns, up_ns, keeper_ns, calm_since(run_state, at_ns))
            if (took_ns := one.end_ns - since_ns) > LIMIT_NS:
                row = {"node": node, "at_ns": one.begin_ns, "state": one.value, "could_for_ms": round(took_ns / 1e6)}
                starts = one.begin_ns < up_ns
                yield row, starts and _held_up(run_state, (since_ns, one.end_ns))


@anomaly("not-registered", source=REGISTERED, basis=Basis.KIP, reads=(CLUSTER,))
def not_registered(run_state: RunState) -> list[Evidence]:
    """A broker that was up and could reach its coordinator was not registered for long.

    Brokers that were gone, or fenced, for 45 s in which their processes were up, no fault lasted anywhere, and
    ZooKeeper, or KRaft's controller, was up. A broker whose session is over begins another, however often that fails.
    Of one that starts there is a doubt where the machine may be why it takes longer.
    """
    return [row for row, by_machine in unregistered(run_state) if not by_machine]


def held_up_by_machine(run_state: RunState) -> list[str]:
    """What the machine may have kept from being done in time, each in a line."""
    lines = [
        (by_machine, f"{row['node']} had started and was not registered for {row['could_for_ms'] / 1000:.0f} s")
        for row, by_machine in unregistered(run_state)
    ]
    lines += [
        (by_machine, f"nobody led {row['topic']}-{row['partition']} for {row['without_ms'] / 1000:.0f} s")
        for row, by_machine in leaderless(run_state)
    ]
    lines += [
        (by_machine, f"there was no controller for {row['without_ms'] / 1000:.0f} s")
        for row, by_machine in uncontrolled(run_state)
    ]
    lines += [
        (
            by_machine,
            f"{row['topic']}-{row['partition']} could not be read to its end in {row['tried_ms'] / 1000:.0f} s",
        )
        for row, by_machine in not_read(run_state)
    ]
    return [line for by_machine, line in lines if by_machine]


def _keeper_since(run_state: RunState, at_ns: int) -> int | None:
    """Since when, at a time, who keeps registrations is up: ZooKeeper, or the controller that KRaft has; None if it is
    not.
    """
    if ZOOKEEPER in run_state.coordinators:
        return up_since(run_state, ZOOKEEPER, at_ns)
    office = run_state.controller_at(at_ns)
    begun_ns = up_since(run_state, office.value, at_ns) if office is not None and office.value else None
    return None if office is None or begun_ns is None else max(office.begin_ns, begun_ns)


@anomaly(
    "stuck-isr",
    source=GUARANTEES,
    basis=Basis.DOCUMENTATION,
    reads=(CLUSTER, SETTINGS),
    permitted="where the scenario documents that a replica stays out of sync",
    permits=excuses.documented_out_of_sync,
)
def stuck_isr(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A replica that is alive and can reach the leader is not in the ISR at the end.

    Replicas that were not in the ISR when all were copied at the end, and for 45 s before, though they and the leader
    had been registered and up for so long, with no fault anywhere.
    """
    final = next((moment for moment in reversed(of(run_state.events, Moment)) if moment.label == FINAL), None)
    return [] if final is None else list(_stuck(run_state, run, final.begun_ns))


def _stuck(run_state: RunState, run: RunRecord, at_ns: int) -> Iterator[Evidence]:
    calm_ns = calm_since(run_state, at_ns)
    for (topic, partition), replicas in run.assignment.items():
        stated = run_state.states.get((topic, partition), ())
        state = next((one for one in reversed(stated) if one.at_ns <= at_ns), None)
        leads = None if state is None else well_since(run_state, broker(state.leader), at_ns)
        if state is None or leads is None:
            continue
        led_ns = min(one.at_ns for one in stated if one.leader_epoch == state.leader_epoch)
        held = [one for one in run_state.partitions.get((topic, partition), ()) if one.begin_ns <= at_ns]
        for replica in sorted(set(state.replicas or replicas) - set(state.isr)):
            begun = well_since(run_state, broker(replica), at_ns)
            if begun is None:
                continue
            left_ns = max((one.end_ns for one in held if replica in one.isr), default=0)
            if (out_ns := at_ns - max(begun, leads, led_ns, left_ns, calm_ns)) >= LIMIT_NS:
                row = {"topic": topic, "partition": partition, "at_ns": at_ns, "node": broker(replica)}
                yield row | {"leader": broker(state.leader), "isr": list(state.isr), "well_for_ms": round(out_ns / 1e6)}


def not_read(run_state: RunState) -> Iterator[tuple[Evidence, bool]]:
    """Partitions that the final reader had not read to their ends after long, and whether the machine may be why."""
    for one in of(run_state.events, Unread):
        state = run_state.state_at(one.topic, one.partition, one.at_ns)
        leads = None if state is None else well_since(run_state, broker(state.leader), one.at_ns)
        if state is None or leads is None:
            continue
        since_ns = max(leads, state.begin_ns, one.asked_ns, calm_since(run_state, one.at_ns))
        if one.at_ns - since_ns >= LIMIT_NS:
            row = {"topic": one.topic, "partition": one.partition, "at_ns": one.at_ns, "node": broker(state.leader)}
            read = {"end": one.end, "reached": one.reached, "tried_ms": (one.at_ns - since_ns) // 1_000_000}
            yield row | read, _held_up(run_state, (since_ns, one.at_ns))


@anomaly("unreadable", source=GUARANTEES, basis=Basis.DOCUMENTATION, reads=(CLUSTER,))
def unreadable(run_state: RunState) -> list[Evidence]:
    """A partition could not be read to its end when all faults were healed, although it had a leader.

    Partitions of which the final reader did not reach the end within its limit, though the same broker had led them,
    registered and up, for 45 s of that time. Where the machine may be why there is a doubt.
    """
    return [row for row, by_machine in not_read(run_state) if not by_machine]
