"""A node gets less of the machine than it asks for: of CPU time, or of memory for the page cache of its files.

Both are limits of the kernel, for the control group of the node's container: cpu.cfs_quota_us and memory.limit_in_bytes
with cgroup v1, cpu.max and memory.high with v2. All else is as ever: its connections, its disk, and all other nodes. A
node that ends takes its group with it, so one that is started again is free of the limit.

The memory limit is what the node's processes hold when it is set, which is everything but the page cache of files, and
what the scenario leaves beyond that. The node gives page cache back, and what it reads or writes next has to wait until
something else is given back; what its JVM's heap grows by comes out of what was left. It must not be killed: that would
be another fault. If the kernel kills one of its processes meanwhile, the fault is unproved, and a broker that is killed
later ends by itself, which no fault explains. On a machine with swap a JVM is paged out in place of that.

Control groups that this process may not write are told in one line: there is nothing weaker in its place.

The proof: a process in the node's container asks for more than there is, an endless loop for a CPU, and the reading of
a file without blocks for the page cache. The group gets no more than its limit, by the kernel's own counters of it, and
they count how often it had to wait. The limit is read back, as it is after the heal.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, HarnessError, UsageError
from evidence.faults.pressure import CpuPressureProof, MemoryPressureProof
from harness.faults.cgroups import counters, group_of

if TYPE_CHECKING:
    from harness.cluster.docker import Node

LEAST_SHARE: Final = 0.01
"""Of one CPU: the kernel takes no quota of less than a millisecond."""
MOST_SHARE: Final = 0.5
BUSY_S: Final = 2
BUSY: Final = f"timeout {BUSY_S} sh -c 'while :; do :; done'; true"
"""Asks for a whole CPU for so long."""
LEAST_SPARE: Final = 16 << 20
"""Starting the process that proves takes some megabytes itself."""
MORE_THAN_FITS: Final = 2
PROBE: Final = "/data/.kafka-chaos-probe"
READ: Final = f"truncate -s {{size}} {PROBE} && dd if={PROBE} of=/dev/null bs=64k 2>/dev/null"
"""A file without blocks takes no room on the disk, and its zeros lie in the page cache like any others."""
PAGE: Final = 4096


@dataclass(slots=True)
class Pressure(ABC):
    """A limit of one node's control group, which is put back as it was."""

    node: Node
    what: ClassVar[str]
    controller: ClassVar[str]
    files: ClassVar[tuple[str, ...]]
    """The file of the limit, with cgroup v1 and v2."""
    _limit: tuple[Path, str, str] | None = field(default=None, init=False)
    """Its file, what it had before, and what it was given."""
    _groups: str = field(default="", init=False)
    """The lines of its process's /proc/<pid>/cgroup."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"{self.what} of {self.node.name}"

    @abstractmethod
    def wanted(self, file: Path) -> str:
        """What is to be written to the file of the limit."""

    def run_inside(self, command: str) -> None:
        """Run a command in the node's container; FaultUnproved if it is not run to its end."""
        from docker.errors import APIError

        try:
            self.node.run_inside("sh", "-c", command)
        except (APIError, HarnessError) as error:
            state = self.node.state()
            killed = ", and the kernel killed a process because memory ran out" if state.get("OOMKilled") else ""
            ended = "" if state["Running"] else ", and the node has ended"
            raise FaultUnproved(f"{self.description}: {error}{killed}{ended}") from None

    def inject(self) -> None:
        state = self.node.state()
        if not state["Running"]:
            raise UsageError(f"{self.what}: {self.node.name} is down")
        self._groups = Path(f"/proc/{state['Pid']}/cgroup").read_text()
        group = group_of(self._groups, self.controller)
        file = next((group / name for name in self.files if (group / name).exists()), None)
        if file is None:
            raise UsageError(f"{self.what}: {group} has neither {' nor '.join(self.files)}: no cgroup that limits it")
        self._limit = (file, file.read_text().strip(), self.wanted(file))
        self._set(self._limit[2])

    def _set(self, value: str) -> None:
        assert self._limit is not None
        file = self._limit[0]
        try:
            file.write_text(f"{value}\n")
        except OSError as error:
            raise UsageError(f"{self.what}: {file} does not take {value} ({error.strerror}): it needs root") from None

    def limited(self) -> Path:
        """The file of the limit, which has what it was given; FaultUnproved if it has not."""
        if self._limit is None:
            raise FaultUnproved(f"{self.description}: no limit was set")
        file, _, given = self._limit
        if not file.exists():
            raise FaultUnproved(f"{self.description}: its control group is gone, as when the node ended")
        if (there := file.read_text().strip()) != given:
            raise FaultUnproved(f"{self.description}: {file.name} is {there}, not {given}")
        return file

    def heal(self) -> None:
        """Put the limit back as it was; a container that ended took its control group with it."""
        if self._limit is None or not (file := self._limit[0]).exists():
            return
        before = self._limit[1]
        self._set(before)
        if (there := file.read_text().strip()) != before:
            raise HarnessError(f"{self.description}: {file.name} was {before}, and is {there} after the heal")


@dataclass(slots=True)
class CpuPressure(Pressure):
    """A node gets so much of one CPU, such as 0.05."""

    share: float
    proof_type: ClassVar = CpuPressureProof
    what: ClassVar = "CPU pressure"
    controller: ClassVar = "cpu"
    files: ClassVar = ("cpu.cfs_quota_us", "cpu.max")

    def __post_init__(self) -> None:
        if not LEAST_SHARE <= self.share <= MOST_SHARE:
            raise UsageError(f"{self.what}: {self.share} of a CPU is not between {LEAST_SHARE} and {MOST_SHARE}")

    @property
    def description(self) -> str:
        return f"{self.what} of {self.node.name} ({100 * self.share:.3g} % of one CPU)"

    def wanted(self, file: Path) -> str:
        period_us = self._period_us(file)
        quota_us = round(self.share * period_us)
        return f"{quota_us} {period_us}" if file.name == "cpu.max" else str(quota_us)

    @staticmethod
    def _period_us(file: Path) -> int:
        if file.name != "cpu.max":
            return int(file.with_name("cpu.cfs_period_us").read_text())
        return int(file.read_text().split()[1])

    def verify(self) -> CpuPressureProof:
        file = self.limited()
        before, begun = self._counted(file), time.monotonic_ns()
        self.run_inside(BUSY)
        wall_us = (time.monotonic_ns() - begun) // 1000
        used_us, throttled, throttled_us = (
            now - then for now, then in zip(self._counted(self.limited()), before, strict=True)
        )
        proof = CpuPressureProof(
            quota_us=int(file.read_text().split()[0]),
            period_us=self._period_us(file),
            wall_us=wall_us,
            used_us=used_us,
            throttled=throttled,
            throttled_us=throttled_us,
        )
        if missing := proof.missing():
            raise FaultUnproved(f"{self.description}: {proof.text()}: {missing}")
        return proof

    def _counted(self, file: Path) -> tuple[int, int, int]:
        """The kernel's counters of the group: CPU time used (us), periods throttled, and for how long (us)."""
        stat = counters(file.with_name("cpu.stat").read_text())
        if file.name == "cpu.max":
            return stat["usage_usec"], stat["nr_throttled"], stat["throttled_usec"]
        used_ns = int((group_of(self._groups, "cpuacct") / "cpuacct.usage").read_text())
        return used_ns // 1000, stat["nr_throttled"], stat["throttled_time"] // 1000


@dataclass(frozen=True, slots=True)
class Memory:
    """What the kernel says of a control group's memory, in bytes and counts."""

    used: int
    cached: int
    reclaims: int
    killed: int
    refaults: int
    stalled_us: int


@dataclass(slots=True)
class MemoryPressure(Pressure):
    """A node gets what its processes hold now, and `spare` bytes beyond that."""

    spare: int
    proof_type: ClassVar = MemoryPressureProof
    what: ClassVar = "memory pressure"
    controller: ClassVar = "memory"
    files: ClassVar = ("memory.limit_in_bytes", "memory.high")
    _held: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.spare < LEAST_SPARE:
            raise UsageError(f"{self.what}: {self.spare} bytes leave too little: {LEAST_SPARE} is the least")

    @property
    def description(self) -> str:
        return f"{self.what} of {self.node.name} ({self.spare >> 20} MiB over what it holds)"

    def wanted(self, file: Path) -> str:
        memory = self._read(file)
        self._held = memory.used - memory.cached
        limit = (self._held + self.spare) // PAGE * PAGE
        if (before := file.read_text().strip()) != "max" and limit >= int(before):
            raise UsageError(f"{self.description}: {limit} bytes are no pressure, its limit is {before}")
        return str(limit)

    def verify(self) -> MemoryPressureProof:
        file = self.limited()
        before, size = self._read(file), MORE_THAN_FITS * self.spare
        self.run_inside(READ.format(size=size))
        after = self._read(self.limited())
        self.run_inside(f"rm {PROBE}")
        proof = MemoryPressureProof(
            limit_bytes=int(file.read_text()),
            held_bytes=self._held,
            read_bytes=size,
            used_bytes=after.used,
            reclaims=after.reclaims - before.reclaims,
            killed=after.killed - before.killed,
            refaults=after.refaults - before.refaults,
            stalled_us=after.stalled_us - before.stalled_us,
        )
        if missing := proof.missing():
            raise FaultUnproved(f"{self.description}: {proof.text()}: {missing}")
        return proof

    def _read(self, file: Path) -> Memory:
        newer = file.name == "memory.high"
        stat = counters(file.with_name("memory.stat").read_text())
        events = counters(file.with_name("memory.events" if newer else "memory.oom_control").read_text())
        prefix = "" if newer else "total_"
        return Memory(
            used=int(file.with_name("memory.current" if newer else "memory.usage_in_bytes").read_text()),
            cached=stat[f"{prefix}active_file"] + stat[f"{prefix}inactive_file"],
            reclaims=events["high"] if newer else int(file.with_name("memory.failcnt").read_text()),
            killed=events["oom_kill"],
            refaults=stat.get(f"{prefix}workingset_refault_file", 0),
            stalled_us=_stalled_us(group_of(self._groups, "") / "memory.pressure"),
        )


def _stalled_us(file: Path) -> int:
    """From a memory.pressure, for how long some process of the group waited for memory; 0 where there is none."""
    line = file.read_text().partition("\n")[0] if file.exists() else ""
    return int(line.rpartition("total=")[2] or 0)
