"""Applications and brokers die again and again while a group works, once for each delivery semantics (Kafka
documentation, Design: message delivery semantics; KIP-98; KIP-447).

Three members of a group share three partitions under a load. Every other time the member is killed that stands between
the two steps that matter: between commit and processing, between processing and commit, or with a transaction open. The
other times a member is killed at any moment, and so is a broker. Each member that was killed is replaced, with its
transactional.id if it has one.

The order of steps decides, as it does with one crash. At most once skips inputs and repeats none, at least once repeats
inputs and skips none, and with transactions each input is processed once.

Outputs and inputs come from idempotent producers. Without idempotence a retry after the leader's death may write an
output twice, which is not the application's doing. Transactions of librdkafka wait without limit for a coordinator of
the group that has died (exactly-once-transactions tells why). So in `exactly-once` another broker is killed.

In `exactly-once-external` outputs and offsets are one transaction of PostgreSQL.

With automatic commits (enable.auto.commit) the client decides. librdkafka commits what it has handed over, and a member
that is killed before it has processed skips that; what was processed since the last commit is repeated (`auto-commit`).
Where the program stores an offset when its input is processed (`auto-commit-stored`), and in a loop around Kafka's own
consumer (`java-auto-commit`), nothing is skipped.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from harness.words import (
    EVERY_VERSION,
    NOWHERE,
    OFFSETS,
    Application,
    Basis,
    Case,
    ClusterPlan,
    CrashPoint,
    Documented,
    Partition,
    Run,
    StorePlan,
    Target,
    TopicPlan,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.delivery import (
    AUTOMATIC,
    DELIVERY,
    GROUP,
    IDEMPOTENT,
    JAVA_COMMITS,
    LIBRDKAFKA_COMMITS,
    ONCE,
    PARTITIONS,
    POSTGRESQL,
    REPEATED,
    REPEATS,
    REPEATS_NONE,
    SKIPPED,
    SKIPS,
    STORED,
    all_of,
    with_a_broker,
)

LIMIT_S = 120.0
MEMBERS, BLOWS = 3, 14
RATE, BETWEEN = 30, 60
"""Records a second, and how many are acknowledged from one blow to the next."""
SESSION = {"session.timeout.ms": "6000"}
"""The shortest that brokers allow: so long nobody reads what a dead member had."""
TRANSACT, OPEN = "transact", CrashPoint("offsets", "end")
STORE_TRANSACT, STORE_OPEN, STORE = "store-transaction", CrashPoint("write", "end"), "postgresql"
NONE: Mapping[str, str] = {}
INTERVAL_S, INTERVALS = 1.0, 3
"""The interval of AUTOMATIC, and after how many of them a client has committed."""
AT_WORK = 20
"""Outputs of a member that is at work again: it makes ten in a second."""


def storm(
    run: Run,
    program: str,
    between: CrashPoint,
    spare_coordinator: bool = False,
    store: str = "",
    settings: Mapping[str, str] = NONE,
    interval_s: float = 0.0,
) -> None:
    """Members die at a crash point and at any moment, and brokers with them. The group processes all that was sent.
    `settings` are the members' own. A client that commits by the clock does so each `interval_s`: a member stands at
    its crash point until that is done. It is at work when it dies at any moment, and dies before the broker. A group
    that waits for a dead member, or for a leader, has processed nothing since its last commit.
    """
    partitions = [run.partition(number) for number in range(MEMBERS)]
    with ExitStack() as working:

        def member(place: int) -> Application:
            """The first one stands still at the crash point, in a round of its own."""
            drawn = CrashPoint(between.done, between.following, int(run.vary(5, 2, 20.999)))
            return working.enter_context(
                run.application(
                    program,
                    partitions[0],
                    group=GROUP,
                    stop=NOWHERE if place else drawn,
                    settings=SESSION | dict(settings),
                    transactional_id=f"application-{place}" if program == TRANSACT else None,
                    producer_settings=IDEMPOTENT if program not in (TRANSACT, STORE_TRANSACT) else {},
                    store=store,
                )
            )

        members = [member(place) for place in range(MEMBERS)]
        with run.load(partitions[0], rate_per_s=RATE, settings=IDEMPOTENT) as load:
            for blow in range(BLOWS):
                load.wait_more(BETWEEN, timeout_s=LIMIT_S)
                place = 1 + int(run.vary(blow // 2 % 2, 0, 1.999)) if blow % 2 else 0
                if place:
                    if interval_s:
                        at_work = members[place].processed() + AT_WORK
                        members[place].wait_processed(at_work, timeout_s=LIMIT_S)
                    dead = victim(run, partitions, spare_coordinator)
                    with_a_broker(run, members[place], dead, partitions, broker_first=not interval_s)
                else:
                    for t in partitions:
                        run.wait_crash_point(members[place], t, timeout_s=LIMIT_S)
                    if interval_s:
                        run.let_pass(INTERVALS * interval_s, "a client that commits by the clock has done so")
                    run.kill_client(members[place])
                members[place] = member(place)
            members[0].stop()
        for t in partitions:
            if store:
                run.wait_stored(members[0], t, all_of(run, t), timeout_s=LIMIT_S)
            else:
                run.wait_committed(GROUP, t, all_of(run, t), timeout_s=LIMIT_S)


def victim(run: Run, partitions: Sequence[Partition], spare_coordinator: bool) -> Target:
    """The leader of one of the partitions; another broker if that one coordinates the group and is to be spared."""
    drawn = partitions[int(run.vary(0, 0, MEMBERS - 0.001))]
    leader = run.leader_of(drawn)
    if spare_coordinator and leader.id == run.leader_of(OFFSETS).id:
        return next(one for one in run.replicas_of(drawn) if one.id != leader.id)
    return leader


def case(
    program: str,
    between: CrashPoint,
    documented: Documented,
    client: str = "librdkafka",
    spare_coordinator: bool = False,
    applies: VersionRange = EVERY_VERSION,
    settings: Mapping[str, str] = NONE,
    interval_s: float = 0.0,
) -> Case:
    """A storm of one semantics."""
    steps = partial(
        storm,
        program=program,
        between=between,
        spare_coordinator=spare_coordinator,
        settings=settings,
        interval_s=interval_s,
    )
    return Case(steps=steps, client=client, documented=[documented], applies=applies)


AT_MOST_ONCE = partial(
    case,
    "commit-then-process",
    CrashPoint("commit", "process"),
    Documented(
        required=SKIPPED,
        claims=[SKIPS, REPEATS_NONE],
        sentence="Skipped are at most the inputs of one poll for each member that was killed, and none is repeated.",
        source=DELIVERY,
        basis=Basis.DOCUMENTATION,
    ),
)
AT_LEAST_ONCE = partial(
    case,
    "process-then-commit",
    CrashPoint("process", "commit"),
    Documented(
        required=REPEATED,
        claims=[REPEATS],
        sentence="Repeated are at most the inputs that a member had in hand, and had not committed, when it lost them.",
        source=DELIVERY,
        basis=Basis.DOCUMENTATION,
    ),
)
AUTO_COMMIT = partial(
    case,
    "process-and-poll",
    CrashPoint("poll", "process"),
    Documented(
        required=frozenset({"skipped-processing"}) | REPEATED,
        claims=[SKIPS, REPEATS],
        sentence="""Skipped are at most the inputs of one poll for each member that was killed. Repeated are inputs that
            were processed since the last automatic commit.""",
        source=LIBRDKAFKA_COMMITS,
        basis=Basis.DOCUMENTATION,
    ),
    settings=AUTOMATIC,
    interval_s=INTERVAL_S,
)
AUTO_COMMIT_STORED = partial(
    case,
    "process-then-store",
    CrashPoint("process", "store"),
    Documented(
        required=REPEATED,
        claims=[REPEATS],
        sentence="Nothing is skipped. Repeated are inputs that were processed, and not yet stored and committed.",
        source=LIBRDKAFKA_COMMITS,
        basis=Basis.DOCUMENTATION,
    ),
    settings=AUTOMATIC | STORED,
    interval_s=INTERVAL_S,
)
JAVA_AUTO_COMMIT = partial(
    case,
    "process-and-poll",
    CrashPoint("process", "poll"),
    Documented(
        required=REPEATED,
        claims=[REPEATS],
        sentence="Nothing is skipped. Repeated are inputs that were processed since the last poll that committed.",
        source=JAVA_COMMITS,
        basis=Basis.DOCUMENTATION,
    ),
    client="java",
    settings=AUTOMATIC,
    interval_s=INTERVAL_S,
)
EXACTLY_ONCE = partial(
    case,
    TRANSACT,
    OPEN,
    Documented(claims=[ONCE], source="KIP-98, KIP-447", basis=Basis.KIP),
    applies=ranges.OFFSETS_OF_MEMBERS_IN_TRANSACTIONS,
)

scenario(
    name="delivery-storm",
    claim="""However often applications and brokers die, an application that commits first repeats no input, one that
        processes first skips none, and one with transactions processes each input once.""",
    source=f"{DELIVERY}; KIP-98, KIP-447",
    operator="""Choose the order of the two steps by what harms you less, an input that is skipped or one that is
        processed twice. Where neither may happen, put outputs and offsets into one transaction, with a
        transactional.id that each instance keeps over its restarts.""",
    applies=ranges.TRANSACTIONS,
    needs=["idempotence"],
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    cluster=ClusterPlan(settings=PARTITIONS),
    cases={
        "at-most-once": AT_MOST_ONCE(),
        "at-least-once": AT_LEAST_ONCE(),
        "exactly-once": EXACTLY_ONCE(spare_coordinator=True),
        "java-at-most-once": AT_MOST_ONCE(client="java"),
        "java-at-least-once": AT_LEAST_ONCE(client="java"),
        "java-exactly-once": EXACTLY_ONCE(client="java"),
        "auto-commit": AUTO_COMMIT(),
        "auto-commit-stored": AUTO_COMMIT_STORED(),
        "java-auto-commit": JAVA_AUTO_COMMIT(),
        "exactly-once-external": Case(
            cluster=ClusterPlan(settings=PARTITIONS, store=StorePlan()),
            steps=partial(storm, program=STORE_TRANSACT, between=STORE_OPEN, store=STORE),
            documented=[
                Documented(claims=[ONCE], source=f"{DELIVERY}; {POSTGRESQL}", basis=Basis.DOCUMENTATION),
            ],
        ),
    },
)
