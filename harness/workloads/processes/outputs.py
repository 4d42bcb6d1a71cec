"""The final reader's second pass: what applications' outputs say that was processed.

It reads each output to its last stable offset as a reader of what is committed does (read_committed), and records for
each output the input that its bytes name. If the output states a result, the inputs that it counts are recorded, too.
Stores outside Kafka are also read: what is committed there. No program's own word is asked.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from evidence.errors import HarnessError
from evidence.history import record, schema
from evidence.history.inputs import counted_by, input_of
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.polls import ASSIGNED, Key
from harness.workloads.settings import READ_COMMITTED
from harness.workloads.stores import read_store
from harness.workloads.stores.types import Output

BATCH: Final = 2_000
POLL_S: Final = 0.1
OFFSETS_S: Final = 10.0
FIXED: Final[Mapping[str, Any]] = {
    **ASSIGNED,
    **READ_COMMITTED,
    "group.id": "kafka-chaos-outputs",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 10,
}


def read_outputs(
    writer: HistoryWriter,
    bootstrap: str,
    settings: Mapping[str, Any],
    partitions: Sequence[Key],
    stores: Sequence[str],
    deadline: float,
    run: str,
) -> None:
    """Read outputs to their ends and record what each was made from; the last row says that all are read.

    Raises HarnessError if one is not read to its end in time, or a store cannot be read: then nobody knows what was
    processed. A process of its own calls this; one that ends so leaves a history that is not whole.
    """
    if partitions:
        _read_topics(writer, bootstrap, settings, partitions, deadline)
    for place in stores:
        for output in read_store(place, run).outputs:
            _append(writer, output)
    writer.append(kind=schema.OUTPUT, outcome=schema.OK, completed_ns=time.monotonic_ns())
    writer.flush()


def _read_topics(
    writer: HistoryWriter, bootstrap: str, settings: Mapping[str, Any], partitions: Sequence[Key], deadline: float
) -> None:
    errors: list[str] = []
    with closing(Consumer(child.client_settings(bootstrap, settings, fixed=FIXED))) as client:
        ends = {key: _end(client, key, deadline) for key in partitions}
        client.assign([TopicPartition(*key, OFFSET_BEGINNING) for key in partitions])
        unread = set(partitions)
        while unread:
            if time.monotonic() >= deadline:
                names = ", ".join(f"{topic}-{number}" for topic, number in sorted(unread))
                raise HarnessError(f"outputs {names} are not read to their ends; the last errors: {errors[-5:]}")
            for message in client.consume(BATCH, POLL_S):
                key = (str(message.topic()), int(message.partition() or 0))
                if (error := message.error()) is None:
                    _record(writer, message)
                elif error.code() != KafkaError._PARTITION_EOF:
                    errors.append(error.name())
                elif (message.offset() or 0) >= ends[key]:
                    unread.discard(key)


def _end(client: Consumer, key: Key, deadline: float) -> int:
    """The end of an output for readers of what is committed, asked for again until the deadline."""
    while True:
        try:
            return int(client.get_watermark_offsets(TopicPartition(*key), timeout=OFFSETS_S)[1])
        except KafkaException as error:
            # The client may hear of other brokers meanwhile.
            if time.monotonic() >= deadline:
                raise HarnessError(f"nobody says where {key[0]}-{key[1]} ends: {error.args[0].name()}") from None
            client.poll(POLL_S)


def _record(writer: HistoryWriter, message: Message) -> None:
    """Record the input that an output names. One whose bytes are damaged or no output's is the other pass's affair."""
    value = message.value() or b""
    identity, source = record.decode(value), input_of(value)
    if identity is not None and source is not None:
        made, counted = Output(identity.producer, identity.sequence, source), counted_by(value)
        _append(writer, made, key=zlib.crc32(_bytes(message.key())) if counted else None)
        for offset in counted:
            _append(writer, replace(made, source=source._replace(offset=offset)), kind=schema.IN_RESULT)


def _bytes(key: str | bytes | None) -> bytes:
    return key.encode() if isinstance(key, str) else key or b""


def _append(writer: HistoryWriter, output: Output, *, kind: str = schema.OUTPUT, key: int | None = None) -> None:
    topic, partition, offset = output.source
    writer.append(
        kind=kind,
        outcome=schema.OK,
        topic=topic,
        partition=partition,
        offset=offset,
        producer=output.producer,
        sequence=output.sequence,
        count=key,
        completed_ns=time.monotonic_ns(),
    )
