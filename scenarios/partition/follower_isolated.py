"""A follower is alone on its side (Kafka documentation, Design: replication; KIP-16).

It leaves the ISR when it has not fetched for replica.lag.time.max.ms, or when its session ends, whichever is first.
Until then writes with acks=all wait; writes with acks=1 do not. When it is healed it registers again, catches up and is
back in the ISR.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.partition import SETTINGS, SHRUNK, clients


@scenario(
    name="follower-isolated",
    claim="""A follower that is cut off from all other nodes leaves the ISR. Writes with acks=all pause until then;
        writes with acks=1 do not. The follower returns when the network is healed, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""When a follower is cut off, writes with acks=all pause for replica.lag.time.max.ms and up to half of it
        more, or for its session, whichever is shorter. The default is 30 s, and 10 s before 2.5. Lower it if that pause
        is too long.""",
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "acks-1": Case(
            acks="1",
            documented=[
                Documented(
                    claims=[*SHRUNK, "writes-go-on-while-cut"],
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "acks-all": Case(
            documented=[
                Documented(
                    on=ranges.ISR_SHRINK_HOLDS_BACK,
                    sentence="""The leader removes the follower from the ISR in time. If it does so before the session
                        ends, writes continue only when the producer's request has timed out.""",
                    claims=SHRUNK,
                    source="KAFKA-13091",
                    basis=Basis.JIRA,
                ),
                Documented(
                    claims=[*SHRUNK, "writes-wait-for-the-isr"],
                    source="Kafka documentation, producer configuration: acks; "
                    "broker configuration: replica.lag.time.max.ms",
                    basis=Basis.DOCUMENTATION,
                ),
            ]
        ),
    },
)
def follower_isolated(run: Run) -> None:
    t = run.partition()
    leader, (follower, other) = run.leader_of(t), run.followers_of(t)
    with clients(run, t) as load:
        run.isolate(follower)
        run.wait_isr(t, [leader, other])
        run.wait_unregistered(follower)
        load.wait_more(40, timeout_s=60)
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_registered([follower])
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)
