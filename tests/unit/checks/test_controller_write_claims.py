"""Claims about how a controller writes itself down, on what ZooKeeper's log may have."""

from __future__ import annotations

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import ControllerWritten
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

ONE, TWO = "controller-and-epoch-in-one-transaction", "controller-and-epoch-in-two-writes"


@pytest.mark.parametrize(
    ("writes", "one", "two"),
    [
        ([(5, 5), (9, 9)], HELD, CONTRADICTED),
        ([(5, 6), (9, 11)], CONTRADICTED, HELD),
        ([(5, 5), (9, 10)], CONTRADICTED, CONTRADICTED),
        ([], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["together", "apart", "either", "none"],
)
def test_writes_of_controllers(writes: list[tuple[int, int]], one: str, two: str) -> None:
    told = (
        ControllerWritten(node="broker-1", epoch=number, controller_zxid=first, epoch_zxid=second)
        for number, (first, second) in enumerate(writes, start=1)
    )
    evidence = RunEvidence(run=run_record({}), run_state=RunState(tuple(at(n, event) for n, event in enumerate(told))))
    assert (claims.judge(ONE, evidence).outcome, claims.judge(TWO, evidence).outcome) == (one, two)
