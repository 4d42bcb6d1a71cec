"""Which release a broker is, from what it answers to ApiVersions: the newest version of each request that it takes.

No request tells a broker's release. But each release takes newer versions of some requests, and none of them between
patch releases (compared over all tags from 2.4.1 to 3.8.0), so the newest versions tell "2.8", never "2.8.2".

`RELEASES` is read from Kafka itself:

- up to 2.3 from the class `ApiKeys` of kafka-clients 0.10.0.1, 0.10.1.1, 0.10.2.2, 0.11.0.3, 1.0.2, 1.1.1, 2.0.1,
  2.1.1, 2.2.2 and 2.3.1
- from 2.4 to 3.8 from the request files under clients/src/main/resources/common/message at the tags
- from then on from `ApiKeys` of 3.9.2, 4.0.2, 4.1.2, 4.2.0, 4.3.1 and 4.4.0, whose unstable versions brokers do not
  offer

Only requests that a broker answers itself are in it: what it
offers of those that it forwards depends on its controller (`ApiVersionsResponse.intersectForwardableApis`).

Between 3.3 and 3.4 only a request between brokers changed, which KRaft does not have: there the newest metadata.version
that the broker supports tells them apart. A broker whose messages are held at a format before 0.11 does not offer
transactions (`ApiKeys.minRequiredInterBrokerMagic`), so 3.5 and 3.6 look the same then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

PRODUCE, FETCH, LIST_OFFSETS, METADATA, UPDATE_METADATA, OFFSET_FETCH = 0, 1, 2, 3, 6, 9
LIST_GROUPS, API_VERSIONS, ADD_PARTITIONS_TO_TXN, DESCRIBE_CONFIGS = 16, 18, 24, 32
DESCRIBE_LOG_DIRS, UNREGISTER_BROKER, STREAMS_TOPOLOGY = 35, 64, 93

MAY_BE_MISSING: Final = frozenset({UPDATE_METADATA, ADD_PARTITIONS_TO_TXN})
"""Requests that brokers of a release may or may not offer: how they are run decides it."""

CHANGES: Final[tuple[tuple[str, Mapping[int, int]], ...]] = (
    (
        "0.10.0",
        {PRODUCE: 2, FETCH: 2, LIST_OFFSETS: 0, METADATA: 1, UPDATE_METADATA: 2, OFFSET_FETCH: 1},
    ),
    ("0.10.1", {FETCH: 3, LIST_OFFSETS: 1, METADATA: 2}),
    ("0.10.2", {UPDATE_METADATA: 3, OFFSET_FETCH: 2}),
    (
        "0.11.0",
        {
            PRODUCE: 3,
            FETCH: 5,
            LIST_OFFSETS: 2,
            METADATA: 4,
            OFFSET_FETCH: 3,
            ADD_PARTITIONS_TO_TXN: 0,
            DESCRIBE_CONFIGS: 0,
        },
    ),
    ("1.0", {PRODUCE: 5, FETCH: 6, METADATA: 5, UPDATE_METADATA: 4, DESCRIBE_LOG_DIRS: 0}),
    ("1.1", {FETCH: 7, DESCRIBE_CONFIGS: 1}),
    (
        "2.0",
        {
            PRODUCE: 6,
            FETCH: 8,
            LIST_OFFSETS: 3,
            METADATA: 6,
            OFFSET_FETCH: 4,
            ADD_PARTITIONS_TO_TXN: 1,
            DESCRIBE_CONFIGS: 2,
            DESCRIBE_LOG_DIRS: 1,
        },
    ),
    ("2.1", {PRODUCE: 7, FETCH: 10, LIST_OFFSETS: 4, METADATA: 7, OFFSET_FETCH: 5}),
    ("2.2", {LIST_OFFSETS: 5, UPDATE_METADATA: 5}),
    ("2.3", {FETCH: 11, METADATA: 8}),
    ("2.4", {PRODUCE: 8, METADATA: 9, UPDATE_METADATA: 6, OFFSET_FETCH: 6}),
    ("2.5", {OFFSET_FETCH: 7}),
    ("2.6", {DESCRIBE_CONFIGS: 3, DESCRIBE_LOG_DIRS: 2}),
    ("2.7", {FETCH: 12, ADD_PARTITIONS_TO_TXN: 2}),
    (
        "2.8",
        {
            PRODUCE: 9,
            LIST_OFFSETS: 6,
            METADATA: 11,
            UPDATE_METADATA: 7,
            ADD_PARTITIONS_TO_TXN: 3,
            DESCRIBE_CONFIGS: 4,
        },
    ),
    ("3.0", {LIST_OFFSETS: 7, OFFSET_FETCH: 8}),
    ("3.1", {FETCH: 13, METADATA: 12}),
    ("3.2", {DESCRIBE_LOG_DIRS: 3}),
    ("3.3", {DESCRIBE_LOG_DIRS: 4}),
    ("3.4", {UPDATE_METADATA: 8}),
    ("3.5", {FETCH: 15, LIST_OFFSETS: 8}),
    ("3.6", {ADD_PARTITIONS_TO_TXN: 4}),
    ("3.7", {PRODUCE: 10, FETCH: 16, OFFSET_FETCH: 9}),
    ("3.8", {PRODUCE: 11, ADD_PARTITIONS_TO_TXN: 5}),
    ("3.9", {FETCH: 17, LIST_OFFSETS: 9}),
    ("4.0", {PRODUCE: 12, LIST_OFFSETS: 10, METADATA: 13}),
    ("4.1", {PRODUCE: 13, FETCH: 18}),
    ("4.2", {LIST_OFFSETS: 11, OFFSET_FETCH: 10}),
    ("4.3", {DESCRIBE_LOG_DIRS: 5}),
    ("4.4", {STREAMS_TOPOLOGY: 0}),
)
"""What each release takes newer versions of than the one before it: request → newest version."""


def _accumulated() -> Iterator[tuple[str, Mapping[int, int]]]:
    newest: dict[int, int] = {}
    for release, changes in CHANGES:
        newest = newest | dict(changes)
        yield release, newest


RELEASES: Final[Mapping[str, Mapping[int, int]]] = dict(_accumulated())
"""Oldest first: release → request → newest version that its brokers take."""

METADATA_VERSIONS: Final[tuple[str, ...]] = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1"),
    *("3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0"),
    *("3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0"),
    *("4.4-IV0", "4.4-IV1", "4.4-IV2"),
)
"""The names of the levels of KRaft's feature metadata.version, from level 1 on: `MetadataVersion` of 3.8.0 up to
3.3-IV2, then of 4.4.0.
"""


def metadata_version(level: int) -> str | None:
    """The name of a level of metadata.version, or None if it is later than what is known here.

    >>> metadata_version(8), metadata_version(99)
    ('3.4-IV0', None)
    """
    return METADATA_VERSIONS[level - 1] if 1 <= level <= len(METADATA_VERSIONS) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Which releases a broker may be, and how sure that is."""

    oldest: str | None
    """The oldest that it may be; None if it answers as nothing that is known."""
    how: str
    """How that is known, for people."""


def release(offered: Mapping[int, int], newest_metadata_version: int = 0) -> Release:
    """The release of a broker that offers these requests (request → newest version).

    `newest_metadata_version` is the highest level of it that the broker supports, 0 if it does not say so.

    >>> release({0: 9, 1: 12, 2: 6, 3: 11, 6: 7, 9: 7, 18: 3, 24: 3, 32: 4, 35: 2}).oldest
    '2.8'
    """
    if API_VERSIONS not in offered:
        if LIST_GROUPS in offered:
            return Release(oldest="0.9.0", how="it knows ListGroups (0.9) and not ApiVersions (0.10)")
        return Release(oldest="0.8", how="it knows neither ApiVersions (0.10) nor ListGroups (0.9)")
    fits = [name for name, newest in RELEASES.items() if _fits(newest, offered)]
    if (level := metadata_version(newest_metadata_version)) and len(fits) > 1:
        fits = [name for name in fits if name == level.partition("-")[0]] or fits
    if fits:
        which = " or ".join(fits)
        return Release(oldest=fits[0], how=f"ApiVersions: what brokers of {which} offer; the patch release is not told")
    last = CHANGES[-1][0]
    reached = [name for name, newest in RELEASES.items() if _reaches(newest, offered)]
    if not reached:
        return Release(oldest=None, how="ApiVersions: it offers what no release of Apache Kafka from 0.10.0 on does")
    if reached[-1] == last:
        return Release(oldest=last, how=f"ApiVersions: it offers all that {last} does, and more: a later release")
    how = f"ApiVersions: it offers what no release of Apache Kafka does, and all that {reached[-1]} does"
    return Release(oldest=reached[-1], how=how)


def mode(offered: Mapping[int, int]) -> Literal["zookeeper", "kraft"] | None:
    """How a broker's cluster is run, if that shows. Controllers tell brokers of their partitions by UpdateMetadata with
    ZooKeeper only; UnregisterBroker came with KRaft (3.3) and no other broker offers it (`listeners` in the request
    files).
    """
    if UPDATE_METADATA in offered:
        return "zookeeper"
    return "kraft" if UNREGISTER_BROKER in offered else None


def _fits(newest: Mapping[int, int], offered: Mapping[int, int]) -> bool:
    known = CHANGED_SOME_TIME & (newest.keys() | offered.keys())
    return all(
        newest.get(request) == offered.get(request)
        for request in known
        if not (request in MAY_BE_MISSING and request not in offered)
    )


def _reaches(newest: Mapping[int, int], offered: Mapping[int, int]) -> bool:
    return all(
        offered.get(request, -1) >= version for request, version in newest.items() if request not in MAY_BE_MISSING
    )


CHANGED_SOME_TIME: Final = frozenset(request for _, changes in CHANGES for request in changes)
