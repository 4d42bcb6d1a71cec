"""What programs say that they processed, against what is in their outputs: a difference is a problem of the evidence.

The outputs count (checks/anomalies/processing.py); a program whose rows say otherwise is broken, or its history is.
"""

from __future__ import annotations

import numpy as np

from checks.applications import each_pipeline
from checks.view import PartitionView
from evidence.findings import Problem

NAMED = 5
"""Inputs that a problem names."""


def differing_outputs(view: PartitionView) -> list[Problem]:
    """Inputs that a program has told of as processed and no output names; and inputs that an output names of which no
    program told, unless a history that is not whole may have told of them.
    """
    return [problem for one in each_pipeline(view) for problem in _differing(one)]


def _differing(view: PartitionView) -> list[Problem]:
    if view.outputs is None:
        return []
    steps = view.processed
    nothing = np.zeros(0, np.int64)
    told, possible = (nothing, nothing) if steps is None else (steps.offset[steps.ok], steps.offset[~steps.fail])
    missing = np.setdiff1d(told, view.outputs.offset)
    unheard = nothing if view.writers_missing else np.setdiff1d(view.outputs.offset, possible)
    where = f"{view.topic}-{view.partition}"
    return [
        Problem("outputs differ", detail=f"{text}: {where}@{', '.join(map(str, inputs[:NAMED]))}")
        for inputs, text in (
            (missing, f"{len(missing)} inputs that a program calls processed are in no output"),
            (unheard, f"{len(unheard)} inputs were made into outputs that no program told of"),
        )
        if len(inputs)
    ]
