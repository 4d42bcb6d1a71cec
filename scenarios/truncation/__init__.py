"""Truncation: which records a replica throws away before it follows a leader (KIP-101).

A follower copies its leader's log. When it begins to follow, after a restart or an election, its own log may end
otherwise than the leader's, so it first cuts off what it should not have. Before 0.11 it cuts at its own high
watermark, the offset up to which it knows records to be committed. It learns that one fetch later than the leader, so
it may cut off a record that was acknowledged; as long as a leader lives it gets the record back, and if it is elected
first the record is gone. From protocol 0.11 on it asks the leader where its last leader epoch ended, and cuts there.

`double-failover` is the shortest way to a record that acks=all could not keep. `follower-reboot` and
`power-outage-divergence` are the two scenarios of KIP-101: a record lost, and replicas that differ for ever. In
`replica-divergence` an unclean election takes the place of the power outage, so it needs no disks of its own.
`follower-reboot-epoch` and `leader-epoch-recovery` show the same trouble on brokers with leader epochs.
"""

EPOCHS_TRACED = ("kafka.server.epoch", "org.apache.kafka.storage.internals.epoch")
"""The loggers of a leader that is asked where an epoch ends, by their names in one release or another."""
