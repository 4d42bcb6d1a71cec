"""Groups' offsets: a coordinator answers with the offset that it acknowledged last, until another one is committed.

    committed-offset-lost        it has none
    committed-offset-regression  it has an earlier one
    committed-offset-ahead       it has one that nobody committed, which skips what lies between
    group-unavailable            it answers nothing but errors

The first two have two more witnesses: the coordinators' topic as it lay on the brokers' disks at the end (see
`_not_in_files`), and where members began to read (see `_began_behind`). A member goes by what the coordinator answers
it, and nobody else hears that.

Input is the timeline: offsets that a client committed which is not a member, and coordinators' answers
(harness/run/groups.py). The coordinator must answer with the last acknowledged commit, or a later answer with an
offset. A member's commits are not in the timeline; only a coordinator's answers show them. So a group whose member went
back on purpose, and committed there, looks like a group that lost its offset: steps ask before that.

So only of a group without members it is known that nobody has committed more. No process of the run is in such a group,
and no step names it but those that commit and ask for offsets. A commit that was begun may have been taken.

A commit that nobody answered may be taken later than one that was sent after it. A broker answers the requests of one
connection one after the other, and those of several connections in any order. What it has received of a connection that
is gone it carries out all the same, and finds that out when it answers (SocketServer.processCompletedReceives mutes one
connection, and its sendResponse warns of "a channel for which there is no open connection"). So an earlier offset is no
regression if it may be that commit.

An error is no answer. A coordinator that had acknowledged a commit is unavailable if it gives no answer for at least
`SILENT_NS` in which it might have. It is asked again and again, with pauses, so an answer is not missed. It might have
answered while one and the same broker led the group's partition of offsets, was up and registered, and no fault struck
it, the coordinator of the cluster, or the clients. If it answers in the end, what the machine held up is taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np

from checks import excuses
from checks.anomalies.availability import gone
from checks.anomaly import (
    GROUP_FILES,
    GROUPS,
    HISTORY,
    OFFSETS_DOC,
    SETTINGS,
    absent_if,
    also_found,
    anomaly,
)
from checks.disturbances import strikes
from checks.group_files import GroupFiles
from checks.view import MemberStep, PartitionView
from evidence.basis import Basis
from evidence.events import NO_LEADER, Event, GroupMembers, OffsetAnswer, OffsetCommit, Step, of
from evidence.history import schema
from evidence.nodes import broker
from evidence.run import RunRecord
from evidence.run_state import LATE_TIMES, UP, FaultFact, RunState
from evidence.spans import NEVER_NS, Span, overlap_ns
from kafkafiles.group_log import TOPIC as OFFSETS_TOPIC

Evidence = dict[str, Any]

SILENT_NS: Final = 20_000_000_000
COMMITS: Final = "commit an offset"
"""How steps begin that commit for a group without members."""
ASKS: Final = ("ask for a group's offset", "wait until ")
"""How steps begin that ask for a group's offset."""


def _by_group(run_state: RunState) -> Iterator[tuple[Evidence, list[OffsetAnswer | OffsetCommit]]]:
    """What was committed and answered, in order, of each group and partition."""
    told = [event for event in run_state.events if isinstance(event, OffsetAnswer | OffsetCommit)]
    for group, topic, partition in dict.fromkeys((one.group, one.topic, one.partition) for one in told):
        own = [one for one in told if (one.group, one.topic, one.partition) == (group, topic, partition)]
        yield {"group": group, "topic": topic, "partition": partition}, own


def _worse(run_state: RunState, is_worse: Callable[[int | None, int], bool]) -> list[Evidence]:
    """Of each group and partition the first answer that is worse than what is known to be committed, with that. An
    answer with the offset of a commit that was begun before and never acknowledged is not: it may have come late.
    """
    found = []
    for about, told in _by_group(run_state):
        known: OffsetAnswer | OffsetCommit | None = None
        late = _never_acknowledged(run_state, about, told)
        for one in told:
            if _is_error(one):
                continue
            if any(begun_ns <= one.at_ns and offset == one.offset for begun_ns, offset in late):
                known = one
            if isinstance(one, OffsetAnswer) and known and is_worse(one.offset, known.offset or 0):
                before = {"offset": known.offset, "kind": known.kind, "at_ns": known.at_ns}
                found.append(about | {"committed": before, "answered": one.offset, "at_ns": one.at_ns})
                break
            known = known if one.offset is None else one
    return found


def _never_acknowledged(
    run_state: RunState, about: Evidence, told: Sequence[OffsetAnswer | OffsetCommit]
) -> list[tuple[int, int]]:
    """When each commit of a group's offset was begun that was never acknowledged, and its offset. An acknowledgement is
    that of the last one with its offset.
    """
    begun = [
        (step.at_ns, step.detail["offset"])
        for step in _commits_begun(run_state, about)
        if step.phase == "begin" and "offset" in step.detail
    ]
    for commit in (one for one in told if isinstance(one, OffsetCommit)):
        sent = [one for one in begun if one[0] <= commit.at_ns and one[1] == commit.offset]
        if sent:
            begun.remove(sent[-1])
    return begun


@anomaly("committed-offset-lost", source=OFFSETS_DOC, basis=Basis.DOCUMENTATION, reads=(GROUPS,))
def committed_offset_lost(run_state: RunState) -> list[Evidence]:
    """A group's coordinator has no offset for a partition, although it had acknowledged one."""
    return _worse(run_state, lambda answered, committed: answered is None)


@anomaly("committed-offset-regression", source=OFFSETS_DOC, basis=Basis.DOCUMENTATION, reads=(GROUPS,))
def committed_offset_regression(run_state: RunState) -> list[Evidence]:
    """A group's coordinator answers with an offset before the one that it had acknowledged last."""
    return _worse(run_state, lambda answered, committed: answered is not None and answered < committed)


# In the coordinators' topic


def without_group_files(view: PartitionView, files: GroupFiles) -> bool:
    """Whether there is no copy of the coordinators' topic to hold commits against, or no commit."""
    return not files.copies or not (view.members or files.told)


def _last_told(view: PartitionView, files: GroupFiles) -> Iterator[Evidence]:
    """Of each group the last commit that a coordinator acknowledged to a client, a member or not."""
    told: list[Evidence] = [
        {"group": one.group, "committed": one.offset, "process": None, "at_ns": one.at_ns} for one in files.told
    ]
    told += [
        {"group": one.of.group, "committed": one.offset, "process": one.process, "at_ns": one.completed_ns}
        for one in view.members
        if one.kind == schema.OFFSETS and one.process not in files.outside
    ]
    last = {one["group"]: one for one in sorted(told, key=lambda one: one["at_ns"])}
    yield from last.values()


def not_copied(view: PartitionView, files: GroupFiles) -> str | None:
    """Which groups a coordinator told that it has their offsets, in a partition of its topic that was to be copied and
    was copied of no broker; None if there are none.
    """
    if files.due_ns is None or not files.partitions:
        return None
    told = [one["group"] for one in _last_told(view, files) if one["at_ns"] < files.due_ns]
    gone = sorted({group for group in told if partition_of(group, files.partitions) not in files.copied})
    where = f"of {view.topic}-{view.partition}, and there is no copy of the partition of {OFFSETS_TOPIC} that has them"
    return f"{', '.join(gone)}: offsets were acknowledged {where}" if gone else None


def _not_in_files(view: PartitionView, files: GroupFiles) -> Iterator[tuple[Evidence, int | None]]:
    """Each last commit that is in no copy of the coordinators' topic, and the offset that the group has there.

    A copy that was begun before the commit was acknowledged says nothing of it. In a transaction that has no marker
    yet an offset may count. What was removed later, when it expired for example, was there.
    """
    for told in _last_told(view, files):
        number = partition_of(told["group"], files.partitions) if files.partitions else -1
        copies = [one for one in files.of(number) if one.begun_ns > told["at_ns"]]
        commits = [one.committed(told["group"]) for one in copies]
        if copies and all(told["committed"] not in [one.offset for one in those] for those in commits):
            last = max((those[-1] for those in commits if those), key=lambda one: one.at, default=None)
            seen = {"moment": copies[0].moment, "at_ns": min(one.begun_ns for one in copies)}
            place = {"nodes": [one.node for one in copies], "acknowledged_ns": told["at_ns"]}
            about = {"topic": view.topic, "partition": view.partition}
            yield about | told | place | seen, None if last is None else last.offset


@also_found("committed-offset-lost", reads=(HISTORY, GROUP_FILES), screened=absent_if(without_group_files))
def committed_offset_not_in_files(view: PartitionView, files: GroupFiles) -> list[Evidence]:
    """What a client was told is committed is nowhere in the coordinators' topic, and the group has no offset there."""
    return [told | {"in_files": offset} for told, offset in _not_in_files(view, files) if offset is None]


@also_found("committed-offset-regression", reads=(HISTORY, GROUP_FILES), screened=absent_if(without_group_files))
def earlier_offset_in_files(view: PartitionView, files: GroupFiles) -> list[Evidence]:
    """What a client was told is committed is nowhere in the coordinators' topic, and the group has an earlier offset
    there.
    """
    return [
        told | {"in_files": offset}
        for told, offset in _not_in_files(view, files)
        if offset is not None and offset < told["committed"]
    ]


# Where members begin


def without_members(view: PartitionView, _: GroupFiles) -> bool:
    """Whether no member of a group was given this partition, or committed an offset of it."""
    return not view.members


def _behind(view: PartitionView, files: GroupFiles) -> Iterator[Evidence]:
    """Each stay of a member with the partition that began before the offset which its group had committed last."""
    members = [one for one in view.members if one.process not in files.elsewhere]
    commits = [one for one in members if one.kind == schema.OFFSETS]
    unknown = [one for one in view.unknown_commits if one.process not in files.elsewhere]
    for number, stay in enumerate(members):
        if stay.kind == schema.ASSIGN and stay.process not in view.torn:
            later = (one for one in members[number + 1 :] if one.process == stay.process and one.kind != schema.OFFSETS)
            until_ns = next((one.completed_ns for one in later), NEVER_NS)
            found = _began_behind(view, stay, until_ns, [one for one in commits if one.of.group == stay.of.group])
            late = [one for one in unknown if one.of.group == stay.of.group]
            if found is not None and not _taken_late(found, late, members):
                yield found


def _began_behind(
    view: PartitionView, stay: MemberStep, until_ns: int, commits: Sequence[MemberStep]
) -> Evidence | None:
    """A stay as evidence, if it began before the offset that was committed last, and came to that offset again.

    A commit counts as the last one if it was acknowledged before the member was given the partition. Whatever was
    acknowledged from its sending on may have been taken after it. The record before the offset has to be the one that
    was read there before the commit: where it is another one the log was cut off, and the offset was out of range.
    """
    polls, known = view.polls, [one for one in commits if one.completed_ns < _asked_at(stay)]
    if not known or stay.process not in view.processes:
        return None
    mine = polls.good & (polls.process == view.processes.index(stay.process))
    given = mine & (polls.completed_ns > stay.completed_ns) & (polls.completed_ns < until_ns)
    if not given.any():
        return None
    first_ns = int(polls.completed_ns[given].min())
    last = max(known, key=lambda one: one.completed_ns)
    committed = min(one.offset for one in commits if one.completed_ns >= last.invoked_ns)
    before = polls.good & (polls.offset == committed - 1)
    again = polls.value[before & given]
    known_there = np.isin(again, polls.value[before & (polls.completed_ns <= last.completed_ns)])
    if not len(again) or not known_there.all():
        return None
    began = int(polls.offset[given & (polls.completed_ns == first_ns)].min())
    about = {"group": stay.of.group, "topic": view.topic, "partition": view.partition, "process": stay.process}
    about |= {
        "at_ns": stay.completed_ns,
        "committed": committed,
        "committed_ns": last.completed_ns,
        "read_ns": first_ns,
    }
    return about | {"began": began} if began < committed else None


def _taken_late(found: Evidence, unknown: Sequence[MemberStep], members: Sequence[MemberStep]) -> bool:
    """Whether a stay began at the offset of a commit that nobody answered, which may have been taken after the last one
    that was acknowledged: both of one generation of the group, since a coordinator refuses one of an earlier generation
    (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID).
    """
    given_ns = [one.completed_ns for one in members if one.kind == schema.ASSIGN and one.of.group == found["group"]]
    return any(
        one.offset == found["began"]
        and one.invoked_ns < found["read_ns"]
        and not any(one.invoked_ns < at_ns < found["committed_ns"] for at_ns in given_ns)
        for one in unknown
    )


def _asked_at(stay: MemberStep) -> int:
    """When a member may have asked for its group's offset at the earliest."""
    return stay.invoked_ns if stay.invoked_ns > 0 else stay.completed_ns


def _first_read(view: PartitionView) -> int:
    offsets = view.polls.offset[view.polls.good & (view.polls.offset >= 0)]
    return int(offsets.min()) if len(offsets) else 0


@also_found("committed-offset-lost", reads=(HISTORY, GROUP_FILES), screened=absent_if(without_members))
def member_began_anew(view: PartitionView, files: GroupFiles) -> list[Evidence]:
    """A member was given the partition and began with its first record, although its group had committed an offset."""
    return [one for one in _behind(view, files) if one["began"] == _first_read(view)]


@also_found("committed-offset-regression", reads=(HISTORY, GROUP_FILES), screened=absent_if(without_members))
def member_began_behind(view: PartitionView, files: GroupFiles) -> list[Evidence]:
    """A member was given the partition and began before the offset that its group had committed last."""
    return [one for one in _behind(view, files) if one["began"] != _first_read(view)]


# Further answers


@anomaly("committed-offset-ahead", source=OFFSETS_DOC, basis=Basis.DOCUMENTATION, reads=(GROUPS, SETTINGS))
def committed_offset_ahead(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A group's coordinator answers with an offset beyond any that was committed.

    The first such answer of each group without members and partition.
    """
    found = []
    for about, told in _by_group(run_state):
        begun = [one.detail["offset"] for one in _commits_begun(run_state, about) if "offset" in one.detail]
        committed = [one.offset for one in told if isinstance(one, OffsetCommit)]
        if not committed or _may_have_members(run_state, run, about["group"]):
            continue
        highest = max(*committed, *begun, 0)
        ahead = (one for one in told if isinstance(one, OffsetAnswer) and (one.offset or 0) > highest)
        found += [about | {"committed": highest, "answered": one.offset, "at_ns": one.at_ns} for one in ahead][:1]
    return found


def _commits_begun(run_state: RunState, about: Evidence) -> Iterator[Step]:
    """The steps that commit an offset of a group's, whatever became of them."""
    place = f"{about['topic']}-{about['partition']}"
    for step in of(run_state.events, Step):
        named = (step.detail.get("group"), step.detail.get("partition")) == (about["group"], place)
        if named and step.name.startswith(COMMITS):
            yield step


def _may_have_members(run_state: RunState, run: RunRecord, group: str) -> bool:
    """Whether a process of the run may be a member of a group."""
    own = any(group in (one.settings.get("group.id"), one.settings.get("application.id")) for one in run.processes)
    named = (step for step in of(run_state.events, Step) if step.detail.get("group") == group)
    told = any(one.group == group and one.members for one in of(run_state.events, GroupMembers))
    return own or told or any(not step.name.startswith((COMMITS, *ASKS)) for step in named)


@anomaly(
    "group-unavailable",
    source=OFFSETS_DOC,
    basis=Basis.DOCUMENTATION,
    reads=(GROUPS,),
    permitted="before 1.1, for replica.socket.timeout.ms: a new coordinator is held up by its last fetch (KAFKA-6051)",
    permits=excuses.held_up_by_last_fetch,
)
def group_unavailable(run_state: RunState) -> list[Evidence]:
    """A group's coordinator that had acknowledged an offset answers nothing but errors, for 20 s or more in which it is
    up and nothing disturbs it.

    Groups whose coordinator gave nothing but errors for long, after it had acknowledged a commit: to the end, or until
    it answered again.
    """
    found = []
    for about, told in _by_group(run_state):
        runs = [list(run) for _, run in groupby(told, _is_error)]
        for number, errors in enumerate(runs):
            if number == 0 or not _is_error(errors[0]):
                continue
            spell = (min(_asked_ns(one) for one in errors), errors[-1].at_ns)
            passes = number + 1 < len(runs)
            if any(_long(run_state, one, passes) for one in _undisturbed(run_state, about["group"], spell)):
                last = errors[-1]
                error = last.error if isinstance(last, OffsetAnswer) else None
                found.append(about | {"since_ns": spell[0], "until_ns": spell[1], "error": error})
                break
    return found


def _long(run_state: RunState, one: Span, passes: bool) -> bool:
    """Whether a time is long enough for a coordinator to answer."""
    lasted_ns = one[1] - one[0]
    held_ns = run_state.held_up_ns(one) if passes else overlap_ns(one, run_state.still)
    return lasted_ns - held_ns >= SILENT_NS or lasted_ns >= LATE_TIMES * SILENT_NS


def _undisturbed(run_state: RunState, group: str, spell: Span) -> Iterator[Span]:
    """The parts of a time in which a group's coordinator could answer: by the terms of its partition of offsets, or all
    of it if nothing states these; without the times of faults that struck it, its own coordinator, or clients.
    """
    terms = _terms(run_state, group, spell)
    for node, begin_ns, end_ns in terms:
        struck = [fault for fault in run_state.faults if _concerns(fault, node)]
        away = [(one.inject_ns, one.until_ns) for one in struck]
        away += [(one.begin_ns, one.end_ns) for one in run_state.processes.get(node, ()) if one.value != UP]
        away += gone(run_state, node)
        yield from _without(away, (begin_ns, end_ns))


def _terms(run_state: RunState, group: str, spell: Span) -> Iterator[tuple[str, int, int]]:
    """Who led a group's partition of offsets in a time, from when to when; "" where nothing says who."""
    numbers = [partition for topic, partition in run_state.partitions if topic == OFFSETS_TOPIC]
    if not numbers:
        yield "", *spell
        return
    for one in run_state.partitions.get((OFFSETS_TOPIC, partition_of(group, max(numbers) + 1)), ()):
        begin_ns, end_ns = max(one.begin_ns, spell[0]), min(one.end_ns, spell[1])
        if one.leader != NO_LEADER and begin_ns < end_ns:
            yield broker(one.leader), begin_ns, end_ns


def _concerns(fault: FaultFact, node: str) -> bool:
    """Whether a fault may keep a broker from answering clients: one of its own, of who coordinates the cluster, of
    clients or of the machine; where nobody knows the broker, any.
    """
    nodes = {*fault.nodes, *(end for link in fault.links for end in link)}
    others = any(not name.startswith("broker-") for name in nodes)
    return strikes(fault) and (not node or node in nodes or others)


def _without(away: Iterable[Span], one: Span) -> Iterator[Span]:
    """The parts of a time that are in none of others."""
    begin_ns = one[0]
    for from_ns, to_ns in sorted(away):
        if from_ns > begin_ns:
            yield begin_ns, min(from_ns, one[1])
        begin_ns = max(begin_ns, to_ns)
    yield begin_ns, one[1]


def partition_of(group: str, partitions: int) -> int:
    """The partition of __consumer_offsets that has a group's offsets: Java's hash of its name, without the sign
    (GroupMetadataManager.partitionFor, 0.9.0 to 3.9; GroupCoordinatorService.partitionFor, 4.0 to 4.3.1).

    >>> partition_of("application", 50)
    36
    """
    code = 0
    units = group.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + high * 256 + low) % 2**32
    signed = code - 2**32 if code >= 2**31 else code
    return (0 if signed == -(2**31) else abs(signed)) % partitions


def _is_error(one: Event) -> bool:
    return isinstance(one, OffsetAnswer) and one.error is not None


def _asked_ns(one: Event) -> int:
    return one.asked_ns if isinstance(one, OffsetAnswer) else one.at_ns
