"""After two changes of a broker setting, every broker forgets its topics' settings (KAFKA-9254).

From 1.1 on broker settings can be changed while brokers run (KIP-226). When a default of topics changes, each broker
builds the configuration of every log again, from its own defaults and the topic's overrides. After the first change the
configuration is right, but the broker no longer knows which settings are overrides. So after the second change it uses
the broker's defaults alone. From then on, until its restart, the broker ignores every topic's settings, while the tools
still show them. It forgets retention.ms, cleanup.policy and min.insync.replicas, those of internal topics too.

Here the topic keeps its records forever (retention.ms=-1), on brokers that keep those of other topics for ten seconds.
A pass of retention keeps them. Then an unrelated default is changed twice, and the next pass deletes them on every
broker.
"""

from harness.words import (
    LOST,
    Basis,
    Border,
    Bug,
    ClusterPlan,
    Documented,
    Exhibit,
    Run,
    Side,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_9254 = Bug(
    id="KAFKA-9254",
    title="two changes of a broker setting delete the records of topics that should keep them",
    touches="changes of brokers' settings",
    whom="clusters whose cluster-wide broker settings are changed while brokers run",
    since=Border(
        "1.1.0",
        "KIP-226",
        Side("1.0.2", "there is no DynamicBrokerConfig: a broker's settings change by a restart alone"),
        Side(
            "1.1.0",
            "DynamicLogConfig.reconfigure makes each LogConfig without overriddenConfigs, which it needs at the "
            "next change",
        ),
    ),
    fixed=("2.4.1", "2.5.0"),
    commits=("790a39e353d", "ca4eaa9255f"),
)
PASS = "Log cleanup completed"
LOG_MANAGER = ("kafka.log.LogManager", "org.apache.kafka.storage.internals.log.LogManager")
"""Up to 4.3, and from 4.4 on."""
DELETED = "due to retention time 10000ms breach"
LIMIT_S = 60.0
"""The first pass is 30 s after a broker's start, later ones each second here."""


@scenario(
    name="museum-forgotten-overrides",
    claim="""A topic with retention.ms=-1 loses all of its acknowledged records, on all replicas, because an unrelated
        broker setting was changed twice.""",
    source="KAFKA-9254",
    operator="""Do not change cluster-wide broker settings while brokers run, or restart each broker after the first
        change and before its next pass of retention. The broker may not use the values that describe-configs shows.""",
    exhibit=Exhibit(bug=KAFKA_9254, affected=("2.2.2",), fixed=("2.8.2",)),
    applies=ranges.DYNAMIC_BROKER_SETTINGS,
    cluster=ClusterPlan(
        settings={"log.retention.ms": "10000", "log.retention.check.interval.ms": "1000"},
        trace=LOG_MANAGER,
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
    kept = not deleted(run, run.replicas_of(t))
    if KAFKA_9254.affects(run.version):
        run.require("retention has kept the records until the second change", kept)
    else:  # the topic's own retention.ms counts before the broker's (Kafka documentation, topic configuration)
        run.claim("retention has kept the records that the topic is to keep", kept, witness="logs")
    run.copy_replicas("armed")

    run.set_broker_default("message.max.bytes", "1000014")
    if KAFKA_9254.affects(run.version):
        run.wait_log_start(t, 5, run.replicas_of(t), LIMIT_S)
        run.wait_log_line(run.leader_of(t), DELETED, "that retention deletes records that the topic should keep")
    else:
        wait_passes(run, run.replicas_of(t), 3)
    run.copy_replicas("after")


def wait_passes(run: Run, brokers: list[Target], number: int) -> None:
    """Wait until each broker has completed this many more passes of retention."""
    before = {one.node.name: one.node.said().count(PASS) for one in brokers}

    def more() -> dict[str, int]:
        return {one.node.name: one.node.said().count(PASS) - before[one.node.name] for one in brokers}

    what = f"{number} more passes of retention"
    run.wait_files(what, lambda: min(more().values()) >= number, lambda: str(more()), LIMIT_S)


def deleted(run: Run, brokers: list[Target]) -> bool:
    """Whether a broker has said that retention deletes something."""
    return any(DELETED in one.node.said() for one in brokers)
