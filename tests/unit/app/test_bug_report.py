"""`kafka-chaos museum --report`: what a maintainer is told of a run of an exhibit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app import bug_report
from app.bug_report import logged, report
from app.cli import main
from evidence.errors import UsageError
from evidence.events import Fault, Note, Precondition, Target
from evidence.findings import ClaimResult
from evidence.rundir import RunDir, write_json
from evidence.timeline import Timeline
from harness.scenario import all_scenarios, get_scenario
from judgement.verdict import Verdict
from tests.findings import write
from tests.proofs import proof as proof_of
from tests.records import run_record

SCENARIO = "museum-segment-below-batch"
FACTS = {
    "run": "a-run",
    "scenario": SCENARIO,
    "case": "above",
    "version": "4.3.1",
    "kafka": "4.3.1",
    "mode": "kraft",
    "seed": 3,
    "command": f"kafka-chaos run {SCENARIO} --case above --version 4.3.1 --seed 3",
    "client": "librdkafka",
}
FINDING = {
    "anomaly": "empty-isr",
    "summary": "empty-isr: 1 in t-0",
    "evidence": [{"topic": "t", "isr": []}, {"topic": "t", "isr": [], "second": True}],
}
FAILED = "[2026-11-22T11:40:03.384Z] WARN [ReplicaFetcher replicaId=2] Partition t-0 marked as failed"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    made = RunDir(tmp_path / "a-run")
    made.path.mkdir()
    made.write_run(run_record(FACTS))
    made.findings.parent.mkdir()
    write(made, {"findings": [FINDING]})
    made.logs.mkdir()
    (made.logs / "broker-2.log").write_text(
        f"2026-11-22T11:40:03.385Z {FAILED}\n2026-11-22T11:40:04.000Z INFO all is well\n"
    )
    with Timeline(made.timeline) as timeline:
        whom = Target(role="follower of t-0", node="broker-2")
        about: dict[str, Any] = {"fault_kind": "kill", "id": "f1", "target": whom, "description": "kill -9 of broker-2"}
        timeline.append(Fault(**about, phase="inject"))
        timeline.append(Fault(**about, phase="verified", proof=proof_of("kill")))
        timeline.append(Note(text="asked by request X"))
        timeline.append(Precondition(name="nobody leads", held=True))
    return made


def test_a_run_is_told_with_what_showed_it(run_dir: RunDir) -> None:
    text = report(run_dir)
    assert text.startswith("# KAFKA-17375: after segment.bytes was lowered")
    assert f"    kafka-chaos run {SCENARIO} --case above --version 4.3.1 --seed 3\n" in text
    assert 'kill -9 of broker-2 (verified; proof: {"kind":"kill","exit_code":137,' in text
    assert "(inject" not in text
    assert "asked by request X" in text
    assert "nobody leads: held" in text
    assert "- **empty-isr: 1 in t-0**. The ISR of a partition was empty." in text
    assert ("second" in text) is False
    assert f"    broker-2: {FAILED}\n" in text
    assert "all is well" not in text
    assert "UnifiedLog.append refuses a batch" in text
    assert "\nIt is there since 0.8.2.0 (KAFKA-1670). In 0.8.1.1 Log.append does not compare" in text


def test_a_run_that_does_not_show_the_bug_says_so_and_one_that_does_says_by_what(run_dir: RunDir) -> None:
    claim = ClaimResult(name="stays-out", definition="It stays out.", observed="1 replica out", outcome="held")
    other = replace(claim, name="returns", outcome="not-observed")
    write_json(run_dir.verdict, Verdict(verdict="as-documented", claims=(claim, other)).as_json())
    write(run_dir, {})
    compared = "This run is there to compare: it does not show the bug. The batch fits into a segment"
    assert compared in report(run_dir)
    run_dir.write_run(run_record(FACTS | {"case": "blank-disk"}))
    text = report(run_dir)
    assert "there to compare" not in text
    assert "- **stays-out**: 1 replica out. It stays out.\n" in text
    assert "**returns**" not in text
    run_dir.verdict.unlink()
    assert "\nNothing.\n" in report(run_dir)


def test_of_many_lines_the_first_are_told(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bug_report, "MOST_LINES", 1)
    (run_dir.logs / "broker-1.log").write_text(f"2026-11-22T11:40:03.385Z {FAILED}\n" * 3)
    exhibit = get_scenario(SCENARIO).exhibit
    assert exhibit is not None
    assert list(logged(exhibit.bug, run_dir)) == [("broker-1", FAILED), ("broker-2", FAILED)]


def test_what_is_no_judged_run_of_an_exhibit_is_bad_input(run_dir: RunDir) -> None:
    run_dir.findings.unlink()
    with pytest.raises(UsageError, match=r"it was not judged; run `kafka-chaos check"):
        report(run_dir)
    run_dir.write_run(run_record(FACTS | {"scenario": "baseline"}))
    with pytest.raises(UsageError, match="baseline is no exhibit of the museum"):
        report(run_dir)


def test_the_command_prints_it(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "--report", str(run_dir.path)]) == 0
    assert capsys.readouterr().out.startswith("# KAFKA-17375")
    assert main(["museum", "--report", str(run_dir.path / "nothing")]) == 254


def test_every_bug_that_nobody_fixed_says_where_it_is() -> None:
    exhibits = [made.exhibit for made in all_scenarios().values() if made.exhibit is not None]
    still = [one.bug for one in exhibits if not one.bug.fixed]
    assert len(still) >= 4
    assert [bug.id for bug in still if not bug.code or not bug.log_patterns] == []
