"""What the runs of a cell say of a statement: how many show it, how many contradict it.

A cell is a row of results/cells.jsonl as plain values (`results.by_scenario`). Runs that end as *unknown* or with an
error of the harness say nothing of Kafka and are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import results
from checks import claims
from judgement.rates import telling

Cell = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunTally:
    """How many runs show a statement, and how many contradict it."""

    shows: int = 0
    contradicts: int = 0

    def __add__(self, other: RunTally) -> RunTally:
        return RunTally(self.shows + other.shows, self.contradicts + other.contradicts)

    @property
    def runs(self) -> int:
        """How many runs say something."""
        return self.shows + self.contradicts

    def turned(self) -> RunTally:
        """The same runs as evidence of the opposite."""
        return RunTally(self.contradicts, self.shows)


class Question(Protocol):
    """What is asked of each run of a cell."""

    def tally(self, cell: Cell) -> RunTally:
        """What the runs of a cell answer."""

    def words(self) -> str:
        """What the runs did that show it: "ended as documented"."""


@dataclass(frozen=True, slots=True)
class EndedAsDocumented:
    """Whether the run ended as its scenario documents it, losses included."""

    def tally(self, cell: Cell) -> RunTally:
        """Runs that ended as documented, and those that contradict it."""
        return RunTally(cell["good"], telling(cell) - cell["good"])

    def words(self) -> str:
        return "ended as documented"


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """Whether the run kept every acknowledged record."""

    def tally(self, cell: Cell) -> RunTally:
        """Runs without and with a lost record; a run that lost one counts whatever its verdict."""
        return RunTally(max(telling(cell) - cell["lost"], 0), cell["lost"])

    def words(self) -> str:
        return "kept every acknowledged record"


@dataclass(frozen=True, slots=True)
class HeldClaims:
    """Whether claims held in the run."""

    names: tuple[str, ...]

    def tally(self, cell: Cell) -> RunTally:
        """Of the claims that the cell has, the fewest runs in which one held and the most that contradict one."""
        outcomes = [cell["claims"][name] for name in self.names if name in cell["claims"]]
        return RunTally(
            min((one.get(claims.HELD, 0) for one in outcomes), default=0),
            max((one.get(claims.CONTRADICTED, 0) for one in outcomes), default=0),
        )

    def words(self) -> str:
        return f"held {' and '.join(f'`{name}`' for name in self.names)}"


@dataclass(frozen=True, slots=True)
class Witness:
    """Runs of a scenario, and what is asked of them."""

    scenario: str
    """"" for every scenario that has the claims."""
    asks: Question
    cases: tuple[str, ...] = ()
    """() for all."""
    contrary: bool = False
    """What shows the scenario's claim contradicts the statement."""

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that it rests on; () if it rests on outcomes."""
        return self.asks.names if isinstance(self.asks, HeldClaims) else ()

    def by_version(self, data: Mapping[str, Any]) -> dict[str, RunTally]:
        """What the runs of each version say, of `results.by_scenario`."""
        found: dict[str, RunTally] = {}
        for cell in self._cells(data):
            tally = self.asks.tally(cell)
            if tally.runs:
                found[cell["version"]] = found.get(cell["version"], RunTally()) + (
                    tally.turned() if self.contrary else tally
                )
        return found

    def _cells(self, data: Mapping[str, Any]) -> Iterable[Cell]:
        for name in (self.scenario,) if self.scenario else sorted(data):
            of_cases = results.of(data, name)["cases"]
            for case in self.cases or sorted(of_cases):
                yield from of_cases.get(case, {}).values()


def as_documented(scenario: str, *cases: str) -> Witness:
    """Runs of a scenario that end as documented."""
    return Witness(scenario, EndedAsDocumented(), cases)


def kept(scenario: str, *cases: str) -> Witness:
    """Runs of a scenario that lose no acknowledged record."""
    return Witness(scenario, KeptRecords(), cases)


def held(scenario: str, *names: str, cases: tuple[str, ...] = ()) -> Witness:
    """Runs of a scenario in which claims held."""
    return Witness(scenario, HeldClaims(names), cases)


def held_everywhere(*names: str) -> Witness:
    """Runs of any scenario in which claims held."""
    return Witness("", HeldClaims(names))


def against(witness: Witness) -> Witness:
    """The same runs as evidence against the statement."""
    return replace(witness, contrary=True)
