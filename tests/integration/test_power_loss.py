"""Power loss on real brokers: proved by what the disks hold, sabotaged, and nothing of it left mounted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from evidence.events import Fault, Precondition
from evidence.run import DEFAULT_CASE
from evidence.timeline import read
from harness.cluster import versions
from harness.cluster.disks import SYNCED, Disk, DiskMounter, loops_below, mounted_below
from harness.faults.power import UNSYNCED
from harness.plan import ClusterPlan, Disks, TopicPlan
from harness.polling import poll
from harness.run import Run
from harness.runner import Finished, Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from tests.proofs import shown
from tests.records import STATED, steps_ended

pytestmark = pytest.mark.docker
LIMIT_S = 60.0


def of(steps: Callable[[Run], None]) -> Scenario:
    """A scenario of these steps, on two brokers with disks of their own."""
    return Scenario(
        name="power-loss",
        claim="A disk that loses power has what was flushed to it, and not what was not.",
        source="this test",
        operator="",
        cluster=ClusterPlan(brokers=(1, 2), disks=Disks()),
        topic=TopicPlan(replicas=((1, 2),), settings={"min.insync.replicas": "2"}),
        cases={DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
        steps=steps,
    )


def carried_out(steps: Callable[[Run], None], version: str, root: Path) -> Finished:
    finished = execute(Request(scenario=of(steps), version=versions.get(version), root=root), echo=lambda _: None)
    finished.removals.wait()
    assert mounted_below(root.resolve()) == []
    assert loops_below(root.resolve()) == {}
    return finished


def both_lose_power(run: Run) -> None:
    t = run.partition()
    one, two = run.replicas_of(t)
    run.send(t, 3)
    run.flush_disks()
    run.send(t, 5)
    run.lose_power(one, two)
    ends = [run.log_end_and_high_watermark(each, t)[0] for each in (one, two)]
    run.require("both disks have what was flushed, and no more", ends == [3, 3], ends=ends)
    for each in (one, two):
        place = run.cluster.disks[each.node.name].mount
        run.require("the files of the proof", (place / SYNCED).exists() and not (place / UNSYNCED).exists())
    run.start(one, two)
    run.wait_isr(t, [one, two])
    run.send(t, 2)
    run.flush_log(t, [two])
    run.lose_power(two)
    run.start(two)
    run.wait_isr(t, [one, two])
    run.send(t)


@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_what_was_not_flushed_is_gone_from_both_disks_at_once(version: str, tmp_path: Path) -> None:
    finished = carried_out(both_lose_power, version, tmp_path)
    reading = read(finished.run_dir.timeline)
    assert finished.run_dir.read_run().state == "complete", finished.run_dir.read_run().failure
    assert [(one.name, one.held) for one in reading.of(Precondition) if not one.held] == []
    losses = [e for e in reading.of(Fault) if e.fault_kind == "power-loss"]
    assert [e.phase for e in losses] == ["inject", "inject", "verified", "verified", "inject", "verified"]
    first, second, third = (shown(e.proof) for e in losses if e.phase == "verified")
    for proof in (first, second):
        assert (proof["replicas"]["t-0"]["written"], proof["replicas"]["t-0"]["held"]) == (8, 3)
    assert third["replicas"]["t-0"]["written"] == third["replicas"]["t-0"]["held"] == 5


def nobody_shuts_down(self: DiskMounter, disks: Iterable[Disk]) -> None:
    """A shutdown that does nothing."""


def test_a_shutdown_that_does_nothing_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiskMounter, "shut_down", nobody_shuts_down)
    finished = carried_out(both_lose_power, "4.3.1", tmp_path)
    unproved = [e for e in read(finished.run_dir.timeline).of(Fault) if e.phase == "unproved"]
    assert "took a new file after it was shut down" in unproved[0].seen
    assert steps_ended(finished.run_dir) != "True"


def test_clean_unmounts_what_a_killed_doctor_had_mounted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app.cli"]
    with subprocess.Popen(
        [*command, "doctor"], env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL
    ) as doctor:
        try:
            assert poll(lambda: mounted_below(tmp_path.resolve()), LIMIT_S), "doctor mounted nothing"
        finally:
            doctor.kill()
    assert loops_below(tmp_path.resolve())
    subprocess.run([*command, "clean", "--runs-dir", str(tmp_path)], check=True, timeout=LIMIT_S)
    assert mounted_below(tmp_path.resolve()) == []
    assert loops_below(tmp_path.resolve()) == {}
