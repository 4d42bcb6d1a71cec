"""How a broker is registered, and how its registration ends (Kafka documentation, Design: replication; KIP-500,
KIP-631).

With ZooKeeper the ephemeral znode /brokers/ids/N registers a broker and lives as long as its session. With KRaft a
record in the metadata log does, and the controller fences the broker when no heartbeat has come for a session.

A killed broker counts as alive until its session expires, and only then does the controller elect another leader. A
broker that is stopped by SIGTERM removes its own registration. A broker that starts again before its session expires
finds its id taken by its old incarnation. 0.8 waits until that registration expires. 0.9 and later exit with ZooKeeper.
With KRaft the controller refuses the new incarnation until the old one is fenced, and the broker asks again.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, Target, ranges, scenario

TAKEN = (
    "already registered on the path|node already exists and owner|NodeExists"
    "|a while back in a different session|DUPLICATE_BROKER_REGISTRATION"
)
"""The log lines of a broker whose id is taken."""
SETTINGS = {"replica.socket.timeout.ms": "3000"}
KILLED = ("registration-outlives-broker", "leader-kept-while-registered", "leader-replaced-in-time")
STOPPED = ("clean-stop-ends-registration", "leader-moved-before-shutdown")


def replaced(run: Run, end: Callable[[Run, Target], None]) -> None:
    """The leader ends, and is started again when another leads."""
    t = run.partition()
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.send(t, 2)
    end(run, leader)
    run.wait_leader(t, *followers)
    run.send(t, 2)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


def restarted_early(run: Run) -> None:
    """The leader is killed, and started again before its session has ended."""
    t = run.partition()
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.send(t, 2)
    run.kill(leader)
    run.start_early(leader)
    waits = run.version.mode == "kraft" or ranges.WAITS_FOR_OLD_REGISTRATION.holds(run.version)
    if waits:
        run.wait_log_line(leader, TAKEN, "that its id is taken")
    else:
        run.expect_exit(leader, TAKEN)
    run.wait_leader(t, *followers)
    run.send(t, 2)
    if not waits:
        run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="broker-registration",
    claim="""A broker that is killed stays registered until its session has ended, and the controller acts only
        then. A broker that is stopped removes its registration. One that returns before its old session has ended finds
        its id taken, and exits.""",
    source="Kafka documentation, Design: replication; KIP-500, KIP-631; KAFKA-7165",
    operator="""A crash is noticed only when the session expires. Writes to the broker's partitions stop that long, so
        set the session timeout accordingly. With ZooKeeper a broker that restarts earlier exits again; let the
        supervisor retry. Stop brokers by SIGTERM.""",
    cluster=ClusterPlan(session_timeout_ms=8000, settings=SETTINGS),
    cases={
        "killed": Case(
            steps=partial(replaced, end=Run.kill),
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*KILLED, "dead-broker-leaves-in-session", "broker-znode-content"],
                    source="Kafka documentation, Design: replication; "
                    "broker configuration: zookeeper.session.timeout.ms",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    on=ranges.KRAFT,
                    claims=[*KILLED, "dead-broker-leaves-in-session", "broker-records-content"],
                    sentence="""The controller fences a killed broker when no heartbeat has come for a session, and
                        elects another leader only then.""",
                    source="KIP-631: broker registration and fencing",
                    basis=Basis.KIP,
                ),
            ],
        ),
        "stopped": Case(
            steps=partial(replaced, end=Run.stop),
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*STOPPED, "broker-znode-content"],
                    source="Kafka documentation, Graceful shutdown",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    on=ranges.KRAFT,
                    claims=[*STOPPED, "broker-records-content"],
                    sentence="A broker that is stopped asks the controller for a controlled shutdown, and the "
                    "controller fences it at once.",
                    source="KIP-631: controlled shutdown",
                    basis=Basis.KIP,
                ),
            ],
        ),
        "restarted-early": Case(
            steps=restarted_early,
            # Longer than a broker takes to start on a busy machine, so that one that returns early is early.
            cluster=ClusterPlan(session_timeout_ms=18000, settings=SETTINGS),
            documented=[
                Documented(
                    on=ranges.WAITS_FOR_OLD_REGISTRATION,
                    claims=["early-restart-waits", *KILLED],
                    sentence="A broker that returns before its session expires waits until its old znode is deleted.",
                    source="ZkUtils.createEphemeralPathExpectConflictHandleZKBug (0.8.2.2)",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=["early-restart-refused", *KILLED],
                    source="ZkUtils.ZKCheckedEphemeral (0.9.0.1 to 1.0.2), "
                    "KafkaZkClient.CheckedEphemeral (1.1.1 to 3.9.2); KAFKA-7165",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    on=ranges.KRAFT,
                    claims=["early-restart-waits", *KILLED, "one-incarnation-at-a-time"],
                    sentence="""A broker that returns before it is fenced is refused as a duplicate, and asks again
                        until the old incarnation is fenced.""",
                    source="KIP-631: DUPLICATE_BROKER_REGISTRATION",
                    basis=Basis.KIP,
                ),
            ],
        ),
    },
)
