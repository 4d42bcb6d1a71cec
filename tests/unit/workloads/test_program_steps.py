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
from harness.workloads.processes import program_steps
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


class Outputs:
    """A producer whose sends have these outcomes, one flush after the other; the last ones again and again."""

    def __init__(self, *rounds: Sequence[str], transactional: bool = False) -> None:
        self._rounds, self.transactional = list(rounds), transactional
        self.sent, self._told = list[tuple[int, int]](), list[Any]()

    def reserve(self, *_: Any) -> None: ...

    def send(self, topic: str, partition: int, sequence: int, *, source: Input, tell: Any) -> None:
        self.sent.append((sequence, source.offset))
        self._told.append(tell)

    def flush(self, _: float) -> None:
        outcomes = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        for tell, outcome in zip(self._told, outcomes, strict=False):
            tell({"outcome": outcome})
        self._told = []


def making(outputs: Outputs) -> Any:
    more = {"sequence": 0, "processed": 0, "output": "o", "output_partitions": 1, "errors": [], "tell": lambda: None}
    return application(transactions=outputs, **more)[0]


OK, LOST = schema.OK, schema.INFO


def test_an_output_that_is_not_acknowledged_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_steps, "POLL_S", 0.0)
    outputs = Outputs([OK, LOST, OK], [LOST], [OK])
    app = making(outputs)
    app.process([message(0, 3), message(0, 4), message(0, 5)])
    assert outputs.sent == [(0, 3), (1, 4), (2, 5), (3, 4), (4, 4)]
    assert (app._processed, app._errors) == (3, ["send", "send"])
    unheard = making(Outputs([OK], [OK]))
    unheard.process([message(0, 3), message(0, 4)])
    assert unheard._processed == 2


def test_a_program_fails_rather_than_go_on_without_an_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_steps, "POLL_S", 0.0)
    with pytest.raises(ClientFailed, match="1 outputs are not acknowledged after 5 attempts"):
        making(Outputs([LOST])).process([message(0, 3)])


def test_what_is_processed_once_at_most_or_in_a_transaction_is_not_made_again() -> None:
    once, within = Outputs([LOST]), Outputs([LOST], transactional=True)
    making(once).process([message(0, 3)], again=False)
    making(within).process([message(0, 3)])
    assert (len(once.sent), len(within.sent)) == (1, 1)


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
