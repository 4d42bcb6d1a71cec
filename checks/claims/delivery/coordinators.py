"""For how long the coordinator of groups, or of transactions, is gone when its broker is: killed, frozen, or cut off
from the others.

The coordinator is the leader of the partition that keeps the state. Its successor is elected when the broker's session
has ended. It reads the partition before it answers. How long that takes depends on what is there, and nothing is
documented of it: here these partitions have a few records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import (
    CLIENT_BOUND,
    CLIENT_MS,
    ELECTION_MS,
    SESSION_BOUND,
    elapsed_ms,
    session_bound_ms,
    session_ms,
    timed,
)
from evidence.basis import Basis
from evidence.events import OffsetCommit, Transaction, of
from evidence.faults.network import CutProof
from evidence.faults.process import FreezeProof, KillProof
from evidence.history.outcomes import OK
from evidence.nodes import broker
from evidence.run_state import FaultFact

OFFSETS, TRANSACTIONS = ("__consumer_offsets", 0), ("__transaction_state", 0)
ASK_MS: Final = 5000
"""A client that is not answered gives up after three times 1.5 s, and another one asks (harness/run/groups.py)."""
REST = (
    "of elections, the reading of the partition and clients nothing is documented, and the rest is more than was seen"
)
SESSIONS = "Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms"
TIME_OUTS = ("socket.timeout.ms", "request.timeout.ms")
"""Of a client that gets no answer: librdkafka's, Java's."""


def _gone(evidence: RunEvidence, where: tuple[str, int]) -> Iterator[tuple[FaultFact, str]]:
    """The faults that took the leader of a partition from all others, with its node."""
    for fault in evidence.run_state.faults:
        then = evidence.run_state.state_at(*where, fault.inject_ns)
        if then is not None and isinstance(fault.proof, KillProof | FreezeProof | CutProof):
            node, named = broker(then.leader), set(fault.nodes)
            reached_no_more = {receiver for sender, receiver in fault.links if sender == node}
            if node in named and (not fault.links or reached_no_more == named - {node}):
                yield fault, node


def _rows(evidence: RunEvidence, fault: FaultFact, node: str, done_ns: int, wait_ms: float) -> Iterator[dict[str, Any]]:
    """How long a coordinator was gone; nothing of one whose session nobody states."""
    limit_ms = session_ms(evidence.run, node)
    if limit_ms is not None:
        yield {
            "node": node,
            "fault": fault.kind,
            "at_ns": fault.whole_ns,
            "took_ms": elapsed_ms(fault.whole_ns, done_ns),
            "bound_ms": session_bound_ms(limit_ms) + ELECTION_MS + CLIENT_MS + wait_ms,
        }


@claim(
    "commits-pause-for-the-session",
    source="Kafka documentation, Implementation: consumer offset tracking",
    basis=Basis.DOCUMENTATION,
    bound=f"{SESSION_BOUND}. Then {ELECTION_MS} ms for the election, {ASK_MS} ms for a commit that is given up, and "
    f"{CLIENT_BOUND}",
    bound_source=f"{SESSIONS}; {REST}",
    bound_basis=Basis.MEASURED,
)
def commits_pause_for_the_session(evidence: RunEvidence) -> Judged:
    """When a group's coordinator is gone, commits pause until its broker's session has ended, and another broker has
    taken over.

    From the fault to the next commit that is acknowledged.
    """
    rows: list[dict[str, Any]] = []
    for fault, node in _gone(evidence, OFFSETS):
        later = [one.at_ns for one in of(evidence.run_state.events, OffsetCommit) if one.at_ns > fault.inject_ns]
        if later:
            rows += _rows(evidence, fault, node, later[0], ASK_MS)
    return timed(
        rows,
        lambda row: f"a commit was acknowledged {row['took_ms'] / 1000:.1f} s after the coordinator was gone",
        "nobody committed after a group's coordinator was gone",
    )


@claim(
    "transactions-pause-for-the-session",
    source="KIP-98",
    basis=Basis.KIP,
    bound=f"{SESSION_BOUND}. Then {ELECTION_MS} ms for the election, the producer's time-out for an answer "
    f"({', '.join(TIME_OUTS)}), and {CLIENT_BOUND}",
    bound_source=f"{SESSIONS}; {REST}",
    bound_basis=Basis.MEASURED,
)
def transactions_pause_for_the_session(evidence: RunEvidence) -> Judged:
    """When the coordinator of a transaction is gone, its commit pauses until its broker's session has ended, and
    another broker has taken over.

    From the fault to the commit of a transaction that was open.
    """
    rows: list[dict[str, Any]] = []
    told = of(evidence.run_state.events, Transaction)
    for fault, node in _gone(evidence, TRANSACTIONS):
        for commit in told:
            begun = [one for one in told if one.phase == "begin" and one.process == commit.process]
            was_open = any(
                one.transaction == commit.transaction and one.at_ns < fault.inject_ns < commit.at_ns for one in begun
            )
            if commit.phase == "commit" and commit.outcome == OK and was_open:
                process = evidence.run.process(commit.process)
                settings = process.settings if process is not None else {}
                wait_ms = max((float(settings[name]) for name in TIME_OUTS if name in settings), default=0.0)
                rows += _rows(evidence, fault, node, commit.at_ns, wait_ms)
    return timed(
        rows,
        lambda row: f"a transaction was committed {row['took_ms'] / 1000:.1f} s after its coordinator was gone",
        "no transaction was committed that was open when its coordinator was gone",
    )
