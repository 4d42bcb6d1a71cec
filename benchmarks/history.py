"""What the table of all nights and its pictures cost: nights are put into it, one more is added, and all is drawn.

    python -m benchmarks.history [--runs 5000] [--nights 14] [--master spark://host:7077]

Lines of the ledger are made, as runs leave them: eight claims of which five have a time, four times, an anomaly in one
run of ten. Every figure is a process of its own, start-up included; CPU seconds are of that process and its children,
wall seconds depend on what else the machine does. Beside them: starting Spark and stopping it.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evidence import ledger
from evidence.ledger import ClaimLine, RunJudged, RunStarted
from evidence.run import HostRecord

HOST = HostRecord(system="Linux", cores=2, python="3.11", docker="20", kernel="6")
CELLS = 500
SPARK = "from analysis.spark import short_session\nwith short_session('local[2]') as session: session.range(1).count()"


def night(folder: Path, number: int, runs: int) -> None:
    """Write the ledger of one night."""
    folder.mkdir(parents=True)
    chance = random.Random(number)
    with (folder / ledger.FILE).open("w") as file:
        for at in range(runs):
            cell = (number * runs + at) % CELLS
            name, when = f"n{number}-r{at}", datetime(2026, 11, 1, 2, tzinfo=UTC) + timedelta(days=number, seconds=at)
            about: Any = {"schema": ledger.SCHEMA, "run": name, "at": when.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
            claims = tuple(
                ClaimLine(name=f"claim-{n}", outcome="held", measured_ms=chance.uniform(1e3, 9e3) if n < 5 else None)
                for n in range(8)
            )
            started = RunStarted(
                **about, scenario=f"scenario-{cell // 5}", version=f"4.{cell % 5}.0", seed=1, command="c",
                commit=f"{number:040x}", documented="d", host=HOST,
            )  # fmt: skip
            judged = RunJudged(
                **about, verdict="as-documented", anomalies={"lost-write": 1} if at % 10 == 0 else {}, claims=claims,
                write_pause_ms=5000.0, read_pause_ms=10.0, first_success_ms=900.0, ack_ms=4.0, documented="d",
                manifest="m", seconds=31.0,
            )  # fmt: skip
            file.write(f"{ledger.encode(started).rstrip()}\n{ledger.encode(judged).rstrip()}\n")


def measured(what: str, *command: str) -> None:
    """Run Python with these words, and print what it cost."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what:40} {wall:7.1f} s {cpu:7.1f} CPU s")


def main() -> None:
    """Make the nights, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--nights", type=int, default=14)
    parser.add_argument("--master", default="local[2]", help="Spark master of the job (default local[2])")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root, table = Path(place), str(Path(place) / "history.parquet")
        for number in range(options.nights + 1):
            night(root / "nights" / str(number), number, options.runs // options.nights)
        last = root / "last"
        (root / "nights" / str(options.nights)).rename(last)
        measured("Spark alone", "-c", SPARK)
        for what, folder in ((f"{options.runs} runs of {options.nights} nights", root / "nights"), ("one more", last)):
            measured(what, "-m", "analysis.history", str(folder), "--out", table, "--master", options.master)
        measured("drawn", "-m", "app", "trend", "--table", table, "--out", str(root / "trend.html"))
        size = (root / "trend.html").stat().st_size
        print(f"the page: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
