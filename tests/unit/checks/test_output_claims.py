"""The outputs of an application as others read them: claims on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from checks import claims
from checks.claim import Processing
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.checks.test_crash_claims import stands

IN_ORDER = "outputs-keep-order-of-inputs"
MEANWHILE = "reader-meanwhile-gets-each-input-once"
Given = Sequence[int | None]


def judged(name: str, order: Sequence[int], given: Given = (), events: Sequence[Event] = (stands(2),)) -> str:
    seen = Processing(inputs=frozenset(range(4)), outputs=dict.fromkeys(order, (1,)), order=order)
    evidence = RunEvidence(
        run=run_record({}),
        run_state=RunState(tuple(events)),
        processing=lambda topic, partition: seen,
        read_meanwhile=lambda topic, partition: {"consumer-1": given} if given else {},
    )
    return claims.judge(name, evidence).outcome


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        ([0, 1, 2, 3], HELD),
        # Skipped, and processed twice, is another matter.
        ([0, 1, 1, 3], HELD),
        ([0, 2, 1, 3], CONTRADICTED),
        ([0, 1, 2, 0], CONTRADICTED),
        ([], NOT_OBSERVED),
    ],
)
def test_outputs_lie_in_the_order_of_their_inputs(order: Sequence[int], outcome: str) -> None:
    assert judged(IN_ORDER, order) == outcome


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ([0, 1, 2, 3], HELD),
        # It was not given one that the last reader was given.
        ([0, 1, 3], CONTRADICTED),
        ([0, 1, 2, 2, 3], CONTRADICTED),
        ([0, 2, 1, 3], CONTRADICTED),
        # It was given one that was aborted.
        ([0, 1, None, 2, 3], CONTRADICTED),
        ([], NOT_OBSERVED),
    ],
)
def test_a_reader_meanwhile_is_given_what_the_last_one_finds(given: Given, outcome: str) -> None:
    assert judged(MEANWHILE, [0, 1, 2, 3], given) == outcome


def test_without_an_application_at_a_crash_point_nothing_is_said() -> None:
    assert judged(IN_ORDER, [1, 0], events=()) == judged(MEANWHILE, [1, 0], [1, 0], events=()) == NOT_OBSERVED
