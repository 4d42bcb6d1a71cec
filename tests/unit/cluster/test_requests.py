"""The requests that are put together here, and what a broker answers, against one that listens on this machine."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.cluster.requests import (
    NOT_CONTROLLER,
    RequestRefused,
    alter_partition_reassignment,
    api_versions,
    brokers_told,
    move_replica,
    offset_fetch,
    produce,
    set_broker_default,
    set_of_group,
    share_group_progress,
    update_feature,
)

DONE = bytes.fromhex("00000000 00 00000000 0000 00 02 0274 02 00000002 0000 00 00 00 00")
"""No error at the top; topic t, partition 2, no error."""
REFUSED = bytes.fromhex("00000000 00 00000000 0000 00 02 0274 02 00000002 0027 056465616400 00 00")
"""Topic t, partition 2: INVALID_REPLICA_ASSIGNMENT, "dead"."""
ELSEWHERE = bytes.fromhex("00000000 00 00000000 0029 00 01 00")


@contextmanager
def broker(answer: bytes) -> Iterator[tuple[tuple[str, int], list[bytes]]]:
    """Answers one request, whatever it is; without an answer it closes the connection."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as stream:
                heard.append(stream.read(struct.unpack(">i", stream.read(4))[0]))
                connection.sendall(struct.pack(">i", len(answer)) + answer if answer else b"")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname(), heard
        finally:
            thread.join()


def test_a_broker_is_asked_in_the_words_of_the_protocol() -> None:
    with broker(DONE) as (address, heard):
        alter_partition_reassignment(address, "t", 2, [3, 1], timeout_s=5)
    header = struct.pack(">hhih", 45, 0, 0, 11) + b"kafka-chaos" + b"\0"
    partition = struct.pack(">i", 2) + b"\x03" + struct.pack(">ii", 3, 1) + b"\0"
    assert heard == [header + struct.pack(">i", 5000) + b"\x02\x02t\x02" + partition + b"\0" + b"\0"]


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [(REFUSED, 39, "dead"), (ELSEWHERE, NOT_CONTROLLER, "error 41")],
    ids=["the partition", "the whole request"],
)
def test_a_refusal_has_its_code(answer: bytes, code: int, says: str) -> None:
    with broker(answer) as (address, _), pytest.raises(RequestRefused, match=says) as refused:
        alter_partition_reassignment(address, "t", 2, [3, 1], timeout_s=5)
    assert refused.value.code == code


def test_no_answer_is_no_success() -> None:
    with broker(b"") as (address, _), pytest.raises(ConnectionError, match="without an answer"):
        alter_partition_reassignment(address, "t", 2, [3, 1], timeout_s=5)


@pytest.mark.parametrize("answer", [DONE[:12], b"\0" * 9, bytes(11) + b"\x7f"], ids=["cut", "short", "long"])
def test_an_answer_that_cannot_be_read_is_no_success(answer: bytes) -> None:
    with broker(answer) as (address, _), pytest.raises(ConnectionError, match="cannot be read"):
        alter_partition_reassignment(address, "t", 2, [3, 1], timeout_s=5)


def test_a_request_for_a_groups_offset_many_times_over() -> None:
    """OffsetFetch, version 1: header with the client's name, group, one topic, its partition 0 three times."""
    request = offset_fetch("g", "none", 3)
    header = bytes.fromhex("0009 0001 00000000 000b") + b"kafka-chaos"
    body = bytes.fromhex("000167 00000001 00046e6f6e65 00000003 00000000 00000000 00000000")
    assert request == struct.pack(">i", len(header + body)) + header + body


SET = bytes.fromhex("00000000 00000000 00000001 0000 ffff 04 0000")
"""The brokers' defaults, no error."""
NOT_SET = bytes.fromhex("00000000 00000000 00000001 0028 0003 626164 04 0000")
"""INVALID_CONFIG, "bad"."""


def test_a_default_of_all_brokers_is_set_for_a_resource_without_a_name() -> None:
    with broker(SET) as (address, heard):
        set_broker_default(address, "a.b", "17", timeout_s=5)
    header = struct.pack(">hhih", 44, 0, 0, 11) + b"kafka-chaos"
    resource = struct.pack(">ibh", 1, 4, 0)
    setting = struct.pack(">ih", 1, 3) + b"a.b" + b"\0" + struct.pack(">h", 2) + b"17"
    assert heard == [header + resource + setting + b"\0"]


def test_a_default_that_is_refused_or_not_answered_is_told() -> None:
    with broker(NOT_SET) as (address, _), pytest.raises(RequestRefused, match="error 40: bad"):
        set_broker_default(address, "a", "b", timeout_s=5)
    with broker(b"") as (address, _), pytest.raises(ConnectionError, match="without an answer"):
        set_broker_default(address, "a", "b", timeout_s=5)


def test_a_setting_of_one_broker_names_it() -> None:
    with broker(SET) as (address, heard):
        set_broker_default(address, "a", "b", timeout_s=5, broker=17)
    assert struct.pack(">ibh", 1, 4, 2) + b"17" in heard[0]


def moved(code: int) -> bytes:
    """The answer about partition 2 of topic t."""
    return struct.pack(">iiih", 0, 0, 1, 1) + b"t" + struct.pack(">iih", 1, 2, code)


@pytest.mark.parametrize("version", [0, 1])
def test_a_replica_is_moved_to_another_directory(version: int) -> None:
    """AlterReplicaLogDirs: one directory, one topic, one partition."""
    with broker(moved(0)) as (address, heard):
        move_replica(address, "t", 2, "/d", version=version, timeout_s=5)
    header = struct.pack(">hhih", 34, version, 0, 11) + b"kafka-chaos"
    body = struct.pack(">ih", 1, 2) + b"/d" + struct.pack(">ih", 1, 1) + b"t" + struct.pack(">ii", 1, 2)
    assert heard == [header + body]


def test_a_move_that_is_refused_is_told() -> None:
    """LOG_DIR_NOT_FOUND."""
    with broker(moved(57)) as (address, _), pytest.raises(RequestRefused, match="error 57: t"):
        move_replica(address, "t", 2, "/d", version=1, timeout_s=5)


SPEAKS = bytes.fromhex("00000000 0000 02 0001 0000 0011 00 00000000")
"""Fetch up to version 17, and nothing else, as the tagged fields begin."""
FEATURES = {
    0: b"\x02" + b"\x11metadata.version" + struct.pack(">hh", 1, 25) + b"\0",
    2: b"\x02" + b"\x11metadata.version" + struct.pack(">hh", 21, 21) + b"\0",
}
TAGS = b"\x02" + b"".join(bytes([tag, len(content)]) + content for tag, content in FEATURES.items())
OLD = bytes.fromhex("00000000 0000 00000002 0001 0000 0003 0012 0000 0000")
"""Version 0: fetch up to version 3, and ApiVersions."""


def test_what_a_broker_speaks_and_which_features_the_cluster_has() -> None:
    with broker(SPEAKS + TAGS) as (address, heard):
        spoken = api_versions(address, timeout_s=5)
    assert heard == [struct.pack(">hhih", 18, 3, 0, 11) + b"kafka-chaos\0" + b"\x0ckafka-chaos" + b"\x021" + b"\0"]
    assert (spoken.apis, spoken.supported, spoken.features) == (
        {1: 17},
        {"metadata.version": 25},
        {"metadata.version": 21},
    )


def test_a_broker_without_features_speaks_all_the_same() -> None:
    with broker(SPEAKS + b"\0") as (address, _):
        spoken = api_versions(address, timeout_s=5)
    assert (spoken.apis, spoken.supported, spoken.features) == ({1: 17}, {}, {})


def test_an_old_broker_is_asked_again_in_the_old_form() -> None:
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in (bytes.fromhex("00000000 0023 00000000"), OLD):
                connection, _ = server.accept()
                with connection, connection.makefile("rb") as stream:
                    asked.append(stream.read(struct.unpack(">i", stream.read(4))[0]))
                    connection.sendall(struct.pack(">i", len(answer)) + answer)

        thread = threading.Thread(target=serve)
        thread.start()
        spoken = api_versions(server.getsockname(), timeout_s=5)
        thread.join()
    assert spoken.apis == {1: 3, 18: 0}
    assert [struct.unpack(">hh", request[:4]) for request in asked] == [(18, 3), (18, 0)]


def test_a_broker_that_refuses_to_say_is_told() -> None:
    with (
        broker(bytes.fromhex("00000000 001e 01 00000000 00")) as (address, _),
        pytest.raises(RequestRefused, match="error 30"),
    ):
        api_versions(address, timeout_s=5)


def test_a_feature_is_asked_for_in_the_words_of_the_protocol() -> None:
    done = bytes.fromhex("00000000 00 00000000 0000 00 02 11") + b"metadata.version" + bytes.fromhex("0000 00 00 00")
    with broker(done) as (address, heard):
        update_feature(address, "metadata.version", 25, timeout_s=5)
    header = struct.pack(">hhih", 57, 1, 0, 11) + b"kafka-chaos" + b"\0"
    update = b"\x02" + b"\x11metadata.version" + struct.pack(">hb", 25, 1) + b"\0"
    assert heard == [header + struct.pack(">i", 5000) + update + b"\0" + b"\0"]


@pytest.mark.parametrize(
    "answer",
    [
        bytes.fromhex("00000000 00 00000000 005b 04626164 01 00"),
        bytes.fromhex("00000000 00 00000000 0000 00 02 0266 005b 04626164 00 00"),
    ],
    ids=["the whole request", "the feature"],
)
def test_a_level_that_is_refused_is_told(answer: bytes) -> None:
    with broker(answer) as (address, _), pytest.raises(RequestRefused, match="error 91: bad"):
        update_feature(address, "f", 25, timeout_s=5)


HEADER_OF_PRODUCE = b"\0\x0bkafka-chaos"


@pytest.mark.parametrize(("magic", "version", "before"), [(0, 0, b""), (1, 2, b""), (2, 3, b"\xff\xff")])
def test_a_batch_is_sent_in_the_words_of_its_format(magic: int, version: int, before: bytes) -> None:
    answer = struct.pack(">iih", 0, 1, 1) + b"t" + struct.pack(">iihq", 1, 2, 0, 41)
    with broker(answer) as (address, heard):
        assert produce(address, "t", 2, b"batch", magic=magic, timeout_s=5) == 41
    head = struct.pack(">hhi", 0, version, 0) + HEADER_OF_PRODUCE + before + struct.pack(">hi", -1, 5000)
    assert heard == [head + struct.pack(">ih", 1, 1) + b"t" + struct.pack(">iii", 1, 2, 5) + b"batch"]


def test_a_batch_that_is_refused_is_told() -> None:
    answer = struct.pack(">iih", 0, 1, 1) + b"t" + struct.pack(">iihq", 1, 2, 6, -1)
    with broker(answer) as (address, _), pytest.raises(RequestRefused) as refused:
        produce(address, "t", 2, b"batch", magic=2, timeout_s=5)
    assert refused.value.code == 6


@pytest.mark.parametrize("numbers", [(), (1,), (1, 4)])
def test_which_brokers_a_broker_tells_of(numbers: tuple[int, ...]) -> None:
    told = b"".join(struct.pack(">ih", number, 1) + b"h" + struct.pack(">i", 9092) for number in numbers)
    with broker(struct.pack(">ii", 0, len(numbers)) + told + struct.pack(">i", 0)) as (address, heard):
        assert brokers_told(address, timeout_s=5) == set(numbers)
    assert heard == [struct.pack(">hhi", 3, 0, 0) + HEADER_OF_PRODUCE + struct.pack(">i", 0)]


def test_a_broker_that_does_not_answer_tells_of_nobody() -> None:
    with broker(b"") as (address, _), pytest.raises(ConnectionError):
        brokers_told(address, timeout_s=5)


SHARE = (
    "00000000 00 00000000 02 0267 02 0274 00112233445566778899aabbccddeeff 02 00000000 {start} 00000001 {lag} {error}"
)
GROUP_ENDS = "00 00 0000 00 00 00"
"""Of the partition and the topic no tags, of the group no error, no message and no tags, of the answer no tags."""


def share_answer(start: int, lag: int, error: str = "0000 00") -> bytes:
    numbers = {"start": struct.pack(">q", start).hex(), "lag": struct.pack(">q", lag).hex(), "error": error}
    return bytes.fromhex(SHARE.format(**numbers) + GROUP_ENDS)


def test_a_share_group_is_asked_for_in_the_words_of_the_protocol() -> None:
    with broker(share_answer(7, 3)) as (address, heard):
        assert share_group_progress(address, "g", "t", 0, timeout_s=5) == (7, 3)
    header = struct.pack(">hhih", 90, 1, 0, 11) + b"kafka-chaos" + b"\0"
    topics = b"\x02\x02t\x02" + struct.pack(">i", 0) + b"\0"
    assert heard == [header + b"\x02\x02g" + topics + b"\0" + b"\0"]


def test_a_share_group_that_has_begun_nowhere() -> None:
    with broker(share_answer(-1, -1)) as (address, _):
        assert share_group_progress(address, "g", "t", 0, timeout_s=5) == (-1, -1)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (share_answer(-1, -1, "000e 026c"), 14),
        (bytes.fromhex("00000000 00 00000000 02 0267 01 0010 00 00 00"), 16),
        (bytes.fromhex("00000000 00 00000000 01 00"), -1),
    ],
    ids=["of the partition", "of the group", "no group"],
)
def test_a_share_groups_error_has_its_code(answer: bytes, code: int) -> None:
    with broker(answer) as (address, _), pytest.raises(RequestRefused) as refused:
        share_group_progress(address, "g", "t", 0, timeout_s=5)
    assert refused.value.code == code


def test_a_groups_setting_is_set() -> None:
    done = bytes.fromhex("00000000 00000000 00000001 0000 0000 20 0001 67")
    with broker(done) as (address, heard):
        set_of_group(address, "g", "share.auto.offset.reset", "earliest", timeout_s=5)
    setting = b"\0\0\0\x01\0\x17share.auto.offset.reset\0\0\x08earliest"
    assert heard[0].endswith(b"\0\0\0\x01\x20\0\x01g" + setting + b"\0")
