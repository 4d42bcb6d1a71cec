"""Streams in which something was changed give what they held before it, and say so; older versions are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.history import checksums, schema
from evidence.history.read import open_run, stream_batches
from evidence.history.seal import seal_process
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from tests.properties import examples
from tests.records import run_record
from tests.streams import Batch, store, stored

MISSED = "a batch does not have its checksum"


def record(path: Path, *, run: str = "r1") -> None:
    """Some batches with words, numbers, nulls and truths."""
    with HistoryWriter(path, "p", run=run) as writer:
        for number in range(4):
            writer.reserve(f"t{number}", [0], 1, number, 1)
            writer.append(
                kind=schema.SEND, outcome=schema.OK, topic=f"t{number}", partition=0, producer=1, sequence=number,
                offset=number if number % 2 else None, valid=bool(number % 2), flush=True,
            )  # fmt: skip
        writer.extend(500, kind=schema.POLL, outcome=schema.OK, topic="t0", partition=0, offset=np.arange(500) * 7)


def read(path: Path) -> tuple[list[dict[str, object]], list[str]]:
    complaints: list[str] = []
    return [row for batch in stream_batches(path, complaints) for row in batch.to_pylist()], complaints


def test_every_batch_has_a_checksum(tmp_path: Path) -> None:
    record(path := tmp_path / "p.arrows")
    names, batches = stored(path)
    assert names.metadata[schema.VERSION_KEY] == b"3"
    assert len({metadata[checksums.KEY] for _, metadata in batches}) == len(batches) > 8
    assert read(path)[1] == []


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record(path := tmp_path_factory.mktemp("recorded") / "p.arrows")
    return path


@settings(max_examples=examples(300), deadline=None)
@given(at=st.floats(0, 0.9999), flip=st.integers(1, 255))
def test_whatever_byte_is_changed_nothing_else_is_read(recorded: Path, at: float, flip: int) -> None:
    rows, _ = read(recorded)
    data = bytearray(recorded.read_bytes())
    data[int(at * len(data))] ^= flip
    changed = recorded.with_name("changed.arrows")
    changed.write_bytes(bytes(data))
    found, complaints = read(changed)
    assert found == rows[: len(found)]
    assert complaints or len(found) == len(rows) or not found or found[-1]["kind"] != schema.CLOSE


CHANGES: dict[str, Callable[[list[Batch]], list[Batch]]] = {
    "left out": lambda batches: batches[:3] + batches[4:],
    "twice": lambda batches: batches[:4] + batches[3:],
    "exchanged": lambda batches: [*batches[:3], batches[4], batches[3], *batches[5:]],
    "without its checksum": lambda batches: [*batches[:3], (batches[3][0], {}), *batches[4:]],
    "of other values": lambda batches: [*batches[:3], (other_offset(batches[3][0]), batches[3][1]), *batches[4:]],
}


def other_offset(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.get_field_index("sequence")
    columns = [pc.add(column, 1) if number == at else column for number, column in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


@pytest.mark.parametrize("change", CHANGES)
def test_a_batch_that_is_not_what_was_recorded_ends_the_reading(tmp_path: Path, change: str) -> None:
    record(path := tmp_path / "p.arrows")
    rows, _ = read(path)
    names, batches = stored(path)
    store(path, names, batches)
    assert read(path) == (rows, [])
    store(path, names, CHANGES[change](batches))
    found, complaints = read(path)
    assert len(found) < len(rows)
    assert [complaint.partition(":")[0] for complaint in complaints] == [MISSED]


def test_batches_of_another_run_have_no_checksums_of_this_one(tmp_path: Path) -> None:
    record(path := tmp_path / "p.arrows", run="r2")
    names, batches = stored(path)
    store(path, names.with_metadata({**names.metadata, schema.RUN_KEY: b"r1"}), batches)
    assert read(path)[0] == []


def test_one_that_was_changed_is_not_sealed_and_makes_a_run_unknown(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.write_run(run_record({"run": "r1", "scenario": "s", "version": "v", "processes": [{"name": "p"}]}))
    record(run_dir.stream("p"))
    assert open_run(run_dir).problems == ()
    data = run_dir.stream("p").read_bytes()
    names, batches = stored(run_dir.stream("p"))
    store(run_dir.stream("p"), names, CHANGES["of other values"](batches))
    assert not seal_process(run_dir, "p")
    assert {problem.what for problem in open_run(run_dir).problems} == {"torn history", "recorder died"}
    run_dir.stream("p").write_bytes(data)
    assert seal_process(run_dir, "p")


def test_what_lies_beneath_a_null_means_nothing() -> None:
    names = pa.schema([("a", pa.int64())])
    valid = pa.py_buffer(b"\x02")
    one, two, other = (
        pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.int64(), 2, [valid, pa.py_buffer(data)])], schema=names)
        for data in (bytes(16), b"\xff" * 8 + bytes(8), bytes(8) + b"\xff" * 8)
    )
    assert checksums.after(one, 0) == checksums.after(two, 0) != checksums.after(other, 0)
