"""The link between the leader and a follower goes down and up again (Kafka documentation, broker configuration:
replica.lag.time.max.ms; KIP-16).

Each time it is down for longer than replica.lag.time.max.ms the follower leaves the ISR, and each time it is up it
catches up and is back. If it is down for less, TCP sends the lost packets again and the ISR stays. Writes with acks=all
pause only while the link is down.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, scenario
from scenarios.partition import SETTINGS, SHRUNK, clients

LONG = {"replica.lag.time.max.ms": "1500", "replica.socket.timeout.ms": "1500"}
BRIEF = {"replica.lag.time.max.ms": "10000", "replica.socket.timeout.ms": "10000"}
FLAPS = 3


def flapping(run: Run, down_s: float, up_s: float, *, leaves: bool) -> None:
    """The link goes down and up, and the follower leaves the ISR each time, or stays."""
    t = run.partition()
    leader, (follower, _) = run.leader_of(t), run.followers_of(t)
    with clients(run, t):
        run.flap([leader], [follower], times=FLAPS, down_s=down_s, up_s=up_s)
        shrunk = [len(state.isr) for state in run.observer.history_of(*t)].count(2)
        run.note(f"the ISR lacked one replica {shrunk} times in {FLAPS} flaps")
        owed = "leaves the ISR when the link is down for long" if leaves else "stays in the ISR"
        run.claim(
            f"the follower {owed}",
            shrunk >= FLAPS - 1 if leaves else shrunk == 0,
            witness="metadata",
            about=[t],
            shrunk=shrunk,
        )
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="flapping-link",
    claim="""A follower whose link goes down for longer than replica.lag.time.max.ms leaves the ISR each time and comes
        back each time; with shorter cuts it stays. Nothing is lost.""",
    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""If an ISR shrinks and expands all day, compare replica.lag.time.max.ms with the time that your links are
        down. If replica.lag.time.max.ms is longer, the ISR stays, and acks=all waits as long as the link is down.""",
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "acks-1": Case(
            steps=partial(flapping, down_s=4.5, up_s=6.0, leaves=True),
            acks="1",
            settings=LONG,
            documented=[
                Documented(
                    claims=[*SHRUNK, "writes-go-on-while-cut"],
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "acks-all": Case(
            steps=partial(flapping, down_s=4.5, up_s=6.0, leaves=True),
            settings=LONG,
            documented=[
                Documented(
                    claims=SHRUNK,
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "brief": Case(
            steps=partial(flapping, down_s=1.0, up_s=2.0, leaves=False),
            settings=BRIEF,
            documented=[
                Documented(
                    sentence="Cuts that are shorter than replica.lag.time.max.ms leave the ISR as it is.",
                    claims=["isr-outlasts-brief-cuts"],
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
