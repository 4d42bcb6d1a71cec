from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import matrix, parts
from app.cli import main
from app.commands.matrix import by_client
from app.matrix import Matrix, MatrixCell, RunLost, cells, finished_cells, night_order, of_the_night
from evidence import manifest
from evidence.errors import UsageError
from evidence.rundir import RunDir
from harness.cluster import versions
from harness.scenario import all_scenarios, get_scenario
from judgement.verdict import Name, Verdict, read_verdict
from tests.records import run_record

STUB = Path(__file__).parents[1] / "workloads" / "stub_client.py"
ONE, TWO = (MatrixCell(scenario="baseline", version="4.3.1", seed=seed) for seed in (1, 2))


class NoServer:
    def __init__(self, java_home: str) -> None: ...

    def __enter__(self) -> NoServer:
        return self

    def __exit__(self, *raised: object) -> None: ...


def finished(path: Path, cell: MatrixCell, verdict: Name = "as-documented", **facts: Any) -> RunDir:
    path.mkdir()
    run_dir = RunDir(path)
    stated = {"scenario": cell.scenario, "version": cell.version, "seed": cell.seed} | facts
    run_dir.write_run(run_record(stated))
    run_dir.verdict.write_text(json.dumps(Verdict(verdict=verdict).as_json()))
    return run_dir


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[MatrixCell]:
    """Runs that need no brokers: seed 1 leaves a run directory, seed 2 nothing."""
    cells: list[MatrixCell] = []

    def one(self: Matrix, cell: MatrixCell) -> RunDir:
        cells.append(cell)
        if cell == TWO:
            raise RunLost(f"{cell}: ended with -9 and left no run directory")
        return RunDir(tmp_path / "one")

    monkeypatch.setattr(Matrix, "_one", one)
    monkeypatch.setattr(matrix, "AnalysisServer", NoServer)
    monkeypatch.setattr(matrix, "java_home", lambda: "/a/java")
    monkeypatch.setattr(
        matrix, "judge", lambda run_dir, analyst: SimpleNamespace(verdict=Verdict(verdict="as-documented"))
    )
    return cells


def test_a_run_that_leaves_nothing_is_told_and_keeps_no_other_from_running(
    ran: list[MatrixCell], tmp_path: Path
) -> None:
    said: list[str] = []
    made = Matrix(tmp_path, {}, 1, said.append)
    runs = made.run([TWO, ONE])
    assert sorted(ran, key=str) == [ONE, TWO]
    assert list(runs) == [ONE]
    assert made.lost == ["baseline on 4.3.1, seed 2: ended with -9 and left no run directory"]
    assert sorted(said) == ["[1/2] baseline on 4.3.1, seed 1 (0 s): as-documented", *made.lost]


def test_no_run_begins_after_the_limit_and_what_is_left_is_counted(ran: list[MatrixCell], tmp_path: Path) -> None:
    late = Matrix(tmp_path, {}, 1, lambda line: None, until=time.monotonic() - 1)
    assert late.run([ONE, TWO]) == {}
    assert (ran, late.left) == ([], 2)
    early = Matrix(tmp_path, {}, 1, lambda line: None, until=time.monotonic() + 3600)
    assert list(early.run([ONE])) == [ONE]
    assert early.left == 0


def test_a_night_that_is_cut_short_has_every_case_and_every_line() -> None:
    lines = ["old", "epoch", "pinned", "zk3", "kraft"]
    versions = [f"{line}-{number}" for line in lines for number in range(3)]
    wanted = [MatrixCell(scenario=s, case=c, version=v, seed=1) for s in "abcd" for v in versions for c in ("x", "y")]
    nights = [night_order(wanted, seed)[: len(wanted) // 3] for seed in (1, 2, 3)]
    for night in nights:
        seen = {(cell.scenario, cell.case, cell.version.split("-")[0]) for cell in night}
        assert {(scenario, case) for scenario, case, _ in seen} == {(s, c) for s in "abcd" for c in ("x", "y")}
        assert all(len({line for *case, line in seen if case == [s, "x"]}) >= 4 for s in "abcd")
    assert sorted((cell for night in nights for cell in night), key=str) == sorted(wanted, key=str)


def test_a_night_has_all_of_one_seed_before_the_next_and_nothing_twice() -> None:
    wanted = [
        MatrixCell(scenario=s, version=v, seed=seed) for seed in (1, 2) for s in "ab" for v in ("1", "2", "3", "4")
    ]
    order = night_order([*wanted, MatrixCell(scenario="c", version="1", seed=1)], 5)
    assert [cell.seed for cell in order] == [1] * 9 + [2] * 8
    assert len(set(order)) == len(order) == 17


def test_each_night_has_a_third_of_the_museum_and_three_nights_have_all_of_it() -> None:
    every = list(all_scenarios().values())
    exhibits = {one.name for one in every if one.exhibit is not None}
    nights = [[one.name for one in of_the_night(every, seed)] for seed in (1, 2, 3)]
    for names in nights:
        assert [name for name in names if name not in exhibits] == [one.name for one in every if one.exhibit is None]
        assert len(exhibits.intersection(names)) <= len(exhibits) // 3 + 1
    assert sorted(name for names in nights for name in names if name in exhibits) == sorted(exhibits)


def test_a_finished_cell_is_not_run_again_unless_its_settings_were_others(
    ran: list[MatrixCell], tmp_path: Path
) -> None:
    finished(tmp_path / "here", ONE)
    finished(tmp_path / "other", TWO, overridden={"unclean.leader.election.enable": "true"})
    assert list(finished_cells(tmp_path, {})) == [ONE]
    runs = Matrix(tmp_path, {}, 1, lambda line: None).run([ONE, TWO])
    assert ran == [TWO]
    assert runs[ONE].path.name == "here"


def test_each_pair_of_releases_is_a_cell_of_its_own(tmp_path: Path) -> None:
    rolling = [get_scenario("upgrade-rolling")]
    names = ("2.8.2", "2.8.2-to-3.9.2-zk", "2.8.2-to-3.5.1-zk", "2.4.1-to-2.8.1")
    wanted = cells(rolling, [versions.get(name) for name in names], seed=1, repeat=1, cases=["plain"])
    assert [cell.version for cell in wanted] == ["2.8.2", "2.8.2-to-3.5.1-zk", "2.4.1-to-2.8.1"]
    for number, cell in enumerate(wanted):
        assert finished_cells(tmp_path, {}).get(cell) is None
        finished(tmp_path / str(number), cell, case=cell.case)
        assert list(finished_cells(tmp_path, {})) == wanted[: number + 1]


def test_a_run_from_before_there_were_cases_is_the_default_case(tmp_path: Path) -> None:
    finished(tmp_path / "old", ONE)
    finished(tmp_path / "new", TWO, case="acks-1")
    assert set(finished_cells(tmp_path, {})) == {ONE, replace(TWO, case="acks-1")}


def test_a_cell_of_another_expectation_is_run_again(tmp_path: Path) -> None:
    finished(tmp_path / "expected", ONE, overridden={"a": "b"}, expect=["lost-write"])
    assert finished_cells(tmp_path, {"a": "b"}) == {}
    assert list(finished_cells(tmp_path, {"a": "b"}, ["lost-write"])) == [ONE]


def test_a_cell_of_another_client_is_run_again(tmp_path: Path) -> None:
    """Of a command, also one that is another release of its client by now."""
    mine = f"{sys.executable} {STUB} good"
    said = {"name": "stub", "version": "1.0", "command": mine, "can": ["produce"]}
    command = f"kafka-chaos run baseline --client '{mine}'"
    finished(tmp_path / "mine", ONE, own_client=said, command=command)
    finished(tmp_path / "older", TWO, own_client=said | {"version": "0.9"}, command=command)
    assert finished_cells(tmp_path, {}) == {}
    assert finished_cells(tmp_path, {}, client="java-2.8.2") == {}
    assert list(finished_cells(tmp_path, {}, client=mine)) == [ONE]


def test_cells_that_need_what_a_client_has_not_are_left_out_and_told() -> None:
    told: list[str] = []
    versions_of = {"4.3.1": versions.get("4.3.1")}
    wanted = [ONE, replace(ONE, scenario="exactly-once"), replace(ONE, scenario="leader-crash", case="acks-1")]
    assert by_client(wanted, f"{sys.executable} {STUB} produces-only", versions_of, told.append) == [ONE]
    assert told == [
        "not run: exactly-once needs transactions, which stub 1.0 does not say that it can",
        "not run: leader-crash (acks-1) needs acks-1, which stub 1.0 does not say that it can",
    ]
    with pytest.raises(UsageError, match="in none of these scenarios"):
        by_client(wanted[1:], f"{sys.executable} {STUB} produces-only", versions_of, told.append)


def test_cells_whose_application_a_client_is_not_are_left_out_and_told() -> None:
    told: list[str] = []
    streams = replace(ONE, scenario="streams-pipeline", case="at-least-once")
    assert by_client([ONE, streams], "java-4.3.1", {"4.3.1": versions.get("4.3.1")}, told.append) == [ONE]
    assert told == ["not run: streams-pipeline (at-least-once) runs with streams-4.3.1, not with java-4.3.1"]


def test_a_run_that_was_cut_short_is_not_finished(tmp_path: Path) -> None:
    finished(tmp_path / "torn", ONE).verdict.write_text("{")
    finished(tmp_path / "unjudged", TWO).verdict.unlink()
    finished(tmp_path / "failed", TWO, "error")
    assert finished_cells(tmp_path, {}) == {}


def test_a_cell_whose_files_are_not_those_that_were_judged_is_run_again(tmp_path: Path) -> None:
    run_dir = finished(tmp_path / "here", ONE)
    manifest.write(run_dir, "r1")
    assert finished_cells(tmp_path, {}) == {}
    run_dir.manifest.unlink()
    assert list(finished_cells(tmp_path, {})) == [ONE]


def rerun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdicts: list[Name], first: Name, times: int = 3
) -> tuple[dict[MatrixCell, list[RunDir]], list[Name], list[str]]:
    """A cell that ended so and is run again, each time with the next verdict; those that were not given are left."""
    begun = finished(tmp_path / "run-0", ONE, first)
    said: list[str] = []

    def one(self: Matrix, cell: MatrixCell) -> RunDir:
        return finished(tmp_path / f"run-{9 - len(verdicts)}", cell, verdicts.pop(0))

    monkeypatch.setattr(Matrix, "_one", one)
    monkeypatch.setattr(matrix, "AnalysisServer", NoServer)
    monkeypatch.setattr(matrix, "java_home", lambda: "/a/java")
    monkeypatch.setattr(matrix, "judge", lambda run_dir, analyst: SimpleNamespace(verdict=read_verdict(run_dir)))
    late = Matrix(tmp_path, {}, 2, said.append, until=time.monotonic() - 1)
    return late.again({ONE: begun}, times), verdicts, said


def test_a_cell_that_is_not_good_is_run_three_times_more_though_it_is_late(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    again, left, said = rerun(monkeypatch, tmp_path, ["as-documented", "unexpected", "error", "unknown"], "unexpected")
    assert [read_verdict(run).verdict for run in again[ONE]] == [
        "unexpected",
        "as-documented",
        "unexpected",
        "error",
    ]
    assert left == ["unknown"]
    assert len(said) == 3


def test_a_good_cell_is_not_run_again_and_what_was_run_again_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert rerun(monkeypatch, tmp_path, ["unknown"], "as-documented")[:2] == ({}, ["unknown"])
    finished(tmp_path / "run-a", TWO, "unknown")
    finished(tmp_path / "run-b", TWO)
    made = Matrix(tmp_path, {}, 1, lambda line: None)
    monkeypatch.setattr(Matrix, "_one", lambda self, cell: finished(tmp_path / "run-c", cell))
    again = made.again({TWO: RunDir(tmp_path / "run-b")}, 2)
    assert [run.path.name for run in again[TWO]] == ["run-a", "run-b", "run-c"]


def test_a_run_in_a_folder_that_is_named_from_here_counts_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run tells its whole path, and the folder is as the command names it: `--runs-dir runs/nightly`."""
    (tmp_path / "nightly").mkdir()
    finished(tmp_path / "nightly" / "run-a", ONE, "unexpected")
    monkeypatch.chdir(tmp_path)
    made = Matrix(Path("nightly"), {}, 1, lambda line: None)
    assert made.again({ONE: RunDir(tmp_path / "nightly" / "run-a")}, 0) == {}


def test_so_many_cells_are_no_noise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(matrix, "AGAIN_CELLS", 0)
    again, left, said = rerun(monkeypatch, tmp_path, ["unknown"], "unknown")
    assert (again, left, said) == ({}, ["unknown"], ["1 cells are not good: the first 0 of them are run again"])


def test_a_dry_run_tells_the_cells_and_runs_none(ran: list[MatrixCell], capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["matrix", "--scenarios", "leader-crash", "--versions", "4.3.1", "--repeat", "2", "--dry-run", "--quiet"]
    assert main([*asked, "--json"]) == 0
    told = [MatrixCell(**cell) for cell in json.loads(capsys.readouterr().out)]
    assert [(cell.case, cell.seed) for cell in told] == [("acks-1", 1), ("acks-all", 1), ("acks-1", 2), ("acks-all", 2)]
    assert main(asked) == 0
    assert capsys.readouterr().out.splitlines()[0] == "leader-crash (acks-1) on 4.3.1, seed 1"
    assert ran == []


@pytest.mark.parametrize(
    ("verdict", "statuses"),
    [("unexpected", (1, 1, 1)), ("not-reproduced", (1, 1, 1)), ("unknown", (0, 0, 2)), ("as-documented", (0, 0, 0))],
)
def test_what_a_matrix_fails_on(
    ran: list[MatrixCell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: Name, statuses: tuple[int, ...]
) -> None:
    monkeypatch.setattr("app.commands.matrix.images.ensure_images", lambda *_: None)
    monkeypatch.setattr("app.commands.matrix.write_reports", lambda root, runs: None)
    monkeypatch.setattr("app.commands.matrix.console.table", lambda loaded: "")
    cell = MatrixCell(scenario="baseline", version="4.3.1", seed=1)
    finished(tmp_path / "a-run", cell, verdict)
    asked = ["matrix", "--scenarios", "baseline", "--versions", "4.3.1", "--quiet", "--runs-dir", str(tmp_path)]
    assert tuple(main([*asked, "--fail-on", word]) for word in ("unexpected", "error", "unknown")) == statuses
    assert main(asked) == statuses[2]
    assert parts.read(tmp_path) == {}
    assert main([*asked, "--plan", "--shard", "1/1"]) == statuses[2]
    assert parts.read(tmp_path) == {1: [1]}
