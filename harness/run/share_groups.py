"""Share groups (KIP-932): their settings, and how far a group has come, as its coordinator says.

A share group commits no offset. The leader of each partition keeps which records are acquired, accepted, rejected or
archived, and has that written by the share coordinator. The group's coordinator tells from there where the group
starts, and how many records it is not done with (KIP-1226). It is found by asking: a broker that is not it refuses.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import ShareProgress
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.requests import RequestRefused, set_of_group, share_group_progress
from harness.polling import poll
from harness.run.who import Partition

if TYPE_CHECKING:
    from harness.run.ends import EndOffsets
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog

ASK_S: Final = 3.0
AGAIN_S: Final = 0.3
SET_LIMIT_S: Final = 30.0
SHARE_STATE: Final = Partition("__share_group_state", 0)
"""The only partition of share groups' state in a cluster of ours: its leader is every group's share coordinator."""


class ShareGroups:
    """Asks for share groups, and sets their settings."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog, ends: EndOffsets) -> None:
        self._timeline, self._sequence_log, self._cluster = parts.timeline, sequence_log, parts.cluster
        self._ends = ends

    def set_share_group(self, group: str, name: str, value: str) -> None:
        """Set a setting of a share group, such as share.auto.offset.reset. HarnessError if no broker takes it."""
        with self._sequence_log.step("set a setting of a group", group=group, setting=name, value=value):
            refusal = poll(
                lambda: self._refusal_of_setting(group, name, value),
                SET_LIMIT_S,
                until=lambda refused: refused is None,
                every_s=AGAIN_S,
            )
            if refusal is not None:
                raise HarnessError(f"{name} of the group {group} is not set after {SET_LIMIT_S:.0f} s: {refusal}")

    def _refusal_of_setting(self, group: str, name: str, value: str) -> str | None:
        said = "no broker runs"
        for address in self._addresses():
            try:
                set_of_group(address, group, name, value, timeout_s=ASK_S)
            except (RequestRefused, OSError) as error:
                said = str(error)
            else:
                return None
        return said

    def share_progress(self, group: str, t: Partition, timeout_s: float) -> ShareProgress:
        """How far a share group has come in a partition, asked until its coordinator answers or the time is over: the
        last answer, or the last error. The timeline has it.
        """
        with self._sequence_log.step("ask how far a share group has come", group=group, partition=str(t)):
            found = poll(
                lambda: self._ask_progress(group, t),
                timeout_s,
                until=lambda said: said.lag is not None,
                every_s=AGAIN_S,
            )
            self._timeline.append(found)
            return found

    def wait_share_done(self, group: str, t: Partition, *, timeout_s: float) -> ShareProgress:
        """Wait until a share group is done with all records of a partition: each is accepted, rejected or archived.
        WaitTimeout if it is not in time.
        """
        with self._sequence_log.step(f"wait until {group} is done with all records", partition=str(t)):
            found = poll(
                lambda: self._ask_progress(group, t), timeout_s, until=lambda said: said.lag == 0, every_s=AGAIN_S
            )
            self._timeline.append(found)
            if found.lag != 0:
                said = found.error or f"it starts at {found.start}, its lag is {found.lag}"
                raise WaitTimeout(f"{group} is not done with {t} after {timeout_s:.0f} s: {said}")
            return found

    def _ask_progress(self, group: str, t: Partition) -> ShareProgress:
        """Ask once: broker after broker, until one is the coordinator."""
        ends = self._ends.watch_ends(t, 0.0)
        asked_ns, start, lag, said = time.monotonic_ns(), -1, -1, "no broker runs"
        for address in self._addresses():
            try:
                start, lag = share_group_progress(address, group, t.topic, t.number, timeout_s=ASK_S)
            except (RequestRefused, OSError) as error:
                said = str(error)
            else:
                said = ""
                break
        known = lag >= 0 and ends is not None
        return ShareProgress(
            group=group,
            topic=t.topic,
            partition=t.number,
            start=start if start >= 0 else None,
            lag=lag if known else None,
            end=0 if ends is None else ends.high_watermark,
            error=said or None,
            asked_ns=asked_ns,
        )

    def _addresses(self) -> list[tuple[str, int]]:
        running = [node for node in self._cluster.brokers.values() if node.state()["Running"]]
        return [(node.address, KAFKA_PORT) for node in running]
