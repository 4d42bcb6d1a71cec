"""Removals are done before anybody speaks of them; live data of the dead goes, links and the living's stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from docker.errors import APIError

from evidence.errors import HarnessError
from evidence.rundir import RunDir
from harness.cluster import docker
from harness.cluster.docker import Leftovers, owner
from harness.cluster.namespace import namespace
from harness.removal import Removals, abandoned_data, abandoned_disks, clean, remove_data
from tests.records import changed, run_record
from tests.unit.cluster.test_ownership import dead_identity

LIMIT_S = 60.0


def test_what_is_owed_is_done_even_if_it_was_never_begun() -> None:
    done: list[str] = []
    removals = Removals()
    removals.register("a", lambda: done.append("a"))
    removals.register("b", lambda: done.append("b"))
    removals.start("a")
    removals.start("nothing is registered for this one")
    removals.wait()
    removals.wait()
    assert sorted(done) == ["a", "b"]


def test_what_would_not_go_is_told() -> None:
    def refuse() -> None:
        raise HarnessError("Docker would not remove: n-stuck")

    removals = Removals()
    removals.register("a", refuse)
    with pytest.raises(HarnessError, match=r"a: Docker would not remove: n-stuck; `kafka-chaos clean` tries again"):
        removals.wait()


class Network:
    """A network that the engine does not remove, with these containers on it."""

    name = "n"

    def __init__(self, *containers: str) -> None:
        self.attrs: dict[str, Any] = {"Containers": {name: {} for name in containers}}

    def remove(self) -> None:
        raise APIError("error while removing network: network n has active endpoints")

    def reload(self) -> None:
        pass


def test_an_empty_network_that_the_engine_keeps_is_left_alone() -> None:
    left_alone: list[str] = []
    docker.remove(Leftovers(containers=(), networks=(Network(),), volumes=()), left_alone.append)
    assert left_alone == ["network n: Docker keeps an endpoint of a gone container until it restarts"]
    with pytest.raises(HarnessError, match="n: error while removing network"):
        docker.remove(Leftovers(containers=(), networks=(Network("broker-1"),), volumes=()), left_alone.append)
    assert len(left_alone) == 1


def test_what_the_engine_keeps_is_told_when_all_else_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(leftovers: Leftovers, left_alone: object) -> int:
        raise HarnessError("Docker would not remove: n: has active endpoints")

    left = a_run(tmp_path, "left", dead_identity())
    monkeypatch.setattr(
        docker, "find_ours", lambda client, **options: Leftovers(containers=(), networks=(), volumes=())
    )
    monkeypatch.setattr(docker, "remove", refuse)
    monkeypatch.setattr(docker, "remove_mutants", lambda client: ["kafka:mutant"])
    told: list[str] = []
    with pytest.raises(HarnessError, match="n: has active endpoints"):
        clean(MagicMock(), tmp_path, owned_too=False, tell=told.append, left_alone=told.append)
    assert not left.data.exists()
    assert told[-1].startswith("removed the image kafka:mutant")


INTERRUPTED = """
import signal, sys, threading
from harness.removal import Removals
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
allowed = threading.Event()
def slow():
    print("removing", flush=True)
    sys.stdin.readline()
    print("removed", flush=True)
removals = Removals()
removals.register("run", slow)
try:
    try:
        removals.start("run")
    finally:
        removals.wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_does_not_cut_a_removal_short() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "removing\n"
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate("go\n", timeout=LIMIT_S)
    assert out == "removed\ninterrupted\n"


def a_run(root: Path, name: str, identity: str) -> RunDir:
    run_dir = RunDir(root / name)
    run_dir.write_run(run_record({"scenario": "s", "version": "v", "owner": identity, "namespace": namespace()}))
    (run_dir.data / "broker-1").mkdir(parents=True)
    (run_dir.data / "broker-1" / "0.log").write_text("x")
    return run_dir


def test_only_live_data_of_the_dead_is_abandoned(tmp_path: Path) -> None:
    dead, living = a_run(tmp_path, "dead", dead_identity()), a_run(tmp_path, "living", owner())
    broken, elsewhere = a_run(tmp_path, "broken", ""), a_run(tmp_path, "elsewhere", "of:another:1:2:version")
    broken.run_json.write_text("{")
    told: list[str] = []
    assert list(abandoned_data("*/data", tmp_path, left_alone=told.append)) == [dead]
    assert len(told) == 2
    assert "another machine" in told[1]
    assert list(abandoned_data("*/data", tmp_path, owned_too=True)) == [dead, elsewhere, living]
    assert remove_data(object(), dead) is None  # type: ignore[arg-type]
    assert not dead.data.exists()
    assert list(abandoned_data("*/data", tmp_path)) == []


def test_what_is_of_another_namespace_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = a_run(tmp_path, "dead", dead_identity())
    run_dir.write_run(changed(run_dir.read_run(), namespace="mine"))
    loop = tmp_path / "block" / "loop0" / "loop"
    loop.mkdir(parents=True)
    (loop / "backing_file").write_text(f"{run_dir.data / 'disks' / 'broker-1.ext4'}\n")
    for name, found in (("mine", [run_dir]), ("another", [])):
        monkeypatch.setenv("KAFKA_CHAOS_NAMESPACE", name)
        assert list(abandoned_data("*/data", tmp_path, owned_too=True)) == found
        assert list(abandoned_disks(tmp_path / "block")) == found


def test_disks_of_the_dead_are_found_wherever_they_lie(tmp_path: Path) -> None:
    runs = [a_run(tmp_path / name, name, who) for name, who in (("dead", dead_identity()), ("living", owner()))]
    images = [run.data / "disks" / f"{node}.ext4" for run in runs for node in ("broker-1", "broker-2")]
    others = [
        tmp_path / "snaps" / "core.snap",
        tmp_path / "vm" / "disks" / "a.img",
        tmp_path / "nobody/data/disks/b.ext4",
    ]
    for number, image in enumerate([*images, *others]):
        loop = tmp_path / "block" / f"loop{number}" / "loop"
        loop.mkdir(parents=True)
        (loop / "backing_file").write_text(f"{image}\n")
    told: list[str] = []
    assert list(abandoned_disks(tmp_path / "block", left_alone=told.append)) == [runs[0]]
    (line,) = told
    assert "/dev/loop6" in line
    assert "nobody/data/*" in line
    assert list(abandoned_disks(tmp_path / "none")) == []


def test_a_link_is_neither_followed_nor_said_to_be_removed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "precious"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    run_dir = RunDir(tmp_path / "run")
    run_dir.write_run(run_record({"scenario": "s", "version": "v", "owner": dead_identity(), "namespace": namespace()}))
    run_dir.data.symlink_to(elsewhere)
    left = remove_data(object(), run_dir)  # type: ignore[arg-type]
    assert left is not None
    assert "symbolic link" in left
    assert (elsewhere / "file").exists()
