"""The museum: bugs that Kafka had, each shown on a release that has it and on one that got the fix.

Each exhibit names the first release with its bug, and the first fixed release of each line. Fixes also went into older
lines, so some old releases are safer than newer ones. All run on unmodified brokers, from outside. For an exhibit,
`all` means the few versions that it is shown on. It can be run on any other version by name, and states an outcome
there too.

Records: `museum-forgotten-overrides` deletes those of topics that were to keep them, `museum-reassigned-to-one` the
last good copy but one, `museum-false-clean-marker` what was acknowledged behind a torn log, `museum-ids-given-twice`
what new producers write after a migration to KRaft; `museum-kip-279` makes in-sync replicas differ forever, and
`museum-misdelivered` puts records into another topic. Transactions: `museum-timed-out-transaction` and
`museum-late-end` lose half of a committed transaction. `museum-late-produce` and `museum-marker-lost` hide all records
after a transaction. With compaction, `museum-aborted-survives` commits an aborted record, and `museum-marker-compacted`
loses a committed one. Groups: `museum-expired-offsets`, `museum-upgrade-expires-offsets`,
`museum-rebalance-expires-offsets` and `museum-oldest-offsets` delete their offsets, `museum-acknowledged-commit-lost`
loses an acknowledged commit, and `museum-unloadable-group` leaves them without a coordinator. Brokers and replicas: in
`museum-long-topic-name` one request makes every broker exit that holds a topic. `museum-deleted-half-a-batch`,
`museum-unknown-sequence` and `museum-made-again` stop a replication, `museum-isolated-controller` stops all failovers,
and `museum-shrunk-isr-stalls` stops all writes for a while.

Open today: `museum-deleted-records-return`, `museum-segment-below-batch`, `museum-marker-lost`, and `museum-late-end`
with clients that do not raise the epoch.
"""

from harness.words import OFFSETS, Run

SKIPPED_IN_A_POLL = frozenset({"internal-poll-skip"})
"""A consumer that begins when all is written gets the records on both sides of what it may not see in one poll. A fetch
is answered with all that is readable of a segment (max.partition.fetch.bytes: 1 MiB), and librdkafka gives out at once
what one answer has of a partition (rd_kafka_msgset_reader_run).
"""


def kill_coordinator(run: Run) -> None:
    """Kill the coordinator of all groups, and wait until another broker leads their offsets and has to load them."""
    coordinator = run.leader_of(OFFSETS)
    others = [run.broker(number) for number in run.state_of(OFFSETS).isr if number != coordinator.id]
    run.kill(coordinator)
    run.wait_leader(OFFSETS, *others)
