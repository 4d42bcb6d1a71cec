"""CPU and memory pressure: what is written where, the proofs, each sabotaged fault, and that the heal puts it back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from evidence.errors import FaultUnproved, HarnessError, UsageError
from harness.cluster.docker import Node
from harness.faults import pressure
from harness.faults.pressure import CpuPressure, MemoryPressure, Pressure
from tests.proofs import shown

MIB = 1 << 20
USED, CACHED, SPARE = 400 * MIB, 300 * MIB, 32 * MIB
LIMIT = 132 * MIB


class FakeNode:
    """A container and the kernel's files of its control group: what asks for more gets what the limit leaves."""

    name = "broker-1"

    def __init__(self, group: Path, *, newer: bool) -> None:
        self.group, self.newer = group, newer
        self.running, self.oom_killed, self.fails = True, False, False
        self.commands: list[str] = []
        self.limited, self.kills, self.counts = True, 0, True
        self.now_ns = 0
        self.used_us, self.throttled, self.met, self.killed = 1_000_000, 3, 5, 0
        self.used, self.cached = USED, CACHED
        if newer:
            self.write("cpu.max", "max 100000\n")
            self.write("memory.high", "max\n")
        else:
            self.write("cpu.cfs_quota_us", "-1\n")
            self.write("cpu.cfs_period_us", "100000\n")
            self.write("memory.limit_in_bytes", f"{1024 * MIB}\n")
        self.count()

    def write(self, name: str, text: str) -> None:
        (self.group / name).write_text(text)

    def count(self) -> None:
        cached, inactive = self.cached, 7
        if self.newer:
            stat = (
                f"usage_usec {self.used_us}\nnr_throttled {self.throttled}\nthrottled_usec {self.throttled * 90_000}\n"
            )
            self.write("memory.stat", f"active_file {cached - inactive}\ninactive_file {inactive}\n")
            self.write("memory.current", f"{self.used}\n")
            self.write("memory.events", f"high {self.met}\noom_kill {self.killed}\n")
        else:
            stat = f"nr_throttled {self.throttled}\nthrottled_time {self.throttled * 90_000_000}\n"
            self.write("cpuacct.usage", f"{self.used_us * 1000}\n")
            self.write("memory.stat", f"total_active_file {cached - inactive}\ntotal_inactive_file {inactive}\n")
            self.write("memory.usage_in_bytes", f"{self.used}\n")
            self.write("memory.failcnt", f"{self.met}\n")
            self.write("memory.oom_control", f"under_oom 0\noom_kill {self.killed}\n")
        self.write("cpu.stat", f"nr_periods 1\n{stat}")
        self.write("memory.pressure", f"some avg10=0.00 avg60=0.00 avg300=0.00 total={self.met * 100}\nfull total=1\n")

    def state(self) -> dict[str, Any]:
        return {"Pid": "self", "Running": self.running, "OOMKilled": self.oom_killed}

    def run_inside(self, *command: str) -> str:
        self.commands.append(command[-1])
        if self.fails:
            raise HarnessError("broker-1: sh ended with 137")
        if read := re.search(r"truncate -s (\d+)", command[-1]):
            room = int((self.group / self._memory()).read_text()) if self.limited else 1 << 40
            wanted = self.used + int(read[1])
            self.used = min(wanted, room)
            self.cached = self.used - (USED - CACHED)
            self.met += 900 if wanted > room and self.counts else 0
            self.killed += self.kills
        elif command[-1].startswith("timeout"):
            self.now_ns += 2_400_000_000
            self.used_us += 120_000 if self.limited else 2_000_000
            self.throttled += 24 if self.limited and self.counts else 0
        self.count()
        return ""

    def _memory(self) -> str:
        return "memory.high" if self.newer else "memory.limit_in_bytes"


@pytest.fixture(params=[False, True], ids=["v1", "v2"])
def node(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    fake = FakeNode(tmp_path, newer=request.param)
    monkeypatch.setattr(pressure, "group_of", lambda lines, controller: tmp_path)
    monkeypatch.setattr("harness.faults.pressure.time.monotonic_ns", lambda: fake.now_ns)
    return fake


def cpu(node: FakeNode) -> CpuPressure:
    return CpuPressure(cast("Node", node), 0.05)


def memory(node: FakeNode) -> MemoryPressure:
    return MemoryPressure(cast("Node", node), SPARE)


BOTH = pytest.mark.parametrize("kind", [cpu, memory])
Kind = Callable[[FakeNode], CpuPressure | MemoryPressure]


def test_cpu_pressure_is_proved_by_what_was_used_and_how_often_it_had_to_wait(node: FakeNode) -> None:
    fault = cpu(node)
    fault.inject()
    limit = node.group / ("cpu.max" if node.newer else "cpu.cfs_quota_us")
    assert limit.read_text() == ("5000 100000\n" if node.newer else "5000\n")
    assert shown(fault.verify()) == {
        "quota_us": 5000,
        "period_us": 100_000,
        "wall_us": 2_400_000,
        "used_us": 120_000,
        "throttled": 24,
        "throttled_us": 24 * 90_000,
    }
    fault.heal()
    fault.heal()
    assert limit.read_text() == ("max 100000\n" if node.newer else "-1\n")


def test_memory_pressure_leaves_what_is_held_and_is_proved_by_a_read_of_more(node: FakeNode) -> None:
    fault = memory(node)
    fault.inject()
    limit = node.group / ("memory.high" if node.newer else "memory.limit_in_bytes")
    assert limit.read_text() == f"{LIMIT}\n"
    assert shown(fault.verify()) == {
        "limit_bytes": LIMIT,
        "held_bytes": USED - CACHED,
        "read_bytes": 2 * SPARE,
        "used_bytes": LIMIT,
        "reclaims": 900,
        "killed": 0,
        "refaults": 0,
        "stalled_us": 90_000,
    }
    assert node.commands[-1] == "rm /data/.kafka-chaos-probe"
    fault.heal()
    fault.heal()
    assert limit.read_text() == ("max\n" if node.newer else f"{1024 * MIB}\n")


@BOTH
def test_an_injection_that_does_nothing_is_noticed(kind: Kind, node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = kind(node)
    with pytest.raises(FaultUnproved, match="no limit was set"):
        fault.verify()
    monkeypatch.setattr(Pressure, "_set", lambda *_: None)
    fault.inject()
    with pytest.raises(FaultUnproved, match=r"is (-1|max|max 100000|1073741824), not "):
        fault.verify()


@BOTH
def test_a_limit_that_is_there_and_limits_nothing_is_noticed(kind: Kind, node: FakeNode) -> None:
    """As of another group than the one in which the node's processes are."""
    fault = kind(node)
    fault.inject()
    node.limited = False
    with pytest.raises(FaultUnproved, match=r"does not show (that it used the CPU|memory that had to be given back)"):
        fault.verify()


@BOTH
def test_a_kernel_that_counts_no_waiting_is_noticed(kind: Kind, node: FakeNode) -> None:
    fault = kind(node)
    fault.inject()
    node.counts = False
    with pytest.raises(FaultUnproved, match=r"does not show (that it had to wait|memory that had to be given back)"):
        fault.verify()


def test_a_process_that_is_killed_for_want_of_memory_is_no_pressure(node: FakeNode) -> None:
    fault = memory(node)
    fault.inject()
    node.kills = 1
    with pytest.raises(FaultUnproved, match="its proof shows processes that were killed because memory ran out"):
        fault.verify()
    node.fails, node.running, node.oom_killed = True, False, True
    with pytest.raises(
        FaultUnproved, match="the kernel killed a process because memory ran out, and the node has ended"
    ):
        fault.verify()


@BOTH
def test_a_node_that_has_ended_meanwhile_is_noticed_and_has_nothing_to_heal(kind: Kind, node: FakeNode) -> None:
    fault = kind(node)
    fault.heal()
    fault.inject()
    for file in node.group.iterdir():
        file.unlink()
    with pytest.raises(FaultUnproved, match="its control group is gone"):
        fault.verify()
    fault.heal()
    assert list(node.group.iterdir()) == []


@BOTH
def test_a_heal_that_is_not_taken_is_an_error_of_the_harness(
    kind: Kind, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = kind(node)
    fault.inject()
    monkeypatch.setattr(Pressure, "_set", lambda *_: None)
    with pytest.raises(HarnessError, match="after the heal"):
        fault.heal()


@BOTH
def test_what_this_machine_cannot_do_is_told_in_one_line(
    kind: Kind, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", refused)
        with pytest.raises(UsageError, match=r"does not take [\d ]+ \(Permission denied\): it needs root"):
            kind(node).inject()
    monkeypatch.setattr(pressure, "group_of", lambda lines, controller: node.group / "none")
    with pytest.raises(UsageError, match="no cgroup that limits it"):
        kind(node).inject()
    node.running = False
    with pytest.raises(UsageError, match="broker-1 is down"):
        kind(node).inject()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.9, 5.0])
def test_a_share_of_a_cpu_that_is_no_pressure_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="is not between"):
        CpuPressure(cast("Node", None), share)


def test_memory_that_is_too_little_or_no_pressure_is_refused(node: FakeNode) -> None:
    with pytest.raises(UsageError, match="leave too little"):
        MemoryPressure(cast("Node", node), 1000)
    if not node.newer:
        with pytest.raises(UsageError, match="are no pressure, its limit is 1073741824"):
            MemoryPressure(cast("Node", node), 1024 * MIB).inject()
