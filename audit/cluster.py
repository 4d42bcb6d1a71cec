"""What a live cluster told, and what an audit concludes from it: values in, values out (`audit.live` asks).

Of a broker's settings only those of `BROKER_SETTINGS` are kept. Brokers that differ in one, or in their release, are
configurations of their own: any of them may lead, so the audit takes the worse, and that they differ is a problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

from audit import wire
from audit.model import BrokerConfig, InputProblem, Inputs, LiveBroker, LivePartition, Origin, Setting, TopicConfig
from audit.releases import Release, metadata_version, mode, release
from kafkafiles.api_versions import Offer

T = TypeVar("T")

NAMES_SHOWN: Final = 5
METADATA, DESCRIBE_CONFIGS, DESCRIBE_TOPIC_PARTITIONS = 3, 32, wire.DESCRIBE_TOPIC_PARTITIONS

BROKER_SETTINGS: Final = frozenset(
    {
        "auto.create.topics.enable",
        "auto.leader.rebalance.enable",
        "broker.session.timeout.ms",
        "controlled.shutdown.enable",
        "default.replication.factor",
        "inter.broker.protocol.version",
        "log.cleanup.policy",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.message.format.version",
        "log.message.timestamp.type",
        "message.max.bytes",
        "min.insync.replicas",
        "num.partitions",
        "offsets.topic.replication.factor",
        "replica.high.watermark.checkpoint.interval.ms",
        "replica.lag.time.max.ms",
        "transaction.state.log.min.isr",
        "transaction.state.log.replication.factor",
        "unclean.leader.election.enable",
        "zookeeper.session.timeout.ms",
    }
)
"""What of a broker's settings is kept: what decides over acknowledged records."""
ONLY_WITH_ZOOKEEPER: Final = frozenset(
    {"inter.broker.protocol.version", "log.message.format.version", "zookeeper.session.timeout.ms"}
)
"""Settings that KRaft's brokers list and do not use."""
ONLY_WITH_KRAFT: Final = frozenset({"broker.session.timeout.ms"})
ELR: Final = "eligible.leader.replicas.version"
METADATA_VERSION: Final = "metadata.version"

Source = Literal["topic", "broker", "cluster", "file", "default", "unknown"]


class ConfigEntry(NamedTuple):
    """One setting as a broker tells it."""

    name: str
    value: str | None
    """None if it is not set, or the broker keeps it to itself."""
    source: Source


class Refusal(NamedTuple):
    """Why something is not known."""

    kind: Literal["rights", "unreachable", "unreadable"]
    message: str
    do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A broker as Metadata names it, and what it offers or why that is not known."""

    id: int
    host: str
    port: int
    rack: str | None = None
    offer: Offer | Refusal = field(default_factory=Offer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """What a cluster told, before anything is concluded from it."""

    address: str
    first: Offer
    """What the broker offers that was reached first."""
    members: tuple[Member, ...] = ()
    topics: Mapping[str, tuple[LivePartition, ...]] = field(default_factory=dict)
    missing: Mapping[str, Refusal | None] = field(default_factory=dict)
    """Topics that were asked for and are not there; None if they do not exist."""
    broker_settings: Mapping[int, tuple[ConfigEntry, ...] | Refusal] = field(default_factory=dict)
    topic_settings: Mapping[str, tuple[ConfigEntry, ...] | Refusal] = field(default_factory=dict)
    """Where nothing is told of a topic, it is not in it."""
    without: tuple[Refusal, ...] = ()
    """What else could not be read."""
    from_zookeeper: bool = False


def inputs(told: ClusterReport) -> Inputs:
    """What a cluster told, as an audit wants it."""
    origin = Origin(f"cluster {told.address}")
    topics = tuple(_topic(told, name, origin) for name in told.topics)
    return Inputs(topics=topics, brokers=_brokers(told, origin), problems=tuple(_problems(told, origin)))


def _topic(told: ClusterReport, name: str, origin: Origin) -> TopicConfig:
    partitions = told.topics[name]
    entries = told.topic_settings.get(name, ())
    note = "set for the topic, in ZooKeeper" if told.from_zookeeper else "set for the topic"
    own = {} if isinstance(entries, Refusal) else {e.name: e for e in entries if e.source == "topic"}
    factors = Counter(len(each.replicas) for each in partitions)
    return TopicConfig(
        name=name,
        partitions=len(partitions) or None,
        # Partitions differ in the middle of a reassignment: the audit is about the one with the fewest replicas.
        replication_factor=min(factors, default=None),
        settings=MappingProxyType(
            {key: Setting(key, e.value, origin, note=note) for key, e in sorted(own.items()) if e.value is not None}
        ),
        live=partitions,
        cluster=told.address,
        origin=origin,
    )


def _brokers(told: ClusterReport, origin: Origin) -> tuple[BrokerConfig, ...]:
    """The brokers, those that are alike together: of several releases or settings an audit takes the worse."""
    kept = _mode(told)
    releases = _releases(told)
    racks = {member.rack for member in told.members} - {None, ""}
    in_force = {each.id: _in_force(told, kept, each.id) for each in told.members}
    alike = _grouped(
        ((releases.get(each.id), tuple((entry.name, entry.value) for entry in in_force[each.id])), each)
        for each in told.members
    )
    return tuple(
        BrokerConfig(
            name=told.address
            if len(alike) == 1
            else f"{told.address}, {named('broker', [each.id for each in members])}",
            release=None if known is None else known.oldest,
            release_from="" if known is None else known.how,
            mode=kept,
            settings=MappingProxyType({each.key: each for each in _settings(told, in_force[members[0].id], origin)}),
            nodes=tuple(
                LiveBroker(id=each.id, rack=each.rack or None, release=None if known is None else known.oldest)
                for each in members
            ),
            replicas=len(told.members),
            elr=_elr(told),
            racks=len(racks) or None,
            cluster=told.address,
            origin=origin,
        )
        for (known, _), members in alike
    )


def _mode(told: ClusterReport) -> Literal["zookeeper", "kraft"] | None:
    # Before 0.10 nothing is offered, and there was nothing but ZooKeeper.
    return mode(told.first.apis) if told.first.answered else "zookeeper"


def _elr(told: ClusterReport) -> bool | None:
    """Whether eligible leaders are in force: a cluster without KRaft, or whose brokers do not offer them, has none."""
    if told.first.features.get(ELR, 0) > 0:
        return True
    return False if told.first.answered else None


def _releases(told: ClusterReport) -> dict[int, Release]:
    offers = {member.id: member.offer for member in told.members if isinstance(member.offer, Offer)}
    return {number: release(offer.apis, offer.supported.get(METADATA_VERSION, 0)) for number, offer in offers.items()}


def _settings(told: ClusterReport, entries: Iterable[ConfigEntry], origin: Origin) -> list[Setting]:
    """The settings in force."""
    found = [Setting(each.name, each.value, origin, note=_where(each)) for each in entries if each.value is not None]
    if (level := told.first.features.get(METADATA_VERSION)) is not None:
        name = metadata_version(level) or "later than 4.4"
        found.append(Setting(METADATA_VERSION, name, origin, note=f"level {level} of the feature in force"))
    return found


def _in_force(told: ClusterReport, kept: str | None, broker: int) -> tuple[ConfigEntry, ...]:
    """The settings of a broker that are kept, by name."""
    unused = ONLY_WITH_ZOOKEEPER if kept == "kraft" else ONLY_WITH_KRAFT
    entries = told.broker_settings.get(broker, ())
    if isinstance(entries, Refusal):
        return ()
    return tuple(sorted(each for each in entries if each.name in BROKER_SETTINGS - unused))


def _values(told: ClusterReport) -> dict[str, dict[int, ConfigEntry]]:
    """By name and broker, the settings that are kept."""
    found: dict[str, dict[int, ConfigEntry]] = {}
    for number in sorted(told.broker_settings):
        for entry in _in_force(told, _mode(told), number):
            found.setdefault(entry.name, {})[number] = entry
    return found


def _where(entry: ConfigEntry) -> str:
    return {
        "topic": "set for the topic",
        "broker": "set for the broker, at run time",
        "cluster": "set for all brokers, at run time",
        "file": "in the broker's own file",
        "default": "the broker's default",
        "unknown": "set for the broker",
    }[entry.source]


def _each(values: Mapping[int, ConfigEntry]) -> str:
    """Who has which value.

    >>> _each({number: ConfigEntry("a", value, "file") for number, value in ((1, "x"), (2, "y"), (3, "x"))})
    'x on brokers 1 and 3, y on broker 2'
    """
    told: dict[str | None, list[int]] = {}
    for number, entry in sorted(values.items()):
        told.setdefault(entry.value, []).append(number)
    return ", ".join(
        f"{'not set' if value is None else value} on {named('broker', numbers)}" for value, numbers in told.items()
    )


def _problems(told: ClusterReport, origin: Origin) -> list[InputProblem]:
    found = [InputProblem(origin, one.kind, one.message, one.do) for one in told.without]
    found += _about_brokers(told, origin)
    found += _about_topics(told, origin)
    return found


def _about_brokers(told: ClusterReport, origin: Origin) -> list[InputProblem]:
    found: list[InputProblem] = []
    for member in told.members:
        if isinstance(member.offer, Refusal):
            where = f"broker {member.id} at {address(member.host, member.port)}"
            does = "ask from where clients are: each broker must be reachable at the address that it advertises"
            found.append(InputProblem(origin, "unreachable", f"{where} does not answer ({member.offer.message})", does))
    releases = _releases(told)
    for reason, numbers in _grouped((one.how, number) for number, one in releases.items() if one.oldest is None):
        found.append(
            InputProblem(origin, "release", f"the release of {named('broker', numbers)} is not known ({reason})")
        )
    refused = [(each, number) for number, each in told.broker_settings.items() if isinstance(each, Refusal)]
    for refusal, numbers in _grouped(refused):
        message = f"the settings of {named('broker', numbers)} are not known ({refusal.message})"
        does = (
            "allow DESCRIBE_CONFIGS on the cluster, or add the brokers' server.properties to the audit"
            if refusal.kind == "rights"
            else "add the brokers' server.properties to the audit"
        )
        found.append(InputProblem(origin, refusal.kind, message, does))
    if DESCRIBE_CONFIGS not in told.first.apis:
        message = "brokers before 0.11 do not tell their settings"
        found.append(InputProblem(origin, "unreachable", message, "add their server.properties to the audit"))
    for name, values in sorted(_values(told).items()):
        if len({entry.value for entry in values.values()}) > 1:
            message = f"its brokers do not agree on {name}: {_each(values)}"
            found.append(
                InputProblem(origin, "contradiction", message, "any of them may lead: give all of them the same")
            )
    return found


def _about_topics(told: ClusterReport, origin: Origin) -> list[InputProblem]:
    found: list[InputProblem] = []
    for name, refusal in told.missing.items():
        if refusal is not None:
            does = "allow DESCRIBE on the topic"
            found.append(
                InputProblem(origin, refusal.kind, f"topic {name} may not be described ({refusal.message})", does)
            )
        else:
            does = "its name, or the cluster, is another one; or this user has no right to DESCRIBE it"
            found.append(InputProblem(origin, "contradiction", f"there is no topic {name}", does))
    refused = [(each, name) for name, each in told.topic_settings.items() if isinstance(each, Refusal)]
    for refusal, names in _grouped(refused):
        message = f"the settings of {named('topic', names)} are not known ({refusal.message})"
        does = "allow DESCRIBE_CONFIGS on topics" if refusal.kind == "rights" else ""
        found.append(InputProblem(origin, refusal.kind, message, does))
    if told.topics and DESCRIBE_CONFIGS not in told.first.apis and not told.from_zookeeper:
        message = "brokers before 0.11 do not tell the settings of topics"
        found.append(InputProblem(origin, "unreachable", message, "give --zookeeper HOST:PORT, which does"))
    return found


# What a cluster's state says by itself


def weak_places(topic: TopicConfig, brokers: Sequence[BrokerConfig] = ()) -> list[str]:
    """What is not as it should be with a live topic now, a line each: partitions without a leader, under-replicated
    ones, ISRs below min.insync.replicas, replicas in one rack although there are several.
    """
    minimum = _minimum(topic, brokers)
    racks = {node.id: node.rack for config in brokers for node in config.nodes}
    leaderless, short, refused, together = [], [], [], []
    for each in topic.live:
        out = [broker for broker in each.replicas if broker not in each.isr]
        if each.leader is None:
            leaderless.append(each.number)
        if out:
            short.append(f"{topic.name}-{each.number} (ISR {list(each.isr)} of {list(each.replicas)})")
        if minimum is not None and len(each.isr) < minimum:
            refused.append(each.number)
        if _one_rack(each.replicas, racks):
            together.append(each.number)
    found: list[str] = []
    if leaderless:
        found.append(f"{named('partition', leaderless)} of {topic.name}: no leader")
    if short:
        found.append(f"under-replicated now: {_some(short)}")
    if refused:
        where = f"{named('partition', refused)} of {topic.name}"
        found.append(f"{where}: fewer in sync than min.insync.replicas {minimum}, acks=all is refused")
    if together:
        found.append(f"{named('partition', together)} of {topic.name}: all replicas in one rack")
    return found


def _minimum(topic: TopicConfig, brokers: Sequence[BrokerConfig]) -> int | None:
    key = "min.insync.replicas"
    told = (
        [topic.settings[key]]
        if key in topic.settings
        else [one.settings[key] for one in brokers if key in one.settings]
    )
    return min((int(one.value) for one in told if one.known and one.value.isdigit()), default=None)


def _one_rack(replicas: Sequence[int], racks: Mapping[int, str | None]) -> bool:
    """Whether several replicas share the one rack, in a cluster that has more."""
    theirs = {racks.get(broker) for broker in replicas}
    return len(replicas) > 1 and len(theirs) == 1 and None not in theirs and len(set(racks.values()) - {None}) > 1


# Words


def address(host: str, port: int) -> str:
    """HOST:PORT, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _some(names: Sequence[object]) -> str:
    """Some names in a sentence.

    >>> _some([1]), _some([1, 2, 3]), _some(range(9))
    ('1', '1, 2 and 3', '0, 1, 2, 3, 4 and 4 more')
    """
    shown = [str(name) for name in names[:NAMES_SHOWN]]
    rest = len(names) - len(shown)
    last = f"{rest} more" if rest else shown.pop() if len(shown) > 1 else ""
    return ", ".join(shown) + (f" and {last}" if last else "")


def named(what: str, names: Sequence[object]) -> str:
    """What these are called together: "brokers 1 and 2"."""
    return f"{what}{'' if len(names) == 1 else 's'} {_some(names)}"


def _grouped(pairs: Iterable[tuple[T, Any]]) -> list[tuple[T, list[Any]]]:
    """What shares a reason, in the order of reasons."""
    found: dict[T, list[Any]] = {}
    for reason, name in pairs:
        found.setdefault(reason, []).append(name)
    return list(found.items())
