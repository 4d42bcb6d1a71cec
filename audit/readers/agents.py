"""Agents and pipelines that send to Kafka: each has names of its own for what its client is set to.

| program | client | where nothing is written |
|---|---|---|
| Beats (`output.kafka`) | sarama | required_acks 1; it retries forever, whatever max_retries says |
| Telegraf (`[[outputs.kafka]]`) | sarama | required_acks -1, max_retry 3; with idempotent_writes one in flight |
| OpenTelemetry Collector (`exporters: kafka`) | sarama | producer.required_acks 1 |
| Benthos, Redpanda Connect (`kafka`, `kafka_franz`) | sarama, franz-go | ack_replicas false; idempotent_write true |
| Vector (`type = "kafka"` of a sink) | librdkafka | librdkafka's own defaults, of 1.0 at least |
| Fluent Bit (`Name kafka` of an OUTPUT) | librdkafka | librdkafka's own |
| Fluentd (`kafka2`, `kafka_buffered`; `rdkafka2`) | ruby-kafka; librdkafka | required_acks -1 |
| Logstash (`output { kafka {…} }`) | Java | acks 1; it retries forever |

Resources of their operators (Fluent's, the logging operator's, Elastic's) have the same settings, and so have the
values of their charts. By their own documents of 2024. What decides over records is told; of clients that were never
measured no grade is given.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from audit.defaults import FOREVER
from audit.model import Client, Origin, Setting
from audit.readers.collect import Collected, preset
from audit.readers.format import YAML, Document, Format
from audit.readers.names import latest, librdkafka_keys
from audit.readers.text import Text, Unreadable
from audit.readers.tree import MOST, Listing, Node, Scalar, Table, flatten, inner

SARAMA: Final[Mapping[str, str]] = {
    "required_acks": "acks",
    "producer.required_acks": "acks",
    "max_retry": "retries",
    "idempotent_writes": "enable.idempotence",
    "compression": "compression.type",
    "producer.compression": "compression.type",
    "compression_codec": "compression.type",
}
SERVERS: Final = ("hosts", "brokers", "addresses", "seed_brokers", "bootstrap_servers")
TOPIC: Final = ("topic", "topics", "default_topic", "topic_id", "traces.topic", "logs.topic")

LABELS: Final = ("id", "@id", "alias")
"""What people call one of several outputs: Logstash's, Fluentd's, Fluent Bit's and Telegraf's."""


def _settings(given: Sequence[Setting], names: Mapping[str, str]) -> list[Setting]:
    """Settings by Kafka's names; addresses too."""
    found = []
    for each in given:
        key = names.get(each.key) or ("bootstrap.servers" if each.key in SERVERS else None)
        if key is not None:
            value = {"true": "true", "-1": "all"}.get(each.value, each.value) if key == "acks" else each.value
            found.append(Setting(key, value.strip("[]"), each.origin, written=each.key))
    return found


def _topics(given: Sequence[Setting]) -> list[str]:
    by_key = latest(given)
    return [by_key[key].value for key in TOPIC if key in by_key and "%{" not in by_key[key].value]


def _add(
    name: str,
    given: Sequence[Setting],
    origin: Origin,
    reading: Collected,
    program: str,
    client: Client,
    names: Mapping[str, str],
    passed: Mapping[str, str],
) -> None:
    own = _settings(given, names)
    if (label := next((each.value for each in given if each.key in LABELS), "")) and label not in name:
        name = f"{name} {label}"
    presets = [preset(key, value, f"{program}'s default", origin) for key, value in passed.items()]
    reading.producer(
        name,
        own,
        own[0].origin if own else origin,
        client=client,
        framework=program.lower(),
        presets=presets,
        topics=_topics(given),
        style="shell",
        spelling="{key}",
    )


# YAML: Beats, OpenTelemetry, Benthos, Vector


def _is_agent(document: Document) -> bool:
    return document.tree is not None and any(True for _ in _outputs(document.tree))


def _outputs(tree: Table) -> Iterator[tuple[str, str, Table]]:
    """The outputs to Kafka of a document: (program, name, its table)."""
    for name, _, value in tree.items:
        if name == "output.kafka" and isinstance(value, Table) and _is_enabled(value):
            yield "Beats", name, value
    output = tree.table("output")
    if "hosts" in output.table("kafka").names() and _is_enabled(output.table("kafka")):
        yield "Beats", "output.kafka", output.table("kafka")
    for name, _, value in tree.table("outputs").items:  # of the Elastic Agent
        sends = isinstance(value, Table) and value.text("type") == "kafka" and "hosts" in value.names()
        if isinstance(value, Table) and sends and _is_enabled(value):
            yield "Beats", f"outputs.{name}", value
    for name in ("output", "output_resources"):
        yield from _within(tree.get(name) or Scalar("", None))
    for name, _, value in tree.table("exporters").items:
        if re.fullmatch(r"kafka(/.+)?", name) and isinstance(value, Table) and _is_used(name, tree):
            yield "OpenTelemetry", name, value
    for value in tree.table("pipeline").tables("outputs"):
        if value.text("name").lower() == "kafka":
            yield "Fluent Bit", "output kafka", value
    for name, _, value in tree.table("sinks").items:
        if isinstance(value, Table) and value.text("type") == "kafka":
            yield "Vector", name, value
    for within in ("customConfig", "config"):  # of the Helm charts of Vector, the Collector, and Redpanda Connect
        if tree.table(within).names() & {"sinks", "exporters", "output", "output_resources"}:
            yield from _outputs(tree.table(within))


def _is_enabled(output: Table) -> bool:
    """Whether an output of a Beat's is not switched off."""
    return output.text("enabled") != "false"


def _is_used(exporter: str, tree: Table) -> bool:
    """Whether a pipeline of a Collector's exports with it; the Collector starts no other. A file without pipelines is
    a part of a configuration.
    """
    pipelines = [each for _, _, each in tree.table("service", "pipelines").items if isinstance(each, Table)]
    named = {one.text for each in pipelines for one in each.scalars("exporters")}
    return not pipelines or exporter in named


def _within(node: Node) -> Iterator[tuple[str, str, Table]]:
    """Outputs of Benthos, which may be inside brokers, switches and fallbacks."""
    todo, steps = [node], 0
    while todo and steps < MOST:
        steps += 1
        each = todo.pop()
        if isinstance(each, Listing):
            todo += each.items
        elif isinstance(each, Table):
            label = f" {each.text('label')}".rstrip()
            for name, _, value in each.items:
                if name == "kafka" and isinstance(value, Table) and "addresses" in value.names():
                    yield "Benthos", f"output.kafka{label}", value
                elif name in ("kafka_franz", "redpanda") and isinstance(value, Table):
                    yield "Benthos Franz", f"output.{name}{label}", value
                else:
                    todo.append(value)


def _read_agent(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    read_outputs(document.source, document.tree, reading)
    return True


def read_outputs(source: Text, tree: Table, reading: Collected) -> None:
    """Add the outputs to Kafka that an agent's configuration has."""
    for program, name, table in _outputs(tree):
        _of_program(program, name, flatten(table, source), source.origin(table.line), reading)


def _of_program(program: str, name: str, given: Sequence[Setting], origin: Origin, reading: Collected) -> None:
    by_key = latest(given)
    match program:
        case "Beats":
            names = {key: value for key, value in SARAMA.items() if key != "max_retry"}
            _add(name, given, origin, reading, program, "sarama", names, {"acks": "1", "retries": str(FOREVER)})
        case "Telegraf":
            passed = {"acks": "all"}
            if "idempotent_writes" in by_key and by_key["idempotent_writes"].value == "true":
                passed["max.in.flight.requests.per.connection"] = "1"
            _add(name, given, origin, reading, program, "sarama", SARAMA, passed)
        case "OpenTelemetry":
            _add(name, given, origin, reading, program, "sarama", SARAMA, {"acks": "1"})
        case "Benthos":
            every = by_key["ack_replicas"].value == "true" if "ack_replicas" in by_key else False
            names = {"idempotent_write": "enable.idempotence"}
            _add(name, given, origin, reading, program, "sarama", names, {"acks": "all" if every else "1"})
        case "Benthos Franz":
            off = "idempotent_write" in by_key and by_key["idempotent_write"].value == "false"
            passed = {"enable.idempotence": "false"} if off else {}
            _add(name, given, origin, reading, "Redpanda Connect", "franz-go", {}, passed)
        case "Vector":
            names = {each.key: each.key.removeprefix("librdkafka_options.") for each in given}
            names = {key: value for key, value in names.items() if value in librdkafka_keys() and key != value}
            _add(name, given, origin, reading, program, "librdkafka", names, {"acks": "all"})
        case "Fluent Bit":
            _fluent_bit(given, reading)


# TOML: Telegraf, Vector


def _toml_settings(values: Mapping[str, Any], origin: Origin, prefix: str = "") -> Iterator[Setting]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _toml_settings(value, origin, f"{prefix}{key}.")
        else:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            yield Setting(prefix + key, text.lower() if isinstance(value, bool) else text, origin)


def _lined(settings: Iterator[Setting], source: Text, start: int) -> list[Setting]:
    """Settings with their lines: where a key first stands at or below a line."""
    lines = source.content.splitlines()
    found = []
    for each in settings:
        last = each.key.rpartition("_options.")[2] or each.key
        name = re.escape(last if "_options." in each.key else last.rpartition(".")[2])
        at = next(
            (number for number in range(start, len(lines)) if re.search(rf"(?<![\w.-]){name}\W", lines[number])), start
        )
        found.append(Setting(each.key, each.value, source.origin(at + 1)))
    return found


TELEGRAFS: Final = re.compile(r"(?m)^[ \t]*\[\[[ \t]*outputs\.kafka[ \t]*\]\]")


def _read_toml(document: Document, reading: Collected) -> bool:
    source = document.source
    try:
        told = tomllib.loads(source.content)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise Unreadable("not TOML") from None
    outputs = told.get("outputs", {})
    several = outputs.get("kafka", []) if isinstance(outputs, dict) else []
    places = [each.start() for each in TELEGRAFS.finditer(source.content)]
    for at, table in enumerate(several):
        start = source.content[: places[at] if at < len(places) else 0].count("\n")
        given = _lined(_toml_settings(table, source.origin()), source, start)
        _of_program("Telegraf", "outputs.kafka", given, source.origin(start + 1), reading)
    sinks = told.get("sinks", {})
    for name, table in sinks.items() if isinstance(sinks, dict) else ():
        if isinstance(table, dict) and table.get("type") == "kafka":
            start = source.content[: max(0, source.content.find(f"[sinks.{name}]"))].count("\n")
            given = _lined(_toml_settings(table, source.origin()), source, start)
            _of_program("Vector", name, given, source.origin(start + 1), reading)
    return True


# Blocks: Fluent Bit, Fluentd, Logstash

YAMLS: Final = (".yml", ".yaml")
"""Files that may have one of these in a text of theirs."""
FLUENT_BIT: Final = re.compile(r"(?im)^[ \t]*\[OUTPUT\][ \t]*\n((?:[ \t]+[^\s\[].*\n?|[ \t]*\n|[ \t]*#.*\n)*)")
FLUENTD: Final = re.compile(r"(?ms)^[ \t]*<(?:match|store)\b[^>]*>(.*?)^[ \t]*</(?:match|store)>")
FLUENTD_NAMES: Final[Mapping[str, str]] = {
    "required_acks": "acks",
    "max_send_retries": "retries",
    "idempotent": "enable.idempotence",
}
FLUENTD_TYPES: Final = ("kafka2", "kafka", "kafka_buffered", "rdkafka2", "rdkafka")
LOGSTASH: Final = re.compile(r"(?m)^[ \t]*(?:input|filter|output)[ \t]*\{")
LOGSTASH_NAMES: Final[Mapping[str, str]] = {
    "acks": "acks",
    "retries": "retries",
    "enable_idempotence": "enable.idempotence",
    "compression_type": "compression.type",
    "max_in_flight_requests_per_connection": "max.in.flight.requests.per.connection",
}


def pairs_of(source: Text, block: str, start: int, separator: str) -> list[Setting]:
    """Lines of a block as settings: KEY separator VALUE."""
    found = []
    for line in re.finditer(
        rf"(?m)^[ \t]*[\"']?([@\w.]+)[\"']?{separator}[\"']?([^\"'\n#]*?)[\"']?[ \t]*,?[ \t]*$", block
    ):
        found.append(Setting(line[1], line[2].strip(), source.origin(source.line_at(start + line.start(1)))))
    return found


def _read_fluent_bit(document: Document, reading: Collected) -> bool:
    source = document.source
    found = False
    for block in FLUENT_BIT.finditer(source.content + "\n"):
        given = [
            Setting(each.key.lower(), each.value, each.origin)
            for each in pairs_of(source, block[1], block.start(1), r"[ \t]+")
        ]
        by_key = latest(given)
        if "name" in by_key and by_key["name"].value.lower() == "kafka":
            _fluent_bit(given, reading)
            found = True
    return found


def _fluent_bit(given: Sequence[Setting], reading: Collected) -> None:
    names = {each.key: each.key.removeprefix("rdkafka.") for each in given if each.key.startswith("rdkafka.")}
    _add("output kafka", given, given[0].origin, reading, "Fluent Bit", "librdkafka", names, {})


def _read_fluentd(document: Document, reading: Collected) -> bool:
    source = document.source
    found = False
    for block in FLUENTD.finditer(source.content):
        # Sections inside (<format>, <buffer>) have an @type of their own.
        outer = re.sub(
            r"(?ms)^[ \t]*<(\w+)\b[^>]*>.*?^[ \t]*</\1>", lambda inner: re.sub(r"[^\n]", " ", inner[0]), block[1]
        )
        given = pairs_of(source, outer, block.start(1), r"[ \t]+")
        by_key = latest(given)
        kind = by_key["@type"].value if "@type" in by_key else by_key["type"].value if "type" in by_key else ""
        if kind not in FLUENTD_TYPES:
            continue
        _fluentd(f"match {kind}", given, given[0].origin, reading, native=kind.startswith("rdkafka"))
        found = True
    return found


def _fluentd(name: str, given: Sequence[Setting], origin: Origin, reading: Collected, *, native: bool) -> None:
    """Add an output of Fluentd's; `native` ones send with librdkafka, and take its options as well."""
    client: Client = "librdkafka" if native else "ruby-kafka"
    options = {each.key: each.key for each in given if native and each.key in librdkafka_keys()}
    _add(name, given, origin, reading, "Fluentd", client, {**options, **FLUENTD_NAMES}, {"acks": "all"})


# Resources of operators: the Fluent operator's, the logging operator's, Elastic's

FLUENT_BIT_OPERATOR: Final = "fluentbit.fluent.io/"
FLUENTD_OPERATOR: Final = "fluentd.fluent.io/"
LOGGING_OPERATOR: Final = "logging.banzaicloud.io/"
ELASTIC: Final = ".k8s.elastic.co/"
OUTPUTS: Final = ("ClusterOutput", "Output")
RDKAFKA: Final = "rdkafka_options."


def read_operated(source: Text, document: Table, reading: Collected) -> bool:
    """Add what a resource of an agents' operator sends to Kafka; whether it is such a resource."""
    api, kind, spec = document.text("apiVersion"), document.text("kind"), document.table("spec")
    name = document.text("metadata", "name")
    if api.startswith(FLUENT_BIT_OPERATOR):
        if kind in OUTPUTS and (table := spec.table("kafka")).items:
            _of_program("Fluent Bit", name, flatten(table, source), source.origin(table.line), reading)
        return True
    if api.startswith(FLUENTD_OPERATOR):
        for each in spec.tables("outputs") if kind in OUTPUTS else ():
            _operated(source, name, each.table("kafka"), reading)
        return True
    if api.startswith(LOGGING_OPERATOR):
        if kind in OUTPUTS:
            _operated(source, name, spec.table("kafka"), reading)
        return True
    if ELASTIC in api:
        read_outputs(source, spec.table("config"), reading)
        for each in spec.tables("pipelines"):
            if isinstance(text := each.get("config.string"), Scalar):
                reading.nested(inner(text, source, f"{name}/logstash.conf"))
        return True
    return False


def _operated(source: Text, name: str, table: Table, reading: Collected) -> None:
    """An output of Fluentd's in a resource; the Fluent operator has Fluentd's names without underscores."""
    if not table.items:
        return
    given = [
        dataclasses.replace(each, key=re.sub(r"(?<=[a-z])([A-Z])", r"_\1", each.key).lower())
        for each in flatten(table, source)
    ]
    native = latest(given)["use_rdkafka"].value == "true" if "use_rdkafka" in latest(given) else False
    bare = [dataclasses.replace(each, key=each.key.removeprefix(RDKAFKA)) for each in given]
    _fluentd(name, bare, source.origin(table.line), reading, native=native)


def closing(text: str, at: int) -> int:
    """Where the brace closes that was opened before `at`; the end if none does. Texts in quotes are passed over."""
    depth = 1
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|#[^\n]*|[{}]', text[at:]):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return at + found.start()
    return len(text)


def _read_logstash(document: Document, reading: Collected) -> bool:
    source = document.source
    found = False
    for output in re.finditer(r"(?m)^[ \t]*output[ \t]*\{", source.content):
        end = closing(source.content, output.end())
        for block in re.finditer(r"(?<![\w-])kafka[ \t\n]*\{", source.content[output.end() : end]):
            start = output.end() + block.end()
            text = source.content[start : closing(source.content, start)]
            given = [
                Setting(
                    each[1], (each[2] or each[3] or "").strip(), source.origin(source.line_at(start + each.start(1)))
                )
                for each in re.finditer(r"([\w]+)[ \t]*=>[ \t]*(?:[\"']([^\"']*)[\"']|([\w.-]+))", text)
            ]
            origin = source.origin(source.line_at(start))
            passed = {"acks": "1", "retries": str(FOREVER)}
            _add("output kafka", given, origin, reading, "Logstash", "java", LOGSTASH_NAMES, passed)
            found = True
    return found


FORMATS: Final = (
    Format(
        name="Logstash",
        reads="`output { kafka { … } }`",
        files=("*.conf",),
        rank=55,
        whole=True,
        claims=lambda document: (
            LOGSTASH.search(document.source.content) is not None and "=>" in document.source.content
        ),
        read=lambda document, reading: _read_logstash(document, reading) or not document.file.endswith(YAMLS),
    ),
    Format(
        name="Fluentd",
        reads="`<match>` and `<store>` of kafka2 and rdkafka2",
        files=("*.conf",),
        rank=51,
        whole=True,
        claims=lambda document: FLUENTD.search(document.source.content) is not None,
        read=lambda document, reading: _read_fluentd(document, reading) or not document.file.endswith(YAMLS),
    ),
    Format(
        name="Fluent Bit",
        reads="`[OUTPUT]` with `Name kafka`",
        files=("*.conf",),
        rank=52,
        whole=True,
        claims=lambda document: FLUENT_BIT.search(document.source.content + "\n") is not None,
        read=lambda document, reading: _read_fluent_bit(document, reading) or not document.file.endswith(YAMLS),
    ),
    Format(
        name="Telegraf and Vector, in TOML",
        reads='`[[outputs.kafka]]`; sinks of `type = "kafka"`',
        files=("*.toml", "telegraf.conf", "vector.conf"),
        rank=53,
        whole=True,
        claims=lambda document: (
            not document.file.endswith(YAMLS)  # in which it is a text of a ConfigMap's
            and re.search(r"(?m)^[ \t]*\[\[?(outputs|inputs|sinks|sources|agent)\b", document.source.content)
            is not None
        ),
        read=_read_toml,
    ),
    Format(
        name="Beats, OpenTelemetry, Benthos, Vector, Fluent Bit",
        reads="`output.kafka`, `exporters: kafka`, `kafka_franz` of `output` and `output_resources`, sinks of "
        "`type: kafka`, `pipeline.outputs`",
        files=YAML,
        rank=105,
        claims=_is_agent,
        read=_read_agent,
    ),
)
