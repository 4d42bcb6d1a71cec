"""findings.json: what the analysis found in a run, as one frozen value that it writes and everything else reads.

A `Finding` is one anomaly in one topic-partition (or in the run as a whole) with rows of evidence, which explain it
without the code. Anomalies differ in what their rows tell, so a `Row` has two parts. What something is concluded from
has a typed field of its own: the records, their offset, who wrote or read them, the node, the moment. All else is
`detail`, for people: reports show it as it is, and nobody looks into it but the catalogue's entry of the very anomaly.

Rows name records by `records`, whatever else they tell of them. A check returns its rows as mappings
(checks/view.py), and `found` makes the finding of them: the one place where the one becomes the other.

Between the analysis' processes and on disk this is JSON; times are CLOCK_MONOTONIC nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from evidence.records import RecordId, TopicPartition
from evidence.rundir import RunDir, read_json, write_json

SCHEMA: Final = 2
OK: Final = "ok"
CRASHED: Final = "crashed"
NOT_APPLICABLE: Final = "not-applicable"


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of evidence."""

    records: tuple[RecordId, ...] = ()
    """Every record of ours that the row is about: first the one that it tells most of, if there is one."""
    read: tuple[RecordId, ...] = ()
    """Of these, those that somebody read, where it matters (inconsistent-offsets)."""
    topic: str | None = None
    """The row's own partition, where its finding is not of a single one."""
    partition: int | None = None
    offset: int | None = None
    """Where in the partition's log."""
    process: str | None = None
    """The client that wrote the record, or read it."""
    node: str | None = None
    """The broker that the row is about, such as "broker-1"."""
    brokers: tuple[str, ...] = ()
    """The brokers that the row tells apart."""
    moment: str | None = None
    """The moment of copying at which the replicas held this."""
    acks: int | None = None
    """What the record was sent with; -1 is "all"."""
    outcome: str | None = None
    """Of the send or transaction: "ok", "fail" or "info" (evidence/history/schema.py)."""
    invoked_ns: int | None = None
    completed_ns: int | None = None
    at_ns: int | None = None
    holdings: Mapping[str, Mapping[str, int | None]] = {}
    """Of a lost record: moment of copying → node → the offset at which its replica held the record, or None."""
    detail: Mapping[str, Any] = {}
    """All else, for people; plain values of JSON."""

    @classmethod
    def of(cls, told: Mapping[str, Any], where: TopicPartition | None = None) -> Row:
        """The row of what a check told, in the partition `where`.

        A record that the row is about stands in it as `producer` and `sequence`; others are listed in `records`.
        """
        rest = dict(told)
        typed = {name: rest.pop(name) for name in _TYPED & rest.keys()}
        typed["records"] = _ours([*record_of(told, where), *typed.get("records", ())])
        rest = {name: value for name, value in rest.items() if name not in ("producer", "sequence")}
        typed["read"] = _ours(typed.get("read", ()))
        if (typed.get("topic"), typed.get("partition")) == where:
            typed |= {"topic": None, "partition": None}
        typed["brokers"] = tuple(typed.get("brokers", ()))
        return cls(**typed, detail=rest)

    def for_people(self) -> dict[str, Any]:
        """What the row tells people: its columns by name, without those that are empty."""
        typed = {
            name: getattr(self, name) for name in self.__struct_fields__ if name not in ("records", "read", "detail")
        }
        named = {"record" if len(self.records) == 1 else "records": [str(one) for one in self.records]}
        return {name: value for name, value in (named | typed).items() if value not in (None, [], (), {})} | dict(
            self.detail
        )


_TYPED: Final = frozenset(Row.__struct_fields__) - {"detail"}


def record_of(told: Mapping[str, Any], where: TopicPartition | None = None) -> tuple[RecordId, ...]:
    """The record that a row, or a part of one, names as `producer` and `sequence` (and `topic` and `partition`, unless
    it is of the partition `where`). None in histories of others, which name values instead.
    """
    topic, partition = where or (told.get("topic"), told.get("partition"))
    producer, sequence = told.get("producer"), told.get("sequence")
    if topic is None or partition is None or producer is None or sequence is None:
        return ()
    return (RecordId(topic, partition, producer, sequence),)


def _ours(records: Iterable[RecordId]) -> tuple[RecordId, ...]:
    """Without repetitions, and without those that nobody of ours can have written."""
    return tuple(dict.fromkeys(one for one in records if one.is_ours))


class Finding(Struct, frozen=True, kw_only=True):
    """One anomaly, where it was found and how often, with evidence."""

    anomaly: str
    topic: str | None = None
    """The partition that it was found in; None if it is of the whole run, or of several."""
    partition: int | None = None
    count: int = 0
    """Of all occurrences; the evidence may list the first of them only."""
    summary: str = ""
    """For people, in one line."""
    reads: tuple[str, ...] = ()
    """The kinds of evidence that its check reads, in the catalogue's words; none named: any."""
    evidence: tuple[Row, ...] = ()

    @property
    def where(self) -> TopicPartition | None:
        return None if self.topic is None or self.partition is None else (self.topic, self.partition)

    @property
    def records(self) -> tuple[RecordId, ...]:
        """Every record that its evidence names, each once."""
        return tuple(dict.fromkeys(one for row in self.evidence for one in row.records))

    @property
    def whole(self) -> bool:
        """Whether the evidence lists every occurrence."""
        return self.count <= len(self.evidence)

    @property
    def place(self) -> str:
        """As Kafka writes it: "t-0"."""
        return f"{self.topic}-{self.partition}"

    @property
    def named_summary(self) -> str:
        """The finding in one line that begins with the anomaly's name."""
        summary = self.summary or "seen"
        return summary if summary.startswith(self.anomaly) else f"{self.anomaly}: {summary}"


def found(
    anomaly: str,
    where: TopicPartition | None,
    rows: Sequence[Mapping[str, Any]],
    *,
    reads: Iterable[str] = (),
    total: int | None = None,
    limit: int | None = None,
) -> Finding:
    """The finding of what a check told: `total` occurrences (None: as many as there are rows), of which the first
    `limit` rows are evidence. Without `where` it is of the partition that all rows name, if they name the same one.
    """
    count = len(rows) if total is None else total
    named = {(row.get("topic"), row.get("partition")) for row in rows}
    if where is None and len(named) == 1:
        topic, partition = named.pop()
        where = (topic, partition) if topic is not None and partition is not None else None
    place, at = f" in {where[0]}-{where[1]}" if where else "", rows[0].get("offset")
    return Finding(
        anomaly=anomaly,
        topic=where[0] if where else None,
        partition=where[1] if where else None,
        count=count,
        summary=f"{anomaly}: {count}{place}" + (f", the first at offset {at}" if at is not None else ""),
        reads=tuple(reads),
        evidence=tuple(Row.of(row, where) for row in rows[:limit]),
    )


class CheckResult(Struct, frozen=True, kw_only=True):
    """What came of one check, over all that it looked at."""

    name: str
    status: str
    """OK, CRASHED or NOT_APPLICABLE."""
    reason: str | None = None
    """Why it crashed, or did not apply."""
    seconds: float = 0.0


class Problem(Struct, frozen=True, omit_defaults=True):
    """Something that makes the evidence less than whole."""

    what: str
    process: str = ""
    detail: str = ""
    file: str = ""
    """The file, within the run directory, that is not what it was; "" if what there is of it can be relied upon."""

    @property
    def text(self) -> str:
        """In one line."""
        return ": ".join(filter(None, (self.what, self.process, self.detail)))


class ClaimResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one claim that is documented for the run."""

    name: str
    definition: str = ""
    source: str = ""
    basis: str = ""
    """Of what kind the source is (evidence/basis.py)."""
    bound: str = ""
    """Of a duration: what bounds it."""
    bound_basis: str = ""
    """On what the bound rests."""
    outcome: str
    """held, contradicted or not-observed (checks/claims)."""
    observed: str = ""
    """What was seen, in one sentence."""
    measured_ms: float | None = None
    bound_ms: float | None = None
    evidence: tuple[Mapping[str, Any], ...] = ()
    """The rows that it was judged by, for people."""

    @property
    def text(self) -> str:
        """For people: "held: 2 changes of leader", a duration with its bound."""
        timed = self.measured_ms is not None and self.bound_ms is not None
        measured = f" (bound {self.bound_ms / 1000:.1f} s)" if timed and self.bound_ms is not None else ""
        return f"{self.outcome.replace('-', ' ')}: {self.observed}{measured}"


class Pause(Struct, frozen=True, kw_only=True):
    """When something paused, and for how long."""

    at_ns: int
    ms: float


class ErrorWindow(Struct, frozen=True, kw_only=True):
    """From the first error that a producer was told to the next acknowledgement, or to the last error."""

    begin_ns: int
    end_ns: int
    errors: int
    resumed: bool


class FirstSuccess(Struct, frozen=True, kw_only=True):
    """How long after a fault the first record that was sent then was acknowledged."""

    fault: str
    kind: str
    at_ns: int
    ms: float


class Availability(Struct, frozen=True, kw_only=True):
    """What faults cost the clients of one partition (evidence/availability.py)."""

    topic: str
    partition: int
    begin_ns: int
    end_ns: int
    bucket_ms: int
    acknowledged_in: tuple[int, ...]
    """By bucket of time, from `begin_ns` on."""
    read_in: tuple[int, ...]
    acknowledged: int
    errors: Mapping[str, int]
    """By name, how many sends ended with it."""
    error_windows: tuple[ErrorWindow, ...]
    write_pause: Pause | None
    """The longest."""
    read_pause: Pause | None
    first_success: tuple[FirstSuccess, ...]
    usual_per_s: float | None
    lowest_per_s: float | None

    @property
    def figures(self) -> AvailabilityFigures:
        """The figures that verdict.json keeps."""
        error_ns = sum(window.end_ns - window.begin_ns for window in self.error_windows)
        return AvailabilityFigures(
            topic=self.topic,
            partition=self.partition,
            acknowledged=self.acknowledged,
            errors=sum(self.errors.values()),
            error_ms=round(error_ns / 1e6, 1),
            write_pause_ms=None if self.write_pause is None else self.write_pause.ms,
            read_pause_ms=None if self.read_pause is None else self.read_pause.ms,
            first_success_ms=max((one.ms for one in self.first_success), default=None),
            usual_per_s=self.usual_per_s,
            lowest_per_s=self.lowest_per_s,
        )


class AvailabilityFigures(Struct, frozen=True, kw_only=True):
    """Of one partition, what verdict.json keeps of what faults cost its clients."""

    topic: str
    partition: int
    acknowledged: int = 0
    errors: int = 0
    error_ms: float = 0.0
    """How long error windows lasted together."""
    write_pause_ms: float | None = None
    read_pause_ms: float | None = None
    first_success_ms: float | None = None
    """The longest of those after each fault."""
    usual_per_s: float | None = None
    lowest_per_s: float | None = None


class SubjectCounts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the records of one subject (evidence/subjects.py)."""

    topic: str
    partition: int
    process: str
    acks: tuple[int, ...] = ()
    """What its records were sent with."""
    acknowledged: int
    refused: int
    unknown_present: int
    """Of unknown outcome, and in the log."""
    unknown_absent: int
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None
    records_per_s: float | None = None


class Pace(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long an application took that was left alone, from the acknowledgement of an input until its output was there
    (analysis/paces.py).
    """

    topic: str
    """Of the inputs."""
    partition: int
    seen_by: str
    """Who says that an output was there: a consumer that read what is committed, or "" for the application itself."""
    latency_p50_ms: float
    """Of inputs that came slowly, one after the other."""
    latency_p99_ms: float
    inputs_per_s: float
    """Of inputs that came at once: from the first acknowledgement until the last output was there."""
    timed: tuple[int, int]
    """How many inputs these are."""


class Findings(Struct, frozen=True, kw_only=True):
    """What the analysis found in one run."""

    schema: int = SCHEMA
    checks: tuple[CheckResult, ...] = ()
    findings: tuple[Finding, ...]
    claims: tuple[ClaimResult, ...] = ()
    availability: tuple[Availability, ...] = ()
    subjects: tuple[SubjectCounts, ...] = ()
    paces: tuple[Pace, ...] = ()
    problems: tuple[Problem, ...] = ()
    statistics: Mapping[str, int] = {}
    """Counts: `sends_ok`, `polled`, `partitions` …"""
    real_time_lag: Mapping[str, Any] | None = None
    """The longest (checks/anomalies/real_time_lag.py), for people."""
    unknown_errors: Mapping[str, int] = {}
    """Errors that are on no list of definite ones, and how many sends ended with each."""
    seconds: float = 0.0
    """That the analysis took."""

    def of(self, anomaly: str) -> list[Finding]:
        """The findings of one anomaly."""
        return [one for one in self.findings if one.anomaly == anomaly]

    @property
    def seen(self) -> tuple[str, ...]:
        """The names of all anomalies found."""
        return tuple(sorted({one.anomaly for one in self.findings}))

    @property
    def acknowledged(self) -> int | None:
        """How many sends were acknowledged; None if that was not counted."""
        return self.statistics.get("sends_ok")

    def passed(self, check: str) -> bool:
        """Whether a check ran to its end."""
        return any(one.name == check and one.status == OK for one in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Plain values of JSON, as findings.json has them."""
        plain: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return plain


def write_findings(run_dir: RunDir, findings: Findings) -> None:
    """Replace the findings of a run."""
    write_json(run_dir.findings, findings.as_json())


def read_findings(run_dir: RunDir) -> tuple[Findings | None, str | None]:
    """The findings of a run, or None and what is wrong with the file (None and None if there is no file)."""
    try:
        value = read_json(run_dir.findings)
    except FileNotFoundError:
        return None, None
    except (OSError, ValueError) as error:
        return None, f"findings.json is not readable: {error}"
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        return None, f"findings.json has the schema {schema!r}, this program reads {SCHEMA}: it is to be made again"
    try:
        return msgspec.convert(value, Findings), None
    except (msgspec.ValidationError, UnicodeError) as error:
        return None, f"findings.json holds no findings: {error}"
