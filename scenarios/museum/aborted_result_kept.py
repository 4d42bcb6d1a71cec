"""A store of Kafka Streams keeps the result of a transaction that was aborted (KAFKA-20685).

With exactly_once_v2 an application may use the store on its disk only if it was closed in order. A file beside the
store, the checkpoint, says up to which offset of the changelog the store is right. It may exist after such an end
alone. From 3.8 on the thread that restores stores writes the checkpoint when it is done, and nobody removes it. So
after a crash the next process finds a checkpoint, and uses the store.

The store of a small application is in memory alone, and ends with the process. Here its values are large, so RocksDB
writes them to a file within the open transaction. The second half begins with an input of a new key. When the process
is killed, the transaction is aborted. The next process restores the other key, whose committed result is in the
changelog. For the new key the changelog has nothing, and the result of the aborted transaction stays. The input is
processed again, and its result counts it twice.
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
from scenarios.delivery import EXACTLY_ONCE_V2, NUMBERS, PARTITIONS, count_and_crash

KAFKA_20685 = Bug(
    id="KAFKA-20685",
    title="a store of Kafka Streams keeps a result of an aborted transaction after a crash",
    touches="Kafka Streams, exactly_once_v2, stores",
    whom="applications of Kafka Streams with exactly_once_v2 and a store, after a crash",
    since=Border(
        "3.8.0",
        "KAFKA-10199",
        Side(
            "3.7.2",
            "StreamsConfig.InternalConfig.stateUpdaterEnabled is false by default, and StreamTask.completeRestoration "
            "writes no checkpoint with exactly once",
        ),
        Side(
            "3.8.0",
            "it is true by default, and DefaultStateUpdater.maybeCompleteRestoration writes one in each case",
        ),
    ),
    fixed=("4.2.2", "4.3.0"),
    whose="Java clients",
)
VALUE_BYTES = 512 << 10
FIRST, SECOND = {"a": 3}, {"new": 1, "a": 45}
"""How many inputs of which keys are committed when the process is killed, and how many are not: the latter are more
than RocksDB keeps in memory (16 MiB)."""


def killed(run: Run) -> None:
    """The application is killed when its store has written results of the open transaction to a file."""
    count_and_crash(run, EXACTLY_ONCE_V2, FIRST, SECOND, Counting(VALUE_BYTES))


scenario(
    name="museum-aborted-result-kept",
    claim="""After a crash, Kafka Streams with exactly_once_v2 uses a store that has the result of a transaction which
        was aborted. Its next results count that input twice.""",
    source="KAFKA-20685",
    operator="""Before an application that has crashed is started again, remove its directory of state (state.dir): it
        is restored from the changelog.""",
    exhibit=Exhibit(bug=KAFKA_20685, affected=("4.1.2",), fixed=("4.3.1",)),
    applies=ranges.STREAMS_EXACTLY_ONCE_V2,
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "default": Case(
            client="streams",
            steps=killed,
            documented=[
                Documented(
                    on=KAFKA_20685.affected,
                    required=frozenset({"state-store-leak"}),
                    claims=["each-input-processed-once", *NUMBERS],
                    source=KAFKA_20685.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_20685.unaffected,
                    claims=["each-input-counted-once", "each-input-processed-once", *NUMBERS],
                    source=KAFKA_20685.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
