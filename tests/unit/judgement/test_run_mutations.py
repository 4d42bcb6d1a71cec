"""A run directory damaged at random: a verdict or a refusal, never a traceback, and never a pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.properties import examples
from tests.sabotage.mutations import fuzz
from tests.unit.rehearsal import Stage, judged, rehearse
from tests.unit.test_runner import leader_dies

pytestmark = pytest.mark.slow

MUTATIONS = examples(40)


def test_a_damaged_run_is_not_passed_and_never_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = rehearse(Stage(), tmp_path / "runs", leader_dies, monkeypatch).run_dir
    assert judged(run_dir).verdict == "as-documented"
    seen, wrong = fuzz([run_dir], MUTATIONS, tmp_path)
    assert wrong == []
    assert seen["unknown"] > MUTATIONS / 4
    assert seen.total() == MUTATIONS
