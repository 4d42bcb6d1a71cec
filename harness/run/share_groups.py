"""Share groups (KIP-932): their settings, and how far a group has come, as its coordinator says.

A share group commits no offset. The leader of each partition keeps which records are acquired, accepted, rejected or
archived, and has that written by the share coordinator. The group's coordinator tells from there where the group
starts, and how many records it is not done with (KIP-1226). It is found by asking: a broker that is not it refuses.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import DeadLetter, DeadLetters, ShareProgress
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.librdkafka import client_settings, consumer, place, refusals
from harness.cluster.requests import RequestRefused, set_of_group, share_group_progress
from harness.polling import poll
from harness.run.who import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from confluent_kafka import Consumer

    from harness.run.ends import EndOffsets
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog

ASK_S: Final = 3.0
AGAIN_S: Final = 0.3
SET_LIMIT_S: Final = 30.0
READ_S: Final = 20.0
READ_AT_ONCE: Final = 100
HEADER: Final = "__dlq.errors."
"""Begins the names of the headers that tell what a dead letter was made of."""
Answer = TypeVar("Answer")
SHARE_STATE: Final = Partition("__share_group_state", 0)
"""The only partition of share groups' state in a cluster of ours: its leader is every group's share coordinator."""


class ShareGroups:
    """Asks for share groups, and sets their settings."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog, ends: EndOffsets) -> None:
        self._timeline, self._sequence_log, self._cluster = parts.timeline, sequence_log, parts.cluster
        self._ends = ends
        self._letters_settings: dict[str, Any] = {
            "group.id": "dead-letters",
            "enable.auto.commit": False,
            **client_settings(parts.cluster.bootstrap, parts.version.client_settings),
        }

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
        _, refused = self._ask_brokers(lambda address: set_of_group(address, group, name, value, timeout_s=ASK_S))
        return refused

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

    def read_dead_letters(self, group: str, topic: str, *, count: int, timeout_s: float) -> DeadLetters:
        """Read a group's dead-letter topic (KIP-1191) until it has so many records, or the time is over; what it has,
        which the timeline has too.
        """
        with self._sequence_log.step("read the dead-letter topic", topic=topic, count=count):
            found = poll(
                lambda: self._dead_letters(group, topic),
                timeout_s,
                until=lambda read: len(read.letters) >= count,
                every_s=AGAIN_S,
            )
            self._timeline.append(found)
            return found

    def _dead_letters(self, group: str, topic: str) -> DeadLetters:
        """All that the topic has now; nothing if it cannot be read."""
        letters: list[DeadLetter] = []
        with closing(consumer(self._letters_settings)) as client:
            try:
                for number in client.list_topics(topic, timeout=ASK_S).topics[topic].partitions:
                    letters += self._letters_of(client, Partition(topic, number))
            except refusals():
                letters = []
        return DeadLetters(group=group, topic=topic, letters=tuple(letters))

    @staticmethod
    def _letters_of(client: Consumer, t: Partition) -> Iterator[DeadLetter]:
        """The records of one partition up to its end."""
        low, end = client.get_watermark_offsets(place(t), timeout=ASK_S)
        client.assign([place(t, low)])
        deadline = time.monotonic() + READ_S
        while low < end and time.monotonic() < deadline:
            for message in client.consume(READ_AT_ONCE, ASK_S):
                if message.error() is None:
                    low = int(message.offset() or 0) + 1
                    yield _letter(dict(message.headers() or ()))

    def _ask_progress(self, group: str, t: Partition) -> ShareProgress:
        """Ask once for how far a share group has come in a partition."""
        ends = self._ends.watch_ends(t, 0.0)
        asked_ns = time.monotonic_ns()
        answer, refused = self._ask_brokers(
            lambda address: share_group_progress(address, group, t.topic, t.number, timeout_s=ASK_S)
        )
        start, lag = answer or (-1, -1)
        known = lag >= 0 and ends is not None
        return ShareProgress(
            group=group,
            topic=t.topic,
            partition=t.number,
            start=start if start >= 0 else None,
            lag=lag if known else None,
            end=0 if ends is None else ends.high_watermark,
            error=refused or None,
            asked_ns=asked_ns,
        )

    def _ask_brokers(self, ask: Callable[[tuple[str, int]], Answer]) -> tuple[Answer | None, str | None]:
        """Ask broker after broker until one is the coordinator: its answer, or None and why the last one refused."""
        refused = "no broker runs"
        for node in [one for one in self._cluster.brokers.values() if one.state()["Running"]]:
            try:
                return ask((node.address, KAFKA_PORT)), None
            except (RequestRefused, OSError) as error:
                refused = str(error)
        return None, refused


def _letter(headers: Mapping[str, bytes | str | None]) -> DeadLetter:
    """A dead letter by its headers, whose values are texts."""
    told = {
        name.removeprefix(HEADER): value.decode() if isinstance(value, bytes) else str(value or "")
        for name, value in headers.items()
    }
    deliveries = told.get("delivery.count", "")
    return DeadLetter(
        topic=told.get("topic", ""),
        partition=int(told.get("partition", "-1")),
        offset=int(told.get("offset", "-1")),
        deliveries=int(deliveries) if deliveries.isdigit() else None,
    )
