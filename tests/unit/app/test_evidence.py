"""The small evidence of a run, and the same command again."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from app import evidence
from app.cli import main
from app.commands import replay
from evidence import ledger
from evidence.errors import UsageError
from evidence.ledger import Packed
from evidence.rundir import RunDir
from judgement.report import facts
from tests.ledgers import restored, started
from tests.unit.judgement.report import synthetic


@pytest.fixture
def lost(tmp_path: Path) -> RunDir:
    run_dir = synthetic.double_failover_lost(tmp_path / "runs")
    partition = run_dir.sealed_partition("t", 0, "producer-1")
    partition.parent.mkdir(parents=True, exist_ok=True)
    partition.write_bytes(b"what was sent")
    run_dir.sealed_partition("t", 1, "producer-1").parent.mkdir(parents=True, exist_ok=True)
    run_dir.sealed_partition("t", 1, "producer-1").write_bytes(b"of another partition")
    facts.judge_run(run_dir)
    return run_dir


def names(bundle: evidence.Bundle) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(bundle.data), mode="r:xz") as tar:
        return {name.partition("/")[2] for name in tar.getnames()}


def test_it_has_what_the_verdict_rests_on_and_the_histories_of_what_was_lost(lost: RunDir) -> None:
    found = names(evidence.pack(lost))
    assert {"run.json", "verdict.json", "findings/findings.json", "timeline.jsonl"} <= found
    assert "history/sealed/topic=t/partition=0/producer-1.parquet" in found
    assert not any("partition=1" in name or name.startswith(("replicas", "logs")) for name in found)


def test_without_a_loss_there_are_no_histories(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    facts.judge_run(run_dir)
    assert not any(name.startswith("history") for name in names(evidence.pack(run_dir)))


def test_the_same_files_give_the_same_bytes(lost: RunDir, tmp_path: Path) -> None:
    first = evidence.pack(lost)
    copy = RunDir(Path(shutil.copytree(lost.path, tmp_path / "copy" / lost.path.name)))
    os.utime(copy.timeline, (1, 1))
    copy.run_json.chmod(0o600)
    assert evidence.archive(copy, [copy.timeline, copy.run_json]) == evidence.archive(
        lost, [lost.run_json, lost.timeline]
    )
    assert evidence.pack(lost).digest == first.digest == hashlib.sha256(first.data).hexdigest()


def test_what_has_no_room_is_named_and_nothing_is_cut(lost: RunDir) -> None:
    whole = evidence.pack(lost)
    lost.sealed_partition("t", 0, "producer-1").write_bytes(os.urandom(50_000))
    facts.judge_run(lost)
    less = evidence.pack(lost, len(whole.data) + 1000)
    assert less.left_out == ("history/sealed/topic=t/partition=0/producer-1.parquet",)
    assert names(less) >= {"timeline.jsonl", evidence.LEFT_OUT}
    with pytest.raises(UsageError, match="more than 10"):
        evidence.pack(lost, 10)


def test_a_run_without_a_verdict_or_with_other_files_is_refused(lost: RunDir) -> None:
    lost.verdict.unlink()
    with pytest.raises(UsageError, match="has no verdict"):
        evidence.pack(lost)


def test_the_digest_is_printed_and_entered_once(
    lost: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = lost.path.parent / ledger.FILE
    ledger.append(place, started(lost.path.name))
    for _ in range(2):
        assert main(["evidence", str(lost.path), "--out", str(tmp_path / "e.tar.xz")]) == 0
    digest = hashlib.sha256((tmp_path / "e.tar.xz").read_bytes()).hexdigest()
    assert capsys.readouterr().out.startswith(f"{digest}  {tmp_path / 'e.tar.xz'} (")
    (packed,) = [line for _, line in ledger.read(place) if isinstance(line, Packed)]
    assert (packed.run, packed.digest) == (lost.path.name, digest)


def test_of_a_folder_one_run_of_each_cell_is_packed_the_worst_first(tmp_path: Path) -> None:
    runs = [synthetic.double_failover_kept(tmp_path / "runs", seed=seed) for seed in (1, 2)]
    runs.append(synthetic.double_failover_lost(tmp_path / "runs"))
    for run_dir in runs:
        facts.judge_run(run_dir)
    assert {run.read_run().seed for run in evidence.telling([tmp_path / "runs"])} == {1}
    assert len(evidence.telling([tmp_path / "runs"])) == 2
    assert main(["evidence", str(tmp_path / "runs"), "--out", str(tmp_path / "all")]) == 0
    assert len(list((tmp_path / "all").iterdir())) == 2
    assert main(["evidence", str(tmp_path / "nowhere")]) == 254


# The same command again

COMMIT = "ab" * 20


def test_it_is_run_again_where_its_commit_is_checked_out() -> None:
    line = started("r", commit=COMMIT)
    assert replay.other_tree(line, COMMIT) == ""
    assert f"`git checkout {COMMIT}`" in replay.other_tree(line, "cd" * 20)
    assert f"{COMMIT}+ is here" in replay.other_tree(line, f"{COMMIT}+")
    assert "no checkout is here" in replay.other_tree(line, None)
    assert "modified tree, which nobody has" in replay.other_tree(started("r", commit=COMMIT, modified=True), COMMIT)
    assert "not on record" in replay.other_tree(started("r", commit=None), COMMIT)


def test_of_a_restored_run_the_command_is_made_of_what_was_published() -> None:
    line = restored("r", commits=(COMMIT[:8],), case="c", seed=7)
    assert replay.command_of(line) == "kafka-chaos run s --case c --version 4.3.1 --seed 7"
    assert replay.other_tree(line, COMMIT) == ""
    assert "of one of these" in replay.other_tree(restored("r", commits=("a", "b")), "a")
    assert "modified tree" in replay.other_tree(restored("r", commits=("a+",)), "a")


def test_a_run_that_nobody_knows_and_one_of_another_commit_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.append(
        tmp_path / ledger.FILE, started("r1", commit=COMMIT, command="kafka-chaos run baseline --version 4.3.1")
    )
    monkeypatch.setattr("harness.runner.git_commit", lambda: "cd" * 20)
    for name in ("r1", "r7"):
        assert main(["replay", name, "--runs-dir", str(tmp_path)]) == 254
    first, second = capsys.readouterr().err.splitlines()
    assert f"r1 is of commit {COMMIT}" in first
    assert "--here runs `kafka-chaos run baseline --version 4.3.1`" in first
    assert "there is no run 'r7'" in second
