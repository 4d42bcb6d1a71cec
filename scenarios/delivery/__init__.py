"""Delivery semantics: which inputs an application skips, and which it processes twice, when it crashes.

An application is given inputs, makes an output of each, and commits how far it has come. Kafka keeps that offset and
knows nothing of the outputs. The program's order of steps decides what a crash between them does. The programs are real
ones, a process each, members of a group (`harness/workloads/processes/programs.py`). One of them stands still between
two steps. Other processes report what is committed there and what is in the output. Then it is killed, and another
process of the same program takes over.

`at-most-once` and `at-least-once` are the two orders of steps. `auto-commit` leaves the second step to the client, and
`offsets-in-zookeeper` does so with the consumer of 0.8.
`exactly-once-transactions` makes one step of both, and so does `exactly-once-external` in a store outside Kafka.
`streams-pipeline` has Kafka Streams do all of it, `connect-pipeline` Kafka Connect, `spark-pipeline` Spark.
`streams-count` has Kafka Streams count inputs by key in a store. In `share-group` no offset is committed: a member says
of each record what is to become of it. `static-membership` shows who has the partitions of an application that is away.
In `rebalance-while-processing` and `zombie-processor` an application loses its inputs while it works: it is too slow,
say, or frozen. Then it continues.
In `two-applications` each of two groups has the inputs, and they may write to one output.
`producer-fencing` shows the mechanism under transactions, and `aborted-and-read-uncommitted` who gets what is aborted.
In `group-coordinator-failover` and `transaction-coordinator-failover` the broker is gone that keeps committed offsets,
or transactions.
`delivery-storm` has three members work under a load while members and brokers die, once for each semantics.
`streams-storm` does so with processes of Kafka Streams, `connect-storm` with workers of Kafka Connect, `spark-storm`
with queries of Spark.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from harness.words import (
    Application,
    BackgroundConsumer,
    ConnectWorker,
    Counting,
    CrashPoint,
    Partition,
    Run,
    SparkQuery,
    StreamsApplication,
    Target,
)

GROUP = "application"
IDEMPOTENT = {"enable.idempotence": "true"}
"""A retry writes no input, or output, twice."""
INPUTS = 20
BATCH = 5
"""Inputs that a program is given at a time, unless a step says otherwise."""
LIMIT_S = 90.0
DELIVERY = "Kafka documentation, Design: message delivery semantics"
POSTGRESQL = "PostgreSQL documentation, Reliability and the Write-Ahead Log: Asynchronous Commit"
ONCE = "each-input-processed-once"
NUMBERS = ("crash-skips-what-was-committed", "crash-repeats-what-was-not-committed")
"""The claims that say how many inputs, and which."""
REPEATS = "repeats-no-more-than-was-in-hand"
SKIPS = "skips-no-more-than-was-in-hand"
REPEATS_NONE = "commit-first-repeats-none"
"""The claims that bound how many, where members die and lose partitions at any moment."""
SKIPPED = frozenset({"skipped-processing", "committed-too-far"})
"""Inputs without an output, which a committed offset had passed."""
REPEATED = frozenset({"repeated-processing"})
AUTOMATIC = {"enable.auto.commit": "true", "auto.commit.interval.ms": "1000"}
STORED = {"enable.auto.offset.store": "false"}
"""librdkafka commits what the program stores, and no more."""
LIBRDKAFKA_COMMITS = "librdkafka, documentation of its configuration (CONFIGURATION.md): enable.auto.offset.store"
JAVA_COMMITS = "Kafka documentation, KafkaConsumer: Automatic Offset Committing"


def crash(run: Run, program: str, stop: CrashPoint, committed: int | None = None) -> None:
    """A program is killed at a crash point, and another process continues from the group's committed offset. Where it
    has not waited for a commit, that has to be carried out before (`committed`).
    """
    t = run.partition()
    run.send(t, INPUTS)
    with run.reading_outputs(t) as reader:
        with run.application(program, t, group=GROUP, stop=stop) as first:
            run.wait_crash_point(first, t, committed=committed)
            run.kill_client(first)
        with run.application(program, t, group=GROUP):
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
            measure(run, t, reader)


def all_of(run: Run, t: Partition) -> int:
    """Where the inputs end, which are all acknowledged."""
    return run.wait_ends(t).high_watermark


def with_a_broker(
    run: Run,
    application: Application | StreamsApplication | ConnectWorker | SparkQuery,
    dead: Target,
    partitions: Sequence[Partition],
    broker_first: bool = True,
) -> None:
    """An application dies right after a broker, or before it. The broker comes back when others lead what it led."""
    led = [t for t in partitions if run.leader_of(t).id == dead.id]
    if broker_first:
        run.kill(dead)
    run.kill_client(application)
    if not broker_first:
        run.kill(dead)
    for t in led:
        run.wait_leader(t, *(one for one in run.replicas_of(t) if one.id != dead.id))
    run.start(dead)
    for t in partitions:
        run.wait_isr(t, run.replicas_of(t))


def in_turn(
    run: Run, places: Sequence[Partition], down: Callable[[Run, Target], None], work: Callable[[], object]
) -> None:
    """Each replica of the first of some partitions goes down and comes back, one after the other. It is away until each
    partition has another leader and there was some `work`; the next one goes when all are in sync again.
    """
    for broker in run.replicas_of(places[0]):
        work()
        everyone = {t: run.in_isr(t) for t in places}
        down(run, broker)
        for t, replicas in everyone.items():
            run.wait_leader(t, *(one for one in replicas if one.id != broker.id))
        work()
        run.start(broker)
        for t, replicas in everyone.items():
            run.wait_isr(t, replicas)


def measure(run: Run, t: Partition, reader: BackgroundConsumer) -> None:
    """The application that works has committed all inputs. It is given more while nothing else is done."""
    run.measure(t, lambda end: run.wait_committed(GROUP, t, end, timeout_s=LIMIT_S), reader)


SLOW = {"max.poll.interval.ms": "10000"}
"""The longest time that a member may take from poll to poll."""


Act = Callable[[Run, Application], None]
"""Something that is done to an application."""


def nothing(_run: Run, _application: Application) -> None:
    """Nothing is done: it stands still."""


def continues(_run: Run, application: Application) -> None:
    """It continues where it stood, until it is stopped."""
    application.go_on()
    application.stop()


def overtake(
    run: Run,
    program: str,
    stop: CrashPoint,
    *,
    taken: Act = nothing,
    back: Act = continues,
    members: tuple[Mapping[str, str], Mapping[str, str]] = (SLOW, SLOW),
    transactional_ids: tuple[str | None, str | None] = (None, None),
) -> None:
    """A program stands still, by itself for longer than it may from poll to poll, or something takes its inputs
    (`taken`). Another process gets them, and then the first is `back`.
    """
    t = run.partition()
    run.send(t, INPUTS)
    member = partial(run.application, program, t, group=GROUP)
    with member(stop=stop, settings=members[0], transactional_id=transactional_ids[0]) as first:
        run.wait_crash_point(first, t)
        taken(run, first)
        with member(settings=members[1], transactional_id=transactional_ids[1]):
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
            back(run, first)


@dataclass(frozen=True)
class Gone:
    """How a broker is gone for the others, and how it is back."""

    taken: Callable[[Run, Target], None]
    back: Callable[[Run, Target], None]


KILLED = Gone(taken=Run.kill, back=Run.start)
FROZEN = Gone(taken=Run.freeze, back=lambda run, _broker: run.thaw())
CUT = Gone(taken=Run.isolate, back=lambda run, _broker: run.heal_network())


HELD_UP = """The next coordinator may take over late: its own last fetch from the old leader, or a connection to the
    address of that one, holds it up for as long as 30 s (replica.socket.timeout.ms)."""


STREAMS_LIMIT_S = 240.0
SLOW_COMMITS = {"commit.interval.ms": "40000"}
"""Longer than Kafka Streams takes to write the outputs of the second half."""
QUICK_COMMITS = {"commit.interval.ms": "1000"}
TRANSACTION = {"producer.transaction.timeout.ms": "60000"}
"""Longer than the commit interval, as Streams demands."""
AT_LEAST_ONCE, EXACTLY_ONCE, EXACTLY_ONCE_V2 = "at_least_once", "exactly_once", "exactly_once_v2"
"""Kafka Streams' guarantees, by its names."""
PARTITIONS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
STANDBY = {"num.standby.replicas": "1"}
OUTPUT = Partition("output", 0)
SINK = "connect-sink"
"""The group of a sink of Kafka Connect."""
TRANSACTIONS = Partition("__transaction_state", 0)
"""The only partition of it in these clusters: its leader coordinates every transaction."""
CHANGELOG = Partition(f"{GROUP}-counts-changelog", 0)
"""Of the store of an application that counts."""


def settings_of(guarantee: str) -> dict[str, str]:
    """Settings of Kafka Streams' applications with transactions."""
    return {} if guarantee == AT_LEAST_ONCE else TRANSACTION


def count_and_crash(
    run: Run,
    guarantee: str,
    first: Mapping[str, int],
    second: Mapping[str, int],
    counting: Counting,
) -> None:
    """An application that counts by key is killed between the outputs of the second half and their commit. Another one
    continues on the same machine. `first` and `second` say how many inputs of which keys there are, in order. With
    large values the first one is killed when its store has written a file since the commit.
    """
    streams = counting_streams(run, guarantee, counting, {})
    with streams(state="machine", settings=SLOW_COMMITS) as application:
        flushed = counting.padding_bytes > 0
        count_to_the_crash(run, guarantee, first, second, lambda: application, flushed=flushed)
    with streams(state="machine", settings=QUICK_COMMITS):
        wait_counted(run, first, second)


def count_with_standby(run: Run, guarantee: str, first: Mapping[str, int], second: Mapping[str, int]) -> None:
    """The same of two machines: the one that does not work has a standby replica of the store, and continues from
    there. Which one works, Streams decides.
    """
    streams = counting_streams(run, guarantee, Counting(), STANDBY)
    with streams(state="machine", settings=SLOW_COMMITS) as one:
        run.wait_store(one, timeout_s=STREAMS_LIMIT_S)
        with streams(state="other", settings=SLOW_COMMITS) as other:
            run.wait_store(other, timeout_s=STREAMS_LIMIT_S)

            def at_work() -> StreamsApplication:
                working = run.wait_any_at_work((one, other), timeout_s=STREAMS_LIMIT_S)
                run.wait_store(other if working is one else one, timeout_s=STREAMS_LIMIT_S)
                return working

            count_to_the_crash(run, guarantee, first, second, at_work)
            wait_counted(run, first, second)


class Starts(Protocol):
    """Starts a process of an application that counts."""

    def __call__(self, *, state: str, settings: Mapping[str, str]) -> AbstractContextManager[StreamsApplication]: ...


def counting_streams(run: Run, guarantee: str, counting: Counting, more: Mapping[str, str]) -> Starts:
    """Processes of one application that counts."""

    def start(*, state: str, settings: Mapping[str, str]) -> AbstractContextManager[StreamsApplication]:
        given = {**settings, **settings_of(guarantee), "replication.factor": "3", **more}
        t = run.partition()
        return run.streams(t, group=GROUP, guarantee=guarantee, counting=counting, state=state, settings=given)

    return start


def count_to_the_crash(
    run: Run,
    guarantee: str,
    first: Mapping[str, int],
    second: Mapping[str, int],
    at_work: Callable[[], StreamsApplication],
    *,
    flushed: bool = False,
) -> None:
    """An application counts the first half, and commits; it counts the second half, and is killed before it commits.
    `flushed`: when its store has written a file since the commit.
    """
    t, output = run.partition(), OUTPUT
    committed, inputs = sum(first.values()), sum(second.values())
    send_keys(run, t, first)
    run.wait_committed(GROUP, t, committed, timeout_s=STREAMS_LIMIT_S)
    application = at_work()
    ends = [run.wait_stable(one, timeout_s=STREAMS_LIMIT_S).high_watermark for one in (output, CHANGELOG)]
    files = application.files_of_state()
    send_keys(run, t, second)
    run.wait_written(CHANGELOG, ends[1] + inputs, timeout_s=STREAMS_LIMIT_S)
    if flushed:
        run.wait_flushed(application, files, timeout_s=STREAMS_LIMIT_S)
    point = run.freeze_after_outputs(application, t, written=ends[0] + inputs, timeout_s=STREAMS_LIMIT_S)
    run.require("the second half is not committed", point.committed == committed, committed=point.committed)
    readable = point.written if guarantee == AT_LEAST_ONCE else ends[0]
    run.require("its transaction is open, if it has one", point.outputs == readable, outputs=point.outputs)
    run.kill_client(application)


def wait_counted(run: Run, first: Mapping[str, int], second: Mapping[str, int]) -> None:
    """All inputs are committed, and no transaction is open in the output."""
    inputs = sum(first.values()) + sum(second.values())
    run.wait_committed(GROUP, run.partition(), inputs, timeout_s=STREAMS_LIMIT_S)
    run.wait_stable(OUTPUT, timeout_s=STREAMS_LIMIT_S)


def send_keys(run: Run, t: Partition, keys: Mapping[str, int]) -> None:
    """Send so many inputs of each key, key after key."""
    for key, count in keys.items():
        run.send(t, count, key=key)
