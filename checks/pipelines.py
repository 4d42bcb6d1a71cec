"""Which processes of a run are one application, and which numbers its outputs carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evidence.run import RunRecord

NAMES = ("group.id", "application.id")
"""Settings that say of which application a process is."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The processes of one application."""

    group: str
    processes: frozenset[str]
    producers: frozenset[int]
    """The numbers that their outputs carry."""


def pipelines_of(run: RunRecord) -> tuple[Pipeline, ...]:
    """The applications of a run, in the order of their names. Those whose processes name no group are one."""
    found: dict[str, dict[str, int]] = {}
    for number, one in enumerate(run.processes, 1):
        if one.kind == "processor":
            group = next((one.settings[name] for name in NAMES if name in one.settings), "")
            found.setdefault(group, {})[one.name] = number
    return tuple(
        Pipeline(group, frozenset(numbers), frozenset(numbers.values())) for group, numbers in sorted(found.items())
    )
