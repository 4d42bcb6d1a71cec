"""What held when, out of events; and the readings in which analysis and reports once differed."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from evidence.engine import ContainerAction
from evidence.events import (
    Acked,
    Blind,
    Broker,
    Container,
    Controller,
    Event,
    Failed,
    Fault,
    FaultPhase,
    Log,
    Note,
    Partition,
    Send,
    State,
    Target,
)
from evidence.faults import registry
from evidence.faults.process import RunningProof
from evidence.run_state import RunState, in_isr_throughout, isr_at, one_leader
from evidence.spans import NEVER_NS
from tests.proofs import proof
from tests.unit.timelines import at

WHOSE: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "acks": "-1"}


def run_state(*events: Event, until: int = 0) -> RunState:
    """In order of time, with something that happened at `until`."""
    return RunState((*events, at(until, Note(text="the end"))) if until else events)


def container(ns: int, action: ContainerAction, code: int | None = None, signal: int | None = None) -> Container:
    return at(ns, Container(node="broker-1", action=action, exit_code=code, signal=signal))


def stated(
    ns: int, leader: int, epoch: int, isr: tuple[int, ...], *, version: int | None = None, topic: str = "t", **more: Any
) -> Partition:
    where: dict[str, Any] = {"source": "zookeeper", "topic": topic, "partition": 0}
    return at(ns, Partition(**where, leader=leader, leader_epoch=epoch, isr=isr, version=version, **more))


def broker(ns: int, source: State, state: Literal["registered", "gone", "unfenced", "fenced"], **more: bool) -> Broker:
    return at(ns, Broker(source=source, node="broker-1", state=state, **more))


def fault(ns: int, phase: FaultPhase, kind: str = "kill", id_: str = "f1", node: str = "broker-1") -> Fault:
    proved = proof(kind) if phase == "verified" else None
    what = f"{kind} of {node}"
    event = Fault(fault_kind=kind, id=id_, phase=phase, target=Target(node=node), description=what, proof=proved)
    return at(ns, event)


# Partitions


def test_a_partition_keeps_its_state_until_another_is_stated() -> None:
    events = [stated(1, 1, 0, (1, 2)), stated(2, 1, 0, (1, 2)), stated(5, -1, 1, (2,)), stated(8, 2, 2, (2,))]
    held = run_state(*events, until=10)
    assert [(s.begin_ns, s.end_ns, s.leader, s.isr) for s in held.partitions["t", 0]] == [
        (1, 5, 1, (1, 2)),
        (5, 8, -1, (2,)),
        (8, 10, 2, (2,)),
    ]
    assert [getattr(held.state_at("t", 0, ns), "leader", None) for ns in (0, 1, 5, 12)] == [None, 1, -1, 2]
    assert held.state_at("u", 0, 5) is None


def test_states_stated_again_after_an_observer_looked_anew_are_no_elections() -> None:
    first, second = (1, 0, (1, 2)), (2, 1, (2,))
    events = [
        stated(ns, *content, version=version)
        for ns, version, content in [(1, 0, first), (2, 1, second), (3, 0, first), (4, 1, second)]
    ]
    held = run_state(*events)
    assert held.states["t", 0] == tuple(events[:2])
    assert [state.leader for state in held.partitions["t", 0]] == [1, 2]


def test_what_differs_under_a_version_is_no_repetition() -> None:
    back = [stated(1, 1, 3, (1,), version=4), stated(2, 1, 2, (1,), version=5), stated(3, 2, 2, (1,), version=4)]
    assert run_state(*back).states["t", 0] == tuple(back)
    moved = [stated(1, 1, 0, (1,), version=0, replicas=(1,)), stated(2, 1, 0, (1,), version=0, replicas=(1, 2))]
    assert run_state(*moved).states["t", 0] == tuple(moved)


def test_the_isr_at_a_time_is_the_one_last_stated() -> None:
    events = [stated(10, 1, 0, (1, 2)), stated(15, 1, 0, (7,), topic="u"), stated(20, 1, 1, (2,))]
    states = run_state(*events).states["t", 0]
    assert [isr_at(states, ns) for ns in (9, 19, 20)] == [None, [1, 2], [2]]


def test_who_was_in_the_isr_throughout() -> None:
    states = [stated(10, 1, 0, (1, 2, 3)), stated(20, 1, 1, (1, 3)), stated(30, 1, 1, (1, 2, 3))]
    assert in_isr_throughout(states, 12, 19) == {1, 2, 3}
    assert in_isr_throughout(states, 12, 40) == {1, 3}
    assert in_isr_throughout(states, 30, 40) == {1, 2, 3}
    assert in_isr_throughout(states, 5, 40) == set()


def test_who_led_alone() -> None:
    states = [stated(10, 1, 0, (1, 2)), stated(15, 1, 0, (1,)), stated(20, 2, 1, (2,)), stated(30, -1, 1, ())]
    assert one_leader(states, 11, 19) == states[0]
    assert [one_leader(states, *between) for between in [(5, 9), (11, 20), (31, 40)]] == [None, None, None]


# Who controls, who is alive


def test_the_controller_may_be_nobody() -> None:
    events = [
        at(1, Controller(source="zookeeper", node="broker-4", epoch=1)),
        at(2, Controller(source="zookeeper", node="broker-4", epoch=1)),
        at(4, Controller(source="zookeeper", node=None, epoch=1)),
    ]
    held = run_state(*events, until=9)
    assert [(i.begin_ns, i.end_ns, i.value) for i in held.controllers] == [(1, 4, "broker-4"), (4, 9, "")]
    assert [getattr(held.controller_at(ns), "value", None) for ns in (0, 3, 5)] == [None, "broker-4", ""]


def test_a_broker_that_kraft_registers_and_still_fences_is_not_alive() -> None:
    events = [
        broker(1, "kraft", "registered", fenced=True),
        broker(4, "kraft", "unfenced"),
        broker(6, "kraft", "fenced"),
        broker(7, "kraft", "registered", fenced=True),
        broker(9, "kraft", "unfenced"),
    ]
    held = run_state(*events, until=12)
    assert [held.alive_at("broker-1", ns) for ns in (1, 3, 4, 6, 8, 9)] == [False, False, True, False, False, True]
    assert [interval.value for interval in held.registrations["broker-1"]] == ["alive", "fenced", "alive"]


def test_zookeepers_registered_is_alive() -> None:
    held = run_state(broker(1, "zookeeper", "registered", fenced=False), broker(5, "zookeeper", "gone"), until=9)
    assert [held.alive_at("broker-1", ns) for ns in (0, 1, 4, 5)] == [False, True, True, False]


# Processes


def test_a_process_is_up_frozen_dying_down_and_up_again() -> None:
    actions: list[tuple[int, ContainerAction]] = [(1, "start"), (3, "pause"), (5, "unpause"), (6, "kill")]
    events = [*(container(ns, action) for ns, action in actions), container(7, "die", 137), container(9, "start")]
    held = run_state(*events, until=20)
    assert [(i.begin_ns, i.end_ns, i.value) for i in held.processes["broker-1"]] == [
        (1, 3, "up"),
        (3, 5, "frozen"),
        (5, 6, "up"),
        (6, 7, "dying"),
        (7, 9, "down"),
        (9, 20, "up"),
    ]
    assert held.processes["broker-1"][4].detail == "exit code 137"
    seen = [held.condition_at("broker-1", ns) for ns in (0, 2, 4, 6, 7, 8, 30)]
    assert seen == ["down", "up", "frozen", "dying", "down", "down", "up"]


def test_a_process_is_gone_when_docker_says_die() -> None:
    killed = run_state(container(1, "start"), container(6, "kill", signal=9))
    assert killed.condition_at("broker-1", 7) == "dying"
    assert killed.died_by("broker-1", 9) is None
    died = run_state(*killed.events, container(8, "die", 137), container(9, "stop"))
    assert (died.condition_at("broker-1", 9), died.died_by("broker-1", 9), died.died_by("broker-1", 7)) == (
        "down",
        8,
        None,
    )


def test_a_signal_that_ends_nobody_is_no_kill() -> None:
    assert run_state(container(1, "start"), container(3, "kill", signal=1)).condition_at("broker-1", 4) == "up"


def test_a_container_that_the_engine_tells_nothing_of_is_up() -> None:
    assert run_state().condition_at("broker-1", 5) == "up"
    assert run_state(container(3, "pause")).condition_at("broker-1", 2) == "up"


def test_since_when_a_process_is_the_same() -> None:
    held = run_state(container(1, "start"), container(4, "pause"), container(5, "unpause"), container(8, "die"))
    assert [held.undisturbed_since("broker-1", ns) for ns in (0, 1, 7, 9)] == [0, 1, 1, 8]


# Faults, observers, clients


@pytest.mark.parametrize(
    ("events", "until"),
    [
        ([fault(1, "inject"), fault(2, "verified")], NEVER_NS),
        ([fault(1, "inject"), fault(5, "inject", "start", "f2"), fault(6, "verified", "start", "f2")], 6),
        ([fault(1, "inject"), fault(6, "verified", "start", "f2", "broker-2")], NEVER_NS),
        ([fault(1, "inject", "start"), fault(3, "verified", "start")], 3),
        ([fault(1, "inject", "cut"), fault(2, "verified", "cut"), fault(7, "healed", "cut")], 7),
    ],
    ids=["killed", "started again", "another was started", "a start", "healed"],
)
def test_how_long_a_fault_lasts(events: list[Event], until: int) -> None:
    held = run_state(*events)
    assert held.faults[0].until_ns == until


STARTS = registry(RunningProof)


@pytest.mark.parametrize("kind", sorted({*STARTS, "refused", "finalize", "migration"}))
@pytest.mark.parametrize("end", ["kill", "stop", "exit", "refused", "power-loss"])
def test_whatever_starts_a_process_ends_its_being_away(end: str, kind: str) -> None:
    """An upgraded broker runs again, and so does one with a higher protocol; one that exits as another release does
    not, and neither does whose cluster has another level of a feature.
    """
    gone = [fault(1, "inject", end), fault(2, "verified", end)]
    held = run_state(*gone, fault(5, "inject", kind, "f2"), fault(6, "verified", kind, "f2"))
    assert held.faults[0].until_ns == (6 if kind in STARTS else NEVER_NS)
    held = run_state(*gone, fault(5, "inject", kind, "f2"), fault(6, "unproved", kind, "f2"))
    assert held.faults[0].until_ns == NEVER_NS
    other = run_state(*gone, fault(5, "inject", kind, "f2", "broker-2"), fault(6, "verified", kind, "f2", "broker-2"))
    assert other.faults[0].until_ns == NEVER_NS


def test_starting_kinds_are_those_that_are_known() -> None:
    assert sorted(STARTS) == ["double", "raise", "start", "upgrade"]


def test_a_controller_is_no_longer_away_once_its_migration_was_reverted() -> None:
    stopped = [fault(1, "inject", "stop", node="controller-100"), fault(2, "verified", "stop", node="controller-100")]
    reverted = [fault(5, "inject", "revert", "f2", "broker-1"), fault(6, "verified", "revert", "f2", "broker-1")]
    assert run_state(*stopped, *reverted).faults[0].until_ns == 6
    other = [fault(1, "inject", "stop"), fault(2, "verified", "stop"), *reverted]
    assert run_state(*other).faults[0].until_ns == NEVER_NS


def cut(
    ns: int, phase: FaultPhase, *links: tuple[str, str], port: int = 0, kind: str = "cut", id_: str = "f1"
) -> Fault:
    target = Target(node="broker-1")
    return at(
        ns, Fault(fault_kind=kind, id=id_, phase=phase, target=target, description="a cut", links=links, port=port)
    )


def controllers(*names: str) -> list[Event]:
    return [at(0, Container(node=name, action="start")) for name in names]


TO_100, TO_101 = ("broker-1", "controller-100"), ("controller-101", "broker-1")


def test_which_cuts_sever_nodes() -> None:
    events = [cut(1, "inject", TO_100), cut(2, "verified", TO_100), cut(5, "heal", TO_100)]
    held = run_state(*events, until=9)
    assert [held.healing_of(one) for one in held.severed] == [5]
    assert held.severed[0].between("controller-100", "broker-1")
    assert not held.severed[0].between("broker-1", "broker-2")
    assert run_state(*events[:1], until=9).severed == ()
    assert [run_state(*events[:2], until=9).healing_of(one) for one in held.severed] == [5]
    for port, kind in ((9093, "cut"), (0, "loss")):
        one = [cut(1, "inject", TO_100, port=port, kind=kind), cut(2, "verified", TO_100, port=port, kind=kind)]
        assert run_state(*one).severed == ()


@pytest.mark.parametrize(
    ("nodes", "links", "off"),
    [
        (["controller-100", "controller-101"], [TO_100, TO_101], True),
        (["controller-100", "controller-101"], [TO_100], False),
        (["zookeeper", "broker-2"], [("broker-1", "zookeeper")], True),
        (["broker-1", "broker-2"], [("broker-1", "broker-2")], False),
    ],
    ids=["from all controllers", "from one of two", "from ZooKeeper", "of combined nodes nothing is told"],
)
def test_who_is_cut_from_the_coordinator(nodes: list[str], links: list[tuple[str, str]], off: bool) -> None:
    held = run_state(*controllers(*nodes), cut(1, "inject", *links), cut(2, "verified", *links), cut(5, "heal", *links))
    assert held.off_coordinator("broker-1", 3) is off
    assert not held.off_coordinator("broker-1", 6)


def test_two_observers_are_blind_apart() -> None:
    events = [
        at(1, Blind(source="zookeeper", phase="begin", reason="suspended")),
        at(2, Blind(source="docker", phase="begin")),
        at(3, Blind(source="zookeeper", phase="end")),
    ]
    assert run_state(*events).blind == (
        (1, 3, "zookeeper observer: suspended"),
        (2, NEVER_NS, "docker observer: no reason given"),
    )


def test_a_send_is_matched_with_its_own_end() -> None:
    def record(sequence: int) -> dict[str, Any]:
        return WHOSE | {"sequence": sequence}

    events = [
        at(1, Send(**record(0))),
        at(2, Send(**record(1))),
        at(3, Failed(**record(1), outcome="fail", error="X")),
        at(4, Acked(**record(0), outcome="ok", offset=7)),
        at(5, Send(**record(2))),
    ]
    held = run_state(*events)
    assert [(s.sequence, s.outcome, s.offset, s.error, s.done_ns, s.acks) for s in held.sends] == [
        (0, "acked", 7, None, 4, "all"),
        (1, "failed", None, "X", 3, "all"),
        (2, "open", None, None, None, "all"),
    ]


def test_an_answer_counts_from_when_it_came_not_from_when_it_was_heard() -> None:
    heard = Failed(**WHOSE, sequence=0, invoked_ns=2, completed_ns=5, outcome="info", error="_TIMED_OUT")
    (send,) = run_state(at(1, Send(**WHOSE, sequence=0)), at(9, heard)).sends
    assert (send.sent_ns, send.done_ns, send.outcome) == (2, 5, "unknown")


def test_what_brokers_log_does_not_make_a_run_longer() -> None:
    assert run_state(at(5, Note(text="")), at(9, Log(node="broker-1", event="fatal", line="x"))).end_ns == 5
