"""Where the high-level consumer of 0.8 keeps its offsets, and what a crash does (Kafka documentation 0.8.2, old
consumer configuration: offsets.storage, dual.commit.enabled, auto.commit.enable).

This consumer finds its group in ZooKeeper and keeps its offsets there by default. Settings have it keep them in Kafka,
or in both. It was part of Kafka from 0.8 to 1.1. Its own thread commits the inputs that it has handed over. A crash
skips those of them that the application has not processed. It repeats those that the application has processed since
the last commit. One and the same program can do either: the moment of the crash decides.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, Run, ranges, scenario
from scenarios.delivery import BATCH, DELIVERY, GROUP, INPUTS, LIMIT_S, NUMBERS

STORAGE = "Kafka documentation 0.8.2, old consumer configuration: offsets.storage, dual.commit.enabled"
INTERVAL = "Kafka documentation 0.8.2, old consumer configuration: auto.commit.enable, auto.commit.interval.ms"
EACH_SECOND = {"enable.auto.commit": "true", "auto.commit.interval.ms": "1000"}
SELDOM = {"enable.auto.commit": "true", "auto.commit.interval.ms": "600000"}
IN_KAFKA = {"offsets.storage": "kafka", "dual.commit.enabled": "false"}
IN_BOTH = {"offsets.storage": "kafka", "dual.commit.enabled": "true"}
MORE = 5
"""Inputs that come after the crash. When one of them is processed, all before it were passed."""
HANDED_OVER = 2 * BATCH


def wait_done(run: Run, settings: dict[str, str], offset: int) -> None:
    """The group has committed this offset where these settings have it."""
    if "offsets.storage" in settings:
        run.wait_committed(GROUP, run.partition(), offset, timeout_s=LIMIT_S)
    else:
        run.wait_in_zookeeper(GROUP, run.partition(), offset, timeout_s=LIMIT_S)


def crash(run: Run, *, stop: CrashPoint, committed: int | None, settings: dict[str, str]) -> None:
    """A program is killed at a crash point, where its client has committed so much; another process continues."""
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "process-and-poll", t, group=GROUP, settings=settings, batch=BATCH)
    with run.reading_outputs(t) as reader:
        with application(stop=stop) as first:
            run.wait_crash_point(first, t, committed=committed)
            run.in_zookeeper(GROUP, t)
            run.committed(GROUP, t, timeout_s=LIMIT_S)
            run.kill_client(first)
        run.send(t, MORE)
        with application(settings=settings | EACH_SECOND):
            wait_done(run, settings, INPUTS + MORE)
            run.measure(t, partial(wait_done, run, settings), reader)


def moved(run: Run) -> None:
    """A program with its offsets in ZooKeeper ends, and continues with both."""
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "process-and-poll", t, group=GROUP, batch=BATCH)
    with application(settings=EACH_SECOND):
        run.wait_in_zookeeper(GROUP, t, INPUTS, timeout_s=LIMIT_S)
    run.send(t, MORE)
    with application(settings=EACH_SECOND | IN_BOTH):
        run.wait_committed(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)
        run.wait_in_zookeeper(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)
        run.committed(GROUP, t, timeout_s=LIMIT_S)


def zookeeper_restarted(run: Run) -> None:
    """ZooKeeper is killed and started again while the program works."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application("process-and-poll", t, group=GROUP, settings=EACH_SECOND, batch=BATCH):
        run.wait_in_zookeeper(GROUP, t, INPUTS, timeout_s=LIMIT_S)
        run.kill(run.coordinator())
        run.start(run.coordinator())
        run.wait_in_zookeeper(GROUP, t, INPUTS, timeout_s=LIMIT_S)
        run.committed(GROUP, t, timeout_s=LIMIT_S)
        run.send(t, MORE)
        run.wait_in_zookeeper(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)


def committed_in(settings: dict[str, str], sentence: str, place: str) -> Case:
    """It is killed when its client has committed inputs, in the place that these settings name, and it has not
    processed them.
    """
    return Case(
        client="scala",
        steps=partial(crash, stop=BEFORE_PROCESSING, committed=HANDED_OVER, settings=EACH_SECOND | settings),
        documented=[
            Documented(
                required=frozenset({"skipped-processing"}),
                claims=(*NUMBERS, place),
                sentence=sentence,
                source=f"{STORAGE}; {INTERVAL}",
                basis=Basis.DOCUMENTATION,
            )
        ],
    )


def keeps(sentence: str, place: str) -> list[Documented]:
    """The outcome without a crash of the program."""
    return [Documented(claims=[place], sentence=sentence, source=STORAGE, basis=Basis.DOCUMENTATION)]


BEFORE_PROCESSING = CrashPoint("poll", "process", 2)
AFTER_PROCESSING = CrashPoint("process", "poll", 2)

scenario(
    name="offsets-in-zookeeper",
    claim="""The high-level consumer of 0.8 keeps its offsets in ZooKeeper, in Kafka, or in both, and commits by itself.
        A crash skips inputs that were committed and not processed, and repeats inputs that were processed and not
        committed.""",
    source=f"{STORAGE}; {INTERVAL}; {DELIVERY}",
    operator="""Move from the consumer of 0.8 to a later one: it was removed in 2.0. To take the offsets along, run once
        with offsets.storage=kafka and dual.commit.enabled=true. Until then, set auto.commit.enable=false and commit
        when an input is processed.""",
    applies=ranges.HIGH_LEVEL_CONSUMERS,
    cases={
        "zookeeper": committed_in(
            {},
            "The offset is a znode; exactly the inputs that were handed over and not processed are skipped.",
            "offset-in-zookeeper-alone",
        ),
        "kafka": committed_in(
            IN_KAFKA,
            "The coordinator has the offset, and there is no znode. The same inputs are skipped.",
            "offset-in-kafka-alone",
        ),
        "both": committed_in(
            IN_BOTH,
            "The coordinator and the znode have the same offset. The same inputs are skipped.",
            "offset-in-both",
        ),
        "between-commits": Case(
            client="scala",
            steps=partial(crash, stop=AFTER_PROCESSING, committed=None, settings=SELDOM),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="""Killed before the next commit (auto.commit.interval.ms), it repeats all that it has
                        processed since the last one.""",
                    source=INTERVAL,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "moved": Case(
            client="scala",
            steps=moved,
            documented=keeps(
                "It continues where the znode has it, and from then on both have the same offset.", "offset-in-both"
            ),
        ),
        "zookeeper-restarted": Case(
            client="scala",
            steps=zookeeper_restarted,
            documented=keeps("The offset is there again, and the program continues.", "offset-in-zookeeper-alone"),
        ),
    },
)
