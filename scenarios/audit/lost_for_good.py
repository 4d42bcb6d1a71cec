"""Replicas are lost for good: their disks come back empty (Kafka documentation, Design: replication).

A broker that is killed comes back with its files, and what it had is there again. Here it comes back with an empty
disk, as a machine that replaces a broken one. For its records that is the same as a node that never returns. A replica
that was lost fetches everything from the next leader, and every replica is in sync at the end.

Each subject sends ten records. In the first two scenarios every replica has them before anything fails, and knows it:
the checkpointed high watermark of each says so. `audit-disk-lost` takes the leader alone. `audit-rack-lost` takes the
leader and the first follower, as a rack that holds both does. A record that another replica has survives, whatever the
producer asked for: no follower has less than another to truncate to (KIP-101). A record without another replica is
lost. Topics of which every replica is lost have unclean elections on: with ZooKeeper the empty replica is in the ISR
and leads by itself. With eligible leader replicas nobody leads the partition until it is allowed so (KIP-966: unclean
recovery; 4.3.1 left it without a leader for the two minutes that a run waited).

In `audit-last-disk-lost` the followers are stopped cleanly after the first three records. The ISR is the leader, which
acknowledges three more alone, or refuses them: acks=all with min.insync.replicas=2. Then its disk is lost. The
followers return first, since they have what was replicated. None of them is in the ISR, so one leads by an unclean
election. With eligible leader replicas (KIP-966) and min.insync.replicas=2 the last one that left leads cleanly.

At the end each subject sends two records more. acks=0 sends none: what is sent into a connection that a dead broker
left is lost, which other faults show. A request that is not answered within request.timeout.ms is sent again where
retries are left, and without idempotence the record is written twice then (KIP-98: motivation); one run of
`audit-disk-lost` had such a record. Where records of an idempotent producer were lost and earlier ones kept, its
sequence numbers have a gap, and librdkafka's are refused for it. Where all were lost there is no gap: brokers take any
number from a producer of which they know nothing (KIP-360).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from harness.words import (
    FIRST,
    LOST,
    NOTHING_STATED,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Subject,
    Subjects,
    Target,
    Topic,
    TopicPlan,
    Version,
    scenario,
)
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    ELR_DOC,
    IDEMPOTENCE_DOC,
    IN_FLIGHT_DOC,
    MIN_ISR_DOC,
    REFUSED_AGAIN,
    UNCLEAN_DOC,
    accepted,
    again,
    overtakes,
    plan,
    retries,
    topics,
    unanswered,
)
from scenarios.audit.power_loss import SOON
from scenarios.audit.shrunk_isr_crash import too_few

COUNT, ALONE = 7, 3
REPLICATION_DOC = "Kafka documentation, Design: replication"
REQUEST_DOC = "Kafka documentation, producer configuration: request.timeout.ms; KIP-98: motivation"


def stated_of(lost: int) -> Callable[[Producer, Topic], Outcome]:
    """What is stated where so many replicas are lost, the leader first, and every replica had every record."""

    def stated(producer: Producer, topic: Topic) -> Outcome:
        if topic.replication_factor <= lost:
            return Outcome(
                must=frozenset({"loses"}),
                why="Every replica of the partition is lost, and with them every record.",
                source=REPLICATION_DOC,
                basis=Basis.DOCUMENTATION,
            )
        late = lost == 1 and retries(producer) and producer.acks != "0" and not producer.idempotence
        kept = "A replica that is left has every record, is in the ISR, and leads."
        return Outcome(
            may=frozenset({"duplicates"} if late else {}),
            why=f"{kept} What is sent at the end may be answered too late, and is sent again." if late else kept,
            source=f"{REPLICATION_DOC}; {REQUEST_DOC}" if late else REPLICATION_DOC,
            basis=Basis.DOCUMENTATION,
        )

    return stated


def struck_topics(producer: Producer, version: Version, lost: int) -> Iterator[Topic]:
    """A producer's topics where so many replicas are lost; those that lose all of theirs elect an empty one."""
    for topic in topics(producer, version):
        yield replace(topic, unclean=topic.replication_factor <= lost)


def lose(run: Run, targets: list[Target]) -> None:
    """These brokers are gone, and their disks: one right after the other, as fast as they can be killed."""
    run.kill(*targets)
    for target in targets:
        run.wipe(target)


def every_replica_has_them(run: Run, lost: int) -> None:
    """Every replica has every record, and so many brokers are lost, the leader first."""
    t = run.partition()
    subjects = Subjects(run, plan(run, stated_of(lost), among=lambda one: struck_topics(one, run.version, lost)))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    def doomed(one: Subject) -> bool:
        return taken(one) and one.topic.replication_factor <= lost

    subjects.begin(taken, expected_loss=doomed)
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    struck, left = [leader, *followers][:lost], [leader, *followers][lost:]
    subjects.send(COUNT, expected_loss=doomed)
    subjects.wait_acknowledged(FIRST + COUNT, taken)
    subjects.wait_whole()
    for number, broker in enumerate([leader, *followers]):
        # A follower that has not heard of the high watermark yet may truncate to its own (KIP-101).
        subjects.wait_replicated(
            FIRST + COUNT,
            broker,
            lambda one, number=number: taken(one) and one.topic.replication_factor > number,  # type: ignore[misc]
        )
    lose(run, struck)
    subjects.wait_led(*left, which=lambda one: taken(one) and not doomed(one))
    for broker in struck:
        run.wait_unregistered(broker)
    run.start(*struck)
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, lambda one: not unanswered(one))
    subjects.settle()


DOCUMENTED = [
    Documented(
        allowed=LOST | REFUSED_AGAIN,
        source=REPLICATION_DOC,
        basis=Basis.DOCUMENTATION,
    )
]


@scenario(
    name="audit-disk-lost",
    claim="""When a broker's disk is lost for good, a topic with one replica loses every record that was there, whatever
        its producer is set to. No record of another replica in sync is lost.""",
    source=REPLICATION_DOC,
    operator="""Give every topic that matters three replicas. No setting of a producer stands in for a second disk.""",
    cluster=ClusterPlan(settings=CLUSTER | SOON),
    documented=DOCUMENTED,
    applies=AUDITED,
)
def disk_lost(run: Run) -> None:
    every_replica_has_them(run, 1)


@scenario(
    name="audit-rack-lost",
    claim="""When the leader and a follower lose their disks for good, as in one rack, topics with no replica elsewhere
        lose every record that was there. No record of a third replica in sync is lost.""",
    source=REPLICATION_DOC,
    operator="""Set broker.rack, so that Kafka places a partition's replicas in different racks, and have three.""",
    cluster=ClusterPlan(settings=CLUSTER | SOON),
    documented=DOCUMENTED,
    applies=AUDITED,
)
def rack_lost(run: Run) -> None:
    every_replica_has_them(run, 2)


def alone_in_sync(producer: Producer, version: Version) -> Iterator[Topic]:
    """Topics with followers, and unclean elections: without one nobody leads, by the setting or by an operator."""
    for topic in topics(producer, version, (True,)):
        if topic.replication_factor > 1:
            yield topic


def stated_of_the_last(producer: Producer, topic: Topic) -> Outcome:
    if too_few(Subject(producer=producer, topic=topic, stated=NOTHING_STATED)):
        told, several = producer.client != "scala", overtakes(producer)
        return Outcome(
            must=frozenset({"refuses"} if told and not retries(producer) else ()),
            may=frozenset({"reorders"} if several else ()),
            why="The leader alone acknowledges nothing, so nothing is lost with it: acks=all is refused."
            + again(producer)
            if told
            else "acks=all is refused; the Scala producer does not say why it failed, so its user knows nothing.",
            source=f"{MIN_ISR_DOC}; {IN_FLIGHT_DOC}" if several else MIN_ISR_DOC,
            basis=Basis.DOCUMENTATION,
        )
    gap = producer.idempotence and producer.client == "librdkafka"
    alone = "The leader was the whole ISR and acknowledged alone. No other replica has these records."
    return Outcome(
        must=frozenset({"loses", "refuses"} if gap else {"loses"}),
        why=f"{alone} The sequence numbers have a gap then, and librdkafka's are refused for it." if gap else alone,
        source="; ".join([ACKS_DOC, MIN_ISR_DOC, UNCLEAN_DOC, *([IDEMPOTENCE_DOC] if gap else [])]),
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-last-disk-lost",
    claim="""When the last replica in sync loses its disk for good, what it acknowledged alone is lost. With
        min.insync.replicas=2 acks=all is refused instead, and nothing is lost.""",
    source=f"{MIN_ISR_DOC}; {UNCLEAN_DOC}; {ELR_DOC}",
    operator="""Use acks=all with three replicas and min.insync.replicas=2. Start the other replicas before a broker
        that returns with an empty disk: the last one of an ISR is elected with an empty log.""",
    cluster=ClusterPlan(settings=CLUSTER | SOON),
    topic=TopicPlan(settings={"unclean.leader.election.enable": "true"}),
    documented=DOCUMENTED,
    applies=AUDITED,
)
def last_disk_lost(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated_of_the_last, among=lambda one: alone_in_sync(one, run.version)))
    run.require("every topic has followers", all(one.subject.topic.replication_factor > 1 for one in subjects.all))
    run.require("an unclean election is allowed", all(one.subject.topic.unclean for one in subjects.all))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    def alone(one: Subject) -> bool:
        return taken(one) and not too_few(one)

    def refused(one: Subject) -> bool:
        return taken(one) and too_few(one) and not retries(one.producer)

    subjects.begin(taken)
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    subjects.wait_replicated(FIRST, leader, taken)
    run.stop(*followers)
    subjects.wait_isr([leader], taken)
    subjects.send(ALONE, expected_loss=alone)
    subjects.wait_acknowledged(FIRST + ALONE, alone)
    subjects.wait_log_end(FIRST + ALONE, leader, alone)
    subjects.wait_answered(refused)
    run.claim(
        "nothing is acknowledged with acks=all while fewer than min.insync.replicas are in sync",
        all(one.tally.ok <= FIRST for one in subjects.of(too_few)),
    )
    lose(run, [leader])
    run.wait_unregistered(leader)
    run.start(*followers)
    subjects.wait_led(*followers, which=taken)
    run.start(leader)
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, lambda one: not unanswered(one))
    subjects.settle()
