"""Which release of Kafka a cluster can be upgraded to, as Kafka's documentation has it (Upgrading).

A pair of versions is the one that a cluster begins with and the one that its nodes are upgraded to. Its name has both,
"2.4.1-to-2.8.1": a way to run the first one (harness/cluster/versions.py). So two pairs share no cell and no resumed
run.

Kafka's documentation has one rule for each way to keep the metadata. With ZooKeeper: from any release to any later one,
up to 3.9; from 3.6 on only from 2.4 on (KIP-902). With KRaft: from 3.3 on to any later one, since 4.0 takes no metadata
version before 3.3. A build of one's own may have the number of the release that it replaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evidence.borders import API_VERSIONS, CLIENT_OF_ZOOKEEPER_3_8, SERVER_OF_ZOOKEEPER_3_5
from evidence.errors import UsageError
from evidence.releases import line_of

if TYPE_CHECKING:
    from harness.cluster.versions import Version

TO: Final = "-to-"
"""Between the names of the two versions of a pair."""


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


def refuse(before: Version, after: Version) -> None:
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
