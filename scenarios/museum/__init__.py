"""The museum: bugs that Kafka had, each shown on a release that has it and on one that got the fix.

Each exhibit names its bug: the first release that has it, and the first fixed one of each line of releases, since a fix
that went into older lines too makes some old releases safer than newer ones. All are run from outside, on brokers as
they were released. `all` versions are, for an exhibit, the few that it is shown on; it can be run on any other by name,
and states what follows there.

Records: `museum-forgotten-overrides` deletes those of topics that were to keep them, `museum-reassigned-to-one` the
last good copy but one, `museum-false-clean-marker` what was acknowledged behind a torn log, `museum-ids-given-twice`
what new producers write after a migration to KRaft; `museum-kip-279` makes in-sync replicas differ for ever, and
`museum-misdelivered` puts records into another topic. Transactions:
`museum-timed-out-transaction` and `museum-late-end` tear one that is committed, `museum-late-produce` and
`museum-marker-lost` hide all that comes after one; with compaction `museum-aborted-survives` commits what was aborted,
and `museum-marker-compacted` loses what was committed. Groups: `museum-expired-offsets`,
`museum-upgrade-expires-offsets`, `museum-rebalance-expires-offsets` and `museum-oldest-offsets` take their places,
`museum-acknowledged-commit-lost` a commit that was acknowledged, and `museum-unloadable-group` their coordinator.
Brokers and replicas: `museum-long-topic-name` ends by one request every broker that holds a topic;
`museum-deleted-half-a-batch`, `museum-unknown-sequence` and `museum-made-again` end a replication;
`museum-isolated-controller` all failovers, `museum-shrunk-isr-stalls` all writes for a while.

Open today: `museum-deleted-records-return`, `museum-segment-below-batch`, `museum-marker-lost`, and `museum-late-end`
with clients that do not raise the epoch.
"""

from harness.words import OFFSETS, Run


def kill_coordinator(run: Run) -> None:
    """Kill the coordinator of all groups, and wait until another broker leads their offsets and has to load them."""
    coordinator = run.leader_of(OFFSETS)
    others = [run.broker(number) for number in run.state_of(OFFSETS).isr if number != coordinator.id]
    run.kill(coordinator)
    run.wait_leader(OFFSETS, *others)
