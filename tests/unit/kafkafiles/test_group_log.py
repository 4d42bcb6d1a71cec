"""The coordinators' topic as events: files of real brokers held against Kafka's own tool, records of Kafka's own
classes, and small logs made by hand.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles import group_log
from kafkafiles.batches import Corrupt, scan_batches
from kafkafiles.field_tables import Fields
from kafkafiles.group_log import Commit, commits_of, events_of, generations_of, is_whole, read_events
from kafkafiles.group_records import decode_record
from tests.unit.kafkafiles import dumps
from tests.unit.kafkafiles.encode import R, batch, control_key

DATA = Path(__file__).parents[2] / "data"
LOGS = sorted((DATA / "group-logs").iterdir())
RECORDS = [
    line.split("\t")
    for path in sorted((DATA / "group-records").glob("*.tsv"))
    for line in path.read_text().splitlines()
]


# Held against Kafka


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_every_record_is_read_as_the_brokers_own_tool_reads_it(log: Path) -> None:
    assert dumps.compare_directory(log / "__consumer_offsets-0") > 3


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: f"{one[0]}-{one[1]}")
def test_every_type_and_version_is_read_as_kafkas_own_classes_write_it(record: list[str]) -> None:
    name, version, key, value, key_json, value_json = record
    found = decode_record(bytes.fromhex(key), bytes.fromhex(value))
    assert (found.kind, found.version) == (dumps.snake(name).upper(), int(version))
    assert dumps.plain(found.key) == json.loads(key_json)
    mine, theirs = dumps.plain(found.fields or {}), json.loads(value_json)
    assert {one: mine[one] for one in theirs} == theirs
    assert all(mine[one] in (None, 0, -1) for one in mine.keys() - theirs.keys())  # tagged fields with their defaults


def test_the_records_have_every_type_of_the_table() -> None:
    assert len({record[0] for record in RECORDS}) == 23


# Putting together


def log_of(version: str) -> list[group_log.GroupEvent]:
    return list(read_events(DATA / "group-logs" / version / "__consumer_offsets-0"))


def test_what_was_committed_counts_unless_its_transaction_was_aborted() -> None:
    for version in ("0.11.0.3", "2.8.2", "3.9.2", "4.3.1"):
        found = [(one.offset, one.standing) for one in commits_of(log_of(version)) if one.group == "g"]
        assert found == [(3, "counts"), (4, "counts"), (5, "counts"), (6, "aborted")], version


def test_members_and_their_partitions() -> None:
    for version in ("0.10.2.2", "0.11.0.3", "2.8.2", "3.9.2", "4.3.1"):
        generations = [one for one in generations_of(log_of(version)) if one.group == "g"]
        first = next(one for one in generations if len(one.members) == 2)
        assert {frozenset({("none-client", 0)}), frozenset({("gzip-client", 0)})} == {
            member.partitions for member in first.members
        }
        assert [one.generation for one in generations] == sorted(one.generation for one in generations)


def test_a_static_member_is_named() -> None:
    (only,) = [one for one in generations_of(log_of("2.8.2")) if one.group == "static" and one.members]
    (member,) = only.members
    assert (member.instance, member.client_id) == ("i", "rdkafka")


def test_a_group_with_the_consumer_protocol_has_the_members_of_its_records() -> None:
    generations = [one for one in generations_of(log_of("4.3.1")) if one.group == "new"]
    assert [sorted(len(member.partitions) for member in one.members) for one in generations] == [
        [0, 2],
        [0, 2],
        [0, 2],  # one is to give a partition back, and has it as long
        [0, 1],
        [1, 1],
        [1],
        [],
    ]
    assert [one.generation for one in generations] == [2, 3, 3, 3, 3, 3, -1]


def test_the_first_batches_of_two_segments_are_two(tmp_path: Path) -> None:
    (segment,) = (DATA / "group-logs" / "4.3.1" / "__consumer_offsets-0").glob("*.log")
    whole = segment.read_bytes()
    for header in scan_batches(whole):
        assert not isinstance(header, Corrupt)
        part = whole[header.position : header.end]
        (tmp_path / f"{header.base_offset:020}.log").write_bytes(part)
    assert generations_of(read_events(tmp_path)) == generations_of(log_of("4.3.1"))


def test_a_log_is_whole_if_no_offset_is_missing() -> None:
    events = log_of("2.8.2")
    assert is_whole(events)
    assert not is_whole(events[1:])
    assert not is_whole(events[:3] + events[4:])


# Made by hand


def text(content: str) -> bytes:
    return struct.pack(">h", len(content)) + content.encode()


def commit_key(group: str = "g", partition: int = 0) -> bytes:
    return struct.pack(">h", 1) + text(group) + text("t") + struct.pack(">i", partition)


def commit_value(offset: int) -> bytes:
    return struct.pack(">hqi", 3, offset, -1) + text("") + struct.pack(">q", 77)


def commit(offset: int | None, at: int, *, producer: int = -1) -> bytes:
    value = None if offset is None else commit_value(offset)
    records = [R(key=commit_key(), value=value, timestamp=5)]
    return batch(at, records, producer=(producer, 0, 0), transactional=producer >= 0)


def marker(at: int, kind: int, producer: int) -> bytes:
    records = [R(key=control_key(kind), value=bytes(6))]
    return batch(at, records, producer=(producer, 0, -1), transactional=True, control=True)


def found_in(*batches: bytes) -> list[Commit]:
    return commits_of(events_of(b"".join(batches)))


def test_offsets_in_a_transaction_wait_for_its_marker() -> None:
    rows = found_in(commit(1, 0, producer=7), commit(2, 1, producer=8), marker(2, 1, 7), commit(3, 3, producer=7))
    assert [(one.offset, one.standing) for one in rows] == [(1, "counts"), (2, "open"), (3, "open")]
    rows = found_in(commit(1, 0, producer=7), commit(2, 1, producer=8), marker(2, 0, 7), marker(3, 1, 8))
    assert [(one.offset, one.standing) for one in rows] == [(1, "aborted"), (2, "counts")]


def test_an_offset_that_is_removed_has_none() -> None:
    rows = found_in(commit(1, 0), commit(None, 1))
    assert [(one.offset, one.committed_ms, one.at) for one in rows] == [(1, 77, 0), (None, 5, 1)]


def test_what_is_not_known_is_no_error() -> None:
    assert decode_record(struct.pack(">h", 18) + text("g"), b"x").kind == "UNKNOWN"
    as_version_4 = struct.pack(">qi", 7, -1) + b"\x01" + struct.pack(">q", 77) + b"\x00"
    assert decode_record(commit_key(), struct.pack(">h", 4) + as_version_4).kind == "OFFSET_COMMIT"
    assert decode_record(commit_key(), struct.pack(">h", 5) + as_version_4).kind == "UNKNOWN"


def test_what_cannot_be_decoded_says_why() -> None:
    def reason(key: bytes | None, value: bytes | None) -> str:
        found = decode_record(key, value)
        assert found.kind == "CORRUPT"
        fields: Fields = found.fields or {}
        return str(fields["reason"])

    assert reason(None, b"") == "a record without a key"
    assert "2 bytes wanted" in reason(b"\x00", None)
    assert "9 bytes wanted" in reason(struct.pack(">hh", 1, 9), None)
    assert "1 bytes after" in reason(commit_key() + b"x", None)
    assert "without a version" in reason(commit_key(), b"\x00")
    assert "1 bytes after" in reason(commit_key(), commit_value(1) + b"x")


def test_what_members_of_other_groups_put_into_their_records_stays_bytes() -> None:
    member = text("m") + text("c") + text("h") + struct.pack(">iii", 5, 0, 3) + b"abc"
    for protocol_type, subscription in (("connect", b""), ("consumer", b"")):
        value = struct.pack(">h", 0) + text(protocol_type) + struct.pack(">i", 1) + text("p") + text("m")
        found = decode_record(struct.pack(">h", 2) + text("g"), value + struct.pack(">i", 1) + member)
        (one,) = (found.fields or {})["members"]
        assert (one["subscription"], one["assignment"]) == (subscription, b"abc")


def test_the_command_prints_a_line_for_each_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert group_log.main([str(LOGS[0] / "__consumer_offsets-0")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].split()[2:6] == ["OFFSET_COMMIT", "group=g", "topic=none-client", "partition=0"]
    assert group_log.main([str(tmp_path)]) == 254
    assert "no segment of a log is there" in capsys.readouterr().err


# Anything at all


@given(key=st.binary(max_size=60), value=st.binary(max_size=120), kind=st.integers(0, 23), version=st.integers(0, 4))
def test_any_record_at_all(key: bytes, value: bytes, kind: int, version: int) -> None:
    for one in (key, struct.pack(">h", kind) + key, struct.pack(">h", kind) + text("g") + text("m")):
        for other in (None, value, struct.pack(">h", version) + value):
            found = decode_record(one, other)
            records = [R(key=one, value=other)]
            events = list(events_of(batch(0, records)))
            assert [event.kind for event in events] == [found.kind]
            commits_of(events)
            generations_of(events)
