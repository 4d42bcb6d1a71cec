"""What an audit is about: producers, topics and brokers as their configuration states them, before any default.

Everything is frozen, so it can be shared and compared, and every value knows the file and line that it comes from, so
that a report (and SARIF) can point there. Three rules hold for whoever makes these:

* Names are Kafka's own (`acks`, `min.insync.replicas`) or librdkafka's own (`message.send.max.retries`): what a
  framework writes around them (`spring.kafka.producer.`, `CONNECT_PRODUCER_`) is kept in `Setting.written` and in
  `ProducerConfig.spelling`, which says how a further setting would be written in the same place.
* What is not written is not here: defaults of a client are `audit.defaults`', except where a *framework* passes a value
  of its own to the client (Kafka Connect's acks=all, SmallRye's acks=1). Those are `ProducerConfig.presets`.
* No secret is ever held. `Setting` replaces the value of every key that names one, and every value that looks like
  one, when it is made: whoever makes a Setting cannot forget to. Text of a file never goes into a `InputProblem`.

Data of the clients' and brokers' known keys is in `audit/known/` (see `audit.known`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

Client = Literal[
    "java", "scala", "librdkafka", "unknown",
    "sarama", "franz-go", "kafka-go", "kafkajs", "kafka-node", "platformatic-kafka",
    "kafka-python", "aiokafka", "pykafka", "ruby-kafka", "kafka-rust", "brod", "lua-resty-kafka",
]  # fmt: skip
"""Whose producer it is: the Java client, the old Scala one (0.8, `request.required.acks`), librdkafka, or not known.
Those of the lines below were never measured: what is in force is told of them, and no grade."""

Mode = Literal["zookeeper", "kraft"]

Kind = Literal[
    "unreadable",  # a file, or a part of one, that could not be read
    "duplicate",  # one key twice in one place: which of them counts is said
    "unknown-key",  # no key of this client, topic or broker: near names are said
    "bad-value",  # a value that the client, topic or broker would refuse
    "contradiction",  # settings that refuse, or silently undo, each other
    "placeholder",  # ${NAME} without a value
    "template",  # Helm, Jinja, …: not a configuration until it is rendered
    "release",  # the client's release is not told, or told twice and differently
    "rights",  # a live cluster refused to tell something
    "unreachable",  # a live cluster, or a part of it, did not answer
]

HIDDEN: Final = "(hidden)"
"""What stands in the place of every secret."""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """Where something was read: a file as the user named it, or "cluster HOST:PORT"; lines count from 1.

    >>> str(Origin("conf/producer.properties", 3)), str(Origin("cluster localhost:9092"))
    ('conf/producer.properties:3', 'cluster localhost:9092')
    """

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it stands in a configuration.

    >>> Setting("sasl.jaas.config", "… username=u password=p;", Origin("a.properties", 1)).value
    '(hidden)'
    """

    key: str
    """Kafka's or librdkafka's own name."""
    value: str
    """As the client would be given it: placeholders and escapes resolved, booleans in lower case, no blanks
    around it. `HIDDEN` in place of a secret. If `known` is false, the text as it is written."""
    origin: Origin
    written: str = ""
    """The key as the file has it ("spring.kafka.producer.acks"); the same as `key` if left empty."""
    known: bool = True
    """False if the value depends on something that is not here (`${ACKS}` without a value, a Helm expression): then
    nothing may be concluded from it."""
    note: str = ""
    """How the value came about, if not simply written: "the default in ${ACKS:1}", "from --env ACKS"."""

    def __post_init__(self) -> None:
        if not self.written:
            object.__setattr__(self, "written", self.key)
        if is_secret(self.key, self.value) or is_secret(self.written, ""):
            object.__setattr__(self, "value", HIDDEN)


LONGEST: Final = 400
"""Characters of the longest sentence of a `InputProblem`: a key may be as long as its file."""
NOTHING: Final[Mapping[str, Setting]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """One producer: what its configuration states, and nothing else."""

    name: str
    """For people: a connector's name, a channel, a Spring profile, a container's, or the file's. Not unique by itself;
    `str(origin)` together with it is."""
    client: Client = "unknown"
    release: str | None = None
    """The client library's own release: of kafka-clients ("2.8.2"), of the Scala producer ("0.8.2.2") or of librdkafka
    ("2.3.0"; confluent-kafka has the release of the librdkafka it bundles)."""
    release_from: str = ""
    """Where the release was told: "--client", "pom.xml:12: spring-kafka 2.8.1"; empty if `release` is None."""
    since: str = ""
    """The oldest release that a build file allows, where `release` is not told."""
    settings: Mapping[str, Setting] = field(default_factory=lambda: NOTHING, hash=False)
    """By Kafka's or librdkafka's own names, `NOTHING` more than what is written."""
    presets: Mapping[str, Setting] = field(default_factory=lambda: NOTHING, hash=False)
    """What the framework passes to the client where nothing is written; `note` has the source. `settings` win."""
    topics: tuple[str, ...] = ()
    """Topics that the configuration says it writes to; empty if it does not say. A pattern is not a name."""
    framework: str = ""
    """What configures it: "spring", "spring-cloud-stream", "connect", "smallrye", "spark", "flink", "strimzi", "env", …
    or empty for a client's own properties."""
    unit: str = ""
    """The directory of its module: the nearest above with a build file; "*" if the user named the file."""
    namespace: str = ""
    """Of Kubernetes, if that is told."""
    build: str = ""
    """The directory that its program is built in, if that is not where its configuration is (Compose's `build:`)."""
    makes: TopicConfig | None = None
    """What topics are like that it makes itself, where nobody describes them; its name is empty."""
    spelling: str = "{key}"
    """How a further setting is written in this place: `spelled` fills it in."""
    origin: Origin = field(default_factory=lambda: Origin("(nowhere)"))

    def spelled(self, key: str) -> str:
        """How the setting `key` is, or would be, written here.

        >>> ProducerConfig(name="p", spelling="spring.kafka.producer.properties.{key}").spelled("linger.ms")
        'spring.kafka.producer.properties.linger.ms'
        >>> ProducerConfig(name="p", spelling="CONNECT_PRODUCER_{KEY}").spelled("linger.ms")
        'CONNECT_PRODUCER_LINGER_MS'
        """
        if key in self.settings:
            return self.settings[key].written
        return self.spelling.replace("{key}", key).replace("{KEY}", re.sub(r"[.-]", "_", key).upper())


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class LivePartition:
    """The state of one partition of a live topic. Numbers are broker ids, in the order of the cluster's answer."""

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    """Eligible leader replicas (KIP-966); None if the cluster cannot tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """A topic, from a KafkaTopic resource or a live cluster."""

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    settings: Mapping[str, Setting] = field(default_factory=lambda: NOTHING, hash=False)
    """Only what is set for the topic itself, by the topic's names (`min.insync.replicas`); a broker's defaults are the
    broker's. Of a live topic, `note` says where the value in force comes from if that is known."""
    live: tuple[LivePartition, ...] = ()
    """Of a live topic: each partition's replicas and ISR."""
    cluster: str = ""
    """Which `BrokerConfig.cluster` it belongs to; empty if that is not told."""
    unit: str = ""
    """As `ProducerConfig.unit`."""
    origin: Origin = field(default_factory=lambda: Origin("(nowhere)"))


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class LiveBroker:
    """One broker of a live cluster."""

    id: int
    rack: str | None = None
    release: str | None = None
    """Broker release as far as the protocol tells ("3.9"), or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """The brokers of one cluster: a server.properties, a Strimzi Kafka resource, a container, or a live cluster."""

    name: str
    release: str | None = None
    release_from: str = ""
    mode: Mode | None = None
    settings: Mapping[str, Setting] = field(default_factory=lambda: NOTHING, hash=False)
    """By the broker's names (`default.replication.factor`, `log.flush.interval.messages`)."""
    presets: Mapping[str, Setting] = field(default_factory=lambda: NOTHING, hash=False)
    """What an image or operator sets where nothing is written; `note` has the source."""
    nodes: tuple[LiveBroker, ...] = ()
    """Of a live cluster."""
    replicas: int | None = None
    """How many brokers there are, where that is told."""
    elr: bool | None = None
    """Whether eligible leader replicas (KIP-966: `eligible.leader.replicas.version` ≥ 1) are in force, or None."""
    racks: int | None = None
    """Over how many racks the brokers are spread, where that is told."""
    cluster: str = ""
    """What its brokers have in common: Strimzi's name, a Compose file; empty for what lies in one directory."""
    addresses: tuple[str, ...] = ()
    """Names by which clients reach it, as far as they are told."""
    unit: str = ""
    """As `ProducerConfig.unit`."""
    namespace: str = ""
    origin: Origin = field(default_factory=lambda: Origin("(nowhere)"))


@dataclass(frozen=True, slots=True, order=True)
class InputProblem:
    """What could not be read, or what cannot be meant. The rest of the audit goes on.

    >>> print(InputProblem(Origin("a.properties", 2), "unknown-key", "no producer key 'ack'", "did you mean acks?"))
    a.properties:2: no producer key 'ack': did you mean acks?
    """

    origin: Origin
    kind: Kind
    message: str
    """What is wrong, in one line, without its place."""
    do: str = ""
    """What to do about it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", " ".join(self.message.split())[:LONGEST])
        object.__setattr__(self, "do", " ".join(self.do.split())[:LONGEST])

    def __str__(self) -> str:
        return f"{self.origin}: {self.message}" + (f": {self.do}" if self.do else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that was read. Two of them add up, so that files and live clusters can be audited together."""

    producers: tuple[ProducerConfig, ...] = ()
    topics: tuple[TopicConfig, ...] = ()
    brokers: tuple[BrokerConfig, ...] = ()
    problems: tuple[InputProblem, ...] = ()
    read: tuple[str, ...] = ()
    """The files that were read, in order, whether or not anything of Kafka was found in them."""
    ignored: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """How many files were passed over, by reason ("binary", "larger than 1 MB", "no configuration", …)."""

    def __add__(self, other: Inputs) -> Inputs:
        ignored = dict(self.ignored)
        for reason, count in other.ignored.items():
            ignored[reason] = ignored.get(reason, 0) + count
        return Inputs(
            producers=self.producers + other.producers,
            topics=self.topics + other.topics,
            brokers=self.brokers + other.brokers,
            problems=self.problems + other.problems,
            read=self.read + other.read,
            ignored=MappingProxyType(ignored),
        )


SECRET_KEY: Final = re.compile(
    r"""passw | passphrase | \b(pass|pwd)\b | jaas | token | secret | credential | user[.-]?info
      | (api|private|access)[.-]?key | \b(ssl|keystore)[.-]key([.-](pem|password))?$ | certificate[.-]chain""",
    re.IGNORECASE | re.VERBOSE,
)
SECRET_VALUE: Final = re.compile(
    r"""-----BEGIN | LoginModule\b | (password|passwd|pwd|secret|token)["']?\s*[=:] | ://[^/\s@]+@ | \bbearer\s+\S
      | \bAKIA[0-9A-Z]{12}""",
    re.IGNORECASE | re.VERBOSE,
)


def is_secret(key: str, value: str) -> bool:
    """Whether a setting's value must not be kept: its key names a secret, or the value looks like one.

    >>> is_secret("ssl.keystore.key", ""), is_secret("url", "https://me:pw@host/"), is_secret("acks", "1")
    (True, True, False)
    """
    return bool(SECRET_KEY.search(key.replace("_", ".")) or SECRET_VALUE.search(value))
