"""Runs that earlier code made on real brokers are judged as they were judged then.

`tests/data/runs` holds run directories made at 722cb84 (schema 1), without what a person reads: logs, configuration,
reports. Each has the findings and the verdict that it was given then; tests/convert.py converts its files.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from analysis.check import check_run
from evidence.findings import Findings, write_findings
from evidence.rundir import RunDir
from judgement.report.facts import judge_run
from tests import convert
from tests.findings import findings

RUNS = sorted((Path(__file__).parents[2] / "data" / "runs").glob("*.tar.xz"))


def outline(found: Findings) -> list[tuple[Any, ...]]:
    """What was found where and how often, of which records at which offsets, by whom and when."""
    return [
        (
            one.anomaly,
            one.where,
            one.count,
            [
                (set(row.records), row.offset, row.process, row.node, row.moment, row.completed_ns)
                for row in one.evidence
            ],
        )
        for one in found.findings
    ]


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> RunDir:
    with tarfile.open(request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    made = RunDir(tmp_path)
    convert.run_dir(made.path)
    return made


@pytest.mark.parametrize("old", RUNS, indirect=True, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_an_old_run_is_judged_as_before(old: RunDir) -> None:
    before = findings(json.loads(old.findings.read_text()))
    judged = json.loads(old.verdict.read_text())
    anew = check_run(old)
    write_findings(old, anew)
    assert outline(anew) == outline(before)
    assert anew.problems == before.problems
    assert {check.name for check in before.checks} <= {check.name for check in anew.checks if check.status == "ok"}
    again = judge_run(old).verdict.as_json()
    told = ("verdict", "documented", "seen", "unexpected", "missing", "permitted", "reasons", "exit_status")
    assert {name: json.loads(json.dumps(again[name])) for name in told} == {name: judged[name] for name in told}
    claims = [[(one["name"], one["outcome"]) for one in verdict["claims"]] for verdict in (again, judged)]
    assert claims[0] == claims[1]


def test_there_are_old_runs() -> None:
    assert len(RUNS) == 9
