"""Which faults the words of the network make, on nodes that are only names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.errors import UsageError
from evidence.events import Precondition
from evidence.faults.base import FaultProof, kind_of
from evidence.faults.process import KillProof
from evidence.timeline import Timeline, read
from harness.cluster.cluster import Cluster
from harness.cluster.disks import Disk, DiskMounter
from harness.cluster.docker import Node
from harness.faults.base import Faults
from harness.plan import ClusterPlan
from harness.run import PreconditionNotHeld
from harness.run.nemesis import Nemesis
from harness.run.sequence_log import SequenceLog
from harness.run.who import Target
from tests.proofs import proof as proof_of


class Names(Faults):
    """Faults that are only carried out in words."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def carry_out(self, fault: Any, *, role: str = "") -> FaultProof:
        self.said.append(fault.description)
        return proof_of(kind_of(getattr(fault, "proof_type", KillProof)))

    def heal_one(self, fault: Any) -> None:
        self.said.append("healed")


def node(name: str, address: str) -> Node:
    return Node(name, int(name.rpartition("-")[2] or 0) if "-" in name else 0, address, cast("Any", None))


def nemesis(mode: str, *names: str) -> tuple[Nemesis, Names, dict[str, Target]]:
    nodes = {name: node(name, f"172.20.0.{10 + number}") for number, name in enumerate(names)}
    version: Any = SimpleNamespace(mode=mode)
    cluster = Cluster(cast("Any", None), version, ClusterPlan(), "run", "172.20.0", Path("/data"), nodes)
    parts: Any = SimpleNamespace(cluster=cluster, events=None, observer=None, timeline=None)
    made = Nemesis(parts, *cast("Any", (None, None)))
    faults = made._faults = Names()
    return made, faults, {name: Target("", each) for name, each in nodes.items()}


@pytest.mark.parametrize(
    ("mode", "names", "said"),
    [
        ("zookeeper", ("zookeeper", "broker-1", "broker-2"), "network cut of broker-1 from zookeeper"),
        (
            "kraft",
            ("controller-100", "controller-101", "broker-1"),
            "network cut of broker-1 from controller-100, controller-101, port 9093",
        ),
        ("kraft", ("broker-1", "broker-2", "broker-3"), "network cut of broker-1 from broker-2, broker-3, port 9093"),
    ],
    ids=["ZooKeeper", "controllers apart", "combined nodes"],
)
def test_a_cut_from_the_coordinator_alone(mode: str, names: tuple[str, ...], said: str) -> None:
    made, faults, targets = nemesis(mode, *names)
    made.cut_from_coordinator(targets["broker-1"])
    assert faults.said == [said]


def test_an_isolated_broker_reaches_nobody_of_the_cluster() -> None:
    made, faults, targets = nemesis("kraft", "controller-100", "broker-1", "broker-2", "broker-3")
    made.isolate(targets["broker-1"], targets["broker-3"])
    assert faults.said == ["network cut of broker-1, broker-3 from controller-100, broker-2"]


def test_an_answer_is_withheld_where_clients_are_behind_relays() -> None:
    made, faults, _ = nemesis("kraft", "controller-100", "broker-1")
    application: Any = SimpleNamespace(name="processor-1", clients=("processor-1",))
    with pytest.raises(UsageError, match=r"give the ClusterPlan relayed=True"):
        made.withhold_answer(application, "EndTxn", timeout_s=1.0)
    made._cluster.relays = cast("Any", SimpleNamespace(of={}))
    made.withhold_answer(application, "EndTxn", timeout_s=1.0)
    assert faults.said == ["the answer to EndTxn withheld from processor-1"]


def test_a_cut_of_clients_names_no_other_node() -> None:
    made, faults, targets = nemesis("kraft", "controller-100", "broker-1")
    made.cut_clients(targets["broker-1"])
    assert faults.said == ["network cut of broker-1 from clients"]


def test_each_flap_is_a_cut_that_is_healed() -> None:
    made, faults, targets = nemesis("kraft", "controller-100", "broker-1", "broker-2")
    made.flap([targets["broker-1"]], [targets["broker-2"]], times=2, down_s=0.0, up_s=0.0)
    assert faults.said == ["network cut of broker-1 from broker-2", "healed"] * 2


def test_a_loss_says_how_much() -> None:
    made, faults, targets = nemesis("kraft", "controller-100", "broker-1", "broker-2")
    made.lose([targets["broker-1"]], [targets["broker-2"]], 0.3, one_way=True)
    made.slow([targets["broker-1"]], [targets["broker-2"]], 20_000)
    assert faults.said == [
        "loss of 30.0% of packets of broker-1 to broker-2 (one way)",
        "slow link from broker-1 to broker-2 (20000 bytes/s)",
    ]


WORDS: list[Callable[[Nemesis, Target], None]] = [
    lambda on, target: on.lose_power(target),
    lambda on, target: on.slow_disk(target, 4096),
    lambda on, target: on.fill_disk(target),
    lambda on, target: on.fail_disk(target),
    lambda on, target: on.make_disk_read_only(target),
]


@pytest.mark.parametrize("word", WORDS)
def test_a_fault_of_disks_takes_nodes_with_disks_of_their_own(word: Callable[[Nemesis, Target], None]) -> None:
    made, faults, targets = nemesis("kraft", "broker-1")
    with pytest.raises(
        UsageError, match=r"^\w+: the nodes have no file systems of their own; give the ClusterPlan disks"
    ):
        word(made, targets["broker-1"])
    assert faults.said == []


def test_a_clock_is_set_where_nodes_have_their_own() -> None:
    made, faults, targets = nemesis("kraft", "broker-1")
    with pytest.raises(UsageError, match="give the ClusterPlan own_clocks=True"):
        made.step_clock(targets["broker-1"], 7200)
    made._cluster.plan = ClusterPlan(own_clocks=True)
    made.step_clock(targets["broker-1"], -7200)
    assert faults.said == ["wall clock of broker-1 7200 s behind"]


def with_disks(made: Nemesis, second: str = "") -> None:
    """Give broker-1 a disk, and a second one if it is named."""

    def disk(mount: str) -> dict[str, Disk]:
        return {"broker-1": Disk(node="broker-1", file_system="ext4", image=Path("/image"), mount=Path(mount))}

    made._cluster.mounter = cast("DiskMounter", object())
    made._cluster.disks = disk("/data/broker-1")
    made._cluster.second_disks = disk(second) if second else {}


def test_a_log_directory_that_fails_is_the_second_one() -> None:
    made, faults, targets = nemesis("kraft", "broker-1")
    with_disks(made)
    with pytest.raises(UsageError, match="fail_log_directory: brokers have one"):
        made.fail_log_directory(targets["broker-1"])
    with_disks(made, "/data/broker-1/second")
    made.fail_log_directory(targets["broker-1"])
    assert faults.said == ["failure of the second disk of broker-1"]
    made.fail_disk(targets["broker-1"])
    assert faults.said[1:] == ["failure of the disk of broker-1"]


def test_no_power_is_lost_with_a_second_disk() -> None:
    made, _, targets = nemesis("kraft", "broker-1")
    with_disks(made, "/data/broker-1/second")
    with pytest.raises(UsageError, match="lose_power: it takes one disk for each node"):
        made.lose_power(targets["broker-1"])


class Listener:
    """An observer that is told to accept what is older."""

    def __init__(self) -> None:
        self.told = 0

    def accept_older(self) -> None:
        self.told += 1


@pytest.mark.parametrize(("struck", "told"), [("zookeeper", 1), ("broker-1", 0)])
def test_only_who_keeps_the_clusters_account_may_forget_of_it(
    struck: str, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, faults, targets = nemesis("zookeeper", "zookeeper", "broker-1")
    with_disks(made, "")
    listener = Listener()
    made._observer = cast("Any", listener)
    monkeypatch.setattr(
        faults, "carry_out_at_once", lambda found: [proof_of("power-loss") for _ in found], raising=False
    )
    made.lose_power(targets[struck])
    assert listener.told == told


class Ports:
    """In the place of a delay: which connections are over, each time that it is asked."""

    def __init__(self, *answers: list[int]) -> None:
        self._answers = list(answers)

    def ended(self) -> list[int]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def waiting(delay: Any, tmp_path: Path) -> tuple[Nemesis, Timeline]:
    made, _, _ = nemesis("kraft", "broker-1")
    timeline = Timeline(tmp_path / "timeline.jsonl")
    made._sequence_log, made._delay = SequenceLog(timeline), delay
    return made, timeline


def test_what_was_delayed_is_waited_for(tmp_path: Path) -> None:
    made, timeline = waiting(Ports([], [43210]), tmp_path)
    made.wait_delivered()
    timeline.close()
    (held,) = read(tmp_path / "timeline.jsonl").of(Precondition)
    assert (held.name, held.held, held.detail) == ("what clients gave up has come", True, {"ports": [43210]})


def test_what_never_comes_is_a_precondition_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.run.nemesis.DELIVERY_LIMIT_S", 0.0)
    made, timeline = waiting(Ports([]), tmp_path)
    with timeline, pytest.raises(PreconditionNotHeld, match="what clients gave up has come"):
        made.wait_delivered()


def test_nothing_can_come_that_was_not_delayed(tmp_path: Path) -> None:
    made, timeline = waiting(None, tmp_path)
    with timeline, pytest.raises(UsageError, match="use delay_clients before it"):
        made.wait_delivered()


@pytest.mark.parametrize("running", [True, False], ids=["it runs", "it was stopped before"])
def test_a_broker_is_restarted_with_settings_when_its_registration_has_ended(
    running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Node, "state", lambda _: {"Running": running})
    made, faults, targets = nemesis("zookeeper", "zookeeper", "broker-1")
    said = faults.said
    made._waits = cast(
        "Any",
        SimpleNamespace(
            wait_unregistered=lambda target: said.append(f"{target.node.name} is gone"),
            wait_registered=lambda targets: said.append(f"{targets[0].node.name} is back"),
        ),
    )
    made.restart_with(targets["broker-1"], {"b": "1", "a": "2"})
    start = "start of broker-1 with a, b"
    stopped = ["clean stop (SIGTERM) of broker-1"] if running else []
    assert said == [*stopped, "broker-1 is gone", start, "broker-1 is back"]
    made.prove(cast("Any", SimpleNamespace(description="what followed")), targets["broker-1"])
    assert said[-1] == "what followed"


def test_a_broker_that_is_started_with_what_it_refuses_ends_itself() -> None:
    made, faults, targets = nemesis("zookeeper", "zookeeper", "broker-1")
    made.start_with(targets["broker-1"], {"broker.id": "5"}, refused="doesn't match")
    assert faults.said == ["start of broker-1 with broker.id", "broker-1 exits"]
