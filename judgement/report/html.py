"""The HTML reports: one self-contained file per run and per suite, deterministic, without script or network.

A report says the verdict first, in a sentence. Then it shows the run (the picture) and tells what became of each lost
or diverged record (the stories). Only then come lists: faults with their proof, findings with evidence, what the
cluster stated, times, settings, and the command to run it again. The same files always give the same bytes: nothing is
taken from the clock or the machine that renders. Links are relative, so that a run directory or a folder of them can be
moved or uploaded as it is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import Final

from jinja2 import ChainableUndefined, Environment, FileSystemLoader, pass_context, select_autoescape
from markupsafe import Markup
from msgspec import to_builtins

from evidence.basis import in_words
from evidence.run_state import acks_text
from evidence.rundir import RunDir, write_atomically
from evidence.text import plural, visible
from judgement import rates
from judgement.outcome import BAD, GOOD, UNCERTAIN
from judgement.report import (
    availability,
    cells,
    headline,
    offsets_svg,
    record_ways,
    steps,
    story,
    timeline_svg,
    timings,
)
from judgement.report.facts import JudgedRun, Loaded
from judgement.verdict import SEVERITY

TEMPLATES: Final = Path(__file__).parent / "templates"
MOST_ABOVE: Final = 4
"""So many folders above a run the site is looked for: runs/suite/RUN is two below a checkout."""
CLOSE_UP_SHARE: Final = 0.3
"""A close-up is drawn if the decisive time is less than this share of the whole."""


@cache
def environment() -> Environment:
    """The templates' environment, made once: a suite of hundreds of runs compiles each template once."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(default=True),
        undefined=ChainableUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "of_basis": in_words,
        "rated": lambda names, run: rates.on_record(run.scenario, run.case, run.version, names),
        "at": pass_context(lambda context, at_ns: clock(context["facts"])(at_ns)),
        "proof": steps.proof_text,
        "state": pass_context(lambda context, step, told: _state(context["facts"], step, told)),
        "pairs": lambda value: (
            ", ".join(f"{k} {_plain(v)}" for k, v in value.items()) if isinstance(value, Mapping) else value
        ),
        "for_people": lambda rows: [row.for_people() for row in rows],
        "columns": lambda rows: list(dict.fromkeys(name for row in rows for name in row)),
        "evidence": pass_context(lambda context, value, name: evidence_text(value, name, clock(context["facts"]))),
    }
    return made


def _shown(value: object) -> object:
    """The value of a template's expression without control characters; markup of ours stays as it is."""
    return visible(value, keep="\n\t") if isinstance(value, str) and not isinstance(value, Markup) else value


def _state(facts: JudgedRun, step: steps.StoryStep, told: story.Story) -> str:
    """What the cluster stated of the story's partition at the time of a step."""
    return "" if step.at_ns is None else steps.state_text(facts, (told.topic, told.partition), step.at_ns)


def _plain(value: object) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) and not isinstance(value, bool) else str(value)


def evidence_text(value: object, name: str, at: Callable[[int | None], str]) -> str:
    """A value of an evidence row for people: times as seconds of the run, acks as it is written, nested values flat."""
    if value is None:
        return "–"
    if name.endswith("_ns") and isinstance(value, int):
        return at(value)
    if name == "acks":
        return acks_text(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {evidence_text(part, str(key), at)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(evidence_text(part, "", at) for part in value)
    return str(value)


def utc(wall_ns: int | None) -> str:
    """A wall time for people, to the second.

    >>> utc(1_760_000_000_000_000_000)
    '2025-10-09 08:53:20 UTC'
    """
    return "" if wall_ns is None else datetime.fromtimestamp(wall_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(facts: JudgedRun) -> Callable[[int | None], str]:
    """Monotonic nanoseconds as seconds of the run, such as "12.345 s"; "" for None."""
    return lambda at_ns: "" if at_ns is None else f"{facts.at(at_ns):.3f} s"


def _about(facts: JudgedRun) -> list[tuple[str, str]]:
    run = facts.run
    images = sorted(set(run.images.values()))
    pairs = [
        ("run", run.run),
        ("Kafka", f"{run.kafka} ({run.mode})"),
        ("build", "; ".join(one.in_words for one in run.own_builds)),
        ("logs by", "; ".join(one.logging for one in run.own_builds)),
        ("from", "; ".join(one.origin for one in run.own_builds)),
        ("case", " ".join(f"{key}={value}" for key, value in to_builtins(run.case_changes).items())),
        ("seed", run.seed),
        ("roles", " ".join(f"{role}→{broker}" for role, broker in run.layout.items())),
        ("state", run.state),
        ("failure", run.failure),
        ("overridden", ", ".join(f"{k}={v}" for k, v in sorted(run.overridden.items()))),
        ("started", utc(run.started_wall_ns)),
        ("ended", utc(run.ended_wall_ns)),
        ("commit", run.commit),
        ("images", ", ".join(images)),
        *sorted(to_builtins(run.host).items()),
    ]
    return [(key, str(value)) for key, value in pairs if value not in (None, "")]


FILES: Final = (
    ("run.json", "facts of the run"),
    ("timeline.jsonl", "every event"),
    ("findings/findings.json", "evidence"),
    ("verdict.json", "for machines"),
    ("junit.xml", ""),
    ("compose.yml", "the cluster as it was"),
    ("config", "broker properties"),
    ("history", "recorded operations"),
    ("replicas", "copies of segment and checkpoint files"),
)


def _files(run_dir: RunDir) -> list[tuple[str, str]]:
    # The reports themselves are named whether or not they have been written yet, or a second rendering would differ.
    always = ("verdict.json", "junit.xml")
    listed = [(name, note) for name, note in FILES if name in always or (run_dir.path / name).exists()]
    logs = sorted(path.name for path in run_dir.logs.iterdir()) if run_dir.logs.is_dir() else []
    return listed + [(f"logs/{name}", "") for name in logs]


def decisive_window(facts: JudgedRun, stories: Sequence[story.Story]) -> tuple[float, float] | None:
    """From the first lost or diverged record's send to the last truncation or what took its place, if that is short."""
    kinds = ("send", "ack", "fault", "election", "truncate", "kept", "replaced")
    times = [
        facts.at(step.at_ns)
        for told in stories[:1]
        for step in told.steps
        if step.at_ns is not None and step.kind in kinds
    ]
    if not times:
        return None
    begin, end = timeline_svg.window_of(facts)
    first, last = min(times), max(times)
    if last - first > CLOSE_UP_SHARE * (end - begin):
        return None
    margin = max(0.15, 0.06 * (last - first))
    return max(begin, first - margin), min(end, last + 2 * margin)


def render_run(facts: JudgedRun) -> str:
    """The report of one run, from its facts and, for the stories, from the files of its directory."""
    found = story.run_stories(facts)
    told, window = found.stories, decisive_window(facts, found.stories)
    if not told and facts.faults:
        told = [story.partition_story(facts, where) for where in timeline_svg.chosen_partitions(facts)]
    drawable = bool(facts.processes or facts.partitions)
    return (
        environment()
        .get_template("run.html.j2")
        .render(
            style=style(),
            facts=facts,
            outcome=headline.outcome(facts),
            headline=headline.headline(facts),
            figure=timeline_svg.render(facts) if drawable else "",
            closeup=timeline_svg.render(facts, window_s=window, prefix="kc2") if drawable and window else "",
            offsets=offsets_svg.render(facts) if drawable else "",
            ways=record_ways.tables(facts),
            stories=told,
            more_stories=found.more,
            not_heard=found.missing,
            availability=availability.picture(facts),
            clients=[availability.HEADINGS, *availability.table(facts.verdict.availability)],
            phases=list(facts.run.phases.items()),
            longest_phase=max(facts.run.phases.values(), default=0.0) or 1.0,
            about=_about(facts),
            files=_files(facts.run_dir),
            page=page_of(facts),
        )
    )


def page_of(facts: JudgedRun) -> str:
    """The scenario's page on the site, as a link from the report; "" where no site was built beside the runs."""
    place = Path("site", "scenarios", f"{facts.run.scenario}.html")
    here = facts.run_dir.path.resolve()
    for above in list(here.parents)[:MOST_ABOVE]:
        if (above / place).is_file():
            return f"{'../' * (len(here.parts) - len(above.parts))}{place.as_posix()}"
    return ""


def style() -> str:
    """The style sheet of every page."""
    return Markup((TEMPLATES / "style.css").read_text())


def write_run(facts: JudgedRun) -> Path:
    """Write report.html of a run and return its path."""
    write_atomically(facts.run_dir.report, render_run(facts))
    return facts.run_dir.report


def write_picture(facts: JudgedRun, path: Path) -> Path:
    """Write the run's picture as an SVG file of its own."""
    write_atomically(path, timeline_svg.render(facts, standalone=True))
    return path


def suite_headline(facts: Sequence[JudgedRun]) -> str:
    """What became of the records in a suite, and in how many runs that is what is documented, in one sentence."""
    good = sum(1 for run in facts if run.verdict.good)
    if not facts:
        return "There is no run to report."
    outcomes = [headline.outcome(run) for run in facts]
    lost = sum(1 for one in outcomes if one.lost)
    tones = Counter(one.tone for one in outcomes)
    # Records that are there twice, or in another order, are not lost; that they are there is known.
    permitted = sum(1 for one in outcomes if one.tone == UNCERTAIN and one.kept)
    said = (
        (lost, "lost acknowledged records"),
        (tones[BAD] - lost, "showed another anomaly"),
        (tones[GOOD], "kept them all"),
        (permitted, "kept them all beside what Kafka permits"),
        (tones[UNCERTAIN] - permitted, "proved nothing"),
    )
    told = ", ".join(f"{number} {what}" for number, what in said if number)
    return f"Of {plural(len(facts), 'run')} {told}; {good} of {len(facts)} ended as documented."


def _times(facts: Sequence[JudgedRun]) -> list[tuple[str, float, float]]:
    phases: dict[str, list[float]] = {}
    for run in facts:
        for name, seconds in run.run.phases.items():
            phases.setdefault(name, []).append(seconds)
        if run.verdict.seconds:
            phases.setdefault("to the verdict", []).append(run.verdict.seconds)
    # Insertion order is that of the phases; the total goes last.
    total = phases.pop("to the verdict", None)
    ordered = [*phases.items(), *([("to the verdict", total)] if total else [])]
    return [(name, median(values), max(values)) for name, values in ordered]


def render_suite(facts: Sequence[JudgedRun], folder: Path, *, unreadable: Iterable[str] = ()) -> str:
    """The report of a suite, with links relative to `folder`."""

    def link(run: JudgedRun) -> str:
        return Path(os.path.relpath(run.run_dir.report, folder)).as_posix()

    rows = []
    for cell in cells.failures_first(cells.group(facts)):
        rows.append(
            {
                "scenario": cell.scenario,
                "version": cell.label,
                "outcome": cell.outcome[0],
                "tone": cell.outcome[1],
                "documented": cell.documented,
                "seen": cell.seen,
                "verdict": cell.verdict,
                "good": cell.good,
                "count": len(cell.runs),
                "time": "" if cell.seconds is None else f"{cell.seconds:.1f} s",
                "headline": headline.headline(cell.worst_run),
                "runs": [{"good": r.verdict.good, "link": link(r), "label": f"seed {r.run.seed}"} for r in cell.runs],
            }
        )
    versions, grid = cells.grid(cells.group(facts))
    shown = next((run for run in facts if run.verdict.good and run.found("lost-write")), None)
    bad = [run for run in facts if not run.verdict.good and run.partitions]
    shown = bad[0] if bad else shown
    counts = Counter(run.verdict.verdict for run in facts)
    unreadable = list(unreadable)
    return (
        environment()
        .get_template("suite.html.j2")
        .render(
            style=style(),
            worst=cells.worst_of(facts, unreadable),
            headline=suite_headline(facts),
            counts=sorted(counts.items(), key=lambda item: -SEVERITY[item[0]]),
            unreadable=unreadable,
            versions=versions,
            grid=grid,
            link=link,
            cells=rows,
            figure=timeline_svg.render(shown) if shown else "",
            figure_name=shown.name if shown else "",
            figure_link=link(shown) if shown else "",
            times=_times(facts),
            timings=[("claim", "scenario", *timings.HEADINGS[2:]), *cells.spreads(cells.group(facts))],
        )
    )


def write_suite(runs: Loaded, path: Path) -> Path:
    """Write the report of a suite to `path` and return it; a directory that cannot be read is listed as such."""
    write_atomically(path, render_suite(runs.facts, path.parent, unreadable=runs.unreadable))
    return path
