"""Docker's own event stream for one run: a witness of every fault that is not the call that injected it.

It tells of the nodes' containers, and of who joins and leaves the cluster's network. Events are read by a thread,
written to the timeline, and kept, so that `wait` can look back: a container may die before anyone begins to wait for
it. Waiting goes by the engine's own clock (`time_nano`), the same machine's as ours, so an event from before the
injection proves nothing.

If the stream ends before it is closed, that is a blind interval. It is opened again with `since` at the last event
seen; the engine keeps its last 256 events, so most often nothing is lost by it.

A stream may also leave an event out: on a busy machine one start of a node, in 7,700 runs, was not told. So those that
the engine keeps are read once more when the cluster is up (`look_back`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from evidence.engine import ContainerAction
from evidence.errors import WaitTimeout
from evidence.events import Blind, Container
from harness.cluster.docker import NODE_LABEL, RUN_LABEL

if TYPE_CHECKING:
    from docker import DockerClient

    from evidence.timeline import Timeline

ACTIONS: Final[tuple[ContainerAction, ...]] = get_args(ContainerAction)
REOPEN_S: Final = 0.2
JOIN_LIMIT_S: Final = 5.0


def event_of(sent: Mapping[str, Any], node: str | None = None) -> Container | None:
    """An event as the engine sends it, as the timeline has it; None for one of no interest. `node` is whose it is,
    where the event does not say it.
    """
    action = sent.get("Action", "")
    if action not in ACTIONS or (sent.get("Type") == "network" and node is None):
        return None
    attributes = sent.get("Actor", {}).get("Attributes", {})
    return Container(
        node=node or attributes.get(NODE_LABEL) or attributes.get("name", "?"),
        action=action,
        exit_code=_number(attributes.get("exitCode")),
        time_nano=int(sent.get("timeNano", 0)),
        signal=_number(attributes.get("signal")),
    )


def _fraction(wall_ns: int) -> Any:
    """A time as the engine takes it: seconds, with nanoseconds as a fraction. The SDK passes that on, and its type does
    not know it.
    """
    seconds, nanos = divmod(wall_ns, 1_000_000_000)
    return f"{seconds}.{nanos:09d}"


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


class DockerEvents:
    """The container events of one run, from `start` to `close`."""

    def __init__(self, client: DockerClient, run_id: str, timeline: Timeline) -> None:
        self._client = client
        self._run_id = run_id
        self._timeline = timeline
        self._seen: list[Container] = []
        self._nodes: dict[str, str] = {}
        """By id of the container."""
        self._changed = threading.Condition()
        self._noting = threading.Lock()
        self._lifecycle = threading.Lock()
        self._stream: Any = None
        self._began_ns = self._since_ns = 0
        self._blind = False
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def start(self) -> None:
        """Begin to listen; events from this call on are not missed. DockerException if the engine does not answer."""
        self._began_ns = self._since_ns = time.time_ns()
        self._open()
        self._thread = threading.Thread(target=self._read, name="docker-events", daemon=True)
        self._thread.start()

    def _open(self) -> bool:
        """Open the stream from `_since_ns` on; False if `close` was faster."""
        stream = self._ask(since=_fraction(self._since_ns))
        with self._lifecycle:
            if self._closed.is_set():
                stream.close()
                return False
            self._stream = stream
        return True

    def _ask(self, **when: Any) -> Any:
        # Not by label: the engine's events of networks carry none.
        filters = {"type": ["container", "network"], "event": ["create", *ACTIONS]}
        return self._client.events(decode=True, filters=filters, **when)

    def look_back(self) -> None:
        """Take in what the engine still keeps of the run, and the stream did not tell. DockerException if the engine
        does not answer.
        """
        stream = self._ask(since=_fraction(self._began_ns), until=_fraction(time.time_ns()))
        self._take(stream)

    def _read(self) -> None:
        while not self._closed.is_set():
            reason = "the stream ended"
            try:
                self._take(self._stream)
            except Exception as error:
                reason = f"the stream broke: {type(error).__name__}: {error}"
            self._begin_blind(reason)
            self._reopen()

    def _take(self, stream: Iterable[Mapping[str, Any]]) -> None:
        for event in stream:
            self.note(event)

    def _reopen(self) -> None:
        while not self._closed.wait(REOPEN_S):
            try:
                if self._open():
                    self._end_blind()
                return
            except Exception as error:
                self._begin_blind(f"the engine does not answer: {type(error).__name__}")

    def _begin_blind(self, reason: str) -> None:
        if not self._blind and not self._closed.is_set():
            self._blind = True
            self._timeline.append(Blind(source="docker", phase="begin", reason=reason))

    def _end_blind(self) -> None:
        self._blind = False
        reason = "the stream is open again, from the last event on"
        self._timeline.append(Blind(source="docker", phase="end", reason=reason))

    def _event_of(self, sent: Mapping[str, Any]) -> Container | None:
        """An event, if it is of this run and of interest. One of the network names the container by its id."""
        actor = sent.get("Actor", {})
        attributes = actor.get("Attributes", {})
        if sent.get("Type") == "network":
            node = self._nodes.get(attributes.get("container", ""))
            ours = node is not None and str(attributes.get("name", "")).startswith(f"{self._run_id}_")
            return event_of(sent, node) if ours else None
        if attributes.get(RUN_LABEL) != self._run_id:
            return None
        if NODE_LABEL in attributes:
            self._nodes[actor.get("ID", "")] = attributes[NODE_LABEL]
        return event_of(sent)

    def note(self, sent: Mapping[str, Any]) -> None:
        """Take in one event as the engine sends it; repeated events and those of no interest are ignored."""
        with self._noting:
            event = self._event_of(sent)
            if event is None or event in self._seen:
                return
            self._since_ns = max(self._since_ns, event.time_nano)
            self._timeline.append(event)
            with self._changed:
                self._seen.append(event)
                self._changed.notify_all()

    def wait(self, node: str, action: ContainerAction, *, since_ns: int, timeout_s: float) -> Container:
        """The first such event of a node whose own wall time (ns) is `since_ns` or later.

        Raises WaitTimeout with what was seen of the node instead.
        """
        start = time.monotonic()
        deadline = start + timeout_s
        with self._changed:
            while True:
                of_node = [event for event in self._seen if event.node == node and event.time_nano >= since_ns]
                for event in of_node:
                    if event.action == action:
                        return event
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    seen = ", ".join(event.action for event in of_node) or "nothing"
                    blind = " (the event stream is broken at this moment)" if self._blind else ""
                    raise WaitTimeout(
                        f"waited {time.monotonic() - start:.1f} s, no {action!r} event of {node}; seen of it since: "
                        f"{seen}{blind}"
                    )
                self._changed.wait(remaining)

    def close(self) -> None:
        """Stop listening and end the thread; again and again does no harm."""
        with self._lifecycle:
            if self._closed.is_set():
                return
            self._closed.set()
            stream = self._stream
        if stream is not None:
            stream.close()
        if self._thread is not None:
            self._thread.join(JOIN_LIMIT_S)
            self._thread = None
