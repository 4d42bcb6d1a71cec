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
left is lost, which other faults show. Other documents say how these two may end. A request that is not
answered within request.timeout.ms is sent again where retries are left. Without idempotence the record is written twice
then, and may come behind a later one (KIP-98: motivation). A client that does not know the new leader asks the old
one, which refuses. Without retries a producer gets this error, but librdkafka sends to the next leader all the
same (`audit-broker-restart` has the source). Where records of an idempotent producer were lost and earlier ones kept,
its sequence numbers have a gap, for which it may be refused. Where all were lost there is no gap: brokers take any
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
    MIN_ISR_DOC,
    REFUSED_AGAIN,
    RETRIES_DOC,
    UNCLEAN_DOC,
    accepted,
    overtakes,
    plan,
    retries,
    topics,
    unanswered,
)
from scenarios.audit.power_loss import SOON
from scenarios.audit.shrunk_isr_crash import too_few
from scenarios.audit.under_load import LEAST_FIRST, MOVED, NEXT_IS_MADE, keeps_unanswered

COUNT, ALONE = 7, 3
REPLICATION_DOC = "Kafka documentation, Design: replication"
REQUEST_DOC = "Kafka documentation, producer configuration: request.timeout.ms; KIP-98: motivation"


def begun_by_last_records(producer: Producer, topic: Topic) -> list[tuple[str, str, Basis]]:
    """What may come of the two records that are sent when all replicas are back: the outcome, its source, its basis."""
    if producer.acks == "0" or producer.idempotence:
        return []
    found = []
    if retries(producer):
        found.append(("duplicates", REQUEST_DOC, Basis.DOCUMENTATION))
        if overtakes(producer):
            found.append(("reorders", REQUEST_DOC, Basis.DOCUMENTATION))
        elif keeps_unanswered(producer):
            found.append(("reorders", NEXT_IS_MADE, Basis.JIRA))
    elif topic.replication_factor > 1 and producer.client != "scala":
        found.append(("refuses", RETRIES_DOC, Basis.DOCUMENTATION))
        if keeps_unanswered(producer):
            found.append(("reorders", MOVED, Basis.SOURCE))
    return found


def with_last_records(
    outcome: Outcome, producer: Producer, topic: Topic, more: list[tuple[str, str, Basis]] | None = None
) -> Outcome:
    """An outcome of the fault, with what may come of the last two records, and `more` of the same form."""
    found = [*begun_by_last_records(producer, topic), *(more or [])]
    found = [one for one in found if one[0] not in outcome.must]
    if not found:
        return outcome
    return replace(
        outcome,
        may=outcome.may | {may for may, _, _ in found},
        why=f"{outcome.why} What is sent at the end may be refused by an old leader, or be answered too late.",
        source="; ".join(dict.fromkeys([outcome.source, *(source for _, source, _ in found)])),
        basis=min((outcome.basis, *(basis for _, _, basis in found)), key=[*LEAST_FIRST, Basis.KIP].index),
    )


def stated_of(lost: int) -> Callable[[Producer, Topic], Outcome]:
    """What is stated where so many replicas are lost, the leader first, and every replica had every record."""

    def stated(producer: Producer, topic: Topic) -> Outcome:
        gone = topic.replication_factor <= lost
        outcome = Outcome(
            must=frozenset({"loses"} if gone else ()),
            why="Every replica of the partition is lost, and with them every record."
            if gone
            else "A replica that is left has every record, is in the ISR, and leads.",
            source=REPLICATION_DOC,
            basis=Basis.DOCUMENTATION,
        )
        return with_last_records(outcome, producer, topic)

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
        told = producer.client != "scala"
        outcome = Outcome(
            must=frozenset({"refuses"} if told and not retries(producer) else ()),
            why="The leader alone acknowledges nothing, so nothing is lost with it: acks=all is refused."
            if told
            else "acks=all is refused; the Scala producer does not say why it failed, so its user knows nothing.",
            source=MIN_ISR_DOC,
            basis=Basis.DOCUMENTATION,
        )
        late = [("refuses", MIN_ISR_DOC, Basis.DOCUMENTATION)] if told and retries(producer) else []
        return with_last_records(outcome, producer, topic, late)
    outcome = Outcome(
        must=frozenset({"loses"}),
        why="The leader was the whole ISR and acknowledged alone. No other replica has these records.",
        source=f"{ACKS_DOC}; {MIN_ISR_DOC}; {UNCLEAN_DOC}",
        basis=Basis.DOCUMENTATION,
    )
    gap = [("refuses", IDEMPOTENCE_DOC, Basis.KIP)] if producer.idempotence else []
    return with_last_records(outcome, producer, topic, gap)


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
