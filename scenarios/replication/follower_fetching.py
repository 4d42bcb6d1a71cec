"""Consumers read from a follower if brokers and consumers name their racks (KIP-392), and otherwise from the leader
alone.

The leader's answers to clients are held back, while requests and the followers' fetches arrive. A record that is sent
then is in every log, and its producer has no answer. By default no consumer gets it until the answers arrive, although
consumers get a record of a partition that another broker leads. With a replica selector on the brokers, and with
client.rack, a consumer gets the record at once: the follower in its rack serves it.

That follower is then cut off from the leader, and leaves the ISR. A record is acknowledged without it. A consumer of
the leader gets the record. The consumer of the follower does not, because the follower does not know a higher high
watermark. The same follower gives it a record of another partition. It gets the first record when the follower has
caught up.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.replication import wait_shrunk

READ_LIMIT_S = 30.0
LONGER_THAN_A_FETCH_S = 1.0
"""A fetch without new records waits for half of that (fetch.wait.max.ms)."""
NEAR = {"client.rack": "west"}
RACKS = {"1:broker.rack": "east", "2:broker.rack": "west", "3:broker.rack": "east"}
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def hold_back(run: Run) -> None:
    """A record is in all logs while its leader answers no client: no consumer gets it."""
    t, beside = run.partition(0), run.partition(1)
    leader, elsewhere = run.leader_of(t), run.leader_of(beside)
    with run.consume(t, settings=NEAR) as consumer:
        begin(run)
        consumer.wait_read(5, timeout_s=READ_LIMIT_S)

        run.hold_answers(leader)
        waiting = run.send_async(t)
        run.wait_log_end(t, 4, run.replicas_of(t))
        run.send(beside, only=elsewhere)
        consumer.wait_position(*beside, 3, timeout_s=READ_LIMIT_S)
        run.let_pass(LONGER_THAN_A_FETCH_S, "a follower that served consumers would have given the record")
        run.heal_network()
        waiting.wait(READ_LIMIT_S)
        consumer.wait_position(*t, 4, timeout_s=READ_LIMIT_S)


def hold_back_and_cut(run: Run) -> None:
    """The same, and the follower in a rack serves the consumer there. Then that follower loses its leader."""
    t, beside = run.partition(0), run.partition(1)
    leader, (closest, other), elsewhere = run.leader_of(t), run.followers_of(t), run.leader_of(beside)
    with run.consume(t, settings=NEAR) as near, run.consume(t) as far:
        begin(run)
        near.wait_read(5, timeout_s=READ_LIMIT_S)
        far.wait_read(5, timeout_s=READ_LIMIT_S)

        run.hold_answers(leader)
        waiting = run.send_async(t)
        near.wait_position(*t, 4, timeout_s=READ_LIMIT_S)
        run.heal_network()
        waiting.wait(READ_LIMIT_S)
        far.wait_position(*t, 4, timeout_s=READ_LIMIT_S)

        run.cut([leader], [closest])
        missed = run.send_async(t)  # a follower that misses nothing stays in the ISR
        wait_shrunk(run, t, [leader, other])
        run.send(t)
        missed.wait(READ_LIMIT_S)
        far.wait_position(*t, 6, timeout_s=READ_LIMIT_S)
        run.send(beside, only=elsewhere)
        near.wait_position(*beside, 3, timeout_s=READ_LIMIT_S)
        run.heal_network()
        run.wait_isr(t, run.replicas_of(t))
        near.wait_position(*t, 6, timeout_s=READ_LIMIT_S)


def begin(run: Run) -> None:
    """Records of both partitions, by the producers that send later."""
    t, beside = run.partition(0), run.partition(1)
    run.send(t, 2)
    run.send(beside, 2, only=run.leader_of(beside))
    run.send_async(t).wait(READ_LIMIT_S)


scenario(
    name="follower-fetching",
    claim="""Consumers are served by the leader. From 2.4 on a follower serves the consumers of its rack, if brokers
        have a replica selector and a rack. It gives them records below its own high watermark.""",
    source="KIP-392; Kafka documentation, broker configuration: replica.selector.class",
    operator="""Reading from the closest replica saves traffic between zones. The price is delay: a follower that has
        lost its leader still serves its consumers, with old records alone. Monitor their lag against the leader.""",
    cluster=ClusterPlan(session_timeout_ms=20000, settings={"replica.lag.time.max.ms": "3000"}),
    topic=TopicPlan(replicas=((1, 2, 3), (3, 2, 1))),
    cases={
        "by-default": Case(
            steps=hold_back,
            documented=[
                Documented(
                    claims=["only-leader-serves-consumer"],
                    source="KIP-392: motivation; Kafka documentation, broker configuration: replica.selector.class",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "racks": Case(
            steps=hold_back_and_cut,
            settings={**RACKS, "replica.selector.class": SELECTOR},
            applies=ranges.FOLLOWERS_SERVE,
            documented=[
                Documented(
                    claims=["closest-replica-serves-consumer", "follower-serves-to-its-high-watermark"],
                    source="KIP-392",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
