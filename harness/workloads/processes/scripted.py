"""A producer that sends single records on command and records each one before anybody else hears of it.

    {"id": 1, "topic": "t", "partition": 0, "key": null, "sequence": 4}  →  {"id": 1, "outcome": "ok", "offset": 4, …}

The sequence is reserved in the history before the record goes to librdkafka, the outcome is flushed before the answer
goes to the harness.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from evidence.history import record, schema
from evidence.history.outcomes import outcome_of
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.single import send_one

POLL_S: Final = 0.005
"""How long a command may wait while deliveries are awaited; a delivery itself ends the waiting."""
IDLE_S: Final = 0.1
LAST_FLUSH_S: Final = 2.0


class ScriptedSender:
    """Sends records and records what came of them; the process around it only moves lines."""

    def __init__(
        self, writer: HistoryWriter, producer: int, run: str, settings: Mapping[str, Any], bootstrap: str
    ) -> None:
        self._writer, self._producer, self._run = writer, producer, record.run_hash(run)
        self._acks = child.acks_of(settings)
        self._client = Producer(child.client_settings(bootstrap, settings))
        self.answers: list[dict[str, Any]] = []
        self.in_flight = 0

    def send(self, command: Mapping[str, Any]) -> None:
        """Send one record; its answer appears in `answers` when its outcome is known."""
        topic, partition, sequence = command["topic"], command["partition"], command["sequence"]
        self._writer.reserve(topic, [partition], self._producer, sequence, 1)
        invoked_ns = time.monotonic_ns()
        self.in_flight += 1
        send_one(
            self._client,
            topic,
            partition,
            record.encode(self._run, self._producer, sequence),
            command.get("key"),
            lambda error, offset: self._finish(command, invoked_ns, error, offset),
        )

    def _finish(
        self, command: Mapping[str, Any], invoked_ns: int, error: KafkaError | None, offset: int | None
    ) -> None:
        self.in_flight -= 1
        name = None if error is None else error.name()
        columns = {
            "topic": command["topic"],
            "partition": command["partition"],
            "offset": offset,
            "producer": self._producer,
            "sequence": command["sequence"],
            "invoked_ns": invoked_ns,
            "completed_ns": time.monotonic_ns(),
            "error": None if error is None else error.code(),
            "error_name": name,
            "acks": self._acks,
        }
        self._writer.append(kind=schema.SEND, outcome=outcome_of(name), flush=True, **columns)
        self.answers.append({"id": command["id"], "outcome": outcome_of(name), **columns})

    def poll(self, timeout_s: float) -> list[dict[str, Any]]:
        """Serve deliveries for a moment and return the answers that came."""
        self._client.poll(timeout_s)
        answers, self.answers = self.answers, []
        return answers

    def close(self, limit_s: float = LAST_FLUSH_S) -> None:
        """Give what is in flight a last moment, then record it as unknown."""
        self._client.flush(limit_s)
        if self.in_flight:
            self._client.purge(in_queue=True, in_flight=True, blocking=True)
            self._client.flush(LAST_FLUSH_S)


def main() -> None:
    """Send what the harness commands until its lines end."""
    arguments = child.read_arguments()
    commands = child.Commands()
    with HistoryWriter(Path(arguments["path"]), arguments["process"], run=arguments["run"]) as writer:
        sender = ScriptedSender(
            writer, arguments["producer"], arguments["run"], arguments["settings"], arguments["bootstrap"]
        )
        child.say(ready=True)
        while not commands.stopped:
            command = commands.next(0.0 if sender.in_flight else IDLE_S)
            if command is not None:
                sender.send(command)
            for answer in sender.poll(POLL_S if sender.in_flight else 0.0):
                child.say(**answer)
        sender.close()
        for answer in sender.answers:
            child.say(**answer)


if __name__ == "__main__":
    main()
