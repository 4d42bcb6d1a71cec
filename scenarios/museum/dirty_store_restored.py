"""A store of Kafka Streams is restored on top of what an aborted transaction left in it (KAFKA-7192).

With exactly_once a store on the disk is right only if the application was closed in order: then a file beside it, the
checkpoint, says up to which offset of the changelog. A crash leaves no checkpoint. Up to 2.0.0 the next process reads
the changelog from its beginning then, and writes what is committed on top of the files that exist. It does not remove
them.

The store of a small application is in memory alone, and ends with the process. Here its values are large, so RocksDB
writes them to a file within the open transaction. The second half begins with an input of a new key. When the process
is killed, the transaction is aborted. The changelog has the committed result of the other key, and nothing for the new
one: the result of the aborted transaction stays. The input is processed again, and its result counts it twice.
"""

from harness.words import (
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    Counting,
    Documented,
    Exhibit,
    Run,
    Side,
    ranges,
    scenario,
)
from scenarios.delivery import EXACTLY_ONCE, NUMBERS, PARTITIONS, count_and_crash

KAFKA_7192 = Bug(
    id="KAFKA-7192",
    title="Kafka Streams restores a store after a crash and keeps what an aborted transaction left in its files",
    touches="Kafka Streams, exactly_once, stores",
    whom="applications of Kafka Streams with exactly_once and a store, after a crash",
    since=Border(
        "0.11.0.0",
        "KIP-129",
        Side("0.10.2.2", "Kafka Streams has no exactly_once: StreamsConfig has no processing.guarantee"),
        Side(
            "0.11.0.0",
            "StoreChangelogReader.restore reads the changelog from its beginning if there is no checkpoint, and "
            "nobody removes the store's files",
        ),
    ),
    fixed=("2.0.1",),
    whose="Java clients",
    commits=("4c9d49bd3bb", "88bca08e145"),
)
VALUE_BYTES = 512 << 10
FIRST, SECOND = {"a": 3}, {"new": 1, "a": 45}
"""How many inputs of which keys are committed when the process is killed, and how many are not: the latter are more
than RocksDB keeps in memory (16 MiB)."""


def killed(run: Run) -> None:
    """The application is killed when its store has written results of the open transaction to a file."""
    count_and_crash(run, EXACTLY_ONCE, FIRST, SECOND, Counting(VALUE_BYTES))


scenario(
    name="museum-dirty-store-restored",
    claim="""After a crash, Kafka Streams with exactly_once restores its store and keeps the result of a transaction
        which was aborted. Its next results count that input twice.""",
    source="KAFKA-7192",
    operator="""Before an application that has crashed is started again, remove its directory of state (state.dir): it
        is restored from the changelog.""",
    exhibit=Exhibit(bug=KAFKA_7192, affected=("0.11.0.3",), fixed=("2.8.2",)),
    applies=ranges.STREAMS_EXACTLY_ONCE,
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "default": Case(
            client="streams",
            steps=killed,
            documented=[
                Documented(
                    on=KAFKA_7192.affected,
                    required=frozenset({"state-store-leak"}),
                    claims=["each-input-processed-once", *NUMBERS],
                    source=KAFKA_7192.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_7192.unaffected,
                    claims=["each-input-counted-once", "each-input-processed-once", *NUMBERS],
                    source=KAFKA_7192.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
