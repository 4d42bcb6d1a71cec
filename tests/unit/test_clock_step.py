"""A wall clock that is set: what its proof takes, and each sabotaged fault."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from evidence.errors import FaultUnproved, HarnessError, UsageError
from harness.cluster.docker import Node
from harness.faults import clock
from harness.faults.clock import ClockStep

START_NS = 1_800_000_000_000_000_000
HOUR = 3600


def told(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


class Broker:
    """A broker with a clock of its own, which logs a line for each request that it cannot read."""

    name, address = "broker-1", "172.20.0.11"

    def __init__(self, file: Path) -> None:
        self.file, self.now_ns = file, START_NS
        self.said: list[str] = []
        self.running, self.silent, self.off_s = True, False, 0
        self.goes_by_its_file = True
        self.container = self

    def time_ns(self) -> int:
        return self.now_ns

    def state(self) -> dict[str, bool]:
        return {"Running": self.running}

    def asked(self) -> None:
        self.now_ns += 1_000_000_000
        added = int(self.file.read_text()) if self.file.exists() and self.goes_by_its_file else 0
        own = told(self.now_ns + (added + self.off_s) * 1_000_000_000)[:-3]
        self.said.append(f"{told(self.now_ns)}000Z [{own}Z] INFO Rolled something (kafka.log.Log)")
        if not self.silent:
            words = "WARN Unexpected error from /172.20.0.1; closing connection (Selector)"
            self.said += [f"{told(self.now_ns)}000Z [{own}Z] {words}", f"{told(self.now_ns)}000Z \tat Selector.java"]

    def logs(self, *, since: int, timestamps: bool) -> bytes:
        assert timestamps
        assert since <= self.now_ns // 1_000_000_000
        return "\n".join(self.said).encode()


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker(tmp_path / "clock")

    def connect(node: Node, port: int) -> socket.socket:
        ours, its = socket.socketpair()
        its.close()  # once it has been asked
        return ours

    def ask(name: str, connection: socket.socket, request: bytes) -> None:
        assert (name, request[:4], connection.fileno() > 0) == ("broker-1", b"GET ", True)
        made.asked()

    for name, value in (("connect", connect), ("ask", ask), ("ANSWER_LIMIT_S", 0.0), ("STEP_LIMIT_S", 0.0)):
        monkeypatch.setattr(clock, name, value)
    monkeypatch.setattr("harness.faults.clock.time.time_ns", made.time_ns)
    return made


def step(broker: Broker, seconds: int = 2 * HOUR) -> ClockStep:
    return ClockStep(cast("Node", broker), broker.file, seconds)


@pytest.mark.parametrize("seconds", [2 * HOUR, -2 * HOUR, 8 * 24 * HOUR])
def test_a_clock_that_was_right_and_is_wrong_by_so_much(broker: Broker, seconds: int) -> None:
    fault = step(broker, seconds)
    fault.inject()
    proof = fault.verify()
    assert (proof.before_ms, proof.ahead_ms) == (0, seconds * 1000)
    assert "Unexpected error" in str(proof.line)
    assert proof.line != proof.line_before
    fault.heal()
    assert broker.file.read_text() == "+0\n"


def test_a_clock_that_goes_on_is_no_fault(broker: Broker) -> None:
    broker.goes_by_its_file = False
    fault = step(broker)
    fault.inject()
    with pytest.raises(FaultUnproved, match=r"was to be 7200 s from the machine's: it is 0\.000 s ahead"):
        fault.verify()


def test_a_clock_that_was_wrong_before_proves_nothing(broker: Broker) -> None:
    broker.off_s = 60
    fault = step(broker)
    fault.inject()
    with pytest.raises(FaultUnproved, match=r"was not right before: it is 60\.000 s ahead"):
        fault.verify()


def test_a_broker_that_says_nothing_proves_nothing(broker: Broker) -> None:
    broker.silent = True
    fault = step(broker)
    fault.inject()
    with pytest.raises(FaultUnproved, match="it did not say"):
        fault.verify()


def test_an_old_line_is_no_answer(broker: Broker) -> None:
    fault = step(broker)
    fault.inject()
    broker.silent = True
    broker.now_ns += 60 * 1_000_000_000
    with pytest.raises(FaultUnproved, match="it did not say"):
        fault.verify()


def test_a_clock_that_stays_wrong_is_an_error(broker: Broker) -> None:
    fault = step(broker)
    fault.inject()
    fault.verify()
    broker.off_s = HOUR
    with pytest.raises(HarnessError, match=r"was set right, and is not: it is 3600\.000 s ahead"):
        fault.heal()


def test_of_a_broker_that_is_down_the_file_is_set_right(broker: Broker) -> None:
    fault = step(broker)
    fault.inject()
    broker.running = False
    asked = len(broker.said)
    fault.heal()
    assert (broker.file.read_text(), len(broker.said)) == ("+0\n", asked)


def test_a_step_that_a_late_line_could_be_is_refused(broker: Broker) -> None:
    with pytest.raises(UsageError, match="120 s or more"):
        step(broker, 60)
