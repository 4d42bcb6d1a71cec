"""What a scenario is made of, and the registry of them all.

A scenario is a frozen value: the claim it shows and where that is documented, the cluster and topic it needs,
what must follow on which versions, and one function of steps. It declares; `harness.run.Run` carries out.
Judgement is not part of it either: `documented_for` only states what the sources say, and `judgement.verdict`
holds the findings against it.

A scenario lives in one file of `scenarios/`, is registered by the decorator `scenario`, and reads like the
paragraph it implements (docs/writing-a-scenario.md).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evidence import anomalies
from evidence.errors import UsageError, unknown_name
from harness.plan import ClusterPlan, TopicPlan

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

    `required` anomalies must be seen, `allowed` ones may be; any other is unexpected. Raises UsageError for a name that
    is not in the catalogue (evidence/anomalies.py).
    """

    on: Line
    required: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        anomalies.validate(sorted(self.required | self.allowed))


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
    for module in pkgutil.walk_packages(package.__path__, "scenarios."):
        importlib.import_module(module.name)
    return dict(sorted(_REGISTRY.items()))


def get_scenario(name: str) -> Scenario:
    """The scenario called `name`; UsageError with the nearest names if there is none."""
    known = all_scenarios()
    if name not in known:
        raise unknown_name("scenario", name, known)
    return known[name]
