"""The cluster's state, from the events of KRaft's metadata log.

`MetadataImage.apply` folds events into partitions (leader, leader epoch, ISR, ELR), brokers (fenced or not) and the
active controller with its epoch.

The image depends on two facts, both checked on real brokers. First: a PartitionRecord has the leader epoch, a
PartitionChangeRecord has not; there the epoch grows by one whenever the record sets a leader. Second: the controller's
epoch is the leader epoch of the batch, because the quorum's leader is the active controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafkafiles.metadata_log import MetadataEvent
from kafkafiles.metadata_records import LEADER_UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """A partition as the controller has it; `leader` is -1 without one, `offset` that of the last record about it."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
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

    `controller` is the node that leads the quorum (None before the first leader change), `controller_epoch` its epoch.
    """

    offset: int = -1
    controller: int | None = None
    controller_epoch: int = -1
    topics: Mapping[str, str] = field(default_factory=dict)  # topic id → name
    partitions: Mapping[tuple[str, int], PartitionImage] = field(default_factory=dict)
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    feature_offsets: Mapping[str, int] = field(default_factory=dict)  # of the record that last set each
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
        adding=fields["adding_replicas"] or (),
        removing=fields["removing_replicas"] or (),
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
    led = fields["leader"] != LEADER_UNCHANGED
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
        adding=new("adding_replicas", before.adding),
        removing=new("removing_replicas", before.removing),
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
    name = event.fields["name"]
    return replace(
        image,
        features={**image.features, name: event.fields["feature_level"]},
        feature_offsets={**image.feature_offsets, name: event.offset},
    )


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
