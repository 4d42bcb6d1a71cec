"""Stories say what was recorded, in order, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evidence.events import DeleteRecords, DeleteTopic, EndsAnswer, OffsetAnswer, OffsetCommit, RecordsDeleted
from evidence.rundir import RunDir
from judgement.report import facts, steps, story, timeline_svg
from tests.findings import write
from tests.unit.judgement.report import synthetic
from tests.unit.timelines import lines_of, write_lines


def told(run_dir: RunDir) -> list[story.Story]:
    return story.stories(facts.load(run_dir))[0]


def change(run_dir: RunDir, keep: Any) -> RunDir:
    """The same run with only the events that `keep` accepts."""
    write_lines(run_dir.timeline, filter(keep, lines_of(run_dir.timeline)))
    return run_dir


def test_the_story_of_a_lost_record(tmp_path: Path) -> None:
    (one,) = told(synthetic.with_files(synthetic.double_failover_lost(tmp_path)))
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
        "passed",
        "disk",
    ]
    text = {step.kind: step.text for step in reversed(one.steps)}
    assert "by broker-1, leader in epoch 0, ISR [1, 2, 3]" in text["ack"]
    assert "broker-2 is elected leader of t-0 in epoch 1: a clean election" in text["election"]
    assert "although it has been dead for 1.4 s" in text["election"]
    assert text["truncate"] == "broker-3 truncates t-0 to offset 3: m3 is gone from its disk."
    assert text["replaced"] == (
        "m4, sent with acks=all, is acknowledged at offset 3 by broker-3, leader in epoch 2, ISR [3]: "
        "the place where m3 was."
    )
    assert one.about == "record t-0:1/3; at the same place t-0:1/4"
    assert (
        one.setting == "t-0 when it was sent: leader broker-1 (epoch 0), ISR [1, 2, 3], controller broker-4 (epoch 1)."
    )
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


def test_a_truncation_above_the_record_keeps_it(tmp_path: Path) -> None:
    run_dir = synthetic.with_files(synthetic.double_failover_lost(tmp_path))
    run_dir.timeline.write_text(
        run_dir.timeline.read_text().replace(
            '"offset":3,"leader_epoch":null,"detail":null,"line"', '"offset":4,"leader_epoch":null,"detail":null,"line"'
        )
    )
    steps = told(run_dir)[0].steps
    assert "truncate" not in {step.kind for step in steps}
    assert "broker-3 truncates t-0 to offset 4 and so keeps m3 at offset 3." in [step.text for step in steps]


def test_a_truncation_above_a_record_that_no_copy_shows_is_none_of_its_story(tmp_path: Path) -> None:
    run_dir = change(synthetic.double_failover_lost(tmp_path), lambda e: e["kind"] != "moment")
    run_dir.timeline.write_text(
        run_dir.timeline.read_text().replace(
            '"offset":3,"leader_epoch":null,"detail":null,"line"', '"offset":4,"leader_epoch":null,"detail":null,"line"'
        )
    )
    assert not [step for step in told(run_dir)[0].steps if "truncates" in step.text]


def test_the_story_of_a_lost_record_that_is_left_on_a_disk_tells_of_the_divergence_too(tmp_path: Path) -> None:
    (one,) = told(synthetic.with_copies(synthetic.divergence(tmp_path)))
    assert one.title == (
        "m2, acknowledged with acks=all at offset 2 of t-0, is lost: no poll returned it, "
        "though broker-2 still holds it"
    )
    assert one.findings == (
        ("lost-write", "acknowledged, and no poll returned it"),
        ("replica-divergence", "broker-1 and broker-2 are in sync and hold different records at offset 2"),
    )
    texts = [step.text for step in one.steps]
    assert texts[-1] == (
        "At “final” broker-1 holds m3 at offset 2 (LEO 4, HW 4); broker-2 holds m2 at offset 2 (LEO 4, HW 4)."
    )
    assert "broker-2 truncates t-0 to offset 3 and so keeps m2 at offset 2." in texts
    assert any("an unclean election, it was not in the ISR [2]" in text for text in texts)
    assert any("t-0 has no leader" in text for text in texts)
    # It was dead when m2 was sent, and that is why it does not have it.
    assert texts[0] == "kill -9 of broker-1; proved: exit code 137, Docker's event “die”."


def test_a_divergence_without_a_loss_has_a_story(tmp_path: Path) -> None:
    run_dir = synthetic.divergence(tmp_path)
    findings = json.loads(run_dir.findings.read_text())
    findings["findings"] = [f for f in findings["findings"] if f["anomaly"] != "lost-write"]
    write(run_dir, findings)
    (one,) = told(run_dir)
    assert [str(record) for record in (*one.records, *one.others)] == ["t-0:1/2", "t-0:1/3"]
    assert one.findings[0][0] == "replica-divergence"


def test_a_record_is_removed_from_a_disk_once(tmp_path: Path) -> None:
    run_dir = synthetic.with_files(synthetic.double_failover_lost(tmp_path))
    lines = lines_of(run_dir.timeline)
    first = next(line for line in lines if line.get("event") == "truncate")
    write_lines(run_dir.timeline, [*lines, first | {"monotonic_ns": first["monotonic_ns"] + 10**9}])
    texts = [step.text for step in told(run_dir)[0].steps if step.kind == "truncate" and step.actor == "broker-3"]
    assert texts == [
        "broker-3 truncates t-0 to offset 3: m3 is gone from its disk.",
        "broker-3 truncates t-0 to offset 3.",
    ]
    svg = timeline_svg.render(facts.load(run_dir))
    assert (svg.count(">truncated to 3<"), svg.count(">truncate to 3<")) == (3, 1)


def test_the_course_of_a_run_that_lost_nothing(tmp_path: Path) -> None:
    told = story.partition_story(facts.load(synthetic.double_failover_kept(tmp_path)), ("t", 0))
    assert [step.kind for step in told.steps[:4]] == ["ack"] * 4
    texts = [step.text for step in told.steps]
    assert "m3, sent with acks=all, is acknowledged at offset 3." in texts
    assert any("broker-3 is elected leader of t-0 in epoch 2" in text for text in texts)
    assert texts[-1].startswith("On disk: broker-1 LEO 5 HW 5")


def commit(offset: int) -> OffsetCommit:
    return OffsetCommit(group="g", topic="t", partition=0, offset=offset)


def answer(offset: int | None, error: str | None = None, partition: int = 0) -> OffsetAnswer:
    return OffsetAnswer(group="g", topic="t", partition=partition, offset=offset, error=error, asked_ns=0)


def test_what_became_of_a_groups_offset_is_told_once_each() -> None:
    events = [commit(1), commit(2), answer(2), answer(2), answer(None, "E"), answer(None, "F"), answer(1), answer(None)]
    told: Any = SimpleNamespace(events=[*events, answer(9, partition=1)])
    assert [(step.kind, step.text) for step in steps.group_steps(told, ("t", 0))] == [
        ("ack", "Group g has committed offset 2."),
        ("read", "The coordinator of group g says that offset 2 is committed."),
        ("failed", "The coordinator of group g does not answer: E."),
        ("read", "The coordinator of group g says that offset 1 is committed."),
        ("read", "The coordinator of group g says that nothing is committed."),
    ]


def ends(stable: int, high: int, partition: int = 0) -> EndsAnswer:
    return EndsAnswer(topic="t", partition=partition, high_watermark=high, last_stable_offset=stable, asked_ns=0)


def test_an_end_that_holds_readers_back_is_told_when_it_begins_and_at_last() -> None:
    told: Any = SimpleNamespace(events=[ends(5, 5), ends(1, 5), ends(1, 6), ends(1, 7), ends(2, 7), ends(1, 9, 1)])
    assert [step.text for step in steps.end_steps(told, ("t", 0))] == [
        f"Readers under read_committed may read t-0 up to {stable}, others up to {high}."
        for stable, high in ((1, 5), (1, 7), (2, 7))
    ]


def acked(sequence: int, offset: int | None, outcome: str = "acked") -> Any:
    return SimpleNamespace(sequence=sequence, offset=offset, outcome=outcome, process="p", acks="all")


def test_records_that_were_acknowledged_one_after_the_other_are_told_together() -> None:
    sends = [acked(0, 0), acked(1, 1), acked(2, 5), acked(3, None, "unknown"), acked(4, 6), acked(5, 7)]
    assert [[one.sequence for one in run] for run in story._in_a_row(sends)] == [[0, 1], [2], [3], [4, 5]]


def test_what_was_asked_to_be_deleted_is_told() -> None:
    asked = [
        DeleteTopic(topic="n" * 249, by="request DeleteTopics"),
        DeleteTopic(topic="u", by="znode /admin/delete_topics", withdrawn=True),
        DeleteRecords(topic="t", partition=0, before=6),
        DeleteRecords(topic="t", partition=1, before=7),
        RecordsDeleted(topic="t", partition=0, low_watermark=6),
    ]
    told: Any = SimpleNamespace(events=asked)
    assert [step.text for step in steps.deletion_steps(told, ("t", 0))] == [
        f"It is asked that topic {'n' * 40}… (249 characters) be deleted, by request DeleteTopics.",
        "The deletion of topic u is withdrawn, by znode /admin/delete_topics.",
        "It is asked that the records of t-0 before 6 be deleted.",
        "The records of t-0 before 6 are deleted, its leader answers.",
    ]
