"""Docker's own event stream for one run: a witness of every fault that is not the call that injected it.

Events are read by a thread, written to the timeline, and kept, so that `wait` can look back: a container may die before
anyone begins to wait for it. If the stream ends before it is closed, that is a blind interval.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

from harness.cluster.docker import NODE_LABEL, RUN_LABEL
from harness.errors import WaitTimeout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from docker import DockerClient

    from harness.timeline import Timeline

ACTIONS: Final = ("start", "die", "kill", "pause", "unpause", "oom", "stop")
JOIN_LIMIT_S: Final = 5.0


class DockerEvents:
    """The container events of one run, from `start` to `close`."""

    def __init__(self, client: DockerClient, run_id: str, timeline: Timeline) -> None:
        self._client = client
        self._run_id = run_id
        self._timeline = timeline
        self._seen: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._stream: Any = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self) -> None:
        """Begin to listen; events from this call on are not missed."""
        self._stream = self._client.events(
            decode=True,
            filters={"type": "container", "label": f"{RUN_LABEL}={self._run_id}", "event": list(ACTIONS)},
        )
        self._thread = threading.Thread(target=self._read, args=(self._stream,), name="docker-events", daemon=True)
        self._thread.start()

    def _read(self, stream: Iterable[dict[str, Any]]) -> None:
        reason = "the stream ended"
        try:
            for event in stream:
                self.note(event)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        if not self._closed:
            self._timeline.append("docker", "blind", phase="begin", reason=reason)

    def note(self, event: dict[str, Any]) -> None:
        """Take in one event as the engine sends it."""
        attributes = event.get("Actor", {}).get("Attributes", {})
        action = str(event.get("Action", ""))
        code = attributes.get("exitCode")
        entry = {
            "node": attributes.get(NODE_LABEL, attributes.get("name", "?")),
            "action": action,
            "exit_code": int(code) if code is not None else None,
            "time_nano": event.get("timeNano", 0),
        }
        if action not in ACTIONS:
            return
        self._timeline.append("docker", "container", **entry)
        with self._changed:
            self._seen.append(entry)
            self._changed.notify_all()

    def wait(self, node: str, action: str, *, since_ns: int, timeout_s: float) -> dict[str, Any]:
        """The first such event of a node whose own wall time is `since_ns` or later.

        Raises WaitTimeout with what was seen of the node instead.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                of_node = [event for event in self._seen if event["node"] == node and event["time_nano"] >= since_ns]
                for event in of_node:
                    if event["action"] == action:
                        return dict(event)
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    seen = ", ".join(event["action"] for event in of_node) or "nothing"
                    raise WaitTimeout(
                        f"no {action!r} event of {node} within {timeout_s:.0f} s; seen of it since: {seen}"
                    )
                self._changed.wait(remaining)

    def close(self) -> None:
        """Stop listening; again and again does no harm."""
        if self._closed:
            return
        self._closed = True
        if self._stream is not None:
            self._stream.close()
        if self._thread is not None:
            self._thread.join(JOIN_LIMIT_S)
