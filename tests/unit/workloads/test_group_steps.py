"""Further steps of a member: what is heard of commits that nobody waited for, and a producer for each partition."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from evidence.history import schema
from harness.workloads.processes.group_steps import GroupSteps


class Client:
    """A consumer that reports what it was told to commit, and to store."""

    def __init__(self) -> None:
        self.committed = list[tuple[list[tuple[str, int, int]], bool]]()
        self.stored = list[tuple[str, int, int]]()

    def commit(self, *, offsets: Sequence[TopicPartition], asynchronous: bool) -> None:
        self.committed.append((named(offsets), asynchronous))

    def store_offsets(self, *, offsets: Sequence[TopicPartition]) -> None:
        self.stored += named(offsets)


class Rows:
    """A history, of which the last columns count."""

    def __init__(self) -> None:
        self.rows = list[tuple[int, str, str | None]]()

    def append(self, *, offset: int, outcome: str, error_name: str | None = None, **_: Any) -> None:
        self.rows.append((offset, outcome, error_name))

    def flush(self) -> None:
        pass


def named(offsets: Sequence[TopicPartition]) -> list[tuple[str, int, int]]:
    return [(one.topic, one.partition, one.offset) for one in offsets]


def message(partition: int, offset: int) -> Any:
    return SimpleNamespace(topic=lambda: "t", partition=lambda: partition, offset=lambda: offset)


def application(**more: Any) -> Any:
    app: Any = object.__new__(GroupSteps)
    given = {"asked": {}, "writer": Rows(), "client": Client(), "one_at_a_time": threading.RLock(), **more}
    for name, value in given.items():
        setattr(app, f"_{name}", value)
    return app


def test_an_asynchronous_commit_is_unknown_until_it_is_answered() -> None:
    app = application()
    app.commit_async([message(0, 3), message(0, 4)])
    assert app._client.committed == [([("t", 0, 5)], True)]
    assert app._writer.rows == [(5, schema.INFO, None)]
    app._committed(None, [TopicPartition("t", 0, 5)])
    app.commit_async([message(0, 9)])
    app._committed(KafkaError(KafkaError.ILLEGAL_GENERATION), [TopicPartition("t", 0, 10)])
    assert app._writer.rows[1:] == [
        (5, schema.OK, None),
        (10, schema.INFO, None),
        (10, schema.INFO, "ILLEGAL_GENERATION"),
    ]


def test_a_commit_of_the_clients_own_is_not_the_programs() -> None:
    app = application()
    app._committed(None, [TopicPartition("t", 0, 5)])
    assert app._writer.rows == []


def test_another_thread_has_the_one_that_polls_store_its_offsets() -> None:
    app = application(to_store=queue.SimpleQueue())
    worker = threading.Thread(target=app.store, args=([message(0, 4)],))
    worker.start()
    worker.join()
    assert app._client.stored == []
    app._before_poll()
    assert app._client.stored == [("t", 0, 5)]
    app.store([message(1, 7)])
    assert app._client.stored == [("t", 0, 5), ("t", 1, 8)]


def test_each_partition_has_a_producer_whose_id_names_it_and_a_new_owner_makes_another() -> None:
    made = list[str]()

    def open_producer(settings: dict[str, str]) -> Any:
        made.append(settings["transactional.id"])
        return SimpleNamespace(number=None)

    app = application(
        of_partition={},
        ids="inputs",
        settings={"acks": "all"},
        open_producer=open_producer,
        transactions=SimpleNamespace(number=4),
        polls=SimpleNamespace(note=lambda *_: None),
        when_revoked=lambda: None,
    )
    inputs = [message(1, 7), message(0, 3), message(1, 8)]
    for ours in app.by_partition(inputs):
        assert {one.partition() for one in ours} == {int(made[-1][-1])}
        assert [one.offset() for one in ours] in ([3], [7, 8])
        # Transactions are counted by the process, whichever producer they are of.
        assert app._transactions.number == 3 + len(made)
        app._transactions.number += 1
    assert made == ["inputs-t-0", "inputs-t-1"]
    list(app.by_partition(inputs))
    assert len(made) == 2
    app._taken(None, [TopicPartition("t", 1)])
    list(app.by_partition(inputs))
    assert made[2:] == ["inputs-t-1"]


def test_what_is_to_be_done_when_partitions_are_revoked_is_done_before_they_are_gone() -> None:
    happened = list[str]()
    app = application(of_partition={}, polls=SimpleNamespace(note=lambda kind, *_: happened.append(kind)))
    app.when_revoked(lambda: happened.append("commit"))
    app._taken(None, [TopicPartition("t", 0)])
    assert happened == ["commit", schema.REVOKE]
    # Of partitions that are lost nothing can be committed any more.
    app._lost(None, [TopicPartition("t", 0)])
    assert happened[2:] == [schema.REVOKE]
