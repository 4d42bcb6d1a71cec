"""Tiny histories written by hand: a row a line, read like a table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from checks.view import PartitionView, view_of
from evidence.history import schema
from evidence.history.read import PLAIN_SCHEMA

Row = dict[str, Any]


def sent(
    sequence: int, offset: int | None = None, outcome: str = "ok", *, producer: int = 1, acks: int = -1, **more: Any
) -> Row:
    """Producer 1 sent a record."""
    return {
        "kind": schema.SEND,
        "outcome": outcome,
        "producer": producer,
        "sequence": sequence,
        "offset": offset,
        "acks": acks,
        "process": f"producer-{producer}",
        "invoked_ns": 10 * sequence,
        "completed_ns": 10 * sequence + 5,
        **more,
    }


def polled(
    offset: int, sequence: int, *, producer: int = 1, outcome: str = "ok", valid: bool = True, **more: Any
) -> Row:
    """The reader was given a record."""
    return {
        "kind": schema.POLL,
        "outcome": outcome,
        "producer": producer,
        "sequence": sequence,
        "offset": offset,
        "valid": valid,
        "process": "reader-1",
        "completed_ns": 1000 + offset,
        **more,
    }


def assigned(*, reader: str = "reader-1") -> Row:
    """The reader was given the partition."""
    return {"kind": schema.ASSIGN, "outcome": schema.OK, "process": reader}


def reserved(first: int, count: int, *, producer: int = 1) -> Row:
    """Producer 1 may send these sequences."""
    return {
        "kind": schema.RESERVE,
        "outcome": schema.INFO,
        "producer": producer,
        "sequence": first,
        "count": count,
        "process": f"producer-{producer}",
    }


def final_read(end: int) -> Row:
    """The final read came to the brokers' end offset."""
    return {"kind": schema.FINAL_READ, "outcome": "ok", "offset": end, "process": "final-read-1"}


def asked_end(end: int, at_ns: int) -> Row:
    """The final reader asked for the brokers' end offset."""
    row = {"kind": schema.END_OFFSETS, "outcome": "ok", "offset": end, "process": "final-read-1"}
    return row | {"invoked_ns": at_ns, "completed_ns": at_ns + 1}


def table(*rows: Row) -> pa.Table:
    """The rows as the reader of histories gives them."""
    full = [{"topic": "t", "partition": 0, "op": number} | row for number, row in enumerate(rows)]
    return pa.Table.from_pylist(full, schema=PLAIN_SCHEMA)


def view(*rows: Row, **circumstances: Any) -> PartitionView:
    """What the analysis sees of these rows."""
    return view_of("t", 0, table(*rows), **circumstances)
