"""The Spark job: the same findings as without Spark, for many runs in one application, and one that serves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.check import check_run
from analysis.job import check_runs, main, open_session
from harness.errors import EXIT_USAGE
from tests.unit.analysis.histories import final_read, polled, sent
from tests.unit.analysis.runs import make_run

pytestmark = pytest.mark.spark

LOSS = {"producer-1": [sent(0, 0), sent(1, 1)], "final-read-1": [polled(0, 0), final_read(2)]}
SOUND = {"producer-1": [sent(0, 0)], "final-read-1": [polled(0, 0), final_read(1)]}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = open_session("local[2]", str(tmp_path_factory.mktemp("spark")))
    yield session
    session.stop()


def without_times(findings: dict[str, Any]) -> dict[str, Any]:
    checks = [{key: value for key, value in check.items() if key != "seconds"} for check in findings["checks"]]
    return findings | {"seconds": 0, "checks": sorted(checks, key=lambda check: str(check["name"]))}


def test_spark_finds_what_one_process_finds(spark: Any, tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "loss", LOSS, partitions=5), make_run(tmp_path / "sound", SOUND)]
    found = check_runs(spark, runs)
    assert list(found) == [str(run.path) for run in runs]
    for run in runs:
        here = without_times(check_run(run))
        there = without_times(found[str(run.path)])
        assert sorted(map(str, here["problems"])) == sorted(map(str, there["problems"]))
        assert here["findings"] == there["findings"]
        assert here["statistics"] == there["statistics"]
        assert here["checks"] == there["checks"]
    assert [finding["anomaly"] for finding in found[str(runs[0].path)]["findings"]] == ["lost-write"]


def test_serving_answers_every_line_and_survives_a_bad_one(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "loss", LOSS)
    lines = f"{tmp_path / 'nothing'}\n\n{run_dir.path}\n"
    result = subprocess.run(
        [sys.executable, "-m", "analysis.job", "--serve"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    ready, bad, good = (json.loads(line) for line in result.stdout.splitlines())
    assert ready == {"ready": True}
    assert "no such run directory" in bad["error"]
    assert good["findings"] == 1
    assert json.loads(run_dir.findings.read_text())["findings"][0]["anomaly"] == "lost-write"


def test_bad_input_is_one_line_and_the_right_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing")]) == EXIT_USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1
