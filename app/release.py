"""`make release`: what a release consists of, in dist/. Nothing is uploaded.

    kafka_chaos-VERSION-py3-none-any.whl    the program, with what runs showed
    evidence/RUN.tar.xz                     the small evidence of telling runs (`make evidence`)
    evidence/INDEX.csv                      which run each is of, and what the ledger says of it
    NOTES.md                                what changed, what was run, what a reader can verify
    SHA256SUMS                              of all of these, as `sha256sum --check` takes them

Evidence that the ledger does not bind proves nothing. So an archive is only taken if a line of the ledger has its
digest and the manifest in it is the one that was judged. The tree must be a commit's own, whose id is in the notes. The
wheel has the time of that commit in place of now, and can be built from it again with the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import results
from app import ledger
from app.evidence import SUFFIX
from evidence.errors import EXIT_AS_DOCUMENTED, KafkaChaosError, UsageError
from evidence.ledger import Packed, RunJudged, RunStarted
from evidence.rundir import write_atomically
from evidence.text import plural
from judgement.rates import telling
from pages.counted import contradicted

ROOT: Final = Path(__file__).parents[1]
DIST: Final = Path("dist")
EVIDENCE: Final = "evidence"
INDEX: Final = "INDEX.csv"
NOTES: Final = "NOTES.md"
SUMS: Final = "SHA256SUMS"
WHEEL: Final = "kafka_chaos-*.whl"
UNRELEASED: Final = "Unreleased"
MANIFEST: Final = "manifest.json"
COLUMNS: Final = ("archive", "scenario", "case", "version", "verdict", "outcome", "commit", "sha256", "bytes")


class Archive(NamedTuple):
    """An archive of evidence, and what the ledger says of its run."""

    path: Path
    digest: str
    size: int
    started: RunStarted
    judged: RunJudged


def archives(folder: Path, store: ledger.LedgerFolder) -> list[Archive]:
    """The archives of a folder, in order of their cells.

    Raises UsageError if there are none, and for one whose digest the ledger does not have, or that has another manifest
    than the files that were judged.
    """
    packed = {(one.run, one.digest) for one in store.lines if isinstance(one, Packed)}
    begun = {one.run: one for one in store.lines if isinstance(one, RunStarted)}
    verdicts: dict[str, list[RunJudged]] = {}
    for one in store.lines:
        if isinstance(one, RunJudged):
            verdicts.setdefault(one.run, []).append(one)
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        run, data = path.name.removesuffix(SUFFIX), path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if (run, digest) not in packed or run not in begun:
            raise UsageError(
                f"{path}: its digest is in no line of the ledger; make ledger RUNS=… enters it, or remove the file"
            )
        manifest = manifest_of(data)
        held = [one for one in verdicts.get(run, ()) if one.manifest == manifest]
        if not held:
            raise UsageError(f"{path}: the ledger has no verdict on the files of its manifest; remove it")
        found.append(Archive(path, digest, len(data), begun[run], held[0]))
    if not found:
        raise UsageError(f"{folder}: no evidence to publish; make evidence RUNS=… packs it")
    return sorted(found, key=lambda one: (one.started.scenario, one.started.case, one.started.version, one.path.name))


def manifest_of(data: bytes) -> str:
    """SHA-256 of the manifest in an archive; "" if there is none, or it is no archive."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as tar:
            for entry in tar:
                file = tar.extractfile(entry) if entry.name.count("/") == 1 else None
                if file is not None and entry.name.endswith(f"/{MANIFEST}"):
                    return hashlib.sha256(file.read()).hexdigest()
    except (OSError, tarfile.TarError, EOFError):
        return ""
    return ""


def index(found: Sequence[Archive]) -> str:
    """INDEX.csv."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in found:
        run = one.started
        writer.writerow(
            [
                one.path.name,
                run.scenario,
                run.case,
                run.version,
                one.judged.verdict,
                one.judged.text,
                run.commit,
                one.digest,
                one.size,
            ]
        )
    return text.getvalue()


def changes(changelog: str, version: str) -> str:
    """What the changelog says of a version; of one that it does not know, what is not released yet."""
    sections = dict(re.findall(r"^## (\S+).*?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    return str(sections.get(version) or sections.get(UNRELEASED) or "").strip()


def notes(version: str, commit: str, found: Sequence[Archive], data: Mapping[str, Any], changelog: str) -> str:
    """NOTES.md."""
    cells = [
        (scenario, case, kafka, cell)
        for scenario, told in data.items()
        for case, versions in told["cases"].items()
        for kafka, cell in versions.items()
        if telling(cell)
    ]
    runs, good = sum(telling(cell) for *_, cell in cells), sum(cell["good"] for *_, cell in cells)
    against = sum(contradicted(cell) for *_, cell in cells)
    shown = {(one.started.scenario, one.started.case, one.started.version) for one in found}
    without = len([one for one in cells if one[:3] not in shown])
    lines = [
        f"# kafka-chaos {version}",
        "",
        f"Built from commit {commit}.",
        "",
        "## What was run",
        "",
        f"The ledger has {plural(runs, 'run')} with a result, in {plural(len(cells), 'cell')} (scenario, case and "
        f"version). {good} ended as documented, and {against} contradict what is documented; each of these is listed "
        "in docs/reproduced.md, which `make docs` builds.",
        "",
        "## What can be verified",
        "",
        f"`sha256sum --check {SUMS}` verifies the files. {plural(len(found), 'archive')} in {EVIDENCE}/ show what a "
        f"verdict rests on; {INDEX} lists them. {plural(without, 'cell')} with results have no archive here: their run "
        "directories were not at hand. The digest of each archive is in results/ledger/, and so is the digest of the "
        f"{MANIFEST} in it, which has that of every file of the run. docs/evidence.md says what this proves, and what "
        "it does not.",
        "",
        "## What changed",
        "",
        changes(changelog, version),
        "",
    ]
    return "\n".join(lines)


def sums(folder: Path) -> str:
    """SHA256SUMS of all files in a folder but itself."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / SUMS]
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files)


def commit_of(root: Path) -> str:
    """The commit that a tree is of. Raises UsageError outside a checkout, and for a tree that has changes."""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        raise UsageError(f"a release is made from a commit, and {root} is no checkout") from None
    if changed:
        raise UsageError(f"a release is made from a commit, and this tree has changes: {' '.join(changed.split())}")
    return commit


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def build_wheel(folder: Path, commit: str) -> Path:
    """Build the wheel of a commit into a folder that has none; the same commit gives the same bytes."""
    made_at = _git(ROOT, "show", "--no-patch", "--format=%ct", commit)
    for old in folder.glob(WHEEL):
        old.unlink()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder.resolve())],
        cwd=ROOT,
        env=os.environ | {"SOURCE_DATE_EPOCH": made_at},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    (wheel,) = folder.glob(WHEEL)
    return wheel


def prepare(dist: Path = DIST) -> list[Path]:
    """Put a release together; returns its files, SHA256SUMS last.

    Raises UsageError outside a checkout, in a tree with changes, and for evidence that the ledger does not bind.
    """
    commit = commit_of(ROOT)
    found = archives(dist / EVIDENCE, ledger.load())
    wheel = build_wheel(dist, commit)
    version = wheel.name.split("-")[1]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    write_atomically(dist / EVIDENCE / INDEX, index(found))
    write_atomically(dist / NOTES, notes(version, commit, found, results.by_scenario(), changelog))
    write_atomically(dist / SUMS, sums(dist))
    return [wheel, *(one.path for one in found), dist / EVIDENCE / INDEX, dist / NOTES, dist / SUMS]


def main() -> int:
    """Entry point; the exit status."""
    try:
        files = prepare()
    except KafkaChaosError as error:
        print(f"release: {error}", file=sys.stderr)
        return error.exit_status
    size = sum(path.stat().st_size for path in files)
    print(f"{DIST}: {plural(len(files), 'file')}, {size / 1e6:.1f} MB; nothing was uploaded")
    return EXIT_AS_DOCUMENTED


if __name__ == "__main__":
    sys.exit(main())
