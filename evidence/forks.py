"""Processes that are forked from one that has loaded the libraries already.

An interpreter that loads the libraries of a client takes 0.6 CPU seconds, one that loads those of a run 3; a run has
three clients or more, and a night has 750 runs. So one process, the fork server, loads the modules that are named once,
and is asked for a copy of itself whenever one of them is to run. The copy becomes the leader of a session, gets its
stdin, stdout, stderr and environment, runs the module as `python -m` would, and ends as an interpreter ends.

A request is one message on a Unix socket: the module and its arguments as JSON, and the copy's files (SCM_RIGHTS). One
of these files is a socket. There the server tells the copy's process id, gives a descriptor of the process (pidfd), and
tells its status once it has ended. The kernel says that it has ended, so that is known when the server is gone too.

The server ends when whoever began it ends, however that happens: its socket closes. A copy that may want copies itself
has a socket of its own to the server. The standard library's fork server (multiprocessing.forkserver) has neither: each
of its copies would begin a server of its own, and a copy has no files that its parent can talk to.

Where a fork cannot be had (no pidfd, as on macOS; no server was begun; the server is gone) a process is begun from
nothing.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Final

SERVER: Final = "evidence.fork_server"
ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What the server's libraries are told (numpy's and Arrow's). A copy of a process with several threads may have locks
that nobody gives back; Python 3.12 and later warn of it at each fork."""
ANSWER: Final = 64
"""Bytes of a number at most."""
START_LIMIT_S: Final = 60.0
"""From a request to the process id: the server may still be loading its modules, on a busy machine."""
STATUS_LIMIT_S: Final = 5.0
"""From the end of a process to its status. The server reaps it at once."""
UNKNOWN: Final = 255
"""The status of a process whose server ended before it."""


class ServerGone(Exception):
    """There is no server to ask, or it does not answer."""


@dataclass(slots=True, eq=False)
class Forked:
    """A process that was forked for us; it has what is used of subprocess.Popen."""

    pid: int
    args: Sequence[str]
    stdin: IO[str] | None
    stdout: IO[str] | None
    stderr: IO[str] | None
    _process: int
    """Its pidfd."""
    _told: socket.socket
    """Where the server tells its status."""
    returncode: int | None = None
    """How it ended: a status, or a signal's number below zero. None while it is not known to have ended."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, and say how. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            watch = selectors.PollSelector()
            watch.register(self._process, selectors.EVENT_READ)
            if not watch.select(timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            with self._lock:
                if self.returncode is None:
                    self.returncode = self._status()
        return self.returncode

    def _status(self) -> int:
        with self._told:  # it says nothing more
            self._told.settimeout(STATUS_LIMIT_S)
            try:
                said = self._told.recv(ANSWER)
            except OSError:
                said = b""
        return int(said) if said else UNKNOWN

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        """Close its files, then wait for its end, as Popen does."""
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait()

    def __del__(self) -> None:
        os.close(self._process)
        self._told.close()


@dataclass(frozen=True, slots=True)
class Forks:
    """A connection to a fork server."""

    pid: int
    """The server's process id, which is the parent of what it forks."""
    _socket: socket.socket
    _owned: subprocess.Popen[bytes] | None = None
    """The server, if it was begun here."""

    def popen(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        devnull: bool = False,
        merged: bool = False,
    ) -> Forked:
        """Run a module in a copy of the server, with pipes at its stdin, stdout and stderr.

        `devnull`: its stdin has ended already; `merged`: its stderr is its stdout. Raises ServerGone.
        """
        request = json.dumps({"module": module, "arguments": list(arguments), "environment": dict(environment)})
        with ExitStack() as theirs, ExitStack() as ours:
            stdin, to_stdin = (os.open(os.devnull, os.O_RDONLY), None) if devnull else os.pipe()
            from_stdout, stdout = os.pipe()
            from_stderr, stderr = (None, os.dup(stdout)) if merged else os.pipe()
            told, tell = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.enter_context(tell)
            for descriptor in (stdin, stdout, stderr):
                theirs.callback(os.close, descriptor)
            ours.enter_context(told)
            files = [
                None if descriptor is None else ours.enter_context(open(descriptor, mode, encoding="utf-8"))
                for descriptor, mode in ((to_stdin, "w"), (from_stdout, "r"), (from_stderr, "r"))
            ]
            pid, process = self._asked(request.encode(), (stdin, stdout, stderr, tell.fileno()), told)
            ours.pop_all()
        return Forked(pid, [module, *arguments], files[0], files[1], files[2], process, told)

    def _asked(self, request: bytes, files: Sequence[int], told: socket.socket) -> tuple[int, int]:
        """Process id and pidfd of the copy that was asked for. Raises ServerGone."""
        told.settimeout(START_LIMIT_S)
        try:
            socket.send_fds(self._socket, [request], list(files))
            said, processes, _, _ = socket.recv_fds(told, ANSWER, 1)
        except OSError as error:
            raise ServerGone(f"the fork server does not answer: {error}") from None
        if not processes:
            raise ServerGone("the fork server has ended")
        return int(said), processes[0]

    def close(self) -> None:
        """Have no more copies made; the server ends if it was begun here, also one that is still loading."""
        self._socket.close()
        if self._owned is not None:
            self._owned.kill()
            self._owned.wait()


_connections: list[Forks] = []
"""Those of this process, the last of which is used: none, that of `serving`, or that which a copy was given."""


def current() -> Forks | None:
    """The connection to a fork server that this process has, if it has one."""
    return _connections[-1] if _connections else None


def use(connection: socket.socket) -> None:
    """Use a connection to the server that this process was forked by."""
    _connections.append(Forks(os.getppid(), connection))


@contextmanager
def serving(modules: Sequence[str]) -> Iterator[None]:
    """Have a fork server with these modules while the block lasts, unless this process has one, or none can be had.

    A module that loads others only when it is asked is named with the function to ask, `module:function`. The server
    loads them meanwhile: nobody waits for it before the first request.
    """
    if current() is not None or not hasattr(os, "pidfd_open"):
        yield
        return
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        server = subprocess.Popen(
            [sys.executable, "-m", SERVER, str(its.fileno()), *modules],
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            start_new_session=True,
            env=os.environ | ONE_THREAD,
        )
    forks = Forks(server.pid, ours, server)
    _connections.append(forks)
    try:
        yield
    finally:
        _connections.remove(forks)
        forks.close()


def start(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    devnull: bool = False,
    merged: bool = False,
    fresh: bool = False,
) -> Forked | subprocess.Popen[str]:
    """Run a module as `python -m` does, with pipes at its stdin, stdout and stderr: forked if a server is there.

    `devnull`: its stdin has ended already; `merged`: its stderr is its stdout; `fresh`: in an interpreter of its own.
    """
    server = None if fresh else current()
    if server is not None:
        with suppress(ServerGone):
            return server.popen(module, arguments, environment, devnull=devnull, merged=merged)
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.DEVNULL if devnull else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE,
        text=True,
        env=dict(environment),
        start_new_session=True,
    )
