"""What a claim is: one function with the decorator `@claim`, judged from what a run left behind (`RunEvidence`).

The decorator's arguments and the first paragraph of the function's docstring are the claim's entry in the catalogue; a
second paragraph says how it is judged. A module that is in `checks/claims/` needs no other registration than its names
in checks/names.py (checks/claims/__init__.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from checks.definition import definition_of
from checks.shares import ShareStep
from evidence.basis import Basis, fault_of
from evidence.run import RunRecord
from evidence.run_state import RunState
from kafkafiles.stored import StoredReplica

Outcome = Literal["held", "contradicted", "not-observed"]
HELD: Final = "held"
CONTRADICTED: Final = "contradicted"
NOT_OBSERVED: Final = "not-observed"
Judge = Callable[["RunEvidence"], "Judged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """An entry of a replica whose checksum does not fit, in the copies of a moment."""

    moment: str
    node: str
    segment: int
    position: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an output states of its key: which inputs its result counts."""

    key: int
    """A number that stands for the key."""
    offset: int
    """Of the input that the output was made from."""
    counted: Sequence[int]
    """The offsets of the inputs, one that is counted twice twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """What became of the inputs of a partition, by what is in the outputs at the end."""

    inputs: frozenset[int]
    """The offsets of all records that readers were given."""
    outputs: Mapping[int, Sequence[int]]
    """Of each input that was processed: the producers of the outputs that name it, one for each output."""
    results: Sequence[Result] = ()
    """What outputs state of their keys, if they do."""
    order: Sequence[int] = ()
    """The inputs of all outputs, in the order in which a reader of what is committed finds these in their log."""

    @property
    def skipped(self) -> frozenset[int]:
        """The inputs that no output names."""
        return self.inputs - self.outputs.keys()

    @property
    def repeated(self) -> frozenset[int]:
        """The inputs that several outputs name."""
        return frozenset(offset for offset, producers in self.outputs.items() if len(producers) > 1)

    @property
    def counted_again(self) -> frozenset[int]:
        """The inputs that a result counts more than once."""
        return frozenset(one for result in self.results for one in result.counted if result.counted.count(one) > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCommit:
    """An offset that an application tried to commit, and the answer."""

    process: str
    offset: int
    invoked_ns: int
    outcome: str
    """"ok" if it was taken."""
    error: str | None
    """The error's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChange:
    """A partition was given to a member of a group, or taken from it, as the member was told."""

    process: str
    given: bool
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """Inputs that a poll of an application returned."""

    process: str
    at_ns: int
    offsets: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """What a run left behind, as far as claims are judged by it."""

    run: RunRecord
    """run.json."""
    run_state: RunState
    acknowledged: Callable[[str, int], Sequence[tuple[int, int]]] = lambda topic, partition: ()
    """Of a topic and partition, from the clients' histories: when each acknowledged record was sent, and when it was
    acknowledged (CLOCK_MONOTONIC nanoseconds), in the order of the latter. Without what idempotent producers sent
    beside a load, which would hide that its own producer waits."""
    failed: Callable[[str, int], Sequence[tuple[int, int]]] = lambda topic, partition: ()
    """Of a topic and partition: when each record that was not acknowledged was sent, and when its producer gave it up
    (CLOCK_MONOTONIC nanoseconds), in the order of the latter. Without what idempotent producers sent beside a load."""
    acknowledged_in_all: Callable[[str, int], Sequence[tuple[int, int]]] = lambda topic, partition: ()
    """The same, with these."""
    read_at: Callable[[str, int], Mapping[tuple[int, int], tuple[int, ...]] | None] = lambda topic, partition: None
    """Of a topic and partition: the offsets at which readers were given each record, by its producer and sequence;
    None if nobody read to the end, so that a record which was not read may be there."""
    damaged: Callable[[str, int], Sequence[Damage]] = lambda topic, partition: ()
    """Of a topic and partition: the entries with a wrong checksum in the copies of its replicas."""
    stored: Callable[[str, int], Mapping[str, StoredReplica]] = lambda topic, partition: {}
    """Of a topic and partition: by node, what the last copies of its replicas hold, batch by batch."""
    read_errors: Callable[[str, int], Sequence[tuple[int, str]]] = lambda topic, partition: ()
    """Of a topic and partition: when readers were given errors instead of records (CLOCK_MONOTONIC nanoseconds), and
    their names."""
    processing: Callable[[str, int], Processing | None] = lambda topic, partition: None
    """Of a topic and partition of inputs; None if nobody read inputs and outputs to their ends."""
    processing_by: Callable[[str, int], Mapping[str, Processing]] = lambda topic, partition: {}
    """The same of each application by its group, if several have these inputs; nothing otherwise."""
    read_meanwhile: Callable[[str, int], Mapping[str, Sequence[int | None]]] = lambda topic, partition: {}
    """Of a topic and partition of inputs, by consumer: from what input each output was made that it was given while the
    run went on, in order; None of one that nobody finds at the end. Of those that read what is committed."""
    called_processed: Callable[[str, int], Mapping[int, Sequence[int]]] = lambda topic, partition: {}
    """Of a topic and partition of inputs: of each input the producers that have made an output of it, as the programs
    themselves recorded; a producer that did so twice is there twice."""
    member_commits: Callable[[str, int], Sequence[MemberCommit]] = lambda topic, partition: ()
    """Of a topic and partition of inputs: what applications committed, in the order of their asking."""
    member_changes: Callable[[str, int], Sequence[MemberChange]] = lambda topic, partition: ()
    """Of a topic and partition of inputs: to which applications it was given, and from which it was taken, in order."""
    handed_over: Callable[[str, int], Sequence[HandedOver]] = lambda topic, partition: ()
    """Of a topic and partition of inputs: what the polls of applications returned, in order."""
    shares: Callable[[str, int], Sequence[ShareStep]] = lambda topic, partition: ()
    """Of a topic and partition: what members of share groups were given and said of it, in order."""

    def processing_in(self, topic: str, partition: int, group: str) -> Processing | None:
        """What became of a partition's inputs in the application that is this group, whatever others made of them."""
        by_group = self.processing_by(topic, partition)
        return by_group[group] if group in by_group else self.processing(topic, partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of a claim in a run."""

    outcome: Outcome
    observed: str
    """What was seen, in one sentence."""
    evidence: Sequence[Mapping[str, Any]] = ()
    """The rows that it was judged by; where it is contradicted, those that contradict it."""
    measured_ms: float | None = None
    bound_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One documented behaviour."""

    name: str
    definition: str
    source: str
    basis: Basis
    """Of what kind the source is."""
    judge: Judge = field(repr=False)
    bound: str = ""
    """Of a duration: what bounds it, and the tolerance."""
    bound_source: str = ""
    """Where the bound is documented, or that it is not."""
    bound_basis: Basis | None = None
    """Of what kind that is; None without a bound."""

    def as_json(self) -> dict[str, str]:
        """The entry in words."""
        return {
            "name": self.name,
            "definition": self.definition,
            "source": self.source,
            "basis": str(self.basis),
            "bound": self.bound,
            "bound_source": self.bound_source,
            "bound_basis": str(self.bound_basis or ""),
        }


REGISTRY: Final[dict[str, Claim]] = {}
"""Every claim by its name, in the order in which modules were imported (checks.claims imports all of them)."""


def claim(
    name: str,
    *,
    source: str,
    basis: Basis,
    bound: str = "",
    bound_source: str = "",
    bound_basis: Basis | None = None,
) -> Callable[[Judge], Judge]:
    """Register a function as the judge of the claim `name`; its docstring begins with the definition.

    source: where the behaviour is documented (KIP, JIRA, documentation, or the class of Kafka's that has it, with the
    releases in which it has it); basis: of what kind that is. bound: of a duration, what bounds it and the tolerance,
    with a source and a basis of its own. Raises ValueError if the name is taken, if there is no definition, if a source
    does not name what its basis says, and for a bound without a source.
    """

    def register(judge: Judge) -> Judge:
        if name in REGISTRY:
            raise ValueError(f"there are two claims {name!r}")
        if bool(bound) != (bound_basis is not None):
            raise ValueError(f"claim {name!r}: a bound has a source and a basis of its own, and nothing else has")
        faults = [fault_of(source, basis)]
        if bound_basis is not None:
            faults.append(fault_of(bound_source, bound_basis))
        if wrong := [fault for fault in faults if fault]:
            raise ValueError(f"claim {name!r}: {wrong[0]}")
        REGISTRY[name] = Claim(
            name=name,
            definition=definition_of(judge),
            source=source,
            basis=basis,
            judge=judge,
            bound=bound,
            bound_source=bound_source,
            bound_basis=bound_basis,
        )
        return judge

    return register
