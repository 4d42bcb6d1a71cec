"""A program that reads inputs again says so in its history: its consumer is then not taken for one that went back."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from evidence.errors import ClientFailed
from evidence.history import schema
from evidence.history.inputs import Input
from harness.workloads.processes.program_steps import ANSWERED_S, ProgramSteps, before
from harness.workloads.processes.transactional import LIMIT_S
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


class Outputs:
    """A producer whose sends have these outcomes, as far as they go."""

    def __init__(self, outcomes: Sequence[str], transactional: bool = False) -> None:
        self._outcomes, self.transactional = outcomes, transactional
        self.sent, self._told = list[tuple[int, int]](), list[Any]()
        self.waited_s = list[float]()

    def reserve(self, *_: Any) -> None: ...

    def send(self, topic: str, partition: int, sequence: int, *, source: Input, tell: Any) -> None:
        self.sent.append((sequence, source.offset))
        self._told.append(tell)

    def flush(self, timeout_s: float) -> None:
        self.waited_s.append(timeout_s)
        for tell, outcome in zip(self._told, self._outcomes, strict=False):
            tell({"outcome": outcome})


def making(outputs: Outputs) -> Any:
    more = {"sequence": 0, "processed": 0, "output": "o", "output_partitions": 1, "errors": [], "tell": lambda: None}
    return application(transactions=outputs, **more)[0]


OK, LOST = schema.OK, schema.INFO


def test_a_program_fails_rather_than_go_on_without_an_output() -> None:
    outputs = Outputs([OK, LOST, OK])
    app = making(outputs)
    with pytest.raises(ClientFailed, match="1 of 3 outputs are not acknowledged"):
        app.process([message(0, 3), message(0, 4), message(0, 5)])
    assert outputs.sent == [(0, 3), (1, 4), (2, 5)]
    assert (app._processed, app._errors) == (2, ["send"])
    with pytest.raises(ClientFailed, match="1 of 2 outputs"):
        making(Outputs([OK])).process([message(0, 3), message(0, 4)])
    sound = making(Outputs([OK, OK]))
    sound.process([message(0, 3), message(0, 4)])
    assert (sound._processed, sound._errors) == (2, [])


def test_outputs_are_waited_for_as_long_as_a_producer_tries_but_for_those_of_a_transaction() -> None:
    for transactional, limit_s in ((False, ANSWERED_S), (True, LIMIT_S)):
        outputs = Outputs([OK], transactional=transactional)
        making(outputs).process([message(0, 3)])
        assert outputs.waited_s == [limit_s]
    within = making(Outputs([LOST], transactional=True))
    within.process([message(0, 3)])
    assert within._errors == ["send"]


def test_what_a_thread_of_its_own_fails_with_ends_the_program() -> None:
    done = list[int]()

    def work(inputs: Sequence[Any]) -> None:
        if inputs[0].offset() == 4:
            raise ClientFailed("not acknowledged")
        done.append(inputs[0].offset())

    app, *_ = application(goes_on=lambda _: True)

    def hand_over() -> None:
        with app.own_thread(work) as give:
            for offset in (3, 4, 5):
                give([message(0, offset)])

    with pytest.raises(ClientFailed, match="not acknowledged"):
        hand_over()
    assert done == [3]
    with pytest.raises(ClientFailed):
        app.poll()
