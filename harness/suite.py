"""The default suite: which scenarios `make chaos-run` runs, on which versions, and why each is in.

It is for somebody who has ten minutes: the first rows of README's table, on a version that loses and on one that does
not. What it leaves out, such as power loss, is run each night (`make nightly`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

OLD: Final = "0.10.2.2"
"""Replicas truncate to their own high watermark."""
PINNED: Final = "3.9.2-pinned"
"""A new broker that is held at that protocol."""
NEW: Final = "4.3.1"
"""Leader epochs, KRaft, eligible leader replicas."""
DEFAULT_VERSIONS: Final = (OLD, PINNED, NEW)
"""What `setup` makes ready, and what a scenario that is named is run on if no version is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InSuite:
    """Why a scenario is in the default suite, and with which of its cells."""

    why: str
    versions: tuple[str, ...] = (OLD, NEW)
    cases: tuple[str, ...] = ()
    """None named: all that apply."""

    def as_json(self) -> dict[str, Any]:
        """For `kafka-chaos list --json` and the pages."""
        return {"why": self.why, "versions": list(self.versions), "cases": list(self.cases)}

    def __str__(self) -> str:
        cases = f", case {' and '.join(self.cases)}" if self.cases else ""
        return f"on {', '.join(self.versions)}{cases}: {self.why}"


SUITE: Final[Mapping[str, InSuite]] = {
    "baseline": InSuite(why="without a fault nothing is found, or the harness itself is broken"),
    "double-failover": InSuite(
        why="an acknowledged record is lost by two clean elections, and kept since leader epochs; a new release that "
        "is held at the old protocol loses it too",
        versions=(OLD, PINNED, NEW),
    ),
    "exactly-once": InSuite(
        why="what is promised beside plain records: transactions, offsets of groups, records that were deleted",
        versions=(NEW,),
    ),
    "follower-reboot": InSuite(why="a restarted follower truncates what was acknowledged, and no longer does"),
    "follower-reboot-epoch": InSuite(
        why="the same restart, seen from within: the follower asks for the end of its epoch, and truncates nothing",
        versions=(NEW,),
    ),
    "isr-shrink-expand": InSuite(
        why="the ISR loses who stands still and takes who has caught up, each in its time", versions=(NEW,)
    ),
    "leader-crash": InSuite(why="acks=1 loses on every version, acks=all on none"),
    "leader-epoch-recovery": InSuite(
        why="replicas that missed epochs find where their logs part, which old versions cannot", versions=(NEW,)
    ),
    "leader-isolated": InSuite(
        why="the one partition of the network: what the cut-off leader acknowledges with acks=1 is lost",
        versions=(NEW,),
        cases=("acks-1",),
    ),
    "lost-acknowledgement": InSuite(
        why="what an idempotent producer sends again is in the log once", versions=(NEW,), cases=("idempotent",)
    ),
    "min-insync-refusal": InSuite(
        why="what is refused is not lost: too few in-sync replicas are an error, no loss", versions=(NEW,)
    ),
    "replica-divergence": InSuite(
        why="in-sync replicas that disagree forever, and, since leader epochs, a loss without disagreement"
    ),
    "steady-load": InSuite(
        why="a cluster that nobody disturbs answers in time for a minute; the other sequences are too short to see it",
        versions=(NEW,),
    ),
}
"""By the scenario's name."""
