"""Large histories of others: in whatever parts a history is checked, one process finds the same in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from analysis import large_history
from analysis.jsonl import check_history
from analysis.large_history import PartCounts
from evidence.errors import UsageError
from evidence.findings import Findings
from tests.findings import timeless
from tests.properties import examples
from tests.unit.analysis.histories_of_others import as_bytes, checked_in_parts, history
from tests.unit.analysis.test_jsonl_mutations import mutated

pytestmark = pytest.mark.slow


def alike(path: Path, chance: Random) -> Findings | None:
    """What one process finds, which parts must find as well; None if both refuse the file."""
    parts = PartCounts(chance.randrange(1, 4), chance.randrange(1, 5))
    range_bytes = chance.choice([1, 40, 300, 1 << 20])
    whole, apart = of(lambda: check_history(path)), of(lambda: checked_in_parts(path, parts, range_bytes))
    if isinstance(whole, str) or isinstance(apart, str):
        assert whole == apart
        return None
    assert timeless(apart) == timeless(whole)
    assert apart.problems == whole.problems
    return whole


def of(check: Callable[[], Findings]) -> Findings | str:
    """The findings, or the words of the refusal."""
    try:
        return check()
    except UsageError as refusal:
        return str(refusal)


@pytest.mark.parametrize("together", [1, 100])
def test_parts_find_what_one_process_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: int) -> None:
    monkeypatch.setattr(large_history, "LINES_TOGETHER", together)
    monkeypatch.setattr(large_history, "ROWS_TOGETHER", together)
    path, seen = tmp_path / "history.jsonl", Counter[str]()
    for seed in range(examples(400)):
        chance = Random(seed)
        path.write_bytes(as_bytes(history(chance)))
        findings = alike(path, chance)
        assert findings is not None
        seen.update(one.anomaly for one in findings.findings)
        seen.update(one.what for one in findings.problems)
        seen["lag"] += findings.real_time_lag is not None
    assert seen.keys() >= {
        *("lost-write", "unseen", "aborted-read", "internal-poll-skip", "nonmonotonic-poll", "torn-transaction"),
        *("skipped-processing", "lag", "overlapping operations"),
    }, seen


def test_parts_refuse_the_lines_that_one_process_refuses(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for seed in range(examples(500)):
        chance = Random(seed)
        path.write_bytes(mutated(chance))
        alike(path, chance)
