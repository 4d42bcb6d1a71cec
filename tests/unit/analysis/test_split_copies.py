"""Copies read in parts: whatever lies at a border, the findings are those of one reading, down to the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis import partition, read_copies, split_copies
from analysis.check import check_piece
from analysis.pieces import pieces
from analysis.result import Result
from evidence.events import Ends, Moment, Partition
from evidence.history import record
from evidence.history.seal import seal_run
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from kafkafiles.replica import Examination
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import asked_end, final_read, polled, reserved, sent
from tests.unit.kafkafiles.encode import R, batch, message
from tests.unit.timelines import at

END = 24
HALF_S = 500_000_000


def value(offset: int) -> R:
    return R(value=record.encode(1, 1, offset))


def entry(offset: int, **how: Any) -> bytes:
    return batch(offset, [value(offset)], **how)


def log(**instead: bytes) -> bytes:
    """A log of END entries; o7=… is what is there in place of the entry at offset 7."""
    return b"".join(instead.get(f"o{offset}", entry(offset)) for offset in range(END))


def run_of(root: Path, *logs: bytes) -> RunDir:
    """A run in which END records were sent with acks=all and read, whose brokers, all in sync, hold these logs."""
    histories = {
        "producer-1": [reserved(0, END), *(sent(offset, offset) for offset in range(END))],
        "reader-1": [polled(offset, offset) for offset in range(END)],
        "final-read-1": [asked_end(END, 2000), final_read(END)],
    }
    run_dir = make_run(root / "run", histories)
    seal_run(run_dir)
    brokers = tuple(range(1, len(logs) + 1))
    run_dir.timeline.unlink(missing_ok=True)
    with Timeline(run_dir.timeline) as timeline:
        stated = Partition(source="zookeeper", topic="t", partition=0, isr=brokers, leader=1, leader_epoch=0)
        timeline.append(at(-HALF_S, stated))
        nodes: dict[str, dict[str, Ends]] = {f"broker-{broker}": {} for broker in brokers}
        timeline.append(at(60 * HALF_S, Moment(name="01-one", nodes=nodes, begun_ns=58 * HALF_S)))
    for broker, content in zip(brokers, logs, strict=True):
        directory = run_dir.replicas / "01-one" / f"broker-{broker}" / "t-0"
        directory.mkdir(parents=True)
        (directory / f"{0:020}.log").write_bytes(content)
    return run_dir


def found_in(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, *, split: bool
) -> tuple[Result, Mapping[str, Examination[int]]]:
    """What the checks find, and what was read in parts."""
    monkeypatch.setattr(partition, "LARGE_ROWS", 0)
    monkeypatch.setattr(split_copies, "LARGE_BYTES", 0 if split else 2**60)
    taken: dict[str, Examination[int]] = {}

    def counted(*arguments: Any, **named: Any) -> Mapping[str, Examination[int]]:
        taken.update(split_copies.read_split(*arguments, **named))
        return taken

    monkeypatch.setattr(read_copies, "read_split", counted)
    found = check_piece(pieces(run_dir)[0])
    assert {one.status for one in found.checks} == {"ok"}, found.checks
    return replace(found, checks=[]), taken


PAIR = batch(7, [value(7), value(8)])
OTHER = R(value=record.encode(1, 1, END - 1))


@pytest.mark.parametrize(
    ("logs", "anomalies"),
    [
        ([log()] * 3, set()),
        ([log(o7=PAIR, o8=b"")] * 2, set()),
        ([log(o7=PAIR, o8=b""), log()], set()),
        ([log(o7=entry(7, codec=1))] * 2, set()),
        ([log(**{f"o{offset}": entry(offset, epoch=1) for offset in range(7, END)})] * 2, set()),
        ([log(o7=batch(7, [OTHER])), log()], {"replica-divergence", "two-leaders-in-one-epoch"}),
        ([log(o7=batch(7, [OTHER]))] * 2, {"unreplicated-acknowledgement"}),
        ([log(o7=batch(7, [value(7)], epoch=1)), log()], {"replica-divergence"}),
        ([log(o7=entry(7, crc=1)), log()], {"corrupt-record"}),
        ([log(o7=entry(7)[:-1]), log()], {"corrupt-record"}),
        ([log(o7=message(7, value(7), magic=1)), log()], set()),
        ([log(o7=PAIR, o8=b"", o9=batch(9, [OTHER])), log()], {"replica-divergence", "unreplicated-acknowledgement"}),
    ],
    ids=[
        "sound",
        "a batch of two",
        "a batch over a border",
        "compressed",
        "another epoch from a border on",
        "another record in one",
        "another record in both",
        "another epoch in one",
        "damaged in one",
        "torn in one",
        "old format in one",
        "another record after a batch over a border",
    ],
)
def test_what_lies_at_a_border_is_found_as_in_one_reading(
    logs: list[bytes], anomalies: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = run_of(tmp_path, *logs)
    split, taken = found_in(run_dir, monkeypatch, split=True)
    assert list(taken) == ["01-one"]
    assert anomalies <= {finding.anomaly for finding in split.findings}
    assert bool(anomalies) == bool(split.findings)
    whole, taken = found_in(run_dir, monkeypatch, split=False)
    assert not taken
    assert split == whole


@pytest.mark.parametrize(
    "odd",
    [log(o7=b""), log(o7=entry(9))],
    ids=["hole", "goes back"],
)
def test_what_parts_cannot_tell_is_read_whole(odd: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = run_of(tmp_path, log(), odd)
    split, taken = found_in(run_dir, monkeypatch, split=True)
    assert not taken
    assert split == found_in(run_dir, monkeypatch, split=False)[0]
