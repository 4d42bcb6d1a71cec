"""The wall clock of one broker is set wrong: it jumps by so many seconds, and the machine's stays as it is.

The kernel has one wall clock for all (time namespaces have none of their own, CLOCK_REALTIME being left out). So the
broker's JVM asks a library that is loaded before the C library (libfaketime, in the image): it adds the seconds that a
file of ours holds, and looks at it again each second. Only clusters that ask for it get it (`ClusterPlan.own_clocks`).

What jumps is what jumps when somebody sets a machine's clock: the wall time that the process is told. Its monotonic
clock is not affected, nor are waits, schedulers and sessions. Two things differ: the times of files are the kernel's,
so they are right, and each other process of the machine has the right time.

The proof compares the broker's clock with the engine's. A request that cannot be read (no broker takes its length)
makes every release log a line, with the time by its own clock, and Docker puts its own before it. Before the step they
agree, after it they are so many seconds apart. After the heal they must agree again.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, HarnessError, UsageError
from evidence.faults.clock import ClockStepProof, is_ahead_by
from evidence.stamps import own_ns
from harness.cluster.cluster import KAFKA_PORT
from harness.faults.answers import ask, connect
from harness.observers.broker_logs import parse_stamp, unreadable
from harness.polling import poll

if TYPE_CHECKING:
    from pathlib import Path

    from harness.cluster.docker import Node

UNREADABLE: Final = b"GET / HTTP/1.0\r\n\r\n"
"""Its first four bytes are a length of 1.1 GiB, which is over any socket.request.max.bytes."""
ANSWER_LIMIT_S: Final = 10.0
STEP_LIMIT_S: Final = 20.0
"""The file is looked at each second; on a busy machine the broker is asked several times."""
EVERY_S: Final = 0.5
LEAST_S: Final = 120
"""Less might be a line that Docker read late (broker_logs.LATE_NS)."""
NS: Final = 1_000_000_000
CHUNK: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What a broker's clock said: by how many nanoseconds it is ahead of Docker's, and the line that says it."""

    ahead_ns: int
    line: str

    def is_ahead_by(self, seconds: int) -> bool:
        """Whether it is so many seconds ahead, within the tolerance."""
        return is_ahead_by(self.ahead_ns, seconds)


@dataclass(slots=True)
class ClockStep:
    """The wall clock of a broker is `seconds` ahead, or behind if that is negative, until it is healed."""

    node: Node
    file: Path
    """Where its JVM looks for the seconds to add."""
    seconds: int
    proof_type: ClassVar = ClockStepProof
    _before: ClockReading | None = field(default=None, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"wall clock of {self.node.name} {abs(self.seconds)} s {'ahead' if self.seconds > 0 else 'behind'}"

    def __post_init__(self) -> None:
        if abs(self.seconds) < LEAST_S:
            raise UsageError(
                f"{self.node.name}: a clock is set {LEAST_S} s or more ahead or behind, not {self.seconds}"
            )

    def inject(self) -> None:
        self._before = self._read()
        self._set(self.seconds)

    def verify(self) -> ClockStepProof:
        before, after = self._before, self._wait(self.seconds)
        if before is None or not before.is_ahead_by(0):
            raise FaultUnproved(f"{self.node.name}: its clock was not right before: {_told(before)}")
        if after is None or not after.is_ahead_by(self.seconds):
            raise FaultUnproved(
                f"{self.node.name}: its clock was to be {self.seconds} s from the machine's: {_told(after)}"
            )
        return ClockStepProof(
            seconds=self.seconds,
            before_ms=before.ahead_ns // 1_000_000,
            line_before=before.line,
            ahead_ms=after.ahead_ns // 1_000_000,
            line=after.line,
        )

    def heal(self) -> None:
        """Set it right; HarnessError if the broker runs and its clock is not right then."""
        self._set(0)
        if not self.node.state()["Running"]:
            return
        after = self._wait(0)
        if after is None or not after.is_ahead_by(0):
            raise HarnessError(f"{self.node.name}: its clock was set right, and is not: {_told(after)}")

    def _set(self, seconds: int) -> None:
        """Written as a whole: the JVM may look at any time."""
        whole = self.file.with_suffix(".new")
        whole.write_text(f"{seconds:+d}\n")
        whole.replace(self.file)

    def _wait(self, seconds: int) -> ClockReading | None:
        def there(reading: ClockReading | None) -> bool:
            return reading is not None and reading.is_ahead_by(seconds)

        return poll(self._read, STEP_LIMIT_S, until=there, every_s=EVERY_S)

    def _read(self) -> ClockReading | None:
        """What the broker's clock says now; None if it logs nothing of a request that it cannot read."""
        since_ns = time.time_ns()
        with connect(self.node, KAFKA_PORT) as connection:
            ask(self.node.name, connection, UNREADABLE)
            _wait_closed(connection)
        return poll(lambda: self._newest(since_ns), ANSWER_LIMIT_S)

    def _newest(self, since_ns: int) -> ClockReading | None:
        """From the last of its lines that tells of such a request since a time by Docker's clock."""
        said = self.node.container.logs(since=since_ns // NS, timestamps=True).decode(errors="replace")
        for raw in reversed(said.splitlines()):
            stamped = parse_stamp(raw) if unreadable(raw) else None
            own = None if stamped is None else own_ns(stamped[1])
            if stamped is not None and own is not None and stamped[0] >= since_ns:
                return ClockReading(ahead_ns=own - stamped[0], line=stamped[1])
        return None


def _told(reading: ClockReading | None) -> str:
    return "it did not say" if reading is None else f"it is {reading.ahead_ns / NS:.3f} s ahead"


def _wait_closed(connection: socket.socket) -> None:
    """Wait until the other side has closed a connection, or the limit that it was made with."""
    try:
        while connection.recv(CHUNK):
            pass
    except OSError:
        return
