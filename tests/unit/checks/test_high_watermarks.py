"""High watermarks: what was announced stays, on every replica that had to have it; and whom nobody may accuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.read_copies import load_copies
from checks.anomalies.high_watermarks import (
    high_watermark_regression,
    log_truncated_below_high_watermark,
    read_above_high_watermark,
)
from checks.copies import Copies
from checks.view import PartitionView
from evidence.events import DeleteRecords, Event, Fault, FaultPhase, Log, Partition, Target, of
from evidence.run_state import RunState
from evidence.rundir import RunDir
from tests.proofs import proof as proof_of
from tests.unit.analysis.test_replicas import ARMED, FINAL, SECOND, Contents, container, copies, damage, moment, state
from tests.unit.checks.histories import Row, polled, sent, view
from tests.unit.timelines import at

Events = list[Event]


def acked(sequence: int, at: int = 3, **more: Any) -> Row:
    """Sent and acknowledged at `at` seconds, at the offset of its sequence."""
    return sent(sequence, sequence, **{"invoked_ns": at * SECOND, "completed_ns": at * SECOND + 1, **more})


def read(sequence: int, at: int = 4, **more: Any) -> Row:
    return polled(sequence, sequence, **{"completed_ns": at * SECOND, **more})


def told(end: int, at: int, process: str = "reader-1") -> Row:
    """A client that asked for the log's end was told this."""
    row: Row = {"kind": "end-offsets", "outcome": "ok", "offset": end, "process": process}
    return row | {"invoked_ns": at * SECOND, "completed_ns": at * SECOND + 1}


def truncation(node: str, offset: int, at_s: int) -> Log:
    line = Log(node=node, event="truncate", topic="t", partition=0, offset=offset, line="Truncating")
    return at(at_s * SECOND, line)


def on_disk(root: Path, logs: dict[str, Contents], *events: Event, at: int = 10, **high_watermarks: int) -> Copies:
    """The copies of one moment at `at` seconds."""
    return copies(root, logs, [*events, moment(FINAL, at, **high_watermarks)])


TWO: Contents = [(0, 0), (1, 1)]
ONE: Contents = [(0, 0)]

# log-truncated-below-high-watermark


def test_a_follower_that_cut_off_what_was_acknowledged(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, state(1))
    (row,) = log_truncated_below_high_watermark(found, view(acked(0), acked(1)))
    assert (row["node"], row["log_end"], row["high_watermark"], row["moment"]) == ("broker-2", 1, 2, FINAL)
    assert (row["announced_by"], row["announced"]["what"]) == ("leader", "acknowledged under acks=all")
    assert row["cut_off"] == [{"producer": 1, "sequence": 1}]


def test_logs_that_hold_what_was_acknowledged(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": TWO}, state(1), truncation("broker-2", 2, 6))
    assert log_truncated_below_high_watermark(found, view(acked(0), acked(1), read(1))) == []


def test_a_truncation_that_only_the_brokers_log_tells_of(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": TWO}, state(1), truncation("broker-2", 1, 6))
    (row,) = log_truncated_below_high_watermark(found, view(acked(0), acked(1)))
    assert (row["node"], row["log_end"], row["log_line"]) == ("broker-2", 1, "Truncating")


def test_a_truncation_before_the_acknowledgement_cut_nothing_off(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": TWO}, state(1), truncation("broker-2", 0, 2))
    assert log_truncated_below_high_watermark(found, view(acked(0), acked(1))) == []


def test_what_a_reader_was_given_had_been_announced(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, state(1))
    (row,) = log_truncated_below_high_watermark(found, view(acked(1, acks=1), read(1)))
    assert row["announced"]["what"] == "read"
    assert log_truncated_below_high_watermark(found, view(acked(1, acks=1))) == []
    assert log_truncated_below_high_watermark(found, view(acked(1, acks=1), read(1, outcome="info"))) == []


@pytest.mark.parametrize(
    "states",
    [
        [state(1, isr=(1,))],
        [state(1), state(3, isr=(1,))],
        [state(1, isr=(1,)), state(5)],
        [state(1), state(4, isr=(1,))],
        [state(6)],
    ],
    ids=["never", "left meanwhile", "joined later", "said to have left just after", "nothing stated yet"],
)
def test_a_replica_that_may_not_have_been_in_sync_then_has_cut_nothing_off(tmp_path: Path, states: Events) -> None:
    row = acked(1, invoked_ns=2 * SECOND, completed_ns=3 * SECOND + 5)
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, *states)
    assert log_truncated_below_high_watermark(found, view(row)) == []


def test_a_replica_that_left_the_isr_later_has_cut_it_off_all_the_same(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, state(1), state(6, isr=(1,)))
    assert len(log_truncated_below_high_watermark(found, view(acked(1)))) == 1


def test_a_log_below_its_own_checkpoint(tmp_path: Path) -> None:
    events = [state(1, isr=(1,)), moment(ARMED, 5, broker_2=2), moment(FINAL, 10, broker_2=1)]
    copies(tmp_path, {"broker-2": TWO}, events, ARMED)
    found = copies(tmp_path, {"broker-2": ONE}, events)
    (row,) = log_truncated_below_high_watermark(found, view())
    assert (row["announced_by"], row["announced"]) == (
        "itself",
        {"what": "checkpointed", "moment": ARMED, "high_watermark": 2},
    )


def test_a_checkpoint_beside_a_shorter_log(tmp_path: Path) -> None:
    assert len(log_truncated_below_high_watermark(on_disk(tmp_path, {"broker-2": ONE}, broker_2=2), view())) == 1


def wiped(at_s: float, phase: FaultPhase = "verified", node: str = "broker-2", kind: str = "wipe") -> Events:
    phases: list[FaultPhase] = ["inject", phase]
    struck = Target(node=node)
    return [
        at(
            int(at_s * SECOND),
            Fault(
                fault_kind=kind,
                id="f1",
                phase=one,
                target=struck,
                description=kind,
                proof=proof_of(kind) if one == "verified" else None,
            ),
        )
        for one in phases
    ]


@pytest.mark.parametrize(
    ("wipe", "found"),
    [(wiped(6), 0), (wiped(6, "unproved"), 2), (wiped(6, node="broker-1"), 2), (wiped(0.5), 2), ([], 2)],
    ids=["blank", "unproved", "another's", "before the record was sent", "no fault"],
)
def test_a_blank_disk_has_cut_nothing_off(tmp_path: Path, wipe: Events, found: int) -> None:
    events = [state(1), moment(ARMED, 5, broker_2=2), moment(FINAL, 10, broker_2=0), *wipe]
    events.sort(key=lambda event: event.at_ns)
    copies(tmp_path, {"broker-2": TWO}, events, ARMED)
    seen = copies(tmp_path, {"broker-1": TWO, "broker-2": []}, events)
    assert len(log_truncated_below_high_watermark(seen, view(acked(0), acked(1)))) == found


def deletion(before: int, at_s: float, partition: int = 0) -> Events:
    return [at(int(at_s * SECOND), DeleteRecords(topic="t", partition=partition, before=before))]


@pytest.mark.parametrize(
    ("asked", "found"),
    [(deletion(2, 4), 0), (deletion(1, 4), 2), (deletion(2, 4, partition=1), 2), (deletion(2, 7), 2), ([], 2)],
    ids=["all", "the first alone", "another partition", "afterwards", "none"],
)
def test_records_that_were_to_be_deleted_are_not_cut_off(tmp_path: Path, asked: Events, found: int) -> None:
    """A follower that was away begins its log anew (1.1.1: the leader knows no epoch of what is deleted)."""
    events = [state(1), *asked, moment(ARMED, 5, broker_2=2), truncation("broker-2", 0, 6)]
    events.sort(key=lambda event: event.at_ns)
    seen = copies(tmp_path, {"broker-1": TWO, "broker-2": TWO}, events, ARMED)
    assert len(log_truncated_below_high_watermark(seen, view(acked(0), acked(1)))) == found


def test_another_brokers_checkpoint_accuses_nobody(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, state(1), broker_1=2, broker_2=1)
    assert log_truncated_below_high_watermark(found, view()) == []


def test_where_a_damaged_log_ends_is_not_known(tmp_path: Path) -> None:
    on_disk(tmp_path, {"broker-2": [(0, 0), (1, 1), (2, 2)]}, broker_2=2)
    (log,) = (tmp_path / "replicas" / FINAL / "broker-2" / "t-0").glob("*.log")
    damage(log, log.stat().st_size // 3 + 30)
    events = [moment(FINAL, 10, broker_2=9)]
    found, problems = load_copies(RunDir(tmp_path), RunState(tuple(events)), "t", 0)
    assert problems
    assert log_truncated_below_high_watermark(found, view()) == []


# read-above-high-watermark

READ: PartitionView = view(acked(0), acked(1, acks=1), read(0), read(1))


def test_a_record_that_was_read_before_an_in_sync_replica_had_it(tmp_path: Path) -> None:
    (row,) = read_above_high_watermark(READ, on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, state(1)))
    assert (row["sequence"], row["offset"], row["process"]) == (1, 1, "reader-1")
    assert (row["node"], row["log_end"], row["leader"], row["isr"]) == ("broker-2", 1, 1, [1, 2])
    assert row["sent"]["process"] == "producer-1"


def test_a_record_that_every_in_sync_replica_had(tmp_path: Path) -> None:
    assert read_above_high_watermark(READ, on_disk(tmp_path, {"broker-1": TWO, "broker-2": TWO}, state(1))) == []


def test_a_record_that_was_not_read_yet(tmp_path: Path) -> None:
    history = view(acked(1, acks=1), read(1, at=11))
    assert read_above_high_watermark(history, on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, state(1))) == []


def test_a_copy_that_may_have_been_taken_before_the_read(tmp_path: Path) -> None:
    logs = {"broker-1": TWO, "broker-2": ONE}
    events = [state(1), moment(FINAL, 10, begun_s=3)]
    assert read_above_high_watermark(READ, copies(tmp_path, logs, events)) == []


@pytest.mark.parametrize(
    "events",
    [
        [state(1), state(6, isr=(1,))],
        [state(1, isr=(1,)), state(5)],
        [state(1), state(10, isr=(1,))],
        [state(1), state(5, leader=2, epoch=1)],
        [state(1), state(5, epoch=1)],
        [state(1), container("broker-2", "die", 5), container("broker-2", "start", 6)],
        [state(1, leader=-1)],
    ],
    ids=["left", "joined", "said to have left just after", "another leader", "another epoch", "restarted", "no leader"],
)
def test_a_replica_that_may_have_cut_it_off_or_did_not_owe_it(tmp_path: Path, events: Events) -> None:
    assert read_above_high_watermark(READ, on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, *events)) == []


def test_a_restart_before_the_sending_and_a_frozen_broker_are_no_excuse(tmp_path: Path) -> None:
    events = [state(1), container("broker-2", "start", 2), container("broker-2", "pause", 5)]
    found = on_disk(tmp_path, {"broker-1": TWO, "broker-2": ONE}, *events)
    assert len(read_above_high_watermark(READ, found)) == 1


# high-watermark-regression

NOBODY_COPIED = Copies(states=(state(1),), run_state=RunState((state(1),)))


def test_a_leader_that_answers_with_less_than_before() -> None:
    (row,) = high_watermark_regression(view(told(5, 3), told(4, 6)), NOBODY_COPIED)
    assert row["what"] == "a leader's answer went back"
    assert (row["before"]["high_watermark"], row["after"]["high_watermark"]) == (5, 4)


def test_a_leader_that_answers_with_as_much_or_more() -> None:
    assert high_watermark_regression(view(told(4, 3), told(4, 6), told(5, 7), read(4, at=8)), NOBODY_COPIED) == []


def test_a_high_watermark_below_what_was_read() -> None:
    (row,) = high_watermark_regression(view(read(4, at=3), told(4, 6)), NOBODY_COPIED)
    assert row["what"] == "a leader's high watermark is below what a reader had been given"
    assert (row["before"]["offset"], row["after"]["high_watermark"], row["read_count"]) == (4, 4, 1)
    assert high_watermark_regression(view(read(4, at=3), told(5, 6)), NOBODY_COPIED) == []
    assert high_watermark_regression(view(read(4, at=7), told(4, 6)), NOBODY_COPIED) == []


def test_a_leader_that_begins_with_too_little_is_told_of_once() -> None:
    rows = [read(9, at=3), told(4, 6), told(5, 7), told(6, 8)]
    assert len(high_watermark_regression(view(*rows), NOBODY_COPIED)) == 1
    events = (state(1), container("broker-1", "die", 4), state(5, leader=2, epoch=1), state(20, leader=2, epoch=2))
    anew = led(*events)
    again = [read(9, at=3), told(4, 9), told(5, 10), told(6, 30), told(7, 31)]
    assert [row["after"]["leader_epoch"] for row in high_watermark_regression(view(*again), anew)] == [1, 2]


def led(*events: Event) -> Copies:
    states = tuple(of(events, Partition))
    return Copies(states=states, run_state=RunState(events))


def test_an_epoch_of_its_own_is_compared_with_what_was_read_alone() -> None:
    dead = container("broker-1", "die", 4)
    later = led(state(1), dead, state(5, leader=2, epoch=1))
    assert high_watermark_regression(view(told(5, 3), told(4, 7)), later) == []
    assert len(high_watermark_regression(view(read(4, at=3), told(4, 7)), later)) == 1


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        ([container("broker-1", "die", 4)], True),
        ([container("broker-1", "die", 4), container("broker-1", "start", 6)], True),
        ([container("broker-1", "kill", 4)], False),
        ([container("broker-1", "pause", 4)], False),
        ([], False),
    ],
    ids=["dead", "started again since", "dying", "frozen", "cut off, for all we know"],
)
def test_an_old_leader_may_have_answered(events: Events, counts: bool) -> None:
    later = led(state(1), *events, state(5, leader=2, epoch=1))
    assert bool(high_watermark_regression(view(read(4, at=3), told(4, 8)), later)) == counts


@pytest.mark.parametrize("other", [state(6, leader=2, epoch=1), state(6, leader=-1, epoch=1)])
def test_who_answers_while_leaders_change_is_not_known(other: Partition) -> None:
    assert high_watermark_regression(view(read(4, at=3), told(4, 6)), led(state(1), other)) == []


def test_a_last_stable_offset_is_no_high_watermark() -> None:
    rows = [acked(4, transaction=1), read(4, at=3), told(4, 6)]
    assert high_watermark_regression(view(*rows), NOBODY_COPIED) == []
    assert len(high_watermark_regression(view(*rows, uncommitted_readers=["reader-1"]), NOBODY_COPIED)) == 1


@pytest.mark.parametrize(
    ("states", "wrong"),
    [([state(1)], 1), ([state(1, leader=2)], 0), ([state(1), state(7, epoch=1)], 0)],
    ids=["leads", "follows", "another epoch"],
)
def test_a_leaders_checkpoint_that_goes_back(tmp_path: Path, states: Events, wrong: int) -> None:
    events = [*states, moment(ARMED, 5, broker_1=2), moment(FINAL, 10, broker_1=1)]
    copies(tmp_path, {"broker-1": TWO}, events, ARMED)
    assert len(high_watermark_regression(view(), copies(tmp_path, {"broker-1": TWO}, events))) == wrong


@pytest.mark.parametrize(
    ("struck", "wrong"),
    [
        (wiped(6, node="broker-1", kind="power-loss"), 0),
        (wiped(6, "unproved", node="broker-1", kind="power-loss"), 1),
        (wiped(6, node="broker-2", kind="power-loss"), 1),
        (wiped(4, node="broker-1", kind="power-loss"), 1),
        (wiped(6, node="broker-1", kind="kill"), 1),
    ],
    ids=["its own", "unproved", "another's", "before both", "a kill takes back nothing"],
)
def test_a_checkpoint_that_a_power_loss_took_back(tmp_path: Path, struck: Events, wrong: int) -> None:
    events = [state(1), moment(ARMED, 5, broker_1=2), moment(FINAL, 10, broker_1=1), *struck]
    events.sort(key=lambda event: event.at_ns)
    copies(tmp_path, {"broker-1": TWO}, events, ARMED)
    assert len(high_watermark_regression(view(), copies(tmp_path, {"broker-1": TWO}, events))) == wrong


def test_a_checkpoint_that_rises(tmp_path: Path) -> None:
    events = [state(1), moment(ARMED, 5, broker_1=1), moment(FINAL, 10, broker_1=2)]
    copies(tmp_path, {"broker-1": TWO}, events, ARMED)
    assert high_watermark_regression(view(), copies(tmp_path, {"broker-1": TWO}, events)) == []
