"""What the pieces of a run share: run.json and the timeline, read once by a process that checks many partitions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from evidence import timeline
from evidence.events import Event, Log, Moment, Partition, RecordsDeleted
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.rundir import RunDir

Where = tuple[str, int]
_Placed = tuple[int, Event]


def record_of(run_dir: RunDir) -> RunRecord:
    """The run's record, read once by a process that checks many partitions. Raises as `read_run` does."""
    try:
        stamp = run_dir.run_json.stat()
    except OSError:
        return run_dir.read_run()
    return _read_record(run_dir, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=2)
def _read_record(run_dir: RunDir, changed_ns: int, size: int) -> RunRecord:
    return run_dir.read_run()


def stated_partitions(run: RunRecord) -> set[Where]:
    """The topic-partitions that run.json names."""
    return set(run.assignment)


def run_state_of(run_dir: RunDir, where: Where) -> RunState:
    """What happened to one topic-partition: its own events, and those of no partition."""
    path = run_dir.timeline
    try:
        stamp = path.stat()
    except OSError:
        return RunState()
    common, own = _by_partition(path, stamp.st_mtime_ns, stamp.st_size)
    merged = heapq.merge(common, own.get(where, ()), key=lambda placed: placed[0])
    return RunState(tuple(event for _, event in merged))


@lru_cache(maxsize=2)
def _by_partition(path: Path, changed_ns: int, size: int) -> tuple[list[_Placed], dict[Where, list[_Placed]]]:
    """The events of a timeline that are of no partition, and those of each, with their places in it: a process that
    checks many partitions of a run reads it once. The last event is among the former, for it ends the run's course.
    """
    common: list[_Placed] = []
    own: dict[Where, list[_Placed]] = {}
    events = timeline.read(path).trusted
    last = next((event for event in reversed(events) if not isinstance(event, Log)), None)
    for placed in enumerate(events):
        event = placed[1]
        topic, partition = getattr(event, "topic", None), getattr(event, "partition", None)
        if topic is None or partition is None or event is last:
            common.append(placed)
        else:
            own.setdefault((topic, partition), []).append(placed)
    return common, own


def partitions_of_topic(run_dir: RunDir, topic: str) -> list[int]:
    """The partitions of a topic whose states the timeline has, in order."""
    try:
        stamp = run_dir.timeline.stat()
    except OSError:
        return []
    _, own = _by_partition(run_dir.timeline, stamp.st_mtime_ns, stamp.st_size)
    stated = (where for where, events in own.items() if any(isinstance(event, Partition) for _, event in events))
    return sorted(number for name, number in stated if name == topic)


def apart(run_dir: RunDir) -> frozenset[str]:
    """The names (topic-number) of partitions of which there are copies, or should be, or that brokers' logs name, or
    of which records were deleted, or whose ISR shrank.
    """
    try:
        stamp = run_dir.timeline.stat()
    except OSError:
        return frozenset(_copied(run_dir))
    return _apart_by(run_dir, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=2)
def _apart_by(run_dir: RunDir, changed_ns: int, size: int) -> frozenset[str]:
    common, own = _by_partition(run_dir.timeline, changed_ns, size)
    logged = {where for where, events in own.items() if any(isinstance(event, Log) for _, event in events)}
    told = [event for events in (common, *own.values()) for _, event in events]
    logged |= {(event.topic, event.partition) for event in told if isinstance(event, RecordsDeleted)}
    stated = {
        name for _, event in common if isinstance(event, Moment) for held in event.nodes.values() for name in held
    }
    logged |= _shrunk(event for event in told if isinstance(event, Partition))
    return frozenset(_copied(run_dir) | stated | {f"{topic}-{partition}" for topic, partition in logged})


def _shrunk(states: Iterable[Partition]) -> set[Where]:
    """The partitions whose ISR was smaller at one time than at another: it may have been too small for acks=all."""
    sizes: dict[Where, set[int]] = {}
    for state in states:
        sizes.setdefault((state.topic, state.partition), set()).add(len(state.isr))
    return {where for where, seen in sizes.items() if len(seen) > 1}


def _copied(run_dir: RunDir) -> set[str]:
    return {path.name for moment in run_dir.moments() for path in run_dir.moment(moment).glob("*/*")}
