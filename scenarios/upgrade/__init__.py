"""Upgrades: from one release to the next while clients work, with faults on the way, and back again.

`ROUTE` has the next release for each version; `--upgrade-to` names any other (`upgraded`, harness/cluster/versions.py).
The steps are those of Kafka's documentation (Upgrading). First the nodes are replaced by the new release one after the
other, with ZooKeeper the controller last. Then the protocol is raised: protocol and message format, or the feature
levels with KRaft. Until then a new binary uses the old protocol.

`upgrade-double-failover` is about the upgrade that brings leader epochs: an old loss ends half way through it.
`upgrade-rolling` is the common case, with and without a broker's death. `upgrade-downgrade` goes back, as far as that
is possible. Neither loses a record. From leader epochs on a broker is started as soon as it has ended. Before, it is
started when it has left every ISR, as in rolling-restart: a follower then truncates what it has to fetch again, and may
lead without it if it is in the ISR.
"""

from collections.abc import Callable, Iterable
from typing import Final

from harness.words import Basis, Documented, LoadGenerator, Partition, Run, Target, TopicPlan, ranges

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


def finalize_if_higher(run: Run, feature: str) -> bool:
    """Set a feature of a KRaft cluster to the highest level that every node supports; whether there is a higher one."""
    higher = run.supported(feature) > run.level_of(feature)
    if higher:
        run.finalize(feature)
    return higher


def by_high_watermark(run: Run) -> bool:
    """Whether the run begins with followers that truncate to their high watermark."""
    return ranges.HIGH_WATERMARK_TRUNCATION.holds(run.version)


def wait_left(run: Run, load: LoadGenerator, gone: Target) -> None:
    """Where followers truncate to their high watermark: wait until a broker that ended has left every ISR, and the
    others have acknowledged records without it.

    One that is started while it is in the ISR would count as in sync before it has fetched what it truncated.
    """
    if by_high_watermark(run):
        for t in partitions(run):
            run.wait_isr(t, [one for one in run.replicas_of(t) if one.id != gone.id])
        load.wait_more(100, timeout_s=60)


def left_first(run: Run, load: LoadGenerator, change: Callable[[Target], None]) -> Callable[[Target], None]:
    """A change that starts a broker; where followers truncate to their high watermark, when it was stopped and has left
    every ISR.
    """

    def changed(target: Target) -> None:
        run.stop(target)
        wait_left(run, load, target)
        change(target)

    return changed if by_high_watermark(run) else change


TRUNCATES = """Followers truncate to their high watermark and fetch the rest again. A broker is started when it has left
    every ISR, and the next one ends when all replicas are in sync, so nothing is lost."""
TWICE = "KIP-101: scenario 1 (a record is lost by a second failure before it is fetched again); KAFKA-3143"


def none_lost(sentence: str = "", *, source: str) -> list[Documented]:
    """No acknowledged record is lost, as `source` says: before leader epochs because no two failures follow each
    other.
    """
    return [
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            claims=ELECTED,
            sentence=f"{sentence} {TRUNCATES}".strip(),
            source=f"{source}; {TWICE}",
            basis=Basis.DOCUMENTATION,
        ),
        Documented(
            claims=ELECTED,
            sentence=f"{sentence} No acknowledged record is lost.".strip(),
            source=source,
            basis=Basis.DOCUMENTATION,
        ),
    ]
