"""Claims about how a controller writes itself down, on what ZooKeeper's log may have."""

from __future__ import annotations

import pytest
from msgspec import structs

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import (
    Broker,
    Controller,
    ControllerWritten,
    CreationRefused,
    End,
    Event,
    Log,
    LogKind,
    Partition,
)
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


def line(second: float, node: str, kind: LogKind) -> tuple[float, Event]:
    return (second, Log(node=node, event=kind, line=""))


LIVE: list[tuple[float, Event]] = [
    *((0.0, Broker(source="zookeeper", node=f"broker-{n}", state="registered", fenced=False)) for n in (1, 2, 3, 4)),
    (0.1, ControllerWritten(node="broker-1", epoch=1, controller_zxid=5, epoch_zxid=5)),
    (0.2, line(0.2, "broker-2", "controller-found")[1]),
    (9.0, Broker(source="zookeeper", node="broker-1", state="gone")),
    (9.1, ControllerWritten(node="broker-2", epoch=2, controller_zxid=50, epoch_zxid=50)),
    (20.0, End(run="r", lines=9)),
]
FOUND, REFUSED = line(9.2, "broker-3", "controller-found"), line(9.2, "broker-4", "controller-refused")
BY_ZOOKEEPER = (9.15, CreationRefused(node="broker-4", controller_zxid=50, zxid=51))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([FOUND, REFUSED, BY_ZOOKEEPER], HELD),
        ([FOUND, REFUSED], CONTRADICTED),
        ([FOUND, REFUSED, (9.15, CreationRefused(node="broker-4", controller_zxid=5, zxid=6))], CONTRADICTED),
        ([REFUSED, BY_ZOOKEEPER], CONTRADICTED),
        ([line(8.5, "broker-3", "controller-found"), REFUSED, BY_ZOOKEEPER], CONTRADICTED),
        ([FOUND, line(9.05, "broker-4", "controller-found")], HELD),
        ([FOUND, (9.05, Broker(source="zookeeper", node="broker-4", state="gone"))], HELD),
    ],
    ids=[
        "found and refused",
        "not refused by ZooKeeper",
        "refused earlier",
        "one says nothing",
        "said earlier",
        "clocks that differ",
        "one is gone",
    ],
)
def test_who_goes_to_create_the_controllers_znode(events: list[tuple[float, Event]], outcome: str) -> None:
    timed = sorted([*LIVE, *events, (12.0, line(12.0, "broker-1", "controller-found")[1])], key=lambda one: one[0])
    told = tuple(at(int(second * 1e9), event) for second, event in timed)
    evidence = RunEvidence(run=run_record({}), run_state=RunState(told))
    assert claims.judge("one-broker-creates-controller-znode", evidence).outcome == outcome


@pytest.mark.parametrize(
    ("release", "events", "outcome"),
    [
        ("0.10.2.2", [REFUSED, BY_ZOOKEEPER], CONTRADICTED),
        ("0.11.0.3", [REFUSED, BY_ZOOKEEPER], HELD),
        ("1.0.2", [REFUSED], CONTRADICTED),
        ("1.0.2", [], NOT_OBSERVED),
        ("1.1.1", [REFUSED, BY_ZOOKEEPER], CONTRADICTED),
    ],
)
def test_a_broker_may_learn_of_a_controller_without_a_line(
    release: str, events: list[tuple[float, Event]], outcome: str
) -> None:
    told = tuple(at(int(second * 1e9), event) for second, event in sorted([*LIVE, *events], key=lambda one: one[0]))
    evidence = RunEvidence(run=structs.replace(run_record({}), kafka=release), run_state=RunState(told))
    assert claims.judge("one-broker-creates-controller-znode", evidence).outcome == outcome


def test_without_their_lines_nothing_is_known_of_the_others() -> None:
    told = tuple(at(int(second * 1e9), event) for second, event in LIVE if not isinstance(event, Log))
    evidence = RunEvidence(run=run_record({}), run_state=RunState(told))
    assert claims.judge("one-broker-creates-controller-znode", evidence).outcome == NOT_OBSERVED


LEAVES, FENCED = "replaced-controller-leaves-newer-state", "replaced-controller-is-fenced"
WRITES = "replaced-controller-still-writes"
OFFICES: list[tuple[float, Event]] = [
    (1.0, Controller(source="zookeeper", node="broker-4", epoch=1)),
    (9.0, Controller(source="zookeeper", node="broker-3", epoch=2)),
]


def state(second: float, epoch: int, *isr: int) -> tuple[float, Event]:
    about: dict[str, int | str] = {"topic": "t", "partition": 0, "leader": 1, "leader_epoch": 0}
    return (second, Partition(source="zookeeper", isr=isr, controller_epoch=epoch, **about))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "events", "outcome"),
    [
        (LEAVES, [line(10, "broker-4", "controller-moved")], HELD),
        (LEAVES, [line(10, "broker-4", "controller-moved"), state(9.5, 2, 1), state(11, 1, 1)], CONTRADICTED),
        (LEAVES, [line(8, "broker-4", "controller-moved")], NOT_OBSERVED),
        (LEAVES, [line(10, "broker-2", "controller-moved")], NOT_OBSERVED),
        (LEAVES, [line(10, "broker-4", "controller-fenced")], NOT_OBSERVED),
        (FENCED, [line(10, "broker-4", "controller-fenced")], HELD),
        (FENCED, [line(10, "broker-4", "controller-fenced"), state(2, 1, 1, 2), state(11, 2, 1)], HELD),
        (FENCED, [line(10, "broker-4", "controller-fenced"), state(2, 1, 1, 2), state(11, 1, 1)], CONTRADICTED),
        (FENCED, [line(10, "broker-4", "controller-moved")], NOT_OBSERVED),
        (WRITES, [line(10, "broker-4", "controller-moved"), state(2, 1, 1, 2), state(11, 1, 1)], HELD),
        (WRITES, [line(10, "broker-4", "controller-moved"), state(2, 1, 1, 2), state(11, 2, 1)], CONTRADICTED),
        (WRITES, [state(2, 1, 1, 2), state(11, 1, 1)], NOT_OBSERVED),
    ],
    ids=[
        "left",
        "it writes all the same",
        "in its own term",
        "never the controller",
        "another line",
        "fenced",
        "the new one writes",
        "the old one writes",
        "not fenced",
        "it still writes",
        "the new one writes",
        "it did not act",
    ],
)
def test_what_a_replaced_controller_may_do(name: str, events: list[tuple[float, Event]], outcome: str) -> None:
    timed = sorted([*OFFICES, *events, (20.0, End(run="r", lines=9))], key=lambda one: one[0])
    told = tuple(at(int(second * 1e9), event) for second, event in timed)
    assert claims.judge(name, RunEvidence(run=run_record({}), run_state=RunState(told))).outcome == outcome
