"""Histories of others, damaged at random: whatever a file holds is judged or refused, and never ends in a traceback.

python -m tests.unit.analysis.test_jsonl_mutations 4000     as many mutations as wanted, in this process
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from analysis.jsonl import main
from evidence.errors import EXIT_USAGE

pytestmark = pytest.mark.slow

HISTORY: Final[list[dict[str, Any]]] = [
    {"process": 0, "type": "invoke", "f": "send", "value": [["send", "k", 7]], "time": 1},
    {"process": 0, "type": "ok", "f": "send", "value": [["send", "k", [0, 7]]], "time": 2},
    {"process": 0, "type": "invoke", "f": "txn", "value": [["send", "k", "a"], ["send", "l", [1, 2]]], "time": 3},
    {
        "process": 0,
        "type": "info",
        "f": "txn",
        "value": [["send", "k", "a"], ["send", "l", [0, [1, 2]]]],
        "error": "no",
    },
    {"process": 1, "type": "ok", "f": "assign", "value": ["k", "l"]},
    {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"k": [[0, 7], [1, "a"]], "l": []}]], "time": 9},
    {"process": "p", "type": "ok", "f": "process", "value": [["processed", "k", 0], ["send", "out", [0, "A"]]]},
    {"process": "p", "type": "ok", "f": "process", "value": [["commit", "k", 2]], "time": 12},
    {
        "process": 2,
        "type": "info",
        "f": "poll",
        "value": [["poll", {"k": [[1, "a"]]}]],
        "isolation": "read_uncommitted",
    },
    {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"out": [[0, "A"]]}]], "rebalanced": ["k"]},
    {"process": 1, "type": "info", "f": "crash"},
    {"process": 1, "type": "ok", "f": "subscribe", "value": ["t"]},
    {"process": 3, "type": "invoke", "f": "final-read", "value": {}, "time": 20},
    {"process": 3, "type": "ok", "f": "poll", "value": [["poll", {"k": [[0, 7], [1, "a"]]}]], "time": 21},
    {"process": 3, "type": "ok", "f": "final-read", "value": {"k": 2, "l": 1}, "time": 22},
]
STRANGE: Final[list[Any]] = [
    *(None, True, False, 0, -1, -3, 0.5, 1e400, float("nan"), 2**31, 2**63 - 1, 2**63, -(2**63), 2**70, 10**4000),
    *("", "0", "k", "\ud800", "\x00", "\x1b[2J", "é" * 99, [], {}, [[]], [[0]], [0, 0], [None, None], {"k": None}),
    *(
        [["poll"]],
        [["poll", None]],
        [["send"]],
        [["send", [], {}]],
        {"k": [[0, 7]]},
        ["k"],
        "final-read",
        "txn",
        "invoke",
    ),
]
BYTES: Final = [
    b"",
    b"\xff\xfe",
    b"\x00",
    b"\xed\xa0\x80",
    b"[" * 5000,
    b"\xef\xbb\xbf",
    b"\n",
    b'"',
    b"\\u",
    b"9" * 5000,
]


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything that a JSON value is made of."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for name, one in inner for path in _places(one, (*at, name)))]


def _change(line: Any, chance: random.Random) -> Any:
    """The line with one part of it replaced, removed, doubled or wrapped."""
    path = chance.choice(_places(line))
    strange = chance.choice(STRANGE)
    if not path:
        return chance.choice([strange, [line], line])
    holder = line
    for name in path[:-1]:
        holder = holder[name]
    how = chance.randrange(6)
    if how == 0:
        del holder[path[-1]]
    elif how == 1:
        holder[path[-1]] = [holder[path[-1]]]
    elif how == 2 and isinstance(holder, list):
        holder.insert(path[-1], strange)
    elif how == 3 and isinstance(holder, dict):
        holder[str(strange)[:20]] = holder.pop(path[-1])
    else:
        holder[path[-1]] = strange
    return line


def mutated(chance: random.Random) -> bytes:
    """A history with up to four things wrong in it."""
    lines: list[Any] = json.loads(json.dumps(HISTORY))
    for _ in range(chance.randrange(1, 4)):
        at, how = chance.randrange(len(lines)), chance.randrange(8)
        if how == 0:
            lines.insert(at, json.loads(json.dumps(chance.choice(lines))))
        elif how == 1 and len(lines) > 1:
            del lines[at]
        elif how == 2:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = _change(lines[at], chance)
    text = "".join(json.dumps(line, ensure_ascii=chance.random() < 0.5) + "\n" for line in lines)
    content = text.encode(errors="surrogatepass")
    if chance.random() < 0.3:
        at = chance.randrange(len(content))
        content = content[:at] + chance.choice(BYTES) + content[at + chance.randrange(3) :]
    return content[: chance.randrange(len(content))] if chance.random() < 0.1 else content


def judged(content: bytes, folder: Path, *options: str) -> int:
    """The exit status of the command on a file of this content."""
    path = folder / "history.jsonl"
    path.write_bytes(content)
    said = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        return main([str(path), *options])


def outcomes(seeds: range, folder: Path) -> Counter[int]:
    """How often each exit status came of the mutations of these seeds. Raises what the command raises."""
    found: Counter[int] = Counter()
    for seed in seeds:
        chance = random.Random(seed)
        content = mutated(chance)
        try:
            found[judged(content, folder, *(["--json"] if chance.random() < 0.5 else []))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{content[:3000]!r}") from error
    return found


def test_a_damaged_history_is_judged_or_refused(tmp_path: Path) -> None:
    found = outcomes(range(300), tmp_path)
    assert set(found) <= {0, 1, 2, EXIT_USAGE}
    assert found[2] > 50  # most are in doubt, and none of them by a check that crashed unseen


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(sorted(outcomes(range(int(sys.argv[1])), Path(scratch)).items()))
