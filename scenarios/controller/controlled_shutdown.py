"""A leader that is stopped, compared with a leader that is killed (Kafka documentation, Graceful shutdown).

A producer sends and a consumer reads all the time. On SIGTERM the leader asks the controller to move its leaderships to
other in-sync replicas, and exits when that is done. The producer only has to find the next leader. For the cluster, a
killed leader remains the leader until its session expires, and no record can be written until then.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, Target, scenario
from scenarios.controller import BEFORE

ELECTED = ["leader-elected-from-isr", "leader-epoch-rises-by-one"]


def leader_ends(run: Run, end: Callable[[Run, Target], None]) -> None:
    """The leader ends under load, and another leads."""
    t = run.partition()
    leader, followers = run.leader_of(t), run.followers_of(t)
    with run.consume(t) as consumer, run.load(t, rate_per_s=50, also_idempotent=True) as load:
        load.wait_acked(int(run.vary(BEFORE, low=60, high=180)), timeout_s=30)
        end(run, leader)
        run.wait_leader(t, *followers)
        # So many are not acknowledged before the leader is gone.
        consumer.wait_read(load.wait_acked(800, timeout_s=60).acked, timeout_s=30)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="controlled-shutdown",
    claim="""A broker that is stopped cleanly hands its leaderships over first, and writes pause only until producers
        have found the next leader. When it is killed, writes pause until its session expires. Neither loses an
        acknowledged record.""",
    source="Kafka documentation, Graceful shutdown; broker configuration: controlled.shutdown.enable",
    operator="""Stop brokers with SIGTERM and give them time to finish: writes then pause for about a second. If a
        broker is killed, writes stop for its whole session. Keep zookeeper.session.timeout.ms or
        broker.session.timeout.ms as short as your garbage collections allow.""",
    cluster=ClusterPlan(session_timeout_ms=8000, settings={"replica.socket.timeout.ms": "3000"}),
    cases={
        "clean": Case(
            steps=partial(leader_ends, end=Run.stop),
            documented=[
                Documented(
                    claims=["leader-moved-before-shutdown", "writes-pause-briefly", *ELECTED],
                    source="Kafka documentation, Graceful shutdown",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "killed": Case(
            steps=partial(leader_ends, end=Run.kill),
            documented=[
                Documented(
                    claims=["leader-replaced-in-time", "writes-pause-for-the-session", *ELECTED],
                    source="Kafka documentation, Design: replication; "
                    "broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
