"""A producer as the audit knows it, of a maker and its settings: its client, its name, and what a library passes by
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from audit.model import Client, Setting
from audit.readers.collect import Collected
from audit.readers.fields import of_module
from audit.readers.keyed import said_in
from audit.readers.names import producer_keys, squeezed
from audit.readers.node import configured
from audit.readers.scripts import returned_object
from audit.readers.source.bound import WATERMILLS, config_name
from audit.readers.source.callers import Caller
from audit.readers.source.following import field_told
from audit.readers.source.kinds import OF_LAMBDAS, OF_RUST
from audit.readers.source.nodes import (
    DECISIVE,
    MAPS,
    OF_SARAMA,
    PLATFORMATIC,
    UNKNOWN,
    Made,
    Maker,
    Pair,
    SourceWalk,
    assigned_to,
    class_around,
)
from audit.readers.source.outside import made_unknown, with_outside, with_unknown
from audit.readers.source.program import imported_content
from audit.readers.source.settings import FIELDS
from audit.readers.source.topics import topics_of
from audit.readers.text import Text

FOLLOWED: Final = frozenset(
    {
        "sarama",
        "kafka-go",
        "kafka-go-config",
        "franz-go",
        "kafkajs",
        "kafka-node",
        "spark",
        "fs2",
        "arroyo",
        "kafka-rust",
        "masstransit",
        "kafkaflow",
        "watermill",
        "gocloud",
        "goka",
        "beam",
        "cap",
        "aspire",
        "wolverine",
    }
)
"""Makers that show everything they are set to."""
PASSED: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "kafka-go-config": (("acks", "all", "kafka.WriterConfig's default"),),
    "masstransit": (("acks", "all", "the default of every librdkafka that MassTransit's rider ran on"),),
    "kafkaflow": (("acks", "all", "the default of every librdkafka that KafkaFlow ran on"),),
    "watermill": (("retries", "10", "Watermill's DefaultSaramaSyncPublisherConfig"),),
    "goka": (("retries", "20", "goka's DefaultConfig"),),
    "fs2": (("retries", "0", "fs2-kafka's ProducerSettings"),),
    "beam": (("retries", "3", "Beam's KafkaIO, DEFAULT_PRODUCER_PROPERTIES"),),
    "cap": (("acks", "all", "the default of every librdkafka that CAP ran on"),),
    "aspire": (("acks", "all", "the default of every librdkafka that Aspire ran on"),),
    "wolverine": (("acks", "all", "the default of every librdkafka that Wolverine ran on"),),
    "camel": (
        ("enable.idempotence", "false", "Camel's default (KafkaConfiguration of 4.8.1)"),
        ("max.in.flight.requests.per.connection", "5", "Camel's default"),
    ),
}
"""What a maker passes where nothing is written."""
SINCE: Final[Mapping[str, str]] = {"fs2": "2.1.0", "zio": "2.3.0"}
"""The oldest kafka-clients that a library ever brought, by the makers of its producers."""
CLIENTS: Final[Mapping[str, Client]] = {
    **dict.fromkeys(OF_SARAMA, "sarama"),
    "kafka-go": "kafka-go",
    "kafka-go-config": "kafka-go",
    "franz-go": "franz-go",
    "kafkajs": "kafkajs",
    "kafka-node": "kafka-node",
    PLATFORMATIC: "platformatic-kafka",
    "confluent": "librdkafka",
    "node-rdkafka": "librdkafka",
    "confluent-javascript": "librdkafka",
    "ProducerConfig": "librdkafka",
    "masstransit": "librdkafka",
    **dict.fromkeys(OF_LAMBDAS, "librdkafka"),
    "handed-dotnet": "librdkafka",
    "kafka-rust": "kafka-rust",
    **dict.fromkeys(OF_RUST, "librdkafka"),
}
LOOPS: Final[Mapping[str, re.Pattern[str]]] = {
    "rs": re.compile(
        r"\bfor\s*\(\s*&?(\w+)\s*,\s*&?\w+\s*\)\s*in\s+&?(?:mut\s+)?([\w.]+)[^{;]{0,100}\{[^{}]{0,200}?\.set\(\s*&?\1\b"
    ),
    "go": re.compile(
        r"\bfor\s+(\w+)\s*,\s*\w+\s*:?=\s*range\s+([\w.]+)\s*\{[^{}]{0,200}?(?:\.SetKey\(\s*\1\b|\w\)?\[\1\]\s*=)"
    ),
}
"""Where a program puts all that a map of another place has into the one that its producer is made with."""


def _with_loops(settings: list[Setting], maker: Maker, found: SourceWalk) -> list[Setting]:
    """Settings, and what a loop puts above them of a map: of a section of the program's file, or else unknown."""
    pattern = LOOPS.get(found.language) if maker.kind in ("rdkafka", "confluent") else None
    loop = pattern.search(found.scopes.get(maker.scope, "")) if pattern is not None else None
    names = loop[2].removeprefix("self.").split(".") if loop else []
    if loop is None or names[-1] in found.owners:
        return settings
    origin = found.source.origin(maker.line)
    said = next(
        (told for at in range(len(names)) if (told := said_in(found.source.path, names[at:])) is not None), None
    )
    if said is None:
        return with_unknown([made_unknown(each, "a loop may set it") for each in settings], maker, origin)
    by_key = {squeezed(key): key for key in producer_keys()}
    more = {by_key[key]: value for key, value in said.items() if key in by_key}
    put = [Setting(key, value, origin, note=f"{'.'.join(names)} of a file") for key, value in more.items()]
    return [each for each in settings if each.key not in more] + put


OF_SECTION: Final = re.compile(r"\bgetConfig\(\s*\"[\w.-]+\"\s*\)\s*\.\s*(?:entrySet|root)\b")
"""Where a program of Scala's takes all that a section of its file says."""
COPIES: Final = re.compile(
    r"\[\s*(?:it|key|k|name)(?:\.key)?\s*\]\s*=(?!=)"
    r"|\b(?:put|setProperty)\(\s*(?:(?:it|entry|e)\.(?:key|getKey\(\)|_1)|key|k|name)\s*,"
    r"|\bforEach\(\s*\w+::(?:put|setProperty)\s*\)"
)
"""Where a program of the JVM's puts a section of its file into a map, by keys that only the file has."""


def _content_around(maker: Maker, found: SourceWalk) -> str:
    """The function that makes a producer; the file, if it is a field of a class."""
    return found.scopes.get(maker.scope, found.source.content)


def add_producer(pairs: list[Pair], maker: Maker, found: SourceWalk, reading: Collected, caller: Caller | None) -> None:
    """Add one producer of a maker, with all that it is set to; `caller` is who it is made for."""
    pairs = list({each.key: each for each in pairs}.values())  # of one key the last counts
    source = found.source
    settings = [
        Setting(
            each.key,
            each.value.text,
            (each.other or source).origin(each.line),
            known=each.value.known and each.sure,
            note="" if each.value.known and each.sure else "decided elsewhere in the program",
        )
        for each in pairs
    ]
    body = found.scopes.get(maker.scope, source.content)
    called = "".join(text for scope, text in found.scopes.items() if scope.partition("@")[0] in maker.names)
    based = re.search(r"buildProducerProperties|getProducer\(\)\.build|kafkaProperties", body + called) is not None
    loads = re.search(r"\.load\(|ConfigFactory|loadProps|Utils\.loadProps", body + called) is not None
    loads |= found.language == "scala" and OF_SECTION.search(_content_around(maker, found)) is not None
    loads |= maker.kind in MAPS and COPIES.search(_content_around(maker, found)) is not None
    loads |= maker.kind == "ProducerSettings"  # of Akka's and Pekko's, which begin with `….kafka.producer` of HOCON
    followed = bool(pairs) or maker.kind in FOLLOWED or (maker.kind == "KafkaStreams" and not loads)
    followed |= maker.kind == "KafkaSink" and BUILT.search(maker.text) is not None
    name = maker.scope.partition("@")[0]
    if name == "constructor" and len(re.findall(r"\bclass\s+\w+", source.content)) > 1:
        name = class_around(maker.scope, found) or name
    if maker.kind == "kafkaflow":
        name = _of_kafkaflow(maker, found) or name
    elif sum(each.scope == maker.scope and each.kind == maker.kind for each in found.makers) > 1:
        name = assigned_to(maker, found) or _field_of(maker, found) or name  # what tells it from the others
    home, line = source, maker.line
    if caller is not None:
        home, line, name = caller.source, caller.line, caller.name
    before = len(reading.producers)
    if not pairs and BUILT_BY_BOOT.search(body + called) and "putAll(" not in body:
        settings = []  # all that it has is the file's
    elif not followed:
        settings = [
            Setting(key, UNKNOWN, source.origin(maker.line), known=False, note="decided elsewhere in the program")
            for key in DECISIVE
        ]
    settings = with_outside(settings, pairs, maker, found, based=based, loads=loads)
    settings = _with_loops(settings, maker, found)
    if maker.kind == "KafkaStreams":
        settings += _guarantee(source)
    if maker.kind == "kafkajs" and (client := imported_content(source, maker.text.partition(".")[0])):
        given = RETRIES_OF_KAFKAJS.search(client) if all(each.key != "retries" for each in settings) else None
        settings += [Setting("retries", given[1], source.origin(maker.line), note="of the client")] if given else []
    if maker.kind == "kafkajs" and (options := _options_of(maker, found)) is not None:
        settings = [each for each in settings if each.key not in options]
        settings += [Setting(key, value, source.origin(maker.line)) for key, value in options.items() if value]
    if maker.kind == "kafkajs" and (asked := configured(source, maker.text)) is not None:
        named = [replace(each, key=FIELDS[each.key]) for each in asked if each.key in FIELDS]
        settings = [each for each in settings if each.known] + named
    if maker.kind == "beam" and ".withEOS(" in maker.text:
        settings.append(Setting("transactional.id", "(its own)", source.origin(maker.line), note="withEOS of Beam"))
    if maker.kind in ("KafkaSink", "FlinkKafkaProducer") and "EXACTLY_ONCE" in maker.text:
        note = "a sink that is exactly once sends in transactions"
        settings.append(Setting("transactional.id", "(its own)", source.origin(maker.line), note=note))
    if maker.kind in ("kafka-go", "kafka-go-config"):
        settings = [each for one in settings for each in _without_first(one)]
    if maker.kind == "kafka-go-config":  # writer.go: 0 is nothing written, and becomes all
        settings = [each for each in settings if (each.key, each.value) != ("acks", "0")]
    passed = PASSED.get(maker.kind, ())
    if maker.kind == "watermill" and config_name(maker) and WATERMILLS not in source.content:
        passed = ()  # the program's own configuration stands in place of Watermill's
    presets = [Setting(key, value, source.origin(maker.line), note=note) for key, value, note in passed]
    reading.producer(
        f"{home.file}, {name}" if name else home.file,
        settings,
        home.origin(line),
        client=CLIENTS.get(maker.kind, "java"),
        framework={"KafkaStreams": "streams", "spark": "spark"}.get(maker.kind, "source"),
        presets=presets,
        topics=topics_of(maker, found),
        style="none",
    )
    producer = replace(reading.producers.pop(before), since=SINCE.get(maker.kind, ""))
    reading.made.append(
        Made(
            producer,
            maker.kind,
            fresh=not based,
            loads=loads,
            followed=followed,
            content=source.content,
            files=frozenset(found.taken),
        )
    )


OF_KAFKAFLOW: Final = re.compile(r"\"([^\"\n]+)\"|nameof\(\s*([\w.]+)\s*\)|([\w.]+)(?=\s+\(?\w+\)?\s*=>)")
"""The name that a producer of KafkaFlow's is added by, before what sets it."""


def _of_kafkaflow(maker: Maker, found: SourceWalk) -> str:
    """What a producer of KafkaFlow's is called by: the name that it is added by, or the type."""
    if (named := OF_KAFKAFLOW.match(maker.text.strip())) is not None:
        text = next(each for each in named.groups() if each)
        known = found.constants.get(text.rpartition(".")[2])
        return known.text if known is not None and known.known else text
    before = found.encoded[max(0, maker.start - 200) : maker.start].decode(errors="replace")
    typed = re.search(r"\bAddProducer\s*<\s*([\w.]+)[\w.<>, ]*>\s*\(\s*$", before)
    return typed[1] if typed else ""


def _field_of(maker: Maker, found: SourceWalk) -> str:
    """The field of an object, or the argument by its name, that what is made is given to."""
    before = found.encoded[max(0, maker.start - 200) : maker.start].decode(errors="replace")
    told = re.search(r"[{,(]\s*\"?(\w+)\"?\s*:\s*(?:await\s+|new\s+|&)?$", before)
    told = told or re.search(r"\(\s*[\"']([\w.:-]+)[\"']\s*,[^;\"']*$", before)
    if told is None and maker.kind == "kafkajs":  # a client of NestJS'
        around = found.encoded[maker.start : maker.end].decode(errors="replace")
        told = re.match(r"\{[^{}]{0,200}?\bname:\s*[\"']?([\w.]+)", around) or told
    return told[1] if told else ""


def _without_first(setting: Setting) -> Iterator[Setting]:
    """A setting of kafka-go's: of its attempts the first is no retry, and 0 is its default."""
    attempts = setting.key == "retries" and setting.known and setting.value.isdecimal()
    if not attempts:
        yield setting
    elif setting.value != "0":
        yield replace(setting, value=str(int(setting.value) - 1), note=setting.note or "MaxAttempts, without the first")


OPTIONS: Final[Mapping[str, str]] = {
    "idempotent": "enable.idempotence",
    "maxInFlightRequests": "max.in.flight.requests.per.connection",
    "transactionalId": "transactional.id",
}


def _options_of(maker: Maker, found: SourceWalk) -> dict[str, str] | None:
    """What KafkaJS' producer is made with, if that is an object of another module: each key with its value, empty if
    the object does not have it; None if it cannot be followed.
    """
    given = re.search(r"\.producer\(\s*(\w+(?:\.\w+)*)(\(\))?\s*\)$", maker.text)
    if given is None:
        return None
    if given[2]:
        part = returned_object(found.source, given[1])
        told = {key: of_module(f"x.{name}", part) for name, key in OPTIONS.items()} if part is not None else {}
        return {key: value or "" for key, value in told.items()} if part is not None else None
    if not imported_content(found.source, given[1].partition(".")[0]):
        return None
    told = {key: field_told(f"{given[1]}.{name}", found, [], maker.scope) for name, key in OPTIONS.items()}
    return {key: value or "" for key, value in told.items()} if any(told.values()) else None


BUILT_BY_BOOT: Final = re.compile(r"\bbuildProducerProperties\(|\.getProducer\(\)\.buildProperties\(")
"""Where a program takes what Spring Boot's file says of producers."""
RETRIES_OF_KAFKAJS: Final = re.compile(
    r"\bKafka\(\s*\{(?:[^{}]|\{[^{}]*\}){0,400}?\bretry:\s*\{[^{}]*\bretries:\s*(\d+)"
)
"""How often a client of KafkaJS's, which is made in another file, tries again."""
BUILT: Final = re.compile(r"\A(?!.*(?:setKafkaProducerConfig|setProperty)\().*\.build\(\)\Z", re.DOTALL)
"""A sink of Flink's that is built in one expression, without properties: it has none but its client's own."""
GUARANTEE: Final = re.compile(
    r"(?:\bPROCESSING_GUARANTEE_CONFIG|\"processing\.guarantee\")\s*\)?(?:,|\s+to|\s*->|\]\s*=)\s*"
    r"(?:StreamsConfig\.)?(\w+|\"\w*\")(?!\s*[.(?])"
)
"""Where a source sets what Kafka Streams guarantees, and to what."""


def _guarantee(source: Text) -> list[Setting]:
    """What a guarantee of Kafka Streams' makes of its producer: transactions, or it is unknown whether."""
    found = GUARANTEE.search(source.content)
    if found is None:
        set_elsewhere = re.search(r"PROCESSING_GUARANTEE_CONFIG|\"processing\.guarantee\"", source.content)
        if set_elsewhere is None:
            return []
        origin = source.origin(source.line_at(set_elsewhere.start()))
        return [Setting("enable.idempotence", UNKNOWN, origin, known=False, note="by what Streams guarantees")]
    value, origin = found[1].strip('"').lower(), source.origin(source.line_at(found.start()))
    if value == "at_least_once":
        return []
    note = f"processing.guarantee={value} of Kafka Streams"
    if value.startswith("exactly_once"):
        return [Setting("transactional.id", "(its own)", origin, note=note)]
    return [Setting("enable.idempotence", UNKNOWN, origin, known=False, note=note)]
