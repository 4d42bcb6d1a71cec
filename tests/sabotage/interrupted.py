"""The harness under faults of its own: runs that are interrupted or killed, whose disk fills, whose engine goes away.

A run is a process of its own, with a directory and a terminal (session) of its own. At a moment something is done to
it; when it has ended, nothing of it may be left on the engine, no process and no live data of it, its directory must
be readable, and its exit status and last line must say what happened. What a run could not remove, because it was
killed or there was no engine, the next run in that directory removes.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.cli import EXIT_INTERRUPTED
from evidence import timeline
from evidence.errors import EXIT_ERROR, EXIT_UNKNOWN, HarnessError, UsageError
from evidence.history.read import open_run
from evidence.rundir import RunDir
from harness.cluster.disks import loops_below, mounted_below
from harness.cluster.docker import connect, find_ours

LIMIT_S: Final = 600.0
POLL_S: Final = 0.005
PROCESSES_LIMIT_S: Final = 30.0
"""In which the clients and the analysis of a harness that was killed end."""
ENGINE: Final = Path("/var/run/docker.sock")
SMALL_DISK_BYTES: Final = 256 * 1024**2
KILLED: Final = -signal.SIGKILL


@dataclass(slots=True)
class Victim:
    """A run that something is done to."""

    process: subprocess.Popen[str]
    root: Path
    """Its --runs-dir."""
    engine: Engine | None = None
    """What it has in the place of the engine's socket, if it is to lose it."""

    @property
    def run_dir(self) -> RunDir:
        """Its run directory; HarnessError if it left none."""
        found = sorted(self.root.glob("*/run.json"))
        if not found:
            raise HarnessError("no run directory")
        return RunDir(found[0].parent)


Moment = Callable[[Victim], bool]
Action = Callable[[Victim], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Something that is done to a run at a moment, and what must come of it."""

    name: str
    before: str
    """What it came to before (RELIABILITY.md's table, at ff22bf4)."""
    when: Moment
    delay_s: float = 0.0
    """After that moment."""
    do: Action
    status: tuple[int, ...] = (EXIT_INTERRUPTED,)
    says: str = "kafka-chaos: interrupted; what was started has been removed"
    """Is in the last line."""
    state: tuple[str, ...] = ("interrupted",)
    leaves: bool = False
    """Whether something may be left, for the next run to remove."""
    small_disk: bool = False
    own_engine: bool = False
    scenario: str = "baseline"
    case: str = ""
    """Of the scenario; "" for its only one, or all."""
    version: str = "4.3.1"


@dataclass(slots=True)
class Outcome:
    """What came of a case."""

    status: int = 0
    last_line: str = ""
    wrong: list[str] = field(default_factory=list)


def begun(victim: Victim) -> bool:
    """When its own code runs: Python has ignored SIGPIPE by then, and no longer catches SIGINT (app/__main__.py).

    Until then Python catches it, and a Ctrl-C ends in a traceback of the interpreter's start.
    """
    try:
        told = Path(f"/proc/{victim.process.pid}/status").read_text()
    except OSError:
        return True  # it has ended
    ignored, caught = (int(line.split()[1], 16) for line in told.splitlines() if line.startswith(("SigIgn", "SigCgt")))
    return bool(ignored >> (signal.SIGPIPE - 1) & 1) and not caught >> (signal.SIGINT - 1) & 1


def opened(victim: Victim) -> bool:
    """When its run directory is there: the cluster is about to be created."""
    return any(victim.root.glob("*/run.json"))


def told(text: str) -> Moment:
    """When its timeline has this text."""

    def has(victim: Victim) -> bool:
        return any(text in path.read_text(errors="replace") for path in victim.root.glob("*/timeline.jsonl"))

    return has


def is_complete(victim: Victim) -> bool:
    """When run.json says so: the analysis begins, and the removal goes on."""
    return any('"state": "complete"' in path.read_text() for path in victim.root.glob("*/run.json"))


def to_all(number: signal.Signals) -> Action:
    """As a terminal does: to the run and every process that it has there."""
    return lambda victim: os.killpg(victim.process.pid, number)


def to_it(number: signal.Signals) -> Action:
    """To the run alone."""
    return lambda victim: victim.process.send_signal(number)


def ctrl_c_again_and_again(victim: Victim) -> None:
    """By somebody without patience."""
    for _ in range(4):
        os.killpg(victim.process.pid, signal.SIGINT)
        time.sleep(0.1)


def fill_the_disk(victim: Victim) -> None:
    """Whatever room is left there."""
    with suppress(OSError), (victim.root / "filling").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024**2))


def kill_a_recorder(victim: Victim) -> None:
    """The producer's process, as if the kernel had done it."""
    history = str(victim.run_dir.path / "history" / "producer-1")
    for number in _processes(victim.root):
        if any(name.startswith(history) for name in _open_files(number)):
            os.kill(number, signal.SIGKILL)


def remove_a_broker(victim: Victim) -> None:
    """docker rm -f."""
    name = f"{victim.run_dir.path.name}-broker-2-1"
    subprocess.run(["docker", "rm", "-f", name], check=True, capture_output=True)


def end_the_engine(victim: Victim) -> None:
    """Nobody answers at its socket any more, and whoever was connected is not."""
    assert victim.engine is not None
    victim.engine.close()


class Engine:
    """A socket that passes everything on to the engine's, until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path, self._open = path, True
        self._connections: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while self._open:
                asking, _ = self._listener.accept()
                answering = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                answering.connect(str(ENGINE))
                self._connections += [asking, answering]
                for pair in ((asking, answering), (answering, asking)):
                    threading.Thread(target=_pass_on, args=pair, daemon=True).start()

    def close(self) -> None:
        """From now on there is no engine."""
        self._open = False
        self._path.unlink(missing_ok=True)
        for one in (self._listener, *self._connections):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


CTRL_C: Final = to_all(signal.SIGINT)
FULL: Final = "the disk is full"
CASES: Final = (
    *(Case(name=f"Ctrl-C {1000 * delay_s:.0f} ms after the beginning", before="a traceback", when=begun,
           delay_s=delay_s, do=CTRL_C, status=(EXIT_INTERRUPTED, -signal.SIGINT), says="", state=("interrupted", ""))
      for delay_s in (0.05, 0.3, 0.8)),
    *(Case(name=f"Ctrl-C during create, {1000 * delay_s:.0f} ms in", before="a network or a container stays, 4 of 17",
           when=opened, delay_s=delay_s, do=CTRL_C, version=version)
      for version, delay_s in zip(2 * ("0.10.2.2", "4.3.1"), (0.02, 0.25, 0.12, 0.5), strict=True)),
    Case(name="SIGTERM during create", before="as Ctrl-C", when=opened, delay_s=0.2, do=to_it(signal.SIGTERM)),
    Case(name="Ctrl-C while the cluster starts", before="well", when=told('"kind":"container"'), do=CTRL_C),
    Case(name="Ctrl-C four times in the steps", before="well", when=told('"kind":"acked"'), do=ctrl_c_again_and_again),
    Case(name="SIGTERM in the steps", before="well", when=told('"kind":"acked"'), do=to_it(signal.SIGTERM)),
    Case(name="SIGHUP in the steps", before="everything stays, 13 of 13", when=told('"kind":"acked"'),
         do=to_all(signal.SIGHUP)),
    Case(name="SIGHUP during create", before="everything stays, 13 of 13", when=opened, delay_s=0.3,
         do=to_all(signal.SIGHUP)),
    *(Case(name=f"Ctrl-C {1000 * delay_s:.0f} ms after “complete”", before="the cluster stays, 5 of 6",
           when=is_complete, delay_s=delay_s, do=CTRL_C, state=("complete",), version=version)
      for version, delay_s in (("4.3.1", 0.0), ("0.10.2.2", 0.0), ("4.3.1", 0.1), ("4.3.1", 0.4))),
    Case(name="SIGHUP just after “complete”", before="everything stays, 13 of 13", when=is_complete,
         do=to_all(signal.SIGHUP), state=("complete",)),
    Case(name="kill -9 during create", before="data/ stays", when=opened, delay_s=0.3, do=to_it(signal.SIGKILL),
         status=(KILLED,), says="", state=("running",), leaves=True),
    Case(name="kill -9 in the steps", before="data/ stays", when=told('"kind":"acked"'), do=to_it(signal.SIGKILL),
         status=(KILLED,), says="", state=("running",), leaves=True, version="0.10.2.2"),
    Case(name="kill -9 while an application stands still", before="not tried", when=told('"kind":"crash-point"'),
         do=to_it(signal.SIGKILL), status=(KILLED,), says="", state=("running",), leaves=True,
         scenario="exactly-once-transactions", case="before-commit"),
    Case(name="Ctrl-C while an application stands still", before="not tried", when=told('"kind":"crash-point"'),
         do=CTRL_C, scenario="exactly-once-transactions", case="before-commit"),
    Case(name="Ctrl-C with file systems mounted", before="not tried", when=told('"kind":"acked"'), do=CTRL_C,
         scenario="last-replica-standing"),
    Case(name="kill -9 with file systems mounted", before="not tried", when=told('"kind":"acked"'),
         do=to_it(signal.SIGKILL), status=(KILLED,), says="", state=("running",), leaves=True,
         scenario="last-replica-standing"),
    Case(name="disk full when the topic is there", before="a traceback and 1; the cluster stays",
         when=told('"kind":"partition"'), do=fill_the_disk, small_disk=True, status=(EXIT_ERROR,), says=FULL,
         state=("failed", "running")),
    Case(name="disk full in the steps", before="a traceback and 1; the cluster stays", when=told('"kind":"acked"'),
         do=fill_the_disk, small_disk=True, status=(EXIT_ERROR,), says=FULL, state=("failed", "running"),
         scenario="double-failover", version="0.10.2.2"),
    Case(name="disk full at the final read", before="a traceback and 1", when=told("final read"), do=fill_the_disk,
         small_disk=True, status=(EXIT_ERROR,), says=FULL, state=("failed", "running")),
    Case(name="kill -9 of the producer's process", before="error, 5 of 6", when=told('"kind":"acked"'),
         do=kill_a_recorder, status=(EXIT_UNKNOWN,), says="", state=("complete",), scenario="double-failover"),
    Case(name="docker rm -f of a broker", before="a traceback and 1", when=told('"kind":"acked"'), do=remove_a_broker,
         status=(EXIT_ERROR, EXIT_UNKNOWN), says="", state=("failed", "complete"), scenario="double-failover"),
    Case(name="no engine from the steps on", before="not tried", when=told('"kind":"acked"'), do=end_the_engine,
         own_engine=True, status=(EXIT_ERROR,), says="no Docker engine answers", state=("failed",), leaves=True),
    Case(name="no engine during create", before="not tried", when=opened, delay_s=0.3, do=end_the_engine,
         own_engine=True, status=(EXIT_ERROR,), says="no Docker engine answers", state=("failed",), leaves=True),
)  # fmt: skip


def carry_out(case: Case, root: Path) -> Outcome:
    """Do it to a run below `root`, and see what came of it."""
    own = root / "".join(c if c.isalnum() else "-" for c in case.name)
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    program = ["tests.sabotage.patched", "disk_is_large_enough"] if case.small_disk else ["app"]
    of_scenario = [case.scenario, *(["--case", case.case] if case.case else [])]
    command = [sys.executable, "-m", *program, "run", *of_scenario, "--version", case.version]
    outcome = Outcome()
    with ExitStack() as stack:
        if case.small_disk:
            stack.enter_context(_small_disk(own))
        engine = Engine(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "s") if case.own_engine else None
        environment = os.environ | ({"DOCKER_HOST": f"unix://{engine._path}"} if engine else {})
        process = subprocess.Popen(
            [*command, "--runs-dir", str(own)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        )
        victim = Victim(process, own, engine)
        try:
            _strike(case, victim, outcome)
            _, said = process.communicate(timeout=LIMIT_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        outcome.status = process.returncode
        (root / f"{own.name}.log").write_text(said)
        outcome.last_line = said.strip().splitlines()[-1] if said.strip() else ""
        outcome.wrong += _wrong(case, victim, outcome, said)
        if case.leaves:
            outcome.wrong += _next_run(victim)
    return outcome


def _strike(case: Case, victim: Victim, outcome: Outcome) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not case.when(victim):
        if victim.process.poll() is not None or time.monotonic() > deadline:
            outcome.wrong.append("the run ended before the moment came")
            return
        time.sleep(POLL_S)
    time.sleep(case.delay_s)
    if victim.process.poll() is not None:
        outcome.wrong.append("the run ended before anything was done to it")
        return
    case.do(victim)


def _wrong(case: Case, victim: Victim, outcome: Outcome, said: str) -> Iterator[str]:
    if outcome.status not in case.status:
        yield f"exit status {outcome.status}"
    if case.says not in outcome.last_line:
        yield f"it says: {outcome.last_line[:200]}"
    if "Traceback" in said:
        yield "a traceback"
    if len([line for line in said.splitlines() if line.startswith("kafka-chaos: ")]) > 1:
        yield "more than one line of its end"
    deadline = time.monotonic() + PROCESSES_LIMIT_S
    while (left := _processes(victim.root)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    if left:
        yield f"processes stay: {left}"
    if not any(victim.root.glob("*/run.json")):
        if "" not in case.state:
            yield "no run directory"
        return
    yield from _unreadable(victim.run_dir, case)
    if not case.leaves:
        yield from _left(victim.run_dir)


def _unreadable(run_dir: RunDir, case: Case) -> Iterator[str]:
    try:
        run = run_dir.read_run()
        damaged = timeline.read(run_dir.timeline).damaged
        open_run(run_dir, run)
    except UsageError as error:
        yield str(error)
        return
    if run.state not in case.state:
        yield f"run.json says {run.state}: {run.failure}"
    if len(damaged) > (case.small_disk or KILLED in case.status):  # the last line may be torn
        yield f"the timeline is damaged: {damaged}"


def _left(run_dir: RunDir) -> Iterator[str]:
    """What there still is of a run that has ended."""
    with closing(connect()) as client:
        left = find_ours(client, run=run_dir.path.name)
    if left:
        yield f"{len(left.containers)} containers, {len(left.networks)} networks stay"
    if run_dir.data.exists():
        yield "data/ stays"
    if mounted_below(run_dir.path.resolve()) or loops_below(run_dir.path.resolve()):
        yield "file systems stay mounted"


def _next_run(victim: Victim) -> Iterator[str]:
    """What is still there of a run after another one in the same place."""
    command = [sys.executable, "-m", "app", "run", "baseline", "--version", "4.3.1", "--no-check", "--quiet"]
    done = subprocess.run(
        [*command, "--runs-dir", str(victim.root)], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode:
        yield f"the next run ends with {done.returncode}: {done.stderr.strip()[-200:]}"
    yield from (f"{what}, after the next run" for what in _left(victim.run_dir))


@contextmanager
def _small_disk(path: Path) -> Iterator[None]:
    """A file system of its own at `path`; wants root."""
    options = ["-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "none", str(path)]
    subprocess.run(["mount", *options], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True, capture_output=True)


def _processes(root: Path) -> list[int]:
    """The processes that have this directory among their arguments, or have a file in it open: one that was forked from
    a server has the server's arguments (evidence/forks.py).
    """
    numbers = [int(path.name) for path in Path("/proc").glob("[0-9]*") if path.name != str(os.getpid())]
    return [
        number
        for number in numbers
        if str(root).encode() in _command(number) or any(name.startswith(f"{root}/") for name in _open_files(number))
    ]


def _open_files(number: int) -> list[str]:
    """The names of what a process has open; none if it has ended."""
    names = []
    with suppress(OSError):
        for descriptor in Path(f"/proc/{number}/fd").iterdir():
            with suppress(OSError):
                names.append(str(descriptor.readlink()))
    return names


def _command(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""
