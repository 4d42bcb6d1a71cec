"""Kafka's log segments as a Spark data source, of every message format and codec.

    spark.dataSource.register(KafkaSegments)
    spark.read.format("kafka-segments").load("/data/broker-*/kafka/orders-*")

One task reads one segment of one replica, in windows, and hands Arrow record batches to Spark, so memory does not
grow with files and nothing is shuffled. The files must be on a file system that every worker has under the same path.

Options:

- `path` (also what `load` is given): files, partition directories (`orders-0`), log directories, or glob patterns of
  these; several with commas
- `files`: `records`, the default, or what lies beside them: `epochs`, `offset-index`, `metadata` and more, each with
  columns of its own (`kafkafiles.files`)
- `topics`: topics to read, with commas; default all
- `onCorrupt`: `row`, the default: a row whose `problem` says what cannot be trusted and where; `fail`: the query fails
- `maxDecompressedBytes`: the most one batch may take after decompression, beyond that it is a problem; default 256 MiB
- `rows`: rows of one record batch, about; default 65536

Columns: where a record was found (`replica`: the name of the directory above the partition's, `topic`, `partition`,
`segment`: its base offset), then those of `kafkafiles.columns.SCHEMA` with the codec by name, then `problem`. A
row with a `problem` has no record: it has the position and the reason, and the records it spoils, if they could be
read, follow with `valid` false. Preallocated zeros and torn entries at the end of a log are problems too; a live
broker's files have them.

Naming a schema reads fewer columns, which is the only way to leave work out: `.schema("offset long, value binary")`.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafkafiles import codecs
from kafkafiles.batches import Corrupt
from kafkafiles.columns import DEFAULT_ROWS, SCHEMA, read_arrow_batches
from kafkafiles.errors import ParseError, RequestError
from kafkafiles.files import KINDS, Kind
from kafkafiles.replica import topic_partition_of
from kafkafiles.stored import segment_paths

FORMAT: Final = "kafka-segments"
RECORDS: Final = "records"
OPTIONS: Final = ("path", "files", "topics", "oncorrupt", "maxdecompressedbytes", "rows")

PLACE: Final = pa.schema(
    [
        pa.field("replica", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("segment", pa.int64()),
    ]
)
DDL: Final = (
    "replica string, topic string, partition int, segment long, "
    "offset long, position long, timestamp_ms long, timestamp_type byte, leader_epoch int, "
    "producer_id long, producer_epoch short, sequence int, transactional boolean, control short, "
    "key binary, value binary, headers array<struct<key: binary, value: binary>>, "
    "codec string, magic byte, valid boolean, problem string"
)
_HEADER: Final = pa.struct([pa.field("key", pa.binary()), pa.field("value", pa.binary())])
_OWN_TYPES: Final = {"codec": pa.string(), "headers": pa.list_(pa.field("element", _HEADER))}
ROW: Final = pa.schema(
    [
        *PLACE,
        *(pa.field(each.name, _OWN_TYPES.get(each.name, each.type)) for each in SCHEMA),
        pa.field("problem", pa.string()),
    ]
)
"""`DDL` in Arrow, exactly as Spark wants it: it compares schemas down to the name of an array's element."""


class KafkaSegments(DataSource):
    """The data source; register it with `spark.dataSource.register(KafkaSegments)`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        kind = _kind(self.options)
        return DDL if kind is None else kind.ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        reads = SegmentReader if _kind(self.options) is None else FileReader
        return reads(dict(self.options), tuple(schema.names))


@dataclass(frozen=True, slots=True)
class SegmentPartition(InputPartition):
    """One segment of one replica."""

    path: str
    replica: str
    topic: str
    partition: int

    @property
    def base_offset(self) -> int:
        return int(Path(self.path).name[:20])


class SegmentReader(DataSourceReader):
    """Lists segments in the driver, reads one in each task. RequestError on an option it cannot follow."""

    def __init__(self, options: Mapping[str, str], columns: tuple[str, ...]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - set(OPTIONS))
        if unknown:
            raise RequestError(f"{FORMAT}: unknown option {unknown[0]!r}; known: {', '.join(OPTIONS)}")
        kind = _kind(given)
        self.row = ROW if kind is None else kind.schema
        missing = [name for name in columns if name not in self.row.names]
        if missing:
            raise RequestError(f"{FORMAT}: there is no column {missing[0]!r}; known: {', '.join(self.row.names)}")
        self.columns = columns
        self.paths = [each.strip() for each in given.get("path", "").split(",") if each.strip()]
        self.topics = {each.strip() for each in given.get("topics", "").split(",") if each.strip()}
        self.fail = _choice(given.get("oncorrupt", "row"), ("row", "fail"), "onCorrupt") == "fail"
        self.limit_bytes = _number(given, "maxdecompressedbytes", codecs.DEFAULT_LIMIT_BYTES)
        self.rows = _number(given, "rows", DEFAULT_ROWS)
        if not self.paths:
            raise RequestError(f"{FORMAT}: no path; load a partition directory, as in .load('/data/kafka/orders-0')")

    def partitions(self) -> list[InputPartition]:
        found = {each.path: each for pattern in self.paths for each in _segments(pattern)}
        chosen = [each for each in found.values() if not self.topics or each.topic in self.topics]
        chosen.sort(key=lambda each: (each.topic, each.partition, each.replica, each.base_offset))
        return list(chosen)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, SegmentPartition):
            return  # Spark's own stand-in where no file was found
        for found in read_arrow_batches(Path(partition.path), rows=self.rows, limit_bytes=self.limit_bytes):
            if isinstance(found, Corrupt):
                if self.fail:
                    raise ParseError(f"{partition.path}: byte {found.position}: {found.kind}: {found.reason}")
                yield self._batch(partition, 1, _problem(found))
            else:
                columns = dict(zip(found.schema.names, found.columns, strict=True))
                yield self._batch(partition, found.num_rows, columns)

    def _batch(self, partition: SegmentPartition, rows: int, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
        place = {
            "replica": partition.replica,
            "topic": partition.topic,
            "partition": partition.partition,
            "segment": partition.base_offset,
        }
        fields = [ROW.field(name) for name in self.columns]
        arrays = [_column(field, rows, place, columns) for field in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


@dataclass(frozen=True, slots=True)
class FilePartition(InputPartition):
    """One file beside the segments; of the log directory itself if it has no topic."""

    path: str
    replica: str
    topic: str | None = None
    partition: int | None = None


class FileReader(SegmentReader):
    """The same for files of another kind, named by the option `files`."""

    def __init__(self, options: Mapping[str, str], columns: tuple[str, ...]) -> None:
        super().__init__(options, columns)
        self.kind_name = {name.lower(): value for name, value in options.items()}["files"]
        if self.topics and not KINDS[self.kind_name].of_partition:
            raise RequestError(f"{FORMAT}: topics is for files of partitions; filter {self.kind_name} by its columns")

    def partitions(self) -> list[InputPartition]:
        found = {each.path: each for pattern in self.paths for each in _files(pattern, KINDS[self.kind_name])}
        chosen = [each for each in found.values() if not self.topics or each.topic is None or each.topic in self.topics]
        chosen.sort(key=lambda each: (each.topic or "", each.partition or 0, each.replica, each.path))
        return list(chosen)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, FilePartition):
            return
        path = Path(partition.path)
        place: dict[str, Any] = {"replica": partition.replica, "file": path.name}
        if partition.topic is not None:
            place |= {"topic": partition.topic, "partition": partition.partition}
        for batch in KINDS[self.kind_name].batches(path, place, self.rows, self.fail):
            yield batch.select(list(self.columns))


def _kind(options: Mapping[str, str]) -> Kind | None:
    """What the option `files` names; None for records. RequestError if there is no such kind."""
    name = {key.lower(): value for key, value in options.items()}.get("files", RECORDS)
    if name != RECORDS and name not in KINDS:
        raise RequestError(f"{FORMAT}: files is {name!r}; known: {', '.join([RECORDS, *KINDS])}")
    return KINDS.get(name)


def _files(pattern: str, kind: Kind) -> Iterator[FilePartition]:
    """The files of one kind that a path or pattern stands for. RequestError if there is nothing of that name."""
    paths = sorted(Path(each).resolve() for each in glob.glob(pattern))
    if not paths:
        raise RequestError(f"{FORMAT}: there is no {pattern}")
    for path in paths:
        if path.is_file():
            if not any(path.match(each) for each in kind.patterns):
                raise RequestError(f"{FORMAT}: {path} is no such file; expected {' or '.join(kind.patterns)}")
            yield _file(path, kind)
            continue
        for directory in _partitions_under(path) if kind.of_partition else [path]:
            if kind.topic is None or topic_partition_of(directory)[0] == kind.topic:
                yield from (_file(each, kind) for each in kind.found_in(directory))


def _file(path: Path, kind: Kind) -> FilePartition:
    if not kind.of_partition:
        return FilePartition(str(path), path.parent.name)
    topic, partition = topic_partition_of(path.parent)
    return FilePartition(str(path), path.parent.parent.name, topic, partition)


def _column(field: pa.Field, rows: int, place: Mapping[str, Any], columns: Mapping[str, pa.Array]) -> pa.Array:
    if field.name in place:
        return pa.repeat(pa.scalar(place[field.name], field.type), rows)
    if field.name not in columns:
        return pa.nulls(rows, field.type)
    column = columns[field.name]
    return column if column.type == field.type and field.name != "headers" else column.cast(field.type)


def _problem(found: Corrupt) -> dict[str, pa.Array]:
    text = f"{found.kind}: {found.reason} ({found.size} bytes)"
    position = pa.array(np.array([found.position], dtype=np.int64))
    return {"position": position, "valid": pa.array([False]), "problem": pa.array([text])}


def _segments(pattern: str) -> Iterator[SegmentPartition]:
    """The segments that one path or pattern stands for. RequestError if there are none."""
    count = 0
    for path in sorted(Path(each) for each in glob.glob(pattern)):
        for segment in _segments_under(path):
            count += 1
            yield segment
    if not count and not glob.glob(pattern):
        raise RequestError(f"{FORMAT}: there is no {pattern}")


def _segments_under(path: Path) -> Iterator[SegmentPartition]:
    if path.is_file():
        yield _segment(path)
        return
    for directory in _partitions_under(path):
        yield from map(_segment, segment_paths(directory))


def _partitions_under(path: Path) -> list[Path]:
    """A partition's directory, or those in a log directory (which may well be called `broker-1`); nothing deeper."""
    children = [child for child in sorted(path.iterdir()) if child.is_dir() and _is_partition(child)]
    return [path] if not children and _is_partition(path) else children


def _is_partition(path: Path) -> bool:
    try:
        topic_partition_of(path)
    except ParseError:
        return False
    return True


def _segment(path: Path) -> SegmentPartition:
    if path.suffix != ".log" or not path.stem.isdigit() or len(path.stem) != 20:
        raise RequestError(f"{FORMAT}: {path} is not a segment; expected 20 digits and '.log'")
    directory = path.resolve().parent
    topic, partition = topic_partition_of(directory)
    return SegmentPartition(str(path.resolve()), directory.parent.name, topic, partition)


def _choice(value: str, choices: tuple[str, ...], name: str) -> str:
    if value not in choices:
        raise RequestError(f"{FORMAT}: {name} is {value!r}; it may be {' or '.join(choices)}")
    return value


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    value = given.get(name, str(default))
    if not value.isdigit() or int(value) < 1:
        raise RequestError(f"{FORMAT}: {name} is {value!r}; it must be a number above 0")
    return int(value)
