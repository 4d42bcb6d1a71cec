"""What every client of a run is configured with, unless the scenario says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

LIBRDKAFKA: Final = "librdkafka"
"""The name of confluent-kafka's library; it reads and writes unless a case or a user says otherwise."""
OWN: Final = "own"
"""The kind of a client that is a process of the user's own (docs/own-clients.md)."""
SCALA: Final = "scala"
"""The kind of Kafka's first clients, removed in 2.0."""
ZOOKEEPER: Final = "zookeeper"
"""What tells such a consumer where its group is, in what a recorder is told: ZooKeeper's address."""
COMMAND: Final = "command"
"""What tells such a client from others in what a recorder is told: its words."""
OF_LIBRDKAFKA: Final[Mapping[str, Any]] = MappingProxyType({"name": LIBRDKAFKA})
"""What a recorder is told of it (harness/workloads/libraries.py)."""

DEBUG: Final = "debug"
"""librdkafka's setting that has a client write down what it does: to stderr, which is kept with the run then."""

CLIENT: Final[Mapping[str, str]] = {
    # A client must find the new leader soon after the election, whatever happened to the old one, or it would be the
    # slowest part of every sequence.
    "topic.metadata.refresh.interval.ms": "1000",
    "topic.metadata.refresh.fast.interval.ms": "100",
    # Left out, it is three times the first of these. A client that asked a broker which says nothing would know no
    # topic after 3 s, and send nothing to anybody before that broker answers, or for socket.timeout.ms: librdkafka asks
    # the broker to which it sent something last, which is that one (rd_kafka_broker_weight_usable).
    "metadata.max.age.ms": "900000",
    "socket.connection.setup.timeout.ms": "1500",
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "500",
}

PRODUCER: Final[Mapping[str, str]] = {
    **CLIENT,
    "retry.backoff.ms": "100",
    "linger.ms": "0",
    "enable.idempotence": "false",
}

MEMBER: Final[Mapping[str, str]] = {
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    # The shortest that brokers take (group.min.session.timeout.ms): so long does a group wait for a member that died.
    "session.timeout.ms": "6000",
}
"""The consumer of an application: it begins where its group left off, and commits when its program says so."""

READ_COMMITTED: Final[Mapping[str, str]] = {"isolation.level": "read_committed"}
