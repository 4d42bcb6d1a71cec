"""Intervals and the sequential test, held to values of tables and to their own definition."""

from __future__ import annotations

import math

import pytest

from judgement import sampling


@pytest.mark.parametrize(
    ("otherwise", "runs", "bound"),
    [
        (0, 1, 0.95),  # without a contradiction it is 1 - 0.05 ** (1 / n)
        (0, 5, 1 - 0.05 ** (1 / 5)),
        (0, 20, 1 - 0.05 ** (1 / 20)),
        (0, 299, 1 - 0.05 ** (1 / 299)),
        (1, 10, 0.3942),  # Clopper and Pearson's tables, one-sided 95 %
        (2, 20, 0.2826),
        (5, 20, 0.4556),
        (3, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_the_interval_is_exact(otherwise: int, runs: int, bound: float) -> None:
    assert sampling.at_most(otherwise, runs) == pytest.approx(bound, abs=5e-5)


@pytest.mark.parametrize(("otherwise", "runs"), [(0, 7), (1, 9), (4, 30), (2, 13)])
def test_at_the_bound_so_few_are_seen_in_one_of_twenty_attempts(otherwise: int, runs: int) -> None:
    p = sampling.at_most(otherwise, runs)
    chance = sum(math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(otherwise + 1))
    assert chance == pytest.approx(0.05, abs=1e-9)


def test_a_share_is_never_told_less_than_it_is() -> None:
    assert [sampling.percent(share) for share in (0.1391, 0.14, 0.140001, 0.0, 1.0)] == [
        "14 %",
        "14 %",
        "15 %",
        "0 %",
        "100 %",
    ]


def test_the_sequential_test_errs_as_seldom_as_it_says() -> None:
    """Followed to its end for both hypotheses, by all ways that it can go."""

    def errs(p: float, wrong: str) -> float:
        states, found = {(0, 0): 1.0}, 0.0
        for _ in range(600):
            following: dict[tuple[int, int], float] = {}
            for (good, bad), chance in states.items():
                for step, share in (((good + 1, bad), 1 - p), ((good, bad + 1), p)):
                    decision = sampling.decided(*step)
                    found += chance * share * (decision == wrong)
                    if not decision:
                        following[step] = following.get(step, 0.0) + chance * share
            states = following
        return found

    assert errs(sampling.RARE, "often") <= 0.05
    assert errs(sampling.OFTEN, "rare") <= 0.05


def test_runs_that_are_missing_decide_the_cell() -> None:
    for good, bad in ((0, 0), (5, 0), (29, 1), (11, 1)):
        more = sampling.missing(good, bad, racy=True)
        assert sampling.decided(good + more, bad) == "rare"
        assert sampling.decided(good + more - 1, bad) == ""
    assert sampling.missing(3, 2, racy=True) == 0


def test_a_contradiction_makes_any_cell_racy() -> None:
    assert sampling.missing(5, 0, racy=False) == 0
    assert sampling.missing(5, 1, racy=False) == sampling.missing(5, 1, racy=True) > 0
