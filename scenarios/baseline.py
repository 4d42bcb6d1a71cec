"""Nothing fails: every suite is compared with this run. A harness that finds anomalies here is itself broken."""

from harness.words import Basis, Documented, Run, TopicPlan, scenario


@scenario(
    name="baseline",
    claim="""With no fault, every acknowledged record is read, once, and the replicas' logs are identical. Leaders stay,
        and all replicas stay in sync.""",
    source="Kafka documentation, Replication: the guarantee that a committed message is not lost",
    operator="Nothing to do: this is how a healthy cluster looks. Compare every other page with it.",
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    documented=[
        Documented(
            claims=["one-controller-at-a-time", "leaders-stay", "isr-stays-whole"],
            source="Kafka documentation, Design: replication",
            basis=Basis.DOCUMENTATION,
        )
    ],
)
def baseline(run: Run) -> None:
    """Single records, then a load, acknowledged by all in-sync replicas on three partitions."""
    for number in range(3):
        run.send(run.partition(number), 3)
    with run.load(run.partition(), records=20_000, record_bytes=200, also_idempotent=True) as load:
        load.wait_acked(20_000, timeout_s=120)
