"""Consumers that are given no more of a partition: what explains it, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from checks.anomalies.stuck_reader import starved_by_machine, stuck_reader
from checks.service import Service
from checks.view import Ending, PartitionView
from evidence.events import Event, RecordsDeleted
from evidence.history import schema
from tests.records import run_record
from tests.unit.checks.histories import Row, assigned, polled, sent, view
from tests.unit.checks.test_availability_anomalies import SECOND, still
from tests.unit.checks.test_unwritable import PRODUCER, SETTINGS, TOPICS, service, struck, waits
from tests.unit.timelines import at

READER = {"name": "reader-1", "kind": "consumer", "settings": {"socket.timeout.ms": "10000"}}
OTHERS = [PRODUCER, READER, {"name": "dirty", "kind": "consumer", "settings": {}}]
RUN = run_record(topics=TOPICS, settings=SETTINGS, processes=OTHERS)
CLOSED_S = 600
GIVEN = assigned() | {"completed_ns": 290 * SECOND}


def load(count: int = 100, **more: Any) -> list[Row]:
    """Records of which one is sent each second, from 300 s on."""
    return [
        sent(n, n, invoked_ns=(300 + n) * SECOND, completed_ns=(300 + n) * SECOND + 1, **more) for n in range(count)
    ]


def reads(*offsets: int, process: str = "reader-1") -> list[Row]:
    return [polled(n, n, process=process, completed_ns=(301 + n) * SECOND, op=1000 + n) for n in offsets]


def seen(*rows: Row, closed_s: int = CLOSED_S, **circumstances: Any) -> PartitionView:
    return view(*rows, closed_ns={"reader-1": closed_s * SECOND, "dirty": closed_s * SECOND}, **circumstances)


def of(*events: Event) -> Service:
    return service(*events, run=RUN)


@pytest.mark.parametrize(
    ("offsets", "read_to", "not_given"), [(range(10), 9, 90), ((), None, 100)], ids=["it stops", "nothing at all"]
)
def test_a_reader_that_is_given_no_more(offsets: range, read_to: int | None, not_given: int) -> None:
    (row,) = stuck_reader(seen(GIVEN, *load(), *reads(*offsets)), of())
    assert (row["process"], row["read_to"], row["not_given"]) == ("reader-1", read_to, not_given)
    assert row["offset"] == (0 if read_to is None else read_to + 1)


@pytest.mark.parametrize(
    "history",
    [
        seen(GIVEN, *load(), *reads(*range(100))),
        seen(GIVEN, *load(), *reads(*range(90)), closed_s=401),
        seen(GIVEN | {"completed_ns": 590 * SECOND}, *load()),
        seen(*load(), *reads(*range(10))),
        seen(GIVEN, GIVEN | {"kind": schema.REVOKE}, *load(), *reads(*range(10))),
        view(GIVEN, *load(), *reads(*range(10))),
        seen(assigned(reader="final-read-1") | {"completed_ns": 290 * SECOND}, *load()),
        seen(GIVEN | {"completed_ns": 450 * SECOND}, *load()),
    ],
    ids=[
        "it reads all",
        "it has only just been given something",
        "it has only just begun",
        "it was not given the partition",
        "it gave it back",
        "nobody knows when it ended",
        "no consumer",
        "it may begin behind them",
    ],
)
def test_what_is_no_stuck_reader(history: PartitionView) -> None:
    assert stuck_reader(history, of()) == []


@pytest.mark.parametrize(
    "events",
    [
        struck(560, 570),
        struck(590, 595, "freeze-client", "reader-1"),
        struck(310, 311, "flip", "broker-1"),
        [at(500 * SECOND, RecordsDeleted(topic="t", partition=0, low_watermark=1))],
        [still(590)],
    ],
    ids=["a fault", "its own", "a damaged file", "records were deleted", "the machine stood still"],
)
def test_what_may_keep_a_reader_from_its_records(events: list[Event]) -> None:
    history = seen(GIVEN, *load(), *reads(*range(10)))
    assert stuck_reader(history, of(*events)) == []
    assert len(stuck_reader(history, of(*struck(310, 320), *struck(590, 595, "freeze-client", "producer-1")))) == 1


@pytest.mark.parametrize(("share", "doubted"), [(0.6, True), (0.4, False)])
def test_a_reader_that_the_machine_may_have_starved(share: float, doubted: bool) -> None:
    history, busy = seen(GIVEN, *load(), *reads(*range(10))), of(waits(500, 620, share))
    assert (len(stuck_reader(history, busy)), starved_by_machine(history, busy) is not None) == (not doubted, doubted)


COMMITTED, ABORTED = Ending("ok", 400 * SECOND), Ending("fail", 400 * SECOND)


@pytest.mark.parametrize(
    ("ending", "stuck"),
    [(COMMITTED, True), (ABORTED, True), (Ending("ok", 590 * SECOND), False), (Ending("info", 400 * SECOND), False)],
    ids=["committed", "aborted", "late", "nobody knows"],
)
def test_an_open_transaction_holds_back_what_is_committed(ending: Ending, stuck: bool) -> None:
    rows = [*load(20), sent(50, 20, transaction=1, invoked_ns=330 * SECOND, completed_ns=331 * SECOND)]
    endings = {("producer-1", 1): ending}
    history = seen(GIVEN, *rows, *reads(0), endings=endings)
    assert len(stuck_reader(history, of())) == stuck
    dirty = seen(GIVEN | {"process": "dirty"}, *rows, endings=endings, uncommitted_readers=["dirty"])
    assert [row["process"] for row in stuck_reader(dirty, of())] == ["dirty"]
