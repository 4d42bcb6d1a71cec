"""Kafka Connect: workers (`producer.` for all connectors) and connectors (`producer.override.`), .properties or JSON.

What a worker passes to every producer it makes is Connect's own (Worker.baseProducerConfigs): acks=all, one request in
flight, no end of retries, and enable.idempotence=false, which any of the prefixes may override. A sink connector has a
producer only for its dead letter queue.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from audit.model import Origin, ProducerConfig, Setting, TopicConfig
from audit.readers.collect import Collected, preset
from audit.readers.creates import FACTOR, OF_CONNECTORS, made_with
from audit.readers.format import JSON, PROPERTIES, YAML, Document, Format
from audit.readers.names import latest, under
from audit.readers.placeholders import Style
from audit.readers.text import Text
from audit.readers.tree import Table, flatten

WORKER: Final = frozenset(
    {"config.storage.topic", "offset.storage.topic", "status.storage.topic", "offset.storage.file.filename"}
)
CONNECT: Final = "Kafka Connect, Worker.baseProducerConfigs"
OVERRIDE: Final = "producer.override."
OF_DEAD_LETTERS: Final = "errors.deadletterqueue.topic."
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"


def presets(origin: Origin, *, exactly_once: bool = False) -> list[Setting]:
    """What Connect passes to a connector's producer where nothing is written."""
    found = [
        preset("acks", "all", CONNECT, origin),
        preset("max.in.flight.requests.per.connection", "1", CONNECT, origin),
        preset("delivery.timeout.ms", "2147483647", CONNECT, origin),
        preset("max.block.ms", "9223372036854775807", CONNECT, origin),
        preset("enable.idempotence", "false", CONNECT, origin),
    ]
    if exactly_once:
        note = "exactly.once.source.support=enabled (KIP-618)"
        found += [
            preset("enable.idempotence", "true", note, origin),
            preset("transactional.id", "(its own)", note, origin),
        ]
    return found


def is_worker(keys: Iterable[str]) -> bool:
    """Whether settings are a worker's."""
    return bool(WORKER & set(keys))


def read_worker(
    source: Text,
    settings: Sequence[Setting],
    reading: Collected,
    style: Style,
    *,
    spelling: str = "producer.{key}",
    name: str = "",
    release: str | None = None,
    release_from: str = "",
    makes: TopicConfig | None = None,
) -> None:
    """Add the producer that a worker gives to its source connectors."""
    by_key = latest(settings)
    mark = next((by_key[key] for key in by_key if key in WORKER), settings[0])
    once = by_key.get("exactly.once.source.support")
    shared = [setting for setting in settings if setting.key == "bootstrap.servers"]
    reading.producer(
        name or (by_key["group.id"].value if "group.id" in by_key else source.file),
        [*shared, *under(settings, "producer.")],
        mark.origin,
        client="java",
        framework="connect",
        spelling=spelling,
        presets=presets(mark.origin, exactly_once=once is not None and once.value.lower() == "enabled"),
        style=style,
        release=release,
        release_from=release_from,
        makes=makes,
    )


def read_connector(
    name: str,
    settings: Sequence[Setting],
    reading: Collected,
    style: Style,
    *,
    shared: Sequence[Setting] = (),
    release: str | None = None,
    release_from: str = "",
) -> bool:
    """Add a connector's producer, if it has one; `shared`: what its worker gives to all of its producers."""
    by_key = latest(settings)
    kind = by_key["connector.class"]
    sink = "sink" in kind.value.lower() and "source" not in kind.value.lower()
    dead_letters = by_key.get(DEAD_LETTERS)
    overrides = under(settings, OVERRIDE)
    if sink and dead_letters is None and not overrides:
        reading.ignored["a sink connector's, which writes to no topic"] += 1
        return True
    topics = (
        [dead_letters.value]
        if sink and dead_letters
        else [by_key[key].value for key in ("topic", "kafka.topic") if key in by_key]
    )
    own = by_key.get("name")
    reading.producer(
        name or (own.value if own else kind.value.rpartition(".")[2]),
        [*shared, *overrides],
        (overrides[0] if overrides else kind).origin,
        client="java",
        framework="connect",
        spelling=f"{OVERRIDE}{{key}}",
        presets=presets(kind.origin),
        topics=topics,
        style=style,
        release=release,
        release_from=release_from,
        makes=made_with(under(settings, OF_DEAD_LETTERS if sink else _of_topics(kind.value))),
    )
    return True


def _of_topics(kind: str) -> str:
    """What stands before the settings of topics that a connector of a class makes."""
    return "" if kind.endswith("MirrorSourceConnector") else OF_CONNECTORS


def join(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Give each connector what its worker says, if one worker is in its directory, or one in all that was read."""
    workers = [each for each in producers if each.framework == "connect" and _is_workers(each)]

    def joined(producer: ProducerConfig) -> ProducerConfig:
        if producer.framework != "connect" or _is_workers(producer):
            return producer
        beside = [each for each in workers if _folder(each) == _folder(producer)]
        beside = beside or [each for each in workers if each.unit and each.unit == producer.unit]
        beside = beside or [each for each in workers if _folder(each) in _folder(producer).parents]
        beside = beside or [each for each in workers if len(workers) == 1 and _is_sibling(each, producer)]
        if len(beside) != 1:
            return producer
        note = f"its worker, {beside[0].origin}"
        given = {key: dataclasses.replace(setting, note=note) for key, setting in beside[0].settings.items()}
        told = producer if producer.release is not None else beside[0]
        return dataclasses.replace(
            producer,
            presets={**producer.presets, **beside[0].presets, **given},
            build=beside[0].build,
            namespace=producer.namespace or beside[0].namespace,
            release=told.release,
            release_from=told.release_from,
        )

    return [joined(each) for each in producers]


def _is_sibling(worker: ProducerConfig, connector: ProducerConfig) -> bool:
    """Whether a worker and a connector lie in directories of one directory: `connect/.env`, `connectors/a.json`."""
    return _folder(worker).parent == _folder(connector).parent != _folder(worker)


def _is_workers(producer: ProducerConfig) -> bool:
    return OVERRIDE not in producer.spelling


def _folder(producer: ProducerConfig) -> PurePath:
    return PurePath(producer.origin.path).parent


def _is_catalog(tree: Table) -> bool:
    """Whether a document describes a connector that people may use: {"connector": {"class": …}, "properties": …}."""
    return isinstance(tree.get("connector"), Table) and "class" in tree.table("connector").names()


def _is_request(document: Document) -> bool:
    """Whether it is a connector as Connect's REST interface takes it: its settings, or its name and its `config`."""
    tree = document.tree
    if tree is None or _is_catalog(tree):
        return False
    return "connector.class" in tree.names() | tree.table("config").names()


def read_request(source: Text, tree: Table, reading: Collected, style: Style) -> bool:
    """Add the producer of a connector as Connect's REST interface takes it; whether it is one."""
    config = tree.table("config")
    config = config if "connector.class" in config.names() else tree
    if "connector.class" not in config.names():
        return False
    return read_connector(tree.text("name"), flatten(config, source), reading, style)


def _read_request(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    return read_request(document.source, document.tree, reading, "none")


def _read_worker(document: Document, reading: Collected) -> bool:
    read_worker(document.source, document.settings, reading, "none")
    return True


ARROW: Final = re.compile(r"([\w.-]+)->([\w.-]+)\.enabled")


def _is_mirror(document: Document) -> bool:
    return "clusters" in document.keys and any(ARROW.fullmatch(key) for key in document.keys)


def _read_mirror(document: Document, reading: Collected) -> bool:
    """MirrorMaker 2 by itself: for each flow that is enabled, the worker of the cluster that is written to."""
    by_key = latest(document.settings)
    enabled = [(found, each) for key, each in by_key.items() if (found := ARROW.fullmatch(key))]
    flows = [found for found, each in enabled if each.value.strip().lower() == "true"]
    targets = dict.fromkeys(found[2] for found in flows)
    for target in targets:
        own = under(document.settings, f"{target}.")
        shared = [each for each in document.settings if each.key.startswith("producer.")]
        servers = [each for each in own if each.key == "bootstrap.servers"]
        given = [*under(shared, "producer."), *under(own, "producer.")]
        mark = given[-1] if given else servers[0] if servers else document.settings[0]
        into = [
            each for found in flows if found[2] == target for each in under(document.settings, f"{found[1]}->{target}.")
        ]
        made = [each for each in (*document.settings, *own, *into) if each.key == FACTOR]
        reading.producer(
            target, [*servers, *given], mark.origin, client="java", framework="connect",
            spelling=f"{target}.producer.{{key}}", presets=presets(mark.origin), style="none", makes=made_with(made),
        )  # fmt: skip
    return bool(targets)


FORMATS: Final = (
    Format(
        name="MirrorMaker 2",
        reads="the producer of each cluster that a flow which is enabled writes to",
        files=PROPERTIES,
        rank=205,
        claims=_is_mirror,
        read=_read_mirror,
    ),
    Format(
        name="Kafka Connect's connectors, in JSON",
        reads="`producer.override.*`, and what the worker beside it gives",
        files=(*JSON, *YAML),
        rank=130,
        speaks=(r"connector\.class",),
        claims=_is_request,
        read=_read_request,
    ),
    Format(
        name="Kafka Connect's workers",
        reads="`producer.*`, which is every connector's",
        files=(*PROPERTIES, *YAML, *JSON),
        rank=210,
        claims=lambda document: is_worker(document.keys),
        read=_read_worker,
    ),
    Format(
        name="Kafka Connect's connectors",
        reads="as in JSON",
        files=PROPERTIES,
        rank=220,
        claims=lambda document: (
            "connector.class" in document.keys and not (document.tree is not None and _is_catalog(document.tree))
        ),
        read=lambda document, reading: read_connector("", document.settings, reading, "none"),
    ),
)
