"""What a ZooKeeper cluster says of itself: /controller, /controller_epoch, /brokers/ids, and every partition's state.

Watches are one-shot: between the firing of one and the setting of the next a znode may change more than once, and only the
last state is seen. A jump of the znode's version tells how many were missed; it is written down as a note, so that
nobody takes silence for absence. A lost or suspended connection is a blind interval. All callbacks of kazoo's watchers
run on one thread, and only that thread and `start` change the snapshot.

Layout of the znodes: `kafka.utils.ZkUtils` (0.8 to 0.11) and `kafka.zk.ZkData` (1.1 and later).
"""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from harness.errors import WaitTimeout
from harness.observers.state import PartitionState, StateKeeper, node_name

if TYPE_CHECKING:
    from kazoo.protocol.states import ZnodeStat

    from harness.timeline import Timeline

CONNECT_LIMIT_S: Final = 60.0
SESSION_S: Final = 10.0

logging.getLogger("kazoo").setLevel(logging.CRITICAL)


def parse_partition_state(data: bytes, version: int) -> PartitionState:
    """A partition's state from its znode.

    Raises ValueError if it is not one.
    """
    value = json.loads(data)
    try:
        return PartitionState(
            leader=int(value["leader"]),
            leader_epoch=int(value["leader_epoch"]),
            isr=tuple(int(broker) for broker in value["isr"]),
            controller_epoch=int(value["controller_epoch"]),
            version=version,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a partition state: {data[:200]!r}") from error


def parse_controller(data: bytes | None) -> int | None:
    """The broker id in /controller; None if there is no such znode."""
    return None if not data else int(json.loads(data)["brokerid"])


class ZooKeeperObserver(StateKeeper):
    """Watches a cluster through one ZooKeeper client, which `client` lends to the admin."""

    def __init__(self, hosts: str, timeline: Timeline) -> None:
        super().__init__("zookeeper", timeline, node_name())
        self.client = KazooClient(
            hosts=hosts,
            timeout=SESSION_S,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=0.25, max_jitter=0.0),
            command_retry=KazooRetry(max_tries=5, delay=0.05, max_delay=0.5),
        )
        self._controller: int | None = None
        self._watched: set[str] = set()
        self._lock = threading.RLock()
        self._closed = False

    def start(self) -> None:
        """Connect, retrying while ZooKeeper itself is still starting, and set the watches.

        Raises WaitTimeout after a minute without an answer.
        """
        self.client.add_listener(self._connection)
        try:
            self.client.start(timeout=CONNECT_LIMIT_S)
        except KazooTimeoutError:
            raise WaitTimeout(
                f"ZooKeeper at {self.client.hosts} did not answer within {CONNECT_LIMIT_S:.0f} s"
            ) from None
        for path in ("/brokers/ids", "/brokers/topics", "/isr_change_notification"):
            self.client.ensure_path(path)
        self.client.DataWatch("/controller_epoch", self._guard(self._on_controller_epoch))
        self.client.DataWatch("/controller", self._guard(self._on_controller))
        self.client.ChildrenWatch("/brokers/ids", self._guard(self._on_brokers))
        self.client.ChildrenWatch("/brokers/topics", self._guard(self._on_topics))
        self.client.ChildrenWatch("/isr_change_notification", self._guard(self._on_isr_changes))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self.client.stop()
            self.client.close()
        except KazooException:
            logging.getLogger(__name__).debug("ZooKeeper client closed with an error", exc_info=True)

    def _guard(self, function: Any) -> Any:
        """A watch function that takes what kazoo may pass and never raises: kazoo would call it again with less."""

        def guarded(*arguments: Any) -> None:
            if self._closed:
                return
            try:
                with self._lock:
                    function(*arguments)
            except NoNodeError:
                return
            except Exception as error:
                self._timeline.append("zookeeper", "note", text=f"observer: {type(error).__name__}: {error}")

        return guarded

    def _connection(self, state: str) -> None:
        if not self._closed:
            self._note_blind(state != KazooState.CONNECTED, f"connection to ZooKeeper is {state}")

    def _on_controller_epoch(self, data: bytes | None, stat: ZnodeStat | None, event: Any = None) -> None:
        if data:
            self._note_controller(self._controller, int(data))

    def _on_controller(self, data: bytes | None, stat: ZnodeStat | None, event: Any = None) -> None:
        self._controller = parse_controller(data)
        # The new controller raises the epoch just after it has created /controller: ask, rather than show a stale one.
        epoch = self._state.controller_epoch
        if self.client.exists("/controller_epoch"):
            epoch = int(self.client.get("/controller_epoch")[0])
        self._note_controller(self._controller, epoch)

    def _on_brokers(self, children: list[str]) -> None:
        brokers = frozenset(int(child) for child in children if child.isdigit())
        self._note_brokers(brokers, came="registered", went="gone")

    def _on_isr_changes(self, children: list[str]) -> None:
        for child in sorted(children):
            path = f"/isr_change_notification/{child}"
            if path not in self._watched:
                self._watched.add(path)
                self._timeline.append("zookeeper", "isr-change", path=path)

    def _on_topics(self, topics: list[str]) -> None:
        for topic in topics:
            path = f"/brokers/topics/{topic}/partitions"
            if path not in self._watched:
                self._watched.add(path)
                self._watch_children_once_there(path, topic)

    def _watch_children_once_there(self, path: str, topic: str) -> None:
        """ChildrenWatch needs a path that exists; the controller makes it a moment after the topic."""

        def appeared(data: bytes | None, stat: ZnodeStat | None, event: Any = None) -> bool | None:
            if stat is None:
                return None
            self.client.ChildrenWatch(path, self._guard(lambda children: self._on_partitions(topic, children)))
            return False

        self.client.DataWatch(path, appeared)

    def _on_partitions(self, topic: str, children: list[str]) -> None:
        for child in children:
            path = f"/brokers/topics/{topic}/partitions/{child}/state"
            if path not in self._watched:
                self._watched.add(path)
                number = int(child)
                self.client.DataWatch(
                    path, self._guard(lambda data, stat, event=None, n=number: self._on_state(topic, n, data, stat))
                )

    def _on_state(self, topic: str, partition: int, data: bytes | None, stat: ZnodeStat | None) -> None:
        if data is None or stat is None:
            return
        before = self._state.partitions.get((topic, partition))
        if before is not None and stat.version > before.version + 1:
            missed = stat.version - before.version - 1
            self._timeline.append(
                "zookeeper", "missed", topic=topic, partition=partition, count=missed, reason="watches are one-shot"
            )
        self._note_partition(topic, partition, parse_partition_state(data, stat.version), stat.mtime * 1_000_000)
