"""Small partitions, many at a time: what is trivially clean is told at a glance, the others are left to be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from analysis import trivially_clean
from analysis.checks_of_partition import check_partition, some_need_clean_ones
from analysis.partition import LARGE_ROWS, circumstances, cost_of_faults
from analysis.pieces import Piece
from analysis.real_time_lag import real_time_lag
from analysis.result import Result, Where
from analysis.run_files import apart, record_of, run_state_of
from analysis.trivially_clean import TriviallyClean
from checks.anomalies.stuck_reader import CONSUMER
from checks.anomaly import COPIES, DELETIONS, GROUP_FILES, HISTORY, MIN_INSYNC, SERVICE, SHARE_GROUPS, Reads
from checks.catalogue import checks_of
from checks.copies import Copies
from checks.group_files import NO_GROUP_FILES
from checks.service import Service
from checks.shares import NO_SHARE_GROUPS
from checks.view import Ints, PartitionView, closed_of, view_of
from evidence.availability import FEWEST
from evidence.findings import OK, CheckResult
from evidence.history.read import (
    NO_PARTITION,
    History,
    open_run,
    shared_rows,
    shares,
)
from evidence.run import RunRecord
from evidence.rundir import RunDir
from evidence.subjects import place_of

TOGETHER: Final = 512
"""Partitions that are looked at together."""


def look_together(work: Sequence[tuple[int, Piece]]) -> tuple[dict[int, Result], dict[int, History]]:
    """Of those pieces whose rows can be read together, by their places: the results of the trivially clean ones, and
    the histories of the others, each of which has to be checked.
    """
    run_dir = RunDir(Path(work[0][1].run_dir))
    run = record_of(run_dir)
    counted = set(map(place_of, run.subjects))
    small = [
        (place, (piece.topic, piece.partition))
        for place, piece in work
        if piece.topic and not piece.settled and (piece.topic, piece.partition) not in counted
    ]
    keys = shares(run_dir, run, [where for _, where in small])
    found = shared_rows(run_dir, run, keys) if keys else None
    history = open_run(run_dir, run, only=NO_PARTITION, counted=False)
    if found is None or history.problems:
        return {}, {}
    place_at = {where: place for place, where in small}
    rows = _Together(run_dir, run, keys, history, *found)
    consumers = {one.name for one in run.of_kind(CONSUMER)}
    closed_ns = {name: at_ns for name, at_ns in closed_of(history.operations).items() if name in consumers}
    seen = trivially_clean.look(rows.table, rows.key, len(keys), closed_ns)
    own = apart(run_dir)
    plain = [one for one in np.flatnonzero(seen.clean).tolist() if "{}-{}".format(*keys[one]) not in own]
    rest = sorted(set(range(len(keys))) - set(plain))
    return (
        {place_at[keys[one]]: result for one, result in rows.results(seen, plain).items()},
        {place_at[keys[one]]: rows.history_of(one) for one in rest if len(rows.rows_of(one)) < LARGE_ROWS},
    )


@dataclass(frozen=True, slots=True)
class _Together:
    """The rows of partitions that were read together; a partition goes by its number among `keys`."""

    run_dir: RunDir
    run: RunRecord
    keys: Sequence[Where]
    history: History
    table: pa.Table
    key: Ints

    def rows_of(self, one: int) -> pa.Table:
        first, last = np.searchsorted(self.key, [one, one + 1]).tolist()
        return self.table.slice(first, last - first)

    def history_of(self, one: int) -> History:
        return replace(self.history, tables={self.keys[one]: self.rows_of(one)})

    def view_of(self, one: int) -> PartitionView:
        return view_of(*self.keys[one], self.rows_of(one), **circumstances(self.run, self.history))

    def results(self, seen: TriviallyClean, plain: Sequence[int]) -> dict[int, Result]:
        """The results of trivially clean partitions; what was counted in all of them is in that of the first."""
        results = {one: Result() for one in plain}
        for one, result in results.items():
            if not seen.final[one]:
                result.unread(self.keys[one])
            if seen.sends[one] >= FEWEST:
                run_state = run_state_of(self.run_dir, self.keys[one])
                result.availability += cost_of_faults(
                    self.keys[one], self.rows_of(one), self.run, self.history, run_state
                )
            if some_need_clean_ones():
                self._check(one, result)
        if plain:
            _count(seen, plain, results[plain[0]])
        longest = trivially_clean.longest_lag(seen, plain, lambda one: real_time_lag(self.view_of(one)))
        if longest is not None:
            results[longest[0]].lags.append(longest[1])
        return results

    def _check(self, one: int, result: Result) -> None:
        view = self.view_of(one)  # of which there are no copies, no records were deleted, and the ISR was large enough
        given: dict[Reads, Any] = {
            HISTORY: view,
            COPIES: Copies(),
            DELETIONS: (),
            MIN_INSYNC: (),
            SERVICE: Service(self.run, run_state_of(self.run_dir, self.keys[one]), self.keys[one]),
            SHARE_GROUPS: NO_SHARE_GROUPS,
            GROUP_FILES: NO_GROUP_FILES,
        }
        check_partition(result, self.keys[one], given, lambda: view, clean=True)


def _count(seen: TriviallyClean, plain: Sequence[int], total: Result) -> None:
    names = dict.fromkeys(check.anomaly for check in checks_of("partition"))
    total.checks += [CheckResult(name=name, status=OK) for name in names]
    sends, polls = int(seen.sends[plain].sum()), int(seen.polls[plain].sum())
    total.statistics.update(
        partitions=len(plain),
        sends_ok=sends,
        sends_fail=0,
        sends_info=0,
        polled=polls,
        distinct_polled=sends,
        replica_records=0,
    )
