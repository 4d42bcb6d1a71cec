"""Delivery semantics: which inputs an application skips, and which it processes twice, when it crashes.

An application is given inputs, makes an output of each, and commits how far it has come. Kafka keeps that offset and
knows nothing of the outputs. The program's order of steps decides what a crash between them does. The programs are real
ones, a process each, members of a group (`harness/workloads/processes/programs.py`). One of them stands still between
two steps. Other processes report what is committed there and what is in the output. Then it is killed, and another
process of the same program takes over.

`at-most-once` and `at-least-once` are the two orders of steps. `auto-commit` leaves the second step to the client, and
`offsets-in-zookeeper` does so with the consumer of 0.8.
`exactly-once-transactions` makes one step of both, and so does `exactly-once-external` in a store outside Kafka.
`streams-pipeline` has Kafka Streams do all of it, `connect-pipeline` Kafka Connect, `spark-pipeline` Spark. In
`share-group` no offset is committed: a member says of each record what is to become of it.
`static-membership` shows who has the partitions of an application that is away. In
`rebalance-while-processing` and `zombie-processor` an application loses its inputs while it works: it is too slow, say,
or frozen. Then it continues.
`producer-fencing` shows the mechanism under transactions.
`delivery-storm` has three members work under a load while members and brokers die, once for each semantics.
"""

from harness.words import CrashPoint, Run

GROUP = "application"
INPUTS = 20
BATCH = 5
"""Inputs that a program is given at a time, unless a step says otherwise."""
LIMIT_S = 90.0
DELIVERY = "Kafka documentation, Design: message delivery semantics"
NUMBERS = ("crash-skips-what-was-committed", "crash-repeats-what-was-not-committed")
"""The claims that say how many inputs, and which."""
SKIPPED = frozenset({"skipped-processing", "committed-too-far"})
"""Inputs without an output, which a committed offset had passed."""


def crash(run: Run, program: str, stop: CrashPoint) -> None:
    """A program is killed at a crash point, and another process continues from the group's committed offset."""
    t = run.partition()
    run.send(t, INPUTS)
    with run.application(program, t, group=GROUP, stop=stop) as first:
        run.wait_crash_point(first, t)
        run.kill_client(first)
    with run.application(program, t, group=GROUP):
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)


SLOW = {"max.poll.interval.ms": "10000"}
"""The longest time that a member may take from poll to poll."""


def overtake(run: Run, program: str, stop: CrashPoint, transactional_ids: tuple[str, str] | None = None) -> None:
    """A program stands still for longer than it may from poll to poll. Another process gets its inputs, and then the
    first continues.
    """
    t = run.partition()
    run.send(t, INPUTS)
    first, second = transactional_ids or (None, None)
    with run.application(program, t, group=GROUP, stop=stop, settings=SLOW, transactional_id=first) as slow:
        run.wait_crash_point(slow, t)
        with run.application(program, t, group=GROUP, settings=SLOW, transactional_id=second):
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
            slow.go_on()
            slow.stop()
