"""A broker has two log directories, on disks of their own, and one disk fails (KIP-112; KIP-858 for KRaft).

Kafka puts a new replica into the directory with the fewest, so of two partitions with the same replicas each broker has
one in each. One broker leads both. The disk of its second directory answers with errors: before 1.0 the broker ends
itself, as with a single one. From 1.0 on it gives up the replicas in that directory alone, and tells the controller,
which elects other leaders for them; with the other directory it goes on as before (KRaft: from 3.7 on).

With ZooKeeper directories are alike. With KRaft the first has the metadata log too (metadata.log.dir), and without that
no broker goes on.

The broker takes the directory back when it is started again, on a disk that works.
"""

from harness.words import Case, ClusterPlan, Disks, Documented, Partition, Run, Target, TopicPlan, ranges, scenario
from scenarios.durability.disk_full import GIVES_UP

COUNT = 5
ENDS = rf"{GIVES_UP}|hutdown broker because the metadata log dir .* has failed"
LIMIT_S = 90.0
"""A client may try a broker that is gone for half a minute before it asks another."""
LEFT, OTHER, ELECTED = "failed-log-directory-is-left", "other-log-directory-goes-on", "leader-elected-from-isr"
LED_BY_OTHERS = Documented(on=ranges.GOES_ON_WITH_OTHER_DIRECTORIES, claims=[LEFT, OTHER, ELECTED])
ENDS_ITSELF = Documented(claims=[ELECTED], says="The broker ends itself, and others lead both partitions.")
NO_METADATA = Documented(
    on=ranges.KRAFT,
    claims=[ELECTED],
    says="The broker has lost its metadata log and ends itself, though the other directory works.",
)


@scenario(
    name="log-directory-failure",
    claim="""A broker with two log directories, one of which fails, gives up the replicas there and goes on with the
        others; before 1.0, or if a KRaft broker's metadata log was there, it ends itself.""",
    source="KIP-112; KIP-858; Kafka documentation, broker configuration: log.dirs",
    operator="""Watch OfflineLogDirectoryCount: the broker is there, registered and in other ISRs, so nothing else tells
        that it lacks a disk, and its replicas there are missing until it is restarted. With KRaft keep the metadata log
        on the disk that you trust most.""",
    cluster=ClusterPlan(disks=Disks(log_directories=2), settings={"min.insync.replicas": "2"}),
    topic=TopicPlan(replicas=((1, 2, 3), (1, 2, 3))),
    cases={
        "leader": Case(documented=[LED_BY_OTHERS, ENDS_ITSELF]),
        "leader-first": Case(documented=[NO_METADATA, LED_BY_OTHERS, ENDS_ITSELF]),
        "follower": Case(
            documented=[
                Documented(on=ranges.GOES_ON_WITH_OTHER_DIRECTORIES, claims=[LEFT, OTHER]),
                Documented(says="The broker ends itself, and both partitions go on without it."),
            ]
        ),
    },
)
def log_directory_failure(run: Run) -> None:
    one, two = (Partition(run.topic.name, number) for number in range(2))
    leader, followers = run.leader_of(one), run.followers_of(one)
    struck = followers[0] if run.case.name == "follower" else leader
    rest = [each for each in (leader, *followers) if each.id != struck.id]
    for t in (one, two):
        run.send(t, COUNT)
    second = [t for t in (one, two) if run.second_directory_of(struck, t)]
    run.require("one partition lies in the second directory", len(second) == 1, there=[str(t) for t in second])
    run.flush_disks(struck)
    first = run.case.name == "leader-first"
    (run.fail_disk if first else run.fail_log_directory)(struck)
    if ranges.GOES_ON_WITH_OTHER_DIRECTORIES.holds(run.version) and not (first and ranges.KRAFT.holds(run.version)):
        (failed,) = {one, two} - set(second) if first else second
        (other,) = {one, two} - {failed}
        go_on_with_one(run, struck, failed, other)
        run.stop(struck)
    else:
        run.expect_exit(struck, ENDS)
        for t in (one, two):
            run.wait_leader(t, *rest)
            run.wait_isr(t, rest)
            run.send(t, COUNT, timeout_s=LIMIT_S)
    run.heal_disks()
    run.start(struck)
    for t in (one, two):
        run.wait_isr(t, run.replicas_of(t))
        run.send(t, COUNT)


def go_on_with_one(run: Run, struck: Target, failed: Partition, other: Partition) -> None:
    """Others take the partition in the directory that failed, and the broker keeps its place in the other."""
    rest = [each for each in run.replicas_of(failed) if each.id != struck.id]
    run.wait_leader(failed, *rest)
    run.send(failed, COUNT, timeout_s=LIMIT_S)
    run.wait_isr(failed, rest)
    run.send(other, COUNT)
    run.require("the broker is in the ISR of the other partition", struck.id in run.state_of(other).isr)
