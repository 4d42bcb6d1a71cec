"""Replicas that are moved between the log directories of one broker (KIP-113).

The broker copies the replica to a directory of its own ("t-0.<id>-future") while the old one serves, and puts the copy
in its place when it has caught up. Both lie on this machine, so how far it has come is read from the files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from evidence import borders
from evidence.errors import HarnessError
from evidence.events import MoveReplica, ReplicaPlace
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.requests import RequestRefused, move_replica, set_broker_default
from harness.observers.replicas import LOG_DIR, log_directories
from harness.plan import SECOND

if TYPE_CHECKING:
    from pathlib import Path

    from harness.run.disks import LiveFiles
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition, Target

REQUEST_TIMEOUT_S: Final = 10.0
MOVE_LIMIT_S: Final = 120.0
THROTTLE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
FIRST: Final = f"/data/{LOG_DIR}"
OTHER: Final = f"/data/{SECOND}/{LOG_DIR}"
"""A broker's log directories, as it knows them."""


class LogDirectories:
    """Moves replicas between directories, and looks where they are."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog, files: LiveFiles) -> None:
        self._cluster, self._timeline, self._version = parts.cluster, parts.timeline, parts.version
        self._sequence_log, self._files = sequence_log, files

    def throttle_moves(self, target: Target, bytes_per_s: int) -> None:
        """Have a broker (2.3 and later) copy replicas between its directories at so many bytes a second."""
        with self._sequence_log.step("throttle moves", node=target.node.name, bytes_per_s=bytes_per_s):
            self._ask_node(target, lambda address: _throttle(address, target.node.id, bytes_per_s))

    def move_replica(self, target: Target, t: Partition) -> str:
        """Ask a broker (1.1 and later) to move its replica to the other of its two log directories, and return which
        one that is; does not wait.
        """
        directory = FIRST if self.place_of(target, t).directory == OTHER else OTHER
        with self._sequence_log.step("move a replica", node=target.node.name, partition=str(t), directory=directory):
            self._timeline.append(
                MoveReplica(node=target.node.name, topic=t.topic, partition=t.number, directory=directory)
            )
            version = 0 if self._version.release < borders.REPLICAS_MOVE_WITH_VERSION_1.release else 1
            self._ask_node(
                target,
                lambda address: move_replica(
                    address, t.topic, t.number, directory, version=version, timeout_s=REQUEST_TIMEOUT_S
                ),
            )
        return directory

    def _ask_node(self, target: Target, ask: Callable[[tuple[str, int]], None]) -> None:
        try:
            ask((target.node.address, KAFKA_PORT))
        except (OSError, RequestRefused) as error:
            raise HarnessError(f"{target.node.name}: {error}") from None

    def place_of(self, target: Target, t: Partition) -> ReplicaPlace:
        """Where a replica lies at this moment, and what is copied of it; it is put on record."""
        seen = self._look(target, t)
        self._timeline.append(seen)
        return seen

    def wait_copying(self, target: Target, t: Partition, least_bytes: int) -> None:
        """Wait until so many bytes of a replica are copied and it still lies where it did; that is put on record."""

        def seen() -> ReplicaPlace:
            return self._look(target, t)

        what = f"{least_bytes} bytes of {t} are copied on {target.node.name}"
        self._files.wait_files(what, lambda: seen().future_bytes >= least_bytes, lambda: str(seen()), MOVE_LIMIT_S)
        self.place_of(target, t)

    def wait_moved(self, target: Target, t: Partition, directory: str) -> None:
        """Wait until a replica lies in this directory, and nothing is copied any more; that is put on record."""

        def seen() -> ReplicaPlace:
            return self._look(target, t)

        what = f"{t} is in {directory} on {target.node.name}"
        self._files.wait_files(
            what,
            lambda: seen().directory == directory and seen().future is None,
            lambda: str(seen()),
            MOVE_LIMIT_S,
        )
        self.place_of(target, t)

    def _look(self, target: Target, t: Partition) -> ReplicaPlace:
        data = self._cluster.data / target.node.name
        places = dict(zip(log_directories(data), (FIRST, OTHER), strict=False))
        current = next((one for one in places if (one / str(t)).is_dir()), None)
        copies = {one: next(one.glob(f"{t}.*-future"), None) for one in places}
        future = next((one for one, copy in copies.items() if copy is not None), None)
        return ReplicaPlace(
            node=target.node.name,
            topic=t.topic,
            partition=t.number,
            directory=None if current is None else places[current],
            bytes=0 if current is None else _size(current / str(t)),
            future=None if future is None else places[future],
            future_bytes=0 if future is None else _size(copies[future]),
        )


def _throttle(address: tuple[str, int], broker: int, bytes_per_s: int) -> None:
    set_broker_default(address, THROTTLE, str(bytes_per_s), timeout_s=REQUEST_TIMEOUT_S, broker=broker)


def _size(replica: Path | None) -> int:
    """Bytes of a replica's segments; one that vanishes meanwhile has none."""
    sizes = []
    for path in replica.glob("*.log") if replica is not None else ():
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue
    return sum(sizes)
