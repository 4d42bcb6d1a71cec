"""Work done ahead by threads: results in order, not too many of them at once, errors in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from analysis.prefetch import in_order


@pytest.mark.parametrize("ahead", [True, False])
def test_results_come_in_order(ahead: bool) -> None:
    assert list(in_order((partial(int, str(one)) for one in range(100)), ahead=ahead)) == list(range(100))


def test_work_is_begun_ahead_and_no_more_than_may_wait() -> None:
    asked = []

    def work() -> Iterator[Callable[[], int]]:
        for one in range(10_000):
            asked.append(one)
            yield partial(int, one)

    assert next(in_order(work(), ahead=True)) == 0
    assert 1 < len(asked) < 1_000


@pytest.mark.parametrize("ahead", [True, False])
def test_what_work_raises_comes_in_its_place(ahead: bool) -> None:
    found = in_order((partial(int, word) for word in ("1", "two", "3")), ahead=ahead)
    assert next(found) == 1
    with pytest.raises(ValueError, match="two"):
        next(found)
