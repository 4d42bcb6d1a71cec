"""An audit as JUnit XML: a test case for each producer and topic, which fails if --fail-on is met by something new."""

from __future__ import annotations

from collections.abc import Collection
from xml.etree import ElementTree as ET

from audit import baseline
from audit.grade import NOT_MEASURED, REFUSED, AuditAnswer, Breach, MeasuredHarm, ProducerRow
from audit.report import console, words
from evidence.text import visible


def render(answer: AuditAnswer, *, fail_on: Collection[str] = (), accepted: Collection[str] = ()) -> str:
    """The answer as XML. What is not measured, or refused by its client, is skipped, and so never shown as passed."""
    failing: dict[int, list[MeasuredHarm | Breach]] = {}
    for row, finding in baseline.new(answer, fail_on, accepted):
        failing.setdefault(id(row), []).append(finding)
    suite = ET.Element("testsuite", name="kafka-chaos audit")
    suite.extend([_case(row, failing.get(id(row), []), accepted) for row in answer.rows])
    counts = {
        "tests": len(answer.rows),
        "failures": len(suite.findall("testcase/failure")),
        "errors": 0,
        "skipped": len(suite.findall("testcase/skipped")),
    }
    root = ET.Element("testsuites", name="kafka-chaos audit")
    for element in (root, suite):
        for name, count in counts.items():
            element.set(name, str(count))
        element.set("time", "0")
    if answer.problems:
        ET.SubElement(suite, "system-err").text = _safe("\n".join(map(str, answer.problems)))
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(row: ProducerRow, failing: list[MeasuredHarm | Breach], accepted: Collection[str]) -> ET.Element:
    case = ET.Element(
        "testcase", classname=_safe(row.producer.origin.path), name=_safe(row.name), time="0", file=_safe(_file(row))
    )
    if row.producer.origin.line is not None:
        case.set("line", str(row.producer.origin.line))
    if failing:
        text = "\n".join(_told(one) for one in failing)
        ET.SubElement(case, "failure", message=_safe(f"{row.grade}: {row.reason}"), type=failing[0].kind).text = _safe(
            text
        )
    elif row.grade in (NOT_MEASURED, REFUSED):
        ET.SubElement(case, "skipped", message=_safe(row.reason))
    ET.SubElement(case, "system-out").text = _safe("\n".join(console.block(row, accepted)))
    return case


def _told(one: MeasuredHarm | Breach) -> str:
    if isinstance(one, Breach):
        return f"{one.says} ({one.source})"
    return f"{one.says} by {one.fault} ({words.evidence(one)})"


def _file(row: ProducerRow) -> str:
    return baseline.place(row.producer.origin.path)


def _safe(text: str) -> str:
    # XML 1.0 has no way to write a control character.
    return visible(text, keep="\n\t")
