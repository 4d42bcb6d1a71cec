"""A share group delivers each record until a member accepts or rejects it, or it was delivered too often (KIP-932).

The members of a share group share a partition. Each record is acquired by one of them for a while (the acquisition
lock), and what became of it is kept record by record, not as an offset. So a member that dies repeats what it had
processed and not accepted, and skips what it had accepted and not processed, as the members of a consumer group do.
Three things are different. A record may be released, and is delivered again. It may be rejected, and is not. And the
broker counts deliveries: after `group.share.delivery.count.limit` of them (5 by default) it archives the record, and
delivers it to nobody any more. Then an input is lost to the application though nobody has failed.

In `killed`, `accepted-first` and `implicit` a member is killed between two steps, and another one continues. In
`lock-runs-out` it stands still for longer than its lock, and another member is given its records. The broker refuses
what the first says of them then. In `accepted-by-another` that member has accepted them before, and the group has
passed them. The broker answers the late acceptance without an error, and it does nothing. So no member learns from its
answers alone that another one has processed its records. In `leader-killed` and `state-leader-killed` the broker dies
that leads the partition, or the partition of the share groups' state: what was accepted before stays accepted. Kafka
chooses who leads the state. A broker that leads the inputs, too, forgets what it had handed out, and the next one
delivers it again. In `released` and `rejected` a member can never process every second input.

In `members-stopped` and `members-killed` all members of a group end at once, again and again. In `brokers-stopped` and
`brokers-killed` each broker goes down in turn and comes back. In `two-brokers-stopped` and `two-brokers-killed` two of
three are away, as in the test of Kafka's own that is switched off (share_consumer_test.py, test_broker_failure). The
broker that is left needs `share.coordinator.state.topic.min.isr=1` then: with 2, the default, it may not write what
becomes of records.

In `storm` three members work under a load. Kafka may give all records to one of them, so the one is killed that has
processed records and not accepted them. Another one joins, and the next one is killed. With every other one the leader
of the inputs dies.

From 4.4 on a share group may have a dead-letter topic. It gets a record for each one that is rejected or archived at
the limit (KIP-1191). In `dead-letter-leader-killed` its leader dies: the brokers try again, and none is missing.
In `dead-letter-replica-killed` this was the only replica. The brokers give up after half a minute and archive the
records all the same (KAFKA-20245).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from harness.words import (
    EVERY_VERSION,
    OFFSETS,
    SHARE_STATE,
    Application,
    Basis,
    Case,
    ClusterPlan,
    CrashPoint,
    Documented,
    Partition,
    Run,
    Target,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.delivery import BATCH, GROUP, IDEMPOTENT, INPUTS, NUMBERS, OUTPUT, in_turn

ACCEPT, ACCEPT_FIRST, POLL = "share-process-then-accept", "share-accept-then-process", "share-process-and-poll"
DEAD = "dlq.application"
LIMIT_S = 120.0
LOCK_MS, LONG_LOCK_MS = 5_000, 60_000
"""Acquisition locks: one that runs out in the steps, and one that outlasts them."""
KEPT = "accepted-record-is-not-delivered-again"
STOP = CrashPoint("process", "accept", round=2)
"""In the second round: something was accepted before."""
FIRST_REJECTED = CrashPoint("reject", "poll", round=1)
SHORTEST_MS = 15_000
"""The shortest lock by default."""
MEMBERS, BLOWS = 3, 6
"""Of a storm."""
ROUNDS, RATE_PER_S, BETWEEN = 3, 15, 30
"""Of a load: how often all members end, how many inputs there are a second, and from one blow to the next."""
OFTEN = {"group.share.delivery.count.limit": "10"}
"""More often than members and brokers end that hold a record."""
ALONE = {"share.coordinator.state.topic.min.isr": "1"}
"""The broker that is left may write the groups' state. By default two replicas have to be there."""
LAST = CrashPoint("process", "accept", round=INPUTS // BATCH)
"""With the last inputs: there is nothing else for another member."""


def plan(lock_ms: int, **more: str) -> ClusterPlan:
    """A cluster in which a member may hold a record for so long."""
    lock = {"group.share.record.lock.duration.ms": str(lock_ms)}
    # Brokers take no shortest lock of more than 30 s (ShareGroupConfig).
    least = {"group.share.min.record.lock.duration.ms": str(lock_ms)} if lock_ms < SHORTEST_MS else {}
    return ClusterPlan(settings=lock | least | more)


AUTOMATIC = {"errors.deadletterqueue.auto.create.topics.enable": "true"}
THREE = "default.replication.factor"
WITH_DEAD_LETTERS = ClusterPlan(settings=AUTOMATIC)


def from_the_beginning(run: Run) -> None:
    """The group begins with the first record, and there are inputs."""
    run.set_share_group(GROUP, "share.auto.offset.reset", "earliest")
    run.send(run.partition(), INPUTS)


def killed(run: Run, program: str, stop: CrashPoint) -> None:
    """A member is killed at a crash point, and another one continues."""
    t = run.partition()
    from_the_beginning(run)
    with run.reading_outputs(t) as reader:
        with run.share_application(program, t, group=GROUP, stop=stop) as first:
            run.wait_crash_point(first, t)
            run.kill_client(first)
        with run.share_application(program, t, group=GROUP):
            run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
            run.measure(t, lambda _: run.wait_share_done(GROUP, t, timeout_s=LIMIT_S), reader)


def lock_runs_out(run: Run) -> None:
    """A member stands still for longer than its lock lasts. It accepts the records when another member holds them."""
    t = run.partition()
    from_the_beginning(run)
    with run.share_application(ACCEPT, t, group=GROUP, stop=LAST) as slow:
        run.wait_crash_point(slow, t)
        with run.share_application(ACCEPT, t, group=GROUP, stop=replace(LAST, round=1)) as other:
            run.wait_crash_point(other, t)
            slow.go_on()
            slow.stop()
            other.go_on()
            run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)


def accepted_by_another(run: Run) -> None:
    """A member stands still for longer than its lock lasts. It accepts the records when another member has done so."""
    t = run.partition()
    from_the_beginning(run)
    with run.share_application(ACCEPT, t, group=GROUP, stop=LAST) as slow:
        run.wait_crash_point(slow, t)
        with run.share_application(ACCEPT, t, group=GROUP):
            run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
            slow.go_on()
            slow.stop()


def leader_killed(run: Run) -> None:
    """The leader of the inputs dies while a member holds some of them. It continues with the next leader."""
    t = run.partition()
    from_the_beginning(run)
    with run.share_application(ACCEPT, t, group=GROUP, stop=STOP) as member:
        run.wait_crash_point(member, t)
        leader, followers = run.leader_of(t), run.followers_of(t)
        run.kill(leader)
        run.wait_leader(t, *followers)
        member.go_on()
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
    run.start(leader)


def state_leader_killed(run: Run) -> None:
    """The leader of the share groups' state dies while a member holds inputs, and it accepts them after that."""
    t = run.partition()
    from_the_beginning(run)
    with run.share_application(ACCEPT, t, group=GROUP, stop=STOP) as member:
        run.wait_crash_point(member, t)
        leader = run.leader_of(SHARE_STATE)
        others = [one for one in run.in_isr(SHARE_STATE) if one.id != leader.id]
        run.kill(leader)
        run.wait_leader(SHARE_STATE, *others)
        member.go_on()
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
    run.start(leader)


def never_processed(run: Run, program: str) -> None:
    """A member never processes the inputs of odd offsets."""
    t = run.partition()
    from_the_beginning(run)
    with run.share_application(program, t, group=GROUP):
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)


def dead_letters(run: Run, program: str) -> None:
    """The same, where the group has a dead-letter topic, which the brokers make."""
    run.set_share_group(GROUP, "errors.deadletterqueue.topic.name", DEAD)
    never_processed(run, program)
    run.read_dead_letters(GROUP, DEAD, count=INPUTS // 2, timeout_s=LIMIT_S)


def dead_letter_leader_killed(run: Run, alone: bool) -> None:
    """The leader of the dead-letter topic dies, and the group rejects records before there is another one. If it is the
    only replica (`alone`), that is when it is back.
    """
    t, dead = run.partition(), Partition(DEAD, 0)
    run.set_share_group(GROUP, "errors.deadletterqueue.topic.name", DEAD)
    from_the_beginning(run)
    with run.share_application("share-reject-odd", t, group=GROUP, stop=FIRST_REJECTED) as member:
        run.wait_crash_point(member, t)
        run.read_dead_letters(GROUP, DEAD, count=BATCH // 2, timeout_s=LIMIT_S)
        leader, replicas = run.leader_of(dead), run.in_isr(dead)
        run.require("the dead-letter topic has the replicas that it is to have", (len(replicas) == 1) == alone)
        run.kill(leader)
        member.go_on()
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
    run.start(leader)
    run.wait_leader(dead)
    run.read_dead_letters(GROUP, DEAD, count=INPUTS // 2, timeout_s=LIMIT_S)


def storm(run: Run) -> None:
    """Three members work while records are sent. Again and again one is killed that has processed records and not
    accepted them, and another one joins. Every other time the leader of the inputs dies, too.
    """
    t = run.partition()
    run.set_share_group(GROUP, "share.auto.offset.reset", "earliest")
    with ExitStack() as working:

        def member(blow: int) -> Application:
            stop = replace(STOP, round=int(run.vary(2 + blow % 3, 1, 5.999)))
            return working.enter_context(run.share_application(ACCEPT, t, group=GROUP, stop=stop))

        members = [member(number) for number in range(MEMBERS)]
        with run.load(t, rate_per_s=20) as load:
            for blow in range(BLOWS):
                load.wait_more(20, timeout_s=LIMIT_S)
                victim = run.wait_any_crash_point(members, t, timeout_s=LIMIT_S)
                if blow % 2:
                    leader, followers = run.leader_of(t), run.followers_of(t)
                    run.kill(leader)
                run.kill_client(victim)
                members.remove(victim)
                members.append(member(blow))
                if blow % 2:
                    run.wait_leader(t, *followers)
                    run.start(leader)
                    run.wait_isr(t, run.replicas_of(t))
    with run.share_application(ACCEPT, t, group=GROUP):
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)


def members_in_rounds(run: Run, end: Callable[[Run, Application], object]) -> None:
    """Three members work under a load, and all end at once; the next three continue. So three times."""
    t = run.partition()
    run.set_share_group(GROUP, "share.auto.offset.reset", "earliest")
    with run.load(t, rate_per_s=RATE_PER_S, settings=IDEMPOTENT) as load:
        for number in range(ROUNDS):
            with ExitStack() as working:
                members = [working.enter_context(run.share_application(ACCEPT, t, group=GROUP)) for _ in range(MEMBERS)]
                load.wait_more(BETWEEN, timeout_s=LIMIT_S)
                run.wait_written(OUTPUT, number * BETWEEN + BATCH, timeout_s=LIMIT_S)
                for member in members:
                    end(run, member)
    with run.share_application(ACCEPT, t, group=GROUP):
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)


def brokers_in_turn(run: Run, down: Callable[[Run, Target], None]) -> None:
    """Each broker goes down and comes back, one after the other, while two members work under a load."""
    t = run.partition()
    run.set_share_group(GROUP, "share.auto.offset.reset", "earliest")
    with (
        run.share_application(ACCEPT, t, group=GROUP),
        run.share_application(ACCEPT, t, group=GROUP),
        run.load(t, rate_per_s=RATE_PER_S, settings=IDEMPOTENT) as load,
    ):
        run.wait_written(OUTPUT, BATCH, timeout_s=LIMIT_S)
        in_turn(run, (t, OUTPUT, OFFSETS, SHARE_STATE), down, lambda: load.wait_more(BETWEEN, timeout_s=LIMIT_S))
        load.stop()
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)


def two_brokers_down(run: Run, down: Callable[[Run, Target], None]) -> None:
    """Two of three brokers go down, first the leader of the inputs. The group does all that is sent meanwhile."""
    t = run.partition()
    run.set_share_group(GROUP, "share.auto.offset.reset", "earliest")
    places = (t, OUTPUT, OFFSETS, SHARE_STATE)
    with run.share_application(ACCEPT, t, group=GROUP), run.share_application(ACCEPT, t, group=GROUP):
        with run.load(t, rate_per_s=RATE_PER_S, settings=IDEMPOTENT) as load:
            run.wait_written(OUTPUT, BATCH, timeout_s=LIMIT_S)
            dead, everyone = [run.leader_of(t), run.followers_of(t)[0]], {place: run.in_isr(place) for place in places}
            for number, broker in enumerate(dead, 1):
                gone = {one.id for one in dead[:number]}
                down(run, broker)
                for place, replicas in everyone.items():
                    run.wait_leader(place, *(one for one in replicas if one.id not in gone))
            load.wait_more(2 * BETWEEN, timeout_s=LIMIT_S)
        run.wait_share_done(GROUP, t, timeout_s=LIMIT_S)
        run.start(*dead)


NOTHING = frozenset[str]()
REPEATED = frozenset({"repeated-processing"})
SKIPPED = frozenset({"skipped-processing"})
KIP = "KIP-932"
MEMBERS_KILLED = "A member that is killed repeats at most the inputs that it has processed and not accepted."
BROKERS_DOWN = """Inputs are repeated if the broker that leads them goes down before it has taken what their member says
    of them: the next leader delivers them again."""
IGNORED = "late-acknowledgement-of-passed-record-is-ignored"
LETTERS = "undeliverable-record-is-a-dead-letter"
REJECTED = "rejected-record-is-delivered-once"


def cases(prefix: str, client: str) -> Iterator[tuple[str, Case]]:
    """The cases of one client."""

    def case(
        steps: Callable[[Run], None],
        *claims: str,
        required: frozenset[str] = frozenset(),
        allowed: frozenset[str] = frozenset(),
        sentence: str = "",
        cluster: ClusterPlan | None = None,
        applies: VersionRange = EVERY_VERSION,
    ) -> Case:
        documented = Documented(
            required=required, allowed=allowed, claims=list(claims), sentence=sentence, source=KIP, basis=Basis.KIP
        )
        return Case(steps=steps, client=client, cluster=cluster, applies=applies, documented=[documented])

    between = CrashPoint("accept", "process", round=2)
    before_poll = CrashPoint("process", "poll", round=2)
    yield f"{prefix}killed", case(partial(killed, program=ACCEPT, stop=STOP), *NUMBERS, KEPT, required=REPEATED)
    yield (
        f"{prefix}accepted-first",
        case(partial(killed, program=ACCEPT_FIRST, stop=between), *NUMBERS, KEPT, required=SKIPPED),
    )
    yield f"{prefix}implicit", case(partial(killed, program=POLL, stop=before_poll), *NUMBERS, KEPT, required=REPEATED)
    yield f"{prefix}lock-runs-out", case(lock_runs_out, KEPT, "late-acknowledgement-is-refused", required=REPEATED)
    yield f"{prefix}accepted-by-another", case(accepted_by_another, KEPT, IGNORED, required=REPEATED)
    yield f"{prefix}leader-killed", case(leader_killed, KEPT, required=REPEATED, cluster=plan(LONG_LOCK_MS))
    yield f"{prefix}state-leader-killed", case(state_leader_killed, KEPT, cluster=plan(LONG_LOCK_MS))
    yield (
        f"{prefix}storm",
        case(storm, KEPT, required=REPEATED, cluster=plan(LOCK_MS, **OFTEN)),
    )
    limit = "released-record-is-archived-at-limit"
    yield f"{prefix}released", case(partial(never_processed, program="share-release-odd"), limit, required=SKIPPED)
    yield (
        f"{prefix}rejected",
        case(partial(never_processed, program="share-reject-odd"), REJECTED, required=SKIPPED),
    )
    busy, alone = plan(LONG_LOCK_MS, **OFTEN), plan(LONG_LOCK_MS, **OFTEN, **ALONE)
    ends: Sequence[tuple[str, Callable[[Run, Application], object], frozenset[str]]] = (
        ("stopped", lambda _, member: member.stop(), NOTHING),
        ("killed", Run.kill_client, REPEATED),
    )
    for name, end, may in ends:
        steps = partial(members_in_rounds, end=end)
        yield (
            f"{prefix}members-{name}",
            case(steps, KEPT, allowed=may, sentence=MEMBERS_KILLED if may else "", cluster=busy),
        )
    for name, down in (("stopped", Run.stop), ("killed", Run.kill)):
        for which, while_down in (("brokers", brokers_in_turn), ("two-brokers", two_brokers_down)):
            steps = partial(while_down, down=down)
            yield f"{prefix}{which}-{name}", case(steps, KEPT, allowed=REPEATED, sentence=BROKERS_DOWN, cluster=alone)
    for name, claim, one_replica, cluster in (
        ("dead-letter-leader-killed", LETTERS, False, replace(WITH_DEAD_LETTERS, settings={**AUTOMATIC, THREE: "3"})),
        ("dead-letter-replica-killed", "dead-letters-lost-without-leader", True, WITH_DEAD_LETTERS),
    ):
        steps = partial(dead_letter_leader_killed, alone=one_replica)
        yield (
            f"{prefix}{name}",
            case(steps, claim, required=SKIPPED, cluster=cluster, applies=ranges.DEAD_LETTERS),
        )
    for name, program, claim in (("released", "share-release-odd", limit), ("rejected", "share-reject-odd", REJECTED)):
        steps = partial(dead_letters, program=program)
        yield (
            f"{prefix}{name}-dead-letters",
            case(steps, claim, LETTERS, required=SKIPPED, cluster=WITH_DEAD_LETTERS, applies=ranges.DEAD_LETTERS),
        )


scenario(
    name="share-group",
    claim="""A share group delivers a record again until a member accepts it. A member that dies repeats what it had
        processed and not accepted. A record that is released each time is delivered as often as
        group.share.delivery.count.limit says, and then to nobody any more.""",
    source="KIP-932",
    operator="""Accept a record after it is processed, and make processing it twice harmless. Process it within
        group.share.record.lock.duration.ms (30 s by default), or another member is given it too. Watch for records that
        reach group.share.delivery.count.limit (5 by default): no member is given them again. From 4.4 on a
        dead-letter topic can have them (errors.deadletterqueue.topic.name, KIP-1191). Create it yourself, with three
        replicas: one that brokers create has default.replication.factor of them, which is 1 by default, and no dead
        letter is made of what is rejected while it has no leader.""",
    applies=ranges.SHARE_GROUPS,
    needs=["idempotence"],
    cluster=plan(LOCK_MS),
    cases=dict([*cases("", "librdkafka"), *cases("java-", "java")]),
)
