"""Claims about a broker that starts again: which segments of its logs it reads through before it serves them.

How long it took to read them is told by the broker and measured, and decides over nothing: it is a matter of machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, faults, judged, start_after
from evidence.basis import Basis
from evidence.events import Checkpoint, Log, Moment, of
from evidence.faults.base import FaultProof
from evidence.faults.process import KillProof, StopProof
from evidence.run_state import ALIVE, RunState
from evidence.text import plural

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
ENDS: Final = (KillProof, StopProof)
RECOVERS: Final = "Recovering unflushed segment"
LOADED_MS: Final = re.compile(r" in (\d+) ?ms")


def _registered_ms(run_state: RunState, node: str, started_ns: int) -> float | None:
    """How long after its start a broker was registered."""
    alive = (one.begin_ns for one in run_state.registrations.get(node, ()) if one.value == ALIVE)
    then = next((begin_ns for begin_ns in alive if begin_ns > started_ns), None)
    return None if then is None else elapsed_ms(started_ns, then)


def _restarts(evidence: RunEvidence, kind: type[FaultProof]) -> Iterator[dict[str, Any]]:
    """Each replica of a broker that ended by such a fault and was started again: the segments that were there when it
    was down, the recovery point that its file had, and the segments that it recovered.
    """
    run_state = evidence.run_state
    for fault in faults(run_state, kind):
        started_ns = start_after(run_state, fault.node, fault.inject_ns)
        if fault.proved_ns is None or started_ns > run_state.end_ns:
            continue
        until_ns = min(
            (one.inject_ns for k in ENDS for one in faults(run_state, k) if one.inject_ns > started_ns), default=0
        )
        down = [one for one in of(run_state.events, Moment) if fault.inject_ns < one.at_ns < started_ns]
        points = [
            one
            for one in of(run_state.events, Checkpoint)
            if (one.node, one.file) == (fault.node, RECOVERY_POINTS) and fault.inject_ns < one.at_ns < started_ns
        ]
        if not down or not points:
            continue
        files = down[0].files.get(fault.node, {})
        for replica in sorted({path.partition("/")[0] for path in files if path.endswith(".log")}):
            topic, _, number = replica.rpartition("-")
            recovered = {
                one.offset
                for one in of(run_state.events, Log)
                if (one.node, one.event, one.topic, one.partition) == (fault.node, "recovery", topic, int(number))
                and RECOVERS in one.line
                and one.offset is not None
                and started_ns < one.at_ns
                and not 0 < until_ns <= one.at_ns
            }
            segments = {
                int(path.partition("/")[2].removesuffix(".log")): size
                for path, size in files.items()
                if path.startswith(f"{replica}/") and path.endswith(".log")
            }
            yield {
                "node": fault.node,
                "replica": replica,
                "at_ns": fault.inject_ns,
                "segments": sorted(segments),
                "recovery_point": (points[-1].offsets or {}).get(replica, 0),
                "recovered": sorted(recovered),
                "bytes": sum(size for base, size in segments.items() if base in recovered),
                "loaded_ms": _loaded_ms(run_state, fault.node, started_ns),
                "registered_ms": _registered_ms(run_state, fault.node, started_ns),
            }


def _loaded_ms(run_state: RunState, node: str, started_ns: int) -> int | None:
    """How long a broker took to read its logs after a start, by its own words."""
    lines = (
        one.line
        for one in of(run_state.events, Log)
        if (one.node, one.event) == (node, "logs-loaded") and one.at_ns > started_ns
    )
    found = next((took for line in lines if (took := LOADED_MS.search(line))), None)
    return None if found is None else int(found[1])


def _expected(row: dict[str, Any]) -> list[int]:
    """The segments from the one that has the recovery point on."""
    first = max((base for base in row["segments"] if base <= row["recovery_point"]), default=0)
    return [base for base in row["segments"] if base >= first]


def _told(row: dict[str, Any]) -> str:
    read = (
        f"{row['node']} read {len(row['recovered'])} of {plural(len(row['segments']), 'segment')} of {row['replica']}"
    )
    took = f", its logs in {row['loaded_ms']} ms" if row["loaded_ms"] is not None else ""
    after = f", registered after {row['registered_ms'] / 1000:.1f} s" if row["registered_ms"] is not None else ""
    return f"{read} ({row['bytes']} bytes){took}{after}"


@claim(
    "recovery-begins-at-recovery-point",
    source="Kafka documentation, broker configuration: log.flush.offset.checkpoint.interval.ms",
    basis=Basis.DOCUMENTATION,
    bound="none: the time for reading all logs, as the broker logs it, is measured for comparison",
    bound_source="nothing is documented: what is seen is compared",
    bound_basis=Basis.MEASURED,
)
def recovery_begins_at_recovery_point(evidence: RunEvidence) -> Judged:
    """After a kill a broker checks the segments from its checkpointed recovery point on, all of them and no other,
    before it serves them.
    """
    rows = list(_restarts(evidence, KillProof))
    wrong = [row for row in rows if row["recovered"] != _expected(row)]
    found = judged(rows, wrong, "; ".join(map(_told, rows)), "no broker was killed, looked at and started again")
    took = max((row["loaded_ms"] for row in rows if row["loaded_ms"] is not None), default=None)
    return replace(found, measured_ms=took)


@claim("clean-stop-recovers-nothing", source="Kafka documentation, Graceful shutdown", basis=Basis.DOCUMENTATION)
def clean_stop_recovers_nothing(evidence: RunEvidence) -> Judged:
    """After a clean stop a broker checks no segment."""
    rows = list(_restarts(evidence, StopProof))
    wrong = [row for row in rows if row["recovered"]]
    return judged(rows, wrong, plural(len(rows), "replica") + " not read", "no broker was stopped, and started again")
