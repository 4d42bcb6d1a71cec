"""Claims about the processors' time that brokers take while KRaft's controllers cannot be reached.

A thread's share is the time for which it ran, of the time for which it could have. The time for which it waited for a
processor is left out, so that a busy machine does not make a thread look idle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import ThreadTime, of
from evidence.run_state import RunState
from evidence.text import plural

RAFT_IO: Final = "raft-io"
FETCH_TIMEOUT_MS: Final = 2000
"""The default of controller.quorum.fetch.timeout.ms."""
SPINS: Final = 0.25
"""A thread that never waits for anything has a share near 1, or somewhat less where reading the clocks took long. One
that asks again each 20 ms (controller.quorum.retry.backoff.ms) had 0.05 at most."""
_SOURCE: Final = "KafkaRaftClient.pollFollowerAsObserver and maybeSendFetchToBestNode"


@claim("quorum-lost-thread-waits", source=f"{_SOURCE} (3.9.2, 4.1.2)", basis=Basis.SOURCE)
def quorum_lost_thread_waits(evidence: RunEvidence) -> Judged:
    """A broker that has not reached the controllers for controller.quorum.fetch.timeout.ms waits between two attempts.

    Its raft-io thread ran for less than a quarter of the time in which it could have.
    """
    rows = list(_away(evidence.run_state))
    wrong = [row for row in rows if row["share"] >= SPINS]
    return judged(rows, wrong, _seen(rows), "no thread was watched while its broker could not reach the controllers")


@claim("quorum-lost-thread-spins", source=f"{_SOURCE} (4.2.0, 4.3.1)", basis=Basis.SOURCE)
def quorum_lost_thread_spins(evidence: RunEvidence) -> Judged:
    """A broker that has not reached the controllers for controller.quorum.fetch.timeout.ms asks without a pause, and
    keeps a processor busy until it reaches them.

    Its raft-io thread ran for a quarter of the time or more in which it could have.
    """
    rows = list(_away(evidence.run_state))
    wrong = [row for row in rows if row["share"] < SPINS]
    return judged(rows, wrong, _seen(rows), "no thread was watched while its broker could not reach the controllers")


@claim("quorum-reached-thread-waits", source="KafkaRaftClient.poll (3.9.2 to 4.3.1)", basis=Basis.SOURCE)
def quorum_reached_thread_waits(evidence: RunEvidence) -> Judged:
    """A broker that reaches the controllers waits for their answers.

    Its raft-io thread ran for less than a quarter of the time in which it could have.
    """
    run_state = evidence.run_state
    rows = [_row(one) for one in _watched(run_state) if all(_reached(run_state, one))]
    wrong = [row for row in rows if row["share"] >= SPINS]
    return judged(rows, wrong, _seen(rows), "no thread was watched while its broker reached the controllers")


def _watched(run_state: RunState) -> Iterator[ThreadTime]:
    return (one for one in of(run_state.events, ThreadTime) if RAFT_IO in one.thread)


def _away(run_state: RunState) -> Iterator[dict[str, Any]]:
    """What was watched of brokers that had reached no controller for longer than the time-out when it began."""
    return (_row(one) for one in _watched(run_state) if not any(_reached(run_state, one)))


def _reached(run_state: RunState, watched: ThreadTime) -> Iterator[bool]:
    """Whether the broker could reach a controller a time-out before it was watched, and when that ended."""
    before_ns = watched.begin_ns - FETCH_TIMEOUT_MS * 1_000_000
    return (run_state.reaches_coordinator(watched.node, at_ns) for at_ns in (before_ns, watched.at_ns))


def _row(one: ThreadTime) -> dict[str, Any]:
    could_ns = max(one.elapsed_ns - one.waiting_ns, 1)
    row = {"node": one.node, "thread": one.thread, "at_ns": one.begin_ns, "until_ns": one.at_ns}
    return row | {"running_ns": one.running_ns, "share": round(one.running_ns / could_ns, 3)}


def _seen(rows: list[dict[str, Any]]) -> str:
    shares = [f"{row['node']} {row['share']:.0%}" for row in rows]
    return f"{plural(len(rows), 'thread')} had of the time in which they could run: {', '.join(shares)}"
