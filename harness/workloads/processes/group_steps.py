"""Further steps of a group's member. It commits without waiting, or when partitions are revoked; it stores by hand what
its client is to commit; or it has a producer for each input partition.

A commit that is not waited for has a row of unknown outcome as soon as the client has taken it, and another one when
its answer is heard, in a later poll. Whether it was carried out before a crash, only the group's coordinator can say.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from evidence.errors import ClientFailed
from evidence.history import schema
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.adapted import Failure
from harness.workloads.processes.polls import Key
from harness.workloads.processes.program_steps import ProgramSteps, after
from harness.workloads.processes.single import error_columns
from harness.workloads.processes.transactional import Transactions


def places_of(positions: Mapping[Key, int]) -> list[TopicPartition]:
    """Offsets as clients take them."""
    return [TopicPartition(*key, offset) for key, offset in positions.items()]


class GroupSteps(ProgramSteps):
    """What a program can do that is not the common way to commit, or to send."""

    def __init__(
        self,
        arguments: Mapping[str, Any],
        commands: child.Commands,
        writer: HistoryWriter,
        *,
        asynchronous: bool,
        by_partition: bool,
    ) -> None:
        """`asynchronous`: it does not wait for commits; `by_partition`: it has a producer for each input partition."""
        settings = dict(arguments["settings"])
        self._of_partition = dict[Key, Transactions]()
        """With a producer for each input partition: those that there are."""
        self._ids = settings.pop("transactional.id") if by_partition else ""
        self._on_commit = self._committed if asynchronous else None
        self._open_producer = partial(
            Transactions,
            writer,
            arguments["producer"],
            arguments["run"],
            bootstrap=arguments["bootstrap"],
            library=arguments["library"],
        )
        self._settings = settings
        self._asked = dict[frozenset[tuple[str, int, int]], int]()
        """Commits whose answers are not heard, and when they were asked for."""
        self._to_store = queue.SimpleQueue[Mapping[Key, int]]()
        self._when_revoked: Callable[[], None] = lambda: None
        self._when_lost: Callable[[Collection[Key]], None] = lambda lost: None
        super().__init__({**arguments, "settings": settings}, commands, writer)

    def commit_async(self, inputs: Sequence[Message]) -> None:
        """Have the client commit the offsets after these inputs, and do not wait for the answer."""
        places = places_of(after(inputs))
        invoked_ns = time.monotonic_ns()
        self._asked[_named(places)] = invoked_ns
        self._client.commit(offsets=places, asynchronous=True)
        self._asked_for(places, schema.INFO, invoked_ns)

    def _committed(self, error: KafkaError | Failure | None, places: Sequence[TopicPartition]) -> None:
        """A commit is answered. What the client asked for by itself is not the program's."""
        invoked_ns = self._asked.pop(_named(places), None)
        if invoked_ns is not None:
            self._asked_for(places, schema.OK if error is None else schema.INFO, invoked_ns, **error_columns(error))

    def _asked_for(self, places: Sequence[TopicPartition], outcome: str, invoked_ns: int, **error: Any) -> None:
        done: dict[str, Any] = {"invoked_ns": invoked_ns, "completed_ns": time.monotonic_ns(), **error}
        with self._one_at_a_time:
            for one in places:
                where: dict[str, Any] = {"topic": one.topic, "partition": one.partition, "offset": one.offset}
                self._writer.append(kind=schema.OFFSETS, outcome=outcome, **where, **done)
            self._writer.flush()

    def store(self, inputs: Sequence[Message]) -> None:
        """Store the offsets after these inputs: they are what the client commits next by itself.

        Another thread than the one that polls has that one do it. confluent-kafka lets one thread at a time into a
        consumer, and one poll after the other leaves no gap: a thread that asked for itself would wait until the
        consumer is closed (confluent-kafka-python 2.16.0, pull request 2322).
        """
        self._to_store.put(after(inputs))
        if threading.current_thread() is threading.main_thread():
            self._before_poll()

    def _before_poll(self) -> None:
        while not self._to_store.empty():
            self._client.store_offsets(offsets=places_of(self._to_store.get()))

    def close(self) -> None:
        """Leave the group, when all that is to be stored is."""
        self._before_poll()
        super().close()

    def when_revoked(self, work: Callable[[], None]) -> None:
        """Have this done each time that the group takes partitions away, while they are still the member's."""
        self._when_revoked = work

    def when_lost(self, work: Callable[[Collection[Key]], None]) -> None:
        """Have this done each time that others have got some of the member's partitions, with these."""
        self._when_lost = work

    def _given(self, client: Any, partitions: Sequence[Any]) -> None:
        for one in partitions if self._ids else ():
            self._open_for((one.topic, one.partition))
        super()._given(client, partitions)

    def _open_for(self, key: Key) -> None:
        """Open the producer of an input partition, and fence off who had its transactional.id."""
        transactional_id = f"{self._ids}-{key[0]}-{key[1]}"
        opened = self._open_producer(settings={**self._settings, "transactional.id": transactional_id})
        try:
            opened.initialise()
        except KafkaException as error:
            # What a listener raises may be lost: Java's consumer up to 2.3 logs it, and goes on.
            self._failure = ClientFailed(f"{transactional_id}: {error.args[0].name()}")
        self._of_partition[key] = opened

    def _taken(self, client: Any, partitions: Sequence[Any]) -> None:
        self._when_revoked()
        self._forget_producers(partitions)
        super()._taken(client, partitions)

    def _lost(self, client: Any, partitions: Sequence[Any]) -> None:
        self._when_lost([(one.topic, one.partition) for one in partitions])
        self._forget_producers(partitions)
        super()._lost(client, partitions)

    def by_partition(self, inputs: Sequence[Message]) -> Iterator[list[Message]]:
        """Inputs of one partition after the other, each with the producer of its partition: its transactional.id ends
        with the partition.
        """
        for key, some in groupby(sorted(inputs, key=_partition_of), key=_partition_of):
            number = self._transactions.number
            self._transactions = self._of_partition[key]
            self._transactions.number = number  # a process counts its transactions, whichever producer they are of
            yield list(some)

    def _forget_producers(self, partitions: Sequence[Any]) -> None:
        for one in partitions:
            self._of_partition.pop((one.topic, one.partition), None)


def _named(places: Sequence[TopicPartition]) -> frozenset[tuple[str, int, int]]:
    return frozenset((one.topic, one.partition, one.offset) for one in places)


def _partition_of(message: Message) -> Key:
    return str(message.topic()), int(message.partition() or 0)
