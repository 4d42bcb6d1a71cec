"""A member is so slow that another member gets its partition, and then it commits (KIP-62; Kafka protocol guide).

It stands still after it has processed, for longer than max.poll.interval.ms. Its client leaves the group, the other
member is given the partition, and begins with what is committed: it processes the same inputs again. Then the first
member continues and commits. It is not a member of this generation, so the coordinator refuses the commit, and the new
owner's offset does not go back. Nothing is skipped. The inputs that the slow member had processed are processed twice.
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
    claim="""The coordinator refuses the late commit of a member that was too slow. Nothing is skipped. The new owner of
        the partition processes again the inputs that the slow member had processed and not committed.""",
    source=f"{KIP_62}; Kafka protocol guide: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID",
    operator="""Set max.poll.interval.ms above the longest time that one poll's inputs can take, or lower
        max.poll.records: a member that is too slow does its work for nothing. When a commit is refused, another member
        has repeated the work or does so now.""",
    applies=ranges.MEMBERS_PROCESS_IN_TIME,
    cases={
        "slower": Case(steps=STEPS, documented=DOCUMENTED),
        "java-slower": Case(client="java", steps=STEPS, documented=DOCUMENTED),
    },
)
