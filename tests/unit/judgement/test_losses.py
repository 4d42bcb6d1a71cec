"""Which losses a documented lost-write covers."""

from __future__ import annotations

from typing import Any

import pytest

from evidence.events import Ends, Event, Fault, Moment, Send, Target
from evidence.run_state import RunState
from evidence.rundir import DOOMED
from judgement import losses, policy, verdict
from tests.findings import finding, findings
from tests.records import run_record
from tests.unit.judgement.test_verdict import FINDINGS, PROVED, RUN
from tests.unit.timelines import at

NEW: dict[str, Any] = RUN | {"evidence": [DOOMED]}


def send(sequence: int, *, doomed: bool = False, partition: int = 0) -> Send:
    event = Send(
        process="producer-1", topic="t", partition=partition, producer=1, sequence=sequence, acks="all", doomed=doomed
    )
    return at(sequence, event)


def lost(*sequences: int, count: int | None = None, process: str = "producer-1") -> dict[str, Any]:
    rows = [{"process": process, "producer": 1, "sequence": s, "offset": s, "completed_ns": s} for s in sequences]
    total = len(rows) if count is None else count
    return {
        "anomaly": "lost-write", "topic": "t", "partition": 0, "count": total, "summary": "lost", "evidence": rows
    }  # fmt: skip


def judged(told: dict[str, Any], *events: Event, run: dict[str, Any] = NEW) -> verdict.Verdict:
    return policy.judge(run_record(run), RunState((*events, *PROVED)), findings(FINDINGS | {"findings": [told]}))


def test_the_loss_of_the_doomed_is_as_documented() -> None:
    assert judged(lost(3), send(2), send(3, doomed=True)).verdict == verdict.AS_DOCUMENTED


@pytest.mark.parametrize(
    "told", [lost(2, 3), lost(2), lost(3, count=2), lost(3, process="producer-2")],
    ids=["another too", "another", "not all are listed", "of another client"],
)  # fmt: skip
def test_the_loss_of_any_other_record_is_unexpected(told: dict[str, Any]) -> None:
    given = judged(told, send(2), send(3, doomed=True))
    assert (given.verdict, given.unexpected) == (verdict.UNEXPECTED, ("lost-write",))
    assert "nothing documents this" in given.reasons[0]


def test_a_record_is_doomed_in_its_own_partition_only() -> None:
    assert judged(lost(3), send(3, doomed=True, partition=1)).verdict == verdict.UNEXPECTED


def test_where_nothing_is_doomed_every_loss_is_unexpected() -> None:
    assert judged(lost(3), send(3)).verdict == verdict.UNEXPECTED


def test_a_load_is_doomed_as_a_whole() -> None:
    processes = [*RUN["processes"], {"name": "producer-2", "kind": "producer", "doomed": True}]
    run = NEW | {"processes": processes, "kafka": "4.3.1"}
    assert judged(lost(1, 2, process="producer-2"), run=run).verdict == verdict.AS_DOCUMENTED
    unlisted = judged(lost(1, 2, process="producer-2", count=5000), run=run)
    assert (unlisted.verdict, "2 of 5000 lost records" in unlisted.reasons[0]) == (verdict.UNKNOWN, True)
    assert judged(lost(1), run=run).verdict == verdict.UNEXPECTED


def kill(ns: int) -> Fault:
    return at(ns, Fault(fault_kind="kill", id="f1", phase="inject", target=Target(node="broker-1"), description="kill"))


OLD: list[Event] = [
    kill(4),
    at(5, Moment(name="00-armed", nodes={"broker-1": {"t-0": Ends(leo=4, hw=3)}, "broker-2": {"t-0": Ends(hw=4)}})),
]


def test_of_a_run_made_before_the_loss_of_what_every_replica_had_committed_is_unexpected() -> None:
    early = losses.undocumented(run_record(RUN), RunState(tuple(OLD)), [finding(lost(1, 2, 3))])
    assert early == [
        "lost-write in t-0: m1 of producer-1, m2 of producer-1 lost, acknowledged before the first fault and below "
        "every replica's high watermark"
    ]


@pytest.mark.parametrize("events", [OLD, OLD[:1], [kill(0), OLD[1]]], ids=["above", "never copied", "after the fault"])
def test_of_a_run_made_before_any_other_loss_is_as_it_was(events: list[Event]) -> None:
    told = lost(3) if events is OLD else lost(1, 2)
    assert losses.undocumented(run_record(RUN), RunState(tuple(events)), [finding(told)]) == []


def test_a_user_of_settings_of_his_own_who_expects_a_loss_is_not_held_to_names() -> None:
    run = NEW | {"observed": True, "expect": ["lost-write"]}
    assert judged(lost(1), send(1), run=run).verdict == verdict.OBSERVED
