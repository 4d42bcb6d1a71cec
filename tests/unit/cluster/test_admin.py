from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import NodeExistsError

from evidence.errors import HarnessError, WaitTimeout
from harness.cluster import admin
from harness.cluster.admin import ZnodeAdmin, ZooKeeperAdmin, watchers

BUSY = "/brokers/ids\n\t0x1f4a0001\n/controller\n\t0x1f4a0001\n"
READY = BUSY + "\t0x1f4a0003\n/controller_epoch\n\t0x9\n"


def test_the_watchers_of_a_node() -> None:
    assert watchers(READY, "/controller") == {0x1F4A0001, 0x1F4A0003}
    assert watchers(READY, "/controller_epoch") == {9}
    assert watchers(READY, "/admin") == set()


class FakeKafka:
    """Brokers 1 and 3, broker 1 the controller; when /controller is deleted, broker 3 creates it."""

    def __init__(self, *listings: str) -> None:
        self.state = SimpleNamespace(controller=1, controller_epoch=2, brokers=frozenset({1, 3}))
        self.listings = list(listings)
        self.deleted_after: list[int] = []

    def command(self, command: bytes) -> str:
        assert command == b"wchp"
        return self.listings.pop(0) if len(self.listings) > 1 else self.listings[0]

    def exists(self, path: str) -> Any:
        return SimpleNamespace(ephemeralOwner={"/brokers/ids/1": 0x1F4A0001, "/brokers/ids/3": 0x1F4A0003}[path])

    def delete(self, path: str) -> None:
        assert path == "/controller"
        self.deleted_after.append(len(self.listings))
        self.state = SimpleNamespace(controller=3, controller_epoch=3, brokers=self.state.brokers)

    def wait(self, satisfied: Any, *, what: str, timeout_s: float) -> None:
        assert satisfied(self.state)


def test_the_controller_is_moved_only_while_every_broker_watches() -> None:
    kafka = FakeKafka(BUSY, BUSY, READY)
    ZnodeAdmin(kafka, kafka).place_controller(3)  # type: ignore[arg-type]
    assert kafka.deleted_after == [1]
    assert kafka.state.controller == 3


def test_a_broker_that_never_watches_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "PLACE_LIMIT_S", 0.2)
    kafka = FakeKafka(BUSY)
    with pytest.raises(WaitTimeout, match=r"brokers \[3\] do not watch /controller"):
        ZnodeAdmin(kafka, kafka).place_controller(3)  # type: ignore[arg-type]
    assert kafka.deleted_after == []


class FakeZooKeeper:
    """Holds what is created."""

    def __init__(self) -> None:
        self.nodes: dict[str, bytes] = {}

    def create(self, path: str, data: bytes) -> None:
        if path in self.nodes:
            raise NodeExistsError
        self.nodes[path] = data


class FakeProtocol:
    """The admin protocol of a broker that has the request."""

    def elect_preferred_leader(self, topic: str, partition: int) -> str:
        return f"asked for {topic}-{partition}"


def test_a_preferred_election_is_asked_for_in_a_znode_and_one_at_a_time() -> None:
    zookeeper: Any = FakeZooKeeper()
    made = ZnodeAdmin(zookeeper, zookeeper)
    assert made.elect_preferred_leader("t", 2) == "znode /admin/preferred_replica_election"
    assert zookeeper.nodes == {
        "/admin/preferred_replica_election": b'{"version":1,"partitions":[{"topic":"t","partition":2}]}'
    }
    with pytest.raises(HarnessError, match="an election asked for before is not done"):
        made.elect_preferred_leader("t", 2)


@pytest.mark.parametrize(("has_elect_leaders", "znodes"), [(True, 0), (False, 1)], ids=["request", "znode"])
def test_the_version_decides_how_a_preferred_election_is_asked_for(has_elect_leaders: bool, znodes: int) -> None:
    zookeeper, protocol = FakeZooKeeper(), FakeProtocol()
    anything: Any = (zookeeper, protocol, zookeeper)
    asked = ZooKeeperAdmin(*anything, has_elect_leaders=has_elect_leaders).elect_preferred_leader("t", 0)
    assert (asked == "asked for t-0", len(zookeeper.nodes)) == (has_elect_leaders, znodes)
