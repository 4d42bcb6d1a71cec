"""findings.json as a type: rows name their records, what is for people stays apart, and JSON gives it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.findings import Finding, Findings, Row, found, read_findings, write_findings
from evidence.records import RecordId
from evidence.rundir import RunDir, write_json

OURS, NEXT = RecordId("t", 0, 1, 3), RecordId("t", 0, 1, 4)
NOBODYS = RecordId("t", 0, -1, -1)


def test_a_row_names_its_own_record_first_and_each_once() -> None:
    row = Row.of(
        {"producer": 1, "sequence": 3, "offset": 7, "records": [NEXT, OURS, NOBODYS], "read": [NEXT]}, ("t", 0)
    )
    assert (row.records, row.read, row.offset) == ((OURS, NEXT), (NEXT,), 7)
    assert row.detail == {}


def test_what_nothing_is_concluded_from_is_detail_and_columns_that_are_empty_are_not_told() -> None:
    row = Row.of({"topic": "t", "partition": 0, "process": None, "acks": -1, "furthest_read": {"offset": 9}}, ("t", 0))
    assert row == Row(acks=-1, detail={"furthest_read": {"offset": 9}})
    assert row.for_people() == {"acks": -1, "furthest_read": {"offset": 9}}
    assert Row.of({"topic": "t", "partition": 1, "offset": 0}).for_people() == {
        "topic": "t",
        "partition": 1,
        "offset": 0,
    }


@pytest.mark.parametrize("told", [{"value": "a"}, {"producer": -1, "sequence": -1}, {"producer": None, "sequence": 1}])
def test_a_record_that_is_not_ours_is_not_named(told: dict[str, object]) -> None:
    assert Row.of(told, ("t", 0)).records == ()


def test_a_finding_of_rows_that_name_one_partition_is_of_that_partition() -> None:
    rows = [{"topic": "t", "partition": 0, "offset": 5}, {"topic": "t", "partition": 0}, {"topic": "t", "partition": 0}]
    one = found("empty-isr", None, rows, reads=("cluster metadata",), limit=2)
    assert (one.where, one.count, len(one.evidence), one.whole) == (("t", 0), 3, 2, False)
    assert one.summary == "empty-isr: 3 in t-0, the first at offset 5"
    several = found("empty-isr", None, [*rows, {"topic": "t", "partition": 1}])
    assert (several.where, several.whole, several.evidence[3].partition) == (None, True, 1)


def test_findings_are_written_and_read_back(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    row = Row(records=(OURS,), holdings={"00-armed": {"broker-1": 3, "broker-2": None}}, detail={"what": [1, "a"]})
    made = Findings(findings=(Finding(anomaly="lost-write", topic="t", partition=0, count=1, evidence=(row,)),))
    assert read_findings(run_dir) == (None, None)
    write_findings(run_dir, made)
    assert read_findings(run_dir) == (made, None)
    assert isinstance(made.findings[0].evidence[0].records[0], RecordId)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"findings": []}, "schema None, this program reads 2"),
        ({"schema": 1, "findings": []}, "schema 1, this program reads 2"),
        ({"schema": 2, "findings": [{"count": 1}]}, "anomaly"),
        ([], "schema None"),
    ],
)
def test_what_is_no_findings_is_said_in_one_line(tmp_path: Path, value: object, why: str) -> None:
    run_dir = RunDir(tmp_path)
    write_json(run_dir.findings, value)
    nothing, damage = read_findings(run_dir)
    assert nothing is None
    assert damage is not None
    assert why in damage
    assert "\n" not in damage
