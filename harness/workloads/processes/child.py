"""What every workload process has in common: its arguments, its life with the harness, its lines of JSON.

A child gets one JSON argument and speaks JSON lines on stdin and stdout. It must not outlive the harness, nor lose
what it has recorded when it goes. The end of its stdin means "stop, flush, close properly", and it comes whatever
ends the harness, kill -9 included, since the kernel closes a dead process's pipes; SIGTERM means the same. (The
parent-death signal would come too early: it is tied to the thread that started the child, not to the process.)
Ctrl-C at the terminal is the harness's affair.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from evidence.errors import ClientFailed
from evidence.history import schema
from evidence.history.writer import HistoryWriter
from harness.workloads.settings import CLIENT, DEBUG

DEFAULTS: Final[Mapping[str, Any]] = {
    **CLIENT,
    # What goes wrong is in the history; librdkafka's own lines would go to stderr among the reasons of a crash.
    "log_level": 0,
}
"""Settings of every client that the caller did not set otherwise."""

LOGGED: Final[Mapping[str, Any]] = {"log_level": 7}
"""The same of a client that is told to write down what it does (librdkafka's `debug`)."""

COLLECT_AFTER: Final = 100_000
"""Objects more than at the last look."""

ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}


def collect_garbage_rarely() -> None:
    """Make garbage collection rare: messages of a poll hold no cycles, and searching them at the interpreter's own
    thresholds takes 0.1 to 0.2 µs a record, a tenth of what it costs to read one.

    What is there when the process starts stays, and a poll or the reports in flight are fewer than the threshold.
    """
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def client_settings(
    bootstrap: str, settings: Mapping[str, Any], *, fixed: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A client's configuration: the defaults, overridden by the caller's settings, overridden by `fixed`."""
    logging = dict(LOGGED) if DEBUG in settings else {}
    return dict(DEFAULTS) | logging | dict(settings) | {"bootstrap.servers": bootstrap} | dict(fixed or {})


def acks_of(settings: Mapping[str, Any]) -> int:
    """The acks of a producer's settings as Kafka numbers them: -1 all, 0, 1; all if nothing is said."""
    return ACKS[str(settings.get("acks", settings.get("request.required.acks", "all")))]


def say(**message: Any) -> None:
    """Send one line to the harness. If the harness is gone the line is dropped; stdin has then ended as well."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would fail once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands:
    """The lines that come on stdin; its end and SIGTERM mean stop."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.stopped = False
        """Whether the end of stdin, SIGTERM or a line {"stop": true} has been seen."""
        self.orphaned = False
        """Whether the harness is gone: end at once."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self._lines.put(None))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def next(self, timeout_s: float) -> dict[str, Any] | None:
        """The next line if one comes in time; None if none does, or if this is the end (`stopped`)."""
        if self.stopped:
            return None
        try:
            line = self._lines.get(timeout=timeout_s) if timeout_s > 0 else self._lines.get_nowait()
        except queue.Empty:
            return None
        if line is None or line.get("stop"):
            self.stopped = True
            self.orphaned = line is None
            return None
        return line

    def wait(self) -> dict[str, Any] | None:
        """The next line, however long it takes; None if this is the end."""
        while not self.stopped:
            line = self.next(3600.0)
            if line is not None:
                return line
        return None


@contextmanager
def recording() -> Iterator[tuple[dict[str, Any], Commands, HistoryWriter]]:
    """The JSON object given as the process's only argument, its commands, and its history while the block lasts. A
    client of the user's own that fails ends the block: that is on record, and the harness is told.
    """
    arguments: dict[str, Any] = json.loads(sys.argv[1])
    if "stderr" in arguments:
        with Path(arguments["stderr"]).open("ab") as file:
            os.dup2(file.fileno(), sys.stderr.fileno())
    commands = Commands()
    with HistoryWriter(Path(arguments["path"]), arguments["process"], run=arguments["run"]) as writer:
        try:
            yield arguments, commands, writer
        except ClientFailed as error:
            # On record first: nobody may be listening any more.
            writer.append(kind=schema.CLIENT_FAILED, outcome=schema.INFO, flush=True, error_name=str(error))
            say(client_failed=str(error))


def partitions_of(topics: Mapping[str, Iterable[int]]) -> list[tuple[str, int]]:
    """Every (topic, partition) of an argument that has the partitions of each topic."""
    return [(topic, number) for topic, numbers in topics.items() for number in numbers]
