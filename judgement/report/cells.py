"""Runs of one scenario and case on one version, taken together: the rows of every table of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from judgement import outcome
from judgement.report import timings
from judgement.report.facts import JudgedRun
from judgement.report.headline import outcome as outcome_of
from judgement.verdict import ERROR, SEVERITY, Verdict, worst

MARKS: Final[Mapping[outcome.Tone, str]] = {outcome.BAD: "✕", outcome.UNCERTAIN: "?", outcome.GOOD: "✓"}
"""Beside a colour, what tells how records fared; the Atlas has the same (pages/atlas/model.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCell:
    """The runs of one scenario and case on one version with the same overridden settings and expectation, in the order
    of their names.
    """

    scenario: str
    """The scenario's name, with the case if it has one."""
    version: str
    overridden: tuple[tuple[str, str], ...]
    runs: tuple[JudgedRun, ...]

    @property
    def good(self) -> int:
        """How many ended as documented."""
        return sum(1 for run in self.runs if run.verdict.good)

    @property
    def verdict(self) -> str:
        """The most severe verdict of the runs."""
        return worst(run.verdict for run in self.runs).verdict

    @property
    def worst_run(self) -> JudgedRun:
        """The first run with that verdict."""
        return next(run for run in self.runs if run.verdict.verdict == self.verdict)

    @property
    def outcome(self) -> tuple[str, outcome.Tone]:
        """What became of the records in these runs, the worst first, and the tone of the worst."""
        every = [outcome_of(run) for run in self.runs]
        same: dict[outcome.Tone, list[str]] = {}
        for one in sorted(every, key=lambda one: -outcome.TONES.index(one.tone)):
            same.setdefault(one.tone, []).append(one.text)
        total = len(every)
        parts = []
        for texts in same.values():
            notes = [f"{len(texts)} of {total} runs"] * (len(same) > 1) + ["counts differ"] * (len(set(texts)) > 1)
            parts.append(texts[0] + (f" ({', '.join(notes)})" if notes else ""))
        return "; ".join(parts), outcome.worst(same)

    @property
    def mark(self) -> str:
        """How records fared at worst, and in how many of the runs, as a grid has it: "✕ lost 2/5"."""
        every = [outcome_of(run) for run in self.runs]
        tone = self.outcome[1]
        number = sum(one.tone == tone for one in every)
        word = {outcome.GOOD: "kept", outcome.UNCERTAIN: "not known"}.get(tone) or (
            "lost" if any(one.lost for one in every) else "inconsistent"
        )
        return f"{MARKS[tone]} {word} {len(every) if number == len(every) else f'{number}/{len(every)}'}"

    @property
    def documented(self) -> str:
        """What must be seen, and in brackets what may be."""
        first, run = self.runs[0].verdict, self.runs[0].run
        if run.observed:
            return "nothing" if run.expect is None else f"expected: {', '.join(first.required) or 'none'}"
        allowed = f" (allowed: {', '.join(first.allowed)})" if first.allowed else ""
        return (", ".join(first.required) or "none") + allowed

    @property
    def seen(self) -> str:
        """The anomalies seen, with the number of runs where they were not seen in all."""
        counts: dict[str, int] = {}
        for run in self.runs:
            for name in run.verdict.seen:
                counts[name] = counts.get(name, 0) + 1
        total = len(self.runs)
        return ", ".join(f"{n}" if c == total else f"{n} ({c} of {total})" for n, c in sorted(counts.items())) or "none"

    @property
    def label(self) -> str:
        """The version, and the settings that were overridden."""
        settings = ", ".join(f"{key}={value}" for key, value in self.overridden)
        return self.version + (f" with {settings}" if settings else "")

    @property
    def row(self) -> tuple[str, ...]:
        """The columns of every table: scenario, version, outcome, verdict, documented, seen, good runs, median time."""
        time = "" if self.seconds is None else f"{self.seconds:.1f} s"
        good = f"{self.good} of {len(self.runs)}"
        return (self.scenario, self.label, self.outcome[0], self.verdict, self.documented, self.seen, good, time)

    @property
    def seconds(self) -> float | None:
        """The median time to the verdict, or None if no run has one."""
        times = [run.verdict.seconds for run in self.runs if run.verdict.seconds]
        return median(times) if times else None


def version_key(version: str) -> tuple[Any, ...]:
    """Orders versions as people do, a variant after its base.

    >>> sorted(["4.3.1", "0.10.2.2", "0.9.0.1", "3.9.2-zk", "3.9.2-kraft"], key=version_key)
    ['0.9.0.1', '0.10.2.2', '3.9.2-kraft', '3.9.2-zk', '4.3.1']
    """
    number, _, variant = version.partition("-")
    return (tuple(int(part) if part.isdigit() else -1 for part in number.split(".")), variant)


def group(facts: Iterable[JudgedRun]) -> list[SuiteCell]:
    """The runs by cell, scenario by scenario in the order of their names, versions from old to new."""
    cells: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[JudgedRun]] = {}
    for run in facts:
        scenario = run.run.full_name
        overridden = tuple(sorted(run.run.overridden.items()))
        if run.run.expect is not None:
            overridden += (("--expect", ",".join(run.run.expect) or "none"),)
        cells.setdefault((scenario, run.run.version, overridden), []).append(run)
    ordered = sorted(
        cells.items(), key=lambda item: (item[0][0] != "baseline", item[0][0], version_key(item[0][1]), item[0][2])
    )
    return [
        SuiteCell(scenario=s, version=v, overridden=o, runs=tuple(sorted(runs, key=lambda r: r.run.run)))
        for (s, v, o), runs in ordered
    ]


def grid(cells: Iterable[SuiteCell]) -> tuple[list[str], list[tuple[str, list[SuiteCell | None]]]]:
    """The versions, and for each scenario its cell on each of them, None where nothing was run."""
    by_place = {(cell.scenario, cell.label): cell for cell in cells}
    labels = sorted({label for _, label in by_place}, key=version_key)
    scenarios = dict.fromkeys(scenario for scenario, _ in by_place)
    return labels, [(scenario, [by_place.get((scenario, label)) for label in labels]) for scenario in scenarios]


def spreads(cells: Iterable[SuiteCell]) -> list[tuple[str, ...]]:
    """The rows of how long things took, claim by claim (timings.row, with the scenario in place of the case)."""
    rows = [
        timings.row(name, cell.scenario, cell.label, timing)
        for cell in cells
        for name, timing in timings.of_claims(one for run in cell.runs for one in run.verdict.claims).items()
    ]
    return sorted(rows, key=lambda row: row[0])


def failures_first(cells: Sequence[SuiteCell]) -> list[SuiteCell]:
    """The most severe verdict first, else in the order given."""
    return sorted(cells, key=lambda cell: -SEVERITY[cell.verdict])


def worst_of(facts: Iterable[JudgedRun], unreadable: Sequence[str] = ()) -> str:
    """The verdict of a suite; a directory that cannot be read counts as a failure of the harness."""
    verdicts = [run.verdict for run in facts]
    return worst([*verdicts, Verdict(verdict=ERROR)] if unreadable else verdicts).verdict
