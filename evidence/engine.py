"""The words of the container engine: what it may tell of a container, and how the processes in one end."""

from __future__ import annotations

from typing import Final, Literal, Protocol

KILLED: Final = 137
"""The exit code of a process that SIGKILL ended."""
TERMINATED: Final = (0, 143)
"""Those of a broker that SIGTERM ended: its shutdown hook ran."""
SIGNALLED: Final = 128
"""Exit codes above this are those of processes that a signal ended."""

ContainerAction = Literal["start", "die", "kill", "pause", "unpause", "oom", "stop", "connect", "disconnect"]
"""`connect` and `disconnect` are of the cluster's network."""


class ContainerEvent(Protocol):
    """One thing that the engine told of a container (evidence.events.Container)."""

    @property
    def action(self) -> ContainerAction:
        """What it did."""

    @property
    def exit_code(self) -> int | None:
        """Of `die`."""

    @property
    def time_nano(self) -> int:
        """When, by its own clock: wall nanoseconds."""

    @property
    def at_ns(self) -> int:
        """When it was heard (monotonic)."""
