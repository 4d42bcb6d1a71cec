"""Elections, shrinks of an ISR and ends of sessions: which are explained, and by what."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from checks.anomalies.spontaneous import (
    spontaneous_controller_change,
    spontaneous_election,
    spontaneous_fencing,
    spontaneous_isr_shrink,
)
from checks.claims.spontaneous import after_ns, spontaneous
from evidence.events import Broker, Controller, Event, Fault, Machine, Partition, Reassign, Step, Waits
from evidence.run import RunRecord
from tests.records import run_record
from tests.unit.checks.test_availability_anomalies import SECOND, blind, docker, fault, run_state_of, still, well
from tests.unit.timelines import at

SETTINGS = {"broker.session.timeout.ms": "4000", "replica.lag.time.max.ms": "10000"}
STEADY = SETTINGS | {"auto.leader.rebalance.enable": "false"}
RUN = run_record(topics=[{"name": "t", "partitions": {"0": [1, 2, 3]}}], settings=STEADY)
UP = [*well("broker-1", "broker-2", "broker-3")]
WITH_ZOOKEEPER = run_record(
    topics=[{"name": "t", "partitions": {"0": [1, 2, 3]}}],
    mode="zookeeper",
    settings=STEADY | {"zookeeper.session.timeout.ms": "4000"},
)
LATER_S = after_ns(RUN, "election") / SECOND
SHRUNK_S = after_ns(RUN, "isr-shrink") / SECOND


def led(at_s: float, leader: int, isr: tuple[int, ...], epoch: int = 0, **more: Any) -> Partition:
    about: dict[str, Any] = {"source": "kraft", "topic": "t", "partition": 0, "replicas": (1, 2, 3)} | more
    return at(round(at_s * SECOND), Partition(leader=leader, leader_epoch=epoch, isr=isr, **about))


CREATED = led(2, 1, (1, 2, 3))
ELECTED = led(60, 2, (1, 2, 3), 1)
SHRUNK = led(60, 1, (1, 3))


def registered(at_s: float, node: str, state: Any) -> Broker:
    return at(round(at_s * SECOND), Broker(source="kraft", node=node, state=state))


FENCED = registered(60, "broker-2", "fenced")


IN_OFFICE = at(9 * SECOND, Controller(source="kraft", node="broker-3", epoch=2))


def names(*events: Event, run: RunRecord = RUN) -> list[str]:
    """Of what is found: which anomalies, each once. A controller that is in office early is the first."""
    own = any(isinstance(one, Controller) and one.at_ns < 10 * SECOND for one in events)
    run_state = run_state_of(*(UP[1:] if own else UP), CREATED, *events)
    checks = (spontaneous_election, spontaneous_isr_shrink, spontaneous_fencing, spontaneous_controller_change)
    return [check.__name__.removeprefix("spontaneous_") for check in checks if check(run_state, run)]


def test_a_leader_a_follower_and_a_session_that_go_for_no_reason() -> None:
    assert names() == []
    assert names(ELECTED) == ["election"]
    assert names(SHRUNK) == ["isr_shrink"]
    assert names(FENCED) == ["fencing"]
    assert names(FENCED, SHRUNK) == ["isr_shrink", "fencing"]


def test_what_is_said_of_an_election() -> None:
    (row,) = spontaneous_election(run_state_of(*UP, CREATED, ELECTED), RUN)
    assert (row["topic"], row["partition"], row["node"], row["at_ns"]) == ("t", 0, "broker-1", 60 * SECOND)
    assert (row["leader_before"], row["leader"], row["isr_before"]) == (1, 2, [1, 2, 3])
    assert (row["held_up_ms"], row["limit_ms"]) == (0, 4000)


def test_a_leader_that_is_elected_again_in_another_epoch() -> None:
    assert names(led(60, 1, (1, 2, 3), 1)) == ["election"]
    # A follower left, and the controller raised the leader's epoch with it.
    assert names(led(60, 1, (1, 3), 1)) == ["isr_shrink"]
    # It was made again, and begins anew.
    assert names(led(60, 1, (1, 2, 3), 4), led(90, 2, (2, 3, 1), 0)) == ["election"]


def test_a_leader_that_is_taken_away() -> None:
    assert names(led(60, -1, (1, 2, 3), 1)) == ["election"]
    # Whoever leads next has a reason: nobody leads.
    assert len(spontaneous(run_state_of(*UP, CREATED, led(60, -1, (1, 2, 3), 1), led(61, 2, (1, 2, 3), 2)), RUN)) == 1


@pytest.mark.parametrize(
    "before",
    [
        [docker(59, "broker-1", "die", 137), docker(59, "broker-2", "die", 137)],
        [docker(20, "broker-1", "pause"), docker(20, "broker-2", "pause")],
    ],
    ids=["down", "paused"],
)
def test_who_is_not_up_is_replaced(before: list[Event]) -> None:
    assert [names(*before, change) for change in (ELECTED, SHRUNK, FENCED)] == [[], [], []]


def struck(kind: str, node: str, begin_s: float, end_s: float | None) -> list[Event]:
    phases: list[Event] = [fault(begin_s, "inject", kind, node), fault(begin_s + 1, "verified", kind, node)]
    return phases + ([] if end_s is None else [fault(end_s, "healed", kind, node)])


@pytest.mark.parametrize(
    ("events", "explained"),
    [
        (struck("freeze", "broker-1", 20, None), True),
        (struck("slow-disk", "broker-1", 20, 59), True),
        (struck("freeze", "broker-1", 20, 60 - LATER_S), True),
        (struck("freeze", "broker-1", 20, 59.9 - LATER_S), False),
        (struck("freeze", "broker-3", 20, None), False),
        (struck("freeze", "controller-100", 20, None), True),
        (struck("cpu-pressure", "broker-3", 20, None), True),
        (struck("freeze-client", "producer-1", 20, None), False),
        ([*struck("freeze", "broker-3", 20, None), IN_OFFICE], True),
        (blind(59), True),
        ([docker(56, "broker-1", "pause"), docker(57, "broker-1", "unpause")], True),
    ],
    ids=[
        "a fault of the leader lasts",
        "its disk was slow",
        "a fault had ended as long before as it takes",
        "a fault had ended longer before",
        "another node's fault",
        "a controller's fault",
        "pressure on the machine",
        "a client's fault",
        "the controller's fault",
        "the observer was blind",
        "somebody paused it",
    ],
)
def test_what_explains_an_election(events: list[Event], explained: bool) -> None:
    assert names(*events, ELECTED) == ([] if explained else ["election"])


@pytest.mark.parametrize(("node", "explained"), [("broker-2", True), ("broker-1", True), ("broker-3", False)])
def test_a_shrink_is_explained_by_faults_of_the_follower_and_of_its_leader(node: str, explained: bool) -> None:
    assert names(*struck("freeze", node, 20, 60 - SHRUNK_S), SHRUNK) == ([] if explained else ["isr_shrink"])
    assert names(*struck("freeze", node, 20, 59.9 - SHRUNK_S), SHRUNK) == ["isr_shrink"]


def test_a_shrink_is_explained_by_what_befell_the_leader_before() -> None:
    moved = led(45, 1, (1, 2, 3), 2)
    begun = [led(10, 3, (1, 2, 3), 1), moved]
    frozen = struck("freeze", "broker-3", 40, 44)
    assert names(*frozen, *begun, led(60, 1, (1, 3), 2)) == ["election"]  # of 3 in the place of 1, with no reason
    assert names(*struck("freeze", "broker-3", 9, 9.5), *begun, led(70, 1, (1, 3), 2)) == ["election", "isr_shrink"]


def test_a_session_is_explained_by_faults_of_its_broker_and_of_who_keeps_it() -> None:
    assert names(*struck("freeze", "broker-2", 20, 59), FENCED) == []
    assert names(*struck("freeze", "controller-100", 20, 59), FENCED) == []
    assert names(*struck("freeze", "broker-1", 20, 59), FENCED) == ["fencing"]


def step(name: str, begin_s: float, end_s: float) -> list[Event]:
    return [
        at(round(begin_s * SECOND), Step(name=name, phase="begin")),
        at(round(end_s * SECOND), Step(name=name, phase="end")),
    ]


@pytest.mark.parametrize(
    ("name", "explained"),
    [
        ("ask for the preferred leader", True),
        ("move the controller", True),
        ("set for a topic", True),
        ("create topic", False),
        ("send", False),
    ],
)
def test_what_an_administrator_asks_for(name: str, explained: bool) -> None:
    assert names(*step(name, 58, 59), ELECTED) == ([] if explained else ["election"])
    assert names(*step(name, 40, 41), ELECTED) == ["election"]


def test_a_reassignment_explains_what_happens_until_it_is_done() -> None:
    asked = at(20 * SECOND, Reassign(topic="t", partition=0, replicas=(2, 3), by="x"))
    moved = led(60, 2, (2, 3), 1, replicas=(2, 3))
    assert names(asked, moved) == []
    assert names(asked, led(22, 1, (1, 2, 3), replicas=(2, 3)), ELECTED) == []
    assert names(asked, led(22, 2, (2, 3), 1, replicas=(2, 3)), led(60, 3, (2, 3), 2, replicas=(2, 3))) == ["election"]


def test_a_reassignment_that_is_never_done_explains_its_own_partition() -> None:
    asked = at(20 * SECOND, Reassign(topic="t", partition=0, replicas=(2, 3), by="x"))
    other = [led(at_s, leader, (1, 2, 3), epoch, partition=1) for at_s, leader, epoch in ((2, 1, 0), (60, 2, 1))]
    assert names(asked, ELECTED) == []
    assert names(asked, *other) == names(asked, *other, ELECTED) == ["election"]
    assert names(asked, FENCED) == ["fencing"]


def test_a_follower_may_begin_to_fetch_later_than_it_may_lag() -> None:
    new = [led(50, 1, (1, 2, 3), partition=1), led(54, 1, (1, 3), partition=1)]
    assert names(*new) == []
    assert names(new[0], led(56, 1, (1, 3), partition=1)) == ["isr_shrink"]
    assert names(new[0], led(54, 2, (1, 2, 3), 1, partition=1)) == ["election"]
    assert names(*new, led(54, 1, (1, 3))) == ["isr_shrink"]


def test_who_is_no_replica_any_more_leaves_the_isr() -> None:
    assert names(led(60, 1, (1, 3), replicas=(1, 3))) == []


@pytest.mark.parametrize(
    ("setting", "leader", "isr", "explained"),
    [
        ("true", 1, (1, 2, 3), True),
        ("false", 1, (1, 2, 3), False),
        ("true", 3, (1, 2, 3), False),
        ("true", 1, (2, 3), False),
    ],
    ids=["it is on", "it is off", "another than the preferred one", "who was not in sync"],
)
def test_an_automatic_rebalance(setting: str, leader: int, isr: tuple[int, ...], explained: bool) -> None:
    run = replace(RUN, settings=SETTINGS | {"auto.leader.rebalance.enable": setting})
    begun = led(3, 2, isr, 1)
    found = spontaneous(run_state_of(*UP, begun, led(60, leader, (1, 2, 3), 2)), run)
    assert [one.what for one in found] == ([] if explained else ["election"])
    by_default = replace(RUN, settings=SETTINGS)
    assert bool(spontaneous(run_state_of(*UP, begun, led(60, leader, (1, 2, 3), 2)), by_default)) == (
        not explained and setting == "true"
    )


def test_a_broker_that_starts_late_and_registers_again() -> None:
    started: list[Event] = [
        fault(29, "inject", "stop"),
        fault(30, "verified", "stop"),
        docker(30, "broker-2", "die", 143),
    ]
    started += [fault(31, "inject", "start", id_="f2"), docker(31, "broker-2", "start")]
    started.append(fault(32, "verified", "start", id_="f2"))
    gone, back = registered(32, "broker-2", "fenced"), registered(58, "broker-2", "unfenced")
    assert names(*started, gone, back, SHRUNK) == []
    assert names(*started, gone, registered(50, "broker-2", "unfenced"), SHRUNK) == ["isr_shrink"]


def waits(share: float, until_s: int = 60) -> Waits:
    slices = ((250_000, round(250_000 * share)),) * (until_s * 4)
    return at(until_s * SECOND, Waits(begin_ns=0, slices=slices))


@pytest.mark.parametrize(
    ("event", "change", "by_machine"),
    [
        (waits(0.24), ELECTED, True),
        (waits(0.22), ELECTED, False),
        (waits(0.9, 53), ELECTED, False),
        (still(58), ELECTED, True),
        (still(58), SHRUNK, False),
        (still(40), ELECTED, False),
        (at(70 * SECOND, Machine(seconds=69.0, late_ms=0, cpu=0.24)), ELECTED, True),
        (at(70 * SECOND, Machine(seconds=69.0, late_ms=0, cpu=0.22)), ELECTED, False),
    ],
    ids=[
        "somebody waited for half a session",
        "somebody waited for less",
        "it was busy before",
        "it stood still for half a session",
        "that is too short for a lag",
        "it stood still before",
        "nothing says when it was busy",
        "nor that it was so for long",
    ],
)
def test_what_the_machine_may_have_done(event: Event, change: Event, by_machine: bool) -> None:
    """Half of a session of 4 s, in the 8.7 s in which it may have ended. ZooKeeper does not say whether it did."""
    (found,) = spontaneous(run_state_of(*UP, CREATED, event, change), WITH_ZOOKEEPER)
    assert found.by_machine == by_machine
    assert bool(names(event, change, run=WITH_ZOOKEEPER)) != by_machine


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_controller_elects_another_leader_because_a_session_has_ended_or_for_no_reason(share: float) -> None:
    """KRaft's metadata log has a record of each session's end, whatever the machine does."""
    assert names(waits(share), ELECTED) == ["election"]
    assert names(waits(share), registered(60, "broker-1", "fenced"), ELECTED) == []
    assert names(waits(share), ELECTED, registered(60.1, "broker-1", "fenced")) == []


def test_a_shrink_by_a_session_is_the_machines_only_in_the_time_in_which_a_session_ends() -> None:
    """Of a session of 4 s half, in 8.7 s; a lag has more time."""
    (_, few), (_, many) = (
        spontaneous(run_state_of(*UP, CREATED, FENCED, led(60.5, 1, (1, 3)), waits(share, 61)), RUN)
        for share in (0.2, 0.3)
    )
    assert (few.what, few.by_machine, many.by_machine) == ("isr-shrink", False, True)


def test_a_fenced_follower_is_held_to_its_session_and_not_to_its_lag() -> None:
    shrunk = led(60.5, 1, (1, 3))
    found = spontaneous(run_state_of(*UP, CREATED, FENCED, shrunk), RUN)
    assert [(one.what, one.limit_ns) for one in found] == [("fencing", 4 * SECOND), ("isr-shrink", 4 * SECOND)]
    assert [one.text for one in found] == ["the session of broker-2 ended", "broker-2 left the ISR of t-0"]


# The controller


def office(at_s: float, node: str | None, epoch: int, source: Any = "kraft") -> Controller:
    return at(round(at_s * SECOND), Controller(source=source, node=node, epoch=epoch))


QUORUM: list[Event] = [docker(1, f"controller-10{number}", "start") for number in range(3)]
KEEPER: list[Event] = [docker(1, "zookeeper", "start"), office(9, "broker-3", 2, "zookeeper")]
REPLACED = office(60, "controller-101", 2)
RESIGNED = office(60, None, 2, "zookeeper")
IN_ZOOKEEPER = replace(RUN, mode="zookeeper", settings={**STEADY, "zookeeper.session.timeout.ms": "4000"})


def test_a_controller_that_is_replaced_for_no_reason() -> None:
    assert names(*QUORUM) == []
    assert names(*QUORUM, REPLACED) == ["controller_change"]
    assert names(*QUORUM, office(60, "controller-100", 2)) == ["controller_change"]
    assert names(*KEEPER, RESIGNED, run=IN_ZOOKEEPER) == ["controller_change"]
    # Whoever is elected next has a reason: nobody is the controller.
    back = office(61, "broker-1", 3, "zookeeper")
    (row,) = spontaneous_controller_change(run_state_of(*UP[1:], *KEEPER, RESIGNED, back), IN_ZOOKEEPER)
    assert (row["node"], row["at_ns"], row["controller"]) == ("broker-3", 60 * SECOND, "")
    assert (row["office_before"], row["office"], row["limit_ms"]) == ("epoch 2", "epoch 2", 4000)


def test_a_quorum_that_elects_all_the_time() -> None:
    changes = [office(10 + 2 * number, f"controller-10{number % 3}", 2 + number) for number in range(60)]
    assert len(spontaneous_controller_change(run_state_of(*UP, *QUORUM, *changes), RUN)) == 60


@pytest.mark.parametrize(
    ("events", "explained"),
    [
        ([docker(20, "controller-100", "die", 137)], True),
        (struck("freeze", "controller-100", 20, 59), True),
        (struck("freeze", "controller-102", 20, 60 - LATER_S), True),
        (struck("freeze", "controller-102", 20, 59.9 - LATER_S), False),
        (struck("freeze", "broker-1", 20, None), False),
        (struck("freeze-client", "producer-1", 20, None), False),
        (struck("cpu-pressure", "broker-3", 20, None), True),
        ([docker(56, "controller-102", "start")], True),
        ([docker(54, "controller-102", "start")], False),
        (blind(59), True),
        (step("move the controller", 58, 59), True),
        ([still(58)], True),
        ([still(40)], False),
        ([waits(0.12)], True),
        ([waits(0.11)], False),
    ],
    ids=[
        "it was down",
        "it was frozen",
        "another voter was frozen",
        "another voter was frozen longer before",
        "a broker's fault",
        "a client's fault",
        "pressure on the machine",
        "a voter began",
        "a voter had begun before",
        "the observer was blind",
        "somebody moved it",
        "the machine stood still",
        "it stood still before",
        "somebody waited for half of what voters wait",
        "somebody waited for less",
    ],
)
def test_what_explains_that_a_quorum_elects(events: list[Event], explained: bool) -> None:
    voters = [one for one in QUORUM if one not in events and not (events[0].at_ns > 50 * SECOND and one is QUORUM[2])]
    assert names(*voters, *events, REPLACED) == ([] if explained else ["controller_change"])


@pytest.mark.parametrize(
    ("node", "explained"), [("broker-3", True), ("zookeeper", True), ("broker-1", False)], ids=["own", "keeper", "not"]
)
def test_what_explains_that_a_session_of_the_controller_ends(node: str, explained: bool) -> None:
    struck_by = struck("freeze", node, 20, 59)
    assert names(*KEEPER, *struck_by, RESIGNED, run=IN_ZOOKEEPER) == ([] if explained else ["controller_change"])


# What a fault can bring about


def cut(*links: tuple[str, str], begin_s: float = 20, end_s: float | None = None) -> list[Event]:
    """Packets are dropped from one to another, from a second to another."""
    node = ", ".join(dict.fromkeys(end for link in links for end in link))
    return [replace(one, links=links) for one in struck("cut", node, begin_s, end_s) if isinstance(one, Fault)]


LED_BY_2 = led(3, 2, (1, 2, 3), 0)
TO_3 = led(60, 3, (1, 2, 3), 1)


def test_faults_of_clients_explain_nothing_of_brokers() -> None:
    away = cut(("clients", "broker-1"), ("broker-1", "clients"))
    assert [names(*away, one) for one in (ELECTED, SHRUNK, FENCED)] == [["election"], ["isr_shrink"], ["fencing"]]
    assert names(*QUORUM, *away, REPLACED) == ["controller_change"]


def test_what_lies_between_two_brokers_explains_that_one_does_not_follow_the_other() -> None:
    apart, others = cut(("broker-1", "broker-2")), cut(("broker-2", "broker-3"))
    assert [names(*apart, one) for one in (ELECTED, SHRUNK, FENCED)] == [["election"], [], ["fencing"]]
    assert names(*others, SHRUNK) == ["isr_shrink"]
    # But if the controller is one of them.
    assert [names(IN_OFFICE, *others, one) for one in (ELECTED, SHRUNK, FENCED)] == [[], [], []]


def test_what_lies_between_a_broker_and_who_coordinates_concerns_the_broker() -> None:
    away = cut(("broker-1", "controller-100"), ("controller-100", "broker-1"))
    assert names(*away, ELECTED) == names(*away, SHRUNK) == names(*away, registered(60, "broker-1", "fenced")) == []
    assert names(*away, FENCED) == ["fencing"]
    assert names(*away, LED_BY_2, TO_3) == names(*away, *cut(("broker-1", "broker-3")), LED_BY_2, TO_3) == ["election"]
    assert names(*QUORUM, *away, REPLACED) == ["controller_change"]
    assert names(*KEEPER, *cut(("broker-3", "zookeeper")), RESIGNED, run=IN_ZOOKEEPER) == []
    between = cut(("controller-100", "controller-101"))
    assert [names(*QUORUM, *between, one) for one in (REPLACED, ELECTED, FENCED)] == [[], [], []]


def test_what_befalls_the_one_that_is_elected_takes_nobodys_place() -> None:
    assert names(*struck("freeze", "broker-2", 20, None), ELECTED) == ["election"]
    assert names(*struck("freeze", "broker-1", 20, None), ELECTED) == []


def test_a_follower_may_have_been_away_between_two_looks_at_zookeeper() -> None:
    again = [led(at_s, 1, (1, 2, 3), epoch, source="zookeeper") for at_s, epoch in ((2, 0), (60, 1))]
    frozen = struck("freeze", "broker-2", 20, None)
    assert (names(*again), names(*frozen, *again)) == (["election"], [])
    assert names(*frozen, led(60, 1, (1, 2, 3), 1)) == ["election"]  # all of KRaft's log is read


def test_a_controller_that_is_replaced_concerns_nobody_else_any_more() -> None:
    keeper, later = docker(1, "zookeeper", "start"), office(25, "broker-1", 3)
    begun = [keeper, IN_OFFICE, *struck("freeze", "broker-3", 20, None), later]
    assert names(*begun, led(32, 2, (1, 2, 3), 1)) == []
    assert names(*begun, ELECTED) == ["election"]
    # When it is back it may not know that it is deposed.
    assert names(keeper, IN_OFFICE, *struck("freeze", "broker-3", 20, 58), later, ELECTED) == []


def test_each_broker_coordinates_where_nobody_else_does() -> None:
    combined = [office(9, "broker-1", 2), *struck("freeze", "broker-3", 20, None)]
    assert names(*combined, ELECTED) == []
    assert names(docker(1, "zookeeper", "start"), *combined, ELECTED) == ["election"]
