"""The last replica in the ISR loses power, while the others, which have the records on their disks, are only away
(KIP-966: motivation, unclean shutdown, last known leader).

The followers are stopped cleanly, frozen for longer than a session, or killed. The ISR shrinks to the leader. Then the
leader loses power, and with it its unflushed records, and returns first.

With min.insync.replicas=1 the leader acknowledges ten records alone, and no other replica has them. With
min.insync.replicas=2 all three replicas acknowledged the ten records before the followers went down, and nothing is
acknowledged after that: two whole copies are left. Without eligible leader replicas the leader is elected in both
cases, because it is in the ISR, and the followers remove their copies. With them (KIP-966) it is not elected, because
it returns without the mark of a clean stop. The partition waits for a follower that left an ISR which was then too
small. If that follower was killed, it returns without the mark too. Then no replica is eligible, and the last known
leader is elected: the one replica that lost the records.

Unclean elections are as each release has them by default: on before 0.11, off since. Where they are on, a frozen
follower leads as soon as it is thawed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from harness.words import LOST, Basis, Case, ClusterPlan, Disks, Documented, Run, Target, TopicPlan, ranges, scenario

MIN_INSYNC_2 = {"min.insync.replicas": "2"}
BEFORE = 3
COUNT = 10
PLAN = ClusterPlan(disks=Disks(), settings={"replica.socket.timeout.ms": "3000"})
FEATURE = "--feature eligible.leader.replicas.version="
UNCLEAN_DOC = "KIP-106; Kafka documentation, Design: unclean leader election"
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""The leader acknowledged ten records and was in the ISR throughout, and its disk has not all of them: the steps
require that.
"""

LOST_THOUGH_FOLLOWERS_HAD_IT = Documented(
    required=LOST | TRUNCATED,
    claims=["leader-elected-from-isr"],
    sentence="""The leader is still the ISR, and is elected without its unflushed records. The followers, which have all
        records, truncate to the leader's log.""",
    source="KIP-966: motivation",
    basis=Basis.KIP,
)
LOST_OF_THE_LEADER_ALONE = Documented(
    required=LOST | TRUNCATED,
    claims=["leader-elected-from-isr"],
    source="KIP-966: motivation",
    basis=Basis.KIP,
    sentence="The leader is still the ISR, and is elected without its unflushed records. No other replica has them.",
)
KEPT = Documented(
    on=ranges.LAST_KNOWN_LEADER,
    required=TRUNCATED,
    claims=["leader-elected-from-isr"],
    sentence="The partition waits for the follower that is eligible, which has everything.",
    source="KIP-966: unclean shutdown",
    basis=Basis.KIP,
)
LAST_KNOWN = Documented(
    on=ranges.LAST_KNOWN_LEADER,
    required=LOST | TRUNCATED,
    claims=["leader-elected-from-outside-isr"],
    sentence="""With min.insync.replicas=1 the leader alone is enough, so nobody else is eligible. It is elected as the
        last known leader, without its unflushed records.""",
    source="KIP-966: last known leader",
    basis=Basis.KIP,
)
NOBODY_ELIGIBLE = Documented(
    on=ranges.LAST_KNOWN_LEADER,
    required=LOST | TRUNCATED,
    claims=["leader-elected-from-outside-isr"],
    sentence="""Leader and follower return without the mark of a clean stop, so no replica is eligible. The last known
        leader is elected, with unclean elections off. It is the one replica that has lost the records, and the others
        truncate to its log.""",
    source="KIP-966: last known leader",
    basis=Basis.KIP,
)
REMOVED = "KafkaController.removeReplicaFromIsr (0.8.2.2, 0.10.2.2) empties an ISR where unclean elections are on"
UNCLEANLY_KEPT = Documented(
    on=ranges.UNCLEAN_BY_DEFAULT,
    required=TRUNCATED,
    claims=["leader-elected-from-outside-isr"],
    sentence="""A follower leads as soon as it is thawed, by an unclean election, which is on by default; it has
        everything.""",
    source=f"{UNCLEAN_DOC}; {REMOVED}",
    basis=Basis.KIP,
)
UNCLEANLY_LOST = Documented(
    on=ranges.UNCLEAN_BY_DEFAULT,
    required=LOST | TRUNCATED,
    claims=["leader-elected-from-outside-isr"],
    sentence="""A follower leads as soon as it is thawed, by an unclean election, which is on by default, and has
        nothing.""",
    source=f"{UNCLEAN_DOC}; {REMOVED}",
    basis=Basis.KIP,
)
BACK_FIRST = Documented(
    on=ranges.UNCLEAN_BY_DEFAULT,
    required=LOST | TRUNCATED,
    claims=["leader-elected-from-outside-isr"],
    sentence="""With unclean elections on, which is the default, the first replica to return leads when the ISR is
        empty. This is the leader, without its unflushed records. The other replicas truncate.""",
    source=f"{UNCLEAN_DOC}; {REMOVED}",
    basis=Basis.KIP,
)


def stopped(run: Run, alone: bool) -> None:
    """The followers are stopped, and come back after the leader."""
    leader, followers = last_in_sync(run, Run.stop, alone=alone)
    run.start(leader)
    start_one_by_one(run, followers)


def killed(run: Run, alone: bool) -> None:
    """The followers are killed, and come back after the leader."""
    leader, followers = last_in_sync(run, Run.kill, alone=alone)
    run.start(leader)
    start_one_by_one(run, followers)


def frozen(run: Run, alone: bool) -> None:
    """The followers stand still, and continue before the leader is back."""
    leader, followers = last_in_sync(run, Run.freeze, alone=alone)
    run.thaw()
    run.wait_registered(followers)
    run.start(leader)
    start_one_by_one(run, [])


def last_in_sync(run: Run, take_away: Callable[..., None], *, alone: bool) -> tuple[Target, list[Target]]:
    """The followers go down, and the leader, now the whole ISR, loses power. Records were acknowledged by the leader
    `alone`, or by all replicas before that. Returns the leader and the followers.
    """
    t = run.partition()
    run.send(t, BEFORE)
    run.wait_high_watermark(t, BEFORE, run.replicas_of(t))
    run.flush_disks()
    leader, followers = run.leader_of(t), run.followers_of(t)
    if not alone:
        run.send(t, COUNT, expected_loss=True)
    take_away(run, *followers)
    run.wait_isr(t, [leader])
    if alone:
        run.send(t, COUNT, expected_loss=True)
    run.copy_replicas("armed")

    run.lose_power(leader)
    on_disk, _ = run.log_end_and_high_watermark(leader, t)
    run.require("the leader's disk has not all of the ten records", on_disk < BEFORE + COUNT, log_end=on_disk)
    run.wait_no_leader(t, leader)
    # Where unclean elections are on, the controller empties the ISR. Before it has, a replica is in the ISR whose disk
    # lacks acknowledged records.
    run.wait_stated_leaderless(t)
    run.copy_replicas("after the power loss")
    return leader, followers


def start_one_by_one(run: Run, followers: list[Target]) -> None:
    """Those that are down come back, and all are in sync."""
    t = run.partition()
    for follower in followers:
        run.start(follower)
    run.wait_leader(t)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


def cases() -> Iterator[tuple[str, Case]]:
    """min.insync.replicas × how the followers go × eligible leader replicas as the release has them, or not."""
    for gone, steps in (("stopped", stopped), ("frozen", frozen), ("killed", killed)):
        thawed = gone == "frozen"
        all_had_it = partial(steps, alone=False)
        alone = [UNCLEANLY_LOST if thawed else BACK_FIRST, LAST_KNOWN, LOST_OF_THE_LEADER_ALONE]
        yield f"min-1-{gone}", Case(steps=partial(steps, alone=True), documented=alone)
        eligible = NOBODY_ELIGIBLE if gone == "killed" else KEPT
        two = [UNCLEANLY_KEPT if thawed else BACK_FIRST, eligible, LOST_THOUGH_FOLLOWERS_HAD_IT]
        yield f"min-2-{gone}", Case(steps=all_had_it, topic=MIN_INSYNC_2, documented=two)
        off, on = (replace(PLAN, format=f"{FEATURE}{level}") for level in (0, 1))
        yield (
            f"min-2-{gone}-elr-off",
            Case(
                steps=all_had_it,
                topic=MIN_INSYNC_2,
                cluster=off,
                applies=ranges.LAST_KNOWN_LEADER,
                documented=[LOST_THOUGH_FOLLOWERS_HAD_IT],
            ),
        )
        yield (
            f"min-2-{gone}-elr-on",
            Case(
                steps=all_had_it,
                topic=MIN_INSYNC_2,
                cluster=on,
                applies=ranges.ELIGIBLE_LEADERS_OPTIONAL,
                documented=[replace(eligible, on=ranges.ELIGIBLE_LEADERS_OPTIONAL)],
            ),
        )


scenario(
    name="last-replica-standing",
    claim="""The last replica in the ISR loses power and is elected when it is back, without its unflushed records.
        Acknowledged records are lost although other replicas have them.""",
    source="KIP-966: motivation, unclean shutdown, last known leader",
    operator="""Set min.insync.replicas=2 and use eligible leader replicas (on by default in new clusters from 4.1 on;
        kafka-features upgrades others). They keep the records that other replicas have, if one of these was stopped
        cleanly or only stood still. Before you restart a leader that lost power, check which replicas have its records:
        where no other replica is eligible, it leads as soon as it is back, and the others truncate.""",
    cluster=PLAN,
    topic=TopicPlan(settings={"min.insync.replicas": "1"}),
    cases=dict(cases()),
)
