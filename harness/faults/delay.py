"""What clients have sent on the connections that there are is delayed: it arrives after they have given it up.

At the broker every packet of these connections is dropped as it comes in, told by the clients' ports; connections that
are made later are not concerned. So a client's request is not answered, the client takes the connection for broken,
closes it, and asks again on a new one, which works. The sent data is still in its kernel, which keeps trying to deliver
it although the connection is closed, at ever longer intervals. After the heal it arrives: a request that was carried
out already, or given up long ago. Networks do that (a packet that is late), and KIP-890 is about it.

The kernel gives a closed connection up after a minute or two (tcp_orphan_retries): what is held longer is lost.

The broker's kernel knows when it has arrived. The client's end of the connection comes after all that was sent on it,
and the broker closes its own end when it has answered what came (`ended`).

The proof: a connection of our own, made before, on which a request is sent and not taken, while the kernel counts
packets dropped; and one made afterwards, on which it is.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from evidence.errors import FaultUnproved
from evidence.faults.network import DelayProof, DroppedProof
from harness.cluster.listings import CHAIN
from harness.faults import network
from harness.faults.answers import ask, connect, connections, taken
from harness.faults.cut import Cut, PacketRule
from harness.faults.network import names
from harness.polling import poll

if TYPE_CHECKING:
    import socket


@dataclass(slots=True, kw_only=True)
class Delay(Cut):
    """What clients (`receivers`) send to a port of nodes on connections that there are is dropped until the heal."""

    port: int
    question: bytes
    """A request that they would take (harness.faults.answers)."""
    _probes: dict[str, socket.socket] = field(default_factory=dict, init=False)
    _ports: tuple[int, ...] = field(default=(), init=False)
    _own: set[int] = field(default_factory=set, init=False)
    """The ports of connections of our own."""

    @property
    def proof_type(self) -> type[DroppedProof]:
        return DelayProof

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        return tuple((b.name, a.name) for a, b in network.pair(self.senders, self.receivers))

    @property
    def description(self) -> str:
        return f"what {names(self.receivers)} send to {names(self.senders)} on the connections they have delayed"

    def rules(self) -> list[PacketRule]:
        return [PacketRule("INPUT", peer.address, port) for peer in self.receivers for port in self._ports]

    def inject(self) -> None:
        with ExitStack() as undo:
            for node in self.senders:
                self._probes[node.name] = undo.enter_context(connect(node, self.port))
            ends = [
                end for node in self.senders for peer in self.receivers for end in connections(node, peer, self.port)
            ]
            self._ports = tuple(sorted({int(end.rpartition(":")[2]) for end in ends}))
            self._own = {probe.getsockname()[1] for probe in self._probes.values()}
            Cut.inject(self)  # not super(): a dataclass with slots is another class
            undo.pop_all()

    def verify(self) -> DelayProof:
        for name, probe in self._probes.items():
            ask(name, probe, self.question)
        dropped, _ = self._counts()
        if early := [name for name, probe in self._probes.items() if taken(probe)]:
            raise FaultUnproved(f"{self.description}: {', '.join(early)} took a request on a connection there was")
        for node in self.senders:
            with connect(node, self.port) as later:
                ask(node.name, later, self.question)
                if not poll(partial(taken, later), network.COUNTER_LIMIT_S):
                    limit = f"{network.COUNTER_LIMIT_S:.0f} s"
                    raise FaultUnproved(
                        f"{self.description}: {node.name} took no request on a new connection in {limit}: a cut"
                    )
        return DelayProof(
            packets_dropped=dropped,
            chain=CHAIN,
            connections=len(self._ports),
            not_taken=tuple(sorted(self._probes)),
        )

    def ended(self) -> list[int]:
        """The clients' ports of the connections there were that are over at the broker: what clients had sent on them
        and given up has come, and is answered. HarnessError if no whole listing can be had.
        """
        ends = [
            end
            for node in self.senders
            for peer in self.receivers
            for end in connections(node, peer, self.port, "established", "close-wait")
        ]
        return sorted(set(self._ports) - {int(end.rpartition(":")[2]) for end in ends} - self._own)

    def heal(self) -> None:
        Cut.heal(self)
        for probe in self._probes.values():
            probe.close()
