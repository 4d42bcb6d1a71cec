"""The last replica in sync loses power, and is back before the others (KIP-966: motivation, unclean shutdown).

Each subject sends three records. Every replica has them, and all disks are flushed then (`flush_disks`), as in a
cluster that has been up for long. One follower of two is stopped. Four more records are acknowledged by the leader and
the other follower, which have them in memory. Then the other follower is stopped cleanly too. It writes all seven
records to its disk when it stops, and the ISR is the leader alone. Three more are acknowledged by it, or refused:
acks=all with min.insync.replicas=2. Then the leader loses its power, and with it its unflushed records. It is the first
broker to return.

It is in the ISR, so it is elected with the log on its disk, and the followers truncate to that log. The three records
that only the leader had are lost. The four records that are whole on another disk are lost too, whatever the producer's
acks. min.insync.replicas=2 prevents the first loss with acks=all, and not the second. flush.messages=1 prevents both.

The power goes before it is known that acks=all was refused: on a busy machine earlier records are on the disk after a
few seconds (audit-power-loss).

Eligible leader replicas (KIP-966, on in new clusters from 4.1 on) change this with min.insync.replicas=2. The leader
returns without the mark of a clean stop and is not elected. The partition waits for the follower that left last, which
has the four records. Records that the leader alone acknowledged with acks=0 or acks=1 are lost then, flushed or not:
the follower never had them. With min.insync.replicas=1 no other replica is eligible, and the controller elects the
leader as the last known one.

It is the only replica alive, so unclean elections matter only where the partition would otherwise wait. On 0.10 they
are on here, as they are by default. Where they are off, a follower exits rather than truncate records that it knows to
be committed, and hangs on the way out (KAFKA-1211, KAFKA-3924).
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.words import (
    FIRST,
    LOST,
    NOTHING_STATED,
    Basis,
    ClusterPlan,
    Disks,
    Documented,
    Outcome,
    Placed,
    Producer,
    Run,
    Subject,
    Subjects,
    Topic,
    Version,
    ranges,
    scenario,
)
from scenarios.audit import (
    AUDITED,
    CLUSTER,
    ELR_DOC,
    IDEMPOTENCE_DOC,
    IN_FLIGHT_DOC,
    MIN_ISR_DOC,
    REFUSED_AGAIN,
    accepted,
    elects_eligible_leaders,
    overtakes,
    plan,
    retries,
    topics,
    unanswered,
)
from scenarios.audit.power_loss import DIVERGES, FLUSH_DOC, SOON
from scenarios.audit.shrunk_isr_crash import too_few
from scenarios.durability.page_cache_only import TRUNCATED

SHARED, ALONE = 4, 3
SOURCE = "KIP-966: motivation"


def ends_itself(version: Version) -> bool:
    """Whether a follower exits rather than truncate, unless unclean elections are on."""
    return version.release < (0, 11)


def waits(topic: Topic, version: Version) -> bool:
    """Whether the partition waits for a follower when the leader is back."""
    return elects_eligible_leaders(version) and topic.min_insync_replicas > 1 and not topic.unclean


def loses_shared(topic: Topic, version: Version) -> bool:
    """Whether records that every replica had are lost."""
    return not topic.flush_each and not waits(topic, version)


def loses_alone(topic: Topic, version: Version) -> bool:
    """Whether records that only the leader had are lost."""
    return not topic.flush_each or waits(topic, version)


def measured_in(producer: Producer, version: Version) -> Iterator[Topic]:
    """Topics of three replicas, as they are and with a flush of each record; unclean elections where they matter."""
    for topic in topics(producer, version):
        if topic.replication_factor == 3:
            matters = elects_eligible_leaders(version) and topic.min_insync_replicas > 1
            for unclean in (False, True) if matters else (ends_itself(version),):
                for flush in (False, True):
                    yield replace(topic, unclean=unclean, flush_each=flush)


def stated(producer: Producer, topic: Topic, version: Version) -> Outcome:
    refused = too_few(Subject(producer=producer, topic=topic, stated=NOTHING_STATED))
    shared, alone = loses_shared(topic, version), loses_alone(topic, version) and not refused
    must: set[str] = {"loses"} if shared or alone else set()
    may: set[str] = set()
    why, sources = [_told(topic, version, shared=shared, alone=alone)], [SOURCE]
    if topic.flush_each:
        sources.append(FLUSH_DOC)
    if refused:
        why.append("acks=all is refused while the leader is alone in sync.")
        sources.append(MIN_ISR_DOC)
        if not retries(producer) and producer.client != "scala":
            must.add("refuses")
        elif overtakes(producer) and not waits(topic, version):
            may.add("reorders")
            why.append("Several requests that were refused are sent again in any order.")
            sources.append(IN_FLIGHT_DOC)
    if shared and producer.idempotence and producer.client == "librdkafka":
        # What waits for replicas in sync while the power goes may be answered by nobody: that it is refused is no must.
        (may if refused else must).add("refuses")
        why.append("An idempotent producer's sequence numbers have a gap then, for which librdkafka's are refused.")
        sources.append(IDEMPOTENCE_DOC)
    return Outcome(
        must=frozenset(must),
        may=frozenset(may),
        why=" ".join(why),
        source="; ".join(dict.fromkeys(sources)),
        basis=Basis.KIP,
    )


def _told(topic: Topic, version: Version, *, shared: bool, alone: bool) -> str:
    if waits(topic, version):
        kept = "The partition waits for the eligible follower, which has the records that every replica had"
        return f"{kept}, and lacks the records that the leader acknowledged alone." if alone else f"{kept}."
    if shared:
        return "The leader is elected without what it had not flushed, and the followers truncate to its log."
    return "The leader has flushed each record before it counted, and is elected."


@scenario(
    name="audit-last-replica",
    claim="""If the last in-sync replica loses power and returns first, records that it acknowledged and had not
        flushed are lost, and the other replicas truncate them. flush.messages=1 prevents that. Eligible leader replicas
        with min.insync.replicas=2 keep the records that other replicas have.""",
    source=f"{SOURCE}; {ELR_DOC}: unclean shutdown, last known leader",
    operator="""From 4.1 on use acks=all, min.insync.replicas=2 and eligible leader replicas (on by default in new
        clusters; kafka-features upgrades others). Before 4.1, copy the replicas' logs before you restart a leader that
        lost power: it leads as soon as it is back, and the others truncate. Or set flush.messages=1.""",
    cluster=ClusterPlan(disks=Disks(), settings=CLUSTER | SOON),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=LOST | DIVERGES | REFUSED_AGAIN,
            source=SOURCE,
            basis=Basis.KIP,
        ),
        Documented(
            allowed=LOST | TRUNCATED | REFUSED_AGAIN,
            source=SOURCE,
            basis=Basis.KIP,
        ),
    ],
    applies=AUDITED,
)
def last_replica(run: Run) -> None:
    t, version = run.partition(), run.version
    subjects = Subjects(
        run,
        plan(
            run,
            lambda producer, topic: stated(producer, topic, version),
            among=lambda producer: measured_in(producer, version),
        ),
    )
    run.require(
        "no follower would exit rather than truncate",
        not ends_itself(version) or all(one.subject.topic.unclean for one in subjects.all),
    )

    run.require(
        "leader and follower are enough",
        all(one.subject.topic.min_insync_replicas < 3 for one in subjects.all),
    )

    def taken(one: Subject) -> bool:
        return accepted(one, version)

    def answered_alone(one: Subject) -> bool:
        return taken(one) and not too_few(one)

    def waiting(one: Subject) -> bool:
        return waits(one.topic, version)

    subjects.begin(taken)
    run.send(t, 3)
    leader, (near, *far) = run.leader_of(t), run.followers_of(t)
    run.stop(*far)
    subjects.wait_isr([leader, near], taken)
    subjects.wait_replicated(FIRST, leader, taken)
    run.flush_disks()
    subjects.send(SHARED, expected_loss=lambda one: taken(one) and loses_shared(one.topic, version))
    subjects.wait_acknowledged(FIRST + SHARED, taken)
    subjects.wait_log_end(FIRST + SHARED, near, taken)
    run.stop(near)
    subjects.wait_isr([leader], taken)
    subjects.send(ALONE, expected_loss=lambda one: answered_alone(one) and loses_alone(one.topic, version))
    subjects.wait_acknowledged(FIRST + SHARED + ALONE, answered_alone)
    subjects.wait_log_end(FIRST + SHARED + ALONE, leader, answered_alone)
    run.claim(
        "nothing is acknowledged with acks=all while fewer than min.insync.replicas are in sync",
        all(one.tally.ok <= FIRST + SHARED for one in subjects.of(too_few)),
    )
    run.lose_power(leader)

    def written(one: Placed) -> int:
        return FIRST + SHARED + (ALONE if answered_alone(one.subject) else 0)

    unflushed = subjects.of(lambda one: taken(one) and not one.topic.flush_each)
    ends = {str(one.partition): run.log_end_and_high_watermark(leader, one.partition)[0] for one in unflushed}
    run.require(
        "the leader's disk has not all that was acknowledged and not flushed",
        all(ends[str(one.partition)] < written(one) for one in unflushed),
        whole=[str(one.partition) for one in unflushed if ends[str(one.partition)] >= written(one)],
    )
    subjects.wait_leaderless(leader, taken)
    run.start(leader)
    subjects.wait_led(leader, which=lambda one: taken(one) and not waiting(one))
    run.start(near, *far)
    subjects.wait_led(near, which=lambda one: taken(one) and waiting(one))
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, lambda one: not unanswered(one))
    subjects.settle()
