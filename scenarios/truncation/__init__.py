"""Truncation: which records a replica removes before it follows a leader (KIP-101).

A follower copies its leader's log. When it begins to follow, after a restart or an election, the end of its own log may
differ from the leader's. So it first truncates its log. Before 0.11 it truncates to its own high watermark, the offset
up to which it knows records to be committed. It learns the high watermark one fetch later than the leader, so it may
remove an acknowledged record. If the leader lives, the follower fetches the record again. If the follower is elected
first, the record is lost. From protocol 0.11 on it asks the leader where its last leader epoch ended, and truncates
there. Since protocol 2.7 (KIP-595) the leader tells it so in the answer to a fetch.

`double-failover` is the shortest sequence that loses a record acknowledged with acks=all. `follower-reboot` is
KIP-101's scenario 1: a follower restarts, leads, and a record is lost. In `double-failover` two failures lead to the
same truncation. `power-outage-divergence` is scenario 2: replicas differ forever. In `replica-divergence` an unclean
election takes the place of the power outage, so it needs no disks of its own. `follower-reboot-epoch` and
`leader-epoch-recovery` show the same failures on brokers with leader epochs.
"""

EPOCHS_TRACED = ("kafka.server.epoch", "org.apache.kafka.storage.internals.epoch")
"""The loggers of a leader that is asked where an epoch ends, by their names in one release or another."""
