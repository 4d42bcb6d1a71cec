"""Brokers and their registrations: who is taken for alive, and under whose id.

A broker is known to the others by its id and by a registration that lasts as long as it gives signs of life: a znode
bound to its session with ZooKeeper, a record that heartbeats keep from being fenced with KRaft. What the cluster takes
for alive and what really runs may differ, for as long as a session lasts, and leaders are elected by the former.

`broker-registration` shows how registrations begin and end, and `duplicate-broker-id` what becomes of a second broker
with an id in use. `blank-disk-replacement` gives a broker's id to a machine with an empty disk. `isolated-broker` is a
leader that has been replaced, and does not know it.
"""
