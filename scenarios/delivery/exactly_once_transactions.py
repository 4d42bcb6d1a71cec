"""An application puts outputs and the offsets of their inputs into one transaction, and is killed at any point
(KIP-98).

The next process has the same transactional.id. When it begins, it aborts the open transaction, so outputs and offsets
are committed together or not at all. The group has committed exactly the inputs whose outputs a read_committed reader
gets, and each input is processed once. A read_uncommitted reader also gets the aborted outputs.

In `stopped` it is stopped as operators do it, again and again under a load, and leaves nothing open. In
`java-brokers-killed` and `java-brokers-stopped` each broker dies, or is stopped, in turn under a load. A second
consumer reads the outputs at read_committed during all of it. It gets what the last reader gets: one output of each
input, in order.

In the two cases with each broker in turn the producer asks again after 5 s (`request.timeout.ms`), which is before the
application gives up. By default it waits for 30 s, as the application does. Then the application aborts a transaction
with a batch that a leader wrote before it died, and whose answer nobody has. Before 2.5 Java's producer has no way back
from that. In 0.11.0 it counts a batch when it is answered (Sender.completeBatch), and an abort does not change that, so
each later batch has a number that the log has already. The brokers refuse them as out of order, in one transaction
after the other, until the application is started again. Nothing is skipped or repeated. From 2.5 on the abort begins a
new epoch (KIP-360). With the default we saw 2 839 aborted transactions in three minutes on 0.11.0.3. On 2.2.2 the
coordinator aborted the transaction by its time-out, and fenced the producer.

In the other cases the program continues, and a broker is gone while its transaction is open: the leader of the output,
the coordinator of the group, the coordinator of the transaction. It is killed; or `frozen`, with its connections open;
or `cut` off from all other nodes, while clients reach it and the others. Another broker is elected. One that is frozen
or cut off is back 10 s after the application continued, and does not know at first that it was replaced. Clients may
wait for it until then. A request to a frozen broker waits for its time-out (librdkafka: socket.timeout.ms, by default
that of the transaction). A broker that is cut off still names itself as the leader. With Java's clients the program
needs nobody: they find the new coordinator. In the case `clock-ahead` the coordinator of the transaction is there, and
its wall clock jumps an hour ahead. It takes the transaction for one that has timed out, and aborts it.

librdkafka from 2.10.0 on does not. It removes a broker that is no longer in the metadata ("Decommissioning this
broker" in its own log), and keeps it in its cache of groups' coordinators. The next call of
rd_kafka_send_offsets_to_transaction adds the offsets to the transaction, and then waits for that broker (librdkafka
issue 5511). The time-out of the call is never looked at (issue 5456). The broker's return does not end the wait. If a
process waits for 45 s, with a time-out of 30 s, it is killed, and another one continues. A run of these cases keeps
librdkafka's own log (logs/processor-1.stderr).
"""

from collections.abc import Callable
from functools import partial

from harness.words import (
    NOWHERE,
    OFFSETS,
    Application,
    Basis,
    Case,
    ClusterPlan,
    CrashPoint,
    Documented,
    Partition,
    Run,
    Target,
    ranges,
    scenario,
)
from scenarios.delivery import (
    BATCH,
    CUT,
    FROZEN,
    GROUP,
    IDEMPOTENT,
    INPUTS,
    KILLED,
    LIMIT_S,
    NUMBERS,
    ONCE,
    OUTPUT,
    PARTITIONS,
    TRANSACTIONS,
    Gone,
    all_of,
    in_turn,
    measure,
)

MEANWHILE = "reader-meanwhile-gets-each-input-once"
OPEN = CrashPoint("offsets", "end", 2)
"""Outputs and offsets are written, and the transaction is open."""

AT_A_POINT = (*NUMBERS, MEANWHILE)
ROUNDS, RATE_PER_S, BETWEEN = 3, 15, 30
"""Of a load: how often the application is stopped, how many inputs there are a second, and from one blow to the next.
"""
CALL_S = 30.0
"""How long a call of the program may last (harness/workloads/processes/transactional.py)."""
APART_S = 10.0
HOUR_S = 3600
CHECKS = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
SOON = {"request.timeout.ms": "5000"}
"""It asks again before the application gives up."""
LOGGED = {"debug": "eos,broker", "transaction.timeout.ms": "300000"}
"""It writes down what it does, and its transactions outlast its waiting."""


def killed(run: Run, stop: CrashPoint) -> None:
    """The application is killed, and another one with its transactional.id continues."""
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "transact", t, group=GROUP, transactional_id="application")
    with run.reading_outputs(t) as reader:
        with application(stop=stop) as first:
            run.wait_crash_point(first, t)
            run.kill_client(first)
        with application():
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
            measure(run, t, reader)


def java_without(run: Run, of: Partition, gone: Gone = KILLED) -> None:
    """The broker that leads a partition is gone while a transaction is open, and the application continues."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application("transact", t, group=GROUP, transactional_id="application", stop=OPEN) as application:
        run.wait_crash_point(application, t)
        leader, in_sync = take(run, of, gone)
        application.go_on()
        if gone is not KILLED:
            be_back(run, of, leader, in_sync, gone)
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    if gone is KILLED:
        gone.back(run, leader)


def librdkafka_without(run: Run, of: Partition, gone: Gone = KILLED) -> None:
    """The leader of a partition is gone while a transaction of librdkafka's is open. If it coordinated the group, the
    next call with offsets may never return: then the process is killed, and another one continues.
    """
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(
        run.application, "transact", t, group=GROUP, transactional_id="application", producer_settings=LOGGED
    )
    with application(stop=OPEN) as first:
        run.wait_crash_point(first, t)
        coordinator = run.leader_of(OFFSETS)
        leader, in_sync = take(run, of, gone)
        first.go_on()
        if gone is not KILLED:
            be_back(run, of, leader, in_sync, gone)
        waits = leader.id == coordinator.id and call_lasts(run, t, first)
        if waits:
            run.kill_client(first)
        else:
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    if waits:
        with application():
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    if gone is KILLED:
        gone.back(run, leader)


def take(run: Run, of: Partition, gone: Gone) -> tuple[Target, list[Target]]:
    """The leader of a partition is gone, and another one of its replicas leads. Returns the one that is gone, and who
    was in sync.
    """
    leader, in_sync = run.leader_of(of), run.in_isr(of)
    gone.taken(run, leader)
    run.wait_leader(of, *(one for one in in_sync if one.id != leader.id))
    return leader, in_sync


def be_back(run: Run, of: Partition, broker: Target, in_sync: list[Target], gone: Gone) -> None:
    """It is back after a while, which clients that ask it alone need, and follows the next leader. Until it does it
    answers as it knows: a group's coordinator that was cut off with offsets that are older than the group's.
    """
    run.let_pass(APART_S, "the application waits for the broker that is gone, or continues with the next leader")
    gone.back(run, broker)
    run.wait_isr(of, in_sync)


def call_lasts(run: Run, t: Partition, application: Application) -> bool:
    """Whether librdkafka waits for the coordinator that it had: its call with the offsets is beyond its time-out."""
    run.note("it coordinated the group, too: librdkafka may wait for it")
    application.wait_processed((OPEN.round + 1) * BATCH, timeout_s=LIMIT_S)
    run.let_pass(1.5 * CALL_S, "the call with the offsets is beyond its time-out")
    return run.committed(GROUP, t, timeout_s=LIMIT_S).offset == OPEN.round * BATCH


def clock_ahead(run: Run) -> None:
    """The clock of the transaction's coordinator jumps an hour ahead while a transaction is open: it is aborted, long
    before its time-out. Its application cannot end it, and another one continues.
    """
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "transact", t, group=GROUP, transactional_id="application")
    with application(stop=OPEN) as first:
        run.wait_crash_point(first, t)
        run.step_clock(run.leader_of(TRANSACTIONS), HOUR_S)
        run.wait_stable(OUTPUT, timeout_s=LIMIT_S)
        committed = run.committed(GROUP, t, timeout_s=LIMIT_S).offset
        run.require("its transaction is aborted", committed == (OPEN.round - 1) * BATCH, committed=committed)
        first.go_on()
        with application():
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    run.set_clocks_right()


def stopped(run: Run) -> None:
    """The application is stopped and started again, three times under a load; one like it continues each time."""
    t = run.partition()
    application = partial(run.application, "transact", t, group=GROUP, transactional_id="application")
    with run.reading_outputs(t) as reader, run.load(t, rate_per_s=RATE_PER_S, settings=IDEMPOTENT) as load:
        for number in range(ROUNDS):
            with application(stop=NOWHERE if number else OPEN) as working:
                if not number:
                    run.wait_crash_point(working, t)
                    working.go_on()
                working.wait_processed(BETWEEN, timeout_s=LIMIT_S)
            load.wait_more(BETWEEN, timeout_s=LIMIT_S)
        load.stop()
        with application():
            run.wait_committed(GROUP, t, all_of(run, t), timeout_s=LIMIT_S)
            measure(run, t, reader)


def brokers_in_turn(run: Run, down: Callable[[Run, Target], None]) -> None:
    """Each broker goes down and comes back, one after the other, while the application works under a load."""
    t = run.partition()
    with (
        run.reading_outputs(t),
        run.load(t, rate_per_s=RATE_PER_S, settings=IDEMPOTENT) as load,
        run.application(
            "transact", t, group=GROUP, transactional_id="application", stop=OPEN, producer_settings=SOON
        ) as application,
    ):
        run.wait_crash_point(application, t)
        application.go_on()
        in_turn(run, (t, OUTPUT, OFFSETS, TRANSACTIONS), down, lambda: load.wait_more(BETWEEN, timeout_s=LIMIT_S))
        load.stop()
        run.wait_committed(GROUP, t, all_of(run, t), timeout_s=LIMIT_S)
    run.wait_stable(OUTPUT, timeout_s=LIMIT_S)


def documented(*claims: str) -> list[Documented]:
    """Each input is processed once, in order."""
    return [Documented(claims=[ONCE, "outputs-keep-order-of-inputs", *claims], source="KIP-98", basis=Basis.KIP)]


LIBRDKAFKA_WAITS = Documented(
    claims=[ONCE],
    sentence="""If the broker coordinated the group, the application of librdkafka may wait for it without limit,
        whatever time-out its call has. When the application is started again, each input is processed once.""",
    source="KIP-98; librdkafka issue 5511, issue 5456",
    basis=Basis.JIRA,
)


scenario(
    name="exactly-once-transactions",
    claim="""An application whose outputs and offsets are one transaction processes each input exactly once, as
        read_committed readers see it, wherever it is killed and whichever broker dies.""",
    source="KIP-98",
    operator="""Give each instance its own transactional.id, and keep it over restarts. Set
        isolation.level=read_committed in the readers of its output: by default readers get aborted records.""",
    applies=ranges.TRANSACTIONS,
    needs=["idempotence"],
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "after-poll": Case(
            steps=partial(killed, stop=CrashPoint("poll", "begin", 2)), documented=documented(*AT_A_POINT)
        ),
        "before-offsets": Case(
            steps=partial(killed, stop=CrashPoint("process", "offsets", 2)), documented=documented(*AT_A_POINT)
        ),
        "before-commit": Case(steps=partial(killed, stop=OPEN), documented=documented(*AT_A_POINT)),
        "after-commit": Case(
            steps=partial(killed, stop=CrashPoint("end", "poll", 2)), documented=documented(*AT_A_POINT)
        ),
        "java-before-commit": Case(client="java", steps=partial(killed, stop=OPEN), documented=documented(*AT_A_POINT)),
        "stopped": Case(steps=stopped, documented=documented(MEANWHILE)),
        "java-stopped": Case(client="java", steps=stopped, documented=documented(MEANWHILE)),
        "java-brokers-killed": Case(
            client="java",
            steps=partial(brokers_in_turn, down=Run.kill),
            documented=documented(MEANWHILE),
        ),
        "java-brokers-stopped": Case(
            client="java",
            steps=partial(brokers_in_turn, down=Run.stop),
            documented=documented(MEANWHILE),
        ),
        "leader": Case(steps=partial(librdkafka_without, of=OUTPUT), documented=documented()),
        "group-coordinator": Case(steps=partial(librdkafka_without, of=OFFSETS), documented=[LIBRDKAFKA_WAITS]),
        "java-group-coordinator": Case(client="java", steps=partial(java_without, of=OFFSETS), documented=documented()),
        "java-transaction-coordinator": Case(
            client="java", steps=partial(java_without, of=TRANSACTIONS), documented=documented()
        ),
        "transaction-coordinator": Case(
            steps=partial(librdkafka_without, of=TRANSACTIONS), documented=[LIBRDKAFKA_WAITS]
        ),
        "clock-ahead": Case(
            steps=clock_ahead,
            cluster=ClusterPlan(settings={**PARTITIONS, CHECKS: "2000"}, own_clocks=True),
            documented=[
                Documented(
                    claims=[ONCE],
                    sentence="""The coordinator goes by its wall clock: it aborts the transaction when that is beyond
                        transaction.timeout.ms. Each input is processed once.""",
                    source="TransactionStateManager.timedOutTransactions (0.11.0.2, 2.8.2): time.milliseconds",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "leader-frozen": Case(steps=partial(librdkafka_without, of=OUTPUT, gone=FROZEN), documented=[LIBRDKAFKA_WAITS]),
        "leader-cut": Case(steps=partial(librdkafka_without, of=OUTPUT, gone=CUT), documented=[LIBRDKAFKA_WAITS]),
        "group-coordinator-frozen": Case(
            steps=partial(librdkafka_without, of=OFFSETS, gone=FROZEN), documented=[LIBRDKAFKA_WAITS]
        ),
        "group-coordinator-cut": Case(
            steps=partial(librdkafka_without, of=OFFSETS, gone=CUT), documented=[LIBRDKAFKA_WAITS]
        ),
        "transaction-coordinator-frozen": Case(
            steps=partial(librdkafka_without, of=TRANSACTIONS, gone=FROZEN), documented=[LIBRDKAFKA_WAITS]
        ),
        "transaction-coordinator-cut": Case(
            steps=partial(librdkafka_without, of=TRANSACTIONS, gone=CUT), documented=[LIBRDKAFKA_WAITS]
        ),
        **{
            f"java-{place}-{how}": Case(
                client="java", steps=partial(java_without, of=of, gone=gone), documented=documented()
            )
            for place, of in (
                ("leader", OUTPUT),
                ("group-coordinator", OFFSETS),
                ("transaction-coordinator", TRANSACTIONS),
            )
            for how, gone in (("frozen", FROZEN), ("cut", CUT))
        },
    },
)
