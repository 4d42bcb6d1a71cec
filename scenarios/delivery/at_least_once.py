"""An application processes, and then commits: a crash in between repeats what it had processed (Kafka documentation,
Design: message delivery semantics).

The outputs are written, and the committed offset lies before their inputs. The next process reads these inputs again
and makes a second output of each. Nothing is skipped, wherever the crash comes.

The controls are crashes at the other places of the loop: before it processes, and after it has committed. In the cases
named `async` it does not wait for the answer to its commit, which the clients send without another poll (see
at-most-once).

In the cases named `revoked` it commits only when the group takes its partitions away, and when it ends. Another member
joins, so the group revokes both of its partitions, and it commits there, in its client's callback (KafkaConsumer:
ConsumerRebalanceListener.onPartitionsRevoked). The group waits for it, and gives one of the partitions to the other
member: nothing is processed twice. If it dies in the callback before the commit, the other member repeats exactly what
it had processed since the commit before, from both partitions.

Each poll returns five inputs. Kafka's own consumer can be told so since 0.10 (KIP-41); the cases with that of 0.9 are
not run. Members may stand still in a callback for longer than a session since 0.10.1 (KIP-62).
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial

from harness.words import (
    EVERY_VERSION,
    LIBRDKAFKA,
    Application,
    Basis,
    Case,
    CrashPoint,
    Documented,
    Partition,
    Run,
    ranges,
    scenario,
)
from scenarios.delivery import BATCH, DELIVERY, GROUP, INPUTS, LIMIT_S, NUMBERS, crash

PROGRAM = "process-then-commit"
ASYNCHRONOUS = "process-then-commit-async"
WHEN_REVOKED = "process-then-commit-when-revoked"
COMMIT_ASYNC = "Kafka documentation, KafkaConsumer: commitAsync"
LISTENER = "Kafka documentation, ConsumerRebalanceListener: onPartitionsRevoked"
REPEATED = frozenset({"repeated-processing"})


def stop(done: str, following: str) -> CrashPoint:
    """In the second round: something was committed before."""
    return CrashPoint(done, following, round=2)


def killed(run: Run, done: str, following: str) -> None:
    """It waits for each commit, and is killed between two steps."""
    crash(run, PROGRAM, stop(done, following))


def killed_before_async(run: Run) -> None:
    """It does not wait for its commits, and is killed after it has processed; the commit before is carried out."""
    crash(run, ASYNCHRONOUS, stop("process", "commit"), committed=BATCH)


def killed_after_async(run: Run) -> None:
    """It is killed when its last commit is carried out, and its answer not heard."""
    crash(run, ASYNCHRONOUS, stop("commit", "poll"), committed=2 * BATCH)


def to_hand_over(run: Run) -> tuple[Callable[..., AbstractContextManager[Application]], tuple[Partition, Partition]]:
    """Two partitions, of which one member after the other has committed a few inputs at its end."""
    both = run.partition(), run.partition(1)
    member = partial(run.application, WHEN_REVOKED, both[0], group=GROUP)
    send(run, both, BATCH)
    with member() as earlier:
        earlier.wait_processed(2 * BATCH, timeout_s=LIMIT_S)
    for t in both:
        run.wait_committed(GROUP, t, BATCH, timeout_s=LIMIT_S)
    send(run, both, INPUTS)
    return member, both


def send(run: Run, both: Iterable[Partition], count: int) -> None:
    """Send so many inputs to each partition."""
    for t in both:
        run.send(t, count)


def revoked(run: Run) -> None:
    """Another member joins. It stands still in the callback that tells it of its partitions' loss, continues, and
    commits. Then both members get more inputs.
    """
    member, both = to_hand_over(run)
    with member(stop=CrashPoint("revoke", "commit")) as first:
        first.wait_processed(2 * INPUTS, timeout_s=LIMIT_S)
        with member() as second:
            for t in both:
                run.wait_crash_point(first, t)
            first.go_on()
            send(run, both, BATCH)
            first.wait_processed(2 * INPUTS + BATCH, timeout_s=LIMIT_S)
            second.wait_processed(BATCH, timeout_s=LIMIT_S)
    for t in both:
        run.wait_committed(GROUP, t, 2 * BATCH + INPUTS, timeout_s=LIMIT_S)


def killed_while_revoked(run: Run, done: str, following: str, again: int) -> None:
    """Another member joins. It is killed in the callback that tells it of its partitions' loss. The other member has so
    many inputs to process then: those not committed, and those sent later.
    """
    member, both = to_hand_over(run)
    with member(stop=CrashPoint(done, following)) as first:
        first.wait_processed(2 * INPUTS, timeout_s=LIMIT_S)
        with member() as second:
            for t in both:
                run.wait_crash_point(first, t)
            run.kill_client(first)
            send(run, both, BATCH)
            second.wait_processed(2 * (again + BATCH), timeout_s=LIMIT_S)
    for t in both:
        run.wait_committed(GROUP, t, 2 * BATCH + INPUTS, timeout_s=LIMIT_S)


def cases(client: str) -> dict[str, Case]:
    """A case for each place at which it is killed, with this client."""
    prefix, polls = ("", EVERY_VERSION) if client == LIBRDKAFKA else (f"{client}-", ranges.POLLS_ARE_LIMITED)
    of = partial(Case, client=client, applies=polls)
    of_two = partial(of, replicas=((1, 2, 3), (2, 3, 1)), applies=polls & ranges.MEMBERS_PROCESS_IN_TIME)
    documented = partial(Documented, claims=NUMBERS, source=DELIVERY, basis=Basis.DOCUMENTATION)
    asynchronous = partial(documented, source=f"{DELIVERY}; {COMMIT_ASYNC}")
    when_revoked = partial(documented, source=f"{DELIVERY}; {LISTENER}")
    nothing = "it skips nothing and repeats nothing."
    return {
        f"{prefix}between": of(
            steps=partial(killed, done="process", following="commit"), documented=[documented(required=REPEATED)]
        ),
        f"{prefix}before-process": of(
            steps=partial(killed, done="poll", following="process"),
            documented=[documented(sentence=f"Killed before it processes, {nothing}")],
        ),
        f"{prefix}after-commit": of(
            steps=partial(killed, done="commit", following="poll"),
            documented=[documented(sentence=f"Killed after it has committed, {nothing}")],
        ),
        f"{prefix}async-between": of(steps=killed_before_async, documented=[asynchronous(required=REPEATED)]),
        f"{prefix}async-after-commit": of(
            steps=killed_after_async,
            documented=[
                asynchronous(
                    sentence=f"If the commit that nobody waited for was carried out before the crash, {nothing}"
                )
            ],
        ),
        f"{prefix}revoked": of_two(
            steps=revoked,
            documented=[
                when_revoked(
                    claims=["each-input-processed-once"],
                    sentence="It commits when its partitions are revoked, and the other member repeats nothing.",
                )
            ],
        ),
        f"{prefix}revoked-killed": of_two(
            steps=partial(killed_while_revoked, done="revoke", following="commit", again=INPUTS),
            documented=[
                when_revoked(
                    required=REPEATED,
                    sentence="""Killed in the callback before it commits, it repeats what it had processed since its
                        last commit, of each partition.""",
                )
            ],
        ),
        f"{prefix}revoked-committed": of_two(
            steps=partial(killed_while_revoked, done="commit", following="give up", again=0),
            documented=[when_revoked(sentence=f"Killed in the callback after it has committed, {nothing}")],
        ),
    }


scenario(
    name="at-least-once",
    claim="""An application that processes before it commits skips nothing. After a crash it repeats exactly the inputs
        that it had processed and not committed.""",
    source=DELIVERY,
    operator="""Make processing an input twice harmless (a key that the second output overwrites, a check in the store),
        or use transactions. A crash repeats at most the inputs that were processed since the last commit. A
        program that commits rarely should also commit when its partitions are revoked.""",
    applies=ranges.GROUPS_COORDINATED,
    cases={**cases(LIBRDKAFKA), **cases("java")},
)
