"""An application of Kafka Streams is killed when its outputs are written and their inputs are not committed (KIP-129).

Streams reads, sends and commits by itself, so it cannot be told where to stand still. It is given half of the inputs
and commits them. Then it gets the others, and `commit.interval.ms` puts the next commit off for longer than it takes to
write their outputs. When a reader of everything can read these outputs, the process is stopped as a whole (SIGSTOP).
The group's coordinator says what is committed then, and the leader of the output says how much a reader of what is
committed may read. Then the process is killed, and another one with the same application id continues.

With at_least_once it makes the outputs of the second half again. With exactly_once, and exactly_once_v2, these outputs
were part of an open transaction, which is aborted, and each input is processed once for read_committed readers. The
next process of exactly_once has the transactional.id of the first, and aborts its transaction when it begins (KIP-129).
With exactly_once_v2 the id is another one. The next process continues at once, and readers of what is committed get its
outputs when the transaction of the first has timed out: until then it holds the last stable offset (KIP-447, KIP-98).

In the cases `…-committed` the process is killed after the commit of all inputs: nothing is made again.

In the cases `…-unanswered` the brokers carry the commit out, and the process does not learn it. A relay between the
two reads the request that commits: OffsetCommit, or EndTxn of a transaction (KIP-98). It also reads the broker's
answer, and withholds it. Then the process is stopped. The group's coordinator says what is committed, and the leader of
the output that no transaction is open. When the process is killed, nothing is made again: the next one begins where the
commit ended.

In the cases `…-offsets-unanswered` the answer to TxnOffsetCommit is withheld: the offsets are part of a transaction
that is still open. It is aborted with its offsets and outputs, and each input is processed once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from harness.words import (
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Partition,
    Run,
    StreamsApplication,
    ranges,
    scenario,
)
from scenarios.delivery import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    EXACTLY_ONCE_V2,
    GROUP,
    INPUTS,
    NUMBERS,
    PARTITIONS,
    QUICK_COMMITS,
    SLOW_COMMITS,
    settings_of,
)
from scenarios.delivery import STREAMS_LIMIT_S as LIMIT_S

FIRST = INPUTS // 2
SECOND = 5
"""Inputs of a commit that is not answered."""
ASK_S = 30.0


def killed_before_commit(run: Run, guarantee: str) -> None:
    """The application is killed between the outputs of the second half and their commit, and another one continues."""
    t, output = run.partition(), Partition("output", 0)
    run.send(t, FIRST)
    streams = partial(run.streams, t, group=GROUP, guarantee=guarantee)
    with streams(settings=SLOW_COMMITS | settings_of(guarantee)) as first:
        run.wait_committed(GROUP, t, FIRST, timeout_s=LIMIT_S)
        end = run.wait_stable(output, timeout_s=LIMIT_S).high_watermark
        run.send(t, INPUTS - FIRST)
        point = run.freeze_after_outputs(first, t, written=end + INPUTS - FIRST, timeout_s=LIMIT_S)
        run.require("the second half is not committed", point.committed == FIRST, committed=point.committed)
        run.kill_client(first)
    with streams(settings=QUICK_COMMITS | settings_of(guarantee)):
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    run.wait_stable(output, timeout_s=LIMIT_S)


def killed_after_commit(run: Run, guarantee: str) -> None:
    """The application is killed when all is committed, and another one continues with more inputs."""
    t = run.partition()
    run.send(t, FIRST)
    streams = partial(run.streams, t, group=GROUP, guarantee=guarantee, settings=QUICK_COMMITS | settings_of(guarantee))
    with streams() as first:
        run.wait_committed(GROUP, t, FIRST, timeout_s=LIMIT_S)
        run.freeze_after_outputs(first, t, written=FIRST, timeout_s=LIMIT_S)
        run.kill_client(first)
    run.send(t, INPUTS - FIRST)
    with streams():
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)


def killed_unanswered(run: Run, guarantee: str, request: str) -> None:
    """The application is killed when the second half is committed and the answer to its request has not reached it, and
    another one continues with more inputs.
    """
    with half_way(run, guarantee) as (first, _):
        run.withhold_answer(first, request, timeout_s=LIMIT_S)
        run.freeze_unanswered(first, run.partition(), committed=FIRST + SECOND, timeout_s=LIMIT_S)


def killed_with_offsets_unanswered(run: Run, guarantee: str) -> None:
    """The application is killed when the offsets of the second half are part of its transaction, and it has not learnt
    so. The transaction is open, and another application continues with more inputs.
    """
    with half_way(run, guarantee) as (first, written):
        run.withhold_answer(first, "TxnOffsetCommit", timeout_s=LIMIT_S)
        point = run.freeze_after_outputs(first, run.partition(), written=written, timeout_s=LIMIT_S)
        run.require("the second half is not committed", point.committed == FIRST, committed=point.committed)


@contextmanager
def half_way(run: Run, guarantee: str) -> Iterator[tuple[StreamsApplication, int]]:
    """An application that has written the outputs of the second half and does not commit them before its interval ends,
    and where these outputs end. It is killed after the block, and another one continues with more inputs.
    """
    t, output = run.partition(), Partition("output", 0)
    run.send(t, FIRST)
    streams = partial(run.streams, t, group=GROUP, guarantee=guarantee)
    with streams(settings=SLOW_COMMITS | settings_of(guarantee)) as first:
        run.wait_committed(GROUP, t, FIRST, timeout_s=LIMIT_S)
        end = run.wait_stable(output, timeout_s=LIMIT_S).high_watermark
        run.send(t, SECOND)
        run.wait_outputs(first, t, written=end + SECOND, timeout_s=LIMIT_S)
        run.require("the second half is not committed", run.committed(GROUP, t, ASK_S).offset == FIRST)
        ends = run.watch_ends(output, 0.0)
        readable = end + (SECOND if guarantee == AT_LEAST_ONCE else 0)
        is_open = ends is not None and ends.last_stable_offset == readable
        run.require("its transaction is open, if it has one", is_open, ends=ends)
        yield first, end + SECOND
        run.kill_client(first)
        run.answer_again()
    run.send(t, INPUTS - FIRST - SECOND)
    with streams(settings=QUICK_COMMITS | settings_of(guarantee)):
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    run.wait_stable(output, timeout_s=LIMIT_S)


def once(source: str) -> list[Documented]:
    """Each input is processed once."""
    return [Documented(claims=["each-input-processed-once", *NUMBERS], source=source, basis=Basis.KIP)]


RELAYED = ClusterPlan(settings=PARTITIONS, relayed=True)
V1, V2 = "KIP-129", "KIP-129, KIP-447, KIP-732"

scenario(
    name="streams-pipeline",
    claim="""Kafka Streams with at_least_once makes the outputs of inputs that were not committed again when its process
        is killed, and no others. With exactly_once and exactly_once_v2 readers of what is committed get one output of
        each input.""",
    source="KIP-129, KIP-447; Kafka documentation, Streams: processing.guarantee",
    operator="""Set processing.guarantee=exactly_once_v2 if no output may be made twice, and
        isolation.level=read_committed in the readers of the outputs. After a crash these readers wait for the open
        transaction for up to transaction.timeout.ms.""",
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "at-least-once": Case(
            client="streams",
            steps=partial(killed_before_commit, guarantee=AT_LEAST_ONCE),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    source="KIP-129; Kafka documentation, Streams: processing.guarantee",
                    basis=Basis.KIP,
                )
            ],
        ),
        "at-least-once-committed": Case(
            client="streams", steps=partial(killed_after_commit, guarantee=AT_LEAST_ONCE), documented=once(V1)
        ),
        "exactly-once": Case(
            client="streams",
            steps=partial(killed_before_commit, guarantee=EXACTLY_ONCE),
            documented=once(V1),
            applies=ranges.STREAMS_EXACTLY_ONCE,
        ),
        "exactly-once-v2": Case(
            client="streams",
            steps=partial(killed_before_commit, guarantee=EXACTLY_ONCE_V2),
            documented=once(V2),
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
        "exactly-once-v2-committed": Case(
            client="streams",
            steps=partial(killed_after_commit, guarantee=EXACTLY_ONCE_V2),
            documented=once(V2),
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
        "at-least-once-unanswered": Case(
            client="streams",
            steps=partial(killed_unanswered, guarantee=AT_LEAST_ONCE, request="OffsetCommit"),
            documented=once(V1),
            cluster=RELAYED,
        ),
        "exactly-once-unanswered": Case(
            client="streams",
            steps=partial(killed_unanswered, guarantee=EXACTLY_ONCE, request="EndTxn"),
            documented=once(f"{V1}, KIP-98"),
            cluster=RELAYED,
            applies=ranges.STREAMS_EXACTLY_ONCE,
        ),
        "exactly-once-v2-unanswered": Case(
            client="streams",
            steps=partial(killed_unanswered, guarantee=EXACTLY_ONCE_V2, request="EndTxn"),
            documented=once(f"{V2}, KIP-98"),
            cluster=RELAYED,
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
        "exactly-once-offsets-unanswered": Case(
            client="streams",
            steps=partial(killed_with_offsets_unanswered, guarantee=EXACTLY_ONCE),
            documented=once(f"{V1}, KIP-98"),
            cluster=RELAYED,
            applies=ranges.STREAMS_EXACTLY_ONCE,
        ),
        "exactly-once-v2-offsets-unanswered": Case(
            client="streams",
            steps=partial(killed_with_offsets_unanswered, guarantee=EXACTLY_ONCE_V2),
            documented=once(f"{V2}, KIP-98"),
            cluster=RELAYED,
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
    },
)
