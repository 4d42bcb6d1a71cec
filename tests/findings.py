"""Findings for tests: from short mappings, and without what differs from one analysis to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from evidence.findings import (
    SCHEMA,
    Availability,
    CheckResult,
    ClaimResult,
    Finding,
    Findings,
    Problem,
    Row,
    SubjectCounts,
)
from evidence.records import RecordId
from evidence.rundir import RunDir, write_json

_KINDS: Final[dict[str, Any]] = {
    "checks": tuple[CheckResult, ...],
    "claims": tuple[ClaimResult, ...],
    "problems": tuple[Problem, ...],
    "subjects": tuple[SubjectCounts, ...],
    "availability": tuple[Availability, ...],
}


def finding(told: Mapping[str, Any]) -> Finding:
    """A finding from a mapping. Its `evidence` is rows as findings.json has them, or with `producer` and `sequence`
    wherever they name a record.
    """
    topic, partition = told.get("topic"), told.get("partition")
    where = None if topic is None or partition is None else (topic, partition)
    rows = tuple(_row(row, where) for row in told.get("evidence") or ())
    return Finding(**{**told, "evidence": rows, "reads": tuple(told.get("reads") or ())})


def _row(told: Mapping[str, Any], where: tuple[str, int] | None) -> Row:
    if told.keys() <= set(Row.__struct_fields__):
        row: Row = msgspec.convert(told, Row)
        return row
    own = {name: value for name, value in told.items() if name not in ("records", "read", "brokers", "replicas")}
    brokers = tuple(told.get("brokers") or ())
    return Row.of(
        {
            **own,
            "records": [*_named(told, where)],
            "read": [*_named(told.get("readers"), where)],
            "brokers": [f"broker-{one}" if str(one).isdigit() else one for one in brokers],
            "held": told.get("brokers"),
            "holdings": told.get("replicas") or {},
        },
        where,
    )


def _named(told: object, where: tuple[str, int] | None) -> Iterator[RecordId]:
    """Every record that rows of evidence name by producer and sequence, however deep."""
    if isinstance(told, Mapping):
        if "topic" in told and "partition" in told:
            where = (told["topic"], told["partition"])
        if where is not None and isinstance(told.get("producer"), int) and isinstance(told.get("sequence"), int):
            yield RecordId(*where, told["producer"], told["sequence"])
        told = list(told.values())
    if isinstance(told, list | tuple):
        for part in told:
            yield from _named(part, where)


def findings(told: Mapping[str, Any]) -> Findings:
    """Findings from a mapping, whose entries may be as short as in `finding`."""
    made = {name: msgspec.convert(told.get(name) or [], kind) for name, kind in _KINDS.items()}
    made["findings"] = tuple(map(finding, told.get("findings") or ()))
    rest = {name: value for name, value in told.items() if name not in made}
    plain: Findings = msgspec.convert(rest | {"schema": SCHEMA, "findings": []}, Findings)
    return msgspec.structs.replace(plain, **made)


def write(run_dir: RunDir, told: Mapping[str, Any]) -> None:
    """Write findings.json from such a mapping."""
    write_json(run_dir.findings, findings(told).as_json())


def timeless(findings: Findings) -> Findings:
    """The same without the time that checks took, and with checks and problems in the order of their names."""
    return msgspec.structs.replace(
        findings,
        seconds=0.0,
        checks=_without_times(findings.checks),
        problems=tuple(sorted(findings.problems, key=str)),
    )


def _without_times(checks: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    return tuple(sorted((msgspec.structs.replace(one, seconds=0.0) for one in checks), key=lambda one: one.name))
