"""Nothing fails: every suite is compared with this run. A harness that finds anomalies here is itself broken.

A cluster that nobody disturbs also owes its clients answers in time. So in one case clients write and read at a steady
rate for longer than it takes until nothing that started can be a reason for a delay (checks/service.py).
"""

from harness.words import Basis, Case, Documented, Run, TopicPlan, scenario

HEALTHY = (
    Documented(
        claims=["one-controller-at-a-time", "leaders-stay", "isr-stays-whole"],
        source="Kafka documentation, Design: replication",
        basis=Basis.DOCUMENTATION,
    ),
)


def steady(run: Run) -> None:
    """A minute in which two producers write and a consumer reads. Nobody waits for the consumer: whether it was given
    what it is owed the judge asks (stuck-reader).
    """
    t = run.partition()
    with run.consume(t), run.load(t, rate_per_s=100, also_idempotent=True) as load:
        load.wait_more(6_000, timeout_s=90)


@scenario(
    name="baseline",
    claim="""With no fault, every acknowledged record is read, once, and the replicas' logs are identical. Leaders stay,
        and all replicas stay in sync.""",
    source="Kafka documentation, Replication: the guarantee that a committed message is not lost",
    operator="Nothing to do: this is how a healthy cluster looks. Compare every other page with it.",
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    cases={
        "default": Case(documented=HEALTHY),
        "steady": Case(steps=steady, documented=HEALTHY),
    },
)
def baseline(run: Run) -> None:
    """Single records, then a load, acknowledged by all in-sync replicas on three partitions."""
    for number in range(3):
        run.send(run.partition(number), 3)
    with run.load(run.partition(), records=20_000, record_bytes=200, also_idempotent=True) as load:
        load.wait_acked(20_000, timeout_s=120)
