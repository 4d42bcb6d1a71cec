"""Settings of a run that several checks and claims go by."""

from __future__ import annotations

from typing import Final

from evidence.run import RunRecord

MIN_INSYNC: Final = "min.insync.replicas"


def min_insync(run: RunRecord, topic: str) -> int:
    """A topic's min.insync.replicas as the run was begun: its own, the brokers', or 1."""
    own = next((plan.settings.get(MIN_INSYNC) for plan in run.topics if plan.name == topic), None)
    return int(own or run.settings.get(MIN_INSYNC, "1"))
