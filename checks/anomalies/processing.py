"""A pipeline that consumes, processes and produces: its committed offsets, compared with its processed inputs.

    committed-too-far    an offset was committed while an input below it had not been processed
    skipped-processing   an input was never processed, and the pipeline has committed an offset beyond it
    repeated-processing  an input was processed more than once

An input is a record of this partition that some ok poll returned, from the first one on that the pipeline itself
received: it may begin anywhere. Values of transactions that are not committed for sure are no inputs. It is processed
once its output is committed for sure.

The *output* shows which inputs were processed, and how often: each output names its input, and the final reader lists
all outputs (`view.outputs`). The pipelines' own rows show when; a killed pipeline may have recorded less than it did.
Without a reader of outputs (histories of others), only the pipelines' rows exist. Then unknown outputs may exist, so an
output of unknown outcome neither makes an input processed twice nor leaves it unprocessed (the evidence of the output's
own partition counts). Where a writer's history is missing, inputs may have been processed without a row: none is called
skipped.

Which of the three are wrong depends on the semantics that the pipeline was given (at most once, at least once, exactly
once).

Several applications with the same inputs are judged each by itself (checks/applications.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from checks import excuses
from checks.anomaly import (
    DELIVERY,
    HISTORY,
    absent_if,
    anomaly,
)
from checks.applications import each_pipeline
from checks.shares import deliveries
from checks.view import EVIDENCE_LIMIT, NO_IDENTITY, Ints, PartitionView, Rows, Steps, identity_of, known
from evidence.basis import Basis
from evidence.history import schema
from evidence.spans import NEVER_NS

NAMED: Final = 20
"""Inputs that one row of evidence names."""
UNKNOWN_NS: Final = 0
"""Of what was processed by nobody knows when: it may have been before anything else."""


def _inputs(view: PartitionView) -> Ints:
    """Offsets of inputs, ascending."""
    polls, sends = view.polls, view.sends
    steps = [one for one in (view.processed, view.committed_offsets) if one is not None]
    own = [process for one in steps for process in np.unique(one.process).tolist()]
    made = [one.offset for one in (view.processed, view.outputs) if one is not None]
    pending = sends.value[(sends.transaction >= 0) & ~view.committed]
    good = polls.good & (polls.offset >= 0)
    begins = np.concatenate([polls.offset[good & np.isin(polls.process, own)], *made])
    if not len(begins):
        return np.zeros(0, np.int64)
    counts = good & (polls.value != NO_IDENTITY) & ~np.isin(polls.value, pending) & (polls.offset >= begins.min())
    return np.unique(polls.offset[counts])


def _processed_at(inputs: Ints, view: PartitionView) -> Ints:
    """When each input may first have been processed; NEVER_NS for those that were not."""
    at_ns = np.full(len(inputs), NEVER_NS, np.int64)
    processed, outputs = view.processed, view.outputs
    if processed is not None:
        rows = np.flatnonzero(~processed.fail & np.isin(processed.offset, inputs))
        np.minimum.at(at_ns, np.searchsorted(inputs, processed.offset[rows]), processed.completed_ns[rows])
    if outputs is not None:
        there = np.isin(inputs, outputs.offset)
        at_ns[~there] = NEVER_NS
        at_ns[there & ((at_ns == NEVER_NS) | view.writers_missing)] = UNKNOWN_NS
    return at_ns


def _blind(view: PartitionView) -> bool:
    """Whether inputs may have been processed that nothing tells of."""
    return view.writers_missing and view.outputs is None


def _step(view: PartitionView, steps: Steps, row: int) -> dict[str, Any]:
    transaction = {} if steps.transaction[row] < 0 else {"transaction": int(steps.transaction[row])}
    return {
        "process": view.processes[steps.process[row]],
        "completed_ns": known(steps.completed_ns[row]),
        **transaction,
    }


def _passed(view: PartitionView) -> dict[str, Any] | None:
    """The step with which a pipeline came furthest, with the offset below which inputs are passed; None without one."""
    steps = []
    if (committed := view.committed_offsets) is not None and committed.ok.any():
        steps.append((committed, int(np.flatnonzero(committed.ok)[np.argmax(committed.offset[committed.ok])])))
    if (outputs := view.outputs) is not None and len(outputs):
        steps.append((outputs, int(np.argmax(outputs.offset))))
    reached = [{"offset": int(of.offset[row])} | _step(view, of, row) for of, row in steps]
    return max(reached, key=lambda step: int(step["offset"]), default=None)


def without_pipelines(view: PartitionView) -> bool:
    """Whether no pipeline processed or committed anything here."""
    return view.processed is None and view.committed_offsets is None and not view.outputs


@anomaly(
    "committed-too-far",
    source=DELIVERY,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=absent_if(without_pipelines),
)
def committed_too_far(view: PartitionView) -> Rows:
    """A pipeline committed an offset beyond an input that it had not processed."""
    return _together(view, _committed_too_far)


def _together(view: PartitionView, find: Callable[[PartitionView], Rows]) -> Rows:
    """What is found of each application."""
    found = [find(one) for one in each_pipeline(view)]
    return Rows((row for rows in found for row in rows), total=sum(rows.total for rows in found))


def _committed_too_far(view: PartitionView) -> Rows:
    committed = view.committed_offsets
    if committed is None or _blind(view):
        return Rows()
    inputs = _inputs(view)
    at_ns = _processed_at(inputs, view)
    rows = Rows()
    for row in np.flatnonzero(committed.ok & (committed.completed_ns >= 0)).tolist():
        below = inputs[: np.searchsorted(inputs, committed.offset[row])]
        late = below[at_ns[: len(below)] > committed.completed_ns[row]]
        if len(late):
            rows.total += 1
            if len(rows) < EVIDENCE_LIMIT:
                unprocessed = {"unprocessed": late[:NAMED].tolist(), "unprocessed_count": len(late)}
                rows.append({"offset": int(committed.offset[row]), **_step(view, committed, row), **unprocessed})
    return rows


@anomaly(
    "skipped-processing",
    source=DELIVERY,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=absent_if(without_pipelines),
)
def skipped_processing(view: PartitionView) -> Rows:
    """A pipeline never processed an input that it had passed.

    It has passed what lies below an offset that it has committed, or below an input that an output names.
    """
    return _together(view, _skipped_processing)


def _skipped_processing(view: PartitionView) -> Rows:
    passed = _passed(view)
    if passed is None or _blind(view):
        return Rows()
    inputs = _inputs(view)
    skipped = inputs[(_processed_at(inputs, view) == NEVER_NS) & (inputs < passed["offset"])]
    value = {int(view.polls.offset[row]): row for row in np.flatnonzero(np.isin(view.polls.offset, skipped)).tolist()}
    return Rows(
        (
            {"offset": offset, **identity_of(int(view.polls.value[value[offset]])), "committed": passed}
            for offset in skipped[:EVIDENCE_LIMIT].tolist()
        ),
        total=len(skipped),
    )


@anomaly(
    "repeated-processing",
    source=DELIVERY,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=absent_if(without_pipelines),
    permitted="if the pipeline uses no transactions and does not commit first, and its members may have lost inputs "
    "shortly before",
    permits=excuses.processed_at_least_once,
)
def repeated_processing(view: PartitionView) -> Rows:
    """A pipeline processed an input more than once.

    Inputs that several outputs name; without a reader of outputs, inputs of which more than one processing took effect.
    A row says how often the input can have been handed to a member: once in each stay of a member with the partition,
    and of a share group's member once with each delivery. Of each output it says when its program had made it, as far
    as the program told.
    """
    return _together(view, _repeated_processing)


def _repeated_processing(view: PartitionView) -> Rows:
    done = view.processed if view.outputs is None else view.outputs
    if done is None:
        return Rows()
    offset, count = np.unique(done.offset[done.ok], return_counts=True)
    several = offset[count > 1]
    handed, told_ns = _handed(view), _told_ns(view)
    return Rows(
        (_repeated(view, done, one, told_ns) | handed(one) for one in several[:EVIDENCE_LIMIT].tolist()),
        total=len(several),
    )


def _told_ns(view: PartitionView) -> dict[int, int]:
    """When a program had made each output, as it told itself. The final reader tells when it has read the output."""
    told = view.processed
    if told is None:
        return {}
    rows = np.flatnonzero(~told.fail & (told.value != NO_IDENTITY) & (told.completed_ns >= 0))
    return dict(zip(told.value[rows].tolist(), told.completed_ns[rows].tolist(), strict=True))


def _handed(view: PartitionView) -> Callable[[int], dict[str, int]]:
    """How often an input can have been handed to a member, as a part of its row; empty where no member said what it was
    given.
    """
    if view.shares:
        given = Counter(step.offset for step in deliveries(view.shares))
        return lambda offset: {"handed": given[offset]}
    stays = sum(step.kind == schema.ASSIGN for step in view.members)
    return lambda offset: {"handed": stays} if stays else {}


def _repeated(view: PartitionView, done: Steps, offset: int, told_ns: Mapping[int, int]) -> dict[str, Any]:
    """The row of an input, with its outputs."""

    def output(row: int) -> dict[str, Any]:
        value = int(done.value[row])
        if value == NO_IDENTITY:
            return _step(view, done, row)
        processed = {"processed_ns": told_ns[value]} if value in told_ns else {}
        return _step(view, done, row) | {"output": identity_of(value)} | processed

    outputs = [output(row) for row in np.flatnonzero(done.ok & (done.offset == offset)).tolist()]
    return {"offset": offset, "process": outputs[-1]["process"], "outputs": outputs}
