"""Waits for what a node has logged: which lines count, and what is said when they do not come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from evidence.errors import WaitTimeout
from evidence.timeline import Timeline
from harness.cluster.state import ClusterState, PartitionState
from harness.run.sequence_log import SequenceLog
from harness.run.waits import Waits
from harness.run.who import Partition, Target

T = Partition("t", 0)


class Node:
    name, id = "broker-1", 1

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    def said(self) -> str:
        return self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]


class Observer:
    state = ClusterState(partitions={T: PartitionState(leader=1, leader_epoch=0, isr=(1, 3))})

    def wait(self, predicate: Any, *, what: str, timeout_s: float) -> ClusterState:
        assert predicate(self.state), what
        return self.state


class Who:
    def __init__(self, leader: Target) -> None:
        self._leader = leader

    def leader_of(self, _: Partition) -> Target:
        return self._leader


Made = Callable[..., tuple[Waits, list[Target]]]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    with Timeline(tmp_path / "timeline.jsonl") as timeline:

        def make(node: Node, *, by_request: bool = True) -> tuple[Waits, list[Target]]:
            one, three = Target("", cast("Any", node)), Target("", cast("Any", Third()))
            who = cast("Any", Who(one))
            waits = Waits(cast("Any", Observer()), who, SequenceLog(timeline), alters_by_request=by_request)
            return waits, [one, three]

        yield make


class Third:
    name, id = "broker-3", 3


UPDATED = "[2026-11-22] INFO [Partition t-0 broker=1] ISR updated to"
TOLD = "INFO [Broker id=1] Skipped the become-leader state change for t-0 with topic id Some(x), (replicas="


@pytest.mark.parametrize(
    "line",
    [
        f"{UPDATED} 1,3  and version updated to 2",
        f"{UPDATED} 3,1 and version updated to [2]",
        f"{TOLD}[1, 2, 3], isr=[1, 3], elr=[])",
        f"{UPDATED} 1 (under-min-isr) and version updated to 1\n{UPDATED} 1,3  and version updated to 2",
        "INFO Leader t-0 with topic id Some(x) starts at leader epoch 0 with high watermark 0, ISR [1,3], adding []",
    ],
    ids=["it is answered", "in other words", "it is told before", "the last word counts", "it begins to lead"],
)
def test_a_leader_that_asks_the_controller_says_when_it_goes_by_the_isr(line: str, made: Made) -> None:
    waits, isr = made(Node("nothing yet", line))
    waits.wait_leader_knows_isr(T, isr)


@pytest.mark.parametrize(
    "line",
    [
        f"{UPDATED} 1,3,2  and version",
        f"{UPDATED} 1 (under-min-isr)",
        f"{UPDATED} 1,3  and version updated to 2\n{TOLD}[1, 2, 3], isr=[1], elr=[])",
        "[Partition t-0 broker=3] ISR updated to 1,3  and version",
        "[Partition t-01 broker=1] ISR updated to 1,3  and version",
        f"{TOLD.replace('t-0', 't-01')}[1, 2, 3], isr=[1, 3], elr=[])",
        "",
    ],
    ids=["more", "fewer", "no longer", "another broker's word", "another partition's", "told of another", "nothing"],
)
def test_another_line_is_not_the_leaders_word(line: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.run.waits.LOG_LIMIT_S", 0.0)
    waits, isr = made(Node(line))
    with pytest.raises(WaitTimeout, match="broker-1 goes by other ISRs after 0 s: t-0"):
        waits.wait_leader_knows_isr(T, isr)


def test_a_leader_that_writes_its_isr_itself_need_not_say_so(made: Made) -> None:
    waits, isr = made(Node("nothing"), by_request=False)
    waits.wait_leader_knows_isr(T, isr)


def test_lines_that_do_not_come_are_named(made: Made) -> None:
    waits, (one, _) = made(Node("here is a"))
    with pytest.raises(WaitTimeout, match="broker-1 did not log it of b in 0 s; its last lines:\nhere is a"):
        waits.wait_log_lines(one, {"a": "is a", "b": "is b"}, "it", timeout_s=0.0)
