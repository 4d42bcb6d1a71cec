"""A cluster that nobody disturbs owes its clients answers in time (Kafka documentation, Design: replication).

Two producers write and a consumer reads for longer than it takes until nothing that started can be a reason for a delay
(checks/service.py). Nobody waits for the consumer: whether it was given what it is owed the judge asks (stuck-reader).
"""

from harness.words import Basis, Documented, Run, scenario


@scenario(
    name="steady-load",
    claim="""In a cluster that nobody disturbs every record is acknowledged in time, read once, and given to
        consumers that wait for it.""",
    source="Kafka documentation, Design: replication",
    operator="Nothing to do: this is how a healthy cluster serves its clients for a minute.",
    documented=[
        Documented(
            claims=["one-controller-at-a-time", "leaders-stay", "isr-stays-whole"],
            source="Kafka documentation, Design: replication",
            basis=Basis.DOCUMENTATION,
        )
    ],
)
def steady_load(run: Run) -> None:
    """A minute in which two producers write and a consumer reads."""
    t = run.partition()
    with run.consume(t), run.load(t, rate_per_s=100, also_idempotent=True) as load:
        load.wait_more(6_000, timeout_s=90)
