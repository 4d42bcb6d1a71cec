"""Bad input gets one line on stderr and status 254; nothing is started."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree as ET

import docker.errors
import pytest

from app import options
from app.cli import main
from app.output import MOST_ALIKE, Progress
from evidence.errors import EXIT_ERROR, EXIT_USAGE, HarnessError
from evidence.events import Partition, Step
from evidence.rundir import RunDir
from harness import runner
from harness.removal import Removals
from harness.runner import Finished, Request
from judgement.report.facts import JudgedRun, gather, judge_run
from judgement.verdict import Verdict
from tests.records import run_record
from tests.unit.judgement.report import synthetic


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["run", "double-failovr", "--version", "4.3.1"], "did you mean double-failover"),
        (["run", "double-failover", "--version", "0.8.1.1"], "the nearest releases are 0.8.2.0"),
        (["run", "double-failover", "--version", "4.3.1-zk"], "Kafka 4.3.1 has no ZooKeeper"),
        (["run", "double-failover", "--version", "2.8.2-kraft"], "Kafka 2.8.2 has no KRaft"),
        (["run", "double-failover", "--version", "2.4.1", "--locked"], "Kafka 2.4.1 has no committed lock"),
        (["run", "leader-crash", "--version", "4.3.1", "--client", "java-3.7.1", "--locked"], "3.7.1 has no committed"),
        (["setup", "--versions", "4.3.1", "2.4.1", "--locked"], "Kafka 2.4.1 has no committed lock"),
        (["matrix", "--scenarios", "all", "--versions", "2.4.1", "--locked"], "Kafka 2.4.1 has no committed lock"),
        (["releases", "4.4.0", "--against", "2.8.2"], "have no way to run in common"),
        (["run", "double-failover", "--version", "3.9.2"], "3.9.2-zk"),
        (["run", "leader-epoch-recovery", "--version", "0.10.2.2"], "does not apply to 0.10.2.2"),
        (["run", "baseline", "--version", "4.3.1", "--setting", "min.insync.replica=2"], "min.insync.replicas"),
        (
            ["run", "baseline", "--version", "4.3.1", "--setting", "nosuch=1"],
            "(asked for by --setting; `kafka-chaos list --settings 4.3.1` lists them)",
        ),
        (["run", "baseline", "--version", "4.3.1", "--setting", "nonsense"], "name=value"),
        (["run", "baseline", "--version", "4.3.1", "--case", "acks-1"], "there is no case 'acks-1'"),
        (["run", "baseline", "--version", "4.3.1", "--expect", "lost-wriet"], "did you mean lost-write"),
        (["matrix", "--scenarios", "all", "--versions", "9.9"], "there is no Kafka 9.9"),
        (["run", "double-failover", "--version", "4.2.2-pinned"], "cannot be held at protocol 0.10.2"),
        (["run", "upgrade-rolling", "--version", "2.8.1", "--upgrade-to", "4.0.2"], "a cluster is migrated on one"),
        (["run", "upgrade-rolling", "--version", "2.8.1", "--upgrade-to", "2.4.1"], "it is older; name the older one"),
        (["run", "upgrade-rolling", "--version", "2.4.1", "--upgrade-from", "2.4.1"], "it is the same; name a newer"),
        (["run", "upgrade-rolling", "--version", "2.3.1", "--upgrade-to", "3.7.1-zk"], "(KIP-902)"),
        (["run", "upgrade-rolling", "--version", "3.7.1", "--upgrade-to", "4.2.2"], "ask for 3.7.1-zk or 3.7.1-kraft"),
        (["run", "upgrade-rolling", "--version", "2.4.1"], "any release that is upgraded to another (--upgrade-to)"),
        (["run", "leader-crash", "--version", "2.4.1", "--upgrade-to", "2.8.1"], "upgrades nothing, so it is run on"),
        (
            ["run", "upgrade-rolling", "--version", "2.4.1", "--upgrade-to", "2.8.1", "--upgrade-from", "2.2.2"],
            "give one of the two",
        ),
        (
            ["run", "upgrade-downgrade", "--case", "after-raising", "--version", "2.8.1-to-2.8.2"],
            "does not apply to 2.8.1-to-2.8.2; it applies to: two lines of releases",
        ),
        (
            ["run", "upgrade-rolling", "--version", "2.8.2", "--upgrade-to", "3.5.2-zk", "--locked"],
            "Kafka 3.5.2 has no committed lock",
        ),
        (["run", "double-failover", "--kafka", "/nowhere/kafka.tgz"], "/nowhere/kafka.tgz: there is no such file"),
        (["suite", "--kafka", "/nowhere/kafka.tgz"], "/nowhere/kafka.tgz: there is no such file"),
        (["matrix", "--scenarios", "all", "--kafka", "/dev"], "there is no Kafka in it"),
        (["setup", "--versions", "4.3.1", "--jar", "/nowhere/a.jar"], "--jar /nowhere/a.jar: there is no such file"),
        (
            ["run", "baseline", "--version", "4.3.1", "--client", "true"],
            "true has ended (status 0); it said last",
        ),
        (["run", "baseline", "--version", "4.3.1", "--client", "echo hi"], "echo hi says what is no answer: 'hi'"),
        (["run", "baseline", "--version", "4.3.1", "--client", "./none"], "./none cannot be started: No such file"),
        (
            ["run", "streams-pipeline", "--case", "at-least-once", "--version", "4.3.1", "--client", "java-4.3.1"],
            "streams-pipeline (at-least-once) runs with streams-4.3.1, not with java-4.3.1",
        ),
        (
            ["run", "share-group", "--case", "killed", "--version", "4.3.1", "--client", "java-4.1.2"],
            "no share consumer with java-4.1.2: take librdkafka, or java-<release> from 4.2 on",
        ),
        (
            ["run", "last-stable-offset", "--version", "2.8.2", "--client", "java-0.10.2.2"],
            "last-stable-offset (committed) needs transactions, which java-0.10.2.2 has not (KIP-98)",
        ),
        (
            ["run", "at-least-once", "--case", "between", "--version", "4.3.1", "--client", "connect-4.3.1"],
            "at-least-once (between) runs with librdkafka, not with connect-4.3.1",
        ),
        (["check", "/nowhere/at/all"], "no run directory"),
        (["check"], "check what"),
        (["check", "runs", "--history", "f.jsonl"], "not both"),
    ],
)
def test_bad_input(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == EXIT_USAGE
    error = capsys.readouterr().err
    assert why in error
    assert len(error.splitlines()) == 1
    assert len(error) < 400


def test_the_broker_settings_of_a_version_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--settings", "4.3.1"]) == 0
    assert {"min.insync.replicas", "process.roles"} <= set(capsys.readouterr().out.split())
    assert main(["list", "--settings", "0.8.2.2", "--json"]) == 0
    assert "zookeeper.connect" in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "runs/suite-1"),
            "kafka-chaos: runs/suite-1: Permission denied (another user's? choose another directory",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "kafka-chaos: No space left on device (the disk is full"),
        (docker.errors.APIError("no such\nnetwork"), "kafka-chaos: no such network"),
        (ConnectionResetError(), "kafka-chaos: ConnectionResetError"),
    ],
)
def test_a_machine_that_refuses_is_one_line_and_no_verdict(
    error: OSError, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> NoReturn:
        raise error

    monkeypatch.setattr("harness.setup.doctor.diagnose", refuse)
    assert main(["doctor"]) == EXIT_ERROR
    said = capsys.readouterr().err
    assert said.startswith(line)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["run"], ["run", "x", "--version", "y", "--repeat", "0"], ["frobnicate"]])
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == EXIT_USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("place", ["file", "file/below", "pipe", "pipe/below/it", "nowhere/link"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "baseline", "--version", "4.3.1", "--runs-dir"],
        ["matrix", "--scenarios", "all", "--versions", "4.3.1", "--runs-dir"],
        ["suite", "--runs-dir"],
        ["clean", "--runs-dir"],
        ["guide", "--docs"],
        ["report", "runs", "--out"],
        ["report", "runs", "--picture"],
    ],
    ids=lambda arguments: " ".join((arguments[0], arguments[-1])),
)
def test_a_place_that_cannot_be_one_is_bad_input(
    arguments: list[str], place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    if place == "file" and arguments[-1] in ("--out", "--picture"):
        place = "."  # a file is what they want
    with pytest.raises(SystemExit) as caught:
        main([*arguments, str(tmp_path / place)])
    assert caught.value.code == EXIT_USAGE
    (said,) = capsys.readouterr().err.splitlines()
    assert f"argument {arguments[-1]}: {tmp_path}" in said
    assert " is no " in said
    assert (tmp_path / "pipe").is_fifo()


def test_places_that_are_there_or_can_be_made_are_taken(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path)
    for place in (tmp_path, tmp_path / "new" / "newer", tmp_path / "link" / "new", Path("runs")):
        arguments = ["run", "baseline", "--version", "4.3.1", "--runs-dir", str(place)]
        assert options.parser().parse_args(arguments).runs_dir == place
    for place in (tmp_path / "report.html", tmp_path / "new" / "report.html", Path("report.html")):
        assert options.parser().parse_args(["report", "runs", "--out", str(place)]).out == place


@pytest.mark.parametrize(
    ("master", "known"),
    [("local", True), ("local[2]", True), ("local[*]", True), ("local-cluster[2,1,1024]", True), ("yarn", True),
     ("spark://host:7077", True), ("k8s://https://host", True), ("nonsense", False), ("local[", False), ("", False)],
)  # fmt: skip
def test_a_master_that_spark_cannot_have(master: str, known: bool) -> None:
    if known:
        assert options.parser().parse_args(["check", "runs", "--master", master]).master == master
        return
    with pytest.raises(SystemExit) as caught:
        main(["check", "runs", "--master", master])
    assert caught.value.code == EXIT_USAGE


def test_a_history_of_json_lines_is_judged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.jsonl"
    lines = [
        {"process": 0, "type": "ok", "f": "send", "value": [["send", "t-0", [0, "lost"]]]},
        {"process": 0, "type": "ok", "f": "send", "value": [["send", "t-0", [1, "kept"]]]},
        {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"t-0": [[1, "kept"]]}]]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["check", "--history", str(path), "--json"]) == 1
    findings = json.loads(capfd.readouterr().out)
    assert [finding["anomaly"] for finding in findings["findings"]] == ["lost-write"]
    assert main(["check", "--history", str(tmp_path / "nowhere.jsonl")]) == EXIT_USAGE


def test_the_picture_of_one_run_is_a_file_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir, other = synthetic.double_failover_lost(tmp_path / "a"), synthetic.double_failover_kept(tmp_path / "b")
    for made in (run_dir, other):
        judge_run(made)
    picture = tmp_path / "docs" / "figure.svg"
    assert main(["report", str(run_dir.path), "--picture", str(picture)]) == 0
    assert ET.parse(picture).getroot().tag.endswith("svg")
    assert f"picture: {picture}" in capsys.readouterr().out
    picture.unlink()
    assert main(["report", str(run_dir.path), str(other.path), "--picture", str(picture)]) == EXIT_USAGE
    assert "one run" in capsys.readouterr().err
    assert not picture.exists()


def test_what_a_history_names_does_not_reach_the_terminal_raw(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.jsonl"
    lines = [
        {"process": 0, "type": "ok", "f": "send", "value": [["send", "\x1b[2Jk", [0, "lost"]]]},
        {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"\x1b[2Jk": [[1, "phantom"]]}]]},
        {"process": 1, "type": "\x1b[2J", "f": "poll"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["check", "--history", str(path)]) == 1
    shown = capfd.readouterr().out
    assert "\\x1b[2Jk" in shown
    assert "\x1b" not in shown


def test_list_is_complete_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    documented = {row["scenario"]: row.get("documented") for row in listing["scenarios"]}
    cases = {row["scenario"]: row["cases"] for row in listing["scenarios"]}
    lost = {"required": ["lost-write"], "allowed": ["replica-divergence"]}
    assert documented["double-failover"]["0.10.2.2"].items() >= lost.items()
    assert "leader-elected-from-isr" in documented["double-failover"]["0.10.2.2"]["claims"]
    assert documented["double-failover"]["4.3.1"].items() >= {"required": [], "allowed": []}.items()
    assert "survives two clean elections" in documented["double-failover"]["4.3.1"]["sentence"]
    assert "0.10.2.2" not in documented["leader-epoch-recovery"]
    assert cases["leader-crash"]["acks-1"]["acks"] == "1"
    assert cases["leader-crash"]["acks-1"]["documented"]["4.3.1"]["required"] == ["lost-write"]
    assert [row["exhibits_only"] for row in listing["versions"]].count(False) == 16
    assert {row["id"] for row in listing["versions"] if row["exhibits_only"]} == {
        "0.11.0.0",
        "2.1.1",
        "2.8.1",
        "3.1.0",
        "3.1.1",
        "3.2.2",
        "3.2.3",
        "3.5.1-zk",
        "3.5.1-kraft",
    }
    assert set(documented["museum-kip-279"]) == {"1.1.1", "2.2.2"}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("kafka-chaos 0.")


def a_run(path: Path) -> RunDir:
    run_dir = RunDir(path)
    run_dir.write_run(run_record({"scenario": "baseline", "version": "4.3.1", "seed": 1}))
    return run_dir


class NoSpark:
    """The analysis without an application."""

    def __init__(self, *, java_home: object, master: str) -> None:
        self.closed = False

    def __enter__(self) -> NoSpark:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


def test_one_broken_run_keeps_no_other_from_being_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sound, crashing, torn, piped = (a_run(tmp_path / name) for name in ("sound", "crashing", "torn", "piped"))
    torn.run_json.write_text("{")
    piped.history.mkdir()
    os.mkfifo(piped.stream("producer-1"))

    def judge(run_dir: RunDir, _analyst: object) -> JudgedRun:
        if run_dir == crashing:
            raise TypeError("a string for a number")
        return gather(run_dir, run_dir.read_run(), (), None, Verdict(verdict="as-documented"))

    monkeypatch.setattr("judgement.judge.AnalysisServer", NoSpark)
    monkeypatch.setattr("judgement.judge.judge", judge)
    every = [str(run.path) for run in (torn, piped, crashing, sound)]
    assert main(["check", "--json", *every, str(tmp_path / "nowhere")]) == EXIT_ERROR
    out, said = capsys.readouterr()
    assert [row["run_dir"] for row in json.loads(out)] == every[3:]
    for line in ("torn/run.json: not readable as JSON", "producer-1.arrows: neither a file", "nowhere: no run", "Type"):
        assert line in said
    assert main(["check", "--json", every[0], every[3]]) == EXIT_USAGE
    assert main(["check", "--json", every[3]]) == 0


def elected(number: int, leader: int = 2) -> Partition:
    return Partition(source="kraft", topic="rf3-min1", partition=number, leader=leader, leader_epoch=1, isr=(leader,))


def test_progress_counts_what_befalls_many_partitions_alike(capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    for number in range(MOST_ALIKE + 40):
        progress.event(elected(number))
        progress.event(Step(name=f"wait until broker-2 leads rf3-min1-{number}", phase="begin"))
    progress.event(Step(name="final read", phase="begin"))
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2 * MOST_ALIKE + 2
    assert told[-2].endswith("  … and 80 more like these, of other partitions")
    assert told[-1].endswith("· final read")


def test_progress_tells_all_that_befalls_one_partition(capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    for _ in range(MOST_ALIKE + 2):
        progress.event(elected(0))
    progress.event(elected(1, leader=1))
    progress.event(Step(name="wait until broker-2 is the controller", phase="begin"))
    assert len(capfd.readouterr().err.splitlines()) == MOST_ALIKE + 4


def test_a_run_counts_though_the_engine_would_not_remove_its_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute(_: Request, *, removals: Removals, **__: object) -> Finished:
        def stuck() -> None:
            raise HarnessError("Docker would not remove: a network has active endpoints")

        removals.register("a-run", stuck)
        return Finished(RunDir(tmp_path), removals)

    monkeypatch.setattr(runner, "execute", execute)
    assert main(["run", "baseline", "--version", "4.3.1", "--no-check", "--json"]) == EXIT_ERROR
    said = capsys.readouterr()
    assert json.loads(said.out) == {"run_dir": str(tmp_path)}
    assert "active endpoints; `kafka-chaos clean` tries again" in said.err
