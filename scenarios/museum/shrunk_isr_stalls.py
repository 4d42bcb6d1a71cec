"""Writes with acks=all block although the ISR has shrunk (KAFKA-13091).

When a follower falls behind, the leader removes it from the ISR, and the high watermark may rise to the others' log
ends. From 2.7 on (KIP-497) the leader asks the controller to change the ISR and continues before it has the answer;
until then the follower counts. When the answer came, the leader did not check the high watermark again: it rose only
with the next record that was appended or fetched. A broker handles one request of a connection at a time, so a producer
that waits for its record sends no other. The record waited for the producer's request.timeout.ms, timed out, and was
sent again. This raised the high watermark and wrote the record twice. No consumer could read it until then.

Before 2.7 the leader changes the ISR in ZooKeeper itself and then checks the high watermark. From 3.1 on it checks when
the answer comes. A leader of 2.7 to 3.0 also checks when its follower's session ends, because the controller then makes
it leader again. Here the follower is cut off from the leader alone, and its session lasts.
"""

from harness.words import Basis, Border, Bug, Case, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario

KAFKA_13091 = Bug(
    id="KAFKA-13091",
    title="writes with acks=all block for request.timeout.ms when a follower falls behind, and are written twice",
    touches="acks=all with a slow follower",
    whom="producers with acks=all and few connections, while a follower is slow",
    since=Border(
        "2.7.0",
        "KIP-497",
        Side("2.6.3", "Partition.maybeShrinkIsr writes the new ISR to ZooKeeper, and then raises the high watermark"),
        Side(
            "2.7.0",
            "it does so before the answer of AlterIsr, and Partition.handleAlterIsrResponse does not do so after it",
        ),
    ),
    fixed=("3.1.0",),
    commits=("26ee78f3923", "968e18cc799"),
)
LAG_MS = 3000
TIMEOUT_MS = 12_000
"""Three times as long as the leader takes to change the ISR."""


@scenario(
    name="museum-shrunk-isr-stalls",
    claim="""A follower falls behind, and the leader removes it from the ISR. A record that every remaining in-sync
        replica has is neither acknowledged nor readable until the producer's request times out. The retry writes it
        twice.""",
    source="KAFKA-13091; KIP-497",
    operator="""Set request.timeout.ms to a little more than replica.lag.time.max.ms: this bounds the pause. Enable
        idempotence: it prevents the duplicate.""",
    exhibit=Exhibit(bug=KAFKA_13091, affected=("2.8.2",), fixed=("3.1.0",)),
    applies=ranges.PROTOCOL_OF_ITS_OWN,
    cluster=ClusterPlan(
        session_timeout_ms=60_000, settings={"replica.lag.time.max.ms": str(LAG_MS), "min.insync.replicas": "1"}
    ),
    cases={
        "default": Case(
            client_settings={"request.timeout.ms": str(TIMEOUT_MS), "enable.idempotence": "false"},
            documented=[
                Documented(
                    on=KAFKA_13091.affected,
                    required=frozenset({"duplicate"}),
                    source=KAFKA_13091.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_13091.unaffected,
                    sentence="The record is acknowledged as soon as the ISR has shrunk, and written once.",
                    claims=["writes-wait-for-the-isr"],
                    source=KAFKA_13091.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def shrunk_isr_stalls(run: Run) -> None:
    t = run.partition()
    leader, (away, other) = run.leader_of(t), run.followers_of(t)
    run.send(t, 3)
    run.cut([away], [leader])
    run.send(t)
    run.wait_isr(t, [leader, other])
    run.heal_network()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)
