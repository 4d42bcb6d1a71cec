"""Requests that the client library does not have, or not as they are needed.

AlterPartitionReassignments (KIP-455): one connection, one request, one answer, in the flexible encoding of KIP-482:
lengths and counts are varints, one more than the number, and each structure ends with its tagged fields, here none.
IncrementalAlterConfigs (KIP-339) for all brokers, whose resource has an empty name, which a client library refuses.
OffsetFetch, of which a client library asks no more than one at a time.
UpdateFeatures (KIP-584), for levels of features.
Produce, of a batch whose bytes the caller has made.
ApiVersions (KIP-35, KIP-584), which a client library asks for itself, and tells nobody what was answered.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from evidence.errors import HarnessError
from kafkafiles.encoding import NO_TAGS, Reader, length, old_string, string
from kafkafiles.errors import Malformed

T = TypeVar("T")

PRODUCE: Final = 0
PRODUCE_VERSION: Final = {0: 0, 1: 2, 2: 3}
"""The first version of Produce that takes a batch in each message format."""
OFFSET_FETCH: Final = 9
INCREMENTAL_ALTER_CONFIGS: Final = 44
ALTER_PARTITION_REASSIGNMENTS: Final = 45
API_VERSIONS: Final = 18
FETCH: Final = 1
UNSUPPORTED_VERSION: Final = 35
FINALIZED: Final = 2
"""The tagged field of an answer to ApiVersions that has the cluster's finalized features."""
SUPPORTED: Final = 0
"""Likewise of the features that the broker supports."""
UPDATE_FEATURES: Final = 57
UPGRADE: Final = 1
"""How a level is changed: only to a higher one."""
DO_IT: Final = b"\x00"
"""The request is not for a mere check."""
BROKER: Final = 4
SET: Final = 0
CLIENT: Final = "kafka-chaos"
NONE: Final = 0
NOT_CONTROLLER: Final = 41
NONE_OF_THEM: Final = b"\x01"
"""An empty array of the flexible encoding."""


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
    request = _request(topic, partition, replicas, timeout_ms=int(timeout_s * 1000))
    code, message = _ask(address, request, timeout_s, _outcome_of_move)
    if code != NONE:
        raise Refused(code, message)


def set_broker_default(address: tuple[str, int], name: str, value: str, *, timeout_s: float) -> None:
    """Ask a broker (2.3 and later) to have a setting set for all brokers, beside those that are.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    resource = struct.pack(">ib", 1, BROKER) + old_string("")
    setting = struct.pack(">i", 1) + old_string(name) + struct.pack(">b", SET) + old_string(value)
    header = struct.pack(">hhi", INCREMENTAL_ALTER_CONFIGS, 0, 0) + old_string(CLIENT)
    code, message = _ask(address, header + resource + setting + b"\x00", timeout_s, _outcome_of_settings)
    if code != NONE:
        raise Refused(code, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a process says that it speaks."""

    apis: Mapping[int, int]
    """The highest version of each kind of request, by its key."""
    supported: Mapping[str, int]
    """The highest level of each feature that it supports (KIP-584); none before 2.7."""
    finalized: Mapping[str, int]
    """The level of each feature that the cluster has, as far as it knows."""


def api_versions(address: tuple[str, int], *, timeout_s: float) -> Spoken:
    """What a broker, or a KRaft controller, says that it speaks: by version 3 of the request, or by version 0 where it
    does not know that one.

    Raises Refused, and OSError if there is no connection or no answer.
    """
    header = struct.pack(">hhi", API_VERSIONS, 3, 0) + old_string(CLIENT) + NO_TAGS
    code, spoken = _ask(address, header + string(CLIENT) + string("1") + NO_TAGS, timeout_s, _spoken)
    if code == UNSUPPORTED_VERSION:  # answered in the form of version 0, whatever was asked (KIP-511)
        header = struct.pack(">hhi", API_VERSIONS, 0, 0) + old_string(CLIENT)
        code, spoken = _ask(address, header, timeout_s, _spoken_of_old)
    if code != NONE:
        raise Refused(code, "ApiVersions")
    return spoken


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
        raise Refused(code, message)


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


def _spoken(answer: Reader) -> tuple[int, Spoken]:
    answer.take(4)
    code = answer.int16()
    if code == UNSUPPORTED_VERSION:
        return code, Spoken(apis={}, supported={}, finalized={})
    apis = dict(answer.array(_api) or ())
    answer.take(4)
    tags = answer.tagged()
    return code, Spoken(
        apis=apis,
        supported=_features(tags.get(SUPPORTED, NONE_OF_THEM)),
        finalized=_features(tags.get(FINALIZED, NONE_OF_THEM)),
    )


def _spoken_of_old(answer: Reader) -> tuple[int, Spoken]:
    answer.take(4)
    code, apis = answer.int16(), {}
    for _ in range(answer.int32()):
        key, _, highest = answer.int16(), answer.int16(), answer.int16()
        apis[key] = highest
    return code, Spoken(apis=apis, supported={}, finalized={})


def _api(answer: Reader) -> tuple[int, int]:
    key, _, highest = answer.int16(), answer.int16(), answer.int16()
    answer.tagged()
    return key, highest


def _features(content: bytes) -> dict[str, int]:
    """The highest level of each feature, by name: both kinds have two levels, of which the order differs."""
    return dict(Reader(content).array(_feature) or ())


def _feature(answer: Reader) -> tuple[str, int]:
    name, levels = answer.string() or "", (answer.int16(), answer.int16())
    answer.tagged()
    return name, max(levels)


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
        raise Refused(code, "Produce")
    return offset


def _outcome_of_batch(answer: Reader) -> tuple[int, int]:
    """The error code of an answer about one partition, and the first offset of what it took."""
    answer.take(4 + 4)  # the header, and how many topics follow: one
    answer.old_string()
    answer.take(4 + 4)  # how many partitions follow, and the partition's number
    code = answer.int16()
    return code, int.from_bytes(answer.take(8), "big", signed=True)


def offset_fetch(group: str, topic: str, times: int) -> bytes:
    """The request for what a group has committed of partition 0 of a topic, asked so many times over, version 1, with
    its length.
    """
    partitions = struct.pack(">i", times) + bytes(4 * times)
    topics = struct.pack(">i", 1) + old_string(topic) + partitions
    request = struct.pack(">hhi", OFFSET_FETCH, 1, 0) + old_string(CLIENT) + old_string(group) + topics
    return struct.pack(">i", len(request)) + request


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
