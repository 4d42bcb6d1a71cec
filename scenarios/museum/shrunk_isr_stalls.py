"""Writes with acks=all stand still though the ISR has shrunk (KAFKA-13091).

When a follower falls behind, the leader takes it out of the ISR, and the high watermark may rise to what the others
hold. From 2.7 on (KIP-497) the leader asks the controller to change the ISR and goes on before it has the answer;
until then the follower counts. When the answer came, nobody looked at the high watermark again: it rose with the next
record that was appended or fetched. A broker handles one request of a connection at a time, so a producer that waits
for its record sends no other. The record waited for the producer's request.timeout.ms, was called timed out, and was
sent again, which raised the high watermark, and wrote the record twice. Nobody could read it meanwhile.

Before 2.7 the leader changes the ISR in ZooKeeper by itself, and then looks; from 3.1 on it looks when the answer
comes. So does a leader of 2.7 to 3.0 whose follower's session ends: the controller makes it leader anew. Here the
follower is cut off from the leader alone, and its session lasts.
"""

from harness.words import Basis, Bug, Case, ClusterPlan, Documented, Exhibit, Run, ranges, scenario

KAFKA_13091 = Bug(
    id="KAFKA-13091",
    title="writes with acks=all stand still for request.timeout.ms when a follower falls behind, and are written twice",
    whom="whoever writes with acks=all and few connections while a follower is slow",
    since="2.7.0",
    fixed=("3.1.0",),
    commits=("26ee78f3923", "968e18cc799"),
)
LAG_MS = 3000
TIMEOUT_MS = 12_000
"""Three times as long as the leader takes to change the ISR."""


@scenario(
    name="museum-shrunk-isr-stalls",
    claim="""A follower falls behind, the leader takes it out of the ISR, and a record that every replica left in sync
        has is not acknowledged, nor to be read, until the producer's request times out; the retry writes it twice.""",
    source="KAFKA-13091; KIP-497",
    operator="""Update brokers of 2.7 to 3.0. Until then a request.timeout.ms not much longer than
        replica.lag.time.max.ms bounds the pause, and idempotence keeps the retry from writing records twice.""",
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
