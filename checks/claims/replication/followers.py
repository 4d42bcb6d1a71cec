"""Claims about who serves consumers: the leader, or a follower in their own rack (KIP-392).

Nobody says who has served a consumer. The records that it was given show it. While the leader's answers to clients are
held back, a new record comes from somebody else or not at all. A follower that is cut from the leader cannot give
records that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import faults, judged
from evidence.basis import Basis
from evidence.events import Position, of
from evidence.faults.network import HoldProof
from evidence.nodes import broker
from evidence.run import ProcessRecord
from evidence.run_state import CLIENTS, FaultFact, RunState, Sent
from evidence.spans import NEVER_NS
from evidence.text import plural

CLIENT_RACK = "client.rack"


def _rack_of(evidence: RunEvidence, number: int) -> str | None:
    return evidence.run.settings.get(f"{number}:broker.rack")


def _given(run_state: RunState, process: str, one: Sent) -> int | None:
    """When a consumer was first given records beyond this one's offset; None if it never was."""
    positions = (
        position.read_ns
        for position in of(run_state.events, Position)
        if (position.process, position.topic, position.partition) == (process, one.topic, one.partition)
        and position.offset > (one.offset if one.offset is not None else NEVER_NS)
    )
    return min(positions, default=None)


def _led_elsewhere(run_state: RunState, process: str, one: Sent, leader: int, until_ns: int) -> bool:
    """Whether a consumer was given records of a partition with another leader after this one was sent."""
    for position in of(run_state.events, Position):
        if position.process == process and one.sent_ns < position.read_ns < until_ns:
            state = run_state.state_at(position.topic, position.partition, position.read_ns)
            if state is not None and state.leader != leader:
                return True
    return False


def _row(process: ProcessRecord, one: Sent, leader: int, given_ns: int | None, until_ns: int) -> dict[str, Any]:
    return {
        "process": process.name,
        "topic": one.topic,
        "partition": one.partition,
        "offset": one.offset,
        "leader": broker(leader),
        "sent_ns": one.sent_ns,
        "given_ns": given_ns,
        "until_ns": until_ns,
    }


def _unanswered(run_state: RunState) -> Iterator[tuple[Sent, int, int]]:
    """Each record that its leader took and did not answer while its answers were held back; the leader; until when."""
    for hold in faults(run_state, HoldProof):
        until_ns = hold.heal_ns or NEVER_NS
        for one in run_state.sends:
            state = run_state.state_at(one.topic, one.partition, one.sent_ns)
            during = (hold.proved_ns or NEVER_NS) < one.sent_ns < until_ns <= (one.done_ns or NEVER_NS)
            if during and state is not None and hold.between(broker(state.leader), CLIENTS) and one.offset is not None:
                yield one, state.leader, until_ns


@claim("only-leader-serves-consumer", source="KIP-392: motivation", basis=Basis.KIP)
def only_leader_serves_consumer(evidence: RunEvidence) -> Judged:
    """Without a replica selector consumers get records from the leader alone.

    While the leader's answers to clients are held back, a consumer is not given a record that was sent to it then,
    though it is given others, which another broker leads. It is given the record after that.
    """
    rows = [
        _row(process, one, leader, given_ns, until_ns)
        for one, leader, until_ns in _unanswered(evidence.run_state)
        for process in evidence.run.of_kind("consumer")
        if (given_ns := _given(evidence.run_state, process.name, one)) is not None
        and (given_ns < until_ns or _led_elsewhere(evidence.run_state, process.name, one, leader, until_ns))
    ]
    wrong = [row for row in rows if row["given_ns"] < row["until_ns"]]
    seen = plural(len(rows), "record") + " given when the leader's answers came"
    return judged(rows, wrong, seen, "no consumer was at work while a leader's answers were held back")


@claim("closest-replica-serves-consumer", source="KIP-392", basis=Basis.KIP)
def closest_replica_serves_consumer(evidence: RunEvidence) -> Judged:
    """With a replica selector that knows racks, a consumer with client.rack is served by the replica of its rack.

    It is given a record while the leader's answers to clients are held back, the record's own acknowledgement too.
    """
    rows = [
        _row(process, one, leader, _given(evidence.run_state, process.name, one), until_ns)
        for one, leader, until_ns in _unanswered(evidence.run_state)
        for process in evidence.run.of_kind("consumer")
        if any(
            _rack_of(evidence, number) == process.settings.get(CLIENT_RACK) is not None
            for number in evidence.run.assignment.get((one.topic, one.partition), ())
            if number != leader
        )
    ]
    wrong = [row for row in rows if row["given_ns"] is None or row["given_ns"] > row["until_ns"]]
    seen = plural(len(rows), "record") + " given by a follower while the leader answered no client"
    return judged(rows, wrong, seen, "no consumer with a rack was at work while a leader's answers were held back")


@claim("follower-serves-to-its-high-watermark", source="KIP-392: follower fetching, high watermark", basis=Basis.KIP)
def follower_serves_to_its_high_watermark(evidence: RunEvidence) -> Judged:
    """A follower gives consumers only records below its own high watermark, although the leader's is higher.

    A follower is cut from the leader, and a record is acknowledged without it. Consumers without a rack are given the
    record. One of the follower's rack is not until the cut has been healed, though it is given other records meanwhile.
    """
    rows = [
        row
        for cut in evidence.run_state.severed
        for one in evidence.run_state.sends
        for row in _kept_back(evidence, cut, one)
    ]
    wrong = [row for row in rows if row["given_ns"] is None or row["given_ns"] < row["until_ns"]]
    seen = plural(len(rows), "record") + " given by the follower when it had it"
    return judged(rows, wrong, seen, "no consumer read from a follower that was cut from its leader")


def _kept_back(evidence: RunEvidence, cut: FaultFact, one: Sent) -> Iterator[dict[str, Any]]:
    """Of a record that was acknowledged during a cut: when each consumer in the rack of a follower that had no
    connection to the leader was given it, if it was given others meanwhile, and the leader's own consumers this one.
    """
    run_state, until_ns = evidence.run_state, cut.heal_ns or NEVER_NS
    state = run_state.state_at(one.topic, one.partition, one.sent_ns)
    if state is None or one.outcome != "acked" or one.done_ns is None:
        return
    if not (cut.proved_ns or NEVER_NS) < one.sent_ns < one.done_ns < until_ns:
        return
    replicas = evidence.run.assignment.get((one.topic, one.partition), ())
    behind = {_rack_of(evidence, number) for number in replicas if cut.between(broker(state.leader), broker(number))}
    readers = evidence.run.of_kind("consumer")
    of_leader = [_given(run_state, each.name, one) for each in readers if CLIENT_RACK not in each.settings]
    if not any(given_ns is not None and given_ns < until_ns for given_ns in of_leader):
        return
    for each in readers:
        given_ns = _given(run_state, each.name, one)
        if each.settings.get(CLIENT_RACK) in behind - {None} and (
            (given_ns is not None and given_ns < until_ns)
            or _led_elsewhere(run_state, each.name, one, state.leader, until_ns)
        ):
            yield _row(each, one, state.leader, given_ns, until_ns)
