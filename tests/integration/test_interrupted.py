"""Some of the sabotage of the harness itself (tests/sabotage/interrupted.py); `make sabotage` does all of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sabotage import interrupted

pytestmark = [pytest.mark.docker, pytest.mark.spark]
CHOSEN = (
    "Ctrl-C 50 ms after the beginning",
    "Ctrl-C during create, 250 ms in",
    "SIGHUP during create",
    "SIGHUP in the steps",
    "Ctrl-C 0 ms after “complete”",
    "kill -9 during create",
    "kill -9 while an application stands still",
    "Ctrl-C with file systems mounted",
    "kill -9 with file systems mounted",
    "disk full when the topic is there",
    "no engine during create",
)


@pytest.fixture(autouse=True)
def hangups_are_heard() -> Iterator[None]:
    """As in a terminal: under nohup runs would heed it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "case",
    [case for case in interrupted.CASES if case.name in CHOSEN and case.version == "4.3.1"],
    ids=lambda c: c.name,
)
def test_nothing_is_left_and_what_happened_is_said(case: interrupted.Case, tmp_path: Path) -> None:
    if case.small_disk and os.geteuid():
        pytest.skip("only root makes a disk of its own")
    outcome = interrupted.carry_out(case, tmp_path)
    assert outcome.wrong == [], outcome


def test_every_chosen_case_is_there() -> None:
    assert {case.name for case in interrupted.CASES} >= set(CHOSEN)
