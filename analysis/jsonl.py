"""Histories of others: one operation a line of JSON, judged by the same functions as our own.

    python -m analysis.jsonl FILE [--json]

The form is the one that harnesses of Jepsen's school record for Kafka (docs/histories-of-others.md has it in full, with
examples). A line is the invocation of an operation or its completion:

    {"process": 0, "type": "invoke", "f": "send", "value": [["send", "k", 7]], "time": 10}
    {"process": 0, "type": "ok",     "f": "send", "value": [["send", "k", [3, 7]]], "time": 25}
    {"process": 1, "type": "ok",     "f": "poll", "value": [["poll", {"k": [[3, 7]]}]], "time": 40}

A key is a partition. Values are any JSON, unique within a key; to the checks a value is a sequence number of one
producer, given out in the order in which values are first named, and it is put back into the evidence. An operation
that is never completed, or whose process crashed, is `info`. One line that cannot be read is a problem, not the end.

Limit: the history is held in memory as Python objects, some 1 kB a record. Ours are columns and have no such limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from analysis.anomalies import PARTITION_CHECKS
from analysis.anomalies.cycles import dependencies
from analysis.anomalies.real_time_lag import real_time_lag
from analysis.check import Result, merge, transactions_of
from analysis.view import view_of
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, EXIT_UNKNOWN, KafkaChaosError, UsageError
from evidence.history import schema
from evidence.history.read import PLAIN_SCHEMA
from evidence.text import forgiving_output, visible

PRODUCER: Final = 1
"""All values of a key are this producer's."""
INVOKE: Final = "invoke"
UNSEEN: Final = "unseen"
STEPS: Final = {"processed": schema.PROCESSED, "commit": schema.OFFSETS}
OUTCOMES: Final = (schema.OK, schema.FAIL, schema.INFO)
Row = dict[str, Any]


@dataclass(slots=True)
class _Key:
    """One partition: its rows, and the values that were named there."""

    rows: list[Row] = field(default_factory=list)
    sequences: dict[str, int] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)

    def sequence(self, value: Any) -> int:
        """The number that stands for a value; the next one if it has not been named before."""
        name = json.dumps(value, sort_keys=True)
        if name not in self.sequences:
            self.sequences[name] = len(self.values)
            self.values.append(value)
        return self.sequences[name]


@dataclass(slots=True)
class _Operation:
    """An operation from its invocation on."""

    number: int
    process: str
    function: str
    micro: list[Any]
    invoked_ns: int | None


@dataclass(slots=True)
class Others:
    """A history being read: rows by key, and what is wrong with it."""

    keys: dict[str, _Key] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    uncommitted: set[str] = field(default_factory=set)
    operations: int = 0
    _open: dict[str, _Operation] = field(default_factory=dict)
    _assigned: dict[str, set[str]] = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Take one line. Raises ValueError, TypeError, KeyError or IndexError if it is no line of a history."""
        process, kind, function = str(line["process"]), line["type"], str(line["f"])
        at_ns = line.get("time")
        if at_ns is not None and not isinstance(at_ns, int):
            raise ValueError(f"the time {at_ns!r} is not a whole number of nanoseconds")
        if line.get("isolation") == "read_uncommitted":
            self.uncommitted.add(process)
        if function == "crash":
            self._crash(process)
        elif kind == INVOKE:
            self._give_up(process)
            micro = list(line.get("value") or ())
            self._open[process] = _Operation(self._number(), process, function, micro, at_ns)
            self._name_values(micro)
        elif kind in OUTCOMES:
            begun = self._open.pop(process, None)
            if begun is not None and begun.function != function:
                self._finish(begun, schema.INFO, begun.micro, None)
                begun = None
            operation = begun or _Operation(self._number(), process, function, [], at_ns)
            micro = line["value"] if line.get("value") is not None else operation.micro
            self._finish(operation, kind, micro, at_ns, line)
        else:
            raise ValueError(f"the type {kind!r} is none of invoke, ok, fail, info")

    def close(self) -> None:
        """There are no more lines: what is still open is unknown for ever."""
        for process in list(self._open):
            self._give_up(process)

    def _number(self) -> int:
        self.operations += 1
        return self.operations

    def _key(self, name: Any) -> _Key:
        return self.keys.setdefault(str(name), _Key())

    def _give_up(self, process: str) -> None:
        begun = self._open.pop(process, None)
        if begun is not None:
            self._finish(begun, schema.INFO, begun.micro, None)

    def _crash(self, process: str) -> None:
        self._give_up(process)
        self._reset(process, set(self.keys))
        self._assigned.pop(process, None)

    def _reset(self, process: str, keys: set[str]) -> None:
        """What this process reads of these keys from now on does not follow on what it has read."""
        for name in sorted(keys):
            row = {"kind": schema.ASSIGN, "outcome": schema.OK, "process": process, "op": self._number()}
            self._key(name).rows.append(row)

    def _name_values(self, micro: Sequence[Any]) -> None:
        for one in micro:
            if one[0] == "send":
                self._key(one[1]).sequence(_sent(one[2])[1])

    def _finish(
        self,
        operation: _Operation,
        outcome: str,
        value: Any,
        at_ns: int | None,
        line: Mapping[str, Any] | None = None,
    ) -> None:
        line = line or {}
        if operation.function in ("assign", "subscribe"):
            self._change(operation, outcome, {str(name) for name in value or ()})
            return
        if operation.function == "final-read":
            self._end(operation, outcome, value)
            return
        if operation.function not in ("send", "poll", "txn", "process"):
            raise ValueError(f"the operation {operation.function!r} is none that is known")
        if line.get("error") is not None and outcome == schema.INFO:
            error = str(line["error"])
            self.errors[error] = self.errors.get(error, 0) + 1
        rebalanced = {str(name) for name in line.get("rebalanced") or ()}
        for name in rebalanced:
            row = {"kind": schema.ASSIGN, "outcome": schema.OK, "process": operation.process, "op": operation.number}
            self._key(name).rows.append(row)
        common = {
            "process": operation.process,
            "op": operation.number,
            "outcome": outcome,
            "invoked_ns": operation.invoked_ns,
            "completed_ns": at_ns,
            "transaction": operation.number if operation.function == "txn" else None,
        }
        for one in value:
            if one[0] == "send":
                self._send(one, common)
            elif one[0] == "poll":
                self._poll(one, common)
            elif one[0] in STEPS:
                self._key(one[1]).rows.append(common | {"kind": STEPS[one[0]], "offset": int(one[2])})
            else:
                raise ValueError(f"the micro-operation {one[0]!r} is none of send, poll, {', '.join(STEPS)}")

    def _send(self, micro: Sequence[Any], common: Row) -> None:
        key, (offset, value) = self._key(micro[1]), _sent(micro[2])
        row = {"kind": schema.SEND, "offset": offset, "producer": PRODUCER, "sequence": key.sequence(value)}
        key.rows.append(common | row)

    def _poll(self, micro: Sequence[Any], common: Row) -> None:
        for name, records in (micro[1] if len(micro) > 1 else {}).items():
            key = self._key(name)
            for offset, value in records:
                row = {"kind": schema.POLL, "offset": offset, "producer": PRODUCER, "sequence": key.sequence(value)}
                key.rows.append(common | row | {"valid": True})

    def _change(self, operation: _Operation, outcome: str, keys: set[str]) -> None:
        if outcome == schema.FAIL:
            return
        held = self._assigned.get(operation.process, set())
        if operation.function == "subscribe" or outcome == schema.INFO:
            self._reset(operation.process, set(self.keys) | keys)
        else:
            self._reset(operation.process, keys ^ held)
        self._assigned[operation.process] = keys

    def _end(self, operation: _Operation, outcome: str, value: Mapping[str, Any]) -> None:
        common = {"process": operation.process, "op": operation.number, "outcome": outcome}
        for name, offset in value.items():
            asked = {"kind": schema.END_OFFSETS, "offset": offset, "invoked_ns": operation.invoked_ns}
            self._key(name).rows += [common | asked, common | {"kind": schema.FINAL_READ, "offset": offset}]


def _sent(value: Any) -> tuple[int | None, Any]:
    """Offset and value of a send, which names its value alone until its offset is known."""
    if isinstance(value, list):
        if len(value) != 2 or not (value[0] is None or isinstance(value[0], int)):
            raise ValueError(f"{value!r} is not [offset, value]")
        return value[0], value[1]
    return None, value


def read(path: Path) -> Others:
    """Read a history. Raises UsageError if there is no such file, or nothing in it can be read."""
    others = Others()
    lines = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                lines += 1
                try:
                    others.add(json.loads(line))
                except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                    detail = f"line {number}: {type(error).__name__}: {error}"
                    others.problems.append({"what": "damaged history", "process": "", "detail": detail})
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a history, one operation a line") from None
    if lines and len(others.problems) == lines:
        raise UsageError(
            f"{path}: no history ({others.problems[0]['detail']}); docs/histories-of-others.md has the form"
        )
    others.close()
    return others


def _restored(evidence: Any, values: Sequence[Any]) -> Any:
    """Evidence with the values that the history named in place of the sequences that stood for them."""
    if isinstance(evidence, Mapping):
        plain = {
            name: _restored(part, values) for name, part in evidence.items() if name not in ("producer", "sequence")
        }
        number = evidence.get("sequence")
        return plain if number is None else {"value": values[number]} | plain
    if isinstance(evidence, list):
        return [_restored(part, values) for part in evidence]
    return evidence


def _check_key(name: str, key: _Key, others: Others) -> Result:
    result = Result()
    table = pa.Table.from_pylist([{"topic": name, "partition": 0} | row for row in key.rows], schema=PLAIN_SCHEMA)
    view = view_of(name, 0, table, uncommitted_readers=others.uncommitted)
    for anomaly, check in PARTITION_CHECKS.items():
        result.run(anomaly, (name, 0), lambda check=check: check(view))  # type: ignore[misc]
    result.findings = [
        finding | {"evidence": _restored(finding["evidence"], key.values)} for finding in result.findings
    ]
    result.transactions += [_restored(one, key.values) for one in transactions_of(view)]
    result.dependencies += [_restored(one, key.values) for one in dependencies(view)]
    result.lags += [_restored(lag, key.values) for lag in [real_time_lag(view)] if lag is not None]
    result.statistics.update(
        partitions=1,
        sends_ok=int(view.sends.ok.sum()),
        sends_fail=int(view.sends.fail.sum()),
        sends_info=int(view.sends.info.sum()),
        polled=len(view.polls),
    )
    return result


def check_history(path: Path) -> dict[str, Any]:
    """The findings of a history, in the form of findings.json; keys are topics of one partition.

    Raises UsageError if there is no such file, or nothing in it can be read.
    """
    begun = time.monotonic()
    others = read(path)
    own = Result(problems=others.problems)
    own.unknown_errors.update(others.errors)
    results = [own, *(_check_key(name, key, others) for name, key in sorted(others.keys.items()))]
    return merge(results, time.monotonic() - begun)


def summary(findings: Mapping[str, Any]) -> Iterator[str]:
    """The findings for people: a line for each finding and each problem."""
    for finding in findings["findings"]:
        yield finding["summary"]
        yield f"    {json.dumps(finding['evidence'][0])}"
    for problem in findings["problems"]:
        yield f"{problem['what']}: {problem['detail']}"
    if not findings["findings"]:
        yield "no anomaly" + ("" if findings["problems"] else " and nothing in doubt")


def exit_status(findings: Mapping[str, Any]) -> int:
    """1 for any anomaly, 2 if there is none but something is in doubt (what is only unseen is), else 0."""
    names = {finding["anomaly"] for finding in findings["findings"]}
    if names - {UNSEEN}:
        return EXIT_CONTRADICTED
    crashed = any(check["status"] == "crashed" for check in findings["checks"])
    return EXIT_UNKNOWN if names or findings["problems"] or crashed else EXIT_AS_DOCUMENTED


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m analysis.jsonl", description="Check a history of JSON Lines.")
    parser.add_argument("history", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(arguments)
    forgiving_output()
    try:
        findings = check_history(options.history)
    except KafkaChaosError as error:
        print(visible(f"analysis: {error}"), file=sys.stderr)
        return error.exit_status
    print(json.dumps(findings, indent=1) if options.json else "\n".join(map(visible, summary(findings))))
    return exit_status(findings)


if __name__ == "__main__":
    sys.exit(main())
