"""Durability: what is on disks, and when.

Kafka acknowledges what the replicas in sync have in memory. A broker writes a record into the page cache of its machine
and flushes it, with default settings, when a segment is full or the broker stops cleanly; until then the kernel writes
it back in its own time, half a minute by default. That is enough when processes die, for the page cache outlives them.
It is not when machines do: what protects a record then is that not all of its replicas lose power at once, that
whoever still has it is asked first, or a flush before the acknowledgement.

In `memory-survives` all processes die, or some of the replicas lose power, and nothing is lost. `page-cache-only` takes
the power of all brokers at one moment. In `last-replica-standing` the others are merely away, and have the records,
when the last one in the ISR loses power. `rack-loss` takes the power of half the replicas, and `metadata-power-loss`
that of those who keep the cluster's own account; `coordinator-power-loss` is about what groups and transactions have
committed.

A disk may also give back what nobody wrote. In `torn-tail` a log ends in half a batch or in zeros, as a crash of the
machine leaves it; in `bit-rot` one bit of a closed segment, or of its index, is another one.
What lies there when nothing fails, and whose bytes they are, is in `what-is-on-disk`.
How much of its logs a broker reads again after a kill is in `unclean-recovery`.
What a broker does whose disk takes nothing any more is in `disk-full`, or only one of its two disks in
`log-directory-failure`, and what becomes of the others while a disk is merely slow in `slow-disk`.
"""
