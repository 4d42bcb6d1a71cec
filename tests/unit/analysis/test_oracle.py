"""Checks against definitions read as they stand (tests.unit.analysis.oracle), on histories at random.

python -m tests.unit.analysis.test_oracle 3000     as many histories as wanted
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from analysis import jsonl_keys, partition
from analysis.check import check_run
from analysis.jsonl import check_history
from analysis.jsonl_reader import read
from evidence.findings import Findings
from evidence.history.seal import seal_run
from evidence.rundir import RunDir, read_json, write_json
from tests.properties import examples
from tests.unit.analysis.oracle import KEYS, ORACLE, History, Line, anomalies, generate
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import Row, asked_end, assigned, final_read, polled, sent

pytestmark = pytest.mark.slow

WHAT: Final = {"lost-write": "value", "duplicate": "value"}
"""What of a row of evidence the oracle names; of the others it is the offset."""


def checked(lines: list[Line], folder: Path) -> Findings:
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check_history(path)


def compared(findings: Findings) -> dict[tuple[str, str | None], list[int]]:
    """What the checks found, in the form of the oracle."""
    return {
        (one.anomaly, one.topic): sorted(row.detail.get(WHAT.get(one.anomaly, ""), row.offset) for row in one.evidence)
        for one in findings.findings
        if one.anomaly in ORACLE
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
        if compared(found) != expected or any(one.status != "ok" for one in found.checks):
            wrong.append(f"seed {seed}: found {compared(found)}, expected {expected}\n" + "\n".join(map(str, lines)))
    return wrong, seen


def test_checks_find_what_the_definitions_say(tmp_path: Path) -> None:
    wrong, seen = differing(range(examples(250)), tmp_path)
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


def test_a_trivially_clean_key_has_nothing_that_the_checks_would_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, skipped = jsonl_keys._trivially_clean, 0
    for seed in range(examples(400)):
        chance = random.Random(seed)
        lines = _timed(generate(chance)[0], chance)
        results = []
        for clean in (quick, lambda *_: False):
            monkeypatch.setattr(jsonl_keys, "_trivially_clean", clean)
            found = checked(lines, tmp_path)
            results.append((found.findings, found.problems, found.statistics, found.real_time_lag))
        assert results[0] == results[1], f"seed {seed}"
        others = read(tmp_path / "history.jsonl")
        told = (one for key in others.keys.values() for one in jsonl_keys.unknown_sends(key, others).items())
        settled = jsonl_keys.settled_by(told)
        skipped += sum(quick(key, others, settled) for key in others.keys.values())
    assert skipped > examples(400) // 20


def _as_run(root: Path, history: History) -> RunDir:
    """The same history as the recorders of a run write it; lines for times. What a process does within a transaction
    has its own outcome there, and reads are in none.
    """
    histories: dict[str, list[Row]] = {name: [] for name in ("w1", "w2", "r1", "r2", "dirty")}
    numbers = {key: number for number, key in enumerate(KEYS)}
    resets = sorted(history.resets, key=lambda reset: reset[0])
    for operation in history.operations:
        rows = histories[operation.process]
        common: Row = {"invoked_ns": operation.line, "completed_ns": operation.line, "op": operation.line}
        while resets and resets[0][0] <= operation.line:
            line, process, key = resets.pop(0)
            histories[process] += [
                assigned(reader=process) | {"op": line, "partition": number}
                for of_key, number in numbers.items()
                if key in (None, of_key)
            ]
        within = {"transaction": operation.line} if operation.transaction else {}
        for key, value, offset in operation.sent:
            own = operation.outcome if not within else "ok"
            row = sent(value, offset, own, producer=1 + int(operation.process == "w2"))
            rows.append(row | common | within | {"partition": numbers[key]})
        for key, records in operation.given:
            for offset, value in records:
                producer = next((1 + int(op.process == "w2") for op, of, _ in history.sends(key) if of == value), 1)
                row = polled(offset, value, producer=producer, outcome=operation.outcome)
                rows.append(row | common | {"partition": numbers[key]})
        if operation.sent and within:
            kind = "abort" if operation.outcome == "fail" else "commit"
            outcome = "info" if operation.outcome == "info" else "ok"
            ended: Row = {"kind": kind, "outcome": outcome, "topic": None, "partition": None}
            rows.append(common | within | ended)
    for key, ends in history.ends.items():
        for line, end in ends:
            place: Row = {"process": "dirty", "partition": numbers[key], "op": line}
            histories["dirty"] += [asked_end(end, line) | place, final_read(end) | place]
    run_dir = make_run(root, histories, partitions=len(KEYS))
    facts = read_json(run_dir.run_json)
    for process in facts["processes"]:
        process["settings"] = {"isolation.level": "read_uncommitted"} if process["name"] == "dirty" else {}
    write_json(run_dir.run_json, facts)
    seal_run(run_dir)
    return run_dir


def _single(history: History) -> History:
    """Without operations of several sends that are no transactions: those of a run are one record each."""
    kept = [one for one in history.operations if one.transaction or len(one.sent) < 2]
    return replace(history, operations=kept)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[RunDir, dict[tuple[str, int], list[int]]]]:
    """Run directories of random histories, each with the rows of every anomaly, by its name and partition."""
    made, root = [], tmp_path_factory.mktemp("runs")
    for seed in range(examples(150)):
        history = _single(generate(random.Random(seed))[1])
        expected = {(name, KEYS.index(key)): rows for (name, key), rows in anomalies(history, KEYS).items()}
        made.append((_as_run(root / str(seed), history), expected))
    return made


@pytest.mark.parametrize("large", [False, True], ids=["whole", "screened"])
def test_runs_are_checked_by_the_same_definitions(
    runs: list[tuple[RunDir, dict[tuple[str, int], list[int]]]], monkeypatch: pytest.MonkeyPatch, *, large: bool
) -> None:
    monkeypatch.setattr(partition, "LARGE_ROWS", 0 if large else 2**60)
    seen = Counter[str]()
    for run_dir, expected in runs:
        findings = check_run(run_dir)
        found = {
            (one.anomaly, one.partition): sorted(
                row.records[0].sequence if one.anomaly in WHAT else row.offset or 0 for row in one.evidence
            )
            for one in findings.findings
            if one.anomaly in ORACLE
        }
        assert found == expected, f"seed {run_dir.path.name}"
        seen.update(name for name, _ in expected)
    assert set(seen) == set(ORACLE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        disagreements, anomalous = differing(range(int(sys.argv[1])), Path(scratch))
    print(f"{len(disagreements)} disagree; {dict(anomalous)}", *disagreements[:3], sep="\n")
