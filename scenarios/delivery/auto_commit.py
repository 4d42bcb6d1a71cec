"""The client commits automatically (enable.auto.commit): clients differ in which inputs they commit (Kafka
documentation, consumer configuration: enable.auto.commit; KafkaConsumer: automatic offset committing).

Each application is killed at the same place: it has received inputs and has not processed them. librdkafka commits the
inputs that it has handed over, on its own thread: these inputs are skipped. Kafka's own consumer commits in its next
poll the inputs that the poll before returned. A loop has processed them by then: nothing is skipped, and the inputs
processed since the last commit are repeated. If another thread does the work, the polls continue and commit the same
inputs: all that waited for the thread are skipped. It is the same with librdkafka.

In the cases named `stored` librdkafka commits what the program stores (enable.auto.offset.store=false, store_offsets),
which it does when inputs are processed. Then nothing is skipped, with a thread that does the work or without: the
inputs that were processed and not stored are repeated. Kafka's own consumer has no such step.

Each poll returns five inputs, of 20. Kafka's consumer can be told so since 0.10 (KIP-41). That of 0.9 returns all of
them at once, and its applications are not run.
"""

from collections.abc import Mapping
from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, Run, ranges, scenario
from scenarios.delivery import (
    AUTOMATIC,
    BATCH,
    DELIVERY,
    GROUP,
    INPUTS,
    JAVA_COMMITS,
    LIBRDKAFKA_COMMITS,
    LIMIT_S,
    NUMBERS,
    STORED,
    measure,
)

INTERVALS_S = 3.0
MORE = 5
"""Inputs that come after the crash. When one of them is processed, all before it were passed."""
SKIPPED = frozenset({"skipped-processing"})


def handed_over(run: Run) -> None:
    """The client commits the inputs that it has handed over, and the program stands still before it processes them."""
    crash(run, "process-and-poll", CrashPoint("poll", "process", 2), committed=2 * BATCH)


def in_a_loop(run: Run) -> None:
    """The client commits in polls alone, and the program stands between two of them."""
    crash(run, "process-and-poll", CrashPoint("poll", "process", 2), committed=None)


def after_processing(run: Run) -> None:
    """The same, when it has processed its inputs."""
    crash(run, "process-and-poll", CrashPoint("process", "poll", 2), committed=None)


def to_a_worker(run: Run) -> None:
    """The client commits in polls, which continue while the thread that does the work stands still."""
    crash(run, "hand-over", CrashPoint("hand-over", "process", 2), committed=INPUTS)


def stored(run: Run, program: str) -> None:
    """The client commits what is stored, and the program stands still when it has processed, and not stored."""
    crash(run, program, CrashPoint("process", "store", 2), committed=BATCH, settings=AUTOMATIC | STORED)


def crash(
    run: Run, program: str, stop: CrashPoint, committed: int | None, settings: Mapping[str, str] = AUTOMATIC
) -> None:
    """A program is killed before it processes its inputs, and another process continues."""
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, program, t, group=GROUP, settings=settings, batch=BATCH)
    with run.reading_outputs(t) as reader:
        with application(stop=stop) as first:
            first.wait_still(timeout_s=LIMIT_S)
            run.let_pass(INTERVALS_S, "a client that commits by the clock has done so")
            run.wait_crash_point(first, t, committed=committed)
            run.kill_client(first)
        run.send(t, MORE)
        with application():
            run.wait_committed(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)
            measure(run, t, reader)


scenario(
    name="auto-commit",
    claim="""An application with automatic commits dies before it has processed the inputs that it received. With
        librdkafka, and where other threads do the work, these inputs are skipped. A loop around Kafka's own consumer
        skips nothing.""",
    source=f"{DELIVERY}; {JAVA_COMMITS}; {LIBRDKAFKA_COMMITS}",
    operator="""With librdkafka, and clients built on it, set enable.auto.offset.store=false and store an offset when
        its input is processed. With Kafka's own consumer, use automatic commits only in loops that process before they
        poll again. Where threads do the work, commit only the inputs that they have finished.""",
    applies=ranges.GROUPS_COORDINATED,
    cases={
        "librdkafka": Case(
            steps=handed_over,
            documented=[
                Documented(
                    required=SKIPPED,
                    claims=NUMBERS,
                    sentence="Exactly the inputs that were handed over and not processed are skipped.",
                    source=LIBRDKAFKA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "librdkafka-worker": Case(
            steps=to_a_worker,
            documented=[
                Documented(
                    required=SKIPPED,
                    claims=NUMBERS,
                    sentence="Exactly the inputs that were handed to the thread and not processed are skipped.",
                    source=LIBRDKAFKA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "librdkafka-stored": Case(
            steps=partial(stored, program="process-then-store"),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="Nothing is skipped. The inputs that were processed and not stored are repeated.",
                    source=LIBRDKAFKA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "librdkafka-worker-stored": Case(
            steps=partial(stored, program="hand-over-then-store"),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="""Nothing is skipped, of what waited for the thread either. The inputs that were processed
                        and not stored are repeated.""",
                    source=LIBRDKAFKA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java": Case(
            client="java",
            applies=ranges.POLLS_ARE_LIMITED,
            steps=in_a_loop,
            documented=[
                Documented(
                    allowed=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="""Nothing is skipped. The inputs processed since the last commit are repeated, if its last
                        poll did not commit them (auto.commit.interval.ms).""",
                    source=JAVA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java-processed": Case(
            client="java",
            applies=ranges.POLLS_ARE_LIMITED,
            steps=after_processing,
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="Killed before its next poll, it repeats its processed inputs and skips nothing.",
                    source=JAVA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java-worker": Case(
            client="java",
            applies=ranges.POLLS_ARE_LIMITED,
            steps=to_a_worker,
            documented=[
                Documented(
                    required=SKIPPED,
                    claims=NUMBERS,
                    sentence="Exactly the inputs that were handed to the thread and not processed are skipped.",
                    source=JAVA_COMMITS,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
