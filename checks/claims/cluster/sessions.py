"""Claims about registrations: how long a dead broker counts as alive, and what a broker finds that returns.

A registration ends when the broker's znode is deleted (ZooKeeper) or the broker is fenced (KRaft). A killed broker's
registration lasts for the session after its last sign of life, which a broker gives at an interval: ZooKeeper's client
after a third of the session (ClientCnxn: half of the read time-out, which is two thirds), KRaft's brokers each
broker.heartbeat.interval.ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import (
    SESSION_BOUND,
    SESSION_TOLERANCE_MS,
    elapsed_ms,
    faults,
    judged,
    session_bound_ms,
    session_ms,
    setting_ms,
    timed,
)
from evidence.basis import Basis
from evidence.events import Container, Log, Metadata, Missed, Partition, of
from evidence.faults import DEATHS
from evidence.faults.process import DoubleProof, StartProof
from evidence.nodes import broker
from evidence.run_state import ALIVE, DOWN, DYING, FaultFact, Interval, RunState
from evidence.spans import NEVER_NS
from evidence.text import plural

MACHINE_MS: Final = 1000
"""What a process that is busy, or an observer, may be late or early by."""
AT_ONCE_MS: Final = 100
"""What is decided at once (a broker fenced, another leader) is told in one order or the other."""


@claim(
    "dead-broker-leaves-in-session",
    source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms",
    basis=Basis.DOCUMENTATION,
    bound=SESSION_BOUND,
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def dead_broker_leaves_in_session(evidence: RunEvidence) -> Judged:
    """The registration of a broker that was killed ends within its session."""
    rows = [
        row
        for fault in evidence.run_state.faults
        if fault.kind in DEATHS
        for row in _session(evidence, fault.node, fault)
    ]
    return timed(
        rows,
        lambda row: f"the registration of {row['node']} ended {row['took_ms'] / 1000:.1f} s after its death",
        "no registration of a killed broker ended",
    )


def _session(evidence: RunEvidence, node: str, kill: FaultFact) -> Iterator[dict[str, Any]]:
    """How long the registration that a broker had when it was killed lasted on, if that was seen: not if the broker was
    started again before it ended, or the run ended before the bound.
    """
    run_state, limit_ms = evidence.run_state, session_ms(evidence.run, node)
    died, held = _death(run_state, node, kill)
    if died is None or held is None or limit_ms is None:
        return
    took_ms, bound_ms = elapsed_ms(died.begin_ns, held.end_ns), session_bound_ms(limit_ms)
    restarted = any(died.begin_ns < start.inject_ns < held.end_ns for start in _starts(run_state, node))
    if not restarted and (_ended(run_state, node, held) or took_ms > bound_ms):
        yield {"node": node, "at_ns": died.begin_ns, "took_ms": took_ms, "bound_ms": bound_ms}


def _death(run_state: RunState, node: str, fault: FaultFact) -> tuple[Interval | None, Interval | None]:
    """When a node's process was gone by a fault, and the registration that it had then."""
    gone = (one for one in run_state.processes.get(node, ()) if one.value in (DYING, DOWN))
    died = next((one for one in gone if one.end_ns > fault.inject_ns), None)
    if died is None or not run_state.alive_at(node, died.begin_ns):
        return died, None
    return died, next(
        one
        for one in run_state.registrations[node]
        if one.value == ALIVE and one.begin_ns <= died.begin_ns < one.end_ns
    )


def _ended(run_state: RunState, node: str, held: Interval) -> bool:
    """Whether a registration was seen to end."""
    return held != run_state.registrations[node][-1]


def _starts(run_state: RunState, node: str) -> list[FaultFact]:
    return [fault for fault in faults(run_state, StartProof) if fault.node == node]


@claim(
    "registration-outlives-broker",
    source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms, "
    "broker.heartbeat.interval.ms; ZooKeeper sources, ClientCnxn",
    basis=Basis.DOCUMENTATION,
    bound="no sooner than the session that the broker is configured with, less the interval of signs of life "
    "(ZooKeeper: a third of the session; KRaft: broker.heartbeat.interval.ms) "
    f"and {MACHINE_MS} ms for the machine",
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms, broker.heartbeat.interval.ms; ZooKeeper programmer's guide: "
    "sessions",
    bound_basis=Basis.DOCUMENTATION,
)
def registration_outlives_broker(evidence: RunEvidence) -> Judged:
    """A broker that was killed stays registered until a session has passed since its last sign of life."""
    run_state = evidence.run_state
    rows: list[dict[str, Any]] = []
    for fault in run_state.faults:
        died, held = _death(run_state, fault.node, fault) if fault.kind in DEATHS else (None, None)
        limit_ms = session_ms(evidence.run, fault.node)
        if died is None or held is None or limit_ms is None or not _ended(run_state, fault.node, held):
            continue
        least_ms = limit_ms - _silence_ms(evidence, limit_ms) - MACHINE_MS
        took_ms = elapsed_ms(died.begin_ns, held.end_ns)
        rows.append({"node": fault.node, "at_ns": died.begin_ns, "took_ms": took_ms, "least_ms": least_ms})
    wrong = [row for row in rows if row["took_ms"] < row["least_ms"]]
    return judged(rows, wrong, plural(len(rows), "killed broker") + " stayed registered", "no registration ended")


def _silence_ms(evidence: RunEvidence, limit_ms: int) -> int:
    """How long ago the last sign of life of a broker may be that lives."""
    if evidence.run.mode == "kraft":
        return setting_ms(evidence.run, "broker.heartbeat.interval.ms", 2000)
    return limit_ms // 3


@claim(
    "leader-kept-while-registered",
    source="Kafka documentation, Design: replication; KIP-631",
    basis=Basis.DOCUMENTATION,
)
def leader_kept_while_registered(evidence: RunEvidence) -> Judged:
    """While a broker that was killed is registered it stays the leader of its partitions for the cluster."""
    run_state = evidence.run_state
    rows: list[dict[str, Any]] = []
    for fault in run_state.faults:
        died, held = _death(run_state, fault.node, fault) if fault.kind in DEATHS else (None, None)
        if died is None or held is None:
            continue
        for (topic, partition), states in run_state.states.items():
            led = run_state.state_at(topic, partition, died.begin_ns)
            if led is None or broker(led.leader) != fault.node:
                continue
            after = next((s for s in states if s.at_ns > died.begin_ns and s.leader != led.leader), None)
            if after is not None and _ended(run_state, fault.node, held):
                row = {"topic": topic, "partition": partition, "node": fault.node, "at_ns": after.at_ns}
                row["waited_ms"] = elapsed_ms(died.begin_ns, after.at_ns)
                row["registered_ms"] = elapsed_ms(died.begin_ns, held.end_ns)
                rows.append(row)
    wrong = [row for row in rows if row["waited_ms"] < row["registered_ms"] - AT_ONCE_MS]
    return judged(rows, wrong, plural(len(rows), "killed leader") + " replaced", "no killed leader was replaced")


@claim(
    "clean-stop-ends-registration",
    source="Kafka documentation, Graceful shutdown; KIP-631",
    basis=Basis.DOCUMENTATION,
    bound=f"the end of its process, and a tolerance of {SESSION_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, Graceful shutdown",
    bound_basis=Basis.DOCUMENTATION,
)
def clean_stop_ends_registration(evidence: RunEvidence) -> Judged:
    """A broker that stops cleanly ends its registration itself, not by its session."""
    rows, run_state = [], evidence.run_state
    for fault in run_state.faults:
        if fault.kind != "stop":
            continue
        gone = (one for one in run_state.processes.get(fault.node, ()) if one.value == DOWN)
        died = next((one for one in gone if one.begin_ns > fault.inject_ns), None)
        alive = (one for one in run_state.registrations.get(fault.node, ()) if one.value == ALIVE)
        held = next((one for one in alive if one.begin_ns <= fault.inject_ns < one.end_ns), None)
        if died is not None and held is not None:
            took_ms = max(0.0, elapsed_ms(died.begin_ns, held.end_ns))
            row = {"node": fault.node, "at_ns": fault.inject_ns, "took_ms": took_ms, "bound_ms": SESSION_TOLERANCE_MS}
            rows += [row] if _ended(run_state, fault.node, held) or took_ms > SESSION_TOLERANCE_MS else []
    return timed(
        rows,
        lambda row: f"the registration of {row['node']} ended {row['took_ms'] / 1000:.1f} s after its process",
        "no broker stopped cleanly",
    )


def _early_starts(run_state: RunState) -> Iterator[dict[str, Any]]:
    """Brokers that were started while their registration of before lasted: until when that was, whether they ended
    themselves, when they were registered anew, and by which line they said that their id is taken.
    """
    for node, registrations in run_state.registrations.items():
        starts = _starts(run_state, node)
        for start in starts:
            alive = [one for one in registrations if one.value == ALIVE]
            held = next((one for one in alive if one.begin_ns <= start.inject_ns < one.end_ns), None)
            if held is None:
                continue
            until_ns = next((other.inject_ns for other in starts if other.inject_ns > start.inject_ns), NEVER_NS)
            mine = [event for event in run_state.events if start.inject_ns <= event.at_ns < until_ns]
            ended = next((e for e in of(mine, Container) if (e.node, e.action) == (node, "die")), None)
            taken = next((e for e in of(mine, Log) if (e.node, e.event) == (node, "id-taken")), None)
            again = next((one for one in alive if held.end_ns <= one.begin_ns < until_ns), None)
            yield {
                "node": node,
                "at_ns": start.inject_ns,
                "old_until_ns": held.end_ns if _ended(run_state, node, held) else None,
                "exit_code": ended.exit_code if ended else None,
                "ended_ns": ended.at_ns if ended else None,
                "registered_ns": again.begin_ns if again else None,
                "line": taken.line if taken else None,
            }


@claim(
    "early-restart-refused",
    source="ZkUtils.ZKCheckedEphemeral (0.9.0.1 to 1.0.2), KafkaZkClient.CheckedEphemeral (1.1.1 to 3.9.2); KAFKA-7165",
    basis=Basis.SOURCE,
)
def early_restart_refused(evidence: RunEvidence) -> Judged:
    """A broker that starts before its old session expires finds its id taken and exits."""
    rows = list(_early_starts(evidence.run_state))
    wrong = [row for row in rows if not row["exit_code"] or row["line"] is None or row["registered_ns"] is not None]
    return judged(rows, wrong, plural(len(rows), "early start"), "no broker was started before its session had ended")


@claim(
    "early-restart-waits",
    source="KIP-631: DUPLICATE_BROKER_REGISTRATION; ZkUtils.createEphemeralPathExpectConflictHandleZKBug (0.8.2.2)",
    basis=Basis.KIP,
)
def early_restart_waits(evidence: RunEvidence) -> Judged:
    """A broker that starts before its old registration has ended waits, and registers when the old one has ended.

    A broker that starts while its old registration lasts says that its id is taken, and is registered later on.
    """
    rows = list(_early_starts(evidence.run_state))
    wrong = [row for row in rows if row["ended_ns"] is not None or row["line"] is None or row["registered_ns"] is None]
    return judged(rows, wrong, plural(len(rows), "early start"), "no broker was started before its session had ended")


def _doubles(run_state: RunState) -> Iterator[tuple[FaultFact, str, int, int, int | None]]:
    """Each second broker with the id of another: its fault, the node of the first, from when to when its process ran,
    and its exit code.
    """
    for fault, proof in run_state.proved(DoubleProof):
        mine = [
            one for one in of(run_state.events, Container) if one.node == fault.node and one.at_ns > fault.inject_ns
        ]
        ended = next((one for one in mine if one.action == "die"), None)
        until_ns = ended.at_ns if ended else run_state.end_ns
        yield fault, broker(proof.id), fault.inject_ns, until_ns, ended.exit_code if ended else None


@claim(
    "duplicate-id-refused",
    source="Kafka documentation, broker configuration: broker.id, initial.broker.registration.timeout.ms; Kafka "
    "sources, ZkUtils: registerBrokerInZk, KafkaZkClient: CheckedEphemeral; KIP-631",
    basis=Basis.DOCUMENTATION,
)
def duplicate_id_refused(evidence: RunEvidence) -> Judged:
    """A second broker with the id of a live one finds the id taken and exits."""
    rows = []
    for fault, first, begin_ns, end_ns, exit_code in _doubles(evidence.run_state):
        said = [one for one in of(evidence.run_state.events, Log) if one.node == fault.node and one.event == "id-taken"]
        line = said[0].line if said else None
        rows.append({"node": fault.node, "first": first, "at_ns": begin_ns, "exit_code": exit_code, "line": line})
        rows[-1]["ran_ms"] = elapsed_ms(begin_ns, end_ns)
    wrong = [row for row in rows if not row["exit_code"] or row["line"] is None]
    return judged(rows, wrong, plural(len(rows), "second broker") + " refused", "no second broker was started")


@claim(
    "first-broker-keeps-registration",
    source="Kafka documentation, broker configuration: broker.id; KIP-631",
    basis=Basis.DOCUMENTATION,
)
def first_broker_keeps_registration(evidence: RunEvidence) -> Judged:
    """While a second broker with its id tries to register, a broker keeps its registration."""
    rows, run_state = [], evidence.run_state
    for _, first, begin_ns, end_ns, _ in _doubles(run_state):
        alive = [one for one in run_state.registrations.get(first, ()) if one.value == ALIVE]
        kept = any(one.begin_ns <= begin_ns and end_ns <= one.end_ns for one in alive)
        rows.append({"node": first, "at_ns": begin_ns, "registered": kept})
    wrong = [row for row in rows if not row["registered"]]
    return judged(rows, wrong, plural(len(rows), "registration") + " kept", "no second broker was started")


@claim(
    "first-broker-undisturbed", source="Kafka documentation, broker configuration: broker.id", basis=Basis.DOCUMENTATION
)
def first_broker_undisturbed(evidence: RunEvidence) -> Judged:
    """While a second broker with its id tries to register, a broker keeps its leaderships and its place in the ISR.

    While there is a second broker with its id, the first one keeps its partitions, as leader and in the ISR, and what
    it leads acknowledges records.
    """
    rows, run_state = [], evidence.run_state
    for _, first, begin_ns, end_ns, _ in _doubles(run_state):
        for topic, partition, states in _led(run_state, first, begin_ns):
            changes = [state for state in states if begin_ns < state.at_ns <= end_ns]
            acked = [done for _, done in evidence.acknowledged(topic, partition) if begin_ns < done <= end_ns]
            row = {"node": first, "topic": topic, "partition": partition, "at_ns": begin_ns}
            rows.append(row | {"changes": len(changes), "acknowledged": len(acked)})
    if rows and not any(row["acknowledged"] for row in rows):
        return Judged(outcome="not-observed", observed="nothing was sent while there were two")
    wrong = [row for row in rows if row["changes"]]
    return judged(rows, wrong, plural(len(rows), "partition") + " led on", "no broker of which there were two led")


def _led(run_state: RunState, node: str, at_ns: int) -> Iterator[tuple[str, int, Sequence[Partition]]]:
    """The partitions that a broker led at a time, with all their states."""
    for (topic, partition), states in run_state.states.items():
        then = run_state.state_at(topic, partition, at_ns)
        if then is not None and broker(then.leader) == node:
            yield topic, partition, states


@claim(
    "duplicate-takes-directories",
    source="seen on 3.9.2 to 4.3.1; AssignmentsManager, ReplicationControlManager.handleAssignReplicasToDirs (KIP-858)",
    basis=Basis.MEASURED,
)
def duplicate_takes_directories(evidence: RunEvidence) -> Judged:
    """With KRaft a refused second broker with a broker's id assigns that broker's partitions to its own log directory,
    and the controller elects other leaders for them.

    While there is a second broker with its id, partitions of the first one are assigned to a log directory that it has
    not registered, and those that it led get other leaders.
    """
    rows, run_state = [], evidence.run_state
    records = of(run_state.events, Metadata)
    for _, first, begin_ns, end_ns, _ in _doubles(run_state):
        registrations = (record.fields for record in records if record.type == "REGISTER_BROKER_RECORD")
        registered = {directory for fields in registrations for directory in fields.get("log_dirs", ())}
        for topic, partition, states in _led(run_state, first, begin_ns):
            assigned = [
                record.offset
                for record in records
                if begin_ns < record.at_ns <= end_ns
                and (record.topic, record.fields.get("partition_id")) == (topic, partition)
                and record.type == "PARTITION_CHANGE_RECORD"
                and set(record.fields.get("directories", ())) - registered
            ]
            leaders = [s.leader for s in states if begin_ns < s.at_ns <= end_ns and broker(s.leader) != first]
            row = {"node": first, "topic": topic, "partition": partition, "at_ns": begin_ns}
            rows.append(row | {"offsets": assigned, "led_by": leaders[0] if leaders else None})
    wrong = [row for row in rows if not row["offsets"] or row["led_by"] is None]
    return judged(rows, wrong, plural(len(rows), "partition") + " taken", "no broker of which there were two led")


@claim(
    "one-incarnation-at-a-time",
    source="KIP-631: BrokerRegistration; Kafka sources, ClusterControlManager: registerBroker",
    basis=Basis.KIP,
)
def one_incarnation_at_a_time(evidence: RunEvidence) -> Judged:
    """With KRaft each registration of a broker has a new incarnation id and a higher broker epoch, and comes after the
    one before is fenced or its session has expired.

    Each registration of a broker has another incarnation id and a higher broker epoch (the offset of its record, or of
    the first one that is written with it: changes of partitions, if the old self ended uncleanly). It comes when the
    one before is fenced, or when its session is over and the controller has not come to fencing it yet. A record that
    repeats the incarnation and the epoch is no other one.
    """
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    last: dict[int, tuple[str, int]] = {}
    alive: set[int] = set()
    for event in of(evidence.run_state.events, Metadata):
        fields = event.fields
        number = int(fields.get("broker_id", fields.get("id", -1)))
        if event.type == "REGISTER_BROKER_RECORD":
            before, epoch_before = last.get(number, ("", -1))
            incarnation, epoch = fields["incarnation_id"], fields["broker_epoch"]
            last[number] = incarnation, epoch
            if not before or (incarnation, epoch) == (before, epoch_before):
                continue
            row = {"node": broker(number), "at_ns": event.at_ns, "offset": event.offset, "incarnation": incarnation}
            over = number not in alive or _session_may_be_over(evidence, broker(number), event.at_ns)
            rows.append(row | {"broker_epoch": epoch, "epoch_before": epoch_before, "old_fenced": number not in alive})
            if not over or incarnation == before or not epoch_before < epoch <= event.offset:
                wrong.append(rows[-1])
            alive.discard(number)
        elif event.type == "UNFENCE_BROKER_RECORD" or fields.get("fenced") == -1:
            alive.add(number)
        elif event.type in ("FENCE_BROKER_RECORD", "UNREGISTER_BROKER_RECORD") or fields.get("fenced") == 1:
            alive.discard(number)
    if of(evidence.run_state.events, Missed):
        return Judged(outcome="not-observed", observed="not all of the metadata log was read")
    return judged(rows, wrong, plural(len(rows), "broker") + " registered again", "no broker registered again")


def _session_may_be_over(evidence: RunEvidence, node: str, at_ns: int) -> bool:
    """Whether a broker died so long before that its session has ended, if its last sign of life was a heartbeat's
    interval older.
    """
    died = [one.begin_ns for one in evidence.run_state.processes.get(node, ()) if one.value in (DYING, DOWN)]
    limit_ms = session_ms(evidence.run, node)
    last_ns = max((begin_ns for begin_ns in died if begin_ns < at_ns), default=None)
    if last_ns is None or limit_ms is None:
        return False
    return (at_ns - last_ns) / 1e6 >= limit_ms - _silence_ms(evidence, limit_ms)
