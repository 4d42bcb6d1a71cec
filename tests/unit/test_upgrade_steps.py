"""When a broker is started in an upgrade, and when the next one ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster import versions
from harness.run.who import Target
from harness.scenario import get_scenario
from harness.words import LoadGenerator, Run
from scenarios.upgrade import left_first, one_by_one, wait_left

BROKERS = [cast("Target", SimpleNamespace(id=number)) for number in (1, 2, 3)]


class Said:
    """A run, and its load, whose words are only said."""

    def __init__(self, version: str) -> None:
        self.version, self.said = versions.get(version), list[str]()
        self.topic = SimpleNamespace(replicas=((1, 2, 3),))

    def partition(self, number: int) -> str:
        return f"t-{number}"

    def replicas_of(self, t: str) -> list[Target]:
        return BROKERS

    def stop(self, target: Target) -> None:
        self.said.append(f"stop {target.id}")

    def start(self, target: Target) -> None:
        self.said.append(f"start {target.id}")

    def wait_isr(self, t: str, targets: list[Target]) -> None:
        self.said.append(f"ISR {[one.id for one in targets]}")

    def wait_more(self, count: int, timeout_s: float) -> None:
        self.said.append("more")


def words(version: str) -> tuple[Said, Run, LoadGenerator]:
    made: Any = Said(version)
    return made, made, made


def test_before_leader_epochs_a_broker_is_started_when_it_has_left_every_isr() -> None:
    made, run, load = words("0.10.2.2")
    one_by_one(run, BROKERS[:2], left_first(run, load, run.start))
    assert made.said == [
        *("stop 1", "ISR [2, 3]", "more", "start 1", "ISR [1, 2, 3]"),
        *("stop 2", "ISR [1, 3]", "more", "start 2", "ISR [1, 2, 3]"),
    ]
    made.said.clear()
    wait_left(run, load, BROKERS[2])
    assert made.said == ["ISR [1, 2]", "more"]


@pytest.mark.parametrize("version", ["0.11.0.3", "2.8.2", "4.3.1"])
def test_with_leader_epochs_it_is_started_at_once(version: str) -> None:
    made, run, load = words(version)
    one_by_one(run, BROKERS[:1], left_first(run, load, run.start))
    wait_left(run, load, BROKERS[0])
    assert made.said == ["start 1", "ISR [1, 2, 3]"]


@pytest.mark.parametrize("name", ["upgrade-rolling", "upgrade-downgrade"])
def test_an_upgrade_node_by_node_may_lose_nothing(name: str) -> None:
    declared, version = get_scenario(name), versions.get("0.10.2.2")
    for case in declared.cases:
        documented = declared.documented_for(version, case)
        assert (documented.required, documented.allowed) == (frozenset(), frozenset())
        assert declared.documented_for(versions.get("4.3.1"), case).allowed == frozenset()
