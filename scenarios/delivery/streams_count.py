"""An application of Kafka Streams that counts by key is killed between its outputs and their commit (KIP-129).

The application keeps a result for each key in a store on its disk: the inputs that it has counted. Each output states
the result of its key, and so names all inputs that it counts. Streams writes each change of the store to a changelog
topic, too. The next process with the same application id restores the store from there.

The application is given half of the inputs, and commits. Then it gets the others, among them those of a key that was
not there before. The next commit is put off. When a reader of everything can read the outputs and the changelog, the
process is stopped as a whole, and killed. Another one continues on the same machine, in the same directory of state.

With at_least_once the changelog has the results of the second half, and the group's offset is before it. The next
process counts the second half again, on top of these results. With exactly_once, and exactly_once_v2, changelog,
outputs and offset are one transaction, which is aborted. The next process removes its store, because it was not closed,
and restores what is committed. So each result counts each input once.

Up to 2.0.0 nobody removes the store (museum-dirty-store-restored), and from 3.8 to 4.2.1 not always
(museum-aborted-result-kept): what RocksDB has written to its files by then stays. Here it has written nothing yet.

In the cases `…-standby` there are two machines. The process on one of them does the work, as Streams decides, and the
other has a standby replica of the store (num.standby.replicas=1). That one follows the changelog, and takes over when
the first has died. With transactions it follows what is committed alone (KIP-129), so its results are as exact.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Counting, Documented, Run, ranges, scenario
from scenarios.delivery import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    EXACTLY_ONCE_V2,
    NUMBERS,
    PARTITIONS,
    count_and_crash,
    count_with_standby,
)

FIRST, SECOND = {"a": 6, "b": 4}, {"a": 3, "b": 3, "c": 4}
"""How many inputs of which keys are committed when the process is killed, and how many are not."""


def counts(run: Run, guarantee: str) -> None:
    """The application is killed between the outputs of the second half and their commit, and another one continues."""
    count_and_crash(run, guarantee, FIRST, SECOND, Counting())


def counts_with_standby(run: Run, guarantee: str) -> None:
    """The same, and the other one has a standby replica of the store."""
    count_with_standby(run, guarantee, FIRST, SECOND)


def exact(source: str) -> list[Documented]:
    """Each input is processed once, and counted once."""
    claims = ["each-input-counted-once", "each-input-processed-once", *NUMBERS]
    return [Documented(claims=claims, source=source, basis=Basis.KIP)]


def counted_again(source: str) -> list[Documented]:
    """What was not committed is processed and counted again."""
    return [
        Documented(
            required=frozenset({"repeated-processing"}),
            claims=["crash-counts-again-what-was-not-committed", *NUMBERS],
            source=f"{source}; Kafka documentation, Streams: processing.guarantee",
            basis=Basis.KIP,
        )
    ]


scenario(
    name="streams-count",
    claim="""Kafka Streams with at_least_once counts inputs that were not committed again when its process is killed, on
        top of a store that has counted them. With exactly_once and exactly_once_v2 each result that a reader of what is
        committed gets counts each input once.""",
    source="KIP-129, KIP-447; Kafka documentation, Streams: processing.guarantee",
    operator="""Set processing.guarantee=exactly_once_v2 if a count, a sum or another result in a store may not be too
        high after a crash, and be on a release without the bugs of museum-dirty-store-restored and
        museum-aborted-result-kept. Results of at_least_once stay too high: nothing corrects them.""",
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "at-least-once": Case(
            client="streams", steps=partial(counts, guarantee=AT_LEAST_ONCE), documented=counted_again("KIP-129")
        ),
        "exactly-once": Case(
            client="streams",
            steps=partial(counts, guarantee=EXACTLY_ONCE),
            documented=exact("KIP-129"),
            applies=ranges.STREAMS_EXACTLY_ONCE,
        ),
        "exactly-once-v2": Case(
            client="streams",
            steps=partial(counts, guarantee=EXACTLY_ONCE_V2),
            documented=exact("KIP-129, KIP-447, KIP-732"),
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
        "at-least-once-standby": Case(
            client="streams",
            steps=partial(counts_with_standby, guarantee=AT_LEAST_ONCE),
            documented=counted_again("KIP-129; Kafka documentation, Streams: num.standby.replicas"),
        ),
        "exactly-once-standby": Case(
            client="streams",
            steps=partial(counts_with_standby, guarantee=EXACTLY_ONCE),
            documented=exact("KIP-129; Kafka documentation, Streams: num.standby.replicas"),
            applies=ranges.STREAMS_EXACTLY_ONCE,
        ),
        "exactly-once-v2-standby": Case(
            client="streams",
            steps=partial(counts_with_standby, guarantee=EXACTLY_ONCE_V2),
            documented=exact("KIP-129, KIP-447, KIP-732; Kafka documentation, Streams: num.standby.replicas"),
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
    },
)
