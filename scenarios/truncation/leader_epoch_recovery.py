"""Replicas that missed an epoch find the point where their logs diverge, one after the other (KIP-101's worked
example).

Three replicas A (leader), B and C. C loses the network to A, so A and B alone hold m2, which is never acknowledged. B
dies, then A; C, still in sync, leads in a new epoch and takes a record where m2 was. B returns, asks C where the old
epoch ended, and truncates m2 away. C dies; B leads in the next epoch and takes two records. A returns, asks B,
truncates to the same point and fetches the rest. The epoch files of all replicas are copied at each step.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.truncation import EPOCHS_TRACED


@scenario(
    name="leader-epoch-recovery",
    claim="""Replicas that come back after missed epochs ask for the end of the last epoch they know, truncate to it,
        and end identical: nothing acknowledged is lost.""",
    source="KIP-101",
    operator="""Brokers that return in any order reconcile their logs without help. Do not delete
        leader-epoch-checkpoint files: replicas need them to find the point where their logs diverge.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3),
        controller=4,
        settings={
            "replica.lag.time.max.ms": "60000",
            "replica.fetch.wait.max.ms": "500",
            "replica.socket.timeout.ms": "3000",
            "min.insync.replicas": "1",
            "unclean.leader.election.enable": "false",
        },
        trace=EPOCHS_TRACED,
    ),
    topic=TopicPlan(replicas=((1, 2, 3),)),
    documented=[
        Documented(
            on=ranges.LEADER_EPOCHS,
            claims=["leader-elected-from-isr", "leader-epoch-rises-by-one", "older-epoch-ends-where-next-begins"],
            source="KIP-101",
            basis=Basis.KIP,
        )
    ],
    applies=ranges.LEADER_EPOCHS,
)
def leader_epoch_recovery(run: Run) -> None:
    t = run.partition()
    a, b, c = run.replicas_of(t)
    run.send(t, 2)
    run.wait_high_watermark(t, 2, [a, b, c])
    first_epoch = run.state_of(t).leader_epoch

    run.cut([c], [a])
    unacknowledged = run.send_async(t)
    run.wait_log_end(t, 3, [a, b])
    run.kill(b)
    run.kill(a)
    run.claim("the record on A and B alone is not acknowledged", not unacknowledged.acknowledged)
    run.heal_network()
    run.copy_replicas("a-and-b-hold-m2")

    run.wait_leader(t, c)
    unacknowledged.wait(timeout_s=30)
    run.send(t, 1)
    run.copy_replicas("c-leads")

    run.start(b)
    run.wait_isr(t, [b, c])
    run.claim_next_epoch_starts_at(b, t, epoch=first_epoch, offset=2)
    run.copy_replicas("b-returned")

    run.kill(c)
    run.wait_leader(t, b)
    run.send(t, 2)
    run.start(a)
    run.wait_isr(t, [a, b])
    run.claim_next_epoch_starts_at(a, t, epoch=first_epoch, offset=2)
    run.copy_replicas("a-returned")

    run.start(c)
    run.wait_isr(t, [a, b, c])
