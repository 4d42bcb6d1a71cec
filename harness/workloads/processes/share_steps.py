"""What a program of a share group's member can do (KIP-932): the steps that share_programs.py writes applications with.

The history has a row for each record that is delivered, with the number of times that it was. What is said of it has
two rows: one of unknown outcome before it is sent, and one with the broker's answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from confluent_kafka import KafkaException

from evidence.history import record, schema
from evidence.history.inputs import Input
from evidence.history.outcomes import outcome_of
from evidence.history.writer import HistoryWriter
from evidence.shares import UNANSWERED
from harness.workloads.processes import child
from harness.workloads.processes.adapted import Failure
from harness.workloads.processes.own import NO_NUMBER
from harness.workloads.processes.program_steps import POLL_S, ProducingSteps
from harness.workloads.processes.share_consumer import Delivered, Error, Saying, open_share_consumer
from harness.workloads.processes.single import error_columns
from harness.workloads.processes.transactional import LIMIT_S

Place = tuple[str, int, int]
NO_ANSWER: Final = Failure(NO_NUMBER, UNANSWERED)


class ShareSteps(ProducingSteps):
    """What a program of a share group's member can do."""

    def __init__(self, arguments: Mapping[str, Any], commands: child.Commands, writer: HistoryWriter) -> None:
        super().__init__(arguments, commands, writer)
        self._decoder = record.Decoder()
        self._said: dict[Place, tuple[Saying, int]] = {}
        """What was said of records and is not answered, and when."""
        self._refused: set[Place] = set()
        settings = arguments["consumer_settings"]
        self._implicit = settings.get("share.acknowledgement.mode") == "implicit"
        self._returned: Sequence[Delivered] = ()
        """What the last poll returned."""
        self._client = open_share_consumer(arguments["library"], arguments["bootstrap"], settings, self._answered)
        self._client.subscribe(arguments["input"])

    def poll(self) -> Sequence[Delivered]:
        """The next inputs, at least one; none if the program is to end. In the implicit mode the client accepts with it
        what the poll before has returned.
        """
        if self._implicit:
            self._say(self._returned, "accept")
        failed = False
        while self._goes_on(POLL_S if failed else 0.0):
            invoked_ns = time.monotonic_ns()
            self._returned, errors = self._client.poll(POLL_S)
            failed = bool(errors)
            self._failed(errors, invoked_ns)
            self._record(self._returned, invoked_ns)
            self._writer.flush()
            if self._returned:
                return self._returned
        return ()

    def process(self, inputs: Sequence[Delivered]) -> None:
        """Send an output for each input and wait until all are acknowledged. Raises ClientFailed if some are not."""
        if inputs:
            self._make([Input(one.topic, one.partition, one.offset) for one in inputs])

    def accept(self, inputs: Sequence[Delivered]) -> bool:
        """Say that inputs are processed and wait for the answer: whether all are taken for that."""
        return self._acknowledge(inputs, "accept")

    def release(self, inputs: Sequence[Delivered]) -> bool:
        """Have inputs delivered again, and wait for the answer: whether all are."""
        return self._acknowledge(inputs, "release")

    def reject(self, inputs: Sequence[Delivered]) -> bool:
        """Have inputs never delivered again, and wait for the answer: whether none is."""
        return self._acknowledge(inputs, "reject")

    def _acknowledge(self, inputs: Sequence[Delivered], said: Saying) -> bool:
        if not inputs:
            return True
        places = {_place(one) for one in inputs}
        self._refused -= places
        self._say(inputs, said)
        try:
            self._client.acknowledge(inputs, said)
            self._client.commit(LIMIT_S)
        except KafkaException as error:
            self._give_up(places, error.args[0])
        self._give_up(places & self._said.keys(), NO_ANSWER)
        self._tell()
        return not places & self._refused

    def _say(self, inputs: Sequence[Delivered], said: Saying) -> None:
        """Put on record what is about to be said: if the process dies before the answer, a broker may have taken it."""
        now = time.monotonic_ns()
        self._said |= {_place(one): (said, now) for one in inputs}
        for one in inputs:
            self._told(said, schema.INFO, _place(one), now, completed_ns=None)
        self._writer.flush()

    def _told(self, said: str, outcome: str, place: Place, invoked_ns: int, **more: Any) -> None:
        topic, partition, offset = place
        self._writer.append(
            kind=said,
            outcome=outcome,
            topic=topic,
            partition=partition,
            offset=offset,
            invoked_ns=invoked_ns,
            **more,
        )

    def _give_up(self, places: Iterable[Place], error: Error) -> None:
        """Nobody says what became of what was said of these."""
        for topic, partition, offset in sorted(places):
            self._answered(topic, partition, [offset], error)

    def _answered(self, topic: str, partition: int, offsets: Iterable[int], error: Error | None) -> None:
        """What the broker answered to what was said of some records. The client calls it in the program's thread."""
        for offset in sorted(offsets):
            place = topic, partition, offset
            said, invoked_ns = self._said.pop(place, (None, 0))
            if said is None:
                continue  # given up before
            outcome = outcome_of(None if error is None else error.name())
            self._told(said, outcome, place, invoked_ns, completed_ns=time.monotonic_ns(), **error_columns(error))
            if error is not None:
                self._refused.add(place)
                self._errors.append(f"{said} {error.name()}")
        self._writer.flush()

    def _record(self, records: Sequence[Delivered], invoked_ns: int) -> None:
        if not records:
            return
        found = self._decoder.decode([one.value for one in records])
        operation, completed_ns = self._writer.next_operation(), time.monotonic_ns()
        for topic in sorted({one.topic for one in records}):
            rows = np.array([row for row, one in enumerate(records) if one.topic == topic])
            given = [records[row] for row in rows]
            self._writer.extend(
                len(given),
                operation=operation,
                kind=schema.DELIVERED,
                outcome=schema.OK,
                topic=topic,
                partition=np.array([one.partition for one in given], np.int32),
                offset=np.array([one.offset for one in given], np.int64),
                count=np.array([one.count for one in given], np.int64),
                producer=found.producer[rows],
                sequence=found.sequence[rows],
                valid=found.valid[rows],
                invoked_ns=invoked_ns,
                completed_ns=completed_ns,
            )

    def _failed(self, errors: Sequence[Error], invoked_ns: int) -> None:
        for error in errors:
            self._errors.append(error.name())
            self._writer.append(
                kind=schema.POLL_ERROR,
                outcome=schema.FAIL,
                invoked_ns=invoked_ns,
                completed_ns=time.monotonic_ns(),
                **error_columns(error),
            )

    def close(self) -> None:
        """Leave the group; the last word of the process. In the implicit mode the client accepts with it what the last
        poll has returned.
        """
        if self._implicit:
            self._say(self._returned, "accept")
        self._client.close()
        self._give_up(list(self._said), NO_ANSWER)
        self._writer.flush()
        self._tell(done=True)


def _place(one: Delivered) -> Place:
    return one.topic, one.partition, one.offset
