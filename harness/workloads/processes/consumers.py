"""The consumer that a recorder is told to drive: librdkafka's, Kafka's own from 0.9 on, or the one of 0.8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer

from harness.workloads.processes import child
from harness.workloads.processes.java_consumer import jvm_consumer
from harness.workloads.processes.polls import READING
from harness.workloads.processes.scala_consumer import scala_consumer
from harness.workloads.settings import LIBRDKAFKA, SCALA, ZOOKEEPER


def open_consumer(
    library: Mapping[str, Any],
    bootstrap: str,
    settings: Mapping[str, Any],
    on_commit: Callable[..., None] | None = None,
) -> Any:
    """A consumer of a library, to be used as `confluent_kafka.Consumer` is. `on_commit` is told in a poll what came of
    a commit that nobody waited for: its error, None if there is none, and the offsets.

    Raises HarnessError or KafkaException for settings that the client refuses.
    """
    if library["name"] == LIBRDKAFKA:
        told = {} if on_commit is None else {"on_commit": on_commit}
        return Consumer(child.client_settings(bootstrap, dict(READING) | dict(settings), fixed=told))
    java = {"jars": Path(library["jars"]), "java_home": Path(library["java_home"])}
    if library["name"].startswith(f"{SCALA}-"):
        return scala_consumer(library["name"], library[ZOOKEEPER], settings, **java)
    return jvm_consumer(library["name"], bootstrap, settings, on_commit=on_commit, **java)
