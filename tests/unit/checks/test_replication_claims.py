"""Claims about ISR, acknowledgements and high watermark, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

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
    IsrChange,
    Missed,
    Partition,
    Position,
    Send,
    Target,
)
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {
    "kafka": "2.2.2",
    "mode": "zookeeper",
    "settings": {"replica.lag.time.max.ms": "3000"},
    "topics": [{"name": "t", "settings": {"min.insync.replicas": "2"}}],
    "processes": [{"name": "p", "kind": "producer"}],
}
Timed = tuple[float, Event]


def isr(*brokers: int, version: int, leader: int = 1, epoch: int = 0, partition: int = 0) -> Partition:
    return Partition(
        source="zookeeper",
        topic="t",
        partition=partition,
        leader=leader,
        leader_epoch=epoch,
        isr=brokers,
        version=version,
    )


def send(sequence: int, acks: str = "all") -> Send:
    return Send(process="p", topic="t", partition=0, producer=1, sequence=sequence, acks=acks)


def acked(sequence: int, offset: int, acks: str = "all") -> Acked:
    about = {"process": "p", "topic": "t", "producer": 1, "sequence": sequence, "acks": acks}
    return Acked(**about, partition=0, offset=offset, outcome="ok")  # type: ignore[arg-type]


def refused(sequence: int, acks: str = "all", error: str = "NOT_ENOUGH_REPLICAS") -> Failed:
    about = {"process": "p", "topic": "t", "producer": 1, "sequence": sequence, "acks": acks}
    return Failed(**about, partition=0, outcome="fail", error=error)  # type: ignore[arg-type]


def container(action: Any) -> Container:
    return Container(node="broker-2", action=action)


def kill(phase: FaultPhase) -> Fault:
    return Fault(
        fault_kind="kill", id="f2", phase=phase, target=Target(node="broker-2"), description="kill of broker-2"
    )


def freeze(phase: FaultPhase) -> Fault:
    target = Target(node="broker-2")
    return Fault(fault_kind="freeze", id="f1", phase=phase, target=target, description="freeze of broker-2")


def read_up_to(offset: int, seconds: float, partition: int = 0) -> Timed:
    position = Position(process="c", topic="t", partition=partition, offset=offset, read_ns=int(seconds * 1000) * MS)
    return seconds, position


def note(state: Any, number: int = 0, partitions: tuple[str, ...] = ()) -> IsrChange:
    path = f"/isr_change_notification/isr_change_{number:010}"
    return IsrChange(path=path, state=state, partitions=partitions)


def judged(name: str, *events: Timed, run: dict[str, Any] | None = None) -> ClaimResult:
    """The claim on these events, each at its second."""
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    return claims.judge(name, RunEvidence(run=run_record(RUN | (run or {})), run_state=RunState(timed)))


ALIVE = Broker(source="zookeeper", node="broker-2", state="registered", fenced=False)
GONE = Broker(source="zookeeper", node="broker-2", state="gone")
UP: list[Timed] = [(1, container("start")), (1, ALIVE), (1, isr(1, 2, 3, version=0))]
FROZEN: list[Timed] = [*UP, (10, container("pause"))]
END: Timed = (60, isr(1, 2, 3, version=9))


class TestShrink:
    @pytest.mark.parametrize(
        ("left", "outcome"),
        [(13.2, HELD), (15.9, HELD), (16.1, CONTRADICTED), (12.2, CONTRADICTED)],
        ids=["in time", "by the second check", "late", "early"],
    )
    def test_a_frozen_follower_leaves(self, left: float, outcome: str) -> None:
        found = judged("isr-shrinks-in-lag-time", *FROZEN, (10.5, send(0)), (left, isr(1, 3, version=1)), END)
        assert found.outcome == outcome
        if outcome == HELD:
            assert (found.measured_ms, found.bound_ms) == (round((left - 10) * 1000, 1), 6000)

    def test_before_0_10_2_the_leader_looks_half_as_often(self) -> None:
        events = [*FROZEN, (10.5, send(0)), (17, isr(1, 3, version=1))]
        found = judged("isr-shrinks-in-lag-time", *events, END, run={"kafka": "0.9.0.1"})
        assert (found.outcome, found.bound_ms) == (HELD, 7500)

    @pytest.mark.parametrize(
        "events",
        [
            [*FROZEN, (13.2, isr(1, 3, version=1))],
            [*FROZEN, (10.5, send(0)), (12, GONE), (13.2, isr(1, 3, version=1))],
            [*FROZEN, (10.5, send(0)), (13.2, isr(2, 3, version=1, leader=3, epoch=1))],
            [*FROZEN, (10.5, send(0)), (11, container("unpause")), (13.2, isr(1, 3, version=1))],
        ],
        ids=["it missed nothing", "its session ended", "another leads", "it went on"],
    )
    def test_what_does_not_show_it(self, events: list[Timed]) -> None:
        assert judged("isr-shrinks-in-lag-time", *events, END).outcome == NOT_OBSERVED

    @pytest.mark.parametrize(
        ("thawed", "outcome"), [(15, NOT_OBSERVED), (17, CONTRADICTED)], ids=["before it had to leave", "after"]
    )
    def test_one_that_stays_in_is_late_when_it_had_to_have_left(self, thawed: float, outcome: str) -> None:
        found = judged("isr-shrinks-in-lag-time", *FROZEN, (10.5, send(0)), (thawed, container("unpause")), END)
        assert found.outcome == outcome
        if outcome == CONTRADICTED:
            assert found.observed == "broker-2 stayed in the ISR for all of the 7.0 s that it was frozen"

    def test_one_that_stays_in_until_its_session_ends_is_late(self) -> None:
        events = [*FROZEN, (10.5, send(0)), (30, GONE), (30.1, isr(1, 3, version=1)), (40, container("unpause"))]
        found = judged("isr-shrinks-in-lag-time", *events, END)
        assert (found.outcome, found.measured_ms) == (CONTRADICTED, 20000)

    def test_one_whose_leader_changed_is_judged_up_to_then(self) -> None:
        other = isr(2, 3, version=1, leader=3, epoch=1)
        for at_s, outcome in ((13.2, NOT_OBSERVED), (17.0, CONTRADICTED)):
            found = judged("isr-shrinks-in-lag-time", *FROZEN, (10.5, send(0)), (at_s, other), END)
            assert found.outcome == outcome

    def test_the_default_is_that_of_the_version(self) -> None:
        events = [*FROZEN, (10.5, send(0)), (55, isr(1, 3, version=1))]
        found = judged("isr-shrinks-in-lag-time", *events, END, run={"kafka": "4.3.1", "settings": {}})
        assert (found.outcome, found.bound_ms) == (HELD, 46500)
        events = [*FROZEN, (10.5, send(0)), (22, isr(1, 3, version=1))]
        found = judged("isr-shrinks-in-lag-time", *events, END, run={"kafka": "0.10.2.2", "settings": {}})
        assert (found.outcome, found.bound_ms) == (HELD, 16500)


class TestExpand:
    SHRUNK: ClassVar[list[Timed]] = [*FROZEN, (13, isr(1, 3, version=1)), (20, container("unpause"))]

    @pytest.mark.parametrize(("back", "outcome"), [(20.5, HELD), (23.1, CONTRADICTED)])
    def test_a_thawed_follower_is_back(self, back: float, outcome: str) -> None:
        found = judged("isr-expands-when-caught-up", *self.SHRUNK, (back, isr(1, 3, 2, version=2)))
        assert (found.outcome, found.bound_ms) == (outcome, 3000)

    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            ([(40, send(0))], CONTRADICTED),
            ([(22, send(0))], NOT_OBSERVED),
            ([(21, isr(1, 3, version=2, leader=3, epoch=1)), (40, send(0))], NOT_OBSERVED),
            ([(21, kill("inject")), (40, send(0))], NOT_OBSERVED),
        ],
        ids=["it stays out", "the run ends", "another leads", "something else strikes"],
    )
    def test_one_that_never_comes_back(self, events: list[Timed], outcome: str) -> None:
        found = judged("isr-expands-when-caught-up", *self.SHRUNK, *events)
        assert found.outcome == outcome
        if outcome == CONTRADICTED:
            assert "was not back in the ISR in the 20.0 s after it continued" in found.observed

    def test_one_that_is_back_before_the_engine_tells_of_it(self) -> None:
        events = [(19.9, freeze("heal")), (19.95, isr(1, 3, 2, version=2))]
        found = judged("isr-expands-when-caught-up", (10, freeze("inject")), *self.SHRUNK, *events, END)
        assert (found.outcome, found.measured_ms) == (HELD, 50)

    def test_one_that_never_left_shows_nothing(self) -> None:
        found = judged("isr-expands-when-caught-up", *FROZEN, (11, container("unpause")), END)
        assert found.outcome == NOT_OBSERVED


class TestDeadController:
    """Broker 2 follows in t-0 and is killed at second 10; its registration ends at 14."""

    KILLED: ClassVar[list[Timed]] = [
        *UP,
        (2, Controller(source="zookeeper", node="broker-2", epoch=1)),
        (10, kill("inject")),
        (10.1, container("die")),
        (14, GONE),
        (14.1, Controller(source="zookeeper", node="broker-1", epoch=2)),
    ]

    @pytest.mark.parametrize(
        ("left", "outcome"), [(20, HELD), (14.2, CONTRADICTED)], ids=["its leader missed it", "the next controller did"]
    )
    def test_it_stays_in_the_isr(self, left: float, outcome: str) -> None:
        run = {"kafka": "1.1.1", "settings": {}}
        found = judged("dead-controller-stays-in-isr", *self.KILLED, (left, isr(1, 3, version=1)), END, run=run)
        assert found.outcome == outcome

    def test_what_does_not_show_it(self) -> None:
        name, late = "dead-controller-stays-in-isr", (20.0, isr(1, 3, version=1))
        another: list[Timed] = [(3, Controller(source="zookeeper", node="broker-3", epoch=2))]
        assert judged(name, *self.KILLED, *another, late, END).outcome == NOT_OBSERVED
        assert judged(name, *self.KILLED, END).outcome == NOT_OBSERVED
        led: Timed = (5, isr(1, 2, 3, version=1, leader=2, epoch=1))
        elected: Timed = (14.2, isr(1, 3, version=2, epoch=2))
        assert judged(name, *self.KILLED, led, elected, END).outcome == NOT_OBSERVED


class TestAnnounced:
    CHANGE: Timed = (10, isr(1, 3, version=1))
    READ: ClassVar[list[Timed]] = [
        (15.5, note("made")),
        (15.6, note("holds", partitions=("t-0",))),
        (15.7, note("gone")),
    ]

    def test_a_change_is_announced_and_read(self) -> None:
        found = judged("isr-change-announced", *UP, self.CHANGE, *self.READ)
        assert (found.outcome, found.measured_ms, found.bound_ms) == (HELD, 5500, 9000)

    @pytest.mark.parametrize(
        "events",
        [
            [(30, send(0))],
            [(19.5, note("made")), (19.6, note("gone"))],
            [(15.5, note("made"))],
            [(15.5, note("made")), (15.6, note("holds", partitions=("u-0",))), (15.7, note("gone")), (30, send(0))],
        ],
        ids=["never", "late", "never read", "of another partition"],
    )
    def test_what_contradicts_it(self, events: list[Timed]) -> None:
        assert judged("isr-change-announced", *UP, self.CHANGE, *events).outcome == CONTRADICTED

    def test_one_that_nobody_saw_counts(self) -> None:
        missed = Missed(source="zookeeper", path="/isr_change_notification", count=1, reason="between two looks")
        found = judged("isr-change-announced", *UP, self.CHANGE, (15.5, missed), (30, send(0)))
        assert (found.outcome, found.measured_ms) == (HELD, 5500)

    def test_a_further_change_puts_it_off(self) -> None:
        later = [(14, isr(1, 2, 3, version=2)), (20, note("made")), (20.1, note("gone"))]
        found = judged("isr-change-announced", *UP, self.CHANGE, *later)
        assert (found.outcome, found.measured_ms) == (HELD, 6000)

    @pytest.mark.parametrize("after", [(15, send(0)), (30, isr(3, version=1, leader=3, epoch=1))])
    def test_what_does_not_show_it(self, after: Timed) -> None:
        events = [*UP, self.CHANGE] if isinstance(after[1], Send) else UP
        assert judged("isr-change-announced", *events, after).outcome == NOT_OBSERVED


class TestAcksAll:
    SENT: Timed = (10.5, send(0))
    SHRINKS: Timed = (13, isr(1, 3, version=1))

    @pytest.mark.parametrize(
        ("after", "outcome"),
        [
            ([(13, isr(1, 3, version=1)), (13.1, acked(0, 3))], HELD),
            ([(12.8, acked(0, 3)), (13, isr(1, 3, version=1)), (13.3, isr(1, 3, 2, version=2))], HELD),
            ([(12, container("unpause")), (12.1, acked(0, 3)), END], HELD),
            ([(11, acked(0, 3)), (13, isr(1, 3, version=1))], CONTRADICTED),
            ([(11, acked(0, 3)), END], CONTRADICTED),
            ([(13, isr(1, 3, version=1)), (13.1, refused(0))], NOT_OBSERVED),
        ],
        ids=["it left", "seen a little later", "it went on", "too early", "it never left", "refused"],
    )
    def test_it_waits_for_the_isr(self, after: list[Timed], outcome: str) -> None:
        assert judged("acks-all-waits-for-isr", *FROZEN, self.SENT, *after).outcome == outcome

    def test_acks_1_waits_for_nobody(self) -> None:
        events = [*FROZEN, (10.5, send(0, "1")), (10.6, acked(0, 3, "1"))]
        assert judged("acks-all-waits-for-isr", *events).outcome == NOT_OBSERVED

    @pytest.mark.parametrize(
        ("after", "released", "holds_back"),
        [
            ([(13.1, acked(0, 3))], HELD, CONTRADICTED),
            ([(14.1, acked(0, 3))], CONTRADICTED, CONTRADICTED),
            ([(13.5, send(1)), (13.6, acked(0, 3))], CONTRADICTED, HELD),
            ([(13.5, send(1))], NOT_OBSERVED, NOT_OBSERVED),
        ],
        ids=["at once", "late", "by the next record", "not acknowledged"],
    )
    def test_the_shrunk_isr_releases_it(self, after: list[Timed], released: str, holds_back: str) -> None:
        events = [*FROZEN, self.SENT, self.SHRINKS, *after]
        assert judged("shrunk-isr-releases-acks-all", *events).outcome == released
        assert judged("shrunk-isr-holds-back", *events).outcome == holds_back


class TestMinIsr:
    SMALL: ClassVar[list[Timed]] = [(1, isr(1, 2, version=0)), (2, send(0)), (2.1, acked(0, 5)), (3, isr(1, version=1))]
    REFUSED: ClassVar[list[Timed]] = [(4, send(1)), (4.1, refused(1))]
    ONE: ClassVar[list[Timed]] = [(5, send(2, "1")), (5.1, acked(2, 6, "1"))]

    def test_the_documented_course(self) -> None:
        events = [*self.SMALL, *self.REFUSED, *self.ONE, END]
        for name in ("acks-all-refused-below-min-isr", "acks-1-goes-on-below-min-isr", "refused-record-not-in-log"):
            assert judged(name, *events).outcome == HELD

    @pytest.mark.parametrize(
        ("name", "events"),
        [
            ("acks-all-refused-below-min-isr", [*REFUSED, (5, send(2)), (5.1, acked(2, 6))]),
            ("acks-all-refused-below-min-isr", [*REFUSED, (5, send(2)), (5.1, refused(2, error="_MSG_TIMED_OUT"))]),
            ("acks-1-goes-on-below-min-isr", [*REFUSED, (5, send(2, "1")), (5.1, refused(2, "1"))]),
            ("refused-record-not-in-log", [*REFUSED, (5, send(2, "1")), (5.1, acked(2, 7, "1"))]),
        ],
        ids=["acknowledged", "another error", "acks=1 refused", "a gap"],
    )
    def test_what_contradicts_it(self, name: str, events: list[Timed]) -> None:
        assert judged(name, *self.SMALL, *events, END).outcome == CONTRADICTED

    @pytest.mark.parametrize(
        "events",
        [
            [(4, send(1)), (4.1, acked(1, 6)), END],
            [(4, send(1)), (4.1, refused(1, error="NOT_ENOUGH_REPLICAS_AFTER_APPEND")), END],
        ],
        ids=["the leader did not know yet", "refused after it was written"],
    )
    def test_what_does_not_show_it(self, events: list[Timed]) -> None:
        for name in ("acks-all-refused-below-min-isr", "acks-1-goes-on-below-min-isr", "refused-record-not-in-log"):
            assert judged(name, *self.SMALL, *events).outcome == NOT_OBSERVED

    def test_offsets_say_nothing_beside_a_load(self) -> None:
        run = {"processes": [{"name": "p", "kind": "producer"}, {"name": "q", "kind": "producer"}]}
        events = [*self.SMALL, *self.REFUSED, *self.ONE]
        assert judged("refused-record-not-in-log", *events, run=run).outcome == NOT_OBSERVED


class TestHidden:
    BOTH: ClassVar[list[Timed]] = [
        *FROZEN,
        (1, isr(1, 3, version=0, partition=1)),
        (10.5, send(3, "1")),
        (10.6, acked(3, 3, "1")),
    ]
    BESIDE: Timed = read_up_to(2, 11, partition=1)
    THAWS: ClassVar[list[Timed]] = [(10, freeze("inject")), (12, freeze("heal")), (12.1, container("unpause"))]

    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            ([BESIDE, *THAWS, read_up_to(4, 12.2)], HELD),
            ([BESIDE, (13, isr(1, 3, version=1)), read_up_to(4, 13.1)], HELD),
            ([BESIDE, *THAWS, read_up_to(4, 11.5)], CONTRADICTED),
            ([BESIDE, (13, isr(1, 3, version=1)), read_up_to(4, 12.2)], CONTRADICTED),
            ([*THAWS, read_up_to(4, 12.2)], NOT_OBSERVED),
            ([BESIDE, *THAWS], NOT_OBSERVED),
            ([BESIDE, read_up_to(4, 12.2)], NOT_OBSERVED),
        ],
        ids=[
            "it caught up",
            "it left",
            "read before",
            "read before it left",
            "no sign of life",
            "never read",
            "no end",
        ],
    )
    def test_a_record_is_hidden(self, events: list[Timed], outcome: str) -> None:
        assert judged("record-hidden-until-isr-has-it", *self.BOTH, *events).outcome == outcome


class TestBelowMinIsr:
    WAITS: ClassVar[str] = "high-watermark-waits-for-min-isr"
    IGNORES: ClassVar[str] = "high-watermark-ignores-min-isr"
    SMALL: ClassVar[list[Timed]] = [
        (1, isr(1, 2, version=0)),
        (1, isr(1, 3, version=0, partition=1)),
        (3, isr(1, version=1)),
        (4, send(3, "1")),
        (4.1, acked(3, 3, "1")),
    ]
    BESIDE: Timed = read_up_to(2, 5, partition=1)
    ENOUGH: Timed = (10, isr(1, 2, version=2))

    @pytest.mark.parametrize(
        ("events", "waits", "ignores"),
        [
            ([BESIDE, ENOUGH, read_up_to(4, 10.1)], HELD, CONTRADICTED),
            ([BESIDE, read_up_to(4, 5), ENOUGH], CONTRADICTED, HELD),
            ([ENOUGH, read_up_to(4, 10.1)], NOT_OBSERVED, NOT_OBSERVED),
            ([BESIDE, read_up_to(4, 10.1)], NOT_OBSERVED, NOT_OBSERVED),
        ],
        ids=["when enough are in sync", "at once", "no sign of life", "never enough"],
    )
    def test_when_a_record_is_given_to_consumers(self, events: list[Timed], waits: str, ignores: str) -> None:
        assert judged(self.WAITS, *self.SMALL, *events).outcome == waits
        assert judged(self.IGNORES, *self.SMALL, *events).outcome == ignores

    def test_with_enough_in_sync_nothing_is_observed(self) -> None:
        events = [self.SMALL[0], self.SMALL[1], *self.SMALL[3:], self.BESIDE, self.ENOUGH, read_up_to(4, 10.1)]
        assert judged(self.WAITS, *events).outcome == NOT_OBSERVED


class TestAnnouncedEachMinute:
    NAME: ClassVar[str] = "isr-changes-announced-each-minute"

    @staticmethod
    def changes(every_s: float, until_s: float) -> list[Timed]:
        """An ISR that shrinks or grows every so often, from second 11 on."""
        count = -int((11 - until_s) // every_s)
        isrs = [((1, 2, 3), (1, 3))[number % 2] for number in range(count)]
        return [(11 + number * every_s, isr(*one, version=number)) for number, one in enumerate(isrs)]

    @pytest.mark.parametrize(
        ("every_s", "announced_s", "outcome"),
        [
            (2, 71, HELD),
            (4, 73, HELD),
            (2, 60, CONTRADICTED),
            (2, 75, CONTRADICTED),
            (5.2, 71, HELD),
            (5.2, 75, CONTRADICTED),
            (5.2, 65, NOT_OBSERVED),
            (5.2, 73.3, NOT_OBSERVED),
            (2, 25, NOT_OBSERVED),
        ],
        ids=[
            "in time",
            "by the next check",
            "early",
            "late",
            "between two checks",
            "late in spite of that",
            "quiet, and a change was seen first",
            "quiet at the end",
            "few changes",
        ],
    )
    def test_a_minute_after_the_last_one(self, every_s: float, announced_s: float, outcome: str) -> None:
        events = [(10, note("made")), *self.changes(every_s, announced_s), (announced_s, note("made", 1))]
        assert judged(self.NAME, *events, END).outcome == outcome
