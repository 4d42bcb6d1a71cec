"""Settings of a client as they are: unprefixed (`acks=all`), or below whatever an application calls its producer.

The second kind (`app.kafka.producer.acks`, `kafka.producers.orders.linger.ms`) is told by a key that only producers
have, below a prefix that names a producer or ends in "kafka". Spark's sink options (`kafka.acks`) are of this kind.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from audit.model import BrokerConfig, Client, Setting
from audit.readers.collect import Collected, preset
from audit.readers.connect import read_connector
from audit.readers.format import JSON, PROPERTIES, YAML, Document, Format
from audit.readers.names import BROKERS, CONSUMERS, PRODUCERS, WEAK, latest, producer_keys, relaxed, squeezed, under
from audit.readers.placeholders import Style
from audit.readers.text import Text
from audit.readers.tree import Table, flatten
from audit.readers.walk import text_of

TOPICS: Final = ("topic", "topics", "kafka.topic", "topic.name", "output.topic", "default.topic")
LONGEST: Final = 300
NEAR: Final = 0.74
"""How alike (difflib's ratio) a key must be to one of a producer to count as a slip."""
MAPS_OF_VARIABLES: Final = ("custom-environment-variables.yml", "custom-environment-variables.yaml",
                            "custom-environment-variables.json")  # fmt: skip
"""node-config's: values are names of variables."""
STREAMS: Final = "Kafka Streams, org.apache.kafka.streams.StreamsConfig"
GUARANTEES: Final = frozenset({"exactly_once", "exactly_once_beta", "exactly_once_v2"})
SPARK: Final = frozenset({"checkpointlocation", "outputmode", "trigger", "includeheaders", "format"})


def read_plain(source: Text, settings: Sequence[Setting], reading: Collected, *, client: Client, style: Style) -> bool:
    """Read unprefixed settings; whether they are a producer's or a broker's."""
    settings = [each for each in settings if each.key != "producer.type" or _is_scalas(each)]
    keys = {setting.key for setting in settings}
    if keys & {"broker.id", "node.id", "process.roles"} or len(keys & BROKERS) > 1 or is_server(source, keys):
        read_broker(source, settings, reading, style)
        return True
    marks = keys & (PRODUCERS - {"metadata.broker.list"})
    named = "producer" in source.file.lower()
    if source.file.lower() in MAPS_OF_VARIABLES or any(each.key.startswith("$schema") for each in settings):
        return False
    # What all clients share tells none; `retries` and `compression.type` alone are many programs' own.
    of_kcat = re.fullmatch(r"(kcat|kafkacat)\.conf", source.file) is not None and not keys & CONSUMERS
    addressed = keys & {"bootstrap.servers", "metadata.broker.list"} and (named or of_kcat)
    if marks <= WEAK and not named and not keys & {"bootstrap.servers", "metadata.broker.list"}:
        marks = set()
    if marks == {"retries"} and not named:
        marks = set()  # an administrator's, who has it too
    flat = any(source.file.lower().endswith(each.lstrip("*")) for each in PROPERTIES)  # and not a table of something
    slips = named and flat and any(get_close_matches(key, PRODUCERS, 1, NEAR) for key in keys)
    if not marks and not addressed and not slips:
        return False
    if not named and keys & CONSUMERS and marks <= {"compression.type", "retries", "request.timeout.ms"}:
        return False
    if any(each.key == "bootstrap.servers" and not each.value.strip() for each in settings):
        return False  # a form that somebody fills in
    topics = [setting.value for setting in settings if setting.key in TOPICS and setting.key not in producer_keys()]
    own = [setting for setting in settings if setting.key not in TOPICS]
    first = own[0].origin if own else source.origin()
    reading.producer(source.file, own, first, client=client, topics=topics, style=style)
    return True


def _is_scalas(setting: Setting) -> bool:
    """Whether `producer.type` is the old Scala producer's; others call so what kind of producer they make."""
    return not setting.known or setting.value in ("sync", "async") or "$" in setting.value


def is_server(source: Text, keys: set[str]) -> bool:
    """Whether a file's name and one key are a broker's."""
    return bool(keys & BROKERS) and bool(re.search(r"server|broker|controller|kraft", source.file.lower()))


def read_broker(source: Text, settings: Sequence[Setting], reading: Collected, style: Style) -> None:
    """Add the brokers of a server.properties."""
    by_key = latest(settings)
    identity = by_key.get("node.id") or by_key.get("broker.id")
    reading.broker(
        BrokerConfig(
            name=f"broker {identity.value}" if identity else source.file,
            mode="kraft" if "process.roles" in by_key else "zookeeper" if "zookeeper.connect" in by_key else None,
            settings=by_key,
            origin=settings[0].origin,
        ),
        style,
    )


def read_streams(settings: Sequence[Setting], reading: Collected, style: Style) -> None:
    """Add the producer inside a Kafka Streams application."""
    by_key = latest(settings)
    origin = by_key["application.id"].origin
    given = [setting for setting in settings if setting.key in producer_keys() - {"client.id"}]
    presets = [preset("linger.ms", "100", STREAMS, origin)]
    guarantee = by_key.get("processing.guarantee")
    if guarantee is not None and guarantee.value in GUARANTEES:
        note = f"processing.guarantee={guarantee.value} of {STREAMS}"
        presets += [
            preset("enable.idempotence", "true", note, guarantee.origin),
            preset("transactional.id", "(its own)", note, guarantee.origin),
            preset("delivery.timeout.ms", "2147483647", note, guarantee.origin),
        ]
    own = [*given, *under(settings, "producer."), *under(settings, "main.producer.")]
    name = by_key["application.id"].value
    reading.producer(
        name, own, origin, client="java", framework="streams", spelling="producer.{key}", presets=presets, style=style
    )


def read_prefixed(
    source: Text, settings: Sequence[Setting], reading: Collected, *, client: Client, style: Style
) -> bool:
    """Add the producers below an application's own prefixes; whether there were any."""
    prefixes: dict[str, None] = {}
    if any(each.key in ("$schema", "openapi", "swagger") for each in settings):
        return False
    for setting in settings:
        if (prefix := _prefix(setting.key)) is not None:
            prefixes[prefix] = None
    of_topics = {each: one for each in prefixes if (one := _beside_topics(each, prefixes)) is not None}
    topics = [setting.value for setting in settings if setting.key in TOPICS]
    keys = {setting.key.lower() for setting in settings}
    of_spark = bool(keys & SPARK) or any(key.startswith("spark.") for key in keys)
    of_kafka = any("kafka" in key or squeezed(key).endswith("bootstrapservers") for key in keys)
    found = False
    for prefix in (each for each in prefixes if each not in of_topics):
        below = under(settings, f"{prefix}.")
        below += [one for each, whose in of_topics.items() if whose == prefix for one in under(settings, f"{each}.")]
        own = [dataclasses.replace(each, key=relaxed(each.key) or each.key) for each in below if _clients(each.key)]
        if not of_kafka and ({each.key for each in own} & PRODUCERS <= WEAK or _is_of_other_brokers(source)):
            continue  # other brokers' producers have retries and batches too
        found = True
        spark = of_spark and prefix.endswith("kafka")
        reading.producer(
            source.file if prefix in ("producer", "kafka") else prefix,
            own,
            own[0].origin,
            client="java" if spark else client,
            framework="spark" if spark else "debezium" if prefix.startswith("debezium.sink.") else "",
            spelling=f"{prefix}.{{key}}",
            topics=[*topics, *(each.value for each in below if each.key in TOPICS)] if spark else [],
            style=style,
        )
    return found


OF_TOPICS: Final = re.compile(
    r"(?i)(?:\A|\.)(?:default[-_]?)?topic[-_]?(?:conf(?:ig(?:uration)?)?|options|settings)?\Z"
)
"""A section with librdkafka's settings of topics, which a producer is made with beside its own."""


def _beside_topics(prefix: str, prefixes: Collection[str]) -> str | None:
    """The section of a producer whose topics another one beside it, or inside it, is about; None if it is no such."""
    if OF_TOPICS.search(prefix) is None:
        return None
    above = prefix.rpartition(".")[0]
    beside = [each for each in prefixes if each != prefix and above in (each, each.rpartition(".")[0])]
    return beside[0] if len(beside) == 1 else None


OTHER_BROKERS: Final = re.compile(
    r"(?i)rabbit|amqp|pulsar|activemq|artemis|\bnats\b|\bsqs\b|pubsub|servicebus|rocketmq"
)
BUILDS: Final = ("pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "package.json", "requirements.txt")
HIGHEST: Final = 6
"""How many directories are looked into for a build file."""


def _is_of_other_brokers(source: Text) -> bool:
    """Whether a file, or the build file nearest to it, speaks of another broker, and neither of them of Kafka."""
    texts = [source.content]
    for folder in Path(source.path).absolute().parents[:HIGHEST]:
        if found := [one for name in BUILDS if (one := text_of(folder / name)) is not None]:
            texts += [one.content for one in found]
            break
    return any(OTHER_BROKERS.search(text) for text in texts) and not any("kafka" in text.lower() for text in texts)


def _clients(key: str) -> bool:
    """Whether a key below a producer's prefix can be the client's."""
    return relaxed(key) is not None or ("." in key and not key.startswith(("topic", "consumer")))


OF_PRODUCER: Final = re.compile(r"(?:^|\.)(?:kafka[-_]?)?producer(?:[-_]?(?:config|settings|options))?$")
"""A section that is a producer's by its name, whatever it sets."""


OF_RULES: Final = re.compile(
    r"(?:^|[._-])(?:rules?|polic(?:y|ies)|expect(?:ed|ations?)|checks?|lint|guardrails?|constraints?|wanted|baseline)"
    r"(?:$|[._-])"
)
"""A section that says what others' settings are held against, and is no client's."""


def _prefix(key: str) -> str | None:
    """What stands before a producer's key, if that names a producer; None otherwise.

    >>> _prefix("app.kafka.producer.linger.ms"), _prefix("kafka.acks"), _prefix("db.retries"), _prefix("Kafka.Retries")
    ('app.kafka.producer', 'kafka', None, None)
    """
    parts = key.split(".") if len(key) < LONGEST else []
    for start in range(1, len(parts)):
        rest = ".".join(parts[start:])
        prefix = ".".join(parts[:start])
        low = prefix.lower()
        of_producer = relaxed(rest) == "bootstrap.servers" and OF_PRODUCER.search(low) is not None
        if of_producer or rest in PRODUCERS or relaxed(rest) in PRODUCERS:
            if relaxed(rest) in WEAK and not low.endswith("producer"):
                return None
            if "consumer" in low or low.startswith(("spring.", "mp.messaging", "%", "camel.", "akhq.")):
                return None
            if OF_RULES.search(low):
                return None
            named = re.search(r"producer|(^|\.)kafka(\..*)?$", low)
            return prefix if named else None
    return None


BELOW: Final = ("producer", "producerconfig", "kafkaproducer", "kafka")
"""Names of a mapping in YAML or JSON that has a client's settings."""


def _read_streams(document: Document, reading: Collected) -> bool:
    read_streams(document.settings, reading, "any")
    return True


OF_DOTNET: Final = re.compile(r"appsettings(?:\.[\w-]+)?\.json$", re.IGNORECASE)
"""Configuration of .NET, whose client is Confluent.Kafka."""


def _read_client(document: Document, reading: Collected) -> bool:
    if document.file in MAPS_OF_VARIABLES:
        return True
    client: Client = "unknown" if document.tree is not None else "java"
    client = "librdkafka" if "rdkafka" in document.source.file or OF_DOTNET.match(document.source.file) else client
    found = read_plain(document.source, document.settings, reading, client=client, style="any")
    return read_prefixed(document.source, document.settings, reading, client=client, style="any") or found


def _read_below(document: Document, reading: Collected) -> bool:
    """Read connectors and clients one level down: {"connectors": {"a": {…}}, "producer": {…}}."""
    assert document.tree is not None
    source, before = document.source, reading.count()
    for name, _, value in document.tree.items:
        if isinstance(value, Table):
            config = next((each for each in (value, value.table("config")) if "connector.class" in each.names()), None)
            if config is not None:
                read_connector(name, flatten(config, source), reading, "none")
            elif squeezed(name) in BELOW:
                read_plain(source, flatten(value, source), reading, client="unknown", style="any")
    return reading.count() > before


FORMATS: Final = (
    Format(
        name="Kafka Streams",
        reads="the producer's own keys, with and without `producer.`",
        files=(*PROPERTIES, *YAML, *JSON),
        rank=200,
        claims=lambda document: {"application.id", "bootstrap.servers"} <= document.keys,
        read=_read_streams,
    ),
    Format(
        name="clients and brokers",
        reads="a producer's own keys, plain or below an application's prefix (`app.kafka.producer.acks`, Spark's "
        "`kafka.acks`); `server.properties`",
        files=(*PROPERTIES, *YAML, *JSON),
        rank=240,
        speaks=(r"process\.roles", r"broker\.id"),
        claims=lambda document: True,
        read=_read_client,
    ),
    Format(
        name="clients one level down",
        reads="a producer's or connector's settings in a mapping (`producer: {acks: all}`)",
        files=(*YAML, *JSON),
        rank=250,
        claims=lambda document: document.tree is not None,
        read=_read_below,
    ),
)
