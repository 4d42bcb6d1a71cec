"""A share consumer says nothing of acknowledgements that it cannot send (KAFKA-20330).

A member of a share group says of each record that it accepts it, and commits that. The acknowledgement has to go to the
broker that delivered the record. If that broker is down, and the client knows by now that it is no more among the
cluster's, there is nobody to send it to. Up to 4.2 the client leaves it out: commitSync returns without an exception
and without a result for the partition, and the callback is not called. The member has processed the records, has every
reason to take them for accepted, and gets them again. From 4.3 on the commit has a result, NotLeaderOrFollower.

The group does the same with both. An acknowledgement that no broker has got counts for nothing.
"""

from harness.words import (
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    CrashPoint,
    Documented,
    Exhibit,
    Run,
    Side,
    ranges,
    scenario,
)
from scenarios.delivery import GROUP, INPUTS, LIMIT_S

KAFKA_20330 = Bug(
    id="KAFKA-20330",
    title="a share consumer learns nothing of acknowledgements whose broker is gone",
    touches="share groups, acknowledgements",
    whom="members of share groups that wait for the result of what they acknowledge, when a broker goes down",
    since=Border(
        "3.9.0",
        "KIP-932",
        Side("3.8.1", "its clients have no share consumer"),
        Side("3.9.0", "ShareConsumeRequestManager.commitSync passes over nodes that the metadata does not have"),
    ),
    fixed=("4.3.0",),
    whose="Java clients",
)
STOP = CrashPoint("process", "accept", round=2)
ASKS = {"metadata.max.age.ms": "1000"}
"""The client asks every second which brokers there are."""
ASKED_S = 4.0


@scenario(
    name="museum-acknowledgement-unanswered",
    claim="""A member of a share group accepts records whose broker has gone down. Its commit succeeds, says nothing of
        them, and they are delivered again.""",
    source="KAFKA-20330",
    operator="""After commitSync, look for the partition in its result: if it is missing, the records were not accepted.
        Make what processes them idempotent, whatever the release.""",
    exhibit=Exhibit(bug=KAFKA_20330, affected=("4.2.2",), fixed=("4.3.1",)),
    applies=ranges.SHARE_GROUPS,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "group.share.record.lock.duration.ms": "60000"}),
    cases={
        "default": Case(
            client="java",
            documented=[
                Documented(
                    on=KAFKA_20330.affected,
                    required=frozenset({"repeated-processing"}),
                    claims=["acknowledgement-is-not-answered", "accepted-record-is-not-delivered-again"],
                    source=KAFKA_20330.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_20330.unaffected,
                    required=frozenset({"repeated-processing"}),
                    claims=["acknowledgement-is-answered", "accepted-record-is-not-delivered-again"],
                    sentence="The commit says that the records were not accepted.",
                    source=KAFKA_20330.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def acknowledgement_unanswered(run: Run) -> None:
    t = run.partition()
    run.set_share_group(GROUP, "share.auto.offset.reset", "earliest")
    run.send(t, INPUTS)
    with run.share_application("share-process-then-accept", t, group=GROUP, stop=STOP, settings=ASKS) as member:
        run.wait_crash_point(member, t)
        leader, followers = run.leader_of(t), run.followers_of(t)
        run.kill(leader)
        run.wait_leader(t, *followers)
        run.let_pass(ASKED_S, "the member's client has asked which brokers there are")
        member.go_on()
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
    run.start(leader)
