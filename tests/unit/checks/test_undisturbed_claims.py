"""Leaders stay, and the ISR stays whole: on histories that show it, contradict it, or neither."""

from __future__ import annotations

import pytest
from msgspec import structs

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event
from tests.records import run_record
from tests.unit.checks.test_availability_anomalies import fault, run_state_of, still, well
from tests.unit.checks.test_spontaneous import STEADY, led, registered

RUN = run_record(topics=[{"name": "t", "partitions": {"0": [1, 2, 3]}}], settings=STEADY)
LEADERS, ISR = "leaders-stay", "isr-stays-whole"
UP = well("broker-1", "broker-2", "broker-3")


def outcome(name: str, *events: Event) -> str:
    return claims.judge(name, RunEvidence(run=RUN, run_state=run_state_of(*UP, *events))).outcome


@pytest.mark.parametrize(
    ("events", "leaders", "isr"),
    [
        ([led(2, 1, (1, 2, 3)), led(3, 1, (1, 2, 3))], HELD, HELD),
        ([led(2, 1, (1,)), led(3, 1, (1, 2)), led(4, 1, (1, 2, 3))], HELD, HELD),
        ([led(2, 1, (1, 2, 3)), led(30, 2, (1, 2, 3), 1)], CONTRADICTED, HELD),
        ([led(2, 1, (1, 2, 3)), led(30, 1, (1, 2, 3), 1)], CONTRADICTED, HELD),
        ([led(2, 1, (1, 2, 3)), led(30, 1, (1, 3))], HELD, CONTRADICTED),
        ([led(2, 1, (1, 2, 3)), led(30, 1, (1, 3)), led(31, 1, (1, 2, 3))], HELD, CONTRADICTED),
        ([led(2, 1, (1, 2, 3)), led(30, 1, (1, 3), 1)], CONTRADICTED, CONTRADICTED),
        ([led(2, 1, (1, 2))], HELD, NOT_OBSERVED),
        ([], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=[
        "nothing happens",
        "replicas come in sync",
        "another leads",
        "it leads in another epoch",
        "a follower leaves the ISR",
        "and is back",
        "and the epoch rises with it",
        "one never was in sync",
        "nothing was stated",
    ],
)
def test_what_stays(events: list[Event], leaders: str, isr: str) -> None:
    assert (outcome(LEADERS, *events), outcome(ISR, *events)) == (leaders, isr)


def test_one_partition_says_nothing_of_another_one() -> None:
    both = structs.replace(
        RUN, topics=run_record(topics=[{"name": "t", "partitions": {"0": [1, 2, 3], "1": [2, 3, 1]}}]).topics
    )

    def outcome_of_both(name: str, *events: Event) -> str:
        return claims.judge(name, RunEvidence(run=both, run_state=run_state_of(*UP, *events))).outcome

    steady = [led(2, 1, (1, 2, 3))]
    assert {outcome_of_both(name, *steady) for name in (LEADERS, ISR)} == {NOT_OBSERVED}
    assert outcome_of_both(LEADERS, *steady, led(30, 2, (1, 2, 3), 1)) == CONTRADICTED
    assert outcome_of_both(ISR, *steady, led(30, 1, (1, 3))) == CONTRADICTED


def test_a_fault_is_no_reason() -> None:
    frozen = [fault(28, "inject", "freeze", "broker-1"), fault(29, "verified", "freeze", "broker-1")]
    assert outcome(LEADERS, led(2, 1, (1, 2, 3)), *frozen, led(30, 2, (1, 2, 3), 1)) == CONTRADICTED


def test_what_the_machine_may_have_done_shows_nothing() -> None:
    elected = [led(2, 1, (1, 2, 3)), still(28), registered(30, "broker-1", "fenced"), led(30, 2, (1, 2, 3), 1)]
    assert outcome(LEADERS, *elected) == NOT_OBSERVED
    assert outcome(LEADERS, *elected, led(60, 3, (1, 2, 3), 2)) == CONTRADICTED
    shrunk = [led(2, 1, (1, 2, 3)), still(24), still(26), still(28), led(30, 1, (1, 3))]
    assert (outcome(ISR, *shrunk), outcome(ISR, *shrunk[:1], *shrunk[2:])) == (NOT_OBSERVED, CONTRADICTED)


def test_whoever_leads_after_the_machine_has_taken_the_leader_away_shows_nothing() -> None:
    begun, ended, back = led(2, 1, (1, 2, 3)), led(60, -1, (1,), 1), led(61, 1, (1,), 2)
    stood = [still(second) for second in range(52, 60, 2)]
    grown = led(63, 1, (1, 2, 3), 2)
    assert [outcome(name, begun, *stood, ended, back, grown) for name in (LEADERS, ISR)] == [NOT_OBSERVED] * 2
    assert outcome(LEADERS, begun, *stood, ended, led(60.5, -1, (1, 2), 1), back, grown) == NOT_OBSERVED
    # It lost its leader for no reason, or has lost it once more.
    assert outcome(LEADERS, begun, ended, back, grown) == CONTRADICTED
    assert outcome(LEADERS, begun, *stood, ended, back, grown, led(90, 2, (1, 2, 3), 3)) == CONTRADICTED
