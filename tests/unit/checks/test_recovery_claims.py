"""Claims about what a broker reads of its logs when it starts, on histories that show them, contradict them, or
neither.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from checks.claims.storage.recovery import RECOVERY_POINTS
from evidence.events import Broker, Checkpoint, Event, Fault, FaultPhase, Log, Moment, Note, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

SECOND = 1_000_000_000
Timed = tuple[float, Event]
BEGINS, NOTHING = "recovery-begins-at-recovery-point", "clean-stop-recovers-nothing"


def fault(kind: str, at_s: float, node: str = "broker-1") -> list[Timed]:
    phases: list[tuple[float, FaultPhase]] = [(at_s, "inject"), (at_s + 0.1, "verified")]
    return [
        (second, Fault(fault_kind=kind, id=f"{kind}{at_s}", phase=phase, target=Target(node=node), description=""))
        for second, phase in phases
    ]


def looked(point: int | None, *segments: int, at_s: float = 11, file: str = RECOVERY_POINTS) -> list[Timed]:
    """Copies of a replica with these segments, and the recovery point in its broker's file."""
    files = {f"t-0/{base:020}.log": 100 for base in segments} | {f"t-0/{base:020}.index": 9 for base in segments}
    offsets = None if point is None else {"t-0": point}
    return [
        (at_s, Moment(name="01-down", files={"broker-1": files}, begun_ns=0)),
        (at_s + 0.1, Checkpoint(node="broker-1", file=file, offsets=offsets, written_ns=1)),
    ]


def read(*segments: int, at_s: float = 21, node: str = "broker-1", topic: str = "t") -> list[Timed]:
    line = "Recovering unflushed segment"
    return [
        (at_s, Log(node=node, event="recovery", topic=topic, partition=0, offset=base, line=f"{line} {base}"))
        for base in segments
    ]


END: Timed = (60, Note(text="the end"))
UP: Timed = (24, Broker(source="kraft", node="broker-1", state="unfenced"))


def judged(name: str, *events: Sequence[Timed]) -> ClaimResult:
    in_order = sorted((one for each in [*events, [UP, END]] for one in each), key=lambda one: one[0])
    run_state = RunState(tuple(at(int(second * SECOND), event) for second, event in in_order))
    return claims.judge(name, RunEvidence(run=run_record({}), run_state=run_state))


KILLED = [*fault("kill", 10), *fault("start", 20)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*KILLED, *looked(0, 0, 100, 200), *read(0, 100, 200)], HELD),
        ([*KILLED, *looked(None, 0, 100, 200), *read(0, 100, 200)], HELD),
        ([*KILLED, *looked(100, 0, 100, 200), *read(100, 200)], HELD),
        ([*KILLED, *looked(150, 0, 100, 200), *read(100, 200)], HELD),
        ([*KILLED, *looked(150, 0, 100, 200), *read(200)], CONTRADICTED),
        ([*KILLED, *looked(150, 0, 100, 200), *read(0, 100, 200)], CONTRADICTED),
        ([*KILLED, *looked(0, 0, 100), *read(0, 100, node="broker-2")], CONTRADICTED),
        ([*KILLED, *looked(0, 0, 100), *read(0, 100, topic="u")], CONTRADICTED),
        ([*KILLED, *looked(0, 0, 100), *read(0, 100, at_s=5)], CONTRADICTED),
        ([*KILLED, *looked(0, 0), *read(0), *fault("stop", 30), *read(100, at_s=31)], HELD),
        ([*KILLED, *looked(0, 0, 100, at_s=5), *read(0, 100)], NOT_OBSERVED),
        ([*KILLED, *looked(0, 0, 100, file="replication-offset-checkpoint"), *read(0, 100)], NOT_OBSERVED),
        ([*fault("kill", 10), *looked(0, 0, 100)], NOT_OBSERVED),
        ([*fault("stop", 10), *fault("start", 20), *looked(0, 0, 100)], NOT_OBSERVED),
    ],
    ids=[
        "all",
        "no file",
        "from a segment's beginning",
        "from within one",
        "too few",
        "too many",
        "another broker",
        "another topic",
        "before",
        "a later start is another one",
        "nobody looked",
        "another file",
        "not started",
        "stopped",
    ],
)
def test_recovery_begins_at_the_recovery_point(events: list[Timed], expected: str) -> None:
    assert judged(BEGINS, events).outcome == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*fault("stop", 10), *fault("start", 20), *looked(300, 0, 100)], HELD),
        ([*fault("stop", 10), *fault("start", 20), *looked(300, 0, 100), *read(100)], CONTRADICTED),
        ([*fault("stop", 10), *looked(300, 0, 100)], NOT_OBSERVED),
        ([*KILLED, *looked(0, 0, 100), *read(0, 100)], NOT_OBSERVED),
    ],
    ids=["nothing", "a segment", "not started", "killed"],
)
def test_a_clean_stop_recovers_nothing(events: list[Timed], expected: str) -> None:
    assert judged(NOTHING, events).outcome == expected


def test_what_was_read_and_how_long_it_took_are_told() -> None:
    found = judged(BEGINS, [*KILLED, *looked(150, 0, 100, 200), *read(100, 200)])
    assert found.observed == "broker-1 read 2 of 3 segments of t-0 (200 bytes), registered after 4.0 s"
    assert found.measured_ms is None


@pytest.mark.parametrize("line", ["Loaded 2 logs in 654ms (unclean log dirs = [])", "Logs loading complete in 654 ms."])
def test_how_long_the_logs_took_is_measured_and_bounds_nothing(line: str) -> None:
    def told(at_s: float, node: str, text: str = line) -> list[Timed]:
        return [(at_s, Log(node=node, event="logs-loaded", line=text))]

    begun = told(1, "broker-1", "Loaded 0 logs in 9ms.")
    other = told(22, "broker-2", "Loaded 2 logs in 7ms")
    found = judged(BEGINS, [*KILLED, *looked(0, 0), *read(0), *begun, *other, *told(23, "broker-1")])
    assert (found.outcome, found.measured_ms, found.bound_ms) == (HELD, 654, None)
    assert "its logs in 654 ms" in found.observed
