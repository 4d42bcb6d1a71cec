"""What an audit of files costs, start-up included, beside starting Python and parsing the same files, in one run.

    python -m benchmarks.audit [--files 100 1000]

The files are the bundled examples (audit/examples), copied until there are as many: each copy in a directory of its
own, build files included. Every figure is a process of its own, the fastest of several; CPU seconds are of that
process, wall seconds depend on what else the machine does. The yardstick reads the same files with the same parsers and
does nothing with what they give.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "audit" / "examples"
ROUNDS = 5
PARSE = """
import json, sys, pathlib, javaproperties, yaml
loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    text = path.read_text() if path.is_file() else ""
    if path.suffix in (".yml", ".yaml"):
        list(yaml.load_all(text, loader))
    elif path.suffix == ".json":
        json.loads(text)
    elif path.suffix == ".properties":
        javaproperties.loads(text)
"""
AUDIT = "import sys; from audit.readers import read_paths; read_paths([sys.argv[1]])"


def copies(folder: Path, files: int) -> int:
    """Copy the examples into a directory until it has at least so many files; returns how many it has."""
    wanted = [path for path in sorted(EXAMPLES.iterdir()) if path.is_dir()]
    count = number = 0
    while count < files:
        for example in wanted:
            shutil.copytree(example, folder / str(number) / example.name)
        number += 1
        count = sum(len(names) for _, _, names in os.walk(folder))
    return count


def cost(code: str, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a Python process, the fastest of several."""
    best = (float("inf"), float("inf"))
    for _ in range(ROUNDS):
        begun = time.monotonic()
        process = subprocess.Popen([sys.executable, "-c", code, str(folder)], cwd=ROOT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - begun
        if status:
            raise SystemExit(f"the measured process failed: {status}")
        best = min(best[0], wall), min(best[1], used.ru_utime + used.ru_stime)
    return best


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="*", default=[1, 100, 1000])
    print("| files | Python alone | parsed | read | CPU of reading to parsing |")
    print("|---:|---:|---:|---:|---:|")
    for files in parser.parse_args().files:
        with tempfile.TemporaryDirectory() as scratch:
            count = copies(Path(scratch), files)
            alone, parsed, read = (cost(code, Path(scratch)) for code in ("pass", PARSE, AUDIT))
        cells = [f"{wall:.2f} s ({cpu:.2f} s CPU)" for wall, cpu in (alone, parsed, read)]
        print(f"| {count} | {' | '.join(cells)} | {read[1] / parsed[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
