"""docs/anomalies.md and docs/claims.md: what the names mean, from the two catalogues."""

from __future__ import annotations

from typing import Final

from checks import catalogue, claims, settings
from checks.anomalies import availability, groups, last_stable_offset
from checks.disturbances import AFTER_NS
from evidence.run_state import LATE_TIMES
from judgement import duties, losses
from pages.render import render

ANOMALIES: Final = "anomalies.md"
CLAIMS: Final = "claims.md"
SECOND_NS: Final = 1_000_000_000
LIMITS: Final = (
    (
        f"{availability.LIMIT_NS // SECOND_NS} s",
        "no-controller, no-leader, not-registered, stuck-isr, unreadable, dead-replica-in-isr (of one that stays)",
        "replica.lag.time.max.ms is 30 s by default and looked at each half of it: what depends on it has come after "
        "45 s; sessions are shorter (18 s with ZooKeeper, 9 s with KRaft, by default)",
    ),
    (
        f"{groups.SILENT_NS // SECOND_NS} s",
        "group-unavailable",
        "a coordinator answers when it has read its partition, which takes less than a second in a run",
    ),
    (
        f"{last_stable_offset.STUCK_NS // SECOND_NS} s",
        "stuck-last-stable-offset",
        "every transaction has ended by then, and what is stable moves with the marker that ends it",
    ),
    (
        f"{settings.HEARD_NS // SECOND_NS} s",
        "acknowledged-below-min-insync",
        "a leader learns an ISR from the controller or ZooKeeper in milliseconds",
    ),
    (
        f"{AFTER_NS // SECOND_NS} s",
        "what was sent again after a fault (duplicate, nonmonotonic-send)",
        "TCP tries again after 1, 2 and 4 s (RFC 6298), and clients wait before they connect anew",
    ),
    (
        f"{LATE_TIMES} times a bound",
        "claims that are durations: from there on no waiting for a CPU excuses them",
        "3.8 times a bound was seen at a load of 28 on two cores, when clients themselves were kept from a CPU",
    ),
    (
        f"{duties.BUSY:.0%} of a run's time",
        "the same, in runs before 2026-11-24, whose timelines do not say when processes waited",
        "nothing was measured for it",
    ),
)
"""What it is, what for, and why so long."""
EVIDENCE: Final = (catalogue.HISTORIES, catalogue.REPLICAS, catalogue.METADATA, catalogue.COORDINATORS)


def pages() -> dict[str, str]:
    """Both pages, by their names in docs/."""
    kinds = [(where, [one for one in catalogue.EVERY if one.seen_in.startswith(where)]) for where in EVIDENCE]
    return {
        ANOMALIES: render(ANOMALIES, groups=kinds, reaches=losses.REACHES, limits=LIMITS),
        CLAIMS: render(CLAIMS, claims=claims.EVERY),
    }
