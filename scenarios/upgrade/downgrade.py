"""A cluster that was upgraded goes back to the release before (Kafka documentation, Upgrading: downgrades; KIP-584).

Until the protocol is raised every node can go back, one after the other, while clients work: the new release used the
old protocol and formats. Once the protocol (ZooKeeper) or metadata.version (KRaft) was raised, a node that is started
as the old release exits. It does not know the protocol in its settings, or the level in the metadata log. It is started
as the new release again.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Case, ClusterPlan, LoadGenerator, Run, Target, one_of, ranges, scenario
from scenarios.upgrade import ROUTE, SOCKET_TIMEOUT, TOPIC, left_first, none_lost, one_by_one, wait_whole

SOURCE = "Kafka documentation, Upgrading: once the protocol, or metadata.version, is raised there is no way back"
REFUSES = r"is not a valid version|metadata\.version|MetadataVersion|feature level"
"""The log lines of an old release about a protocol, or a level, that it does not know."""


def nodes(run: Run) -> tuple[list[Target], list[Target]]:
    """KRaft's controller, if there is one, and the brokers."""
    kraft = ranges.KRAFT.holds(run.version)
    return [run.node("controller-100")] if kraft else [], run.replicas_of(run.partition())


def there_and_back(run: Run, *, back: Callable[[Run, LoadGenerator], None]) -> None:
    """Every node as the next release, and then the steps of `back`, while clients work."""
    t, (controllers, brokers) = run.partition(), nodes(run)
    with run.consume(t) as consumer, run.load(t, rate_per_s=50) as load:
        load.wait_more(100, timeout_s=60)
        one_by_one(run, (*controllers, *brokers), left_first(run, load, run.upgrade))
        back(run, load)
        consumer.wait_read(load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


def every_node_goes_back(run: Run, load: LoadGenerator) -> None:
    """Nothing was raised: each node is started as the release before, the brokers first."""
    controllers, brokers = nodes(run)
    load.wait_more(50, timeout_s=60)
    one_by_one(run, (*brokers, *controllers), left_first(run, load, run.downgrade))


def a_broker_is_refused(run: Run, load: LoadGenerator) -> None:
    """The protocol is raised. A broker that is started as the release before exits, and is started as the new one."""
    controllers, brokers = nodes(run)
    if controllers:
        run.finalize("metadata.version")
    else:
        one_by_one(run, reversed(brokers), left_first(run, load, run.raise_protocol))
    left_first(run, load, partial(run.downgrade, refused=REFUSES))(brokers[-1])
    load.wait_more(50, timeout_s=60)
    run.upgrade(brokers[-1])
    wait_whole(run)


scenario(
    name="upgrade-downgrade",
    claim="""As long as neither the protocol nor metadata.version was raised, a cluster can go back to the release
        before, node by node. Afterwards a node that is started as the old release exits. Nothing acknowledged is lost.
        Before leader epochs (KIP-101) each broker is started only when it has left every ISR.""",
    source=SOURCE,
    operator="""Wait some days after the last node before you raise the protocol, or metadata.version. Until then you
        can go back; afterwards only a backup helps.""",
    applies=one_of(*ROUTE) | ranges.PAIRS,
    cluster=ClusterPlan(upgrades=ROUTE, controller=1, settings=SOCKET_TIMEOUT),
    topic=TOPIC,
    cases={
        "before-raising": Case(
            applies=ranges.SAYS_REQUESTS,
            steps=partial(there_and_back, back=every_node_goes_back),
            documented=none_lost("Every node goes back.", source=SOURCE),
        ),
        "after-raising": Case(
            applies=ranges.HAS_MORE_TO_RAISE,
            steps=partial(there_and_back, back=a_broker_is_refused),
            documented=none_lost("A node that is started as the old release exits.", source=SOURCE),
        ),
    },
)
