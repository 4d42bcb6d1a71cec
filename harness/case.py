"""What is documented for which versions, and the cases of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from checks.names import validate_anomalies, validate_claims
from evidence.basis import Basis, fault_of
from evidence.errors import UsageError
from evidence.run import DEFAULT_CASE
from harness.cluster.ranges import EVERY_VERSION, VersionRange
from harness.workloads.settings import LIBRDKAFKA

if TYPE_CHECKING:
    from harness.plan import ClusterPlan
    from harness.run import Run


LOST: Final = frozenset({"lost-write"})
Steps = Callable[["Run"], None]
"""What carries a sequence out."""
ACKS: Final = ("0", "1", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """What is documented to follow on a line of versions.

    `required` anomalies must be seen, `allowed` ones may be; any other is unexpected. Raises UsageError for a name that
    is neither an anomaly's nor a claim's (checks/names.py). `sentence` is what is documented for these
    versions, where it is not what the scenario claims. `source` says where, and `basis` of what kind that is; both are
    this outcome's own, which may rest on another document than the scenario's claim, or on our runs alone.
    """

    source: str
    """Where it is documented, or on which releases it was seen."""
    basis: Basis

    on: VersionRange = EVERY_VERSION
    """Of several outcomes of a case the first counts whose range has the version: without `on`, for all others."""
    sentence: str = ""
    required: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    claims: Sequence[str] = ()
    """Documented behaviour that must be held, by its names in checks/claims/."""
    out_of_sync: bool = False
    """Whether a replica may be out of sync when the run ends; otherwise that is a doubt."""
    deletes: bool = False
    """Whether the records that show as lost were deleted by request, as the sequence has it: pages say so."""

    def __post_init__(self) -> None:
        if not isinstance(self.on, VersionRange):
            raise UsageError(
                f"Documented(on={self.on!r}): `on` is a range of versions, such as one_of({str(self.on)!r})"
            )
        if fault := fault_of(self.source, self.basis):
            raise UsageError(f"Documented(): {fault}")
        for name in ("required", "allowed", "claims"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"Documented({name}={getattr(self, name)!r}): write several names, as in {{...}}")
        validate_anomalies(sorted(self.required | self.allowed))
        validate_claims(self.claims)

    def as_json(self) -> dict[str, Any]:
        """What must and what may be seen, the claims that must be held, the sentence, the source and its basis."""
        names = {"required": sorted(self.required), "allowed": sorted(self.allowed), "claims": list(self.claims)}
        sentence = {"sentence": " ".join(self.sentence.split())} if self.sentence else {}
        return names | sentence | {"source": self.source, "basis": str(self.basis)}


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
    steps: Steps | None = None
    """Its own function of steps, or one with arguments (functools.partial), in place of the scenario's."""
    cluster: ClusterPlan | None = None
    """A cluster of its own, in place of the scenario's."""
    needs: frozenset[str] = frozenset()
    """What its steps need of a client, beside what its acks and its settings do (harness/workloads/protocol.py)."""
    applies: VersionRange = EVERY_VERSION
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
            "controllers": self.cluster.controllers if self.cluster else 0,
            "java_options": self.cluster.java_options if self.cluster else "",
            "store": str(self.cluster.store or "") if self.cluster else "",
            "relayed": self.cluster.relayed if self.cluster else False,
        }
        return {key: value for key, value in values.items() if value}
