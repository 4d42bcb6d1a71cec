"""The statements of the design documents, in their order.

A scenario that shows one more is one more line in its `by`. `not_yet` goes when nothing of the statement is left open.
"""

from __future__ import annotations

from typing import Final

from pages.statements.statement import Area, Statement
from pages.statements.witness import against, as_documented, held, held_everywhere, kept

REPLICAS: Final = (
    Statement(
        number=1,
        area=Area.REPLICAS,
        sentence="A consumer is given only records below the high watermark.",
        by=(held("high-watermark-visibility", "record-hidden-until-isr-has-it"),),
    ),
    Statement(
        number=2,
        area=Area.REPLICAS,
        sentence="The high watermark is the smallest log end offset of the in-sync replicas.",
        by=(
            held("high-watermark-steps", "high-watermark-follows-in-steps"),
            held("isr-join-under-load", "high-watermark-leaves-caught-up-behind"),
            held("high-watermark-visibility", "high-watermark-ignores-min-isr", cases=("below-min-isr",)),
            against(held("isr-join-under-load", "high-watermark-waits-for-caught-up")),
            against(held("high-watermark-visibility", "high-watermark-waits-for-min-isr", cases=("below-min-isr",))),
        ),
        corrected="""From 0.10.2 on the leader also waits for replicas outside the ISR that have caught up (KAFKA-4485).
            From 3.7 on the high watermark stands still while the ISR is smaller than min.insync.replicas
            (KAFKA-15583).""",
    ),
    Statement(
        number=3,
        area=Area.REPLICAS,
        sentence="A follower that has not been caught up for replica.lag.time.max.ms leaves the ISR.",
        by=(held("isr-shrink-expand", "isr-shrinks-in-lag-time"),),
    ),
    Statement(
        number=4,
        area=Area.REPLICAS,
        sentence="The default of replica.lag.time.max.ms is 30 seconds.",
        by=(held("isr-shrink-expand", "isr-shrinks-in-lag-time", cases=("by-default",)),),
        corrected="It was 10 seconds up to 2.4; KIP-537 raised it in 2.5.",
    ),
    Statement(
        number=5,
        area=Area.REPLICAS,
        sentence="The time since the follower was last caught up decides, not whether it fetches.",
        by=(
            held("isr-lag-max-messages", "isr-does-not-count-messages"),
            held("slow-disk", "slow-follower-leaves-isr", cases=("follower-flaps",)),
            held("isr-lag-max-messages", "endless-lag-leaves-isr", cases=("never-catches-up",)),
        ),
        corrected="On 0.8.2 fetching is enough, up to replica.lag.max.messages behind.",
    ),
    Statement(
        number=6,
        area=Area.REPLICAS,
        sentence="A follower joins the ISR when its log end has reached the leader's high watermark.",
        by=(
            held("isr-shrink-expand", "isr-expands-when-caught-up"),
            held("isr-join-under-load", "follower-joins-at-high-watermark"),
        ),
        corrected="""From 2.0.1 on the log end must also have reached the start of the leader's epoch (KAFKA-7128). A
            new leader's high watermark may still be behind what was committed.""",
    ),
    Statement(
        number=7,
        area=Area.REPLICAS,
        sentence="The leader looks for lagging followers every half of replica.lag.time.max.ms.",
        by=(held("isr-shrink-expand", "isr-shrinks-in-lag-time", cases=("twenty-seconds",)),),
        corrected="""Up to 0.10.1 it looked once per whole replica.lag.time.max.ms: there a follower may stay for
            twice that time, elsewhere for one and a half times.""",
    ),
    Statement(
        number=8,
        area=Area.REPLICAS,
        sentence="A leader collects its ISR changes and announces them in /isr_change_notification.",
        by=(
            held("isr-shrink-expand", "isr-change-announced"),
            held("isr-shrink-expand", "isr-changes-announced-each-minute", cases=("for-a-minute",)),
        ),
        corrected="""The documents join the two conditions with "and". One is enough: five seconds without another
            change, or 60 seconds since the last announcement. Releases 0.9 to 2.6 announce; later ones ask the
            controller (KIP-497).""",
    ),
    Statement(
        number=9,
        area=Area.REPLICAS,
        sentence="The controller watches these announcements and deletes each after reading it.",
        by=(held("isr-shrink-expand", "isr-change-announced", "isr-notification-content"),),
    ),
    Statement(
        number=10,
        area=Area.REPLICAS,
        sentence="""The leader appends, the follower fetches and appends, and its next fetch lets the leader raise the
            high watermark.""",
        by=(held("high-watermark-steps", "high-watermark-follows-in-steps"),),
    ),
    Statement(
        number=11,
        area=Area.REPLICAS,
        sentence="""A broker writes log ends and high watermarks to two checkpoint files, periodically and when it
            stops.""",
        by=(
            held("offset-checkpoints", "high-watermarks-checkpointed-in-time"),
            held("offset-checkpoints", "clean-stop-writes-checkpoints"),
            held("offset-checkpoints", "killed-high-watermark-is-recent"),
        ),
    ),
    Statement(
        number=12,
        area=Area.REPLICAS,
        sentence="""Before 0.11 a follower that restarts truncates to its high watermark; if it then leads, an
            acknowledged record is lost. Leader epochs prevent that.""",
        by=(as_documented("follower-reboot"), as_documented("double-failover")),
    ),
    Statement(
        number=13,
        area=Area.REPLICAS,
        sentence="""Before 0.11 two replicas that lost power with different log tails can both return to the ISR and
            disagree permanently. Leader epochs prevent that.""",
        by=(as_documented("power-outage-divergence", "single"), as_documented("replica-divergence")),
        not_showable="""A clean election after the outage, on KRaft: the controller fences both brokers in an order that
            no setting decides.""",
        corrected="""KRaft before 3.9 ignores unclean.leader.election.enable (KAFKA-12670): nobody leads there in the
            second sequence. For that, and for nothing that differed, one run each of 3.3.2 and 3.7.1 counts against
            it.""",
    ),
    Statement(
        number=14,
        area=Area.REPLICAS,
        sentence="A compressed batch that spans the divergence leaves two records at one offset (KIP-101 says so too).",
        by=(as_documented("power-outage-divergence", "compressed"),),
    ),
    Statement(
        number=15,
        area=Area.REPLICAS,
        sentence="A partition's leader epoch begins at 0 and rises by one with each new leader.",
        by=(held_everywhere("leader-epoch-rises-by-one"),),
    ),
    Statement(
        number=16,
        area=Area.REPLICAS,
        sentence="Every replica keeps the first offset of each leader epoch in leader-epoch-checkpoint.",
        by=(as_documented("leader-epoch-recovery"),),
        corrected="""The documents say that the leader tells the others. It does not: a follower learns each epoch from
            the batches that it fetches, which carry it.""",
    ),
    Statement(
        number=17,
        area=Area.REPLICAS,
        sentence="""A follower asks where an epoch ended: the leader answers its log end for its own epoch, and the
            start of the next epoch for an older one.""",
        by=(
            as_documented("follower-reboot-epoch"),
            as_documented("leader-epoch-recovery"),
            held("follower-reboot-epoch", "own-epoch-ends-at-log-end"),
            held("leader-epoch-recovery", "older-epoch-ends-where-next-begins"),
        ),
        corrected="From 2.7 on the fetch itself carries the question and the answer (KIP-595).",
    ),
    Statement(
        number=18,
        area=Area.REPLICAS,
        sentence="""In the worked example brokers A, B and C fail in turn; each returns, truncates to the start of the
            next epoch, and all logs end alike.""",
        by=(as_documented("leader-epoch-recovery"),),
    ),
    Statement(
        number=19,
        area=Area.REPLICAS,
        sentence="Followers hold copies and serve no clients.",
        by=(
            held("client-cut-from-leader", "no-writes-while-clients-are-cut"),
            held("follower-fetching", "only-leader-serves-consumer", cases=("by-default",)),
            held(
                "follower-fetching",
                "closest-replica-serves-consumer",
                "follower-serves-to-its-high-watermark",
                cases=("racks",),
            ),
        ),
        corrected="""From 2.4 on a consumer may read from a follower, if the broker has a replica selector (KIP-392).
            The default is still the leader. A follower gives consumers what is below its own high watermark.""",
    ),
)
"""Document 000."""

BROKERS: Final = (
    Statement(
        number=20,
        area=Area.BROKERS,
        sentence="A broker registers in the ephemeral znode /brokers/ids/N, with its address.",
        by=(held("broker-registration", "broker-znode-content", "broker-records-content"),),
        corrected="With KRaft a broker registers at the controller, which fences and unfences it.",
    ),
    Statement(
        number=21,
        area=Area.BROKERS,
        sentence="A broker's id is configured or generated.",
        by=(held("broker-ids", "broker-id-generated", "other-broker-id-refused"),),
        corrected="""Generated from 0.9 to 3.9, with ZooKeeper (KAFKA-1070). KRaft generates none: node.id must be set.
            A broker that finds another id in meta.properties exits. One run of 3.9.2-zk counts against it: the scenario
            did not know the words of 3.7 and later for that exit.""",
    ),
    Statement(
        number=22,
        area=Area.BROKERS,
        sentence="A broker that stops, is cut off or stands still for too long loses its session and its registration.",
        by=(
            held("broker-registration", "dead-broker-leaves-in-session"),
            held("broker-registration", "clean-stop-ends-registration"),
            held("isolated-broker", "isolated-leader-replaced-in-time"),
            held("zombie-controller", "controller-replaced-in-time"),
        ),
    ),
    Statement(
        number=23,
        area=Area.BROKERS,
        sentence="The rest of the cluster is notified when a broker comes or goes.",
        by=(held_everywhere("leader-replaced-in-time"),),
    ),
    Statement(
        number=24,
        area=Area.BROKERS,
        sentence="A new machine with an old broker id and an empty disk takes over that broker's partitions.",
        by=(held("blank-disk-replacement", "blank-replica-refilled", cases=("out-of-isr",)),),
    ),
    Statement(
        number=25,
        area=Area.BROKERS,
        sentence="One broker creates /controller; the others are refused and watch it.",
        by=(
            held("controller-failover", "one-controller-at-a-time"),
            held("controller-failover", "controller-znode-content"),
            held("controller-failover", "one-broker-creates-controller-znode", cases=("watched",)),
        ),
        corrected="A broker looks first: it is refused (NODEEXISTS) only if another is faster between the two.",
    ),
    Statement(
        number=26,
        area=Area.BROKERS,
        sentence="/controller_epoch is persistent, and each new controller raises it by one.",
        by=(held("controller-failover", "controller-epoch-rises-by-one", "controller-epoch-znode-content"),),
    ),
    Statement(
        number=27,
        area=Area.BROKERS,
        sentence="The controller creates /controller and raises the epoch in one transaction of ZooKeeper.",
        by=(held("controller-failover", "controller-and-epoch-in-one-transaction"),),
        corrected="Before 2.1 these are two separate writes (KAFKA-6082).",
    ),
    Statement(
        number=28,
        area=Area.BROKERS,
        sentence="Brokers refuse requests of a controller with an older epoch.",
        by=(held("zombie-controller", "stale-controller-refused"),),
    ),
    Statement(
        number=29,
        area=Area.BROKERS,
        sentence="ZooKeeper refuses the writes of a controller that has been replaced.",
        by=(
            held("zombie-controller", "partition-state-never-goes-back"),
            held("zombie-controller", "replaced-controller-leaves-newer-state", cases=("old-view",)),
            held("zombie-controller", "replaced-controller-is-fenced", cases=("fenced",)),
            against(held("zombie-controller", "replaced-controller-still-writes", cases=("unfenced",))),
        ),
        corrected="""ZooKeeper itself refuses them from 2.1 on (KAFKA-6082). In every release an old controller leaves a
            partition alone once it has read a newer controller's state. Before 2.1 it writes a state that no newer one
            has written, and the leader of that partition does not hear of it.""",
    ),
    Statement(
        number=30,
        area=Area.BROKERS,
        sentence="When the controller dies another broker is elected.",
        by=(held("controller-failover", "controller-replaced-in-time"),),
    ),
    Statement(
        number=31,
        area=Area.BROKERS,
        sentence="The replicas of a topic are spread evenly over the brokers.",
        by=(
            held("replica-assignment", "replicas-placed-evenly"),
            held("replica-assignment", "replicas-spread-over-racks", cases=("racks",)),
        ),
        corrected="From 0.10 on racks come first, if all brokers name theirs (KIP-36).",
    ),
    Statement(
        number=32,
        area=Area.BROKERS,
        sentence="When a broker joins again its replicas fetch what they missed.",
        by=(held("blank-disk-replacement", "blank-replica-refilled"), held_everywhere("isr-whole-after-heal")),
    ),
    Statement(
        number=33,
        area=Area.BROKERS,
        sentence="Only members of the ISR are elected leader.",
        by=(held_everywhere("leader-elected-from-isr"),),
        corrected="""With unclean.leader.election.enable any live replica can lead. It was the default through 0.10.2;
            see unclean-election.""",
    ),
    Statement(
        number=34,
        area=Area.BROKERS,
        sentence="A follower that lags too long is removed from the ISR.",
        by=(held("isr-shrink-expand", "isr-shrinks-in-lag-time"),),
    ),
    Statement(
        number=35,
        area=Area.BROKERS,
        sentence="The znode that announces ISR changes is persistent, and the controller deletes it.",
        by=(held("isr-shrink-expand", "isr-notification-content"),),
    ),
    Statement(
        number=36,
        area=Area.BROKERS,
        sentence="A burst of messages does not push a follower out of the ISR.",
        by=(
            held("isr-lag-max-messages", "isr-does-not-count-messages"),
            against(held("isr-lag-max-messages", "isr-counts-messages")),
        ),
        corrected="In 0.8.2 it does: replica.lag.max.messages counts messages. KIP-16 removed it in 0.9.",
    ),
    Statement(
        number=37,
        area=Area.BROKERS,
        sentence="The first replica of an assignment is the preferred leader; a new topic's leaders are even.",
        by=(held("replica-assignment", "replicas-placed-evenly"),),
    ),
    Statement(
        number=38,
        area=Area.BROKERS,
        sentence="After its broker failed and returned the preferred replica is a mere follower.",
        by=(as_documented("preferred-leader-election"),),
    ),
    Statement(
        number=39,
        area=Area.BROKERS,
        sentence="""The controller moves leadership back by itself where a broker lacks more than
            leader.imbalance.per.broker.percentage of its leaderships.""",
        by=(
            held("auto-leader-rebalance", "leadership-returns-by-itself", cases=("above",)),
            held("auto-leader-rebalance", "small-imbalance-is-left", cases=("below",)),
            against(held("auto-leader-rebalance", "leadership-returns-by-itself", cases=("below",))),
        ),
        corrected="KRaft ignores the percentage and moves every leadership back.",
    ),
    Statement(
        number=40,
        area=Area.BROKERS,
        sentence="A new broker gets none of the partitions that exist, and its share of new topics.",
        by=(
            held(
                "broker-joins",
                "joined-broker-gets-no-old-partition",
                "joined-broker-gets-share-of-new-topics",
            ),
        ),
        corrected="""A topic is placed on the brokers that the controller's metadata cache has
            (AdminManager.createTopics, 0.10.2.2 and 2.8.2). One that is made right after a broker has registered may
            get nothing there: so it was in one run of 0.10.2.2, before the scenario waited for that.""",
    ),
    Statement(
        number=41,
        area=Area.BROKERS,
        sentence="An operator can move partitions to other brokers.",
        by=(held("reassignment", "reassignment-ends-as-asked", "reassignment-adds-before-it-removes"),),
    ),
    Statement(
        number=42,
        area=Area.BROKERS,
        sentence="A replica can move between log directories of one broker (KIP-113).",
        by=(
            held("log-directory-move", "replica-moves-between-directories"),
            held("log-directory-move", "moving-replica-stays-in-sync", cases=("moved",)),
            held("log-directory-move", "move-outlasts-kill", cases=("killed",)),
        ),
        corrected="From 1.1 on with ZooKeeper, and from 3.7 on with KRaft (KIP-858).",
    ),
    Statement(
        number=43,
        area=Area.BROKERS,
        sentence="Offline election: when a leader dies, the first live in-sync replica of the assignment leads.",
        by=(held("offline-leader-election", "leader-is-first-in-assignment", "election-leaves-live-replicas"),),
    ),
    Statement(
        number=44,
        area=Area.BROKERS,
        sentence="Reassign election: a leader that is not in the new assignment is replaced by the first new replica.",
        by=(held("reassignment", "reassignment-elects-first-of-new"),),
    ),
    Statement(
        number=45,
        area=Area.BROKERS,
        sentence="Preferred election: on request the first replica of the assignment leads again.",
        by=(held("preferred-leader-election", "preferred-leader-elected"),),
    ),
    Statement(
        number=46,
        area=Area.BROKERS,
        sentence="Controlled shutdown: a broker that is stopped hands over its leaderships first.",
        by=(held("controlled-shutdown", "leader-moved-before-shutdown", cases=("clean",)),),
    ),
    Statement(
        number=47,
        area=Area.BROKERS,
        sentence="""A partition's state in ZooKeeper has leader, leader epoch, ISR, controller epoch and a version, and
            each election writes them.""",
        by=(held("offline-leader-election", "state-znode-content", "partition-records-content"),),
    ),
    Statement(
        number=48,
        area=Area.BROKERS,
        sentence="A partition is a directory of segments, each named by its first offset, with indexes beside them.",
        by=(
            held(
                "what-is-on-disk",
                "segment-named-by-first-offset",
                "segment-rolled-when-full",
                "directory-has-files-of-release",
                cases=("segments",),
            ),
        ),
        corrected="""The files depend on the release: .timeindex from 0.10.1 (KIP-33), .snapshot and
            leader-epoch-checkpoint from 0.11 (KIP-98, KIP-101), partition.metadata from 2.8 (KIP-516). In 2.8.2 a
            replica gets partition.metadata only with its next leader (Partition.checkOrSetTopicId): the run that counts
            against it was judged before that was known.""",
    ),
    Statement(
        number=49,
        area=Area.BROKERS,
        sentence="A broker stores a compressed batch as the producer sent it.",
        by=(held("what-is-on-disk", "batch-stored-as-sent", "follower-stores-leaders-bytes", cases=("compressed",)),),
        corrected="""Before 0.10 the leader compresses each batch anew, to write offsets into its messages (KIP-31).
            Later releases do so where a topic asks for another codec or an older format.""",
    ),
    Statement(
        number=50,
        area=Area.BROKERS,
        sentence="A record has the time of its creation or of its append, as the topic says.",
        by=(
            held("what-is-on-disk", "create-time-kept", cases=("compressed",)),
            held("what-is-on-disk", "append-time-set", cases=("append-time",)),
            held("clock-step", "clock-behind-refuses-records", "clock-behind-takes-records"),
        ),
    ),
    Statement(
        number=51,
        area=Area.BROKERS,
        sentence="Indexes are sparse: an entry about every log.index.interval.bytes, for search by offset and by time.",
        by=(
            held(
                "what-is-on-disk",
                "index-entries-spaced",
                "offset-found-in-log",
                "time-found-in-log",
                cases=("segments",),
            ),
            as_documented("bit-rot", "index"),
        ),
    ),
)
"""Document 001."""

REPLICATION: Final = (
    Statement(
        number=52,
        area=Area.REPLICATION,
        sentence="A record is committed when every in-sync replica has it; consumers see only committed records.",
        by=(held("high-watermark-visibility", "record-hidden-until-isr-has-it"),),
    ),
    Statement(
        number=53,
        area=Area.REPLICATION,
        sentence="A producer chooses with acks how much it waits for.",
        by=(as_documented("leader-crash"), as_documented("isolated-broker")),
    ),
    Statement(
        number=54,
        area=Area.REPLICATION,
        sentence="The next leader has every committed record.",
        by=(kept("double-failover"), kept("follower-reboot")),
        corrected="False before 0.11: a new leader could have truncated a committed record (KIP-101).",
    ),
    Statement(
        number=55,
        area=Area.REPLICATION,
        sentence="Followers pull from the leader, append in its order, and acknowledge with their next fetch.",
        by=(held("high-watermark-steps", "high-watermark-follows-in-steps"),),
        corrected="""The documents let a producer ask ZooKeeper for the leader. Since 0.8 it asks any broker for
            metadata. No producer here is given ZooKeeper's address, so every run shows it.""",
    ),
    Statement(
        number=56,
        area=Area.REPLICATION,
        sentence="Committed means in the memory of several brokers, not on their disks.",
        by=(
            held("page-cache-only", "lost-records-are-recent", cases=("default",)),
            as_documented("memory-survives"),
        ),
    ),
    Statement(
        number=57,
        area=Area.REPLICATION,
        sentence="Replica j of partition i is placed on broker (i + j) mod n.",
        by=(
            against(held("replica-assignment", "replicas-placed-by-shift")),
            against(held("replica-assignment", "replicas-placed-in-stripes")),
        ),
        corrected="""No release does that. With ZooKeeper placement begins at a random broker, and the distance to the
            other replicas grows by one with each round. KRaft shuffles the brokers in each round.""",
    ),
    Statement(
        number=58,
        area=Area.REPLICATION,
        sentence="A broker is alive if it keeps its session and its replicas do not fall too far behind.",
        by=(
            held("broker-registration", "dead-broker-leaves-in-session"),
            held("isr-shrink-expand", "isr-shrinks-in-lag-time"),
        ),
        corrected="With KRaft heartbeats to the controller take the place of ZooKeeper's session.",
    ),
    Statement(
        number=59,
        area=Area.REPLICATION,
        sentence="In 0.8 replica.lag.time.max.ms counts from the last fetch request, with a default of ten seconds.",
        by=(
            held("isr-shrink-expand", "isr-shrinks-in-lag-time"),
            held("isr-lag-max-messages", "endless-lag-stays-in-isr", cases=("never-catches-up",)),
        ),
        corrected="From 0.9 on it counts from the last time the follower was caught up (KIP-16).",
    ),
    Statement(
        number=60,
        area=Area.REPLICATION,
        sentence="In 0.8 a follower more than replica.lag.max.messages behind leaves the ISR.",
        by=(held("isr-lag-max-messages", "isr-counts-messages"),),
    ),
    Statement(
        number=61,
        area=Area.REPLICATION,
        sentence="""Replication is neither synchronous nor asynchronous: acks=all waits for the ISR, and for no other
            replica.""",
        by=(
            held("isr-shrink-expand", "acks-all-waits-for-isr"),
            as_documented("leader-crash"),
        ),
    ),
    Statement(
        number=62,
        area=Area.REPLICATION,
        sentence="Kafka handles brokers that fail and recover, not brokers that lie or corrupt data.",
        by=(as_documented("bit-rot"), as_documented("duplicate-id-counts-as-replica", "default")),
        not_showable="That no such fault is handled: a run shows examples.",
    ),
    Statement(
        number=63,
        area=Area.REPLICATION,
        sentence="A committed record is not lost as long as one in-sync replica lives.",
        by=(
            kept("shrink-to-leader", "clean", "two-in-sync"),
            kept("double-failover"),
            kept("last-replica-standing", "min-2-stopped", "min-2-frozen"),
        ),
        corrected="""False before 0.11 (KIP-101). If the last in-sync replica loses power unflushed records are lost
            too, unless eligible leader replicas are on (KIP-966).""",
    ),
    Statement(
        number=64,
        area=Area.REPLICATION,
        sentence="A producer may wait for the commit or not, and min.insync.replicas bounds what the commit is worth.",
        by=(held("min-insync-refusal", "acks-all-refused-below-min-isr", "acks-1-goes-on-below-min-isr"),),
    ),
)
"""Document 002, part A."""

DELIVERY: Final = (
    Statement(
        number=65,
        area=Area.DELIVERY,
        sentence="At most once: a consumer commits first and then processes; a crash between the two skips records.",
        by=(as_documented("at-most-once", "between"),),
    ),
    Statement(
        number=66,
        area=Area.DELIVERY,
        sentence="At least once: a consumer processes first and then commits; a crash between the two repeats records.",
        by=(as_documented("at-least-once", "between"),),
    ),
    Statement(
        number=67,
        area=Area.DELIVERY,
        sentence="A producer that retries after a lost answer writes twice; an idempotent producer does not.",
        by=(as_documented("lost-acknowledgement"), as_documented("refused-then-accepted")),
    ),
    Statement(
        number=68,
        area=Area.DELIVERY,
        sentence="An asynchronous producer that dies loses what it had only queued: at most once.",
        by=(as_documented("client-crash"),),
    ),
    Statement(
        number=69,
        area=Area.DELIVERY,
        sentence="The high-level consumer of 0.8 stores its offsets in ZooKeeper.",
        by=(held("offsets-in-zookeeper", "offset-in-zookeeper-alone", cases=("zookeeper", "zookeeper-restarted")),),
        corrected="""With offsets.storage=kafka it stores them in Kafka, and with dual.commit.enabled=true, the default
            then, in both (0.8.2 to 1.1).""",
    ),
    Statement(
        number=70,
        area=Area.DELIVERY,
        sentence="With automatic commits a consumer can skip records that it was given and did not process.",
        by=(as_documented("auto-commit", "librdkafka", "java-worker"),),
        corrected="""Kafka's own consumer commits what the poll before returned: it skips only what other threads
            process. One run of 0.9.0.1 counts against it, and shows nothing: that consumer cannot be told how many
            records a poll returns (KIP-41), and had all in the first poll. The case waited for a second one.""",
    ),
    Statement(
        number=71,
        area=Area.DELIVERY,
        sentence="The order of commit and processing decides which of the two a crash does.",
        by=(as_documented("at-most-once"), as_documented("at-least-once")),
    ),
    Statement(
        number=72,
        area=Area.DELIVERY,
        sentence="Output that is idempotent by key makes repeats harmless, yet it is not exactly once.",
        by=(held("exactly-once-external", "output-by-key-written-again", cases=("sqlite-by-key",)),),
    ),
    Statement(
        number=73,
        area=Area.DELIVERY,
        sentence="Exactly once needs output and offset in one place, written in one transaction.",
        by=(as_documented("exactly-once-external"),),
    ),
    Statement(
        number=74,
        area=Area.DELIVERY,
        sentence="Kafka's transactions give exactly once from topic to topic.",
        by=(
            as_documented("exactly-once-transactions"),
            as_documented("exactly-once"),
            as_documented("coordinator-power-loss", "transaction-flush-each"),
        ),
    ),
)
"""Document 002, part B."""

WATERMARKS: Final = (
    Statement(
        number=75,
        area=Area.WATERMARKS,
        sentence="Consumers see records below the high watermark alone.",
        by=(held("high-watermark-visibility", "record-hidden-until-isr-has-it"),),
    ),
    Statement(
        number=76,
        area=Area.WATERMARKS,
        sentence="A replica's high watermark is never above its log end.",
        by=(held("high-watermark-steps", "high-watermark-within-log"),),
    ),
    Statement(
        number=77,
        area=Area.WATERMARKS,
        sentence="A partition's high watermark is its leader's.",
        by=(held("high-watermark-steps", "follower-high-watermark-behind-leaders"),),
    ),
    Statement(
        number=78,
        area=Area.WATERMARKS,
        sentence="The leader keeps the log end of each follower, and learns it from the follower's fetch.",
        by=(held("high-watermark-steps", "high-watermark-follows-in-steps"),),
    ),
    Statement(
        number=79,
        area=Area.WATERMARKS,
        sentence="""The leader's high watermark is the larger of its own and the smallest log end; a follower's is the
            smaller of its log end and the leader's.""",
        by=(
            held(
                "high-watermark-steps",
                "leader-high-watermark-never-falls",
                "follower-high-watermark-behind-leaders",
                "high-watermark-within-log",
            ),
        ),
    ),
    Statement(
        number=80,
        area=Area.WATERMARKS,
        sentence="""One record takes two fetches: after the first only log ends have moved, after the second the high
            watermarks.""",
        by=(held("high-watermark-steps", "high-watermark-follows-in-steps"),),
    ),
    Statement(
        number=81,
        area=Area.WATERMARKS,
        sentence="Records below the high watermark are committed, and those up to the log end are not.",
        by=(
            held("high-watermark-visibility", "record-hidden-until-isr-has-it"),
            held("high-watermark-steps", "high-watermark-within-log"),
        ),
    ),
    Statement(
        number=82,
        area=Area.WATERMARKS,
        sentence="With read_committed the last stable offset decides what a consumer is given.",
        by=(
            held(
                "last-stable-offset",
                "last-stable-offset-at-first-open",
                "last-stable-offset-released",
                "committed-reader-waits",
            ),
            as_documented("exactly-once"),
        ),
    ),
)
"""Document 003."""

STATEMENTS: Final = (*REPLICAS, *BROKERS, *REPLICATION, *DELIVERY, *WATERMARKS)
"""All of them, by number."""
