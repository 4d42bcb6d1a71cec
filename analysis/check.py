"""Checking one run: which pieces of work it has, what each piece finds, and the findings of all pieces together.

A run falls into one piece per topic-partition (history and replicas together, so that a finding has all its evidence)
and one for the metadata. Pieces need nothing of each other: Spark spreads them over its workers (analysis.job), a
test calls them in turn. A check that crashes is reported as crashed, with its error, and the others still report.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow.compute as pc

from analysis.anomalies import PARTITION_CHECKS
from analysis.metadata import METADATA_CHECKS
from analysis.replicas import EVIDENCE_LIMIT, holdings, replica_divergence
from analysis.view import SEQUENCE_BITS, PartitionView, view_of
from harness import timeline
from harness.errors import UsageError
from harness.history import schema
from harness.history.read import History, open_run
from harness.rundir import SCHEMA, RunDir

METADATA: Final = "metadata"
Evidence = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work: a topic-partition of a run, or (topic "") its metadata."""

    run_dir: str
    topic: str
    partition: int


@dataclass(slots=True)
class Result:
    """What one piece, or a whole run, came to."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    unknown_errors: Counter[str] = field(default_factory=Counter)

    def run(self, name: str, where: tuple[str, int] | None, check: Callable[[], Sequence[Evidence]]) -> None:
        """Run one check: its findings, or its crash."""
        begun = time.monotonic()
        status, reason = "ok", None
        try:
            evidence = check()
        except Exception as error:
            status, reason, evidence = "crashed", f"{type(error).__name__}: {error}", ()
        self.checks.append(
            {"name": name, "status": status, "reason": reason, "seconds": round(time.monotonic() - begun, 4)}
        )
        if evidence:
            self.findings.append(_finding(name, where, evidence))

    def as_json(self) -> dict[str, Any]:
        return {
            "checks": self.checks,
            "findings": self.findings,
            "problems": self.problems,
            "statistics": dict(self.statistics),
            "unknown_errors": dict(self.unknown_errors),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The result that `as_json` wrote."""
        counters = {name: Counter(value[name]) for name in ("statistics", "unknown_errors")}
        return cls(**(dict(value) | counters))


def _finding(name: str, where: tuple[str, int] | None, evidence: Sequence[Evidence]) -> dict[str, Any]:
    topic, partition = where if where else (None, None)
    place = f" in {topic}-{partition}" if where else ""
    first = evidence[0]
    at = first.get("offset")
    summary = f"{name}: {len(evidence)}{place}" + (f", the first at offset {at}" if at is not None else "")
    return {
        "anomaly": name,
        "topic": topic,
        "partition": partition,
        "count": len(evidence),
        "summary": summary,
        "evidence": list(evidence[:EVIDENCE_LIMIT]),
    }


def pieces(run_dir: RunDir) -> list[Piece]:
    """The pieces of a run. Raises UsageError if it is none."""
    facts = run_dir.read_run()
    where = [
        (topic["name"], int(number))
        for topic in facts.get("topics", ())
        for number in sorted(topic["partitions"], key=int)
    ]
    path = str(run_dir.path)
    return [*(Piece(path, topic, number) for topic, number in where), Piece(path, "", -1)]


def check_piece(piece: Piece) -> Result:
    """Everything that one piece can show. Never raises: what goes wrong is a problem in the result."""
    result = Result()
    run_dir = RunDir(Path(piece.run_dir))
    try:
        facts = run_dir.read_run()
        if piece.topic:
            _check_partition(run_dir, facts, piece.topic, piece.partition, result)
        else:
            _check_run(run_dir, facts, result)
    except UsageError as error:
        result.problems.append({"what": "unreadable run", "process": "", "detail": str(error)})
    except Exception as error:
        name = f"{piece.topic}-{piece.partition}" if piece.topic else METADATA
        result.checks.append(
            {"name": name, "status": "crashed", "reason": f"{type(error).__name__}: {error}", "seconds": 0}
        )
    return result


def _moments(events: Iterable[Mapping[str, Any]], run_dir: RunDir) -> dict[str, int]:
    """When each copy of the replicas was taken, for the copies that are there."""
    times = {event["name"]: event["monotonic_ns"] for event in events if event["kind"] == "moment"}
    return {name: times[name] for name in run_dir.moments() if name in times}


def _check_partition(run_dir: RunDir, facts: Mapping[str, Any], topic: str, partition: int, result: Result) -> None:
    history = open_run(run_dir, facts, only=(topic, partition))
    where = (topic, partition)
    view = view_of(topic, partition, history.tables.get(where, history.operations.slice(0, 0)))
    for name, check in PARTITION_CHECKS.items():
        result.run(name, where, lambda check=check: check(view))  # type: ignore[misc]
    reading = timeline.read(run_dir.timeline)
    moments = _moments(reading.events, run_dir)

    def divergence() -> Sequence[Evidence]:
        evidence, problems, held = replica_divergence(run_dir, moments, reading.events, topic, partition)
        result.problems += problems
        result.statistics["replica_batches"] += held
        return evidence

    result.run("replica-divergence", where, divergence)
    _add_holdings(run_dir, moments, where, result)
    _count(view, history, where, result)


def _add_holdings(run_dir: RunDir, moments: Mapping[str, int], where: tuple[str, int], result: Result) -> None:
    """Tell of each lost record on which disks it lay at each moment."""
    for finding in result.findings:
        if finding["anomaly"] not in ("lost-write", "unseen"):
            continue
        rows = {(row["producer"] << SEQUENCE_BITS) + row["sequence"]: row for row in finding["evidence"]}
        for value, lay in holdings(run_dir, moments, *where, rows).items():
            rows[value]["replicas"] = lay


def _count(view: PartitionView, history: History, where: tuple[str, int], result: Result) -> None:
    sends, polls = view.sends, view.polls
    result.statistics.update(
        partitions=1,
        sends_ok=int(sends.ok.sum()),
        sends_fail=int(sends.fail.sum()),
        sends_info=int(sends.info.sum()),
        polled=len(polls),
        distinct_polled=len(np.unique(polls.value)),
    )
    if view.final_offset is None:
        result.problems.append(
            {
                "what": "no final read",
                "process": "",
                "detail": f"{where[0]}-{where[1]} was not read to the brokers' end offset",
            }
        )
    if where in history.tables:
        table = history.tables[where]
        indefinite = table.filter(pc.and_(pc.equal(table["outcome"], schema.INFO), pc.is_valid(table["error_name"])))
        result.unknown_errors.update(indefinite["error_name"].to_pylist())


def _check_run(run_dir: RunDir, facts: Mapping[str, Any], result: Result) -> None:
    """What concerns the run as a whole: its processes' histories, its timeline, the metadata."""
    reading = timeline.read(run_dir.timeline)
    result.problems += [
        {"what": "damaged timeline", "process": "", "detail": complaint} for complaint in reading.damaged
    ]
    result.problems += [problem.as_json() for problem in open_run(run_dir, facts, only=("", -1)).problems]
    for name, check in METADATA_CHECKS.items():
        result.run(name, None, lambda check=check: check(reading.events))  # type: ignore[misc]
    if not any(event["kind"] == "partition" for event in reading.events):
        result.problems.append(
            {"what": "no metadata", "process": "", "detail": "the timeline states nothing about any partition"}
        )


def merge(results: Iterable[Result], seconds: float) -> dict[str, Any]:
    """The findings of a run from those of its pieces, as findings.json has them."""
    total = Result()
    checks: dict[str, dict[str, Any]] = {}
    for result in results:
        total.findings += result.findings
        total.problems += result.problems
        total.statistics.update(result.statistics)
        total.unknown_errors.update(result.unknown_errors)
        for check in result.checks:
            known = checks.setdefault(check["name"], dict(check))
            if known is not check and known != check:
                known["seconds"] = round(known["seconds"] + check["seconds"], 4)
                if check["status"] == "crashed":
                    known["status"], known["reason"] = "crashed", check["reason"]
    if not total.statistics["sends_ok"]:
        detail = "no record was acknowledged: nothing can have been lost, and nothing was shown"
        total.problems.append({"what": "empty history", "process": "", "detail": detail})
    total.findings.sort(key=lambda finding: (finding["anomaly"], finding["topic"] or "", finding["partition"] or 0))
    return {
        "schema": SCHEMA,
        "checks": list(checks.values()),
        "findings": total.findings,
        "problems": total.problems,
        "statistics": dict(sorted(total.statistics.items())),
        "unknown_errors": [{"error": name, "count": count} for name, count in sorted(total.unknown_errors.items())],
        "seconds": round(seconds, 3),
    }


def check_run(run_dir: RunDir) -> dict[str, Any]:
    """The findings of a run, its pieces checked one after the other in this process."""
    begun = time.monotonic()
    results = [check_piece(piece) for piece in pieces(run_dir)]
    return merge(results, time.monotonic() - begun)
