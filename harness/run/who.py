"""Who is who: roles, resolved when a step runs, and what the cluster states of them at that moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from evidence.errors import HarnessError, UsageError
from evidence.events import NO_LEADER

if TYPE_CHECKING:
    from harness.cluster.cluster import Cluster
    from harness.cluster.docker import Node
    from harness.cluster.state import ClusterObserver, PartitionState
    from harness.plan import TopicPlan


class Partition(NamedTuple):
    """A topic-partition."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


OFFSETS: Final = Partition("__consumer_offsets", 0)
"""The only partition of consumer groups in a cluster of ours: its leader is the coordinator of every group."""


def partitions_of(topics: Iterable[TopicPlan]) -> Iterator[Partition]:
    """Every partition of these topics, in their order."""
    return (Partition(topic.name, number) for topic in topics for number in range(len(topic.replicas)))


@dataclass(frozen=True, slots=True)
class Target:
    """A node and the role it was chosen for."""

    role: str
    node: Node

    @property
    def id(self) -> int:
        return self.node.id

    def __str__(self) -> str:
        return f"{self.node.name} ({self.role})" if self.role else self.node.name


SESSIONS: Final = ("zookeeper.session.timeout.ms", "broker.session.timeout.ms")


class Who:
    """Finds nodes by their role."""

    def __init__(self, topics: list[TopicPlan], cluster: Cluster, observer: ClusterObserver) -> None:
        self._topics, self._cluster, self._observer = topics, cluster, observer

    def partition(self, number: int = 0) -> Partition:
        """A partition of the scenario's topic."""
        return Partition(self._topics[0].name, number)

    def assignment_of(self, t: Partition) -> tuple[int, ...]:
        """The brokers that hold the partition, the preferred leader first."""
        return next(topic.replicas[t.number] for topic in self._topics if topic.name == t.topic)

    def state_of(self, t: Partition) -> PartitionState:
        """The partition's state as the cluster last stated it."""
        state = self._observer.state.partitions.get(t)
        if state is None:
            raise HarnessError(f"the cluster has not stated anything about {t} yet")
        return state

    def broker(self, broker_id: int, role: str = "") -> Target:
        """A broker by id."""
        return Target(role or f"broker {broker_id}", self._cluster.node(broker_id))

    def node(self, name: str) -> Target:
        """Any node by name ("controller-101"), where no role fits. Raises UsageError for one that is not there."""
        if name not in self._cluster.nodes:
            raise UsageError(f"the cluster has no node {name!r}; it has {', '.join(self._cluster.nodes)}")
        return Target("", self._cluster.nodes[name])

    def store(self) -> Target:
        """The store outside Kafka; UsageError if the cluster has none."""
        if self._cluster.store is None:
            raise UsageError("the cluster has no store: give the ClusterPlan store=StorePlan()")
        return Target("the store", self._cluster.store)

    def leader_of(self, t: Partition) -> Target:
        """The leader at this moment; HarnessError if there is none."""
        leader = self.state_of(t).leader
        if leader == NO_LEADER:
            raise HarnessError(f"{t} has no leader at this moment")
        return self.broker(leader, f"leader of {t}")

    def running_brokers(self) -> set[int]:
        """The brokers whose processes run and are not paused, registered or not."""
        states = {number: node.state() for number, node in self._cluster.brokers.items()}
        return {number for number, state in states.items() if state["Running"] and not state.get("Paused")}

    def ended_leader(self, t: Partition) -> int | None:
        """The leader that the cluster names, if its process has ended; None also where it has stated nothing yet."""
        state = self._observer.state.partitions.get(t)
        if state is None or state.leader == NO_LEADER or self.broker(state.leader).node.state()["Running"]:
            return None
        return state.leader

    @property
    def longest_session_ms(self) -> int:
        """The longest session that a broker of this cluster has."""
        plan = self._cluster.plan
        own = [int(value) for name, value in plan.settings.items() if name.rpartition(":")[2] in SESSIONS]
        return max([plan.session_timeout_ms, *plan.zookeeper_sessions_ms.values(), *own])

    def followers_of(self, t: Partition) -> list[Target]:
        """The other replicas, in the order in which they would be elected (that of the assignment)."""
        leader = self.state_of(t).leader
        return [self.broker(b, f"follower of {t}") for b in self.assignment_of(t) if b != leader]

    def replicas_of(self, t: Partition) -> list[Target]:
        """All replicas, in the order of the assignment."""
        return [self.broker(b, f"replica of {t}") for b in self.assignment_of(t)]

    def without(self, t: Partition) -> list[Target]:
        """The brokers that hold no replica of the partition, but for one that is there to be the controller."""
        elsewhere = {*self.assignment_of(t), self._cluster.plan.controller}
        return [self.broker(b, f"without {t}") for b in sorted(self._cluster.brokers) if b not in elsewhere]

    def in_isr(self, t: Partition) -> list[Target]:
        """The in-sync replicas at this moment."""
        return [self.broker(b, f"in the ISR of {t}") for b in self.state_of(t).isr]

    def coordinator(self) -> Target:
        """ZooKeeper, KRaft's controller apart, or the first of combined nodes."""
        return Target("coordinator", self._cluster.coordinator)

    def controller(self) -> Target:
        """The active controller at this moment; HarnessError if there is none."""
        controller = self._observer.state.controller
        if controller is None:
            raise HarnessError("there is no controller at this moment")
        return self.broker(controller, "controller")
