"""Requests that the client library does not have, or not as they are needed.

AlterPartitionReassignments (KIP-455): one connection, one request, one answer, in the flexible encoding of KIP-482:
lengths and counts are varints, one more than the number, and each structure ends with its tagged fields, here none.
IncrementalAlterConfigs (KIP-339) for all brokers, whose resource has an empty name, which a client library refuses.
OffsetFetch, of which a client library asks no more than one at a time.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import Final

from evidence.errors import HarnessError

OFFSET_FETCH: Final = 9
INCREMENTAL_ALTER_CONFIGS: Final = 44
ALTER_PARTITION_REASSIGNMENTS: Final = 45
BROKER: Final = 4
SET: Final = 0
CLIENT: Final = "kafka-chaos"
NO_TAGS: Final = b"\x00"
NONE: Final = 0
NOT_CONTROLLER: Final = 41


class Refused(HarnessError):
    """A broker's answer to a request is an error; `code` is Kafka's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"error {code}: {message}")
        self.code = code


def alter_partition_reassignment(
    address: tuple[str, int], topic: str, partition: int, replicas: Sequence[int], *, timeout_s: float
) -> None:
    """Ask a broker (with ZooKeeper the controller, with KRaft any) to move a partition to these replicas.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    answer = _ask(address, _request(topic, partition, replicas, timeout_ms=int(timeout_s * 1000)), timeout_s)
    code, message = _outcome(answer)
    if code != NONE:
        raise Refused(code, message)


def set_broker_default(address: tuple[str, int], name: str, value: str, *, timeout_s: float) -> None:
    """Ask a broker (2.3 and later) to have a setting set for all brokers, beside those that are.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    resource = struct.pack(">ib", 1, BROKER) + _text("")
    setting = struct.pack(">i", 1) + _text(name) + struct.pack(">b", SET) + _text(value)
    header = struct.pack(">hhi", INCREMENTAL_ALTER_CONFIGS, 0, 0) + _text(CLIENT)
    reader = _Reader(_ask(address, header + resource + setting + b"\x00", timeout_s))
    reader.skip(4 + 4 + 4)  # the header, for how long the request was throttled, and how many resources follow: one
    code, size = reader.int16(), reader.int16()
    if code != NONE:
        raise Refused(code, reader.skip(max(size, 0)).decode(errors="replace"))


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _ask(address: tuple[str, int], request: bytes, timeout_s: float) -> bytes:
    """A broker's answer to one request."""
    with socket.create_connection(address, timeout=timeout_s) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answers:
            size = answers.read(4)
            answer = answers.read(struct.unpack(">i", size)[0]) if len(size) == 4 else b""
    if not answer:
        raise ConnectionError(f"{address[0]} closed the connection without an answer")
    return answer


def offset_fetch(group: str, topic: str, times: int) -> bytes:
    """The request for what a group has committed of partition 0 of a topic, asked so many times over, version 1, with
    its length.
    """
    partitions = struct.pack(">i", times) + bytes(4 * times)
    topics = struct.pack(">i", 1) + _text(topic) + partitions
    request = struct.pack(">hhi", OFFSET_FETCH, 1, 0) + _text(CLIENT) + _text(group) + topics
    return struct.pack(">i", len(request)) + request


def _request(topic: str, partition: int, replicas: Sequence[int], *, timeout_ms: int) -> bytes:
    """The request, version 0, with its header (version 2)."""
    header = struct.pack(">hhi", ALTER_PARTITION_REASSIGNMENTS, 0, 0) + _text(CLIENT) + NO_TAGS
    brokers = _count(len(replicas)) + b"".join(struct.pack(">i", broker) for broker in replicas)
    partitions = _count(1) + struct.pack(">i", partition) + brokers + NO_TAGS
    topics = _count(1) + _count(len(topic)) + topic.encode() + partitions + NO_TAGS
    return header + struct.pack(">i", timeout_ms) + topics + NO_TAGS


def _outcome(answer: bytes) -> tuple[int, str]:
    """The error code and message of a whole answer: those of the request, or else those of the partition."""
    reader = _Reader(answer)
    reader.skip(4 + len(NO_TAGS) + 4)  # the header, and for how long the request was throttled
    code, message = reader.int16(), reader.text()
    for _ in range(reader.count() if code == NONE else 0):
        reader.text()
        for _ in range(reader.count()):
            reader.skip(4)
            code, message = reader.int16(), reader.text()
            if code != NONE:
                return code, message
            reader.skip(len(NO_TAGS))
        reader.skip(len(NO_TAGS))
    return code, message


def _count(number: int) -> bytes:
    r"""A compact length: one more than the number, as an unsigned varint.

    >>> _count(3), _count(200)
    (b'\x04', b'\xc9\x01')
    """
    value, coded = number + 1, bytearray()
    while value >= 0x80:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)


class _Reader:
    """Reads an answer from its beginning."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def skip(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def int16(self) -> int:
        value: int = struct.unpack(">h", self.skip(2))[0]
        return value

    def count(self) -> int:
        """A compact length; -1 for null."""
        value, shift = 0, 0
        while True:
            (byte,) = self.skip(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value - 1
            shift += 7

    def text(self) -> str:
        """A compact string; "" for null."""
        return self.skip(max(self.count(), 0)).decode(errors="replace")
