"""The mutants: brokers with one method changed, what each breaks, and who should say so.

A change is a piece of Java that Javassist compiles into a method when its class is loaded (agent/Mutant.java): before
its first line, at each of its returns (`$_` is what it returns), or in place of calls inside it. `$1` is its first
argument. `Mutant.hit()` counts where a broker did other than Kafka would have; without hits a run says nothing of the
harness.

`tells` are the right reasons: the anomalies (docs/anomalies.md) and claims (docs/claims.md) of which one must be named,
and words of a duty that a step found overdue. `where` are the runs in which that should be seen first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from evidence.errors import unknown_name
from evidence.run import DEFAULT_CASE, full_name

NEW: Final = "4.3.1"
OLD: Final = "2.8.2"
RELEASES: Final = (NEW, OLD)

PARTITION: Final = "kafka.cluster.Partition"
USER_TOPIC: Final = 'topicPartition().topic().startsWith("__")'
How = Literal["before", "after", "calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the methods of one class that a name fits."""

    of: str
    """The class."""
    method: str
    """A name, a name with the begin of its descriptor, or a name with * at its ends ("**" fits all)."""
    how: How
    code: str
    """In Java, on one line."""
    call: str = ""
    """With "calls": the method whose calls are replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A run in which a mutant should be noticed."""

    scenario: str
    case: str = DEFAULT_CASE

    def __str__(self) -> str:
        return full_name(self.scenario, self.case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """Brokers of which one thing is broken."""

    name: str
    broken: str
    """In one sentence."""
    owed: str
    """What Kafka owes instead, and who says so."""
    tells: tuple[str, ...]
    """The right reasons: anomalies and claims."""
    duties: tuple[str, ...] = ()
    """Words of a duty that a step found undone, where that is a right reason too."""
    where: tuple[Where, ...]
    changes: Mapping[str, tuple[Change, ...]]
    """By release; a release that is not there has no such method."""

    def changes_on(self, release: str) -> tuple[Change, ...]:
        """The changes on a release; none if there are none."""
        return self.changes.get(release, ())


def before(of: str, method: str, code: str) -> Change:
    """Code before a method's first line."""
    return Change(of=of, method=method, how="before", code=code)


def after(of: str, method: str, code: str) -> Change:
    """Code at each return of a method."""
    return Change(of=of, method=method, how="after", code=code)


def calls(of: str, method: str, call: str, code: str) -> Change:
    """Code in place of the calls of `call` inside a method."""
    return Change(of=of, method=method, how="calls", call=call, code=code)


def at(*names: str) -> tuple[Where, ...]:
    """Where, from "scenario" or "scenario/case"."""
    parts = [name.partition("/") for name in names]
    return tuple(Where(scenario=scenario, case=case or DEFAULT_CASE) for scenario, _, case in parts)


def spoil(release: str, how: str) -> Change:
    """A follower appends other bytes than it was sent: of each third batch of a topic that is not Kafka's own."""
    of = {NEW: "org.apache.kafka.storage.internals.log.UnifiedLog", OLD: "kafka.log.Log"}[release]
    records = {NEW: "org.apache.kafka.common.record.internal", OLD: "org.apache.kafka.common.record"}[release]
    condition = f'!{USER_TOPIC} && Batches.plain($1.buffer()) && Mutant.count("batch") % 3 == 0'
    made = f"{records}.MemoryRecords.readableRecords(Batches.{how}($1.buffer()))"
    return before(of, "appendAsFollower", f"if ({condition}) {{ Mutant.hit(); $1 = {made}; }}")


LOG: Final = "org.apache.kafka.storage.internals.log.UnifiedLog"
OLD_LOG: Final = "kafka.log.Log"
CONTROL: Final = "org.apache.kafka.controller.ReplicationControlManager"
OLD_CONTROLLER: Final = "kafka.controller.KafkaController"
REPLICAS: Final = "kafka.server.ReplicaManager"
FETCHER: Final = "kafka.server.ReplicaFetcherThread"
LOSS: Final = (
    "lost-write",
    "inconsistent-offsets",
    "unreplicated-acknowledgement",
    "log-truncated-below-high-watermark",
)

MUTANTS: Final = (
    Mutant(
        name="acknowledged-early",
        broken="The leader acknowledges acks=all at once, and does not wait for the ISR.",
        owed="acks=all waits for the whole ISR (Kafka documentation, producer configuration: acks)",
        tells=(*LOSS, "acks-all-waits-for-isr", "isolated-leader-acknowledges-no-acks-all"),
        duties=("acknowledge",),
        where=at("leader-crash/acks-all", "isr-shrink-expand"),
        changes=dict.fromkeys(
            RELEASES,
            (after(REPLICAS, "delayedProduceRequestRequired", "if ($_) { Mutant.hit(); $_ = false; }"),),
        ),
    ),
    Mutant(
        name="acks-1-unwritten",
        broken="A record with acks=1 is treated as with acks=0: its producer gets no answer.",
        owed="acks=1 is answered when the leader has written the record (producer configuration: acks)",
        tells=("acks-1-goes-on-below-min-isr", "writes-go-on-while-cut"),
        duties=("acknowledge", "answer"),
        where=at("min-insync-refusal", "leader-crash/acks-1"),
        changes=dict.fromkeys(
            RELEASES,
            (
                calls(
                    "kafka.server.KafkaApis",
                    "**",
                    "acks",
                    "{ $_ = $proceed($$); if ($_ == 1) { Mutant.hit(); $_ = (short) 0; } }",
                ),
            ),
        ),
    ),
    Mutant(
        name="min-insync-ignored",
        broken="The leader takes acks=all with any number of replicas in sync.",
        owed="with fewer replicas in sync than min.insync.replicas acks=all is refused (topic configuration)",
        tells=(
            "acknowledged-below-min-insync",
            "acks-all-refused-below-min-isr",
        ),
        duties=("below min.insync.replicas",),
        where=at("min-insync-refusal"),
        changes={
            NEW: (
                after(
                    PARTITION,
                    "effectiveMinIsr",
                    "if ($_ > 1) { if (partitionState().isr().size() < $_) Mutant.hit(); $_ = 1; }",
                ),
            ),
            OLD: (
                calls(PARTITION, "*appendRecordsToLeader*", "minInSyncReplicas", "$_ = java.lang.Integer.valueOf(1);"),
                calls(
                    PARTITION,
                    "*checkEnoughReplicasReachOffset*",
                    "minInSyncReplicas",
                    "$_ = java.lang.Integer.valueOf(1);",
                ),
                before(
                    PARTITION,
                    "appendRecordsToLeader(",
                    "if ($3 == -1 && log().isDefined() && inSyncReplicaIds().size() < "
                    "((kafka.log.Log) log().get()).config().minInSyncReplicas().intValue()) Mutant.hit();",
                ),
            ),
        },
    ),
    Mutant(
        name="high-watermark-at-log-end",
        broken="The leader's high watermark is the end of its log.",
        owed="the high watermark is what every member of the ISR has (Kafka documentation, Design: replication)",
        tells=("high-watermark-follows-in-steps", "record-hidden-until-isr-has-it", "read-above-high-watermark", *LOSS),
        where=at("high-watermark-steps", "high-watermark-visibility/catches-up"),
        changes={
            NEW: (
                before(
                    PARTITION,
                    "maybeIncrementLeaderHW",
                    "if ($1.highWatermark() < $1.logEndOffset()) "
                    "{ Mutant.hit(); $1.updateHighWatermark($1.logEndOffsetMetadata()); return true; }",
                ),
            ),
            OLD: (
                before(
                    PARTITION,
                    "maybeIncrementLeaderHW",
                    "if ($1.highWatermark() < $1.logEndOffset()) "
                    "{ Mutant.hit(); $1.updateHighWatermark($1.logEndOffsetMetadata()); return true; }",
                ),
            ),
        },
    ),
    Mutant(
        name="reads-above-high-watermark",
        broken="Consumers are given what lies above the high watermark.",
        owed="only committed messages are given to consumers (Kafka documentation, Design: replication)",
        tells=("record-hidden-until-isr-has-it", "read-above-high-watermark", "high-watermark-regression"),
        where=at("high-watermark-visibility/catches-up"),
        changes={
            NEW: (
                before(
                    PARTITION,
                    "readRecords",
                    "if ($6 != org.apache.kafka.server.storage.log.FetchIsolation.LOG_END) "
                    "{ if ($1.highWatermark() < $1.logEndOffset()) Mutant.hit(); "
                    "$6 = org.apache.kafka.server.storage.log.FetchIsolation.LOG_END; }",
                ),
            ),
            OLD: (
                before(
                    PARTITION,
                    "readRecords",
                    "if ($5 != kafka.server.FetchLogEnd$.MODULE$) { "
                    "if (((kafka.log.Log) log().get()).highWatermark() < ((kafka.log.Log) log().get()).logEndOffset()) "
                    "Mutant.hit(); $5 = kafka.server.FetchLogEnd$.MODULE$; }",
                ),
            ),
        },
    ),
    Mutant(
        name="isr-never-shrinks",
        broken="A leader never takes a follower out of the ISR.",
        owed="a follower that is not caught up for replica.lag.time.max.ms leaves the ISR (broker configuration)",
        tells=("isr-shrinks-in-lag-time", "isr-shrinks-to-reachable-side"),
        duties=("ISR",),
        where=at("isr-shrink-expand", "follower-isolated/acks-1"),
        changes=dict.fromkeys(
            RELEASES, (before(PARTITION, "maybeShrinkIsr", "{ if (needsShrinkIsr()) Mutant.hit(); return; }"),)
        ),
    ),
    Mutant(
        name="isr-never-grows",
        broken="A leader never takes a follower that has caught up back into the ISR.",
        owed="a follower that has caught up is in the ISR again (Kafka documentation, Design: replication)",
        tells=("stuck-isr", "isr-expands-when-caught-up", "restarted-replicas-return", "isr-whole-after-heal"),
        duties=("ISR",),
        where=at("isr-shrink-expand", "follower-isolated/acks-1"),
        changes={
            NEW: (before(PARTITION, "maybeExpandIsr", "{ if (needsExpandIsr($1)) Mutant.hit(); return; }"),),
            OLD: (before(PARTITION, "maybeExpandIsr", "{ if (needsExpandIsr($1)) Mutant.hit(); return; }"),),
        },
    ),
    Mutant(
        name="unclean-always",
        broken="A leader is elected from outside the ISR though unclean elections are off.",
        owed="a partition without a live member of the ISR waits (unclean.leader.election.enable=false)",
        tells=("offline-partition-waits", "leader-elected-from-isr", "leader-outside-isr", *LOSS),
        where=at("unclean-election/disabled", "follower-reboot"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.controller.ConfigurationControlManager",
                    "uncleanLeaderElectionEnabledForTopic",
                    "$_ = true;",
                ),
                after(
                    "org.apache.kafka.controller.PartitionChangeBuilder", "electLeader", "if ($_.unclean) Mutant.hit();"
                ),
            ),
            OLD: (
                before(
                    "kafka.controller.PartitionLeaderElectionAlgorithms$",
                    "offlinePartitionLeaderElection",
                    "$4 = true;",
                ),
                after(
                    "kafka.controller.PartitionLeaderElectionAlgorithms$",
                    "offlinePartitionLeaderElection",
                    "if ($_.isDefined() && !$2.contains($_.get())) Mutant.hit();",
                ),
            ),
        },
    ),
    Mutant(
        name="elections-late",
        broken="The controller elects 5 s later than it could.",
        owed="a dead leader is replaced when its session has ended (KIP-500, KIP-631; broker.session.timeout.ms)",
        tells=("leader-replaced-in-time", "dead-broker-leaves-in-session", "writes-resume-in-time"),
        duties=("leader",),
        where=at("offline-leader-election", "leader-crash/acks-all"),
        changes={
            NEW: (before(CONTROL, "handleBrokerFenced", "Mutant.delay(5000L);"),),
            OLD: (before(OLD_CONTROLLER, "onBrokerFailure", "Mutant.delay(5000L);"),),
        },
    ),
    Mutant(
        name="epoch-not-raised",
        broken="An election does not raise the leader epoch.",
        owed="each election has a new leader epoch (KIP-101)",
        tells=(
            "no-leader",
            "unreadable",
            "stuck-isr",  # brokers take up no election whose epoch they know already, and follow nobody
            "leader-epoch-rises-by-one",
            "two-leaders-in-one-epoch",
            "leader-epoch-regression",
        ),
        duties=("leader",),
        where=at("offline-leader-election", "double-failover"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.metadata.PartitionRegistration",
                    "merge",
                    "if ($_.leaderEpoch > leaderEpoch && $_.leader != leader) { Mutant.hit(); "
                    "$_ = new org.apache.kafka.metadata.PartitionRegistration($_.replicas, $_.directories, $_.isr, "
                    "$_.removingReplicas, $_.addingReplicas, $_.leader, $_.leaderRecoveryState, leaderEpoch, "
                    "$_.partitionEpoch, $_.elr, $_.lastKnownElr); }",
                ),
            ),
            OLD: (
                after(
                    "kafka.api.LeaderAndIsr",
                    "newLeaderAndIsr",
                    "{ Mutant.hit(); $_ = new kafka.api.LeaderAndIsr($1, leaderEpoch(), $2, zkVersion()); }",
                ),
            ),
        },
    ),
    Mutant(
        name="dead-broker-not-fenced",
        broken="The controller does not notice that a broker's session has ended.",
        owed="a broker without a heartbeat for broker.session.timeout.ms is fenced (KIP-631)",
        tells=("no-leader", "dead-broker-leaves-in-session", "leader-replaced-in-time"),
        duties=("leader", "registered"),
        where=at("offline-leader-election", "leader-crash/acks-all"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.controller.BrokerHeartbeatTracker",
                    "maybeRemoveExpired()",
                    "if ($_.isPresent()) { Mutant.hit(); $_ = java.util.Optional.empty(); }",
                ),
            ),
            OLD: (before(OLD_CONTROLLER, "onBrokerFailure", "{ Mutant.hit(); return; }"),),
        },
    ),
    Mutant(
        name="preferred-election-ignored",
        broken="The controller answers a preferred election as done and elects nobody.",
        owed="the preferred leader leads after its election (KIP-183)",
        tells=("preferred-leader-elected",),
        duties=("leader",),
        where=at("preferred-leader-election"),
        changes={
            NEW: (
                before(
                    CONTROL,
                    "electLeader(",
                    "{ Mutant.hit(); return org.apache.kafka.common.requests.ApiError.NONE; }",
                ),
            ),
            OLD: (
                before(
                    OLD_CONTROLLER,
                    "onReplicaElection",
                    "{ Mutant.hit(); return (scala.collection.Map) scala.collection.immutable.Map$.MODULE$.empty(); }",
                ),
            ),
        },
    ),
    Mutant(
        name="clean-stop-moves-no-leader",
        broken="The controller lets a broker that shuts down go without moving its leaderships.",
        owed="controlled shutdown moves leaderships before the broker ends (Kafka documentation, graceful shutdown)",
        tells=("leader-moved-before-shutdown", "writes-pause-briefly"),
        duties=("leader",),
        where=at("controlled-shutdown/clean"),
        changes={
            NEW: (before(CONTROL, "handleBrokerInControlledShutdown", "{ Mutant.hit(); return; }"),),
            OLD: (
                before(
                    OLD_CONTROLLER,
                    "doControlledShutdown",
                    "{ Mutant.hit(); return (scala.collection.Set) scala.collection.immutable.Set$.MODULE$.empty(); }",
                ),
            ),
        },
    ),
    Mutant(
        name="reassignment-never-ends",
        broken="The controller never completes a reassignment.",
        owed="a reassignment ends when the new replicas are in sync (KIP-455)",
        tells=("reassignment-ends-as-asked",),
        duties=("reassign", "replicas"),
        where=at("reassignment/plain"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.controller.PartitionReassignmentReplicas",
                    "maybeCompleteReassignment",
                    "if ($_.isPresent()) { Mutant.hit(); $_ = java.util.Optional.empty(); }",
                ),
            ),
            OLD: (after(OLD_CONTROLLER, "isReassignmentComplete", "if ($_) { Mutant.hit(); $_ = false; }"),),
        },
    ),
    Mutant(
        name="halts-at-second-leadership",
        broken="A broker exits when it begins to lead a partition for the second time, also after a restart.",
        owed="a broker that is elected again serves (Kafka documentation, Design: replication)",
        tells=(
            "broker-exit",
            "correlated-crash",
        ),
        duties=("ended", "exit"),
        where=at("replica-divergence", "follower-reboot"),
        changes=dict.fromkeys(
            RELEASES,
            (
                after(
                    PARTITION,
                    "makeLeader",
                    'if ($_ && !topic().startsWith("__") && '
                    '!new java.io.File("/data/led-" + topicPartition()).createNewFile()) Mutant.halt();',
                ),
            ),
        ),
    ),
    Mutant(
        name="truncates-to-high-watermark",
        broken="A follower truncates to its own high watermark before it fetches, as before KIP-101.",
        owed="a follower truncates by leader epoch (KIP-101)",
        tells=(*LOSS, "restarted-replica-keeps-its-log", "diverged-replica-truncates"),
        where=at("double-failover", "follower-reboot"),
        changes={
            NEW: (
                after(FETCHER, "latestEpoch", "$_ = java.util.Optional.empty();"),
                after(
                    REPLICAS,
                    "initialFetchOffset",
                    "{ if ($1.highWatermark() < $_) Mutant.hit(); $_ = $1.highWatermark(); }",
                ),
            ),
            OLD: (
                after(FETCHER, "latestEpoch", "$_ = scala.None$.MODULE$;"),
                after(
                    REPLICAS,
                    "initialFetchOffset",
                    "{ if ($1.highWatermark() < $_) Mutant.hit(); $_ = $1.highWatermark(); }",
                ),
            ),
        },
    ),
    Mutant(
        name="no-truncation",
        broken="A leader does not tell a follower where their logs part, so it truncates nothing.",
        owed="a follower truncates what its leader has not (KIP-101, KIP-595)",
        tells=("replica-divergence", "diverged-replica-truncates", "inconsistent-offsets"),
        where=at("replica-divergence", "leader-epoch-recovery"),
        changes={
            NEW: (
                before(
                    PARTITION,
                    "readRecords",
                    "if ($2.isPresent()) { Mutant.hit(); $2 = java.util.Optional.empty(); }",
                ),
            ),
            OLD: (
                before(
                    PARTITION,
                    "readRecords",
                    "if ($1.isPresent()) { Mutant.hit(); $1 = java.util.Optional.empty(); }",
                ),
            ),
        },
    ),
    Mutant(
        name="follower-skips-batches",
        broken="A follower writes each third batch without its records.",
        owed="a follower has what its leader has (Kafka documentation, Design: replication)",
        tells=("replica-divergence", "unreplicated-acknowledgement", "lost-write"),
        where=at("baseline", "leader-crash/acks-all"),
        changes={release: (spoil(release, "withoutRecords"),) for release in RELEASES},
    ),
    Mutant(
        name="follower-damages-batches",
        broken="A follower writes each third batch with one byte changed, and a checksum that fits.",
        owed="a follower has what its leader has (Kafka documentation, Design: replication)",
        tells=("replica-divergence", "corrupt-record", "unreplicated-acknowledgement", "lost-write"),
        where=at("baseline", "leader-crash/acks-all"),
        changes={release: (spoil(release, "damaged"),) for release in RELEASES},
    ),
    Mutant(
        name="retention-takes-all",
        broken="The retention check deletes every segment, whatever its age.",
        owed="records stay for retention.ms, seven days unless set otherwise (topic configuration)",
        tells=("lost-write", "configuration-forgotten"),
        where=at("isr-shrink-expand", "rolling-restart/clean"),
        changes={
            NEW: (
                before(
                    LOG,
                    "deleteRetentionMsBreachedSegments",
                    f"if (!{USER_TOPIC} && logEndOffset() > logStartOffset() && "
                    "highWatermark() == logEndOffset()) { Mutant.hit(); "
                    "maybeIncrementLogStartOffset(highWatermark(), "
                    "org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason.SegmentDeletion); }",
                ),
            ),
            OLD: (
                before(
                    OLD_LOG,
                    "deleteRetentionMsBreachedSegments",
                    f"if (!{USER_TOPIC} && logEndOffset() > logStartOffset() && "
                    "highWatermark() == logEndOffset()) { Mutant.hit(); "
                    "maybeIncrementLogStartOffset(highWatermark(), kafka.log.SegmentDeletion$.MODULE$); }",
                ),
            ),
        },
    ),
    Mutant(
        name="duplicates-let-through",
        broken="The leader does not look at sequence numbers of idempotent producers.",
        owed="an idempotent producer's record is in the log once (KIP-98)",
        tells=("duplicate",),
        where=at("lost-acknowledgement/idempotent"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.storage.internals.log.ProducerStateEntry",
                    "findDuplicateBatch",
                    "if ($_.isPresent()) { Mutant.hit(); $_ = java.util.Optional.empty(); }",
                ),
                before("org.apache.kafka.storage.internals.log.ProducerAppendInfo", "checkSequence", "return;"),
            ),
            OLD: (
                after(
                    "kafka.log.ProducerStateEntry",
                    "findDuplicateBatch",
                    "if ($_.isDefined()) { Mutant.hit(); $_ = scala.None$.MODULE$; }",
                ),
                before("kafka.log.ProducerAppendInfo", "checkSequence", "return;"),
            ),
        },
    ),
    Mutant(
        name="aborted-shown",
        broken="Readers under read_committed are not told which transactions were aborted.",
        owed="records of aborted transactions are not given to readers under read_committed (KIP-98)",
        tells=("aborted-read",),
        where=at("exactly-once"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.storage.internals.log.LocalLog",
                    "addAbortedTransactions",
                    "if ($_.abortedTransactions.isPresent() "
                    "&& !((java.util.List) $_.abortedTransactions.get()).isEmpty()) "
                    "{ Mutant.hit(); $_ = new org.apache.kafka.storage.internals.log.FetchDataInfo("
                    "$_.fetchOffsetMetadata, $_.records, $_.firstEntryIncomplete, "
                    "java.util.Optional.of(new java.util.ArrayList())); }",
                ),
            ),
            OLD: (
                after(
                    OLD_LOG,
                    "addAbortedTransactions",
                    "if ($_.abortedTransactions().isDefined() "
                    "&& !((scala.collection.immutable.List) $_.abortedTransactions().get()).isEmpty()) "
                    "{ Mutant.hit(); $_ = new kafka.server.FetchDataInfo($_.fetchOffsetMetadata(), $_.records(), "
                    "$_.firstEntryIncomplete(), new scala.Some(scala.collection.immutable.Nil$.MODULE$)); }",
                ),
            ),
        },
    ),
    Mutant(
        name="commit-marked-as-abort",
        broken="A committed transaction is marked as aborted in the log.",
        owed="a transaction that was acknowledged as committed is read (KIP-98)",
        tells=("lost-write", "transaction-half-committed", "torn-transaction"),
        duties=("records read",),
        where=at("exactly-once"),
        changes=dict.fromkeys(
            RELEASES,
            (
                after(
                    "org.apache.kafka.common.requests.WriteTxnMarkersRequest$TxnMarkerEntry",
                    "transactionResult",
                    "if ($_ == org.apache.kafka.common.requests.TransactionResult.COMMIT) "
                    "{ Mutant.hit(); $_ = org.apache.kafka.common.requests.TransactionResult.ABORT; }",
                ),
            ),
        ),
    ),
    Mutant(
        name="markers-dropped",
        broken="The leader answers that it has written a transaction's marker, and has not.",
        owed="a transaction that ended does not hold up readers under read_committed (KIP-98)",
        tells=("unreadable", "stuck-last-stable-offset", "lost-write", "aborted-read"),
        duties=("records read",),
        where=at("exactly-once"),
        changes={
            NEW: (
                before(
                    PARTITION,
                    "appendRecordsToLeader",
                    "if ($2 == org.apache.kafka.storage.internals.log.AppendOrigin.COORDINATOR "
                    '&& !topic().startsWith("__") && ((org.apache.kafka.common.record.internal.RecordBatch) '
                    "$1.batches().iterator().next()).isControlBatch()) "
                    "{ Mutant.hit(); "
                    "return org.apache.kafka.storage.internals.log.LogAppendInfo.UNKNOWN_LOG_APPEND_INFO; }",
                ),
            ),
            OLD: (
                before(
                    PARTITION,
                    "appendRecordsToLeader(",
                    'if (!topic().startsWith("__") && ((org.apache.kafka.common.record.RecordBatch) '
                    "$1.batches().iterator().next()).isControlBatch()) "
                    "{ Mutant.hit(); return kafka.log.LogAppendInfo$.MODULE$.UnknownLogAppendInfo(); }",
                ),
            ),
        },
    ),
    Mutant(
        name="commits-dropped",
        broken="The group coordinator acknowledges an offset and does not keep it.",
        owed="an offset that was acknowledged is the group's (Kafka documentation, consumer offset tracking)",
        tells=("committed-offset-lost", "committed-offset-regression"),
        duties=("committed",),
        where=at("exactly-once"),
        changes={
            NEW: (
                after(
                    "org.apache.kafka.coordinator.group.OffsetMetadataManager",
                    "commitOffset",
                    "{ Mutant.hit(); $_ = new org.apache.kafka.coordinator.common.runtime.CoordinatorResult("
                    "java.util.Collections.emptyList(), $_.response()); }",
                ),
            ),
            OLD: (
                before("kafka.coordinator.group.GroupMetadata", "onOffsetCommitAppend", "{ Mutant.hit(); return; }"),
            ),
        },
    ),
    Mutant(
        name="offsets-go-back",
        broken="The group coordinator answers with an offset before the one that it acknowledged.",
        owed="the group's offset is the one that was acknowledged last (consumer offset tracking)",
        tells=("committed-offset-regression",),
        duties=("committed",),
        where=at("exactly-once"),
        changes={
            NEW: (
                before(
                    "org.apache.kafka.common.message.OffsetFetchResponseData$OffsetFetchResponsePartitions",
                    "setCommittedOffset",
                    "if ($1 > 2L) { Mutant.hit(); $1 = $1 - 2L; }",
                ),
            ),
            OLD: (
                before(
                    "org.apache.kafka.common.message.OffsetFetchResponseData$OffsetFetchResponsePartition",
                    "setCommittedOffset",
                    "if ($1 > 2L) { Mutant.hit(); $1 = $1 - 2L; }",
                ),
            ),
        },
    ),
    Mutant(
        name="deleted-records-kept",
        broken="The leader answers that it has deleted records, and has not.",
        owed="records before the answered offset are deleted (KIP-107)",
        tells=("resurrected", "log-start-regression"),
        duties=("deleted",),
        where=at("exactly-once"),
        changes={
            NEW: (
                before(
                    PARTITION,
                    "deleteRecordsOnLeader",
                    "{ Mutant.hit(); "
                    "return new org.apache.kafka.server.LogDeleteRecordsResult($1, $1, java.util.Optional.empty()); }",
                ),
            ),
            OLD: (
                before(
                    PARTITION,
                    "deleteRecordsOnLeader",
                    "{ Mutant.hit(); return new kafka.server.LogDeleteRecordsResult($1, $1, scala.None$.MODULE$); }",
                ),
            ),
        },
    ),
    Mutant(
        name="log-start-not-kept",
        broken="A broker does not write down where its logs begin.",
        owed="records that were deleted stay deleted when brokers restart (KIP-107)",
        tells=("resurrected", "log-start-regression"),
        where=at("exactly-once"),
        changes={
            NEW: (
                before(
                    "kafka.log.LogManager",
                    "checkpointLogStartOffsetsInDir",
                    "{ Mutant.hit(); return; }",
                ),
            ),
            OLD: (before("kafka.log.LogManager", "checkpointLogStartOffsetsInDir", "{ Mutant.hit(); return; }"),),
        },
    ),
    Mutant(
        name="refuses-with-a-whole-isr",
        broken="After 50 batches the leader refuses acks=all as if replicas were missing, and none is.",
        owed="with enough replicas in sync acks=all is accepted (topic configuration: min.insync.replicas)",
        tells=("unwritable",),
        duties=("records acknowledged",),
        where=at("steady-load"),
        changes=dict.fromkeys(
            RELEASES,
            (
                before(
                    PARTITION,
                    "appendRecordsToLeader(",
                    'if (!topic().startsWith("__") && $3 == -1 && Mutant.count("written") > 50) { Mutant.hit(); '
                    'throw new org.apache.kafka.common.errors.NotEnoughReplicasException("mutant"); }',
                ),
            ),
        ),
    ),
    Mutant(
        name="acknowledged-late",
        broken="The leader holds each 200th produce request that waits for the ISR back for 25 s.",
        owed="acks=all is answered when the ISR has the records, and nobody who lags for longer than "
        "replica.lag.time.max.ms is in it (broker configuration)",
        tells=("unwritable",),
        where=at("steady-load"),
        changes=dict.fromkeys(
            RELEASES,
            (
                before(
                    "kafka.server.KafkaApis",
                    "handleProduceRequest",
                    'if (Mutant.count("requests") % 200 == 0) Mutant.delay(25000L);',
                ),
            ),
        ),
    ),
    Mutant(
        name="consumers-starved",
        broken="The leader gives consumers nothing behind offset 300 until nobody has written for 15 s.",
        owed="what the ISR has is given to consumers (Kafka documentation, Design: replication)",
        tells=("stuck-reader",),
        where=at("steady-load"),
        changes={
            release: (
                before(PARTITION, "appendRecordsToLeader(", 'if (!topic().startsWith("__")) Mutant.mark("written");'),
                before(
                    PARTITION,
                    "readRecords",
                    f'if ({isolation} && {offset} > 300L && !topic().startsWith("__") && '
                    f'Mutant.within("written", 15)) {{ Mutant.delay(200L); {size} = 0; $7 = false; }}',
                ),
            )
            for release, isolation, offset, size in (
                (NEW, "$6 != org.apache.kafka.server.storage.log.FetchIsolation.LOG_END", "$3", "$5"),
                (OLD, "$5 != kafka.server.FetchLogEnd$.MODULE$", "$2", "$4"),
            )
        },
    ),
)


def get(name: str) -> Mutant:
    """The mutant of this name; UsageError, with near names, if there is none."""
    known = {mutant.name: mutant for mutant in MUTANTS}
    if name not in known:
        raise unknown_name("mutant", name, known, hint="`python -m tests.mutants list` lists them")
    return known[name]
