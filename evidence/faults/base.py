"""The base of every kind of fault: one frozen type, created for each fault that was carried out, when it is proved.

The type's docstring says what counts as proof, in the words of docs/writing-a-fault.md. Its fields are the observations
from outside. They are written to the timeline and read from it, so a proof that lacks one of them, or has one of
another type, is refused when the timeline is read. The proof rests on the fields without a default, and `missing` has
to check them (a test demands that). A field with a default only adds information.

The other members serve the rest of the program: how long the fault lasts, which events the engine may report because of
it, its mark in pictures, and the proof in words. Kinds that are used together have their own base type, such as
`NetworkProof` for all that `heal_network` heals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final, Literal, NamedTuple

from msgspec import NODEFAULT, Struct, structs

from evidence.engine import ContainerAction, ContainerEvent

Colour = Literal["start", "cut", "fault"]
"""Of a mark: a node comes back, something lies in the network, all the rest."""


class Lasts(Enum):
    """Until when a fault lasts."""

    AT_ONCE = "over when it is proved"
    UNTIL_STARTED = "until its node is started again"
    UNTIL_HEALED = "until it is healed"


class Icon(NamedTuple):
    """What is drawn on a mark: an SVG path of relative steps, from so far right of its middle and so far below."""

    dx: float
    dy: float
    path: str
    filled: bool = False


WARNING: Final = Icon(0, -3, "v4m0 1.6v.4")
"""An exclamation mark."""


class Mark(NamedTuple):
    """A fault in pictures: in a word or two, before the name of its node. Without a verb its description is told."""

    verb: str = ""
    icon: Icon = WARNING
    colour: Colour = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """Who else tells of a fault: the engine, of the node it struck, and the brokers' logs."""

    node: str
    inject_ns: int
    proved_ns: int
    """Both monotonic."""
    containers: Sequence[ContainerEvent] = ()
    """What the engine told of this node."""
    logged: Mapping[tuple[str, str], int]
    """The telling lines of all logs: by node and line, when they were written by the engine's clock (wall, ns)."""

    def container_events(self, action: ContainerAction, time_nano: int) -> Iterator[ContainerEvent]:
        """The engine's events of this kind with this time of its own."""
        return (one for one in self.containers if one.action == action and one.time_nano == time_nano)

    def told_meanwhile(self, action: ContainerAction) -> bool:
        """Whether the engine told of this between the beginning of the injection and the proof."""
        return any(one.action == action and self.inject_ns <= one.at_ns <= self.proved_ns for one in self.containers)


SHOWN: Final = 60
"""Characters of a text that a proof shows in a report."""


class FaultProof(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What was seen from outside of a fault; a kind of fault is a type below this one that has a tag."""

    lasts: ClassVar[Lasts] = Lasts.UNTIL_HEALED
    explains: ClassVar[tuple[ContainerAction, ...]] = ()
    """What the engine may tell of the node because of this fault, once each."""
    strikes: ClassVar[bool] = True
    """Whether it may disturb a node that serves clients, so that what they see is told beside it."""
    mark: ClassVar[Mark] = Mark()

    @property
    def kind(self) -> str:
        """The kind of fault, as the timeline names it."""
        return kind_of(type(self))

    def missing(self) -> str | None:
        """What these fields do not show, to be read after "… is called verified, but"; None if they show the fault."""
        raise NotImplementedError

    def contradicted(self, witnesses: Witnesses) -> str | None:
        """Which other witness, who would have told of this fault, does not; None if there is none."""
        return None

    def explains_event(self, event: ContainerEvent) -> bool:
        """Whether this very event of the engine is this fault, whenever it was told."""
        return False

    def text(self) -> str:
        """The proof in a few words: every field but for those that have their default."""
        fields = ((one, getattr(self, one.name)) for one in structs.fields(type(self)))
        told = ((one.encode_name, value) for one, value in fields if one.required or value != _default(one))
        return ", ".join(
            f"{name} {list(value) if isinstance(value, tuple) else shortened(value)}" for name, value in told
        )


def shortened(value: object) -> object:
    """A value, or the beginning of a long text: a line of a log is in the timeline in full.

    >>> shortened("x" * 70)[-3:], shortened("x"), shortened(7)
    ('xx…', 'x', 7)
    """
    return f"{value[:SHOWN]}…" if isinstance(value, str) and len(value) > SHOWN else value


def _default(field: structs.FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def kind_of(proof_type: type[FaultProof]) -> str:
    """The name of a kind of fault.

    >>> from evidence.faults.process import KillProof
    >>> kind_of(KillProof)
    'kill'
    """
    return str(proof_type.__struct_config__.tag)
