"""Subjects: producers with a partition of their own, whose outcome is stated and counted one by one.

run.json lists them (`subjects`): the partition, the name of the process whose history it is, the settings, what is
stated (`must`, `may`), and which of its records the sequence dooms (ranges of sequences; none given: any).
findings.json counts what came of each one's records (`subjects`) and has findings by topic-partition; `counted` puts
the two together. Both are pure data here, so that the analysis, the verdict and the matrix mean the same by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evidence.course import TopicPartition
from evidence.run import SubjectRecord

Facts = Mapping[str, Any]

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


NEIGHBOURS: Final = ("before", "after")
"""The two records of a row about order."""


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


def findings_of(subject: SubjectRecord, findings: Iterable[Facts]) -> list[Facts]:
    """The findings of the subject's partition that show an outcome."""
    where = place_of(subject)
    return [
        one for one in findings if one.get("anomaly") in SHOWN_BY and (one.get("topic"), one.get("partition")) == where
    ]


def rows_of(subject: SubjectRecord, finding: Facts) -> list[Facts]:
    """The rows of a finding that are of the subject's own records, not of another process that wrote beside it."""
    return [row for row in finding.get("evidence") or () if row.get("process") == subject.process]


def whole(finding: Facts) -> bool:
    """Whether a finding lists every row that it counts."""
    return int(finding.get("count") or 0) <= len(finding.get("evidence") or ())


def counted(subject: SubjectRecord, findings: Facts) -> Counted | None:
    """What came of a subject; None if the analysis did not count its records."""
    own = [
        one
        for one in findings.get("subjects") or ()
        if (one.get("topic"), one.get("partition")) == place_of(subject) and one.get("process") == subject.process
    ]
    if len(own) != 1:
        return None
    found = [
        (SHOWN_BY[str(finding["anomaly"])], rows_of(subject, finding))
        for finding in findings_of(subject, findings.get("findings") or ())
    ]
    lost = {_identity(row) for outcome, rows in found for row in rows if outcome == LOSES}
    counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for outcome, rows in found:
        # Where a lost record would lie says nothing of the order of those that are there.
        placed = [row for row in rows if outcome != REORDERS or not lost & {_identity(row[n]) for n in NEIGHBOURS}]
        counts[outcome] += len(placed)
    told = {name: own[0].get(name) for name in ("latency_p50_ms", "latency_p99_ms", "records_per_s")}
    return Counted(
        acknowledged=int(own[0]["acknowledged"]),
        refused=int(own[0]["refused"]),
        unknown_present=int(own[0]["unknown_present"]),
        unknown_absent=int(own[0]["unknown_absent"]),
        lost=counts[LOSES],
        duplicated=counts[DUPLICATES],
        reordered=counts[REORDERS],
        **told,
    )


def _identity(row: Facts) -> tuple[Any, Any]:
    return row.get("producer"), row.get("sequence")


def doomed(subject: SubjectRecord, row: Facts) -> bool:
    """Whether the sequence dooms the record of a row of lost-write."""
    ranges, sequence = subject.doomed, int(row.get("sequence", -1))
    return ranges is None or any(first <= sequence < last for first, last in ranges)
