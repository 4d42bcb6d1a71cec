"""Claims about files that a disk has changed: who notices damage, whether it spreads, and what cuts it off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from checks.claims.basis import (
    Claim,
    Damage,
    Judged,
    Witness,
    broker,
    copied,
    count,
    faults,
    judged,
    start_after,
    truncations,
)
from evidence.course import Course, FaultFact
from evidence.events import Log, Moment, Position, of

FINAL: Final = "final"
RECOVERS, CORRUPTION = "Recovering unflushed segment", "Corruption found"
TOLD: Final = "_BAD_MSG"
"""The error by which librdkafka tells of a batch whose checksum does not fit; it goes on behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Struck:
    """A record of a replica in which a fault has flipped a bit, and the copies that were made of it afterwards."""

    fault: FaultFact
    topic: str
    partition: int
    segment: int
    position: int
    offset: int
    copies: tuple[Damage, ...]
    """Damaged entries at that place, on whatever node, in the order of moments."""
    others: tuple[Damage, ...]
    """Damaged entries of other nodes, at whatever place."""

    @property
    def node(self) -> str:
        return self.fault.node

    @property
    def row(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "at_ns": self.fault.inject_ns,
        }

    def is_damaged(self, moment: str) -> bool:
        """Whether its own copy of a moment has the damage."""
        return any((copy.moment, copy.node) == (moment, self.node) for copy in self.copies)


def _struck(witness: Witness) -> Iterator[_Struck]:
    for fault in faults(witness.course, "flip"):
        directory, _, name = str(fault.proof.get("file", "")).rpartition("/")
        topic, _, number = directory.rpartition("-")
        if fault.proved_ns is None or not name.endswith(".log") or not number.isdigit():
            continue
        segment, position = int(name.removesuffix(".log")), int(fault.proof["position"])
        found = witness.damaged(topic, int(number))
        yield _Struck(
            fault=fault,
            topic=topic,
            partition=int(number),
            segment=segment,
            position=position,
            offset=int(fault.proof["offset"]),
            copies=tuple(one for one in found if one.segment == segment and 0 <= position - one.position < one.size),
            others=tuple(one for one in found if one.node != fault.node),
        )


def _final(witness: Witness) -> Moment | None:
    return next((one for one in reversed(of(witness.course.events, Moment)) if one.label == FINAL), None)


def damage_stays_on_its_replica(witness: Witness) -> Judged:
    """No copy of another replica has a wrong checksum, while the struck one was seen to have one."""
    rows = []
    for struck in _struck(witness):
        if any(copy.node == struck.node for copy in struck.copies):
            rows.append(struck.row | {"on_others": [f"{one.node} at {one.moment}" for one in struck.others]})
    wrong = [row for row in rows if row["on_others"]]
    return judged(rows, wrong, count(len(rows), "damaged record") + " on one replica alone", _NOTHING)


def damage_goes_unnoticed(witness: Witness) -> Judged:
    """In the end the replica is as damaged as it was, and in the ISR."""
    final, rows = _final(witness), list[dict[str, Any]]()
    for struck in _struck(witness) if final is not None else ():
        assert final is not None
        state = witness.course.state_at(struck.topic, struck.partition, final.at_ns)
        in_isr = state is not None and struck.node in map(broker, state.isr)
        rows.append(struck.row | {"damaged": struck.is_damaged(final.name), "in_isr": in_isr})
    wrong = [row for row in rows if not (row["damaged"] and row["in_isr"])]
    return judged(rows, wrong, count(len(rows), "damaged replica") + " in the ISR to the end", _NOTHING)


def recovery_cuts_damage(witness: Witness) -> Judged:
    """A broker that starts after a kill truncates the log to the damaged record or below, and says so."""
    course, final, rows = witness.course, _final(witness), list[dict[str, Any]]()
    for struck in _struck(witness):
        killed = any(
            one.node == struck.node and one.inject_ns < struck.fault.inject_ns for one in faults(course, "kill")
        )
        started_ns = start_after(course, struck.node, struck.fault.inject_ns)
        if not killed or final is None or started_ns > course.end_ns:
            continue
        said = _cuts(course, struck.node, f"{struck.topic}-{struck.partition}", started_ns)
        rows.append(struck.row | {"truncated_to": said, "damaged": struck.is_damaged(final.name)})
    wrong = [
        row
        for row in rows
        if row["damaged"] or not row["truncated_to"] or (row["truncated_to"][0] or 0) > row["offset"]
    ]
    return judged(rows, wrong, count(len(rows), "damaged log") + " cut at recovery", _NOTHING)


def torn_tail_is_cut(witness: Witness) -> Judged:
    """A broker that starts with a torn end of its log truncates it to where its whole batches end, and no further, and
    has all of it again when it is copied next.
    """
    course, rows = witness.course, list[dict[str, Any]]()
    for torn in faults(course, "resize"):
        directory, _, name = str(torn.proof.get("file", "")).rpartition("/")
        started_ns = start_after(course, torn.node, torn.inject_ns)
        before = copied(course, torn.node, torn.inject_ns, started_ns).get(directory)
        if torn.proved_ns is None or not name.endswith(".log") or before is None or started_ns > course.end_ns:
            continue
        after = copied(course, torn.node, started_ns, course.end_ns + 1).get(directory)
        lowest = [end for end in truncations(course, torn.node, directory, started_ns) if end is not None]
        rows.append(
            {
                "node": torn.node,
                "replica": directory,
                "at_ns": torn.inject_ns,
                "bytes_before": torn.proof["bytes_before"],
                "bytes": torn.proof["bytes"],
                "whole_until": before.leo,
                "recovered": _recovered(course, torn.node, directory, started_ns),
                "cut_to": _cuts(course, torn.node, directory, started_ns),
                "truncated_to": lowest,
                "log_end_after": after.leo if after is not None else None,
            }
        )
    wrong = [
        row
        for row in rows
        if not row["recovered"]
        or any(end != row["whole_until"] for end in row["cut_to"])
        or any(end < row["whole_until"] for end in row["truncated_to"])
        or (row["log_end_after"] or 0) < row["whole_until"]
    ]
    return judged(rows, wrong, count(len(rows), "torn log") + " cut", "no broker started with a torn log")


def _recovery(course: Course, node: str, replica: str, since_ns: int) -> list[Log]:
    """What a broker has said of a replica's recovery since a time."""
    return [
        log
        for log in of(course.events, Log)
        if (log.node, log.event, f"{log.topic}-{log.partition}") == (node, "recovery", replica) and log.at_ns > since_ns
    ]


def _recovered(course: Course, node: str, replica: str, since_ns: int) -> bool:
    """Whether it has looked through the replica."""
    return any(RECOVERS in log.line for log in _recovery(course, node, replica, since_ns))


def _cuts(course: Course, node: str, replica: str, since_ns: int) -> list[int | None]:
    """The offsets to which it says that recovery has cut the replica. Older releases say nothing of that if the
    index of the segment was damaged too, as that of the last one is after a kill.
    """
    return [log.offset for log in _recovery(course, node, replica, since_ns) if CORRUPTION in log.line]


def damage_is_refused(witness: Witness) -> Judged:
    """A blank replica that fetches from a damaged leader holds nothing from the damaged record on, and stays out of
    the ISR.
    """
    course, rows = witness.course, list[dict[str, Any]]()
    for struck in _struck(witness):
        name = f"{struck.topic}-{struck.partition}"
        blank = {one.node for one in faults(course, "wipe") if one.node != struck.node}
        for moment in of(course.events, Moment):
            state = course.state_at(struck.topic, struck.partition, moment.at_ns)
            if not struck.is_damaged(moment.name) or state is None or broker(state.leader) != struck.node:
                continue
            for node in sorted(blank & moment.nodes.keys()):
                end = moment.nodes[node].get(name)
                started_ns = start_after(course, node, struck.fault.inject_ns)
                if end is not None and end.leo is not None and started_ns < moment.at_ns:
                    in_isr = node in map(broker, state.isr)
                    rows.append(struck.row | {"blank": node, "log_end": end.leo, "in_isr": in_isr})
    wrong = [row for row in rows if row["in_isr"] or row["log_end"] > row["offset"]]
    nothing = "no blank replica was copied while its leader was damaged"
    return judged(rows, wrong, count(len(rows), "blank replica") + " without the damaged record", nothing)


def _led_while_damaged(witness: Witness) -> Iterator[tuple[_Struck, int, int]]:
    """Damaged records whose replica led then, with the time from the damage to its end as leader."""
    for struck in _struck(witness):
        intervals = witness.course.partitions.get((struck.topic, struck.partition), ())
        begin_ns = struck.fault.inject_ns
        led = [one for one in intervals if one.end_ns > begin_ns]
        if led and broker(led[0].leader) == struck.node:
            others = (one.begin_ns for one in led if broker(one.leader) != struck.node)
            yield struck, begin_ns, next(others, witness.course.end_ns)


def reader_is_told_of_damage(witness: Witness) -> Judged:
    """Readers of a damaged leader are given the error of a wrong checksum."""
    rows = []
    for struck, begin_ns, end_ns in _led_while_damaged(witness):
        told = witness.read_errors(struck.topic, struck.partition)
        errors = sum(name == TOLD and begin_ns < at_ns < end_ns for at_ns, name in told)
        rows.append(struck.row | {"errors": errors, "until_ns": end_ns})
    wrong = [row for row in rows if not row["errors"]]
    return judged(rows, wrong, count(len(rows), "damaged record") + " told to the reader", _NOTHING)


def _positions(witness: Witness) -> Iterator[dict[str, Any]]:
    """How far readers came while the replica with the damage led, and in the end."""
    for struck, begin_ns, end_ns in _led_while_damaged(witness):
        heard = [
            (one.read_ns, one.offset)
            for one in of(witness.course.events, Position)
            if (one.topic, one.partition) == (struck.topic, struck.partition)
        ]
        meanwhile = [offset for read_ns, offset in heard if begin_ns < read_ns < end_ns]
        if meanwhile:
            later = [offset for read_ns, offset in heard if read_ns > end_ns]
            yield struck.row | {"until_ns": end_ns, "position": max(meanwhile), "later": max(later, default=None)}


def reader_stops_at_damage(witness: Witness) -> Judged:
    """While the damaged replica leads no reader comes beyond the record; when another leads it does."""
    rows = list(_positions(witness))
    wrong = [row for row in rows if row["position"] != row["offset"] or (row["later"] or 0) <= row["offset"]]
    return judged(rows, wrong, count(len(rows), "reader") + " held up by a damaged record", _UNREAD)


def reader_goes_on_behind_damage(witness: Witness) -> Judged:
    """While the damaged replica leads a reader comes beyond the record."""
    rows = list(_positions(witness))
    wrong = [row for row in rows if row["position"] <= row["offset"]]
    return judged(rows, wrong, count(len(rows), "reader") + " went on behind a damaged record", _UNREAD)


def reader_is_not_told_of_gap(witness: Witness) -> Judged:
    """Readers of a replica that was filled by way of a damaged index are given no error."""
    rows = []
    for fault in faults(witness.course, "flip"):
        directory, _, name = str(fault.proof.get("file", "")).rpartition("/")
        topic, _, number = directory.rpartition("-")
        if fault.proved_ns is None or not name.endswith(".index") or not number.isdigit():
            continue
        read = witness.read_at(topic, int(number))
        missing = read is not None and not any(fault.proof["offset"] in offsets for offsets in read.values())
        if missing:
            errors = sorted({name for _, name in witness.read_errors(topic, int(number))})
            rows.append(
                {"node": fault.node, "at_ns": fault.inject_ns, "offset": fault.proof["offset"], "errors": errors}
            )
    wrong = [row for row in rows if TOLD in row["errors"]]
    return judged(rows, wrong, count(len(rows), "gap") + " that no reader was told of", "no reader met a gap")


_NOTHING: Final = "no copy has a record in which a bit was flipped"
_UNREAD: Final = "nobody was heard reading a replica with a damaged record"
_CRC: Final = "Kafka documentation, Message Format: CRC"

CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        name="damage-stays-on-its-replica",
        says="A record that the disk has damaged is damaged on that replica alone: others fetched it before, or refuse "
        "it.",
        source=f"{_CRC}; Log.append, UnifiedLog.appendAsFollower",
        judge=damage_stays_on_its_replica,
    ),
    Claim(
        name="damage-goes-unnoticed",
        says="A broker does not look at what it has written: a replica with a damaged record stays in the ISR.",
        source="Kafka documentation, Design: persistence; LogLoader: a clean stop needs no recovery",
        judge=damage_goes_unnoticed,
    ),
    Claim(
        name="recovery-cuts-damage",
        says="After a kill a broker checks every batch from the recovery point on and cuts the log where one is "
        "damaged.",
        source="Kafka documentation, Design: log recovery; Log.recoverLog, LogLoader.recoverLog",
        judge=recovery_cuts_damage,
    ),
    Claim(
        name="torn-tail-is-cut",
        says="A log that ends in half a batch or in zeros is cut after its last whole batch when its broker starts, "
        "and no further.",
        source="Kafka documentation, Design: log recovery; Log.recoverLog, LogLoader.recoverLog",
        judge=torn_tail_is_cut,
    ),
    Claim(
        name="damage-is-refused",
        says="A follower checks what it fetches: it takes nothing from a damaged batch on, and does not join the ISR.",
        source="AbstractFetcherThread: CorruptRecordException; Log.append, UnifiedLog.appendAsFollower",
        judge=damage_is_refused,
    ),
    Claim(
        name="reader-is-told-of-damage",
        says="A reader that checks checksums (check.crcs) is given an error in place of a damaged record.",
        source="librdkafka configuration: check.crcs",
        judge=reader_is_told_of_damage,
    ),
    Claim(
        name="reader-stops-at-damage",
        says="A reader comes no further than to a damaged batch of format 2, until a replica leads that has it whole.",
        source="librdkafka, rd_kafka_msgset_reader_v2",
        judge=reader_stops_at_damage,
    ),
    Claim(
        name="reader-goes-on-behind-damage",
        says="A reader goes on behind a damaged message of format 0 or 1, and never has it.",
        source="librdkafka, rd_kafka_msgset_reader_msg_v0_1",
        judge=reader_goes_on_behind_damage,
    ),
    Claim(
        name="reader-is-not-told-of-gap",
        says="Records that a follower was never given leave a gap in offsets, which is no error to a reader.",
        source="Log.read: a fetch that finds nothing in a segment goes on to the next",
        judge=reader_is_not_told_of_gap,
    ),
)
