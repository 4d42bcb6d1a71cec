"""Faults that change files as a bad disk does: where they strike, each proof, and each sabotaged fault."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.errors import FaultUnproved, HarnessError
from harness.cluster.docker import Node
from harness.faults.damage import (
    MASK,
    Flip,
    Resize,
    index_position,
    last_digit,
    middle_of_last_batch,
    segment_with,
    value_position,
)
from kafkafiles.batches import BatchHeader, Record, checksum_matches, records, scan_batches
from kafkafiles.indexes import parse_index
from tests.proofs import shown
from tests.unit.kafkafiles.encode import GZIP, R, batch, message
from tests.unit.test_faults import FakeEngine, made

VALUES = [b"the first", b"the second", b"the third", b"the fourth"]
BATCHES = [
    batch(0, [R(value=VALUES[0])]),
    batch(1, [R(value=VALUES[1]), R(value=VALUES[2])]),
    batch(3, [R(value=VALUES[3])]),
]
LOG = b"".join(BATCHES)


def broker(*, running: bool = False) -> Node:
    return made(FakeEngine(running=running))[0]


def replica(tmp_path: Path, content: bytes = LOG) -> Path:
    """A log directory with one replica; its segment."""
    (tmp_path / "kafka" / "t-0").mkdir(parents=True)
    segment = tmp_path / "kafka" / "t-0" / f"{0:020}.log"
    segment.write_bytes(content)
    return segment


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ MASK]) + data[position + 1 :]


# Where


@given(offset=st.integers(0, 3))
def test_the_flipped_byte_is_in_the_value_of_one_record_alone(offset: int) -> None:
    damaged = flipped(LOG, value_position(LOG, offset))
    values = [one.value for one in records(damaged) if isinstance(one, Record)]
    assert [number for number, value in enumerate(values) if value != VALUES[number]] == [offset]
    wrong = [
        one for one in scan_batches(damaged) if isinstance(one, BatchHeader) and not checksum_matches(damaged, one)
    ]
    assert len(wrong) == 1


@pytest.mark.parametrize("magic", [0, 1])
def test_the_value_in_old_formats(magic: int) -> None:
    log = b"".join(message(offset, R(value=value), magic=magic) for offset, value in enumerate(VALUES))
    damaged = flipped(log, value_position(log, 2))
    found = [one.value for one in records(damaged) if isinstance(one, Record)]
    assert [number for number, value in enumerate(found) if value != VALUES[number]] == [2]


@pytest.mark.parametrize(
    ("log", "offset"),
    [(LOG, 4), (b"", 0), (batch(0, [R(value=None)]), 0), (batch(0, [R(value=b"x" * 99)], codec=GZIP), 0)],
    ids=["beyond the end", "an empty log", "no value", "compressed"],
)
def test_a_record_that_cannot_be_struck_is_told(log: bytes, offset: int) -> None:
    with pytest.raises(HarnessError, match=f"at offset {offset}"):
        value_position(log, offset)


def test_a_position_in_an_index_is_made_to_lie_beyond_the_segment() -> None:
    index = b"".join(struct.pack(">Ii", offset, 100 * offset) for offset in (1, 3, 5))
    damaged = flipped(index, index_position(index, 10, 14))
    entries = dict(struct.iter_unpack(">Ii", damaged))
    assert entries == {1: 100, 3: 300 + (1 << 30), 5: 500}
    assert [entry.offset for entry in parse_index(index, 10)] == [11, 13, 15]
    with pytest.raises(HarnessError, match="no entry at or below offset 10"):
        index_position(index, 10, 10)


def test_the_last_batch_is_torn_in_its_middle() -> None:
    at = middle_of_last_batch(LOG)
    assert len(LOG) - len(BATCHES[-1]) < at < len(LOG)
    assert middle_of_last_batch(LOG[:-3]) < len(BATCHES[0]) + len(BATCHES[1])
    with pytest.raises(HarnessError, match="no batch"):
        middle_of_last_batch(b"")


def test_the_segment_of_an_offset(tmp_path: Path) -> None:
    for base in (4, 9):
        (tmp_path / f"{base:020}.log").touch()
    assert [segment_with(tmp_path, offset).name for offset in (4, 8, 9, 20)] == [f"{n:020}.log" for n in (4, 4, 9, 9)]
    with pytest.raises(HarnessError, match="at or below offset 3"):
        segment_with(tmp_path, 3)


def test_the_last_number_of_a_checkpoint_is_none_any_more() -> None:
    text = b"0\n1\nt 0 17\n"
    assert flipped(text, last_digit(text)) == b"0\n1\nt 0 1w\n"
    with pytest.raises(HarnessError, match="no number"):
        last_digit(b"\n")


# A flipped bit


@pytest.mark.parametrize("running", [True, False])
def test_a_flipped_bit_is_proved_by_the_file(tmp_path: Path, running: bool) -> None:
    segment = replica(tmp_path)
    fault = Flip(broker(running=running), tmp_path / "kafka", segment, 70, 0)
    fault.inject()
    assert shown(fault.verify()) == {
        "offset": 0,
        "file": f"t-0/{0:020}.log",
        "position": 70,
        "byte_before": LOG[70],
        "byte": LOG[70] ^ MASK,
        "bytes": len(LOG),
        "others_as_before": True,
        "running": running,
    }
    assert segment.read_bytes() == flipped(LOG, 70)


def test_a_sabotaged_flip_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.damage.os.pwrite", lambda *_: 1)
    fault = Flip(broker(), tmp_path / "kafka", replica(tmp_path), 70)
    fault.inject()
    with pytest.raises(FaultUnproved, match=r"changed are the bytes at \[\], to be flipped was the one at 70"):
        fault.verify()


@pytest.mark.parametrize(
    "after",
    [flipped(flipped(LOG, 70), 80), flipped(LOG, 71), flipped(LOG, 70) + b"\0", flipped(LOG, 70)[:-1]],
    ids=["another byte too", "another byte", "the file grew", "the file was cut"],
)
def test_a_file_that_changed_otherwise_is_noticed(tmp_path: Path, after: bytes) -> None:
    segment = replica(tmp_path)
    fault = Flip(broker(), tmp_path / "kafka", segment, 70)
    fault.inject()
    segment.write_bytes(after)
    with pytest.raises(FaultUnproved, match="changed are the bytes"):
        fault.verify()


def test_a_place_beyond_the_file_is_noticed(tmp_path: Path) -> None:
    fault = Flip(broker(), tmp_path / "kafka", replica(tmp_path), len(LOG))
    fault.inject()
    with pytest.raises(FaultUnproved, match="changed are the bytes"):
        fault.verify()


# Another length


@pytest.mark.parametrize("size", [len(LOG) - 9, len(LOG) + 5000, 0])
def test_another_length_is_proved_by_the_file(tmp_path: Path, size: int) -> None:
    segment = replica(tmp_path)
    fault = Resize(broker(), segment, size)
    fault.inject()
    assert shown(fault.verify()) == {
        "file": f"t-0/{0:020}.log",
        "bytes_before": len(LOG),
        "bytes": size,
        "rest_as_before": True,
    }
    assert segment.read_bytes() == (LOG + bytes(max(0, size - len(LOG))))[:size]


def test_a_sabotaged_resize_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.damage.os.truncate", lambda *_: None)
    fault = Resize(broker(), replica(tmp_path), 10)
    fault.inject()
    with pytest.raises(FaultUnproved, match=f"has {len(LOG)} bytes, not 10"):
        fault.verify()


@pytest.mark.parametrize(
    ("running", "size", "seen"),
    [(True, 10, "its process runs"), (False, len(LOG), "nothing to be changed")],
    ids=["the broker runs", "it is as long already"],
)
def test_a_length_that_proves_nothing(tmp_path: Path, running: bool, size: int, seen: str) -> None:
    fault = Resize(broker(running=running), replica(tmp_path), size)
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()


@pytest.mark.parametrize("size", [len(LOG) - 9, len(LOG) + 50])
def test_bytes_that_changed_as_well_are_noticed(tmp_path: Path, size: int) -> None:
    segment = replica(tmp_path)
    fault = Resize(broker(), segment, size)
    fault.inject()
    content = segment.read_bytes()
    segment.write_bytes(flipped(content, len(content) - 1))
    with pytest.raises(FaultUnproved, match="other bytes than before, or no zeros"):
        fault.verify()


def test_a_file_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    fault = Resize(broker(), tmp_path / "none", 10)
    fault.inject()
    assert not os.path.exists(tmp_path / "none")
    with pytest.raises(FaultUnproved, match="nothing to be changed"):
        fault.verify()
