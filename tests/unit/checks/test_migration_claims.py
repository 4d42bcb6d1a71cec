"""The claim that metadata migrated to KRaft, on histories that show it, contradict it, or say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Broker, Controller, Event, Fault, Log, Note, Target, Znode
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

Timed = tuple[int, Event]


def judged(*events: Timed, claim: str = "metadata-migrated-to-kraft") -> ClaimResult:
    timed = [at(second * 10**9, event) for second, event in sorted(events, key=lambda one: one[0])]
    return claims.judge(claim, RunEvidence(run=run_record({}), run_state=RunState(tuple(timed))))


def registered(node: str) -> Timed:
    return 1, Broker(source="zookeeper", node=node, state="registered", fenced=False)


def restarted(second: int, node: str, switch: str | None = "true") -> list[Timed]:
    about: dict[str, Any] = {
        "fault_kind": "start",
        "id": f"{node} {second}",
        "target": Target(node=node),
        "description": "start",
    }
    settings = None if switch is None else {"zookeeper.metadata.migration.enable": switch}
    proof = proof_of("start", settings=settings)
    return [(second, Fault(**about, phase="inject")), (second + 1, Fault(**about, phase="verified", proof=proof))]


def controller(second: int, node: str, epoch: int) -> Timed:
    return second, Controller(source="zookeeper", node=node, epoch=epoch)


def kept(second: int, offset: int = 41, number: int = 100) -> Timed:
    return second, Znode(path="/migration", content={"kraft_controller_id": number, "kraft_metadata_offset": offset})


LINE: Timed = (20, Log(node="controller-100", event="migrated", line="Completed migration of metadata"))
END: Timed = (40, Note(text="the end"))
CLUSTER: list[Timed] = [registered("broker-1"), registered("broker-2"), controller(2, "broker-1", 1)]
RESTARTS: list[Timed] = [*restarted(5, "broker-2"), *restarted(10, "broker-1")]
TAKEN_OVER: list[Timed] = [controller(19, "controller-100", 2), kept(19, -1), kept(21)]


def test_a_migration_that_all_bear_out() -> None:
    found = judged(*CLUSTER, *RESTARTS, *TAKEN_OVER, LINE, END)
    assert (found.outcome, found.observed) == (HELD, "1 migration completed")


def test_a_broker_that_is_down_at_that_moment_is_not_waited_for() -> None:
    down: list[Timed] = [
        registered("broker-3"),
        (15, Broker(source="zookeeper", node="broker-3", state="gone")),
        *restarted(25, "broker-3"),
        (30, Broker(source="zookeeper", node="broker-3", state="registered", fenced=False)),
    ]
    assert judged(*CLUSTER, *RESTARTS, *down, *TAKEN_OVER, LINE, END).outcome == HELD
    assert judged(*CLUSTER, *RESTARTS, down[0], *down[2:], *TAKEN_OVER, LINE, END).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    "events",
    [
        [*CLUSTER, *RESTARTS, *TAKEN_OVER],
        [*CLUSTER, *RESTARTS, TAKEN_OVER[0], LINE],
        [*CLUSTER, *TAKEN_OVER, LINE],
        [*CLUSTER, *restarted(5, "broker-2"), *TAKEN_OVER, LINE],
        [*CLUSTER, *restarted(5, "broker-2"), *restarted(10, "broker-1", "false"), *TAKEN_OVER, LINE],
        [*CLUSTER, *restarted(5, "broker-2"), *restarted(25, "broker-1"), *TAKEN_OVER, LINE],
        [*RESTARTS, *TAKEN_OVER, LINE],
    ],
    ids=[
        "no controller says so",
        "ZooKeeper says nothing",
        "no broker was started anew",
        "one broker was not",
        "one was without the settings",
        "one was only later",
        "nobody registered",
    ],
)
def test_what_one_witness_says_nothing_of_is_not_observed(events: list[Timed]) -> None:
    assert judged(*events, END).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    "events",
    [
        [controller(19, "controller-100", 2), kept(19, -1)],
        [controller(19, "controller-100", 2), kept(21, number=101)],
        [kept(21)],
        [*TAKEN_OVER, controller(30, "broker-2", 3)],
    ],
    ids=["it has no metadata", "another has it", "a broker stays the controller", "a broker is the controller again"],
)
def test_a_migration_that_zookeeper_does_not_bear_out(events: list[Timed]) -> None:
    assert judged(*CLUSTER, *RESTARTS, *events, LINE, END).outcome == CONTRADICTED


def test_a_setting_counts_also_after_a_start_that_names_none() -> None:
    again = restarted(15, "broker-1", None)
    assert judged(*CLUSTER, *RESTARTS, *again, *TAKEN_OVER, LINE, END).outcome == HELD


GONE: Timed = (25, Znode(path="/migration", content=None))
BACK: list[Timed] = [controller(24, "broker-2", 3), GONE]
WITHOUT: list[Timed] = [*restarted(28, "broker-2", "false"), *restarted(32, "broker-1", "false")]


def reverted(*events: Timed) -> ClaimResult:
    return judged(*CLUSTER, *RESTARTS, *TAKEN_OVER, LINE, *events, END, claim="migration-reverted")


def test_a_migration_that_was_reverted() -> None:
    found = reverted(*BACK, *WITHOUT)
    assert (found.outcome, found.observed) == (HELD, "1 migration reverted")


@pytest.mark.parametrize(
    "events",
    [
        [GONE, *WITHOUT],
        [*BACK, *WITHOUT, controller(38, "controller-100", 4)],
        [*BACK, *restarted(28, "broker-2", "false")],
        [*BACK, *WITHOUT, *restarted(36, "broker-1", "true")],
    ],
    ids=["KRaft's is the controller", "it is again", "one broker migrates still", "one migrates again"],
)
def test_a_revert_that_something_speaks_against(events: list[Timed]) -> None:
    assert reverted(*events).outcome == CONTRADICTED


@pytest.mark.parametrize("events", [[], WITHOUT, [*BACK, *WITHOUT, kept(38)]], ids=["nothing", "starts", "it is back"])
def test_what_was_not_reverted_is_not_observed(events: list[Timed]) -> None:
    assert reverted(*events).outcome == NOT_OBSERVED
