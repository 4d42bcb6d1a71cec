"""Asking how far a partition may be read: what readers of everything are told, and readers of what is committed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition

from evidence.errors import WaitTimeout
from evidence.events import EndsAnswer, Event, Note
from evidence.timeline import Timeline
from harness.run import ends
from harness.run.ends import EndOffsets
from harness.run.sequence_log import SequenceLog
from harness.run.who import Partition


class Leader:
    """Answers 5 to everybody, but 2 to readers of what is committed, for so many questions; with `refuses` nobody."""

    def __init__(self, *, refuses: bool = False, behind: int = 1000) -> None:
        self.refuses, self.behind = refuses, behind

    def __call__(self, settings: dict[str, Any]) -> Any:
        assert settings["bootstrap.servers"] == "10.0.0.11:9092"
        return SimpleNamespace(list_offsets=self._list_offsets)

    def _list_offsets(
        self, wanted: dict[TopicPartition, Any], isolation_level: IsolationLevel, request_timeout: float
    ) -> dict[TopicPartition, Future[Any]]:
        (place,) = wanted
        assert (place.topic, place.partition, request_timeout) == ("t", 0, ends.ASK_S)
        answer: Future[Any] = Future()
        committed = isolation_level is IsolationLevel.READ_COMMITTED
        if self.refuses:
            answer.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        else:
            self.behind -= committed
            offset = 2 if committed and self.behind >= 0 else 5
            answer.set_result(SimpleNamespace(offset=offset, leader_epoch=8 if committed else 7))
        return {place: answer}


@contextmanager
def end_offsets(
    leader: Leader, root: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[EndOffsets, list[Event]]]:
    monkeypatch.setattr(ends, "administrator", leader)
    told: list[Event] = []
    with Timeline(root / "timeline.jsonl") as timeline:
        timeline.listen(told.append)
        parts: Any = SimpleNamespace(
            timeline=timeline,
            cluster=SimpleNamespace(bootstrap="10.0.0.11:9092"),
            version=SimpleNamespace(client_settings={}),
        )
        yield EndOffsets(parts, SequenceLog(timeline)), told


def asked(leader: Leader, root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[EndsAnswer | None, list[Event]]:
    with end_offsets(leader, root, monkeypatch) as (found, told):
        return found.watch_ends(Partition("t", 0), 0.0), told


def test_both_ends_are_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader()
    last, told = asked(leader, tmp_path, monkeypatch)
    (one,) = [event for event in told if isinstance(event, EndsAnswer)]
    assert (one.high_watermark, one.last_stable_offset, one.leader_epochs) == (5, 2, (7, 8))
    assert last is not None
    assert (last.high_watermark, last.last_stable_offset) == (5, 2)


def test_no_answer_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader(refuses=True)
    last, told = asked(leader, tmp_path, monkeypatch)
    assert last is None
    assert [event.text for event in told if isinstance(event, Note)] == [
        "t-0: how far it may be read is not answered: _TIMED_OUT"
    ]


def test_ends_are_asked_for_until_somebody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "AGAIN_S", 0.0)
    with end_offsets(Leader(behind=0), tmp_path, monkeypatch) as (found, _):
        assert found.wait_ends(Partition("t", 0)).high_watermark == 5
    with (
        end_offsets(Leader(refuses=True), tmp_path, monkeypatch) as (found, _),
        pytest.raises(WaitTimeout, match="nobody says how far t-0 may be read within 0 s"),
    ):
        found.wait_ends(Partition("t", 0), timeout_s=0.0)


def test_an_open_transaction_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "AGAIN_S", 0.0)
    leader = Leader(behind=2)
    with end_offsets(leader, tmp_path, monkeypatch) as (found, told):
        assert found.wait_stable(Partition("t", 0), timeout_s=5.0).last_stable_offset == 5
    assert [one.last_stable_offset for one in told if isinstance(one, EndsAnswer)] == [2, 2, 5]


@pytest.mark.parametrize(("leader", "said"), [(Leader(), "2 of 5"), (Leader(refuses=True), "its leader does not say")])
def test_a_transaction_that_stays_open_is_told(
    leader: Leader, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "HANGS_S", 0.0)
    with (
        end_offsets(leader, tmp_path, monkeypatch) as (found, _),
        pytest.raises(WaitTimeout, match=f"t-0 cannot be read to its end under read_committed after 0 s: {said}"),
    ):
        found.wait_stable(Partition("t", 0), timeout_s=0.0)
