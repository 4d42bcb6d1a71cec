"""What faults cost clients: when a partition took no writes and gave no reads, from the histories of its clients.

For one partition that clients wrote to and read from while something went wrong:

- A pause of writes is the time in which records were waiting and none was acknowledged: from one acknowledgement (or,
  if nothing was waiting then, from the next sending) to the next. A record whose sending failed was waiting until then.
  What nobody sent does not pause.
- A pause of reads is the time from one record that a consumer was given to the next, or, if it was given none any more,
  to the last acknowledgement before it ended. It lasts about as long as writes pause: there is nothing to read then.
- An error window lasts from the first error that a producer was told to the next acknowledgement.
- The first success after a fault is the first acknowledgement of a record that was sent when the fault was proved to
  have taken effect, counted from then. An acknowledgement while a process is being killed says nothing.
- The rate is what was acknowledged in a second. The usual one is the median of the seconds before the first fault, the
  lowest that of any second from then to the last sending.

All times are CLOCK_MONOTONIC nanoseconds. Final reads do not count: they come when all is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evidence.findings import Availability, ErrorWindow, FirstSuccess, Pause
from evidence.history import schema
from evidence.run_state import FaultFact

Ints = npt.NDArray[np.int64]

SECOND_NS: Final = 1_000_000_000
BUCKET_MS: Final = 250
MOST_BUCKETS: Final = 1200
"""A longer run has longer buckets."""
_NOTHING: Final = np.zeros(0, np.int64)
NEVER: Final[Mapping[str, int]] = MappingProxyType({})
FEWEST: Final = 50
"""With fewer acknowledged records nobody wrote through what happened: there is nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsOfPartition:
    """What clients saw of a partition."""

    sent_ns: Ints
    """Of each acknowledged record, in the order of acknowledgement."""
    done_ns: Ints
    failed_ns: Ints
    """When producers were told of each error, ascending."""
    failed_sent_ns: Ints
    """When each of these records was sent."""
    errors: Mapping[str, int]
    last_sent_ns: int
    read_ns: Mapping[str, Ints]
    """By consumer: when it was given each record, ascending."""


def clients_of(table: pa.Table, final: Collection[str] = (), beside: Collection[str] = ()) -> ClientsOfPartition:
    """What the rows of a partition's histories say (evidence.history.read); `final` are the final readers, and what
    producers sent that are `beside` a load is left out.
    """
    sends = table.filter(pc.equal(table["kind"], schema.SEND))
    sends = sends.filter(pc.invert(pc.is_in(sends["process"], pa.array(sorted(beside), pa.string()))))
    acknowledged = sends.filter(pc.equal(sends["outcome"], schema.OK))
    times = acknowledged.select(["invoked_ns", "completed_ns"]).drop_null().sort_by("completed_ns")
    others = sends.filter(pc.not_equal(sends["outcome"], schema.OK))
    failed = others.select(["invoked_ns", "completed_ns"]).drop_null().sort_by("completed_ns")
    polls = table.filter(pc.and_(pc.equal(table["kind"], schema.POLL), pc.is_valid(table["completed_ns"])))
    readers = sorted(set(pc.unique(polls["process"]).to_pylist()) - set(final))
    return ClientsOfPartition(
        sent_ns=_numbers(times["invoked_ns"]),
        done_ns=_numbers(times["completed_ns"]),
        failed_ns=_numbers(failed["completed_ns"]),
        failed_sent_ns=_numbers(failed["invoked_ns"]),
        errors=dict(sorted(Counter(name or "no answer" for name in others["error_name"].to_pylist()).items())),
        last_sent_ns=int(pc.max(sends["invoked_ns"]).as_py() or 0),
        read_ns={
            name: np.sort(_numbers(polls.filter(pc.equal(polls["process"], name))["completed_ns"])) for name in readers
        },
    )


def _numbers(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.to_numpy(), np.int64)


def pauses(
    sent_ns: Ints, done_ns: Ints, failed_sent_ns: Ints = _NOTHING, failed_ns: Ints = _NOTHING
) -> tuple[Ints, Ints]:
    """Begin and end of each pause of writes, of acknowledged records in the order of acknowledgement and of those that
    failed in the order of failing.

    >>> pauses(np.array([0, 2, 8]), np.array([1, 9, 10]))
    (array([2, 9]), array([ 9, 10]))
    """
    waiting_since = np.minimum.accumulate(sent_ns[::-1])[::-1][1:]
    if len(failed_ns):
        since = np.append(np.minimum.accumulate(failed_sent_ns[::-1])[::-1], np.iinfo(np.int64).max)
        waiting_since = np.minimum(waiting_since, since[np.searchsorted(failed_ns, done_ns[:-1], side="right")])
    return np.maximum(done_ns[:-1], waiting_since), done_ns[1:]


def availability(
    topic: str,
    partition: int,
    table: pa.Table,
    faults: Sequence[FaultFact],
    *,
    final: Collection[str] = (),
    beside: Collection[str] = (),
    ended: Mapping[str, int] = NEVER,
) -> Availability | None:
    """What faults cost the clients of a partition; None if too little was written.

    `final` are the final readers, `ended` says when processes ended. What was written when the last consumer had ended
    is left out, and what producers wrote that are `beside` a load.
    """
    clients = clients_of(table, final, beside)
    if len(clients.done_ns) < FEWEST:
        return None
    begin_ns, end_ns = int(clients.sent_ns.min()), max(clients.last_sent_ns, int(clients.done_ns[-1]))
    end_ns = min(end_ns, max((ended.get(name, end_ns) for name in clients.read_ns), default=end_ns))
    strikes = [f for f in faults if f.proof_type.strikes and begin_ns < f.inject_ns < clients.last_sent_ns]
    bucket_ns = BUCKET_MS * 1_000_000
    while (end_ns - begin_ns) // bucket_ns >= MOST_BUCKETS:
        bucket_ns *= 2
    usual, lowest = _rates(clients, begin_ns, [fault.inject_ns for fault in strikes])
    return Availability(
        topic=topic,
        partition=partition,
        begin_ns=begin_ns,
        end_ns=end_ns,
        bucket_ms=bucket_ns // 1_000_000,
        acknowledged_in=_counts(clients.done_ns, begin_ns, end_ns, bucket_ns),
        read_in=_counts(np.concatenate([*clients.read_ns.values(), _NOTHING]), begin_ns, end_ns, bucket_ns),
        acknowledged=len(clients.done_ns),
        errors=clients.errors,
        error_windows=_error_windows(clients),
        write_pause=_longest(*pauses(clients.sent_ns, clients.done_ns, clients.failed_sent_ns, clients.failed_ns)),
        read_pause=_read_pause(clients, ended),
        first_success=tuple(one for fault in strikes if (one := _first_success(clients, fault))),
        usual_per_s=usual,
        lowest_per_s=lowest,
    )


def _counts(times_ns: Ints, begin_ns: int, end_ns: int, bucket_ns: int) -> tuple[int, ...]:
    within = times_ns[(times_ns >= begin_ns) & (times_ns <= end_ns)]
    size = (end_ns - begin_ns) // bucket_ns + 1
    return tuple(np.bincount((within - begin_ns) // bucket_ns, minlength=size).tolist())


def _longest(begins: Ints, ends: Ints) -> Pause | None:
    """The longest of some intervals: when it begins, and how long it lasts."""
    if not len(begins):
        return None
    at = int(np.argmax(ends - begins))
    return Pause(at_ns=int(begins[at]), ms=round(int(ends[at] - begins[at]) / 1e6, 1))


def _read_pause(clients: ClientsOfPartition, ended: Mapping[str, int]) -> Pause | None:
    found = []
    for name, times in clients.read_ns.items():
        to_read = clients.done_ns[clients.done_ns <= ended.get(name, clients.done_ns[-1])]
        whole = np.sort(np.append(times, to_read[-1:]))
        found += [one] if (one := _longest(whole[:-1], whole[1:])) else []
    return max(found, key=lambda one: one.ms, default=None)


def _error_windows(clients: ClientsOfPartition) -> tuple[ErrorWindow, ...]:
    """From the first error to the next acknowledgement; to the last error where none follows."""
    following = np.searchsorted(clients.done_ns, clients.failed_ns)
    windows = []
    for place in np.unique(following).tolist():
        errors = clients.failed_ns[following == place]
        resumed = place < len(clients.done_ns)
        end_ns = clients.done_ns[place] if resumed else errors[-1]
        begin_ns = int(errors[0])
        windows.append(ErrorWindow(begin_ns=begin_ns, end_ns=int(end_ns), errors=len(errors), resumed=resumed))
    return tuple(windows)


def _first_success(clients: ClientsOfPartition, fault: FaultFact) -> FirstSuccess | None:
    since_ns = fault.proved_ns or fault.inject_ns
    done = clients.done_ns[clients.sent_ns > since_ns]
    if not len(done):
        return None
    took_ms = round(int(done[0] - since_ns) / 1e6, 1)
    return FirstSuccess(fault=fault.description, kind=fault.kind, at_ns=since_ns, ms=took_ms)


def _rates(clients: ClientsOfPartition, begin_ns: int, struck_ns: Sequence[int]) -> tuple[float | None, float | None]:
    """The usual rate before the first fault, and the lowest from then on, in records a second."""
    first_ns = min(struck_ns, default=clients.last_sent_ns)
    before = (first_ns - begin_ns) // SECOND_NS
    seconds = np.bincount(((clients.done_ns - begin_ns) // SECOND_NS).clip(0, None), minlength=before)[:before]
    # A second begins a quarter after the one before it, so that no dip of one second is halved by where it lies.
    begins = np.arange(first_ns, clients.last_sent_ns - SECOND_NS, SECOND_NS // 4)
    within = np.searchsorted(clients.done_ns, begins + SECOND_NS) - np.searchsorted(clients.done_ns, begins)
    usual = float(np.median(seconds)) if len(seconds) else None
    return usual, float(within.min()) if len(within) and struck_ns else None
