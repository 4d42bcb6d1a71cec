"""Claims about records whose outcome their client does not know: no answer came, or an error that leaves it open.

The client's own history (scripted sends and their answers) says what it knows. The final read shows whether a record is
in the log, and the copies of the replicas' files show when it was on a disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import faults, judged
from evidence.basis import Basis
from evidence.events import Handed, Moment, of
from evidence.faults.clients import ResetProof
from evidence.faults.network import HoldProof
from evidence.nodes import broker
from evidence.run_state import FaultFact, Sent
from evidence.spans import NEVER_NS
from evidence.text import plural


def _unanswered_until(evidence: RunEvidence, hold: FaultFact) -> int:
    """Until when no answer can have reached the client: the heal, or an earlier reset of the connections, after which
    the client makes an error itself.
    """
    resets = (reset.inject_ns for reset in faults(evidence.run_state, ResetProof) if reset.inject_ns > hold.inject_ns)
    return min(hold.heal_ns or NEVER_NS, next(resets, NEVER_NS))


def _row(one: Sent, places: tuple[int, ...]) -> dict[str, Any]:
    return {
        "process": one.process,
        "topic": one.topic,
        "partition": one.partition,
        "producer": one.producer,
        "sequence": one.sequence,
        "outcome": one.outcome,
        "error": one.error,
        "offsets": list(places),
    }


def _on_disk(evidence: RunEvidence) -> Iterator[tuple[dict[str, Any], bool]]:
    """Records that were sent while answers were held back, and were on the leader's disk in that time; whether each was
    unanswered.
    """
    run_state = evidence.run_state
    for hold in faults(run_state, HoldProof):
        until_ns = _unanswered_until(evidence, hold)
        copies = [one for one in of(run_state.events, Moment) if (hold.proved_ns or NEVER_NS) < one.at_ns < until_ns]
        for one in run_state.sends:
            state = run_state.state_at(one.topic, one.partition, one.sent_ns)
            if not (hold.proved_ns or NEVER_NS) < one.sent_ns < until_ns or state is None:
                continue
            places = (evidence.read_at(one.topic, one.partition) or {}).get((one.producer, one.sequence), ())
            for moment in copies:
                ends = moment.nodes.get(broker(state.leader), {}).get(f"{one.topic}-{one.partition}")
                begun_ns = moment.begun_ns
                if places and ends is not None and min(places) < (ends.leo or 0) and one.sent_ns < begun_ns:
                    row = _row(one, places) | {"on_disk_at_ns": moment.at_ns, "log_end": ends.leo}
                    # An error of the client's own, such as its time-out, is no answer.
                    yield row, one.outcome != "acked" or one.done_ns is None or one.done_ns >= until_ns
                    break


@claim(
    "unanswered-record-on-disk",
    source="Kafka documentation, Design: message delivery semantics; KIP-98",
    basis=Basis.DOCUMENTATION,
)
def unanswered_record_on_disk(evidence: RunEvidence) -> Judged:
    """A record lies on the leader's disk while its client has no answer."""
    found = list(_on_disk(evidence))
    wrong = [row for row, unanswered in found if not unanswered]
    seen = plural(len(found), "record") + " on the leader's disk before the client had an answer"
    return judged([row for row, _ in found], wrong, seen, "no record was on a disk while its answer was held back")


def _of_unknown_outcome(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Sends of unknown outcome: an indefinite error, or accepted by the client and never answered."""
    handed = {event.record for event in of(evidence.run_state.events, Handed)}
    for one in evidence.run_state.sends:
        taken = (one.process, one.topic, one.partition, one.producer, one.sequence) in handed
        places = evidence.read_at(one.topic, one.partition)
        if places is not None and (one.outcome == "unknown" or (one.outcome == "open" and taken)):
            yield _row(one, places.get((one.producer, one.sequence), ()))


@claim(
    "unknown-record-in-log",
    source="Kafka documentation, Design: message delivery semantics; producer configuration: delivery.timeout.ms",
    basis=Basis.DOCUMENTATION,
)
def unknown_record_in_log(evidence: RunEvidence) -> Judged:
    """A record for which its client has an indefinite error, or no answer, is in the log."""
    rows = list(_of_unknown_outcome(evidence))
    wrong = [row for row in rows if not row["offsets"]]
    seen = plural(len(rows), "record") + " of unknown outcome, in the log"
    return judged(rows, wrong, seen, "the outcome of every record is known, or nobody read to the end")


@claim(
    "unknown-record-not-in-log",
    source="Kafka documentation, Design: message delivery semantics; producer configuration: linger.ms",
    basis=Basis.DOCUMENTATION,
)
def unknown_record_not_in_log(evidence: RunEvidence) -> Judged:
    """A record for which its client has an indefinite error, or no answer, is not in the log."""
    rows = list(_of_unknown_outcome(evidence))
    wrong = [row for row in rows if row["offsets"]]
    seen = plural(len(rows), "record") + " of unknown outcome, not in the log"
    return judged(rows, wrong, seen, "the outcome of every record is known, or nobody read to the end")


@claim(
    "unknown-record-comes-late",
    source="Kafka documentation, producer configuration: delivery.timeout.ms, request.timeout.ms",
    basis=Basis.DOCUMENTATION,
)
def unknown_record_comes_late(evidence: RunEvidence) -> Judged:
    """A record that its client has given up is written afterwards.

    A record that its client has given up is not in the leader's log yet, and is in the end.
    """
    rows, run_state = [], evidence.run_state
    for one in run_state.sends:
        places = (evidence.read_at(one.topic, one.partition) or {}).get((one.producer, one.sequence), ())
        state = run_state.state_at(one.topic, one.partition, one.sent_ns)
        if one.outcome != "unknown" or one.done_ns is None or not places or state is None:
            continue
        for moment in of(run_state.events, Moment):
            ends = moment.nodes.get(broker(state.leader), {}).get(f"{one.topic}-{one.partition}")
            begun_ns = moment.begun_ns
            if begun_ns > one.done_ns and ends is not None and ends.leo is not None and ends.leo <= min(places):
                rows.append(_row(one, places) | {"not_on_disk_at_ns": begun_ns, "log_end": ends.leo})
                break
    seen = plural(len(rows), "record") + " written after the client had given up"
    return judged(rows, [], seen, "no record was written after its client had given up")
