"""Claims about where leaders say that epochs end, on their answers and the records that had been acknowledged."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Event, Log, Partition, Send
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from kafkafiles.batches import BatchHeader
from kafkafiles.stored import StoredBatch, StoredReplica, StoredSegment
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {
    "kafka": "2.2.2",
    "mode": "zookeeper",
    "topics": [{"name": "t"}],
    "processes": [{"name": "p", "kind": "producer"}],
}
OWN, OLDER = "own-epoch-ends-at-log-end", "older-epoch-ends-where-next-begins"


def leads(at_ms: int, leader: int, epoch: int) -> Event:
    state = Partition(source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=(1, 2))
    return at(at_ms * MS, state)


def record(at_ms: int, offset: int | None) -> list[Event]:
    about: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "acks": "all"}
    about["sequence"] = at_ms
    sent = at(at_ms * MS, Send(**about))
    return [sent, at((at_ms + 20) * MS, Acked(**about, offset=offset, outcome="ok"))] if offset is not None else [sent]


def answer(at_ms: int, asked: int, offset: int, node: int = 1, topic: str = "t") -> Event:
    about: dict[str, Any] = {"node": f"broker-{node}", "topic": topic, "partition": 0, "line": ""}
    return at(at_ms * MS, Log(**about, event="epoch-answer", leader_epoch=asked, offset=offset))


def log(*epochs: int) -> StoredReplica:
    """A log with one record of each of these epochs."""
    batches = tuple(
        StoredBatch(
            header=BatchHeader(
                position=0,
                size=0,
                magic=2,
                base_offset=offset,
                last_offset=offset,
                count=1,
                leader_epoch=epoch,
                crc=0,
                attributes=0,
            ),
            fingerprint="",
            offsets=(offset,),
            timestamps_ms=(0,),
        )
        for offset, epoch in enumerate(epochs)
    )
    return StoredReplica(files=(), segments=(StoredSegment(base_offset=0, size=0, batches=batches, index=None),))


def judged(name: str, *events: Event, stored: StoredReplica | None = None, **run: Any) -> ClaimResult:
    ordered = tuple(sorted(events, key=lambda event: event.at_ns))
    replicas = {"broker-1": stored} if stored else {}
    evidence = RunEvidence(
        run=run_record(RUN | run), run_state=RunState(ordered), stored=lambda topic, partition: replicas
    )
    return claims.judge(name, evidence)


TWO = [leads(1, 1, 0), *record(100, 0), *record(200, 1)]


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([answer(300, 0, 2)], HELD),
        ([answer(50, 0, 0), answer(300, 0, 2)], HELD),
        ([answer(300, 0, 1)], CONTRADICTED),
        ([answer(210, 0, 1)], NOT_OBSERVED),
        ([*record(250, None), answer(300, 0, 3)], NOT_OBSERVED),
        ([answer(300, 0, 1, node=2)], NOT_OBSERVED),
        ([answer(300, 0, 1, topic="__consumer_offsets")], NOT_OBSERVED),
        ([answer(300, 0, -1)], NOT_OBSERVED),
        ([leads(290, 1, 1), answer(300, 0, 1)], NOT_OBSERVED),
    ],
    ids=["the end", "each end", "another", "on its way", "open", "no leader", "no topic of ours", "unknown", "older"],
)
def test_where_the_own_epoch_ends(events: list[Event], outcome: str) -> None:
    assert judged(OWN, *TWO, *events).outcome == outcome


@pytest.mark.parametrize(
    ("stored", "offset", "outcome"),
    [
        (log(0, 0), 2, HELD),
        (log(0, 0, 1), 2, HELD),
        (log(0, 0), 1, CONTRADICTED),
        (log(0, 1), 1, NOT_OBSERVED),
    ],
    ids=["nothing written since", "written later", "not the end", "written before"],
)
def test_an_epoch_may_be_the_last_of_the_log_though_a_newer_one_has_begun(
    stored: StoredReplica, offset: int, outcome: str
) -> None:
    assert judged(OWN, *TWO, leads(290, 1, 1), answer(300, 0, offset), stored=stored).outcome == outcome


def test_beside_a_load_the_log_end_is_not_known() -> None:
    processes = [{"name": "p", "kind": "producer"}, {"name": "load", "kind": "producer"}]
    assert judged(OWN, *TWO, answer(300, 0, 1), processes=processes).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("asked", "offset", "outcome"),
    [(0, 2, HELD), (1, 2, HELD), (2, 3, HELD), (0, 3, CONTRADICTED), (3, 4, NOT_OBSERVED)],
    ids=["the next", "one that has no record", "another next", "too far", "its own"],
)
def test_where_an_older_epoch_ends(asked: int, offset: int, outcome: str) -> None:
    events = [leads(1, 1, 3), answer(300, asked, offset)]
    assert judged(OLDER, *events, stored=log(0, 0, 2, 3)).outcome == outcome


def test_without_the_leaders_log_nothing_is_observed() -> None:
    assert judged(OLDER, leads(1, 1, 3), answer(300, 0, 3)).outcome == NOT_OBSERVED
