"""When a producer may have had a reason to send a request again.

Such reasons are faults, elections and changes of the ISR that have a cause (checks/claims/spontaneous.py), and a
machine that stood still. A leader that does not know yet that it leads a new partition is one, too. An election that
nothing of the run explains is Kafka's own doing, and so is what it makes clients do.

A producer sends again what was not answered: because the connection is gone, or its request timed out, or the answer
was an error that a retry may mend. None of these comes about by itself. So a record that was sent, and acknowledged,
while nothing happened cannot have been sent twice by its client, and if it is there twice the broker wrote it twice.

A record is within reach of what happened if it was in flight then, or shortly before. It is in flight from its sending
until its outcome was known, which includes its client's time-outs. Shortly before counts because a connection that ends
when a fault is over ends late. A client waits for retry.backoff.ms before it sends a record again. So a record that was
acknowledged sooner was sent once, and what happened meanwhile explains nothing.

On a machine that is busy with other work a request may time out although nothing else happens. Then the record was in
flight for longer than the client waits, and for less without the time in which some process waited for a CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from checks.claims.spontaneous import Change, by_cause
from evidence.events import Container, Log, Partition, of
from evidence.faults.clients import FreezeClientProof, KillClientProof
from evidence.findings import Finding, Row
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import FaultFact, RunState
from evidence.spans import NEVER_NS, Span, overlap, widened

AFTER_NS: Final = 5_000_000_000
"""What a fault held up may come so long after its end: TCP tries again at intervals that double, and clients wait
before they connect anew."""

REACHED: Final = (
    "of records that were in flight when something happened, or that timed out because the machine was busy"
)
"""What `within_reach` finds, for readers."""


OF_PROCESSES: Final = (KillClientProof, FreezeClientProof)
"""Faults of a client's process, which disturb no other client."""


def disturbances(
    run: RunRecord, run_state: RunState, where: TopicPartition | None, senders: Set[str] = frozenset()
) -> list[Span]:
    """The times, from and to, at which these producers to a partition (None: to any) may have had to send again. What
    is done to another client's process is no reason, to a consumer's neither.
    """
    found = [(one.inject_ns, one.until_ns) for one in run_state.faults if strikes(one, senders)]
    found += [(event.at_ns, event.at_ns) for event in of(run_state.events, Container) if event.action != "connect"]
    explained, spontaneous = by_cause(run_state, run, where)
    own = _times(one for one in spontaneous if not one.by_machine)
    changed = _times([*explained, *spontaneous])
    for place, states in run_state.states.items():
        if where is None or place == where:
            caused = _caused(states, changed.get(place, frozenset()), own.get(place, frozenset()))
            found += [(state.at_ns, state.at_ns) for state in caused]
            found += _created(run_state, place, states[0])
    found += run_state.still
    return widened(found, 0, AFTER_NS)


def strikes(fault: FaultFact, clients: Set[str] = frozenset()) -> bool:
    """Whether a fault may have disturbed these clients. What is done to a client's process disturbs that one alone, and
    so nobody if none is named.
    """
    return fault.proof_type.strikes and not (
        issubclass(fault.proof_type, OF_PROCESSES) and clients.isdisjoint(fault.nodes)
    )


def senders_of(finding: Finding) -> frozenset[str]:
    """The producers that a finding's rows name."""
    told = (send.get("process") for row in finding.evidence for send in _sends(row))
    return frozenset(filter(None, (*told, *(row.process for row in finding.evidence))))


def _times(changed: Iterable[Change]) -> Mapping[TopicPartition | None, Set[int]]:
    """When something changed, by its place."""
    found: dict[TopicPartition | None, set[int]] = {}
    for one in changed:
        found.setdefault(one.where, set()).add(one.at_ns)
    return found


def _caused(states: Sequence[Partition], changed_ns: Set[int], own_ns: Set[int]) -> Iterator[Partition]:
    """The states of a partition after its first, but for changes that nothing explains. What comes about only because
    of the state before it, such as that a follower is back in the ISR, is explained if that is.
    """
    explained = True
    for state in states[1:]:
        explained = state.at_ns not in own_ns if state.at_ns in changed_ns else explained
        if explained:
            yield state


def _created(run_state: RunState, place: TopicPartition, first: Partition) -> Iterator[Span]:
    """From the statement that a partition has its first leader until that broker logs that it leads: whoever asks it
    before is refused, and may ask again. Nothing if it logs none of that.
    """
    leads = (
        log.at_ns
        for log in of(run_state.events, Log)
        if (log.event, log.node, (log.topic, log.partition)) == ("become-leader", broker(first.leader), place)
    )
    if (begun_ns := next(leads, None)) is not None and begun_ns > first.at_ns:
        yield first.at_ns, begun_ns


def within_reach(
    run: RunRecord, run_state: RunState, finding: Finding, backoff_ns: int = 0, request_timeout_ns: int = NEVER_NS
) -> bool:
    """Whether each record of a finding that is listed was in flight when something happened, for `backoff_ns` at least,
    or timed out because the machine was busy; one of which nobody knows when it was sent was not.
    """
    times = disturbances(run, run_state, finding.where, senders_of(finding))
    # A request times out as a whole, by its first record, and those behind it are answered with it.
    answered_ns = {
        flight[1]
        for row in finding.evidence
        for flight in _retried(row, backoff_ns)
        if _timed_out_by_machine(run_state, flight, request_timeout_ns)
    }

    def reached(flight: Span) -> bool:
        return flight[1] in answered_ns or any(overlap(flight, time) for time in times)

    return bool(finding.evidence) and all(any(map(reached, _retried(row, backoff_ns))) for row in finding.evidence)


def _timed_out_by_machine(run_state: RunState, flight: Span, request_timeout_ns: int) -> bool:
    """Whether a flight lasted longer than a request may take, and would not have if nobody had waited for a CPU."""
    lasted_ns = flight[1] - flight[0]
    return request_timeout_ns <= lasted_ns < request_timeout_ns + run_state.held_up_ns(flight)


def _retried(row: Row, backoff_ns: int) -> Iterator[Span]:
    """The flights that are long enough for a second attempt."""
    return (flight for flight in flights(row) if flight[1] - flight[0] >= backoff_ns)


def flights(row: Row) -> Iterator[Span]:
    """When the sends of a row of evidence were in flight; a send of unknown outcome stays in flight."""
    for send in _sends(row):
        invoked_ns, completed_ns = send.get("invoked_ns"), send.get("completed_ns")
        if isinstance(invoked_ns, int):
            yield invoked_ns, completed_ns if isinstance(completed_ns, int) else NEVER_NS


def _sends(row: Row) -> Iterator[Mapping[str, Any]]:
    told = [*row.detail.get("writers", ()), row.detail.get("before"), row.detail.get("after")]
    yield from (one for one in told if isinstance(one, Mapping))
