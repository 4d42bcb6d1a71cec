"""Log ends and high watermarks as the report draws them, and the table of a record's steps."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from evidence.events import Acked, Checkpoint, OffsetKind, ReplicaOffset, Send
from evidence.rundir import RunDir
from judgement.report import console, facts, html, offsets_svg, record_ways, summary
from judgement.report.facts import RunFacts
from judgement.report.offsets import Point, replicas_over_time, worth_drawing
from judgement.report.timeline_svg.drawing import WIDTH, Drawing, Scale
from tests.unit.judgement.report import synthetic

SVG = "{http://www.w3.org/2000/svg}"
T = ("t", 0)
WAY: list[tuple[str, OffsetKind, int, dict[str, int]]] = [
    ("broker-1", "log-end", 1, {}),
    ("broker-2", "response", 0, {"high_watermark": 0}),
    ("broker-2", "log-end", 1, {}),
    ("broker-2", "fetch", 1, {}),
    ("broker-1", "remote-log-end", 1, {"replica": 2}),
    ("broker-1", "high-watermark", 1, {}),
    ("broker-2", "response", 1, {"high_watermark": 1}),
    ("broker-2", "high-watermark", 1, {}),
]


def run(root: Path) -> synthetic.Synthetic:
    made = synthetic.Synthetic(root, "high-watermark-steps", "2.8.2")
    made.run["topics"] = [{"name": "t", "partitions": {"0": [1, 2]}, "settings": {}}]
    made.cluster(brokers=2, controller=1)
    made.partition(2.0, leader=1, epoch=0, isr=[1, 2])
    return made


def said(made: synthetic.Synthetic, at_s: float, node: str, what: OffsetKind, offset: int, **more: Any) -> None:
    line = f"[{node}] said {what} {offset} <&>"
    made.event(at_s, ReplicaOffset(node=node, what=what, topic="t", partition=0, offset=offset, line=line, **more))


def traced(root: Path) -> RunDir:
    """A run of one record, step by step from 3 s on, ten milliseconds apart."""
    made = run(root)
    about: dict[str, Any] = {"process": "producer-1", "topic": "t", "partition": 0, "producer": 1, "sequence": 0}
    made.event(3.0, Send(**about, acks="all"))
    made.event(3.06, Acked(**about, acks="all", outcome="ok", offset=0))
    for number, (node, what, offset, more) in enumerate(WAY, start=1):
        said(made, 3.0 + number / 100, node, what, offset, **more)
    made.run["documented"]["claims"] = [record_ways.CLAIM]
    made.findings["claims"] = [
        {"name": record_ways.CLAIM, "claim": "x", "source": "y", "outcome": "held", "says": "z", "evidence": []}
    ]
    made.moment(4.0, "00-final", broker_1=(1, 1), broker_2=(1, 0))
    return made.write(ended_s=5.0)


def points(one: tuple[Point, ...]) -> list[tuple[float, int]]:
    return [(round((point.at_ns - synthetic.START_NS) / 1e9, 2), point.offset) for point in one]


def test_what_brokers_said_and_what_was_in_their_files(tmp_path: Path) -> None:
    leader, follower = replicas_over_time(facts.load(traced(tmp_path)), T)
    assert leader.traced
    assert points(leader.log_ends) == [(3.01, 1), (4.0, 1)]
    # The file is behind what brokers said, so it is left out.
    assert points(follower.high_watermarks) == [(3.08, 1)]


def test_without_trace_moments_and_files_speak(tmp_path: Path) -> None:
    made = run(tmp_path)
    made.moment(3.0, "00-armed", broker_1=(4, 3))
    made.event(3.5, Checkpoint(node="broker-1", file="replication-offset-checkpoint", offsets={"t-0": 4}, written_ns=1))
    made.event(
        3.5, Checkpoint(node="broker-1", file="recovery-point-offset-checkpoint", offsets={"t-0": 0}, written_ns=1)
    )
    made.event(3.6, Checkpoint(node="broker-1", file="replication-offset-checkpoint", offsets=None, written_ns=None))
    made.truncate(3.7, "broker-1", 2)
    leader, follower = replicas_over_time(facts.load(made.write(ended_s=5.0)), T)
    assert not leader.traced
    assert (points(leader.log_ends), points(leader.high_watermarks)) == ([(3.0, 4), (3.7, 2)], [(3.0, 3), (3.5, 4)])
    assert (follower.log_ends, follower.high_watermarks) == ((), ())


def test_a_follower_of_which_only_its_leader_tells(tmp_path: Path) -> None:
    made = run(tmp_path)
    said(made, 3.0, "broker-1", "remote-log-end", 5, replica=2)
    said(made, 3.1, "broker-1", "remote-log-end", 7, replica=3)
    _, follower = replicas_over_time(facts.load(made.write(ended_s=5.0)), T)
    assert points(follower.log_ends) == [(3.0, 5)]


def picture(run_dir: RunDir) -> ET.Element:
    return ET.fromstring(offsets_svg.render(facts.load(run_dir)))


def test_every_line_is_drawn_inside_and_says_who_says_so(tmp_path: Path) -> None:
    root = picture(traced(tmp_path))
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(
        "3.010 s: log end of broker-1 1, by the log of broker-1: [broker-1] said log-end 1 <&>" in t for t in titles
    )
    assert any("high watermark of broker-2 1" in text for text in titles)
    height = float(root.get("height") or 0)
    for path in root.iter(f"{SVG}path"):
        numbers = re.findall(r"[HM](-?[\d.]+)", path.get("d") or "")
        assert all(0 <= float(number) <= WIDTH for number in numbers)
    for line in root.iter(f"{SVG}line"):
        assert float(line.get("y2") or 0) <= height


def test_faults_are_shaded_behind_the_lines_of_whom_they_struck(tmp_path: Path) -> None:
    drawn = offsets_svg.render(facts.load(synthetic.double_failover_lost(tmp_path)))
    root = ET.fromstring(drawn)
    shades = [
        rect
        for rect in root.iter(f"{SVG}rect")
        if rect.get("fill") == "url(#kc3-down)" and rect.get("opacity") == "0.3"
    ]
    told = {(shade.findtext(f"{SVG}title") or "").partition(" ")[0] for shade in shades}
    assert {"broker-1", "broker-2"} <= told
    assert "broker-3" not in told


def test_one_moment_alone_is_no_line(tmp_path: Path) -> None:
    made = run(tmp_path)
    made.moment(3.0, "00-final", broker_1=(4, 3), broker_2=(4, 3))
    loaded = facts.load(made.write(ended_s=5.0))
    assert not worth_drawing(replicas_over_time(loaded, T))
    assert offsets_svg.render(loaded) == ""
    assert "Log ends and high watermarks" not in html.render_run(loaded)


def test_a_thinned_line_keeps_its_peaks(tmp_path: Path) -> None:
    loaded = facts.load(traced(tmp_path))
    many = [
        Point(at_ns=synthetic.START_NS + n * 1000, offset=9 if n == 500 else 0 if n == 700 else 5, witness="")
        for n in range(1000)
    ]
    kept = offsets_svg.thinned(Drawing(Scale(0.0, 10.0), "x"), loaded, many)
    assert len(kept) <= 8
    assert {point.offset for point in kept} == {0, 5, 9}
    assert kept == sorted(kept, key=lambda point: point.at_ns)


def test_the_table_of_a_record_says_what_each_step_changed(tmp_path: Path) -> None:
    (table,) = record_ways.tables(facts.load(traced(tmp_path)))
    assert table.title == "m0 at offset 0 of t-0, by broker-1 to broker-2."
    assert [row.cells for row in table.rows][:3] == [
        ("10", "broker-1", "the leader appends it", "1", "–", "–", "–"),
        (
            "20",
            "broker-2",
            "the first fetch brings it, with the high watermark of before",
            "1",
            "–",
            "–",
            "–",
        ),
        ("30", "broker-2", "the follower appends it", "1", "–", "1*", "–"),
    ]
    assert table.rows[-1].cells[3:] == ("1", "1", "1", "1*")


def test_every_report_has_the_table(tmp_path: Path) -> None:
    loaded = facts.load(traced(tmp_path))
    page = html.render_run(loaded)
    assert "Step by step under the high watermark" in page
    for text in (page, summary.render([loaded]), console.run_text(loaded)):
        assert "the leader hears by that where the follower" in text
        assert "<&>" not in text
    assert max(len(line) for line in record_ways.text_lines(loaded)) <= 100


def test_a_run_that_is_held_against_something_else_has_no_table(tmp_path: Path) -> None:
    loaded = facts.load(traced(tmp_path))
    without = replace(loaded, verdict=replace(loaded.verdict, claims=()), _made={})
    assert record_ways.tables(without) == ()
    assert "Step by step" not in html.render_run(without)


def test_a_step_that_nobody_told_of_is_named(tmp_path: Path) -> None:
    loaded = facts.load(traced(tmp_path))
    events = [e for e in loaded.events if not (isinstance(e, ReplicaOffset) and e.what == "remote-log-end")]
    (table,) = record_ways.tables(with_events(loaded, events))
    assert table.title.endswith("Not told of: the leader hears by that where the follower's log ends.")
    assert len(table.rows) == len(WAY) - 1


def with_events(loaded: RunFacts, events: list[Any]) -> RunFacts:
    return replace(loaded, events=tuple(events), _made={})


def test_the_same_files_give_the_same_picture(tmp_path: Path) -> None:
    run_dir = traced(tmp_path)
    assert offsets_svg.render(facts.load(run_dir)) == offsets_svg.render(facts.load(run_dir))
