"""Subjects: many producers and topics under one fault, each with an outcome of its own that is stated beforehand.

A run of a scenario costs half a minute, most of it for a session to end, whatever number of producers it strikes. So a
scenario of the audit has *subjects*: a producer of some client with some settings, and a partition of its own in a
topic with some settings. One run measures all of them, a cell of the matrix (audit/cells.py) each.

A `Subject` says which cell it is and what must come of it. The client is given its settings and nothing else, so that
everything else is the client's own default, but for time-outs: `TIME_OUTS` makes those short that would have a run take
minutes, in the order in which the defaults are (a broker's session ends before a request times out, and that before
the delivery does). run.json has them beside each subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from evidence.subjects import OUTCOMES
from harness.workloads.libraries import JAVA, SCALA, Library
from harness.workloads.settings import LIBRDKAFKA

MANY: Final = "many"
RETRIES: Final[Mapping[str, str]] = {LIBRDKAFKA: "2147483647", JAVA: "2147483647", SCALA: "100"}
"""As many as the client's own default where that is many; the Scala producer waits 100 ms between two."""
REQUEST_MS: Final = 12_000
DELIVERY_MS: Final = 30_000
IDEMPOTENCE_SINCE: Final = (0, 11)
DELIVERY_TIME_OUT_SINCE: Final = (2, 1)


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
    why: str = ""
    source: str = ""

    def __post_init__(self) -> None:
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
        if self.client == LIBRDKAFKA or release >= IDEMPOTENCE_SINCE:
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

    @property
    def name(self) -> str:
        """Such as "rf3-min2-unclean"."""
        return f"rf{self.replication_factor}-min{self.min_insync_replicas}{'-unclean' if self.unclean else ''}"

    @property
    def settings(self) -> dict[str, str]:
        """As Kafka has them. Unclean elections are always said: before 0.11 they are on by default."""
        return {
            "min.insync.replicas": str(self.min_insync_replicas),
            "unclean.leader.election.enable": str(self.unclean).lower(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A producer and a topic, and what is stated of the two."""

    producer: Producer
    topic: Topic
    stated: Outcome

    @property
    def key(self) -> dict[str, Any]:
        """What the cell is named by, but for the version and the fault."""
        return asdict(self.producer) | asdict(self.topic)

    def __str__(self) -> str:
        return f"{self.producer.client} with acks={self.producer.acks} to {self.topic.name}"


def library_of(client: str, release: str) -> Library:
    """The library of a client: librdkafka is whichever is installed, the others are of the brokers' own release."""
    return Library(client) if client == LIBRDKAFKA else Library(client, release)
