"""A limit lasts as much longer as some process waited for a CPU, up to four of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.load import held_up_us
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


def test_what_holds_everybody_up_is_counted_too(tmp_path: Path) -> None:
    for resource, some, full in (("cpu", 1, 10), ("memory", 100, 1_000), ("io", 10_000, 100_000)):
        lines = [
            f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={us}" for kind, us in (("some", some), ("full", full))
        ]
        (tmp_path / resource).write_text("\n".join(lines) + "\n")
    assert held_up_us(tmp_path) == 101_001
    assert held_up_us(tmp_path / "none") == 0
