"""The copies of the coordinators' topic, read once by a process that checks many partitions of a run.

They are read as all copies are (analysis.read_copies): what is missing, or has another size than stated, makes the
verdict unknown, where it is of a broker that bears witness (checks.group_files).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from analysis.read_copies import load_copies
from analysis.run_files import partitions_of_topic, run_state_of
from checks.copies import Copies, Copy
from checks.group_files import GroupCopy, GroupFiles, Ownership
from evidence.events import Moment, OffsetCommit, of
from evidence.findings import Problem
from evidence.records import TopicPartition
from evidence.run import ProcessRecord, RunRecord
from evidence.run_state import RunState, in_isr_throughout
from evidence.rundir import RunDir
from kafkafiles.checkpoints import PARTITION_METADATA, read_topic_id
from kafkafiles.errors import ParseError
from kafkafiles.group_log import (
    TOPIC,
    Commit,
    commits_of,
    generations_of,
    is_whole,
    read_events,
)

PARTITIONS: Final = "offsets.topic.num.partitions"
SETTLED_NS: Final = 1_000_000_000
"""For how long a broker has to have been in the ISR: what the cluster states of it may be seen late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """One copy that bears witness, by the partitions that it tells of (topic ids stand for topics, too)."""

    copy: GroupCopy
    commits: Mapping[TopicPartition, list[Commit]]
    ownerships: Mapping[TopicPartition, list[Ownership]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLogs:
    """The copies of all partitions of the topic that bear witness, and what is wrong with them."""

    logs: tuple[_Log, ...] = ()
    problems: tuple[Problem, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """By topic, of those of which there are copies."""
    due_ns: int | None = None
    """When the copying of the topic began, if it was to be copied."""
    copied: frozenset[int] = frozenset()
    """The partitions of which there are copies, whether these bear witness or not."""


def group_files(run_dir: RunDir, run: RunRecord, run_state: RunState, where: TopicPartition) -> GroupFiles:
    """What the copies of the topic say of one partition, whose own events are in `run_state`."""
    known, (topic, number) = group_logs(run_dir), where
    names = [(topic, number), (known.topic_ids.get(topic, topic), number)]
    copies = [
        GroupCopy(
            number=log.copy.number,
            moment=log.copy.moment,
            node=log.copy.node,
            begun_ns=log.copy.begun_ns,
            commits=tuple(log.commits.get(where, ())),
            ownerships=tuple(one for name in dict.fromkeys(names) for one in log.ownerships.get(name, ())),
        )
        for log in known.logs
    ]
    told = tuple(one for one in of(run_state.events, OffsetCommit) if (one.topic, one.partition) == where)
    return GroupFiles(
        partitions=_partitions(run_dir, run),
        due_ns=known.due_ns,
        copied=known.copied,
        copies=tuple(copies),
        told=told,
        outside=frozenset(one.name for one in run.processes if one.store),
        elsewhere=frozenset(one.name for one in run.processes if _begins_elsewhere(run, one)),
    )


def group_logs(run_dir: RunDir) -> GroupLogs:
    """The copies of a run's last moment; none of a run that has none."""
    try:
        stamp = run_dir.timeline.stat()
    except OSError:
        return GroupLogs()
    return _group_logs(run_dir, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=2)
def _group_logs(run_dir: RunDir, changed_ns: int, size: int) -> GroupLogs:
    logs: list[_Log] = []
    problems: list[Problem] = []
    moments = of(run_state_of(run_dir, (TOPIC, -1)).events, Moment)
    copied = _copied(moments)
    for number in sorted(copied):
        run_state = run_state_of(run_dir, (TOPIC, number))
        copies, wrong = load_copies(run_dir, run_state, TOPIC, number, compacted=True)
        in_sync = {copy.node: copy for copy in copies.copies if _in_sync(copies, copy)}
        problems += (told := [one for one in wrong if one.process in ("", *in_sync)])
        damaged = {one.process for one in told}
        for node, copy in in_sync.items():
            logs += () if node in damaged else _log_of(number, copy)
    return GroupLogs(
        logs=tuple(logs),
        problems=tuple(problems),
        topic_ids=_topic_ids(run_dir),
        due_ns=max((one.begun_ns for one in moments if one.groups), default=None),
        copied=copied,
    )


def _in_sync(copies: Copies, copy: Copy) -> bool:
    """Whether a copy is of a broker that was in the ISR while it was made, and before."""
    return copy.broker in in_isr_throughout(copies.states, copy.begun_ns - SETTLED_NS, copy.at_ns)


def _copied(moments: Iterable[Moment]) -> frozenset[int]:
    """The partitions of the topic of which there are copies, by the timeline."""
    names = {name for one in moments for held in one.group_logs.values() for name in held}
    return frozenset(int(name.rpartition("-")[2]) for name in names)


def _begins_elsewhere(run: RunRecord, process: ProcessRecord) -> bool:
    exactly_once = process.settings.get("processing.guarantee", "").startswith("exactly_once")
    in_transactions = exactly_once or "transactional.id" in process.settings
    return bool(process.store) or in_transactions or run.is_own_client(process)


def _partitions(run_dir: RunDir, run: RunRecord) -> int:
    """How many partitions the topic has; 0 if the timeline lacks some, by their numbers or by what the run states: a
    group would be looked for in another group's partition.
    """
    stated = partitions_of_topic(run_dir, TOPIC)
    own = run.settings.get(PARTITIONS, str(len(stated)))
    return len(stated) if stated == list(range(len(stated))) and own == str(len(stated)) else 0


def _log_of(number: int, copy: Copy) -> Iterable[_Log]:
    """What a copy says, if nothing of its log was removed."""
    events = list(read_events(copy.replica.path))
    if not is_whole(events):
        return
    commits = defaultdict[TopicPartition, list[Commit]](list)
    ownerships = defaultdict[TopicPartition, list[Ownership]](list)
    for one in commits_of(events):
        commits[one.topic, one.partition].append(one)
    for generation in generations_of(events):
        for where in {where for member in generation.members for where in member.partitions}:
            ownerships[where].append(
                Ownership(
                    group=generation.group,
                    generation=generation.generation,
                    members=tuple(member for member in generation.members if where in member.partitions),
                    written_ms=generation.written_ms,
                    at=generation.at,
                )
            )
    own = GroupCopy(number=number, moment=copy.moment, node=copy.node, begun_ns=copy.begun_ns)
    yield _Log(copy=own, commits=commits, ownerships=ownerships)


def _topic_ids(run_dir: RunDir) -> dict[str, str]:
    """The ids of the topics of which there are copies, by their own files of them (2.8 and later)."""
    found: dict[str, str] = {}
    for moment in run_dir.moments():
        for path in run_dir.moment(moment).glob(f"*/*/{PARTITION_METADATA}"):
            try:
                found[path.parent.name.rpartition("-")[0]] = read_topic_id(path)
            except (OSError, ParseError):
                continue
    return found
