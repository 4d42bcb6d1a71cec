"""Claims about registrations, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Broker, Container, Event, Fault, FaultPhase, Log, Metadata, Partition, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
ZOOKEEPER: dict[str, Any] = {"mode": "zookeeper", "settings": {"zookeeper.session.timeout.ms": "6000"}}
KRAFT: dict[str, Any] = {
    "mode": "kraft",
    "settings": {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "750"},
}
Timed = tuple[float, Event]
LINE = "A broker is already registered on the path /brokers/ids/1"


def docker(action: Any, code: int | None = None) -> Container:
    return Container(node="broker-1", action=action, exit_code=code)


def broker(state: Literal["registered", "gone"]) -> Broker:
    return Broker(source="zookeeper", node="broker-1", state=state, fenced=False if state == "registered" else None)


def fault(kind: str, phase: FaultPhase) -> Fault:
    return Fault(fault_kind=kind, id=f"f-{kind}", phase=phase, target=Target(node="broker-1"), description=kind)


def led_by(leader: int, version: int) -> Partition:
    isr = tuple(range(leader, 4))
    return Partition(
        source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=version, isr=isr, version=version
    )


def judged(
    name: str, *events: Timed, run: dict[str, Any] = ZOOKEEPER, acknowledged: tuple[int, ...] = ()
) -> ClaimResult:
    """The claim on these events, each at its second, with records acknowledged at these seconds."""
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    times = [(second * 1000 * MS, second * 1000 * MS) for second in acknowledged]
    return claims.judge(
        name, RunEvidence(run=run_record(run), run_state=RunState(timed), acknowledged=lambda topic, partition: times)
    )


UP: list[Timed] = [(1, docker("start")), (1, broker("registered")), (1, led_by(1, 0))]
KILLED: list[Timed] = [*UP, (10, fault("kill", "inject")), (10, docker("die", 137)), (10.1, fault("kill", "verified"))]
STOPPED: list[Timed] = [*UP, (10, fault("stop", "inject")), (11, docker("die", 143)), (11.1, fault("stop", "verified"))]
EARLY: list[Timed] = [*KILLED, (11, fault("start", "inject")), (11.1, docker("start"))]
TAKEN: Timed = (12, Log(node="broker-1", event="id-taken", line=LINE))
OLD_ENDS: Timed = (15, broker("gone"))
END: Timed = (30, led_by(2, 1))


@pytest.mark.parametrize(
    ("gone", "run", "outcome"),
    [(15.5, ZOOKEEPER, HELD), (12.5, ZOOKEEPER, CONTRADICTED), (15.5, KRAFT, HELD), (14, KRAFT, CONTRADICTED)],
)
def test_a_killed_broker_stays_registered(gone: float, run: dict[str, Any], outcome: str) -> None:
    assert judged("registration-outlives-broker", *KILLED, (gone, broker("gone")), END, run=run).outcome == outcome


def test_a_registration_whose_end_was_not_seen_shows_nothing() -> None:
    assert judged("registration-outlives-broker", *KILLED).outcome == NOT_OBSERVED
    assert judged("registration-outlives-broker", *STOPPED, (10.5, broker("gone")), END).outcome == NOT_OBSERVED


@pytest.mark.parametrize(("elected", "outcome"), [(15.1, HELD), (14.95, HELD), (12, CONTRADICTED)])
def test_a_killed_leader_leads_on_while_it_is_registered(elected: float, outcome: str) -> None:
    found = judged("leader-kept-while-registered", *KILLED, OLD_ENDS, (elected, led_by(2, 1)))
    assert found.outcome == outcome


def test_a_leader_that_was_not_killed_shows_nothing() -> None:
    assert judged("leader-kept-while-registered", *STOPPED, (10.5, led_by(2, 1)), END).outcome == NOT_OBSERVED


@pytest.mark.parametrize(("gone", "outcome"), [(10.9, HELD), (12.4, HELD), (15, CONTRADICTED)])
def test_a_clean_stop_ends_the_registration(gone: float, outcome: str) -> None:
    assert judged("clean-stop-ends-registration", *STOPPED, (gone, broker("gone")), END).outcome == outcome


def test_a_registration_that_never_ends_is_no_clean_stop() -> None:
    assert judged("clean-stop-ends-registration", *STOPPED, END).outcome == CONTRADICTED
    assert judged("clean-stop-ends-registration", *KILLED, OLD_ENDS, END).outcome == NOT_OBSERVED


REFUSED: list[Timed] = [*EARLY, TAKEN, (13, docker("die", 1)), OLD_ENDS, END]
WAITED: list[Timed] = [*EARLY, TAKEN, OLD_ENDS, (16, broker("registered")), END]
SILENT: list[Timed] = [*EARLY, OLD_ENDS, (16, broker("registered")), END]
LATE: list[Timed] = [*KILLED, (14, broker("gone")), (16, fault("start", "inject")), (17, broker("registered")), END]


@pytest.mark.parametrize(
    ("events", "refused", "waits"),
    [
        (REFUSED, HELD, CONTRADICTED),
        (WAITED, CONTRADICTED, HELD),
        (SILENT, CONTRADICTED, CONTRADICTED),
        ([*EARLY, TAKEN, OLD_ENDS, END], CONTRADICTED, CONTRADICTED),
        (LATE, NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["it ended itself", "it waited", "it took no notice", "nothing came of it", "not early"],
)
def test_a_broker_that_returns_early(events: list[Timed], refused: str, waits: str) -> None:
    assert judged("early-restart-refused", *events).outcome == refused
    assert judged("early-restart-waits", *events).outcome == waits


def double(phase: FaultPhase, **proof: Any) -> Fault:
    return Fault(
        fault_kind="double",
        id="f1",
        phase=phase,
        target=Target(node="double"),
        description="",
        proof=proof_of("double", **proof) if phase == "verified" else None,
    )


TWO: list[Timed] = [*UP, (10, double("inject")), (10.1, double("verified", id=1))]
SAYS: Timed = (12, Log(node="double", event="id-taken", line=LINE))
ENDS: Timed = (13, Container(node="double", action="die", exit_code=1))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*TWO, SAYS, ENDS], HELD),
        ([*TWO, SAYS, END], CONTRADICTED),
        ([*TWO, ENDS], CONTRADICTED),
        ([*UP, ENDS], NOT_OBSERVED),
    ],
    ids=["it ended itself", "it runs on", "it ended for another reason", "there is none"],
)
def test_a_second_broker_is_refused(events: list[Timed], outcome: str) -> None:
    assert judged("duplicate-id-refused", *events).outcome == outcome


AGAIN: list[Timed] = [(11, broker("gone")), (11.5, broker("registered"))]


@pytest.mark.parametrize(
    ("events", "acknowledged", "registration", "partitions"),
    [
        ([*TWO, SAYS, ENDS], (5, 11), HELD, HELD),
        ([*TWO, (11, led_by(2, 1)), SAYS, ENDS], (11,), HELD, CONTRADICTED),
        ([*TWO, *AGAIN, SAYS, ENDS], (11,), CONTRADICTED, HELD),
        ([*TWO, SAYS, ENDS], (5,), HELD, NOT_OBSERVED),
        ([*TWO, SAYS, ENDS, (20, led_by(2, 1))], (11,), HELD, HELD),
        (UP, (11,), NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["undisturbed", "it leads no more", "it registered anew", "nothing was sent", "later does not count", "one"],
)
def test_the_first_one_is_undisturbed(
    events: list[Timed], acknowledged: tuple[int, ...], registration: str, partitions: str
) -> None:
    assert judged("first-broker-keeps-registration", *events, acknowledged=acknowledged).outcome == registration
    assert judged("first-broker-undisturbed", *events, acknowledged=acknowledged).outcome == partitions


def placed(offset: int, *directories: str, topic: str = "t") -> Metadata:
    fields = {"partition_id": 0, "directories": list(directories)}
    return Metadata(type="PARTITION_CHANGE_RECORD", version=0, offset=offset, epoch=1, fields=fields, topic=topic)


@pytest.mark.parametrize(
    ("records", "outcome"),
    [
        ([(11, placed(9, "double's", "b")), (11, led_by(2, 1))], HELD),
        ([(11, placed(9, "a", "b")), (11, led_by(2, 1))], CONTRADICTED),
        ([(11, placed(9, "double's", "b", topic="u")), (11, led_by(2, 1))], CONTRADICTED),
        ([(11, placed(9, "double's", "b"))], CONTRADICTED),
        ([(14, placed(9, "double's", "b")), (14, led_by(2, 1))], CONTRADICTED),
    ],
    ids=["taken", "its own directories", "another topic", "it leads on", "when the second one is gone"],
)
def test_a_second_broker_takes_directories(records: list[Timed], outcome: str) -> None:
    known: list[Timed] = [
        (1, record("REGISTER_BROKER_RECORD", number, broker_epoch=number, incarnation_id=name, log_dirs=[name]))
        for number, name in ((5, "a"), (6, "b"))
    ]
    found = judged("duplicate-takes-directories", *TWO, *known, *records, SAYS, ENDS, run=KRAFT)
    assert found.outcome == outcome
    assert judged("duplicate-takes-directories", *UP, *known, *records, run=KRAFT).outcome == NOT_OBSERVED


def record(type_: str, offset: int, **fields: Any) -> Metadata:
    return Metadata(type=type_, version=0, offset=offset, epoch=1, fields={"broker_id": 1, **fields})


def registered(offset: int, incarnation: str, epoch: int | None = None) -> Metadata:
    said = offset if epoch is None else epoch
    return record("REGISTER_BROKER_RECORD", offset, incarnation_id=incarnation, broker_epoch=said, fenced=True)


def change(offset: int, fenced: int) -> Metadata:
    return record("BROKER_REGISTRATION_CHANGE_RECORD", offset, broker_epoch=5, fenced=fenced)


FIRST: list[Timed] = [(1, registered(5, "a")), (2, change(6, -1))]


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*FIRST, (8, change(7, 1)), (9, registered(8, "b"))], HELD),
        ([*FIRST, (9, registered(8, "b"))], CONTRADICTED),
        ([*FIRST, *EARLY, (14, registered(8, "b"))], CONTRADICTED),
        ([*FIRST, *EARLY, (15.5, registered(8, "b"))], HELD),
        ([*FIRST, *EARLY, (15.5, registered(8, "a"))], CONTRADICTED),
        ([*FIRST, (8, change(7, 1)), (9, registered(8, "a"))], CONTRADICTED),
        ([*FIRST, (8, change(7, 1)), (9, registered(8, "b", epoch=5))], CONTRADICTED),
        ([*FIRST, (8, change(7, 1)), (9, registered(9, "b", epoch=8))], HELD),
        ([*FIRST, (8, change(7, 1)), (9, registered(8, "b", epoch=9))], CONTRADICTED),
        (FIRST, NOT_OBSERVED),
        ([*FIRST, (9, registered(8, "a", epoch=5))], NOT_OBSERVED),
    ],
    ids=[
        "fenced first",
        "while the old one lives",
        "while its session lasts",
        "when its session is over",
        "the same when its session is over",
        "the same incarnation",
        "the same epoch",
        "written with others",
        "a later epoch",
        "once",
        "said again",
    ],
)
def test_each_registration_is_an_incarnation_of_its_own(events: list[Timed], outcome: str) -> None:
    assert judged("one-incarnation-at-a-time", *events, run=KRAFT).outcome == outcome
