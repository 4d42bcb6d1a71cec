"""Requests that the client library does not have, or not as they are needed.

AlterPartitionReassignments (KIP-455): one connection, one request, one answer, in the flexible encoding of KIP-482:
lengths and counts are varints, one more than the number, and each structure ends with its tagged fields, here none.
IncrementalAlterConfigs (KIP-339) for all brokers, whose resource has an empty name, which a client library refuses.
AlterReplicaLogDirs (KIP-113), which no client library that is used here has.
DescribeShareGroupOffsets (KIP-932), which the library that is used here does not have.
OffsetFetch, of which a client library asks no more than one at a time.
UpdateFeatures (KIP-584), for levels of features.
Produce, of a batch whose bytes the caller has made.
Metadata, of one broker: a client library goes by what any of them says.
ApiVersions (KIP-35, KIP-584), which a client library asks for itself, and tells nobody what was answered.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from evidence.errors import HarnessError
from kafkafiles.api_versions import (
    API_VERSIONS,
    FLEXIBLE_SINCE,
    NONE,
    UNSUPPORTED_VERSION,
    Offer,
    question,
    read_offer,
)
from kafkafiles.encoding import NO_TAGS, Reader, length, old_string, string
from kafkafiles.errors import Malformed

T = TypeVar("T")

PRODUCE: Final = 0
PRODUCE_VERSION: Final = {0: 0, 1: 2, 2: 3}
"""The first version of Produce that takes a batch in each message format."""
METADATA: Final = 3
OFFSET_FETCH: Final = 9
ALTER_REPLICA_LOG_DIRS: Final = 34
INCREMENTAL_ALTER_CONFIGS: Final = 44
ALTER_PARTITION_REASSIGNMENTS: Final = 45
FETCH: Final = 1
UPDATE_FEATURES: Final = 57
DESCRIBE_SHARE_GROUP_OFFSETS: Final = 90
UPGRADE: Final = 1
"""How a level is changed: only to a higher one."""
DO_IT: Final = b"\x00"
"""The request is not for a mere check."""
BROKER, GROUP = 4, 32
"""Types of resources that have settings."""
SET: Final = 0
CLIENT: Final = "kafka-chaos"
CLIENT_VERSION: Final = "1"
NOT_CONTROLLER: Final = 41
UNKNOWN_SERVER_ERROR: Final = -1
UUID_BYTES: Final = 16


Progress = tuple[int, str, int, int]
"""Of a share group: an error's code and message, its start offset, its lag."""


class RequestRefused(HarnessError):
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
    request = _request(topic, partition, replicas, timeout_ms=int(timeout_s * 1000))
    code, message = _ask(address, request, timeout_s, _outcome_of_move)
    if code != NONE:
        raise RequestRefused(code, message)


def move_replica(
    address: tuple[str, int], topic: str, partition: int, directory: str, *, version: int, timeout_s: float
) -> None:
    """Ask a broker (1.1 and later) to move its replica of a partition to another of its log directories. Version 0 of
    the request is known up to 3.9, version 1 from 2.0 on, and they are alike.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    partitions = struct.pack(">ii", 1, partition)
    directories = struct.pack(">i", 1) + old_string(directory)
    topics = struct.pack(">i", 1) + old_string(topic) + partitions
    header = struct.pack(">hhi", ALTER_REPLICA_LOG_DIRS, version, 0) + old_string(CLIENT)
    code, message = _ask(address, header + directories + topics, timeout_s, _outcome_of_directory)
    if code != NONE:
        raise RequestRefused(code, message)


def _outcome_of_directory(answer: Reader) -> tuple[int, str]:
    """The error code of an answer about one partition."""
    answer.take(4 + 4 + 4)  # the header, for how long the request was throttled, and how many topics follow: one
    topic = answer.old_string() or ""
    answer.take(4 + 4)  # how many partitions follow, and the partition's number
    return answer.int16(), topic


def set_broker_default(
    address: tuple[str, int], name: str, value: str, *, timeout_s: float, broker: int | None = None
) -> None:
    """Ask a broker (2.3 and later) to have a setting set for all brokers, beside those that are; or for itself alone,
    with its own id.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    _set(address, BROKER, "" if broker is None else str(broker), name, value, timeout_s)


def set_of_group(address: tuple[str, int], group: str, name: str, value: str, *, timeout_s: float) -> None:
    """Ask a broker (4.0 and later) to have a setting set for a group (KIP-848, KIP-932).

    Raises Refused, and OSError if there is no connection or no answer.
    """
    _set(address, GROUP, group, name, value, timeout_s)


def _set(address: tuple[str, int], kind: int, resource_name: str, name: str, value: str, timeout_s: float) -> None:
    resource = struct.pack(">ib", 1, kind) + old_string(resource_name)
    setting = struct.pack(">i", 1) + old_string(name) + struct.pack(">b", SET) + old_string(value)
    header = struct.pack(">hhi", INCREMENTAL_ALTER_CONFIGS, 0, 0) + old_string(CLIENT)
    code, message = _ask(address, header + resource + setting + b"\x00", timeout_s, _outcome_of_settings)
    if code != NONE:
        raise RequestRefused(code, message)


def api_versions(address: tuple[str, int], *, timeout_s: float) -> Offer:
    """What a broker, or a KRaft controller, says that it speaks: by version 3 of the request, or by version 0 where it
    does not know that one.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    code, offer = _ask_api_versions(address, FLEXIBLE_SINCE, timeout_s)
    if code == UNSUPPORTED_VERSION:
        code, offer = _ask_api_versions(address, 0, timeout_s)
    if code != NONE:
        raise RequestRefused(code, "ApiVersions")
    return offer


def _ask_api_versions(address: tuple[str, int], version: int, timeout_s: float) -> tuple[int, Offer]:
    tags = NO_TAGS if version >= FLEXIBLE_SINCE else b""
    header = struct.pack(">hhi", API_VERSIONS, version, 0) + old_string(CLIENT) + tags

    def read(answer: Reader) -> tuple[int, Offer]:
        answer.take(4)  # the header
        return read_offer(answer, version)

    return _ask(address, header + question(version, CLIENT, CLIENT_VERSION), timeout_s, read)


def update_feature(address: tuple[str, int], feature: str, level: int, *, timeout_s: float) -> None:
    """Ask a broker with KRaft (3.3 and later) to have a feature of the cluster set to a higher level (KIP-584): version
    1 of UpdateFeatures, which it passes on to the controller.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    header = struct.pack(">hhi", UPDATE_FEATURES, 1, 0) + old_string(CLIENT) + NO_TAGS
    update = length(1) + string(feature) + struct.pack(">hb", level, UPGRADE) + NO_TAGS
    request = header + struct.pack(">i", int(timeout_s * 1000)) + update + DO_IT + NO_TAGS
    code, message = _ask(address, request, timeout_s, _outcome_of_update)
    if code != NONE:
        raise RequestRefused(code, message)


def _outcome_of_update(answer: Reader) -> tuple[int, str]:
    """The error code and message of a whole answer: those of the request, or else those of the feature."""
    answer.take(4 + len(NO_TAGS) + 4)  # the header, and for how long the request was throttled
    code, message = answer.int16(), answer.string() or ""
    features = (answer.array(_outcome_of_feature) or ()) if code == NONE else ()
    return next((each for each in features if each[0] != NONE), (code, message))


def _outcome_of_feature(answer: Reader) -> tuple[int, str]:
    answer.string()
    code, message = answer.int16(), answer.string() or ""
    answer.tagged()
    return code, message


def _ask(address: tuple[str, int], request: bytes, timeout_s: float, read: Callable[[Reader], T]) -> T:
    """What `read` makes of a broker's answer to one request."""
    with socket.create_connection(address, timeout=timeout_s) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answers:
            size = answers.read(4)
            answer = answers.read(struct.unpack(">i", size)[0]) if len(size) == 4 else b""
    if not answer:
        raise ConnectionError(f"{address[0]} closed the connection without an answer")
    try:
        return read(Reader(answer))
    except Malformed as error:
        raise ConnectionError(f"the answer of {address[0]} cannot be read: {error}") from None


def produce(address: tuple[str, int], topic: str, partition: int, batch: bytes, *, magic: int, timeout_s: float) -> int:
    """Send one batch, in message format `magic`, to a partition's leader with acks=all: its first offset.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    version = PRODUCE_VERSION[magic]
    header = struct.pack(">hhi", PRODUCE, version, 0) + old_string(CLIENT)
    outside_transactions = struct.pack(">h", -1) if version >= 3 else b""
    promise = struct.pack(">hi", -1, int(timeout_s * 1000))
    partitions = struct.pack(">iii", 1, partition, len(batch)) + batch
    topics = struct.pack(">i", 1) + old_string(topic) + partitions
    code, offset = _ask(address, header + outside_transactions + promise + topics, timeout_s, _outcome_of_batch)
    if code != NONE:
        raise RequestRefused(code, "Produce")
    return offset


def _outcome_of_batch(answer: Reader) -> tuple[int, int]:
    """The error code of an answer about one partition, and the first offset of what it took."""
    answer.take(4 + 4)  # the header, and how many topics follow: one
    answer.old_string()
    answer.take(4 + 4)  # how many partitions follow, and the partition's number
    code = answer.int16()
    return code, int.from_bytes(answer.take(8), "big", signed=True)


def brokers_told(address: tuple[str, int], *, timeout_s: float) -> frozenset[int]:
    """The ids of the brokers that a broker tells clients of: version 0 of Metadata, which every release answers.

    Raises OSError if there is no connection or no answer.
    """
    every_topic = struct.pack(">i", 0)
    request = struct.pack(">hhi", METADATA, 0, 0) + old_string(CLIENT) + every_topic
    return _ask(address, request, timeout_s, _brokers_in)


def _brokers_in(answer: Reader) -> frozenset[int]:
    answer.take(4)
    found = set()
    for _ in range(answer.int32()):
        found.add(answer.int32())
        answer.old_string()
        answer.take(4)  # the port
    return frozenset(found)


def offset_fetch(group: str, topic: str, times: int) -> bytes:
    """The request for what a group has committed of partition 0 of a topic, asked so many times over, version 1, with
    its length.
    """
    partitions = struct.pack(">i", times) + bytes(4 * times)
    topics = struct.pack(">i", 1) + old_string(topic) + partitions
    request = struct.pack(">hhi", OFFSET_FETCH, 1, 0) + old_string(CLIENT) + old_string(group) + topics
    return struct.pack(">i", len(request)) + request


def share_group_progress(
    address: tuple[str, int], group: str, topic: str, partition: int, *, timeout_s: float
) -> tuple[int, int]:
    """Ask a share group's coordinator (4.2 and later) where the group starts in a partition, and its lag there
    (KIP-1226); -1 for what it does not know. Version 1 of DescribeShareGroupOffsets.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    header = struct.pack(">hhi", DESCRIBE_SHARE_GROUP_OFFSETS, 1, 0) + old_string(CLIENT) + NO_TAGS
    partitions = length(1) + struct.pack(">i", partition)
    topics = length(1) + string(topic) + partitions + NO_TAGS
    groups = length(1) + string(group) + topics + NO_TAGS
    code, message, start, lag = _ask(address, header + groups + NO_TAGS, timeout_s, _share_progress)
    if code != NONE:
        raise RequestRefused(code, message)
    return start, lag


def _share_progress(answer: Reader) -> Progress:
    """The error code and message of a whole answer, the start offset and the lag: those of the group, or else those of
    the partition.
    """
    answer.take(4 + len(NO_TAGS) + 4)  # the header, and for how long the request was throttled
    groups = answer.array(_progress_of_group) or ()
    return next(iter(groups), (UNKNOWN_SERVER_ERROR, "an answer without the group", -1, -1))


def _progress_of_group(answer: Reader) -> Progress:
    answer.string()
    topics = answer.array(_progress_in_topic) or ()
    code, message = answer.int16(), answer.string() or ""
    answer.tagged()
    partitions = [one for topic in topics for one in topic]
    return (code, message, -1, -1) if code != NONE or not partitions else partitions[0]


def _progress_in_topic(answer: Reader) -> tuple[Progress, ...]:
    answer.string()
    answer.take(UUID_BYTES)
    found = answer.array(_progress_in_partition) or ()
    answer.tagged()
    return found


def _progress_in_partition(answer: Reader) -> Progress:
    answer.take(4)  # its number
    start = int.from_bytes(answer.take(8), "big", signed=True)
    answer.take(4)  # the leader epoch
    lag = int.from_bytes(answer.take(8), "big", signed=True)
    code, message = answer.int16(), answer.string() or ""
    answer.tagged()
    return code, message, start, lag


def _request(topic: str, partition: int, replicas: Sequence[int], *, timeout_ms: int) -> bytes:
    """The request, version 0, with its header (version 2)."""
    header = struct.pack(">hhi", ALTER_PARTITION_REASSIGNMENTS, 0, 0) + old_string(CLIENT) + NO_TAGS
    brokers = length(len(replicas)) + b"".join(struct.pack(">i", broker) for broker in replicas)
    partitions = length(1) + struct.pack(">i", partition) + brokers + NO_TAGS
    topics = length(1) + string(topic) + partitions + NO_TAGS
    return header + struct.pack(">i", timeout_ms) + topics + NO_TAGS


def _outcome_of_move(answer: Reader) -> tuple[int, str]:
    """The error code and message of a whole answer: those of the request, or else those of the partition."""
    answer.take(4 + len(NO_TAGS) + 4)  # the header, and for how long the request was throttled
    code, message = answer.int16(), answer.string() or ""
    topics = (answer.array(_outcomes_of_topic) or ()) if code == NONE else ()
    refused = (each for partitions in topics for each in partitions if each[0] != NONE)
    return next(refused, (code, message))


def _outcomes_of_topic(answer: Reader) -> tuple[tuple[int, str], ...]:
    answer.string()
    outcomes = answer.array(_outcome_of_partition) or ()
    answer.tagged()
    return outcomes


def _outcome_of_partition(answer: Reader) -> tuple[int, str]:
    answer.take(4)  # its number
    code, message = answer.int16(), answer.string() or ""
    answer.tagged()
    return code, message


def _outcome_of_settings(answer: Reader) -> tuple[int, str]:
    answer.take(4 + 4 + 4)  # the header, for how long the request was throttled, and how many resources follow: one
    return answer.int16(), answer.old_string() or ""
