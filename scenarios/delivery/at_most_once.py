"""An application commits, and then processes: a crash in between loses what it had committed (Kafka documentation,
Design: message delivery semantics).

The committed offset lies behind these inputs, and they have no output. The next process begins after them. No error is
raised anywhere, then or later. Inputs that were processed before are not read again, so nothing is processed twice.

The controls are crashes at the other places of the loop: before it commits, and after it has processed. There all
processed inputs are committed, and nothing is skipped.

In the cases named `async` it does not wait for the answer to its commit (KafkaConsumer.commitAsync; librdkafka's
rd_kafka_commit with async). Both clients send the request at once, without another poll: librdkafka on a thread of its
own, Kafka's own consumer before the call returns (ConsumerCoordinator.commitOffsetsAsync, client.pollNoWakeup, since
0.10.0). The program stands still until the coordinator has the offset, and is killed before it hears the answer. The
inputs are skipped all the same.

Each poll returns five inputs, of 20. Kafka's own consumer can be told so since 0.10 (KIP-41); the cases with that of
0.9 are not run.
"""

from functools import partial

from harness.words import EVERY_VERSION, LIBRDKAFKA, Basis, Case, CrashPoint, Documented, Run, ranges, scenario
from scenarios.delivery import BATCH, DELIVERY, NUMBERS, SKIPPED, crash

PROGRAM = "commit-then-process"
ASYNCHRONOUS = "commit-async-then-process"
COMMIT_ASYNC = "Kafka documentation, KafkaConsumer: commitAsync"


def stop(done: str, following: str) -> CrashPoint:
    """In the second round: something was processed before."""
    return CrashPoint(done, following, round=2)


def killed(run: Run, done: str, following: str) -> None:
    """It waits for each commit, and is killed between two steps."""
    crash(run, PROGRAM, stop(done, following))


def killed_unanswered(run: Run) -> None:
    """It does not wait for its commits. It is killed when the last one is carried out, and its answer not heard."""
    crash(run, ASYNCHRONOUS, stop("commit", "process"), committed=2 * BATCH)


def cases(client: str) -> dict[str, Case]:
    """A case for each place at which it is killed, with this client."""
    of = partial(Case, client=client, applies=EVERY_VERSION if client == LIBRDKAFKA else ranges.POLLS_ARE_LIMITED)
    documented = partial(Documented, claims=NUMBERS, source=DELIVERY, basis=Basis.DOCUMENTATION)
    nothing = "it skips nothing and repeats nothing."
    prefix = "" if client == LIBRDKAFKA else f"{client}-"
    return {
        f"{prefix}between": of(
            steps=partial(killed, done="commit", following="process"), documented=[documented(required=SKIPPED)]
        ),
        f"{prefix}before-commit": of(
            steps=partial(killed, done="poll", following="commit"),
            documented=[documented(sentence=f"Killed before it commits, {nothing}")],
        ),
        f"{prefix}after-process": of(
            steps=partial(killed, done="process", following="poll"),
            documented=[documented(sentence=f"Killed after it has processed, {nothing}")],
        ),
        f"{prefix}async-between": of(
            steps=killed_unanswered,
            documented=[
                documented(
                    required=SKIPPED,
                    sentence="""A commit that nobody waited for skips the same inputs, if it was carried out before the
                        crash.""",
                    source=f"{DELIVERY}; {COMMIT_ASYNC}",
                )
            ],
        ),
    }


scenario(
    name="at-most-once",
    claim="""After a crash, an application that commits before it processes skips exactly the inputs that it had
        committed and not processed. None is processed twice.""",
    source=DELIVERY,
    operator="""Commit before processing only if you may lose inputs silently: no error names the skipped inputs. At
        most one poll's inputs are skipped, so a smaller max.poll.records loses less.""",
    applies=ranges.GROUPS_COORDINATED,
    cases={**cases(LIBRDKAFKA), **cases("java")},
)
