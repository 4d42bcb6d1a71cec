"""The client commits by itself (enable.auto.commit): what it takes for done differs between clients (Kafka
documentation, consumer configuration: enable.auto.commit; KafkaConsumer: automatic offset committing).

Each application is killed at the same place: it has been given inputs, and has not processed them. librdkafka commits
what it has handed over, on a thread of its own: these inputs are skipped. Kafka's own consumer commits in its next
poll what the poll before returned, and in a loop the program has processed that by then: nothing is skipped, and what
was processed since the last commit is repeated. Given to a thread of its own the same inputs are committed by the
polls that go on: they are skipped, all that waited for the thread.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, Run, ranges, scenario
from scenarios.delivery import DELIVERY, GROUP, INPUTS, LIMIT_S, NUMBERS

AUTOMATIC = {"enable.auto.commit": "true", "auto.commit.interval.ms": "1000"}
INTERVALS_S = 3.0
BATCH = 5
MORE = 5
"""Inputs that come after the crash: what lies before one that is processed was passed."""
SKIPPED = frozenset({"skipped-processing"})
LIBRDKAFKA = "librdkafka, documentation of its configuration (CONFIGURATION.md): enable.auto.offset.store"
JAVA = "Kafka documentation, KafkaConsumer: Automatic Offset Committing"


def handed_over(run: Run) -> None:
    """The client commits what it has handed over, while the program stands before it processes that."""
    crash(run, "process-and-poll", CrashPoint("poll", "process", 2), committed=2 * BATCH)


def in_a_loop(run: Run) -> None:
    """The client commits in polls alone, and the program stands between two of them."""
    crash(run, "process-and-poll", CrashPoint("poll", "process", 2), committed=None)


def after_processing(run: Run) -> None:
    """The same, when it has processed what it was given."""
    crash(run, "process-and-poll", CrashPoint("process", "poll", 2), committed=None)


def to_a_worker(run: Run) -> None:
    """The client commits in polls, which go on while the thread that does the work stands still."""
    crash(run, "hand-over", CrashPoint("hand-over", "process", 2), committed=INPUTS)


def crash(run: Run, program: str, stop: CrashPoint, committed: int | None) -> None:
    """A program is killed before it processes what it was given, and another process goes on."""
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, program, t, group=GROUP, settings=AUTOMATIC, batch=BATCH)
    with application(stop=stop) as first:
        first.wait_still(timeout_s=LIMIT_S)
        run.let_pass(INTERVALS_S, "a client that commits by the clock has done so")
        run.wait_crash_point(first, t, committed=committed)
        run.kill_client(first)
    run.send(t, MORE)
    with application():
        run.wait_committed(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)


scenario(
    name="auto-commit",
    claim="""With automatic commits an application that dies before it has processed what it was given skips that, if
        its client commits what it has handed over or other threads do the work; in the loop of Kafka's own consumer
        it skips nothing.""",
    source=f"{DELIVERY}; {JAVA}; {LIBRDKAFKA}",
    operator="""With librdkafka, and clients made of it, set enable.auto.offset.store=false and store an offset when its
        input is processed. With Kafka's own consumer keep automatic commits to loops that process before they poll
        again; where threads do the work, commit what they have done.""",
    applies=ranges.OFFSETS_KEPT_BY_KAFKA,
    cases={
        "librdkafka": Case(
            steps=handed_over,
            documented=[
                Documented(
                    required=SKIPPED,
                    claims=NUMBERS,
                    sentence="What was handed over and not processed is skipped, exactly that.",
                    source=LIBRDKAFKA,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java": Case(
            client="java",
            steps=in_a_loop,
            documented=[
                Documented(
                    allowed=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="Nothing is skipped; what was processed since the last commit is repeated.",
                    source=JAVA,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java-processed": Case(
            client="java",
            steps=after_processing,
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="Killed before its next poll, it repeats what it has processed, and skips nothing.",
                    source=JAVA,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java-worker": Case(
            client="java",
            steps=to_a_worker,
            documented=[
                Documented(
                    required=SKIPPED,
                    claims=NUMBERS,
                    sentence="All that was handed to the thread and not processed is skipped, exactly that.",
                    source=JAVA,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
