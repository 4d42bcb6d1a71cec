"""`kafka-chaos audit --prove` on real brokers: a bundled example through one fault, and what the answer says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import cli
from evidence.rundir import RunDir

pytestmark = [pytest.mark.docker, pytest.mark.spark]
EXAMPLE = Path(__file__).parents[2] / "audit/examples/spring-2.8"
FAULT = "leader-crash-behind"


def test_the_spring_default_is_proved_and_agrees_with_the_matrix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", str(EXAMPLE), "--prove", "--faults", FAULT, "--runs-dir", str(tmp_path), "--format", "json"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    assert "to prove: 1 run, 1 at a time" in said.err
    rows = json.loads(said.out)["producers"]
    assert [row["cases"][0]["producer"]["acks"]["value"] for row in rows] == ["1", "0"]
    for row in rows:
        (case,) = row["cases"]
        (proof,) = case["proved"]["runs"]
        assert proof["why_not"] is None
        assert (proof["fault"], proof["brokers"], proof["client_release"]) == (FAULT, "2.8.2", "2.8.2")
        assert proof["as_stated"], proof
        # With several in flight the last two records may change places, which none of the cell's runs shows.
        assert proof["agrees"] or proof["counts"]["reordered"], proof
        assert proof["counts"]["lost"] >= 7
        assert FAULT in {one["fault"] for one in case["findings"]}
    (run_dir,) = {row["cases"][0]["proved"]["runs"][0]["run_dir"] for row in rows}
    run = RunDir(Path(run_dir)).read_run()
    assert [one.own for one in run.subjects] == [{}, {"acks": "0", "retries": "3"}]
    assert [one.client_release for one in run.subjects] == ["2.8.2", "2.8.2"]
    # Nothing of the configuration's own names, and a second time nothing is run again.
    assert "shipments" not in Path(run_dir, "run.json").read_text()
    assert cli.main(words) == 0
    assert "finished already" in capsys.readouterr().err
