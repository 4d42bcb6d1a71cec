"""A disk that still works, and is a hundred times slower (Kafka documentation, Design: replication; a gray failure).

Brokers flush each message here (log.flush.interval.messages=1), so that a slow disk is felt at once; with the defaults
it is felt when the page cache is full, or is read past. Records are sent one by one: what each takes is what it waits
for.

A follower with a slow disk fetches as ever. While it is in the ISR acks=all waits for it, each time. It is in sync by a
leader's reckoning if its last fetch began where the log ended at the one before, so a disk that takes seconds for each
record is nobody's business as long as that is less than replica.lag.time.max.ms: no ISR shrinks, and no metric of
replication tells of it. With acks=1 nobody waits.

If it takes longer, the follower leaves the ISR, and acks=all goes on without it. When nothing is written for a while it
catches up, slow as it is, and is taken back; the next record waits for it again until it has left again. The ISR flaps.

A leader with a slow disk makes every write wait, with acks=1 too, and nothing takes the leadership from it: it renews
its session, and its followers have all that it has.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Disks, Documented, Partition, Run, Target, scenario

PAGE_BYTES = 4096
"""The least that a flush writes."""
SLOW = PAGE_BYTES // 2
"""Bytes a second: a page takes 2 s."""
SLOWER = PAGE_BYTES // 6
"""A page takes 6 s: more than the lag time of that case and the check after it."""
COUNT = 6
"""So many records are sent one by one, to see what each waits for."""
LIMIT_S = 120.0
ACKS_WAIT = "acks-wait-for-slow-disk"
OTHERS = "others-do-not-wait-for-slow-disk"


def slowed(run: Run, sequence: Callable[[Run, Partition], None]) -> None:
    """What a usual record takes is seen before and after."""
    t = run.partition()
    for acks in ("all", "1"):
        run.send(t, COUNT, acks=acks)
    sequence(run, t)
    run.heal_disks()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, COUNT)


def leader_is_slow(run: Run, t: Partition) -> None:
    """Every write waits."""
    write_to_slow(run, t, run.leader_of(t))


def follower_is_slow(run: Run, t: Partition) -> None:
    """Writes with acks=all wait, and the follower stays in sync."""
    write_to_slow(run, t, run.followers_of(t)[0])


def write_to_slow(run: Run, t: Partition, slow: Target) -> None:
    """Records one by one, while a disk takes seconds for each."""
    run.slow_disk(slow, SLOW)
    for acks in ("all", "1"):
        run.send(t, COUNT, acks=acks, timeout_s=LIMIT_S)


def follower_flaps(run: Run, t: Partition) -> None:
    """Write until the follower has left the ISR, and on; then leave it alone until it is back; and again."""
    slow, *_ = run.followers_of(t)
    others = [one for one in run.replicas_of(t) if one.id != slow.id]
    run.slow_disk(slow, SLOWER)
    for _ in range(2):
        run.send(t, timeout_s=LIMIT_S)
        run.wait_isr(t, others)
        run.send(t, COUNT)
        run.wait_isr(t, run.replicas_of(t), LIMIT_S)


scenario(
    name="slow-disk",
    claim="""acks=all waits for a follower with a slow disk, which stays in the ISR as long as it writes each fetch in
        less than replica.lag.time.max.ms; one that is slower leaves the ISR and returns, again and again. A leader with
        a slow disk remains the leader, and every write waits for it.""",
    source="Kafka documentation, Design: replication, broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""Watch what flushes and requests take on each broker (LogFlushRateAndTimeMs, RemoteTimeMs of produce
        requests), not only whether it is there and in sync: nobody takes leadership, or a place in the ISR, from a
        broker whose disk is dying. Stop it.""",
    needs=["acks-1"],
    cluster=ClusterPlan(
        disks=Disks(),
        settings={
            "log.flush.interval.messages": "1",
            "replica.lag.time.max.ms": "10000",
            # The checkpoint is flushed too, and waits for the disk with all else.
            "replica.high.watermark.checkpoint.interval.ms": "10000",
        },
    ),
    cases={
        "follower": Case(
            steps=partial(slowed, sequence=follower_is_slow),
            documented=[
                Documented(
                    claims=[ACKS_WAIT, OTHERS, "slow-follower-stays-in-isr"],
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "follower-flaps": Case(
            steps=partial(slowed, sequence=follower_flaps),
            settings={"replica.lag.time.max.ms": "2000"},
            documented=[
                Documented(
                    claims=[OTHERS, "slow-follower-leaves-isr", "slow-follower-returns-to-isr"],
                    sentence="""The follower leaves the ISR when it is written to, returns when it is not, and leaves
                        again: the first record after each return waits.""",
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "leader": Case(
            steps=partial(slowed, sequence=leader_is_slow),
            documented=[
                Documented(
                    claims=[ACKS_WAIT, "slow-leader-keeps-leading"],
                    source="Kafka documentation, Design: replication",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
