"""Claims about truncation: what a replica keeps of its log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import copied, faults, judged, start_after, truncations
from evidence.basis import Basis
from evidence.events import Moment, of
from evidence.faults.process import KillProof, PowerLossProof
from evidence.nodes import broker
from evidence.run_state import RunState
from evidence.text import plural


@claim("restarted-replica-keeps-its-log", source="KIP-101", basis=Basis.KIP)
def restarted_replica_keeps_its_log(evidence: RunEvidence) -> Judged:
    """A replica that restarts while its leader lives truncates nothing that it held when it died.

    A replica whose broker was killed and started again holds, when it is copied next, all that it held before.
    """
    rows = list(_restarted(evidence.run_state))
    wrong = [row for row in rows if row["lowest_end"] < row["log_end_before"]]
    nothing = "no replica was copied between its broker's death and its start, and after that"
    return judged(rows, wrong, plural(len(rows), "replica") + " restarted", nothing)


@claim("restarted-replica-truncates-to-high-watermark", source="KIP-101", basis=Basis.KIP)
def restarted_replica_truncates_to_high_watermark(evidence: RunEvidence) -> Judged:
    """A replica that restarts truncates what it held above its checkpointed high watermark (before 0.11)."""
    rows = [row for row in _restarted(evidence.run_state) if row["log_end_before"] > row["high_watermark_before"]]
    wrong = [row for row in rows if row["lowest_end"] != row["high_watermark_before"]]
    nothing = "no replica that died with records above its high watermark was copied then, and after its start"
    return judged(rows, wrong, plural(len(rows), "replica") + " restarted", nothing)


@claim("diverged-replica-truncates", source="KIP-101", basis=Basis.KIP)
def diverged_replica_truncates(evidence: RunEvidence) -> Judged:
    """A replica that returns to a leader elected with a shorter log truncates to the end that this log had."""
    restarted, rows = list(_restarted(evidence.run_state)), list[dict[str, Any]]()
    for row in restarted:
        topic, _, number = row["replica"].rpartition("-")
        state = evidence.run_state.state_at(topic, int(number), row["at_ns"])
        leader = None if state is None else broker(state.leader)
        shorter = [
            one["log_end_before"]
            for one in restarted
            if (one["node"], one["replica"]) == (leader, row["replica"]) and one["at_ns"] < row["at_ns"]
            if one["log_end_before"] < row["log_end_before"]
        ]
        rows += [row | {"leader": leader, "leader_log_end_before": shorter[-1]}] if shorter else []
    wrong = [row for row in rows if row["lowest_end"] != row["leader_log_end_before"]]
    nothing = "no replica returned to a leader that had been elected with a shorter log"
    return judged(rows, wrong, plural(len(rows), "replica") + " returned", nothing)


def _restarted(run_state: RunState) -> Iterator[dict[str, Any]]:
    """Replicas of brokers that were killed, or lost power, and were started: how far they went when they were copied
    while the broker was down and when it was up again, and the lowest end between, by its log.
    """
    deaths = [*faults(run_state, KillProof), *faults(run_state, PowerLossProof)]
    for kill in sorted(deaths, key=lambda one: one.inject_ns):
        started_ns = start_after(run_state, kill.node, kill.inject_ns)
        after = next((moment for moment in of(run_state.events, Moment) if moment.at_ns > started_ns), None)
        before = copied(run_state, kill.node, kill.inject_ns, started_ns) if after is not None else {}
        for name, ends in before.items():
            assert after is not None
            later = after.nodes.get(kill.node, {}).get(name, ends)
            cuts = truncations(run_state, kill.node, name, started_ns, after.at_ns)
            known = [end for end in (later.leo, *cuts) if end is not None]
            if ends.leo is not None and known:
                yield {
                    "node": kill.node,
                    "replica": name,
                    "at_ns": started_ns,
                    "log_end_before": ends.leo,
                    "high_watermark_before": ends.hw or 0,
                    "log_end_after": later.leo,
                    "lowest_end": min(known),
                }
