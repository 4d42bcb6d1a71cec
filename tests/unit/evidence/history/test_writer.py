import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.history import schema
from evidence.history.read import stream_batches
from evidence.history.writer import NULL, HistoryWriter
from tests.properties import examples


def rows_of(path: Path) -> list[dict[str, object]]:
    """Every row, without its nulls; fails if the stream is damaged."""
    complaints: list[str] = []
    rows = [row for batch in stream_batches(path, complaints) for row in batch.to_pylist()]
    assert complaints == []
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def test_rows_come_back_as_they_were_appended(tmp_path):
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        writer.append(kind=schema.SEND, outcome=schema.OK, topic="t", partition=0, offset=7, valid=True, flush=True)
        writer.append(kind=schema.SEND, outcome=schema.FAIL, topic="u", error=20, error_name="X", valid=False, acks=-1)
        writer.flush()
        writer.append(kind=schema.POLL, outcome=schema.OK, topic=None, offset=0)
    found = rows_of(path)
    assert found[0] == {
        "process": "p", "op": 0, "kind": "send", "outcome": "ok", "topic": "t", "partition": 0, "offset": 7,
        "valid": True,
    }  # fmt: skip
    assert found[1] == {
        "process": "p", "op": 1, "kind": "send", "outcome": "fail", "topic": "u", "error": 20, "error_name": "X",
        "valid": False, "acks": -1,
    }  # fmt: skip
    assert found[2] == {"process": "p", "op": 2, "kind": "poll", "outcome": "ok", "offset": 0}
    assert (found[3]["kind"], found[3]["op"]) == ("close", 3)
    assert len(found) == 4


def test_columns_of_many_rows_cross_batches(tmp_path):
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p", batch_rows=4) as writer:
        writer.append(kind=schema.RESERVE, outcome=schema.INFO, topic="t", count=3)
        offsets = np.array([10, NULL, 12, 13, 14, 15, 16, 17, 18], np.int64)
        writer.extend(9, kind=schema.SEND, outcome=schema.OK, topic="t", partition=1, offset=offsets)
        operation = writer.next_operation()
        for topic in ("t", "u"):
            writer.extend(2, operation=operation, kind=schema.POLL, outcome=schema.OK, topic=topic, offset=5)
    found = rows_of(path)
    assert [row["op"] for row in found] == [*range(10), 10, 10, 10, 10, 11]
    assert [row.get("offset") for row in found[1:10]] == [10, None, 12, 13, 14, 15, 16, 17, 18]
    assert [row["topic"] for row in found[10:14]] == ["t", "t", "u", "u"]
    assert found[0]["count"] == 3
    assert "count" not in found[1]


def test_a_reservation_is_on_disk_when_it_returns(tmp_path):
    path = tmp_path / "p.arrows"
    writer = HistoryWriter(path, "p")
    writer.append(kind=schema.SEND, outcome=schema.OK, topic="t", partition=0)
    writer.reserve("t", [0, 2], 5, 100, 50)
    seen = [(row.get("partition"), row.get("sequence"), row.get("count")) for row in rows_of(path)]
    assert seen == [(0, None, None), (0, 100, 50), (2, 100, 50)]
    writer.close()


def test_rows_are_flushed_when_they_are_old(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("evidence.history.writer.time.monotonic", lambda: clock[0])
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        writer.append(kind=schema.SEND, outcome=schema.OK)
        clock[0] += 0.2
        writer.append(kind=schema.SEND, outcome=schema.OK)
        writer.flush_if_old()
        assert writer.written == 0
        clock[0] += 0.06
        writer.flush_if_old()
        assert writer.written == 2
        assert len(rows_of(path)) == 2


def test_an_error_leaves_no_closing_row_but_the_rows(tmp_path):
    path = tmp_path / "p.arrows"
    writer = HistoryWriter(path, "p")
    writer.append(kind=schema.SEND, outcome=schema.OK)
    with pytest.raises(KeyError), writer:
        writer.append(kind=schema.SEND, outcome=schema.OK, offest=1)
    assert [row["kind"] for row in rows_of(path)] == ["send"]


def test_a_history_is_never_overwritten(tmp_path):
    path = tmp_path / "p.arrows"
    HistoryWriter(path, "p").close()
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        HistoryWriter(path, "p")
    assert path.read_bytes() == before


def whole_stream(path: Path) -> list[list[dict[str, object]]]:
    """A stream of several batches with new words in each; returns the rows of each."""
    with HistoryWriter(path, "p", batch_rows=8) as writer:
        for number in range(6):
            writer.extend(number + 1, kind=schema.SEND, outcome=schema.OK, topic=f"topic-{number}", partition=number)
            writer.flush()
    return [batch.to_pylist() for batch in stream_batches(path, [])]


@settings(max_examples=examples(60))
@given(cut=st.floats(0, 1))
def test_a_stream_cut_anywhere_gives_the_batches_before_the_cut(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("torn") / "p.arrows"
    batches = whole_stream(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(cut * len(whole))])
    complaints: list[str] = []
    found = [batch.to_pylist() for batch in stream_batches(path, complaints)]
    assert found == batches[: len(found)]
    assert cut < 1 or len(found) == len(batches)
    assert len(complaints) <= 1


@settings(max_examples=examples(60))
@given(at=st.floats(0, 0.999), flip=st.integers(1, 255))
def test_a_damaged_byte_never_stops_the_reader_otherwise(tmp_path_factory, at, flip):
    path = tmp_path_factory.mktemp("damaged") / "p.arrows"
    whole_stream(path)
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= flip
    path.write_bytes(bytes(data))
    for batch in stream_batches(path, []):
        assert len(batch.to_pylist()) == batch.num_rows


KILLED = """
import sys
from pathlib import Path
from evidence.history import schema
from evidence.history.writer import HistoryWriter
writer = HistoryWriter(Path(sys.argv[1]), "p", batch_rows=1000)
writer.reserve("t", [0], 1, 0, 10_000)
for number in range(10_000_000):
    writer.append(kind=schema.SEND, outcome=schema.OK, topic="t", partition=0, sequence=number, offset=number)
    if writer.written >= 5000:
        print(writer.written, flush=True)
"""


def test_what_was_flushed_survives_kill_9(tmp_path):
    path = tmp_path / "p.arrows"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        flushed = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    complaints: list[str] = []
    tables = [pa.Table.from_batches([batch]) for batch in stream_batches(path, complaints)]
    sequences = [s for table in tables for s in table.filter(pa.compute.equal(table["kind"], "send"))["sequence"]]
    assert len(sequences) >= flushed - 1
    assert [s.as_py() for s in sequences] == list(range(len(sequences)))
