"""Claims about the files of a partition's directory: names, segments, indexes, and the bytes of batches.

They go by the last copies of the replicas, which are taken when everything is healed and nothing is written any more.
What a follower appends at once is what one fetch has given it, which no file tells. So where a border depends on that,
only the leader's directory is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, protocol_of, release_of
from evidence import borders
from evidence.basis import Basis
from evidence.events import BatchSent, Moment, Search, of
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.text import plural
from kafkafiles.batches import CREATE_TIME, LOG_APPEND_TIME
from kafkafiles.stored import StoredBatch, StoredReplica, StoredSegment

INDEX_INTERVAL_BYTES: Final = 4096
"""The default of log.index.interval.bytes, in every version."""
BY_BATCH: Final = 2
"""From this message format on an entry of a leader's log is what a producer has sent at once."""
CODECS: Final = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
NO_COPY: Final = "no replica was copied"
NO_BATCH: Final = "no batch was sent whose bytes are known"


def _replicas(evidence: RunEvidence) -> Iterator[tuple[TopicPartition, str, StoredReplica]]:
    for where in evidence.run.assignment:
        for node, replica in evidence.stored(*where).items():
            yield where, node, replica


def _about(where: TopicPartition, node: str) -> dict[str, Any]:
    return {"topic": where[0], "partition": where[1], "node": node}


def _setting(evidence: RunEvidence, topic: str, name: str, default: int) -> int:
    """A setting of a topic in the run, that of its brokers, or the default."""
    own = next((dict(one.settings) for one in evidence.run.topics if one.name == topic), {})
    return int(own.get(name, evidence.run.settings.get(f"log.{name}", default)))


def _leads(evidence: RunEvidence, where: TopicPartition, node: str) -> bool:
    """Whether a replica was the only leader that the partition ever had."""
    return {broker(state.leader) for state in evidence.run_state.states.get(where, ())} == {node}


@claim("segment-named-by-first-offset", source="Kafka documentation, Implementation: log", basis=Basis.DOCUMENTATION)
def segment_named_by_first_offset(evidence: RunEvidence) -> Judged:
    """A segment's file is named after the offset of its first record, in twenty digits, and begins where the segment
    before it ends.
    """
    rows, wrong = list[dict[str, Any]](), list[dict[str, Any]]()
    for where, node, replica in _replicas(evidence):
        before: int | None = None
        for segment in replica.segments:
            offsets = [offset for batch in segment.batches for offset in batch.offsets]
            if not offsets:
                continue
            row = {"segment": segment.base_offset, "first": offsets[0], "last": offsets[-1], "before": before}
            rows.append(_about(where, node) | row)
            follows = before is None or before + 1 == offsets[0]
            wrong += [] if segment.base_offset == offsets[0] and follows else rows[-1:]
            before = offsets[-1]
    return judged(rows, wrong, plural(len(rows), "segment"), NO_COPY)


@claim(
    "segment-rolled-when-full",
    source="Kafka documentation, broker configuration: log.segment.bytes",
    basis=Basis.DOCUMENTATION,
)
def segment_rolled_when_full(evidence: RunEvidence) -> Judged:
    """A segment is closed when the next batch would make it larger than log.segment.bytes, and not before.

    No closed segment is larger, on any replica. Of a leader, whose appends are the producers' batches, none has room
    for the batch that begins the next segment.
    """
    rows, wrong = list[dict[str, Any]](), list[dict[str, Any]]()
    for where, node, replica in _replicas(evidence):
        limit = _setting(evidence, where[0], "segment.bytes", 1 << 30)
        leads = _leads(evidence, where, node)
        for segment, following in pairwise(replica.segments):
            known = leads and following.batches and following.batches[0].header.magic >= BY_BATCH
            next_bytes = following.batches[0].header.size if known else None
            row = {"segment": segment.base_offset, "bytes": segment.size, "next_bytes": next_bytes, "limit": limit}
            rows.append(_about(where, node) | row)
            had_room = next_bytes is not None and segment.size + next_bytes <= limit
            wrong += rows[-1:] if segment.size > limit or had_room else []
    return judged(rows, wrong, plural(len(rows), "closed segment"), "no segment was closed")


@claim(
    "directory-has-files-of-release",
    source="KIP-33 (.timeindex, 0.10.1), KIP-98 (.snapshot, 0.11), KIP-101 (leader-epoch-checkpoint, 0.11), "
    "KIP-516 (partition.metadata, 2.8)",
    basis=Basis.KIP,
)
def directory_has_files_of_release(evidence: RunEvidence) -> Judged:
    """A partition's directory has the files of its release, and none of a later one. Beside each .log lies an .index,
    and from 0.10.1 on a .timeindex. From 0.11 on there are leader-epoch-checkpoint and a .snapshot for the offset at
    which a segment began, from 2.8 on partition.metadata.

    Snapshots of older segments may be gone before 2.8, that of the last one may not. On 2.8 partition.metadata is not
    asked for: a new replica gets it when its leader changes for the first time.
    """
    final = of(evidence.run_state.events, Moment)[-1:]
    rows = [
        {"node": node, "replica": replica, "files": names, "missing": missing, "too_many": more}
        for moment in final
        for node, files in moment.files.items()
        for replica, names in _by_directory(files).items()
        for missing, more in [_differences(evidence, names)]
    ]
    wrong = [row for row in rows if row["missing"] or row["too_many"]]
    return judged(rows, wrong, plural(len(rows), "directory").replace("directorys", "directories"), NO_COPY)


def _by_directory(files: Mapping[str, int]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in files:
        directory, _, name = path.rpartition("/")
        if directory:
            found.setdefault(directory, []).append(name)
    return found


def _differences(evidence: RunEvidence, names: list[str]) -> tuple[list[str], list[str]]:
    """The files that are missing from a directory, and those that the release does not know."""
    release, protocol = release_of(evidence.run), protocol_of(evidence.run)
    segments = sorted(PurePath(name).stem for name in names if name.endswith(".log"))
    needed = {f"{segment}.index" for segment in segments}
    known = {".log", ".index"}
    if release >= borders.TIMES_SEARCHED.release:
        known |= {".timeindex"}
        needed |= {f"{segment}.timeindex" for segment in segments}
    if release >= borders.FORMAT_2.release:
        known |= {".snapshot", ".txnindex"}
        kept = segments[1:] if release >= borders.SNAPSHOT_OF_EACH.release else segments[1:][-1:]
        needed |= {f"{segment}.snapshot" for segment in kept}
    if protocol >= borders.LEADER_EPOCHS.release:
        known |= {"leader-epoch-checkpoint"}
        needed |= {"leader-epoch-checkpoint"}
    if protocol >= borders.TOPIC_IDS.release:
        known |= {"partition.metadata"}
        needed |= {"partition.metadata"} if protocol >= borders.TOPIC_IDS_AT_ONCE.release else set()
    more = [name for name in names if (PurePath(name).suffix or name) not in known and name not in known]
    return sorted(needed - set(names)), sorted(more)


@claim(
    "index-entries-spaced",
    source="Kafka documentation, broker configuration: log.index.interval.bytes; LogSegment.append (0.8.2.2 to 4.3.1)",
    basis=Basis.DOCUMENTATION,
)
def index_entries_spaced(evidence: RunEvidence) -> Judged:
    """The index of a segment is sparse: from one entry to the next lie more than log.index.interval.bytes of the log.

    Of a leader, whose appends are the producers' batches, the next entry is at the first batch that lies so far behind
    the last one. Indexes of closed segments are looked at.
    """
    rows = list[dict[str, Any]]()
    for where, node, replica in _replicas(evidence):
        interval = _setting(evidence, where[0], "index.interval.bytes", INDEX_INTERVAL_BYTES)
        leads = _leads(evidence, where, node)
        for segment in replica.segments[:-1]:
            if segment.index is not None:
                positions = [entry.position for entry in segment.index]
                near = [other for one, other in pairwise([0, *positions]) if other - one <= interval]
                by_batch = leads and all(batch.header.magic >= BY_BATCH for batch in segment.batches)
                expected = _entries_of_leader(segment, interval) if by_batch else positions
                row = {"segment": segment.base_offset, "bytes": segment.size, "entries": len(positions)}
                unlike = sorted(set(expected) ^ set(positions))
                rows.append(_about(where, node) | row | {"interval": interval, "too_near": near, "unlike": unlike})
    wrong = [row for row in rows if row["too_near"] or row["unlike"]]
    entries = sum(row["entries"] for row in rows)
    seen = f"{entries} entries for {sum(row['bytes'] for row in rows)} bytes of {plural(len(rows), 'segment')}"
    return judged(rows, wrong, seen, "no index of a closed segment was copied")


def _entries_of_leader(segment: StoredSegment, interval: int) -> list[int]:
    """The positions of a segment at which a log has entries whose appends are single batches."""
    found, last = list[int](), 0
    for batch in segment.batches:
        if batch.header.position - last > interval:
            found.append(last := batch.header.position)
    return found


@claim("follower-stores-leaders-bytes", source="Kafka documentation, Design: replication", basis=Basis.DOCUMENTATION)
def follower_stores_leaders_bytes(evidence: RunEvidence) -> Judged:
    """A follower's log has the leader's batches byte for byte, in segments that it closes itself.

    Offset, size, leader epoch and content of each batch are equal on all replicas of a partition.
    """
    rows, wrong = list[dict[str, Any]](), list[dict[str, Any]]()
    for where in evidence.run.assignment:
        stored = evidence.stored(*where)
        if len(stored) < 2:
            continue
        logs = {node: [_identity(batch) for batch in replica.batches] for node, replica in stored.items()}
        counts = {node: len(log) for node, log in logs.items()}
        rows.append({"topic": where[0], "partition": where[1], "batches": counts})
        first, *others = logs.values()
        wrong += rows[-1:] if any(other != first for other in others) else []
    return judged(rows, wrong, plural(len(rows), "partition") + " with equal logs", "no two replicas were copied")


def _identity(batch: StoredBatch) -> tuple[int, int, int, str]:
    header = batch.header
    return header.last_offset, header.size, header.leader_epoch, batch.fingerprint


# Batches whose bytes are known


def _sent(evidence: RunEvidence) -> Iterator[tuple[BatchSent, str, list[StoredBatch]]]:
    """Each batch that was sent with known bytes: of each replica the batches that hold its records."""
    for sent in of(evidence.run_state.events, BatchSent):
        offsets = frozenset(range(sent.offset, sent.offset + len(sent.timestamps_ms)))
        for node, replica in evidence.stored(sent.topic, sent.partition).items():
            yield sent, node, [one for one in replica.batches if not offsets.isdisjoint(one.offsets)]


def _judge_batches(evidence: RunEvidence, holds: Callable[[BatchSent, StoredBatch], bool], seen: str) -> Judged:
    """A claim about batches with known bytes: each replica has one batch in its place, of which something holds."""
    rows, wrong = list[dict[str, Any]](), list[dict[str, Any]]()
    for sent, node, found in _sent(evidence):
        row = {"topic": sent.topic, "partition": sent.partition, "node": node, "offset": sent.offset}
        told = [
            {"format": one.header.magic, "codec": CODECS[one.header.codec], "bytes": one.header.size}
            | {"alike": one.fingerprint == sent.fingerprint}
            for one in found
        ]
        rows.append(row | {"sent_format": sent.magic, "sent_bytes": sent.size, "stored": told})
        wrong += rows[-1:] if not found or not all(holds(sent, one) for one in found) else []
    return judged(rows, wrong, plural(len(rows), "copy").replace("copys", "copies") + f" of a batch {seen}", NO_BATCH)


@claim(
    "batch-stored-as-sent",
    source="Kafka documentation, Design: end-to-end batch compression; KIP-31",
    basis=Basis.DOCUMENTATION,
)
def batch_stored_as_sent(evidence: RunEvidence) -> Judged:
    """The leader and its followers store a producer's compressed batch byte for byte.

    But for what brokers write into every batch: its offset, and in format 2 the leader epoch.
    """

    def holds(sent: BatchSent, stored: StoredBatch) -> bool:
        return (stored.header.size, stored.fingerprint) == (sent.size, sent.fingerprint)

    return _judge_batches(evidence, holds, "as it was sent")


@claim("batch-compressed-anew", source="KIP-31: motivation", basis=Basis.KIP)
def batch_compressed_anew(evidence: RunEvidence) -> Judged:
    """Before 0.10 the leader decompresses a producer's batch, writes offsets into its messages, and compresses it
    again, with the same codec.
    """

    def holds(sent: BatchSent, stored: StoredBatch) -> bool:
        return stored.fingerprint != sent.fingerprint and stored.header.codec == sent.codec

    return _judge_batches(evidence, holds, "compressed anew")


@claim(
    "batch-compressed-as-topic-says",
    source="Kafka documentation, topic configuration: compression.type",
    basis=Basis.DOCUMENTATION,
)
def batch_compressed_as_topic_says(evidence: RunEvidence) -> Judged:
    """Where a topic's compression.type is a codec, the leader compresses every batch with that one."""
    types = {one.name: dict(one.settings).get("compression.type", "producer") for one in evidence.run.topics}

    def holds(sent: BatchSent, stored: StoredBatch) -> bool:
        return CODECS[stored.header.codec] == types[sent.topic]

    return _judge_batches(evidence, holds, "compressed as the topic says")


@claim(
    "batch-stored-in-topics-format",
    source="KIP-32; Kafka documentation, topic configuration: message.format.version",
    basis=Basis.KIP,
)
def batch_stored_in_topics_format(evidence: RunEvidence) -> Judged:
    """Where a topic has an older message.format.version than a batch, the leader rewrites the batch in the topic's
    format.
    """

    def holds(sent: BatchSent, stored: StoredBatch) -> bool:
        return stored.header.magic < sent.magic

    return _judge_batches(evidence, holds, "in an older format")


@claim("create-time-kept", source="KIP-32", basis=Basis.KIP)
def create_time_kept(evidence: RunEvidence) -> Judged:
    """A record has the timestamp that its producer gave it (message.timestamp.type=CreateTime, the default)."""

    def holds(sent: BatchSent, stored: StoredBatch) -> bool:
        times = dict(enumerate(sent.timestamps_ms, sent.offset))
        kept = all(
            times.get(offset) == stamp for offset, stamp in zip(stored.offsets, stored.timestamps_ms, strict=True)
        )
        return kept and stored.header.timestamp_type == CREATE_TIME

    return _judge_batches(evidence, holds, "with the producer's timestamps")


@claim("append-time-set", source="KIP-32", basis=Basis.KIP)
def append_time_set(evidence: RunEvidence) -> Judged:
    """With message.timestamp.type=LogAppendTime all records of a batch have the time at which the leader appended it,
    whatever their producer says.

    That time lies between the sending of the batch and its acknowledgement, by the clock of the one machine.
    """

    def holds(sent: BatchSent, stored: StoredBatch) -> bool:
        between = range(sent.sent_wall_ns // 1_000_000, sent.wall_ns // 1_000_000 + 1)
        return stored.header.timestamp_type == LOG_APPEND_TIME and all(one in between for one in stored.timestamps_ms)

    return _judge_batches(evidence, holds, "with the time of its append")


# Searches


def _searches(evidence: RunEvidence, by: str) -> Iterator[tuple[Search, StoredReplica]]:
    """Each search, with the log of the partition's only leader."""
    for search in of(evidence.run_state.events, Search):
        where = (search.topic, search.partition)
        for node, replica in evidence.stored(*where).items():
            if search.by == by and _leads(evidence, where, node):
                yield search, replica


def _row(search: Search, expected: int | None) -> dict[str, Any]:
    about = {"topic": search.topic, "partition": search.partition, "at_ns": search.at_ns}
    return about | {"asked": search.asked, "found": search.found, "expected": expected}


@claim("offset-found-in-log", source="Kafka documentation, Implementation: log, Reads", basis=Basis.DOCUMENTATION)
def offset_found_in_log(evidence: RunEvidence) -> Judged:
    """A reader that begins at an offset gets the record of this offset first.

    It is the record that the leader's log has at this offset.
    """
    rows = []
    for search, replica in _searches(evidence, "offset"):
        held = any(search.asked in batch.offsets for batch in replica.batches)
        rows.append(_row(search, search.asked if held else None))
    wrong = [row for row in rows if row["found"] != row["expected"]]
    return judged(rows, wrong, plural(len(rows), "offset") + " found", "nobody searched by offset")


@claim("time-found-in-log", source="KIP-79; KIP-33", basis=Basis.KIP)
def time_found_in_log(evidence: RunEvidence) -> Judged:
    """A client that asks for a time gets the first offset of a record with that timestamp or a later one, and no offset
    if there is no such record.
    """
    rows = []
    for search, replica in _searches(evidence, "time"):
        pairs = (pair for batch in replica.batches for pair in zip(batch.offsets, batch.timestamps_ms, strict=True))
        rows.append(_row(search, next((offset for offset, stamp in pairs if stamp >= search.asked), None)))
    wrong = [row for row in rows if row["found"] != row["expected"]]
    return judged(rows, wrong, plural(len(rows), "time") + " found", "nobody searched by time")
