"""Which losses a documented lost-write covers."""

from __future__ import annotations

from typing import Any

import pytest

from evidence.events import Checkpoint, Ends, Event, Fault, FaultPhase, Moment, Partition, Send, Target
from evidence.run_state import RunState
from evidence.spans import NEVER_NS
from judgement import losses, policy, verdict
from tests.findings import finding, findings
from tests.proofs import proof
from tests.records import run_record
from tests.unit.judgement.test_verdict import FINDINGS, PROVED, RUN
from tests.unit.timelines import at, sound

NEW: dict[str, Any] = RUN | {"processes": [one | {"expected_loss": False} for one in RUN["processes"]]}


def send(sequence: int, *, expected_loss: bool = False, partition: int = 0) -> Send:
    of: dict[str, Any] = {"process": "producer-1", "topic": "t", "partition": partition, "producer": 1, "acks": "all"}
    event = Send(**of, sequence=sequence, expected_loss=expected_loss)
    return at(sequence, event)


def lost(*sequences: int, count: int | None = None, process: str = "producer-1") -> dict[str, Any]:
    rows = [{"process": process, "producer": 1, "sequence": s, "offset": s, "completed_ns": s} for s in sequences]
    total = len(rows) if count is None else count
    return {
        "anomaly": "lost-write", "topic": "t", "partition": 0, "count": total, "summary": "lost", "evidence": rows
    }  # fmt: skip


def judged(told: dict[str, Any], *events: Event, run: dict[str, Any] = NEW) -> verdict.Verdict:
    record, whole = sound(run_record(run), (*events, *PROVED))
    return policy.judge(record, RunState(whole), findings(FINDINGS | {"findings": [told]}))


def test_the_loss_that_is_expected_is_as_documented() -> None:
    assert judged(lost(3), send(2), send(3, expected_loss=True)).verdict == verdict.AS_DOCUMENTED


@pytest.mark.parametrize(
    "told", [lost(2, 3), lost(2), lost(3, count=2), lost(3, process="producer-2")],
    ids=["another too", "another", "not all are listed", "of another client"],
)  # fmt: skip
def test_the_loss_of_any_other_record_is_unexpected(told: dict[str, Any]) -> None:
    given = judged(told, send(2), send(3, expected_loss=True))
    assert (given.verdict, given.unexpected) == (verdict.UNEXPECTED, ("lost-write",))
    assert "nothing documents this" in given.reasons[0]


def test_a_loss_is_expected_in_its_own_partition_only() -> None:
    assert judged(lost(3), send(3, expected_loss=True, partition=1)).verdict == verdict.UNEXPECTED


def test_where_no_loss_is_expected_every_loss_is_unexpected() -> None:
    assert judged(lost(3), send(3)).verdict == verdict.UNEXPECTED


def test_a_load_is_expected_to_be_lost_as_a_whole() -> None:
    processes = [*NEW["processes"], {"name": "producer-2", "kind": "producer", "expected_loss": True}]
    run = NEW | {"processes": processes, "kafka": "4.3.1"}
    assert judged(lost(1, 2, process="producer-2"), run=run).verdict == verdict.AS_DOCUMENTED
    unlisted = judged(lost(1, 2, process="producer-2", count=5000), run=run)
    assert (unlisted.verdict, "2 of 5000 lost records" in unlisted.reasons[0]) == (verdict.UNKNOWN, True)
    assert judged(lost(1), run=run).verdict == verdict.UNEXPECTED


def kill(ns: int, kind: str = "kill", node: str = "broker-1") -> Fault:
    return at(ns, Fault(fault_kind=kind, id=node, phase="inject", target=Target(node=node), description=kind))


def led(ns: int, leader: int, epoch: int, isr: tuple[int, ...] = (1, 2)) -> Partition:
    state = Partition(
        source="kraft", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr, replicas=(1, 2)
    )
    return at(ns, state)


MARKS = {"broker-1": {"t-0": Ends(leo=4, hw=3)}, "broker-2": {"t-0": Ends(hw=4)}}
COPIED = at(5, Moment(name="00-armed", nodes=MARKS, begun_ns=5))
EARLY: list[Event] = [led(0, 1, 0), kill(4), COPIED]
LATE: list[Event] = [led(0, 1, 0), COPIED, kill(6)]


@pytest.mark.parametrize("kind", ["start", "upgrade", "raise"])
def test_once_its_process_runs_again_a_broker_puts_nothing_at_stake(kind: str) -> None:
    """Whatever it was started as; what is below all high watermarks from then on is safe again."""
    second, where = losses.SECOND_NS, ("t", 0)

    def done(at_s: int, what: str, phase: FaultPhase) -> Fault:
        proved = proof(what) if phase == "verified" else None
        target = Target(node="broker-2")
        event = Fault(fault_kind=what, id=what, phase=phase, target=target, description=what, proof=proved)
        return at(at_s * second, event)

    stopped = [led(0, 1, 0), done(20, "stop", "inject"), done(21, "stop", "verified")]
    again = [*stopped, done(25, kind, "inject"), done(26, kind, "verified")]
    run = run_record(LOAD | {"kafka": "4.3.1"})
    assert losses.at_stake(run, RunState(tuple(again)), where) == [(15 * second, 31 * second)]
    assert losses.at_stake(run, RunState(tuple(stopped)), where)[-1][1] == NEVER_NS
    copied = at(40 * second, Moment(name="01-whole", nodes=MARKS, begun_ns=40 * second))
    (floor,) = losses.floors(RunState((*again, copied)), where)
    assert (floor.begin_ns, floor.end_ns) == (26 * second, NEVER_NS)


OLD = {"kafka": "0.10.2.2", "mode": "zookeeper"}
NO_POWER: list[Event] = [led(0, 1, 0), COPIED, kill(6, "power-loss"), kill(7, "power-loss", "broker-2")]


LOAD = RUN | {"processes": [{"name": "producer-1", "kind": "producer", "expected_loss": True}]}


def test_of_a_load_the_loss_of_what_every_replica_had_committed_is_never_covered() -> None:
    early = losses.undocumented(run_record(LOAD), RunState(tuple(LATE)), [finding(lost(1, 2, 3))])
    assert early == [
        "lost-write in t-0: m1 of producer-1, m2 of producer-1 lost, acknowledged and below every replica's "
        "high watermark before anything happened that can have lost them"
    ]


@pytest.mark.parametrize(
    ("events", "sequences"),
    [(LATE, (3,)), (EARLY[:2], (1, 2)), (EARLY, (1, 2)), (NO_POWER, (1, 2))],
    ids=["above", "never copied", "copied after the fault", "all in sync lost power"],
)
def test_any_other_loss_of_a_load_is_covered(events: list[Event], sequences: tuple[int, ...]) -> None:
    assert losses.undocumented(run_record(LOAD), RunState(tuple(events)), [finding(lost(*sequences))]) == []


def test_what_a_transactional_producer_is_expected_to_lose_may_be_lost_at_any_time() -> None:
    """KAFKA-14055: the log cleaner removes the record, long after it was acknowledged and with no fault."""
    named = LOAD["processes"][0] | {"settings": {"transactional.id": "first"}}
    for processes, covered in (([named], True), (LOAD["processes"], False)):
        run = run_record(RUN | {"processes": processes})
        assert (losses.undocumented(run, RunState(tuple(LATE)), [finding(lost(1))]) == []) is covered


def test_a_power_loss_that_spares_a_replica_in_sync_takes_nothing_below_its_high_watermark() -> None:
    spared = RunState(tuple(NO_POWER[:3]))
    assert len(losses.undocumented(run_record(LOAD), spared, [finding(lost(1, 2, 3))])) == 1
    run, where = run_record(LOAD | OLD), ("t", 0)
    assert losses.reach_ns(run, spared, where) == losses.FETCHED_NS + 5 * losses.SECOND_NS
    assert losses.reach_ns(run, RunState(tuple(NO_POWER)), where) == 40 * losses.SECOND_NS


def test_the_checkpoint_interval_of_the_run_is_how_far_back_a_truncation_reaches() -> None:
    run = LOAD | OLD | {"settings": {"replica.high.watermark.checkpoint.interval.ms": "1000"}}
    assert losses.reach_ns(run_record(run), RunState(tuple(LATE)), ("t", 0)) == 6 * losses.SECOND_NS
    assert losses.reach_ns(run_record(LOAD | {"kafka": "4.3.1"}), RunState(tuple(LATE)), ("t", 0)) == losses.FETCHED_NS


def checkpoint(ns: int, node: str, mark: int | None) -> Checkpoint:
    offsets = {} if mark is None else {"t-0": mark}
    return at(ns, Checkpoint(node=node, file="replication-offset-checkpoint", offsets=offsets, written_ns=None))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([led(0, 1, 0), checkpoint(4, "broker-1", 7), checkpoint(5, "broker-2", 6), kill(9)], [(0, 9, 6)]),
        ([led(0, 1, 0), checkpoint(4, "broker-1", 7), kill(9)], []),
        ([led(0, 1, 0), checkpoint(4, "broker-1", 7), checkpoint(5, "broker-2", None), kill(9)], []),
        ([led(0, 1, 0), checkpoint(4, "broker-1", 7), led(5, 2, 1), checkpoint(6, "broker-2", 6)], []),
        (
            [led(0, 1, 0), led(3, 2, 1), checkpoint(4, "broker-1", 7), checkpoint(5, "broker-2", 8), led(8, 1, 2)],
            [(3, 8, 7)],
        ),
        (
            [
                led(0, 1, 0),
                led(3, 2, 1, (2,)),
                checkpoint(4, "broker-1", 7),
                led(6, 2, 1),
                checkpoint(7, "broker-1", 9),
                checkpoint(8, "broker-2", 9),
            ],
            [(6, NEVER_NS, 9)],
        ),
        ([led(0, 1, 0), led(3, 2, 1, (2,)), checkpoint(4, "broker-1", 7), checkpoint(5, "broker-2", 8)], []),
    ],
    ids=[
        "of both",
        "of one",
        "a file without it",
        "another leader meanwhile",
        "between two changes of leader",
        "from when all are in sync again",
        "one is not in sync again",
    ],
)
def test_floors_are_where_the_files_of_all_replicas_were_read(
    events: list[Event], expected: list[tuple[int, int, int]]
) -> None:
    assert [tuple(one) for one in losses.floors(RunState(tuple(events)), ("t", 0))] == expected


@pytest.mark.parametrize(("acknowledged_ns", "is_covered"), [(5, True), (7, False)], ids=["before", "after"])
def test_what_the_old_leader_acknowledges_until_it_is_in_sync_again_is_at_stake(
    acknowledged_ns: int, is_covered: bool
) -> None:
    """leader-isolated (acks-1) on 4.3.1, 2026-11-24: the cut was healed, and for some tenths of a second the old leader
    went on to acknowledge. Later the high watermark of all replicas is beyond the offsets that it gave.
    """
    marks = {"broker-1": {"t-0": Ends(hw=9)}, "broker-2": {"t-0": Ends(hw=9)}}
    copied = at(9, Moment(name="01-final", nodes=marks, begun_ns=9))
    events = [led(0, 1, 0), led(3, 2, 1, (2,)), led(6, 2, 1), copied]
    row = {"process": "producer-1", "producer": 1, "sequence": 8, "offset": 8, "completed_ns": acknowledged_ns}
    told = lost(8) | {"evidence": [row]}
    found = losses.undocumented(run_record(LOAD), RunState(tuple(events)), [finding(told)])
    assert (found == []) is is_covered


def test_a_user_of_settings_of_his_own_who_expects_a_loss_is_not_held_to_names() -> None:
    run = NEW | {"observed": True, "expect": ["lost-write"]}
    assert judged(lost(1), send(1), run=run).verdict == verdict.OBSERVED
