"""An offset commit is acknowledged, and lost with the coordinator's leadership (KAFKA-20634).

The group coordinator of 4.x writes a commit into __consumer_offsets and answers when the high watermark has passed it.
A coordinator that has lost the partition still has waiting commits. The instruction to give them up waits behind all
earlier requests. The high watermark does not wait: as a follower, the broker replaces its own records by the new
leader's, learns a high watermark beyond them, and answers "committed" for a record that is lost.

Here followers' fetches do not reach the coordinator, so a commit waits there and on no other disk. The coordinator gets
enough requests for offsets to be busy for some time. Then another replica is elected, and another group commits there.
With `idle` the coordinator has nothing to do, and gives up the commit before it learns a high watermark.

The two events race on the old coordinator, and its load decides. A run with the other result is not reproduced. The
broker answers the client in either case, and the group's next request to the new coordinator shows the result.
"""

from harness.words import (
    OFFSETS,
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Run,
    Side,
    ranges,
    scenario,
)

KAFKA_20634 = Bug(
    id="KAFKA-20634",
    title="an offset commit is acknowledged and lost when the coordinator moves while it is busy",
    touches="committed offsets of groups",
    whom="groups that commit while the coordinator's broker is busy and loses leadership",
    since=Border(
        "4.0.0",
        "KIP-848",
        Side(
            "3.9.1",
            "group.coordinator.new.enable is false by default, and the coordinator that it turns on has the same "
            "listener",
        ),
        Side(
            "4.0.0",
            "it is true by default, and CoordinatorRuntime.HighWatermarkListener takes a follower's high watermark too",
        ),
    ),
    fixed=("4.2.2", "4.3.1"),
    commits=("0160a3ca79", "63940f7248"),
    mode="kraft",
)
REQUESTS = 1200
TIMES = 20_000
"""The requests for offsets that the coordinator gets at once, and how often each is repeated: work for seconds."""
LIMIT_S = 90.0


def busy(run: Run) -> None:
    """The coordinator has work for some seconds."""
    lose_leadership(run, requests=REQUESTS)


def idle(run: Run) -> None:
    """The coordinator has nothing to do."""
    lose_leadership(run, requests=0)


def lose_leadership(run: Run, requests: int) -> None:
    """The coordinator loses the partition while a commit and this many requests wait there."""
    t = run.partition()
    run.send(t, 5)
    run.commit("committed", t, 1)
    run.commit("other", t, 1)
    old = run.leader_of(OFFSETS)
    new, third = (run.broker(number) for number in run.state_of(OFFSETS).isr if number != old.id)
    order = (new.id, old.id, third.id)
    with run.step("ask for another preferred leader", partition=str(OFFSETS), replicas=list(order)):
        run.note(f"asked by {run.admin.reassign(*OFFSETS, order)}")
    run.wait_state(f"{new.node.name} is preferred", lambda state: state.partitions[OFFSETS].replicas == order)
    run.require("the coordinator leads still", run.leader_of(OFFSETS).id == old.id)

    run.cut_requests([new, third], [old])
    before, _ = run.log_end_and_high_watermark(old, OFFSETS)
    pending = run.commit_async("committed", t, 5)
    run.wait_log_end(OFFSETS, before + 1, [old])
    run.require("the commit is not answered", not pending.done)
    run.require(
        "no other replica has it",
        all(run.log_end_and_high_watermark(one, OFFSETS)[0] == before for one in (new, third)),
    )

    with run.ask_much(old, "committed", requests=requests, times=TIMES):
        run.elect_preferred_leader(OFFSETS)
        run.wait_leader(OFFSETS, new)
        run.commit("other", t, 5)
        error = pending.wait(LIMIT_S)
    run.note(f"the commit ended with {error or 'an acknowledgement'}")
    run.heal_network()
    run.committed("committed", t, LIMIT_S)
    run.committed("other", t, LIMIT_S)
    run.send(t)


scenario(
    name="museum-acknowledged-commit-lost",
    claim="""An offset commit that a coordinator acknowledged is missing when the group asks again. Its broker had lost
        the leadership, and answered because of the next leader's high watermark.""",
    source="KAFKA-20634",
    operator="""A group whose offsets went back processes records twice; if it starts at the end of a topic without a
        commit (auto.offset.reset=latest), it skips them.""",
    exhibit=Exhibit(bug=KAFKA_20634, affected=("4.1.2",), fixed=("4.3.1",)),
    applies=ranges.GROUP_COORDINATOR_OF_4,
    cluster=ClusterPlan(
        settings={
            "offsets.topic.num.partitions": "1",
            "offsets.commit.timeout.ms": "60000",
            "group.coordinator.threads": "1",
            "replica.lag.time.max.ms": "60000",
        },
        java_options="-Xmx512m",
    ),
    cases={
        "default": Case(
            steps=busy,
            documented=[
                Documented(
                    on=KAFKA_20634.affected,
                    required=frozenset({"committed-offset-regression"}),
                    source=KAFKA_20634.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_20634.unaffected,
                    sentence="No commit is acknowledged that is missing afterwards.",
                    source=KAFKA_20634.id,
                    basis=Basis.JIRA,
                ),
            ],
        ),
        "idle": Case(
            steps=idle,
            documented=[
                Documented(
                    sentence="The commit is refused, and asked for again.",
                    source=KAFKA_20634.id,
                    basis=Basis.JIRA,
                )
            ],
        ),
    },
)
