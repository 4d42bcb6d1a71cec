"""Faults between brokers and clients, and of clients: each proof, and each sabotaged fault."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.errors import FaultUnproved
from evidence.faults.network import DelayProof, HoldProof
from harness.cluster.docker import Node
from harness.cluster.listings import WHOLE
from harness.cluster.relay import Asked, Withheld
from harness.faults import answers, network
from harness.faults.answers import Hold, Reset, parse_connections, question
from harness.faults.client import FreezeClient, KillClient
from harness.faults.cut import Host, PacketRule, parse_counters
from harness.faults.delay import Delay
from harness.faults.withheld import Withhold
from harness.processes import group_states
from tests.proofs import shown

CLIENTS = Host("172.20.0.1")
LISTING = (
    "-A CHAOS-OUTPUT -d 172.20.0.1/32 -p tcp -m multiport --ports {port} -m tcp --tcp-flags PSH PSH "
    "-c {count} 0 -j NFQUEUE --queue-num 0"
)


@dataclass
class Broker:
    """A node that listens on this machine, reads what comes, and answers with `answer`; its filter counts `count`."""

    port: int
    count: int = 1
    name: str = "broker-1"
    address: str = "127.0.0.1"
    ran: list[str] = field(default_factory=list)

    def run_inside(self, *command: str) -> str:
        self.ran.append(command[-1])
        return f"{LISTING.format(port=self.port, count=self.count)}\n{WHOLE}\n" if "-v -S" in command[-1] else ""


@contextmanager
def listening(answer: bytes | None, count: int = 1) -> Iterator[Broker]:
    """A broker that answers a request so; with None it closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def serve() -> None:
            connection, _ = server.accept()
            kept.append(connection)
            if answer is None:
                connection.close()
            else:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Broker(server.getsockname()[1], count)
        thread.join()
        for connection in kept:
            connection.close()


def hold(broker: Broker) -> Hold:
    return Hold(
        senders=(cast("Node", broker),),
        receivers=(CLIENTS,),
        one_way=True,
        port=broker.port,
        question=question((4, 3, 1)),
    )


def test_a_rule_for_what_an_application_wrote_and_nothing_of_tcp() -> None:
    rule = PacketRule("OUTPUT", "172.20.0.1", 9092, pushed=True)
    match = "-d 172.20.0.1 -p tcp -m multiport --ports 9092 -m tcp --tcp-flags PSH PSH -j NFQUEUE --queue-num 0"
    assert rule.match() == match
    assert parse_counters([LISTING.format(port=9092, count=7)]) == {rule: 7}
    assert str(rule) == "OUTPUT 172.20.0.1:9092 PSH"


def test_answers_that_are_held_back_are_proved_by_a_request_that_is_taken_and_not_answered() -> None:
    with listening(b"") as broker:
        fault = hold(broker)
        fault.inject()
        proof = fault.verify()
    assert proof.taken_and_unanswered == ("broker-1",)
    assert sum(proof.packets_dropped.values()) == 1
    assert fault.description == "answers of broker-1 to clients held back"
    assert (fault.proof_type, fault.links) == (HoldProof, (("broker-1", "clients"),))


@pytest.mark.parametrize("count", [0, 1])
def test_a_request_that_is_answered_is_no_hold(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "COUNTER_LIMIT_S", 0.0)
    with listening(b"\0", count) as broker:
        waits = threading.Event()
        asked = Broker.run_inside

        def after_the_answer(self: Broker, *command: str) -> str:
            waits.wait(0.2)
            return asked(self, *command)

        monkeypatch.setattr(Broker, "run_inside", after_the_answer)
        with pytest.raises(FaultUnproved, match="an answer came" if count else "no packet ran into them"):
            hold(broker).verify()


def test_a_broker_that_closes_the_connection_has_not_taken_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = threading.Event()
    asked = Broker.run_inside

    def later(self: Broker, *command: str) -> str:
        waits.wait(0.2)
        return asked(self, *command)

    monkeypatch.setattr(Broker, "run_inside", later)
    with listening(None) as broker, pytest.raises(FaultUnproved, match="the end of the connection came"):
        hold(broker).verify()


def test_a_broker_that_takes_one_request_and_no_more_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "COUNTER_LIMIT_S", 0.0)
    told = iter([True, False])
    monkeypatch.setattr(answers, "taken", lambda connection: next(told))
    with listening(b"") as broker, pytest.raises(FaultUnproved, match="a second request of our own was not taken"):
        hold(broker).verify()


def test_a_broker_that_cannot_be_asked_proves_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(FaultUnproved, match="cannot be asked"):
        hold(Broker(port)).verify()


def test_the_question_is_one_that_the_release_answers() -> None:
    assert question((0, 10, 2, 2)) == bytes.fromhex("0000000a 0012 0000 00000001 ffff")
    assert question((0, 9, 0, 1)) == bytes.fromhex("0000000e 0003 0000 00000001 ffff 00000000")


# What clients send is delayed

INCOMING = "-A CHAOS-INPUT -s 172.20.0.1/32 -p tcp -m multiport --ports {port} -c {count} 0 -j DROP"
PORTS = (43210, 43212)


@dataclass
class Taking(Broker):
    """A node that takes connections, and lists two of a client's."""

    def state(self) -> dict[str, Any]:
        return {"Paused": False, "Running": True}

    def run_inside(self, *command: str) -> str:
        self.ran.append(command[-1])
        if command[-1].startswith("ss "):
            ends = [f"0 0 127.0.0.1:{self.port} 172.20.0.1:{port}\n" for port in PORTS]
            return f"{''.join(ends)}{WHOLE}\n"
        if "-v -S" in command[-1] and self.count >= 0:
            rules = [INCOMING.format(port=port, count=self.count) for port in PORTS]
            return "\n".join([*rules, WHOLE]) + "\n"
        return f"{WHOLE}\n"


@contextmanager
def taking(count: int = 1) -> Iterator[Taking]:
    with socket.create_server(("127.0.0.1", 0)) as server:  # its kernel takes what comes
        yield Taking(server.getsockname()[1], count)


def delayed(broker: Taking) -> Delay:
    return Delay(
        senders=(cast("Node", broker),),
        receivers=(CLIENTS,),
        one_way=True,
        port=broker.port,
        question=question((4, 3, 1)),
    )


def told(monkeypatch: pytest.MonkeyPatch, *answers_: bool) -> None:
    """What the kernel says, each time that it is asked, of whether a request was taken."""
    says = iter(answers_)
    monkeypatch.setattr("harness.faults.delay.taken", lambda connection: next(says))


def test_a_delay_is_proved_by_a_request_that_is_not_taken_and_one_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, False, True)
    with taking() as broker:
        fault = delayed(broker)
        fault.inject()
        proof = fault.verify()
        broker.count = -1
        fault.heal()
    assert (proof.connections, proof.not_taken) == (2, ("broker-1",))
    assert sum(proof.packets_dropped.values()) == 2
    assert fault.rules() == [PacketRule("INPUT", "172.20.0.1", port) for port in PORTS]
    assert fault.description == "what clients send to broker-1 on the connections they have delayed"
    assert (fault.proof_type, fault.links) == (DelayProof, (("clients", "broker-1"),))
    assert "iptables -w -D CHAOS-INPUT -s 172.20.0.1 -p tcp -m multiport --ports 43210 -j DROP" in broker.ran[-2]


@pytest.mark.parametrize(
    ("count", "taken", "why"),
    [
        (1, (True,), "broker-1 took a request on a connection there was"),
        (1, (False, False), "took no request on a new connection .* a cut"),
        (0, (False, True), "no packet ran into them"),
    ],
    ids=["nothing is held", "all is held", "nothing was dropped"],
)
def test_a_delay_that_is_none_is_unproved(
    count: int, taken: tuple[bool, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "COUNTER_LIMIT_S", 0.0)
    told(monkeypatch, *taken)
    with taking(count) as broker:
        fault = delayed(broker)
        fault.inject()
        with pytest.raises(FaultUnproved, match=why):
            fault.verify()
        broker.count = -1
        fault.heal()


@pytest.mark.parametrize(
    ("left", "ended"),
    [((), list(PORTS)), (PORTS[:1], [PORTS[1]]), (PORTS, [])],
    ids=["all are over", "one is", "none is: nothing has come"],
)
def test_what_was_delayed_has_come_when_its_connection_is_over(
    left: tuple[int, ...], ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with taking() as broker:
        fault = delayed(broker)
        fault.inject()
        broker.count = -1
        fault.heal()
        monkeypatch.setattr("tests.unit.test_client_faults.PORTS", left)
        assert fault.ended() == ended
        assert "state close-wait" in broker.ran[-1]


def test_a_connection_of_our_own_tells_nothing_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    with taking() as broker:
        fault = delayed(broker)
        connected = answers.connect

        def ours(node: Any, port: int) -> socket.socket:
            made = connected(node, port)
            monkeypatch.setattr("tests.unit.test_client_faults.PORTS", (made.getsockname()[1],))
            return made

        monkeypatch.setattr("harness.faults.delay.connect", ours)
        fault.inject()
        broker.count = -1
        fault.heal()
        monkeypatch.setattr("tests.unit.test_client_faults.PORTS", ())
        assert fault.ended() == []


CONNECTIONS = """0 0 [::ffff:172.20.0.11]:9092 [::ffff:172.20.0.1]:43210
0 38 [::ffff:172.20.0.11]:9092 [::ffff:172.20.0.1]:43212
0 0 [::ffff:172.20.0.11]:9092 [::ffff:172.20.0.12]:50000
0 0 172.20.0.11:9092 172.20.0.1:43214
"""
OURS = ["172.20.0.1:43214", "[::ffff:172.20.0.1]:43210", "[::ffff:172.20.0.1]:43212"]


def test_connections_of_clients_are_told_from_those_of_brokers() -> None:
    assert parse_connections(CONNECTIONS.splitlines(), "172.20.0.1") == OURS
    assert parse_connections([], "172.20.0.1") == []


class Listed:
    """A node whose kernel lists these connections, until they are killed unless that does nothing."""

    name = "broker-1"

    address = "172.20.0.11"

    def __init__(self, connections: str, *, works: bool = True) -> None:
        self._connections, self._works, self.killed = connections, works, ""

    def run_inside(self, *command: str) -> str:
        if "-K" in command:
            self.killed = command[-1]
            if self._works:
                self._connections = "0 0 [::ffff:172.20.0.11]:9092 [::ffff:172.20.0.1]:43999\n"
            return ""
        return f"{self._connections}{WHOLE}\n"


def test_a_reset_is_proved_by_connections_that_are_gone() -> None:
    node = Listed(CONNECTIONS)
    fault = Reset(cast("Node", node), CLIENTS, 9092)
    fault.inject()
    assert shown(fault.verify()) == {"connections": OURS, "left": []}
    assert node.killed == f"sport = :9092 and ( {' or '.join(f'dst {end}' for end in OURS)} )"


@pytest.mark.parametrize(
    ("node", "why"),
    [(Listed(CONNECTIONS, works=False), "the kernel still has"), (Listed(""), "there was none")],
    ids=["it does nothing", "nobody was connected"],
)
def test_a_reset_that_resets_nothing_is_unproved(node: Listed, why: str) -> None:
    fault = Reset(cast("Node", node), CLIENTS, 9092)
    fault.inject()
    with pytest.raises(FaultUnproved, match=why):
        fault.verify()


@pytest.mark.parametrize(
    ("node", "state", "left"),
    [
        ("0B0014AC", "01", ["172.20.0.1:43210", "172.20.0.1:43212"]),
        ("0B0014AC", "06", []),
        ("0C0014AC", "01", []),  # the same ports, connected to another node
    ],
)
def test_the_clients_kernel_tells_of_a_connection_that_lasts(
    node: str, state: str, left: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, address, port in (("tcp", "010014AC", "A8CA"), ("tcp6", "0000000000000000FFFF0000010014AC", "A8CC")):
        (tmp_path / name).write_text(f"  sl  local_address\n   0: {address}:{port} {node}:2384 {state} 0:0\n")
    monkeypatch.setattr(answers, "SOCKETS", [tmp_path / name for name in ("tcp", "tcp6", "none")])
    monkeypatch.setattr(answers, "LEFT_LIMIT_S", 0.0)
    fault = Reset(cast("Node", Listed(CONNECTIONS)), CLIENTS, 9092)
    assert fault.left_at_clients() == []
    fault.inject()
    assert fault.left_at_clients() == left


@dataclass
class Process:
    name: str = "producer-1"
    pid: int = 7
    status: int | None = None
    ends_with: int | None = -9
    clients: tuple[str, ...] = ("producer-1", "producer-2")
    last_words: str = "nothing"

    def kill(self) -> None:
        self.status = self.ends_with


def test_a_killed_client_is_proved_by_its_status() -> None:
    fault = KillClient(Process())
    fault.inject()
    assert shown(fault.verify()) == {"pid": 7, "status": -9}
    assert [one.name for one in fault.nodes] == ["producer-1", "producer-2"]


@pytest.mark.parametrize("ends_with", [None, 0, -15])
def test_a_client_that_was_not_killed_is_unproved(ends_with: int | None) -> None:
    fault = KillClient(Process(ends_with=ends_with, last_words="KeyError: 7"))
    fault.inject()
    with pytest.raises(FaultUnproved, match="not by SIGKILL; it said: KeyError: 7"):
        fault.verify()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as started:
        yield started
        started.kill()


def test_a_frozen_client_is_proved_by_its_threads_and_thawed(sleeper: subprocess.Popen[bytes]) -> None:
    fault = FreezeClient(Process(pid=sleeper.pid))
    fault.inject()
    assert shown(fault.verify()) == {"pid": sleeper.pid, "threads": 1, "states": ["T"]}
    fault.heal()
    assert "T" not in group_states(sleeper.pid)
    with pytest.raises(FaultUnproved, match="1 of its 1 threads are not stopped"):
        fault.verify()


def test_a_client_that_has_ended_is_not_frozen_and_not_thawed(sleeper: subprocess.Popen[bytes]) -> None:
    fault = FreezeClient(Process(pid=sleeper.pid))
    sleeper.kill()
    sleeper.wait(30)
    with pytest.raises(FaultUnproved, match="0 of its 0 threads are not stopped"):
        fault.verify()
    fault.heal()


class Between:
    """A relay that has withheld what it is said to have."""

    def __init__(self, seen: Withheld | None) -> None:
        self.withheld, self.said = seen, list[object]()

    def withhold(self, api_key: int) -> None:
        self.said.append(api_key)

    def pass_on(self) -> None:
        self.said.append("on")


APPLICATION: Any = SimpleNamespace(name="processor-1", clients=("processor-1",))
END_TXN = Withheld(Asked(26, 5, 17, "app-producer"), 17, 22)


def withholding(*seen: Withheld | None) -> tuple[Withhold, list[Between]]:
    relays = [Between(one) for one in seen]
    by_broker: Any = dict(enumerate(relays, 1))
    return Withhold(APPLICATION, by_broker, "EndTxn", timeout_s=0.02), relays


def test_an_answer_that_a_relay_withholds_is_told_with_its_request() -> None:
    fault, relays = withholding(None, END_TXN)
    fault.inject()
    proof = fault.verify()
    assert proof.missing() is None
    told = (proof.api, proof.api_key, proof.asked_id, proof.answered_id, proof.answer_bytes, proof.broker)
    assert told == ("EndTxn", 26, 17, 17, 22, 2)
    assert (proof.api_version, proof.client_id) == (5, "app-producer")
    fault.heal()
    assert [relay.said for relay in relays] == [[26, "on"], [26, "on"]]
    assert [node.name for node in fault.nodes] == ["processor-1"]


def test_an_answer_that_nobody_withholds_is_no_fault() -> None:
    fault, _ = withholding(None, None)
    fault.inject()
    with pytest.raises(FaultUnproved, match="no broker had answered one after 0 s"):
        fault.verify()
