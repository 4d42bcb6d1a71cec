"""A controller fails to carry out one change of an ISR, and the leader changes that ISR never again (KAFKA-14010).

From 2.7 on a leader asks the controller to change an ISR (KIP-497), and has one request under way for a partition. If
the controller answers with an error that may pass, the leader asks again. But until 3.1 it did so before it had taken
the first request off its list, and the list takes no second one for a partition: IllegalStateException, Failed to
enqueue ISR change state. For the leader a request is under way from then on, and it makes no other one. So a replica
that has caught up stays out of the ISR, and one that falls behind stays in. This ends when the partition gets another
leader epoch: a replica in the ISR dies, or the leader is restarted.

The controller is cut off from ZooKeeper, and from nobody else. The leader asks it for a change, and it waits for
ZooKeeper. Its session ends before the cut does, and another broker becomes the controller. When the cut is healed, the
old one is refused by ZooKeeper (SessionExpiredException) and answers the leader with UNKNOWN_SERVER_ERROR. The leader
has a new controller to ask, and does not. By default the change would let a follower into the ISR again. In
`falls-behind` it would take one out: as long as that lags, nothing is acknowledged with acks=all.

From 3.1 on a request that the list does not take leaves the ISR as it was (OPERATION_NOT_ATTEMPTED, KAFKA-13254), and
the follower's next fetch has the leader ask again. From 3.2.1 on the second request is sent.

It was met here by a run of another scenario on a busy machine, whose ZooKeeper sessions had expired.
"""

from harness.words import (
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Run,
    Side,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_14010 = Bug(
    id="KAFKA-14010",
    title="after the controller failed to change an ISR once, the leader never changes that ISR again",
    touches="lost sessions of the controller",
    whom="clusters with ZooKeeper whose controller loses its session while a replica leaves an ISR or joins it",
    since=Border(
        "2.7.0",
        "KIP-497",
        Side("2.6.3", "Partition.expandIsr and shrinkIsr write the ISR to ZooKeeper themselves"),
        Side("2.7.0", "AlterIsrManager runs the callback, which asks again, before it removes the item that was sent"),
    ),
    fixed=("3.1.0",),
    also_known_as=("KAFKA-13254",),
    mode="zookeeper",
    log_patterns=("Failed to enqueue (?:ISR change state|`AlterIsr` request)", "Failed to update ISR"),
)
CONTROLLER = 4
SESSION_MS = 25_000
"""Of the controller: until then the leader has asked."""
WATCHED_S = 20.0
ANSWER_LIMIT_S = 60.0
ASKED = "(?:Enqueued ISR change to state|Submitting ISR state change|Sent `AlterIsr` request to change state to) .*"
"""As 2.8 and 3.0, later releases, and 2.7 log it."""
REFUSED = "Failed to update ISR for partition t-0"


def catches_up(run: Run) -> None:
    """The change that is lost would let a follower into the ISR."""
    t, controller = run.partition(), run.controller()
    leader, (other, follower) = run.leader_of(t), run.followers_of(t)
    fall_behind(run, follower, leader)
    run.wait_isr(t, [leader, other])
    run.cut_from_coordinator(controller)
    run.heal_network(follower, leader)
    lose_change(run, leader, controller, "PendingExpandIsr")

    run.send(t, 3)
    run.wait_log_end(t, 9, [leader, other, follower])
    if not KAFKA_14010.affects(run.version):
        run.wait_isr(t, run.replicas_of(t))


def falls_behind(run: Run) -> None:
    """The change that is lost would take a follower out of the ISR."""
    t, controller = run.partition(), run.controller()
    leader, (other, follower) = run.leader_of(t), run.followers_of(t)
    run.cut_from_coordinator(controller)
    fall_behind(run, follower, leader)
    lose_change(run, leader, controller, "PendingShrinkIsr")

    sent = run.send_async(t)
    run.wait_log_end(t, 7, [leader, other])
    if KAFKA_14010.affects(run.version):
        run.let_pass(WATCHED_S, "the leader has had its time to ask again")
        run.claim("nothing is acknowledged with acks=all while the follower lags", not sent.done)
    else:
        run.wait_isr(t, [leader, other])
        run.claim("the record is acknowledged", sent.wait(ANSWER_LIMIT_S).outcome == "ok")
    run.heal_network()
    sent.wait(ANSWER_LIMIT_S)
    run.wait_isr(t, run.replicas_of(t))


def fall_behind(run: Run, follower: Target, leader: Target) -> None:
    """A follower's fetches are dropped, and it lacks records: one that lacks nothing is not out of sync."""
    t = run.partition()
    run.send(t, 3)
    run.cut_requests([follower], [leader])
    run.send(t, 3, acks="1")


def lose_change(run: Run, leader: Target, controller: Target, change: str) -> None:
    """The leader asks the controller for a change, which fails when the cut from ZooKeeper is healed."""
    run.wait_log_line(leader, ASKED + change, f"that it asks for {change}")
    run.wait_controller_other_than(controller)
    run.heal_network(controller, run.coordinator())
    run.wait_log_line(controller, REFUSED, "that it could not change the ISR")


scenario(
    name="museum-isr-change-lost",
    claim="""A controller loses its session with ZooKeeper while a leader asks it to change an ISR. The leader never
        asks again: a replica stays out of the ISR although it has every record, or stays in and holds up acks=all.""",
    source="KAFKA-14010, KAFKA-13254, KIP-497",
    operator="""Alert on partitions that stay under-replicated while all brokers run. Look for "Failed to enqueue ISR
        change state" in the leader's log. A restart of that leader ends it.""",
    exhibit=Exhibit(bug=KAFKA_14010, affected=("2.8.2",), fixed=("3.1.1",)),
    applies=ranges.CONTROLLER_CHANGES_ISR,
    needs=["acks-1"],
    cluster=ClusterPlan(
        controller=CONTROLLER,
        zookeeper_sessions_ms={CONTROLLER: SESSION_MS},
        settings={"replica.lag.time.max.ms": "10000"},
        trace=("kafka.cluster.Partition",),
    ),
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    cases={
        "default": Case(
            steps=catches_up,
            documented=[
                Documented(
                    on=KAFKA_14010.affected,
                    required=frozenset({"stuck-isr"}),
                    out_of_sync=True,
                    source=KAFKA_14010.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_14010.unaffected,
                    sentence="The leader asks the new controller, and the replica is in the ISR again.",
                    source=KAFKA_14010.id,
                    basis=Basis.JIRA,
                ),
            ],
        ),
        "falls-behind": Case(
            steps=falls_behind,
            documented=[
                Documented(
                    on=KAFKA_14010.affected,
                    sentence="The replica stays in the ISR, and nothing is acknowledged with acks=all while it lags.",
                    source=KAFKA_14010.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_14010.unaffected,
                    sentence="The leader asks the new controller, and the replica leaves the ISR.",
                    source=KAFKA_14010.id,
                    basis=Basis.JIRA,
                ),
            ],
        ),
    },
)
