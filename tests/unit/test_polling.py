"""Asking again: what satisfies ends it, the time is a limit, and the last answer is what comes back."""

from __future__ import annotations

from harness.polling import poll


def test_the_first_answer_that_satisfies_comes_back() -> None:
    answers = iter([0, 1, 2, 3])
    assert poll(lambda: next(answers), 60, until=lambda answer: answer >= 2, every_s=0) == 2
    assert next(answers) == 3


def test_what_is_true_satisfies_if_nothing_else_is_said() -> None:
    answers = iter(["", None, "here"])
    assert poll(lambda: next(answers), 60, every_s=0) == "here"


def test_the_last_answer_comes_back_when_the_time_is_over() -> None:
    assert poll(lambda: "not yet", 0.0, until=lambda answer: answer == "here") == "not yet"
