"""What a KRaft cluster says of itself: its metadata log, read from the disks of its controllers while they run.

Every voter of the quorum keeps `__cluster_metadata-0`. Their files are followed, every 10 ms, by reading what was
appended; no JVM, no request, so it works the same while nodes are frozen, cut off or dead. The log is the cluster's own
account in full, with the controller's time stamps; nothing is coalesced.

Only committed records count, and that is decided as the quorum does. The voter's log with the highest last epoch (then
the longest) is the active controller's. A record counts once a majority of the disks hold it, and once that holds for a
record of the last epoch too (Raft's rule for entries of earlier epochs). Two logs agree up to where their epochs do. A
deposed controller's last records, which nobody else has, are thus never shown. With one controller each record counts
at once. A voter's log that is not there yet, or is cut short by a truncation, is simply short.

The log is taken batch by batch: what the controller decided at once (a broker fenced, its partitions' leaders moved) is
in one batch, and no snapshot shows the half of it. A batch may hold several decisions; where it changes the same
partition or broker twice, each change gets its snapshot. The leader epoch is not in a PartitionChangeRecord: it rises
by one with every record that sets a leader (kafkafiles.metadata_image counts it).

Snapshots (`<offset>-<epoch>.checkpoint`, every 20 MiB or hour) replace the log's beginning. An observer that has
followed from the start needs none of them. One that begins later reads the newest, and the controller's name and epoch
from `quorum-state`, because the record of it may be gone.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evidence.events import Broker, Event, Metadata, Missed, Note
from harness.cluster.state import ClusterState, PartitionState
from harness.observers.replicas import ReadTo
from harness.observers.state import StateKeeper, node_name
from kafkafiles import checkpoints
from kafkafiles.batches import BatchHeader, scan_batches
from kafkafiles.errors import ParseError
from kafkafiles.metadata_image import MetadataImage
from kafkafiles.metadata_log import decode_from

if TYPE_CHECKING:
    from evidence.timeline import Timeline
    from kafkafiles.metadata_image import PartitionImage
    from kafkafiles.metadata_log import MetadataEvent

POLL_S: Final = 0.01
START_LIMIT_S: Final = 180.0
JOIN_LIMIT_S: Final = 5.0
DIRECTORY: Final = "__cluster_metadata-0"
MS: Final = 1_000_000


class Damaged(Exception):
    """A metadata log holds bytes that are no records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One batch of the metadata log."""

    first: int
    last: int
    epoch: int
    events: tuple[MetadataEvent, ...]


@dataclass(slots=True)
class MetadataLogTail:
    """One node's metadata log as far as it was read."""

    directory: Path
    decisions: list[Decision] = field(default_factory=list)
    start: int = 0
    """The first offset known; everything before it is in `image`."""
    image: MetadataImage = field(default_factory=MetadataImage)
    _segment: Path | None = None
    _read_to: ReadTo = field(default_factory=ReadTo)

    @property
    def end(self) -> int:
        """The offset after the last record."""
        return self.decisions[-1].last + 1 if self.decisions else self.start

    @property
    def last_epoch(self) -> int:
        return self.decisions[-1].epoch if self.decisions else -1

    def index_of(self, offset: int) -> int:
        """The number of the decision that holds `offset`, or would."""
        return max(0, bisect_right(self.decisions, offset, key=lambda decision: decision.first) - 1)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the record at `offset`; None if the log does not hold it."""
        if not self.decisions or not self.start <= offset < self.end:
            return None
        return self.decisions[self.index_of(offset)].epoch

    def poll(self) -> None:
        """Read what was appended. A log that was truncated is read again from its beginning.

        Raises Damaged, and OSError other than for a file that is not there.
        """
        try:
            if not self._read():
                self.forget()
                self._read()
        except FileNotFoundError:  # not written yet, or the segment was deleted behind us
            self._segment = None
            if not self.directory.exists():  # nor is its disk there: what comes back may be another log
                self.forget()

    def forget(self) -> None:
        """Begin anew with the next `poll`."""
        self.decisions, self.start, self.image = [], 0, MetadataImage()
        self._segment, self._read_to = None, ReadTo()

    def _read(self) -> bool:
        """Read on, over segment borders; False if what was read before is not there any more."""
        while True:
            if self._segment is None and not self._open():
                return True
            segment = self._segment
            if segment is None:
                return True
            with segment.open("rb", buffering=0) as file:
                if not self._read_to.holds(file.fileno()):
                    return False
                size, position = os.fstat(file.fileno()).st_size, self._read_to.position
                data = os.pread(file.fileno(), max(0, size - position), position)
            grew = self._take(data)
            following = segment.with_name(f"{self.end:020d}.log")
            if grew or following == segment or not following.exists():
                return True
            self._segment, self._read_to = following, ReadTo()

    def _open(self) -> bool:
        """Find the segment to read on in. The very first may lie behind a snapshot."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.directory) if entry.name.endswith(".log"))
        except FileNotFoundError:
            return False
        bases = [int(name[:-4]) for name in names if name[:-4].isdigit()]
        if not bases:
            return False
        if bases[0] > self.end:
            self.forget()
            self.start = bases[0]
            self.image = read_snapshot(self.directory, at_least=bases[0])
        base = max((base for base in bases if base <= self.end), default=bases[0])
        self._segment, self._read_to = self.directory / f"{base:020d}.log", ReadTo()
        return True

    def _take(self, data: bytes) -> bool:
        """Take in the whole batches at the beginning of `data`; whether there was one."""
        headers = [header for header in scan_batches(data) if isinstance(header, BatchHeader)]
        events, _ = decode_from(data, self._read_to.position)
        for event in events:
            if event.kind == "CORRUPT" and "position" in event.fields:
                raise Damaged(f"{self._segment}: at byte {event.fields['position']}: {event.fields['reason']}")
        following = 0
        for header in headers:
            first = following
            while following < len(events) and events[following].offset <= header.last_offset:
                following += 1
            if header.last_offset >= self.end:
                self.decisions.append(
                    Decision(
                        first=self.end,
                        last=header.last_offset,
                        epoch=header.leader_epoch,
                        events=tuple(events[first:following]),
                    )
                )
        if headers:
            self._read_to = self._read_to.after(headers[-1], data)
        return bool(headers)


def read_snapshot(directory: Path, *, at_least: int) -> MetadataImage:
    """The image of the newest snapshot that reaches `at_least`; without one, an image that begins there, empty.

    A snapshot does not say who leads the quorum; `quorum-state` does.
    """
    image = MetadataImage(offset=at_least - 1)
    for path in sorted(directory.glob("*-*.checkpoint"), reverse=True):
        offset, _, epoch = path.stem.partition("-")
        if offset.isdigit() and epoch.isdigit() and int(offset) >= at_least:
            events, _ = decode_from(path.read_bytes(), 0)
            image = replace(MetadataImage().apply_all(events), offset=at_least - 1, controller=None)
            break
    try:
        quorum = checkpoints.read_quorum_state(directory / "quorum-state")
    except (FileNotFoundError, ParseError):
        return image
    return replace(image, controller=quorum.leader_id, controller_epoch=quorum.leader_epoch)


def shared_end(one: MetadataLogTail, other: MetadataLogTail) -> int:
    """The offset up to which two logs are the same: the same epoch at an offset means the same log up to it (Raft's
    log matching). What a snapshot holds was committed, so it is shared.
    """
    low = max(one.start, other.start)
    offset = min(one.end, other.end) - 1
    while offset >= low:
        mine, theirs = one.epoch_at(offset), other.epoch_at(offset)
        if mine is None or theirs is None:
            break
        if mine == theirs:
            return offset + 1
        # Before the batch of the higher epoch, which the other log cannot hold.
        higher = one if mine > theirs else other
        offset = higher.decisions[higher.index_of(offset)].first - 1
    return low if offset >= low - 1 else 0


def committed(tails: Collection[MetadataLogTail]) -> tuple[MetadataLogTail, int] | None:
    """The log to read, and the offset up to which it is committed; None before there is a log.

    What is committed is only said when the last epoch has a record on a majority of the disks: `end` is then past the
    beginning of that epoch.
    """
    best = max(tails, key=lambda tail: (tail.last_epoch, tail.end), default=None)
    if best is None or not best.decisions:
        return None
    ends = sorted((best.end if tail is best else shared_end(best, tail) for tail in tails), reverse=True)
    end = ends[len(ends) // 2]
    if best.epoch_at(end - 1) != best.last_epoch:
        return None
    return best, end


def steps(events: Sequence[MetadataEvent]) -> Iterator[Sequence[MetadataEvent]]:
    """Parts of a batch, in order, none of which changes the same partition or broker twice."""
    begin = 0
    changed: set[object] = set()
    for number, event in enumerate(events):
        what = _subject(event)
        if what is not None and what in changed:
            yield events[begin:number]
            begin, changed = number, set()
        changed.add(what)
    yield events[begin:]


def _subject(event: MetadataEvent) -> object:
    """The partition or broker that an event is about; None if it is about neither."""
    if event.kind in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
        return event.fields["topic_id"], event.fields["partition_id"]
    if event.kind in _TELLING:
        return event.fields.get("broker_id", event.fields.get("id"))
    return None


def cluster_state(image: MetadataImage) -> ClusterState:
    """The shared form of a metadata image."""
    return ClusterState(
        controller=image.controller,
        controller_epoch=image.controller_epoch,
        brokers=frozenset(number for number, broker in image.brokers.items() if not broker.fenced),
        partitions=MappingProxyType({key: partition_state(value) for key, value in image.partitions.items()}),
        features={name: (level, image.feature_offsets.get(name, -1)) for name, level in image.features.items()},
    )


def partition_state(image: PartitionImage) -> PartitionState:
    """The shared form of a partition's state."""
    return PartitionState(
        leader=image.leader,
        leader_epoch=image.leader_epoch,
        isr=image.isr,
        replicas=image.replicas,
        controller_epoch=image.controller_epoch,
        version=image.offset,
        elr=image.elr,
        adding=image.adding,
        removing=image.removing,
        source_ns=image.timestamp_ms * MS if image.timestamp_ms >= 0 else None,
    )


class KRaftObserver(StateKeeper):
    """Follows the metadata log in these log directories, `{node: directory}` as the host sees them.

    If there are nodes called "controller-N" they are the voters; otherwise every node is one.
    """

    def __init__(self, log_dirs: Mapping[str, Path], timeline: Timeline) -> None:
        controllers = [name for name in log_dirs if name.startswith("controller-")]
        numbers = frozenset(int(name.rpartition("-")[2]) for name in controllers)
        super().__init__("kraft", timeline, node_name(numbers))
        self._tails = {name: MetadataLogTail(log_dirs[name] / DIRECTORY) for name in controllers or log_dirs}
        self._image = MetadataImage()
        self._epoch = -1
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Follow the log; returns when the first controller is known. WaitTimeout if none comes in three minutes."""
        self._thread = threading.Thread(target=self._follow, name="kraft-observer", daemon=True)
        self._thread.start()
        self.wait(
            lambda state: state.controller is not None,
            what=f"a leader of the quorum in the metadata log of {', '.join(self._tails)}",
            timeout_s=START_LIMIT_S,
        )

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(JOIN_LIMIT_S)
            self._thread = None

    def _follow(self) -> None:
        while not self._stop.wait(POLL_S):
            try:
                self.poll()
            except Exception as error:  # an observer that died would be taken for a quiet cluster
                self.begin_blind(f"the metadata log cannot be read: {type(error).__name__}: {error}")
            else:
                self.end_blind("the metadata log is read again")

    def poll(self) -> None:
        """Read what is new in the voters' logs and publish what has become committed."""
        damaged: list[Damaged] = []
        for tail in self._tails.values():
            try:
                tail.poll()
            except Damaged as error:
                tail.forget()  # a read that met a truncation half-way looks the same: the next one starts over
                damaged.append(error)
        found = committed(self._tails.values())
        if found is not None:
            self._advance(*found)
        if damaged:
            raise damaged[0]

    def _advance(self, tail: MetadataLogTail, end: int) -> None:
        applied = self._image.offset
        if applied >= 0 and tail.epoch_at(applied) not in (None, self._epoch):
            text = f"the log was rewritten: offset {applied} was of epoch {self._epoch}, is of {tail.epoch_at(applied)}"
            self._restart(tail, Note(source="kraft", text=text))
        elif applied + 1 < tail.start:
            self._restart(tail, _missed(tail.start - applied - 1))
        elif applied + 1 >= end:
            return
        for decision in tail.decisions[tail.index_of(self._image.offset + 1) :]:
            if decision.last >= end:
                break
            self._epoch = decision.epoch
            for events in steps(decision.events):
                self._apply(events)

    def _apply(self, events: Sequence[MetadataEvent]) -> None:
        before = self._image
        self._image = before.apply_all(events)
        kinds = {event.kind for event in events}
        also: list[Event] = [_record(event, self._image) for event in events if event.kind in _RECORDED]
        also += _registrations(before, self._image, self._node_name)
        if "CORRUPT" in kinds:
            offset = next(event.offset for event in events if event.kind == "CORRUPT")
            text = f"the metadata record at offset {offset} could not be decoded"
            also.append(Note(source="kraft", text=text))
        self.publish(cluster_state(self._image) if kinds & _TELLING else self.state, also=also)

    def _restart(self, tail: MetadataLogTail, why: Event) -> None:
        """Begin with another log, or with what a snapshot left of one."""
        self._image = tail.image
        self.publish(cluster_state(self._image) if tail.start else self.state, also=[why])


# Everything else (heartbeat-like no-ops, configurations, producer ids) leaves the state as it is.
_TELLING: Final = frozenset(
    (
        "LEADER_CHANGE",
        "ABORT_TRANSACTION_RECORD",
        "REMOVE_TOPIC_RECORD",
        "PARTITION_RECORD",
        "PARTITION_CHANGE_RECORD",
        "CLEAR_ELR_RECORD",
        "REGISTER_BROKER_RECORD",
        "UNREGISTER_BROKER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        "FENCE_BROKER_RECORD",
        "UNFENCE_BROKER_RECORD",
        "FEATURE_LEVEL_RECORD",
    )
)
# What the timeline has in full: what is said of brokers, of partitions and of features.
_RECORDED: Final = _TELLING - {"LEADER_CHANGE", "ABORT_TRANSACTION_RECORD", "REMOVE_TOPIC_RECORD", "CLEAR_ELR_RECORD"}


def _record(event: MetadataEvent, image: MetadataImage) -> Metadata:
    return Metadata(
        type=event.kind,
        version=event.version,
        offset=event.offset,
        epoch=event.epoch,
        fields={name: value for name, value in event.fields.items() if value is not None},
        topic=image.topics.get(event.fields.get("topic_id", "")),
        source_ns=event.timestamp_ms * MS if event.timestamp_ms >= 0 else None,
    )


def _missed(count: int) -> Missed:
    reason = "a snapshot replaced them before they were read"
    return Missed(source="kraft", path=DIRECTORY, count=count, reason=reason)


def _registrations(before: MetadataImage, after: MetadataImage, name: Callable[[int], str]) -> list[Event]:
    """A broker that registers begins fenced: not in `brokers` yet, but worth knowing."""
    return [
        Broker(source="kraft", node=name(number), state="registered", fenced=broker.fenced)
        for number, broker in after.brokers.items()
        if number not in before.brokers or before.brokers[number].epoch != broker.epoch
    ]
