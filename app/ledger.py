"""results/ledger/: every run that was ever started, in a file for each scenario, to which lines are only added.

    merge     take lines over from folders of run directories
    exclude   take a run out of every count, by a line that says why
    check     hold the files to what was ever committed of them

Lines stand in one order (evidence.ledger.in_order), each once, so the same lines give the same files. Two branches that
both added runs are merged line by line (.gitattributes).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

import results
from analysis import ledger as derivation
from evidence import ledger
from evidence.errors import UsageError, unknown_name
from evidence.ledger import AnyLine, Excluded, RestoredCell, RestoredRun, RunEnded, RunStarted
from evidence.rundir import RunDir, write_atomically
from judgement.ledger import judged
from judgement.report.facts import load as load_run

FOLDER: Final = results.ROOT / results.LEDGER

Known = dict[str, AnyLine]
"""Lines as they stand in a file, each with what it says."""


@dataclass(slots=True)
class LedgerFolder:
    """The files of a folder."""

    folder: Path
    files: dict[str, Known] = field(default_factory=dict)
    """The lines of each scenario."""
    scenario_of: dict[str, str] = field(default_factory=dict)
    """Of each run that was entered."""
    once: dict[tuple[str, type[AnyLine]], str] = field(default_factory=dict)
    """The line that says how a run started, ended or was restored: there is one of each at most."""

    @property
    def lines(self) -> Iterator[AnyLine]:
        """Every line, scenario by scenario."""
        for name in sorted(self.files):
            for text in ledger.in_order(self.files[name].items()):
                yield self.files[name][text]

    def add(self, text: str, line: AnyLine, source: str) -> bool:
        """Add a line that was read from `source`; whether it is new.

        Raises UsageError for one that contradicts another, or that is about a run that nobody entered.
        """
        if isinstance(line, RunStarted | RestoredRun | RestoredCell):
            scenario = line.scenario
            if line.run:
                self.scenario_of.setdefault(line.run, scenario)
        elif line.run in self.scenario_of:
            scenario = self.scenario_of[line.run]
        else:
            raise UsageError(f"{source}: tells of {line.run or 'no run'}, and no line says that this run was started")
        own = self.files.setdefault(scenario, {})
        if text in own:
            return False
        if isinstance(line, RunStarted | RunEnded | RestoredRun):
            before = self.once.setdefault((line.run, type(line)), text)
            if before != text:
                raise UsageError(f"{source}: says of {line.run} otherwise than the ledger: a line is never changed")
        own[text] = line
        return True

    def write(self) -> list[Path]:
        """Write the files; returns those that were not as they are now."""
        changed = []
        for scenario, own in self.files.items():
            path = self.folder / f"{scenario}{ledger.SUFFIX}"
            text = "".join(f"{line}\n" for line in ledger.in_order(own.items()))
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                write_atomically(path, text)
                changed.append(path)
        return changed


def load(folder: Path = FOLDER) -> LedgerFolder:
    """The ledger in a folder; empty if there is none. Raises UsageError for a file of another form."""
    store = LedgerFolder(folder)
    for path in ledger.files_of(folder):
        for text, line in of_runs_first(ledger.read(path)):
            store.add(text, line, str(path))
    return store


def of_runs_first(lines: Iterable[tuple[str, AnyLine]]) -> list[tuple[str, AnyLine]]:
    """Lines that enter a run before those that tell more of one."""
    return sorted(lines, key=lambda each: each[1].ORDER)


def merged(store: LedgerFolder, roots: Sequence[Path]) -> int:
    """Take over the lines of folders of run directories; how many were new.

    Raises UsageError, and then nothing is to be written.
    """
    new = 0
    for root in roots:
        path = root if root.is_file() else root / ledger.FILE
        if not path.exists():
            raise UsageError(
                f"{root}: has no {ledger.FILE}; name folders in which `kafka-chaos run` put run directories"
            )
        new += sum(store.add(text, line, str(path)) for text, line in of_runs_first(ledger.read(path)))
    return new


def exclude(store: LedgerFolder, run: str, why: str) -> None:
    """Take a run out of every count. Raises UsageError for a run that is in no ledger, and without a reason."""
    if run not in store.scenario_of:
        raise unknown_name("run", run, store.scenario_of, hint="in the ledger; `kafka-chaos ledger merge` enters runs")
    if not why.strip():
        raise UsageError(f"why does {run} not count? Say so with --why")
    line = Excluded(schema=ledger.SCHEMA, run=run, at=ledger.now(), why=why.strip())
    store.add(ledger.encode(line), line, "--why")


def save(store: LedgerFolder, root: Path = results.ROOT) -> list[Path]:
    """Write the ledger, and the rows that are made of it; returns the files of the ledger that changed."""
    rows = derivation.rows(store.lines)
    changed = store.write()
    write_atomically(root / results.CELLS, derivation.text_of(rows))
    return changed


def shown_by(run_dirs: Iterable[RunDir]) -> dict[str, Any]:
    """What judged run directories showed, as `results.by_scenario` has it: of a page about these runs alone, whatever
    tree they are of. Raises UsageError for one that cannot be read.
    """
    lines: list[AnyLine] = []
    for run_dir in run_dirs:
        one = load_run(run_dir)
        entered = ledger.started(one.run, None)
        lines += [replace(entered, modified=False, commit=entered.commit or "no commit"), judged(one)]
    return results.of_rows(msgspec.to_builtins(row) for row in derivation.rows(lines))


# What was committed


def gone(folder: Path = FOLDER) -> list[str]:
    """Lines that were ever committed of a folder and are no longer there as they were, each once.

    Raises UsageError where there is no git history to hold the files to.
    """
    there = {text for path in folder.glob(f"*{ledger.SUFFIX}") for text in path.read_text(encoding="utf-8").split("\n")}
    return [text for text in dict.fromkeys(removed(folder)) if text not in there]


def removed(folder: Path) -> Iterator[str]:
    """Every line that some commit, or what is not committed yet, took away from a file of a folder."""
    for command in (["log", "-p", "-m", "--format="], ["diff", "HEAD"]):
        options = ["--no-color", "--no-ext-diff", "--no-renames", "--unified=0", "--", "."]
        try:
            said = subprocess.run(
                ["git", *command, *options],
                cwd=folder,
                capture_output=True,
                check=True,
                env=os.environ | {"LC_ALL": "C"},
            )
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", b"") or str(error).encode()
            raise UsageError(
                f"{folder}: no git history to hold it to ({' '.join(why.decode(errors='replace').split())})"
            ) from None
        for line in said.stdout.decode(errors="surrogateescape").split("\n"):
            if line.startswith("-{"):
                yield line[1:]


def history(folder: Path = results.ROOT) -> frozenset[str] | None:
    """Every commit that git has; None where there is no history."""
    command = ["git", "rev-list", "--all"]
    try:
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return frozenset(said.stdout.split())


def out_of_order(folder: Path = FOLDER) -> list[Path]:
    """The files whose lines stand in another order than they should, or twice."""
    found = []
    for path in ledger.files_of(folder):
        texts = [text for text, _ in ledger.read(path)]
        if texts != ledger.in_order(ledger.read(path)):
            found.append(path)
    return found


def counted(lines: Iterable[AnyLine]) -> Mapping[str, int]:
    """How many lines there are of each kind."""
    kinds: dict[str, int] = {}
    for line in lines:
        kind = str(line.__struct_config__.tag)
        kinds[kind] = kinds.get(kind, 0) + 1
    return dict(sorted(kinds.items()))
