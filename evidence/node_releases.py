"""A node's release, protocol and message format at each time of a run: nodes may be started as other releases, or with
another protocol or message format, during the run.

What is stated by release is chosen by these at the time of what is judged, never by the release that the run began
with.
"""

from __future__ import annotations

from typing import Final

from evidence import borders
from evidence.events import NO_LEADER, Log, of
from evidence.faults.upgrade import RaiseProof, UpgradeProof
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.releases import Release, numbers
from evidence.run import RunRecord
from evidence.run_state import RunState

PROTOCOL: Final = "inter.broker.protocol.version"
FORMAT: Final = "log.message.format.version"


def release_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> str:
    """The release that a node ran at a time (monotonic, ns), or had run last."""
    first = run.releases.get(node, (run.kafka,))[0]
    proofs = [
        fault.proof
        for fault in (run_state.faults if run_state else ())
        if fault.node == node and fault.inject_ns <= at_ns and isinstance(fault.proof, UpgradeProof)
    ]
    return proofs[-1].release if proofs else first


def _held_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int, setting: str) -> Release:
    """What a broker was last started with, or what the run's settings state, or its release."""
    raised = [
        fault.proof.settings[setting]
        for fault in (run_state.faults if run_state else ())
        if fault.node == node and fault.inject_ns <= at_ns and isinstance(fault.proof, RaiseProof)
        if fault.proof.settings and setting in fault.proof.settings
    ]
    stated = raised[-1] if raised else run.settings.get(setting)
    return numbers(stated or release_at(run, run_state, node, at_ns))


def protocol_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> Release:
    """The inter-broker protocol that a broker with ZooKeeper went by at a time."""
    return _held_at(run, run_state, node, at_ns, PROTOCOL)


def format_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> Release:
    """The message format that a broker with ZooKeeper wrote at a time. From protocol 3.0 on its setting is not looked
    at (KIP-724).
    """
    protocol = protocol_at(run, run_state, node, at_ns)
    return protocol if protocol >= borders.IGNORES_FORMATS.release else _held_at(run, run_state, node, at_ns, FORMAT)


def asks_by_epoch_at(
    run: RunRecord, run_state: RunState | None, follower: str, where: TopicPartition, offset: int, at_ns: int
) -> bool:
    """Whether a follower with ZooKeeper truncated by leader epoch at a time, whose log went at least to `offset`.

    It asks its leader for the end of an epoch with protocol 0.11 (ReplicaFetcherThread.shouldSendLeaderEpochRequest),
    and of the last epoch that its own log has. Batches of message format 0.11 alone have one (Log.append), and it is
    the leader who writes them, in its own format: a follower takes them as they are. A log that old leaders wrote has
    none. Then the answer is that nobody knows, and the follower truncates to its high watermark (KIP-101, KAFKA-6857;
    Kafka 0.11.0.3). From 2.1.1 on a follower that is set to an older format itself keeps no epochs at all (KAFKA-7897).
    From 2.2.1 on one forgets them when it appends a batch of an older format (KAFKA-7601). A leader that keeps none
    knows the end of none (Partition.lastOffsetForLeaderEpoch).
    """
    asks = speaks_epochs_at(run, run_state, follower, at_ns) and _keeps_epochs_at(run, run_state, follower, at_ns)
    state = run_state.state_at(*where, at_ns) if run_state is not None else None
    if state is not None and state.leader != NO_LEADER:
        asks = asks and _keeps_epochs_at(run, run_state, broker(state.leader), at_ns)
    cleared = numbers(release_at(run, run_state, follower, at_ns)) >= borders.EPOCHS_CLEARED.release
    written = _written_with_epochs(run, run_state, where, offset, at_ns)
    return asks and (written[-1:] == [True] if cleared else any(written))


def _keeps_epochs_at(run: RunRecord, run_state: RunState | None, follower: str, at_ns: int) -> bool:
    """Whether a broker kept the epochs that are in its log: from 2.1.1 on its own message format decides."""
    release = numbers(release_at(run, run_state, follower, at_ns))
    own = format_at(run, run_state, follower, at_ns)
    return release < borders.EPOCHS_BY_FORMAT.release or own >= borders.LEADER_EPOCHS.release


def speaks_epochs_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> bool:
    """Whether a broker with ZooKeeper went by a protocol in which followers ask for the end of an epoch (KIP-101)."""
    return protocol_at(run, run_state, node, at_ns) >= borders.LEADER_EPOCHS.release


def _written_with_epochs(
    run: RunRecord, run_state: RunState | None, where: TopicPartition, offset: int, at_ns: int
) -> list[bool]:
    """Of each leader that may have written below an offset and before a time, in order: whether in a message format
    that has epochs.
    """
    states = run_state.partitions.get(where, ()) if run_state is not None else ()
    return [
        # Its format when its term ended: it may have been started with another one while it led.
        format_at(run, run_state, broker(state.leader), min(state.end_ns, at_ns)) >= borders.LEADER_EPOCHS.release
        for state in states
        if state.leader != NO_LEADER and state.begin_ns < at_ns
        if _began(run_state, where, state.leader_epoch) < offset
    ]


def _began(run_state: RunState | None, where: TopicPartition, leader_epoch: int) -> int:
    """From which offset on a leader wrote in an epoch, as its log says; 0 if it does not."""
    said = (
        line.offset
        for line in (of(run_state.events, Log) if run_state is not None else ())
        if line.event == "become-leader" and (line.topic, line.partition, line.leader_epoch) == (*where, leader_epoch)
        if line.offset is not None
    )
    return min(said, default=0)
