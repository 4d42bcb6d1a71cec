"""A query of Spark Structured Streaming is killed when a batch is written and its commit is not in the checkpoint.

The query reads a topic through PySpark and Spark's own source for Kafka. It has half of the inputs in its first batch,
and commits that. The next commit is held: Hadoop makes its file, and runs the program chmod for it, which is ours here.
Then the query gets the other inputs, all in one batch (minOffsetsPerTrigger). When the commit is held, the checkpoint
says what is committed, and the leader of the output or the store says what is written. Then Python and the Java virtual
machine are killed, and another process continues with the same checkpoint.

Spark runs the batch again, with the same offsets and the same number. The sink decides what comes of that. The one for
Kafka writes it again: "at least once" (Spark documentation, Structured Streaming and Kafka). The file sink keeps a log
of the batches whose files count, finds this one there, and writes nothing. With foreachBatch the program has to do that
itself. In `store` each batch is appended to a table of PostgreSQL. In `store-by-batch-id` the number of the next batch
is part of the same transaction, and the program skips a batch that the table has.

In `kafka-committed` the query is killed after the commit: nothing is written again.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, StorePlan, ranges, scenario
from scenarios.delivery import INPUTS, NUMBERS

FIRST = INPUTS // 2
LIMIT_S = 240.0
IN_ONE_BATCH = {"minOffsetsPerTrigger": str(INPUTS - FIRST)}
"""A batch begins when so many inputs are there."""
SERVER = ClusterPlan(store=StorePlan())


def killed_before_commit(run: Run, sink: str) -> None:
    """The query is killed between the outputs of a batch and its commit, and another one continues."""
    t = run.partition()
    run.send(t, FIRST)
    spark = partial(run.spark, t, sink=sink, inputs=INPUTS, settings=IN_ONE_BATCH)
    with spark() as first:
        run.wait_checkpointed(first, t, FIRST, timeout_s=LIMIT_S)
        run.hold_commit(first)
        run.send(t, INPUTS - FIRST)
        point = run.wait_commit_held(first, t, timeout_s=LIMIT_S)
        run.require("the second half is not committed", point.committed == FIRST, committed=point.committed)
        run.require("the second half is written", point.outputs == INPUTS, outputs=point.outputs)
        run.kill_client(first)
    with spark() as second:
        run.wait_checkpointed(second, t, INPUTS, timeout_s=LIMIT_S)


def killed_after_commit(run: Run, sink: str) -> None:
    """The query is killed when all is committed, and another one continues with more inputs."""
    t = run.partition()
    run.send(t, FIRST)
    spark = partial(run.spark, t, sink=sink, inputs=INPUTS, settings=IN_ONE_BATCH)
    with spark() as first:
        run.wait_checkpointed(first, t, FIRST, timeout_s=LIMIT_S)
        run.freeze_after_outputs(first, t, written=FIRST, timeout_s=LIMIT_S)
        run.kill_client(first)
    run.send(t, INPUTS - FIRST)
    with spark() as second:
        run.wait_checkpointed(second, t, INPUTS, timeout_s=LIMIT_S)


GUIDE = "Spark documentation, Structured Streaming Programming Guide"
KAFKA = "Spark documentation, Structured Streaming + Kafka Integration Guide: writing data to Kafka"
WRITTEN_ONCE = ("each-input-processed-once", "written-batch-not-written-again")

scenario(
    name="spark-pipeline",
    claim="""A query of Spark that is killed between the outputs of a batch and its commit runs that batch again. The
        sink for Kafka and a plain foreachBatch write its outputs twice, and no others. The file sink writes them once,
        and so does a foreachBatch that keeps the batch's number in the same transaction.""",
    source=GUIDE,
    operator="""Expect duplicates of a whole batch from Spark's sink for Kafka. In foreachBatch write the batch's number
        in the transaction of the outputs, and skip a batch that is there. Have files read through Spark, which heeds
        the sink's log. Keep the checkpoint: without it the query begins anew.""",
    applies=ranges.IDEMPOTENCE,
    cases={
        "kafka": Case(
            client="spark",
            steps=partial(killed_before_commit, sink="kafka"),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}), claims=NUMBERS, source=KAFKA, basis=Basis.DOCUMENTATION
                )
            ],
        ),
        "kafka-committed": Case(
            client="spark",
            steps=partial(killed_after_commit, sink="kafka"),
            documented=[
                Documented(claims=["each-input-processed-once", *NUMBERS], source=KAFKA, basis=Basis.DOCUMENTATION)
            ],
        ),
        "files": Case(
            client="spark",
            steps=partial(killed_before_commit, sink="files"),
            documented=[Documented(claims=WRITTEN_ONCE, source=f"{GUIDE}: output sinks", basis=Basis.DOCUMENTATION)],
        ),
        "store": Case(
            cluster=SERVER,
            client="spark",
            steps=partial(killed_before_commit, sink="store"),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    source=f"{GUIDE}: foreachBatch",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "store-by-batch-id": Case(
            cluster=SERVER,
            client="spark",
            steps=partial(killed_before_commit, sink="store-by-batch-id"),
            documented=[Documented(claims=WRITTEN_ONCE, source=f"{GUIDE}: foreachBatch", basis=Basis.DOCUMENTATION)],
        ),
    },
)
