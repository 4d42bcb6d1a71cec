"""`kafka-chaos compare`: ledgers and folders in, one sentence and a status out."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from app import parts
from app.cli import main
from app.matrix import Matrix, MatrixCell
from evidence import ledger
from evidence.errors import EXIT_ERROR, EXIT_USAGE
from evidence.ledger import AnyLine, ClaimLine, Excluded
from evidence.rundir import RunDir
from judgement.report.comparison import FILES
from tests.ledgers import ended, judged, started

LOSS: dict[str, Any] = {"verdict": "unexpected", "anomalies": {"lost-write": 1}, "lost": 1}


def write(folder: Path, lines: Iterable[AnyLine]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for line in lines:
        ledger.append(folder / ledger.FILE, line)
    return folder


def night(name: str, runs: int, *, version: str = "4.3.1", code: str = "", **changes: Any) -> list[AnyLine]:
    """So many runs of two cells; `changes` are of verdicts on the first."""
    lines: list[AnyLine] = []
    for scenario in ("double-failover", "leader-crash"):
        for number in range(runs):
            run = f"{name}-{scenario}-{number}"
            what = changes if scenario == "double-failover" else {}
            took = (ClaimLine(name="leader-elected", outcome="held", measured_ms=4000.0 + number),)
            lines += [
                started(run, scenario=scenario, version=version, code=code, seed=number + 1),
                ended(run),
                judged(run, **({"claims": took} | what)),
            ]
    return lines


def test_a_regression_is_one_sentence_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = write(tmp_path / "a", night("a", 20)), write(tmp_path / "b", night("b", 5, **LOSS))
    logs = new / "b-double-failover-0" / "logs"
    logs.mkdir(parents=True)
    assert main(["compare", str(old), str(new), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == (
        f"4.3.1 in {new}: 1 regression in 2 cells: double-failover on 4.3.1 lost acknowledged records in 5 of 5 runs, "
        "was 0 of 20"
    )
    assert any(f"look at {new / 'b-double-failover-0'}" in line for line in said)
    assert any("beside  a-double-failover-0" in line for line in said)
    page, data, summary, tests, chat = ((tmp_path / "out" / name).read_text() for name in FILES)
    assert "lost acknowledged records in 5 of 5 runs" in page
    assert "❌" in summary
    assert json.loads(data)["sentence"] == said[0]
    assert json.loads(data)["changes"][0]["cells"][0]["new"] == 5
    failed = ET.fromstring(tests).findall(".//failure")
    assert [one.get("type") for one in failed] == ["regression"]
    first, *others = json.loads(chat)["text"].splitlines()
    assert first == said[0]
    assert f"look at {new / 'b-double-failover-0'}" in others[0]
    assert json.loads(chat)["content"].splitlines()[0] == first


def test_no_regression_is_0_and_too_few_runs_are_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = write(tmp_path / "a", night("a", 6))
    assert main(["compare", str(old), str(write(tmp_path / "b", night("b", 5)))]) == 0
    assert main(["compare", str(old), str(write(tmp_path / "c", night("c", 2))), "--json"]) == 2
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("no regression in 2 cells")
    assert json.loads(last)["status"] == "too-little"


def test_less_throughput_and_more_latency_are_regressions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paces: list[dict[str, Any]] = [
        {"inputs_per_s": 100.0, "latency_p50_ms": 20.0, "latency_p99_ms": 30.0},
        {"inputs_per_s": 50.0},
    ]
    old, new = (write(tmp_path / name, night(name, 6, **pace)) for name, pace in zip("ab", paces, strict=True))
    assert main(["compare", str(old), str(new)]) == 1
    assert "an input of many that came at once: 20.0 ms, was 10.0 ms (100% longer)" in capsys.readouterr().out
    slow = write(tmp_path / "c", night("c", 6, **(paces[0] | {"latency_p99_ms": 90.0})))
    assert main(["compare", str(old), str(slow)]) == 1
    assert "from input to output, the 99th percentile: 90.0 ms, was 30.0 ms" in capsys.readouterr().out
    assert main(["compare", str(new), str(old)]) == 0


def test_nights_in_a_folder_a_ledger_and_a_file_are_read_alike(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / "nights" / f"{number}", night(f"n{number}", 1))
    whole = write(tmp_path / "one", [line for number in range(5) for line in night(f"n{number}", 1)])
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "s.jsonl").write_bytes((whole / ledger.FILE).read_bytes())
    for place in (whole, whole / ledger.FILE, tmp_path / "results"):
        assert main(["compare", str(tmp_path / "nights"), str(place)]) == 0


def test_a_night_that_was_killed_counts_as_far_as_it_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = write(tmp_path / "a", night("a", 6))
    cut = [
        *night("b", 6),
        started("b-x", scenario="leader-crash"),
        Excluded(schema=1, run="b-leader-crash-5", at="x", why="w"),
    ]
    new = write(tmp_path / "b", cut)
    assert main(["compare", str(old), str(new)]) == 0
    said = capsys.readouterr().out
    assert f"{new}: 1 runs were started and have no verdict, and are not compared" in said
    assert f"{new}: 1 runs are excluded, and are not compared" in said


def test_a_line_that_was_cut_short_is_passed_over_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = write(tmp_path / "a", night("a", 6)), write(tmp_path / "b", night("b", 6))
    with (new / ledger.FILE).open("a") as file:
        file.write('{"kind":"started","schema":1,"run":"tor')
    write(new, night("c", 1))  # resumed
    assert main(["compare", str(old), str(new)]) == 0
    assert f"{new / ledger.FILE}, line 37: was cut short, and is passed over" in capsys.readouterr().out


def test_parts_that_are_missing_or_there_twice_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, nights = write(tmp_path / "a", night("a", 6)), tmp_path / "nights"
    for folder, name, number in (("one", "b", 1), ("two", "c", 3), ("copy", "c", 3)):
        parts.add(write(nights / folder, night(name, 3)), number, 3)
    assert main(["compare", str(old), str(nights)]) == 0
    said = capsys.readouterr().out
    assert f"{nights}: part 2 of 3 is not here; the cells of it are not compared" in said
    assert f"{nights}: part 3 of 3 is here 2 times (copy, two); a run that was copied counts once" in said
    parts.add(write(nights / "three", night("d", 1)), 2, 3)
    (nights / "copy" / parts.FILE).unlink()
    assert main(["compare", str(old), str(nights)]) == 0
    assert "of 3" not in capsys.readouterr().out
    assert parts.read(nights / "one") == {3: [1]}
    parts.add(nights / "one", 2, 3)
    assert parts.read(nights / "one") == {3: [1, 2]}
    (nights / "one" / parts.FILE).write_text("[1]")
    assert main(["compare", str(old), str(nights)]) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "is not what `matrix --shard` writes" in line


def test_a_full_disk_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device", "out/comparison.html")

    monkeypatch.setattr("judgement.report.comparison.write_atomically", full)
    old, new = write(tmp_path / "a", night("a", 6)), write(tmp_path / "b", night("b", 6))
    assert main(["compare", str(old), str(new), "--out", str(tmp_path / "out")]) == EXIT_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kafka-chaos: out/comparison.html: No space left on device (the disk is full: free some")


def test_two_versions_are_held_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (
        write(tmp_path / "a", night("a", 6)),
        write(tmp_path / "b", night("b", 6, version="4.5.0-SNAPSHOT", **LOSS)),
    )
    assert main(["compare", str(old), str(new)]) == 1
    assert "double-failover on 4.5.0-SNAPSHOT lost acknowledged records" in capsys.readouterr().out
    both = write(tmp_path / "c", [*night("c", 6), *night("d", 6, version="4.4.0")])
    assert main(["compare", str(both), str(new), "--version", "4.4.0=4.5.0-SNAPSHOT"]) == 1
    assert main(["compare", str(both), str(new)]) == 254
    assert main(["compare", str(both), str(new), "--version", "4.2.0=4.5.0-SNAPSHOT"]) == 254
    assert main(["compare", str(both), str(new), "--version", "4.2.0"]) == 254


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "no runs here"),
        (
            night("b", 5, version="4.4.0") + night("c", 5, version="4.4.1"),
            "have no cell (scenario, case, version) in common",
        ),
        (night("b", 5, code="b" * 40), "double-failover on 4.3.1: aaaaaaaa, now bbbbbbbb"),
        ([*night("b", 1), started("b-leader-crash-0", scenario="leader-crash", seed=9)], "a line is never changed"),
        ([structs.replace(started("b"), schema=9)], "schema 9, this program reads 1"),
        ([started("b"), started("c"), ended("c")], "2 runs here, and none with a verdict that counts"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    lines: list[AnyLine], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "a", night("a", 6, code="a" * 40))
    assert main(["compare", str(old), str(write(tmp_path / "b", lines))]) == 254
    (said,) = capsys.readouterr().err.splitlines()
    assert why in said


ACCEPT = (
    '[[accept]]\nwhat = "anomaly lost-write"\ncell = "double-failover on 4.3.1"\nwhy = "KAFKA-1"\nuntil = {until}\n'
)


def test_an_exception_holds_until_its_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = write(tmp_path / "a", night("a", 20)), write(tmp_path / "b", night("b", 5, **LOSS))
    file = tmp_path / "accept.toml"
    words = ["compare", str(old), str(new), "--accept", str(file)]
    file.write_text(ACCEPT.format(until="2999-01-31"))
    assert main(words) == 0
    assert "no regression in 2 cells, 1 accepted" in capsys.readouterr().out
    file.write_text(ACCEPT.format(until="2020-01-31"))
    assert main(words) == 1
    assert "no longer accepted since 2020-01-31" in capsys.readouterr().out
    file.write_text(ACCEPT.format(until="2999-01-31").replace("lost-write", "duplicate"))
    assert main(words) == 1
    assert "accepted, and not seen: anomaly duplicate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = [", "not readable as TOML"),
        ("x = 1", "write each exception as a table [[accept]]"),
        ('[[accept]]\nwhat = "a"\nuntil = 2027-01-31', "exception 1: says no why"),
        ('[[accept]]\nwhat = "a"\nwhy = "b"', "has no day on which it ends"),
        ('[[accept]]\nwhat = "a"\nwhy = "b"\nuntil = 2027-01-31\nwho = "c"', "has who; known: what, cell"),
    ],
)
def test_a_wrong_file_of_exceptions_is_one_line(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "accept.toml").write_text(text)
    assert main(["compare", "a", "b", "--accept", str(tmp_path / "accept.toml")]) == 254
    (said,) = capsys.readouterr().err.splitlines()
    assert why in said


@pytest.fixture
def run_in_turn(monkeypatch: pytest.MonkeyPatch) -> list[MatrixCell]:
    """Runs that need no brokers: those of 4.4.0 lose a record each, if the scenario is double-failover."""
    order: list[MatrixCell] = []

    def run(self: Matrix, wanted: list[MatrixCell]) -> dict[MatrixCell, RunDir]:
        order.extend(wanted)
        for number, cell in enumerate(wanted):
            name = f"r{cell.seed}-{number}"
            about = {"scenario": cell.scenario, "case": cell.case, "version": cell.version}
            lost = cell.version == "4.4.0" and cell.scenario == "double-failover"
            what = LOSS if lost else {}
            write(self.root, [started(name, seed=cell.seed, **about), ended(name), judged(name, **what)])
        return {}

    monkeypatch.setattr(Matrix, "run", run)
    monkeypatch.setattr("app.in_turn.images.ensure_images", lambda *_: None)
    monkeypatch.setattr("app.in_turn.write_reports", lambda *_: None)
    return order


def test_two_builds_are_run_in_turn_and_compared(
    run_in_turn: list[MatrixCell], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", "--kafka-under-test", "4.4.0", "--against", "4.3.1", "--quiet", "--runs-dir", str(tmp_path)]
    assert main([*asked, "--scenarios", "double-failover", "baseline", "--repeat", "6"]) == 1
    assert [(cell.scenario, cell.version, cell.seed) for cell in run_in_turn[:6]] == [
        ("double-failover", "4.3.1", 1),
        ("double-failover", "4.4.0", 1),
        ("baseline", "4.3.1", 1),
        ("baseline", "4.4.0", 1),
        ("double-failover", "4.4.0", 2),
        ("double-failover", "4.3.1", 2),
    ]
    assert len(run_in_turn) == 24
    assert capsys.readouterr().out.splitlines()[0] == (
        f"4.4.0 in {tmp_path}: 1 regression in 2 cells: double-failover on 4.4.0 lost acknowledged records in "
        "6 of 6 runs, was 0 of 6"
    )


def test_further_seeds_in_the_same_folder_add_up(
    run_in_turn: list[MatrixCell], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", "--kafka-under-test", "4.4.0", "--against", "4.3.1", "--quiet", "--runs-dir", str(tmp_path)]
    asked += ["--scenarios", "double-failover", "--repeat", "3"]
    assert main(asked) == 2
    assert main([*asked, "--seed", "4"]) == 1
    assert len(run_in_turn) == 12
    assert "lost acknowledged records in 6 of 6 runs, was 0 of 6" in capsys.readouterr().out


def test_the_suite_is_what_is_run_in_turn_and_too_few_runs_are_2(run_in_turn: list[MatrixCell], tmp_path: Path) -> None:
    asked = ["compare", "--kafka-under-test", "3.9.2", "--against", "3.8.1", "--way", "kraft", "--quiet"]
    assert main([*asked, "--runs-dir", str(tmp_path), "--repeat", "1"]) == 2
    assert {cell.version for cell in run_in_turn} == {"3.8.1-kraft", "3.9.2-kraft"}
    assert {"baseline", "leader-crash"} <= {cell.scenario for cell in run_in_turn}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a"], "compare what?"),
        ([], "compare what?"),
        (["--kafka-under-test", "4.3.1"], "compare what?"),
        (["a", "b", "--kafka-under-test", "4.3.1", "--against", "4.4.0"], "compare what?"),
        (["--kafka-under-test", "4.3.1", "--against", "4.3.1"], "are the same: 4.3.1"),
        (["--kafka-under-test", "3.9.2", "--against", "4.3.1"], "3.9.2-zk"),
        (["--kafka-under-test", "4.4.0", "--against", "4.3.1-zk"], "Kafka 4.3.1 has no ZooKeeper"),
        (
            ["--kafka-under-test", "4.3.1", "--against", "2.8.2", "--scenarios", "museum-kip-279"],
            "none of these scenarios applies",
        ),
    ],
)
def test_builds_that_cannot_be_compared_are_one_line(
    arguments: list[str], why: str, run_in_turn: list[MatrixCell], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line
    assert run_in_turn == []


def test_a_dry_run_tells_what_would_be_run_and_runs_nothing(
    run_in_turn: list[MatrixCell], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", "--kafka-under-test", "4.4.0", "--against", "4.3.1", "--runs-dir", str(tmp_path / "none")]
    assert main([*asked, "--scenarios", "baseline", "--repeat", "2", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "baseline on 4.3.1, seed 1",
        "baseline on 4.4.0, seed 1",
        "baseline on 4.4.0, seed 2",
        "baseline on 4.3.1, seed 2",
        "4 runs",
    ]
    assert run_in_turn == []
    assert not (tmp_path / "none").exists()


def test_a_dry_run_of_two_places_tells_their_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = write(tmp_path / "a", night("a", 6)), write(tmp_path / "b", night("b", 2, **LOSS))
    assert main(["compare", str(old), str(new), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "double-failover on 4.3.1: 2 runs, beside 6 (5 a side are needed for times)",
        "leader-crash on 4.3.1: 2 runs, beside 6 (5 a side are needed for times)",
        "2 cells",
    ]
