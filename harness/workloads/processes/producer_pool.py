"""Several producers of one library in one process, each with settings and a history of its own.

A cell of the audit's matrix is a producer and a partition of its own, and one fault is to strike some eighty of them at
once. A process for each would take a Python interpreter, and mostly a Java virtual machine, of its own, and minutes to
start. So the producers of one library share a process: each is a client instance (with its own threads and connections,
as it would have alone) that writes its own history file, which is what the analysis calls a process. Nothing is shared
between histories, so what they say of one another is as good as if the processes were apart; if the process dies, all
of them end torn.

    {"id": 1, "send": [[0, "t", 3, 5], …]}            five records of the first producer to t-3, at once
        →  {"id": 1, "first": [12, …], …}              the sequence of the first record of each
    {"id": 2, "rate": 20.0, "to": [[0, "t", 3], …]}    so many records a second of each, until told otherwise
        →  {"id": 2, …}
    {"id": 3, "one_by_one": [0, "t", 3, 500]}          each record when the one before is answered, and nothing else
        →  {"id": 3, "first": [12], …}
        →  {"progress": [[sent, ok, fail, info], …]}   of each producer: with every answer, and whenever it has changed

Sequences are reserved in the history before the first of them goes to the client.

The Scala producer answers before `send` returns, so each has a thread of its own here, which sends what it is given in
order.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from evidence.history import schema
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.single import Sender

POLL_S: Final = 0.01
REPORT_S: Final = 0.05
RESERVED: Final = 500
"""Sequences of a steady stream that are reserved at once."""
ROWS: Final = 512
"""Of a history's buffer: there are many of them, and few rows."""
CLOSE_LIMIT_S: Final = 2.0
OUTCOMES: Final = (schema.OK, schema.FAIL, schema.INFO)


class PooledProducer:
    """One producer: its client, its history, its count of what came of its records."""

    def __init__(
        self, writer: HistoryWriter, arguments: Mapping[str, Any], run: str, library: Mapping[str, Any]
    ) -> None:
        self._writer = writer
        self._sender = Sender(
            writer, arguments["producer"], run, arguments["settings"], arguments["bootstrap"], library
        )
        self.configuration = self._sender.configuration
        self.sent = self._reserved = 0
        self.counts = dict.fromkeys(OUTCOMES, 0)

    @property
    def progress(self) -> list[int]:
        """Records sent, and how many came to each outcome."""
        return [self.sent, *(self.counts[outcome] for outcome in OUTCOMES)]

    @property
    def in_flight(self) -> int:
        """Records whose outcome is not known yet."""
        return self._sender.in_flight

    def send(self, topic: str, partition: int, count: int, *, ahead: int = 0) -> int:
        """Send so many records at once; returns the sequence of the first. At least `ahead` are reserved at a time."""
        first = self.sent
        if first + count > self._reserved:
            more = max(first + count - self._reserved, ahead)
            self._sender.reserve(topic, [partition], self._reserved, more)
            self._reserved += more
        for sequence in range(first, first + count):
            self.sent += 1
            self._sender.send(topic, partition, sequence, tell=self._heard)
        return first

    def _heard(self, answer: Mapping[str, Any]) -> None:
        self.counts[answer["outcome"]] += 1

    def poll(self, timeout_s: float = 0.0) -> None:
        """Serve deliveries, and write down what has come."""
        self._sender.poll(timeout_s)
        self._writer.flush_if_old()

    def close(self, timeout_s: float) -> None:
        """Wait for what is in flight, record the rest as unknown."""
        self._sender.flush(timeout_s)


class PoolProcess:
    """All producers of the process, and what they were told to do."""

    def __init__(self, producers: Sequence[PooledProducer]) -> None:
        self.producers = producers
        self._rate = 0.0
        self._to: list[tuple[int, str, int]] = []
        self._since = 0.0
        self._steps = 0
        self._told: list[list[int]] = []

    def obey(self, command: Mapping[str, Any]) -> None:
        """Carry out one command and answer it."""
        answer: dict[str, Any] = {}
        if "send" in command:
            answer["first"] = [
                self.producers[who].send(topic, partition, count) for who, topic, partition, count in command["send"]
            ]
        elif "one_by_one" in command:
            who, topic, partition, count = command["one_by_one"]
            answer["first"] = [self._one_by_one(self.producers[who], topic, partition, count)]
        elif "rate" in command:
            self._rate, self._to = float(command["rate"]), [(who, topic, part) for who, topic, part in command["to"]]
            self._since, self._steps = time.monotonic(), 0
        self._told = self._progress()
        child.say(id=command["id"], progress=self._told, **answer)

    def _one_by_one(self, producer: PooledProducer, topic: str, partition: int, count: int) -> int:
        first = producer.sent
        for _ in range(count):
            producer.send(topic, partition, 1, ahead=RESERVED)
            while producer.in_flight:
                producer.poll(1.0)
        return first

    def go_on(self) -> bool:
        """Send what is due of a steady stream and serve deliveries; returns whether records are under way."""
        if self._to and self._steps < (time.monotonic() - self._since) * self._rate:
            self._steps += 1
            for who, topic, partition in self._to:
                self.producers[who].send(topic, partition, 1, ahead=RESERVED)
        for producer in self.producers:
            producer.poll()
        return bool(self._to) or any(producer.in_flight for producer in self.producers)

    def _progress(self) -> list[list[int]]:
        return [producer.progress for producer in self.producers]

    def report(self) -> None:
        """Tell the progress if there is any."""
        progress = self._progress()
        if progress != self._told:
            self._told = progress
            child.say(progress=progress)


def main() -> None:
    """Do what the harness commands until its lines end."""
    with child.recording() as (arguments, commands, writer), ExitStack() as histories:
        run, library = arguments["run"], arguments["library"]
        rest = [
            histories.enter_context(HistoryWriter(Path(one["path"]), one["process"], run=run, batch_rows=ROWS))
            for one in arguments["others"]
        ]
        every = [arguments, *arguments["others"]]
        pool = PoolProcess(
            [PooledProducer(own, one, run, library) for own, one in zip([writer, *rest], every, strict=True)]
        )
        child.say(ready=True, configurations=[producer.configuration for producer in pool.producers])
        reported, busy = 0.0, False
        while not commands.stopped:
            command = commands.next(POLL_S if busy else 0.05)
            if command is not None:
                pool.obey(command)
            busy = pool.go_on()
            if (now := time.monotonic()) - reported >= REPORT_S:
                reported = now
                pool.report()
        deadline = time.monotonic() + CLOSE_LIMIT_S
        for producer in pool.producers:
            producer.close(max(0.0, deadline - time.monotonic()))


if __name__ == "__main__":
    main()
