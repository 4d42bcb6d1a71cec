"""All replicas lose power at one moment (Kafka documentation: Application vs. OS flush management; flush.messages).

An acknowledgement says that records are in the memory of the replicas, not that they are on a disk. Each subject sends
three records. Every replica has them, and all disks are flushed then (`flush_disks`), as in a cluster that has been up
for long. Then it sends seven more. When they are acknowledged, and every replica has them, all brokers lose power at
one moment (harness/faults/power.py), sooner than the kernel writes back by itself. They start again with the records on
their disks: the three, and not the seven, whatever the producer's acks.

With flush.messages=1 every replica flushes each record before it counts as written, and nothing is lost. The cost of
flushing is measured without a fault (audit-none).

Here the followers have what the leader acknowledged. With acks=1 a follower may lack some records. If it returns first
it is elected, and those are lost, flushed or not (audit-leader-crash-behind). At the end each subject sends two more
records, except with acks=0: records sent into a dead broker's connection are lost, which other faults show. Several
outcomes of these two records are stated as possible. On a busy machine an answer took longer than the producer waits,
and they were written twice (3.9.2-zk).
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.words import (
    FIRST,
    LOST,
    Basis,
    ClusterPlan,
    Disks,
    Documented,
    Outcome,
    Placed,
    Producer,
    Run,
    Subject,
    Subjects,
    Topic,
    Version,
    ranges,
    scenario,
)
from scenarios.audit import (
    AUDITED,
    CLUSTER,
    IDEMPOTENCE_DOC,
    RETRIES_DOC,
    accepted,
    plan,
    retries,
    topics,
    unanswered,
)
from scenarios.durability.page_cache_only import TRUNCATED

COUNT = 7
FLUSH_DOC = "Kafka documentation, topic configuration: flush.messages; Application vs. OS flush management"


DIVERGES = TRUNCATED | {"replica-divergence"}
"""Followers that truncate to their high watermark may keep a record where the next leader has a different one
(KIP-101).
"""
SOON = {"replica.high.watermark.checkpoint.interval.ms": "500"}
"""On a busy machine files reached their disks 2 to 26 s after they were written, although vm.dirty_expire_centisecs was
30 s (most likely for lack of memory). So the power is cut as soon as every replica has the records.
"""
NOTHING_LOST = Outcome(
    why="Each replica has flushed the records before they count.",
    source=FLUSH_DOC,
    basis=Basis.DOCUMENTATION,
)
GONE = Outcome(
    must=frozenset({"loses"}),
    why="The records are acknowledged when the replicas have them in memory, and are on no disk.",
    source=FLUSH_DOC,
    basis=Basis.DOCUMENTATION,
)


def measured_in(producer: Producer, version: Version) -> Iterator[Topic]:
    """Its topics, each without and with a flush of each record. Three replicas have the outcome of two."""
    for topic in topics(producer, version):
        if topic.replication_factor != 2:
            yield topic
            yield replace(topic, flush_each=True)


def stated(producer: Producer, topic: Topic) -> Outcome:
    outcome = NOTHING_LOST if topic.flush_each else GONE
    if producer.acks == "0":
        return outcome
    if producer.idempotence:
        if topic.flush_each:
            return outcome
        if producer.client != "librdkafka":
            return outcome
        gap = "An idempotent producer's sequence numbers then have a gap, and librdkafka's are refused for it."
        return _also(replace(outcome, must=outcome.must | {"refuses"}), set(), gap, IDEMPOTENCE_DOC)
    if retries(producer):
        late = "Records sent while replicas return may be answered too late, and are sent again."
        return _also(outcome, {"duplicates"}, late, RETRIES_DOC)
    return outcome


def _also(outcome: Outcome, may: set[str], why: str, source: str) -> Outcome:
    return replace(outcome, may=frozenset(may), why=f"{outcome.why} {why}", source=f"{outcome.source}; {source}")


@scenario(
    name="audit-power-loss",
    claim="""When all replicas lose power at one moment, acknowledged records that were not flushed are lost, whatever
        the producer's settings. With flush.messages=1 nothing is lost.""",
    source=FLUSH_DOC,
    operator="""Spread replicas over racks or zones that do not lose power together. If all replicas lose power at once,
        no producer setting helps. Setting flush.messages=1 for a topic does, and each acknowledgement then waits for
        disks.""",
    cluster=ClusterPlan(disks=Disks(), settings=CLUSTER | SOON),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=LOST | DIVERGES,
            source=FLUSH_DOC,
            basis=Basis.DOCUMENTATION,
        ),
        Documented(
            allowed=LOST | TRUNCATED,
            source=FLUSH_DOC,
            basis=Basis.DOCUMENTATION,
        ),
    ],
    applies=AUDITED,
)
def power_loss(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated, among=lambda producer: measured_in(producer, run.version)))
    replicas = run.replicas_of(t)

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    def unflushed(one: Subject) -> bool:
        return taken(one) and not one.topic.flush_each

    subjects.begin(taken)
    run.send(t, 3)
    leader = run.leader_of(t)
    subjects.wait_replicated(FIRST, leader, taken)
    run.flush_disks()
    subjects.send(COUNT, expected_loss=unflushed)
    subjects.wait_acknowledged(FIRST + COUNT, taken)
    subjects.wait_replicated(FIRST + COUNT, leader, taken)
    run.lose_power(*replicas)

    def on_disk(one: Placed) -> int:
        placed = run.assignment_of(one.partition)
        return max(run.log_end_and_high_watermark(each, one.partition)[0] for each in replicas if each.id in placed)

    ends = {str(one.partition): on_disk(one) for one in subjects.of(unflushed)}
    run.require(
        "no disk has all that was acknowledged and not flushed",
        all(end < FIRST + COUNT for end in ends.values()),
        whole=[place for place, end in ends.items() if end == FIRST + COUNT],
    )
    run.start(*replicas)
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, lambda one: not unanswered(one))
    subjects.settle()
