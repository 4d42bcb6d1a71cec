"""The ISR shrinks to the leader, and the leader dies (Kafka documentation: unclean.leader.election.enable; KIP-966).

The leader is cut from its followers alone. It removes them from the ISR. From then on acks=all with
min.insync.replicas=1 means the leader alone, as acks=1 always does. With min.insync.replicas=2 it refuses acks=all. The
record that was waiting when the ISR shrank is in its log, and is refused too. So a producer with retries writes it
twice, unless it is idempotent.

A leader that asks the controller to shrink the ISR (protocol 2.7) may leave the waiting record unanswered until another
one arrives (KAFKA-13091). Then the record times out in its producer and is sent twice. This was seen on 2.8.2, and with
min.insync.replicas=2 on 3.9.2. The next records are sent when that is over.

Then the leader is killed. With unclean elections a follower leads that has none of these records. Without, the
partition waits for its leader. With eligible leader replicas (KIP-966, on in new clusters from 4.1 on) a replica may
lead that left an ISR which was too small to acknowledge acks=all. This counts as a clean election. Records that were
acknowledged with acks=1 after it had left are lost, with unclean elections off.
"""

from harness.words import (
    FIRST,
    NOTHING_STATED,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
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
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    ELR_DOC,
    IDEMPOTENCE_DOC,
    MIN_ISR_DOC,
    OPERATOR,
    REFUSED_AGAIN,
    RETRIES_DOC,
    UNCLEAN_DOC,
    accepted,
    alone,
    elects_eligible_leaders,
    overtakes,
    plan,
    retries,
    unanswered,
)
from scenarios.replication.shrink_to_leader import DIVERGES, TRUNCATED

SHRINKING, AFTER = 1, 6


def too_few(subject: Subject) -> bool:
    """Whether the leader alone is too little for its acknowledgement."""
    return subject.producer.acks == "all" and subject.topic.min_insync_replicas > 1


def others_lead(subject: Subject, version: Version) -> bool:
    """Whether a follower is elected while the leader is down."""
    topic = subject.topic
    eligible = elects_eligible_leaders(version) and topic.min_insync_replicas > 1
    return topic.replication_factor > 1 and (topic.unclean or eligible)


def stated(producer: Producer, topic: Topic, version: Version) -> Outcome:
    one = Subject(producer=producer, topic=topic, stated=NOTHING_STATED)
    if too_few(one):
        return _too_few(producer)
    if others_lead(one, version):
        clean = not topic.unclean
        gap = producer.idempotence and producer.client == "librdkafka"
        return Outcome(
            must=frozenset({"loses", "refuses"} if gap else {"loses"}),
            why="A replica that left an ISR too small for acks=all is eligible to lead, and has none of these records."
            if clean
            else """The leader is the whole ISR and acknowledges alone. The follower that is elected has none of these
                records. The sequence numbers of an idempotent producer then have a gap, for which librdkafka's are
                refused.""",
            source=ELR_DOC if clean else f"{UNCLEAN_DOC}; {IDEMPOTENCE_DOC}",
            basis=Basis.KIP if clean else Basis.DOCUMENTATION,
        )
    return Outcome(
        must=frozenset({"loses"} if producer.acks == "0" and producer.client == "scala" else {}),
        may=_stuck(producer, topic),
        why="""Only the leader can be elected, and a killed process loses no file. With acks=0 the Scala producer sends
            into its old connection, and these records are lost.""",
        source=UNCLEAN_DOC,
        basis=Basis.DOCUMENTATION,
    )


def _stuck(producer: Producer, topic: Topic) -> frozenset[str]:
    """What may come of a record that waits for acks=all while the ISR shrinks, and is sent again after its time-out."""
    if producer.acks != "all" or topic.replication_factor == 1 or producer.idempotence or not retries(producer):
        return frozenset()
    return frozenset({"duplicates"})


def _too_few(producer: Producer) -> Outcome:
    if not retries(producer):
        told = producer.client != "scala"
        return Outcome(
            must=frozenset({"refuses"} if told else {}),
            why="acks=all is refused when fewer replicas are in sync than min.insync.replicas."
            if told
            else "acks=all is refused; the Scala producer does not say why it failed, so its user knows nothing.",
            source=MIN_ISR_DOC,
            basis=Basis.DOCUMENTATION,
        )
    may = {"refuses"}
    if not producer.idempotence:
        may |= {"duplicates"} | ({"reorders"} if overtakes(producer) else set())
    return Outcome(
        may=frozenset(may),
        why="""acks=all is refused, and retried until the followers are back or the record times out. The record that
            waited when the ISR shrank was refused after it had been written (NOT_ENOUGH_REPLICAS_AFTER_APPEND): without
            idempotence a retry writes it twice.""",
        source=f"{MIN_ISR_DOC}; {RETRIES_DOC}",
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-shrunk-isr-crash",
    claim="""When the ISR has shrunk to the leader and the leader dies, an unclean election, or the election of an
        eligible replica, loses the records that the leader acknowledged alone. With min.insync.replicas=2 the leader
        refuses acks=all instead.""",
    source=f"{ACKS_DOC}; {UNCLEAN_DOC}; {ELR_DOC}",
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER | {"replica.lag.time.max.ms": "3000"}),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=DIVERGES | TRUNCATED | REFUSED_AGAIN,
            source=UNCLEAN_DOC,
            basis=Basis.DOCUMENTATION,
        ),
        Documented(
            allowed=REFUSED_AGAIN,
            source=UNCLEAN_DOC,
            basis=Basis.DOCUMENTATION,
        ),
    ],
    applies=AUDITED,
)
def shrunk_isr_crash(run: Run) -> None:
    t, version = run.partition(), run.version
    subjects = Subjects(run, plan(run, lambda one, topic: stated(one, topic, version), unclean=(False, True)))

    def taken(one: Subject) -> bool:
        return accepted(one, version) and not too_few(one)

    def expected_loss(one: Subject) -> bool:
        return unanswered(one) or (taken(one) and others_lead(one, version))

    subjects.begin(lambda one: accepted(one, version))
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.cut([leader], followers)
    subjects.send(SHRINKING, expected_loss=expected_loss)
    subjects.wait_isr([leader], lambda one: accepted(one, version))
    subjects.wait_answered(lambda one: taken(one) or not retries(one.producer))
    subjects.send(AFTER, expected_loss=expected_loss)
    subjects.wait_answered(lambda one: taken(one) or not retries(one.producer))
    subjects.wait_log_end(FIRST + SHRINKING + AFTER, leader, lambda one: taken(one) and one.producer.acks == "0")
    run.claim(
        "nothing is acknowledged with acks=all while fewer than min.insync.replicas are in sync",
        all(one.tally.ok <= FIRST for one in subjects.of(lambda one: too_few(one) and not alone(one))),
    )

    run.kill(leader)
    run.heal_network()
    subjects.wait_led(*followers, which=lambda one: accepted(one, version) and others_lead(one, version))
    subjects.wait_leaderless(leader, lambda one: accepted(one, version) and not others_lead(one, version))
    run.start(leader)
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, expected_loss=unanswered)
    subjects.settle()
