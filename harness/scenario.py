"""What a scenario is made of, and the registry of them all.

A scenario is a frozen value: the claim it shows and where that is documented, the cluster and topic it needs,
what must follow on which versions, and one function of steps. It declares; `harness.run.Run` carries out.
Judgement is not part of it either: `documented_for` only states what the sources say, and `harness.verdict`
holds the findings against it.

A scenario lives in one file of `scenarios/`, is registered by the decorator `scenario`, and reads like the
paragraph it implements (docs/writing-a-scenario.md).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from harness.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from harness.cluster.versions import Version
    from harness.run import Run


@dataclass(frozen=True, slots=True)
class Line:
    """A named set of versions, such as "high-watermark truncation": what a documented outcome is stated for."""

    label: str
    holds: Callable[[Version], bool]

    def __or__(self, other: Line) -> Line:
        return Line(f"{self.label}, {other.label}", lambda version: self.holds(version) or other.holds(version))


EVERY_VERSION: Final = Line("every version", lambda version: True)
HIGH_WATERMARK_TRUNCATION: Final = Line(
    "followers truncate to the high watermark (before 0.11, or pinned to 0.10.2)",
    lambda version: version.truncates_to_high_watermark,
)
LEADER_EPOCHS: Final = Line(
    "followers truncate by leader epoch (KIP-101, 0.11 and later)",
    lambda version: not version.truncates_to_high_watermark,
)
ZOOKEEPER: Final = Line("ZooKeeper", lambda version: version.mode == "zookeeper")
KRAFT: Final = Line("KRaft", lambda version: version.mode == "kraft")

LOST: Final = frozenset({"lost-write"})


def one_of(*ids: str) -> Line:
    """The versions named."""
    return Line(", ".join(ids), lambda version: version.id in ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """What is documented to follow on a line of versions.

    `required` anomalies must be seen, `allowed` ones may be; any other is unexpected.
    """

    on: Line
    required: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The cluster a scenario needs.

    `brokers` are the ids that hold replicas. `controller` is the broker that must be the controller: with
    ZooKeeper it is started first and so creates /controller; with KRaft the controller is a node of its own
    (id 100) and a `controller` that holds no replica is left out.
    """

    brokers: tuple[int, ...] = (1, 2, 3)
    controller: int = 4
    session_timeout_ms: int = 4000
    """How long a silent broker stays registered: ZooKeeper's session, or KRaft's broker session."""
    zookeeper_sessions_ms: Mapping[int, int] = field(default_factory=dict)
    """Brokers whose session with ZooKeeper is another one. (KRaft's is the controllers' to set, for all brokers.)"""
    settings: Mapping[str, str] = field(default_factory=dict)
    combined: bool = False
    """KRaft: brokers 1 to 3 are the controllers too, instead of one controller apart."""
    trace: tuple[str, ...] = ()
    """Broker loggers turned to TRACE, for scenarios whose evidence is in the log."""

    def broker_ids(self, mode: str) -> tuple[int, ...]:
        """The brokers to start in `mode`, in the order of starting."""
        if mode == "zookeeper":
            return (self.controller, *(b for b in self.brokers if b != self.controller))
        return self.brokers


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """A topic with its replicas placed by hand: `replicas[p]` are partition p's brokers, the preferred leader
    first.
    """

    name: str = "t"
    replicas: tuple[tuple[int, ...], ...] = ((1, 2, 3),)
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One documented claim and the sequence that shows it."""

    name: str
    claim: str
    source: str
    cluster: ClusterPlan
    topic: TopicPlan
    documented: tuple[Documented, ...]
    steps: Callable[[Run], None] = field(repr=False)
    applies: Line = EVERY_VERSION
    file: str = ""

    def documented_for(self, version: Version) -> Documented:
        """What is documented for `version`.

        Raises UsageError if the scenario says nothing about it.
        """
        if not self.applies.holds(version):
            raise UsageError(
                f"scenario {self.name} does not apply to {version.id}; it applies to: {self.applies.label}"
            )
        for outcome in self.documented:
            if outcome.on.holds(version):
                return outcome
        raise UsageError(f"scenario {self.name} documents no outcome for {version.id}")


_REGISTRY: dict[str, Scenario] = {}


def scenario(
    *,
    name: str,
    claim: str,
    source: str,
    documented: Iterable[Documented],
    cluster: ClusterPlan | None = None,
    topic: TopicPlan | None = None,
    applies: Line = EVERY_VERSION,
) -> Callable[[Callable[[Run], None]], Scenario]:
    """Register the decorated function of steps as a scenario; the name then stands for the `Scenario`."""

    def register(steps: Callable[[Run], None]) -> Scenario:
        made = Scenario(
            name=name,
            claim=" ".join(claim.split()),
            source=source,
            cluster=cluster or ClusterPlan(),
            topic=topic or TopicPlan(),
            documented=tuple(documented),
            steps=steps,
            applies=applies,
            file=steps.__module__,
        )
        other = _REGISTRY.get(name)
        if other is not None and other.file != made.file:
            raise UsageError(f"two scenarios are named {name}: {other.file} and {made.file}; rename one")
        _REGISTRY[name] = made
        return made

    return register


def all_scenarios() -> dict[str, Scenario]:
    """Every scenario of the package `scenarios`, by name."""
    package = importlib.import_module("scenarios")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"scenarios.{module.name}")
    return dict(sorted(_REGISTRY.items()))


def get_scenario(name: str) -> Scenario:
    """The scenario called `name`; UsageError with the nearest names if there is none."""
    known = all_scenarios()
    if name not in known:
        raise unknown_name("scenario", name, known)
    return known[name]
