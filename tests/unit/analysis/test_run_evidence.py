"""The evidence that claims are judged by, from the histories of a run."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from analysis.run_evidence import evidence_of
from checks.claim import Result
from evidence.events import OffsetAnswer
from evidence.run_state import RunState
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, sent
from tests.unit.checks.test_state_stores import counted
from tests.unit.checks.test_transactions import output
from tests.unit.timelines import at


def test_what_an_idempotent_producer_sends_beside_a_load_is_told_apart(tmp_path: Path) -> None:
    run_dir = make_run(
        tmp_path / "run",
        {
            "producer-1": [sent(0, 0), sent(1, 2)],
            "producer-2": [sent(0, 1, producer=2)],
        },
    )
    run = run_dir.read_run()
    load, beside = run.processes
    marked = replace(run, processes=(load, replace(beside, beside=True)))
    evidence = evidence_of(run_dir, marked, RunState(()))
    assert (len(evidence.acknowledged("t", 0)), len(evidence.acknowledged_in_all("t", 0))) == (2, 3)
    assert evidence_of(run_dir, run, RunState(())).acknowledged("t", 0) == evidence.acknowledged_in_all("t", 0)


def test_what_failed_is_told_apart_from_what_was_acknowledged(tmp_path: Path) -> None:
    rows = [sent(0, 0), sent(1, None, outcome="failed"), sent(2, None, outcome="unknown")]
    run_dir = make_run(tmp_path / "run", {"producer-1": rows})
    evidence = evidence_of(run_dir, run_dir.read_run(), RunState(()))
    assert (len(evidence.acknowledged("t", 0)), len(evidence.failed("t", 0))) == (1, 2)
    beside = replace(run_dir.read_run().processes[0], beside=True)
    marked = replace(run_dir.read_run(), processes=(beside,))
    assert evidence_of(run_dir, marked, RunState(())).failed("t", 0) == []
    assert evidence.failed("u", 0) == []


def test_results_are_told_with_what_they_count(tmp_path: Path) -> None:
    reader = "final-read-1"
    read = {"kind": "output", "outcome": "ok", "topic": None, "partition": None, "process": reader}
    rows = [
        *(polled(offset, offset) | {"process": reader} for offset in (0, 1)),
        final_read(2),
        output(0, 0) | {"count": 77},
        *counted(0, 0),
        output(1, 1) | {"count": 77},
        *counted(1, 0, 1, 1),
        output(1, 2),
        read,
    ]
    run_dir = make_run(tmp_path / "run", {reader: rows})
    seen = evidence_of(run_dir, run_dir.read_run(), RunState(())).processing("t", 0)
    assert seen is not None
    assert seen.results == [
        Result(key=77, offset=0, counted=[0]),
        Result(key=77, offset=1, counted=[0, 1, 1]),
    ]
    assert seen.counted_again == {1}
    assert seen.outputs == {0: [9], 1: [9, 9]}


def test_inputs_that_a_run_had_no_time_for_are_not_skipped(tmp_path: Path) -> None:
    reader = "final-read-1"
    read = {"kind": "output", "outcome": "ok", "topic": None, "partition": None, "process": reader}
    inputs = [polled(offset, offset) | {"process": reader} for offset in range(4)]
    run_dir = make_run(tmp_path / "run", {reader: [*inputs, final_read(4), output(0, 0), output(3, 1), read]})
    run = run_dir.read_run()
    answer = OffsetAnswer(group="g", topic="t", partition=0, offset=2, error=None, asked_ns=0)
    state = RunState((at(1, answer),))
    ended, broken_off = (
        evidence_of(run_dir, replace(run, failure=failure), state).processing("t", 0)
        for failure in (None, "WaitTimeout: it has not committed 4")
    )
    assert ended is not None
    assert broken_off is not None
    assert (ended.skipped, broken_off.skipped) == (frozenset({1, 2}), frozenset({1}))
    assert (ended.repeated, broken_off.repeated) == (frozenset(), frozenset())


def test_what_a_reader_meanwhile_was_given_is_told_by_the_inputs_of_the_outputs(tmp_path: Path) -> None:
    """Outputs in the order of their log, those that the last reader does not find as None; of readers of what is
    committed alone.
    """
    last = [polled(offset, offset) for offset in (0, 1)]
    outputs = [output(1, 7), output(0, 8), {"kind": "output", "outcome": "ok", "topic": None, "partition": None}]
    read = [polled(at, sequence, producer=9) | {"topic": "output"} for at, sequence in ((0, 7), (1, 8), (2, 9))]
    run_dir = make_run(
        tmp_path / "run",
        {"final-read-1": [*last, final_read(2), *outputs], "consumer-1": read, "consumer-2": read, "processor-1": []},
    )
    run = run_dir.read_run()
    final, meanwhile, uncommitted, processor = run.processes
    processes = (
        final,
        replace(meanwhile, kind="consumer", settings={"isolation.level": "read_committed"}),
        replace(uncommitted, kind="consumer"),
        replace(processor, kind="processor", output="output"),
    )
    topics = (*run.topics, replace(run.topics[0], name="output"))
    evidence = evidence_of(run_dir, replace(run, processes=processes, topics=topics), RunState(()))
    assert evidence.read_meanwhile("t", 0) == {"consumer-1": [1, 0, None]}
    seen = evidence.processing("t", 0)
    assert seen is not None
    assert seen.order == [1, 0]
