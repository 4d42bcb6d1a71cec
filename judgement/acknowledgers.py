"""Who can have acknowledged a lost record, and whether that leader's records can be lost.

That a leader loses records which it acknowledged, because it was replaced and did not know it, is documented of that
leader and not of its successor. A load goes to both, so the time of an acknowledgement does not tell them apart. The
brokers' logs do, and the states of the partition:

- A broker leads from the time at which the cluster states it. It leads no longer once it logs that it follows or leads
  in a later epoch, or once its process has ended. What was sent after that another one acknowledged.
- With that line a broker tells where its log ends (2.4 on), and a leader's log does not shrink. It has acknowledged
  nothing at that offset or beyond.
- Each leader acknowledges an offset once.
- A leader's records are lost where somebody led after it whose log ended before them: at the offset with which its
  epoch starts (Partition.makeLeader, 0.11 on; KIP-101). They may be gone also if its own process ended later.

A term of which the timeline does not tell one of these has no such bound. Where epochs were missed, or fell, or where
a fault may have taken what brokers had on their disks, or have moved their clocks, nothing is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from evidence.events import NO_LEADER, Container, Log, Partition, of
from evidence.faults.base import FaultProof
from evidence.faults.process import PowerLossProof
from evidence.findings import Row
from evidence.nodes import broker
from evidence.own_ends import MAY_END_IT
from evidence.records import TopicPartition
from evidence.run_state import RunState
from evidence.spans import NEVER_NS

TELLS_NOTHING: Final[tuple[type[FaultProof], ...]] = (*MAY_END_IT, PowerLossProof)
"""After such a fault records may be gone whoever acknowledged them."""
BEFORE_NS: Final = 5_000_000_000
"""So long after a broker begins to lead that may be stated at the latest. Ours."""
STAMP_NS: Final = 1_000_000_000
"""How far the stamps of brokers' lines may be off. Ours: they have milliseconds, of the machine's own clock."""


class Term(NamedTuple):
    """One broker's leadership in one epoch."""

    epoch: int
    node: str
    begin_ns: int
    until_ns: int
    """When it surely did not lead any more in this epoch."""
    start: int | None
    """The offset with which the epoch starts; None if nobody says."""
    end: int | None
    """Where its log ended when it led no longer; None if it does not say."""
    died_ns: int
    """When its process last ended; 0 if it never did."""

    def may_have(self, row: Row) -> bool:
        """Whether this leader may have acknowledged a record. `row` says when it was sent and where it lay."""
        sent_ns, done_ns, offset = row.invoked_ns, row.completed_ns, row.offset
        if sent_ns is None or done_ns is None or offset is None:
            return True
        in_time = sent_ns <= self.until_ns and done_ns >= self.begin_ns - BEFORE_NS
        return in_time and (self.end is None or offset < self.end)

    def may_lose(self, row: Row, terms: Sequence[Term]) -> bool:
        """Whether a record that it acknowledged may be lost."""
        offset = NEVER_NS if row.offset is None else row.offset
        later = (one for one in terms if one.epoch > self.epoch and one.node != self.node)
        return self.died_ns >= (row.invoked_ns or 0) or any(one.start is None or one.start <= offset for one in later)


def terms_of(run_state: RunState, where: TopicPartition | None) -> list[Term]:
    """The terms of a partition's leaders, in order; none where they do not tell who can have lost a record."""
    states = run_state.states.get(where, ()) if where is not None else ()
    epochs = [state.leader_epoch for state in states]
    if any(not 0 <= after - before <= 1 for before, after in pairwise(epochs)):
        return []
    if any(issubclass(fault.proof_type, TELLS_NOTHING) for fault in run_state.faults):
        return []
    first = {state.leader_epoch: state for state in reversed(states) if state.leader != NO_LEADER}
    told = [
        one
        for one in of(run_state.events, Log)
        if (one.topic, one.partition) == where and one.event in ("become-leader", "become-follower")
    ]
    return [_term(run_state, told, state, first.get(state.leader_epoch + 1)) for _, state in sorted(first.items())]


def _term(run_state: RunState, told: Sequence[Log], state: Partition, following: Partition | None) -> Term:
    """The term that begins with a state, by what brokers say of leading and following this partition."""
    node, next_ns = broker(state.leader), NEVER_NS if following is None else following.at_ns
    later = (
        one
        for one in told
        if one.node == node
        and (one.at_ns >= next_ns if one.leader_epoch is None else one.leader_epoch > state.leader_epoch)
    )
    deaths = [one.at_ns for one in of(run_state.events, Container) if one.node == node and one.action == "die"]
    over = next(later, None)
    died_ns = min((at_ns for at_ns in deaths if at_ns > state.at_ns), default=NEVER_NS)
    until_ns = min(died_ns, NEVER_NS if over is None else over.at_ns + STAMP_NS)
    says_end = over is not None and over.event == "become-follower" and over.detail is None
    starts = (
        one.offset
        for one in told
        if (one.node, one.event, one.leader_epoch) == (node, "become-leader", state.leader_epoch)
    )
    return Term(
        epoch=state.leader_epoch,
        node=node,
        begin_ns=state.at_ns,
        until_ns=until_ns,
        start=next(starts, None),
        end=over.offset if over is not None and says_end and over.leader_epoch is not None else None,
        died_ns=max(deaths, default=0),
    )


def kept(run_state: RunState, where: TopicPartition | None, rows: Sequence[Row]) -> Iterator[tuple[Row, list[Term]]]:
    """Of lost records those that no leader can have lost, each with the terms in which it can be acknowledged."""
    terms = terms_of(run_state, where)
    if not terms:
        return
    taken = Counter[int]()
    for row in sorted(rows, key=lambda one: one.completed_ns or 0):
        able = [term for term in terms if term.may_have(row)]
        lost = {term.epoch for term in able if term.may_lose(row, terms)}
        if row.offset is None or not able:
            continue
        taken[row.offset] += 1
        if not lost or taken[row.offset] > len(lost):
            yield row, able
