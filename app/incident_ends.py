"""Where brokers' logs ended, as their lines tell: a log that came back shorter after a crash lost what was not flushed.

The page cache outlives a broker's process. So after a kill a log ends where it ended, and a replica that may lead has
all that its followers took for committed. After a loss of power neither holds. Some file systems fill the lost end with
zeros, which recovery finds; others leave the file shorter, and recovery finds nothing wrong. Then only other lines
tell: what the broker itself had said of its end, or the high watermark below which a follower had to cut its log.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from app import incident_history as history
from app.incident_history import BrokerHistory, Lead
from app.incident_logs import LogFile, LogLine
from kafkafiles.batches import Corrupt
from kafkafiles.replica import Replica, SegmentProblem

ENDS: Final = {
    "loaded": re.compile(r"log ?[eE]nd ?[oO]ffset[ =](\d+)"),
    "leads": re.compile(r"starts at [Ll]eader [Ee]poch \d+ from offset (\d+)"),
    "shrunk": re.compile(r"Leader: \(highWatermark: \d+, endOffset: (\d+)\)"),
    "rolled": re.compile(r"Rolled new log segment at offset (\d+)"),
    "truncated": re.compile(r"to offset (\d+)"),
    "truncated whole": re.compile(r"start at offset (\d+)"),
}
"""Kinds of lines that tell where a log ends, and how."""
BELOW: Final = re.compile(r"to offset \d+ below high watermark (\d+)")
LEFT: Final = re.compile(r'"leader":-1,.*"isr":\[([\d,]+)\]')
"""Who was in sync when a partition had lost its leader, as controllers up to 1.0 say."""
SECTOR: Final = 512
"""Bytes that a disk writes at once, or a multiple of it: what was never written begins at such a border."""
GROWS: Final = ("leads", "shrunk", "rolled")
"""Kinds of lines that tell of an end while a log grows."""
ANEW: Final = ("created", "replica deleted")
"""Kinds of lines after which a partition's log is another one."""


def lines_of(broker: BrokerHistory, kinds: Sequence[str]) -> list[tuple[str, LogLine]]:
    """A broker's lines of some kinds, each with its kind, in their order."""
    told = [(kind, line) for kind in kinds for line in broker.of(kind)]
    return sorted(told, key=lambda one: (one[1].time.timestamp() if one[1].time else 0.0, one[1].at))


def end_of(kind: str, line: LogLine) -> int | None:
    """Where a log ends, by a line of a kind; None if the line does not say so.

    >>> from pathlib import Path
    >>> end_of("loaded", LogLine(Path("x"), 0, "INFO Completed load of log t-0 with log end offset 3 (kafka)", None))
    3
    """
    found = ENDS[kind].search(line.text) if kind in ENDS else None
    return int(found[1]) if found else None


def shorter_than_told(logs: Sequence[LogFile]) -> list[LogLine]:
    """The lines by which a broker loaded a log after a crash whose end lay below what the broker had told before."""
    return [line for one in history.brokers(logs) for line in _shorter(one)]


def _shorter(broker: BrokerHistory) -> Iterator[LogLine]:
    ends: dict[str, int] = {}
    crashed: set[str] = set()
    for kind, line in lines_of(broker, (*ENDS, *ANEW, "recovering")):
        partition, end = history.partition_of(line), end_of(kind, line)
        if kind == "recovering":
            crashed.add(partition)
        elif kind in ANEW:
            ends.pop(partition, None)
        elif partition and end is not None:
            if kind == "loaded" and partition in crashed and end < ends.get(partition, end):
                yield line
            crashed -= {partition} if kind == "loaded" else set()
            ends[partition] = max(end, ends.get(partition, 0)) if kind in GROWS else end


def shorter_than_committed(logs: Sequence[LogFile], by_epoch: bool, only_again: bool) -> list[LogLine]:
    """The lines by which a broker loaded a log after a crash, and then led with it, although a follower knew of more
    that was committed: the follower had to cut its log below its own high watermark. Where a replica may be elected
    that was not in sync, only those of a broker that had led last before its crash (`only_again`).
    """
    told = history.brokers(logs)
    leads, found = history.leads_of(told), dict[LogLine, None]()
    loads = {id(one): _loads(one) for one in told}
    for follower in told:
        for cut, high_watermark in _cuts_below_committed(follower, by_epoch):
            before = [
                lead
                for lead in leads.get(history.partition_of(cut), [])
                if cut.time and lead.time <= cut.time and lead.broker is not follower
            ]
            if not before or (only_again and not (len(before) > 1 and before[-2].broker is before[-1].broker)):
                continue
            line = _led_with(before[-1], loads[id(before[-1].broker)])
            if line and (end_of("loaded", line) or 0) < high_watermark:
                found[line] = None
    return list(found)


def shorter_than_copied(logs: Sequence[LogFile]) -> list[LogLine]:
    """The lines by which the last leader of a partition loaded its log after a crash, if that ends before the log of a
    follower that crashed too: a follower has copied all of it from the leader, so the leader had more.
    """
    told = history.brokers(logs)
    leads = history.leads_of(told)
    loads = [(one, _loads(one)) for one in told]
    found = []
    for leader, of_leader in loads:
        for partition, lines in of_leader.items():
            for line, as_left in lines:
                led = _last_lead(leads.get(partition, ()), line)
                if not as_left or led is None or led.broker is not leader:
                    continue
                others = [(one, _next_load(lines.get(partition, ()), led, line)) for one, lines in loads]
                if any(
                    load is not None
                    and (end_of("loaded", load) or 0) > (end_of("loaded", line) or 0)
                    and _has_copied(one, led, line, load, leads[partition])
                    for one, load in others
                    if one is not leader
                ):
                    found.append(line)
    return found


def _last_lead(leads: Sequence[Lead], line: LogLine) -> Lead | None:
    before = [one for one in leads if line.time and one.time <= line.time]
    return before[-1] if before else None


def _next_load(loads: Sequence[tuple[LogLine, bool]], led: Lead, line: LogLine) -> LogLine | None:
    """The line by which a broker loaded its log first since another one led, if that was after a crash, and at the time
    of the leader's own, for which `line` stands.
    """
    after = ((one, left) for one, left in loads if end_of("loaded", one) and one.time and one.time > led.time)
    first, as_left = next(after, (None, False))
    if first is None or not as_left or line.time is None or first.time is None:
        return None
    return first if _near(first, line) else None


def _has_copied(follower: BrokerHistory, led: Lead, line: LogLine, load: LogLine, leads: Sequence[Lead]) -> bool:
    """Whether all that a follower had when it crashed was in its leader's log: it has been in sync with it, or nobody
    else has led since the follower created its log. And it has copied nothing since the leader is back.
    """
    if line.time is None or load.time is None:
        return False
    if any(one.broker is not led.broker and led.time < one.time <= load.time for one in leads):
        return False
    joined = [one.time for one in led.broker.of("isr grew") if one.time and history.joins(follower, one, line)]
    if any(line.time <= at <= load.time for at in joined):
        return False
    if any(led.time <= at <= line.time for at in joined):
        return True
    created = any(history.partition_of(one) == history.partition_of(line) for one in follower.of("created"))
    return created and all(one.broker is led.broker for one in leads if one.time <= load.time)


def shorter_than_in_sync(logs: Sequence[LogFile]) -> list[LogLine]:
    """The lines by which a broker loaded a log after a crash that ends below a high watermark of before it, if the
    broker was in sync when the partition had lost its leader. Controllers up to 1.0 tell the latter. A follower without
    leader epochs tells its high watermark: it cuts its log there when it follows for the first time since its start.
    """
    told = history.brokers(logs)
    loads = [(one, _loads(one)) for one in told]
    found = dict[LogLine, None]()
    for line in (line for one in told for line in one.of("isr left")):
        left, partition = LEFT.search(line.text), history.partition_of(line)
        if left is None or line.time is None:
            continue
        starts = [(one, _first_start(of_broker.get(partition, ()), line)) for one, of_broker in loads]
        known = [start for _, start in starts if start and start[1]]
        for one, start in starts:
            if start and one.id in left[1].split(","):
                near = [mark for load, mark in known if load is not start[0] and _near(load, start[0])]
                if (end_of("loaded", start[0]) or 0) < max(near, default=0):
                    found[start[0]] = None
    return list(found)


def _first_start(loads: Sequence[tuple[LogLine, bool]], line: LogLine) -> tuple[LogLine, int] | None:
    """The line by which a broker loaded a log first after another line, if that was after a crash; with it the high
    watermark at which it cut the log next, 0 if it did not.
    """
    after = [one for one in loads if one[0].time and line.time and one[0].time > line.time]
    if not after or not after[0][1]:
        return None
    return after[0][0], (end_of("truncated", after[1][0]) or 0) if len(after) > 1 else 0


def _cuts_below_committed(broker: BrokerHistory, by_epoch: bool) -> Iterator[tuple[LogLine, int]]:
    """Cuts of a follower below its high watermark, each with that. Before leader epochs a follower first cuts its log
    to the high watermark; if it has to cut more at once, its leader's log ends before that.
    """
    for line in broker.of("below high watermark"):
        if below := BELOW.search(line.text):
            yield line, int(below[1])
    last: dict[str, int] = {}
    for kind, line in [] if by_epoch else lines_of(broker, ("truncated", "loaded", "leads", *ANEW)):
        partition, offset = history.partition_of(line), end_of(kind, line)
        if kind == "truncated" and offset is not None:
            if offset < last.get(partition, offset):
                yield line, last[partition]
            last[partition] = offset
        else:
            last.pop(partition, None)


def _loads(broker: BrokerHistory) -> dict[str, list[tuple[LogLine, bool]]]:
    """By partition the lines by which a broker loaded a log, or cut it, in their order; and whether it was loaded after
    a crash, and had not been cut shortly before that.
    """
    found: dict[str, list[tuple[LogLine, bool]]] = defaultdict(list)
    crashed: set[str] = set()
    cut: dict[str, LogLine] = {}
    for kind, line in lines_of(broker, ("recovering", "loaded", "truncated")):
        partition = history.partition_of(line)
        if kind == "recovering":
            crashed.add(partition)
            continue
        as_left = kind == "loaded" and partition in crashed
        found[partition].append((line, as_left and not (partition in cut and _soon(cut[partition], line))))
        crashed.discard(partition)
        if kind == "truncated":
            cut[partition] = line
    return found


def _near(one: LogLine, other: LogLine) -> bool:
    return bool(one.time and other.time and abs(one.time - other.time) < history.BEFORE_FETCHED)


def _soon(first: LogLine, second: LogLine) -> bool:
    return not first.time or not second.time or second.time - first.time < history.BEFORE_FETCHED


def _led_with(lead: Lead, loads: Mapping[str, Sequence[tuple[LogLine, bool]]]) -> LogLine | None:
    """The line by which a leader had loaded the log with which it began to lead, if that was after a crash, and it has
    cut nothing off since.
    """
    told = loads.get(history.partition_of(lead.line), ())
    before = [(line, as_left) for line, as_left in told if line.time and line.time <= lead.time]
    return before[-1][0] if before and before[-1][1] else None


def real_cuts(logs: Sequence[LogFile]) -> list[LogLine]:
    """The cuts that removed something. Old releases tell of each, also of one at the end of a log just loaded."""
    found = []
    for one in history.brokers(logs):
        ends: dict[str, int] = {}
        for kind, line in lines_of(one, ("loaded", "truncated", "leads")):
            partition, end = history.partition_of(line), end_of(kind, line)
            if kind == "truncated" and not (partition and end is not None and ends.get(partition) == end):
                found.append(line)
            if kind == "loaded" and end is not None:
                ends[partition] = end
            elif kind == "truncated" or "Follower " not in line.text:
                ends.pop(partition, None)
    return found


def copied_again(logs: Sequence[LogFile]) -> list[LogLine]:
    """The first cuts of logs just loaded whose leader had as much: before leader epochs each follower cuts its log to
    its high watermark, and copies what it removed again.
    """
    told = history.brokers(logs)
    leads = history.leads_of(told)
    loads = {id(one): _loads(one) for one in told}
    found = []
    for follower in told:
        for partition, lines in loads[id(follower)].items():
            for (load, as_left), (cut, _) in pairwise(lines):
                led = _last_lead(leads.get(partition, ()), cut)
                if as_left and led and led.broker is not follower and end_of("loaded", cut) is None:
                    line = _led_with(led, loads[id(led.broker)])
                    if line and (end_of("loaded", line) or 0) >= (end_of("loaded", load) or 0):
                        found.append(cut)
    return found


def never_written(replica: Replica) -> list[SegmentProblem]:
    """The problems at the end of a copied log that are zeros which no broker wrote: a batch whose end is missing from
    some sector on, and what follows it up to the end of the file.
    """
    if not replica.segments:
        return []
    last, found = replica.segments[-1], list[SegmentProblem]()
    end = last.size
    for problem in reversed(replica.problems):
        corrupt = problem.corrupt
        at_end = problem.segment == last.base_offset and corrupt.position + corrupt.size == end
        if not at_end or not (corrupt.kind == "zero-padding" or _ends_in_zeros(last.path, corrupt)):
            break
        found.append(problem)
        end = corrupt.position
    return found


def _ends_in_zeros(segment: Path, corrupt: Corrupt) -> bool:
    """Whether a batch is zeros from the border of a sector on."""
    with segment.open("rb") as file:
        file.seek(corrupt.position)
        data = file.read(corrupt.size)
    zeros = corrupt.position + len(data.rstrip(b"\0"))
    return corrupt.kind != "torn" and -(-zeros // SECTOR) * SECTOR < corrupt.position + corrupt.size
