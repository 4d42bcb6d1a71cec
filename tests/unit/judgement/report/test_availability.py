"""What faults cost clients, as reports show it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from analysis.ledger import rows
from evidence.rundir import RunDir
from judgement import ledger
from judgement.report import availability, console, facts, html, summary
from tests.findings import write
from tests.ledgers import started
from tests.unit.judgement.report import synthetic

S = 1_000_000_000


def with_clients(root: Path, *, seed: int = 1) -> RunDir:
    """A run whose clients paused for two seconds after its first fault."""
    run_dir = synthetic.double_failover_lost(root, seed=seed)
    facts.judge_run(run_dir)
    first = availability.first_fault_ns(facts.load(run_dir))
    found = json.loads(run_dir.findings.read_text())
    found["availability"] = [
        {
            "topic": "t",
            "partition": 0,
            "begin_ns": first - S,
            "end_ns": first + 4 * S,
            "bucket_ms": 1000,
            "acknowledged_in": [50, 50, 0, 0, 150],
            "read_in": [50, 50, 0, 0, 150],
            "acknowledged": 250,
            "errors": {"NOT_ENOUGH_REPLICAS": 2},
            "error_windows": [{"begin_ns": first, "end_ns": first + S, "errors": 2, "resumed": True}],
            "write_pause": {"at_ns": first, "ms": 2000.0},
            "read_pause": {"at_ns": first, "ms": 2100.0},
            "first_success": [{"fault": "kill -9 of broker-1", "kind": "kill", "at_ns": first, "ms": 2050.0}],
            "usual_per_s": 50.0,
            "lowest_per_s": 0.0,
        }
    ]
    write(run_dir, found)
    facts.judge_run(run_dir)
    return run_dir


ROW = ("t-0", "250", "2 in 1.00 s", "2.00 s", "2.10 s", "2.05 s", "50/s", "0/s")


def test_the_verdict_keeps_the_figures_and_every_report_shows_them(tmp_path: Path) -> None:
    loaded = facts.load(with_clients(tmp_path))
    assert list(availability.table(loaded.verdict.availability)) == [ROW]
    assert "longest pause of writes 2.00 s" in " ".join(console.run_text(loaded).split())
    page = html.render_run(loaded)
    assert "What clients saw" in page
    assert "no writes for 2.0 s" in page
    assert "| t-0 | 250 | 2 in 1.00 s | 2.00 s | 2.10 s |" in summary.render([loaded])


def test_what_was_acknowledged_and_lost_is_red(tmp_path: Path) -> None:
    run_dir = with_clients(tmp_path)
    found = json.loads(run_dir.findings.read_text())
    (row,) = found["availability"]
    (lost,) = [finding for finding in found["findings"] if finding["anomaly"] == "lost-write"]
    lost["evidence"] = [lost["evidence"][0] | {"outcome": "ok", "completed_ns": row["begin_ns"] + S // 2}] * 3
    lost["evidence"].append(lost["evidence"][0] | {"outcome": "info"})
    write(run_dir, found)
    facts.judge_run(run_dir)
    loaded = facts.load(run_dir)
    assert availability.lost_in(loaded, availability.rows_of(loaded)[0]) == [3, 0, 0, 0, 0]
    drawn = availability.picture(loaded)
    assert "acknowledged-then-lost" in drawn
    assert "of these, lost later" in drawn


def test_where_nothing_was_lost_nothing_is_red(tmp_path: Path) -> None:
    run_dir = with_clients(tmp_path)
    found = json.loads(run_dir.findings.read_text())
    found["findings"] = [finding for finding in found["findings"] if finding["anomaly"] != "lost-write"]
    write(run_dir, found)
    facts.judge_run(run_dir)
    drawn = availability.picture(facts.load(run_dir))
    assert drawn
    assert "lost later" not in drawn


def test_a_run_through_which_nobody_wrote_says_nothing_of_it(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    facts.judge_run(run_dir)
    loaded = facts.load(run_dir)
    assert availability.picture(loaded) == ""
    assert "What clients saw" not in html.render_run(loaded) + summary.render([loaded])
    assert "clients of" not in console.run_text(loaded)


def test_cases_side_by_side_have_their_first_faults_at_zero(tmp_path: Path) -> None:
    runs = [(name, facts.load(with_clients(tmp_path / name, seed=2))) for name in ("clean", "killed")]
    for _, one in runs:
        assert availability.panels(one, zero_ns=availability.first_fault_ns(one))[0].faults[0][0] == 0.0
    drawn = availability.side_by_side(runs, "clean and killed")
    ET.fromstring(drawn)
    assert "clean</text>" in drawn
    assert ">-1 s</text>" in drawn
    assert "killed</text>" in drawn
    assert availability.side_by_side([], "nothing") == ""


def test_pauses_of_many_runs_are_put_together(tmp_path: Path) -> None:
    judged = [
        ledger.judged(facts.load(with_clients(tmp_path / name, seed=seed))) for name, seed in (("a", 1), ("b", 2))
    ]
    (cell,) = rows([*(started(line.run) for line in judged), *judged])
    assert [list(cell.clients[name]) for name in ("write_pause_ms", "errors")] == [
        [2, 2000.0, 2000.0, 2000.0],
        [2, 2, 2, 2],
    ]
