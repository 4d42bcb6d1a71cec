"""A second broker with a follower's id fetches in its name, and a leader counts it as that follower (KIP-903, KIP-858).

Nothing documents this. With KRaft a broker reads the metadata log and begins to fetch before it is registered. Its
fetches then carry the broker epoch -1. Leaders do not compare -1 with the registered epoch, because it stands for
brokers that do not know epochs (Replica.updateFetchStateOrThrow, Partition.isBrokerEpochIsrEligible). So leaders take a
second broker with the id of a live one for that one, although the controller refuses to register it.

The partition has two replicas, A leads and B follows, with min.insync.replicas=2. B loses the network to A alone and
leaves the ISR. The leader refuses acks=all, as it should. Then a second broker with B's id and an empty disk is
started. It copies A's log. Then it loses the controller, so that its claims of directories do no further harm
(`duplicate-broker-id`). A takes "B" back into the ISR, and acknowledges records with acks=all that B does not have. A
dies, B is elected, cleanly, and the records are lost. With `without-double` there is no second broker.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, Target, TopicPlan, ranges, scenario

ANSWER_LIMIT_S = 10.0
JOIN_LIMIT_S = 60.0
"""For a second broker to start."""
WATCHED_S = 20.0
"""Longer than a second broker took to be counted."""


def counted_as_follower(run: Run) -> None:
    """A second broker with the follower's id fetches in its name, and the leader takes it for the follower."""
    t = run.partition()
    leader, follower = cut_off(run)

    double = run.start_double()
    run.wait_log_line(double, rf"Added fetcher to broker {leader.id} ", "that it fetches", JOIN_LIMIT_S)
    run.cut_from_coordinator(double)
    run.wait_isr(t, [leader, follower])
    run.send(t, 3, expected_loss=True)
    log_end = run.copy_replicas("armed")[follower.node.name][str(t)].leo
    run.require("the follower has none of the acknowledged records", log_end == 3, log_end=log_end)
    run.kill(leader, double)
    run.heal_network()
    run.wait_leader(t, follower)

    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def without_double(run: Run) -> None:
    """There is no second broker: the leader stays alone in sync, and refuses acks=all until the cut ends."""
    t = run.partition()
    leader, follower = cut_off(run)
    run.let_pass(WATCHED_S, "no other broker takes the follower's place")
    run.wait_isr(t, [leader])
    refuse(run)
    run.heal_network()
    run.wait_isr(t, [leader, follower])
    run.send(t, 3)
    run.kill(leader)
    run.wait_leader(t, follower)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def cut_off(run: Run) -> tuple[Target, Target]:
    """The leader, and the follower that is cut off from the leader alone. The follower is out of the ISR, and acks=all
    is refused.
    """
    t = run.partition()
    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    run.send(t, 3)
    run.cut([follower], [leader])
    run.send(t, acks="1", expected_loss=True)  # a follower that lacks nothing stays in sync, however long it is silent
    run.wait_isr(t, [leader])
    refuse(run)
    return leader, follower


def refuse(run: Run) -> None:
    """A record with acks=all is refused."""
    refused = run.send_async(run.partition()).wait(ANSWER_LIMIT_S)
    run.claim("acks=all is refused without the follower", refused.outcome != "ok", got=refused.error_name)


scenario(
    name="duplicate-id-counts-as-replica",
    claim="""A second broker with the id of a follower that cannot reach its leader is counted as that follower,
        before it is registered. A record that only the leader and the wrong broker have is acknowledged with acks=all
        and min.insync.replicas=2. It is lost when the leader dies.""",
    source="Kafka sources, Replica.updateFetchStateOrThrow, Partition.isBrokerEpochIsrEligible, AssignmentsManager; "
    "KIP-903, KIP-858; found here, nothing documents it",
    operator="""With KRaft, two machines with one node.id endanger acknowledged records, whatever min.insync.replicas
        is, even if the second never registers. Reuse an id only when you know that the old machine is off. Do not let a
        supervisor restart a broker that was refused.""",
    needs=["acks-1"],
    cluster=ClusterPlan(
        double_of=1,
        settings={
            "1:initial.broker.registration.timeout.ms": "60000",
            "min.insync.replicas": "2",
            "replica.lag.time.max.ms": "3000",
            "replica.socket.timeout.ms": "3000",
        },
    ),
    topic=TopicPlan(replicas=((2, 1),)),
    applies=ranges.KRAFT,
    cases={
        "default": Case(
            steps=counted_as_follower,
            documented=[
                Documented(
                    on=ranges.KRAFT,
                    required=LOST,
                    source="seen on 3.9.2 to 4.4.0; Replica.updateFetchStateOrThrow, "
                    "Partition.isBrokerEpochIsrEligible (KIP-903)",
                    basis=Basis.MEASURED,
                )
            ],
        ),
        "without-double": Case(
            steps=without_double,
            documented=[
                Documented(
                    on=ranges.KRAFT,
                    sentence="The leader stays alone in sync and refuses acks=all until the cut ends: nothing is lost.",
                    source="Kafka documentation, topic configuration: min.insync.replicas",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
