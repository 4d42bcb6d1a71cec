"""Titles of scenarios in words: a slug is for commands, a title says what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pages.atlas import events

AUDIT: Final = "audit-"
"""How the names of scenarios begin whose runs are the cells of the audit's matrix."""

TITLES: Final[Mapping[str, str]] = {
    "aborted-and-read-uncommitted": "Who gets the records of an aborted transaction",
    "at-least-once": "An application that processes before it commits dies",
    "at-most-once": "An application that commits before it processes dies",
    "auto-commit": "An application with automatic commits dies",
    "auto-leader-rebalance": "Leadership returns to the preferred replica by itself",
    "baseline": "No fault: every acknowledged record is read once",
    "bit-rot": "One bit flips on a broker's disk",
    "blank-disk-replacement": "A broker returns with an empty disk",
    "bridge": "Two brokers cannot reach each other, a third reaches both",
    "broker-ids": "Brokers that are given no id, or another one",
    "broker-joins": "A broker joins the cluster",
    "broker-registration": "How long a dead broker stays registered",
    "broker-storm": "One broker after the other fails, by chance",
    "client-crash": "A producer is killed before it is answered",
    "client-cut-from-leader": "Clients cannot reach the leader, brokers can",
    "clock-step": "A broker's clock is days ahead, or behind",
    "connect-pipeline": "A worker of Kafka Connect dies before it commits",
    "connect-storm": "Workers of Kafka Connect die again and again, and brokers with them",
    "controlled-shutdown": "A leader is stopped cleanly, or killed",
    "controller-failover": "The controller dies",
    "controller-isolated": "The controller is cut off from all other nodes",
    "coordinator-outage": "ZooKeeper or the controllers are down",
    "coordinator-power-loss": "All brokers lose power just after a commit",
    "delivery-storm": "Applications and brokers die again and again",
    "disk-full": "A broker's only disk is full, broken or read-only",
    "double-failover": "The leader dies, then the follower that will be elected",
    "duplicate-broker-id": "A second broker starts with the id of a live one",
    "duplicate-id-counts-as-replica": "A second machine with a follower's id counts as that follower",
    "exactly-once": "Transactions and committed offsets through crashes",
    "exactly-once-external": "Outputs and offsets in one transaction of an external store",
    "exactly-once-transactions": "Outputs and offsets in one transaction of Kafka",
    "flapping-link": "A follower's link goes down again and again",
    "follower-fetching": "Consumers read from followers of their rack",
    "follower-isolated": "A follower is cut off from all other nodes",
    "follower-reboot": "A follower restarts, and then leads (KIP-101)",
    "follower-reboot-epoch": "A follower restarts with leader epochs, and then leads",
    "group-coordinator-failover": "The broker that keeps a group's offsets is gone",
    "high-watermark-steps": "How a record comes under the high watermark",
    "high-watermark-visibility": "When a consumer is given a record",
    "isolated-broker": "A leader is cut off from ZooKeeper or the controller alone",
    "isr-join-under-load": "A follower returns under load, and joins the ISR",
    "isr-lag-max-messages": "A follower is many messages behind, and stays in sync",
    "isr-shrink-expand": "A follower stands still, leaves the ISR and returns",
    "last-replica-standing": "The last in-sync replica loses power",
    "last-stable-offset": "What an open transaction hides from readers",
    "leader-crash": "The leader is killed right after it acknowledged a record",
    "leader-epoch-recovery": "Replicas return after epochs that they missed",
    "leader-isolated": "The leader is cut off from all other nodes",
    "leader-with-minority": "The leader is cut off together with one follower",
    "log-directory-failure": "One of a broker's two log directories fails",
    "log-directory-move": "A replica moves to another log directory",
    "lost-acknowledgement": "An acknowledgement is lost on the network",
    "memory-survives": "All broker processes are killed, or some lose power",
    "metadata-power-loss": "All controllers lose power",
    "migration-to-kraft": "A migration from ZooKeeper to KRaft, with a death in each phase",
    "min-insync-refusal": "Fewer replicas are in sync than min.insync.replicas",
    "offline-leader-election": "A leader dies: who is elected",
    "offset-checkpoints": "What the high-watermark checkpoint is for",
    "offsets-in-zookeeper": "An application with the consumer of 0.8 dies",
    "one-way": "Packets are lost in one direction only",
    "page-cache-only": "All replicas lose power at one moment",
    "power-outage-divergence": "After a power outage two in-sync replicas differ",
    "preferred-leader-election": "A preferred leader is elected on request",
    "producer-fencing": "A second producer with the same transactional.id",
    "rack-loss": "A whole rack loses power",
    "reassignment": "A partition moves to other brokers under load",
    "rebalance-while-processing": "A consumer is too slow, and its partition is taken",
    "refused-then-accepted": "A refused record is sent again behind an accepted one",
    "replica-assignment": "Where Kafka places the replicas of a new topic",
    "replica-divergence": "After an unclean election two in-sync replicas differ",
    "rolling-restart": "All brokers are restarted, one by one",
    "shrink-to-leader": "The ISR shrinks to the leader, which then dies",
    "slow-disk": "A broker's disk is slow",
    "split-in-halves": "The network splits the cluster in halves",
    "share-group": "A member of a share group dies, is slow, or can never process a record",
    "static-membership": "A static member of a group is away for a while",
    "spark-pipeline": "Spark is killed between a batch and its commit",
    "spark-storm": "Queries of Spark die again and again, and brokers with them",
    "streams-count": "Kafka Streams counts in a store, and is killed before its commit",
    "steady-load": "Nothing fails, and clients write and read for a minute",
    "streams-storm": "Processes of Kafka Streams die again and again, and brokers with them",
    "streams-pipeline": "Kafka Streams is killed between its outputs and its commit",
    "time-out": "A producer's request times out, and arrives later",
    "timed-out-batch": "librdkafka gives up one record of a batch in flight",
    "torn-tail": "A log ends in half a batch",
    "transaction-coordinator-failover": "The broker that coordinates a transaction is gone",
    "two-applications": "Two applications with the same inputs die and continue",
    "unclean-election": "Every in-sync replica is dead: wait, or elect another",
    "unclean-recovery": "What a broker reads again after a kill",
    "upgrade-double-failover": "The leader dies, then the follower that will be elected, during an upgrade",
    "upgrade-downgrade": "A cluster goes back to the release before",
    "upgrade-rolling": "A cluster is upgraded node by node under load",
    "what-is-on-disk": "What a partition's directory holds",
    "zombie-controller": "A controller that was replaced wakes up",
    "zombie-processor": "An application that was replaced wakes up",
}
"""Of each scenario that is neither a bug of the museum nor one of the audit's."""


def title(one: Mapping[str, Any]) -> str:
    """A described scenario's title in words; of a scenario that has none in `TITLES`, its name."""
    name = str(one["name"])
    if exhibit := one.get("exhibit"):
        return f"{exhibit['bug']}: {exhibit['title']}"
    if name.startswith(AUDIT):
        return events.EVENTS.get(name.removeprefix(AUDIT), "No fault: what the settings cost")
    return TITLES.get(name, name.replace("-", " ").capitalize())
