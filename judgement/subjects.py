"""The outcome of each subject, compared with its stated outcome (evidence/subjects.py).

A subject is a producer with a partition of its own. The stated outcome must be seen of its records, and nothing else
may be. An outcome that is not stated is a contradiction although Kafka may permit it under the producer's settings, for
that is the very thing that is stated. A loss counts as stated only for the records that the sequence may lose.

All that is counted must be of the subject and of nobody else. The settings that it is counted under are those that its
process was given, that its client goes by, and that its records were sent with. Its counts are there once, and each
finding lists every row, for one that does not may hide another's. Else it is a doubt, and the run proves nothing. What
befell the records of another process in its partition is stated nowhere, and a contradiction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from evidence.findings import Finding, Findings, SubjectCounts
from evidence.run import ProcessRecord, RunRecord, SubjectRecord
from evidence.subjects import (
    LOSES,
    OUTCOMES,
    SHOWN_BY,
    Counted,
    counted,
    counts_of,
    findings_of,
    is_expected_loss,
    place_of,
    rows_of,
)

ACKS: Final[Mapping[str, int]] = {"0": 0, "1": 1, "all": -1}
ACKS_SETTINGS: Final = ("acks", "request.required.acks")
GOES_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "acks": ACKS_SETTINGS,
    "idempotence": ("enable.idempotence",),
    "in_flight": ("max.in.flight.requests.per.connection", "max.in.flight"),
    "retries": ("retries", "message.send.max.retries"),
}
"""By what the clients name each of a subject's settings."""
SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class JudgedSubjects:
    """What the subjects of a run say together."""

    contradictions: list[str] = field(default_factory=list)
    """A line for each outcome that is not stated."""
    missing: list[str] = field(default_factory=list)
    """A line for each outcome that is stated and was not seen."""
    doubts: list[str] = field(default_factory=list)
    unexpected: set[str] = field(default_factory=set)
    """The anomalies that show what is not stated."""
    named: tuple[str, ...] = ()
    """The anomalies that are stated of any subject."""
    places: frozenset[tuple[Any, Any]] = frozenset()

    def answers_for(self, finding: Finding) -> bool:
        """Whether a finding is one of a subject's outcomes, and so told of here."""
        return finding.anomaly in SHOWN_BY and finding.where in self.places


def judge(
    run: RunRecord, findings: Findings, found: Sequence[Finding], configurations: Mapping[str, Mapping[str, str]]
) -> JudgedSubjects:
    """Hold the subjects of a run against the findings that count (`found`); pure. Nothing comes of none.

    `configurations` has what each process said that its client goes by.
    """
    told = () if run.observed else run.subjects
    stated = {outcome for one in told for outcome in (*_stated(one)[0], *_stated(one)[1])}
    judged = JudgedSubjects(
        named=tuple(name for name, outcome in SHOWN_BY.items() if outcome in stated),
        places=frozenset(map(place_of, told)),
    )
    several = [place for place, count in Counter(map(place_of, told)).items() if count > 1]
    judged.doubts.extend(
        f"{topic}-{number} is said to be the partition of several subjects" for topic, number in several
    )
    for one in told:
        judged.doubts.extend(_doubts(one, run.process(one.process), findings, found))
        judged.doubts.extend(_goes_by_others(one, configurations.get(one.process)))
        _judge(one, findings, found, judged)
    return judged


def _judge(subject: SubjectRecord, findings: Findings, found: Sequence[Finding], judged: JudgedSubjects) -> None:
    counts = counted(subject, replace(findings, findings=tuple(found)))
    if counts is None:
        return
    must, may = _stated(subject)
    for outcome in OUTCOMES:
        if outcome in counts.seen and outcome not in must | may:
            judged.contradictions.append(f"{name_of(subject)}: {_shown(outcome, counts)}")
            judged.unexpected.update(name for name, shows in SHOWN_BY.items() if shows == outcome)
        if outcome in must and outcome not in counts.seen:
            judged.missing.append(f"{name_of(subject)}: that it {outcome} is stated, and was not seen")
    others = [
        row
        for finding in findings_of(subject, found)
        if SHOWN_BY[finding.anomaly] == LOSES and LOSES in must | may
        for row in rows_of(subject, finding)
        if not is_expected_loss(subject, row)
    ]
    for finding in findings_of(subject, found):
        if beside := len(finding.evidence) - len(rows_of(subject, finding)):
            told = f"{finding.anomaly} of {beside} records of other processes beside it"
            judged.contradictions.append(f"{name_of(subject)}: {told}")
            judged.unexpected.add(finding.anomaly)
    if others:
        names = ", ".join(f"m{one.sequence}" for row in others[:SHOWN] for one in row.records[:1])
        judged.contradictions.append(f"{name_of(subject)}: lost {names}, whose loss the sequence does not expect")
        judged.unexpected.add("lost-write")


def _shown(outcome: str, counts: Counted) -> str:
    number = {
        "loses": f"{counts.lost} of {counts.acknowledged} acknowledged records lost",
        "duplicates": f"{counts.duplicated} records twice in the log",
        "reorders": f"{counts.reordered} records out of order",
        "refuses": f"{counts.refused} records refused",
    }
    return number[outcome]


def _doubts(
    subject: SubjectRecord, process: ProcessRecord | None, findings: Findings, found: Sequence[Finding]
) -> Iterator[str]:
    name = name_of(subject)
    if process is None:
        yield f"{name}: there is no process {subject.process}"
        return
    own = counts_of(subject, findings)
    if len(own) != 1:
        yield f"{name}: the analysis counted its records {len(own)} times"
        return
    yield from (f"{name}: {doubt}" for doubt in _of_counts(subject, own[0]))
    settings, acks = process.settings, ACKS.get(subject.acks)
    given = next((settings[one] for one in ACKS_SETTINGS if one in settings), None)
    # One of somebody's own is given what was written; `_goes_by_others` has the default.
    if (given is not None or subject.own is None) and ACKS.get("all" if given == "-1" else str(given)) != acks:
        yield f"{name}: its producer was given acks={given}"
    for finding in findings_of(subject, found):
        if not finding.whole:
            yield f"{name}: {finding.anomaly} lists {len(finding.evidence)} of {finding.count} rows"


def _of_counts(subject: SubjectRecord, counts: SubjectCounts) -> Iterator[str]:
    """What the counts of a subject's records say against it."""
    if not any((counts.acknowledged, counts.refused, counts.unknown_present, counts.unknown_absent)):
        yield "it sent nothing"
    acks = ACKS.get(subject.acks)
    if any(sent != acks for sent in counts.acks):
        yield f"its records were sent with acks {list(counts.acks)}"


def _goes_by_others(subject: SubjectRecord, configuration: Mapping[str, str] | None) -> Iterator[str]:
    """What its client goes by and is not what it is counted under."""
    name = name_of(subject)
    if configuration is None:
        yield f"{name}: nothing says what its producer goes by"
        return
    for setting, names in GOES_BY.items():
        given = next((configuration[one] for one in names if one in configuration), None)
        if given is None and setting == "acks" and subject.own is not None:
            yield f"{name}: nothing says what acks its producer goes by"
        if given is not None and _meaning(setting, given) != str(getattr(subject, setting)).lower():
            yield f"{name}: its producer goes by {setting} {given}"


def _meaning(setting: str, value: str) -> str:
    """A client's value in the words of subjects."""
    if setting == "acks":
        return "all" if value == "-1" else value
    if setting == "retries":
        return "0" if value == "0" else "many"
    return value.lower()


def _stated(subject: SubjectRecord) -> tuple[set[str], set[str]]:
    return set(subject.stated.must), set(subject.stated.may)


def name_of(subject: SubjectRecord) -> str:
    """A subject in a few words: "java acks=1, in flight 5, retries many, to rf3-min1-2"."""
    idempotent = ", idempotent" if subject.idempotence else ""
    return (
        f"{subject.client} acks={subject.acks}{idempotent}, in flight {subject.in_flight}, "
        f"retries {subject.retries}, to {subject.topic}-{subject.partition}"
    )
