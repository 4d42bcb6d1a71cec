"""unclean-election: a leader that was not in sync, so that what only others had is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from checks import excuses
from checks.anomalies.metadata import stated_row
from checks.anomaly import CLUSTER, anomaly
from checks.clean_elections import clean
from evidence.basis import Basis
from evidence.events import NO_LEADER, Missed, Partition, of
from evidence.run_state import RunState
from evidence.spans import overlap

Evidence = dict[str, Any]

SOURCE: Final = "Kafka documentation, Design: unclean leader election; KIP-106, KIP-966"


@anomaly(
    "unclean-election",
    source=SOURCE,
    basis=Basis.DOCUMENTATION,
    reads=(CLUSTER,),
    permitted="where unclean.leader.election.enable is true, by its default too; with eligible leader replicas, of the "
    "last leader where nobody is in sync or eligible",
    permits=excuses.elected_uncleanly,
)
def unclean_election(run_state: RunState) -> list[Evidence]:
    """A leader was elected that had been neither in the ISR nor an eligible leader replica.

    By the state before the election, as far as that was seen: no change was missed, and no observer was blind between
    the two states. With ZooKeeper the versions of the znode, which count by one, say so too. Not who comes in sync in
    the change that ends a reassignment: that change makes it lead, too (PartitionChangeBuilder, KIP-455). Not of a
    partition with one replica, for which nobody else can be elected.
    """
    return [
        stated_row(after)
        | {"at_ns": after.at_ns, "isr_before": list(before.isr), "elr_before": list(before.elr or ()), "led_last": last}
        for states in run_state.states.values()
        for last, before, after in _elections(states)
        if not clean(before, after) and _seen(run_state, before, after)
    ]


def _elections(states: Sequence[Partition]) -> Iterator[tuple[int, Partition, Partition]]:
    """Each election for a partition with several replicas: who had led last, and the states before and after it."""
    last = NO_LEADER
    for before, after in pairwise(states):
        last = last if before.leader == NO_LEADER else before.leader
        others = after.replicas is None or len(after.replicas) > 1
        # A topic that was deleted and made again begins with an epoch that is not higher.
        if after.leader not in (NO_LEADER, before.leader) and after.leader_epoch > before.leader_epoch and others:
            yield last, before, after


def _seen(run_state: RunState, before: Partition, after: Partition) -> bool:
    """Whether the one state came right after the other, as far as anybody can tell."""
    meanwhile = (before.at_ns, after.at_ns)
    missed = [(one.at_ns, one.at_ns) for one in of(run_state.events, Missed) if _is_of(one, after)]
    blind = [(begin_ns, end_ns) for begin_ns, end_ns, why in run_state.blind if why.startswith(after.source)]
    counted = after.source != "zookeeper" or (before.version or 0) + 1 == after.version
    same = before.source == after.source
    return same and counted and not any(overlap(meanwhile, one) for one in (*missed, *blind))


def _is_of(missed: Missed, state: Partition) -> bool:
    """Whether changes that were missed may have been of a partition."""
    return (missed.topic or state.topic, missed.partition) in ((state.topic, None), (state.topic, state.partition))
