"""The whole ISR is dead, and a replica outside it is alive: it may lead, or must wait (Kafka documentation, Design:
unclean leader election; KIP-106).

A producer sends and a consumer reads all the time. The follower B stops and leaves the ISR; the leader A alone
acknowledges more records, and dies. B returns without them. With unclean.leader.election.enable=true B leads at once,
and the records are lost when A returns. With false the partition waits for A, and nothing is lost. True is the default
through 0.10.2, false from 0.11.

Another topic, which lies on B alone, has its leader again: this shows that the controller has considered B.
"""

from dataclasses import replace
from functools import partial

from harness.words import (
    LOST,
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Partition,
    Run,
    TopicPlan,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.controller import BEFORE

GIVEN_UP_SOON = {"message.timeout.ms": "5000"}
"""For the load that the leader alone acknowledges. Records in flight when A dies are not waited for."""
OTHERS_THERE = LOST | {"inconsistent-offsets"}
"""A consumer that has read records which are then lost finds other records at their offsets."""
SHORTER = frozenset({"high-watermark-regression"})
MAY_BE_SHORTER = """A consumer that asks for the end of B's log before that has grown past what the consumer had read
    sees the high watermark go back."""

UNCLEAN_LEADER_LOSES = (
    Documented(
        on=ranges.HIGH_WATERMARK_TRUNCATION,
        required=OTHERS_THERE,
        allowed=SHORTER | {"replica-divergence"},
        claims=["leader-elected-from-outside-isr", "leader-epoch-rises-by-one"],
        sentence=f"""B leads although it was not in sync, and the records that A acknowledged alone are lost. A
            truncates to its high watermark. If it had checkpointed that (each five seconds) after B had left, its log
            keeps records that differ from B's. {MAY_BE_SHORTER}""",
        source="Kafka documentation, Design: unclean leader election; KIP-101; broker configuration: "
        "replica.high.watermark.checkpoint.interval.ms",
        basis=Basis.DOCUMENTATION,
    ),
    Documented(
        on=ranges.LEADER_EPOCHS,
        required=OTHERS_THERE,
        allowed=SHORTER,
        claims=["leader-elected-from-outside-isr", "leader-epoch-rises-by-one"],
        sentence=f"""B leads although it was not in sync, and the records that A acknowledged alone are lost. This
            includes records of an idempotent producer: idempotence prevents duplicates, not loss. {MAY_BE_SHORTER}""",
        source="Kafka documentation, Design: unclean leader election",
        basis=Basis.DOCUMENTATION,
    ),
)
WAITS_FOR_ISR = (
    Documented(
        on=ranges.LAST_KNOWN_LEADER,
        claims=["offline-partition-waits", "leader-epoch-rises-by-one"],
        sentence="""The partition waits for A, its last known leader, which is elected although it has left the ISR.
            Nothing is lost.""",
        source="KIP-966: last known leader",
        basis=Basis.KIP,
    ),
    Documented(
        claims=["offline-partition-waits", "leader-elected-from-isr", "leader-epoch-rises-by-one"],
        sentence="The partition waits for A, and nothing is lost.",
        source="Kafka documentation, Design: unclean leader election",
        basis=Basis.DOCUMENTATION,
    ),
)


def all_in_sync_dead(run: Run, unclean: VersionRange) -> None:
    """The last replica in sync dies, and another returns: it leads on the versions of `unclean`."""
    t = run.partition()
    a, b = run.replicas_of(t)
    beside = TopicPlan(name="beside", replicas=((b.id,),))
    run.create_topic(beside)
    with run.consume(t):
        with run.load(t, rate_per_s=50, also_idempotent=True) as load:
            load.wait_acked(BEFORE, timeout_s=30)
            run.send(t, 2)

        with run.load(t, rate_per_s=50, expected_loss=True, settings=GIVEN_UP_SOON, also_idempotent=True):
            run.stop(b)
            run.wait_isr(t, [a])
            run.send(t, 2, expected_loss=True)
            run.kill(a)

        with run.load(t, rate_per_s=50, also_idempotent=True):
            run.wait_no_leader(t, a)
            run.start(b)
            run.wait_leader(Partition(beside.name, 0), b)
            if unclean.holds(run.version):
                run.wait_leader(t, b)
                run.send(t)
                run.start(a)
            else:
                leader = run.state_of(t).leader
                # No session decides this: a replica that is not in the ISR may not lead, however long it takes.
                waits = leader != b.id
                run.claim(
                    "the partition waits for its ISR",
                    waits,
                    witness="metadata",
                    of_sessions=False,
                    about=[t],
                    leader=leader,
                )
                run.start(a)
                run.wait_leader(t, a)
            run.wait_isr(t, [a, b])
            run.send(t)


scenario(
    name="unclean-election",
    claim="""When every in-sync replica is dead, a replica outside the ISR leads only if unclean leader elections are
        enabled. Then acknowledged records are lost. Otherwise the partition waits.""",
    source="Kafka documentation, Design: unclean leader election; KIP-106, KIP-966, KAFKA-12670",
    operator="""Keep unclean.leader.election.enable=false where records matter, and set it explicitly on releases before
        0.11, where true is the default. Then a partition waits for its last in-sync replica: bring that broker back
        first.""",
    cluster=ClusterPlan(settings={"replica.socket.timeout.ms": "3000", "min.insync.replicas": "1"}),
    topic=TopicPlan(replicas=((1, 2),)),
    cases={
        "default": Case(
            steps=partial(all_in_sync_dead, unclean=ranges.UNCLEAN_BY_DEFAULT),
            documented=[
                replace(
                    UNCLEAN_LEADER_LOSES[0], on=ranges.UNCLEAN_BY_DEFAULT, source="KIP-106; KIP-101", basis=Basis.KIP
                ),
                *WAITS_FOR_ISR,
            ],
        ),
        "enabled": Case(
            steps=partial(all_in_sync_dead, unclean=ranges.UNCLEAN_ON_REQUEST),
            settings={"unclean.leader.election.enable": "true"},
            documented=[
                replace(
                    WAITS_FOR_ISR[-1],
                    on=ranges.UNCLEAN_IGNORED,
                    sentence="KRaft ignores the setting before 3.9. The partition waits for A, and nothing is lost.",
                    source="ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic (3.3.2 to 3.8.0); "
                    "KAFKA-12670",
                    basis=Basis.SOURCE,
                ),
                *UNCLEAN_LEADER_LOSES,
            ],
        ),
        "disabled": Case(
            steps=partial(all_in_sync_dead, unclean=ranges.NO_VERSION),
            settings={"unclean.leader.election.enable": "false"},
            documented=WAITS_FOR_ISR,
        ),
    },
)
