"""Applications: Spring Boot, Spring Cloud Stream and SmallRye (Quarkus), from application.yml and its kin.

All files of one directory are one application (application.yml, application.properties, application-prod.yml, …), read
once for each set of profiles: what is told with `--profile`, or else what is in force by itself (Quarkus: `prod`), and
each profile that is found, alone, if it changes something.

What reaches the client, and in which order:

* Spring Boot (KafkaProperties.buildProducerProperties): spring.kafka.*, then spring.kafka.properties.*, then
  spring.kafka.producer.*, then spring.kafka.producer.properties.*. Nothing but that: other names are ignored.
* Spring Cloud Stream (KafkaMessageChannelBinder.getProducerFactory): acks from binder.requiredAcks, whose default is 1,
  then Spring Boot's, then binder.configuration, binder.producerProperties, and the binding's producer.configuration.
* SmallRye (smallrye-kafka): kafka.*, then mp.messaging.connector.smallrye-kafka.*, then the channel's own; acks is 1 if
  none of them says it.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

from audit.model import InputProblem, Origin, ProducerConfig, Setting, TopicConfig
from audit.readers.collect import Collected, Page, preset
from audit.readers.creates import FACTOR, made_with
from audit.readers.format import YAML, Document, Format
from audit.readers.names import PRODUCERS, dotted, latest, producer_keys, relaxed, squeezed, under
from audit.readers.placeholders import Lookup, resolved
from audit.readers.plain import read_prefixed, read_streams
from audit.readers.profiles import in_force, mentioned, set_active, with_groups
from audit.readers.text import Text, decode
from audit.readers.tree import flatten
from audit.readers.walk import LARGEST

FILE: Final = re.compile(r"(?:application|bootstrap|microprofile-config)(?:-([\w.-]+))?\.(?:ya?ml|properties)")
BOOT: Final[Mapping[str, str]] = {
    "acks": "acks",
    "batchsize": "batch.size",
    "bootstrapservers": "bootstrap.servers",
    "buffermemory": "buffer.memory",
    "clientid": "client.id",
    "compressiontype": "compression.type",
    "keyserializer": "key.serializer",
    "retries": "retries",
    "securityprotocol": "security.protocol",
    "transactionidprefix": "transactional.id",
    "valueserializer": "value.serializer",
}
"""What Spring Boot knows below spring.kafka.producer, by its squeezed name."""
SHARED: Final[Mapping[str, str]] = {key: BOOT[key] for key in ("bootstrapservers", "clientid", "securityprotocol")}
"""What it knows below spring.kafka itself."""
OTHERS: Final = (
    "ssl",
    "security",
    "jaas",
    "admin",
    "consumer",
    "listener",
    "streams",
    "template",
    "retry",
    "bootstrap",
)
"""First parts of names below spring.kafka that are not the producer's."""
BINDER: Final = "spring.cloud.stream.kafka.binder."
SIZES: Final = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
REQUIRED_ACKS: Final = "Spring Cloud Stream, binder.requiredAcks"
SMALLRYE: Final = "SmallRye Reactive Messaging, attribute acks of smallrye-kafka"
BRACKETS: Final = re.compile(r"\.?\[([^][]*[A-Za-z][^][]*)\]")
"""A key of a map that stands as it is: properties[max.block.ms]."""
CHANNEL: Final = re.compile(r'mp\.messaging\.outgoing\.("[^"]+"|[^.]+)\.(.+)')
TOLD_BY: Final = ("SPRING_PROFILES_ACTIVE", "QUARKUS_PROFILE")
OTHER_BROKERS: Final = ("pulsar.", "amqp", "rabbitmq", "mqtt", "quarkus.rabbitmq", "quarkus.amqp", "quarkus.pulsar")
OTHER_ATTRIBUTES: Final = ("exchange.", "queue.", "routing-key", "default-routing-key", "address", "destination")
"""Attributes of channels of RabbitMQ, AMQP and JMS."""
NOT_THE_CLIENTS: Final = frozenset(
    {"connector", "topic", "enabled", "merge", "key", "partition", "kafka-configuration"}
)


def read_applications(reading: Collected) -> None:
    """Add the producers of every application whose documents were gathered."""
    for folder, pages in reading.pages.items():
        pages.sort(key=_rank)
        seen: set[object] = set()
        places: dict[str, set[Origin]] = {}
        for active, named in _profiles(pages, reading):
            scratch = Collected(reading.options)
            _read(folder, in_force(pages, with_groups(active, pages)), scratch)
            for producer in scratch.producers:
                what = (producer.name, *sorted((key, each.value) for key, each in producer.settings.items()))
                if what not in seen:
                    seen.add(what)
                    before = places.setdefault(producer.name, set())
                    name = f"{producer.name} (profile {', '.join(active)})" if named else producer.name
                    reading.producers.append(dataclasses.replace(producer, name=name, origin=_place(producer, before)))
                    before.update(each.origin for each in producer.settings.values())
            reading.problems += scratch.problems
            reading.consuming |= scratch.consuming


OF_QUARKUS: Final = re.compile(r"mp\.messaging|^(?:%[\w,-]+\.)?quarkus\.")


def _profiles(pages: Sequence[Page], reading: Collected) -> Iterator[tuple[list[str], bool]]:
    """The sets of profiles to read an application with, and whether a producer is named by its set."""
    quarkus = any(OF_QUARKUS.search(setting.key) for page in pages for setting in page.settings)
    outside = [reading.options.env[key] for key in TOLD_BY if key in reading.options.env]
    told = [name.strip() for names in outside for name in names.split(",") if name.strip()]
    chosen = list(reading.options.profiles) or told or set_active(pages) or (["prod"] if quarkus else [])
    sets = [chosen]
    if not reading.options.profiles and not told:
        known = [name for name in mentioned(pages) if not quarkus or name not in ("dev", "test")]
        sets += [[name] for name in known if [name] != chosen]
    for active in sets:
        yield active, bool(active) and not (quarkus and active == ["prod"])


def _place(producer: ProducerConfig, before: Collection[Origin]) -> Origin:
    """Where to point for a producer that other profiles have too: its first setting that is its own."""
    own = [each.origin for each in producer.settings.values() if each.origin not in before]
    return producer.origin if producer.origin in own or not own else own[0]


def _rank(page: Page) -> tuple[bool, int]:
    """Of the same directory, .properties override YAML."""
    first = page.settings[0].origin.path if page.settings else ""
    return bool(page.profile), first.endswith(".properties")


def _read(folder: str, settings: Sequence[Setting], reading: Collected) -> None:
    settings = [_as(each, BRACKETS.sub(r".\1", each.key)) for each in settings]
    # Variables override files, in Spring as in Quarkus.
    settings += [
        Setting(dotted(name), value, Origin(f"--env {name}"), written=name)
        for name, value in reading.options.env.items()
        if name.startswith("SPRING_KAFKA_") and settings
    ]
    by_key = latest(settings)
    outside = reading.look_up()

    def look_up(name: str) -> str | None:
        """`--env` before the application's own settings, as Spring has it."""
        found = outside(name)
        return by_key[name].value if found is None and name in by_key else found

    name = by_key["spring.application.name"].value if "spring.application.name" in by_key else ""
    name = name or (by_key["quarkus.application.name"].value if "quarkus.application.name" in by_key else "")
    name = name if name and "$" not in name else folder.rstrip("/").rpartition("/")[2] or "application"
    if not read_stream(settings, reading, look_up):
        read_boot(name, settings, reading, look_up)
    read_smallrye(settings, reading, look_up)
    _read_streams(name, settings, reading)
    if settings:
        page = Text(settings[0].origin.path, "", name=name)
        rest = [each for each in settings if not each.key.startswith(("spring.", "mp.", "quarkus.", "kafka-streams."))]
        if not any(each.key.startswith("mp.messaging") for each in settings):
            read_prefixed(page, rest, reading, client="java", style="spring")
    for setting in settings:
        if setting.key.startswith("spring.config.import") and "configserver" in setting.value:
            message = "spring.config.import names a configuration server, which is not read"
            reading.problems.append(
                InputProblem(setting.origin, "unreadable", message, "save what it answers as application.yml")
            )


STREAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "quarkus.kafka-streams.": ("kafka.", "kafka-streams."),
    "spring.kafka.streams.": ("spring.kafka.properties.", "spring.kafka.streams.properties."),
}
"""What a framework has of Kafka Streams, and the prefixes of its client's own keys, what overrides last."""


def _read_streams(name: str, settings: Sequence[Setting], reading: Collected) -> None:
    """Add the producer of a Kafka Streams application that Quarkus or Spring Boot makes; it has the application's name
    if it has none of its own.
    """
    for own, prefixes in STREAMS.items():
        about = under(settings, own)
        if not about:
            continue
        named = next((each for each in about if squeezed(each.key) == "applicationid"), None)
        mark = named or dataclasses.replace(about[0], value=name)
        servers = [_as(each, "bootstrap.servers") for each in about if squeezed(each.key) == "bootstrapservers"]
        given = [one for prefix in prefixes for one in under(settings, prefix)]
        read_streams([*servers, *given, _as(mark, "application.id")], reading, "spring")


def boot(settings: Iterable[Setting], problems: list[InputProblem] | None = None) -> list[Setting]:
    """What Spring Boot hands to a producer, what overrides last."""
    settings = list(settings)
    steps: tuple[list[Setting], ...] = ([], [], [], [])
    for setting in settings:
        if not (below := re.fullmatch(r"spring\.kafka\.(?:(producer)\.)?(.+)", setting.key)):
            continue
        producers, rest = below[1] is not None, below[2]
        if rest.startswith("properties."):
            steps[3 if producers else 1].append(_as(setting, rest.removeprefix("properties.")))
        elif (key := (BOOT if producers else SHARED).get(squeezed(rest))) is not None:
            value = setting.value
            if key in ("batch.size", "buffer.memory"):
                value = _bytes(value)
            note = setting.note or ("the prefix of each producer's own" if key == "transactional.id" else "")
            steps[2 if producers else 0].append(dataclasses.replace(setting, key=key, value=value, note=note))
        elif problems is not None and producers and not rest.startswith(OTHERS):
            message = f"Spring Boot has no property {setting.key!r} and ignores it"
            problems.append(InputProblem(setting.origin, "unknown-key", message, f"write {_nearest(rest)}"))
    return [setting for step in steps for setting in step]


def _nearest(rest: str) -> str:
    """The property to write for one below spring.kafka.producer that Spring Boot does not know."""
    if (key := relaxed(rest)) is None:
        if near := difflib.get_close_matches(squeezed(rest), BOOT, 1):
            own = {"transactional.id": "transaction-id-prefix"}.get(BOOT[near[0]], BOOT[near[0]].replace(".", "-"))
            return f"spring.kafka.producer.{own}"
        key = next(iter(difflib.get_close_matches(rest, producer_keys(), 1)), "<key>")
    return f"spring.kafka.producer.properties.{key}"


def read_boot(
    name: str, settings: Sequence[Setting], reading: Collected, look_up: Lookup, *, own: bool = False
) -> None:
    """Add Spring Boot's producer, if there is one: something of a producer, or of Kafka but of no consumer. `own`: only
    if something of a producer is there, as in a container's environment: many only consume.
    """
    parts = {setting.key.split(".")[2] for setting in settings if setting.key.startswith("spring.kafka.")}
    general = {squeezed(part) for part in parts} & {"bootstrap", "bootstrapservers", "properties"}
    consumes = not parts & {"producer", "template"} and bool(parts & {"consumer", "listener"})
    if not parts & {"producer", "template"} and (not general or "streams" in parts or (consumes and own)):
        return
    if own and not parts & {"producer", "template"}:
        return
    given = boot(settings, reading.problems)
    of_producers = [setting for setting in given if ".producer." in setting.written]
    mark = next((each for each in settings if each.key.startswith("spring.kafka.")), settings[0])
    reading.consuming |= {each.origin.path for each in settings} if consumes else set()
    reading.producer(
        name,
        given,
        (of_producers[0] if of_producers else mark).origin,
        client="java",
        framework="spring",
        spelling="spring.kafka.producer.properties.{key}",
        topics=[each.value for each in settings if squeezed(each.key) == "springkafkatemplatedefaulttopic"],
        style="spring",
        look_up=look_up,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Stream:
    """What an application says of Spring Cloud Stream, gathered for its producers; names of bindings are keys."""

    binder: list[Setting]
    """The binder's own properties that reach a producer, by Kafka's keys."""
    configuration: list[Setting]
    """binder.configuration."""
    producers: list[Setting]
    """binder.producerProperties, which override `configuration`."""
    bindings: dict[str, list[Setting]]
    """producer.configuration of each binding; of all of them where the name is empty."""
    destinations: dict[str, str]
    """The topic of each binding."""
    outputs: dict[str, Setting]
    """The bindings that send, each with the first setting that shows it."""
    transaction: list[Setting]
    """What all producers have instead of their bindings' own where binder.transaction has a prefix."""
    made: dict[str, list[Setting]]
    """What topics are made with that bindings send to; where the name is empty, those of all."""

    def topics_of(self, binding: str, settings: Sequence[Setting], look_up: Lookup) -> TopicConfig | None:
        """What topics are like that a binding makes, unless the binder is told to make none."""
        never = any(
            squeezed(each.key).endswith("kafkabinderautocreatetopics") and each.value.lower() == "false"
            for each in settings
        )
        given = [*self.made.get("", []), *(self.made.get(binding, []) if binding else [])]
        return None if never else made_with(resolved(each, "spring", look_up) for each in given)

    def add(self, setting: Setting) -> None:
        """Keep what a setting below spring.cloud.stream says of producers."""
        kafkas = setting.key.startswith("kafka.")
        part, _, rest = setting.key.removeprefix("kafka.").partition(".")
        first, _, second = rest.partition(".")
        if part == "binder" and kafkas:
            self._add_of_binder(setting, squeezed(first), second)
        elif part == "bindings":
            self._add_of_binding(setting, first, second, kafkas=kafkas)
        elif part == "default":
            self._add_of_binding(setting, "", rest, kafkas=kafkas)
        elif part == "function" and first == "bindings" and re.search(r"-out-\d+$", second) and setting.value:
            self.outputs.setdefault(setting.value, setting)  # the function's output under a name of its own

    def _add_of_binder(self, setting: Setting, name: str, below: str) -> None:
        if name == "requiredacks":
            self.binder.append(dataclasses.replace(setting, key="acks"))
        elif name == "replicationfactor":
            self.made.setdefault("", []).append(_as(setting, FACTOR))
        elif name == "brokers":
            self.binder.append(dataclasses.replace(setting, key="bootstrap.servers"))
        elif name == "configuration" and below:
            self.configuration.append(dataclasses.replace(setting, key=below))
        elif name == "producerproperties" and below:
            self.producers.append(dataclasses.replace(setting, key=below))
        elif name == "transaction" and squeezed(below) == "transactionidprefix":
            note = "the prefix of each producer's own"
            self.transaction.append(dataclasses.replace(setting, key="transactional.id", note=note))
        elif name == "transaction" and below.startswith("producer.configuration."):
            self.transaction.append(_as(setting, below.removeprefix("producer.configuration.")))

    def _add_of_binding(self, setting: Setting, binding: str, inside: str, *, kafkas: bool) -> None:
        if inside == "destination":
            self.destinations[binding] = setting.value
        if inside.startswith("producer.") or re.search(r"-out-|-out$|^output$", binding):
            self.outputs.setdefault(binding, setting)
        if kafkas and squeezed(inside) == "producertopicreplicationfactor":
            self.made.setdefault(binding, []).append(_as(setting, FACTOR))
        if kafkas and inside.startswith("producer.topic.properties."):
            self.made.setdefault(binding, []).append(_as(setting, inside.removeprefix("producer.topic.properties.")))
        if kafkas and inside.startswith("producer.configuration."):
            below = inside.removeprefix("producer.configuration.")
            self.bindings.setdefault(binding, []).append(dataclasses.replace(setting, key=below))


def read_stream(settings: Sequence[Setting], reading: Collected, look_up: Lookup) -> bool:
    """Add the producers of Spring Cloud Stream's output bindings; whether its Kafka binder is there."""
    plain = [
        _as(each, re.sub(r"^spring\.cloud\.stream\.binders\.[^.]+\.environment\.", "", each.key)) for each in settings
    ]
    stream = under(plain, "spring.cloud.stream.")
    told = any(
        each.key.startswith("kafka.") or (each.key.endswith(".type") and each.value == "kafka") for each in stream
    )
    built = _built_binders(stream) if stream and not told else set()
    if not told and (not built or built - {"kafka", "kafka-streams"}):
        return False
    gathered = _Stream([], [], [], {}, {}, {}, [], {})
    for each in stream:
        gathered.add(each)
    everyones = [
        *gathered.binder,
        *boot(plain),
        *gathered.configuration,
        *gathered.producers,
        *gathered.bindings.get("", []),
    ]
    streams = _only_streams(stream) or built == {"kafka-streams"}
    transactional = not streams and any(each.key == "transactional.id" for each in gathered.transaction)
    for binding, mark in _senders(gathered.outputs, stream, everyones).items():
        reading.producer(
            binding,
            [*everyones, *(gathered.transaction if transactional else gathered.bindings.get(binding, []))],
            mark.origin,
            client="java",
            framework="streams" if streams else "spring-cloud-stream",
            spelling="spring.cloud.stream.kafka.streams.binder.configuration.producer.{key}"
            if streams
            else f"{BINDER}producer-properties.{{key}}",
            presets=[] if streams else [preset("acks", "1", REQUIRED_ACKS, mark.origin)],
            topics=[gathered.destinations.get(binding, "" if binding == "binder" else binding)],
            makes=gathered.topics_of(binding, stream, look_up),
            style="spring",
            look_up=look_up,
        )
    return True


BINDERS: Final = re.compile(r"spring-cloud-(?:starter-)?stream-(?:binder-)?([a-z]+(?:-streams)?)\b")
"""Artifacts that bring a binder of Spring Cloud Stream's."""
NO_BINDERS: Final = frozenset({"test", "binder", "schema", "function", "parent", "dependencies", "reactive"})
HIGHEST: Final = 6
"""How many directories are looked into for a build file."""


def _built_binders(stream: Sequence[Setting]) -> set[str]:
    """The binders that the nearest build file of an application has, if its bindings do not tell one."""
    path = Path(stream[0].origin.path).absolute()
    if FILE.fullmatch(path.name) is None:
        return set()
    for folder in path.parents[:HIGHEST]:
        found = [folder / name for name in ("pom.xml", "build.gradle", "build.gradle.kts")]
        for file in found:
            try:
                if file.is_file() and file.stat().st_size < LARGEST:
                    return set(BINDERS.findall(decode(file.read_bytes()))) - NO_BINDERS
            except OSError:
                continue
    return set()


def _only_streams(stream: Sequence[Setting]) -> bool:
    """Whether the binder is that of Kafka Streams, and none of messages is there."""
    message = any(re.match(r"kafka\.(?!streams\.)", each.key) for each in stream)
    return not message and any(each.key.startswith("kafka.streams.") for each in stream)


def _senders(
    outputs: Mapping[str, Setting], stream: Sequence[Setting], everyones: Sequence[Setting]
) -> dict[str, Setting]:
    """The bindings that send to Kafka, each with the setting that shows it. Where no binding sends anywhere, a binder
    with settings of producers is one itself: its bindings are named in code.
    """
    types = {each.key.split(".")[1]: each.value for each in stream if re.fullmatch(r"binders\.[^.]+\.type", each.key)}
    usual = next((each.value for each in stream if squeezed(each.key) == "defaultbinder"), "")
    own_binder = {
        each.key.split(".")[1]: each.value for each in stream if re.fullmatch(r"bindings\.[^.]+\.binder", each.key)
    }

    def to_kafka(binding: str) -> bool:
        name = own_binder.get(binding, usual)
        return "kafka" in types.get(name, name or "kafka").lower()

    named = {binding: mark for binding, mark in outputs.items() if binding and to_kafka(binding)}
    if named or not all(to_kafka(binding) for binding in outputs):
        return named
    if any(each.key in PRODUCERS for each in everyones if each.key != "bootstrap.servers"):
        return {"binder": everyones[0]}
    return {}


def read_smallrye(settings: Sequence[Setting], reading: Collected, look_up: Lookup) -> None:
    """Add the producers of MicroProfile's outgoing channels that are Kafka's."""
    channels: dict[str, list[Setting]] = {}
    for setting in settings:
        if found := CHANNEL.fullmatch(setting.key):
            channels.setdefault(found[1].strip('"'), []).append(_as(setting, found[2]))
    everyones = under(settings, "kafka.")
    for channel, own in channels.items():
        by_key = latest(own)
        connector = by_key["connector"].value if "connector" in by_key else "smallrye-kafka"
        elsewhere = any(each.key.startswith(OTHER_BROKERS) for each in settings) and not everyones
        elsewhere = elsewhere or any(each.key.startswith(OTHER_ATTRIBUTES) for each in own)
        elsewhere = elsewhere or ("topic" in by_key and by_key["topic"].value.startswith("persistent://"))
        if "kafka" not in connector or (elsewhere and "connector" not in by_key):
            continue
        shared = under(settings, f"mp.messaging.connector.{connector}.")
        given = [each for each in [*everyones, *shared, *own] if _attribute(each.key)]
        for each in own:
            if not _attribute(each.key) and (key := relaxed(each.key)) is not None and "." in key:
                message = f"{connector} has no attribute {each.key!r}, and Kafka no such key"
                reading.problems.append(InputProblem(each.origin, "unknown-key", message, f"did you mean {key}?"))
        presets = [preset("acks", "1", SMALLRYE, own[0].origin)] if connector == "smallrye-kafka" else []
        reading.producer(
            channel,
            given,
            own[0].origin,
            client="java",
            framework="smallrye",
            spelling=f"mp.messaging.outgoing.{channel}.{{key}}",
            presets=presets,
            topics=[by_key["topic"].value if "topic" in by_key else channel],
            style="spring",
            look_up=look_up,
        )


def _attribute(key: str) -> bool:
    """Whether a channel's attribute goes to the client: Kafka's keys have dots, or are known."""
    return key not in NOT_THE_CLIENTS and (key in producer_keys() or ("." in key and "-" not in key))


def _as(setting: Setting, key: str) -> Setting:
    return dataclasses.replace(setting, key=key) if key != setting.key else setting


def _bytes(size: str) -> str:
    """A DataSize of Spring's as a number of bytes.

    >>> _bytes("16KB"), _bytes("100"), _bytes("${SIZE}")
    ('16384', '100', '${SIZE}')
    """
    found = re.fullmatch(r"(\d+)\s*([kKmMgG]?[bB])", size)
    return str(int(found[1]) * SIZES[found[2].lower()]) if found else size


def _is_application(document: Document) -> bool:
    """Whether a document is an application's: by its file's name, or by the frameworks' own keys."""
    if _named(document):
        return True
    if document.tree is None:
        return any(each.key.startswith(("spring.", "mp.messaging.", "%")) for each in document.settings)
    names = document.tree.names()
    return bool(names & {"spring", "mp"}) or any(key.startswith(("spring.", "mp.", "%")) for key in names)


def _named(document: Document) -> re.Match[str] | None:
    return None if document.listed else FILE.fullmatch(document.source.file)


def _keep(document: Document, reading: Collected) -> bool:
    """Keep a document until all files of its application are there."""
    source, named = document.source, _named(document)
    folder = str(PurePath(source.name or source.path).parent)
    folder = source.path + "/" + folder if source.name else str(Path(source.path).absolute().parent)
    for page in document.pages if document.tree is None else [flatten(document.tree, source)]:
        if page:
            reading.pages.setdefault(folder, []).append(Page(named[1] or "" if named else "", tuple(page)))
    return True


FORMATS: Final = (
    Format(
        name="Spring Boot, Spring Cloud Stream, Quarkus",
        reads="`application*.yml` and `application*.properties` of one directory, with their profiles",
        files=(*YAML, "*.properties"),
        rank=120,
        speaks=("mp[._]messaging", r"spring\.profiles", "on-profile"),
        named=FILE,
        claims=_is_application,
        read=_keep,
    ),
)
