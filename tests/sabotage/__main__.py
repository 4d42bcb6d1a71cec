"""`python -m tests.sabotage`: every case on fresh runs, and the table of what came of it.

Status 1 if a case passed that must not, if a fresh run that nothing was done to did not pass, or if the harness left
something behind. Wants root, for a disk of its own that is filled. Started again after it was interrupted, it goes on:
what came of each case that was well is kept until all were well.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Final

from analysis.check import check_run
from evidence import manifest
from evidence.errors import HarnessError
from evidence.findings import read_findings, write_findings
from evidence.run import DEFAULT_CASE
from evidence.rundir import RunDir, find_runs, write_atomically, write_json
from judgement.report.facts import judge_run
from tests.sabotage import files, interrupted, live

FRESH: Final[tuple[tuple[str, str], ...]] = (
    ("double-failover", "0.10.2.2"),
    ("double-failover", "4.3.1"),
    ("baseline", "4.3.1"),
    ("replica-divergence", "2.8.2-pinned"),
    ("follower-reboot", "0.10.2.2"),
    ("high-watermark-steps", "2.8.2"),
    ("audit-leader-crash-behind", "4.3.1"),
    (files.LATE_END, "4.3.1"),
    (files.RETURN, "4.3.1"),
    (files.STUCK, "4.3.1"),
    (files.GROUPS, "0.11.0.0"),
    (files.SILENT, "1.1.1"),
    (files.LONG_NAME, "1.1.1"),
    (files.FORGOTTEN, "2.2.2"),
    (files.MISDELIVERED, "3.5.1-kraft"),
    (files.MIGRATED, "3.9.2-zk"),
    (files.SHARED, "4.3.1"),
    (files.OVERTAKEN, "4.3.1"),
    (files.COUNTS, "4.3.1"),
)
"""A scenario, with its case where it has several, and a version."""
AS_DOCUMENTED: Final = "as-documented"
ROWS: Final = "rows"
"""The directory with what came of each case so far."""
ATTEMPTS: Final = 2
"""At doing something to a run while it goes on."""


@dataclass(slots=True)
class Row:
    """What came of one case."""

    name: str
    before: str
    now: Counter[str] = field(default_factory=Counter)
    forged: Counter[str] = field(default_factory=Counter)
    reason: str = ""
    wrong: list[str] = field(default_factory=list)
    """Where it came to what it must not."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def kept(root: Path, section: str, number: int, name: str, carry_out: Callable[[], Row]) -> Row:
    """What came of a case: as a round that was interrupted has kept it, or carried out now, and kept if it was well."""
    path = root / ROWS / f"{section}-{number}-{''.join(c if c.isalnum() else '-' for c in name)}.json"
    if path.exists():
        found = json.loads(path.read_text())
        return Row(**found | {"now": Counter(found["now"]), "forged": Counter(found["forged"])})
    row = carry_out()
    if not row.wrong:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {one.name: getattr(row, one.name) for one in fields(row)})
    return row


def fresh(root: Path) -> dict[str, RunDir]:
    """One run of each of FRESH under `root`, by "scenario version"; those that are there already are taken."""
    for scenario, version in FRESH:
        if f"{scenario} {version}" not in _known(root):
            say(f"running {scenario} {version}")
            name, _, case = scenario.removesuffix(")").partition(" (")
            command = [sys.executable, "-m", "app", "run", name, "--version", version]
            case = DEFAULT_CASE if scenario in files.EXHIBITS else case
            command += ["--case", case] if case else []
            subprocess.run([*command, "--runs-dir", str(root), "--no-check", "--json"], check=False, stdout=-3)
    known = _known(root)
    return {f"{scenario} {version}": known[f"{scenario} {version}"] for scenario, version in FRESH}


def _known(root: Path) -> dict[str, RunDir]:
    if not any(root.glob("*/run.json")):
        return {}
    runs = {f"{run.read_run().full_name} {run.read_run().version}": run for run in find_runs(root)}
    return {name: run for name, run in runs.items() if run.read_run().state == "complete"}


def verdict_of(run_dir: RunDir) -> tuple[str, str]:
    """The verdict on a run, and its first reason."""
    write_findings(run_dir, check_run(run_dir))
    judged = judge_run(run_dir).verdict
    return judged.verdict, judged.reasons[0] if judged.reasons else ""


def anomalies_of(run_dir: RunDir) -> set[str]:
    """What was found in a run, by name."""
    found, unreadable = read_findings(run_dir)
    if found is None:
        raise ValueError(unreadable)
    return {one.anomaly for one in found.findings}


def forge(run_dir: RunDir) -> None:
    """Make the manifest anew, and a timeline that ends as its length wants."""
    run = json.loads(run_dir.run_json.read_text())["run"]
    lines = run_dir.timeline.read_text().splitlines(keepends=True)
    ends = [line for line in lines if '"kind":"end"' in line.replace(" ", "")]
    kept = [line for line in lines if line not in ends]
    last = json.loads((ends or kept)[-1])
    end = {key: last[key] for key in ("monotonic_ns", "wall_ns")}
    events = sum('"kind"' in line for line in kept)  # the first line, which says the schema, is none
    end |= {"kind": "end", "source": "runner", "run": run, "lines": events}
    run_dir.timeline.write_text("".join([*kept, json.dumps(end) + "\n"]))
    manifest.write(run_dir, run)


def of_files(runs: Mapping[str, RunDir], root: Path, number: int) -> Row:
    """The case on files of this number, on every run."""
    return kept(root, "file", number, files.CASES[number].name, partial(_of_files, runs, root, number))


def _of_files(runs: Mapping[str, RunDir], scratch: Path, number: int) -> Row:
    case = files.CASES[number]
    row = Row(case.name, case.before)
    for name, run in runs.items():
        for forged in (False, True) if case.concerns(run.read_run()) else ():
            copy = RunDir(scratch / f"copy-{number}")
            shutil.rmtree(copy.path, ignore_errors=True)
            shutil.copytree(run.path, copy.path)
            if not case.damage(copy, runs):
                continue
            if forged:
                forge(copy)
            verdict, reason = verdict_of(copy)
            (row.forged if forged else row.now)[verdict] += 1
            if verdict not in (case.forged if forged else case.allowed):
                row.wrong.append(f"{name}{' (manifest made anew)' if forged else ''}: {verdict}: {reason}")
            if forged and case.finds not in ("", *anomalies_of(copy)):
                row.wrong.append(f"{name}: {case.finds} is not found")
            if reason and (not row.reason or (forged and not case.bound_only)):
                row.reason = reason
    shutil.rmtree(scratch / f"copy-{number}", ignore_errors=True)
    say(f"{case.name}: {told(row.now)} | {told(row.forged)}" + "".join(f"\n    !! {line}" for line in row.wrong))
    return row


def of_runs(root: Path, jobs: int, only: Sequence[str] = ()) -> list[Row]:
    def one(case: live.Live) -> Row:
        row = Row(case.name, case.before)
        for _ in range(ATTEMPTS):
            try:
                verdict, row.reason = verdict_of(live.run(case, root, say))
                break
            except HarnessError as error:
                verdict, row.reason = "not carried out", str(error)
        row.now[verdict] += 1
        if verdict in (AS_DOCUMENTED, "not carried out"):
            row.wrong.append(f"{verdict}: {row.reason}")
        say(f"{case.name}: {verdict}: {row.reason}")
        return row

    def of(number: int) -> Row:
        case = live.CASES[number]
        return kept(root.parent, "live", number, case.name, partial(one, case))

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(of, chosen(live.CASES, only)))


def chosen(cases: Sequence[live.Live | interrupted.Case | files.Case], only: Sequence[str]) -> list[int]:
    """The numbers of the cases whose name has one of these texts, or of all cases."""
    return [number for number, case in enumerate(cases) if not only or any(text in case.name for text in only)]


def of_harness(root: Path, only: Sequence[str] = ()) -> list[Row]:
    """One after the other: they are about moments, which others would shift."""

    def one(case: interrupted.Case) -> Row:
        row = Row(case.name, case.before)
        outcome = interrupted.carry_out(case, root)
        row.now[str(outcome.status)] += 1
        row.reason = outcome.last_line.replace(f"{root}/", "")
        row.wrong = outcome.wrong
        say(f"{case.name}: {outcome.status}: {row.reason[:120]}" + "".join(f"\n    !! {line}" for line in row.wrong))
        return row

    cases = interrupted.CASES
    numbers = chosen(cases, only)
    return [kept(root.parent, "harness", number, cases[number].name, partial(one, cases[number])) for number in numbers]


def told(verdicts: Counter[str]) -> str:
    """How often each verdict was given.

    >>> told(Counter({"unknown": 4, "unexpected": 1}))
    'unknown × 4, unexpected'
    """
    counted = sorted(verdicts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{verdict} × {count}" if count > 1 else verdict for verdict, count in counted) or "n/a"


def code(text: str) -> str:
    """What a program has said, as Markdown shows it."""
    return f"`{text}`" if text else ""


def page(control: Mapping[str, str], of_file: Iterable[Row], of_run: Iterable[Row], of_itself: Iterable[Row]) -> str:
    """docs/sabotage.md."""

    def cell(text: str) -> str:
        return " ".join(text.replace("|", "\\|").replace("`", "'").split())[:200]

    out = [
        "# Sabotage",
        "",
        "We tried these ways to make a run pass wrongly, each by itself, on fresh runs (`make sabotage`). *Now* is the",
        "verdict of today. A case that comes to `as-documented` and must not fails the command. *Before* is the",
        "verdict of an early version of the harness.",
        "",
        "Nothing was done to: " + ", ".join(f"{name} ({verdict})" for name, verdict in control.items()) + ".",
        "",
        "## During the run",
        "",
        "| case | before | now | why |",
        "|---|---|---|---|",
        *(f"| {cell(r.name)} | {cell(r.before)} | {told(r.now)} | {cell(r.reason)} |" for r in of_run),
        "",
        "## The harness itself",
        "",
        "Actions against the harness, or the machine under it. Nothing of the run may be left then: no container,",
        "no network, no process, no live data (what could not be removed, the next run removes). Its directory is",
        "readable, and its exit status and last line say what happened: 130 interrupted, 255 failed, 2 unknown,",
        "-9 killed.",
        "",
        "| case | before | exit status | last line |",
        "|---|---|---|---|",
        *(f"| {cell(r.name)} | {cell(r.before)} | {told(r.now)} | {code(cell(r.reason))} |" for r in of_itself),
        "",
        "## On the files of a finished run",
        "",
        "*Manifest made anew* is the same damage by somebody who thought of manifest.json and of the timeline's last",
        "line: what is noticed then, the evidence tells by itself. Where that is as-documented, only the manifest",
        "tells (of a sealed file whose bits have flipped: the stream is whole, and is what was read).",
        "",
        "| case | before | now | manifest made anew | why |",
        "|---|---|---|---|---|",
        *(
            f"| {cell(r.name)} | {cell(r.before)} | {told(r.now)} | {told(r.forged)} | {cell(r.reason)} |"
            for r in of_file
        ),
        "",
    ]
    return "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage", description=__doc__)
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/sabotage"), help="where the runs go")
    parser.add_argument("--out", type=Path, default=Path("docs/sabotage.md"), help="the table")
    parser.add_argument("--jobs", type=int, default=2, help="how many runs at once")
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="TEXT", help="only cases whose name has one of these, and no table"
    )
    parser.add_argument("--no-live", action="store_true", help="only the cases on files")
    options = parser.parse_args()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup runs would heed it, and their cases not come to pass
    begun = time.monotonic()
    root = options.runs_dir.resolve()
    root.mkdir(parents=True, exist_ok=True)
    runs = fresh(root / "fresh")
    control = {name: verdict_of(run)[0] for name, run in runs.items()}
    say(f"nothing done: {control}")
    shutil.rmtree(root / "live", ignore_errors=True)
    with ProcessPoolExecutor(options.jobs) as pool:  # beside the runs, which wait for their clusters
        judged = pool.map(partial(of_files, runs, root), chosen(files.CASES, options.only))
        of_run = [] if options.no_live else of_runs(root / "live", options.jobs, options.only)
        of_itself = [] if options.no_live else of_harness(root / "interrupted", options.only)
        of_file = list(judged)
    if not options.only:
        write_atomically(options.out, page(control, of_file, of_run, of_itself))
    wrong = [f"{row.name}: {line}" for row in (*of_run, *of_itself, *of_file) for line in row.wrong]
    wrong += [f"nothing done to {name}: {verdict}" for name, verdict in control.items() if verdict != AS_DOCUMENTED]
    counted = f"{len(of_run)} cases on runs, {len(of_itself)} on the harness, {len(of_file)} on files"
    say(f"{counted} in {time.monotonic() - begun:.0f} s: {options.out}")
    for line in wrong:
        say(f"wrong: {line}")
    if not wrong and not options.only:
        shutil.rmtree(root / ROWS, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
