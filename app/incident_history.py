"""What brokers' logs tell of one partition in order: when it was created, led, cut, copied anew or deleted there.

A cut alone explains little. Before leader epochs every follower cuts its log to its high watermark and fetches the rest
again. Records are lost if that follower leads before it has fetched them. So the order counts, and with it which broker
wrote a line. A broker writes server.log, controller.log and state-change.log beside each other: files of one directory
with these names are one broker's. Any other file is a broker of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from app.incident_logs import LogFile, LogLine
from evidence import borders
from evidence.releases import numbers

BESIDE: Final = ("server.log", "kafkaserver.out", "controller.log", "state-change.log", "log-cleaner.log")
"""How the names of files begin that one broker writes beside each other."""
PARTITION: Final = re.compile(
    r"(?:partition=|[Pp]artition |Leader |Follower |Truncating (?:log )?|Log for partition |(?:in|of) log "
    r"|Log\(dir=[^,]*/|log segment \S*/|alive for |partition change for )"
    r"(?:\[(?P<topic>[\w.-]+),\s?(?P<number>\d+)\]|(?P<name>[\w.-]+-\d+)\b)"
)
ELECTED: Final = re.compile(r"Elect leader (\d+) from live|leader: -1 -> (\d+)\b")
"""Whom an unclean election chose."""
LEADER: Final = re.compile(r"[Bb]roker(?: id)?[ =](\d+)")
BROKER: Final = re.compile(r"(?:broker|node)\.id (?:= |is overridden to )(\d+)")
JOINED: Final = re.compile(r"(?:Expanding ISR .*?to|ISR updated to) \[?([\d,]+)")
WRITTEN_ISR: Final = re.compile(r"ISR updated to \[?([\d,]+)")
CHANGES_ISR: Final = re.compile(r"(?:Shrinking|Expanding) ISR .*?from [\d,]+ to ([\d,]+)")
EPOCH: Final = re.compile(r"starts at [Ll]eader [Ee]poch")
SILENT: Final = timedelta(minutes=1)
"""A change of an ISR may not have been written, if a leader lost ZooKeeper closer to it than this."""
BEFORE_FETCHED: Final = timedelta(minutes=1)
"""A follower of a live leader has fetched again by then."""


@dataclass(frozen=True, slots=True)
class BrokerHistory:
    """The lines of one broker, from all files that it wrote."""

    files: tuple[LogFile, ...]

    def of(self, kind: str) -> list[LogLine]:
        """The lines of a kind, in the order in which they were written."""
        lines = [line for log in self.files for line in log.of(kind)]
        return sorted(lines, key=lambda line: (line.time.timestamp() if line.time else 0.0, line.at))

    @property
    def id(self) -> str:
        """What the broker calls itself; "" if no file says so."""
        told = (BROKER.search(line.text) for line in self.of("broker id"))
        return next((found[1] for found in told if found and found[1] != "-1"), "")


def brokers(logs: Iterable[LogFile]) -> list[BrokerHistory]:
    """The logs, by the broker that wrote them."""
    by_broker: dict[Path, list[LogFile]] = defaultdict(list)
    for log in logs:
        beside = log.file.name.lower().startswith(BESIDE)
        by_broker[log.file.parent if beside else log.file].append(log)
    return [BrokerHistory(tuple(files)) for files in by_broker.values()]


def partition_of(line: LogLine) -> str:
    """The partition that a line is about, as "topic-0"; "" if it names none.

    >>> partition_of(LogLine(Path("x"), 0, "INFO Truncating log t-0 to offset 3. (kafka.log.Log)", None))
    't-0'
    """
    found = PARTITION.search(line.text)
    if not found:
        return ""
    return found["name"] or f"{found['topic']}-{found['number']}"


def led(broker: BrokerHistory) -> list[LogLine]:
    """The lines by which a broker began to lead a partition."""
    return [line for line in broker.of("leads") if "Follower " not in line.text and partition_of(line)]


def _between(line: LogLine, begin: datetime | None, end: datetime | None) -> bool:
    return line.time is not None and begin is not None and end is not None and begin <= line.time <= end


def led_after_a_cut(logs: Sequence[LogFile]) -> list[LogLine]:
    """The cuts after which that broker led the partition, and had not been found caught up in between."""
    told = brokers(logs)
    joined = [line for one in told for line in one.of("isr grew")]
    return [cut for one in told for cut in one.of("truncated") if _led_soon(one, cut, joined)]


def _led_soon(broker: BrokerHistory, cut: LogLine, joined: Iterable[LogLine]) -> bool:
    for line in led(broker):
        if partition_of(line) != partition_of(cut) or line.time is None or cut.time is None:
            continue
        if not cut.time <= line.time <= cut.time + BEFORE_FETCHED:
            continue
        if not any(joins(broker, one, cut) and _between(one, cut.time, line.time) for one in joined):
            return True
    return False


def joins(broker: BrokerHistory, line: LogLine, other: LogLine) -> bool:
    """Whether a leader says with this line that the broker is in sync, of the partition that another line is about."""
    members = JOINED.search(line.text)
    if not members or partition_of(line) != partition_of(other):
        return False
    return not broker.id or broker.id in members[1].split(",")


def tells_of_leaders(logs: Sequence[LogFile]) -> bool:
    """Whether the logs say who led: without state-change.log old releases do not."""
    return any(led(one) for one in brokers(logs))


def leaders_moved(logs: Sequence[LogFile]) -> bool:
    """Whether two brokers led one partition, one after the other."""
    partitions = [partition for one in brokers(logs) for partition in {partition_of(line) for line in led(one)}]
    return len(partitions) > len(set(partitions))


@dataclass(frozen=True, slots=True)
class Lead:
    """A line by which a broker began to lead a partition, with its time and the broker."""

    time: datetime
    broker: BrokerHistory
    line: LogLine


def leads_of(told: Iterable[BrokerHistory]) -> dict[str, list[Lead]]:
    """When which brokers began to lead, by partition, the earliest first."""
    found: dict[str, list[Lead]] = defaultdict(list)
    for one in told:
        for line in led(one):
            if line.time is not None:
                found[partition_of(line)].append(Lead(line.time, one, line))
    return {partition: sorted(leads, key=lambda lead: lead.time) for partition, leads in found.items()}


def elected_again(logs: Sequence[LogFile], unclean: Iterable[LogLine]) -> list[LogLine]:
    """The unclean elections that chose the broker which had led the partition last, and has crashed since: no other
    replica had more.
    """
    told = brokers(logs)
    leads = leads_of(told)
    crashes: dict[tuple[str, str], list[LogLine]] = defaultdict(list)
    for one in told:
        for line in one.of("recovering"):
            crashes[str(one.files[0].file), partition_of(line)].append(line)
    found = []
    for line in unclean:
        partition, until = partition_of(line), line.time
        before = [lead for lead in leads.get(partition, []) if until is not None and lead.time <= until]
        if before and _is_chosen(before[-1], line):
            recovered = crashes[str(before[-1].broker.files[0].file), partition]
            found += [line] if any(_between(one, before[-1].time, until) for one in recovered) else []
    return found


def _is_chosen(lead: Lead, election: LogLine) -> bool:
    """Whether the broker that led is the one that an election chose."""
    chosen, leader = ELECTED.search(election.text), LEADER.search(lead.line.text)
    return bool(chosen and leader and leader[1] == (chosen[1] or chosen[2]))


def fell_with_their_leaders(
    logs: Sequence[LogFile], elections: Iterable[LogLine], lost: Iterable[LogLine], in_sync: Iterable[LogLine]
) -> list[LogLine]:
    """The unclean elections that followed from a loss of power. The broker that was elected had crashed since the last
    leader led, and has not only been slow. And `lost` tells that the last leader lost the end of its log, or `in_sync`
    that the elected one did, which had been in sync.
    """
    told = brokers(logs)
    leads = leads_of(told)
    lost_ends: dict[tuple[Path, str], list[LogLine]] = defaultdict(list)
    for line in lost:
        lost_ends[line.file, partition_of(line)].append(line)
    crashes: dict[tuple[str, str], list[LogLine]] = defaultdict(list)
    ids = {log.file: one.id for one in told for log in one.files}
    lacks = {(ids.get(line.file, ""), partition_of(line)) for line in in_sync}
    for one in told:
        name = one.id
        for line in one.of("recovering"):
            crashes[name, partition_of(line)].append(line)
    found = []
    for election in elections:
        partition, until, chosen = partition_of(election), election.time, ELECTED.search(election.text)
        before = [one for one in leads.get(partition, []) if until is not None and one.time < until]
        if not before or not chosen:
            continue
        led, elected = before[-1], chosen[1] or chosen[2]
        ends = [line for log in led.broker.files for line in lost_ends[log.file, partition]]
        crashed = any(_between(line, led.time, until) for line in crashes[elected, partition])
        if crashed and ((elected, partition) in lacks or any(line.time and line.time > led.time for line in ends)):
            found.append(election)
    return found


def elected_outside(logs: Sequence[LogFile]) -> list[LogLine]:
    """The lines by which a broker began to lead that was not in the ISR which the last leader had written.

    From 1.1 on controllers with ZooKeeper log no unclean election at INFO. The leaders of these releases log their
    epochs, which older ones do not.
    """
    told = brokers(logs)
    written = {id(one): _written_isrs(one) for one in told}
    found = []
    for partition, leads in leads_of(told).items():
        for last, lead in pairwise(leads):
            isrs = [isr for at, isr in written[id(last.broker)].get(partition, ()) if last.time <= at <= lead.time]
            chosen = LEADER.search(lead.line.text) if EPOCH.search(lead.line.text) else None
            if isrs and isrs[-1] and chosen and chosen[1] not in isrs[-1]:
                found.append(lead.line)
    return found


def _written_isrs(broker: BrokerHistory) -> dict[str, list[tuple[datetime, list[str]]]]:
    """The ISRs that a leader wrote, by partition, with the times of its lines. Before 2.4 leaders say what they are
    about to write: if the connection to ZooKeeper was bad near that time, nobody is said to be in the ISR.
    """
    says_written = any(
        numbers(one) >= borders.ISR_WRITTEN_LOGGED.release for log in broker.files for one in log.releases
    )
    failed = sorted(line.time for line in broker.of("isr not written") if line.time)
    found: dict[str, list[tuple[datetime, list[str]]]] = defaultdict(list)
    for line in sorted([*broker.of("shrunk"), *broker.of("isr grew")], key=lambda one: (str(one.time), one.at)):
        isr = (WRITTEN_ISR if says_written else CHANGES_ISR).search(line.text)
        if isr and line.time:
            near = bisect_left(failed, line.time + SILENT) > bisect_right(failed, line.time - SILENT)
            found[partition_of(line)].append((line.time, [] if near and not says_written else isr[1].split(",")))
    return found


def created_again(logs: Sequence[LogFile]) -> Iterator[LogLine]:
    """The lines by which a broker created a partition that it had before, after a start and without a deletion."""
    for one in brokers(logs):
        if one.of("disk"):
            continue  # another directory of the same broker takes over
        first: dict[str, LogLine] = {}
        for line in one.of("created"):
            begin = first.setdefault(partition_of(line), line).time
            if not any(_between(start, begin, line.time) for start in one.of("started")):
                continue
            gone = (deleted for deleted in one.of("replica deleted") if partition_of(deleted) == partition_of(line))
            if not any(_between(deleted, begin, line.time) for deleted in gone):
                yield line


def deleted_on_some(logs: Sequence[LogFile]) -> list[LogLine]:
    """The lines by which brokers deleted a partition that another broker created and did not delete."""
    told = brokers(logs)
    has = {partition_of(line) for one in told for line in one.of("created")}
    lines = []
    for partition in sorted(has - {""}):
        made = [one for one in told if partition in map(partition_of, one.of("created"))]
        gone = [[line for line in one.of("replica deleted") if partition_of(line) == partition] for one in made]
        if any(gone) and not all(gone):
            lines += [line for of_broker in gone for line in of_broker]
    return lines
