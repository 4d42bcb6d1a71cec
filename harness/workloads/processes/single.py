"""One record handed to a producer, and what came of it: the part that senders of single records share."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

Heard = Callable[[KafkaError | None, int | None], None]
"""Takes a delivery's error, if it failed, and its offset, if that is known."""


def send_one(client: Producer, topic: str, partition: int, value: bytes, key: str | None, heard: Heard) -> None:
    """Hand over one record. `heard` is told the outcome: when the client is polled, or at once if it refuses it."""

    def delivered(error: KafkaError | None, message: Message | None) -> None:
        offset = message.offset() if error is None and message is not None else None
        heard(error, None if offset is None or offset < 0 else offset)

    try:
        client.produce(
            topic,
            value=value,
            key=None if key is None else key.encode(),
            partition=partition,
            on_delivery=delivered,
        )
    except BufferError:
        heard(KafkaError(KafkaError._QUEUE_FULL), None)
    except KafkaException as error:
        heard(error.args[0], None)
