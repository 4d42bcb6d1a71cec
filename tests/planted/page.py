"""docs/planted.md: what `compare` says of nights with a regression planted; of results/nights/ alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, permutations
from typing import Final

from evidence.run import full_name
from evidence.text import markdown, plural
from judgement.comparison import ERROR, FAMILIES, Comparison, Ran, by_cell, compare
from judgement.difference import LEAST_RUNS, CountedRuns, counts
from judgement.report.comparison import in_words, sentence
from judgement.verdict import UNEXPECTED
from tests.planted import PLAN, PLANTED, RELEASE, RUNS, UNCHANGED, Planted, get, kept
from tests.planted.kept import Night

SIDES: Final = ((3, 10), (4, 5), (5, 5), (7, 7), (5, 10), (5, 20))
"""Newer and older runs of a cell."""


def held(old: Sequence[Night], new: Night) -> Comparison:
    """A night beside earlier ones of the release."""
    before = kept.alike(chain.from_iterable(night.runs for night in old))
    names = " and ".join(night.name for night in old)
    return compare(before, kept.alike(new.runs), names=(names, new.name))


def right(found: Comparison, planted: Planted | None) -> bool:
    """Whether the comparison says what it should: no regression, or the one that is planted and no other."""
    if planted is None:
        return not found.regressions
    return len(found.together) == 1 and found.regressions[0].fact in planted.first


def first_runs(runs: Sequence[Ran], number: int) -> list[Ran]:
    """The first runs of each cell."""
    return [run for those in by_cell(runs).values() for run in those[:number]]


def least_runs(old: Sequence[Night], new: Night, planted: Planted) -> int | None:
    """From how many runs of each cell on, on both sides, the comparison says what it should; None if it never does."""
    most = max((len(those) for those in by_cell(new.runs).values()), default=0)
    before = kept.alike(chain.from_iterable(night.runs for night in old))
    told = None
    for number in range(most, 0, -1):
        found = compare(first_runs(before, number), first_runs(kept.alike(new.runs), number))
        if not right(found, planted):
            break
        told = number
    return told


def page(nights: Sequence[Night]) -> str:
    """The page of these nights."""
    unchanged = [night for night in nights if night.planted == UNCHANGED]
    planted = [night for night in nights if night.planted != UNCHANGED]
    return (
        "\n".join(
            [*_head(nights), *_needed(), *_planted(unchanged, planted), *_unchanged(unchanged), *_machine(nights)]
        )
        + "\n"
    )


def _head(nights: Sequence[Night]) -> Iterator[str]:
    cells = ", ".join(f"`{scenario}`" + (f" ({case})" if case != "default" else "") for scenario, case in PLAN)
    yield from (
        "# Nights with a regression planted",
        "",
        "Would [`kafka-chaos compare`](nights.md#compare) say what is wrong with a build, and nothing else? Builds",
        "with one regression planted were run for a night each, and held beside nights of the release itself.",
        "",
        "Made by `python -m tests.planted page` from `results/nights/`, which has what each run showed.",
        "",
        "## How",
        "",
        f"The plan of a night is {len(PLAN)} cells on {RELEASE}: {cells}. Each is run with {RUNS} seeds.",
        "",
        "| planted | what is broken | changed classes |",
        "|---|---|---|",
    )
    for one in PLANTED:
        classes = ", ".join(sorted({f"`{change.of.rpartition('.')[2]}`" for change in one.changes}))
        yield f"| {one.name} | {markdown(one.broken)} | {classes} |"
    yield from (
        "",
        f"Each is an [own build](own-builds.md): the jars of {RELEASE}, in which these classes are replaced. It is",
        "given with `--kafka`, as a build of yours would be. `python -m tests.planted night elections-late` makes the",
        "build and runs the night. `python -m tests.planted night unchanged` runs one of the release.",
        "",
        f"{plural(sum(len(night.runs) for night in nights), 'run')} of {plural(len(nights), 'night')} are kept.",
        "Runs of the planted builds are counted as runs of no release.",
        _not_whole(nights),
        "",
    )


def _needed() -> Iterator[str]:
    """How many runs a side are needed, by the tests themselves (judgement.difference)."""
    yield from (
        "## How many runs",
        "",
        "Let every newer run of one cell show a fact that no older run showed. Each other fact that differs between",
        "runs is a test more, and makes it harder to tell. The exact test has the share of the error that counts have:",
        "",
        "| newer runs | older runs | p | told beside |",
        "|---:|---:|---:|---|",
    )
    for new, old in SIDES:
        p = counts([CountedRuns(0, old, new, new)]).p
        # Each fact is two tests: whether it is seen more often, and less often.
        beside = int(ERROR / FAMILIES / p / 2) - 1
        others = plural(beside, "other fact") if beside else "no other fact"
        told = "nothing: it is not told" if beside < 0 else others
        yield f"| {new} | {old} | {p:.2g} | {told} |"
    yield from (
        "",
        f"So a night of {RUNS} runs a cell is held beside two nights or more. Where there is one older night, both",
        "need seven runs. Times need five runs on each side. A line that every cell logs needs two.",
        "",
    )


def _planted(unchanged: Sequence[Night], planted: Sequence[Night]) -> Iterator[str]:
    yield from ("## Planted regressions", "")
    if not planted:
        yield from ("None is kept yet.", "")
        return
    yield from (
        "The older side of each is every unchanged night. *Told from*: runs of each cell from which on the comparison",
        "says it, with as many on each side.",
        "",
        "| night | runs | of them *unexpected* | the first line | as it should be | told from |",
        "|---|---:|---:|---|---|---:|",
    )
    rights = 0
    for night in planted:
        one = get(night.planted)
        found = held(unchanged, night)
        well = right(found, one)
        rights += well
        told = least_runs(unchanged, night, one)
        bad = sum(run.verdict == UNEXPECTED for run in night.runs)
        yield (
            f"| {night.name} | {len(night.runs)} | {bad} | {markdown(sentence(found))} | {_told(found, well=well)} "
            f"| {told or 'not'} |"
        )
    yield from ("", f"As it should be: {rights} of {plural(len(planted), 'night')}.", "")
    for night in planted:
        found = held(unchanged, night)
        if not right(found, get(night.planted)):
            yield f"- {night.name}: {markdown(_otherwise(found))}"
    yield ""
    yield from _shown(planted)


def _shown(planted: Sequence[Night]) -> Iterator[str]:
    """What came of the runs of planted builds, cell by cell: also of those that are too few to be compared."""
    if not planted:
        return
    yield from (
        "The runs of these builds were judged by what is documented of Kafka:",
        "",
        "| night | cell | runs | *unexpected* | the first such run |",
        "|---|---|---:|---:|---|",
    )
    for night in planted:
        for (scenario, case, _), runs in sorted(by_cell(night.runs).items()):
            bad = [run for run in runs if run.verdict == UNEXPECTED]
            text = markdown(bad[0].text) if bad else ""
            yield f"| {night.name} | {full_name(scenario, case)} | {len(runs)} | {len(bad)} | {text} |"
    yield ""


def _not_whole(nights: Sequence[Night]) -> str:
    """Which nights have fewer runs than the plan; "" if none has."""
    whole = len(PLAN) * RUNS
    short = [f"{night.name} ({len(night.runs)} of {whole} runs)" for night in nights if len(night.runs) < whole]
    return f"Not whole yet: {', '.join(short)}." if short else ""


def _told(found: Comparison, *, well: bool) -> str:
    return "yes" if well else "too few runs" if found.too_little else "no"


def _otherwise(found: Comparison) -> str:
    """What a comparison tells, or why it tells nothing."""
    if found.regressions:
        return "; ".join(in_words(change) for change in found.regressions)
    cells = plural(len(found.pairs), "cell")
    few = f"{len(found.too_few)} of {cells}"
    return f"the comparison reports nothing; with fewer than {LEAST_RUNS} runs that tell: {few}"


def _unchanged(unchanged: Sequence[Night]) -> Iterator[str]:
    yield from ("## Unchanged nights", "")
    if len(unchanged) < 2:
        yield from (f"{plural(len(unchanged), 'night')} is kept, and none to hold it beside.", "")
        return
    yield from (
        "Each is held beside each other one, as the newer and as the older side.",
        "",
        "| older | newer | runs | the first line | alarm |",
        "|---|---|---:|---|---|",
    )
    alarms = pairs = enough = 0
    for old, new in permutations(unchanged, 2):
        found = held([old], new)
        pairs += 1
        alarms += bool(found.regressions)
        enough += not found.too_little
        runs = f"{len(old.runs)} and {len(new.runs)}"
        alarm = "yes" if found.regressions else "no"
        yield f"| {old.name} | {new.name} | {runs} | {markdown(sentence(found))} | {alarm} |"
    yield from ("", f"{plural(alarms, 'alarm')} in {plural(pairs, 'comparison')}; enough runs to tell: {enough}.", "")


def _machine(nights: Sequence[Night]) -> Iterator[str]:
    runs = list(chain.from_iterable(night.runs for night in nights))
    if not runs:
        return
    busy = sum(run.setting[1] == "busy" for run in runs)
    blind = sum(run.blind for run in runs)
    yield from (
        "## The machine",
        "",
        f"{', '.join(sorted({run.setting[0] for run in runs}))}; {min(run.at for run in runs)[:16]} to "
        f"{max(run.at for run in runs)[:16]} (UTC). The machine was busy",
        f"in {busy} of {plural(len(runs), 'run')}, and {blind} ended as *unknown* or *error*.",
    )
