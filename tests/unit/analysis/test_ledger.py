"""What runs of a cell come to: what counts, and what is told of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.ledger import rows, spark_type, text_of
from evidence.cells import Aside, CellRow
from evidence.ledger import AnyLine, ClaimLine, Excluded, Load
from tests.ledgers import ended, judged, restored, started


def row_of(*lines: AnyLine) -> CellRow:
    (row,) = rows(lines)
    return row


def ran(run: str, verdict: str = "as-documented", load: Load | None = None, **changes: Any) -> tuple[AnyLine, ...]:
    return started(run, load=load), ended(run), judged(run, verdict, **changes)


def test_runs_are_counted_by_verdict_and_failures_are_told() -> None:
    row = row_of(*ran("r1"), *ran("r2", "unexpected", text="1 LOST", reasons=("lost-write",)), *ran("r3", "unknown"))
    assert (row.runs, row.good) == (3, 1)
    assert row.verdicts == {"as-documented": 1, "unexpected": 1, "unknown": 1}
    assert row.not_good == ("r2: 1 LOST: unexpected: lost-write", "r3: unknown")
    assert row.ids == ("r1", "r2", "r3")


def test_every_failure_is_told() -> None:
    row = row_of(*(line for number in range(9) for line in ran(f"r{number}", "unexpected")))
    assert len(row.not_good) == 9


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((started("r", modified=True), ended("r"), judged("r")), "run by a modified tree of 00000000"),
        ((started("r", commit=None), ended("r"), judged("r")), "not run from a checkout"),
        ((started("r", observed=True), ended("r"), judged("r")), "with settings, a client, subjects or an expectation"),
        ((started("r", mutant="m"), ended("r"), judged("r")), "of brokers that were changed on purpose (m)"),
        ((started("r"),), "started, and no end is on record"),
        ((started("r"), ended("r", "interrupted")), "interrupted, and no verdict was given"),
        ((started("r"), ended("r", "failed", failure="no room")), "failed, and no verdict was given: no room"),
        ((*ran("r"), Excluded(schema=1, run="r", at="x", why="it hung")), "excluded: it hung"),
        ((restored("r", commits=("abc+",)),), "run by a modified tree: abc+"),
    ],
)
def test_a_run_that_does_not_count_is_told_with_the_reason(lines: tuple[AnyLine, ...], why: str) -> None:
    row = row_of(*lines)
    assert (row.runs, row.good, row.ids, len(row.aside)) == (0, 0, (), 1)
    assert row.aside[0].run == "r"
    assert row.aside[0].why.startswith(why)


def test_the_first_verdict_counts() -> None:
    again = judged("r", "as-documented", at="2026-11-25T00:00:00.000Z")
    row = row_of(started("r"), ended("r"), again, judged("r", "unexpected"))
    assert (row.good, dict(row.verdicts)) == (0, {"unexpected": 1})


def test_anomalies_are_counted_by_run_with_those_that_were_permitted() -> None:
    row = row_of(
        *ran("r1", anomalies={"duplicate": 500}, permitted=("duplicate",)),
        *ran("r2", anomalies={"lost-write": 2}, lost=2),
    )
    assert (row.seen, row.permitted) == ({"duplicate": 1, "lost-write": 1}, {"duplicate": 1})
    assert (row.lost, row.lost_records) == (1, (0, 2))


def test_times_of_a_busy_machine_stand_apart() -> None:
    took = {
        number: (ClaimLine(name="c", outcome="held", measured_ms=float(number), bound_ms=9.0),) for number in (1, 5)
    }
    quiet, busy = Load(cpu=1.0), Load(cpu=60.0)
    row = row_of(*ran("r1", load=quiet, claims=took[1], ack_ms=4.0), *ran("r2", load=busy, claims=took[5], ack_ms=1.0))
    assert [(one.load, one.ms, one.bound_ms) for one in row.timings["c"]] == [
        ("quiet", (1, 1.0, 1.0, 1.0), (9.0, 9.0)),
        ("busy", (1, 5.0, 5.0, 5.0), (9.0, 9.0)),
    ]
    assert row.ack_ms == 4.0
    assert row.claims == {"c": {"held": 2}}


def test_where_nothing_tells_of_pressure_the_load_does() -> None:
    claims = (ClaimLine(name="c", outcome="held", measured_ms=1.0),)
    loads = (Load(load_1=0.9), Load(load_1=1.1), None)
    row = row_of(*(line for n, load in enumerate(loads) for line in ran(f"r{n}", load=load, claims=claims)))
    assert [one.load for one in row.timings["c"]] == ["quiet", "busy", "not told"]


def test_cells_stand_apart_and_a_line_of_no_run_is_refused() -> None:
    found = rows([started("r1"), started("r2", case="other"), started("r3", version="2.8.2")])
    assert [(one.case, one.version) for one in found] == [
        ("default", "2.8.2"),
        ("default", "4.3.1"),
        ("other", "4.3.1"),
    ]
    with pytest.raises(ValueError, match="no line says that r9 was started"):
        rows([ended("r9")])


def test_the_order_of_lines_does_not_matter() -> None:
    lines = [*ran("r1"), *ran("r2", "unexpected"), restored("r0"), Excluded(schema=1, run="r1", at="x", why="w")]
    assert text_of(rows(lines)) == text_of(rows(reversed(lines)))


def test_columns_are_made_of_the_types() -> None:
    from analysis.ledger import schema

    types = {field.name: field.dataType.simpleString() for field in schema().fields}
    assert types["kind"] == "string"
    assert types["claims"] == "array<struct<name:string,outcome:string,measured_ms:double,bound_ms:double>>"
    assert types["anomalies"] == "map<string,bigint>"
    assert types["modified"] == "boolean"
    with pytest.raises(TypeError, match="no column"):
        spark_type(complex)


def test_a_run_without_a_name_has_none() -> None:
    assert Aside(why="w").run == ""
