"""Durability: what is on disks, and when.

Kafka acknowledges records that the in-sync replicas have in memory. A broker writes a record into the page cache of its
machine. With default settings it flushes when a segment is full or the broker stops cleanly. Until then the kernel
writes the page cache back when it chooses, after half a minute by default. The page cache survives the death of a
process, and not a power loss. Three things protect a record from a power loss: another replica keeps its power, a
replica that has the record is elected first, or the record is flushed before it is acknowledged.

In `memory-survives` all processes die, or some of the replicas lose power, and nothing is lost. `page-cache-only` takes
the power of all brokers at one moment. In `last-replica-standing` the last replica in the ISR loses power while the
others, which have the records, are only down. `rack-loss` takes the power of half the replicas, and
`metadata-power-loss` that of ZooKeeper or the controllers. `coordinator-power-loss` is about committed offsets and
transactions.

A disk may also return bytes that were never written. In `torn-tail` a log ends in half a batch or in zeros, as a crash
of the machine leaves it. In `bit-rot` one bit of a closed segment, or of its index, is flipped. `what-is-on-disk` shows
the files when nothing fails, and whose bytes they are. `unclean-recovery` shows how much of its logs a broker reads
again after a kill. `disk-full` is about a broker whose disk takes no more writes, and `log-directory-failure` about a
broker that loses one of two disks. `slow-disk` is about a disk that works slowly.
"""
