"""docs/anomalies.md and docs/claims.md: what the names mean, from the two catalogues."""

from __future__ import annotations

from typing import Final

from checks import catalogue, claims
from pages.render import render

ANOMALIES: Final = "anomalies.md"
CLAIMS: Final = "claims.md"
EVIDENCE: Final = (catalogue.HISTORIES, catalogue.REPLICAS, catalogue.METADATA, catalogue.COORDINATORS)


def pages() -> dict[str, str]:
    """Both pages, by their names in docs/."""
    groups = [(where, [one for one in catalogue.EVERY if one.seen_in.startswith(where)]) for where in EVIDENCE]
    return {ANOMALIES: render(ANOMALIES, groups=groups), CLAIMS: render(CLAIMS, claims=claims.EVERY)}
