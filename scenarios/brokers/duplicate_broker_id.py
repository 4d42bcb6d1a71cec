"""A second broker is started with the id of one that lives: it is refused, and the first is undisturbed (Kafka
documentation, broker configuration: broker.id; KIP-631).

The second one has a disk and an address of its own, as when somebody copies a broker's configuration to a new machine.
With ZooKeeper it finds /brokers/ids/N taken by another session and exits. With KRaft the controller refuses it as a
duplicate as long as the first broker's session lasts. It asks again until initial.broker.registration.timeout.ms has
passed, and then exits. A producer sends to the partition that the first broker leads, throughout.

Nothing documents that the second broker of KRaft disturbs the first, and yet it does. Before it is registered, it reads
the metadata log like any other broker and takes the partitions of its id for its own. It reports to the controller that
they lie in its log directory (KIP-858). The controller takes this as a report of the first broker, which has not
registered such a directory. So it elects another leader and removes the broker from the ISR. The first broker corrects
the assignment, the second one changes it again, and the ISR flaps until the second one has given up. No acknowledged
record was lost by it in these runs; `duplicate-id-counts-as-replica` is about how some can be.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, ranges, scenario

ENDS = "already registered on the path|node already exists and owner|unable to register with the controller quorum"
"""Why a broker exits whose id is taken."""
REFUSAL_CLAIMS = ("duplicate-id-refused", "first-broker-keeps-registration")


@scenario(
    name="duplicate-broker-id",
    claim="""A second broker with the id of a live one is refused and exits. The first one keeps its registration,
        and with ZooKeeper its leadership too.""",
    source="Kafka documentation, broker configuration: broker.id, node.id, initial.broker.registration.timeout.ms; "
    "KIP-631, KIP-858",
    operator="""With ZooKeeper the second broker does not start, and nothing else happens. With KRaft it takes
        leaderships from the first broker for as long as it tries: a minute by default, and again each time a supervisor
        restarts it. Stop it at once.""",
    cluster=ClusterPlan(double_of=1),
    documented=[
        Documented(
            on=ranges.ZOOKEEPER,
            claims=[*REFUSAL_CLAIMS, "first-broker-undisturbed"],
            source="Kafka documentation, broker configuration: broker.id",
            basis=Basis.DOCUMENTATION,
        ),
        Documented(
            on=ranges.KRAFT,
            claims=[*REFUSAL_CLAIMS, "duplicate-takes-directories"],
            sentence="""The controller refuses the second broker as a duplicate; it asks again until
                initial.broker.registration.timeout.ms has passed, and exits. Until then it assigns the first broker's
                partitions to its own log directory, and the first broker loses its leaderships.""",
            source="seen on 3.9.2 to 4.3.1; AssignmentsManager, "
            "ReplicationControlManager.handleAssignReplicasToDirs (KIP-858)",
            basis=Basis.MEASURED,
        ),
    ],
)
def duplicate_broker_id(run: Run) -> None:
    t = run.partition()
    run.send(t, 2)
    with run.load(t, rate_per_s=50, also_idempotent=True) as load:
        load.wait_acked(50, timeout_s=30)
        double = run.start_double()
        run.expect_exit(double, ENDS)
        before = load.wait_acked(1, timeout_s=30)
        load.wait_acked(before.acked + 50, timeout_s=30)
    run.send(t, 2)
