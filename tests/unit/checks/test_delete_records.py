"""What was deleted by request, and answered to be, nobody reads again who began afterwards."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from analysis.check import check_run
from checks.anomalies.delete_records import confirmed, resurrected
from evidence.events import DeleteTopic, Event, RecordsDeleted
from evidence.run_state import RunState
from evidence.timeline import Timeline
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import Row, asked_end, final_read, polled, sent, view
from tests.unit.timelines import at


def deleted(before: int, at_ns: int, partition: int = 0) -> Event:
    return at(at_ns, RecordsDeleted(topic="t", partition=partition, low_watermark=before))


def found(rows: list[Row], *events: Event) -> list[Any]:
    return list(resurrected(view(*rows), confirmed(RunState(events), "t", 0)))


SENT = [sent(number, number) for number in range(4)]
LATE: dict[str, Any] = {"process": "final-read-1", "completed_ns": 9000}
READ_AGAIN = [asked_end(4, 8000), *(polled(number, number, **LATE) for number in range(4)), final_read(4)]


def test_a_record_before_the_low_watermark_that_is_read_again() -> None:
    rows = found([*SENT, *READ_AGAIN], deleted(2, 5000))
    assert [(row["offset"], row["sequence"], row["process"], row["low_watermark"]) for row in rows] == [
        (0, 0, "final-read-1", 2),
        (1, 1, "final-read-1", 2),
    ]


@pytest.mark.parametrize(
    ("rows", "events"),
    [
        ([*SENT, *READ_AGAIN], []),
        ([*SENT, *READ_AGAIN], [deleted(0, 5000)]),
        ([*SENT, *READ_AGAIN], [deleted(2, 8500)]),
        ([*SENT, *READ_AGAIN], [deleted(2, 5000, partition=1)]),
        ([*SENT, *READ_AGAIN], [deleted(2, 5000), at(6000, DeleteTopic(topic="t", by="r"))]),
        ([*SENT, *(polled(number, number, completed_ns=9000) for number in range(4))], [deleted(2, 5000)]),
        ([*SENT, asked_end(4, 8000), *(polled(number, number, **LATE) for number in (2, 3))], [deleted(2, 5000)]),
    ],
    ids=[
        "nothing was deleted",
        "none before the first",
        "answered after the reader began",
        "another partition",
        "the topic was made again",
        "it may have been fetched before",
        "it begins at the low watermark",
    ],
)
def test_what_nobody_resurrected(rows: list[Row], events: list[Event]) -> None:
    assert found(rows, *events) == []


def test_a_second_deletion_moves_the_low_watermark() -> None:
    assert [row["low_watermark"] for row in found([*SENT, *READ_AGAIN], deleted(1, 5000), deleted(3, 6000))] == [3] * 3
    assert [row["low_watermark"] for row in found([*SENT, *READ_AGAIN], deleted(1, 5000), deleted(3, 8500))] == [1]


def test_a_run_in_which_all_else_is_in_order_is_looked_at(tmp_path: Path) -> None:
    """A partition of which every record was read in order is otherwise told at a glance."""
    later = {name: time.monotonic_ns() + 10**15 for name in ("invoked_ns", "completed_ns")}
    run = make_run(tmp_path / "run", {"producer-1": SENT, "final-read-1": [row | later for row in READ_AGAIN]})
    assert [one.anomaly for one in check_run(run).findings] == []
    with Timeline(run.timeline) as timeline:
        timeline.append(RecordsDeleted(topic="t", partition=0, low_watermark=2))
    (finding,) = check_run(run).findings
    assert (finding.anomaly, finding.count, finding.reads) == (
        "resurrected",
        2,
        ("client histories", "cluster metadata"),
    )
