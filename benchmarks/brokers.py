"""The brokers' side of a synthetic run: a timeline in which leaders and ISR change, and copies of three replicas.

What a whole run has beside its histories (benchmarks.synthetic), for every partition: three replicas as segment files
of message format 2 that hold the records of the histories, copied twice with their checkpoints, and a timeline. One
follower is killed after a third of the load and leaves the ISR, which the first copies (MIDDLE) show; later the leader
changes, and the follower returns, truncates, and is in sync again. The high watermark moves all the time: every
acknowledgement, and every answer that a reader is given, bounds it.

What was lost (load.LOST) is in no copy: besides a lost write, each is an unreplicated acknowledgement of every
moment that comes after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from benchmarks.load import BLOCK, PACE_NS, PartitionLoad, sent_at, steps
from evidence import events
from evidence.history import record
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from kafkafiles import sums
from kafkafiles.checkpoints import LEADER_EPOCHS
from kafkafiles.compiled import compiled

BROKERS: Final = (1, 2, 3)
LAGGING: Final = 3
MIDDLE, FINAL = "01-middle", "02-final"
KILLED, MIDDLE_AT, ELECTED, RETURNED = 0.33, 0.45, 0.6, 0.7
"""Shares of a partition's load at which the follower is killed, copies are taken, a leader is elected, it returns."""
BATCH: Final = 100
VALUE_BYTES: Final = 100
SEGMENT_ROWS: Final = {1: 4_000_000, 2: 3_000_000, 3: 5_000_000}
"""Records of a segment of each broker, some half a gigabyte: each rolls segments at places of its own."""
WRITTEN_ROWS: Final = BATCH * 10_000
SETTLING_NS: Final = 500_000_000
WALL_NS: Final = 1_700_000_000_000_000_000
RUN: Final = record.run_hash("synthetic")


def write_brokers(run_dir: RunDir, parts: list[PartitionLoad]) -> list[str]:
    """Write timeline and copies beside the histories. Returns the names of the moments."""
    load_ns = max(part.records for part in parts) * PACE_NS
    for part in parts:
        for moment in (MIDDLE, FINAL):
            for broker in BROKERS:
                directory = run_dir.moment(moment) / f"broker-{broker}" / part.name
                end = _stated(part, moment, broker, load_ns).leo or 0
                write_log(directory, part, end, _offset_at(part, int(ELECTED * load_ns)), SEGMENT_ROWS[broker])
    _write_timeline(run_dir, parts, load_ns)
    return [MIDDLE, FINAL]


def _offset_at(part: PartitionLoad, at_ns: int) -> int:
    """The log end of a partition at a time of its load: after the block that was sent last."""
    return min(part.records, (at_ns // (BLOCK * PACE_NS) + 1) * BLOCK)


def write_log(directory: Path, part: PartitionLoad, end: int, elected: int, rolled: int) -> None:
    """A replica's directory with all records below `end`, `rolled` of them in each segment; those from `elected` on
    are of leader epoch 1.
    """
    directory.mkdir(parents=True)
    path, file = None, None
    out = np.zeros((VALUE_BYTES + 20) * WRITTEN_ROWS, np.uint8)
    for offsets in steps(end, WRITTEN_ROWS):
        if path is None or offsets[0] - int(path.stem) >= rolled:
            path = directory / f"{offsets[0]:020d}.log"
            if file is not None:
                file.close()
            file = path.open("wb")
        there = offsets[~np.isin(offsets, part.lost)]
        producer, sequence = part.identities(there)
        size = _batches(there, producer, sequence, sent_at(there) // 1_000_000, elected, VALUE_BYTES, RUN, BATCH, out)
        assert file is not None
        file.write(out[:size].data)
    if file is not None:
        file.close()
    epochs = [(0, 0)] + ([(1, elected)] if end > elected else [])
    lines = [f"{epoch} {offset}\n" for epoch, offset in epochs]
    (directory / LEADER_EPOCHS).write_text(f"0\n{len(lines)}\n" + "".join(lines))


def _write_timeline(run_dir: RunDir, parts: list[PartitionLoad], load_ns: int) -> None:
    def at(share: float) -> int:
        return int(share * load_ns)

    lagging = f"broker-{LAGGING}"
    controller = events.Controller(source="zookeeper", node="broker-1", epoch=1)
    found: list[tuple[int, events.Event]] = [(-1_000_000_000, controller)]
    for part in parts:
        for at_ns, leader, epoch, isr in (
            (-900_000_000, 1, 0, (1, 2, 3)),
            (at(KILLED) + 1, 1, 0, (1, 2)),
            (at(ELECTED), 2, 1, (2, 1)),
            (at(RETURNED) + SETTLING_NS, 2, 1, (2, 1, 3)),
        ):
            state = events.Partition(
                source="zookeeper", leader=leader, leader_epoch=epoch, isr=isr, replicas=BROKERS, **part.where
            )
            found.append((at_ns, state))
        cut = _offset_at(part, at(KILLED))
        line = events.Log(node=lagging, event="truncate", offset=cut, line="Truncating log", **part.where)
        found.append((at(RETURNED), line))
    found.append((at(KILLED), events.Container(node=lagging, action="die")))
    found.append((at(RETURNED - 0.01), events.Container(node=lagging, action="start")))
    for name, at_ns in ((MIDDLE, at(MIDDLE_AT)), (FINAL, load_ns + 10_000_000_000)):
        nodes = {
            f"broker-{broker}": {part.name: _stated(part, name, broker, load_ns) for part in parts}
            for broker in BROKERS
        }
        found.append((at_ns, events.Moment(name=name, begun_ns=at_ns - 50_000_000, nodes=nodes)))
    with Timeline(run_dir.timeline) as timeline:
        for at_ns, event in sorted(found, key=lambda one: one[0]):
            timeline.append(msgspec.structs.replace(event, monotonic_ns=at_ns, wall_ns=WALL_NS + at_ns))


def _stated(part: PartitionLoad, moment: str, broker: int, load_ns: int) -> events.Ends:
    """Log end and high watermark of a copy: the checkpoint is behind, as it is written now and then."""
    end = part.end
    if moment == MIDDLE:
        end = _offset_at(part, int((KILLED if broker == LAGGING else MIDDLE_AT) * load_ns))
    return events.Ends(leo=end, hw=max(0, end - BATCH) if moment == MIDDLE else end)


@compiled
def _put(out: Any, at: Any, value: Any, size: Any) -> Any:
    """A number of so many bytes, big-endian; returns the place after it."""
    for place in range(size):
        out[at + place] = (value >> (8 * (size - 1 - place))) & 0xFF
    return at + size


@compiled
def _varint(out: Any, at: Any, value: Any) -> Any:
    zigzag = (value << 1) ^ (value >> 63)
    while zigzag >= 0x80:
        out[at] = (zigzag & 0x7F) | 0x80
        zigzag >>= 7
        at += 1
    out[at] = zigzag
    return at + 1


@compiled
def _batches(
    offsets: Any, producer: Any, sequence: Any, sent_ms: Any, elected: Any, size: Any, run: Any, batch: Any, out: Any
) -> Any:
    """Batches of the records at these offsets, in format 2; returns how many bytes they take."""
    at, row = 0, 0
    value = np.zeros(size, np.uint8)
    _put(value, 0, 0x4B434831, 4)  # KCH1
    _put(value, 4, run, 4)
    while row < len(offsets):
        begin, base, first = at, offsets[row], row
        at += 61
        last = base
        while row < len(offsets) and offsets[row] // batch == base // batch:
            last = offsets[row]
            _put(value, 8, producer[row], 4)
            _put(value, 12, sequence[row], 8)
            checksum = np.int64(sums.crc32c(value, 0, size - 4))
            for place in range(4):
                value[size - 4 + place] = (checksum >> (8 * place)) & 0xFF
            delta = last - base
            length = 1 + 1 + (1 if delta < 64 else 2) + 1 + (1 if size < 64 else 2) + size + 1
            at = _varint(out, at, length)
            out[at] = 0
            at = _varint(out, at + 1, 0)
            at = _varint(out, at, delta)
            at = _varint(out, at, -1)
            at = _varint(out, at, size)
            out[at : at + size] = value
            at = _varint(out, at + size, 0)
            row += 1
        place = _put(out, begin, base, 8)
        place = _put(out, place, at - begin - 12, 4)
        place = _put(out, place, 0 if base < elected else 1, 4)
        out[place] = 2
        place = _put(out, place + 5, 0, 2)
        place = _put(out, place, last - base, 4)
        place = _put(out, place, sent_ms[first], 8)
        place = _put(out, place, sent_ms[first], 8)
        place = _put(out, place, -1, 8)
        place = _put(out, place, -1, 2)
        place = _put(out, place, -1, 4)
        _put(out, place, row - first, 4)
        _put(out, begin + 17, np.int64(sums.crc32c(out, begin + 21, at)), 4)
    return at
