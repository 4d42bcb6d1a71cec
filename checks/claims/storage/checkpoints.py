"""Claims about the files in which brokers keep offsets: high watermarks and recovery points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import copied, elapsed_ms, faults, judged, setting_ms, start_after, timed, truncations
from evidence.basis import Basis
from evidence.events import Checkpoint, Moment, of
from evidence.faults.files import FlipProof, OverwriteProof, ResizeProof
from evidence.faults.process import KillProof, StopProof
from evidence.nodes import number_of
from evidence.run_state import DOWN, DYING, FaultFact, RunState
from evidence.text import plural

FILE_TOLERANCE_MS: Final = 4000
CHECKPOINT: Final = "replication-offset-checkpoint"
"""For a broker whose thread gets no processor at once, and whose disk is busy (2.7 s were seen)."""
INTERVAL_MS: Final = 5000
"""The default of replica.high.watermark.checkpoint.interval.ms, in every version."""


def _interval_ms(evidence: RunEvidence) -> int:
    return setting_ms(evidence.run, "replica.high.watermark.checkpoint.interval.ms", INTERVAL_MS)


@claim(
    "high-watermarks-checkpointed-in-time",
    source="Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"replica.high.watermark.checkpoint.interval.ms, and a tolerance of {FILE_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def high_watermarks_checkpointed_in_time(evidence: RunEvidence) -> Judged:
    """A broker writes its high watermarks to replication-offset-checkpoint at an interval.

    From one writing of a broker's high watermarks to the next it takes no longer than the interval.
    """
    bound_ms = _interval_ms(evidence) + FILE_TOLERANCE_MS
    rows = [
        {"node": one.node, "at_ns": one.at_ns, "took_ms": elapsed_ms(one.before_ns, one.written_ns)}
        | {"bound_ms": bound_ms}
        for one in of(evidence.run_state.events, Checkpoint)
        if one.before_ns is not None and one.written_ns is not None
    ]
    return timed(
        rows,
        lambda row: f"{row['node']} wrote its high watermarks {row['took_ms'] / 1000:.1f} s after the time before",
        "no file of high watermarks was seen to be written twice",
    )


@claim(
    "clean-stop-writes-checkpoints",
    source="ReplicaManager.shutdown, LogManager.shutdown (0.8.2.2 to 4.3.1)",
    basis=Basis.SOURCE,
)
def clean_stop_writes_checkpoints(evidence: RunEvidence) -> Judged:
    """A broker that stops cleanly writes its high watermarks and recovery points, at the ends of its logs."""
    run_state = evidence.run_state
    rows = []
    for stop in faults(run_state, StopProof):
        started_ns = start_after(run_state, stop.node, stop.inject_ns)
        ends = copied(run_state, stop.node, stop.inject_ns, started_ns)
        for one in of(run_state.events, Checkpoint):
            if one.node == stop.node and stop.inject_ns < one.at_ns < started_ns:
                rows += [
                    {"node": one.node, "at_ns": one.at_ns, "file": one.file, "replica": replica}
                    | {"offset": (one.offsets or {}).get(replica), "log_end": end.leo}
                    for replica, end in ends.items()
                ]
    wrong = [row for row in rows if row["offset"] != row["log_end"]]
    seen = plural(len(rows), "checkpoint") + " of cleanly stopped brokers at the log's end"
    return judged(rows, wrong, seen, "no files of a cleanly stopped broker were looked at")


@claim(
    "killed-high-watermark-is-recent",
    source="Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms; KIP-101",
    basis=Basis.DOCUMENTATION,
    bound="from the oldest acknowledgement that it lacks to the death: "
    f"replica.high.watermark.checkpoint.interval.ms, and a tolerance of {FILE_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def killed_high_watermark_is_recent(evidence: RunEvidence) -> Judged:
    """After kill -9 the checkpointed high watermark is behind by no more than the interval of its writing.

    After kill -9 of a leader the file lacks only what was acknowledged under acks=all within the last interval.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    bound_ms = _interval_ms(evidence) + FILE_TOLERANCE_MS
    for kill in faults(run_state, KillProof):
        gone = (one for one in run_state.processes.get(kill.node, ()) if one.value in (DYING, DOWN))
        died_ns = next((one.begin_ns for one in gone if one.end_ns > kill.inject_ns), kill.inject_ns)
        ends = copied(run_state, kill.node, kill.inject_ns, start_after(run_state, kill.node, kill.inject_ns))
        for (topic, number), states in run_state.partitions.items():
            led = [state for state in states if state.begin_ns <= died_ns][-1:]
            end = ends.get(f"{topic}-{number}")
            if not led or f"broker-{led[0].leader}" != kill.node or end is None or end.hw is None:
                continue
            lacking = [
                one
                for one in run_state.sends
                if (one.topic, one.partition, one.acks, one.outcome) == (topic, number, "all", "acked")
                and one.done_ns is not None
                and led[0].begin_ns <= one.done_ns < died_ns
                and one.offset is not None
                and one.offset >= end.hw
            ]
            if lacking:
                took_ms = elapsed_ms(min(one.done_ns or 0 for one in lacking), died_ns)
                about = {"node": kill.node, "replica": f"{topic}-{number}", "at_ns": died_ns, "lacking": len(lacking)}
                rows.append(
                    about | {"high_watermark": end.hw, "log_end": end.leo, "took_ms": took_ms, "bound_ms": bound_ms}
                )
    return timed(
        rows,
        lambda row: (
            f"the file of {row['node']} had {row['high_watermark']}, its log {row['log_end']}: "
            f"{row['took_ms'] / 1000:.1f} s behind"
        ),
        "no file of a killed leader was behind what it had acknowledged",
    )


@claim(
    "missing-high-watermark-truncates-all",
    source="Partition.getOrCreateReplica, ReplicaManager.makeFollowers (0.10.2.2); KIP-101",
    basis=Basis.SOURCE,
)
def missing_high_watermark_truncates_all(evidence: RunEvidence) -> Judged:
    """A follower that starts without a checkpointed high watermark takes it for 0 and truncates its whole log.

    A replica whose broker starts without high watermarks, the file gone or empty, truncates its log to 0.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for removed in run_state.faults:
        proof = removed.proof
        if removed.kind != "remove" and not (isinstance(proof, ResizeProof) and proof.bytes == 0):
            continue
        started_ns = start_after(run_state, removed.node, removed.inject_ns)
        for replica, end in copied(run_state, removed.node, removed.inject_ns, started_ns).items():
            cuts = truncations(run_state, removed.node, replica, started_ns)
            if end.leo and end.hw is None and started_ns <= run_state.end_ns:
                rows.append(
                    {"node": removed.node, "replica": replica, "at_ns": started_ns, "log_end": end.leo, "cuts": cuts}
                )
    wrong = [row for row in rows if row["cuts"][:1] != [0]]
    seen = plural(len(rows), "replica") + " without a high watermark truncated to 0"
    return judged(rows, wrong, seen, "no broker started without its file of high watermarks")


@claim(
    "wrong-checkpoint-is-bounded",
    source="Partition.getOrCreateReplica (0.10.2.2, 2.2.2), Log.updateHighWatermark (2.8.2), "
    "UnifiedLog.updateHighWatermark (3.9.2, 4.3.1)",
    basis=Basis.SOURCE,
)
def wrong_checkpoint_is_bounded(evidence: RunEvidence) -> Judged:
    """A checkpointed offset beyond the end of a log is ignored: the broker uses the log's end.

    An offset beyond the log's end in a file is not believed: what the broker writes later lies in its log.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for wrong, proof in run_state.proved(OverwriteProof):
        replica, said = proof.replica, proof.offset
        started_ns = start_after(run_state, wrong.node, wrong.inject_ns)
        ends = copied(run_state, wrong.node, started_ns, run_state.end_ns + 1)
        for one in of(run_state.events, Checkpoint):
            its = (one.node, one.file) == (wrong.node, proof.file)
            offset = (one.offsets or {}).get(replica)
            if its and offset is not None and one.at_ns > started_ns and replica in ends:
                row = {"node": one.node, "file": one.file, "replica": replica, "at_ns": one.at_ns, "said": said}
                rows.append(row | {"offset": offset, "log_end": ends[replica].leo})
    beyond = [row for row in rows if row["log_end"] is None or row["offset"] > row["log_end"]]
    seen = plural(len(rows), "checkpoint") + " within the log again"
    return judged(rows, beyond, seen, "no broker with a wrong checkpoint was seen to write it again")


@claim(
    "unreadable-checkpoint-keeps-replica-out",
    source="OffsetCheckpoint.read, Partition.getOrCreateReplica (0.10.2.2); CheckpointFile, "
    "ReplicaManager.applyLocalFollowersDelta (3.1.0 to 4.3.1)",
    basis=Basis.SOURCE,
)
def unreadable_checkpoint_keeps_replica_out(evidence: RunEvidence) -> Judged:
    """A broker that cannot read its file of high watermarks is registered and serves no replica (before 1.0; from 3.1
    on, of a bad number).

    While a broker runs with a file of high watermarks that was cut, or has another bit, its replica stays out of the
    ISR as it was.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for cut, started_ns, ended_ns in _with_unreadable_file(run_state):
        number = number_of(cut.node)
        for moment in of(run_state.events, Moment):
            if cut.node not in moment.nodes or not started_ns < moment.at_ns < ended_ns:
                continue
            for replica, end in moment.nodes[cut.node].items():
                topic, _, partition = replica.rpartition("-")
                state = run_state.state_at(topic, int(partition), moment.at_ns)
                if state is not None:
                    about = {"node": cut.node, "replica": replica, "at_ns": moment.at_ns, "log_end": end.leo}
                    rows.append(
                        about
                        | {"in_isr": number in state.isr, "registered": run_state.alive_at(cut.node, moment.at_ns)}
                    )
    wrong = [row for row in rows if row["in_isr"] or not row["registered"]]
    seen = plural(len(rows), "replica") + " of a registered broker out of the ISR"
    return judged(rows, wrong, seen, "no replica was copied while its broker ran with a file that it cannot read")


@claim(
    "unreadable-checkpoint-makes-leader-refuse",
    source="CheckpointFile, ReplicaManager: applyLocalLeadersDelta, makeLeaders (3.1.0 to 4.3.1); KIP-112",
    basis=Basis.SOURCE,
)
def unreadable_checkpoint_makes_leader_refuse(evidence: RunEvidence) -> Judged:
    """A broker that cannot read its file of high watermarks because of a bad number is elected leader, and takes no
    record (from 3.1 on).

    While a broker runs with a file of high watermarks that has another bit, and is registered and named as a
    partition's leader, no record that is sent to that partition is acknowledged.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for cut, started_ns, ended_ns in _with_unreadable_file(run_state):
        for send in run_state.sends:
            if not started_ns < send.sent_ns < ended_ns:
                continue
            state = run_state.state_at(send.topic, send.partition, send.sent_ns)
            if state is not None and state.leader == number_of(cut.node):
                about = {"node": cut.node, "replica": f"{send.topic}-{send.partition}", "at_ns": send.sent_ns}
                registered = run_state.alive_at(cut.node, send.sent_ns)
                rows.append(about | {"outcome": send.outcome, "registered": registered})
    wrong = [row for row in rows if row["outcome"] == "acked" or not row["registered"]]
    seen = plural(len(rows), "record") + " to a registered leader not acknowledged"
    return judged(rows, wrong, seen, "nothing was sent to a leader that ran with a file that it cannot read")


def _with_unreadable_file(run_state: RunState) -> Iterator[tuple[FaultFact, int, int]]:
    """The faults that left a broker with a file of high watermarks that it cannot read, and from when until when it ran
    so: to its next kill.
    """
    struck: list[tuple[FaultFact, ResizeProof | FlipProof]] = [
        *run_state.proved(ResizeProof),
        *run_state.proved(FlipProof),
    ]
    for cut, proof in struck:
        started_ns = start_after(run_state, cut.node, cut.inject_ns)
        if CHECKPOINT in proof.file and started_ns <= run_state.end_ns:
            kills = (one.inject_ns for one in faults(run_state, KillProof) if one.inject_ns > started_ns)
            yield cut, started_ns, min(kills, default=0)
