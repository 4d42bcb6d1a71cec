"""What binds a run's evidence together: a list of its files with their sizes and SHA-256, written when all are there.

Everything that a verdict rests on is listed: run.json, the timeline and how many lines it has, histories as recorded
and as sealed, copies of replicas, logs, the cluster as rendered. A file that was changed, exchanged for that of another
run, left out or added later is noticed when the run is judged. verdict.json names the manifest that it was given for,
so that a verdict is not taken for one of other files.

Runs made before there were manifests have none, and are judged without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from evidence.rundir import MANIFEST, SCHEMA, RunDir, leaves, write_json

FILES: Final = ("run.json", "timeline.jsonl", "compose.yml")
DIRECTORIES: Final = ("config", "history", "logs", "replicas")
SHOWN: Final = 5
WORKERS: Final = 4
"""Hashing is done without the interpreter's lock."""


def _files(run_dir: RunDir) -> Iterator[Path]:
    """The files that a verdict rests on."""
    yield from (run_dir.path / name for name in FILES if (run_dir.path / name).is_file())
    for name in DIRECTORIES:
        yield from sorted(path for path in (run_dir.path / name).rglob("*") if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(run_dir: RunDir) -> int:
    return run_dir.timeline.read_bytes().count(b"\n") if run_dir.timeline.is_file() else 0


def write(run_dir: RunDir, run: str) -> None:
    """Write the manifest of a run whose files are all there. OSError if a file cannot be read, or the disk is full."""
    paths = list(_files(run_dir))
    with ThreadPoolExecutor(WORKERS) as pool:
        digests = list(pool.map(_sha256, paths))
    files = {
        str(path.relative_to(run_dir.path)): {"bytes": path.stat().st_size, "sha256": digest}
        for path, digest in zip(paths, digests, strict=True)
    }
    write_json(run_dir.manifest, {"schema": SCHEMA, "run": run, "timeline_lines": _lines(run_dir), "files": files})


def digest(run_dir: RunDir) -> str:
    """The SHA-256 of the manifest itself; "" if there is none."""
    try:
        return _sha256(run_dir.manifest)
    except OSError:
        return ""


def verify(run_dir: RunDir, run: Mapping[str, Any], *, changed_since_ns: int | None = None) -> list[str]:
    """What a run's files have otherwise than its manifest; nothing for a run that has none and says so.

    With `changed_since_ns` only files whose size differs, or that were changed since (wall time), are hashed.
    """
    try:
        manifest = json.loads(run_dir.manifest.read_text())
        listed = {str(name): (int(one["bytes"]), str(one["sha256"])) for name, one in manifest["files"].items()}
        name, lines = str(manifest["run"]), int(manifest["timeline_lines"])
    except FileNotFoundError:
        return ["manifest.json: missing"] if leaves(run, MANIFEST) else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"manifest.json: not readable as a manifest ({error!r})"]
    found = [] if name == run.get("run") else [f"manifest.json: it is of the run {name}"]
    there = {str(path.relative_to(run_dir.path)): path for path in _files(run_dir)}
    found += [f"{path}: gone since the run was sealed" for path in sorted(listed.keys() - there.keys())]
    found += [f"{path}: not there when the run was sealed" for path in sorted(there.keys() - listed.keys())]
    if "timeline.jsonl" in there and _lines(run_dir) != lines:
        found.append(f"timeline.jsonl: {_lines(run_dir)} lines, it had {lines}")

    def differs(path: str) -> bool:
        stat = there[path].stat()
        if stat.st_size != listed[path][0]:
            return True
        if changed_since_ns is not None and max(stat.st_mtime_ns, stat.st_ctime_ns) <= changed_since_ns:
            return False
        return _sha256(there[path]) != listed[path][1]

    both = sorted(listed.keys() & there.keys())
    with ThreadPoolExecutor(WORKERS) as pool:
        changed = [path for path, differs in zip(both, pool.map(differs, both), strict=True) if differs]
    found += [f"{path}: not what it was when the run was sealed" for path in changed]
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"manifest.json: {more} more differences"] if more > 0 else [])
