"""The small evidence of a run as one archive: what a reader needs to judge a verdict without the run directory.

run.json, verdict.json, findings.json, the manifest (sizes and SHA-256 of every file of the run) and the timeline; where
acknowledged records were lost, also the histories of the partitions that lost them. Copies of replicas and logs, which
take most of a run directory, stay out. What else had no room is named in the archive. The same files give the same
bytes, so its digest, which the ledger keeps, is that of this evidence and of no other.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from checks.catalogue import LOST_WRITE
from evidence import ledger
from evidence.errors import UsageError
from evidence.findings import read_findings
from evidence.ledger import Packed
from evidence.rundir import RunDir, write_atomically
from evidence.text import plural
from judgement.verdict import SEVERITY, Verdict, read_verdict
from pages import example_runs

SUFFIX: Final = ".tar.xz"
LARGEST: Final = 200_000
"""Bytes of an archive at most."""
LEFT_OUT: Final = "LEFT-OUT.txt"


class Bundle(NamedTuple):
    """The evidence of a run, packed."""

    run: str
    data: bytes
    left_out: tuple[str, ...]
    """Files that had no room."""

    @property
    def digest(self) -> str:
        """SHA-256 of the archive."""
        return hashlib.sha256(self.data).hexdigest()


def pack(run_dir: RunDir, largest: int = LARGEST) -> Bundle:
    """The evidence of a judged run. Raises UsageError for one that has no verdict, or whose files are not those judged,
    and for one of which even run.json, verdict, findings and manifest have no room.
    """
    verdict = read_verdict(run_dir)
    needed = [run_dir.run_json, run_dir.verdict, run_dir.findings, run_dir.manifest]
    more = [run_dir.timeline, *sorted(_histories(run_dir))]
    left_out: list[str] = []
    while len(data := archive(run_dir, [*needed, *more], left_out)) > largest:
        if not more:
            raise UsageError(f"{run_dir.path}: its evidence takes {len(data):,} bytes, more than {largest:,}")
        left_out.append(str(more.pop().relative_to(run_dir.path)))
    return Bundle(verdict.run or run_dir.path.name, data, tuple(left_out))


def archive(run_dir: RunDir, files: Iterable[Path], left_out: Sequence[str] = ()) -> bytes:
    """The files that there are of these, in an archive that has nothing of this machine or this moment."""
    found = {str(path.relative_to(run_dir.path)): path.read_bytes() for path in files if path.is_file()}
    if left_out:
        found[LEFT_OUT] = "".join(f"{name}\n" for name in sorted(left_out)).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(found.items()):
            entry = tarfile.TarInfo(f"{run_dir.path.name}/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return lzma.compress(packed.getvalue(), preset=6)


def _histories(run_dir: RunDir) -> Iterator[Path]:
    """The sealed histories of the partitions that lost acknowledged records."""
    findings, _ = read_findings(run_dir)
    for finding in findings.of(LOST_WRITE) if findings is not None else ():
        if finding.where is not None:
            topic, partition = finding.where
            yield from (run_dir.sealed / f"topic={topic}" / f"partition={partition}").glob("*.parquet")


def enter(run_dir: RunDir, bundle: Bundle) -> bool:
    """Enter the digest in the ledger of the folder that the run lies in; whether there is one that lacks it."""
    path = run_dir.path.resolve().parent / ledger.FILE
    if not path.exists():
        return False
    known = [line for _, line in ledger.read(path) if line.run == bundle.run]
    if not known or any(isinstance(line, Packed) and line.digest == bundle.digest for line in known):
        return False
    line = Packed(schema=ledger.SCHEMA, run=bundle.run, at=ledger.now(), digest=bundle.digest, bytes=len(bundle.data))
    ledger.append(path, line)
    return True


def telling(roots: Iterable[Path]) -> list[RunDir]:
    """One run of each cell that lies in these folders: that with the most severe verdict, else the first seed.

    Raises UsageError if there is no judged run.
    """
    cells: dict[tuple[str, str, str], list[tuple[int, int, str, RunDir]]] = {}
    for run_dir in example_runs.find(roots):
        try:
            run, verdict = run_dir.read_run(), read_verdict(run_dir)
        except UsageError:
            continue
        key = (run.scenario, run.case, run.version)
        cells.setdefault(key, []).append((-_severity(verdict), run.seed, run.run, run_dir))
    if not cells:
        raise UsageError("no judged run here; `kafka-chaos check` judges runs")
    return [min(found, key=lambda one: one[:3])[3] for _, found in sorted(cells.items())]


def _severity(verdict: Verdict) -> int:
    return 0 if verdict.good else SEVERITY[verdict.verdict]


def write(bundle: Bundle, place: Path) -> Path:
    """Write an archive to a file, or into a folder under its run's name."""
    path = place / f"{bundle.run}{SUFFIX}" if place.is_dir() else place
    write_atomically(path, bundle.data)
    return path


def in_words(bundle: Bundle, path: Path) -> str:
    """A line for people: digest, size, file, and what had no room."""
    without = f", without {plural(len(bundle.left_out), 'file')}" if bundle.left_out else ""
    return f"{bundle.digest}  {path} ({len(bundle.data)} bytes{without})"
