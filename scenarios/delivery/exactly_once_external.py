"""Outputs go to a store outside Kafka, and so do the offsets of their inputs (Kafka documentation, Design: message
delivery semantics).

Kafka's transactions do not reach the store. So the application keeps its offsets there: it begins where the store says,
and asks its group for nothing but its partitions. Outputs and offsets are one transaction of the store. Killed with
this transaction open, it leaves neither; killed after its commit, both. Each input is processed once, with any release.

The same store with two transactions is the control. Offsets first: a crash in between skips the inputs that the offset
has passed. Outputs first: a crash in between repeats outputs that are written already. If the output has one row for
each key, the repeated ones replace the first: the result is the same, though the work was done twice.

The store is SQLite, or PostgreSQL in a node of its own. At the end another process reads the outputs from the store.
SQLite's process is killed, not its machine, so the run does not test whether SQLite's commits are on the disk.

PostgreSQL's server is killed, too, while the application stands still. Its open transaction is undone, and the
application writes it again. With synchronous_commit=off PostgreSQL answers before the commit is written, so a killed
server loses its last commits: outputs and offsets alike. Nothing is skipped if the application begins where the store
says. If it continues from its own position, the inputs of the lost commits are skipped. The server writes commits every
10 s there (wal_writer_delay, the longest that PostgreSQL allows). A run in which it has written them before the kill
shows nothing.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, CrashPoint, Documented, Run, StorePlan, ranges, scenario
from scenarios.delivery import DELIVERY, GROUP, INPUTS, LIMIT_S, NUMBERS, ONCE, POSTGRESQL, SKIPPED

TRANSACTION = "store-transaction"
BY_KEY = "output-by-key-written-again"
SQLITE = "SQLite documentation: Atomic Commit In SQLite"
SERVER = ClusterPlan(store=StorePlan())
LAZY = ClusterPlan(store=StorePlan(settings={"synchronous_commit": "off", "wal_writer_delay": "10s"}))
OPEN = CrashPoint("write", "end", 2)
DONE = CrashPoint("end", "poll", 1)
"""After one commit. A second one right behind it wakes the WAL writer, and that may write both (PostgreSQL 15,
XLogSetAsyncXactLSN and XLogBackgroundFlush).
"""


def crash(run: Run, program: str, stop: CrashPoint, written_to: bool, store: str) -> None:
    """A program is killed at a crash point, and another process continues from the offset in the store."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application(program, t, group=GROUP, stop=stop, store=store) as first:
        at = run.wait_crash_point(first, t)
        state = "is" if written_to else "is not"
        run.require(f"a transaction that writes {state} open in the store", at.store_is_written_to == written_to)
        run.kill_client(first)
    with run.application(program, t, group=GROUP, store=store) as second:
        run.wait_stored(second, t, INPUTS, timeout_s=LIMIT_S)
        run.measure(t, lambda end: run.wait_stored(second, t, end, timeout_s=LIMIT_S), None)


def store_crash(run: Run, program: str, stop: CrashPoint, loses: bool) -> None:
    """The store is killed while a program stands at a crash point. It is started again, and the program continues."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application(program, t, group=GROUP, stop=stop, store="postgresql") as application:
        at = run.wait_crash_point(application, t)
        run.kill(run.store())
        run.start(run.store())
        after = run.ask_store(application, t, timeout_s=LIMIT_S)
        state = "has lost what was" if loses else "has what was"
        run.require(f"the store {state} committed last", (after.committed != at.committed) == loses)
        application.go_on()
        run.wait_stored(application, t, INPUTS, timeout_s=LIMIT_S)


def killed(
    program: str, done: str, following: str, *, written_to: bool = False, store: str = "sqlite"
) -> partial[None]:
    """In the second round: something was committed before."""
    stop = CrashPoint(done, following, round=2)
    return partial(crash, program=program, stop=stop, written_to=written_to, store=store)


def once(sentence: str, *claims: str, source: str = SQLITE) -> list[Documented]:
    """Nothing is skipped, and nothing repeated."""
    return [
        Documented(claims=[ONCE, *claims], sentence=sentence, source=f"{DELIVERY}; {source}", basis=Basis.DOCUMENTATION)
    ]


scenario(
    name="exactly-once-external",
    claim="""An application whose outputs and offsets are one transaction of a store outside Kafka processes each input
        exactly once, wherever it is killed. With two transactions it skips or repeats the inputs between them.""",
    source=DELIVERY,
    operator="""Keep the offsets in the store that has the outputs, in the same transaction, and begin there after a
        restart or a rebalance. Ignore the group's offsets in Kafka.""",
    applies=ranges.GROUPS_COORDINATED,
    cases={
        "sqlite-before-commit": Case(
            steps=killed(TRANSACTION, "write", "end", written_to=True),
            documented=once("Killed with the transaction open, it leaves neither outputs nor offsets of it.", *NUMBERS),
        ),
        "sqlite-after-commit": Case(
            steps=killed(TRANSACTION, "end", "poll"),
            documented=once("Killed after the commit, it leaves both.", *NUMBERS),
        ),
        "sqlite-offset-first": Case(
            steps=killed("store-offset-first", "offsets", "outputs"),
            documented=[
                Documented(
                    required=SKIPPED,
                    claims=NUMBERS,
                    sentence="With the offsets in an earlier transaction, exactly the inputs that they have passed "
                    "are skipped.",
                    source=DELIVERY,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "sqlite-output-first": Case(
            steps=killed("store-output-first", "outputs", "offsets"),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="With the outputs in an earlier transaction, exactly those outputs are made again.",
                    source=DELIVERY,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "sqlite-by-key": Case(
            steps=killed("store-by-key", "outputs", "offsets"),
            documented=[
                Documented(
                    claims=[BY_KEY],
                    sentence="With one output for each key, exactly those outputs are made again, and nobody sees it.",
                    source=DELIVERY,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "postgresql-before-commit": Case(
            cluster=SERVER,
            steps=killed(TRANSACTION, "write", "end", written_to=True, store="postgresql"),
            documented=once(
                "Killed with the transaction open, it leaves neither outputs nor offsets of it.",
                *NUMBERS,
                source=POSTGRESQL,
            ),
        ),
        "postgresql-after-commit": Case(
            cluster=SERVER,
            steps=killed(TRANSACTION, "end", "poll", store="postgresql"),
            documented=once("Killed after the commit, it leaves both.", *NUMBERS, source=POSTGRESQL),
        ),
        "postgresql-killed": Case(
            cluster=SERVER,
            steps=partial(store_crash, program=TRANSACTION, stop=OPEN, loses=False),
            documented=once(
                "The server is killed with the transaction open; the application writes the same outputs again.",
                source=POSTGRESQL,
            ),
        ),
        "postgresql-asynchronous": Case(
            cluster=LAZY,
            steps=partial(store_crash, program=TRANSACTION, stop=DONE, loses=True),
            documented=once(
                "The killed server has lost outputs and offsets together, and the application writes both again.",
                source=POSTGRESQL,
            ),
        ),
        "postgresql-asynchronous-position-kept": Case(
            cluster=LAZY,
            steps=partial(store_crash, program="store-position-kept", stop=DONE, loses=True),
            documented=[
                Documented(
                    required=frozenset({"skipped-processing"}),
                    claims=["store-crash-skips-what-it-lost"],
                    sentence="If the application continues from its own position, it skips the lost inputs.",
                    source=POSTGRESQL,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
