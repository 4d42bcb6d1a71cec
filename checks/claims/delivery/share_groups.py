"""How often a share group delivers a record (KIP-932).

What was said of a record counts if a broker took it. The number of a delivery is the broker's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, lives
from checks.shares import FINAL, ShareStep, after_end, by_offset, deliveries, is_late, share_group_state, taken
from evidence.basis import Basis
from evidence.events import NO_LEADER, DeadLetters, of
from evidence.history.outcomes import OK
from evidence.records import TopicPartition
from evidence.shares import ACCEPT, DELIVERED, REJECT, RELEASE, UNANSWERED
from evidence.text import plural

KIP = "KIP-932"
LATE = "INVALID_RECORD_STATE"
NO_LETTERS = "nobody read a dead-letter topic, or no record was undeliverable"
NOTHING = "no member of a share group was given records"


def _records(evidence: RunEvidence) -> Iterator[tuple[TopicPartition, int, list[ShareStep]]]:
    """Of each partition and offset, what members of share groups did there."""
    for topic, partition in sorted(evidence.run.assignment):
        for offset, steps in by_offset(evidence.shares(topic, partition)).items():
            yield (topic, partition), offset, steps


def _row(where: TopicPartition, offset: int, steps: list[ShareStep]) -> dict[str, Any]:
    given = deliveries(steps)
    return {
        "topic": where[0],
        "partition": where[1],
        "offset": offset,
        "deliveries": len(given),
        "highest": max((one.count for one in given), default=0),
    }


@claim("accepted-record-is-not-delivered-again", source=KIP, basis=Basis.KIP)
def accepted_record_is_not_delivered_again(evidence: RunEvidence) -> Judged:
    """A record that a member accepted, and that a broker took for accepted, is delivered to no member again.

    By the numbers of deliveries: none is higher than that of the accepted one, and none with the same number comes
    later. Where a leader was replaced before the acceptance, such a one may have lain in a client.
    """
    rows = []
    for where, offset, steps in _records(evidence):
        accepted = [one for one in taken(steps, ACCEPT) if one.count]
        if accepted:
            forgotten = share_group_state(evidence.run, evidence.run_state, *where).forgotten
            again = [one for one in deliveries(steps) if after_end(one, accepted, forgotten)]
            first = min(one.count for one in accepted)
            rows.append(_row(where, offset, steps) | {"accepted": first, "again": len(again)})
    wrong = [row for row in rows if row["highest"] > row["accepted"] or row["again"]]
    return judged(rows, wrong, f"{plural(len(rows), 'record')} accepted", NOTHING)


@claim("rejected-record-is-delivered-once", source=KIP, basis=Basis.KIP)
def rejected_record_is_delivered_once(evidence: RunEvidence) -> Judged:
    """A record that the first member rejects is delivered to no member again."""
    rows = [_row(*one) for one in _records(evidence) if taken(one[2], REJECT)]
    wrong = [row for row in rows if row["deliveries"] != 1 or row["highest"] != 1]
    return judged(rows, wrong, f"{plural(len(rows), 'record')} rejected", "no record was rejected")


@claim("released-record-is-archived-at-limit", source=KIP, basis=Basis.KIP)
def released_record_is_archived_at_limit(evidence: RunEvidence) -> Judged:
    """A record that every member releases is delivered exactly as often as group.share.delivery.count.limit says, and
    then the group passes it.

    Each delivery was released, and the broker took that. The coordinator says how far the group has come.
    """
    rows = []
    for where, offset, steps in _records(evidence):
        released = taken(steps, RELEASE)
        if released and len(released) == len(deliveries(steps)):
            state = share_group_state(evidence.run, evidence.run_state, *where)
            rows.append(_row(where, offset, steps) | {"limit": state.limit, "passed": state.passed})
    wrong = [
        row
        for row in rows
        if row["deliveries"] != row["limit"] or row["highest"] != row["limit"] or row["passed"] <= row["offset"]
    ]
    often = max((row["deliveries"] for row in rows), default=0)
    seen = f"{plural(len(rows), 'record')} released each time, delivered up to {often} times"
    return judged(rows, wrong, seen, "no record was released each time")


@claim("undeliverable-record-is-a-dead-letter", source="KIP-1191", basis=Basis.KIP)
def undeliverable_record_is_a_dead_letter(evidence: RunEvidence) -> Judged:
    """A share group's dead-letter topic has one record for each that was rejected or archived at the limit, no more.

    Dead letters name the record that they were made of. A record counts as archived if each of as many deliveries as
    the limit allows was released.
    """
    told = of(evidence.run_state.events, DeadLetters)
    if not told:
        return judged((), (), "", NO_LETTERS)
    letters = _letters(told[-1])
    found = (each for each in _records(evidence) if _is_dead(evidence, each[0], each[2]))
    rows = [_row(*each) | {"letters": letters[*each[0], each[1]]} for each in found]
    dead = {(row["topic"], row["partition"], row["offset"]) for row in rows}
    others = [{"topic": t, "partition": p, "offset": o, "letters": n} for (t, p, o), n in letters.items()]
    wrong = [row for row in rows if row["letters"] != 1]
    wrong += [row for row in others if (row["topic"], row["partition"], row["offset"]) not in dead]
    return judged(rows, wrong, f"{plural(len(rows), 'record')} undeliverable", NO_LETTERS)


@claim(
    "dead-letters-lost-without-leader",
    source="KAFKA-20245: a record is archived even if its dead letter cannot be written",
    basis=Basis.JIRA,
)
def dead_letters_lost_without_leader(evidence: RunEvidence) -> Judged:
    """No dead letter is made, then or later, of records that are rejected while the dead-letter topic has no leader.

    Records whose rejection a broker took while the process of the topic's leader was down. The topic was read again
    after the leader was back.
    """
    rows: list[dict[str, Any]] = []
    for told in of(evidence.run_state.events, DeadLetters)[-1:]:
        letters = _letters(told)
        for where, offset, steps in _records(evidence):
            rejected = [one for one in taken(steps, REJECT) if _leaderless(evidence, told.topic, one.invoked_ns)]
            if rejected and not _leaderless(evidence, told.topic, told.at_ns):
                rows.append(_row(where, offset, steps) | {"letters": letters[*where, offset]})
    wrong = [row for row in rows if row["letters"]]
    seen = f"{plural(len(rows), 'record')} rejected while nobody led the dead-letter topic"
    return judged(rows, wrong, seen, "no record was rejected while nobody led a dead-letter topic")


def _letters(told: DeadLetters) -> Counter[tuple[str, int, int]]:
    """How many dead letters name the record of a topic, partition and offset."""
    return Counter((one.topic, one.partition, one.offset) for one in told.letters)


def _leaderless(evidence: RunEvidence, topic: str, at_ns: int) -> bool:
    """Whether nobody could lead the only partition of a topic at a time: no broker did, or its process was down. The
    first dead letter makes a topic that is not there yet.
    """
    state = evidence.run_state.state_at(topic, 0, at_ns)
    if state is None:
        return False
    return state.leader == NO_LEADER or not lives(evidence.run_state, state.leader, at_ns)


def _is_dead(evidence: RunEvidence, where: TopicPartition, steps: list[ShareStep]) -> bool:
    released = len(taken(steps, RELEASE))
    limit = share_group_state(evidence.run, evidence.run_state, *where).limit
    return bool(taken(steps, REJECT)) or released == len(deliveries(steps)) == limit


@claim("late-acknowledgement-is-refused", source=KIP, basis=Basis.KIP)
def late_acknowledgement_is_refused(evidence: RunEvidence) -> Judged:
    """A broker refuses an acknowledgement of a record that another member holds by now (INVALID_RECORD_STATE).

    Records of which a member spoke when the other one's delivery, with a higher number, was known, and what that one
    said of it was not.
    """
    rows = [row for row in _late(evidence) if not row["passed"]]
    wrong = [row for row in rows if row["outcome"] == OK]
    told = [row for row in rows if row["outcome"] == OK or row["error"] == LATE]
    seen = f"{plural(len(told), 'record')} acknowledged while another member held them"
    return judged(told, wrong, seen, "no member spoke of a record that another one held")


@claim(
    "late-acknowledgement-of-passed-record-is-ignored",
    source="SharePartition.acknowledge (4.2.0 to 4.3.1): a batch before the start offset is skipped",
    basis=Basis.SOURCE,
)
def late_acknowledgement_of_passed_record_is_ignored(evidence: RunEvidence) -> Judged:
    """A broker answers a late acknowledgement of a record that the group has passed without an error, and ignores it.

    Records of which a member spoke when the other one's acceptance was known, and the coordinator had said that the
    group is done with them. None is delivered again.
    """
    rows = [row for row in _late(evidence) if row["passed"]]
    wrong = [row for row in rows if row["outcome"] != OK or row["delivered_after"]]
    seen = f"{plural(len(rows), 'record')} acknowledged after another member's acceptance"
    return judged(rows, wrong, seen, "no member spoke of a record that the group had passed")


def _late(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """What members said of records that another member had been given, and whether the group had passed these then."""
    for where, offset, steps in _records(evidence):
        told = share_group_state(evidence.run, evidence.run_state, *where).told
        for one in steps:
            if not is_late(one, steps):
                continue
            ended = [each for each in taken(steps, *FINAL) if each.count > one.count]
            done = any(each.at_ns < one.invoked_ns and each.passed > offset for each in told)
            if done or all(each.invoked_ns > one.completed_ns for each in ended):
                yield _said(where, one, steps) | {"passed": done}


@claim("acknowledgement-is-answered", source="KAFKA-20330", basis=Basis.JIRA)
def acknowledgement_is_answered(evidence: RunEvidence) -> Judged:
    """When a member of a share group has committed what it acknowledged, its client says what came of each record.

    At least one acknowledgement was refused or could not be sent; else there is nothing to tell.
    """
    rows = list(_answers(evidence))
    failed = [row for row in rows if row["outcome"] != OK]
    wrong = [row for row in failed if row["error"] == UNANSWERED]
    seen = f"{plural(len(rows), 'acknowledgement')} answered, {len(failed)} with an error"
    return judged(failed, wrong, seen, "no acknowledgement failed")


@claim("acknowledgement-is-not-answered", source="KAFKA-20330", basis=Basis.JIRA)
def acknowledgement_is_not_answered(evidence: RunEvidence) -> Judged:
    """A member of a share group commits what it acknowledged, its client says nothing of some of the records, and these
    are delivered again.
    """
    silent = [row for row in _answers(evidence) if row["error"] == UNANSWERED]
    wrong = [row for row in silent if not row["delivered_after"]]
    seen = f"{plural(len(silent), 'acknowledgement')} of which the client said nothing"
    return judged(silent, wrong, seen, "the client said of each acknowledgement what came of it")


def _answers(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """What came of each acknowledgement whose commit ended, and how often its record was delivered after that."""
    for where, _, steps in _records(evidence):
        for one in steps:
            if one.kind != DELIVERED and one.completed_ns:
                yield _said(where, one, steps)


def _said(where: TopicPartition, one: ShareStep, steps: list[ShareStep]) -> dict[str, Any]:
    """What a member said of a record, and how often that was delivered after it."""
    after = sum(each.completed_ns > one.completed_ns for each in deliveries(steps))
    return {"topic": where[0], "partition": where[1], **one.row(), "delivered_after": after}
