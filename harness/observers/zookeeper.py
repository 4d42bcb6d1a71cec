"""Watches a cluster through ZooKeeper: the connection, the watches, and what cannot be seen.

What znodes mean is in harness.observers.znodes. Here one thread takes everything that kazoo reports (answers, fired
watches, the connection's state) from a queue, in order, and requests the next reads; requests are sent without waiting,
so many partitions cost one round trip. Between a change in ZooKeeper and the waking of a waiting scenario are two
messages of a few hundred microseconds each: the watch's notification, and the read.

Blind intervals. Watches live in the server with the connection: when it is lost, everything is asked again on the next
one. A frozen or cut off server says nothing at all, which kazoo notices only after two thirds of the session. So a
request is sent after every quarter of a second of silence, and five seconds without an answer are a blind interval too.
A shorter silence hides nothing: one server does everything in order, and versions of znodes show what was skipped. On a
machine that is busy with its disks a server may answer only after three seconds. Either begins at the last sign of life
and ends when everything watched has been seen again.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import EventType
from kazoo.retry import KazooRetry

from evidence.errors import WaitTimeout
from evidence.events import Note
from harness.observers.state import StateKeeper, node_name
from harness.observers.znodes import ROOTS, Contents, Picture, Stat, Watch, ZnodeRead

if TYPE_CHECKING:
    from kazoo.protocol.states import WatchedEvent, ZnodeStat

    from evidence.timeline import Timeline

CONNECT_LIMIT_S: Final = 60.0
FIRST_LOOK_LIMIT_S: Final = 20.0
SESSION_S: Final = 10.0
QUIET_S: Final = 0.25
"""A silence after which the server is asked for a sign of life."""
SILENCE_S: Final = 5.0
"""A silence, with a request open, that begins a blind interval."""
JOIN_LIMIT_S: Final = 5.0

# A server that is starting or gone is this module's daily bread and not worth kazoo's warnings.
_LOGGER: Final = logging.getLogger(f"{__name__}.client")
_LOGGER.setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class _Connection:
    state: str


@dataclass(frozen=True, slots=True)
class _Fired:
    path: str
    type: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer to a read, to whether a znode exists (`exists`), or to a request for a sign of life (no watch)."""

    watch: Watch | None
    exists: bool
    result: Any
    round: int


class ZooKeeperObserver(StateKeeper):
    """Watches a cluster through one ZooKeeper client, which `client` lends to the admin."""

    def __init__(
        self,
        hosts: str,
        timeline: Timeline,
        *,
        client: KazooClient | None = None,
        controllers: frozenset[int] = frozenset(),
    ) -> None:
        """`controllers` are ids of KRaft controllers, to which the cluster may migrate: they keep what they decide in
        ZooKeeper too, as long as brokers register there.
        """
        super().__init__("zookeeper", timeline, node_name(controllers))
        self._hosts = hosts
        self.client = client or KazooClient(
            hosts=hosts,
            timeout=SESSION_S,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=0.25, max_jitter=0.0),
            command_retry=KazooRetry(max_tries=5, delay=0.05, max_delay=0.5),
            logger=_LOGGER,
        )
        self._picture, self._contents = Picture(self._node_name), Contents()
        self._queue: SimpleQueue[_Connection | _Fired | _Answer | None] = SimpleQueue()
        self._watched: dict[Watch, None] = dict.fromkeys(ROOTS)
        self._open: set[Watch] = set()
        """Reads requested on this connection and not answered yet."""
        self._round = 0
        """Counts connections: an answer to an earlier one closes nothing."""
        self._connected = False
        self._sign_asked = False
        self._heard_ns = time.monotonic_ns()
        self._complete = threading.Event()
        self._closed = threading.Event()
        self._worker: threading.Thread | None = None

    def start(self) -> None:
        """Connect, retrying while ZooKeeper itself is still starting, and read everything once.

        Raises WaitTimeout after a minute without a connection.
        """
        self.client.add_listener(self._on_connection)
        self._worker = threading.Thread(target=self._work, name="zookeeper-observer", daemon=True)
        self._worker.start()
        try:
            self.client.start(timeout=CONNECT_LIMIT_S)
        except KazooTimeoutError:
            raise WaitTimeout(f"ZooKeeper at {self._hosts} did not answer within {CONNECT_LIMIT_S:.0f} s") from None
        if not self._complete.wait(FIRST_LOOK_LIMIT_S):
            raise WaitTimeout(
                f"ZooKeeper at {self._hosts} accepted a session but in {FIRST_LOOK_LIMIT_S:.0f} s did not answer for "
                f"{', '.join(sorted(watch.path for watch in set(self._open)))}"
            )

    def accept_older(self) -> None:
        """Be told what ZooKeeper has also if that is older than what it told before: it refuses whoever has seen more,
        and may have forgotten that itself.
        """
        self.client.last_zxid = 0

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        self._queue.put(None)
        try:
            self.client.stop()
            self.client.close()
        except KazooException:
            _LOGGER.debug("the client closed with an error", exc_info=True)
        if self._worker is not None:
            self._worker.join(JOIN_LIMIT_S)
            self._worker = None

    # Called by kazoo's threads: note it and return

    def _on_connection(self, state: str) -> None:
        self._queue.put(_Connection(str(state)))

    def _on_event(self, event: WatchedEvent) -> None:
        if event.type != EventType.NONE:  # the connection's own events come by the listener
            self._queue.put(_Fired(event.path, event.type))

    # The one thread that thinks

    def _work(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=QUIET_S)
            except Empty:
                self._in_silence()
                continue
            if item is None or self._closed.is_set():
                return
            try:
                self._take(item)
            except Exception as error:  # an observer that died would be taken for a quiet cluster
                self.begin_blind(f"the observer failed: {type(error).__name__}: {error}")

    def _take(self, item: _Connection | _Fired | _Answer) -> None:
        if isinstance(item, _Connection):
            self._take_connection(item.state)
        elif isinstance(item, _Fired):
            self._heard()
            for watch in (Watch(item.path, "children"), Watch(item.path, "data")):
                if watch in self._watched and (item.type != EventType.CHILD or watch.kind == "children"):
                    self._ask_for(watch)
        else:
            self._take_answer(item)

    def _take_connection(self, state: str) -> None:
        if state != KazooState.CONNECTED:
            if self._connected:
                self._connected = False
                self.begin_blind(f"connection to ZooKeeper is {state}", since_ns=self._heard_ns)
            return
        self._connected = True
        self._sign_asked = False
        self._round += 1
        self._heard()
        self._open.clear()
        for watch in list(self._watched):
            self._ask_for(watch)

    def _take_answer(self, answer: _Answer) -> None:
        if answer.watch is None:
            self._sign_asked = False
        try:
            value = answer.result.get_nowait()
        except NoNodeError:
            self._heard()
            if answer.watch is not None:
                self._ask(answer.watch, self.client.exists_async(answer.watch.path, watch=self._on_event), exists=True)
            return
        except KazooException:
            # Lost with its connection; the next connection asks for everything again.
            return
        self._heard()
        watch = answer.watch
        if watch is None:
            self._see_again()
        elif answer.exists and value is not None:
            self._ask_for(watch)  # created in the meantime
        else:
            self._apply(_as_read(watch, None if answer.exists else value))
            if answer.round == self._round:
                self._open.discard(watch)
            self._see_again()

    def _apply(self, read: ZnodeRead) -> None:
        try:
            held, outcome = self._contents.take(read), self._picture.take(read)
        except ValueError as error:
            text = f"{read.watch.path} is not what it should be: {error}"
            self._timeline.append(Note(source="zookeeper", text=text))
            return
        for watch in outcome.watch:
            if watch not in self._watched:
                self._watched[watch] = None
                self._ask_for(watch)
        self.publish(outcome.state, also=[*held, *outcome.also])

    def _ask_for(self, watch: Watch) -> None:
        if watch.kind == "data":
            result = self.client.get_async(watch.path, watch=self._on_event)
        else:
            result = self.client.get_children_async(watch.path, watch=self._on_event, include_data=True)
        self._ask(watch, result)

    def _ask(self, watch: Watch | None, result: Any, *, exists: bool = False) -> None:
        if watch is not None:
            self._open.add(watch)
        number = self._round
        result.rawlink(lambda done: self._queue.put(_Answer(watch, exists, done, number)))

    # Signs of life

    def _heard(self) -> None:
        self._heard_ns = time.monotonic_ns()

    def _see_again(self) -> None:
        if self._connected and not self._open:
            self.end_blind("everything watched has been seen again")
            self._complete.set()

    def _in_silence(self) -> None:
        """Nothing came for `QUIET_S`: ask for a sign of life, or give up waiting for one."""
        if not self._connected or self._closed.is_set():
            return
        if not self._open and not self._sign_asked:
            self._sign_asked = True
            self._ask(None, self.client.exists_async("/"))
        elif time.monotonic_ns() - self._heard_ns > SILENCE_S * 1e9:
            self.begin_blind("ZooKeeper does not answer", since_ns=self._heard_ns)


def _as_read(watch: Watch, value: tuple[Any, ZnodeStat] | None) -> ZnodeRead:
    if value is None:
        return ZnodeRead(watch=watch, stat=None)
    content, stat = value
    known = Stat(
        version=stat.version,
        created=stat.czxid,
        modified=stat.mzxid,
        modified_ms=stat.mtime,
        child_changes=stat.cversion,
        session=stat.ephemeralOwner,
    )
    if watch.kind == "data":
        return ZnodeRead(watch=watch, stat=known, data=content)
    return ZnodeRead(watch=watch, stat=known, children=tuple(content))
