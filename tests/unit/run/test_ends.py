"""Asking how far a partition may be read: what readers of everything are told, and readers of what is committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.errors import WaitTimeout
from evidence.events import EndsAnswer, Event, Note
from evidence.timeline import Timeline
from harness.run import ends
from harness.run.ends import EndOffsets
from harness.run.sequence_log import SequenceLog
from harness.run.who import Partition


class Leader:
    """Answers 5 to everybody, but 2 to readers under read_committed, for so many questions; with `refuses` nobody."""

    def __init__(self, *, refuses: bool = False, behind: int = 1000) -> None:
        self.refuses, self.open, self.behind = refuses, 0, behind

    def __call__(self, settings: dict[str, Any]) -> Any:
        self.open += 1
        end = {"read_committed": 2, "read_uncommitted": 5}[settings["isolation.level"]]

        def bounds(place: TopicPartition, timeout: float) -> tuple[int, int]:
            assert (place.topic, place.partition, timeout) == ("t", 0, ends.ASK_S)
            if self.refuses:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            if end == 2:
                self.behind -= 1
            return 0, 5 if self.behind < 0 else end

        return SimpleNamespace(get_watermark_offsets=bounds, close=self.close)

    def close(self) -> None:
        self.open -= 1


@contextmanager
def end_offsets(
    leader: Leader, root: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[EndOffsets, list[Event]]]:
    monkeypatch.setattr(ends, "consumer", leader)
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
    assert (one.high_watermark, one.last_stable_offset, leader.open) == (5, 2, 0)
    assert last is not None
    assert (last.high_watermark, last.last_stable_offset) == (5, 2)


def test_no_answer_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader(refuses=True)
    last, told = asked(leader, tmp_path, monkeypatch)
    assert (last, leader.open) == (None, 0)
    assert [event.text for event in told if isinstance(event, Note)] == [
        "t-0: how far it may be read is not answered: _TIMED_OUT"
    ]


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
    with (
        end_offsets(leader, tmp_path, monkeypatch) as (found, _),
        pytest.raises(WaitTimeout, match=f"t-0 cannot be read to its end under read_committed after 0 s: {said}"),
    ):
        found.wait_stable(Partition("t", 0), timeout_s=0.0)
