"""Clients of librdkafka with which the harness itself asks brokers, beside the clients whose histories are recorded.

confluent_kafka is loaded when the first of them is made. Scenarios import the words that need these clients, and a
list of scenarios or an answer of the museum is given where nothing is installed to run one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient

ANYWHERE: Final = -1001
"""No offset (RD_KAFKA_OFFSET_INVALID)."""
END: Final = -191
"""The end of a partition (RD_KAFKA_RESP_ERR__PARTITION_EOF)."""


def client_settings(bootstrap: str, by_version: Mapping[str, str]) -> dict[str, Any]:
    """What each of these clients is given: where the brokers are, what their version needs, and to write no log."""
    return {"bootstrap.servers": bootstrap, "log_level": 0, **by_version}


def consumer(settings: Mapping[str, Any]) -> Consumer:
    """A consumer, which connects at once."""
    from confluent_kafka import Consumer

    return Consumer(dict(settings))


def administrator(settings: Mapping[str, Any]) -> AdminClient:
    """A client for what tools ask."""
    from confluent_kafka.admin import AdminClient

    return AdminClient(dict(settings))


def end(client: AdminClient, t: Iterable[Any], *, committed: bool, timeout_s: float) -> tuple[int, int | None]:
    """To which offset a partition may be read, by those who read what is committed or by those who read everything, and
    in which epoch the broker leads that says so; None before 2.2, which does not say it
    (KafkaApis.handleListOffsetRequestV1AndAbove).

    Raises KafkaException if there is no answer in time.
    """
    from confluent_kafka import IsolationLevel
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # it is not in their __all__

    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    (asked,) = client.list_offsets({place(t): latest}, isolation_level=level, request_timeout=timeout_s).values()
    told = asked.result()
    return int(told.offset), told.leader_epoch


def place(t: Iterable[Any], offset: int = ANYWHERE, metadata: str | None = None) -> TopicPartition:
    """A place in a partition (its topic and number), as librdkafka has it."""
    from confluent_kafka import TopicPartition

    topic, number = t
    if metadata is None:
        return TopicPartition(topic, number, offset)
    return TopicPartition(topic, number, offset, metadata)


def is_end(error: KafkaError) -> bool:
    """Whether what came in place of a record says that there is none yet (enable.partition.eof)."""
    return bool(error.code() == END)


def refusals() -> type[KafkaException]:
    """What these clients raise when a broker refuses, or when nobody answers."""
    from confluent_kafka import KafkaException

    return KafkaException
