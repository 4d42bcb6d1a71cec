"""Relays between clients and brokers: each passes on what either side sends, one request and one answer at a time.

A broker has a second listener for these clients, and the address that it states for it is the relay's (KIP-103). So a
client that begins at a relay finds every broker behind a relay of its own, and nothing of what brokers say is changed.
Other clients use the first listener, and no relay knows of them.

A relay can withhold one answer: it passes a request on, reads the broker's answer to it, which has the same correlation
id, and keeps that and all later answers of the connection. The client does not learn what the broker has done.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

HOST: Final = "127.0.0.1"
"""The only address that a relay listens on: clients run on this machine."""
NAME: Final = "RELAYED"
"""Of the brokers' second listener."""
PORT: Final = 9094
"""Of the same, at the brokers."""
SIZE: Final = struct.Struct(">i")
REQUEST: Final = struct.Struct(">hhih")
"""Of every request: its API's key and version, its correlation id, and the length of the client's id."""
CONNECT_LIMIT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, by its header."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str


def asked(request: bytes) -> Asked:
    """The header of a request, without its size. Raises struct.error for bytes that are too short for one.

    >>> asked(REQUEST.pack(26, 3, 7, 2) + b"me" + b"rest")
    Asked(api_key=26, api_version=3, correlation_id=7, client_id='me')
    """
    key, version, correlation_id, length = REQUEST.unpack_from(request)
    name = request[REQUEST.size : REQUEST.size + max(length, 0)]
    return Asked(key, version, correlation_id, name.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Withheld:
    """A request that a broker was given, and its answer, of which the client has no byte."""

    request: Asked
    correlation_id: int
    """Of the answer."""
    answer_bytes: int


def frames(connection: socket.socket) -> Iterator[bytes]:
    """The requests, or the answers, that come on a connection, each without its size, until it ends or fails."""
    with suppress(OSError), connection.makefile("rb") as file:
        while len(size := file.read(SIZE.size)) == SIZE.size:
            length = SIZE.unpack(size)[0]
            if length < 0 or len(content := file.read(length)) < length:
                return
            yield content


def passed(content: bytes, connection: socket.socket) -> None:
    """Pass a request, or an answer, on with its size before it. Raises OSError if the connection takes it no more."""
    connection.sendall(SIZE.pack(len(content)) + content)


@dataclass(slots=True)
class Relay:
    """Between clients and one broker."""

    _listener: socket.socket = field(default_factory=lambda: socket.create_server((HOST, 0)), init=False)
    _open: set[socket.socket] = field(default_factory=set, init=False)
    _api_key: int | None = field(default=None, init=False)
    """Whose answer is withheld next."""
    _withheld: Withheld | None = field(default=None, init=False)
    _passing: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        self._passing.set()

    @property
    def port(self) -> int:
        """Where clients find it, on `HOST`."""
        return int(self._listener.getsockname()[1])

    @property
    def withheld(self) -> Withheld | None:
        """The answer that is withheld; None while there is none."""
        return self._withheld

    def serve(self, address: tuple[str, int]) -> None:
        """Pass on to a broker, by its address and port, from now on."""
        threading.Thread(target=self._accept, args=(address,), daemon=True).start()

    def withhold(self, api_key: int) -> None:
        """Withhold the next answer to a request of this API, and the later ones on the same connection."""
        self._withheld = None
        self._passing.clear()
        self._api_key = api_key

    def pass_on(self) -> None:
        """Pass all answers on again, and those that were withheld."""
        self._api_key = None
        self._passing.set()

    def close(self) -> None:
        """End every connection, and take no more."""
        self.pass_on()
        for one in (self._listener, *self._open):
            _end(one)

    def _accept(self, address: tuple[str, int]) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # it is closed
                return
            try:
                broker = socket.create_connection(address, timeout=CONNECT_LIMIT_S)
            except OSError:  # the client learns it as from a broker that is down: its connection ends
                _end(client)
                continue
            broker.settimeout(None)
            self._open |= {client, broker}
            awaited: dict[int, Asked] = {}
            for target, args in ((self._requests, (client, broker)), (self._answers, (broker, client))):
                threading.Thread(target=target, args=(*args, awaited), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket, awaited: dict[int, Asked]) -> None:
        """Pass on what a client asks, until either side ends."""
        with suppress(OSError, struct.error):
            for content in frames(client):
                if (request := asked(content)).api_key == self._api_key:
                    awaited[request.correlation_id] = request
                passed(content, broker)
        self._ended(client, broker)

    def _answers(self, broker: socket.socket, client: socket.socket, awaited: dict[int, Asked]) -> None:
        """Pass on what a broker answers, until either side ends."""
        with suppress(OSError, struct.error):
            for content in frames(broker):
                correlation_id = SIZE.unpack_from(content)[0]
                if (request := awaited.pop(correlation_id, None)) is not None and not self._passing.is_set():
                    self._api_key = None
                    self._withheld = Withheld(request, correlation_id, len(content))
                    self._passing.wait()
                passed(content, client)
        self._ended(client, broker)

    def _ended(self, *connections: socket.socket) -> None:
        for one in connections:
            _end(one)
            self._open.discard(one)


def _end(connection: socket.socket) -> None:
    """End a connection, also for a thread that waits for it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class Relays:
    """A relay for each broker of a cluster."""

    def __init__(self, brokers: tuple[int, ...]) -> None:
        self.of = {broker: Relay() for broker in brokers}
        """By the broker's id."""

    @property
    def ports(self) -> dict[int, int]:
        """Where clients find each broker."""
        return {broker: relay.port for broker, relay in self.of.items()}

    @property
    def bootstrap(self) -> str:
        """bootstrap.servers of clients that are behind the relays."""
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    def serve(self, addresses: Mapping[int, str]) -> None:
        """Pass on to brokers, by their ids and addresses, from now on."""
        for broker, relay in self.of.items():
            relay.serve((addresses[broker], PORT))

    def close(self) -> None:
        """End every connection, and take no more."""
        for relay in self.of.values():
            relay.close()


def listeners(broker: int, address: str, port: int, first_port: int) -> dict[str, str]:
    """Settings of a broker at this address, whose first listener has `first_port`, for clients behind the relay at
    `port` (0.10.2 and later).

    >>> listeners(1, "10.0.0.11", 40000, 9092)["1:advertised.listeners"]
    'PLAINTEXT://10.0.0.11:9092,RELAYED://127.0.0.1:40000'
    """
    first = f"PLAINTEXT://{address}:{first_port}"
    settings = {
        "listeners": f"{first},{NAME}://{address}:{PORT}",
        "advertised.listeners": f"{first},{NAME}://{HOST}:{port}",
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,{NAME}:PLAINTEXT",
    }
    return {f"{broker}:{name}": value for name, value in settings.items()}
