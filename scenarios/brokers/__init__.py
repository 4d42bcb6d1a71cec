"""Brokers and their registrations: which broker counts as alive, and under which id.

The other brokers know a broker by its id and its registration. The registration lasts as long as the broker gives signs
of life. With ZooKeeper it is a znode bound to a session. With KRaft it is a record, and heartbeats keep the broker from
being fenced. For as long as a session lasts, the registrations may differ from the processes that really run. Leaders
are elected by the registrations.

`broker-registration` shows how registrations begin and end, and `duplicate-broker-id` starts a second broker with an id
in use. `blank-disk-replacement` gives a broker's id to a machine with an empty disk. `isolated-broker` is about a
leader that has been replaced without knowing it. `broker-storm` knows no sequence: the seed draws which broker fails,
how, and what goes on meanwhile.
"""
