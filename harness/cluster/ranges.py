"""Ranges of versions that outcomes are stated for, and sequences apply to: each a sentence and a test of a Version.

They lie beside Version so that a border between releases is drawn once, with its reason, however many scenarios ask for
it. A range that is only about a bug is the bug's own (`Bug.affected`, harness/bugs.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from evidence.releases import (
    ELIGIBLE_LEADERS_BY_DEFAULT,
    ELIGIBLE_LEADERS_KEPT,
    ELIGIBLE_LEADERS_SUPPORTED,
    IDEMPOTENT_IN_NAME,
    numbers,
)
from harness.cluster.versions import Version


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A named set of versions, such as "high-watermark truncation": what a documented outcome is stated for."""

    label: str
    holds: Callable[[Version], bool]

    def __or__(self, other: VersionRange) -> VersionRange:
        """The versions of either."""
        label = f"{self.label}, or {other.label}"
        return VersionRange(label, lambda version: self.holds(version) or other.holds(version))

    def __and__(self, other: VersionRange) -> VersionRange:
        """The versions of both."""
        label = f"{self.label}, {other.label}"
        return VersionRange(label, lambda version: self.holds(version) and other.holds(version))


def one_of(*ids: str) -> VersionRange:
    """The versions named."""
    return VersionRange(", ".join(ids), lambda version: version.id in ids)


def since(release: str, label: str) -> VersionRange:
    """A release and all later ones."""
    return VersionRange(label, lambda version: version.release >= numbers(release))


def before(release: str, label: str) -> VersionRange:
    """All releases before one."""
    return VersionRange(label, lambda version: version.release < numbers(release))


def between(release: str, end: str, label: str) -> VersionRange:
    """A release and all later ones, up to but without `end`."""
    return VersionRange(label, lambda version: numbers(release) <= version.release < numbers(end))


# The main lines

EVERY_VERSION: Final = VersionRange("every version", lambda version: True)
NO_VERSION: Final = VersionRange("no version", lambda version: False)
ZOOKEEPER: Final = VersionRange("ZooKeeper", lambda version: version.mode == "zookeeper")
KRAFT: Final = VersionRange("KRaft", lambda version: version.mode == "kraft")
HIGH_WATERMARK_TRUNCATION: Final = VersionRange(
    "followers truncate to the high watermark (before 0.11, or pinned to 0.10.2)",
    lambda version: version.truncates_to_high_watermark,
)
"""KIP-101: 0.10.2.2 truncates to the high watermark (ReplicaManager.makeFollowers), 0.11.0.0 asks the leader."""
LEADER_EPOCHS: Final = VersionRange(
    "followers truncate by leader epoch (KIP-101, 0.11 and later)", lambda version: version.leader_epochs
)
TRUNCATES_BY_EPOCH_WITH_ZOOKEEPER: Final = VersionRange(
    "ZooKeeper, and followers that truncate by leader epoch (KIP-101, 0.11 and later)",
    lambda version: version.mode == "zookeeper" and version.leader_epochs,
)
# Eligible leader replicas (KIP-966). The borders, and why there are three, are in evidence/releases.py.

LAST_KNOWN_LEADER: Final = VersionRange(
    "eligible leader replicas (KIP-966, on in new clusters from 4.1 on)",
    lambda version: version.mode == "kraft" and version.release >= ELIGIBLE_LEADERS_BY_DEFAULT,
)
"""Clusters of ours are new, so they have them from there on."""
ELIGIBLE_LEADERS_OPTIONAL: Final = VersionRange(
    "eligible leader replicas can be turned on (KIP-966, 4.0)",
    lambda version: ELIGIBLE_LEADERS_SUPPORTED <= version.release < ELIGIBLE_LEADERS_BY_DEFAULT,
)
ELIGIBLE_LEADERS_FORGOTTEN: Final = VersionRange(
    "eligible leader replicas that are forgotten (4.1 and 4.2)",
    lambda version: version.mode == "kraft" and ELIGIBLE_LEADERS_BY_DEFAULT <= version.release < ELIGIBLE_LEADERS_KEPT,
)
"""apache/kafka#20716, first in 4.3.0."""
ELIGIBLE_LEADERS_REMEMBERED: Final = VersionRange(
    "eligible leader replicas (KIP-966, 4.3 and later)",
    lambda version: version.mode == "kraft" and version.release >= ELIGIBLE_LEADERS_KEPT,
)

# Replication and the ISR

LAG_IN_MESSAGES: Final = before("0.9", "replica.lag.max.messages (0.8.2)")
"""KIP-16 took the setting away, first in 0.9.0.0."""
ISR_CHANGES_ANNOUNCED: Final = VersionRange(
    "ISR changes are announced in ZooKeeper (protocol 0.9 to 2.6)",
    lambda version: version.release >= (0, 9) and not version.uses_alter_partition,
)
"""From KAFKA-1367 (0.9.0.0) to KIP-497 (protocol 2.7)."""
ISR_SHRINK_HOLDS_BACK: Final = VersionRange(
    "the high watermark stays when an ISR shrinks, until the next record (protocol 2.7 to 3.0, KAFKA-13091)",
    lambda version: version.uses_alter_partition and version.release < (3, 1),
)
HIGH_WATERMARK_WAITS_TO_JOIN: Final = since(
    "0.10.2", "the high watermark waits for a replica that has caught up (KAFKA-4485, 0.10.2)"
)
"""Partition.maybeIncrementLeaderHW: by the ISR alone in 0.10.1.1, and by replicas that have caught up in 0.10.2.0."""
HIGH_WATERMARK_NEEDS_MIN_ISR: Final = since(
    "3.7", "the high watermark stays while the ISR is below min.insync.replicas (KAFKA-15583, 3.7)"
)
"""Partition.maybeIncrementLeaderHW: isUnderMinIsr is asked first from 3.7.0 on; 3.6.2 does not ask."""
FOLLOWERS_SERVE: Final = since("2.4", "followers serve consumers, if brokers have a replica selector (KIP-392, 2.4)")
"""replica.selector.class is first in 2.4.0 (KAFKA-8443)."""
PROTOCOL_OF_ITS_OWN: Final = VersionRange(
    "brokers with the protocol of their own release", lambda version: not version.settings
)
FETCHES_HOLD_UP: Final = before(
    "1.1", "a follower of a leader that answers nothing is held up by its last fetch (before 1.1, KAFKA-6051)"
)
"""A broker that becomes leader or follower waits there for its fetcher to end, and takes no news of leaders meanwhile:
up to 30 s, in which it tells clients of the old leader (ReplicaFetcherManager.shutdownIdleFetcherThreads). In 1.0.2
ReplicaFetcherThread.shutdown waits for the thread and closes its connection then; from 1.1.0 on initiateShutdown closes
it first (KAFKA-6051)."""
FETCHES_END: Final = since("1.1", "a follower's last fetch holds nothing up (1.1 and later, KAFKA-6051)")
HANGS_RATHER_THAN_TRUNCATES: Final = between(
    "0.10.0.1", "0.11", "followers hang in their own end rather than truncate what is committed (0.10.0.1 to 0.10.2)"
)
"""ReplicaFetcherThread calls Runtime.halt in 0.10.0.0, System.exit from 0.10.0.1 on (KAFKA-3924), which hangs, and
throws FatalExitError from 0.11.0.0 on (KAFKA-4039)."""
ENDS_RATHER_THAN_TRUNCATES: Final = before(
    "2.0.1", "followers exit rather than truncate committed records (0.8.2, 0.9, 0.11 to 2.0.0)"
)
"""The releases that hang are among these: they begin to end themselves. 2.0.0 throws FatalExitError where the leader's
log is shorter (ReplicaFetcherThread.handleOffsetOutOfRange), 2.0.1 does not (KAFKA-7414)."""
FAILS_SINGLE_PARTITIONS: Final = since("2.3", "followers that give up single partitions (KIP-461, 2.3 and later)")

# Controllers, elections, registrations

DEAD_CONTROLLER_STAYS_IN_ISR: Final = before("2.3", "before 2.3")
"""A new controller looks only after the partitions whose leader has died, so one that was killed stays in the ISR where
it followed (KAFKA-3143)."""
REBOOTED_FOLLOWER_LOSES: Final = HIGH_WATERMARK_TRUNCATION & DEAD_CONTROLLER_STAYS_IN_ISR
"""A follower that restarts truncates what it had acknowledged, and is still in the ISR: it may be elected so."""
UNCLEAN_BY_DEFAULT: Final = before("0.11", "before 0.11")
"""unclean.leader.election.enable is true by default (KIP-106)."""
COORDINATORS_READ_TO_HIGH_WATERMARK: Final = before(
    "0.11", "coordinators read their partitions up to the high watermark (before 0.11)"
)
"""GroupMetadataManager.loadGroupsForPartition: up to getHighWatermark in 0.10.2.2, to getLogEndOffset in 0.11.0.0."""
CONTROLLER_BY_ONE_TRANSACTION: Final = ZOOKEEPER & since(
    "2.1", "/controller and its epoch are written in one transaction (2.1, KAFKA-6082)"
)
CONTROLLER_IS_FENCED_BEFORE_FOLLOWERS_LEAVE: Final = ZOOKEEPER & between(
    "2.1", "2.3", "old controllers are fenced, and new ones do not look after dead followers (2.1 and 2.2)"
)
"""KAFKA-6082 came with 2.1.0 and KAFKA-3143 was mended in 2.3.0: between them an old controller has something to write
that no new one has written."""
CONTROLLER_IS_NOT_FENCED: Final = ZOOKEEPER & before("2.1", "old controllers are not fenced (before 2.1, KAFKA-6082)")
PREFERRED_ELECTION_BY_ZNODE: Final = VersionRange(
    "asked for in a znode (before 2.2)", lambda version: not version.has_elect_leaders
)
"""KIP-183: ElectLeaders is first in 2.2.0."""
REASSIGNMENT_BY_ZNODE: Final = VersionRange(
    "asked for in a znode (before 2.4)", lambda version: not version.has_alter_reassignments
)
"""KIP-455: AlterPartitionReassignments is first in 2.4.0."""
ISR_CHANGES_IN_ZOOKEEPER: Final = VersionRange(
    "leaders write ISRs to ZooKeeper themselves (to protocol 2.6)",
    lambda version: version.mode == "zookeeper" and not version.uses_alter_partition,
)
"""KIP-497: protocol 2.7 asks the controller."""
RACKS: Final = since("0.10", "brokers name their racks (KIP-36, 0.10)")
"""broker.rack is first in 0.10.0.0."""
WAITS_FOR_OLD_REGISTRATION: Final = before("0.9", "before 0.9")
"""A broker whose id is registered waits until that is gone (0.8.2.2, ZkUtils:
createEphemeralPathExpectConflictHandleZKBug); later ones with ZooKeeper end themselves (0.9.0.1, ZKCheckedEphemeral,
KAFKA-1387)."""
BROKER_IDS_GENERATED: Final = ZOOKEEPER & since("0.9", "brokers without an id get one (KAFKA-1070, 0.9)")
"""KRaft has no such thing: node.id must be set, and directories are formatted with it."""
SESSIONS_BY_MONOTONIC_CLOCK: Final = since(
    "2.4", "sessions with ZooKeeper go by a monotonic clock (2.4, ZOOKEEPER-1366)"
)
TOPICS_BY_REQUEST: Final = VersionRange(
    "topics can be deleted by request (0.10.1 and later)", lambda version: version.has_create_topics
)
"""KIP-4: CreateTopics and DeleteTopics are first in 0.10.1.0."""
DYNAMIC_BROKER_SETTINGS: Final = VersionRange(
    "broker settings that can be changed (KIP-226, 1.1 and later)",
    lambda version: version.protocol >= (1, 1),
)
MIGRATES_TO_KRAFT: Final = VersionRange(
    "ZooKeeper, and a migration to KRaft (KIP-866, 3.4 and later)", lambda version: version.can_migrate
)
BESIDE_PROTOCOL_2_0: Final = VersionRange(
    "ZooKeeper, and protocol 2.0 beside the own one (2.0 and later)",
    lambda version: version.mode == "zookeeper" and version.protocol >= (2, 0),
)

# Logs and disks

OLD_MESSAGE_FORMATS: Final = VersionRange(
    "message formats 0 and 1 (before 0.11, or pinned to 0.10.2)", lambda version: version.truncates_to_high_watermark
)
"""KIP-98: format 2 is first in 0.11.0.0."""
TIME_STAMPS: Final = since("0.10", "records have time stamps (KIP-32, 0.10)")
TIMES_SEARCHED: Final = since("0.10.1", "logs are searched by time (KIP-33, KIP-79, 0.10.1)")
FORMAT_2: Final = VersionRange(
    "message format 2 (KIP-98, 0.11 and later, unless pinned to 0.10.2)",
    lambda version: not version.truncates_to_high_watermark,
)
TOPICS_COMPRESS: Final = since("0.9", "topics have a compression.type (KAFKA-1499, 0.9)")
TOPICS_HAVE_FORMATS: Final = between("0.11", "3.0", "topics may have an older message format (0.11 to 2.8)")
"""message.format.version came with 0.10.0 (KIP-32), format 2 with 0.11.0 (KIP-98). From protocol 3.0 on the setting is
not looked at (KIP-724)."""
TIME_STAMPS_BOUNDED: Final = since("4.0", "time stamps are bounded by default (KIP-937, 4.0)")
FOLLOWERS_FOLLOW_LOG_START: Final = since("0.11", "followers follow the leader's log start (0.11)")
"""KIP-107: the log start is in answers to fetches from 0.11.0.0 on."""
DELETION_REASON_LOGGED: Final = since("1.0", "brokers say why they delete (1.0)")
DELETES_RECORDS: Final = since("0.11", "records can be deleted (KIP-107, 0.11 and later)")
LOG_DIRECTORIES_FAIL: Final = since("1.0", "brokers take log directories for broken (KIP-112, 1.0 and later)")
BAD_NUMBERS_FAIL_DIRECTORIES: Final = between(
    "1.0", "3.1", "a checkpoint with a bad number breaks its log directory (1.0 to 3.0)"
)
"""CheckpointFile.scala turned NumberFormatException into IOException from 1.0.0 to 3.0.2. What replaced it in 3.1.0
does so for the two lines of its head alone (CheckpointFile.java, 923bc2e9f78)."""
REPLICAS_MOVE: Final = VersionRange(
    "replicas can be moved between log directories (KIP-113, 1.1; with KRaft KIP-858, 3.7)",
    lambda version: version.release >= ((1, 1) if version.mode == "zookeeper" else (3, 7)),
)
BROKERS_SET_BY_REQUEST: Final = since("2.3", "brokers' settings are changed by request (KIP-339, 2.3)")
GOES_ON_WITH_OTHER_DIRECTORIES: Final = since("1.0", "a broker continues with its other log directories (KIP-112, 1.0)")

# Producers, transactions, groups

TRANSACTIONS: Final = since("0.11", "transactions (KIP-98, 0.11 and later)")
TRANSACTIONS_VERIFIED: Final = since("3.6", "transactions that leaders verify (KIP-890, 3.6 and later)")
TRANSACTIONS_RAISE_THE_EPOCH: Final = since("4.0", "brokers and Java clients of 4.0 and later")
"""With each transaction (KIP-890, transaction.version 2)."""
TRANSACTIONS_KEEP_THE_EPOCH: Final = before("4.0", "brokers and Java clients before 4.0")
"""KIP-890."""
IDEMPOTENT_PRODUCERS: Final = since("0.11", "idempotent producers (KIP-98, 0.11 and later)")
IDEMPOTENCE: Final = VersionRange(
    "idempotent producers (KIP-98, 0.11 and later, and a message format that has room for them)",
    lambda version: version.release >= (0, 11) and "log.message.format.version" not in version.settings,
)
JAVA_TRIES_ONCE: Final = before("2.1", "retries is 0 by default (Java clients before 2.1)")
"""KIP-91: 2.1.0 has retries without end and delivery.timeout.ms."""
JAVA_RETRIES: Final = VersionRange(
    "retries without end and no idempotence by default (Java clients 2.1 to 2.8, 3.0.0 and 3.1.0; KIP-91, KAFKA-13598)",
    lambda version: (2, 1) <= version.release < (3,) or version.release in IDEMPOTENT_IN_NAME,
)
"""KIP-91 is in 2.1.0. KIP-679 made 3.0.0 idempotent by default, but not in force before 3.0.1 and 3.1.1."""
JAVA_IDEMPOTENT: Final = since("3.0", "idempotent by default (Java clients of 3.0 and later, KIP-679)")
JAVA_SINCE_2_8: Final = since("2.8", "Java clients of 2.8 and later")
"""Those that KAFKA-19012 is about."""
OFFSETS_KEPT_BY_KAFKA: Final = since("0.9", "groups whose offsets Kafka keeps (0.9 and later)")
"""The consumer of KAFKA-1326 and its coordinator are first in 0.9.0.0."""
MEMBERS_PROCESS_IN_TIME: Final = since("0.10.1", "members with a time to process (KIP-62, 0.10.1 and later)")
"""max.poll.interval.ms, apart from the session."""
OFFSETS_OF_MEMBERS_IN_TRANSACTIONS: Final = since("2.5", "transactions that name the member (KIP-447, 2.5 and later)")
STATIC_MEMBERS_TOLD: Final = since("2.4", "static members that coordinators tell of (KIP-345, 2.4 and later)")
OFFSETS_EXPIRE_BY_TOPIC: Final = since("2.4", "offsets expire by topic (KIP-496, 2.4 and later)")
GROUP_COORDINATOR_OF_4: Final = since("4.0", "the group coordinator of 4.0 and later")
"""KIP-848."""
