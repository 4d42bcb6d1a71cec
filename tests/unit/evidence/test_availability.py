"""What faults cost clients, from tiny histories: times in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evidence.availability import availability, pauses
from evidence.findings import Availability, ErrorWindow, FirstSuccess, Pause
from evidence.history.read import PLAIN_SCHEMA
from evidence.run_state import FaultFact

MS = 1_000_000


def row(kind: str, at_ms: int, done_ms: int, outcome: str = "ok", **more: Any) -> dict[str, Any]:
    return {
        "process": "producer-1" if kind == "send" else "consumer-1",
        "kind": kind,
        "outcome": outcome,
        "topic": "t",
        "partition": 0,
        "invoked_ns": at_ms * MS,
        "completed_ns": done_ms * MS,
    } | more


def steady(begin_ms: int, end_ms: int, every_ms: int = 20) -> list[dict[str, Any]]:
    """A record each so many milliseconds, acknowledged 5 ms later and read 10 ms later."""
    times = range(begin_ms, end_ms, every_ms)
    return [one for at in times for one in (row("send", at, at + 5), row("poll", at, at + 10))]


def fault(at_ms: int, kind: str = "kill", *, proved_ms: int | None = None) -> FaultFact:
    proved_ns = (at_ms if proved_ms is None else proved_ms) * MS
    times = {"inject_ns": at_ms * MS, "proved_ns": proved_ns, "until_ns": (at_ms + 1000) * MS}
    about = {"id": f"f{at_ms}", "kind": kind, "node": "broker-1", "role": "", "description": f"{kind} of broker-1"}
    return FaultFact(**about, **times, heal_ns=None, healed_ns=None, proof=None, unproved=False)  # type: ignore[arg-type]


def seen(rows: Sequence[dict[str, Any]], faults: Sequence[FaultFact] = (), **more: Any) -> Availability | None:
    return availability("t", 0, pa.Table.from_pylist(list(rows), schema=PLAIN_SCHEMA), faults, **more)


def struck() -> list[dict[str, Any]]:
    """Three seconds of 50 records a second, two of nothing, in which 100 records wait, and two more."""
    waiting = [row("send", at, 5005) for at in range(3000, 5000, 20)]
    return [*steady(0, 3000), *waiting, row("poll", 5000, 5010), *steady(5020, 7000)]


def test_a_kill_under_load_has_a_pause_a_first_success_and_a_dip() -> None:
    found = seen(struck(), [fault(3000)])
    assert found is not None
    assert found.write_pause == Pause(at_ns=3000 * MS, ms=2005.0)
    assert found.read_pause == Pause(at_ns=2990 * MS, ms=2020.0)
    assert found.first_success == (FirstSuccess(fault="kill of broker-1", kind="kill", at_ns=3000 * MS, ms=2005.0),)
    assert (found.usual_per_s, found.lowest_per_s) == (50.0, 0.0)
    assert (found.bucket_ms, sum(found.acknowledged_in)) == (250, found.acknowledged)
    assert found.acknowledged_in[12:20] == (0,) * 8
    assert (found.errors, found.error_windows) == ({}, ())


def test_what_is_acknowledged_before_a_fault_has_taken_effect_is_no_success() -> None:
    found = seen(struck(), [fault(2900, proved_ms=3010)])
    assert found is not None
    assert [one.ms for one in found.first_success] == [1995.0]


def test_a_time_in_which_nobody_sends_is_no_pause_of_writes() -> None:
    found = seen([*steady(0, 3000), *steady(5000, 7000)], [fault(3000)])
    assert found is not None
    assert found.write_pause is not None
    assert found.write_pause.ms == 5.0
    assert found.read_pause is not None
    assert found.read_pause.ms == 2020.0


def test_without_a_fault_there_is_no_first_success_and_no_lowest_rate() -> None:
    found = seen(steady(0, 3000), [fault(9000), fault(1000, "start")])
    assert found is not None
    assert (found.first_success, found.lowest_per_s, found.usual_per_s) == ((), None, 50.0)


def test_too_few_records_say_nothing() -> None:
    assert seen(steady(0, 900)) is None


def test_an_error_window_lasts_to_the_next_acknowledgement_or_stays_open() -> None:
    refused = [row("send", at, at + 1, "fail", error_name="NOT_ENOUGH_REPLICAS") for at in (3000, 3100, 9000, 9500)]
    lost = row("send", 9600, 9700, "info", error_name="_TIMED_OUT")
    found = seen([*steady(0, 3000), *refused[:2], *steady(4000, 5000), *refused[2:], lost], [fault(2999)])
    assert found is not None
    assert found.errors == {"NOT_ENOUGH_REPLICAS": 4, "_TIMED_OUT": 1}
    assert found.error_windows == (
        ErrorWindow(begin_ns=3001 * MS, end_ns=4005 * MS, errors=2, resumed=True),
        ErrorWindow(begin_ns=9001 * MS, end_ns=9700 * MS, errors=3, resumed=False),
    )
    short = found.figures
    assert (short.errors, short.error_ms, short.acknowledged) == (5, 1703.0, 200)


def test_a_consumer_that_is_given_nothing_any_more_pauses_to_the_end() -> None:
    unread = [row("send", at, at + 5) for at in range(3000, 6000, 20)]
    found = seen([*steady(0, 3000), *unread], [fault(2999)])
    assert found is not None
    assert found.read_pause == Pause(at_ns=2990 * MS, ms=2995.0)


def test_what_is_written_when_the_consumer_has_ended_is_left_out() -> None:
    found = seen([*steady(0, 3000), row("send", 9000, 9001)], [fault(1000)], ended={"consumer-1": 3100 * MS})
    assert found is not None
    assert found.read_pause is not None
    assert found.read_pause.ms == 20.0
    assert found.end_ns == 3100 * MS


def test_a_record_that_is_given_up_was_waiting() -> None:
    given_up = [row("send", at, 5000, "info", error_name="_MSG_TIMED_OUT") for at in range(3000, 3500, 20)]
    found = seen([*steady(0, 3000), *given_up, *steady(5000, 7000)], [fault(2999)])
    assert found is not None
    assert found.write_pause == Pause(at_ns=3000 * MS, ms=2005.0)


def test_a_final_reader_is_no_consumer() -> None:
    late = [row("poll", 20000, 20010, process="final-read-1"), row("poll", 30000, 30010, process="final-read-1")]
    found = seen([*steady(0, 3000), *late], [fault(1000)], final=["final-read-1"])
    assert found is not None
    assert found.read_pause is not None
    assert found.read_pause.ms == 20.0


def test_the_buckets_of_a_long_run_are_longer() -> None:
    found = seen(steady(0, 700_000, 1000))
    assert found is not None
    assert (found.bucket_ms, len(found.acknowledged_in)) == (1000, 700)


@pytest.mark.parametrize(
    ("sent", "done", "longest"),
    [([0, 2, 8], [1, 9, 10], 7), ([0, 20, 21], [1, 22, 23], 2), ([0, 0, 0], [1, 5, 6], 4)],
    ids=["one waits", "nobody waits", "all wait"],
)
def test_a_pause_begins_when_something_waits(sent: list[int], done: list[int], longest: int) -> None:
    begins, ends = pauses(np.array(sent), np.array(done))
    assert (ends - begins).max() == longest


def test_what_is_sent_beside_a_load_hides_no_pause() -> None:
    """An idempotent producer goes on where the load's own waits."""
    beside = [row("send", at, at + 5, process="producer-2") for at in range(0, 7000, 20)]
    found = seen([*struck(), *beside], [fault(3000)], beside={"producer-2"})
    assert found is not None
    assert found.write_pause is not None
    assert found.write_pause.ms == 2005.0
    both = seen([*struck(), *beside], [fault(3000)])
    assert both is not None
    assert both.write_pause is not None
    assert both.write_pause.ms < 50.0
