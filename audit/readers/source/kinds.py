"""What a call or a creation makes: the *kind* of a maker, by the libraries that its source speaks of.

A class or function of the program's that has a library's name makes nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from audit.readers import calls
from audit.readers.source.nodes import (
    CONFLUENTS,
    CREATES,
    PACKAGES,
    PLATFORMATIC,
    Node,
    SourceWalk,
    given_to,
    method_of,
    packages_of,
    string_of,
)
from audit.readers.source.program import class_file, imported_content
from audit.readers.text import Text

CHAINED: Final = frozenset(
    {
        "ProducerSettings",
        "KafkaSink",
        "KafkaBolt",
        "beam",
        "rdkafka",
        "spark",
        "vert.x",
        "fs2",
        "zio",
        "kafka-rust",
    }
)
"""Makers that are the first of a chain of calls, in which settings are."""
OF_NODE: Final = frozenset({"Producer", "HighLevelProducer"})
OF_RUST: Final = ("rdkafka", "arroyo", "handed")
RDKAFKA: Final = frozenset({"FutureProducer", "BaseProducer", "ThreadedProducer"})
OF_LAMBDAS: Final = frozenset({"kafkaflow", "cap", "aspire", "wolverine"})
"""Makers of .NET's that are told all in their arguments."""
PRODUCES: Final = re.compile(r"\bProduce|RequiredAcks|DefaultProduceTopic|RecordPartitioner")
"""What is said or done of producing with franz-go."""


def kind_of(found: SourceWalk, callee: str, name: str, node: Node) -> str:
    """What a call or creation makes; empty if no producer."""
    match found.language:
        case "java" | "kt" | "kts" | "scala":
            return _kind_of_jvm(found, callee, name, node)
        case "rs":
            return _kind_of_rust(found, callee, name, node)
        case "cs":
            return _kind_of_dotnet(found, callee, name, node)
        case "go":
            return _kind_of_go(found.source.content, callee, name, node)
        case _:
            return _kind_of_javascript(found, callee, name, node)


STREAMS: Final = re.compile(r"producerPrefix|ProducerConfig|APPLICATION_ID_CONFIG|\"application\.id\"")
"""What a file that makes a KafkaStreams has if it is what configures it."""
IMPORTED: Final = re.compile(
    r"import\s+org\.apache\.kafka\.clients\.producer\."
    r"(?:KafkaProducer\b|\*|_(?!\w)|\{[^{}]*(?:\bKafkaProducer\b|\b_|\*)[^{}]*\})"
)
"""Whether a file's KafkaProducer is Kafka's."""
OF_AKKA: Final = re.compile(
    r"\b(?:akka|pekko)\.kafka\.(?:\w+\.)*(?:ProducerSettings\b|\{[^{}]*\bProducerSettings\b|_|\*)"
)
"""Whether a file's ProducerSettings are Akka's or Pekko's."""
SUPPLIES: Final = re.compile(r"\b(?:implements|extends|:)\s[^{]{0,200}\b\w*KafkaClientSupplier\b")


@lru_cache(maxsize=8)
def _has(pattern: re.Pattern[str], content: str) -> bool:
    """Whether a source has something: asked of each call in it."""
    return pattern.search(content) is not None


def _kind_of_jvm(found: SourceWalk, callee: str, name: str, node: Node) -> str:
    content = found.source.content
    makes = node.type in CREATES or found.language in ("kt", "kts", "scala")
    # Camel, Pulsar and others have a KafkaProducer of their own.
    kafkas = name != "KafkaProducer" or _has(IMPORTED, content) or "." in callee
    if name == "KafkaProducer" and _has(SUPPLIES, content):
        return ""  # Kafka Streams' producer, which it is asked for
    if found.language in ("kt", "kts") and _is_own_function(name, len(given_to(node)), content):
        return ""
    if name == "DefaultKafkaProducerFactory" and _is_programs_class(found.source, name, found.language):
        return ""
    if name in ("KafkaProducer", "DefaultKafkaProducerFactory") and makes and kafkas:
        return name
    if name == "KafkaTemplate" and makes and len(given_to(node)) > 1:
        return "template"
    if name == "FlinkKafkaProducer" and makes:
        return name
    if name == "KafkaBolt" and makes and "org.apache.storm" in content:
        return name
    if name == "KafkaStreams" and makes and "org.apache.kafka.streams" in content:
        return name if STREAMS.search(content) else ""
    return _kind_of_call(found, callee, name, node)


def _is_programs_class(source: Text, name: str, language: str) -> bool:
    """Whether a class that has a library's name is one of the program's: of this file, or beside it."""
    own = re.search(rf"\bclass\s+{name}\b", source.content) is not None
    return own or ("springframework" not in source.content and class_file(source, name, language) is not None)


def _is_own_function(name: str, given: int, content: str) -> bool:
    """Whether a call is of a function of the file's own that has a class's name: `fun KafkaProducer(s: Settings)`."""
    found = re.finditer(rf"\bfun\s+(?:<[^(){{}}]*>\s*)?{re.escape(name)}\s*\(([^()]*)\)", content)
    return any(len(re.findall(r"\w\s*:", each[1])) == given for each in found)


def _kind_of_rust(found: SourceWalk, callee: str, name: str, node: Node) -> str:
    """What a call makes of rdkafka's or of arroyo's; `handed` if its configuration is made in another file. One that
    begins with a function of another file's, which returns it, is a chain like any other.
    """
    content = found.source.content
    if "kafka::producer" in content and re.search(r"(?:^|::)Producer::from_(?:hosts|client)$", callee):
        return "kafka-rust"
    if callee.endswith("KafkaConfig::new_producer_config"):
        return "arroyo" if re.search(r"\b(?:\w+_)?arroyo::", content) else ""
    if "rdkafka" not in content or not any(each in content for each in RDKAFKA):
        return ""
    if callee.endswith("ClientConfig::new"):
        return "rdkafka"
    if "ClientConfig::new" in content:
        return ""
    if name in ("create", "create_with_context") and re.fullmatch(r"\w+\.\w+", callee) is not None:
        return "handed"
    chained = node.parent is not None and node.parent.type == "field_expression"
    return "rdkafka" if chained and returned_config(found.source, callee) is not None else ""


OF_CRATE: Final = re.compile(r"(?:\w+::)*([a-z]\w*)")
RETURNS_CONFIG: Final = r"\bfn\s+{}\s*\([^{{}};]*\)\s*->\s*(?:\w+::)*ClientConfig\b"


def returned_config(source: Text, callee: str) -> tuple[Text, str] | None:
    """The file of the program, and the name, of a function of Rust's that returns a ClientConfig, if that makes no
    producer itself.
    """
    named = OF_CRATE.fullmatch(callee)
    if named is None:
        return None
    defines = re.compile(RETURNS_CONFIG.format(named[1]))
    for text in calls.sources_of(calls.root_of(source.path), "rs"):
        if text.path != source.path and defines.search(text.content):
            return None if any(each in text.content for each in RDKAFKA) else (text, named[1])
    return None


NEW_CONFIG: Final = re.compile(
    r"\bnew\s+(?:\w+\.)*ProducerConfig\b|\bProducerConfig\??\s+\w+\s*(?:\{[^{}]*\}\s*)?=\s*new\b"
)
"""Where a source makes a configuration of a .NET producer."""


def _kind_of_dotnet(found: SourceWalk, callee: str, name: str, node: Node) -> str:
    """A ProducerConfig, or the producers that a rider of MassTransit's makes, of which the first is told."""
    content = found.source.content
    if name == "ProducerConfig" and node.type in CREATES and "Confluent.Kafka" in content:
        return name
    if name == "ProducerBuilder" and node.type in CREATES and "Confluent.Kafka" in content:
        return "" if NEW_CONFIG.search(content) else "handed-dotnet"
    method = method_of(node)
    if "KafkaFlow" in content and method == "AddProducer":
        return "kafkaflow"
    if "Wolverine" in content and method == "ConfigureProducers":
        return "wolverine"
    if "DotNetCore.CAP" in content and method == "UseKafka":
        return "cap"
    if "Confluent.Kafka" in content and method == "AddKafkaProducer":
        return "aspire"
    rides = name == "AddProducer" and "." in callee and "MassTransit" in content and "UsingKafka" in content
    first = rides and not any(each.kind == "masstransit" for each in found.makers)
    return "masstransit" if first else ""


WATERMILL: Final = re.compile(r"(?m)^[ \t]*(?:import[ \t]+)?(\w*)[ \t]*\"github\.com/ThreeDotsLabs/watermill-kafka/")
"""How a file imports Watermill's publishers, and the name that it has for them, if it is its own."""


WRITERS: Final = ("Writer", "WriterConfig")
IMPORT_OF_GO: Final = r"(?m)(?:^|[(;])[ \t]*(?:import[ \t]+)?(?:([\w.]+)[ \t]+)?\"github\.com/{}(?:/v\d+)?(?:/kafka)?\""
"""How a file of Go's imports a package, and the name that it has for it, if it is its own."""


def _is_of_package(callee: str, package: str, content: str) -> bool:
    """Whether what is called is of a package of Go's that is called kafka, by the name that the file has for it: a
    package of the program's own may have functions of the same names.
    """
    names = {each or "kafka" for each in re.findall(IMPORT_OF_GO.format(package), content)}
    before = callee.rpartition(".")[0] or "."
    return before in names


def _kind_of_go(content: str, callee: str, name: str, node: Node) -> str:
    if re.fullmatch(r"sarama\.New(?:Sync|Async)Producer(?:FromClient)?", callee):
        return "sarama"
    if name == "NewPublisher" and callee.partition(".")[0] in {each or "kafka" for each in WATERMILL.findall(content)}:
        return "watermill"
    writes = name in WRITERS and node.type == "composite_literal"
    if "segmentio/kafka-go" in content and writes and _is_of_package(callee, "segmentio/kafka-go", content):
        return "kafka-go" if name == "Writer" else "kafka-go-config"
    if callee == "kgo.NewClient" and PRODUCES.search(content):
        return "franz-go"
    if callee == "goka.NewEmitter":
        return "goka"
    if callee == "kafkapubsub.OpenTopic":
        return "gocloud"
    makes = name == "NewProducer" and _is_of_package(callee, "confluentinc/confluent-kafka-go", content)
    return "confluent" if makes else ""


def _kind_of_javascript(found: SourceWalk, callee: str, name: str, node: Node) -> str:
    packages = packages_of(found.source.content)
    called = name == "producer" and node.type == "call_expression" and "." in callee
    if CONFLUENTS in packages and not (node.type == "new_expression" and name in OF_NODE):
        return "confluent-javascript" if called else ""
    if called:
        if "kafkajs" in packages:
            return "kafkajs"
        imported = imported_content(found.source, callee.partition(".")[0])
        if "kafkajs" in imported or CONFLUENTS in imported:
            return "kafkajs" if "kafkajs" in imported else "confluent-javascript"
    if "node-rdkafka" in packages and callee.endswith("Producer.createWriteStream"):
        return "node-rdkafka"
    if node.type != "new_expression" or name not in OF_NODE:
        return ""
    if _is_class_of_scripts(found.source, callee.partition(".")[0]):
        return ""
    kinds = {each: each for each in (PLATFORMATIC, "node-rdkafka", "kafka-node")} | {CONFLUENTS: "node-rdkafka"}
    return next((kind for package, kind in kinds.items() if package in packages), "")


def _is_class_of_scripts(source: Text, name: str) -> bool:
    """Whether a script takes a class from a file of its own program, and no library's through it."""
    where = re.search(
        rf"\b{re.escape(name)}\b[^;\n=]{{0,200}}(?:=\s*require\(\s*|\bfrom\s+)[\"'](\.[\w./-]*)[\"']", source.content
    )
    if where is None:
        return False
    module = imported_content(source, name)
    return not any(each in module for each in PACKAGES) or re.search(rf"\bclass\s+{name}\b", module) is not None


def _kind_of_call(found: SourceWalk, callee: str, name: str, node: Node) -> str:
    """What a call makes by itself, without `new`: a builder, a factory, a sink of Spark's."""
    content = found.source.content
    if callee.endswith("SenderOptions.create"):
        return "SenderOptions"
    if re.search(r"\bKafkaIO\.write(?:Records)?$", callee) and "org.apache.beam" in content:
        return "beam"
    if re.search(r"\bKafkaSink(?:\.\w+)?\.builder$", callee) and "org.apache.flink" in content:
        return "KafkaSink"
    if re.search(r"(?:^|\.)ProducerSettings(?:\.(?:create|apply))?$", callee):
        if "fs2.kafka" in content or "zio.kafka" in content:
            return "fs2" if "fs2.kafka" in content else "zio"
        return "ProducerSettings" if _has(OF_AKKA, content) else ""
    if re.search(r"\bKafka(?:Producer|WriteStream)\.create(?:Shared)?$", callee) and "io.vertx" in content:
        return "vert.x" if "package io.vertx.kafka" not in content else ""  # not of its own overloads
    written = re.search(r"\.write(?:Stream)?(?:\(\))?(?:\s*\.|$)", callee) is not None
    given = given_to(node) if name == "format" and written and "org.apache.spark" in content else []
    return "spark" if given and string_of(given[0]) == "kafka" else ""
