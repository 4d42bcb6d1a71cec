"""Claims about brokers' ids, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Final

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Broker, Container, End, Event, Fault, Target
from evidence.faults.base import FaultProof
from evidence.faults.process import ExitProof, StartProof
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

Timed = tuple[float, Event]
SETTINGS: Final = {"reserved.broker.max.id": "3", "4:broker.id": "-1"}


def node(number: int) -> Timed:
    return (0.5, Container(node=f"broker-{number}", action="start"))


def registers(second: float, number: int) -> Timed:
    return (second, Broker(source="zookeeper", node=f"broker-{number}", state="registered", fenced=False))


def fault(second: float, kind: str, proof: FaultProof, number: int = 4) -> list[Timed]:
    about = {"fault_kind": kind, "id": f"f{second}", "target": Target(node=f"broker-{number}"), "description": kind}
    return [
        (second, Fault(phase="inject", **about)),  # type: ignore[arg-type]
        (second + 0.1, Fault(phase="verified", proof=proof, **about)),  # type: ignore[arg-type]
    ]


def start(second: float, broker_id: str | None = None) -> list[Timed]:
    settings = None if broker_id is None else {"broker.id": broker_id}
    return fault(second, "start", StartProof(pid=1, time_nano=1, settings=settings))


def ends(second: float) -> list[Timed]:
    return fault(second, "exit", ExitProof(exit_code=1, time_nano=1, line="InconsistentBrokerIdException"))


def outcome(name: str, *events: Timed, settings: dict[str, str] | None = None) -> str:
    every = sorted([*map(node, (1, 2, 3, 4)), *events, (60.0, End(run="r", lines=9))], key=lambda one: one[0])
    told = tuple(at(int(second * 1e9), event) for second, event in every)
    run = run_record({"settings": SETTINGS if settings is None else settings})
    return claims.judge(name, RunEvidence(run=run, run_state=RunState(told))).outcome


@pytest.mark.parametrize(
    ("events", "settings", "expected"),
    [
        ([registers(1, 1), registers(2, 4), registers(9, 4)], None, HELD),
        ([registers(1, 1)], None, NOT_OBSERVED),
        ([registers(1, 1), registers(2, 4)], {"reserved.broker.max.id": "3"}, NOT_OBSERVED),
        ([registers(2, 4)], {"reserved.broker.max.id": "4", "4:broker.id": "-1"}, CONTRADICTED),
        ([registers(2, 4)], {"4:broker.id": "-1"}, CONTRADICTED),
        ([registers(2, 4), registers(9, 5)], None, CONTRADICTED),
    ],
    ids=["generated and kept", "never there", "configured", "reserved", "reserved by default", "another one later"],
)
def test_generated_ids(events: list[Timed], settings: dict[str, str] | None, expected: str) -> None:
    assert outcome("broker-id-generated", *events, settings=settings) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*start(10, "5"), *ends(12), *start(20, "-1"), registers(22, 4)], HELD),
        ([*start(10, "5"), *ends(12)], HELD),
        ([*start(10, "5"), registers(12, 5)], CONTRADICTED),
        ([*start(10, "5"), registers(12, 4), *ends(13)], CONTRADICTED),
        ([*start(10, "5"), *start(20), *ends(22)], CONTRADICTED),
        ([*start(10), registers(12, 4)], NOT_OBSERVED),
        ([*start(10, "4"), registers(12, 4)], NOT_OBSERVED),
        ([*start(10, "-1"), registers(12, 4)], NOT_OBSERVED),
    ],
    ids=["refused", "refused and left", "registers", "registers first", "ends later", "none", "its own", "unset"],
)
def test_an_id_that_is_not_the_directorys(events: list[Timed], expected: str) -> None:
    assert outcome("other-broker-id-refused", *events) == expected
