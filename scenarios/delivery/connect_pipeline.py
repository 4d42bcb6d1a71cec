"""A worker of Kafka Connect is killed when its outputs are written and what it has read is not committed (KIP-618).

Three workers run in distributed mode. Kafka's own source of lines (FileStreamSourceConnector) reads a file with a line
for each input, and sends each line to a topic. Connect commits how far it has read by itself, as a position in the
file, to a topic of its own. The source gets half of the lines, and Connect commits them. Then it gets the others, and
an interval puts the next commit off for longer than it takes to send them. When a reader of everything can read these
outputs, the worker that has the task is stopped as a whole (SIGSTOP). Connect's topic of offsets says what is committed
then, and the leader of the output says how much a reader of what is committed may read. Then the worker is killed, and
Connect gives the task to another one (KIP-415).

In `source` the interval is the workers' own (offset.flush.interval.ms), and the lines of the second half are sent
again. In `source-exactly-once` the outputs and the position are part of one transaction, whose length is the
connector's (transaction.boundary=interval). The next worker's task has the same transactional.id, and aborts what the
first one has left open. Each line is there once for read_committed readers (KIP-618).

Each worker works in a directory of its own and finds the file there, as on a machine of its own. The lines are the
same and lie at the same positions, except that each names the worker. So an output shows who has made it.
"""

from collections.abc import Mapping
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Partition, Run, ranges, scenario
from scenarios.delivery import INPUTS, NUMBERS

FIRST = INPUTS // 2
LIMIT_S = 240.0
INTERVAL_MS = "30000"
"""Between two commits: longer than the second half takes to be written."""
NONE: Mapping[str, str] = {}
OF_WORKERS = {"offset.flush.interval.ms": INTERVAL_MS}
EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}
TRANSACTIONS = {
    "exactly.once.support": "required",
    "transaction.boundary": "interval",
    "transaction.boundary.interval.ms": INTERVAL_MS,
}
CONNECT = "Kafka documentation, Kafka Connect: exactly-once support"


def source_killed(
    run: Run, worker: Mapping[str, str] = NONE, connector: Mapping[str, str] = NONE, in_transaction: bool = False
) -> None:
    """The worker is killed between the outputs of the second half and the commit, and another one gets the task."""
    t, output = run.partition(), Partition("output", 0)
    run.send(t, INPUTS)
    with run.connect_source(t, worker=OF_WORKERS | dict(worker), connector=connector) as workers:
        run.append_lines(workers, FIRST)
        run.wait_lines_committed(workers, FIRST, timeout_s=LIMIT_S)
        end = run.wait_stable(output, timeout_s=LIMIT_S).high_watermark
        run.append_lines(workers, INPUTS - FIRST)
        first = run.worker_of_task(workers)
        point = run.freeze_after_outputs(first, t, written=end + INPUTS - FIRST, timeout_s=LIMIT_S)
        run.require("the second half is not committed", point.committed == FIRST, committed=point.committed)
        readable = end if in_transaction else point.written
        run.require("its transaction is open, if it has one", point.outputs == readable, outputs=point.outputs)
        run.kill_client(first)
        others = [one for one in workers if one is not first]
        run.worker_of_task(others)
        run.wait_lines_committed(others, INPUTS, timeout_s=LIMIT_S)
    run.wait_stable(output, timeout_s=LIMIT_S)


scenario(
    name="connect-pipeline",
    claim="""Kafka Connect sends the lines of a source again that were not committed when its worker is killed, and no
        others. With exactly.once.source.support readers of what is committed get each line once.""",
    source="KIP-618; Kafka documentation, Kafka Connect: exactly-once support",
    operator="""Set exactly.once.source.support=enabled on all workers, and isolation.level=read_committed in the
        readers of the outputs, if no output of a source may be there twice. Its connector must support it.""",
    applies=ranges.CONNECT,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}),
    cases={
        "source": Case(
            client="connect",
            steps=source_killed,
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    source=CONNECT,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "source-exactly-once": Case(
            client="connect",
            steps=partial(source_killed, worker=EXACTLY_ONCE, connector=TRANSACTIONS, in_transaction=True),
            documented=[Documented(claims=["each-input-processed-once", *NUMBERS], source="KIP-618", basis=Basis.KIP)],
            applies=ranges.CONNECT_EXACTLY_ONCE,
        ),
    },
)
