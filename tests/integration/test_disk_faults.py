"""Faults of disks on real brokers: each is proved, and noticed if it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evidence.events import Fault, Precondition
from evidence.run import DEFAULT_CASE
from evidence.timeline import read
from harness.cluster import versions
from harness.plan import ClusterPlan, Disks, TopicPlan
from harness.run import Run
from harness.runner import Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from scenarios.durability.disk_full import GIVES_UP
from tests.records import STATED, steps_ended

pytestmark = pytest.mark.docker


def steps(run: Run) -> None:
    t = run.partition()
    one, two, three = run.replicas_of(t)
    run.send(t, 3)
    run.wait_high_watermark(t, 3, [three])
    run.slow_disk(two, 100_000)
    run.heal_disks()

    run.kill(three)
    run.flip_record(three, t, 1)
    run.tear_tail(three, t)
    run.extend_by_zeros(three, t, 5000)
    run.cut_checkpoint(three, left=0)
    run.start(three)
    run.wait_isr(t, [one, two, three])

    run.fill_disk(three)
    run.expect_exit(three, GIVES_UP)
    run.heal_disks()
    run.start(three)
    run.wait_isr(t, [one, two, three])
    run.flush_disks(three)
    run.fail_disk(three)
    run.expect_exit(three, GIVES_UP)
    run.heal_disks()
    run.start(three)
    run.wait_isr(t, [one, two, three])
    run.make_disk_read_only(three)
    run.expect_exit(three, GIVES_UP)
    run.heal_disks()
    run.start(three)
    run.wait_isr(t, [one, two, three])
    run.send(t, 1)


DISK_FAULTS = Scenario(
    name="disk-faults",
    claim="Every fault of disks takes effect and heals.",
    source="this test",
    operator="",
    cluster=ClusterPlan(disks=Disks()),
    topic=TopicPlan(),
    cases={DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
    steps=steps,
)


@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_every_fault_of_disks_is_proved_and_heals(version: str, tmp_path: Path) -> None:
    request = Request(scenario=DISK_FAULTS, version=versions.get(version), root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    run, reading = finished.run_dir.read_run(), read(finished.run_dir.timeline)
    assert run.state == "complete", run.failure
    assert all(event.held for event in reading.of(Precondition))
    phases = [(event.fault_kind, event.phase) for event in reading.of(Fault)]
    assert [fault for fault, phase in phases if phase == "verified"] == [
        "slow-disk",
        "kill",
        "flip",
        "resize",
        "resize",
        "resize",
        "start",
        "disk-full",
        "exit",
        "start",
        "disk-failure",
        "exit",
        "start",
        "disk-read-only",
        "exit",
        "start",
    ]
    assert [fault for fault, phase in phases if phase == "healed"] == [
        "slow-disk",
        "disk-full",
        "disk-failure",
        "disk-read-only",
    ]


def flipped(run: Run) -> None:
    run.send(run.partition(), 1)
    run.flip_record(run.leader_of(run.partition()), run.partition(), 0)


def torn(run: Run) -> None:
    run.send(run.partition(), 1)
    follower, _ = run.followers_of(run.partition())
    run.kill(follower)
    run.tear_tail(follower, run.partition())


def filled(run: Run) -> None:
    run.fill_disk(run.leader_of(run.partition()))


def failed(run: Run) -> None:
    run.fail_disk(run.leader_of(run.partition()))


def made_read_only(run: Run) -> None:
    run.make_disk_read_only(run.leader_of(run.partition()))


def slowed(run: Run) -> None:
    run.slow_disk(run.leader_of(run.partition()), 4096)


@pytest.mark.parametrize(
    ("sequence", "sabotaged", "seen"),
    [
        (flipped, "harness.faults.damage.Flip._write", "to be flipped was the one at"),
        (torn, "harness.faults.damage.os.truncate", " bytes, not "),
        (filled, "harness.faults.bad_disks.fill", "took what was written"),
        (failed, "harness.cluster.disks.DiskMounter.shut_down", "took a new file"),
        (made_read_only, "harness.cluster.disks.DiskMounter.make_read_only", "took a new file"),
        (slowed, "harness.faults.slow_disk.SlowDisk._limit", "it is not slow"),
    ],
    ids=["a bit", "a torn tail", "a full disk", "a broken disk", "a read-only disk", "a slow disk"],
)
def test_a_fault_of_disks_that_does_nothing_is_noticed(
    sequence: Callable[[Run], None], sabotaged: str, seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sabotaged, lambda *_: 0)
    scenario = replace(DISK_FAULTS, name="sabotaged-disk-fault", steps=sequence)
    finished = execute(Request(scenario=scenario, version=versions.get("0.10.2.2"), root=tmp_path), echo=lambda _: None)
    finished.removals.wait()
    unproved = [event for event in read(finished.run_dir.timeline).of(Fault) if event.phase == "unproved"]
    assert [seen in event.seen for event in unproved] == [True]
    assert seen in steps_ended(finished.run_dir)
