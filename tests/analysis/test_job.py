"""The Spark job: the same findings as without Spark, for many runs in one application, and one that serves."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.check import check_run
from analysis.job import FROZEN_FROM, answer_for, check_all, check_runs, main, warm_up
from analysis.spark import archive_path, open_context
from evidence.errors import EXIT_USAGE, HarnessError, UsageError
from evidence.history.seal import seal_run
from tests.findings import timeless
from tests.unit.analysis.runs import make_run
from tests.unit.analysis.test_indefinite import PASSED, UNKNOWN
from tests.unit.checks.histories import final_read, polled, sent

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

LOSS = {"producer-1": [sent(0, 0), sent(1, 1)], "final-read-1": [polled(0, 0), final_read(2)]}
SOUND = {"producer-1": [sent(0, 0)], "final-read-1": [polled(0, 0), final_read(1)]}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    context = open_context("local[2]", str(tmp_path_factory.mktemp("spark")))
    yield context
    context.stop()


def test_an_application_on_another_master_is_not_handed_out(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"on local\[2\] still; none is begun on local\[1\]"):
        open_context("local[1]", str(tmp_path))
    assert spark.parallelize([1]).count() == 1, "the one that is there goes on"


def test_spark_finds_what_one_process_finds(spark: Any, tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "loss", LOSS, partitions=5), make_run(tmp_path / "sound", SOUND)]
    found = check_runs(spark, runs)
    assert list(found) == [str(run.path) for run in runs]
    for run in runs:
        here = timeless(check_run(run))
        there = timeless(found[str(run.path)])
        assert here.problems == there.problems
        assert here.findings == there.findings
        assert here.statistics == there.statistics
        assert here.checks == there.checks
    assert [finding.anomaly for finding in found[str(runs[0].path)].findings] == ["lost-write"]


def test_the_collector_of_a_worker_is_spared_what_tasks_leave_behind(spark: Any) -> None:
    warm_up(spark)
    seen = spark.parallelize(range(8), 8).map(lambda _: (gc.get_freeze_count(), len(gc.get_objects()))).collect()
    assert all(frozen > FROZEN_FROM and left < 2 * FROZEN_FROM for frozen, left in seen)


def test_what_a_read_proves_reaches_the_tasks_of_other_partitions(spark: Any, tmp_path: Path) -> None:
    unknown = {"producer-1": UNKNOWN, "reader-1": [polled(0, 0), PASSED]}
    runs = [
        make_run(tmp_path / "sound", SOUND),
        make_run(tmp_path / "unknown", unknown, partitions=2),
        make_run(tmp_path / "unread", unknown | {"reader-1": [PASSED]}, partitions=2),
    ]
    found = [findings.findings for findings in check_runs(spark, runs).values()]
    assert found == [check_run(run).findings for run in runs]
    assert ("lost-write", 1) in [(one.anomaly, one.partition) for one in found[1]]
    assert found[2] == ()


def test_serving_answers_every_line_and_survives_a_bad_one(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "loss", LOSS)
    lines = f"{tmp_path / 'nothing'}\n\n{run_dir.path}\n"
    result = subprocess.run(
        [sys.executable, "-m", "analysis.job", "--serve"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    ready, bad, good = (json.loads(line) for line in result.stdout.splitlines())
    assert ready == {"ready": True}
    assert "no such run directory" in bad["error"]
    assert good["findings"] == 1
    assert json.loads(run_dir.findings.read_text())["findings"][0]["anomaly"] == "lost-write"


def test_findings_are_written_and_printed_for_every_run(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run(tmp_path / "loss", LOSS), make_run(tmp_path / "sound", SOUND)]
    check_all(spark, [str(run.path) for run in runs], as_json=True)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["run_dir"] for one in printed] == [str(run.path) for run in runs]
    for run, one in zip(runs, printed, strict=True):
        assert json.loads(run.findings.read_text()) == {key: one[key] for key in one if key != "run_dir"}


def test_a_run_cut_short_is_judged_and_its_problems_are_told(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", LOSS)
    stream = run.stream("final-read-1")
    stream.write_bytes(stream.read_bytes()[:-100])
    run.timeline.write_bytes(run.timeline.read_bytes()[:-20])
    (findings,) = check_runs(spark, [run]).values()
    problems = [problem.what for problem in findings.problems]
    assert {"recorder died", "damaged timeline"} <= set(problems)
    assert len(problems) == len(set(findings.problems))
    assert {check.status for check in findings.checks} == {"ok"}


def test_a_sealed_history_that_is_damaged_is_read_from_its_stream_or_told(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", LOSS)
    seal_run(run)
    sealed = run.sealed_partition("t", 0, "producer-1")
    sealed.write_bytes(sealed.read_bytes()[:50])
    (whole,) = check_runs(spark, [run]).values()
    assert ([one.anomaly for one in whole.findings], whole.problems) == (["lost-write"], ())
    run.stream("producer-1").unlink()
    (gone,) = check_runs(spark, [run]).values()
    assert {"damaged history", "empty history"} <= {problem.what for problem in gone.problems}


def test_a_directory_that_is_not_a_run_any_more_spoils_no_other(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", LOSS)
    facts = json.loads(run.run_json.read_text())
    run.run_json.write_text(json.dumps(facts | {"schema": 99}))
    with pytest.raises(UsageError, match="its schema is 99"):
        check_runs(spark, [run])
    assert "its schema is 99" in answer_for(spark, str(run.path))["error"]
    run.run_json.write_text(json.dumps(facts | {"topics": [{"name": "t"}]}))
    assert "partitions" in answer_for(spark, str(run.path))["error"]
    run.run_json.write_text(json.dumps(facts))
    assert answer_for(spark, str(run.path))["findings"] == 1


def test_a_temporary_directory_with_a_space_spoils_nothing(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "loss", LOSS)
    place = tmp_path / "a place ü"
    place.mkdir()
    command = [sys.executable, "-m", "analysis.job", str(run_dir.path)]
    environment = os.environ | {"TMPDIR": str(place), "KAFKA_CHAOS_CACHE": str(place)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "1 anomalies" in result.stdout


def test_an_archive_belongs_to_one_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    (tmp_path / "release").write_text("JAVA_VERSION=17")
    one = archive_path(str(tmp_path))
    assert one.parent == tmp_path / "spark"
    (tmp_path / "release").write_text("JAVA_VERSION=21")
    assert archive_path(str(tmp_path)) != one


def test_bad_input_is_one_line_and_the_right_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing")]) == EXIT_USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1
