"""Which faults the words of the network make, on nodes that are only names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.docker import Node
from harness.faults.base import Faults
from harness.run.nemesis import Nemesis
from harness.run.who import Target


class Names(Faults):
    """Faults that are only carried out in words."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def carry_out(self, fault: Any, *, role: str = "", lasting: bool = False) -> dict[str, Any]:
        self.said.append(fault.description)
        return {}

    def heal_one(self, fault: Any) -> None:
        self.said.append("healed")


def node(name: str, address: str) -> Node:
    return Node(name, int(name.rpartition("-")[2] or 0) if "-" in name else 0, address, cast("Any", None))


def nemesis(mode: str, *names: str) -> tuple[Nemesis, Names, dict[str, Target]]:
    nodes = {name: node(name, f"172.20.0.{10 + number}") for number, name in enumerate(names)}
    cluster = SimpleNamespace(
        nodes=nodes, prefix="172.20.0", version=SimpleNamespace(mode=mode), coordinator=nodes[names[0]]
    )
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
