"""The catalogue of anomalies: what each name means, where it is defined, and when seeing it is no surprise.

It is filled by importing checks.anomalies, each function of which says what it finds (checks/anomaly.py).
docs/anomalies.md and `kafka-chaos list --anomalies` are made from it. Whether a name is one is asked without it
(checks/names.py), as when a scenario is imported. Names and definitions follow Jepsen's checker for Kafka where it has
them, so that a verdict means the same here and there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from checks.anomalies import REGISTRY
from checks.anomaly import COORDINATORS, HISTORIES, METADATA, REPLICAS, Anomaly, Check, Scope
from checks.names import INCONSISTENT_OFFSETS, LOST_WRITE, REPLICA_DIVERGENCE, TRUNCATED, UNSEEN, WRITE_CYCLE
from evidence.findings import Finding
from evidence.run import RunRecord
from evidence.run_state import RunState

__all__ = [
    "CATALOGUE",
    "COORDINATORS",
    "EVERY",
    "HISTORIES",
    "INCONSISTENT_OFFSETS",
    "LOST_WRITE",
    "METADATA",
    "REPLICAS",
    "REPLICA_DIVERGENCE",
    "TRUNCATED",
    "UNSEEN",
    "WRITE_CYCLE",
    "Anomaly",
    "checks_of",
    "consequence",
    "permitted",
]

EVERY: Final[tuple[Anomaly, ...]] = tuple(REGISTRY.values())
CATALOGUE: Final[Mapping[str, Anomaly]] = MappingProxyType(REGISTRY)


def checks_of(scope: Scope) -> list[Check]:
    """The checks of one partition, of the run as a whole, or over what all partitions told."""
    return [check for entry in REGISTRY.values() for check in entry.checks if check.scope == scope]


def permitted(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Why Kafka permits this finding under the settings of the clients it is about, given what held when (None: nobody
    knows), or None if it does not.
    """
    entry = CATALOGUE.get(finding.anomaly)
    return entry.permits(run, finding, run_state) if entry else None


def consequence(finding: Finding, found: Sequence[Finding], documented: Iterable[str]) -> str | None:
    """Why this finding is a documented one seen from another side, or None if it is not."""
    entry = CATALOGUE.get(finding.anomaly)
    if entry is None or not entry.follows_from or entry.follows_from not in documented:
        return None
    # A run that was cut short has no final read to tell which of the two a record is.
    losses = [one for one in found if one.anomaly in (entry.follows_from, UNSEEN)]
    return entry.follows(finding, [one for one in losses if one.where == finding.where])
