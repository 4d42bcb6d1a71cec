"""docs/tables.md: its code reads runs as they lie there, its table has the columns, its five queries answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.check import check_run
from evidence.history.seal import seal_run
from evidence.rundir import write_json
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, sent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()
SECOND = 1_000_000_000


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_reads_runs_and_its_queries_answer(session: SparkSession, tmp_path: Path) -> None:
    at = {"invoked_ns": 0, "completed_ns": 2 * SECOND}
    lost = {"p": [sent(0, 0) | at, sent(1, 1)], "final-read-1": [polled(0, 0), final_read(2)]}
    twice = {"p": [sent(0, 0)], "final-read-1": [polled(0, 0), polled(1, 0), final_read(2)]}
    for name, histories in (("lost", lost), ("twice", twice)):
        run_dir = make_run(tmp_path / "runs" / name, histories)
        seal_run(run_dir)
        write_json(run_dir.findings, check_run(run_dir).as_json())
    (code,) = blocks("python")
    names: dict[str, Any] = {}
    exec(code.replace('"runs/', f'"{tmp_path}/runs/'), names)

    table = re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.partition("<!-- end of columns -->")[0], re.MULTILINE)
    assert [*table, ("run", "string")] == names["history"].dtypes
    columns = set(re.findall(r"`(\w+)`", re.search(r"## `findings`.*?## Five", PAGE, re.DOTALL)[0]))  # type: ignore[index]
    assert set(session.table("findings").columns) == columns - {"findings"} | {"run"}

    unread, places, latency, pauses, anomalies = (
        [tuple(row) for row in session.sql(q).collect()] for q in blocks("sql")
    )
    assert unread == [("lost", "t", 0, 1)]
    assert places == [("twice", "t", 0, 1, 0, 2)]
    assert latency[0][:5] == ("lost", "p", -1, 2, pytest.approx(1000.0, rel=0.01))
    assert pauses[0][:3] == ("lost", "t", 0)
    assert pauses[0][3] == pytest.approx(2000.0, rel=0.01)
    assert sorted(anomalies) == [("duplicate", 1, 1), ("lost-write", 1, 1)]
