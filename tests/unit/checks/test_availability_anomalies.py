"""Brokers that end themselves, partitions that nobody leads or can read, replicas that never come back."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from checks import excuses
from checks.anomalies.availability import (
    LIMIT_NS,
    broker_exit,
    held_up_by_machine,
    no_controller,
    no_leader,
    not_registered,
    stuck_isr,
    unreadable,
)
from checks.anomalies.min_insync import acknowledged_below_min_insync, too_small
from checks.catalogue import permitted
from checks.settings import min_insync_bounds
from evidence.engine import ContainerAction
from evidence.events import (
    Blind,
    Broker,
    Container,
    Controller,
    DeleteTopic,
    Event,
    Fault,
    FaultPhase,
    Log,
    Moment,
    Note,
    Partition,
    Step,
    Stillness,
    Target,
    Unread,
    Waits,
)
from evidence.findings import Finding, Row
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.checks.histories import sent, view
from tests.unit.timelines import at

SECOND = 1_000_000_000
LONG_S = LIMIT_NS // SECOND + 1
RUN = run_record(topics=[{"name": "t", "partitions": {"0": [1, 2]}}])


def stated(at_s: float, leader: int, isr: tuple[int, ...], epoch: int = 0) -> Partition:
    state = Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr)
    return at(round(at_s * SECOND), state)


def docker(at_s: float, node: str, action: ContainerAction, code: int | None = None) -> Container:
    return at(round(at_s * SECOND), Container(node=node, action=action, exit_code=code, time_nano=1))


def fault(at_s: float, phase: FaultPhase, kind: str, node: str = "broker-2", id_: str = "f1") -> Fault:
    proof = proof_of(kind) if phase == "verified" else None
    event = Fault(
        fault_kind=kind, id=id_, phase=phase, target=Target(node=node), description=f"{kind} of {node}", proof=proof
    )
    return at(round(at_s * SECOND), event)


def blind(at_s: float) -> list[Event]:
    begin = Blind(source="kraft", phase="begin")
    return [at(round(at_s * SECOND), begin), at(round((at_s + 1) * SECOND), Blind(source="kraft", phase="end"))]


def still(at_s: float) -> Stillness:
    return at(round((at_s + 2) * SECOND), Stillness(begin_ns=round(at_s * SECOND), late_ms=2000))


def well(*nodes: str) -> list[Event]:
    """Brokers that are up and registered from the first second on, and a controller."""
    events: list[Event] = [at(SECOND, Controller(source="kraft", node="controller-100", epoch=1))]
    for node in nodes:
        events.append(docker(1, node, "start"))
        events.append(at(SECOND, Broker(source="kraft", node=node, state="unfenced")))
    return events


def run_state_of(*events: Event) -> RunState:
    return RunState(tuple(sorted(events, key=lambda event: event.at_ns)))


UP = docker(1, "broker-2", "start")
DIED = docker(20, "broker-2", "die", 1)
START = [
    fault(30, "inject", "start", id_="f9"),
    docker(31, "broker-2", "start"),
    fault(32, "verified", "start", id_="f9"),
]


HEALED_CUT: list[Event] = [fault(5, phase, "cut", "broker-2, controller-100") for phase in ("inject", "verified")]
HEALED_CUT += [fault(10, "healed", "cut", "broker-2, controller-100")]


# broker-exit


@pytest.mark.parametrize("code", [1, 3, 128, 134])
@pytest.mark.parametrize("node", ["broker-2", "controller-100"])
def test_a_broker_that_ended_itself_is_found_also_if_it_was_started_again(code: int, node: str) -> None:
    ended = docker(20, node, "die", code)
    (row,) = broker_exit(run_state_of(docker(1, node, "start"), ended, *START))
    assert row == {"node": node, "at_ns": 20 * SECOND, "exit_code": code}


@pytest.mark.parametrize(
    "before",
    [
        [fault(10, "inject", "freeze"), fault(11, "verified", "freeze")],
        [fault(10, "inject", "cut", "broker-2, broker-1"), fault(11, "verified", "cut", "broker-2, broker-1")],
        [fault(10, "inject", "kill", "broker-1"), fault(11, "verified", "kill", "broker-1")],
        [fault(5, "inject", "kill"), fault(6, "verified", "kill"), fault(7, "inject", "start", id_="f2")],
    ],
    ids=["it was frozen", "it was cut off", "another was killed", "it was killed, and started again"],
)
def test_what_a_broker_has_to_live_through(before: list[Event]) -> None:
    assert len(broker_exit(run_state_of(UP, *before, DIED))) == 1


def test_a_broker_that_nobody_asked_to_end_has_to_stay() -> None:
    """Whatever its exit code says, and also long after a fault of its own was over."""
    assert len(broker_exit(run_state_of(UP, docker(20, "broker-2", "die", 0)))) == 1
    full = [fault(10, "inject", "disk-full"), fault(12, "heal", "disk-full"), fault(13, "healed", "disk-full")]
    assert broker_exit(run_state_of(UP, *full, docker(70, "broker-2", "die", 1))) == []
    assert len(broker_exit(run_state_of(UP, *full, docker(75, "broker-2", "die", 1)))) == 1


@pytest.mark.parametrize(
    "events",
    [
        [docker(20, "broker-2", "die", 137)],
        [docker(20, "broker-2", "die", 143)],
        [docker(20, "zookeeper", "die", 1)],
        [fault(19, "inject", "kill"), DIED],
        [fault(19, "inject", "stop"), DIED],
        [fault(10, "inject", "disk-full"), DIED],
        [fault(10, "inject", "flip"), *START[:1], DIED],
        [fault(10, "inject", "memory-pressure"), DIED],
        [fault(10, "inject", "double"), DIED],
        [DIED, fault(21, "inject", "exit")],
    ],
    ids=[
        "a signal",
        "it was stopped",
        "not Kafka",
        "a kill of ours",
        "a stop of ours",
        "its disk is full",
        "its files were damaged",
        "its memory was taken",
        "it has another's id",
        "it is expected",
    ],
)
def test_an_end_that_something_of_ours_explains(events: list[Event]) -> None:
    assert broker_exit(run_state_of(UP, *events)) == []


def exit_in_start(share: float, told_s: int = 18) -> tuple[Finding, RunState]:
    """A broker that ended 20 s after its process began, and had lost its session; how busy the machine was."""
    line = "org.apache.zookeeper.KeeperException$SessionExpiredException: Session expired for /brokers/ids"
    lost = at(told_s * SECOND, Log(node="broker-2", event="session-lost", line=line))
    waits = Waits(begin_ns=0, slices=((250_000, round(250_000 * share)),) * 80)
    state = run_state_of(docker(1, "broker-2", "start"), lost, at(20 * SECOND, waits), DIED)
    row = Row(node="broker-2", at_ns=20 * SECOND)
    return Finding(anomaly="broker-exit", count=1, evidence=(row,)), state


@pytest.mark.parametrize(
    ("share", "told_s", "permitted"),
    [(0.9, 18, True), (0.1, 18, False), (0.9, 21, False)],
    ids=["a busy machine", "a quiet machine", "it lost its session later"],
)
def test_a_session_that_a_busy_machine_ended_while_a_broker_started(share: float, told_s: int, permitted: bool) -> None:
    finding, state = exit_in_start(share, told_s)
    run = run_record(mode="zookeeper", settings={"zookeeper.session.timeout.ms": "4000"})
    assert (excuses.session_lost_on_busy_machine(run, finding, state) is not None) == permitted
    assert excuses.session_lost_on_busy_machine(run, finding) is None


@pytest.mark.parametrize(
    ("broker_s", "controller_s", "permitted"),
    [(1, 62, True), (1, 60, False), (10, 62, False), (1, 0, False)],
    ids=["too late", "in time", "it ended before its time was over", "it was there before"],
)
def test_a_broker_that_found_no_controller_in_its_start(broker_s: int, controller_s: int, permitted: bool) -> None:
    begun = docker(broker_s, "broker-2", "start")
    state = run_state_of(begun, docker(controller_s, "controller-100", "start"), docker(63, "broker-2", "die", 1))
    finding = Finding(anomaly="broker-exit", count=1, evidence=(Row(node="broker-2", at_ns=63 * SECOND),))
    assert (excuses.could_not_start(run_record(mode="kraft"), finding, state) is not None) == permitted
    assert excuses.could_not_start(run_record(mode="kraft"), finding) is None


@pytest.mark.parametrize(
    ("share", "died_s", "also", "permitted"),
    [
        (0.6, 63, (), True),
        (0.4, 63, (), False),
        (0.6, 60, (), False),
        (0.6, 140, (), False),
        (0.6, 63, (at(30 * SECOND, Broker(source="kraft", node="broker-2", state="unfenced")),), False),
    ],
    ids=["busy", "less busy", "it had time left", "much later", "it was registered"],
)
def test_a_broker_that_registered_too_late_on_a_busy_machine(
    share: float, died_s: int, also: tuple[Event, ...], permitted: bool
) -> None:
    begun = docker(1, "broker-2", "start"), docker(0, "controller-100", "start")
    waits = at(100 * SECOND, Waits(begin_ns=0, slices=((1_000_000, round(1_000_000 * share)),) * 100))
    state = run_state_of(*begun, *also, waits, docker(died_s, "broker-2", "die", 1))
    finding = Finding(anomaly="broker-exit", count=1, evidence=(Row(node="broker-2", at_ns=died_s * SECOND),))
    assert (excuses.could_not_start(run_record(mode="kraft"), finding, state) is not None) == permitted
    assert excuses.could_not_start(run_record(mode="zookeeper"), finding, state) is None


# no-leader


def leaderless(*more: Event, isr: tuple[int, ...] = (1, 2), until_s: float = 10 + LONG_S) -> RunState:
    """Nobody leads from the tenth second on."""
    again = [stated(until_s, 1, isr, epoch=1)]
    return run_state_of(*well("broker-1", "broker-2"), stated(2, 1, (1, 2)), stated(10, -1, isr), *again, *more)


def test_a_partition_that_nobody_leads_though_somebody_could() -> None:
    (row,) = no_leader(leaderless())
    assert (row["topic"], row["partition"], row["could_lead"]) == ("t", 0, ["broker-1", "broker-2"])
    assert row["without_ms"] == LONG_S * 1000
    assert no_leader(leaderless(isr=(2, 7)))[0]["could_lead"] == ["broker-2"]


@pytest.mark.parametrize(
    "seen",
    [
        leaderless(until_s=30),
        leaderless(isr=()),
        leaderless(isr=(7,)),
        leaderless(docker(3, "broker-1", "die", 137), docker(3, "broker-2", "die", 137)),
        leaderless(at(9 * SECOND, Controller(source="kraft", node=None, epoch=2))),
        leaderless(fault(5, "inject", "cut", "controller-100, broker-1")),
        leaderless(fault(5, "inject", "freeze"), fault(40, "healed", "freeze")),
        leaderless(*blind(30)),
        leaderless(still(30)),
    ],
    ids=[
        "not for long",
        "nobody is in sync",
        "who is in sync is not there",
        "all are dead",
        "no controller",
        "a fault lasts",
        "a fault lasted until then",
        "the observer was blind",
        "the machine stood still",
    ],
)
def test_a_partition_that_nobody_can_be_asked_to_lead(seen: RunState) -> None:
    assert no_leader(seen) == []


BUSY = at(50 * SECOND, Waits(begin_ns=0, slices=((1_000_000, 1_000_000),) * 50))
QUIET = at(50 * SECOND, Waits(begin_ns=0, slices=((1_000_000, 0),) * 50))


def test_a_dead_leader_whose_place_is_empty_excuses_nothing() -> None:
    """The cluster states no leader once it has fenced it. That it stays dead, or is started again, is no reason."""
    killed = [fault(8, "inject", "kill", "broker-1"), fault(9, "verified", "kill", "broker-1")]
    gone = at(10 * SECOND, Broker(source="kraft", node="broker-1", state="fenced"))
    back = [fault(40, "inject", "start", "broker-1", "f2"), fault(41, "verified", "start", "broker-1", "f2")]
    for more in ([], back):
        (row,) = no_leader(leaderless(*killed, gone, *more, isr=(2,)))
        assert (row["leader"], row["could_lead"], row["without_ms"]) == (-1, ["broker-2"], LONG_S * 1000)
    other = [fault(8, "inject", "kill", "broker-3"), fault(9, "verified", "kill", "broker-3")]
    assert no_leader(leaderless(*other, isr=(2,))) == []


def test_eligible_leader_replicas_could_lead_where_nobody_is_in_sync() -> None:
    def state(at_s: float, leader: int, isr: tuple[int, ...], elr: tuple[int, ...], epoch: int) -> Partition:
        return replace(stated(at_s, leader, isr, epoch), elr=elr)

    def seen(*elr: int) -> RunState:
        states = [state(2, 1, (1, 2), (), 0), state(10, -1, (), elr, 1), state(10 + LONG_S, 2, (2,), (), 2)]
        return run_state_of(*well("broker-1", "broker-2"), *states)

    (row,) = no_leader(seen(2))
    assert (row["elr"], row["could_lead"]) == ([2], ["broker-2"])
    assert no_leader(seen()) == []
    assert no_leader(seen(7)) == []


def controllers(*offices: tuple[float, str | None]) -> list[Event]:
    return [
        at(round(s * SECOND), Controller(source="kraft", node=node, epoch=n)) for n, (s, node) in enumerate(offices, 2)
    ]


def test_a_leader_that_was_the_controller_has_a_successor() -> None:
    """The office is empty at the moment of the death; who is elected then owes the election of a leader."""
    office = (2, "broker-1"), (10, None), (12, "broker-3")
    (row,) = no_leader(leaderless(*controllers(*office), isr=(2,), until_s=12 + LONG_S))
    assert row["could_lead"] == ["broker-2"]
    assert no_leader(leaderless(*controllers(*office), isr=(2,), until_s=10 + LONG_S)) == []
    dead = docker(9, "broker-1", "die", 137)
    assert no_leader(leaderless(dead, *controllers((2, "broker-1")), isr=(2,), until_s=12 + LONG_S)) == []
    # It led last, lives, and is the controller: nothing keeps it from electing the other one.
    assert len(no_leader(leaderless(*controllers((2, "broker-1")), isr=(2,)))) == 1


def test_a_successor_that_acts_at_once_does_not_excuse_the_controller_before_it() -> None:
    late = controllers((10 + LONG_S, "controller-101"))
    assert len(no_leader(leaderless(*late, until_s=11 + LONG_S))) == 1
    between = controllers((10 + LONG_S, None), (11 + LONG_S, "controller-101"))
    assert len(no_leader(leaderless(*between, until_s=20 + LONG_S))) == 1
    in_half = controllers((30, None), (31, "controller-101"))
    assert no_leader(leaderless(*in_half)) == []


def test_who_has_no_log_directory_online_is_not_elected() -> None:
    """A disk that refused is used again when the broker starts anew, and not when it is healed (KIP-112, KIP-858)."""
    refused = [fault(3, phase, "disk-failure", "broker-2", "f7") for phase in ("inject", "verified", "healed")]
    assert no_leader(leaderless(*refused, isr=(2,))) == []
    assert len(no_leader(leaderless(*refused, *restarted("start"), isr=(2,)))) == 1
    blank = [fault(3, phase, "wipe", "broker-2", "f8") for phase in ("inject", "verified")]
    assert no_leader(leaderless(*blank, isr=(2,))) == []


def test_of_a_topic_that_is_deleted_nobody_has_to_lead_a_partition() -> None:
    deleted = at(11 * SECOND, DeleteTopic(topic="t", by="request DeleteTopics"))
    assert no_leader(leaderless(deleted)) == []
    other = at(11 * SECOND, DeleteTopic(topic="u", by="request DeleteTopics"))
    assert len(no_leader(leaderless(other))) == 1


def test_what_is_late_by_no_more_than_the_machine_held_up_is_a_doubt() -> None:
    seen = leaderless(BUSY)
    assert (no_leader(seen), held_up_by_machine(seen)) == ([], [f"nobody led t-0 for {LONG_S} s"])
    assert (len(no_leader(leaderless(QUIET))), held_up_by_machine(leaderless(QUIET))) == (1, [])
    assert len(no_leader(leaderless(BUSY, until_s=10 + 4 * LONG_S))) == 1
    unruled = controlled(BUSY)
    assert (no_controller(unruled), held_up_by_machine(unruled)) == ([], [f"there was no controller for {LONG_S} s"])
    unread = Unread(topic="t", partition=0, asked_ns=9 * SECOND, end=9, reached=4)
    told = [*well("broker-1", "broker-2"), stated(2, 1, (1,)), at(round((9 + LONG_S) * SECOND), unread)]
    assert len(unreadable(run_state_of(*told))) == 1
    late = run_state_of(*told, BUSY)
    assert (unreadable(late), held_up_by_machine(late)) == ([], [f"t-0 could not be read to its end in {LONG_S} s"])


def dead_leader(*more: Event, until_s: float = 12 + LONG_S, isr: tuple[int, ...] = (1, 2)) -> RunState:
    """The leader is killed in the tenth second, is taken for dead in the twelfth, and is named on."""
    killed = [fault(10, "inject", "kill", "broker-1"), fault(11, "verified", "kill", "broker-1")]
    gone = at(12 * SECOND, Broker(source="kraft", node="broker-1", state="fenced"))
    back = stated(until_s, 2, isr, epoch=1)
    up = well("broker-1", "broker-2")
    return run_state_of(*up, stated(2, 1, isr), *killed, docker(10, "broker-1", "die", 137), gone, back, *more)


def test_a_dead_leader_that_is_named_on_though_somebody_could_lead() -> None:
    (row,) = no_leader(dead_leader())
    assert (row["leader"], row["could_lead"], row["without_ms"]) == (1, ["broker-2"], LONG_S * 1000)
    again = fault(11 + LONG_S, "inject", "start", "broker-1", "f2")
    assert no_leader(dead_leader(again))[0]["could_lead"] == ["broker-2"]


def test_a_leader_that_runs_without_a_session_is_named_on() -> None:
    """Also the second time, and after a cut that is healed."""
    states: tuple[tuple[int, Any], ...] = ((10, "fenced"), (12, "unfenced"), (20, "fenced"))
    told = [at(at_s * SECOND, Broker(source="kraft", node="broker-1", state=state)) for at_s, state in states]
    back = stated(20 + LONG_S, 2, (1, 2), epoch=1)
    (row,) = no_leader(run_state_of(*well("broker-1", "broker-2"), stated(2, 1, (1, 2)), *HEALED_CUT, *told, back))
    assert (row["leader"], row["at_ns"], row["could_lead"]) == (1, 20 * SECOND, ["broker-2"])


@pytest.mark.parametrize(
    "seen",
    [
        dead_leader(until_s=30),
        dead_leader(isr=(1,)),
        dead_leader(
            docker(20, "broker-1", "start"), at(21 * SECOND, Broker(source="kraft", node="broker-1", state="unfenced"))
        ),
        dead_leader(docker(20, "broker-2", "die", 137)),
        dead_leader(fault(13, "inject", "cut", "controller-100, broker-2", "f2")),
        dead_leader(fault(13, "inject", "kill", "controller-100", "f2")),
        dead_leader(at(9 * SECOND, Controller(source="kraft", node="broker-1", epoch=2))),
        dead_leader(at(9 * SECOND, Controller(source="kraft", node=None, epoch=2))),
        dead_leader(still(30)),
    ],
    ids=[
        "not for long",
        "nobody else is in sync",
        "it comes back",
        "all are dead",
        "another fault lasts",
        "the controller is dead",
        "it was the controller",
        "no controller",
        "the machine stood still",
    ],
)
def test_a_dead_leader_that_nobody_can_be_asked_to_replace(seen: RunState) -> None:
    assert no_leader(seen) == []


# no-controller

END = Moment(name="07-final", begun_ns=0)


def controlled(*more: Event, source: Any = "kraft", end_s: float = 10 + LONG_S) -> RunState:
    """With ZooKeeper nobody, with KRaft one of three that is dead, is the controller from the tenth second on."""
    if source == "zookeeper":
        first = at(SECOND, Controller(source=source, node="broker-1", epoch=1))
        begun = [docker(1, "zookeeper", "start"), first, *well("broker-1", "broker-2")[1:]]
        begun.append(at(10 * SECOND, Controller(source=source, node=None, epoch=1)))
    else:
        begun = [*well("broker-1"), *(docker(1, f"controller-10{number}", "start") for number in range(3))]
        begun += [docker(10, "controller-100", "die", 137)]
    return run_state_of(*begun, *more, at(round(end_s * SECOND), END))


def test_nobody_is_the_controller_though_somebody_could_be() -> None:
    (row,) = no_controller(controlled(source="zookeeper"))
    assert (row["could_be"], row["at_ns"], row["without_ms"]) == (["broker-1", "broker-2"], 10 * SECOND, LONG_S * 1000)
    (row,) = no_controller(controlled())
    assert (row["node"], row["without_ms"]) == ("controller-100", LONG_S * 1000)
    assert sorted(row["could_be"]) == ["controller-101", "controller-102"]
    # One of KRaft's was, to which the cluster has migrated: brokers cannot be any more.
    migrated = at(9 * SECOND, Controller(source="zookeeper", node="controller-100", epoch=2))
    assert [row["could_be"] for row in no_controller(controlled(migrated, source="zookeeper"))] == [["controller-100"]]
    # A quorum that nobody leads and of which the engine tells nothing.
    nobody = at(10 * SECOND, Controller(source="kraft", node=None, epoch=2))
    assert len(no_controller(run_state_of(*well("broker-1"), nobody, at((10 + LONG_S) * SECOND, END)))) == 1


@pytest.mark.parametrize("kill", ["controller-100", "controller-101"], ids=["its own death", "another voter's"])
def test_the_death_of_the_controller_is_no_reason_and_that_of_another_is(kill: str) -> None:
    killed = [fault(9, "inject", "kill", kill), fault(10, "verified", "kill", kill)]
    assert len(no_controller(controlled(*killed))) == (kill == "controller-100")


@pytest.mark.parametrize(
    "seen",
    [
        controlled(end_s=30),
        controlled(source="zookeeper", end_s=30),
        controlled(docker(20, "controller-101", "die", 137)),
        controlled(at(11 * SECOND, Controller(source="kraft", node="controller-101", epoch=2))),
        controlled(docker(20, "controller-100", "start")),
        controlled(docker(20, "zookeeper", "die", 137), source="zookeeper"),
        controlled(docker(20, "broker-1", "die"), docker(20, "broker-2", "die"), source="zookeeper"),
        controlled(at(30 * SECOND, Controller(source="zookeeper", node="broker-1", epoch=2)), source="zookeeper"),
        controlled(fault(5, "inject", "cut", "broker-1, zookeeper"), source="zookeeper"),
        controlled(*blind(30), source="zookeeper"),
        controlled(still(30)),
        run_state_of(*well("broker-1"), at(200 * SECOND, END)),
    ],
    ids=[
        "not for long",
        "not for long, with ZooKeeper",
        "there is no majority",
        "another is elected",
        "it is back",
        "there is no ZooKeeper",
        "there are no brokers",
        "a broker is elected",
        "a fault lasts",
        "the observer was blind",
        "the machine stood still",
        "there is one",
    ],
)
def test_a_controller_that_nobody_can_be_asked_to_be(seen: RunState) -> None:
    assert no_controller(seen) == []


# not-registered


def left(*more: Event, source: Any = "kraft", end_s: float = 10 + LONG_S) -> RunState:
    """The session of broker 2 ends at the tenth second."""
    keeper = [docker(1, "zookeeper", "start")] if source == "zookeeper" else []
    gone = at(10 * SECOND, Broker(source=source, node="broker-2", state="gone" if keeper else "fenced"))
    return run_state_of(*keeper, *well("broker-1", "broker-2"), gone, *more, at(round(end_s * SECOND), END))


BACK = at(30 * SECOND, Broker(source="kraft", node="broker-2", state="unfenced"))


@pytest.mark.parametrize("source", ["kraft", "zookeeper"])
def test_a_broker_that_never_registers_again_after_a_cut(source: str) -> None:
    (row,) = not_registered(left(*HEALED_CUT, source=source))
    assert (row["node"], row["state"]) == ("broker-2", "gone" if source == "zookeeper" else "fenced")
    assert (row["at_ns"], row["could_for_ms"]) == (10 * SECOND, LONG_S * 1000)


def test_one_that_was_away_for_long_and_is_back() -> None:
    assert len(not_registered(left(at(100 * SECOND, Broker(source="kraft", node="broker-2", state="unfenced"))))) == 1


@pytest.mark.parametrize(
    "seen",
    [
        left(end_s=30),
        left(BACK),
        left(*HEALED_CUT[:2]),
        left(docker(9, "broker-2", "die", 137)),
        left(docker(9, "broker-2", "die", 137), docker(20, "broker-2", "start")),
        left(docker(20, "zookeeper", "die", 137), source="zookeeper"),
        left(docker(20, "controller-100", "die", 137)),
        left(at(20 * SECOND, Controller(source="kraft", node=None, epoch=2))),
        left(at(20 * SECOND, Controller(source="kraft", node="controller-101", epoch=2))),
        left(*blind(30)),
        left(still(30)),
    ],
    ids=[
        "not for long",
        "it is back",
        "it is cut off",
        "it is dead",
        "it had no time",
        "there is no ZooKeeper",
        "the controller is dead",
        "there is no controller",
        "there is a new controller",
        "the observer was blind",
        "the machine stood still",
    ],
)
def test_a_broker_that_cannot_be_asked_to_register(seen: RunState) -> None:
    assert not_registered(seen) == []


KILLED = (fault(8, "inject", "kill"), docker(9, "broker-2", "die", 137), fault(10, "verified", "kill"))
STARTED = (*KILLED, *START)
STARTED_S = 32


def busy(until_s: int) -> Event:
    """Somebody waits for a CPU all the time."""
    return at(until_s * SECOND, Waits(begin_ns=0, slices=((until_s * 1_000_000_000, until_s * 1_000_000_000),)))


def test_a_broker_that_starts_and_never_registers() -> None:
    seen = left(*STARTED, end_s=STARTED_S + LONG_S)
    (row,) = not_registered(seen)
    assert (row["could_for_ms"], held_up_by_machine(seen)) == (LONG_S * 1000, [])


def test_one_that_starts_slowly_on_a_busy_machine_is_a_doubt() -> None:
    seen = left(*STARTED, busy(STARTED_S + LONG_S), end_s=STARTED_S + LONG_S)
    assert not_registered(seen) == []
    assert held_up_by_machine(seen) == [f"broker-2 had started and was not registered for {LONG_S} s"]


@pytest.mark.parametrize(
    "seen",
    [left(*STARTED, busy(300), end_s=STARTED_S + 4 * LONG_S), left(*HEALED_CUT, busy(10 + LONG_S))],
    ids=["no machine is as slow as that", "its process had begun long before"],
)
def test_what_a_busy_machine_does_not_excuse(seen: RunState) -> None:
    assert len(not_registered(seen)) == 1
    assert held_up_by_machine(seen) == []


# stuck-isr


def left_out(*more: Event, final_s: float = 10 + LONG_S, isr: tuple[int, ...] = (1,)) -> RunState:
    """Broker 2 leaves the ISR at the tenth second, and replicas are copied at the end."""
    final = at(round((final_s + 1) * SECOND), Moment(name="07-final", begun_ns=round(final_s * SECOND)))
    shrunk = stated(3, 1, isr)
    led = stated(2, 1, (1, 2))
    return run_state_of(*well("broker-1", "broker-2"), led, shrunk, final, *more)


HEALED = [fault(5, "inject", "freeze"), fault(6, "verified", "freeze"), fault(10, "healed", "freeze")]


def test_a_broker_whose_start_nobody_told_is_well_since_it_registered() -> None:
    told = [event for event in left_out(*HEALED).events if event != docker(1, "broker-1", "start")]
    (row,) = stuck_isr(run_state_of(*told), RUN)
    assert (row["node"], row["leader"]) == ("broker-2", "broker-1")


def test_a_replica_that_is_well_and_never_comes_back() -> None:
    (row,) = stuck_isr(left_out(*HEALED), RUN)
    assert (row["topic"], row["partition"], row["node"], row["leader"]) == ("t", 0, "broker-2", "broker-1")
    assert (row["isr"], row["well_for_ms"]) == ([1], LONG_S * 1000)


def test_who_is_no_replica_any_more_is_not_stuck_and_who_came_may_be() -> None:
    """Replicas are those that the cluster states, where it states them."""
    moved = replace(stated(4, 1, (1,)), replicas=(1,))
    assert stuck_isr(left_out(*HEALED, moved), RUN) == []
    alone = run_record({"topics": [{"name": "t", "partitions": {"0": [1]}}]})
    grown = replace(stated(4, 1, (1,)), replicas=(1, 2))
    assert [row["node"] for row in stuck_isr(left_out(*HEALED, grown), alone)] == ["broker-2"]


def test_a_replica_that_has_just_left_is_not_stuck() -> None:
    """It was in sync until then, whatever made it leave; that is told by the shrink."""
    assert stuck_isr(left_out(*HEALED, stated(20, 1, (1, 2)), stated(9 + LONG_S, 1, (1,))), RUN) == []
    seen = left_out(*HEALED, stated(20, 1, (1, 2)), stated(21, 1, (1,)), final_s=21 + LONG_S)
    assert [row["well_for_ms"] for row in stuck_isr(seen, RUN)] == [LONG_S * 1000]


def restarted(kind: str) -> list[Event]:
    """Broker 2 is stopped, and its process runs again: as it was, as another release, or with another protocol."""
    return [
        fault(4, "inject", "stop"),
        docker(5, "broker-2", "die", 143),
        fault(5.5, "verified", "stop"),
        fault(7, "inject", kind, id_="f2"),
        docker(8, "broker-2", "start"),
        fault(9, "verified", kind, id_="f2"),
    ]


@pytest.mark.parametrize("kind", ["start", "upgrade", "raise"])
def test_a_replica_never_comes_back_whatever_it_was_started_as(kind: str) -> None:
    assert len(stuck_isr(left_out(*restarted(kind), final_s=9 + LONG_S), RUN)) == 1
    assert stuck_isr(left_out(*restarted(kind), final_s=8 + LONG_S - 1), RUN) == []
    assert stuck_isr(left_out(*restarted(kind)[:-1], final_s=9 + LONG_S), RUN) == []


@pytest.mark.parametrize("kind", ["start", "upgrade", "raise"])
def test_duties_after_the_faults_are_owed_whatever_a_broker_was_started_as(kind: str) -> None:
    """A partition that nobody leads, and one that cannot be read."""
    healthy = well("broker-1", "broker-2")
    end = at(round((11 + LONG_S) * SECOND), Moment(name="07-final", begun_ns=round((10 + LONG_S) * SECOND)))
    unled = run_state_of(*healthy, stated(2, 1, (1, 2)), stated(3, -1, (1,)), *restarted(kind), end)
    assert len(no_leader(unled)) == 1
    asked = round(9 * SECOND)
    unread = Unread(topic="t", partition=0, asked_ns=asked, end=9, reached=4)
    told = [*healthy, stated(2, 1, (1,)), *restarted(kind), at(round((10 + LONG_S) * SECOND), unread)]
    assert len(unreadable(run_state_of(*told))) == 1


@pytest.mark.parametrize(
    "seen",
    [
        left_out(*HEALED, isr=(1, 2)),
        left_out(*HEALED, final_s=40),
        left_out(*HEALED[:2]),
        left_out(docker(20, "broker-2", "die", 137)),
        left_out(at(20 * SECOND, Broker(source="kraft", node="broker-2", state="fenced"))),
        left_out(stated(20, 1, (1,), epoch=2)),
        left_out(stated(20, -1, (1,), epoch=2)),
        left_out(*blind(20)),
        left_out(still(20)),
    ],
    ids=[
        "it is there",
        "it had no time",
        "the fault lasts",
        "it is down",
        "it is fenced",
        "there is a new leader",
        "nobody leads",
        "the observer was blind",
        "the machine stood still",
    ],
)
def test_a_replica_that_cannot_be_asked_to_be_in_sync(seen: RunState) -> None:
    assert stuck_isr(seen, RUN) == []


def test_without_a_last_look_nothing_is_said() -> None:
    assert stuck_isr(run_state_of(*well("broker-1"), stated(2, 1, (1,))), RUN) == []


@pytest.mark.parametrize("out_of_sync", [True, False])
def test_where_a_replica_stays_out_by_documentation_it_is_permitted(out_of_sync: bool) -> None:
    run = run_record(documented={"out_of_sync": out_of_sync})
    assert (permitted(run, Finding(anomaly="stuck-isr")) is not None) == out_of_sync


# unreadable


def unread(*more: Event, asked_s: float = 10, given_up_s: float = 10 + LONG_S) -> RunState:
    given_up = Unread(topic="t", partition=0, end=5, reached=2, asked_ns=round(asked_s * SECOND))
    return run_state_of(
        *well("broker-1", "broker-2"), stated(2, 1, (1, 2)), at(round(given_up_s * SECOND), given_up), *more
    )


def test_a_partition_that_is_led_and_cannot_be_read() -> None:
    (row,) = unreadable(unread())
    assert (row["topic"], row["partition"], row["node"], row["end"], row["reached"]) == ("t", 0, "broker-1", 5, 2)
    assert row["tried_ms"] == LONG_S * 1000


@pytest.mark.parametrize(
    "seen",
    [
        unread(given_up_s=30),
        unread(stated(20, -1, (1,), epoch=1)),
        unread(stated(20, 2, (1, 2), epoch=1)),
        unread(docker(20, "broker-1", "die", 137)),
        unread(still(20)),
        unread(docker(5, "broker-2", "disconnect"), docker(8, "broker-2", "connect")),
        unread(docker(20, "broker-2", "pause"), docker(21, "broker-2", "unpause")),
        run_state_of(*well("broker-1"), stated(2, 1, (1,))),
    ],
    ids=[
        "it had no time",
        "nobody leads",
        "another leads",
        "its leader is down",
        "the machine stood still",
        "somebody took a node off the network, for a while",
        "somebody paused a node",
        "it was read",
    ],
)
def test_a_partition_that_cannot_be_asked_for(seen: RunState) -> None:
    assert unreadable(seen) == []


@pytest.mark.parametrize(
    "more", [docker(20, "broker-2", "die", 1), docker(12 + LONG_S, "broker-2", "pause")], ids=["its own end", "later"]
)
def test_what_nobody_did_to_a_node_before_is_no_reason(more: Event) -> None:
    assert unreadable(unread(more)) != []


# acknowledged-below-min-insync

TWO = {"settings": {"min.insync.replicas": "2"}}


def times(*events: Event, **run: Any) -> list[Any]:
    return too_small(
        run_record({"topics": [{"name": "t", "partitions": {"0": [1, 2]}}], **TWO, **run}),
        run_state_of(*events),
        "t",
        0,
    )


SHRUNK = [stated(2, 1, (1, 2)), stated(10, 1, (1,)), stated(30, 1, (1, 2))]


def acked(from_s: float, to_s: float, **more: Any) -> dict[str, Any]:
    return sent(0, 7, invoked_ns=round(from_s * SECOND), completed_ns=round(to_s * SECOND), **more)


def test_an_acknowledgement_with_too_few_in_sync() -> None:
    (row,) = acknowledged_below_min_insync(view(acked(16, 17)), times(*SHRUNK))
    assert (row["offset"], row["isr"], row["min_insync_replicas"]) == (7, [1], 2)


@pytest.mark.parametrize(
    "row",
    [acked(5, 6), acked(9, 17), acked(12, 13), acked(16, 31), acked(16, 17, acks=1), acked(16, 17, outcome="info")],
    ids=["before", "sent before", "the leader may not know", "answered when it had grown", "acks=1", "nobody knows"],
)
def test_what_min_insync_does_not_forbid(row: dict[str, Any]) -> None:
    assert acknowledged_below_min_insync(view(row), times(*SHRUNK)) == []


def test_when_an_isr_is_too_small() -> None:
    assert [(one.begin_ns, one.end_ns) for one in times(*SHRUNK)] == [(15 * SECOND, 30 * SECOND)]
    assert times(*SHRUNK, settings={}) == []
    own = [{"name": "t", "partitions": {"0": [1, 2]}, "settings": {"min.insync.replicas": "1"}}]
    assert times(*SHRUNK, topics=own) == []
    assert times(stated(2, 1, (1, 2)), stated(10, -1, (1,)), stated(30, 1, (1, 2))) == []
    assert times(stated(2, 1, (1, 2)), stated(10, 1, (1,)), stated(12, 1, (1, 2))) == []
    never_enough = [stated(2, 1, (1, 2)), stated(10, 1, (1,)), stated(12, 2, (1, 2)), stated(30, 2, (2,))]
    of_three = [{"name": "t", "partitions": {"0": [1, 2, 3]}}]
    three = times(*never_enough, settings={"min.insync.replicas": "3"}, topics=of_three)
    assert [(one.begin_ns // SECOND, one.isr) for one in three][:3] == [(7, (1, 2)), (10, (1,)), (17, (1, 2))]
    keeper = docker(1, "controller-100", "start")
    links = (("broker-1", "controller-100"), ("controller-100", "broker-1"))
    cut = [fault(5, phase, "cut", "broker-1, controller-100") for phase in ("inject", "verified")]
    assert times(keeper, *(replace(one, links=links) for one in cut), *SHRUNK) == []


def set_to(from_s: float, to_s: float, value: str, name: str = "set for a topic", **of_topic: str) -> list[Event]:
    detail = {"setting": "min.insync.replicas", "value": value, **of_topic}
    phases: list[tuple[float, Any]] = [(from_s, "begin"), (to_s, "end")]
    return [at(round(at_s * SECOND), Step(name=name, phase=phase, detail=detail)) for at_s, phase in phases]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (set_to(20, 21, "1", topic="t"), [(15, 20)]),
        (set_to(5, 6, "1", topic="t"), []),
        (set_to(20, 21, "1", topic="other"), [(15, 20), (20, 21), (21, 30)]),
        (set_to(20, 21, "1", "set for all brokers"), [(15, 20)]),
        (set_to(35, 36, "3", topic="t"), [(15, 30), (41, 900)]),
        (set_to(20, 21, "3", topic="t"), [(15, 20), (20, 21), (21, 30), (30, 900)]),
    ],
    ids=["lowered", "lowered before", "another topic's", "lowered for all", "raised later", "raised"],
)
def test_what_min_insync_replicas_is_set_to_meanwhile(events: list[Event], expected: list[tuple[int, int]]) -> None:
    three = [{"name": "t", "partitions": {"0": [1, 2, 3]}}]
    found = times(*SHRUNK, *events, at(900 * SECOND, Note(text="the end")), topics=three)
    assert [(one.begin_ns // SECOND, one.end_ns // SECOND) for one in found] == expected


def test_a_topics_own_number_comes_before_that_of_all_brokers() -> None:
    own = [{"name": "t", "partitions": {"0": [1, 2]}, "settings": {"min.insync.replicas": "2"}}]
    assert times(*SHRUNK, *set_to(5, 6, "1", "set for all brokers"), topics=own) != []


def test_what_is_set_for_all_brokers_comes_before_what_they_were_made_with() -> None:
    raised = set_to(5, 6, "2", "set for all brokers")
    assert times(*SHRUNK, *raised, settings={"min.insync.replicas": "1"}) != []


def test_the_least_of_what_brokers_have_of_their_own() -> None:
    assert times(*SHRUNK, settings={"min.insync.replicas": "2", "2:min.insync.replicas": "1"}) == []


GROWN = [
    replace(stated(second, 1, isr), replicas=replicas)
    for second, isr, replicas in [
        (2, (1,), (1,)),
        (10, (1, 2, 3), (1, 2, 3)),
        (50, (1,), (1, 2, 3)),
        (90, (1, 2, 3), (1, 2, 3)),
    ]
]
"""A partition of one replica gets two more, and then the leader is alone."""


def test_all_replicas_are_those_that_the_partition_has_at_the_time() -> None:
    """The leader hears of them some time before or after they are stated."""
    made = [{"name": "t", "partitions": {"0": [1]}}]
    small = times(*GROWN, at(100 * SECOND, Note(text="the end")), topics=made, kafka="4.3.1")
    assert [(one.begin_ns // SECOND, one.end_ns // SECOND) for one in small] == [(55, 90)]
    run_state, run = run_state_of(*GROWN), run_record({"topics": made, "kafka": "4.3.1", **TWO})
    bounds = [min_insync_bounds(run, run_state, ("t", 0), second * SECOND) for second in (3, 8, 12, 30)]
    assert bounds == [(1, 1), (1, 2), (1, 2), (2, 2)]


def test_a_partition_that_grows_asks_for_more_while_its_isr_stays() -> None:
    """Its leader knows of the others 5 s later, and of its ISR 5 s after that."""
    made, end = [{"name": "t", "partitions": {"0": [1]}}], at(100 * SECOND, Note(text="the end"))
    first = replace(stated(2, 1, (1,)), replicas=(1,))
    alone = replace(stated(10, 1, (1,)), replicas=(1, 2, 3))
    briefly = [replace(stated(11, 1, (1, 2)), replicas=(1, 2, 3)), replace(stated(12, 1, (1,)), replicas=(1, 2, 3))]
    for events, begin in (([first, alone], 20), ([first, alone, *briefly], 20)):
        small = times(*events, end, topics=made, kafka="4.3.1")
        assert [(round(one.begin_ns / SECOND), round(one.end_ns / SECOND)) for one in small] == [(begin, 100)]


def test_the_most_that_may_be_asked_for_is_that_of_any_broker() -> None:
    run = run_record({"topics": [], "settings": {"min.insync.replicas": "1", "2:min.insync.replicas": "2"}})
    assert min_insync_bounds(run, run_state_of(*SHRUNK), ("t", 0), 12 * SECOND) == (1, 2)


@pytest.mark.parametrize(
    ("kafka", "accused"), [("3.6.2", True), ("3.7.0", False), ("4.3.1", False)], ids=["before", "from", "later"]
)
def test_all_replicas_are_enough_from_3_7_on(kafka: str, accused: bool) -> None:
    alone = [{"name": "t", "partitions": {"0": [1]}}]
    assert bool(times(stated(2, 1, (1,)), stated(30, 1, (1,)), topics=alone, kafka=kafka)) == accused
    assert times(*SHRUNK, kafka=kafka) != []


# lost-write


def above(
    acks: int,
    *events: Event,
    holders: tuple[str, ...] = ("broker-1",),
    offset: int = 5,
    end: int = 5,
    isr: tuple[int, ...] = (1, 2),
) -> tuple[Finding, RunState]:
    """A record that the final read did not find, and which replicas hold it at the end; broker 1 leads."""
    final = at(20 * SECOND, Moment(name="07-final", begun_ns=19 * SECOND))
    holdings = {"07-final": {"broker-1": None, "broker-2": None} | dict.fromkeys(holders, offset)}
    row = Row(acks=acks, offset=offset, holdings=holdings, detail={"final_offset": end})
    finding = Finding(anomaly="lost-write", topic="t", partition=0, count=1, evidence=(row,))
    return finding, run_state_of(*well("broker-1", "broker-2"), stated(2, 1, isr), *events, final)


def test_a_record_above_the_high_watermark_is_not_lost_if_acks_did_not_wait_for_it() -> None:
    for acks, allowed in ((1, True), (0, True), (-1, False)):
        finding, state = above(acks)
        assert (permitted(RUN, finding, state) is not None) == allowed
    for finding, state in (above(1, holders=("broker-2",)), above(1, offset=4)):
        assert permitted(RUN, finding, state) is None
    # The high watermark is behind what everybody in sync has: it is stuck.
    for finding, state in (above(1, holders=("broker-1", "broker-2")), above(1, isr=(1,))):
        assert permitted(RUN, finding, state) is None


@pytest.mark.parametrize(
    ("kafka", "least", "allowed"), [("4.3.1", "2", True), ("3.6.2", "2", False), ("4.3.1", "1", False)]
)
def test_from_3_7_on_a_small_isr_holds_the_high_watermark_back(kafka: str, least: str, allowed: bool) -> None:
    plan = {"name": "t", "partitions": {"0": [1, 2]}, "settings": {"min.insync.replicas": least}}
    finding, state = above(1, isr=(1,))
    assert (permitted(run_record({"kafka": kafka, "topics": [plan]}), finding, state) is not None) == allowed


@pytest.mark.parametrize(
    ("kafka", "sent_s", "epoch", "mode", "allowed"),
    [
        ("2.6.3", 9, 0, "zookeeper", False),
        ("2.7.0", 9, 0, "zookeeper", True),
        ("3.0.2", 9, 0, "zookeeper", True),
        ("3.1.0", 9, 0, "zookeeper", False),
        ("2.8.2", 60, 0, "zookeeper", False),
        ("2.8.2", 9, 1, "zookeeper", False),
        ("3.0.2", 9, 0, "kraft", False),
    ],
    ids=["before", "2.7", "3.0", "3.1", "sent later", "another term", "KRaft"],
)
def test_when_a_leader_shrinks_the_isr_the_high_watermark_may_stay(
    kafka: str, sent_s: int, epoch: int, mode: str, allowed: bool
) -> None:
    """KAFKA-13091."""
    topics = [{"name": "t", "partitions": {"0": [1, 2]}}]
    finding, state = above(1, stated(10, 1, (1,), epoch))
    finding = replace(finding, evidence=(replace(finding.evidence[0], invoked_ns=sent_s * SECOND),))
    run = run_record({"kafka": kafka, "topics": topics, "mode": mode})
    assert (permitted(run, finding, state) is not None) == allowed


def test_what_is_needed_to_call_a_record_that_was_not_read_kept() -> None:
    finding, state = above(1)
    assert permitted(RUN, finding) is None
    assert permitted(RUN, replace(finding, count=2), state) is None
    assert permitted(RUN, finding, run_state_of(*(one for one in state.events if not isinstance(one, Moment)))) is None
