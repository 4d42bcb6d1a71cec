"""The runner and the words of scenarios, rehearsed without Docker: whole runs, and what ends them before their time."""

from __future__ import annotations

import errno
import re
import shutil
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from evidence import ledger
from evidence.errors import FaultUnproved, HarnessError, UsageError, WaitTimeout
from evidence.events import (
    DeleteRecords,
    DeleteTopic,
    Duty,
    Fault,
    Firewall,
    Machine,
    Moment,
    Note,
    PlaceTopic,
    Reassign,
    RecordsDeleted,
    Software,
    Step,
)
from evidence.events import Partition as State
from evidence.run import BuildRecord, SequenceRecord
from evidence.run_state import RunState
from evidence.rundir import RunDir
from evidence.timeline import read
from harness import runner
from harness.cluster import versions
from harness.cluster.builds import Build
from harness.cluster.namespace import namespace
from harness.cluster.state import ClusterState
from harness.plan import ClusterPlan, Disks, TopicPlan
from harness.removal import Removals
from harness.run import Partition, Run, Target
from harness.run.who import Who
from harness.runner import Recording
from harness.setup import builds
from judgement import ledger as telling
from judgement.report.facts import load
from judgement.soundness import sequence_not_ended
from judgement.verdict import read_verdict
from kafkafiles.api_versions import Offer
from tests.records import changed, run_record, steps_ended
from tests.unit.cluster.test_ownership import dead_identity
from tests.unit.rehearsal import Stage, judged, rehearse

LIMIT_S = 30.0
FULL = OSError(errno.ENOSPC, "No space left on device")


def quiet(run: Run) -> None:
    run.send(run.partition(), 3)


def leader_dies(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)
    leader, (heir, _) = run.leader_of(t), run.followers_of(t)
    run.kill(leader)
    run.wait_leader(t, heir)
    run.copy_replicas("without-it")
    run.send(t, 2)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))


def only_run(root: Path) -> RunDir:
    (path,) = (each for each in root.iterdir() if each.is_dir())
    return RunDir(path)


@pytest.mark.parametrize("steps", [quiet, leader_dies])
def test_a_clean_run_is_complete_judged_and_removed(
    steps: Callable[[Run], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage()
    finished = rehearse(stage, tmp_path, steps, monkeypatch)
    assert stage.empty.wait(LIMIT_S), "the removal does not begin by itself"
    finished.removals.wait()
    run = finished.run_dir.read_run()
    assert (run.state, run.failure) == ("complete", None)
    verdict = judged(finished.run_dir)
    assert verdict.verdict == "as-documented", verdict.reasons
    assert stage.created == []
    assert not finished.run_dir.data.exists()
    assert run.moments[-1].endswith("final")
    assert steps_ended(finished.run_dir) == "True"


def test_a_run_without_the_program_for_its_disks_is_never_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(_client: object, _image: str, file_system: str) -> None:
        raise UsageError(f"no mkfs.{file_system}")

    monkeypatch.setattr(runner, "require_maker", lacks)
    stage = Stage()
    with pytest.raises(UsageError, match=r"^no mkfs\.xfs$"):
        rehearse(stage, tmp_path, quiet, monkeypatch, cluster=ClusterPlan(disks=Disks(file_system="xfs")))
    assert stage.created == []
    assert list(tmp_path.iterdir()) == [], "a run that was not begun is in no ledger"
    assert rehearse(stage, tmp_path, quiet, monkeypatch).run_dir.read_run().state == "complete"  # has no such disks


@pytest.mark.parametrize("lacking", ["require_reached", "require_disks"])
def test_a_run_on_an_engine_that_is_elsewhere_is_never_begun(
    lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise UsageError("it is in a namespace of its own")

    for name in ("require_reached", "require_disks", "require_maker"):
        monkeypatch.setattr(runner, name, lambda *_: None)
    monkeypatch.setattr(runner, lacking, refuse)
    stage = Stage()
    stage.elsewhere = True
    with pytest.raises(UsageError, match="a namespace of its own"):
        rehearse(stage, tmp_path, lambda run: None, monkeypatch, cluster=ClusterPlan(disks=Disks()))
    assert stage.created == []
    assert list(tmp_path.iterdir()) == [], "a run that was not begun is in no ledger"


def test_a_partition_that_moved_is_looked_for_where_it_was_moved_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 3)
        run.reassign(t, [run.broker(4), run.leader_of(t)])
        assert [one.id for one in run.replicas_of(t)] == [4, 1]
        assert [one.id for one in run.without(t)] == [2, 3]
        run.wait_reassigned(t)
        run.send(t, 2)
        run.create_topic_anywhere("anywhere", partitions=2, replication=2)

    run_dir = rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir
    run, reading = run_dir.read_run(), read(run_dir.timeline)
    assert [topic.partitions for topic in run.topics] == [{0: (4, 1)}, {0: (1, 2), 1: (1, 2)}]
    (asked,) = reading.of(Reassign)
    assert (asked.replicas, asked.by) == ((4, 1), "the stage")
    assert all(asked.at_ns < state.at_ns for state in reading.of(State) if state.replicas == (4, 1))
    (made,) = reading.of(PlaceTopic)
    assert (made.topic, made.partitions, made.replication) == ("anywhere", 2, 2)
    assert judged(run_dir).verdict == "as-documented"


def test_a_topic_that_was_deleted_is_read_by_nobody_and_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 3)
        run.create_topic(TopicPlan(name="u", replicas=((1, 2),)))
        run.delete_records(t, 0)
        run.delete_topic("u")
        run.wait_deleted("u")
        run.withdraw_deletion("u")
        assert [plan.name for plan in run.topics] == ["t"]

    run_dir = rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir
    reading = read(run_dir.timeline)
    assert run_dir.read_run().failure is None
    assert [topic.name for topic in run_dir.read_run().topics] == ["t"]
    assert [(one.topic, one.by, one.withdrawn) for one in reading.of(DeleteTopic)] == [
        ("u", "the stage", False),
        ("u", "the stage, of u", True),
    ]
    assert [(one.topic, one.partition, one.before) for one in reading.of(DeleteRecords)] == [("t", 0, 0)]
    assert [(one.topic, one.partition, one.low_watermark) for one in reading.of(RecordsDeleted)] == [("t", 0, 0)]
    assert judged(run_dir).verdict == "as-documented"


def test_what_nodes_run_and_their_packet_filters_are_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = read(rehearse(Stage(), tmp_path, quiet, monkeypatch).run_dir.timeline)
    assert {event.version for event in reading.of(Software)} == {"2.8.2"}
    assert "broker-1" in {event.node for event in reading.of(Firewall)}


def test_an_upgrade_to_an_own_build_names_it_and_counts_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have the number of the release: its jars are told apart by their digest."""
    own = Build(kafka="2.8.2", digest="e" * 64)
    told = BuildRecord(version="2.8.2", commit="feedbeef", digest=own.digest, origin="./k", logging="log4j", nearest="")
    released = builds.digests
    monkeypatch.setattr("harness.runner.own.record", lambda build: told if build.own else None)
    monkeypatch.setattr(
        "harness.setup.builds.digests", lambda build: {"kafka.jar": "c" * 64} if build.own else released(build)
    )
    monkeypatch.setattr("harness.faults.upgrade._command_line", lambda pid: "java\0/libs/kafka_2.13-2.8.2.jar")
    monkeypatch.setattr("harness.faults.upgrade.speaks", lambda node: Offer(apis={1: 17}, supported={}, features={}))
    stage = Stage()
    stage.digests = {"2.8.2": "c" * 64}
    pair = versions.upgraded(versions.get("2.8.2"), versions.of_build(own, ""))
    plan = ClusterPlan(upgrades={"2.8.2": "3.9.2-zk"})

    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 3)
        run.upgrade(run.broker(3))
        run.wait_isr(t, run.replicas_of(t))

    run_dir = rehearse(stage, tmp_path, steps, monkeypatch, cluster=plan, version=pair).run_dir
    verdict, made = judged(run_dir), run_dir.read_run()
    assert (verdict.verdict, verdict.version) == ("as-documented", "2.8.2-to-2.8.2@eeeeeeeeeeee")
    assert "own build of 2.8.2, jars eeeeeeeeeeee, commit feedbeef" in verdict.build
    assert (made.build, made.further_builds) == (None, (told,))
    assert made.further_jars == {"2.8.2@eeeeeeeeeeee": {"kafka.jar": "c" * 64}}
    assert made.command.endswith("--version 2.8.2-to-2.8.2@eeeeeeeeeeee --seed 1")
    entered = ledger.started(made, None)
    assert (entered.observed, entered.build) == (True, own.digest)


NEW_JAR = "org.apache.kafka:kafka_2.13:3.9.2"


@pytest.mark.parametrize("honest", [True, False], ids=["its jar", "another jar"])
def test_an_upgrade_is_on_record_and_judged(honest: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, spoken = Stage(), Offer(apis={1: 17}, supported={}, features={})
    wanted = builds.digests(versions.get("3.9.2-zk").build)[NEW_JAR]
    stage.digests = {"3.9.2": wanted if honest else "0" * 64}
    monkeypatch.setattr("harness.faults.upgrade._command_line", lambda pid: "java\0/libs/kafka_2.13-3.9.2.jar")
    monkeypatch.setattr("harness.faults.upgrade.speaks", lambda node: spoken)

    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 3)
        run.upgrade(run.broker(3))
        run.wait_isr(t, run.replicas_of(t))
        run.send(t, 2)

    plan = ClusterPlan(upgrades={"2.8.2": "3.9.2-zk"})
    run_dir = rehearse(stage, tmp_path, steps, monkeypatch, cluster=plan).run_dir
    assert judged(run_dir).verdict == ("as-documented" if honest else "unknown")
    made, events = run_dir.read_run(), read(run_dir.timeline)
    assert made.releases == {"broker-3": ("2.8.2", "3.9.2")}
    assert (made.kafka, made.further_jars["3.9.2"][NEW_JAR]) == ("2.8.2", wanted)
    assert {one.version for one in events.of(Software) if one.node == "broker-3"} == {"2.8.2", "3.9.2"}
    assert [one.phase for one in events.of(Fault) if one.fault_kind == "upgrade"] == [
        "inject",
        "verified" if honest else "unproved",
    ]
    said = run_dir.log("broker-3").read_text()
    assert said.index("Kafka version: 2.8.2") < said.index("Kafka version: 3.9.2")


def test_what_a_sequence_leaves_open_is_drawn_by_the_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(seed: int, name: str) -> list[float]:
        taken: list[float] = []
        finished = rehearse(
            Stage(), tmp_path / name, lambda run: taken.append(run.vary(0.35, 0.25, 0.42)), monkeypatch, seed=seed
        )
        assert finished.run_dir.read_run().drawn == tuple(taken)
        return taken

    assert drawn(1, "as-written") == [0.35]
    (first,) = seventh = drawn(7, "a")
    assert 0.25 <= first <= 0.42
    assert first != 0.35
    assert drawn(7, "again") == seventh != drawn(13, "another")


def test_preconditions_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        run.require("two and two are four", held=True)
        run.send(run.partition())

    run_dir = rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir
    assert run_dir.read_run().sequence == SequenceRecord(ended=True, cause=None, preconditions=1, duties=0, faults=0)
    assert judged(run_dir).verdict == "as-documented"
    told = run_dir.timeline.read_text().splitlines(keepends=True)
    run_dir.timeline.write_text("".join(line for line in told if '"precondition"' not in line))
    assert judged(run_dir).verdict == "unknown"


def test_faults_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeline that says nothing of a fault has not the run's faults."""
    run_dir = rehearse(Stage(), tmp_path, leader_dies, monkeypatch).run_dir
    run, events = run_dir.read_run(), read(run_dir.timeline).trusted
    assert sequence_not_ended(run, RunState(events)) == []
    without = RunState(tuple(event for event in events if not isinstance(event, Fault)))
    assert sequence_not_ended(run, without) == ["2 faults were carried out, the timeline has 0"]


def test_roles_and_proofs_are_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(), tmp_path, leader_dies, monkeypatch).run_dir
    reading = read(run_dir.timeline)
    kill, _, start, _ = reading.of(Fault)
    assert (kill.fault_kind, kill.target.role, kill.target.node) == ("kill", "leader of t-0", "broker-1")
    assert (start.fault_kind, start.phase) == ("start", "inject")
    assert [moment.name for moment in reading.of(Moment)] == ["00-without-it", "01-final"]
    names = [step.name for step in reading.of(Step) if step.phase == "begin"]
    assert names.index("create topic") < names.index("send") < names.index("final read")


def test_a_broker_that_loses_what_was_acknowledged_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = rehearse(Stage(forgetful=True), tmp_path, leader_dies, monkeypatch)
    verdict = judged(finished.run_dir)
    assert verdict.verdict == "unexpected"
    assert "lost-write" in verdict.unexpected


def test_a_fault_that_does_nothing_makes_the_run_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.process.EVENT_LIMIT_S", 0.05)
    stage = Stage()
    stage.containers_of[1].deaf = True
    finished = rehearse(stage, tmp_path, leader_dies, monkeypatch)
    assert finished.run_dir.read_run().state == "complete"
    assert judged(finished.run_dir).verdict == "unknown"


def test_a_precondition_that_does_not_hold_ends_the_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        quiet(run)
        run.require("pigs fly", held=False, height=0)
        raise AssertionError("the sequence went on")

    finished = rehearse(Stage(), tmp_path, steps, monkeypatch)
    assert finished.run_dir.read_run().state == "complete"
    verdict = judged(finished.run_dir)
    assert verdict.verdict == "unknown"
    assert any("pigs fly" in reason for reason in verdict.reasons)


@pytest.mark.parametrize("who", ["producer", "final reader"])
def test_a_recorder_that_dies_makes_the_run_unknown(who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        quiet(run)
        if who == "producer":
            run.producer().kill()
        quiet(run)

    if who == "final reader":
        original = Run.__init__

        def killed(run: Run, parts: Any) -> None:
            original(run, parts)
            reader = run.final_reader
            monkeypatch.setattr(run, "final_reader", lambda: _killed(reader()))

        monkeypatch.setattr(Run, "__init__", killed)
    finished = rehearse(Stage(), tmp_path, steps, monkeypatch)
    assert finished.run_dir.read_run().state == "complete"
    verdict = judged(finished.run_dir)
    assert verdict.verdict == "unknown"
    assert any("recorder died" in reason for reason in verdict.reasons)
    assert any("has ended" in note.text for note in read(finished.run_dir.timeline).of(Note))


def _killed(reader: Any) -> Any:
    reader.kill()
    return reader


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def act(*_: object) -> NoReturn:
        raise error

    return act


def test_a_failure_in_the_sequence_is_told_and_the_rest_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage()
    finished = rehearse(stage, tmp_path, raising(HarnessError("the dog ate it")), monkeypatch)
    assert (stage.created, finished.run_dir.data.exists()) == ([], False)
    run = finished.run_dir.read_run()
    assert (run.state, run.failure) == ("failed", "the dog ate it")
    assert judged(finished.run_dir).verdict == "error"
    assert "final read" in [step.name for step in read(finished.run_dir.timeline).of(Step)]


def test_what_fails_after_the_sequence_does_not_hide_why_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage()

    def steps(run: Run) -> None:
        stage.created.remove(stage.containers_of[2])
        raise HarnessError("its disk would not be mounted")

    run = rehearse(stage, tmp_path, steps, monkeypatch).run_dir.read_run()
    assert (run.state, run.failure) == ("failed", "its disk would not be mounted")


def test_a_word_that_does_not_exist_is_told_with_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = rehearse(Stage(), tmp_path, lambda run: run.wait_log_ends(), monkeypatch)  # type: ignore[attr-defined]
    run = finished.run_dir.read_run()
    assert run.state == "failed"
    assert re.match(rf".*{Path(__file__).name}, line \d+: AttributeError: .*wait_log_ends", run.failure or "")


def test_a_node_that_somebody_removed_is_a_failure_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    finished = rehearse(stage, tmp_path, lambda run: stage.created.remove(stage.containers_of[2]), monkeypatch)
    run = finished.run_dir.read_run()
    assert (run.state, run.failure) == ("failed", "No such container: broker-2")
    assert stage.created == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a defect"), SystemExit(3)])
def test_whatever_ends_a_run_nothing_is_left_and_it_is_passed_on(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> NoReturn:
        # A client that is half connected, say: what fails while tidying up must not hide why.
        stage.observer.at_close = raising(AttributeError("half made"))
        raise error

    stage = Stage()
    with pytest.raises(type(error)):
        rehearse(stage, tmp_path, steps, monkeypatch)
    assert stage.created == []
    run_dir = only_run(tmp_path)
    assert not run_dir.data.exists()
    assert run_dir.read_run().state == ("failed" if isinstance(error, Exception) else "interrupted")


def test_an_error_while_tidying_up_is_the_failure_if_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        stage.observer.at_close = raising(HarnessError("cannot let go"))

    stage = Stage()
    run = rehearse(stage, tmp_path, steps, monkeypatch).run_dir.read_run()
    assert (run.state, run.failure) == ("failed", "tidying up: cannot let go")


# The ledger


def entered(root: Path) -> list[ledger.AnyLine]:
    return [line for _, line in ledger.read(root / ledger.FILE)]


def test_a_run_is_entered_before_it_begins_and_when_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[list[ledger.AnyLine]] = []
    finished = rehearse(Stage(), tmp_path, lambda run: there.append(entered(tmp_path)), monkeypatch)
    name = finished.run_dir.path.name
    assert [(type(line).__name__, line.run) for line in there[0]] == [("RunStarted", name)]
    start, end = entered(tmp_path)
    assert isinstance(start, ledger.RunStarted)
    assert isinstance(end, ledger.RunEnded)
    assert (start.scenario, start.version, start.seed, end.state) == ("rehearsal", "2.8.2", 1, "complete")
    assert start.documented == ledger.digest(finished.run_dir.read_run().documented)
    assert start.load is not None
    assert start.load.load_1 is not None


def test_a_verdict_is_entered_and_a_later_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(forgetful=True), tmp_path, leader_dies, monkeypatch).run_dir
    judged(run_dir)
    for _ in range(2):
        telling.tell(load(run_dir))
    _, _, first, second = entered(tmp_path)
    assert isinstance(first, ledger.RunJudged)
    assert isinstance(second, ledger.RunJudged)
    assert (first.verdict, first.lost, first.anomalies["lost-write"]) == ("unexpected", 1, 1)
    assert first.manifest == read_verdict(run_dir).manifest != ""
    assert first.acknowledged == 5
    assert first.ack_ms is not None
    (machine,) = read(run_dir.timeline).of(Machine)
    assert first.throughout is not None
    assert first.throughout.cpu == pytest.approx(100 * machine.cpu)
    assert first.throughout.seconds == machine.seconds


def test_a_timeline_that_does_not_say_how_the_machine_was_leaves_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = rehearse(Stage(), tmp_path, quiet, monkeypatch).run_dir
    lines = run_dir.timeline.read_text().splitlines(keepends=True)
    run_dir.timeline.write_text("".join(line for line in lines if '"kind":"machine"' not in line))
    judged(run_dir)
    assert telling.judged(load(run_dir)).throughout is None


def test_a_run_that_lies_elsewhere_is_entered_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(), tmp_path / "runs", quiet, monkeypatch).run_dir
    judged(run_dir)
    copy = RunDir(Path(shutil.copytree(run_dir.path, tmp_path / "elsewhere" / run_dir.path.name)))
    telling.tell(load(copy))
    assert not (tmp_path / "elsewhere" / ledger.FILE).exists()
    assert len(entered(tmp_path / "runs")) == 2


def test_a_run_that_cannot_be_entered_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ledger.FILE).mkdir()
    stage = Stage()
    with pytest.raises(IsADirectoryError):
        rehearse(stage, tmp_path, quiet, monkeypatch)
    assert stage.created == []


@pytest.mark.parametrize(
    ("error", "state"), [(KeyboardInterrupt(), "interrupted"), (RuntimeError("a defect"), "failed")]
)
def test_whatever_ends_a_run_its_end_is_entered(
    error: BaseException, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(type(error)):
        rehearse(Stage(), tmp_path, raising(error), monkeypatch)
    _, end = entered(tmp_path)
    assert isinstance(end, ledger.RunEnded)
    assert end.state == state


class FillingDisk:
    """Free space until it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._usage, self.full = shutil.disk_usage, False
        monkeypatch.setattr(shutil, "disk_usage", self._ask)

    def _ask(self, path: Path) -> Any:
        found = self._usage(path)
        return found._replace(free=4096 if self.full else max(found.free, 3 * 1024**3))


def test_a_disk_that_fills_up_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, stage = FillingDisk(monkeypatch), Stage()

    def steps(run: Run) -> None:
        disk.full = True
        run.timeline._file.close()
        run.timeline._file = FileIO("/dev/full", "a")
        quiet(run)

    with pytest.raises(HarnessError, match=r"the disk is full \(0 MiB free\), so the run was ended; free some") as told:
        rehearse(stage, tmp_path, steps, monkeypatch)
    assert len(str(told.value).splitlines()) == 1
    assert stage.created == []
    run_dir = only_run(tmp_path)
    assert not run_dir.data.exists()
    assert "the disk is full" in (run_dir.read_run().failure or "")


@pytest.mark.parametrize("frees", [True, False], ids=["until the data is gone", "for good"])
def test_a_disk_too_full_for_the_last_word(frees: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The complete run's run.json does not fit; with the live data gone it may."""
    stage, save = Stage(), Recording.save

    def refusing(recording: Recording, **changes: Any) -> None:
        if "state" in changes and (recording.run_dir.data.exists() or not frees):
            raise FULL
        save(recording, **changes)

    monkeypatch.setattr(Recording, "save", refusing)
    # The data must still be there when it is tried first.
    allowed = threading.Event()
    remove = stage.containers_of[0].remove
    monkeypatch.setattr(
        stage.containers_of[0], "remove", lambda **options: allowed.wait(10) and remove(**options), raising=False
    )
    wait = Removals.wait

    def wait_and_allow(removals: Removals) -> None:
        allowed.set()
        wait(removals)

    monkeypatch.setattr(Removals, "wait", wait_and_allow)
    if frees:
        finished = rehearse(stage, tmp_path, quiet, monkeypatch)
        assert finished.run_dir.read_run().state == "complete"
    else:
        with pytest.raises(HarnessError, match=r"run\.json cannot be written: No space left on device"):
            rehearse(stage, tmp_path, quiet, monkeypatch)
    assert stage.created == []


def test_what_would_not_go_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.containers_of[3].stuck = True
    finished = rehearse(stage, tmp_path, quiet, monkeypatch)
    with pytest.raises(HarnessError, match=r"Docker would not remove: broker-3: .*stuck.*`kafka-chaos clean`"):
        finished.removals.wait()


def test_the_next_run_removes_live_data_of_one_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = RunDir(tmp_path / "killed")
    killed.write_run(run_record({"scenario": "s", "version": "v", "owner": dead_identity(), "namespace": namespace()}))
    (killed.data / "broker-1").mkdir(parents=True)
    rehearse(Stage(), tmp_path, quiet, monkeypatch)
    assert not killed.data.exists()
    assert killed.run_json.exists()


def test_a_send_that_nobody_acknowledges_is_a_precondition_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.kill(*run.replicas_of(t))
        assert [one.outcome for one in run.send(t, must=False)] == ["info"]
        run.send(t)

    verdict = judged(rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir)
    assert verdict.verdict == "unknown"
    assert any("is acknowledged" in reason for reason in verdict.reasons)


def test_unproved_is_what_a_sabotaged_stage_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.process.EVENT_LIMIT_S", 0.05)
    stage, seen = Stage(), []
    stage.containers_of[1].deaf = True

    def steps(run: Run) -> None:
        with pytest.raises(FaultUnproved) as caught:
            run.kill(run.leader_of(run.partition()))
        seen.append(str(caught.value))

    rehearse(stage, tmp_path, steps, monkeypatch)
    assert "no 'die' event" in seen[0]


def test_a_topic_that_the_scenario_makes_is_on_record_copied_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        quiet(run)
        run.create_topic(TopicPlan(name="more", replicas=((2, 3),)))
        run.send(Partition("more", 0), 2)

    finished = rehearse(Stage(), tmp_path, steps, monkeypatch)
    run_dir = finished.run_dir
    assert [topic.name for topic in run_dir.read_run().topics] == ["t", "more"]
    (final,) = read(run_dir.timeline).of(Moment)
    assert {node for node, held in final.nodes.items() if "more-0" in held} == {"broker-2", "broker-3"}
    verdict = judged(run_dir)
    assert verdict.verdict == "as-documented", verdict.reasons


def test_the_words_for_disks_and_for_a_clean_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 3)
        run.wait_high_watermark(t, 3, run.replicas_of(t))
        leader, (heir, other) = run.leader_of(t), run.followers_of(t)
        assert run.log_end_and_high_watermark(heir, t) == (3, 3)
        run.stop(leader)
        run.wait_unregistered(leader)
        assert run.wait_leader(t).node == heir.node
        assert [target.id for target in run.in_isr(t)] == [2, 3]
        run.send(t)
        run.wait_log_end(t, 4, [heir, other])
        with pytest.raises(WaitTimeout, match=r"not within 0 s: the log of .*; seen: broker-2 LEO 4 HW 4"):
            run.wait_files("the log of t-0 ends at 9", lambda: False, lambda: "broker-2 LEO 4 HW 4", 0.0)
        run.kill(heir, other)
        run.wait_no_leader(t, other)
        run.wait_stated_leaderless(t)
        with pytest.raises(HarnessError, match="t-0 has no leader at this moment"):
            run.leader_of(t)

    verdict = judged(rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir)
    assert verdict.verdict == "as-documented", verdict.reasons


TAKEN = "[...] FATAL A broker is already registered on the path /brokers/ids/2 (kafka.server.KafkaServer)"


@pytest.mark.parametrize("expected", [True, False])
def test_an_end_of_its_own_is_unexpected_unless_the_scenario_expects_it(
    expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage()

    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 2)
        (follower, _) = run.followers_of(t)
        stage.containers_of[follower.id].end_itself(TAKEN)
        if expected:
            run.expect_exit(follower, "already registered")
        run.start(follower)
        run.wait_isr(t, run.replicas_of(t))
        run.send(t)

    verdict = judged(rehearse(stage, tmp_path, steps, monkeypatch).run_dir)
    assert verdict.verdict == ("as-documented" if expected else "unexpected"), verdict.reasons
    assert verdict.unexpected == (() if expected else ("broker-exit",))


def test_a_broker_that_ends_itself_is_noticed_by_the_next_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()

    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 2)
        (follower, _) = run.followers_of(t)
        stage.containers_of[follower.id].end_itself("it is too much")
        run.wait_log_line(run.leader_of(t), "what never comes", "what never comes", timeout_s=1000)

    run_dir = rehearse(stage, tmp_path, steps, monkeypatch).run_dir
    (duty,) = read(run_dir.timeline).of(Duty)
    assert (duty.name, duty.held, duty.witness) == ("broker-2 goes on", False, "processes")
    assert run_dir.read_run().state == "complete"
    verdict = judged(run_dir)
    assert (verdict.verdict, verdict.unexpected) == ("unexpected", ("broker-exit",))


def test_a_duty_that_is_not_done_ends_the_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        quiet(run)
        run.claim("two and two are four", held=True)
        run.claim("pigs fly", held=False, height=0)
        raise AssertionError("the sequence went on")

    run_dir = rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir
    assert run_dir.read_run().sequence == SequenceRecord(
        ended=False,
        cause="Kafka owes this and did not do it: pigs fly (height=0)",
        preconditions=0,
        duties=2,
        faults=0,
    )
    verdict = judged(run_dir)
    assert verdict.verdict == "unexpected"
    assert verdict.reasons[0] == "Kafka owes this and did not do it: pigs fly (height=0)"


def test_a_state_that_kafka_owes_and_does_not_reach_is_unexpected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.wait_isr(t, run.replicas_of(t)[:2], timeout_s=0)

    verdict = judged(rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir)
    assert verdict.verdict == "unexpected"
    assert verdict.reasons[0].startswith(
        "Kafka owes this and did not do it within 0 s: the ISR of t-0 is [1, 2] (seen="
    )


def test_a_state_that_the_sequence_needs_is_no_fault_of_kafkas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.wait_leader(t, run.followers_of(t)[0], timeout_s=0)  # another leads, and may

    run_dir = rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir
    assert read(run_dir.timeline).of(Duty) == []
    assert judged(run_dir).verdict == "error"


@pytest.mark.parametrize(
    ("session_ms", "left", "expected"),
    [(0, 2, "unexpected"), (4000, 2, "error"), (0, 0, "error")],
    ids=["a session ago", "its session may last", "nobody else is there"],
)
def test_a_dead_leader_that_nobody_misses_is_unexpected(
    session_ms: int, left: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unaware(Stage):
        def went(self, broker: int) -> None:
            """Nobody notices, until it is too late."""

    def steps(run: Run) -> None:
        t = run.partition()
        leader, followers = run.leader_of(t), run.followers_of(t)
        gone = [leader, *followers[left:]]
        run.kill(*gone)
        try:
            run.wait_leader(t, *followers, timeout_s=0)
        finally:
            for target in gone:
                Stage.went(stage, target.id)

    monkeypatch.setattr(Who, "longest_session_ms", session_ms)
    stage = Unaware()
    run_dir = rehearse(stage, tmp_path, steps, monkeypatch).run_dir
    assert judged(run_dir).verdict == expected
    assert [duty.held for duty in read(run_dir.timeline).of(Duty)] == [False] * (expected == "unexpected")


@pytest.mark.parametrize(("runs", "expected"), [(True, "unexpected"), (False, "error")], ids=["it runs", "it is dead"])
def test_a_broker_that_does_not_register_again_is_owed_to_the_isr(
    runs: bool, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        follower = run.followers_of(t)[0]
        if runs:
            Stage.went(stage, follower.id)
        else:
            run.kill(follower)
        try:
            run.wait_isr(t, run.replicas_of(t), timeout_s=0)
        finally:
            if runs:
                Stage.came(stage, follower.id)

    stage = Stage()
    run_dir = rehearse(stage, tmp_path, steps, monkeypatch).run_dir
    assert judged(run_dir).verdict == expected
    assert [duty.held for duty in read(run_dir.timeline).of(Duty)] == [False] * runs


def test_of_a_partition_that_is_not_stated_yet_no_leader_has_ended() -> None:
    observer = cast("Any", type("Observed", (), {"state": ClusterState()}))
    assert Who([], cast("Any", None), observer).ended_leader(Partition("t", 0)) is None


def test_the_longest_session_of_a_cluster() -> None:
    settings = {"2:zookeeper.session.timeout.ms": "9000", "group.max.session.timeout.ms": "1800000"}
    plan = ClusterPlan(session_timeout_ms=4000, zookeeper_sessions_ms={1: 7000}, settings=settings)
    cluster = cast("Any", type("Planned", (), {"plan": plan}))
    assert Who([], cluster, cast("Any", None)).longest_session_ms == 9000
    plain = cast("Any", type("Planned", (), {"plan": ClusterPlan(session_timeout_ms=4000)}))
    assert Who([], plain, cast("Any", None)).longest_session_ms == 4000


def test_the_machine_under_a_run_is_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(), tmp_path, quiet, monkeypatch).run_dir
    (machine,) = read(run_dir.timeline).of(Machine)
    assert machine.seconds >= 0


def test_a_blank_disk_is_filled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        run.send(t, 2)
        leader, (heir, _) = run.leader_of(t), run.followers_of(t)
        run.kill(leader)
        run.wait_leader(t, heir)
        run.wipe(leader)
        assert not run.copy_replicas("blank")[leader.node.name]
        run.start_early(leader)
        run.wait_isr(t, run.replicas_of(t))
        run.send(t)

    verdict = judged(rehearse(Stage(), tmp_path, steps, monkeypatch).run_dir)
    assert verdict.verdict == "as-documented", verdict.reasons


def test_a_verdict_is_of_the_files_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(), tmp_path, quiet, monkeypatch).run_dir
    assert judged(run_dir).verdict == "as-documented"
    assert read_verdict(run_dir).manifest
    stream = run_dir.stream("producer-1")
    stream.write_bytes(stream.read_bytes() + b"x")
    with pytest.raises(UsageError, match="given before the files changed"):
        read_verdict(run_dir)
    verdict = judged(run_dir)
    assert verdict.verdict == "unknown"
    assert any("producer-1.arrows: not what it was" in reason for reason in verdict.reasons)
    assert read_verdict(run_dir) == verdict, "what was known to differ is no news"
    other = rehearse(Stage(), tmp_path / "other", quiet, monkeypatch).run_dir
    judged(other)
    run_dir.verdict.write_bytes(other.verdict.read_bytes())
    with pytest.raises(UsageError, match="given for other files"):
        read_verdict(run_dir)


def test_a_timeline_that_was_cut_is_known_by_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(), tmp_path, quiet, monkeypatch).run_dir
    lines = run_dir.timeline.read_text().splitlines(keepends=True)
    parts = {
        "no end": lines[:-1],
        "it had": lines[:1] + lines[3:],
        "line 1: it does not say": lines[1:],
        "2 ends": lines + lines[-1:],
    }
    for word, part in parts.items():
        run_dir.timeline.write_text("".join(part))
        assert any(word in reason for reason in judged(run_dir).reasons)
    run_dir.timeline.write_text("".join(lines))
    run_dir.write_run(changed(run_dir.read_run(), run="another"))
    assert any("timeline is that of the run" in reason for reason in judged(run_dir).reasons)


def test_what_the_engine_does_not_remove_keeps_no_run_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> int:
        raise HarnessError("Docker would not remove: a network has active endpoints")

    monkeypatch.setattr(runner, "find_ours", lambda *_, **__: None)
    monkeypatch.setattr(runner, "remove", refuse)
    assert runner.reap_abandoned(object(), tmp_path) == 0  # type: ignore[arg-type]


def test_a_replica_that_stays_away_costs_one_limit_not_one_for_each_of_its_partitions() -> None:
    class Away:
        def __init__(self) -> None:
            self.limits: list[float] = []
            self.notes: list[str] = []

        def replicas_of(self, _: Partition) -> list[Target]:
            return []

        def wait_isr(self, t: Partition, _: object, timeout_s: float) -> None:
            self.limits.append(timeout_s)
            if t.number in (1, 2):
                raise WaitTimeout(f"{t} lacks one")

        def note(self, text: str) -> None:
            self.notes.append(text)

    run, partitions = Away(), [Partition("t", number) for number in range(4)]
    assert runner._whole(cast("Run", run), partitions) == [partitions[0], partitions[3]]
    assert run.limits == [60.0, 60.0, 1.0, 1.0]
    assert [note.rpartition(": ")[2] for note in run.notes] == ["t-1 lacks one", "t-2 lacks one"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ([], []),
        (
            ["?? campaign.sh"],
            ["the tree has changes (?? campaign.sh): these runs are entered in the ledger and not counted"],
        ),
        (
            [" M a", " M b", " M c", " M d", " M e"],
            ["the tree has changes (M a, M b, M c and 2 more): these runs are entered in the ledger and not counted"],
        ),
    ],
)
def test_changes_of_the_tree_are_told_before_runs_are_begun(
    changed: list[str], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "changed_files", lambda: changed)
    said: list[str] = []
    runner.tell_of_changes(said.append)
    assert said == told


def test_outside_a_checkout_nothing_is_told_of_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_git() -> list[str]:
        raise OSError

    monkeypatch.setattr(runner, "changed_files", no_git)
    runner.tell_of_changes(pytest.fail)
