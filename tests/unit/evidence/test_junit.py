"""JUnit XML: counts, results, and text that XML cannot hold."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from evidence.junit import JUnitCase, JUnitSuite, NotPassed, render


def test_each_suite_and_all_of_them_are_counted() -> None:
    passed = JUnitCase("c", "passed", 1.5)
    failed = JUnitCase("c", "failed", 0.25, result=NotPassed("failure", "m", "t", "why"))
    broken = JUnitCase("c", "broken", result=NotPassed("error", "m"))
    skipped = JUnitCase("c", "skipped", result=NotPassed("skipped", "m"))
    root = ET.fromstring(render("all", [JUnitSuite("a", [passed, failed, skipped]), JUnitSuite("b", [broken])]))
    counts = [
        [each.get(name) for name in ("tests", "failures", "errors", "skipped", "time")]
        for each in root.iter()
        if each.tag.startswith("testsuite")
    ]
    assert counts == [["4", "1", "1", "1", "1.750"], ["3", "1", "0", "1", "1.750"], ["1", "0", "1", "0", "0.000"]]
    told = root.find("testsuite/testcase/failure")
    assert told is not None
    assert (told.get("message"), told.get("type"), told.text) == ("m", "t", "why")


def test_what_is_not_there_is_not_written() -> None:
    (case,) = ET.fromstring(render("all", [JUnitSuite("a", [JUnitCase("c", "n")])])).iter("testcase")
    assert (dict(case.attrib), list(case)) == ({"classname": "c", "name": "n", "time": "0.000"}, [])


def test_whatever_others_wrote_is_xml() -> None:
    nasty = 'a\x00\x1b"<&>\ud800\nb'
    case = JUnitCase(
        nasty,
        nasty,
        result=NotPassed("failure", nasty, details=nasty),
        file=nasty,
        line=3,
        properties=[(nasty, nasty)],
        output=nasty,
    )
    text = render(nasty, [JUnitSuite(nasty, [case], errors=nasty)])
    root = ET.fromstring(text)
    shown = 'a\\x00\\x1b"<&>\\ud800\nb'
    assert [
        root.findtext(f"testsuite/{path}") for path in ("testcase/failure", "testcase/system-out", "system-err")
    ] == [shown] * 3
    assert root.find("testsuite/testcase[@line='3']/properties/property") is not None
