"""What became of znodes that nobody could watch: ZooKeeper's own log has those that came and went between two looks.

A request for a preferred election or a notification of ISR changes may be there for a few milliseconds. The controller
deletes it as soon as it has read it, and the observer's watch reports that it was made when it is gone. The log has
what it held and, with ZooKeeper's clock, when it was made and deleted.

A partition's state may change twice between two looks too: a controller that has fallen behind writes the end of a
leader and the election of the next one within milliseconds. The observer counts what it skipped by the znode's version,
and the log says what that was. Only such gaps are filled, between two states that were seen: of what the observer did
not watch yet, or no longer, the log would tell as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from evidence.events import ControllerWritten, CreationRefused, Event, IsrChange, Note, Partition, Znode, of
from evidence.nodes import broker
from harness.observers.state import partition_event
from harness.observers.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    ISR_CHANGES,
    MS,
    PREFERRED_ELECTION,
    REASSIGNMENT,
    STATE,
    TOPIC,
    Assignment,
    Stat,
    parse_assignment,
    parse_isr_change,
    parse_partition_state,
    state_path,
)
from kafkafiles.errors import ParseError
from kafkafiles.zookeeper_log import NODE_EXISTS, ZnodeChange, transactions

if TYPE_CHECKING:
    from evidence.timeline import Timeline

LOGS: Final = "zookeeper/version-2"
"""Where they are in the data of the node."""
REGISTRATIONS: Final = "/brokers/ids"
REQUESTS: Final = (PREFERRED_ELECTION.path, REASSIGNMENT.path)


def read_log(data: Path) -> Iterator[ZnodeChange]:
    """The transactions of a ZooKeeper node with this data. Raises ParseError."""
    files = sorted((data / LOGS).glob("log.*"), key=lambda path: int(path.suffix[1:], 16))
    for path in files:
        yield from transactions(path.read_bytes(), path.name)


def unseen(log: Iterable[ZnodeChange], told: Iterable[Event]) -> list[tuple[int, Event]]:
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


def controllers(log: Iterable[ZnodeChange]) -> Iterator[tuple[int, ControllerWritten]]:
    """Who became the controller, by which transactions, each with its wall time in ns: whoever made /controller, and
    what the same session wrote into /controller_epoch next.
    """
    made: ZnodeChange | None = None
    for one in log:
        if one.path == CONTROLLER.path and one.kind == "create":
            made = one
        elif made is not None and one.path == CONTROLLER_EPOCH.path and one.session == made.session:
            with suppress(ValueError):
                number = json.loads(made.data)["brokerid"]
                yield (
                    one.time_ms * MS,
                    ControllerWritten(
                        node=broker(number), epoch=int(one.data), controller_zxid=made.zxid, epoch_zxid=one.zxid
                    ),
                )
            made = None


def refused_creations(log: Iterable[ZnodeChange]) -> Iterator[tuple[int, CreationRefused]]:
    """After each creation of /controller, the first creation that was refused to each other broker because of what was
    there, with its wall time in ns. Sessions are told by the registrations that they made.
    """
    entries = tuple(log)
    owners = {one.session: one.path.rpartition("/")[2] for one in entries if one.kind == "create" and _registers(one)}
    made: ZnodeChange | None = None
    told: set[int] = set()
    for one in entries:
        if one.path == CONTROLLER.path and one.kind == "create":
            made, told = one, {one.session}
        elif made is not None and one.error == NODE_EXISTS and one.session in owners.keys() - told:
            told.add(one.session)
            node = broker(int(owners[one.session]))
            yield one.time_ms * MS, CreationRefused(node=node, controller_zxid=made.zxid, zxid=one.zxid)


def _registers(one: ZnodeChange) -> bool:
    return one.path.startswith(f"{REGISTRATIONS}/")


def skipped_states(log: Iterable[ZnodeChange], told: Iterable[Event], *, wall_to_monotonic_ns: int) -> list[Event]:
    """The states of partitions that the observer skipped: in the log, and between two that it told. Each comes with its
    znode's content, as the observer would have told it, at its time by ZooKeeper's clock (in ms) or as near to that as
    the states before and after allow.
    """
    seen = _told(told)
    found: list[Event] = []
    for where, data, stat, placed in _states(log):
        seen_ns = seen.get((where[0], stat.created), {})
        if stat.version in seen_ns:
            continue
        before = [at_ns for version, (_, at_ns) in seen_ns.items() if version < stat.version]
        after = [at_ns for version, (at_ns, _) in seen_ns.items() if version > stat.version]
        if not before or not after:
            continue
        with suppress(ValueError):
            state = replace(parse_partition_state(data, stat), **placed._asdict())
            at_ns = min(max(stat.modified_ms * MS + wall_to_monotonic_ns, max(before) + 1), min(after) - 1)
            events = (
                Znode(path=where[0], content=json.loads(data), version=stat.version, created=stat.created),
                partition_event("zookeeper", where[1], int(where[2]), state),
            )
            found += (structs.replace(one, monotonic_ns=at_ns, wall_ns=at_ns - wall_to_monotonic_ns) for one in events)
    return found


def _told(told: Iterable[Event]) -> dict[tuple[str, int], dict[int, tuple[int, int]]]:
    """When the observer told each version of a partition's state, by its znode's path and creation: from the znode to
    the state, which on a busy machine it may tell a tenth of a second later.
    """
    found: dict[tuple[str, int], dict[int, tuple[int, int]]] = {}
    newest: dict[str, dict[int, tuple[int, int]]] = {}
    for event in told:
        if isinstance(event, Znode) and event.content is not None and STATE.fullmatch(event.path):
            newest[event.path] = found.setdefault((event.path, event.created), {})
            newest[event.path].setdefault(event.version, (event.monotonic_ns, event.monotonic_ns))
        elif isinstance(event, Partition) and event.version is not None:
            times = newest.get(state_path(event.topic, event.partition), {})
            if event.version in times:
                first_ns, last_ns = times[event.version]
                times[event.version] = first_ns, max(last_ns, event.monotonic_ns)
    return found


def _states(log: Iterable[ZnodeChange]) -> Iterator[tuple[re.Match[str], bytes, Stat, Assignment]]:
    """Each state that the log has of a partition: its znode's path, data and stat, and the partition's assignment."""
    stats: dict[str, Stat] = {}
    assignments: dict[str, dict[int, Assignment]] = {}
    for one in log:
        if one.kind == "delete":
            continue
        if where := TOPIC.fullmatch(one.path):
            with suppress(ValueError):
                assignments[where[1]] = parse_assignment(one.data)
        elif where := STATE.fullmatch(one.path):
            last = stats.get(one.path)
            if one.kind == "create" or last is None:
                last = Stat(version=-1, created=one.zxid, modified=one.zxid, modified_ms=one.time_ms)
            stat = replace(last, version=last.version + 1, modified=one.zxid, modified_ms=one.time_ms)
            stats[one.path] = stat
            yield where, one.data, stat, assignments.get(where[1], {}).get(int(where[2]), Assignment())


def append_to(timeline: Timeline, told: Iterable[Event], data: Path, *, wall_to_monotonic_ns: int) -> None:
    """Add what the observer has not seen to the timeline; a log that cannot be read is noted."""
    seen = tuple(told)
    try:
        log = tuple(read_log(data))
    except (ParseError, OSError) as error:
        timeline.append(Note(source="zookeeper", text=f"its transaction log cannot be read: {error}"))
        return
    for wall_ns, event in unseen(log, seen):
        timeline.append(structs.replace(event, monotonic_ns=wall_ns + wall_to_monotonic_ns, wall_ns=wall_ns))
    for wall_ns, elected in controllers(log):
        timeline.append(structs.replace(elected, monotonic_ns=wall_ns + wall_to_monotonic_ns, wall_ns=wall_ns))
    for wall_ns, refused in refused_creations(log):
        timeline.append(structs.replace(refused, monotonic_ns=wall_ns + wall_to_monotonic_ns, wall_ns=wall_ns))
    for event in skipped_states(log, seen, wall_to_monotonic_ns=wall_to_monotonic_ns):
        timeline.append(event)
