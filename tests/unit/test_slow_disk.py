"""A slow disk: which device and control group it is about, its proof, and each sabotaged fault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest

from evidence.errors import FaultUnproved, UsageError
from harness.cluster.docker import Node
from harness.faults import slow_disk
from harness.faults.slow_disk import SlowDisk, block_device, control_group, written_bytes
from tests.proofs import shown

RATE = 16384


def devices(tmp_path: Path, *, partition: bool = False) -> Path:
    """A kernel's list of block devices, with the one that tmp_path is on: a disk, or a partition of disk 252:0."""
    found = os.stat(tmp_path).st_dev
    numbers = f"{os.major(found)}:{os.minor(found)}"
    disk = tmp_path / "devices" / "vda"
    own = disk / "vda1" if partition else disk
    own.mkdir(parents=True)
    (disk / "dev").write_text("252:0\n" if partition else f"{numbers}\n")
    if partition:
        (own / "dev").write_text(f"{numbers}\n")
        (own / "partition").write_text("1\n")
    listed = tmp_path / "block"
    listed.mkdir()
    (listed / numbers).symlink_to(own)
    return listed


def test_the_device_of_a_directory_is_the_whole_disk(tmp_path: Path) -> None:
    found = os.stat(tmp_path).st_dev
    assert block_device(tmp_path, devices(tmp_path)) == f"{os.major(found)}:{os.minor(found)}"


def test_a_partition_is_limited_by_its_disk(tmp_path: Path) -> None:
    assert block_device(tmp_path, devices(tmp_path, partition=True)) == "252:0"


def test_a_file_system_without_a_device_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is on no block device"):
        block_device(tmp_path, tmp_path / "none")


@pytest.mark.parametrize(
    ("lines", "place", "file"),
    [
        ("9:blkio:/docker/abc\n4:memory:/x\n0::/\n", "blkio/docker/abc", "blkio.throttle.write_bps_device"),
        ("3:cpu,blkio:/docker/abc\n", "blkio/docker/abc", "blkio.throttle.write_bps_device"),
        ("0::/system.slice/docker-abc.scope\n", "system.slice/docker-abc.scope", "io.max"),
    ],
    ids=["v1", "v1 with others", "v2"],
)
def test_the_control_group_of_a_process(tmp_path: Path, lines: str, place: str, file: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / file).touch()
    assert control_group(lines, tmp_path) == tmp_path / place


@pytest.mark.parametrize("lines", ["", "0::/docker/abc\n", "9:blkio:/docker/abc\n"])
def test_a_machine_that_throttles_no_disks_is_told(tmp_path: Path, lines: str) -> None:
    with pytest.raises(UsageError, match="no cgroup that throttles disks"):
        control_group(lines, tmp_path)


def test_bytes_of_another_device_or_read_count_for_nothing() -> None:
    old = "7:1 Write 9\n253:0 Read 5\n253:0 Write 8192\n253:0 Total 8197\nTotal 8206\n"
    assert [written_bytes(old, device) for device in ("253:0", "7:1", "53:0", "8:0")] == [8192, 9, 0, 0]
    assert written_bytes("8:0 rbytes=1 wbytes=77 rios=2 wios=3\n", "8:0") == 77


class FakeNode:
    """A container whose writes go to a control group, and take as long as its limit says."""

    name = "broker-1"

    def __init__(self, group: Path, device: str) -> None:
        self.group, self.device = group, device
        self.slow, self.counts, self.now = True, True, 0.0
        self.written = 1000

    def count(self) -> None:
        (self.group / "blkio.throttle.io_service_bytes").write_text(f"{self.device} Write {self.written}\n")

    def state(self) -> dict[str, int]:
        return {"Pid": os.getpid()}

    def run_inside(self, *command: str) -> str:
        size = int(command[-1].partition("bs=")[2].split()[0]) * int(command[-1].partition("count=")[2].split()[0])
        self.written += size if self.counts else 0
        self.now += size / RATE if self.slow else 0.001
        self.count()
        return ""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    group = tmp_path / "group"
    group.mkdir()
    for way in ("read", "write"):
        (group / f"blkio.throttle.{way}_bps_device").touch()
    fake = FakeNode(group, "253:0")
    fake.count()
    monkeypatch.setattr(slow_disk, "block_device", lambda place: "253:0")
    monkeypatch.setattr(slow_disk, "control_group", lambda lines: group)
    monkeypatch.setattr("harness.faults.slow_disk.time.monotonic", lambda: fake.now)
    return fake


def fault_of(node: FakeNode) -> SlowDisk:
    return SlowDisk(cast("Node", node), node.group, RATE)


def test_a_slow_disk_is_proved_by_the_clock_and_the_kernels_counter(node: FakeNode) -> None:
    fault = fault_of(node)
    fault.inject()
    assert (node.group / "blkio.throttle.write_bps_device").read_text() == f"253:0 {RATE}\n"
    assert shown(fault.verify()) == {
        "device": "253:0",
        "bytes_per_s": RATE,
        "bytes": 8192,
        "bytes_counted": 8192,
        "took_ms": 500,
    }
    fault.heal()
    fault.heal()
    assert (node.group / "blkio.throttle.write_bps_device").read_text() == "253:0 0\n"


def test_a_sabotaged_limit_is_noticed(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = fault_of(node)
    with pytest.raises(FaultUnproved, match="no limit was set"):
        fault.verify()
    monkeypatch.setattr(SlowDisk, "_limit", lambda *_: None)
    node.slow = False
    fault.inject()
    with pytest.raises(FaultUnproved, match="it is not slow"):
        fault.verify()


def test_a_write_that_went_elsewhere_is_noticed(node: FakeNode) -> None:
    fault = fault_of(node)
    fault.inject()
    node.counts = False
    with pytest.raises(FaultUnproved, match="counts 0 of 8192 bytes"):
        fault.verify()


def test_a_limit_that_the_kernel_does_not_take_is_told(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refused)
    with pytest.raises(UsageError, match=r"takes no limit for 253:0 \(Permission denied\): it needs root"):
        fault_of(node).inject()


def test_with_the_newer_control_groups_one_file_has_all(node: FakeNode) -> None:
    (node.group / "io.max").touch()
    (node.group / "io.stat").write_text("253:0 rbytes=0 wbytes=4096 rios=0\n")
    fault = fault_of(node)
    fault.inject()
    assert (node.group / "io.max").read_text() == f"253:0 rbps={RATE} wbps={RATE}\n"
    fault.heal()
    assert (node.group / "io.max").read_text() == "253:0 rbps=max wbps=max\n"
