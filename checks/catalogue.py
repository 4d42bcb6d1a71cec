"""The catalogue of anomalies: what each name means, where it is defined, and when seeing it is no surprise.

Every check of the analysis takes its name from here (`registered`), every scenario's expectations are held against it
when the scenario is imported (`validate`), and docs/anomalies.md and `kafka-chaos list --anomalies` are made from it.
Names and definitions follow Jepsen's checker for Kafka where it has them, so that a verdict means the same here and
there.

Two properties of an entry excuse a finding:

- `permits`: Kafka permits it under the settings of the clients that it is about (a retry without idempotence may
  write twice). Such a finding is reported and fails nothing.
- `follows`: it is a documented anomaly seen from another side. The offset of a lost record is given to the next one,
  so one offset was acknowledged for two values; that is no second anomaly.

Both are pure functions of the run's facts (run.json) and of findings (findings.json).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

from evidence.errors import unknown_name
from evidence.events import NO_LEADER
from evidence.releases import numbers

Facts = Mapping[str, Any]
Permits = Callable[[Facts, Facts], str | None]
Follows = Callable[[Facts, Sequence[Facts]], str | None]
T = TypeVar("T")

HISTORIES: Final = "client histories"
REPLICAS: Final = "replicas' files"
METADATA: Final = "cluster metadata"
COORDINATORS: Final = "answers of group coordinators"

JEPSEN: Final = "Jepsen, Kafka workload"
ADYA: Final = "Adya, Weak Consistency (1999); Jepsen, Kafka workload"
OFFSETS_DOC: Final = "Kafka documentation, Design: consumer offset tracking"
GUARANTEES: Final = "Kafka documentation, Design: replication"

LOST_WRITE: Final = "lost-write"
UNSEEN: Final = "unseen"
WRITE_CYCLE: Final = "G0"
TRUNCATED: Final = "log-truncated-below-high-watermark"
NEVER_NS: Final = 2**63 - 1
UNLIMITED: Final = 2**31 - 1


def _never(run: Facts, finding: Facts) -> str | None:
    return None


def _on_its_own(finding: Facts, losses: Sequence[Facts]) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One name, and what is to be known of it."""

    name: str
    seen_in: str
    """The evidence it is found in: client histories, replicas' files or cluster metadata."""
    definition: str
    source: str
    permitted: str = ""
    """When Kafka permits it, in words; empty if never."""
    permits: Permits = _never
    """(run, finding) → why Kafka permits this finding under the settings of its clients, or None."""
    follows_from: str = ""
    """The anomaly that it can be another side of; empty if none."""
    follows: Follows = _on_its_own
    """(finding, findings of what is lost in its partition) → why it is the same as those, or None."""

    def as_json(self) -> dict[str, str]:
        """The entry in words, for `kafka-chaos list --anomalies --json`."""
        return {
            "name": self.name,
            "seen_in": self.seen_in,
            "definition": self.definition,
            "source": self.source,
            "permitted": self.permitted,
            "follows_from": self.follows_from,
        }


# What the clients' settings permit


def _concerned(run: Facts, finding: Facts, kind: str) -> list[Facts]:
    """The processes of a kind that a finding names; all of them if it names none."""
    of_kind = {
        str(process.get("name")): process for process in run.get("processes") or () if process.get("kind") == kind
    }
    named = {str(row["process"]) for row in finding.get("evidence") or () if row.get("process")}
    return [of_kind[name] for name in sorted(named) if name in of_kind] or list(of_kind.values())


def _number(settings: Facts, default: int, *names: str) -> int:
    return next((int(settings[name]) for name in names if str(settings.get(name, "")).isdigit()), default)


def _retries(settings: Facts) -> bool:
    idempotent = str(settings.get("enable.idempotence", "false")).lower() == "true" or "transactional.id" in settings
    return not idempotent and _number(settings, UNLIMITED, "message.send.max.retries", "retries") > 0


def _in_flight(settings: Facts, default: int = 1_000_000) -> int:
    return _number(settings, default, "max.in.flight.requests.per.connection", "max.in.flight")


IDEMPOTENT_BY_DEFAULT: Final = (3,)
"""Java clients of this release and later (KIP-679)."""


def _by_default(run: Facts, process: Facts) -> Facts:
    """What a producer's own documentation says of idempotence where its settings do not: Java clients have it from 3.0
    on, if nothing that was set speaks against it.
    """
    kind, _, release = str(process.get("library") or run.get("client") or "").partition("-")
    settings = process.get("settings") or {}
    against = str(settings.get("acks", "all")) not in ("all", "-1") or _in_flight(settings, 5) > 5
    new = kind == "java" and numbers(release) >= IDEMPOTENT_BY_DEFAULT
    return {"enable.idempotence": "true"} if new and not against else {}


def _producers(run: Facts, finding: Facts) -> list[Facts]:
    concerned = _concerned(run, finding, "producer")
    return [{**_by_default(run, process), **(process.get("settings") or {})} for process in concerned]


def _retried(run: Facts, finding: Facts) -> str | None:
    producers = _producers(run, finding)
    permitted = bool(producers) and all(map(_retries, producers))
    return "retries without idempotence may write a record twice" if permitted else None


def _reordered(run: Facts, finding: Facts) -> str | None:
    producers = _producers(run, finding)
    permitted = bool(producers) and all(_retries(settings) and _in_flight(settings) > 1 for settings in producers)
    return "retries with several requests in flight and no idempotence may reorder records" if permitted else None


def _processed_again(run: Facts, finding: Facts) -> str | None:
    exact = any("transactional.id" in (p.get("settings") or {}) for p in _concerned(run, finding, "processor"))
    return None if exact else "without transactions a pipeline processes at least once"


def _leaderless(run: Facts, finding: Facts) -> str | None:
    led = any(row.get("leader") not in (None, NO_LEADER) for row in finding.get("evidence") or ())
    return None if led else "a partition that nobody leads may have nobody in sync: nothing is committed meanwhile"


def truncates_to_high_watermark(run: Facts) -> bool:
    """Whether the run's brokers truncate to their high watermark: an inter-broker protocol before 0.11 (KIP-101), the
    release's own or the one it is pinned to. False if run.json does not say.
    """
    stated = (run.get("settings") or {}).get("inter.broker.protocol.version") or run.get("kafka") or ""
    numbers = str(stated).partition("-")[0].split(".")
    return run.get("mode") == "zookeeper" and all(n.isdigit() for n in numbers) and [int(n) for n in numbers] < [0, 11]


def _truncates(run: Facts, finding: Facts) -> str | None:
    # Below what it had announced itself no protocol lets it truncate.
    by_leader = all(row.get("announced_by") == "leader" for row in finding.get("evidence") or ())
    permitted = by_leader and truncates_to_high_watermark(run)
    return "before protocol 0.11 a follower truncates to its own high watermark (KIP-101)" if permitted else None


# What a loss looks like from other sides


def _identity(row: Facts) -> tuple[Any, Any]:
    return (row.get("producer"), row.get("sequence"))


def _lost(losses: Sequence[Facts]) -> tuple[set[tuple[Any, Any]], bool]:
    """The lost records that evidence names, and whether there are more than it names."""
    lost = {_identity(row) for loss in losses for row in loss.get("evidence") or ()}
    # Evidence stops at a number of rows; beyond it, what was acknowledged and read by nobody is a lost record all the
    # same.
    return lost, any(int(loss.get("count") or 0) > len(loss.get("evidence") or ()) for loss in losses)


def _offset_given_again(finding: Facts, losses: Sequence[Facts]) -> str | None:
    """At every offset at most one value may be other than a lost one, and nobody may have read the lost one: that it
    was not read is what makes it lost.
    """
    lost, curtailed = _lost(losses)
    rows = finding.get("evidence") or ()
    for row in rows:
        values = {_identity(value) for value in row.get("values") or ()}
        read = {_identity(value) for value in row.get("readers") or ()}
        if not values or len(values - lost if not curtailed else values & read - lost) > 1 or values & read & lost:
            return None
    same = bool(rows) and bool(lost)
    return "the offset of a lost record was given to the next one, as the documented loss implies" if same else None


def _missing_everywhere(finding: Facts, losses: Sequence[Facts]) -> str | None:
    """What is lost for all is missing from in-sync replicas, if no acknowledged record but lost ones is missing."""
    lost, curtailed = _lost(losses)
    missing = {_identity(row) for row in finding.get("evidence") or ()}
    same = bool(lost) and (curtailed or missing <= lost)
    return "a lost record is missing from in-sync replicas, as the documented loss implies" if same else None


def _lost_was_cut_off(finding: Facts, losses: Sequence[Facts]) -> str | None:
    """A log cut off below a high watermark says no more than the loss, if nothing but lost records was cut off."""
    lost, curtailed = _lost(losses)
    ends = [int(row.get("offset") or 0) for loss in losses for row in loss.get("evidence") or ()]
    same = bool(lost) and all(
        (curtailed or {_identity(value) for value in row.get("cut_off") or ()} <= lost)
        and row.get("log_end", NEVER_NS) <= max(ends)
        for row in finding.get("evidence") or ()
    )
    return "a log was cut off where the lost record lay, as the documented loss implies" if same else None


EVERY: Final[tuple[Anomaly, ...]] = (
    Anomaly(
        name=LOST_WRITE,
        seen_in=HISTORIES,
        definition="An acknowledged record that no poll returned although a poll returned a later one, or that the "
        "final read, which went to the end of the log, did not find; read once before, it is lost if it lies at or "
        "beyond that end, or another record was read in its place.",
        source=JEPSEN,
    ),
    Anomaly(
        name=UNSEEN,
        seen_in=HISTORIES,
        definition="An acknowledged record that was not read, where no final read reached the end of the log.",
        source=JEPSEN,
        permitted="always: it may still be in the log",
        permits=lambda run, finding: "not read, but the final read did not reach the end, so it may still be there",
    ),
    Anomaly(
        name="duplicate",
        seen_in=HISTORIES,
        definition="One record at two or more offsets of a partition.",
        source=f"{JEPSEN}; KIP-98",
        permitted="if the producer retries without idempotence",
        permits=_retried,
    ),
    Anomaly(
        name="inconsistent-offsets",
        seen_in=HISTORIES,
        definition="One offset of one partition with two values, as acknowledged or as read.",
        source=JEPSEN,
        follows_from=LOST_WRITE,
        follows=_offset_given_again,
    ),
    Anomaly(
        name="phantom",
        seen_in=HISTORIES,
        definition="A record that was read and that nobody sent, to this partition or to another.",
        source="this project",
    ),
    Anomaly(
        name="misdelivered",
        seen_in=HISTORIES,
        definition="A record was read in a partition that it was never sent to: its producer sent it to another one.",
        source="this project; KAFKA-19012",
    ),
    Anomaly(
        name="corrupt-record",
        seen_in=f"{HISTORIES}, {REPLICAS}",
        definition="A record or batch whose bytes do not match their checksum.",
        source="Kafka documentation, Implementation: message format",
    ),
    Anomaly(
        name="aborted-read",
        seen_in=HISTORIES,
        definition="A reader under read_committed was given a record whose send failed or whose transaction aborted "
        "(G1a).",
        source=f"{ADYA}; KIP-98",
    ),
    Anomaly(
        name="precommitted-read",
        seen_in=HISTORIES,
        definition="One transaction both sent a record and read it.",
        source=JEPSEN,
    ),
    Anomaly(
        name="torn-transaction",
        seen_in=HISTORIES,
        definition="Some records of a committed transaction were read, and others are not in the log.",
        source="KIP-98",
    ),
    Anomaly(
        name="transaction-half-committed",
        seen_in=HISTORIES,
        definition="Of a committed transaction readers under read_committed were given some records, and passed over "
        "others.",
        source="KIP-98, KIP-890",
    ),
    Anomaly(
        name="resurrected",
        seen_in=HISTORIES,
        definition="A record that had been deleted by request, as the answer confirmed, was read by a reader that "
        "began afterwards.",
        source="KIP-107",
    ),
    Anomaly(
        name="poll-skip",
        seen_in=HISTORIES,
        definition="Between two polls in a row of a partition that stayed assigned, the consumer passed over records.",
        source=JEPSEN,
    ),
    Anomaly(
        name="nonmonotonic-poll",
        seen_in=HISTORIES,
        definition="Of two polls in a row of a partition that stayed assigned, the second went back.",
        source=JEPSEN,
    ),
    Anomaly(
        name="internal-poll-skip",
        seen_in=HISTORIES,
        definition="Within one poll the consumer passed over records.",
        source=JEPSEN,
    ),
    Anomaly(
        name="internal-nonmonotonic-poll",
        seen_in=HISTORIES,
        definition="Within one poll the records of a partition go back.",
        source=JEPSEN,
    ),
    Anomaly(
        name="nonmonotonic-send",
        seen_in=HISTORIES,
        definition="The offsets of a producer's records in a partition do not follow the order in which it sent them.",
        source=JEPSEN,
        permitted="if the producer retries without idempotence and has several requests in flight",
        permits=_reordered,
    ),
    Anomaly(
        name="internal-nonmonotonic-send",
        seen_in=HISTORIES,
        definition="The same between records of one operation.",
        source=JEPSEN,
        permitted="if the producer retries without idempotence and has several requests in flight",
        permits=_reordered,
    ),
    Anomaly(
        name="committed-too-far",
        seen_in=HISTORIES,
        definition="A pipeline committed an offset beyond an input that it had not processed.",
        source="Kafka documentation, Design: message delivery semantics",
    ),
    Anomaly(
        name="skipped-processing",
        seen_in=HISTORIES,
        definition="A pipeline never processed an input that it had passed.",
        source="Kafka documentation, Design: message delivery semantics",
    ),
    Anomaly(
        name="repeated-processing",
        seen_in=HISTORIES,
        definition="A pipeline processed an input more than once.",
        source="Kafka documentation, Design: message delivery semantics",
        permitted="if the pipeline uses no transactions",
        permits=_processed_again,
    ),
    Anomaly(
        name=WRITE_CYCLE,
        seen_in=HISTORIES,
        definition="A cycle of transactions, each of which wrote to a partition after the one before it.",
        source=ADYA,
        permitted="always: transactions of Kafka do not order their writes",
        permits=lambda run, finding: "Kafka's transactions allow cycles of writes",
    ),
    Anomaly(
        name="G1c",
        seen_in=HISTORIES,
        definition="A cycle of transactions, each of which wrote after the one before it or read what it wrote.",
        source=ADYA,
    ),
    Anomaly(
        name="read-above-high-watermark",
        seen_in=f"{HISTORIES}, {REPLICAS}",
        definition="A record was read before every in-sync replica had it.",
        source=GUARANTEES,
    ),
    Anomaly(
        name="high-watermark-regression",
        seen_in=f"{HISTORIES}, {REPLICAS}",
        definition="The high watermark of a leader went down within one leader epoch, or below what was read. Not in a "
        "checkpoint that a power loss took back.",
        source=f"{GUARANTEES}; KIP-101",
    ),
    Anomaly(
        name=TRUNCATED,
        seen_in=REPLICAS,
        definition="A replica's log ended below a high watermark that it or its leader had announced.",
        source="KIP-101, KAFKA-1211",
        permitted="before inter-broker protocol 0.11, below the leader's high watermark and not below its own",
        permits=_truncates,
        follows_from=LOST_WRITE,
        follows=_lost_was_cut_off,
    ),
    Anomaly(
        name="unreplicated-acknowledgement",
        seen_in=REPLICAS,
        definition="A record acknowledged with acks=all was missing from a replica that was in the ISR throughout.",
        source=GUARANTEES,
        follows_from=LOST_WRITE,
        follows=_missing_everywhere,
    ),
    Anomaly(
        name="replica-divergence",
        seen_in=REPLICAS,
        definition="Two in-sync replicas held different records at one offset that both had.",
        source="KIP-101, KAFKA-1211",
    ),
    Anomaly(
        name="two-leaders-in-one-epoch",
        seen_in=f"{REPLICAS}, {METADATA}",
        definition="Two brokers led a partition, or appended to it, under one leader epoch.",
        source="KIP-101",
    ),
    Anomaly(
        name="leader-epoch-regression",
        seen_in=f"{REPLICAS}, {METADATA}",
        definition="The leader epoch of a partition went down, or a replica's epoch file disagrees with its batches.",
        source="KIP-101",
    ),
    Anomaly(
        name="index-mismatch",
        seen_in=REPLICAS,
        definition="An entry of an offset or time index points to something else than the log holds there.",
        source="Kafka documentation, Implementation: log",
    ),
    Anomaly(
        name="log-start-regression",
        seen_in=REPLICAS,
        definition="The first offset of a replica's log went down.",
        source="KIP-107",
    ),
    Anomaly(
        name="controller-epoch-regression",
        seen_in=METADATA,
        definition="The controller epoch went down.",
        source="Kafka documentation, Design: replication; KIP-500",
    ),
    Anomaly(
        name="two-controllers-in-one-epoch",
        seen_in=METADATA,
        definition="Two brokers were controller under one controller epoch.",
        source="KIP-500",
    ),
    Anomaly(
        name="leader-outside-isr",
        seen_in=METADATA,
        definition="A partition was led by a broker that is not in its ISR.",
        source=GUARANTEES,
    ),
    Anomaly(
        name="empty-isr",
        seen_in=METADATA,
        definition="The ISR of a partition was empty.",
        source=f"{GUARANTEES}; KIP-966",
        permitted="while nobody leads the partition",
        permits=_leaderless,
    ),
    Anomaly(
        name="configuration-forgotten",
        seen_in=METADATA,
        definition="A broker deleted records by another retention time than their topic's own (retention.ms).",
        source="Kafka documentation, topic configuration: retention.ms; KAFKA-9254",
    ),
    Anomaly(
        name="correlated-crash",
        seen_in=METADATA,
        definition="All brokers that held a partition and were up, two or more, ended themselves within a minute.",
        source="this project; KAFKA-4893",
    ),
    Anomaly(
        name="stuck-last-stable-offset",
        seen_in=METADATA,
        definition="A partition's leader gave readers under read_committed one and the same end, below the high "
        "watermark, from some moment on and for 20 s or more, though every transaction had ended before.",
        source="KIP-98; KIP-890",
    ),
    Anomaly(
        name="isr-outside-assignment",
        seen_in=METADATA,
        definition="The ISR of a partition had a broker that is not one of its replicas.",
        source=GUARANTEES,
    ),
    Anomaly(
        name="committed-offset-lost",
        seen_in=COORDINATORS,
        definition="A group's coordinator knows of no offset for a partition, though it had acknowledged one.",
        source=OFFSETS_DOC,
    ),
    Anomaly(
        name="committed-offset-regression",
        seen_in=COORDINATORS,
        definition="A group's coordinator answers with an offset before the one that it had acknowledged last.",
        source=OFFSETS_DOC,
    ),
    Anomaly(
        name="group-unavailable",
        seen_in=COORDINATORS,
        definition="A group's coordinator that had acknowledged an offset answers nothing but errors from some moment "
        "on, for 20 s or more.",
        source=OFFSETS_DOC,
    ),
)
CATALOGUE: Final[Mapping[str, Anomaly]] = MappingProxyType({anomaly.name: anomaly for anomaly in EVERY})


def validate(names: Iterable[str]) -> None:
    """Raise UsageError, with the nearest names, for the first that is not in the catalogue."""
    for name in names:
        if name not in CATALOGUE:
            raise unknown_name("anomaly", name, CATALOGUE, hint="`kafka-chaos list --anomalies` has them all")


def registered(checks: Mapping[str, T]) -> dict[str, T]:
    """A registry of checks by the anomaly that each one finds. Raises UsageError for a name that is not listed."""
    validate(checks)
    return dict(checks)


def permitted(run: Facts, finding: Facts) -> str | None:
    """Why Kafka permits this finding under the settings of the clients it is about, or None if it does not."""
    entry = CATALOGUE.get(str(finding.get("anomaly")))
    return entry.permits(run, finding) if entry else None


def consequence(finding: Facts, found: Sequence[Facts], documented: Iterable[str]) -> str | None:
    """Why this finding is a documented one seen from another side, or None if it is not."""
    entry = CATALOGUE.get(str(finding.get("anomaly")))
    if entry is None or not entry.follows_from or entry.follows_from not in documented:
        return None
    where = (finding.get("topic"), finding.get("partition"))
    # A run that was cut short has no final read to tell which of the two a record is.
    losses = [f for f in found if f.get("anomaly") in (entry.follows_from, UNSEEN)]
    return entry.follows(finding, [f for f in losses if (f.get("topic"), f.get("partition")) == where])
