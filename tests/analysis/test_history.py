"""The table of all nights, by Spark: what is in it, that it is only added to, and the queries of its page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.history import COLUMNS, append, files, main
from app.commands.trend import rows
from evidence import ledger
from evidence.errors import UsageError
from evidence.ledger import AnyLine, ClaimLine, Excluded, Load
from judgement.report.trend import marks
from judgement.trend import trend
from tests.ledgers import ended, judged, restored, started, throughout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PAGE = Path(__file__).parents[2] / "docs" / "nights.md"


def write(folder: Path, *lines: AnyLine) -> Path:
    folder.mkdir(parents=True)
    for line in lines:
        ledger.append(folder / ledger.FILE, line)
    return folder


def test_nights_are_added_once_and_the_queries_of_the_page_run(session: SparkSession, tmp_path: Path) -> None:
    claim = ClaimLine(name="leader-elected", outcome="held", measured_ms=4000.0)
    late = ClaimLine(name="leader-elected", outcome="contradicted", measured_ms=9000.0)
    quiet = Load(cpu=3.0)
    first = write(
        tmp_path / "nights" / "1",
        *(
            started("r1", load=quiet),
            ended("r1"),
            judged("r1", claims=(claim,), write_pause_ms=5000.0, throughout=throughout(4.0)),
        ),
        judged("r1", "unexpected", at="2026-11-25T00:00:00.000Z"),
        *(
            started("r2", load=quiet),
            judged("r2", "unexpected", anomalies={"lost-write": 3, "duplicate": 1}, permitted=("duplicate",)),
        ),
        started("r3"),
        *(started("r4"), judged("r4"), Excluded(schema=1, run="r4", at="x", why="w")),
        restored("r0"),
    )
    table = tmp_path / "history.parquet"
    assert append(session, files([first]), table) == 2
    write(
        tmp_path / "nights" / "2",
        started("r5", at="2026-11-25T03:00:00.000Z", load=quiet),
        ended("r5", load=Load(cpu=80.0)),
        judged("r5", "unexpected", claims=(late,), throughout=throughout(4.0)),
    )
    assert append(session, files([tmp_path / "nights"]), table) == 1
    assert append(session, files([tmp_path / "nights", first]), table) == 0
    there = session.read.parquet(str(table))
    assert dict(there.dtypes) == COLUMNS
    told = {(row.run, row.what, row["name"], row.outcome, row.number, row.load) for row in there.collect()}
    assert told == {
        ("r1", "verdict", "", "as-documented", 31.0, "quiet"),
        ("r1", "claim", "leader-elected", "held", 4000.0, "quiet"),
        ("r1", "time", "write_pause_ms", "", 5000.0, "quiet"),
        ("r2", "verdict", "", "unexpected", 31.0, "not told"),
        ("r2", "anomaly", "lost-write", "seen", 3.0, "not told"),
        ("r2", "anomaly", "duplicate", "permitted", 1.0, "not told"),
        ("r5", "verdict", "", "unexpected", 31.0, "busy"),
        ("r5", "claim", "leader-elected", "contradicted", 9000.0, "busy"),
    }
    there.createOrReplaceTempView("history")
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    answers = [[tuple(row) for row in session.sql(query).collect()] for query in queries]
    assert [len(answer) for answer in answers] == [2, 1, 1, 1, 1]
    assert [str(value) for value in answers[0][0]] == ["2026-11-24", "2", "1"]
    assert answers[1][0][-1] == "unexpected"
    assert answers[2][0][-2:] == (1, 4000.0)
    assert answers[3][0][:2] == ("s", "default")
    assert answers[4][0][:3] == ("leader-elected", 2, 1)
    drawn = trend(rows(table), "night")
    (cell,) = drawn.cells
    assert (drawn.runs, marks(drawn.periods, drawn.cells[cell])) == (3, "✕✕")
    assert {one.name for one in drawn.durations} == {"leader-elected", "write_pause_ms"}


def test_a_table_of_other_columns_and_a_folder_without_a_ledger_are_refused(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.parquet"
    session.range(1).write.parquet(str(other))
    folder = write(tmp_path / "runs", started("r1"), judged("r1"))
    with pytest.raises(UsageError, match="a table of other columns"):
        append(session, files([folder]), other)
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty"), "--out", str(other)]) == 254
    assert "no ledger here" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_place_that_is_no_table_is_refused_in_a_line(session: SparkSession, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("no table")
    else:
        place.mkdir()
        (place / "notes.txt").write_text("no table")
    folder = write(tmp_path / "runs", started("r1"), judged("r1"))
    with pytest.raises(UsageError, match="place: is there, and is no table of Parquet") as refused:
        append(session, files([folder]), place)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("left", ["", "_temporary/0"])
def test_an_empty_folder_and_what_a_killed_job_left_become_the_table(
    session: SparkSession, tmp_path: Path, left: str
) -> None:
    place = tmp_path / "place"
    (place / left).mkdir(parents=True)
    folder = write(tmp_path / "runs", started("r1"), judged("r1"))
    assert append(session, files([folder]), place) == 1
    assert append(session, files([folder]), place) == 0
