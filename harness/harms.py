"""What kind of harm a bug of the museum does: by what its exhibit must show on a release that has it.

Pages and `kafka-chaos museum` sort bugs by it and count those that lose records.
"""

from __future__ import annotations

from typing import Final

from harness.cluster import versions
from harness.scenario import Scenario

LOSES: Final = "loses records"
HARMS: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    (LOSES, frozenset({"lost-write", "replica-divergence", "misdelivered", "transaction-half-committed"})),
    ("returns deleted records", frozenset({"resurrected"})),
    ("makes consumers skip records", frozenset({"skipped-processing"})),
    ("breaks transactions", frozenset({"aborted-read", "stuck-last-stable-offset"})),
    ("keeps aborted results in Streams", frozenset({"state-store-leak"})),
    (
        "loses groups' positions",
        frozenset({"committed-offset-lost", "committed-offset-regression", "group-unavailable"}),
    ),
    ("writes records twice", frozenset({"duplicate"})),
    ("makes consumers repeat records", frozenset({"repeated-processing"})),
)
"""Kinds of harm, the worst first, each with the anomalies that show it."""
STOPS: Final = "stops brokers, replication or failover"
"""The harm of all other bugs but one."""
BUSY: Final = "keeps a processor busy"
BUSY_CLAIM: Final = "quorum-lost-thread-spins"
HARM_ORDER: Final = (*(name for name, _ in HARMS), STOPS, BUSY)


def harm_of(made: Scenario) -> str:
    """What kind of harm the bug of an exhibit does."""
    if made.exhibit is None:
        return STOPS
    documented = made.documented_for(versions.get(made.exhibit.affected[-1]))
    of_others = BUSY if BUSY_CLAIM in documented.claims else STOPS
    return next((name for name, anomalies in HARMS if anomalies & set(documented.required)), of_others)
