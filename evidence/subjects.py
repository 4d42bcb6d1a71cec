"""Subjects: producers with a partition of their own, whose outcome is stated and counted one by one.

The file run.json lists them (`subjects`). Each has its partition, the name of the process whose history it is, the
settings, what is stated (`must`, `may`), and which of its records the sequence may lose (ranges of sequences; none
given: any). The file findings.json counts what came of each one's records (`subjects`) and has findings by
topic-partition; `counted` puts the two together. Both are pure data here, so that the analysis, the verdict and the
matrix mean the same by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from evidence.findings import Finding, Findings, Row, SubjectCounts
from evidence.records import TopicPartition
from evidence.run import SubjectRecord

LOSES, DUPLICATES, REORDERS, REFUSES = "loses", "duplicates", "reorders", "refuses"
OUTCOMES: Final = (LOSES, DUPLICATES, REORDERS, REFUSES)
"""What may come of a subject's records."""
SHOWN_BY: Final[Mapping[str, str]] = {
    "lost-write": LOSES,
    "duplicate": DUPLICATES,
    "nonmonotonic-send": REORDERS,
    "internal-nonmonotonic-send": REORDERS,
}
"""The anomaly whose findings show an outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What came of one subject's records, from the judged histories and replicas."""

    acknowledged: int
    refused: int
    unknown_present: int
    unknown_absent: int
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None
    records_per_s: float | None = None

    @property
    def seen(self) -> frozenset[str]:
        """The outcomes that were seen."""
        shown = {LOSES: self.lost, DUPLICATES: self.duplicated, REORDERS: self.reordered, REFUSES: self.refused}
        return frozenset(name for name, count in shown.items() if count)


def place_of(subject: SubjectRecord) -> TopicPartition:
    """A subject's topic-partition."""
    return subject.topic, subject.partition


def findings_of(subject: SubjectRecord, findings: Iterable[Finding]) -> list[Finding]:
    """The findings of the subject's partition that show an outcome."""
    return [one for one in findings if one.anomaly in SHOWN_BY and one.where == place_of(subject)]


def rows_of(subject: SubjectRecord, finding: Finding) -> list[Row]:
    """The rows of a finding that are of the subject's own records, not of another process that wrote beside it."""
    return [row for row in finding.evidence if row.process == subject.process]


def counts_of(subject: SubjectRecord, findings: Findings) -> list[SubjectCounts]:
    """What the analysis counted of a subject's records: once, or something is wrong."""
    where, process = place_of(subject), subject.process
    return [one for one in findings.subjects if (one.topic, one.partition) == where and one.process == process]


def counted(subject: SubjectRecord, findings: Findings) -> Counted | None:
    """What came of a subject; None if the analysis did not count its records."""
    own = counts_of(subject, findings)
    if len(own) != 1:
        return None
    found = [
        (SHOWN_BY[finding.anomaly], rows_of(subject, finding)) for finding in findings_of(subject, findings.findings)
    ]
    lost = {record for outcome, rows in found for row in rows if outcome == LOSES for record in row.records}
    counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for outcome, rows in found:
        # Where a lost record would lie says nothing of the order of those that are there.
        counts[outcome] += len([row for row in rows if outcome != REORDERS or lost.isdisjoint(row.records)])
    return Counted(
        acknowledged=own[0].acknowledged,
        refused=own[0].refused,
        unknown_present=own[0].unknown_present,
        unknown_absent=own[0].unknown_absent,
        lost=counts[LOSES],
        duplicated=counts[DUPLICATES],
        reordered=counts[REORDERS],
        latency_p50_ms=own[0].latency_p50_ms,
        latency_p99_ms=own[0].latency_p99_ms,
        records_per_s=own[0].records_per_s,
    )


def is_expected_loss(subject: SubjectRecord, row: Row) -> bool:
    """Whether the sequence may lose the record of a row of lost-write."""
    ranges = subject.expected_loss
    return ranges is None or any(first <= one.sequence < last for one in row.records[:1] for first, last in ranges)
