"""Claims about records whose outcome their client does not know: no answer came, or an error that does not say.

What a client knows is in its own words (scripted sends and their answers); whether a record is in the log the final
read says, and when it was on a disk the copies of the replicas' files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claims.basis import Claim, Judged, Witness, broker, count, faults, judged
from evidence.course import NEVER_NS, FaultFact, Sent
from evidence.events import Handed, Moment, of


def _unanswered_until(witness: Witness, hold: FaultFact) -> int:
    """Until when no answer can have got out: the heal, or an earlier reset of the connections, after which a client
    has an error of its own making.
    """
    resets = (reset.inject_ns for reset in faults(witness.course, "reset") if reset.inject_ns > hold.inject_ns)
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


def _on_disk(witness: Witness) -> Iterator[tuple[dict[str, Any], bool]]:
    """What was sent while answers were held back and lay on the leader's disk meanwhile; whether it was unanswered."""
    course = witness.course
    for hold in faults(course, "hold"):
        until_ns = _unanswered_until(witness, hold)
        copies = [one for one in of(course.events, Moment) if (hold.proved_ns or NEVER_NS) < one.at_ns < until_ns]
        for one in course.sends:
            state = course.state_at(one.topic, one.partition, one.sent_ns)
            if not (hold.proved_ns or NEVER_NS) < one.sent_ns < until_ns or state is None:
                continue
            places = (witness.read_at(one.topic, one.partition) or {}).get((one.producer, one.sequence), ())
            for moment in copies:
                ends = moment.nodes.get(broker(state.leader), {}).get(f"{one.topic}-{one.partition}")
                begun_ns = moment.begun_ns or moment.at_ns
                if places and ends is not None and min(places) < (ends.leo or 0) and one.sent_ns < begun_ns:
                    row = _row(one, places) | {"on_disk_at_ns": moment.at_ns, "log_end": ends.leo}
                    # An error of the client's own, such as its time-out, is no answer.
                    yield row, one.outcome != "acked" or one.done_ns is None or one.done_ns >= until_ns
                    break


def unanswered_record_on_disk(witness: Witness) -> Judged:
    """A record lies on the leader's disk while its answer is held back from the client."""
    found = list(_on_disk(witness))
    wrong = [row for row, unanswered in found if not unanswered]
    seen = count(len(found), "record") + " on the leader's disk before the client had an answer"
    return judged([row for row, _ in found], wrong, seen, "no record was on a disk while its answer was held back")


def _of_unknown_outcome(witness: Witness) -> Iterator[dict[str, Any]]:
    """Those whose error does not say, and those without an answer that the client is known to have taken."""
    handed = {event.record for event in of(witness.course.events, Handed)}
    for one in witness.course.sends:
        taken = (one.process, one.topic, one.partition, one.producer, one.sequence) in handed
        places = witness.read_at(one.topic, one.partition)
        if places is not None and (one.outcome == "unknown" or (one.outcome == "open" and taken)):
            yield _row(one, places.get((one.producer, one.sequence), ()))


def unknown_record_in_log(witness: Witness) -> Judged:
    """Every record whose outcome its client does not know is in the log in the end."""
    rows = list(_of_unknown_outcome(witness))
    wrong = [row for row in rows if not row["offsets"]]
    seen = count(len(rows), "record") + " of unknown outcome, in the log"
    return judged(rows, wrong, seen, "the outcome of every record is known, or nobody read to the end")


def unknown_record_not_in_log(witness: Witness) -> Judged:
    """No record whose outcome its client does not know is in the log in the end."""
    rows = list(_of_unknown_outcome(witness))
    wrong = [row for row in rows if row["offsets"]]
    seen = count(len(rows), "record") + " of unknown outcome, not in the log"
    return judged(rows, wrong, seen, "the outcome of every record is known, or nobody read to the end")


def unknown_record_comes_late(witness: Witness) -> Judged:
    """A record that its client has given up is not in the leader's log yet, and is in the end."""
    rows, course = [], witness.course
    for one in course.sends:
        places = (witness.read_at(one.topic, one.partition) or {}).get((one.producer, one.sequence), ())
        state = course.state_at(one.topic, one.partition, one.sent_ns)
        if one.outcome != "unknown" or one.done_ns is None or not places or state is None:
            continue
        for moment in of(course.events, Moment):
            ends = moment.nodes.get(broker(state.leader), {}).get(f"{one.topic}-{one.partition}")
            begun_ns = moment.begun_ns or moment.at_ns
            if begun_ns > one.done_ns and ends is not None and ends.leo is not None and ends.leo <= min(places):
                rows.append(_row(one, places) | {"not_on_disk_at_ns": begun_ns, "log_end": ends.leo})
                break
    seen = count(len(rows), "record") + " written after the client had given up"
    return judged(rows, [], seen, "no record was written after its client had given up")


CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        name="unanswered-record-on-disk",
        says="A record lies on the leader's disk while its client has no answer.",
        source="Kafka documentation, Design: message delivery semantics; KIP-98",
        judge=unanswered_record_on_disk,
    ),
    Claim(
        name="unknown-record-in-log",
        says="A record for which its client has an error that does not say so, or no answer, is in the log.",
        source="Kafka documentation, Design: message delivery semantics; producer configuration: delivery.timeout.ms",
        judge=unknown_record_in_log,
    ),
    Claim(
        name="unknown-record-comes-late",
        says="A record that its client has given up is written afterwards.",
        source="Kafka documentation, producer configuration: delivery.timeout.ms, request.timeout.ms",
        judge=unknown_record_comes_late,
    ),
    Claim(
        name="unknown-record-not-in-log",
        says="A record for which its client has an error that does not say so, or no answer, is not in the log.",
        source="Kafka documentation, Design: message delivery semantics; producer configuration: linger.ms",
        judge=unknown_record_not_in_log,
    ),
)
