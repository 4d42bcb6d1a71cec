"""The records of `__consumer_offsets`: their types as a table, and the decoding of one record.

A key begins with its type (int16), a value with its version (int16). A record without a value removes what the key
names. Keys have the encoding from before KIP-482; so have values of classic groups up to version 3, and what members
of classic groups put into them (`ConsumerProtocol`).

The table (kafkafiles.field_tables says how to read it) is copied from the message definitions of Kafka:
core/src/main/resources/common/message (2.7 to 3.5) and group-coordinator/src/main/resources/common/message (3.6 and
later), with the tagged fields of 4.4.0. Before 2.7 the schemas stand in GroupMetadataManager.scala (0.9.0 to 2.6), and
in OffsetManager.scala (0.8.2). Types are named as in CoordinatorRecordType (4.1). A type or a version that is not in
the table becomes `UNKNOWN`, never an error, and unknown tagged fields are skipped, as by Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kafkafiles.errors import Malformed
from kafkafiles.field_tables import Fields, OldRecordReader, RecordReader, RecordType, decode, read_fields

OFFSET_COMMIT: Final = "OFFSET_COMMIT"
LEGACY_OFFSET_COMMIT: Final = "LEGACY_OFFSET_COMMIT"
GROUP_METADATA: Final = "GROUP_METADATA"
CURRENT_ASSIGNMENT: Final = "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT"
CONSUMER: Final = "consumer"
"""The protocol type of a group whose members' bytes are those of ConsumerProtocol."""


@dataclass(frozen=True, slots=True)
class _Type:
    """A type of record."""

    key: str
    """The fields of its key."""
    value: RecordType
    flexible: int = 0
    """From which version on values have the flexible encoding."""
    early: str = ""
    """The fields of version 0 in 4.0, where these were others: the type was not released for production yet."""


_GROUP: Final = "group_id:string"
_MEMBER: Final = "group_id:string member_id:string"
_COMMIT: Final = "group:string topic:string partition:int32"
_PARTITIONS: Final = "topic_id:uuid partitions:[]int32"
_OF_TOPIC: Final = "topic_id:uuid topic_name:string"
_TASKS: Final = "[]{subtopology_id:string partitions:[]int32}"
_TASKS_NOW: Final = "[]{subtopology_id:string partitions:[]int32 assignment_epochs@0:[]int32}"
_PAIRS: Final = "[]{key:string value:string}"
_INTERNAL_TOPICS: Final = f"[]{{name:string partitions:int32 replication_factor:int16 topic_configs:{_PAIRS}}}"
_WITH_RACKS: Final = (
    f"topics:[]{{{_OF_TOPIC} num_partitions:int32 partition_metadata:[]{{partition:int32 racks:[]string}}}}"
)
_OFFSET: Final = RecordType(
    OFFSET_COMMIT,
    4,
    "offset:int64 leader_epoch:int32:3 metadata:string commit_timestamp:int64 expire_timestamp:int64:1-1",
    ((0, "topic_id", "uuid", None),),
)
_AT: Final = ((0, "assignment_timestamp", "int64", 0),)

# fmt: off
_TYPES: Final[dict[int, _Type]] = {
    0: _Type(
        _COMMIT, RecordType(LEGACY_OFFSET_COMMIT, _OFFSET.version_max, _OFFSET.plain, _OFFSET.tagged), flexible=4
    ),
    1: _Type(_COMMIT, _OFFSET, flexible=4),
    2: _Type(
        "group:string",
        RecordType(
            GROUP_METADATA, 4,
            "protocol_type:string generation:int32 protocol:string leader:string current_state_timestamp:int64:2 "
            "members:[]{member_id:string group_instance_id:string:3 client_id:string client_host:string "
            "rebalance_timeout:int32:1 session_timeout:int32 subscription:bytes assignment:bytes}",
        ),
        flexible=4,
    ),
    3: _Type(_GROUP, RecordType(
        "CONSUMER_GROUP_METADATA", 0, "epoch:int32", ((0, "metadata_hash", "int64", 0),)
    )),
    4: _Type(_GROUP, RecordType("CONSUMER_GROUP_PARTITION_METADATA", 0, _WITH_RACKS)),
    5: _Type(_MEMBER, RecordType(
        "CONSUMER_GROUP_MEMBER_METADATA", 0,
        "instance_id:string rack_id:string client_id:string client_host:string subscribed_topic_names:[]string "
        "subscribed_topic_regex:string rebalance_timeout_ms:int32 server_assignor:string",
        ((
            0, "classic_member_metadata",
            "~{session_timeout_ms:int32 supported_protocols:[]{name:string metadata:bytes}}", None,
        ),),
    )),
    6: _Type(_GROUP, RecordType("CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", 0, "assignment_epoch:int32", _AT)),
    7: _Type(_MEMBER, RecordType(
        "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", 0, f"topic_partitions:[]{{{_PARTITIONS}}}"
    )),
    8: _Type(_MEMBER, RecordType(
        CURRENT_ASSIGNMENT, 0,
        "member_epoch:int32 previous_member_epoch:int32 state:int8 "
        f"assigned_partitions:[]{{{_PARTITIONS} assignment_epochs@0:[]int32}} "
        f"partitions_pending_revocation:[]{{{_PARTITIONS} assignment_epochs@0:[]int32}}",
    )),
    9: _Type(_GROUP, RecordType("SHARE_GROUP_PARTITION_METADATA", 0, _WITH_RACKS)),
    10: _Type(_MEMBER, RecordType(
        "SHARE_GROUP_MEMBER_METADATA", 0,
        "rack_id:string client_id:string client_host:string subscribed_topic_names:[]string",
    )),
    11: _Type(
        _GROUP, RecordType("SHARE_GROUP_METADATA", 0, "epoch:int32 metadata_hash:int64"), early="epoch:int32"
    ),
    12: _Type(_GROUP, RecordType("SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", 0, "assignment_epoch:int32", _AT)),
    13: _Type(_MEMBER, RecordType(
        "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", 0, f"topic_partitions:[]{{{_PARTITIONS}}}"
    )),
    14: _Type(_MEMBER, RecordType(
        "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT", 0,
        "member_epoch:int32 previous_member_epoch:int32 state:int8 "
        f"assigned_partitions:[]{{{_PARTITIONS}}}",
    )),
    15: _Type(
        _GROUP,
        RecordType(
            "SHARE_GROUP_STATE_PARTITION_METADATA", 0,
            f"initializing_topics:[]{{{_OF_TOPIC} partitions:[]int32}} "
            f"initialized_topics:[]{{{_OF_TOPIC} partitions:[]int32}} deleting_topics:[]{{{_OF_TOPIC}}}",
        ),
        early=f"initialized_topics:[]{{{_OF_TOPIC} partitions:[]int32}} deleting_topics:[]{{{_OF_TOPIC}}}",
    ),
    16: _Type("group_id:string regular_expression:string", RecordType(
        "CONSUMER_GROUP_REGULAR_EXPRESSION", 0, "topics:[]string version:int64 timestamp:int64"
    )),
    17: _Type(_GROUP, RecordType(
        "STREAMS_GROUP_METADATA", 0,
        "epoch:int32 metadata_hash:int64",
        (
            (0, "validated_topology_epoch", "int32", -1),
            (1, "last_assignment_configs", _PAIRS, None),
            (2, "stored_description_topology_epoch", "int32", -1),
            (3, "failed_description_topology_epoch", "int32", -1),
        ),
    )),
    19: _Type(_MEMBER, RecordType(
        "STREAMS_GROUP_MEMBER_METADATA", 0,
        "instance_id:string rack_id:string client_id:string client_host:string rebalance_timeout_ms:int32 "
        "topology_epoch:int32 process_id:string user_endpoint:?{host:string port:uint16} "
        f"client_tags:{_PAIRS}",
    )),
    20: _Type(_GROUP, RecordType("STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", 0, "assignment_epoch:int32", _AT)),
    21: _Type(_MEMBER, RecordType(
        "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER", 0,
        f"active_tasks:{_TASKS} standby_tasks:{_TASKS} warmup_tasks:{_TASKS}",
    )),
    22: _Type(_MEMBER, RecordType(
        "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT", 0,
        "member_epoch:int32 previous_member_epoch:int32 state:int8 "
        f"active_tasks:{_TASKS_NOW} standby_tasks:{_TASKS_NOW} warmup_tasks:{_TASKS_NOW} "
        f"active_tasks_pending_revocation:{_TASKS_NOW} standby_tasks_pending_revocation:{_TASKS_NOW} "
        f"warmup_tasks_pending_revocation:{_TASKS_NOW}",
    )),
    23: _Type(_GROUP, RecordType(
        "STREAMS_GROUP_TOPOLOGY", 0,
        "epoch:int32 subtopologies:[]{subtopology_id:string source_topics:[]string source_topic_regex:[]string "
        f"state_changelog_topics:{_INTERNAL_TOPICS} repartition_sink_topics:[]string "
        f"repartition_source_topics:{_INTERNAL_TOPICS} "
        "copartition_groups:[]{source_topics:[]int16 source_topic_regex:[]int16 repartition_source_topics:[]int16}}",
    )),
}
# fmt: on

_OWNED: Final = "[]{topic:string partitions:[]int32}"
_SUBSCRIPTION: Final = RecordType(
    "ConsumerProtocolSubscription",
    3,
    f"topics:[]string user_data:bytes owned_partitions:{_OWNED}:1 generation_id:int32:2 rack_id:string:3",
)
_ASSIGNMENT: Final = RecordType("ConsumerProtocolAssignment", 3, f"assigned_partitions:{_OWNED} user_data:bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """One record of the topic."""

    kind: str
    """As Kafka names its type, `UNKNOWN` for a type or a version that is not in the table, and `CORRUPT` for what
    cannot be decoded."""
    version: int
    """Of the value; -1 without one."""
    key: Fields
    fields: Fields | None
    """Of the value, in snake_case; None of a record that removes what its key names."""


def decode_record(key: bytes | None, value: bytes | None) -> GroupRecord:
    """One record, by its key and its value. Of a consumer group's members `subscription` and `assignment` are decoded
    too, if their bytes are what ConsumerProtocol makes.
    """
    unknown = {"key": key, "value": value}
    if key is None:
        return _other("CORRUPT", -1, {**unknown, "reason": "a record without a key"})
    reader = OldRecordReader(key)
    try:
        number = reader.int16()
    except Malformed as error:
        return _other("CORRUPT", -1, {**unknown, "reason": str(error)})
    kind = _TYPES.get(number)
    if kind is None:
        return _other("UNKNOWN", -1, {**unknown, "type": number})
    name, named = decode(RecordType(kind.value.name, 0, kind.key), reader, unknown)
    if name == "CORRUPT":
        return _other(name, -1, named)
    if value is None:
        return GroupRecord(kind=name, version=-1, key=named, fields=None)
    version = int.from_bytes(value[:2], "big", signed=True)
    name, fields = _value(kind, version, value, unknown)
    return GroupRecord(kind=name, version=version, key=named, fields=fields)


def _other(kind: str, version: int, fields: Fields) -> GroupRecord:
    return GroupRecord(kind=kind, version=version, key={}, fields=fields)


def _value(kind: _Type, version: int, value: bytes, unknown: Fields) -> tuple[str, Fields]:
    table = kind.value
    if len(value) < 2 or version < 0:
        return "CORRUPT", {**unknown, "name": table.name, "reason": "a value without a version"}
    if version > table.version_max:
        return "UNKNOWN", {**unknown, "name": table.name}
    encoding = RecordReader if version >= kind.flexible else OldRecordReader
    name, fields = decode(table, encoding(value[2:], version), unknown)
    if name == "CORRUPT" and kind.early:
        again, early = decode(RecordType(table.name, table.version_max, kind.early), encoding(value[2:], version), {})
        name, fields = (again, early) if again != "CORRUPT" else (name, fields)
    if name == GROUP_METADATA and fields["protocol_type"] == CONSUMER:
        fields = {**fields, "members": tuple(_member(one) for one in fields["members"] or ())}
    return name, fields


def _member(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        **fields,
        "subscription": _of_consumer(_SUBSCRIPTION, fields["subscription"]),
        "assignment": _of_consumer(_ASSIGNMENT, fields["assignment"]),
    }


def _of_consumer(kind: RecordType, content: bytes | None) -> Fields | bytes | None:
    """What ConsumerProtocol made, as the client and the tool read it: a newer version by the last one that is known,
    and further bytes are left. The bytes themselves if they are something else; a member that has nothing yet has
    none.
    """
    if not content:
        return content
    reader = OldRecordReader(content)
    try:
        reader.version = min(reader.int16(), kind.version_max)
        return read_fields(kind, reader) if reader.version >= 0 else content
    except Malformed:
        return content
