"""Placement: on which brokers replicas lie, and how leaders and replicas are moved on purpose.

A topic's assignment names the brokers of each partition. The first of them is the preferred leader. While the preferred
leaders lead, load is as even as the assignment. Failures change that, and brokers are added and removed, so leaders and
replicas are moved while clients work.

`replica-assignment` shows where Kafka places the replicas of a new topic. `auto-leader-rebalance` brings leaders back,
`reassignment` moves replicas to other brokers, and `rolling-restart` restarts every broker in turn.
"""
