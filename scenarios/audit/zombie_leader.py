"""A leader stands still until another is elected, and then continues (Kafka documentation, producer configuration:
acks).

The leader is frozen with all its connections open, as by a long garbage collection, and each subject sends it seven
records, which wait in its sockets. Its session ends, and a follower is elected and takes a record of its own. When the
old leader continues, it does not know of the election. It appends the records in its sockets and acknowledges acks=1 at
once, so quickly that these producers notice nothing. Then it becomes a follower and truncates. With acks=all it
acknowledges nothing, because no follower fetches from it, and the producers send the records again to the next leader.

Before 1.1 (KAFKA-6051) the next leader is held up by its own last fetch for longer than clients wait, so it takes no
record there. Its log shows that it leads: it has stopped fetching. An old leader that continues sooner answers that
last fetch with the records that waited in its sockets. Then the next leader has these records before its clients send
them again.
"""

import time

from harness.words import (
    REQUEST_MS,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Subjects,
    Topic,
    ranges,
    scenario,
)
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    IN_FLIGHT_DOC,
    OPERATOR,
    accepted,
    again,
    others,
    overtakes,
    plan,
    retries,
    unanswered,
)

WAITING = 7
SCALA_S = 10.0
"""The Scala producer's own request.timeout.ms."""


def stated(producer: Producer, topic: Topic) -> Outcome:
    several = {"reorders"} if overtakes(producer) else set()
    if topic.replication_factor == 1:
        return Outcome(
            why="No other replica can be elected, so the waiting records are written when the leader continues.",
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    if producer.acks != "all":
        return Outcome(
            must=frozenset({"loses"}),
            may=frozenset(several if producer.acks == "1" else set()),
            why="""A leader that continues appends and acknowledges the records in its sockets before it learns that
                another leads. Then it truncates them."""
            + again(producer),
            source=f"{ACKS_DOC}; KIP-101",
            basis=Basis.DOCUMENTATION,
        )
    # librdkafka sends what it has not been answered to the next leader, which refuses it for want of replicas, once.
    once = producer.client == "librdkafka" and not retries(producer)
    refused = {"refuses"} if once and topic.replication_factor == topic.min_insync_replicas else set()
    return Outcome(
        must=frozenset(refused),
        may=frozenset(several),
        why="No follower fetches from the old leader any more, so it never acknowledges acks=all." + again(producer),
        source=f"{ACKS_DOC}; {IN_FLIGHT_DOC}" if several else ACKS_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-zombie-leader",
    claim="""A leader that stood still past its session acknowledges acks=1 records when it continues, and they are
        lost. With acks=all it acknowledges none.""",
    source=ACKS_DOC,
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER),
    documented=[
        Documented(
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    ],
    applies=AUDITED,
)
def zombie_leader(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated))
    subjects.begin(lambda one: accepted(one, run.version))
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.freeze(leader)
    begun = time.monotonic()
    subjects.send(WAITING, expected_loss=lambda one: one.producer.acks != "all" and others(one))
    subjects.wait_led(*followers, which=others)
    if ranges.FETCHES_END.holds(run.version):
        subjects.lead(run.leader_of(t), others)
    else:
        subjects.wait_stopped_fetching(run.leader_of(t), others)
    run.thaw()
    stood_s, patience_s = time.monotonic() - begun, SCALA_S if run.version.release < (0, 11) else REQUEST_MS / 1000
    run.require("the leader continues before any client gives up", stood_s < patience_s, stood_s=round(stood_s, 1))
    run.wait_registered([leader])
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, expected_loss=lambda one: unanswered(one) and others(one))
    subjects.settle()
