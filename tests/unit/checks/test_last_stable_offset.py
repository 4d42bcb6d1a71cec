"""How far readers of what is committed may read, and what may hold them back."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from checks.anomalies.last_stable_offset import stuck_last_stable_offset
from evidence.events import ClientEnded, EndsAnswer, Event, Fault, Outcome, Target, Transaction, TransactionPhase
from evidence.run_state import RunState
from tests.proofs import proof
from tests.records import run_record
from tests.unit.timelines import at

S = 10**9
CLIENT = {"name": "producer-1", "settings": {"transactional.id": "transactions"}}


def ends(stable: int, high: int, at_s: int, partition: int = 0) -> Event:
    asked_ns = at_s * S - 1000
    said = EndsAnswer(topic="t", partition=partition, high_watermark=high, last_stable_offset=stable, asked_ns=asked_ns)
    return at(at_s * S, said)


def step(phase: TransactionPhase, at_s: int, outcome: Outcome = "ok", process: str = "producer-1") -> Event:
    return at(at_s * S, Transaction(process=process, phase=phase, transaction=0, outcome=outcome))


def found(
    *events: Event,
    processes: tuple[dict[str, Any], ...] = (CLIENT,),
    kafka: str = "2.4.1",
    own_client: dict[str, Any] | None = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    topics = [{"name": "t", "partitions": {"0": [1, 2]}}]
    told = {"processes": processes, "topics": topics, "kafka": kafka, "settings": settings, "own_client": own_client}
    return stuck_last_stable_offset(RunState(events), run_record(told))


DONE = (step("begin", 1), step("commit", 2))
STUCK = (ends(1, 5, 10), ends(1, 6, 20), ends(1, 6, 31))


def test_an_end_that_stays_below_the_high_watermark() -> None:
    (row,) = found(*DONE, *STUCK)
    assert (row["topic"], row["partition"], row["offset"], row["high_watermark"]) == ("t", 0, 1, 6)
    assert (row["since_ns"], row["until_ns"], row["ended_ns"]) == (10 * S - 1000, 31 * S, 2 * S)


def test_what_two_leaders_say_is_no_answer() -> None:
    """One of them is cut off from the others, and does not know that it is replaced."""
    stale = [structs.replace(one, leader_epochs=(1, 0)) for one in STUCK]
    assert found(*DONE, *stale) == []
    assert found(*DONE, *(structs.replace(one, leader_epochs=(1, 1)) for one in STUCK)) != []


def test_an_aborted_transaction_has_ended_too() -> None:
    assert found(step("begin", 1), step("abort", 2), *STUCK)


@pytest.mark.parametrize(
    "events",
    [
        (*DONE, *STUCK, step("begin", 40)),
        (step("begin", 1), *STUCK),
        (step("begin", 1), step("commit", 2, "info"), *STUCK),
        (*DONE, ends(5, 5, 10), ends(6, 6, 31)),
        (*DONE, ends(1, 5, 10), ends(1, 5, 25)),
        (*DONE, ends(1, 5, 10), ends(2, 5, 20), ends(2, 5, 35)),
        (*DONE, *STUCK, ends(6, 6, 32)),
        (*DONE, ends(1, 5, 10), ends(1, 5, 31, partition=1)),
        (*DONE, ends(1, 5, 10, partition=7), ends(1, 5, 31, partition=7)),
        (step("begin", 1), ends(1, 5, 10), step("commit", 20), ends(1, 5, 31)),
        STUCK,
    ],
    ids=[
        "another has begun",
        "it is open",
        "nobody knows whether it has ended",
        "nothing is held back",
        "for less than 20 s",
        "it moves",
        "it moves in the end",
        "another partition",
        "one that the run does not have",
        "asked before it had ended",
        "a client that does not tell",
    ],
)
def test_what_is_not_stuck(events: tuple[Event, ...]) -> None:
    assert found(*events) == []


def test_without_transactions_nothing_may_hold_back() -> None:
    assert found(*STUCK, processes=())


def test_of_pipelines_nothing_is_known() -> None:
    assert found(*DONE, *STUCK, processes=(CLIENT, CLIENT | {"name": "processor-1"})) == []


# Clients that are gone

APPLICATION = {"name": "processor-1", "settings": {"transactional.id": "a", "transaction.timeout.ms": "10000"}}
STREAMS = {"name": "processor-1", "settings": {"processing.guarantee": "exactly_once_v2"}}
CONNECT = {"name": "processor-1", "settings": {"exactly.once.source.support": "enabled"}}
ENDED = at(100 * S, ClientEnded(process="processor-1"))
SWEPT_S = 100 + 60 + 60 + 50
"""It ended then, had a minute for its transaction, the coordinator one to look (before 2.5), and some time to spare."""
HANGS = (ends(1, 6, SWEPT_S + 5), ends(1, 6, SWEPT_S + 26))


def killed(process: str, at_s: int) -> list[Event]:
    return [struck("kill-client", process, at_s, phase) for phase in ("inject", "verified")]


def struck(kind: str, node: str, at_s: int, phase: Any) -> Event:
    seen = proof(kind) if phase == "verified" else None
    fault = Fault(fault_kind=kind, id=node, phase=phase, target=Target(node=node), description=kind, proof=seen)
    return at(at_s * S, fault)


@pytest.mark.parametrize("process", [APPLICATION, STREAMS, CONNECT], ids=["application", "Streams", "Connect"])
def test_a_transaction_that_hangs_when_its_client_is_long_gone(process: dict[str, Any]) -> None:
    (row,) = found(ENDED, *HANGS, processes=(process,))
    assert (row["offset"], row["high_watermark"], row["ended_ns"]) == (1, 6, SWEPT_S * S)
    assert len(found(*killed("processor-1", 100), *HANGS, processes=(process,))) == 1
    assert found(*HANGS, processes=(process,)) == []
    early = (ends(1, 6, SWEPT_S - 2), ends(1, 6, SWEPT_S + 19))
    assert found(ENDED, *early, processes=(process,)) == []


def test_a_longer_time_out_is_waited_for() -> None:
    longer = {"name": "processor-1", "settings": {"transactional.id": "a", "transaction.timeout.ms": "90000"}}
    assert found(ENDED, *HANGS, processes=(longer,)) == []


def test_a_client_of_the_users_own_may_wait_as_long_as_brokers_let_it_unless_it_says() -> None:
    silent = {"name": "mine", "version": "1", "command": "./mine", "can": ["produce"]}
    process = {"name": "processor-1", "settings": {"transactional.id": "a"}}
    assert found(ENDED, *HANGS, processes=(process,), own_client=silent) == []
    after_s = 100 + 900 + 60 + 50
    late = (ends(1, 6, after_s + 5), ends(1, 6, after_s + 26))
    assert len(found(ENDED, *late, processes=(process,), own_client=silent)) == 1
    longest: dict[str, Any] = {"transaction.max.timeout.ms": "60000"}
    assert len(found(ENDED, *HANGS, processes=(process,), own_client=silent, **longest)) == 1
    says = silent | {"defaults": {"transaction.timeout.ms": "60000"}}
    assert len(found(ENDED, *HANGS, processes=(process,), own_client=says)) == 1


def test_what_a_killed_client_has_left_open_or_unknown_is_ended_by_the_coordinator() -> None:
    for left in ((step("begin", 1),), (step("begin", 1), step("commit", 2, "info"))):
        assert len(found(*left, *killed("producer-1", 100), *HANGS)) == 1
        assert found(*left, *HANGS) == []


def test_a_fault_may_keep_a_coordinator_from_looking() -> None:
    fault = [struck("freeze", "broker-1", 100, "inject"), struck("freeze", "broker-1", 101, "verified")]
    assert found(ENDED, *fault, *HANGS, processes=(APPLICATION,)) == []
    healed = [*fault, struck("freeze", "broker-1", 120, "healed")]
    assert len(found(ENDED, *healed, *HANGS, processes=(APPLICATION,))) == 1
    assert (
        found(ENDED, *healed[:2], struck("freeze", "broker-1", 181, "healed"), *HANGS, processes=(APPLICATION,)) == []
    )


def test_from_2_5_on_coordinators_look_every_ten_seconds() -> None:
    early = (ends(1, 6, SWEPT_S - 45), ends(1, 6, SWEPT_S - 24))
    assert found(ENDED, *early, processes=(APPLICATION,)) == []
    assert len(found(ENDED, *early, processes=(APPLICATION,), kafka="2.5.0")) == 1
    interval: dict[str, Any] = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
    assert len(found(ENDED, *early, processes=(APPLICATION,), **interval)) == 1


def test_a_clock_that_was_set_may_have_put_a_time_out_off() -> None:
    stepped = [struck("clock-step", "broker-1", 10, phase) for phase in ("inject", "verified", "healed")]
    assert found(ENDED, *stepped, *HANGS, processes=(APPLICATION,)) == []
