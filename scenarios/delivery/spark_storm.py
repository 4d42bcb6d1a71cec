"""Queries of Spark Structured Streaming and brokers die again and again while a query works.

A query reads a topic under a load, batch after batch. Again and again, when it has made some outputs, it is killed, and
another process continues with the same checkpoint. Every other time it stands between the outputs of a batch and their
commit then. The other times it is stopped at whatever step it is, and the leader of the inputs dies with it.

Spark runs a batch again that has no commit. Its sink for Kafka writes the outputs again: "at least once" (Spark
documentation, Structured Streaming and Kafka). The file sink finds the batch in its log, and a foreachBatch that keeps
the batch's number in the transaction of its outputs finds it in the store. With these each input has one output.

A query has on record before it begins what it may send to a topic. So the number of inputs is known, and the load ends
with them. On a slow machine it ends before the last death, while there are inputs left to be read.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, StorePlan, ranges, scenario
from scenarios.delivery import IDEMPOTENT, ONCE, REPEATED, all_of, with_a_broker

LIMIT_S = 240.0
BLOWS = 6
RATE, INPUTS = 10, 3000
"""Records a second, and how many in all."""
SOME = 40
"""Outputs that a query makes before it dies."""
GUIDE = "Spark documentation, Structured Streaming Programming Guide"
KAFKA = "Spark documentation, Structured Streaming + Kafka Integration Guide: writing data to Kafka"


def storm(run: Run, sink: str) -> None:
    """A query dies before the commit of a batch, and the next one at any moment with a broker, again and again."""
    t, written = run.partition(), 0
    with run.load(t, records=INPUTS, rate_per_s=RATE, settings=IDEMPOTENT) as load:
        for blow in range(BLOWS):
            with run.spark(t, sink=sink, inputs=INPUTS) as query:
                written += int(run.vary(SOME, 1, 2 * SOME + 0.999))
                if blow % 2:
                    point = run.freeze_after_outputs(query, t, written=written, timeout_s=LIMIT_S)
                    with_a_broker(run, query, run.leader_of(t), [t])
                else:
                    run.wait_outputs(query, t, written=written, timeout_s=LIMIT_S)
                    run.hold_commit(query)
                    point = run.wait_commit_held(query, t, timeout_s=LIMIT_S)
                    run.kill_client(query)
                written = max(written, point.outputs or 0)
        load.wait_acked(INPUTS, timeout_s=LIMIT_S)
    with run.spark(t, sink=sink, inputs=INPUTS) as last:
        run.wait_checkpointed(last, t, all_of(run, t), timeout_s=LIMIT_S)


scenario(
    name="spark-storm",
    claim="""However often queries of Spark and brokers die, no input is without an output. The file sink, and a
        foreachBatch that keeps the batch's number in the same transaction, make one output of each.""",
    source=GUIDE,
    operator="""Keep the checkpoint. Expect duplicates from the sink for Kafka. In foreachBatch write the batch's number
        in the transaction of the outputs, and skip a batch that is there.""",
    applies=ranges.IDEMPOTENCE,
    needs=["idempotence"],
    cases={
        "kafka": Case(
            client="spark",
            steps=partial(storm, sink="kafka"),
            documented=[
                Documented(
                    required=REPEATED,
                    sentence="A batch that has no commit is written again, and no output is missing.",
                    source=KAFKA,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "files": Case(
            client="spark",
            steps=partial(storm, sink="files"),
            documented=[Documented(claims=[ONCE], source=f"{GUIDE}: output sinks", basis=Basis.DOCUMENTATION)],
        ),
        "store-by-batch-id": Case(
            cluster=ClusterPlan(store=StorePlan()),
            client="spark",
            steps=partial(storm, sink="store-by-batch-id"),
            documented=[Documented(claims=[ONCE], source=f"{GUIDE}: foreachBatch", basis=Basis.DOCUMENTATION)],
        ),
    },
)
