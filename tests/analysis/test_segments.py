"""The data source in a Spark session, on files that brokers wrote and on damaged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType, _parse_datatype_string

from kafkafiles import columns
from kafkafiles.errors import RequestError
from kafkafiles.files import KINDS
from kafkafiles.segments import DDL, KafkaSegments, SegmentReader
from tests.unit.kafkafiles.encode import R, batch

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
DATA = Path(__file__).parents[1] / "data" / "segments"


@pytest.fixture(scope="module")
def spark(session: SparkSession) -> SparkSession:
    session.dataSource.register(KafkaSegments)
    return session


def put(directory: Path, segments: dict[int, bytes]) -> Path:
    directory.mkdir(parents=True)
    for base, data in segments.items():
        (directory / f"{base:020d}.log").write_bytes(data)
    return directory


@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_every_row_of_a_log_directory(spark, version):
    read = spark.read.format("kafka-segments").load(str(DATA / version))
    rows = read.filter("topic not like '\\_\\_%'").collect()
    topics = {row.topic for row in rows}
    assert {"gzip-client", "snappy-broker", "lz4-client", "append-time"} <= topics
    assert len(rows) == 12 * len(topics)
    for topic in topics:
        segment = DATA / version / f"{topic}-0" / "00000000000000000000.log"
        expected, _ = columns.table(segment.read_bytes())
        mine = sorted((row.asDict(recursive=True) for row in rows if row.topic == topic), key=lambda row: row["offset"])
        for row, plain in zip(mine, expected.to_pylist(), strict=True):
            assert {name: normal(row[name]) for name in plain} == {name: normal(value) for name, value in plain.items()}
            assert (row["replica"], row["partition"], row["segment"], row["problem"]) == (version, 0, 0, None)


def normal(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value


def test_what_lies_beside_segments(spark):
    """Every kind of file of a log directory, with all its columns."""
    for kind in KINDS:
        folder = DATA.parent / "group-logs" if kind == "groups" else DATA
        read = spark.read.format("kafka-segments").option("files", kind).load(str(folder / "4.3.1"))
        rows = read.collect()
        assert read.columns == KINDS[kind].schema.names
        assert rows or kind in ("clean-shutdown", "offset-index")
        assert [row.problem for row in rows if row.problem is not None] == []
    narrow = spark.read.format("kafka-segments").option("files", "epochs").schema("topic string, epoch int")
    assert {row.topic for row in narrow.load(str(DATA / "4.3.1")).collect()} >= {"transactions"}


def test_where_there_is_nothing_nothing_is_read(spark, tmp_path):
    (tmp_path / "t-0").mkdir()
    assert spark.read.format("kafka-segments").load(str(tmp_path)).count() == 0
    assert spark.read.format("kafka-segments").option("files", "epochs").load(str(tmp_path)).count() == 0


def test_one_task_a_segment_and_choice_of_topics_and_columns(spark, tmp_path):
    for broker in ("b1", "b2"):
        put(tmp_path / broker / "t-0", {0: batch(0, [R()]), 1: batch(1, [R(value=b"x")])})
        put(tmp_path / broker / "u-3", {0: batch(0, [R()])})
    reader = spark.read.format("kafka-segments").option("topics", "t")
    found = reader.schema("replica string, offset long, value binary").load(f"{tmp_path}/b*")
    assert found.rdd.getNumPartitions() == 4
    assert sorted((row.replica, row.offset, bytes(row.value)) for row in found.collect()) == [
        ("b1", 0, b"v"),
        ("b1", 1, b"x"),
        ("b2", 0, b"v"),
        ("b2", 1, b"x"),
    ]


def test_what_is_wrong_is_a_row(spark, tmp_path):
    data = batch(0, [R()]) + batch(1, [R()], crc=1) + bytes(50)
    put(tmp_path / "b" / "t-0", {0: data})
    read = spark.read.format("kafka-segments").load(str(tmp_path / "b" / "t-0"))
    rows = read.select("offset", "position", "valid", "problem").collect()
    assert [(row.offset, row.position, row.valid, (row.problem or "").partition(":")[0]) for row in rows] == [
        (None, 69, False, "checksum"),  # before the record batch that has the rows it spoils
        (0, 0, True, ""),
        (1, 69, False, ""),
        (None, 138, False, "zero-padding"),
    ]


def test_corruption_may_fail_the_query(spark, tmp_path):
    path = put(tmp_path / "t-0", {0: batch(0, [R()], crc=1)})
    read = spark.read.format("kafka-segments").option("onCorrupt", "fail").load(str(path))
    with pytest.raises(Exception, match="byte 0: checksum"):
        read.collect()


def test_the_schema_in_words_is_the_schema_in_arrow():
    from kafkafiles.segments import ROW

    parsed = _parse_datatype_string(DDL)
    assert isinstance(parsed, StructType)
    assert parsed.names == ROW.names


@pytest.mark.parametrize(
    ("options", "columns", "message"),
    [
        ({}, (), "no path"),
        ({"path": "/nowhere", "topic": "t"}, (), "unknown option 'topic'"),
        ({"path": "x", "rows": "many"}, (), "rows is 'many'"),
        ({"path": "x", "onCorrupt": "ignore"}, (), "it may be row or fail"),
        ({"path": "x"}, ("offsets",), "no column 'offsets'"),
    ],
)
def test_wrong_options(options, columns, message):
    with pytest.raises(RequestError, match=message):
        SegmentReader(options, columns)


def test_paths_that_are_not_there_and_files_that_are_no_segments(tmp_path):
    with pytest.raises(RequestError, match="there is no /nowhere"):
        SegmentReader({"path": "/nowhere"}, ()).partitions()
    other = tmp_path / "t-0" / "some.log"
    put(tmp_path / "t-0", {}).joinpath("some.log").write_bytes(b"")
    with pytest.raises(RequestError, match="not a segment"):
        SegmentReader({"path": str(other)}, ()).partitions()
    assert SegmentReader({"path": str(tmp_path / "t-0")}, ()).partitions() == []
