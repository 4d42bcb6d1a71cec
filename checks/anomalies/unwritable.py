"""unwritable: a cluster that nobody disturbs refuses records of a load, or does not answer for too long.

No record is lost by it and no reader is told anything wrong, and yet producers stand still. What a step sends by itself
that step judges. Of the records of a load nobody else asks.

When an answer is owed stands in checks/service.py. Errors count that a leader gives, or a client gives itself because
there was no answer, where something is the matter with the cluster (`UNAVAILABLE`). A record that is too large, or a
topic that is not there, is not among them, nor is anything that happens to a transaction. A record that has no answer
when its load ends counts as one that is acknowledged late, by the time that it had. An idempotent producer's
sequence is out of order also where the broker has forgotten its state: because nothing was sent for long, or because
its records are gone (KIP-360). So that error counts only where nothing was set for that and nobody deleted records.
After how long a client of the user's own gives a record up nobody knows, so of these only what leaders answered counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from checks.anomaly import HISTORY, KEPT_ROWS, SERVICE, anomaly
from checks.service import LATE_NS, Service
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, identity_of, sender
from evidence.basis import Basis
from evidence.events import RecordsDeleted, of
from evidence.spans import Span, overlap
from evidence.text import plural

FORGOTTEN: Final = "OUT_OF_ORDER_SEQUENCE_NUMBER"
FORGETS: Final = ("producer.id.expiration.ms", "transactional.id.expiration.ms", "log.retention.ms", "retention.ms")
"""Settings that make a broker forget a producer early."""
REFUSED: Final = frozenset(
    {
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        FORGOTTEN,
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "NOT_LEADER_OR_FOLLOWER",
        "BROKER_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "UNKNOWN",
        "UNKNOWN_SERVER_ERROR",
    }
)
"""What a leader answers."""
GIVEN_UP: Final = frozenset(
    {"REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "TIMEOUT", "TimeoutException", "_MSG_TIMED_OUT", "_TIMED_OUT"}
    | {"_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN"}
)
"""What says that there was no answer in time."""
UNAVAILABLE: Final = REFUSED | GIVEN_UP
"""Names of librdkafka and of Java clients."""
PURGED: Final = frozenset({"_PURGE_INFLIGHT", "_PURGE_QUEUE"})
"""What a load says of records that have no answer yet, a minute after it was told to end: of all clients alike."""


class Unserved(NamedTuple):
    """A record that was not acknowledged, or late, though nothing had happened."""

    row: int
    why: str
    by_machine: bool
    """Whether the machine may be the reason."""


def unserved(view: PartitionView, service: Service) -> list[Unserved]:
    """The records of loads that were refused, given up, acknowledged late or not answered while an answer was owed."""
    sends = view.sends
    late = sends.ok & (sends.completed_ns - sends.invoked_ns > LATE_NS) & (sends.invoked_ns >= 0)
    failed = (row for row, name in sends.errors.items() if name in UNAVAILABLE | PURGED)
    rows = sorted({*np.flatnonzero(late).tolist(), *failed})
    return list(_unserved(view, service, rows)) if rows and service.owed else []


def _unserved(view: PartitionView, service: Service, rows: list[int]) -> Iterator[Unserved]:
    sends, disturbed, forgets = view.sends, dict[str, list[Span]](), _forgets(service)
    for row in rows:
        flight = (int(sends.invoked_ns[row]), int(sends.completed_ns[row]))
        client = view.processes[sends.process[row]]
        if min(flight) < 0 or sends.transaction[row] >= 0 or _is_scripted(view, service, row):
            continue
        why, by_machine = _judged(sends.errors.get(row), flight, service, acknowledged=bool(sends.ok[row]))
        if not why or (forgets and why == FORGOTTEN) or (why not in REFUSED and service.own_client(client)):
            continue
        if client not in disturbed:
            disturbed[client] = service.disturbed(client)
        if not any(overlap(flight, span) for span in disturbed[client]):
            yield Unserved(row, why, by_machine(flight))


def _judged(
    error: str | None, flight: Span, service: Service, *, acknowledged: bool
) -> tuple[str, Callable[[Span], bool]]:
    """What is the matter with a record, in a word, and what tells whether the machine may be the reason."""
    if acknowledged or error in PURGED:
        what = "acknowledged late" if acknowledged else "not answered"
        return what if flight[1] - flight[0] > service.late_ns else "", service.late_by_machine
    return error or "", service.given_up_by_machine if error in GIVEN_UP else service.refused_by_machine


def by_machine(view: PartitionView, service: Service) -> str | None:
    """How many records the machine may be the reason for, and of what, in a line; None if there are none."""
    found = [one for one in unserved(view, service) if one.by_machine]
    why = ", ".join(dict.fromkeys(one.why for one in found))
    records = plural(len(found), "record")
    return f"{records} of loads to {view.topic}-{view.partition} ({why}), and nothing had happened" if found else None


def _is_scripted(view: PartitionView, service: Service, row: int) -> bool:
    record = identity_of(int(view.sends.value[row]))
    return (record["producer"], record["sequence"]) in service.scripted


def _forgets(service: Service) -> bool:
    """Whether a broker may have forgotten a producer."""
    topic = (plan.settings for plan in service.run.topics if plan.name == service.where[0])
    stated = {name.rpartition(":")[2] for settings in (service.run.settings, *topic) for name in settings}
    return not stated.isdisjoint(FORGETS) or bool(of(service.run_state.events, RecordsDeleted))


def _row(view: PartitionView, one: Unserved) -> dict[str, Any]:
    return sender(view, one.row) | {"error": one.why}


@anomaly(
    "unwritable",
    source="Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555; broker configuration: "
    "replica.lag.time.max.ms; KIP-98 (sequences of an idempotent producer)",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY, SERVICE),
    screened=KEPT_ROWS,
)
def unwritable(view: PartitionView, service: Service) -> Rows:
    """A record of a load was refused, given up, acknowledged late or not answered, although the partition had a leader,
    enough replicas were in sync, and nothing had happened that may hold up its producer.

    Late is what takes longer than a follower may lag and stay in the ISR (replica.lag.time.max.ms, and how often the
    leader looks), and 10 s. Nothing had happened: no fault lasted, or had ended so short a time before that it may
    still be felt, the partition's leader and ISR were the same, nobody set anything, no observer was blind, and the
    machine had held nobody up for long. Where it had there is a doubt.
    """
    found = [one for one in unserved(view, service) if not one.by_machine]
    return Rows((_row(view, one) for one in found[:EVIDENCE_LIMIT]), total=len(found))
