"""What brokers answer to clients is held back, and clients' connections are reset: an acknowledgement that gets lost.

Held back: at the broker every packet that ends what it wrote to a client (TCP's PSH) is lost, and nothing else. So
requests come in and are carried out, and the connection lasts. The broker's kernel takes the answers for sent, as if a
switch had lost them (iptables' NFQUEUE, a queue for a program that does not exist). It sends them again at ever longer
intervals: after the heal they arrive within about as long as they were held.

Not dropped (DROP): TCP is told of a packet that is dropped in its own host, keeps it as not sent, and tries it again
whenever anything comes in. Each attempt carries the acknowledgement of what came, so none gets out, and after some
200 ms the client's kernel takes its own segments for lost and sends nothing new. A later request did not come in then.

The proof: a request of our own is taken, every byte of it acknowledged by the broker's kernel, and so is a second one
after it. The kernel's counter of lost packets has moved, and no byte of an answer came.

Reset: the broker's ends of clients' connections are closed by the kernel (ss -K, sock_diag's SOCK_DESTROY), which tells
the clients at once (RST) and forgets what it had not delivered. The proof: connections that the kernel listed before,
and none of which it lists after. The clients' kernel, which is this one, is the second witness (`left_at_clients`).
"""

from __future__ import annotations

import operator
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from evidence import borders
from evidence.errors import FaultUnproved
from evidence.faults.clients import ResetProof
from evidence.faults.network import DroppedProof, HoldProof
from harness.cluster.listings import CHAIN, listing
from harness.faults import network
from harness.faults.cut import Cut, PacketRule
from harness.faults.network import names
from harness.polling import poll

if TYPE_CHECKING:
    from harness.cluster.docker import Node
    from harness.faults.base import Peer

API_VERSIONS: Final = 18
METADATA: Final = 3
CONNECT_LIMIT_S: Final = 5.0
UNACKNOWLEDGED: Final = struct.Struct("=24xI")
"""Where the kernel's account of a connection (struct tcp_info) says how many segments are not acknowledged."""
LEFT_LIMIT_S: Final = 2.0
"""In which a reset has reached the clients."""
SOCKETS: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
ESTABLISHED: Final = "01"


def question(release: tuple[int, ...]) -> bytes:
    """A request, version 0, that a broker of this release answers: which requests it knows (from 0.10.0 on), or before
    that, which topics there are.
    """
    header = struct.pack(">hhih", API_VERSIONS if release >= borders.API_VERSIONS.release else METADATA, 0, 1, -1)
    request = header if release >= borders.API_VERSIONS.release else header + struct.pack(">i", 0)
    return struct.pack(">i", len(request)) + request


def connect(node: Node, port: int) -> socket.socket:
    """A connection of our own to a port of a node; FaultUnproved if there cannot be one."""
    try:
        return socket.create_connection((node.address, port), timeout=CONNECT_LIMIT_S)
    except OSError as error:
        raise FaultUnproved(f"{node.name} cannot be asked anything: {error}") from None


def ask(name: str, connection: socket.socket, request: bytes) -> None:
    """Send a request; FaultUnproved if it cannot be sent."""
    try:
        connection.sendall(request)
    except OSError as error:
        raise FaultUnproved(f"{name} cannot be asked anything: {error}") from None


@contextmanager
def _asked(node: Node, port: int, request: bytes) -> Iterator[socket.socket]:
    """A connection of our own on which a request was sent; FaultUnproved if it cannot be."""
    with connect(node, port) as connection:
        ask(node.name, connection, request)
        connection.setblocking(False)
        yield connection


def taken(connection: socket.socket) -> bool:
    """Whether the far kernel has acknowledged all that was sent."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return bool(UNACKNOWLEDGED.unpack_from(told)[0] == 0)


def _answered(connection: socket.socket) -> str | None:
    """What came on a connection: "an answer", "the end of the connection", or None for nothing."""
    try:
        return "an answer" if connection.recv(1) else "the end of the connection"
    except BlockingIOError:
        return None
    except ConnectionError:
        return "the end of the connection"


@dataclass(slots=True, kw_only=True)
class Hold(Cut):
    """What senders answer on connections to a port of theirs is held back from receivers; requests get in."""

    port: int
    question: bytes
    """A request that they would answer (`question`)."""

    @property
    def proof_type(self) -> type[DroppedProof]:
        return HoldProof

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        return tuple((a.name, b.name) for a, b in network.pair(self.senders, self.receivers))

    @property
    def description(self) -> str:
        return f"answers of {names(self.senders)} to {names(self.receivers)} held back"

    def rules(self) -> list[PacketRule]:
        return [PacketRule("OUTPUT", peer.address, self.port, pushed=True) for peer in self.receivers]

    def verify(self) -> HoldProof:
        with ExitStack() as open_ones:
            asked = {n.name: open_ones.enter_context(_asked(n, self.port, self.question)) for n in self.senders}
            dropped, _ = self._counts()
            self._taken_and_unanswered(asked, "a request of our own")
            for name, connection in asked.items():
                try:
                    connection.sendall(self.question)
                except OSError as error:
                    raise FaultUnproved(f"{self.description}: {name} took a request, and then {error}") from None
            self._taken_and_unanswered(asked, "a second request of our own")
        return HoldProof(packets_dropped=dropped, chain=CHAIN, taken_and_unanswered=tuple(sorted(asked)))

    def _taken_and_unanswered(self, asked: Mapping[str, socket.socket], what: str) -> None:
        """Wait until what was sent on each connection is taken; FaultUnproved if it is not, or if anything comes."""
        if not poll(lambda: all(map(taken, asked.values())), network.COUNTER_LIMIT_S):
            limit = f"{network.COUNTER_LIMIT_S:.0f} s"
            raise FaultUnproved(f"{self.description}: {what} was not taken in {limit}: a cut")
        for name, connection in asked.items():
            if (came := _answered(connection)) is not None:
                raise FaultUnproved(f"{self.description}: {came} came from {name} for {what}")


def parse_connections(lines: Iterable[str], peer: str) -> list[str]:
    """Ends of a peer's connections, as `ss -H -t -n` prints them: "[::ffff:172.20.0.1]:43210".

    >>> parse_connections(["0 0 [::ffff:172.20.0.11]:9092 [::ffff:172.20.0.1]:43210 "], "172.20.0.1")
    ['[::ffff:172.20.0.1]:43210']
    """
    ends = [words[3] for line in lines if len(words := line.split()) >= 4]
    return sorted(end for end in ends if end.rpartition(":")[0].strip("[]").removeprefix("::ffff:") == peer)


def parse_established(lines: Iterable[str]) -> set[tuple[str, str]]:
    """Connections, each by its own end and the other, from the text of /proc/net/tcp or tcp6.

    >>> parse_established(["  0: 01B818AC:8CB0 0BB818AC:2384 01 00000000:00000000"])
    {('172.24.184.1:36016', '172.24.184.11:9092')}
    """
    words = (line.split() for line in lines)
    return {(_end(each[1]), _end(each[2])) for each in words if len(each) > 3 and each[3] == ESTABLISHED}


def _end(told: str) -> str:
    address, _, port = told.partition(":")
    return f"{socket.inet_ntoa(bytes.fromhex(address[-8:])[::-1])}:{int(port, 16)}"


def connections(node: Node, peer: Peer, port: int, *states: str) -> list[str]:
    """A peer's ends of its connections to a port of a node, as that lists them: those established, or in `states`."""
    listed = (f"ss -H -t -n state {state} '( sport = :{port} )'" for state in states or ("established",))
    return parse_connections(listing(node, *listed), peer.address)


@dataclass(slots=True)
class Reset:
    """The connections that a peer has to a port of a node are reset."""

    node: Node
    peer: Peer
    port: int
    proof_type: ClassVar = ResetProof
    _before: list[str] = field(default_factory=list, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"reset of the connections of {self.peer.name} to {self.node.name}"

    def inject(self) -> None:
        self._before = connections(self.node, self.peer, self.port)
        ends = " or ".join(f"dst {end}" for end in self._before)
        if ends:
            self.node.run_inside("ss", "-K", "-H", "-t", "-n", f"sport = :{self.port} and ( {ends} )")

    def verify(self) -> ResetProof:
        if not self._before:
            raise FaultUnproved(f"{self.description}: there was none")
        left = sorted(set(self._before) & set(connections(self.node, self.peer, self.port)))
        if left:
            raise FaultUnproved(f"{self.description}: the kernel still has {', '.join(left)}")
        return ResetProof(connections=tuple(self._before), left=())

    def left_at_clients(self) -> list[str]:
        """Which of the connections there were before still last for the clients' kernel, after a while.

        They are told by both ends: a client's port may serve connections to several nodes at once.
        """
        node = f"{self.node.address}:{self.port}"
        pairs = {(end.replace("[::ffff:", "").replace("]", ""), node) for end in self._before}
        return sorted(end for end, _ in poll(lambda: pairs & _established(), LEFT_LIMIT_S, until=operator.not_))

    def heal(self) -> None:
        """Nothing to undo: clients connect again."""


def _established() -> set[tuple[str, str]]:
    return {each for path in SOCKETS if path.exists() for each in parse_established(path.read_text().splitlines()[1:])}
