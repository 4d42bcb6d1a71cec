"""Operations of unknown outcome: a read in one partition tells what became of them in the others, or nothing does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis import check
from analysis.check import check_run
from analysis.pieces import Piece, pieces
from analysis.result import Result
from evidence.history.seal import seal_run
from evidence.rundir import RunDir, read_json, write_json
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import Row, asked_end, final_read, polled, sent


def txn(kind: str, outcome: str = "ok", number: int = 1) -> Row:
    """The end of a transaction, a row of no partition."""
    row = {"kind": kind, "outcome": outcome, "transaction": number, "completed_ns": 90, "topic": None}
    return row | {"partition": None}


def inside(sequence: int, offset: int | None, partition: int, outcome: str = "ok") -> Row:
    return sent(sequence, offset, outcome, transaction=1, partition=partition)


def made(offset: int, output: int, outcome: str, **more: Any) -> Row:
    """The pipeline (producer 9) processed the input of partition 0 at an offset."""
    row = {"kind": "processed", "outcome": outcome, "offset": offset, "producer": 9, "sequence": output}
    return row | {"completed_ns": 10 + output} | more


def put(output: int, offset: int | None, outcome: str, **more: Any) -> Row:
    """The pipeline sent an output to partition 1."""
    return sent(output, offset, outcome, producer=9, partition=1, completed_ns=10 + output) | more


def commits(offset: int) -> Row:
    return {"kind": "offsets", "outcome": "ok", "offset": offset, "completed_ns": 50}


def a_run(root: Path, histories: dict[str, list[Row]], *, pipeline: str = "") -> RunDir:
    run_dir = make_run(root, histories, partitions=2)
    facts = read_json(run_dir.run_json)
    for process in facts["processes"]:
        process["kind"] = "processor" if process["name"] == pipeline else process["kind"]
    write_json(run_dir.run_json, facts)
    seal_run(run_dir)
    return run_dir


def found(run_dir: RunDir) -> dict[tuple[str, int], int]:
    findings = check_run(run_dir)
    assert [one for one in findings.checks if one.status != "ok"] == []
    own = ("torn-transaction", "leader-outside-isr")
    return {(one.anomaly, one.partition or 0): one.count for one in findings.findings if one.anomaly not in own}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Piece]:
    """The pieces that were checked, in turn."""
    seen: list[Piece] = []

    def noted(piece: Piece) -> Any:
        seen.append(piece)
        return CHECK(piece)

    monkeypatch.setattr(check, "check_piece", noted)
    return seen


CHECK = check.check_piece
UNKNOWN = [inside(0, 0, 0), inside(1, 0, 1), txn("commit", "info"), sent(2, 1, partition=1, producer=1)]
PASSED = polled(1, 2, partition=1)


def test_a_transaction_proven_in_one_partition_is_committed_in_the_other(tmp_path: Path, checked: list[Piece]) -> None:
    run_dir = a_run(tmp_path / "run", {"producer-1": UNKNOWN, "reader-1": [polled(0, 0), PASSED]})
    assert found(run_dir) == {("lost-write", 1): 1}
    assert [piece.partition for piece in checked] == [0, 1, -1, 1]


def test_an_offset_that_is_proven_so_has_two_values(tmp_path: Path) -> None:
    taken = [*UNKNOWN, sent(3, 0, partition=1, invoked_ns=1)]
    reads = [polled(0, 0), polled(0, 3, partition=1), PASSED]
    run_dir = a_run(tmp_path / "run", {"producer-1": taken, "reader-1": reads})
    assert found(run_dir) == {("lost-write", 1): 1, ("inconsistent-offsets", 1): 1}


def test_a_transaction_that_nothing_proves_stays_unknown(tmp_path: Path, checked: list[Piece]) -> None:
    run_dir = a_run(tmp_path / "run", {"producer-1": UNKNOWN, "reader-1": [PASSED]})
    assert found(run_dir) == {}
    assert [piece.partition for piece in checked] == [0, 1, -1]


def test_what_is_read_uncommitted_proves_no_transaction(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", {"producer-1": UNKNOWN, "reader-1": [polled(0, 0), PASSED]}, partitions=2)
    facts = read_json(run_dir.run_json)
    facts["processes"][1]["settings"] = {"isolation.level": "read_uncommitted"}
    write_json(run_dir.run_json, facts)
    assert found(run_dir) == {}


def test_where_all_is_known_no_piece_is_checked_again(tmp_path: Path, checked: list[Piece]) -> None:
    sends = [inside(0, 0, 0), inside(1, 0, 1), txn("commit"), sent(5, None, "info")]
    run_dir = a_run(
        tmp_path / "run", {"producer-1": sends, "reader-1": [polled(0, 0), polled(1, 5), polled(0, 1, partition=1)]}
    )
    assert found(run_dir) == {}
    assert len(checked) == len(pieces(run_dir))


def pipeline(root: Path, *rows: Row, reads: list[Row]) -> RunDir:
    inputs = [sent(0, 0), sent(1, 1)]
    taken = [polled(offset, offset, completed_ns=9) for offset in range(2)]
    histories = {"producer-1": inputs, "pipeline": [*taken, *rows], "reader-1": reads}
    return a_run(root, histories, pipeline="pipeline")


ALL_READ = [asked_end(2, at_ns=80), final_read(2)]


def test_an_output_that_was_read_proves_that_its_input_was_processed(tmp_path: Path) -> None:
    rows = [put(0, None, "info"), made(0, 0, "info"), put(1, 1, "ok"), made(0, 1, "ok")]
    both = [polled(0, 0, producer=9, partition=1), polled(1, 1, producer=9, partition=1)]
    assert found(pipeline(tmp_path / "both", *rows, reads=both)) == {("repeated-processing", 0): 1}
    # The first output was never there.
    assert found(pipeline(tmp_path / "one", *rows, reads=[polled(1, 1, producer=9, partition=1)])) == {}


def test_an_output_that_is_nowhere_leaves_its_input_unprocessed(tmp_path: Path) -> None:
    rows = [put(0, None, "info", invoked_ns=11), made(0, 0, "info"), put(1, 0, "ok"), made(1, 1, "ok"), commits(2)]
    read = [polled(0, 1, producer=9, partition=1)]
    end = [row | {"partition": 1} for row in (asked_end(1, at_ns=80), final_read(1))]
    skipped = found(pipeline(tmp_path / "end", *rows, reads=[*read, *end]))
    assert skipped == {("skipped-processing", 0): 1, ("committed-too-far", 0): 1}
    # Nothing says that all was read; or it was asked while the output was in flight.
    assert found(pipeline(tmp_path / "none", *rows, reads=read)) == {}
    early = [row | {"partition": 1} for row in (asked_end(1, at_ns=2), final_read(1))]
    assert found(pipeline(tmp_path / "early", *rows, reads=[*read, *early])) == {}
    there = [polled(1, 0, producer=9, partition=1, completed_ns=2000)]
    assert found(pipeline(tmp_path / "there", *rows, reads=[*read, *there, *end])) == {}


def test_what_pieces_say_survives_the_way_through_json(tmp_path: Path) -> None:
    run_dir = a_run(tmp_path / "run", {"producer-1": UNKNOWN, "reader-1": [polled(0, 0), PASSED]})
    work = pieces(run_dir)
    results = [Result.from_json(check.check_piece(piece).as_json()) for piece in work]
    again = check.to_check_again(work, results)
    assert {place: piece.partition for place, piece in again.items()} == {1: 1}
    assert [one.anomaly for one in check.check_piece(again[1]).findings] == ["lost-write"]
