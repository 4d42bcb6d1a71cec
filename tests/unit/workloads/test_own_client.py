"""A client of the user's own as a process: what it is asked, what is recorded of it, and each way in which it fails."""

from __future__ import annotations

import queue
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evidence.errors import ClientFailed, RecorderDied, UsageError
from evidence.history import schema
from evidence.history.writer import HistoryWriter
from harness.workloads import own_client, protocol
from harness.workloads.handles.client import Background, LoadGenerator, Summary
from harness.workloads.own_client import OwnClient, introduced
from harness.workloads.processes.load import LoadSender
from harness.workloads.processes.own import OwnReader, failure_of, started
from harness.workloads.processes.single import Sender
from harness.workloads.processes.transactional import Transactions
from tests.unit.workloads.test_transactions import rows_of

STUB = str(Path(__file__).with_name("stub_client.py"))
LIMIT_S = 30.0


def words(mode: str) -> list[str]:
    return [sys.executable, STUB, mode]


def library(mode: str, folder: Path, label: str = "stub 1.0") -> dict[str, Any]:
    told = {"name": "own-stub-1.0", "command": words(mode), "label": label, "kafka": "4.3.1"}
    return told | {"process": "p", "stderr": str(folder / "p.stderr")}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], OwnClient]]:
    clients: list[OwnClient] = []

    def make(mode: str) -> OwnClient:
        clients.append(OwnClient(words(mode), tmp_path / "stderr"))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def start(client: OwnClient) -> dict[str, str]:
    client.greeting()
    return client.start(protocol.StartProducer(name="p", bootstrap="b:1", kafka="4.3.1", settings={"acks": "all"}))


# Before a run


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("dies", r"has ended \(status 3\); it said last nothing, and on stderr the reason"),
        ("nonsense", r"says what is no answer: 'INFO connected': JSON is malformed"),
        ("no-hello", "its first line is ready, not hello"),
        ("another-protocol", "it speaks protocol 2"),
        ("unknown-word", "it can transaction, which is not one of"),
        ("can-nothing", "neither produce nor consume"),
    ],
)
def test_a_command_that_is_no_client_is_refused_in_one_line(mode: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as told:
        introduced(" ".join(words(mode)))
    assert "\n" not in str(told.value)


def test_a_client_that_says_nothing_is_refused_after_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_client, "HELLO_LIMIT_S", 0.2)
    with pytest.raises(UsageError, match=r"did not say hello within 0 s; it said last nothing"):
        introduced(" ".join(words("silent")))


@pytest.mark.parametrize(
    ("command", "why"),
    [("./not-there", "cannot be started: No such file"), ("'open", "no command: No closing quotation"), ("", "empty")],
)
def test_a_command_that_cannot_be_started(command: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        introduced(command)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"PYTHONPATH": own_client.PROGRAM}, {}),
        ({"PYTHONPATH": f"{own_client.PROGRAM}:/mine:/yours", "A": "b"}, {"PYTHONPATH": "/mine:/yours", "A": "b"}),
    ],
)
def test_a_client_does_not_find_our_modules_in_place_of_its_own(given: dict[str, str], kept: dict[str, str]) -> None:
    assert own_client.without_program(given) == kept


def test_who_a_client_is() -> None:
    assert introduced(" ".join(words("good"))).label == "stub 1.0"


# In a run


def test_a_client_is_asked_and_answers(opened: Callable[[str], OwnClient]) -> None:
    client = opened("good")
    assert start(client) == {"told": "all"}
    begun = client.ask(lambda number: protocol.Begin(id=number), protocol.Begun, LIMIT_S)
    assert isinstance(begun, protocol.Begun)
    client.close()
    assert client.failure is None


@pytest.mark.parametrize(
    ("mode", "why"),
    [("refuses", "refuses to start: no such acks"), ("never-ready", "did not say ready within 0 s")],
)
def test_a_client_that_does_not_start(
    mode: str, why: str, opened: Callable[[str], OwnClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_client, "READY_LIMIT_S", LIMIT_S if mode == "refuses" else 0.2)
    with pytest.raises(ClientFailed, match=why):
        start(opened(mode))


def test_an_answer_to_something_else_is_nonsense(opened: Callable[[str], OwnClient]) -> None:
    client = opened("wrong-answer")
    start(client)
    answers: queue.SimpleQueue[protocol.WithId | None] = queue.SimpleQueue()
    client.tell(lambda number: protocol.Begin(id=number), answers.put)
    assert answers.get(timeout=LIMIT_S) is None, "who asked is told that there will be no answer"
    with pytest.raises(ClientFailed, match="committed 1 is no answer to begin"):
        client.ask(lambda number: protocol.Begin(id=number), protocol.Begun, LIMIT_S)


def test_a_client_that_does_not_answer_in_time(opened: Callable[[str], OwnClient]) -> None:
    client = opened("silent-on-records")
    start(client)
    with pytest.raises(ClientFailed, match=r"did not answer produce within 0 s; it said last '\{"):
        client.ask(
            lambda number: protocol.Produce(id=number, topic="t", partition=0, key=None, value=b""),
            protocol.Acknowledged,
            0.2,
        )


def test_one_that_stays_when_its_input_has_ended_is_killed(
    opened: Callable[[str], OwnClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_client, "END_LIMIT_S", 0.2)
    client = opened("stays")
    start(client)
    client.close()
    assert client._process.poll() is not None


def test_one_that_is_another_than_before_fails(tmp_path: Path) -> None:
    with pytest.raises(ClientFailed, match=r"says that it is stub 1\.0, and was stub 0\.9"):
        started(library("good", tmp_path, "stub 0.9"))


# What is recorded


def sent(mode: str, folder: Path, count: int = 1) -> list[dict[str, Any]]:
    """What is recorded of records that are sent one after the other, until the client fails or all are answered."""
    path = folder / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        sender = Sender(writer, 1, "r", {"acks": "all"}, "b:1", library(mode, folder))
        try:
            for sequence in range(count):
                sender.reserve("t", [0], sequence, 1)
                sender.send("t", 0, sequence)
                deadline = time.monotonic() + LIMIT_S
                while sender.in_flight and time.monotonic() < deadline:
                    sender.poll(0.1)
            while mode != "good" and time.monotonic() < deadline:
                sender.poll(0.1)
        except ClientFailed:
            pass
        sender.end()
    return [row for row in rows_of(path) if row["kind"] == schema.SEND]


def test_an_acknowledged_record(tmp_path: Path) -> None:
    (row,) = sent("good", tmp_path)
    assert (row["outcome"], row["offset"], row["acks"]) == ("ok", 0, -1)
    assert row["invoked_ns"] < row["completed_ns"]


def test_what_happened_before_a_client_died_is_on_record(tmp_path: Path) -> None:
    rows = sent("dies-after-a-record", tmp_path, count=2)
    assert [(row["outcome"], row["offset"], row["error_name"]) for row in rows] == [
        ("ok", 0, None),
        ("info", None, "_CLIENT_FAILED"),
    ]
    assert (tmp_path / "p.stderr").read_text() == "the reason\n"


def test_an_answer_that_comes_twice_ends_it(tmp_path: Path) -> None:
    rows = sent("answers-twice", tmp_path, count=2)
    assert rows[0]["outcome"] == "ok"
    assert {row["outcome"] for row in rows[1:]} <= {"ok", "info"}


@pytest.mark.parametrize(("mode", "outcome"), [("refuses-definitely", "fail"), ("fails", "info")])
def test_whether_an_error_is_definite_the_client_says(mode: str, outcome: str, tmp_path: Path) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        sender = Sender(writer, 1, "r", {}, "b:1", library(mode, tmp_path))
        sender.reserve("t", [0], 0, 1)
        sender.send("t", 0, 0)
        sender.flush(LIMIT_S)
        sender.end()
    (row,) = [row for row in rows_of(path) if row["kind"] == schema.SEND]
    assert (row["outcome"], row["error"], row["error_name"]) == (outcome, 19, "Sad")


def test_a_load(tmp_path: Path) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        load = LoadSender(
            writer,
            producer=1,
            run="r",
            settings={"acks": "all"},
            bootstrap="b:1",
            library=library("good", tmp_path),
            topic="t",
            partitions=[0],
            record_bytes=100,
            keys=3,
        )
        load.send(2_000)
        load.close(LIMIT_S)
    assert (load.acked, load.failed) == (2_000, 0)


def test_a_transaction(tmp_path: Path) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        producer = Transactions(writer, 1, "r", {"transactional.id": "x"}, "b:1", library("good", tmp_path))
        producer.begin()
        producer.reserve("t", [0], 0, 1)
        producer.send("t", 0, 0)
        producer.deliver(LIMIT_S)
        assert producer.commit()["outcome"] == "ok"
        producer.end()
    assert [row["kind"] for row in rows_of(path)] == ["begin", "reserve", "send", "commit", "close"]


def read(mode: str, folder: Path, settings: dict[str, str], **places: Any) -> list[dict[str, Any]]:
    path = folder / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        reader = OwnReader(writer, "b:1", settings, library=library(mode, folder), group="g", **places)
        for _ in range(2):
            reader.poll(0.0)
        reader.close()
    return rows_of(path)


def test_a_member_of_a_group(tmp_path: Path) -> None:
    """What it was given is on record before what it read there, and its offset is committed after that."""
    rows = read("good", tmp_path, {}, subscribe=["t"])
    polls = ["poll", "poll"]
    kinds = ["assign", *polls, "revoke", "assign", *polls, "group-offsets", "close"]
    assert [row["kind"] for row in rows] == kinds
    _, first, second, revoke, *_, committed, _ = rows
    assert [(one["offset"], one["valid"], one["leader_epoch"]) for one in (first, second)] == [
        (4, False, 1),
        (7, False, None),
    ]
    assert revoke["outcome"] == "info"
    assert (committed["offset"], committed["outcome"]) == (8, "ok")


@pytest.mark.parametrize(
    ("settings", "places"),
    [({"enable.auto.commit": "false"}, {"subscribe": ["t"]}), ({}, {"assign": [("t", 0)]})],
    ids=["its settings say so", "it is no member"],
)
def test_nothing_is_committed(settings: dict[str, str], places: dict[str, Any], tmp_path: Path) -> None:
    assert "group-offsets" not in {row["kind"] for row in read("good", tmp_path, settings, **places)}


def test_a_poll_that_fails_is_on_record(tmp_path: Path) -> None:
    rows = read("fails", tmp_path, {}, assign=[("t", 0)])
    assert [(row["kind"], row["error_name"]) for row in rows] == [
        ("assign", None),
        ("poll-error", "Sad"),
        ("poll-error", "Sad"),
        ("close", None),
    ]


def test_what_a_client_calls_an_error_is_safe_to_show() -> None:
    failure = failure_of(protocol.Failed(id=1, error="ProducerFenced\x1b", definite=True))
    assert (failure.name(), failure.code(), failure.definite) == (r"ProducerFenced\x1b", -1, True)


def test_a_load_that_ended_by_itself_before_it_was_stopped_is_heard_out() -> None:
    """Its last words lie in the pipe when nobody can tell it anything any more."""

    class Ended:
        said: ClassVar = [{"sent": 5, "acked": 5, "failed": 0, "done": True}]

        def send_message(self, **_: Any) -> None:
            raise RecorderDied("the process load-1 has ended (status 0)")

        def receive(self, timeout_s: float, what: str) -> dict[str, Any]:
            return self.said.pop()

        def close(self) -> None: ...

    load = LoadGenerator.__new__(LoadGenerator)
    Background.__init__(load, "load-1", Ended(), Summary(0, 0, 0))  # type: ignore[arg-type]  # it stands in for a Child
    assert load.stop() == Summary(5, 5, 0)
