"""A failed start counts as a clean stop, and the next crash loses acknowledged records (KAFKA-15375).

A broker that stops cleanly leaves a marker, and its next start then reads its logs without checking them. A KRaft
broker loads its logs when it has the metadata, and gives up if it does not reach the controllers in time. Until 3.5.2
it left the marker in that case too, beside logs that it had never opened. So the broker does not check a log that a
crash had left with a torn end: new records go into a new segment, and the torn bytes stay in the one before. Nothing
reports that. After the next crash the broker does recover its logs, and from their beginning, because the failed start
had also emptied the file of recovery points. Recovery cuts the log at the torn bytes and deletes all segments behind
them.

Here the end is torn as a loss of power tears it, in the middle of a record. That record is lost on any release. On
releases with the bug, one crash of the process also loses the three records that are acknowledged behind it.
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
    TopicPlan,
    ranges,
    scenario,
)
from scenarios.museum.deleted_records_return import GAVE_UP

KAFKA_15375 = Bug(
    id="KAFKA-15375",
    title="after a start without controllers a torn log counts as clean, and the next crash loses the records after it",
    touches="starts after a power loss",
    whom="brokers that lost power and are started before their controllers",
    since=Border(
        "2.8.0",
        "KIP-500, KIP-631",
        Side(
            "2.7.2",
            "there is no BrokerServer, and KafkaServer.startup makes its LogManager after it has reached ZooKeeper",
        ),
        Side(
            "2.8.0",
            "BrokerServer.shutdown calls LogManager.shutdown, which writes the marker, whether logs were loaded or not",
        ),
    ),
    fixed=("3.5.2", "3.6.0"),
    commits=("daea0fdff09", "c252e930fb7"),
    mode="kraft",
)
SKIPPED = r"Skipping recovery of \d+ logs? .*since clean shutdown file was found"


@scenario(
    name="museum-false-clean-marker",
    claim="""Records that were acknowledged after a crash, behind a torn end of the log that the broker did not check,
        are lost by the next crash of the broker's process.""",
    source="KAFKA-15375",
    operator="""Start the controllers before the brokers. If a broker that had crashed gave up because it found no
        controller, delete .kafka_cleanshutdown in its log directories before it is started again.""",
    exhibit=Exhibit(bug=KAFKA_15375, affected=("3.5.1-kraft",), fixed=("3.9.2-kraft",)),
    applies=ranges.KRAFT,
    cluster=ClusterPlan(
        brokers=(1,), settings={"initial.broker.registration.timeout.ms": "8000", "min.insync.replicas": "1"}
    ),
    topic=TopicPlan(replicas=((1,),)),
    documented=[
        Documented(
            on=KAFKA_15375.affected,
            required=LOST,
            source=KAFKA_15375.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_15375.unaffected,
            required=LOST,
            sentence="The torn record is lost. The log is recovered, and records acknowledged from then on stay.",
            source=KAFKA_15375.id,
            basis=Basis.JIRA,
        ),
    ],
)
def false_clean_marker(run: Run) -> None:
    t = run.partition()
    (broker,) = run.replicas_of(t)
    controllers = run.coordinator()
    run.send(t, 5)
    run.send(t, expected_loss=True)

    run.kill(broker)
    run.wait_unregistered(broker)  # a controller that is started anew knows of no session that ends
    run.tear_tail(broker, t)
    run.stop(controllers)
    run.start_early(broker)
    run.expect_exit(broker, GAVE_UP)

    run.start(controllers)
    run.start(broker)
    run.wait_leader(t, broker)
    affected = KAFKA_15375.affects(run.version)
    if affected:
        run.wait_log_line(broker, SKIPPED, "that it does not check its logs")
    run.send(t, 3, expected_loss=affected)
    run.kill(broker)
    run.start(broker)
    run.wait_leader(t, broker)
    run.send(t)
