"""Reading histories of others: lines of JSON become rows of keys, and what is wrong with a line becomes a problem.

A line counts as a whole or not at all: every part is checked before any is used. A refused line may have held anything,
so its process (every process, if the line does not name one) may have read or sent anything, at any position:
`Others.readers_missing`, `writers_missing` and the resets say so, as for processes of a run whose history is torn.

A line is understood from what its own process did before, and from nothing else. So a `LineReader` may be given the
lines of some processes alone. It hands on what an operation did in each key (`KeyRow`) when it has ended. Rows of a
key, put in their `order`, are the same whoever read which line. analysis.large_history reads processes apart.

The order of events is that of the lines, and the number of a line stands for the time at which it was written. The
recorder put them in order, so no clock is needed for it. Stated times (`Others.times`) are for the lag alone.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from evidence.errors import UsageError
from evidence.findings import Problem
from evidence.history import schema

INVOKE: Final = "invoke"
OUTCOMES: Final = (schema.OK, schema.FAIL, schema.INFO)
SEND, POLL, END, CHANGE = "send", "poll", "end", "change"
STEPS: Final = ("processed", "commit")
DATA: Final = ("send", "poll", "txn", "process")
"""Operations on records."""
CHANGES: Final = ("assign", "subscribe", "crash")
"""Operations that change what a process reads, and hold no records."""
NONE: Final = -1
LARGEST: Final = 2**63 - 1
DEEPEST: Final = 100
"""How deep lists and objects in a value may be nested."""
REFUSED: Final = (ValueError, TypeError, RecursionError)
"""What a line raises that is refused."""
_ABSENT: Final = object()


class ValueLines(NamedTuple):
    """A value that was sent or polled. Lines stand for times."""

    value: int
    """Its number in the key."""
    offset: int
    outcome: str
    op: int
    transaction: int
    invoked: int
    completed: int
    """The line at which the operation ended, in whatever way; NONE: it never did."""
    process: str
    begun: bool
    """Whether its invocation has a line."""


class OffsetStep(NamedTuple):
    """An offset that was processed or committed."""

    offset: int
    outcome: str
    op: int
    transaction: int
    completed: int
    process: str


class EndReached(NamedTuple):
    """A final read that came to an end offset, which it had asked for at a line."""

    asked: int
    offset: int


@dataclass(slots=True)
class PartitionLines:
    """One partition: what happened there, and the values that were named."""

    sends: list[ValueLines] = field(default_factory=list)
    polls: list[ValueLines] = field(default_factory=list)
    processed: list[OffsetStep] = field(default_factory=list)
    commits: list[OffsetStep] = field(default_factory=list)
    ends: list[EndReached] = field(default_factory=list)
    changes: dict[str, list[int]] = field(default_factory=dict)
    """By process: the operations at which this key alone was assigned to it or revoked."""
    values: list[Any] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        """The number that stands for a value; the next free one if the value is new."""
        name = _named(value)
        if name not in self._numbers:
            self._numbers[name] = len(self.values)
            self.values.append(value)
        return self._numbers[name]


class KeyRow(NamedTuple):
    """What an operation did in one key, once it has ended. Lines stand for times, beside the times that they state."""

    key: str
    kind: str
    """SEND, POLL, one of STEPS, END, or CHANGE: the process's position begins anew."""
    what: Any
    """The value that was sent, the (offset, value) that were polled, or None."""
    offset: int
    outcome: str
    op: int
    transaction: int
    invoked: int
    completed: int
    process: str
    begun: bool
    place: int
    """Among all that the operation did."""
    invoked_ns: int
    completed_ns: int

    @property
    def order(self) -> tuple[int, int, int]:
        """Its place among the rows of its key: in the order of completions, then those that never were completed."""
        return (self.completed if self.completed != NONE else LARGEST, self.invoked, self.place)


class _Sent(NamedTuple):
    key: str
    offset: int
    value: Any


class _Given(NamedTuple):
    key: str
    records: list[tuple[int, Any]]


class _Done(NamedTuple):
    key: str
    step: str
    offset: int


_Part = _Sent | _Given | _Done


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation from its invocation on."""

    number: int
    process: str
    function: str
    line: int
    parts: list[_Part]
    value: Any
    at_ns: int
    begun: bool = True

    @property
    def sent(self) -> list[tuple[str, Any]]:
        return [(part.key, _named(part.value)) for part in self.parts if isinstance(part, _Sent)]


@dataclass(slots=True)
class Others:
    """A history, or a part of it: rows by key, what is known of processes, and what is wrong with lines."""

    keys: dict[str, PartitionLines] = field(default_factory=dict)
    times: MutableSequence[int] | dict[int, int] = field(default_factory=lambda: array("q", [NONE]))
    """By line, from 1 on; NONE where there is none."""
    numbered: list[tuple[int, Problem]] = field(default_factory=list)
    """Problems, with their lines."""
    errors: Counter[str] = field(default_factory=Counter)
    uncommitted: set[str] = field(default_factory=set)
    overlapping: set[str] = field(default_factory=set)
    """Processes that had two operations at once; their order is not known."""
    readers_missing: bool = False
    writers_missing: bool = False
    resets: dict[str, list[int]] = field(default_factory=dict)
    """By process: the operations at which its positions in all keys began anew."""
    resets_of_all: list[int] = field(default_factory=list)
    """The same, of every process."""
    unknown: bool = False
    """Whether the outcome of any operation on records is unknown."""
    lines: int = 0
    """Lines that are not blank."""
    taken: int = 0
    """Lines that were not refused."""

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with lines, in their order."""
        return [problem for _, problem in sorted(self.numbered, key=lambda one: one[0])]

    def changes(self, key: PartitionLines, process: str) -> list[int]:
        """The operations at which a process's position in a key began anew, ascending."""
        own = (key.changes.get(process, ()), self.resets.get(process, ()), self.resets_of_all)
        return sorted({number for numbers in own for number in numbers})

    def add(self, row: KeyRow) -> None:
        """Add a row to its key, which is made if it is new. Rows of a key are to come in their order."""
        key = self.keys.get(row.key)
        if key is None:
            key = self.keys[row.key] = PartitionLines()
        kind, what, offset, outcome, op, transaction, invoked, completed, process, begun = row[1:11]
        if kind == SEND:
            value = key.number(what)
            key.sends.append(ValueLines(value, offset, outcome, op, transaction, invoked, completed, process, begun))
        elif kind == POLL:
            common = (outcome, op, transaction, invoked, completed, process, begun)
            key.polls += [ValueLines(key.number(value), at, *common) for at, value in what]
        elif kind in STEPS:
            steps = key.processed if kind == "processed" else key.commits
            steps.append(OffsetStep(offset, outcome, op, transaction, completed, process))
        elif kind == END:
            key.ends.append(EndReached(invoked, offset))
        elif kind == CHANGE:
            key.changes.setdefault(process, []).append(op)

    def join(self, other: Others) -> None:
        """Take what another part of the history tells of its processes; keys and times are left to it."""
        self.numbered += other.numbered
        self.errors += other.errors
        self.uncommitted |= other.uncommitted
        self.overlapping |= other.overlapping
        self.readers_missing |= other.readers_missing
        self.writers_missing |= other.writers_missing
        for process, numbers in other.resets.items():
            self.resets.setdefault(process, []).extend(numbers)
        self.resets_of_all += other.resets_of_all
        self.unknown |= other.unknown
        self.lines += other.lines
        self.taken += other.taken

    def refuse_other_files(self, path: Path) -> None:
        """Raise UsageError if there are lines, and none of them is one of a history."""
        if self.lines and not self.taken:
            reason = self.problems[0].detail
            raise UsageError(f"{path}: no history ({reason}); docs/histories-of-others.md has the form")


@dataclass(slots=True)
class LineReader:
    """What reads the lines of some processes, in their order."""

    emit: Callable[[KeyRow], None]
    """Takes each row, in order."""
    others: Others = field(default_factory=Others)
    """What is known of these processes."""
    at_ns: int = NONE
    """The time that the line states."""
    _open: dict[str, _Operation] = field(default_factory=dict)
    _left: dict[str, list[_Operation]] = field(default_factory=dict)
    """Operations that were still open when their process began another."""
    _held: dict[str, set[str]] = field(default_factory=dict)
    """Keys that each process reads."""

    def take(self, number: int, line: dict[str, Any] | str) -> None:
        """Take one line, parsed, or the reason why it is refused (`parsed`)."""
        self.others.lines += 1
        self.at_ns = NONE
        reason = line if isinstance(line, str) else ""
        if isinstance(line, dict):
            try:
                self._add(number, line)
            except REFUSED as error:
                reason = refusal(error)
        if reason:
            process = self._refuse(number, line if isinstance(line, dict) else {})
            self._problem(number, "damaged history", process, reason)
        else:
            self.others.taken += 1

    def close(self) -> None:
        """End the history: the outcome of operations that are still open is unknown."""
        self.at_ns = NONE
        for begun in list(self._open.values()):
            self._finish(begun, schema.INFO, NONE)
        self._open.clear()

    def _problem(self, number: int, what: str, process: str, detail: str) -> None:
        self.others.numbered.append((number, Problem(what, process, f"line {number}: {detail}")))

    def _add(self, number: int, line: dict[str, Any]) -> None:
        process, kind, function = str(_stated(line, "process")), _stated(line, "type"), _stated(line, "f")
        if kind not in (INVOKE, *OUTCOMES):
            raise ValueError(f"the type {_short(kind)} is not one of invoke, ok, fail, info")
        at_ns = line.get("time")
        if at_ns is not None:
            self.at_ns = _whole(at_ns, "the time", least=-LARGEST - 1)
        rebalanced = _names(line.get("rebalanced") or [], "rebalanced")
        value = line.get("value")
        if function == "crash":
            self._crash(process, number)
        elif function in DATA:
            if kind == INVOKE:
                self._invoke(_Operation(number, process, function, number, _parts(value or []), value, self.at_ns))
            else:
                self._complete(process, function, number, kind, line, rebalanced)
        elif function in ("assign", "subscribe", "final-read"):
            self._other(process, function, number, kind, value)
        else:
            raise ValueError(f"the operation {_short(function)} is unknown")
        if line.get("isolation") == "read_uncommitted":
            self.others.uncommitted.add(process)

    def _refuse(self, number: int, line: Mapping[str, Any]) -> str:
        """Refuse a line: only the process and the operation that it names are believed. Returns the process, "" if the
        line names none.
        """
        process, function = line.get("process"), line.get("f")
        named = type(process) in (str, int) and str(process).isprintable()  # half a surrogate pair names nobody
        others = self.others
        others.readers_missing |= function not in ("send", *CHANGES, "final-read")
        others.writers_missing |= function not in ("poll", *CHANGES, "final-read")
        if function not in ("send", "final-read"):
            (others.resets.setdefault(str(process), []) if named else others.resets_of_all).append(number)
        return str(process) if named else ""

    def _invoke(self, operation: _Operation) -> None:
        self._leave(operation.process, operation.line)
        self._open[operation.process] = operation

    def _leave(self, process: str, line: int) -> None:
        """The process begins another operation: the outcome of the open one is unknown."""
        begun = self._open.pop(process, None)
        if begun is not None:
            self._finish(begun, schema.INFO, line)
            self._left.setdefault(process, []).append(begun)

    def _crash(self, process: str, line: int) -> None:
        begun = self._open.pop(process, None)
        if begun is not None:
            self._finish(begun, schema.INFO, line)
        self._left.pop(process, None)
        self._held.pop(process, None)
        self._reset_all(process, line)

    def _reset_all(self, process: str, line: int) -> None:
        self.others.resets.setdefault(process, []).append(line)

    def _complete(
        self, process: str, function: str, number: int, kind: str, line: Mapping[str, Any], rebalanced: set[str]
    ) -> None:
        value, begun = line.get("value"), self._begun(process, function)
        error = str(line["error"]) if line.get("error") is not None and kind == schema.INFO else None
        parts = begun.parts if value is None and begun else _parts(value or [], ended=kind, begun=begun)
        operation = _Operation(number, process, function, number, parts, value, self.at_ns, begun=False)
        if begun is not None and begun.sent and begun.sent != operation.sent:
            begun = None
            parts = _parts(value, ended=kind)
        if begun is None:
            self._late(process, operation, number)
            self._leave(process, number)
            operation = _Operation(number, process, function, number, parts, value, self.at_ns, begun=False)
        else:
            del self._open[process]
            operation = _Operation(begun.number, process, function, begun.line, parts, value, begun.at_ns)
        for name in rebalanced:
            self._emit_change(name, process, operation.number)
        if error is not None:
            self.others.errors[error] += 1
        self._finish(operation, kind, number)

    def _begun(self, process: str, function: str) -> _Operation | None:
        """The operation that a completion of this function ends, as far as its function tells."""
        begun = self._open.get(process)
        return begun if begun is not None and begun.function == function else None

    def _late(self, process: str, ended: _Operation, line: int) -> None:
        """A completion of an operation that was left open: its process had two operations at once."""
        for left in self._left.get(process, ()):
            if left.function == ended.function and (not left.sent or left.sent == ended.sent):
                self._left[process].remove(left)
                if process not in self.others.overlapping:
                    detail = (
                        f"{process} ended an operation that it had begun at line {left.line} and left for "
                        "another; with two at once their order is not known, and is not checked"
                    )
                    self._problem(line, "overlapping operations", process, detail)
                self.others.overlapping.add(process)
                return

    def _finish(self, operation: _Operation, outcome: str, completed: int) -> None:
        """Add the rows of an operation that has ended."""
        if operation.function not in DATA:
            return
        self.others.unknown |= outcome == schema.INFO
        number, process = operation.number, operation.process
        transaction = number if operation.function == "txn" else NONE
        common = (outcome, number, transaction, operation.line, completed, process, operation.begun)
        for place, part in enumerate(operation.parts):
            if isinstance(part, _Sent):
                kind, what, offset = SEND, part.value, part.offset
            elif isinstance(part, _Given):
                kind, what, offset = POLL, part.records, NONE
                self._held.setdefault(process, set()).add(part.key)
            else:
                kind, what, offset = part.step, None, part.offset
            self.emit(KeyRow(part.key, kind, what, offset, *common, place, operation.at_ns, self.at_ns))

    def _emit_change(self, name: str, process: str, number: int) -> None:
        self.emit(KeyRow(name, CHANGE, None, NONE, "", number, NONE, number, number, process, True, 0, NONE, NONE))

    def _other(self, process: str, function: str, number: int, kind: str, value: Any) -> None:
        """Take an operation that changes or ends what a process reads, and holds no records."""
        if kind == INVOKE:
            if function != "final-read":
                _names(value or [], "value")
            else:
                _ends(value or {})
            self._invoke(_Operation(number, process, function, number, [], value, self.at_ns))
            return
        begun = self._begun(process, function)
        value = begun.value if begun and value is None else value
        asked, asked_ns = (begun.line, begun.at_ns) if begun else (number, self.at_ns)
        if function == "final-read":
            ends = _ends(value or {})
            if not ends and kind == schema.OK:
                raise ValueError("a final-read without {key: end offset}")
            for name, offset in ends.items() if kind == schema.OK else ():
                common = (kind, asked, NONE, asked, number, process, begun is not None)
                self.emit(KeyRow(name, END, None, offset, *common, 0, asked_ns, self.at_ns))
        else:
            keys = _names(value or [], "value")
            if kind != schema.FAIL:
                self._change(process, function, kind, keys, number)
        if begun is None:
            self._leave(process, number)
        else:
            del self._open[process]

    def _change(self, process: str, function: str, kind: str, keys: set[str], number: int) -> None:
        if function == "subscribe" or kind == schema.INFO:
            self._reset_all(process, number)
            self._held[process] = set()
        else:
            for name in keys ^ self._held.get(process, set()):
                self._emit_change(name, process, number)
            self._held[process] = keys


# One line


def parsed(text: bytes) -> dict[str, Any] | str:
    """A line's object, or the reason why it is refused."""
    try:
        return _object(text)
    except REFUSED as error:
        return refusal(error)


def refusal(error: Exception) -> str:
    """Why a line is refused."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _object(text: bytes) -> dict[str, Any]:
    try:
        line = json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(line, dict):
        raise ValueError(f"{_short(line)} is no JSON object")
    if b"\\u" in text:
        _encoded(line)
    return line


def _encoded(line: Any) -> None:
    """Raises ValueError for half of a surrogate pair, which cannot be encoded again."""
    try:
        json.dumps(line, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands for no character") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _stated(line: Mapping[str, Any], name: str) -> Any:
    found = line.get(name)
    if found is None or isinstance(found, list | dict) or (name != "process" and not isinstance(found, str)):
        raise ValueError(f"{name} is {_short(found)}" if name in line else f"there is no {name}")
    return found


def _whole(value: Any, what: str, *, least: int = 0) -> int:
    """A whole number of 64 bits; ValueError if it is anything else."""
    if type(value) is not int or not least <= value <= LARGEST:
        raise ValueError(f"{what} {_short(value)} is no whole number from {least} to 2^63 - 1")
    return value


def _name(key: Any) -> str:
    if isinstance(key, bool) or not isinstance(key, str | int | float):
        raise ValueError(f"the key {_short(key)} is neither a name nor a number")
    return str(key)


def _names(value: Any, what: str) -> set[str]:
    if not isinstance(value, list):
        raise ValueError(f"{what} {_short(value)} is no list of keys")
    return {_name(one) for one in value}


def _ends(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError(f"{_short(value)} is not {{key: end offset}}")
    return {name: _whole(offset, "the end offset") for name, offset in value.items()}


def _named(value: Any) -> Any:
    """A key that tells a value from all others: itself, or its JSON where Python takes different values for equal."""
    if type(value) in (str, int):
        return value
    return (json.dumps(value, sort_keys=True),)


def _allowed(value: Any, deep: int = 0) -> Any:
    """The value; RecursionError if it is nested deeper than `DEEPEST`."""
    if isinstance(value, list | dict):
        if deep == DEEPEST:
            raise RecursionError
        for one in value.values() if isinstance(value, dict) else value:
            _allowed(one, deep + 1)
    return value


def _parts(value: Any, *, ended: str = "", begun: _Operation | None = None) -> list[_Part]:
    """The micro-operations of an operation, in order, of its invocation or (`ended`) its completion."""
    if not isinstance(value, list):
        raise ValueError(f"{_short(value)} is no list of micro-operations")
    # What an invocation says was looked at when it was read.
    whole = [one[2] if one[0] == "send" else _ABSENT for one in begun.value or ()] if begun else []
    same = len(whole) == len(value)
    parts: list[_Part] = []
    for place, one in enumerate(value):
        if not isinstance(one, list) or not one:
            raise ValueError(f"{_short(one)} is no micro-operation")
        if one[0] == "poll" and len(one) <= 2:
            parts += _given(one[1] if len(one) == 2 and one[1] is not None else {})
        elif one[0] == "send" and len(one) == 3:
            if ended:
                parts.append(_Sent(_name(one[1]), *_told(one[2], whole[place] if same else _ABSENT)))
            else:
                parts.append(_Sent(_name(one[1]), NONE, _allowed(one[2])))
        elif one[0] in STEPS and len(one) == 3:
            parts.append(_Done(_name(one[1]), one[0], _whole(one[2], "the offset")))
        else:
            raise ValueError(f"{_short(one)} is not one of send, poll, {', '.join(STEPS)} with what belongs to it")
    return parts


def _given(records: Any) -> Iterable[_Given]:
    if not isinstance(records, dict):
        raise ValueError(f"{_short(records)} is not {{key: [[offset, value], …]}}")
    for name, pairs in records.items():
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ValueError(f"{_short(pairs)} is not [[offset, value], …]")
        yield _Given(name, [(_whole(offset, "the offset"), _allowed(value)) for offset, value in pairs])


def _told(value: Any, whole: Any) -> tuple[int, Any]:
    """Offset and value of a send that is over. Its value is known from the invocation, if there is one; without one
    a list is [offset, value].
    """
    if isinstance(value, list):
        if whole is not _ABSENT and _named(value) == _named(whole):
            return NONE, value
        if len(value) != 2:
            raise ValueError(f"{_short(value)} is not [offset, value]")
        return NONE if value[0] is None else _whole(value[0], "the offset"), _allowed(value[1])
    return NONE, value


def read(path: Path) -> Others:
    """Read a history. Raises UsageError if there is no such file, or nothing in it can be read."""
    times = array("q", [NONE])
    others = Others(times=times)
    reader = LineReader(others.add, others)
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    reader.take(number, parsed(text))
                times.append(reader.at_ns if text.strip() else NONE)
    except OSError as error:
        raise unreadable(path, error) from None
    others.refuse_other_files(path)
    reader.close()
    return others


def unreadable(path: Path, error: OSError) -> UsageError:
    """What to say of a file that cannot be read."""
    return UsageError(f"{path}: cannot be read ({error.strerror}); name a history, one operation a line")


__all__: Sequence[str] = (
    "NONE",
    "EndReached",
    "KeyRow",
    "LineReader",
    "OffsetStep",
    "Others",
    "PartitionLines",
    "ValueLines",
    "parsed",
    "read",
)
