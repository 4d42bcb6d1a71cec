from dataclasses import replace

import pytest

from audit.cells import (
    EQUIVALENCES,
    Cell,
    CellKey,
    RunCounts,
    Settings,
    Stated,
    added,
    canonical,
    changed,
    covering,
)
from evidence.errors import UsageError
from tests.unit.audit.cells import SAID, SPRING


def key(fault: str = "leader-crash-behind", **changes: object) -> CellKey:
    made = replace(SPRING, **changes)  # type: ignore[arg-type]
    return CellKey(**{name: getattr(made, name) for name in Settings.__slots__}, fault=fault)


def ran(name: str = "r1", **counts: object) -> RunCounts:
    known = {"date": "2026-11-22", "commit": "abc", "client_release": "2.8.2", "broker_version": "2.8.2"}
    return RunCounts(**({"run": name, "acknowledged": 10} | known | counts))  # type: ignore[arg-type]


def cell(at: CellKey | None = None, *runs: RunCounts, must: str = "loses") -> Cell:
    return Cell(key=at or key(), stated=Stated(must=frozenset({must}), **SAID), runs=runs or (ran(lost=7),))


def test_an_outcome_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no outcome 'losses'"):
        Stated(must=frozenset({"losses"}), **SAID)


def test_a_cell_is_as_stated_if_every_run_is() -> None:
    assert cell(None, ran(lost=7), ran("r2", lost=1)).as_stated
    assert not cell(None, ran(lost=7), ran("r2")).as_stated
    assert not cell(None, ran(lost=7, duplicated=1)).as_stated
    assert cell(None, ran(lost=7), ran("r2")).times("loses") == 1


def test_a_question_finds_just_its_cell_and_says_nothing_more() -> None:
    one = cell()
    assert covering(SPRING, [one, cell(key(acks="all"))]) == {"leader-crash-behind": one_covering(one)}
    assert covering(replace(SPRING, acks="0"), [one]) == {}


def one_covering(one: Cell) -> object:
    from audit.cells import Covering

    return Covering(one)


def test_a_cell_without_runs_covers_nothing() -> None:
    assert covering(SPRING, [replace(cell(), runs=())]) == {}


def test_the_nearest_release_of_the_same_line_counts_and_is_said() -> None:
    cells = [cell(key(version=version)) for version in ("0.11.0.3", "2.2.2", "2.8.2")]
    found = covering(replace(SPRING, version="2.4.1"), cells)["leader-crash-behind"]
    assert found.cell.key.version == "2.2.2"
    assert found.differs == ("measured on 2.2.2, asked for 2.4.1",)
    assert covering(replace(SPRING, line="kraft", version="2.8.2"), cells) == {}


def test_other_numbers_of_one_class_are_covered_and_more_replicas_are_said() -> None:
    found = covering(replace(SPRING, retries="3", in_flight=100, replication_factor=5), [cell()])
    assert found["leader-crash-behind"].differs == ("measured with replication factor 3, asked for 5",)


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        ({"retries": "0", "in_flight": 1}, {"retries": "0", "in_flight": 5}),
        ({"acks": "0", "retries": "0"}, {"acks": "0", "retries": "many"}),
        ({"min_insync_replicas": 2}, {}),
        ({"replication_factor": 1, "unclean": True}, {"replication_factor": 1}),
        ({"unclean": True}, {}),
    ],
)
def test_what_cannot_differ_is_covered_with_its_argument(asked: dict[str, object], measured: dict[str, object]) -> None:
    found = covering(replace(SPRING, **asked), [cell(key(**measured))])  # type: ignore[arg-type]
    assert [argument in {one.label for one in EQUIVALENCES} for argument in found["leader-crash-behind"].arguments] == [
        True
    ]


@pytest.mark.parametrize(
    ("fault", "asked", "measured", "covers"),
    [
        ("lost-acknowledgement", {"replication_factor": 2, "min_insync_replicas": 2}, {}, True),
        ("lost-acknowledgement", {"replication_factor": 1, "min_insync_replicas": 2}, {}, False),
        (
            "refused-then-accepted",
            {"replication_factor": 2, "min_insync_replicas": 2},
            {"min_insync_replicas": 2},
            True,
        ),
        ("refused-then-accepted", {"min_insync_replicas": 2}, {}, False),
        ("refused-then-accepted", {"min_insync_replicas": 2, "acks": "1"}, {"acks": "1"}, True),
        ("leader-crash-behind", {"replication_factor": 2}, {}, False),
    ],
    ids=[
        "no replica fails",
        "a topic that nobody can write to",
        "the leader alone refuses",
        "whether it refuses",
        "acks=1 is not refused",
        "replicas fail",
    ],
)
def test_replicas_count_where_a_fault_is_about_them(
    fault: str, asked: dict[str, object], measured: dict[str, object], covers: bool
) -> None:
    settings = replace(SPRING, **{"acks": "all", **asked})  # type: ignore[arg-type]
    cells = [cell(key(**{"acks": "all", "fault": fault, **measured}))]  # type: ignore[arg-type]
    assert (fault in covering(settings, cells)) is covers


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"in_flight": 1}, "leader-crash-behind"),
        ({"min_insync_replicas": 2, "acks": "all"}, "leader-crash-behind"),
        ({"unclean": True}, "shrunk-isr-crash"),
        ({"min_insync_replicas": 2, "line": "kraft", "version": "4.3.1"}, "leader-crash-behind"),
    ],
)
def test_what_can_differ_is_not_covered(asked: dict[str, object], fault: str) -> None:
    base = {name: value for name, value in asked.items() if name in ("line", "version", "acks")}
    assert covering(replace(SPRING, **asked), [cell(key(fault, **base))]) == {}  # type: ignore[arg-type]


def test_unclean_elections_count_where_two_of_two_replicas_are_down() -> None:
    def covers(factor: int, fault: str) -> bool:
        asked = replace(SPRING, unclean=True, replication_factor=factor)
        return fault in covering(asked, [cell(key(fault, replication_factor=factor))])

    assert covers(3, "double-failover")
    assert not covers(2, "double-failover")
    assert not covers(2, "follower-reboot")
    assert covers(2, "leader-crash-behind")


def test_pruning_ends_where_nothing_more_can_be_left_out() -> None:
    once, _ = canonical(key(acks="0", retries="0", in_flight=1, unclean=True, min_insync_replicas=2))
    assert canonical(once) == (once, ())


def test_runs_are_added_and_a_run_that_is_there_is_replaced() -> None:
    (one,) = added([cell(None, ran("r1"), ran("r2"))], [cell(None, ran("r2", lost=3), ran("r3"))])
    assert [(run.run, run.lost) for run in one.runs] == [("r1", 0), ("r2", 3), ("r3", 0)]


def test_a_cell_that_changed_is_told_before_and_after() -> None:
    before = [cell(None, ran("r1", lost=7), ran("r2", lost=7))]
    assert changed(before, [cell(None, ran("r3", lost=2))]) == []
    (line,) = changed(before, [cell(None, ran("r3"))])
    assert line.endswith("loses in 2 of 2 runs before, in 0 of 1 now")
    assert len(changed([cell(None, ran())], [cell(None, ran(duplicated=1))])) == 1
    assert changed([cell(None, ran("a", lost=1), ran("b"))], [cell(None, ran())]) == []


@pytest.mark.parametrize(("before", "now"), [(7, 0), (0, 7)])
def test_what_may_come_of_a_cell_and_may_not_is_no_change(before: int, now: int) -> None:
    perhaps = Stated(may=frozenset({"loses"}), **SAID)
    then, after = ([replace(cell(None, ran(lost=count)), stated=perhaps)] for count in (before, now))
    assert changed(then, after) == []
    assert len(changed(then, [replace(one, stated=Stated(**SAID)) for one in after])) == 1


@pytest.mark.parametrize(
    ("fault", "asked", "measured", "covers"),
    [
        ("leader-crash-behind", {"flush_each": True}, {}, True),
        ("power-loss", {"flush_each": True}, {}, False),
        ("power-loss", {}, {"flush_each": True}, False),
        ("none", {"flush_each": True}, {}, False),
        ("power-loss", {"unclean": True}, {}, True),
        ("power-loss", {"replication_factor": 2}, {}, True),
        ("power-loss", {"replication_factor": 2, "flush_each": True}, {"flush_each": True}, True),
        ("power-loss", {"replication_factor": 1}, {}, False),
        ("power-loss", {"acks": "all"}, {}, False),
    ],
)
def test_flushes_are_asked_by_power_loss_alone_and_by_what_they_cost(
    fault: str, asked: dict[str, object], measured: dict[str, object], covers: bool
) -> None:
    found = covering(replace(SPRING, **asked), [cell(key(fault, **measured))])  # type: ignore[arg-type]
    assert (fault in found) is covers


TWO: dict[str, object] = {"min_insync_replicas": 2, "acks": "all"}


@pytest.mark.parametrize(
    ("line", "version", "asked", "measured", "covers"),
    [
        ("epoch", "2.8.2", {"unclean": True}, {}, True),
        ("old", "0.10.2.2", {"unclean": False}, {"unclean": True}, True),
        ("kraft", "4.3.1", {"unclean": True}, {}, True),
        ("kraft", "4.3.1", TWO | {"unclean": True}, TWO, False),
        ("kraft", "4.3.1", TWO, TWO | {"unclean": True}, False),
        ("kraft", "4.3.1", {"acks": "all"}, TWO, False),
        ("epoch", "2.8.2", {"replication_factor": 2}, {}, True),
        ("epoch", "2.8.2", {"replication_factor": 1}, {}, False),
        ("epoch", "2.8.2", {"flush_each": True}, {}, False),
        ("epoch", "2.8.2", {}, {"flush_each": True}, False),
    ],
)
def test_of_the_last_replica_elections_matter_where_another_may_be_eligible(
    line: str, version: str, asked: dict[str, object], measured: dict[str, object], covers: bool
) -> None:
    of: dict[str, object] = {"line": line, "version": version}
    found = covering(replace(SPRING, **of | asked), [cell(key("last-replica", **of | measured))])  # type: ignore[arg-type]
    assert ("last-replica" in found) is covers


@pytest.mark.parametrize(("version", "unclean"), [("3.9.2", True), ("4.0.2", True), ("4.1.0", False)])
def test_before_eligible_leader_replicas_the_last_replica_leads_as_by_an_unclean_election(
    version: str, unclean: bool
) -> None:
    two = TWO | {"line": "kraft"}
    cells = [cell(key("last-replica", **two | {"version": "4.3.1", "unclean": each})) for each in (True, False)]
    found = covering(replace(SPRING, **two | {"version": version}), cells)["last-replica"]  # type: ignore[arg-type]
    assert found.cell.key.unclean is unclean
    assert found.differs == (f"measured on 4.3.1, asked for {version}",)
    assert bool(found.arguments) is unclean


def test_a_key_says_that_it_flushes_and_nothing_if_it_does_not() -> None:
    assert str(key("power-loss", flush_each=True)) == f"{key('power-loss')}, flush.messages 1"
