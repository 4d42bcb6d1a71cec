"""A disk that still works, and is a hundred times slower (Kafka documentation, Design: replication; a gray failure).

Brokers flush each message here (log.flush.interval.messages=1), so that a slow disk has an effect at once. With the
defaults it has one when the page cache is full, or when reads miss it. Records are sent one by one, so the time of each
shows how long it waits.

A follower with a slow disk fetches as ever. While it is in the ISR acks=all waits for it, each time. A leader counts it
as in sync if its last fetch began where the log ended at the fetch before. So a disk may take seconds for each record,
as long as that is less than replica.lag.time.max.ms: no ISR shrinks, and no replication metric shows it. With acks=1 no
producer waits.

If it takes longer, the follower leaves the ISR, and acks=all continues without it. When nothing is written for a while,
it catches up and returns. The next record waits for it again until it has left again. The ISR flaps.

A leader with a slow disk makes every write wait, with acks=1 too. It stays the leader: it renews its session, and its
followers have all its records.
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
"""This many records are sent one by one, to see how long each waits."""
LIMIT_S = 120.0
ACKS_WAIT = "acks-wait-for-slow-disk"
OTHERS = "others-do-not-wait-for-slow-disk"


def slowed(run: Run, sequence: Callable[[Run, Partition], None]) -> None:
    """Records before and after show the usual time."""
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
        less than replica.lag.time.max.ms. A slower follower leaves the ISR and returns, again and again. A leader with
        a slow disk remains the leader, and every write waits for it.""",
    source="Kafka documentation, Design: replication, broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""Alert on the time of flushes and requests of each broker (LogFlushRateAndTimeMs, RemoteTimeMs of produce
        requests), not only on its being up and in sync. Kafka does not move leadership away from a broker with a dying
        disk, nor remove it from the ISR. Stop that broker.""",
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
                    sentence="""The follower leaves the ISR when records are written and returns when none are, again
                        and again. The first record after each return waits.""",
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
