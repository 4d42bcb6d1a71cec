"""The producer that a recorder is told to drive, and everything that it is configured with.

confluent-kafka gives no account of librdkafka's configuration, so the library that it has loaded is asked directly
(rd_kafka_conf_dump, rd_kafka_topic_conf_dump).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer

from harness.workloads.processes import child
from harness.workloads.processes.java import jvm_producer
from harness.workloads.processes.own import OwnProducer, own_producer
from harness.workloads.settings import COMMAND, LIBRDKAFKA

ADDRESSES: Final = frozenset({"bootstrap.servers", "metadata.broker.list"})
OURS: Final = frozenset({"log_level"})
QUIET: Final[Mapping[str, Any]] = {"log_level": 0}
"""What goes wrong is in the history."""
PRODUCER_TYPE: Final = 0
"""RD_KAFKA_PRODUCER."""


def open_producer(
    library: Mapping[str, Any], bootstrap: str, settings: Mapping[str, Any]
) -> tuple[Any, dict[str, str]]:
    """A producer of a library, to be used as `confluent_kafka.Producer` is, and its configuration.

    A library that is told to be its `own` is given no defaults of the harness's, and shares its process with others.

    Raises HarnessError or KafkaException for settings that the client refuses, ClientFailed for a client of the user's
    own that does not speak as it should.
    """
    if COMMAND in library:
        return own_producer(library, bootstrap, settings)
    if library["name"] == LIBRDKAFKA:
        wanted = child.client_settings(bootstrap, settings)
        if library.get("own"):
            wanted = dict(QUIET) | dict(settings) | {"bootstrap.servers": bootstrap}
        return Producer(wanted), librdkafka_configuration(wanted)
    producer = jvm_producer(
        library["name"],
        bootstrap,
        settings,
        jars=Path(library["jars"]),
        java_home=Path(library["java_home"]),
        in_thread=bool(library.get("own")),
    )
    return producer, producer.configuration()


def end(producer: Any) -> None:
    """End what a producer has beside the recorder's own process."""
    if isinstance(producer, OwnProducer):
        producer.close()


def librdkafka_configuration(settings: Mapping[str, Any]) -> dict[str, str]:
    """Every setting of a librdkafka producer, those of its topics too; empty if its library is not found.

    A producer of these settings is made and ended at once, without addresses: what one setting does to others (as
    idempotence to acks and to requests in flight) is decided when it is made.
    """
    if (path := _library()) is None:
        return {}
    library = ctypes.CDLL(str(path))
    for name in ("conf_new", "new", "conf", "default_topic_conf_dup"):
        getattr(library, f"rd_kafka_{name}").restype = ctypes.c_void_p
    reason = ctypes.create_string_buffer(512)
    wanted = ctypes.c_void_p(library.rd_kafka_conf_new())
    for name, value in settings.items():
        if name not in ADDRESSES:
            library.rd_kafka_conf_set(wanted, name.encode(), _text(value).encode(), reason, len(reason))
    producer = ctypes.c_void_p(library.rd_kafka_new(PRODUCER_TYPE, wanted, reason, len(reason)))
    topics = ctypes.c_void_p(library.rd_kafka_default_topic_conf_dup(producer))
    found = dict(_dump(library, library.rd_kafka_conf_dump, ctypes.c_void_p(library.rd_kafka_conf(producer))))
    found |= _dump(library, library.rd_kafka_topic_conf_dump, topics)
    library.rd_kafka_topic_conf_destroy(topics)
    library.rd_kafka_destroy(producer)
    return {name: found[name] for name in sorted(found.keys() - OURS)}


def _dump(library: ctypes.CDLL, dump: Any, configuration: ctypes.c_void_p) -> Iterator[tuple[str, str]]:
    dump.restype = ctypes.POINTER(ctypes.c_char_p)
    count = ctypes.c_size_t()
    words = dump(configuration, ctypes.byref(count))
    texts = [(words[number] or b"").decode() for number in range(count.value)]
    library.rd_kafka_conf_dump_free(words, count)
    return zip(texts[::2], texts[1::2], strict=True)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _library() -> Path | None:
    """The librdkafka that this process has loaded."""
    mapped = Path("/proc/self/maps").read_text().splitlines()
    return next((Path(line.split(maxsplit=5)[5]) for line in mapped if "librdkafka" in line), None)
