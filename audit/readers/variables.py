"""Environment variables of containers and of .env files: how each kind of program reads its configuration from them.

| variables | read by |
|---|---|
| SPRING_KAFKA_PRODUCER_ACKS, SPRING_CLOUD_STREAM_… | Spring Boot's relaxed binding |
| MP_MESSAGING_OUTGOING_<CHANNEL>_ACKS | MicroProfile Config |
| CONNECT_PRODUCER_ACKS | Confluent's and Strimzi's Connect images: worker properties |
| KAFKA_<KEY>, KAFKA_CFG_<KEY> | broker images of Confluent and Apache, of Bitnami: server.properties |
| …PRODUCER_<KEY>, KAFKA_ACKS, … | an application's own; the key is taken for Kafka's of the same name |
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from audit.known import known
from audit.model import BrokerConfig, Origin, Setting
from audit.readers.application import CHANNEL, read_boot, read_smallrye, read_stream
from audit.readers.collect import Collected
from audit.readers.connect import is_worker, read_worker
from audit.readers.format import PROPERTIES, Document, Format
from audit.readers.names import BROKERS, PRODUCERS, WEAK, dotted, latest, relaxed, squeezed
from audit.readers.placeholders import Style
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Listing, Node, Scalar, Table, flatten, read_json
from audit.units import hosts

BROKER_IMAGE: Final = re.compile(
    r"(?:^|/)(?:[\w-]*-)?(cp-kafka|cp-server|confluent-local|cp-enterprise-kafka|kafka|kafka-native|kafka-server)(?::|@|$)"
)
CONFLUENT: Final = re.compile(r"(?:^|[/-])(?:cp-[\w-]+|confluent-local)(?::|@|$)")
SCALA_TAG: Final = re.compile(r":2\.1\d-\d+\.\d+\.\d+")
KNOWN_BROKER: Final = re.compile(
    r"(?:^|/)(?:apache/kafka(?:-native)?|confluentinc/(?:cp-kafka|cp-server|confluent-local)|bitnami/kafka|debezium/kafka"
    r"|wurstmeister/kafka)(?::|@|$)"
)
"""Images that are brokers without being told anything."""
DEBEZIUM: Final = re.compile(r"(?:^|/)debezium/(?:connect(?:-base)?|kafka|server)(?::|@|$)")
LONGEST: Final = 300
NOT_BROKERS: Final = frozenset({"kafka.heap.opts", "kafka.opts", "kafka.jmx.opts", "kafka.log4j.opts"})


def release_of(image: str) -> str | None:
    """The Kafka release that an image's tag tells; Confluent Platform 7.5 is Kafka 3.5, 6.2 is 2.8, 5.5 is 2.5.

    >>> release_of("apache/kafka:3.9.1"), release_of("confluentinc/cp-kafka:7.5.0"), release_of("kafka:latest")
    ('3.9.1', '3.5', None)
    >>> release_of("quay.io/strimzi/kafka:0.45.0-kafka-3.9.0"), release_of("wurstmeister/kafka:2.13-2.8.1")
    ('3.9.0', '2.8.1')
    """
    tag = image.partition("@")[0].rpartition(":")[2] if ":" in image.rpartition("/")[2] else ""
    if DEBEZIUM.search(image) and (line := re.match(r"(\d+\.\d+)", tag)):
        return lines_of("debezium").get(line[1])
    if CONFLUENT.search(image):
        # A tag may begin with a number of its own: 0.6.4-7.6.0.
        return platform(re.sub(r"^\d+(?:\.\d+)+-(?=\d+\.\d)", "", tag))
    found = re.search(r"kafka-(\d+\.\d+\.\d+)", tag) or re.search(r"^2\.1\d-(\d+\.\d+\.\d+)", tag)
    found = found or re.match(r"(\d+\.\d+(?:\.\d+)*)", tag)
    return found[1] if found else None


@cache
def lines_of(name: str) -> Mapping[str, str]:
    """The kafka-clients of each line of a framework or image (audit/known/frameworks.json)."""
    told = json.loads(resources.files("audit.known").joinpath("frameworks.json").read_text(encoding="utf-8"))
    return dict(told[name])


def platform(release: str) -> str | None:
    """The Kafka release, as far as it is told, in a release of Confluent Platform.

    >>> platform("7.5.0"), platform("6.2.1"), platform("5.5.0-ccs"), platform("8.0.0"), platform("latest")
    ('3.5', '2.8', '2.5', '4.0', None)
    """
    found = re.match(r"(\d+)\.(\d+)", release)
    if not found:
        return None
    major, minor = int(found[1]), int(found[2])
    return {5: f"2.{minor}", 6: f"2.{minor + 6}", 7: f"3.{minor}", 8: f"4.{minor}"}.get(major)


def read_variables(
    source: Text,
    name: str,
    image: str,
    variables: Sequence[Setting],
    reading: Collected,
    style: Style,
    *,
    runs: bool = True,
    addresses: Sequence[str] = (),
) -> None:
    """Add what a container's environment configures; `variables` have their names as keys. `runs`: what its image
    starts; `addresses`: by which others reach it.
    """
    variables = [each for each in latest(variables).values() if len(each.key) < LONGEST]
    given = [one for each in variables if each.known and "-D" in each.value for one in options(each.value, each.origin)]
    variables += [each for each in given if each.key not in latest(variables)]
    _spring(source, name, variables, reading)
    connect = [
        _as(each, dotted(each.key.removeprefix("CONNECT_")))
        for each in variables
        if each.key.startswith("CONNECT_") or (each.key in DEBEZIUMS and DEBEZIUM.search(image))
    ]
    _airflow(source, name, variables, reading)
    read_ksql(source, name, image, variables, reading, style)
    if is_worker(each.key for each in connect) or any(each.key.startswith("producer.") for each in connect):
        tagged = CONFLUENT.search(image) or DEBEZIUM.search(image) or "strimzi" in image or SCALA_TAG.search(image)
        release = release_of(image) if tagged else None
        spelling, told = "CONNECT_PRODUCER_{KEY}", f"{source.path}: image {image}"
        read_worker(source, connect, reading, style, spelling=spelling, name=name, release=release, release_from=told)
    if read_broker_image(source, name, image, variables, reading, style, runs=runs, addresses=addresses):
        return
    if _jaeger(source, name, image, variables, reading):
        return
    if "ksql" not in image and not _rest(source, name, image, variables, reading, style):
        _own(source, name, image, variables, reading, style)


OPTION: Final = re.compile(
    r"(?:^|(?<=[\s\"']))(?:--|-D)((?:spring|mp\.messaging)\.[\w.-]+)=(\"[^\"]*\"|'[^']*'|[^\s\"']+)"
)


def options(text: str, origin: Origin) -> list[Setting]:
    """The settings of an application that are arguments of a command, or of Java: `--spring.x=y`, `-Dspring.x=y`.

    >>> [each.value for each in options("java -Dspring.kafka.producer.acks=1 -jar a.jar", Origin("x"))]
    ['1']
    """
    if len(text) > 100 * LONGEST:
        return []
    return [Setting(each[1], each[2].strip("\"'"), origin) for each in OPTION.finditer(text)]


def _texts(node: Node | None) -> Iterator[Scalar]:
    """The texts of a value that is one, or a list of them."""
    if isinstance(node, Scalar):
        yield node
    for each in node.items if isinstance(node, Listing) else ():
        if isinstance(each, Scalar):
            yield each


def arguments(source: Text, *nodes: Node | None) -> list[Setting]:
    """The settings that a command and its arguments have."""
    return [one for node in nodes for each in _texts(node) for one in options(each.text, source.origin(each.line))]


DEBEZIUMS: Final = frozenset(
    {"BOOTSTRAP_SERVERS", "GROUP_ID", "CONFIG_STORAGE_TOPIC", "OFFSET_STORAGE_TOPIC", "STATUS_STORAGE_TOPIC"}
)
"""What Debezium's image takes without CONNECT_ before it (its docker-entrypoint.sh)."""
KSQL_SERVER: Final = re.compile(r"(?:^|/)(?:cp-)?ksql(?:db)?-server(?::|@|$)")
KSQL: Final = re.compile(r"KSQL_KSQL_STREAMS_(?:PRODUCER_)?([A-Z_]+)")
GUARANTEE: Final = "processing.guarantee"
KSQL_GUARANTEE: Final = frozenset({"KSQL_KSQL_STREAMS_PROCESSING_GUARANTEE", "KSQL_PROCESSING_GUARANTEE"})
"""What makes the producers of a server's queries transactional, as in any program of Kafka Streams'."""


def read_ksql(
    source: Text, name: str, image: str, variables: Sequence[Setting], reading: Collected, style: Style
) -> None:
    """Add the producer of a ksqlDB server, which is Kafka Streams', if something is said of it, or the image starts
    one.
    """
    if "ksql" not in image:
        return
    own = [
        _as(each, key)
        for each in variables
        if (found := KSQL.fullmatch(each.key)) and (key := relaxed(found[1])) is not None
    ]
    own += [
        _as(dataclasses.replace(each, value="(its own)", note=f"{GUARANTEE}={each.value}"), "transactional.id")
        for each in variables
        if each.key in KSQL_GUARANTEE and each.value.startswith("exactly_once")
    ]
    servers = [_as(each, "bootstrap.servers") for each in variables if each.key == "KSQL_BOOTSTRAP_SERVERS"]
    if own or (servers and KSQL_SERVER.search(image)):
        release = release_of(image)
        reading.producer(
            name, [*servers, *own], (own or servers)[0].origin, client="java", framework="streams", style=style,
            spelling="KSQL_KSQL_STREAMS_PRODUCER_{KEY}", release=release, release_from=f"{source.path}: image {image}",
        )  # fmt: skip


def _spring(source: Text, name: str, variables: Sequence[Setting], reading: Collected) -> None:
    settings = [_as(each, dotted(each.key)) for each in variables if each.key.startswith("SPRING_")]
    for each in variables:
        if each.key.startswith("SPRING_APPLICATION_JSON"):
            settings += _application_json(source, each, reading)
        elif each.key.startswith("spring."):
            settings.append(each)
    settings = [
        _as(each, re.sub(r"^(spring\.kafka\.producer\.)properties\.", r"\1properties.", each.key)) for each in settings
    ]
    look_up = reading.look_up()
    if not read_stream(settings, reading, look_up):
        before = len(reading.producers)
        read_boot(name, settings, reading, look_up, own=True)
        for at in range(before, len(reading.producers)):
            spelling = "SPRING_KAFKA_PRODUCER_PROPERTIES_{KEY}"
            reading.producers[at] = dataclasses.replace(reading.producers[at], spelling=spelling)
    channels = []
    for each in variables:
        if found := re.fullmatch(r"MP_MESSAGING_OUTGOING_(.+)", each.key):
            parts = found[1].split("_")
            for cut in range(1, len(parts)):
                if (key := relaxed("_".join(parts[cut:]))) or parts[cut:] in (["CONNECTOR"], ["TOPIC"]):
                    channel = "-".join(parts[:cut]).lower()
                    channels.append(_as(each, f"mp.messaging.outgoing.{channel}.{key or parts[-1].lower()}"))
                    break
    channels += [each for each in variables if CHANNEL.fullmatch(each.key)]
    read_smallrye(channels, reading, look_up)


def _airflow(source: Text, name: str, variables: Sequence[Setting], reading: Collected) -> None:
    """Add Airflow's connections to Kafka that producers are made of, whose client is confluent-kafka."""
    for each in variables:
        if not each.key.startswith("AIRFLOW_CONN_") or '"kafka"' not in each.value:
            continue
        nodes = read_json(Text(source.path, each.value)).nodes
        tree = nodes[0] if nodes and isinstance(nodes[0], Table) else Table((), None)
        extra = tree.table("extra")
        try:
            given = [dataclasses.replace(one, origin=each.origin) for one in flatten(extra, source)]
        except Unreadable:
            continue
        if tree.text("conn_type") == "kafka" and {one.key for one in given} & (PRODUCERS - {"metadata.broker.list"}):
            called = f"{name} {each.key.removeprefix('AIRFLOW_CONN_').lower()}"
            reading.producer(called, given, each.origin, client="librdkafka", framework="airflow", style="any")


def _application_json(source: Text, variable: Setting, reading: Collected) -> list[Setting]:
    document = read_json(Text(source.path, variable.value))
    if document.error is not None or not document.nodes:
        if variable.known and variable.value.startswith("{"):
            reading.problems.append(
                source.problem("unreadable", variable.origin.line, "SPRING_APPLICATION_JSON is not readable as JSON")
            )
        return []
    try:
        found = flatten(document.nodes[0], source)
    except Unreadable:
        return []
    return [dataclasses.replace(each, origin=variable.origin) for each in found]


def read_broker_image(
    source: Text,
    name: str,
    image: str,
    variables: Sequence[Setting],
    reading: Collected,
    style: Style,
    *,
    runs: bool = True,
    addresses: Sequence[str] = (),
) -> bool:
    """Add the brokers that a container of a broker image is; whether it is one. `runs`: what the image starts."""
    prefix = "KAFKA_CFG_" if any(each.key.startswith("KAFKA_CFG_") for each in variables) else "KAFKA_"
    names = set(known("broker").history)
    settings = []
    for each in variables:
        key = dotted(each.key.removeprefix(prefix))
        if (
            each.key.startswith(prefix)
            and f"kafka.{key}" not in NOT_BROKERS
            and not key.startswith(("opts", "heap", "jmx"))
        ):
            settings.append(_as(each, key))
    keys = {each.key for each in settings}
    is_one = bool(BROKER_IMAGE.search(image)) and not re.search(
        r"connect|rest|registry|ksql|mirror|exporter|-ui", image
    )
    by_key = latest(settings)
    # An image of a broker that runs something else: its start script wants these all the same.
    placed = [
        each for each in by_key.values() if each.key in ("broker.id", "zookeeper.connect") and each.value == "ignored"
    ]
    bare = runs and KNOWN_BROKER.search(image) is not None
    if placed or (not (is_one and keys & names) and len(keys & BROKERS) < 2 and not bare):
        return False
    release = release_of(image)
    reading.broker(
        BrokerConfig(
            name=name,
            release=release,
            release_from=f"{source.path}: image {image}" if release else "",
            mode="kraft" if "process.roles" in keys else "zookeeper" if "zookeeper.connect" in keys else None,
            settings={key: setting for key, setting in by_key.items() if key in names or key in BROKERS},
            cluster=source.path,
            addresses=tuple(dict.fromkeys((name, *addresses, *advertised(by_key)))),
            namespace=reading.namespace,
            origin=settings[0].origin if settings else source.origin(),
        ),
        style,
    )
    return True


def advertised(settings: Mapping[str, Setting]) -> tuple[str, ...]:
    """The hosts that brokers tell clients to come to; empty if it is this machine, or not told."""
    told = settings.get("advertised.listeners") or settings.get("listeners") or settings.get("advertised.host.name")
    return tuple(sorted(hosts(told.value))) if told is not None and told.known else ()


REST: Final = re.compile(r"\bcp-(?:enterprise-)?kafka-rest\b")
"""Confluent's REST proxy, whose client is kafka-clients of its own release."""


def _rest(source: Text, name: str, image: str, variables: Sequence[Setting], reading: Collected, style: Style) -> bool:
    """Add the producer of a REST proxy of which nothing is said but its brokers; whether it is one."""
    own = [_as(each, "bootstrap.servers") for each in variables if each.key == "KAFKA_REST_BOOTSTRAP_SERVERS"]
    if not own or REST.search(image) is None or any(each.key.startswith(REST_PRODUCER) for each in variables):
        return False
    release, told = release_of(image), f"{source.path}: image {image}"
    spelling = f"{REST_PRODUCER}{{KEY}}"
    reading.producer(
        name, own, own[0].origin, client="java", framework="rest", spelling=spelling, release=release,
        release_from=told, style=style,
    )  # fmt: skip
    return True


REST_PRODUCER: Final = "KAFKA_REST_PRODUCER_"
OWN_NAMES: Final[Mapping[str, str]] = {
    "requiredacks": "acks",
    "idempotent": "enable.idempotence",
    "retrymax": "retries",
}
"""What applications of Go's call a producer's settings, after sarama's and kafka-go's fields."""
WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("noack", "noresponse", "none", "requirenone"), "0"),
    **dict.fromkeys(("local", "leader", "one", "waitforlocal", "requireone"), "1"),
    **dict.fromkeys(("all", "waitforall", "requireall"), "all"),
}
"""What they call acks."""
JAEGER: Final = re.compile(r"(?:^|/)(?:jaeger-)?(?:collector|agent|all-in-one|jaeger)(?::|@|$)")


def _in_words(setting: Setting) -> Setting:
    """A setting, with acks as Kafka has it."""
    told = WORDS.get(squeezed(setting.value)) if setting.key == "acks" else None
    return dataclasses.replace(setting, value=told) if told is not None else setting


def _jaeger(source: Text, name: str, image: str, variables: Sequence[Setting], reading: Collected) -> bool:
    """Add the producer of a Jaeger that keeps its spans in Kafka, which is sarama's with acks=1; whether it is one."""
    by_name = latest(variables)
    storage = by_name.get("SPAN_STORAGE_TYPE")
    if "jaeger" not in image or not JAEGER.search(image) or storage is None or "kafka" not in storage.value:
        return False
    acks = by_name.get("KAFKA_PRODUCER_REQUIRED_ACKS")
    own = [_in_words(_as(acks, "acks"))] if acks is not None else []
    own += [_as(each, "bootstrap.servers") for each in variables if each.key == "KAFKA_PRODUCER_BROKERS"]
    topics = [each.value for each in variables if each.key == "KAFKA_PRODUCER_TOPIC"]
    reading.producer(
        name, own, storage.origin, client="sarama", framework="jaeger", spelling="KAFKA_PRODUCER_{KEY}", topics=topics,
        presets=[Setting("acks", "1", storage.origin, note="Jaeger's default")], style="shell",
    )  # fmt: skip
    return True


def _own(source: Text, name: str, image: str, variables: Sequence[Setting], reading: Collected, style: Style) -> None:
    """Variables of an application's own: …PRODUCER_<KEY>, or KAFKA_<KEY> with a key that only producers have."""
    prefixes: dict[str, list[Setting]] = {}
    for each in variables:
        found = re.fullmatch(
            r"((?:[A-Z0-9]+_)*?PRODUCER_(?:CONFIG_|PROPERTIES_)?|(?:[A-Z0-9]+_)*?KAFKA_)([A-Z0-9_]+)", each.key
        )
        if found is None or each.key.startswith(("SPRING_", "CONNECT_", "MP_MESSAGING_")) or "CONSUMER" in each.key:
            continue
        key = relaxed(found[2]) or OWN_NAMES.get(squeezed(found[2]))
        if key is not None:
            prefixes.setdefault(found[1], []).append(_in_words(_as(each, key)))
    for prefix, own in prefixes.items():
        marks = PRODUCERS if "PRODUCER" in prefix else PRODUCERS - WEAK
        if not {each.key for each in own} & marks:
            continue
        servers = next((each for each in variables if squeezed(each.key).endswith("bootstrapservers")), None)
        given = (
            own
            if servers is None or any(each.key == "bootstrap.servers" for each in own)
            else [_as(servers, "bootstrap.servers"), *own]
        )
        topics = [each.value for each in variables if each.key in (f"{prefix}TOPIC", "KAFKA_TOPIC", "TOPIC")]
        rest = REST.search(image) is not None
        reading.producer(
            name, given, own[0].origin, framework="rest" if rest else "env", spelling=f"{prefix}{{KEY}}",
            client="java" if rest else "unknown", release=release_of(image) if rest else None,
            release_from=f"{source.path}: image {image}", topics=topics, style=style,
        )  # fmt: skip


def _as(setting: Setting, key: str) -> Setting:
    return dataclasses.replace(setting, key=key)


def _are_variables(document: Document) -> bool:
    prefixes = ("KAFKA_", "SPRING_", "CONNECT_")
    return any(each.key.isupper() and each.key.startswith(prefixes) for each in document.settings)


def _read_file(document: Document, reading: Collected) -> bool:
    read_variables(document.source, document.source.file, "", document.settings, reading, "shell")
    return True


FORMATS: Final = (
    Format(
        name="environment variables in a file",
        reads="`KAFKA_*`, `SPRING_*`, `CONNECT_*`",
        files=PROPERTIES,
        rank=230,
        claims=_are_variables,
        read=_read_file,
    ),
)
