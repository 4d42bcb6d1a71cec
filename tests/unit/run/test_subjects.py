"""The words for subjects, on stages."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.errors import HarnessError, WaitTimeout
from harness.run.record import GrowingRecord
from harness.run.subjects import Placed, Subjects
from harness.run.who import Partition
from harness.subjects import NOTHING_STATED, Producer, Subject, Topic
from tests.records import run_record


class ProducerPool:
    """Notes whom it was told to stream to; a dead one is told of the end in vain."""

    def __init__(self, *, dies: bool = False) -> None:
        self.streams: list[tuple[list[Any], float]] = []
        self._dies = dies

    def stream(self, to: list[Any], rate_per_s: float) -> None:
        self.streams.append((to, rate_per_s))
        if self._dies and not to:
            raise HarnessError("it has ended")


def a_stage(pool: ProducerPool) -> Subjects:
    made = object.__new__(Subjects)
    made._run = cast("Any", SimpleNamespace(step=lambda *_, **__: nullcontext()))
    subject = Subject(producer=Producer(client="java", acks="1"), topic=Topic(), stated=NOTHING_STATED)
    record = GrowingRecord(run_record(subjects=[{"expected_loss": []}]))
    made.all = [Placed(subject, Partition("rf3-min1", 0), cast("Any", pool), 0, "producer-1", record)]
    return made


def test_a_stream_lasts_as_long_as_its_block() -> None:
    pool = ProducerPool()
    subjects = a_stage(pool)
    with subjects.streaming(10.0, expected_loss=lambda _: True):
        assert pool.streams == [([(0, "rf3-min1", 0)], 10.0)]
    assert pool.streams[1:] == [([], 0.0)]
    assert subjects.all[0].recorded.expected_loss is None


@pytest.mark.parametrize("dies", [False, True])
def test_a_sequence_that_fails_ends_its_streams_and_is_told_of_itself(dies: bool) -> None:
    pool = ProducerPool(dies=dies)
    with pytest.raises(WaitTimeout, match="not 15 more"), a_stage(pool).streaming(10.0):
        raise WaitTimeout("not 15 more acknowledged")
    assert pool.streams[-1] == ([], 0.0)


@pytest.mark.parametrize(("mark", "whole"), [(10, True), (9, False)])
def test_records_are_replicated_when_the_leaders_high_watermark_is_behind_them(mark: int, whole: bool) -> None:
    asked: list[tuple[str, bool, str]] = []
    subjects = a_stage(ProducerPool())
    subjects._run = cast(
        "Any",
        SimpleNamespace(
            log_end_and_high_watermark=lambda _target, _t: (10, mark),
            wait_files=lambda what, test, describe, _limit: asked.append((what, test(), describe())),
        ),
    )
    leader = cast("Any", SimpleNamespace(node=SimpleNamespace(name="broker-2")))
    subjects.wait_replicated(10, leader)
    told = {} if whole else {"rf3-min1-0": 9}
    assert asked == [("the high watermarks of 1 subjects are 10 on broker-2", whole, str(told))]
