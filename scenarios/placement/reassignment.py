"""A partition moves to other brokers while it is written and read (Kafka documentation, Expanding your
cluster; KIP-455).

Two replicas are moved from A and B to C and D. The controller adds C and D, which fetch the log. When both are in sync
C leads, and A and B delete their copies. Followers fetch the log of some megabytes in small pieces, so that there is
time to kill a broker half way. It is C, which leads at the end, or A, which leads at the beginning. When C has died, it
continues from what it had copied. When A dies, B leads, and the copying continues from B.

Up to 2.3 the znode /admin/reassign_partitions asks the controller for a move, and the controller deletes it at the end.
From 2.4 on a request asks for it, and the assignment itself names the replicas that are added and removed.

Up to 2.3 old leaders delete their replica and do not answer waiting requests. On 0.8.2, 0.10.2 and 2.2 a producer with
acks=all got no answer until its request timed out, 30 s later, and sent it again. Consumers had nothing to read during
that time.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.words import (
    Basis,
    Case,
    ClusterPlan,
    Documented,
    LoadGenerator,
    Partition,
    Run,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

RECORDS = 10_000
RECORD_BYTES = 1000
"""10 MB, which a follower fetches in more than a thousand requests of what follows."""
SMALL_FETCHES = {"message.max.bytes": "10000", "replica.fetch.max.bytes": "10000"}
SMALL_BATCHES = {"batch.size": "4000"}
COPY_LIMIT_S = 60.0

MOVED = (
    "reassignment-ends-as-asked",
    "reassignment-adds-before-it-removes",
    "reassignment-elects-first-of-new",
)
CHANGE = ("reassignment-states-its-change",)
PAUSES = ("move-pauses-writes-briefly",)


def documented(*more: str, requests: tuple[str, ...] = ()) -> list[Documented]:
    """The claims for every version, and (`requests`) for those where a request asks for the move: there the assignment
    names the changes.
    """
    return [
        Documented(
            on=ranges.REASSIGNMENT_BY_ZNODE,
            claims=[*MOVED, "reassignment-znode-comes-and-goes", *more],
            sentence="""A partition moves to other brokers while it is written, in two steps: new replicas are added,
                and the old ones are removed when the new ones are in sync. Then the request,
                /admin/reassign_partitions, is deleted. No acknowledged record is lost, even if a broker dies half way.
                A produce request with acks=all that waits at the old leader may stay unanswered until it times
                out.""",
            source="KafkaController.onPartitionReassignment, ReplicaManager.stopReplicas (0.8.2.2 to 2.3.1); KIP-455",
            basis=Basis.SOURCE,
        ),
        # With ZooKeeper the controller writes a partition's state three times at once, and not every one is seen.
        Documented(
            on=ranges.KRAFT,
            claims=[*MOVED, *CHANGE, "leader-epoch-rises-by-one", *requests, *more],
            source="KIP-455",
            basis=Basis.KIP,
        ),
        Documented(
            on=ranges.ZOOKEEPER,
            claims=[*MOVED, *CHANGE, *requests, *more],
            source="KIP-455",
            basis=Basis.KIP,
        ),
    ]


def undisturbed(run: Run) -> None:
    """The partition moves, and nothing goes wrong."""
    with moving(run):
        run.wait_reassigned(run.partition())


def target_killed(run: Run) -> None:
    """The broker that is to lead in the end dies half way, and comes back."""
    t, target = run.partition(), run.without(run.partition())[0]
    with moving(run) as load:
        kill_half_way(run, t, target, copying=target)
        load.wait_more(100, timeout_s=30)
        run.start(target)
        run.wait_reassigned(t)


def source_killed(run: Run) -> None:
    """The leader dies half way, and comes back when the partition has moved."""
    t, target = run.partition(), run.without(run.partition())[0]
    source = run.leader_of(t)
    with moving(run):
        kill_half_way(run, t, source, copying=target)
        run.wait_reassigned(t)
        run.start(source)


@contextmanager
def moving(run: Run) -> Iterator[LoadGenerator]:
    """A partition with a long log is told to move, under load. At the end all records sent until the move was complete
    are read.
    """
    t = run.partition()
    with run.load(t, records=RECORDS, record_bytes=RECORD_BYTES, settings=SMALL_BATCHES) as before:
        before.wait_acked(RECORDS, timeout_s=60)

    with run.consume(t) as consumer, run.load(t, rate_per_s=100, settings=SMALL_BATCHES, also_idempotent=True) as load:
        load.wait_more(50, timeout_s=30)
        run.reassign(t, run.without(t))
        yield load
        consumer.wait_read(RECORDS + load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


def kill_half_way(run: Run, t: Partition, victim: Target, *, copying: Target) -> None:
    """Kill a broker when `copying` has a part of the log, and the reassignment is not over."""
    run.wait_files(
        f"{copying.node.name} has a part of the log",
        lambda: run.log_end_and_high_watermark(copying, t)[0] > RECORDS // 20,
        lambda: f"its log ends at {run.log_end_and_high_watermark(copying, t)[0]}",
        COPY_LIMIT_S,
    )
    run.kill(victim)
    in_sync, (copied, _) = [one.id for one in run.in_isr(t)], run.log_end_and_high_watermark(copying, t)
    half_way = copying.id not in in_sync and copied < RECORDS
    run.require("a broker died half way through the move", half_way, isr=in_sync, copied=copied, of=RECORDS)
    run.copy_replicas("half-way")


scenario(
    name="reassignment",
    claim="""A partition moves to other brokers while it is written, in two steps that its assignment names: new
        replicas are added, and the old ones are removed when the new ones are in sync. No acknowledged record is lost,
        even if a broker dies half way.""",
    source="Kafka documentation, Expanding your cluster; KIP-455; Kafka sources, KafkaController: "
    "onPartitionReassignment, ReplicationControlManager: alterPartitionReassignments",
    operator="""Moving partitions is safe under load. If a broker that takes part dies, the move continues when it
        returns. Until the new replicas are in sync the old ones hold your records: do not remove them before the
        assignment has changed. Before 2.4 producers may block for request.timeout.ms when a leader moves.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3, 4), controller=5, settings={"replica.socket.timeout.ms": "3000", **SMALL_FETCHES}
    ),
    topic=TopicPlan(replicas=((1, 2),)),
    cases={
        "plain": Case(steps=undisturbed, documented=documented("removed-replicas-are-deleted", requests=PAUSES)),
        "target-killed": Case(steps=target_killed, documented=documented(requests=PAUSES)),
        "source-killed": Case(steps=source_killed, documented=documented("leader-replaced-in-time")),
    },
)
