"""The data that defaults are held against is what the clients still say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data" / "audit" / "effective.json"


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.10.2.2", "2.8.2", "4.3.1"])
def test_the_producer_itself_says_what_the_data_has(release: str) -> None:
    command = [sys.executable, "-m", "tests.integration.make_effective", release]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout
    told = json.loads(said.splitlines()[-1])[release]
    kept = json.loads(DATA.read_text())["releases"][release]
    assert sorted(map(json.dumps, told)) == sorted(map(json.dumps, kept))
