"""Asking how far share groups have come: who is asked, what is told in the timeline, and when asking is given up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import ShareProgress
from evidence.timeline import Timeline
from harness.cluster.requests import RequestRefused
from harness.run import share_groups
from harness.run.sequence_log import SequenceLog
from harness.run.share_groups import ShareGroups
from harness.run.who import Partition

T = Partition("t", 0)
NOT_COORDINATOR = RequestRefused(16, "not the coordinator")
Answer = tuple[int, int] | Exception
OPEN: list[Timeline] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


class Stage:
    """Brokers that answer what they are told to, the last for ever."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *running: bool, end: int | None = 20) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []
        nodes = {
            number: SimpleNamespace(address=f"10.0.0.{number}", state=lambda up=up: {"Running": up})
            for number, up in enumerate(running, 1)
        }
        self.timeline = Timeline(tmp_path / "timeline.jsonl")
        OPEN.append(self.timeline)
        parts: Any = SimpleNamespace(
            timeline=self.timeline,
            cluster=SimpleNamespace(brokers=nodes, bootstrap="b:1"),
            version=SimpleNamespace(client_settings={}),
        )
        ends: Any = SimpleNamespace(
            watch_ends=lambda t, seconds: None if end is None else SimpleNamespace(high_watermark=end)
        )
        self.groups = ShareGroups(parts, SequenceLog(self.timeline), ends)
        monkeypatch.setattr(share_groups, "share_group_progress", self._answer)
        monkeypatch.setattr(share_groups, "set_of_group", self._answer)
        monkeypatch.setattr(share_groups, "AGAIN_S", 0.001)
        monkeypatch.setattr(share_groups, "SET_LIMIT_S", 0.05)

    def _answer(self, address: tuple[str, int], *_: Any, timeout_s: float) -> tuple[int, int]:
        host = address[0].rpartition(".")[2]
        self.asked.append(host)
        answers = self.answers[host]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_the_coordinator_is_found_by_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, True, False, True)
    stage.answers = {"1": [NOT_COORDINATOR], "3": [(5, 12)]}
    told = stage.groups.share_progress("g", T, 1.0)
    assert (told.start, told.lag, told.end, told.done, told.passed, told.error) == (5, 12, 20, 8, 5, None)
    assert stage.asked == ["1", "3"]


def test_it_is_waited_for_until_all_records_are_done_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, True)
    stage.answers = {"1": [NOT_COORDINATOR, (-1, -1), (5, 12), (15, 0)]}
    told = stage.groups.wait_share_done("g", T, timeout_s=5.0)
    assert (told.start, told.done, told.passed) == (15, 20, 20)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((5, 12), "it starts at 5, its lag is 12"),
        (NOT_COORDINATOR, "error 16: not the coordinator"),
        (ConnectionRefusedError("refused"), "refused"),
    ],
)
def test_what_it_says_when_waiting_is_given_up(
    answer: Answer, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, True)
    stage.answers = {"1": [answer]}
    with pytest.raises(WaitTimeout, match=says):
        stage.groups.wait_share_done("g", T, timeout_s=0.05)


def test_a_group_whose_partition_nobody_leads_is_not_known_to_have_come_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, True, end=None)
    stage.answers = {"1": [(5, 0)]}
    told: ShareProgress = stage.groups.share_progress("g", T, 0.02)
    assert (told.lag, told.done) == (None, None)


def test_a_setting_is_set_by_a_broker_that_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, True, True)
    stage.answers = {"1": [TimeoutError("no answer")], "2": [(0, 0)]}
    stage.groups.set_share_group("g", "share.auto.offset.reset", "earliest")
    assert stage.asked == ["1", "2"]


def test_a_setting_that_nobody_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, True)
    stage.answers = {"1": [RequestRefused(42, "no such setting")]}
    with pytest.raises(HarnessError, match=r"share\.x of the group g is not set after 0 s: error 42: no such setting"):
        stage.groups.set_share_group("g", "share.x", "1")


def test_without_brokers_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, False)
    assert stage.groups.share_progress("g", T, 0.0).error == "no broker runs"


class Reader:
    """A consumer of a dead-letter topic of one partition."""

    def __init__(self, *headers: list[tuple[str, bytes]]) -> None:
        self._records = [
            SimpleNamespace(error=lambda: None, offset=lambda number=number: number, headers=lambda told=told: told)
            for number, told in enumerate(headers)
        ]

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None})})

    def get_watermark_offsets(self, _place: Any, timeout: float) -> tuple[int, int]:
        return 0, len(self._records)

    def assign(self, _places: Any) -> None:
        pass

    def consume(self, _count: int, _timeout_s: float) -> list[Any]:
        return self._records

    def close(self) -> None:
        pass


def letter(offset: int, deliveries: str = "5") -> list[tuple[str, bytes]]:
    told = {"topic": "t", "partition": "0", "offset": str(offset), "delivery.count": deliveries, "group": "g"}
    return [(f"__dlq.errors.{name}", value.encode()) for name, value in told.items()]


def test_dead_letters_name_the_records_that_they_were_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, True)
    monkeypatch.setattr(share_groups, "consumer", lambda settings: Reader(letter(3), letter(1, "?"), []))
    read = stage.groups.read_dead_letters("g", "dlq.g", count=3, timeout_s=1.0)
    assert [(one.topic, one.partition, one.offset, one.deliveries) for one in read.letters] == [
        ("t", 0, 3, 5),
        ("t", 0, 1, None),
        ("", -1, -1, None),
    ]


def test_a_dead_letter_topic_that_is_not_there_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, True)
    reader = Reader(letter(3))

    def refuse(topic: str, timeout: float) -> Any:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(reader, "list_topics", refuse)
    monkeypatch.setattr(share_groups, "consumer", lambda settings: reader)
    assert stage.groups.read_dead_letters("g", "dlq.g", count=1, timeout_s=0.05).letters == ()
