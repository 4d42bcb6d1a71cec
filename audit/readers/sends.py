"""Where sources send, and the expressions that tell the topic: by text, in the languages that are parsed elsewhere.

| language | what is sent with |
|---|---|
| Java, Kotlin, Scala | `new ProducerRecord<>(topic, …)`, `send(topic, …)` of a KafkaTemplate, `KafkaHeaders.TOPIC` |
| Vert.x | `KafkaProducerRecord.create(topic, …)` |
| Go | `Topic:` of a TopicPartition, ProducerMessage, Message or Record |
| C# | `Produce(topic, …)`, `ProduceAsync(topic, …)` |
| Rust | `FutureRecord::to(topic)`, `BaseRecord::to(topic)` |
| JavaScript, TypeScript | `send({topic: …})` |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from audit.readers.scripts import arguments_of

MOST: Final = 50
"""Places of one source that send, of which the topics are looked for."""
LONGEST: Final = 200
JVM: Final = frozenset({"java", "kt", "scala"})
SCRIPTS: Final = frozenset({"js", "mjs", "cjs", "ts"})
RECORD: Final = re.compile(
    r"(?:(?:\bnew\s+|(?<![\w.]))ProducerRecord|\bKafkaProducerRecord\.create)(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>|\[[^\[\]()]*\])?\s*\("
)
HEADER: Final = re.compile(r"\bKafkaHeaders\.TOPIC\s*,\s*([^(),\n]+)")
TEMPLATES: Final = re.compile(
    r"\b(?:\w*KafkaTemplate|KafkaOperations)(?:<[^;=(){}]*?>)?\s+(\w+)\s*[,;=)]"
    r"|\b(\w+)\s*:\s*(?:\w*KafkaTemplate|KafkaOperations)\b"
)
"""What templates of Spring's are called in a source."""
OF_GO: Final = re.compile(
    r"\b(?:TopicPartition|ProducerMessage|Message|Record)\{(?:[^{}]|\{[^{}]*\}){0,400}?\bTopic:\s*((?:[^,\n{}()]|\([^()\n]*\)){1,200}?)\s*[,\n}]"
)
OF_DOTNET: Final = re.compile(r"\.Produce(?:Async)?\(")
OF_RUST: Final = re.compile(r"\b(?:Future|Base)Record::(?:<[^()]*>::)?to\(\s*([^()\n]{1,200}?)\s*\)")
OF_SCRIPT: Final = re.compile(r"\.send\(\s*\{(?:[^{}]|\{[^{}]*\}){0,400}?\btopic\b\s*(:\s*[^,\n{}]{1,200}?)?\s*[,\n}]")


@dataclass(frozen=True, slots=True)
class Send:
    """A place that sends, in characters of the source, and the expression of its topic; empty if that is not seen."""

    at: int
    topic: str


def sends_of(content: str, language: str) -> list[Send]:
    """Where a source sends.

    >>> sends_of('p.ProduceAsync("a", m);', "cs"), sends_of("p.send({ topic, messages })", "ts")
    ([Send(at=2, topic='"a"')], [Send(at=1, topic='topic')])
    """
    return list(islice(_sends(content, language), MOST))


def _sends(content: str, language: str) -> Iterator[Send]:
    if language in JVM:
        yield from _of_jvm(content)
    elif language == "go":
        for each in OF_GO.finditer(content):
            if not re.search(r"\bConsumer", each[0]):
                yield Send(each.start(1), each[1].strip())
    elif language == "cs":
        for each in OF_DOTNET.finditer(content):
            given, _ = arguments_of(content, each.end())
            if len(given) > 1:
                yield Send(each.end() - len(each[0]) + 1, given[0].strip())
    elif language == "rs":
        for each in OF_RUST.finditer(content):
            yield Send(each.start(), each[1])
    elif language in SCRIPTS:
        for each in OF_SCRIPT.finditer(content):
            yield Send(each.start(), (each[1] or ":topic").lstrip(": \t"))


def _of_jvm(content: str) -> Iterator[Send]:
    for each in RECORD.finditer(content):
        given, _ = arguments_of(content, each.end())
        if len(given) > 1:
            yield Send(each.start(), given[0].strip()[:LONGEST])
    for each in HEADER.finditer(content):
        yield Send(each.start(), each[1].strip())
    names = {one or other for one, other in TEMPLATES.findall(content)}
    if not names:
        return
    called = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(names))})\s*(?:!!|\?)?\s*\.\s*send\(")
    for each in called.finditer(content):
        given, _ = arguments_of(content, each.end())
        if given and re.match(r"\s*(?:new\s+)?ProducerRecord\b", given[0]):
            continue  # the record tells it
        if len(given) > 1:
            yield Send(each.start(), given[0].strip()[:LONGEST])
        elif not RECORD.search(content) and not HEADER.search(content):
            yield Send(each.start(), "")


OF_CLIENT: Final = re.compile(r"@KafkaClient\b(?:\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\))?")
TOPIC: Final = re.compile(r"@Topic\(\s*(?:value\s*=\s*)?(\"[^\"\n]*\"|[\w.]+)\s*\)")


def of_clients(content: str) -> Mapping[str, list[str]]:
    """The expressions of the topics that Micronaut's clients of a source send to, by the clients' ids.

    >>> of_clients('@KafkaClient(id = "a", acks = ALL) interface A { @Topic("t") void f(); }')
    {'a': ['"t"']}
    """
    found: dict[str, list[str]] = {}
    places = list(OF_CLIENT.finditer(content))
    for each, after in zip(places, [*places[1:], None], strict=True):
        named = re.search(r"(?:\A|\b(?:id|value)\s*=)\s*\"([\w.-]+)\"", (each[1] or "").strip())
        body = content[each.end() : after.start() if after else len(content)]
        found.setdefault(named[1] if named else "", []).extend(TOPIC.findall(body))
    return found


OF_CLIENTS: Final = re.compile(
    r"\bconfluent_kafka\b|\b(?:from|import)\s+(?:kafka|aiokafka|faststream)\b|[\"'](?:kafkajs|node-rdkafka)[\"']"
    r"|\"github\.com/(?:segmentio/kafka-go|twmb/franz-go|IBM/sarama|Shopify/sarama|confluentinc/confluent-kafka-go)"
    r"|\brdkafka::"
)
"""Where a source of Python's, Node's, Go's or Rust's takes a client of Kafka's."""
MAY_SEND: Final = re.compile(r"(?i)produc|publish|emit|writer|\bsend")
"""What one has that may send."""


def uses_of(content: str) -> bool | None:
    """Whether a source that takes a client of Kafka's may send with it; None of a source that takes none.

    >>> uses_of("from kafka import KafkaConsumer"), uses_of("from kafka import KafkaProducer"), uses_of("import os")
    (False, True, None)
    """
    return MAY_SEND.search(content) is not None if OF_CLIENTS.search(content) else None
