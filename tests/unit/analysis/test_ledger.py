"""What runs of a cell come to: what counts, and what is told of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.ledger import rows, spark_type, text_of
from evidence.cells import Aside, CellRow
from evidence.ledger import AnyLine, ClaimLine, Excluded, Load
from evidence.quiet import load_of
from tests.ledgers import ended, judged, restored, started, throughout


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
    row = row_of(
        *ran("r1", load=quiet, claims=took[1], ack_ms=4.0, throughout=throughout(2.0)),
        *ran("r2", load=busy, claims=took[5], ack_ms=1.0, throughout=throughout(2.0)),
    )
    assert [(one.load, one.ms, one.bound_ms) for one in row.timings["c"]] == [
        ("quiet", (1, 1.0, 1.0, 1.0), (9.0, 9.0)),
        ("busy", (1, 5.0, 5.0, 5.0), (9.0, 9.0)),
    ]
    assert row.ack_ms == 4.0
    assert row.claims == {"c": {"held": 2}}


def test_what_a_way_costs_stands_apart_by_how_busy_the_machine_was() -> None:
    def paced(p50_ms: float) -> dict[str, Any]:
        return {"latency_p50_ms": p50_ms, "latency_p99_ms": 9.0, "inputs_per_s": 100.0}

    quiet, busy = Load(cpu=1.0), Load(cpu=60.0)
    row = row_of(
        *ran("r1", load=quiet, throughout=throughout(2.0), **paced(3.0)),
        *ran("r2", load=busy, throughout=throughout(2.0), **paced(8.0)),
        *ran("r3", load=quiet, throughout=throughout(2.0)),
    )
    assert [(one.load, one.latency_p50_ms, one.inputs_per_s) for one in row.paces] == [
        ("quiet", (1, 3.0, 3.0, 3.0), (1, 100.0, 100.0, 100.0)),
        ("busy", (1, 8.0, 8.0, 8.0), (1, 100.0, 100.0, 100.0)),
    ]
    assert row_of(*ran("r4")).paces == ()


@pytest.mark.parametrize(
    ("begun", "through", "end", "expected"),
    [
        (Load(cpu=3.0), 19.9, None, "quiet"),
        (Load(cpu=3.0), 19.9, Load(cpu=5.0), "quiet"),
        (Load(cpu=3.0), 20.0, None, "busy"),
        (Load(cpu=3.0), 2.0, Load(cpu=20.0), "busy"),
        (Load(cpu=20.0), 2.0, Load(cpu=1.0), "busy"),
        (None, 90.0, None, "busy"),
        (Load(cpu=3.0), None, None, "not told"),
        (Load(cpu=3.0), None, Load(cpu=3.0), "not told"),
        (None, 2.0, None, "not told"),
        (None, None, None, "not told"),
        (Load(load_1=1.1), None, None, "busy"),
        (Load(load_1=0.9), None, Load(load_1=1.1), "busy"),
        (Load(load_1=0.9), 0.0, Load(load_1=0.9), "not told"),
    ],
)
def test_a_machine_is_quiet_only_if_it_was_so_through_the_whole_run(
    begun: Load | None, through: float | None, end: Load | None, expected: str
) -> None:
    """A line that has only the beginning makes no machine quiet, and a kernel that does not count does not either."""
    told = judged("r", throughout=None if through is None else throughout(through))
    assert load_of(started("r", load=begun), ended("r", load=end), told) == expected


def test_times_whose_machine_is_not_known_to_be_quiet_stand_with_those_that_are_not_told() -> None:
    claims = (ClaimLine(name="c", outcome="held", measured_ms=1.0),)
    row = row_of(*ran("r1", load=Load(cpu=3.0), claims=claims, ack_ms=4.0))
    assert [one.load for one in row.timings["c"]] == ["not told"]
    assert row.ack_ms is None


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
