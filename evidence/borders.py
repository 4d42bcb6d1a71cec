"""Borders between releases of Kafka: the first release on the later side, and where each side can be looked up.

A border is drawn here once, however many rooms decide by it. It has two sources, since one side alone does not say
where it lies: what the code did in a release before, and what it does from the border on. The lines of versions that
scenarios speak of are made of these borders in harness/cluster/ranges.py. They lie on the ground floor, because the
audit of files rests on evidence/ alone and must draw the same borders as the scenarios do.

The first release with a bug is such a border too, and stands with the bug (scenarios/museum/).

What is said of a release was read in its source: in the repository up to 3.8, in the published sources later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evidence.errors import UsageError
from evidence.releases import Release, numbers

REASON: Final = re.compile(r"\b(KIP|KAFKA|ZOOKEEPER)-\d+|#\d+")
"""A proposal, a ticket or a pull request."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a border is like, and a release whose source says so."""

    release: str
    """The release that was read, such as "0.8.2.2"."""
    code: str
    """The class, method, file or setting, and what it does there."""


@dataclass(frozen=True, slots=True)
class Border:
    """A border between releases, with a source on both sides.

    Raises UsageError for a border without a reason, for a side without a source, and for a source on the wrong side.
    """

    first: str
    """Where the later side begins: a release such as "0.10.0.1", or a line such as "2.3"."""
    reason: str
    """The proposal, ticket or pull request that drew it."""
    before: Side
    after: Side

    def __post_init__(self) -> None:
        if not REASON.search(self.reason):
            raise UsageError(f"Border({self.first!r}): reason {self.reason!r} names no KIP and no ticket")
        for side in (self.before, self.after):
            if not numbers(side.release) or not side.code.strip():
                raise UsageError(f"Border({self.first!r}): a side without a source")
        if numbers(self.before.release) >= self.release:
            raise UsageError(f"Border({self.first!r}): {self.before.release} is no release before it")
        if numbers(self.after.release)[: len(self.release)] != self.release:
            raise UsageError(f"Border({self.first!r}): {self.after.release} is not the first release after it")

    @property
    def release(self) -> Release:
        """Where the later side begins, as numbers: for comparing with a release's, or a protocol's."""
        return numbers(self.first)


# Modes, protocols, formats

KRAFT_SINCE: Final = Border(
    "3.3",
    "KIP-833",
    Side("3.2.3", "config/kraft/README.md: preview, and should not be used in production"),
    Side("3.3.0", "docs/upgrade.html: KRaft mode is production ready for new clusters"),
)
"""KRaft may be used in production from here on."""
KRAFT_ONLY: Final = Border(
    "4.0",
    "KIP-500",
    Side("3.9.1", "kafka.server.KafkaServer starts a broker with ZooKeeper"),
    Side("4.0.0", "kafka/server has no KafkaServer.scala, and there is no package kafka.zk"),
)
"""From here on there is nothing else: ZooKeeper was removed."""
HAS_PROTOCOLS: Final = Border(
    "0.9",
    "KAFKA-1809",
    Side("0.8.2.2", "KafkaConfig has no inter.broker.protocol.version"),
    Side("0.9.0.0", "KafkaConfig.InterBrokerProtocolVersionProp"),
)
"""From here on a broker can be held at an older inter.broker.protocol.version."""
HAS_FORMATS: Final = Border(
    "0.10",
    "KIP-32",
    Side("0.9.0.1", "KafkaConfig has no log.message.format.version"),
    Side("0.10.0.0", "KafkaConfig.LogMessageFormatVersionProp, LogConfig.MessageFormatVersionProp"),
)
"""From here on log.message.format.version exists."""
IGNORES_FORMATS: Final = Border(
    "3.0",
    "KIP-724",
    Side("2.8.2", "LogConfig.messageFormatVersion is what was set, whatever the protocol is"),
    Side("3.0.0", "LogConfig.shouldIgnoreMessageFormatVersion: from protocol 3.0-IV1 on"),
)
"""From this protocol on log.message.format.version is not looked at."""
CLEAN_STOP_ELECTS_BY_ASSIGNMENT: Final = Border(
    "0.10",
    "KAFKA-3670",
    Side("0.9.0.1", "ControlledShutdownLeaderSelector takes the first of the ISR, as replicas came into it"),
    Side("0.10.0.0", "ControlledShutdownLeaderSelector takes the first assigned replica that is in the ISR"),
)
"""Who leads when a leader is stopped cleanly."""
JAVA_IDEMPOTENT_IN_FLIGHT: Final = Border(
    "1.0",
    "KAFKA-5494",
    Side("0.11.0.3", "KafkaProducer.configureInflightRequests: with idempotence more than 1 is a ConfigException"),
    Side("1.0.0", "KafkaProducer.configureInflightRequests: with idempotence up to 5"),
)
TRANSACTIONS_SWEPT_OFTEN: Final = Border(
    "2.5",
    "KAFKA-9417",
    Side("2.4.0", "TransactionStateManager.DefaultAbortTimedOutTransactionsIntervalMs: one minute"),
    Side("2.5.0", "TransactionStateManager.DefaultAbortTimedOutTransactionsIntervalMs: 10 s"),
)
GROUPS_OUTLIVE_MEMBERS: Final = Border(
    "0.10.1",
    "KAFKA-2720",
    Side("0.10.0.1", "GroupCoordinator.onCompleteJoin: a generation without members is dead, and the group removed"),
    Side("0.10.1.0", "GroupMetadata: Empty, a state of groups without members, which keep their generation"),
)
API_VERSIONS: Final = Border(
    "0.10",
    "KIP-35",
    Side("0.9.0.1", "ApiKeys has no API_VERSIONS"),
    Side("0.10.0.0", "ApiKeys.API_VERSIONS"),
)
"""From here on brokers say which requests they understand."""
SERVER_OF_ZOOKEEPER_3_5: Final = Border(
    "2.4",
    "KAFKA-8634",
    Side("2.3.1", "gradle/dependencies.gradle: zookeeper 3.4.14"),
    Side("2.4.0", "gradle/dependencies.gradle: zookeeper 3.5.6"),
)
"""A cluster that was set up with a release before has a ZooKeeper that the clients of 3.8 cannot use."""
CLIENT_OF_ZOOKEEPER_3_8: Final = Border(
    "3.6",
    "KIP-902",
    Side("3.5.0", "gradle/dependencies.gradle: zookeeper 3.6.4"),
    Side("3.6.0", "docs/upgrade.html: clusters of Kafka before 2.4 are updated to a release between 2.4 and 3.6 first"),
)
PROTOCOL_2_0: Final = Border(
    "2.0",
    "KIP-279",
    Side("1.1.1", "ApiVersion knows no protocol 2.0"),
    Side("2.0.0", "ApiVersion.KAFKA_2_0_IV0 and KAFKA_2_0_IV1"),
)
"""From here on a broker can be held at protocol 2.0."""

# Replication and the ISR

LEADER_EPOCHS: Final = Border(
    "0.11",
    "KIP-101",
    Side("0.10.2.2", "ReplicaManager.makeFollowers truncates to the replica's own highWatermark"),
    Side("0.11.0.0", "ReplicaFetcherThread.maybeTruncate goes by the epoch's end that the leader told"),
)
"""From this protocol on followers truncate by leader epoch."""
EPOCHS_BY_FORMAT: Final = Border(
    "2.1.1",
    "KAFKA-7897",
    Side("2.0.1", "ReplicaFetcherThread.buildLeaderEpochRequest asks for every partition, also one without epochs"),
    Side("2.1.1", "Log.leaderEpochCache is None with an older message format; latestEpoch is None"),
)
"""From here on a follower whose log has an older message format than 0.11 asks nobody for an epoch's end: it truncates
to its high watermark at once, whatever its protocol is. 2.1.0 does so or not (KAFKA-6859: it asks for a partition that
has an epoch in its checkpoint).
"""
EPOCHS_CLEARED: Final = Border(
    "2.2.1",
    "KAFKA-7601",
    Side("2.2.0", "Log.append keeps the epochs of the cache when it appends a batch of an older message format"),
    Side("2.2.1", "Log.append clears the cache of leader epochs when it appends a batch of an older message format"),
)
"""From here on a log whose newest batches have an older message format than 0.11 has no epochs, whatever lies below."""
CONTROLLERS_TELL_LEVELS: Final = Border(
    "3.6",
    "KAFKA-15060",
    Side("3.5.0", "SimpleApiVersionManager.apiVersionResponse has the supported features alone"),
    Side("3.6.0", "SimpleApiVersionManager.apiVersionResponse has the finalized features of its featuresProvider"),
)
"""From here on a KRaft controller says to which levels the cluster's features are set."""
LAG_BY_TIME: Final = Border(
    "0.9",
    "KIP-16, KAFKA-1546",
    Side("0.8.2.2", "Partition.getOutOfSyncReplicas compares log ends by replica.lag.max.messages"),
    Side("0.9.0.0", "Partition.maybeShrinkIsr takes a time alone; KafkaConfig has no replica.lag.max.messages"),
)
ISR_CHANGES_ANNOUNCED: Final = Border(
    "0.9",
    "KAFKA-1367",
    Side("0.8.2.2", "kafka.controller has no IsrChangeNotificationListener"),
    Side("0.9.0.0", "KafkaController.registerIsrChangeNotificationListener on /isr_change_notification"),
)
ASKS_CONTROLLER: Final = Border(
    "2.7",
    "KIP-497",
    Side("2.6.3", "ReplicaManager.recordIsrChange and KafkaZkClient.propagateIsrChanges, with any protocol"),
    Side("2.7.0", "ReplicaManager.recordIsrChange does nothing if isAlterIsrSupported; AlterIsrManager asks"),
)
"""From this protocol on a leader asks the controller to change the ISR."""
REBALANCE_ASKS_ISR: Final = Border(
    "2.6",
    "KAFKA-9866",
    Side("2.5.1", "KafkaController.checkAndTriggerAutoLeaderRebalance elects for each live preferred replica"),
    Side("2.6.0", "KafkaController.canPreferredReplicaBeLeader: the ISR in controllerContext.partitionLeadershipInfo"),
)
"""From here on an automatic rebalance leaves out preferred replicas that are not in the ISR which the controller knows;
before, the election itself reads the ISR from ZooKeeper."""
ISR_SHRINK_RAISES: Final = Border(
    "3.1",
    "KAFKA-13091",
    Side("3.0.2", "Partition.maybeShrinkIsr tries to raise the high watermark before AlterIsr is answered, not after"),
    Side("3.1.0", "Partition.handleAlterIsrUpdate tries to raise the high watermark when AlterIsr has been answered"),
)
HIGH_WATERMARK_WAITS_TO_JOIN: Final = Border(
    "0.10.2",
    "KAFKA-4485",
    Side("0.10.1.1", "Partition.maybeIncrementLeaderHW: the least log end of inSyncReplicas"),
    Side("0.10.2.0", "Partition.maybeIncrementLeaderHW: of these and of replicas that have lately caught up"),
)
HIGH_WATERMARK_NEEDS_MIN_ISR: Final = Border(
    "3.7",
    "KAFKA-15583",
    Side("3.6.2", "Partition.maybeIncrementLeaderHW does not ask for min.insync.replicas"),
    Side("3.7.0", "Partition.maybeIncrementLeaderHW returns at once if isUnderMinIsr"),
)
ALL_REPLICAS_ARE_ENOUGH: Final = Border(
    "3.7",
    "KAFKA-15583",
    Side("3.6.2", "Partition.appendRecordsToLeader asks for min.insync.replicas, however few replicas there are"),
    Side("3.7.0", "Partition.effectiveMinIsr: min.insync.replicas, or the number of replicas where that is less"),
)
LOOKS_TWICE: Final = Border(
    "0.10.2",
    "KAFKA-4485",
    Side("0.10.1.1", "ReplicaManager.startup: isr-expiration each replicaLagTimeMaxMs"),
    Side("0.10.2.0", "ReplicaManager.startup: isr-expiration each replicaLagTimeMaxMs / 2"),
)
"""From here on followers are looked at twice in replica.lag.time.max.ms; before, once."""
LONG_LAG: Final = Border(
    "2.5",
    "KIP-537",
    Side("2.4.1", "KafkaConfig Defaults.ReplicaLagTimeMaxMs = 10000L"),
    Side("2.5.0", "KafkaConfig Defaults.ReplicaLagTimeMaxMs = 30000L"),
)
FOLLOWERS_SERVE: Final = Border(
    "2.4",
    "KIP-392, KAFKA-8443",
    Side("2.3.1", "KafkaConfig has no replica.selector.class"),
    Side("2.4.0", "KafkaConfig.ReplicaSelectorClassProp"),
)
HIGH_WATERMARK_TOLD_AT_ONCE: Final = Border(
    "2.4",
    "KIP-392, KAFKA-8443",
    Side("2.3.1", "ReplicaManager.fetchMessages answers a follower's fetch when it has records, or its wait is over"),
    Side("2.4.0", "ReplicaManager.fetchMessages answers at once if anyPartitionsNeedHwUpdate"),
)
HIGH_WATERMARK_WAITS_FOR_FETCH: Final = Border(
    "2.6",
    "KAFKA-9952",
    Side("2.5.1", "ReplicaManager.fetchMessages answers at once if anyPartitionsNeedHwUpdate"),
    Side("2.6.0", "ReplicaManager.fetchMessages has no anyPartitionsNeedHwUpdate"),
)
CONTROLLER_CHANGES_SILENTLY: Final = Border(
    "0.11",
    "KAFKA-5028",
    Side("0.10.2.2", 'ZookeeperLeaderElector.LeaderChangeListener.handleDataChange logs "New leader is"'),
    Side("0.11.0.0", "KafkaController.ControllerChange logs nothing"),
)
DELETIONS_TOLD_ONE_BY_ONE: Final = Border(
    "1.1",
    "KAFKA-5642",
    Side("1.0.2", "ControllerChangeListener is zkclient's IZkDataListener: it reads the znode, and then tells"),
    Side("1.1.0", "ControllerChangeHandler.handleDeletion is called for each deletion, and elects"),
)
"""A znode that is deleted and made again before zkclient has read it was changed, as far as a broker is told."""
FETCHES_END: Final = Border(
    "1.1",
    "KAFKA-6051",
    Side("1.0.2", "ReplicaFetcherThread.shutdown waits for the thread, and then closes leaderEndpoint"),
    Side("1.1.0", "ReplicaFetcherThread.initiateShutdown closes leaderEndpoint before anything waits"),
)
"""Up to 2.1.0 it is closed while the fetcher's thread still uses it, which may fail with an exception. That is caught
from 2.0.1 on (KAFKA-7464). From 2.1.1 on a flag and a wakeup end the fetch, and the thread's end is waited for before
anything is closed (KAFKA-7576)."""
EXITS_GRACEFULLY: Final = Border(
    "0.10.0.1",
    "KAFKA-3924",
    Side("0.10.0.0", "ReplicaFetcherThread.handleOffsetOutOfRange calls Runtime.halt"),
    Side("0.10.0.1", "ReplicaFetcherThread.handleOffsetOutOfRange calls System.exit, in the thread that is waited for"),
)
FATAL_EXIT_ERROR: Final = Border(
    "0.11",
    "KAFKA-4039",
    Side("0.10.2.2", "ReplicaFetcherThread.handleOffsetOutOfRange calls System.exit"),
    Side("0.11.0.0", "ReplicaFetcherThread.handleOffsetOutOfRange throws FatalExitError"),
)
OUT_OF_RANGE_NEVER_FATAL: Final = Border(
    "2.0.1",
    "KAFKA-7414",
    Side("2.0.0", "ReplicaFetcherThread throws FatalExitError where the leader's log is shorter"),
    Side("2.0.1", "ReplicaFetcherThread has no FatalExitError"),
)
FAILS_SINGLE_PARTITIONS: Final = Border(
    "2.3",
    "KIP-461, KAFKA-8346",
    Side("2.2.2", "AbstractFetcherThread throws KafkaException for what it cannot process, and ends"),
    Side("2.3.0", "AbstractFetcherThread.markPartitionFailed"),
)
FOLLOWERS_FOLLOW_LOG_START: Final = Border(
    "0.11",
    "KIP-107",
    Side("0.10.2.2", "FetchResponse has no log_start_offset"),
    Side("0.11.0.0", "ReplicaFetcherThread: Fetch version 5 with protocol 0.11.0-IV1, maybeIncrementLogStartOffset"),
)
"""By the protocol: brokers held at an older one fetch without the log start."""

# Controllers, elections, registrations

ELIGIBLE_LEADERS_SUPPORTED: Final = Border(
    "4.0",
    "KIP-966",
    Side("3.9.1", "MetadataVersion.isElrSupported: from 4.0-IV0 on, while LATEST_PRODUCTION is 3.9-IV0"),
    Side("4.0.0", "Feature.ELIGIBLE_LEADER_REPLICAS_VERSION; MetadataVersion 4.0-IV1 is released"),
)
"""A cluster can have eligible leader replicas: their feature's default is 0 (off)."""
ELIGIBLE_LEADERS_BY_DEFAULT: Final = Border(
    "4.1",
    "KIP-966",
    Side("4.0.0", "EligibleLeaderReplicasVersion.ELRV_1 from 4.1-IV0 on, while LATEST_PRODUCTION is 4.0-IV3"),
    Side("4.1.0", "EligibleLeaderReplicasVersion.ELRV_1 from 4.1-IV0 on, and LATEST_PRODUCTION is 4.1-IV1"),
)
"""New clusters have them; upgraded clusters do not. With them the last known leader may be elected where no replica is
in sync or eligible."""
SHARE_GROUPS: Final = Border(
    "4.2",
    "KIP-932",
    Side("4.1.2", "ShareVersion.SV_1 from 4.2-IV0 on, while MetadataVersion.LATEST_PRODUCTION is 4.1-IV1"),
    Side("4.2.0", "ShareVersion.SV_1 from 4.2-IV0 on, and MetadataVersion.LATEST_PRODUCTION is 4.2-IV1"),
)
"""New clusters have share groups."""
DEAD_LETTERS: Final = Border(
    "4.4",
    "KIP-1191",
    Side("4.3.1", "GroupConfig has no errors.deadletterqueue.topic.name; ShareVersion ends with SV_1"),
    Side("4.4.0", "GroupConfig has errors.deadletterqueue.topic.name; ShareVersion.SV_2 from 4.4-IV0 on"),
)
"""A share group may have a dead-letter topic."""
ELIGIBLE_LEADERS_KEPT: Final = Border(
    "4.3",
    "apache/kafka#20716",
    Side("4.2.1", "ReplicationControlManager.handleAssignReplicasToDirs builds its change without the feature"),
    Side("4.3.0", "PartitionChangeBuilder has eligibleLeaderReplicasEnabled among its constructor's arguments"),
)
"""The controller keeps them when a broker comes back and tells it of a new log directory; before, it forgot them."""
CONTROLLER_LOOKS_AFTER_DEAD_FOLLOWERS: Final = Border(
    "2.3",
    "KAFKA-3143",
    Side("2.2.2", "ReplicaStateMachine.startup makes live replicas online, and no other one offline"),
    Side("2.3.0", "ReplicaStateMachine.startup makes those on dead brokers OfflineReplica, so that they leave ISRs"),
)
LAGS_BEHIND_RECORDS: Final = Border(
    "2.1",
    "KAFKA-7152",
    Side("2.0.1", "Partition.getOutOfSyncReplicas goes by lastCaughtUpTimeMs alone"),
    Side("2.1.0", "Partition.getOutOfSyncReplicas: of those whose log end is not the leader's"),
)
"""From here on a leader leaves a follower in the ISR that lacks no record, however long it is dead."""
TRUNCATIONS_THAT_CUT: Final = Border(
    "0.11",
    "KIP-101",
    Side("0.10.2.2", "Log.truncateTo says where it truncates, and only does nothing beyond the log's end"),
    Side("0.11.0.0", "Log.truncateTo says so only of a place before the log's end"),
)
UNCLEAN_OFF: Final = Border(
    "0.11",
    "KIP-106",
    Side("0.10.2.2", "KafkaConfig Defaults.UncleanLeaderElectionEnable = true"),
    Side("0.11.0.0", "KafkaConfig Defaults.UncleanLeaderElectionEnable = false"),
)
UNCLEAN_IN_KRAFT: Final = Border(
    "3.9",
    "KAFKA-12670",
    Side("3.8.0", "ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic returns false"),
    Side("3.9.0", "ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic reads the topic's setting"),
)
COORDINATORS_READ_TO_END: Final = Border(
    "0.11",
    "KIP-98, KAFKA-5059",
    Side("0.10.2.2", "GroupMetadataManager.loadGroupsAndOffsets: up to getHighWatermark"),
    Side("0.11.0.0", "GroupMetadataManager.loadGroupsAndOffsets: up to getLogEndOffset"),
)
CONTROLLER_FENCED: Final = Border(
    "2.1",
    "KAFKA-6082",
    Side("2.0.1", "KafkaZkClient has no registerControllerAndIncrementControllerEpoch"),
    Side("2.1.0", "KafkaZkClient.registerControllerAndIncrementControllerEpoch, and writes that check its version"),
)
ELECT_LEADERS: Final = Border(
    "2.2",
    "KIP-183",
    Side("2.1.1", "ApiKeys has no ELECT_PREFERRED_LEADERS"),
    Side("2.2.0", "ApiKeys.ELECT_PREFERRED_LEADERS, later ELECT_LEADERS"),
)
ALTER_REASSIGNMENTS: Final = Border(
    "2.4",
    "KIP-455",
    Side("2.3.1", "ApiKeys has no ALTER_PARTITION_REASSIGNMENTS; KafkaController.PartitionReassignmentHandler"),
    Side("2.4.0", "ApiKeys.ALTER_PARTITION_REASSIGNMENTS"),
)
RACKS: Final = Border(
    "0.10",
    "KIP-36",
    Side("0.9.0.1", "KafkaConfig has no broker.rack"),
    Side("0.10.0.0", "KafkaConfig.RackProp; ZkUtils.registerBrokerInZk names it from protocol 0.10.0-IV1 on"),
)
"""By the protocol: a broker that is held at an older one does not tell its rack, in version 2 of its registration."""
REGISTERS_ENDPOINTS: Final = Border(
    "0.9",
    "KAFKA-1809",
    Side("0.8.2.2", "ZkUtils.registerBrokerInZk writes version 1, without endpoints"),
    Side("0.9.0.0", "ZkUtils.registerBrokerInZk writes version 2, with endpoints"),
)
REGISTERS_LISTENERS: Final = Border(
    "0.10.2",
    "KIP-103",
    Side("0.10.1.1", "ZkUtils.registerBrokerInZk writes version 3 at most"),
    Side("0.10.2.0", "Broker.toJson: version 4 has listener_security_protocol_map"),
)
REGISTERS_FEATURES: Final = Border(
    "2.7",
    "KIP-584",
    Side("2.6.3", "ZkData.BrokerIdZNode writes version 4 at most"),
    Side("2.7.0", "ZkData.BrokerIdZNode: version 5 has features, by the protocol"),
)
CONTROLLER_NAMES_KRAFT: Final = Border(
    "3.4",
    "KIP-866",
    Side("3.3.2", "ZkData.ControllerZNode writes version 1"),
    Side("3.4.0", "ZkData.ControllerZNode writes version 2, with kraftControllerEpoch"),
)
LEADERS_RECOVER: Final = Border(
    "3.2",
    "KIP-704",
    Side("3.1.2", "ZkData.TopicPartitionStateZNode has no leader_recovery_state"),
    Side("3.2.0", "ZkData.TopicPartitionStateZNode: leader_recovery_state"),
)
REFUSES_OLD_REGISTRATION: Final = Border(
    "0.9",
    "KAFKA-1387",
    Side("0.8.2.2", "ZkUtils.createEphemeralPathExpectConflictHandleZKBug waits until the old one is gone"),
    Side("0.9.0.0", "ZkUtils.registerBrokerInZk: ZKCheckedEphemeral throws if it is another session's"),
)
BROKER_IDS_GENERATED: Final = Border(
    "0.9",
    "KAFKA-1070",
    Side("0.8.2.2", "KafkaServer has no generateBrokerId"),
    Side("0.9.0.0", "KafkaServer.getBrokerId and generateBrokerId, above reserved.broker.max.id"),
)
SESSIONS_BY_MONOTONIC_CLOCK: Final = Border(
    "2.0",
    "ZOOKEEPER-1366",
    Side("1.1.1", "gradle/dependencies.gradle: ZooKeeper 3.4.10, ClientCnxnSocket.updateNow: System.currentTimeMillis"),
    Side("2.0.0", "gradle/dependencies.gradle: ZooKeeper 3.4.13, ClientCnxnSocket.updateNow: Time.currentElapsedTime"),
)
DELAY_OF_FAILED_FETCHES_ALONE: Final = Border(
    "2.5",
    "KAFKA-9039",
    Side("2.4.1", "AbstractFetcherThread: each append gives PartitionFetchState a new DelayedItem(0), due now"),
    Side("2.5.0", "AbstractFetcherThread: PartitionFetchState.delay is an Option, set by delayPartitions alone"),
)
TOPICS_BY_REQUEST: Final = Border(
    "0.10.1",
    "KIP-4",
    Side("0.10.0.1", "ApiKeys has no CREATE_TOPICS and no DELETE_TOPICS"),
    Side("0.10.1.0", "ApiKeys.CREATE_TOPICS and DELETE_TOPICS"),
)
DYNAMIC_BROKER_SETTINGS: Final = Border(
    "1.1",
    "KIP-226",
    Side("1.0.2", "kafka.server has no DynamicBrokerConfig"),
    Side("1.1.0", "DynamicBrokerConfig, with any protocol"),
)
BROKERS_SET_BY_REQUEST: Final = Border(
    "2.3",
    "KIP-339",
    Side("2.2.2", "ApiKeys has no INCREMENTAL_ALTER_CONFIGS"),
    Side("2.3.0", "ApiKeys.INCREMENTAL_ALTER_CONFIGS"),
)
MIGRATES_TO_KRAFT: Final = Border(
    "3.4",
    "KIP-866",
    Side("3.3.2", "KafkaConfig has no zookeeper.metadata.migration.enable"),
    Side("3.4.0", "KafkaConfig: zookeeper.metadata.migration.enable needs isMigrationSupported, protocol 3.4-IV0"),
)

# Logs and disks

TIME_STAMPS: Final = Border(
    "0.10",
    "KIP-32",
    Side("0.9.0.1", "Record has no time stamp"),
    Side("0.10.0.0", "Record.TIMESTAMP_OFFSET, of format 1"),
)
TIMES_SEARCHED: Final = Border(
    "0.10.1",
    "KIP-33, KIP-79",
    Side("0.10.0.1", "kafka.log has no TimeIndex; Protocol has no LIST_OFFSET_REQUEST_V1"),
    Side("0.10.1.0", "TimeIndex, Log.fetchOffsetsByTimestamp, Protocol.LIST_OFFSET_REQUEST_V1"),
)
FORMAT_2: Final = Border(
    "0.11",
    "KIP-98",
    Side("0.10.2.2", "Record.CURRENT_MAGIC_VALUE is MAGIC_VALUE_V1"),
    Side("0.11.0.0", "DefaultRecordBatch, RecordBatch.MAGIC_VALUE_V2"),
)
TOPICS_COMPRESS: Final = Border(
    "0.9",
    "KAFKA-1499",
    Side("0.8.2.2", "LogConfig has no compression.type"),
    Side("0.9.0.0", "LogConfig.CompressionTypeProp"),
)
TIME_STAMPS_BOUNDED: Final = Border(
    "4.0",
    "KIP-1030",
    Side("3.9.1", "ServerLogConfigs.LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS_DEFAULT = Long.MAX_VALUE"),
    Side("4.0.0", "ServerLogConfigs.LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS_DEFAULT = 3600000"),
)
REASSIGNED_WHEN_ALL_IN_SYNC: Final = Border(
    "3.8",
    "KAFKA-15665",
    Side("3.7.2", "PartitionReassignmentReplicas.maybeCompleteReassignment waits for the added replicas alone"),
    Side("3.8.0", "PartitionReassignmentReplicas.maybeCompleteReassignment waits until all replicas are in sync"),
)
"""With KRaft a reassignment ends, and deletes the replicas that leave, when all that stay are in sync. It always does
with ZooKeeper (KafkaController.areReplicasInIsr).
"""
REASSIGNED_WHEN_ADDED_IN_SYNC: Final = Border(
    "4.3",
    "KAFKA-19975",
    Side("4.2.1", "PartitionReassignmentReplicas.maybeCompleteReassignment waits until all replicas are in sync"),
    Side(
        "4.3.0",
        "PartitionReassignmentReplicas.maybeCompleteReassignment waits for the added replicas alone, unless more are "
        "removed than added",
    ),
)
"""From here on a reassignment ends when those that it adds are in sync, unless it removes more than it adds."""
SMALLEST_SEGMENTS: Final = Border(
    "4.1",
    "KIP-1030",
    Side("4.0.1", "LogConfig: segment.bytes of a topic is at least 14 (LegacyRecord.RECORD_OVERHEAD_V0)"),
    Side("4.1.0", "LogConfig: segment.bytes of a topic is at least 1024 * 1024"),
)
"""From here on no topic, and none of Kafka's own, is made with segments smaller than 1 MiB. (log.segment.bytes has that
minimum from 4.0 on.)
"""
DELETION_REASON_LOGGED: Final = Border(
    "1.0.2",
    "KAFKA-5634, KAFKA-6683",
    Side("1.0.1", "Log.deleteOldSegments says why, and not of which partition: Log has no logIdent"),
    Side("1.0.2", "Log.deleteOldSegments says why, after logIdent, which names the partition"),
)
ISR_WRITTEN_LOGGED: Final = Border(
    "2.4",
    "KAFKA-8371",
    Side(
        "2.3.1", "Partition.maybeUpdateIsrAndVersion traces that the ISR is updated; maybeShrinkIsr says what is tried"
    ),
    Side("2.4.0", "Partition.maybeUpdateIsrAndVersion says at INFO that the ISR is updated"),
)
DELETES_RECORDS: Final = Border(
    "0.11",
    "KIP-107",
    Side("0.10.2.2", "ApiKeys has no DELETE_RECORDS"),
    Side("0.11.0.0", "ApiKeys.DELETE_RECORDS; Partition.lowWatermarkIfLeader waits for followers' log starts"),
)
"""By the protocol: followers tell their log start with Fetch version 5, which protocol 0.11 brought."""
RENAMES_TO_DELETE: Final = Border(
    "0.10.2",
    "KAFKA-1911",
    Side("0.10.1.1", "Partition.delete calls LogManager.deleteLog, which renames nothing"),
    Side("0.10.2.0", "Partition.delete calls LogManager.asyncDelete, which renames the directory first"),
)
LOG_DIRECTORIES_FAIL: Final = Border(
    "1.0",
    "KIP-112",
    Side("0.11.0.2", "ReplicaManager and ReplicaFetcherThread halt the broker; there is no LogDirFailureChannel"),
    Side("1.0.0", "CheckpointFile and Log tell LogDirFailureChannel.maybeAddOfflineLogDir"),
)
GOES_ON_WITH_OTHER_DIRECTORIES: Final = Border(
    "1.0",
    "KIP-112",
    Side("0.11.0.2", "ReplicaFetcherThread halts the broker for a KafkaStorageException"),
    Side("1.0.0", "ReplicaManager.LogDirFailureHandler halts the broker only if the protocol is before 1.0-IV0"),
)
"""By the protocol: a broker that is held at an older one halts."""
BAD_NUMBERS_SKIPPED: Final = Border(
    "3.1",
    "apache/kafka#11060",
    Side("3.0.2", "CheckpointFile.scala turns NumberFormatException into IOException, for each line"),
    Side("3.1.0", "CheckpointFile.java does so for the two lines of its head; OffsetCheckpointFile.toInt throws it"),
)
REPLICAS_MOVE: Final = Border(
    "1.1",
    "KIP-113, KAFKA-5163",
    Side("1.0.2", "ReplicaManager.alterReplicaLogDirs: moving a replica that exists is not available yet"),
    Side("1.1.0", "ReplicaAlterLogDirsThread"),
)
REPLICAS_MOVE_IN_KRAFT: Final = Border(
    "3.7",
    "KIP-858",
    Side("3.6.2", "ApiKeys has no ASSIGN_REPLICAS_TO_DIRS, so controllers do not know of directories"),
    Side("3.7.0", "ApiKeys.ASSIGN_REPLICAS_TO_DIRS; MetadataVersion.isDirectoryAssignmentSupported, 3.7-IV2"),
)
LEADERS_NEED_A_DIRECTORY: Final = Border(
    "3.7",
    "KIP-858",
    Side(
        "3.6.2", "ReplicationControlManager: whoever is in the ISR and active may lead (ClusterControlManager.isActive)"
    ),
    Side(
        "3.7.0",
        "ReplicationControlManager.LeaderAcceptor: nor does a replica lead whose directory its broker has not "
        "registered; handleAssignReplicasToDirs elects nobody when it learns of another directory",
    ),
)
SNAPSHOT_OF_EACH: Final = Border(
    "2.8",
    "KAFKA-9393",
    Side("2.7.2", "Log.deleteSnapshotsAfterRecoveryPointCheckpoint keeps the last snapshots of producers alone"),
    Side("2.8.0", "ProducerStateManager.removeStraySnapshots keeps one for each segment"),
)
TOPIC_IDS: Final = Border(
    "2.8",
    "KIP-516",
    Side("2.7.2", "ZkData.TopicZNode has no topic_id, and kafka.log no partition.metadata"),
    Side("2.8.0", "ZkData.TopicZNode: topic_id; Log: partition.metadata, with protocol 2.8"),
)
TOPIC_IDS_AT_ONCE: Final = Border(
    "3.0",
    "KIP-516",
    Side("2.8.2", "Partition.checkOrSetTopicId finds no log yet when a new replica is first told of its leader"),
    Side("3.0.0", "LogManager.getOrCreateLog gives the topic's id to the log that it creates"),
)

# Producers, transactions, groups

TRANSACTIONS: Final = Border(
    "0.11",
    "KIP-98",
    Side("0.10.2.2", "ApiKeys has no INIT_PRODUCER_ID and no END_TXN"),
    Side("0.11.0.0", "ApiKeys.INIT_PRODUCER_ID and END_TXN; LogValidator refuses transactions in older formats"),
)
STREAMS_EXACTLY_ONCE_V2: Final = Border(
    "3.0",
    "KIP-732",
    Side("2.8.2", "StreamsConfig.EXACTLY_ONCE and EXACTLY_ONCE_BETA"),
    Side("3.0.0", "StreamsConfig.EXACTLY_ONCE_V2"),
)
"""Kafka Streams has processing.guarantee=exactly_once_v2, one producer for each thread (KIP-447)."""
STREAMS_EXACTLY_ONCE_REMOVED: Final = Border(
    "4.0",
    "KIP-732",
    Side("3.9.2", "StreamsConfig.EXACTLY_ONCE, deprecated"),
    Side("4.0.0", "StreamsConfig: at_least_once and exactly_once_v2 alone"),
)
"""Kafka Streams has no processing.guarantee=exactly_once any more, one producer for each task (KIP-129)."""
CONNECT_MAKES_TOPICS: Final = Border(
    "0.11",
    "KIP-154",
    Side("0.10.2.2", "org.apache.kafka.connect.util has no TopicAdmin"),
    Side("0.11.0.0", "KafkaOffsetBackingStore, KafkaConfigBackingStore, KafkaStatusBackingStore: TopicAdmin"),
)
"""Workers of Kafka Connect make the topics of their own that are not there."""
CONNECT_FILES_GONE: Final = Border(
    "4.4",
    "KAFKA-20297",
    Side("4.3.1", "FileStreamSourceConnector.version calls org.apache.kafka.common.utils.AppInfoParser"),
    Side("4.4.0", "kafka-clients: AppInfoParser is in org.apache.kafka.common.utils.internals alone"),
)
"""Kafka's own connectors for files of the releases before do not run on workers, for want of a class that they call.
Those of 4.4.0 cannot be had: connect-file 4.4.0 is not where its other artifacts are.
"""
CONNECT_SINK_WOKEN: Final = Border(
    "2.7",
    "KAFKA-10240",
    Side("2.6.3", "WorkerSinkTask.execute does not catch the WakeupException of a commit while it is stopped"),
    Side("2.7.0", "WorkerSinkTask.execute catches the WakeupException of a commit while it is stopped"),
)
CONNECT_EXACTLY_ONCE: Final = Border(
    "3.4",
    "KIP-618",
    Side("3.3.2", "FileStreamSourceConnector does not override exactlyOnceSupport"),
    Side("3.4.0", "FileStreamSourceConnector.exactlyOnceSupport: SUPPORTED of a file"),
)
"""Kafka's own source of lines says that it supports exactly once (exactly.once.source.support came with 3.3)."""
TRANSACTIONS_VERIFIED: Final = Border(
    "3.6",
    "KIP-890",
    Side("3.5.2", "ReplicaManager does not ask the coordinator; no transaction.partition.verification.enable"),
    Side("3.6.0", "ReplicaManager: maybeStartTransactionVerification, AddPartitionsToTxnManager"),
)
TRANSACTIONS_RAISE_THE_EPOCH: Final = Border(
    "4.0",
    "KIP-890",
    Side("3.9.1", "TransactionVersion.TV_2 needs 4.0-IV0, while MetadataVersion.LATEST_PRODUCTION is 3.9-IV0"),
    Side("4.0.0", "TransactionVersion.LATEST_PRODUCTION is TV_2"),
)
IDEMPOTENT_PRODUCERS: Final = Border(
    "0.11",
    "KIP-98",
    Side("0.10.2.2", "ProducerConfig has no enable.idempotence; ApiKeys has no INIT_PRODUCER_ID"),
    Side("0.11.0.0", "ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG; ApiKeys.INIT_PRODUCER_ID"),
)
PRODUCER_ID_UNKNOWN: Final = Border(
    "1.0",
    "KAFKA-5793",
    Side("0.11.0.3", "ProducerAppendInfo.validateAppend: OutOfOrderSequenceException, whether the id is known or not"),
    Side("1.0.0", "ProducerAppendInfo.checkSequence: UnknownProducerIdException of an id without state"),
)
"""From here on a leader says that it has forgotten a producer, and Java's producer looks why."""
PRODUCERS_OUTLIVE_RECORDS: Final = Border(
    "2.4",
    "KAFKA-7190",
    Side("2.3.1", "ProducerStateManager.truncateHead removes producers whose records are before the log start offset"),
    Side("2.4.0", "ProducerStateManager.truncateHead removes snapshots alone"),
)
UNKNOWN_PRODUCERS_TAKEN: Final = Border(
    "2.5",
    "KIP-360",
    Side("2.4.1", "ProducerAppendInfo.checkSequence throws UnknownProducerIdException"),
    Side("2.5.0", "ProducerAppendInfo.checkSequence: accept writes with any sequence number"),
)
"""From here on a leader that has forgotten a producer takes whatever number comes next."""
PRODUCERS_RAISE_THE_EPOCH: Final = Border(
    "2.5",
    "KIP-360",
    Side("2.4.1", "InitProducerIdRequest has versions 0 to 2, without a producer's id"),
    Side("2.5.0", "InitProducerIdRequest version 3 has ProducerId and ProducerEpoch"),
)
"""From here on a transactional producer that gave up a record can go on: it has its epoch raised. Before, librdkafka
says that the broker cannot do that, and aborts nothing."""
PRODUCER_IDS_EXPIRE_ALONE: Final = Border(
    "3.4",
    "KIP-854",
    Side("3.3.2", "KafkaConfig.TransactionalIdExpirationMsDoc: this setting also influences producer id expiration"),
    Side("3.4.0", "KafkaConfig.ProducerIdExpirationMsProp"),
)
"""From here on how long an idle producer is remembered has a setting of its own."""
JAVA_RETRIES: Final = Border(
    "2.1",
    "KIP-91",
    Side("2.0.1", "ProducerConfig: retries is 0 by default, and there is no delivery.timeout.ms"),
    Side("2.1.0", "ProducerConfig: retries is Integer.MAX_VALUE by default; DELIVERY_TIMEOUT_MS_CONFIG"),
)
JAVA_IDEMPOTENT: Final = Border(
    "3.0",
    "KIP-679, KAFKA-10619",
    Side("2.8.2", "ProducerConfig: enable.idempotence is false by default"),
    Side("3.0.0", "ProducerConfig: enable.idempotence is true by default"),
)
JAVA_IDEMPOTENT_IN_FACT: Final = (
    Border(
        "3.0.1",
        "KAFKA-13598",
        Side("3.0.0", "ProducerConfig.idempotenceEnabled: only if the user has set it"),
        Side("3.0.1", "KafkaProducer goes by getBoolean(ENABLE_IDEMPOTENCE_CONFIG)"),
    ),
    Border(
        "3.1.1",
        "KAFKA-13598",
        Side("3.1.0", "ProducerConfig.idempotenceEnabled: only if the user has set it"),
        Side("3.1.1", "KafkaProducer goes by getBoolean(ENABLE_IDEMPOTENCE_CONFIG)"),
    ),
)
"""The first release of each line whose Java client has the default that it documents: 3.1.0 came before 3.0.1."""
IDEMPOTENT_IN_NAME: Final[tuple[Release, ...]] = tuple(
    numbers(border.before.release) for border in JAVA_IDEMPOTENT_IN_FACT
)
"""Java clients that document idempotence as their default (KIP-679), and have it off (KAFKA-13598)."""


def java_is_idempotent_by_default(release: Release) -> bool:
    """Whether Java's producer of a release is idempotent where nothing is set.

    >>> [java_is_idempotent_by_default(one) for one in ((2, 8, 2), (3, 1, 0), (3, 1, 1))]
    [False, False, True]
    """
    return release >= JAVA_IDEMPOTENT.release and release not in IDEMPOTENT_IN_NAME


JAVA_SENDS_WITHOUT_COPY: Final = Border(
    "2.8",
    "KAFKA-10818, KAFKA-19012",
    Side("2.7.2", "AbstractRequest.toSend: a NetworkSend of what serialize has copied"),
    Side("2.8.0", "AbstractRequest.toSend: SendBuilder.buildRequestSend, of the batch's own buffer"),
)
POLLS_ARE_LIMITED: Final = Border(
    "0.10",
    "KIP-41",
    Side("0.9.0.1", "ConsumerConfig has no max.poll.records"),
    Side("0.10.0.0", "ConsumerConfig.MAX_POLL_RECORDS_CONFIG"),
)
CLIENTS_ASK_FIRST: Final = Border(
    "0.10.2",
    "KIP-97",
    Side("0.10.1.1", "NetworkClient sends no ApiVersionsRequest"),
    Side("0.10.2.0", "NetworkClient.handleInitiateApiVersionRequests"),
)
"""From here on Java clients ask a broker which requests it understands, so that they can talk to older ones."""
OLD_REQUESTS_REMOVED: Final = Border(
    "4.0",
    "KIP-896",
    Side("3.9.2", "ProduceRequest.json: validVersions 0-11"),
    Side("4.0.2", "ProduceRequest.json: validVersions 3-12"),
)
"""From here on brokers and Java clients know no requests of before 0.11, which had no message format 2."""
CLIENTS_OF_4_TALK_TO: Final = Border(
    "2.1",
    "KIP-896",
    Side("2.0.1", "OffsetsForLeaderEpochRequest has versions 0 and 1, which 4.0 does not"),
    Side("2.1.0", "OFFSET_FOR_LEADER_EPOCH_REQUEST_V2, the oldest that 4.0 has"),
)
"""The oldest brokers that Java clients of 4.0 and later talk to."""
SETTINGS_DECLARED: Final = Border(
    "0.9",
    "KAFKA-1845",
    Side("0.8.2.2", "class KafkaConfig reads its settings one by one, from VerifiableProperties"),
    Side("0.9.0.0", "object KafkaConfig has a ConfigDef"),
)
TOOLS_APART: Final = Border(
    "0.9",
    "KAFKA-2276",
    Side("0.8.2.2", "build.gradle has no project tools"),
    Side("0.9.0.0", "build.gradle: project(':tools')"),
)
"""From here on tools such as ProducerPerformance are an artifact of their own."""
SCALA_2_13: Final = Border(
    "2.4",
    "KAFKA-7197",
    Side("2.3.1", "gradle/dependencies.gradle: availableScalaVersions 2.11 and 2.12"),
    Side("2.4.0", "gradle/dependencies.gradle: availableScalaVersions 2.11, 2.12 and 2.13"),
)
REPLICAS_MOVE_WITH_VERSION_1: Final = Border(
    "2.0",
    "KIP-219",
    Side("1.1.1", "AlterReplicaLogDirsRequest has version 0"),
    Side("2.0.0", "AlterReplicaLogDirsRequest.ALTER_REPLICA_LOG_DIRS_REQUEST_V1"),
)
SCALA_REMOVED: Final = Border(
    "2.0",
    "KAFKA-6921",
    Side("1.1.1", "kafka.producer.Producer"),
    Side("2.0.0", "there is no package kafka.producer"),
)
"""The release from which on no jar has Kafka's first producer, the Scala one."""
HIGH_LEVEL_CONSUMER_REMOVED: Final = Border(
    "2.0",
    "KAFKA-2983",
    Side("1.1.1", "kafka.consumer.ZookeeperConsumerConnector"),
    Side("2.0.0", "there is no class kafka.consumer.ZookeeperConsumerConnector"),
)
"""The release from which on no jar has the high-level consumer of 0.8."""
GROUPS_COORDINATED: Final = Border(
    "0.9",
    "KAFKA-1326",
    Side("0.8.2.2", "KafkaApis takes no JoinGroup; KafkaConsumer.poll is not written yet"),
    Side("0.9.0.0", "kafka.coordinator.GroupCoordinator; KafkaApis.handleJoinGroupRequest"),
)
MEMBERS_PROCESS_IN_TIME: Final = Border(
    "0.10.1",
    "KIP-62",
    Side("0.10.0.1", "ConsumerConfig has no max.poll.interval.ms; JoinGroup has no rebalance_timeout"),
    Side("0.10.1.0", "ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG; JoinGroup's rebalance_timeout"),
)
JAVA_TELLS_FENCED: Final = Border(
    "2.3",
    "Apache Kafka pull request #6717",
    Side("2.2.2", "TransactionManager.maybeFailWithError throws a KafkaException, whatever the last error was"),
    Side("2.3.0", "TransactionManager.maybeFailWithError throws a ProducerFencedException if that was the last error"),
)
PRODUCER_FENCED: Final = Border(
    "2.7",
    "KIP-588",
    Side("2.6.3", "TransactionCoordinator answers an old epoch with INVALID_PRODUCER_EPOCH"),
    Side("2.7.0", "TransactionCoordinator answers an old epoch with PRODUCER_FENCED (EndTxn version 2)"),
)
OFFSETS_OF_MEMBERS_IN_TRANSACTIONS: Final = Border(
    "2.5",
    "KIP-447",
    Side("2.4.1", "KafkaProducer.sendOffsetsToTransaction takes no ConsumerGroupMetadata"),
    Side("2.5.0", "KafkaProducer.sendOffsetsToTransaction takes ConsumerGroupMetadata"),
)
MEMBERS_ASKED_FOR_IN_TRANSACTIONS: Final = Border(
    "3.0",
    "Apache Kafka pull request #9958",
    Side("2.8.2", "GroupCoordinator.doTxnCommitOffsets checks the generation alone of a commit without a member id"),
    Side("3.0.0", "GroupCoordinator.validateOffsetCommit: validateCurrentMember comes first, UNKNOWN_MEMBER_ID"),
)
OFFSETS_EXPIRE_BY_TOPIC: Final = Border(
    "2.4",
    "KIP-496, KAFKA-8730",
    Side("2.3.1", "GroupMetadata.removeExpiredOffsets: nothing of a group with members expires"),
    Side("2.4.0", "GroupMetadata.removeExpiredOffsets: what is not in subscribedTopics expires"),
)
REMOVED_MEMBERS_LOGGED: Final = Border(
    "0.11.0.1",
    "apache/kafka#3523",
    Side("0.11.0.0", "GroupCoordinator.onMemberFailure: debug"),
    Side("0.11.0.1", "GroupCoordinator.onExpireHeartbeat: info, Member … has failed, removing it from the group"),
)
"""A coordinator logs, as every broker does by default, that it removes a member whose session has ended."""
COOPERATIVE_REBALANCES: Final = Border(
    "2.4",
    "KIP-429",
    Side("2.3.1", "org.apache.kafka.clients.consumer has no CooperativeStickyAssignor"),
    Side("2.4.0", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
)
"""Members of a group keep the partitions that do not move, by Kafka's own clients."""
STATIC_MEMBERS: Final = Border(
    "2.3",
    "KIP-345",
    Side("2.2.2", "JoinGroupRequest has no group.instance.id"),
    Side("2.3.0", "KafkaApis.handleJoinGroupRequest: UNSUPPORTED_VERSION of a group.instance.id before protocol 2.3"),
)
"""From this protocol on a group has static members; a broker that is held at an older one refuses them."""
STATIC_MEMBERS_TOLD: Final = Border(
    "2.4",
    "KIP-345",
    Side("2.3.1", "DescribeGroupsResponse.json: versions 0 to 3, which do not name group.instance.id"),
    Side("2.4.0", "DescribeGroupsResponse.json: versions 0 to 5, with GroupInstanceId from 4 on"),
)
CONSUMER_PROTOCOL: Final = Border(
    "3.7",
    "KIP-848",
    Side("3.6.2", "KafkaConfig has no group.coordinator.rebalance.protocols"),
    Side("3.7.0", "KafkaConfig: group.coordinator.rebalance.protocols, by default classic alone"),
)
"""Brokers can be told to have groups of the consumer protocol, in preview up to 3.9."""
AUTOMATIC_COMMITS_GO_ON: Final = Border(
    "3.8",
    "KAFKA-16203",
    Side("3.7.1", "CommitRequestManager.maybeAutoCommit: after a commit of nothing one stays in flight"),
    Side("3.8.0", "CommitRequestManager.requestAutoCommit returns at once if there is nothing to commit"),
)
"""Before, Kafka's consumer of the group protocol commits nothing by itself if it has no partition when its first
interval ends."""
GROUP_COORDINATOR_OF_4: Final = Border(
    "4.0",
    "KIP-848",
    Side("3.9.1", "GroupCoordinatorConfig.NEW_GROUP_COORDINATOR_ENABLE_DEFAULT = false"),
    Side("4.0.0", "GroupCoordinatorConfig.NEW_GROUP_COORDINATOR_ENABLE_DEFAULT = true"),
)
