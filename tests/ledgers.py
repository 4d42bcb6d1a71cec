"""Lines of the ledger for tests: those of a run in which nothing happened."""

from __future__ import annotations

from typing import Any

from evidence.ledger import SCHEMA, Counts, RestoredCell, RestoredRun, RunEnded, RunJudged, RunStarted, Throughout
from evidence.run import HostRecord

AT = "2026-11-24T00:00:00.000Z"


def started(run: str, **changes: Any) -> RunStarted:
    about: dict[str, Any] = {"scenario": "s", "version": "4.3.1", "seed": 1, "command": "c", "commit": "0" * 40}
    about |= {
        "documented": "d",
        "host": HostRecord(system="Linux", cores=2, python="3.11", kernel="6", docker="20"),
        "at": AT,
    }
    return RunStarted(schema=SCHEMA, run=run, **(about | changes))


def ended(run: str, state: str = "complete", **changes: Any) -> RunEnded:
    about: dict[str, Any] = {"at": AT, "state": state, "seconds": 30.0}
    return RunEnded(schema=SCHEMA, run=run, **(about | changes))


def judged(run: str, verdict: str = "as-documented", **changes: Any) -> RunJudged:
    about: dict[str, Any] = {"at": AT, "seconds": 31.0, "documented": "d", "manifest": "m", "sound": True}
    return RunJudged(schema=SCHEMA, run=run, verdict=verdict, **(about | changes))


def restored(run: str, verdict: str | None = "as-documented", **changes: Any) -> RestoredRun:
    about: dict[str, Any] = {"scenario": "s", "version": "4.3.1", "at": AT, "source": "1" * 40, "seen": ()}
    return RestoredRun(schema=SCHEMA, run=run, verdict=verdict, **(about | changes))


def restored_cell(runs: int, good: int, *names: str, at: str = AT, **changes: Any) -> RestoredCell:
    about: dict[str, Any] = {"scenario": "s", "version": "4.3.1", "source": "1" * 40, "unnamed": 0, "commits": ()}
    own = {name: changes.pop(name) for name in about.keys() & changes.keys()}
    own |= {name: changes.pop(name) for name in ("unnamed_good", "machines") if name in changes}
    return RestoredCell(
        schema=SCHEMA, at=at, runs=names, counts=Counts(runs=runs, good=good, **changes), **(about | own)
    )


def throughout(cpu: float, **changes: Any) -> Throughout:
    about: dict[str, Any] = {"seconds": 30.0, "memory": 0.0, "io": 0.0, "steal": 0.0, "late_ms": 3}
    return Throughout(cpu=cpu, **(about | changes))
