"""Waits for what lies on the brokers' disks: where a log begins, and whether a topic is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.errors import HarnessError, WaitTimeout
from evidence.timeline import Timeline
from harness.plan import TopicPlan
from harness.run import disks
from harness.run.disks import LiveFiles
from harness.run.record import GrowingRecord
from harness.run.sequence_log import DutyNotDone, SequenceLog
from harness.run.who import Partition, Target
from tests.records import run_record
from tests.unit.kafkafiles import encode

T = Partition("t", 0)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LiveFiles, list[Target], Path]]:
    monkeypatch.setattr(disks, "FILE_LIMIT_S", 0.1)
    nodes = {number: SimpleNamespace(name=f"broker-{number}", id=number) for number in (1, 2)}
    for node in nodes.values():
        log = tmp_path / node.name / "kafka" / "t-0"
        log.mkdir(parents=True)
        (log / f"{0:020}.log").touch()
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        parts: Any = SimpleNamespace(
            cluster=SimpleNamespace(data=tmp_path, brokers=nodes, require_disks=lambda word: None),
            run_dir=None,
            timeline=timeline,
            topics=[SimpleNamespace(name="t")],
            record=GrowingRecord(run_record()),
        )
        targets = [Target("", cast("Any", node)) for node in nodes.values()]
        yield LiveFiles(parts, SequenceLog(timeline)), targets, tmp_path


def test_a_log_begins_where_its_first_segment_does(made: tuple[LiveFiles, list[Target], Path]) -> None:
    on, targets, data = made
    for target in targets:
        log = data / target.node.name / "kafka" / "t-0"
        (log / f"{5:020}.log").touch()
        (log / f"{0:020}.log").rename(log / f"{0:020}.log.deleted")
    on.wait_log_start(T, 5, targets, 0.1)
    with pytest.raises(WaitTimeout, match=r"the log of t-0 begins at 6 on broker-1, broker-2; seen: \[5, 5\]"):
        on.wait_log_start(T, 6, targets, 0.0)


def test_that_a_replica_truncated_to_the_end_of_an_epoch_is_owed(
    made: tuple[LiveFiles, list[Target], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    on, (target, _), data = made
    monkeypatch.setattr(disks, "FILE_LIMIT_S", 0.0)
    path = data / target.node.name / "kafka" / "t-0" / "leader-epoch-checkpoint"
    path.write_text("0\n2\n0 0\n2 2\n")
    on.claim_next_epoch_starts_at(target, T, epoch=0, offset=2)
    for text in ("0\n2\n0 0\n2 3\n", "0\n1\n0 0\n"):
        path.write_text(text)
        with pytest.raises(DutyNotDone, match="truncated to the end of epoch 0: the next one starts at 2"):
            on.claim_next_epoch_starts_at(target, T, epoch=0, offset=2)


def test_a_log_that_one_replica_still_has_has_not_begun_later(made: tuple[LiveFiles, list[Target], Path]) -> None:
    on, targets, data = made
    (data / "broker-1/kafka/t-0" / f"{0:020}.log").rename(data / "broker-1/kafka/t-0" / f"{5:020}.log")
    with pytest.raises(WaitTimeout, match=r"seen: \[5, 0\]"):
        on.wait_log_start(T, 5, targets, 0.0)


def test_a_topic_is_deleted_when_no_broker_has_its_directory(made: tuple[LiveFiles, list[Target], Path]) -> None:
    on, _, data = made
    (data / "broker-1/kafka/t-0").rename(data / "broker-1/kafka/t-0.0123456789abcdef-delete")
    with pytest.raises(WaitTimeout, match=r"broker-2/t-0"):
        on.wait_deleted("t")
    (data / "broker-2/kafka/t-0").rename(data / "broker-2/kafka/t-1-0")
    on.wait_deleted("t")


def test_where_a_log_begins_and_how_far_it_is_compacted_is_read_from_the_brokers_files(
    made: tuple[LiveFiles, list[Target], Path],
) -> None:
    on, targets, data = made
    for name in ("log-start-offset-checkpoint", "cleaner-offset-checkpoint"):
        for target in targets:
            (data / target.node.name / "kafka" / name).write_text("0\n1\nt 0 5\n")
    on.wait_log_start_checkpointed(T, 5, targets)
    on.wait_cleaned(T, 5, targets, 0.0)
    assert on.checkpointed_log_start(targets[0], T) == 5
    (data / "broker-2/kafka/log-start-offset-checkpoint").write_text("0\n0\n")
    (data / "broker-2/kafka/cleaner-offset-checkpoint").unlink()
    assert on.checkpointed_log_start(targets[1], T) is None
    with pytest.raises(WaitTimeout, match=r"have checkpointed that t-0 begins at 5; seen: \[5, None\]"):
        on.wait_log_start_checkpointed(T, 5, targets)
    with pytest.raises(WaitTimeout, match=r"t-0 is compacted up to 5 on broker-1, broker-2; seen: \[5, None\]"):
        on.wait_cleaned(T, 5, targets, 0.0)
    with pytest.raises(WaitTimeout, match="compacted up to 6"):
        on.wait_cleaned(T, 6, targets[:1], 0.0)


def test_a_recovery_point_is_waited_for_in_the_brokers_file(
    made: tuple[LiveFiles, list[Target], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    on, (target, _), data = made
    on._topics.append(TopicPlan())
    monkeypatch.setattr(disks, "RECOVERY_POINT_LIMIT_S", 0.0)
    with pytest.raises(WaitTimeout, match="the recovery point of t-0 is 5 or more on broker-1; seen: 0"):
        on.wait_recovery_point(T, 5, target)
    (data / "broker-1" / "kafka" / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    on.wait_recovery_point(T, 5, target)
    with pytest.raises(WaitTimeout, match="seen: 5"):
        on.wait_recovery_point(T, 6, target)


def test_of_a_log_the_segments_are_flushed_and_nothing_else(
    made: tuple[LiveFiles, list[Target], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    on, targets, data = made
    flushed: list[Path] = []
    monkeypatch.setattr(disks, "flush_file", flushed.append)
    (data / "broker-2/kafka/t-0" / f"{0:020}.index").touch()
    on.flush_log(T, targets[1:])
    assert flushed == [data / "broker-2/kafka/t-0" / f"{0:020}.log"]
    with pytest.raises(HarnessError, match="broker-1 has no segment of t-1"):
        on.flush_log(Partition("t", 1), targets)


def test_who_wrote_each_batch_is_told_by_its_id(made: tuple[LiveFiles, list[Target], Path]) -> None:
    on, (target, _), data = made
    ids = [0, 1000, -1]
    batches = [encode.batch(at, [encode.R()], producer=(number, 0, 0)) for at, number in enumerate(ids)]
    (data / "broker-1/kafka/t-0" / f"{0:020}.log").write_bytes(b"".join(batches))
    assert on.producer_ids_of(target, T) == ids
    assert on.sequences_of(target, T) == [(number, 0, 0) for number in ids]
    assert on.batches_of(target, T) == [(0, 0), (1, 1), (2, 2)]
