"""The handle on a process that has several producers of one library (workloads/processes/producer_pool.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import HarnessError, WaitTimeout
from harness.workloads.handles.client import Handle

if TYPE_CHECKING:
    from evidence.timeline import Timeline
    from harness.workloads.handles.client import Child, Client

START_LIMIT_S: Final = 90.0
COMMAND_LIMIT_S: Final = 60.0
Place = tuple[int, str, int]
"""A producer by its number in the process, and the topic-partition that it is to send to."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many records a producer has sent, and how many of them came to which outcome."""

    sent: int = 0
    ok: int = 0
    fail: int = 0
    info: int = 0

    @property
    def unanswered(self) -> int:
        """Records of which nothing is known yet."""
        return self.sent - self.ok - self.fail - self.info


class ProducerPool(Handle):
    """Several producers of one library."""

    def __init__(self, clients: Sequence[Client], library: Mapping[str, Any], timeline: Timeline) -> None:
        """Start the process; the clients' own `library` is not looked at."""
        self.name = f"{library['name']} ({clients[0].name} to {clients[-1].name})"
        self._clients = [replace(client, library=library) for client in clients]
        self._timeline = timeline
        others = [
            {
                "path": str(client.run_dir.stream(client.name).resolve()),
                "process": client.name,
                "producer": client.producer_id,
                "bootstrap": client.bootstrap,
                "settings": dict(client.settings),
            }
            for client in self._clients[1:]
        ]
        self._child: Child = self._clients[0].start("producer_pool", others=others)
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._ready = False
        self.tallies = [Tally() for _ in clients]
        """What each producer has told last."""

    @property
    def clients(self) -> tuple[str, ...]:
        """Their names in run.json."""
        return tuple(client.name for client in self._clients)

    def ready(self) -> None:
        """Wait until every client is made, and note what each is configured with."""
        if self._ready:
            return
        heard = self._child.receive(START_LIMIT_S, "starting")
        for client, configuration in zip(self._clients, heard["configurations"], strict=True):
            client.note_configuration(self._timeline, {"configuration": configuration})
        self._ready = True

    def send(self, to: Sequence[tuple[int, str, int, int]]) -> list[int]:
        """Have (producer, topic, partition, count) records sent each, at once; returns the sequence of each first."""
        return [int(first) for first in self._tell(send=[list(one) for one in to])["first"]]

    def stream(self, to: Sequence[Place], rate_per_s: float) -> None:
        """Have each send so many records a second from now on; to nobody ends it."""
        self._tell(rate=rate_per_s, to=[list(one) for one in to])

    def one_by_one(self, place: Place, count: int, *, timeout_s: float) -> int:
        """Have one producer send records, each when the one before is answered; returns the sequence of the first."""
        return int(self._tell(one_by_one=[*place, count], timeout_s=timeout_s)["first"][0])

    def wait(self, done: Callable[[Sequence[Tally]], bool], what: str, timeout_s: float) -> None:
        """Wait until the tallies satisfy a test. WaitTimeout with what they are."""
        deadline = time.monotonic() + timeout_s
        while not done(self.tallies):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise WaitTimeout(f"{self.name}: not {what} after {timeout_s:.0f} s; {self.tallies}")
            try:
                self._take(self._child.receive(left_s, f"waiting for {what}"))
            except WaitTimeout:
                continue

    def _tell(self, *, timeout_s: float = COMMAND_LIMIT_S, **command: Any) -> dict[str, Any]:
        self.ready()
        self._number += 1
        self._child.send_message(id=self._number, **command)
        deadline = time.monotonic() + timeout_s
        while self._number not in self._answers:
            self._take(self._child.receive(deadline - time.monotonic(), f"carrying out {next(iter(command))}"))
        return self._answers.pop(self._number)

    def _take(self, heard: dict[str, Any]) -> None:
        if "progress" in heard:
            self.tallies = [Tally(*one) for one in heard["progress"]]
        if "id" in heard:
            self._answers[heard.pop("id")] = heard

    def close(self) -> None:
        """End the process, and hear what it said last. May be called again."""
        self._child.close()
        try:
            while True:
                self._take(self._child.receive(0.05, "closing"))
        except HarnessError:
            return
