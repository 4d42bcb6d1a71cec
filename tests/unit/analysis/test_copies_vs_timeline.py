"""Copies of replicas held against what was stated of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.read_copies import load_copies
from evidence.events import Moment
from evidence.run_state import RunState
from evidence.rundir import RunDir
from harness.observers.replicas import copy_replicas, files_of
from tests.unit.analysis.test_replicas import written
from tests.unit.timelines import at

LOG = f"{0:020}.log"


@pytest.fixture
def copied(tmp_path: Path) -> RunDir:
    """A run with the copies of two brokers' replicas, made as a run makes them."""
    for broker in (1, 2):
        node = tmp_path / "data" / f"broker-{broker}" / "kafka"
        written(node / "t-0", [(0, 0), (1, 1), (2, 2)], epochs="0\n1\n0 0\n")
        (node / "meta.properties").write_text(f"version=0\nbroker.id={broker}\n")
        (node / "replication-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    return RunDir(tmp_path)


def stated(run_dir: RunDir) -> Moment:
    copies = run_dir.moment("00-final")
    nodes = copy_replicas(run_dir.data, ["broker-1", "broker-2"], copies, ["t"])
    return at(5, Moment(name="00-final", nodes=nodes, files=files_of(copies), begun_ns=5))


def problems(run_dir: RunDir, moment: Moment) -> list[str]:
    _, found = load_copies(run_dir, RunState((moment,)), "t", 0)
    return [problem.detail for problem in found]


def test_copies_as_they_were_made(copied: RunDir) -> None:
    moment = stated(copied)
    assert problems(copied, moment) == []
    assert {path.name for path in copied.moment("00-final").iterdir()} == set(moment.files)
    assert moment.files["broker-1"]["t-0/" + LOG] == (copied.moment("00-final") / "broker-1/t-0" / LOG).stat().st_size


def _no_segment(copies: Path) -> None:
    (copies / "broker-1" / "t-0" / LOG).unlink()


def _clean_cut(copies: Path) -> None:
    segment = copies / "broker-1" / "t-0" / LOG
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 3 * 2])


def _swapped(copies: Path) -> None:
    shutil.rmtree(copies / "broker-1")
    shutil.copytree(copies / "broker-2", copies / "broker-1")


def _no_epochs(copies: Path) -> None:
    (copies / "broker-1" / "t-0" / "leader-epoch-checkpoint").unlink()


def _no_identity(copies: Path) -> None:
    (copies / "broker-1" / "meta.properties").unlink()


def _no_high_watermarks(copies: Path) -> None:
    (copies / "broker-1" / "replication-offset-checkpoint").unlink()


def _no_words(copies: Path) -> None:
    (copies / "broker-1" / "meta.properties").write_text("broker.id=one\n")


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (_no_segment, "it has no segment"),
        (_clean_cut, "its log ends at 2, and when it was copied it ended at 3"),
        (_swapped, "meta.properties is that of broker 2"),
        (_no_words, "cannot be read"),
        (_no_epochs, "t-0/leader-epoch-checkpoint is gone"),
        (_no_identity, "meta.properties is gone"),
        (_no_high_watermarks, "replication-offset-checkpoint is gone"),
    ],
)
def test_a_copy_that_is_not_what_was_stated(copied: RunDir, damage: Callable[[Path], None], word: str) -> None:
    moment = stated(copied)
    damage(copied.moment("00-final"))
    told = problems(copied, moment)
    assert any(word in line for line in told)
    assert all(line.startswith("00-final/broker-1/t-0: ") for line in told)


def test_a_copy_whose_file_has_another_size(copied: RunDir) -> None:
    moment = stated(copied)
    (copied.moment("00-final") / "broker-2" / "t-0" / "leader-epoch-checkpoint").write_text("0\n0\n")
    (line,) = problems(copied, moment)
    assert line == "00-final/broker-2/t-0: t-0/leader-epoch-checkpoint has 4 bytes, and had 8 when it was copied"
