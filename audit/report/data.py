"""An audit as JSON: everything that the other reports say, for programs. docs/audit.schema.json describes it."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Final

from audit import baseline
from audit.grade import AuditAnswer, Cost, Fix, MeasuredHarm, ProducerCase, ProducerRow, SettingChange
from audit.model import Origin
from audit.owners import owners_of
from audit.proof import Proof, Proved, contradicts
from audit.report import words
from audit.resolve import Value

SCHEMA: Final = 1


def render(answer: AuditAnswer, *, accepted: Collection[str] = (), failed: Collection[str] = ()) -> str:
    """The answer as JSON text. `failed` are the kinds of --fail-on that something not accepted has."""
    return json.dumps(as_json(answer, accepted=accepted, failed=failed), indent=1) + "\n"


def as_json(answer: AuditAnswer, *, accepted: Collection[str] = (), failed: Collection[str] = ()) -> dict[str, Any]:
    """The answer as JSON values."""
    return {
        "schema": SCHEMA,
        "summary": {
            "grades": dict(answer.grades),
            "worst": answer.worst.grade if answer.worst else None,
            "failed": sorted(failed),
        },
        "matrix": {"cells": answer.cells, "runs": answer.runs},
        "producers": [_row(row, accepted) for row in answer.rows],
        "problems": [
            {**_place(one.origin), "kind": one.kind, "says": one.message, "do": one.do} for one in answer.problems
        ],
        "read": list(answer.read),
        "ignored": dict(answer.ignored),
    }


def _place(origin: Origin | None) -> dict[str, Any]:
    return {"path": origin.path if origin else None, "line": origin.line if origin else None}


def _row(row: ProducerRow, accepted: Collection[str]) -> dict[str, Any]:
    one = row.producer
    return {
        "name": one.name,
        **_place(one.origin),
        "client": one.client,
        "release": one.release,
        "framework": one.framework,
        "topics": list(row.topics),
        "owners": list(owners_of(one.origin.path)),
        "grade": row.grade,
        "at_best": row.shown.at_best,
        "reason": row.reason,
        "certain": row.certain,
        "best": row.best.grade,
        "worst": row.worst.grade,
        "cases": [_case(row, case, accepted) for case in row.cases],
    }


def _case(row: ProducerRow, case: ProducerCase, accepted: Collection[str]) -> dict[str, Any]:
    resolved, topic = case.resolved, case.topic
    return {
        "when": case.when,
        "grade": case.grade,
        "at_best": case.at_best,
        "reason": case.reason,
        "client": resolved.client,
        "release": resolved.release,
        "producer": {
            name: _value(getattr(resolved, name))
            for name in ("acks", "idempotence", "in_flight", "retries", "delivery_timeout_ms")
        },
        "topic": {
            name: _value(getattr(topic, name))
            for name in ("replication_factor", "min_insync_replicas", "unclean", "flush_each", "version")
        }
        | {"line": topic.line},
        "findings": [_finding(row, one, accepted) for one in case.findings],
        "breaches": [
            {"rule": one.fault, "grade": one.letter, "says": one.sentence, "source": one.source}
            for one in case.breaches
        ],
        "refusals": [
            {
                "fault": one.fault,
                "failed": one.failed,
                "sent": one.sent,
                "runs_with": one.times,
                "runs": one.of,
                "run": one.run,
            }
            for one in case.refusals
        ],
        "measured_with": words.measured_with(case),
        "harmless": list(case.harmless),
        "not_measured": list(case.not_measured),
        "measure": list(words.commands(case)),
        "fixes": [_fix(one) for one in case.fixes],
        "ungraded": [_finding(row, one, accepted) for one in case.ungraded],
        "flushed": None if case.flushed is None else _fix(case.flushed),
        "eligible": None if case.eligible is None else _fix(case.eligible),
        "proved": None if case.proved is None else _proved(case, case.proved),
        "refused": list(resolved.refused),
        "remarks": [*resolved.remarks, *topic.remarks],
        "assumed": list(topic.assumed),
    }


def _proved(case: ProducerCase, proved: Proved) -> dict[str, Any]:
    return {"runs": [_proof(case, one) for one in proved.proofs], "notes": list(proved.notes)}


def _proof(case: ProducerCase, one: Proof) -> dict[str, Any]:
    run, cell = one.run, case.measured.get(one.fault)
    counts = ("acknowledged", "lost", "duplicated", "reordered", "refused", "unknown_present", "unknown_absent")
    return {
        "fault": one.fault,
        "run_dir": one.run_dir or None,
        "counts": None if run is None else {name: getattr(run, name) for name in counts},
        "brokers": None if one.cell is None else one.cell.key.version,
        "client_release": None if run is None else run.client_release,
        "as_stated": None if run is None else one.as_stated,
        "agrees": None if run is None or cell is None else not contradicts(one, cell),
        "overrides": {} if one.cell is None else dict(one.cell.overrides),
        "differs": list(one.differs),
        "why_not": one.why_not or None,
    }


def _value(value: Value[Any]) -> dict[str, Any]:
    return {"value": value.value, "why": value.why, **_place(value.origin)}


def _finding(row: ProducerRow, one: MeasuredHarm, accepted: Collection[str]) -> dict[str, Any]:
    return {
        "effect": one.effect,
        "fault": one.fault,
        "says": one.sentence,
        "count": one.count,
        "acknowledged": one.run.acknowledged,
        "times": one.times,
        "of": one.of,
        "run": one.run.run,
        "runs": [run.run for run in one.covering.cell.runs],
        "date": one.run.date,
        "commit": one.run.commit,
        "brokers": one.covering.cell.key.version,
        "client": one.covering.cell.key.client,
        "client_release": one.run.client_release,
        "source": one.covering.cell.stated.source,
        "basis": str(one.covering.cell.stated.basis),
        "differs": list(one.covering.differs),
        "arguments": list(one.covering.arguments),
        "fingerprints": list(baseline.fingerprints(row, one.effect, one.fault)),
        "accepted": baseline.is_accepted(row, one, accepted),
    }


def _fix(one: Fix) -> dict[str, Any]:
    return {
        "changes": [_change(each) for each in one.changes],
        "grade": one.grade,
        "at_best": one.at_best,
        "removes": _named(one.removes),
        "leaves": _named(one.leaves),
        "brings": _named(one.brings),
        "refuses": list(one.refuses),
        "before": _cost(one.before),
        "after": _cost(one.after),
    }


def _change(one: SettingChange) -> dict[str, Any]:
    return {"where": one.where, "key": one.key, "value": one.value, "written": one.written, **_place(one.origin)}


def _named(found: Collection[MeasuredHarm]) -> list[dict[str, str]]:
    return [{"effect": one.effect, "fault": one.fault} for one in found]


def _cost(one: Cost | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "latency_p50_ms": one.latency_p50_ms,
        "latency_p99_ms": one.latency_p99_ms,
        "records_per_s": one.records_per_s,
        "runs": list(one.runs),
    }
