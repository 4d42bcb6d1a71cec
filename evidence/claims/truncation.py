"""Claims about truncation: what a replica keeps of its log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evidence.claims.basis import Claim, Judged, Witness, count, judged
from evidence.course import Course
from evidence.events import Log, Moment, of


def restarted_replica_keeps_its_log(witness: Witness) -> Judged:
    """A replica whose broker was killed and started again holds, when it is copied next, all that it held before."""
    faults = witness.course.faults
    rows: list[dict[str, Any]] = []
    for kill in (fault for fault in faults if fault.kind == "kill"):
        starts = [f for f in faults if (f.kind, f.node) == ("start", kill.node) and f.inject_ns > kill.inject_ns]
        rows += _restarted(witness.course, kill.node, kill.inject_ns, starts[0].inject_ns) if starts else ()
    wrong = [row for row in rows if row["lowest_end"] < row["log_end_before"]]
    nothing = "no replica was copied between its broker's death and its start, and after that"
    return judged(rows, wrong, count(len(rows), "replica") + " restarted", nothing)


def _restarted(course: Course, node: str, killed_ns: int, started_ns: int) -> Iterator[dict[str, Any]]:
    """How far a node's replicas went when they were copied while it was down and when it was up again, and the lowest
    end between, by its log.
    """
    moments = of(course.events, Moment)
    before = next((m for m in moments if killed_ns < m.at_ns < started_ns), None)
    after = next((m for m in moments if m.at_ns > started_ns), None)
    if before is None or after is None:
        return
    for name, ends in before.nodes.get(node, {}).items():
        later = after.nodes.get(node, {}).get(name, ends)
        cuts = [
            log.offset
            for log in of(course.events, Log)
            if (log.node, log.event, f"{log.topic}-{log.partition}") == (node, "truncate", name)
            and started_ns < log.at_ns <= after.at_ns
        ]
        known = [end for end in (later.leo, *cuts) if end is not None]
        if ends.leo is not None and known:
            yield {
                "node": node,
                "replica": name,
                "at_ns": started_ns,
                "log_end_before": ends.leo,
                "log_end_after": later.leo,
                "lowest_end": min(known),
            }


CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        name="restarted-replica-keeps-its-log",
        says="A replica that restarts while its leader lives truncates nothing that it held when it died.",
        source="KIP-101",
        judge=restarted_replica_keeps_its_log,
    ),
)
