"""Partitions of the network, one scenario for each shape: who goes on, who stops, and what is lost when it is healed.

Kafka keeps its partitions' state in one place, ZooKeeper or the quorum of controllers: the side that reaches it decides
who leads and who is in sync. A leader on the other side goes on leading in its own eyes. It can change nothing, so with
acks=all it acknowledges nothing that a member of the ISR lacks; with acks=1 it acknowledges what it alone has, and that
is cut off when the partition is healed.

Clients reach every broker all the while, except where a scenario says otherwise: a producer and a consumer run through
each of these partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.run import Partition, Run, Target
    from harness.workloads.handles.client import LoadGenerator

RATE_PER_S: Final = 20.0
SETTINGS: Final = {
    "unclean.leader.election.enable": "false",
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "3000",
}
SHRUNK: Final = ("isr-shrinks-to-reachable-side", "isr-whole-after-heal")


@contextmanager
def clients(run: Run, t: Partition, *, doomed: bool = False) -> Iterator[LoadGenerator]:
    """A producer with the case's acks, and a consumer, at work while the block lasts. `doomed` says that what the
    producer is acknowledged may be lost.
    """
    with run.consume(t) as consumer, run.load(t, rate_per_s=RATE_PER_S, acks=run.case.acks, doomed=doomed) as load:
        load.wait_acked(20, timeout_s=30)
        consumer.wait_read(10, timeout_s=30)
        yield load


def other_nodes(run: Run, *apart: Target) -> list[Target]:
    """All nodes but these: brokers, and ZooKeeper or the controllers."""
    names = {target.node.name for target in apart}
    return [run.node(name) for name in run.cluster.nodes if name not in names]
