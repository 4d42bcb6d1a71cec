"""What was found in a piece of a run, and put together over all pieces: findings.json."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self

import msgspec

from checks import claims
from checks.anomaly import Check
from checks.claim import RunEvidence
from checks.view import (
    EVIDENCE_LIMIT,
    Evidence,
    Rows,
)
from evidence.findings import (
    CRASHED,
    OK,
    Availability,
    CheckResult,
    ClaimResult,
    Finding,
    Findings,
    Pace,
    Problem,
    SubjectCounts,
    found,
)

Where = tuple[str, int]


@dataclass(slots=True)
class Result:
    """What was found in one piece, or in a whole run."""

    checks: list[CheckResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    unknown_errors: Counter[str] = field(default_factory=Counter)
    gathered: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What this piece told, by the name of what is gathered (checks.anomaly.Gathered), for analysis.across."""
    lags: list[dict[str, Any]] = field(default_factory=list)
    """The longest real-time lag of this piece; the longest of all in `merge`."""
    claims: list[ClaimResult] = field(default_factory=list)
    """What came of the claims that run.json names (checks/claims/)."""
    availability: list[Availability] = field(default_factory=list)
    """What faults cost this piece's clients (evidence/availability.py)."""
    subjects: list[SubjectCounts] = field(default_factory=list)
    """What came of the records of subjects (evidence/subjects.py)."""
    paces: list[Pace] = field(default_factory=list)
    """How long applications took that were left alone (analysis/paces.py)."""
    unknown: list[dict[str, Any]] = field(default_factory=list)
    """What this piece tells of operations of unknown outcome; put together over all pieces in `to_check_again`."""

    def run(self, check: Check, where: Where | None, find: Callable[[], Sequence[Evidence]]) -> None:
        """Run one check: its findings, or its crash."""
        begun = time.monotonic()
        status, reason = OK, None
        try:
            evidence = find()
        except Exception as error:
            status, reason, evidence = CRASHED, f"{type(error).__name__}: {error}", ()
        seconds = round(time.monotonic() - begun, 4)
        self.checks.append(CheckResult(name=check.anomaly, status=status, reason=reason, seconds=seconds))
        if evidence:
            total = evidence.total if isinstance(evidence, Rows) else None
            one = found(check.anomaly, where, evidence, reads=check.files, total=total, limit=EVIDENCE_LIMIT)
            self.findings.append(one)

    def gather(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Keep what a piece told for checks over all partitions."""
        if own := [dict(row) for row in rows]:
            self.gathered.setdefault(name, []).extend(own)

    def unread(self, where: Where) -> None:
        """Take down that a partition was not read to its end."""
        detail = f"{where[0]}-{where[1]} was not read to the brokers' end offset"
        self.problems.append(Problem("no final read", detail=detail))

    def claim(self, name: str, evidence: RunEvidence) -> None:
        """Judge one claim: what came of it, or its crash."""
        try:
            self.claims.append(claims.judge(name, evidence))
        except Exception as error:
            self.crashed(f"claim {name}", error)

    def crashed(self, name: str, error: Exception) -> None:
        """Take down that a check crashed."""
        self.checks.append(CheckResult(name=name, status=CRASHED, reason=f"{type(error).__name__}: {error}"))

    def as_json(self) -> bytes:
        """JSON of what is not empty."""
        return msgspec.json.encode({one.name: part for one in fields(self) if (part := getattr(self, one.name))})

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """The result that `as_json` wrote."""
        return msgspec.json.decode(value, type=cls, dec_hook=lambda kind, plain: kind(plain))


class PieceResult(NamedTuple):
    """What a task answers for a piece."""

    number: int
    """Of the piece, among all of the job."""
    result: bytes
    """JSON of the result, without what was gathered."""
    gathered: bytes
    """JSON of what was gathered for the checks that cross partitions; it stays with the workers."""


def merge(results: Iterable[Result], seconds: float, across: Result) -> Findings:
    """The findings of a run: those of its pieces, and `across` (analysis.across) those of all partitions together."""
    total = Result()
    checks: dict[str, CheckResult] = {}
    problems: dict[Problem, None] = {}
    for result in (*results, across):
        total.findings += result.findings
        problems |= dict.fromkeys(result.problems)
        total.statistics.update(result.statistics)
        total.unknown_errors.update(result.unknown_errors)
        total.lags += result.lags
        total.claims += result.claims
        total.availability += result.availability
        total.subjects += result.subjects
        total.paces += result.paces
        for check in result.checks:
            checks[check.name] = _merged_check(checks[check.name], check) if check.name in checks else check
    total.problems = list(problems)
    if not total.statistics["sends_ok"]:
        detail = "no record was acknowledged, so none can be lost: the run proves nothing"
        total.problems.append(Problem("empty history", detail=detail))
    total.findings.sort(key=lambda finding: (finding.anomaly, finding.topic or "", finding.partition or 0))
    return Findings(
        checks=tuple(checks.values()),
        findings=tuple(total.findings),
        claims=tuple(total.claims),
        availability=tuple(total.availability),
        subjects=tuple(total.subjects),
        paces=tuple(total.paces),
        problems=tuple(total.problems),
        statistics=dict(sorted(total.statistics.items())),
        real_time_lag=max(total.lags, key=lambda lag: int(lag["lag_ns"]), default=None),
        unknown_errors=dict(sorted(total.unknown_errors.items())),
        seconds=round(seconds, 3),
    )


def _merged_check(known: CheckResult, check: CheckResult) -> CheckResult:
    """What came of a check over several pieces: it crashed if it crashed in one of them."""
    worse = check if check.status == CRASHED else known
    return msgspec.structs.replace(worse, seconds=round(known.seconds + check.seconds, 4))
