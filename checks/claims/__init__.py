"""The catalogue of claims: documented behaviour, each judged from the evidence of a run.

An anomaly is something that went wrong; a claim is what brokers are documented to do: "the leader epoch rises by one at
each election". A claim is a pure function of what a run left behind (`Witness`: run.json, the account of what held when
and the clients' histories, never a flag that the runner sets), so `kafka-chaos check` judges it again from files.

It is `held`, `contradicted`, or `not-observed` where nothing in the run could have shown it; then the run says nothing
about it, and its verdict is unknown. It gives the rows that it was judged by. A duration has a bound: the documented
one, from the run's own settings, and a tolerance for the machine that is stated here; the longest one measured is told.

A scenario names claims beside anomalies, for each line of versions: `Documented(on=…, claims=[…])`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from checks.claims import (
    acks,
    checkpoints,
    clocks,
    contents,
    damage,
    disks,
    elections,
    isolation,
    isr,
    lag,
    log_directories,
    migration,
    outage,
    partitions,
    placement,
    power,
    recovery,
    returns,
    sessions,
    slow_disks,
    truncation,
    unanswered,
    unavailability,
    watermarks,
)
from checks.claims.basis import CONTRADICTED, HELD, NOT_OBSERVED, Claim, Damage, Judged, Witness
from evidence.errors import unknown_name

__all__ = [
    "CATALOGUE",
    "CONTRADICTED",
    "EVERY",
    "HELD",
    "NOT_OBSERVED",
    "Claim",
    "Damage",
    "Judged",
    "Witness",
    "declared",
    "judge",
]

EVERY: Final[tuple[Claim, ...]] = (
    *elections.CLAIMS,
    *sessions.CLAIMS,
    *isolation.CLAIMS,
    *contents.CLAIMS,
    *disks.CLAIMS,
    *log_directories.CLAIMS,
    *damage.CLAIMS,
    *truncation.CLAIMS,
    *unavailability.CLAIMS,
    *outage.CLAIMS,
    *isr.CLAIMS,
    *lag.CLAIMS,
    *acks.CLAIMS,
    *unanswered.CLAIMS,
    *partitions.CLAIMS,
    *watermarks.CLAIMS,
    *checkpoints.CLAIMS,
    *placement.CLAIMS,
    *power.CLAIMS,
    *slow_disks.CLAIMS,
    *recovery.CLAIMS,
    *returns.CLAIMS,
    *clocks.CLAIMS,
    *migration.CLAIMS,
)
CATALOGUE: Final[Mapping[str, Claim]] = MappingProxyType({claim.name: claim for claim in EVERY})


def validate(names: Iterable[str]) -> None:
    """Raise UsageError, with the nearest names, for the first that is not in the catalogue."""
    for name in names:
        if name not in CATALOGUE:
            raise unknown_name("claim", name, CATALOGUE, hint="`kafka-chaos list --claims` has them all")


def page() -> str:
    """docs/claims.md, made from the catalogue."""
    lines = [
        "# Claims",
        "",
        "Made by `kafka-chaos list --claims --markdown` from `checks/claims/`; do not edit. Documented behaviour",
        "that is judged from a run's files: a claim is *held*, *contradicted* (the run is *unexpected*)",
        "or *not observed* (*unknown*). A scenario names those that it shows: `Documented(on=…, claims=[…])`.",
        "",
        "| name | claim | bound | source |",
        "|---|---|---|---|",
        *(f"| `{one.name}` | {one.says} | {one.bound or '–'} | {one.source} |" for one in EVERY),
    ]
    return "\n".join(lines) + "\n"


def declared(run: Mapping[str, Any]) -> list[str]:
    """The claims that a run is held against, by run.json; a run that was made before there were claims has none."""
    return [str(name) for name in (run.get("documented") or {}).get("claims") or ()]


def judge(name: str, witness: Witness) -> dict[str, Any]:
    """What came of one claim, as findings.json has it. Raises UsageError for a name that is none."""
    validate([name])
    claim = CATALOGUE[name]
    about = {"name": name, "claim": claim.says, "source": claim.source}
    return about | ({"bound": claim.bound} if claim.bound else {}) | claim.judge(witness).as_json()
