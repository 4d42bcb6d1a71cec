"""A relay between clients and a broker, on sockets: everything is passed on, and one answer is withheld."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from harness.cluster.relay import HOST, REQUEST, SIZE, Asked, Relay, Relays, frames, listeners, passed
from harness.polling import poll

END_TXN, FETCH = 26, 1
LIMIT_S = 10.0
SHORT_S = 0.2


def request(correlation_id: int, api_key: int = FETCH) -> bytes:
    return REQUEST.pack(api_key, 3, correlation_id, 3) + b"app" + b"more"


def answer(correlation_id: int) -> bytes:
    return SIZE.pack(correlation_id) + b"done"


class Broker:
    """Answers each request as it comes, and remembers it."""

    def __init__(self) -> None:
        self.listener = socket.create_server((HOST, 0))
        self.asked: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        return (HOST, self.listener.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            for content in frames(connection):
                self.asked.append(content)
                passed(answer(REQUEST.unpack_from(content)[2]), connection)


@pytest.fixture
def broker() -> Iterator[Broker]:
    made = Broker()
    yield made
    made.listener.close()


@pytest.fixture
def relay(broker: Broker) -> Iterator[Relay]:
    made = Relay()
    made.serve(broker.address)
    yield made
    made.close()


@pytest.fixture
def client(relay: Relay) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, relay.port), timeout=LIMIT_S) as made:
        yield made


def require_nothing(client: socket.socket) -> None:
    client.settimeout(SHORT_S)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.settimeout(LIMIT_S)


def test_what_either_side_sends_is_passed_on(client: socket.socket, broker: Broker) -> None:
    asked = [request(5), request(6, END_TXN)]
    for one in asked:
        passed(one, client)
    answers = frames(client)
    assert [next(answers), next(answers)] == [answer(5), answer(6)]
    assert broker.asked == asked


def test_one_answer_is_withheld_with_all_that_follows(client: socket.socket, broker: Broker, relay: Relay) -> None:
    relay.withhold(END_TXN)
    passed(request(5), client)
    answers = frames(client)
    assert next(answers) == answer(5)
    assert not poll(lambda: relay.withheld, 0.0)
    for one in (request(6, END_TXN), request(7)):
        passed(one, client)
    assert poll(lambda: relay.withheld, LIMIT_S) is not None
    assert poll(lambda: len(broker.asked) == 3, LIMIT_S)
    require_nothing(client)
    seen = relay.withheld
    assert seen is not None
    assert (seen.request, seen.correlation_id) == (Asked(END_TXN, 3, 6, "app"), 6)
    assert seen.answer_bytes == len(answer(6))
    relay.pass_on()
    assert [next(answers), next(answers)] == [answer(6), answer(7)]


def test_other_connections_are_answered(client: socket.socket, relay: Relay) -> None:
    relay.withhold(END_TXN)
    passed(request(6, END_TXN), client)
    assert poll(lambda: relay.withheld, LIMIT_S) is not None
    with socket.create_connection((HOST, relay.port), timeout=LIMIT_S) as other:
        passed(request(1, END_TXN), other)
        assert next(frames(other)) == answer(1)


def test_a_client_that_is_gone_ends_its_connection_to_the_broker(relay: Relay) -> None:
    with socket.create_connection((HOST, relay.port), timeout=LIMIT_S) as client:
        passed(request(5), client)
        assert next(frames(client)) == answer(5)
        assert len(relay._open) == 2
    assert poll(lambda: not relay._open, LIMIT_S)


def test_a_broker_that_is_down_is_a_connection_that_ends() -> None:
    # A port that is bound and not listened at: nobody else gets it meanwhile, and who connects is refused.
    with socket.socket() as nobody:
        nobody.bind((HOST, 0))
        relay = Relay()
        relay.serve((HOST, nobody.getsockname()[1]))
        try:
            with socket.create_connection((HOST, relay.port), timeout=LIMIT_S) as client:
                assert client.recv(1) == b""
        finally:
            relay.close()


def test_a_relay_that_is_closed_ends_what_it_withholds(client: socket.socket, relay: Relay) -> None:
    relay.withhold(END_TXN)
    passed(request(6, END_TXN), client)
    assert poll(lambda: relay.withheld, LIMIT_S) is not None
    relay.close()
    client.settimeout(LIMIT_S)
    while client.recv(100):  # what was withheld may come, and then the end
        pass
    assert relay._listener.fileno() == -1


def test_each_broker_has_a_relay_of_its_own(broker: Broker) -> None:
    relays = Relays((1, 2))
    try:
        assert relays.bootstrap == ",".join(f"127.0.0.1:{relays.ports[one]}" for one in (1, 2))
        assert len(set(relays.ports.values())) == 2
    finally:
        relays.close()


def test_relays_serve_the_nodes_of_a_cluster(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cluster.relay.PORT", broker.address[1])
    relays = Relays((7,))
    relays.serve({7: HOST})
    try:
        with socket.create_connection((HOST, relays.ports[7]), timeout=LIMIT_S) as client:
            passed(request(4), client)
            assert next(frames(client)) == answer(4)
    finally:
        relays.close()


def test_a_broker_listens_for_both_kinds_of_clients() -> None:
    assert listeners(2, "10.0.0.12", 4711, 9092) == {
        "2:listeners": "PLAINTEXT://10.0.0.12:9092,RELAYED://10.0.0.12:9094",
        "2:advertised.listeners": "PLAINTEXT://10.0.0.12:9092,RELAYED://127.0.0.1:4711",
        "2:listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,RELAYED:PLAINTEXT",
    }
