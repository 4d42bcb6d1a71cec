"""A follower restarts with records above its high watermark, and is next in line to lead (KIP-101; KAFKA-3143).

This is the sequence of [follower-reboot](follower-reboot.md), on many partitions at once. The follower is frozen while
each subject sends a record. It continues, fetches all of these with one request, and is killed before it learns that
they are committed. It was the controller, so until 2.3 the next controller leaves it in the ISR. It comes back, cut
from the leader, truncates to its high watermark, and is elected when the leader dies. From 2.3 on it leaves the ISR, so
no replica without the record leads, with leader epochs or without.

Where it is elected, no topic has three replicas. The third replica would find that its new leader's log ends before its
own, and such a broker exits if unclean elections are off (KAFKA-1211 describes both).
"""

from collections.abc import Iterator
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
    Topic,
    TopicPlan,
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
    topics,
    unanswered,
)
from scenarios.audit.double_failover import PARKED_FETCHES, holding, third_leads

KIP_101 = "KIP-101; KAFKA-3143"


def stated(producer: Producer, topic: Topic, *, trap: bool) -> Outcome:
    """A single record is sent, so no other can overtake it."""
    if trap and topic.replication_factor > 1:
        return Outcome(
            must=frozenset({"loses"}),
            why="The follower truncated the record when it came back, was in the ISR still, and leads without it.",
            source=KIP_101,
            basis=Basis.KIP,
        )
    return Outcome(
        may=frozenset({"loses"} if producer.acks == "0" else ()),
        why="No replica that lacks the record becomes leader.",
        source=f"{KIP_101}; {ACKS_DOC}",
        basis=Basis.KIP,
    )


@scenario(
    name="audit-follower-reboot",
    claim="""Before 0.11 a follower that restarts truncates to its high watermark. If it leads next, acknowledged
        records are lost, with acks=all and min.insync.replicas=2 too. Where it leaves the ISR nothing is lost.""",
    source=KIP_101,
    operator=OPERATOR,
    cluster=ClusterPlan(
        brokers=(1, 2, 3),
        controller=2,
        session_timeout_ms=9000,
        settings=CLUSTER | PARKED_FETCHES | {"replica.lag.time.max.ms": "60000"},
    ),
    topic=TopicPlan(replicas=((1, 2),)),
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
def follower_reboot(run: Run) -> None:
    t, trap = run.partition(), ranges.REBOOTED_FOLLOWER_LOSES.holds(run.version)

    def among(producer: Producer) -> Iterator[Topic]:
        return (one for one in topics(producer, run.version) if not trap or one.replication_factor < 3)

    subjects = Subjects(run, plan(run, partial(stated, trap=trap), among=among))
    run.require("no third replica is to follow one that has truncated", not (trap and subjects.of(third_leads)))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    subjects.begin(taken)
    run.send(t, 3)
    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    third = next(run.broker(number) for number in run.cluster.plan.brokers if number not in run.assignment_of(t))

    run.wait_high_watermark(t, 3, [follower])  # the last to be written, and so the last to be checkpointed

    run.freeze(follower)
    end_waiting_fetches(run, leader)
    subjects.send(1, expected_loss=lambda one: trap and taken(one) and others(one))
    subjects.wait_log_end(FIRST + 1, leader, taken)
    run.thaw()
    subjects.wait_acknowledged(FIRST + 1, taken)
    run.kill(follower)
    holding(run, subjects, follower, truncates=run.version.truncates_to_high_watermark)
    run.wait_unregistered(follower)

    if ranges.DEAD_CONTROLLER_STAYS_IN_ISR.holds(run.version):
        isr = run.state_of(t).isr
        run.require("the dead follower is still in the ISR", follower.id in isr, isr=isr)
        run.move_controller_away_from(leader, follower)
        run.start_cut_off(follower, [leader])
        if trap:
            subjects.wait_log_end(FIRST, follower, lambda one: taken(one) and others(one))
        run.kill(leader)
        run.heal_network()
        subjects.wait_led(follower, which=others)
        subjects.lead(follower, lambda one: taken(one) and others(one))
    else:
        subjects.wait_isr([leader, third], others)
        run.kill(leader)
        run.start(follower)
        subjects.wait_led(third, which=third_leads)
        subjects.wait_leaderless(leader, lambda one: others(one) and not third_leads(one))
    run.start(leader)
    subjects.wait_isr([leader, follower, third])
    subjects.settle()
    subjects.send(2, expected_loss=unanswered)
    subjects.settle()
