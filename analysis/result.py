"""What was found in a piece of a run, and put together over all pieces: findings.json."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Self

from checks import claims
from checks.anomaly import Check, gathered_by
from checks.catalogue import checks_of
from checks.claim import RunEvidence
from checks.view import (
    EVIDENCE_LIMIT,
    Evidence,
    Rows,
)
from evidence.rundir import SCHEMA

Where = tuple[str, int]


def _finding(name: str, where: Where | None, evidence: Sequence[Evidence]) -> dict[str, Any]:
    count = evidence.total if isinstance(evidence, Rows) else len(evidence)
    first = evidence[0]
    if where is None and len({(row.get("topic"), row.get("partition")) for row in evidence}) == 1:
        where = (first["topic"], first["partition"]) if first.get("topic") is not None else None
    place = f" in {where[0]}-{where[1]}" if where else ""
    at = first.get("offset")
    summary = f"{name}: {count}{place}" + (f", the first at offset {at}" if at is not None else "")
    return {
        "anomaly": name,
        "topic": where[0] if where else None,
        "partition": where[1] if where else None,
        "count": count,
        "summary": summary,
        "evidence": list(evidence[:EVIDENCE_LIMIT]),
    }


@dataclass(slots=True)
class Result:
    """What was found in one piece, or in a whole run."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    unknown_errors: Counter[str] = field(default_factory=Counter)
    gathered: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What this piece told, by the name of what is gathered (checks.anomaly.Gathered); put together in `merge`."""
    lags: list[dict[str, Any]] = field(default_factory=list)
    """The longest real-time lag of this piece; the longest of all in `merge`."""
    claims: list[dict[str, Any]] = field(default_factory=list)
    """What came of the claims that run.json names (checks/claims/)."""
    availability: list[dict[str, Any]] = field(default_factory=list)
    """What faults cost this piece's clients (evidence/availability.py)."""
    subjects: list[dict[str, Any]] = field(default_factory=list)
    """What came of the records of subjects (evidence/subjects.py)."""
    unknown: list[dict[str, Any]] = field(default_factory=list)
    """What this piece tells of operations of unknown outcome; put together over all pieces in `to_check_again`."""

    def run(self, check: Check, where: Where | None, find: Callable[[], Sequence[Evidence]]) -> None:
        """Run one check: its findings, or its crash."""
        begun = time.monotonic()
        status, reason = "ok", None
        try:
            evidence = find()
        except Exception as error:
            status, reason, evidence = "crashed", f"{type(error).__name__}: {error}", ()
        self.checks.append(
            {"name": check.anomaly, "status": status, "reason": reason, "seconds": round(time.monotonic() - begun, 4)}
        )
        if evidence:
            self.findings.append(_finding(check.anomaly, where, evidence) | {"reads": check.files})

    def gather(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Keep what a piece told for checks over all partitions."""
        if own := [dict(row) for row in rows]:
            self.gathered.setdefault(name, []).extend(own)

    def unread(self, where: Where) -> None:
        """Take down that a partition was not read to its end."""
        detail = f"{where[0]}-{where[1]} was not read to the brokers' end offset"
        self.problems.append({"what": "no final read", "process": "", "detail": detail})

    def claim(self, name: str, evidence: RunEvidence) -> None:
        """Judge one claim: what came of it, or its crash."""
        try:
            self.claims.append(claims.judge(name, evidence))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self.checks.append({"name": f"claim {name}", "status": "crashed", "reason": reason, "seconds": 0.0})

    def as_json(self) -> dict[str, Any]:
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in found.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The result that `as_json` wrote, or what of it is not empty."""
        counters = {name: Counter(value.get(name, {})) for name in ("statistics", "unknown_errors")}
        return cls(**(dict(value) | counters))


def merge(results: Iterable[Result], seconds: float) -> dict[str, Any]:
    """The findings of a run from those of its pieces, as findings.json has them."""
    total = Result()
    checks: dict[str, dict[str, Any]] = {}
    problems: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for result in results:
        total.findings += result.findings
        problems |= {tuple(one.items()): one for one in result.problems}
        total.statistics.update(result.statistics)
        total.unknown_errors.update(result.unknown_errors)
        for name, rows in result.gathered.items():
            total.gather(name, rows)
        total.lags += result.lags
        total.claims += result.claims
        total.availability += result.availability
        total.subjects += result.subjects
        for check in result.checks:
            if check["name"] in checks:
                _merged_check(checks[check["name"]], check)
            else:
                checks[check["name"]] = dict(check)
    total.problems = list(problems.values())
    for one in checks_of("across partitions"):
        total.run(one, None, partial(one.function, *(total.gathered.get(kind.name, []) for kind in gathered_by(one))))
    checks |= {check["name"]: check for check in total.checks}
    if not total.statistics["sends_ok"]:
        detail = "no record was acknowledged: nothing can have been lost, and nothing was shown"
        total.problems.append({"what": "empty history", "process": "", "detail": detail})
    total.findings.sort(key=lambda finding: (finding["anomaly"], finding["topic"] or "", finding["partition"] or 0))
    return {
        "schema": SCHEMA,
        "checks": list(checks.values()),
        "findings": total.findings,
        "claims": total.claims,
        "availability": total.availability,
        "subjects": total.subjects,
        "problems": total.problems,
        "statistics": dict(sorted(total.statistics.items())),
        "real_time_lag": max(total.lags, key=lambda lag: int(lag["lag_ns"]), default=None),
        "unknown_errors": [{"error": name, "count": count} for name, count in sorted(total.unknown_errors.items())],
        "seconds": round(seconds, 3),
    }


def _merged_check(known: dict[str, Any], check: Mapping[str, Any]) -> None:
    known["seconds"] = round(known["seconds"] + check["seconds"], 4)
    if check["status"] == "crashed":
        known["status"], known["reason"] = "crashed", check["reason"]
