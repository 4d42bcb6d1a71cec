"""The harness's handles on workers of Kafka Connect (harness/workloads/processes/connect.py).

A worker tells of the lines that it has written for a source. Everything else is asked of Connect's REST interface.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from evidence.errors import HarnessError
from harness.workloads.connectors import HOST
from harness.workloads.handles.application import StoppedFromOutside
from harness.workloads.handles.client import Client
from harness.workloads.stores import located

REST_S: Final = 10.0
"""How long one answer may take. A worker that is not the leader asks that one."""
LINES_LIMIT_S: Final = 60.0
"""Its Java virtual machine starts before it hears of lines."""


class NotAnswered(Exception):
    """A worker does not answer yet, or answers that it cannot do that now: in the words of whoever refused."""


def free_port() -> int:
    """A port of the loopback interface on which nobody listens now."""
    with closing(socket.socket()) as listening:
        listening.bind((HOST, 0))
        return int(listening.getsockname()[1])


def directory_of(worker: str) -> str:
    """The directory of a worker within the run directory."""
    return f"store/{worker}"


@dataclass(frozen=True, slots=True)
class WorkerProgress:
    """The lines that a worker has written for a source: the length of each, with its end, in bytes."""

    lengths: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{len(self.lengths)} lines"


class ConnectWorker(StoppedFromOutside[WorkerProgress]):
    """A process in which a worker of Kafka Connect works."""

    def __init__(
        self,
        client: Client,
        *,
        port: int,
        inputs: tuple[str, int],
        output: str,
        group: str,
        store: str = "",
        lines: int = 0,
    ) -> None:
        """`inputs`: the topic and partition whose records a source has a line for, or that a sink reads. `group`: what
        commits; `store`: the file that a sink writes; `lines`: how many its source finds there.
        """
        self.run = client.run_dir.path.name
        self.store = located(client.run_dir.path, store) if store else ""
        topic, partition = inputs
        child = client.start(
            "connect",
            directory=located(client.run_dir.path, directory_of(client.name)),
            input=topic,
            partition=partition,
            output=output,
            store=self.store,
            lines=lines,
        )
        super().__init__(client.name, child, WorkerProgress())
        self.port, self.inputs, self.output, self.group = port, topic, output, group
        self.producer_id = client.producer_id

    @property
    def address(self) -> str:
        """What Connect calls it."""
        return f"{HOST}:{self.port}"

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of each line that it has written, in bytes."""
        return self._latest.lengths

    def _progress(self, heard: Mapping[str, Any]) -> WorkerProgress:
        return WorkerProgress(tuple(heard["lengths"]))

    def append(self, count: int) -> None:
        """Have it write so many further lines, and wait until they are in its file."""
        wanted = len(self.lengths) + count
        self._child.send_message(lines=count)
        self.wait_lines(wanted)

    def wait_lines(self, count: int) -> None:
        """Wait until its file has so many lines."""
        self._wait(lambda progress: len(progress.lengths) >= count, f"{count} lines", LINES_LIMIT_S)

    def ask(self, method: str, path: str, content: Mapping[str, str] | None = None) -> Any:
        """What its REST interface answers. Raises NotAnswered if it does not, or refuses for now; HarnessError, with
        Connect's own words, if it refuses for good.
        """
        body = None if content is None else json.dumps(dict(content))
        with closing(http.client.HTTPConnection(HOST, self.port, timeout=REST_S)) as connection:
            try:
                connection.request(method, path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                status, text = answer.status, answer.read().decode(errors="replace")
            except (OSError, http.client.HTTPException) as error:
                raise NotAnswered(f"{self.name}: {type(error).__name__} {error}") from None
        return understood(self.name, status, text)


def understood(worker: str, status: int, text: str) -> Any:
    """The content of an answer of Connect's REST interface. Raises as `ConnectWorker.ask` does.

    What is not found may be made soon, a conflict is a rebalance, and beyond 500 the worker is not ready.
    """
    if status in (http.client.NOT_FOUND, http.client.CONFLICT) or status >= http.client.INTERNAL_SERVER_ERROR:
        raise NotAnswered(f"{worker}: {status} {text[:200]}")
    if status >= http.client.BAD_REQUEST:
        raise HarnessError(f"{worker} refuses: {status} {text[:500]}")
    try:
        return json.loads(text) if text else None
    except json.JSONDecodeError:
        raise HarnessError(f"{worker} answers what is no JSON: {text[:200]}") from None
