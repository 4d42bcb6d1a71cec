"""Faults are believed only when something outside shows them: each proof, and each sabotaged fault."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker.errors import APIError

from evidence.engine import ContainerAction
from evidence.errors import FaultUnproved, HarnessError, WaitTimeout
from evidence.events import Container, Fault, Target
from evidence.faults.base import FaultProof
from evidence.faults.network import CutProof, LossProof, NetworkProof
from evidence.timeline import Timeline, read
from harness.cluster.docker import Node
from harness.cluster.listings import WHOLE
from harness.cluster.state import ClusterState
from harness.faults import process
from harness.faults.base import Faults
from harness.faults.cut import Cut, Host, PacketRule, knock, parse_counters
from harness.faults.files import Overwrite, Remove, Wipe
from harness.faults.migration import Migration, Revert
from harness.faults.network import foreign_rules
from harness.faults.process import FREEZE_ATTEMPTS, Double, Exit, Freeze, Kill, Start, StartWith, Stop
from harness.faults.slow import Bucket, Slow, parse_buckets
from tests.proofs import proof as proof_of
from tests.proofs import shown


@dataclass
class FakeEngine:
    """One container: what Docker would say of it, and what really happens to it."""

    running: bool = True
    paused: bool = False
    exit_code: int = 0
    pid: int = 1
    log: list[str] = field(default_factory=list)
    sabotaged: bool = False
    refusals: int = 0
    """How often the engine fails to freeze before it does."""
    dies_with: int = 137
    attrs: dict[str, Any] = field(default_factory=dict)

    def reload(self) -> None:
        status = "paused" if self.paused else "running" if self.running else "exited"
        self.attrs["State"] = {
            "Running": self.running,
            "Paused": self.paused,
            "ExitCode": self.exit_code,
            "Pid": self.pid,
            "Status": status,
            "OOMKilled": False,
            "StartedAt": "2026-11-22T00:00:00.123456789Z",
        }

    def _end(self, code: int) -> None:
        if not self.sabotaged:
            self.running, self.exit_code = False, code
            self.log.append("die")

    def kill(self, signal: str) -> None:
        assert signal == "SIGKILL"
        self.log.append("kill")
        self._end(self.dies_with)

    def stop(self, timeout: int) -> None:
        self._end(self.dies_with)

    def start(self) -> None:
        if not self.sabotaged:
            self.running = True
            self.log.append("start")

    def pause(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise APIError("unable to freeze: unknown")
        if not self.sabotaged:
            self.paused = True
            self.log.append("pause")

    def unpause(self) -> None:
        self.paused = False
        self.log.append("unpause")

    def logs(self, **_options: Any) -> bytes:
        return b"a line\nthe id is taken\n"


class FakeEvents:
    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def wait(self, node: str, action: ContainerAction, *, since_ns: int, timeout_s: float) -> Container:
        if action not in self._engine.log:
            raise WaitTimeout(f"no {action} of {node}; seen {self._engine.log}")
        exit_code = self._engine.exit_code if action == "die" else None
        return Container(node=node, action=action, time_nano=1, exit_code=exit_code)


def made(engine: FakeEngine) -> tuple[Node, Any]:
    return Node("broker-1", 1, "172.20.0.11", engine), FakeEvents(engine)  # type: ignore[arg-type]


def test_a_kill_is_proved_by_event_and_exit_code() -> None:
    node, events = made(FakeEngine())
    fault = Kill(node, events)
    fault.inject()
    assert fault.verify().exit_code == 137


@pytest.mark.parametrize(
    "engine",
    [FakeEngine(sabotaged=True), FakeEngine(dies_with=0)],
    ids=["the kill does nothing", "it ended by itself"],
)
def test_a_kill_that_did_not_happen_is_unproved(engine: FakeEngine) -> None:
    node, events = made(engine)
    fault = Kill(node, events)
    fault.inject()
    with pytest.raises(FaultUnproved):
        fault.verify()


@pytest.mark.parametrize("code", [0, 143])
def test_a_clean_stop_is_proved(code: int) -> None:
    node, events = made(FakeEngine(dies_with=code))
    fault = Stop(node, events)
    fault.inject()
    assert fault.verify().exit_code == code


def test_a_stop_that_had_to_kill_is_unproved() -> None:
    node, events = made(FakeEngine(dies_with=137))
    fault = Stop(node, events)
    fault.inject()
    with pytest.raises(FaultUnproved, match="not a clean end"):
        fault.verify()


def test_a_start_is_proved_and_its_absence_is_not() -> None:
    node, events = made(FakeEngine(running=False))
    Start(node, events).inject()
    assert Start(node, events).verify().pid == 1
    node, events = made(FakeEngine(running=False, sabotaged=True))
    Start(node, events).inject()
    with pytest.raises(FaultUnproved):
        Start(node, events).verify()


def test_a_freeze_is_proved_by_a_clock_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.process.cpu_ticks", lambda pid: 7)
    engine = FakeEngine()
    node, events = made(engine)
    fault = Freeze(node, events)
    fault.inject()
    assert fault.verify().cpu_ticks == (7, 7)
    fault.heal()
    fault.heal()
    assert not engine.paused


def test_a_freeze_whose_process_goes_on_is_unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([7, 9])
    monkeypatch.setattr("harness.faults.process.cpu_ticks", lambda pid: next(ticks))
    node, events = made(FakeEngine())
    fault = Freeze(node, events)
    fault.inject()
    with pytest.raises(FaultUnproved, match="7 to 9"):
        fault.verify()


def test_a_freezer_that_gave_up_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.process.cpu_ticks", lambda pid: 7)
    node, events = made(FakeEngine(refusals=2))
    fault = Freeze(node, events)
    fault.inject()
    assert fault.verify().status == "paused"
    node, events = made(FakeEngine(refusals=FREEZE_ATTEMPTS))
    with pytest.raises(APIError, match="unable to freeze"):
        Freeze(node, events).inject()


def test_a_removed_file_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "replication-offset-checkpoint"
    file.write_text("0\n0\n")
    node, _ = made(FakeEngine(running=False))
    fault = Remove(node, file)
    fault.inject()
    assert shown(fault.verify()) == {"file": file.name, "bytes": 4, "there": False}
    fault.heal()
    file.write_text("0\n0\n")
    with pytest.raises(FaultUnproved, match="is still there"):
        fault.verify()


@pytest.mark.parametrize(
    ("running", "there", "seen"), [(True, True, "its process runs"), (False, False, "there was no")]
)
def test_a_file_that_was_not_removed_for_good_is_noticed(tmp_path: Path, running: bool, there: bool, seen: str) -> None:
    file = tmp_path / "replication-offset-checkpoint"
    if there:
        file.touch()
    node, _ = made(FakeEngine(running=running))
    fault = Remove(node, file)
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()


def test_a_sabotaged_removal_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "replication-offset-checkpoint"
    file.touch()
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    node, _ = made(FakeEngine(running=False))
    fault = Remove(node, file)
    fault.inject()
    with pytest.raises(FaultUnproved, match="is still there"):
        fault.verify()


def checkpoint(tmp_path: Path, text: str = "0\n2\nt 0 3\nu 1 7\n") -> Path:
    file = tmp_path / "replication-offset-checkpoint"
    file.write_text(text)
    return file


def test_an_offset_that_is_overwritten_is_another_one(tmp_path: Path) -> None:
    node, _ = made(FakeEngine(running=False))
    file = checkpoint(tmp_path)
    fault = Overwrite(node, file, "t", 0, 1003)
    fault.inject()
    assert shown(fault.verify()) == {"file": file.name, "replica": "t-0", "offset_before": 3, "offset": 1003}
    assert file.read_text() == "0\n2\nt 0 1003\nu 1 7\n"
    fault.heal()


def test_an_offset_may_be_the_first_of_its_replica(tmp_path: Path) -> None:
    node, _ = made(FakeEngine(running=False))
    file = checkpoint(tmp_path, "0\n0\n")
    fault = Overwrite(node, file, "t", 0, 1003)
    fault.inject()
    assert (fault.verify().offset_before, file.read_text()) == (None, "0\n1\nt 0 1003\n")


@pytest.mark.parametrize(
    ("running", "text", "seen"),
    [
        (True, "0\n1\nt 0 3\n", "its process runs"),
        (False, "0\n1\nt 0 1003\n", "had offset 1003"),
    ],
)
def test_an_offset_that_was_not_made_wrong_is_noticed(tmp_path: Path, running: bool, text: str, seen: str) -> None:
    node, _ = made(FakeEngine(running=running))
    fault = Overwrite(node, checkpoint(tmp_path, text), "t", 0, 1003)
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()


def test_a_sabotaged_overwriting_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node, _ = made(FakeEngine(running=False))
    fault = Overwrite(node, checkpoint(tmp_path), "t", 0, 1003)
    monkeypatch.setattr(Path, "write_bytes", lambda *_: None)
    fault.inject()
    with pytest.raises(FaultUnproved, match=r"has \{"):
        fault.verify()


def second(tmp_path: Path, ids: tuple[str, str], engine: FakeEngine, *, first: bool = True) -> Double:
    paths = tmp_path / "double", tmp_path / "broker-1"
    for path, number in zip(paths, ids, strict=True):
        path.write_text(f"log.dirs=/data/kafka\n{number}\n")
    original, _ = made(FakeEngine(running=first, pid=7))
    node, events = made(engine)
    return Double(node=node, events=events, first=original, properties=paths)


@pytest.mark.parametrize("said", ["broker.id=1", "node.id=1"])
def test_a_second_broker_is_proved_by_both_ids(tmp_path: Path, said: str) -> None:
    fault = second(tmp_path, (said, said), FakeEngine(running=False))
    fault.inject()
    proof = fault.verify()
    assert (proof.event, proof.id, proof.pid_of_first) == ("start", 1, 7)


@pytest.mark.parametrize(
    ("ids", "sabotaged", "first", "seen"),
    [
        (("broker.id=2", "broker.id=1"), False, True, "has the id 2"),
        (("broker.id=", "broker.id="), False, True, "has the id None"),
        (("broker.id=1", "broker.id=1"), False, False, "broker-1 does not run"),
        (("broker.id=1", "broker.id=1"), True, True, "no 'start' event"),
    ],
    ids=["another id", "no id", "the first is down", "the start does nothing"],
)
def test_a_second_broker_that_is_none_is_noticed(
    tmp_path: Path, ids: tuple[str, str], sabotaged: bool, first: bool, seen: str
) -> None:
    fault = second(tmp_path, ids, FakeEngine(running=False, sabotaged=sabotaged), first=first)
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()


def test_a_broker_that_ends_itself_is_proved_by_its_exit_code_and_its_words() -> None:
    engine = FakeEngine(running=False, exit_code=1, log=["die"])
    node, events = made(engine)
    fault = Exit(node=node, events=events, log_pattern="id is taken")
    fault.inject()
    assert shown(fault.verify()) == {"exit_code": 1, "event": "die", "time_nano": 1, "line": "the id is taken"}


@pytest.mark.parametrize(
    ("engine", "says", "seen"),
    [
        (FakeEngine(), "taken", "no 'die' event"),
        (FakeEngine(running=False, exit_code=137, log=["die"]), "taken", "exit code 137: not by itself"),
        (FakeEngine(running=False, exit_code=0, log=["die"]), "taken", "exit code 0: not by itself"),
        (FakeEngine(running=False, exit_code=1, log=["die"]), "log truncation", "no line of it matches"),
    ],
    ids=["it runs", "it was killed", "it was stopped", "for another reason"],
)
def test_an_end_of_another_kind_is_none_that_was_expected(engine: FakeEngine, says: str, seen: str) -> None:
    node, events = made(engine)
    fault = Exit(node=node, events=events, log_pattern=says)
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()


def disk(tmp_path: Path) -> Path:
    """A log directory with a replica."""
    (tmp_path / "kafka" / "t-0").mkdir(parents=True)
    (tmp_path / "kafka" / "t-0" / f"{0:020}.log").write_bytes(b"records")
    (tmp_path / "kafka" / "meta.properties").write_text("broker.id=1\n")
    return tmp_path / "kafka"


def test_a_blank_disk_had_a_log_and_has_nothing(tmp_path: Path) -> None:
    node, _ = made(FakeEngine(running=False))
    fault = Wipe(node, disk(tmp_path))
    fault.inject()
    assert shown(fault.verify()) == {"files_before": 2, "logs_before": ["t-0"], "files_after": 0}
    (tmp_path / "kafka" / "meta.properties").touch()
    with pytest.raises(FaultUnproved, match=r"still has meta\.properties"):
        fault.verify()


def test_a_disk_that_was_blank_or_is_in_use_is_noticed(tmp_path: Path) -> None:
    for path, running, seen in ((tmp_path / "none", False, "no log on its disk"), (disk(tmp_path), True, "runs")):
        node, _ = made(FakeEngine(running=running))
        fault = Wipe(node, path)
        fault.inject()
        with pytest.raises(FaultUnproved, match=seen):
            fault.verify()


def test_a_sabotaged_wipe_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.files.shutil.rmtree", lambda *_: None)
    node, _ = made(FakeEngine(running=False))
    fault = Wipe(node, disk(tmp_path))
    fault.inject()
    with pytest.raises(FaultUnproved, match="still has t-0/"):
        fault.verify()


def test_every_phase_is_recorded_with_its_proof(tmp_path: Path) -> None:
    node, events = made(FakeEngine())
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        Faults(timeline).carry_out(Kill(node, events), role="leader of t-0")
    faults = read(tmp_path / "timeline.jsonl").of(Fault)
    assert [event.phase for event in faults] == ["inject", "verified"]
    assert shown(faults[1].proof)["exit_code"] == 137
    assert faults[1].target == Target(role="leader of t-0", node="broker-1")


def test_a_sabotaged_fault_is_recorded_as_unproved_and_ends_the_sequence(tmp_path: Path) -> None:
    node, events = made(FakeEngine(sabotaged=True))
    with Timeline(tmp_path / "timeline.jsonl") as timeline, pytest.raises(FaultUnproved):
        Faults(timeline).carry_out(Kill(node, events))
    assert [event.phase for event in read(tmp_path / "timeline.jsonl").of(Fault)] == [
        "inject",
        "unproved",
    ]


class NoKind(FaultProof, frozen=True, kw_only=True):
    """Of a type that was given no tag."""


class Sketch:
    """A fault that somebody is writing: it counts how often it was injected."""

    description = "a sketch"

    def __init__(self, proof: FaultProof, **more: Any) -> None:
        self.nodes = (Node("broker-1", 1, "172.20.0.11", None),)  # type: ignore[arg-type]
        self.proof, self.injected = proof, 0
        vars(self).update(more)

    def inject(self) -> None:
        self.injected += 1

    def verify(self) -> FaultProof:
        return self.proof

    def heal(self) -> None: ...


@pytest.mark.parametrize(
    ("more", "word"), [({}, "it has no proof_type"), ({"proof_type": NoKind}, "NoKind, without a tag")]
)
def test_a_fault_of_no_kind_is_refused_before_anything_happens(tmp_path: Path, more: Any, word: str) -> None:
    sketch: Any = Sketch(NoKind(), **more)
    with Timeline(tmp_path / "timeline.jsonl") as timeline, pytest.raises(HarnessError, match=word):
        Faults(timeline).carry_out(sketch)
    assert (sketch.injected, read(tmp_path / "timeline.jsonl").events) == (0, ())


@pytest.mark.parametrize(
    ("proof", "word"),
    [
        (NoKind(), "NoKind is no proof of it"),
        (proof_of("loss"), "LossProof is no proof of it"),
        (proof_of("cut", packets_dropped={"broker-1 OUTPUT x": 0}), "packets dropped at each node"),
    ],
    ids=["no kind's", "another kind's", "hollow"],
)
def test_what_shows_nothing_is_no_proof(tmp_path: Path, proof: FaultProof, word: str) -> None:
    sketch: Any = Sketch(proof, proof_type=CutProof)
    with Timeline(tmp_path / "timeline.jsonl") as timeline, pytest.raises(FaultUnproved, match=word):
        Faults(timeline).carry_out(sketch)
    events = read(tmp_path / "timeline.jsonl").of(Fault)
    assert [(event.phase, event.proof) for event in events] == [("inject", None), ("unproved", None)]
    assert word in events[-1].seen


class FakeCut:
    """A cut between nodes that takes down when it is healed."""

    proof_type, description = CutProof, "a cut"

    def __init__(self, *names: str) -> None:
        self.nodes = tuple(Node(name, 1, "172.20.0.11", None) for name in names)  # type: ignore[arg-type]
        self.healed = False

    def inject(self) -> None: ...

    def verify(self) -> FaultProof:
        return proof_of("cut")

    def heal(self) -> None:
        self.healed = True


def test_cuts_among_some_nodes_are_healed_alone(tmp_path: Path) -> None:
    between, beyond = FakeCut("broker-1", "broker-2"), FakeCut("broker-1", "zookeeper")
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        faults = Faults(timeline)
        for cut in (between, beyond):
            faults.carry_out(cut)
        faults.heal(NetworkProof, among=between.nodes)
        assert (between.healed, beyond.healed) == (True, False)
        faults.heal(NetworkProof)
        assert beyond.healed


def node(number: int) -> Node:
    return Node(f"broker-{number}", number, f"172.20.0.1{number}", None)  # type: ignore[arg-type]


def test_rules_of_a_cut_one_way_and_both() -> None:
    one, two = node(1), node(2)
    out, back = PacketRule("OUTPUT", "172.20.0.12"), PacketRule("INPUT", "172.20.0.12")
    assert Cut((one,), (two,), one_way=True).rules() == [out]
    assert Cut((one,), (two,)).rules() == [out, back]
    assert [rule.match() for rule in (out, back)] == ["-d 172.20.0.12 -j DROP", "-s 172.20.0.12 -j DROP"]


def test_rules_of_a_cut_of_one_port_and_of_clients() -> None:
    (rule,) = Cut((node(1),), (Host("172.20.0.1"),), one_way=True, port=9093).rules()
    assert rule.match() == "-d 172.20.0.1 -p tcp -m multiport --ports 9093 -j DROP"


def test_a_cut_of_requests_lets_what_is_asked_the_other_way_through() -> None:
    cut = Cut((node(1),), (node(2),), one_way=True, port=9092, asked=True)
    (rule,) = cut.rules()
    assert rule.match() == "-d 172.20.0.12 -p tcp -m multiport --dports 9092 -j DROP"
    assert cut.description == "network cut of broker-1 to broker-2, requests to port 9092 (one way)"
    listed = "-A CHAOS-OUTPUT -d 172.20.0.12/32 -p tcp -m multiport --dports 9092 -c 4 240 -j DROP"
    assert parse_counters([listed]) == {rule: 4}
    assert str(rule) == "OUTPUT 172.20.0.12 to:9092"


def test_rules_of_a_loss_count_every_packet_first() -> None:
    every, lost = Cut((node(1),), (node(2),), one_way=True, share=0.3).rules()
    assert every.match() == "-d 172.20.0.12"
    assert lost.match() == "-d 172.20.0.12 -m statistic --mode random --probability 0.3 -j DROP"


def test_what_is_cut_is_said() -> None:
    assert Cut((node(1),), (node(2), node(3))).description == "network cut of broker-1 from broker-2, broker-3"
    one_way = Cut((node(1),), (node(2),), one_way=True, port=9093)
    assert one_way.description == "network cut of broker-1 to broker-2, port 9093 (one way)"
    loss = Cut((node(1),), (Host("172.20.0.1"),), share=0.3)
    assert (loss.proof_type, loss.description) == (LossProof, "loss of 30.0% of packets of broker-1 from clients")


LISTING = """-P INPUT ACCEPT -c 40 2400
-N CHAOS-INPUT -c 0 0
-A INPUT -c 40 2400 -j CHAOS-INPUT
-A CHAOS-INPUT -s 172.20.0.12/32 -c 3 180 -j DROP
-N CHAOS-OUTPUT
-A CHAOS-OUTPUT -d 172.20.0.12/32 -c 17 1020 -j DROP
-A CHAOS-OUTPUT -d 172.20.0.13/32 -p tcp -m multiport --ports 9093 -c 1 60 -j DROP
-A CHAOS-OUTPUT -d 172.20.0.14/32 -c 9 540
-A CHAOS-OUTPUT -d 172.20.0.14/32 -m statistic --mode random --probability 0.29999999981 -c 4 240 -j DROP
"""


def test_counters_are_read_by_rule() -> None:
    assert parse_counters(LISTING.splitlines()) == {
        PacketRule("INPUT", "172.20.0.12"): 3,
        PacketRule("OUTPUT", "172.20.0.12"): 17,
        PacketRule("OUTPUT", "172.20.0.13", 9093): 1,
        PacketRule("OUTPUT", "172.20.0.14", share=0.0): 9,
        PacketRule("OUTPUT", "172.20.0.14", share=0.3): 4,
    }


def test_a_kernel_without_the_chains_has_counted_nothing() -> None:
    assert parse_counters(["-P INPUT ACCEPT -c 40 2400", "-P OUTPUT ACCEPT -c 12 720"]) == {}


class Filter:
    """A node whose packet filter has these rules."""

    name = "broker-1"

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def run_inside(self, *_command: str) -> str:
        return "".join(f"{line}\n" for line in self._lines)


OWN = (
    *("-P INPUT ACCEPT", "-P FORWARD ACCEPT", "-P OUTPUT ACCEPT", "-N CHAOS-INPUT", "-A INPUT -j CHAOS-INPUT"),
    "qdisc noqueue 0: root refcnt 2 ",
)


@pytest.mark.parametrize(
    "rule",
    [
        "-A INPUT -s 172.20.0.12/32 -j DROP",
        "-A CHAOS-INPUT -s 172.20.0.12/32 -j DROP",
        "-P INPUT DROP",
        "qdisc tbf 8001: root refcnt 2 rate 1Mbit burst 4Kb lat 50ms",
    ],
)
def test_rules_that_no_healed_fault_leaves(rule: str) -> None:
    assert foreign_rules(cast("Node", Filter(*OWN, WHOLE))) == []
    assert foreign_rules(cast("Node", Filter(*OWN, rule, WHOLE))) == [rule]


def test_a_listing_that_is_not_whole_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cluster.listings.LISTING_LIMIT_S", 0.0)
    with pytest.raises(HarnessError, match="no whole listing"):
        foreign_rules(cast("Node", Filter(*OWN)))


class FakeNode:
    """A node whose iptables prints a listing, of which the engine hands over only `torn` characters at first."""

    def __init__(self, listing: str, *torn: int) -> None:
        self.name, self.address, self._listing, self._torn = "broker-1", "172.20.0.11", listing, list(torn)

    def state(self) -> dict[str, bool]:
        return {"Running": True, "Paused": False}

    def run_inside(self, *command: str) -> str:
        if "-v -S" not in command[-1]:
            return ""
        printed = f"{self._listing}{WHOLE}\n"
        return printed[: self._torn.pop(0)] if self._torn else printed


def test_a_cut_is_proved_by_packets_that_ran_into_it() -> None:
    fault = Cut((FakeNode(LISTING),), (node(2),))  # type: ignore[arg-type]
    fault.inject()
    assert fault.verify().packets_dropped == {
        "broker-1 OUTPUT 172.20.0.12": 17,
        "broker-1 INPUT 172.20.0.12": 3,
    }


def test_a_cut_from_silent_clients_is_proved_by_a_packet_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr("harness.faults.cut.knock", lambda address, port: sent.append((address, port)))
    hit = LISTING.replace("172.20.0.12/32", "172.20.0.1/32")
    Cut((FakeNode(hit),), (Host("172.20.0.1"),)).verify()  # type: ignore[arg-type]
    Cut((FakeNode(LISTING),), (node(2),)).verify()  # type: ignore[arg-type]
    assert sent == [("172.20.0.11", 9092)]


def test_a_knock_reaches_its_port_and_waits_for_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        knock("127.0.0.1", server.getsockname()[1])
        server.accept()[0].close()


def test_a_torn_listing_says_nothing_of_the_rules() -> None:
    fault = Cut((FakeNode(LISTING, 0, LISTING.index("-N CHAOS-OUTPUT")),), (node(2),))  # type: ignore[arg-type]
    fault.inject()
    assert len(fault.verify().packets_dropped) == 2


def test_a_loss_is_proved_by_packets_dropped_and_packets_that_came_through() -> None:
    fault = Cut((FakeNode(LISTING),), (node(4),), one_way=True, share=0.3)  # type: ignore[arg-type]
    fault.inject()
    where = "broker-1 OUTPUT 172.20.0.14"
    assert shown(fault.verify()) == {
        "packets_dropped": {where: 4},
        "packets": {where: 9},
        "share": 0.3,
        "chain": "CHAOS",
    }


NOTHING = LISTING.replace(" 3 180", " 0 0").replace(" 17 1020", " 0 0")


@pytest.mark.parametrize(
    ("listing", "peer", "share", "why"),
    [
        ("-N CHAOS-INPUT\n-N CHAOS-OUTPUT\n", 2, 1.0, "no such rule"),
        (NOTHING, 2, 1.0, "no packet"),
        (LISTING, 4, 0.5, "no such rule"),
        (LISTING.replace(" 4 240", " 0 0"), 4, 0.3, "did not drop some packets"),
        (LISTING.replace(" 4 240", " 9 540"), 4, 0.3, "and let others pass"),
    ],
    ids=[
        "the rules are not there",
        "nothing ran into them, though it did into those of another cut",
        "another share",
        "nothing is lost",
        "everything is lost",
    ],
)
def test_a_cut_that_cuts_nothing_is_unproved(
    listing: str, peer: int, share: float, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.faults.network.COUNTER_LIMIT_S", 0.0)
    fault = Cut((FakeNode(listing),), (node(peer),), one_way=share < 1, share=share)  # type: ignore[arg-type]
    fault.inject()
    with pytest.raises(FaultUnproved, match=why):
        fault.verify()


def test_a_cut_that_is_not_healed_is_told() -> None:
    with pytest.raises(HarnessError, match="yet the kernel has its rules"):
        Cut((FakeNode(LISTING),), (node(2),)).heal()  # type: ignore[arg-type]
    Cut((FakeNode(LISTING),), (node(3),)).heal()  # type: ignore[arg-type]


BUCKETS = """class htb 1:c root prio 0 rate 160Kbit ceil 160Kbit burst 4000b cburst 4000b
 Sent 14196 bytes 14 pkt (dropped 0, overlimits 10 requeues 0)
 backlog 9126b 9p requeues 0
 lended: 14 borrowed: 0 giants: 0
 tokens: -791778 ctokens: -791778

class htb 1:d root prio 0 rate 8Mbit ceil 8Mbit burst 4000b cburst 4000b
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
"""


def test_buckets_are_read_by_number() -> None:
    assert parse_buckets(BUCKETS.splitlines()) == {12: Bucket(20_000.0, 9, 10), 13: Bucket(1_000_000.0, 0, 0)}
    assert parse_buckets([]) == {}


class Slowed:
    """A node with these token buckets, before and after something was sent; what others send to it comes in datagrams
    for nobody, some each time.
    """

    def __init__(self, number: int, before: str = "", after: str | None = None, arriving: int = 0) -> None:
        self.name, self.address = f"broker-{number}", f"172.20.0.1{number}"
        self._before, self._after = before, before if after is None else after
        self._arriving, self._arrived = arriving, 0

    def state(self) -> dict[str, bool]:
        return {"Running": True, "Paused": False}

    def run_inside(self, *command: str) -> str:
        if "/proc/net/snmp" in command[-1]:
            self._arrived += self._arriving
            return f"Udp: InDatagrams NoPorts\nUdp: 0 {self._arrived}\n{WHOLE}\n"
        return f"{self._after if '/dev/udp/' in command[-1] else self._before}{WHOLE}\n"


IDLE = BUCKETS.replace("overlimits 10", "overlimits 3").replace("9p", "0p")
DRAINED = BUCKETS.replace("9p", "0p")
UNCOUNTED = BUCKETS.replace("overlimits 10", "overlimits 3")


def slowed(before: str = IDLE, after: str = BUCKETS, arriving: int = 4, rate: int = 20_000) -> Slow:
    one, two = Slowed(1, before, after), Slowed(2, arriving=arriving)
    return Slow((cast("Node", one),), (cast("Node", two),), rate)


@pytest.mark.parametrize(
    ("after", "waiting", "held"),
    [(BUCKETS, 9, 7), (DRAINED, 0, 7), (UNCOUNTED, 9, 0)],
    ids=["seen waiting", "gone when it was asked", "in a kernel that does not count"],
)
def test_a_slow_link_is_proved_by_packets_that_wait_and_arrive(after: str, waiting: int, held: int) -> None:
    fault = slowed(after=after)
    fault.inject()
    seen = {"bytes_per_s": 20_000.0, "packets_waiting": waiting, "packets_held": held, "datagrams_arrived": 8}
    assert shown(fault.verify()) == {"links": {"broker-1 to broker-2": seen}}


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (slowed("", ""), "no such bucket"),
        (slowed(rate=30_000), "no such bucket"),
        (slowed(after=IDLE), "no packet waits"),
        (slowed(arriving=0), "0 of 8 datagrams came"),
    ],
    ids=["it does nothing", "another rate", "nothing goes through it", "nothing arrives"],
)
def test_a_link_that_is_not_slow_is_unproved(fault: Slow, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.network.COUNTER_LIMIT_S", 0.0)
    fault.inject()
    with pytest.raises(FaultUnproved, match=why):
        fault.verify()


def test_a_slow_link_that_is_not_healed_is_told() -> None:
    fault = slowed()
    with pytest.raises(HarnessError, match="yet the kernel has its buckets"):
        fault.heal()
    slowed("", "").heal()


def test_a_node_has_no_link_to_itself() -> None:
    one = cast("Node", Slowed(1))
    with pytest.raises(HarnessError, match="no link to itself"):
        Slow((one,), (one,), 20_000).inject()


def restarted(tmp_path: Path, engine: FakeEngine, written: str) -> StartWith:
    (tmp_path / "server.properties").write_text(written)
    node, events = made(engine)
    environment, properties = tmp_path / "environment", tmp_path / "server.properties"
    return StartWith(node, events, settings={"a": "b c", "d": "e"}, environment=environment, properties=properties)


def test_a_start_with_settings_is_proved_by_what_the_node_writes(tmp_path: Path) -> None:
    fault = restarted(tmp_path, FakeEngine(running=False), "a=b c\nd=e\nf=g\n")
    (tmp_path / "environment").write_text("# before\n")
    fault.inject()
    assert (tmp_path / "environment").read_text() == "# before\nKAFKA_SETTINGS+=';1:a=b c;1:d=e'\n"
    assert fault.verify().settings == {"a": "b c", "d": "e"}


@pytest.mark.parametrize(
    ("written", "sabotaged", "seen"),
    [("a=b c\n", False, "started without d=e"), ("a=b c\nd=other\n", False, "d=e"), ("a=b c\nd=e\n", True, "'start'")],
    ids=["one is missing", "one is another", "the start does nothing"],
)
def test_a_start_without_its_settings_is_noticed(
    tmp_path: Path, written: str, sabotaged: bool, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FILE_LIMIT_S", 0.0)
    fault = restarted(tmp_path, FakeEngine(running=False, sabotaged=sabotaged), written)
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()


COMPLETED = "[...] Completed migration of metadata from ZooKeeper to KRaft. 3 records"
SWITCHED = "zookeeper.metadata.migration.enable=true\n"


def migration(tmp_path: Path, said: str, state: ClusterState, *properties: str) -> Migration:
    paths = {}
    for number, text in enumerate(properties, start=1):
        paths[f"broker-{number}"] = tmp_path / f"{number}"
        paths[f"broker-{number}"].write_text(text)

    def wait(predicate: Any, *, what: str, timeout_s: float) -> ClusterState:
        if not predicate(state):
            raise WaitTimeout(f"not seen: {what}")
        return state

    node: Any = SimpleNamespace(name="controller-100", id=100, said=lambda: said)
    return Migration(node=node, brokers=paths, observer=cast("Any", SimpleNamespace(wait=wait)), timeout_s=0.0)


TAKEN_OVER = ClusterState(controller=100, controller_epoch=5, migrated_to=100)


def test_a_migration_is_proved_by_its_controller_and_zookeeper_and_the_brokers(tmp_path: Path) -> None:
    fault = migration(tmp_path, f"a line\n{COMPLETED}\n", TAKEN_OVER, SWITCHED, SWITCHED)
    fault.inject()
    proof = fault.verify()
    fault.heal()
    assert shown(proof) == {
        "line": COMPLETED,
        "controller": "controller-100",
        "epoch": 5,
        "brokers": ["broker-1", "broker-2"],
    }


@pytest.mark.parametrize(
    ("said", "state", "properties", "seen"),
    [
        ("Starting ZK migration", TAKEN_OVER, [SWITCHED], r"did not say .*it said at last:\nStarting ZK"),
        (COMPLETED, replace(TAKEN_OVER, controller=1), [SWITCHED], "ZooKeeper names controller-100"),
        (COMPLETED, replace(TAKEN_OVER, migrated_to=None), [SWITCHED], "ZooKeeper names controller-100"),
        (COMPLETED, TAKEN_OVER, [SWITCHED, "broker.id=2\n"], "run without .*: broker-2"),
        (COMPLETED, TAKEN_OVER, [], "run without .*: all"),
    ],
    ids=["it goes on", "a broker is the controller", "nobody has the metadata", "one broker has not", "no broker"],
)
def test_a_migration_that_one_witness_does_not_bear_out_is_unproved(
    tmp_path: Path, said: str, state: ClusterState, properties: list[str], seen: str
) -> None:
    with pytest.raises(FaultUnproved, match=f"(?s){seen}"):
        migration(tmp_path, said, state, *properties).verify()


def revert(before: ClusterState, after: ClusterState) -> Revert:
    def wait(predicate: Any, *, what: str, timeout_s: float) -> ClusterState:
        if not predicate(after):
            raise WaitTimeout(f"not seen: {what}")
        return after

    node: Any = SimpleNamespace(name="controller-100", id=100)
    observer: Any = SimpleNamespace(state=before, wait=wait)
    return Revert(node=node, forget=lambda: None, observer=observer, timeout_s=0.0)


TAKEN_BACK = ClusterState(controller=2, controller_epoch=6, brokers=frozenset({1, 2}))


def test_a_revert_is_proved_by_a_broker_that_is_the_controller_again() -> None:
    fault = revert(TAKEN_OVER, TAKEN_BACK)
    fault.inject()
    proof = fault.verify()
    fault.heal()
    assert shown(proof) == {"before": "controller-100", "epoch_before": 5, "controller": "broker-2", "epoch": 6}


@pytest.mark.parametrize(
    "after",
    [
        replace(TAKEN_BACK, controller=None),
        replace(TAKEN_BACK, controller=100),
        replace(TAKEN_BACK, controller_epoch=5),
        replace(TAKEN_BACK, migrated_to=100),
    ],
    ids=["nobody is the controller", "KRaft's is", "in the same epoch", "the metadata are KRaft's"],
)
def test_a_revert_that_zookeeper_does_not_bear_out_is_unproved(after: ClusterState) -> None:
    fault = revert(TAKEN_OVER, after)
    fault.inject()
    with pytest.raises(FaultUnproved, match="ZooKeeper names a broker as the controller"):
        fault.verify()
