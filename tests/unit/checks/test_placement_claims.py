"""Claims about where replicas lie, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from checks.claims.cluster.placement import shifted
from evidence.events import Broker, Container, Ends, Event, Moment, Partition, PlaceTopic, Reassign, Znode
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {
    "kafka": "2.8.2",
    "mode": "zookeeper",
    "settings": {"leader.imbalance.check.interval.seconds": "5"},
}
Timed = tuple[float, Event]
NONE: tuple[int, ...] = ()


def judged(name: str, *events: Timed, run: dict[str, Any] | None = None) -> ClaimResult:
    """The claim on these events, each at its second."""
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    return claims.judge(name, RunEvidence(run=run_record(RUN | (run or {})), run_state=RunState(timed)))


def state(
    version: int,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    leader: int,
    adding: tuple[int, ...] | None = None,
    removing: tuple[int, ...] | None = None,
    topic: str = "t",
    partition: int = 0,
) -> Partition:
    return Partition(
        source="zookeeper",
        topic=topic,
        partition=partition,
        leader=leader,
        leader_epoch=version,
        isr=isr,
        version=version,
        replicas=replicas,
        adding=adding,
        removing=removing,
    )


def alive(*numbers: int) -> list[Timed]:
    return [
        (0, event)
        for number in numbers
        for event in (
            Container(node=f"broker-{number}", action="start"),
            Broker(source="zookeeper", node=f"broker-{number}", state="registered", fenced=False),
        )
    ]


def killed(number: int, second: float) -> list[Timed]:
    return [
        (second, Container(node=f"broker-{number}", action="die", exit_code=137)),
        (second + 4, Broker(source="zookeeper", node=f"broker-{number}", state="gone")),
    ]


class TestReassignment:
    """t-0 is on 1 and 2, and asked to be on 3 and 4."""

    ASKED: ClassVar[Timed] = (10, Reassign(topic="t", partition=0, replicas=(3, 4), by="a way"))
    BEFORE: ClassVar[list[Timed]] = [*alive(1, 2, 3, 4), (1, state(0, (1, 2), (1, 2), 1, NONE, NONE)), ASKED]
    ADDED: ClassVar[list[Timed]] = [
        *BEFORE,
        (11, state(1, (3, 4, 1, 2), (1, 2), 1, (3, 4), (1, 2))),
        (12, state(2, (3, 4, 1, 2), (1, 2, 3, 4), 1, (3, 4), (1, 2))),
    ]
    LED: ClassVar[list[Timed]] = [*ADDED, (13, state(3, (3, 4, 1, 2), (1, 2, 3, 4), 3, (3, 4), (1, 2)))]
    DONE: ClassVar[list[Timed]] = [
        *LED,
        (14, state(4, (3, 4, 1, 2), (3, 4), 3, (3, 4), (1, 2))),
        (15, state(5, (3, 4), (3, 4), 3, NONE, NONE)),
    ]
    END: ClassVar[Timed] = (60, state(6, (3, 4), (4, 3), 3, NONE, NONE))

    def test_it_ends_as_asked(self) -> None:
        found = judged("reassignment-ends-as-asked", *self.DONE, self.END)
        assert (found.outcome, found.observed) == (
            HELD,
            "1 reassignment asked for and over, the slowest after 5.0 s",
        )

    STUCK: ClassVar[Timed] = (50, state(2, (3, 4, 1, 2), (1, 2, 3), 1))

    def test_it_does_not_end_though_nothing_strikes(self) -> None:
        found = judged("reassignment-stalls", *self.BEFORE, self.STUCK)
        assert (found.outcome, found.observed) == (HELD, "1 reassignment not over after 40 s")

    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            ([*DONE, END], CONTRADICTED),
            ([*BEFORE, (25, state(2, (3, 4, 1, 2), (1, 2, 3), 1))], NOT_OBSERVED),
            ([*alive(1, 2, 3), *BEFORE[-2:], STUCK], NOT_OBSERVED),
        ],
        ids=["it is over", "watched for too short", "one that was asked for is not there"],
    )
    def test_it_has_not_stalled(self, events: list[Timed], outcome: str) -> None:
        assert judged("reassignment-stalls", *events).outcome == outcome

    def test_it_is_over_when_one_of_the_new_leads(self) -> None:
        late: list[Timed] = [(14, state(4, (3, 4), (3, 4), 1)), (16, state(5, (3, 4), (3, 4), 3))]
        assert "after 6.0 s" in judged("reassignment-ends-as-asked", *self.ADDED, *late, self.END).observed

    @pytest.mark.parametrize(
        "events",
        [
            BEFORE,
            [*BEFORE, (11, state(1, (3, 4, 1, 2), (1, 2), 1)), (50, state(2, (3, 4, 1, 2), (1, 2, 3), 1))],
            [*LED, (14, state(4, (3, 4), (3,), 3))],
            [*ADDED, (14, state(4, (3, 4), (3, 4), 1))],
            [*DONE, (20, state(6, (3, 4, 1), (3, 4), 3))],
            [*ADDED, (14, state(4, (4, 3), (3, 4), 4))],
        ],
        ids=["nothing came of it", "half", "one is not in sync", "none of them leads", "undone", "another order"],
    )
    def test_it_does_not_end_as_asked(self, events: list[Timed]) -> None:
        assert judged("reassignment-ends-as-asked", *events).outcome == CONTRADICTED

    def test_nothing_asked_shows_nothing(self) -> None:
        for name in (
            "reassignment-ends-as-asked",
            "reassignment-adds-before-it-removes",
            "removed-replicas-are-deleted",
        ):
            assert judged(name, *alive(1, 2), (1, state(0, (1, 2), (1, 2), 1)), self.END).outcome == NOT_OBSERVED

    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            (DONE, HELD),
            ([*LED, (14, state(4, (3, 4), (3, 4), 3))], HELD),
            ([*BEFORE, (11, state(1, (3, 4), (3, 4), 3))], CONTRADICTED),
            ([*ADDED, (14, state(4, (3, 4), (3,), 3))], CONTRADICTED),
            ([*BEFORE, (11, state(1, (1, 2), (2,), 2))], NOT_OBSERVED),
        ],
        ids=["both steps", "by one record", "at once", "not in sync", "no change"],
    )
    def test_it_adds_before_it_removes(self, events: list[Timed], outcome: str) -> None:
        assert judged("reassignment-adds-before-it-removes", *events).outcome == outcome

    @pytest.mark.parametrize(
        ("kafka", "mode", "only_added", "fewer"),
        [
            ("3.9.2", "zookeeper", CONTRADICTED, CONTRADICTED),
            ("3.7.2", "kraft", HELD, HELD),
            ("3.8.0", "kraft", CONTRADICTED, CONTRADICTED),
            ("4.2.2", "kraft", CONTRADICTED, CONTRADICTED),
            ("4.3.0", "kraft", HELD, CONTRADICTED),
        ],
    )
    def test_who_has_to_be_in_sync_before_others_are_removed(
        self, kafka: str, mode: str, only_added: str, fewer: str
    ) -> None:
        """Of 1, 2 and 3 only 1 is in sync; 4 takes its place, or that of 1 and 2."""
        run = {"kafka": kafka, "mode": mode}
        for leaves, outcome in (((1,), only_added), ((1, 2), fewer)):
            stay = tuple(sorted({2, 3, 4} - set(leaves)))
            asked = Reassign(topic="t", partition=0, replicas=stay, by="AlterPartitionReassignments")
            events: list[Timed] = [
                (5, state(0, (1, 2, 3), (1,), 1)),
                (10, asked),
                (11, state(1, (2, 3, 4, 1), (1,), 1, adding=(4,), removing=leaves)),
                (12, state(2, stay, (4,), 4)),
            ]
            assert judged("reassignment-adds-before-it-removes", *events, run=run).outcome == outcome
            none = [*events[:3], (12, state(2, stay, (stay[0],), stay[0]))]
            assert judged("reassignment-adds-before-it-removes", *none, run=run).outcome == CONTRADICTED

    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            (DONE, HELD),
            ([*ADDED, (13, state(3, (3, 4, 1, 2), (1, 2, 3, 4), 4))], CONTRADICTED),
            ([*ADDED, *killed(3, 12.5), (13, state(3, (3, 4, 1, 2), (1, 2, 3, 4), 4))], HELD),
            ([*ADDED, (13, state(3, (3, 4, 1, 2), (1, 2, 3, 4), 2))], NOT_OBSERVED),
        ],
        ids=["the first", "the second", "the first is dead", "an old one"],
    )
    def test_the_first_of_the_new_leads(self, events: list[Timed], outcome: str) -> None:
        assert judged("reassignment-elects-first-of-new", *events).outcome == outcome

    NAMED: ClassVar[dict[str, Any]] = {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 4]}],
    }

    @pytest.mark.parametrize(
        ("told", "outcome"),
        [
            ([(10.1, NAMED), (15.1, None)], HELD),
            ([(10.1, NAMED)], CONTRADICTED),
            ([(10.1, NAMED), (11, None)], CONTRADICTED),
            ([(10.1, {"version": 1, "partitions": []}), (15.1, None)], NOT_OBSERVED),
            ([], NOT_OBSERVED),
        ],
        ids=["until it was done", "for ever", "gone too early", "of another", "never"],
    )
    def test_the_znode(self, told: list[tuple[float, dict[str, Any] | None]], outcome: str) -> None:
        path = "/admin/reassign_partitions"
        znodes: list[Timed] = [(second, Znode(path=path, content=content)) for second, content in told]
        found = judged("reassignment-znode-comes-and-goes", *self.DONE, *znodes, self.END)
        assert found.outcome == outcome

    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            ([*DONE, END], HELD),
            (DONE[:-1], CONTRADICTED),
            ([*BEFORE, (11, state(1, (3, 4, 1, 2), (1, 2), 1, (3,), (1, 2))), END], CONTRADICTED),
            ([*BEFORE, END], CONTRADICTED),
            ([*BEFORE, (11, state(1, (3, 4, 1, 2), (1, 2), 1))], NOT_OBSERVED),
        ],
        ids=["as it is", "for ever", "half of it", "never", "an old version"],
    )
    def test_the_assignment_names_what_changes(self, events: list[Timed], outcome: str) -> None:
        assert judged("reassignment-states-its-change", *events).outcome == outcome

    @pytest.mark.parametrize(
        ("left", "more", "outcome"),
        [
            ((), [], HELD),
            ((2,), [], CONTRADICTED),
            ((2,), [*killed(1, 12), *killed(2, 12)], NOT_OBSERVED),
        ],
        ids=["deleted", "one left", "they died"],
    )
    def test_removed_replicas(self, left: Sequence[int], more: list[Timed], outcome: str) -> None:
        held = {f"broker-{b}": {"t-0": Ends(leo=4, hw=4)} if b in (3, 4, *left) else {} for b in (1, 2, 3, 4)}
        copies = Moment(name="02-final", nodes=held, begun_ns=0)
        assert judged("removed-replicas-are-deleted", *self.DONE, *more, (59, copies)).outcome == outcome

    @pytest.mark.parametrize(
        ("events", "answered", "outcome"),
        [
            ([*DONE, END], 14.5, HELD),
            ([*DONE, END], 43, CONTRADICTED),
            ([*ADDED, (60, state(3, (3, 4, 1, 2), (1, 2), 1))], 14.5, NOT_OBSERVED),
        ],
        ids=["at once", "after its time-out", "the leader stayed"],
    )
    def test_writes_while_it_moves(self, events: list[Timed], answered: float, outcome: str) -> None:
        times = [(int(sent * 1000) * MS, int(done * 1000) * MS) for sent, done in ((9, 9.1), (13, answered))]
        timed = tuple(at(int(second * 1000) * MS, event) for second, event in events)
        witness = RunEvidence(
            run=run_record(RUN), run_state=RunState(timed), acknowledged=lambda topic, partition: times
        )
        found = claims.judge("move-pauses-writes-briefly", witness)
        assert (found.outcome, found.bound_ms) == (outcome, None if outcome == NOT_OBSERVED else 7000)


class TestRebalance:
    """Broker 1 should lead t-0 and u-0 to u-2; from second 20 on it is in sync again, and 2 leads t-0."""

    OWN: ClassVar[list[Timed]] = [
        *alive(1, 2, 3),
        (1, state(0, (1, 2, 3), (1, 2, 3), 1)),
        *((1, state(0, (1,), (1,), 1, topic="u", partition=number)) for number in range(3)),
    ]
    AWAY: ClassVar[list[Timed]] = [
        *OWN,
        (10, state(1, (1, 2, 3), (2, 3), 2)),
        (20, state(2, (1, 2, 3), (2, 3, 1), 2)),
    ]
    LONG_AFTER: ClassVar[Timed] = (60, state(1, (2,), (2,), 2, topic="v"))

    @pytest.mark.parametrize(("back", "outcome"), [(24.5, HELD), (28.1, CONTRADICTED), (None, CONTRADICTED)])
    def test_leadership_returns_with_the_next_check(self, back: float | None, outcome: str) -> None:
        led: list[Timed] = [] if back is None else [(back, state(3, (1, 2, 3), (2, 3, 1), 1))]
        found = judged("leadership-returns-by-itself", *self.AWAY, *led, self.LONG_AFTER)
        assert (found.outcome, found.bound_ms) == (outcome, 8000)
        assert "25 % of the leaderships of broker-1" in found.observed

    @pytest.mark.parametrize(
        ("kafka", "protocol", "mode", "bound_ms"),
        [
            ("2.5.1", "2.5", "zookeeper", 8000),
            ("2.6.3", None, "zookeeper", 15500),
            ("2.8.2", "2.0", "zookeeper", 15500),
            ("2.8.2", None, "zookeeper", 8000),
            ("3.9.2", "2.6", "zookeeper", 15500),
            ("3.9.2", None, "kraft", 8000),
        ],
    )
    def test_a_controller_that_goes_by_the_isr_it_knows_hears_of_it_late(
        self, kafka: str, protocol: str | None, mode: str, bound_ms: int
    ) -> None:
        """KAFKA-9866: two checks may do nothing where the leader announces its ISR only after 7.5 s."""
        pinned = {} if protocol is None else {"inter.broker.protocol.version": protocol}
        run = {"mode": mode, "kafka": kafka, "settings": {"leader.imbalance.check.interval.seconds": "5"} | pinned}
        for took_s, outcome in (10.5, HELD if bound_ms > 10500 else CONTRADICTED), (15.6, CONTRADICTED):
            led: Timed = (20 + took_s, state(3, (1, 2, 3), (2, 3, 1), 1))
            found = judged("leadership-returns-by-itself", *self.AWAY, led, self.LONG_AFTER, run=run)
            assert (found.outcome, found.bound_ms) == (outcome, bound_ms)

    @pytest.mark.parametrize(
        "events",
        [
            OWN,
            [*AWAY, (22, state(3, (1, 2, 3), (2, 3), 2))],
            [*AWAY, *killed(1, 5), (10, state(1, (1, 2, 3), (2, 3), 2))],
        ],
        ids=["it always led", "out of sync again at once", "it is dead"],
    )
    def test_what_does_not_show_it(self, events: list[Timed]) -> None:
        assert judged("leadership-returns-by-itself", *events, self.LONG_AFTER).outcome == NOT_OBSERVED

    ALLOWED: ClassVar[dict[str, Any]] = {
        "settings": {
            "leader.imbalance.check.interval.seconds": "5",
            "leader.imbalance.per.broker.percentage": "25",
        }
    }

    @pytest.mark.parametrize(
        ("led", "outcome"),
        [([], HELD), ([(24, state(3, (1, 2, 3), (2, 3, 1), 1))], CONTRADICTED)],
        ids=["left", "moved"],
    )
    def test_no_more_than_the_share_is_left(self, led: list[Timed], outcome: str) -> None:
        found = judged("small-imbalance-is-left", *self.AWAY, *led, self.LONG_AFTER, run=self.ALLOWED)
        assert found.outcome == outcome
        other = judged("leadership-returns-by-itself", *self.AWAY, *led, self.LONG_AFTER, run=self.ALLOWED)
        assert other.outcome == NOT_OBSERVED

    def test_one_that_lasted_for_less_than_two_checks_shows_nothing(self) -> None:
        out: Timed = (29, state(3, (1, 2, 3), (2, 3), 2))
        found = judged("small-imbalance-is-left", *self.AWAY, out, self.LONG_AFTER, run=self.ALLOWED)
        assert found.outcome == NOT_OBSERVED

    def test_kraft_knows_no_share(self) -> None:
        many = [(1.0, state(0, (1,), (1,), 1, topic="u", partition=number)) for number in range(3, 30)]
        events: list[Timed] = [*self.AWAY, *many, (24, state(3, (1, 2, 3), (2, 3, 1), 1)), self.LONG_AFTER]
        for mode, returns, left in (("kraft", HELD, NOT_OBSERVED), ("zookeeper", NOT_OBSERVED, CONTRADICTED)):
            assert judged("leadership-returns-by-itself", *events, run={"mode": mode}).outcome == returns
            assert judged("small-imbalance-is-left", *events, run={"mode": mode}).outcome == left


def made(*placed: tuple[int, ...], brokers: tuple[int, ...] = (1, 2, 3)) -> list[Timed]:
    told = PlaceTopic(topic="p", partitions=len(placed), replication=len(placed[0]), by="a way")
    states = [(1.0, state(0, r, r, r[0], topic="p", partition=number)) for number, r in enumerate(placed)]
    return [*alive(*brokers), *states, (2, told), (3, state(0, (1,), (1,), 1))]


class TestPlacement:
    SHIFTED: ClassVar[list[tuple[int, ...]]] = [(2, 1), (3, 2), (1, 3), (2, 3), (3, 1), (1, 2)]
    STRIPED: ClassVar[list[tuple[int, ...]]] = [(2, 1), (1, 3), (3, 2), (3, 1), (1, 2), (2, 3)]

    @pytest.mark.parametrize(
        ("claim", "placed", "outcome"),
        [
            ("replicas-placed-evenly", SHIFTED, HELD),
            ("replicas-placed-evenly", STRIPED, HELD),
            ("replicas-placed-evenly", [(2, 1), (3, 2), (2, 3)], CONTRADICTED),
            ("replicas-placed-evenly", [(2, 1), (3, 1), (1, 2)], CONTRADICTED),
            ("replicas-placed-evenly", [(1, 1), (2, 2), (3, 3)], CONTRADICTED),
            ("replicas-placed-evenly", [(2, 1), (3, 2)], NOT_OBSERVED),
            ("replicas-placed-by-shift", [(2, 1), (3, 2)], NOT_OBSERVED),
            ("replicas-placed-by-shift", SHIFTED, HELD),
            ("replicas-placed-by-shift", [(3,), (1,), (2,), (3,), (1,), (2,)], HELD),
            ("replicas-placed-by-shift", STRIPED, CONTRADICTED),
            ("replicas-placed-by-shift", [(2, 1), (3, 2), (1, 3), (2, 1), (3, 2), (1, 3)], CONTRADICTED),
            ("replicas-placed-in-stripes", STRIPED, HELD),
            ("replicas-placed-in-stripes", [(2, 1), (1, 3), (3, 1)], CONTRADICTED),
            ("replicas-placed-in-stripes", [(2, 1), (2, 3), (3, 2)], CONTRADICTED),
        ],
    )
    def test_where_replicas_lie(self, claim: str, placed: list[tuple[int, ...]], outcome: str) -> None:
        assert judged(claim, *made(*placed)).outcome == outcome

    @pytest.mark.parametrize(
        ("placed", "racks", "outcome"),
        [
            ([(1, 2), (2, 3), (3, 2)], {1: "east", 2: "west", 3: "east"}, HELD),
            ([(1, 2, 3), (2, 3, 1), (3, 1, 2)], {1: "east", 2: "west", 3: "east"}, HELD),
            ([(1,), (2,), (3,)], {1: "east", 2: "west", 3: "east"}, HELD),
            ([(1, 2), (2, 3), (3, 1)], {1: "east", 2: "west", 3: "east"}, CONTRADICTED),
            ([(1, 3), (3, 1), (1, 3)], {1: "east", 2: "west", 3: "east"}, CONTRADICTED),
            ([(1, 2, 1), (2, 3, 1), (3, 1, 2)], {1: "east", 2: "west", 3: "north"}, CONTRADICTED),
            ([(1, 2), (2, 3), (3, 1)], {1: "east", 2: "east", 3: "east"}, NOT_OBSERVED),
            ([(1, 2), (2, 3), (3, 1)], {1: "east", 2: "west"}, NOT_OBSERVED),
            ([(1, 2), (2, 3), (3, 1)], {}, NOT_OBSERVED),
        ],
        ids=[
            "both",
            "more than racks",
            "one",
            "one in a rack",
            "all in a rack",
            "two of three",
            "one rack",
            "not all have one",
            "no racks",
        ],
    )
    def test_racks(self, placed: list[tuple[int, ...]], racks: dict[int, str], outcome: str) -> None:
        settings = {f"{number}:broker.rack": rack for number, rack in racks.items()}
        found = judged("replicas-spread-over-racks", *made(*placed), run={"settings": settings})
        assert found.outcome == outcome

    def test_a_shift_is_that_of_kafkas_own_example(self) -> None:
        """The table in the documentation of AdminUtils: five brokers, ten partitions, three replicas."""
        table = [
            (0, 1, 2),
            (1, 2, 3),
            (2, 3, 4),
            (3, 4, 0),
            (4, 0, 1),
            (0, 2, 3),
            (1, 3, 4),
            (2, 4, 0),
            (3, 0, 1),
            (4, 1, 2),
        ]
        assert shifted(range(5), 0, 10, 3) == table

    @pytest.mark.parametrize(
        "claim", ["replicas-placed-evenly", "replicas-placed-by-shift", "replicas-placed-in-stripes"]
    )
    def test_a_topic_that_was_placed_by_hand_shows_nothing(self, claim: str) -> None:
        assert judged(claim, *alive(1, 2), (1, state(0, (1, 2), (1, 2), 1))).outcome == NOT_OBSERVED


def joined(second: float) -> list[Timed]:
    """Broker 4 starts and registers."""
    return [
        (second, Container(node="broker-4", action="start")),
        (second, Broker(source="zookeeper", node="broker-4", state="registered", fenced=False)),
    ]


def made_later(*placed: tuple[int, ...]) -> list[Timed]:
    states = [(21.0, state(1, one, one, one[0], topic="new", partition=n)) for n, one in enumerate(placed)]
    return [*states, (22.0, PlaceTopic(topic="new", partitions=len(placed), replication=2, by="request"))]


OLD: Timed = (5, state(1, (1, 2, 3), (1, 2, 3), 1))
SHARED = made_later((1, 2), (2, 3), (3, 4), (4, 1))


@pytest.mark.parametrize(
    ("events", "old", "new"),
    [
        ([OLD, *joined(10), *SHARED], HELD, HELD),
        ([OLD, *joined(10), (15, state(2, (1, 2, 4), (1, 2), 1)), *SHARED], CONTRADICTED, HELD),
        ([OLD, *joined(10), *made_later((1, 2), (2, 3), (3, 1), (1, 3))], HELD, CONTRADICTED),
        ([OLD, *joined(10), *made_later((1, 4), (2, 4), (3, 4), (1, 4))], HELD, CONTRADICTED),
        ([OLD, *joined(10)], HELD, NOT_OBSERVED),
        ([OLD, *alive(4), *SHARED], NOT_OBSERVED, NOT_OBSERVED),
        ([OLD, *alive(4), *killed(4, 8), *joined(10), *SHARED], NOT_OBSERVED, NOT_OBSERVED),
        (
            [OLD, *joined(10), (12, Reassign(topic="t", partition=0, replicas=(1, 2, 4), by="")), *SHARED],
            NOT_OBSERVED,
            HELD,
        ),
    ],
    ids=[
        "joins",
        "is given one",
        "gets nothing",
        "leads nothing",
        "no new topic",
        "was there",
        "came back",
        "moved by hand",
    ],
)
def test_brokers_that_join(events: list[Timed], old: str, new: str) -> None:
    told = [*alive(1, 2, 3), *events, (40.0, Container(node="broker-1", action="die", exit_code=0))]
    assert judged("joined-broker-gets-no-old-partition", *told).outcome == old
    assert judged("joined-broker-gets-share-of-new-topics", *told).outcome == new
