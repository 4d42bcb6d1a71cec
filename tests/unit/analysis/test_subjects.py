"""What came of one subject's records, counted from its partition's view."""

from __future__ import annotations

from pathlib import Path

import msgspec

from analysis.check import check_run
from analysis.subjects import count
from evidence.findings import SubjectCounts
from evidence.rundir import RunDir
from tests.records import subject_record
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, reserved, sent, view

SUBJECT = {"topic": "t", "partition": 0, "process": "producer-1"}
ROWS = [
    sent(0, 0, acks=1),
    sent(1, outcome="fail", acks=1),
    sent(2, outcome="info", acks=1),
    sent(3, outcome="info", acks=1),
    sent(0, 2, producer=2),
    polled(0, 0),
    polled(1, 3),
    polled(2, 0, producer=2),
    final_read(3),
]


def test_each_record_is_counted_by_what_its_sender_was_told_and_whether_it_is_there() -> None:
    assert count(view(*ROWS), subject_record(SUBJECT)) == SubjectCounts(
        topic="t",
        partition=0,
        process="producer-1",
        acks=(1,),
        acknowledged=1,
        refused=1,
        unknown_present=1,
        unknown_absent=1,
    )


def test_what_a_killed_producer_had_taken_and_told_nothing_of_is_unknown() -> None:
    rows = [
        reserved(0, 3),
        reserved(3, 2),
        reserved(0, 9, producer=2),
        sent(0, 0),
        polled(0, 0),
        polled(1, 3),
        final_read(2),
    ]
    alive, killed = (count(view(*rows), subject_record(SUBJECT | more)) for more in ({}, {"killed": True}))
    assert (alive.unknown_present, alive.unknown_absent) == (0, 0)
    assert (killed.acknowledged, killed.unknown_present, killed.unknown_absent) == (1, 1, 3)


def test_of_a_process_that_wrote_nothing_nothing_is_counted() -> None:
    told = count(view(*ROWS), subject_record(SUBJECT | {"process": "producer-9"}))
    assert (told.acks, told.acknowledged, told.unknown_absent) == ((), 0, 0)


def test_latency_and_throughput_are_of_their_own_records_alone() -> None:
    rows = [sent(n, n, invoked_ns=n * 1_000_000, completed_ns=n * 1_000_000 + 2_000_000 * (n + 1)) for n in range(6)]
    told = count(view(*rows), subject_record(SUBJECT | {"timed": {"latency": [0, 3], "throughput": [4, 6]}}))
    assert told.latency_p50_ms == 4.0
    assert told.latency_p99_ms == 5.96
    assert told.records_per_s == round(2 / 0.013, 1)


def test_the_findings_of_a_run_count_its_subjects_and_no_other_partition(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", {"producer-1": [sent(0, 0)], "final-read-1": [polled(0, 0), final_read(1)]})
    assert check_run(run_dir).subjects == ()
    with_subjects(run_dir)
    assert [one.acknowledged for one in check_run(run_dir).subjects] == [1]


def with_subjects(run_dir: RunDir) -> None:
    subjects = (subject_record(SUBJECT), subject_record(SUBJECT | {"partition": 5}))
    run_dir.write_run(msgspec.structs.replace(run_dir.read_run(), subjects=subjects))
