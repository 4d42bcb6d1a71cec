"""What a doubt touches: which witnesses, which nodes, which time.

A doubt means that something of a run proves less than it shows. It does not follow that nothing is proved: that one
broker got a signal of somebody else says nothing of what another one acknowledged a minute before. So a doubt has a
`Scope`, and so has a contradiction, what Kafka owes and did not do: it stands unless a doubt touches it
(judgement/duties.py).

A scope is taken as large as it might be. What is not known of it (a node, a time) is taken for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from evidence.events import Witness
from evidence.spans import NEVER_NS, overlap

Touched = Witness | Literal["record"]
"""A witness, or what the run has left of them all."""

RECORD: Final = "record"
"""The run's files, by which claims of the catalogue are judged. What the steps themselves judged while the run went on
does not rest on them."""
SEEN: Final[frozenset[Touched]] = frozenset({"clients", "metadata", "files", "logs", "processes"})
EVERYTHING: Final[frozenset[Touched]] = SEEN | {"record"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Witnesses, nodes and time (monotonic nanoseconds)."""

    witnesses: frozenset[Touched] = EVERYTHING
    nodes: frozenset[str] = frozenset()
    """None named: every node."""
    begin_ns: int = 0
    end_ns: int = NEVER_NS

    def touches(self, other: Scope) -> bool:
        """Whether the two have a witness, a node and a moment in common."""
        same_nodes = not self.nodes or not other.nodes or bool(self.nodes & other.nodes)
        same_time = overlap((self.begin_ns, self.end_ns), (other.begin_ns, other.end_ns))
        return same_nodes and same_time and bool(self.witnesses & other.witnesses)


ALL: Final = Scope()
NOTHING: Final = Scope(witnesses=frozenset())
"""Of a doubt that is about what was not seen: nothing that was seen becomes less true."""
ON_RECORD: Final = Scope(witnesses=frozenset({"record"}))


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason for which a run proves less than it shows."""

    text: str
    scope: Scope = field(default=ALL)


def doubts_of(texts: Iterable[str], scope: Scope) -> list[Doubt]:
    """Doubts that touch the same."""
    return [Doubt(text, scope) for text in texts]
