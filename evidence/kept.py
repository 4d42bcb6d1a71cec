"""What is kept of a judged run when room is short, and what was removed of it on purpose.

    all            everything
    interesting    of runs that did not end well everything; of the others no histories and no copies of replicas, which
                   are nine tenths of a run directory
    verdicts       of every run what was found: run.json, findings, verdict, reports, the manifest, not the logs either

What was removed is said in `removed.json`, before it is: a verdict is shown though the files it was given for are gone,
and is never given again without them (`refuse_removed`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Final

import msgspec

from evidence.errors import UsageError
from evidence.retention import Retain
from evidence.rundir import RunDir, read_json, write_json

HEAVY: Final = frozenset({"history", "replicas"})
ALL_BUT_VERDICT: Final = HEAVY | {"timeline.jsonl", "logs", "config", "compose.yml"}
FILE: Final = "removed.json"


class Removed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file that says what was removed."""

    removed: tuple[str, ...]
    """Files and directories of the run directory, by name."""


def superfluous(retain: Retain, *, good: bool) -> frozenset[str]:
    """What need not be kept of a run, by whether it ended well.

    >>> sorted(superfluous("interesting", good=True)), sorted(superfluous("interesting", good=False))
    (['history', 'replicas'], [])
    """
    if retain == "verdicts":
        return ALL_BUT_VERDICT
    return HEAVY if retain == "interesting" and good else frozenset()


def removed(run_dir: RunDir) -> frozenset[str]:
    """What was removed of a run on purpose. Raises UsageError if the file that says so cannot be read."""
    path = run_dir.path / FILE
    try:
        said = msgspec.convert(read_json(path), Removed)
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: does not say what was removed of the run ({error})") from None
    return frozenset(said.removed)


def remove(run_dir: RunDir, names: Iterable[str]) -> None:
    """Remove these of a judged run. Raises OSError."""
    every = removed(run_dir) | frozenset(names)
    if every == removed(run_dir):
        return
    write_json(run_dir.path / FILE, {"removed": sorted(every)})
    for name in sorted(every):
        path = run_dir.path / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def refuse_removed(run_dir: RunDir) -> None:
    """Raise UsageError for a run that cannot be judged again, because its evidence was removed on purpose."""
    if gone := removed(run_dir):
        raise UsageError(
            f"{run_dir.path}: {', '.join(sorted(gone))} of it were removed to save room (--retain, prune); the verdict "
            "that it has stands, and no other can be given"
        )
