"""The broker that coordinates transactions is gone while one is open (KIP-98).

The state of a transactional.id is in a partition of __transaction_state, and its leader is the coordinator. When that
broker is gone, another replica is elected, and reads the partition before it answers. The transaction that was open
stays open: its producer finds the next coordinator and commits. Commits pause for the broker's session, the election,
the reading, and the producer's own time-out if the old coordinator neither answers nor closes the connection. Nothing
that is committed, before or then, goes back.

The coordinator is killed; or frozen, with its connections open; or cut off from all other nodes, while the producer
reaches it and the others. When it is back, the same producer commits another transaction.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.delivery import CUT, FROZEN, HELD_UP, KILLED, LIMIT_S, TRANSACTIONS, Gone

KIP_98 = "KIP-98: transaction coordinator failover"
TIME_OUTS = {"librdkafka": "socket.timeout.ms", "java": "request.timeout.ms"}
"""How long a producer waits for an answer, by its client."""
TIME_OUT_MS = "5000"
BEFORE, OPEN, AFTER = 1, 3, 2
"""Records of each transaction."""
RELEASED = "last-stable-offset-released"


def fail_over(run: Run, gone: Gone, time_out: str) -> None:
    """A transaction is committed before, one while its coordinator is gone, and one when it is back."""
    t = run.partition()
    with run.transaction("application", settings={time_out: TIME_OUT_MS}) as before:
        before.send(t, BEFORE)
    with run.transaction("application") as transaction:
        transaction.send(t, OPEN)
        old, in_sync = run.leader_of(TRANSACTIONS), run.in_isr(TRANSACTIONS)
        others = [one for one in in_sync if one.id != old.id]
        gone.taken(run, old)
        run.wait_leader(TRANSACTIONS, *others)
        if run.leader_of(t).id == old.id:
            run.wait_leader(t, *(one for one in run.replicas_of(t) if one.id != old.id))
    run.claim(
        "the transaction is committed with the next coordinator",
        transaction.ended is not None and transaction.ended.outcome == "ok",
        ended=str(transaction.ended),
    )
    run.watch_ends(t, 2)
    gone.back(run, old)
    run.wait_isr(TRANSACTIONS, in_sync)
    run.wait_isr(t, run.replicas_of(t))
    with run.transaction("application") as after:
        after.send(t, AFTER)
    with run.consume(t, committed_only=True) as reader:
        reader.wait_read(BEFORE + OPEN + AFTER, timeout_s=LIMIT_S)
    run.wait_stable(t, timeout_s=LIMIT_S)


KEPT = [Documented(claims=["transactions-pause-for-the-session", RELEASED], source=KIP_98, basis=Basis.KIP)]
UNANSWERED = [
    Documented(on=ranges.FETCHES_HOLD_UP, claims=[RELEASED], sentence=HELD_UP, source="KAFKA-6051", basis=Basis.JIRA),
    *KEPT,
]
"""Where the old leader's connections stay open, and it answers nothing."""

scenario(
    name="transaction-coordinator-failover",
    claim="""When the broker that coordinates a transaction is gone, the transaction waits until another one has taken
        over, and is then committed. No transaction that was committed goes back.""",
    source=KIP_98,
    operator="""Give __transaction_state three replicas and min.insync.replicas 2 (the defaults). Transactions pause for
        a broker's session. Set socket.timeout.ms (librdkafka) or request.timeout.ms (Java) of a producer to what its
        application can wait: a broker that stands still costs that much, too.""",
    applies=ranges.TRANSACTIONS,
    needs=["transactions"],
    cluster=ClusterPlan(settings={"transaction.state.log.num.partitions": "1"}),
    cases={
        f"{prefix}{name}": Case(
            client=client,
            steps=partial(fail_over, gone=gone, time_out=TIME_OUTS[client]),
            documented=KEPT if gone is KILLED else UNANSWERED,
        )
        for prefix, client in (("", "librdkafka"), ("java-", "java"))
        for name, gone in (("killed", KILLED), ("frozen", FROZEN), ("cut", CUT))
    },
)
