"""Runs that earlier code made on real brokers are judged as they were judged then.

`tests/data/runs` holds run directories made at ff22bf4 (before events were typed, cases and claims), without what a
person reads: logs, configuration, reports, and the streams that were sealed. Each has the findings and the verdict that
it was given then.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.check import check_run
from evidence.rundir import RunDir, write_json
from judgement.report.facts import judge_run
from tests import convert

RUNS = sorted((Path(__file__).parents[2] / "data" / "runs").glob("*.tar.xz"))


def outline(findings: Mapping[str, Any], like: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """What was found where and how often, with the evidence, in the columns that `like` has."""
    told = []
    for found, before in zip(findings["findings"], like["findings"], strict=True):
        rows = zip(found["evidence"], before["evidence"], strict=True)
        evidence = [{name: row[name] for name in known} for row, known in rows]
        told.append((found["anomaly"], found["topic"], found["partition"], found["count"], evidence))
    return told


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> RunDir:
    with tarfile.open(request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    made = RunDir(tmp_path)
    made.timeline.write_text("\n".join(convert.timeline(made.timeline.read_text().split("\n"))))
    return made


@pytest.mark.parametrize("old", RUNS, indirect=True, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_an_old_run_is_judged_as_before(old: RunDir) -> None:
    findings = json.loads(old.findings.read_text())
    judged = json.loads(old.verdict.read_text())
    write_json(old.findings, check_run(old))
    anew = json.loads(old.findings.read_text())
    assert outline(anew, like=findings) == outline(findings, like=findings)
    assert anew["problems"] == findings["problems"]
    assert {check["name"] for check in findings["checks"]} <= {c["name"] for c in anew["checks"] if c["status"] == "ok"}
    again = judge_run(old).verdict.as_json()
    told = ("verdict", "documented", "seen", "unexpected", "missing", "permitted", "reasons", "exit_status")
    assert {name: again[name] for name in told} == {name: judged[name] for name in told}


def test_there_are_old_runs() -> None:
    assert len(RUNS) == 5
