"""What is abandoned may be removed; what a living harness owns, or what has no label of ours, never is."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from evidence.errors import HarnessError
from harness.cluster.docker import Leftovers, find_ours, owner, owner_lives, process_identity, remove


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
        Thing("c-abandoned", {"kafka-chaos": "mine", "kafka-chaos.run": "a", "kafka-chaos.owner": dead}),
        Thing("c-living", {"kafka-chaos": "mine", "kafka-chaos.run": "b", "kafka-chaos.owner": owner()}),
        Thing("c-by-hand", {"kafka-chaos": "mine", "kafka-chaos.run": "", "kafka-chaos.owner": ""}),
        Thing("c-stranger", {"com.example": "1"}),
        Thing("c-another-namespace's", {"kafka-chaos": "theirs", "kafka-chaos.run": "b", "kafka-chaos.owner": dead}),
        Thing("n-abandoned", {"kafka-chaos": "mine", "kafka-chaos.run": "a", "kafka-chaos.owner": dead}),
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


def test_one_run() -> None:
    client, _ = engine()
    assert names(find_ours(client, run="b")) == ["c-living"]  # type: ignore[arg-type]


def test_this_process_lives_and_a_reused_pid_does_not() -> None:
    assert owner_lives(owner())
    boot, pid, _ = owner().split(":")
    assert not owner_lives(f"{boot}:{pid}:1")
    assert not owner_lives("")
    assert not owner_lives("x:y:z")
    assert owner().split(":")[1] == str(os.getpid())


def test_removal_tolerates_what_has_vanished_and_names_what_would_not_go() -> None:
    gone = Thing("c-gone", {}, NotFound("gone"))
    fine = Thing("c-fine", {})
    assert remove(Leftovers(containers=(gone, fine), networks=(), volumes=())) == 2
    assert fine.removed
    stuck = Thing("n-stuck", {}, APIError("has active endpoints"))
    with pytest.raises(HarnessError, match="n-stuck"):
        remove(Leftovers(containers=(), networks=(stuck,), volumes=()))
