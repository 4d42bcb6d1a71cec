"""How long an application takes that is left alone, from tiny histories."""

from __future__ import annotations

import pytest

from analysis.paces import Times, pace
from evidence.events import Paced
from evidence.findings import Pace

MS = 1_000_000
ASKED = Paced(topic="t", partition=0, latency=(20, 23), throughput=(23, 27), output="output", reader="consumer-1")
ACKNOWLEDGED = {at: at * 100 * MS for at in range(20, 23)} | dict.fromkeys(range(23, 27), 3000 * MS)
THERE = {20: 2_010 * MS, 21: 2_120 * MS, 22: 2_230 * MS} | {at: (3_000 + at) * MS for at in range(23, 27)}


def test_latency_is_of_inputs_that_came_slowly_and_throughput_of_those_that_came_at_once() -> None:
    assert pace(ASKED, ACKNOWLEDGED, THERE) == Pace(
        topic="t",
        partition=0,
        seen_by="consumer-1",
        latency_p50_ms=20.0,
        latency_p99_ms=29.8,
        inputs_per_s=round(4 / 0.026, 1),
        timed=(3, 4),
    )


@pytest.mark.parametrize(
    ("acknowledged", "there"),
    [
        ({at: ns for at, ns in ACKNOWLEDGED.items() if at != 21}, THERE),
        (ACKNOWLEDGED, {at: ns for at, ns in THERE.items() if at != 26}),
    ],
)
def test_nothing_is_said_if_an_input_was_not_acknowledged_or_has_no_output(acknowledged: Times, there: Times) -> None:
    assert pace(ASKED, acknowledged, there) is None


def test_an_output_that_is_there_before_its_producer_hears_of_its_input_took_no_time() -> None:
    found = pace(ASKED, ACKNOWLEDGED | {20: 9_000 * MS}, THERE)
    assert found is not None
    assert found.latency_p50_ms == 20.0
