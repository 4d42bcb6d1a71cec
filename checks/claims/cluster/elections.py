"""Claims about leaders and controllers: who is elected, when, in which epoch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import (
    CLIENT_BOUND,
    CLIENT_MS,
    ELECTION_MS,
    SESSION_BOUND,
    SESSION_TOLERANCE_MS,
    elapsed_ms,
    judged,
    lives,
    session_bound_ms,
    session_ms,
    timed,
)
from checks.clean_elections import clean
from evidence.basis import Basis
from evidence.events import NO_LEADER, DeleteTopic, Event, Log, Partition, Znode, of
from evidence.faults import DEATHS
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import ALIVE, DOWN, DYING, FROZEN, UP, RunState, Sent
from evidence.text import plural

QUORUM_MS: Final = {
    "controller.quorum.fetch.timeout.ms": 2000,
    "controller.quorum.election.timeout.ms": 1000,
    "controller.quorum.election.backoff.max.ms": 1000,
}
"""What a quorum's election takes, with Kafka's defaults."""
VOTES: Final = 2
UNLED_MS: Final = 20_000
"""Nothing is documented: with the sessions of a run, leaders are replaced within seconds."""
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
QUORUM_BOUND: Final = (
    "controller.quorum.fetch.timeout.ms (2 s), the time until voters miss their leader, and twice (votes may be split) "
    "controller.quorum.election.timeout.ms (1 s, and up to as much again at random) and "
    "controller.quorum.election.backoff.max.ms (1 s)"
)


def _elections(run_state: RunState) -> Iterator[tuple[Partition, Partition]]:
    """The states before and after each change of a partition's leader, as far as both were seen.

    With ZooKeeper a state's version counts by one, so a gap tells of states that nobody saw.
    """
    for states in run_state.states.values():
        for before, after in pairwise(states):
            whole = after.source != "zookeeper" or (before.version or 0) + 1 == after.version
            if before.leader != after.leader and whole:
                yield before, after


def _election(before: Partition, after: Partition) -> dict[str, Any]:
    return {
        "topic": after.topic,
        "partition": after.partition,
        "at_ns": after.at_ns,
        "leader": after.leader,
        "leader_before": before.leader,
        "leader_epoch": after.leader_epoch,
        "leader_epoch_before": before.leader_epoch,
        "isr_before": list(before.isr),
    }


@claim("leader-epoch-rises-by-one", source="KIP-101; Kafka documentation, Design: replication", basis=Basis.KIP)
def leader_epoch_rises_by_one(evidence: RunEvidence) -> Judged:
    """At each change of a partition's leader its leader epoch rises by exactly one."""
    rows = [_election(before, after) for before, after in _elections(evidence.run_state)]
    wrong = [row for row in rows if row["leader_epoch"] != row["leader_epoch_before"] + 1]
    return judged(rows, wrong, plural(len(rows), "change") + " of leader", "no leader changed")


@claim("leader-elected-from-isr", source="Kafka documentation, Design: replication; KIP-966", basis=Basis.DOCUMENTATION)
def leader_elected_from_isr(evidence: RunEvidence) -> Judged:
    """Every leader that is elected was in the ISR before its election (clean elections).

    Whoever is elected was in the ISR (or eligible, KIP-966) when the leader before it went, or came in sync with the
    change that ended a reassignment (KIP-455). A partition with a single replica says nothing: nobody else can be
    elected, and before 0.11 its ISR is empty while that replica is down (ReplicaStateMachine,
    KafkaController.removeReplicaFromIsr, where unclean elections are on).
    """
    elections = [
        (before, after)
        for before, after in _elections(evidence.run_state)
        if after.leader != NO_LEADER and (after.replicas is None or len(after.replicas) > 1)
    ]
    rows = [_election(before, after) for before, after in elections]
    wrong = [_election(before, after) for before, after in elections if not clean(before, after)]
    return judged(rows, wrong, plural(len(rows), "leader") + " elected", "no leader was elected")


@claim(
    "leader-replaced-in-time",
    source="Kafka documentation, Design: replication; broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"{SESSION_BOUND}, and {ELECTION_MS} ms for the election, whose time is not documented. If the leader was "
    f"KRaft's controller too, first {QUORUM_BOUND}. If the session was seen to end while a controller was active and "
    f"an in-sync replica was alive, the election has {ELECTION_MS} ms and the tolerance from then on",
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms; of elections nothing is documented, and 3 s are more than was "
    "seen",
    bound_basis=Basis.MEASURED,
)
def leader_replaced_in_time(evidence: RunEvidence) -> Judged:
    """A partition whose leader dies, stands still or is cut off has another leader once that broker's session has
    ended.

    One that got none until that broker was back, the next fault came or the run ended has waited for so long, if all
    the time a controller was at work and a replica in sync was alive. If there was nobody to elect, or nobody to do it,
    nothing was due.
    """
    return timed(
        [
            row
            for node, gone_ns in _gone(evidence.run_state)
            for row in (
                *(
                    one | {"bound_ms": _elected_by_ms(evidence.run_state, node, one)}
                    for one in _led_again(evidence, node, gone_ns)
                ),
                *_never_led_again(evidence.run_state, node, gone_ns),
            )
        ],
        lambda row: (
            f"{row['topic']}-{row['partition']} had "
            + (
                f"no other leader for {row['took_ms'] / 1000:.1f} s"
                if row["leader"] == NO_LEADER
                else f"another leader {row['took_ms'] / 1000:.1f} s"
            )
            + f" after {row['node']} was gone"
        ),
        "no partition whose leader was gone got another one",
    )


def _led_again(evidence: RunEvidence, node: str, gone_ns: int) -> Iterator[dict[str, Any]]:
    """When each partition that a node led, and that had others in sync, was led by another. Those that never were are
    of `_never_led_again`.
    """
    bound_ms = _session_bound_ms(evidence, node, gone_ns)
    for (topic, partition), states in evidence.run_state.states.items():
        then = evidence.run_state.state_at(topic, partition, gone_ns)
        if then is None or bound_ms is None or broker(then.leader) != node:
            continue
        for state in islice(_others(states, then.leader, gone_ns), 1 if len(then.isr) > 1 else 0):
            yield {
                "topic": topic,
                "partition": partition,
                "node": node,
                "at_ns": gone_ns,
                "leader": state.leader,
                "took_ms": elapsed_ms(gone_ns, state.at_ns),
                "bound_ms": bound_ms,
            }


def _others(states: Sequence[Partition], leader: int, after_ns: int) -> Iterator[Partition]:
    """The states after a time in which another one leads."""
    return (one for one in states if one.at_ns > after_ns and one.leader not in (NO_LEADER, leader))


def _never_led_again(run_state: RunState, node: str, gone_ns: int) -> Iterator[dict[str, Any]]:
    """How long each partition that a node led, and that no other one led any more, waited in vain: from the end of the
    node's session on, while a controller was at work and a replica in sync was alive.
    """
    ended_ns = _session_ended_ns(run_state, node, gone_ns)
    back = [one.begin_ns for one in run_state.registrations.get(node, ()) if one.value == ALIVE]
    struck = [fault.inject_ns for fault in run_state.faults if not fault.starts]
    until_ns = min([at_ns for at_ns in (*back, *struck) if at_ns > ended_ns], default=run_state.end_ns)
    deleted = {one.topic for one in of(run_state.events, DeleteTopic)}
    for (topic, partition), states in run_state.states.items():
        then = run_state.state_at(topic, partition, gone_ns) if topic not in deleted else None
        if then is None or broker(then.leader) != node or any(_others(states, then.leader, gone_ns)):
            continue
        now = run_state.state_at(topic, partition, ended_ns)
        in_sync = [one for one in now.isr if broker(one) != node and lives(run_state, one, ended_ns)] if now else []
        there_ns = max((_unharmed_until(run_state, broker(one), ended_ns) for one in in_sync), default=ended_ns)
        for begin_ns, end_ns in _offices(run_state, ended_ns):
            took_ms = elapsed_ms(gone_ns, min(end_ns, there_ns, until_ns))
            bound_ms = elapsed_ms(gone_ns, begin_ns) + ELECTION_MS + SESSION_TOLERANCE_MS
            if took_ms > bound_ms:
                about = {"topic": topic, "partition": partition, "node": node, "at_ns": gone_ns, "leader": NO_LEADER}
                yield about | {"took_ms": took_ms, "bound_ms": bound_ms}
                break


def _session_ended_ns(run_state: RunState, node: str, gone_ns: int) -> int:
    """When the session of a broker that was gone at a time was seen to end; the end of the run if it was not."""
    held = [one for one in run_state.registrations.get(node, ()) if one.begin_ns <= gone_ns < one.end_ns]
    return held[-1].end_ns if held else run_state.end_ns


def _offices(run_state: RunState, after_ns: int) -> Iterator[tuple[int, int]]:
    """From when until when each controller was at work, from a time on."""
    for office in run_state.controllers:
        begin_ns = max(office.begin_ns, after_ns)
        if begin_ns < office.end_ns and _at_work(run_state, begin_ns):
            yield begin_ns, min(office.end_ns, _unharmed_until(run_state, office.value, begin_ns))


def _unharmed_until(run_state: RunState, node: str, begin_ns: int) -> int:
    """Until when a node runs without a break from a time on, and is registered if it is a broker."""
    harmed = [one for one in run_state.processes.get(node, ()) if one.value != UP]
    harmed += [one for one in run_state.registrations.get(node, ()) if one.value != ALIVE]
    return min([max(begin_ns, one.begin_ns) for one in harmed if one.end_ns > begin_ns], default=run_state.end_ns)


def _elected_by_ms(run_state: RunState, node: str, row: Mapping[str, Any]) -> float:
    """The bound of such a row: that of the session as it is configured, or what the election has from the time on at
    which the session was seen to end. So an election that is late is told from a session that took long. Nothing is
    said of one that had to wait for another controller, or for a replica.
    """
    gone_ns, bound_ms = int(row["at_ns"]), float(row["bound_ms"])
    ended_ns = _session_ended_ns(run_state, node, gone_ns)
    then = run_state.state_at(str(row["topic"]), int(row["partition"]), ended_ns)
    others = [number for number in then.isr if broker(number) != node] if then is not None else []
    if not _at_work(run_state, ended_ns) or not any(lives(run_state, number, ended_ns) for number in others):
        return bound_ms
    return min(bound_ms, elapsed_ms(gone_ns, ended_ns) + ELECTION_MS + SESSION_TOLERANCE_MS)


def _at_work(run_state: RunState, at_ns: int) -> bool:
    """Whether a controller is in office at a time, its process runs, and who keeps sessions hears of it."""
    office = run_state.controller_at(at_ns)
    if office is None or not office.value or run_state.off_coordinator(office.value, at_ns):
        return False
    return run_state.condition_at(office.value, at_ns) not in (DYING, DOWN, FROZEN)


def _session_bound_ms(evidence: RunEvidence, node: str, gone_ns: int) -> float | None:
    """By when the session of a broker that was gone at a time has ended: KRaft's new controller counts it anew."""
    limit_ms, controller = session_ms(evidence.run, node), evidence.run_state.controller_at(gone_ns)
    if limit_ms is None:
        return None
    quorum = evidence.run.mode == "kraft" and controller is not None and controller.value == node
    return session_bound_ms(limit_ms) + ELECTION_MS + (_quorum_ms(evidence.run) if quorum else 0)


@claim(
    "dead-leader-is-not-replaced",
    source="KAFKA-15489",
    basis=Basis.JIRA,
    bound=f"without a leader for {UNLED_MS} ms or longer",
    bound_source="KAFKA-15489 has no time; elections elsewhere were seen to take less",
    bound_basis=Basis.MEASURED,
)
def dead_leader_is_not_replaced(evidence: RunEvidence) -> Judged:
    """A partition has no leader, or a dead one, although a broker that was in sync is up."""
    rows = [row for where in evidence.run_state.states for row in _unled(evidence.run_state, where)]
    long = [row for row in rows if row["took_ms"] >= UNLED_MS]
    if long:
        longest = max(float(row["took_ms"]) for row in long)
        seen = f"{plural(len(long), 'partition')} without a leader for {longest / 1000:.0f} s"
        return judged(long, (), f"{seen}, a replica in sync being up", "")
    return judged(rows, rows, f"{plural(len(rows), 'partition')} without a leader", "no leader of a partition was gone")


def _unled(run_state: RunState, where: TopicPartition) -> Iterator[dict[str, Any]]:
    """When a partition had no leader, or one that was gone, while a broker of the ISR it had before was up."""
    states = run_state.states[where]
    begins = {state.at_ns: "" for state in states if state.leader == NO_LEADER}
    for node, gone_ns in _gone(run_state):
        then = run_state.state_at(*where, gone_ns)
        begins |= {gone_ns: node} if then is not None and broker(then.leader) == node else {}
    over_ns = 0
    for begin_ns, gone in sorted(begins.items()):
        led = [state for state in states if state.at_ns <= begin_ns and state.leader != NO_LEADER][-1:]
        in_sync = {broker(number) for state in led for number in state.isr} - {gone}
        up = {node for node in in_sync if run_state.condition_at(node, begin_ns) not in (DYING, DOWN, FROZEN)}
        again = [one.at_ns for one in states if one.at_ns > begin_ns and lives(run_state, one.leader, one.at_ns)]
        struck = [fault.inject_ns for fault in run_state.faults if fault.inject_ns > begin_ns and fault.node in up]
        until_ns = min([*again, *struck, run_state.end_ns])
        if up and begin_ns >= over_ns:
            over_ns = until_ns
            about = {"topic": where[0], "partition": where[1], "at_ns": begin_ns, "gone": gone, "up": sorted(up)}
            yield about | {"took_ms": elapsed_ms(begin_ns, until_ns), "bound_ms": UNLED_MS}


@claim(
    "writes-resume-in-time",
    source="Kafka documentation, Design: replication; producer configuration: retries",
    basis=Basis.DOCUMENTATION,
    bound=f"the session's bound of leader-replaced-in-time, and {CLIENT_BOUND}. For a client that sends its first "
    "record later, while the old leader is cut off and up, only the latter counts, from then on",
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms; of elections and clients nothing is documented, and the rest "
    "is more than was seen",
    bound_basis=Basis.MEASURED,
)
def writes_resume_in_time(evidence: RunEvidence) -> Judged:
    """A producer that sends to a partition with a dead leader is acknowledged once another replica leads.

    One of those that send is enough. A client that knows a leader which is cut off and answers may continue to ask it
    who leads (librdkafka, rd_kafka_broker_weight_usable), so that one which began later is the witness; for how long
    its process took to start is no time of Kafka's.
    """
    run_state, rows = evidence.run_state, []
    for node, gone_ns in _gone(run_state):
        answers = run_state.condition_at(node, gone_ns) not in (DYING, DOWN, FROZEN)
        for led in _led_again(evidence, node, gone_ns):
            first = list(_first_acknowledged(run_state, (led["topic"], led["partition"]), gone_ns))
            each = [
                led | {"took_ms": elapsed_ms(gone_ns, done_ns), "bound_ms": max(led["bound_ms"], late_ms) + CLIENT_MS}
                for begun_ns, done_ns in first
                for late_ms in (elapsed_ms(gone_ns, begun_ns) if answers else 0,)
            ]
            rows += [min(each, key=lambda row: (row["took_ms"] > row["bound_ms"], row["took_ms"]))] if each else []
    return timed(
        rows,
        lambda row: (
            f"{row['topic']}-{row['partition']} took writes again {row['took_ms'] / 1000:.1f} s after "
            f"{row['node']} was gone"
        ),
        "nothing was acknowledged after a leader was gone",
    )


def _first_acknowledged(run_state: RunState, where: TopicPartition, gone_ns: int) -> Iterator[tuple[int, int]]:
    """Of each client that sent after a time: when it sent its first record to a partition, and when one of its records
    was first acknowledged.
    """
    after: dict[str, list[Sent]] = {}
    for one in run_state.sends:
        if (one.topic, one.partition) == where and one.sent_ns > gone_ns:
            after.setdefault(one.process, []).append(one)
    for sent in after.values():
        done = [one.done_ns for one in sent if one.outcome == "acked" and one.done_ns is not None]
        if done:
            yield min(one.sent_ns for one in sent), min(done)


def _offline_elections(run_state: RunState) -> Iterator[tuple[Partition, Partition, list[int]]]:
    """The states before and after each election for a partition whose leader was gone, and the brokers that lived."""
    for before, after in _elections(run_state):
        alive = [number for number in after.replicas or () if lives(run_state, number, after.at_ns)]
        if after.leader != NO_LEADER and before.leader not in alive:
            yield before, after, alive


@claim(
    "leader-is-first-in-assignment",
    source="OfflinePartitionLeaderSelector (0.8.2.2 to 1.0.2), PartitionLeaderElectionAlgorithms "
    "(1.1.1 to 3.9.2), PartitionChangeBuilder (3.9.2, 4.3.1)",
    basis=Basis.SOURCE,
)
def leader_is_first_in_assignment(evidence: RunEvidence) -> Judged:
    """When a leader is dead, the first live in-sync replica in the order of the assignment leads."""
    rows, wrong = [], []
    for before, after, alive in _offline_elections(evidence.run_state):
        eligible = [one for one in after.replicas or () if one in alive and one in (*before.isr, *(before.elr or ()))]
        rows.append(_election(before, after) | {"assignment": list(after.replicas or ()), "alive": alive})
        wrong += rows[-1:] if eligible[:1] != [after.leader] else []
    return judged(rows, wrong, plural(len(rows), "leader") + " elected", "no leader was elected in place of one gone")


@claim(
    "election-leaves-live-replicas",
    source="OfflinePartitionLeaderSelector (0.8.2.2 to 1.0.2), PartitionLeaderElectionAlgorithms "
    "(1.1.1 to 3.9.2), PartitionChangeBuilder (3.9.2, 4.3.1)",
    basis=Basis.SOURCE,
)
def election_leaves_live_replicas(evidence: RunEvidence) -> Judged:
    """An election that replaces a dead leader leaves only live replicas in the ISR."""
    elections = list(_offline_elections(evidence.run_state))
    rows = [_election(b, a) | {"isr": list(a.isr), "alive": alive} for b, a, alive in elections]
    wrong = [row for row in rows if not set(row["isr"]) <= set(row["alive"])]
    return judged(rows, wrong, plural(len(rows), "leader") + " elected", "no leader was elected in place of one gone")


@claim(
    "election-in-the-controllers-epoch",
    source="Kafka documentation, Design: replication; KIP-500",
    basis=Basis.DOCUMENTATION,
)
def election_in_the_controllers_epoch(evidence: RunEvidence) -> Judged:
    """Every election is stated with the epoch of the active controller."""
    rows = []
    for before, after in _elections(evidence.run_state):
        controller = evidence.run_state.controller_at(after.at_ns)
        if controller is not None and controller.value and after.controller_epoch is not None:
            stated = {"controller_epoch": after.controller_epoch, "epoch_of_controller": _epoch(controller.detail)}
            rows.append(_election(before, after) | stated)
    wrong = [row for row in rows if row["controller_epoch"] != row["epoch_of_controller"]]
    return judged(rows, wrong, plural(len(rows), "change") + " of leader", "no leader changed")


@claim(
    "leader-elected-from-outside-isr",
    source="Kafka documentation, Design: unclean leader election; KIP-106",
    basis=Basis.DOCUMENTATION,
)
def leader_elected_from_outside_isr(evidence: RunEvidence) -> Judged:
    """A leader that was not in the ISR is elected (uncleanly), and is the whole ISR then."""
    elections = [(b, a) for b, a in _elections(evidence.run_state) if a.leader != NO_LEADER]
    outside = [(b, a) for b, a in elections if a.leader not in (*b.isr, *(b.elr or ()))]
    rows = [_election(b, a) | {"isr": list(a.isr)} for b, a in outside]
    wrong = [row for row in rows if row["isr"] != [row["leader"]]]
    return judged(rows, wrong, plural(len(rows), "unclean election"), "no leader was elected from outside the ISR")


@claim(
    "offline-partition-waits",
    source="Kafka documentation, Design: unclean leader election; KIP-106",
    basis=Basis.DOCUMENTATION,
)
def offline_partition_waits(evidence: RunEvidence) -> Judged:
    """Without its leader a partition waits for a replica that was in sync, although another replica is alive."""
    rows, run_state = [], evidence.run_state
    for states in run_state.states.values():
        in_sync: tuple[int, ...] = ()
        for before, after in pairwise(states):
            # The ISR of an offline partition may become empty (KIP-966): the last one counts.
            in_sync = (*before.isr, *(before.elr or ())) or in_sync
            if lives(run_state, before.leader, after.at_ns) or after.leader == NO_LEADER:
                continue
            outside = set(after.replicas or ()) - set(in_sync)
            alive = [number for number in sorted(outside) if lives(run_state, number, after.at_ns)]
            rows += [_election(before, after) | {"outside_isr": alive}] if alive else []
    wrong = [row for row in rows if row["leader"] in row["outside_isr"]]
    return judged(rows, wrong, plural(len(rows), "wait") + " for the ISR", "no replica outside the ISR lived meanwhile")


@claim(
    "preferred-leader-elected",
    source="Kafka documentation, Balancing leadership; KIP-183, KIP-460",
    basis=Basis.DOCUMENTATION,
)
def preferred_leader_elected(evidence: RunEvidence) -> Judged:
    """By a preferred election the first replica of the assignment leads, and the ISR stays as it was."""
    rows, wrong = [], []
    for before, after in _elections(evidence.run_state):
        if not lives(evidence.run_state, before.leader, after.at_ns):
            continue
        rows.append(_election(before, after) | {"assignment": list(after.replicas or ()), "isr": list(after.isr)})
        kept = set(after.isr) == set(before.isr) and after.leader in before.isr
        wrong += rows[-1:] if not kept or [after.leader] != list(after.replicas or ())[:1] else []
    return judged(rows, wrong, plural(len(rows), "preferred election"), "no leader that lived was replaced")


@claim(
    "preferred-election-znode-comes-and-goes",
    source="PreferredReplicaLeaderElectionCommand, KafkaController (0.8.2.2 to 2.1.1); KIP-183",
    basis=Basis.SOURCE,
)
def preferred_election_znode_comes_and_goes(evidence: RunEvidence) -> Judged:
    """/admin/preferred_replica_election names the partitions, until the controller deletes it when their preferred
    replicas lead.
    """
    rows = []
    told = [one for one in of(evidence.run_state.events, Znode) if one.path == PREFERRED_ELECTION]
    for made in (one for one in told if one.content is not None):
        gone = next((one for one in told if one.content is None and one.at_ns >= made.at_ns), None)
        for named in made.entries.get("partitions", ()):
            states = evidence.run_state.states.get((named["topic"], int(named["partition"])), ())
            then = [one for one in states if gone is not None and _stated_by(one, gone)][-1:]
            preferred = any([one.leader] == list(one.replicas or ())[:1] for one in then)
            times = {"made_ns": made.at_ns, "gone_ns": gone.at_ns if gone else None}
            rows.append({"path": made.path, **named, **times, "preferred": preferred})
    wrong = [row for row in rows if not row["preferred"]]
    return judged(rows, wrong, plural(len(rows), "request") + " in the znode", f"nothing was in {PREFERRED_ELECTION}")


def _stated_by(state: Partition, event: Event) -> bool:
    """Whether a partition had this state by the time of an event, both by ZooKeeper's clock if it tells: the event may
    be from its log, and the state was read later.
    """
    return state.at_ns <= event.at_ns or (state.source_ns is not None and state.source_ns <= event.wall_ns)


# Controllers


def _epoch(detail: str) -> int:
    """The number in an interval's "epoch N"."""
    return int(detail.rpartition(" ")[2])


def _controllers(run_state: RunState) -> list[dict[str, Any]]:
    """Every controller that was stated, in order."""
    return [
        {"controller": one.value, "epoch": _epoch(one.detail), "at_ns": one.begin_ns}
        for one in run_state.controllers
        if one.value
    ]


@claim(
    "one-controller-at-a-time", source="Kafka documentation, Design: replication; KIP-500", basis=Basis.DOCUMENTATION
)
def one_controller_at_a_time(evidence: RunEvidence) -> Judged:
    """There is one controller at a time, and each has a higher epoch than the one before."""
    rows = _controllers(evidence.run_state)
    wrong = [
        after | {"controller_before": before["controller"], "epoch_before": before["epoch"]}
        for before, after in pairwise(rows)
        if after["controller"] != before["controller"] and after["epoch"] <= before["epoch"]
    ]
    return judged(rows, wrong, plural(len(rows), "controller") + " in turn", "nobody was controller")


@claim(
    "controller-epoch-rises-by-one",
    source="KafkaController.incrementControllerEpoch (0.8.2.2 to 2.0.1), "
    "KafkaZkClient.registerControllerAndIncrementControllerEpoch (2.1.1 to 3.9.2)",
    basis=Basis.SOURCE,
)
def controller_epoch_rises_by_one(evidence: RunEvidence) -> Judged:
    """With ZooKeeper each controller raises /controller_epoch by exactly one.

    The epoch of each controller is that of the one before and one more, as far as every one was seen (ZooKeeper).
    """
    rows = _controllers(evidence.run_state)
    steps = [
        after | {"controller_before": before["controller"], "epoch_before": before["epoch"]}
        for before, after in pairwise(rows)
        if (after["controller"], after["epoch"]) != (before["controller"], before["epoch"])
    ]
    wrong = [row for row in steps if row["epoch"] != row["epoch_before"] + 1]
    return judged(steps, wrong, plural(len(steps), "change") + " of controller", "the controller did not change")


@claim(
    "controller-replaced-in-time",
    source="Kafka documentation, Design: replication; KIP-595; broker configuration: zookeeper.session.timeout.ms, "
    "controller.quorum.fetch.timeout.ms, controller.quorum.election.timeout.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"ZooKeeper: {SESSION_BOUND}. KRaft: {QUORUM_BOUND}, and the same tolerance",
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, "
    "controller.quorum.fetch.timeout.ms, controller.quorum.election.timeout.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def controller_replaced_in_time(evidence: RunEvidence) -> Judged:
    """After the controller has died, stood still or been cut off, another node becomes controller.

    A controller that was away for longer than the bound without a successor counts as late too.
    """
    rows = []
    for node, gone_ns in _gone(evidence.run_state):
        then = evidence.run_state.controller_at(gone_ns)
        others = (
            one for one in evidence.run_state.controllers if one.begin_ns > gone_ns and one.value not in ("", node)
        )
        after, limit_ms = next(others, None), _controller_bound_ms(evidence.run, node)
        if then is None or then.value != node or limit_ms is None:
            continue
        until_ns = _gone_until(evidence.run_state, node, gone_ns) if after is None else after.begin_ns
        took_ms, taken = elapsed_ms(gone_ns, until_ns), after.value if after is not None else None
        if taken is not None or took_ms > limit_ms:
            rows.append({"node": node, "at_ns": gone_ns, "next": taken, "took_ms": took_ms, "bound_ms": limit_ms})
    return timed(
        rows,
        lambda row: (
            f"{row['next']} was controller {row['took_ms'] / 1000:.1f} s after {row['node']} was gone"
            if row["next"] is not None
            else f"nobody was controller in the {row['took_ms'] / 1000:.1f} s that {row['node']} was gone"
        ),
        "no controller was gone, or nobody took its place",
    )


FOLLOWS: Final = ("controller-request", "become-leader", "become-follower")
"""Lines that may say whose request a broker follows."""
FOLLOWED: Final = re.compile(r"from controller \d+ epoch (\d+)")
LATEST: Final = re.compile(r"Latest known controller epoch is (\d+)")


@claim(
    "stale-controller-refused",
    source="ReplicaManager.becomeLeaderOrFollower: STALE_CONTROLLER_EPOCH (0.8.2.2 to 3.9.2)",
    basis=Basis.SOURCE,
)
def stale_controller_refused(evidence: RunEvidence) -> Judged:
    """A broker refuses requests of a controller of an earlier epoch.

    It says so in its log. It does what no controller of an earlier epoch asks for than it has heard of since it was
    started: brokers log whose request they follow up to 1.1 and from 2.4 on.
    """
    rows, wrong, known = list[dict[str, Any]](), list[dict[str, Any]](), dict[tuple[str, int], int]()
    for one in of(evidence.run_state.events, Log):
        heard = LATEST.search(one.line) if one.event == "stale-controller" else None
        followed = FOLLOWED.search(one.line) if one.event in FOLLOWS else None
        life = (one.node, evidence.run_state.undisturbed_since(one.node, one.at_ns))
        if one.event == "stale-controller":
            rows.append({"node": one.node, "at_ns": one.at_ns, "line": one.line})
        if followed is not None and int(followed[1]) < known.get(life, 0):
            rows.append({"node": one.node, "at_ns": one.at_ns, "line": one.line, "epoch_known": known[life]})
            wrong.append(rows[-1])
        known[life] = max([known.get(life, 0), *(int(told[1]) for told in (heard, followed) if told is not None)])
    return judged(
        rows, wrong, plural(len(rows), "request") + " refused", "no broker refused a request of an old controller"
    )


@claim(
    "partition-state-never-goes-back",
    source="Kafka documentation, Design: replication; KAFKA-6082, KIP-500",
    basis=Basis.DOCUMENTATION,
)
def partition_state_never_goes_back(evidence: RunEvidence) -> Judged:
    """A partition's leader epoch and controller epoch never fall, whichever controllers there were."""
    epochs = [row["epoch"] for row in _controllers(evidence.run_state)]
    rows, wrong = [], []
    for before, after in (pair for states in evidence.run_state.states.values() for pair in pairwise(states)):
        if after.controller_epoch is None or before.controller_epoch is None or epochs[-1:] == epochs[:1]:
            continue
        stated = {"controller_epoch": after.controller_epoch, "controller_epoch_before": before.controller_epoch}
        rows.append(_election(before, after) | stated)
        back = after.controller_epoch < before.controller_epoch or after.leader_epoch < before.leader_epoch
        wrong += rows[-1:] if back else []
    return judged(rows, wrong, plural(len(rows), "change") + " of state", "no state changed under two controllers")


def _controller_bound_ms(run: RunRecord, node: str) -> float | None:
    if run.mode == "kraft":
        return _quorum_ms(run) + SESSION_TOLERANCE_MS
    limit_ms = session_ms(run, node)
    return None if limit_ms is None else session_bound_ms(limit_ms)


def _quorum_ms(run: RunRecord) -> int:
    """By when a quorum that lost its leader has another: the voters miss its answers to their fetches, and vote, again
    if the votes were split.
    """
    settings = run.settings
    fetch, election, backoff = (int(settings.get(name, default)) for name, default in QUORUM_MS.items())
    return fetch + VOTES * (2 * election + backoff)


def _gone_until(run_state: RunState, node: str, gone_ns: int) -> int:
    """Until when a node that is gone was gone: the end of the fault that took it, or of the run."""
    taken = [
        fault.until_ns
        for fault in run_state.faults
        if node in (fault.node, *(one for link in fault.links for one in link)) and fault.inject_ns <= gone_ns
    ]
    return min([run_state.end_ns, *(until_ns for until_ns in taken if until_ns > gone_ns)])


def _gone(run_state: RunState) -> Iterator[tuple[str, int]]:
    """Each node that was killed, frozen, or cut from who keeps sessions, and when that was so."""
    for cut in run_state.severed:
        for node in dict.fromkeys(one for link in cut.links for one in link):
            if run_state.off_coordinator(node, cut.inject_ns) and node in run_state.processes and node != "zookeeper":
                yield node, cut.whole_ns
    for fault in run_state.faults:
        conditions = {**dict.fromkeys(DEATHS, (DYING, DOWN)), "freeze": (FROZEN,)}.get(fault.kind, ())
        ended = (one for one in run_state.processes.get(fault.node, ()) if one.value in conditions)
        for one in islice((one for one in ended if one.end_ns > fault.inject_ns), 1):
            yield fault.node, one.begin_ns
