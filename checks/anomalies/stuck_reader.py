"""stuck-reader: a consumer that holds a partition is given no more of its records, up to its end.

A final reader finds them, so nothing is lost, and yet nobody reads. It may be given none at all, or none beyond some
offset, such as where a transaction that has ended still holds back the last stable offset.

Consumers count that had not given the partition back when they closed. When the partition owes them records stands in
checks/service.py. What makes a reader stop for reasons of its own is left out. So are applications, which may be busy
with an input, clients of the user's own, and partitions of which records were deleted. A consumer that reads what is
committed waits for open transactions: nothing is said of it if the end of one is not known, or came late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from checks.anomalies.last_stable_offset import STUCK_NS
from checks.anomaly import HISTORY, SERVICE, absent_if, anomaly
from checks.service import Service
from checks.view import NO_OFFSET, PartitionView, identity_of
from evidence.basis import Basis
from evidence.events import RecordsDeleted, of

Evidence = dict[str, Any]
CONSUMER: Final = "consumer"


class Waiting(NamedTuple):
    """A consumer that held a partition to its end, and was given nothing for long before."""

    process: int
    """Its code."""
    given_ns: int
    """When it was given the partition."""
    closed_ns: int


def waiting(view: PartitionView, service: Service) -> list[Waiting]:
    """The consumers that were given nothing in the last `STUCK_NS` before they closed."""
    consumers = {one.name for one in service.run.of_kind(CONSUMER) if not service.own_client(one.name)}
    found = []
    for process, given_ns in view.held.items():
        name = view.processes[process]
        closed_ns = view.closed_ns.get(name)
        if name not in consumers or closed_ns is None:
            continue
        polled_ns = view.polls.completed_ns[view.polls.process == process]
        if closed_ns - max([given_ns, *polled_ns[-1:].tolist()]) >= STUCK_NS:
            found.append(Waiting(process, given_ns, closed_ns))
    return found


def nobody_waits(view: PartitionView, service: Service) -> bool:
    """Whether each consumer was given something shortly before it closed: screening keeps what it was given last."""
    return not waiting(view, service)


def _held_back(view: PartitionView, one: Waiting) -> bool:
    """Whether an open transaction may hold back what a consumer is given."""
    if one.process in view.uncommitted_readers:
        return False
    sends = view.sends
    of_transactions = sends.transaction >= 0
    ended = (sends.ok | sends.fail) & (sends.completed_ns >= 0) & (sends.completed_ns <= one.closed_ns - STUCK_NS)
    return view.writers_missing or bool(np.any(of_transactions & ~ended))


def _stuck(view: PartitionView, service: Service) -> Iterator[tuple[Evidence, bool]]:
    """Each consumer that is stuck, as evidence, and whether the machine may be the reason."""
    sends, polls = view.sends, view.polls
    if not service.owed or of(service.run_state.events, RecordsDeleted):
        return
    for one in waiting(view, service):
        read = polls.offset[polls.process == one.process]
        last = int(read.max()) if len(read) else NO_OFFSET
        owed = sends.ok & (sends.offset > last) & (sends.completed_ns >= 0)
        owed &= sends.completed_ns <= one.closed_ns - STUCK_NS
        if last == NO_OFFSET:  # where it begins is not known
            owed &= sends.invoked_ns >= one.given_ns
        span = (one.closed_ns - STUCK_NS, one.closed_ns)
        if not owed.any() or _held_back(view, one) or not service.calm(span, view.processes[one.process]):
            continue
        first = int(np.flatnonzero(owed)[np.argmin(sends.offset[owed])])
        row = {
            **identity_of(int(sends.value[first])),
            "offset": int(sends.offset[first]),
            "process": view.processes[one.process],
            "read_to": None if last == NO_OFFSET else last,
            "not_given": int(owed.sum()),
            "acknowledged_ns": int(sends.completed_ns[first]),
            "at_ns": one.closed_ns,
        }
        yield row, service.given_up_by_machine(span)


def starved_by_machine(view: PartitionView, service: Service) -> str | None:
    """Which consumers the machine may have kept from reading, in a line; None if there are none."""
    names = [row["process"] for row, by_machine in _stuck(view, service) if by_machine]
    return f"{', '.join(names)} got nothing more of {view.topic}-{view.partition}" if names else None


@anomaly(
    "stuck-reader",
    source="Kafka documentation, Design: the consumer, replication (committed messages are given out to consumers); "
    "KIP-98 (last stable offset)",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY, SERVICE),
    screened=absent_if(nobody_waits),
)
def stuck_reader(view: PartitionView, service: Service) -> list[Evidence]:
    """A consumer that held a partition was given no more of its records, although they had been acknowledged 20 s and
    more before it closed, and nothing had happened that may hold up its reading.

    As of unwritable; and no transaction was open that may hold back what is committed. Where the machine held somebody
    up for half of the time there is a doubt.
    """
    return [row for row, by_machine in _stuck(view, service) if not by_machine]
