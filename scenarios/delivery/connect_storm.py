"""Workers of Kafka Connect and brokers die again and again while a connector works (KIP-618, KIP-415).

Three workers share the only task of a connector: one has it, and the others wait. Again and again the worker that has
it is stopped as a whole when it has written some outputs, and killed. Every other time the leader of what the connector
reads or writes dies with it. Another worker begins for each that was killed, with the same lines in its file.

The workers commit each second, so most deaths leave outputs that are not committed. A source sends these lines again,
and a sink writes these records again. With exactly.once.source.support outputs and positions are one transaction: what
a dead worker has left open is aborted when the next one begins, and each line is there once for readers of what is
committed. If the workers' leader cannot do that in time, the task fails for good, and the sequence restarts it, as an
operator has to (KIP-618).

The lines come in bursts, one for each death: the source of Kafka's own reads what is there. A sink has a steady load.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from harness.words import Basis, Case, ClusterPlan, ConnectWorker, Documented, Run, ranges, scenario
from scenarios.delivery import IDEMPOTENT, ONCE, OUTPUT, PARTITIONS, REPEATED, SINK, all_of, with_a_broker

LIMIT_S = 240.0
BLOWS = 8
LINES = 60
"""Of one burst."""
RATE, BETWEEN = 30, 300
"""Records a second, and how many are acknowledged from one death to the next. A task takes some seconds to move."""
QUICK = {"offset.flush.interval.ms": "1000"}
EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}
TRANSACTIONS = {
    "exactly.once.support": "required",
    "transaction.boundary": "interval",
    "transaction.boundary.interval.ms": "1000",
}
NONE: Mapping[str, str] = {}
SOURCE = "Kafka documentation, Kafka Connect: exactly-once support; KIP-618"


def source_storm(run: Run, worker: Mapping[str, str] = NONE, connector: Mapping[str, str] = NONE) -> None:
    """The worker with the task dies after some of the outputs of a burst, every other time with a broker."""
    t, settings = run.partition(), QUICK | dict(worker)
    run.send(t, LINES * (BLOWS + 1))
    with ExitStack() as working:
        workers = working.enter_context(run.connect_source(t, worker=settings, connector=connector))
        for blow in range(BLOWS):
            dies = run.worker_of_task(workers)
            written = run.wait_stable(OUTPUT, timeout_s=LIMIT_S).high_watermark
            run.append_lines(workers, LINES)
            some = int(run.vary(LINES // 2, 1, LINES + 0.999))
            run.freeze_after_outputs(dies, t, written=written + some, timeout_s=LIMIT_S)
            if blow % 2:
                with_a_broker(run, dies, run.leader_of(OUTPUT), [OUTPUT])
            else:
                run.kill_client(dies)
            workers = others(workers, dies)
            workers.append(working.enter_context(run.join_workers(t, workers, worker=settings)))
        run.worker_of_task(workers)
        run.append_lines(workers, LINES)
        run.wait_lines_committed(workers, LINES * (BLOWS + 1), timeout_s=LIMIT_S)
    run.wait_stable(OUTPUT, timeout_s=LIMIT_S)


def sink_storm(run: Run) -> None:
    """The worker with the task dies when it has written more records, every other time with the leader of these."""
    t = run.partition()
    with ExitStack() as working:
        workers = working.enter_context(run.connect_sink(t, worker=QUICK))
        with run.load(t, rate_per_s=RATE, settings=IDEMPOTENT) as load:
            for blow in range(BLOWS):
                load.wait_more(BETWEEN, timeout_s=LIMIT_S)
                dies = run.worker_of_task(workers)
                run.freeze_after_outputs(dies, t, written=int(run.vary(1, 1, 60.999)), timeout_s=LIMIT_S)
                if blow % 2:
                    with_a_broker(run, dies, run.leader_of(t), [t])
                else:
                    run.kill_client(dies)
                workers = others(workers, dies)
                workers.append(working.enter_context(run.join_workers(t, workers, worker=QUICK)))
        run.wait_committed(SINK, t, all_of(run, t), timeout_s=LIMIT_S)


def others(workers: list[ConnectWorker], dead: ConnectWorker) -> list[ConnectWorker]:
    """All workers but the dead one."""
    return [one for one in workers if one is not dead]


AGAIN = [
    Documented(
        required=REPEATED,
        sentence="Nothing is missing. Written again is what was written and not committed.",
        source=SOURCE,
        basis=Basis.DOCUMENTATION,
    )
]

scenario(
    name="connect-storm",
    claim="""However often workers of Kafka Connect and brokers die, no line of a source and no record for a sink is
        skipped. With exactly.once.source.support readers of what is committed get each line once.""",
    source=SOURCE,
    operator="""Set exactly.once.source.support=enabled on all workers, and isolation.level=read_committed in the
        readers of the outputs. Have a sink write by key, or keep its offsets where it writes.""",
    applies=ranges.CONNECT,
    needs=["idempotence"],
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "source": Case(client="connect", steps=source_storm, documented=AGAIN),
        "source-exactly-once": Case(
            client="connect",
            steps=partial(source_storm, worker=EXACTLY_ONCE, connector=TRANSACTIONS),
            documented=[Documented(claims=[ONCE], source="KIP-618", basis=Basis.KIP)],
            applies=ranges.CONNECT_EXACTLY_ONCE,
        ),
        "sink": Case(client="connect", steps=sink_storm, documented=AGAIN),
    },
)
