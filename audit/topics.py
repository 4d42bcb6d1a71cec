"""The topic and broker side of an audit: what is in force for each topic that a producer writes to, and why.

A topic's own setting counts, then the brokers', then Kafka's default of that release: a broker that writes nothing has
it. Only topics and brokers that belong to the producer count (`audit.units`). What nobody tells is assumed, and every
assumption is said: three replicas, and brokers as new as the client. Kafka's own default is one replica:
`with_one_replica` is the same topic with that. Topics for which all of this is the same are
answered once. Where the brokers of one cluster disagree, the weaker value counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from audit.cells import line_of
from audit.cluster import weak_places
from audit.model import BrokerConfig, Inputs, Origin, ProducerConfig, Setting, TopicConfig
from audit.resolve import Resolved, Value
from audit.units import brokers_of, topics_of_unit
from evidence.borders import KRAFT_ONLY, KRAFT_SINCE, UNCLEAN_IN_KRAFT, UNCLEAN_OFF
from evidence.errors import UsageError
from evidence.releases import numbers

ASSUMED_REPLICAS: Final = 3
IF_THREE: Final = f"the topic has {ASSUMED_REPLICAS} replicas"
IF_ONE: Final = "the topic has one replica, as Kafka makes it by itself"
ASSUMED: Final = "assumed"
THREE_ASSUMED: Final = f"{ASSUMED_REPLICAS} replicas (--topic NAME:replication.factor=N tells)"
NEWEST: Final = "4.4.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTopic:
    """What is in force for one topic, or for several that are alike."""

    names: tuple[str, ...]
    """Empty: any topic."""
    replication_factor: Value[int]
    min_insync_replicas: Value[int]
    unclean: Value[bool]
    flush_each: Value[bool]
    """Whether each replica flushes a record before it counts."""
    version: Value[str]
    """The brokers' release."""
    line: str
    assumed: tuple[str, ...] = ()
    """What nobody told, in words."""
    provided: str = ""
    """The number of replicas that nobody told, where it decides: the answer holds if it is so."""
    remarks: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    def does(self) -> tuple[object, ...]:
        """What decides over records, so that topics can be compared."""
        said = (
            self.replication_factor.value, self.min_insync_replicas.value, self.unclean.value, self.flush_each.value
        )  # fmt: skip
        return (*said, self.version.value, self.line, self.assumed)

    @property
    def label(self) -> str:
        """Its name for people, or their names."""
        return _listed(self.names) if self.names else "any topic"


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedByUser:
    """What the command line says of brokers and topics."""

    version: str = ""
    """--brokers-version: a release, or one and how it is run ("3.9.2-zk", "3.9.2-kraft", "3.9.2-pinned")."""
    topics: tuple[TopicConfig, ...] = field(default_factory=tuple)


def parse_topic(text: str) -> TopicConfig:
    """A topic as --topic says it: NAME, or NAME:key=value,key=value. Raises UsageError.

    >>> parse_topic("orders:replication.factor=3,min.insync.replicas=2").replication_factor
    3
    """
    name, _, told = text.partition(":")
    origin = Origin("--topic")
    settings: dict[str, Setting] = {}
    factor: int | None = None
    for pair in filter(None, (part.strip() for part in told.split(","))):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not value:
            raise UsageError(f"--topic {text!r}: {pair!r} is not key=value, such as min.insync.replicas=2")
        if key not in TOPIC_KEYS:
            raise UsageError(f"--topic {text!r}: {key!r} is not one of {', '.join(TOPIC_KEYS)}")
        if not (value.lower() in ("true", "false") if key == UNCLEAN_ELECTION else _positive(value)):
            raise UsageError(f"--topic {text!r}: {value!r} is no value of {key}")
        if key == REPLICATION_FACTOR:
            factor = int(value)
        else:
            settings[key] = Setting(key, value.lower(), origin)
    if not name.strip():
        raise UsageError(f"--topic {text!r} names no topic: write NAME, or NAME:replication.factor=3,…")
    return TopicConfig(name=name.strip(), replication_factor=factor, settings=settings, origin=origin)


REPLICATION_FACTOR: Final = "replication.factor"
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"
FLUSH_MESSAGES: Final = "flush.messages"
LOG_FLUSH_INTERVAL_MESSAGES: Final = "log.flush.interval.messages"
NEVER: Final = 2**63 - 1
"""Of flush.messages: Kafka's default, which leaves flushing to the kernel."""
TOPIC_KEYS: Final = (REPLICATION_FACTOR, MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, FLUSH_MESSAGES)


def _positive(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def topics_of(
    producer: ProducerConfig, resolved: Resolved, inputs: Inputs, stated: StatedByUser
) -> tuple[ResolvedTopic, ...]:
    """The topics that a producer may write to, each with what is in force; alike ones together.

    Those that its configuration names; else those of --topic; else all that are described for it; else any. One that is
    not described is as the producer's program makes it, if that is told.
    """
    brokers = brokers_of(producer, inputs.brokers)
    beside = topics_of_unit(producer, brokers, inputs.topics, inputs.brokers, inputs.producers)
    described = {topic.name: topic for topic in beside}
    described |= {topic.name: _stated_over(described.get(topic.name), topic) for topic in stated.topics}
    names = producer.topics or tuple(topic.name for topic in stated.topics)
    names = names or tuple(name for name in described if not name.startswith("__"))
    found: dict[tuple[object, ...], ResolvedTopic] = {}
    for name in dict.fromkeys(names or ("",)):
        topic = described.get(name) or producer.makes
        own = brokers
        if topic is not None and topic.cluster:
            own = brokers or tuple(one for one in inputs.brokers if one.cluster == topic.cluster)
            own = own if len({one.origin.path for one in own}) == 1 else brokers
        one = _resolved(name, topic, resolved, own, stated)
        known = found.get(one.does)
        found[one.does] = _and(known, one) if known else one
    return tuple(found.values())


def _stated_over(known: TopicConfig | None, stated: TopicConfig) -> TopicConfig:
    """What is known of a topic, under what the command line says of it, which may be its name alone."""
    if known is None:
        return stated
    factor = stated.replication_factor or known.replication_factor
    return replace(known, replication_factor=factor, settings={**known.settings, **stated.settings})


def _and(one: ResolvedTopic, other: ResolvedTopic) -> ResolvedTopic:
    remarks = tuple(dict.fromkeys((*one.remarks, *other.remarks)))
    return replace(one, names=(*one.names, *other.names), remarks=remarks)


def _resolved(
    name: str,
    topic: TopicConfig | None,
    resolved: Resolved,
    brokers: Sequence[BrokerConfig],
    stated: StatedByUser,
) -> ResolvedTopic:
    assumed: list[str] = []
    remarks: list[str] = []
    release, line = _version(resolved, brokers, stated, assumed)
    factor = _factor(topic, brokers, assumed)
    least = _least(topic, brokers, remarks)
    said = _setting(UNCLEAN_ELECTION, topic, brokers, remarks, lambda text: int(text.lower() == "true"), max)
    if line == "kraft" and numbers(release.value) < UNCLEAN_IN_KRAFT.release:
        unclean = Value(False, "KRaft before 3.9 has no unclean elections, whatever is set")
    elif said is not None:
        unclean = Value(bool(said.value), said.why, said.origin)
    else:
        on = numbers(release.value) < UNCLEAN_OFF.release
        unclean = Value(on, f"Kafka's default {'before' if on else 'from'} 0.11{'' if on else ' on'}")
    told = _setting(FLUSH_MESSAGES, topic, brokers, remarks, int, max, of_brokers=LOG_FLUSH_INTERVAL_MESSAGES)
    flush_each = Value(False, "Kafka's default") if told is None else Value(told.value <= 1, told.why, told.origin)
    if told is not None and 1 < told.value < NEVER:
        remarks.append(f"{told.why} ({told.origin}) bounds what a power loss takes: what was not flushed is lost")
    remarks += _too_few(factor, least)
    remarks += [] if topic is None else weak_places(topic, brokers)
    return ResolvedTopic(
        names=(name,) if name else (),
        replication_factor=factor,
        min_insync_replicas=least,
        unclean=unclean,
        flush_each=flush_each,
        version=release,
        line=line,
        assumed=tuple(assumed),
        remarks=tuple(remarks),
        origin=topic.origin if topic else None,
    )


def with_one_replica(topic: ResolvedTopic) -> ResolvedTopic | None:
    """A topic as Kafka makes it by itself, where its replicas are assumed; None if anybody tells them."""
    if topic.replication_factor.why != ASSUMED:
        return None
    one = Value(1, "Kafka's default")
    return replace(
        topic,
        replication_factor=one,
        assumed=tuple(each for each in topic.assumed if each != THREE_ASSUMED),
        provided=IF_ONE,
        remarks=(*topic.remarks, *_too_few(one, topic.min_insync_replicas)),
    )


def _too_few(factor: Value[int], least: Value[int]) -> tuple[str, ...]:
    if least.value <= factor.value:
        return ()
    where = f" ({least.origin})" if least.origin else ""
    refused = "every record sent with acks=all is refused"
    return (f"{least.why}{where} is more than there are replicas, {factor.value}: {refused}",)


def _version(
    resolved: Resolved, brokers: Sequence[BrokerConfig], stated: StatedByUser, assumed: list[str]
) -> tuple[Value[str], str]:
    """The brokers' release and their version line."""
    protocol = next((one.value for one in _written("inter.broker.protocol.version", brokers) if one.known), "")
    if stated.version:
        release, _, how = stated.version.partition("-")
        kraft = how == "kraft" or (not how and _runs_kraft(release, brokers, assumed))
        protocol = "0.10.2" if how == "pinned" else protocol
        return Value(release, "--brokers-version"), line_of(release, kraft=kraft, protocol=protocol)
    told = sorted((one for one in brokers if one.release), key=lambda one: numbers(one.release or ""))
    if told:
        oldest = told[0]
        release = oldest.release or ""
        where = oldest.release_from or f"told by {oldest.name}"
        kraft = _runs_kraft(release, brokers, assumed)
        return Value(release, where, oldest.origin), line_of(release, kraft=kraft, protocol=protocol)
    own = resolved.client in ("java", "scala")
    release = resolved.release if own else NEWEST
    which = "as new as the client" if own else "the newest"
    assumed.append(f"brokers of {release}, {which} (--brokers-version tells)")
    kraft = _runs_kraft(release, (), assumed)
    return Value(release, ASSUMED), line_of(release, kraft=kraft, protocol=protocol)


def _runs_kraft(release: str, brokers: Sequence[BrokerConfig], assumed: list[str]) -> bool:
    at = numbers(release)
    if at >= KRAFT_ONLY.release or at < KRAFT_SINCE.release:
        return at >= KRAFT_ONLY.release or any(one.mode == "kraft" for one in brokers)
    modes = {one.mode for one in brokers if one.mode}
    if not modes:
        assumed.append(f"KRaft, though {release} may also run with ZooKeeper (--brokers-version {release}-zk tells)")
    return "zookeeper" not in modes


def _factor(topic: TopicConfig | None, brokers: Sequence[BrokerConfig], assumed: list[str]) -> Value[int]:
    if topic is not None and topic.replication_factor:
        return Value(topic.replication_factor, REPLICATION_FACTOR, topic.origin)
    told = [one for one in _written("default.replication.factor", brokers) if one.known and _positive(one.value)]
    # A server.properties is a file of each broker, and does not tell how many there are. A live cluster names the
    # brokers that are up: one that stands alone may have lost the others.
    if [one.replicas for one in brokers] == [1] and not brokers[0].nodes:
        return Value(1, "there is one broker", brokers[0].origin)
    if told and len(told) >= len(brokers):
        least = min(told, key=lambda one: int(one.value))
        assumed.append(f"{least.value} replicas, the brokers' default ({least.origin}): the topic's own are not told")
        return Value(int(least.value), "default.replication.factor", least.origin)
    assumed.append(THREE_ASSUMED)
    return Value(ASSUMED_REPLICAS, ASSUMED)


def _least(topic: TopicConfig | None, brokers: Sequence[BrokerConfig], remarks: list[str]) -> Value[int]:
    """min.insync.replicas: of brokers that do not write it the default counts."""
    told = _setting(MIN_INSYNC_REPLICAS, topic, brokers, remarks, int, min)
    of_topic = topic is not None and MIN_INSYNC_REPLICAS in topic.settings
    live = any(one.nodes for one in brokers)
    silent = [one for one in brokers if not one.settings.get(MIN_INSYNC_REPLICAS) and not live]
    if told is not None and (of_topic or told.value <= 1 or not silent):
        return told
    if brokers:
        return Value(1, "Kafka's default", (silent or brokers)[0].origin)
    return Value(1, "Kafka's default" if topic is not None else "assumed, Kafka's default")


def _written(key: str, brokers: Sequence[BrokerConfig]) -> list[Setting]:
    found = [one.settings.get(key) or one.presets.get(key) for one in brokers]
    return [one for one in found if one is not None]


def _setting(
    key: str,
    topic: TopicConfig | None,
    brokers: Sequence[BrokerConfig],
    remarks: list[str],
    of: Callable[[str], int],
    weaker: Callable[[Iterable[int]], int],
    *,
    of_brokers: str = "",
) -> Value[int] | None:
    """The topic's value, else the brokers', of several the weaker one; None if nobody says, or nobody can know.
    `of_brokers` is what brokers call it, if they call it otherwise.
    """
    own: Mapping[str, Setting] = topic.settings if topic is not None else {}
    told = [own[key]] if key in own else _written(of_brokers or key, brokers)
    values = []
    for setting in told:
        try:
            if not setting.known:
                raise ValueError
            values.append((of(setting.value), setting))
        except ValueError:
            remarks.append(f"{setting.written} ({setting.origin}) is not known here: Kafka's default is taken")
    if not values:
        return None
    worst = weaker(value for value, _ in values)
    setting = next(one for value, one in values if value == worst)
    if any(value != worst for value, _ in values):
        remarks.append(f"the brokers' configurations disagree on {key}: the weaker, {setting.value}, is taken")
    return Value(worst, f"{setting.written}={setting.value}", setting.origin)
