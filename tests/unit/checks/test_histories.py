"""Every registered check and claim has a history that shows it and one that does not.

The tests of checks are run once more with a plugin that watches what the functions come to (recorder.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checks import catalogue, claims
from checks.claims import CONTRADICTED, HELD

ROOT = Path(__file__).parents[3]
TESTS = (
    "tests/unit/checks",
    "tests/unit/analysis/test_replicas.py",
    "tests/unit/analysis/test_misdelivered.py",
    "tests/unit/evidence/test_watermark_steps.py",
)
NEVER_CONTRADICTED = {
    "unknown-record-comes-late": "one that is not written afterwards was written before, or is lost: neither is wrong",
}


@pytest.mark.slow
def test_every_check_and_every_claim_has_a_positive_and_a_negative_history(tmp_path: Path) -> None:
    written = tmp_path / "seen.json"
    own = ("test_histories.py", "test_guides.py", "test_catalogue.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.unit.checks.recorder"]
    command += [*TESTS, *(f"--ignore=tests/unit/checks/{name}" for name in own)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"KAFKA_CHAOS_RECORDED": str(written), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-3000:]
    seen = {(name, outcome) for name, outcome in json.loads(written.read_text())}
    wanted = {
        (f"{name} ({check.function.__name__})", outcome)
        for name, entry in catalogue.CATALOGUE.items()
        for check in entry.checks
        for outcome in ("found", "not found")
    }
    wanted |= {(name, outcome) for name in claims.CATALOGUE for outcome in (HELD, CONTRADICTED)}
    assert sorted(wanted - seen) == sorted((name, CONTRADICTED) for name in NEVER_CONTRADICTED)
