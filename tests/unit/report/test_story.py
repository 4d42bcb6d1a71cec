"""Stories say what was recorded, in order, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.report import facts, story, timeline_svg
from harness.rundir import RunDir
from tests.unit.report import synthetic


def told(run_dir: RunDir) -> list[story.Story]:
    return story.stories(facts.load(run_dir))[0]


def change(run_dir: RunDir, keep: Any) -> RunDir:
    """The same run with only the events that `keep` accepts."""
    lines = [line for line in run_dir.timeline.read_text().splitlines() if keep(json.loads(line))]
    run_dir.timeline.write_text("\n".join(lines) + "\n")
    return run_dir


def test_the_story_of_a_lost_record(tmp_path: Path) -> None:
    (one,) = told(synthetic.double_failover_lost(tmp_path))
    assert one.title == "m3, acknowledged with acks=all at offset 3 of t-0, is gone"
    assert [step.kind for step in one.steps] == [
        "send",
        "ack",
        "fault",
        "disk",
        "fault",
        "election",
        "truncate",
        "election",
        "replaced",
        "start",
        "start",
        "truncate",
        "truncate",
        "isr",
        "isr",
        "read",
        "disk",
    ]
    text = {step.kind: step.text for step in reversed(one.steps)}
    assert "by broker-1, leader in epoch 0, ISR [1, 2, 3]" in text["ack"]
    assert "broker-2 is elected leader of t-0 in epoch 1: a clean election" in text["election"]
    assert "although it has been dead for 1.4 s" in text["election"]
    assert text["truncate"] == "broker-3 truncates t-0 to offset 3, and m3 with it."
    assert text["replaced"] == "m4 is acknowledged at offset 3, where m3 was."
    assert "exit code 137" in text["fault"]
    quotes = [quote for step in one.steps for quote in step.quotes]
    assert len(quotes) == 3
    assert quotes[0].endswith("INFO Truncating log t-0 to offset 3. (kafka.log.Log)")
    assert [step.at_ns for step in one.steps] == sorted(step.at_ns or 0 for step in one.steps)


def test_a_truncation_without_an_earlier_copy_is_not_said_to_have_removed_the_record(tmp_path: Path) -> None:
    run_dir = change(synthetic.double_failover_lost(tmp_path), lambda e: e["kind"] != "moment")
    texts = [step.text for step in told(run_dir)[0].steps if step.kind == "truncate"]
    assert texts[0] == "broker-3 truncates t-0 to offset 3."


def test_a_silent_witness_is_left_out(tmp_path: Path) -> None:
    run_dir = change(synthetic.double_failover_lost(tmp_path), lambda e: e["source"] in ("client", "runner"))
    steps = told(run_dir)[0].steps
    assert not {"election", "isr", "truncate"} & {step.kind for step in steps}
    assert next(step.text for step in steps if step.kind == "ack") == "m3 is acknowledged at offset 3."


def test_a_truncation_above_the_record_is_none_of_its_story(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    run_dir.timeline.write_text(run_dir.timeline.read_text().replace('"offset": 3, "line"', '"offset": 4, "line"'))
    assert "truncate" not in {step.kind for step in told(run_dir)[0].steps}


def test_two_log_lines_of_one_truncation_are_one_step(tmp_path: Path) -> None:
    run = synthetic.Synthetic(tmp_path, "x", "2.8.2")
    run.truncate(1.0, "broker-1", 3)
    run.truncate(1.1, "broker-1", 3)
    run.truncate(2.0, "broker-1", 3)
    merged = story.merged_truncations(facts.load(run.write(ended_s=3.0)), "t", 0, 0)
    assert [len(quotes) for _, quotes in merged] == [2, 1]


def test_the_story_of_a_divergence(tmp_path: Path) -> None:
    lost, diverged = told(synthetic.divergence(tmp_path))
    assert lost.anomaly == "lost-write"
    assert diverged.title == "broker-1 and broker-2 are in sync and hold different records at offset 2 of t-0"
    texts = [step.text for step in diverged.steps]
    assert texts[-1] == "At offset 2 broker-1 holds m3 and broker-2 holds m2; in-sync replicas: [1, 2]."
    assert "broker-2 truncates t-0 to offset 3 and so keeps what it has at offset 2." in texts
    assert any("an unclean election, it was not in the ISR [2]" in text for text in texts)
    assert any("t-0 has no leader" in text for text in texts)


def row(sequence: int, offset: int | None, **more: Any) -> dict[str, Any]:
    return {"producer": 1, "sequence": sequence, "offset": offset, "process": "p", "acks": -1} | more


def test_neighbours_that_share_a_fate_are_one_story() -> None:
    rows = [row(5, 5), row(3, 3), row(4, 4), row(9, 9), row(6, 6, acks=1), row(7, None)]
    assert [[r["sequence"] for r in group] for group in story.groups(rows)] == [[3, 4, 5], [6], [9], [7]]


def test_neighbours_on_different_disks_are_two_stories() -> None:
    rows = [row(3, 3, replicas={"a": {"broker-1": 3}}), row(4, 4, replicas={"a": {"broker-1": None}})]
    assert len(story.groups(rows)) == 2


@pytest.mark.parametrize(
    ("make", "headline"),
    [
        (
            synthetic.double_failover_lost,
            "m3, acknowledged with acks=all at offset 3 of t-0, is gone, "
            "as KIP-101 and KAFKA-1211 document for 0.10.2.2.",
        ),
        (
            synthetic.double_failover_kept,
            "All 5 acknowledged records were read back and the replicas agree, "
            "as KIP-101 and KAFKA-1211 document for 4.3.1.",
        ),
        (synthetic.unknown, "Nothing is shown: fault f1 (kill -9 of broker-1) was injected and never verified."),
        (synthetic.isolation, "Phantom: two records <b>nobody</b> sent. Nothing documents phantom for 2.8.2."),
        (synthetic.failed, "The harness failed, so nothing is known about Kafka: broker-2 ended while waiting"),
    ],
)
def test_the_headline(tmp_path: Path, make: Any, headline: str) -> None:
    assert story.headline(facts.load(make(tmp_path))) == headline


def test_what_was_not_checked_is_not_claimed(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    findings = json.loads(run_dir.findings.read_text())
    findings["checks"] = [c for c in findings["checks"] if c["name"] != "replica-divergence"]
    run_dir.findings.write_text(json.dumps(findings))
    assert "agree" not in story.headline(facts.load(run_dir))


def test_a_source_that_is_no_ticket_is_named_in_brackets(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    run_dir.run_json.write_text(
        run_dir.run_json.read_text().replace("KIP-101, KAFKA-1211", "Documentation, Replication")
    )
    assert story.headline(facts.load(run_dir)).endswith("as documented for 4.3.1 (Documentation, Replication).")


def test_a_record_is_removed_from_a_disk_once(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    lines = run_dir.timeline.read_text().splitlines()
    first = next(json.loads(line) for line in lines if '"event": "truncate"' in line)
    run_dir.timeline.write_text(
        "\n".join([*lines, json.dumps(first | {"monotonic_ns": first["monotonic_ns"] + 10**9})])
    )
    texts = [step.text for step in told(run_dir)[0].steps if step.kind == "truncate" and step.actor == "broker-3"]
    assert texts == ["broker-3 truncates t-0 to offset 3, and m3 with it.", "broker-3 truncates t-0 to offset 3."]
    svg = timeline_svg.render(facts.load(run_dir))
    assert (svg.count(">truncated to 3<"), svg.count(">truncate to 3<")) == (3, 1)


def test_the_course_of_a_run_that_lost_nothing(tmp_path: Path) -> None:
    course = story.course(facts.load(synthetic.double_failover_kept(tmp_path)), "t", 0)
    assert [step.kind for step in course.steps[:4]] == ["ack"] * 4
    texts = [step.text for step in course.steps]
    assert "m3, sent with acks=all, is acknowledged at offset 3." in texts
    assert any("broker-3 is elected leader of t-0 in epoch 2" in text for text in texts)
    assert texts[-1].startswith("On disk: broker-1 LEO 5 HW 5")


def test_a_reused_offset_is_no_headline_of_its_own(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    before = story.headline(facts.load(run_dir))
    findings = json.loads(run_dir.findings.read_text())
    values = [{"producer": 1, "sequence": 3}, {"producer": 1, "sequence": 4}]
    evidence = [{"offset": 3, "values": values, "readers": values[1:]}]
    reused = {"anomaly": "inconsistent-offsets", "topic": "t", "partition": 0, "count": 1, "evidence": evidence}
    findings["findings"].append(reused)
    run_dir.findings.write_text(json.dumps(findings))
    assert story.headline(facts.load(run_dir)) == before
    reused["evidence"] = [{"offset": 3, "values": values, "readers": values}]
    run_dir.findings.write_text(json.dumps(findings))
    assert "inconsistent-offsets: seen" in story.headline(facts.load(run_dir))
