"""Which producer a recorder drives: `librdkafka`, `java-<release>` or `scala-<release>`.

`java` and `scala` alone mean the release of the cluster's own brokers, or the one nearest to an own build. The jars are
those of that release (harness/setup/jars.py), so every release has its clients; the Scala producer was removed in 2.0.

A librdkafka producer is given the harness's own defaults (harness/workloads/settings.py). The others are given nothing
that the scenario does not say: they are there to show what their own defaults do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import UsageError
from evidence.releases import numbers
from harness.cluster import apache
from harness.setup.jars import SCALA_REMOVED, resolve
from harness.setup.java import java_home
from harness.workloads import settings as defaults
from harness.workloads.settings import LIBRDKAFKA

if TYPE_CHECKING:
    from harness.cluster.versions import Version
    from harness.setup.waiting import Echo

JAVA, SCALA = "java", "scala"


@dataclass(frozen=True, slots=True)
class Library:
    """A client library, of one release where it is Kafka's own."""

    kind: str
    release: str = ""

    @property
    def name(self) -> str:
        """Such as "librdkafka" or "java-2.8.2"."""
        return f"{self.kind}-{self.release}" if self.release else self.kind

    @property
    def has_transactions(self) -> bool:
        """Whether its producer has transactions (KIP-98)."""
        return self.kind == LIBRDKAFKA or (self.kind == JAVA and numbers(self.release) >= (0, 11))

    def settings(self, acks: str, version: Version, *more: Mapping[str, str]) -> dict[str, str]:
        """What its producer is configured with, later settings over earlier ones."""
        given: dict[str, str] = {}
        if self.kind == LIBRDKAFKA:
            given = dict(defaults.PRODUCER) | version.client_settings
        given |= {"request.required.acks": "-1" if acks == "all" else acks} if self.kind == SCALA else {"acks": acks}
        for each in more:
            given |= each
        return given

    def reading(self, version: Version, batch: int, *more: Mapping[str, str]) -> dict[str, str]:
        """What its consumer is configured with, later settings over earlier ones. A poll is to return so many records
        at most, which a Java consumer can be told since 0.10 (KIP-41), and librdkafka's is told with each poll.
        """
        given: dict[str, str] = {}
        if self.kind == LIBRDKAFKA:
            given = dict(defaults.CLIENT) | version.client_settings
        elif numbers(self.release) >= (0, 10):
            given = {"max.poll.records": str(batch)}
        for each in more:
            given |= each
        return given

    @property
    def one_attempt(self) -> dict[str, str]:
        """The setting that has every record sent once."""
        return {"retries" if self.kind == JAVA else "message.send.max.retries": "0"}

    @property
    def lingering(self) -> dict[str, str]:
        """The setting that has a load's records share requests; the Scala producer, synchronous, has none."""
        return {} if self.kind == SCALA else {"linger.ms": "5"}

    def arguments(self, echo: Echo) -> dict[str, Any]:
        """What a recorder is told of it; its jars are fetched if they are not in the cache.

        Raises UsageError if they cannot be had, or no Java is found.
        """
        if self.kind == LIBRDKAFKA:
            return {"name": self.name}
        return {"name": self.name, "jars": str(resolve(self.release, echo)), "java_home": java_home()}


RDKAFKA: Final = Library(LIBRDKAFKA)


def library(name: str, version: Version) -> Library:
    """The library of a name. Raises UsageError for a name that is none, or a release that has no such client."""
    kind, _, release = name.partition("-")
    release = release or (apache.closest(version.kafka) if version.build.own else version.kafka)
    if name == LIBRDKAFKA:
        return RDKAFKA
    if kind not in (JAVA, SCALA):
        raise UsageError(f"no client {name!r}: {LIBRDKAFKA}, {JAVA}-<release> or {SCALA}-<release>, such as java-2.8.2")
    if release not in apache.releases():
        raise UsageError(f"no client {name!r}: {apache.UnknownRelease(release)}")
    if kind == SCALA and numbers(release) >= SCALA_REMOVED:
        raise UsageError(f"no client {name!r}: the Scala producer was removed in 2.0")
    # The Scala producer, to its end, sends Produce requests of version 2 at most, which 4.0 removed (KIP-896): with
    # acks=0 it is never told, and nothing is written.
    if not understood(numbers(release), version.release) or (kind == SCALA and version.release >= (4,)):
        raise UsageError(f"{kind}-{release} and a broker of {version.kafka} share no version of the Produce request")
    return Library(kind, release)


def understood(client: tuple[int, ...], broker: tuple[int, ...]) -> bool:
    """Whether a producer's requests are understood: a broker knows older ones back to those that 4.0 removed (KIP-896),
    and clients from 0.10.2 on know older brokers back to 0.10.0 (KIP-97), those of 4.0 back to 2.1.
    """
    if client[:2] <= broker[:2]:
        return broker < (4,) or client >= (0, 11)
    if client >= (4,):
        return broker >= (2, 1)
    return client >= (0, 10, 2) and broker >= (0, 10)
