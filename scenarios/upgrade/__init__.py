"""Upgrades: from one release to the next while clients work, with faults on the way, and back again.

`ROUTE` has the next release for each version. The steps are those of Kafka's documentation (Upgrading). First the nodes
are replaced by the new release one after the other, with ZooKeeper the controller last. Then the protocol is raised:
protocol and message format, or the feature levels with KRaft. Until then a new binary uses the old protocol.

`upgrade-double-failover` is about the upgrade that brings leader epochs: an old loss ends half way through it.
`upgrade-rolling` is the common case, with and without a broker's death. `upgrade-downgrade` goes back, as far as that
is possible.
"""

from collections.abc import Callable, Iterable
from typing import Final

from harness.words import LOST, Basis, Documented, Partition, Run, Target, TopicPlan, ranges

ROUTE: Final = {
    "0.10.2.2": "0.11.0.3",
    "0.11.0.3": "1.1.1",
    "1.1.1": "2.8.2",
    "2.8.2": "3.9.2-zk",
    "3.9.2-kraft": "4.0.2",
    "4.0.2": "4.3.1",
    "4.3.1": "4.4.0",
}
ELECTED: Final = ("leader-elected-from-isr", "leader-epoch-rises-by-one")
TOPIC: Final = TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2)), settings={"min.insync.replicas": "2"})
"""Three partitions, each led by another broker at first."""
SOCKET_TIMEOUT: Final = {"replica.socket.timeout.ms": "1500"}


def partitions(run: Run) -> list[Partition]:
    """The partitions of the scenario's topic."""
    return [run.partition(number) for number in range(len(run.topic.replicas))]


def wait_whole(run: Run) -> None:
    """Wait until all replicas are in sync."""
    for t in partitions(run):
        run.wait_isr(t, run.replicas_of(t))


def restart(run: Run, target: Target) -> None:
    """The steps of an upgrade without the upgrade: the broker is stopped cleanly and started again."""
    run.stop(target)
    run.start(target)


def one_by_one(run: Run, targets: Iterable[Target], change: Callable[[Target], None]) -> None:
    """Change one node after the other. The next node follows when all replicas are in sync."""
    for target in targets:
        change(target)
        wait_whole(run)


def may_lose(run: Run) -> bool:
    """Whether the run begins with followers that truncate to their high watermark, which may lose records."""
    return ranges.HIGH_WATERMARK_TRUNCATION.holds(run.version)


CUT_BACK = frozenset({"log-truncated-below-high-watermark"})
MAY_LEAD_TOO_SOON = """Before leader epochs a loss is possible. A broker that is started while it is still in the ISR
    truncates to its own high watermark. If the leader ends before it has fetched the rest again, it leads without the
    last records, or with others at their offsets."""
MAY_BE_TOLD = """Whether the log of a broker that was killed ends below a high watermark depends on how long before that
    it had checkpointed one (5 s)."""
MAY_LAG = """A follower learns the high watermark one fetch later than its leader. If leadership moves in between, it
    truncates an acknowledged record and fetches it again."""
STILL_IN_SYNC = (
    "KIP-101: scenario 1, a follower truncates to its own high watermark; KAFKA-3143: who leaves the ISR late"
)
CHECKPOINT = "KIP-101: without leader epochs a broker that was killed truncates to the high watermark of its checkpoint"


def none_lost(sentence: str = "", *, source: str, seen: str, killed: bool = False) -> list[Documented]:
    """With leader epochs nothing is lost, as `source` says. Before, a loss is allowed, and `seen` names the runs
    without one. A broker that is `killed` there begins with the high watermark of its last checkpoint.

    Unlike in rolling-restart, a broker is started at once, so it may still be in the ISR.
    """
    return [
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=LOST | CUT_BACK | {"replica-divergence"},
            claims=ELECTED,
            sentence=f"{sentence} {MAY_LEAD_TOO_SOON} {MAY_BE_TOLD if killed else MAY_LAG}".strip(),
            source=f"{seen}; {CHECKPOINT if killed else STILL_IN_SYNC}",
            basis=Basis.MEASURED,
        ),
        Documented(
            claims=ELECTED,
            sentence=f"{sentence} No acknowledged record is lost.".strip(),
            source=source,
            basis=Basis.DOCUMENTATION,
        ),
    ]
