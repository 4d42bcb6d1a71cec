"""What may stand in a timeline: one frozen type for each kind of event, made by writers and decoded by the one reader.

The types are msgspec Structs tagged by `kind`, and not dataclasses: a Struct is decoded and checked against its
annotations in one step, so there is no decoder to write by hand. A line without one of these events (an unknown kind, a
field that is missing or of another type) is refused, and `evidence.timeline` says so; fields that are not known are
ignored.

Times: `monotonic_ns` is CLOCK_MONOTONIC of the machine, for order and distance; `wall_ns` is the wall clock, to find an
event in a broker's log. A writer leaves both out for "now", and `Timeline.append` stamps them. Whatever ends in `_ns`
is nanoseconds. Brokers are named by node ("broker-1") where somebody watched a process, and by id (1) where Kafka did.

A field has a default where some events of its kind have nothing to say in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct, field

from evidence.engine import ContainerAction
from evidence.faults import KINDS, AnyProof
from evidence.records import TopicPartition

NO_LEADER: Final = -1
UNSTAMPED: Final = -1

State = Literal["zookeeper", "kraft"]
"""The observers of what the cluster states of itself."""


class Event(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every event has, besides the `source` that saw it."""

    monotonic_ns: int = UNSTAMPED
    wall_ns: int = UNSTAMPED

    @property
    def at_ns(self) -> int:
        """When (monotonic)."""
        return self.monotonic_ns

    @property
    def kind(self) -> str:
        """The event's kind, as the timeline names it."""
        return str(self.__struct_config__.tag)


E = TypeVar("E", bound=Event)


def of(events: Iterable[Event], kind: type[E]) -> list[E]:
    """The events of one type, in order."""
    return [event for event in events if isinstance(event, kind)]


# The harness


class Step(Event, frozen=True, kw_only=True, tag="step"):
    """A step of the scenario begins or ends."""

    source: Literal["runner"] = "runner"
    name: str
    phase: Literal["begin", "end"]
    detail: dict[str, Any] = field(default_factory=dict)


class End(Event, frozen=True, kw_only=True, tag="end"):
    """The timeline of this run ends here, after so many lines: always the last one."""

    source: Literal["runner"] = "runner"
    run: str
    lines: int = 0
    """Counted when it is written."""


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """An observation for the reader of the report."""

    source: Literal["runner", "zookeeper", "kraft"] = "runner"
    text: str


class Precondition(Event, frozen=True, kw_only=True, tag="precondition"):
    """Whether a precondition of the scenario's claim held."""

    source: Literal["runner"] = "runner"
    name: str
    held: bool
    detail: dict[str, Any] = field(default_factory=dict)


Witness = Literal["clients", "metadata", "files", "logs", "processes"]
"""Who saw whether a duty was done: answers to clients, what the cluster states of itself, brokers' files, their logs,
the engine."""


class Duty(Event, frozen=True, kw_only=True, tag="duty"):
    """Whether Kafka did what it owes, as a step saw it: a state at a moment, or one that was to come within a limit.

    What a sequence needs is a `Precondition`. What Kafka owes is a duty: where it is not done Kafka is at fault.
    """

    source: Literal["runner"] = "runner"
    name: str
    """What is owed, such as "nothing is acknowledged with acks=all on the small side"."""
    held: bool
    witness: Witness
    detail: dict[str, Any] = field(default_factory=dict)
    """What was seen."""
    since_ns: int | None = None
    """Of a state that was to come: since when it was waited for (monotonic)."""
    limit_ms: int | None = None
    """Of a state that was to come: within which time it was owed, but for what the machine held up. It was waited for
    until the event's own time. Timelines of before 2026-11-28 have what was waited here."""
    of_sessions: bool = True
    """Whether a machine that stood still may bring the other state about: by a session that ends, or a lag."""
    partitions: tuple[TopicPartition, ...] = ()
    """Those that it is about, if it says so."""


class Target(Struct, frozen=True, kw_only=True):
    """Whom a fault struck: the nodes by name, separated by ", ", and the role each was chosen for."""

    node: str
    role: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes' names."""
        return tuple(name.strip() for name in self.node.split(",") if name.strip())


FaultPhase = Literal["inject", "verified", "unproved", "heal", "healed"]


class Fault(Event, frozen=True, kw_only=True, tag="fault"):
    """One phase of a fault. A kind that evidence.faults does not have, or a proof of another one, is no event."""

    source: Literal["runner"] = "runner"
    fault_kind: str
    """As evidence.faults.KINDS has it."""
    id: str
    phase: FaultPhase
    target: Target
    description: str
    proof: AnyProof | None = None
    """Of the phase `verified`: what was seen from outside."""
    seen: str = ""
    """Of the phase `unproved`: what was seen instead."""
    injected_ns: int | None = None
    """Of the phases `verified` and `unproved`: when the injection had ended, on the clock of `monotonic_ns`. It takes
    seconds on a busy machine."""
    links: tuple[tuple[str, str], ...] = ()
    """Of a fault of the network: from whom to whom packets are dropped, or slow."""
    port: int = 0
    """Of a cut: only connections to this port, at either end; 0 for all packets."""

    def __post_init__(self) -> None:
        if self.fault_kind not in KINDS:
            raise ValueError(f"no kind of fault is called {self.fault_kind!r}; there are {', '.join(KINDS)}")
        if self.proof is not None and self.proof.kind != self.fault_kind:
            raise ValueError(f"the proof of a fault {self.fault_kind!r} is that of a fault {self.proof.kind!r}")


class Ends(Struct, frozen=True, kw_only=True):
    """Log end offset and checkpointed high watermark of a replica; None for what its files did not say."""

    leo: int | None = None
    hw: int | None = None


class Moment(Event, frozen=True, kw_only=True, tag="moment"):
    """The replicas' files were copied: by node, then by partition ("t-0"), how far each goes."""

    source: Literal["runner"] = "runner"
    name: str
    nodes: dict[str, dict[str, Ends]] = field(default_factory=dict)
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    """By node, the copied files ("t-0/00000000000000000000.log") and how many bytes each has."""
    group_logs: dict[str, dict[str, Ends]] = field(default_factory=dict)
    """The same as `nodes` of the group coordinators' topic, of which the last moment has copies if it has records."""
    groups: bool = False
    """Whether the group coordinators' topic was to be copied too; timelines of before do not say so."""
    begun_ns: int
    """When the copying began (monotonic); the event's own time is when all copies were there."""

    @property
    def label(self) -> str:
        """The moment's name without its number.

        >>> Moment(name="01-final", begun_ns=0).label
        'final'
        """
        number, _, rest = self.name.partition("-")
        return rest if number.isdigit() and rest else self.name

    def held(self, node: str) -> dict[str, Ends]:
        """The replicas of which a node had copies, with those of the coordinators' topic."""
        return self.nodes.get(node, {}) | self.group_logs.get(node, {})


class Checkpoint(Event, frozen=True, kw_only=True, tag="checkpoint"):
    """A broker's file of offsets ("replication-offset-checkpoint") was looked at, or seen to be written anew."""

    source: Literal["runner"] = "runner"
    node: str
    file: str
    offsets: dict[str, int] | None
    """By partition ("t-0"), of the run's topics; None if there is no such file."""
    written_ns: int | None
    """When it was last written, by its own time of modification (wall)."""
    before_ns: int | None = None
    """Of one that was seen to be written anew: when it had been written before."""


class PlaceTopic(Event, frozen=True, kw_only=True, tag="place-topic"):
    """A topic was made whose replicas Kafka has placed itself."""

    source: Literal["runner"] = "runner"
    topic: str
    partitions: int
    replication: int
    by: str
    """By which mechanism: the tool's class, or the request's name."""


class DeleteRecords(Event, frozen=True, kw_only=True, tag="delete-records"):
    """The records of a partition before this offset are asked to be deleted (KIP-107): from now on they may be gone."""

    source: Literal["runner"] = "runner"
    topic: str
    partition: int
    before: int


class RecordsDeleted(Event, frozen=True, kw_only=True, tag="records-deleted"):
    """The answer to that: every replica in sync begins at this offset or beyond (the partition's low watermark)."""

    source: Literal["runner"] = "runner"
    topic: str
    partition: int
    low_watermark: int


class MoveReplica(Event, frozen=True, kw_only=True, tag="move-replica"):
    """A broker was asked to move a replica to another of its log directories."""

    source: Literal["runner"] = "runner"
    node: str
    topic: str
    partition: int
    directory: str
    """As the broker knows it: "/data/second/kafka"."""


class ReplicaPlace(Event, frozen=True, kw_only=True, tag="replica-place"):
    """In which log directory of a broker a replica lies, and what is being copied of it to which other one."""

    source: Literal["runner"] = "runner"
    node: str
    topic: str
    partition: int
    directory: str | None
    """None if it is in none at this moment."""
    bytes: int
    """Of its segments."""
    future: str | None = None
    """The directory that it is being copied to."""
    future_bytes: int = 0
    """Of the copy's segments."""


class DeleteTopic(Event, frozen=True, kw_only=True, tag="delete-topic"):
    """A topic is asked to be deleted, or that is withdrawn."""

    source: Literal["runner"] = "runner"
    topic: str
    by: str
    """By which mechanism: the znode's path, or the request's name."""
    withdrawn: bool = False


class Reassign(Event, frozen=True, kw_only=True, tag="reassign"):
    """A partition's replicas are asked to be these, the preferred leader first."""

    source: Literal["runner"] = "runner"
    topic: str
    partition: int
    replicas: tuple[int, ...]
    by: str
    """By which mechanism: the znode's path, or the request's name."""


# Clients


Outcome = Literal["ok", "fail", "info"]
"""It happened; it definitely did not; nobody knows."""
TransactionPhase = Literal["begin", "commit", "abort"]


class Configuration(Event, frozen=True, kw_only=True, tag="configuration"):
    """Everything that a producer is configured with, as its own client says: what was set, and every default."""

    source: Literal["client"] = "client"
    process: str
    library: str
    """Such as "librdkafka" or "java-2.8.2"."""
    settings: dict[str, str]


class _OfRecord(Event, frozen=True, kw_only=True):
    """What concerns one scripted record, by the process that sends it."""

    source: Literal["client"] = "client"
    process: str
    topic: str
    partition: int
    producer: int
    sequence: int
    acks: str

    @property
    def record(self) -> tuple[str, str, int, int, int]:
        """Which record it concerns."""
        return (self.process, self.topic, self.partition, self.producer, self.sequence)


class Send(_OfRecord, frozen=True, kw_only=True, tag="send"):
    """A record is handed to its producer."""

    expected_loss: bool = False
    """Whether the scenario says that this is a record whose loss it documents."""


class Handed(_OfRecord, frozen=True, kw_only=True, tag="handed"):
    """Its client has taken it: the call that sends has returned. The process that sends says so."""


class Answer(_OfRecord, frozen=True, kw_only=True):
    """What came of a record. The recorder's own times (monotonic): an answer may be heard much later than it came."""

    outcome: Outcome
    offset: int | None = None
    error: str | None = None
    """The error's name, such as "_MSG_TIMED_OUT"."""
    invoked_ns: int | None = None
    completed_ns: int | None = None


class Acked(Answer, frozen=True, kw_only=True, tag="acked"):
    """It was acknowledged, at `offset`."""


class Failed(Answer, frozen=True, kw_only=True, tag="failed"):
    """It was not; with the outcome `info` nobody knows whether it is in the log."""


class Unread(Event, frozen=True, kw_only=True, tag="unread"):
    """The final reader, when all faults were healed, did not come to the end of a partition within its limit."""

    source: Literal["runner"] = "runner"
    topic: str
    partition: int
    end: int | None
    """The partition's end, as its leader had answered; None if nobody answered."""
    reached: int
    """The offset that the reader had come to."""
    asked_ns: int
    """When it began (monotonic)."""


class Position(Event, frozen=True, kw_only=True, tag="position"):
    """A consumer has been given a partition's records up to `offset`, which is the next that it will read."""

    source: Literal["client"] = "client"
    process: str
    topic: str
    partition: int
    offset: int
    read_ns: int
    """When it had been, by its own clock (monotonic): it may be heard later."""


class OffsetCommit(Event, frozen=True, kw_only=True, tag="offset-commit"):
    """A group's coordinator acknowledged an offset, committed by somebody who is no member."""

    source: Literal["runner"] = "runner"
    group: str
    topic: str
    partition: int
    offset: int
    metadata_bytes: int = 0


class OffsetAnswer(Event, frozen=True, kw_only=True, tag="offset-answer"):
    """What a group's coordinator answered when it was asked for the committed offset: None for none."""

    source: Literal["runner"] = "runner"
    group: str
    topic: str
    partition: int
    offset: int | None
    error: str | None = None
    """The error's name, if there was no answer."""
    asked_ns: int
    """When (monotonic); the event's own time is that of the answer."""


class ShareProgress(Event, frozen=True, kw_only=True, tag="share-progress"):
    """What a share group's coordinator answered when it was asked how far the group has come in a partition (KIP-932,
    KIP-1226: DescribeShareGroupOffsets).
    """

    source: Literal["runner"] = "runner"
    group: str
    topic: str
    partition: int
    start: int | None = None
    """All records before it are accepted, rejected or archived. It may be behind, for it is written with the next
    change of the state. None for nowhere yet."""
    lag: int | None = None
    """How many records up to the end the group is not done with; None where that is not known."""
    end: int
    """The offset to which the partition could be read, by its leader, just before the question."""
    error: str | None = None
    """The error, if there was no answer."""
    asked_ns: int
    """When (monotonic); the event's own time is that of the answer."""

    @property
    def done(self) -> int | None:
        """How many records the group is done with, as an offset: of records that are done with in order, the next."""
        return None if self.lag is None else self.end - self.lag

    @property
    def passed(self) -> int:
        """The group is done with all records below this offset."""
        return self.end if self.lag == 0 else self.start or 0


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A record of a dead-letter topic, by its headers: what it was made of."""

    topic: str
    partition: int
    offset: int
    deliveries: int | None = None
    """How often the record was delivered, as it says."""


class DeadLetters(Event, frozen=True, kw_only=True, tag="dead-letters"):
    """What a share group's dead-letter topic holds (KIP-1191), read from its beginning to its end."""

    source: Literal["runner"] = "runner"
    group: str
    topic: str
    letters: tuple[DeadLetter, ...]


class ZnodeOffset(Event, frozen=True, kw_only=True, tag="znode-offset"):
    """The offset that a group of consumers of 0.8 has in ZooKeeper."""

    source: Literal["runner"] = "runner"
    group: str
    topic: str
    partition: int
    path: str
    """Of the znode."""
    content: str | None
    """As it stands there; None if there is no such znode."""

    @property
    def offset(self) -> int | None:
        """The next record to read; None if the znode is not there, or holds no number."""
        return int(self.content) if self.content is not None and self.content.isdecimal() else None


class GroupMember(Struct, frozen=True, kw_only=True):
    """A member of a group, as the coordinator describes it."""

    member_id: str
    instance: str
    """Its group.instance.id; "" for a dynamic member."""
    partitions: tuple[tuple[str, int], ...]
    """What it is assigned, by topic and number."""


class GroupMembers(Event, frozen=True, kw_only=True, tag="group-members"):
    """A group's members, as its coordinator described them."""

    source: Literal["runner"] = "runner"
    group: str
    state: str
    """"STABLE" and so on."""
    members: tuple[GroupMember, ...]


class BatchSent(Event, frozen=True, kw_only=True, tag="batch-sent"):
    """A batch whose bytes the harness made itself was acknowledged with acks=all."""

    source: Literal["client"] = "client"
    process: str
    topic: str
    partition: int
    offset: int
    """The first of its records, as it was answered."""
    magic: int
    """Its message format."""
    codec: int
    size: int
    """Bytes of the whole batch."""
    fingerprint: str
    """SHA-256 of what its producer writes of it (kafkafiles.stored)."""
    timestamps_ms: tuple[int, ...]
    """Its records', -1 in format 0."""
    sent_wall_ns: int
    """When it was sent; the event's own time is that of the answer."""


class Search(Event, frozen=True, kw_only=True, tag="search"):
    """What a client was given that asked a partition's leader for an offset, or for a time."""

    source: Literal["runner"] = "runner"
    topic: str
    partition: int
    by: Literal["offset", "time"]
    """`offset`: read from this offset on. `time`: the first record of this time or later (ListOffsets)."""
    asked: int
    """An offset, or milliseconds since 1970."""
    found: int | None
    """The offset of the record that was given; None for none."""


class EndsAnswer(Event, frozen=True, kw_only=True, tag="ends-answer"):
    """How far a partition may be read, as its leader answered two questions, one after the other."""

    source: Literal["runner"] = "runner"
    topic: str
    partition: int
    high_watermark: int
    """The end for readers of everything, asked for first."""
    last_stable_offset: int
    """The end for readers of what is committed (read_committed)."""
    asked_ns: int
    """When (monotonic); the event's own time is that of the second answer."""
    leader_epochs: tuple[int | None, int | None] = (None, None)
    """In which epoch the broker leads that gave each answer; None where it does not say (before 2.2)."""

    @property
    def of_one_leader(self) -> bool:
        """Whether both answers are of the same leader, as far as that is known."""
        first, second = self.leader_epochs
        return first is None or second is None or first == second


class CrashPoint(Event, frozen=True, kw_only=True, tag="crash-point"):
    """An application stands still between two of its steps. That it says itself; what it has done, others say: the
    group's coordinator and the leader of its output, or the store that has both its outputs and its offsets.
    """

    source: Literal["runner"] = "runner"
    process: str
    producer: int
    """The number that its outputs carry."""
    done: str
    """The step that it has carried out last, such as "commit"."""
    following: str
    """The step that would be next."""
    round: int
    """How often it has been given inputs."""
    group: str
    topic: str
    """Of its inputs."""
    partition: int
    committed: int | None
    """The committed offset there, as the group's coordinator says, its znode, or the store; None for none."""
    outputs: int
    """Records in its output, as readers of what is committed may read it; in a store, those of this partition."""
    written: int
    """The same with transactions that are open; in a store, which tells nobody of these, without."""
    store: str = ""
    """The store that was asked, if its outputs are there."""
    store_is_written_to: bool = False
    """Whether a transaction that writes is open in the store, as the store says."""
    in_zookeeper: bool = False
    """Whether the committed offset is that of the group's znode."""
    beside: tuple[int, ...] = ()
    """The numbers of those that ran beside it and had none of its inputs: what they made, they made later."""


class StoreAnswer(Event, frozen=True, kw_only=True, tag="store-answer"):
    """What a store outside Kafka has of a partition's inputs, as it answers somebody who reads."""

    source: Literal["runner"] = "runner"
    process: str
    """The application that writes to it."""
    store: str
    topic: str
    """Of the inputs."""
    partition: int
    committed: int | None
    """The next input to process, as the store has it; None for none."""
    outputs: int
    """Outputs that were made of this partition's inputs."""


class Paced(Event, frozen=True, kw_only=True, tag="paced"):
    """An application was given inputs while nothing was done to it, to see how long it takes (analysis/paces.py)."""

    source: Literal["runner"] = "runner"
    topic: str
    """Of the inputs."""
    partition: int
    latency: tuple[int, int]
    """The offsets of the inputs that came slowly, one after the other: from the first to before the last."""
    throughput: tuple[int, int]
    """Likewise, of those that came at once."""
    output: str = ""
    """The topic of the outputs; "" if they are in a store."""
    reader: str = ""
    """The consumer that read them meanwhile, as readers of what is committed do."""


class ThreadTime(Event, frozen=True, kw_only=True, tag="thread-time"):
    """What a thread of a node had of the processors from `begin_ns` until the event's own time (monotonic)."""

    source: Literal["runner"] = "runner"
    node: str
    thread: str
    """The first 15 characters of its name, as the kernel keeps it."""
    begin_ns: int
    elapsed_ns: int
    """Between the two readings, by the node's own clock: on a busy machine a reading reaches the harness late."""
    running_ns: int
    waiting_ns: int
    """It could have run, and had no processor."""


class Transaction(Event, frozen=True, kw_only=True, tag="transaction"):
    """A transaction began or ended, or tried to."""

    source: Literal["client"] = "client"
    process: str
    phase: TransactionPhase
    transaction: int | None
    outcome: Outcome
    error: str | None = None


class ClientEnded(Event, frozen=True, kw_only=True, tag="client-ended"):
    """The process of an application has ended: when it was stopped, or was found to be dead."""

    source: Literal["client"] = "client"
    process: str


# What the cluster states of itself


class Controller(Event, frozen=True, kw_only=True, tag="controller"):
    """Who is the controller, in which controller epoch; `node` None for nobody."""

    source: State
    node: str | None
    epoch: int


class Broker(Event, frozen=True, kw_only=True, tag="broker"):
    """A broker's registration: made or gone (ZooKeeper); made, fenced or unfenced (KRaft).

    `fenced` says of `registered` whether the broker is fenced: with KRaft it is until the controller has heard that it
    caught up with the metadata. It is None of the other states.
    """

    source: State
    node: str
    state: Literal["registered", "gone", "unfenced", "fenced"]
    fenced: bool | None = None

    def __post_init__(self) -> None:
        if (self.fenced is None) == (self.state == "registered"):
            raise ValueError("a broker that is registered is fenced or not, and only of such a one that is said")

    @property
    def alive(self) -> bool:
        """Whether the cluster takes it for alive: registered, and not fenced."""
        return self.state == "unfenced" or self.fenced is False


class Partition(Event, frozen=True, kw_only=True, tag="partition"):
    """A partition's state. `leader` is -1 for none; `elr` is None where there are no eligible leader replicas."""

    source: State
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int | None = None
    replicas: tuple[int, ...] | None = None
    version: int | None = None
    """The znode's version, or the offset in the metadata log."""
    elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    """The replicas that a reassignment is adding; None where the cluster does not state that (ZooKeeper before 2.4)."""
    removing: tuple[int, ...] | None = None
    """Likewise, those that it will remove."""
    source_ns: int | None = None
    """The wall time at which the cluster itself says that it became so."""


class Missed(Event, frozen=True, kw_only=True, tag="missed"):
    """So many changes were not seen, of a znode or of the metadata log."""

    source: State
    path: str
    count: int
    reason: str
    topic: str | None = None
    partition: int | None = None


class IsrChange(Event, frozen=True, kw_only=True, tag="isr-change"):
    """A notification in ZooKeeper that a leader changed ISRs (0.9 to protocol 2.6): made by the leader, what it holds,
    and gone, which is the controller's doing.
    """

    source: Literal["zookeeper"] = "zookeeper"
    path: str
    state: Literal["made", "holds", "gone"] = "made"
    partitions: tuple[str, ...] = ()
    """Of `holds`: the partitions that it names ("t-0")."""


class Znode(Event, frozen=True, kw_only=True, tag="znode"):
    """What a znode holds, as it was read."""

    source: Literal["zookeeper"] = "zookeeper"
    path: str
    content: dict[str, Any] | int | None
    """A JSON object, or /controller_epoch's number. None: it was there, and is gone."""
    version: int = 0
    """How often it was changed (ZooKeeper's dataVersion)."""
    created: int = 0
    """The transaction that made it (czxid)."""
    ephemeral: bool = False

    @property
    def entries(self) -> dict[str, Any]:
        """The JSON object; empty for a number, and if it is gone."""
        return self.content if isinstance(self.content, dict) else {}


class ControllerWritten(Event, frozen=True, kw_only=True, tag="controller-written"):
    """A broker wrote itself into /controller and its epoch into /controller_epoch, by ZooKeeper's own log."""

    source: Literal["zookeeper"] = "zookeeper"
    node: str
    epoch: int
    controller_zxid: int
    """The transaction that made /controller."""
    epoch_zxid: int
    """The transaction that made or changed /controller_epoch, by the same session."""


class CreationRefused(Event, frozen=True, kw_only=True, tag="creation-refused"):
    """ZooKeeper refused a creation to another broker after one had made /controller, because of what was there
    (NODEEXISTS), by ZooKeeper's own log: the first that was refused to it. The log does not say which znode it was.
    """

    source: Literal["zookeeper"] = "zookeeper"
    node: str
    controller_zxid: int
    """The transaction that made /controller."""
    zxid: int
    """The transaction that was refused."""


class Metadata(Event, frozen=True, kw_only=True, tag="metadata"):
    """A record of KRaft's metadata log about a broker or a partition, once it is committed."""

    source: Literal["kraft"] = "kraft"
    type: str
    """As Kafka names it: REGISTER_BROKER_RECORD."""
    version: int
    offset: int
    epoch: int
    """The leader epoch of its batch, which is the controller's epoch."""
    fields: dict[str, Any]
    """By name (kafkafiles.metadata_records), without those that are null."""
    topic: str | None = None
    """Of a partition's record: the name of its topic."""
    source_ns: int | None = None
    """The controller's own time (wall)."""


class Blind(Event, frozen=True, kw_only=True, tag="blind"):
    """An observer begins, or ends, to see nothing."""

    source: Literal["zookeeper", "kraft", "docker"]
    phase: Literal["begin", "end"]
    reason: str = ""


# Docker, and the brokers' logs


class Container(Event, frozen=True, kw_only=True, tag="container"):
    """What the engine did to a node's container."""

    source: Literal["docker"] = "docker"
    node: str
    action: ContainerAction
    exit_code: int | None = None
    """Of `die`."""
    time_nano: int = 0
    """When, by the engine's clock: wall nanoseconds."""
    signal: int | None = None
    """Of `kill`."""


LogKind = Literal[
    "truncate",
    "high-watermark",
    "epoch-request",
    "epoch-answer",
    "become-leader",
    "become-follower",
    "shrink-isr",
    "expand-isr",
    "recovery",
    "election",
    "unclean-election",
    "stale-controller",
    "controller-request",
    "controller-refused",
    "controller-found",
    "controller-moved",
    "controller-fenced",
    "stale-leader-epoch",
    "id-taken",
    "session-lost",
    "retention",
    "unreadable",
    "logs-loaded",
    "migrated",
    "fatal",
]


LogDetail = Literal[
    "loaded",
    "below",
    "falls-back",
    "unknown-epoch",
    "nothing-to-cut",
    "fetches",
    "offline",
    "preferred",
    "controlled-shutdown",
]
"""What a line says beyond its kind. Of `high-watermark`: the replica was loaded with it; the log is truncated below it;
the follower goes by its own. Of `epoch-request`: the leader knows nothing of the epoch; its end cuts nothing off. Of
`become-follower`: the follower begins to fetch at the offset. Of `election`: why there was one, where lines say so."""


class Stillness(Event, frozen=True, kw_only=True, tag="stillness"):
    """The machine stood still, or nearly so, from `begin_ns` until the event's own time (monotonic). Shares, from 0 to
    1, are the largest of any second of it.
    """

    source: Literal["machine"] = "machine"
    begin_ns: int
    late_ms: int
    """By how much a thread was woken too late, at most."""
    cpu: float = 0.0
    """A task waited for a processor."""
    memory: float = 0.0
    """All tasks waited for memory."""
    io: float = 0.0
    """All tasks waited for a disk."""
    steal: float = 0.0
    """Of all processors' time, what other machines had."""


class Waits(Event, frozen=True, kw_only=True, tag="waits"):
    """For how long some process waited for a CPU, slice by slice from `begin_ns` until the event's own time
    (monotonic). A slice lasts 250 ms, or longer where whoever counts was late.
    """

    source: Literal["machine"] = "machine"
    begin_ns: int
    slices: tuple[tuple[int, int], ...]
    """How long each lasted, and for how much of it some process waited, in microseconds."""


class Machine(Event, frozen=True, kw_only=True, tag="machine"):
    """How the machine was in the whole run: shares from 0 to 1, as of `Stillness`."""

    source: Literal["machine"] = "machine"
    seconds: float
    late_ms: int
    cpu: float = 0.0
    memory: float = 0.0
    io: float = 0.0
    steal: float = 0.0


class Software(Event, frozen=True, kw_only=True, tag="software"):
    """Which release of Kafka a node runs: by its image's label, or by its own words."""

    source: Literal["docker", "broker-log"]
    node: str
    version: str


class Firewall(Event, frozen=True, kw_only=True, tag="firewall"):
    """What a node's packet filter and its network device's queues have and those of a node that nothing was done to do
    not, as iptables and tc list it.
    """

    source: Literal["runner"] = "runner"
    node: str
    rules: tuple[str, ...]
    changes: tuple[str, ...] | None
    """What was changed in it by no fault of the run, up to then; None if nobody watched."""


class Log(Event, frozen=True, kw_only=True, tag="log"):
    """A telling line of a broker's log (harness/observers/broker_logs.py says what each kind means)."""

    source: Literal["broker-log"] = "broker-log"
    node: str
    event: LogKind
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    leader_epoch: int | None = None
    detail: LogDetail | None = None
    """What it says beyond its kind."""
    line: str
    leader: int | None = None
    """Of elections: who was elected."""
    isr: tuple[int, ...] | None = None
    """Of changes of an ISR: what it is now."""


OffsetKind = Literal["log-end", "remote-log-end", "high-watermark", "fetch", "response"]


class ReplicaOffset(Event, frozen=True, kw_only=True, tag="replica-offset"):
    """What a broker at TRACE said of a replica's offset (harness/observers/offset_lines.py says what each kind is)."""

    source: Literal["broker-log"] = "broker-log"
    node: str
    what: OffsetKind
    topic: str
    partition: int
    offset: int
    replica: int | None = None
    """Of `remote-log-end`: the follower whose log ends there."""
    high_watermark: int | None = None
    """Of `response`: the leader's, as the answer had it."""
    line: str


AnyEvent = (
    Step
    | End
    | Note
    | Precondition
    | Duty
    | Fault
    | Moment
    | Checkpoint
    | PlaceTopic
    | DeleteRecords
    | RecordsDeleted
    | DeleteTopic
    | MoveReplica
    | ReplicaPlace
    | Reassign
    | Send
    | Handed
    | Acked
    | Failed
    | Configuration
    | Unread
    | Position
    | OffsetCommit
    | OffsetAnswer
    | ShareProgress
    | DeadLetters
    | ZnodeOffset
    | GroupMembers
    | BatchSent
    | Search
    | EndsAnswer
    | CrashPoint
    | StoreAnswer
    | Paced
    | ThreadTime
    | Transaction
    | ClientEnded
    | Controller
    | Broker
    | Partition
    | Missed
    | IsrChange
    | Znode
    | ControllerWritten
    | CreationRefused
    | Metadata
    | Blind
    | Container
    | Stillness
    | Waits
    | Machine
    | Software
    | Firewall
    | Log
    | ReplicaOffset
)
"""Every kind that a timeline may hold."""
