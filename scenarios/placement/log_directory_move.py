"""A leader's replica is moved to the other log directory of its broker while producers write (KIP-113).

The broker makes a second copy of the replica, and replaces the first by it when it has caught up. The leader stays the
leader, and no client waits. In `killed` the copy is throttled, and the broker is killed when a part of it is written.
Another replica leads. When the broker is back it finds both copies, continues to copy, and follows the leader during
that time.
"""

from harness.words import Basis, Case, ClusterPlan, Disks, Documented, Run, ranges, scenario

RECORD_BYTES = 10_000
BEFORE = 300
THROTTLE_BYTES_PER_S = 200_000
"""The copy takes 15 s."""
PART_BYTES = 400_000
LIMIT_S = 90.0


def moved(run: Run) -> None:
    """The move ends while a load runs."""
    t = run.partition()
    fill(run)
    with run.load(t, rate_per_s=50) as load:
        load.wait_acked(50, timeout_s=LIMIT_S)
        leader = run.leader_of(t)
        directory = run.move_replica(leader, t)
        load.wait_more(50, timeout_s=LIMIT_S)
        run.wait_moved(leader, t, directory)
        load.wait_more(50, timeout_s=LIMIT_S)


def killed(run: Run) -> None:
    """The broker is killed half way, and continues when it is back."""
    t = run.partition()
    fill(run)
    leader, others = run.leader_of(t), run.followers_of(t)
    run.throttle_moves(leader, THROTTLE_BYTES_PER_S)
    with run.load(t, rate_per_s=20) as load:
        load.wait_acked(20, timeout_s=LIMIT_S)
        directory = run.move_replica(leader, t)
        run.wait_copying(leader, t, PART_BYTES)
        run.kill(leader)
        run.wait_leader(t, *others)
        load.wait_more(20, timeout_s=LIMIT_S)
        run.start(leader)
        run.wait_moved(leader, t, directory)
        run.wait_isr(t, run.replicas_of(t))
        load.wait_more(20, timeout_s=LIMIT_S)


def fill(run: Run) -> None:
    """Enough to copy."""
    with run.load(run.partition(), records=BEFORE, record_bytes=RECORD_BYTES) as load:
        load.wait_acked(BEFORE, timeout_s=LIMIT_S)


scenario(
    name="log-directory-move",
    claim="""A replica that is moved to another log directory of its broker stays in sync, and stays the leader. If the
        broker dies half way, it completes the move after it has returned, and no record is lost.""",
    source="KIP-113: moving replicas between log directories; KIP-858",
    operator="""A replica can change its disk while it leads. Throttle the copy
        (replica.alter.log.dirs.io.max.bytes.per.second): it shares the disks with producers and followers.""",
    cluster=ClusterPlan(disks=Disks(log_directories=2)),
    applies=ranges.REPLICAS_MOVE,
    cases={
        "moved": Case(
            steps=moved,
            documented=[
                Documented(
                    claims=["replica-moves-between-directories", "moving-replica-stays-in-sync"],
                    source="KIP-113",
                    basis=Basis.KIP,
                )
            ],
        ),
        "killed": Case(
            steps=killed,
            applies=ranges.REPLICAS_MOVE & ranges.BROKERS_SET_BY_REQUEST,
            documented=[
                Documented(
                    claims=["replica-moves-between-directories", "move-outlasts-kill", "leader-elected-from-isr"],
                    source="KIP-113; ReplicaManager: future replicas in becomeLeaderOrFollower (1.1.1 to 3.9.0), and "
                    "with KRaft in applyDelta (3.0.0 to 3.9.0)",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
