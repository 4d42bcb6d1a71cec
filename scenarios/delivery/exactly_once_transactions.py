"""An application puts outputs and the offsets of their inputs into one transaction, and is killed at any point
(KIP-98).

The next process has the same transactional.id. When it begins, it aborts the open transaction, so outputs and offsets
are committed together or not at all. The group has committed exactly the inputs whose outputs a read_committed reader
gets, and each input is processed once. A read_uncommitted reader also gets the aborted outputs.

In `stopped` it is stopped as operators do it, again and again under a load, and leaves nothing open. In
`java-brokers-killed` and `java-brokers-stopped` each broker dies, or is stopped, in turn under a load. A second
consumer reads the outputs at read_committed during all of it. It gets what the last reader gets: one output of each
input, in order.

The two cases with each broker in turn begin with 2.5. Before, a producer of Java's has no way back from a batch that a
leader wrote before it died, and whose answer the application no longer waits for. The producer counts a batch when it
is answered (Sender.completeBatch, 0.11.0), and an abort does not change that. So each later batch has a number that the
log has already. The brokers refuse them as out of order, in one transaction after the other, until the application is
started again. Nothing is skipped or repeated. From 2.5 on the abort begins a new epoch (KIP-360). We saw it on
0.11.0.3: 2 839 aborted transactions in three minutes.

In the last cases the program continues, and a broker dies while its transaction is open: the leader of the output, the
coordinator of the group, the coordinator of the transaction. With Java's clients the program needs nobody: they find
the new coordinator.

librdkafka from 2.10.0 on does not. It removes a broker that is no longer in the metadata ("Decommissioning this
broker" in its own log), and keeps it in its cache of groups' coordinators. The next call of
rd_kafka_send_offsets_to_transaction adds the offsets to the transaction, and then waits for that broker (librdkafka
issue 5511). The time-out of the call is never looked at (issue 5456). The broker's return does not end the wait. These
cases kill the process after it has waited for 45 s, with a time-out of 30 s, and another one continues. A run of them
keeps librdkafka's own log (logs/processor-1.stderr).
"""

from collections.abc import Callable
from functools import partial

from harness.words import (
    NOWHERE,
    OFFSETS,
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
from scenarios.delivery import BATCH, GROUP, IDEMPOTENT, INPUTS, LIMIT_S, NUMBERS, all_of, in_turn, measure

ONCE = "each-input-processed-once"
MEANWHILE = "reader-meanwhile-gets-each-input-once"
TRANSACTIONS = Partition("__transaction_state", 0)
OPEN = CrashPoint("offsets", "end", 2)
"""Outputs and offsets are written, and the transaction is open."""

AT_A_POINT = (*NUMBERS, MEANWHILE)
ROUNDS, RATE_PER_S, BETWEEN = 3, 15, 30
"""Of a load: how often the application is stopped, how many inputs there are a second, and from one blow to the next.
"""
CALL_S = 30.0
"""How long a call of the program may last (harness/workloads/processes/transactional.py)."""
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


def broker_killed(run: Run, of: Partition) -> None:
    """The broker that leads a partition dies while a transaction is open, and the application continues."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application("transact", t, group=GROUP, transactional_id="application", stop=OPEN) as application:
        run.wait_crash_point(application, t)
        leader = run.leader_of(of)
        others = [one for one in run.in_isr(of) if one.id != leader.id]
        run.kill(leader)
        run.wait_leader(of, *others)
        application.go_on()
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    run.start(leader)


def coordinator_killed(run: Run, of: Partition) -> None:
    """The leader of a partition dies while a transaction of librdkafka's is open. If it coordinated the group, the next
    call with offsets never returns, and the process is killed. Another one continues.
    """
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(
        run.application, "transact", t, group=GROUP, transactional_id="application", producer_settings=LOGGED
    )
    with application(stop=OPEN) as first:
        run.wait_crash_point(first, t)
        leader, coordinator = run.leader_of(of), run.leader_of(OFFSETS)
        others = [one for one in run.in_isr(of) if one.id != leader.id]
        run.kill(leader)
        run.wait_leader(of, *others)
        first.go_on()
        if leader.id == coordinator.id:
            run.note("it coordinated the group, too: librdkafka waits for it")
            run.wait_committed(GROUP, t, OPEN.round * BATCH, timeout_s=LIMIT_S)
            first.wait_processed((OPEN.round + 1) * BATCH, timeout_s=LIMIT_S)
            run.let_pass(1.5 * CALL_S, "the call with the offsets is beyond its time-out")
            committed = run.committed(GROUP, t, timeout_s=LIMIT_S).offset
            run.require("the call has not returned", committed == OPEN.round * BATCH, committed=committed)
            run.kill_client(first)
        else:
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    if leader.id == coordinator.id:
        with application():
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    run.start(leader)


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
    t, output = run.partition(), Partition("output", 0)
    with (
        run.reading_outputs(t),
        run.load(t, rate_per_s=RATE_PER_S, settings=IDEMPOTENT) as load,
        run.application("transact", t, group=GROUP, transactional_id="application", stop=OPEN) as application,
    ):
        run.wait_crash_point(application, t)
        application.go_on()
        in_turn(run, (t, output, OFFSETS, TRANSACTIONS), down, lambda: load.wait_more(BETWEEN, timeout_s=LIMIT_S))
        load.stop()
        run.wait_committed(GROUP, t, all_of(run, t), timeout_s=LIMIT_S)
    run.wait_stable(output, timeout_s=LIMIT_S)


def documented(*claims: str) -> list[Documented]:
    """Each input is processed once, in order."""
    return [Documented(claims=[ONCE, "outputs-keep-order-of-inputs", *claims], source="KIP-98", basis=Basis.KIP)]


LIBRDKAFKA_WAITS = Documented(
    claims=[ONCE],
    sentence="""If the broker coordinated the group, the application of librdkafka waits for it without limit, whatever
        time-out its call has. When the application is started again, each input is processed once.""",
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
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}),
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
            applies=ranges.PRODUCERS_BEGIN_ANEW,
            steps=partial(brokers_in_turn, down=Run.kill),
            documented=documented(MEANWHILE),
        ),
        "java-brokers-stopped": Case(
            client="java",
            applies=ranges.PRODUCERS_BEGIN_ANEW,
            steps=partial(brokers_in_turn, down=Run.stop),
            documented=documented(MEANWHILE),
        ),
        "leader": Case(steps=partial(broker_killed, of=Partition("output", 0)), documented=documented()),
        "group-coordinator": Case(steps=partial(coordinator_killed, of=OFFSETS), documented=[LIBRDKAFKA_WAITS]),
        "java-group-coordinator": Case(
            client="java", steps=partial(broker_killed, of=OFFSETS), documented=documented()
        ),
        "java-transaction-coordinator": Case(
            client="java", steps=partial(broker_killed, of=TRANSACTIONS), documented=documented()
        ),
        "transaction-coordinator": Case(
            steps=partial(coordinator_killed, of=TRANSACTIONS), documented=[LIBRDKAFKA_WAITS]
        ),
    },
)
