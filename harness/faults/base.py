"""What a fault is, and the one way to carry one out.

Every fault needs a proof, because a fault that silently did nothing makes an old broker look safe. `verify` must look
from outside (Docker's events and states, the kernel's counters), never trust the call that injected, and raise
`FaultUnproved` with what it saw. `carry_out` writes every phase to the timeline, with the proof, so that the verdict
can demand it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evidence.errors import FaultUnproved, HarnessError
from evidence.events import Fault as FaultEvent
from evidence.events import FaultPhase, Target
from evidence.faults import KINDS
from evidence.faults.base import FaultProof, Lasts, kind_of

if TYPE_CHECKING:
    from evidence.timeline import Timeline
    from harness.cluster.docker import Node


class Peer(Protocol):
    """An end of a link: a node, or whatever else has an address."""

    @property
    def name(self) -> str:
        """How it is told of."""

    @property
    def address(self) -> str:
        """Its address in the cluster's network."""


class Fault(Protocol):
    """One thing that goes wrong."""

    @property
    def proof_type(self) -> type[FaultProof]:
        """Its kind: the type in evidence.faults that its proof is of."""

    @property
    def description(self) -> str:
        """What happens to which node, in words."""

    @property
    def nodes(self) -> tuple[Peer, ...]:
        """The nodes it acts on, and whom they are cut from."""

    def inject(self) -> None:
        """Make it happen."""

    def verify(self) -> FaultProof:
        """Show from outside that it happened; FaultUnproved, with what was seen, if that cannot be shown."""

    def heal(self) -> None:
        """Undo it and leave the known-good state; again and again does no harm. Crashes have nothing to undo."""


@runtime_checkable
class OfTheNetwork(Fault, Protocol):
    """A fault that lies between nodes. It is lost with the network namespaces of its senders."""

    @property
    def senders(self) -> tuple[Node, ...]:
        """The nodes in whose namespaces it is."""

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """From whom to whom packets are dropped, or slow."""

    @property
    def port(self) -> int:
        """The port that it is about; 0 for all packets."""

    def apply(self, node: Node) -> None:
        """Put it into a sender's namespace; used again when the node was restarted."""


@dataclass(slots=True)
class Faults:
    """Carries faults out and keeps the ones that still last."""

    timeline: Timeline
    active: list[tuple[str, Fault]] = field(default_factory=list)
    count: int = 0

    def carry_out(self, fault: Fault, *, role: str = "") -> FaultProof:
        """Inject and prove. A fault of a kind that lasts until it is healed stays active until then.

        Raises HarnessError, before anything is done, for one of a kind that evidence.faults does not have. Raises
        FaultUnproved after recording it: the run is then unknown, whatever else is seen.
        """
        fault_id = self._announce(fault, role)
        fault.inject()
        return self._prove(fault_id, fault, role, time.monotonic_ns())

    def carry_out_at_once(self, faults: Sequence[tuple[Fault, str]]) -> list[FaultProof]:
        """Inject several faults, given with their roles, at one moment, and then prove each. Raises as `carry_out`."""
        named = [(self._announce(fault, role), fault, role) for fault, role in faults]
        injected_ns = []
        for _, fault, _ in named:
            fault.inject()
            injected_ns.append(time.monotonic_ns())
        return [self._prove(*one, at_ns) for one, at_ns in zip(named, injected_ns, strict=True)]

    def _announce(self, fault: Fault, role: str) -> str:
        require_kind(fault)
        self.count += 1
        fault_id = f"f{self.count}"
        self._record(fault_id, fault, "inject", role)
        if fault.proof_type.lasts is Lasts.UNTIL_HEALED:
            self.active.append((fault_id, fault))
        return fault_id

    def _prove(self, fault_id: str, fault: Fault, role: str, injected_ns: int) -> FaultProof:
        try:
            proof = fault.verify()
            _require_complete(fault, proof)
        except FaultUnproved as error:
            self._record(fault_id, fault, "unproved", role, seen=str(error), injected_ns=injected_ns)
            raise
        self._record(fault_id, fault, "verified", role, proof=proof, injected_ns=injected_ns)
        return proof

    def heal_one(self, fault: Fault) -> None:
        """Heal a lasting fault."""
        for entry in [entry for entry in self.active if entry[1] is fault]:
            self._heal(entry)

    def heal(self, *proof_types: type[FaultProof], among: Collection[Peer] = ()) -> None:
        """Heal the lasting faults of these kinds, or all, the last one first; nothing to heal is fine. A base type in
        evidence.faults, such as NetworkProof, stands for all kinds below it.

        With `among`, only those that strike none but these nodes.
        """
        names = {node.name for node in among}
        wanted = [e for e in reversed(self.active) if issubclass(e[1].proof_type, proof_types or FaultProof)]
        for entry in [e for e in wanted if not names or {node.name for node in e[1].nodes} <= names]:
            self._heal(entry)

    def _heal(self, entry: tuple[str, Fault]) -> None:
        fault_id, fault = entry
        self._record(fault_id, fault, "heal")
        fault.heal()
        self.active.remove(entry)
        self._record(fault_id, fault, "healed")

    def _record(
        self,
        fault_id: str,
        fault: Fault,
        phase: FaultPhase,
        role: str = "",
        *,
        proof: FaultProof | None = None,
        seen: str = "",
        injected_ns: int | None = None,
    ) -> None:
        target = Target(role=role, node=", ".join(node.name for node in fault.nodes))
        self.timeline.append(
            FaultEvent(
                fault_kind=kind_of(fault.proof_type),
                id=fault_id,
                phase=phase,
                target=target,
                description=fault.description,
                proof=proof,
                seen=seen,
                injected_ns=injected_ns,
                links=fault.links if isinstance(fault, OfTheNetwork) else (),
                port=fault.port if isinstance(fault, OfTheNetwork) else 0,
            )
        )


def require_kind(fault: Fault) -> None:
    """Raise HarnessError unless a fault is of a kind that evidence.faults has."""
    proof_type = getattr(fault, "proof_type", None)
    if proof_type is None or proof_type not in KINDS.values():
        what = f"its proof_type is {proof_type.__name__}, without a tag" if proof_type else "it has no proof_type"
        raise HarnessError(f"{type(fault).__name__} is of no kind that evidence.faults has: {what}")


def _require_complete(fault: Fault, proof: FaultProof) -> None:
    """Raise FaultUnproved for a proof of another kind, or one that does not show the fault by its own fields."""
    if type(proof) is not fault.proof_type:
        raise FaultUnproved(f"{fault.description}: {type(proof).__name__} is no proof of it")
    if missing := proof.missing():
        raise FaultUnproved(f"{fault.description}: {missing}")
