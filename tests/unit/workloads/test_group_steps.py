"""Further steps of a member: what is heard of commits that nobody waited for, and a producer for each partition."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.errors import ClientFailed
from evidence.history import schema
from harness.workloads.processes.group_steps import GroupSteps
from harness.workloads.processes.programs import process_then_commit_when_revoked


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


def test_what_was_done_of_lost_partitions_is_not_committed() -> None:
    """Others have them, and may have committed more."""
    committed, hooks = list[tuple[int, int]](), dict[str, Any]()
    polled = [[message(0, 3), message(1, 8)], [message(1, 9)]]

    def poll() -> list[Any]:
        if len(polled) == 1:
            hooks["lost"]([("t", 0)])
        return polled.pop(0) if polled else []

    app: Any = SimpleNamespace(
        poll=poll,
        process=lambda inputs: None,
        between=lambda *_: None,
        commit=lambda inputs: committed.extend((one.partition(), one.offset()) for one in inputs),
        when_revoked=partial(hooks.__setitem__, "revoked"),
        when_lost=partial(hooks.__setitem__, "lost"),
    )
    process_then_commit_when_revoked(app)
    assert committed == [(1, 8), (1, 9)]


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


def test_who_is_given_a_partition_opens_its_producer_and_fences_before_it_asks_where_to_begin() -> None:
    happened = list[str]()

    def open_producer(settings: dict[str, str]) -> Any:
        own = settings["transactional.id"]
        return SimpleNamespace(number=None, initialise=lambda: happened.append(own))

    app = application(
        of_partition={},
        ids="inputs",
        settings={"acks": "all"},
        open_producer=open_producer,
        transactions=SimpleNamespace(number=4),
        polls=SimpleNamespace(note=lambda kind, *_: happened.append(kind)),
        store=None,
        when_revoked=lambda: None,
        when_lost=lambda lost: None,
    )
    app._given(None, [TopicPartition("t", 0), TopicPartition("t", 1)])
    assert happened == ["inputs-t-0", "inputs-t-1", schema.ASSIGN]
    inputs = [message(1, 7), message(0, 3), message(1, 8)]
    for done, ours in enumerate(app.by_partition(inputs)):
        assert [one.offset() for one in ours] == ([3], [7, 8])[done]
        # Transactions are counted by the process, whichever producer they are of.
        assert app._transactions.number == 4 + done
        app._transactions.number += 1
    app._taken(None, [TopicPartition("t", 1)])
    app._given(None, [TopicPartition("t", 1)])
    assert happened[3:] == [schema.REVOKE, "inputs-t-1", schema.ASSIGN]


def test_a_producer_that_cannot_fence_ends_the_program_and_not_the_listener_alone() -> None:
    """Java's consumer up to 2.3 logs what a listener raises, and goes on."""

    def fails() -> None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    app = application(
        of_partition={},
        ids="inputs",
        settings={},
        open_producer=lambda settings: SimpleNamespace(number=None, initialise=fails),
        polls=SimpleNamespace(
            note=lambda *_: None, poll=lambda _: SimpleNamespace(messages=[message(0, 3)], errors=[])
        ),
        store=None,
        to_store=queue.SimpleQueue(),
        goes_on=lambda _: True,
    )
    app._given(None, [TopicPartition("t", 0)])
    with pytest.raises(ClientFailed, match="inputs-t-0: _TIMED_OUT"):
        app.poll()


def test_what_is_to_be_done_when_partitions_are_revoked_is_done_before_they_are_gone() -> None:
    happened = list[str]()
    app = application(of_partition={}, polls=SimpleNamespace(note=lambda kind, *_: happened.append(kind)))
    app.when_revoked(lambda: happened.append("commit"))
    app._taken(None, [TopicPartition("t", 0)])
    assert happened == ["commit", schema.REVOKE]
    # Of partitions that are lost nothing can be committed any more.
    app.when_lost(lambda lost: happened.append(f"forget {lost}"))
    app._lost(None, [TopicPartition("t", 0)])
    assert happened[2:] == ["forget [('t', 0)]", schema.REVOKE]
