"""The museum: bugs that Kafka had, each shown on a release that has it and on one that got the fix.

Each exhibit names its bug: the first release that has it, and the first fixed one of each line of releases, since a fix
that went into older lines too makes some old releases safer than newer ones. All are run from outside, on brokers as
they were released. `all` versions are, for an exhibit, the few that it is shown on; it can be run on any other by name,
and states what follows there.

`museum-kip-279` makes in-sync replicas differ for ever. `museum-unloadable-group` takes its coordinator from a consumer
group. `museum-long-topic-name` ends by one request every broker that holds a topic.
"""
