"""Reads a source: its producers, its topics, and whether it receives or sends.

Of two producers of a function that stand for one another, with and without TLS for instance, the first is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from audit.model import ProducerConfig
from audit.readers.collect import Collected
from audit.readers.creates import TEMPLATES, sent_by_templates, topics_of_beans, topics_of_go
from audit.readers.flink import SENDS as SQL_RUNS
from audit.readers.flink import pieces_of, placed, read_sql
from audit.readers.format import Document, Format
from audit.readers.properties import named_properties
from audit.readers.sends import uses_of
from audit.readers.source.callers import by_callers, by_lambdas, by_programs, with_options
from audit.readers.source.customized import add_customized, add_overrides
from audit.readers.source.elsewhere import (
    gather_callers,
    gather_classes,
    gather_configs,
    gather_objects,
    gather_package,
)
from audit.readers.source.following import field_told, gather
from audit.readers.source.heirs import by_subclass
from audit.readers.source.nodes import (
    DECISIVE,
    LANGUAGES,
    MAKES,
    SCRIPTS,
    TESTS,
    Made,
    Maker,
    SourceWalk,
    assigned_to,
    parser_of,
)
from audit.readers.source.outside import settled_pairs
from audit.readers.source.producers import add_producer
from audit.readers.source.selected import beside_maker, selected_pairs
from audit.readers.text import Text, Unreadable

MOST: Final = 100
"""Producers of one file that are told: each is looked up in the whole file."""


def read_source(source: Text, reading: Collected) -> bool:
    """Add the producers that a source makes; what settles whose they are is in `reading.made`."""
    language = source.file.rpartition(".")[2].lower()
    parser = parser_of(language)
    if parser is None:
        reading.ignored[f"source in {language}, which takes the extra kafka-chaos[sources]"] += 1
        return True
    try:
        tree = parser.parse(source.content.encode(errors="replace"))
        found = gather(source, language, tree.root_node)
    except (RecursionError, ValueError):
        raise Unreadable("nested too deep") from None
    if language == "go":
        gather_package(found, parser)
    elif language in ("java", "kt", "scala"):
        gather_classes(found, language, parser)
        gather_callers(found, language)
    elif language in SCRIPTS:
        gather_objects(found, language)
    elif language == "rs":
        gather_configs(found)
    add_customized(found, reading)
    before = len(reading.made)
    fields: set[str] = set()
    if len(found.makers) > MOST:
        reading.ignored[f"a producer beyond {MOST} of one file"] += len(found.makers) - MOST
    alternatives: dict[tuple[str, ...], list[Made]] = {}
    for maker in found.makers[:MOST]:
        count = len(reading.made)
        name = assigned_to(maker, found) if maker.kind == "ProducerConfig" else ""
        if maker.kind == "ProducerConfig" and _is_kafkaflows(maker, name, found):
            continue
        if maker.kind == "template":
            add_overrides(maker, found, reading)
            continue
        if not name.startswith("_") or name not in fields:  # a field of a builder's, made by whoever is first
            _add(maker, found, reading)
            if len(reading.made) == count + 1:
                _without_alternative(maker, found, alternatives, reading)
        fields.add(name)
    reading.made[before:] = _folded(reading.made[before:])
    return True


TARGET: Final = re.compile(
    r"(?:\b(return)|([\w.$]+)(?:\s*,\s*\w+)*\s*(?::\s*[\w.<>]+\s*)?(?:\?\?|:)?=)\s*(?:await\s+|&|\*)*\Z"
)
"""What is done with what is made: it is returned, or assigned to a variable or a field, of which Go has several."""
ALTERNATIVE: Final = (*DECISIVE, "request.required.acks", "message.send.max.retries", "transactional.id",
                      "max.in.flight.requests.per.connection", "max.in.flight")  # fmt: skip
"""What two producers do not differ in that stand for one another."""


def _without_alternative(
    maker: Maker, found: SourceWalk, before: dict[tuple[str, ...], list[Made]], reading: Collected
) -> None:
    """Leave out the producer that was added last, if the same function makes one before that stands in its place, with
    and without TLS for instance: both are returned, or put into one variable, and nothing that decides differs. A
    field of a class may be set by several functions.
    """
    target = TARGET.search(found.encoded[max(0, maker.start - 200) : maker.start].decode(errors="replace"))
    if target is None or not maker.scope:
        return
    last = reading.made[-1]
    alike = before.setdefault((_home(maker, target[2] or "", found), maker.kind, target[1] or target[2]), [])
    if any(_deciding(each.producer) == _deciding(last.producer) for each in alike):
        reading.made.pop()
    else:
        alike.append(last)


def _home(maker: Maker, target: str, found: SourceWalk) -> str:
    """In what there is one variable of a name: in the class of a field, or else in the function."""
    if not target.startswith("this."):
        return maker.scope
    classes = re.findall(rb"\bclass\s+(\w+)", found.encoded[: maker.start])
    return f"class {classes[-1].decode(errors='replace')}" if classes else maker.scope


def _deciding(producer: ProducerConfig) -> tuple[object, ...]:
    """What decides over a producer's records, and where they are sent."""
    given = ((key, each.value, each.known) for key in ALTERNATIVE if (each := producer.settings.get(key)) is not None)
    return (*given, producer.topics)


def _is_kafkaflows(maker: Maker, name: str, found: SourceWalk) -> bool:
    """Whether a configuration of .NET is what a producer of KafkaFlow's is made with, so that it makes none itself."""
    flows = [each for each in found.makers if each.kind == "kafkaflow"]
    return any(each.start <= maker.start < each.end or (name and name in each.names) for each in flows)


def _folded(made: Sequence[Made]) -> list[Made]:
    """Producers of a file. Producers of unknown settings are told once for each kind: the overloads of a factory."""
    kinds: set[str] = set()
    kept = []
    for one in made:
        if one.followed or one.kind not in kinds:
            kept.append(one)
        if not one.followed:
            kinds.add(one.kind)
    return kept


def _add(maker: Maker, found: SourceWalk, reading: Collected) -> None:
    """Add the producer that a maker makes; one for each caller, if these give its function what differs."""
    pairs = with_options([beside_maker(each, maker) for each in selected_pairs(maker, found)], maker, found)
    pairs = settled_pairs(pairs, maker, found)
    by_caller = by_callers(pairs, maker, found) or by_lambdas(pairs, maker, found)
    below, complete = by_subclass(pairs, maker, found)
    programs = by_programs(maker, found) if not by_caller and not below else []
    for place, own in (*by_caller, *below, *((each, pairs) for each in programs)):
        add_producer(own, maker, found, reading, place)
    if not by_caller and not complete and not programs:
        add_producer(pairs, maker, found, reading, None)


LISTENS: Final = re.compile(
    r"@Kafka(?:Listener|Handler)\b|ConsumerFactory\b|MessageListenerContainer\b|ReceiverOptions\b|\bKafkaConsumer\b"
)
"""What a source has that receives, with Spring or by itself."""
SENDS: Final = re.compile(
    r"Kafka(?:Template|Operations|Producer|Sender)\b|ProducerFactory\b|ProducerRecord\b|@SendTo\b|StreamBridge\b"
    r"|DeadLetterPublishing|@RetryableTopic\b|RetryTopicConfiguration|SenderOptions\b|ReactiveKafkaProducer"
    r"|\bKafkaStreams\b|@KafkaClient\b|@Outgoing\b|\bEmitter\b|KafkaSink\b|\bProducerSettings\b"
)
"""What one has that may send."""
TEMPLATE_OF_BOOT: Final = re.compile(r"\bKafka(?:Template|Operations)\s*<")
"""What one has that is given a template of Spring's."""
DEAD_LETTERS: Final = re.compile(
    r"\bnew\s+DeadLetterPublishingRecoverer\b|(?<!\w)DeadLetterPublishingRecoverer\(|@RetryableTopic\b"
)
"""What one has that sends what could not be received to another topic."""
PROPERTY_SOURCE: Final = re.compile(r"@PropertySource\([^()]{0,400}\)")


def _read(document: Document, reading: Collected) -> bool:
    """Read a source that is no test's: whether it receives or sends with Spring, and the producers that it makes."""
    source = document.source
    if TESTS.search(source.path):
        return True
    if source.file.endswith((".java", ".kt", ".scala")):
        _uses_of_jvm(source, reading)
    elif source.file.endswith(".cs"):
        if "Confluent.Kafka" in source.content:
            reading.uses[source.path] = "Produce" in source.content
    elif (uses := uses_of(source.content)) is not None:
        reading.uses[source.path] = uses
    if "@PropertySource" in source.content:
        reading.sources |= named_properties(source, PROPERTY_SOURCE.findall(source.content))
    if source.file.endswith((".java", ".kt", ".scala")) and SQL_RUNS.search(source.content):
        read_sql(placed(source, pieces_of(source.content)), reading)
    if source.file.endswith((".java", ".kt")) and re.search(r"\bTopicBuilder\b|\bNewTopic\(", source.content):
        _make_topics(source, reading)
    if source.file.endswith(".go") and "TopicSpecification{" in source.content:
        _make_topics(source, reading)
    return read_source(source, reading) if MAKES.search(source.content) else True


def _uses_of_jvm(source: Text, reading: Collected) -> None:
    """Note whether a source of Java's, Kotlin's or Scala's receives or sends, and whether with Spring's templates."""
    sends = SENDS.search(source.content) is not None
    if not sends and LISTENS.search(source.content) is None:
        return
    reading.uses[source.path] = sends
    if TEMPLATE_OF_BOOT.search(source.content) and TEMPLATES.search(source.content):
        reading.templates |= {source.path}
        reading.sent[source.path] = sent_by_templates(source.content)
    elif DEAD_LETTERS.search(source.content):
        reading.templates |= {source.path}


def _make_topics(source: Text, reading: Collected) -> None:
    """Add the topics that a program of Java's, Kotlin's or Go's makes."""
    language = source.file.rpartition(".")[2]
    parser = parser_of(language)
    if parser is None:
        return
    tree = parser.parse(source.content.encode(errors="replace"))
    try:
        found = gather(source, language, tree.root_node)
    except RecursionError:
        return

    def constant(written: str) -> str | None:
        text = re.fullmatch(r"\"([^\"]*)\"|(-?\d+)", written)
        if text is not None:
            return text[1] if text[1] is not None else text[2]
        value = found.constants.get(written.rpartition(".")[2])
        if value is not None:
            return value.text if value.known else None
        return field_told(written, found, [])

    reading.beans += topics_of_go(source, constant) if language == "go" else topics_of_beans(source, constant)


FORMATS: Final = (
    Format(
        name="Java, Kotlin, Scala, Go, C#, JavaScript, TypeScript, Rust",
        reads="the settings of the producers that a program makes. JVM: kafka-clients, Spring's factories and "
        "templates, Kafka Streams, Pekko's and Akka's ProducerSettings, Flink's, Spark's, Beam's and Storm's sinks, "
        "Vert.x, Micronaut. Go: confluent's, sarama, Watermill, Go CDK, franz-go, kafka-go. .NET: Confluent.Kafka, "
        "Aspire, KafkaFlow, MassTransit, CAP. Others: KafkaJS (NestJS and node-config too), node-rdkafka, kafka-node, "
        "@platformatic/kafka, confluent's JavaScript, rdkafka",
        files=tuple(f"*.{end}" for end in LANGUAGES if end not in ("kts",)),
        rank=25,
        whole=True,
        speaks=("twmb/franz-go", "lovoo/goka", "NewTopic"),
        claims=lambda document: document.file.rpartition(".")[2] in LANGUAGES,
        read=_read,
    ),
)
