"""Replicas as they lie on the brokers' disks: how far each goes, and copies of them at named moments.

Brokers keep their files in directories of the host, so reading them needs no broker's help and disturbs none; a record is
in the file as soon as the broker has appended it, because file and page cache are one to every reader of the same
kernel. A copy of a running broker's directory is not a snapshot: a segment is copied up to the length it has when its
turn comes, and whole batches are what counts (a half-written last one is a torn tail and no corruption). Scenarios copy when
nothing is being written, or accept that replicas differ at their very ends.
"""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from harness.formats import checkpoints
from harness.formats.batches import Corrupt, scan_batches
from harness.formats.errors import ParseError

LOG_DIR: Final = "kafka"
COPIED_SUFFIXES: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
CHECKPOINTS: Final = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
)


def log_end_offset(directory: Path) -> int | None:
    """The offset after the last whole batch of a replica's newest segment; None if there is no segment."""
    segments = sorted(path for path in directory.glob("*.log") if path.stem.isdigit())
    if not segments:
        return None
    newest = segments[-1]
    end = int(newest.stem)
    try:
        size = newest.stat().st_size
        if size == 0:
            return end
        with newest.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            for batch in scan_batches(data):
                if isinstance(batch, Corrupt):
                    break
                if batch.last_offset is not None:
                    end = batch.last_offset + 1
    except (FileNotFoundError, ValueError):
        return end
    return end


def high_watermark(log_dir: Path, topic: str, partition: int) -> int | None:
    """The checkpointed high watermark of a replica; None if the file has none."""
    path = log_dir / checkpoints.HIGH_WATERMARKS
    try:
        return checkpoints.read_offset_checkpoint(path).offsets.get((topic, partition))
    except (FileNotFoundError, ParseError):
        return None


def leo_and_hw(node_data: Path, topic: str, partition: int) -> tuple[int, int]:
    """LEO and checkpointed HW of a replica from its files; -1 for what is not there."""
    log_dir = node_data / LOG_DIR
    leo = log_end_offset(log_dir / f"{topic}-{partition}")
    hw = high_watermark(log_dir, topic, partition)
    return (-1 if leo is None else leo, -1 if hw is None else hw)


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file without writing its zeros: a broker preallocates 10 MiB of them for every index.

    The copy reads the same byte for byte and has the same length.
    """
    with source.open("rb") as reader, target.open("wb") as writer:
        length = os.fstat(reader.fileno()).st_size
        position = 0
        while position < length:
            try:
                begin = os.lseek(reader.fileno(), position, os.SEEK_DATA)
            except OSError:
                break
            end = min(os.lseek(reader.fileno(), begin, os.SEEK_HOLE), length)
            reader.seek(begin)
            while begin < end:
                block = reader.read(min(1 << 20, end - begin))
                if not block:
                    break
                if block.strip(b"\0"):
                    writer.seek(begin)
                    writer.write(block)
                begin += len(block)
            position = max(end, position + 1)
        writer.truncate(length)


def copy_replicas(
    data: Path, nodes: Iterable[str], destination: Path, topics: Iterable[str]
) -> Mapping[str, Mapping[str, Any]]:
    """Copy the topics' partition directories and the checkpoint files of every node, and say how far each replica goes.

    `data/<node>/kafka` is a node's log directory; the copies go to `destination/<node>/…`, which appears as a whole, by
    rename. Returns `{node: {"t-0": {"leo": 4, "hw": 3}}}`, taken from the copies. A file that vanishes meanwhile (a rolled
    segment, a replaced checkpoint) is left out.
    """
    wanted = tuple(topics)
    building = destination.with_name(f".{destination.name}.part")
    shutil.rmtree(building, ignore_errors=True)
    seen: dict[str, dict[str, Any]] = {}
    for node in nodes:
        source, target = data / node / LOG_DIR, building / node
        target.mkdir(parents=True)
        for name in CHECKPOINTS:
            _copy(source / name, target / name)
        seen[node] = {}
        for replica in sorted(source.iterdir()) if source.is_dir() else ():
            topic, _, number = replica.name.rpartition("-")
            if topic in wanted and number.isdigit() and replica.is_dir():
                _copy_directory(replica, target / replica.name)
                leo = log_end_offset(target / replica.name)
                seen[node][replica.name] = {"leo": leo, "hw": high_watermark(target, topic, int(number))}
    building.rename(destination)
    return seen


def _copy(source: Path, target: Path) -> None:
    try:
        copy_sparse(source, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)


def _copy_directory(source: Path, target: Path) -> None:
    target.mkdir()
    for entry in sorted(source.iterdir()):
        if entry.suffix in COPIED_SUFFIXES or entry.name in ("leader-epoch-checkpoint", "partition.metadata"):
            _copy(entry, target / entry.name)
