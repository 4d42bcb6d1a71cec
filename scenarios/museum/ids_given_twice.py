"""After a migration from ZooKeeper to KRaft, producer ids are assigned a second time (KAFKA-15552).

An idempotent producer has an id and numbers its records. When a broker has seen a number before, it takes the record
for a retry and acknowledges it without writing it (KIP-98). Brokers get ids from the controller in blocks of a
thousand. The migration copies the first id of the last block, where KRaft keeps the first id after that block. So the
first block that KRaft assigns was assigned before.

Here a producer writes a record, and the cluster migrates as documented, one broker after the other, without a failure.
Then that producer writes three more records. A new producer gets the same id and begins with number 0. Its first four
records are acknowledged at the offsets of the first producer's records, and are on no disk. The fifth is written. A
broker remembers the last five batches of an id in a partition, and only the last one from before its own start. If the
first producer had written more records before, its numbers would be too high, and the new producer would fail
permanently with OutOfOrderSequence.
"""

from harness.words import LOST, Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario

KAFKA_15552 = Bug(
    id="KAFKA-15552",
    title="after a migration to KRaft, the first records of new producers are acknowledged and not written",
    touches="idempotent producers during a migration",
    whom="clusters that migrate to KRaft and have idempotent producers (Java clients by default since 3.0)",
    since=Border(
        "3.4.0",
        "KIP-866",
        Side("3.3.2", "there is no ZkMigrationClient"),
        Side("3.4.0", "ZkMigrationClient.migrateProducerId takes firstProducerId of the last block as the next id"),
    ),
    fixed=("3.5.2", "3.6.1", "3.7.0"),
    commits=("3e5ec6fd717", "2214e8bb696", "3c054833acd"),
    mode="zookeeper",
    log_patterns=("Acquired new producerId block", "Completed migration of metadata", "Replaying ProducerIdsRecord"),
)
IDEMPOTENT = {"enable.idempotence": "true"}
NEW = {**IDEMPOTENT, "client.id": "new"}
"""Of a second producer."""
MIGRATED = ["metadata-migrated-to-kraft"]
BEFORE, AFTER = 1, 3
"""Records of the first producer."""


@scenario(
    name="museum-ids-given-twice",
    claim="""After a migration from ZooKeeper to KRaft without any failure, records of new idempotent producers are
        acknowledged with acks=all and are on no disk. Brokers take them for retries of another producer's records.""",
    source="KAFKA-15552, KIP-866, KIP-98",
    operator="""Do not migrate to KRaft before the upgrade. After such a migration the first thousand producer ids are
        used a second time. Brokers remember the old ones for producer.id.expiration.ms, a day by default, whether their
        producers live or not.""",
    needs=["idempotence"],
    exhibit=Exhibit(bug=KAFKA_15552, affected=("3.5.1-zk",), fixed=("3.9.2-zk",)),
    applies=ranges.MIGRATES_TO_KRAFT,
    cluster=ClusterPlan(migrates=True),
    documented=[
        Documented(
            on=KAFKA_15552.affected,
            required=LOST,
            claims=MIGRATED,
            source=KAFKA_15552.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_15552.unaffected,
            claims=MIGRATED,
            sentence="KRaft continues with the block after the last one: no id is assigned twice.",
            source=KAFKA_15552.id,
            basis=Basis.JIRA,
        ),
    ],
)
def ids_given_twice(run: Run) -> None:
    t = run.partition()
    run.send(t, BEFORE, settings=IDEMPOTENT)
    run.copy_replicas("before")

    run.migrate_to_kraft()

    run.send(t, AFTER, settings=IDEMPOTENT)
    run.send(t, BEFORE + AFTER, settings=NEW, expected_loss=KAFKA_15552.affects(run.version))
    run.send(t, 2, settings=NEW)
    ids = run.producer_ids_of(run.leader_of(t), t)
    run.require("both producers have ids", min(ids) >= 0, of_batches=ids)
