"""Groups' offsets: a coordinator answers with the offset that it acknowledged last, until another one is committed.

Input is the timeline: offsets that a client committed which is not a member, and coordinators' answers
(harness/run/groups.py). The coordinator must answer with the last acknowledged commit, or a later answer with an
offset. A member's commits are not in the timeline; only a coordinator's answers show them. So a group whose member went
back on purpose, and committed there, looks like a group that lost its offset: steps ask before that.

An error is no answer. A coordinator that had acknowledged a commit is unavailable if it gives no answer as long as it
is asked, and for at least `SILENT_NS`. It is asked again and again, with pauses, so an answer is not missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

from checks.anomaly import (
    GROUPS,
    OFFSETS_DOC,
    anomaly,
)
from evidence.basis import Basis
from evidence.events import Event, OffsetAnswer, OffsetCommit
from evidence.run_state import RunState

Evidence = dict[str, Any]

SILENT_NS: Final = 20_000_000_000


def _by_group(run_state: RunState) -> Iterator[tuple[Evidence, list[OffsetAnswer | OffsetCommit]]]:
    """What was committed and answered, in order, of each group and partition."""
    told = [event for event in run_state.events if isinstance(event, OffsetAnswer | OffsetCommit)]
    for group, topic, partition in dict.fromkeys((one.group, one.topic, one.partition) for one in told):
        own = [one for one in told if (one.group, one.topic, one.partition) == (group, topic, partition)]
        yield {"group": group, "topic": topic, "partition": partition}, own


def _worse(run_state: RunState, is_worse: Callable[[int | None, int], bool]) -> list[Evidence]:
    """Of each group and partition the first answer that is worse than what is known to be committed, with that."""
    found = []
    for about, told in _by_group(run_state):
        known: OffsetAnswer | OffsetCommit | None = None
        for one in told:
            if _is_error(one):
                continue
            if isinstance(one, OffsetAnswer) and known and known.offset and is_worse(one.offset, known.offset):
                before = {"offset": known.offset, "kind": known.kind, "at_ns": known.at_ns}
                found.append(about | {"committed": before, "answered": one.offset, "at_ns": one.at_ns})
                break
            known = known if one.offset is None else one
    return found


@anomaly("committed-offset-lost", source=OFFSETS_DOC, basis=Basis.DOCUMENTATION, reads=(GROUPS,))
def committed_offset_lost(run_state: RunState) -> list[Evidence]:
    """A group's coordinator has no offset for a partition, although it had acknowledged one."""
    return _worse(run_state, lambda answered, committed: answered is None)


@anomaly("committed-offset-regression", source=OFFSETS_DOC, basis=Basis.DOCUMENTATION, reads=(GROUPS,))
def committed_offset_regression(run_state: RunState) -> list[Evidence]:
    """A group's coordinator answers with an offset before the one that it had acknowledged last."""
    return _worse(run_state, lambda answered, committed: answered is not None and answered < committed)


@anomaly("group-unavailable", source=OFFSETS_DOC, basis=Basis.DOCUMENTATION, reads=(GROUPS,))
def group_unavailable(run_state: RunState) -> list[Evidence]:
    """A group's coordinator that had acknowledged an offset answers nothing but errors from some moment on, for 20 s or
    more.

    Groups whose coordinator gave nothing but errors, to the end and for long, after it had acknowledged a commit.
    """
    found = []
    for about, told in _by_group(run_state):
        runs = [list(run) for _, run in groupby(told, _is_error)]
        if len(runs) > 1 and _is_error(told[-1]):
            asked_ns, last = min(_asked_ns(one) for one in runs[-1]), told[-1]
            if last.at_ns - asked_ns >= SILENT_NS and isinstance(last, OffsetAnswer):
                found.append(about | {"since_ns": asked_ns, "until_ns": last.at_ns, "error": last.error})
    return found


def _is_error(one: Event) -> bool:
    return isinstance(one, OffsetAnswer) and one.error is not None


def _asked_ns(one: Event) -> int:
    return one.asked_ns if isinstance(one, OffsetAnswer) else one.at_ns
