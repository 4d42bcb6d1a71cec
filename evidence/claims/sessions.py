"""Claims about registrations: how long a broker that is gone is taken for alive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evidence.claims.basis import (
    SESSION_BOUND,
    Claim,
    Judged,
    Witness,
    session_bound_ms,
    session_ms,
    timed,
)
from evidence.course import ALIVE, DOWN, DYING, FaultFact


def dead_broker_leaves_in_session(witness: Witness) -> Judged:
    """A killed broker's registration ends no later than its session after its death."""
    rows = [
        row for fault in witness.course.faults if fault.kind == "kill" for row in _session(witness, fault.node, fault)
    ]
    return timed(
        rows,
        lambda row: f"the registration of {row['node']} ended {row['took_ms'] / 1000:.1f} s after its death",
        "no registration of a killed broker ended",
    )


def _session(witness: Witness, node: str, kill: FaultFact) -> Iterator[dict[str, Any]]:
    """How long the registration that a broker had when it was killed lasted on, if that was seen: not if the broker was
    started again before it ended, or the run ended before the bound.
    """
    course, limit_ms = witness.course, session_ms(witness.run, node)
    gone = (one for one in course.processes.get(node, ()) if one.value in (DYING, DOWN))
    died = next((one for one in gone if one.end_ns > kill.inject_ns), None)
    if died is None or limit_ms is None or not course.alive_at(node, died.begin_ns):
        return
    registrations = course.registrations[node]
    held = next(one for one in registrations if one.value == ALIVE and one.end_ns > died.begin_ns)
    took_ms = round((held.end_ns - died.begin_ns) / 1e6, 1)
    bound_ms = session_bound_ms(limit_ms)
    starts = [f.inject_ns for f in course.faults if f.kind == "start" and f.node == node]
    restarted = any(died.begin_ns < start_ns < held.end_ns for start_ns in starts)
    if not restarted and (held != registrations[-1] or took_ms > bound_ms):
        yield {"node": node, "at_ns": died.begin_ns, "took_ms": took_ms, "bound_ms": bound_ms}


CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        name="dead-broker-leaves-in-session",
        says="The registration of a broker that was killed ends within its session.",
        source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms",
        judge=dead_broker_leaves_in_session,
        bound=SESSION_BOUND,
    ),
)
