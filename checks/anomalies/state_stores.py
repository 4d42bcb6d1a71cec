"""state-store-leak: a store of an application has kept what was processed in a transaction that was aborted.

An application that keeps a result for each key has its outputs name the inputs that the result counts
(evidence/history/inputs.py). The final reader tells of both, as a reader of what is committed does. An input may be
counted as often as committed outputs name it: at least once may make an output of it twice, and count it twice.
"""

from __future__ import annotations

import numpy as np

from checks import excuses
from checks.anomaly import HISTORY, absent_if, anomaly
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, identity_of
from evidence.basis import Basis


def without_results(view: PartitionView) -> bool:
    """Whether no output states a result here."""
    return view.in_results is None


@anomaly(
    "state-store-leak",
    source="KIP-129",
    basis=Basis.KIP,
    reads=(HISTORY,),
    screened=absent_if(without_results),
    permitted="if the pipeline uses no transactions",
    permits=excuses.counted_at_least_once,
)
def state_store_leak(view: PartitionView) -> Rows:
    """The result of an output counts an input more often than committed outputs name that input: only a processing
    that was aborted explains it.

    Only with a reader of all outputs, who reads what is committed.
    """
    results, outputs = view.in_results, view.outputs
    if results is None or outputs is None:
        return Rows()
    named, times_named = np.unique(outputs.offset[outputs.ok], return_counts=True)
    counted, times_counted = np.unique(
        np.stack([results.value, results.offset])[:, results.ok], axis=1, return_counts=True
    )
    explained = np.zeros(len(times_counted), np.int64)
    place = np.searchsorted(named, counted[1])
    known = np.flatnonzero(place < len(named))
    known = known[named[place[known]] == counted[1][known]]
    explained[known] = times_named[place[known]]
    rows = np.flatnonzero(times_counted > explained)
    process = view.processes[results.process[0]] if len(rows) else ""
    return Rows(
        (
            {
                "offset": int(counted[1][row]),
                "result": identity_of(int(counted[0][row])),
                "counted": int(times_counted[row]),
                "outputs": int(explained[row]),
                "process": process,
            }
            for row in rows[:EVIDENCE_LIMIT].tolist()
        ),
        total=len(rows),
    )
