"""Brokers go and come back while producers send (Kafka documentation, producer configuration; Graceful shutdown).

Each subject sends ten records a second. There are four faults. The leader is killed. The leader is stopped cleanly. All
brokers are stopped and started one after the other. Every replica is killed at one moment and started again. acks=0 and
acks=1 lose the records that happened to be under way, which may be none. So these outcomes alone are stated as possible
and not as certain. With acks=all nothing is lost, on any version. Before leader epochs a broker that returns truncates
its log to its own high watermark (KIP-101). But the next broker is stopped only when all replicas are in sync again. A
producer with retries writes a record again that was written and not answered, unless it is idempotent.

Without retries, a Java producer gets a permanent error when the leader has moved. librdkafka does not count that answer
as a retry, and sends the record to the next leader (rd_kafka_handle_Produce_error). So it may reorder records. A record
that the old leader had written, and for which it was waiting for its followers, is written twice. With one request in
flight it has already prepared the next one, and sends that before the retry (`refused-then-accepted`, librdkafka issue
1092).

An idempotent producer of librdkafka may begin a new epoch. Then it writes every unanswered record once more. It does so
when the first record of a batch in flight is given up (message.timeout.ms; `timed-out-batch`). This can happen where a
partition is unavailable, or lacks in-sync replicas, for that long. On 2.8.2 291 of 416 records of one producer were
written twice. On 3.9.2, with every replica down for half a minute, it was 281 records of one producer (two replicas, a
busy machine). With several requests in flight it also does so when a request is refused because an earlier one was
(OUT_OF_ORDER_SEQUENCE_NUMBER; librdkafka issue 4953). On 4.3.1 the last record before a leader was stopped was written
once with producer epoch 0, and once with epoch 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from harness.words import (
    FIRST,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Scenario,
    Subject,
    Subjects,
    Topic,
    every,
    ranges,
    scenario,
)
from results import RATE_PER_S
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    IDEMPOTENCE_DOC,
    IN_FLIGHT_DOC,
    MIN_ISR_DOC,
    OPERATOR,
    REFUSED_AGAIN,
    RETRIES_DOC,
    accepted,
    others,
    overtakes,
    plan,
    retries,
)

TIMED_OUT = "seen with librdkafka 1.5.0 to 2.16.0 (timed-out-batch), whose INTRODUCTION.md promises otherwise"
OUT_OF_ORDER = "librdkafka issue 4953"
NEXT_IS_MADE = "librdkafka issue 1092: the next request goes out before what is tried again"
MOVED = "librdkafka 2.15.0, rd_kafka_handle_Produce_error: a changed leader's answer counts as none of the retries"
BEFORE = 15
LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Struck:
    """The traits of a fault that the stated outcomes depend on."""

    away: bool = False
    """Whether every partition is without a leader for a while."""
    stops: bool = False
    """Whether brokers are stopped cleanly."""
    once: bool = False
    """Whether the broker is back long before a producer's time is up."""


def refuses(producer: Producer, topic: Topic, struck: Struck) -> bool:
    """Whether a send may be refused. A producer without retries is refused where a leader has changed. A producer with
    retries is refused where too few replicas are in sync for as long as it tries.

    The Scala producer does not say why a send failed, so its user knows of no refusal. librdkafka keeps unanswered
    records for the next leader, so it is refused for want of replicas alone, and not where it retries.
    """
    if producer.client == "scala" or producer.acks == "0":
        return False
    too_few = producer.acks == "all" and topic.min_insync_replicas > 1
    if producer.client == "librdkafka":
        return too_few and not retries(producer)
    # Brokers that are stopped in turn are back before time is up; an idempotent producer was refused all the same.
    outlasts = struck.once or struck.away or (struck.stops and not producer.idempotence)
    return not retries(producer) or (too_few and not outlasts)


def keeps_unanswered(producer: Producer) -> bool:
    """Whether it is a librdkafka without idempotence, which keeps unanswered records for the next leader."""
    return producer.client == "librdkafka" and producer.acks != "0" and not producer.idempotence


def begins_epochs(producer: Producer) -> bool:
    """Whether it is a librdkafka that may begin a new epoch of its idempotent producer."""
    return producer.client == "librdkafka" and producer.idempotence


@dataclass(frozen=True, slots=True)
class Rule:
    """The possible outcomes of a subject, and their sources."""

    may: str
    source: str
    of: Callable[[Producer, Topic, Struck], bool]
    basis: Basis = Basis.DOCUMENTATION


RULES = (
    Rule("loses", ACKS_DOC, lambda p, t, s: p.acks != "all"),
    Rule("duplicates", RETRIES_DOC, lambda p, t, s: retries(p) and p.acks != "0" and not p.idempotence),
    Rule(
        "duplicates",
        TIMED_OUT,
        lambda p, t, s: begins_epochs(p) and (s.away or t.replication_factor <= t.min_insync_replicas),
        Basis.MEASURED,
    ),
    Rule("duplicates", OUT_OF_ORDER, lambda p, t, s: begins_epochs(p) and p.in_flight > 1, Basis.JIRA),
    Rule("reorders", MOVED, lambda p, t, s: keeps_unanswered(p) and not retries(p), Basis.SOURCE),
    # What an old leader refuses it may have written, if it waits for its followers and is alive to answer.
    Rule(
        "duplicates",
        MOVED,
        lambda p, t, s: keeps_unanswered(p) and not retries(p) and p.acks == "all" and s.stops,
        Basis.SOURCE,
    ),
    Rule(
        "reorders",
        NEXT_IS_MADE,
        lambda p, t, s: keeps_unanswered(p) and retries(p) and not overtakes(p),
        Basis.JIRA,
    ),
    Rule("reorders", IN_FLIGHT_DOC, lambda p, t, s: overtakes(p)),
    Rule("refuses", RETRIES_DOC, lambda p, t, s: refuses(p, t, s) and not retries(p)),
    Rule(
        "refuses",
        MIN_ISR_DOC,
        lambda p, t, s: refuses(p, t, s) and p.acks == "all" and t.min_insync_replicas > 1,
    ),
)
LEAST_FIRST = (Basis.MEASURED, Basis.SOURCE, Basis.JIRA, Basis.DOCUMENTATION)
"""The basis of an outcome of several rules: the first of these that one of the rules has."""
WHY = {
    "loses": "records under way are lost",
    "duplicates": "records that were written and not answered are written again",
    "reorders": "records in flight are sent again in any order",
    "refuses": "too few replicas may be in sync, and a changed leader refuses a producer without retries",
}


def stated(producer: Producer, topic: Topic, struck: Struck) -> Outcome:
    rules = [rule for rule in RULES if rule.of(producer, topic, struck)]
    may = frozenset(rule.may for rule in rules)
    sources = [ACKS_DOC, *(rule.source for rule in rules), *([IDEMPOTENCE_DOC] if producer.idempotence else [])]
    told = "; ".join(words for name, words in WHY.items() if name in may)
    return Outcome(
        may=may,
        why=f"Under load {told}." if told else "Every in-sync replica has the acknowledged records, once and in order.",
        source="; ".join(dict.fromkeys(sources)),
        basis=min((rule.basis for rule in rules), key=LEAST_FIRST.index, default=Basis.DOCUMENTATION),
    )


Strike = Callable[[Run, Subjects], None]


def leader_is_killed(run: Run, subjects: Subjects) -> None:
    """Kill the leader, and start it again when another leads."""
    t = run.partition()
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.kill(leader)
    subjects.wait_led(*followers, which=others)
    run.start(leader)
    subjects.wait_whole()


def leader_is_stopped(run: Run, subjects: Subjects) -> None:
    """Stop the leader cleanly, and start it again."""
    t = run.partition()
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.stop(leader)
    subjects.wait_led(*followers, which=others)
    run.start(leader)
    subjects.wait_whole()


def all_are_stopped_in_turn(run: Run, subjects: Subjects) -> None:
    """Stop each broker cleanly and start it again. The next broker follows when all replicas are in sync."""
    for broker in run.replicas_of(run.partition()):
        run.stop(broker)
        run.start(broker)
        subjects.wait_whole()


def all_are_killed(run: Run, subjects: Subjects) -> None:
    """Kill every replica, and start them again."""
    brokers = run.replicas_of(run.partition())
    run.kill(*brokers)
    run.start(*brokers)
    subjects.wait_whole()


def under_load(strike: Strike, struck: Struck, run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, partial(stated, struck=struck)))

    def expected_loss(one: Subject) -> bool:
        return one.producer.acks != "all"

    def well(one: Subject) -> bool:
        return accepted(one, run.version)

    subjects.begin(well)
    run.send(t, 3)
    with subjects.streaming(RATE_PER_S, every, expected_loss=expected_loss):
        subjects.wait_acknowledged(FIRST + BEFORE, well)
        strike(run, subjects)
        subjects.wait_more(BEFORE, lambda one: well(one) and retries(one.producer), timeout_s=LIMIT_S)
    subjects.settle()


REFUSES = Documented(allowed=REFUSED_AGAIN, source=ACKS_DOC, basis=Basis.DOCUMENTATION)
DIVERGES = replace(
    REFUSES,
    on=ranges.HIGH_WATERMARK_TRUNCATION,
    allowed=REFUSED_AGAIN | {"replica-divergence"},
    source=f"KIP-101: replicas may differ forever; {ACKS_DOC}",
    basis=Basis.KIP,
)


def declare(name: str, claim: str, strike: Strike, struck: Struck, *, diverges: bool = False) -> Scenario:
    """A scenario of this file. `diverges`: whether replicas that truncate to a high watermark may differ forever."""

    def steps(run: Run) -> None:
        under_load(strike, struck, run)

    return scenario(
        name=f"audit-{name}",
        claim=claim,
        source=ACKS_DOC,
        operator=OPERATOR,
        cluster=ClusterPlan(settings=CLUSTER),
        documented=[*([DIVERGES] if diverges else []), REFUSES],
        applies=AUDITED,
    )(steps)


leader_crash_under_load = declare(
    "leader-crash-under-load",
    "When a leader is killed under load, acks=0 and acks=1 may lose the records under way, and acks=all loses nothing.",
    leader_is_killed,
    Struck(),
)
broker_restart = declare(
    "broker-restart",
    "When a leader is stopped cleanly under load and started again, acks=all loses nothing.",
    leader_is_stopped,
    Struck(stops=True, once=True),
)
rolling_restart = declare(
    "rolling-restart",
    "When all brokers are stopped cleanly and started again in turn under load, acks=all loses nothing.",
    all_are_stopped_in_turn,
    Struck(stops=True),
    diverges=True,
)
whole_isr_down = declare(
    "whole-isr-down",
    "When every replica is killed under load and started again, acks=all loses nothing.",
    all_are_killed,
    Struck(away=True),  # whoever leads first has all that was acknowledged with acks=all, and truncates nothing
    diverges=True,
)
