"""What is documented, and for what: lines of versions, outcomes, and the cases of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from checks import catalogue as anomalies
from checks import claims
from evidence.errors import UsageError
from evidence.rundir import DEFAULT_CASE
from harness.workloads.settings import LIBRDKAFKA

if TYPE_CHECKING:
    from harness.cluster.versions import Version
    from harness.plan import ClusterPlan


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
LAST_KNOWN_LEADER: Final = Line(
    "eligible leader replicas (KIP-966, on in new clusters from 4.1 on)",
    lambda version: version.mode == "kraft" and version.release >= (4, 1),
)

LOST: Final = frozenset({"lost-write"})
ACKS: Final = ("0", "1", "all")


def one_of(*ids: str) -> Line:
    """The versions named."""
    return Line(", ".join(ids), lambda version: version.id in ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """What is documented to follow on a line of versions.

    `required` anomalies must be seen, `allowed` ones may be; any other is unexpected. Raises UsageError for a name that
    is in neither catalogue (checks/catalogue.py, checks/claims/). `says` is what is documented for these versions
    in a sentence, where it is not what the scenario claims.
    """

    on: Line
    says: str = ""
    required: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    claims: Sequence[str] = ()
    """Documented behaviour that must be held, by its names in checks/claims/."""
    out_of_sync: bool = False
    """Whether a replica may be out of sync when the run ends; otherwise that is a doubt."""

    def __post_init__(self) -> None:
        if not isinstance(self.on, Line):
            raise UsageError(
                f"Documented(on={self.on!r}): `on` is a line of versions, such as one_of({str(self.on)!r})"
            )
        for name in ("required", "allowed", "claims"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"Documented({name}={getattr(self, name)!r}): write several names, as in {{...}}")
        anomalies.validate(sorted(self.required | self.allowed))
        claims.validate(self.claims)

    def as_json(self) -> dict[str, Any]:
        """What must and what may be seen, the claims that must be held, and the sentence."""
        names = {"required": sorted(self.required), "allowed": sorted(self.allowed), "claims": list(self.claims)}
        return names | ({"says": " ".join(self.says.split())} if self.says else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A named variant of a scenario: what it changes, and what is documented for it."""

    documented: Iterable[Documented]
    settings: Mapping[str, str] = field(default_factory=dict)
    """Broker settings, over the scenario's."""
    topic: Mapping[str, str] = field(default_factory=dict)
    """Topic settings, over the scenario's."""
    replicas: tuple[tuple[int, ...], ...] = ()
    """Where the topic's replicas are placed, in place of where the scenario has them."""
    acks: str = "all"
    """For the steps: which acknowledgement the sends wait for that the claim is about."""
    client: str = LIBRDKAFKA
    """Which producers send: `librdkafka`, `java-<release>` or `scala-<release>`; `java` and `scala` alone are of the
    brokers' own release (harness/workloads/libraries.py). Pipelines are always librdkafka's.
    """
    client_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of these producers, by the client's own names."""
    variant: str = ""
    """For the steps: which way a sequence goes that has several."""
    cluster: ClusterPlan | None = None
    """A cluster of its own, in place of the scenario's."""
    applies: Line = EVERY_VERSION
    name: str = DEFAULT_CASE
    """Given by the scenario that declares it."""

    def __post_init__(self) -> None:
        if self.acks not in ACKS:
            raise UsageError(f"Case(acks={self.acks!r}): acks is {', '.join(ACKS)}, as text")

    def as_json(self) -> dict[str, Any]:
        """What it changes, for run.json and `kafka-chaos list`."""
        values = {
            "settings": dict(self.settings),
            "topic": dict(self.topic),
            "replicas": " ".join(",".join(map(str, placed)) for placed in self.replicas),
            "acks": self.acks,
            "client": "" if self.client == LIBRDKAFKA else self.client,
            "client_settings": dict(self.client_settings),
            "variant": self.variant,
            "controllers": self.cluster.controllers if self.cluster else 0,
            "java_options": self.cluster.java_options if self.cluster else "",
        }
        return {key: value for key, value in values.items() if value}
