"""A broker has two log directories, on disks of their own, and one disk fails (KIP-112; KIP-858 for KRaft).

Kafka puts a new replica into the directory with the fewest, so of two partitions with the same replicas each broker has
one in each. One broker leads both. The disk of its second directory answers with errors: before 1.0 the broker ends
itself, as with a single one. From 1.0 on it gives up the replicas in that directory alone, and tells the controller,
which elects other leaders for them; with the other directory it goes on as before. (KRaft: from 3.7 on. The directory
of the metadata log, here the first, is the one that no KRaft broker does without.)

The broker takes the directory back when it is started again, on a disk that works.
"""

from __future__ import annotations

from typing import Final

from harness.plan import ClusterPlan, Disks, TopicPlan
from harness.run import Partition, Run
from harness.scenario import EVERY_VERSION, Case, Documented, Line, scenario
from scenarios.durability.disk_full import GIVES_UP

GOES_ON: Final = Line("a broker goes on with its other log directories (KIP-112, 1.0)", lambda v: v.release >= (1,))
COUNT: Final = 5


@scenario(
    name="log-directory-failure",
    claim="""A broker with two log directories, one of which fails, gives up the replicas there and goes on with the
        others; before 1.0 it ends itself.""",
    source="KIP-112; KIP-858; Kafka documentation, broker configuration: log.dirs",
    operator="""Watch OfflineLogDirectoryCount: the broker is there, registered and in other ISRs, so nothing else tells
        that it lacks a disk, and its replicas there are missing until it is restarted. With KRaft keep the metadata log
        on the disk that you trust most.""",
    cluster=ClusterPlan(disks=Disks(log_directories=2), settings={"min.insync.replicas": "2"}),
    topic=TopicPlan(replicas=((1, 2, 3), (1, 2, 3))),
    cases={
        "leader": Case(
            documented=[
                Documented(
                    on=GOES_ON,
                    claims=["failed-log-directory-is-left", "other-log-directory-goes-on", "leader-elected-from-isr"],
                ),
                Documented(
                    on=EVERY_VERSION,
                    claims=["leader-elected-from-isr"],
                    says="The broker ends itself, and others lead both partitions.",
                ),
            ]
        ),
        "follower": Case(
            documented=[
                Documented(on=GOES_ON, claims=["failed-log-directory-is-left", "other-log-directory-goes-on"]),
                Documented(on=EVERY_VERSION, says="The broker ends itself, and both partitions go on without it."),
            ]
        ),
    },
)
def log_directory_failure(run: Run) -> None:
    one, two = (Partition(run.topic.name, number) for number in range(2))
    leader, followers = run.leader_of(one), run.followers_of(one)
    struck = leader if run.case.name == "leader" else followers[0]
    rest = [each for each in (leader, *followers) if each.id != struck.id]
    for t in (one, two):
        run.send(t, COUNT)
    second = [t for t in (one, two) if run.second_directory_of(struck, t)]
    run.require("one partition lies in the second directory", len(second) == 1, there=[str(t) for t in second])
    (failed,) = second
    (other,) = {one, two} - {failed}
    run.flush_disks(struck)
    run.fail_log_directory(struck)
    if GOES_ON.holds(run.version):
        if struck is leader:
            run.wait_leader(failed, *rest)
        run.send(failed, COUNT)
        run.wait_isr(failed, rest)
        run.send(other, COUNT)
        run.require("the broker is in the ISR of the other partition", struck.id in run.state_of(other).isr)
        run.stop(struck)
    else:
        run.expect_exit(struck, GIVES_UP)
        for t in (one, two):
            run.wait_leader(t, *rest)
            run.wait_isr(t, rest)
            run.send(t, COUNT)
    run.heal_disks()
    run.start(struck)
    for t in (one, two):
        run.wait_isr(t, run.replicas_of(t))
        run.send(t, COUNT)
