"""A member is so slow that its partition is given to another one, and then it commits (KIP-62; Kafka protocol guide).

It stands still after it has processed, for longer than max.poll.interval.ms. Its client leaves the group, the other
member is given the partition, and begins with what is committed: it processes the same inputs again. Then the first one
goes on and commits. It is no member of this generation, so the coordinator refuses that: the offset of the new owner
does not go back. Nothing is skipped; what the slow one had processed is there twice.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, ranges, scenario
from scenarios.delivery import overtake

KIP_62 = "KIP-62: a member that does not poll in time leaves the group"
STEPS = partial(overtake, program="process-then-commit", stop=CrashPoint("process", "commit", 2))
DOCUMENTED = [
    Documented(
        required=frozenset({"repeated-processing"}),
        claims=["late-commit-refused"],
        source=KIP_62,
        basis=Basis.KIP,
    )
]

scenario(
    name="rebalance-while-processing",
    claim="""The late commit of a member that was too slow is refused: nothing is skipped, and what it had processed and
        not committed is processed again by whoever has its partition.""",
    source=f"{KIP_62}; Kafka protocol guide: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID",
    operator="""Set max.poll.interval.ms above the longest time that a poll's inputs can take, or max.poll.records low:
        a member that is too slow does its work for nothing. Treat a refused commit as what it is: another one has
        done, or does, the same.""",
    applies=ranges.MEMBERS_PROCESS_IN_TIME,
    cases={
        "slower": Case(steps=STEPS, documented=DOCUMENTED),
        "java-slower": Case(client="java", steps=STEPS, documented=DOCUMENTED),
    },
)
