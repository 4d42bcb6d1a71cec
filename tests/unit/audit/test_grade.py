"""Grades on hand-written cells: what is claimed, what is not, and the smallest change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit import grade
from audit.cells import FAULTS, LAST_REPLICA, LOSES_POWER, POWER_LOSS, Cell
from audit.grade import Grader, ProducerCase, ProducerRow
from audit.model import BrokerConfig, Inputs, LivePartition, Origin, ProducerConfig, Setting, TopicConfig
from audit.topics import StatedByUser, parse_topic
from tests.unit.audit.cells import FLUSHED, FULL, KRAFT, cell, dark, harmless, matrix, run, standing


def producer(topics: tuple[str, ...] = ("orders",), release: str | None = "2.8.2", **settings: str) -> ProducerConfig:
    at = Origin("app.properties", 1)
    return ProducerConfig(
        name="app",
        client="java",
        release=release,
        settings={
            name.replace("_", "."): Setting(name.replace("_", "."), value, Origin("app.properties", line))
            for line, (name, value) in enumerate(settings.items(), 2)
        },
        topics=topics,
        origin=at,
    )


def rows(
    cells: list[Cell], *producers: ProducerConfig, stated: StatedByUser | None = None, **more: object
) -> list[ProducerRow]:
    inputs = Inputs(producers=producers or (producer(),), **more)  # type: ignore[arg-type]
    return list(Grader(cells).answer(inputs, stated or StatedByUser(version="2.8.2")).rows)


THREE = (TopicConfig(name="orders", replication_factor=3),)


def case(cells: list[Cell], **settings: Any) -> ProducerCase:
    (row,) = rows(cells, producer(**settings), topics=THREE)
    (one,) = row.cases
    return one


def test_acks_1_is_graded_by_the_worst_measured_loss_with_its_run() -> None:
    one = case(matrix())
    assert one.grade == "D"
    assert one.reason == (
        "37 of 37 acknowledged records were lost by leader-crash-behind: "
        "followers stand still, records are sent, the leader is killed, the followers continue"
    )
    worst = one.worst
    assert worst is not None
    assert (worst.run.run, worst.times, worst.of) == ("behind-1", 2, 2)
    assert [(each.effect, each.fault) for each in one.findings] == [
        ("loss", "leader-crash-behind"),
        ("loss", "zombie-leader"),
        ("duplicate", "lost-acknowledgement"),
    ]


def test_duplicates_alone_are_a_b_and_nothing_is_an_a() -> None:
    assert case(matrix(), acks="all").grade == "B"
    assert case(matrix(), enable_idempotence="true").grade == "A"
    assert not case(matrix(), enable_idempotence="true").at_best


@pytest.mark.parametrize(("fault", "letter"), sorted(grade.GRADE_IF_LOST.items()))
def test_each_fault_has_its_grade(fault: str, letter: str) -> None:
    cells = [*harmless(*(each for each in FULL if each != fault)), cell(fault, run("r", lost=1))]
    assert case(cells).grade == letter


def test_every_fault_of_the_matrix_has_a_grade() -> None:
    assert set(grade.GRADE_IF_LOST) == set(FAULTS) - {"none"} - grade.UNGRADED == set(FULL)


def test_without_a_cell_nothing_is_claimed() -> None:
    one = case([])
    assert (one.grade, one.findings, one.fixes) == ("?", (), ())
    assert set(one.not_measured) == {*FULL} | LOSES_POWER


def test_a_cell_that_was_stated_and_not_run_claims_nothing() -> None:
    stated = [replace(each, runs=()) for each in matrix()]
    assert case(stated).grade == "?"


def test_a_grade_is_at_best_while_a_worse_fault_is_not_measured() -> None:
    assert case(harmless("leader-crash-behind")).at_best
    assert case([cell("broker-restart", run("r", lost=1))]).at_best is False


def test_settings_that_the_client_refuses_are_not_graded() -> None:
    one = case(matrix(), acks="1", enable_idempotence="true")
    assert one.grade == "-"
    assert "app.properties:3" in one.reason
    assert "app.properties:2" in one.reason


def test_a_single_replica_has_no_followers_to_fall_behind() -> None:
    (row,) = rows([], producer(), topics=(TopicConfig(name="orders", replication_factor=1),))
    assert set(row.cases[0].not_measured) == ({*FULL} | LOSES_POWER) - grade.NEEDS_FOLLOWERS
    assert LAST_REPLICA in grade.NEEDS_FOLLOWERS


# The smallest change


def test_one_change_that_removes_everything_is_all_that_is_offered_with_its_cost() -> None:
    (fix,) = case(matrix()).fixes
    assert [each.label for each in fix.changes] == ["enable.idempotence=true"]
    assert (fix.effects, fix.grade, fix.leaves, fix.brings) == (("loss", "duplicate"), "A", (), ())
    assert fix.before is not None
    assert fix.after is not None
    assert (fix.before.latency_p99_ms, fix.after.latency_p99_ms) == (2.1, 3.5)
    assert (fix.before.records_per_s, fix.after.records_per_s) == (41000.0, 35000.0)


def test_a_written_setting_is_changed_where_it_stands_and_two_are_changed_if_one_does_not_do() -> None:
    loss, all_of_it = case(matrix(), acks="1").fixes
    assert [each.label for each in loss.changes] == ["acks=all"]
    assert [str(each.origin) for each in loss.changes] == ["app.properties:2"]
    assert (loss.effects, loss.grade, loss.leaves) == (("loss",), "B", ())
    assert [(one.effect, one.fault) for one in loss.brings] == [("reorder", "lost-acknowledgement")]
    assert [each.label for each in all_of_it.changes] == ["acks=all", "enable.idempotence=true"]
    assert (all_of_it.effects, all_of_it.grade) == (("loss", "duplicate"), "A")


def test_a_change_is_not_offered_if_the_fault_was_not_measured_with_it() -> None:
    cells = [each for each in matrix() if each.key.fault != "zombie-leader" or each.key.acks == "1"]
    loss = case(cells).fixes[0]
    assert [one.fault for one in loss.removes] == ["leader-crash-behind", "lost-acknowledgement"]
    assert [one.fault for one in loss.leaves] == ["zombie-leader"]


def test_nothing_is_offered_where_no_cell_shows_that_it_helps() -> None:
    assert case([cell("leader-crash-behind", run("r", lost=1))]).fixes == ()


def test_a_loss_is_exchanged_for_less_only_if_that_is_said_and_beside_a_change_that_does_not() -> None:
    cells = [
        cell("leader-crash-behind", run("r1", lost=1)),
        cell("leader-crash-behind", run("r2", reordered=1), acks="all"),
        cell("leader-crash-behind", run("r3"), acks="all", idempotence=True),
    ]
    loss, nothing = case(cells, acks="1").fixes
    assert [each.label for each in loss.changes] == ["acks=all"]
    assert [(one.effect, one.fault) for one in loss.brings] == [("reorder", "leader-crash-behind")]
    assert [each.label for each in nothing.changes] == ["acks=all", "enable.idempotence=true"]
    assert nothing.brings == ()


@pytest.mark.parametrize("brought", [{"reordered": 1}, {"duplicated": 1}])
def test_a_change_that_does_harm_elsewhere_is_not_offered_as_a_remedy(brought: dict[str, int]) -> None:
    now = cell("lost-acknowledgement", run("r1", duplicated=1))
    good = cell("lost-acknowledgement", run("r2"), acks="all")
    bad = cell("broker-restart", run("r3", **brought), acks="all")
    assert case([now, good]).fixes != ()
    assert case([now, good, bad]).fixes == ()


def test_a_change_that_refuses_records_says_so() -> None:
    lossy: dict[str, Any] = {"acks": "all", "min_insync_replicas": 1, "unclean": True}
    cells = [
        cell("shrunk-isr-crash", run("r1", lost=9), **lossy),
        cell("shrunk-isr-crash", run("r2", refused=9), **(lossy | {"min_insync_replicas": 2})),
    ]
    topic = TopicConfig(
        name="orders",
        replication_factor=3,
        settings={"unclean.leader.election.enable": Setting("unclean.leader.election.enable", "true", Origin("t", 4))},
    )
    (row,) = rows(cells, producer(acks="all"), topics=(topic,))
    assert row.grade == "C"
    (fix,) = row.cases[0].fixes
    assert [each.label for each in fix.changes] == ["min.insync.replicas=2 for the topic"]
    assert fix.refuses == ("shrunk-isr-crash",)


def test_newer_brokers_are_the_change_where_no_setting_helps() -> None:
    old: dict[str, Any] = {"line": "old", "version": "0.10.2.2", "acks": "all", "retries": "0", "unclean": False}
    cells = [
        cell("double-failover", run("r1", 5, lost=1), **old),
        *harmless("double-failover", acks="all", retries="0"),
    ]
    (row,) = rows(cells, producer(release="0.10.2.2", acks="all"), stated=StatedByUser(version="0.10.2.2"))
    (fix,) = row.cases[0].fixes
    assert [each.label for each in fix.changes] == ["brokers of 2.8.2"]


# Power loss


@pytest.mark.parametrize("settings", [{"acks": "1"}, {"acks": "all"}, {"enable_idempotence": "true"}])
def test_power_loss_is_told_beside_the_grade_and_changes_nothing_else(settings: dict[str, str]) -> None:
    without, one = case(matrix(), **settings), case([*matrix(), *dark()], **settings)
    assert [(each.effect, each.fault, each.count) for each in one.ungraded] == [("loss", POWER_LOSS, 7)]
    assert (one.grade, one.reason, one.at_best) == (without.grade, without.reason, without.at_best)
    assert (one.findings, one.fixes) == (without.findings, without.fixes)
    assert POWER_LOSS not in one.harmless
    assert POWER_LOSS not in one.not_measured


def test_what_a_power_loss_duplicates_is_graded_for_idempotence_prevents_it() -> None:
    both = cell(POWER_LOSS, run("r", 12, lost=7, duplicated=2), acks="all")
    one = case([*harmless(acks="all"), both], acks="all")
    assert (one.grade, [(each.effect, each.kind) for each in one.findings]) == ("B", [("duplicate", "duplicate")])
    assert [(each.effect, each.kind) for each in one.ungraded] == [("loss", "power-loss")]
    twice = cell(POWER_LOSS, run("f", 12, duplicated=2), acks="all", **FLUSHED)
    fix = case([*harmless(acks="all"), both, twice], acks="all").flushed
    assert fix is not None
    assert [each.effect for each in fix.removes] == ["loss"]


def test_a_grade_waits_for_no_power_loss_and_is_none_by_it_alone() -> None:
    assert not case(harmless()).at_best
    assert set(case(harmless()).not_measured) == LOSES_POWER
    alone = case([cell(POWER_LOSS, run("r", 12, lost=7))])
    assert (alone.grade, len(alone.ungraded)) == ("?", 1)


def test_what_a_flush_of_each_record_removes_and_costs_is_that_of_its_cells() -> None:
    fix = case([*matrix(), *dark()], acks="all").flushed
    assert fix is not None
    assert [each.label for each in fix.changes] == ["flush.messages=1 for the topic"]
    assert ([each.fault for each in fix.removes], fix.leaves, fix.grade) == ([POWER_LOSS], (), "B")
    assert fix.before is not None
    assert fix.after is not None
    assert (fix.before.latency_p50_ms, fix.after.latency_p50_ms) == (1.5, 8.0)


def test_a_flush_that_was_not_measured_or_did_not_help_is_not_offered() -> None:
    lost = cell(POWER_LOSS, run("r", 12, lost=7))
    assert case([lost]).flushed is None
    assert case([lost, cell(POWER_LOSS, run("f", 12, lost=1), **FLUSHED)]).flushed is None


@pytest.mark.parametrize(("names", "before"), [(("quiet", "busy"), 5.0), (("quiet", "calm"), 1.0)])
def test_costs_are_of_the_same_runs_where_there_are_any(names: tuple[str, str], before: float) -> None:
    lost = cell(POWER_LOSS, run("r", 12, lost=7))
    kept = cell(POWER_LOSS, run("f", 12), **FLUSHED)
    figures = zip(names, (1.0, 5.0 if "busy" in names else 1.0), strict=True)
    plain = cell("none", *(run(name, latency_p50_ms=figure, latency_p99_ms=9.0) for name, figure in figures))
    flushed = cell("none", run("busy", latency_p50_ms=8.0, latency_p99_ms=9.0), **FLUSHED)
    fix = case([lost, kept, plain, flushed]).flushed
    assert fix is not None
    assert fix.before is not None
    assert fix.after is not None
    assert (fix.before.latency_p50_ms, fix.after.latency_p50_ms) == (before, 8.0)
    assert fix.before.runs == (("busy",) if "busy" in names else names)


@pytest.mark.parametrize(
    ("topics", "brokers", "flushes"),
    [
        ("1", None, True),
        (None, "1", True),
        ("1", "500", True),
        ("500", "1", False),
        (None, str(2**63 - 1), False),
        (None, None, False),
    ],
)
def test_a_topic_that_flushes_each_record_is_looked_up_as_such(
    topics: str | None, brokers: str | None, flushes: bool
) -> None:
    def told(key: str, value: str | None) -> dict[str, Setting]:
        return {} if value is None else {key: Setting(key, value, Origin("told", 3))}

    topic = TopicConfig(name="orders", replication_factor=3, settings=told("flush.messages", topics))
    all_brokers = BrokerConfig(name="b", release="2.8.2", settings=told("log.flush.interval.messages", brokers))
    (row,) = rows([*matrix(), *dark()], producer(acks="all"), topics=(topic,), brokers=(all_brokers,))
    (one,) = row.cases
    assert one.topic.flush_each.value is flushes
    assert (not one.ungraded, POWER_LOSS in one.harmless, one.flushed is None) == (flushes,) * 3
    assert one.grade == "B"
    assert any("bounds what a power loss takes" in each for each in one.topic.remarks) is (topics == "500")


def test_a_flush_can_be_stated_on_the_command_line() -> None:
    stated = StatedByUser(version="2.8.2", topics=(parse_topic("orders:flush.messages=1"),))
    (row,) = rows([*matrix(), *dark()], stated=stated)
    assert row.cases[0].topic.flush_each.value


# The last replica in sync


def standing_alone(more: list[Cell], least: int = 1, **settings: Any) -> ProducerCase:
    """What is said of a producer on 4.3.1, whose graded faults do no harm."""
    topic = TopicConfig(
        name="orders",
        replication_factor=3,
        settings={"min.insync.replicas": Setting("min.insync.replicas", str(least), Origin("told", 3))},
    )
    cells = [
        one
        for acks in ("1", "all")
        for number in (1, 2)
        for one in harmless(acks=acks, min_insync_replicas=number, **KRAFT)
    ]
    made = producer(release="4.3.1", enable_idempotence="false", **settings)
    (row,) = rows([*more, *cells], made, topics=(topic,), stated=StatedByUser(version="4.3.1"))
    return row.cases[0]


@pytest.mark.parametrize(("acks", "least", "lost"), [("1", 1, 7), ("all", 1, 7), ("1", 2, 3), ("all", 2, 0)])
def test_what_the_last_replica_loses_is_told_beside_the_grade(acks: str, least: int, lost: int) -> None:
    one = standing_alone(standing(), least, acks=acks)
    assert [(each.effect, each.kind, each.count) for each in one.ungraded] == (
        [("loss", "last-replica", lost)] if lost else []
    )
    assert (one.grade, one.at_best, one.findings) == ("A", False, ())
    assert (LAST_REPLICA in one.harmless) is (lost == 0)


@pytest.mark.parametrize(
    ("acks", "least", "flushed", "eligible"),
    [
        ("1", 1, True, ["acks=all", "min.insync.replicas=2 for the topic"]),
        ("all", 1, True, ["min.insync.replicas=2 for the topic"]),
        ("1", 2, False, ["acks=all"]),
        ("all", 2, False, None),
    ],
)
def test_against_the_last_replica_another_may_be_eligible(
    acks: str, least: int, flushed: bool, eligible: list[str] | None
) -> None:
    one = standing_alone(standing(), least, acks=acks)
    assert (one.flushed is not None) is flushed
    assert eligible == (None if one.eligible is None else [each.label for each in one.eligible.changes])


def test_nobody_is_eligible_where_that_was_not_measured_or_is_not_kraft() -> None:
    unmeasured = [one for one in standing() if one.key.min_insync_replicas == 1]
    assert standing_alone(unmeasured, acks="all").eligible is None
    zookeeper = [
        cell(LAST_REPLICA, run("r", 12, lost=7), acks="all"),
        cell(LAST_REPLICA, run("s", 9), acks="all", min_insync_replicas=2),
    ]
    assert case([*harmless(acks="all"), *zookeeper], acks="all").eligible is None


def test_a_flush_that_removes_one_loss_of_power_leaves_the_other() -> None:
    two: dict[str, Any] = KRAFT | {"min_insync_replicas": 2}
    dark = [cell(POWER_LOSS, run("d", 12, lost=7), **two), cell(POWER_LOSS, run("f", 12), **two, **FLUSHED)]
    fix = standing_alone([*standing(), *dark], 2, acks="1").flushed
    assert fix is not None
    assert ([each.fault for each in fix.removes], [each.fault for each in fix.leaves]) == (
        [POWER_LOSS],
        [LAST_REPLICA],
    )


def test_harm_that_a_change_against_lost_power_does_is_told() -> None:
    twice = cell(POWER_LOSS, run("f", 12, duplicated=1), acks="all", **FLUSHED)
    fix = case([*harmless(acks="all"), cell(POWER_LOSS, run("r", 12, lost=7), acks="all"), twice], acks="all").flushed
    assert fix is not None
    assert [(each.fault, each.effect) for each in fix.brings] == [(POWER_LOSS, "duplicate")]
    behind = cell("leader-crash-behind", run("t", 12, duplicated=1), acks="all", min_insync_replicas=2, **KRAFT)
    eligible = standing_alone([behind, *standing()], acks="all").eligible
    assert eligible is not None
    assert [(each.fault, each.effect) for each in eligible.brings] == [("leader-crash-behind", "duplicate")]
    whole = cell(LAST_REPLICA, run("h", 9), acks="all", idempotence=True, min_insync_replicas=2, **KRAFT)
    harmless_one = standing_alone([behind, whole, *standing()], acks="all").eligible
    assert harmless_one is not None
    assert harmless_one.brings == ()
    assert [each.key for each in harmless_one.changes] == ["enable.idempotence", "min.insync.replicas"]


# Topics and brokers


@pytest.mark.parametrize(("settings", "best"), [({"enable_idempotence": "true"}, "A"), ({"acks": "all"}, "B")])
def test_that_nothing_is_lost_is_not_certain_of_replicas_that_nobody_tells(settings: Any, best: str) -> None:
    (row,) = rows(matrix(), producer(**settings))
    assert [one.grade for one in row.cases] == [best, "F"]
    assert [one.topic.replication_factor.value for one in row.cases] == [3, 1]
    assert (row.certain, row.grade) == (False, "?" if best == "A" else "B")
    assert not row.certainly("loss")
    assert row.certainly("duplicate") is (best == "B")
    assert all("3 replicas" not in text for text in row.cases[1].topic.assumed)


def test_a_loss_with_the_replicas_that_are_assumed_is_certain() -> None:
    (row,) = rows(matrix())
    assert (len(row.cases), row.grade, row.certainly("loss")) == (1, "D", True)


def test_more_in_sync_replicas_than_one_is_remarked_of_one_replica_alone() -> None:
    least = {"min.insync.replicas": Setting("min.insync.replicas", "2", Origin("t", 4))}
    cells = [*matrix(), *harmless(acks="all", idempotence=True, min_insync_replicas=2)]
    topics = (TopicConfig(name="orders", settings=least),)
    (row,) = rows(cells, producer(enable_idempotence="true"), topics=topics)
    assert [len(one.topic.remarks) for one in row.cases] == [0, 1]
    assert "is refused" in row.cases[1].topic.remarks[0]


def test_what_nobody_tells_is_assumed_and_said() -> None:
    (row,) = rows(matrix(), stated=StatedByUser())
    topic = row.cases[0].topic
    assert (topic.replication_factor.value, topic.version.value) == (3, "2.8.2")
    assert topic.assumed == (
        "brokers of 2.8.2, as new as the client (--brokers-version tells)",
        "3 replicas (--topic NAME:replication.factor=N tells)",
    )


def test_a_topics_own_setting_counts_before_the_brokers() -> None:
    def setting(key: str, value: str, path: str) -> dict[str, Setting]:
        return {key: Setting(key, value, Origin(path, 7))}

    brokers = BrokerConfig(name="b", release="2.8.2", settings=setting("min.insync.replicas", "2", "server.properties"))
    own = TopicConfig(name="orders", settings=setting("min.insync.replicas", "1", "topic.yml"))
    (row,) = rows(matrix(), brokers=(brokers,), topics=(own,), stated=StatedByUser())
    assert str(row.cases[0].topic.min_insync_replicas) == "min.insync.replicas=1 (topic.yml:7)"
    (row,) = rows(matrix(), brokers=(brokers,), stated=StatedByUser())
    assert row.cases[0].topic.min_insync_replicas.value == 2


@pytest.mark.parametrize(("release", "unclean"), [("0.10.2.2", True), ("0.11.0.3", False)])
def test_unclean_elections_are_on_by_default_before_0_11(release: str, unclean: bool) -> None:
    (row,) = rows([], stated=StatedByUser(version=release))
    assert row.cases[0].topic.unclean.value is unclean


def test_of_brokers_that_disagree_the_weaker_counts_and_that_is_said() -> None:
    def brokers(name: str, least: str) -> BrokerConfig:
        key = "min.insync.replicas"
        return BrokerConfig(name=name, release="2.8.2", settings={key: Setting(key, least, Origin(name, 1))})

    (row,) = rows(matrix(), brokers=(brokers("a", "2"), brokers("b", "1")))
    topic = row.cases[0].topic
    assert topic.min_insync_replicas.value == 1
    assert "disagree" in topic.remarks[0]


def test_more_in_sync_replicas_than_replicas_is_remarked() -> None:
    key = "min.insync.replicas"
    topic = TopicConfig(name="orders", replication_factor=1, settings={key: Setting(key, "2", Origin("t.yml", 3))})
    (row,) = rows([], topics=(topic,))
    assert "every record sent with acks=all is refused" in row.cases[0].topic.remarks[0]


def test_topics_that_are_alike_are_one_answer_and_internal_ones_none() -> None:
    topics = [TopicConfig(name=name, replication_factor=3) for name in ("a", "b", "__consumer_offsets")]
    other = TopicConfig(name="c", replication_factor=1)
    found = rows(matrix(), producer(topics=()), topics=(*topics, other))
    assert [row.topics for row in found] == [("a", "b"), ("c",)]


def test_a_version_and_how_it_is_run() -> None:
    for said, line in (("3.9.2-zk", "zk3"), ("3.9.2-kraft", "kraft"), ("3.9.2-pinned", "pinned"), ("4.1", "kraft")):
        (row,) = rows([], stated=StatedByUser(version=said))
        assert row.cases[0].settings.line == line


# All of it


def test_an_unknown_release_is_answered_on_both_sides_and_graded_by_what_is_certain() -> None:
    (row,) = rows(matrix(), producer(release=None), topics=THREE)
    assert {one.grade for one in row.cases} >= {"D", "A"}
    assert (row.grade, row.certain, row.best.grade, row.worst.grade) == ("?", False, "A", "D")
    assert row.reason == "what is not told decides: from A to D"
    assert not row.certainly("loss")
    assert all(one.resolved.when for one in row.cases)


def test_an_answer_counts_grades_and_names_the_worst() -> None:
    inputs = Inputs(producers=(producer(acks="1"), producer(acks="all"), producer(acks="all")))
    answer = Grader(matrix()).answer(inputs, StatedByUser(version="2.8.2"))
    assert answer.grades == {"D": 1, "B": 2}
    assert answer.worst is answer.rows[0]
    assert [row.number for row in answer.rows] == [0, 1, 2]


def test_the_table_of_grades_is_the_same_in_code_and_docs() -> None:
    text = grade.__doc__ or ""
    assert all(f"| {letter} |" in text for letter in grade.GRADES)
    page = Path(__file__).parents[3] / "docs" / "audit.md"
    assert all(f"| {letter} | {says} |" in page.read_text() for letter, says in grade.GRADES.items())


def test_what_is_wrong_with_a_live_topic_now_is_said_of_each_of_alike_ones() -> None:
    short = (LivePartition(number=0, leader=1, replicas=(1, 2, 3), isr=(1, 3)),)
    whole = (LivePartition(number=0, leader=1, replicas=(1, 2, 3), isr=(1, 2, 3)),)
    topics = tuple(
        TopicConfig(name=name, replication_factor=3, live=live)
        for name, live in (("orders", short), ("sound", whole), ("payments", short))
    )
    (row,) = rows(matrix(), producer(topics=("orders", "sound", "payments")), topics=topics)
    assert row.topics == ("orders", "sound", "payments")
    assert row.cases[0].topic.remarks == (
        "under-replicated now: orders-0 (ISR [1, 3] of [1, 2, 3])",
        "under-replicated now: payments-0 (ISR [1, 3] of [1, 2, 3])",
    )


def test_a_topic_that_the_command_line_names_keeps_what_is_known_of_it() -> None:
    at = Origin("cluster kafka:9092")
    known = TopicConfig(
        name="orders",
        replication_factor=2,
        settings={name: Setting(name, "2", at) for name in ("min.insync.replicas",)},
        origin=at,
    )
    (row,) = rows(matrix(), producer(topics=()), topics=(known,), stated=StatedByUser(topics=(parse_topic("orders"),)))
    topic = row.cases[0].topic
    assert (topic.replication_factor.value, topic.min_insync_replicas.value) == (2, 2)
    stated = StatedByUser(topics=(parse_topic("orders:min.insync.replicas=1"),))
    (row,) = rows(matrix(), producer(topics=()), topics=(known,), stated=stated)
    topic = row.cases[0].topic
    assert (topic.replication_factor.value, topic.min_insync_replicas.value) == (2, 1)
