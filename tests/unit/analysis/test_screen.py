"""Screening against the whole: whatever a history holds, checks find the same in what is kept, down to the evidence."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis import partition, screen, split_copies
from analysis.check import check_piece
from analysis.pieces import pieces
from analysis.result import Result
from analysis.screen import Screened, scan
from checks.anomaly import EVERY_ROW, HISTORY, KEPT_ROWS, REGISTRY, RowsNeeded, absent_if, anomaly
from checks.view import Evidence, PartitionView, view_of
from evidence.events import Container, Ends, Event, Log, Moment, Note, Partition
from evidence.history import record, seal
from evidence.history.read import sealed_files
from evidence.history.seal import seal_run
from evidence.rundir import RunDir, read_json, write_json
from evidence.timeline import Timeline
from tests.properties import examples
from tests.records import STATED
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import Row, asked_end, assigned, final_read, polled, reserved, sent
from tests.unit.kafkafiles.encode import R, batch, message
from tests.unit.timelines import at

SECOND = 1_000_000_000
PLAIN = [(number, number) for number in range(12)]


def _screened(run_dir: RunDir) -> Screened | None:
    files = sealed_files(run_dir, run_dir.read_run(), ("t", 0))
    assert files is not None
    screening = scan(list(files))
    return None if screening is None else screening.finish(())


def _sealed(root: Path, histories: dict[str, list[Row]]) -> RunDir:
    run_dir = make_run(root, histories)
    seal_run(run_dir)
    return run_dir


def _result(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, *, large: bool) -> Result:
    monkeypatch.setattr(partition, "LARGE_ROWS", 0 if large else 2**60)
    found = check_piece(pieces(run_dir)[0])
    assert {one.status for one in found.checks} == {"ok"}, found.checks
    return replace(found, checks=[])


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
    "columns",
    [
        {"completed_ns": 360 * SECOND},
        {"outcome": "fail", "offset": None, "error_name": "NOT_ENOUGH_REPLICAS", "completed_ns": 301 * SECOND},
        {"outcome": "info", "offset": None, "error_name": "_MSG_TIMED_OUT", "completed_ns": 305 * SECOND},
    ],
    ids=["late", "refused", "given up"],
)
def test_a_record_that_nobody_takes_for_no_reason_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: Row
) -> None:
    load = _load(invoked_ns=300 * SECOND)
    load[5] |= columns
    reads = _reads([one for one in range(12) if load[one]["offset"] == one])
    run_dir = _sealed(tmp_path / "run", {"producer-1": load, "reader-1": [*reads, final_read(12)]})
    run_dir.timeline.unlink()
    with Timeline(run_dir.timeline) as written:
        state = Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2))
        written.append(at(SECOND, state))
        written.append(at(400 * SECOND, Note(text="the end")))
    found = [_result(run_dir, monkeypatch, large=large) for large in (True, False)]
    assert found[0] == found[1]
    assert [(one.anomaly, one.count) for one in found[0].findings] == [("unwritable", 1)]


@pytest.mark.parametrize("read", [3, 0, 12], ids=["it stops", "it gets nothing", "it reads all"])
def test_a_consumer_that_is_given_no_more_is_found_as_in_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    now_ns = time.monotonic_ns()  # when the histories say that their processes ended
    load = _load(invoked_ns=now_ns - 30 * SECOND, completed_ns=now_ns - 29 * SECOND)
    given = assigned() | {"completed_ns": now_ns - 31 * SECOND, "op": 0}
    own = [polled(one, one, op=1 + one // 3, completed_ns=now_ns - 28 * SECOND) for one in range(read)]
    rest = [row | {"completed_ns": now_ns - SECOND} for row in _reads(list(range(12)))]
    run_dir = _sealed(tmp_path / "run", {"producer-1": load, "reader-1": [given, *own], "reader-2": rest})
    facts = read_json(run_dir.run_json)
    (own_process,) = (one for one in facts["processes"] if one["name"] == "reader-1")
    own_process["kind"] = "consumer"
    write_json(run_dir.run_json, facts)
    run_dir.timeline.unlink()
    with Timeline(run_dir.timeline) as written:
        state = Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2))
        written.append(at(now_ns - 100 * SECOND, state))
        written.append(at(now_ns + 60 * SECOND, Note(text="the end")))
    found = [_result(run_dir, monkeypatch, large=large) for large in (True, False)]
    assert found[0] == found[1]
    names = [one.anomaly for one in found[0].findings]
    assert names == ([] if read == 12 else ["stuck-reader"])


@pytest.mark.parametrize("reader", ["reader-1", "reader-2"], ids=["a reader", "one that was given nothing"])
def test_what_was_read_and_lies_beyond_the_end_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    reads = _reads(list(range(12)))
    histories = {"producer-1": _load(), "reader-1": reads, "reader-2": []}
    histories[reader] = [*histories[reader], asked_end(9, at_ns=5000), final_read(9)]
    run_dir = _sealed(tmp_path / "run", histories)
    found = [_result(run_dir, monkeypatch, large=large) for large in (True, False)]
    assert found[0] == found[1]
    assert [(one.anomaly, one.count) for one in found[0].findings] == [("lost-write", 3)]


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


@pytest.mark.parametrize(
    ("screened", "rows"),
    [
        (EVERY_ROW, 12),
        (KEPT_ROWS, 4),
        (absent_if(lambda view: len(view.polls) == 4), 4),
        (absent_if(lambda view: False), 12),
    ],
    ids=["says nothing", "kept rows are enough", "kept rows prove it absent", "kept rows do not prove it"],
)
def test_a_check_is_given_the_whole_unless_the_kept_rows_are_enough(
    screened: RowsNeeded, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr("checks.catalogue.REGISTRY", (known := dict(REGISTRY)))
    monkeypatch.setattr("checks.anomaly.REGISTRY", known)

    @anomaly("new", **STATED, reads=(HISTORY,), screened=screened)
    def new(view: PartitionView) -> list[Evidence]:
        """What was seen."""
        seen.append(len(view.polls))
        return []

    run_dir = _sealed(tmp_path / "run", {"producer-1": _load(), "reader-1": _reads(list(range(12)))})
    monkeypatch.setattr(partition, "LARGE_ROWS", 0)
    check_piece(pieces(run_dir)[0])
    assert seen == [rows]


def test_a_damaged_file_is_left_to_the_reading_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = _sealed(tmp_path / "run", {"producer-1": _load(), "reader-1": _reads(list(range(12)))})
    path = run_dir.sealed_partition("t", 0, "reader-1")
    place = pq.read_metadata(path).row_group(0).column(6).dictionary_page_offset or 4
    path.write_bytes(path.read_bytes()[:place] + bytes(64) + path.read_bytes()[place + 64 :])
    found = _result(run_dir, monkeypatch, large=True)  # its stream is still there
    assert found.statistics["polled"] == 12
    assert found.findings == []


@st.composite
def _histories(draw: st.DrawFn) -> dict[str, list[Row]]:
    """A mostly clean load with anything wrong in it, in any place."""
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
        irregular = draw(st.integers(0, 15))
        told = (
            None if irregular == 1 or (result != "ok" and irregular % 2) else draw(some) if irregular == 2 else offset
        )
        row = sent(sequence, told, result, producer=producer, transaction=draw(transaction), op=len(log) // 2)
        if result != "ok" and draw(st.booleans()):
            row["error_name"] = "_TIMED_OUT"
        if irregular == 3:
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
            irregular = draw(st.integers(0, 24))
            if irregular == 1:
                producer, sequence = draw(st.integers(-1, 3)), draw(st.integers(-1, size))
            more: dict[str, Any] = {
                "valid": irregular != 2,
                "transaction": 3 if irregular == 3 else None,
                "outcome": "info" if irregular == 4 else "ok",
            }
            rows.append(polled(offset, sequence, producer=producer, op=op, **more))
            if irregular in (5, 6):
                rows.append(assigned(reader=name) | {"op": op})
            op += draw(st.integers(0, 1))
            offset = draw(some) if irregular > 22 else offset + (2 if irregular == 7 else 1)
    for name, end in draw(st.lists(st.tuples(st.sampled_from(["reader-1", "reader-2"]), some), max_size=2)):
        asked = asked_end(end, at_ns=draw(st.sampled_from([10 * size, 5000])))
        readers[name] += [asked, final_read(end)] if draw(st.booleans()) else [final_read(end)]
    return producers | readers


HALF_S = 500_000_000


@st.composite
def _runs(draw: st.DrawFn) -> tuple[dict[str, list[Row]], list[Event], dict[str, dict[int, bytes]]]:
    """Histories with times, what was stated meanwhile, and the segments of copies by directory and base offset."""
    histories = draw(_histories())
    moment_s = st.integers(0, 60)
    for name, rows in histories.items():
        for row in rows:
            if row["kind"] == "send":
                row["invoked_ns"] *= HALF_S // 10
                row["completed_ns"] = row["completed_ns"] // 10 * HALF_S + draw(st.sampled_from([1, 1, 2, 9])) * HALF_S
            elif row["kind"] == "poll":
                row["completed_ns"] = (row["offset"] + draw(st.integers(1, 9))) * HALF_S
                row["invoked_ns"] = row["completed_ns"] - draw(st.integers(0, 3)) * HALF_S
        if name == "reader-2":
            rows += [
                asked_end(draw(st.integers(0, 26)), draw(moment_s) * HALF_S) for _ in range(draw(st.integers(0, 3)))
            ]
    isr = st.sampled_from([(1, 2, 3), (1, 2, 3), (1, 2), (2, 3), (1,)])
    broker = st.integers(1, 3)
    where: dict[str, Any] = {"topic": "t", "partition": 0}
    events: list[Event] = []
    for _ in range(draw(st.integers(0, 5))):
        leader: dict[str, Any] = {
            "leader": draw(st.integers(1, 2)),
            "leader_epoch": draw(st.integers(0, 1)),
            "isr": draw(isr),
        }
        state = Partition(source="zookeeper", **where, **leader)
        events.append(at(draw(st.integers(-2, 60)) * HALF_S, state))
    for _ in range(draw(st.integers(0, 2))):
        action = Container(node=f"broker-{draw(broker)}", action=draw(st.sampled_from(["die", "start", "pause"])))
        events.append(at(draw(moment_s) * HALF_S, action))
    for _ in range(draw(st.integers(0, 2))):
        end = draw(st.integers(0, 24))
        cut = Log(node=f"broker-{draw(broker)}", event="truncate", line="Truncating", offset=end, **where)
        events.append(at(draw(moment_s) * HALF_S, cut))
    log = sorted(
        {row["offset"]: row for row in histories["producer-1"] + histories["producer-2"] if row.get("offset")}.items()
    )
    segments: dict[str, dict[int, bytes]] = {}
    rolled = draw(st.integers(1, 12))
    for name in draw(st.sampled_from([[], ["01-one"], ["01-one", "02-two"]])):
        nodes: dict[str, dict[str, Ends]] = {}
        for number in (1, 2, 3):
            nodes[f"broker-{number}"] = {"t-0": Ends(leo=0, hw=draw(st.integers(0, 20)))}
            entries = [(offset, row["producer"], row["sequence"]) for offset, row in log][: draw(st.integers(0, 30))]
            segments[f"{name}/broker-{number}"] = draw(_segments(entries, rolled))
        at_s = draw(moment_s)
        begun_ns = (at_s - draw(st.integers(1, 2))) * HALF_S
        events.append(at(at_s * HALF_S, Moment(name=name, nodes=nodes, begun_ns=begun_ns)))
    return histories, events, segments


@st.composite
def _segments(draw: st.DrawFn, entries: list[tuple[int, int, int]], rolled: int) -> dict[int, bytes]:
    """A log of these records (offset, producer, sequence), with anything wrong in it; from `rolled` on a new segment
    begins, mostly.
    """
    segments = {0: b""}
    cut = rolled if draw(st.integers(0, 5)) else 100
    for offset, producer, sequence in entries:
        irregular = draw(st.integers(0, 39))
        if irregular == 1:
            continue
        base = cut if offset >= cut else 0
        segments.setdefault(base, b"")
        value = record.encode(1, producer, draw(st.integers(0, 24)) if irregular == 2 else sequence)
        one = R(value=b"someone else's" if irregular == 3 else value[:-1] + b"?" if irregular == 4 else value)
        if irregular == 5:
            segments[base] += message(offset, one, magic=1)
        elif irregular == 6:
            segments[base] += batch(offset, [one], codec=1)
        elif irregular == 7:
            segments[base] += batch(offset, [one], crc=1)
        elif irregular == 8:
            segments[base] += batch(offset, [R(value=value, headers=((b"a", b"b"),))])
        else:
            segments[base] += batch(offset, [one])
    return segments


def _of(folder: Path, run: tuple[dict[str, list[Row]], list[Event], dict[str, dict[int, bytes]]]) -> RunDir:
    """A run directory of what was drawn."""
    histories, events, segments = run
    run_dir = _sealed(folder / "run", histories)
    run_dir.timeline.unlink()
    with Timeline(run_dir.timeline) as written:
        for event in events:
            written.append(event)
    for directory, of_it in segments.items():
        path = run_dir.replicas / directory / "t-0"
        path.mkdir(parents=True)
        for base, content in of_it.items():
            (path / f"{base:020}.log").write_bytes(content)
    return run_dir


@pytest.mark.slow
@given(run=_runs(), group_rows=st.sampled_from([5, seal.GROUP_ROWS]), ahead=st.booleans())
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_checks_find_in_what_is_kept_what_they_find_in_the_whole(
    run: Any, group_rows: int, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal, "GROUP_ROWS", group_rows)
    monkeypatch.setattr(screen, "LARGE_ROWS", 0 if ahead else 2**60)
    monkeypatch.setattr(split_copies, "LARGE_BYTES", 0 if ahead else 2**60)
    with tempfile.TemporaryDirectory() as folder:
        run_dir = _of(Path(folder), run)
        found = _result(run_dir, monkeypatch, large=True)
        monkeypatch.setattr(split_copies, "LARGE_BYTES", 2**60)
        assert found == _result(run_dir, monkeypatch, large=False)


def test_a_run_with_states_and_copies_is_screened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"".join(batch(offset, [R(value=record.encode(1, 1, sequence))]) for offset, sequence in PLAIN)
    stated = Partition(source="zookeeper", topic="t", partition=0, isr=(1, 2), leader=1, leader_epoch=0)
    copied = Moment(name="01-one", nodes={"broker-1": {}, "broker-2": {}}, begun_ns=58 * HALF_S)
    events: list[Event] = [at(-HALF_S, stated), at(60 * HALF_S, copied)]
    disks = {"01-one/broker-1": {0: content}, "01-one/broker-2": {0: content}}
    run_dir = _of(tmp_path, ({"producer-1": _load(), "reader-1": _reads(list(range(12)))}, events, disks))
    seen: list[int] = []
    real = view_of

    def counted(topic: str, partition: int, table: pa.Table, **how: Any) -> PartitionView:
        seen.append(len(table))
        return real(topic, partition, table, **how)

    monkeypatch.setattr(partition, "view_of", counted)
    found = _result(run_dir, monkeypatch, large=True)
    assert found.statistics["replica_records"] == 24
    assert found.findings == []
    assert seen[0] < 10


@pytest.mark.parametrize(
    "name", ["log-truncated-below-high-watermark", "unreplicated-acknowledgement", "high-watermark-regression"]
)
def test_what_is_due_to_be_held_against_brokers_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = [row | {"invoked_ns": 10 * row["sequence"], "completed_ns": 10 * row["sequence"] + 5} for row in _load()]
    whole = b"".join(batch(offset, [R(value=record.encode(1, 1, sequence))]) for offset, sequence in PLAIN)
    short = b"".join(batch(at_, [R(value=record.encode(1, 1, at_))]) for at_, _ in PLAIN if at_ not in (4, 5, 6))
    told = [asked_end(5, 20 * HALF_S)] if name == "high-watermark-regression" else []
    stated = Partition(source="zookeeper", topic="t", partition=0, isr=(1, 2), leader=1, leader_epoch=0)
    cut = Log(node="broker-2", event="truncate", line="Truncating", offset=5, topic="t", partition=0)
    copied = Moment(name="01-one", nodes={"broker-1": {}, "broker-2": {}}, begun_ns=58 * HALF_S)
    events: list[Event] = [at(-HALF_S, stated), at(60 * HALF_S, copied)]
    events += [at(40 * HALF_S, cut)] if name == "log-truncated-below-high-watermark" else []
    histories = {"producer-1": load, "reader-1": [*_reads(list(range(12))), *told]}
    other = short if name == "unreplicated-acknowledgement" else whole
    disks = {"01-one/broker-1": {0: whole}, "01-one/broker-2": {0: other}}
    run_dir = _of(tmp_path, (histories, events, disks))
    found = _result(run_dir, monkeypatch, large=True)
    assert name in {finding.anomaly for finding in found.findings}
    assert found == _result(run_dir, monkeypatch, large=False)
