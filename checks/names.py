"""The names of all anomalies and claims, without the functions that find and judge them.

A scenario names anomalies and claims, and so does the command line. Who only asks whether a name is one loads no check,
and none of what checks compute with (numpy, pyarrow): the museum, a list of scenarios, a name at the Tab key. The
functions stand in checks/anomalies/ and checks/claims/. When all of these are loaded, each name must have a function
here, and each function a name (`refuse_others`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from evidence.errors import unknown_name

LOST_WRITE: Final = "lost-write"
UNSEEN: Final = "unseen"
WRITE_CYCLE: Final = "G0"
TRUNCATED: Final = "log-truncated-below-high-watermark"
INCONSISTENT_OFFSETS: Final = "inconsistent-offsets"
REPLICA_DIVERGENCE: Final = "replica-divergence"

ANOMALIES: Final = frozenset(
    {
        "G0",
        "G1c",
        "aborted-read",
        "acknowledged-below-min-insync",
        "broker-exit",
        "committed-offset-lost",
        "committed-offset-regression",
        "committed-too-far",
        "configuration-forgotten",
        "controller-epoch-regression",
        "correlated-crash",
        "corrupt-record",
        "delivered-too-often",
        "duplicate",
        "empty-isr",
        "group-unavailable",
        "high-watermark-regression",
        "inconsistent-offsets",
        "index-mismatch",
        "internal-nonmonotonic-poll",
        "internal-nonmonotonic-send",
        "internal-poll-skip",
        "isr-outside-assignment",
        "leader-epoch-regression",
        "leader-outside-isr",
        "log-start-regression",
        "log-truncated-below-high-watermark",
        "lost-write",
        "misdelivered",
        "no-leader",
        "nonmonotonic-poll",
        "nonmonotonic-send",
        "phantom",
        "poll-skip",
        "precommitted-read",
        "read-above-high-watermark",
        "repeated-processing",
        "replica-divergence",
        "resurrected",
        "share-record-lost",
        "skipped-processing",
        "stale-commit-accepted",
        "state-store-leak",
        "stuck-isr",
        "stuck-last-stable-offset",
        "torn-transaction",
        "transaction-half-committed",
        "two-controllers-in-one-epoch",
        "two-leaders-in-one-epoch",
        "two-owners",
        "unreadable",
        "unreplicated-acknowledgement",
        "unseen",
    }
)
"""What checks/anomalies/ has a function for."""

CLAIMS: Final = frozenset(
    {
        "accepted-record-is-not-delivered-again",
        "acks-1-goes-on-below-min-isr",
        "acks-all-refused-below-min-isr",
        "acks-all-waits-for-coordinator",
        "acks-all-waits-for-isr",
        "acks-wait-for-slow-disk",
        "append-time-set",
        "batch-compressed-anew",
        "batch-compressed-as-topic-says",
        "batch-stored-as-sent",
        "batch-stored-in-topics-format",
        "blank-replica-elected",
        "blank-replica-passed-over",
        "blank-replica-refilled",
        "broker-id-generated",
        "broker-records-content",
        "broker-znode-content",
        "clean-stop-ends-registration",
        "clean-stop-recovers-nothing",
        "clean-stop-writes-checkpoints",
        "clock-behind-refuses-records",
        "clock-behind-takes-records",
        "closest-replica-serves-consumer",
        "committed-reader-waits",
        "controller-and-epoch-in-one-transaction",
        "controller-and-epoch-in-two-writes",
        "controller-epoch-rises-by-one",
        "controller-epoch-znode-content",
        "controller-replaced-in-time",
        "controller-znode-content",
        "crash-counts-again-what-was-not-committed",
        "crash-repeats-what-was-not-committed",
        "crash-skips-what-was-committed",
        "create-time-kept",
        "damage-goes-unnoticed",
        "damage-is-refused",
        "damage-stays-on-its-replica",
        "dead-broker-leaves-in-session",
        "dead-controller-stays-in-isr",
        "dead-leader-is-not-replaced",
        "dead-letters-lost-without-leader",
        "directory-has-files-of-release",
        "diverged-replica-truncates",
        "duplicate-id-refused",
        "duplicate-takes-directories",
        "each-input-counted-once",
        "each-input-processed-once",
        "early-restart-refused",
        "early-restart-waits",
        "election-in-the-controllers-epoch",
        "election-leaves-live-replicas",
        "endless-lag-leaves-isr",
        "endless-lag-stays-in-isr",
        "failed-log-directory-is-left",
        "first-broker-keeps-registration",
        "first-broker-undisturbed",
        "flushed-records-survive",
        "follower-high-watermark-behind-leaders",
        "follower-joins-at-high-watermark",
        "follower-serves-to-its-high-watermark",
        "follower-stores-leaders-bytes",
        "high-watermark-follows-in-steps",
        "high-watermark-ignores-min-isr",
        "high-watermark-leaves-caught-up-behind",
        "high-watermark-waits-for-caught-up",
        "high-watermark-waits-for-min-isr",
        "high-watermark-within-log",
        "high-watermarks-checkpointed-in-time",
        "index-entries-spaced",
        "isolated-leader-acknowledges-no-acks-all",
        "isolated-leader-replaced-in-time",
        "isr-change-announced",
        "isr-changes-announced-each-minute",
        "isr-counts-messages",
        "isr-does-not-count-messages",
        "isr-expands-when-caught-up",
        "isr-notification-content",
        "isr-outlasts-brief-cuts",
        "isr-shrinks-in-lag-time",
        "isr-shrinks-to-reachable-side",
        "isr-whole-after-heal",
        "joined-broker-gets-no-old-partition",
        "joined-broker-gets-share-of-new-topics",
        "killed-high-watermark-is-recent",
        "lag-not-seen-while-clock-behind",
        "last-stable-offset-at-first-open",
        "last-stable-offset-released",
        "late-acknowledgement-is-refused",
        "late-acknowledgement-of-passed-record-is-ignored",
        "late-commit-refused",
        "leader-elected-from-isr",
        "leader-elected-from-outside-isr",
        "leader-epoch-rises-by-one",
        "leader-high-watermark-never-falls",
        "leader-is-first-in-assignment",
        "leader-kept-while-registered",
        "leader-moved-before-shutdown",
        "leader-replaced-in-time",
        "leadership-returns-by-itself",
        "lost-records-are-recent",
        "metadata-migrated-to-kraft",
        "metadata-survives-power-loss",
        "migration-reverted",
        "missing-high-watermark-truncates-all",
        "move-outlasts-kill",
        "move-pauses-writes-briefly",
        "moving-replica-stays-in-sync",
        "no-writes-while-clients-are-cut",
        "nothing-changes-without-coordinator",
        "offline-partition-waits",
        "offset-found-in-log",
        "offset-in-both",
        "offset-in-kafka-alone",
        "offset-in-zookeeper-alone",
        "older-epoch-ends-where-next-begins",
        "one-broker-creates-controller-znode",
        "one-controller-at-a-time",
        "one-incarnation-at-a-time",
        "only-leader-serves-consumer",
        "other-broker-id-refused",
        "other-log-directory-goes-on",
        "others-do-not-wait-for-slow-disk",
        "output-by-key-written-again",
        "own-epoch-ends-at-log-end",
        "partition-records-content",
        "partition-state-never-goes-back",
        "preferred-election-znode-comes-and-goes",
        "preferred-leader-elected",
        "quorum-lost-thread-spins",
        "quorum-lost-thread-waits",
        "quorum-reached-thread-waits",
        "reader-goes-on-behind-damage",
        "reader-is-not-told-of-gap",
        "reader-is-told-of-damage",
        "reader-stops-at-damage",
        "reassignment-adds-before-it-removes",
        "reassignment-elects-first-of-new",
        "reassignment-ends-as-asked",
        "reassignment-stalls",
        "reassignment-states-its-change",
        "reassignment-znode-comes-and-goes",
        "record-hidden-until-isr-has-it",
        "recovery-begins-at-recovery-point",
        "recovery-cuts-damage",
        "refused-record-not-in-log",
        "registration-outlives-broker",
        "rejected-record-is-delivered-once",
        "released-record-is-archived-at-limit",
        "removed-replicas-are-deleted",
        "replaced-controller-is-fenced",
        "replaced-controller-leaves-newer-state",
        "replaced-controller-still-writes",
        "replaced-leader-acknowledges-acks-1",
        "replaced-leader-acknowledges-no-acks-all",
        "replica-moves-between-directories",
        "replicas-placed-by-shift",
        "replicas-placed-evenly",
        "replicas-placed-in-stripes",
        "replicas-spread-over-racks",
        "restarted-replica-keeps-its-log",
        "restarted-replica-stays-out",
        "restarted-replica-truncates-to-high-watermark",
        "restarted-replicas-return",
        "segment-named-by-first-offset",
        "segment-rolled-when-full",
        "sessions-outlast-coordinator",
        "shrunk-isr-holds-back",
        "shrunk-isr-releases-acks-all",
        "silent-transaction-aborted-in-time",
        "slow-follower-leaves-isr",
        "slow-follower-returns-to-isr",
        "slow-follower-stays-in-isr",
        "slow-leader-keeps-leading",
        "small-imbalance-is-left",
        "stale-controller-refused",
        "state-znode-content",
        "static-member-replaced-after-session",
        "static-member-returns-without-rebalance",
        "store-crash-skips-what-it-lost",
        "time-found-in-log",
        "topic-znode-content",
        "torn-tail-is-cut",
        "unanswered-record-on-disk",
        "undeliverable-record-is-a-dead-letter",
        "unforced-zookeeper-forgets",
        "unknown-record-comes-late",
        "unknown-record-in-log",
        "unknown-record-not-in-log",
        "unreadable-checkpoint-keeps-replica-out",
        "unreadable-checkpoint-makes-leader-refuse",
        "writes-go-on-while-cut",
        "writes-go-on-while-isr-cannot-shrink",
        "writes-go-on-without-coordinator",
        "writes-pause-briefly",
        "writes-pause-for-the-session",
        "writes-resume-in-time",
        "writes-stop-while-isr-cannot-shrink",
        "writes-wait-for-the-isr",
        "written-batch-not-written-again",
        "wrong-checkpoint-is-bounded",
        "wrong-clock-deletes-young-records",
        "zookeeper-keeps-what-it-told",
    }
)
"""What checks/claims/ has a function for."""


def validate_anomalies(names: Iterable[str]) -> None:
    """Raise UsageError, with the nearest names, for the first that is no anomaly."""
    for name in names:
        if name not in ANOMALIES:
            raise unknown_name("anomaly", name, ANOMALIES, hint="`kafka-chaos list --anomalies` has them all")


def validate_claims(names: Iterable[str]) -> None:
    """Raise UsageError, with the nearest names, for the first that is no claim."""
    for name in names:
        if name not in CLAIMS:
            raise unknown_name("claim", name, CLAIMS, hint="`kafka-chaos list --claims` has them all")


def refuse_others(kind: str, declared: Collection[str], found: Collection[str]) -> None:
    """Raise ValueError where the names that are declared here are not those that have a function.

    >>> refuse_others("claim", {"one"}, ["one"])
    >>> refuse_others("claim", {"one"}, ["one", "two"])
    Traceback (most recent call last):
    ValueError: checks/names.py has not the claim two, which a function has
    >>> refuse_others("claim", {"one", "two"}, ["one"])
    Traceback (most recent call last):
    ValueError: checks/names.py has the claim two, which no function has
    """
    if missing := sorted(set(found) - set(declared)):
        raise ValueError(f"checks/names.py has not the {kind} {', '.join(missing)}, which a function has")
    if extra := sorted(set(declared) - set(found)):
        raise ValueError(f"checks/names.py has the {kind} {', '.join(extra)}, which no function has")
