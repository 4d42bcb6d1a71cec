"""Brokers with one method changed: each change can be made to the released jars, and a run of one is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.rundir import find_runs
from pages import example_runs
from tests.mutants import image, registry
from tests.mutants.carry_out import carry_out
from tests.mutants.registry import Where
from tests.mutants.rows import NOTICED, told

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


@pytest.mark.parametrize("release", registry.RELEASES)
def test_every_change_can_be_made(release: str) -> None:
    assert image.unmade(release, print) == []


def test_a_method_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = registry.before("kafka.cluster.Partition", "makeLeadr", "return;")
    mutant = registry.Mutant(name="m", broken="B.", owed="o", tells=(), where=(), changes={"4.3.1": (wrong,)})
    monkeypatch.setattr(image, "MUTANTS", (mutant,))
    (line,) = image.unmade("4.3.1", print)
    assert "MUTANT m failed: kafka.cluster.Partition" in line


def test_truncation_as_before_kip_101_is_noticed(tmp_path: Path) -> None:
    row = carry_out(
        registry.get("truncates-to-high-watermark"),
        Where(scenario="double-failover"),
        "4.3.1",
        seed=1,
        root=tmp_path,
        timeout_s=240,
        echo=print,
    )
    assert row.hits
    assert row.verdict == "unexpected"
    assert row.outcome == NOTICED
    assert "lost-write" in told(row)
    (run_dir,) = find_runs(tmp_path)
    assert run_dir.read_run().mutant == "truncates-to-high-watermark"
    assert not example_runs.gather([run_dir]).runs, "a run of a mutant is counted as one of Kafka"
