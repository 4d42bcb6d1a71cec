"""Ranges of versions that outcomes are stated for, and sequences apply to: each a sentence and a test of a Version.

They lie beside Version so that each has one name, however many scenarios ask for it. The borders between releases that
they are made of, with a source on both sides, are in evidence/borders.py. A range that is only about a bug is the bug's
own (`Bug.affected`, harness/bugs.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from evidence import borders
from evidence.borders import JAVA_IDEMPOTENT_IN_FACT, Border
from evidence.releases import numbers
from harness.cluster.versions import Version, same_protocol


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A named set of versions, such as "high-watermark truncation": what a documented outcome is stated for."""

    label: str
    holds: Callable[[Version], bool]
    borders: tuple[Border, ...]
    """Where it begins and ends; empty for what no release decides, and for a bug, which names its own releases."""

    def __or__(self, other: VersionRange) -> VersionRange:
        """The versions of either."""
        label = f"{self.label}, or {other.label}"
        return VersionRange(
            label, lambda version: self.holds(version) or other.holds(version), self.borders + other.borders
        )

    def __and__(self, other: VersionRange) -> VersionRange:
        """The versions of both."""
        label = f"{self.label}, {other.label}"
        return VersionRange(
            label, lambda version: self.holds(version) and other.holds(version), self.borders + other.borders
        )


def upgraded_to(line: VersionRange) -> VersionRange:
    """The pairs whose second version is in a range."""
    return VersionRange(
        f"upgraded to: {line.label}",
        lambda version: version.pair is not None and line.holds(version.pair[1]),
        line.borders,
    )


def one_of(*ids: str) -> VersionRange:
    """The versions named."""
    return VersionRange(", ".join(ids), lambda version: version.id in ids, ())


def since(border: Border, label: str) -> VersionRange:
    """The releases from a border on."""
    return VersionRange(label, lambda version: version.release >= border.release, (border,))


def before(border: Border, label: str) -> VersionRange:
    """The releases before a border."""
    return VersionRange(label, lambda version: version.release < border.release, (border,))


def between(border: Border, end: Border, label: str) -> VersionRange:
    """The releases from a border on, up to another."""
    return VersionRange(label, lambda version: border.release <= version.release < end.release, (border, end))


def since_protocol(border: Border, label: str) -> VersionRange:
    """The versions whose protocol in force is at a border or later: a release may be held at an older one."""
    return VersionRange(label, lambda version: version.protocol >= border.release, (border,))


# The main lines

EVERY_VERSION: Final = VersionRange("every version", lambda version: True, ())
NO_VERSION: Final = VersionRange("no version", lambda version: False, ())
ZOOKEEPER: Final = VersionRange("ZooKeeper", lambda version: version.mode == "zookeeper", ())
KRAFT: Final = VersionRange("KRaft", lambda version: version.mode == "kraft", ())
HIGH_WATERMARK_TRUNCATION: Final = VersionRange(
    "followers truncate to the high watermark (before 0.11, or pinned to 0.10.2)",
    lambda version: version.truncates_to_high_watermark,
    (borders.LEADER_EPOCHS,),
)
LEADER_EPOCHS: Final = since_protocol(
    borders.LEADER_EPOCHS, "followers truncate by leader epoch (KIP-101, 0.11 and later)"
)
TRUNCATES_BY_EPOCH_WITH_ZOOKEEPER: Final = VersionRange(
    "ZooKeeper, and followers that truncate by leader epoch (KIP-101, 0.11 and later)",
    lambda version: version.mode == "zookeeper" and version.leader_epochs,
    (borders.LEADER_EPOCHS,),
)
PAIRS: Final = VersionRange(
    "any release that is upgraded to another (--upgrade-to)", lambda version: version.pair is not None, ()
)
UPGRADED_TO_EPOCHS_BY_FORMAT: Final = HIGH_WATERMARK_TRUNCATION & upgraded_to(
    between(
        borders.EPOCHS_BY_FORMAT,
        borders.IGNORES_FORMATS,
        "a log of an older message format has no epochs (KAFKA-7897, 2.1.1 to 2.8)",
    )
)
UPGRADED_BEFORE_EPOCHS: Final = HIGH_WATERMARK_TRUNCATION & upgraded_to(HIGH_WATERMARK_TRUNCATION)


def _is_arranged(version: Version) -> bool:
    """Whether two failures in a row can be arranged at every stage of an upgrade, and what follows is known.

    Before leader epochs the record must be above the followers' high watermarks when their leader dies: 2.4 and 2.5
    tell them at once. Whether a log of an older message format has epochs in 2.1.0 depends on what it was before.
    """
    if version.pair is None or version.leader_epochs:
        return version.pair is not None
    then = version.pair[1].release
    told = borders.HIGH_WATERMARK_TOLD_AT_ONCE.release <= then < borders.HIGH_WATERMARK_WAITS_FOR_FETCH.release
    return not told and not numbers("2.1") <= then < borders.EPOCHS_BY_FORMAT.release


TWO_FAILURES_ARRANGED: Final = VersionRange(
    "any release that is upgraded to another (--upgrade-to), but from before 0.11 none to 2.1.0, 2.4 or 2.5",
    _is_arranged,
    (
        borders.LEADER_EPOCHS,
        borders.EPOCHS_BY_FORMAT,
        borders.HIGH_WATERMARK_TOLD_AT_ONCE,
        borders.HIGH_WATERMARK_WAITS_FOR_FETCH,
    ),
)
SAYS_REQUESTS: Final = since(
    borders.API_VERSIONS, "brokers say which requests they take (KIP-35, 0.10), which proves that they are old again"
)
HAS_MORE_TO_RAISE: Final = VersionRange(
    "two lines of releases, whose protocols differ",
    lambda version: version.pair is None or not same_protocol(*version.pair),
    (),
)
# Eligible leader replicas (KIP-966, KRaft alone): replicas that left an ISR of min.insync.replicas, and may still lead.
# Three releases matter, and each question has its own border.

LAST_KNOWN_LEADER: Final = VersionRange(
    "eligible leader replicas (KIP-966, on in new clusters from 4.1 on)",
    lambda version: version.mode == "kraft" and version.release >= borders.ELIGIBLE_LEADERS_BY_DEFAULT.release,
    (borders.ELIGIBLE_LEADERS_BY_DEFAULT,),
)
"""Clusters of ours are new, so they have them from there on."""
ELIGIBLE_LEADERS_OPTIONAL: Final = between(
    borders.ELIGIBLE_LEADERS_SUPPORTED,
    borders.ELIGIBLE_LEADERS_BY_DEFAULT,
    "eligible leader replicas can be turned on (KIP-966, 4.0)",
)
ELIGIBLE_LEADERS_FORGOTTEN: Final = between(
    borders.ELIGIBLE_LEADERS_BY_DEFAULT,
    borders.ELIGIBLE_LEADERS_KEPT,
    "eligible leader replicas that are forgotten (4.1 and 4.2)",
)
ELIGIBLE_LEADERS_REMEMBERED: Final = since(
    borders.ELIGIBLE_LEADERS_KEPT, "eligible leader replicas (KIP-966, 4.3 and later)"
)

SHARE_GROUPS: Final = since(borders.SHARE_GROUPS, "share groups (KIP-932, on in new clusters from 4.2 on)")

DEAD_LETTERS: Final = since(borders.DEAD_LETTERS, "share groups may have a dead-letter topic (KIP-1191, 4.4)")

# Replication and the ISR

LAG_IN_MESSAGES: Final = before(borders.LAG_BY_TIME, "replica.lag.max.messages (0.8.2)")
ISR_CHANGES_ANNOUNCED: Final = VersionRange(
    "ISR changes are announced in ZooKeeper (protocol 0.9 to 2.6)",
    lambda version: version.release >= borders.ISR_CHANGES_ANNOUNCED.release and not version.uses_alter_partition,
    (borders.ISR_CHANGES_ANNOUNCED, borders.ASKS_CONTROLLER),
)
ISR_SHRINK_HOLDS_BACK: Final = VersionRange(
    "the high watermark stays when an ISR shrinks, until the next record (protocol 2.7 to 3.0, KAFKA-13091)",
    lambda version: version.uses_alter_partition and version.release < borders.ISR_SHRINK_RAISES.release,
    (borders.ASKS_CONTROLLER, borders.ISR_SHRINK_RAISES),
)
HIGH_WATERMARK_WAITS_TO_JOIN: Final = since(
    borders.HIGH_WATERMARK_WAITS_TO_JOIN,
    "the high watermark waits for a replica that has caught up (KAFKA-4485, 0.10.2)",
)
HIGH_WATERMARK_NEEDS_MIN_ISR: Final = since(
    borders.HIGH_WATERMARK_NEEDS_MIN_ISR,
    "the high watermark stays while the ISR is below min.insync.replicas (KAFKA-15583, 3.7)",
)
FOLLOWERS_SERVE: Final = since(
    borders.FOLLOWERS_SERVE, "followers serve consumers, if brokers have a replica selector (KIP-392, 2.4)"
)
PROTOCOL_OF_ITS_OWN: Final = VersionRange(
    "brokers with the protocol of their own release", lambda version: not version.settings, ()
)
CONTROLLER_CHANGES_ISR: Final = (
    ZOOKEEPER
    & PROTOCOL_OF_ITS_OWN
    & since(borders.ASKS_CONTROLLER, "the controller changes an ISR in ZooKeeper when its leader asks (KIP-497, 2.7)")
)
FETCHES_HOLD_UP: Final = before(
    borders.FETCHES_END,
    "a follower of a leader that answers nothing is held up by its last fetch (before 1.1, KAFKA-6051)",
)
"""A broker that becomes leader or follower waits there for its fetcher to end, and takes no news of leaders meanwhile:
up to 30 s, in which it tells clients of the old leader (ReplicaFetcherManager.shutdownIdleFetcherThreads)."""
FETCHES_END: Final = since(borders.FETCHES_END, "a follower's last fetch holds nothing up (1.1 and later, KAFKA-6051)")
TELLS_HIGH_WATERMARK_AT_ONCE: Final = between(
    borders.HIGH_WATERMARK_TOLD_AT_ONCE,
    borders.HIGH_WATERMARK_WAITS_FOR_FETCH,
    "followers learn the high watermark at once (2.4 and 2.5)",
)
"""Elsewhere a follower that has the last record learns that it is committed with its next fetch, which may wait."""
HANGS_RATHER_THAN_TRUNCATES: Final = between(
    borders.EXITS_GRACEFULLY,
    borders.FATAL_EXIT_ERROR,
    "followers hang in their own end rather than truncate what is committed (0.10.0.1 to 0.10.2)",
)
"""System.exit in the fetcher's thread waits for a shutdown, which waits for that thread."""
ENDS_RATHER_THAN_TRUNCATES: Final = before(
    borders.OUT_OF_RANGE_NEVER_FATAL,
    "followers exit rather than truncate committed records (0.8.2, 0.9, 0.11 to 2.0.0)",
)
"""The releases that hang are among these: they begin to end themselves."""
FAILS_SINGLE_PARTITIONS: Final = since(
    borders.FAILS_SINGLE_PARTITIONS, "followers that give up single partitions (KIP-461, 2.3 and later)"
)

# Controllers, elections, registrations

DEAD_CONTROLLER_STAYS_IN_ISR: Final = before(borders.CONTROLLER_LOOKS_AFTER_DEAD_FOLLOWERS, "before 2.3")
"""A new controller looks only after the partitions whose leader has died, so one that was killed stays in the ISR where
it followed."""
REBOOTED_FOLLOWER_LOSES: Final = HIGH_WATERMARK_TRUNCATION & DEAD_CONTROLLER_STAYS_IN_ISR
"""A follower that restarts truncates what it had acknowledged, and is still in the ISR: it may be elected so."""
CLEAN_STOP_ELECTS_BY_ISR: Final = before(
    borders.CLEAN_STOP_ELECTS_BY_ASSIGNMENT, "a clean stop elects the first of the ISR (before 0.10)"
)
UNCLEAN_BY_DEFAULT: Final = before(borders.UNCLEAN_OFF, "before 0.11")
"""unclean.leader.election.enable is true by default."""
UNCLEAN_IGNORED: Final = KRAFT & before(
    borders.UNCLEAN_IN_KRAFT, "unclean.leader.election.enable is ignored (before 3.9, KAFKA-12670)"
)
UNCLEAN_ON_REQUEST: Final = ZOOKEEPER | since(
    borders.UNCLEAN_IN_KRAFT, "unclean.leader.election.enable is looked at (KAFKA-12670, 3.9 and later)"
)
COORDINATORS_READ_TO_HIGH_WATERMARK: Final = before(
    borders.COORDINATORS_READ_TO_END, "coordinators read their partitions up to the high watermark (before 0.11)"
)
CONTROLLER_BY_ONE_TRANSACTION: Final = ZOOKEEPER & since(
    borders.CONTROLLER_FENCED, "/controller and its epoch are written in one transaction (2.1, KAFKA-6082)"
)
CONTROLLER_IS_FENCED_BEFORE_FOLLOWERS_LEAVE: Final = ZOOKEEPER & between(
    borders.CONTROLLER_FENCED,
    borders.CONTROLLER_LOOKS_AFTER_DEAD_FOLLOWERS,
    "old controllers are fenced, and new ones do not look after dead followers (2.1 and 2.2)",
)
"""An old controller has something to write that no new one has written."""
CONTROLLER_IS_NOT_FENCED: Final = ZOOKEEPER & before(
    borders.CONTROLLER_FENCED, "old controllers are not fenced (before 2.1, KAFKA-6082)"
)
PREFERRED_ELECTION_BY_ZNODE: Final = before(borders.ELECT_LEADERS, "asked for in a znode (before 2.2)")
REASSIGNMENT_BY_ZNODE: Final = before(borders.ALTER_REASSIGNMENTS, "asked for in a znode (before 2.4)")
ISR_CHANGES_IN_ZOOKEEPER: Final = VersionRange(
    "leaders write ISRs to ZooKeeper themselves (to protocol 2.6)",
    lambda version: version.mode == "zookeeper" and not version.uses_alter_partition,
    (borders.ASKS_CONTROLLER,),
)
REBALANCE_HEARS_LATE: Final = (
    since(borders.REBALANCE_ASKS_ISR, "an automatic rebalance asks for the ISR (KAFKA-9866, 2.6)")
    & ISR_CHANGES_IN_ZOOKEEPER
)
"""A rebalance knows an ISR there only when its leader has announced it."""
RACKS: Final = since_protocol(borders.RACKS, "brokers name their racks (KIP-36, protocol 0.10)")
WAITS_FOR_OLD_REGISTRATION: Final = before(borders.REFUSES_OLD_REGISTRATION, "before 0.9")
"""A broker whose id is registered waits until that is gone; later ones with ZooKeeper end themselves."""
BROKER_IDS_GENERATED: Final = ZOOKEEPER & since(
    borders.BROKER_IDS_GENERATED, "brokers without an id get one (KAFKA-1070, 0.9)"
)
"""KRaft has no such thing: node.id must be set, and directories are formatted with it."""
SESSIONS_BY_MONOTONIC_CLOCK: Final = since(
    borders.SESSIONS_BY_MONOTONIC_CLOCK, "sessions with ZooKeeper go by a monotonic clock (2.0, ZOOKEEPER-1366)"
)
DELAY_OF_FAILED_FETCHES_ALONE: Final = since(
    borders.DELAY_OF_FAILED_FETCHES_ALONE, "followers that wait after a failed fetch alone (KAFKA-9039, 2.5 and later)"
)
TOPICS_BY_REQUEST: Final = since(borders.TOPICS_BY_REQUEST, "topics can be deleted by request (0.10.1 and later)")
DYNAMIC_BROKER_SETTINGS: Final = since(
    borders.DYNAMIC_BROKER_SETTINGS, "broker settings that can be changed (KIP-226, 1.1 and later)"
)
MIGRATES_TO_KRAFT: Final = VersionRange(
    "ZooKeeper, and a migration to KRaft (KIP-866, 3.4 and later)",
    lambda version: version.can_migrate,
    (borders.MIGRATES_TO_KRAFT,),
)
BESIDE_PROTOCOL_2_0: Final = ZOOKEEPER & since_protocol(
    borders.PROTOCOL_2_0, "and protocol 2.0 beside the own one (2.0 and later)"
)

# Logs and disks

TRUNCATIONS_ALWAYS_TOLD: Final = before(
    borders.TRUNCATIONS_THAT_CUT, "a follower says that it truncates even if that cuts nothing (before 0.11)"
)
OLD_MESSAGE_FORMATS: Final = VersionRange(
    "message formats 0 and 1 (before 0.11, or pinned to 0.10.2)",
    lambda version: version.truncates_to_high_watermark,
    (borders.FORMAT_2,),
)
TIME_STAMPS: Final = since_protocol(borders.TIME_STAMPS, "records have time stamps (KIP-32, 0.10)")
TIMES_SEARCHED: Final = since(borders.TIMES_SEARCHED, "logs are searched by time (KIP-33, KIP-79, 0.10.1)")
FORMAT_2: Final = since_protocol(borders.FORMAT_2, "message format 2 (KIP-98, 0.11 and later, unless pinned to 0.10.2)")
"""A version that is held at an older protocol is held at its message format too."""
TOPICS_COMPRESS: Final = since(borders.TOPICS_COMPRESS, "topics have a compression.type (KAFKA-1499, 0.9)")
FORMAT_LOOKED_AT: Final = between(
    borders.HAS_FORMATS, borders.IGNORES_FORMATS, "log.message.format.version is looked at (0.10 to 2.8)"
)
TOPICS_HAVE_FORMATS: Final = between(
    borders.FORMAT_2, borders.IGNORES_FORMATS, "topics may have an older message format (0.11 to 2.8)"
)
TIME_STAMPS_BOUNDED: Final = since(borders.TIME_STAMPS_BOUNDED, "time stamps are bounded by default (KIP-1030, 4.0)")
"""KIP-937 brought the bound, in 3.6, without one by default."""
FOLLOWERS_FOLLOW_LOG_START: Final = since_protocol(
    borders.FOLLOWERS_FOLLOW_LOG_START, "followers follow the leader's log start (KIP-107, protocol 0.11)"
)
DELETION_REASON_LOGGED: Final = since(
    borders.DELETION_REASON_LOGGED, "brokers say why they delete, and of which partition (1.0.2)"
)
DELETES_RECORDS: Final = since_protocol(
    borders.DELETES_RECORDS, "records can be deleted (KIP-107, protocol 0.11 and later)"
)
DELETION_RENAMES: Final = between(
    borders.RENAMES_TO_DELETE,
    borders.LOG_DIRECTORIES_FAIL,
    "a directory that cannot be renamed is not deleted (KAFKA-1911, 0.10.2 to 0.11)",
)
LOG_DIRECTORIES_FAIL: Final = since(
    borders.LOG_DIRECTORIES_FAIL, "brokers take log directories for broken (KIP-112, 1.0 and later)"
)
BAD_NUMBERS_FAIL_DIRECTORIES: Final = between(
    borders.LOG_DIRECTORIES_FAIL,
    borders.BAD_NUMBERS_SKIPPED,
    "a checkpoint with a bad number breaks its log directory (1.0 to 3.0)",
)
REPLICAS_MOVE: Final = VersionRange(
    "replicas can be moved between log directories (KIP-113, 1.1; with KRaft KIP-858, 3.7)",
    lambda version: (
        version.release
        >= (borders.REPLICAS_MOVE if version.mode == "zookeeper" else borders.REPLICAS_MOVE_IN_KRAFT).release
    ),
    (borders.REPLICAS_MOVE, borders.REPLICAS_MOVE_IN_KRAFT),
)
LEADERS_NEED_A_DIRECTORY: Final = KRAFT & since(
    borders.LEADERS_NEED_A_DIRECTORY, "a replica leads only in a directory that the controller knows (KIP-858, 3.7)"
)
BROKERS_SET_BY_REQUEST: Final = since(
    borders.BROKERS_SET_BY_REQUEST, "brokers' settings are changed by request (KIP-339, 2.3)"
)
GOES_ON_WITH_OTHER_DIRECTORIES: Final = since_protocol(
    borders.GOES_ON_WITH_OTHER_DIRECTORIES,
    "a broker continues with its other log directories (KIP-112, protocol 1.0)",
)

# Producers, transactions, groups

TRANSACTIONS: Final = since_protocol(borders.TRANSACTIONS, "transactions (KIP-98, 0.11 and later)")
"""A version that is held at an older protocol is held at a message format that has no room for them."""
STREAMS_EXACTLY_ONCE: Final = TRANSACTIONS & before(
    borders.STREAMS_EXACTLY_ONCE_REMOVED, "Kafka Streams has exactly_once (KIP-129, up to 3.9)"
)
STREAMS_EXACTLY_ONCE_V2: Final = TRANSACTIONS & since(
    borders.STREAMS_EXACTLY_ONCE_V2, "Kafka Streams has exactly_once_v2 (KIP-732, 3.0 and later)"
)
CONNECT: Final = between(
    borders.CONNECT_MAKES_TOPICS,
    borders.CONNECT_FILES_GONE,
    "Kafka Connect makes its topics, and has Kafka's connectors for files (KIP-154, 0.11 to 4.3)",
)
CONNECT_EXACTLY_ONCE: Final = TRANSACTIONS & since(
    borders.CONNECT_EXACTLY_ONCE, "Kafka Connect's source of lines supports exactly once (KIP-618, 3.4 and later)"
)
TRANSACTIONS_VERIFIED: Final = since(
    borders.TRANSACTIONS_VERIFIED, "transactions that leaders verify (KIP-890, 3.6 and later)"
)
TRANSACTIONS_RAISE_THE_EPOCH: Final = since(
    borders.TRANSACTIONS_RAISE_THE_EPOCH, "brokers and Java clients of 4.0 and later"
)
"""With each transaction (KIP-890, transaction.version 2)."""
TRANSACTIONS_KEEP_THE_EPOCH: Final = before(borders.TRANSACTIONS_RAISE_THE_EPOCH, "brokers and Java clients before 4.0")
IDEMPOTENT_PRODUCERS: Final = since(borders.IDEMPOTENT_PRODUCERS, "idempotent producers (KIP-98, 0.11 and later)")
IDEMPOTENCE: Final = VersionRange(
    "idempotent producers (KIP-98, 0.11 and later, and a message format that has room for them)",
    lambda version: (
        version.release >= borders.IDEMPOTENT_PRODUCERS.release and "log.message.format.version" not in version.settings
    ),
    (borders.IDEMPOTENT_PRODUCERS, borders.FORMAT_2),
)
JAVA_IDEMPOTENT_IN_FLIGHT: Final = IDEMPOTENCE & since(
    borders.JAVA_IDEMPOTENT_IN_FLIGHT,
    "Java's idempotent producer may have several requests in flight (KAFKA-5494, 1.0)",
)
PRODUCERS_RAISE_THE_EPOCH: Final = since(
    borders.PRODUCERS_RAISE_THE_EPOCH,
    "librdkafka aborts a transaction of which it gave up a record (KIP-360, 2.5 and later)",
)
PRODUCER_OUT_OF_ORDER: Final = IDEMPOTENT_PRODUCERS & before(
    borders.PRODUCER_ID_UNKNOWN, "a leader that has forgotten a producer says out of order (before 1.0)"
)
PRODUCER_ID_UNKNOWN: Final = between(
    borders.PRODUCER_ID_UNKNOWN,
    borders.UNKNOWN_PRODUCERS_TAKEN,
    "a leader that has forgotten a producer refuses it (KAFKA-5793, 1.0 to 2.4)",
)
PRODUCERS_GO_WITH_RECORDS: Final = between(
    borders.PRODUCER_ID_UNKNOWN,
    borders.PRODUCERS_OUTLIVE_RECORDS,
    "a leader forgets a producer with its records, and says so (1.0 to 2.3; KAFKA-5793, KAFKA-7190)",
)
JAVA_TRIES_ONCE: Final = before(borders.JAVA_RETRIES, "retries is 0 by default (Java clients before 2.1)")
JAVA_RETRIES: Final = VersionRange(
    "retries without end and no idempotence by default (Java clients 2.1 to 2.8, 3.0.0 and 3.1.0; KIP-91, KAFKA-13598)",
    lambda version: (
        borders.JAVA_RETRIES.release <= version.release and not borders.java_is_idempotent_by_default(version.release)
    ),
    (borders.JAVA_RETRIES, borders.JAVA_IDEMPOTENT, *JAVA_IDEMPOTENT_IN_FACT),
)
"""KIP-679 made 3.0.0 idempotent by default, but not in force before 3.0.1 and 3.1.1."""
JAVA_IDEMPOTENT: Final = since(
    borders.JAVA_IDEMPOTENT, "idempotent by default (Java clients of 3.0 and later, KIP-679)"
)
JAVA_DEFAULTS_HAVE_ROOM: Final = VersionRange(
    "topics that have room for what Java's producer of the release sends by default (KIP-679, KIP-98)",
    lambda version: not borders.java_is_idempotent_by_default(version.release) or IDEMPOTENCE.holds(version),
    (borders.JAVA_IDEMPOTENT, *JAVA_IDEMPOTENT_IN_FACT, borders.FORMAT_2),
)
"""Where they have none, each record is refused: UNSUPPORTED_FOR_MESSAGE_FORMAT (seen on 3.9.2-pinned)."""
JAVA_SINCE_2_8: Final = since(borders.JAVA_SENDS_WITHOUT_COPY, "Java clients of 2.8 and later")
"""Those that KAFKA-19012 is about."""
SEGMENTS_OF_ANY_SIZE: Final = before(borders.SMALLEST_SEGMENTS, "topics whose segments may be small (before 4.1)")
GROUPS_COORDINATED: Final = since(
    borders.GROUPS_COORDINATED, "groups whose members a broker coordinates (0.9 and later)"
)
SCALA_PRODUCERS: Final = before(borders.SCALA_REMOVED, "releases that have the Scala producer (before 2.0, KAFKA-6921)")
HIGH_LEVEL_CONSUMERS: Final = before(
    borders.HIGH_LEVEL_CONSUMER_REMOVED, "releases that have the high-level consumer (before 2.0, KAFKA-2983)"
)
MEMBERS_PROCESS_IN_TIME: Final = since(
    borders.MEMBERS_PROCESS_IN_TIME, "members with a time to process (KIP-62, 0.10.1 and later)"
)
"""max.poll.interval.ms, apart from the session."""
POLLS_ARE_LIMITED: Final = since(
    borders.POLLS_ARE_LIMITED, "Java consumers that are told how many records a poll returns (KIP-41, 0.10 and later)"
)
JAVA_WRAPS_FENCED: Final = before(
    borders.JAVA_TELLS_FENCED, "Java's producers do not tell that they are fenced (before 2.3)"
)
INVALID_EPOCH_TOLD: Final = before(
    borders.PRODUCER_FENCED, "coordinators tell a fenced producer INVALID_PRODUCER_EPOCH (before 2.7)"
)
OFFSETS_OF_MEMBERS_IN_TRANSACTIONS: Final = since(
    borders.OFFSETS_OF_MEMBERS_IN_TRANSACTIONS, "transactions that name the member (KIP-447, 2.5 and later)"
)
REMOVED_MEMBERS_LOGGED: Final = since(
    borders.REMOVED_MEMBERS_LOGGED, "coordinators that log whom they remove (0.11.0.1 and later)"
)
COOPERATIVE_REBALANCES: Final = since(
    borders.COOPERATIVE_REBALANCES, "members that keep what does not move (KIP-429, 2.4 and later)"
)
STATIC_MEMBERS_TOLD: Final = since(
    borders.STATIC_MEMBERS_TOLD, "static members that coordinators tell of (KIP-345, 2.4 and later)"
) & since_protocol(borders.STATIC_MEMBERS, "with a protocol that has them (2.3)")
OFFSETS_EXPIRE_BY_TOPIC: Final = since(
    borders.OFFSETS_EXPIRE_BY_TOPIC, "offsets expire by topic (KIP-496, 2.4 and later)"
)
CONSUMER_PROTOCOL: Final = since(borders.CONSUMER_PROTOCOL, "groups of the consumer protocol (KIP-848, 3.7 and later)")
AUTOMATIC_COMMITS_GO_ON: Final = CONSUMER_PROTOCOL & since(
    borders.AUTOMATIC_COMMITS_GO_ON,
    "Kafka's consumer of the group protocol commits by itself (KAFKA-16203, 3.8 and later)",
)
GROUP_COORDINATOR_OF_4: Final = since(
    borders.GROUP_COORDINATOR_OF_4, "the group coordinator of 4.0 and later (KIP-848)"
)
