"""The small files of a Kafka log directory: checkpoints, identities, markers.

| file | where | since | parsed by |
|---|---|---|---|
| replication-offset-checkpoint (high watermarks) | log dir | 0.8 | `parse_offset_checkpoint` |
| recovery-point-offset-checkpoint, cleaner-offset-checkpoint | log dir | 0.8 | `parse_offset_checkpoint` |
| log-start-offset-checkpoint | log dir | 0.11 | `parse_offset_checkpoint` |
| leader-epoch-checkpoint | partition dir | 0.11 | `parse_leader_epoch_checkpoint` |
| meta.properties | log dir | 0.9 | `parse_meta_properties` |
| quorum-state | `__cluster_metadata-0` | 2.8 | `parse_quorum_state` |
| .kafka_cleanshutdown (empty; from 3.7 on JSON) | log dir | 0.8 | `parse_clean_shutdown` |

Brokers replace these files by rename, so a copy is whole or missing. A file that is neither right nor missing is an
error and raises `ParseError` with the file, the line and what was expected, as the broker itself would refuse it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from kafkafiles.errors import ParseError

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
META_PROPERTIES: Final = "meta.properties"
PARTITION_METADATA: Final = "partition.metadata"
QUORUM_STATE: Final = "quorum-state"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCheckpoint:
    """One offset for each (topic, partition). What the offset means, the file's name says."""

    version: int
    offsets: Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """Leader epoch `epoch` begins at `start_offset` in this replica's log."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpochCheckpoint:
    """The leader epochs of one replica's log, in file order (ascending, in a file that is right)."""

    version: int
    entries: tuple[EpochStart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """A broker's identity as its log directory has it. `node_id` is `broker.id` up to version 0,
    `node.id` in 1 (KRaft).
    """

    version: int
    node_id: int | None
    cluster_id: str | None
    directory_id: str | None
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """A KRaft node's vote and leader. `leader_id` and `voted_id` are None when the file has -1; voters are
    in version 0 only.
    """

    version: int
    leader_id: int | None
    leader_epoch: int
    voted_id: int | None
    voted_directory_id: str | None
    voters: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanShutdown:
    """The marker of a clean stop; `broker_epoch` is in it from 3.7 on (KAFKA-15582)."""

    broker_epoch: int | None


def parse_offset_checkpoint(data: bytes, source: str = "offset checkpoint") -> OffsetCheckpoint:
    """Lines `0`, `<count>`, then `<topic> <partition> <offset>`."""
    version, rows = _counted(data, source, 3, "<topic> <partition> <offset>")
    offsets: dict[tuple[str, int], int] = {}
    for number, (topic, partition, offset) in rows:
        at = (topic, _int(partition, source, number, "partition"))
        if at in offsets:
            raise ParseError(f"{source}: line {number}: {topic}-{partition} for the second time")
        offsets[at] = _int(offset, source, number, "offset")
    return OffsetCheckpoint(version=version, offsets=offsets)


def encode_offset_checkpoint(offsets: Mapping[tuple[str, int], int]) -> bytes:
    r"""The file that has these offsets, as brokers write it.

    >>> encode_offset_checkpoint({("t", 0): 3})
    b'0\n1\nt 0 3\n'
    """
    rows = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    return "\n".join(["0", str(len(rows)), *rows, ""]).encode()


def parse_leader_epoch_checkpoint(data: bytes, source: str = LEADER_EPOCHS) -> LeaderEpochCheckpoint:
    """Lines `0`, `<count>`, then `<epoch> <start offset>` (KIP-101). The order is kept as it is: a
    regression is a finding.
    """
    version, rows = _counted(data, source, 2, "<epoch> <start offset>")
    entries = tuple(
        EpochStart(epoch=_int(epoch, source, number, "epoch"), start_offset=_int(start, source, number, "start offset"))
        for number, (epoch, start) in rows
    )
    return LeaderEpochCheckpoint(version=version, entries=entries)


def parse_meta_properties(data: bytes, source: str = META_PROPERTIES) -> MetaProperties:
    """A Java properties file; what it must hold differs by version, so nothing but numbers is insisted on."""
    properties = _properties(data, source, "=")
    version = _int(properties.get("version", "0"), source, None, "version")
    node = properties.get("node.id", properties.get("broker.id"))
    return MetaProperties(
        version=version,
        node_id=None if node is None else _int(node, source, None, "node.id or broker.id"),
        cluster_id=properties.get("cluster.id"),
        directory_id=properties.get("directory.id"),
        properties=properties,
    )


def parse_topic_id(data: bytes, source: str = PARTITION_METADATA) -> str:
    """The topic's id in partition.metadata (KIP-516)."""
    properties = _properties(data, source, ":")
    if not (found := properties.get("topic_id", "").strip()):
        raise ParseError(f"{source}: no topic_id")
    return found


def parse_quorum_state(data: bytes, source: str = QUORUM_STATE) -> QuorumState:
    """One line of JSON; version 0 up to 3.8 and with static voters, 1 from 3.9 on with kraft.version 1."""
    document = _json_object(data, source)
    version = _member(document, "data_version", source)
    if version not in (0, 1):
        raise ParseError(f"{source}: data_version {version!r}; known are 0 and 1")
    leader = _member(document, "leaderId", source)
    voted = _member(document, "votedId", source)
    directory = document.get("votedDirectoryId")
    voters = document.get("currentVoters") or []
    if not isinstance(voters, list) or not all(isinstance(voter, dict) for voter in voters):
        raise ParseError(f"{source}: currentVoters is not a list of objects")
    return QuorumState(
        version=version,
        leader_id=leader if leader >= 0 else None,
        leader_epoch=_member(document, "leaderEpoch", source),
        voted_id=voted if voted >= 0 else None,
        voted_directory_id=directory if isinstance(directory, str) else None,
        voters=tuple(_member(voter, "voterId", source) for voter in voters),
    )


def parse_clean_shutdown(data: bytes, source: str = CLEAN_SHUTDOWN) -> CleanShutdown:
    """Empty up to 3.6; `{"version":0,"brokerEpoch":N}` from 3.7 on."""
    if not data.strip():
        return CleanShutdown(broker_epoch=None)
    return CleanShutdown(broker_epoch=_member(_json_object(data, source), "brokerEpoch", source))


def reader_of(parse: Callable[[bytes, str], _T]) -> Callable[[Path], _T]:
    """A function that parses the file at a path. It raises ParseError, and FileNotFoundError if there is no file."""
    return lambda path: parse(path.read_bytes(), str(path))


read_offset_checkpoint = reader_of(parse_offset_checkpoint)
read_leader_epoch_checkpoint = reader_of(parse_leader_epoch_checkpoint)
read_meta_properties = reader_of(parse_meta_properties)
read_topic_id = reader_of(parse_topic_id)
read_quorum_state = reader_of(parse_quorum_state)
read_clean_shutdown = reader_of(parse_clean_shutdown)


def _text(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"{source}: not text (byte {error.start} is {data[error.start]:#04x})") from None


def _counted(data: bytes, source: str, fields: int, form: str) -> tuple[int, list[tuple[int, list[str]]]]:
    """Version and rows (with their line numbers) of a file whose second line is the number of rows.

    No bytes at all are no rows: from 1.0 on brokers create these files empty and fill them later.
    """
    if not data:
        return 0, []
    lines = _text(data, source).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 2:
        raise ParseError(f"{source}: {len(lines)} lines; expected a version, a count, and rows '{form}'")
    version = _int(lines[0], source, 1, "version")
    if version not in (0, 1):
        raise ParseError(f"{source}: line 1: version {version}; known is 0")
    count = _int(lines[1], source, 2, "count")
    rows = [(number, line.split()) for number, line in enumerate(lines[2:], start=3)]
    if count != len(rows):
        raise ParseError(f"{source}: line 2 announces {count} rows, {len(rows)} follow")
    for number, row in rows:
        if len(row) != fields:
            raise ParseError(f"{source}: line {number}: {' '.join(row)!r}; expected '{form}'")
    return version, rows


def _int(text: str, source: str, line: int | None, what: str) -> int:
    stripped = text.strip()
    if stripped.isascii() and stripped.removeprefix("-").isdigit() and len(stripped) <= 20:
        return int(stripped)
    where = source if line is None else f"{source}: line {line}"
    raise ParseError(f"{where}: {what} is {text.strip()!r}, not a number")


def _properties(data: bytes, source: str, separator: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for number, line in enumerate(_text(data, source).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        key, found, value = line.partition(separator)
        if not found:
            raise ParseError(f"{source}: line {number}: {line!r}; expected 'name{separator}value'")
        properties[key.strip()] = value.strip()
    return properties


def _json_object(data: bytes, source: str) -> dict[str, Any]:
    try:
        document = json.loads(_text(data, source))
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(f"{source}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ParseError(f"{source}: not a JSON object")
    return document


def _member(document: Mapping[str, Any], name: str, source: str) -> int:
    value = document.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParseError(f"{source}: {name} is {value!r}, not a number")
    return value
