"""run.json: what was run, as one frozen value (`RunRecord`) that the harness writes and everything else reads.

The harness opens it before anything is started and replaces the whole file each time that more is known: what is not
known yet is None or empty. It says "running" until the very end, so a run that was killed is known for what it is.
Whoever concludes anything from a run asks this value for it. What the harness always writes has no default here, so a
file that lacks a part of it is not the record of a run (`RunDir.read_run`). `blank` makes a record of what no scenario
ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

State = Literal["running", "complete", "failed", "interrupted"]
Range = tuple[int, int]
"""Sequences of records, from one up to and without another."""
Settings = Mapping[str, str]

SCHEMA: Final = 2
"""Of run.json, the timeline and the manifest. A file of another schema is refused (evidence/rundir.py)."""
DEFAULT_CASE: Final = "default"
"""The case of a scenario that declares none."""


class CaseChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a scenario's case changes."""

    settings: Settings = {}
    """Broker settings."""
    topic: Settings = {}
    """Settings of the topic."""
    replicas: str = ""
    """Where the topic's replicas are: "1,2,3 2,3,1"."""
    acks: str
    """The acknowledgement that the claim is about."""
    client: str = ""
    """The producers, if they are not librdkafka's."""
    client_settings: Settings = {}
    variant: str = ""
    controllers: int = 0
    """KRaft controllers apart, if the case has a cluster of its own."""
    java_options: str = ""
    store: str = ""
    """The store outside Kafka that has a node of its own, and its settings, if there is one."""
    relayed: bool = False
    """Whether applications find the brokers behind relays, if the case has a cluster of its own."""


class TopicRecord(Struct, frozen=True, kw_only=True):
    """A topic that the run made, with its replicas placed by hand."""

    name: str
    partitions: Mapping[int, tuple[int, ...]]
    """The brokers that each partition was assigned to, the preferred leader first."""
    settings: Settings


class OwnClientRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A client of the user's own (docs/own-clients.md), as it says itself."""

    name: str
    version: str
    command: str
    can: tuple[str, ...]
    """What it can: "produce", "consume", "idempotence", …"""
    defaults: Settings = {}
    """What it goes by where nothing is set."""


class ProcessRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A client process that recorded a history."""

    name: str
    kind: str
    """"producer", "consumer", "transactional-producer", "processor", "final-read", …"""
    file: str
    """Its stream, within the run directory."""
    final: bool
    """Whether it read every partition to the end, when all faults were healed."""
    settings: Settings
    """What its client was given."""
    expected_loss: bool = False
    """Whether all of its records may be lost."""
    only: str | None = None
    """The node that is the only one which the client knows, if it does not know all."""
    library: str | None = None
    """Which client it is, where that is not the run's: "librdkafka", "java-3.9.2"."""
    output: str = ""
    """Of one that makes outputs of inputs: the topic that these go to."""
    store: str = ""
    """Of one that makes outputs in a store: the store's file within the run directory, or its address."""
    beside: bool = False
    """Whether it sends beside a load to be held to idempotence. How long writes pause is told without it: it would hide
    that the load's own producer waits.
    """


class StatedRecord(Struct, frozen=True, kw_only=True):
    """What is stated of a subject: what must, and what may, come of its records."""

    must: tuple[str, ...]
    may: tuple[str, ...]
    why: str
    source: str
    basis: str
    """Of what kind the source is (evidence/basis.py)."""


class TimedRecord(Struct, frozen=True, kw_only=True):
    """Which records of a subject were sent to be timed."""

    latency: Range
    """One by one."""
    throughput: Range
    """At once."""


class SubjectRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A producer with a partition of its own, by what its settings and those of its topic mean."""

    client: str
    acks: str
    idempotence: bool
    in_flight: int
    retries: str
    replication_factor: int
    min_insync_replicas: int
    unclean: bool
    topic: str
    partition: int
    process: str
    """The process whose history has its records."""
    stated: StatedRecord
    flush_each: bool = False
    client_release: str
    overrides: Settings
    """The client's time-outs, which are made short."""
    expected_loss: tuple[Range, ...] | None
    """The records that the sequence may lose; None: any."""
    own: Settings | None = None
    """The settings of the user's own that it was given."""
    killed: bool = False
    """Whether its process was killed."""
    timed: TimedRecord | None = None


class DocumentedRecord(Struct, frozen=True, kw_only=True):
    """What is documented of this scenario and case on this version; nothing for a run that is only observed."""

    required: tuple[str, ...]
    allowed: tuple[str, ...]
    claims: tuple[str, ...]
    on: str
    """The versions that it is documented of."""
    out_of_sync: bool
    """Whether a replica may be out of sync at the end."""
    claim: str
    source: str
    basis: str
    """Of what kind the source is (evidence/basis.py)."""
    unconfirmed: str
    """If no recorded run showed this on this very version: a sentence that says so, and where it was shown."""
    operator: str = ""
    """What to do about it: the scenario's advice to who runs a cluster. Runs of before 2026-11-24 have none."""


class SequenceRecord(Struct, frozen=True, kw_only=True):
    """How the scenario's steps went."""

    ended: bool
    """Whether they came to their end."""
    cause: str | None
    """Why they did not; None if they did."""
    preconditions: int
    """How many were checked."""
    duties: int
    """How many duties of Kafka the steps checked, and found overdue."""
    faults: int | None
    """How many were injected; None until the final part has ended."""


class HostRecord(Struct, frozen=True, kw_only=True):
    """The machine and the engine, as far as they may matter to an outcome."""

    system: str
    cores: int | None
    python: str
    docker: str | None
    kernel: str


class DisksRecord(Struct, frozen=True, kw_only=True):
    """The file systems that nodes had of their own."""

    file_system: str
    size_bytes: int
    log_directories: int
    writeback: Mapping[str, int]
    """The kernel's writeback settings, dirty memory and pages scanned for reclaim."""


REPACKED: Final = "the same classes"
"""How a jar of an own build differs from the release's whose classes do not."""


class BuildRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An own build of Kafka: what its jars say, and what differs from the nearest release."""

    version: str
    """What it says itself."""
    commit: str
    digest: str
    """SHA-256 of the names and digests of its jars."""
    origin: str
    """Where it was taken from: a directory, an archive, an image, or a release with further jars."""
    logging: str
    """Its logging binding: "log4j 1", "reload4j", "log4j 2"; "reload4j, added" if it had none."""
    nearest: str
    """The release that it was compared with; "" if that could not be had."""
    extra: tuple[str, ...] = ()
    """Jars that `--jar` added."""
    added: tuple[str, ...] = ()
    """Jars that the nearest release has not, by file name."""
    gone: tuple[str, ...] = ()
    """Jars of the nearest release that it has not."""
    replaced: Mapping[str, str] = {}
    """Jars that are others than the nearest release's, and how they differ, in words."""
    requests: Mapping[str, str] = {}
    """The versions of each request that its code knows, oldest to newest: "0-12" (ApiVersions)."""
    requests_differ: tuple[str, ...] = ()
    """Those that the nearest release knows otherwise, and features likewise, a line each."""
    features: Mapping[str, str] = {}
    """The newest level of each feature that is released: "metadata.version": "4.3-IV0"."""

    @property
    def differs(self) -> str:
        """What differs from the nearest release, in a line."""
        if not self.nearest:
            return "not compared with a release"
        others = {name: how for name, how in self.replaced.items() if not how.endswith(REPACKED)}
        repacked = len(self.replaced) - len(others)
        counts = (
            (len(others), "with other classes"),
            (repacked, "repacked"),
            (len(self.added), "added"),
            (len(self.gone), "gone"),
        )
        told = [f"{count} {word}" for count, word in counts if count]
        few = "; ".join(f"{name}: {how}" for name, how in list(others.items())[:2])
        return f"beside {self.nearest}: jars {', '.join(told) or 'alike'}" + (f" ({few})" if few else "")

    @property
    def in_words(self) -> str:
        """The build, in a line."""
        commit = f", commit {self.commit}" if self.commit else ""
        return f"own build of {self.version}, jars {self.digest[:12]}{commit}, {self.differs}"


class RunRecord(Struct, frozen=True, kw_only=True):
    """What was run."""

    run: str
    """The run's name, which no other has."""
    scenario: str
    case: str
    case_changes: CaseChanges
    version: str
    """What `--version` named: a release, one with a pinned protocol ("3.9.2-pinned"), or one that is upgraded to
    another ("2.4.1-to-2.8.1").
    """
    kafka: str
    """The release of the brokers."""
    mutant: str
    """What was changed in the brokers on purpose, by the mutant's name: such a run says nothing about Kafka."""
    mode: str
    """"zookeeper" or "kraft"."""
    client: str
    """The producers: "librdkafka", "java-3.9.2"; a client of the user's own: "own-kafka-python-3.0.12"."""
    own_client: OwnClientRecord | None = None
    """Which client that is, and what it can."""
    seed: int
    layout: Mapping[int, int]
    """The broker that plays the role of each which the scenario names."""
    settings: Settings
    """Of the brokers; "2:name" is of broker 2 alone."""
    overridden: Settings
    """Those of them that are the user's own."""
    observed: bool
    """Whether nothing is documented for this run: an expectation, a client or settings of the user's own."""
    expect: tuple[str, ...] | None
    """The anomalies that the user expects; None if the user said nothing of it."""
    given: tuple[Mapping[str, Any], ...]
    """Subjects of the user's own, as `--subjects` has them."""
    documented: DocumentedRecord
    topics: tuple[TopicRecord, ...]
    processes: tuple[ProcessRecord, ...]
    subjects: tuple[SubjectRecord, ...]
    disks: DisksRecord | None
    """None: all nodes lie on the machine's own file system."""
    drawn: tuple[float, ...]
    """What the seed decided in the steps, in order."""
    moments: tuple[str, ...]
    """When replicas were copied, in order."""
    sequence: SequenceRecord | None
    """None until the steps have ended."""
    state: State
    failure: str | None
    """Why the harness failed, in a line."""
    owner: str
    """The process that runs it (harness/cluster/ownership.py)."""
    namespace: str
    """Whose it is, among several users of one engine (harness/cluster/namespace.py)."""
    started_wall_ns: int
    started_monotonic_ns: int
    ended_wall_ns: int | None
    """None until the run has ended."""
    host: HostRecord
    commit: str | None
    """Of the harness, with "+" if the tree has changes; None outside a checkout."""
    images: Mapping[str, str]
    """Of each node."""
    jars: Mapping[str, str]
    """The SHA-256 of each jar: of a release by Maven coordinate, of an own build by file name."""
    build: BuildRecord | None = None
    """What the brokers were, if that was an own build; None of a release, and of runs of before there were such."""
    further_builds: tuple[BuildRecord, ...] = ()
    """The other own builds that nodes ran, at first or later."""
    locked: bool
    """Whether the lock that these are of is committed (compose/locks/), or was resolved on this machine."""
    releases: Mapping[str, tuple[str, ...]] = {}
    """Of nodes that ran another release than `kafka`, at first or later: the releases that each ran, in order."""
    further_jars: Mapping[str, Settings] = {}
    """The jars of those releases, as `jars` has them, by release; of own builds by their names, which have the digest
    too ("4.3.1-rc2@0123456789ab").
    """
    command: str
    """What runs this again."""
    phases: Mapping[str, float]
    """How long each part took, in seconds."""

    @property
    def own_builds(self) -> tuple[BuildRecord, ...]:
        """All own builds of Kafka that nodes ran, at first or later."""
        return (*filter(None, (self.build,)), *self.further_builds)

    def jars_of(self, version: str, release: str) -> Mapping[str, str]:
        """The SHA-256 of each jar of a version that nodes ran, of which `release` is Kafka's own number; empty if this
        run has none of it.
        """
        _, at, digest = version.partition("@")
        name = f"{release}{at}{digest}"
        mine = f"{self.kafka}@{self.build.digest[: len(digest)]}" if self.build else self.kafka
        return self.jars if name == mine else self.further_jars.get(name, {})

    @property
    def full_name(self) -> str:
        """The scenario, and its case if it has one: "leader-crash (acks-1)"."""
        return full_name(self.scenario, self.case)

    @property
    def assignment(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The brokers that each topic-partition was assigned to, the preferred leader first."""
        return {(topic.name, number): brokers for topic in self.topics for number, brokers in topic.partitions.items()}

    def process(self, name: str) -> ProcessRecord | None:
        """The process of this name."""
        return next((process for process in self.processes if process.name == name), None)

    def is_own_client(self, process: ProcessRecord | None) -> bool:
        """Whether a process is, or None may be, a client of the user's own."""
        return self.own_client is not None and (process is None or process.library in (None, self.client))

    def of_kind(self, kind: str) -> list[ProcessRecord]:
        """The processes of a kind."""
        return [process for process in self.processes if process.kind == kind]

    @property
    def outputs(self) -> frozenset[str]:
        """The topics of outputs that name their inputs: the final reader tells of them."""
        return frozenset(process.output for process in self.processes if process.output)

    @property
    def stores(self) -> frozenset[str]:
        """The files or addresses of stores to which applications write outputs that name their inputs."""
        return frozenset(process.store for process in self.processes if process.store)

    @property
    def beside(self) -> frozenset[str]:
        """The names of the producers that send beside a load."""
        return frozenset(process.name for process in self.processes if process.beside)


def full_name(scenario: str, case: str) -> str:
    """A scenario, and its case unless that is the default: "leader-crash (acks-1)"."""
    return scenario + (f" ({case})" if case != DEFAULT_CASE else "")


NO_HOST: Final = HostRecord(system="", cores=None, python="", docker=None, kernel="")
NOTHING_DOCUMENTED: Final = DocumentedRecord(
    required=(), allowed=(), claims=(), on="", out_of_sync=False, claim="", source="", basis="", unconfirmed=""
)


def blank(scenario: str, version: str) -> RunRecord:
    """The record of what no scenario ran (histories of others, the trial of a disk): everything else is empty."""
    return RunRecord(
        run="",
        scenario=scenario,
        case=DEFAULT_CASE,
        case_changes=CaseChanges(acks="all"),
        version=version,
        kafka="",
        mutant="",
        mode="",
        client="",
        seed=0,
        layout={},
        settings={},
        overridden={},
        observed=False,
        expect=None,
        given=(),
        documented=NOTHING_DOCUMENTED,
        topics=(),
        processes=(),
        subjects=(),
        disks=None,
        drawn=(),
        moments=(),
        sequence=None,
        state="running",
        failure=None,
        owner="",
        namespace="",
        started_wall_ns=0,
        started_monotonic_ns=0,
        ended_wall_ns=None,
        host=NO_HOST,
        commit=None,
        images={},
        jars={},
        locked=True,
        command="",
        phases={},
    )
