"""What steps hold Kafka to, on a stage on which it is not so: a duty that is not done, and no precondition."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from harness.cluster import versions
from harness.run import DutyNotDone, PreconditionNotHeld
from scenarios.controller import zombie_controller
from scenarios.durability import memory_survives
from scenarios.partition import controller_isolated
from scenarios.truncation import double_failover as the_same_two_deaths
from scenarios.upgrade import double_failover

BROKERS = [SimpleNamespace(id=number, node=SimpleNamespace(name=f"broker-{number}")) for number in (1, 2, 3, 4)]
ONE, TWO, THREE, FOUR = BROKERS


def a_stage(version: str = "4.3.1", *, controller: Any = FOUR, isr: tuple[int, ...] = (1, 2, 3), **ends: int) -> Any:
    """A run whose waits all end at once; `ends` says where the logs of its brokers end."""

    def told(_name: str, held: bool, **_: object) -> None:
        if not held:
            raise PreconditionNotHeld(_name)

    def owed(name: str, held: bool, **_: object) -> None:
        if not held:
            raise DutyNotDone(name)

    run = MagicMock(version=versions.get(version))
    run.require.side_effect, run.claim.side_effect = told, owed
    run.controller.return_value = controller
    run.leader_of.return_value, run.followers_of.return_value = ONE, [TWO, THREE]
    run.replicas_of.return_value = [ONE, TWO, THREE]
    run.state_of.return_value = SimpleNamespace(isr=isr)
    run.vary.return_value = 10
    run.load.return_value.__enter__.return_value.acked_in_all.return_value = 90
    run.log_end_and_high_watermark.side_effect = lambda one, _t: (ends.get(f"end_{one.id}", 100), 0)
    return run


def two_followers(run: Any) -> Any:
    run.followers_of.return_value = [TWO]
    return run


@pytest.mark.parametrize(
    ("steps", "run"),
    [
        (memory_survives.killed, a_stage(end_2=99)),
        (controller_isolated.controller_isolated.steps, a_stage("3.9.2-zk")),
        (zombie_controller.old_view, two_followers(a_stage("3.9.2-zk"))),
    ],
)
def test_what_kafka_breaks_is_a_duty_that_is_not_done(steps: Callable[[Any], None], run: Any) -> None:
    with pytest.raises(DutyNotDone):
        steps(run)


def test_what_holds_is_said() -> None:
    for end_2, isr in ((100, (1, 2, 3)), (50, (1, 3))):  # who had left the ISR need not have it
        run = a_stage(isr=isr, end_2=end_2)
        memory_survives.killed(run)
        (told,) = run.claim.call_args_list
        assert told.kwargs["witness"] == "files"
    for steps, version in (
        (controller_isolated.controller_isolated.steps, "3.9.2-zk"),
        (zombie_controller.old_view, "3.9.2-zk"),
    ):
        run = a_stage(version)
        run.controller.side_effect = [FOUR, ONE]
        if steps is zombie_controller.old_view:
            two_followers(run)
        assert steps is not None
        steps(run)
        (told,) = run.claim.call_args_list
        assert told.kwargs["witness"] == "metadata"


def test_a_quorum_may_elect_its_old_leader_again() -> None:
    steps = controller_isolated.controller_isolated.steps
    assert steps is not None
    run = a_stage("4.3.1", controller=FOUR)
    steps(run)
    assert not run.claim.called


def test_a_follower_that_truncates_by_epoch_has_the_acknowledged_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_same_two_deaths, "leader_dies", MagicMock())
    monkeypatch.setattr(the_same_two_deaths, "heir_dies", MagicMock())

    def dies(*, lost: bool, kept: bool) -> Any:
        run = a_stage(end_3=100 + kept)
        run.wait_leader.return_value = ONE
        double_failover.two_leaders_die(run, MagicMock(), lost=lost)
        return run

    dies(lost=False, kept=True)
    dies(lost=True, kept=False)
    with pytest.raises(DutyNotDone):
        dies(lost=False, kept=False)
    with pytest.raises(PreconditionNotHeld):
        dies(lost=True, kept=True)
