"""The leader dies with records that its followers do not have (Kafka documentation, producer configuration: acks).

The followers are frozen, shorter than their sessions last, so they stay in the ISR. Each subject sends seven records,
which only the leader has. It acknowledges them with acks=0 and acks=1, and not with acks=all. The leader is killed, the
followers continue, and one of them is elected, cleanly. Exactly the records that only the leader had are lost. A
producer with acks=all still holds its records, and sends them again if retries allow it.

The old leader is back when two more records are sent. A Java producer whose metadata still names it sends both there.
Each is refused and put back at the head of the queue (RecordAccumulator.reenqueue), so that they change places if they
were two batches. With acks=1 they mostly are one.
"""

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
LOST_AND_OVERTAKEN = Outcome(
    must=LEADER_ALONE_HAD_THEM.must,
    may=frozenset({"reorders"}),
    why=f"{LEADER_ALONE_HAD_THEM.why} Later ones that the old leader refuses are sent again in any order.",
    source=f"{ACKS_DOC}; {IN_FLIGHT_DOC}; RecordAccumulator.reenqueue (2.8.2)",
    basis=Basis.DOCUMENTATION,
)
KEEPS = Outcome(
    why="""With acks=all they were not acknowledged while the followers stood still. Producers with retries send them
        again, and a leader is back before they time out.""",
    source=ACKS_DOC,
    basis=Basis.DOCUMENTATION,
)
OVERTAKEN = Outcome(
    may=frozenset({"reorders"}),
    why="""Several requests were in flight when the leader died. They are sent again in any order, and none is lost.""",
    source=IN_FLIGHT_DOC,
    basis=Basis.DOCUMENTATION,
)
UNNOTICED = Outcome(
    may=frozenset({"loses"}),
    why="""The leader's records are kept. With acks=0, records sent into a dead broker's connection are lost, and the
        producer gets no error.""",
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
        # librdkafka sorts what it sends again, and never showed it: 0 of 58 runs.
        return LOST_AND_OVERTAKEN if overtakes(producer) and producer.client == "java" else LEADER_ALONE_HAD_THEM
    if overtakes(producer):
        return OVERTAKEN
    return KEEPS


@scenario(
    name="audit-leader-crash-behind",
    claim="""When a leader dies with records that its followers do not have, acks=0 and acks=1 lose exactly these
        records. acks=all loses none, whatever the other settings.""",
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
