"""When a broker is started in an upgrade, and when the next one ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from harness.cluster import versions
from harness.cluster.cluster import next_version
from harness.run.who import Target
from harness.scenario import Scenario, get_scenario
from harness.words import LoadGenerator, Partition, Run
from scenarios.upgrade import double_failover, left_first, one_by_one, wait_left

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


@pytest.mark.parametrize(
    ("version", "upgraded", "lost"),
    [
        ("0.10.2.2", True, "lost lost lost lost kept kept"),
        ("0.10.2.2", False, "lost lost lost lost lost lost"),
        ("0.10.2.2-to-2.0.1", True, "lost lost lost lost kept kept"),
        ("0.10.2.2-to-2.2.2", True, "lost lost lost lost lost kept"),
        ("0.10.2.2-to-3.5.1-zk", True, "lost lost lost lost kept"),
        ("0.10.0.1-to-0.10.2.2", True, "lost lost lost lost lost lost"),
        ("2.4.1-to-2.8.1", True, "kept kept kept kept kept kept"),
        ("3.7.1-kraft-to-4.2.2", True, "kept kept kept kept"),
        ("3.7.1-kraft-to-4.2.2", False, "kept kept kept kept"),
    ],
)
def test_the_record_is_lost_at_the_stages_that_follow_from_the_two_releases(
    version: str, upgraded: bool, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        double_failover, "two_leaders_die", lambda run, t, *, lost: told.append("lost" if lost else "kept")
    )
    made = MagicMock(version=versions.get(version), topic=SimpleNamespace(replicas=((1, 2, 3),)))
    made.next_version = next_version(made.version, double_failover_of_upgrades().cluster)
    made.replicas_of.return_value = BROKERS
    made.supported.return_value, made.level_of.return_value = 30, 19
    double_failover.at_every_stage(made, upgraded=upgraded)
    assert " ".join(told) == lost
    kraft = made.version.mode == "kraft"
    assert made.finalize.called is (kraft and upgraded)
    assert made.raise_protocol.called is (upgraded and not kraft)


def double_failover_of_upgrades() -> Scenario:
    return get_scenario("upgrade-double-failover")


@pytest.mark.parametrize(
    ("version", "case", "required", "words"),
    [
        ("0.10.2.2", "upgraded", {"lost-write"}, "until the last replica uses protocol 0.11"),
        ("0.10.2.2-to-2.0.1", "upgraded", {"lost-write"}, "until the last replica uses protocol 0.11"),
        ("0.10.2.2-to-2.2.2", "upgraded", {"lost-write"}, "until the message format is raised"),
        ("0.10.0.1-to-0.10.2.2", "upgraded", {"lost-write"}, "lost at every stage"),
        ("0.10.2.2-to-2.2.2", "restarted", {"lost-write"}, "Without the upgrade"),
        ("2.4.1-to-2.8.1", "upgraded", set(), "survives two clean elections at every stage"),
        ("3.7.1-kraft-to-4.2.2", "upgraded", set(), "survives two clean elections at every stage"),
    ],
)
def test_what_is_documented_of_a_pair_follows_from_its_releases(
    version: str, case: str, required: set[str], words: str
) -> None:
    documented = double_failover_of_upgrades().documented_for(versions.get(version), case)
    assert documented.required == required
    assert words in documented.sentence


@pytest.mark.parametrize(
    ("version", "case", "applies"),
    [
        ("2.4.1-to-2.8.1", "after-raising", True),
        ("2.8.1-to-2.8.2", "after-raising", False),
        ("2.8.1-to-2.8.2", "before-raising", True),
        ("0.9.0.1-to-1.1.1", "before-raising", False),
        ("0.10.0.1-to-1.1.1", "before-raising", True),
        ("2.8.2", "after-raising", True),
        ("2.8.1", "after-raising", False),
    ],
)
def test_a_case_that_cannot_be_shown_on_a_pair_does_not_apply(version: str, case: str, applies: bool) -> None:
    made = get_scenario("upgrade-downgrade")
    assert made.applies_to(versions.get(version), made.case(case)) is applies


def test_the_preferred_leader_is_asked_for_when_all_replicas_are_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request for one that is not does nothing, and is answered all the same."""
    for word in ("leader_dies", "heir_dies"):
        monkeypatch.setattr(f"scenarios.truncation.double_failover.{word}", lambda *_, **__: None)
    made = MagicMock(version=versions.get("2.4.1-to-2.8.1"))
    made.replicas_of.return_value = [MagicMock(), MagicMock(), MagicMock()]
    made.log_end_and_high_watermark.return_value = (4, 4)
    double_failover.two_leaders_die(made, Partition("t", 0), lost=False)
    words = [name for name, *_ in made.method_calls]
    assert words.index("wait_isr") < words.index("elect_preferred_leader")
