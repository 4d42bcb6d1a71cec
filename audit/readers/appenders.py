"""Producers of logging: Log4j 2's and Logback's Kafka appenders (XML), Log4j 1's (.properties), and rsyslog's omkafka.

| program | client | what is written |
|---|---|---|
| Log4j 2, `<Kafka topic="…">` | Java | `<Property name="acks">0</Property>`, or the attribute `value` |
| Logback, logback-kafka-appender | Java | `<producerConfig>acks=0</producerConfig>` |
| Log4j 2 as .properties | Java | `appender.K.property.P.name=acks`, `appender.K.property.P.value=0` |
| Log4j 1, KafkaLog4jAppender | Java | `requiredNumAcks`, `retries`, `topic` of the appender |
| rsyslog, omkafka | librdkafka | `confParam=["acks=1"]` |

By their own source and documents. XML is searched as text, for its lines, and because a foreign document type is not to
be followed. What is commented out is blanked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from audit.model import Client, Setting
from audit.readers.collect import Collected
from audit.readers.format import PROPERTIES, Document, Format
from audit.readers.names import producer_keys, under
from audit.readers.text import Text

LOG4J2: Final = re.compile(r"<Kafka\b([^<>]*[^<>/])>(.*?)</Kafka>", re.DOTALL)
PROPERTY: Final = re.compile(r"<Property\s+name=\"([\w.]+)\"(?:\s+value=\"([^\"]*)\"\s*/?>|\s*>([^<]*)<)")
LOGBACK: Final = re.compile(r"<appender\b[^<>]*\bclass=\"[\w.]*\bKafkaAppender\"[^<>]*>(.*?)</appender>", re.DOTALL)
CONFIG: Final = re.compile(r"<producerConfig>\s*([\w.]+)\s*=\s*([^<]*?)\s*</producerConfig>")
TOPIC: Final = re.compile(r"<topic>\s*([\w.-]+)\s*</topic>|\btopic=\"([\w.-]+)\"")
XML_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
OMKAFKA: Final = re.compile(
    r"action\s*\(((?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*?\btype=\"omkafka\"(?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*)\)"
)
PARAMETER: Final = re.compile(
    r"\bconfParam\s*=\s*\[((?:[^\]\"]|\"[^\"]*\")*)\]|\bconfParam\s*=\s*(\"[^\"]*\")", re.IGNORECASE
)
PAIR: Final = re.compile(r"\"([\w.]+)=([^\"]*)\"")
LOG4J1: Final = re.compile(r"(log4j\.appender\.[\w-]+)")
OF_LOG4J1: Final = {
    "requiredNumAcks": "acks",
    "brokerList": "bootstrap.servers",
    "compressionType": "compression.type",
    "retries": "retries",
    "deliveryTimeoutMs": "delivery.timeout.ms",
    "lingerMs": "linger.ms",
    "batchSize": "batch.size",
}


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _add(source: Text, at: int, settings: list[Setting], topic: str, reading: Collected, client: Client) -> None:
    origin = source.origin(source.line_at(at))
    own = [each for each in settings if each.key in producer_keys()]
    topics = [topic] if topic else []
    reading.producer(source.file, own, origin, client=client, topics=topics, style="any", framework="source")


def _topic(*texts: str) -> str:
    found = next((found for text in texts if (found := TOPIC.search(text))), None)
    return (found[1] or found[2]) if found else ""


def _xml(source: Text) -> Iterator[tuple[int, list[Setting], str]]:
    """The appenders of a file of Log4j 2 or Logback: where, what is set, and the topic."""
    text = _blank(XML_COMMENT, source.content)
    for each in LOG4J2.finditer(text):
        pairs = [
            (one[1], one[2] if one[2] is not None else one[3], each.start(2) + one.start())
            for one in PROPERTY.finditer(each[2])
        ]
        yield each.start(), _settings(source, pairs), _topic(each[1])
    for each in LOGBACK.finditer(text):
        pairs = [(one[1], one[2], each.start(1) + one.start()) for one in CONFIG.finditer(each[1])]
        yield each.start(), _settings(source, pairs), _topic(each[1])


def _settings(source: Text, pairs: list[tuple[str, str, int]]) -> list[Setting]:
    return [Setting(key, value.strip(), source.origin(source.line_at(at))) for key, value, at in pairs]


def _read_xml(document: Document, reading: Collected) -> bool:
    for at, settings, topic in _xml(document.source):
        if any(each.key == "bootstrap.servers" for each in settings):
            _add(document.source, at, settings, topic, reading, "java")
    return True


def _read_rsyslog(document: Document, reading: Collected) -> bool:
    source = document.source
    for each in OMKAFKA.finditer(_blank(re.compile(r"(?m)^[ \t]*#.*$"), source.content)):
        pairs = [
            (one[1], one[2], each.start(1) + found.start() + 1)
            for found in PARAMETER.finditer(each[1])
            for one in PAIR.finditer(found[1] or found[2])
        ]
        brokers = re.search(r"\bbroker=\[([^\]]*)\]", each[1])
        if brokers:
            pairs.append(("bootstrap.servers", re.sub(r"[\s\"]", "", brokers[1]), each.start(1) + brokers.start()))
        _add(source, each.start(), _settings(source, pairs), _topic(each[1]), reading, "librdkafka")
    return True


def _read_log4j1(document: Document, reading: Collected) -> bool:
    found = False
    for each in document.settings:
        if LOG4J1.fullmatch(each.key) and each.value.endswith("KafkaLog4jAppender"):
            given = under(document.settings, f"{each.key}.")
            own = [
                Setting(OF_LOG4J1[one.key], one.value, one.origin, written=one.key)
                for one in given
                if one.key in OF_LOG4J1
            ]
            topics = [one.value for one in given if one.key == "topic"]
            reading.producer(
                each.key.removeprefix("log4j.appender."), own, each.origin, client="java", topics=topics,
                style="any", framework="source",
            )  # fmt: skip
            found = True
    return found


LOG4J2_TYPE: Final = re.compile(r"appender\.([\w-]+)\.type")


def _kafka_appenders(document: Document) -> Iterator[str]:
    """The Kafka appenders of a log4j2.properties, by their names in it."""
    for each in document.settings:
        if (found := LOG4J2_TYPE.fullmatch(each.key)) and each.value == "Kafka":
            yield found[1]


def _read_log4j2(document: Document, reading: Collected) -> bool:
    """Add the appenders of a log4j2.properties: a property has its name and its value in two lines."""
    for name in _kafka_appenders(document):
        given = under(document.settings, f"appender.{name}.")
        by_key = {each.key: each for each in given}
        own = [
            Setting(each.value, value.value, value.origin)
            for each in given
            if re.fullmatch(r"property\.[\w-]+\.name", each.key)
            and (value := by_key.get(each.key.removesuffix("name") + "value")) is not None
            and each.value in producer_keys()
        ]
        topics = [each.value for each in given if each.key == "topic"]
        reading.producer(
            name, own, by_key["type"].origin, client="java", topics=topics, style="any", framework="source"
        )
    return True


FORMATS: Final = (
    Format(
        name="Log4j 2, as .properties",
        reads="Kafka appenders: `appender.NAME.property.…`, the topic",
        files=PROPERTIES,
        rank=188,
        claims=lambda document: any(True for _ in _kafka_appenders(document)),
        read=_read_log4j2,
    ),
    Format(
        name="Log4j 2 and Logback",
        reads="their Kafka appenders: `<Property name=…>`, `<producerConfig>`, the topic",
        files=("log4j2*.xml", "log4j2.xml", "logback*.xml", "logback.xml"),
        rank=58,
        whole=True,
        claims=lambda document: document.file.startswith(("log4j2", "logback")) and document.file.endswith(".xml"),
        read=_read_xml,
    ),
    Format(
        name="rsyslog",
        reads='`action(type="omkafka" …)`: `confParam`, the topic',
        files=("*.conf",),
        rank=56,
        whole=True,
        claims=lambda document: 'type="omkafka"' in document.source.content,
        read=_read_rsyslog,
    ),
    Format(
        name="Log4j 1",
        reads="KafkaLog4jAppender of a log4j.properties",
        files=PROPERTIES,
        rank=190,
        claims=lambda document: any(each.value.endswith("KafkaLog4jAppender") for each in document.settings),
        read=_read_log4j1,
    ),
)
