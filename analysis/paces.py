"""How long an application takes that is left alone: from the acknowledgement of an input until its output is there.

A scenario gives it inputs, first slowly, so that none waits for another one, and then many at once (`Paced` in the
timeline). The producers' histories say when each input was acknowledged. A consumer that reads what is committed says
when it was given an output, whoever made it: an output in a transaction is there when the transaction is committed. Of
outputs in a store the application's own history says when the store had committed them. Which output was made of which
input the outputs say themselves, as the final reader found them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evidence.events import Paced, of
from evidence.findings import Pace
from evidence.history import schema
from evidence.history.read import open_run
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.rundir import RunDir

Times = Mapping[int, int]
"""By an input's offset: CLOCK_MONOTONIC nanoseconds."""


def paces_of(run_dir: RunDir, run: RunRecord, run_state: RunState) -> list[Pace]:
    """What a run measured; nothing of inputs of which one was not acknowledged or has no output."""
    found = (_pace_in(run_dir, run, one) for one in of(run_state.events, Paced))
    return [one for one in found if one is not None]


def _pace_in(run_dir: RunDir, run: RunRecord, asked: Paced) -> Pace | None:
    @cache
    def table_of(topic: str) -> pa.Table | None:
        where = topic, asked.partition
        return open_run(run_dir, run, only=where, counted=False).tables.get(where)

    def rows(topic: str, kind: str) -> list[dict[str, int]]:
        table = table_of(topic)
        return [] if table is None else _rows(table, kind, asked.reader if kind == schema.POLL else "")

    made = {(row["producer"], row["sequence"]): row["offset"] for row in rows(asked.topic, schema.OUTPUT)}
    seen = rows(asked.output, schema.POLL) if asked.output else rows(asked.topic, schema.PROCESSED)
    outputs = [row for row in seen if (row["producer"], row["sequence"]) in made]
    there = earliest((made[row["producer"], row["sequence"]], row["completed_ns"]) for row in outputs)
    acknowledged = earliest((row["offset"], row["completed_ns"]) for row in rows(asked.topic, schema.SEND))
    return pace(asked, acknowledged, there)


def _rows(table: pa.Table, kind: str, process: str) -> list[dict[str, int]]:
    """The rows of a kind that ended well; of one process, if it is named."""
    which = pc.and_(pc.equal(table["kind"], kind), pc.equal(table["outcome"], schema.OK))
    if process:
        which = pc.and_(which, pc.equal(table["process"], process))
    found = table.filter(which).select(["producer", "sequence", "offset", "completed_ns"])
    rows: list[dict[str, int]] = found.drop_null().to_pylist()
    return rows


def earliest(times: Iterable[tuple[int, int]]) -> Times:
    """Of each input the first time that is told of it.

    >>> earliest([(0, 5), (0, 3), (1, 9)])
    {0: 3, 1: 9}
    """
    found: dict[int, int] = {}
    for offset, at_ns in times:
        found[offset] = min(at_ns, found.get(offset, at_ns))
    return found


def pace(asked: Paced, acknowledged: Times, there: Times) -> Pace | None:
    """How long the inputs took; None if one of them was not acknowledged, or has no output, for then nobody knows."""
    slowly, at_once = (range(*asked.latency), range(*asked.throughput))
    if not slowly or not at_once or any(at not in acknowledged or at not in there for at in (*slowly, *at_once)):
        return None
    took_ms = list(_took_ms(slowly, acknowledged, there))
    elapsed_s = (max(there[at] for at in at_once) - min(acknowledged[at] for at in at_once)) / 1e9
    if elapsed_s <= 0:
        return None
    p50, p99 = (round(float(np.percentile(took_ms, share)), 1) for share in (50, 99))
    return Pace(
        topic=asked.topic,
        partition=asked.partition,
        seen_by=asked.reader,
        latency_p50_ms=p50,
        latency_p99_ms=p99,
        inputs_per_s=round(len(at_once) / elapsed_s, 1),
        timed=(len(slowly), len(at_once)),
    )


def _took_ms(inputs: Iterable[int], acknowledged: Times, there: Times) -> Iterator[float]:
    """A producer may hear that an input is in the log after its output is there: that took no time."""
    for at in inputs:
        yield max(0, there[at] - acknowledged[at]) / 1e6
