"""All brokers lose power at one moment, and their last acknowledged records were on no disk (Kafka documentation,
Application vs. OS flush management; log.flush.interval.messages, log.flush.interval.ms).

Three replicas, min.insync.replicas=2, acks=all. All disks are flushed first (`flush_disks`), as in a cluster that has
long been up. Then a load runs for longer than a page may stay dirty: every 5 s the kernel looks for pages that have
been dirty for 30 s. The proof of each power loss has these settings (vm.dirty_writeback_centisecs,
vm.dirty_expire_centisecs). Then the brokers lose power, and with it the records acknowledged since that write-back:
records of the last seconds, on all three disks at once. The proof also lists the age of the lost records (`by_age`).

With log.flush.interval.messages=1 each broker flushes before it acknowledges, and nothing is lost. Each record waits
for the flush of the leader and then for those of its followers. Records sent one by one before the load measure this
time. With log.flush.interval.ms a broker flushes in the background, from 30 s after its start on (LogManager's initial
delay): records written since the last flush are lost.
"""

from dataclasses import replace

from harness.words import LOST, Basis, Case, ClusterPlan, Disks, Documented, Run, TopicPlan, ranges, scenario

ONE_BY_ONE = 50
"""Records sent before the load, each after the acknowledgement of the previous one: they measure how long an
acknowledgement takes.
"""
RATE_PER_S = 15
"""The idempotent producer sends ten a second beside it. All lost records must be listed, and a list has at most a
thousand rows: this is enough for 35 s.
"""
TOO = "Records of an idempotent producer (0.11 and later) are lost too: idempotence does not flush."
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""No disk has all acknowledged records (the steps require that), and every replica was in the ISR when it had them."""
FLUSHING = "Kafka documentation, Application vs. OS flush management"
GIVEN_UP_SOON = {"message.timeout.ms": "5000"}
"""For the load: records in flight when the power is cut are not waited for."""


def recent_records_lost(sentence: str = "Records that no disk had are lost.") -> list[Documented]:
    """Records that were not written back are lost. Their age is known where records have time stamps."""
    lost = Documented(
        required=LOST | TRUNCATED,
        sentence=f"{sentence} {TOO}",
        source=f"{FLUSHING}; Linux documentation, sysctl vm: dirty_expire_centisecs",
        basis=Basis.DOCUMENTATION,
    )
    return [replace(lost, on=ranges.TIME_STAMPS, claims=["lost-records-are-recent"]), lost]


def written_back_by_the_kernel(run: Run) -> None:
    """The load lasts longer than the kernel takes to write back. Younger records are lost."""
    t, replicas = run.partition(), run.replicas_of(run.partition())
    acked = lose_power_under_load(run, run.vary(60, low=56, high=62))
    ends = {one.node.name: run.log_end_and_high_watermark(one, t)[0] for one in replicas}
    run.require("no disk has all acknowledged records", max(ends.values()) < acked, acked=acked, ends=ends)
    come_back(run)


def flushed_each(run: Run) -> None:
    """Each record is flushed, so there is nothing to wait for."""
    lose_power_under_load(run, run.vary(12, low=8, high=15))
    come_back(run)


def lose_power_under_load(run: Run, load_s: float) -> int:
    """A load runs for this long, and all brokers lose power. Returns how many records were acknowledged."""
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
    claim="""A record acknowledged with acks=all is in the memory of every in-sync replica, and possibly on no disk.
        When all of them lose power at one moment it is lost, unless the brokers flush before they acknowledge.""",
    source="""Kafka documentation, Application vs. OS flush management; Kafka documentation, broker configuration:
        log.flush.interval.messages""",
    operator="""Spread the replicas of a partition over racks or zones that do not lose power together, and set
        min.insync.replicas higher than the replicas in any one of them. If one power supply feeds them all, the
        acknowledged records of the last 35 s can be lost, by Linux's defaults (vm.dirty_expire_centisecs and
        vm.dirty_writeback_centisecs: 30 s and 5 s). log.flush.interval.messages=1 prevents that; acknowledgements then
        wait for disks.""",
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
            ),
        ),
    },
)
