"""A disk has no room left, answers with errors, or is made read-only by the kernel, under a running broker (KIP-112).

A broker that cannot write marks its log directory as failed and takes all replicas there offline (from 1.0 on, KIP-112;
before, and with a protocol of before 1.0, it always exits). With one log directory nothing is left, and it exits. This
happens without any produced record: each broker writes the file of checkpointed high watermarks every few seconds.

The broker has not acknowledged records that it could not write, so nothing is lost. Another replica leads after the
session, or remains the leader. Each time that the broker is started, it exits again, until there is room.
"""

from collections.abc import Callable, Sequence
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Disks, Documented, Run, Target, scenario

RATE_PER_S = 50
USUAL = 150
LIMIT_S = 90.0
GIVES_UP = "|".join(
    (
        r"hutdown broker because all log dirs in .* have failed",
        "Halting due to unrecoverable I/O error",
        "Error writing to highwatermark file",
        "Disk error while replicating data",
        "Encountered fatal fault",
        "Halting broker because dir .* is offline",  # ReplicaManager, with a protocol of before 1.0
    )
)


def disk_full(run: Run, role: str, strike: Callable[[Run, Target], None]) -> None:
    """The disk of the leader, or of a follower, takes no more writes while a producer sends."""
    t = run.partition()
    leader, followers = run.leader_of(t), run.followers_of(t)
    struck = leader if role == "leader" else followers[0]
    with run.load(t, rate_per_s=RATE_PER_S, also_idempotent=True) as load:
        load.wait_acked(USUAL, timeout_s=LIMIT_S)
        strike(run, struck)
        run.expect_exit(struck, GIVES_UP)
        if struck is leader:
            run.wait_leader(t, *followers)
        run.wait_isr(t, [target for target in (leader, *followers) if target.id != struck.id])
        load.wait_more(USUAL, timeout_s=LIMIT_S)
        run.heal_disks()
        run.start(struck)
        run.wait_isr(t, run.replicas_of(t))
        load.wait_more(USUAL, timeout_s=LIMIT_S)


def broken(run: Run, struck: Target) -> None:
    """The records are on the disk, and then the disk fails."""
    run.flush_disks(struck)
    run.fail_disk(struck)


def read_only(run: Run, struck: Target) -> None:
    """The records are on the disk, and then the disk takes no more."""
    run.flush_disks(struck)
    run.make_disk_read_only(struck)


def cases(role: str, claims: Sequence[str]) -> dict[str, Case]:
    """The cases in which the disk of the leader, or of a follower, is struck."""
    strikes = {role: Run.fill_disk, f"{role}-broken": broken, f"{role}-read-only": read_only}
    documented = [
        Documented(
            claims=claims,
            source="KIP-112, which also describes older releases: a broker exits if a disk fails",
            basis=Basis.KIP,
        )
    ]
    return {
        name: Case(steps=partial(disk_full, role=role, strike=strike), documented=documented)
        for name, strike in strikes.items()
    }


scenario(
    name="disk-full",
    claim="""A broker that cannot write to its only log directory exits, whether the directory is full, broken or
        read-only. No acknowledged record is lost.""",
    source="KIP-112; ReplicaManager, LogManager.handleLogDirFailure; KafkaStorageException (before 1.0)",
    operator="""Alert on disk space long before it runs out: a broker with a full disk exits. Moving its replicas to
        other brokers fills their disks. Several log directories keep a broker alive when one breaks (from 1.0
        on). Retention frees no room on a broker that is down.""",
    cluster=ClusterPlan(disks=Disks(), settings={"min.insync.replicas": "2"}),
    cases=cases("leader", claims=["leader-elected-from-isr"]) | cases("follower", claims=[]),
)
