"""stuck-last-stable-offset: a transaction that ended long ago still blocks read_committed readers.

Input is the timeline: how far a partition's leader let it be read (harness/run/ends.py), and the transactions of the
run. Once all of these have ended, read_committed readers can read up to the high watermark as soon as the markers are
written, which takes a moment. If the end stays below the high watermark up to the last answer and for `STUCK_NS`,
nothing will move it.

The check says nothing where a transaction may be open: one without a confirmed end, or one of a client that does not
record its transactions in the timeline, such as a pipeline.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from checks.anomaly import (
    CLUSTER,
    SETTINGS,
    anomaly,
)
from evidence.basis import Basis
from evidence.events import EndsAnswer, Transaction, of
from evidence.run import RunRecord
from evidence.run_state import RunState

Evidence = dict[str, Any]

STUCK_NS: Final = 20_000_000_000


@anomaly("stuck-last-stable-offset", source="KIP-98; KIP-890", basis=Basis.KIP, reads=(CLUSTER, SETTINGS))
def stuck_last_stable_offset(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A partition's leader gave read_committed readers one and the same end, below the high watermark, from some moment
    on and for 20 s or more, although every transaction had ended before.
    """
    ended_ns = _all_ended_ns(run_state, run)
    if ended_ns is None:
        return []
    known = run.assignment
    told = [one for one in of(run_state.events, EndsAnswer) if one.asked_ns > ended_ns and one.of_one_leader]
    found = []
    for where in dict.fromkeys((one.topic, one.partition) for one in told if (one.topic, one.partition) in known):
        own = [one for one in told if (one.topic, one.partition) == where]
        held_back = [list(answers) for _, answers in groupby(own, _held_back_at)][-1]
        first, last = held_back[0], held_back[-1]
        if _held_back_at(last) is not None and last.at_ns - first.asked_ns >= STUCK_NS:
            row = {"topic": where[0], "partition": where[1], "offset": last.last_stable_offset}
            times = {"since_ns": first.asked_ns, "until_ns": last.at_ns, "ended_ns": ended_ns}
            found.append(row | {"high_watermark": last.high_watermark} | times)
    return found


def _held_back_at(answer: EndsAnswer) -> int | None:
    """The last stable offset where it is below the high watermark; None where it is not."""
    return answer.last_stable_offset if answer.last_stable_offset < answer.high_watermark else None


def _all_ended_ns(run_state: RunState, run: RunRecord) -> int | None:
    """When the last transaction of the run had ended, for all that is known; None if one may be open."""
    told = of(run_state.events, Transaction)
    clients = {process.name for process in run.processes if "transactional.id" in process.settings}
    if clients - {one.process for one in told}:
        return None
    last = {one.process: one for one in told}  # a process has one transaction at a time
    if any(one.phase == "begin" or one.outcome != "ok" for one in last.values()):
        return None
    return max((one.at_ns for one in told), default=0)
