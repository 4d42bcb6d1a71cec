"""Histories of others for tests, at random, and what analysis.large_history makes of one without Spark's shuffles."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

from analysis.across import in_one_process
from analysis.jsonl_keys import of_lines, settled_by
from analysis.jsonl_reader import Others
from analysis.large_history import (
    FileRange,
    PartCounts,
    checked_keys,
    line_count,
    parsed_lines,
    told_of_unknown,
    understood,
)
from analysis.result import merge
from evidence.findings import Findings

Line = dict[str, Any]


def history(chance: Random, *, operations: int = 40, name: str = "") -> list[Line]:
    """A history with most of what there is: losses, skips, steps back, unknown operations, transactions, crashes,
    pipelines, operations that overlap. Keys and processes begin with `name`.
    """
    log: dict[str, list[int]] = {f"{name}k{number}": [] for number in range(chance.randrange(1, 4))}
    found: list[Line] = []
    opened: list[tuple[Line, Line]] = []
    for number in range(operations):
        process, key = f"{name}p{chance.randrange(4)}", chance.choice(sorted(log))
        line: Line = {"process": process}
        what = chance.randrange(12)
        if what < 6:
            micro = [key, chance.choice(sorted(log))][: 1 + (what == 5)]
            line["f"] = "txn" if what > 3 else "send"
            outcome = chance.choice(["ok"] * 6 + ["fail", "info"])
            invoked = line | {"type": "invoke", "value": [["send", one, number] for one in micro]}
            sent: list[Any] = []
            for one in micro:
                written = outcome == "ok" or chance.random() < {"ok": 0, "info": 0.5, "fail": 0.2}[outcome]
                sent.append(["send", one, [len(log[one]), number] if outcome == "ok" else number])
                if written and chance.random() < 0.97:
                    log[one].append(number)
            if what > 3 and chance.random() < 0.5 and log[key]:
                sent.append(["poll", {key: [[len(log[key]) - 1, log[key][-1]]]}])
            opened.append((invoked, line | {"type": outcome, "value": sent}))
        elif what < 9:
            begin = chance.randrange(len(log[key]) + 1)
            records = list(enumerate(log[key]))[begin : begin + 4]
            given = {key: [[offset + (chance.random() < 0.02), value] for offset, value in records]}
            more: Line = {"isolation": "read_uncommitted"} if chance.random() < 0.1 else {}
            more |= {"rebalanced": [key]} if chance.random() < 0.1 else {}
            outcome = chance.choice(["ok", "ok", "ok", "info"])
            invoked = line | {"type": "invoke", "f": "poll", "value": []}
            opened.append((invoked, line | more | {"type": outcome, "f": "poll", "value": [["poll", given]]}))
        elif what == 9:
            step = [chance.choice(["processed", "commit"]), key, chance.randrange(len(log[key]) + 1)]
            found.append(line | {"type": chance.choice(["ok", "info"]), "f": "process", "value": [step]})
        elif what == 10:
            function = chance.choice(["assign", "subscribe", "crash"])
            found.append(line | {"type": "info" if function == "crash" else "ok", "f": function, "value": [key]})
        while opened and chance.random() < 0.8:
            invoked, completed = opened.pop(chance.randrange(len(opened)))
            if completed is not invoked and chance.random() < 0.1:
                found.append(invoked)
                opened.append((completed, completed))  # much later, when its process has begun another, or never
            else:
                found += [invoked, completed] if completed is not invoked else [completed]
    for number, line in enumerate(found):
        if chance.random() < 0.8:
            line["time"] = number * 10
    if chance.random() < 0.7:
        found.append({"process": "end", "type": "ok", "f": "final-read", "value": {k: len(v) for k, v in log.items()}})
    return found


def as_bytes(lines: list[Line]) -> bytes:
    """The lines of a file."""
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def checked_in_parts(path: Path, parts: PartCounts, range_bytes: int) -> Findings:
    """What the tasks of analysis.large_history come to, called in turn; parts go from one to the next as bytes."""
    size, before = path.stat().st_size, 0
    blobs: list[tuple[tuple[int, int], bytes]] = []
    for begin in range(0, size, range_bytes):
        of = FileRange(begin, min(begin + range_bytes, size), before)
        blobs += parsed_lines(path, of, parts)
        before += line_count(path, of)
    rows: list[tuple[int, Any]] = []
    for part in range(parts.processes):
        rows += pickle.loads(pickle.dumps(list(understood(sorted(one for one in blobs if one[0][0] == part), parts))))
    facts = Others()
    for part, one in rows:
        if part == parts.keys:
            facts.join(one)
    facts.refuse_other_files(path)
    of_keys = [[one for one in rows if one[0] == part] for part in range(parts.keys)]
    settled = settled_by(one for records in of_keys for one in told_of_unknown(records, facts))
    found = sorted(
        (one for records in of_keys for one in checked_keys(records, facts, settled)), key=lambda one: one[0]
    )
    results = [result for _, result, _ in found]
    for _, result, gathered in found:
        result.gathered = gathered
    across = in_one_process(results)
    return merge([of_lines(facts), *results], 0.0, across)
