"""The end of a log is not what the broker wrote: a batch is cut in half, or zeros follow it (Kafka documentation,
Design: log recovery).

A file system that loses power in the middle of a write leaves a file that ends in half a batch, or that has its new
length and zeros in place of lost bytes (ext4 with delayed allocation, xfs). After a kill the broker checks its log from
the recovery point on, and cuts it after the last batch that is whole. It fetches the cut records again from the leader.
The log below the cut stays as it is.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, Documented, Partition, Run, Target, scenario

ZEROS = 5000
"""More than a page."""


def torn(run: Run, tear: Callable[[Run, Target, Partition], None]) -> None:
    """A follower is killed, and the end of its log differs from what it wrote."""
    t = run.partition()
    run.send(t, 5)
    follower, _ = run.followers_of(t)
    run.wait_high_watermark(t, 5, [follower])
    run.kill(follower)
    tear(run, follower, t)
    run.copy_replicas("torn")
    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.copy_replicas("back")
    run.send(t, 2)


scenario(
    name="torn-tail",
    claim="""A log that ends in half a batch, or in zeros, is cut after its last whole batch when its broker starts. The
        broker fetches the missing records again.""",
    source="Kafka documentation, Design: log recovery; Log.recoverLog, LogLoader.recoverLog",
    operator="""A torn end after a power failure needs no help: the broker cuts it and fetches the rest. This needs a
        replica that has the rest: with acks=all and min.insync.replicas=2 there is one.""",
    cases={
        "half-batch": Case(
            steps=partial(torn, tear=Run.tear_tail),
            documented=[
                Documented(
                    required=frozenset({"log-truncated-below-high-watermark", "unreplicated-acknowledgement"}),
                    claims=["torn-tail-is-cut"],
                    sentence="""The broker has lost records that it had acknowledged to its leader. It stays in the ISR
                        until its session expires, and fetches them again.""",
                    source="Kafka documentation, Implementation: log, Guarantees",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "zeros": Case(
            steps=partial(torn, tear=partial(Run.extend_by_zeros, count=ZEROS)),
            documented=[
                Documented(
                    claims=["torn-tail-is-cut"],
                    source="Kafka documentation, Implementation: log, Guarantees",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
