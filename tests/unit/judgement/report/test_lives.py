"""A record's life: each witness alone, what copies prove and what they do not, and who shares a fate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidence.history import schema
from evidence.history.writer import HistoryWriter
from evidence.records import RecordId
from evidence.rundir import RunDir
from judgement.report import facts
from judgement.report.lives import Life, at_offsets, grouped
from judgement.report.witnesses import RecordSources
from tests.unit.judgement.report import synthetic

M3 = RecordId("t", 0, 1, 3)


def life(run_dir: RunDir, *records: RecordId) -> Life:
    loaded = facts.load(run_dir)
    witnesses = RecordSources(loaded)
    (group,) = grouped(witnesses, records or [M3])
    return Life(facts=loaded, witnesses=witnesses, group=group)


def texts(one: Life, *kinds: str) -> list[str]:
    return [step.text for step in one.steps() if step.kind in kinds]


def bare(tmp_path: Path, version: str = "2.8.2") -> synthetic.Synthetic:
    """A run with a topic of three replicas and nothing else."""
    run = synthetic.Synthetic(tmp_path, "x", version)
    run.partition(1.0, 1, 0, [1, 2, 3])
    return run


def written(run: synthetic.Synthetic) -> RunDir:
    run.run["processes"] = []
    return run.write(ended_s=30.0)


# Whole lives


def test_the_life_of_a_lost_record_from_its_files(tmp_path: Path) -> None:
    one = life(synthetic.with_files(synthetic.double_failover_lost(tmp_path)))
    assert one.title() == "m3, acknowledged with acks=all at offset 3 of t-0, is gone"
    assert texts(one, "disk") == [
        "At “armed” broker-1 holds m3 at offset 3 (LEO 4, HW 4); "
        "broker-2 and broker-3 hold m3 at offset 3 (LEO 4, HW 3).",
        "At “final” broker-1, broker-2 and broker-3 hold m4 at offset 3 (LEO 4, HW 4): m3 is on no replica's disk.",
    ]
    assert texts(one, "passed") == [
        "final-read-1 reads m4 at offset 3 and continues, up to the end offset, 4: no poll of it returns m3."
    ]
    assert texts(one, "truncate")[0] == "broker-3 truncates t-0 to offset 3: m3 is gone from its disk."
    assert one.witnesses.missing == ()


def test_a_healthy_record_has_a_life(tmp_path: Path) -> None:
    one = life(synthetic.with_files(synthetic.double_failover_lost(tmp_path)), RecordId("t", 0, 1, 0))
    assert one.title() == (
        "m0, acknowledged with acks=all at offset 0 of t-0, was read by final-read-1 "
        "and is on the disk of every replica in the end"
    )
    assert texts(one, "read") == ["final-read-1 reads m0 at offset 0."]
    assert "broker-3 truncates t-0 to offset 3 and so keeps m0 at offset 0." in texts(one, "kept")
    assert one.others == ()


def test_without_any_file_the_timeline_speaks(tmp_path: Path) -> None:
    one = life(synthetic.double_failover_lost(tmp_path))
    assert texts(one, "ack")[0].startswith("m3 is acknowledged at offset 3 by broker-1")
    assert texts(one, "disk", "passed") == []
    assert "the copies of the replicas' files at “armed” are not there (replicas/00-armed)" in one.witnesses.missing
    assert "missing history of producer-1: it left no history" in one.witnesses.missing


# Senders


@pytest.mark.parametrize(
    ("row", "said", "title"),
    [
        (
            {"outcome": schema.FAIL, "error_name": "NOT_ENOUGH_REPLICAS"},
            "m3 is refused: NOT_ENOUGH_REPLICAS.",
            "m3, sent to t-0 with acks=all and refused (NOT_ENOUGH_REPLICAS), is not heard of again",
        ),
        (
            {"outcome": schema.INFO, "error_name": "REQUEST_TIMED_OUT"},
            "m3 is given up, and may or may not have been written: REQUEST_TIMED_OUT.",
            "m3, sent to t-0 with acks=all and never confirmed (REQUEST_TIMED_OUT), is not heard of again",
        ),
    ],
)
def test_a_send_that_was_not_acknowledged(tmp_path: Path, row: dict[str, Any], said: str, title: str) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, None, **row))
    one = life(run_dir)
    assert (texts(one, "failed"), one.title()) == ([said], title)


def test_a_send_without_an_offset_is_looked_for_on_the_disks(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-final", broker_1=(9, 9))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, None, outcome=schema.INFO))
    synthetic.write_replica(run_dir, "00-final", "broker-1", {7: (1, 2), 8: (1, 3)}, hw=9, magic=2, epoch=4)
    one = life(run_dir)
    assert one.group.offsets == (8,)
    assert texts(one, "disk") == ["At “final” broker-1 holds m3 (epoch 4) at offset 8 (LEO 9, HW 9)."]
    assert one.title().endswith("was read by nobody and is on the disk of every replica in the end")


def test_a_record_nobody_is_known_to_have_sent(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "c", synthetic.polled(2.0, 3, 5))
    assert life(run_dir).title() == "m3 of t-0, which nobody is known to have sent, was read by c"


# Readers


def test_a_reader_that_came_back_read_it_again(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    synthetic.write_history(run_dir, "c", *(synthetic.polled(at_s, 3, 5) for at_s in (2.5, 2.6, 2.7)))
    assert texts(life(run_dir), "read") == ["c reads m3 at offset 5, and again 2 times."]


def test_a_reader_that_did_not_come_so_far_says_nothing(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    synthetic.write_history(run_dir, "c", synthetic.polled(2.5, 2, 4))
    one = life(run_dir)
    assert texts(one, "read", "passed") == []
    assert not one.is_lost


def test_a_reader_that_passed_a_hole(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    synthetic.write_history(run_dir, "c", synthetic.polled(2.5, 4, 6))
    one = life(run_dir)
    assert texts(one, "passed") == ["c reads beyond offset 5, up to 6: no poll of it returns m3."]
    assert one.is_lost


def test_a_final_read_that_came_to_the_end_and_met_nothing_there(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    synthetic.write_history(run_dir, "c", synthetic.polled(2.5, 2, 4), synthetic.final_read(3.0, 6))
    one = life(run_dir)
    assert texts(one, "passed") == ["c reads beyond offset 5, up to the end offset, 6: no poll of it returns m3."]
    assert one.title().endswith("is gone")


def test_a_final_read_that_ended_before_it_says_nothing(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    synthetic.write_history(run_dir, "c", synthetic.polled(2.5, 2, 4), synthetic.final_read(3.0, 5))
    assert not life(run_dir).is_lost


def test_of_many_readers_some_are_named(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    for number in range(9):
        synthetic.write_history(run_dir, f"c{number}", synthetic.polled(3.0 + number, 3, 5))
    one = life(run_dir)
    assert texts(one, "read")[-1] == "3 more consumers read m3."
    assert len(texts(one, "read")) == 7
    assert one.title().endswith("was read by c0, c1 and 7 more")


# Disks


def test_every_way_not_to_have_a_record(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-final", broker_1=(9, 9))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    disks: dict[str, dict[int, tuple[int, int] | bytes]] = {
        "broker-1": {4: (1, 2), 6: (1, 4)},
        "broker-2": {4: (1, 2)},
        "broker-3": {6: (1, 4)},
        "broker-4": {5: b"not ours"},
    }
    for node, contents in disks.items():
        synthetic.write_replica(run_dir, "00-final", node, contents, hw=4)
    assert texts(life(run_dir), "disk") == [
        "At “final” broker-1 holds nothing at offset 5 (LEO 7, HW 4); broker-2 ends before offset 5 (LEO 5, HW 4); "
        "broker-3 begins only at offset 6 (LEO 7, HW 4); broker-4 holds a record that is not ours at offset 5 "
        "(LEO 6, HW 4): m3 is on no replica's disk."
    ]


def test_a_record_is_found_in_the_segment_it_is_in(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-final", broker_1=(6, 6))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    first = synthetic.write_replica(run_dir, "00-final", "broker-1", {2: (1, 1), 3: (1, 2)}, hw=6)
    other = written(bare(tmp_path / "other"))
    second = synthetic.write_replica(other, "00-final", "broker-1", {5: (1, 3)})
    second.rename(first.with_name(second.name))
    assert texts(life(run_dir), "disk") == ["At “final” broker-1 holds m3 at offset 5 (LEO 6, HW 6)."]


def test_what_is_damaged_may_be_the_record(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-final", broker_1=(1, 1))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 0))
    segment = synthetic.write_replica(run_dir, "00-final", "broker-1", {0: (1, 3)}, hw=1)
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    one = life(run_dir)
    assert texts(one, "disk") == ["At “final” broker-1 holds a damaged record at offset 0 (LEO 1, HW 1)."]
    assert "seen by nobody" not in one.title()


def test_a_record_that_was_on_a_disk_for_a_time(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-armed", broker_1=(6, 5))
    run.truncate(4.0, "broker-1", 5)
    run.moment(5.0, "01-final", broker_1=(5, 5))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, None, outcome=schema.INFO))
    synthetic.write_replica(run_dir, "00-armed", "broker-1", {4: (1, 2), 5: (1, 3)}, hw=5)
    synthetic.write_replica(run_dir, "01-final", "broker-1", {4: (1, 2)}, hw=5)
    one = life(run_dir)
    assert one.title().endswith("was on disk for a time, is gone in the end, and was read by nobody")
    assert texts(one, "truncate") == ["broker-1 truncates t-0 to offset 5: m3 is gone from its disk."]


def test_copies_taken_before_it_was_sent_are_none_of_its_life(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(1.5, "00-before", broker_1=(1, 1))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    synthetic.write_replica(run_dir, "00-before", "broker-1", {0: (1, 0)}, hw=1)
    assert texts(life(run_dir), "disk") == []


# Fates


def test_neighbours_that_shared_a_fate_share_a_life(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    rows = [synthetic.sent(2.0 + number / 10, number, number) for number in range(6)]
    rows[3] |= {"acks": 1}
    synthetic.write_history(run_dir, "p", *rows)
    synthetic.write_history(run_dir, "c", synthetic.polled(3.0, 0, 0), synthetic.polled(3.1, 1, 1))
    loaded = facts.load(run_dir)
    found = grouped(RecordSources(loaded), [RecordId("t", 0, 1, number) for number in range(6)])
    assert [[one.sequence for one in group.records] for group in found] == [[0, 1], [2], [3], [4, 5]]
    assert texts(life(run_dir, *found[0].records), "ack") == [
        "m0 to m1 are acknowledged at offsets 0 to 1 by broker-1, leader in epoch 0, ISR [1, 2, 3]."
    ]


def test_neighbours_on_different_disks_do_not(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-final", broker_1=(2, 2), broker_2=(1, 1))
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 0, 0), synthetic.sent(2.1, 1, 1))
    synthetic.write_replica(run_dir, "00-final", "broker-1", {0: (1, 0), 1: (1, 1)})
    synthetic.write_replica(run_dir, "00-final", "broker-2", {0: (1, 0)})
    loaded = facts.load(run_dir)
    assert len(grouped(RecordSources(loaded), [RecordId("t", 0, 1, 0), RecordId("t", 0, 1, 1)])) == 2


def test_a_truncation_in_the_middle_of_neighbours(tmp_path: Path) -> None:
    run = bare(tmp_path)
    run.moment(3.0, "00-armed", broker_1=(4, 4))
    run.truncate(4.0, "broker-1", 2)
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", *(synthetic.sent(2.0, number, number) for number in range(4)))
    synthetic.write_replica(run_dir, "00-armed", "broker-1", {number: (1, number) for number in range(4)})
    one = life(run_dir, *(RecordId("t", 0, 1, number) for number in range(4)))
    assert texts(one, "truncate") == [
        "broker-1 truncates t-0 to offset 2: m0 to m3 from offset 2 on are gone from its disk."
    ]


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([], ""), ([3], " at offset 3"), ([3, 4], " at offsets 3 to 4"), ([3, 9], " at offsets 3 and 9")],
)
def test_offsets_in_words(offsets: list[int], words: str) -> None:
    assert at_offsets(offsets) == words


# Damage


def test_a_torn_stream_gives_what_is_left(tmp_path: Path) -> None:
    run_dir = written(bare(tmp_path))
    with HistoryWriter(run_dir.stream("p"), "p", run=run_dir.path.name) as writer:
        for sequence in (3, 4):
            writer.append(topic="t", partition=0, flush=True, **synthetic.sent(2.0, sequence, sequence + 2))
    stream = run_dir.stream("p")
    stream.write_bytes(stream.read_bytes()[:-600])
    one = life(run_dir)
    assert texts(one, "send") == ["p sends m3 to t-0 with acks=all."]
    assert any(line.startswith("torn history of p") for line in one.witnesses.missing)
    assert "recorder died of p: its history has no closing row" in one.witnesses.missing


def test_a_copy_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    run_dir = synthetic.with_files(synthetic.double_failover_lost(tmp_path))
    folder = run_dir.moment("01-final") / "broker-2"
    (folder / "replication-offset-checkpoint").write_text("what?")
    for path in (folder / "t-0").iterdir():
        path.unlink()
    (folder / "t-0").rmdir()
    one = life(run_dir)
    assert texts(one, "disk")[-1].startswith("At “final” broker-1 and broker-3 hold m4 at offset 3")
    assert one.witnesses.missing == ("the copy of broker-2 at “final” has no t-0, though it had when it was taken",)


def test_a_run_without_a_timeline_still_has_its_files(tmp_path: Path) -> None:
    run_dir = synthetic.with_files(synthetic.double_failover_lost(tmp_path))
    run_dir.timeline.unlink()
    one = life(run_dir)
    assert [step.kind for step in one.steps()] == ["send", "ack", "replaced", "passed"]


def test_more_steps_than_anyone_reads_are_cut_in_the_middle(tmp_path: Path) -> None:
    run = bare(tmp_path)
    for number in range(200):
        run.partition(3.0 + number / 100, 1, 0, [1, 2] if number % 2 else [1, 2, 3])
    run_dir = written(run)
    synthetic.write_history(run_dir, "p", synthetic.sent(2.0, 3, 5))
    steps = life(run_dir).steps()
    assert len(steps) == 121
    assert [step.text for step in steps if step.kind == "more"] == ["(81 more steps are left out here.)"]
