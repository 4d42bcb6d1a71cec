"""A leader loses only ZooKeeper or the controller, and does not know that it is replaced (Kafka documentation, Design:
replication; KIP-966).

The leader of a partition is cut off from ZooKeeper, or from KRaft's controller, and from no other node, for longer than
its session. Another replica leads. The old leader does not know that, nor does a client that knows no other leader. It
appends and acknowledges records with acks=1, at offsets where the new leader has different records. When the cut is
healed it becomes a follower and truncates them, and they are lost. With acks=all it waits for replicas that now fetch
from another leader, and it cannot remove them from the ISR without ZooKeeper or the controller. So it acknowledges
nothing.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, scenario
from scenarios.partition import send_beside

ELECTED = ["isolated-leader-replaced-in-time", "leader-elected-from-isr", "leader-epoch-rises-by-one"]
CLIENT_OF_ONE_BROKER = {
    "topic.metadata.refresh.interval.ms": "300000",
    "message.timeout.ms": "6000",
    "message.send.max.retries": "0",
}
"""Of a client that does not look for another leader while the one it knows answers (librdkafka's own interval), and
that waits 6 s for an acknowledgement."""


@scenario(
    name="isolated-broker",
    claim="""A leader that is cut off only from ZooKeeper or the controller is replaced when its session expires. It
        still acknowledges acks=1 to clients that know no other leader: those records are lost. It acknowledges nothing
        with acks=all.""",
    source="Kafka documentation, Design: replication; producer configuration: acks; KIP-966, KIP-631",
    operator="""acks=1 does not protect you from a leader that was replaced without knowing it: use acks=all. Alert on
        brokers that have lost ZooKeeper or the controller: such leaders still answer clients.""",
    cluster=ClusterPlan(settings={"replica.socket.timeout.ms": "3000", "min.insync.replicas": "1"}),
    cases={
        "acks-1": Case(
            acks="1",
            documented=[
                Documented(
                    required=LOST,
                    claims=[*ELECTED, "replaced-leader-acknowledges-acks-1"],
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "acks-all": Case(
            documented=[
                Documented(
                    claims=[*ELECTED, "replaced-leader-acknowledges-no-acks-all"],
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
    },
)
def isolated_broker(run: Run) -> None:
    t = run.partition()
    zombie, others = run.leader_of(t), run.followers_of(t)
    acks = run.case.acks
    run.send(t, 3)
    # A client that knows the leader alone, and does not look for another while it is answered.
    run.send(t, acks=acks, only=zombie, settings=CLIENT_OF_ONE_BROKER)

    run.cut([zombie], [run.coordinator()])
    run.wait_leader(t, *others)
    send_beside(run, t, others[0])
    # One with acks=all: a client that is not answered asks who leads, and the next one would go there.
    run.send(
        t,
        3 if acks == "1" else 1,
        acks=acks,
        only=zombie,
        settings=CLIENT_OF_ONE_BROKER,
        expected_loss=acks == "1",
        must=False,
    )
    run.copy_replicas("two-leaders")

    run.heal_network()
    run.wait_registered([zombie])
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)
