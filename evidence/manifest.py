"""What binds a run's evidence together: a list of its files with their sizes and SHA-256, written when all are there.

Everything that a verdict rests on is listed: run.json, the timeline and how many lines it has, histories as recorded
and as sealed, copies of replicas, logs, the cluster as rendered. A file that was changed, exchanged for that of another
run, left out or added later is noticed when the run is judged. The file verdict.json names the manifest that it was
given for, so that a verdict is not taken for one of other files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from evidence.run import SCHEMA, RunRecord
from evidence.rundir import RunDir, read_json, write_json

FILES: Final = ("run.json", "timeline.jsonl", "compose.yml")
DIRECTORIES: Final = ("config", "history", "logs", "replicas")
SHOWN: Final = 5
WORKERS: Final = 4
"""Hashing is done without the interpreter's lock."""
THREADED_BYTES: Final = 4 << 20
"""From so much on files are hashed by threads: for less, starting these takes longer than the work."""

T = TypeVar("T")
R = TypeVar("R")


class ChangedFile(NamedTuple):
    """A file that is not what the manifest lists."""

    path: str
    """Within the run directory."""
    how: str

    def __str__(self) -> str:
        return f"{self.path}: {self.how}"


def _files(run_dir: RunDir) -> Iterator[Path]:
    """The files that a verdict rests on."""
    yield from (run_dir.path / name for name in FILES if (run_dir.path / name).is_file())
    for name in DIRECTORIES:
        yield from sorted(path for path in (run_dir.path / name).rglob("*") if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _each(function: Callable[[T], R], over: Sequence[T], size: int) -> list[R]:
    """What the function makes of each, by threads if there is much to read: `size` is in bytes."""
    if size < THREADED_BYTES:
        return [function(one) for one in over]
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(function, over))


def _lines(run_dir: RunDir) -> int:
    return run_dir.timeline.read_bytes().count(b"\n") if run_dir.timeline.is_file() else 0


def write(run_dir: RunDir, run: str) -> None:
    """Write the manifest of a run whose files are all there. OSError if a file cannot be read, or the disk is full."""
    paths = list(_files(run_dir))
    sizes = [path.stat().st_size for path in paths]
    digests = _each(_sha256, paths, sum(sizes))
    files = {
        str(path.relative_to(run_dir.path)): {"bytes": size, "sha256": digest}
        for path, size, digest in zip(paths, sizes, digests, strict=True)
    }
    write_json(run_dir.manifest, {"schema": SCHEMA, "run": run, "timeline_lines": _lines(run_dir), "files": files})


def digest(run_dir: RunDir) -> str:
    """The SHA-256 of the manifest itself; "" if there is none."""
    try:
        return _sha256(run_dir.manifest)
    except OSError:
        return ""


def verify(
    run_dir: RunDir, run: RunRecord, *, changed_since_ns: int | None = None, removed: Collection[str] = ()
) -> list[ChangedFile]:
    """What a run's files have otherwise than its manifest.

    With `changed_since_ns` only files whose size differs, or that were changed since (wall time), are hashed. Of what
    was `removed` on purpose (evidence/kept.py), nothing need be there.
    """
    name = run_dir.manifest.name
    try:
        manifest = read_json(run_dir.manifest)
        if manifest["schema"] != SCHEMA:
            raise ValueError(f"schema {manifest['schema']!r}, not {SCHEMA}")
        listed = {
            str(path): (int(one["bytes"]), str(one["sha256"]))
            for path, one in manifest["files"].items()
            if path.partition("/")[0] not in removed
        }
        of_run, lines = str(manifest["run"]), int(manifest["timeline_lines"])
    except FileNotFoundError:
        return [ChangedFile(name, "missing")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [ChangedFile(name, f"not readable as a manifest ({error!r})")]
    found = [] if of_run == run.run else [ChangedFile(name, f"it is of the run {of_run}")]
    there = {str(path.relative_to(run_dir.path)): path for path in _files(run_dir)}
    found += [ChangedFile(path, "gone since the run was sealed") for path in sorted(listed.keys() - there.keys())]
    found += [ChangedFile(path, "not there when the run was sealed") for path in sorted(there.keys() - listed.keys())]
    timeline = run_dir.timeline.name
    if timeline in there and _lines(run_dir) != lines:
        found.append(ChangedFile(timeline, f"{_lines(run_dir)} lines, it had {lines}"))

    def differs(path: str) -> bool:
        stat = there[path].stat()
        if stat.st_size != listed[path][0]:
            return True
        if changed_since_ns is not None and max(stat.st_mtime_ns, stat.st_ctime_ns) <= changed_since_ns:
            return False
        return _sha256(there[path]) != listed[path][1]

    both = sorted(listed.keys() & there.keys())
    changed = [
        path
        for path, other in zip(both, _each(differs, both, sum(listed[path][0] for path in both)), strict=True)
        if other
    ]
    return found + [ChangedFile(path, "not what it was when the run was sealed") for path in changed]


def describe(differences: Sequence[ChangedFile]) -> list[str]:
    """The first differences, a line each, and how many more there are."""
    more = len(differences) - SHOWN
    counted = [f"manifest.json: {more} more differences"] if more > 0 else []
    return [*map(str, differences[:SHOWN]), *counted]
