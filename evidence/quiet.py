"""Whether the machine was quiet through a run, so that a time is Kafka's, by the run's lines in the ledger."""

from __future__ import annotations

from typing import Final

from evidence.ledger import Load, RunEnded, RunJudged, RunStarted

QUIET: Final = "quiet"
BUSY: Final = "busy"
UNTOLD: Final = "not told"
"""How busy the machine was: not at all, so that a time is Kafka's; with other work; not on record."""
BUSY_CPU: Final = 20.0
"""Per cent of the time in which some process waited for a CPU: from this on the machine is busy. Ours."""


def load_of(started: RunStarted, ended: RunEnded | None, judged: RunJudged | None) -> str:
    """How busy the machine was through a run: QUIET, BUSY or UNTOLD.

    One figure is enough for BUSY: of the moment at which the run began, of that at which it ended, or of the whole.
    QUIET is what was so when the run began and in the whole of it, as the kernel counts it. A run whose line has only
    its beginning, or that of a kernel that does not count, is not known to have had a quiet machine.
    """
    begun, whole = started.load or Load(), judged.throughout if judged is not None else None
    moments = [begun, ended.load if ended is not None and ended.load is not None else Load()]
    if any(_busy(one, started.host.cores) for one in moments) or (whole is not None and whole.cpu >= BUSY_CPU):
        return BUSY
    return QUIET if whole is not None and begun.cpu is not None else UNTOLD


def _busy(load: Load, cores: int | None) -> bool:
    """Whether the machine is known to have been busy at a moment: by its load if the kernel does not tell more."""
    if load.cpu is not None:
        return load.cpu >= BUSY_CPU
    return load.load_1 is not None and bool(cores) and load.load_1 > (cores or 0) / 2
