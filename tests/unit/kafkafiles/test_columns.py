"""Columns say what records say; the compiled loops say what plain Python says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafiles import batches as log
from kafkafiles import columns
from kafkafiles.batches import Corrupt, Record
from tests.properties import examples
from tests.unit.kafkafiles.encode import GZIP, LZ4, NONE, SNAPPY, ZSTD, R, batch, control_key, message, wrapper
from tests.unit.kafkafiles.test_batches import RECORDS

MIXED = (
    message(0, R(key=b"k"), magic=0)
    + wrapper(1, [R(), R(value=None)], magic=1, codec=GZIP)
    + batch(3, [R(headers=((b"h", b"1"), (b"g", None))), R(key=b"", value=None)], epoch=2, producer=(5, 1, 7))
    + batch(5, [R(key=control_key(0), value=b"")], control=True, transactional=True)
    + batch(6, [R(value=b"x" * 300)] * 3, codec=ZSTD)
)


def rows(table: pa.Table) -> list[dict[str, object]]:
    found: list[dict[str, Any]] = table.to_pylist()
    for row in found:
        row["headers"] = tuple((header["key"], header["value"]) for header in row["headers"])
        row["codec"] = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}[row["codec"]]
    return found


def as_rows(data: bytes) -> list[dict[str, object]]:
    names = columns.SCHEMA.names
    return [{name: getattr(each, name) for name in names} for each in log.records(data) if isinstance(each, Record)]


@pytest.mark.parametrize("compiled", [False, True])
def test_columns_are_the_records(compiled):
    table, problems = columns.table(MIXED, compiled=compiled)
    assert table.schema == columns.SCHEMA
    assert rows(table) == as_rows(MIXED)
    assert problems == []
    table.validate(full=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_corrupt_batches_keep_their_rows_and_their_place(compiled):
    data = batch(0, [R()]) + batch(1, [R()], crc=3) + batch(2, [R()], count=1, last_delta=0) + bytes(30)
    table, problems = columns.table(data, compiled=compiled)
    assert table["valid"].to_pylist() == [True, False, True]
    assert [(each.kind, each.position) for each in problems] == [("checksum", 69), ("zero-padding", 207)]


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_are_handed_out_in_pieces(compiled):
    data = b"".join(batch(at, [R()] * 10) for at in range(0, 1000, 10))
    pieces = [each for each in columns.arrow_batches(data, rows=50, compiled=compiled) if not isinstance(each, Corrupt)]
    assert [each.num_rows for each in pieces] == [50] * 20


@given(
    parts=st.lists(st.tuples(RECORDS, st.sampled_from([NONE, GZIP, SNAPPY, LZ4, ZSTD]), st.booleans()), max_size=4),
    damage=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3),
)
@settings(max_examples=examples(60))
def test_compiled_and_plain_agree_on_sound_and_on_damaged_logs(parts, damage):
    data = bytearray()
    offset = 0
    for rs, codec, late in parts:
        data += batch(offset, rs, codec=codec, append_time=77 if late else None, producer=(1, 0, 5))
        offset += len(rs)
    for at, value in damage:
        if data:
            data[at % len(data)] = value
    plain, compiled = (columns.table(bytes(data), compiled=how) for how in (False, True))
    assert plain[0].equals(compiled[0])
    assert plain[1] == compiled[1]
    headers, problem = columns.scan_columns(bytes(data), compiled=False)
    fast, fast_problem = columns.scan_columns(bytes(data), compiled=True)
    assert np.array_equal(headers, fast)
    assert problem == fast_problem


def test_files_are_read_in_windows_whatever_their_size(tmp_path: Path):
    path = tmp_path / "00000000000000000000.log"
    data = b"".join(batch(at, [R(value=bytes(at % 50))] * 4) for at in range(0, 400, 4))
    path.write_bytes(data + batch(400, [R(value=b"x" * 5000)]) + bytes(9000))
    whole, _ = columns.table(path.read_bytes())
    for window in (100, 1000, 10_000, 1 << 20):
        pieces = list(columns.read_arrow_batches(path, window_bytes=window))
        found = pa.Table.from_batches([each for each in pieces if not isinstance(each, Corrupt)])
        assert found.combine_chunks().equals(whole.combine_chunks())
        problems = [each for each in pieces if isinstance(each, Corrupt)]
        assert [(each.kind, each.position, each.size) for each in problems] == [
            ("zero-padding", path.stat().st_size - 9000, 9000)
        ]


def test_zeros_that_do_not_reach_the_end_of_a_file(tmp_path: Path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(0, [R()]) + bytes(5000) + b"x")
    found = list(columns.read_windows(path, window_bytes=200))
    assert isinstance(found[-1], Corrupt)
    assert found[-1].kind == "malformed"
    assert found[-1].size == 5001


def test_a_torn_file(tmp_path: Path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(0, [R()]) + batch(1, [R(value=b"x" * 1000)])[:-1])
    for window in (70, 200, 10_000):
        found = list(columns.read_windows(path, window_bytes=window))
        assert isinstance(found[-1], Corrupt)
        assert (found[-1].kind, found[-1].position) == ("torn", 69)


@given(
    sizes=st.lists(st.integers(0, 900), max_size=30),
    tail=st.sampled_from([b"", bytes(5), bytes(700), b"x" * 90, batch(0, [R(value=bytes(400))])[:-1]]),
    damage=st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 255)), max_size=2),
    old=st.booleans(),
)
@settings(max_examples=examples(150))
def test_headers_of_files_are_the_same_whether_bodies_are_read_or_leapt_over(
    tmp_path_factory, sizes, tail, damage, old
):
    data = bytearray()
    for offset, size in enumerate(sizes):
        one = R(value=bytes(size))
        data += message(offset, one, magic=offset % 2) if old else batch(offset, [one])
    data += tail
    for at, value in damage:
        if data:
            data[at % len(data)] = value
    path = tmp_path_factory.mktemp("segment") / "00000000000000000000.log"
    path.write_bytes(data)
    plain = columns.read_headers(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "COMPILED_FROM_BYTES", 0)
        patch.setattr(columns, "_SCAN_BYTES", 1024)
        patch.setattr(columns, "_HEADER_BYTES", 64)
        patch.setattr(columns, "_LEAP_BYTES", 300)
        patch.setattr(columns, "_SCAN_ROWS", 7)
        leapt = columns.read_headers(path)
    assert np.array_equal(plain[0], leapt[0])
    # Where it is and what it is; a reader in pieces has other words for zeros that are not the end.
    told = [found and (found.position, found.size, found.kind) for _, found in (plain, leapt)]
    assert told[0] == told[1]


def test_an_empty_file(tmp_path: Path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"")
    table, problems = columns.table(path.read_bytes())
    assert (table.num_rows, problems) == (0, [])
