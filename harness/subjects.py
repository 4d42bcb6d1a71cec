"""Subjects: many producers and topics under one fault, each with an outcome of its own that is stated beforehand.

A run of a scenario costs half a minute, most of it for a session to end, whatever number of producers it strikes. So a
scenario of the audit has *subjects*: a producer of some client with some settings, and a partition of its own in a
topic with some settings. One run measures all of them, a cell of the matrix (audit/cells.py) each.

A `Subject` says which cell it is and what must come of it. The client is given its settings and nothing else, so that
everything else is the client's own default, but for time-outs: `TIME_OUTS` makes those short that would have a run take
minutes, in the order in which the defaults are (a broker's session ends before a request times out, and that before
the delivery does). run.json has them beside each subject.

A run may be given a user's own subjects in place of the scenario's (`UserSubject`, `kafka-chaos run --subjects`): a
client of any release with the very settings of a configuration. Such a run proves one configuration, and is no
measurement of the matrix's cells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evidence import borders
from evidence.basis import Basis, fault_of
from evidence.errors import UsageError
from evidence.releases import numbers
from evidence.subjects import OUTCOMES
from harness.workloads.libraries import JAVA, Library
from harness.workloads.settings import LIBRDKAFKA, SCALA

if TYPE_CHECKING:
    from harness.cluster.versions import Version

MANY: Final = "many"
RETRIES: Final[Mapping[str, str]] = {LIBRDKAFKA: "2147483647", JAVA: "2147483647", SCALA: "100"}
"""As many as the client's own default where that is many; the Scala producer waits 100 ms between two."""
REQUEST_MS: Final = 12_000
DELIVERY_MS: Final = 30_000
DELIVERY_TIME_OUT_SINCE: Final = borders.JAVA_RETRIES.release


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOuts:
    """How long producers wait for an answer, and how long they try to deliver a record."""

    request_ms: int = REQUEST_MS
    delivery_ms: int = DELIVERY_MS
    scala_ms: int | None = None
    """For an answer, of the Scala producer; its own default (10 s) if it is not said."""


DEFAULT_TIME_OUTS: Final = TimeOuts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What must come of a subject (`must`, in every run), what may (`may`), why, and where that is documented."""

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    why: str
    source: str
    basis: Basis
    """Of what kind the source is: the weakest of those that one of the outcomes rests on."""

    def __post_init__(self) -> None:
        if fault := fault_of(self.source, self.basis):
            raise ValueError(f"Outcome(): {fault}")
        if unknown := sorted((self.must | self.may) - set(OUTCOMES)):
            raise ValueError(f"no outcome {unknown[0]!r} of a subject: {', '.join(OUTCOMES)}")


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Producer:
    """A producer's settings, by what they mean; `settings` has them in the client's own words."""

    client: str
    """"librdkafka", "java" or "scala"."""
    acks: str
    idempotence: bool = False
    in_flight: int = 5
    retries: str = MANY

    def settings(self, release: tuple[int, ...]) -> dict[str, str]:
        """What the cell sets, for a client of this release (of librdkafka it does not matter)."""
        retries = RETRIES[self.client] if self.retries == MANY else self.retries
        if self.client == SCALA:
            return {
                "request.required.acks": "-1" if self.acks == "all" else self.acks,
                "message.send.max.retries": retries,
            }
        given = {
            "acks": self.acks,
            "retries": retries,
            "max.in.flight.requests.per.connection": str(self.in_flight),
        }
        if self.client == LIBRDKAFKA or release >= borders.IDEMPOTENT_PRODUCERS.release:
            given["enable.idempotence"] = str(self.idempotence).lower()
        return given

    def time_outs(self, release: tuple[int, ...], limits: TimeOuts = DEFAULT_TIME_OUTS) -> dict[str, str]:
        """What is made short for it."""
        if self.client == SCALA:
            return {} if limits.scala_ms is None else {"request.timeout.ms": str(limits.scala_ms)}
        if self.client == LIBRDKAFKA:
            return {
                "request.timeout.ms": str(limits.request_ms),
                "socket.timeout.ms": str(limits.request_ms + 3_000),
                "message.timeout.ms": str(limits.delivery_ms),
                "socket.connection.setup.timeout.ms": "2000",
            }
        given = {"request.timeout.ms": str(limits.request_ms)}
        if release >= DELIVERY_TIME_OUT_SINCE:
            given["delivery.timeout.ms"] = str(limits.delivery_ms)
        return given


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Topic:
    """A topic's settings."""

    replication_factor: int = 3
    min_insync_replicas: int = 1
    unclean: bool = False
    flush_each: bool = False
    """flush.messages=1: each replica flushes a record before it counts."""

    @property
    def name(self) -> str:
        """Such as "rf3-min2-unclean"."""
        more = f"{'-unclean' if self.unclean else ''}{'-flush' if self.flush_each else ''}"
        return f"rf{self.replication_factor}-min{self.min_insync_replicas}{more}"

    @property
    def settings(self) -> dict[str, str]:
        """As Kafka has them. Unclean elections are always said: before 0.11 they are on by default."""
        return {
            "min.insync.replicas": str(self.min_insync_replicas),
            "unclean.leader.election.enable": str(self.unclean).lower(),
        } | ({"flush.messages": "1"} if self.flush_each else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The settings of a user's own producer, for a client of one release."""

    release: str
    """Of the client; of librdkafka for the record only, since one is installed."""
    settings: Mapping[str, str] = field(hash=False)
    """All that its client is given but for what is made short; everything else is the client's default."""
    stated: bool
    """Whether what a scenario's rule states of the settings' meaning is stated of these."""

    @property
    def as_json(self) -> dict[str, Any]:
        """As run.json has it."""
        return {"release": self.release, "settings": dict(self.settings), "stated": self.stated}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A producer and a topic, and what is stated of the two."""

    producer: Producer
    topic: Topic
    stated: Outcome
    own: ClientSettings | None = None
    """In place of the cell's settings."""

    def library(self, version: Version) -> Library:
        """What drives it: the installed librdkafka, or a client of the brokers' release, or of one's own."""
        release = self.own.release if self.own else version.kafka
        client = self.producer.client
        return Library(client) if client == LIBRDKAFKA else Library(client, release)

    def release(self, version: Version) -> tuple[int, ...]:
        """Of its client, as far as that decides over what it knows (of librdkafka it does not)."""
        if self.own and self.producer.client != LIBRDKAFKA:
            return numbers(self.own.release)
        return version.release

    def settings(self, version: Version) -> dict[str, str]:
        """What its producer is given, but for what is made short."""
        return dict(self.own.settings) if self.own else self.producer.settings(version.release)

    def time_outs(self, version: Version, limits: TimeOuts) -> dict[str, str]:
        """What is made short for it."""
        return self.producer.time_outs(self.release(version), limits)

    @property
    def key(self) -> dict[str, Any]:
        """What the cell is named by, but for the version and the fault."""
        return asdict(self.producer) | asdict(self.topic)

    def __str__(self) -> str:
        return f"{self.producer.client} with acks={self.producer.acks} to {self.topic.name}"


NOTHING_STATED: Final = Outcome(
    may=frozenset(OUTCOMES),
    why="Nothing is stated of such settings: what comes of them is observed.",
    source="what is seen in this run",
    basis=Basis.MEASURED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSubject:
    """A user's own subject: a producer and a topic as classes of the matrix, and the settings that put them there."""

    producer: Producer
    topic: Topic
    own: ClientSettings

    def subject(self, stated: Outcome) -> Subject:
        """The subject, with what a scenario's rule states of it, if the rule is for such settings."""
        outcome = stated if self.own.stated else NOTHING_STATED
        return Subject(producer=self.producer, topic=self.topic, stated=outcome, own=self.own)

    @property
    def as_json(self) -> dict[str, Any]:
        """As a file for `--subjects` has it, and run.json."""
        return {"producer": asdict(self.producer), "topic": asdict(self.topic), "own": self.own.as_json}


def write_user_subjects(given: Iterable[UserSubject], path: Path) -> None:
    """Write subjects for `kafka-chaos run --subjects`."""
    lines = ",\n".join(json.dumps(one.as_json, sort_keys=True) for one in given)
    path.write_text(f'{{"given": [\n{lines}\n]}}\n', encoding="utf-8")


def read_user_subjects(path: Path) -> tuple[UserSubject, ...]:
    """The subjects of such a file, or of the run.json of a run that was given any. Raises UsageError."""
    try:
        return tuple(
            UserSubject(
                producer=Producer(**one["producer"]), topic=Topic(**one["topic"]), own=ClientSettings(**one["own"])
            )
            for one in json.loads(path.read_text(encoding="utf-8"))["given"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: no subjects ({error}); `kafka-chaos audit --prove` writes such files") from None
