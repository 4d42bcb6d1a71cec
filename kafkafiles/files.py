"""The files beside Kafka's segments as tables: the kinds that `kafka-segments` reads with the option `files`.

    spark.read.format("kafka-segments").option("files", "epochs").load("/data/broker-*/kafka")

- `offset-index`, `time-index`: the entries of .index and .timeindex
- `aborted`: the aborted transactions of .txnindex
- `producers`: the producers' states in .snapshot
- `epochs`: the leader epochs of leader-epoch-checkpoint
- `offsets`: the partitions' offsets in replication-, recovery-point-, log-start- and cleaner-offset-checkpoint
- `clean-shutdown`: .kafka_cleanshutdown, a row for each log directory that has it
- `metadata`: the records of the KRaft metadata log and of its snapshots, their fields as JSON
- `groups`: the records of `__consumer_offsets`, their keys and fields as JSON

Every row has the `replica`, as with records, and the `file`; files of a partition's directory have its `topic` and
`partition` too. A file that cannot be read gives a row with a `problem` and nothing else, after those that could. Zeros
at the end of an index that its broker has open are no problem: they are how such a file looks.

All but the two logs are small (a broker bounds an index at 10 MiB) and are read whole; these are read in windows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from kafkafiles import checkpoints, group_log, indexes, metadata_log
from kafkafiles.batches import Corrupt
from kafkafiles.columns import read_windows
from kafkafiles.errors import ParseError

Row: TypeAlias = tuple[Any, ...]
Fields: TypeAlias = tuple[tuple[str, pa.DataType], ...]

METADATA_TOPIC: Final = "__cluster_metadata"
_SQL: Final = {pa.int64(): "long", pa.int32(): "int", pa.int16(): "short", pa.string(): "string"}
_LONG, _INT, _SHORT, _TEXT = pa.int64(), pa.int32(), pa.int16(), pa.string()
_PLACE: Final[Fields] = (("replica", _TEXT), ("topic", _TEXT), ("partition", _INT), ("file", _TEXT))
_PLACE_OF_LOG_DIRECTORY: Final[Fields] = (("replica", _TEXT), ("file", _TEXT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of file: where it lies (`patterns`, in partitions' directories or in the log directory itself), and how
    it becomes rows of `fields`. `rows` gives a text for what is wrong, and raises ParseError if the rest is lost.
    """

    patterns: tuple[str, ...]
    fields: Fields
    rows: Callable[[Path], Iterator[Row | str]]
    of_partition: bool = True
    topic: str | None = None

    @property
    def schema(self) -> pa.Schema:
        place = _PLACE if self.of_partition else _PLACE_OF_LOG_DIRECTORY
        return pa.schema([*place, *self.fields, ("problem", _TEXT)])

    @property
    def ddl(self) -> str:
        """The schema as Spark wants it in words."""
        return ", ".join(f"{each.name} {_SQL[each.type]}" for each in self.schema)

    def found_in(self, directory: Path) -> list[Path]:
        """The files of this kind in one directory."""
        return sorted(path for pattern in self.patterns for path in directory.glob(pattern) if path.is_file())

    def batches(self, path: Path, place: Mapping[str, Any], rows: int, fail: bool) -> Iterator[pa.RecordBatch]:
        """The file in record batches of `schema`. With `fail`, ParseError on what is wrong instead of a row."""
        names = [name for name, _ in self.fields]
        gathered: list[dict[str, Any]] = []
        for row in self._all_rows(path):
            if isinstance(row, str):
                if fail:
                    raise ParseError(row)
                gathered.append({**place, "problem": row})
            else:
                gathered.append({**place, **dict(zip(names, row, strict=True))})
            if len(gathered) >= rows:
                yield pa.RecordBatch.from_pylist(gathered, self.schema)
                gathered = []
        if gathered:
            yield pa.RecordBatch.from_pylist(gathered, self.schema)

    def _all_rows(self, path: Path) -> Iterator[Row | str]:
        try:
            yield from self.rows(path)
        except ParseError as error:
            yield str(error)
        except OSError as error:
            yield f"{path}: cannot be read: {error.strerror or error}"


def _offset_index(path: Path) -> Iterator[Row]:
    yield from ((entry.offset, entry.position) for entry in indexes.read_index(path))


def _time_index(path: Path) -> Iterator[Row]:
    yield from ((entry.timestamp_ms, entry.offset) for entry in indexes.read_time_index(path))


def _aborted(path: Path) -> Iterator[Row]:
    yield from map(astuple, indexes.read_transaction_index(path))


def _producers(path: Path) -> Iterator[Row]:
    offset = indexes.base_offset_of(path)
    yield from ((offset, *astuple(each)) for each in indexes.read_snapshot(path).producers)


def _epochs(path: Path) -> Iterator[Row]:
    yield from map(astuple, checkpoints.read_leader_epoch_checkpoint(path).entries)


def _offsets(path: Path) -> Iterator[Row]:
    found = checkpoints.read_offset_checkpoint(path).offsets
    yield from ((topic, partition, offset) for (topic, partition), offset in found.items())


def _clean_shutdown(path: Path) -> Iterator[Row]:
    yield (checkpoints.read_clean_shutdown(path).broker_epoch,)


def _metadata(path: Path) -> Iterator[Row | str]:
    for window in read_windows(path):
        if isinstance(window, Corrupt):
            yield f"{path}: byte {window.position}: {window.kind}: {window.reason} ({window.size} bytes)"
            continue
        events, _ = metadata_log.decode_from(window.data, window.position)
        for event in events:
            if event.kind == "CORRUPT":
                yield f"{path}: offset {event.offset}: {event.fields.get('reason')}"
            else:
                fields = json.dumps(event.fields, default=_as_json)
                yield (event.offset, event.timestamp_ms, event.epoch, event.kind, event.version, fields)


def _groups(path: Path) -> Iterator[Row | str]:
    for window in read_windows(path):
        if isinstance(window, Corrupt):
            yield f"{path}: byte {window.position}: {window.kind}: {window.reason} ({window.size} bytes)"
            continue
        for event in group_log.events_of(window.data):
            if event.kind == "CORRUPT":
                yield f"{path}: offset {event.offset}: {(event.fields or {}).get('reason')}"
            else:
                key = json.dumps(event.key, default=_as_json)
                fields = None if event.fields is None else json.dumps(event.fields, default=_as_json)
                producer_id, producer_epoch = event.producer or (None, None)
                place = (event.offset, event.timestamp_ms, event.kind, event.version)
                yield (*place, key, fields, producer_id, producer_epoch)


def _as_json(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


KINDS: Final[Mapping[str, Kind]] = {
    "offset-index": Kind(patterns=("*.index",), fields=(("offset", _LONG), ("position", _INT)), rows=_offset_index),
    "time-index": Kind(
        patterns=("*.timeindex",), fields=(("timestamp_ms", _LONG), ("offset", _LONG)), rows=_time_index
    ),
    "aborted": Kind(
        patterns=("*.txnindex",),
        fields=(
            ("producer_id", _LONG),
            ("first_offset", _LONG),
            ("last_offset", _LONG),
            ("last_stable_offset", _LONG),
        ),
        rows=_aborted,
    ),
    "producers": Kind(
        patterns=("*.snapshot",),
        fields=(
            ("snapshot_offset", _LONG),
            ("producer_id", _LONG),
            ("producer_epoch", _SHORT),
            ("last_sequence", _INT),
            ("last_offset", _LONG),
            ("offset_delta", _INT),
            ("timestamp_ms", _LONG),
            ("coordinator_epoch", _INT),
            ("current_transaction_first_offset", _LONG),
        ),
        rows=_producers,
    ),
    "epochs": Kind(
        patterns=(checkpoints.LEADER_EPOCHS,), fields=(("epoch", _INT), ("start_offset", _LONG)), rows=_epochs
    ),
    "offsets": Kind(
        patterns=(
            checkpoints.HIGH_WATERMARKS,
            checkpoints.RECOVERY_POINTS,
            checkpoints.LOG_START_OFFSETS,
            checkpoints.CLEANER_OFFSETS,
        ),
        fields=(("topic", _TEXT), ("partition", _INT), ("offset", _LONG)),
        rows=_offsets,
        of_partition=False,
    ),
    "clean-shutdown": Kind(
        patterns=(checkpoints.CLEAN_SHUTDOWN,),
        fields=(("broker_epoch", _LONG),),
        rows=_clean_shutdown,
        of_partition=False,
    ),
    "metadata": Kind(
        patterns=("[0-9]*.log", "[0-9]*-[0-9]*.checkpoint"),
        fields=(
            ("offset", _LONG),
            ("timestamp_ms", _LONG),
            ("epoch", _INT),
            ("kind", _TEXT),
            ("version", _INT),
            ("fields", _TEXT),
        ),
        rows=_metadata,
        topic=METADATA_TOPIC,
    ),
    "groups": Kind(
        patterns=("[0-9]*.log",),
        fields=(
            ("offset", _LONG),
            ("timestamp_ms", _LONG),
            ("kind", _TEXT),
            ("version", _INT),
            ("key", _TEXT),
            ("fields", _TEXT),
            ("producer_id", _LONG),
            ("producer_epoch", _INT),
        ),
        rows=_groups,
        topic=group_log.TOPIC,
    ),
}
