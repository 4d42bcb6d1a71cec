"""From a run directory to its verdict and reports, whatever becomes of the analysis."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evidence import timeline
from evidence.errors import HarnessError
from evidence.rundir import RunDir
from judgement.judge import AnalysisServer, judge
from judgement.report import console, facts, story, witnesses
from judgement.verdict import read_verdict
from tests.unit.judgement.report import synthetic

SERVE = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    if "crash" in line:
        print("java.lang.OutOfMemoryError", file=sys.stderr, flush=True)
        sys.exit(3)
    print(json.dumps({"run_dir": line.strip(), "error": "no disk" if "ill" in line else None}), flush=True)
"""


@pytest.fixture
def analyst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An application that answers as the analysis does, without Spark."""
    (tmp_path / "module" / "analysis").mkdir(parents=True)
    (tmp_path / "module" / "analysis" / "__init__.py").touch()
    (tmp_path / "module" / "analysis" / "job.py").write_text(SERVE)
    monkeypatch.chdir(tmp_path / "module")
    with AnalysisServer(lazy=True) as made:
        yield made


def a_run(root: Path, name: str) -> RunDir:
    root.mkdir(parents=True, exist_ok=True)
    run_dir = synthetic.double_failover_lost(root)
    return RunDir(run_dir.path.rename(root / name))


def test_a_run_is_judged_and_its_reports_written(analyst: AnalysisServer, tmp_path: Path) -> None:
    run_dir = a_run(tmp_path, "run")
    judged = judge(run_dir, analyst).verdict
    assert judged.verdict == "as-documented"
    assert read_verdict(run_dir) == judged
    assert run_dir.report.exists()
    assert run_dir.junit.exists()


@pytest.mark.parametrize(("name", "why"), [("ill", "no disk"), ("crash", "OutOfMemoryError")])
def test_an_analysis_that_fails_makes_the_run_unknown(
    name: str, why: str, analyst: AnalysisServer, tmp_path: Path
) -> None:
    run_dir = a_run(tmp_path, name)
    judged = judge(run_dir, analyst).verdict
    assert judged.verdict == "unknown"
    assert any(why in reason for reason in judged.reasons)
    assert not run_dir.findings.exists()
    assert run_dir.report.exists()


def test_files_are_read_once_for_all_reports(
    analyst: AnalysisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = synthetic.with_files(synthetic.double_failover_lost(tmp_path))
    calls: Counter[str] = Counter()

    def counted(module: object, name: str) -> None:
        original = getattr(module, name)

        def call(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    for module, name in ((timeline, "read"), (facts, "read_findings"), (witnesses, "read_replica"), (story, "grouped")):
        counted(module, name)
    counted(RunDir, "read_run")
    judged = judge(run_dir, analyst)
    assert "m3 is gone from its disk" in console.run_summary(judged)
    assert "m3 is gone from its disk" in run_dir.report.read_text()
    assert "m3 is gone from its disk" in run_dir.junit.read_text()
    copies = len(list(run_dir.replicas.glob("*/*/t-0")))
    findings = len(judged.everything_found)
    assert calls == {"read": 1, "read_run": 2, "read_findings": 1, "read_replica": copies, "grouped": findings}


def test_an_application_that_has_ended_is_told_again_and_again(analyst: AnalysisServer, tmp_path: Path) -> None:
    run_dir = a_run(tmp_path, "crash")
    for _ in range(2):
        with pytest.raises(HarnessError, match="the analysis has ended"):
            analyst.check(run_dir)


def test_one_that_was_never_started_is_closed_all_the_same() -> None:
    AnalysisServer(lazy=True).close()
