"""Exact tests against printed tables and against every choice counted one by one; and how often chance is told."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from judgement import difference
from judgement.difference import CountedRuns, Significance, Timed, counts, effect, ranks, significant


def test_fishers_tea() -> None:
    # Fisher, The Design of Experiments, 1935: all of four cups of eight are named by one chance of 70.
    assert counts([CountedRuns(0, 4, 4, 4)]).p == pytest.approx(1 / 70)
    assert counts([CountedRuns(1, 4, 3, 4)]).p == pytest.approx(17 / 70)
    assert counts([CountedRuns(0, 9, 0, 7)]) == Significance(1.0, 1.0)


def test_strata_add_up() -> None:
    one = CountedRuns(0, 5, 5, 5)
    assert counts([one]).p == pytest.approx(1 / 252)
    assert counts([one, one]).p == pytest.approx(1 / 252**2)
    assert counts([CountedRuns(0, 20, 0, 5), one]).p == counts([one]).p


def every_choice(old: list[float], new: list[float]) -> float:
    both = old + new
    rank = [sum(v < w for v in both) + (sum(v == w for v in both) + 1) / 2 for w in both]
    seen = sum(rank[len(old) :])
    sums = [sum(rank[i] for i in chosen) for chosen in combinations(range(len(both)), len(new))]
    low, high = (sum(s <= seen for s in sums), sum(s >= seen for s in sums))
    return min(1.0, 2 * min(low, high) / len(sums))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]),
        ([3.0, 1.0, 4.0, 1.0, 5.0], [9.0, 2.0, 6.0, 5.0, 3.0, 5.0]),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ([2.0, 2.0, 7.0], [1.0, 2.0]),
    ],
)
def test_rank_sums_are_those_of_every_choice(old: list[float], new: list[float]) -> None:
    assert ranks([Timed(old, new)]).p == pytest.approx(every_choice(old, new))
    assert ranks([Timed(new, old)]).p == pytest.approx(every_choice(old, new))


def test_a_large_sample_is_approximated_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    old, new = ([draw.gauss(mean, 1) for _ in range(12)] for mean in (0.0, 2.5))
    exact = ranks([Timed(old, new)])
    monkeypatch.setattr(difference, "EXACT", 0)
    rough = ranks([Timed(old, new)])
    assert exact.p <= rough.p <= 0.01
    assert ranks([Timed([1.0] * 9, [1.0] * 9)]) == Significance(1.0, 1.0)


def test_what_cannot_be_told_makes_nothing_harder() -> None:
    nothing = [(f"n{number}", Significance(1.0, 1.0)) for number in range(750)]
    assert significant([*nothing, ("a", Significance(0.004, 0.004))], 0.01) == {"a": 0.004}
    likely = [(f"n{number}", Significance(0.5, 1e-9)) for number in range(750)]
    assert significant([*likely, ("a", Significance(0.004, 0.004))], 0.01) == {}
    assert significant([*likely, ("a", Significance(1e-6, 1e-9))], 0.01) == {"a": pytest.approx(751e-6)}


def test_holm_goes_on_after_the_first() -> None:
    found = significant(
        [("a", Significance(0.001, 0.0)), ("b", Significance(0.02, 0.0)), ("c", Significance(0.9, 0.0))], 0.05
    )
    assert found == {"a": pytest.approx(0.003), "b": pytest.approx(0.04)}


def test_an_effect_is_of_medians_with_the_greater_spread() -> None:
    one = effect([Timed([1.0, 2.0, 3.0], [4.0, 5.0, 9.0])])
    assert (one.old, one.new, one.longer) == (2.0, 5.0, 1.0)
    assert one.spread == pytest.approx(1.4826)
    assert one.matters(0.2, 2.0)
    assert not one.matters(0.2, 2.1)
    assert not one.matters(1.6, 2.0)


def test_chance_is_told_no_more_often_than_stated() -> None:
    """400 families of 40 tests on samples of one distribution: at most a share LEVEL tells anything."""
    draw, level, alarms, rounds = random.Random(7), 0.05, 0, 400
    for _ in range(rounds):
        tests = []
        for number in range(40):
            rate = draw.choice((0.0, 0.02, 0.2, 0.5))
            old, new = (sum(draw.random() < rate for _ in range(runs)) for runs in (20, 6))
            tests.append((number, counts([CountedRuns(old, 20, new, 6)])))
        alarms += bool(significant(tests, level))
    # 31 would be passed by chance once in a hundred if the rate were the stated one.
    assert alarms <= 31


def test_chance_is_told_of_times_no_more_often_than_stated() -> None:
    draw, level, alarms, rounds = random.Random(8), 0.05, 0, 100
    for _ in range(rounds):
        tests = []
        for number in range(8):
            old, new = ([draw.lognormvariate(0, 0.5) for _ in range(runs)] for runs in (9, 6))
            tests.append((number, ranks([Timed(old, new)])))
        alarms += bool(significant(tests, level))
    assert alarms <= 11
