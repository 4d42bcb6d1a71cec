from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from kafkafiles.metadata_image import MetadataImage
from kafkafiles.metadata_log import decode_from
from kafkafiles.metadata_records import decode_record
from tests.unit.kafkafiles.encode import (
    R,
    batch,
    compact_ints,
    compact_string,
    control_key,
    frame,
    tags,
    uvarint,
)

TOPIC = bytes(range(16))
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"


def topic(name: str = "t", topic_id: bytes = TOPIC) -> bytes:
    return frame(2, 0, compact_string(name) + topic_id + tags())


def partition(isr: list[int], leader: int, epoch: int = 0, version: int = 0) -> bytes:
    body = struct.pack(">i", 0) + TOPIC + compact_ints([1, 2, 3]) + compact_ints(isr) + compact_ints([]) * 2
    body += struct.pack(">iii", leader, epoch, 0) + (uvarint(1) if version else b"") + tags()
    return frame(3, version, body)


def change(version: int = 2, **fields: bytes) -> bytes:
    return frame(5, version, struct.pack(">i", 0) + TOPIC + tags(**fields))


def broker(number: int, epoch: int, fenced: bool = True) -> bytes:
    endpoint = compact_string("PLAINTEXT") + compact_string("h") + struct.pack(">Hh", 9092, 0) + tags()
    feature = compact_string("metadata.version") + struct.pack(">hh", 1, 20) + tags()
    body = struct.pack(">i", number) + b"\x00" + TOPIC + struct.pack(">q", epoch)
    body += uvarint(2) + endpoint + uvarint(2) + feature + compact_string(None) + bytes([fenced, 0]) + tags()
    return frame(0, 3, body)


def fencing(number: int, what: int) -> bytes:
    return frame(17, 1, struct.pack(">iq", number, 5) + tags(t0=struct.pack(">b", what)))


def leader_change(leader: int, version: int = 0) -> R:
    voter = struct.pack(">i", leader) + (TOPIC if version else b"") + tags()
    value = struct.pack(">hi", version, leader) + uvarint(2) + voter + uvarint(2) + voter + tags()
    return R(key=control_key(2), value=value)


def log(*values: bytes, epoch: int = 4, leader: int = 100, timestamp: int = 1000) -> bytes:
    first = batch(0, [leader_change(leader)], control=True, epoch=epoch)
    return first + batch(1, [R(value=value, timestamp=timestamp) for value in values], epoch=epoch)


def image(*values: bytes) -> MetadataImage:
    return MetadataImage().apply_all(decode_from(log(*values))[0])


def test_events_carry_offset_time_and_epoch():
    events, position = decode_from(log(topic(), topic("u", bytes(16)), timestamp=77))
    assert position == len(log(topic(), topic("u", bytes(16))))
    assert [(each.offset, each.timestamp_ms, each.epoch, each.kind) for each in events[1:]] == [
        (1, 77, 4, "TOPIC_RECORD"),
        (2, 77, 4, "TOPIC_RECORD"),
    ]
    assert events[1].fields == {"name": "t", "topic_id": TOPIC_ID}


def test_leader_changes_of_both_versions():
    for version in (0, 1):
        data = batch(0, [leader_change(3, version)], control=True, epoch=8)
        event = decode_from(data)[0][0]
        assert (event.kind, event.version, event.fields["leader_id"], event.epoch) == ("LEADER_CHANGE", version, 3, 8)
        assert event.fields["voters"][0]["voter_id"] == 3
        assert ("voter_directory_id" in event.fields["voters"][0]) == (version == 1)
        after = MetadataImage().apply(event)
        assert (after.controller, after.controller_epoch) == (3, 8)


def test_a_file_that_grows_is_read_at_any_cut_without_loss_or_repetition():
    whole = log(topic(), partition([1, 2, 3], 1)) + batch(3, [R(value=change(t0=compact_ints([1])))], epoch=4)
    expected, end = decode_from(whole)
    for cut in range(0, len(whole), 7):
        first, position = decode_from(whole[:cut])
        second, finish = decode_from(whole[position:], position)
        assert first + second == expected
        assert finish == end == len(whole)


def test_start_skips_bytes_of_the_buffer():
    data = log(topic())
    first = len(batch(0, [leader_change(100)], control=True, epoch=4))
    events, position = decode_from(data, 1000, start=first)
    assert [each.kind for each in events] == ["TOPIC_RECORD"]
    assert position == 1000 + len(data)


def test_the_leader_epoch_grows_with_every_leader_that_is_set():
    state = image(topic(), partition([1, 2, 3], 1, version=2)).partitions["t", 0]
    assert (state.leader, state.leader_epoch, state.isr, state.replicas) == (1, 0, (1, 2, 3), (1, 2, 3))
    values = [topic(), partition([1, 2, 3], 1, epoch=5)]
    steps = [
        (change(t0=compact_ints([1, 3])), (1, 5, (1, 3), ())),
        (change(t0=compact_ints([1]), t6=compact_ints([3])), (1, 5, (1,), (3,))),
        (change(t0=compact_ints([]), t1=struct.pack(">i", -1), t6=compact_ints([1, 3])), (-1, 6, (), (1, 3))),
        (change(t0=compact_ints([3]), t1=struct.pack(">i", 3), t6=compact_ints([])), (3, 7, (3,), ())),
        (change(t1=struct.pack(">i", 3)), (3, 8, (3,), ())),  # the same leader set again: a new epoch all the same
    ]
    for value, expected in steps:
        values.append(value)
        state = image(*values).partitions["t", 0]
        assert (state.leader, state.leader_epoch, state.isr, state.elr) == expected
    assert state.partition_epoch == 5
    assert state.offset == 7
    assert state.controller_epoch == 4


def test_a_reassignment_states_what_it_adds_and_removes_until_it_is_over():
    moving = change(t2=compact_ints([3, 1, 2]), t3=compact_ints([1, 2]), t4=compact_ints([3]))
    over = change(t0=compact_ints([3]), t2=compact_ints([3]), t3=compact_ints([]), t4=compact_ints([]))
    seen = [
        image(topic(), partition([1, 2], 1), *changes).partitions["t", 0] for changes in ((), (moving,), (moving, over))
    ]
    assert [(state.replicas, state.adding, state.removing) for state in seen] == [
        ((1, 2, 3), (), ()),
        ((3, 1, 2), (3,), (1, 2)),
        ((3,), (), ()),
    ]


def test_version_1_changes_have_no_elr():
    event = decode_from(log(change(version=1, t0=compact_ints([1]))))[0][1]
    assert (event.version, event.fields["isr"], event.fields["eligible_leader_replicas"]) == (1, (1,), None)


def test_a_change_to_a_partition_that_is_not_known_changes_nothing():
    assert image(change(t0=compact_ints([1]))).partitions == {}


def test_recovery_state():
    unclean = change(t1=struct.pack(">i", 2), t5=struct.pack(">b", 1))
    assert image(topic(), partition([1], 1), unclean).partitions["t", 0].recovering
    recovered = change(t5=struct.pack(">b", 0))
    assert not image(topic(), partition([1], 1), unclean, recovered).partitions["t", 0].recovering


def test_brokers_register_and_are_fenced_and_unfenced():
    assert image(broker(1, 20)).brokers[1].fenced
    assert not image(broker(1, 20), fencing(1, -1)).brokers[1].fenced
    after = image(broker(1, 20), fencing(1, -1), fencing(1, 1)).brokers[1]
    assert (after.fenced, after.epoch, after.incarnation) == (True, 20, TOPIC_ID)
    assert image(broker(1, 20), fencing(2, 1)).brokers.keys() == {1}
    gone = frame(1, 0, struct.pack(">iq", 1, 20) + tags())
    assert image(broker(1, 20), gone).brokers == {}


def test_registration_fields():
    event = decode_from(log(broker(7, 20)))[0][1]
    assert event.kind == "REGISTER_BROKER_RECORD"
    assert event.fields["end_points"] == ({"name": "PLAINTEXT", "host": "h", "port": 9092, "security_protocol": 0},)
    assert event.fields["rack"] is None
    assert event.fields["log_dirs"] == ()


def test_removing_a_topic_removes_its_partitions():
    after = image(topic(), partition([1], 1), frame(9, 0, TOPIC + tags()))
    assert (after.topics, after.partitions) == ({}, {})


def test_elr_is_cleared():
    clear = frame(28, 0, compact_string("") + tags())
    shrunk = change(t0=compact_ints([1]), t6=compact_ints([2]), t7=compact_ints([3]))
    state = image(topic(), partition([1, 2], 1), shrunk, clear).partitions["t", 0]
    assert (state.elr, state.last_known_elr) == ((), ())


def test_features_and_configs():
    feature = frame(12, 0, compact_string("metadata.version") + struct.pack(">h", 21) + tags())
    config = frame(
        4, 0, struct.pack(">b", 2) + compact_string("t") + compact_string("a") + compact_string(None) + tags()
    )
    assert image(feature, config).features == {"metadata.version": 21}
    event = decode_from(log(config))[0][1]
    assert event.fields == {"resource_type": 2, "resource_name": "t", "name": "a", "value": None}


def test_an_aborted_metadata_transaction_did_not_happen():
    begin, end, abort = (frame(key, 0, tags()) for key in (23, 24, 25))
    assert image(begin, topic(), abort).topics == {}
    assert image(begin, topic(), end).topics == {TOPIC_ID: "t"}


def test_applying_again_changes_nothing():
    events, _ = decode_from(log(topic(), partition([1], 1), change(t1=struct.pack(">i", 1))))
    once = MetadataImage().apply_all(events)
    assert once.apply_all(events) == once


def test_unknown_types_versions_and_tags_are_no_errors():
    later = frame(3, 9, b"\x01")
    events, _ = decode_from(log(frame(99, 0, b"x"), later, change(t0=compact_ints([1]), t77=b"new")))
    assert [each.kind for each in events[1:]] == ["UNKNOWN", "UNKNOWN", "PARTITION_CHANGE_RECORD"]
    assert events[1].fields["key"] == 99
    assert decode_record(uvarint(7) + b"rest")[0] == "UNKNOWN"


def test_what_cannot_be_decoded_is_corrupt_and_reading_goes_on():
    events, _ = decode_from(log(frame(2, 0, b"\x09t"), topic()))
    assert [each.kind for each in events] == ["LEADER_CHANGE", "CORRUPT", "TOPIC_RECORD"]
    assert "9 bytes" not in events[1].fields["reason"]
    assert decode_record(None)[0] == "CORRUPT"
    assert decode_record(b"")[0] == "CORRUPT"
    extra = decode_record(topic() + b"x")
    assert extra[0] == "CORRUPT"


def test_corrupt_batches_and_headers():
    bad = batch(5, [R(value=topic())], crc=1)
    events, position = decode_from(bad + batch(6, [R(value=topic())]), 50)
    assert [each.kind for each in events] == ["CORRUPT", "TOPIC_RECORD"]
    assert events[0].fields["position"] == 50
    senseless = b"\xff" * 100
    events, position = decode_from(senseless, 10)
    assert ([each.kind for each in events], position) == (["CORRUPT"], 110)


@given(data=st.binary(max_size=120))
def test_any_record_at_all(data):
    for value in (data, uvarint(1) + data, frame(0, 3, data), frame(3, 2, data), frame(14, 0, data)):
        kind, _, _ = decode_record(value)
        assert kind


@given(isr=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), leader=st.integers(-(2**31), 2**31 - 1))
def test_partition_changes_round_trip(isr, leader):
    kind, _, fields = decode_record(change(t0=compact_ints(isr), t1=struct.pack(">i", leader)))
    assert kind == "PARTITION_CHANGE_RECORD"
    assert (fields["isr"], fields["leader"]) == (tuple(isr), leader)
