"""Claims about the files of offsets, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import (
    Acked,
    Broker,
    Checkpoint,
    Container,
    Ends,
    Event,
    Failed,
    Fault,
    FaultPhase,
    Log,
    Moment,
    Partition,
    Send,
    Target,
)
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

SECOND = 1_000_000_000
RUN: dict[str, Any] = {"kafka": "2.8.2", "settings": {}}
HIGH_WATERMARKS, RECOVERY_POINTS = "replication-offset-checkpoint", "recovery-point-offset-checkpoint"
Timed = tuple[float, Event]


def judged(name: str, *events: Timed) -> ClaimResult:
    """The claim on these events, each at its second."""
    timed = tuple(at(int(second * 1000) * 1_000_000, event) for second, event in events)
    return claims.judge(name, RunEvidence(run=run_record(RUN), run_state=RunState(timed)))


def fault(kind: str, phase: FaultPhase = "inject", **proof: Any) -> Fault:
    target = Target(node="broker-1")
    return Fault(
        fault_kind=kind,
        id=kind,
        phase=phase,
        target=target,
        description=kind,
        proof=proof_of(kind, **proof) if phase == "verified" else None,
    )


def checkpoint(file: str, offset: int | None, written_s: float = 1, before_s: float | None = None) -> Checkpoint:
    return Checkpoint(
        node="broker-1",
        file=file,
        offsets=None if offset is None else {"t-0": offset},
        written_ns=int(written_s * SECOND),
        before_ns=None if before_s is None else int(before_s * SECOND),
    )


def moment(leo: int, hw: int | None) -> Moment:
    return Moment(name="00-ended", nodes={"broker-1": {"t-0": Ends(leo=leo, hw=hw)}}, begun_ns=0)


@pytest.mark.parametrize(
    ("written_s", "before_s", "outcome"), [(6, 1, HELD), (10.1, 1, CONTRADICTED), (6, None, NOT_OBSERVED)]
)
def test_high_watermarks_are_written_at_an_interval(written_s: float, before_s: float | None, outcome: str) -> None:
    found = judged("high-watermarks-checkpointed-in-time", (9, checkpoint(HIGH_WATERMARKS, 3, written_s, before_s)))
    assert (found.outcome, found.bound_ms) == (outcome, None if before_s is None else 9000)


@pytest.mark.parametrize(
    ("high_watermark", "recovery_point", "outcome"),
    [(6, 6, HELD), (3, 6, CONTRADICTED), (6, 0, CONTRADICTED), (6, None, CONTRADICTED)],
    ids=["both at the end", "high watermark behind", "recovery point behind", "no recovery points"],
)
def test_a_clean_stop_writes_both(high_watermark: int, recovery_point: int | None, outcome: str) -> None:
    files = [(4, checkpoint(HIGH_WATERMARKS, high_watermark)), (4.1, checkpoint(RECOVERY_POINTS, recovery_point))]
    found = judged("clean-stop-writes-checkpoints", (2, fault("stop")), (3, moment(6, 6)), *files, (5, fault("start")))
    assert found.outcome == outcome


def test_files_of_a_broker_that_runs_again_are_not_those_of_its_stop() -> None:
    events: list[Timed] = [(2, fault("stop")), (3, moment(6, 6)), (4, fault("start"))]
    found = judged("clean-stop-writes-checkpoints", *events, (5, checkpoint(HIGH_WATERMARKS, 3)))
    assert found.outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("acked_s", "high_watermark", "outcome"),
    [(9, 3, HELD), (1, 3, CONTRADICTED), (9, 4, NOT_OBSERVED)],
    ids=["in the last interval", "long before", "nothing is lacking"],
)
def test_a_killed_leaders_high_watermark_is_recent(acked_s: float, high_watermark: int, outcome: str) -> None:
    about: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "sequence": 3, "acks": "all"}
    leads = Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2))
    found = judged(
        "killed-high-watermark-is-recent",
        (0.5, leads),
        (0.5, Container(node="broker-1", action="start")),
        (acked_s - 0.1, Send(**about)),
        (acked_s, Acked(**about, outcome="ok", offset=3)),
        (10, fault("kill")),
        (10.1, Container(node="broker-1", action="die", exit_code=137)),
        (11, moment(4, high_watermark)),
    )
    assert (found.outcome, found.measured_ms) == (
        outcome,
        None if outcome == NOT_OBSERVED else round((10.1 - acked_s) * 1000),
    )


def cut(offset: int) -> Log:
    return Log(node="broker-1", event="truncate", topic="t", partition=0, offset=offset, line="")


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([(3, moment(3, None)), (4, fault("start")), (5, cut(0)), (6, cut(2))], HELD),
        ([(3, moment(3, None)), (4, fault("start")), (5, cut(2))], CONTRADICTED),
        ([(3, moment(3, None)), (4, fault("start"))], CONTRADICTED),
        ([(3, moment(3, 3)), (4, fault("start")), (5, cut(0))], NOT_OBSERVED),
        ([(3, moment(3, None))], NOT_OBSERVED),
    ],
    ids=["to 0", "not to 0", "not at all", "the file is there", "not started"],
)
def test_without_a_high_watermark_all_is_truncated(events: list[Timed], outcome: str) -> None:
    assert judged("missing-high-watermark-truncates-all", (2, fault("remove")), *events).outcome == outcome


def cut_file(file: str = f"kafka/{HIGH_WATERMARKS}", size: int = 4) -> list[Timed]:
    """A file that was cut while its broker was down, and the broker's start."""
    begun, proved = fault("resize"), fault("resize", "verified", file=file, bytes_before=10, bytes=size)
    return [(1, state(2, 1, 2)), (2, begun), (2.1, proved), (3, fault("start")), (3.1, fault("start", "verified"))]


def flipped() -> list[Timed]:
    """The same with one bit that is another."""
    file = f"kafka/{HIGH_WATERMARKS}"
    return [
        (
            at,
            fault("flip", one.phase, file=file) if isinstance(one, Fault) and one.fault_kind == "resize" else one,
        )
        for at, one in cut_file()
    ]


def state(leader: int, *isr: int) -> Partition:
    return Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=0, isr=isr)


REGISTERED = Broker(source="kraft", node="broker-1", state="unfenced")
KILLED: Timed = (9, fault("kill"))
OUT: Timed = (2.5, state(2, 2))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*cut_file(), OUT, (4, REGISTERED), (5, moment(3, None)), KILLED], HELD),
        ([*cut_file(), (4, REGISTERED), (5, moment(3, None)), KILLED], CONTRADICTED),
        ([*flipped(), OUT, (4, REGISTERED), (5, moment(3, None)), KILLED], HELD),
        ([*flipped(), (4, REGISTERED), (5, moment(3, None)), KILLED], CONTRADICTED),
        ([*cut_file(), OUT, (5, moment(3, None)), KILLED], CONTRADICTED),
        ([*cut_file(), OUT, (4, REGISTERED), (10, moment(3, None)), KILLED], NOT_OBSERVED),
        ([*cut_file("t-0/0.log"), OUT, (4, REGISTERED), (5, moment(3, None)), KILLED], NOT_OBSERVED),
    ],
    ids=[
        "out",
        "in the ISR",
        "another bit",
        "another bit, in the ISR",
        "not registered",
        "nobody looked in time",
        "another file",
    ],
)
def test_a_file_that_was_cut_keeps_a_replica_out(events: list[Timed], outcome: str) -> None:
    ordered = sorted(events, key=lambda event: event[0])
    assert judged("unreadable-checkpoint-keeps-replica-out", *ordered).outcome == outcome


def sent(second: float, *, acknowledged: bool) -> list[Timed]:
    """A record that is sent then, and what comes of it."""
    about: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "sequence": 3, "acks": "all"}
    answer: Event = Acked(**about, outcome="ok", offset=3) if acknowledged else Failed(**about, outcome="fail")
    return [(second, Send(**about)), (second + 0.1, answer)]


LEADS: Timed = (4.1, state(1, 1))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*flipped(), (4, REGISTERED), LEADS, *sent(5, acknowledged=False), KILLED], HELD),
        ([*flipped(), (4, REGISTERED), LEADS, *sent(5, acknowledged=True), KILLED], CONTRADICTED),
        ([*flipped(), LEADS, *sent(5, acknowledged=False), KILLED], CONTRADICTED),
        ([*flipped(), (4, REGISTERED), OUT, *sent(5, acknowledged=False), KILLED], NOT_OBSERVED),
        ([*flipped(), (4, REGISTERED), LEADS, KILLED, *sent(10, acknowledged=False)], NOT_OBSERVED),
    ],
    ids=["it refuses", "it acknowledges", "it is not registered", "another leads", "it is dead"],
)
def test_a_leader_with_a_letter_in_its_file_refuses(events: list[Timed], outcome: str) -> None:
    ordered = sorted(events, key=lambda event: event[0])
    assert judged("unreadable-checkpoint-makes-leader-refuse", *ordered).outcome == outcome


@pytest.mark.parametrize(("size", "outcome"), [(0, HELD), (4, NOT_OBSERVED)], ids=["empty", "cut"])
def test_an_empty_file_has_no_high_watermark(size: int, outcome: str) -> None:
    line = Log(node="broker-1", event="truncate", topic="t", partition=0, offset=0, line="Truncating")
    events = [*cut_file(size=size), (2.5, moment(3, None)), (4, line)]
    ordered = sorted(events, key=lambda event: event[0])
    assert judged("missing-high-watermark-truncates-all", *ordered).outcome == outcome


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([(5, checkpoint(HIGH_WATERMARKS, 3)), (6, moment(3, 3))], HELD),
        ([(5, checkpoint(HIGH_WATERMARKS, 99)), (6, moment(3, 3))], CONTRADICTED),
        ([(5, checkpoint(RECOVERY_POINTS, 99)), (6, moment(3, 3))], NOT_OBSERVED),
        ([(2.5, checkpoint(HIGH_WATERMARKS, 99)), (6, moment(3, 3))], NOT_OBSERVED),
        ([(5, checkpoint(HIGH_WATERMARKS, 3))], NOT_OBSERVED),
    ],
    ids=["within the log again", "beyond the log", "another file", "before the broker started", "never copied"],
)
def test_an_offset_beyond_the_log_is_not_believed(events: list[Timed], outcome: str) -> None:
    wrong = {"file": HIGH_WATERMARKS, "replica": "t-0", "offset_before": 3, "offset": 99}
    struck: list[Timed] = [(2, fault("overwrite")), (2.1, fault("overwrite", "verified", **wrong)), (3, fault("start"))]
    ordered = sorted([*struck, *events], key=lambda event: event[0])
    assert judged("wrong-checkpoint-is-bounded", *ordered).outcome == outcome
