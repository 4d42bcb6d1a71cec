"""A limit lasts as much longer as some process waited for a CPU, up to four of it."""

from __future__ import annotations

import pytest

from harness.patience import Patience


class Machine:
    """A clock, and for how long somebody has waited for a CPU by it."""

    def __init__(self) -> None:
        self.now_s, self.waited_s = 100.0, 7.0

    def pass_by(self, seconds: float, waited: float) -> None:
        self.now_s += seconds
        self.waited_s += waited

    def patience(self, limit_s: float) -> Patience:
        return Patience(limit_s, lambda: round(self.waited_s * 1e6), lambda: self.now_s)


@pytest.mark.parametrize(
    ("waited_s", "left_s"),
    [(0.0, -1.0), (0.5, -0.5), (1.5, 0.5), (31.0, 30.0)],
    ids=["nobody waited", "too little", "enough", "all the time"],
)
def test_what_was_waited_is_not_counted(waited_s: float, left_s: float) -> None:
    machine = Machine()
    patience = machine.patience(30.0)
    machine.pass_by(31.0, waited_s)
    assert patience.left_s == pytest.approx(left_s)


def test_what_was_waited_before_it_began_is_none_of_its() -> None:
    machine = Machine()
    machine.pass_by(50.0, 50.0)
    patience = machine.patience(30.0)
    assert patience.left_s == 30.0


def test_nothing_lasts_more_than_four_limits() -> None:
    machine = Machine()
    patience = machine.patience(30.0)
    machine.pass_by(120.5, 120.5)
    assert patience.left_s == pytest.approx(-0.5)
    assert patience.lasted_s == 120.0


def test_a_limit_that_was_not_made_longer_is_told_as_it_is() -> None:
    machine = Machine()
    patience = machine.patience(30.0)
    machine.pass_by(30.01, 0.0)
    assert patience.lasted_s == 30.0
