"""All brokers lose power at one moment, and what they had acknowledged last was on no disk (Kafka documentation,
Application vs. OS flush management; log.flush.interval.messages, log.flush.interval.ms).

Three replicas, min.insync.replicas=2, acks=all. The disks take everything written so far (`flush_disks`), as in a
cluster that has long been up, then a load goes on for longer than anything may stay unwritten: the kernel looks every
5 s for what has been dirty for 30 s (vm.dirty_writeback_centisecs, vm.dirty_expire_centisecs; the proof of each power
loss has them). Then the brokers lose power, and with it what was acknowledged since that write-back: records of the
last seconds, on all three disks at once. How old what is lost was stands in the proof too (`by_age`).

With log.flush.interval.messages=1 each broker flushes before it acknowledges, and nothing is lost; each record waits
for the flush of the leader and then for that of its followers. What that takes is measured in records that are sent one
by one before the load. With log.flush.interval.ms a broker flushes in the
background, from 30 s after its start on (LogManager's initial delay): what was written since the last flush is lost.
"""

from dataclasses import replace

from harness.words import LOST, Basis, Case, ClusterPlan, Disks, Documented, Run, TopicPlan, ranges, scenario

ONE_BY_ONE = 50
"""Records that are sent before, each when the one before is acknowledged: what an acknowledgement takes."""
RATE_PER_S = 15
"""With the ten a second of the idempotent producer beside it. What is lost must be listed in full: 35 s of it are at
most, of a thousand rows."""
TOO = "What an idempotent producer wrote (0.11 and later) is lost too: idempotence is no flush."
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""A disk that lost power holds less than the high watermark that was flushed to it."""
FLUSHING = "Kafka documentation, Application vs. OS flush management"
GIVEN_UP_SOON = {"message.timeout.ms": "5000"}
"""Of the load: what it has in flight when the power goes is not waited for."""


def recent_records_lost(sentence: str = "What no disk had is lost.", *, cut: bool = True) -> list[Documented]:
    """What was not written back is lost; how old that is can be told where records have time stamps. `cut`: whether a
    disk surely holds less than the high watermark that the broker flushed to it last (each five seconds).
    """
    lost = Documented(
        required=LOST | TRUNCATED if cut else LOST,
        allowed=frozenset() if cut else TRUNCATED,
        sentence=f"{sentence} {TOO}",
        source=f"{FLUSHING}; Linux documentation, sysctl vm: dirty_expire_centisecs",
        basis=Basis.DOCUMENTATION,
    )
    return [replace(lost, on=ranges.TIME_STAMPS, claims=["lost-records-are-recent"]), lost]


def written_back_by_the_kernel(run: Run) -> None:
    """The load is longer than the kernel takes to write back; what is younger is lost."""
    t, replicas = run.partition(), run.replicas_of(run.partition())
    acked = lose_power_under_load(run, run.vary(60, low=56, high=62))
    ends = {one.node.name: run.log_end_and_high_watermark(one, t)[0] for one in replicas}
    run.require("no disk has all that was acknowledged", max(ends.values()) < acked, acked=acked, ends=ends)
    come_back(run)


def flushed_each(run: Run) -> None:
    """Each record is flushed, so there is nothing to wait for."""
    lose_power_under_load(run, run.vary(12, low=8, high=15))
    come_back(run)


def lose_power_under_load(run: Run, load_s: float) -> int:
    """A load goes on for so long, and all brokers lose power: how many records were acknowledged."""
    t, replicas = run.partition(), run.replicas_of(run.partition())
    run.send(t, ONE_BY_ONE)
    run.wait_high_watermark(t, ONE_BY_ONE, replicas)
    run.flush_disks()
    with run.load(t, rate_per_s=RATE_PER_S, expected_loss=True, settings=GIVEN_UP_SOON, also_idempotent=True) as load:
        load.wait_acked(int(load_s * RATE_PER_S), timeout_s=3 * load_s + 60)
        acked = ONE_BY_ONE + load.acked_in_all()
        run.lose_power(*replicas)
    return acked


def come_back(run: Run) -> None:
    """All brokers are started again."""
    t, replicas = run.partition(), run.replicas_of(run.partition())
    run.copy_replicas("after the power loss")
    run.start(*replicas)
    run.wait_isr(t, replicas)
    run.send(t)


scenario(
    name="page-cache-only",
    claim="""A record acknowledged with acks=all is in the memory of every replica in sync, and on nobody's disk: when
        all of them lose power at one moment it is lost, unless the brokers flush before they acknowledge.""",
    source="""Kafka documentation, Application vs. OS flush management; Kafka documentation, broker configuration:
        log.flush.interval.messages""",
    operator="""Put the replicas of a partition where they do not lose power together (racks, zones), and let
        min.insync.replicas reach across. If one power supply feeds them all, up to half a minute of acknowledged
        records is at stake. log.flush.interval.messages=1 prevents that; acknowledgements then wait for disks.""",
    cluster=ClusterPlan(disks=Disks()),
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    cases={
        "default": Case(steps=written_back_by_the_kernel, documented=recent_records_lost()),
        "xfs": Case(
            steps=written_back_by_the_kernel,
            cluster=ClusterPlan(disks=Disks(file_system="xfs")),
            documented=recent_records_lost(),
        ),
        "flush-each": Case(
            steps=flushed_each,
            settings={"log.flush.interval.messages": "1"},
            documented=[
                Documented(
                    claims=["flushed-records-survive"],
                    sentence="Each replica flushes a record before it counts: nothing acknowledged is lost.",
                    source="Kafka documentation, broker configuration: log.flush.interval.messages",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "flush-interval": Case(
            steps=written_back_by_the_kernel,
            settings={"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "1000"},
            documented=recent_records_lost(
                sentence="A flush each second bounds the loss to a second or two, and does not prevent it.",
                cut=False,
            ),
        ),
    },
)
