"""A program that reads inputs again says so in its history: its consumer is then not taken for one that went back."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from evidence.history import schema
from harness.workloads.processes.program_steps import ProgramSteps, before
from harness.workloads.stores.sqlite import SqliteStore


class Client:
    """A consumer that has two partitions and reports where it was told to read."""

    def __init__(self) -> None:
        self.sought = list[tuple[str, int, int]]()

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition("t", 0), TopicPartition("t", 1)]

    def seek(self, place: TopicPartition) -> None:
        self.sought.append((place.topic, place.partition, place.offset))


class Polls:
    """A history of assignments."""

    def __init__(self) -> None:
        self.noted = list[tuple[str, str, list[tuple[str, int, int]]]]()

    def note(self, kind: str, outcome: str, partitions: Sequence[TopicPartition]) -> None:
        self.noted.append((kind, outcome, [(one.topic, one.partition, one.offset) for one in partitions]))


def application(**more: Any) -> tuple[Any, Client, Polls]:
    app: Any = object.__new__(ProgramSteps)
    app._client, app._polls, app._one_at_a_time = Client(), Polls(), threading.RLock()
    for name, value in more.items():
        setattr(app, f"_{name}", value)
    return app, app._client, app._polls


def message(partition: int, offset: int) -> Any:
    return SimpleNamespace(topic=lambda: "t", partition=lambda: partition, offset=lambda: offset)


def test_a_return_to_what_the_store_has_is_in_the_history(tmp_path: Any) -> None:
    store = SqliteStore(tmp_path / "s.sqlite", "r")
    store.write_offsets({("t", 1): 7})
    store.commit()
    app, client, polls = application(store=store)
    app.return_to_stored()
    assert client.sought == [("t", 0, OFFSET_BEGINNING), ("t", 1, 7)]
    assert polls.noted == [(schema.ASSIGN, schema.OK, client.sought)]
    store.close()


def test_a_return_to_the_first_input_of_an_aborted_transaction_is_in_the_history() -> None:
    for outcome, expected in ((schema.OK, [("t", 0, 3), ("t", 1, 8)]), (schema.FAIL, [])):
        transactions = SimpleNamespace(abort=lambda outcome=outcome: {"outcome": outcome, "error_name": "E"})
        app, client, polls = application(transactions=transactions, errors=[], tell=lambda: None)
        assert app.give_up([message(0, 3), message(1, 8), message(0, 4)]) == (outcome == schema.OK)
        assert sorted(client.sought) == expected
        assert [sorted(places) for _, _, places in polls.noted] == ([expected] if expected else [])


def test_the_first_offset_of_each_partition() -> None:
    assert before([message(0, 3), message(1, 8), message(0, 4)]) == {("t", 0): 3, ("t", 1): 8}
