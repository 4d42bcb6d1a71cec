"""What lies on the brokers' disks: log ends, checkpoints, leader epochs, waiting for them, and copies of it all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import Checkpoint, Moment
from harness.cluster.disks import flush, flush_file
from harness.observers.replicas import LOG_DIR, copy_replicas, directory_of, files_of, leo_and_hw
from harness.plan import SECOND
from harness.polling import poll
from harness.run.who import OFFSETS
from kafkafiles.batches import BatchHeader, scan_batches
from kafkafiles.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_leader_epoch_checkpoint,
    read_offset_checkpoint,
)

if TYPE_CHECKING:
    from pathlib import Path

    from evidence.events import Ends
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition, Target

FILE_LIMIT_S: Final = 30.0
RECOVERY_POINT_LIMIT_S: Final = 90.0
"""Brokers write theirs once a minute by default."""


class LiveFiles:
    """Reads the nodes' live files, which are bind-mounted from this machine."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog) -> None:
        self._cluster, self._run_dir, self._timeline = parts.cluster, parts.run_dir, parts.timeline
        self._topics, self._sequence_log = parts.topics, sequence_log
        self._record = parts.record
        """Gets the name of every copy."""

    def log_end_and_high_watermark(self, target: Target, t: Partition) -> tuple[int, int]:
        """LEO and checkpointed HW of a replica, read from its files."""
        return leo_and_hw(self._cluster.data / target.node.name, t.topic, t.number)

    def flush_disks(self, *targets: Target) -> None:
        """Have the disks of these nodes, or of all, take everything that was written until now, as in a cluster that
        has long been up. For clusters with disks of their own (`ClusterPlan.disks`).
        """
        self._cluster.require_disks("flush_disks")
        every = [*self._cluster.disks.values(), *self._cluster.second_disks.values()]
        disks = [disk for disk in every if not targets or disk.node in {target.node.name for target in targets}]
        with self._sequence_log.step("flush file systems", nodes=[disk.node for disk in disks]):
            for disk in disks:
                flush(disk.mount)

    def flush_log(self, t: Partition, targets: Sequence[Target]) -> None:
        """Have the disks of these brokers take what their replicas' segments have at this moment, and no other file: as
        a kernel does that has come to this file, and not yet to others. For clusters with disks of their own.

        Raises HarnessError for a broker that has none.
        """
        self._cluster.require_disks("flush_log")
        with self._sequence_log.step("flush a log", partition=str(t), nodes=[target.node.name for target in targets]):
            for target in targets:
                segments = sorted(self._replica(target, t).glob("*.log"))
                if not segments:
                    raise HarnessError(f"{target.node.name} has no segment of {t}")
                for segment in segments:
                    flush_file(segment)

    def wait_files(
        self, what: str, satisfied: Callable[[], bool], describe: Callable[[], str], timeout_s: float
    ) -> None:
        """Wait until files on the brokers' disks show something; WaitTimeout says what they show."""
        with self._sequence_log.step(f"wait until {what}"):
            if not poll(satisfied, timeout_s, watch=self._sequence_log.notice):
                raise WaitTimeout(f"not within {timeout_s:.0f} s: {what}; seen: {describe()}")

    def wait_high_watermark(self, t: Partition, offset: int, targets: Sequence[Target]) -> None:
        """Wait until these replicas have checkpointed this high watermark."""
        self.wait_files(
            f"the high watermark of {t} is {offset} on {', '.join(target.node.name for target in targets)}",
            lambda: all(self.log_end_and_high_watermark(target, t)[1] == offset for target in targets),
            lambda: self._describe_files(t, targets),
            FILE_LIMIT_S,
        )

    def wait_recovery_point(self, t: Partition, offset: int, target: Target) -> None:
        """Wait until a broker has checkpointed that this partition is flushed up to an offset or beyond."""

        def point() -> int:
            return self._checkpointed(target, RECOVERY_POINTS, t) or 0

        what = f"the recovery point of {t} is {offset} or more on {target.node.name}"
        self.wait_files(what, lambda: point() >= offset, lambda: str(point()), RECOVERY_POINT_LIMIT_S)

    def wait_checkpoint_written(self, target: Target) -> None:
        """Wait until a broker has just written its high watermarks to disk.

        It does so at a fixed interval, so what follows has most of that interval before the next time.
        """
        before = self._checkpoint(target, HIGH_WATERMARKS)
        self.wait_files(
            f"{target.node.name} has just checkpointed its high watermarks",
            lambda: self._checkpoint(target, HIGH_WATERMARKS).written_ns != before.written_ns,
            lambda: f"last written at {before.written_ns}",
            FILE_LIMIT_S,
        )
        written = self._checkpoint(target, HIGH_WATERMARKS)
        self._timeline.append(msgspec.structs.replace(written, before_ns=before.written_ns))

    def read_checkpoints(self, target: Target) -> None:
        """Record which high watermarks and recovery points a broker's files have at this moment."""
        for file in (HIGH_WATERMARKS, RECOVERY_POINTS):
            self._timeline.append(self._checkpoint(target, file))

    def checkpointed_log_start(self, target: Target, t: Partition) -> int | None:
        """Where a replica's log begins by its broker's file of log starts, which is put on record; None if it does not
        say: then it begins with its first segment.
        """
        seen = self._checkpoint(target, LOG_START_OFFSETS)
        self._timeline.append(seen)
        return (seen.offsets or {}).get(str(t))

    def wait_log_start_checkpointed(self, t: Partition, offset: int, targets: Sequence[Target]) -> None:
        """Wait until these brokers have written that their logs of the partition begin at this offset."""

        def seen() -> list[int | None]:
            return [self._checkpointed(target, LOG_START_OFFSETS, t) for target in targets]

        names = ", ".join(target.node.name for target in targets)
        what = f"{names} have checkpointed that {t} begins at {offset}"
        self.wait_files(what, lambda: set(seen()) == {offset}, lambda: str(seen()), FILE_LIMIT_S)

    def wait_cleaned(self, t: Partition, offset: int, targets: Sequence[Target], timeout_s: float) -> None:
        """Wait until these brokers have compacted the partition up to this offset, by their files of that."""

        def seen() -> list[int | None]:
            return [self._checkpointed(target, CLEANER_OFFSETS, t) for target in targets]

        what = f"{t} is compacted up to {offset} on {', '.join(target.node.name for target in targets)}"
        self.wait_files(what, lambda: all((one or 0) >= offset for one in seen()), lambda: str(seen()), timeout_s)

    def _checkpointed(self, target: Target, file: str, t: Partition) -> int | None:
        """The offset of a partition in a file of offsets as it is now; None if there is none."""
        return (self._checkpoint(target, file).offsets or {}).get(str(t))

    def _checkpoint(self, target: Target, file: str) -> Checkpoint:
        """A file of offsets as it is now; the broker replaces it as a whole."""
        path = self._logs(target.node.name) / file
        topics = {topic.name for topic in self._topics}
        try:
            written_ns, read = path.stat().st_mtime_ns, read_offset_checkpoint(path)
        except FileNotFoundError:
            return Checkpoint(node=target.node.name, file=file, offsets=None, written_ns=None)
        offsets = {f"{topic}-{number}": offset for (topic, number), offset in read.offsets.items() if topic in topics}
        return Checkpoint(node=target.node.name, file=file, offsets=offsets, written_ns=written_ns)

    def wait_log_end(self, t: Partition, offset: int, targets: Sequence[Target]) -> None:
        """Wait until these replicas' logs end at this offset on disk."""
        self.wait_files(
            f"the log of {t} ends at {offset} on {', '.join(target.node.name for target in targets)}",
            lambda: all(self.log_end_and_high_watermark(target, t)[0] == offset for target in targets),
            lambda: self._describe_files(t, targets),
            FILE_LIMIT_S,
        )

    def wait_log_start(self, t: Partition, offset: int, targets: Sequence[Target], timeout_s: float) -> None:
        """Wait until the first segment of these replicas begins at this offset or beyond: all before is deleted."""

        def starts() -> list[int]:
            logs = [self._replica(target, t).glob("*.log") for target in targets]
            return [min((int(path.stem) for path in segments), default=0) for segments in logs]

        what = f"the log of {t} begins at {offset} on {', '.join(target.node.name for target in targets)}"
        self.wait_files(what, lambda: min(starts()) >= offset, lambda: str(starts()), timeout_s)

    def batches_of(self, target: Target, t: Partition) -> list[tuple[int | None, int]]:
        """The batches of a replica's log as they lie on its disk, each by its first and its last offset; the first one
        of a compressed batch of before 0.11 is None.
        """
        return [(batch.base_offset, batch.last_offset) for batch in self._headers(target, t)]

    def producer_ids_of(self, target: Target, t: Partition) -> list[int]:
        """The producer ids of these batches, in their order; -1 of one that was written without idempotence."""
        return [batch.producer_id for batch in self._headers(target, t)]

    def sequences_of(self, target: Target, t: Partition) -> list[tuple[int, int, int]]:
        """(producer id, producer epoch, first sequence number) of these batches, in their order; -1 of one that was
        written without idempotence.
        """
        return [(batch.producer_id, batch.producer_epoch, batch.base_sequence) for batch in self._headers(target, t)]

    def _headers(self, target: Target, t: Partition) -> list[BatchHeader]:
        files = sorted(self._replica(target, t).glob("*.log"))
        found = [entry for path in files for entry in scan_batches(path.read_bytes())]
        return [entry for entry in found if isinstance(entry, BatchHeader)]

    def second_directory_of(self, target: Target, t: Partition) -> bool:
        """Whether a broker has this replica in its second log directory."""
        return self._replica(target, t).parts[-3] == SECOND

    def wait_deleted(self, topic: str) -> None:
        """Wait until no broker has a directory of this topic any more; a directory that is renamed to be deleted does
        not count.
        """

        def left() -> list[str]:
            found = (path for node in self._cluster.brokers.values() for path in self._logs(node.name).glob("*"))
            return [f"{path.parts[-3]}/{path.name[:40]}" for path in found if path.name.rpartition("-")[0] == topic]

        self.wait_files(
            f"{topic[:40]} is deleted on every broker", lambda: not left(), lambda: str(left()), FILE_LIMIT_S
        )

    def _logs(self, node: str) -> Path:
        return self._cluster.data / node / LOG_DIR

    def _replica(self, target: Target, t: Partition) -> Path:
        return directory_of(self._cluster.data / target.node.name, str(t)) / str(t)

    def epochs_of(self, target: Target, t: Partition) -> list[tuple[int, int]]:
        """(leader epoch, start offset) of a replica, from its leader-epoch-checkpoint."""
        path = self._replica(target, t) / "leader-epoch-checkpoint"
        return [(entry.epoch, entry.start_offset) for entry in read_leader_epoch_checkpoint(path).entries]

    def claim_next_epoch_starts_at(self, target: Target, t: Partition, *, epoch: int, offset: int) -> None:
        """Claim that the first epoch after `epoch` begins at `offset` in this replica's epoch file (KIP-101: a replica
        that returns truncates to where its leader says that the epoch ended). Brokers may write the file some time
        after they have truncated (KAFKA-15046).
        """

        def held() -> bool:
            later = [start for number, start in self.epochs_of(target, t) if number > epoch]
            return bool(later) and later[0] == offset

        self._sequence_log.claim(
            f"{target.node.name} truncated to the end of epoch {epoch}: the next one starts at {offset}",
            bool(poll(held, FILE_LIMIT_S, watch=self._sequence_log.notice)),
            witness="files",
            leader_epoch_checkpoint=self.epochs_of(target, t),
        )

    def wait_quiet(self, t: Partition, targets: Sequence[Target], timeout_s: float) -> None:
        """Wait until these replicas' logs end at one offset and all their high watermarks have reached it."""

        def equal() -> bool:
            seen = {self.log_end_and_high_watermark(target, t) for target in targets}
            return len(seen) == 1 and len(set(seen.pop())) == 1

        names = ", ".join(target.node.name for target in targets)
        self.wait_files(f"{t} is quiet on {names}", equal, lambda: self._describe_files(t, targets), timeout_s)

    def _describe_files(self, t: Partition, targets: Sequence[Target]) -> str:
        seen = {target.node.name: self.log_end_and_high_watermark(target, t) for target in targets}
        return ", ".join(f"{name} LEO {leo} HW {hw}" for name, (leo, hw) in seen.items())

    def copy_replicas(self, name: str, *, groups: bool = False) -> dict[str, dict[str, Ends]]:
        """Copy every broker's replica files and checkpoints, and record the moment with each one's LEO and HW. With
        `groups` those of the group coordinators' topic come too: how far they go is in the timeline alone.
        """
        moment = f"{len(self._record.run.moments):02d}-{name}"
        nodes = [node.name for node in self._cluster.brokers.values()]
        begun_ns = time.monotonic_ns()
        topics = [topic.name for topic in self._topics]
        written = OFFSETS.topic if groups and OFFSETS.topic not in topics else ""
        copied = copy_replicas(self._cluster.data, nodes, self._run_dir.moment(moment), topics, written=written)
        self._record.change(moments=(*self._record.run.moments, moment))
        files = files_of(self._run_dir.moment(moment))
        seen, group_logs = _apart(copied, written)
        self._timeline.append(
            Moment(
                name=moment,
                nodes=seen,
                group_logs=group_logs,
                groups=bool(written),
                files=files,
                begun_ns=begun_ns,
            )
        )
        return seen


def _apart(
    copied: dict[str, dict[str, Ends]], topic: str
) -> tuple[dict[str, dict[str, Ends]], dict[str, dict[str, Ends]]]:
    """The replicas of other topics, and those of this one, by node."""

    def kept(own: bool) -> dict[str, dict[str, Ends]]:
        return {
            node: {name: ends for name, ends in held.items() if (name.rpartition("-")[0] == topic) is own}
            for node, held in copied.items()
        }

    return kept(False), {node: held for node, held in kept(True).items() if held}
