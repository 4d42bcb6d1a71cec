"""A member of a group loses its partition while it processes inputs of it, and then it commits.

It stands still after it has processed, and before it commits. Four things take the partition from it. It is `slower`
than max.poll.interval.ms: its client leaves the group (KIP-62). It is `killed`, or `frozen` (SIGSTOP), or `cut` off
from the group's coordinator: its session ends. The other member is given the partition, and begins with what is
committed: it processes the same inputs again. Then the first member continues, unless it is dead, and commits. The
coordinator refuses that, and the new owner's offset does not go back. It has removed the first member from the group,
so its error is UNKNOWN_MEMBER_ID in each of the protocols below (Java: CommitFailedException). ILLEGAL_GENERATION and
STALE_MEMBER_EPOCH are for a member that it still has, and FENCED_INSTANCE_ID is for two processes with one name, which
`static-membership` shows. Nothing is skipped. The inputs that the first
member had processed are processed twice.

How a group shares its partitions makes no difference to that. There are cases for each: all members give up all
partitions (eager), or only those that move (`cooperative`, KIP-429); members have a name that outlives their process
(`static`, KIP-345); the coordinator assigns by itself (`consumer`, KIP-848). In the last protocol the session is the
broker's setting.
"""

from dataclasses import dataclass, field
from functools import partial

from harness.words import (
    EVERY_VERSION,
    LIBRDKAFKA,
    OFFSETS,
    Application,
    Basis,
    Case,
    ClusterPlan,
    CrashPoint,
    Documented,
    Run,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.delivery import LIMIT_S, NUMBERS, REPEATS, SLOW, Act, continues, nothing, overtake

PROGRAM = "process-then-commit"
STOP = CrashPoint("process", "commit", 2)
Settings = dict[str, str]
COOPERATIVE: Settings = {"partition.assignment.strategy": "cooperative-sticky"}
JAVA_COOPERATIVE: Settings = {
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
}
STATIC: Settings = {"group.instance.id": ""}
"""Each member of such a case has a name of its own."""
CONSUMER: Settings = {"group.protocol": "consumer"}
SESSION_MS = "6000"
SERVER_SIDE = ClusterPlan(
    settings={
        "offsets.topic.num.partitions": "1",
        "group.consumer.min.session.timeout.ms": SESSION_MS,
        "group.consumer.session.timeout.ms": SESSION_MS,
        "group.consumer.min.heartbeat.interval.ms": "1000",
        "group.consumer.heartbeat.interval.ms": "2000",
    }
)
REMOVED = {"the member": r"Member \S+ (in group \S+ has failed|fenced from the group because the member session)"}
"""What a coordinator logs of a member whose session has ended."""


def named(instance: str, settings: Settings) -> Settings:
    """A member's settings, with its name if the members of this case have one."""
    return {**settings, "group.instance.id": instance} if "group.instance.id" in settings else settings


def killed(run: Run, member: Application) -> None:
    """It is killed. Its session ends, since nobody asks any more."""
    run.kill_client(member)


def frozen(run: Run, member: Application) -> None:
    """It is frozen. Its session ends, since nobody asks any more."""
    run.freeze_client(member)


def thawed(run: Run, member: Application) -> None:
    """It is thawed, and continues."""
    run.thaw_clients()
    continues(run, member)


def cut(run: Run, _member: Application) -> None:
    """It is cut off from the group's coordinator until its session has ended."""
    coordinator = run.leader_of(OFFSETS)
    run.cut_clients(coordinator)
    run.wait_log_lines(coordinator, REMOVED, "the member's session has ended", LIMIT_S)
    run.heal_network()


REFUSED, UNKNOWN = "late-commit-refused", "late-commit-of-removed-member-unknown"
KIP_62 = "KIP-62: a member that does not poll in time leaves the group"
SESSION = "KIP-62: a member whose session ends is removed from the group"
APPLIES = {
    "KIP-429": ranges.COOPERATIVE_REBALANCES,
    "KIP-345": ranges.STATIC_MEMBERS_TOLD,
    "KIP-848": ranges.GROUP_COORDINATOR_OF_4,
}


@dataclass(frozen=True)
class Loss:
    """What takes a member's partition, what becomes of the member then, and what is documented of that."""

    taken: Act
    back: Act = continues
    source: str = SESSION
    claims: tuple[str, ...] = (REFUSED, UNKNOWN, REPEATS)
    more: Settings = field(default_factory=dict)
    """Settings of the members."""
    applies: VersionRange = EVERY_VERSION


LOSSES = {
    "slower": Loss(taken=nothing, source=KIP_62, more=SLOW),
    "killed": Loss(taken=killed, back=nothing, claims=NUMBERS),
    "frozen": Loss(taken=frozen, back=thawed),
    "cut": Loss(taken=cut, applies=ranges.REMOVED_MEMBERS_LOGGED),
}


def cases(prefix: str, settings: Settings, protocol: str = "") -> dict[str, Case]:
    """A case for each thing that takes a member's partition, with members that have these settings."""
    return {
        f"{prefix}{name}": Case(
            client="java" if prefix.startswith("java-") else LIBRDKAFKA,
            cluster=SERVER_SIDE if "group.protocol" in settings else None,
            steps=partial(
                overtake,
                program=PROGRAM,
                stop=STOP,
                taken=loss.taken,
                back=loss.back,
                members=(named("a", settings) | loss.more, named("b", settings) | loss.more),
            ),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=loss.claims,
                    source="; ".join(filter(None, (loss.source, protocol))),
                    basis=Basis.KIP,
                )
            ],
            applies=APPLIES.get(protocol, loss.applies),
        )
        for name, loss in LOSSES.items()
    }


scenario(
    name="rebalance-while-processing",
    claim="""The coordinator refuses the late commit of a member that has lost its partition. Nothing is skipped. The
        partition's new owner processes again the inputs that the first member had processed and not committed.""",
    source=f"{KIP_62}; KIP-429, KIP-345, KIP-848; Kafka protocol guide: UNKNOWN_MEMBER_ID",
    operator="""Set max.poll.interval.ms above the longest time that one poll's inputs can take, or lower
        max.poll.records: a member that is too slow does its work for nothing. Set session.timeout.ms above the longest
        pause of a process and its network. When a commit is refused, another member has repeated the work or does so
        now.""",
    applies=ranges.MEMBERS_PROCESS_IN_TIME,
    cases={
        **cases("", {}),
        **cases("cooperative-", COOPERATIVE, "KIP-429"),
        **cases("static-", STATIC, "KIP-345"),
        **cases("consumer-", CONSUMER, "KIP-848"),
        **cases("java-", {}),
        **cases("java-cooperative-", JAVA_COOPERATIVE, "KIP-429"),
        **cases("java-consumer-", CONSUMER, "KIP-848"),
    },
)
