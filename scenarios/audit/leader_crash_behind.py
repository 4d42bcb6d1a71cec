"""The leader dies with records that its followers do not have (Kafka documentation, producer configuration: acks).

The followers are frozen, shorter than their sessions last, so they stay in the ISR. Each subject sends seven records:
with acks=0 and acks=1 the leader alone has them, and that is enough for these; with acks=all they are not
acknowledged. The leader is killed, the followers go on, and one of them is elected, cleanly. What the leader alone had
is gone, just that: a producer with acks=all still holds its records, and sends them again if it is let.
"""

from dataclasses import replace

from harness.words import (
    FIRST,
    LOST,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Subject,
    Subjects,
    Topic,
    scenario,
)
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    IN_FLIGHT_DOC,
    OPERATOR,
    accepted,
    alone,
    end_waiting_fetches,
    others,
    overtakes,
    plan,
    unanswered,
)

BEHIND = 7
LEADER_ALONE_HAD_THEM = Outcome(
    must=frozenset({"loses"}),
    why="The leader had acknowledged them by itself, and no other replica has them when it dies.",
    source=ACKS_DOC,
    basis=Basis.DOCUMENTATION,
)
LOSES_AND_OVERTAKES = replace(
    LEADER_ALONE_HAD_THEM,
    may=frozenset({"reorders"}),
    why=f"{LEADER_ALONE_HAD_THEM.why} Several requests that were in flight are sent again in whatever order.",
    source=f"{ACKS_DOC}; {IN_FLIGHT_DOC}",
)
KEEPS = Outcome(
    why="""With acks=all they were not acknowledged while the followers stood still, and are sent again where that is
        to be done: a leader is back before their time is up.""",
    source=ACKS_DOC,
    basis=Basis.DOCUMENTATION,
)
OVERTAKEN = Outcome(
    may=frozenset({"reorders"}),
    why="""Several requests were in flight when the leader died, and are sent again in whatever order; none is lost.""",
    source=IN_FLIGHT_DOC,
    basis=Basis.DOCUMENTATION,
)
UNNOTICED = Outcome(
    may=frozenset({"loses"}),
    why="""What the leader has is kept. With acks=0 what is sent into the connection that a dead broker left is gone,
        and nobody is told.""",
    source=ACKS_DOC,
    basis=Basis.DOCUMENTATION,
)
NO_OTHER_REPLICA = Outcome(
    why="Nobody else can be elected, and a process that is killed loses no file.",
    source=ACKS_DOC,
    basis=Basis.DOCUMENTATION,
)


def stated(producer: Producer, topic: Topic) -> Outcome:
    if topic.replication_factor == 1:
        return UNNOTICED if producer.acks == "0" else NO_OTHER_REPLICA
    if producer.acks != "all":
        return LOSES_AND_OVERTAKES if overtakes(producer) else LEADER_ALONE_HAD_THEM
    if overtakes(producer):
        return OVERTAKEN
    return KEEPS


@scenario(
    name="audit-leader-crash-behind",
    claim="""When a leader dies with records that its followers do not have, acks=0 and acks=1 lose just these, and
        acks=all loses none, whatever else is set.""",
    source=ACKS_DOC,
    operator=OPERATOR,
    cluster=ClusterPlan(session_timeout_ms=9000, settings=CLUSTER),
    documented=[
        Documented(
            allowed=LOST,
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    ],
    applies=AUDITED,
)
def leader_crash_behind(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated))

    def taken(one: Subject) -> bool:
        return alone(one) and accepted(one, run.version)

    subjects.begin(lambda one: accepted(one, run.version))
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)

    run.freeze(*followers)
    end_waiting_fetches(run, leader)
    subjects.send(BEHIND, expected_loss=lambda one: taken(one) and others(one))
    subjects.wait_acknowledged(FIRST + BEHIND, taken)
    subjects.wait_log_end(FIRST + BEHIND, leader, taken)
    run.kill(leader)
    run.claim(
        "nothing is acknowledged with acks=all while the followers stand still",
        all(one.tally.ok <= FIRST for one in subjects.of(lambda one: not alone(one) and accepted(one, run.version))),
    )
    run.thaw()
    subjects.wait_led(*followers, which=others)
    run.start(leader)
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, expected_loss=unanswered)
    subjects.settle()
