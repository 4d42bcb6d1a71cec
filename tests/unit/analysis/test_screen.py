"""Screening against the whole: whatever a history holds, checks find the same in what is kept, down to the evidence."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis import check
from analysis.anomalies import PARTITION_CHECKS
from analysis.check import SCREENED, check_piece, pieces
from analysis.screen import Screened, screened
from analysis.view import Evidence, PartitionView
from evidence.history.read import sealed_files
from evidence.history.seal import seal_run
from evidence.rundir import RunDir
from tests.unit.analysis.histories import Row, asked_end, assigned, final_read, polled, reserved, sent
from tests.unit.analysis.runs import make_run

PLAIN = [(number, number) for number in range(12)]


def _screened(run_dir: RunDir) -> Screened | None:
    files = sealed_files(run_dir, run_dir.read_run(), ("t", 0))
    assert files is not None
    return screened(list(files))


def _sealed(root: Path, histories: dict[str, list[Row]]) -> RunDir:
    run_dir = make_run(root, histories)
    seal_run(run_dir)
    return run_dir


def _result(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, *, large: bool) -> dict[str, Any]:
    monkeypatch.setattr(check, "LARGE_ROWS", 0 if large else 2**60)
    found = check_piece(pieces(run_dir)[0]).as_json()
    for one in found["checks"]:
        assert one["status"] == "ok", one
        del one["seconds"]
    return found


def _load(**more: Any) -> list[Row]:
    return [sent(sequence, offset, **more) for sequence, offset in PLAIN]


def _reads(offsets: list[int]) -> list[Row]:
    return [polled(offset, offset, op=place // 3) for place, offset in enumerate(offsets)]


def test_of_a_clean_history_next_to_nothing_is_kept(tmp_path: Path) -> None:
    reads = _reads(list(range(12)))
    run_dir = _sealed(tmp_path / "run", {"producer-1": _load(), "reader-1": [*reads, final_read(12)]})
    found = _screened(run_dir)
    assert found is not None
    # The first record with its neighbour in the order of sending, the last, and the final read.
    assert sorted(found.table["offset"].to_pylist()) == [0, 0, 1, 1, 10, 10, 11, 11, 12]
    assert (found.sends, found.polls, found.values) == (8, 8, 8)


def test_a_loss_is_kept_with_the_records_around_it(tmp_path: Path) -> None:
    reads = _reads([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11])
    run_dir = _sealed(tmp_path / "run", {"producer-1": _load(), "reader-1": [*reads, final_read(12)]})
    found = _screened(run_dir)
    assert found is not None
    assert {4, 5, 6} <= set(found.table["offset"].to_pylist())
    assert not {2, 8} & set(found.table["offset"].to_pylist())


@pytest.mark.parametrize(
    "histories",
    [
        {"both": [sent(0, 0), polled(0, 0)]},
        {"one": [sent(0, 0)], "two": [sent(1, 1)], "reader-1": [polled(0, 0), polled(1, 1)]},
        {"producer-1": [sent(0, 0)], "reader-1": [polled(0, 0, op=2), polled(1, 1, op=1)]},
        {"producer-1": [sent(0, 0), sent(1, 1_000_000)], "reader-1": [polled(0, 0), polled(1_000_000, 1)]},
    ],
    ids=["a process does both", "two processes of one producer", "operations go back", "offsets strewn widely"],
)
def test_what_is_laid_out_otherwise_takes_the_whole(tmp_path: Path, histories: dict[str, list[Row]]) -> None:
    assert _screened(_sealed(tmp_path / "run", histories)) is None


def test_screening_names_only_checks_there_are() -> None:
    assert set(PARTITION_CHECKS) >= SCREENED


def test_a_check_that_screening_does_not_know_is_given_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def new(view: PartitionView) -> list[Evidence]:
        seen.append(len(view.polls))
        return []

    monkeypatch.setitem(PARTITION_CHECKS, "new", new)
    run_dir = _sealed(tmp_path / "run", {"producer-1": _load(), "reader-1": _reads(list(range(12)))})
    monkeypatch.setattr(check, "LARGE_ROWS", 0)
    check_piece(pieces(run_dir)[0])
    assert seen == [12]


def test_a_damaged_file_is_left_to_the_reading_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = _sealed(tmp_path / "run", {"producer-1": _load(), "reader-1": _reads(list(range(12)))})
    path = run_dir.sealed_partition("t", 0, "reader-1")
    place = pq.read_metadata(path).row_group(0).column(6).dictionary_page_offset or 4
    path.write_bytes(path.read_bytes()[:place] + bytes(64) + path.read_bytes()[place + 64 :])
    found = _result(run_dir, monkeypatch, large=True)  # its stream is still there
    assert found["statistics"]["polled"] == 12
    assert found["findings"] == []


@st.composite
def _histories(draw: st.DrawFn) -> dict[str, list[Row]]:
    """A mostly orderly load with anything wrong in it, in any place."""
    size = draw(st.integers(1, 24))
    some = st.integers(0, size + 2)
    outcome = st.sampled_from(["ok"] * 12 + ["info", "fail"])
    transaction = st.sampled_from([None] * 12 + [1, 2])
    producers: dict[str, list[Row]] = {"producer-1": [reserved(0, 5)], "producer-2": [reserved(0, 5, producer=2)]}
    log: list[tuple[int, int]] = []
    for offset in range(size):
        producer = draw(st.sampled_from([1, 2]))
        sequence = offset if draw(st.integers(0, 11)) else draw(some)
        result = draw(outcome)
        odd = draw(st.integers(0, 15))
        told = None if odd == 1 or (result != "ok" and odd % 2) else draw(some) if odd == 2 else offset
        row = sent(sequence, told, result, producer=producer, transaction=draw(transaction), op=len(log) // 2)
        if result != "ok" and draw(st.booleans()):
            row["error_name"] = "_TIMED_OUT"
        if odd == 3:
            row["invoked_ns"] = 10 * draw(some)
        producers[f"producer-{producer}"].append(row)
        log.append((producer, sequence))
    for rows in producers.values():
        if draw(st.booleans()) and len(rows) > 2:  # reported late
            rows.append(rows.pop(draw(st.integers(1, len(rows) - 1))))
    readers: dict[str, list[Row]] = {}
    for name in ("reader-1", "reader-2"):
        rows, op, offset = readers.setdefault(name, []), 0, draw(some)
        for _ in range(draw(st.integers(0, 2 * size))):
            producer, sequence = log[offset] if offset < len(log) else (draw(st.integers(1, 3)), draw(some))
            odd = draw(st.integers(0, 24))
            if odd == 1:
                producer, sequence = draw(st.integers(-1, 3)), draw(st.integers(-1, size))
            more: dict[str, Any] = {
                "valid": odd != 2,
                "transaction": 3 if odd == 3 else None,
                "outcome": "info" if odd == 4 else "ok",
            }
            rows.append(polled(offset, sequence, producer=producer, op=op, **more))
            if odd in (5, 6):
                rows.append(assigned(reader=name) | {"op": op})
            op += draw(st.integers(0, 1))
            offset = draw(some) if odd > 22 else offset + (2 if odd == 7 else 1)
    for name, end in draw(st.lists(st.tuples(st.sampled_from(["reader-1", "reader-2"]), some), max_size=2)):
        asked = asked_end(end, at_ns=draw(st.sampled_from([10 * size, 5000])))
        readers[name] += [asked, final_read(end)] if draw(st.booleans()) else [final_read(end)]
    return producers | readers


@given(histories=_histories())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_checks_find_in_what_is_kept_what_they_find_in_the_whole(
    histories: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_dir = _sealed(Path(folder) / "run", histories)
        assert _result(run_dir, monkeypatch, large=True) == _result(run_dir, monkeypatch, large=False)
