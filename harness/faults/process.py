"""Faults of a broker's process: killed, stopped cleanly, started again, frozen; and a broker that exits.

Proofs. Killed: Docker's own `die` event with exit code 137, after its `kill` event and the injection. Stopped: the same
with 143 (Kafka's shutdown hook ran and the JVM ended by SIGTERM) or 0. Nothing more is asked of a dead container: a
busy engine answers only when it has put away its network, seconds later. Started: a `start` event and a running
process; with other settings, by the properties too that the node then writes; a second node with a broker's id, by both
nodes' properties. Ended by itself, as a scenario documents: a `die` event with an exit code that is no signal's, and
the line by which the broker says why. Frozen: Docker's `pause` event, its state, and the process's CPU clock standing
still while wall time passes. A frozen node's kernel still acknowledges TCP segments. So this is the grey failure that a
garbage collection pause or a stuck disk looks like.
"""

from __future__ import annotations

import operator
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.engine import KILLED, SIGNALLED, TERMINATED
from evidence.errors import FaultUnproved, HarnessError, WaitTimeout
from evidence.faults.process import DoubleProof, ExitProof, FreezeProof, KillProof, RunningProof, StartProof, StopProof
from harness.polling import poll

if TYPE_CHECKING:
    from docker.models.containers import Container as DockerContainer

    from evidence.engine import ContainerAction
    from evidence.events import Container
    from harness.cluster.docker import Node
    from harness.observers.docker_events import DockerEvents

EVENT_LIMIT_S: Final = 15.0
STOP_LIMIT_S: Final = 60
EXIT_LIMIT_S: Final = 90.0
"""A broker that finds no controller gives up after a minute (initial.broker.registration.timeout.ms)."""
FILE_LIMIT_S: Final = 15.0
POLL_S: Final = 0.02
STILL_S: Final = 0.1
FREEZE_ATTEMPTS: Final = 10


@dataclass(slots=True)
class OfOneNode:
    """What the faults of one node's process share: the node, and what Docker says of it from the injection on."""

    node: Node
    events: DockerEvents
    _since_ns: int = field(default=0, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    def _begin(self) -> None:
        self._since_ns = time.time_ns()

    def _event(self, action: ContainerAction, timeout_s: float | None = None) -> Container:
        """Docker's event of this kind since the injection; FaultUnproved if there is none within EVENT_LIMIT_S."""
        timeout_s = EVENT_LIMIT_S if timeout_s is None else timeout_s
        try:
            return self.events.wait(self.node.name, action, since_ns=self._since_ns, timeout_s=timeout_s)
        except WaitTimeout as error:
            raise FaultUnproved(f"{self.node.name}: no {action!r} event from Docker: {error}") from None


@dataclass(slots=True)
class Kill(OfOneNode):
    """kill -9: the process is gone at once, what it had written stays in the page cache and so on its disk."""

    proof_type: ClassVar = KillProof

    @property
    def description(self) -> str:
        return f"kill -9 of {self.node.name}"

    def inject(self) -> None:
        self._begin()
        self.node.container.kill(signal="SIGKILL")

    def verify(self) -> KillProof:
        died = self._event("die")
        # A busy engine takes its time to carry the signal out: this event says when it did.
        killed = self._event("kill")
        if died.exit_code != KILLED:
            raise FaultUnproved(f"{self.node.name}: ended with exit code {died.exit_code} instead of {KILLED}")
        return KillProof(exit_code=died.exit_code, time_nano=died.time_nano, signal_nano=killed.time_nano)

    def heal(self) -> None:
        """A crash is not undone; the broker is started again by a `Start`."""


@dataclass(slots=True)
class Stop(OfOneNode):
    """SIGTERM: a clean shutdown, with leadership handed over and checkpoints written."""

    proof_type: ClassVar = StopProof

    @property
    def description(self) -> str:
        return f"clean stop (SIGTERM) of {self.node.name}"

    def inject(self) -> None:
        self._begin()
        self.node.container.stop(timeout=STOP_LIMIT_S)

    def verify(self) -> StopProof:
        died = self._event("die")
        if died.exit_code not in TERMINATED:
            raise FaultUnproved(f"{self.node.name}: exit code {died.exit_code}: not a clean end (0 or 143)")
        return StopProof(exit_code=died.exit_code, time_nano=died.time_nano)

    def heal(self) -> None:
        """A stopped broker is started again by a `Start`."""


@dataclass(slots=True)
class Start(OfOneNode):
    """The process is started again on the same disk and address."""

    proof_type: ClassVar[type[RunningProof]] = StartProof

    @property
    def description(self) -> str:
        return f"start of {self.node.name}"

    def inject(self) -> None:
        self._begin()
        self.node.container.start()

    def verify(self) -> RunningProof:
        pid, time_nano = self._started()
        return StartProof(pid=pid, time_nano=time_nano)

    def _started(self) -> tuple[int, int]:
        """Its process, and Docker's time of its start; FaultUnproved if it does not run."""
        started = self._event("start")
        state = self.node.state()
        if not state["Running"]:
            raise FaultUnproved(
                f"{self.node.name}: ended at once with {state['ExitCode']}; it said:\n{self.node.last_lines()}"
            )
        return int(state["Pid"]), started.time_nano

    def heal(self) -> None:
        """Nothing to undo."""


@dataclass(slots=True, kw_only=True)
class StartWith(Start):
    """It is started again with other settings over those that it had, as by who has edited its file of properties."""

    settings: Mapping[str, str]
    environment: Path
    """The file that changes the node's environment (harness.cluster.cluster.ENVIRONMENT)."""
    properties: Path
    """What the node is started with: it writes them when it starts."""

    @property
    def description(self) -> str:
        return f"start of {self.node.name} with {', '.join(sorted(self.settings))}"

    def inject(self) -> None:
        # Its own ("4:name"), which come after those of all brokers and after its own of before.
        added = "".join(f";{self.node.id}:{name}={value}" for name, value in self.settings.items())
        with self.environment.open("a") as file:
            file.write(f"KAFKA_SETTINGS+={shlex.quote(added)}\n")
        Start.inject(self)

    def verify(self) -> StartProof:
        pid, time_nano = self._started()
        wanted = {f"{name}={value}" for name, value in self.settings.items()}
        if missing := poll(lambda: wanted - _lines_of(self.properties), FILE_LIMIT_S, until=operator.not_):
            raise FaultUnproved(f"{self.node.name} was started without {', '.join(sorted(missing))}")
        return StartProof(pid=pid, time_nano=time_nano, settings=dict(self.settings))


def _lines_of(path: Path) -> set[str]:
    return set(path.read_text().splitlines()) if path.exists() else set()


@dataclass(slots=True, kw_only=True)
class Double(Start):
    """A second broker is started with the id of one that runs, on a disk and an address of its own."""

    first: Node
    properties: tuple[Path, Path]
    """The properties that the second one and the first are started with: each node writes them when it starts."""
    proof_type: ClassVar = DoubleProof

    @property
    def description(self) -> str:
        return f"start of a second broker with the id of {self.first.name}"

    def verify(self) -> DoubleProof:
        pid, time_nano = self._started()
        own, others = (_id_in(path) for path in self.properties)
        if own is None or own != others:
            raise FaultUnproved(f"{self.node.name} has the id {own}, {self.first.name} has {others}")
        first = self.first.state()
        if not first["Running"]:
            raise FaultUnproved(f"{self.first.name} does not run: {self.node.name} has its id to itself")
        return DoubleProof(pid=pid, time_nano=time_nano, id=own, pid_of_first=int(first["Pid"]))


def _id_in(properties: Path) -> int | None:
    """The broker's id in a file of properties, once it is there; None if it says none."""
    deadline = time.monotonic() + FILE_LIMIT_S
    while True:
        lines = properties.read_text().splitlines() if properties.exists() else []
        said = dict(line.split("=", 1) for line in lines if "=" in line)
        found = said.get("broker.id", said.get("node.id"))
        if found is not None or time.monotonic() > deadline:
            return int(found) if found is not None and found.isdigit() else None
        time.sleep(POLL_S)


@dataclass(slots=True, kw_only=True)
class Exit(OfOneNode):
    """A broker exits, as the scenario documents: no fault strikes it, and it logs why."""

    log_pattern: str
    """Of the line by which it says why."""
    proof_type: ClassVar[type[ExitProof]] = ExitProof
    timeout_s: float = EXIT_LIMIT_S

    @property
    def description(self) -> str:
        return f"{self.node.name} exits"

    def inject(self) -> None:
        """Nothing: whatever it did since it was last started counts."""
        self._since_ns = int(self.node.started().timestamp() * 1e9)

    def verify(self) -> ExitProof:
        died = self._event("die", self.timeout_s)
        if not died.exit_code or died.exit_code > SIGNALLED:
            raise FaultUnproved(f"{self.node.name}: ended with exit code {died.exit_code}: not by itself")
        said = self.node.said()
        line = next((line for line in said.splitlines() if re.search(self.log_pattern, line)), None)
        if line is None:
            raise FaultUnproved(
                f"{self.node.name}: no line of it matches {self.log_pattern!r}; it said at last:\n{said[-2000:]}"
            )
        return ExitProof(exit_code=died.exit_code, time_nano=died.time_nano, line=line)

    def heal(self) -> None:
        """It is started again by a `Start`."""


def cpu_ticks(pid: int) -> int:
    """User and system time of a process, in clock ticks, as the host's kernel counts them."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def pause(container: DockerContainer) -> None:
    """Pause it as Docker does, again if the kernel's freezer gave up.

    On a busy machine it does, on a process in the middle of its work ("unable to freeze", seen twice running); a
    further attempt is the same fault. Raises docker.errors.APIError if the last one failed too.
    """
    from docker.errors import APIError

    for attempt in range(1, FREEZE_ATTEMPTS + 1):
        try:
            container.pause()
        except APIError:
            container.reload()
            if container.attrs["State"]["Paused"]:
                return
            if attempt == FREEZE_ATTEMPTS:
                raise
        else:
            return


@dataclass(slots=True)
class Freeze(OfOneNode):
    """docker pause: every thread stands still, sockets stay open."""

    proof_type: ClassVar = FreezeProof

    @property
    def description(self) -> str:
        return f"freeze (docker pause) of {self.node.name}"

    def inject(self) -> None:
        self._begin()
        pause(self.node.container)

    def verify(self) -> FreezeProof:
        self._event("pause")
        state = self.node.state()
        if not state["Paused"]:
            raise FaultUnproved(f"{self.node.name}: Docker says it is not paused: {state['Status']}")
        before = cpu_ticks(state["Pid"])
        time.sleep(STILL_S)  # the documented proof is a time: a clock that stands still while this one goes on
        after = cpu_ticks(state["Pid"])
        if after != before:
            raise FaultUnproved(f"{self.node.name}: paused, yet its CPU clock went from {before} to {after} ticks")
        return FreezeProof(status=state["Status"], cpu_ticks=(before, after), watched_ms=int(STILL_S * 1000))

    def heal(self) -> None:
        """Thaw; a node that is not frozen, or no longer runs, is left as it is."""
        from docker.errors import APIError

        state = self.node.state()
        if not state["Paused"]:
            return
        since_ns = time.time_ns()
        try:
            self.node.container.unpause()
        except APIError as error:
            raise HarnessError(f"{self.node.name} cannot be thawed: {error.explanation or error}") from None
        self.events.wait(self.node.name, "unpause", since_ns=since_ns, timeout_s=EVENT_LIMIT_S)
