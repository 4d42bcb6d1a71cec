"""The audit's matrix gathered from run directories, and the scenarios that measure it."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from app import audit_matrix, registry
from app.audit_cells import VERSIONS, line_of, scenarios, subjects_of
from app.audit_matrix import gather, main, measured_by, tonight
from app.cli import main as kafka_chaos
from audit import matrix
from audit.cells import FAULTS, LINES, OUTCOMES, CellKey, Stated, canonical
from evidence import ledger
from evidence.basis import Basis
from evidence.rundir import RunDir, write_json
from evidence.timeline import Timeline
from harness.cluster import versions
from harness.run import Run
from harness.scenario import Scenario, all_scenarios
from harness.subjects import NOTHING_STATED, Producer, Subject, Topic, UserSubject
from judgement.verdict import AS_DOCUMENTED, UNEXPECTED, Name, Verdict
from scenarios.audit import (
    AUDITED,
    REFUSED,
    double_failover,
    follower_reboot,
    last_replica,
    lost_for_good,
    none,
    plan,
    power_loss,
    shrunk_isr_crash,
    under_load,
)
from tests.findings import write
from tests.ledgers import judged, started
from tests.records import run_record

SUBJECT = {
    "client": "librdkafka", "acks": "1", "idempotence": False, "in_flight": 5, "retries": "many",
    "replication_factor": 3, "min_insync_replicas": 1, "unclean": False, "flush_each": False,
    "topic": "rf3-min1", "partition": 0, "process": "producer-1", "client_release": "",
    "overrides": {"request.timeout.ms": "12000"},
    "stated": {"must": ["loses"], "may": [], "why": "w", "source": "KIP-98", "basis": "KIP"}, "expected_loss": None,
}  # fmt: skip
LOST = {
    "anomaly": "lost-write", "topic": "rf3-min1", "partition": 0, "count": 1,
    "evidence": [{"process": "producer-1", "sequence": 4}],
}  # fmt: skip
COUNTS = {
    "topic": "rf3-min1", "partition": 0, "process": "producer-1", "acks": [1],
    "acknowledged": 12, "refused": 0, "unknown_present": 1, "unknown_absent": 2,
}  # fmt: skip


def a_run(root: Path, name: str = "r1", *, sound: bool = True, verdict: Name = AS_DOCUMENTED, **facts: Any) -> RunDir:
    run_dir = RunDir(root / name)
    run_dir.path.mkdir(parents=True)
    known = {"run": name, "scenario": "audit-leader-crash-behind", "version": "2.8.2", "commit": "abc"}
    run_dir.write_run(
        run_record(known | {"subjects": [SUBJECT], "started_wall_ns": 1795319363816285330, "state": "complete"} | facts)
    )
    write(run_dir, {"findings": [LOST], "subjects": [COUNTS]})
    write_json(run_dir.verdict, Verdict(verdict=verdict, sound=sound, run=name).as_json())
    Timeline(run_dir.timeline).close()
    return run_dir


def a_stage(version: versions.Version, *given: UserSubject) -> Run:
    return cast("Run", SimpleNamespace(version=version, given=given))


def test_a_sound_run_measures_a_cell_for_each_of_its_subjects(tmp_path: Path) -> None:
    (cell,) = measured_by(a_run(tmp_path))
    assert (cell.key.line, cell.key.version, cell.key.fault) == ("epoch", "2.8.2", "leader-crash-behind")
    assert cell.stated.must == {"loses"}
    (run,) = cell.runs
    assert (run.run, run.date, run.commit, run.broker_version) == ("r1", "2026-11-22", "abc", "2.8.2")
    assert (run.acknowledged, run.lost, run.unknown_present, run.unknown_absent) == (12, 1, 1, 2)
    assert cell.as_stated


def test_a_run_in_doubt_measures_nothing_and_is_told(tmp_path: Path) -> None:
    a_run(tmp_path, "r1")
    a_run(tmp_path, "r2", sound=False)
    a_run(tmp_path, "r3", observed=True)
    gathered = gather(tmp_path)
    assert [len(cell.runs) for cell in gathered.cells] == [1]
    assert [line.split()[0] for line in gathered.left_out] == ["r2", "r3"]


def test_a_run_that_contradicts_what_is_stated_is_measured(tmp_path: Path) -> None:
    stated = {"must": [], "may": [], "why": "", "source": "KIP-98", "basis": "KIP"}
    (cell,) = measured_by(a_run(tmp_path, verdict=UNEXPECTED, subjects=[SUBJECT | {"stated": stated}]))
    assert not cell.as_stated


def test_a_run_says_whether_its_topics_flush_and_an_older_one_did_not(tmp_path: Path) -> None:
    older = {name: value for name, value in SUBJECT.items() if name != "flush_each"}
    for number, (subject, flushes) in enumerate([(older, False), (SUBJECT | {"flush_each": True}, True)]):
        (cell,) = measured_by(a_run(tmp_path, f"r{number}", subjects=[subject]))
        assert cell.key.flush_each is flushes


def test_a_run_without_subjects_is_passed_over(tmp_path: Path) -> None:
    assert measured_by(a_run(tmp_path, subjects=[])) == []
    assert measured_by(a_run(tmp_path, "r2", scenario="baseline")) == []


def a_night(root: Path, *, lost: bool) -> Path:
    """Five runs of two subjects, of which the second loses a record or does not; without fault they have figures."""
    other = SUBJECT | {"acks": "all", "process": "producer-2", "partition": 1}
    for number in range(5):
        name = f"{root.name}{number}"
        run_dir = a_run(root, name, subjects=[SUBJECT, other], scenario="audit-none")
        figures = {"latency_p50_ms": 2.0 + number / 10, "records_per_s": 500.0 if lost else 1000.0}
        counts = [COUNTS, COUNTS | {"process": "producer-2", "partition": 1, "acks": [-1]} | figures]
        rows = [{"process": "producer-2", "sequence": 4}]
        findings = [LOST, *([LOST | {"partition": 1, "evidence": rows}] if lost else [])]
        write(run_dir, {"findings": findings, "subjects": counts})
        for line in (started(name, scenario="audit-none", version="2.8.2"), judged(name)):
            ledger.append(root / ledger.FILE, line)
    return root


def test_nights_are_compared_subject_by_subject(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = a_night(tmp_path / "a", lost=False), a_night(tmp_path / "b", lost=True)
    assert kafka_chaos(["compare", str(old), str(new)]) == 1
    sentence, *more = capsys.readouterr().out.splitlines()
    assert sentence.startswith(
        f"2.8.2 in {new}: 1 regression in 3 cells: audit-none (librdkafka, acks=all, in flight 5, retries many, RF 3, "
        "min.insync.replicas 1, unclean elections off) on 2.8.2 lost acknowledged records in 5 of 5 runs, was 0 of 5"
    )
    assert any("a record of many that were sent at once: 2.0 ms, was 1.0 ms (100% longer)" in line for line in more)
    assert kafka_chaos(["compare", str(old), str(old)]) == 0


def test_a_subject_of_a_run_in_doubt_is_not_compared(tmp_path: Path) -> None:
    assert subjects_of(a_run(tmp_path, "r1", sound=False)) == []
    assert [settings for settings, _ in subjects_of(a_run(tmp_path, "r2"))] == [
        "librdkafka, acks=1, in flight 5, retries many, RF 3, min.insync.replicas 1, unclean elections off"
    ]


def test_runs_of_one_cell_are_put_together_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_run(tmp_path / "runs", "r1")
    a_run(tmp_path / "runs", "r2")
    folder, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setattr(matrix.load, "__defaults__", (folder,))
    monkeypatch.setattr(audit_matrix.write, "__defaults__", (docs, folder))
    assert main(["gather", "--runs-dir", str(tmp_path / "runs"), "--docs", str(docs)]) == 0
    (cell,) = matrix.load(folder)
    assert [run.run for run in cell.runs] == ["r1", "r2"]
    assert "**1 cells**" in (docs / "audit-matrix.md").read_text()


def test_a_run_of_a_tree_with_changes_stays_in_the_files_and_counts_nowhere(tmp_path: Path) -> None:
    cells = [*measured_by(a_run(tmp_path, "r1")), *measured_by(a_run(tmp_path, "r2", commit="abc+"))]
    folder, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    audit_matrix.write(cells, docs, folder)
    (counted,), (kept,) = matrix.load(folder), matrix.load(folder, modified=True)
    assert [run.run for run in counted.runs] == ["r1"]
    assert [run.run for run in kept.runs] == ["r1", "r2"]
    assert "**1 cells**, 1 times, in 1 runs" in (docs / "audit-matrix.md").read_text()


def test_a_folder_without_runs_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gather", "--runs-dir", str(tmp_path / "none")]) == 254
    assert "no run directory" in capsys.readouterr().err


@pytest.mark.parametrize(("lost", "status"), [(True, 0), (False, 1)])
def test_a_night_fails_on_a_cell_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: bool, status: int
) -> None:
    before = gather(a_run(tmp_path / "before").path.parent)
    now = a_run(tmp_path / "now", "r2")
    if not lost:
        write(now, {"findings": [], "subjects": [COUNTS]})
    monkeypatch.setattr(matrix, "load", lambda: before.cells)
    monkeypatch.setattr(audit_matrix, "measure", lambda *_: gather(tmp_path / "now"))
    assert main(["nightly", "--faults", "leader-crash-behind"]) == status
    said = capsys.readouterr().err
    assert said.startswith("tonight: leader-crash-behind\n")
    assert ("loses in 1 of 1 runs before, in 0 of 1 now" in said) == (status == 1)


def test_a_night_without_a_measurement_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_run(tmp_path, sound=False)
    monkeypatch.setattr(audit_matrix, "measure", lambda *_: gather(tmp_path))
    assert main(["nightly"]) == 2


def test_every_fault_has_its_night() -> None:
    faults = list(scenarios())
    assert {tonight(faults, day) for day in range(100, 100 + len(faults))} == set(faults)


def test_there_is_a_scenario_for_each_fault_of_the_matrix() -> None:
    assert set(scenarios()) == set(FAULTS)


def test_every_line_is_measured_by_one_version() -> None:
    assert [line_of(versions.get(name)) for name in VERSIONS] == list(LINES)
    assert all(AUDITED.holds(versions.get(name)) for name in VERSIONS)


@pytest.mark.parametrize("name", VERSIONS)
def test_nothing_is_measured_that_cannot_differ(name: str) -> None:
    """Each cell of a plan stands for itself: no argument leads to another one, but for clients that are synchronous."""
    version = versions.get(name)
    subjects = plan(a_stage(version), lambda *_: NOTHING_STATED, unclean=(False, True))
    keys = [
        CellKey(**one.key, line=line_of(version), version=name, fault="shrunk-isr-crash")
        for one in subjects
        if one.producer.client != "scala"
    ]
    assert len(set(keys)) == len(keys)
    assert [str(key) for key in keys if canonical(key)[0] != key] == []


@pytest.mark.parametrize("name", VERSIONS)
def test_of_power_loss_nothing_is_measured_that_cannot_differ_and_all_lose_unless_they_flush(name: str) -> None:
    version = versions.get(name)
    subjects = plan(a_stage(version), power_loss.stated, among=lambda one: power_loss.measured_in(one, version))
    keys = [CellKey(**one.key, line=line_of(version), version=name, fault="power-loss") for one in subjects]
    assert [
        str(key) for key, one in zip(keys, subjects, strict=True)
        if one.producer.client != "scala" and canonical(key)[0] != key
    ] == []  # fmt: skip
    stated = [one for one in subjects if one.stated.why != REFUSED.why]
    assert all(("loses" in one.stated.must) is not one.topic.flush_each for one in stated)
    assert not any("loses" in one.stated.may for one in stated)
    assert {one.topic.replication_factor for one in subjects} == {1, 3}
    assert {one.topic.flush_each for one in subjects if one.producer.acks == "all"} == {True, False}


@pytest.mark.parametrize("name", VERSIONS)
def test_of_the_last_replica_nothing_is_measured_that_cannot_differ(name: str) -> None:
    version = versions.get(name)
    subjects = plan(
        a_stage(version),
        lambda p, t: last_replica.stated(p, t, version),
        among=lambda one: last_replica.measured_in(one, version),
    )
    keys = [CellKey(**one.key, line=line_of(version), version=name, fault="last-replica") for one in subjects]
    assert len(set(keys)) == len(keys)
    assert [
        str(key) for key, one in zip(keys, subjects, strict=True)
        if one.producer.client != "scala" and canonical(key)[0] != key
    ] == []  # fmt: skip


@pytest.mark.parametrize("name", VERSIONS)
def test_the_last_replica_loses_what_is_not_flushed_unless_another_is_eligible(name: str) -> None:
    version = versions.get(name)

    def loses(acks: str, least: int, *, unclean: bool = False, flush: bool = False) -> bool:
        topic = Topic(min_insync_replicas=least, unclean=unclean, flush_each=flush)
        outcome = last_replica.stated(Producer(client="java", acks=acks), topic, version)
        assert "loses" not in outcome.may
        return "loses" in outcome.must

    kraft = version.mode == "kraft"
    for acks in ("0", "1", "all"):
        assert loses(acks, 1)
        assert not loses(acks, 1, flush=True)
        assert loses(acks, 2, unclean=True)
        assert not loses(acks, 2, unclean=True, flush=True)
    # The follower that leads then never had what the leader acknowledged alone: flushes are no help.
    assert [loses(acks, 2) for acks in ("0", "1", "all")] == [True, True, not kraft]
    assert [loses(acks, 2, flush=True) for acks in ("0", "1", "all")] == [kraft, kraft, False]


@pytest.mark.parametrize(
    ("client", "acks", "least", "retries", "must", "may"),
    [
        ("java", "all", 1, "many", set(), set()),
        ("java", "all", 2, "many", set(), {"reorders"}),
        ("java", "all", 2, "0", {"refuses"}, set()),
        ("java", "all", 1, "0", set(), set()),
        ("scala", "all", 2, "0", set(), set()),
        ("java", "1", 2, "many", set(), set()),
        ("java", "0", 2, "many", set(), set()),
    ],
)
def test_alone_the_last_replica_refuses_acks_all_with_min_insync_replicas_2(
    client: str, acks: str, least: int, retries: str, must: set[str], may: set[str]
) -> None:
    producer = Producer(client=client, acks=acks, retries=retries)
    topic = Topic(min_insync_replicas=least, flush_each=True)
    stated = last_replica.stated(producer, topic, versions.get("2.8.2"))
    assert (set(stated.must), set(stated.may), stated.basis) == (must, may, Basis.KIP)


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize(("fault", "lost"), [("disk-lost", 1), ("rack-lost", 2), ("last-disk-lost", 0)])
def test_of_lost_replicas_nothing_is_measured_that_cannot_differ(name: str, fault: str, lost: int) -> None:
    """Topics of which every replica is lost lose, whatever the producer asks for, and no others."""
    version = versions.get(name)
    subjects = plan(
        a_stage(version),
        lost_for_good.stated_of(lost) if lost else lost_for_good.stated_of_the_last,
        among=lambda one: (
            lost_for_good.struck_topics(one, version, lost) if lost else lost_for_good.alone_in_sync(one, version)
        ),
    )
    keys = [CellKey(**one.key, line=line_of(version), version=name, fault=fault) for one in subjects]
    assert len(set(keys)) == len(keys)
    assert [
        str(key) for key, one in zip(keys, subjects, strict=True)
        if one.producer.client != "scala" and canonical(key)[0] != key
    ] == []  # fmt: skip
    taken = [one for one in subjects if one.stated.why != REFUSED.why]
    assert not any("loses" in one.stated.may for one in taken)
    if lost:
        assert all(("loses" in one.stated.must) is (one.topic.replication_factor <= lost) for one in taken)
        return
    kept = {(one.producer.acks, one.topic.min_insync_replicas) for one in taken if "loses" not in one.stated.must}
    assert kept == {("all", 2)}


def test_of_lost_replicas_idempotence_writes_nothing_twice() -> None:
    for lost in (1, 2):
        for producer in (Producer(client="java", acks="all", idempotence=True), Producer(client="java", acks="0")):
            assert lost_for_good.stated_of(lost)(producer, Topic()).may == set()
    again = lost_for_good.stated_of(1)(Producer(client="java", acks="all"), Topic())
    assert again.may == {"duplicates"}
    assert "request.timeout.ms" in again.source


def test_followers_that_would_end_themselves_are_not_measured() -> None:
    for name in VERSIONS:
        version = versions.get(name)
        topics = list(last_replica.measured_in(Producer(client="java", acks="all"), version))
        assert all(topic.unclean for topic in topics) is (name == "0.10.2.2")


def test_what_a_flush_costs_is_measured_of_topics_of_three_replicas() -> None:
    version = versions.get("2.8.2")
    subjects = plan(a_stage(version), none.stated, among=lambda one: none.measured_in(one, version))
    assert {one.topic.replication_factor for one in subjects if one.topic.flush_each} == {3}
    assert {one.topic.replication_factor for one in subjects if not one.topic.flush_each} == {1, 2, 3}
    assert {one.producer for one in subjects if one.topic.flush_each} == {one.producer for one in subjects}


def test_eligible_replicas_lose_what_acks_1_was_told_with_unclean_elections_off() -> None:
    kraft, old = versions.get("4.3.1"), versions.get("3.9.2-zk")

    def losing(version: versions.Version) -> set[tuple[str, int, bool]]:
        subjects = plan(a_stage(version), lambda p, t: shrunk_isr_crash.stated(p, t, version), unclean=(False, True))
        return {
            (one.producer.acks, one.topic.min_insync_replicas, one.topic.unclean)
            for one in subjects
            if "loses" in one.stated.must
        }

    assert losing(old) == {("0", 1, True), ("1", 1, True), ("all", 1, True)}
    assert losing(kraft) - losing(old) == {("0", 2, True), ("1", 2, True), ("0", 2, False), ("1", 2, False)}


@pytest.mark.parametrize(
    ("truncates", "replicas"), [(True, {3}), (False, set())], ids=["to the high watermark", "by leader epoch"]
)
def test_two_elections_lose_with_every_acks_where_followers_truncate(truncates: bool, replicas: set[int]) -> None:
    subjects = plan(a_stage(versions.get("2.8.2")), lambda p, t: double_failover.stated(p, t, truncates=truncates))
    losing = [one for one in subjects if "loses" in one.stated.must]
    assert {one.topic.replication_factor for one in losing} == replicas
    assert {one.producer.acks for one in losing} == ({"0", "1", "all"} if truncates else set())
    assert any(one.topic.min_insync_replicas == 2 for one in losing) is truncates


def test_a_follower_that_reboots_loses_where_it_stays_in_the_isr() -> None:
    def losing(*, trap: bool) -> set[int]:
        subjects = plan(a_stage(versions.get("0.10.2.2")), lambda p, t: follower_reboot.stated(p, t, trap=trap))
        return {one.topic.replication_factor for one in subjects if "loses" in one.stated.must}

    assert losing(trap=True) == {2, 3}
    assert losing(trap=False) == set()


def test_idempotent_librdkafka_may_begin_anew_and_java_may_not() -> None:
    def duplicating(client: str, *, away: bool = False) -> set[tuple[int, int, int]]:
        stated = partial(under_load.stated, struck=under_load.Struck(away=away))
        return {
            (one.producer.in_flight, one.topic.replication_factor, one.topic.min_insync_replicas)
            for one in plan(a_stage(versions.get("4.3.1")), stated)
            if one.producer.client == client and one.producer.idempotence and "duplicates" in one.stated.may
        }

    assert duplicating("java") == duplicating("java", away=True) == set()
    several = {(5, replicas, least) for replicas in (1, 2, 3) for least in (1, 2) if replicas >= least}
    assert duplicating("librdkafka") == {(1, 1, 1), (1, 2, 2)} | several
    assert duplicating("librdkafka", away=True) == several | {(1, *sizes) for _, *sizes in several}


def test_the_committed_matrix_names_known_lines_and_faults() -> None:
    for cell in matrix.measured():
        assert cell.key.fault in FAULTS
        assert cell.key.line in LINES
        assert cell.runs
        assert asdict(cell.key)["client"] in ("librdkafka", "java", "scala")


def test_no_cell_may_come_to_anything() -> None:
    """A cell of which all four outcomes are stated cannot fail."""
    assert [cell for cell in matrix.measured() if len(cell.stated.must | cell.stated.may) == len(OUTCOMES)] == []


@pytest.mark.parametrize("name", VERSIONS)
def test_no_subject_may_come_to_anything(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Nor does any that a scenario plans, measured or not; and whatever may come of one has its source."""
    for made in scenarios().values():
        for one in planned(monkeypatch, made, versions.get(name)):
            assert len(one.stated.must | one.stated.may) < len(OUTCOMES), (made.name, one)
            assert one.stated.source


def test_acks_all_may_lose_nothing() -> None:
    """It must, or it does not: what some say that it may do no run has shown."""
    assert [cell.key for cell in matrix.measured() if cell.key.acks == "all" and "loses" in cell.stated.may] == []


def test_the_scala_producer_is_never_stated_to_refuse() -> None:
    """It does not say why it failed, so its user knows of no refusal."""
    may = [cell.key for cell in matrix.measured() if cell.key.client == "scala" and "refuses" in cell.stated.may]
    assert [key for key in may if key.fault != "shrunk-isr-crash"] == []


def test_a_producer_that_tries_again_outlasts_one_broker_that_is_stopped() -> None:
    topic, again = Topic(min_insync_replicas=2), Producer(client="java", acks="all")
    once, killed = under_load.Struck(stops=True, once=True), under_load.Struck()
    assert not under_load.refuses(again, topic, once)
    assert under_load.refuses(again, topic, killed)
    assert under_load.refuses(replace(again, retries="0"), topic, once)
    assert not under_load.refuses(again, topic, under_load.Struck(away=True))
    librdkafka = Producer(client="librdkafka", acks="all", retries="0")
    assert under_load.refuses(librdkafka, topic, killed)
    assert not under_load.refuses(librdkafka, Topic(), killed)
    assert not under_load.refuses(replace(librdkafka, acks="1"), topic, killed)
    assert not under_load.refuses(replace(librdkafka, retries="many"), topic, killed)


class Planned(Exception):
    """Ends a scenario's steps where they have planned their subjects."""


def planned(monkeypatch: pytest.MonkeyPatch, made: Scenario, version: versions.Version) -> list[Subject]:
    """The subjects that a scenario strikes on a version, each with what is stated of it."""
    found: list[Subject] = []

    def plan_and_end(_run: Run, subjects: list[Subject], *_more: object) -> None:
        found.extend(subjects)
        raise Planned

    monkeypatch.setattr(f"{made.file}.Subjects", plan_and_end)
    stage = MagicMock(version=version, given=())
    with pytest.raises(Planned):
        made.steps_of()(stage)
    return found


def test_the_committed_table_states_of_every_cell_what_its_scenario_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m app.audit_matrix restate` writes it. A rule that changes wants runs that are held to it, too."""
    measured = {cell.key: cell.stated for cell in matrix.measured()}
    stated = {
        CellKey(fault=fault, line=line_of(version), version=version.id, **subject.key): Stated(
            must=subject.stated.must,
            may=subject.stated.may,
            why=" ".join(subject.stated.why.split()),
            source=subject.stated.source,
            basis=subject.stated.basis,
        )
        for fault, made in scenarios().items()
        for version in map(versions.get, VERSIONS)
        if any(made.applies_to(version, case) for case in made.cases.values())
        for subject in planned(monkeypatch, made, version)
    }
    assert len(measured) > 5_000
    assert measured == {cell: stated.get(cell) for cell in measured}


def test_the_rule_of_each_measured_cell_can_be_asked() -> None:
    """Where it cannot, the measured table speaks for it, and a widening would not be seen before runs show it."""
    assert {str(cell.key) for cell in matrix.measured()} <= set(registry.planned())


def test_what_a_rule_states_is_asked_without_a_run() -> None:
    """Of steps that want more of a run before they name their subjects nothing is told."""
    version = versions.get("2.8.2")
    steps = all_scenarios()["audit-leader-crash-behind"].steps_of()
    found = registry.of_rule("leader-crash-behind", steps, version)
    of_java = "leader-crash-behind on 2.8.2: {}, acks=1, in flight 5, retries many, RF 3, min.insync.replicas 1, "
    java, other = (found[of_java.format(client) + "unclean elections off"] for client in ("java", "librdkafka"))
    assert (java.must, java.may, other.may) == ({"loses"}, {"reorders"}, frozenset())

    def other_steps(run: Run) -> None:
        leader, _ = run.followers_of(run.partition())
        raise AssertionError(leader)

    assert registry.of_rule("none", other_steps, version) == {}
