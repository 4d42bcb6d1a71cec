"""Brokers that are dead to the cluster and in an ISR, or elected: KRaft's exact log, and ZooKeeper's later one."""

from __future__ import annotations

from typing import Any

import pytest

from checks.anomalies.dead_replicas import dead_replica_elected, dead_replica_in_isr
from evidence.events import Broker, Event, Metadata, Moment, Partition
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.checks.test_availability_anomalies import LONG_S, SECOND, docker, fault, run_state_of, still, well
from tests.unit.checks.test_spontaneous import led, office, registered
from tests.unit.timelines import at

UP = well("broker-1", "broker-2", "broker-3")
CREATED = led(2, 1, (1, 2, 3))
KILLED: list[Event] = [
    fault(20, "inject", "kill", "broker-3"),
    docker(20, "broker-3", "die", 137),
    fault(21, "verified", "kill", "broker-3"),
]
FENCED = registered(24, "broker-3", "fenced")
SHRUNK = led(24, 1, (1, 2))
BACK = registered(60, "broker-3", "unfenced")


def at_end(at_s: float) -> Moment:
    return at(round(at_s * SECOND), Moment(name="07-final", begun_ns=0))


def seen(*events: Event, until_s: float = 24 + LONG_S) -> RunState:
    return run_state_of(*UP, CREATED, *events, at_end(until_s))


def in_isr(state: RunState, kafka: str = "4.3.1") -> list[dict[str, Any]]:
    return dead_replica_in_isr(state, run_record({"kafka": kafka}))


def found(state: RunState, kafka: str = "4.3.1") -> list[str]:
    """What is found: stayed, joined or elected, and of which broker."""
    isr = [("stayed" if "stayed_ms" in row else "joined") + row["node"][-2:] for row in in_isr(state, kafka)]
    return isr + ["elected" + row["node"][-2:] for row in dead_replica_elected(state)]


def test_a_fenced_broker_that_stays_in_the_isr() -> None:
    assert found(seen(*KILLED, FENCED)) == ["stayed-3"]
    (row,) = in_isr(seen(*KILLED, FENCED))
    assert (row["topic"], row["partition"], row["node"], row["leader"]) == ("t", 0, "broker-3", 1)
    assert (row["isr"], row["stayed_ms"]) == ([1, 2, 3], LONG_S * 1000)
    # Also if it is back before the end.
    back: list[Event] = [fault(100, phase, "start", "broker-3", "f2") for phase in ("inject", "verified")]
    back += [docker(100, "broker-3", "start"), registered(102, "broker-3", "unfenced")]
    assert found(seen(*KILLED, FENCED, *back, until_s=200)) == ["stayed-3"]
    # It runs, and its session is over.
    assert found(seen(FENCED)) == ["stayed-3"]


def test_a_dead_broker_that_was_the_controller_is_taken_out_by_the_next_one() -> None:
    controlled = office(0.5, "broker-3", 1), office(22, None, 2)
    assert found(seen(*KILLED, FENCED, *controlled, office(25, "broker-2", 3), until_s=25 + LONG_S)) == ["stayed-3"]
    assert found(seen(*KILLED, FENCED, *controlled, office(25, "broker-2", 3))) == []
    # A successor that acts at once does not excuse who was in office before it.
    assert found(seen(*KILLED, FENCED, office(24 + LONG_S, "controller-101", 2), until_s=25 + LONG_S)) == ["stayed-3"]


@pytest.mark.parametrize(
    "state",
    [
        seen(*KILLED, FENCED, SHRUNK),
        seen(*KILLED, FENCED, until_s=60),
        seen(*KILLED),
        seen(*KILLED, FENCED, BACK),
        seen(*KILLED, FENCED, led(24, -1, (3,), 1)),
        seen(*KILLED, FENCED, docker(40, "broker-1", "die", 1)),
        seen(*KILLED, FENCED, fault(30, "inject", "freeze", "broker-2", "f2")),
        seen(*KILLED, FENCED, still(40)),
        seen(*KILLED, FENCED, office(22, None, 2)),
    ],
    ids=[
        "it is taken out",
        "not for long",
        "its session is not over",
        "it is back",
        "it is the last one",
        "its leader is dead too",
        "another fault lasts",
        "the machine stood still",
        "there is no controller",
    ],
)
def test_a_dead_broker_that_nobody_had_to_take_out(state: RunState) -> None:
    assert found(state) == []


def test_a_fenced_broker_joins_an_isr_and_leads() -> None:
    joined, elected = led(30, 1, (1, 2, 3)), led(32, 3, (3,), 1)
    assert found(seen(*KILLED, FENCED, SHRUNK, joined, led(31, 1, (1, 2)))) == ["joined-3"]
    assert found(seen(*KILLED, FENCED, SHRUNK, joined, elected, led(33, 1, (1, 2), 2))) == ["joined-3", "elected-3"]
    last = run_state_of(*UP, CREATED, *KILLED, FENCED, led(24, -1, (3,), 1), led(32, 3, (3,), 2))
    assert found(last) == ["elected-3"]
    # Of those that are eligible, and of whoever leads after nobody.
    eligible = led(26, -1, (), 1, elr=(3,))
    assert found(seen(*KILLED, FENCED, SHRUNK, eligible, led(32, 3, (3,), 2))) == ["joined-3", "elected-3"]


def test_who_is_back_may_join_and_lead() -> None:
    back = registered(30, "broker-3", "unfenced")
    state = seen(*KILLED, FENCED, SHRUNK, docker(26, "broker-3", "start"), back, led(30, 3, (1, 2, 3), 1))
    assert found(state) == []
    # What is decided with the fencing is decided before it.
    assert found(seen(*KILLED, led(23, 1, (1, 2)), led(24, 1, (1, 2, 3)), FENCED, SHRUNK)) == []
    # A topic that is made again begins anew.
    made_again = [
        led(2, 1, (1, 2), 4, partition=1),
        led(30, 1, (1, 3), 0, partition=1),
        led(31, 1, (1,), 0, partition=1),
    ]
    assert found(seen(*KILLED, FENCED, SHRUNK, *made_again)) == []


def in_zookeeper(*events: Event, down: bool = True) -> RunState:
    """Broker 3 is gone at the 24th second, with its process or without."""
    gone = at(24 * SECOND, Broker(source="zookeeper", node="broker-3", state="gone"))
    return run_state_of(*UP, *(KILLED if down else []), gone, *events, at_end(24 + LONG_S))


def zk(at_s: float, *state: Any) -> Partition:
    return led(at_s, *state, source="zookeeper")


def test_with_zookeeper_a_leader_may_hear_whoever_has_no_session() -> None:
    begun = zk(2, 1, (1, 2, 3))
    assert found(in_zookeeper(begun)) == ["stayed-3"]
    assert found(in_zookeeper(begun, docker(22 + LONG_S, "broker-3", "start"))) == []
    assert found(in_zookeeper(begun, down=False)) == []
    shrunk = [begun, zk(24, 1, (1, 2))]
    joined = [zk(30, 1, (1, 2, 3)), zk(31, 3, (1, 2, 3), 1), zk(32, 1, (1, 2), 2)]
    assert found(in_zookeeper(*shrunk, *joined)) == ["joined-3", "elected-3"]
    assert found(in_zookeeper(*shrunk, *joined, down=False)) == []
    # What the leader had heard may be written when it is dead.
    assert found(in_zookeeper(*shrunk, zk(28, 1, (1, 2, 3)), zk(29, 1, (1, 2)))) == []


OFFICES = [office(0.5, "broker-3", 1), office(24, None, 2), office(25, "broker-2", 3)]
BEGUN = zk(2, 1, (1, 2, 3))


def after_controller(*events: Event, until_s: float = 26 + LONG_S) -> RunState:
    """Broker 3 was the controller, and broker 2 is after it."""
    return in_zookeeper(*OFFICES, *events, at_end(until_s))


def test_before_2_3_a_new_controller_leaves_the_dead_to_their_leader() -> None:
    late = after_controller(BEGUN)
    assert found(late, "2.2.2") == []
    assert found(late, "2.3.0") == ["stayed-3"]
    assert found(in_zookeeper(BEGUN, office(0.5, "broker-2", 1)), "2.2.2") == ["stayed-3"]
    # It reads who is there a moment after it took office, and what goes between is not told to it.
    between = [office(0.5, "controller", 1), office(23.9, "broker-2", 3)]
    assert found(in_zookeeper(BEGUN, *between), "2.2.2") == []


def test_before_2_1_a_leader_misses_the_dead_by_their_lag_alone() -> None:
    def in_time(kafka: str, lag_ms: str) -> bool:
        run = run_record({"kafka": kafka, "mode": "zookeeper", "settings": {"replica.lag.time.max.ms": lag_ms}})
        return dead_replica_in_isr(after_controller(BEGUN), run) == []

    assert not in_time("2.0.1", "10000")
    assert in_time("2.0.1", "60000")
    assert in_time("2.1.0", "10000")


def test_who_is_elected_for_a_dead_leader_has_no_dead_in_its_isr() -> None:
    two_gone = [
        docker(30, "broker-2", "die", 137),
        at(34 * SECOND, Broker(source="zookeeper", node="broker-2", state="gone")),
    ]
    led_by_2, offices = zk(2, 2, (1, 2, 3)), [office(0.5, "broker-3", 1), office(25, "broker-1", 3)]
    elected = in_zookeeper(led_by_2, *offices, *two_gone, zk(34, 1, (1, 3), 1), at_end(36 + LONG_S))
    assert found(elected, "2.2.2") == ["stayed-3"]
    preferred = in_zookeeper(led_by_2, *offices, zk(34, 1, (1, 2, 3), 1), at_end(36 + LONG_S))
    assert found(preferred, "2.2.2") == []


def of_broker_3(offset: int, kind: str, *, stops: int) -> Metadata:
    fields = {"broker_id": 3, "broker_epoch": 9, "in_controlled_shutdown": stops}
    return at(28 * SECOND, Metadata(type=kind, version=1, offset=offset, epoch=1, fields=fields))


def test_a_broker_in_its_controlled_shutdown_joins_no_isr_and_leads_nothing() -> None:
    stopping = of_broker_3(50, "BROKER_REGISTRATION_CHANGE_RECORD", stops=1)
    gains, leads = led(30, 1, (1, 2, 3), version=60), led(31, 3, (1, 2, 3), 1, version=61)
    shrunk = led(20, 1, (1, 2), version=40)
    assert found(seen(stopping, shrunk, gains, leads)) == ["joined-3", "elected-3"]
    assert found(seen(shrunk, gains, leads)) == []
    # What stands before it in the log, and what comes after its next registration, is legal.
    early = led(30, 1, (1, 2, 3), version=49), led(31, 3, (1, 2, 3), 1, version=50)
    assert found(seen(stopping, shrunk, *early)) == []
    again = of_broker_3(55, "REGISTER_BROKER_RECORD", stops=0)
    assert found(seen(stopping, again, shrunk, gains, leads)) == []
    unfenced = of_broker_3(52, "BROKER_REGISTRATION_CHANGE_RECORD", stops=0)
    assert found(seen(stopping, unfenced, shrunk, gains)) == ["joined-3"]
