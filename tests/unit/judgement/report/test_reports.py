"""The files people and machines read: whole, escaped, deterministic, and right about what failed."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from evidence.events import Acked, Controller
from evidence.rundir import RunDir, write_json
from judgement import verdict
from judgement.report import cells, console, facts, github, html, junit, story, summary, timeline_svg
from judgement.report.timeline_svg import drawing
from tests.unit.judgement.report import synthetic
from tests.unit.timelines import lines_of, write_lines

Make = Callable[[Path], RunDir]
MAKERS: list[Make] = [
    synthetic.double_failover_lost,
    synthetic.double_failover_kept,
    synthetic.unknown,
    synthetic.divergence,
    synthetic.isolation,
    synthetic.failed,
]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    made = [make(tmp_path / str(number)) for number, make in enumerate(MAKERS)]
    for run_dir in made:
        facts.judge_run(run_dir)
    return made


class Checker(HTMLParser):
    """Notes tags that are not closed in order, and everything a page would load or link to."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.trouble: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.loads += [f"{tag} {value}" for name, value in attrs if name in ("src", "srcset", "onload", "data")]
        if tag in ("script", "link", "iframe", "object"):
            self.loads.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        return

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.trouble.append(f"</{tag}> at {self.getpos()}")


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert not checker.trouble
    assert not checker.open
    assert not checker.loads
    assert not re.search(r"@import|url\((?!#)", page)
    return checker


# The report of a run


@pytest.mark.parametrize("make", MAKERS)
def test_a_report_is_whole_self_contained_and_deterministic(tmp_path: Path, make: Make) -> None:
    run_dir = make(tmp_path)
    facts.judge_run(run_dir)
    first = html.write_run(facts.load(run_dir)).read_text()
    junit.write_run(facts.load(run_dir))
    assert html.write_run(facts.load(run_dir)).read_text() == first
    checker = checked(first)
    assert all(not link.startswith(("http", "/")) for link in checker.links)
    assert all((run_dir.path / link).exists() for link in checker.links)
    loaded = facts.load(run_dir)
    assert loaded.verdict.verdict in first
    assert str(loaded.run.command) in first


def test_the_verdict_stands_before_the_figure_and_the_figure_before_the_stories(tmp_path: Path) -> None:
    page = html.render_run(facts.load(synthetic.double_failover_lost(tmp_path)))
    order = [
        page.index(part) for part in ('class="headline"', "<svg", "The story of the record", "Faults and their proof")
    ]
    assert order == sorted(order)
    assert "INFO Truncating log t-0 to offset 3." in page


def test_what_comes_from_a_broker_is_escaped(tmp_path: Path) -> None:
    page = html.render_run(facts.load(synthetic.isolation(tmp_path)))
    assert "<b>nobody</b>" not in page
    assert "&lt;b&gt;nobody&lt;/b&gt;" in page


def test_evidence_is_shown_as_people_read_it(tmp_path: Path) -> None:
    page = html.render_run(facts.load(synthetic.double_failover_lost(tmp_path)))
    assert "<td>9.120 s</td>" in page
    assert "<td>all</td>" in page
    assert "00-armed: broker-1: 3; broker-2: 3" in page


# The picture


@pytest.mark.parametrize("make", MAKERS)
def test_the_picture_is_well_formed_and_has_words(tmp_path: Path, make: Make) -> None:
    root = ET.fromstring(timeline_svg.render(facts.load(make(tmp_path)), standalone=True))
    assert root.find(f"{SVG}title") is not None
    assert root.find(f"{SVG}desc") is not None
    used = re.findall(r"url\(#([^)]+)\)", ET.tostring(root, encoding="unicode"))
    ids = {element.get("id") for element in root.iter()}
    assert set(used) <= ids


def test_nothing_is_drawn_outside_the_picture(tmp_path: Path) -> None:
    for make in MAKERS:
        root = ET.fromstring(timeline_svg.render(facts.load(make(tmp_path / make.__name__))))
        height = float(root.get("height") or 0)
        for element in root.iter(f"{SVG}rect"):
            x, y = float(element.get("x", 0)), float(element.get("y", 0))
            if element.get("width") is None or x == y == 0:
                continue
            assert x + float(element.get("width") or 0) <= drawing.WIDTH
            assert y + float(element.get("height") or 0) <= height


def titles(svg: str) -> str:
    return "\n".join(element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}title"))


def test_the_picture_says_what_proves_each_fault(tmp_path: Path) -> None:
    says = titles(timeline_svg.render(facts.load(synthetic.double_failover_lost(tmp_path))))
    assert "9.15 s: kill -9 of broker-1 (leader of t-0); proved: exit code 137" in says
    assert "it holds the record at 3 that is lost in the end" in says
    assert "12.65 s: broker-3 truncated t-0 to offset 3. Its log says:" in says
    assert "its process is down" in says


def test_a_fault_without_proof_is_drawn_as_such(tmp_path: Path) -> None:
    svg = timeline_svg.render(facts.load(synthetic.unknown(tmp_path)))
    assert "never verified" in svg
    assert "observer blind" in svg


def test_only_a_truncation_known_to_have_cut_is_called_one(tmp_path: Path) -> None:
    svg = timeline_svg.render(facts.load(synthetic.divergence(tmp_path)))
    assert ">truncate to 3<" in svg
    assert ">truncated to 3<" not in svg
    assert ">truncated to 3<" in timeline_svg.render(facts.load(synthetic.double_failover_lost(tmp_path / "x")))


@pytest.mark.parametrize(("begin", "end"), [(0.0, 1.0), (5.0, 20.0), (0.0, 600.0), (9.1, 9.35), (0.0, 0.001)])
def test_ticks_are_round_and_inside(begin: float, end: float) -> None:
    ticks = drawing.Scale(begin, end).ticks()
    assert 2 <= len(ticks) <= 20
    assert all(begin <= tick <= end for tick in ticks)


def test_labels_that_overlap_get_rows_of_their_own() -> None:
    rows = drawing.LabelRows()
    assert [rows.place(*span) for span in [(0, 50), (40, 60), (55, 80), (200, 210)]] == [0, 1, 0, 0]
    assert rows.count == 2


def test_a_close_up_is_drawn_of_a_short_decisive_time_only(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    loaded = facts.load(run_dir)
    assert html.decisive_window(loaded, story.stories(loaded)[0]) is None
    assert html.decisive_window(loaded, []) is None

    late = json.loads(run_dir.timeline.read_text().splitlines()[-1])
    late |= {"monotonic_ns": late["monotonic_ns"] + 60 * 10**9, "kind": "note", "text": "a long wait"}
    run_dir.timeline.write_text(run_dir.timeline.read_text() + json.dumps(late) + "\n")
    loaded = facts.load(run_dir)
    window = html.decisive_window(loaded, story.stories(loaded)[0])
    assert window is not None
    assert (window[0] < 9.12, window[1] > 17.6, window[1] < 25) == (True, True, True)
    page = html.render_run(loaded)
    checked(page)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


# The outcome, first


def test_a_lost_record_is_red_wherever_it_is_documented(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    facts.judge_run(run_dir)
    page, lost = html.write_run(facts.load(run_dir)).read_text(), "1 of 5 acknowledged records LOST"
    assert f'<section class="verdict bad">\n<p class="outcome bad">{lost}</p>' in page
    assert page.index(lost) < page.index("as-documented")
    assert f'<b class="bad">{lost}</b>' in html.write_suite(facts.load_all([run_dir]), tmp_path / "s.html").read_text()
    for shown in (
        console.run_text(facts.load(run_dir), colour=True),
        console.table(facts.load_all([run_dir]), plain=False, colour=True),
    ):
        assert shown.index(f"\x1b[31m{lost}") < shown.index("\x1b[32mas-documented")
    case = ET.fromstring(junit.write_run(facts.load(run_dir)).read_text()).find(".//testcase")
    assert case is not None
    assert (case.findtext("system-out") or "").startswith(f"{lost} (as-documented)\n")


def test_kept_records_are_green_and_a_contradicted_document_is_red_beside_them(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    facts.judge_run(run_dir)
    assert '<section class="verdict good">' in html.write_run(facts.load(run_dir)).read_text()
    documented = run_dir.read_run().documented
    synthetic.change_run(run_dir, documented=msgspec.structs.replace(documented, required=("lost-write",)))
    facts.judge_run(run_dir)
    page = html.write_run(facts.load(run_dir)).read_text()
    assert '<section class="verdict not-reproduced">\n<p class="outcome good">all 5 acknowledged records kept' in page


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert console.in_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.in_colour()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert not console.in_colour()


# Suites


def test_a_suite_puts_failures_first_and_counts_repeats(runs: list[RunDir], tmp_path: Path) -> None:
    extra = synthetic.double_failover_kept(tmp_path / "again", seed=2)
    grouped = cells.failures_first(cells.group(facts.load_all([*runs, extra])[0]))
    assert [(c.verdict, c.good, len(c.runs)) for c in grouped] == [
        ("unexpected", 0, 1),
        ("error", 0, 1),
        ("unknown", 1, 2),
        ("as-documented", 2, 2),
        ("as-documented", 1, 1),
    ]
    assert grouped[2].seen == "lost-write (1 of 2)"


def test_runs_with_other_settings_are_a_cell_of_their_own(tmp_path: Path) -> None:
    plain = synthetic.double_failover_kept(tmp_path)
    other = synthetic.double_failover_kept(tmp_path / "x", seed=2)
    other.run_json.write_text(other.run_json.read_text().replace('"overridden": {}', '"overridden": {"a": "b"}'))
    assert [c.label for c in cells.group(facts.load_all([plain, other])[0])] == ["4.3.1", "4.3.1 with a=b"]


def test_a_grid_has_a_cell_for_each_scenario_and_version(runs: list[RunDir], tmp_path: Path) -> None:
    extra = synthetic.double_failover_kept(tmp_path / "again", seed=2)
    versions, rows = cells.grid(cells.group(facts.load_all([*runs, extra])[0]))
    assert versions == sorted(versions, key=cells.version_key)
    marks = {
        (scenario, version): cell.mark
        for scenario, row in rows
        for version, cell in zip(versions, row, strict=True)
        if cell is not None
    }
    assert marks["double-failover", "0.10.2.2"] == "✕ lost 1/2"
    assert marks["double-failover", "4.3.1"] == "✓ kept 2"
    assert None in [cell for _, row in rows for cell in row]


def test_the_suite_report_links_to_each_run(runs: list[RunDir], tmp_path: Path) -> None:
    for run_dir in runs:
        html.write_run(facts.load(run_dir))
    page = html.write_suite(facts.load_all(runs), tmp_path / "out" / "report.html")
    checker = checked(page.read_text())
    assert {(page.parent / link).resolve() for link in checker.links} == {run_dir.report.resolve() for run_dir in runs}
    assert (
        "Of 6 runs 2 lost acknowledged records, 1 showed another anomaly, 1 kept them all, 2 proved nothing; "
        "3 of 6 ended as documented." in page.read_text()
    )


def test_a_directory_that_cannot_be_read_is_shown_everywhere(runs: list[RunDir], tmp_path: Path) -> None:
    broken = RunDir(tmp_path / "broken")
    broken.path.mkdir()
    broken.run_json.write_text("{")
    every = [*runs[:1], broken]
    assert "not readable as JSON" in html.write_suite(facts.load_all(every), tmp_path / "s.html").read_text()
    assert "not readable as JSON" in summary.markdown(facts.load_all(every))
    assert "not readable as JSON" in console.table(facts.load_all(every), plain=True, colour=False)
    root = ET.fromstring(junit.write_suite(facts.load_all(every), tmp_path / "j.xml").read_text())
    assert (root.get("tests"), root.get("errors")) == ("2", "1")


def test_an_empty_suite_is_not_a_success(tmp_path: Path) -> None:
    assert 'class="verdict unknown"' in html.write_suite(facts.load_all([]), tmp_path / "s.html").read_text()


# JUnit


def test_junit_of_every_verdict(runs: list[RunDir], tmp_path: Path) -> None:
    root = ET.fromstring(junit.write_suite(facts.load_all(runs), tmp_path / "junit.xml").read_text())
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    outcomes = {}
    for case in root.iter("testcase"):
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        kind = next((tag for tag in ("failure", "error", "skipped") if case.find(tag) is not None), "passed")
        outcomes[properties["verdict"]] = kind
    assert outcomes == {"unexpected": "failure", "error": "error", "unknown": "skipped", "as-documented": "passed"}
    assert sum(float(case.get("time") or 0) for case in root.iter("testcase")) == pytest.approx(
        float(root.get("time") or 0)
    )


NASTY = "\x1b[2J\x07<script>alert(1)</script>\n````\n# out | of **it**"
"""What somebody could put into a log line or a name: for a terminal, a page and Markdown."""


def nasty(tmp_path: Path, where: str) -> RunDir:
    """A run of which one kind of text is nasty."""
    run_dir = synthetic.double_failover_lost(tmp_path)
    in_json = json.dumps(NASTY)[1:-1]
    if where == "log line":
        run_dir.timeline.write_text(run_dir.timeline.read_text().replace("INFO Truncating", f"{in_json} Truncating"))
    elif where == "finding":
        run_dir.findings.write_text(run_dir.findings.read_text().replace("was never read", in_json))
    else:
        changes: dict[str, Any] = {
            "topic": {"topics": [{"name": NASTY, "partitions": {"0": [1]}, "settings": {NASTY: NASTY}}]},
            "host": {"host": {"kernel": NASTY}},
            "command": {"command": NASTY},
            "scenario": {"scenario": NASTY},
            "source": {"documented": {"required": [NASTY], "source": NASTY, "claim": NASTY}},
        }
        synthetic.change_run(run_dir, **changes[where])
    facts.judge_run(run_dir)
    return run_dir


@pytest.mark.parametrize("where", ["log line", "finding", "topic", "host", "command", "scenario", "source"])
def test_what_others_wrote_is_shown_as_text_everywhere(tmp_path: Path, where: str) -> None:
    run_dir = nasty(tmp_path, where)
    page = html.write_run(facts.load(run_dir)).read_text()
    checked(page)
    suite = html.write_suite(facts.load_all([run_dir]), tmp_path / "suite.html").read_text()
    checked(suite)
    assert "&lt;script&gt;" in page
    xml = junit.write_run(facts.load(run_dir)).read_text()
    ET.fromstring(xml)
    told = [page, suite, xml, timeline_svg.render(facts.load(run_dir), standalone=True)]
    told += [
        console.run_summary(facts.load(run_dir)),
        console.table(facts.load_all([run_dir]), plain=True, colour=False),
    ]
    told += [console.table(facts.load_all([run_dir]), plain=False, colour=False)]
    told += [summary.markdown(facts.load_all([run_dir]))]
    for text in told:
        assert not set(text) & {"\x1b", "\x07"}
    for markdown in told[-1:]:
        outside = re.sub(r"(?ms)^ *(`{3,})$.*?^ *\1$", "", markdown)
        assert "<script>" not in outside
        assert "\n# out" not in outside
    assert all("\n# out" not in terminal for terminal in told[4:7])


# Terminal


def test_the_table_has_aligned_columns(runs: list[RunDir]) -> None:
    lines = console.table(facts.load_all(runs), plain=False, colour=False).split("\n\n")[0].splitlines()
    assert len(lines) == 2 + 5
    column = lines[0].index("verdict")
    assert [line[column:].split()[0] for line in lines[2:]] == [
        "error",
        "unknown",
        "as-documented",
        "unexpected",
        "as-documented",
    ]


def test_a_narrow_terminal_spares_what_was_seen_and_then_what_is_documented(runs: list[RunDir]) -> None:
    loaded = facts.load_all(runs[:1])[0]

    def headings(room: int | None) -> list[str]:
        return console.render(loaded, plain=False, colour=False, room=room).splitlines()[0].split()

    assert headings(None) == list(console.HEADINGS)
    whole = len(console.render(loaded, plain=False, colour=False).splitlines()[1])
    assert headings(whole) == list(console.HEADINGS)
    assert headings(whole - 1) == ["scenario", "version", "outcome", "verdict", "documented", "runs", "time"]
    assert headings(80) == ["scenario", "version", "outcome", "verdict", "runs", "time"]


def test_plain_lines_can_be_searched(runs: list[RunDir]) -> None:
    text = console.table(facts.load_all(runs), plain=True, colour=False)
    assert "replica-divergence on 0.10.2.2: 1 of 5 acknowledged records LOST; replicas disagree at 1 offset: " in text
    assert "(documented lost-write, replica-divergence; seen lost-write, replica-divergence), 28.2 s" in text
    assert "\x1b" not in text
    assert "again: kafka-chaos run isolated-broker --version 2.8.2" in text


def test_colour_changes_nothing_but_colour(runs: list[RunDir]) -> None:
    coloured = console.table(facts.load_all(runs), plain=False, colour=True)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == console.table(facts.load_all(runs), plain=False, colour=False)


def test_a_run_in_the_terminal(runs: list[RunDir]) -> None:
    text = console.run_summary(facts.load(synthetic.with_files(runs[0])))
    assert "12.650 s  broker log  broker-3 truncates t-0 to offset 3: m3 is gone from its disk.\n" in text
    assert "│ INFO Truncating log t-0 to offset 3. (kafka.log.Log)\n" in text
    assert max(map(len, text.splitlines()[:-2])) <= console.WIDTH
    assert text.endswith("again:  kafka-chaos run double-failover --version 0.10.2.2 --seed 1")


def test_progress_tells_of_proof_and_elections(runs: list[RunDir]) -> None:
    lines = [line for event in facts.load(runs[0]).events if (line := console.progress_line(event))]
    assert "✓ kill -9 of broker-1 (leader of t-0): proved: exit code 137, Docker's event “die”" in lines
    assert "  t-0: leader broker-2, epoch 1, ISR [2, 3]" in lines
    assert "  m3 acknowledged at offset 3" in lines


def test_progress_tells_producers_apart() -> None:
    about: dict[str, Any] = {"topic": "t", "partition": 0, "sequence": 0, "acks": "1", "outcome": "ok", "offset": 7}
    told = [console.progress_line(Acked(process=f"producer-{n}", producer=n, **about)) for n in (1, 2)]
    assert told == ["  m0 acknowledged at offset 7", "  m0 of producer 2 acknowledged at offset 7"]


def test_progress_leaves_out_what_is_not_worth_a_line() -> None:
    assert console.progress_line(Controller(source="kraft", node=None, epoch=1)) is None


# Markdown


def test_the_summary_leads_with_the_verdict_and_tells_failures_first(runs: list[RunDir]) -> None:
    text = summary.markdown(facts.load_all(runs))
    assert text.startswith("## ❌ Of 6 runs 2 lost acknowledged records")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "scenario" not in line]
    assert [[column.strip() for column in row.split("|")[1:6:3]] + [row.split("|")[5].strip()] for row in rows] == [
        ["🔴", "all 5 acknowledged records kept; phantom × 2", "❌ unexpected"],
        ["🟡", "not known what became of the records: there are no findings", "⚠️ error"],
        [
            "🔴",
            "1 of 5 acknowledged records LOST (1 of 2 runs); not known: 5 acknowledged records, none seen lost (1 of 2 "
            "runs)",
            "❔ unknown",
        ],
        ["🟢", "all 5 acknowledged records kept", "✅ as-documented"],
        ["🔴", "1 of 5 acknowledged records LOST; replicas disagree at 1 offset", "✅ as-documented"],
    ]
    assert text.count("<details>") == text.count("</details>")
    assert "<b>" not in text


def test_github_is_told_of_cells_that_did_not_end_well(runs: list[RunDir], tmp_path: Path) -> None:
    told = list(github.commands(facts.load_all(runs)))
    bad = [cell for cell in cells.group(facts.load_all(runs).facts) if cell.good < len(cell.runs)]
    assert len(told) == len(bad)
    assert [line.partition(" ")[0] for line in told] == sorted(line.partition(" ")[0] for line in told)  # errors first
    assert {line.split("::")[1].partition(" ")[0] for line in told} == {"error", "warning"}
    assert all(line.count("::") == 2 and "\n" not in line for line in told)
    assert any("%0ATo run it again: kafka-chaos run " in line for line in told)
    assert list(github.commands(facts.load_all([synthetic.double_failover_lost(tmp_path / "good")]))) == []


def test_what_has_a_meaning_to_github_is_escaped(tmp_path: Path) -> None:
    (told,) = github.commands(facts.Loaded([], ["runs/x: 50 % read\nand no more"]))
    assert told == "::error title=a run that cannot be read::runs/x: 50 %25 read%0Aand no more"


@pytest.mark.parametrize("budget", [400, 2_000, 5_000, 10**6])
def test_the_summary_keeps_its_budget(runs: list[RunDir], budget: int) -> None:
    text = summary.markdown(facts.load_all(runs * 3), budget_bytes=budget)
    assert len(text.encode()) <= budget
    assert ("did not fit" in text) == (budget < 10**6)
    assert text.count("<details>") == text.count("</details>")


# Damage


def damaged(run_dir: RunDir) -> list[tuple[str, str]]:
    """Each field of each kind of event and of the findings: where it is and its name."""
    events = lines_of(run_dir.timeline)
    kept = {"monotonic_ns", "wall_ns", "kind", "source", "schema", "scenario", "version"}
    fields = {(event["kind"], name) for event in events for name in event} | {
        ("findings", name) for name in json.loads(run_dir.findings.read_text())
    }
    return sorted(field for field in fields if field[1] not in kept)


@pytest.mark.parametrize("make", [synthetic.divergence, synthetic.isolation])
@pytest.mark.slow
def test_a_field_that_is_empty_never_stops_a_report(tmp_path: Path, make: Make) -> None:
    run_dir = make(tmp_path)
    told, findings_text = lines_of(run_dir.timeline), run_dir.findings.read_text()
    for where, name in damaged(run_dir):
        findings = json.loads(findings_text)
        events = copy.deepcopy(told)
        for target in {"findings": [findings]}.get(where, [e for e in events if e["kind"] == where]):
            target[name] = None
        run_dir.findings.write_text(json.dumps(findings))
        write_lines(run_dir.timeline, events)
        judged = facts.judge_run(run_dir).verdict
        loaded = facts.load(run_dir)
        assert html.render_run(loaded).rstrip().endswith("</html>")
        assert judged.verdict in verdict.SEVERITY
        assert junit.render([loaded])
        assert all(console.progress_line(event) != "" for event in loaded.events)


def test_a_report_says_what_to_do_and_links_the_page_of_a_site_beside_it(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path / "runs" / "suite")
    run = json.loads((run_dir.path / "run.json").read_text())
    facts.judge_run(run_dir)
    assert "What to do:" not in html.render_run(facts.load(run_dir))
    run["documented"]["operator"] = "Finish the upgrade."
    write_json(run_dir.path / "run.json", run)
    page = html.render_run(facts.load(run_dir))
    assert "<b>What to do:</b> Finish the upgrade." in page
    assert "The scenario's page" not in page
    place = tmp_path / "site" / "scenarios" / f"{run['scenario']}.html"
    place.parent.mkdir(parents=True)
    place.touch()
    linked = html.page_of(facts.load(run_dir))
    assert (run_dir.path / linked).resolve() == place
    assert f'href="{linked}"' in html.render_run(facts.load(run_dir))


def test_what_is_below_the_findings_is_folded(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    facts.judge_run(run_dir)
    page = html.render_run(facts.load(run_dir))
    for heading in ("What the cluster stated", "Steps and time", "Settings and versions"):
        assert f'<details><summary class="fold">{heading}</summary>' in page
    assert page.count("<details") == page.count("</details>")
    assert "<details open" not in page.partition("Settings and versions")[0]
