"""Claims about files that a disk has changed: who notices damage, whether it spreads, and what cuts it off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from checks.claim import Damage, Judged, RunEvidence, claim
from checks.claims.basis import copied, faults, judged, start_after, truncations
from evidence.basis import Basis
from evidence.events import Log, Moment, Position, of
from evidence.faults.files import FlipProof, ResizeProof, WipeProof
from evidence.faults.process import KillProof
from evidence.nodes import broker
from evidence.run_state import FaultFact, RunState
from evidence.text import plural

FINAL: Final = "final"
RECOVERS, CORRUPTION = "Recovering unflushed segment", "Corruption found"
TOLD: Final = "_BAD_MSG"
"""The error by which librdkafka tells of a batch whose checksum does not fit; it goes on behind it."""
_NOTHING: Final = "no copy has a record in which a bit was flipped"
_UNREAD: Final = "nobody was heard reading a replica with a damaged record"


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


def _struck(evidence: RunEvidence) -> Iterator[_Struck]:
    for fault, proof in evidence.run_state.proved(FlipProof):
        directory, _, name = proof.file.rpartition("/")
        topic, _, number = directory.rpartition("-")
        if proof.offset is None or not name.endswith(".log") or not number.isdigit():
            continue
        segment, position = int(name.removesuffix(".log")), proof.position
        found = evidence.damaged(topic, int(number))
        yield _Struck(
            fault=fault,
            topic=topic,
            partition=int(number),
            segment=segment,
            position=position,
            offset=proof.offset,
            copies=tuple(one for one in found if one.segment == segment and 0 <= position - one.position < one.size),
            others=tuple(one for one in found if one.node != fault.node),
        )


def _final(evidence: RunEvidence) -> Moment | None:
    return next((one for one in reversed(of(evidence.run_state.events, Moment)) if one.label == FINAL), None)


@claim(
    "damage-stays-on-its-replica",
    source="Log.append (0.10.2.2, 2.8.2), UnifiedLog.appendAsFollower (3.9.2, 4.3.1): batches are "
    "checked as they come in",
    basis=Basis.SOURCE,
)
def damage_stays_on_its_replica(evidence: RunEvidence) -> Judged:
    """A record that the disk has damaged is damaged on that replica alone: others fetched it before, or refuse it.

    No copy of another replica has a wrong checksum, while the struck one was seen to have one.
    """
    rows = []
    for struck in _struck(evidence):
        if any(copy.node == struck.node for copy in struck.copies):
            rows.append(struck.row | {"on_others": [f"{one.node} at {one.moment}" for one in struck.others]})
    wrong = [row for row in rows if row["on_others"]]
    return judged(rows, wrong, plural(len(rows), "damaged record") + " on one replica alone", _NOTHING)


@claim(
    "damage-goes-unnoticed",
    source="LogLoader (3.9.2, 4.3.1), Log.loadSegments (0.10.2.2, 2.8.2): a clean stop needs no recovery",
    basis=Basis.SOURCE,
)
def damage_goes_unnoticed(evidence: RunEvidence) -> Judged:
    """A broker does not check its written records: a replica with a damaged record stays in the ISR."""
    final, rows = _final(evidence), list[dict[str, Any]]()
    for struck in _struck(evidence) if final is not None else ():
        assert final is not None
        state = evidence.run_state.state_at(struck.topic, struck.partition, final.at_ns)
        in_isr = state is not None and struck.node in map(broker, state.isr)
        rows.append(struck.row | {"damaged": struck.is_damaged(final.name), "in_isr": in_isr})
    wrong = [row for row in rows if not (row["damaged"] and row["in_isr"])]
    return judged(rows, wrong, plural(len(rows), "damaged replica") + " in the ISR to the end", _NOTHING)


@claim("recovery-cuts-damage", source="Kafka documentation, Implementation: log, Guarantees", basis=Basis.DOCUMENTATION)
def recovery_cuts_damage(evidence: RunEvidence) -> Judged:
    """After a kill a broker checks every batch from the recovery point on and cuts the log where one is damaged.

    A broker that starts after a kill truncates the log to the damaged record or below, and says so.
    """
    run_state, final, rows = evidence.run_state, _final(evidence), list[dict[str, Any]]()
    for struck in _struck(evidence):
        killed = any(
            one.node == struck.node and one.inject_ns < struck.fault.inject_ns for one in faults(run_state, KillProof)
        )
        started_ns = start_after(run_state, struck.node, struck.fault.inject_ns)
        if not killed or final is None or started_ns > run_state.end_ns:
            continue
        said = _cuts(run_state, struck.node, f"{struck.topic}-{struck.partition}", started_ns)
        rows.append(struck.row | {"truncated_to": said, "damaged": struck.is_damaged(final.name)})
    wrong = [
        row
        for row in rows
        if row["damaged"] or not row["truncated_to"] or (row["truncated_to"][0] or 0) > row["offset"]
    ]
    return judged(rows, wrong, plural(len(rows), "damaged log") + " cut at recovery", _NOTHING)


@claim("torn-tail-is-cut", source="Kafka documentation, Implementation: log, Guarantees", basis=Basis.DOCUMENTATION)
def torn_tail_is_cut(evidence: RunEvidence) -> Judged:
    """A log that ends in half a batch or in zeros is cut after its last whole batch when its broker starts, and no
    further.

    A broker that starts with a torn end of its log truncates it to where its whole batches end, and no further, and has
    all of it again when it is copied next.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for torn, proof in run_state.proved(ResizeProof):
        directory, _, name = proof.file.rpartition("/")
        started_ns = start_after(run_state, torn.node, torn.inject_ns)
        before = copied(run_state, torn.node, torn.inject_ns, started_ns).get(directory)
        if not name.endswith(".log") or before is None or started_ns > run_state.end_ns:
            continue
        after = copied(run_state, torn.node, started_ns, run_state.end_ns + 1).get(directory)
        lowest = [end for end in truncations(run_state, torn.node, directory, started_ns) if end is not None]
        rows.append(
            {
                "node": torn.node,
                "replica": directory,
                "at_ns": torn.inject_ns,
                "bytes_before": proof.bytes_before,
                "bytes": proof.bytes,
                "whole_until": before.leo,
                "recovered": _recovered(run_state, torn.node, directory, started_ns),
                "cut_to": _cuts(run_state, torn.node, directory, started_ns),
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
    return judged(rows, wrong, plural(len(rows), "torn log") + " cut", "no broker started with a torn log")


def _recovery(run_state: RunState, node: str, replica: str, since_ns: int) -> list[Log]:
    """What a broker has said of a replica's recovery since a time."""
    return [
        log
        for log in of(run_state.events, Log)
        if (log.node, log.event, f"{log.topic}-{log.partition}") == (node, "recovery", replica) and log.at_ns > since_ns
    ]


def _recovered(run_state: RunState, node: str, replica: str, since_ns: int) -> bool:
    """Whether it has looked through the replica."""
    return any(RECOVERS in log.line for log in _recovery(run_state, node, replica, since_ns))


def _cuts(run_state: RunState, node: str, replica: str, since_ns: int) -> list[int | None]:
    """The offsets to which it says that recovery has cut the replica. Older releases say nothing of that if the
    index of the segment was damaged too, as that of the last one is after a kill.
    """
    return [log.offset for log in _recovery(run_state, node, replica, since_ns) if CORRUPTION in log.line]


@claim(
    "damage-is-refused", source="AbstractFetcherThread: CorruptRecordException (0.10.2.2 to 4.3.1)", basis=Basis.SOURCE
)
def damage_is_refused(evidence: RunEvidence) -> Judged:
    """A follower checks fetched batches: it takes nothing from a damaged batch on, and does not join the ISR.

    A blank replica that fetches from a damaged leader holds nothing from the damaged record on, and stays out of the
    ISR.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for struck in _struck(evidence):
        name = f"{struck.topic}-{struck.partition}"
        blank = {one.node for one in faults(run_state, WipeProof) if one.node != struck.node}
        for moment in of(run_state.events, Moment):
            state = run_state.state_at(struck.topic, struck.partition, moment.at_ns)
            if not struck.is_damaged(moment.name) or state is None or broker(state.leader) != struck.node:
                continue
            for node in sorted(blank & moment.nodes.keys()):
                end = moment.nodes[node].get(name)
                started_ns = start_after(run_state, node, struck.fault.inject_ns)
                if end is not None and end.leo is not None and started_ns < moment.at_ns:
                    in_isr = node in map(broker, state.isr)
                    rows.append(struck.row | {"blank": node, "log_end": end.leo, "in_isr": in_isr})
    wrong = [row for row in rows if row["in_isr"] or row["log_end"] > row["offset"]]
    nothing = "no blank replica was copied while its leader was damaged"
    return judged(rows, wrong, plural(len(rows), "blank replica") + " without the damaged record", nothing)


def _led_while_damaged(evidence: RunEvidence) -> Iterator[tuple[_Struck, int, int]]:
    """Damaged records whose replica led then, with the time from the damage to its end as leader."""
    for struck in _struck(evidence):
        intervals = evidence.run_state.partitions.get((struck.topic, struck.partition), ())
        begin_ns = struck.fault.inject_ns
        led = [one for one in intervals if one.end_ns > begin_ns]
        if led and broker(led[0].leader) == struck.node:
            others = (one.begin_ns for one in led if broker(one.leader) != struck.node)
            yield struck, begin_ns, next(others, evidence.run_state.end_ns)


@claim(
    "reader-is-told-of-damage",
    source="librdkafka documentation, CONFIGURATION.md: check.crcs",
    basis=Basis.DOCUMENTATION,
)
def reader_is_told_of_damage(evidence: RunEvidence) -> Judged:
    """A reader that checks checksums (check.crcs) gets an error in place of a damaged record."""
    rows = []
    for struck, begin_ns, end_ns in _led_while_damaged(evidence):
        told = evidence.read_errors(struck.topic, struck.partition)
        errors = sum(name == TOLD and begin_ns < at_ns < end_ns for at_ns, name in told)
        rows.append(struck.row | {"errors": errors, "until_ns": end_ns})
    wrong = [row for row in rows if not row["errors"]]
    return judged(rows, wrong, plural(len(rows), "damaged record") + " told to the reader", _NOTHING)


def _positions(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """How far readers came while the replica with the damage led, and in the end."""
    for struck, begin_ns, end_ns in _led_while_damaged(evidence):
        heard = [
            (one.read_ns, one.offset)
            for one in of(evidence.run_state.events, Position)
            if (one.topic, one.partition) == (struck.topic, struck.partition)
        ]
        meanwhile = [offset for read_ns, offset in heard if begin_ns < read_ns < end_ns]
        if meanwhile:
            later = [offset for read_ns, offset in heard if read_ns > end_ns]
            yield struck.row | {"until_ns": end_ns, "position": max(meanwhile), "later": max(later, default=None)}


@claim("reader-stops-at-damage", source="librdkafka 2.16, rd_kafka_msgset_reader_v2", basis=Basis.SOURCE)
def reader_stops_at_damage(evidence: RunEvidence) -> Judged:
    """A reader stops at a damaged batch of format 2, until a replica with an undamaged copy leads."""
    rows = list(_positions(evidence))
    wrong = [row for row in rows if row["position"] != row["offset"] or (row["later"] or 0) <= row["offset"]]
    return judged(rows, wrong, plural(len(rows), "reader") + " held up by a damaged record", _UNREAD)


@claim("reader-goes-on-behind-damage", source="librdkafka 2.16, rd_kafka_msgset_reader_msg_v0_1", basis=Basis.SOURCE)
def reader_goes_on_behind_damage(evidence: RunEvidence) -> Judged:
    """A reader skips a damaged message of format 0 or 1, and never gets it.

    While the damaged replica leads a reader comes beyond the record.
    """
    rows = list(_positions(evidence))
    wrong = [row for row in rows if row["position"] <= row["offset"]]
    return judged(rows, wrong, plural(len(rows), "reader") + " went on behind a damaged record", _UNREAD)


@claim(
    "reader-is-not-told-of-gap",
    source="Log.read (0.10.2.2 to 2.8.2), LocalLog.read (3.9.2, 4.3.1): a fetch that finds "
    "nothing in a segment goes on to the next",
    basis=Basis.SOURCE,
)
def reader_is_not_told_of_gap(evidence: RunEvidence) -> Judged:
    """Records that a follower never received leave a gap in offsets, which is no error for a reader.

    Readers of a replica that was filled by way of a damaged index are given no error.
    """
    rows = list[dict[str, Any]]()
    for fault, proof in evidence.run_state.proved(FlipProof):
        directory, _, name = proof.file.rpartition("/")
        topic, _, number = directory.rpartition("-")
        if proof.offset is None or not name.endswith(".index") or not number.isdigit():
            continue
        read = evidence.read_at(topic, int(number))
        missing = read is not None and not any(proof.offset in offsets for offsets in read.values())
        if missing:
            errors = sorted({name for _, name in evidence.read_errors(topic, int(number))})
            rows.append({"node": fault.node, "at_ns": fault.inject_ns, "offset": proof.offset, "errors": errors})
    wrong = [row for row in rows if TOLD in row["errors"]]
    return judged(rows, wrong, plural(len(rows), "gap") + " that no reader was told of", "no reader met a gap")
