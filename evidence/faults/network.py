"""Faults of the network: packets between nodes, or between nodes and clients, are dropped, held back or slowed down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from evidence.faults.base import FaultProof, Icon, Mark

BROKEN_LINE = Icon(-4, 0, "h1.8m4.4 0h1.8m-6.4 3l2 -6m.8 6l2 -6")
DOTS = Icon(-4, 0, "h1.2m2.2 0h1.2m2.2 0h1.2")
HOURGLASS = Icon(-3.5, -3, "h7l-3.5 3l3.5 3h-7l3.5 -3z")


class NetworkProof(FaultProof, frozen=True, kw_only=True):
    """Something that lies between nodes, on the links that its event names."""

    mark: ClassVar = Mark(colour="cut")


class DroppedProof(NetworkProof, frozen=True, kw_only=True):
    """Packets are dropped by rules in the nodes' kernels."""

    packets_dropped: dict[str, int]
    """By rule ("broker-1 OUTPUT 172.20.0.12"), as the kernel counted them."""
    chain: str = ""

    def dropped_by_node(self) -> Counter[str]:
        """How many packets were dropped at each node."""
        return _by_node(self.packets_dropped)

    def _at_each_node(self) -> bool:
        dropped = self.dropped_by_node()
        return bool(dropped) and all(count > 0 for count in dropped.values())

    def missing(self) -> str | None:
        return None if self._at_each_node() else "its proof does not show packets dropped at each node"

    def text(self) -> str:
        return f"the kernel dropped {sum(self.packets_dropped.values())} packets"


def _by_node(counted: Mapping[str, int]) -> Counter[str]:
    packets: Counter[str] = Counter()
    for rule, count in counted.items():
        packets[rule.partition(" ")[0]] += count
    return packets


class CutProof(DroppedProof, frozen=True, kw_only=True, tag="cut"):
    """The rules are in the node's kernel and packets have run into every cut node's."""

    mark: ClassVar = Mark(icon=BROKEN_LINE, colour="cut")


class LossProof(DroppedProof, frozen=True, kw_only=True, tag="loss"):
    """As for a cut, with a rule that counts all packets: some were dropped, and some came through."""

    mark: ClassVar = Mark(icon=DOTS, colour="cut")

    packets: dict[str, int]
    """All of them, by rule."""
    share: float
    """How many of them are to be lost, from 0 to 1."""

    def missing(self) -> str | None:
        every = _by_node(self.packets)
        through = all(lost < every.get(node, 0) for node, lost in self.dropped_by_node().items())
        if not through or not 0 < self.share < 1:
            return super().missing() or "its proof does not show packets that came through at each node"
        return super().missing()


class DelayProof(DroppedProof, frozen=True, kw_only=True, tag="delay"):
    """For clients' requests on existing connections: the broker's kernel does not take our own request on a connection
    made before, and takes one on a connection made afterwards. Packets ran into the rules.
    """

    connections: int
    """So many are concerned."""
    not_taken: tuple[str, ...]
    """The nodes that did not take the request."""

    def missing(self) -> str | None:
        if said := super().missing():
            return said
        shown = self.connections > 0 and set(self.not_taken) == set(self.dropped_by_node())
        return None if shown else "its proof does not show a request that was not taken by each node"

    def text(self) -> str:
        return f"a request on a connection that there was is not taken, {super().text()}"


class HoldProof(DroppedProof, frozen=True, kw_only=True, tag="hold"):
    """For a broker's answers to clients: the broker's kernel takes two requests of our own, one after the other,
    acknowledges every byte, and no answer comes. Packets ran into the rule.
    """

    taken_and_unanswered: tuple[str, ...]
    """The nodes that took the requests."""

    def missing(self) -> str | None:
        if not self._at_each_node():
            return "its proof does not show answers dropped at each node"
        shown = set(self.taken_and_unanswered) == set(self.dropped_by_node())
        return None if shown else "its proof does not show a request that was taken and not answered by each node"

    def text(self) -> str:
        return f"a request was taken and not answered, {super().text()} of answers"


class SlowLink(Struct, frozen=True, kw_only=True):
    """What both ends of a slow link showed."""

    bytes_per_s: float
    packets_waiting: int
    """In the sender's token bucket, right after they were sent."""
    packets_held: int
    """How often the bucket had to hold packets back."""
    datagrams_arrived: int


class SlowProof(NetworkProof, frozen=True, kw_only=True, tag="slow"):
    """The sender's token bucket of that rate counts datagrams to the far end that it held back, or has some waiting,
    and the far end counts them all.
    """

    mark: ClassVar = Mark(icon=HOURGLASS, colour="cut")

    links: dict[str, SlowLink]
    """By name ("broker-1 to broker-2")."""

    def missing(self) -> str | None:
        shown = [(one.packets_held or one.packets_waiting) and one.datagrams_arrived for one in self.links.values()]
        if not shown or not all(shown):
            return "its proof does not show packets that wait, and arrive, on each link"
        return None

    def text(self) -> str:
        waiting = sum(one.packets_waiting for one in self.links.values())
        return f"{waiting} packets waited in the kernel's token bucket, and arrived"
