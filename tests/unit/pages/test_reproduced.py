"""What pages tell of runs; the counting is in test_guide.py."""

from __future__ import annotations

from pages.reproduced import without_place


def test_no_page_names_a_directory_of_the_machine_that_ran_it() -> None:
    told = "is full: '/home/me/runs.1/the-run-1/data/broker-1'; /home/me/runs.1/the-run-12/data stays"
    shown = "is full: 'data/broker-1'; /home/me/runs.1/the-run-12/data stays"
    assert without_place(told, "the-run-1") == shown
