"""Records of an aborted transaction arrive after its end, and block read_committed readers forever (KAFKA-14402,
KIP-890).

A transaction's producer is cut off from one of the partitions' leaders, and aborts. The bytes of its last request wait
in the kernel of its machine, and are delivered when the network is back, behind the marker of the abort. Until 3.6 a
broker did not check whether the transaction of such a record was open. It began one in this partition, which the
coordinator does not know. No one ends it, so read_committed readers never get a record behind it, of any producer.

From 3.6 on the leader asks the coordinator before it takes the first record of a transaction
(transaction.partition.verification.enable). `unverified` turns that off.
"""

from functools import partial

from harness.words import (
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    Target,
    TopicPlan,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.museum.marker_lost import HELD_BACK, STATE, WATCHED_S

KAFKA_14402 = Bug(
    id="KAFKA-14402",
    title="one record that arrives after its transaction's end stops all read_committed consumers, forever",
    touches="transactions",
    whom="every topic that transactions write to, when a producer's link to a broker is down for some seconds",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "ApiKeys has no transactions"),
        Side(
            "0.11.0.0",
            "ProducerAppendInfo.append begins a transaction with any transactional batch, whatever the "
            "coordinator knows",
        ),
    ),
    fixed=("3.6.0",),
    commits=("29a1a16668d", "56dcb837a2f", "38781f9aea2"),
)
GIVEN_UP_SOON = {
    "message.timeout.ms": "5000",
    "socket.timeout.ms": "3000",
    "transaction.timeout.ms": "600000",
}
LATE_S = 60.0


def late_produce(run: Run, taken: VersionRange) -> None:
    """A record of a transaction arrives after the transaction was aborted, and some versions accept it."""
    warm = run.partition()
    with run.transaction(settings=GIVEN_UP_SOON) as first:
        first.send(warm)
    coordinator = run.leader_of(STATE)
    other = next(replica for replica in run.replicas_of(warm) if replica.id != coordinator.id)
    plan = TopicPlan(name="late", replicas=((other.id, coordinator.id), (coordinator.id, other.id)))
    run.create_topic(plan)
    t, beside = Partition(plan.name, 0), Partition(plan.name, 1)
    run.send(t, 2)
    with (
        run.transaction() as known
    ):  # a producer that has no connection yet to t's leader sends nothing while it is cut off
        known.send(t)
    before = _grown(run, other, t, 4, "both records, that of the transaction and its marker are there")

    with run.transaction(commit=False) as aborted:
        aborted.send(beside)
        run.cut_clients(other)
        aborted.send(t, must=False)
    run.require("the transaction is aborted", aborted.ended is not None and aborted.ended.outcome == "ok")
    marked = _grown(run, other, t, before + 1, "the marker of the abort is there")
    run.copy_replicas("aborted")
    run.heal_network()
    if taken.holds(run.version):
        _grown(run, other, t, marked + 1, "the record has arrived")
    run.send(t, 3)
    run.watch_ends(t, WATCHED_S)


def _grown(run: Run, leader: Target, t: Partition, least: int, what: str) -> int:
    """Wait until the log goes to an offset at least; to which it goes."""

    def end() -> int:
        return run.log_end_and_high_watermark(leader, t)[0]

    run.wait_files(what, lambda: end() >= least, lambda: f"the log ends at {end()}", LATE_S)
    return end()


scenario(
    name="museum-late-produce",
    claim="""A record of a transaction that arrives after the transaction was aborted permanently keeps every later
        record of the partition from consumers under read_committed.""",
    source="KAFKA-14402, KIP-890",
    operator="""Look for open transactions that are older than transaction.max.timeout.ms (kafka-transactions
        find-hanging, 3.0 and later), and abort them. After the upgrade, leave transaction.partition.verification.enable
        on.""",
    needs=["transactions"],
    exhibit=Exhibit(bug=KAFKA_14402, affected=("2.8.2",), fixed=("3.9.2-kraft", "4.3.1")),
    applies=ranges.TRANSACTIONS & ranges.PRODUCERS_RAISE_THE_EPOCH,
    cases={
        "default": Case(
            steps=partial(late_produce, taken=KAFKA_14402.affected),
            documented=[
                Documented(
                    on=KAFKA_14402.affected,
                    required=HELD_BACK,
                    source=KAFKA_14402.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_14402.unaffected,
                    sentence="The leader asks the coordinator, and refuses the record.",
                    source=KAFKA_14402.id,
                    basis=Basis.JIRA,
                ),
            ],
        ),
        "unverified": Case(
            steps=partial(late_produce, taken=ranges.EVERY_VERSION),
            settings={"transaction.partition.verification.enable": "false"},
            applies=ranges.TRANSACTIONS_VERIFIED,
            documented=[
                Documented(
                    required=HELD_BACK,
                    source="KIP-890: verification can be turned off; KAFKA-14402",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
    cluster=ClusterPlan(),
)
