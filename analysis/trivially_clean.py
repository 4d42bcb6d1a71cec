"""Small partitions recognised as trivially clean many at a time, in place of one after another.

Reading a small partition and running every check on it takes milliseconds, whatever is in it, and of a hundred thousand
nearly all hold nothing that a check could find. So those that share sealed files are read together, and a few passes
over the rows of all of them tell which are *trivially clean*:

    sends    all ok, of no transaction, each value and each offset once, no offset left out; of each process upward in
             offset, value, operation and invocation; none is answered late (checks.service.LATE_NS)
    polls    all ok, undamaged, of no transaction, each of a value at the offset where it was sent; a process goes
             from each offset to the next
    a process that did not read the last value had been given something shortly before it ended
    each value was read, and every answer about the log's end, and every final read, lies beyond all of them
    no other rows but reservations, assignments and revocations; no error is named
    the timeline has no copies of the partition and no truncation of its log

In such a partition no check finds anything that says so (checks.anomaly.RowsNeeded.clean; a property test holds that
against the checks themselves), and it has no part in a transaction. It is counted, and the one with the longest
real-time lag is looked at; every other is checked as always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checks.anomalies.last_stable_offset import STUCK_NS
from checks.service import LATE_NS
from checks.view import NEVER_CLOSED, NO_IDENTITY, Bools, Ints, value_of
from evidence.history import schema
from evidence.spans import NEVER_NS

NONE: Final = -1
ANSWERS: Final = (schema.END_OFFSETS, schema.FINAL_READ)
MOVES: Final = (schema.ASSIGN, schema.REVOKE)
KNOWN: Final = (schema.SEND, schema.POLL, schema.RESERVE, *ANSWERS, *MOVES)


@dataclass(frozen=True, slots=True)
class TriviallyClean:
    """What is known of partitions that were looked at together, an entry for each."""

    clean: Bools
    sends: Ints
    polls: Ints
    final: Bools
    """Whether a final read came to its end."""
    lag_ns: Ints
    """No real-time lag is longer; it is this one unless the partition was given or taken away meanwhile."""


@dataclass(frozen=True, slots=True)
class _RowsOfKind:
    """Rows of a kind. `same`: whether the row before is of the same partition and process."""

    key: Ints
    same: Bools
    offset: Ints
    value: Ints
    op: Ints
    invoked_ns: Ints
    completed_ns: Ints
    sound: Bools
    """Ok, of no transaction, not damaged, with a value and an offset."""

    def steps(self, column: Ints, least: int, most: int = NEVER_NS) -> Bools:
        """Whether the step from the row before, if it is of the same partition and process, is within these bounds."""
        fine = np.ones(len(self.key), np.bool_)
        step = np.diff(column)
        fine[1:] = ~self.same[1:] | ((step >= least) & (step <= most))
        return fine


def _numbers(table: pa.Table, name: str) -> Ints:
    return np.asarray(pc.fill_null(table[name], NONE).to_numpy(), np.int64)


def _is(table: pa.Table, name: str, *words: str) -> Bools:
    return np.asarray(pc.is_in(table[name], value_set=pa.array(words, pa.string())).to_numpy(), np.bool_)


def _rows(table: pa.Table, key: Ints, which: Bools) -> _RowsOfKind:
    rows, key = table.filter(pa.array(which)), key[which]
    process = pc.dictionary_encode(rows["process"].combine_chunks()).indices.to_numpy(zero_copy_only=False)
    same = np.zeros(len(key), np.bool_)
    same[1:] = (key[1:] == key[:-1]) & (process[1:] == process[:-1])
    value = value_of(_numbers(rows, "producer"), _numbers(rows, "sequence"))
    offset = _numbers(rows, "offset")
    damaged = pc.fill_null(pc.invert(rows["valid"]), False).to_numpy()
    sound = _is(rows, "outcome", schema.OK) & (_numbers(rows, "transaction") < 0) & ~damaged
    return _RowsOfKind(
        key=key,
        same=same,
        offset=offset,
        value=value,
        op=_numbers(rows, "op"),
        invoked_ns=_numbers(rows, "invoked_ns"),
        completed_ns=_numbers(rows, "completed_ns"),
        sound=sound & (value != NO_IDENTITY) & (offset >= 0),
    )


def look(table: pa.Table, key: Ints, count: int, closed_ns: Mapping[str, int] = NEVER_CLOSED) -> TriviallyClean:
    """Look at the rows of `count` partitions, those of each together (evidence.history.read.shared_rows); `key` is the
    number of each row's partition, ascending. `closed_ns`: when consumers ended properly.
    """
    irregular = np.zeros(count, np.bool_)
    irregular[key[~_is(table, "kind", *KNOWN) | pc.is_valid(table["error_name"]).to_numpy()]] = True
    sends = _rows(table, key, _is(table, "kind", schema.SEND))
    polls = _rows(table, key, _is(table, "kind", schema.POLL))
    fine = sends.sound & (sends.invoked_ns >= 0) & sends.steps(sends.op, 0) & sends.steps(sends.invoked_ns, 0)
    fine &= sends.completed_ns - sends.invoked_ns <= LATE_NS
    irregular[sends.key[~(fine & sends.steps(sends.offset, 1) & sends.steps(sends.value, 1))]] = True
    irregular[polls.key[~(polls.sound & polls.steps(polls.op, 0) & polls.steps(polls.offset, 1, 1))]] = True
    irregular[_again(sends.key, sends.value)] = True
    place = _Places.of(sends, count, irregular)
    at = place.find(polls)
    irregular[polls.key[at < 0]] = True
    read = np.bincount(at[at >= 0], minlength=len(sends.key)) > 0
    irregular[sends.key[place.order][~read]] = True
    irregular[_left_behind(table, key, place.last, closed_ns)] = True
    ends = table.filter(pa.array(_is(table, "kind", *ANSWERS)))
    of_end, offset = key[_is(table, "kind", *ANSWERS)], _numbers(ends, "offset")
    irregular[of_end[~_is(ends, "outcome", schema.OK) | (offset <= place.last[of_end])]] = True
    final = np.zeros(count, np.bool_)
    final[of_end[_is(ends, "kind", schema.FINAL_READ)]] = True
    return TriviallyClean(
        clean=~irregular,
        sends=np.bincount(sends.key, minlength=count),
        polls=np.bincount(polls.key, minlength=count),
        final=final,
        lag_ns=_lags(sends, polls, place.order, at, count),
    )


def _left_behind(table: pa.Table, key: Ints, last: Ints, closed_ns: Mapping[str, int]) -> Ints:
    """The partitions that a process was given, and of which it got not all, and nothing for long before it ended."""
    which = _is(table, "kind", schema.POLL, schema.ASSIGN)
    rows, key = table.filter(pa.array(which)), key[which]
    names = pc.dictionary_encode(rows["process"].combine_chunks())
    ended_ns = np.array([closed_ns.get(name, NONE) for name in names.dictionary.to_pylist()], np.int64)
    code = names.indices.to_numpy(zero_copy_only=False)
    if not len(key) or not (ended_ns >= 0).any():
        return np.zeros(0, np.int64)
    # Of each process and partition the latest row and the furthest offset, NONE if it was only given the partition.
    place, at = np.unique(key * len(ended_ns) + code, return_inverse=True)
    latest_ns, read = np.full(len(place), NONE, np.int64), np.full(len(place), NONE, np.int64)
    np.maximum.at(latest_ns, at, _numbers(rows, "completed_ns"))
    np.maximum.at(read, at, np.where(_is(rows, "kind", schema.POLL), _numbers(rows, "offset"), NONE))
    given = np.bincount(at, _is(rows, "kind", schema.ASSIGN)) > 0
    own, until_ns = place // len(ended_ns), ended_ns[place % len(ended_ns)]
    stuck = given & (read < last[own]) & (until_ns - latest_ns >= STUCK_NS)
    return np.asarray(own[stuck & (until_ns >= 0)], np.int64)


def _again(key: Ints, number: Ints) -> Ints:
    """The partitions in which a number is there twice."""
    order = np.lexsort((number, key))
    key, number = key[order], number[order]
    return np.asarray(key[1:][(key[1:] == key[:-1]) & (number[1:] == number[:-1])], np.int64)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where what was sent lies: sends by partition and offset."""

    order: Ints
    value: Ints
    begins: Ints
    """The index of each partition's first send in `order`, with the number of sends last."""
    first: Ints
    """The first offset of each partition."""
    last: Ints
    """The last; NONE where nothing was sent."""

    @classmethod
    def of(cls, sends: _RowsOfKind, count: int, irregular: Bools) -> _Places:
        """Marks as irregular the partitions whose offsets are not one after another."""
        order = np.lexsort((sends.offset, sends.key))
        key, offset = sends.key[order], sends.offset[order]
        irregular[key[1:][(key[1:] == key[:-1]) & (np.diff(offset) != 1)]] = True
        begins = np.searchsorted(key, np.arange(count + 1))
        some = np.diff(begins) > 0
        first, last = np.full(count, NONE, np.int64), np.full(count, NONE, np.int64)
        first[some], last[some] = offset[begins[:-1][some]], offset[begins[1:][some] - 1]
        return cls(order, sends.value[order], begins, first, last)

    def find(self, polls: _RowsOfKind) -> Ints:
        """The index in `order` of what each poll read; NONE if there is no such value at that offset."""
        at = self.begins[polls.key] + polls.offset - self.first[polls.key]
        there = (polls.offset >= self.first[polls.key]) & (at < self.begins[polls.key + 1])
        found = np.full(len(at), NONE, np.int64)
        found[there] = np.where(self.value[at[there]] == polls.value[there], at[there], NONE)
        return found


def _lags(sends: _RowsOfKind, polls: _RowsOfKind, order: Ints, at: Ints, count: int) -> Ints:
    """By partition, the longest time from when a value was known to be in the log until a poll was invoked that
    returned it first; 0 if there was none.
    """
    known_ns = np.where(sends.completed_ns >= 0, sends.completed_ns, NEVER_NS)[order]
    told = (at >= 0) & (polls.completed_ns >= 0)
    np.minimum.at(known_ns, at[told], polls.completed_ns[told])
    began = np.zeros(len(at), np.bool_)
    began[1:] = polls.same[1:] & (np.diff(polls.op) != 0)
    began &= (at >= 0) & (polls.invoked_ns >= 0)
    found = np.zeros(count, np.int64)
    np.maximum.at(found, polls.key[began], polls.invoked_ns[began] - known_ns[at[began]])
    return found


def longest_lag(
    found: TriviallyClean, which: Sequence[int], lag_of: Callable[[int], dict[str, Any] | None]
) -> tuple[int, dict[str, Any]] | None:
    """Which of some trivially clean partitions has the longest real-time lag, the first of equals, and the lag, which
    `lag_of` tells of one of them; None if nobody waited.
    """
    best: tuple[int, dict[str, Any]] | None = None
    for place in sorted(which, key=lambda place: (-found.lag_ns[place], place)):
        least = (0, 0) if best is None else (int(best[1]["lag_ns"]), -best[0])
        if (int(found.lag_ns[place]), -place) <= least:
            break
        lag = lag_of(place)
        if lag is not None and (int(lag["lag_ns"]), -place) > least:
            best = place, lag
    return best
