"""Claims about files that a disk has changed, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, Damage, RunEvidence
from evidence.events import Ends, Event, Fault, FaultPhase, Log, Moment, Partition, Position, Target
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
Timed = tuple[float, Event]
LOG, INDEX = f"t-0/{0:020}.log", f"t-0/{0:020}.index"


def fault(kind: str, phase: FaultPhase, node: str = "broker-1", **proof: Any) -> Fault:
    target = Target(node=node)
    return Fault(
        fault_kind=kind,
        id=f"f-{kind}-{node}",
        phase=phase,
        target=target,
        description=kind,
        proof=proof_of(kind, **proof) if phase == "verified" else None,
    )


def done(kind: str, second: float, node: str = "broker-1", **proof: Any) -> list[Timed]:
    return [(second, fault(kind, "inject", node)), (second + 0.1, fault(kind, "verified", node, **proof))]


def state(leader: int, *isr: int) -> Partition:
    return Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=0, isr=isr)


def moment(name: str, **ends: int) -> Moment:
    nodes = {node.replace("_", "-"): {"t-0": Ends(leo=leo, hw=leo)} for node, leo in ends.items()}
    return Moment(name=name, nodes=nodes, begun_ns=0)


def cut(offset: int) -> Log:
    line = f"Corruption found in segment 0, truncating to offset {offset}"
    return Log(node="broker-1", event="recovery", topic="t", partition=0, offset=offset, line=line)


def damage(name: str, node: str = "broker-1", position: int = 100) -> Damage:
    return Damage(moment=name, node=node, segment=0, position=position, size=50)


def judged(
    name: str,
    events: Sequence[Timed],
    damaged: Sequence[Damage] = (),
    *,
    errors: Sequence[tuple[int, str]] = (),
    read: Sequence[int] = (),
) -> str:
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    witness = RunEvidence(
        run=run_record({}),
        run_state=RunState(timed),
        damaged=lambda topic, partition: damaged if (topic, partition) == ("t", 0) else (),
        read_errors=lambda topic, partition: errors,
        read_at=lambda topic, partition: {(1, offset): (offset,) for offset in read},
    )
    return str(claims.judge(name, witness).outcome)


LED: Timed = (1, state(1, 1, 2, 3))
FLIP = done("flip", 10, file=LOG, position=120, offset=2)
FINAL: Timed = (30, moment("02-final", broker_1=8, broker_2=8))
STRUCK = [damage("01-damaged"), damage("02-final")]
UP: list[Timed] = [LED, *FLIP, (12, moment("01-damaged", broker_1=6, broker_2=6)), FINAL]


@pytest.mark.parametrize(
    ("events", "damaged", "outcome"),
    [
        (UP, STRUCK, HELD),
        (UP, [*STRUCK, damage("02-final", "broker-2")], CONTRADICTED),
        (UP, [*STRUCK, damage("02-final", "broker-2", 900)], CONTRADICTED),
        (UP, [], NOT_OBSERVED),
        (UP, [damage("02-final", position=900)], NOT_OBSERVED),
        ([LED, FINAL], [damage("02-final")], NOT_OBSERVED),
    ],
    ids=["there alone", "on another too", "elsewhere on another", "nobody saw it", "another place", "no fault"],
)
def test_damage_stays_on_its_replica(events: list[Timed], damaged: list[Damage], outcome: str) -> None:
    assert judged("damage-stays-on-its-replica", events, damaged) == outcome


@pytest.mark.parametrize(
    ("events", "damaged", "outcome"),
    [
        (UP, STRUCK, HELD),
        (UP, STRUCK[:1], CONTRADICTED),
        ([*UP, (20, state(2, 2, 3))], STRUCK, CONTRADICTED),
        ([LED, FINAL], [], NOT_OBSERVED),
        (UP[:-1], STRUCK[:1], NOT_OBSERVED),
    ],
    ids=["to the end", "it was mended", "it left the ISR", "no fault", "no copy at the end"],
)
def test_damage_goes_unnoticed(events: list[Timed], damaged: list[Damage], outcome: str) -> None:
    assert judged("damage-goes-unnoticed", events, damaged) == outcome


KILLED: list[Timed] = [LED, *done("kill", 8), *FLIP, *done("start", 15), FINAL]


@pytest.mark.parametrize(
    ("events", "damaged", "outcome"),
    [
        ([*KILLED, (16, cut(2))], STRUCK[:1], HELD),
        ([*KILLED, (16, cut(0))], STRUCK[:1], HELD),
        ([*KILLED, (16, cut(3))], STRUCK[:1], CONTRADICTED),
        ([*KILLED, (16, cut(2))], STRUCK, CONTRADICTED),
        (KILLED, STRUCK[:1], CONTRADICTED),
        ([*KILLED, (9, cut(2))], STRUCK[:1], CONTRADICTED),
        ([*UP, *done("start", 15)], STRUCK, NOT_OBSERVED),
    ],
    ids=["cut there", "cut below", "cut above it", "still there", "not cut", "cut before", "it was not killed"],
)
def test_recovery_cuts_damage(events: list[Timed], damaged: list[Damage], outcome: str) -> None:
    assert judged("recovery-cuts-damage", events, damaged) == outcome


def refused(end: int, *isr: int, leader: int = 1) -> list[Timed]:
    blank = [*done("wipe", 12, "broker-2"), *done("start", 13, "broker-2")]
    return [LED, *FLIP, *blank, (14, state(leader, *isr)), (20, moment("01-refused", broker_1=8, broker_2=end))]


@pytest.mark.parametrize(
    ("events", "damaged", "outcome"),
    [
        (refused(0, 1, 3), [damage("01-refused")], HELD),
        (refused(2, 1, 3), [damage("01-refused")], HELD),
        (refused(3, 1, 3), [damage("01-refused")], CONTRADICTED),
        (refused(0, 1, 2, 3), [damage("01-refused")], CONTRADICTED),
        (refused(8, 2, 3, leader=3), [damage("01-refused")], NOT_OBSERVED),
        (refused(0, 1, 3), [], NOT_OBSERVED),
        (UP, STRUCK, NOT_OBSERVED),
    ],
    ids=["nothing", "up to it", "the record too", "in the ISR", "another leads", "no damage seen", "nobody blank"],
)
def test_damage_is_refused(events: list[Timed], damaged: list[Damage], outcome: str) -> None:
    assert judged("damage-is-refused", events, damaged) == outcome


BAD = "_BAD_MSG"
MOVED: Timed = (20, state(2, 2, 3))


def told(second: float, name: str = BAD) -> tuple[int, str]:
    return (int(second * 1000) * MS, name)


@pytest.mark.parametrize(
    ("events", "errors", "outcome"),
    [
        (UP, [told(15)], HELD),
        (UP, [], CONTRADICTED),
        (UP, [told(15, "_TRANSPORT")], CONTRADICTED),
        (UP, [told(9)], CONTRADICTED),
        ([*UP, MOVED], [told(25)], CONTRADICTED),
        ([(1, state(2, 1, 2, 3)), *UP[1:]], [told(15)], NOT_OBSERVED),
    ],
    ids=["told", "not told", "of another thing", "before", "when another led", "it did not lead"],
)
def test_a_reader_is_told_of_damage(events: list[Timed], errors: list[tuple[int, str]], outcome: str) -> None:
    assert judged("reader-is-told-of-damage", events, STRUCK, errors=errors) == outcome


def heard(second: float, offset: int) -> Timed:
    ns = int(second * 1000) * MS
    return (second, Position(process="consumer-1", topic="t", partition=0, offset=offset, read_ns=ns))


@pytest.mark.parametrize(
    ("events", "stops", "goes_on"),
    [
        ([heard(15, 2), heard(25, 8)], HELD, CONTRADICTED),
        ([heard(15, 2)], CONTRADICTED, CONTRADICTED),
        ([heard(15, 1), heard(25, 8)], CONTRADICTED, CONTRADICTED),
        ([heard(14, 2), heard(15, 8), heard(25, 9)], CONTRADICTED, HELD),
        ([heard(5, 2), heard(25, 8)], NOT_OBSERVED, NOT_OBSERVED),
        ([], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["stopped", "for good", "before it", "went on", "read at other times", "nobody read"],
)
def test_how_far_readers_come(events: list[Timed], stops: str, goes_on: str) -> None:
    for name, outcome in (("reader-stops-at-damage", stops), ("reader-goes-on-behind-damage", goes_on)):
        assert judged(name, [*UP, MOVED, *events], STRUCK) == outcome


@pytest.mark.parametrize(
    ("file", "errors", "read", "outcome"),
    [
        (INDEX, [], [0, 1], HELD),
        (INDEX, [told(15, "_TRANSPORT")], [0, 1], HELD),
        (INDEX, [told(15)], [0, 1], CONTRADICTED),
        (INDEX, [], [0, 1, 2], NOT_OBSERVED),
        (LOG, [], [0, 1], NOT_OBSERVED),
    ],
    ids=["silent", "of another thing", "told", "no gap", "no index"],
)
def test_a_reader_is_not_told_of_a_gap(file: str, errors: list[tuple[int, str]], read: list[int], outcome: str) -> None:
    events = [LED, *done("flip", 10, file=file, position=4, offset=2), FINAL]
    assert judged("reader-is-not-told-of-gap", events, errors=errors, read=read) == outcome


RECOVERING = Log(
    node="broker-1", event="recovery", topic="t", partition=0, offset=0, line="Recovering unflushed segment 0"
)


def torn(*cuts: int, after: int = 5, file: str = LOG) -> list[Timed]:
    """A log whose whole batches end at 4."""
    return [
        *done("resize", 10, file=file, bytes_before=500, bytes=450),
        (11, moment("00-torn", broker_1=4)),
        *done("start", 12),
        (12.5, RECOVERING),
        *((13 + number, cut(offset)) for number, offset in enumerate(cuts)),
        (20, moment("01-back", broker_1=after)),
    ]


TRUNCATED = Log(node="broker-1", event="truncate", topic="t", partition=0, offset=2, line="Truncating")


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        (torn(4), HELD),
        (torn(), HELD),
        ([event for event in torn(4) if event[1] is not RECOVERING], CONTRADICTED),
        (torn(3), CONTRADICTED),
        (torn(4, after=3), CONTRADICTED),
        ([*torn(4), (14, TRUNCATED)], CONTRADICTED),
        (torn(4, file="t-0/replication-offset-checkpoint"), NOT_OBSERVED),
        (torn(4)[:3], NOT_OBSERVED),
    ],
    ids=[
        "cut",
        "cut with the index",
        "not looked at",
        "cut too far",
        "gone",
        "truncated further",
        "no log",
        "never started",
    ],
)
def test_a_torn_tail_is_cut(events: list[Timed], outcome: str) -> None:
    assert judged("torn-tail-is-cut", events) == outcome
