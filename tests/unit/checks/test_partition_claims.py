"""Claims about partitions of the network, each on a history that shows it, one that contradicts it, and one of nothing.

Times are in seconds. Broker 1 leads t-0, whose replicas are 1, 2 and 3; ZooKeeper is a node of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import (
    Acked,
    Broker,
    Container,
    Controller,
    Event,
    Failed,
    Fault,
    FaultPhase,
    Note,
    Partition,
    Send,
    Target,
    Waits,
)
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

SECOND = 1_000_000_000
ALL = (1, 2, 3)
RUN: dict[str, Any] = {
    "mode": "zookeeper",
    "kafka": "2.8.2",
    "settings": {
        "zookeeper.session.timeout.ms": "4000",
        "replica.lag.time.max.ms": "3000",
        "replica.socket.timeout.ms": "3000",
        "request.timeout.ms": "1000",
    },
    "topics": [{"name": "t", "partitions": {"0": list(ALL)}}],
    "processes": [{"name": "loyal", "only": "broker-1"}, {"name": "producer-1"}],
}
"""A follower that is cut off has to leave the ISR 2.25 s to 6 s later; an ISR has to be whole 19.5 s after the heal."""
Timed = tuple[float, Event]


def cut(
    begin: float,
    heal: float | None,
    *links: tuple[str, str],
    name: str = "f1",
    port: int = 0,
    kind: str = "cut",
    whole: float | None = None,
) -> list[Timed]:
    """A fault of the network with these links, both ways: injected (until `whole`), proved a tenth of a second later,
    and healed within another tenth.
    """
    both = (*links, *((b, a) for a, b in links))
    target = Target(node=", ".join(dict.fromkeys(one for link in links for one in link)))

    def phase(at_s: float, phase: FaultPhase) -> Timed:
        event = Fault(fault_kind=kind, id=name, phase=phase, target=target, description="a cut", links=both, port=port)
        return (at_s, event)

    healed = [] if heal is None else [phase(heal, "heal"), phase(heal + 0.1, "healed")]
    at_s, proof = phase((begin if whole is None else whole) + 0.1, "verified")
    proved = replace(proof, injected_ns=None if whole is None else int(whole * SECOND))
    return [phase(begin, "inject"), (at_s, proved), *healed]


def state(at_s: float, isr: tuple[int, ...], version: int, leader: int = 1, epoch: int = 0) -> Timed:
    about: dict[str, Any] = {"source": "zookeeper", "topic": "t", "partition": 0, "version": version}
    return (at_s, Partition(leader=leader, leader_epoch=epoch, isr=isr, **about))


def judged(
    name: str,
    *events: Timed,
    acknowledged: Sequence[tuple[float, float]] = (),
    until: float = 60,
    run: dict[str, Any] = RUN,
) -> ClaimResult:
    nodes = [*(f"broker-{number}" for number in ALL), "zookeeper"]
    up: list[Timed] = [(0, Container(node=node, action="start")) for node in nodes]
    up += [(0, Broker(source="zookeeper", node=node, state="registered", fenced=False)) for node in nodes[:3]]
    order = sorted([*up, *events, (until, Note(text="the end"))], key=lambda one: one[0])
    run_state = RunState(tuple(at(int(second * SECOND), event) for second, event in order))
    times = [(int(sent * SECOND), int(done * SECOND)) for sent, done in acknowledged]
    return claims.judge(
        name, RunEvidence(run=run_record(run), run_state=run_state, acknowledged=lambda topic, partition: times)
    )


FIRST = state(1, ALL, 0)
TO_2 = ("broker-1", "broker-2")
TO_3 = ("broker-1", "broker-3")
TO_ZOOKEEPER = ("broker-1", "zookeeper")
TO_CLIENTS = ("broker-1", "clients")


@pytest.mark.parametrize(
    ("events", "outcome", "took_ms"),
    [
        ([*cut(10, 30, TO_2), state(14, (1, 3), 1)], HELD, 4000),
        ([*cut(10, 30, TO_2, TO_3), state(14, (1, 3), 1), state(15, (1,), 2)], HELD, 5000),
        ([*cut(10, 30, TO_2), state(17, (1, 3), 1)], CONTRADICTED, 7000),
        ([*cut(10, 30, TO_2, whole=12), state(17, (1, 3), 1)], HELD, 5000),
        ([*cut(10, 30, TO_2, whole=12), state(19, (1, 3), 1)], CONTRADICTED, 7000),
        ([*cut(10, 30, TO_2, whole=12), state(11, (1, 3), 1)], CONTRADICTED, None),
        ([*cut(10, 30, TO_2)], CONTRADICTED, 20000),
        ([*cut(10, 30, TO_2), state(11, (1, 3), 1)], CONTRADICTED, None),
        ([*cut(10, 30, TO_2), state(14, (1,), 1)], CONTRADICTED, None),
        ([*cut(10, 30, TO_2), *cut(10, 30, TO_3, name="f2", kind="slow"), state(14, (1,), 1)], HELD, 4000),
        ([*cut(10, 12, TO_2)], NOT_OBSERVED, None),
        ([*cut(10, 30, TO_2, TO_ZOOKEEPER)], NOT_OBSERVED, None),
        ([*cut(10, 30, TO_2, port=9092)], NOT_OBSERVED, None),
        ([*cut(10, 30, TO_2), state(15, (2, 3), 1, leader=2, epoch=1)], NOT_OBSERVED, None),
    ],
    ids=[
        "in time",
        "both followers",
        "late",
        "late after the cut began, in time after it was whole",
        "late after it was whole",
        "too early after it began",
        "never",
        "too early",
        "a follower that is reached leaves too",
        "a follower behind a slow link leaves too",
        "a short cut",
        "a leader that cannot change its ISR",
        "one port only",
        "another leader",
    ],
)
def test_an_isr_shrinks_to_the_reachable_side(events: list[Timed], outcome: str, took_ms: float | None) -> None:
    found = judged("isr-shrinks-to-reachable-side", FIRST, *events)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


@pytest.mark.parametrize(("share", "outcome"), [(0.95, HELD), (0.1, CONTRADICTED)])
def test_a_reached_follower_leaves_because_the_machine_was_busy(share: float, outcome: str) -> None:
    waits = Waits(begin_ns=0, slices=((1_000_000, round(share * 1_000_000)),) * 20)
    events = [*cut(10, 30, TO_2), state(12, (1, 2), 1), state(13, ALL, 2), state(14, (1, 3), 3), (20, waits)]
    assert judged("isr-shrinks-to-reachable-side", FIRST, *events).outcome == outcome


def test_partitions_of_topics_of_kafkas_own_show_nothing() -> None:
    internal = Partition(
        source="zookeeper", topic="__consumer_offsets", partition=0, leader=1, leader_epoch=0, isr=ALL, version=0
    )
    found = judged("isr-shrinks-to-reachable-side", (1, internal), *cut(10, 30, TO_2))
    assert found.outcome == NOT_OBSERVED


def test_a_follower_whose_session_ends_may_leave_the_isr_earlier() -> None:
    gone = (11.5, Broker(source="zookeeper", node="broker-2", state="gone"))
    found = judged(
        "isr-shrinks-to-reachable-side",
        FIRST,
        *cut(10, 30, TO_2, ("broker-2", "zookeeper")),
        gone,
        state(12, (1, 3), 1),
    )
    assert found.outcome == HELD


@pytest.mark.parametrize(
    ("events", "until", "outcome", "took_ms"),
    [
        ([state(14, (1, 3), 1), state(25, ALL, 2)], 60, HELD, 4900),
        ([state(14, (1, 3), 1), state(40, ALL, 2)], 60, CONTRADICTED, 19900),
        ([state(14, (1, 3), 1)], 60, CONTRADICTED, 39900),
        ([state(14, (1, 3), 1)], 30, NOT_OBSERVED, None),
        ([state(14, (1, 3), 1), *cut(25, 40, TO_2, name="f2"), state(45, ALL, 2)], 60, HELD, 4900),
        ([state(14, (1, 3), 1), *cut(15, None, TO_3, name="f2")], 60, NOT_OBSERVED, None),
        ([], 60, NOT_OBSERVED, None),
    ],
    ids=["in time", "late", "never", "the run ends", "the next cut comes first", "another lasts", "nobody was missing"],
)
def test_an_isr_is_whole_after_the_heal(events: list[Timed], until: float, outcome: str, took_ms: float | None) -> None:
    found = judged("isr-whole-after-heal", FIRST, *cut(10, 20, TO_2), *events, until=until)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({}, HELD),
        ({"inter.broker.protocol.version": "2.6"}, CONTRADICTED),
        ({"request.timeout.ms": "5000"}, CONTRADICTED),
    ],
)
def test_a_leader_may_ask_the_old_controller_until_that_times_out(settings: dict[str, str], outcome: str) -> None:
    kept = {name: value for name, value in RUN["settings"].items() if not name.startswith("request")}
    events = [*cut(10, 20, TO_2), state(14, (1, 3), 1), state(50, ALL, 2)]
    assert judged("isr-whole-after-heal", FIRST, *events, run=RUN | {"settings": kept | settings}).outcome == outcome


def sent(
    at_s: float, done_s: float | None, *, process: str = "loyal", acks: str = "all", ok: bool = True
) -> list[Timed]:
    place: dict[str, Any] = {"process": process, "topic": "t", "partition": 0, "producer": 1, "sequence": 0}
    place["acks"] = acks
    if done_s is None:
        return [(at_s, Send(**place))]
    done = Acked(outcome="ok", offset=1, **place) if ok else Failed(outcome="info", **place)
    return [(at_s, Send(**place)), (done_s, done)]


ISOLATED = cut(10, 30, TO_2, TO_3, TO_ZOOKEEPER)


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*ISOLATED, *sent(12, None)], HELD),
        ([*ISOLATED, *sent(12, 20, ok=False)], HELD),
        ([*ISOLATED, *sent(12, 31)], HELD),
        ([*ISOLATED, *sent(12, 13)], CONTRADICTED),
        ([*ISOLATED, *sent(12, 13, acks="1")], NOT_OBSERVED),
        ([*ISOLATED, *sent(12, 13, process="producer-1")], NOT_OBSERVED),
        ([*cut(10, 30, TO_2, TO_3), *sent(12, 13)], NOT_OBSERVED),
        ([*cut(10, 30, TO_ZOOKEEPER), *sent(12, 13)], NOT_OBSERVED),
    ],
    ids=[
        "no answer",
        "refused",
        "after the heal",
        "acknowledged",
        "acks=1",
        "by a client that knows the others",
        "a leader that reaches ZooKeeper",
        "a leader that reaches its followers",
    ],
)
def test_an_isolated_leader_acknowledges_no_acks_all(events: list[Timed], outcome: str) -> None:
    assert judged("isolated-leader-acknowledges-no-acks-all", FIRST, *events).outcome == outcome


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*cut(10, 11, TO_2), *cut(13, 14, TO_2, name="f2")], HELD),
        ([*cut(10, 11, TO_2), state(11.5, (1, 3), 1)], CONTRADICTED),
        ([*cut(10, 11, TO_2), state(14, (1, 3), 1)], HELD),
        ([*cut(10, 14, TO_2), state(13.5, (1, 3), 1)], NOT_OBSERVED),
        ([*cut(10, 11, TO_ZOOKEEPER), state(11, (1, 3), 1)], NOT_OBSERVED),
    ],
    ids=["twice", "it shrinks", "it shrinks later, for another reason", "a longer cut", "another link"],
)
def test_an_isr_outlasts_brief_cuts(events: list[Timed], outcome: str) -> None:
    assert judged("isr-outlasts-brief-cuts", FIRST, *events).outcome == outcome


@pytest.mark.parametrize(("share", "outcome"), [(0.9, NOT_OBSERVED), (0.01, CONTRADICTED)], ids=["busy", "not busy"])
def test_who_left_an_isr_because_the_machine_was_busy(share: float, outcome: str) -> None:
    waits = Waits(begin_ns=0, slices=((1_000_000, round(share * 1_000_000)),) * 12)
    events = [*cut(10, 11, TO_2), state(11.5, (1, 3), 1), (12, waits)]
    assert judged("isr-outlasts-brief-cuts", FIRST, *events).outcome == outcome


CUT = cut(10, 20, TO_2)
ACKS_1 = RUN | {"case_changes": {"acks": "1"}}
BEYOND, JUST_BEFORE = [(9.0, 10.0), (11.0, 21.0)], [(9.0, 10.0), (10.0, 14.0), (18.0, 21.0)]
"""Writes continue only when the cut is healed: they waited for most of it, or for its end."""
ON, PAUSED, LONG = [(9.0, 10.0), (10.0, 11.0), (11.0, 12.0)], [(9.0, 10.0), (10.0, 14.0)], [(9.0, 10.0), (10.0, 18.0)]


@pytest.mark.parametrize(
    ("claim", "run", "link", "acknowledged", "outcome"),
    [
        ("writes-go-on-while-cut", ACKS_1, TO_2, ON, HELD),
        ("writes-go-on-while-cut", ACKS_1, TO_2, PAUSED, CONTRADICTED),
        ("writes-go-on-while-cut", ACKS_1, TO_2, BEYOND, CONTRADICTED),
        ("writes-go-on-while-cut", ACKS_1, TO_2, [], NOT_OBSERVED),
        ("writes-go-on-while-cut", RUN, TO_2, ON, NOT_OBSERVED),
        ("writes-go-on-while-cut", RUN, ("broker-2", "broker-3"), ON, HELD),
        ("writes-go-on-while-cut", RUN, ("broker-2", "broker-3"), PAUSED, CONTRADICTED),
        ("writes-wait-for-the-isr", RUN, TO_2, PAUSED, HELD),
        ("writes-wait-for-the-isr", RUN, TO_2, LONG, CONTRADICTED),
        ("writes-wait-for-the-isr", RUN, TO_2, BEYOND, CONTRADICTED),
        ("writes-wait-for-the-isr", RUN, TO_2, JUST_BEFORE, HELD),
        ("writes-wait-for-the-isr", RUN, TO_2, [(9.0, 10.0), (18.0, 21.0)], NOT_OBSERVED),
        ("writes-wait-for-the-isr", RUN, TO_2, ON, CONTRADICTED),
        ("writes-wait-for-the-isr", RUN, TO_2, [], NOT_OBSERVED),
        ("writes-wait-for-the-isr", ACKS_1, TO_2, PAUSED, NOT_OBSERVED),
        ("writes-wait-for-the-isr", RUN, ("broker-2", "broker-3"), PAUSED, NOT_OBSERVED),
    ],
)
def test_writes_during_a_cut(
    claim: str, run: dict[str, Any], link: tuple[str, str], acknowledged: list[tuple[float, float]], outcome: str
) -> None:
    of_link = cut(10, 20, link)
    assert judged(claim, FIRST, *of_link, acknowledged=acknowledged, run=run).outcome == outcome
    elected = state(15, (2, 3), 1, leader=2, epoch=1)
    assert judged(claim, FIRST, *of_link, elected, acknowledged=acknowledged, run=run).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("events", "acknowledged", "outcome"),
    [
        ([], [(9, 9.5), (11, 21), (22, 23)], HELD),
        ([], [(9, 9.5), (11, 12), (22, 23)], CONTRADICTED),
        ([], [(9, 9.5), (11, 40)], CONTRADICTED),
        ([], [(9, 9.5)], CONTRADICTED),
        ([state(15, (2, 3), 1, leader=2, epoch=1)], [(9, 9.5), (11, 21)], CONTRADICTED),
    ],
    ids=["none until the heal", "one", "late", "none after it", "another leader"],
)
def test_no_writes_while_clients_are_cut(
    events: list[Timed], acknowledged: list[tuple[float, float]], outcome: str
) -> None:
    of_clients = cut(10, 20, TO_CLIENTS)
    name = "no-writes-while-clients-are-cut"
    assert judged(name, FIRST, *of_clients, *events, acknowledged=acknowledged).outcome == outcome
    assert judged(name, FIRST, *CUT, *events, acknowledged=acknowledged).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("links", "outcome"),
    [((TO_2, TO_3, TO_ZOOKEEPER), HELD), ((TO_2, TO_3), NOT_OBSERVED)],
    ids=["cut from who keeps its session", "from its followers"],
)
def test_a_leader_that_is_cut_off_is_replaced_in_time(links: tuple[tuple[str, str], ...], outcome: str) -> None:
    found = judged("leader-replaced-in-time", FIRST, *cut(10, 30, *links), state(15, (2, 3), 1, leader=2, epoch=1))
    assert found.outcome == outcome
    late = judged("leader-replaced-in-time", FIRST, *cut(10, 40, *links), state(25, (2, 3), 1, leader=2, epoch=1))
    assert late.outcome == (CONTRADICTED if outcome == HELD else NOT_OBSERVED)


def sends(process: str, sent_s: float, acked_s: float | None) -> list[Timed]:
    about: dict[str, Any] = {
        "process": process,
        "topic": "t",
        "partition": 0,
        "producer": 1,
        "sequence": 1,
        "acks": "-1",
    }
    answer: list[Timed] = [] if acked_s is None else [(acked_s, Acked(outcome="ok", **about))]
    return [(sent_s, Send(**about)), *answer]


@pytest.mark.parametrize(
    ("first", "second", "outcome", "took_ms"),
    [
        (sends("told-of-the-old", 11, 28), sends("late", 25, 26), HELD, 16_000),
        (sends("told-of-the-old", 11, None), sends("late", 25, 29.5), CONTRADICTED, 19_500),
        (sends("told-of-the-old", 11, 28), [], CONTRADICTED, 18_000),
        (sends("soon", 11, 15), sends("late", 25, 29.5), HELD, 5000),
    ],
    ids=["a client that began late", "and got no answer", "none but the first", "one is enough"],
)
def test_writes_resume_for_a_client_that_did_not_begin_late(
    first: list[Timed], second: list[Timed], outcome: str, took_ms: float
) -> None:
    of_leader = cut(10, 40, TO_2, TO_3, TO_ZOOKEEPER)
    events = [FIRST, *of_leader, state(14, (2, 3), 1, leader=2, epoch=1), *first, *second]
    found = judged("writes-resume-in-time", *events)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


def test_a_controller_that_is_cut_off_is_replaced_in_time() -> None:
    def controller(at_s: float, node: str, epoch: int) -> Timed:
        return (at_s, Controller(source="zookeeper", node=node, epoch=epoch))

    events = [controller(1, "broker-1", 1), *ISOLATED]
    assert judged("controller-replaced-in-time", *events, controller(15, "broker-2", 2)).outcome == HELD
    assert judged("controller-replaced-in-time", *events, controller(25, "broker-2", 2)).outcome == CONTRADICTED
    slowly = [controller(1, "broker-1", 1), *cut(10, 40, ("broker-1", "broker-2"), TO_3, TO_ZOOKEEPER, whole=15)]
    found = judged("controller-replaced-in-time", *slowly, controller(19, "broker-2", 2))
    assert (found.outcome, found.measured_ms) == (HELD, 4000)
