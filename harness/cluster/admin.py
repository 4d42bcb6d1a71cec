"""Administration of a cluster, old and new, behind one interface.

Brokers before 0.10.1 have no request to create a topic: there the tool of the time wrote the topic's
assignment into ZooKeeper and the controller acted on it, and so do we. Later brokers are asked by the admin
protocol. The same goes for preferred elections before 2.2 and for reassignments before 2.4. Where replicas of a
new topic are placed by Kafka itself, the code that does it ran in the tool before 0.10.1, and in the controller from
then on. Where the controller sits can be chosen with ZooKeeper only (whoever creates /controller first holds it); with
KRaft it is a node of its own or the elected voter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)
from kazoo.exceptions import NodeExistsError, NoNodeError

from evidence.errors import HarnessError, UsageError, WaitTimeout
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.requests import NOT_CONTROLLER, RequestRefused, alter_partition_reassignment, set_broker_default

if TYPE_CHECKING:
    from kazoo.client import KazooClient

    from harness.cluster.cluster import Cluster
    from harness.cluster.state import ClusterObserver
    from harness.cluster.versions import Version

REQUEST_TIMEOUT_S: Final = 10.0
TOPIC_LIMIT_S: Final = 30.0
REASSIGN_LIMIT_S: Final = 30.0
PLACE_LIMIT_S: Final = 30.0
POLL_S: Final = 0.05
CONTROLLER: Final = "/controller"
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
REASSIGNMENT: Final = "/admin/reassign_partitions"
DELETIONS: Final = "/admin/delete_topics"
TOPIC_TOOL: Final = "kafka.admin.TopicCommand"


class ZnodeContent(NamedTuple):
    """A znode and its content as text; None if there is no such znode."""

    path: str
    content: str | None


class Admin(Protocol):
    """Creating topics and placing the controller, in the way that a version supports."""

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
        """Create a topic whose partition p lies on the brokers `replicas[p]`, the preferred leader first."""

    def create_topic_anywhere(self, name: str, partitions: int, replication: int) -> str:
        """Create a topic whose replicas Kafka places itself; returns by which mechanism."""

    def delete_topic(self, name: str) -> str:
        """Ask for a topic to be deleted, and do not wait until it is; returns by which mechanism it was asked."""

    def withdraw_deletion(self, name: str) -> str:
        """Take back that a topic is to be deleted, while no broker runs; returns how. UsageError where nothing can."""

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Delete a partition's records before an offset (KIP-107, 0.11); returns its low watermark then. UsageError
        where there is no such request.
        """

    def set_broker_default(self, name: str, value: str) -> str:
        """Set a broker setting for all brokers while they run (KIP-226, 1.1); returns by which mechanism."""

    def set_topic(self, topic: str, name: str, value: str) -> str:
        """Change a setting of a topic while it lives (0.10.1 and later); returns by which mechanism."""

    def set_cluster_id(self, cluster_id: str) -> None:
        """Give the cluster its id before its first broker starts. UsageError where that is a matter of formatting."""

    def forget_migration(self) -> None:
        """Delete what a KRaft controller wrote of itself when it took over the metadata. UsageError with KRaft."""

    def offset_in_zookeeper(self, group: str, topic: str, partition: int) -> ZnodeContent:
        """The znode with the offset of a group of consumers of 0.8. UsageError with KRaft."""

    def place_controller(self, broker: int) -> None:
        """Make this broker the controller. UsageError where that cannot be chosen."""

    def remove_controller(self) -> None:
        """Have the brokers elect another controller, whatever the present one does. UsageError where nothing can."""

    def elect_preferred_leader(self, topic: str, partition: int) -> str:
        """Ask for the election of a partition's preferred leader; returns by which mechanism it was asked."""

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> str:
        """Ask for a partition's replicas to be these; returns by which mechanism it was asked."""


class ZnodeAdmin:
    """Administration through ZooKeeper's nodes, for every broker that has ZooKeeper.

    Layout of the nodes: KAFKA_FACTS of the Kafka sources, `kafka.utils.ZkUtils` (0.8-0.11), `kafka.zk.ZkData` (1.1+).
    """

    def __init__(self, client: KazooClient, observer: ClusterObserver, run_tool: Callable[..., str]) -> None:
        """`run_tool` runs a class of Kafka's jars with arguments, where `localhost:2181` is ZooKeeper."""
        self._client, self._observer, self._run_tool = client, observer, run_tool

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
        self._client.ensure_path("/config/topics")
        self._client.create(f"/config/topics/{name}", _json({"version": 1, "config": dict(settings)}))
        partitions = {str(number): list(brokers) for number, brokers in enumerate(replicas)}
        self._client.create(f"/brokers/topics/{name}", _json({"version": 1, "partitions": partitions}))

    def create_topic_anywhere(self, name: str, partitions: int, replication: int) -> str:
        """By the tool of the time, which placed the replicas and wrote the assignment (`AdminUtils`)."""
        of = ("--topic", name, "--partitions", str(partitions), "--replication-factor", str(replication))
        self._run_tool(TOPIC_TOOL, "--zookeeper", "localhost:2181", "--create", *of)
        return f"tool {TOPIC_TOOL}"

    def delete_topic(self, name: str) -> str:
        """By the znode that the tool of the time wrote; the controller deletes it when the topic is gone."""
        self._client.create(f"{DELETIONS}/{name}")
        return f"znode {DELETIONS}"

    def withdraw_deletion(self, name: str) -> str:
        """By deleting that znode, which a request to delete makes as well."""
        self._client.delete(f"{DELETIONS}/{name}")
        return f"znode {DELETIONS}"

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        raise UsageError(f"the records of {topic}-{partition} cannot be deleted before 0.11")

    def set_broker_default(self, name: str, value: str) -> str:
        return self._set("brokers/<default>", name, value)

    def set_topic(self, topic: str, name: str, value: str) -> str:
        return self._set(f"topics/{topic}", name, value)

    def _set(self, entity: str, name: str, value: str) -> str:
        """By the znodes that the tool of the time wrote (`ConfigCommand`): the setting, and a notification of it."""
        path = f"/config/{entity}"
        self._client.ensure_path(path)
        held = self._client.get(path)[0]
        settings = json.loads(held)["config"] if held else {}
        self._client.set(path, _json({"version": 1, "config": settings | {name: value}}))
        change = _json({"version": 2, "entity_path": entity})
        self._client.create("/config/changes/config_change_", change, sequence=True)
        return f"znode {path}"

    def set_cluster_id(self, cluster_id: str) -> None:
        """By the znode that the first broker makes if it is not there (0.10.1 and later)."""
        self._client.ensure_path("/cluster")
        self._client.create("/cluster/id", _json({"version": "1", "id": cluster_id}))

    def forget_migration(self) -> None:
        """By deleting /controller, which brokers watch, so that one of them makes it anew; and then /migration."""
        self._client.delete(CONTROLLER)
        self._client.delete("/migration")

    def offset_in_zookeeper(self, group: str, topic: str, partition: int) -> ZnodeContent:
        """Where the high-level consumer keeps it (`ZKGroupTopicDirs`)."""
        path = f"/consumers/{group}/offsets/{topic}/{partition}"
        try:
            return ZnodeContent(path, self._client.get(path)[0].decode())
        except NoNodeError:
            return ZnodeContent(path, None)

    def place_controller(self, broker: int) -> None:
        """Delete /controller until `broker` is the one that creates it anew.

        Only while every live broker watches that node: a broker that is still busy with the election before looks
        again when it is done, finds no node, and takes that for an election it need not hold. If all of them are, the
        cluster stays without a controller (seen on 2.2.2 and 2.8.2).
        """
        deadline = time.monotonic() + PLACE_LIMIT_S
        moves = 0
        while (holder := self._observer.state.controller) != broker:
            if time.monotonic() > deadline:
                after = f"after {PLACE_LIMIT_S:.0f} s and {moves} moves"
                raise WaitTimeout(f"broker {broker} is not the controller {after}; it is {holder}")
            if holder is not None:
                self._wait_watched(CONTROLLER, deadline)
                epoch = self._observer.state.controller_epoch
                with suppress(NoNodeError):  # gone by itself meanwhile: then somebody is about to create it
                    self._client.delete(CONTROLLER)
                moves += 1
                self._observer.wait(
                    lambda state, seen=epoch: state.controller is not None and state.controller_epoch > seen,  # type: ignore[misc]
                    what="a controller with a higher epoch",
                    timeout_s=PLACE_LIMIT_S,
                )
            else:
                self._observer.wait(
                    lambda state: state.controller is not None, what="a controller", timeout_s=PLACE_LIMIT_S
                )

    def remove_controller(self) -> None:
        """Delete /controller, while its owner's session lasts."""
        self._client.delete(CONTROLLER)

    def elect_preferred_leader(self, topic: str, partition: int) -> str:
        """By the znode that the tool of the time wrote (`PreferredReplicaLeaderElectionCommand`); the controller
        deletes it when it is done. HarnessError if an election that was asked for before is not.
        """
        asked = {"topic": topic, "partition": partition}
        return self._ask(PREFERRED_ELECTION, asked, "an election")

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> str:
        """By the znode that the tool of the time wrote (`ReassignPartitionsCommand`); the controller deletes it when it
        is done. HarnessError if a reassignment that was asked for before is not.
        """
        asked = {"topic": topic, "partition": partition, "replicas": list(replicas)}
        return self._ask(REASSIGNMENT, asked, "a reassignment")

    def _ask(self, path: str, partition: Mapping[str, object], what: str) -> str:
        try:
            self._client.create(path, _json({"version": 1, "partitions": [partition]}))
        except NodeExistsError:
            raise HarnessError(f"{path} is there: {what} asked for before is not done") from None
        return f"znode {path}"

    def _wait_watched(self, path: str, deadline: float) -> None:
        """Wait until every live broker's session has a watch on this node."""
        while True:
            sessions = {broker: self._session(broker) for broker in self._observer.state.brokers}
            watching = watchers(self._client.command(b"wchp"), path)
            missing = [broker for broker, session in sessions.items() if session not in watching]
            if not missing:
                return
            if time.monotonic() > deadline:
                raise WaitTimeout(
                    f"brokers {sorted(missing)} do not watch {path}; sessions that do: {sorted(watching)}"
                )
            time.sleep(POLL_S)  # a watch that is set is told to nobody; asking is all there is

    def _session(self, broker: int) -> int | None:
        stat = self._client.exists(f"/brokers/ids/{broker}")
        return None if stat is None else stat.ephemeralOwner


def watchers(listing: str, path: str) -> set[int]:
    """The sessions that watch `path`, from the answer to ZooKeeper's command `wchp`: each path, and under it, behind a
    tab, the sessions.
    """
    sessions: set[int] = set()
    of = ""
    for line in listing.splitlines():
        if not line.startswith("\t"):
            of = line.strip()
        elif of == path:
            sessions.add(int(line, 16))
    return sessions


class ProtocolAdmin:
    """Administration by the admin protocol (topics: KIP-4, 0.10.1 and later)."""

    def __init__(self, addresses: Mapping[int, str], settings: Mapping[str, str], observer: ClusterObserver) -> None:
        """`addresses` are those of the brokers, by id."""
        self._settings, self._addresses, self._observer = settings, addresses, observer
        self._held: tuple[frozenset[int], AdminClient] | None = None

    @property
    def _client(self) -> AdminClient:
        """A client that knows the present brokers: an older one would never stop asking a broker that it took for
        KRaft's controller, and that is dead.
        """
        there = frozenset(self._observer.state.brokers) & frozenset(self._addresses) or frozenset(self._addresses)
        if self._held is None or self._held[0] != there:
            bootstrap = ",".join(f"{self._addresses[broker]}:{KAFKA_PORT}" for broker in sorted(there))
            configuration: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2, **self._settings}
            self._held = (there, AdminClient(configuration))
        return self._held[1]

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
        placed = [list(brokers) for brokers in replicas]
        self._create(NewTopic(name, num_partitions=len(replicas), replica_assignment=placed, config=dict(settings)))

    def create_topic_anywhere(self, name: str, partitions: int, replication: int) -> str:
        self._create(NewTopic(name, num_partitions=partitions, replication_factor=replication))
        return "request CreateTopics"

    def delete_topic(self, name: str) -> str:
        """By the request of KIP-4 (0.10.1). With KRaft it is done when that is answered; with no time to wait, a broker
        answers that it has timed out before it has passed the request on.
        """
        return self.ask_to_delete(name, REQUEST_TIMEOUT_S, done={"UNKNOWN_TOPIC_OR_PART"})

    def ask_to_delete(self, name: str, wait_s: float, done: Collection[str]) -> str:
        """Ask for a topic to be deleted, and the broker to wait so long for that. The errors `done` are success."""
        wait = {"operation_timeout": wait_s, "request_timeout": REQUEST_TIMEOUT_S}
        self._until_done(f"delete topic {name}", lambda: self._client.delete_topics([name], **wait)[name], done=done)
        return "request DeleteTopics"

    def withdraw_deletion(self, name: str) -> str:
        raise UsageError(f"the deletion of {name} cannot be withdrawn: with KRaft it is done when it is asked for")

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        place = TopicPartition(topic, partition, before)
        deleted = self._until_done(
            f"delete the records of {topic}-{partition} before {before}",
            lambda: self._client.delete_records([place], request_timeout=REQUEST_TIMEOUT_S)[place],
            done=(),
        )
        return int(deleted.low_watermark)

    def set_broker_default(self, name: str, value: str) -> str:
        """By the request of KIP-339 (2.3), which any broker passes on to the controller."""
        self._ask_a_broker(
            f"set {name}={value} for all brokers",
            lambda address: set_broker_default(address, name, value, timeout_s=REQUEST_TIMEOUT_S),
        )
        return "request IncrementalAlterConfigs"

    def set_topic(self, topic: str, name: str, value: str) -> str:
        """By the request of KIP-339 (2.3), which leaves the topic's other settings as they are."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        place = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self._until_done(
            f"set {name}={value} for {topic}",
            lambda: self._client.incremental_alter_configs([place], request_timeout=REQUEST_TIMEOUT_S)[place],
            done=(),
        )
        return "request IncrementalAlterConfigs"

    def _create(self, topic: Any) -> None:
        self._until_done(
            f"create topic {topic.topic}",
            lambda: self._client.create_topics([topic], request_timeout=REQUEST_TIMEOUT_S)[topic.topic],
        )

    def set_cluster_id(self, cluster_id: str) -> None:
        raise UsageError(f"the cluster's id cannot be set to {cluster_id}: with KRaft nodes are formatted with it")

    def forget_migration(self) -> None:
        raise UsageError("there is no migration to revert: the cluster has no ZooKeeper")

    def offset_in_zookeeper(self, group: str, topic: str, partition: int) -> ZnodeContent:
        raise UsageError(f"{group} has no offset of {topic}-{partition} in ZooKeeper: the cluster has none")

    def place_controller(self, broker: int) -> None:
        raise UsageError(f"the controller cannot be placed on broker {broker}: with KRaft the quorum elects it")

    def remove_controller(self) -> None:
        raise UsageError("the controller cannot be removed: with KRaft the quorum elects it")

    def elect_preferred_leader(self, topic: str, partition: int) -> str:
        """By the request of KIP-183 (2.2) and KIP-460 (2.4), without time-outs: confluent-kafka 2.16 fails on them."""
        wanted = TopicPartition(topic, partition)
        self._until_done(
            f"elect the preferred leader of {topic}-{partition}",
            lambda: self._client.elect_leaders(ElectionType.PREFERRED, [wanted]),
            done={"ELECTION_NOT_NEEDED", "PREFERRED_LEADER_NOT_AVAILABLE"},
        )
        return "request ElectLeaders"

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> str:
        """By the request of KIP-455 (2.4): to the controller, or with KRaft to any broker, which passes it on."""
        self._ask_a_broker(
            f"reassign {topic}-{partition} to {list(replicas)}",
            lambda address: alter_partition_reassignment(
                address, topic, partition, replicas, timeout_s=REQUEST_TIMEOUT_S
            ),
        )
        return "request AlterPartitionReassignments"

    def _ask_a_broker(self, what: str, ask: Callable[[tuple[str, int]], None]) -> None:
        """Ask the controller if it is a broker, or else any broker, until one that can has taken the request."""
        deadline = time.monotonic() + REASSIGN_LIMIT_S
        while True:
            state = self._observer.state
            asked = next((one for one in (state.controller, *state.brokers) if one in self._addresses), None)
            try:
                if asked is None:
                    raise ConnectionError("no broker is registered")
                ask((self._addresses[asked], KAFKA_PORT))
                return
            except (OSError, RequestRefused) as error:
                refused = isinstance(error, RequestRefused) and error.code != NOT_CONTROLLER
                if refused or time.monotonic() > deadline:
                    raise HarnessError(f"{what}: {error}") from None
            time.sleep(POLL_S)  # who takes it is known to brokers only: asking again is all there is

    def _until_done(self, what: str, ask: Any, done: Collection[str] = ("TOPIC_ALREADY_EXISTS",)) -> Any:
        """Repeat a request while it fails for a passing reason: too few brokers are up, or a connection is dropped.
        The errors `done` say that there is nothing left to do. Returns the answer; None after such an error.
        """
        deadline = time.monotonic() + TOPIC_LIMIT_S
        while True:
            future: Future[Any] = ask()
            try:
                return _whole(future.result(timeout=REQUEST_TIMEOUT_S + 1))
            except (KafkaException, TimeoutError) as error:
                code = error.args[0].name() if isinstance(error, KafkaException) else "timed out"
                if code in done:
                    return None
                if code in {"INVALID_CONFIG", "POLICY_VIOLATION", "INVALID_TOPIC_EXCEPTION"}:
                    raise UsageError(f"{what}: the broker refuses: {error.args[0].str()}") from None
                if time.monotonic() > deadline:
                    raise HarnessError(f"{what}: not done within {TOPIC_LIMIT_S:.0f} s; last answer: {error}") from None
                if code in {"_TIMED_OUT", "timed out", "NOT_CONTROLLER", "_NOENT"}:
                    # A broker may have named one as the controller that was dead, of which it had not heard yet, or
                    # that is replaced. librdkafka keeps to it until its next metadata (rdkafka_admin.c, 2.x). It may
                    # also know no leader of a partition for 30 s that all brokers name (_NOENT, seen with 3.9.2).
                    self._held = None


def _whole(answer: Any) -> Any:
    """An answer, or what went wrong with a part of it: an election has an error for each partition. A broker that is
    not the controller says so there (KafkaController.processReplicaLeaderElection).
    """
    if isinstance(answer, dict):
        for error in answer.values():
            if isinstance(error, KafkaException):
                raise error
            if isinstance(error, KafkaError):
                raise KafkaException(error)
    return answer


class ZooKeeperAdmin(ZnodeAdmin):
    """ZooKeeper clusters with the admin protocol: topics by request, the controller by its znode, elections and
    reassignments by request as soon as the version has it.
    """

    def __init__(
        self,
        client: KazooClient,
        observer: ClusterObserver,
        run_tool: Callable[..., str],
        protocol: ProtocolAdmin,
        version: Version,
    ) -> None:
        super().__init__(client, observer, run_tool)
        self._protocol, self._version = protocol, version

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
        self._protocol.create_topic(name, replicas, settings)

    def create_topic_anywhere(self, name: str, partitions: int, replication: int) -> str:
        return self._protocol.create_topic_anywhere(name, partitions, replication)

    def delete_topic(self, name: str) -> str:
        """A broker that is told to wait no time for the end answers that it has timed out when it has taken the
        request.
        """
        return self._protocol.ask_to_delete(name, 0, done={"REQUEST_TIMED_OUT", "UNKNOWN_TOPIC_OR_PART"})

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        return self._protocol.delete_records(topic, partition, before)

    def elect_preferred_leader(self, topic: str, partition: int) -> str:
        if self._version.has_elect_leaders:
            return self._protocol.elect_preferred_leader(topic, partition)
        return super().elect_preferred_leader(topic, partition)

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> str:
        if self._version.has_alter_reassignments:
            return self._protocol.reassign(topic, partition, replicas)
        return super().reassign(topic, partition, replicas)


def open_admin(cluster: Cluster, observer: ClusterObserver, zookeeper: KazooClient | None) -> Admin:
    """The administration that fits the cluster's version; `zookeeper` is the observer's client where there is
    ZooKeeper.
    """
    version = cluster.version
    addresses = {number: node.address for number, node in cluster.brokers.items()}
    protocol = ProtocolAdmin(addresses, version.client_settings, observer) if version.has_create_topics else None
    if zookeeper is None:
        if protocol is None:
            raise HarnessError(f"{version.id} has neither ZooKeeper nor the admin protocol")
        return protocol
    if protocol is None:
        return ZnodeAdmin(zookeeper, observer, cluster.coordinator.run_class)
    return ZooKeeperAdmin(zookeeper, observer, cluster.coordinator.run_class, protocol, version)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
