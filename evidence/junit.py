"""JUnit XML, as CI systems read it: suites of test cases, each with its counts.

XML 1.0 has no way to write a control character, and a broker's log line may hold any: what others wrote is shown by
its escape.

    >>> case = JUnitCase("leader-crash", "4.3.1 seed 1", result=NotPassed("skipped", "unknown: a wait ended"))
    >>> print(render("kafka-chaos", [JUnitSuite("leader-crash", [case])]), end="")
    <?xml version="1.0" encoding="utf-8"?>
    <testsuites name="kafka-chaos" tests="1" failures="0" errors="0" skipped="1" time="0.000">
      <testsuite name="leader-crash" tests="1" failures="0" errors="0" skipped="1" time="0.000">
        <testcase classname="leader-crash" name="4.3.1 seed 1" time="0.000">
          <skipped message="unknown: a wait ended" />
        </testcase>
      </testsuite>
    </testsuites>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from xml.etree import ElementTree as ET

from evidence.text import visible

Kind = Literal["failure", "error", "skipped"]
COUNTS: Final[Mapping[str, Kind]] = {"failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attributes of a suite, and what they count."""


@dataclass(frozen=True, slots=True)
class NotPassed:
    """Why a case did not pass."""

    kind: Kind
    message: str
    type: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """A test case. One without a result has passed."""

    classname: str
    name: str
    seconds: float = 0.0
    result: NotPassed | None = None
    file: str = ""
    line: int | None = None
    properties: Sequence[tuple[str, object]] = ()
    output: str = ""


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Test cases under one name."""

    name: str
    cases: Sequence[JUnitCase]
    errors: str = ""
    """What is told of the whole suite."""


def render(name: str, suites: Sequence[JUnitSuite]) -> str:
    """The XML of these suites."""
    root = ET.Element("testsuites", _counted(name, [case for suite in suites for case in suite.cases]))
    root.extend(map(_suite, suites))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(suite: JUnitSuite) -> ET.Element:
    element = ET.Element("testsuite", _counted(suite.name, suite.cases))
    element.extend(map(_case, suite.cases))
    if suite.errors:
        ET.SubElement(element, "system-err").text = _safe(suite.errors)
    return element


def _counted(name: str, cases: Sequence[JUnitCase]) -> dict[str, str]:
    kinds = [case.result.kind for case in cases if case.result]
    counts = {name: str(kinds.count(kind)) for name, kind in COUNTS.items()}
    return {
        "name": _safe(name),
        "tests": str(len(cases)),
        **counts,
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _case(case: JUnitCase) -> ET.Element:
    element = ET.Element("testcase", classname=_safe(case.classname), name=_safe(case.name), time=f"{case.seconds:.3f}")
    if case.file:
        element.set("file", _safe(case.file))
    if case.line is not None:
        element.set("line", str(case.line))
    if case.properties:
        properties = ET.SubElement(element, "properties")
        for name, value in case.properties:
            ET.SubElement(properties, "property", name=_safe(name), value=_safe(value))
    if (result := case.result) is not None:
        told = ET.SubElement(element, result.kind, message=_safe(result.message))
        if result.type:
            told.set("type", result.type)
        if result.details:
            told.text = _safe(result.details)
    if case.output:
        ET.SubElement(element, "system-out").text = _safe(case.output)
    return element


def _safe(value: object) -> str:
    return visible(str(value), keep="\n\t")
