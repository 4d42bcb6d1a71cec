"""The leader dies right after an acknowledgement, and the next leader before it can lead (KIP-101, KAFKA-1211).

The sequence of [double-failover](double-failover.md), of many partitions at once. So that all of them learn of their
high watermarks at the same moments, the followers are frozen while each subject sends a record. Then the followers
continue and fetch all of these records with one request. Their next requests tell the leader so, and it acknowledges
acks=all. The answers to those requests carry the new high watermarks. They are due after replica.fetch.wait.max.ms, and
the leader is dead by then.

The first follower is elected after its own death. The second one has begun to follow it, and has truncated to its high
watermark where there are no leader epochs. Then it is elected too, cleanly. It had every record when the leader
acknowledged, as every in-sync replica had. So neither acks=all nor min.insync.replicas=2 protects the records that
truncation removes.

With two replicas nobody is left to be elected: the partition waits for the one that was elected last.
"""

from functools import partial

from harness.words import (
    FIRST,
    LOST,
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
    ranges,
    scenario,
)
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    OPERATOR,
    accepted,
    end_waiting_fetches,
    others,
    plan,
    unanswered,
)

KIP_101 = "KIP-101; KAFKA-1211"
PARKED_FETCHES = {"replica.fetch.wait.max.ms": "6000", "replica.socket.timeout.ms": "8000"}
"""How long the sequence has to kill somebody, before a high watermark reaches those that wait for records."""


def third_leads(subject: Subject) -> bool:
    """Whether a replica is left when two are dead."""
    return subject.topic.replication_factor > 2


def stated(producer: Producer, topic: Topic, *, truncates: bool) -> Outcome:
    """A single record is sent, so no other can overtake it."""
    if truncates and topic.replication_factor > 2:
        return Outcome(
            must=frozenset({"loses"}),
            why="""Every replica had the record when it was acknowledged, and the last one truncated to its high
                watermark before it led.""",
            source=KIP_101,
            basis=Basis.KIP,
        )
    return Outcome(
        may=frozenset({"loses"} if producer.acks == "0" else ()),
        why="The leader at the end has the record. It truncates only after it has asked another replica."
        if topic.replication_factor > 2
        else "No replica that lacks the record becomes leader.",
        source=f"{KIP_101}; {ACKS_DOC}",
        basis=Basis.KIP,
    )


def holding(run: Run, subjects: Subjects, target: Target, *, truncates: bool) -> None:
    """Require that a replica has the record of each subject, and no checkpoint of a high watermark that covers it."""
    ends = {
        str(t): run.log_end_and_high_watermark(target, t)
        for t in subjects.partitions(lambda one: accepted(one, run.version) and others(one))
        if target.id in run.assignment_of(t)
    }
    wrong = {t: end for t, end in ends.items() if end[0] != FIRST + 1 or (truncates and end[1] > FIRST)}
    run.require(f"{target.node.name} holds each subject's record above its high watermark", not wrong, ends=wrong)


@scenario(
    name="audit-double-failover",
    claim="""Where followers truncate to the high watermark, two clean elections lose acknowledged records, with
        acks=all and min.insync.replicas=2 too. With leader epochs nothing is lost.""",
    source=KIP_101,
    operator=OPERATOR,
    cluster=ClusterPlan(
        session_timeout_ms=9000,
        zookeeper_sessions_ms={2: 12_000},
        settings=CLUSTER | PARKED_FETCHES | {"replica.lag.time.max.ms": "30000"},
    ),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=LOST | {"replica-divergence"},
            source=KIP_101,
            basis=Basis.KIP,
        ),
        Documented(
            allowed=LOST,
            source=KIP_101,
            basis=Basis.KIP,
        ),
    ],
    applies=AUDITED,
)
def double_failover(run: Run) -> None:
    t, truncates = run.partition(), run.version.truncates_to_high_watermark
    subjects = Subjects(run, plan(run, partial(stated, truncates=truncates)))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    def expected_loss(one: Subject) -> bool:
        return truncates and taken(one) and third_leads(one)

    subjects.begin(taken)
    run.send(t, 3)
    leader, (heir, last) = run.leader_of(t), run.followers_of(t)
    run.wait_checkpoint_written(leader)

    run.freeze(heir, last)
    end_waiting_fetches(run, leader)
    subjects.send(1, expected_loss=expected_loss)
    subjects.wait_log_end(FIRST + 1, leader, taken)
    run.thaw()
    subjects.wait_acknowledged(FIRST + 1, taken)
    run.kill(leader)
    for follower in (heir, last):
        holding(run, subjects, follower, truncates=truncates)

    run.wait_share_of_session(leader, run.vary(0.35, low=0.28, high=0.4))
    run.kill(heir)
    subjects.wait_led(last, which=third_leads)
    run.require(
        "the second leader was elected after its death, then the last replica",
        run.elected_after_death(heir, t),
        leader=run.state_of(t).leader,
    )
    subjects.lead(last, lambda one: taken(one) and third_leads(one))
    run.start(leader, heir)
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, expected_loss=unanswered)
    subjects.settle()
