"""A member of a share group: what it is given and says is in the history, with the broker's answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.errors import UsageError
from evidence.history import record
from evidence.history.read import stream_batches
from evidence.history.writer import HistoryWriter
from harness.cluster import versions
from harness.workloads.libraries import RDKAFKA, Library
from harness.workloads.processes import share_consumer, share_steps
from harness.workloads.processes.share_consumer import Delivered, Error, Heard, LibrdkafkaShare, Saying
from harness.workloads.processes.share_programs import SHARE_PROGRAMS
from harness.workloads.processes.share_steps import ShareSteps

RUN = "20260101t000000-baseline-4-3-1-s1-0000"
REFUSED = KafkaError(121)


def given(*offsets: int, count: int = 1) -> list[Delivered]:
    return [Delivered("t", 0, offset, record.encode(1, 1, offset), count) for offset in offsets]


class Member:
    """A share consumer that is given what it is told to, and answers so."""

    def __init__(self, *polls: list[Delivered] | Error, refuse: Iterable[int] = (), silent: bool = False) -> None:
        self.polls, self.refuse, self.silent = list(polls), set(refuse), silent
        self.heard: Heard = lambda *_: None
        self.pending: list[Delivered] = []
        self.said: list[tuple[str, list[int]]] = []

    def subscribe(self, topic: str) -> None:
        assert topic == "t"

    def poll(self, timeout_s: float) -> tuple[list[Delivered], list[Error]]:
        self.commit(0)
        now = self.polls.pop(0)
        return (now, []) if isinstance(now, list) else ([], [now])

    def acknowledge(self, records: Sequence[Delivered], said: Saying) -> None:
        self.said.append((said, [one.offset for one in records]))
        self.pending += records

    def commit(self, timeout_s: float) -> None:
        if not self.silent:
            for one in self.pending:
                self.heard(one.topic, one.partition, [one.offset], REFUSED if one.offset in self.refuse else None)
        self.pending = []

    def close(self) -> None:
        self.commit(0)


class Commands:
    """The harness, which stops the program when the member has been given everything."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def next(self, wait_s: float) -> None:
        return None

    @property
    def stopped(self) -> bool:
        return not self._member.polls


class Outputs:
    """Takes every output."""

    transactional = False

    def __init__(self) -> None:
        self.made: list[int] = []

    def reserve(self, *_: Any) -> None:
        pass

    def send(self, _topic: str, _partition: int, _sequence: int, *, source: Any, tell: Any) -> None:
        self.made.append(source.offset)
        tell({"outcome": "ok"})

    def flush(self, _limit_s: float) -> None:
        pass


def carried_out(
    program: str, member: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, mode: str = "explicit"
) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows of the history, and the outputs that were made."""
    outputs = Outputs()

    def opened(library: Any, bootstrap: str, settings: Any, heard: Heard) -> Member:
        member.heard = heard
        return member

    monkeypatch.setattr(share_steps, "open_share_consumer", opened)
    monkeypatch.setattr("harness.workloads.processes.program_steps.Transactions", lambda *_: outputs)
    monkeypatch.setattr("harness.workloads.processes.child.say", lambda **_: None)
    writer = HistoryWriter(tmp_path / "h.arrows", "processor-1")
    arguments = {
        "producer": 2,
        "run": RUN,
        "settings": {},
        "bootstrap": "b",
        "library": {},
        "output": "output",
        "output_partitions": 1,
        "stop_between": ["", ""],
        "stop_in_round": 0,
        "consumer_settings": {"share.acknowledgement.mode": mode},
        "input": "t",
    }
    commands: Any = Commands(member)
    app = ShareSteps(arguments, commands, writer)
    SHARE_PROGRAMS[program](app)
    app.close()
    writer.close()
    complaints: list[str] = []
    rows = [row for batch in stream_batches(tmp_path / "h.arrows", complaints) for row in batch.to_pylist()]
    assert complaints == []
    return [row for row in rows if row["kind"] != "close"], outputs.made


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """All but the rows of what is about to be said."""
    rows = [row for row in rows if row["completed_ns"] is not None]
    return [(row["kind"], row["offset"], row["count"], row["outcome"], row["error_name"]) for row in rows]


def test_what_is_delivered_and_accepted_is_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(given(4, 5), given(6, count=3), [])
    rows, made = carried_out("share-process-then-accept", member, tmp_path, monkeypatch)
    assert told(rows) == [
        ("delivered", 4, 1, "ok", None),
        ("delivered", 5, 1, "ok", None),
        ("accept", 4, None, "ok", None),
        ("accept", 5, None, "ok", None),
        ("delivered", 6, 3, "ok", None),
        ("accept", 6, None, "ok", None),
    ]
    assert [(row["producer"], row["sequence"], row["valid"]) for row in rows[:2]] == [(1, 4, True), (1, 5, True)]
    assert rows[0]["op"] == rows[1]["op"] != rows[2]["op"]
    assert made == [4, 5, 6]


def test_what_is_about_to_be_said_is_on_record_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = carried_out("share-process-then-accept", Member(given(4), []), tmp_path, monkeypatch)
    before, answer = (row for row in rows if row["kind"] == "accept")
    assert (before["outcome"], before["completed_ns"], answer["outcome"]) == ("info", None, "ok")
    assert before["invoked_ns"] == answer["invoked_ns"]


def test_what_is_refused_is_not_processed_by_who_accepts_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(given(4), given(5), [], refuse=[4])
    rows, made = carried_out("share-accept-then-process", member, tmp_path, monkeypatch)
    assert [row[3:] for row in told(rows) if row[0] == "accept"] == [("fail", "INVALID_RECORD_STATE"), ("ok", None)]
    assert made == [5]


def test_what_nobody_answers_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(given(4), [], silent=True)
    rows, _ = carried_out("share-process-then-accept", member, tmp_path, monkeypatch)
    assert told(rows)[1:] == [("accept", 4, None, "info", "_UNANSWERED")]


def test_a_client_that_refuses_to_acknowledge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(given(4), [])

    def refuse(records: Sequence[Delivered], said: Saying) -> None:
        raise KafkaException(KafkaError(KafkaError._STATE))

    monkeypatch.setattr(member, "acknowledge", refuse)
    rows, _ = carried_out("share-process-then-accept", member, tmp_path, monkeypatch)
    assert told(rows)[1:] == [("accept", 4, None, "info", "_STATE")]


def test_the_client_accepts_with_the_next_poll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(given(4), given(5), [])
    poll = member.poll

    def accepting(timeout_s: float) -> tuple[list[Delivered], list[Error]]:
        found = poll(timeout_s)
        member.pending = list(found[0])
        return found

    monkeypatch.setattr(member, "poll", accepting)
    rows, made = carried_out("share-process-and-poll", member, tmp_path, monkeypatch, mode="implicit")
    assert [row[:2] for row in told(rows)] == [("delivered", 4), ("accept", 4), ("delivered", 5), ("accept", 5)]
    assert member.said == []
    assert made == [4, 5]


@pytest.mark.parametrize(("program", "kind"), [("share-release-odd", "release"), ("share-reject-odd", "reject")])
def test_inputs_that_are_never_processed(
    program: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = Member(given(4, 5, 6), [])
    rows, made = carried_out(program, member, tmp_path, monkeypatch)
    assert [row[:2] for row in told(rows)[3:]] == [("accept", 4), ("accept", 6), (kind, 5)]
    assert made == [4, 6]


def test_an_error_in_place_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    rows, _ = carried_out("share-process-then-accept", Member(error, []), tmp_path, monkeypatch)
    assert told(rows) == [("poll-error", None, None, "fail", "_ALL_BROKERS_DOWN")]


# librdkafka's own


class Preview:
    """confluent_kafka.ShareConsumer."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.said = settings, list[tuple[Any, ...]]()

    def set_acknowledgement_commit_callback(self, callback: Any) -> None:
        self.answered = callback

    def poll(self, timeout_s: float) -> list[Any]:
        failed = SimpleNamespace(error=lambda: KafkaError(KafkaError._TRANSPORT))
        good = SimpleNamespace(
            error=lambda: None,
            topic=lambda: "t",
            partition=lambda: 0,
            offset=lambda: 7,
            value=lambda: b"v",
            delivery_count=lambda: 2,
        )
        return [failed, good]

    def acknowledge_offset(self, *words: Any) -> None:
        self.said.append(words)


def test_librdkafkas_share_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_consumer, "ShareConsumer", Preview)
    heard = list[tuple[Any, ...]]()
    member = LibrdkafkaShare("b:1", {"group.id": "g"}, lambda *told: heard.append(told))
    records, errors = member.poll(0.1)
    assert (records, [error.name() for error in errors]) == ([Delivered("t", 0, 7, b"v", 2)], ["_TRANSPORT"])
    member.acknowledge(records, "reject")
    client: Any = member._client
    assert [(*words[:3], words[3].name) for words in client.said] == [("t", 0, 7, "REJECT")]
    client.answered({TopicPartition("t", 0): {7}}, KafkaException(REFUSED))
    client.answered({TopicPartition("t", 0): {8}}, None)
    assert heard == [("t", 0, {7}, REFUSED), ("t", 0, {8}, None)]
    assert client.settings["check.crcs"]


# Which clients have one


def test_who_has_a_share_consumer() -> None:
    version = versions.get("4.3.1")
    assert RDKAFKA.sharing(version, 5, {"group.id": "g"})["max.poll.records"] == "5"
    assert Library("java", "4.2.2").sharing(version, 5, {"group.id": "g"}) == {"max.poll.records": "5", "group.id": "g"}
    for library in (Library("java", "4.1.2"), Library("scala", "1.1.1")):
        with pytest.raises(UsageError, match=f"no share consumer with {library.name}"):
            library.sharing(version, 5)
