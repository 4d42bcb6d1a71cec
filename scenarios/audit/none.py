"""No fault: what a producer's settings cost (Kafka documentation, producer configuration).

Each subject by itself, while no other sends: a hundred records, each when the one before is answered (latency), and
then fifteen hundred at once (throughput). Figures are those of our recorder, which takes no more than some ten thousand
records a second of one producer, on a machine that other runs share: they show what settings cost beside one another,
and no more than that.
"""

from __future__ import annotations

from harness.plan import ClusterPlan
from harness.run import Run
from harness.run.subjects import Subjects
from harness.scenario import EVERY_VERSION, Documented, scenario
from harness.subjects import Outcome, Producer, Topic
from scenarios.audit import ACKS_DOC, CLUSTER, MEASURED, OPERATOR, accepted, plan

ONE_BY_ONE = 100
AT_ONCE = 1500


def stated(producer: Producer, topic: Topic) -> Outcome:
    return Outcome(why="Without a fault every record is written once, in order.", source=ACKS_DOC)


@scenario(
    name="audit-none",
    claim="Without a fault every acknowledged record is there, once and in order, whatever is set; settings cost time.",
    source=ACKS_DOC,
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER),
    documented=[Documented(on=EVERY_VERSION)],
    applies=MEASURED,
)
def none(run: Run) -> None:
    subjects = Subjects(run, plan(run, stated))
    subjects.begin(lambda one: accepted(one, run.version))
    run.send(run.partition(), 3)
    subjects.time(ONE_BY_ONE, AT_ONCE, lambda one: accepted(one, run.version))
    subjects.settle()
