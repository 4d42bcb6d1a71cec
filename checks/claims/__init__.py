"""The catalogue of claims: documented behaviour, each judged from the evidence of a run.

An anomaly is something that went wrong; a claim is what brokers are documented to do: "the leader epoch rises by one at
each election". A claim is a pure function of what a run left behind (`RunEvidence`: run.json, the account of what held
when and the clients' histories, never a flag that the runner sets), so `kafka-chaos check` judges it again from files.

It is `held`, `contradicted`, or `not-observed` where nothing in the run could have shown it; then the run says nothing
about it, and its verdict is unknown. It gives the rows that it was judged by. A duration has a bound: the documented
one, from the run's own settings, and a tolerance for the machine that is stated here; the longest one measured is told.

A scenario names claims beside anomalies, for each line of versions: `Documented(on=…, claims=[…])`.

The catalogue is filled by importing every module of this package and of its folders, which follow subjects: storage,
network, replication, cluster, delivery. Each function with `@claim` (checks/claim.py) is in it, and a new module needs
no mention anywhere; the names stand in checks/names.py, too, for those who ask for no more than a name. The catalogue
is read where nothing can be run: these modules import neither numpy nor pyarrow, nor what imports them
(tests/unit/checks/test_catalogue.py).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from checks.claim import (
    CONTRADICTED,
    HELD,
    NOT_OBSERVED,
    REGISTRY,
    Claim,
    Damage,
    Judged,
    RunEvidence,
)
from checks.names import CLAIMS, refuse_others, validate_claims
from evidence.findings import ClaimResult
from evidence.run import RunRecord

__all__ = [
    "CATALOGUE",
    "CONTRADICTED",
    "EVERY",
    "HELD",
    "NOT_OBSERVED",
    "Claim",
    "Damage",
    "Judged",
    "RunEvidence",
    "declared",
    "judge",
]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

refuse_others("claim", CLAIMS, REGISTRY)

EVERY: Final[tuple[Claim, ...]] = tuple(REGISTRY.values())
CATALOGUE: Final[Mapping[str, Claim]] = MappingProxyType(REGISTRY)


def declared(run: RunRecord) -> list[str]:
    """The claims that a run is held against, by run.json."""
    return list(run.documented.claims)


def judge(name: str, evidence: RunEvidence) -> ClaimResult:
    """What came of one claim. Raises UsageError for a claim that does not exist."""
    validate_claims([name])
    claim = CATALOGUE[name]
    judged = claim.judge(evidence)
    return ClaimResult(
        name=name,
        definition=claim.definition,
        source=claim.source,
        basis=str(claim.basis),
        bound=claim.bound,
        bound_basis=str(claim.bound_basis or ""),
        outcome=judged.outcome,
        observed=judged.observed,
        measured_ms=judged.measured_ms,
        bound_ms=judged.bound_ms,
        evidence=tuple(judged.evidence),
    )
