"""stuck-last-stable-offset: a transaction that ended long ago still blocks read_committed readers.

Input is the timeline: how far a partition's leader let it be read (harness/run/ends.py), and the transactions of the
run. Once all of these have ended, read_committed readers can read up to the high watermark as soon as the markers are
written, which takes a moment. If the end stays below the high watermark up to the last answer and for `STUCK_NS`,
nothing will move it.

An application does not record its transactions in the timeline, and of one that was killed nobody knows whether its
last transaction has ended. But when it is gone, the coordinator ends what it has left open. It waits no longer than
transaction.timeout.ms, and looks every minute before 2.5 and every 10 s since (KAFKA-9417). A transaction that is still
open much later hangs, if no fault has lasted meanwhile (KIP-890 tells how that came about). A clock that was set may
have put its time-out off.

The check says nothing where a transaction may be open by right: one without a confirmed end, or of a client that does
not record its transactions, while that client is there.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from checks.anomalies.availability import calm_since
from checks.anomaly import CLUSTER, SETTINGS, anomaly
from checks.settings import transactions_swept_ms
from evidence.basis import Basis
from evidence.events import ClientEnded, EndsAnswer, Transaction, of
from evidence.faults.clients import KillClientProof
from evidence.faults.clock import ClockStepProof
from evidence.run import ProcessRecord, RunRecord
from evidence.run_state import RunState

Evidence = dict[str, Any]

STUCK_NS: Final = 20_000_000_000
SPARE_NS: Final = 50_000_000_000
"""For a look that comes late, or has to be repeated, and for the markers: ours."""
TIME_OUT: Final = "transaction.timeout.ms"
TIME_OUT_MS: Final = 60_000
"""The default of producers; Kafka Streams' own is shorter (KIP-98, KIP-447)."""
LONGEST: Final = "transaction.max.timeout.ms"
LONGEST_MS: Final = 900_000
"""Its default: brokers refuse producers that ask for more (KIP-98)."""


@anomaly("stuck-last-stable-offset", source="KIP-98; KIP-890", basis=Basis.KIP, reads=(CLUSTER, SETTINGS))
def stuck_last_stable_offset(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A partition's leader gave read_committed readers one and the same end, below the high watermark, from some moment
    on and for 20 s or more, although every transaction had ended before.

    One has ended when that was answered, or when its client was gone for longer than coordinators wait, and no fault
    lasted.
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
    last = {one.process: one for one in told}  # a process has one transaction at a time
    gone = _gone(run_state)
    asked_ns = max((one.at_ns for one in of(run_state.events, EndsAnswer)), default=0)
    calm_ns, within_ns = calm_since(run_state, asked_ns), transactions_swept_ms(run) * 1_000_000 + SPARE_NS
    clocks_were_set = any(True for _ in run_state.proved(ClockStepProof))
    ended_ns = max((one.at_ns for one in told), default=0)
    for process in filter(_has_transactions, run.processes):
        known = last.get(process.name)
        if known is not None and known.phase != "begin" and known.outcome == "ok":
            continue
        if process.name not in gone or clocks_were_set:
            return None
        timed_out_ns = gone[process.name] + _time_out_ns(run, process)
        ended_ns = max(ended_ns, max(timed_out_ns, calm_ns) + within_ns)
    return ended_ns


def _gone(run_state: RunState) -> dict[str, int]:
    """Since when the process of an application is gone: it was killed, or has ended."""
    killed = {name: fact.whole_ns for fact, _ in run_state.proved(KillClientProof) for name in fact.nodes}
    return {one.process: one.at_ns for one in of(run_state.events, ClientEnded)} | killed


def _has_transactions(process: ProcessRecord) -> bool:
    """Whether a client may have transactions: by its transactional.id, or as a process of Kafka Streams or Connect."""
    settings = process.settings
    return (
        "transactional.id" in settings
        or settings.get("processing.guarantee", "").startswith("exactly_once")
        or settings.get("exactly.once.source.support") == "enabled"
    )


def _time_out_ns(run: RunRecord, process: ProcessRecord) -> int:
    """After how long the coordinator ends a transaction of this client: of one of the user's own that does not say, the
    longest that brokers take.
    """
    settings = process.settings
    if run.own_client is not None and run.is_own_client(process):
        taken = [int(value) for name, value in run.settings.items() if name.rpartition(":")[2] == LONGEST]
        settings = {TIME_OUT: str(max(taken, default=LONGEST_MS)), **run.own_client.defaults, **settings}
    stated = [int(value) for name, value in settings.items() if name.endswith(TIME_OUT) and value.isdigit()]
    return max([TIME_OUT_MS, *stated]) * 1_000_000
