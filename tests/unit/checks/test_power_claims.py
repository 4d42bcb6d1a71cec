"""Claims about power loss: each held, each contradicted, and silent where there is nothing to judge."""

from __future__ import annotations

from typing import Any

import pytest

from checks.claim import CONTRADICTED, HELD, NOT_OBSERVED, Judged, RunEvidence
from checks.claims.storage.power import (
    flushed_records_survive,
    lost_records_are_recent,
    metadata_survives,
    zookeeper_forgets,
    zookeeper_keeps,
)
from evidence.events import Event, Fault, Partition, Target, Znode
from evidence.faults.process import ReplicaOnDisk
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record

RUN: dict[str, Any] = {"topics": [{"name": "t", "partitions": {"0": [1, 2, 3]}}]}
KERNEL = {"dirty_expire_centisecs": 3000, "dirty_writeback_centisecs": 500}


def power_loss(
    *, held: int | None = 3, written: int = 13, age_ms: int | None = 9_000, name: str = "t-0", proved: bool = True
) -> list[Event]:
    replica = ReplicaOnDisk(written=written, held=held, oldest_lost_ms=age_ms)
    fault: dict[str, Any] = {
        "fault_kind": "power-loss",
        "id": "f1",
        "description": "",
        "target": Target(node="broker-1"),
    }
    begun = Fault(phase="inject", monotonic_ns=100, **fault)
    proof = proof_of("power-loss", replicas={name: replica}, writeback=KERNEL)
    return [begun, Fault(phase="verified", monotonic_ns=200, proof=proof, **fault)] if proved else [begun]


def witness(events: list[Event], *, acked: int = 3, isr: tuple[int, ...] = (1, 2), **run: Any) -> RunEvidence:
    state = Partition(source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=isr, monotonic_ns=1)
    return RunEvidence(
        run=run_record(RUN | run),
        run_state=RunState((state, *events)),
        acknowledged_in_all=lambda topic, partition: [(10, 20)] * acked + [(90, 300)],
    )


def outcome(judged: Judged) -> str:
    return judged.outcome


@pytest.mark.parametrize("events", [power_loss(name="__cluster_metadata-0"), power_loss(proved=False), []])
def test_without_a_proved_loss_of_a_topics_replica_nothing_is_said(events: list[Event]) -> None:
    assert outcome(lost_records_are_recent(witness(events))) == NOT_OBSERVED
    assert outcome(flushed_records_survive(witness(events))) == NOT_OBSERVED


@pytest.mark.parametrize(
    ("age_ms", "settings", "expected"),
    [
        (9_000, {}, HELD),
        (40_000, {}, HELD),
        (40_001, {}, CONTRADICTED),
        (None, {}, NOT_OBSERVED),
        (7_000, {"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "1000"}, HELD),
        (7_001, {"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "1000"}, CONTRADICTED),
    ],
)
def test_what_is_lost_is_recent(age_ms: int | None, settings: dict[str, str], expected: str) -> None:
    judged = lost_records_are_recent(witness(power_loss(age_ms=age_ms), settings=settings))
    assert judged.outcome == expected
    assert judged.measured_ms == age_ms


@pytest.mark.parametrize(
    ("held", "acked", "isr", "expected"),
    [
        (3, 3, (1, 2), HELD),  # what was acknowledged later does not count
        (2, 3, (1, 2), CONTRADICTED),
        (None, 1, (1, 2), CONTRADICTED),
        (0, 3, (2, 3), NOT_OBSERVED),
    ],
)
def test_flushed_records_survive(held: int | None, acked: int, isr: tuple[int, ...], expected: str) -> None:
    assert outcome(flushed_records_survive(witness(power_loss(held=held), acked=acked, isr=isr))) == expected


@pytest.mark.parametrize(
    ("held", "node", "stated_ns", "expected"),
    [
        (8, "controller-100", 1, HELD),
        (7, "controller-100", 1, CONTRADICTED),
        (None, "controller-100", 1, CONTRADICTED),
        (8, "broker-1", 1, NOT_OBSERVED),
        (8, "controller-100", 900_000_000, NOT_OBSERVED),  # too late to be known to be flushed
    ],
)
def test_what_was_stated_is_on_the_controllers_disks(
    held: int | None, node: str, stated_ns: int, expected: str
) -> None:
    fault: dict[str, Any] = {"fault_kind": "power-loss", "id": "f1", "description": "", "target": Target(node=node)}
    proof = proof_of("power-loss", replicas={"__cluster_metadata-0": ReplicaOnDisk(written=9, held=held)})
    state = Partition(
        source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1,), version=7, monotonic_ns=stated_ns
    )
    events = (
        state,
        Fault(phase="inject", monotonic_ns=1_000_000_000, **fault),
        Fault(phase="verified", monotonic_ns=1_000_000_001, proof=proof, **fault),
    )
    assert outcome(metadata_survives(RunEvidence(run=run_record(RUN), run_state=RunState(events)))) == expected


MADE = "/brokers/topics/made-last"
STATE = "/brokers/topics/t/partitions/0/state"


def znode(at_ns: int, path: str, version: int | None, created: int = 1) -> Znode:
    """What a znode held at a time; a version of None: it was gone."""
    content = None if version is None else {"version": 1}
    return Znode(path=path, content=content, version=version or 0, created=created, monotonic_ns=at_ns)


def told(*after: Znode, node: str = "zookeeper", proved: bool = True) -> RunEvidence:
    """Two znodes of topics, a power loss from 100 to 200, and what was told then."""
    fault: dict[str, Any] = {"fault_kind": "power-loss", "id": "f1", "description": "", "target": Target(node=node)}
    loss = [Fault(phase="inject", monotonic_ns=100, **fault)]
    loss += (
        [Fault(phase="verified", monotonic_ns=200, proof=proof_of("power-loss", replicas={}), **fault)]
        if proved
        else []
    )
    before = (znode(10, MADE, 0), znode(11, STATE, 4), znode(12, "/brokers/ids/1", 0))
    return RunEvidence(run=run_record(RUN), run_state=RunState((*before, *loss, *after)))


REGISTERED = znode(300, "/brokers/ids/2", 0)


@pytest.mark.parametrize(
    ("witnessed", "keeps", "forgets"),
    [
        (told(REGISTERED), HELD, CONTRADICTED),
        (told(REGISTERED, znode(310, STATE, 5)), HELD, CONTRADICTED),
        (told(REGISTERED, znode(310, STATE, 0, created=9)), HELD, CONTRADICTED),
        (told(REGISTERED, znode(310, MADE, None)), CONTRADICTED, HELD),
        (told(REGISTERED, znode(310, STATE, 3)), CONTRADICTED, HELD),
        (told(REGISTERED, znode(310, STATE, 3), znode(320, STATE, 5)), CONTRADICTED, HELD),
        (told(REGISTERED, znode(310, "/brokers/ids/1", None)), HELD, CONTRADICTED),
        (told(), NOT_OBSERVED, NOT_OBSERVED),
        (told(REGISTERED, node="broker-1"), NOT_OBSERVED, NOT_OBSERVED),
        (told(REGISTERED, proved=False), NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=[
        "as it was",
        "newer",
        "made anew",
        "a topic is gone",
        "older",
        "older, then newer",
        "a broker is gone",
        "not seen again",
        "a broker's power",
        "unproved",
    ],
)
def test_what_zookeeper_had_told_is_there_or_forgotten(witnessed: RunEvidence, keeps: str, forgets: str) -> None:
    assert (outcome(zookeeper_keeps(witnessed)), outcome(zookeeper_forgets(witnessed))) == (keeps, forgets)
