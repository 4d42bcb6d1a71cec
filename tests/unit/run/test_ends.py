"""Asking how far a partition may be read: what readers of everything are told, and readers of what is committed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.events import EndsAnswer, Event, Note
from evidence.timeline import Timeline
from harness.run import ends
from harness.run.ends import EndOffsets
from harness.run.sequence_log import SequenceLog
from harness.run.who import Partition


class Leader:
    """Answers 5 to everybody, but 2 to readers under read_committed; with `refuses` nobody."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses, self.open = refuses, 0

    def __call__(self, settings: dict[str, Any]) -> Any:
        self.open += 1
        end = {"read_committed": 2, "read_uncommitted": 5}[settings["isolation.level"]]

        def bounds(place: TopicPartition, timeout: float) -> tuple[int, int]:
            assert (place.topic, place.partition, timeout) == ("t", 0, ends.ASK_S)
            if self.refuses:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            return 0, end

        return SimpleNamespace(get_watermark_offsets=bounds, close=self.close)

    def close(self) -> None:
        self.open -= 1


def asked(leader: Leader, root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[EndsAnswer | None, list[Event]]:
    monkeypatch.setattr(ends, "Consumer", leader)
    told: list[Event] = []
    with Timeline(root / "timeline.jsonl") as timeline:
        timeline.listen(told.append)
        parts: Any = SimpleNamespace(
            timeline=timeline,
            cluster=SimpleNamespace(bootstrap="10.0.0.11:9092"),
            version=SimpleNamespace(client_settings={}),
        )
        return EndOffsets(parts, SequenceLog(timeline)).watch_ends(Partition("t", 0), 0.0), told


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
