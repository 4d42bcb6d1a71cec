"""Text logs of brokers and controllers, searched for the few lines that tell of a cause.

A file is read in pieces, and each piece cut into blocks of a few lines. One automaton for all strings that are looked
for (RE2, by pyarrow) says which blocks have any, and then which of their lines. The lines are kept, `COUNTED` of each
kind and file at most, with where they stand. So memory does not grow with the logs, and only the lines that were found
are looked at closer (incident_causes.py). Pieces and blocks end where lines do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evidence.text import visible

PIECE: Final = 1 << 20
"""Bytes that are read at once: small enough that a piece stays in the processor's cache."""
BLOCK: Final = 1 << 12
COUNTED: Final = 10_000
"""Lines of one kind that are kept of a file."""
KEPT: Final = 600
"""Characters of a line that are kept."""
LONGEST: Final = 220
"""Characters of a line that are shown."""
LITERALS: Final[Mapping[str, tuple[bytes, ...]]] = {
    "started": (b"Kafka version", b"Property broker.id is overridden to "),  # the second one before 0.9
    "stopped cleanly": (b"shut down completed",),
    "broker": (b"Starting log cleanup with a period",),
    "recovering": (b"Recovering unflushed segment",),
    "zeros": (b"Found record size 0 ", b"Found invalid messages in log segment", b"Corruption found in segment"),
    "preallocated": (b"preallocate = true", b"preallocate -> true"),
    "unclean": (b"potential data loss", b"UNCLEAN partition change"),
    "last known leader": (b"UNCLEAN partition change",),
    "unclean enabled": (b"unclean.leader.election.enable = true", b"unclean.leader.election.enable -> true"),
    "no leader": (
        b"under strategy OfflinePartitionLeaderElectionStrategy",
        b"from OfflinePartition to OnlinePartition",
    ),
    "refused id": (
        b"DuplicateBrokerRegistration",
        b"DUPLICATE_BROKER_REGISTRATION",
        b"already registered on the path",
    ),
    "truncated": (b"Truncating to offset ", b"Truncating log "),
    "announced to high watermark": (b"Truncating partition ",),
    "announced by epoch": (b"Truncating partition ",),
    "truncated whole": (b"Truncate and start at offset ",),
    "below high watermark": (b" below high watermark ",),
    "loaded": (b"Completed load of ",),
    "rolled": (b"Rolled new log segment at offset ",),
    "empty directory": (b"No meta.properties file under dir",),
    "retention": (b"retention time ", b"retention size ", b"Scheduling log segment "),
    "default changed": (b"entityPath: brokers/<default>",),
    "corrupt": (b"CorruptRecordException", b"Record is corrupt", b"Message is corrupt", b"checksum does not match"),
    "disk": (
        b"No space left on device",
        b"Input/output error",
        b"Read-only file system",
        b"Stopping serving logs in",
        b"Stopping serving replicas in",
        b"unrecoverable I/O error",
    ),
    "long name": (b"File name too long",),
    "malformed checkpoint": (b"CheckpointReadBuffer", b"line in checkpoint file"),
    "too large to copy": (b"RecordBatchTooLargeException",),
    "cannot copy": (b"Unexpected error occurred while processing data for partition",),
    "group": (b"Error loading offsets from", b"Error in loading offsets from"),
    "loading offsets": (b"Scheduling loading of offsets and group metadata from ",),
    "loaded offsets": (b"Finished loading offsets and group metadata from ", b"Scheduling unloading of offsets"),
    "expired offsets": (b" expired offsets in ",),
    "without controllers": (b"unable to register with the controller quorum",),
    "session": (
        b"ession expired",
        b"because its session has timed out",
        b"zookeeper state changed (Expired)",
        b"has expired, closing socket",
    ),
    "shrunk": (b"Shrinking ISR",),
    "isr not written": (b"skip updating ISR", b"have not heard from server in", b"read additional data from server"),
    "isr left": (b"New leader and ISR for partition",),
    "isr change lost": (b"Failed to enqueue ISR change state", b"Failed to enqueue `AlterIsr` request"),
    "refused": (b"NotEnoughReplicas",),
    "protocol": (b"inter.broker.protocol.version = ",),
    "broker id": (b"\tbroker.id = ", b"\tnode.id = ", b"Property broker.id is overridden to "),
    "leads": (b"become-leader transition", b"starts at leader epoch", b"starts at Leader Epoch"),
    "isr grew": (b"Expanding ISR", b"ISR updated to"),
    "created": (b"Created log for partition ",),
    "replica deleted": (b"scheduled for deletion", b"Deleted log for partition "),
    "topic deleted": (b"RemoveTopicRecord", b"Deletion of topic "),
    "records deleted": (b"due to client delete records request",),
    "transaction timed out": (b"ongoing transaction",),
    "fetcher failed": (b"Error due to", b"marked as failed"),
    "sequence refused": (b"OutOfOrderSequenceException",),
    "offsets out of order": (b"Out of order offsets found",),
    "other topic id": (b"but log already contained topic ID", b"InconsistentTopicIdException"),
    "migrated": (b"Completed migration of metadata from",),
    "quorum state": (b"Completed transition to ",),
    "compacted": (b"leaned log ",),
}
"""Kinds of lines, each with the strings that one of them has."""
KIND_OF: Final = [(literal, kind) for kind, literals in LITERALS.items() for literal in literals]
ANY: Final = "|".join(re.escape(one.decode()) for of_kind in LITERALS.values() for one in of_kind)
METADATA: Final = "__cluster_metadata"
"""The log that controllers recover too."""
LINES: Final[Mapping[str, re.Pattern[bytes]]] = {
    "truncated": re.compile(
        rb"Truncating to offset \d+|Truncating log \S+ to offset [1-9]\d*(?![\d])(?!.*has no effect)"
    ),
    # 2.3 to 3.4 say "to local high watermark", later releases "due to local high watermark" or "due to leader epoch".
    "announced to high watermark": re.compile(rb"Truncating partition \S+ .*to local high watermark"),
    "announced by epoch": re.compile(rb"Truncating partition \S+ .*due to leader epoch"),
    "retention": re.compile(
        rb"due to (?:log )?retention (?:time|size)|Scheduling log segment \d+ for log \S+ for deletion"
    ),
    # The last leader itself is elected "uncleanly" if it had crashed (KIP-966); no other replica has more.
    "unclean": re.compile(
        rb"potential data loss|leader: -1 -> (\d+)\b(?!,(?!.* elr: ).*lastKnownElr: \[\1\] )",
    ),
    "last known leader": re.compile(rb"leader: -1 -> (\d+),(?!.* elr: ).*lastKnownElr: \[\1\] "),
    "no leader": re.compile(rb"Failed to elect leader|failed to change state|failed to elect leader"),
    "recovering": re.compile(rb"Recovering unflushed segment"),
    # A recovery that cuts a torn end names the checksum too.
    "corrupt": re.compile(rb"^(?!.*Found invalid messages in log segment)"),
    "fetcher failed": re.compile(rb"ReplicaFetcher.*(?:Error due to|marked as failed)"),
    "transaction timed out": re.compile(rb"rollback (?:of )?ongoing transaction"),
    "topic deleted": re.compile(rb"RemoveTopicRecord|Deletion of topic \S+ successfully completed"),
    "compacted": re.compile(rb"leaned log (?!__)\S+-\d"),
    "replica deleted": re.compile(rb"Log for partition \S+ is renamed|Deleted log for partition"),
    "leads": re.compile(rb"become-leader transition for partition|starts at [Ll]eader [Ee]poch"),
    "expired offsets": re.compile(rb"Removed [1-9]\d* expired offsets"),
}
"""What a line of a kind must match beside."""
VERSION: Final = re.compile(r"Kafka version ?: (\d+(?:\.\d+)+)")
TIME: Final = re.compile(rb"\[(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[,.](\d{3}))?")
BEFORE: Final = 8192
"""Bytes before a line in which the statement that it belongs to is looked for."""
AROUND: Final = 40
"""Lines before and after a line of retention whose times are looked at."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that was found."""

    file: Path
    at: int
    """The byte in the file at which it begins."""
    text: str
    """Made safe to show."""
    time: datetime | None
    """What the log says: a broker's own clock."""


@dataclass(slots=True)
class LogFile:
    """What was found in one file."""

    file: Path
    lines: dict[str, list[LogLine]] = field(default_factory=dict)
    """By kind."""
    releases: list[str] = field(default_factory=list)
    lines_read: int = 0

    def of(self, kind: str) -> list[LogLine]:
        """The lines of a kind."""
        return self.lines.get(kind, [])

    @property
    def is_broker(self) -> bool:
        """Whether it is a broker's: a controller has no log to clean."""
        return bool(self.of("broker")) or any(METADATA not in line.text for line in self.of("recovering"))

    @property
    def crashes(self) -> int:
        """How often it started and found that it had not stopped cleanly."""
        return len({line.time and line.time.replace(microsecond=0) for line in self.of("recovering")})


def read(file: Path) -> LogFile:
    """The lines of a log that tell of a cause."""
    log = LogFile(file)
    for begin, piece in _pieces(file):
        log.lines_read += piece.count(b"\n") + (not piece.endswith(b"\n"))
        for at, line in _lines(piece):
            for kind in dict.fromkeys([kind for literal, kind in KIND_OF if literal in line]):
                must, kept = LINES.get(kind), log.lines.get(kind, [])
                if len(kept) < COUNTED and (not must or must.search(line)):
                    text = visible(line.rstrip()[:KEPT].decode("utf-8", "replace"))
                    log.lines.setdefault(kind, []).append(LogLine(file, begin + at, text, time_of(line)))
    log.releases = list(dict.fromkeys(VERSION.findall("\n".join(one.text for one in log.of("started")))))
    return log


def _pieces(file: Path) -> Iterator[tuple[int, bytes]]:
    """A file in pieces that end where lines do, each with where it begins."""
    begin, rest = 0, b""
    with file.open("rb", buffering=0) as opened:
        while more := opened.read(PIECE):
            end = more.rfind(b"\n") + 1
            if not end and len(rest) < 64 * PIECE:
                rest += more
                continue
            piece = rest + more[:end]
            yield begin, piece
            begin, rest = begin + len(piece), more[end:]
    if rest:
        yield begin, rest


def _lines(piece: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece that have any of the strings, each with where it begins: first blocks, then their lines."""
    ends = (piece.find(b"\n", at) + 1 or len(piece) for at in range(BLOCK, len(piece), BLOCK))
    places = np.array(sorted({0, *ends, len(piece)}), dtype=np.int32)
    lines: list[tuple[int, bytes]] = []
    for block in np.flatnonzero(_has_any(places, piece)):
        at = int(places[block])
        for line in piece[at : places[block + 1]].splitlines(keepends=True):
            lines.append((at, line))
            at += len(line)
    if not lines:
        return iter(())
    sizes = np.cumsum([0, *(len(line) for _, line in lines)], dtype=np.int32)
    chosen = _has_any(sizes, b"".join(line for _, line in lines))
    return (line for line, is_chosen in zip(lines, chosen, strict=True) if is_chosen)


def _has_any(places: npt.NDArray[np.int32], data: bytes) -> npt.NDArray[np.bool_]:
    """Which parts of data, that begin at these places, have any of the strings."""
    parts = pa.BinaryArray.from_buffers(pa.binary(), len(places) - 1, [None, pa.py_buffer(places), pa.py_buffer(data)])
    found: npt.NDArray[np.bool_] = pc.match_substring_regex(parts, ANY).to_numpy(zero_copy_only=False)
    return found


def time_of(line: bytes) -> datetime | None:
    """When a line says that it was written; None if it does not.

    >>> time_of(b"[2026-11-24 12:07:32,076] INFO x")
    datetime.datetime(2026, 11, 24, 12, 7, 32, 76000, tzinfo=datetime.timezone.utc)
    """
    found = TIME.search(line)
    if not found:
        return None
    try:
        at = datetime.fromisoformat(f"{found[1].decode()}T{found[2].decode()}").replace(tzinfo=UTC)
    except ValueError:
        return None
    return at.replace(microsecond=1000 * int(found[3] or b"0"))


def statement(line: LogLine) -> str:
    """The last line before a line without a time that has one: what an exception or its trace belongs to."""
    with line.file.open("rb") as opened:
        opened.seek(max(0, line.at - BEFORE))
        before = opened.read(min(line.at, BEFORE)).splitlines()
    return next((one.decode("utf-8", "replace") for one in reversed(before) if time_of(one) is not None), "")


def times_around(line: LogLine) -> list[datetime]:
    """The times of the lines round a line, in their order in the file."""
    reach = AROUND * 400
    with line.file.open("rb") as opened:
        opened.seek(max(0, line.at - reach))
        near = opened.read(2 * reach).split(b"\n")
    return [at for at in map(time_of, near) if at is not None]


def read_all(files: Iterable[Path]) -> list[LogFile]:
    """Every log that has anything in it."""
    return [read(file) for file in files if file.stat().st_size]
