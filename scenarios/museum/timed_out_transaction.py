"""A transaction that took too long is aborted, and its producer commits the rest of it (KAFKA-6119).

A coordinator aborts a transaction that is open for longer than transaction.timeout.ms, in case its producer is dead. A
producer that lives and was only slow must learn of the abort. Until 0.11.0.2 it did not, because the abort left the
producer's epoch as it was. Its next record opened another transaction under the same epoch. Its commit was
acknowledged, and committed only that one. The records that it had sent before the time-out are aborted: half of a
committed transaction is readable.

Here a producer sends to one partition, waits until the coordinator has aborted, sends to another, and commits. From
0.11.0.2 on the abort raises the epoch, and the producer is refused.
"""

from harness.words import Basis, Border, Bug, Documented, Exhibit, Run, Side, TopicPlan, ranges, scenario
from scenarios.museum import SKIPPED_IN_A_POLL

KAFKA_6119 = Bug(
    id="KAFKA-6119",
    title="of a transaction that took longer than its time-out, the first half is aborted and the rest committed",
    touches="transactions that time out",
    whom="transactional producers that pause for longer than transaction.timeout.ms",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "there are no transactions that could take too long"),
        Side(
            "0.11.0.0",
            "TransactionCoordinator.abortTimedOutTransactions aborts with the producer's own epoch, and does not "
            "raise it",
        ),
    ),
    fixed=("0.11.0.2", "1.0.0"),
    commits=("501a5e26270", "5bbfd614d00", "def1a768a63"),
)
SLOW = {"transaction.timeout.ms": "5000", "message.timeout.ms": "5000"}
ABORTED_LIMIT_S = 120.0
"""The coordinator looks for transactions that take too long once a minute."""


@scenario(
    name="museum-timed-out-transaction",
    claim="""A transaction whose commit was acknowledged has lost the records from before its time-out. The coordinator
        had aborted them without an error to the producer.""",
    source="KAFKA-6119, KIP-98",
    operator="""Do not use transactions. On any release, set transaction.timeout.ms above the longest pause of the
        producer (garbage collection, a paused container).""",
    needs=["transactions"],
    exhibit=Exhibit(bug=KAFKA_6119, affected=("0.11.0.0",), fixed=("0.11.0.3",)),
    applies=ranges.TRANSACTIONS,
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1))),
    documented=[
        Documented(
            on=KAFKA_6119.affected,
            required=SKIPPED_IN_A_POLL | {"transaction-half-committed"},
            source=KAFKA_6119.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_6119.unaffected,
            sentence="The coordinator refuses the producer when it continues, and nothing is committed.",
            source=KAFKA_6119.id,
            basis=Basis.JIRA,
        ),
    ],
)
def timed_out_transaction(run: Run) -> None:
    first, second = run.partition(0), run.partition(1)
    run.send(first)
    run.send(second)
    before = run.log_end_and_high_watermark(run.leader_of(first), first)[0]
    with run.transaction(settings=SLOW) as transaction:
        transaction.send(first)
        leader = run.leader_of(first)
        run.wait_files(
            "the coordinator has aborted the transaction",
            lambda: run.log_end_and_high_watermark(leader, first)[0] == before + 2,
            lambda: str(run.log_end_and_high_watermark(leader, first)),
            ABORTED_LIMIT_S,
        )
        transaction.send(second, must=False)
    ended = transaction.ended
    run.note(f"the commit's outcome: {ended.outcome if ended else 'none'}")
    run.send(first)
    run.send(second)
    with run.consume(first, committed_only=True) as consumer:
        consumer.wait_read(5 if KAFKA_6119.affects(run.version) else 4, timeout_s=60)
