"""`kafka-chaos ledger`: runs are entered once, no line is changed or dropped, and git's history is asked."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import results
from analysis import ledger as derivation
from app import ledger as store
from app.cli import main
from app.commands.ledger import allowances, undecided
from audit import matrix as audit_matrix
from checks.catalogue import LOST_WRITE, TRUNCATED
from evidence import ledger
from evidence.errors import UsageError
from evidence.ledger import AnyLine, RestoredRun
from pages import counted
from tests.ledgers import ended, judged, restored_cell, started

ROOT = Path(__file__).parents[3]


def told(folder: Path, *lines: AnyLine) -> Path:
    """A folder of run directories in which these lines were written."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in lines:
        ledger.append(folder / ledger.FILE, line)
    return folder


def merge(root: Path, *folders: Path) -> int:
    return main(["ledger", "merge", *map(str, folders), "--results", str(root)])


def whole(run: str, **changes: object) -> tuple[AnyLine, ...]:
    return started(run, **changes), ended(run), judged(run)


def test_runs_are_entered_by_scenario_and_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = told(tmp_path / "runs", *whole("r1"), *whole("r2", scenario="other"), started("r3"))
    assert merge(tmp_path, here) == 0
    assert "7 new lines; 3 runs are in the ledger" in capsys.readouterr().out
    files = {path.name: path.read_bytes() for path in (tmp_path / results.LEDGER).iterdir()}
    assert sorted(files) == ["other.jsonl", "s.jsonl"]
    assert merge(tmp_path, here, here) == 0
    assert "0 new lines" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (tmp_path / results.LEDGER).iterdir()} == files


def test_the_same_lines_give_the_same_files_in_whatever_order(tmp_path: Path) -> None:
    lines = [*whole("r1"), *whole("r2")]
    merge(tmp_path / "a", told(tmp_path / "1", *lines))
    merge(tmp_path / "b", told(tmp_path / "2", *reversed(lines)))
    texts = [(tmp_path / name / results.LEDGER / "s.jsonl").read_text() for name in "ab"]
    assert texts[0] == texts[1]


def test_an_end_that_comes_later_is_added_to_its_start(tmp_path: Path) -> None:
    merge(tmp_path, told(tmp_path / "runs", started("r1")))
    merge(tmp_path, told(tmp_path / "runs", ended("r1"), judged("r1", "unexpected")))
    kinds = [type(line).__name__ for line in store.load(tmp_path / results.LEDGER).lines]
    assert kinds == ["RunStarted", "RunEnded", "RunJudged"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([started("r1", seed=2)], "r1 otherwise than the ledger: a line is never changed"),
        ([ended("r1", "failed")], "r1 otherwise than the ledger: a line is never changed"),
        ([ended("r9")], "tells of r9, and no line says that this run was started"),
    ],
)
def test_a_line_that_contradicts_another_is_refused_and_nothing_is_written(
    lines: list[AnyLine], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merge(tmp_path, told(tmp_path / "runs", *whole("r1")))
    before = (tmp_path / results.LEDGER / "s.jsonl").read_bytes()
    assert merge(tmp_path, told(tmp_path / "others", *whole("r5"), *lines)) == 254
    said = capsys.readouterr().err
    assert why in said
    assert len(said.splitlines()) == 2  # that of the first merge names the file that it wrote
    assert (tmp_path / results.LEDGER / "s.jsonl").read_bytes() == before


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    assert merge(tmp_path, tmp_path / "runs") == 254
    (tmp_path / "runs" / ledger.FILE).write_bytes(b"\xff\n")
    assert merge(tmp_path, tmp_path / "runs") == 254
    first, second = capsys.readouterr().err.splitlines()
    assert "has no ledger.jsonl" in first
    assert "not readable as a ledger" in second


def test_a_run_is_excluded_by_a_line_that_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge(tmp_path, told(tmp_path / "runs", *whole("r1"), *whole("r2")))
    say = ["ledger", "exclude", "r1", "--why", "the machine stood still", "--results", str(tmp_path)]
    assert main(say) == 0
    assert main(["ledger", "--json", "--results", str(tmp_path)]) == 0
    counts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (counts["runs"], counts["counted"], counts["aside"]) == (2, 1, 1)
    (row,) = map(json.loads, (tmp_path / results.CELLS).read_text().splitlines())
    assert row["aside"] == [{"run": "r1", "runs": 1, "why": "excluded: the machine stood still"}]
    assert main(["ledger", "exclude", "r11", "--why", "w", "--results", str(tmp_path)]) == 254
    assert main(["ledger", "exclude", "r1", "--why", " ", "--results", str(tmp_path)]) == 254
    assert "there is no run 'r11'; did you mean" in capsys.readouterr().err


def test_cells_that_need_runs_are_listed_the_most_first() -> None:
    def cell(good: int, **verdicts: int) -> dict[str, object]:
        return {"runs": good + sum(verdicts.values()), "good": good, "verdicts": {"as-documented": good} | verdicts}

    must = {"required": ["lost-write"], "allowed": [], "versions": ["1", "2", "3"]}
    must_not = {"required": [], "allowed": [], "versions": ["1", "2", "3", "4"]}
    cases = [{"name": "a", "documented": [must]}, {"name": "b", "documented": [must_not]}]
    scenarios = {"scenarios": [{"name": "s", "cases": cases}, {"name": "audit-none", "cases": cases}]}
    data = {
        "s": {
            "cases": {
                "a": {"1": cell(5), "2": cell(4, unknown=3)},
                "b": {"1": cell(31), "2": cell(5), "3": cell(3, unexpected=2)},
            }
        }
    }
    found = [(one.case, one.version, one.missing, one.ran) for one in undecided(scenarios, data)]
    assert found == [
        ("b", "4", 31, "not run"),
        ("b", "2", 26, "5/5"),
        ("a", "3", 5, "not run"),
        ("a", "2", 1, "4/4, 3 unknown"),
    ]


def test_a_cell_that_must_show_a_cut_log_alone_needs_as_many_runs_as_one_that_must_show_nothing() -> None:
    cell = {"runs": 5, "good": 5, "verdicts": {"as-documented": 5}}

    def missing(*required: str) -> int:
        return counted.missing(cell, {"required": list(required), "allowed": []})

    assert missing(TRUNCATED, LOST_WRITE) == missing(LOST_WRITE) == 0
    assert missing(TRUNCATED) == missing() == 26


def test_what_may_be_seen_and_never_was_or_always_was_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    def cell(runs: int, unknown: int = 0, **seen: int) -> dict[str, object]:
        verdicts = {"as-documented": runs, "unknown": unknown}
        return {"runs": runs + unknown, "good": runs, "verdicts": verdicts, "seen": seen}

    may = {"required": ["must"], "allowed": ["a", "b"], "versions": ["1", "2", "3", "4"]}
    scenarios = {"scenarios": [{"name": "s", "cases": [{"name": "c", "documented": [may]}]}]}
    cells = {
        "1": cell(10, must=10, a=10, b=1),  # a always; b sometimes
        "2": cell(9, unknown=3),  # too few that say something
        "3": cell(12, unknown=2, a=11),  # b never; a sometimes
    }
    data = {"s": {"cases": {"c": cells}}}
    allowances(scenarios, data, [], least=10, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [(one["version"], one["anomaly"], one["seen"], one["runs"]) for one in found] == [
        ("3", "b", 0, 12),
        ("1", "a", 10, 10),
    ]
    allowances(scenarios, data, [], least=9, as_json=False)
    *_, always, last = said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[:-1]] == ["never", "never", "never", "always"]
    assert always == "always  s (c) on 1: a in 10 of 10 runs (at least 74 %)"
    assert last == ("6 allowances were run; in cells with 9 runs or more 3 were never seen and 1 always")


def test_what_may_come_of_alike_cells_of_the_audit_is_counted_together(capsys: pytest.CaptureFixture[str]) -> None:
    every = audit_matrix.measured()
    outcome, why = "duplicates", "What the audit's cells have in common is told once."
    alike = [
        replace(cell, stated=replace(cell.stated, must=frozenset(), may=frozenset({outcome}), why=why))
        for cell in every
        if cell.key.fault == "none"
    ]
    allowances({"scenarios": []}, {}, alike, least=1, as_json=True)
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["scenario"], told["anomaly"], told["seen"]) == ("audit-none", outcome, 0)
    assert told["runs"] == sum(len(cell.runs) for cell in alike) > 100
    assert why in told["rate"]


SHOWN_ELSEWHERE = {
    ("double-failover", "replica-divergence"): "KIP-101, scenario 2: one of 11 runs on 0.9.0.1",
    ("audit-leader-crash-behind", "reorders"): "RecordAccumulator.reenqueue (2.8.2), of Java's producers: a run of CI, "
    "and one of three whose last two records were two batches (20261128t134651-…-dc52)",
}
"""Allowances that no run of their version has shown in ten or more: the source, and the run of another version."""


ALWAYS = 20
"""Runs after which what was always seen is no `may`: what four of five runs show is seen in ten of ten in a tenth."""


def test_whatever_may_be_seen_was_and_was_not(capsys: pytest.CaptureFixture[str]) -> None:
    """In a cell with ten runs what was never seen is no `may`, and with more what always was is a `must`. One that has
    to be allowed all the same names its source here, and the run that showed it.
    """
    assert main(["ledger", "allowances", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    never = [one for one in found if not one["seen"] and (one["scenario"], one["anomaly"]) not in SHOWN_ELSEWHERE]
    assert [(one["scenario"], one["version"], one["rate"]) for one in never] == []
    always = [one for one in found if one["seen"] and one["runs"] >= ALWAYS]
    assert [(one["scenario"], one["version"], one["rate"]) for one in always] == []


def test_the_allowances_of_the_ledger_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "allowances", "--json", "--results", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == []
    with pytest.raises(SystemExit, match="254"):
        main(["ledger", "allowances", "--runs", "0"])
    assert main(["ledger", "allowances", "--runs", "1"]) == 0
    assert " allowances were run; in cells with 1 run or more " in capsys.readouterr().out


# Held to the history of git


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A repository in which two runs were committed."""
    git(tmp_path, "init", "-q", ".")
    merge(tmp_path, told(tmp_path / "runs", *whole("r1"), *whole("r2")))
    git(tmp_path, "add", results.LEDGER)
    git(tmp_path, "commit", "-qm", "runs")
    return tmp_path


def check(root: Path) -> int:
    return main(["ledger", "check", "--results", str(root)])


def test_more_runs_are_no_harm(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge(kept, told(kept / "runs", *whole("r0"), *whole("r3")))
    assert check(kept) == 0
    assert "12 lines of 4 runs, 0 gone" in capsys.readouterr().out


@pytest.mark.parametrize("committed", [False, True])
def test_a_line_that_is_gone_or_changed_is_told(
    committed: bool, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = kept / results.LEDGER / "s.jsonl"
    changed = file.read_text().replace('"verdict":"as-documented"', '"verdict":"unexpected"', 1)
    file.write_text(
        "".join(line for line in changed.splitlines(keepends=True) if '"ended","schema":1,"run":"r2"' not in line)
    )
    if committed:
        git(kept, "commit", "-qam", "better")
        merge(kept, told(kept / "more", *whole("r3")))
    assert check(kept) == 1
    gone = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gone: ")]
    assert len(gone) == 2
    assert any('"kind":"judged","schema":1,"run":"r1"' in line for line in gone)


def test_a_file_that_is_gone_is_told(kept: Path) -> None:
    merge(kept, told(kept / "runs", *whole("r3", scenario="other")))
    (kept / results.LEDGER / "s.jsonl").unlink()
    assert check(kept) == 1


def test_lines_in_another_order_are_told(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = kept / results.LEDGER / "s.jsonl"
    file.write_text("".join(reversed(file.read_text().splitlines(keepends=True))))
    assert check(kept) == 1
    assert "not in order" in capsys.readouterr().out


def test_without_a_history_there_is_nothing_to_hold_it_to(tmp_path: Path) -> None:
    merge(tmp_path, told(tmp_path / "runs", *whole("r1")))
    with pytest.raises(UsageError, match="no git history to hold it to"):
        store.gone(tmp_path / results.LEDGER)


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="no git history here")
def test_the_ledger_of_this_repository_lost_no_line() -> None:
    assert store.gone() == []
    assert store.out_of_order() == []


def test_the_rows_of_this_repository_are_those_of_its_ledger() -> None:
    text = derivation.text_of(derivation.rows(store.load().lines))
    assert (results.ROOT / results.CELLS).read_text() == text, "run `kafka-chaos ledger merge`, or `make ledger`"


def test_the_failures_that_had_been_counted_away_are_in_the_ledger() -> None:
    """Eighteen of them, of which seventeen have names."""
    rows = {(row.scenario, row.case, row.version): row for row in derivation.rows(store.load().lines)}
    lost = rows["memory-survives", "leader-and-follower", "0.10.2.2"]
    assert lost.runs >= 13
    assert len([one for one in lost.not_good if "LOST" in one]) >= 2
    standing = rows["last-replica-standing", "min-2-killed", "4.3.1"]
    assert (standing.runs, standing.good) >= (49, 43)
    assert standing.verdicts["unknown"] >= 6
    gone = [
        line for line in store.load().lines if isinstance(line, RestoredRun) and line.gone is not None and line.told
    ]
    assert len(gone) == 17


def test_a_cell_of_runs_without_names_is_entered_once() -> None:
    kept, cell = store.LedgerFolder(Path()), restored_cell(5, 5, unnamed=5, unnamed_good=5)
    assert kept.add(ledger.encode(cell), cell, "here")
    assert not kept.add(ledger.encode(cell), cell, "here")
    assert list(kept.lines) == [cell]
