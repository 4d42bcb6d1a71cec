"""What lay on the brokers' disks, held against ISR, high watermark, epoch files and acknowledgements."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from analysis.check import check_run
from analysis.read_copies import holdings, load_copies, unsent
from checks.anomalies.corrupt_record import corrupt_on_disk
from checks.anomalies.indexes import index_mismatch
from checks.anomalies.leader_epochs import epoch_disagreements, epoch_files, epochs_of_batches, two_leaders
from checks.anomalies.replicas import log_start_regression, replica_divergence, unreplicated_acknowledgement
from checks.copies import QUIET_NS, Copies
from checks.view import PartitionView, value_of
from evidence.engine import ContainerAction
from evidence.events import Container, Ends, Event, Fault, FaultPhase, Moment, Partition, Target
from evidence.faults.files import FlipProof
from evidence.history import record
from evidence.run_state import RunState
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from kafkafiles.checkpoints import EpochStart
from kafkafiles.walk import EpochRun
from tests.proofs import proof as proof_of
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, reserved, sent, view
from tests.unit.kafkafiles.encode import R, batch, message
from tests.unit.timelines import at

SECOND = 1_000_000_000
ARMED, FINAL = "00-armed", "01-final"
Contents = list[tuple[int, int] | tuple[int, int, int]]


def written(path: Path, log: Contents, *, magic: int = 2, start: int = 0, epochs: str | None = None) -> Path:
    """A replica's directory whose log holds (offset, sequence of producer 1[, leader epoch])."""
    path.mkdir(parents=True)
    content = b""
    for offset, sequence, *epoch in log:
        one = R(value=record.encode(1, 1, sequence), timestamp=1000 + sequence)
        new = batch(offset, [one], epoch=epoch[0] if epoch else 0)
        content += new if magic == 2 else message(offset, one, magic=magic)
    (path / f"{start:020}.log").write_bytes(content)
    if epochs is not None:
        (path / "leader-epoch-checkpoint").write_text(epochs)
    return path


def state(at_s: int, leader: int = 1, isr: tuple[int, ...] = (1, 2), epoch: int = 0) -> Partition:
    stated = Partition(source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr)
    return at(at_s * SECOND, stated)


def moment(name: str, at_s: int, *, begun_s: int | None = None, **high_watermarks: int) -> Moment:
    nodes = {node.replace("_", "-"): {"t-0": Ends(hw=hw)} for node, hw in high_watermarks.items()}
    begun_ns = (at_s - 1 if begun_s is None else begun_s) * SECOND
    return at(at_s * SECOND, Moment(name=name, nodes=nodes, begun_ns=begun_ns))


def container(node: str, action: ContainerAction, at_s: int) -> Container:
    return at(at_s * SECOND, Container(node=node, action=action))


SETTLED: list[Event] = [state(1), moment(FINAL, 10)]


def copies(root: Path, logs: dict[str, Contents], events: Sequence[Event], name: str = FINAL, **how: Any) -> Copies:
    """The copies of one moment, by node."""
    for node, log in logs.items():
        written(root / "replicas" / name / node / "t-0", log, **how)
    found, problems = load_copies(RunDir(root), RunState(tuple(events)), "t", 0)
    # Of other moments that the events tell of there may be copies already, or not yet.
    assert [one for one in problems if one.what != "missing copies"] == []
    return found


# replica-divergence


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_in_sync_replicas_with_different_records_at_one_offset(tmp_path: Path, magic: int) -> None:
    logs: dict[str, Contents] = {"broker-1": [(0, 0), (1, 1), (2, 2)], "broker-2": [(0, 0), (1, 9), (2, 2)]}
    (row,) = replica_divergence(copies(tmp_path, logs, SETTLED, magic=magic))
    assert (row["moment"], row["offset"], row["isr"]) == (FINAL, 1, [1, 2])
    assert [row["held"][broker]["sequence"] for broker in row["brokers"]] == [1, 9]
    assert "value" in row["fields"]


def test_replicas_that_agree(tmp_path: Path) -> None:
    logs: dict[str, Contents] = {"broker-1": [(0, 0), (1, 1)], "broker-2": [(0, 0), (1, 1)]}
    assert replica_divergence(copies(tmp_path, logs, SETTLED)) == []


def test_another_leader_epoch_is_another_record(tmp_path: Path) -> None:
    logs: dict[str, Contents] = {"broker-1": [(0, 0, 1)], "broker-2": [(0, 0, 2)]}
    (row,) = replica_divergence(copies(tmp_path, logs, SETTLED))
    assert row["fields"] == ["leader_epoch"]


def test_a_follower_that_lags_is_not_divergent(tmp_path: Path) -> None:
    assert replica_divergence(copies(tmp_path, {"broker-1": [(0, 0), (1, 1)], "broker-2": [(0, 0)]}, SETTLED)) == []


def test_a_replica_out_of_the_isr_may_hold_what_it_likes(tmp_path: Path) -> None:
    logs: dict[str, Contents] = {"broker-1": [(0, 0)], "broker-2": [(0, 5)]}
    assert replica_divergence(copies(tmp_path, logs, [state(1, isr=(1,)), moment(FINAL, 10)])) == []


def test_a_replica_that_ends_early_hides_no_difference_of_the_others(tmp_path: Path) -> None:
    logs: dict[str, Contents] = {"broker-1": [(0, 0), (1, 1)], "broker-2": [(0, 0), (1, 5)], "broker-3": [(0, 0)]}
    events = [state(1, isr=(1, 2, 3)), moment(FINAL, 10)]
    (row,) = replica_divergence(copies(tmp_path / "a", logs, events))
    assert (row["offset"], row["brokers"]) == (1, ["broker-1", "broker-2"])
    logs["broker-2"][0] = (0, 7)
    rows = replica_divergence(copies(tmp_path / "b", logs, events))
    assert [row["offset"] for row in rows] == [0, 1]


UNSETTLED: dict[str, list[Event]] = {
    "the leader has just changed": [state(9, leader=2, epoch=1), state(10, leader=2, epoch=2)],
    "a replica is frozen": [state(1), container("broker-1", "pause", 8)],
    "a replica is dead": [state(1), container("broker-1", "die", 8)],
}


@pytest.mark.parametrize("events", UNSETTLED.values(), ids=UNSETTLED)
@pytest.mark.parametrize(("offset", "divergent"), [(1, True), (2, False)], ids=["below", "at the high watermark"])
def test_what_has_not_settled_is_compared_below_the_high_watermark(
    tmp_path: Path, events: Sequence[Event], offset: int, divergent: bool
) -> None:
    logs: dict[str, Contents] = {node: [(n, n) for n in range(3)] for node in ("broker-1", "broker-2")}
    logs["broker-1"][offset] = (offset, 77)
    found = copies(tmp_path, logs, [*events, moment(FINAL, 10, broker_1=1, broker_2=2)])
    assert bool(replica_divergence(found)) == divergent


def test_quiet_begins_a_while_after_the_last_change(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0)]}, [state(5), moment(FINAL, 10)])
    assert not found.quiet(5 * SECOND + QUIET_NS - 1)
    assert found.quiet(5 * SECOND + QUIET_NS)
    assert not found.quiet(4 * SECOND)


def test_copies_of_an_untold_moment_and_an_untold_isr_are_problems(tmp_path: Path) -> None:
    for node in ("broker-1", "broker-2"):
        written(tmp_path / "replicas" / FINAL / node / "t-0", [(0, 0)])
    _, problems = load_copies(RunDir(tmp_path), RunState((state(1),)), "t", 0)
    assert [problem.what for problem in problems] == ["unknown moment"]
    _, problems = load_copies(RunDir(tmp_path), RunState((moment(FINAL, 1), state(5))), "t", 0)
    assert [problem.what for problem in problems] == ["unknown ISR"]


# two-leaders-in-one-epoch


def test_two_brokers_that_appended_under_one_epoch(tmp_path: Path) -> None:
    logs: dict[str, Contents] = {"broker-1": [(0, 0, 4)], "broker-2": [(0, 1, 4)]}
    (row,) = two_leaders(copies(tmp_path, logs, [state(1, isr=(1,)), moment(FINAL, 10)]))
    assert row["offset"] == 0


def test_different_records_of_two_epochs_have_two_leaders_by_right(tmp_path: Path) -> None:
    assert two_leaders(copies(tmp_path, {"broker-1": [(0, 0, 4)], "broker-2": [(0, 1, 5)]}, SETTLED)) == []


def test_old_formats_know_no_epochs(tmp_path: Path) -> None:
    assert two_leaders(copies(tmp_path, {"broker-1": [(0, 0)], "broker-2": [(0, 1)]}, SETTLED, magic=1)) == []


# unreplicated-acknowledgement


def acked(*sequences: int, at: int = 5, acks: int = -1) -> PartitionView:
    times: dict[str, Any] = {"invoked_ns": at * SECOND, "completed_ns": at * SECOND + 1}
    return view(*(sent(n, n, acks=acks, **times) for n in sequences))


def test_acknowledged_and_missing_from_an_in_sync_replica(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0), (1, 1)], "broker-2": [(0, 0)]}, SETTLED)
    (row,) = unreplicated_acknowledgement(found, acked(0, 1))
    assert (row["sequence"], row["missing_from"], row["log_ends"]) == (1, ["broker-2"], {"broker-2": 1})
    assert row["in_isr_throughout"] == [1, 2]


def test_acknowledged_and_on_every_in_sync_replica(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0)], "broker-2": [(0, 0)]}, SETTLED)
    assert unreplicated_acknowledgement(found, acked(0)) == []


@pytest.mark.parametrize(
    "events",
    [
        [state(1, isr=(1,))],
        [state(1), state(7, isr=(1,)), state(8)],
        [state(1, isr=(1,)), state(6)],
        [state(6)],
    ],
    ids=["never in it", "left and came back", "joined later", "nothing stated before the send"],
)
def test_a_replica_that_was_not_in_the_isr_throughout_owes_nothing(tmp_path: Path, events: Sequence[Event]) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0)], "broker-2": []}, [*events, moment(FINAL, 10)])
    assert unreplicated_acknowledgement(found, acked(0)) == []


def test_what_is_acknowledged_by_the_leader_alone_or_later_is_not_owed(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0)], "broker-2": []}, SETTLED)
    assert unreplicated_acknowledgement(found, acked(0, acks=1)) == []
    assert unreplicated_acknowledgement(found, acked(0, at=11)) == []


@pytest.mark.parametrize(("begun_s", "owed"), [(7, 1), (4, 0)])
def test_what_is_acknowledged_while_copies_are_taken_is_not_owed(tmp_path: Path, begun_s: int, owed: int) -> None:
    events = [state(1), moment(FINAL, 10, begun_s=begun_s)]
    found = copies(tmp_path, {"broker-1": [(0, 0)], "broker-2": []}, events)
    assert len(unreplicated_acknowledgement(found, acked(0))) == owed


def test_a_record_nobody_can_read_the_identity_of_may_be_the_one(tmp_path: Path) -> None:
    directory = tmp_path / "replicas" / FINAL / "broker-2" / "t-0"
    directory.mkdir(parents=True)
    (directory / f"{0:020}.log").write_bytes(batch(0, [R(value=b"someone else's")]))
    assert unreplicated_acknowledgement(copies(tmp_path, {"broker-1": [(0, 0)]}, SETTLED), acked(0)) == []


# corrupt-record, index-mismatch, log-start-regression


# Records that no history has the sending of


def test_a_record_on_a_disk_that_no_history_has(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0), (1, 1)], "broker-2": [(0, 0), (1, 1)]}, SETTLED)
    assert unsent(acked(0, 1), found) == []
    (problem,) = unsent(acked(0), found)
    assert (problem.what, problem.file) == ("incomplete history", "history/*")
    assert "m1 of producer 1 at t-0@1" in problem.detail


@pytest.mark.parametrize(
    "known",
    [
        view(sent(0, 0), reserved(0, 2)),
        view(sent(0, 0), writers_missing=True),
        view(sent(0, 0), sent(1, None, outcome="info")),
    ],
    ids=["reserved", "a writer is missing", "of unknown outcome"],
)
def test_a_record_on_a_disk_that_may_have_been_sent(tmp_path: Path, known: PartitionView) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0), (1, 1)]}, SETTLED)
    assert unsent(known, found) == []


def test_a_send_that_screening_left_out_is_one(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0), (1, 1)]}, SETTLED)
    assert unsent(acked(0), found, acked(1).sends.value) == []


def damage(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_checksum_that_does_not_fit(tmp_path: Path, magic: int) -> None:
    directory = written(tmp_path / "replicas" / FINAL / "broker-1" / "t-0", [(0, 0), (1, 1)], magic=magic)
    (log,) = directory.glob("*.log")
    damage(log, log.stat().st_size // 2 - 1)
    found, problems = load_copies(RunDir(tmp_path), RunState(tuple(SETTLED)), "t", 0)
    (row,) = corrupt_on_disk(found)
    assert (row["node"], row["position"], row["kind"]) == ("broker-1", 0, "checksum")
    assert [problem.what for problem in problems] == ["unreadable replica"]


def flip(position: int, phase: FaultPhase = "verified", file: str = f"t-0/{0:020}.log", at_s: int = 5) -> list[Event]:
    """A bit flipped in a copy's file."""
    proof = proof_of("flip", file=file, position=position, bytes=10_000)
    phases: list[FaultPhase] = ["inject", phase]
    node = Target(node="broker-1")
    return [
        at(
            at_s * SECOND,
            Fault(
                fault_kind="flip",
                id="f1",
                phase=one,
                target=node,
                description="a bit",
                proof=proof if one == "verified" else None,
            ),
        )
        for one in phases
    ]


def struck(root: Path, node: str = "broker-1", *, other: str = "broker-2") -> int:
    """Copies of two replicas, one with damage in its second record; where that is."""
    for name in (node, other):
        written(root / "replicas" / FINAL / name / "t-0", [(0, 0), (1, 1), (2, 2)])
    log = root / "replicas" / FINAL / node / "t-0" / f"{0:020}.log"
    position = log.stat().st_size * 2 // 3 - 10
    damage(log, position)
    return position


@pytest.mark.parametrize("node", ["broker-1", "broker-2"], ids=["where it was flipped", "where it has spread to"])
def test_damage_by_a_fault_of_the_run_leaves_the_rest_of_the_copy_a_witness(tmp_path: Path, node: str) -> None:
    position = struck(tmp_path, node, other="broker-1" if node == "broker-2" else "broker-2")
    found, problems = load_copies(RunDir(tmp_path), RunState((*SETTLED[:1], *flip(position), *SETTLED[1:])), "t", 0)
    assert problems == []
    assert [(row["node"], row["kind"]) for row in corrupt_on_disk(found)] == [(node, "checksum")]
    assert [row["offset"] for row in replica_divergence(found)] == [1]
    assert two_leaders(found) == []
    assert (
        unreplicated_acknowledgement(
            found, view(*(sent(n, n, invoked_ns=3 * SECOND, completed_ns=4 * SECOND) for n in range(3)))
        )
        == []
    )


@pytest.mark.parametrize(
    "events",
    [
        flip(3),
        flip(0, "unproved"),
        flip(0, file=f"t-0/{7:020}.log"),
        flip(0, file=f"u-0/{0:020}.log"),
        flip(0, at_s=20),
        [],
    ],
    ids=["elsewhere", "unproved", "another segment", "another partition", "later", "no fault"],
)
def test_any_other_damage_makes_a_copy_unreadable(tmp_path: Path, events: list[Event]) -> None:
    position = struck(tmp_path)
    moved = [
        msgspec.structs.replace(one, proof=msgspec.structs.replace(one.proof, position=position))
        if isinstance(one, Fault) and isinstance(one.proof, FlipProof) and one.proof.position == 0
        else one
        for one in events
    ]
    run_state = RunState(tuple(sorted([*SETTLED, *moved], key=lambda event: event.at_ns)))
    _, problems = load_copies(RunDir(tmp_path), run_state, "t", 0)
    assert [problem.what for problem in problems] == ["unreadable replica"]


def test_an_index_whose_positions_go_back_is_a_finding(tmp_path: Path) -> None:
    directory = written(tmp_path / "replicas" / FINAL / "broker-1" / "t-0", [(0, 0), (1, 1)])
    (directory / f"{2:020}.log").write_bytes(b"")
    (directory / f"{0:020}.index").write_bytes(struct.pack(">IiIi", 1, 1 << 30, 2, 80))
    found, _ = load_copies(RunDir(tmp_path), RunState(tuple(SETTLED)), "t", 0)
    (row,) = index_mismatch(found)
    assert (row["node"], row["file"]) == ("broker-1", f"{0:020}.index")


@pytest.mark.parametrize(("actions", "corrupt"), [(["die"], False), (["die", "start"], True)], ids=["dead", "live"])
def test_the_end_of_a_dead_brokers_log_may_be_torn(
    tmp_path: Path, actions: list[ContainerAction], corrupt: bool
) -> None:
    directory = written(tmp_path / "replicas" / FINAL / "broker-1" / "t-0", [(0, 0), (1, 1)])
    (log,) = directory.glob("*.log")
    damage(log, log.stat().st_size - 1)
    events = [state(1), *(container("broker-1", action, 5) for action in actions), moment(FINAL, 10)]
    assert bool(corrupt_on_disk(load_copies(RunDir(tmp_path), RunState(tuple(events)), "t", 0)[0])) == corrupt
    log.write_bytes(log.read_bytes()[:-3])
    assert corrupt_on_disk(load_copies(RunDir(tmp_path), RunState(tuple(events)), "t", 0)[0]) == []


def test_an_index_that_points_beside_a_batch(tmp_path: Path) -> None:
    directory = written(tmp_path / "replicas" / FINAL / "broker-1" / "t-0", [(0, 0), (1, 1)])
    (directory / f"{2:020}.log").write_bytes(b"")
    size = (directory / f"{0:020}.log").stat().st_size // 2
    index = directory / f"{0:020}.index"
    for position, wrong in ((size, 0), (size + 1, 1)):
        index.write_bytes((1).to_bytes(4, "big") + position.to_bytes(4, "big"))
        assert len(index_mismatch(load_copies(RunDir(tmp_path), RunState(tuple(SETTLED)), "t", 0)[0])) == wrong


def test_a_log_whose_start_goes_back(tmp_path: Path) -> None:
    events = [state(1), moment(ARMED, 5), moment(FINAL, 10)]
    copies(tmp_path, {"broker-1": [(5, 5)], "broker-2": [(0, 0)]}, [*events], ARMED, start=0)
    (tmp_path / "replicas" / ARMED / "broker-1" / "t-0" / f"{0:020}.log").rename(
        tmp_path / "replicas" / ARMED / "broker-1" / "t-0" / f"{5:020}.log"
    )
    found = copies(tmp_path, {"broker-1": [(0, 0)], "broker-2": [(0, 0)]}, events)
    (row,) = log_start_regression(found)
    assert (row["node"], row["start_offset"], row["before"]["start_offset"]) == ("broker-1", 0, 5)


# leader-epoch-regression, as far as files tell


def entries(*pairs: tuple[int, int]) -> list[EpochStart]:
    return [EpochStart(epoch=epoch, start_offset=offset) for epoch, offset in pairs]


def columns(*batches: tuple[int, int]) -> tuple[Any, Any]:
    return np.array([b[0] for b in batches], np.int64), np.array([b[1] for b in batches], np.int64)


BATCHES = columns((0, 0), (3, 0), (4, 2))


def test_an_epoch_file_that_its_log_bears_out() -> None:
    assert epoch_disagreements(entries((0, 0), (2, 4)), *BATCHES) == []
    assert epoch_disagreements(entries((0, 0), (1, 4), (2, 4), (5, 9)), *BATCHES) == []
    assert epoch_disagreements([], *columns()) == []


@pytest.mark.parametrize(
    ("pairs", "offset", "of_file"), [([(0, 0), (2, 3)], 3, 2), ([(0, 0), (1, 4)], 4, 1), ([(2, 4)], 0, None)]
)
def test_an_epoch_file_that_gives_a_batch_another_epoch(
    pairs: list[tuple[int, int]], offset: int, of_file: int | None
) -> None:
    rows = epoch_disagreements(entries(*pairs), *BATCHES)
    assert (rows[0]["offset"], rows[0]["file_epoch"]) == (offset, of_file)


@pytest.mark.parametrize("pairs", [[(1, 0), (0, 4)], [(0, 4), (1, 0)], [(1, 0), (1, 4)]])
def test_an_epoch_file_that_goes_back(pairs: list[tuple[int, int]]) -> None:
    assert epoch_disagreements(entries(*pairs), *columns())[0]["what"] == "the epoch file goes back"


def test_a_log_whose_epochs_go_back() -> None:
    rows = epoch_disagreements(entries((0, 0)), *columns((0, 0), (1, 3), (2, 1)), settled=False)
    assert [(row["offset"], row["epochs"]) for row in rows] == [(2, [3, 1])]


def test_the_file_of_a_broker_that_has_not_settled_may_lag_behind() -> None:
    assert epoch_disagreements(entries((0, 0)), *BATCHES, settled=False) == []
    assert len(epoch_disagreements(entries((0, 0)), *BATCHES)) == 1
    assert epoch_disagreements([], *BATCHES, settled=False) == []
    assert len(epoch_disagreements([], *BATCHES)) == 1


def test_epoch_files_are_read_beside_the_log(tmp_path: Path) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0, 0), (1, 1, 3)]}, SETTLED, epochs="0\n2\n0 0\n3 0\n")
    (row,) = epoch_files(found)
    assert (row["node"], row["offset"], row["file_epoch"]) == ("broker-1", 0, 3)


@pytest.mark.parametrize(("start", "rows"), [("t 0 2", 0), ("t 0 1", 1), ("u 0 2", 1), ("torn", 1)])
def test_what_is_before_the_checkpointed_log_start_is_not_the_log(tmp_path: Path, start: str, rows: int) -> None:
    found = copies(tmp_path, {"broker-1": [(0, 0, 0), (1, 1, 0)]}, SETTLED, epochs="0\n1\n0 2\n")
    (one,) = found.copies
    (one.replica.path.parent / "log-start-offset-checkpoint").write_text(f"0\n1\n{start}\n")
    assert len(epoch_files(found)) == rows


# together


def test_where_a_record_lay_at_each_moment(tmp_path: Path) -> None:
    events = [state(1), moment(ARMED, 5), moment(FINAL, 10)]
    copies(tmp_path, {"broker-1": [(0, 0), (1, 1)], "broker-2": [(0, 0)]}, events, ARMED)
    found = copies(tmp_path, {"broker-1": [(0, 0), (1, 2)]}, events)
    value = int(value_of(np.array([1]), np.array([1]))[0])
    assert holdings(found, [value]) == {value: {ARMED: {"broker-1": 1, "broker-2": None}, FINAL: {"broker-1": None}}}


def test_a_lost_write_tells_on_which_disks_it_lay(tmp_path: Path) -> None:
    histories = {"producer-1": [sent(0, 0), sent(1, 1)], "final-read-1": [polled(0, 0), final_read(1)]}
    run_dir = make_run(tmp_path / "run", histories)
    written(run_dir.moment(ARMED) / "broker-1" / "t-0", [(0, 0), (1, 1)])
    written(run_dir.moment(ARMED) / "broker-2" / "t-0", [(0, 0)])
    with Timeline(run_dir.timeline) as timeline:
        timeline.append(Moment(name=ARMED, begun_ns=1))
    (finding,) = [one for one in check_run(run_dir).findings if one.anomaly == "lost-write"]
    assert finding.evidence[0].holdings == {ARMED: {"broker-1": 1, "broker-2": None}}


RUNS = [(0, 0, 4), (1, 5, 9), (2, 10, 12)]


def batches_from(deleted_before: int, *stated: tuple[int, int]) -> list[tuple[int, int]]:
    replica: Any = SimpleNamespace(epoch_runs=[EpochRun(epoch=e, first_offset=a, last_offset=b) for e, a, b in RUNS])
    return list(
        zip(*(one.tolist() for one in epochs_of_batches(replica, entries(*stated), deleted_before)), strict=True)
    )


def test_the_epochs_of_what_was_deleted_by_request_are_no_part_of_the_log() -> None:
    whole = ((0, 0), (1, 5), (2, 10))
    assert batches_from(0, *whole) == [(0, 0), (5, 1), (10, 2)]
    # From the middle of a batch on, whose first records are still on the disk.
    assert batches_from(7, (1, 7), (2, 10)) == [(7, 1), (10, 2)]
    assert batches_from(13, (2, 13)) == []
    assert batches_from(7, (1, 8), (2, 10)) == [(7, 1), (8, 1), (10, 2)]
