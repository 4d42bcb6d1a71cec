"""An application puts outputs and the offsets of their inputs into one transaction, and is killed at any point
(KIP-98).

The next process has the same transactional.id. When it begins, it aborts the open transaction, so outputs and offsets
are committed together or not at all. The group has committed exactly the inputs whose outputs a read_committed reader
gets, and each input is processed once. A read_uncommitted reader also gets the aborted outputs.

In the last three cases the program continues, and a broker dies while its transaction is open: the leader of the
output, the coordinator of the group, the coordinator of the transaction.

librdkafka 2.16.0 can wait without limit for the group's coordinator when this broker has left the metadata
(rd_kafka_send_offsets_to_transaction; librdkafka issues 5511 and 5456). A run in which it does ends in an error.
"""

from functools import partial

from harness.words import OFFSETS, Basis, Case, ClusterPlan, CrashPoint, Documented, Partition, Run, ranges, scenario
from scenarios.delivery import GROUP, INPUTS, LIMIT_S, NUMBERS

ONCE = "each-input-processed-once"
TRANSACTIONS = Partition("__transaction_state", 0)
OPEN = CrashPoint("offsets", "end", 2)
"""Outputs and offsets are written, and the transaction is open."""


def killed(run: Run, stop: CrashPoint) -> None:
    """The application is killed, and another one with its transactional.id continues."""
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "transact", t, group=GROUP, transactional_id="application")
    with application(stop=stop) as first:
        run.wait_crash_point(first, t)
        run.kill_client(first)
    with application():
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)


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


def documented(*claims: str) -> list[Documented]:
    """Each input is processed once."""
    return [Documented(claims=[ONCE, *claims], source="KIP-98", basis=Basis.KIP)]


scenario(
    name="exactly-once-transactions",
    claim="""An application whose outputs and offsets are one transaction processes each input exactly once, as
        read_committed readers see it, wherever it is killed and whichever broker dies.""",
    source="KIP-98",
    operator="""Give each instance its own transactional.id, and keep it over restarts. Set
        isolation.level=read_committed in the readers of its output: by default readers get aborted records.""",
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}),
    cases={
        "after-poll": Case(steps=partial(killed, stop=CrashPoint("poll", "begin", 2)), documented=documented(*NUMBERS)),
        "before-offsets": Case(
            steps=partial(killed, stop=CrashPoint("process", "offsets", 2)), documented=documented(*NUMBERS)
        ),
        "before-commit": Case(steps=partial(killed, stop=OPEN), documented=documented(*NUMBERS)),
        "after-commit": Case(steps=partial(killed, stop=CrashPoint("end", "poll", 2)), documented=documented(*NUMBERS)),
        "java-before-commit": Case(client="java", steps=partial(killed, stop=OPEN), documented=documented(*NUMBERS)),
        "leader": Case(steps=partial(broker_killed, of=Partition("output", 0)), documented=documented()),
        "group-coordinator": Case(steps=partial(broker_killed, of=OFFSETS), documented=documented()),
        "transaction-coordinator": Case(steps=partial(broker_killed, of=TRANSACTIONS), documented=documented()),
    },
)
