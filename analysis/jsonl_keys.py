"""Keys of histories of others: what is found in each, and what they tell of each other.

To the checks a key is a topic of one partition, a value is a sequence number of one producer, and lines are times. What
the history stated for either is put back into the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from analysis.checks_of_partition import some_need_clean_ones
from analysis.jsonl_reader import NONE, OffsetStep, Others, PartitionLines, ValueLines
from analysis.real_time_lag import real_time_lag
from analysis.result import Result
from checks.anomalies.cycles import DEPENDENCIES
from checks.anomalies.transactions import TRANSACTIONS
from checks.anomaly import HISTORY, Check
from checks.catalogue import checks_of
from checks.settled_operations import OPERATION, TRANSACTION, Operation, Settled
from checks.view import (
    FinalReadEnd,
    Ints,
    PartitionView,
    Polls,
    Reservation,
    Rows,
    Sends,
    Steps,
    pack,
    settled_steps,
)
from evidence.findings import OK, CheckResult, Problem
from evidence.history import schema
from evidence.spans import NEVER_NS

PRODUCER: Final = 1
"""All values of a key are this producer's."""
GATHERED: Final = (TRANSACTIONS, DEPENDENCIES)
"""What is gathered of each key. How a reader was isolated is not stated: nothing is said of half-committed ones."""
NO_ACKS: Final = -2
Times = Sequence[int] | Mapping[int, int]
"""The time that each line states, NONE if it states none."""
LINES: Final = ("invoked_ns", "completed_ns", "in_log_ns", "polled_ns")
"""Times in evidence, which are lines to the checks."""


# What the reads of all keys say of unknown operations


class UnknownSends(NamedTuple):
    """What keys tell of an operation of unknown outcome that sent something."""

    proven: bool
    """An ok poll has one of its values."""
    absent: bool
    """None of its values was read, and the log was read to its end after the operation had ended."""

    def __add__(self, other: tuple[Any, ...]) -> UnknownSends:
        return UnknownSends(self.proven or other[0], self.absent and other[1])


def unknown_sends(key: PartitionLines, others: Others) -> dict[Operation, UnknownSends]:
    """What a key tells of the operations of unknown outcome that sent something there."""
    sent = [row for row in key.sends if row.outcome == schema.INFO]
    if not sent:
        return {}
    good = {row.value for row in key.polls if row.outcome == schema.OK}
    clean = {row.value for row in key.polls if row.outcome == schema.OK and row.process not in others.uncommitted}
    given, end = {row.value for row in key.polls}, _final(others, key)
    told: dict[Operation, UnknownSends] = {}
    for row in sent:
        name = (TRANSACTION if row.transaction != NONE else OPERATION, row.process, row.op)
        proven = row.value in (clean if row.transaction != NONE else good)
        one = UnknownSends(proven, row.value not in given and _over(row.completed, end))
        told[name] = told[name] + one if name in told else one
    return told


def settled_by(told: Iterable[tuple[Operation, UnknownSends]]) -> Settled:
    """Which operations of unknown outcome are proven by what all keys tell, and which are absent in each of them."""
    found: dict[Operation, UnknownSends] = {}
    for name, one in told:
        found[name] = found[name] + one if name in found else one
    return Settled(
        frozenset(name for name, one in found.items() if one.proven),
        frozenset(name for name, one in found.items() if one.absent and not one.proven),
    )


def _over(completed: int, final: FinalReadEnd | None) -> bool:
    """Whether an operation had ended when the end offset was asked for, up to which its log was read."""
    return final is not None and NONE < completed <= final.asked_ns


def _final(others: Others, key: PartitionLines) -> FinalReadEnd | None:
    """The final read that was asked for last; None if a damaged line may have held records that were read."""
    if not key.ends or others.readers_missing:
        return None
    last = max(key.ends)
    return FinalReadEnd(offset=last.offset, asked_ns=last.asked)


# One key


def _trivially_clean(key: PartitionLines, others: Others, settled: Settled) -> bool:
    """Whether a key can have no anomaly: the values that are acknowledged or proven lie in order, each at its own
    offset; readers went from each offset to the next and read those values only.
    """
    if key.processed or key.commits:
        return False
    place = _places(key)
    if place is None:
        return False
    last: dict[str, int] = {}
    for row in key.sends:
        offset = place.get(row.value)
        if offset is None:
            if row.outcome == schema.INFO and (OPERATION, row.process, row.op) in settled.proven:
                return False
            continue
        if offset <= last.get(row.process, NONE) or row.offset not in (NONE, offset):
            return False
        last[row.process] = offset
    offsets = sorted(place.values())
    ranks = {offset: rank for rank, offset in enumerate(offsets)}
    if len(ranks) != len(place) or any(end.offset <= offset for end in key.ends for offset in offsets[-1:]):
        return False
    before: dict[str, tuple[int, int]] = {}
    for row in key.polls:
        rank, op = before.get(row.process, (NONE, NONE))
        here = ranks[row.offset]
        if op != NONE and here != rank + 1 and not _began_anew(key, others, row.process, op, row.op):
            return False
        before[row.process] = (here, row.op)
    return not (last.keys() & before.keys() or others.overlapping & (last.keys() | before.keys()))


def _places(key: PartitionLines) -> dict[int, int] | None:
    """The offset of each value that was acknowledged or read; None if one was not read, or the key is
    not trivially clean.
    """
    sent: dict[int, ValueLines] = {}
    for row in key.sends:
        if row.transaction != NONE or row.value in sent or (row.outcome == schema.OK and row.offset == NONE):
            return None
        sent[row.value] = row
    place: dict[int, int] = {}
    for row in key.polls:
        writer = sent.get(row.value)
        if row.outcome != schema.OK or row.transaction != NONE or writer is None or writer.outcome == schema.FAIL:
            return None
        if place.setdefault(row.value, row.offset) != row.offset or (writer.begun and row.completed < writer.invoked):
            return None
    return place if all(row.outcome != schema.OK or row.value in place for row in key.sends) else None


def _began_anew(key: PartitionLines, others: Others, process: str, before: int, after: int) -> bool:
    return any(before < change <= after for change in others.changes(key, process))


def _longest_lag(key: PartitionLines, others: Others) -> int:
    """The real-time lag of a trivially clean key (analysis.real_time_lag); 0 if no consumer waited."""
    times, longest = others.times, 0
    since: dict[int, int] = {}
    for row in (*key.sends, *key.polls):
        at_ns = times[row.completed]
        if row.outcome == schema.OK and at_ns >= 0:
            since[row.value] = min(since.get(row.value, NEVER_NS), at_ns)
    before: dict[str, int] = {}
    for row in key.polls:
        op = before.get(row.process, NONE)
        polled_ns = times[row.invoked] if row.begun else NONE
        lag_ns = polled_ns - since.get(row.value, NEVER_NS)
        first = op not in (NONE, row.op) and polled_ns >= 0
        if first and lag_ns > longest and not _began_anew(key, others, row.process, op, row.op):
            longest = lag_ns
        before[row.process] = row.op
    return longest


def _column(rows: Sequence[Any], place: int) -> Ints:
    return np.array([row[place] for row in rows], dtype=np.int64)


def _numbers(key: PartitionLines) -> list[int]:
    """The sequence of each value: values in the order in which they were sent, then those that were only read."""
    order: dict[int, int] = {}
    for row in sorted(key.sends, key=lambda row: row.invoked):
        order.setdefault(row.value, len(order))
    for value in range(len(key.values)):
        order.setdefault(value, len(order))
    return [order[value] for value in range(len(key.values))]


def _view(name: str, key: PartitionLines, others: Others, settled: Settled, numbers: Sequence[int]) -> PartitionView:
    """The view of a key that the checks are given, with line numbers for times."""
    names = sorted({row.process for rows in (key.sends, key.polls, key.processed, key.commits) for row in rows})
    code = {process: number for number, process in enumerate(names)}
    value = pack(PRODUCER, np.array(numbers, dtype=np.int64))
    sends, polls = key.sends, key.polls
    ok, fail = (np.array([row.outcome == word for row in sends], dtype=np.bool_) for word in (schema.OK, schema.FAIL))
    everything = Reservation(producer=PRODUCER, first=0, count=len(numbers))
    readers = {row.process for row in polls}
    changed = {process: others.changes(key, process) for process in readers}
    return PartitionView(
        topic=name,
        partition=0,
        processes=tuple(names),
        sends=Sends(
            value=value[_column(sends, 0)],
            offset=_column(sends, 1),
            ok=ok,
            fail=fail,
            info=~(ok | fail),
            acks=np.full(len(sends), NO_ACKS, np.int64),
            op=_column(sends, 3),
            transaction=_column(sends, 4),
            invoked_ns=_column(sends, 5),
            completed_ns=_column(sends, 6),
            process=np.array([code[row.process] for row in sends], dtype=np.int64),
        ),
        polls=Polls(
            value=value[_column(polls, 0)],
            offset=_column(polls, 1),
            valid=np.ones(len(polls), dtype=np.bool_),
            good=np.array([row.outcome == schema.OK for row in polls], dtype=np.bool_),
            op=_column(polls, 3),
            transaction=_column(polls, 4),
            completed_ns=_column(polls, 6),
            process=np.array([code[row.process] for row in polls], dtype=np.int64),
            invoked_ns=np.array([row.invoked if row.begun else NONE for row in polls], dtype=np.int64),
        ),
        # What a damaged line may have sent is no phantom.
        reservations=(everything,) if others.writers_missing else (),
        final=_final(others, key),
        assignments={code[process]: np.array(ops, dtype=np.int64) for process, ops in changed.items() if ops},
        uncommitted_readers=frozenset(code[process] for process in others.uncommitted & readers),
        readers_missing=others.readers_missing,
        writers_missing=others.writers_missing,
        unordered=frozenset(code[process] for process in others.overlapping & set(names)),
        processed=settled_steps(_steps(key.processed, code), names, settled),
        committed_offsets=settled_steps(
            _steps(key.commits, code), names, settled.transactions if key.commits else settled
        ),
        settled=settled,
    )


def _steps(rows: Sequence[OffsetStep], code: Mapping[str, int]) -> Steps | None:
    if not rows:
        return None
    return Steps(
        offset=_column(rows, 0),
        value=np.full(len(rows), NONE, np.int64),
        ok=np.array([row.outcome == schema.OK for row in rows], dtype=np.bool_),
        fail=np.array([row.outcome == schema.FAIL for row in rows], dtype=np.bool_),
        op=_column(rows, 2),
        transaction=_column(rows, 3),
        completed_ns=_column(rows, 4),
        process=np.array([code[row.process] for row in rows], dtype=np.int64),
    )


def _timed(view: PartitionView, times: Times) -> PartitionView:
    """The view with the times that the history stated in place of lines."""

    def of(lines: Ints) -> Ints:
        return np.array([times[line] if line >= 0 else NONE for line in lines.tolist()], dtype=np.int64)

    sends, polls = view.sends, view.polls
    return replace(
        view,
        sends=replace(sends, invoked_ns=of(sends.invoked_ns), completed_ns=of(sends.completed_ns)),
        polls=replace(polls, invoked_ns=of(polls.invoked_ns), completed_ns=of(polls.completed_ns)),
    )


def _restored(evidence: Any, values: Sequence[Any], times: Times | None) -> Any:
    """Evidence with the history's own values and times in place of sequences and lines."""
    if isinstance(evidence, Mapping):
        plain = {}
        for name, part in evidence.items():
            if name in LINES and isinstance(part, int):
                stated = part if times is None else times[part]
                plain[name] = None if stated == NONE else stated
            elif name not in ("producer", "sequence"):
                plain[name] = _restored(part, values, times)
        number = evidence.get("sequence")
        return plain if number is None else {"value": values[number]} | plain
    if isinstance(evidence, list):
        return [_restored(part, values, times) for part in evidence]
    return evidence


def _told(find: Callable[[], Sequence[Mapping[str, Any]]], values: Sequence[Any], times: Times) -> Rows:
    """What a check finds, with the history's own values and times; records of others have no identity of ours."""
    rows = find()
    plain = [{name: part for name, part in row.items() if name not in ("records", "read")} for row in rows]
    return Rows(_restored(plain, values, times), total=rows.total if isinstance(rows, Rows) else None)


def _read_too_soon(name: str, key: PartitionLines, others: Others) -> Iterator[str]:
    """Values that were read before their send was invoked: the order of lines is wrong, or values are not unique."""
    begun: dict[int, int] = {}
    for row in key.sends:
        begun[row.value] = min(begun.get(row.value, NEVER_NS), row.invoked if row.begun else NONE)
    for row in key.polls:
        if NONE < row.completed < begun.get(row.value, NONE):
            yield (
                f"line {row.completed}: {row.process} read {json.dumps(key.values[row.value])} of {name}, and line "
                f"{begun[row.value]} is where its send was invoked; lines are to be in the order of events"
            )


def _checks() -> list[Check]:
    """The checks that read nothing but what clients sent and read."""
    return [check for check in checks_of("partition") if check.reads == (HISTORY,)]


def _check_key(name: str, key: PartitionLines, others: Others, settled: Settled, result: Result) -> None:
    """Check one key; what it comes to is added to the result."""
    numbers = _numbers(key)
    values = [key.values[value] for value in np.argsort(numbers).tolist()]
    view = _view(name, key, others, settled, numbers)
    own = Result()
    for check in _checks():
        own.run(check, (name, 0), partial(_told, partial(check.function, view), values, others.times))
    result.checks += own.checks
    result.findings += own.findings
    for kind in GATHERED:
        result.gather(kind.name, (_restored(one, values, None) for one in kind.function(view)))
    lag = real_time_lag(_timed(view, others.times))
    result.lags += [] if lag is None else [_restored(lag, values, None)]
    too_soon = list(_read_too_soon(name, key, others))
    if too_soon:
        more = f" ({len(too_soon)} such in this key)" if len(too_soon) > 1 else ""
        result.problems.append(Problem("read before it was sent", detail=too_soon[0] + more))


def check_keys(others: Others, settled: Settled) -> Iterator[tuple[str, Result]]:
    """What is found of each key that is not trivially clean, by its name, and last (named "") how much all have. A key
    whose check raises has a crashed check.
    """
    longest, skip = 0, not some_need_clean_ones()
    counts = Result()
    counts.statistics["partitions"] = len(others.keys)
    for name, key in sorted(others.keys.items()):
        _count(key, counts)
        clean = skip and _trivially_clean(key, others, settled)
        lag_ns = _longest_lag(key, others) if clean else 0
        longest = max(longest, lag_ns)
        if not clean or lag_ns == longest > 0:
            found = Result()
            try:
                _check_key(name, key, others, settled, found)
            except Exception as error:
                found.crashed(name, error)
            yield name, found
    yield "", counts


def of_lines(others: Others) -> Result:
    """What was found in lines, before any key is looked at."""
    result = Result(problems=others.problems)
    result.unknown_errors.update(others.errors)
    result.checks += [CheckResult(name=one.anomaly, status=OK) for one in _checks()]
    result.statistics.update(sends_ok=0, sends_fail=0, sends_info=0, polled=0)
    return result


def _count(key: PartitionLines, result: Result) -> None:
    for row in key.sends:
        result.statistics[f"sends_{row.outcome}"] += 1
    result.statistics["polled"] += len(key.polls)
