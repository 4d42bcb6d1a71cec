"""Several applications that have the same inputs: which processes, and which outputs, are whose.

An application is a group: its processes share the inputs of a partition, at once or one after the other, and each group
has all of them. Outputs say by which process they were made. So two applications are told apart, even if they write to
one topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checks.pipelines import Pipeline
from checks.view import SEQUENCE_BITS, Bools, PartitionView, Steps


def each_pipeline(view: PartitionView) -> Iterator[PartitionView]:
    """A partition as each application by itself has worked on it. With one application, or none, that is the partition.

    An output that no known application has made is nobody's then.
    """
    if len(view.pipelines) < 2:
        yield view
        return
    for one in view.pipelines:
        own = [code for code, name in enumerate(view.processes) if name in one.processes]
        yield replace(
            view,
            processed=_some(view.processed, own),
            committed_offsets=_some(view.committed_offsets, own),
            outputs=None if view.outputs is None else _rows(view.outputs, _made_by(view.outputs, one)),
        )


def _some(steps: Steps | None, processes: list[int]) -> Steps | None:
    """The steps of some processes; None without any, as for a partition that no pipeline works on."""
    if steps is None:
        return None
    found = _rows(steps, np.isin(steps.process, processes))
    return found if len(found) else None


def _made_by(outputs: Steps, pipeline: Pipeline) -> Bools:
    return np.isin(outputs.value >> SEQUENCE_BITS, list(pipeline.producers))


def _rows(steps: Steps, which: Bools) -> Steps:
    return replace(
        steps,
        offset=steps.offset[which],
        value=steps.value[which],
        ok=steps.ok[which],
        fail=steps.fail[which],
        op=steps.op[which],
        transaction=steps.transaction[which],
        completed_ns=steps.completed_ns[which],
        process=steps.process[which],
    )
