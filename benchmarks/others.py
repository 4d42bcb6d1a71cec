"""What the check of a history of others costs: `python -m benchmarks.others` (or `make bench-others`).

A history of JSON Lines is written (100 keys, 10 writers, 10 readers, polls of five records; one send in 500 of unknown
outcome, one in 100 a transaction over two keys, some acknowledged records lost). It is checked twice: in one process,
whose memory has all of it, and by Spark, local[2]. Both must find the same, and the planted losses in it.

Each way has a process of its own on two processors. Times are wall clock and processor time, and the start-up of Spark
is part of them. Memory is the sum of the resident sizes of the whole process tree (benchmarks.analysis says how it is
sampled).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.analysis import in_own_process, processor_s, tell, two_processors

KEYS: Final = 100
WRITERS: Final = 10
READERS: Final = 10
POLLED: Final = 5
LOST_EVERY: Final = 50_000
UNKNOWN_EVERY: Final = 500
TRANSACTION_EVERY: Final = 100
SIZES: Final = [1.0, 10.0]
WAYS: Final = {"one process": "none", "Spark": "local[2]"}
"""The master of each."""


def lines(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """A history of about so many lines: every acknowledged record is read once, but for the lost ones."""
    chance = random.Random(seed)
    ends = [0] * KEYS
    waiting: list[deque[list[int]]] = [deque() for _ in range(KEYS)]
    told = sends = 0
    while told < count:
        at_ns, writer, key = told * 1000, f"w{chance.randrange(WRITERS)}", chance.randrange(KEYS)
        sends += 1
        keys = [key, (key + 1) % KEYS] if sends % TRANSACTION_EVERY == 0 else [key]
        outcome = "info" if sends % UNKNOWN_EVERY == 1 else "ok"
        what = {"process": writer, "f": "txn" if len(keys) > 1 else "send"}
        yield what | {"type": "invoke", "value": [["send", f"k{one}", sends] for one in keys], "time": at_ns}
        sent: list[list[Any]] = []
        for one in keys:
            sent.append(["send", f"k{one}", [ends[one], sends] if outcome == "ok" else sends])
            if sends % LOST_EVERY:
                waiting[one].append([ends[one], sends])
            ends[one] += 1
        yield what | {"type": outcome, "value": sent, "time": at_ns + 500}
        told += 2
        if len(waiting[key]) >= POLLED:
            what = {"process": f"r{key % READERS}", "f": "poll"}
            given = {f"k{key}": [waiting[key].popleft() for _ in range(POLLED)]}
            yield what | {"type": "invoke", "value": [], "time": at_ns + 600}
            yield what | {"type": "ok", "value": [["poll", given]], "time": at_ns + 900}
            told += 2
    for key, left in enumerate(waiting):
        yield {"process": f"r{key % READERS}", "type": "ok", "f": "poll", "value": [["poll", {f"k{key}": list(left)}]]}
    last = {f"k{key}": end for key, end in enumerate(ends)}
    yield {"process": "end", "type": "invoke", "f": "final-read", "value": {}}
    yield {"process": "end", "type": "ok", "f": "final-read", "value": last}


def write(path: Path, count: int) -> Counter[str]:
    """Write a history of about so many lines; which anomalies were planted, and how often."""
    planted: Counter[str] = Counter()
    with path.open("w") as file:
        for line in lines(count):
            sent = line["value"] if line["type"] == "ok" and line["f"] in ("send", "txn") else ()
            planted["lost-write"] += sum(value % LOST_EVERY == 0 for _, _, (_, value) in sent)
            file.write(json.dumps(line) + "\n")
    return planted


def check(path: Path, master: str) -> dict[str, Any]:
    """Check the history on a master, or in this process ("none"); what it took and what was found."""
    from analysis.jsonl import check_history
    from analysis.large_history import check_on

    two_processors()
    begun, used = time.monotonic(), processor_s()
    watch = CpuTimer()
    findings = check_history(path) if master == "none" else check_on(master, path)
    seconds, used = time.monotonic() - begun, watch.stop() - used
    found: Counter[str] = Counter()
    for one in findings.findings:
        found[one.anomaly] += one.count
    crashed = [one.name for one in findings.checks if one.status != "ok"]
    return {"seconds": seconds, "processor_s": used, "found": dict(sorted(found.items())), "crashed": crashed}


class CpuTimer:
    """The processor time of this process and all below it, which is gone for who asks after they have ended."""

    def __init__(self) -> None:
        self._most = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(1.0):
            self._most = max(self._most, processor_s())

    def stop(self) -> float:
        """End the watch: the most that was seen."""
        self._over.set()
        self._thread.join()
        return max(self._most, processor_s())


def measured(path: Path, master: str) -> dict[str, Any]:
    """The same in a process of its own, with the most memory that it had. SystemExit if it fails."""
    return in_own_process("benchmarks.others", ["--measure", str(path), master], f"{path.name} on {master}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size in both ways."""
    parser = argparse.ArgumentParser(prog="benchmarks.others", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES, help="millions of lines")
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "MASTER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.measure:
        file, master = chosen.measure
        print(json.dumps(check(Path(file), master)))
        return
    tell("machine", f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-") as folder:
        for millions in chosen.sizes:
            path = Path(folder) / f"{millions:g}M.jsonl"
            planted = write(path, round(millions * 1e6))
            results = {name: measured(path, master) for name, master in WAYS.items()}
            for name, one in results.items():
                took = (
                    f"{one['seconds']:7.1f} s, {one['processor_s']:7.1f} s of processor, {one['peak_mb']:5} MB at most"
                )
                tell(f"{millions:g} M lines, {name}", took)
            found = [(one["found"], one["crashed"]) for one in results.values()]
            if found[0] != found[1] or found[0][0]["lost-write"] != planted["lost-write"] or found[0][1]:
                raise SystemExit(f"the check is wrong: {found}, planted {planted}")
            path.unlink()


if __name__ == "__main__":
    main()
