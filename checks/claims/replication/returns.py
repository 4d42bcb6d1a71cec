"""Claims about replicas whose broker has been started again: whether they come back into the ISR.

A broker's return is the proof of its start; what counts begins when the cluster takes it for alive. A replica that the
cluster lists for a partition with a leader has to be in the ISR again soon, as far as nothing strikes the broker, or
the leader, meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, faults, judged, timed
from evidence.basis import Basis
from evidence.events import NO_LEADER
from evidence.faults.process import StartProof
from evidence.nodes import broker, number_of
from evidence.run_state import ALIVE
from evidence.text import plural

BACK_MS: Final = 20_000
"""Nothing is documented: the replicas of a run are small, and a fetcher begins within a second."""


def _returns(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Of each broker that was started again, and each partition that it has a replica of: how long that stayed out of
    the ISR, until something struck the broker or the leader, or the run ended.
    """
    run_state = evidence.run_state
    for start in faults(run_state, StartProof):
        number = number_of(start.node)
        alive = [
            one.begin_ns
            for one in run_state.registrations.get(start.node, ())
            if one.value == ALIVE and one.begin_ns >= start.inject_ns
        ]
        for (topic, partition), states in run_state.states.items() if alive else ():
            held = [state for state in states if state.at_ns <= alive[0]][-1:]
            later = [state for state in states if state.at_ns > alive[0]]
            assigned = [one for one in (*held, *later) if one.replicas is not None and number in one.replicas]
            if not assigned or assigned[0].leader == NO_LEADER:
                continue
            from_ns = max(alive[0], assigned[0].at_ns)
            concerned = {start.node, broker(assigned[0].leader)}
            struck = [one.inject_ns for one in run_state.faults if one.inject_ns > from_ns and one.node in concerned]
            back = [one.at_ns for one in assigned if number in one.isr]
            until_ns = min([*struck, run_state.end_ns, *(max(at, from_ns) for at in back)])
            yield {
                "node": start.node,
                "topic": topic,
                "partition": partition,
                "at_ns": from_ns,
                "back": bool(back) and max(back[0], from_ns) <= until_ns,
                "took_ms": elapsed_ms(from_ns, until_ns),
                "bound_ms": BACK_MS,
            }


@claim(
    "restarted-replicas-return",
    source="Kafka documentation, Design: replication",
    basis=Basis.DOCUMENTATION,
    bound=f"nothing is documented: {BACK_MS} ms from when the cluster takes the broker for alive",
    bound_source="nothing is documented; what was seen is less",
    bound_basis=Basis.MEASURED,
)
def restarted_replicas_return(evidence: RunEvidence) -> Judged:
    """A broker that was started again has each of its replicas back in the ISR soon."""
    rows = [row for row in _returns(evidence) if row["back"] or row["took_ms"] > BACK_MS]
    return timed(
        rows,
        lambda row: f"a replica of {row['node']} was back in the ISR {row['took_ms'] / 1000:.1f} s after its return",
        "no broker with replicas was started again",
    )


@claim(
    "restarted-replica-stays-out",
    source="KAFKA-14616, KAFKA-6975",
    basis=Basis.JIRA,
    bound=f"out of the ISR for longer than the {BACK_MS} ms within which others are back",
    bound_source="nothing is documented; replicas that come back were seen to take less",
    bound_basis=Basis.MEASURED,
)
def restarted_replica_stays_out(evidence: RunEvidence) -> Judged:
    """A broker that was started again, and is taken for alive, has a replica that does not come back into the ISR,
    though the partition has a leader.
    """
    rows = list(_returns(evidence))
    out = [row for row in rows if not row["back"] and row["took_ms"] > BACK_MS]
    if out:
        longest = max(row["took_ms"] for row in out)
        return judged(out, (), f"{plural(len(out), 'replica')} not in the ISR for {longest / 1000:.0f} s and more", "")
    watched = [row for row in rows if row["back"]]
    return judged(
        watched, watched, f"{plural(len(watched), 'replica')} back", "no broker with replicas was started again"
    )
