"""What came of somebody's own configuration, run through faults in containers (`kafka-chaos audit --prove`).

A proof is one run, so it stands beside the measured cell and never wipes harm out that the cell shows. Harm that it
shows and the cell does not is a finding like any other, and where there is no cell the proof is what there is. Whether
the two agree is told: a run agrees if it shows every harm that all of the cell's runs show, and none that none does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from audit.cells import Cell, Covering, RunCounts

HARM: Final[Mapping[str, str]] = {"loses": "lost", "duplicates": "duplicated", "reorders": "reordered"}
"""The outcomes that harm acknowledged records, and the counts that show them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One fault, and what came of it; without a cell: why that is not known."""

    fault: str
    run_dir: str = ""
    """As the user may open it; empty if there was no run."""
    cell: Cell | None = None
    """Of this one run."""
    differs: tuple[str, ...] = ()
    """What the run has other than it was asked for."""
    why_not: str = ""

    @property
    def run(self) -> RunCounts | None:
        """Its counts."""
        return self.cell.runs[0] if self.cell is not None else None

    @property
    def covering(self) -> Covering | None:
        """The proof as a cell that covers its configuration."""
        return None if self.cell is None else Covering(self.cell, (), self.differs)

    @property
    def as_stated(self) -> bool:
        """Whether it is what was stated beforehand; true as well if nothing was."""
        return self.cell is not None and self.cell.as_stated


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """What was proved of one producer on one topic."""

    proofs: tuple[Proof, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, made short, or could not be as configured."""


def contradicts(proof: Proof, measured: Covering) -> tuple[str, ...]:
    """The outcomes in which a proof and the matrix disagree; none if the proof is of nothing."""
    if proof.run is None:
        return ()
    told = []
    for outcome in HARM:
        times, of, seen = measured.cell.times(outcome), len(measured.cell.runs), outcome in proof.run.seen
        if (seen and not times) or (not seen and times == of):
            told.append(outcome)
    return tuple(told)
