"""A worker of Kafka Connect is killed when its outputs are written and what it has read is not committed (KIP-618).

Three workers run in distributed mode. Kafka's own source of lines (FileStreamSourceConnector) reads a file with a line
for each input, and sends each line to a topic. Connect commits how far it has read by itself, as a position in the
file, to a topic of its own. The source gets half of the lines, and Connect commits them. Then it gets the others, and
an interval puts the next commit off for longer than it takes to send them. When a reader of everything can read these
outputs, the worker that has the task is stopped as a whole (SIGSTOP). Connect's topic of offsets says what is committed
then, and the leader of the output says how much a reader of what is committed may read. Then the worker is killed, and
Connect gives the task to another one (from 2.3 on after a delay, KIP-415).

In `source` the interval is the workers' own (offset.flush.interval.ms), and the lines of the second half are sent
again. In `source-exactly-once` the outputs and the position are part of one transaction, whose length is the
connector's (transaction.boundary=interval). The next worker's task has the same transactional.id, and aborts what the
first one has left open. Each line is there once for read_committed readers (KIP-618).

In `source-exactly-once-unanswered` the brokers commit the transaction, and the worker does not learn it. A relay
between the two reads its request (EndTxn) and the broker's answer, and withholds the answer. Then the worker is
stopped. It is killed when Connect's topic of offsets has the position. No line is sent again.

A sink (FileStreamSinkConnector) is a member of the consumers' group connect-NAME, writes a line to a file for each
input, and commits the group's offset at the workers' interval. Two transformations have each line name where its input
lies (HoistField and InsertField, KIP-66). In `sink` its worker is killed when all lines are in the file and half of
them are committed. The next worker writes the others again, for a file is in no transaction of Kafka's. In
`sink-committed` the worker is killed after the commit, and no line is written again.

Each worker works in a directory of its own and has its files there, as on a machine of its own. The lines for a source
are the same in each and lie at the same positions, except that they name the worker. So an output shows who made it.
"""

from collections.abc import Mapping
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Partition, Run, ranges, scenario
from scenarios.delivery import INPUTS, NUMBERS, PARTITIONS, SINK

FIRST = INPUTS // 2
SECOND = 5
"""Lines of a commit that is not answered."""
LIMIT_S = 240.0
INTERVAL_MS = "30000"
"""Between two commits: longer than the second half takes to be written."""
NONE: Mapping[str, str] = {}
OF_WORKERS = {"offset.flush.interval.ms": INTERVAL_MS}
QUICK = {"offset.flush.interval.ms": "1000"}
EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}
TRANSACTIONS = {
    "exactly.once.support": "required",
    "transaction.boundary": "interval",
    "transaction.boundary.interval.ms": INTERVAL_MS,
}
AT_LEAST_ONCE = "Kafka documentation, Kafka Connect: exactly-once support; KIP-618, KIP-66"


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
        run.require("it has made the second half", run.makers_of(output, end) == {first.producer_id})
        run.kill_client(first)
        others = [one for one in workers if one is not first]
        run.worker_of_task(others)
        run.wait_lines_committed(others, INPUTS, timeout_s=LIMIT_S)
    run.wait_stable(output, timeout_s=LIMIT_S)


def source_unanswered(run: Run) -> None:
    """The worker is killed when the transaction with the second half is committed and the answer to its request has not
    reached it. Another one gets the task, and more lines.
    """
    t, output = run.partition(), Partition("output", 0)
    run.send(t, INPUTS)
    with run.connect_source(t, worker=OF_WORKERS | EXACTLY_ONCE, connector=TRANSACTIONS) as workers:
        run.append_lines(workers, FIRST)
        run.wait_lines_committed(workers, FIRST, timeout_s=LIMIT_S)
        end = run.wait_stable(output, timeout_s=LIMIT_S).high_watermark
        run.append_lines(workers, SECOND)
        first = run.worker_of_task(workers)
        run.wait_outputs(first, t, written=end + SECOND, timeout_s=LIMIT_S)
        run.require("the second half is not committed", run.lines_committed(first) == FIRST)
        ends = run.watch_ends(output, 0.0)
        run.require("its transaction is open", ends is not None and ends.last_stable_offset == end, ends=ends)
        run.withhold_answer(first, "EndTxn", timeout_s=LIMIT_S)
        run.freeze_unanswered(first, t, committed=FIRST + SECOND, timeout_s=LIMIT_S)
        run.require("it has made the second half", run.makers_of(output, end) == {first.producer_id})
        run.kill_client(first)
        run.answer_again()
        others = [one for one in workers if one is not first]
        run.worker_of_task(others)
        run.append_lines(others, INPUTS - FIRST - SECOND)
        run.wait_lines_committed(others, INPUTS, timeout_s=LIMIT_S)
    run.wait_stable(output, timeout_s=LIMIT_S)


def sink_killed(run: Run) -> None:
    """The worker is killed between the lines of the second half and the commit, and another one gets the task."""
    t = run.partition()
    run.send(t, FIRST)
    with run.connect_sink(t, worker=OF_WORKERS) as workers:
        run.wait_committed(SINK, t, FIRST, timeout_s=LIMIT_S)
        run.send(t, INPUTS - FIRST)
        first = run.worker_of_task(workers)
        point = run.freeze_after_outputs(first, t, written=INPUTS, timeout_s=LIMIT_S)
        run.require("the second half is not committed", point.committed == FIRST, committed=point.committed)
        run.kill_client(first)
        run.worker_of_task([one for one in workers if one is not first])
        run.wait_committed(SINK, t, INPUTS, timeout_s=LIMIT_S)


def sink_killed_after_commit(run: Run) -> None:
    """The worker is killed when all is committed, and another one gets the task with more inputs."""
    t = run.partition()
    run.send(t, FIRST)
    with run.connect_sink(t, worker=QUICK) as workers:
        run.wait_committed(SINK, t, FIRST, timeout_s=LIMIT_S)
        first = run.worker_of_task(workers)
        run.freeze_after_outputs(first, t, written=FIRST, timeout_s=LIMIT_S)
        run.kill_client(first)
        run.send(t, INPUTS - FIRST)
        run.worker_of_task([one for one in workers if one is not first])
        run.wait_committed(SINK, t, INPUTS, timeout_s=LIMIT_S)


REPEATS = [
    Documented(
        required=frozenset({"repeated-processing"}), claims=NUMBERS, source=AT_LEAST_ONCE, basis=Basis.DOCUMENTATION
    )
]
"""What lay between outputs and commit is there twice, and nothing else is."""


scenario(
    name="connect-pipeline",
    claim="""When its worker is killed, Kafka Connect repeats what its source has sent, or its sink has written, and not
        committed, and nothing else. With exactly.once.source.support readers of what is committed get each line of a
        source once.""",
    source="KIP-618; Kafka documentation, Kafka Connect: exactly-once support",
    operator="""Set exactly.once.source.support=enabled on all workers, and isolation.level=read_committed in the
        readers of the outputs, if no output of a source may be there twice. Its connector must support it. A sink may
        write twice: have it write by key, or keep its offsets where it writes.""",
    applies=ranges.CONNECT,
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "source": Case(client="connect", steps=source_killed, documented=REPEATS),
        "source-exactly-once": Case(
            client="connect",
            steps=partial(source_killed, worker=EXACTLY_ONCE, connector=TRANSACTIONS, in_transaction=True),
            documented=[Documented(claims=["each-input-processed-once", *NUMBERS], source="KIP-618", basis=Basis.KIP)],
            applies=ranges.CONNECT_EXACTLY_ONCE,
        ),
        "source-exactly-once-unanswered": Case(
            client="connect",
            steps=source_unanswered,
            documented=[
                Documented(claims=["each-input-processed-once", *NUMBERS], source="KIP-618, KIP-98", basis=Basis.KIP)
            ],
            cluster=ClusterPlan(settings=PARTITIONS, relayed=True),
            applies=ranges.CONNECT_EXACTLY_ONCE,
        ),
        "sink": Case(client="connect", steps=sink_killed, documented=REPEATS),
        "sink-committed": Case(
            client="connect",
            steps=sink_killed_after_commit,
            documented=[
                Documented(
                    claims=["each-input-processed-once", *NUMBERS], source=AT_LEAST_ONCE, basis=Basis.DOCUMENTATION
                )
            ],
        ),
    },
)
