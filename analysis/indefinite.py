"""Operations of unknown outcome, over all partitions: what a read in one of them proves in the others.

An operation is committed for sure if it is ok, or if an ok poll returned a value that it sent. It may have sent to
several partitions, or have processed inputs of one into outputs of another. So each partition's piece tells what it
knows of the operations of unknown outcome (`unknown_operations`: few, and none in most runs). `settle` puts that
together. Only the partitions for which something new comes of it are checked again.

    proven   an ok poll returned one of its values, in whatever partition
    absent   none of its values is in any log: each partition that it sent to was read to the end that the brokers
             stated after the client had given the operation up, and nobody was given the value

What is absent tells of inputs alone: a pipeline did not process them. Kafka's own rule for a transaction is the same,
it is there as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from checks.settled_operations import Operation, Settled
from checks.view import PartitionView


def _sent(view: PartitionView, processors: Collection[str]) -> Iterator[tuple[Operation, int]]:
    """Operations of unknown outcome that may concern other partitions, with the rows of their sends to this one."""
    sends = view.sends
    of_pipelines = np.isin(sends.process, [n for n, name in enumerate(view.processes) if name in processors])
    for row in np.flatnonzero(sends.info & ((sends.transaction >= 0) | of_pipelines)).tolist():
        yield view.operation(sends, row), row


def unknown_operations(view: PartitionView, processors: Collection[str] = ()) -> list[dict[str, Any]]:
    """What this partition says of each operation of unknown outcome, a row each.

    `processors`: processes that make inputs into outputs. A send outside a transaction is one record and one
    operation; only theirs are the outputs of inputs elsewhere.
    """
    found: dict[Operation, dict[str, Any]] = {}

    def row_of(operation: Operation) -> dict[str, Any]:
        empty = {"operation": list(operation), "proven": False, "sent": 0, "absent": 0, "processed": False}
        return found.setdefault(operation, empty)

    committed, given = view.committed, view.read
    for operation, row in _sent(view, processors):
        one = row_of(operation)
        over = view.final is not None and 0 <= view.sends.completed_ns[row] <= view.final.asked_ns
        one["proven"] = one["proven"] or bool(committed[row])
        one["sent"] += 1
        one["absent"] += bool(over and not given[row])
    steps = view.processed
    for row in [] if steps is None else np.flatnonzero(~(steps.ok | steps.fail)).tolist():
        assert steps is not None
        row_of(view.operation(steps, row))["processed"] = True
    return list(found.values())


def settle(rows: Iterable[Mapping[str, Any]]) -> Settled:
    """What the rows of all partitions prove together."""
    proven: set[Operation] = set()
    there: set[Operation] = set()
    sent: set[Operation] = set()
    for row in rows:
        operation = operation_of(row)
        if row["proven"]:
            proven.add(operation)
        if row["sent"]:
            sent.add(operation)
        if row["sent"] > row["absent"]:
            there.add(operation)
    return Settled(frozenset(proven), frozenset(sent - there - proven))


def operation_of(row: Mapping[str, Any]) -> Operation:
    """The operation that a row of `unknown_operations` is about."""
    kind, who, number = row["operation"]
    return kind, who, number


def newly_settled(rows: Iterable[Mapping[str, Any]], settled: Settled) -> Settled:
    """What is settled and not known from these rows of one partition. It is checked again unless that is nothing."""
    rows = list(rows)
    proven = {operation_of(row) for row in rows if not row["proven"] or row["processed"]} & settled.proven
    absent = {operation_of(row) for row in rows if row["processed"]} & settled.absent
    return Settled(frozenset(proven), frozenset(absent))
