"""What `make sabotage` runs is there: its programs are modules that can be run, and scenarios have the cases."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.scenario import get_scenario
from tests.sabotage import live


@pytest.mark.parametrize("case", live.CASES, ids=lambda case: case.name)
def test_the_run_of_a_case_can_begin(case: live.Live) -> None:
    words = live.command(case, Path("runs"))
    program = words[words.index("-m") + 1]
    assert find_spec(program if case.bug else f"{program}.__main__") is not None
    assert not case.case or case.case in get_scenario(case.scenario).cases
