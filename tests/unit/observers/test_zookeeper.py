"""The observer's plumbing against a ZooKeeper made of a dictionary: watches, lost connections, silence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionLoss, NoNodeError
from kazoo.protocol.states import EventType

from evidence.events import Blind, E, Missed, Note
from evidence.timeline import Timeline, read
from harness.observers import zookeeper
from harness.observers.zookeeper import ZooKeeperObserver


class Result:
    """What kazoo's asynchronous calls return."""

    def __init__(self) -> None:
        self.value: Any = None
        self.callback: Callable[[Result], None] | None = None
        self.done = False

    def rawlink(self, callback: Callable[[Result], None]) -> None:
        self.callback = callback
        if self.done:
            callback(self)

    def set(self, value: Any) -> None:
        self.value, self.done = value, True
        if self.callback is not None:
            self.callback(self)

    def get_nowait(self) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@dataclass
class Znode:
    data: bytes
    stat: Any


class Server:
    """ZooKeeper and kazoo's client in one: one-shot watches, which end with the connection."""

    def __init__(self) -> None:
        self.nodes: dict[str, Znode] = {}
        self.zxid = 0
        self.watches: dict[tuple[str, str], set[Any]] = {}
        self.listener: Callable[[str], None] = lambda state: None
        self.waiting: list[tuple[Callable[[], Any], Result]] = []
        self.frozen = False
        self.asked: list[str] = []
        self.lock = threading.RLock()

    # As kazoo's client

    def add_listener(self, listener: Callable[[str], None]) -> None:
        self.listener = listener

    def start(self, timeout: float) -> None:
        self.listener(KazooState.CONNECTED)

    def stop(self) -> None:
        self.listener(KazooState.LOST)

    def close(self) -> None:
        pass

    def _answer(self, look: Callable[[], Any]) -> Result:
        result = Result()
        with self.lock:
            if self.frozen:
                self.waiting.append((look, result))
            else:
                result.set(look())
        return result

    def get_async(self, path: str, watch: Any) -> Result:
        def look() -> Any:
            if path not in self.nodes:
                return NoNodeError()
            self.watches.setdefault(("data", path), set()).add(watch)
            return self.nodes[path].data, self.nodes[path].stat

        self.asked.append(path)
        return self._answer(look)

    def exists_async(self, path: str, watch: Any = None) -> Result:
        def look() -> Any:
            if watch is not None:
                self.watches.setdefault(("data", path), set()).add(watch)
            return self.nodes[path].stat if path in self.nodes else None

        return self._answer(look)

    def get_children_async(self, path: str, watch: Any, include_data: bool) -> Result:
        def look() -> Any:
            if path not in self.nodes:
                return NoNodeError()
            self.watches.setdefault(("children", path), set()).add(watch)
            names = [other.rpartition("/")[2] for other in self.nodes if other.rpartition("/")[0] == path]
            return names, self.nodes[path].stat

        return self._answer(look)

    # As the cluster

    def put(self, path: str, value: Any = "") -> None:
        with self.lock:
            self.zxid += 1
            old = self.nodes.get(path)
            created, version = (self.zxid, 0) if old is None else (old.stat.czxid, old.stat.version + 1)
            stat = SimpleNamespace(
                version=version, czxid=created, mzxid=self.zxid, mtime=self.zxid, cversion=0, ephemeralOwner=0
            )
            self.nodes[path] = Znode(value.encode() if isinstance(value, str) else json.dumps(value).encode(), stat)
            self._fire("data", path, EventType.CREATED if old is None else EventType.CHANGED)
            if old is None:
                self._fire("children", path.rpartition("/")[0], EventType.CHILD)

    def delete(self, path: str) -> None:
        with self.lock:
            del self.nodes[path]
            self._fire("data", path, EventType.DELETED)
            self._fire("children", path, EventType.DELETED)
            self._fire("children", path.rpartition("/")[0], EventType.CHILD)

    def _fire(self, kind: str, path: str, event: str) -> None:
        for watch in self.watches.pop((kind, path), set()):
            watch(SimpleNamespace(type=event, path=path))

    def drop(self) -> None:
        """The connection is lost: no watch is left and nothing that was asked is answered."""
        with self.lock:
            fired = [watch for watches in self.watches.values() for watch in watches]
            self.watches.clear()
            for watch in fired:
                watch(SimpleNamespace(type=EventType.NONE, path=None))
            for _, result in self.waiting:
                result.set(ConnectionLoss())
            self.waiting.clear()
        self.listener(KazooState.SUSPENDED)

    def thaw(self) -> None:
        with self.lock:
            self.frozen = False
            for look, result in self.waiting:
                result.set(look())
            self.waiting.clear()


def cluster(server: Server) -> None:
    server.put("/controller_epoch", "1")
    server.put("/controller", {"version": 1, "brokerid": 1})
    server.put("/controller_epoch", "2")
    server.put("/brokers/ids")
    server.put("/brokers/ids/1", {})
    server.put("/brokers/topics")


def partition_state(leader: int, isr: list[int], leader_epoch: int = 0) -> dict[str, Any]:
    return {"controller_epoch": 2, "leader": leader, "version": 1, "leader_epoch": leader_epoch, "isr": isr}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def observer(server: Server, tmp_path: Path) -> Iterator[ZooKeeperObserver]:
    timeline = Timeline(tmp_path / "timeline.jsonl")
    observer = ZooKeeperObserver("nowhere:2181", timeline, client=server)
    yield observer
    observer.close()
    timeline.close()


def told(tmp_path: Path, kind: type[E]) -> list[E]:
    return read(tmp_path / "timeline.jsonl").of(kind)


def test_start_returns_when_everything_was_seen_once(server: Server, observer: ZooKeeperObserver) -> None:
    cluster(server)
    server.put("/brokers/topics/t", {"version": 1, "partitions": {"0": [1]}})
    server.put("/brokers/topics/t/partitions/0/state", partition_state(1, [1]))
    observer.start()
    state = observer.state
    assert (state.controller, state.controller_epoch, state.brokers) == (1, 2, frozenset({1}))
    assert state.partitions["t", 0].replicas == (1,)


def test_an_empty_server_fills_before_our_eyes(server: Server, observer: ZooKeeperObserver) -> None:
    observer.start()
    cluster(server)
    observer.wait(lambda state: state.controller == 1 and state.brokers == {1}, what="it", timeout_s=10)
    server.put("/brokers/topics/t", {"version": 1, "partitions": {"0": [1, 2]}})
    server.put("/brokers/topics/t/partitions/0/state", partition_state(1, [1, 2]))
    observer.wait(lambda state: ("t", 0) in state.partitions, what="t-0", timeout_s=10)
    server.put("/brokers/topics/t/partitions/0/state", partition_state(1, [1]))
    observer.wait(lambda state: state.partitions["t", 0].isr == (1,), what="ISR [1]", timeout_s=10)
    server.put("/brokers/topics/t/partitions/0/state", partition_state(2, [2], 1))
    observer.wait(lambda state: state.partitions["t", 0].leader == 2, what="leader 2", timeout_s=10)
    assert [state.isr for state in observer.history_of("t", 0)] == [(1, 2), (1,), (2,)]
    server.delete("/brokers/ids/1")
    observer.wait(lambda state: not state.brokers, what="no broker", timeout_s=10)


def test_a_lost_connection_is_a_blind_interval_and_what_it_hid_is_counted(
    server: Server, observer: ZooKeeperObserver, tmp_path: Path
) -> None:
    cluster(server)
    server.put("/brokers/topics/t", {"version": 1, "partitions": {"0": [1]}})
    server.put("/brokers/topics/t/partitions/0/state", partition_state(1, [1]))
    observer.start()
    server.drop()
    observer_sees(observer, blind=True)
    for epoch in (1, 2, 3):
        server.put("/brokers/topics/t/partitions/0/state", partition_state(-1, [1], epoch))
    assert observer.state.partitions["t", 0].leader_epoch == 0
    server.listener(KazooState.CONNECTED)
    observer.wait(lambda state: state.partitions["t", 0].leader_epoch == 3, what="epoch 3", timeout_s=10)
    observer_sees(observer, blind=False)
    assert [event.phase for event in told(tmp_path, Blind)] == ["begin", "end"]
    assert [event.count for event in told(tmp_path, Missed)] == [2]
    # The new connection's watches work.
    server.put("/brokers/topics/t/partitions/0/state", partition_state(1, [1], 4))
    observer.wait(lambda state: state.partitions["t", 0].leader_epoch == 4, what="epoch 4", timeout_s=10)


def test_a_server_that_says_nothing_is_a_blind_interval_from_its_last_word_on(
    server: Server, observer: ZooKeeperObserver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper, "QUIET_S", 0.01)
    monkeypatch.setattr(zookeeper, "SILENCE_S", 0.1)
    cluster(server)
    observer.start()
    server.frozen = True
    observer_sees(observer, blind=True)
    server.thaw()
    observer_sees(observer, blind=False)
    begin, end = told(tmp_path, Blind)
    assert end.monotonic_ns - begin.monotonic_ns >= 0.1e9
    assert begin.reason == "ZooKeeper does not answer"


def test_a_quiet_server_that_answers_is_no_blind_interval(
    server: Server, observer: ZooKeeperObserver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper, "QUIET_S", 0.001)
    monkeypatch.setattr(zookeeper, "SILENCE_S", 0.02)
    cluster(server)
    observer.start()
    threading.Event().wait(0.1)  # many times the silence that would be too long
    assert told(tmp_path, Blind) == []


def test_an_unreadable_znode_is_noted_and_the_rest_goes_on(
    server: Server, observer: ZooKeeperObserver, tmp_path: Path
) -> None:
    cluster(server)
    server.put("/brokers/topics/t", {"version": 1, "partitions": {"0": [1]}})
    server.put("/brokers/topics/t/partitions/0/state", "not a state")
    observer.start()
    assert "/brokers/topics/t/partitions/0/state is not what it should be" in told(tmp_path, Note)[0].text
    server.put("/brokers/topics/t/partitions/0/state", partition_state(1, [1]))
    observer.wait(lambda state: ("t", 0) in state.partitions, what="t-0", timeout_s=10)


def test_closing_leaves_no_thread_and_is_no_blind_interval(
    server: Server, observer: ZooKeeperObserver, tmp_path: Path
) -> None:
    cluster(server)
    observer.start()
    observer.close()
    observer.close()
    assert "zookeeper-observer" not in {thread.name for thread in threading.enumerate()}
    assert told(tmp_path, Blind) == []


def observer_sees(observer: ZooKeeperObserver, *, blind: bool) -> None:
    for _ in range(1000):
        if observer.blind == blind:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"blind is not {blind} after 10 s")


def test_a_server_that_has_forgotten_may_be_listened_to(server: Server, observer: ZooKeeperObserver) -> None:
    """A client says how much it has seen when it connects, and is refused by a server that has seen less."""
    assert KazooClient().last_zxid == 0
    observer.client.last_zxid = 7
    observer.accept_older()
    assert observer.client.last_zxid == 0
