"""Nights with a regression planted: would `kafka-chaos compare` say what is wrong, and nothing else?

A night is every cell of PLAN, RUNS times, with seeds of its own. Some nights are of a release as it is. The others are
of own builds: the jars of that release, in which the classes of one change are replaced. The changes are written like
those of the mutants (tests/mutants/registry.py), whose code is made into the classes when the build is made, not when a
broker loads them. So a build is given with `--kafka`, as a user's is, and no agent is in its brokers.

Two jars are added, for what the changed code calls: it says once on the broker's output that it was reached. Runs of
these builds have the build in their names and their records, so no count of a release has them
(docs/own-builds.md). What they showed is kept in results/nights/, a file a night (tests/planted/kept.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evidence.errors import unknown_name
from judgement.comparison import Fact
from tests.mutants import registry
from tests.mutants.registry import CONTROL, Change, before

RELEASE: Final = "4.3.1"
UNCHANGED: Final = "unchanged"
"""What nights of the release itself are called."""
PLAN: Final[tuple[tuple[str, str], ...]] = (
    ("double-failover", "default"),
    ("leader-crash", "acks-all"),
    ("offline-leader-election", "default"),
    ("unclean-election", "default"),
    ("leader-isolated", "acks-all"),
)
"""Scenarios and cases. Each planted regression shows in one at least."""
RUNS: Final = 5
"""Of each cell in a night: as few as times are compared of (judgement.difference.LEAST_RUNS)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A regression of a build."""

    name: str
    broken: str
    """In one sentence."""
    first: tuple[Fact, ...]
    """What the comparison may tell first: each says what is broken."""
    changes: tuple[Change, ...]

    @property
    def as_mutant(self) -> registry.Mutant:
        """As the agent's file has it."""
        return registry.Mutant(
            name=self.name, broken=self.broken, owed="", tells=(), where=(), changes={RELEASE: self.changes}
        )


def _anomalies(*names: str) -> tuple[Fact, ...]:
    return tuple(Fact("anomaly", name) for name in names)


ERROR_LINE: Final = "The checkpoint of "
PLANTED: Final = (
    Planted(
        name="truncates-to-high-watermark",
        broken="Followers truncate to their high watermark again, as before KIP-101.",
        first=_anomalies("lost-write"),
        changes=registry.get("truncates-to-high-watermark").changes_on(RELEASE),
    ),
    Planted(
        name="elections-late",
        broken="The controller elects 3 s later than it could.",
        first=(
            Fact("claim", "dead-broker-leaves-in-session"),
            Fact("claim", "leader-replaced-in-time"),
            Fact("time", "dead-broker-leaves-in-session"),
            Fact("time", "leader-replaced-in-time"),
        ),
        changes=(before(CONTROL, "handleBrokerFenced", "Mutant.delay(3000L);"),),
    ),
    Planted(
        name="acknowledged-early",
        broken="The leader acknowledges acks=all at once, and does not wait for the ISR.",
        first=_anomalies("lost-write"),
        changes=registry.get("acknowledged-early").changes_on(RELEASE),
    ),
    Planted(
        name="unclean-by-default",
        broken="Unclean leader elections are on by default.",
        first=_anomalies("lost-write"),
        changes=(
            before(
                "org.apache.kafka.common.config.ConfigDef$ConfigKey",
                "<init>(Ljava/lang/String;Lorg/apache/kafka/common/config/ConfigDef$Type;Ljava/lang/Object;",
                'if ("unclean.leader.election.enable".equals($1)) { Mutant.hit(); $3 = java.lang.Boolean.TRUE; }',
            ),
        ),
    ),
    Planted(
        name="new-error-line",
        broken="A broker that begins to lead a partition logs a line of level ERROR.",
        first=(Fact("error line", "Partition: The checkpoint of t-N was written twice"),),
        changes=(
            before(
                registry.PARTITION,
                "makeLeader",
                'if (!topic().startsWith("__")) { Mutant.hit(); '
                f'org.slf4j.LoggerFactory.getLogger("kafka.cluster.Partition").error("{ERROR_LINE}" '
                '+ topicPartition() + " was written twice"); }',
            ),
        ),
    ),
)


def get(name: str) -> Planted:
    """A planted regression by its name. Raises UsageError."""
    by_name = {one.name: one for one in PLANTED}
    if name not in by_name:
        raise unknown_name("planted regression", name, by_name)
    return by_name[name]
