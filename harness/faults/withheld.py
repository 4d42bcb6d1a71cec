"""A broker carries out what a client asks, and its answer never comes: one answer is withheld by a relay between them.

The client is one of somebody else's, which cannot be told to stand still between a commit and its answer. The broker
has nothing to do with it: requests of other clients, and other requests of this one, are answered.

The proof is what the relay read: the request, and the broker's answer with the same correlation id. What the broker has
done others must say: the group's coordinator, and the leader of a partition (harness/run/crash_points.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evidence.errors import FaultUnproved
from evidence.faults.clients import APIS, WithheldProof
from harness.faults.client import Named
from harness.polling import poll

if TYPE_CHECKING:
    from harness.cluster.relay import Relay, Withheld
    from harness.faults.base import Peer
    from harness.faults.client import ClientProcess


@dataclass(slots=True)
class Withhold:
    """The next answer to a request of this API, by Kafka's name for it, is withheld from a client behind relays."""

    process: ClientProcess
    relays: Mapping[int, Relay]
    """By the broker's id."""
    api: str
    timeout_s: float
    """In which the client has to ask."""
    proof_type: ClassVar = WithheldProof

    @property
    def nodes(self) -> tuple[Peer, ...]:
        return tuple(map(Named, self.process.clients))

    @property
    def description(self) -> str:
        return f"the answer to {self.api} withheld from {self.process.name}"

    def inject(self) -> None:
        for relay in self.relays.values():
            relay.withhold(APIS[self.api])

    def verify(self) -> WithheldProof:
        found = poll(self._withheld, self.timeout_s)
        if not found:
            raise FaultUnproved(f"{self.description}: no broker had answered one after {self.timeout_s:.0f} s")
        broker, seen = next(iter(found.items()))
        return WithheldProof(
            api=self.api,
            api_key=seen.request.api_key,
            asked_id=seen.request.correlation_id,
            answered_id=seen.correlation_id,
            answer_bytes=seen.answer_bytes,
            api_version=seen.request.api_version,
            client_id=seen.request.client_id,
            broker=broker,
        )

    def _withheld(self) -> dict[int, Withheld]:
        return {broker: seen for broker, relay in self.relays.items() if (seen := relay.withheld) is not None}

    def heal(self) -> None:
        for relay in self.relays.values():
            relay.pass_on()
