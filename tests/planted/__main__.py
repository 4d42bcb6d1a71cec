"""`python -m tests.planted`: nights with a regression planted, and what `kafka-chaos compare` says of them.

    list                       what can be planted
    build NAME DIRECTORY       an own build with it, for `--kafka`
    night NAME [--number 2]    a night of it, or of the release itself (`unchanged`); resumable
    all                        two nights of each and four unchanged ones, one after the other; resumable
    keep [RUNS_DIR]            the runs of finished nights into results/nights/, and the page
    page                       docs/planted.md, of results/nights/

A night is `kafka-chaos matrix` with the scenarios and cases of the plan. Night 2 has other seeds than night 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app import nights
from app.output import say, tell_failure
from evidence.errors import HarnessError, UsageError
from evidence.rundir import write_atomically
from tests.planted import PLAN, PLANTED, RELEASE, RUNS, UNCHANGED, build, get, kept, page

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "results" / "nights"
PAGE: Final = ROOT / "docs" / "planted.md"
RUNS_DIR: Final = Path("runs/planted")
NIGHTS: Final = 2
UNCHANGED_NIGHTS: Final = 4
BUILDS: Final = "builds"
"""Below the runs directory."""


def command(name: str, number: int, root: Path, jobs: int, runs: int) -> list[str]:
    """The command of a night."""
    scenarios, cases = (list(dict.fromkeys(part)) for part in zip(*PLAN, strict=True))
    found = [sys.executable, "-m", "app", "matrix", "--scenarios", *scenarios]
    for case in cases:
        found += ["--case", case]
    found += ["--versions", RELEASE] if name == UNCHANGED else ["--kafka", str(root / BUILDS / name)]
    found += ["--seed", str((number - 1) * runs + 1), "--repeat", str(runs), "--jobs", str(jobs)]
    return [*found, "--retain", "interesting", "--again", "0", "--runs-dir", str(root / f"{name}-{number}")]


def night(name: str, number: int, root: Path, jobs: int, runs: int) -> None:
    """Run a night, with its build made before if it is not there. Raises HarnessError if the harness failed."""
    if name != UNCHANGED and not (root / BUILDS / name).exists():
        build.make(get(name), root / BUILDS / name, say)
    # Verdicts of a planted night are bad: only a failure of the harness ends it otherwise.
    done = subprocess.run(command(name, number, root, jobs, runs), cwd=ROOT, check=False)
    if done.returncode not in (0, 1, 2):
        raise HarnessError(f"the night {name}-{number} ended with {done.returncode}")


def keep(root: Path) -> None:
    """Put the runs of all nights below a directory into results/nights/. Raises UsageError if there is none."""
    folders = sorted(path for path in root.glob("*") if path.is_dir() and kept.NAME.fullmatch(path.name))
    if not folders:
        raise UsageError(f"{root}: no night is here, such as {UNCHANGED}-1/")
    for folder in folders:
        kept.split(folder.name)
        path = RESULTS / f"{folder.name}.json"
        before = kept.from_json(path.read_text(encoding="utf-8"), str(path)) if path.exists() else None
        after = kept.merged(before, nights.side(folder).runs, folder.name)
        write_atomically(path, kept.as_json(after))
        say(f"{folder.name}: {len(after.runs)} runs")


def order(each: int, unchanged: int) -> list[tuple[str, int]]:
    """Nights by name and number: the unchanged ones between the others, so that all meet the machine as it is.

    >>> order(1, 2)[:2], order(1, 2)[-1]
    ([('unchanged', 1), ('truncates-to-high-watermark', 1)], ('unchanged', 2))
    """
    planted = [(one.name, number) for number in range(1, each + 1) for one in PLANTED]
    step = -(-len(planted) // max(1, unchanged - 1))
    found = []
    for number in range(1, unchanged + 1):
        found += [(UNCHANGED, number), *planted[(number - 1) * step : number * step]]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; bad input is one line and status 254, a failure 255."""
    whole = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__.splitlines()[0])
    commands = whole.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="what can be planted")
    built = commands.add_parser("build", help="an own build")
    built.add_argument("name")
    built.add_argument("directory", type=Path)
    one = commands.add_parser("night", help="a night")
    one.add_argument("name")
    one.add_argument("--number", type=int, default=1)
    every = commands.add_parser("all", help="two nights of each, and four unchanged ones")
    for sub in (one, every):
        sub.add_argument("--jobs", type=int, default=2)
        sub.add_argument("--runs", type=int, default=RUNS, help=f"of each cell (default {RUNS})")
        sub.add_argument("--runs-dir", type=Path, default=RUNS_DIR)
    keeping = commands.add_parser("keep", help="results/nights/, and the page")
    keeping.add_argument("runs_dir", nargs="?", type=Path, default=RUNS_DIR)
    commands.add_parser("page", help="docs/planted.md")
    options = whole.parse_args(arguments)
    try:
        match options.command:
            case "list":
                print("\n".join(f"{each.name}: {each.broken}" for each in PLANTED))
            case "build":
                print("\n".join(build.make(get(options.name), options.directory, say)))
            case "night":
                kept.split(f"{options.name}-{options.number}")
                night(options.name, options.number, options.runs_dir.resolve(), options.jobs, options.runs)
            case "all":
                for name, number in order(NIGHTS, UNCHANGED_NIGHTS):
                    night(name, number, options.runs_dir.resolve(), options.jobs, options.runs)
            case _:
                if options.command == "keep":
                    keep(options.runs_dir)
                write_atomically(PAGE, page.page(kept.read(RESULTS)))
    except (UsageError, HarnessError) as error:
        return tell_failure(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
