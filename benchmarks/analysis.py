"""What the complete check of a history costs: `python -m benchmarks.analysis` (or `make bench-analysis`).

Sealed run directories of several sizes are written into a temporary folder (benchmarks.synthetic), and each is checked
as the harness checks a run: every check of every partition, `analysis.job.check_runs` on Spark, local[2]. What was
planted must be found, and nothing else. Beside it stands DuckDB with two threads and the one question of the lost
writes: which acknowledged identities are not among those that were read. It is given every advantage: the same Parquet
files, which it reads itself and in parallel (Arrow, the other form that histories have, it would be handed by one
Python thread); only the files of producers for the one side and of consumers for the other; the shorter key that is
enough (producer and sequence, which are unique over partitions); and a count for an answer, no evidence.

A size that DuckDB is given (`--compare`) is a whole run: a timeline in which leaders and ISR change, copies of three
replicas at two moments, a high watermark that moves (benchmarks.brokers). It is checked twice, as it is and as the
histories alone; DuckDB reads the histories, and nothing of the rest.

All are measured in a process of their own on two processors, after a first, small round that starts Spark's workers
and has the compiled loops loaded. Ratios are the median of pairs taken in turn. On a busy machine wall-clock time is
that of the others as well, so processor time is printed beside it, that of all children included.

The files of a whole run are read once before the first pair. So they are in memory, as far as the machine has room for
them: what was read from a disk all the same is printed.

Memory is the sum of the resident sizes of the whole process tree (driver, virtual machine, Python workers), sampled ten
times a second: pages that processes share count once for each, so it errs upward. The first sample above the
cap ends the run: the cap is enforced by measuring.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.growth import MeasuredSize, draw
from benchmarks.load import LOST, PARTITIONS, SMALLEST
from benchmarks.synthetic import EACH, EXPECTED, LOST_IN, SKIPS, UNREPLICATED, write_run, write_small
from evidence.rundir import RunDir

SIZES: Final = [1.0, 3.0, 10.0, 20.0, 30.0, 100.0]
COMPARED: Final = 20.0
SMALL: Final = 2.0
HISTORY, WHOLE = "history alone", "whole run"
LIMIT_S: Final = 3600.0
SAMPLE_S: Final = 0.1
TICKS: Final = os.sysconf("SC_CLK_TCK")
LOST_WRITES: Final = """
    SELECT count(*)
    FROM (SELECT producer, sequence FROM read_parquet('{path}/producer-*.parquet', hive_partitioning = false)
          WHERE kind = 'send' AND outcome = 'ok') AS sent
    ANTI JOIN (SELECT producer, sequence FROM read_parquet('{path}/consumer-*.parquet', hive_partitioning = false)
               WHERE kind = 'poll') AS polled
    USING (producer, sequence)
"""


def two_processors() -> None:
    """Keep this process, and those it starts, on two processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def tree(root: int) -> list[tuple[int, float, int]]:
    """Resident megabytes, processor seconds (ended children included) and megabytes read from a disk, of a process and
    all below it.
    """
    found: dict[int, tuple[int, int, float, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            from_disk = int((entry / "io").read_text().split("read_bytes: ")[1].split()[0])
        except OSError:
            continue  # it has ended
        used = sum(int(word) for word in words[11:15]) / TICKS
        resident = int(words[21]) * os.sysconf("SC_PAGESIZE")
        found[int(entry.name)] = (int(words[1]), resident // 1_000_000, used, from_disk // 1_000_000)
    inside = {root}
    while more := {pid for pid, (parent, _, _, _) in found.items() if parent in inside} - inside:
        inside |= more
    return [found[pid][1:] for pid in inside if pid in found]


def processor_s() -> float:
    """Processor time so far of this process and all below it."""
    return sum(used for _, used, _ in tree(os.getpid()))


def read_mb() -> int:
    """Megabytes that this process and all below it have read from a disk, so far."""
    return sum(megabytes for _, _, megabytes in tree(os.getpid()))


def check(small: RunDir, run_dir: RunDir) -> dict[str, Any]:
    """Check the small run and then the other with one Spark application; what the second took and found."""
    from analysis.job import check_runs
    from analysis.spark import close_context, open_context

    two_processors()
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.monotonic()
        context = open_context("local[2]", scratch)
        check_runs(context, [small])
        first = time.monotonic() - begun
        begun, used, disk = time.monotonic(), processor_s(), read_mb()
        (findings,) = check_runs(context, [run_dir]).values()
        seconds, used, disk = time.monotonic() - begun, processor_s() - used, read_mb() - disk
        close_context(context)
    counts: Counter[str] = Counter()
    for finding in findings.findings:
        counts["skips" if finding.anomaly in SKIPS else finding.anomaly] += finding.count
    crashed = [one for one in findings.checks if one.status != "ok"]
    expected = {**EXPECTED, "skips": LOST * PARTITIONS}
    if (small_ones := findings.statistics["partitions"]) > PARTITIONS:
        lost = -(-small_ones // LOST_IN)
        expected = {"lost-write": lost, "skips": lost}
    if run_dir.replicas.exists():
        expected["unreplicated-acknowledgement"] = UNREPLICATED * PARTITIONS
    right = counts == expected and not crashed
    if not right:
        raise SystemExit(f"the check is wrong: {dict(counts)}, crashed: {crashed}, {findings.problems}")
    spent = {one.name: one.seconds for one in findings.checks}
    return {
        "seconds": seconds,
        "processor_s": used,
        "disk_mb": disk,
        "first_s": first,
        "records": findings.statistics["sends_ok"],
        "checks_s": sum(spent.values()),
    }


def anti_join(small: RunDir, run_dir: RunDir) -> dict[str, Any]:
    """DuckDB's answer, after a first one about the small run."""
    import duckdb

    two_processors()
    base = duckdb.connect(config={"threads": 2})
    for which in (small, run_dir):
        begun, used, disk = time.monotonic(), processor_s(), read_mb()
        answer = base.execute(LOST_WRITES.format(path=which.sealed / "topic=*" / "partition=*")).fetchone()
        seconds, used, disk = time.monotonic() - begun, processor_s() - used, read_mb() - disk
    if answer != (EXPECTED["lost-write"],):
        raise SystemExit(f"the anti-join is wrong: {answer}")
    return {"seconds": seconds, "processor_s": used, "disk_mb": disk}


def in_own_process(
    module: str, words: Sequence[str], what: str, *, cap_mb: float = math.inf, limit_s: float = math.inf
) -> dict[str, Any]:
    """What `python -m module words` prints as its last line, and the most memory that its processes had, in megabytes.
    SystemExit, which names `what`, if it fails, takes too long or breaks the cap.
    """
    command = [sys.executable, "-m", module, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    largest, deadline = 0, time.monotonic() + limit_s
    while process.poll() is None:
        largest = max(largest, sum(resident for resident, _, _ in tree(process.pid)))
        if largest > cap_mb or time.monotonic() > deadline:
            os.killpg(process.pid, 9)
            why = f"{largest} MB resident, above the cap of {cap_mb}" if largest > cap_mb else "not done in time"
            raise SystemExit(f"{what}: {why}")
        try:
            process.wait(SAMPLE_S)
        except subprocess.TimeoutExpired:
            continue
    said = process.communicate()[0].strip().splitlines()
    if process.returncode or not said:
        raise SystemExit(f"{what} failed, exit status {process.returncode}")
    result: dict[str, Any] = json.loads(said[-1])
    return result | {"peak_mb": largest}


def measured(what: str, small: RunDir, run_dir: RunDir, cap_mb: int) -> dict[str, Any]:
    """Have it measured in a process of its own, its memory watched. SystemExit if it fails or breaks the cap."""
    words = ["--measure", what, str(small.path), str(run_dir.path)]
    return in_own_process(
        "benchmarks.analysis", words, f"{what} of {run_dir.path.name}", cap_mb=cap_mb, limit_s=LIMIT_S
    )


def tell(subject: str, text: str) -> None:
    """One line of the report."""
    print(f"{subject:24} {text}", flush=True)


def _line(result: dict[str, Any]) -> str:
    return (
        f"{result['seconds']:7.2f} s, {result['processor_s']:7.2f} s of processor, {result['peak_mb']:5} MB at most"
        f", {result['disk_mb']:5} MB from disk"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.analysis", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES, help="millions of records, each read once")
    parser.add_argument("--compare", type=float, default=COMPARED, help="size of the whole run, 0 for none")
    parser.add_argument("--skewed", type=float, default=COMPARED, help="size with 90%% in one partition; 0 for none")
    parser.add_argument("--small", type=int, metavar="PARTITIONS", help="only that many partitions of 20 records")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of check and anti-join")
    parser.add_argument("--cap-mb", type=int, default=6144, help="memory of all processes together")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where the files go (removed afterwards)")
    parser.add_argument("--plot", type=Path, help="where to write the picture of the growth (SVG)")
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "SMALL", "RUN_DIR"), help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything once."""
    chosen = _parser().parse_args(arguments)
    if chosen.measure:
        what, small, path = chosen.measure
        work = {"check": check, "anti-join": anti_join}[what]
        print(json.dumps(work(RunDir(Path(small)), RunDir(Path(path)))))
        return
    tell("machine", f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the start")
    points: list[MeasuredSize] = []
    ratios: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-", dir=chosen.scratch) as folder:
        root = Path(folder)

        def written(name: str, millions: float, **how: bool) -> RunDir:
            run_dir = RunDir(root / name)
            begun = time.monotonic()
            write_run(run_dir, max(SMALLEST, round(millions * 1e6)), **how)
            tell(name, f"written in {time.monotonic() - begun:.0f} s, {_gigabytes(run_dir.path):.1f} GB")
            return run_dir

        small = written("small", SMALL, whole=True)
        if chosen.small:
            many = RunDir(root / "many")
            write_small(many, chosen.small)
            result = measured("check", small, many, chosen.cap_mb)
            tell(f"{chosen.small} x {EACH}", f"check     {_line(result)}")
            return
        for millions in sorted(chosen.sizes):
            run_dir = written(f"{millions:g} M", millions)
            result = measured("check", small, run_dir, chosen.cap_mb)
            tell(f"{millions:g} M x {millions:g} M", f"check     {_line(result)}")
            points.append(MeasuredSize(millions, result["seconds"], result["processor_s"], result["peak_mb"]))
            _remove(run_dir)
        if chosen.compare:
            whole = written(f"{chosen.compare:g} M whole", chosen.compare, whole=True)
            ratios = compared(small, whole, chosen.pairs, chosen.cap_mb)
            _remove(whole)
        if chosen.skewed:
            run_dir = written(f"{chosen.skewed:g} M skewed", chosen.skewed, skewed=True)
            tell("90 % in one partition", f"check     {_line(measured('check', small, run_dir, chosen.cap_mb))}")
    if chosen.plot and points:
        chosen.plot.write_text(draw(points))
    for point in points:
        tell(f"{point.millions:g} M", f"{point.processor_s / point.millions:.3f} s of processor a million")
    for what, found in ratios.items():
        wall, used = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"ratio_to_duckdb, {what}: {wall:.2f} ({used:.2f} in processor time)")


def compared(small: RunDir, whole: RunDir, pairs: int, cap_mb: int) -> dict[str, list[tuple[float, float]]]:
    """Check a run whole and its histories alone, beside the anti-join, in turn; the ratios in wall and processor time
    to the anti-join of the same turn.
    """
    alone = RunDir(whole.path.with_name(f"{whole.path.name}, histories"))
    alone.path.mkdir()
    alone.history.symlink_to(whole.history)
    alone.run_json.symlink_to(whole.run_json)
    ratios: dict[str, list[tuple[float, float]]] = {HISTORY: [], WHOLE: []}
    _read(whole.path)
    for _ in range(pairs):
        other = measured("anti-join", small, alone, cap_mb)
        tell("DuckDB", f"anti-join {_line(other)}")
        for what, run_dir in ((HISTORY, alone), (WHOLE, whole)):
            result = measured("check", small, run_dir, cap_mb)
            tell(what, f"check     {_line(result)}")
            ratios[what].append((result["seconds"] / other["seconds"], result["processor_s"] / other["processor_s"]))
    return ratios


def _gigabytes(path: Path) -> float:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e9


def _read(path: Path) -> None:
    """Read all files below a directory, so that the system has them in memory."""
    for name in (name for name in path.rglob("*") if name.is_file()):
        with name.open("rb", buffering=0) as file:
            while file.read(1 << 22):
                pass


def _remove(run_dir: RunDir) -> None:
    shutil.rmtree(run_dir.path)


if __name__ == "__main__":
    main()
