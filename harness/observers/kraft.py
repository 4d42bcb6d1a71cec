"""What a KRaft cluster says of itself: its metadata log, read from the disks of its nodes while they run.

Every node keeps `__cluster_metadata-0`. The file of the node whose log is the longest is followed, in practice the active
controller's: an isolated node's copy stays behind. A few kilobytes are read every 20 ms, so a change is seen within that
and the time of its write; its own timestamp is kept beside ours. Records above the quorum's high watermark might be
taken back when there are several controllers; with one controller apart there is no such thing.

The leader epoch is not in a PartitionChangeRecord: it rises by one with every record that sets a leader
(harness.formats.metadata_log counts it).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.formats.metadata_log import MetadataImage, decode_from
from harness.observers.state import PartitionState, StateKeeper, node_name

if TYPE_CHECKING:
    from harness.formats.metadata_log import MetadataEvent, PartitionImage
    from harness.timeline import Timeline

POLL_S: Final = 0.02
START_LIMIT_S: Final = 60.0
DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(slots=True)
class Tail:
    """Where reading of one node's metadata log has come to."""

    directory: Path
    segment: Path | None = None
    position: int = 0
    next_offset: int = 0

    def read(self) -> list[MetadataEvent]:
        """The events written since the last call; a segment that is not there yet, or a half-written batch, is waited for."""
        if self.segment is None or not self.segment.exists():
            self.segment, self.position = self._segment_for(self.next_offset), 0
        if self.segment is None:
            return []
        try:
            with self.segment.open("rb") as file:
                file.seek(self.position)
                data = file.read()
        except FileNotFoundError:
            self.segment = None
            return []
        events: list[MetadataEvent] = []
        if data:
            events, self.position = decode_from(data, self.position)
        fresh = [event for event in events if event.offset >= self.next_offset]
        if fresh:
            self.next_offset = max(event.offset for event in fresh) + 1
        elif self._segment_for(self.next_offset) not in (self.segment, None):
            self.segment = None
        return fresh

    def _segment_for(self, offset: int) -> Path | None:
        """The segment that holds `offset`: the last one that begins at or below it."""
        if not self.directory.is_dir():
            return None
        segments = sorted(self.directory.glob("*.log"))
        holding = [path for path in segments if path.stem.isdigit() and int(path.stem) <= offset]
        return holding[-1] if holding else (segments[0] if segments else None)


def partition_state(image: PartitionImage) -> PartitionState:
    """The shared form of a partition's state."""
    return PartitionState(
        leader=image.leader,
        leader_epoch=image.leader_epoch,
        isr=tuple(image.isr),
        replicas=tuple(image.replicas),
        controller_epoch=image.controller_epoch,
        version=image.offset,
        elr=None if image.elr is None else tuple(image.elr),
    )


class KRaftObserver(StateKeeper):
    """Follows the metadata log in these log directories, `{node: directory}` as the host sees them."""

    def __init__(self, log_dirs: Mapping[str, Path], timeline: Timeline) -> None:
        controllers = frozenset(int(name.rpartition("-")[2]) for name in log_dirs if name.startswith("controller-"))
        super().__init__("kraft", timeline, node_name(controllers))
        names = [name for name in log_dirs if name.startswith("controller-")] or list(log_dirs)
        self._tails = {name: Tail(log_dirs[name] / DIRECTORY) for name in names}
        self._image = MetadataImage()
        self._applied = -1
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Follow the log; returns when its first record was read. WaitTimeout if none comes."""
        self._thread = threading.Thread(target=self._follow, name="kraft-observer", daemon=True)
        self._thread.start()
        self.wait(
            lambda state: state.controller is not None,
            what="a first record of the metadata log",
            timeout_s=START_LIMIT_S,
        )

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self.poll()
            except Exception as error:
                self._note_blind(True, f"the metadata log cannot be read: {type(error).__name__}: {error}")
            else:
                self._note_blind(False, "the metadata log is read again")
            self._stop.wait(POLL_S)

    def poll(self) -> None:
        """Read what is new in every node's log and apply what no other node had shown before."""
        for tail in self._tails.values():
            for event in tail.read():
                if event.offset > self._applied:
                    self._applied = event.offset
                    self._apply(event)

    def _apply(self, event: MetadataEvent) -> None:
        before = self._image
        image = self._image = before.apply(event)
        if (image.controller, image.controller_epoch) != (before.controller, before.controller_epoch):
            self._note_controller(image.controller, image.controller_epoch)
        alive = frozenset(number for number, broker in image.brokers.items() if not broker.fenced)
        self._note_brokers(alive, came="unfenced", went="fenced")
        for key, partition in image.partitions.items():
            if before.partitions.get(key) != partition:
                self._note_partition(*key, partition_state(partition), event.timestamp_ms * 1_000_000)
