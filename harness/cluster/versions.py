"""The Kafka versions that can be started, and what is known of each.

A version here is a release *and* a way to run it. Any release of Apache Kafka from 0.8.2.0 on has a name here:

    2.4.1                   before 3.3: with ZooKeeper
    3.9.2-zk, 3.9.2-kraft   3.3 to 3.9: with ZooKeeper, or with KRaft
    4.4.0                   from 4.0 on: with KRaft
    2.6.3-protocol-2.3      a new binary held at inter.broker.protocol.version 2.3, the state of a cluster in the middle
                            of a rolling upgrade; with ZooKeeper, from 0.9 on
    3.9.2-pinned            held at protocol 0.10.2 and its message format, in which followers truncate to their high
                            watermark as 0.10.2 did (KIP-101 needs protocol 0.11)
    2.4.1-to-2.8.1          a cluster of 2.4.1 whose nodes are upgraded to 2.8.1 during the run

Scenarios state outcomes over the traits computed here, never over lists of names, so that no scenario has to know a
release. `ALL` is a list for another reason: it is what the matrix, the nights and the pages of docs/ run and count.

Java: 8 up to 2.8 and 17 from 3.0, the choice that needs no work-arounds (2.0 to 2.3 do not run on Java 14 or later,
0.10.1 to 1.x miss javax.xml.bind on Java 9 or later).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal

from evidence import borders
from evidence.borders import (
    API_VERSIONS,
    CLIENT_OF_ZOOKEEPER_3_8,
    HAS_FORMATS,
    HAS_PROTOCOLS,
    IGNORES_FORMATS,
    KRAFT_ONLY,
    KRAFT_SINCE,
    SERVER_OF_ZOOKEEPER_3_5,
)
from evidence.errors import UsageError, unknown_name
from evidence.releases import Release, line_of, numbers
from harness.cluster import apache
from harness.cluster.builds import Build

Mode = Literal["zookeeper", "kraft"]

PINNED_PROTOCOL: Final = "0.10.2"
PROTOCOL: Final = "inter.broker.protocol.version"
FORMAT: Final = "log.message.format.version"
NAME: Final = re.compile(r"(\d+(?:\.\d+)+)(?:-([\w.-]+))?")
TO: Final = "-to-"
"""Between the names of a pair: of the version that a cluster begins with, and the one that it is upgraded to."""
HELD: Final = re.compile(r"protocol-(\d+(?:\.\d+)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One Kafka release run in one way."""

    id: str
    """The name on the command line, such as "3.9.2-kraft"."""
    build: Build
    """What its nodes run: the release, such as 3.9.2, or an own build."""
    mode: Mode
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """Broker settings that make this version what it is (the pinned protocol)."""
    pair: tuple[Version, Version] | None = None
    """Of a cluster that is upgraded: the version that it begins with, whose traits this has, and the one that it is
    upgraded to.
    """

    @property
    def first(self) -> Version:
        """What its nodes begin as."""
        return self.pair[0] if self.pair else self

    @property
    def builds(self) -> tuple[Build, ...]:
        """What its nodes run, at first or later."""
        return tuple(one.build for one in self.pair) if self.pair else (self.build,)

    @property
    def kafka(self) -> str:
        """The version of what its nodes run: "3.9.2", "4.5.0-SNAPSHOT"."""
        return self.build.kafka

    @property
    def release(self) -> tuple[int, ...]:
        """The release as numbers: (0, 10, 2, 2)."""
        return self.build.release

    @property
    def protocol(self) -> tuple[int, ...]:
        """The inter-broker protocol in force: the pinned one, or the release's own."""
        pinned = self.settings.get("inter.broker.protocol.version")
        return numbers(pinned) if pinned else self.release

    @property
    def java(self) -> Literal[8, 17]:
        """The Java its brokers run on."""
        return self.build.java

    @property
    def scala(self) -> str:
        """The Scala version in its artifact's name: 2.13 exists from 2.4 on, 2.11 up to 2.3."""
        return "2.13" if self.release >= borders.SCALA_2_13.release else "2.11"

    @property
    def image(self) -> str:
        """The name of its image. Ways to run one build share the image."""
        return self.build.image

    @property
    def leader_epochs(self) -> bool:
        """Whether followers truncate by leader epoch (KIP-101: protocol 0.11 and later, KRaft always)."""
        return self.protocol >= borders.LEADER_EPOCHS.release

    @property
    def truncates_to_high_watermark(self) -> bool:
        """Whether a follower that starts following truncates its log to its own high watermark."""
        return not self.leader_epochs

    @property
    def has_create_topics(self) -> bool:
        """Whether the CreateTopics request exists (0.10.1, KIP-4); before, topics are made in ZooKeeper."""
        return self.release >= borders.TOPICS_BY_REQUEST.release

    @property
    def has_elect_leaders(self) -> bool:
        """Whether preferred elections can be asked for by request (2.2, KIP-183); before, it is done in ZooKeeper."""
        return self.release >= borders.ELECT_LEADERS.release

    @property
    def has_alter_reassignments(self) -> bool:
        """Whether reassignments can be asked for by request (2.4, KIP-455); before, it is done in ZooKeeper."""
        return self.release >= borders.ALTER_REASSIGNMENTS.release

    @property
    def uses_alter_partition(self) -> bool:
        """Whether ISR changes go through the controller (KIP-497, protocol 2.7 and KRaft) or, as before, each leader
        writes them to ZooKeeper itself.
        """
        return self.mode == "kraft" or self.protocol >= borders.ASKS_CONTROLLER.release

    @property
    def can_migrate(self) -> bool:
        """Whether its metadata can be taken over from ZooKeeper by a KRaft controller (KIP-866: protocol 3.4)."""
        return self.mode == "zookeeper" and self.protocol >= borders.MIGRATES_TO_KRAFT.release

    @property
    def client_settings(self) -> dict[str, str]:
        """What librdkafka must be told because brokers before 0.10 do not answer ApiVersions requests."""
        if self.release >= borders.API_VERSIONS.release:
            return {}
        fallback = "0.9.0" if self.release >= borders.GROUPS_COORDINATED.release else "0.8.2.2"
        return {"api.version.request": "false", "broker.version.fallback": fallback}


def _zookeeper(kafka: str | Build, suffix: str = "") -> Version:
    build = _build(kafka)
    return Version(id=build.kafka + suffix + build.mark, build=build, mode="zookeeper")


def _kraft(kafka: str | Build, suffix: str = "") -> Version:
    build = _build(kafka)
    return Version(id=build.kafka + suffix + build.mark, build=build, mode="kraft")


def _build(kafka: str | Build) -> Build:
    return Build(kafka=kafka) if isinstance(kafka, str) else kafka


def _held(kafka: str | Build, protocol: str) -> Version:
    """A release that is held at an older protocol, and at its message format where that is an old one."""
    build = _build(kafka)
    settings = {"inter.broker.protocol.version": protocol}
    # The format may not be newer than the protocol, and today's came with protocol 0.11.
    if numbers(protocol) < borders.FORMAT_2.release and build.release >= HAS_FORMATS.release:
        settings["log.message.format.version"] = protocol
    way = "pinned" if protocol == PINNED_PROTOCOL else f"protocol-{protocol}"
    return Version(
        id=f"{build.kafka}-{way}{build.mark}", build=build, mode="zookeeper", settings=MappingProxyType(settings)
    )


def _pinned(kafka: str) -> Version:
    return _held(kafka, PINNED_PROTOCOL)


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
    _kraft("4.4.0"),
)
"""Those of the matrix, which `all` stands for. Oldest first; the pinned ones after the plain ones with ZooKeeper."""
OF_EXHIBITS: Final[tuple[Version, ...]] = (
    _zookeeper("0.11.0.0"),
    _zookeeper("2.1.1"),
    _zookeeper("2.8.1"),
    _zookeeper("3.1.0"),
    _zookeeper("3.1.1"),
    _zookeeper("3.2.2"),
    _zookeeper("3.2.3"),
    _zookeeper("3.5.1", "-zk"),
    _kraft("3.5.1", "-kraft"),
)
"""Versions that exhibits of the museum name (harness/bugs.py), because a bug was fixed in the next release of its line.
They are run where they are named, and no other scenario is run on them by `all`.
"""
KNOWN: Final[tuple[Version, ...]] = (*ALL, *OF_EXHIBITS)


def own_protocol(version: Version) -> dict[str, str]:
    """The settings that hold a version at the protocol and the message format of its own release, as brokers are given
    them before an upgrade (Kafka documentation, Upgrading); none with KRaft, and none before there was such a setting.

    >>> own_protocol(get("1.1.1"))
    {'inter.broker.protocol.version': '1.1', 'log.message.format.version': '1.1'}
    >>> own_protocol(get("3.9.2-zk"))
    {'inter.broker.protocol.version': '3.9'}

    Of a pair they are set if the newer one knows them: brokers that do not know a setting say so in their logs and
    start all the same (VerifiableProperties.verify of 0.8.2.2, AbstractConfig.logUnused of 0.9.0.1).

    >>> own_protocol(get("0.9.0.1-to-0.10.2.2"))
    {'inter.broker.protocol.version': '0.9.0', 'log.message.format.version': '0.9.0'}
    """
    newest = version.pair[1].release if version.pair else version.release
    if version.mode == "kraft" or newest < HAS_PROTOCOLS.release:
        return {}
    line = ".".join(map(str, line_of(version.release)))
    formats = newest >= HAS_FORMATS.release and version.release < IGNORES_FORMATS.release
    return {PROTOCOL: line} | ({FORMAT: line} if formats else {}) | dict(version.settings)


# Pairs: which release a cluster can be upgraded to, as Kafka's documentation has it (Upgrading). With ZooKeeper: from
# any release to any later one, up to 3.9; from 3.6 on only from 2.4 on (KIP-902). With KRaft: from 3.3 on to any later
# one, since 4.0 takes no metadata version before 3.3. A build of one's own may have the number of the release that it
# replaces.


def follows(after: Version, before: Version) -> bool:
    """Whether a version may come after another: it is newer, or another build of the same number."""
    if after.release == before.release:
        return after.build != before.build
    return after.release > before.release


def same_protocol(before: Version, after: Version) -> bool:
    """Whether two versions have one protocol and one metadata version: those of one line, such as 2.8.1 and 2.8.2.

    Nothing is left to raise then, and the older one is never refused.
    """
    return line_of(before.release) == line_of(after.release)


def refuse_pair(before: Version, after: Version) -> None:
    """Raise UsageError, in a line, for two versions of which the first cannot be upgraded to the second."""
    what = f"{before.id} cannot be upgraded to {after.id}"
    for one in (before, after):
        if one.pair is not None:
            raise UsageError(f"{one.id} is an upgrade already: name two versions")
        if one.settings:
            raise UsageError(f"{what}: {one.id} is held at an older protocol; name releases with their own protocol")
    if before.mode != after.mode:
        keep = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}
        raise UsageError(
            f"{what}: the one has its metadata in {keep[before.mode]}, the other in {keep[after.mode]}; a cluster is "
            "migrated on one release of 3.4 to 3.9 (migration-to-kraft), which is no upgrade"
        )
    if after.build == before.build:
        raise UsageError(f"{what}: it is the same; name a newer release, or with --kafka a build of your own")
    if not follows(after, before):
        raise UsageError(f"{what}: it is older; name the older one first (upgrade-downgrade goes there and back)")
    if after.release < API_VERSIONS.release:
        raise UsageError(
            f"{what}: brokers before 0.10 do not say which requests they take (KIP-35), so nothing proves the upgrade; "
            "name 0.10.0.0 or later"
        )
    if (
        after.mode == "zookeeper"
        and before.release < SERVER_OF_ZOOKEEPER_3_5.release
        and after.release >= CLIENT_OF_ZOOKEEPER_3_8.release
    ):
        raise UsageError(
            f"{what}: 3.6 and later cannot use the ZooKeeper of Kafka before 2.4 (KIP-902); upgrade to a release of "
            "2.4 to 3.5 first"
        )


def upgraded(before: Version, after: Version) -> Version:
    """A cluster of one version that is upgraded to another.

    Raises UsageError, in one line, if it cannot be.
    """
    refuse_pair(before, after)
    return replace(before, id=f"{before.id}{TO}{after.id}", pair=(before, after))


def modes(release: Release) -> tuple[Mode, ...]:
    """The modes that a release has, with ZooKeeper first."""
    zookeeper: tuple[Mode, ...] = ("zookeeper",) if release < KRAFT_ONLY.release else ()
    return (*zookeeper, "kraft") if release >= KRAFT_SINCE.release else zookeeper


def ways(kafka: str) -> tuple[str, ...]:
    """The names of a release, one for each way to run it, those that are held at an older protocol apart.

    >>> ways("2.8.2"), ways("3.9.2"), ways("4.3.1")
    (('2.8.2',), ('3.9.2-zk', '3.9.2-kraft'), ('4.3.1',))
    """
    return (f"{kafka}-zk", f"{kafka}-kraft") if len(modes(numbers(kafka))) == 2 else (kafka,)


def protocols(kafka: str) -> tuple[str, ...]:
    """The older protocols that a release can be held at, oldest first, as its brokers take their names."""
    release = numbers(kafka)
    if not HAS_PROTOCOLS.release <= release < KRAFT_ONLY.release:
        return ()
    lines = dict.fromkeys(line_of(numbers(one)) for one in apache.releases())
    return tuple(".".join(map(str, line)) for line in lines if line < line_of(release))


def _parsed(name: str) -> Version:
    match = NAME.fullmatch(name)
    if match is None:
        raise unknown_name("version", name, [version.id for version in KNOWN], hint="`kafka-chaos list --versions`")
    kafka, way = match[1], match[2] or ""
    if kafka not in apache.releases():
        raise apache.UnknownRelease(kafka)
    return _run_as(Build(kafka=kafka), way)


def of_build(build: Build, name: str) -> Version:
    """An own build in a way to run it: the way alone ("zk", "kraft", "pinned", "protocol-2.3"), or behind the build's
    version; "" if there is but one.

    Raises UsageError for a way that it has not, and for the name of another version.
    """
    way = name.removeprefix(build.kafka)
    if way == name and (match := NAME.fullmatch(name)) is not None:
        if numbers(match[1]) != build.release:
            raise UsageError(f"--version {name}: the build says itself that it is {build.kafka}")
        way = match[2] or ""
    return _run_as(build, way.removeprefix("-"))


def _run_as(build: Build, way: str) -> Version:
    kafka, release, plain = build.kafka, build.release, " or ".join(ways(build.kafka))
    if way in ("", "zk", "kraft") and release >= KRAFT_ONLY.release:
        if way == "zk":
            raise UsageError(f"Kafka {kafka} has no ZooKeeper, which 4.0 removed: ask for {plain}")
        return _kraft(build)
    if way == "kraft" and release < KRAFT_SINCE.release:
        raise UsageError(f"Kafka {kafka} has no KRaft for production, which came with 3.3 (KIP-833): ask for {plain}")
    if way in ("", "zk", "kraft") and release < KRAFT_SINCE.release:
        return _zookeeper(build)
    if way == "":
        raise UsageError(f"Kafka {kafka} runs with ZooKeeper or with KRaft: ask for {plain}")
    if way in ("zk", "kraft"):
        return _zookeeper(build, "-zk") if way == "zk" else _kraft(build, "-kraft")
    return _of_protocol(build, way, plain)


def _of_protocol(build: Build, way: str, plain: str) -> Version:
    kafka = build.kafka
    match = HELD.fullmatch(way)
    protocol = PINNED_PROTOCOL if way == "pinned" else match[1] if match else ""
    if not protocol:
        raise UsageError(
            f"there is no way {way!r} to run Kafka {kafka}: write -zk, -kraft, -pinned or -protocol-<older line>, such "
            f"as 2.6.3-protocol-2.3; ask for {plain}"
        )
    older = protocols(kafka)
    if protocol not in older:
        why = (
            f"it can be held at {older[0]} to {older[-1]}"
            if older
            else "inter.broker.protocol.version is of 0.9 to 3.9, with ZooKeeper"
        )
        raise UsageError(f"Kafka {kafka} cannot be held at protocol {protocol}: {why}; ask for {plain}")
    return _held(build, protocol)


def get(name: str) -> Version:
    """The version of this name: any release that is known (harness/cluster/apache.py), in a way that it can be run.

    Raises UsageError, in one line, for what is no release (apache.UnknownRelease), with the nearest that there are, for
    a way that a release has not, and for two releases of which the first is not upgraded to the second.
    """
    before, to, after = name.partition(TO)
    if to:
        return upgraded(get(before), get(after))
    return _BY_ID.get(name) or _parsed(name)


_BY_ID: Final[Mapping[str, Version]] = {version.id: version for version in KNOWN}


def releases() -> tuple[str, ...]:
    """The Kafka releases named by `KNOWN`, each once: one image and one committed jar lock each."""
    return tuple(dict.fromkeys(version.kafka for version in KNOWN))
