"""Records of loads that are refused, given up or acknowledged late: what explains it, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from checks.anomalies.unwritable import by_machine, unwritable
from checks.claims.spontaneous import after_ns
from checks.service import LATE_NS, Service
from evidence.events import Event, Note, RecordsDeleted, Send, Step, Waits
from evidence.run import RunRecord
from tests.records import run_record
from tests.unit.checks.histories import Row, sent, view
from tests.unit.checks.test_availability_anomalies import SECOND, blind, docker, fault, run_state_of, still, well
from tests.unit.checks.test_spontaneous import CREATED, led
from tests.unit.timelines import at

SETTINGS = {"broker.session.timeout.ms": "4000", "replica.lag.time.max.ms": "10000", "min.insync.replicas": "2"}
TOPICS: list[dict[str, Any]] = [{"name": "t", "partitions": {"0": [1, 2, 3]}}]
PRODUCER = {"name": "producer-1", "kind": "producer", "settings": {"socket.timeout.ms": "10000"}}
RUN = run_record(topics=TOPICS, settings=SETTINGS, processes=[PRODUCER])
UP = [*well("broker-1", "broker-2", "broker-3"), CREATED]
LATER_S = round((after_ns(RUN, "isr-shrink") + 30 * SECOND) / SECOND)
"""So long after a fault it may still be felt: what comes of it, and a request that is waited for."""


def failed(at_s: float, error: str = "NOT_ENOUGH_REPLICAS", *, took_s: float = 0.1, **more: Any) -> Row:
    times = {"invoked_ns": round(at_s * SECOND), "completed_ns": round((at_s + took_s) * SECOND)}
    return sent(1, None, "info" if "TIMED" in error else "fail", error_name=error, **times | more)


def late(at_s: float, took_s: float) -> Row:
    return sent(1, 1, invoked_ns=round(at_s * SECOND), completed_ns=round((at_s + took_s) * SECOND))


def service(*events: Event, run: RunRecord = RUN) -> Service:
    return Service(run, run_state_of(*UP, *events, at(900 * SECOND, Note(text="the end"))), ("t", 0))


REFUSED = failed(300)


@pytest.mark.parametrize(
    "row",
    [
        REFUSED,
        failed(300, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        failed(300, "_MSG_TIMED_OUT", took_s=5),
        failed(300, "REQUEST_TIMED_OUT", took_s=30),
        late(300, 25),
        failed(60),
        failed(300, "_PURGE_INFLIGHT", took_s=60),
        failed(300, "_PURGE_QUEUE", took_s=60),
    ],
    ids=["refused", "out of order", "given up", "answered too late", "late", "soon", "not answered", "never sent"],
)
def test_a_record_that_nobody_takes_for_no_reason(row: Row) -> None:
    (found,) = unwritable(view(sent(0, 0), row), service())
    assert (found["sequence"], found["process"]) == (1, "producer-1")
    purged = row.get("error_name", "").startswith("_PURGE")
    assert found["error"] == ("not answered" if purged else row.get("error_name") or "acknowledged late")


def test_each_of_many_is_counted() -> None:
    rows = [failed(300 + number / 10) | {"sequence": number} for number in range(400)]
    found = unwritable(view(*rows), service())
    assert found.total == 400


@pytest.mark.parametrize(
    "row",
    [
        sent(1, 1, invoked_ns=300 * SECOND, completed_ns=301 * SECOND),
        late(300, 16),
        failed(300, "MSG_SIZE_TOO_LARGE"),
        failed(300, "_QUEUE_FULL"),
        failed(300, "_PURGE_INFLIGHT", took_s=2),
        failed(300, "INVALID_PRODUCER_EPOCH"),
        failed(300, transaction=1),
        failed(300, completed_ns=None),
        failed(4),
    ],
    ids=["acknowledged", "in time", "too large", "never sent", "soon ended", "fenced", "transaction", "open", "new"],
)
def test_what_is_no_matter_of_the_cluster(row: Row) -> None:
    assert unwritable(view(row), service()) == []


def struck(begin_s: float, end_s: float, kind: str = "freeze", node: str = "broker-3") -> list[Event]:
    phases: list[tuple[float, Any]] = [(begin_s, "inject"), (begin_s, "verified"), (end_s, "heal"), (end_s, "healed")]
    return [fault(at_s, phase, kind, node) for at_s, phase in phases]


@pytest.mark.parametrize(
    "events",
    [
        struck(250, 299),
        struck(250, 300 - LATER_S + 1),
        struck(250, 300 - LATER_S + 1, "cut", "broker-1, broker-2"),
        struck(299, 301, "freeze-client", "producer-1"),
        struck(299, 301, "reset", "producer-1"),
        [docker(299, "broker-3", "stop")],
        [led(299, 1, (1, 2)), led(299.5, 1, (1, 2, 3))],
        [led(299, 2, (1, 2, 3), 1)],
        [led(200, 1, (1,))],
        [led(200, -1, (1, 2, 3), 1)],
        [docker(200, "broker-1", "die", 1)],
        blind(299.5),
        [still(299)],
        [at(100 * SECOND, Step(name="set for a topic", phase=phase)) for phase in ("begin", "end")],
        [at(300 * SECOND, Step(name="upgrade broker-1", phase="begin"))],
    ],
    ids=[
        "a fault",
        "its end",
        "a cut's end",
        "its client",
        "a connection",
        "somebody's stop",
        "the ISR changed",
        "an election",
        "too few replicas",
        "nobody leads",
        "the leader is down",
        "nobody saw it",
        "the machine stood still",
        "a setting",
        "an upgrade",
    ],
)
def test_what_may_hold_a_producer_up(events: list[Event]) -> None:
    assert unwritable(view(REFUSED), service(*events)) == []
    assert by_machine(view(REFUSED), service(*events)) is None


@pytest.mark.parametrize(
    "events",
    [
        struck(200, 300 - LATER_S - 1),
        struck(299, 301, "freeze-client", "reader-1"),
        struck(310, 320),
        [led(200, 1, (1, 2))],
        [still(290)],
    ],
    ids=["a fault long over", "another client", "what came later", "still enough replicas", "a stillness before"],
)
def test_what_may_not(events: list[Event]) -> None:
    assert len(unwritable(view(REFUSED), service(*events))) == 1


def test_the_answer_to_a_step_is_judged_by_the_step() -> None:
    step = at(299 * SECOND, Send(process="producer-1", topic="t", partition=0, producer=1, sequence=1, acks="all"))
    assert unwritable(view(REFUSED), service(step)) == []


def test_a_broker_that_may_have_forgotten_its_producer() -> None:
    row = failed(300, "OUT_OF_ORDER_SEQUENCE_NUMBER")
    forgets = run_record(topics=TOPICS, settings=SETTINGS | {"producer.id.expiration.ms": "5000"}, processes=[PRODUCER])
    deleted = RecordsDeleted(topic="t", partition=0, low_watermark=1)
    assert unwritable(view(row), service(run=forgets)) == []
    assert unwritable(view(row), service(at(100 * SECOND, deleted))) == []
    assert len(unwritable(view(REFUSED), service(run=forgets))) == 1


def test_nothing_is_said_where_nobody_stated_the_partition() -> None:
    assert unwritable(view(REFUSED), Service(RUN, run_state_of(), ("t", 0))) == []


def waits(from_s: int, to_s: int, share: float) -> Waits:
    """Some process waited for a CPU in this share of each second."""
    slices = [(1_000_000, round(share * 1_000_000))] * (to_s - from_s)
    return at(to_s * SECOND, Waits(begin_ns=from_s * SECOND, slices=tuple(slices)))


@pytest.mark.parametrize(
    ("row", "share", "doubted"),
    [
        (REFUSED, 0.5, True),
        (REFUSED, 0.2, False),
        (failed(300, "_MSG_TIMED_OUT", took_s=5), 0.6, True),
        (failed(300, "_MSG_TIMED_OUT", took_s=5), 0.4, False),
        (failed(300, "_MSG_TIMED_OUT", took_s=80), 1.0, False),
        (late(300, 20), 0.3, True),
        (late(300, 20), 0.1, False),
        (late(300, 80), 1.0, False),
    ],
    ids=[
        "lag",
        "no lag",
        "given up",
        "not for so long",
        "given up after four bounds",
        "late by less",
        "late by more",
        "by four bounds",
    ],
)
def test_what_the_machine_may_have_done_is_a_doubt(row: Row, share: float, doubted: bool) -> None:
    busy = service(waits(200, 400, share))
    assert (len(unwritable(view(row), busy)), by_machine(view(row), busy) is not None) == (not doubted, doubted)


def test_late_is_no_less_than_what_screening_keeps() -> None:
    quick = run_record(topics=TOPICS, settings=SETTINGS | {"replica.lag.time.max.ms": "1000"}, processes=[PRODUCER])
    assert service(run=quick).late_ns == LATE_NS
    assert unwritable(view(late(300, 9)), service(run=quick)) == []
    assert len(unwritable(view(late(300, 11)), service(run=quick))) == 1
