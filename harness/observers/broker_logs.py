"""What the brokers logged: kept whole, and the lines that tell of truncation, leadership and the ISR as events.

Messages changed from line to line of Kafka, so each event has several patterns; a line that fits none is still in the
file. Docker's time stamp in front of each line is the engine's clock, the same machine's as ours, so lines can be put
among everything else that happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from docker.errors import APIError

if TYPE_CHECKING:
    from pathlib import Path

    from harness.rundir import RunDir
    from harness.timeline import Timeline

STAMP: Final = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{1,9})Z (.*)$", re.DOTALL)
PARTITION: Final = r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+)"
OLD_PARTITION: Final = r"\[(?P<topic>[A-Za-z0-9._-]+),(?P<partition>\d+)\]"

PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (event, re.compile(pattern))
    for event, pattern in (
        ("truncate", rf"Truncating log {PARTITION} to offset (?P<offset>\d+)"),
        (
            "truncate",
            rf"\[(?:Unified)?Log partition={PARTITION}, dir=[^\]]*\] Truncating to (?:offset )?(?P<offset>\d+)",
        ),
        ("truncate", rf"Truncating partition {PARTITION} with TruncationState\(offset=(?P<offset>\d+)"),
        ("truncate", rf"Truncating partition {PARTITION} to local high watermark (?P<offset>\d+)"),
        ("truncate", rf"Truncating {PARTITION} to (?:offset )?(?P<offset>\d+)"),
        ("epoch-request", rf"leader replied with an offset (?P<offset>\d+).*{PARTITION}"),
        ("become-leader", rf"Leader {PARTITION}[ ,].*starts at leader epoch \d+ from offset (?P<offset>\d+)"),
        ("become-leader", rf"{PARTITION} starts at Leader Epoch \d+ from offset (?P<offset>\d+)"),
        ("become-follower", rf"Follower {PARTITION} starts at leader epoch \d+ from offset (?P<offset>\d+)"),
        ("become-leader", rf"making broker leader for partition {OLD_PARTITION}"),
        ("become-follower", rf"making broker follower for partition {OLD_PARTITION}"),
        ("shrink-isr", rf"\[?Partition \[?{PARTITION}.*Shrinking ISR"),
        ("shrink-isr", rf"Shrinking ISR for partition {OLD_PARTITION}"),
        ("shrink-isr", rf"Shrinking ISR for partition {PARTITION}"),
        ("expand-isr", rf"\[?Partition \[?{PARTITION}.*Expanding ISR"),
        ("expand-isr", rf"Expanding ISR for partition {OLD_PARTITION}"),
        ("expand-isr", rf"Expanding ISR for partition {PARTITION}"),
        ("unclean-election", rf"UNCLEAN partition change for {PARTITION}"),
        ("unclean-election", rf"No broker in ISR is alive for {OLD_PARTITION}"),
        ("unclean-election", rf"[Uu]nclean leader election.*{PARTITION}"),
        ("fatal", r"Exiting because log truncation is not allowed for"),
        ("fatal", r"A broker is already registered on the path"),
        ("fatal", r"Fatal error during KafkaServer startup|Encountered fatal fault|OutOfMemoryError"),
        ("recovery", r"Recovering unflushed segment (?P<offset>\d+)"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """One telling line. `wall_ns` is Docker's stamp; topic, partition and offset where the line names them."""

    node: str
    wall_ns: int
    event: str
    topic: str | None
    partition: int | None
    offset: int | None
    line: str


def parse_stamp(line: str) -> tuple[int, str] | None:
    """Wall nanoseconds and the rest of a line that Docker stamped; None for any other line."""
    found = STAMP.match(line)
    if found is None:
        return None
    seconds = int(datetime.fromisoformat(found.group(1)).replace(tzinfo=UTC).timestamp())
    return seconds * 1_000_000_000 + int(found.group(2).ljust(9, "0")), found.group(3)


def recognise(text: str) -> tuple[str, Mapping[str, Any]] | None:
    """The event that a log message tells of, and what it names; None for the many that tell of none."""
    for event, pattern in PATTERNS:
        found = pattern.search(text)
        if found is not None:
            return event, found.groupdict()
    return None


def parse(path: Path, node: str) -> Iterator[LogEvent]:
    """The telling lines of one node's log file, in order. Bytes that are no text are replaced, never fatal."""
    with path.open(errors="replace") as file:
        for raw in file:
            stamped = parse_stamp(raw.rstrip("\n"))
            if stamped is None:
                continue
            wall_ns, text = stamped
            found = recognise(text)
            if found is None:
                continue
            event, named = found
            yield LogEvent(
                node=node,
                wall_ns=wall_ns,
                event=event,
                topic=named.get("topic"),
                partition=_number(named.get("partition")),
                offset=_number(named.get("offset")),
                line=text,
            )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def collect(containers: Mapping[str, Any], run_dir: RunDir) -> None:
    """Write what every node printed into the run directory; a container that is gone leaves a line saying so."""
    run_dir.logs.mkdir(parents=True, exist_ok=True)
    for node, container in containers.items():
        try:
            content = container.logs(timestamps=True)
        except APIError as error:
            content = f"(the engine has no log of {node}: {error.explanation})\n".encode()
        run_dir.log(node).write_bytes(content)


def append_to(timeline: Timeline, run_dir: RunDir, *, wall_to_monotonic_ns: int) -> None:
    """Add the telling lines of every broker to the timeline; `wall_to_monotonic_ns` is what to add to a wall time."""
    for path in sorted(run_dir.logs.glob("broker-*.log")):
        for event in parse(path, path.stem):
            timeline.append(
                "broker-log",
                "log",
                monotonic_ns=event.wall_ns + wall_to_monotonic_ns,
                wall_ns=event.wall_ns,
                node=event.node,
                event=event.event,
                topic=event.topic,
                partition=event.partition,
                offset=event.offset,
                line=event.line,
            )
