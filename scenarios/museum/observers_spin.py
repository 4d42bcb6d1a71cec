"""Brokers keep a processor busy while they cannot reach KRaft's controllers (no JIRA).

A broker follows the metadata log as an observer: its raft-io thread fetches from the active controller. When no fetch
has succeeded for controller.quorum.fetch.timeout.ms (2 s) a voter stands for election, and an observer asks any of the
controllers who leads now, controller.quorum.retry.backoff.ms (20 ms) after each attempt that failed.

Up to 4.1 an expired time-out had its own branch (KafkaRaftClient.pollFollowerAsObserver). 4.2.0 removed that branch, so
that an observer returns to the leader when it has found it (KAFKA-19354, pull request 19854). The remaining code,
maybeSendFetchToBestNode, returns the shorter of two times: until it may ask again, and until the fetch times out. After
the time-out the second time is 0, and only a successful fetch resets it. So the thread polls with a time-out of 0, as
fast as the processor allows, until the controllers are back. Each broker has such a thread.

The bug needs a leader of the metadata quorum that does not answer and is not replaced. Either all controllers are down
at the same time (`default`, killed; `frozen`), or this broker alone cannot reach them (`cut`), while the other brokers
show the usual load. A similar loop with another timer was fixed in 2025 before a release had it (KAFKA-19605).
"""

from collections.abc import Callable

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    Status,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

OBSERVERS_SPIN = Bug(
    id="observers-spin",
    title="each broker keeps a processor busy while it cannot reach KRaft's controllers",
    touches="all controllers away",
    whom="KRaft clusters whose controllers are all down or unreachable for more than two seconds",
    since=Border(
        "4.2.0",
        "KAFKA-19354, apache/kafka#19854",
        Side("4.1.2", "KafkaRaftClient.pollFollowerAsObserver has a branch for a fetch time-out that has expired"),
        Side(
            "4.2.0",
            "it has none, and the time to wait is the shorter one of a back-off and what is left of that time-out, 0",
        ),
    ),
    fixed=(),
    mode="kraft",
    status=Status(
        state=BugStatus.OPEN,
        told="It came with KAFKA-19354 (pull request 19854, first in 4.2.0). KAFKA-19605 mended a loop of observers "
        "that went by another timer. Pull request 22111 (KAFKA-20514, open in April 2026) changes the same method for "
        "another reason. No JIRA for this one was found; JIRA itself cannot be searched from here.",
        sources=("pull requests and issues of apache/kafka on GitHub: not found",),
        on="2026-11-23",
        looked_at="4.4.0",
    ),
    code="KafkaRaftClient.maybeSendFetchToBestNode: Math.min(backoffMs, state.remainingFetchTimeMs(currentTimeMs)) is "
    "0 once the fetch timer has expired, and an observer does not leave its state then, as a voter does. The compiled "
    "method of 4.4.0 is that of 4.3.1, instruction for instruction.",
    log_patterns=("RaftManager.*Disconnecting from node", "RaftManager.*could not be established"),
)
RAFT_IO = "raft-io"
EXPIRED_S = 4.0
"""Twice controller.quorum.fetch.timeout.ms, and once its request's."""
WATCHED_S = 5.0


def killed(run: Run) -> None:
    """The only controller dies, and is started again."""
    without_controller(run, Run.kill, Run.start)


def frozen(run: Run) -> None:
    """The only controller stands still, and continues."""
    without_controller(run, Run.freeze, lambda run, _controller: run.thaw())


def without_controller(run: Run, take: Callable[[Run, Target], None], give_back: Callable[[Run, Target], None]) -> None:
    """Brokers are watched while the controller is up, while it is down, and when it is back."""
    t, controller = run.partition(), run.coordinator()
    run.send(t, 3)
    run.watch_thread(run.replicas_of(t), RAFT_IO, WATCHED_S)
    take(run, controller)
    run.let_pass(EXPIRED_S, "the fetches of all brokers have timed out")
    run.watch_thread(run.replicas_of(t), RAFT_IO, WATCHED_S)
    run.send(t, 3)
    give_back(run, controller)
    run.wait_isr(t, run.replicas_of(t))
    everywhere = TopicPlan(name="back", replicas=tuple((replica.id,) for replica in run.replicas_of(t)))
    run.create_topic(everywhere)
    for number in range(len(everywhere.replicas)):  # a leader takes a record once it has fetched that it leads
        run.send(Partition(everywhere.name, number))
    run.let_pass(EXPIRED_S, "brokers fetch again")
    run.watch_thread(run.replicas_of(t), RAFT_IO, WATCHED_S)
    run.send(t)


def cut_off(run: Run) -> None:
    """One broker is cut off from the controller, and compared with the others."""
    t, controller = run.partition(), run.coordinator()
    run.send(t, 3)
    (alone, *_) = run.followers_of(t)
    run.cut([alone], [controller])
    run.let_pass(EXPIRED_S, "the fetch of the broker that is cut off has timed out")
    run.watch_thread(run.replicas_of(t), RAFT_IO, WATCHED_S)
    run.heal_network()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


DOCUMENTED = [
    Documented(
        on=OBSERVERS_SPIN.affected,
        claims=["quorum-lost-thread-spins", "quorum-reached-thread-waits"],
        sentence="A processor of each broker that cannot reach the controllers is busy until it can.",
        source="KafkaRaftClient.maybeSendFetchToBestNode (4.2.0, 4.3.1)",
        basis=Basis.SOURCE,
    ),
    Documented(
        on=OBSERVERS_SPIN.unaffected,
        claims=["quorum-lost-thread-waits", "quorum-reached-thread-waits"],
        sentence="Brokers that cannot reach the controllers ask again every 20 ms, which takes little processor time.",
        source="KafkaRaftClient.pollFollowerAsObserver (3.9.2, 4.1.2)",
        basis=Basis.SOURCE,
    ),
]

scenario(
    name="museum-observers-spin",
    claim="""While KRaft's controllers cannot be reached, a thread of each broker of 4.2 and later asks for them without
        a pause and keeps a processor busy. Before 4.2 it waits 20 ms between two attempts. Nothing is lost.""",
    source="found here, no JIRA found (it came with KAFKA-19354, apache/kafka pull request 19854)",
    operator="""Run three controllers, and never stop all of them at the same time. On small machines leave a spare
        processor for each broker. In such an outage clients on the same machine are slow, and a limit on the
        container's CPU slows the broker too. A thread dump shows the raft-io thread in KafkaRaftClient.poll.""",
    exhibit=Exhibit(bug=OBSERVERS_SPIN, affected=("4.3.1", "4.4.0"), fixed=("4.1.2",)),
    applies=ranges.KRAFT,
    cluster=ClusterPlan(),
    cases={
        "default": Case(steps=killed, documented=DOCUMENTED),
        "frozen": Case(steps=frozen, documented=DOCUMENTED),
        "cut": Case(steps=cut_off, documented=DOCUMENTED),
    },
)
