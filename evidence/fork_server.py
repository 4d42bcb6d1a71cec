"""The process that others are forked from: `python -m evidence.fork_server DESCRIPTOR MODULE…` (evidence/forks.py).

It loads the modules and answers requests in one thread, so that no copy inherits a lock that nobody gives back. It owns
nothing but what it forks, and it ends when the socket of whoever began it has ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import selectors
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

FILES: Final = 4
"""Descriptors of a request: stdin, stdout, stderr, and the socket for process id and status."""
REQUEST: Final = 1 << 20
"""Bytes of a request at most."""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """What is to run in a copy, and its files."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    files: Sequence[int]


@dataclass(frozen=True, slots=True)
class ForkedCopy:
    """What a copy is to be, and its own connection to the server."""

    request: ForkRequest
    connection: socket.socket


@dataclass(slots=True)
class Server:
    """Forks whenever asked, and tells how each copy ended."""

    owner: socket.socket
    """That of whoever began the server."""
    others: list[socket.socket] = field(default_factory=list)
    """Those of copies, which may ask too."""
    running: dict[int, socket.socket] = field(default_factory=dict)
    """By process id, where the status of each copy is to be told."""

    def serve(self) -> ForkedCopy | None:
        """Serve until the owner's socket has ended: None then. It returns in each copy as well, with what that is."""
        waking, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        while True:
            ready = selectors.PollSelector()
            ready.register(waking, selectors.EVENT_READ)
            for connection in (self.owner, *self.others):
                ready.register(connection, selectors.EVENT_READ)
            asked = [key.fileobj for key, _ in ready.select()]
            if waking in asked:
                os.read(waking, 4096)
                self._reap()
            for connection in (self.owner, *self.others):
                if connection not in asked:
                    continue
                request = _received(connection)
                if request is not None:
                    copy = self._fork(request)
                    if copy is not None:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        for descriptor in (waking, wake):
                            os.close(descriptor)
                        return copy
                elif connection is self.owner:
                    return None
                else:
                    self.others.remove(connection)
                    connection.close()

    def _fork(self, request: ForkRequest) -> ForkedCopy | None:
        """Make a copy: None in the server, and in the copy what it is.

        A request that nobody waits for any more is void: whoever asked has begun the process from nothing by now, and
        two would write the same files.
        """
        *files, tell = request.files
        if _hung_up(tell):
            for descriptor in request.files:
                os.close(descriptor)
            return None
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            for one in (ours, self.owner, *self.others, *self.running.values()):
                one.close()
            return ForkedCopy(request, its)
        its.close()
        self.others.append(ours)
        for descriptor in files:
            os.close(descriptor)
        self.running[pid] = socket.socket(fileno=tell)
        process = os.pidfd_open(pid)
        try:
            socket.send_fds(self.running[pid], [str(pid).encode()], [process])
        except OSError:  # whoever asked has gone just now
            os.kill(pid, signal.SIGKILL)
        os.close(process)
        return None

    def _reap(self) -> None:
        """Tell the status of each copy that has ended to whoever asked for it."""
        for pid in list(self.running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with self.running.pop(pid) as tell, suppress(OSError):
                    tell.send(str(os.waitstatus_to_exitcode(status)).encode())


def _hung_up(told: int) -> bool:
    """Whether nobody listens at the other end of a socket, by its descriptor."""
    watch = select.poll()
    watch.register(told, 0)  # the end of the other side is told unasked
    return bool(watch.poll(0))


def _received(asking: socket.socket) -> ForkRequest | None:
    """The next request; None if nobody can ask there any more."""
    try:
        said, files, _, _ = socket.recv_fds(asking, REQUEST, FILES)
    except ConnectionError:
        return None
    return ForkRequest(**json.loads(said), files=files) if said else None


def _become(copy: ForkedCopy) -> None:
    """Be the process that was asked for, up to the running of its module."""
    from evidence import forks

    os.setsid()
    *files, tell = copy.request.files
    os.close(tell)
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # Those of the server remember what its own files could do.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(copy.request.environment)
    forks.use(copy.connection)


def _load(wanted: str) -> None:
    """Load a module, or what a function of a module loads (`module:function`)."""
    module, _, function = wanted.partition(":")
    loaded = importlib.import_module(module)
    if function:
        getattr(loaded, function)()


def main() -> None:
    """Load the modules that are named after the socket's descriptor, serve, and run in each copy what it is for."""
    number, *wanted = sys.argv[1:]
    for one in wanted:
        _load(one)
    gc.collect()
    gc.freeze()
    copy = Server(socket.socket(fileno=int(number))).serve()
    if copy is not None:
        _become(copy)
        sys.argv[1:] = copy.request.arguments
        runpy.run_module(copy.request.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
