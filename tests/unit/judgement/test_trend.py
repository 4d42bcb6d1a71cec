"""Cells and durations over nights, releases and commits, and what is drawn of them."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from pyarrow import parquet

from app.cli import main
from evidence.errors import EXIT_USAGE
from judgement.report import trend as report
from judgement.trend import HistoryRow, Period, TrendSubject, trend

EVENING = datetime(2026, 11, 23, 22, 0)
CELL = TrendSubject("leader-crash", "acks-all", "4.3.1")
ELECTED = TrendSubject("leader-crash", "acks-all", "4.3.1", "leader-elected")


def row(
    run: str, what: str = "verdict", outcome: str = "as-documented", nights: float = 0, **changes: Any
) -> HistoryRow:
    about: dict[str, Any] = {"scenario": "leader-crash", "case": "acks-all", "version": "4.3.1", "commit": "a" * 40}
    about |= {"modified": False, "name": "", "number": 30.0, "load": "quiet"} | changes
    return HistoryRow(run=run, at=EVENING + timedelta(days=nights), what=what, outcome=outcome, **about)


def elected(run: str, ms: float | None, **changes: Any) -> HistoryRow:
    return row(run, "claim", "held", name="leader-elected", number=ms, **changes)


ROWS = [
    row("r1"),
    elected("r1", 1000.0),
    row("r2", nights=0.4, version="2.8.2"),  # the next morning, which is of the same night
    row("r3", outcome="unexpected", nights=1, commit="b" * 40),
    row("r4", outcome="unknown", nights=1, modified=True),
    elected("r3", 3000.0, nights=1, load="busy"),
    elected("r4", 5000.0, nights=1),
    elected("r4", None, nights=1),
    row("r3", "anomaly", "seen", nights=1, name="lost-write", number=3.0),
    row("r5", outcome="unknown", nights=3, commit=None),
]


def test_by_nights() -> None:
    found = trend(ROWS, "night")
    assert found.periods == ["2026-11-24", "2026-11-25", "2026-11-27"]
    assert found.runs == 5
    assert found.cells[CELL] == {
        "2026-11-24": Period(good=1),
        "2026-11-25": Period(bad=1, doubtful=1),
        "2026-11-27": Period(doubtful=1),
    }
    assert report.marks(found.periods, found.cells[CELL]) == "✓✕?"
    assert found.not_always_good == [CELL]
    spread = found.durations[ELECTED]["2026-11-25"]
    assert (spread.runs, spread.least_ms, spread.median_ms, spread.most_ms, spread.busy) == (2, 3000, 4000, 5000, 1)
    assert found.by_change == [(4.0, ELECTED)]


def test_by_releases_and_commits() -> None:
    releases = trend(ROWS, "release")
    assert releases.periods == ["2.8.2", "4.3.1"]
    (cell,) = releases.cells
    assert (cell.version, releases.cells[cell]["2.8.2"]) == ("", Period(good=1))
    assert trend(ROWS, "commit").periods == ["a" * 10, "a" * 10 + "+", "b" * 10, "no commit"]


def test_the_terminal_has_what_was_not_good_and_what_changed() -> None:
    told = "\n".join(report.lines(trend(ROWS, "night")))
    assert told.splitlines()[0] == (
        "3 nights, 2026-11-24 to 2026-11-27: 5 runs of 2 cells; in the last night 1 cell did not end well"
    )
    assert "leader-crash (acks-all) on 4.3.1  ✓✕?" in told
    assert "leader-elected of leader-crash (acks-all) on 4.3.1  ▂█·  4 s last, ×4.00 (2 runs)" in told
    assert "2.8.2" not in told
    quiet = "\n".join(report.lines(trend(ROWS[:3], "night")))
    assert "✕" not in quiet
    assert quiet.startswith("1 night, 2026-11-24: 2 runs of 2 cells; in the last night no cells did not end well")


def test_the_page_has_every_cell_and_a_picture_of_each_duration() -> None:
    page = report.render_html(trend(ROWS, "night"))
    assert page.index("leader-crash (acks-all) on 4.3.1") < page.index("leader-crash (acks-all) on 2.8.2")
    (svg,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    drawn = ET.fromstring(svg)
    first, second = drawn.iter("circle")
    assert float(first.attrib["cx"]) == report.STEP / 2 < float(second.attrib["cx"])
    assert float(first.attrib["cy"]) > float(second.attrib["cy"])  # the longer time is higher
    assert "hollow" not in svg
    assert "2026-11-25: median 4 s, 3 s to 5 s (2 runs, 1 on a busy machine)" in svg
    busy = trend([elected("r", 1.0, load="busy")], "night")
    assert 'class="dot hollow"' in report.render_html(busy)


def test_no_point_leaves_its_picture() -> None:
    found = trend([elected(str(n), 10.0**n, nights=n) for n in range(5)], "night")
    drawn = ET.fromstring(report.picture(found.periods, found.durations[ELECTED]))
    height, width = (float(drawn.attrib[name]) for name in ("height", "width"))
    assert all(0 <= float(one.attrib["cy"]) <= height for one in drawn.iter("circle"))
    assert all(0 <= float(one.attrib["cx"]) <= width for one in drawn.iter("circle"))


def test_the_command_reads_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "history.parquet"
    table.mkdir()
    own = asdict(row("r9", outcome="unexpected")) | {"observed": True, "mutant": ""}
    values = [own, *(asdict(one) | {"observed": False, "mutant": ""} for one in ROWS)]
    parquet.write_table(pa.Table.from_pylist(values), table / "part-0.parquet")
    asked = ["trend", "--table", str(table), "--versions", "4.3.1", "--out", str(tmp_path / "trend.html")]
    assert main(asked) == 0
    assert "4 runs of 1 cell" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "trend.html").read_text()
    assert main([*asked, "--scenarios", "baseline"]) == EXIT_USAGE
    assert "no runs of these scenarios and versions" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["nothing", "a folder", "a file", "other columns"])
def test_what_is_no_table_is_one_line(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t"
    if what != "nothing":
        table.mkdir()
    if what == "a file":
        (table / "part-0.parquet").write_text("no Parquet")
    if what == "other columns":
        parquet.write_table(pa.table({"run": ["r"]}), table / "part-0.parquet")
    assert main(["trend", "--table", str(table)]) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert str(table) in line
    assert "kafka-chaos trend runs/nightly --table TABLE" in line
