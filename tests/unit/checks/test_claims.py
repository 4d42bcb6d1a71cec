"""Each claim on a history that shows it and on one that contradicts it, and on one that shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.errors import UsageError
from evidence.events import (
    Acked,
    Broker,
    Container,
    Controller,
    DeleteTopic,
    Ends,
    Event,
    Failed,
    Fault,
    FaultPhase,
    Log,
    LogDetail,
    Moment,
    Partition,
    Send,
    Target,
    Znode,
)
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from harness.words import EVERY_VERSION, Documented
from tests.records import STATED, run_record
from tests.unit.timelines import at

SECOND = 1_000_000_000
RUN: dict[str, Any] = {"mode": "zookeeper", "settings": {"zookeeper.session.timeout.ms": "4000"}}


def state(leader: int, epoch: int, isr: tuple[int, ...], version: int, elr: tuple[int, ...] | None = None) -> Partition:
    return Partition(
        source="zookeeper",
        topic="t",
        partition=0,
        leader=leader,
        leader_epoch=epoch,
        isr=isr,
        version=version,
        elr=elr,
        controller_epoch=1,
    )


def controller(node: str | None, epoch: int) -> Controller:
    return Controller(source="zookeeper", node=node, epoch=epoch)


def fault(kind: str, phase: FaultPhase, node: str = "broker-1") -> Fault:
    target = Target(node=node)
    return Fault(fault_kind=kind, id=f"{kind}-{node}", phase=phase, target=target, description=f"{kind} of {node}")


def ends(name: str, leo: int, node: str = "broker-1") -> Moment:
    return Moment(name=name, nodes={node: {"t-0": Ends(leo=leo, hw=1)}}, begun_ns=0)


def judged(
    name: str,
    *events: Event,
    run: dict[str, Any] = RUN,
    acknowledged: Sequence[tuple[int, int]] = (),
    failed: Sequence[tuple[int, int]] = (),
) -> ClaimResult:
    """The claim on these events, a second apart, with records sent and acknowledged, or failed, at these seconds."""
    timed = tuple(at((second + 1) * SECOND, event) for second, event in enumerate(events))
    times, never = ([(sent * SECOND, done * SECOND) for sent, done in given] for given in (acknowledged, failed))
    witness = RunEvidence(
        run=run_record(run),
        run_state=RunState(timed),
        acknowledged=lambda topic, partition: times,
        failed=lambda topic, partition: never,
    )
    return claims.judge(name, witness)


FIRST = state(1, 0, (1, 2), 0)


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        ([FIRST, state(2, 1, (2,), 1)], HELD),
        ([FIRST, state(-1, 1, (1,), 1), state(1, 2, (1,), 2)], HELD),
        ([FIRST, state(2, 2, (2,), 1)], CONTRADICTED),
        ([FIRST, state(2, 0, (2,), 1)], CONTRADICTED),
        ([FIRST, state(1, 0, (1,), 1)], NOT_OBSERVED),
        ([FIRST, state(2, 3, (2,), 3)], NOT_OBSERVED),
    ],
    ids=["by one", "over nobody", "by two", "not at all", "no election", "states that nobody saw"],
)
def test_the_leader_epoch_rises_by_one(states: list[Partition], outcome: str) -> None:
    assert judged("leader-epoch-rises-by-one", *states).outcome == outcome


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        ([FIRST, state(2, 1, (2,), 1)], HELD),
        ([FIRST, state(-1, 1, (), 1, (2,)), state(2, 2, (2,), 2)], HELD),
        ([FIRST, state(3, 1, (3,), 1)], CONTRADICTED),
        ([FIRST, state(-1, 1, (), 1), state(2, 2, (2,), 2)], CONTRADICTED),
        ([FIRST, state(-1, 1, (), 1)], NOT_OBSERVED),
    ],
    ids=["in sync", "eligible", "another", "out of nothing", "nobody"],
)
def test_a_leader_is_elected_from_the_isr(states: list[Partition], outcome: str) -> None:
    assert judged("leader-elected-from-isr", *states).outcome == outcome


def test_who_comes_in_sync_with_the_end_of_a_reassignment_is_elected_cleanly() -> None:
    """PartitionChangeBuilder: in one change, where the old leader is no replica any more."""
    moving = structs.replace(state(1, 0, (1, 3), 0), source="kraft", replicas=(1, 2, 3), adding=(), removing=(1,))
    moved = structs.replace(state(2, 1, (3, 2), 1), source="kraft", replicas=(2, 3), adding=(), removing=())
    assert judged("leader-elected-from-isr", moving, moved).outcome == HELD
    stays = structs.replace(moved, replicas=(1, 2, 3))
    assert judged("leader-elected-from-isr", moving, stays).outcome == CONTRADICTED
    # Of one replica that is moved nobody stays beside the new one.
    alone = structs.replace(moving, isr=(1,), replicas=(1, 4, 5), adding=(4, 5), removing=(1,))
    taken = structs.replace(moved, leader=4, isr=(4,), replicas=(4, 5))
    assert judged("leader-elected-from-isr", alone, taken).outcome == HELD
    # While it is under way nobody is elected who was not stated to be in sync.
    early = structs.replace(taken, replicas=(1, 4, 5), adding=(4, 5), removing=(1,))
    assert judged("leader-elected-from-isr", alone, early).outcome == CONTRADICTED


@pytest.mark.parametrize(("replicas", "outcome"), [((2,), NOT_OBSERVED), ((1, 2), CONTRADICTED), (None, CONTRADICTED)])
def test_who_leads_a_partition_of_a_single_replica_is_no_election(
    replicas: tuple[int, ...] | None, outcome: str
) -> None:
    states = [structs.replace(one, replicas=replicas) for one in (FIRST, state(-1, 1, (), 1), state(2, 2, (2,), 2))]
    assert judged("leader-elected-from-isr", *states).outcome == outcome


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [
        ([controller("broker-1", 1)], HELD),
        ([controller("broker-1", 1), controller(None, 1), controller("broker-2", 2)], HELD),
        ([controller("broker-1", 1), controller("broker-2", 1)], CONTRADICTED),
        ([controller("broker-1", 2), controller(None, 2), controller("broker-2", 1)], CONTRADICTED),
        ([controller(None, 0)], NOT_OBSERVED),
    ],
    ids=["one", "two in turn", "two in one epoch", "an epoch back", "none"],
)
def test_there_is_one_controller_at_a_time(stated: list[Controller], outcome: str) -> None:
    assert judged("one-controller-at-a-time", *stated).outcome == outcome


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [
        ([controller("broker-1", 1), controller(None, 1), controller("broker-2", 2)], HELD),
        ([controller("broker-1", 1), controller("broker-2", 3)], CONTRADICTED),
        ([controller("broker-1", 1), controller("broker-1", 1)], NOT_OBSERVED),
    ],
    ids=["by one", "by two", "no other"],
)
def test_the_controller_epoch_rises_by_one(stated: list[Controller], outcome: str) -> None:
    assert judged("controller-epoch-rises-by-one", *stated).outcome == outcome


UP = [
    Container(source="docker", node="broker-1", action="start"),
    Broker(source="zookeeper", node="broker-1", state="registered", fenced=False),
]
DEATH = [fault("kill", "inject"), Container(source="docker", node="broker-1", action="die", exit_code=137)]
GONE = Broker(source="zookeeper", node="broker-1", state="gone")
WAIT = controller("broker-2", 1)


@pytest.mark.parametrize(
    ("after", "outcome", "took_ms"),
    [
        ([WAIT, WAIT, WAIT, GONE], HELD, 4000),
        ([WAIT] * 7 + [GONE], CONTRADICTED, 8000),
        ([WAIT] * 8, CONTRADICTED, 8000),
        ([WAIT], NOT_OBSERVED, None),
        ([fault("start", "inject"), GONE], NOT_OBSERVED, None),
    ],
    ids=["in time", "late", "never", "the run ends", "started again"],
)
def test_a_dead_broker_leaves_in_its_session(after: list[Event], outcome: str, took_ms: float | None) -> None:
    found = judged("dead-broker-leaves-in-session", *UP, *DEATH, *after)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)
    assert found.bound_ms == (5700 if took_ms else None)


FROZEN = [fault("freeze", "inject"), Container(source="docker", node="broker-1", action="pause")]
FIRST_CONTROLLER, NEXT = controller("broker-1", 1), controller("broker-2", 2)
KRAFT = {"mode": "kraft", "settings": {"broker.session.timeout.ms": "4000"}}


@pytest.mark.parametrize(
    ("gone", "after", "run", "outcome", "took_ms"),
    [
        (DEATH, [WAIT] * 3 + [NEXT], RUN, HELD, 4000),
        (FROZEN, [WAIT] * 3 + [NEXT], RUN, HELD, 4000),
        (DEATH, [WAIT] * 6 + [NEXT], RUN, CONTRADICTED, 7000),
        (DEATH, [WAIT] * 8 + [NEXT], KRAFT, HELD, 9000),
        (DEATH, [WAIT] * 9 + [NEXT], KRAFT, CONTRADICTED, 10000),
        (DEATH, [WAIT] * 3, RUN, NOT_OBSERVED, None),
        (DEATH, [WAIT] * 9, RUN, CONTRADICTED, 9000),
    ],
    ids=["killed", "frozen", "late", "by vote", "a late vote", "nobody yet", "nobody"],
)
def test_a_controller_is_replaced_in_time(
    gone: list[Event], after: list[Event], run: dict[str, Any], outcome: str, took_ms: float | None
) -> None:
    quiet = [FIRST if one is WAIT else one for one in after]
    found = judged("controller-replaced-in-time", *UP, FIRST_CONTROLLER, *gone, *quiet, run=run)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


@pytest.mark.parametrize(
    ("after", "run", "outcome", "took_ms"),
    [
        ([WAIT] * 3 + [state(2, 1, (2,), 1)], RUN, HELD, 4000),
        ([WAIT, state(-1, 1, (2,), 1), state(2, 2, (2,), 2)], RUN, HELD, 3000),
        ([WAIT] * 8 + [state(2, 1, (2,), 1)], RUN, CONTRADICTED, 9000),
        ([WAIT] * 8 + [state(2, 1, (2,), 1)], KRAFT, CONTRADICTED, 9000),
        ([state(1, 0, (1,), 1), state(1, 1, (1,), 2)], RUN, NOT_OBSERVED, None),
    ],
    ids=["in time", "over nobody", "late", "late to KRaft too", "never"],
)
def test_a_leader_is_replaced_in_time(
    after: list[Event], run: dict[str, Any], outcome: str, took_ms: float | None
) -> None:
    found = judged("leader-replaced-in-time", *UP, FIRST, *DEATH, *after, run=run)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


def test_the_session_of_a_dead_controller_of_kraft_begins_anew() -> None:
    late = [*[FIRST] * 6, state(2, 1, (2,), 1)]
    found = judged("leader-replaced-in-time", *UP, FIRST, FIRST_CONTROLLER, *DEATH, *late, run=KRAFT)
    assert (found.outcome, found.bound_ms) == (HELD, 16700)


OTHER = Broker(source="zookeeper", node="broker-2", state="registered", fenced=False)
AT_WORK = (*UP, OTHER, FIRST, WAIT)
LATE = (GONE, *[WAIT] * 4, state(2, 1, (2,), 1))
"""Another leads 5 s after the session ended, which was 3 s after the death: within the bound of the session."""


@pytest.mark.parametrize(
    ("before", "after", "outcome", "bound_ms"),
    [
        (AT_WORK, [WAIT, *LATE], CONTRADICTED, 6500),
        (AT_WORK, [WAIT, GONE, *LATE[2:]], HELD, 6500),
        ((*UP, OTHER, FIRST), [FIRST, *(FIRST if one is WAIT else one for one in LATE)], HELD, 8700),
        ((*UP, OTHER, FIRST, FIRST_CONTROLLER), [FIRST, *(FIRST if one is WAIT else one for one in LATE)], HELD, 8700),
        ((*UP, FIRST, WAIT), [WAIT, *LATE], HELD, 8700),
        (AT_WORK, [WAIT, WAIT, WAIT, WAIT, WAIT, state(2, 1, (2,), 1)], HELD, 8700),
    ],
    ids=["late", "in time", "no controller", "the controller died too", "no other replica lives", "no end was seen"],
)
def test_an_election_is_measured_from_the_end_of_the_session(
    before: Sequence[Event], after: list[Event], outcome: str, bound_ms: float
) -> None:
    found = judged("leader-replaced-in-time", *before, *DEATH, *after)
    assert (found.outcome, found.bound_ms) == (outcome, bound_ms)


ALONE, BACK_AGAIN = state(-1, 1, (1, 2), 1), state(1, 2, (1, 2), 2)
REGISTERED = Broker(source="zookeeper", node="broker-1", state="registered", fenced=False)
OTHER_GONE = Broker(source="zookeeper", node="broker-2", state="gone")
OTHER_FROZEN = Container(source="docker", node="broker-2", action="pause")
NOBODY = controller(None, 2)


@pytest.mark.parametrize(
    ("before", "after", "outcome", "took_ms"),
    [
        (AT_WORK, [GONE, ALONE, *[WAIT] * 6, REGISTERED, BACK_AGAIN], CONTRADICTED, 9000),
        (AT_WORK, [GONE, *[WAIT] * 7], CONTRADICTED, 8000),
        (AT_WORK, [GONE, *[WAIT] * 7, REGISTERED, *[WAIT] * 9], CONTRADICTED, 9000),
        (AT_WORK, [GONE, *[WAIT] * 7, fault("kill", "inject", "broker-2"), *[WAIT] * 9], CONTRADICTED, 9000),
        (AT_WORK, [GONE, ALONE, WAIT, REGISTERED, BACK_AGAIN, *[WAIT] * 9], NOT_OBSERVED, None),
        (AT_WORK, [GONE, WAIT, fault("kill", "inject", "broker-2"), *[WAIT] * 9], NOT_OBSERVED, None),
        (AT_WORK, [GONE, WAIT, OTHER_GONE, *[WAIT] * 9], NOT_OBSERVED, None),
        (AT_WORK, [OTHER_FROZEN, GONE, *[WAIT] * 9], NOT_OBSERVED, None),
        (AT_WORK, [NOBODY, GONE, *[FIRST] * 9], NOT_OBSERVED, None),
        (AT_WORK, [NOBODY, GONE, *[FIRST] * 9, *[WAIT] * 6], CONTRADICTED, 17000),
        ((*UP, OTHER, FIRST, FIRST_CONTROLLER), [GONE, *[FIRST] * 9], NOT_OBSERVED, None),
        ((*UP, FIRST, WAIT), [GONE, *[WAIT] * 9], NOT_OBSERVED, None),
        ((*UP, OTHER, state(1, 0, (1,), 0), WAIT), [GONE, *[WAIT] * 9], NOT_OBSERVED, None),
        (AT_WORK, [WAIT] * 9, NOT_OBSERVED, None),
        (AT_WORK, [GONE, DeleteTopic(topic="t", by="DeleteTopics"), *[WAIT] * 9], NOT_OBSERVED, None),
    ],
    ids=[
        "until it is back",
        "until the end",
        "until it is registered",
        "until the next fault",
        "back at once",
        "a fault at once",
        "the other one goes",
        "the other one stands still",
        "no controller",
        "a controller later",
        "the controller died too",
        "no other replica lives",
        "alone in the ISR",
        "no end was seen",
        "the topic is deleted",
    ],
)
def test_a_partition_that_never_gets_another_leader_has_waited(
    before: Sequence[Event], after: list[Event], outcome: str, took_ms: float | None
) -> None:
    """The ISR says who could lead, and a controller was there: then it is no excuse that nobody was elected."""
    found = judged("leader-replaced-in-time", *before, *DEATH, *after)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)
    assert ("had no other leader for" in found.observed) is (outcome == CONTRADICTED)


ABOUT: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "sequence": 1, "acks": "-1"}


@pytest.mark.parametrize(
    ("after", "outcome", "took_ms"),
    [
        ([state(2, 1, (2,), 1), Send(**ABOUT), Acked(outcome="ok", **ABOUT)], HELD, 3000),
        ([Send(**ABOUT), state(2, 1, (2,), 1), *[WAIT] * 10, Acked(outcome="ok", **ABOUT)], CONTRADICTED, 13000),
        ([state(2, 1, (2,), 1), Send(**ABOUT), Failed(outcome="fail", **ABOUT)], NOT_OBSERVED, None),
    ],
    ids=["soon", "late", "refused"],
)
def test_writes_resume_in_time(after: list[Event], outcome: str, took_ms: float | None) -> None:
    found = judged("writes-resume-in-time", *UP, FIRST, *DEATH, *after)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


def test_a_session_of_its_own_bounds_a_broker() -> None:
    run = {"mode": "zookeeper", "settings": RUN["settings"] | {"1:zookeeper.session.timeout.ms": "7000"}}
    found = judged("dead-broker-leaves-in-session", *UP, *DEATH, *[WAIT] * 7, GONE, run=run)
    assert (found.outcome, found.bound_ms) == (HELD, 8850)


def truncated(offset: int) -> Log:
    return Log(node="broker-1", event="truncate", topic="t", partition=0, offset=offset, line="")


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([ends("01-after", 2)], HELD),
        ([truncated(2), ends("01-after", 3)], HELD),
        ([ends("01-after", 1)], CONTRADICTED),
        ([truncated(0), ends("01-after", 2)], CONTRADICTED),
        ([truncated(1)], NOT_OBSERVED),
    ],
    ids=["as it was", "cut where it ends", "shorter", "cut and fetched again", "no copy"],
)
def test_a_restarted_replica_keeps_its_log(after: list[Event], outcome: str) -> None:
    before = [fault("kill", "inject"), ends("00-down", 2), fault("start", "inject")]
    assert judged("restarted-replica-keeps-its-log", *before, *after).outcome == outcome


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (2, [truncated(1), ends("01-after", 3)], HELD),
        (2, [ends("01-after", 2)], CONTRADICTED),
        (2, [truncated(0), ends("01-after", 2)], CONTRADICTED),
        (1, [ends("01-after", 1)], NOT_OBSERVED),
        (2, [truncated(1)], NOT_OBSERVED),
    ],
    ids=["cut to it", "not cut", "cut further", "nothing above it", "no copy"],
)
def test_a_restarted_replica_truncates_to_its_high_watermark(before: int, after: list[Event], outcome: str) -> None:
    down = [fault("kill", "inject"), ends("00-down", before), fault("start", "inject")]
    assert judged("restarted-replica-truncates-to-high-watermark", *down, *after).outcome == outcome


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (3, [truncated(2), ends("02-after", 3)], HELD),
        (3, [ends("02-after", 4)], CONTRADICTED),
        (3, [truncated(1), ends("02-after", 4)], CONTRADICTED),
        (2, [ends("02-after", 3)], NOT_OBSERVED),
    ],
    ids=["cut to where they part", "kept", "cut further", "nothing more than the leader"],
)
@pytest.mark.parametrize("death", ["kill", "power-loss"])
def test_a_diverged_replica_truncates(before: int, after: list[Event], outcome: str, death: str) -> None:
    """broker-2 died with 2 records and leads when it is back; broker-1 died with more, and returns to it."""
    heir = [fault(death, "inject", "broker-2"), ends("00-down", 2, "broker-2"), fault("start", "inject", "broker-2")]
    alone = ends("01-alone", before).nodes | ends("01-alone", 3, "broker-2").nodes
    led = [fault(death, "inject"), state(2, 2, (2,), 1), Moment(name="01-alone", nodes=alone, begun_ns=0)]
    assert judged("diverged-replica-truncates", *heir, *led, fault("start", "inject"), *after).outcome == outcome


def lives(*brokers: int) -> list[Event]:
    return [Broker(source="zookeeper", node=f"broker-{number}", state="registered", fenced=False) for number in brokers]


def placed(
    leader: int, epoch: int, isr: tuple[int, ...], version: int, elr: tuple[int, ...] | None = None
) -> Partition:
    """A state of a partition that is assigned to 1, 2 and 3."""
    return structs.replace(state(leader, epoch, isr, version, elr), replicas=(1, 2, 3))


ALL_IN_SYNC = placed(1, 0, (1, 3, 2), 0)


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*lives(1, 2, 3), ALL_IN_SYNC, GONE, placed(2, 1, (3, 2), 1)], HELD),
        ([*lives(1, 3), ALL_IN_SYNC, GONE, placed(3, 1, (3,), 1)], HELD),
        ([*lives(1, 2, 3), ALL_IN_SYNC, GONE, placed(3, 1, (3, 2), 1)], CONTRADICTED),
        ([*lives(2, 3), placed(-1, 1, (3,), 1), placed(2, 2, (2,), 2)], CONTRADICTED),
        ([*lives(1, 2, 3), ALL_IN_SYNC, placed(3, 1, (3, 2), 1)], NOT_OBSERVED),
    ],
    ids=["the first", "the first that lives", "another", "outside the ISR", "the leader lived"],
)
def test_the_first_in_the_assignment_leads(events: list[Event], outcome: str) -> None:
    assert judged("leader-is-first-in-assignment", *events, WAIT).outcome == outcome


PATH = "/admin/preferred_replica_election"
ASKED = Znode(path=PATH, content={"version": 1, "partitions": [{"topic": "t", "partition": 0}]})
ANSWERED = Znode(path=PATH, content=None)
LED = structs.replace(placed(1, 2, (2, 1), 2), source_ns=2 * SECOND)
"""Read a second after ZooKeeper wrote it."""


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([ASKED, placed(1, 2, (2, 1), 2), ANSWERED], HELD),
        ([ASKED, ANSWERED, placed(1, 2, (2, 1), 2)], CONTRADICTED),
        ([ASKED, placed(1, 2, (2, 1), 2)], CONTRADICTED),
        ([ASKED, ANSWERED], CONTRADICTED),
        ([placed(1, 2, (2, 1), 2)], NOT_OBSERVED),
        ([ASKED, ANSWERED, LED], HELD),
        ([ASKED, ANSWERED, structs.replace(LED, source_ns=5 * SECOND)], CONTRADICTED),
    ],
    ids=[
        "until it leads",
        "gone before",
        "for ever",
        "for nothing",
        "asked for by request",
        "read late, written before",
        "written late",
    ],
)
def test_the_znode_of_preferred_elections(events: list[Event], outcome: str) -> None:
    found = judged("preferred-election-znode-comes-and-goes", placed(2, 1, (2, 1), 1), *events)
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("isr", "outcome"), [((2, 3), HELD), ((2, 1), CONTRADICTED)], ids=["those that live", "the dead one too"]
)
def test_an_election_leaves_live_replicas(isr: tuple[int, ...], outcome: str) -> None:
    found = judged("election-leaves-live-replicas", *lives(1, 2, 3), ALL_IN_SYNC, GONE, placed(2, 1, isr, 1), WAIT)
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("epoch", "outcome"), [(1, HELD), (2, CONTRADICTED)], ids=["the controller's", "of a controller before"]
)
def test_an_election_is_in_the_controllers_epoch(epoch: int, outcome: str) -> None:
    found = judged("election-in-the-controllers-epoch", controller("broker-3", epoch), FIRST, state(2, 1, (2,), 1))
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        ([placed(1, 0, (1,), 0), placed(2, 1, (2,), 1)], HELD),
        ([placed(1, 0, (1,), 0), placed(2, 1, (2, 1), 1)], CONTRADICTED),
        ([placed(1, 0, (1, 2), 0), placed(2, 1, (2,), 1)], NOT_OBSERVED),
        ([placed(-1, 0, (), 0, (2,)), placed(2, 1, (2,), 1)], NOT_OBSERVED),
    ],
    ids=["alone", "with the dead one", "a clean one", "an eligible one"],
)
def test_a_leader_is_elected_from_outside_the_isr(states: list[Event], outcome: str) -> None:
    assert judged("leader-elected-from-outside-isr", *states).outcome == outcome


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*lives(2), placed(-1, 1, (1,), 1), *lives(1), placed(1, 2, (1,), 2)], HELD),
        ([*lives(2), placed(-1, 1, (), 1, (1,)), placed(-1, 1, (), 2), *lives(1), placed(1, 2, (1,), 3)], HELD),
        ([*lives(2), placed(-1, 1, (1,), 1), placed(2, 2, (2,), 2)], CONTRADICTED),
        ([placed(-1, 1, (1,), 1), *lives(1), placed(1, 2, (1,), 2)], NOT_OBSERVED),
    ],
    ids=["for the ISR", "for the last known leader", "not long enough", "nobody else lived"],
)
def test_an_offline_partition_waits(events: list[Event], outcome: str) -> None:
    assert judged("offline-partition-waits", *events, WAIT).outcome == outcome


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([placed(1, 2, (3, 2, 1), 1)], HELD),
        ([placed(3, 2, (3, 2, 1), 1)], CONTRADICTED),
        ([placed(1, 2, (1,), 1)], CONTRADICTED),
        ([Broker(source="zookeeper", node="broker-2", state="gone"), placed(1, 2, (3, 1), 1)], NOT_OBSERVED),
    ],
    ids=["with the same ISR", "another", "with a smaller ISR", "the leader was gone"],
)
def test_the_preferred_leader_is_elected(after: list[Event], outcome: str) -> None:
    events = [*lives(1, 2, 3), placed(2, 1, (2, 3, 1), 0), *after]
    assert judged("preferred-leader-elected", *events, WAIT).outcome == outcome


REFUSED = Log(node="broker-1", event="stale-controller", line="Latest known controller epoch is 2")


def follows(epoch: int, node: str = "broker-1") -> Log:
    line = f"Stopped fetchers as part of become-follower request from controller 3 epoch {epoch} with correlation id 1"
    return Log(node=node, event="controller-request", line=f"{line} for 4 partitions")


COMPLETED = "Broker 1 completed LeaderAndIsr request correlationId 9 from controller 1 epoch 1 for the become-follower"
OBEYED = Log(node="broker-1", event="become-follower", line=f"{COMPLETED} transition for partition t-2")
ANEW = Container(node="broker-1", action="start", time_nano=1)


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([REFUSED], HELD),
        ([follows(1), follows(2), REFUSED, follows(2)], HELD),
        ([truncated(1)], NOT_OBSERVED),
        ([follows(1), follows(2)], NOT_OBSERVED),
        ([follows(2), follows(1)], CONTRADICTED),
        ([REFUSED, OBEYED], CONTRADICTED),
        ([follows(2), OBEYED], CONTRADICTED),
        ([follows(2), follows(1, "broker-2"), REFUSED], HELD),
        ([follows(2), ANEW, follows(1), REFUSED], HELD),
    ],
    ids=[
        "refused",
        "and the newer one followed",
        "nothing",
        "only the newer one",
        "followed",
        "refused and followed",
        "followed by 0.11",
        "by a broker that had not heard",
        "by a broker that was started anew",
    ],
)
def test_a_stale_controller_is_refused(events: list[Event], outcome: str) -> None:
    assert judged("stale-controller-refused", *events).outcome == outcome


def of_controller(epoch: int, leader_epoch: int, version: int) -> Partition:
    return structs.replace(state(1, leader_epoch, (1, 2), version), controller_epoch=epoch)


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        ([of_controller(1, 0, 0), of_controller(2, 1, 1)], HELD),
        ([of_controller(2, 1, 0), of_controller(1, 2, 1)], CONTRADICTED),
        ([of_controller(1, 1, 0), of_controller(2, 0, 1)], CONTRADICTED),
        ([of_controller(1, 0, 0)], NOT_OBSERVED),
    ],
    ids=["forward", "an old controller's", "an old leader's", "no change"],
)
def test_a_partitions_state_never_goes_back(states: list[Event], outcome: str) -> None:
    found = judged("partition-state-never-goes-back", FIRST_CONTROLLER, NEXT, *states)
    assert found.outcome == outcome


def test_one_controller_shows_nothing_of_states_that_go_back() -> None:
    found = judged("partition-state-never-goes-back", FIRST_CONTROLLER, of_controller(1, 0, 0), of_controller(1, 1, 1))
    assert found.outcome == NOT_OBSERVED


STOPPED = Container(source="docker", node="broker-1", action="die", exit_code=143)


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([state(2, 1, (2,), 1), STOPPED], HELD),
        ([STOPPED, state(2, 1, (2,), 1)], CONTRADICTED),
        ([STOPPED], CONTRADICTED),
        ([state(2, 1, (2,), 1)], NOT_OBSERVED),
    ],
    ids=["before its end", "after it", "never", "it did not end"],
)
def test_a_leader_moves_before_a_shutdown(after: list[Event], outcome: str) -> None:
    events = [*UP, FIRST, fault("stop", "inject"), *after, WAIT]
    assert judged("leader-moved-before-shutdown", *events).outcome == outcome


@pytest.mark.parametrize(("why", "outcome"), [("offline", CONTRADICTED), ("controlled-shutdown", HELD), (None, HELD)])
def test_a_leadership_that_is_lost_is_not_handed_over(why: LogDetail | None, outcome: str) -> None:
    """A broker leaves ZooKeeper before its process ends, so another one may lead by then though nothing was moved."""
    line = Log(node="broker-3", event="election", topic="t", partition=0, leader_epoch=1, detail=why, line="elected")
    events = [*UP, FIRST, fault("stop", "inject"), state(2, 1, (2,), 1), line, STOPPED, WAIT]
    assert judged("leader-moved-before-shutdown", *events).outcome == outcome
    other = structs.replace(line, partition=1)
    events = [*UP, FIRST, fault("stop", "inject"), state(2, 1, (2,), 1), other, STOPPED, WAIT]
    assert judged("leader-moved-before-shutdown", *events).outcome == HELD


@pytest.mark.parametrize(
    ("kind", "claim", "acknowledged", "outcome", "took_ms"),
    [
        ("stop", "writes-pause-briefly", [(1, 2), (2, 3), (3, 5), (5, 6)], HELD, 2000),
        ("stop", "writes-pause-briefly", [(1, 2), (2, 3), (3, 8)], CONTRADICTED, 5000),
        ("stop", "writes-pause-briefly", [(1, 2), (2, 3), (8, 9)], HELD, 1000),
        ("stop", "writes-pause-briefly", [(1, 2)], NOT_OBSERVED, None),
        ("kill", "writes-pause-for-the-session", [(1, 3), (3, 10)], HELD, 7000),
        ("kill", "writes-pause-for-the-session", [(1, 3), (3, 16)], CONTRADICTED, 13000),
        ("kill", "writes-pause-for-the-session", [], NOT_OBSERVED, None),
    ],
    ids=["short", "long", "nothing to write", "nobody wrote", "a session", "longer", "no history"],
)
def test_writes_pause_while_a_leader_goes(
    kind: str, claim: str, acknowledged: list[tuple[int, int]], outcome: str, took_ms: float | None
) -> None:
    events = [*UP, FIRST, fault(kind, "inject"), *[WAIT] * 16]
    found = judged(claim, *events, acknowledged=acknowledged)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


BACK = (fault("start", "inject"), fault("start", "verified"))


@pytest.mark.parametrize(
    ("kind", "then", "acknowledged", "failed", "outcome", "took_ms"),
    [
        ("stop", BACK, [(2, 3), (6, 26)], [], CONTRADICTED, 20000),
        ("stop", BACK, [(2, 3), (4, 5), (16, 26)], [], HELD, 1000),
        ("stop", BACK, [(2, 3), (4, 5)], [(6, 26)], CONTRADICTED, 20000),
        ("stop", (fault("kill", "inject", "broker-2"),), [(2, 3), (6, 26)], [], CONTRADICTED, 8000),
        ("kill", BACK, [(2, 3), (6, 26)], [], CONTRADICTED, 20000),
        ("kill", BACK, [(2, 3), (6, 11), (11, 12)], [], HELD, 5000),
        ("kill", (fault("kill", "inject", "broker-2"),), [(2, 3), (6, 26)], [], NOT_OBSERVED, None),
    ],
    ids=["beyond", "after it", "for ever", "too long already", "killed", "in time", "another fault"],
)
def test_a_pause_may_outlast_the_fault(
    kind: str,
    then: tuple[Event, ...],
    acknowledged: list[tuple[int, int]],
    failed: list[tuple[int, int]],
    outcome: str,
    took_ms: float | None,
) -> None:
    """The broker is back, or another one dies, at second 14: writes that wait on are not taken for none."""
    claim = "writes-pause-briefly" if kind == "stop" else "writes-pause-for-the-session"
    events = [*UP, FIRST, fault(kind, "inject"), *[WAIT] * 9, *then, *[WAIT] * 16]
    found = judged(claim, *events, acknowledged=acknowledged, failed=failed)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)


def test_what_contradicts_a_claim_is_its_evidence() -> None:
    found = judged("leader-epoch-rises-by-one", FIRST, state(2, 1, (2,), 1), state(1, 3, (1,), 2))
    (row,) = found.evidence
    assert (row["leader_epoch_before"], row["leader_epoch"], row["leader"]) == (1, 3, 1)
    assert found.observed == "2 changes of leader, 1 of them otherwise"


def test_a_scenario_that_names_no_claim_is_refused() -> None:
    with pytest.raises(
        UsageError, match="there is no claim 'leader-epoch-rises'; did you mean leader-epoch-rises-by-one"
    ):
        Documented(on=EVERY_VERSION, claims=["leader-epoch-rises"], **STATED)
