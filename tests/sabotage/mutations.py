"""Run directories damaged at random: what they come to is a verdict or a refusal, never a traceback and never a pass.

    python -m tests.sabotage.mutations 3000 runs/sabotage/fresh/*     as many mutations as wanted of these runs, in turn

One file of a copy is damaged and the copy judged, as it is and, one time in two, with the manifest made anew. As it is
it must not pass: the manifest tells. With a manifest that was made anew a run that passes is one of which nothing
changed that anything is concluded from; what must not be then is an accusation of Kafka by the damage of a history or
of a copy that has checksums.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from analysis.check import check_run
from evidence.errors import UsageError
from evidence.findings import write_findings
from evidence.manifest import FILES
from evidence.rundir import RunDir
from judgement.report import console, html, junit
from judgement.report.facts import judge_run, load
from tests.sabotage.__main__ import forge

NOT_PASSED: Final = ("unknown", "unexpected", "not-reproduced", "error", "refused")
CHECKED: Final = (".arrows", ".parquet")
"""Files of which every damage is known by their own checksums."""
STRANGE: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 0.5, 2**31, 2**63, 10**30, float("inf"), "", "x", "\ud800", "\x1b[2J", [], {}, [[]], {"a": None},
)  # fmt: skip


def damaged(path: Path, chance: random.Random) -> str:
    """Damage a file in one way, and say in which."""
    data = bytearray(path.read_bytes())
    ways = ["flip", "cut", "remove", "splice", "empty"] + ["value"] * 4 * (path.suffix in (".json", ".jsonl"))
    way = chance.choice(ways)
    at = chance.randrange(len(data)) if data else 0
    if way == "remove":
        path.unlink()
    elif way == "value" and (text := _other_value(data.decode(errors="replace"), path.suffix, chance)):
        path.write_text(text)
    elif way == "splice":
        path.write_bytes(data[:at] + data[at // 2 : at // 2 + 64] + data[at:])
    elif way in ("empty", "cut") or not data:
        path.write_bytes(data[: 0 if way == "empty" else at])
    else:
        data[at] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
    return way


def _other_value(text: str, suffix: str, chance: random.Random) -> str | None:
    """JSON, or a line of it, in which one value is another."""
    lines = [text] if suffix == ".json" else text.splitlines()
    at = chance.randrange(len(lines)) if lines else 0
    try:
        value = json.loads(lines[at])
    except (ValueError, IndexError):
        return None
    inner = value
    while isinstance(inner, (dict, list)) and inner:
        key = chance.choice(list(inner)) if isinstance(inner, dict) else chance.randrange(len(inner))
        if isinstance(inner[key], (dict, list)) and inner[key] and chance.random() < 0.8:
            inner = inner[key]
            continue
        inner[key] = chance.choice(STRANGE)
        break
    lines[at] = json.dumps(value)
    return "\n".join(lines) + "\n"


def files_of(run_dir: RunDir) -> list[Path]:
    """What may be damaged: the evidence, the manifest, and what was written about it."""
    named = [run_dir.path / name for name in (*FILES, run_dir.manifest.name)]
    below = [path for name in ("history", "replicas", "logs", "config") for path in (run_dir.path / name).rglob("*")]
    return [path for path in (*named, *sorted(below)) if path.is_file()]


def verdict_of(run_dir: RunDir) -> str:
    """The verdict, its reports written; "refused" for one line that says why it cannot be judged."""
    try:
        run_dir.read_run()
        write_findings(run_dir, check_run(run_dir))
        verdict = judge_run(run_dir).verdict.verdict
        facts = load(run_dir)
        html.write_run(facts)
        junit.write_run(facts)
        console.run_summary(facts)
    except UsageError as error:
        return "refused" if len(str(error).splitlines()) == 1 else f"refused in several lines: {error}"
    return str(verdict)


def fuzz(runs: Sequence[RunDir], count: int, scratch: Path, *, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """How often each verdict came, and what was wrong."""
    chance, seen, wrong = random.Random(seed), Counter[str](), []
    for number in range(count):
        original = runs[number % len(runs)]
        copy = RunDir(scratch / "copy")
        shutil.rmtree(copy.path, ignore_errors=True)
        shutil.copytree(original.path, copy.path)
        path = chance.choice(files_of(copy))
        relative = path.relative_to(copy.path)
        before = path.read_bytes()
        way = damaged(path, chance)
        changed = not path.exists() or path.read_bytes() != before
        again = chance.random() < 0.5
        what = f"{number}: {original.path.name}: {relative}: {way}{', manifest made anew' if again else ''}"
        try:
            if again:
                _forged(copy)
            verdict = verdict_of(copy)
        except Exception:
            seen["crashed"] += 1
            wrong.append(f"{what}: {traceback.format_exc()}")
            continue
        seen[verdict + (" (manifest made anew)" if again else "")] += 1
        if changed and not again and verdict not in NOT_PASSED:
            wrong.append(f"{what}: {verdict}")
        if again and verdict in ("unexpected", "not-reproduced") and path.suffix in CHECKED:
            wrong.append(f"{what}: {verdict}")
    return seen, wrong


def _forged(run_dir: RunDir) -> None:
    """Make the manifest anew, if what is left of the run lets anybody."""
    try:
        forge(run_dir)
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage.mutations", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        seen, wrong = fuzz([RunDir(path) for path in options.runs], options.count, Path(scratch), seed=options.seed)
    print(dict(seen))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
