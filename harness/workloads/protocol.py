"""The lines that a client of the user's own and a recorder exchange: docs/own-clients.md, as data.

One JSON object a line, in UTF-8. Its `type` says what it is. Every command but `start` has an id, and one answer with
that id; the client may answer in any order, for a producer hands many records over at once. Bytes are base64.

What a client prints is input like any other: it is parsed strictly, and what is no answer is Nonsense, with a reason
that its author can go by. Nothing here starts a process or waits (own_client.py does).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from evidence.text import visible

VERSION: Final = 1
"""Of the protocol."""

PRODUCE: Final = "produce"
CONSUME: Final = "consume"
IDEMPOTENCE: Final = "idempotence"
TRANSACTIONS: Final = "transactions"
"""Of a producer; a consumer that has them reads with isolation.level=read_committed."""
GROUPS: Final = "groups"
ACKS_0: Final = "acks-0"
ACKS_1: Final = "acks-1"
CAPABILITIES: Final = (PRODUCE, CONSUME, IDEMPOTENCE, TRANSACTIONS, GROUPS, ACKS_0, ACKS_1)
OF_PRODUCERS: Final = frozenset({IDEMPOTENCE, ACKS_0, ACKS_1})
"""What a client need not have that does not produce."""
OF_CONSUMERS: Final = frozenset({GROUPS})
"""Likewise of one that does not consume."""

EXCERPT: Final = 120
"""Characters of a line that are shown."""

Name = Annotated[str, Meta(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]
ErrorName = Annotated[str, Meta(min_length=1, max_length=200)]
ErrorCode = Annotated[int, Meta(ge=-1, le=2**15 - 1)]
Place = tuple[str, Number]
"""Topic and partition."""


class Nonsense(ValueError):
    """A line that is no answer; the message says what it is, and why not."""


# What the recorder says


class Command(Struct, frozen=True, kw_only=True, tag_field="type"):
    """A line to the client."""


class StartProducer(Command, frozen=True, kw_only=True, tag="start-producer"):
    """Be a producer with these settings, and say `ready`."""

    name: str
    bootstrap: str
    kafka: str
    """The release of the brokers, for clients that have to be told."""
    settings: Mapping[str, str]
    """By the names of Kafka's own producer."""


class StartConsumer(Command, frozen=True, kw_only=True, tag="start-consumer"):
    """Be a consumer: of the partitions in `assign`, from their beginning, or of the topics in `subscribe`."""

    name: str
    bootstrap: str
    kafka: str
    settings: Mapping[str, str]
    """By the names of Kafka's own consumer."""
    assign: tuple[Place, ...] = ()
    subscribe: tuple[str, ...] = ()


class Produce(Command, frozen=True, kw_only=True, tag="produce"):
    """Send a record; acknowledged or failed."""

    id: int
    topic: str
    partition: int
    key: bytes | None
    value: bytes


class Begin(Command, frozen=True, kw_only=True, tag="begin"):
    """Begin a transaction; begun or failed."""

    id: int


class Commit(Command, frozen=True, kw_only=True, tag="commit"):
    """Commit it; committed or failed."""

    id: int


class Abort(Command, frozen=True, kw_only=True, tag="abort"):
    """Abort it; aborted or failed."""

    id: int


class Poll(Command, frozen=True, kw_only=True, tag="poll"):
    """Return what there is; polled or failed."""

    id: int
    records: int
    """At most."""
    wait_ms: int
    """For a first record."""


class CommitOffsets(Command, frozen=True, kw_only=True, tag="commit-offsets"):
    """Commit these offsets for the group; committed or failed."""

    id: int
    offsets: tuple[tuple[str, int, int], ...]
    """Topic, partition, and the offset of the next record to read."""


# What the client says


class Answer(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """A line of the client."""


class Hello(Answer, frozen=True, kw_only=True, tag="hello"):
    """The first line, before anything is asked."""

    protocol: int
    name: Name
    version: Name
    can: tuple[str, ...]
    """Words of CAPABILITIES."""
    defaults: Mapping[str, str] = {}
    """What it goes by where nothing is set, by Kafka's names, as far as duplicates and order depend on it."""

    @property
    def label(self) -> str:
        """Such as "kafka-python 3.0.12"."""
        return f"{self.name} {self.version}"


class Ready(Answer, frozen=True, kw_only=True, tag="ready"):
    """It has started."""

    settings: Mapping[str, str] = {}
    """What its library goes by, by the library's own names."""


class Refused(Answer, frozen=True, kw_only=True, tag="refused"):
    """It cannot be what it was asked to be."""

    reason: ErrorName


class Acknowledged(Answer, frozen=True, kw_only=True, tag="acknowledged"):
    """The record is acknowledged, at `offset` if the client was told one."""

    id: int
    offset: Natural | None = None


class Failed(Answer, frozen=True, kw_only=True, tag="failed"):
    """It was not done; or nobody knows, unless the client says that it is `definite`."""

    id: int
    error: ErrorName
    definite: bool = False
    code: ErrorCode | None = None
    """Of Kafka's protocol."""


class Begun(Answer, frozen=True, kw_only=True, tag="begun"):
    """A transaction is begun."""

    id: int


class Committed(Answer, frozen=True, kw_only=True, tag="committed"):
    """A transaction, or offsets, are committed."""

    id: int


class Aborted(Answer, frozen=True, kw_only=True, tag="aborted"):
    """The transaction is aborted."""

    id: int


class PolledRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record as the consumer was handed it."""

    topic: str
    partition: Number
    offset: Natural
    value: bytes | None
    leader_epoch: Number | None = None


class Polled(Answer, frozen=True, kw_only=True, tag="polled"):
    """What there was."""

    id: int
    records: tuple[PolledRecord, ...]


class Assigned(Answer, frozen=True, kw_only=True, tag="assigned"):
    """A member of a group was given these partitions."""

    partitions: tuple[Place, ...]


class Revoked(Answer, frozen=True, kw_only=True, tag="revoked"):
    """It gave them back, or lost them without being asked."""

    partitions: tuple[Place, ...]
    lost: bool = False


WithId = Acknowledged | Failed | Begun | Committed | Aborted | Polled
AnyAnswer = Hello | Ready | Refused | Assigned | Revoked | WithId
EXPECTED: Final[Mapping[type[Command], type[Answer]]] = {
    Produce: Acknowledged,
    Begin: Begun,
    Commit: Committed,
    Abort: Aborted,
    Poll: Polled,
    CommitOffsets: Committed,
}
"""What answers a command that succeeds; one that does not is `failed`."""

_DECODER: Final[msgspec.json.Decoder[AnyAnswer]] = msgspec.json.Decoder(AnyAnswer)
_ENCODER: Final = msgspec.json.Encoder()


def line(command: Command) -> bytes:
    """A command as a line."""
    return _ENCODER.encode(command) + b"\n"


def answer(said: bytes) -> AnyAnswer:
    """What a line of the client says.

    Raises Nonsense.
    """
    try:
        return _DECODER.decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Nonsense(f"{excerpt(said)}: {error}") from None
    except RecursionError:
        raise Nonsense(f"{excerpt(said)}: nested too deeply") from None


def hello(said: AnyAnswer) -> Hello:
    """The first answer, which must be a greeting that is understood.

    Raises Nonsense.
    """
    if not isinstance(said, Hello):
        raise Nonsense(f"its first line is {kind(said)}, not hello")
    if said.protocol != VERSION:
        raise Nonsense(f"it speaks protocol {said.protocol}, and this is protocol {VERSION}")
    if unknown := sorted(set(said.can) - set(CAPABILITIES)):
        raise Nonsense(f"it can {', '.join(unknown)}, which is not one of {', '.join(CAPABILITIES)}")
    if not {PRODUCE, CONSUME} & set(said.can):
        raise Nonsense(f"it can neither {PRODUCE} nor {CONSUME}")
    return said


def missing(needs: Collection[str], can: Collection[str]) -> list[str]:
    """What is needed of a client and it has not, in order.

    >>> missing({"groups", "idempotence"}, {"produce", "acks-1"})
    ['idempotence']
    """
    spared = (frozenset() if PRODUCE in can else OF_PRODUCERS) | (frozenset() if CONSUME in can else OF_CONSUMERS)
    return sorted(set(needs) - set(can) - spared)


def kind(said: AnyAnswer) -> str:
    """The type of an answer, as it stands in its line."""
    return str(said.__struct_config__.tag)


def excerpt(said: bytes) -> str:
    """The beginning of a line, for people."""
    text = said.decode("utf-8", "replace").rstrip("\r\n")
    return repr(visible(text[:EXCERPT])) + ("…" if len(text) > EXCERPT else "")
