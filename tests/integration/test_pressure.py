"""CPU and memory pressure on real brokers: each is proved and put back as it was, and noticed if it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evidence.events import Fault, Precondition
from evidence.faults.pressure import CpuPressureProof, MemoryPressureProof
from evidence.run import DEFAULT_CASE
from evidence.timeline import read
from harness.cluster import versions
from harness.faults.cgroups import group_of
from harness.faults.pressure import Pressure
from harness.plan import ClusterPlan, TopicPlan
from harness.run import Run, Target
from harness.runner import Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from tests.records import STATED, steps_ended

pytestmark = pytest.mark.docker

SHARE = 0.05
SPARE = 64 << 20
LIMITS = {"cpu": ("cpu.cfs_quota_us", "cpu.max"), "memory": ("memory.limit_in_bytes", "memory.high")}


def limits(target: Target) -> dict[str, str]:
    """What the kernel has as a node's limits, by file."""
    lines = Path(f"/proc/{target.node.state()['Pid']}/cgroup").read_text()
    files = [group_of(lines, controller) / name for controller, names in LIMITS.items() for name in names]
    return {file.name: file.read_text().strip() for file in files if file.exists()}


def steps(run: Run) -> None:
    t = run.partition()
    a, b = run.followers_of(t)
    before = {target.id: limits(target) for target in (a, b)}
    run.send(t, 3)
    run.squeeze_cpu(a, SHARE)
    run.squeeze_memory(b, SPARE)
    run.squeeze_memory(a, SPARE)
    squeezed = {target.id: limits(target) for target in (a, b)}
    run.require(
        "both are limited", all(squeezed[one] != before[one] for one in before), before=before, squeezed=squeezed
    )
    run.send(t, 3)
    run.heal_pressure()
    run.heal_pressure()
    after = {target.id: limits(target) for target in (a, b)}
    run.require("the limits are as they were", after == before, before=before, after=after)
    run.wait_isr(t, run.replicas_of(t))

    run.squeeze_cpu(b, SHARE)
    run.squeeze_memory(b, SPARE)
    run.kill(b)
    run.start(b)
    run.require("a node that is started again has no limit of ours", limits(b) == before[b.id], limits=limits(b))
    run.heal_pressure()
    run.require("its heal changes nothing", limits(b) == before[b.id], limits=limits(b))
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 1)


PRESSURE = Scenario(
    name="pressure",
    claim="CPU and memory pressure take effect and heal.",
    source="this test",
    operator="",
    cluster=ClusterPlan(),
    topic=TopicPlan(),
    cases={DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
    steps=steps,
)


def test_pressure_is_proved_and_put_back_as_it_was(tmp_path: Path) -> None:
    request = Request(scenario=PRESSURE, version=versions.get("4.3.1"), root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    run, reading = finished.run_dir.read_run(), read(finished.run_dir.timeline)
    assert run.state == "complete", run.failure
    assert [event.name for event in reading.of(Precondition) if not event.held] == []
    faults = reading.of(Fault)
    kinds = ["cpu-pressure", "memory-pressure", "memory-pressure"]
    assert [event.fault_kind for event in faults if event.phase == "verified"] == [
        *kinds,
        "cpu-pressure",
        "memory-pressure",
        "kill",
        "start",
    ]
    assert [event.fault_kind for event in faults if event.phase == "healed"] == [
        *reversed(kinds),
        "memory-pressure",
        "cpu-pressure",
    ]
    for proof in (event.proof for event in faults if event.phase == "verified"):
        if isinstance(proof, CpuPressureProof):
            assert proof.quota_us == SHARE * proof.period_us
        elif isinstance(proof, MemoryPressureProof):
            assert proof.used_bytes <= proof.limit_bytes <= proof.held_bytes + SPARE


def squeezed_cpu(run: Run) -> None:
    run.squeeze_cpu(run.leader_of(run.partition()), SHARE)


def squeezed_memory(run: Run) -> None:
    run.squeeze_memory(run.leader_of(run.partition()), SPARE)


@pytest.mark.parametrize(
    ("sequence", "seen"),
    [(squeezed_cpu, ", not 5000"), (squeezed_memory, ", not ")],
    ids=["CPU", "memory"],
)
def test_pressure_that_does_nothing_is_noticed(
    sequence: Callable[[Run], None], seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pressure, "_set", lambda *_: None)
    scenario = replace(PRESSURE, name="sabotaged-pressure", steps=sequence)
    finished = execute(Request(scenario=scenario, version=versions.get("4.3.1"), root=tmp_path), echo=lambda _: None)
    finished.removals.wait()
    unproved = [event for event in read(finished.run_dir.timeline).of(Fault) if event.phase == "unproved"]
    assert [seen in event.seen for event in unproved] == [True]
    assert seen in steps_ended(finished.run_dir)
