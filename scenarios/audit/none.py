"""No fault: what a producer's settings cost (Kafka documentation, producer configuration).

Each subject by itself, while no other sends: a hundred records, each when the one before is answered (latency), and
then fifteen hundred at once (throughput). The figures come from our recorder, which takes at most some ten thousand
records a second from one producer, on a machine that other runs share. They compare settings with one another, and show
nothing else. Topics of three replicas are measured with flush.messages=1 too. The cost of flushing depends mostly on
the machine's disk.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.words import Basis, ClusterPlan, Documented, Outcome, Producer, Run, Subjects, Topic, Version, scenario
from scenarios.audit import ACKS_DOC, AUDITED, CLUSTER, OPERATOR, accepted, plan, topics

ONE_BY_ONE = 100
AT_ONCE = 1500


def measured_in(producer: Producer, version: Version) -> Iterator[Topic]:
    """Every topic in which a producer's outcome can differ, and those of three replicas with a flush of each record."""
    for topic in topics(producer, version):
        yield topic
        if topic.replication_factor == 3:
            yield replace(topic, flush_each=True)


def stated(producer: Producer, topic: Topic) -> Outcome:
    return Outcome(
        why="Without a fault every record is written once, in order.",
        source=ACKS_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-none",
    claim="Without a fault every acknowledged record is in the log once and in order, whatever the settings. "
    "Settings only cost time.",
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
def none(run: Run) -> None:
    subjects = Subjects(run, plan(run, stated, among=lambda producer: measured_in(producer, run.version)))
    subjects.begin(lambda one: accepted(one, run.version))
    run.send(run.partition(), 3)
    subjects.time(ONE_BY_ONE, AT_ONCE, lambda one: accepted(one, run.version))
    subjects.settle()
