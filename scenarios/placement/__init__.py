"""Placement: on which brokers replicas lie, and how leaders and replicas are moved on purpose.

A topic's assignment names the brokers of each partition. The first of them is the preferred leader: as long as every
partition is led by that one, load is as even as the assignment. After failures it is not, and brokers come and go, so
leaders and replicas are moved while clients go on.

`replica-assignment` shows where Kafka places the replicas of a new topic. `auto-leader-rebalance` brings leaders back,
`reassignment` moves replicas to other brokers, and `rolling-restart` restarts every broker in turn.
"""
