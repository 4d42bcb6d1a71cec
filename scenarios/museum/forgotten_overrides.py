"""Two changes of a broker setting, and every broker forgets what was set for its topics (KAFKA-9254).

From 1.1 on broker settings can be changed while brokers run (KIP-226). For a change of a default that topics go by,
each broker makes the configuration of every log anew: from its own defaults, and from what the topic has of its own.
The first change makes it right, but loses the note of which settings are the topic's own. So the second change makes it
from the broker's defaults alone. From then on, until it is started again, the broker goes by none of any topic's
settings, while the tools go on showing them: retention.ms, cleanup.policy and min.insync.replicas are forgotten, those
of internal topics too.

Here the topic keeps its records for ever (retention.ms=-1), on brokers that keep those of others for ten seconds. A
pass of retention keeps them; then a default that has nothing to do with them is changed twice, and the next pass
deletes them, on every broker.
"""

from harness.words import LOST, Basis, Bug, ClusterPlan, Documented, Exhibit, Run, Target, TopicPlan, ranges, scenario

KAFKA_9254 = Bug(
    id="KAFKA-9254",
    title="two changes of a broker setting delete the records of topics that were to keep them",
    whom="whoever changes cluster-wide broker settings while brokers run",
    since="1.1.0",
    fixed=("2.4.1", "2.5.0"),
    commits=("790a39e353d", "ca4eaa9255f"),
)
PASS = "Log cleanup completed"
DELETED = "due to retention time 10000ms breach"
LIMIT_S = 60.0
"""The first pass is 30 s after a broker's start, later ones each second here."""


@scenario(
    name="museum-forgotten-overrides",
    claim="""A topic with retention.ms=-1 loses all of its acknowledged records, on all replicas, because a broker
        setting that has nothing to do with it was changed twice.""",
    source="KAFKA-9254",
    operator="""From 1.1 to 2.4.0 do not change cluster-wide broker settings while brokers run, or restart each broker
        after the first change and before its next pass of retention. The broker may not use the values that
        describe-configs shows.""",
    exhibit=Exhibit(bug=KAFKA_9254, affected=("2.2.2",), fixed=("2.8.2",)),
    applies=ranges.DYNAMIC_BROKER_SETTINGS,
    cluster=ClusterPlan(
        settings={"log.retention.ms": "10000", "log.retention.check.interval.ms": "1000"},
        trace=("kafka.log.LogManager",),
    ),
    topic=TopicPlan(settings={"retention.ms": "-1"}),
    documented=[
        Documented(
            on=KAFKA_9254.affected,
            required=LOST | {"configuration-forgotten"},
            source=KAFKA_9254.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_9254.unaffected,
            sentence="The topic keeps its records, however often the default changes.",
            source=KAFKA_9254.id,
            basis=Basis.JIRA,
        ),
    ],
)
def forgotten_overrides(run: Run) -> None:
    t = run.partition()
    run.send(t, 5, expected_loss=True)
    wait_passes(run, run.replicas_of(t), 1)
    run.set_broker_default("message.max.bytes", "1000013")
    wait_passes(run, run.replicas_of(t), 2)
    run.require("retention has kept the records until the second change", not deleted(run, run.replicas_of(t)))
    run.copy_replicas("armed")

    run.set_broker_default("message.max.bytes", "1000014")
    if KAFKA_9254.affects(run.version):
        run.wait_log_start(t, 5, run.replicas_of(t), LIMIT_S)
        run.wait_log_line(run.leader_of(t), DELETED, "that retention deletes what the topic was to keep")
    else:
        wait_passes(run, run.replicas_of(t), 3)
    run.copy_replicas("after")


def wait_passes(run: Run, brokers: list[Target], number: int) -> None:
    """Wait until each broker has ended so many more passes of retention."""
    before = {one.node.name: one.node.said().count(PASS) for one in brokers}

    def more() -> dict[str, int]:
        return {one.node.name: one.node.said().count(PASS) - before[one.node.name] for one in brokers}

    what = f"{number} more passes of retention"
    run.wait_files(what, lambda: min(more().values()) >= number, lambda: str(more()), LIMIT_S)


def deleted(run: Run, brokers: list[Target]) -> bool:
    """Whether a broker has said that retention deletes something."""
    return any(DELETED in one.node.said() for one in brokers)
