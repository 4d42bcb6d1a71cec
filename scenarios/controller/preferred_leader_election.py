"""After a failover, leadership returns to the preferred replica on request (Kafka documentation, Balancing leadership).

The preferred leader A, the first of the assignment, dies, and B leads. A returns and is in sync again, and B remains
the leader: leadership does not return automatically here (auto.leader.rebalance.enable=false). Then a preferred
election is requested, while a producer sends and a consumer reads. Up to 2.1 the znode
/admin/preferred_replica_election requests it, from 2.2 on the request of KIP-183 and KIP-460. A leads in the next
epoch, the ISR stays as it was, and nothing is lost.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.controller import BEFORE

ELECTED = ("preferred-leader-elected", "leader-elected-from-isr", "leader-epoch-rises-by-one")


@scenario(
    name="preferred-leader-election",
    claim="""On request, leadership returns to the first replica of the assignment if it is in sync, in the next leader
        epoch and with the same ISR. No acknowledged record is lost.""",
    source="Kafka documentation, Balancing leadership; KIP-183, KIP-460",
    operator="""After a failover, leadership does not return unless auto.leader.rebalance.enable is on. Ask for a
        preferred election when the broker is in sync again: it moves leadership without loss.""",
    cluster=ClusterPlan(settings={"replica.socket.timeout.ms": "3000"}),
    documented=[
        Documented(
            on=ranges.PREFERRED_ELECTION_BY_ZNODE,
            claims=[*ELECTED, "preferred-election-znode-comes-and-goes"],
            source="Kafka documentation, Balancing leadership",
            basis=Basis.DOCUMENTATION,
        ),
        Documented(
            claims=ELECTED,
            source="KIP-460; Kafka documentation, Balancing leadership",
            basis=Basis.KIP,
        ),
    ],
)
def preferred_leader_election(run: Run) -> None:
    t = run.partition()
    preferred, heir, _ = run.replicas_of(t)
    with run.consume(t) as consumer, run.load(t, rate_per_s=50, also_idempotent=True) as load:
        load.wait_acked(BEFORE, timeout_s=30)
        run.send(t, 3)
        run.kill(preferred)
        run.wait_leader(t, heir)
        run.send(t, 2)
        run.start(preferred)
        run.wait_isr(t, run.replicas_of(t))
        leader = run.state_of(t).leader
        stays = leader == heir.id
        run.claim("leadership does not return without a request", stays, witness="metadata", about=[t], leader=leader)

        load.wait_more(50, timeout_s=60)
        run.elect_preferred_leader(t)
        run.wait_state(
            f"the preferred leader of {t} leads",
            lambda state: state.partitions[t].leader == preferred.id,
            owed=lambda state: preferred.id in state.brokers and preferred.id in state.partitions[t].isr,
        )
        # Up to 2.3 the old leader forgets who waits there: what is sent at this moment may time out first.
        consumer.wait_read(load.wait_more(200, timeout_s=60).acked, timeout_s=60)
        run.wait_isr(t, run.replicas_of(t))
        run.send(t)
