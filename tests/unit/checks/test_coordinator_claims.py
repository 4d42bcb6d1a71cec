"""For how long coordinators are gone: claims on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import TypeVar

import pytest
from msgspec import structs

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event, Fault, OffsetCommit, Partition, Target, Transaction
from evidence.faults.base import FaultProof
from evidence.faults.network import CutProof
from evidence.faults.process import FreezeProof, KillProof
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit import timelines

COMMITS, TRANSACTIONS = "commits-pause-for-the-session", "transactions-pause-for-the-session"
E = TypeVar("E", bound=Event)
KILL = KillProof(exit_code=137, time_nano=1, signal_nano=1)
SECOND_NS = 1_000_000_000
LINKS = (("broker-1", "broker-2"), ("broker-1", "broker-3"), ("broker-2", "broker-1"), ("broker-3", "broker-1"))


def at(second: int, event: E) -> E:
    return timelines.at(second * SECOND_NS, event)


def led(topic: str, leader: int) -> Partition:
    return at(0, Partition(source="kraft", topic=topic, partition=0, leader=leader, leader_epoch=0, isr=(1, 2, 3)))


def struck(
    kind: str, proof: FaultProof, node: str = "broker-1", links: tuple[tuple[str, str], ...] = ()
) -> list[Event]:
    fault = Fault(fault_kind=kind, id="f1", phase="inject", target=Target(node=node), description=kind, links=links)
    return [at(10, fault), at(10, structs.replace(fault, phase="verified", proof=proof))]


def commit(second: int) -> OffsetCommit:
    return at(second, OffsetCommit(group="g", topic="t", partition=0, offset=7))


def transaction(began: int, ended: int, error: str | None = None) -> list[Event]:
    begin = Transaction(process="producer-1", phase="begin", transaction=0, outcome="ok")
    end = Transaction(
        process="producer-1", phase="commit", transaction=0, outcome="info" if error else "ok", error=error
    )
    return [at(began, begin), at(ended, end)]


def judged(name: str, *events: Event) -> str:
    run = run_record(
        {
            "settings": {"broker.session.timeout.ms": "4000"},
            "processes": [{"name": "producer-1", "settings": {"socket.timeout.ms": "5000"}}],
        }
    )
    return claims.judge(name, RunEvidence(run=run, run_state=RunState(tuple(events)))).outcome


@pytest.mark.parametrize(
    ("fault", "outcomes"),
    [
        (struck("kill", KILL), (HELD, CONTRADICTED)),
        (struck("freeze", FreezeProof(status="paused", cpu_ticks=(1, 1), watched_ms=100)), (HELD, CONTRADICTED)),
        (
            struck("cut", CutProof(packets_dropped={"broker-1 INPUT x": 1}), "broker-1, broker-2, broker-3", LINKS),
            (HELD, CONTRADICTED),
        ),
        (struck("kill", KILL, "broker-2"), (NOT_OBSERVED, NOT_OBSERVED)),
        # The coordinator is on the side that has the others.
        (
            struck(
                "cut",
                CutProof(packets_dropped={"broker-2 INPUT x": 1}),
                "broker-2, broker-1, broker-3",
                (
                    ("broker-2", "broker-1"),
                    ("broker-2", "broker-3"),
                    ("broker-1", "broker-2"),
                    ("broker-3", "broker-2"),
                ),
            ),
            (NOT_OBSERVED, NOT_OBSERVED),
        ),
    ],
    ids=["killed", "frozen", "cut", "another broker", "another broker is cut off"],
)
def test_a_pause_is_as_long_as_the_session(fault: list[Event], outcomes: tuple[str, str]) -> None:
    offsets, state = led("__consumer_offsets", 1), led("__transaction_state", 1)
    in_time, too_late = outcomes
    assert judged(COMMITS, offsets, commit(1), *fault, commit(17)) == in_time
    assert judged(COMMITS, offsets, commit(1), *fault, commit(60)) == too_late
    begin, *ends = transaction(5, 17)
    assert judged(TRANSACTIONS, state, begin, *fault, *ends) == in_time
    begin, *ends = transaction(5, 60)
    assert judged(TRANSACTIONS, state, begin, *fault, *ends) == too_late


def test_nothing_is_said_without_a_commit() -> None:
    offsets, state, fault = led("__consumer_offsets", 1), led("__transaction_state", 1), struck("kill", KILL)
    assert judged(COMMITS, offsets, commit(1), *fault) == NOT_OBSERVED
    assert judged(TRANSACTIONS, state, *fault, *transaction(11, 12)) == NOT_OBSERVED
    begin, end = transaction(5, 17, "_TIMED_OUT")
    assert judged(TRANSACTIONS, state, begin, *fault, end) == NOT_OBSERVED
