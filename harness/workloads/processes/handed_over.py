"""Outputs that are handed to a library which tells nobody what came of them: Kafka Streams, Kafka Connect.

Their topic has one partition. What counts is what is in it.
"""

from __future__ import annotations

import time
from typing import Any, Final

from evidence.history import schema
from evidence.history.writer import HistoryWriter

OUTPUT_PARTITION: Final = 0


def put_on_record(writer: HistoryWriter, output: str, producer: int, sequence: int) -> dict[str, Any]:
    """Put the `send` of an output on record, whose outcome is not known. Returns whose it is, when, and the outcome,
    for other rows about it.
    """
    now = time.monotonic_ns()
    made: dict[str, Any] = {"producer": producer, "sequence": sequence, "invoked_ns": now}
    made |= {"completed_ns": now, "outcome": schema.INFO}
    writer.append(kind=schema.SEND, topic=output, partition=OUTPUT_PARTITION, **made)
    return made
