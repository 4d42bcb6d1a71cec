"""Batches that the harness makes, and partitions' directories read batch by batch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles.batches import Batch, BatchHeader, batches, scan_batches
from kafkafiles.making import GZIP, gzip_batch
from kafkafiles.stored import fingerprint, read_stored

RECORDS = st.lists(st.tuples(st.binary(max_size=300), st.integers(0, 1 << 44)), min_size=1, max_size=40)


@given(st.sampled_from([0, 1, 2]), RECORDS)
def test_what_is_made_is_read_back(magic: int, records: list[tuple[bytes, int]]) -> None:
    values, stamps = [value for value, _ in records], [stamp for _, stamp in records]
    (found,) = batches(gzip_batch(values, stamps, magic=magic))
    assert isinstance(found, Batch)
    assert found.valid
    assert (found.header.magic, found.header.codec) == (magic, GZIP)
    assert list(found.offsets) == list(range(len(values)))
    assert list(found.values) == values
    assert list(found.timestamps_ms) == (stamps if magic else [-1] * len(values))


@pytest.mark.parametrize(("values", "magic"), [([], 2), ([b"v"], 3)])
def test_what_cannot_be_made(values: list[bytes], magic: int) -> None:
    with pytest.raises(ValueError, match=r"one record|message format 3"):
        gzip_batch(values, [1] * len(values), magic=magic)


def _fingerprint(data: bytes) -> str:
    header = next(scan_batches(data))
    assert isinstance(header, BatchHeader)
    return fingerprint(data, header)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_fingerprint_is_of_what_the_producer_wrote(magic: int) -> None:
    made = gzip_batch([b"v", b"w"], [5, 6], magic=magic)
    moved = (99).to_bytes(8, "big") + made[8:]
    led = made[:12] + (7).to_bytes(4, "big") + made[16:]
    assert _fingerprint(moved) == _fingerprint(made)
    assert (_fingerprint(led) == _fingerprint(made)) == (magic == 2)
    assert _fingerprint(gzip_batch([b"v", b"x"], [5, 6], magic=magic)) != _fingerprint(made)


def test_a_directory_is_read_batch_by_batch(tmp_path: Path) -> None:
    replica = tmp_path / "t-0"
    replica.mkdir()
    made = gzip_batch([b"v", b"w"], [5, 6], magic=2)
    (replica / f"{0:020}.log").write_bytes(made)
    (replica / f"{0:020}.index").write_bytes((1).to_bytes(4, "big") + (4100).to_bytes(4, "big"))
    (replica / f"{2:020}.log").write_bytes((2).to_bytes(8, "big") + made[8:])
    (replica / f"{2:020}.index").write_bytes(bytes(1024))
    stored = read_stored(replica)
    assert [(one.base_offset, one.size) for one in stored.segments] == [(0, len(made)), (2, len(made))]
    assert [one.offsets for one in stored.batches] == [(0, 1), (2, 3)]
    assert len({one.fingerprint for one in stored.batches}) == 1
    closed, still_open = stored.segments
    assert [(entry.offset, entry.position) for entry in closed.index or ()] == [(1, 4100)]
    assert still_open.index is None
    assert len(stored.files) == 4
