"""A consumer that reads during the run, with assigned partitions or in a group, and records all that it reads.

With assigned partitions its position is never reset silently: `auto.offset.reset=error`, and where another consumer
would be reset, this one records the error and then begins at the log's first offset, which is recorded too. In a group
it is a member like any other, with `auto.offset.reset` as the caller sets it (default "earliest").
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from evidence.history import schema
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.own import OwnReader
from harness.workloads.processes.polls import ASSIGNED, READING, Key, PollRecorder, PollResult, named
from harness.workloads.processes.reader import LOST_POSITION
from harness.workloads.settings import COMMAND

BATCH: Final = 2_000
POLL_S: Final = 0.05
OFFSETS_S: Final = 2.0
REPORT_S: Final = 0.05


class BackgroundReader:
    """Reads what comes and records it."""

    def __init__(
        self,
        writer: HistoryWriter,
        bootstrap: str,
        settings: Mapping[str, Any],
        *,
        group: str,
        assign: Sequence[Key] = (),
        subscribe: Sequence[str] = (),
    ) -> None:
        """Either `assign` partitions, read from their beginning without the group's offsets, or `subscribe` topics."""
        self._writer = writer
        fixed = {"group.id": group, **(ASSIGNED if assign else READING)}
        wished = {"auto.offset.reset": "earliest"} | dict(settings)
        self._client = Consumer(child.client_settings(bootstrap, wished, fixed=fixed))
        topics = {topic for topic, _ in assign}
        only = topics.pop() if len(topics) == 1 else None
        self._polls = PollRecorder(writer, self._client, size=BATCH, topic=only)
        self.read = 0
        self.positions: dict[Key, int] = {}
        self.errors: list[str] = []
        self._assigned = list(assign)
        self._lost: set[Key] = set()
        if assign:
            self._assign()
        else:
            self._client.subscribe(
                list(subscribe), on_assign=self._note_given, on_revoke=self._note_taken, on_lost=self._note_lost
            )

    def _assign(self) -> None:
        """Read every partition from its position on."""
        places = [TopicPartition(*key, self.positions.get(key, OFFSET_BEGINNING)) for key in self._assigned]
        self._client.assign(places)
        self._note_given(self._client, places)

    def _note_given(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._polls.note(schema.ASSIGN, schema.OK, partitions)

    def _note_taken(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._polls.note(schema.REVOKE, schema.OK, partitions)

    def _note_lost(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._polls.note(schema.REVOKE, schema.INFO, partitions)

    def poll(self, timeout_s: float) -> PollResult:
        """One poll; partitions whose position does not exist any more begin anew."""
        seen = self._polls.poll(timeout_s)
        self._writer.flush_if_old()
        self.read += seen.records
        self.positions |= seen.positions | seen.ends
        for key, error in seen.errors:
            self.errors.append(named(key, error))
            if key in self._assigned and error.code() in LOST_POSITION:
                self._lost.add(key)
        for key in list(self._lost):
            try:
                self.positions[key], _ = self._polls.watermarks(*key, OFFSETS_S)
            except KafkaException as error:
                # No leader at the moment: asked again at the next poll.
                self.errors.append(named(key, error.args[0]))
            else:
                self._lost.discard(key)
                # A position that was refused cannot be sought away from: the partition is not being fetched any more.
                self._assign()
        return seen

    def close(self) -> None:
        """Leave the group, if any, and let go of the brokers."""
        self._client.close()


def open_reader(writer: HistoryWriter, arguments: Mapping[str, Any]) -> BackgroundReader | OwnReader:
    """The reader that the arguments of the process name. Raises ClientFailed."""
    places: dict[str, Any] = {
        "group": arguments["group"],
        "assign": child.partitions_of(arguments["assign"]),
        "subscribe": arguments["subscribe"],
    }
    bootstrap, settings, library = (arguments[name] for name in ("bootstrap", "settings", "library"))
    if COMMAND in library:
        return OwnReader(writer, bootstrap, settings, library=library, **places)
    return BackgroundReader(writer, bootstrap, settings, **places)


def main() -> None:
    """Read until the harness says stop."""
    child.collect_garbage_rarely()
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        reader = open_reader(writer, arguments)

        def report(**more: Any) -> None:
            positions = [[topic, number, offset] for (topic, number), offset in reader.positions.items()]
            at_ns = time.monotonic_ns()
            errors, failures = reader.errors[-5:], len(reader.errors)
            child.say(read=reader.read, positions=positions, at_ns=at_ns, errors=errors, failures=failures, **more)

        reported = time.monotonic()
        told = (-1, 0, 0)
        while not commands.stopped:
            commands.next(0.0)
            reader.poll(POLL_S)
            now = (reader.read, len(reader.errors), sum(reader.positions.values()))
            if now != told and time.monotonic() - reported >= REPORT_S:
                reported, told = time.monotonic(), now
                report()
        reader.close()
        writer.flush()
        report(done=True)


if __name__ == "__main__":
    main()
