"""Claims about a broker with several log directories, one of which fails (KIP-112)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, judged, row_of, session_bound_ms, timed
from evidence.basis import Basis
from evidence.events import NO_LEADER
from evidence.faults.disks import BrokenDiskProof
from evidence.nodes import broker, number_of
from evidence.records import TopicPartition
from evidence.run_state import FaultFact
from evidence.text import plural

NOTICED_MS: Final = 15_000
"""A broker notices when it writes there next: at the next record or fetch, or when it checkpoints high watermarks, each
five seconds by default; then the controller is told, and elects."""
NOTHING: Final = "no log directory failed for long enough under a broker that has another"


def _replicas(evidence: RunEvidence) -> Iterator[tuple[FaultFact, TopicPartition, bool, int]]:
    """Each disk that failed, each replica of its broker in an ISR then, whether it was on that disk, and until when the
    broker was left alone. Only of disks without some of the broker's replicas.
    """
    run_state = evidence.run_state
    for fault, proof in run_state.proved(BrokenDiskProof):
        number = number_of(fault.node)
        held = [(where, run_state.state_at(*where, fault.inject_ns)) for where in run_state.states]
        own = [where for where, state in held if state is not None and number in state.isr]
        on = {where for where in own if f"{where[0]}-{where[1]}" in proof.replicas}
        if len(on) == len(own):
            continue
        later = (
            one.inject_ns for one in run_state.faults if one.node == fault.node and one.inject_ns > fault.inject_ns
        )
        end_ns = next(later, run_state.end_ns)
        for where in own:
            yield fault, where, where in on, end_ns


@claim(
    "failed-log-directory-is-left",
    source="KIP-112; KIP-858 (KRaft)",
    basis=Basis.KIP,
    bound=f"{NOTICED_MS} ms: the broker notices at its next write there, at the latest at the checkpoint of high "
    "watermarks (five seconds), and reports to the controller, which elects. To this 5% and 1500 ms for the machine",
    bound_source="Kafka documentation, broker configuration: "
    "replica.high.watermark.checkpoint.interval.ms; of the rest nothing is documented, and it "
    "is more than was seen",
    bound_basis=Basis.MEASURED,
)
def failed_directory_is_left(evidence: RunEvidence) -> Judged:
    """The replicas in a log directory that fails leave the ISR, and others lead in their place."""
    rows, bound_ms = [], session_bound_ms(NOTICED_MS)
    for fault, where, on_it, end_ns in _replicas(evidence):
        if on_it:
            gone = [
                one.at_ns
                for one in evidence.run_state.states[where]
                if fault.inject_ns < one.at_ns < end_ns
                and fault.node not in map(broker, one.isr)
                and one.leader not in (NO_LEADER, number_of(fault.node))
            ]
            took_ms = elapsed_ms(fault.inject_ns, min(gone, default=end_ns))
            if gone or took_ms > bound_ms:
                rows.append(row_of(fault, where) | {"gone": bool(gone), "took_ms": took_ms, "bound_ms": bound_ms})
    return timed(rows, _how_left, NOTHING)


def _how_left(row: Mapping[str, Any]) -> str:
    where, after = f"{row['topic']}-{row['partition']}", f"{row['took_ms'] / 1000:.1f} s"
    return f"{where} was {'' if row['gone'] else 'not yet '}without {row['node']} after {after}"


@claim("other-log-directory-goes-on", source="KIP-112; KIP-858 (KRaft)", basis=Basis.KIP)
def other_directory_goes_on(evidence: RunEvidence) -> Judged:
    """A broker that lost one of two log directories stays registered, and leads and follows with the replicas in the
    other.
    """
    rows = []
    for fault, where, on_it, end_ns in _replicas(evidence):
        if not on_it:
            then = evidence.run_state.state_at(*where, fault.inject_ns)
            later = [one for one in evidence.run_state.states[where] if fault.inject_ns < one.at_ns < end_ns]
            rows.append(
                row_of(fault, where)
                | {
                    "leaders": sorted({one.leader for one in later} - {then.leader if then else NO_LEADER}),
                    "left": any(fault.node not in map(broker, one.isr) for one in later),
                    "alive": evidence.run_state.alive_at(fault.node, end_ns - 1),
                    "process": evidence.run_state.condition_at(fault.node, end_ns - 1),
                }
            )
    wrong = [row for row in rows if row["leaders"] or row["left"] or not row["alive"] or row["process"] != "up"]
    return judged(rows, wrong, plural(len(rows), "replica") + " in another directory stayed in use", NOTHING)
