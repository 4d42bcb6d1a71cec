"""Pipelines and runtimes that send to Kafka, each in words of its own: Flume, NiFi, Grafana Alloy, collectd, Dapr, Argo
Events, APISIX, osquery.

| program | client | where nothing is written |
|---|---|---|
| Flume, `KafkaSink` and `KafkaChannel` | Java | acks 1 of the sink, all of the channel |
| NiFi, `PublishKafka…` | Java | a flow has every property |
| Grafana Alloy, `otelcol.exporter.kafka` | sarama | `producer { required_acks }` 1 |
| collectd, `write_kafka` | librdkafka | its own |
| Dapr, `pubsub.kafka` and `bindings.kafka` | sarama | acks all and 5 retries, which nothing changes |
| Argo Events, a sensor's `kafka` | sarama | requiredAcks -1; 0 counts as nothing written |
| Apache APISIX, `kafka-logger` | lua-resty-kafka | required_acks 1 |
| osquery, `kafka_producer` | librdkafka | logger_kafka_acks all |

By their own sources and documents of 2024. Sources of these, which read from Kafka, are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from audit.model import Setting
from audit.readers.agents import closing
from audit.readers.collect import Collected, preset
from audit.readers.format import JSON, PROPERTIES, YAML, Document, Format
from audit.readers.names import latest, librdkafka_keys, producer_keys, under
from audit.readers.text import Text
from audit.readers.tree import Node, Table, flatten, tables

# Flume

FLUME: Final = re.compile(r"(\w+\.(sinks|channels)\.\w+)\.type")
OF_FLUME: Final[Mapping[str, tuple[str, str]]] = {
    "sinks": ("KafkaSink", "1"),
    "channels": ("KafkaChannel", "all"),
}
"""What is sent with, and its acks where nothing is written."""
FLUME_SERVERS: Final = ("kafka.bootstrap.servers", "brokerList")
FLUME_TOPIC: Final = ("kafka.topic", "topic")


def _flume(document: Document) -> Iterator[tuple[str, str, Setting]]:
    """The parts of Flume's agents that send to Kafka: (what is before their keys, its acks by default, its type)."""
    for each in document.settings:
        if found := FLUME.fullmatch(each.key):
            name, acks = OF_FLUME[found[2]]
            if each.value.rpartition(".")[2] == name:
                yield found[1], acks, each


def _read_flume(document: Document, reading: Collected) -> bool:
    for prefix, acks, kind in _flume(document):
        given = under(document.settings, f"{prefix}.")
        own = under(given, "kafka.producer.")
        own += [_named(each, "bootstrap.servers") for each in given if each.key in FLUME_SERVERS]
        own += [_named(each, "acks") for each in given if each.key == "requiredAcks"]
        reading.producer(
            prefix,
            own,
            own[0].origin if own else kind.origin,
            client="java",
            framework="flume",
            spelling=f"{prefix}.kafka.producer.{{key}}",
            presets=[preset("acks", acks, f"Flume's default of a {kind.value.rpartition('.')[2]}", kind.origin)],
            topics=[each.value for each in given if each.key in FLUME_TOPIC and "%{" not in each.value],
            style="any",
        )
    return True


def _named(setting: Setting, key: str) -> Setting:
    return Setting(key, setting.value, setting.origin, written=setting.key)


# NiFi

PUBLISHES: Final = re.compile(r"org\.apache\.nifi\.(?:\w+\.)*PublishKafka\w*")
NIFI_TOPIC: Final = ("topic", "Topic Name")


def _publishers(tree: Node) -> Iterator[Table]:
    """The processors of a flow that publish, wherever its groups have them."""
    return tables(
        tree, lambda _, each: bool(PUBLISHES.fullmatch(each.text("type")) and each.table("properties").items)
    )


def _read_nifi(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    source = document.source
    for each in _publishers(document.tree):
        given = flatten(each.table("properties"), source)
        own = [one for one in given if one.key in producer_keys()]
        reading.producer(
            each.text("name") or each.text("type").rpartition(".")[2],
            own,
            own[0].origin if own else source.origin(each.line),
            client="java",
            framework="nifi",
            topics=[one.value for one in given if one.key in NIFI_TOPIC and "${" not in one.value],
            style="any",
        )
    return True


# Grafana Alloy

EXPORTER: Final = re.compile(r'(?m)^[ \t]*otelcol\.exporter\.kafka[ \t]+"(\w+)"[ \t]*\{')
PRODUCER_BLOCK: Final = re.compile(r"(?m)^[ \t]*producer[ \t]*\{")
ATTRIBUTE: Final = re.compile(r"(?m)^[ \t]*(\w+)[ \t]*=[ \t]*(\[[^\]]*\]|\"[^\"\n]*\"|[^\n/]+?)[ \t]*(?://[^\n]*)?$")
LITERAL: Final = re.compile(r"-?\d+|true|false|\"[^\"]*\"|\[[^\]]*\]")


def _attributes(source: Text, start: int) -> dict[str, Setting]:
    """The attributes of a block that begins at a place; what is an expression is unknown."""
    text = source.content[start : closing(source.content, start)]
    found = {}
    for each in ATTRIBUTE.finditer(text):
        known = LITERAL.fullmatch(each[2]) is not None
        value = re.sub(r"[\s\"\[\]]", "", each[2]) if known else "(an expression)"
        found[each[1]] = Setting(each[1], value, source.origin(source.line_at(start + each.start(1))), known=known)
    return found


def _read_alloy(document: Document, reading: Collected) -> bool:
    source = document.source
    for block in EXPORTER.finditer(source.content):
        outer = _attributes(source, block.end())
        inside = PRODUCER_BLOCK.search(source.content, block.end(), closing(source.content, block.end()))
        given = _attributes(source, inside.end()) if inside else {}
        own = [_named(outer["brokers"], "bootstrap.servers")] if "brokers" in outer else []
        if acks := given.get("required_acks"):
            value = "all" if acks.value == "-1" else acks.value
            own.append(Setting("acks", value, acks.origin, written=acks.key, known=acks.known))
        origin = source.origin(source.line_at(block.start()))
        reading.producer(
            block[1],
            own,
            origin,
            client="sarama",
            framework="alloy",
            presets=[preset("acks", "1", "the Collector's default", origin)],
            topics=[outer["topic"].value] if "topic" in outer and outer["topic"].known else [],
            style="none",
        )
    return True


# collectd

WRITE_KAFKA: Final = re.compile(r"(?ims)^[ \t]*<Plugin[ \t]+\"?write_kafka\"?>(.*?)^[ \t]*</Plugin>")
TOPIC: Final = re.compile(r"(?ims)^[ \t]*<Topic[ \t]+\"([^\"\n]*)\">(.*?)^[ \t]*</Topic>")
PROPERTY: Final = re.compile(r"(?im)^[ \t]*Property[ \t]+\"([\w.]+)\"[ \t]+\"?([^\"\n]*?)\"?[ \t]*$")


def _properties(source: Text, text: str, start: int) -> list[Setting]:
    return [
        Setting(each[1], each[2], source.origin(source.line_at(start + each.start(1))))
        for each in PROPERTY.finditer(text)
        if each[1] in librdkafka_keys()
    ]


def _read_collectd(document: Document, reading: Collected) -> bool:
    """Add a producer for each topic: its properties are its own, above those of the plugin."""
    source = document.source
    for block in WRITE_KAFKA.finditer(source.content):
        outside = TOPIC.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), block[1])
        shared = _properties(source, outside, block.start(1))
        for topic in TOPIC.finditer(block[1]):
            start = block.start(1) + topic.start()
            own = shared + _properties(source, topic[2], block.start(1) + topic.start(2))
            reading.producer(
                f"write_kafka {topic[1]}",
                own,
                source.origin(source.line_at(start)),
                client="librdkafka",
                framework="collectd",
                topics=[topic[1]],
                style="none",
            )
    return True


# Resources of Kubernetes: Dapr, Argo Events

DAPR: Final = "dapr.io/"
OF_DAPR: Final = re.compile(r"(?:pubsub|bindings)\.kafka")
DAPRS: Final = "Dapr, getSyncProducer of its Kafka component"


def read_runtime(source: Text, document: Table, reading: Collected) -> bool:
    """Add what a component of Dapr's, or a sensor of Argo Events', sends with; whether it is one."""
    kind, spec = document.text("kind"), document.table("spec")
    name, origin = document.text("metadata", "name"), source.origin(document.line)
    if kind == "Component" and document.text("apiVersion").startswith(DAPR):
        if OF_DAPR.fullmatch(spec.text("type")):
            servers = [each for each in spec.tables("metadata") if each.text("name") == "brokers"]
            own = [Setting("bootstrap.servers", each.text("value"), source.origin(each.line)) for each in servers]
            passed = [preset("acks", "all", DAPRS, origin), preset("retries", "5", DAPRS, origin)]
            reading.producer(name, own, origin, client="sarama", framework="dapr", presets=passed, style="any")
        return True
    if kind == "Sensor" and document.text("apiVersion").startswith("argoproj.io/"):
        for each in spec.tables("triggers"):
            if (table := each.table("template", "kafka")).items:
                _trigger(source, each.text("template", "name") or name, table, reading)
        return True
    return False


def _trigger(source: Text, name: str, table: Table, reading: Collected) -> None:
    given = latest(flatten(table, source))
    origin = source.origin(table.line)
    own = [_named(given["url"], "bootstrap.servers")] if "url" in given else []
    if (acks := given.get("requiredAcks")) is not None and acks.value not in ("0", "-1"):
        own.append(_named(acks, "acks"))
    reading.producer(
        name,
        own,
        origin,
        client="sarama",
        framework="argo-events",
        presets=[preset("acks", "all", "Argo Events' default", origin)],
        topics=[given["topic"].value] if "topic" in given else [],
        style="none",
    )


# APISIX


def _loggers(tree: Node) -> Iterator[Table]:
    """What is said of the plugin `kafka-logger`, wherever routes, services and rules have it."""
    return tables(tree, lambda name, each: name == "kafka-logger" and bool(each.names() & {"brokers", "broker_list"}))


def _read_apisix(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    source = document.source
    for each in _loggers(document.tree):
        given = [one for one in flatten(each, source) if one.key == "required_acks"]
        own = [_named(one, "acks") for one in given]
        topic = each.text("kafka_topic")
        reading.producer(
            "kafka-logger", own, source.origin(each.line), client="lua-resty-kafka", framework="apisix",
            topics=[topic] if "$" not in topic else [], style="any",
        )  # fmt: skip
    return True


# osquery

FLAGS: Final = 200
"""How many flags of one file are looked at."""
FLAG: Final = re.compile(r"(?m)^[ \t]*--(logger_\w+)(?:=|[ \t]+)(\S+)")
OF_OSQUERY: Final[Mapping[str, str]] = {"logger_kafka_acks": "acks", "logger_kafka_brokers": "bootstrap.servers"}


def _read_osquery(document: Document, reading: Collected) -> bool:
    source = document.source
    given = [
        Setting(each[1], each[2], source.origin(source.line_at(each.start())))
        for each in islice(FLAG.finditer(source.content), FLAGS)
    ]
    by_key = latest(given)
    if "kafka_producer" not in by_key["logger_plugin"].value:
        return False
    own = [_named(each, OF_OSQUERY[each.key]) for each in given if each.key in OF_OSQUERY]
    origin = by_key["logger_plugin"].origin
    topics = [each.value for each in given if each.key == "logger_kafka_topic"]
    reading.producer(
        "osquery", own, origin, client="librdkafka", framework="osquery", topics=topics,
        presets=[preset("acks", "all", "osquery's default", origin)], style="none",
    )  # fmt: skip
    return True


FORMATS: Final = (
    Format(
        name="Grafana Alloy",
        reads="`otelcol.exporter.kafka`",
        files=("*.alloy", "*.river"),
        rank=47,
        whole=True,
        claims=lambda document: document.file.endswith((".alloy", ".river")),
        read=_read_alloy,
    ),
    Format(
        name="collectd",
        reads="`<Plugin write_kafka>`: `Property`, each `<Topic>`",
        files=("*.conf",),
        rank=48,
        whole=True,
        claims=lambda document: WRITE_KAFKA.search(document.source.content) is not None,
        read=_read_collectd,
    ),
    Format(
        name="NiFi",
        reads="processors `PublishKafka…` of a flow",
        files=JSON,
        rank=125,
        claims=lambda document: (
            document.tree is not None
            and "PublishKafka" in document.source.content
            and any(True for _ in _publishers(document.tree))
        ),
        read=_read_nifi,
    ),
    Format(
        name="Flume",
        reads="`kafka.producer.*` of sinks and channels of Kafka's",
        files=PROPERTIES,
        rank=195,
        claims=lambda document: any(True for _ in _flume(document)),
        read=_read_flume,
    ),
    Format(
        name="Apache APISIX",
        reads="the plugin `kafka-logger` of routes, services and rules",
        files=(*YAML, *JSON),
        rank=126,
        speaks=("kafka-logger",),
        claims=lambda document: document.tree is not None and any(True for _ in _loggers(document.tree)),
        read=_read_apisix,
    ),
    Format(
        name="osquery",
        reads="`--logger_kafka_…` of a file of flags",
        files=("*.flags",),
        rank=46,
        whole=True,
        claims=lambda document: "--logger_plugin" in document.source.content,
        read=_read_osquery,
    ),
)
