"""Which client a recorder drives: `librdkafka`, `java-<release>`, `scala-<release>`, or one of the user's own.

`java` and `scala` alone mean the release of the cluster's own brokers, or the one nearest to an own build. The jars are
those of that release (harness/setup/jars.py), so every release has its clients; the Scala producer was removed in 2.0.

A librdkafka producer is given the harness's own defaults (harness/workloads/settings.py). The others are given nothing
that the scenario does not say: they are there to show what their own defaults do. One default of Java's producer is
switched off where brokers have no room for it: idempotence (from 3.0 on, KIP-679). Brokers with the message format of
before 0.11 refuse every record of an idempotent producer.

`streams-<release>`, or `streams` alone, is Kafka Streams: it runs the applications of a case (Clients.streams), and
librdkafka sends and reads beside it. `connect-<release>` is Kafka Connect (Connectors.connect) in the same way. The
jars of each are a set of their own. `spark` is Spark Structured Streaming (Clients.spark), of one release whatever the
brokers are, whose source and sink for Kafka bring Kafka's clients of a release of their own.

A client of the user's own is a command, which is asked at once who it is and what it can (docs/own-clients.md). It is
the producer of a run, or the consumer, or both; what it is not, librdkafka is, as beside Kafka's own producers. Its
settings have the names of Kafka's own clients.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evidence import borders
from evidence.errors import UsageError
from evidence.releases import numbers
from evidence.run import OwnClientRecord
from harness.cluster import apache, ranges
from harness.setup.jars import CONNECT, SPARK, STREAMS, of_set, resolve
from harness.setup.java import java_home
from harness.setup.pyspark import RELEASE, ensure_pyspark
from harness.workloads import settings as defaults
from harness.workloads.own_client import introduced
from harness.workloads.protocol import ACKS_0, ACKS_1, CONSUME, IDEMPOTENCE, PRODUCE, TRANSACTIONS, Hello, missing
from harness.workloads.settings import COMMAND, LIBRDKAFKA, OWN, SCALA, ZOOKEEPER

if TYPE_CHECKING:
    from evidence.borders import Border
    from harness.cluster.versions import Version
    from harness.setup.waiting import Echo

JAVA: Final = "java"
OF_APPLICATIONS: Final[Mapping[str, tuple[Border, str]]] = {
    STREAMS: (borders.TRANSACTIONS, "Kafka Streams is run from 0.11 on"),
    CONNECT: (borders.CONNECT_MAKES_TOPICS, "Kafka Connect is run from 0.11 on"),
}
"""What runs the applications of a case while librdkafka sends and reads: from which release on, in words."""
SPARKS_CLIENTS: Final = "3.9.2"
"""The release of Kafka's clients that Spark brings."""
KAFKAS_NAMES: Final[Mapping[str, str]] = {
    "message.timeout.ms": "delivery.timeout.ms",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "queue.buffering.max.ms": "linger.ms",
}
"""What Kafka's own clients call settings that scenarios give by librdkafka's names."""
OLD_NAMES: Final[Mapping[str, str]] = {
    "enable.auto.commit": "auto.commit.enable",
    "session.timeout.ms": "zookeeper.session.timeout.ms",
}
OLD_VALUES: Final[Mapping[str, str]] = {"earliest": "smallest", "latest": "largest"}
"""What the consumer of 0.8 calls settings of later ones, and what they are set to."""
PATIENT: Final[Mapping[str, str]] = {"rebalance.max.retries": "10"}
"""It tries two seconds apart to get partitions, which a killed member keeps until its session ends: four times by
default, which on a busy machine may be too few.
"""


@dataclass(frozen=True, slots=True)
class Library:
    """A client library, of one release where it is Kafka's own."""

    kind: str
    release: str = ""
    """Of a client of the user's own: its name and its version."""
    command: str = ""
    """What starts a client of the user's own."""
    hello: Hello | None = None
    """What that says of itself."""

    @property
    def name(self) -> str:
        """Such as "librdkafka", "java-2.8.2" or "own-kafka-python-3.0.12"."""
        return f"{self.kind}-{self.release}" if self.release else self.kind

    @property
    def _runs_applications(self) -> bool:
        """Whether it runs a case's applications with jars of a set of its own, and librdkafka sends and reads."""
        return self.kind in OF_APPLICATIONS or self.kind == SPARK

    @property
    def producers(self) -> Library:
        """Whose producers a run has whose client this is."""
        if self._runs_applications:
            return RDKAFKA
        return self if self.hello is None or PRODUCE in self.hello.can else RDKAFKA

    @property
    def consumers(self) -> Library:
        """Whose consumers it has, but for the final read."""
        return self if self.hello is not None and CONSUME in self.hello.can else RDKAFKA

    @property
    def record(self) -> OwnClientRecord | None:
        """A client of the user's own, as run.json has it."""
        if self.hello is None:
            return None
        said = self.hello
        return OwnClientRecord(
            name=said.name, version=said.version, command=self.command, can=said.can, defaults=said.defaults
        )

    def require(self, needs: Collection[str], what: str) -> None:
        """Hold a client of the user's own to what something needs of it; any other says so where it is needed.

        Raises UsageError.
        """
        if self.hello is not None and (lacking := missing(needs, self.hello.can)):
            raise UsageError(f"{what} needs {' and '.join(lacking)}, which {self.hello.label} does not say that it can")

    @property
    def has_transactions(self) -> bool:
        """Whether its producer has transactions (KIP-98)."""
        if self.hello is not None:
            return TRANSACTIONS in self.hello.can
        return self.kind == LIBRDKAFKA or (
            self.kind == JAVA and numbers(self.release) >= borders.IDEMPOTENT_PRODUCERS.release
        )

    @property
    def _is_idempotent_by_default(self) -> bool:
        return self.kind == JAVA and borders.java_is_idempotent_by_default(numbers(self.release))

    def settings(self, acks: str, version: Version, *more: Mapping[str, str]) -> dict[str, str]:
        """What its producer is configured with, later settings over earlier ones.

        Raises UsageError for what a client of the user's own cannot.
        """
        given: dict[str, str] = {}
        if self.kind == LIBRDKAFKA:
            given = dict(defaults.PRODUCER) | version.client_settings
        elif self._is_idempotent_by_default and not ranges.IDEMPOTENCE.holds(version):
            given = {"enable.idempotence": "false"}  # or it could write nothing
        given |= {"request.required.acks": "-1" if acks == "all" else acks} if self.kind == SCALA else {"acks": acks}
        for each in more:
            given |= each
        if self.hello is None:
            return given
        self.require(needs_of(given), "this producer")
        return {KAFKAS_NAMES.get(name, name): value for name, value in given.items()}

    def reading(self, version: Version, batch: int, *more: Mapping[str, str]) -> dict[str, str]:
        """What its consumer is configured with, later settings over earlier ones. A poll is to return so many records
        at most, which a Java consumer can be told since 0.10 (KIP-41); librdkafka's, and that of 0.8, are told with
        each poll.

        Raises UsageError for a client that has no consumer to run an application with.
        """
        if self.kind not in (LIBRDKAFKA, JAVA, SCALA) or (
            self.kind == JAVA and numbers(self.release) < borders.GROUPS_COORDINATED.release
        ):
            raise UsageError(
                f"no application runs with {self.name}: take {LIBRDKAFKA}, {JAVA}-<release> from 0.9 on, or "
                f"{SCALA}-<release>"
            )
        given: dict[str, str] = {}
        if self.kind == LIBRDKAFKA:
            given = dict(defaults.CLIENT) | version.client_settings
        elif numbers(self.release) >= borders.POLLS_ARE_LIMITED.release:
            given = {"max.poll.records": str(batch)}
        for each in more:
            given |= each
        if given.get("group.protocol") == "consumer":
            given.pop("session.timeout.ms", None)  # the broker's setting, which no such member may have (KIP-848)
        if self.kind != SCALA:
            return given
        return dict(PATIENT) | {OLD_NAMES.get(name, name): OLD_VALUES.get(one, one) for name, one in given.items()}

    def sharing(self, version: Version, batch: int, *more: Mapping[str, str]) -> dict[str, str]:
        """What its share consumer (KIP-932) is configured with, later settings over earlier ones. A poll is to return
        so many records at most.

        Raises UsageError for a client that has none.
        """
        of_kafka = self.kind == JAVA and numbers(self.release) >= borders.SHARE_GROUPS.release
        if self.kind != LIBRDKAFKA and not of_kafka:
            raise UsageError(f"no share consumer with {self.name}: take {LIBRDKAFKA}, or {JAVA}-<release> from 4.2 on")
        given = dict(defaults.CLIENT) | version.client_settings if self.kind == LIBRDKAFKA else {}
        given["max.poll.records"] = str(batch)
        for each in more:
            given |= each
        return given

    def keeps_offsets_in_zookeeper(self, reading: Mapping[str, str]) -> bool:
        """Whether a consumer that is configured so reads its group's offsets from ZooKeeper: that of 0.8 by default."""
        return self.kind == SCALA and reading.get("offsets.storage", ZOOKEEPER) == ZOOKEEPER

    @property
    def one_attempt(self) -> dict[str, str]:
        """The setting that has every record sent once."""
        return {"retries" if self.kind in (JAVA, OWN) else "message.send.max.retries": "0"}

    def tries_again(self, settings: Mapping[str, str]) -> bool:
        """Whether its producer sends a record again that was refused: as the settings say, or by default. Kafka's own
        producer does not before 2.1 (KIP-91), unless it is idempotent.
        """
        said = settings.get("retries", settings.get("message.send.max.retries"))
        if said is not None:
            return said != "0"
        once = self.kind == JAVA and numbers(self.release) < borders.JAVA_RETRIES.release
        return not once or settings.get("enable.idempotence") == "true"

    @property
    def lingering(self) -> dict[str, str]:
        """The setting that has a load's records share requests; the Scala producer, synchronous, has none."""
        return {} if self.kind == SCALA else {"linger.ms": "5"}

    def arguments(self, version: Version, echo: Echo) -> dict[str, Any]:
        """What a recorder is told of it on brokers of a version; its jars are fetched if they are not in the cache.

        Raises UsageError if they cannot be had, or no Java is found.
        """
        if self.kind == LIBRDKAFKA:
            return {"name": self.name}
        if self.hello is not None:
            told = {COMMAND: shlex.split(self.command), "label": self.hello.label, "kafka": version.kafka}
            return {"name": self.name} | told
        jars = of_set(self.kind, self.release) if self._runs_applications else self.release
        told = {"name": self.name, "jars": str(resolve(jars, echo)), "java_home": java_home()}
        return told | {"pyspark": str(ensure_pyspark(echo))} if self.kind == SPARK else told


def needs_of(settings: Mapping[str, str]) -> frozenset[str]:
    """What a producer's settings need of a client.

    >>> sorted(needs_of({"acks": "1", "enable.idempotence": "false"}))
    ['acks-1']
    """
    acks = {"0": {ACKS_0}, "1": {ACKS_1}}.get(settings.get("acks", "all"), set())
    return frozenset(acks | ({IDEMPOTENCE} if settings.get("enable.idempotence") == "true" else set()))


RDKAFKA: Final = Library(LIBRDKAFKA)


def library(name: str, version: Version) -> Library:
    """The library of a name, or of a command that is a client of the user's own.

    Raises UsageError for a name that no client has, a release that has no such client, and a command that does not
    speak the protocol.
    """
    if _is_command(name):
        hello = introduced(name)
        return Library(OWN, f"{hello.name}-{hello.version}", name, hello)
    kind, _, release = name.partition("-")
    release = release or (apache.closest(version.kafka) if version.build.own else version.kafka)
    if name == LIBRDKAFKA:
        return RDKAFKA
    if kind == SPARK:
        return _spark(name, version)
    if kind not in (JAVA, SCALA, *OF_APPLICATIONS):
        raise UsageError(
            f"no client {name!r}: {LIBRDKAFKA}, {JAVA}-<release> or {SCALA}-<release>, such as java-2.8.2, or the "
            "command of a client of your own (docs/own-clients.md)"
        )
    if release not in apache.releases():
        raise UsageError(f"no client {name!r}: {apache.UnknownRelease(release)}")
    if kind in OF_APPLICATIONS and numbers(release) < OF_APPLICATIONS[kind][0].release:
        raise UsageError(f"no client {name!r}: {OF_APPLICATIONS[kind][1]}")
    if kind == SCALA and numbers(release) >= borders.SCALA_REMOVED.release:
        raise UsageError(f"no client {name!r}: the Scala producer was removed in 2.0")
    # The Scala producer, to its end, sends Produce requests of version 2 at most, which 4.0 removed: with acks=0 it is
    # never told, and nothing is written.
    gone = kind == SCALA and version.release >= borders.OLD_REQUESTS_REMOVED.release
    if gone or not understood(numbers(release), version.release):
        raise UsageError(f"{kind}-{release} and a broker of {version.kafka} share no version of the Produce request")
    return Library(kind, release)


def _spark(name: str, version: Version) -> Library:
    """Spark, of the one release that is run. UsageError for another one, and for brokers that its clients know not."""
    if name not in (SPARK, f"{SPARK}-{RELEASE}"):
        raise UsageError(f"no client {name!r}: Spark is run as {SPARK}-{RELEASE}")
    if not understood(numbers(SPARKS_CLIENTS), version.release):
        raise UsageError(f"{SPARK}-{RELEASE} brings clients of {SPARKS_CLIENTS}, which do not know {version.kafka}")
    return Library(SPARK, RELEASE)


def _is_command(name: str) -> bool:
    """Whether this is the command of a client: it has a directory or arguments, or a program has this very name."""
    ours = re.fullmatch(rf"{LIBRDKAFKA}|({'|'.join((JAVA, SCALA, SPARK, *OF_APPLICATIONS))})(-.*)?", name)
    return ours is None and (bool(re.search(r"[/\s]", name)) or shutil.which(name) is not None)


def understood(client: tuple[int, ...], broker: tuple[int, ...]) -> bool:
    """Whether a producer's requests are understood: a broker knows older ones back to those that 4.0 removed, and
    clients that ask first know older brokers back to those that answer, those of 4.0 back to 2.1.
    """
    removed = borders.OLD_REQUESTS_REMOVED.release
    if client[:2] <= broker[:2]:
        return broker < removed or client >= borders.FORMAT_2.release
    if client >= removed:
        return broker >= borders.CLIENTS_OF_4_TALK_TO.release
    return client >= borders.CLIENTS_ASK_FIRST.release and broker >= borders.API_VERSIONS.release
