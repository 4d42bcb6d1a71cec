"""Outputs go to a store outside Kafka, and so do the offsets of their inputs (Kafka documentation, Design: message
delivery semantics).

Kafka's transactions do not reach the store. So the application keeps its offsets there: it begins where the store says,
and asks its group for nothing but its partitions. Outputs and offsets are one transaction of the store. Killed with
this transaction open, it leaves neither; killed after its commit, both. Each input is processed once, with any release.

The same store with two transactions is the control. Offsets first: a crash in between skips the inputs that the offset
has passed. Outputs first: a crash in between repeats outputs that are written already.

The store is SQLite. At the end another process reads the outputs from its file. A process is killed here, not the
machine, so the run does not test whether the store's commits are on the disk.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, Run, ranges, scenario
from scenarios.delivery import DELIVERY, GROUP, INPUTS, LIMIT_S, NUMBERS, SKIPPED

TRANSACTION = "store-transaction"
ONCE = "each-input-processed-once"
SQLITE = "SQLite documentation: Atomic Commit In SQLite"


def crash(run: Run, program: str, stop: CrashPoint, written_to: bool) -> None:
    """A program is killed at a crash point, and another process continues from the offset in the store."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application(program, t, group=GROUP, stop=stop, store="sqlite") as first:
        at = run.wait_crash_point(first, t)
        state = "is" if written_to else "is not"
        run.require(f"a transaction that writes {state} open in the store", at.store_is_written_to == written_to)
        run.kill_client(first)
    with run.application(program, t, group=GROUP, store="sqlite") as second:
        run.wait_stored(second, t, INPUTS, timeout_s=LIMIT_S)


def killed(program: str, done: str, following: str, *, written_to: bool = False) -> partial[None]:
    """In the second round: something was committed before."""
    return partial(crash, program=program, stop=CrashPoint(done, following, round=2), written_to=written_to)


def once(sentence: str) -> list[Documented]:
    """Nothing is skipped, and nothing repeated."""
    return [
        Documented(
            claims=[ONCE, *NUMBERS], sentence=sentence, source=f"{DELIVERY}; {SQLITE}", basis=Basis.DOCUMENTATION
        )
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
            documented=once("Killed with the transaction open, it leaves neither outputs nor offsets of it."),
        ),
        "sqlite-after-commit": Case(
            steps=killed(TRANSACTION, "end", "poll"),
            documented=once("Killed after the commit, it leaves both."),
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
    },
)
