"""`kafka-chaos incident`: what can be read out of what people saved after they lost records.

It takes what there is: copied partitions, text logs of brokers and controllers, configuration, a version. It answers in
order: which log lines tell of a cause, the one that can lose records most surely first; where copied replicas differ;
which known bugs the release has, and who meets them; what the producers' settings risk. What was not found
in the files is said to be not found, never excluded: a log that was not saved tells nothing.

Logs are searched for fixed strings in mapped files, so memory does not grow with them; only lines that contain one are
looked at closer. Nothing of it needs Docker, Java or a network.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evidence.errors import UsageError
from evidence.releases import numbers
from evidence.text import plural, visible
from kafkafiles import errors
from kafkafiles.side_by_side import ReplicaComparison, compare_directories

LONGEST: Final = 220
"""Characters of a log line that are shown."""
SEGMENT: Final = re.compile(r"\d{20}\.(?:log|index|timeindex|txnindex|snapshot)(?:\..*)?$")
PARTITION: Final = re.compile(r".+-\d+$")
VERSION: Final = re.compile(rb"Kafka version ?: (\d+(?:\.\d+)+)")
COUNTED: Final = 10_000
"""Lines of one sign that are counted in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A log line that tells of a cause."""

    id: str
    literals: tuple[bytes, ...]
    """A line has one of these."""
    line: re.Pattern[bytes] | None = None
    """What the line must match beside."""
    means: str
    do: str
    scenario: str
    weight: int
    """How surely it comes with lost records: signs are told in this order."""


CRASHED: Final = (b"Recovering unflushed segment", b"since no clean shutdown file was found")
BROKER: Final = b"LogManager"
"""What the log of each broker has, and that of no controller."""
ALL_CRASHED: Final = "all-brokers-crashed"
SIGNS: Final = (
    Sign(
        id=ALL_CRASHED,
        literals=CRASHED,
        means="every broker whose log is here was killed or lost power: if all lost power, unflushed records are gone",
        do="Find out whether power was lost. Compare the replicas of each partition before brokers start again.",
        scenario="page-cache-only",
        weight=105,
    ),
    Sign(
        id="unclean-election",
        literals=(b"potential data loss", b"nclean leader election", b"UNCLEAN partition change"),
        line=re.compile(rb"(?i)potential data loss|unclean leader election|UNCLEAN partition change"),
        means="a replica outside the ISR was elected: records that it lacked are lost",
        do="Set unclean.leader.election.enable=false. Look for the records on the replica that led before.",
        scenario="unclean-election",
        weight=100,
    ),
    Sign(
        id="duplicate-broker-id",
        literals=(b"DuplicateBrokerRegistration", b"DUPLICATE_BROKER_REGISTRATION", b"already registered on the path"),
        means="two machines used one broker id: with KRaft the second can count as the first one's replica",
        do="Stop the second machine. Compare the replicas of every partition that this id holds.",
        scenario="duplicate-id-counts-as-replica",
        weight=90,
    ),
    Sign(
        id="truncation",
        literals=(b"Truncating to offset ", b"Truncating log "),
        line=re.compile(rb"Truncating to offset \d+|Truncating log \S+ to offset [1-9]\d*\.(?!.*has no effect)"),
        means="a follower removed the end of its log, which its new leader did not have",
        do="With acks=1 these records were acknowledged by one broker alone: set acks=all. Before 0.11, or with an "
        "older inter.broker.protocol.version, acks=all does not help: finish the upgrade (KIP-101).",
        scenario="double-failover",
        weight=80,
    ),
    Sign(
        id="retention",
        literals=(b"retention time ", b"retention size "),
        line=re.compile(rb"due to (?:log )?retention (?:time|size)"),
        means="segments were deleted because they were too old or too many; a clock that is ahead does this at once",
        do="Compare brokers' clocks and log start offsets. Set retention.ms=-1 until it is clear.",
        scenario="clock-step",
        weight=70,
    ),
    Sign(
        id="corrupt",
        literals=(b"CorruptRecordException", b"Record is corrupt", b"Found invalid messages"),
        means="a replica holds damaged records",
        do="Move leadership to a sound replica before you replace the disk.",
        scenario="bit-rot",
        weight=35,
    ),
    Sign(
        id="disk",
        literals=(
            b"No space left on device",
            b"Input/output error",
            b"Read-only file system",
            b"Stopping serving logs in",
        ),
        means="a disk was full, failed, or was made read-only",
        do="Do not give the broker an empty disk while it is in an ISR.",
        scenario="disk-full",
        weight=60,
    ),
    Sign(
        id="crash",
        literals=CRASHED,
        means="a broker was killed or lost power: what was not flushed is gone if it lost power",
        do="If several brokers show it at one moment, compare their replicas before any of them leads.",
        scenario="page-cache-only",
        weight=40,
    ),
    Sign(
        id="session",
        literals=(b"ession expired", b"because its session has timed out"),
        means="a broker was silent for longer than its session: it was replaced, and may have taken writes (acks=1)",
        do="Look for long garbage collections and cut networks at that time. Use acks=all.",
        scenario="isolated-broker",
        weight=30,
    ),
    Sign(
        id="shrunk-isr",
        literals=(b"Shrinking ISR",),
        means="followers fell behind: until they returned, fewer replicas had what was acknowledged",
        do="Set min.insync.replicas=2, so that acks=all never means one replica.",
        scenario="isr-shrink-expand",
        weight=20,
    ),
    Sign(
        id="refused",
        literals=(b"NotEnoughReplicas",),
        means="writes were refused: their producers were told, and nothing acknowledged is concerned",
        do="Look whether the producers gave up.",
        scenario="min-insync-refusal",
        weight=5,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A sign in the logs."""

    sign: Sign
    lines: int
    first: str
    """The first line, made safe to show."""
    where: str
    """Its file."""
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What lies in the places that were named."""

    logs: tuple[Path, ...]
    parents: tuple[Path, ...]
    """Directories that hold partitions."""


def look(places: Iterable[Path]) -> Found:
    """The text logs and log directories in places. Raises UsageError for a place that is not there."""
    logs: set[Path] = set()
    parents: set[Path] = set()
    for place in places:
        if not place.exists():
            raise UsageError(f"{place}: there is no such file or directory; name what you saved")
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if SEGMENT.search(path.name):
                if path.suffix == ".log" and PARTITION.fullmatch(path.parent.name):
                    parents.add(path.parent.parent)
            elif path.is_file() and (".log" in path.suffixes or path.suffix in (".out", ".txt")):
                logs.add(path)
    return Found(logs=tuple(sorted(logs)), parents=tuple(sorted(parents)))


def signs(logs: Iterable[Path]) -> tuple[list[Seen], list[str]]:
    """The signs in logs, the surest first, and the releases that brokers told of."""
    found: dict[str, tuple[int, str, str, int]] = {}
    brokers = 0
    releases: dict[str, None] = {}
    for path in logs:
        if path.stat().st_size == 0:
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            for release in VERSION.findall(text):
                releases[release.decode()] = None
            brokers += text.find(BROKER) >= 0
            for sign in SIGNS:
                lines = list(_lines(text, sign))
                if lines:
                    count, first, where, files = found.get(sign.id, (0, "", "", 0))
                    shown = visible(lines[0].decode("utf-8", "replace"))[:LONGEST]
                    found[sign.id] = (count + len(lines), first or shown, where or str(path), files + 1)
    # One file may be the log of several brokers: of a single one nothing is said of all.
    if ALL_CRASHED in found and not 1 < brokers <= found[ALL_CRASHED][3]:
        del found[ALL_CRASHED]
    else:
        found.pop("crash", None)
    seen = [
        Seen(
            sign=sign,
            lines=found[sign.id][0],
            first=found[sign.id][1],
            where=found[sign.id][2],
            files=found[sign.id][3],
        )
        for sign in SIGNS
        if sign.id in found
    ]
    return sorted(seen, key=lambda one: -one.sign.weight), sorted(releases, key=numbers)


def _lines(text: mmap.mmap, sign: Sign) -> Iterator[bytes]:
    """The lines of a mapped file that are a sign, at most COUNTED of each literal."""
    for literal in sign.literals:
        at, found = text.find(literal), 0
        while at >= 0 and found < COUNTED:
            begin, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            line = text[begin : end if end >= 0 else len(text)]
            if sign.line is None or sign.line.search(line):
                found += 1
                yield line
            at = text.find(literal, end) if end >= 0 else -1


def replicas(parents: Sequence[Path]) -> tuple[list[ReplicaComparison], str]:
    """Copied partitions compared, or why they are not."""
    if len(parents) < 2:
        return [], "at least two brokers' copies of a partition are needed" if parents else "no partition was found"
    try:
        return compare_directories(parents), ""
    except errors.FilesError as error:
        return [], str(error)


def text(
    found: Found,
    seen: Sequence[Seen],
    releases: Sequence[str],
    compared: tuple[Sequence[ReplicaComparison], str],
    bugs: Sequence[Mapping[str, Any]],
    settings: Sequence[str],
    version: str,
) -> str:
    """The answer for people."""
    comparisons, why = compared
    lines = [
        f"read: {plural(len(found.logs), 'log file')}, {plural(len(found.parents), 'log directory')}".replace(
            "log directorys", "log directories"
        ),
        "",
        "1  What the logs tell, the surest cause first",
    ]
    for one in seen:
        lines += [
            f"   {one.sign.id}: {one.sign.means}",
            f"     {plural(one.lines, 'line')} in {plural(one.files, 'file')}; first in {one.where}:",
            f"     {one.first}",
            f"     do: {one.sign.do}",
            f"     shown by: kafka-chaos run {one.sign.scenario}",
        ]
    lines += [] if seen else ["   none of the known lines; a log that was not saved tells nothing"]
    lines += ["", "2  Replicas"]
    for comparison in comparisons:
        where = f"{comparison.topic}-{comparison.partition}"
        if comparison.sound:
            lines.append(f"   {where}: {plural(len(comparison.replicas), 'replica')} alike")
            continue
        lines.append(f"   {where}: replicas differ, or are damaged")
        if comparison.differences:
            first = comparison.differences[0]
            lines.append(f"     first difference at offset {first.offset}")
        lines += [f"     {visible(fault)}" for fault in comparison.corrupt[:3]]
    lines += [f"   not compared: {why}"] if why else []
    lines += ["", f"3  Known bugs of {version or 'this release'}"]
    if not version:
        lines.append("   not looked up: no log names a release; add --version")
    elif len(releases) > 1:
        lines.append(f"   the logs name several releases: {', '.join(releases)}")
    for bug in bugs:
        remedy = f"be on {bug['be_on']}" if bug["be_on"] else "no release mends it"
        lines.append(f"   {bug['bug']}: {bug['title']} ({remedy}); affected: {bug['whom']}")
    lines += ["", "4  Settings"]
    lines += [f"   {one}" for one in settings] or ["   no producer's configuration was found"]
    lines += [
        "",
        "Next: keep what you saved as it is; `kafka-chaos replicas DIR DIR…` has every difference, and "
        f"`kafka-chaos atlas{f' --version {version}' if version else ''}` what these settings can lose.",
    ]
    return "\n".join(lines) + "\n"
