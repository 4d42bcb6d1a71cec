"""What a scenario asks for: the cluster that is to be there, and the topic on it.

A scenario names broker ids to say which broker plays which role: "the controller is the follower". Which id that is in
a run the seed decides (`layout`), so that repeats of a scenario are runs of different layouts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import Final

from evidence.errors import UsageError

Layout = Mapping[int, int]
"""The broker that stands for each broker which a scenario names."""


def layout(brokers: Sequence[int], seed: int) -> dict[int, int]:
    """Which broker plays the role of which, from the seed: seed 1 is as written, and as many seeds on as there are
    orders each order has had its turn.

    >>> layout((1, 2, 3), 1), layout((1, 2, 3), 2), layout((1, 2, 3), 7)
    ({1: 1, 2: 2, 3: 3}, {1: 1, 2: 3, 3: 2}, {1: 1, 2: 2, 3: 3})
    """
    number = (seed - 1) % math.factorial(len(brokers))
    return dict(zip(brokers, next(islice(permutations(brokers), number, None)), strict=True))


SECOND: Final = "second"
"""The directory, below a broker's data, of the disk that has its second log directory."""
FILE_SYSTEMS: Final = {"ext4": 16 << 20, "xfs": 320 << 20}
"""Those that a node's disk may have, and how small it may be (bytes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """A file system of its own for each node of a cluster, on an image file (harness/cluster/disks.py).

    Raises UsageError for one that is not known, or too small.
    """

    file_system: str = "ext4"
    size_bytes: int = 1 << 30
    """Of each; the image is sparse and takes what is written to it."""
    log_directories: int = 1
    """Of each broker; with 2 the second one is on a disk of its own."""

    def __post_init__(self) -> None:
        if self.file_system not in FILE_SYSTEMS:
            raise UsageError(f"Disks(file_system={self.file_system!r}): it is {' or '.join(FILE_SYSTEMS)}")
        if self.size_bytes < (least := FILE_SYSTEMS[self.file_system]):
            raise UsageError(f"Disks(size_bytes={self.size_bytes}): {self.file_system} takes at least {least}")
        if self.log_directories not in (1, 2):
            raise UsageError(f"Disks(log_directories={self.log_directories}): it is 1 or 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """Brokers of a release of which one method was changed on purpose, to see whether the harness notices.

    A run of them is a positive control and says nothing about Kafka: run.json names the mutant.
    """

    name: str
    image_tag: str
    """Of an image that is there: nothing builds it when the run begins."""
    java_options: str
    """Arguments for the JVM of every node."""
    command: str = ""
    """What runs a scenario on this mutant, without the scenario: "python -m tests.mutants run NAME"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlan:
    """A PostgreSQL server in a node of its own, beside the cluster (harness/cluster/stores.py)."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Its settings, by PostgreSQL's own names."""

    def __str__(self) -> str:
        return " ".join(("postgresql", *(f"{name}={value}" for name, value in sorted(self.settings.items()))))


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
    producers_expire_ms: int | None = None
    """How long a leader remembers an idle producer; None: as long as the release's default says."""
    settings: Mapping[str, str] = field(default_factory=dict)
    combined: bool = False
    """KRaft: brokers 1 to 3 are the controllers too, instead of one controller apart."""
    controllers: int = 1
    """KRaft: so many controllers apart, with ids from 100 on; three are a quorum that outlives one of them."""
    double_of: int | None = None
    """A broker of which there is a second one, with the same id and a disk and an address of its own: the node
    "double", which only the scenario starts. Not for combined nodes."""
    joins: tuple[int, ...] = ()
    """Brokers that are no part of the cluster when it begins: `run.add_broker` starts each for the first time."""
    migrates: bool = False
    """ZooKeeper, 3.4 and later: there is a KRaft controller too, with id 100, which `run.migrate_to_kraft()` starts."""
    releases: Mapping[int, str] = field(default_factory=dict)
    """Nodes that begin as another version than the run's, by id, such as {3: "0.11.0.3"}: a cluster in the middle of an
    upgrade. Brokers from 1 on, KRaft's controllers from 100 on."""
    upgrades: Mapping[str, str] = field(default_factory=dict)
    """By the version that is run, the one that `run.upgrade` brings nodes to, such as {"0.10.2.2": "0.11.0.3"}; a pair
    of the user's own (`--upgrade-to`) needs no entry. The images are there before the run begins. Brokers with
    ZooKeeper are started with the protocol and the message format of their own release set, as the documentation has
    it, so that both stay until they are raised."""
    format: str = ""
    """KRaft: arguments for `kafka-storage format`, such as "--feature eligible.leader.replicas.version=0"."""
    java_options: str = ""
    """Arguments for the JVM of every node, such as "-Dzookeeper.forceSync=no"."""
    image_tag: str = ""
    """The tag of the nodes' image, where that is not the release: brokers that were changed on purpose (`Mutant`)."""
    disks: Disks | None = None
    """A file system of its own for each node; None: all lie on this machine's own."""
    own_clocks: bool = False
    """Each node's JVM has a wall clock of its own, which can be set (harness/faults/clock.py)."""
    relayed: bool = False
    """Applications of Kafka Streams and workers of Kafka Connect find the brokers behind relays, which can withhold an
    answer (harness/cluster/relay.py). For 0.10.2 and later; not for combined nodes."""
    store: StorePlan | None = None
    """A store outside Kafka in a node of its own, for applications that write to it."""
    trace: tuple[str, ...] = ()
    """Broker loggers turned to TRACE, for scenarios whose evidence is in the log."""

    def mutated(self, mutant: Mutant) -> ClusterPlan:
        """The same cluster of brokers that were changed on purpose."""
        options = " ".join(filter(None, (self.java_options, mutant.java_options)))
        return replace(self, image_tag=mutant.image_tag, java_options=options)

    def broker_ids(self, mode: str) -> tuple[int, ...]:
        """The brokers to start in `mode`, in the order of starting."""
        if mode == "zookeeper":
            return (self.controller, *(b for b in self.brokers if b != self.controller))
        return self.brokers

    def laid_out(self, brokers: Layout) -> ClusterPlan:
        """The same with other brokers in the roles; a setting for one broker ("2:name") goes to who stands for it."""

        def renamed(key: str) -> str:
            owner, colon, name = key.partition(":")
            return f"{brokers.get(int(owner), int(owner))}:{name}" if colon and owner.isdigit() else key

        return replace(
            self,
            controller=brokers.get(self.controller, self.controller),
            double_of=None if self.double_of is None else brokers.get(self.double_of, self.double_of),
            zookeeper_sessions_ms={brokers.get(b, b): ms for b, ms in self.zookeeper_sessions_ms.items()},
            settings={renamed(key): value for key, value in self.settings.items()},
            releases={brokers.get(node, node): version for node, version in self.releases.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """A topic with its replicas placed by hand: `replicas[p]` are partition p's brokers, the preferred leader first."""

    name: str = "t"
    replicas: tuple[tuple[int, ...], ...] = ((1, 2, 3),)
    settings: Mapping[str, str] = field(default_factory=dict)

    def laid_out(self, brokers: Layout) -> TopicPlan:
        """The same with other brokers in the roles."""
        return replace(self, replicas=tuple(tuple(brokers.get(b, b) for b in placed) for placed in self.replicas))
