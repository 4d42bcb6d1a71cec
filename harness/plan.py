"""What a scenario asks for: the cluster that is to be there, and the topic on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The cluster a scenario needs.

    `brokers` are the ids that hold replicas. `controller` is the broker that must be the controller: with
    ZooKeeper it is started first and so creates /controller; with KRaft the controller is a node of its own
    (id 100) and a `controller` that holds no replica is left out.
    """

    brokers: tuple[int, ...] = (1, 2, 3)
    controller: int = 4
    session_timeout_ms: int = 4000
    """How long a silent broker stays registered: ZooKeeper's session, or KRaft's broker session."""
    zookeeper_sessions_ms: Mapping[int, int] = field(default_factory=dict)
    """Brokers whose session with ZooKeeper is another one. (KRaft's is the controllers' to set, for all brokers.)"""
    settings: Mapping[str, str] = field(default_factory=dict)
    combined: bool = False
    """KRaft: brokers 1 to 3 are the controllers too, instead of one controller apart."""
    trace: tuple[str, ...] = ()
    """Broker loggers turned to TRACE, for scenarios whose evidence is in the log."""

    def broker_ids(self, mode: str) -> tuple[int, ...]:
        """The brokers to start in `mode`, in the order of starting."""
        if mode == "zookeeper":
            return (self.controller, *(b for b in self.brokers if b != self.controller))
        return self.brokers


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """A topic with its replicas placed by hand: `replicas[p]` are partition p's brokers, the preferred leader
    first.
    """

    name: str = "t"
    replicas: tuple[tuple[int, ...], ...] = ((1, 2, 3),)
    settings: Mapping[str, str] = field(default_factory=dict)
