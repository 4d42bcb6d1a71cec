"""The records of KRaft's metadata log: their types as a table, and the decoding of one record.

The value of a data record is a frame: unsigned varint frame version (1), unsigned varint type, unsigned varint version,
then the fields in Kafka's "flexible" encoding (compact strings and arrays, tagged fields at the end). Control records
carry what the quorum says of itself: leader changes, snapshot borders, voters.

The table has each type's fields in the order of the bytes, `name:type` or `name:type:first version`; a type is a
scalar, `[]type` or `{fields}`. It is copied from the message definitions of Kafka
(metadata/src/main/resources/common/metadata/*.json, clients/src/main/resources/common/message/*.json). A type or a
version that is not in the table becomes `UNKNOWN`, never an error, and unknown tagged fields are skipped, as by Kafka.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from kafkafiles import batches as log
from kafkafiles.encoding import Reader
from kafkafiles.errors import Malformed

Fields: TypeAlias = Mapping[str, Any]

LEADER_UNCHANGED: Final = -2
_FRAME_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class _Type:
    name: str
    version_max: int
    """The last version that the table describes."""
    plain: str
    """The fields that every record of this type has."""
    tagged: tuple[tuple[int, str, str, Any], ...] = ()
    """Tag, name, type and default of each field that a record may have."""


_ENDPOINT: Final = "{name:string host:string port:uint16 security_protocol:int16}"
_FEATURE: Final = "{name:string min_supported_version:int16 max_supported_version:int16}"

# fmt: off
_TYPES: Final[dict[int, _Type]] = {
    0: _Type(
        "REGISTER_BROKER_RECORD", 4,
        "broker_id:int32 is_migrating_zk_broker:bool:2 incarnation_id:uuid broker_epoch:int64 "
        f"end_points:[]{_ENDPOINT} features:[]{_FEATURE} rack:string fenced:bool "
        "in_controlled_shutdown:bool:1",
        ((0, "log_dirs", "[]uuid", ()),),
    ),
    1: _Type("UNREGISTER_BROKER_RECORD", 0, "broker_id:int32 broker_epoch:int64"),
    2: _Type("TOPIC_RECORD", 0, "name:string topic_id:uuid"),
    3: _Type(
        "PARTITION_RECORD", 2,
        "partition_id:int32 topic_id:uuid replicas:[]int32 isr:[]int32 removing_replicas:[]int32 "
        "adding_replicas:[]int32 leader:int32 leader_epoch:int32 partition_epoch:int32 "
        "directories:[]uuid:1",
        (
            (0, "leader_recovery_state", "int8", 0),
            (1, "eligible_leader_replicas", "[]int32", None),
            (2, "last_known_elr", "[]int32", None),
        ),
    ),
    4: _Type("CONFIG_RECORD", 0, "resource_type:int8 resource_name:string name:string value:string"),
    5: _Type(
        "PARTITION_CHANGE_RECORD", 2,
        "partition_id:int32 topic_id:uuid",
        (
            (0, "isr", "[]int32", None),
            (1, "leader", "int32", LEADER_UNCHANGED),
            (2, "replicas", "[]int32", None),
            (3, "removing_replicas", "[]int32", None),
            (4, "adding_replicas", "[]int32", None),
            (5, "leader_recovery_state", "int8", -1),
            (6, "eligible_leader_replicas", "[]int32", None),
            (7, "last_known_elr", "[]int32", None),
            (8, "directories", "[]uuid", None),
        ),
    ),
    7: _Type("FENCE_BROKER_RECORD", 0, "id:int32 epoch:int64"),
    8: _Type("UNFENCE_BROKER_RECORD", 0, "id:int32 epoch:int64"),
    9: _Type("REMOVE_TOPIC_RECORD", 0, "topic_id:uuid"),
    10: _Type(
        "DELEGATION_TOKEN_RECORD", 0,
        "owner:string requester:string renewers:[]string issue_timestamp:int64 max_timestamp:int64 "
        "expiration_timestamp:int64 token_id:string",
    ),
    11: _Type(
        "USER_SCRAM_CREDENTIAL_RECORD", 0,
        "name:string mechanism:int8 salt:bytes stored_key:bytes server_key:bytes iterations:int32",
    ),
    12: _Type("FEATURE_LEVEL_RECORD", 0, "name:string feature_level:int16"),
    14: _Type(
        "CLIENT_QUOTA_RECORD", 0,
        "entity:[]{entity_type:string entity_name:string} key:string value:float64 remove:bool",
    ),
    15: _Type("PRODUCER_IDS_RECORD", 0, "broker_id:int32 broker_epoch:int64 next_producer_id:int64"),
    17: _Type(
        "BROKER_REGISTRATION_CHANGE_RECORD", 3,
        "broker_id:int32 broker_epoch:int64",
        (
            (0, "fenced", "int8", 0),
            (1, "in_controlled_shutdown", "int8", 0),
            (2, "log_dirs", "[]uuid", ()),
            (3, "cordoned_log_dirs", "[]uuid", None),
        ),
    ),
    18: _Type(
        "ACCESS_CONTROL_ENTRY_RECORD", 0,
        "id:uuid resource_type:int8 resource_name:string pattern_type:int8 principal:string host:string "
        "operation:int8 permission_type:int8",
    ),
    19: _Type("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, "id:uuid"),
    20: _Type("NO_OP_RECORD", 0, ""),
    21: _Type("ZK_MIGRATION_STATE_RECORD", 0, "zk_migration_state:int8"),
    22: _Type("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, "name:string mechanism:int8"),
    23: _Type("BEGIN_TRANSACTION_RECORD", 0, "", ((0, "name", "string", None),)),
    24: _Type("END_TRANSACTION_RECORD", 0, ""),
    25: _Type("ABORT_TRANSACTION_RECORD", 0, "", ((0, "reason", "string", None),)),
    26: _Type("REMOVE_DELEGATION_TOKEN_RECORD", 0, "token_id:string"),
    27: _Type(
        "REGISTER_CONTROLLER_RECORD", 0,
        f"controller_id:int32 incarnation_id:uuid zk_migration_ready:bool end_points:[]{_ENDPOINT} "
        f"features:[]{_FEATURE}",
    ),
    28: _Type("CLEAR_ELR_RECORD", 0, "topic_name:string"),
    29: _Type("UNREGISTER_CONTROLLER_RECORD", 0, "controller_id:int32"),
}

_CONTROL: Final[dict[int, _Type]] = {
    log.CONTROL_LEADER_CHANGE: _Type(
        "LEADER_CHANGE", 1,
        "version:int16 leader_id:int32 voters:[]{voter_id:int32 voter_directory_id:uuid:1} "
        "granting_voters:[]{voter_id:int32 voter_directory_id:uuid:1}",
    ),
    log.CONTROL_SNAPSHOT_HEADER: _Type("SNAPSHOT_HEADER", 0, "version:int16 last_contained_log_timestamp:int64"),
    log.CONTROL_SNAPSHOT_FOOTER: _Type("SNAPSHOT_FOOTER", 0, "version:int16"),
    log.CONTROL_KRAFT_VERSION: _Type("KRAFT_VERSION", 0, "version:int16 kraft_version:int16"),
    log.CONTROL_KRAFT_VOTERS: _Type(
        "KRAFT_VOTERS", 0,
        "version:int16 "
        "voters:[]{voter_id:int32 voter_directory_id:uuid endpoints:[]{name:string host:string port:uint16} "
        "kraft_version_feature:{min_supported_version:int16 max_supported_version:int16}}",
    ),
}
# fmt: on


class _Reader(Reader):
    """A cursor over one record's bytes, and the version that the record has."""

    __slots__ = ("version",)

    def __init__(self, data: bytes, version: int = 0) -> None:
        super().__init__(data)
        self.version = version

    def boolean(self) -> bool:
        return self.take(1) != b"\x00"

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self.take(16)).decode("ascii").rstrip("=")


def _fixed(code: str) -> Callable[[_Reader], Any]:
    form = struct.Struct(">" + code)
    return lambda reader: form.unpack(reader.take(form.size))[0]


_SCALARS: Final[dict[str, Callable[[_Reader], Any]]] = {
    "int8": _fixed("b"),
    "int16": _fixed("h"),
    "uint16": _fixed("H"),
    "int32": _fixed("i"),
    "int64": _fixed("q"),
    "float64": _fixed("d"),
    "bool": _Reader.boolean,
    "uuid": _Reader.uuid,
    "string": _Reader.string,
    "bytes": _Reader.blob,
}
_READERS: Final[dict[str, Callable[[_Reader], Any]]] = dict(_SCALARS)


def _reader_of(form: str) -> Callable[[_Reader], Any]:
    """The reader of a type: a scalar, `[]type`, or `{name:type[:first version] …}`."""
    if form not in _READERS:
        if form.startswith("[]"):
            element = _reader_of(form[2:])
            _READERS[form] = lambda reader: reader.array(element)
        else:
            _READERS[form] = _struct_reader(form)
    return _READERS[form]


def _struct_reader(form: str) -> Callable[[_Reader], Any]:
    def read(reader: _Reader) -> Fields:
        found = _fields(form[1:-1], reader)
        reader.tagged()
        return found

    return read


def _fields(text: str, reader: _Reader) -> dict[str, Any]:
    """The fields that a record of the reader's version has, by name."""
    return {name: read(reader) for name, read, first in _members(text) if reader.version >= first}


@cache
def _members(text: str) -> list[tuple[str, Callable[[_Reader], Any], int]]:
    """Name, reader and first version of each field."""
    return [_member(part) for part in _split(text)] if text else []


def _split(text: str) -> list[str]:
    """Cut at the spaces that are not inside braces."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == " " and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [*parts, part]


def _member(text: str) -> tuple[str, Callable[[_Reader], Any], int]:
    name, _, form = text.partition(":")
    head, _, last = form.rpartition(":")
    if head and last.isdigit():
        return name, _reader_of(head), int(last)
    return name, _reader_of(form), 0


def _read(kind: _Type, reader: _Reader) -> dict[str, Any]:
    fields = _fields(kind.plain, reader)
    tags = reader.tagged()
    for tag, name, form, default in kind.tagged:
        fields[name] = _reader_of(form)(_Reader(tags[tag], reader.version)) if tag in tags else default
    return fields


def decode_record(value: bytes | None) -> tuple[str, int, Fields]:
    """Kind, version and fields of one framed metadata record."""
    if value is None:
        return "CORRUPT", -1, {"reason": "a metadata record without a value"}
    reader = _Reader(value)
    try:
        frame = reader.uvarint()
        if frame != _FRAME_VERSION:
            return "UNKNOWN", -1, {"frame_version": frame, "value": value}
        key = reader.uvarint()
        reader.version = reader.uvarint()
    except Malformed as error:
        return "CORRUPT", -1, {"reason": str(error), "value": value}
    return _decoded(_TYPES.get(key), key, reader)


def decode_control(control: int, value: bytes | None) -> tuple[str, int, Fields]:
    """Kind, version and fields of a control record of type `control`."""
    version = int.from_bytes(value[:2], "big", signed=True) if value is not None and len(value) >= 2 else 0
    return _decoded(_CONTROL.get(control), control, _Reader(value or b"", version))


def _decoded(kind: _Type | None, key: int, reader: _Reader) -> tuple[str, int, Fields]:
    unknown = {"key": key, "value": reader.data}
    if kind is None:
        return "UNKNOWN", reader.version, unknown
    try:
        fields = _read(kind, reader)
        if reader.position != len(reader.data):
            raise Malformed(f"{len(reader.data) - reader.position} bytes after the record's end")
    except Malformed as error:
        if reader.version > kind.version_max:  # a newer broker's: not for us to call corrupt
            return "UNKNOWN", reader.version, {**unknown, "name": kind.name}
        return "CORRUPT", reader.version, {**unknown, "name": kind.name, "reason": str(error)}
    return kind.name, reader.version, fields
