"""The files beside a segment: offset and time indexes, aborted transactions, producer state.

`.index` and `.timeindex` are sparse and made by the broker that has the replica, so replicas' indexes differ
legitimately. The only wrong index is one whose entry is not what the `.log` beside it holds
(kafkafiles/index_checks.py). Both are memory-mapped at their largest size while the segment is active and cut when it
rolls or the broker stops, so a live broker's file ends in zeros. How many of its entries count, only that broker's
memory knows: when a log is truncated the entries beyond stay in the file until others overwrite them (seen after
truncations on 0.10.2.2 and 2.8.2). A file that is still open, `is_open`, can therefore not be compared with its log. A
crash leaves such a file too, and the broker rebuilds it when it returns.

| file | entry | bytes |
|---|---|---|
| .index | relative offset int32, position int32 | 8 |
| .timeindex (0.10.1) | timestamp int64, relative offset int32 | 12 |
| .txnindex (0.11) | version int16, producer id, first offset, last offset, last stable offset int64 | 34 |
| .snapshot (0.11) | version int16, CRC-32C uint32, count int32, producers | 10 + … |
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkafiles.checkpoints import reader_of
from kafkafiles.crc import crc32c
from kafkafiles.errors import ParseError

_INDEX: Final = struct.Struct(">Ii")
_TIME_INDEX: Final = struct.Struct(">qI")
INDEX_ENTRY_BYTES: Final = _INDEX.size
"""Of an offset index: the offset, and in the second half the position in the segment."""
_ABORTED: Final = struct.Struct(">hqqqq")
_SNAPSHOT: Final = struct.Struct(">hIi")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_CRC_FROM: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The batch at or before `offset` begins at `position` of the .log (bytes)."""

    offset: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeIndexEntry:
    """No record up to `offset` has a timestamp above `timestamp_ms`."""

    timestamp_ms: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTransaction:
    """A transaction that was aborted: its producer, the offsets it spans, the last stable offset at its end."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """What a broker remembers of one producer. `current_transaction_first_offset` is None outside a transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    current_transaction_first_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSnapshot:
    """All producers a broker remembered for one partition at the offset in the file's name."""

    version: int
    producers: tuple[ProducerState, ...]


def base_offset_of(path: Path) -> int:
    """The offset in the name of a segment or of a file beside it (20 digits). Raises ParseError."""
    stem = path.name.split(".", 1)[0]
    if len(stem) == 20 and stem.isascii() and stem.isdigit():
        return int(stem)
    raise ParseError(f"{path}: not named after an offset of 20 digits")


def is_open(data: bytes) -> bool:
    """Whether an .index or .timeindex still has its preallocated size: it may hold entries that no longer count."""
    return data.endswith(bytes(_TIME_INDEX.size))


def parse_index(data: bytes, base_offset: int, source: str = ".index") -> list[IndexEntry]:
    """Entries up to the zero padding; of an open file, up to the first that does not ascend.

    Raises ParseError if a closed file does not ascend, or its size is not a multiple of 8.
    """
    entries: list[IndexEntry] = []
    for relative, position in _entries(data, _INDEX, source):
        entry = IndexEntry(offset=base_offset + relative, position=position)
        before = entries[-1] if entries else IndexEntry(offset=-1, position=-1)
        if entry.offset <= before.offset or entry.position <= before.position:
            if is_open(data):
                break
            raise ParseError(
                f"{source}: offset {entry.offset} at {entry.position} after {before.offset} at {before.position}"
            )
        entries.append(entry)
    return entries


def parse_time_index(data: bytes, base_offset: int, source: str = ".timeindex") -> list[TimeIndexEntry]:
    """Entries up to the zero padding; of an open file, up to the first that goes back.

    Raises ParseError if a closed file goes back, or its size is not a multiple of 12.
    """
    entries: list[TimeIndexEntry] = []
    for timestamp, relative in _entries(data, _TIME_INDEX, source):
        entry = TimeIndexEntry(timestamp_ms=timestamp, offset=base_offset + relative)
        before = entries[-1] if entries else entry
        if entry.offset < before.offset or entry.timestamp_ms < before.timestamp_ms:
            if is_open(data):
                break
            raise ParseError(
                f"{source}: {entry.timestamp_ms} ms at offset {entry.offset} "
                f"after {before.timestamp_ms} ms at {before.offset}"
            )
        entries.append(entry)
    return entries


def _entries(data: bytes, form: struct.Struct, source: str) -> list[tuple[int, int]]:
    """Fixed-size entries without the zeros that pad an open file."""
    whole = len(data) - len(data) % form.size
    used = len(data.rstrip(b"\x00"))
    if used > whole:
        raise ParseError(f"{source}: {len(data)} bytes, not a multiple of {form.size}")
    count = -(-used // form.size)
    return [form.unpack_from(data, index * form.size) for index in range(count)]


def parse_transaction_index(data: bytes, source: str = ".txnindex") -> list[AbortedTransaction]:
    """Aborted transactions in the order in which they ended (KIP-98)."""
    if len(data) % _ABORTED.size:
        raise ParseError(f"{source}: {len(data)} bytes, not a multiple of {_ABORTED.size}")
    found = []
    for version, producer, first, last, stable in _ABORTED.iter_unpack(data):
        if version != 0:
            raise ParseError(f"{source}: version {version}; known is 0")
        found.append(
            AbortedTransaction(producer_id=producer, first_offset=first, last_offset=last, last_stable_offset=stable)
        )
    return found


def parse_snapshot(data: bytes, source: str = ".snapshot") -> ProducerSnapshot:
    """Producer state as a broker saved it (KIP-98). Raises ParseError on a wrong version, size or checksum."""
    if len(data) < _SNAPSHOT.size:
        raise ParseError(f"{source}: {len(data)} bytes, less than the header's {_SNAPSHOT.size}")
    version, crc, count = _SNAPSHOT.unpack_from(data)
    if version != 1:
        raise ParseError(f"{source}: version {version}; known is 1")
    computed = crc32c(data[_SNAPSHOT_CRC_FROM:])
    if computed != crc:
        raise ParseError(f"{source}: checksum {crc:#010x}, computed {computed:#010x}")
    if count < 0 or _SNAPSHOT.size + count * _PRODUCER.size != len(data):
        raise ParseError(f"{source}: {count} producers announced in {len(data)} bytes")
    producers = []
    for row in _PRODUCER.iter_unpack(data[_SNAPSHOT.size :]):
        producer, epoch, sequence, offset, delta, timestamp, coordinator, first = row
        producers.append(
            ProducerState(
                producer_id=producer,
                producer_epoch=epoch,
                last_sequence=sequence,
                last_offset=offset,
                offset_delta=delta,
                timestamp_ms=timestamp,
                coordinator_epoch=coordinator,
                current_transaction_first_offset=None if first < 0 else first,
            )
        )
    return ProducerSnapshot(version=version, producers=tuple(producers))


read_index = reader_of(lambda data, source: parse_index(data, base_offset_of(Path(source)), source))
read_time_index = reader_of(lambda data, source: parse_time_index(data, base_offset_of(Path(source)), source))
read_transaction_index = reader_of(parse_transaction_index)
read_snapshot = reader_of(parse_snapshot)
