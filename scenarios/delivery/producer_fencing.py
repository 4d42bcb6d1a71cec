"""Two producers with one transactional.id: the second one fences the first (KIP-98).

The first one has a transaction open when the second one begins, as when an application is started again while its old
process still lives. The coordinator aborts the open transaction and raises the epoch of the id. It refuses the first
producer's later records and its commit. So read_committed readers get the second producer's records alone.
"""

from harness.words import Basis, Case, Documented, Run, ranges, scenario

KIP_98 = "KIP-98"
LIMIT_S = 60.0
DOCUMENTED = [Documented(source=KIP_98, basis=Basis.KIP)]


def fence(run: Run) -> None:
    """The second producer begins while the first one's transaction is open."""
    t = run.partition()
    with run.transaction("one") as first:
        first.send(t, 2)
        with run.transaction("the same", settings={"transactional.id": "one"}) as second:
            second.send(t, 3)
        (late,) = first.send(t, must=False)
        run.claim("what the first producer sends is refused", late.outcome != "ok", error=late.error_name)
    refused = first.ended is not None and first.ended.outcome != "ok"
    run.claim("its commit is refused", refused, error=first.ended.error_name if first.ended else None)
    run.send(t)
    with run.consume(t, committed_only=True) as reader:
        run.claim(
            "readers get the records that the second one sent", reader.wait_read(4, timeout_s=LIMIT_S).records == 4
        )


scenario(
    name="producer-fencing",
    claim="""A second producer with the same transactional.id aborts the first producer's open transaction. The first
        producer's later records and commits are refused.""",
    source=KIP_98,
    operator="""Give each instance of an application its own transactional.id, and the same one after a restart. Two
        instances with one id fence each other again and again.""",
    applies=ranges.TRANSACTIONS,
    needs=["transactions"],
    cases={
        "librdkafka": Case(steps=fence, documented=DOCUMENTED),
        "java": Case(client="java", steps=fence, documented=DOCUMENTED),
    },
)
