"""The table of what was reproduced on which version (docs/reproduced.md), made from run directories.

It says what ran and what came of it, no more: n of n as documented, what was seen, how long it took, when, on which
commit. Runs that did not end as documented are listed one by one below the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from evidence.rundir import write_atomically
from evidence.text import markdown as escaped
from judgement.report import cells
from judgement.report.facts import Loaded, RunFacts
from judgement.report.headline import headline


def _dates(runs: Sequence[RunFacts]) -> str:
    stamps = [run.run["started_wall_ns"] for run in runs if run.run.get("started_wall_ns")]
    days = sorted({datetime.fromtimestamp(stamp // 10**9, UTC).strftime("%Y-%m-%d") for stamp in stamps})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else ""


def _commits(runs: Sequence[RunFacts]) -> str:
    # "+" marks a tree with changes that were not committed, and is kept.
    commits = dict.fromkeys(str(run.run.get("commit") or "no commit") for run in runs)
    shown = [c[:8] + ("+" if c.endswith("+") else "") if c != "no commit" else c for c in commits]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def render(facts: Sequence[RunFacts]) -> str:
    """The page; the same runs give the same bytes."""
    grouped = cells.group(facts)
    good = sum(cell.good for cell in grouped)
    total = sum(len(cell.runs) for cell in grouped)
    hosts = sorted(
        {
            f"{h.get('cores')} cores, Linux {h.get('kernel')}, Docker {h.get('docker')}"
            for h in (r.run.get("host") or {} for r in facts)
        }
    )
    lines = [
        "# What was reproduced on which version",
        "",
        "Made from run directories by `kafka-chaos report --table`; do not edit. “n of m”: of m runs on real brokers,",
        "n ended as documented: every anomaly the sources state for that version was seen, no other was, and every",
        "fault was proved.",
        "",
        f"{good} of {total} runs ended as documented.",
        "",
        "| scenario | version | outcome | documented | seen | as documented | median time | run on | commit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in grouped:
        time = "" if cell.seconds is None else f"{cell.seconds:.1f} s"
        columns = (
            cell.scenario,
            cell.label,
            cell.outcome[0],
            cell.documented,
            cell.seen,
            f"{cell.good} of {len(cell.runs)}",
            time,
            _dates(cell.runs),
            _commits(cell.runs),
        )
        lines.append(f"| {' | '.join(escaped(column) for column in columns)} |")
    bad = [run for cell in grouped for run in cell.runs if not run.verdict.good]
    if bad:
        lines += ["", "## Runs that did not end as documented", ""]
        lines += [
            f"- {escaped(run.name)}, seed {run.run.get('seed')}: **{run.verdict.verdict}**. {escaped(headline(run))}"
            for run in bad
        ]
    if hosts:
        lines += ["", f"Machine: {escaped('; '.join(hosts))}."]
    return "\n".join(lines) + "\n"


def markdown(runs: Loaded) -> str:
    """The page for these run directories; one that cannot be read is left out and named."""
    return render(runs.facts) + "".join(f"\nNot readable: {escaped(line)}\n" for line in runs.unreadable)


def write(runs: Loaded, path: Path) -> Path:
    """Write the page to `path`."""
    write_atomically(path, markdown(runs))
    return path
