"""The Kafka versions that can be started, and what is known of each.

A version here is a release *and* a way to run it: 3.9.2 appears three times, with ZooKeeper, with KRaft, and "pinned":
a new binary held at inter.broker.protocol.version and log.message.format.version 0.10.2, the state of a cluster in the
middle of a rolling upgrade, in which followers truncate to their high watermark as 0.10.2 did (KIP-101 needs protocol
0.11). Scenarios state outcomes over the traits computed here, never over lists of names, so that adding a version is
one entry in `ALL` and one lock file (`python -m harness.setup.jars lock VERSION`).

Java: 8 up to 2.8 and 17 from 3.0, the choice that needs no work-arounds (2.0 to 2.3 do not run on Java 14 or later,
0.10.1 to 1.x miss javax.xml.bind on Java 9 or later).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from evidence.errors import unknown_name
from evidence.releases import numbers
from harness.cluster.namespace import namespace

Mode = Literal["zookeeper", "kraft"]

PINNED_PROTOCOL: Final = "0.10.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One Kafka release run in one way."""

    id: str
    """The name on the command line, such as "3.9.2-kraft"."""
    kafka: str
    """The release, such as "3.9.2"; it names the image and the jar lock."""
    mode: Mode
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """Broker settings that make this version what it is (the pinned protocol)."""

    @property
    def release(self) -> tuple[int, ...]:
        """The release as numbers: (0, 10, 2, 2)."""
        return numbers(self.kafka)

    @property
    def protocol(self) -> tuple[int, ...]:
        """The inter-broker protocol in force: the pinned one, or the release's own."""
        pinned = self.settings.get("inter.broker.protocol.version")
        return numbers(pinned) if pinned else self.release

    @property
    def java(self) -> Literal[8, 17]:
        """The Java its brokers run on."""
        return 17 if self.release >= (3,) else 8

    @property
    def scala(self) -> str:
        """The Scala version in its artifact's name: 2.13 exists from 2.4 on, 2.11 up to 2.3."""
        return "2.13" if self.release >= (2, 4) else "2.11"

    @property
    def image(self) -> str:
        """The tag of its image. Ways to run one release share the image."""
        return f"{namespace()}/kafka:{self.kafka}"

    @property
    def leader_epochs(self) -> bool:
        """Whether followers truncate by leader epoch (KIP-101: protocol 0.11 and later, KRaft always)."""
        return self.protocol >= (0, 11)

    @property
    def truncates_to_high_watermark(self) -> bool:
        """Whether a follower that starts following truncates its log to its own high watermark."""
        return not self.leader_epochs

    @property
    def has_create_topics(self) -> bool:
        """Whether the CreateTopics request exists (0.10.1, KIP-4); before, topics are made in ZooKeeper."""
        return self.release >= (0, 10, 1)

    @property
    def has_elect_leaders(self) -> bool:
        """Whether preferred elections can be asked for by request (2.2, KIP-183); before, it is done in ZooKeeper."""
        return self.release >= (2, 2)

    @property
    def has_alter_reassignments(self) -> bool:
        """Whether reassignments can be asked for by request (2.4, KIP-455); before, it is done in ZooKeeper."""
        return self.release >= (2, 4)

    @property
    def uses_alter_partition(self) -> bool:
        """Whether ISR changes go through the controller (KIP-497, protocol 2.7 and KRaft) or, as before, each leader
        writes them to ZooKeeper itself.
        """
        return self.mode == "kraft" or self.protocol >= (2, 7)

    @property
    def can_migrate(self) -> bool:
        """Whether its metadata can be taken over from ZooKeeper by a KRaft controller (KIP-866: protocol 3.4)."""
        return self.mode == "zookeeper" and self.protocol >= (3, 4)

    @property
    def client_settings(self) -> dict[str, str]:
        """What librdkafka must be told because brokers before 0.10 do not answer ApiVersions requests."""
        if self.release >= (0, 10):
            return {}
        fallback = "0.9.0" if self.release >= (0, 9) else "0.8.2.2"
        return {"api.version.request": "false", "broker.version.fallback": fallback}


def _zookeeper(kafka: str, suffix: str = "") -> Version:
    return Version(id=kafka + suffix, kafka=kafka, mode="zookeeper")


def _kraft(kafka: str, suffix: str = "") -> Version:
    return Version(id=kafka + suffix, kafka=kafka, mode="kraft")


def _pinned(kafka: str) -> Version:
    pins = {"inter.broker.protocol.version": PINNED_PROTOCOL, "log.message.format.version": PINNED_PROTOCOL}
    return Version(id=f"{kafka}-pinned", kafka=kafka, mode="zookeeper", settings=MappingProxyType(pins))


ALL: Final[tuple[Version, ...]] = (
    _zookeeper("0.8.2.2"),
    _zookeeper("0.9.0.1"),
    _zookeeper("0.10.2.2"),
    _zookeeper("0.11.0.3"),
    _zookeeper("1.1.1"),
    _zookeeper("2.2.2"),
    _zookeeper("2.8.2"),
    _zookeeper("3.9.2", "-zk"),
    _pinned("2.2.2"),
    _pinned("2.8.2"),
    _pinned("3.9.2"),
    _kraft("3.9.2", "-kraft"),
    _kraft("4.0.2"),
    _kraft("4.1.2"),
    _kraft("4.3.1"),
)
"""Those of the matrix, which `all` stands for. Oldest first; the pinned ones after the plain ones with ZooKeeper."""
OF_EXHIBITS: Final[tuple[Version, ...]] = (
    _zookeeper("0.11.0.0"),
    _zookeeper("2.1.1"),
    _zookeeper("2.8.1"),
    _zookeeper("3.1.0"),
    _zookeeper("3.1.1"),
    _zookeeper("3.5.1", "-zk"),
    _kraft("3.5.1", "-kraft"),
)
"""Versions that exhibits of the museum name (harness/bugs.py), because a bug was fixed in the next release of its line.
They are run where they are named, and no other scenario is run on them by `all`.
"""
KNOWN: Final[tuple[Version, ...]] = (*ALL, *OF_EXHIBITS)


def get(name: str) -> Version:
    """The version with this id; UsageError, with near names, if there is none."""
    for version in KNOWN:
        if version.id == name:
            return version
    ways = [version.id for version in KNOWN if version.kafka == name]
    raise unknown_name("version", name, ways or [version.id for version in KNOWN], hint="`kafka-chaos list` lists them")


def releases() -> tuple[str, ...]:
    """The Kafka releases named by `KNOWN`, each once: one image and one jar lock each."""
    return tuple(dict.fromkeys(version.kafka for version in KNOWN))
