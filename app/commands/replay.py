"""`kafka-chaos replay`: the same command again, on the same commit, of a run that the ledger has."""

from __future__ import annotations

import argparse
import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path

import results
from app import ledger as store
from app.output import say
from evidence import ledger
from evidence.errors import UsageError, unknown_name
from evidence.ledger import AnyLine, RestoredRun, RunStarted
from evidence.run import DEFAULT_CASE
from harness import runner

PROGRAM = "kafka-chaos run "


def run(options: argparse.Namespace) -> int:
    """Run it again; the exit status is that of the run."""
    from app.cli import main

    line = entered(options.run, options.runs_dir, getattr(options, "results", results.ROOT))
    command = command_of(line)
    if not command.startswith(PROGRAM):
        raise UsageError(f"{options.run} was run by another program: {command}")
    if not options.here and (why := other_tree(line, runner.git_commit())):
        raise UsageError(f"{options.run} {why}; --here runs `{command}` on what is checked out")
    if isinstance(line, RunStarted) and (wrong := others(line.files)):
        raise UsageError(
            f"{options.run} was run with files of its user's own, which the ledger has by name and digest, and "
            f"{', '.join(wrong)} is not here as it was: `{command}` in the folder that has them"
        )
    say(f"$ {command} --runs-dir {options.runs_dir}")
    return main([*shlex.split(command)[1:], "--runs-dir", str(options.runs_dir)])


def entered(run: str, runs_dir: Path, root: Path) -> RunStarted | RestoredRun:
    """The line that entered a run, in a folder of runs or in results/. Raises UsageError for one that is in neither."""
    lines: list[AnyLine] = list(store.load(root / results.LEDGER).lines)
    if (path := runs_dir / ledger.FILE).exists():
        lines += [line for _, line in ledger.read(path)]
    known = {line.run: line for line in lines if isinstance(line, RunStarted | RestoredRun)}
    if run not in known:
        raise unknown_name("run", run, known, hint=f"in results/ledger and in {path}")
    return known[run]


def command_of(line: RunStarted | RestoredRun) -> str:
    """What runs it again."""
    if isinstance(line, RunStarted):
        return line.command
    case = f" --case {line.case}" if line.case != DEFAULT_CASE else ""
    seed = "" if line.seed is None else f" --seed {line.seed}"
    return f"{PROGRAM}{line.scenario}{case} --version {line.version}{seed}"


def others(files: Mapping[str, str]) -> list[str]:
    """Of the files that a command names, those that are not in this folder with the content that they had."""
    return [name for name, digest in files.items() if _digest(Path(name)) != digest]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def other_tree(line: RunStarted | RestoredRun, here: str | None) -> str:
    """Why what is checked out is not what the run was of; "" if it is."""
    if isinstance(line, RestoredRun):
        wanted, sure = line.commits, len(line.commits) == 1 and not line.commits[0].endswith(ledger.MODIFIED)
    else:
        wanted, sure = (line.commit,) if line.commit else (), not line.modified
    if not wanted:
        return "is of a commit that is not on record"
    if not sure:
        changed = "of a modified tree, which nobody has" if any(one.endswith(ledger.MODIFIED) for one in wanted) else ""
        changed = changed or (
            "of a modified tree, which nobody has" if isinstance(line, RunStarted) else "of one of these"
        )
        return f"was run by {', '.join(wanted)}: {changed}"
    if here is not None and not here.endswith(ledger.MODIFIED) and here.startswith(wanted[0]):
        return ""
    return f"is of commit {wanted[0]}, and {here or 'no checkout'} is here: `git checkout {wanted[0]}`"
