"""A process of ours that is talked to in lines of JSON: one that records, or the analysis.

It starts at once, so that interpreter and libraries load meanwhile; one that records is forked from a process that has
loaded them, if there is one (evidence/forks.py). It leads a session of its own: Ctrl-C at the terminal is for the
harness, which then ends its processes in order, by the end of their input. A process that has ended is noticed at the
next call and named with the end of what it printed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final

from evidence import forks
from evidence.errors import HarnessError, WaitTimeout

CLOSE_LIMIT_S: Final = 30.0
KILL_LIMIT_S: Final = 5.0
REMEMBERED: Final = 50
"""Lines of stderr that are kept to explain an end."""


def wait_or_kill(process: subprocess.Popen[Any] | forks.Forked, term_s: float, kill_s: float) -> None:
    """Wait until a process has ended: after `term_s` it gets SIGTERM, and `kill_s` later SIGKILL."""
    for patience_s, escalate in ((term_s, process.terminate), (kill_s, process.kill)):
        try:
            process.wait(patience_s)
            break
        except subprocess.TimeoutExpired:
            escalate()
    process.wait()


class Worker:
    """A Python module run as a process, and the lines that go to and fro."""

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        gone: type[HarnessError] = HarnessError,
        fresh: bool = False,
    ) -> None:
        """Start `python -m module arguments`; `gone` is what is raised once it has ended.

        `fresh`: in an interpreter of its own, for libraries that heed the environment when they are loaded.
        """
        self.name = name
        self._gone = gone
        self._process = forks.start(module, arguments, os.environ | dict(environment or {}), fresh=fresh)
        self._received: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._complaints: list[str] = []
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_complaints, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """How it ended: an exit status, or a signal's number below zero. None while it runs."""
        return self._process.poll()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            try:
                message = json.loads(line)
            except json.JSONDecodeError:
                message = None
            if isinstance(message, dict):
                self._received.put(message)
            else:
                self._complain(line)
        self._received.put(None)

    def _read_complaints(self, stream: IO[str]) -> None:
        for line in stream:
            self._complain(line)

    def _complain(self, line: str) -> None:
        self._complaints.append(line.rstrip())
        del self._complaints[:-REMEMBERED]

    @property
    def output_tail(self) -> str:
        """The end of what it printed that was no message."""
        return " | ".join(self._complaints[-12:]) or "nothing"

    def send_message(self, **message: Any) -> None:
        """Send one message; raises what `gone` says if the process has ended."""
        self.send_line(json.dumps(message))

    def send_line(self, line: str) -> None:
        """Send one line as it is; raises what `gone` says if the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._died() from None

    def receive(self, timeout_s: float, what: str) -> dict[str, Any]:
        """The next message. WaitTimeout if none comes, what `gone` says if the process has ended."""
        try:
            message = self._received.get(timeout=max(timeout_s, 0.001))
        except queue.Empty:
            raise WaitTimeout(
                f"{self.name}: nothing heard within {timeout_s:.0f} s while {what}; it said: {self.output_tail}"
            ) from None
        if message is None:
            self._received.put(None)
            raise self._died()
        return message

    def _died(self) -> HarnessError:
        try:
            code: int | None = self._process.wait(KILL_LIMIT_S)
        except subprocess.TimeoutExpired:
            code = None
        for reader in self._readers:
            reader.join(KILL_LIMIT_S)  # its last words may still be on their way
        return self._gone(f"the process {self.name} has ended (status {code}); it said: {self.output_tail}")

    def close(self, timeout_s: float = CLOSE_LIMIT_S) -> None:
        """End the process: by the end of its input, after `timeout_s` SIGTERM, then SIGKILL; twice does no harm."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                self._complain("input closed early")
        wait_or_kill(self._process, timeout_s, KILL_LIMIT_S)
        for reader in self._readers:
            reader.join(KILL_LIMIT_S)
        if any(reader.is_alive() for reader in self._readers):
            # A process that it has started holds the other end, and may be stopped, or never end.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            for reader in self._readers:
                reader.join(KILL_LIMIT_S)
        if any(reader.is_alive() for reader in self._readers):
            return  # somebody who has left the group holds it, and to close what is being read would wait for them
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def kill(self) -> None:
        """Kill -9, with every process of its group, which it leads: for those who want to see what becomes of what it
        recorded.
        """
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self.close()
