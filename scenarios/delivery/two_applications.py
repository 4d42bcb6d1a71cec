"""Two applications have the same inputs: each is a group, has all of them, and fails by itself.

One processes and then commits, the other puts outputs and offsets into a transaction. Both are killed in the middle of
a round, and continue. The first one repeats what it had processed and not committed. The second one repeats nothing,
though the first one has made outputs of the same inputs, in the same topic even. Kafka keeps offsets by group
(KIP-98 fences by transactional.id), so nothing of the one is known to the other.

For those who read the output this means: that an input has two outputs says nothing yet. Who made an output has to be
in it, if two applications write to one topic.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, CrashPoint, Documented, Run, ranges, scenario
from scenarios.delivery import DELIVERY, GROUP, INPUTS, LIMIT_S, NUMBERS

OTHER = "other-application"
BETWEEN = CrashPoint("process", "commit", 2)
OPEN = CrashPoint("offsets", "end", 3)


def both_killed(run: Run, second_output: str) -> None:
    """Both are killed, each at a crash point of its own, and continue."""
    t = run.partition()
    run.send(t, INPUTS)
    at_least_once = partial(run.application, "process-then-commit", t, group=GROUP)
    exactly_once = partial(run.application, "transact", t, second_output, group=OTHER, transactional_id=OTHER)
    with at_least_once(stop=BETWEEN) as first, exactly_once(stop=OPEN) as second:
        for application in (first, second):
            run.wait_crash_point(application, t)
        for application in (first, second):
            run.kill_client(application)
    with at_least_once(), exactly_once():
        for group in (GROUP, OTHER):
            run.wait_committed(group, t, INPUTS, timeout_s=LIMIT_S)


DOCUMENTED = Documented(
    required=frozenset({"repeated-processing"}),
    claims=NUMBERS,
    source=f"{DELIVERY}; KIP-98",
    basis=Basis.DOCUMENTATION,
)

scenario(
    name="two-applications",
    claim="""Two applications with the same inputs each skip and repeat what lay between their own steps, whatever the
        other one has made of these inputs, in the same output or in another.""",
    source=f"{DELIVERY}; KIP-98",
    operator="""Give each application a group.id and a transactional.id of its own. If several write to one topic, have
        each output name its application, or nobody can tell an input that two have processed from one that was
        processed twice.""",
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}),
    cases={
        "one-output": Case(steps=partial(both_killed, second_output="output"), documented=[DOCUMENTED]),
        "two-outputs": Case(steps=partial(both_killed, second_output="other-output"), documented=[DOCUMENTED]),
    },
)
