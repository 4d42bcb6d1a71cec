"""Brokers go and come back while producers send (Kafka documentation, producer configuration; Graceful shutdown).

Each subject sends ten records a second. The leader is killed, or stopped cleanly; or all brokers are stopped and
started in turn; or every replica is killed at one moment and started again. What is lost with acks=0 and acks=1 is
what happened to be under way, so it may be nothing: these are the only outcomes that are stated as possible and not as
certain. With acks=all nothing is lost. A record that was written and not answered is written again by a producer that
tries again, unless it is idempotent.

A producer that does not try again is refused for good where the leader has changed, which Java's is told. librdkafka
takes that answer for none of its retries, and sends the record to the next leader (rd_kafka_handle_Produce_error): so
several records may come in another order, and one that the old leader had written and was waiting with, for its
followers, is there twice. With one request in flight it has the next one made already, which goes out before what is
tried again (`refused-then-accepted`, librdkafka issue 1092).

An idempotent producer of librdkafka may begin a new epoch, and then writes once more what it has no answer for. It does
so when the first record of a batch in flight is given up (message.timeout.ms; `timed-out-batch`), as it may be where a
partition is away or too small for that long: seen on 2.8.2, where 291 of 416 records of one were there twice, and on
3.9.2 with every replica down for half a minute (281 records of one, of two replicas, on a busy machine). With several
requests in flight it does so as well when one is refused because an earlier one was (OUT_OF_ORDER_SEQUENCE_NUMBER;
librdkafka issue 4953): seen on 4.3.1, where the last record before a leader was stopped came once with epoch 0 of its
producer, and once with epoch 1.
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
KIP_101 = "KIP-101"
BEFORE = 15
LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Struck:
    """What a fault does, as far as what is stated depends on it."""

    truncates: bool = False
    """Whether followers may throw away what was acknowledged with acks=all (KIP-101)."""
    away: bool = False
    """Whether every partition is without a leader for a while."""
    stops: bool = False
    """Whether brokers are stopped cleanly."""
    once: bool = False
    """Whether only one broker is struck, and back long before a producer's time is up."""


def refuses(producer: Producer, topic: Topic, struck: Struck) -> bool:
    """Whether a send may be refused: of a producer that does not try again where a leader has changed, and of one that
    does where too few replicas are in sync for as long as it tries.

    The Scala producer does not say why a send failed, so its user knows of no refusal. librdkafka keeps what it has not
    been answered for the next leader, so with acks=1 nothing is refused (none of 343 runs).
    """
    if producer.client == "scala" or producer.acks == "0":
        return False
    if not retries(producer):
        return producer.client != "librdkafka" or producer.acks == "all"
    # Brokers that are stopped in turn are back before time is up; an idempotent producer was refused all the same.
    outlasts = struck.once or (struck.stops and not producer.idempotence)
    return producer.acks == "all" and topic.min_insync_replicas > 1 and not outlasts


def truncated(producer: Producer, topic: Topic, struck: Struck) -> bool:
    """Whether acks=all is not enough: a follower may throw away what was acknowledged."""
    return producer.acks == "all" and struck.truncates and topic.replication_factor > 1


def keeps_unanswered(producer: Producer) -> bool:
    """Whether it is a librdkafka that has for the next leader what it has not been answered, without idempotence."""
    return producer.client == "librdkafka" and producer.acks != "0" and not producer.idempotence


def begins_epochs(producer: Producer) -> bool:
    """Whether it is a librdkafka that may begin a new epoch of its idempotent producer."""
    return producer.client == "librdkafka" and producer.idempotence


@dataclass(frozen=True, slots=True)
class Rule:
    """What may come of whom, and where that is written."""

    may: str
    source: str
    of: Callable[[Producer, Topic, Struck], bool]
    basis: Basis = Basis.DOCUMENTATION


RULES = (
    Rule("loses", ACKS_DOC, lambda p, t, s: p.acks != "all"),
    Rule("loses", KIP_101, truncated),
    Rule("duplicates", RETRIES_DOC, lambda p, t, s: retries(p) and p.acks != "0" and not p.idempotence),
    Rule(
        "duplicates",
        TIMED_OUT,
        lambda p, t, s: begins_epochs(p) and (s.away or t.replication_factor <= t.min_insync_replicas),
        Basis.MEASURED,
    ),
    Rule("duplicates", OUT_OF_ORDER, lambda p, t, s: begins_epochs(p) and p.in_flight > 1, Basis.JIRA),
    Rule("reorders", MOVED, lambda p, t, s: keeps_unanswered(p) and not retries(p), Basis.SOURCE),
    # What an old leader refuses it may have written, if it waits for its followers.
    Rule(
        "duplicates",
        MOVED,
        lambda p, t, s: keeps_unanswered(p) and not retries(p) and p.acks == "all",
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
"""What an outcome of several rules is said to rest on: the first of these that one of them has."""
WHY = {
    "loses": "what is under way is lost",
    "duplicates": "what was written and not answered is written again",
    "reorders": "what was in flight is sent again in whatever order",
    "refuses": "too few replicas may be in sync, and a changed leader refuses who does not try again",
}


def stated(producer: Producer, topic: Topic, struck: Struck) -> Outcome:
    rules = [rule for rule in RULES if rule.of(producer, topic, struck)]
    may = frozenset(rule.may for rule in rules)
    sources = [ACKS_DOC, *(rule.source for rule in rules), *([IDEMPOTENCE_DOC] if producer.idempotence else [])]
    told = "; ".join(words for name, words in WHY.items() if name in may)
    return Outcome(
        may=may,
        why=f"Under load {told}." if told else "What is acknowledged every replica in sync has, once and in order.",
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
    """Stop each broker cleanly, and start it again; the next one's turn comes when all replicas are in sync."""
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
    old = struck.truncates and ranges.HIGH_WATERMARK_TRUNCATION.holds(run.version)
    subjects = Subjects(run, plan(run, partial(stated, struck=replace(struck, truncates=old))))

    def expected_loss(one: Subject) -> bool:
        return one.producer.acks != "all" or (old and others(one))

    def well(one: Subject) -> bool:
        return accepted(one, run.version)

    subjects.begin(well)
    run.send(t, 3)
    with subjects.streaming(RATE_PER_S, every, expected_loss=expected_loss):
        subjects.wait_acknowledged(FIRST + BEFORE, well)
        strike(run, subjects)
        subjects.wait_more(BEFORE, lambda one: well(one) and retries(one.producer), timeout_s=LIMIT_S)
    subjects.settle()


def declare(name: str, claim: str, strike: Strike, struck: Struck, *, diverges: bool = False) -> Scenario:
    """A scenario of this file. `diverges`: whether replicas that truncate to a high watermark may differ for ever."""

    def steps(run: Run) -> None:
        under_load(strike, struck, run)

    return scenario(
        name=f"audit-{name}",
        claim=claim,
        source=ACKS_DOC,
        operator=OPERATOR,
        cluster=ClusterPlan(settings=CLUSTER),
        documented=[
            Documented(
                on=ranges.HIGH_WATERMARK_TRUNCATION,
                allowed=REFUSED_AGAIN | frozenset({"replica-divergence"} if diverges else ()),
                source="KIP-101: replicas may differ for ever",
                basis=Basis.KIP,
            ),
            Documented(
                allowed=REFUSED_AGAIN,
                source=ACKS_DOC,
                basis=Basis.DOCUMENTATION,
            ),
        ],
        applies=AUDITED,
    )(steps)


leader_crash_under_load = declare(
    "leader-crash-under-load",
    "When a leader is killed under load, acks=0 and acks=1 may lose what is under way, and acks=all loses nothing.",
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
    Struck(truncates=True, stops=True),
    diverges=True,
)
whole_isr_down = declare(
    "whole-isr-down",
    "When every replica is killed under load and started again, acks=all loses nothing.",
    all_are_killed,
    Struck(away=True),  # whoever leads first has all that was acknowledged with acks=all, and truncates nothing
    diverges=True,
)
