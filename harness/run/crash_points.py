"""Where an application stands still between two of its steps, and what others say of it there.

The application says itself that it stands still; it cannot be asked what took effect. So the group's coordinator is
asked what is committed, and the leader of its output how much can be read: both from outside, while nothing moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evidence import events
from harness.run.who import Partition

if TYPE_CHECKING:
    from harness.run.ends import EndOffsets
    from harness.run.groups import Groups
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.workloads.handles.application import Application

STILL_LIMIT_S: Final = 90.0
"""It has to join its group first, which may wait for a member that died."""
ASK_LIMIT_S: Final = 30.0


class CrashPoints:
    """Waits for applications to stand still."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog, groups: Groups, ends: EndOffsets) -> None:
        self._timeline, self._sequence_log, self._groups, self._ends = parts.timeline, sequence_log, groups, ends

    def wait_crash_point(
        self,
        application: Application,
        t: Partition,
        *,
        committed: int | None = None,
        timeout_s: float = STILL_LIMIT_S,
    ) -> events.CrashPoint:
        """Wait until an application that is given the inputs of t stands still where it was told to; what the group's
        coordinator and the leader of its output say of it there, which the timeline has. If its client is to commit an
        offset by itself there (`committed`), that is waited for, too.

        Raises WaitTimeout if it does not come there in time, PreconditionNotHeld if nobody answers.
        """
        with self._sequence_log.step("wait until an application stands still", process=application.name):
            at = application.wait_still(timeout_s=timeout_s)
        if committed is not None:
            self._groups.wait_committed(application.group, t, committed, timeout_s)
        answer = self._groups.committed(application.group, t, ASK_LIMIT_S)
        self._sequence_log.require("the coordinator says what is committed", answer.error is None, error=answer.error)
        ends = self._ends.watch_ends(Partition(application.output, t.number), 0.0)
        self._sequence_log.require("the leader says how far the output may be read", ends is not None)
        assert ends is not None
        seen = events.CrashPoint(
            process=application.name,
            producer=application.producer_id,
            done=at.done,
            following=at.following,
            round=at.round,
            group=application.group,
            topic=t.topic,
            partition=t.number,
            committed=answer.offset,
            outputs=ends.last_stable_offset,
            written=ends.high_watermark,
        )
        self._timeline.append(seen)
        return seen
