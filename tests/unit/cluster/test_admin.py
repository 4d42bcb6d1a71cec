from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from kazoo.exceptions import NodeExistsError, NoNodeError

from evidence.errors import HarnessError, UsageError, WaitTimeout
from harness.cluster import admin, versions
from harness.cluster.admin import ProtocolAdmin, ZnodeAdmin, ZooKeeperAdmin, watchers
from harness.cluster.requests import RequestRefused

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
    ZnodeAdmin(kafka, kafka, no_tool).place_controller(3)  # type: ignore[arg-type]
    assert kafka.deleted_after == [1]
    assert kafka.state.controller == 3


def test_a_broker_that_never_watches_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "PLACE_LIMIT_S", 0.2)
    kafka = FakeKafka(BUSY)
    with pytest.raises(WaitTimeout, match=r"brokers \[3\] do not watch /controller"):
        ZnodeAdmin(kafka, kafka, no_tool).place_controller(3)  # type: ignore[arg-type]
    assert kafka.deleted_after == []


class FakeZooKeeper:
    """Holds what is created."""

    def __init__(self) -> None:
        self.nodes: dict[str, bytes] = {}

    def create(self, path: str, data: bytes = b"", *, sequence: bool = False) -> None:
        if path in self.nodes:
            raise NodeExistsError
        self.nodes[path + "0000000000" * sequence] = data

    def ensure_path(self, path: str) -> None:
        self.nodes.setdefault(path, b"")

    def get(self, path: str) -> tuple[bytes, None]:
        if path not in self.nodes:
            raise NoNodeError
        return self.nodes[path], None

    def set(self, path: str, data: bytes) -> None:
        self.nodes[path] = data

    def delete(self, path: str) -> None:
        del self.nodes[path]


def no_tool(*command: str) -> str:
    raise AssertionError(f"nobody asked for {command}")


class FakeProtocol:
    """The admin protocol of a broker that has the request."""

    def elect_preferred_leader(self, topic: str, partition: int) -> str:
        return f"asked for {topic}-{partition}"

    def reassign(self, topic: str, partition: int, replicas: Any) -> str:
        return f"asked for {topic}-{partition} on {replicas}"

    def create_topic_anywhere(self, name: str, partitions: int, replication: int) -> str:
        return f"asked for {name}"

    def ask_to_delete(self, name: str, wait_s: float, done: object) -> str:
        assert wait_s == 0
        return f"asked to delete {name}"


def test_a_preferred_election_is_asked_for_in_a_znode_and_one_at_a_time() -> None:
    zookeeper: Any = FakeZooKeeper()
    made = ZnodeAdmin(zookeeper, zookeeper, no_tool)
    assert made.elect_preferred_leader("t", 2) == "znode /admin/preferred_replica_election"
    assert zookeeper.nodes == {
        "/admin/preferred_replica_election": b'{"version":1,"partitions":[{"topic":"t","partition":2}]}'
    }
    with pytest.raises(HarnessError, match="an election asked for before is not done"):
        made.elect_preferred_leader("t", 2)


def test_the_offset_of_a_group_in_zookeeper() -> None:
    zookeeper: Any = FakeZooKeeper()
    zookeeper.nodes["/consumers/g/offsets/t/0"] = b"7"
    made = ZnodeAdmin(zookeeper, zookeeper, no_tool)
    assert made.offset_in_zookeeper("g", "t", 0) == ("/consumers/g/offsets/t/0", "7")
    assert made.offset_in_zookeeper("g", "t", 1) == ("/consumers/g/offsets/t/1", None)


def test_there_is_no_such_offset_with_kraft() -> None:
    observer: Any = None
    with pytest.raises(UsageError, match="g has no offset of t-0 in ZooKeeper: the cluster has none"):
        ProtocolAdmin({}, {}, observer).offset_in_zookeeper("g", "t", 0)


def of_version(version: str, zookeeper: FakeZooKeeper) -> ZooKeeperAdmin:
    client: Any = zookeeper
    protocol: Any = FakeProtocol()
    return ZooKeeperAdmin(client, client, no_tool, protocol, versions.get(version))


@pytest.mark.parametrize(("version", "by_request"), [("2.2.2", True), ("1.1.1", False)])
def test_the_version_decides_how_a_preferred_election_is_asked_for(version: str, by_request: bool) -> None:
    zookeeper = FakeZooKeeper()
    asked = of_version(version, zookeeper).elect_preferred_leader("t", 0)
    assert (asked == "asked for t-0", not zookeeper.nodes) == (by_request, by_request)


def test_a_reassignment_is_asked_for_in_a_znode_and_one_at_a_time() -> None:
    zookeeper = FakeZooKeeper()
    made = of_version("2.2.2", zookeeper)
    assert made.reassign("t", 2, [3, 1]) == "znode /admin/reassign_partitions"
    assert zookeeper.nodes == {
        "/admin/reassign_partitions": b'{"version":1,"partitions":[{"topic":"t","partition":2,"replicas":[3,1]}]}'
    }
    with pytest.raises(HarnessError, match="a reassignment asked for before is not done"):
        made.reassign("t", 2, [3, 1])


def test_from_2_4_on_a_reassignment_is_asked_for_by_request() -> None:
    zookeeper = FakeZooKeeper()
    assert of_version("2.8.2", zookeeper).reassign("t", 2, [3, 1]) == "asked for t-2 on [3, 1]"
    assert zookeeper.nodes == {}


def test_before_0_10_1_the_tool_places_replicas() -> None:
    ran: list[tuple[str, ...]] = []

    def tool(*command: str) -> str:
        ran.append(command)
        return "Created"

    zookeeper: Any = FakeZooKeeper()
    made = ZnodeAdmin(zookeeper, zookeeper, tool)
    assert made.create_topic_anywhere("u", 6, 2) == "tool kafka.admin.TopicCommand"
    (command,) = ran
    assert command[0] == "kafka.admin.TopicCommand"
    assert " ".join(command[-6:]) == "--topic u --partitions 6 --replication-factor 2"
    assert of_version("0.10.2.2", zookeeper).create_topic_anywhere("u", 6, 2) == "asked for u"


def test_a_deletion_is_asked_for_in_a_znode_and_withdrawn_there() -> None:
    zookeeper: Any = FakeZooKeeper()
    made = ZnodeAdmin(zookeeper, zookeeper, no_tool)
    assert made.delete_topic("t") == "znode /admin/delete_topics"
    assert zookeeper.nodes == {"/admin/delete_topics/t": b""}
    made.withdraw_deletion("t")
    assert zookeeper.nodes == {}


def test_from_0_10_1_on_a_deletion_is_asked_for_by_request_and_withdrawn_in_its_znode() -> None:
    zookeeper = FakeZooKeeper()
    made = of_version("1.1.1", zookeeper)
    assert made.delete_topic("t") == "asked to delete t"
    zookeeper.create("/admin/delete_topics/t")
    made.withdraw_deletion("t")
    assert zookeeper.nodes == {}


def test_with_kraft_a_deletion_cannot_be_withdrawn_nor_an_id_be_given() -> None:
    made = admin.ProtocolAdmin({}, {"log_level": 0}, None)  # type: ignore[arg-type, dict-item]
    with pytest.raises(UsageError, match="cannot be withdrawn"):
        made.withdraw_deletion("t")
    with pytest.raises(UsageError, match="nodes are formatted with it"):
        made.set_cluster_id("x")


@pytest.mark.parametrize(
    ("brokers", "refusal", "why"),
    [
        ({2}, None, ""),
        ({2}, RequestRefused(40, "bad"), "set a=b for all brokers: error 40: bad"),
        (set(), None, "no broker is registered"),
    ],
    ids=["it is taken", "it is refused", "nobody is there"],
)
def test_with_kraft_a_default_is_asked_for_by_request_of_a_broker_that_is_there(
    brokers: set[int], refusal: RequestRefused | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "REASSIGN_LIMIT_S", 0.0)
    asked: list[Any] = []

    def ask(address: tuple[str, int], name: str, value: str, *, timeout_s: float) -> None:
        asked.append((address[0], name, value))
        if refusal is not None:
            raise refusal

    monkeypatch.setattr(admin, "set_broker_default", ask)
    observer: Any = SimpleNamespace(state=SimpleNamespace(controller=100, brokers=brokers))
    made = admin.ProtocolAdmin({1: "one", 2: "two"}, {}, observer)
    if why:
        with pytest.raises(HarnessError, match=why):
            made.set_broker_default("a", "b")
    else:
        assert made.set_broker_default("a", "b") == "request IncrementalAlterConfigs"
    assert asked == [("two", "a", "b")] * bool(brokers)


@pytest.mark.parametrize(
    ("name", "clients"), [("_TIMED_OUT", 2), ("NOT_CONTROLLER", 2), ("_NOENT", 2), ("_TRANSPORT", 1)]
)
def test_a_client_that_knows_no_controller_that_is_one_is_not_asked_again(
    name: str, clients: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Client] = []

    class Client:
        """Fails once, by the name of the error; what is asked after that is done."""

        def __init__(self, _: object) -> None:
            made.append(self)

        def delete_topics(self, topics: list[str], **_: object) -> dict[str, Future[None]]:
            future: Future[None] = Future()
            asked.append(topics)
            if len(asked) == 1:
                future.set_exception(KafkaException(SimpleNamespace(name=lambda: name)))
            else:
                future.set_result(None)
            return dict.fromkeys(topics, future)

    asked: list[list[str]] = []
    monkeypatch.setattr(admin, "AdminClient", Client)
    observer: Any = SimpleNamespace(state=SimpleNamespace(brokers={1}))
    assert admin.ProtocolAdmin({1: "one"}, {}, observer).delete_topic("t") == "request DeleteTopics"
    assert (len(asked), len(made)) == (2, clients)


@pytest.mark.parametrize(
    ("first", "asked", "clients"),
    [(None, 1, 1), (KafkaError.ELECTION_NOT_NEEDED, 1, 1), (KafkaError.NOT_CONTROLLER, 2, 2)],
)
@pytest.mark.parametrize("told_as", [KafkaError, lambda code: KafkaException(KafkaError(code))])
def test_an_election_is_asked_for_again_of_who_is_the_controller(
    first: int | None, asked: int, clients: int, told_as: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Client] = []
    elections: list[list[TopicPartition]] = []

    class Client:
        """The first answer has an error for the partition, in either form; the others have none."""

        def __init__(self, _: object) -> None:
            made.append(self)

        def elect_leaders(self, _: object, partitions: list[TopicPartition]) -> Future[dict[Any, Any]]:
            future: Future[dict[Any, Any]] = Future()
            elections.append(partitions)
            error = None if first is None or len(elections) > 1 else told_as(first)
            future.set_result(dict.fromkeys(partitions, error))
            return future

    monkeypatch.setattr(admin, "AdminClient", Client)
    observer: Any = SimpleNamespace(state=SimpleNamespace(brokers={1}))
    assert admin.ProtocolAdmin({1: "one"}, {}, observer).elect_preferred_leader("t", 0) == "request ElectLeaders"
    assert (len(elections), len(made)) == (asked, clients)


def test_a_cluster_has_its_id_before_its_first_broker() -> None:
    zookeeper: Any = FakeZooKeeper()
    of_version("3.5.1-zk", zookeeper).set_cluster_id("x")
    assert zookeeper.nodes["/cluster/id"] == b'{"version":"1","id":"x"}'


def test_a_setting_of_a_topic_is_set_beside_the_others_and_told_of() -> None:
    zookeeper: Any = FakeZooKeeper()
    made = of_version("2.2.2", zookeeper)
    assert made.set_topic("t", "segment.bytes", "1") == "znode /config/topics/t"
    made.set_topic("t", "retention.ms", "2")
    assert zookeeper.nodes == {
        "/config/topics/t": b'{"version":1,"config":{"segment.bytes":"1","retention.ms":"2"}}',
        "/config/changes/config_change_0000000000": b'{"version":2,"entity_path":"topics/t"}',
    }


def test_a_default_of_all_brokers_is_set_beside_the_others_and_told_of() -> None:
    zookeeper: Any = FakeZooKeeper()
    made = of_version("2.2.2", zookeeper)
    assert made.set_broker_default("message.max.bytes", "1") == "znode /config/brokers/<default>"
    made.set_broker_default("log.cleaner.threads", "2")
    assert zookeeper.nodes == {
        "/config/brokers/<default>": b'{"version":1,"config":{"message.max.bytes":"1","log.cleaner.threads":"2"}}',
        "/config/changes/config_change_0000000000": b'{"version":2,"entity_path":"brokers/<default>"}',
    }
