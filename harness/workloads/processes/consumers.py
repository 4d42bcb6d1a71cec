"""The consumer that a recorder is told to drive: librdkafka's, or Kafka's own of any release from 0.9 on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer

from harness.workloads.processes import child
from harness.workloads.processes.java_consumer import jvm_consumer
from harness.workloads.processes.polls import READING
from harness.workloads.settings import LIBRDKAFKA


def open_consumer(library: Mapping[str, Any], bootstrap: str, settings: Mapping[str, Any]) -> Any:
    """A consumer of a library, to be used as `confluent_kafka.Consumer` is.

    Raises HarnessError or KafkaException for settings that the client refuses.
    """
    if library["name"] == LIBRDKAFKA:
        return Consumer(child.client_settings(bootstrap, dict(READING) | dict(settings)))
    return jvm_consumer(
        library["name"],
        bootstrap,
        settings,
        jars=Path(library["jars"]),
        java_home=Path(library["java_home"]),
    )
