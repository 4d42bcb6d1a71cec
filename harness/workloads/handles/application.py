"""The harness's handles on applications: a program in a group, which stands still where it was told to, and one of
Kafka Streams, which is stopped from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.errors import HarnessError
from evidence.faults.clients import STOPPED
from harness.processes import all_stopped, stop_group
from harness.workloads.handles.client import Background, Client, Progress
from harness.workloads.stores import located


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Between which two steps of a program, and the how manyth time that it comes there (the first is 1)."""

    done: str
    following: str
    round: int = 1

    def __str__(self) -> str:
        return f"between {self.done} and {self.following}, round {self.round}"


SORTED = "*.sst"
"""RocksDB's files of sorted records."""
LOCK = "LOCK"
"""The file that a process holds open as long as a database of RocksDB is open in it."""
NOWHERE = CrashPoint("", "", 0)


@dataclass(frozen=True, slots=True)
class ApplicationProgress:
    """How far an application has come, by its own word: outputs that were acknowledged, its last errors, and where it
    stands still; None while it works.
    """

    processed: int
    errors: tuple[str, ...]
    at: CrashPoint | None = None

    def __str__(self) -> str:
        last = f", the last errors {', '.join(self.errors)}" if self.errors else ""
        where = f", stands {self.at}" if self.at else ""
        return f"{self.processed} outputs{last}{where}"


class Application(Background[ApplicationProgress]):
    """A process that runs a program (programs.py and share_programs.py in harness/workloads/processes)."""

    beside: tuple[int, ...] = ()
    """The numbers of processes that ran beside it from the first and may have lower ones: none."""

    def __init__(
        self,
        client: Client,
        *,
        program: str,
        consumer_settings: Mapping[str, str],
        inputs: str,
        output: str,
        output_partitions: int,
        batch: int,
        stop: CrashPoint,
        store: str = "",
        in_zookeeper: bool = False,
        shares: bool = False,
    ) -> None:
        """`store`: the address, or the file within the run directory, of the store that a program writes to."""
        self.run = client.run_dir.path.name
        self.store = located(client.run_dir.path, store) if store else ""
        """Where the store is that it writes to."""
        child = client.start(
            "application",
            program=program,
            consumer_settings=dict(consumer_settings),
            input=inputs,
            output=output,
            output_partitions=output_partitions,
            batch=batch,
            stop_between=[stop.done, stop.following],
            stop_in_round=stop.round,
            store=self.store,
        )
        super().__init__(client.name, child, ApplicationProgress(0, ()))
        self.group, self.inputs, self.output = consumer_settings["group.id"], inputs, output
        self.producer_id = client.producer_id
        self.in_zookeeper = in_zookeeper
        """Whether its group's offsets are znodes, as a consumer of 0.8 has them."""
        self.shares = shares
        """Whether it is a member of a share group."""
        self._stop = stop

    def _progress(self, heard: Mapping[str, Any]) -> ApplicationProgress:
        at = CrashPoint(**heard["at"]) if "at" in heard else None
        return ApplicationProgress(heard["processed"], tuple(heard["errors"]), at)

    def wait_still(self, *, timeout_s: float) -> CrashPoint:
        """Wait until it says that it stands still, and where. WaitTimeout, or HarnessError if it has ended."""
        progress = self._wait(lambda progress: progress.at is not None, f"it stands {self._stop}", timeout_s)
        assert progress.at is not None
        return progress.at

    def stands_still(self) -> bool:
        """Whether it stands still, by all that it has said so far. HarnessError if it has ended."""
        self._hear_all("hearing where it stands")
        return self._latest.at is not None

    def wait_processed(self, count: int, *, timeout_s: float) -> ApplicationProgress:
        """Wait until so many outputs are acknowledged. WaitTimeout, or HarnessError if it has ended."""
        return self._wait(lambda progress: progress.processed >= count, f"{count} outputs", timeout_s)

    def processed(self) -> int:
        """How many outputs were acknowledged so far. Raises RecorderDied if the process has ended."""
        self._hear_all("telling of its outputs")
        return self._latest.processed

    def go_on(self) -> None:
        """Have it go on."""
        self._child.send_message(go_on=True)


class StoppedFromOutside(Background[Progress]):
    """A process whose steps are not ours: it stands still where others see that it has to."""

    run: str
    group: str
    output: str
    store: str = ""
    """The file that it writes its outputs to, if that is no topic."""
    producer_id: int
    in_zookeeper = shares = False
    beside: tuple[int, ...] = ()
    """The numbers of the processes that ran beside it from the first and may take over from it."""

    def require_running(self) -> None:
        """Raise RecorderDied, with the last that it printed, if its process has ended."""
        self._hear_all("hearing whether it runs")

    def freeze(self) -> None:
        """Stop the whole process and those that it has started (SIGSTOP), until they are killed. Raises HarnessError if
        the kernel does not say that each of their threads is stopped.
        """
        states = stop_group(self.pid)  # it leads its group, as all that are started from here do
        if not all_stopped(states):
            running = len(states) - states.count(STOPPED)
            raise HarnessError(f"{self.name}: {running} of {len(states)} threads are not stopped")


@dataclass(frozen=True, slots=True)
class Counting:
    """That an application of Kafka Streams counts inputs by key in a store, and states the results in its outputs."""

    padding_bytes: int = 0
    """By so much each value of the store is larger than its result."""


class StreamsApplication(StoppedFromOutside[ApplicationProgress]):
    """A process in which Kafka Streams works (harness/workloads/processes/streams.py)."""

    def __init__(
        self, client: Client, *, group: str, inputs: str, output: str, state: Path, counting: Counting | None = None
    ) -> None:
        """`state` is Streams' directory of state on this machine; without `counting` there is no store in it."""
        padding = None if counting is None else counting.padding_bytes
        child = client.start("streams", input=inputs, output=output, padding=padding)
        super().__init__(client.name, child, ApplicationProgress(0, ()))
        self.group, self.inputs, self.output = group, inputs, output
        self._state = state
        self.run, self.producer_id = client.run_dir.path.name, client.producer_id

    def _progress(self, heard: Mapping[str, Any]) -> ApplicationProgress:
        return ApplicationProgress(heard["processed"], tuple(heard["errors"]))

    def wait_processed(self, count: int, *, timeout_s: float) -> ApplicationProgress:
        """Wait until so many outputs were handed to Streams. WaitTimeout, or HarnessError if it has ended."""
        return self._wait(lambda progress: progress.processed >= count, f"{count} outputs", timeout_s)

    def processed(self) -> int:
        """How many outputs were handed to Streams so far. Raises RecorderDied if the process has ended."""
        self._hear_all("telling of its outputs")
        return self._latest.processed

    def files_of_state(self) -> frozenset[str]:
        """The files of sorted records that its stores have written (RocksDB's SST files), by their paths in its
        directory of state.
        """
        found = self._state.rglob(SORTED)
        return frozenset(str(path.relative_to(self._state)) for path in found)

    def stores(self) -> frozenset[str]:
        """The stores that its process has open in its directory of state, each by its path there: as an active task has
        one, and a standby replica. One that an earlier task left there is none.
        """
        found: set[str] = set()
        with suppress(OSError):  # it has ended
            for number in Path(f"/proc/{self.pid}/fd").iterdir():
                with suppress(OSError):  # closed in between
                    path = number.readlink()
                    if path.name == LOCK and path.is_relative_to(self._state):
                        found.add(str(path.parent.relative_to(self._state)))
        return frozenset(found)
