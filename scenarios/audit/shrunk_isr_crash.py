"""The ISR shrinks to the leader, and the leader dies (Kafka documentation: unclean.leader.election.enable; KIP-966).

The leader is cut from its followers alone. It takes them out of the ISR, and from then on acks=all with
min.insync.replicas=1 means the leader alone, as acks=1 always did. With min.insync.replicas=2 it refuses acks=all: the
record that was waiting when the ISR shrank is in its log all the same, and is refused too, so a producer that tries
again writes it twice, unless it is idempotent.

A leader that asks the controller to shrink the ISR (protocol 2.7) may leave the record that waits unanswered until
another one comes (KAFKA-13091), so that its producer's time is up and it is sent twice: seen on 2.8.2, and with
min.insync.replicas=2 on 3.9.2. The next records are sent when that is over.

Then the leader is killed. With unclean elections a follower leads that has none of these records. Without, the
partition waits for its leader. Eligible leader replicas (KIP-966, on in new clusters from 4.1 on) let a replica lead
that left an ISR which was too small to acknowledge acks=all, and call that clean: what acks=1 was acknowledged
meanwhile is lost, with unclean elections off.
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
from scenarios.replication.shrink_to_leader import CUT_BACK

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
        return Outcome(
            must=frozenset({"loses"}),
            may=_stuck(producer, topic) | frozenset({"refuses"} if producer.idempotence else {}),
            why="A replica that left an ISR too small for acks=all is eligible to lead, and has none of this."
            if clean
            else """The leader is the whole ISR and acknowledges alone; the follower that is elected has none of it. The
                sequence numbers of an idempotent producer then have a gap, for which it may be refused.""",
            source=ELR_DOC if clean else f"{UNCLEAN_DOC}; {IDEMPOTENCE_DOC}",
            basis=Basis.KIP if clean else Basis.DOCUMENTATION,
        )
    return Outcome(
        may=frozenset({"loses"} if producer.acks == "0" else {}) | _stuck(producer, topic),
        why="""Nobody but the leader can be elected, and a process that is killed loses no file. With acks=0 what is
            sent into the connection that it left is gone.""",
        source=UNCLEAN_DOC,
        basis=Basis.DOCUMENTATION,
    )


def _stuck(producer: Producer, topic: Topic) -> frozenset[str]:
    """What may come of a record that waits for acks=all while the ISR shrinks, and is sent again when time is up."""
    if producer.acks != "all" or topic.replication_factor == 1 or producer.idempotence or not retries(producer):
        return frozenset()
    return frozenset({"duplicates", "reorders"} if overtakes(producer) else {"duplicates"})


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
        why="""acks=all is refused, and tried again until the followers are back or time is up. The record that waited
            when the ISR shrank was refused when it had been written (NOT_ENOUGH_REPLICAS_AFTER_APPEND): again is twice,
            without idempotence.""",
        source=f"{MIN_ISR_DOC}; {RETRIES_DOC}",
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-shrunk-isr-crash",
    claim="""When the ISR has shrunk to a leader that dies, what it acknowledged alone is lost by an unclean election,
        and by that of an eligible replica; with min.insync.replicas=2 acks=all is refused instead.""",
    source=f"{ACKS_DOC}; {UNCLEAN_DOC}; {ELR_DOC}",
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER | {"replica.lag.time.max.ms": "3000"}),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=CUT_BACK | REFUSED_AGAIN,
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
