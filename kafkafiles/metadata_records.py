"""The records of KRaft's metadata log: their types as a table, and the decoding of one record.

The value of a data record is a frame: unsigned varint frame version (1), unsigned varint type, unsigned varint version,
then the fields in Kafka's "flexible" encoding (compact strings and arrays, tagged fields at the end). Control records
carry what the quorum says of itself: leader changes, snapshot borders, voters.

The table (kafkafiles.field_tables says how to read it) is copied from the message definitions of Kafka
(metadata/src/main/resources/common/metadata/*.json, clients/src/main/resources/common/message/*.json). A type or a
version that is not in the table becomes `UNKNOWN`, never an error, and unknown tagged fields are skipped, as by Kafka.
"""

from __future__ import annotations

from typing import Final

from kafkafiles import batches as log
from kafkafiles.errors import Malformed
from kafkafiles.field_tables import Fields, RecordReader, RecordType, decode

LEADER_UNCHANGED: Final = -2
_FRAME_VERSION: Final = 1

_ENDPOINT: Final = "{name:string host:string port:uint16 security_protocol:int16}"
_FEATURE: Final = "{name:string min_supported_version:int16 max_supported_version:int16}"

# fmt: off
_TYPES: Final[dict[int, RecordType]] = {
    0: RecordType(
        "REGISTER_BROKER_RECORD", 4,
        "broker_id:int32 is_migrating_zk_broker:bool:2 incarnation_id:uuid broker_epoch:int64 "
        f"end_points:[]{_ENDPOINT} features:[]{_FEATURE} rack:string fenced:bool "
        "in_controlled_shutdown:bool:1",
        ((0, "log_dirs", "[]uuid", ()),),
    ),
    1: RecordType("UNREGISTER_BROKER_RECORD", 0, "broker_id:int32 broker_epoch:int64"),
    2: RecordType("TOPIC_RECORD", 0, "name:string topic_id:uuid"),
    3: RecordType(
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
    4: RecordType("CONFIG_RECORD", 0, "resource_type:int8 resource_name:string name:string value:string"),
    5: RecordType(
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
    7: RecordType("FENCE_BROKER_RECORD", 0, "id:int32 epoch:int64"),
    8: RecordType("UNFENCE_BROKER_RECORD", 0, "id:int32 epoch:int64"),
    9: RecordType("REMOVE_TOPIC_RECORD", 0, "topic_id:uuid"),
    10: RecordType(
        "DELEGATION_TOKEN_RECORD", 0,
        "owner:string requester:string renewers:[]string issue_timestamp:int64 max_timestamp:int64 "
        "expiration_timestamp:int64 token_id:string",
    ),
    11: RecordType(
        "USER_SCRAM_CREDENTIAL_RECORD", 0,
        "name:string mechanism:int8 salt:bytes stored_key:bytes server_key:bytes iterations:int32",
    ),
    12: RecordType("FEATURE_LEVEL_RECORD", 0, "name:string feature_level:int16"),
    14: RecordType(
        "CLIENT_QUOTA_RECORD", 0,
        "entity:[]{entity_type:string entity_name:string} key:string value:float64 remove:bool",
    ),
    15: RecordType("PRODUCER_IDS_RECORD", 0, "broker_id:int32 broker_epoch:int64 next_producer_id:int64"),
    17: RecordType(
        "BROKER_REGISTRATION_CHANGE_RECORD", 3,
        "broker_id:int32 broker_epoch:int64",
        (
            (0, "fenced", "int8", 0),
            (1, "in_controlled_shutdown", "int8", 0),
            (2, "log_dirs", "[]uuid", ()),
            (3, "cordoned_log_dirs", "[]uuid", None),
        ),
    ),
    18: RecordType(
        "ACCESS_CONTROL_ENTRY_RECORD", 0,
        "id:uuid resource_type:int8 resource_name:string pattern_type:int8 principal:string host:string "
        "operation:int8 permission_type:int8",
    ),
    19: RecordType("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, "id:uuid"),
    20: RecordType("NO_OP_RECORD", 0, ""),
    21: RecordType("ZK_MIGRATION_STATE_RECORD", 0, "zk_migration_state:int8"),
    22: RecordType("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, "name:string mechanism:int8"),
    23: RecordType("BEGIN_TRANSACTION_RECORD", 0, "", ((0, "name", "string", None),)),
    24: RecordType("END_TRANSACTION_RECORD", 0, ""),
    25: RecordType("ABORT_TRANSACTION_RECORD", 0, "", ((0, "reason", "string", None),)),
    26: RecordType("REMOVE_DELEGATION_TOKEN_RECORD", 0, "token_id:string"),
    27: RecordType(
        "REGISTER_CONTROLLER_RECORD", 0,
        f"controller_id:int32 incarnation_id:uuid zk_migration_ready:bool end_points:[]{_ENDPOINT} "
        f"features:[]{_FEATURE}",
    ),
    28: RecordType("CLEAR_ELR_RECORD", 0, "topic_name:string"),
    29: RecordType("UNREGISTER_CONTROLLER_RECORD", 0, "controller_id:int32"),
}

_CONTROL: Final[dict[int, RecordType]] = {
    log.CONTROL_LEADER_CHANGE: RecordType(
        "LEADER_CHANGE", 1,
        "version:int16 leader_id:int32 voters:[]{voter_id:int32 voter_directory_id:uuid:1} "
        "granting_voters:[]{voter_id:int32 voter_directory_id:uuid:1}",
    ),
    log.CONTROL_SNAPSHOT_HEADER: RecordType("SNAPSHOT_HEADER", 0, "version:int16 last_contained_log_timestamp:int64"),
    log.CONTROL_SNAPSHOT_FOOTER: RecordType("SNAPSHOT_FOOTER", 0, "version:int16"),
    log.CONTROL_KRAFT_VERSION: RecordType("KRAFT_VERSION", 0, "version:int16 kraft_version:int16"),
    log.CONTROL_KRAFT_VOTERS: RecordType(
        "KRAFT_VOTERS", 0,
        "version:int16 "
        "voters:[]{voter_id:int32 voter_directory_id:uuid endpoints:[]{name:string host:string port:uint16} "
        "kraft_version_feature:{min_supported_version:int16 max_supported_version:int16}}",
    ),
}
# fmt: on


def decode_record(value: bytes | None) -> tuple[str, int, Fields]:
    """Kind, version and fields of one framed metadata record."""
    if value is None:
        return "CORRUPT", -1, {"reason": "a metadata record without a value"}
    reader = RecordReader(value)
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
    return _decoded(_CONTROL.get(control), control, RecordReader(value or b"", version))


def _decoded(kind: RecordType | None, key: int, reader: RecordReader) -> tuple[str, int, Fields]:
    name, fields = decode(kind, reader, {"key": key, "value": reader.data})
    return name, reader.version, fields
