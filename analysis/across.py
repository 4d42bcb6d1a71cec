"""The checks that cross partitions: torn and half-committed transactions, and cycles of them.

Each piece of a run tells what its partition shows of transactions (`Result.gathered`). These rows are brought together
by what belongs together, and the functions of checks/anomalies/ look at each group:

    torn-transaction, transaction-half-committed    the rows of one transaction
    G0, G1c                                         the dependencies among transactions that may be in a cycle

`in_one_process` has all rows of a run in memory. `on_spark` shuffles them, so that no machine, the driver included,
needs more than one group and the first rows of what is found. Both find the same, evidence included: rows of a group
are in the order of the pieces, and what is found is in the order of transactions.

A graph is cut into groups that no cycle leaves. All transactions are put in the order of the first time that any
partition tells of them. A dependency on a later transaction spans an interval of that order, from the earlier to the
later one. A cycle that reaches from its first transaction to its last must come back by such dependencies, so their
intervals, which meet at least, cover it. Intervals that meet are put together; a cycle lies in one of the results, and
dependencies between them, and those outside, are in none. Where transactions hardly overlap hardly anything is left.
Where all overlap one group has them all, as it is in one process.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from analysis.result import Result
from checks.anomalies.cycles import Transaction, ends_of
from checks.anomaly import Check, gathered_by
from checks.catalogue import checks_of
from checks.view import EVIDENCE_LIMIT, Evidence, Rows

if TYPE_CHECKING:
    from pyspark import RDD

ACROSS: Final = "across partitions"
Row = dict[str, Any]
Moment = tuple[int, Transaction]
"""A transaction's place in the order of all: its first time (ns), and its name where times are the same."""
Interval = tuple[Moment, Moment]


class GatheredRow(NamedTuple):
    """A row that a piece told."""

    run: str
    kind: str
    """What is gathered (checks.anomaly.Gathered.name)."""
    at: tuple[int, int]
    """The number of the piece, and of the row among those of this kind."""
    row: Row


class Group(NamedTuple):
    """Rows that belong together, and to no other."""

    run: str
    kind: str
    rows: list[tuple[tuple[int, int], Row]]


@dataclass(frozen=True, slots=True)
class GroupFindings:
    """What a check found in some groups: how much, the first of it, and the first crash."""

    total: int = 0
    rows: tuple[Evidence, ...] = ()
    crash: str = ""
    seconds: float = 0.0

    def __add__(self, other: GroupFindings) -> GroupFindings:
        rows = sorted((*self.rows, *other.rows), key=first_transaction)[:EVIDENCE_LIMIT]
        crashes = sorted(filter(None, (self.crash, other.crash)))
        return GroupFindings(self.total + other.total, tuple(rows), "".join(crashes[:1]), self.seconds + other.seconds)


class _CrashedError(Exception):
    """A check crashed in a task; the text is the crash."""


def first_transaction(row: Evidence) -> tuple[str, int]:
    """The transaction by which evidence of these checks is put in order."""
    process, number = row["transactions"][0] if "transactions" in row else (row["process"], row["transaction"])
    return process, number


def _checks_of_kind(kind: str) -> list[Check]:
    return [check for check in checks_of(ACROSS) if gathered_by(check).name == kind]


# In one process


def in_one_process(results: Iterable[Result]) -> Result:
    """What the checks find in what the pieces of a run told."""
    gathered: dict[str, list[Row]] = {}
    for result in results:
        for name, rows in result.gathered.items():
            gathered.setdefault(name, []).extend(rows)
    found = Result()
    for check in checks_of(ACROSS):
        found.run(check, None, partial(check.function, gathered.get(gathered_by(check).name, [])))
    return found


# On Spark


def on_spark(told: RDD[GatheredRow], runs: Iterable[str]) -> dict[str, Result]:
    """What the checks find in the rows of several runs, by run."""
    by = {gathered_by(check).name: gathered_by(check).by for check in checks_of(ACROSS)}
    tasks = told.context.defaultParallelism  # left to themselves, joins of joins have more tasks each time
    keyed = told.filter(lambda one: bool(by[one.kind])).map(
        lambda one: ((one.run, one.kind, *(one.row[name] for name in by[one.kind])), (one.at, one.row))
    )
    groups = keyed.groupByKey(tasks).map(lambda group: Group(group[0][0], group[0][1], list(group[1])))
    cycles = _groups_of_graphs(told.filter(lambda one: not by[one.kind]), tasks)
    pairs = groups.union(cycles).flatMap(check_group).reduceByKey(add, tasks).collect()
    found: dict[tuple[str, str], GroupFindings] = dict(pairs)
    return {run: _result(run, found) for run in runs}


def _result(run: str, found: Mapping[tuple[str, str], GroupFindings]) -> Result:
    result = Result()
    for check in checks_of(ACROSS):
        result.run(check, None, partial(_evidence, found.get((run, check.anomaly), GroupFindings())))
    return result


def _evidence(found: GroupFindings) -> Rows:
    if found.crash:
        raise _CrashedError(found.crash)
    return Rows(found.rows, total=found.total)


def check_group(group: Group) -> Iterator[tuple[tuple[str, str], GroupFindings]]:
    """What each check finds in a group, by run and anomaly. Never raises: a crash is what is found."""
    rows = [row for _, row in sorted(group.rows, key=lambda one: one[0])]
    for check in _checks_of_kind(group.kind):
        begun = time.monotonic()
        try:
            evidence = check.function(rows)
            total = evidence.total if isinstance(evidence, Rows) else len(evidence)
            found = GroupFindings(total, tuple(evidence))
        except Exception as error:
            found = GroupFindings(crash=f"{type(error).__name__}: {error}")
        yield (group.run, check.anomaly), GroupFindings(found.total, found.rows, found.crash, time.monotonic() - begun)


# Graphs on Spark


def _groups_of_graphs(told: RDD[GatheredRow], tasks: int) -> RDD[Group]:
    """The dependencies that may be in cycles, those of one interval together."""
    first_ns = told.flatMap(_times_of).reduceByKey(min, tasks)
    by_before = told.map(lambda one: ((one.run, ends_of(one.row)[0]), one)).join(first_ns, tasks)
    by_after = by_before.map(
        lambda pair: ((pair[1][0].run, ends_of(pair[1][0].row)[1]), (pair[1][0], pair[1][1]))
    ).join(first_ns, tasks)
    placed = by_after.map(lambda pair: (pair[1][0][0], moments(pair[1][0][0].row, pair[1][0][1], pair[1][1]))).cache()
    spans = placed.mapPartitions(_spans).reduceByKey(lambda one, other: merged([*one, *other]), tasks).collectAsMap()
    return (
        placed.flatMap(lambda pair: _of_interval(pair[0], pair[1], spans.get((pair[0].run, pair[0].kind), [])))
        .groupByKey(tasks)
        .map(lambda group: Group(group[0][0], group[0][1], list(group[1])))
    )


def _times_of(told: GatheredRow) -> Iterator[tuple[tuple[str, Transaction], int]]:
    before, after = ends_of(told.row)
    yield (told.run, before), told.row["before_ns"]
    yield (told.run, after), told.row["after_ns"]


def moments(row: Row, before_ns: int, after_ns: int) -> Interval:
    """The places of a dependency's two transactions in the order of all."""
    before, after = ends_of(row)
    return (before_ns, before), (after_ns, after)


def _spans(placed: Iterable[tuple[GatheredRow, Interval]]) -> Iterator[tuple[tuple[str, str], list[Interval]]]:
    """The intervals of dependencies that go back in the order, put together for each run."""
    of_run: dict[tuple[str, str], list[Interval]] = {}
    for told, (before, after) in placed:
        if after < before:
            of_run.setdefault((told.run, told.kind), []).append((after, before))
    for key, intervals in of_run.items():
        yield key, merged(intervals)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Intervals of which those that meet, be it in one transaction, are one; ascending."""
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _of_interval(
    told: GatheredRow, ends: Interval, intervals: Sequence[Interval]
) -> Iterator[tuple[tuple[str, str, int], tuple[tuple[int, int], Row]]]:
    """The dependency, by the interval in which both of its ends lie; nothing if there is none."""
    number = bisect_right(intervals, min(ends), key=lambda one: one[0]) - 1
    if number >= 0 and max(ends) <= intervals[number][1]:
        yield (told.run, told.kind, number), (told.at, told.row)
