"""A silent step says what it waits for, and no longer than it lasts."""

from __future__ import annotations

import threading

from harness.setup.waiting import saying

LIMIT_S = 30.0


def test_a_long_step_speaks_until_it_is_over() -> None:
    said: list[str] = []
    twice = threading.Event()

    def echo(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            twice.set()

    with saying(echo, "building", every_s=0.001):
        assert twice.wait(LIMIT_S)
    lines = list(said)
    assert lines[0] == "still building, 0 s"
    assert not [thread for thread in threading.enumerate() if thread.name == "saying: building"]
    assert said == lines


def test_a_short_step_says_nothing() -> None:
    said: list[str] = []
    with saying(said.append, "building", every_s=LIMIT_S):
        pass
    assert said == []
