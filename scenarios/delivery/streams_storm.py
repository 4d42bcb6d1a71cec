"""Processes of Kafka Streams and brokers die again and again while an application works (KIP-129, KIP-447).

Three processes of one application share the only task: one works, and the others wait to take over. Again and again,
while inputs come at a steady rate, a process that has worked is stopped at whatever step it is, and killed. Every other
time the leader of the inputs dies with it. Another process begins for each that was killed.

Streams commits each second here, so most deaths leave outputs that are not committed. With at_least_once they are made
again. With exactly_once_v2 they were part of a transaction, which is aborted or times out, and each input has one
output for readers of what is committed.
"""

from contextlib import ExitStack
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, StreamsApplication, ranges, scenario
from scenarios.delivery import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE_V2,
    GROUP,
    IDEMPOTENT,
    ONCE,
    OUTPUT,
    PARTITIONS,
    QUICK_COMMITS,
    STREAMS_LIMIT_S,
    all_of,
    with_a_broker,
)

LIMIT_S = 120.0
PROCESSES, BLOWS = 3, 8
RATE, BETWEEN = 30, 400
"""Records a second, and how many are acknowledged from one blow to the next. A process takes some seconds to begin."""
SHORT_TRANSACTIONS = {"producer.transaction.timeout.ms": "10000"}
"""So long the transaction of a dead process holds up who continues, and readers."""
SOURCE = "Kafka documentation, Streams: processing.guarantee"


def storm(run: Run, guarantee: str) -> None:
    """The process at work dies again and again, every other time with a broker. Another one begins."""
    t = run.partition()
    settings = QUICK_COMMITS | ({} if guarantee == AT_LEAST_ONCE else SHORT_TRANSACTIONS)
    with ExitStack() as working:

        def begin() -> StreamsApplication:
            return working.enter_context(run.streams(t, group=GROUP, guarantee=guarantee, settings=settings))

        processes = [begin() for _ in range(PROCESSES)]
        with run.load(t, rate_per_s=RATE, settings=IDEMPOTENT) as load:
            for blow in range(BLOWS):
                load.wait_more(BETWEEN, timeout_s=LIMIT_S)
                dies = run.wait_any_at_work(processes, timeout_s=STREAMS_LIMIT_S)
                run.freeze_after_outputs(dies, t, written=1, timeout_s=STREAMS_LIMIT_S)
                if blow % 2:
                    with_a_broker(run, dies, run.leader_of(t), [t])
                else:
                    run.kill_client(dies)
                processes[processes.index(dies)] = begin()
        run.wait_committed(GROUP, t, all_of(run, t), timeout_s=STREAMS_LIMIT_S)
    run.wait_stable(OUTPUT, timeout_s=STREAMS_LIMIT_S)


scenario(
    name="streams-storm",
    claim="""However often processes of Kafka Streams and brokers die, no input is without an output. With
        exactly_once_v2 readers of what is committed get one output of each input.""",
    source=f"{SOURCE}; KIP-129, KIP-447",
    operator="""Set processing.guarantee=exactly_once_v2 if no output may be made twice, and
        isolation.level=read_committed in the readers of the outputs.""",
    applies=ranges.TRANSACTIONS,
    needs=["idempotence"],
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "at-least-once": Case(
            client="streams",
            steps=partial(storm, guarantee=AT_LEAST_ONCE),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    sentence="Outputs that were not committed are made again, and none is missing.",
                    source=SOURCE,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "exactly-once-v2": Case(
            client="streams",
            steps=partial(storm, guarantee=EXACTLY_ONCE_V2),
            documented=[Documented(claims=[ONCE], source="KIP-129, KIP-447, KIP-732", basis=Basis.KIP)],
            applies=ranges.STREAMS_EXACTLY_ONCE_V2,
        ),
    },
)
