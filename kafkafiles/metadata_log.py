"""KRaft's metadata log as events, and the cluster state they add up to.

`__cluster_metadata-0` is an ordinary log of format 2 batches. The value of a data record is a frame: unsigned varint
frame version (1), unsigned varint type, unsigned varint version, then the record in Kafka's "flexible" encoding
(compact strings and arrays, tagged fields at the end). Control records carry the quorum's own news: leader changes,
snapshot borders, voters. The types are declared below as data, in the order of the bytes; a type or version that is
not known yet becomes `Unknown` and never an error, and unknown tagged fields are skipped, as Kafka itself does.

Incremental use, for an observer that follows the file while the broker appends to it:

    events, position = decode_from(read from `position`, position)

which stops before an entry that is not there in full yet. `MetadataImage.apply` folds events into partitions (leader,
leader epoch, ISR, ELR), brokers (fenced or not) and the active controller with its epoch.

Two facts the image rests on, both checked on real brokers: the leader epoch is in a PartitionRecord but not in a
PartitionChangeRecord, where it grows by one whenever the record sets a leader; and the controller's epoch is the
leader epoch of the batch, the quorum's leader being the active controller.

Records above the quorum's high watermark may not be committed; a reader that follows one node's file cannot tell.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from kafkafiles import batches as log
from kafkafiles.errors import Malformed

Fields: TypeAlias = Mapping[str, Any]

NO_LEADER: Final = -1
_LEADER_UNCHANGED: Final = -2
_FRAME_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataEvent:
    """One record of the metadata log.

    `kind` is the record's name as DumpLogSegments prints it (`PARTITION_CHANGE_RECORD`, …), `LEADER_CHANGE` and the
    like for control records, `UNKNOWN` for a type this does not know and `CORRUPT` for one that cannot be decoded.
    `fields` are named in snake_case; a tagged field that is absent has its default. `timestamp_ms` is the
    controller's clock; `epoch` the quorum epoch, which is the controller's.
    """

    offset: int
    timestamp_ms: int
    epoch: int
    kind: str
    version: int
    fields: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class _Type:
    name: str
    version_max: int
    plain: tuple[tuple[str, str, int], ...]  # name, type, first version
    tagged: tuple[tuple[int, str, str, Any], ...] = ()  # tag, name, type, default


_ENDPOINT: Final = "{name:string host:string port:uint16 security_protocol:int16}"
_FEATURE: Final = "{name:string min_supported_version:int16 max_supported_version:int16}"

_TYPES: Final[dict[int, _Type]] = {
    0: _Type(
        name="REGISTER_BROKER_RECORD",
        version_max=4,
        plain=(
            ("broker_id", "int32", 0),
            ("is_migrating_zk_broker", "bool", 2),
            ("incarnation_id", "uuid", 0),
            ("broker_epoch", "int64", 0),
            ("end_points", f"[]{_ENDPOINT}", 0),
            ("features", f"[]{_FEATURE}", 0),
            ("rack", "string", 0),
            ("fenced", "bool", 0),
            ("in_controlled_shutdown", "bool", 1),
        ),
        tagged=((0, "log_dirs", "[]uuid", ()),),
    ),
    1: _Type(
        name="UNREGISTER_BROKER_RECORD",
        version_max=0,
        plain=(("broker_id", "int32", 0), ("broker_epoch", "int64", 0)),
    ),
    2: _Type(name="TOPIC_RECORD", version_max=0, plain=(("name", "string", 0), ("topic_id", "uuid", 0))),
    3: _Type(
        name="PARTITION_RECORD",
        version_max=2,
        plain=(
            ("partition_id", "int32", 0),
            ("topic_id", "uuid", 0),
            ("replicas", "[]int32", 0),
            ("isr", "[]int32", 0),
            ("removing_replicas", "[]int32", 0),
            ("adding_replicas", "[]int32", 0),
            ("leader", "int32", 0),
            ("leader_epoch", "int32", 0),
            ("partition_epoch", "int32", 0),
            ("directories", "[]uuid", 1),
        ),
        tagged=(
            (0, "leader_recovery_state", "int8", 0),
            (1, "eligible_leader_replicas", "[]int32", None),
            (2, "last_known_elr", "[]int32", None),
        ),
    ),
    4: _Type(
        name="CONFIG_RECORD",
        version_max=0,
        plain=(
            ("resource_type", "int8", 0),
            ("resource_name", "string", 0),
            ("name", "string", 0),
            ("value", "string", 0),
        ),
    ),
    5: _Type(
        name="PARTITION_CHANGE_RECORD",
        version_max=2,
        plain=(("partition_id", "int32", 0), ("topic_id", "uuid", 0)),
        tagged=(
            (0, "isr", "[]int32", None),
            (1, "leader", "int32", _LEADER_UNCHANGED),
            (2, "replicas", "[]int32", None),
            (3, "removing_replicas", "[]int32", None),
            (4, "adding_replicas", "[]int32", None),
            (5, "leader_recovery_state", "int8", -1),
            (6, "eligible_leader_replicas", "[]int32", None),
            (7, "last_known_elr", "[]int32", None),
            (8, "directories", "[]uuid", None),
        ),
    ),
    7: _Type(name="FENCE_BROKER_RECORD", version_max=0, plain=(("id", "int32", 0), ("epoch", "int64", 0))),
    8: _Type(name="UNFENCE_BROKER_RECORD", version_max=0, plain=(("id", "int32", 0), ("epoch", "int64", 0))),
    9: _Type(name="REMOVE_TOPIC_RECORD", version_max=0, plain=(("topic_id", "uuid", 0),)),
    10: _Type(
        name="DELEGATION_TOKEN_RECORD",
        version_max=0,
        plain=(
            ("owner", "string", 0),
            ("requester", "string", 0),
            ("renewers", "[]string", 0),
            ("issue_timestamp", "int64", 0),
            ("max_timestamp", "int64", 0),
            ("expiration_timestamp", "int64", 0),
            ("token_id", "string", 0),
        ),
    ),
    11: _Type(
        name="USER_SCRAM_CREDENTIAL_RECORD",
        version_max=0,
        plain=(
            ("name", "string", 0),
            ("mechanism", "int8", 0),
            ("salt", "bytes", 0),
            ("stored_key", "bytes", 0),
            ("server_key", "bytes", 0),
            ("iterations", "int32", 0),
        ),
    ),
    12: _Type(name="FEATURE_LEVEL_RECORD", version_max=0, plain=(("name", "string", 0), ("feature_level", "int16", 0))),
    14: _Type(
        name="CLIENT_QUOTA_RECORD",
        version_max=0,
        plain=(
            ("entity", "[]{entity_type:string entity_name:string}", 0),
            ("key", "string", 0),
            ("value", "float64", 0),
            ("remove", "bool", 0),
        ),
    ),
    15: _Type(
        name="PRODUCER_IDS_RECORD",
        version_max=0,
        plain=(("broker_id", "int32", 0), ("broker_epoch", "int64", 0), ("next_producer_id", "int64", 0)),
    ),
    17: _Type(
        name="BROKER_REGISTRATION_CHANGE_RECORD",
        version_max=3,
        plain=(("broker_id", "int32", 0), ("broker_epoch", "int64", 0)),
        tagged=(
            (0, "fenced", "int8", 0),
            (1, "in_controlled_shutdown", "int8", 0),
            (2, "log_dirs", "[]uuid", ()),
            (3, "cordoned_log_dirs", "[]uuid", None),
        ),
    ),
    18: _Type(
        name="ACCESS_CONTROL_ENTRY_RECORD",
        version_max=0,
        plain=(
            ("id", "uuid", 0),
            ("resource_type", "int8", 0),
            ("resource_name", "string", 0),
            ("pattern_type", "int8", 0),
            ("principal", "string", 0),
            ("host", "string", 0),
            ("operation", "int8", 0),
            ("permission_type", "int8", 0),
        ),
    ),
    19: _Type(name="REMOVE_ACCESS_CONTROL_ENTRY_RECORD", version_max=0, plain=(("id", "uuid", 0),)),
    20: _Type(name="NO_OP_RECORD", version_max=0, plain=()),
    21: _Type(name="ZK_MIGRATION_STATE_RECORD", version_max=0, plain=(("zk_migration_state", "int8", 0),)),
    22: _Type(
        name="REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
        version_max=0,
        plain=(("name", "string", 0), ("mechanism", "int8", 0)),
    ),
    23: _Type(name="BEGIN_TRANSACTION_RECORD", version_max=0, plain=(), tagged=((0, "name", "string", None),)),
    24: _Type(name="END_TRANSACTION_RECORD", version_max=0, plain=()),
    25: _Type(name="ABORT_TRANSACTION_RECORD", version_max=0, plain=(), tagged=((0, "reason", "string", None),)),
    26: _Type(name="REMOVE_DELEGATION_TOKEN_RECORD", version_max=0, plain=(("token_id", "string", 0),)),
    27: _Type(
        name="REGISTER_CONTROLLER_RECORD",
        version_max=0,
        plain=(
            ("controller_id", "int32", 0),
            ("incarnation_id", "uuid", 0),
            ("zk_migration_ready", "bool", 0),
            ("end_points", f"[]{_ENDPOINT}", 0),
            ("features", f"[]{_FEATURE}", 0),
        ),
    ),
    28: _Type(name="CLEAR_ELR_RECORD", version_max=0, plain=(("topic_name", "string", 0),)),
    29: _Type(name="UNREGISTER_CONTROLLER_RECORD", version_max=0, plain=(("controller_id", "int32", 0),)),
}

_CONTROL: Final[dict[int, _Type]] = {
    log.CONTROL_LEADER_CHANGE: _Type(
        name="LEADER_CHANGE",
        version_max=1,
        plain=(
            ("version", "int16", 0),
            ("leader_id", "int32", 0),
            ("voters", "[]{voter_id:int32 voter_directory_id:uuid:1}", 0),
            ("granting_voters", "[]{voter_id:int32 voter_directory_id:uuid:1}", 0),
        ),
    ),
    log.CONTROL_SNAPSHOT_HEADER: _Type(
        name="SNAPSHOT_HEADER",
        version_max=0,
        plain=(("version", "int16", 0), ("last_contained_log_timestamp", "int64", 0)),
    ),
    log.CONTROL_SNAPSHOT_FOOTER: _Type(name="SNAPSHOT_FOOTER", version_max=0, plain=(("version", "int16", 0),)),
    log.CONTROL_KRAFT_VERSION: _Type(
        name="KRAFT_VERSION", version_max=0, plain=(("version", "int16", 0), ("kraft_version", "int16", 0))
    ),
    log.CONTROL_KRAFT_VOTERS: _Type(
        name="KRAFT_VOTERS",
        version_max=0,
        plain=(
            ("version", "int16", 0),
            (
                "voters",
                "[]{voter_id:int32 voter_directory_id:uuid endpoints:[]{name:string host:string port:uint16}"
                " kraft_version_feature:{min_supported_version:int16 max_supported_version:int16}}",
                0,
            ),
        ),
    ),
}


# --- reading
# -----------------------------------------------------------------------------------------------------------


class _Reader:
    """A cursor over one record's bytes. Every read is checked against the end: `Malformed` if it would pass it."""

    __slots__ = ("data", "position", "version")

    def __init__(self, data: bytes, version: int = 0) -> None:
        self.data = data
        self.position = 0
        self.version = version

    def take(self, count: int) -> bytes:
        stop = self.position + count
        if count < 0 or stop > len(self.data):
            raise Malformed(f"{count} bytes wanted at byte {self.position} of {len(self.data)}")
        piece = self.data[self.position : stop]
        self.position = stop
        return piece

    def uvarint(self) -> int:
        value = 0
        for shift in (0, 7, 14, 21, 28):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Malformed("a varint of more than 5 bytes")

    def boolean(self) -> bool:
        return self.take(1) != b"\x00"

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self.take(16)).decode("ascii").rstrip("=")

    def string(self) -> str | None:
        length = self.uvarint()
        if length == 0:
            return None
        try:
            return self.take(length - 1).decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed("a string that is not UTF-8") from None

    def blob(self) -> bytes | None:
        length = self.uvarint()
        return None if length == 0 else self.take(length - 1)

    def array(self, element: Callable[[_Reader], Any]) -> tuple[Any, ...] | None:
        length = self.uvarint()
        if length == 0:
            return None
        if length - 1 > len(self.data) - self.position:
            raise Malformed(f"an array of {length - 1} elements in {len(self.data) - self.position} bytes")
        return tuple(element(self) for _ in range(length - 1))

    def tagged(self) -> dict[int, bytes]:
        tags: dict[int, bytes] = {}
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            tags[tag] = self.take(self.uvarint())
        return tags


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
    members = [_member(text) for text in _split(form[1:-1])]

    def read(reader: _Reader) -> Fields:
        found = {name: of(reader) for name, of, first in members if reader.version >= first}
        reader.tagged()
        return found

    return read


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
    fields: dict[str, Any] = {}
    for name, form, first in kind.plain:
        if reader.version >= first:
            fields[name] = _reader_of(form)(reader)
    tags = reader.tagged()
    for tag, name, form, default in kind.tagged:
        fields[name] = _reader_of(form)(_Reader(tags[tag], reader.version)) if tag in tags else default
    return fields


# --- events
# ------------------------------------------------------------------------------------------------------------


def decode_from(buffer: log.Buffer, position: int = 0, *, start: int = 0) -> tuple[list[MetadataEvent], int]:
    """The events of every whole batch in `buffer`, and the file position to go on from.

    `buffer` holds the file from `position` on (so a follower reads only what is new); `start` skips bytes of the
    buffer. An entry that is cut by the buffer's end, or preallocated zeros, end the reading and are met again next
    time. A batch that is corrupt gives one event of kind `CORRUPT` whose fields have `position` and `reason`; a
    header that makes no sense does the same and ends the reading for good: the returned position is then that of the
    end of the buffer.
    """
    events: list[MetadataEvent] = []
    reached = start
    for found in log.scan_batches(buffer, start):
        if isinstance(found, log.Corrupt):
            if found.kind in ("torn", "zero-padding"):
                break
            events.append(_corrupt(found, position, offset=-1, timestamp_ms=-1, epoch=-1))
            reached = found.position + found.size
            break
        batch = log.decode_batch(buffer, found)
        if batch.corrupt is not None:
            events.append(
                _corrupt(
                    batch.corrupt,
                    position,
                    offset=found.last_offset,
                    timestamp_ms=found.max_timestamp_ms,
                    epoch=found.leader_epoch,
                )
            )
        else:
            events.extend(_events(batch))
        reached = found.end
    return events, position + reached


def _corrupt(found: log.Corrupt, position: int, *, offset: int, timestamp_ms: int, epoch: int) -> MetadataEvent:
    fields = {"position": position + found.position, "size": found.size, "reason": found.reason}
    return MetadataEvent(
        offset=offset, timestamp_ms=timestamp_ms, epoch=epoch, kind="CORRUPT", version=-1, fields=fields
    )


def _events(batch: log.Batch) -> Iterable[MetadataEvent]:
    epoch = batch.header.leader_epoch
    rows = zip(batch.offsets, batch.timestamps_ms, batch.keys, batch.values, batch.control_types(), strict=True)
    for offset, timestamp, key, value, control in rows:
        if control is None:
            kind, version, fields = decode_record(value)
        else:
            kind, version, fields = _decode_control(control, key, value)
        yield MetadataEvent(
            offset=offset, timestamp_ms=timestamp, epoch=epoch, kind=kind, version=version, fields=fields
        )


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


def _decode_control(control: int, key: bytes | None, value: bytes | None) -> tuple[str, int, Fields]:
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


# --- image
# -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """A partition as the controller has it. `leader` is -1 without one. `offset` is that of the record that made it
    so.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False
    controller_epoch: int = -1
    offset: int = -1
    timestamp_ms: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerImage:
    """A registered broker. `epoch` is the broker epoch: the metadata offset of its registration."""

    broker: int
    epoch: int
    fenced: bool
    in_controlled_shutdown: bool
    incarnation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataImage:
    """The cluster as the metadata log up to `offset` has it. Immutable: `apply` returns the next one.

    `controller` is the node that leads the quorum (None before the first leader change), `controller_epoch` its
    epoch.
    """

    offset: int = -1
    controller: int | None = None
    controller_epoch: int = -1
    topics: Mapping[str, str] = field(default_factory=dict)  # topic id → name
    partitions: Mapping[tuple[str, int], PartitionImage] = field(default_factory=dict)
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    before_transaction: MetadataImage | None = None

    def apply(self, event: MetadataEvent) -> MetadataImage:
        """The image after `event`. Events that are already in it (offset not above its own) change nothing."""
        if event.offset <= self.offset:
            return self
        change = _CHANGES.get(event.kind)
        changed = change(self, event) if change else self
        return replace(changed, offset=event.offset)

    def apply_all(self, events: Iterable[MetadataEvent]) -> MetadataImage:
        image = self
        for event in events:
            image = image.apply(event)
        return image


def _leader_change(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    return replace(image, controller=event.fields["leader_id"], controller_epoch=event.epoch)


def _begin(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    return replace(image, before_transaction=image)


def _end(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    return replace(image, before_transaction=None)


def _abort(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    before = image.before_transaction or image
    return replace(before, controller=image.controller, controller_epoch=image.controller_epoch)


def _topic(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    return replace(image, topics={**image.topics, event.fields["topic_id"]: event.fields["name"]})


def _remove_topic(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    gone = event.fields["topic_id"]
    name = image.topics.get(gone)
    return replace(
        image,
        topics={topic_id: topic for topic_id, topic in image.topics.items() if topic_id != gone},
        partitions={at: state for at, state in image.partitions.items() if at[0] != name},
    )


def _partition(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    fields = event.fields
    topic = image.topics.get(fields["topic_id"], fields["topic_id"])
    state = PartitionImage(
        topic=topic,
        partition=fields["partition_id"],
        replicas=fields["replicas"] or (),
        isr=fields["isr"] or (),
        leader=fields["leader"],
        leader_epoch=fields["leader_epoch"],
        partition_epoch=fields["partition_epoch"],
        elr=fields["eligible_leader_replicas"] or (),
        last_known_elr=fields["last_known_elr"] or (),
        recovering=fields["leader_recovery_state"] == 1,
        controller_epoch=event.epoch,
        offset=event.offset,
        timestamp_ms=event.timestamp_ms,
    )
    return replace(image, partitions={**image.partitions, (topic, state.partition): state})


def _partition_change(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    fields = event.fields
    topic = image.topics.get(fields["topic_id"], fields["topic_id"])
    before = image.partitions.get((topic, fields["partition_id"]))
    if before is None:  # the record that made it is in a snapshot we did not read
        return image
    led = fields["leader"] != _LEADER_UNCHANGED
    recovery = fields["leader_recovery_state"]

    def new(name: str, old: tuple[int, ...]) -> tuple[int, ...]:
        value: tuple[int, ...] | None = fields[name]
        return old if value is None else value

    state = replace(
        before,
        replicas=new("replicas", before.replicas),
        isr=new("isr", before.isr),
        leader=fields["leader"] if led else before.leader,
        leader_epoch=before.leader_epoch + led,
        partition_epoch=before.partition_epoch + 1,
        elr=new("eligible_leader_replicas", before.elr),
        last_known_elr=new("last_known_elr", before.last_known_elr),
        recovering=before.recovering if recovery < 0 else recovery == 1,
        controller_epoch=event.epoch,
        offset=event.offset,
        timestamp_ms=event.timestamp_ms,
    )
    return replace(image, partitions={**image.partitions, (topic, state.partition): state})


def _clear_elr(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    name = event.fields["topic_name"]
    cleared = {
        at: replace(state, elr=(), last_known_elr=()) if not name or at[0] == name else state
        for at, state in image.partitions.items()
    }
    return replace(image, partitions=cleared)


def _register_broker(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    fields = event.fields
    broker = BrokerImage(
        broker=fields["broker_id"],
        epoch=fields["broker_epoch"],
        fenced=fields["fenced"],
        in_controlled_shutdown=fields.get("in_controlled_shutdown", False),
        incarnation=fields["incarnation_id"],
    )
    return replace(image, brokers={**image.brokers, broker.broker: broker})


def _unregister_broker(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    gone = event.fields["broker_id"]
    return replace(image, brokers={number: broker for number, broker in image.brokers.items() if number != gone})


def _broker_change(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    fields = event.fields
    if event.kind == "BROKER_REGISTRATION_CHANGE_RECORD":
        number, fencing, stopping = fields["broker_id"], fields["fenced"], fields["in_controlled_shutdown"]
    else:
        number, stopping = fields["id"], 0
        fencing = 1 if event.kind == "FENCE_BROKER_RECORD" else -1
    before = image.brokers.get(number)
    if before is None:
        return image
    broker = replace(
        before,
        fenced=before.fenced if fencing == 0 else fencing == 1,
        in_controlled_shutdown=before.in_controlled_shutdown or stopping == 1,
    )
    return replace(image, brokers={**image.brokers, number: broker})


def _feature(image: MetadataImage, event: MetadataEvent) -> MetadataImage:
    return replace(image, features={**image.features, event.fields["name"]: event.fields["feature_level"]})


_CHANGES: Final[dict[str, Callable[[MetadataImage, MetadataEvent], MetadataImage]]] = {
    "LEADER_CHANGE": _leader_change,
    "BEGIN_TRANSACTION_RECORD": _begin,
    "END_TRANSACTION_RECORD": _end,
    "ABORT_TRANSACTION_RECORD": _abort,
    "TOPIC_RECORD": _topic,
    "REMOVE_TOPIC_RECORD": _remove_topic,
    "PARTITION_RECORD": _partition,
    "PARTITION_CHANGE_RECORD": _partition_change,
    "CLEAR_ELR_RECORD": _clear_elr,
    "REGISTER_BROKER_RECORD": _register_broker,
    "UNREGISTER_BROKER_RECORD": _unregister_broker,
    "BROKER_REGISTRATION_CHANGE_RECORD": _broker_change,
    "FENCE_BROKER_RECORD": _broker_change,
    "UNFENCE_BROKER_RECORD": _broker_change,
    "FEATURE_LEVEL_RECORD": _feature,
}
