"""An audit as JUnit XML: a test case for each producer and topic, which fails if --fail-on is met by something new."""

from __future__ import annotations

from collections.abc import Collection

from audit import baseline
from audit.grade import NOT_MEASURED, REFUSED, AuditAnswer, Breach, MeasuredHarm, ProducerRow
from audit.report import console, words
from evidence import junit
from evidence.junit import JUnitCase, JUnitSuite, NotPassed


def render(answer: AuditAnswer, *, fail_on: Collection[str] = (), accepted: Collection[str] = ()) -> str:
    """The answer as XML. What is not measured, or refused by its client, is skipped, and so never shown as passed."""
    failing: dict[int, list[MeasuredHarm | Breach]] = {}
    for row, finding in baseline.new(answer, fail_on, accepted):
        failing.setdefault(id(row), []).append(finding)
    cases = [_case(row, failing.get(id(row), []), accepted) for row in answer.rows]
    suite = JUnitSuite("kafka-chaos audit", cases, errors="\n".join(map(str, answer.problems)))
    return junit.render("kafka-chaos audit", [suite])


def _case(row: ProducerRow, failing: list[MeasuredHarm | Breach], accepted: Collection[str]) -> JUnitCase:
    origin = row.producer.origin
    return JUnitCase(
        origin.path,
        row.name,
        result=_result(row, failing),
        file=baseline.place(origin.path),
        line=origin.line,
        output="\n".join(console.block(row, accepted)),
    )


def _result(row: ProducerRow, failing: list[MeasuredHarm | Breach]) -> NotPassed | None:
    if failing:
        return NotPassed("failure", f"{row.grade}: {row.reason}", failing[0].kind, "\n".join(map(_told, failing)))
    return NotPassed("skipped", row.reason) if row.grade in (NOT_MEASURED, REFUSED) else None


def _told(one: MeasuredHarm | Breach) -> str:
    if isinstance(one, Breach):
        return f"{one.sentence} ({one.source})"
    return f"{one.sentence} by {one.fault} ({words.evidence(one)})"
