"""What lies beside segments, as tables: files that brokers wrote, and damaged ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from kafkafiles.errors import ParseError, RequestError
from kafkafiles.files import KINDS
from kafkafiles.segments import FileReader, KafkaSegments, SegmentPartition, SegmentReader
from tests.unit.kafkafiles.test_indexes import index

DATA = Path(__file__).parents[2] / "data" / "segments"


def read(kind: str, path: Path | str, **options: str) -> list[dict[str, Any]]:
    """All rows, as a task would hand them to Spark."""
    reader = FileReader({"files": kind, "path": str(path), **options}, tuple(KINDS[kind].schema.names))
    rows: list[dict[str, Any]] = []
    for partition in reader.partitions():
        for batch in reader.read(partition):
            assert batch.schema == KINDS[kind].schema
            rows += batch.to_pylist()
    return rows


@pytest.fixture
def log_directory(tmp_path: Path) -> Path:
    """Of 4.3.1, with the marker under its own name."""
    copied = shutil.copytree(DATA / "4.3.1", tmp_path / "broker-1")
    (copied / "kafka_cleanshutdown").rename(copied / ".kafka_cleanshutdown")
    return copied


def test_files_of_partitions(log_directory: Path) -> None:
    of = log_directory / "transactions-0"
    place = {"replica": "broker-1", "topic": "transactions", "partition": 0, "problem": None}
    (epoch,) = read("epochs", of)
    assert epoch == place | {"file": "leader-epoch-checkpoint", "epoch": 0, "start_offset": 0}
    aborted = read("aborted", of)
    assert aborted
    assert all(row["first_offset"] <= row["last_offset"] for row in aborted)
    states = read("producers", of)
    assert {row["snapshot_offset"] for row in states} == {12}
    assert all(row["last_offset"] < 12 and row["producer_id"] >= 0 for row in states)
    times = read("time-index", of)
    assert [row["offset"] for row in times] == sorted(row["offset"] for row in times)
    assert read("time-index", of / "00000000000000000000.timeindex") == times
    (of / "00000000000000000000.index").write_bytes(index((3, 100), (9, 300)) + bytes(80))
    assert [(row["offset"], row["position"], row["problem"]) for row in read("offset-index", of)] == [
        (3, 100, None),
        (9, 300, None),
    ]


def test_a_log_directory_is_all_its_partitions(log_directory: Path) -> None:
    topics = {row["topic"] for row in read("epochs", log_directory)}
    assert {"transactions", "append-time", "__cluster_metadata"} <= topics
    assert {row["topic"] for row in read("epochs", log_directory, topics="transactions")} == {"transactions"}


def test_a_log_directory_whose_name_looks_like_a_partition(log_directory: Path) -> None:
    found = SegmentReader({"path": str(log_directory)}, ()).partitions()
    assert {"transactions", "append-time"} <= {each.topic for each in found if isinstance(each, SegmentPartition)}


def test_files_of_the_log_directory(log_directory: Path) -> None:
    rows = read("offsets", log_directory)
    kept = [row for row in rows if (row["topic"], row["file"]) == ("transactions", "replication-offset-checkpoint")]
    assert kept == [
        {
            "replica": "broker-1",
            "file": "replication-offset-checkpoint",
            "topic": "transactions",
            "partition": 0,
            "offset": 12,
            "problem": None,
        }
    ]
    assert "recovery-point-offset-checkpoint" in {row["file"] for row in rows}
    (marker,) = read("clean-shutdown", log_directory)
    assert (marker["file"], marker["problem"], marker["broker_epoch"] is not None) == (
        ".kafka_cleanshutdown",
        None,
        True,
    )


def test_the_metadata_log(log_directory: Path) -> None:
    rows = read("metadata", log_directory)
    assert [row["offset"] for row in rows] == list(range(len(rows)))
    assert {"TOPIC_RECORD", "PARTITION_RECORD", "REGISTER_BROKER_RECORD"} <= {row["kind"] for row in rows}
    (named,) = [
        json.loads(row["fields"])
        for row in rows
        if row["kind"] == "TOPIC_RECORD" and json.loads(row["fields"])["name"] == "transactions"
    ]
    assert named["topic_id"]
    assert len(read("metadata", log_directory, rows="7")) == len(rows)


def test_the_log_of_groups(tmp_path: Path) -> None:
    shutil.copytree(DATA.parent / "group-logs" / "4.3.1", tmp_path / "broker-1")
    rows = read("groups", tmp_path / "broker-1")
    assert [row["offset"] for row in rows] == list(range(len(rows)))
    commits = [row for row in rows if row["kind"] == "OFFSET_COMMIT"]
    assert json.loads(commits[0]["key"]) == {"group": "g", "topic": "none-client", "partition": 0}
    assert [json.loads(row["fields"])["offset"] for row in commits] == [3, 4, 5, 6, 7, 8]
    assert {row["kind"] for row in rows if row["producer_id"] is not None} == {"OFFSET_COMMIT", "COMMIT", "ABORT"}
    assert [row["kind"] for row in rows if row["fields"] is None][:1] == ["CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT"]
    log = tmp_path / "broker-1" / "__consumer_offsets-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-20])
    (torn,) = [row["problem"] for row in read("groups", log) if row["problem"]]
    assert "torn" in torn


def test_what_is_wrong_is_a_row_or_fails(log_directory: Path) -> None:
    epochs = log_directory / "transactions-0" / "leader-epoch-checkpoint"
    epochs.write_bytes(b"0\n3\n0 0\n")
    (row,) = read("epochs", epochs)
    assert (row["epoch"], "announces 3 rows" in row["problem"]) == (None, True)
    with pytest.raises(ParseError, match="announces 3 rows"):
        read("epochs", epochs, onCorrupt="fail")
    log = log_directory / "__cluster_metadata-0" / f"{0:020d}.log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-20] + bytes((whole[-20] ^ 1,)) + whole[-19:] + b"\x01")
    problems = [row["problem"] for row in read("metadata", log) if row["problem"]]
    assert len(problems) == 2
    assert "checksum" in problems[0]
    assert "torn" in problems[1]


def test_wrong_options_and_paths(log_directory: Path) -> None:
    with pytest.raises(RequestError, match="files is 'indexes'; known: records, offset-index"):
        KafkaSegments({"files": "indexes"}).schema()
    with pytest.raises(RequestError, match="topics is for files of partitions"):
        read("offsets", log_directory, topics="t")
    with pytest.raises(RequestError, match="there is no /nowhere"):
        read("epochs", "/nowhere")
    with pytest.raises(RequestError, match=r"is no such file; expected leader-epoch-checkpoint"):
        read("epochs", log_directory / "meta.properties")
    with pytest.raises(RequestError, match="no column 'key'"):
        FileReader({"files": "epochs", "path": "x"}, ("key",))


def test_the_option_chooses_reader_and_schema() -> None:
    for name, kind in KINDS.items():
        source = KafkaSegments({"files": name, "path": "x"})
        assert [column.split()[0] for column in source.schema().split(", ")] == kind.schema.names
        assert isinstance(source.reader(StructType([])), FileReader)
    assert type(KafkaSegments({"path": "x"}).reader(StructType([]))) is SegmentReader
