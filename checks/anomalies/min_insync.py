"""acknowledged-below-min-insync: acks=all is acknowledged while fewer replicas are in sync than the topic asks for.

With min.insync.replicas a leader with too few members in its ISR refuses acks=all (KAFKA-1555), because too few
replicas would have the record. This promise can be broken without a loss.

The cluster states an ISR before the leader uses it (AlterPartition, LeaderAndIsr). So only records count that were sent
when the ISR had been too small for a while (`HEARD_NS`) under the same leader, with whatever members, and were
acknowledged before it had grown again. A leader that is cut off from ZooKeeper or the controller may not know the new
ISR. All members of the ISR that it knows have the records that it acknowledges. How many are asked for is what holds
at that time, which a step may have set, and from 3.7 on no more than the partition has replicas (checks/settings.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from checks.anomaly import HISTORY, MIN_INSYNC, absent_if, anomaly
from checks.copies import ACKS_ALL
from checks.settings import HEARD_NS, min_insync, min_insync_set_ns
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, sender
from evidence.basis import Basis
from evidence.events import NO_LEADER
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import PartitionInterval, RunState
from evidence.spans import Span


class TooSmall(NamedTuple):
    """A time during which a partition was led and its ISR had fewer members than it needs."""

    begin_ns: int
    end_ns: int
    isr: tuple[int, ...]
    needed: int


def too_small(run: RunRecord, run_state: RunState, topic: str, partition: int) -> list[TooSmall]:
    """The times at which a partition's leader knew that its ISR is too small for acks=all."""
    where, found, since, leader = (topic, partition), list[TooSmall](), 0, NO_LEADER
    turns = sorted({*min_insync_set_ns(run_state), *_replicas_changed_ns(run_state, where)})
    for state, (from_ns, until_ns) in _pieces(run_state.partitions.get(where, ()), turns):
        needed = min_insync(run, run_state, where, from_ns)
        if state.leader == NO_LEADER or len(state.isr) >= needed:
            leader = NO_LEADER
            continue
        if state.leader != leader:
            since, leader = from_ns, state.leader
        begin_ns = max(from_ns, since + HEARD_NS)
        if begin_ns >= until_ns:
            continue
        if not any(run_state.off_coordinator(broker(leader), at_ns) for at_ns in (from_ns, begin_ns)):
            found.append(TooSmall(begin_ns, until_ns, state.isr, needed))
    return found


def _replicas_changed_ns(run_state: RunState, where: TopicPartition) -> Iterator[int]:
    """When a partition had more or fewer replicas than before, and when its leader knew that."""
    told = [state for state in run_state.states.get(where, ()) if state.replicas]
    for before, after in pairwise(told):
        if len(before.replicas or ()) != len(after.replicas or ()):
            yield from (after.at_ns, after.at_ns + HEARD_NS + 1)


def _pieces(states: Iterable[PartitionInterval], turns: Sequence[int]) -> Iterator[tuple[PartitionInterval, Span]]:
    """The spans in which a state and a setting are the same: each state's, parted at the `turns`."""
    for state in states:
        inner = [at_ns for at_ns in turns if state.begin_ns < at_ns < state.end_ns]
        for span in pairwise([state.begin_ns, *inner, state.end_ns]):
            yield state, span


def never_too_small(view: PartitionView, times: Sequence[TooSmall]) -> bool:
    """Whether the ISR was always large enough."""
    return not times


@anomaly(
    "acknowledged-below-min-insync",
    source="Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY, MIN_INSYNC),
    screened=absent_if(never_too_small),
)
def acknowledged_below_min_insync(view: PartitionView, times: Sequence[TooSmall]) -> Rows:
    """A record was acknowledged with acks=all while fewer replicas were in sync than min.insync.replicas.

    Records that were sent, and acknowledged, while the ISR was too small, from 5 s after the cluster had stated it on.
    """
    sends, rows = view.sends, Rows()
    asked = sends.ok & (sends.acks == ACKS_ALL) & (sends.completed_ns >= 0)
    for time in times:
        within = asked & (sends.invoked_ns >= time.begin_ns) & (sends.completed_ns < time.end_ns)
        for row in np.flatnonzero(within).tolist():
            rows.total += 1
            if len(rows) < EVIDENCE_LIMIT:
                rows.append(sender(view, row) | {"isr": list(time.isr), "min_insync_replicas": time.needed})
    return rows
