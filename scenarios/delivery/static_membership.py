"""A static member of a group is away for a while (KIP-345).

Two applications of one group have a partition each and a group.instance.id. One is killed after it has processed
inputs and before it commits them. If it is started again before its session ends, it gets its old partition, and the
group does not rebalance. If it stays away for longer, the other application gets the partition when the session has
ended. Nobody reads the partition until then. In both cases no input is skipped, and the inputs that were processed and
not committed are processed again.

In the last case the application still lives when another process begins with its group.instance.id. The coordinator
gives the partition to the second process and fences the first one: its commit is refused. If a heartbeat is fenced
before, librdkafka refuses the commit by itself (rd_kafka_cgrp_handle_Heartbeat: a fatal error), and nobody sees what
the coordinator would have answered. So heartbeats are rare in that case.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, Run, TopicPlan, ranges, scenario
from scenarios.delivery import GROUP, INPUTS, LIMIT_S, NUMBERS

KIP_345 = "KIP-345"
PROGRAM = "process-then-commit"
STOP = CrashPoint("process", "commit", 2)
SHORT, LONG, LONGEST = "6000", "60000", "180000"
"""Sessions, in ms."""
SELDOM = {"heartbeat.interval.ms": "60000"}
"""A third of the longest session (Kafka documentation, consumer configuration: no more than that)."""
REPEATED = frozenset({"repeated-processing"})


def instance(name: str, session: str) -> dict[str, str]:
    """A static member's settings. The range assignor gives the first partition to the first name."""
    return {"group.instance.id": name, "session.timeout.ms": session, "partition.assignment.strategy": "range"}


def back_in_time(run: Run) -> None:
    """It is killed and started again before its session ends."""
    t, other = run.partition(), run.partition(1)
    member = partial(run.application, PROGRAM, t, group=GROUP)
    with member(stop=STOP, settings=instance("a", LONG)) as first, member(settings=instance("b", LONG)):
        run.wait_members(GROUP, {"a": [t], "b": [other]}, timeout_s=LIMIT_S)
        run.send(t, INPUTS)
        run.send(other, INPUTS)
        run.wait_crash_point(first, t)
        run.kill_client(first)
        with member(settings=instance("a", LONG)):
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
            run.wait_committed(GROUP, other, INPUTS, timeout_s=LIMIT_S)
            run.wait_members(GROUP, {"a": [t], "b": [other]}, timeout_s=LIMIT_S)


def too_late(run: Run) -> None:
    """It is killed and stays away until its session has ended."""
    t, other = run.partition(), run.partition(1)
    member = partial(run.application, PROGRAM, t, group=GROUP)
    with member(stop=STOP, settings=instance("a", SHORT)) as first, member(settings=instance("b", SHORT)):
        run.wait_members(GROUP, {"a": [t], "b": [other]}, timeout_s=LIMIT_S)
        run.send(t, INPUTS)
        run.send(other, INPUTS)
        run.wait_crash_point(first, t)
        run.kill_client(first)
        run.wait_members(GROUP, {"b": [t, other]}, timeout_s=LIMIT_S)
        run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
        run.wait_committed(GROUP, other, INPUTS, timeout_s=LIMIT_S)


def twice(run: Run) -> None:
    """Another process begins with the same group.instance.id while the first one stands still. The first one commits
    before a heartbeat of its own is fenced.
    """
    t = run.partition()
    member = partial(run.application, PROGRAM, t, group=GROUP, settings=instance("a", LONGEST) | SELDOM)
    run.send(t, INPUTS)
    with member(stop=STOP) as first:
        run.wait_crash_point(first, t)
        with member():
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
            first.go_on()
            first.stop()


scenario(
    name="static-membership",
    claim="""A static member that is back before its session ends has its partitions again, and the group does not
        rebalance. One that is too late is replaced, and a second process with its group.instance.id fences it.""",
    source=KIP_345,
    operator="""Give each instance a group.instance.id of its own, and set session.timeout.ms above the time that a
        restart takes. Nobody reads the partitions of an instance that is gone until its session ends. Never start two
        instances with one group.instance.id.""",
    applies=ranges.STATIC_MEMBERS_TOLD,
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1))),
    cases={
        "back-in-time": Case(
            steps=back_in_time,
            documented=[
                Documented(
                    required=REPEATED,
                    claims=["static-member-returns-without-rebalance", *NUMBERS],
                    sentence="The member that is back in time has its old partition, and no other partition has moved.",
                    source=KIP_345,
                    basis=Basis.KIP,
                )
            ],
        ),
        "too-late": Case(
            steps=too_late,
            documented=[
                Documented(
                    required=REPEATED,
                    claims=["static-member-replaced-after-session", *NUMBERS],
                    sentence="When its session has ended, the other member has its partition.",
                    source=KIP_345,
                    basis=Basis.KIP,
                )
            ],
        ),
        "twice": Case(
            steps=twice,
            documented=[
                Documented(
                    required=REPEATED,
                    claims=["late-commit-refused", "late-commit-of-replaced-instance-fenced"],
                    sentence="The first of two with one group.instance.id is fenced, and its commit is refused with "
                    "FENCED_INSTANCE_ID.",
                    source=f"{KIP_345}: FENCED_INSTANCE_ID",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
