"""The mounter of file systems: what it may, what it refuses, and that it unmounts what is ours and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError
from docker.models.containers import ExecResult

from evidence.errors import HarnessError, UsageError
from harness.cluster import disks
from harness.cluster.disks import (
    ATTACH,
    DETACH,
    HAS,
    NO_DISKS,
    SAME,
    UNMOUNT,
    Disk,
    DiskMounter,
    flush_file,
    make_disks,
    release,
    require_disks,
    require_maker,
)
from harness.cluster.docker import KAFKA_LABEL
from harness.plan import Disks

Answer = Callable[[str, list[str]], ExecResult]
DONE = ExecResult(0, b"")


class Container:
    def __init__(self, answer: Answer) -> None:
        self.answer, self.ran, self.removed = answer, list[tuple[str, list[str]]](), False
        self.refusal: Exception | None = None

    def start(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    def exec_run(self, command: list[str], user: str) -> ExecResult:
        script, arguments = command[2].removeprefix(disks.PRELUDE), command[4:]
        self.ran.append((script, arguments))
        return self.answer(script, arguments)

    def remove(self, **_options: Any) -> None:
        self.removed = True


class Image:
    def __init__(self) -> None:
        self.labels, self.tags = {KAFKA_LABEL: "4.3.1"}, ["kafka-chaos/kafka:4.3.1"]


@dataclass
class Images:
    every: tuple[Image, ...]

    def list(self, **_options: Any) -> tuple[Image, ...]:
        return self.every


class Engine:
    """An engine that starts a mounter, and has images to start it from."""

    def __init__(self, answer: Answer = lambda script, arguments: DONE, images: tuple[Image, ...] = (Image(),)) -> None:
        self.container, self.started = Container(answer), dict[str, Any]()
        self.containers, self.images = self, Images(images)

    def create(self, image: str, command: list[str], **options: Any) -> Container:
        self.started = options
        return self.container


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "LIMIT_S", 0.2)
    monkeypatch.setattr(disks, "POLL_S", 0.01)


def mounter(engine: Engine) -> DiskMounter:
    return DiskMounter(engine, "image")  # type: ignore[arg-type]


def test_a_keeper_may_mount_and_use_loop_devices_and_nothing_else() -> None:
    engine = Engine()
    mounter(engine)
    assert engine.started["cap_add"] == ["SYS_ADMIN", "SYS_PTRACE"]
    assert engine.started["device_cgroup_rules"] == ["b 7:* rwm", "c 10:237 rwm"]
    assert "privileged" not in engine.started
    assert engine.started["network_mode"] == "none"


def test_an_engine_that_gives_no_rights_is_refused_in_one_line() -> None:
    engine = Engine()

    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise APIError("unable to apply caps:\n operation not permitted")

    engine.create = refuse  # type: ignore[assignment,method-assign]
    with pytest.raises(UsageError, match=f"{NO_DISKS}.*not permitted") as refused:
        mounter(engine)
    assert "\n" not in str(refused.value)


def test_a_container_that_the_engine_makes_and_cannot_start_does_not_stay() -> None:
    engine = Engine()
    engine.container.refusal = APIError('error mounting "proc" to rootfs:\n operation not permitted')
    with pytest.raises(UsageError, match=f"{NO_DISKS}.*not permitted"):
        mounter(engine)
    assert engine.container.removed


def test_a_disk_that_cannot_be_had_is_refused_before_a_run(
    tmp_path: Path,
) -> None:
    """In a container without the machine's /dev there is no loop device."""
    engine = Engine(lambda script, arguments: ExecResult(1, b"no loop device") if script == ATTACH else DONE)
    with pytest.raises(UsageError, match=f"^{NO_DISKS}: no loop device"):
        require_disks(engine, "image", "ext4", tmp_path)  # type: ignore[arg-type]
    assert engine.container.removed
    assert list(tmp_path.iterdir()) == []


def test_an_engine_in_other_namespaces_is_refused_and_its_container_removed() -> None:
    engine = Engine(lambda script, arguments: ExecResult(1, b"") if script == SAME else DONE)
    with pytest.raises(UsageError, match="beside this process"):
        mounter(engine)
    assert engine.container.removed


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Path]:
    """What the kernel has attached, all below `tmp_path`, and mounted there."""
    there = {"/dev/loop0": tmp_path / "data/disks/broker-1.ext4"}
    monkeypatch.setattr(disks, "loops_below", lambda place: {k: v for k, v in there.items() if v.is_relative_to(place)})
    monkeypatch.setattr(disks, "mounted_below", lambda place: [tmp_path / "data/broker-1"] if there else [])
    return there


def test_release_unmounts_and_detaches_what_lies_there(attached: dict[str, Path], tmp_path: Path) -> None:
    def answer(script: str, arguments: list[str]) -> ExecResult:
        if script == DETACH:
            attached.pop(arguments[0])
        return DONE

    engine = Engine(answer)
    release(engine, tmp_path)  # type: ignore[arg-type]
    assert engine.container.ran[1:] == [
        (UNMOUNT, [str(tmp_path / "data/broker-1")]),
        (DETACH, ["/dev/loop0"]),
    ]
    assert engine.container.removed


def test_release_does_nothing_where_nothing_is_mounted(tmp_path: Path) -> None:
    release(object(), tmp_path)  # type: ignore[arg-type]


def test_release_without_an_image_says_what_stays(attached: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="no image of ours"):
        release(Engine(images=()), tmp_path)  # type: ignore[arg-type]


def test_what_is_held_by_somebody_is_told_when_the_wait_is_over(
    attached: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "holders", lambda devices: [])  # the device may be in use here, by a cluster
    with pytest.raises(HarnessError, match=r"still attached .*broker-1\.ext4; in the mount namespace of nobody"):
        release(Engine(), tmp_path)  # type: ignore[arg-type]


def test_who_holds_a_disk_is_told_by_process(tmp_path: Path) -> None:
    for number, device in (("12", "/dev/loop0"), ("13", "/dev/loop1")):
        (tmp_path / number).mkdir()
        (tmp_path / number / "mountinfo").write_text(f"36 35 7:0 / /x rw - ext4 {device} rw\n")
        (tmp_path / number / "comm").write_text("bash\n")
    assert disks.holders(["/dev/loop0"], tmp_path) == ["process 12 (bash)"]
    assert disks.holders(["/dev/loop7"], tmp_path) == []


def test_a_node_without_its_disk_is_not_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    disk = Disk(node="broker-1", file_system="ext4", image=tmp_path / "image", mount=tmp_path)
    with pytest.raises(HarnessError, match="broker-1: its disk is not mounted, so it is not started"):
        mounter(Engine()).require_mounted(disk)
    monkeypatch.setattr(disks, "mounted_below", lambda place: [tmp_path])
    mounter(Engine()).require_mounted(disk)


def test_a_busy_mount_is_tried_again_and_one_that_is_gone_is_fine(attached: dict[str, Path], tmp_path: Path) -> None:
    refusals = [ExecResult(32, b"target is busy"), ExecResult(32, b"not mounted")]

    def answer(script: str, arguments: list[str]) -> ExecResult:
        if script == UNMOUNT:
            return refusals.pop(0)
        if script == DETACH:
            attached.clear()
        return DONE

    release(Engine(answer), tmp_path)  # type: ignore[arg-type]
    assert refusals == []


def test_a_mount_that_this_process_does_not_see_is_no_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    disk = Disk(node="broker-1", file_system="ext4", image=tmp_path / "image", mount=tmp_path / "mount")
    monkeypatch.setattr(disks, "loops_below", lambda place: {"/dev/loop0": disk.image})
    with pytest.raises(HarnessError, match="not seen here"):
        mounter(Engine()).mount(disk)


def test_a_file_system_that_cannot_be_made_is_refused_with_the_reason(tmp_path: Path) -> None:
    engine = Engine(lambda script, arguments: DONE if script == SAME else ExecResult(127, b"mkfs.xfs: not found"))
    with pytest.raises(UsageError, match=rf"{NO_DISKS}: mkfs\.xfs: not found"):
        make_disks(mounter(engine), Disks(file_system="xfs"), tmp_path, ["broker-1"])


def test_a_program_that_makes_file_systems_is_looked_for_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(disks, "PATH", str(tmp_path))
    lacks = Engine(lambda script, arguments: ExecResult(1, b"") if script == HAS else DONE)
    with pytest.raises(UsageError, match=rf"{NO_DISKS}: this machine has no mkfs\.xfs; install xfsprogs$") as refused:
        require_maker(lacks, "image", "xfs")  # type: ignore[arg-type]
    assert refused.value.exit_status == 254
    assert lacks.container.removed
    has = Engine()
    require_maker(has, "image", "xfs")  # type: ignore[arg-type]
    assert (HAS, ["mkfs.xfs"]) in has.container.ran
    assert has.container.removed
    program = tmp_path / "mkfs.xfs"
    program.touch(mode=0o755)
    never = Engine()
    require_maker(never, "image", "xfs")  # type: ignore[arg-type]
    assert never.started == {}, "this machine has it: nothing is started"


def test_ext4_is_made_read_only_by_an_error_that_the_kernel_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = Engine()
    disk = Disk(node="broker-1", file_system="ext4", image=tmp_path / "image", mount=tmp_path / "mount")
    monkeypatch.setattr(disks, "loops_below", lambda place: {"/dev/loop3": disk.image})
    mounter(engine).make_read_only(disk)
    assert engine.container.ran[-2:] == [(disks.ON_ERRORS, [str(disk.mount)]), (disks.MEET_ERROR, ["loop3"])]


def test_no_other_file_system_is_made_read_only_by_the_kernel(tmp_path: Path) -> None:
    engine = Engine()
    disk = Disk(node="broker-1", file_system="xfs", image=tmp_path / "image", mount=tmp_path / "mount")
    with pytest.raises(UsageError, match="broker-1: xfs is never made read-only by the kernel; ext4 is"):
        mounter(engine).make_read_only(disk)
    assert [script for script, _ in engine.container.ran] == [SAME]


def test_a_second_disk_is_mounted_below_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[Disk] = []
    monkeypatch.setattr(DiskMounter, "make", lambda self, disk, size_bytes: made.append(disk))
    monkeypatch.setattr(DiskMounter, "require_engine_sees", lambda self, disk: None)
    found = make_disks(mounter(Engine()), Disks(), tmp_path, ["broker-1"], "second")
    assert made == [found["broker-1"]]
    assert found["broker-1"].mount == tmp_path / "broker-1" / "second"
    assert found["broker-1"].image == tmp_path / "disks" / "broker-1-second.ext4"


def test_what_is_flushed_is_written_whole(tmp_path: Path) -> None:
    disks.write(tmp_path / "file", flush=True)
    assert (tmp_path / "file").read_bytes() == disks.CONTENT
    disks.flush(tmp_path)


def test_one_file_is_flushed_and_what_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    for name in ("written", "beside"):
        (tmp_path / name).touch()
    flush_file(tmp_path / "written")
    assert flushed == [(tmp_path / "written").stat().st_ino]
    with pytest.raises(FileNotFoundError):
        flush_file(tmp_path / "missing")
