"""Checks against definitions read as they stand (tests.unit.analysis.oracle), on histories at random.

python -m tests.unit.analysis.test_oracle 3000     as many histories as wanted
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from analysis import jsonl
from analysis.jsonl import check_history
from analysis.others import read
from tests.unit.analysis.oracle import KEYS, ORACLE, Line, anomalies, generate

WHAT: Final = {"lost-write": "value", "duplicate": "value"}
"""What of a row of evidence the oracle names; of the others it is the offset."""


def checked(lines: list[Line], folder: Path) -> dict[str, Any]:
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check_history(path)


def compared(findings: dict[str, Any]) -> dict[tuple[str, str], list[int]]:
    """What the checks found, in the form of the oracle."""
    return {
        (one["anomaly"], one["topic"]): sorted(row[WHAT.get(one["anomaly"], "offset")] for row in one["evidence"])
        for one in findings["findings"]
        if one["anomaly"] in ORACLE
    }


def differing(seeds: range, folder: Path) -> tuple[list[str], Counter[str]]:
    """Where the two disagree, and how often each anomaly was there at all."""
    wrong, seen = [], Counter[str]()
    for seed in seeds:
        lines, history = generate(random.Random(seed))
        expected = anomalies(history, KEYS)
        found = checked(lines, folder)
        seen.update(name for name, _ in expected)
        seen["none"] += not expected
        if compared(found) != expected or any(one["status"] != "ok" for one in found["checks"]):
            wrong.append(f"seed {seed}: found {compared(found)}, expected {expected}\n" + "\n".join(map(str, lines)))
    return wrong, seen


def test_checks_find_what_the_definitions_say(tmp_path: Path) -> None:
    wrong, seen = differing(range(250), tmp_path)
    assert wrong == []
    assert set(seen) == {*ORACLE, "none"}


def _timed(lines: list[Line], chance: random.Random) -> list[Line]:
    """The lines with times, and polls with invocations, so that consumers wait."""
    result, now = [], 0
    for line in lines:
        now += chance.randrange(50)
        if line["f"] == "poll":
            result.append({"process": line["process"], "type": "invoke", "f": "poll", "time": now})
            now += chance.randrange(50)
        result.append(line | ({"time": now} if chance.random() < 0.95 else {}))
    return result


def test_an_orderly_key_has_nothing_that_the_checks_would_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, skipped = jsonl._orderly, 0
    for seed in range(400):
        chance = random.Random(seed)
        lines = _timed(generate(chance)[0], chance)
        results = []
        for orderly in (quick, lambda *_: False):
            monkeypatch.setattr(jsonl, "_orderly", orderly)
            found = checked(lines, tmp_path)
            results.append({name: found[name] for name in ("findings", "problems", "statistics", "real_time_lag")})
        assert results[0] == results[1], f"seed {seed}"
        others = read(tmp_path / "history.jsonl")
        skipped += sum(quick(key, others, jsonl._settled(others)) for key in others.keys.values())
    assert skipped > 20


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        disagreements, anomalous = differing(range(int(sys.argv[1])), Path(scratch))
    print(f"{len(disagreements)} disagree; {dict(anomalous)}", *disagreements[:3], sep="\n")
