"""The clients' lane: how sends share a label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from evidence.run_state import Sent
from judgement.report.facts import JudgedRun
from judgement.report.timeline_svg.clients import MOST, _burst_label, bursts
from judgement.report.timeline_svg.drawing import Scale

SCALE = Scale(0.0, 100.0)


class Clock:
    """All that is asked of a run here."""

    def at(self, ns: int) -> float:
        return ns / 1e9


FACTS = cast(JudgedRun, cast(Any, Clock()))


def sends(count: int, partitions: int) -> list[Sent]:
    """Sends of one producer, one right after the other, to so many partitions in turn."""
    return [
        Sent(
            process="producer-1",
            topic="t",
            partition=number % partitions,
            producer=1,
            sequence=number,
            acks="all",
            sent_ns=number * 1_000_000,
            done_ns=number * 1_000_000 + 1,
            outcome="acked",
            offset=number // partitions,
        )
        for number in range(count)
    ]


def labels(count: int, partitions: int) -> list[str]:
    return [_burst_label(burst, False, False) for burst in bursts(FACTS, SCALE, sends(count, partitions), set())]


def test_sends_to_one_partition_share_a_label_and_those_to_two_do_not() -> None:
    assert labels(3, 1) == ["m0–2 @0–2"]
    assert labels(4, 2) == ["m0 @0", "m1 @0", "m2 @1", "m3 @1"]


def test_a_hundred_sends_to_thirty_partitions_are_one_label() -> None:
    assert labels(MOST, MOST) == [f"m{number} @0" for number in range(MOST)]
    assert labels(100, 30) == ["m0–99 to 30 partitions"]


def test_many_sends_of_two_producers_in_turn_are_one_label_each() -> None:
    """As records of two loads that a loss of power took: in a report they had a line for each change of producer."""
    both = [
        replace(send, process=f"producer-{1 + number % 2}", producer=1 + number % 2, sequence=number // 2)
        for number, send in enumerate(sends(200, 1))
    ]
    told = [_burst_label(burst, True, True) for burst in bursts(FACTS, SCALE, both, {send.key for send in both})]
    assert told == ["producer-1:m0–99 @0–198 acked, then lost", "producer-2:m0–99 @1–199 acked, then lost"]
    assert len(bursts(FACTS, SCALE, both[:MOST], set())) == MOST
