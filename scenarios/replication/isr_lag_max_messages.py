"""0.8.2 counts how many messages a follower is behind; from 0.9 on only time counts (KIP-16).

The link from the leader to its follower is slow, and records come in bursts of more than replica.lag.max.messages
(4000). The link transfers a burst in less time than passes until the next one. The follower fetches throughout and
catches up with each burst, well within replica.lag.time.max.ms. 0.8.2 removes it from the ISR whenever it checks while
a burst is on its way, and adds it again when it has caught up. From 0.9 on, which removed the setting, it stays in.

In `never-catches-up` the link always transfers half of the written records. The follower fetches again and again, and
is further behind with each fetch, by less than 4000 messages. 0.8.2 checks whether it fetches, and keeps it. From 0.9
on the leader checks when the follower was last caught up, and removes it from the ISR after replica.lag.time.max.ms.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario

LINK_BYTES_PER_S = 450_000
RECORDS_PER_S = 4000
BURSTS = {"linger.ms": "2000"}
RECORD_BYTES = 60
FLAPS = 2
LAG_TIME_MS = 5000
"""How often 0.8.2 looks at its followers. No multiple of the time between bursts: else it might look at the same moment
of each, when the follower has just caught up."""
STEADY_S = 4 * LAG_TIME_MS // 1000
"""How long records come in bursts where the follower must stay: several times as long as it may take to catch up."""
LOAD_LIMIT_S = 120.0
HALF_BYTES_PER_S = 100_000
LARGE_BYTES = 2000
LARGE_PER_S = 100
SMALL_FETCHES = {"replica.fetch.max.bytes": "65536", "message.max.bytes": "65536"}
"""A fetch takes part of the backlog: a fetch of the whole backlog would have caught up with the log end of before."""
SMALL_BATCHES = {"batch.num.messages": "10"}
BEHIND_S = 3 * LAG_TIME_MS // 1000
"""How long the follower is behind where it must stay: at the end by some 750 messages."""
TRACE = ("kafka.cluster",)


def never_catches_up(run: Run) -> None:
    """The link to the follower takes half of what is written."""
    t = run.partition()
    run.send(t)
    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    run.slow([leader], [follower], HALF_BYTES_PER_S)
    with run.load(t, rate_per_s=LARGE_PER_S, record_bytes=LARGE_BYTES, acks="1", settings=SMALL_BATCHES) as load:
        if ranges.LAG_IN_MESSAGES.holds(run.version):
            load.wait_acked(LARGE_PER_S * BEHIND_S, timeout_s=LOAD_LIMIT_S)
        else:
            run.wait_isr(t, [leader])
    run.heal_network()
    run.wait_isr(t, [leader, follower])
    run.send(t)


@scenario(
    name="isr-lag-max-messages",
    claim="""A follower that fetches, and catches up in time, stays in the ISR, however many messages it is behind.""",
    source="KIP-16; Kafka documentation of 0.8.2, broker configuration: replica.lag.max.messages",
    operator="""On 0.8.2 set replica.lag.max.messages higher than the number of records in one burst, or followers leave
        and join the ISR with each burst. From 0.9 on there is no such setting: only replica.lag.time.max.ms
        counts.""",
    needs=["acks-1"],
    cluster=ClusterPlan(
        session_timeout_ms=20000,
        settings={"replica.lag.time.max.ms": str(LAG_TIME_MS)},
        trace=TRACE,
    ),
    topic=TopicPlan(replicas=((1, 2),)),
    cases={
        "default": Case(
            documented=[
                Documented(
                    on=ranges.LAG_IN_MESSAGES,
                    sentence="""A follower that is more than replica.lag.max.messages behind leaves the ISR although it
                        fetches, and returns when it has caught up. With bursts of records it leaves and joins again and
                        again.""",
                    claims=["isr-counts-messages"],
                    source="Kafka documentation of 0.8.2, broker configuration: replica.lag.max.messages",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    claims=["isr-does-not-count-messages"],
                    source="KIP-16",
                    basis=Basis.KIP,
                ),
            ]
        ),
        "never-catches-up": Case(
            steps=never_catches_up,
            settings=SMALL_FETCHES,
            documented=[
                Documented(
                    on=ranges.LAG_IN_MESSAGES,
                    sentence="""A follower that fetches stays in the ISR as long as it is less than
                        replica.lag.max.messages behind, though it never catches up.""",
                    claims=["endless-lag-stays-in-isr"],
                    source="Kafka documentation of 0.8.2, broker configuration: replica.lag.max.messages",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    claims=["endless-lag-leaves-isr"],
                    sentence="""A follower that fetches all the time and never catches up leaves the ISR after
                        replica.lag.time.max.ms.""",
                    source="KIP-16",
                    basis=Basis.KIP,
                ),
            ],
        ),
    },
)
def isr_lag_max_messages(run: Run) -> None:
    t = run.partition()
    run.send(t)

    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    run.slow([leader], [follower], LINK_BYTES_PER_S)
    with run.load(t, rate_per_s=RECORDS_PER_S, record_bytes=RECORD_BYTES, acks="1", settings=BURSTS) as load:
        if ranges.LAG_IN_MESSAGES.holds(run.version):
            for _ in range(FLAPS):
                run.wait_isr(t, [leader])
                run.wait_isr(t, [leader, follower])
        else:
            load.wait_acked(RECORDS_PER_S * STEADY_S, timeout_s=LOAD_LIMIT_S)

    run.heal_network()
    run.wait_isr(t, [leader, follower])
    run.send(t)
