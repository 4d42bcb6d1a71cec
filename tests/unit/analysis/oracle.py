"""Definitions read as they stand: slow, without arrays, and of a history's lines alone.

Written from the definitions of anomalies and not from checks.anomalies, so that the two can be held against each
other (test_oracle). A history here is a list of operations that are over, each with the place of its line.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """An operation that is over."""

    line: int
    process: str
    outcome: str
    transaction: bool
    sent: list[tuple[str, int, int | None]] = field(default_factory=list)
    """Key, value, offset."""
    given: list[tuple[str, list[tuple[int, int]]]] = field(default_factory=list)
    """Key, (offset, value) in order."""


@dataclass
class History:
    """What the lines say."""

    operations: list[Operation] = field(default_factory=list)
    resets: list[tuple[int, str, str | None]] = field(default_factory=list)
    """Line, process, key (None: all)."""
    ends: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """By key: (line, end offset) of final reads."""
    uncommitted: set[str] = field(default_factory=set)

    def polls(self, key: str) -> Iterator[tuple[Operation, int, int]]:
        """Every record of a key that a poll returned."""
        for operation in self.operations:
            for of_key, records in operation.given:
                for offset, value in records if of_key == key else ():
                    yield operation, offset, value

    def committed(self, operation: Operation) -> bool:
        """ok; or unknown, and an ok poll returned one of its values (of a transaction: at read_committed)."""
        if operation.outcome != "info":
            return operation.outcome == "ok"
        return any(
            poll.outcome == "ok" and value == sent and not (operation.transaction and poll.process in self.uncommitted)
            for key, sent, _ in operation.sent
            for poll, _, value in self.polls(key)
        )

    def sends(self, key: str) -> Iterator[tuple[Operation, int, int | None]]:
        """Every value that was sent to a key."""
        for operation in self.operations:
            for of_key, value, offset in operation.sent:
                if of_key == key:
                    yield operation, value, offset

    def log(self, key: str) -> dict[int, set[int]]:
        """Values by offset, of sends that are committed for sure and of all polls."""
        found: dict[int, set[int]] = {}
        for operation, value, offset in self.sends(key):
            if offset is not None and self.committed(operation):
                found.setdefault(offset, set()).add(value)
        for _, offset, value in self.polls(key):
            found.setdefault(offset, set()).add(value)
        return found


def lost_write(history: History, key: str) -> list[int]:
    """Values passed by readers, missing at the end, or cut off after they were read."""
    polls = list(history.polls(key))
    furthest = max((offset for poll, offset, _ in polls if poll.outcome == "ok"), default=-1)
    asked, end = max(history.ends.get(key, []), default=(-1, None))
    lost = []
    for operation, value, offset in history.sends(key):
        if not history.committed(operation):
            continue
        reads = [(poll, at) for poll, at, read in polls if read == value]
        if not reads:
            passed = offset is not None and offset <= furthest
            missing = end is not None and (operation.line <= asked or (offset is not None and offset < end))
            if passed or missing:
                lost.append(value)
        elif end is not None and operation.outcome == "ok" and operation.line <= asked:
            acknowledged = [
                at
                for other, sent, at in history.sends(key)
                if sent == value and other.outcome == "ok" and at is not None
            ]
            last = max(poll.line for poll, _ in reads)
            taken = {at for poll, at, read in polls if read != value and poll.line > last}
            places = {*acknowledged, *(at for _, at in reads)}
            if last <= asked and all(at >= end or at in taken for at in places):
                lost.append(value)
    return lost


def duplicate(history: History, key: str) -> list[int]:
    """Values at several offsets."""
    places: Counter[int] = Counter()
    for values in history.log(key).values():
        places.update(values)
    return [value for value, count in places.items() if count > 1]


def _steps(history: History, key: str) -> Iterator[tuple[str, int, int]]:
    """From the last record of a poll to the first of the next, of one process, while the key stayed with it."""
    last: dict[str, tuple[int, int]] = {}
    for operation in history.operations:
        for of_key, records in operation.given:
            if of_key != key or not records:
                continue
            process = operation.process
            if process in last:
                line, before = last[process]
                anew = any(
                    line < at <= operation.line and who == process and which in (None, key)
                    for at, who, which in history.resets
                )
                if not anew:
                    yield process, before, records[0][0]
            last[process] = (operation.line, records[-1][0])


def nonmonotonic_poll(history: History, key: str) -> list[int]:
    """Offsets that a consumer went back to, or stood still at."""
    return [after for _, before, after in _steps(history, key) if after <= before]


def poll_skip(history: History, key: str) -> list[int]:
    """Offsets before which a consumer left records out that it should have been given."""
    log = history.log(key)
    pending = {value for op, value, _ in history.sends(key) if op.transaction and not history.committed(op)}
    pending -= {value for op, value, _ in history.sends(key) if history.committed(op)}
    found = []
    for process, before, after in _steps(history, key):
        between = [offset for offset in log if before < offset < after]
        if process not in history.uncommitted:
            between = [offset for offset in between if not log[offset] <= pending]
        if between:
            found.append(after)
    return found


ORACLE = {
    "lost-write": lost_write,
    "duplicate": duplicate,
    "poll-skip": poll_skip,
    "nonmonotonic-poll": nonmonotonic_poll,
}


def anomalies(history: History, keys: list[str]) -> dict[tuple[str, str], list[int]]:
    """By anomaly and key what is wrong, sorted: values, or offsets of the later of two reads."""
    found = {(name, key): sorted(of(history, key)) for name, of in ORACLE.items() for key in keys}
    return {where: rows for where, rows in found.items() if rows}


# Histories at random

KEYS = ["x", "y", "z"]
WRITERS, READERS = ("w1", "w2"), ("r1", "r2", "dirty")


class _Partition:
    """A log that is kept almost as it should be."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int, bool]] = []
        """Offset, value, whether a reader at read_committed is given it."""
        self.next = 0
        self.position: dict[str, int] = {}

    def append(self, value: int, chance: random.Random, *, visible: bool = True) -> int:
        offset = self.next
        self.records.append((offset, value, visible))
        self.next += 1 if chance.random() < 0.85 else 2  # a marker
        return offset


def generate(chance: random.Random) -> tuple[list[Line], History]:
    """A history at random, as lines and as operations: mostly sound, with faults of all the kinds above."""
    lines: list[Line] = []
    history = History(uncommitted={"dirty"})
    partitions = {key: _Partition() for key in KEYS[: chance.randrange(1, 4)]}
    faults = chance.choice([0.0, 0.05, 0.2])
    value = 0

    def note(line: Line) -> int:
        lines.append(line)
        return len(lines)

    def write() -> None:
        nonlocal value
        process, f = chance.choice(WRITERS), chance.choice(["send", "send", "txn"])
        outcome = chance.choice(["ok"] * 6 + ["info", "info", "fail"])
        micro, sent = [], []
        for _ in range(chance.randrange(1, 4)):
            key = chance.choice(list(partitions))
            value += 1
            there = outcome == "ok" or chance.random() < 0.5
            committed = outcome == "ok" or (outcome == "info" and chance.random() < 0.7)
            offset = None
            if there and chance.random() >= faults:
                offset = partitions[key].append(value, chance, visible=f == "send" or committed)
            elif there:
                offset = chance.choice([None, partitions[key].next, max(0, partitions[key].next - 1)])
            if there and chance.random() < faults:
                partitions[key].append(value, chance)
            told = offset if outcome == "ok" and chance.random() < 0.9 else chance.choice([None, offset])
            micro.append(["send", key, [told, value]])
            sent.append((key, value, told))
        line = note({"process": process, "type": outcome, "f": f, "value": micro})
        history.operations.append(Operation(line, process, outcome, f == "txn", sent=sent))

    def poll() -> None:
        process, outcome = chance.choice(READERS), chance.choice(["ok"] * 8 + ["fail", "info"])
        given, rebalanced = [], []
        for key, partition in partitions.items():
            if chance.random() < 0.3:
                continue
            at = partition.position.get(process, 0)
            if chance.random() < faults:
                at = max(0, at + chance.choice([-2, -1, 1, 2]))
            if chance.random() < faults:
                rebalanced.append(key)
            able = [(n, r) for n, r in enumerate(partition.records) if n >= at and (r[2] or process == "dirty")]
            able = able[: chance.randrange(1, 4)]
            if able:
                partition.position[process] = able[-1][0] + 1
                given.append((key, [(offset, of) for _, (offset, of, _) in able]))
        f = chance.choice(["poll", "poll", "txn"])
        micro = [["poll", {key: [list(record) for record in records] for key, records in given}]]
        line: Line = {"process": process, "type": outcome, "f": f, "value": micro}
        if rebalanced:
            line["rebalanced"] = rebalanced
        if process == "dirty":
            line["isolation"] = "read_uncommitted"
        number = note(line)
        history.resets += [(number, process, key) for key in rebalanced]
        history.operations.append(Operation(number, process, outcome, f == "txn", given=given))

    def other() -> None:
        process = chance.choice(READERS)
        what = chance.choice(["subscribe", "crash", "final-read", "final-read"])
        if what == "final-read":
            ends = {key: max(0, one.next - chance.choice([0, 0, 0, 1, 2])) for key, one in partitions.items()}
            number = note({"process": process, "type": "ok", "f": what, "value": ends})
            for key, end in ends.items():
                history.ends.setdefault(key, []).append((number, end))
        else:
            number = note({"process": process, "type": "info" if what == "crash" else "ok", "f": what})
            history.resets.append((number, process, None))

    for _ in range(chance.randrange(1, 30)):
        chance.choice([write] * 6 + [poll] * 9 + [other])()
    return lines, history
