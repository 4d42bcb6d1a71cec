"""Half way through an upgrade to 2.1 a coordinator deletes the offsets that it has just loaded (KAFKA-8069).

From 2.1 on a group's offsets have no expiry time of their own, and their records have no such field (KIP-211). But
while inter.broker.protocol.version is older, they are written in the old format, which has the field. 2.1 writes -1
there. When it loads the record, it takes -1 for a time that is long past. The next check deletes the offsets of every
group that has no members at that moment, whatever offsets.retention.minutes is.

An upgrade runs with the old protocol until all brokers are new, and restarts them one by one. Here one coordinator
dies, and the next one loads.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario
from scenarios.museum import kill_coordinator

KAFKA_8069 = Bug(
    id="KAFKA-8069",
    title="in the middle of an upgrade to 2.1 the committed offsets of groups without members expire at once",
    touches="groups without members, upgrade to 2.1",
    whom="groups without members at that moment, such as daily jobs",
    since=Border(
        "2.1.0",
        "KIP-211",
        Side("2.0.1", "an offset always has an expiry time, in the record and in memory"),
        Side(
            "2.1.0",
            "an offset without one is written as -1 in the old format, which GroupMetadataManager reads as a time",
        ),
    ),
    fixed=("2.2.0",),
    commits=("4ace51a4827", "44be5d2221c"),
)
GROUP = "between-two-runs"
CHECK_S = 2.0


@scenario(
    name="museum-upgrade-expires-offsets",
    claim="""In the middle of a rolling upgrade, with default retention, a group that has no member when its coordinator
        is restarted loses its committed offsets within minutes.""",
    source="KAFKA-8069, KIP-211",
    operator="""Do not keep inter.broker.protocol.version below 2.1 after an upgrade to 2.1: groups that run once a day
        lose their offsets.""",
    exhibit=Exhibit(bug=KAFKA_8069, affected=("2.1.1",), fixed=("2.2.2",)),
    applies=ranges.BESIDE_PROTOCOL_2_0,
    cluster=ClusterPlan(
        settings={"inter.broker.protocol.version": "2.0", "offsets.retention.check.interval.ms": "2000"}
    ),
    documented=[
        Documented(
            on=KAFKA_8069.affected,
            required=frozenset({"committed-offset-lost"}),
            source=KAFKA_8069.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_8069.unaffected,
            sentence="The offsets are kept for offsets.retention.minutes, a week.",
            source=KAFKA_8069.id,
            basis=Basis.JIRA,
        ),
    ],
)
def upgrade_expires_offsets(run: Run) -> None:
    t = run.partition()
    run.send(t, 7)
    run.commit(GROUP, t, 7)
    run.wait_committed(GROUP, t, 7, timeout_s=30)

    kill_coordinator(run)
    run.committed(GROUP, t, timeout_s=60)
    run.let_pass(3 * CHECK_S, "the coordinator has checked for expired offsets")
    run.committed(GROUP, t, timeout_s=60)
