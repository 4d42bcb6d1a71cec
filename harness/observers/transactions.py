"""What became of znodes that nobody could watch: ZooKeeper's own log has those that came and went between two looks.

A request for a preferred election or a notification of ISR changes may be there for a few milliseconds: the controller
deletes it as soon as it has read it, and the observer's watch tells that it was made when it is gone. The log has what
it held and, with ZooKeeper's clock, when it was made and deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from evidence.events import Event, IsrChange, Note, Znode, of
from harness.observers.znodes import ISR_CHANGES, MS, PREFERRED_ELECTION, REASSIGNMENT, parse_isr_change
from kafkafiles.errors import ParseError
from kafkafiles.zookeeper_log import Transaction, transactions

if TYPE_CHECKING:
    from evidence.timeline import Timeline

LOGS: Final = "zookeeper/version-2"
"""Where they are in the data of the node."""
REQUESTS: Final = (PREFERRED_ELECTION.path, REASSIGNMENT.path)


def read_log(data: Path) -> Iterator[Transaction]:
    """The transactions of a ZooKeeper node with this data. Raises ParseError."""
    files = sorted((data / LOGS).glob("log.*"), key=lambda path: int(path.suffix[1:], 16))
    for path in files:
        yield from transactions(path.read_bytes(), path.name)


def unseen(log: Iterable[Transaction], told: Iterable[Event]) -> list[tuple[int, Event]]:
    """Requests and notifications in the log that the observer has not read, as its events would have told them, each
    with its wall time in ns.
    """
    events = tuple(told)
    read = {(event.path, event.created) for event in of(events, Znode)}
    made = {event.path for event in of(events, IsrChange) if event.state == "made"}
    found: list[tuple[int, Event]] = []
    open_paths = set()
    for one in log:
        notification = one.path.startswith(f"{ISR_CHANGES.path}/")
        if not notification and one.path not in REQUESTS:
            continue
        at_ns = one.time_ms * MS
        if one.kind == "create" and (one.path, one.zxid) not in read:
            open_paths.add(one.path)
            if notification and one.path not in made:
                found.append((at_ns, IsrChange(path=one.path)))
            with suppress(ValueError):
                content = json.loads(one.data)
                found.append((at_ns, Znode(path=one.path, content=content, created=one.zxid, ephemeral=one.ephemeral)))
                if notification:
                    holds = parse_isr_change(one.data)
                    found.append((at_ns, IsrChange(path=one.path, state="holds", partitions=holds)))
        elif one.kind == "delete" and one.path in open_paths:
            open_paths.discard(one.path)
            if notification and one.path not in made:
                found.append((at_ns, IsrChange(path=one.path, state="gone")))
            elif not notification:
                found.append((at_ns, Znode(path=one.path, content=None)))
    return found


def append_to(timeline: Timeline, told: Iterable[Event], data: Path, *, wall_to_monotonic_ns: int) -> None:
    """Add what the observer has not seen to the timeline; a log that cannot be read is noted."""
    try:
        found = unseen(read_log(data), told)
    except (ParseError, OSError) as error:
        timeline.append(Note(source="zookeeper", text=f"its transaction log cannot be read: {error}"))
        return
    for wall_ns, event in found:
        timeline.append(structs.replace(event, monotonic_ns=wall_ns + wall_to_monotonic_ns, wall_ns=wall_ns))
