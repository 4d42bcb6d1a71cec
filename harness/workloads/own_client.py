"""A client of the user's own as a process, and the lines that go to and fro (harness/workloads/protocol.py).

Its stdin and stdout are for the protocol, its stderr goes to a file of the run. It lives in the process group of the
recorder that started it, so that a fault that kills the one kills both at once. It ends when its stdin ends; one that
does not is sent SIGTERM, then SIGKILL.

Whatever such a client does wrong (it says nothing, ends, or says what is no answer) is its own failure: ClientFailed,
with what was seen. The first one counts, and everything that was asked and not answered is told at once that there will
be no answer. Nothing is concluded from it about Kafka.

A line is read and written on threads of their own: a client that does not read its commands holds up nobody, and one
that is not listened to for a while loses nothing.
"""

from __future__ import annotations

import functools
import os
import queue
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, TypeVar

from evidence.errors import ClientFailed, UsageError
from evidence.text import visible
from evidence.worker import wait_or_kill
from harness.workloads import protocol
from harness.workloads.protocol import Answer, AnyAnswer, Assigned, Command, Failed, Hello, Nonsense, Revoked, WithId

HELLO_LIMIT_S: Final = 30.0
"""An interpreter that loads its libraries on a busy machine takes some seconds."""
READY_LIMIT_S: Final = 45.0
"""To make a client, which may look for its brokers first."""
END_LIMIT_S: Final = 10.0
"""To end when its stdin has ended."""
TERM_LIMIT_S: Final = 3.0
LINE_LIMIT: Final = 64 << 20
"""Bytes of a line: more than any poll of a recorder's can have."""
SAID: Final = 2_000
"""Bytes of the end of stderr that are looked at for the reason of an end."""
LINES: Final = 2
WORDS: Final = 400
"""Lines and characters of it that are told."""

MODULES: Final = "PYTHONPATH"
PROGRAM: Final = str(Path(__file__).resolve().parents[2])

Told = TypeVar("Told", bound=Answer)
Heard = Callable[[WithId | None], None]
"""Gets the answer to a command; None if there will be none. Called on the thread that reads."""


def without_program(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for somebody else's program: where modules of this one are is not in its PYTHONPATH.

    An installation puts it there for its own processes (kafka_chaos/__main__.py), and its packages have common names.
    """
    kept = [place for place in environment.get(MODULES, "").split(os.pathsep) if place not in ("", PROGRAM)]
    rest = {name: value for name, value in environment.items() if name != MODULES}
    return rest | ({MODULES: os.pathsep.join(kept)} if kept else {})


class OwnClient:
    """A client's process."""

    def __init__(self, command: Sequence[str], stderr: Path | None = None) -> None:
        """Start it; what it prints on stderr is appended to a file, or dropped if none is given.

        Raises ClientFailed if it cannot be started.
        """
        self._command = shlex.join(command)
        self._stderr = stderr
        complaints: IO[bytes] | int = subprocess.DEVNULL if stderr is None else stderr.open("ab")
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=without_program(os.environ),
            )
        except OSError as error:
            raise ClientFailed(f"{self._command} cannot be started: {error.strerror or error}") from None
        finally:
            if not isinstance(complaints, int):
                complaints.close()
        self.failure: ClientFailed | None = None
        """What it did wrong first."""
        self.moves: queue.SimpleQueue[Assigned | Revoked | None] = queue.SimpleQueue()
        """What a member of a group was given and what it gave back; None where a poll was answered."""
        self._first: queue.SimpleQueue[AnyAnswer | None] = queue.SimpleQueue()
        self._waiting: dict[int, tuple[Command, Heard]] = {}
        self._lock = threading.Lock()
        self._number = 0
        self._heard = "nothing"
        self._closing = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._write)]
        for thread in self._threads:
            thread.start()

    # What is asked

    def greeting(self) -> Hello:
        """Its first line. Raises ClientFailed."""
        try:
            return protocol.hello(self._handshake(HELLO_LIMIT_S, "hello"))
        except Nonsense as error:
            raise self.fail(f"says what is no hello: {error}") from None

    def start(self, command: Command) -> dict[str, str]:
        """Have it be a producer or a consumer; the settings that it says it goes by. Raises ClientFailed."""
        self._lines.put(protocol.line(command))
        said = self._handshake(READY_LIMIT_S, "ready")
        if isinstance(said, protocol.Refused):
            raise self.fail(f"refuses to start: {visible(said.reason)}")
        if not isinstance(said, protocol.Ready):
            raise self.fail(f"was started and says {protocol.kind(said)}, not ready or refused")
        return dict(said.settings)

    def _handshake(self, timeout_s: float, wanted: str) -> AnyAnswer:
        try:
            said = self._first.get(timeout=timeout_s)
        except queue.Empty:
            raise self.fail(f"did not say {wanted} within {timeout_s:.0f} s; {self._said()}") from None
        if said is None:
            assert self.failure is not None
            raise self.failure
        return said

    def tell(self, make: Callable[[int], Command], heard: Heard) -> None:
        """Give a command, made with its number; `heard` is told the answer."""
        with self._lock:
            self._number += 1
            command, gone = make(self._number), self.failure is not None
            if not gone:
                self._waiting[self._number] = command, heard
        if gone:
            heard(None)
        else:
            self._lines.put(protocol.line(command))

    def ask(self, make: Callable[[int], Command], wanted: type[Told], timeout_s: float) -> Told | Failed:
        """Give a command and wait for its answer. Raises ClientFailed."""
        answers: queue.SimpleQueue[WithId | None] = queue.SimpleQueue()
        asked: list[Command] = []

        def made(number: int) -> Command:
            asked.append(make(number))
            return asked[0]

        self.tell(made, answers.put)
        try:
            answer = answers.get(timeout=timeout_s)
        except queue.Empty:
            what = asked[0].__struct_config__.tag
            raise self.fail(f"did not answer {what} within {timeout_s:.0f} s; {self._said()}") from None
        if answer is None:
            assert self.failure is not None
            raise self.failure
        assert isinstance(answer, (wanted, Failed))  # the thread that reads has looked
        return answer

    # What it says

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while said := self._process.stdout.readline(LINE_LIMIT):
                self._heard = protocol.excerpt(said)
                self._take(protocol.answer(said))
        except Nonsense as error:
            self.fail(f"says what is no answer: {error}")
        else:
            if not self._closing:
                self.fail(f"has ended ({self._status()}); {self._said()}")
        self._drain()

    def _take(self, said: AnyAnswer) -> None:
        if isinstance(said, (Assigned, Revoked)):
            self.moves.put(said)
        elif isinstance(said, WithId):
            self._match(said)
        else:
            self._first.put(said)

    def _match(self, said: WithId) -> None:
        """Hand an answer to whoever asked. A command whose answer is nonsense still waits: `fail` tells it."""
        with self._lock:
            command, heard = self._waiting.get(said.id, (None, None))
            if command is None or heard is None:
                raise Nonsense(f"{protocol.kind(said)} {said.id}, which nobody asked for, or which was answered before")
            if not isinstance(said, (protocol.EXPECTED[type(command)], Failed)):
                raise Nonsense(f"{protocol.kind(said)} {said.id} is no answer to {command.__struct_config__.tag}")
            del self._waiting[said.id]
        if isinstance(command, protocol.Poll):
            self.moves.put(None)
        heard(said)

    def _drain(self) -> None:
        """Read what else it prints, so that it can end."""
        assert self._process.stdout is not None
        while self._process.stdout.read(1 << 16):
            pass

    def fail(self, why: str) -> ClientFailed:
        """Note that it failed, unless it had before, tell everybody who waits, and kill it; the first failure."""
        with self._lock:
            self.failure = self.failure or ClientFailed(f"{self._command} {why}")
            waiting, self._waiting = self._waiting, {}
        for _, heard in waiting.values():
            heard(None)
        self._first.put(None)
        self._process.kill()
        return self.failure

    def _status(self) -> str:
        try:
            status = self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return "its stdout, but not its process"
        return f"status {status}" if status >= 0 else f"signal {-status}"

    def _said(self) -> str:
        complaints = ""
        if self._stderr is not None:
            with suppress(OSError), self._stderr.open("rb") as file:
                file.seek(max(0, self._stderr.stat().st_size - SAID))
                text = file.read().decode("utf-8", "replace")
                lines = [line.strip() for line in text.splitlines() if line.strip()]
                complaints = visible(" | ".join(lines[-LINES:])[-WORDS:])
        return f"it said last {self._heard}, and on stderr {complaints or 'nothing'}"

    # Its stdin, and its end

    def _write(self) -> None:
        assert self._process.stdin is not None
        # A client that has gone is noticed where its answers end.
        with suppress(BrokenPipeError, ValueError):
            while (lines := self._lines.get()) is not None:
                self._process.stdin.write(lines)
                if self._lines.empty():
                    self._process.stdin.flush()
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def close(self) -> None:
        """End it: by the end of its stdin, then SIGTERM, then SIGKILL. May be called again."""
        self._closing = True
        self._lines.put(None)
        wait_or_kill(self._process, END_LIMIT_S, TERM_LIMIT_S)
        for thread in self._threads:
            thread.join(TERM_LIMIT_S)
        if self._process.stdout is not None and not self._threads[0].is_alive():
            self._process.stdout.close()


@functools.cache
def introduced(command: str) -> Hello:
    """What a client says of itself, asked once for each command.

    Raises UsageError, in one line, for a command that cannot be started, says nothing, ends, or says what is no
    greeting.
    """
    try:
        words = shlex.split(command)
        if not words:
            raise UsageError("--client is empty: name a client, or the command of one (docs/own-clients.md)")
    except ValueError as error:
        raise UsageError(f"--client {command!r} is no command: {error}") from None
    with tempfile.TemporaryDirectory() as folder:
        try:
            client = OwnClient(words, Path(folder, "stderr"))
            try:
                return client.greeting()
            finally:
                client.close()
        except ClientFailed as error:
            raise UsageError(f"--client: {error} (docs/own-clients.md says what a client says first)") from None
