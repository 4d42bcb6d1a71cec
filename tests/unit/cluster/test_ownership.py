"""What is abandoned may be removed; what a living harness owns, or what has no label of ours, never is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from docker.errors import APIError, NotFound
from requests import exceptions as requests_errors

from evidence.errors import HarnessError
from harness.cluster import ownership
from harness.cluster.docker import Leftovers, find_ours, remove
from harness.cluster.ownership import Fate, Owner, fate, owner, process_identity


class Thing:
    """A container, network or volume as the engine's API shows it."""

    def __init__(self, name: str, labels: dict[str, str], error: Exception | None = None) -> None:
        self.name, self.error, self.removed = name, error, False
        self.attrs: dict[str, Any] = {"Config": {"Labels": labels}} if name.startswith("c") else {"Labels": labels}

    def remove(self, **options: Any) -> None:
        if self.error:
            raise self.error
        self.removed = True


class Engine:
    """Filters by label as Docker does."""

    def __init__(self, things: list[Thing]) -> None:
        self._things = things

        class Kind:
            def __init__(self, letter: str) -> None:
                self._letter = letter

            def list(self, *, filters: dict[str, list[str]], **_options: Any) -> list[Thing]:
                wanted = dict(label.split("=", 1) for label in filters["label"])
                return [
                    thing
                    for thing in things
                    if thing.name.startswith(self._letter)
                    and (thing.attrs.get("Labels") or thing.attrs["Config"]["Labels"]).items() >= wanted.items()
                ]

        self.containers, self.networks, self.volumes = Kind("c"), Kind("n"), Kind("v")


def dead_identity() -> str:
    child = subprocess.Popen(["sleep", "60"])
    identity = process_identity(child.pid)
    child.kill()
    child.wait()
    assert identity is not None
    return identity


@pytest.fixture(autouse=True)
def own_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_NAMESPACE", "mine")


def engine() -> tuple[Engine, list[Thing]]:
    dead = dead_identity()
    things = [
        Thing("c-abandoned", {"kafka-chaos": "mine", "kafka-chaos.run": "a", "kafka-chaos.process": dead}),
        Thing("c-living", {"kafka-chaos": "mine", "kafka-chaos.run": "b", "kafka-chaos.process": owner()}),
        Thing("c-by-hand", {"kafka-chaos": "mine", "kafka-chaos.run": "", "kafka-chaos.process": ""}),
        Thing("c-stranger", {"com.example": "1"}),
        Thing("c-another-namespace's", {"kafka-chaos": "theirs", "kafka-chaos.run": "b", "kafka-chaos.process": dead}),
        Thing("n-abandoned", {"kafka-chaos": "mine", "kafka-chaos.run": "a", "kafka-chaos.process": dead}),
    ]
    return Engine(things), things


def names(leftovers: Leftovers) -> list[str]:
    return [thing.name for thing in (*leftovers.containers, *leftovers.networks, *leftovers.volumes)]


def test_only_what_dead_owners_left_is_abandoned() -> None:
    client, _ = engine()
    assert names(find_ours(client, only_abandoned=True)) == ["c-abandoned", "n-abandoned"]  # type: ignore[arg-type]


def test_everything_of_ours_never_a_strangers_nor_another_namespaces() -> None:
    client, _ = engine()
    assert names(find_ours(client)) == ["c-abandoned", "c-living", "c-by-hand", "n-abandoned"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [requests_errors.ConnectionError(("Connection aborted.", FileNotFoundError(2, "gone"))), requests_errors.Timeout()],
)
def test_an_engine_that_went_away_is_told_in_a_line(error: OSError) -> None:
    client, _ = engine()
    client.containers.list = failing(error)  # type: ignore[method-assign]
    with pytest.raises(HarnessError, match=r"^no Docker engine answers any more \(.*\)$"):
        find_ours(client)  # type: ignore[arg-type]


def test_what_an_engine_refuses_is_no_absence() -> None:
    client, _ = engine()
    client.containers.list = failing(APIError("server error"))  # type: ignore[method-assign]
    with pytest.raises(APIError):
        find_ours(client)  # type: ignore[arg-type]


def failing(error: Exception) -> Callable[..., NoReturn]:
    def fail(**_: object) -> NoReturn:
        raise error

    return fail


def test_one_run() -> None:
    client, _ = engine()
    assert names(find_ours(client, run="b")) == ["c-living"]  # type: ignore[arg-type]


def _other(**changed: Any) -> str:
    """This process's identity with some of it changed."""
    own = Owner.parse(owner())
    assert own is not None
    return str(replace(own, **changed))


def test_this_process_lives_and_a_reused_pid_does_not() -> None:
    own = Owner.parse(owner())
    assert own is not None
    assert own.pid == os.getpid()
    assert fate(owner()).state == "alive"
    assert fate(_other(start="1")).state == "dead"
    assert fate(dead_identity()).state == "dead"


def test_a_killed_process_that_nobody_waited_for_is_dead() -> None:
    child = subprocess.Popen(["sleep", "60"])
    identity = process_identity(child.pid)
    assert identity is not None
    assert fate(identity).state == "alive"
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    assert fate(identity).state == "dead"
    child.wait()


def test_an_owner_of_an_earlier_boot_is_dead_and_one_of_another_machine_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "MACHINE", tmp_path / "machine-id")
    (tmp_path / "machine-id").write_text("a\n")
    assert fate(_other(boot="00000000")).state == "dead"
    assert fate(_other(boot="00000000", machine="other")) == Fate(
        "unknown", "its owner is a process on another machine"
    )
    (tmp_path / "machine-id").unlink()
    assert fate(_other(boot="00000000")).state == "unknown"


@pytest.mark.parametrize("label", ["", "x:y:z", "a:b:c:d:e", "1a2b3c4d:77:123"])
def test_a_label_of_another_version_is_not_judged(label: str) -> None:
    assert fate(label).state == "unknown"


def test_a_process_of_another_user_that_proc_hides_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(pid: int, number: int) -> None:
        raise answers[pid]

    answers = {7: PermissionError(), 8: ProcessLookupError()}
    monkeypatch.setattr("harness.cluster.ownership.os.kill", kill)
    monkeypatch.setattr(ownership, "_start", lambda process: "5" if process == "self" else None)
    assert fate(_other(pid=7)).state == "alive"
    assert fate(_other(pid=8)).state == "dead"
    monkeypatch.setattr(ownership, "_start", lambda process: "5")
    assert fate(_other(pid=7, start="4")).state == "dead"


def _judged_inside(*surroundings: str) -> str:
    """What a process in these surroundings thinks of this one."""
    script = f"from harness.cluster.ownership import fate; print(fate({owner()!r}).state)"
    result = subprocess.run(
        [*surroundings, sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    if result.returncode and "unshare" in result.stderr:
        pytest.skip(f"this machine lets no PID namespace be made: {result.stderr.strip()}")
    assert not result.returncode, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("options", [["--mount-proc"], []])
def test_from_another_pid_namespace_nothing_is_known(options: list[str]) -> None:
    unshare = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--pid", "--fork", *options]
    assert _judged_inside() == "alive"
    assert _judged_inside(*unshare) == "unknown"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting /proc anew needs root")
def test_behind_a_proc_that_hides_processes_a_living_owner_lives() -> None:
    hide = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
    hidden = ["unshare", "--mount", "sh", "-c", hide, "sh"]
    probe = [*hidden, "test", "-e", f"/proc/{os.getpid()}"]
    assert subprocess.run(probe, check=False, timeout=60).returncode == 1, "not hidden"
    assert _judged_inside(*hidden) == "alive"


def test_what_cannot_be_judged_is_left_alone_and_told_of() -> None:
    elsewhere = {"kafka-chaos": "mine", "kafka-chaos.process": _other(namespace="1")}
    client = Engine([Thing("c-1", elsewhere), Thing("c-2", elsewhere), Thing("n-1", {"kafka-chaos": "mine"})])
    found = find_ours(client, only_abandoned=True)  # type: ignore[arg-type]
    assert not names(found)
    assert found.left_alone == ("2 of ours: its owner is a process in another PID namespace (a container)",)
    everything = find_ours(client)  # type: ignore[arg-type]
    assert names(everything) == ["c-1", "c-2", "n-1"]
    assert not everything.left_alone


def test_removal_tolerates_what_has_vanished_and_names_what_would_not_go() -> None:
    gone = Thing("c-gone", {}, NotFound("gone"))
    fine = Thing("c-fine", {})
    assert remove(Leftovers(containers=(gone, fine), networks=(), volumes=())) == 2
    assert fine.removed
    stuck = Thing("n-stuck", {}, APIError("permission denied"))
    with pytest.raises(HarnessError, match="n-stuck"):
        remove(Leftovers(containers=(), networks=(stuck,), volumes=()))
