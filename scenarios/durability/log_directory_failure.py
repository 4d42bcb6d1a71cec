"""A broker has two log directories, on disks of their own, and one disk fails (KIP-112; KIP-858 for KRaft).

Kafka puts a new replica into the directory with the fewest, so of two partitions with the same replicas each broker has
one in each. One broker leads both. The disk of its second directory answers with errors. Before 1.0 the broker exits,
as with a single directory. From 1.0 on it takes only the replicas in that directory offline and reports them to the
controller, which elects other leaders for them. With the other directory it works as before (KRaft: from 3.7 on).

With ZooKeeper both directories are alike. With KRaft the first one also has the metadata log (metadata.log.dir), and a
broker exits without it.

The broker uses the directory again when it is started with a working disk.
"""

from functools import partial

from harness.words import (
    Basis,
    Case,
    ClusterPlan,
    Disks,
    Documented,
    Partition,
    Run,
    Target,
    TopicPlan,
    ranges,
    scenario,
)
from scenarios.durability.disk_full import GIVES_UP

COUNT = 5
ENDS = rf"{GIVES_UP}|hutdown broker because the metadata log dir .* has failed"
LIMIT_S = 90.0
"""A client may try a dead broker for half a minute before it asks another."""
LEFT, OTHER, ELECTED = "failed-log-directory-is-left", "other-log-directory-goes-on", "leader-elected-from-isr"
LED_BY_OTHERS = Documented(
    on=ranges.GOES_ON_WITH_OTHER_DIRECTORIES,
    claims=[LEFT, OTHER, ELECTED],
    source="KIP-112; KIP-858",
    basis=Basis.KIP,
)
ENDS_ITSELF = Documented(
    claims=[ELECTED],
    sentence="The broker exits, and other replicas lead both partitions.",
    source="KIP-112: motivation",
    basis=Basis.KIP,
)
NO_METADATA = Documented(
    on=ranges.KRAFT,
    claims=[ELECTED],
    sentence="The broker has lost its metadata log and exits, although the other directory works.",
    source="KIP-858; Kafka documentation, broker configuration: metadata.log.dir",
    basis=Basis.KIP,
)


def second_fails(run: Run, role: str) -> None:
    """The second log directory of the leader, or of a follower, fails: the broker continues with the first."""
    struck, first, second = written(run, role)
    run.fail_log_directory(struck)
    if ranges.GOES_ON_WITH_OTHER_DIRECTORIES.holds(run.version):
        go_on_with_one(run, struck, failed=second, other=first)
    else:
        end_itself(run, struck)
    come_back(run, struck)


def first_fails(run: Run) -> None:
    """The first log directory of the leader fails, in which a KRaft broker has its metadata log too."""
    struck, first, second = written(run, "leader")
    run.fail_disk(struck)
    if ranges.GOES_ON_WITH_OTHER_DIRECTORIES.holds(run.version) and not ranges.KRAFT.holds(run.version):
        go_on_with_one(run, struck, failed=first, other=second)
    else:
        end_itself(run, struck)
    come_back(run, struck)


def written(run: Run, role: str) -> tuple[Target, Partition, Partition]:
    """The broker that is struck, the leader or a follower, and the partitions in its first and in its second directory.
    Their records are on its disks.
    """
    one, two = both(run)
    struck = run.leader_of(one) if role == "leader" else run.followers_of(one)[0]
    for t in (one, two):
        run.send(t, COUNT)
    second = [t for t in (one, two) if run.second_directory_of(struck, t)]
    run.require("one partition lies in the second directory", len(second) == 1, there=[str(t) for t in second])
    run.flush_disks(struck)
    return (struck, two, one) if second == [one] else (struck, one, two)


def both(run: Run) -> tuple[Partition, Partition]:
    """The partitions."""
    return run.partition(0), run.partition(1)


def go_on_with_one(run: Run, struck: Target, *, failed: Partition, other: Partition) -> None:
    """Others take the partition in the directory that failed, and the broker keeps its place in the other."""
    rest = [each for each in run.replicas_of(failed) if each.id != struck.id]
    run.wait_leader(failed, *rest)
    run.send(failed, COUNT, timeout_s=LIMIT_S)
    run.wait_isr(failed, rest)
    run.send(other, COUNT)
    run.require("the broker is in the ISR of the other partition", struck.id in run.state_of(other).isr)
    run.stop(struck)


def end_itself(run: Run, struck: Target) -> None:
    """The broker exits, and other replicas lead both partitions."""
    run.expect_exit(struck, ENDS)
    for t in both(run):
        rest = [each for each in run.replicas_of(t) if each.id != struck.id]
        run.wait_leader(t, *rest)
        run.wait_isr(t, rest)
        run.send(t, COUNT, timeout_s=LIMIT_S)


def come_back(run: Run, struck: Target) -> None:
    """The directory works again, and the broker is started."""
    run.heal_disks()
    run.start(struck)
    for t in both(run):
        run.wait_isr(t, run.replicas_of(t))
        run.send(t, COUNT)


scenario(
    name="log-directory-failure",
    claim="""When one of two log directories fails, the broker takes the replicas there offline and keeps the others.
        Before 1.0, or if a KRaft broker's metadata log was there, it exits.""",
    source="KIP-112; KIP-858; Kafka documentation, broker configuration: log.dirs",
    operator="""Alert on OfflineLogDirectoryCount. The broker is up, registered and in other ISRs, so nothing else shows
        that it lacks a disk, and its replicas there are missing until it is restarted. With KRaft keep the metadata log
        on the disk that you trust most.""",
    cluster=ClusterPlan(disks=Disks(log_directories=2), settings={"min.insync.replicas": "2"}),
    topic=TopicPlan(replicas=((1, 2, 3), (1, 2, 3))),
    cases={
        "leader": Case(steps=partial(second_fails, role="leader"), documented=[LED_BY_OTHERS, ENDS_ITSELF]),
        "leader-first": Case(steps=first_fails, documented=[NO_METADATA, LED_BY_OTHERS, ENDS_ITSELF]),
        "follower": Case(
            steps=partial(second_fails, role="follower"),
            documented=[
                Documented(
                    on=ranges.GOES_ON_WITH_OTHER_DIRECTORIES,
                    claims=[LEFT, OTHER],
                    source="KIP-112; KIP-858",
                    basis=Basis.KIP,
                ),
                Documented(
                    sentence="The broker exits, and both partitions continue without it.",
                    source="KIP-112: motivation",
                    basis=Basis.KIP,
                ),
            ],
        ),
    },
)
