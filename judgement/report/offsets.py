"""Log end and high watermark of every replica over time, from whoever told of them.

Brokers at TRACE tell of every step. Without that there are only moments. They are copies of replicas' files, checkpoint
files that were looked at, and lines that every broker logs when it begins to lead, to follow or to cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evidence.events import Checkpoint, Ends, Log, ReplicaOffset, of
from evidence.records import TopicPartition
from judgement.report.facts import JudgedRun, broker_id
from judgement.report.steps import named
from kafkafiles.checkpoints import HIGH_WATERMARKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A replica's log end or high watermark at a time, and who says so."""

    at_ns: int
    offset: int
    witness: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaHistory:
    """What is known of one replica's offsets; each in order of time."""

    node: str
    log_ends: tuple[Point, ...]
    high_watermarks: tuple[Point, ...]
    traced: bool
    """Whether brokers told of every step: then what was said holds until they say something else."""


def replicas_over_time(facts: JudgedRun, where: TopicPartition) -> tuple[ReplicaHistory, ...]:
    """Each assigned replica's offsets, the preferred leader first."""
    said = [one for one in of(facts.events, ReplicaOffset) if (one.topic, one.partition) == where]
    return tuple(_replica(facts, where, said, f"broker-{broker}") for broker in facts.assignment.get(where, ()))


def worth_drawing(replicas: Iterable[ReplicaHistory]) -> bool:
    """Whether anything is known of more than one moment."""
    return any(len({point.at_ns for point in (*one.log_ends, *one.high_watermarks)}) > 1 for one in replicas)


def _replica(facts: JudgedRun, where: TopicPartition, said: list[ReplicaOffset], node: str) -> ReplicaHistory:
    own = [one for one in said if one.node == node]
    lines = [line for line in facts.log if line.node == node and (line.topic, line.partition) == where]
    traced_ends = [one for one in own if one.what == "log-end"] or [
        one for one in said if one.what == "remote-log-end" and one.replica == broker_id(node)
    ]
    traced_marks = [one for one in own if one.what == "high-watermark"]
    ends = [_said(one) for one in traced_ends]
    ends += [_logged(line) for line in lines if line.offset is not None and _tells_of_the_end(line)]
    marks = [_said(one) for one in traced_marks]
    marks += [_logged(line) for line in lines if line.event == "high-watermark" and line.detail == "loaded"]
    marks += _checkpointed(facts, node, named(where))
    for moment in facts.moments:
        copied = moment.nodes.get(node, {}).get(named(where), Ends())
        witness = f"in its files, “{moment.label}”"
        if copied.leo is not None:
            ends.append(Point(at_ns=moment.at_ns, offset=copied.leo, witness=witness))
        # Where brokers told of every step, the file is behind them by up to its interval.
        if copied.hw is not None and not traced_marks:
            marks.append(Point(at_ns=moment.at_ns, offset=copied.hw, witness=witness))
    return ReplicaHistory(
        node=node,
        log_ends=tuple(_in_order(ends)),
        high_watermarks=tuple(_in_order(mark for mark in marks if mark.offset >= 0)),
        traced=bool(traced_ends or traced_marks),
    )


def _checkpointed(facts: JudgedRun, node: str, replica: str) -> Iterator[Point]:
    """The high watermarks of a replica that its broker's file had."""
    for one in of(facts.events, Checkpoint):
        if one.node == node and one.file == HIGH_WATERMARKS and one.offsets is not None and replica in one.offsets:
            yield Point(at_ns=one.at_ns, offset=one.offsets[replica], witness=f"in its {one.file}")


def _tells_of_the_end(line: Log) -> bool:
    """Whether a line's offset is where the replica's log ends."""
    return line.event in ("truncate", "become-leader") or (line.event == "become-follower" and line.detail != "fetches")


def _said(one: ReplicaOffset) -> Point:
    return Point(at_ns=one.at_ns, offset=one.offset, witness=f"by the log of {one.node}: {one.line}")


def _logged(line: Log) -> Point:
    return Point(at_ns=line.at_ns, offset=line.offset or 0, witness=f"by the log of {line.node}: {line.line}")


def _in_order(points: Iterable[Point]) -> Iterator[Point]:
    return iter(sorted(points, key=lambda point: point.at_ns))
