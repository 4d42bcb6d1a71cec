"""A broker without an id gets one and keeps it; with another id it does not start (KAFKA-1070).

Three brokers have the ids 1 to 3, and reserved.broker.max.id is 3. A fourth one joins with broker.id=-1: ZooKeeper's
counter /brokers/seqid and the reserved ids make it 4, which it writes into meta.properties in its log directory. It is
stopped and started with broker.id=0: it finds 4 in its directory and exits. Without an id it starts again, as 4.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario

GENERATED = 4
UNSET = {"broker.id": "-1"}
ANOTHER = {"broker.id": "0"}
REFUSED = r"InconsistentBrokerIdException: .*doesn't match stored|Stored node id \d+ doesn't match previous"
"""In the words of KafkaServer (0.9 to 3.6), and of MetaPropertiesEnsemble.verify (3.7 and later)."""
LIMIT_S = 60.0


@scenario(
    name="broker-ids",
    claim="""A broker without an id gets one above reserved.broker.max.id, and keeps it. A broker that is configured
        with another id than its directory has exits.""",
    source="KAFKA-1070; Kafka documentation, broker configuration: broker.id.generation.enable, reserved.broker.max.id",
    operator="""Keep meta.properties with the disk. A broker that refuses its directory protects it. Check which disk
        was mounted, and do not delete the file to make it start.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3),
        controller=1,
        joins=(GENERATED,),
        settings={"reserved.broker.max.id": "3", f"{GENERATED}:broker.id": "-1"},
    ),
    topic=TopicPlan(replicas=((1, 2, 3),)),
    applies=ranges.BROKER_IDS_GENERATED,
    documented=[
        Documented(
            claims=["broker-id-generated", "other-broker-id-refused"],
            source="KAFKA-1070",
            basis=Basis.JIRA,
        )
    ],
)
def broker_ids(run: Run) -> None:
    t = run.partition()
    with run.load(t, rate_per_s=20) as load:
        load.wait_acked(20, timeout_s=LIMIT_S)
        joined = run.add_broker(GENERATED)
        run.stop(joined)
        run.wait_unregistered(joined)
        run.start_with(joined, ANOTHER, refused=REFUSED)
        run.start_with(joined, UNSET)
        load.wait_more(20, timeout_s=LIMIT_S)
