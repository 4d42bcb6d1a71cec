"""What a fenced producer is told: claims on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Literal

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Transaction, TransactionPhase
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

FIRST, SECOND = "producer-1", "producer-2"
PRODUCER_FENCED, INVALID_EPOCH, BY_CLIENT = (
    f"fenced-commit-told-{what}" for what in ("producer-fenced", "invalid-epoch", "by-client")
)


def step(second: int, process: str, phase: TransactionPhase, error: str | None = None) -> Transaction:
    outcome: Literal["ok", "info"] = "info" if error else "ok"
    return at(second, Transaction(process=process, phase=phase, transaction=0, outcome=outcome, error=error))


def judged(name: str, *steps: Transaction, ids: tuple[str, str] = ("one", "one")) -> str:
    settings = [{"transactional.id": own} for own in ids]
    processes = [{"name": FIRST, "settings": settings[0]}, {"name": SECOND, "settings": settings[1]}]
    run = run_record({"processes": processes})
    return claims.judge(name, RunEvidence(run=run, run_state=RunState(steps))).outcome


def fenced(error: str | None) -> tuple[Transaction, ...]:
    return step(1, FIRST, "begin"), step(2, SECOND, "begin"), step(3, FIRST, "commit", error)


@pytest.mark.parametrize(
    ("name", "error", "outcome"),
    [
        (PRODUCER_FENCED, "PRODUCER_FENCED", HELD),
        (PRODUCER_FENCED, "INVALID_PRODUCER_EPOCH", CONTRADICTED),
        (PRODUCER_FENCED, None, CONTRADICTED),
        (INVALID_EPOCH, "INVALID_PRODUCER_EPOCH", HELD),
        (INVALID_EPOCH, "PRODUCER_FENCED", CONTRADICTED),
        (INVALID_EPOCH, None, CONTRADICTED),
        (BY_CLIENT, "_FENCED", HELD),
        (BY_CLIENT, "KafkaException", HELD),
        (BY_CLIENT, "_TIMED_OUT", CONTRADICTED),
        (BY_CLIENT, None, CONTRADICTED),
    ],
)
def test_a_fenced_producer_is_told_one_error(name: str, error: str | None, outcome: str) -> None:
    assert judged(name, *fenced(error)) == outcome


@pytest.mark.parametrize("name", [PRODUCER_FENCED, INVALID_EPOCH, BY_CLIENT])
def test_nothing_is_said_of_a_producer_that_nobody_fenced(name: str) -> None:
    assert judged(name, *fenced("_TIMED_OUT"), ids=("one", "other")) == NOT_OBSERVED
    # The other one had begun before, or could not begin, or the first one began anew.
    assert judged(name, step(1, SECOND, "begin"), step(2, FIRST, "begin"), step(3, FIRST, "commit")) == NOT_OBSERVED
    begun = step(1, FIRST, "begin"), step(2, SECOND, "begin", "_TIMED_OUT"), step(3, FIRST, "commit")
    assert judged(name, *begun) == NOT_OBSERVED
    assert judged(name, step(1, FIRST, "begin"), step(3, FIRST, "commit")) == NOT_OBSERVED
