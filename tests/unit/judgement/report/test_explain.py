"""`kafka-chaos explain`: who is asked about, what is said of bad names, and that the report tells the same."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from app import cli
from evidence.rundir import RunDir
from judgement.report import console, facts, html, story
from tests.findings import write
from tests.unit.judgement.report import synthetic
from tests.unit.timelines import lines_of, write_lines


def explained(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.main(["explain", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that says what is wrong."""
    assert cli.main(["explain", *map(str, arguments)]) == 254
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.fixture
def lost(tmp_path: Path) -> RunDir:
    return synthetic.with_files(synthetic.double_failover_lost(tmp_path))


def with_anomaly(run_dir: RunDir, *found: dict[str, Any]) -> RunDir:
    """The run with other findings."""
    findings = json.loads(run_dir.findings.read_text())
    findings["findings"] = [{"topic": "t", "partition": 0, "count": 1, "summary": "", **one} for one in found]
    write(run_dir, findings)
    return run_dir


def test_without_a_name_it_tells_of_what_the_findings_name(
    lost: RunDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = explained(capsys, lost.path)
    assert text.startswith("double-failover on 0.10.2.2: 1 of 5 acknowledged records LOST (as-documented)\n")
    assert "\nm3, acknowledged with acks=all at offset 3 of t-0, is gone\n  record t-0:1/3; at the same place" in text
    assert "   12.650 s  broker log  broker-3 truncates t-0 to offset 3: m3 is gone from its" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "Not heard" not in text


def test_it_tells_what_the_report_tells(lost: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    (told,) = json.loads(explained(capsys, lost.path, "--json"))["stories"]
    page = unescape(html.render_run(facts.load(lost)))
    assert all(step["text"] in page for step in told["steps"])
    (one,), _ = story.stories(facts.load(lost))
    assert [step["text"] for step in told["steps"]] == [step.text for step in one.steps]


def test_json_says_what_the_cluster_stated_at_each_step(lost: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(explained(capsys, lost.path, "--json"))
    (told,) = answer["stories"]
    assert (told["records"], told["others"], answer["missing"]) == (["t-0:1/3"], ["t-0:1/4"], [])
    step = next(step for step in told["steps"] if step["kind"] == "truncate")
    assert {key: step[key] for key in ("at_s", "leader", "leader_epoch", "isr", "controller")} == {
        "at_s": 12.65,
        "leader": 2,
        "leader_epoch": 1,
        "isr": [2, 3],
        "controller": "broker-4",
    }
    assert step["quotes"][0].endswith("Truncating log t-0 to offset 3. (kafka.log.Log)")


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("t-0:1/3", ["m3, acknowledged with acks=all at offset 3 of t-0, is gone"]),
        ("t-0@3", ["m3, acknowledged with acks=all at offset 3 of t-0, is gone"]),
        ("t-0:1/4", ["m4, acknowledged with acks=all at offset 3 of t-0, was read by final-read-1 and is on the disk"]),
        ("t-0@0", ["m0, acknowledged with acks=all at offset 0 of t-0, was read by final-read-1 and is on the disk"]),
    ],
)
def test_a_record_by_its_name_or_its_place(
    lost: RunDir, capsys: pytest.CaptureFixture[str], name: str, titles: list[str]
) -> None:
    told = json.loads(explained(capsys, lost.path, "--record", name, "--json"))["stories"]
    assert [one["title"][: len(title)] for one, title in zip(told, titles, strict=True)] == titles


def test_of_two_at_one_place_the_lost_one_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = synthetic.with_files(synthetic.double_failover_lost(tmp_path))
    with_anomaly(run_dir, {"anomaly": "lost-write", "evidence": [{"producer": 1, "sequence": 4, "offset": 3}]})
    (told,) = json.loads(explained(capsys, run_dir.path, "--record", "t-0@3", "--json"))["stories"]
    assert (told["records"], told["others"]) == (["t-0:1/4"], ["t-0:1/3"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m3", "such as t-0:1/3, or by its place, such as t-0@3; there are t-0:1/3, t-0:1/0, t-0:1/1"),
        ("t-0:1/9", "nobody knows of a record t-0:1/9; there are t-0:1/0 to 4"),
        ("t-0:8/1", "nobody knows of a record t-0:8/1; there are t-0:1/0 to 4"),
        ("t-0@17", "nobody knows of a record of clients at t-0@17; offsets known are t-0@0 to @3"),
        ("t-1:1/3", "there is no partition 't-1'; did you mean t-0?"),
        ("t-0:1/", "--record 't-0:1/'"),
        ("", "--record ''"),
    ],
)
def test_a_bad_name_is_told_what_there_is(
    lost: RunDir, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    assert words in refused(capsys, lost.path, "--record", name)


def test_one_anomaly(lost: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is gone" in explained(capsys, lost.path, "--anomaly", "lost-write")
    assert "There is no duplicate in this run" in explained(capsys, lost.path, "--anomaly", "duplicate")
    assert "did you mean lost-write? (found here: lost-write)" in refused(capsys, lost.path, "--anomaly", "lost-wrte")


def test_a_clean_run_says_so_and_how_to_name_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(explained(capsys, synthetic.double_failover_kept(tmp_path).path).split())
    assert "No anomaly was found in this run, so no record stands out." in text
    assert "there are t-0:1/0, t-0:1/1, t-0:1/2." in text


def test_a_clean_run_tells_of_what_was_not_acknowledged_or_expected_to_be_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    lines = lines_of(run_dir.timeline)
    kept = [line for line in lines if (line["kind"], line.get("sequence")) != ("acked", 4)]
    for line in kept:
        if (line["kind"], line.get("sequence")) == ("send", 3):
            line["expected_loss"] = True
    write_lines(run_dir.timeline, kept)
    text = explained(capsys, run_dir.path)
    assert "\nm3, acknowledged with acks=all at offset 3 of t-0" in text
    assert "\nm4, " in text
    assert "this run; told is of the records that were not acknowledged" in " ".join(text.split())
    assert "\nm0" not in text


def test_findings_that_name_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, synthetic.isolation(tmp_path).path)
    assert "What was found names no record: two records <b>nobody</b> sent." in text


def test_what_was_not_heard_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = synthetic.unknown(tmp_path)
    run_dir.findings.unlink()
    run_dir.log("broker-2").unlink()
    text = explained(capsys, run_dir.path, "--record", "t-0:1/0")
    heard, _, missing = text.partition("Not heard:\n")
    assert "m0, acknowledged with acks=all at offset 0 of t-0, is not heard of again" in heard
    for line in (
        "there are no findings",
        "an observer saw nothing from 8.0 s to 9.0 s: zookeeper observer: session suspended",
        "no log of broker-2 (logs/<node>.log)",
        "missing history of producer-1: it left no history",
    ):
        assert f"  - {line}" in missing
    assert "This run has not been analysed" in explained(capsys, run_dir.path)
    assert "has not been analysed" in refused(capsys, run_dir.path, "--anomaly", "lost-write")


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such run directory" in refused(capsys, tmp_path / "nowhere")
    assert "it has no run.json" in refused(capsys, tmp_path)


def test_of_many_lost_records_some_are_told_and_the_rest_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    rows = [{"producer": 1, "sequence": 2 * number, "offset": 2 * number} for number in range(15)]
    with_anomaly(run_dir, {"anomaly": "lost-write", "count": 15, "evidence": rows})
    synthetic.write_history(
        run_dir, "producer-1", *(synthetic.sent(9.0, row["sequence"], row["offset"]) for row in rows)
    )
    synthetic.write_history(run_dir, "final-read-1", synthetic.final_read(19.0, 40))
    assert "5 more are not told here: name one with --record, or ask for --json" in explained(capsys, run_dir.path)
    answer = json.loads(explained(capsys, run_dir.path, "--json"))
    assert (len(answer["stories"]), answer["more"]) == (15, 0)


def test_a_record_that_two_findings_name_is_told_of_once(lost: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    values = [{"producer": 1, "sequence": 3}, {"producer": 1, "sequence": 4}]
    with_anomaly(
        lost,
        {"anomaly": "inconsistent-offsets", "evidence": [{"offset": 3, "values": values}]},
        {"anomaly": "lost-write", "evidence": [{"producer": 1, "sequence": 3, "offset": 3}]},
    )
    (told,) = json.loads(explained(capsys, lost.path, "--json"))["stories"]
    assert told["findings"] == [
        {"anomaly": "lost-write", "says": "acknowledged, and no poll returned it"},
        {
            "anomaly": "inconsistent-offsets",
            "says": "one place in the log was given to several records: m3 and m4 at offset 3",
        },
    ]


def test_colour_is_for_terminals_and_adds_nothing_but_colour(lost: RunDir) -> None:
    loaded = facts.load(lost)
    (one,), _ = story.stories(loaded)
    plain = "\n".join(console.story_lines(loaded, one, width=90))
    painted = "\n".join(console.story_lines(loaded, one, width=90, colour=True))
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[\d*m", "", painted) == plain


@pytest.mark.parametrize(
    ("terminal", "no_colour", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch, terminal: bool, no_colour: str, coloured: bool) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_colour)
    assert console.in_colour() is coloured


@pytest.mark.parametrize(("columns", "width"), [("40", 80), ("100", 100), ("300", 120)])
def test_text_is_as_wide_as_the_terminal_within_reason(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert console.columns() == width
