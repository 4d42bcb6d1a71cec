"""How fast three replicas are compared: against reading and checksumming the same files by plain code, in one run.

    python -m benchmarks.replicas [--megabytes 400] [--repeat 3] [--cold] [--scratch DIR]

What is compared is what `kafka-chaos replicas` does: three replicas' directories, cut into segments at other places on
each broker, every header and checksum looked at, every byte compared. Plain code reads the same files one after
another in blocks of 1 MiB and computes one checksum over each block, with the library that does it fastest
(google_crc32c for format 2, zlib's CRC-32 for format 1): it does not even look where a batch begins. The two take
turns, and of each the best of several times counts. Processor seconds, with what the kernel does for the process; the
machine that runs this is seldom idle, so wall time comes last. Files are in the page cache, unless `--cold` has them
dropped from it before each reading.

Sets: batches of 80 records of 200 bytes, as a busy producer sends them; batches of one record; the same in format 1;
and replicas of which one holds a thousand other, larger batches in the middle, after which nothing lies at the same
place any more.
"""

from __future__ import annotations

import argparse
import os
import resource
import struct
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from benchmarks.formats import RECORD_BYTES, batch_of
from kafkafiles.replica import examine
from kafkafiles.side_by_side import compare_directories

BLOCK_BYTES: Final = 1 << 20
STRAY_BATCHES: Final = 1000
SEGMENT_BYTES: Final = (1 << 30, 1_000_000_000, 777_777_777)
"""Each broker rolls its files on its own."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Replicas of `records` to a batch, in message format `magic`; one may hold something else in the middle."""

    name: str
    records: int
    magic: int = 2
    diverges: bool = False


SETS: Final = (
    Set(name="batches of 80", records=80),
    Set(name="batches of 1", records=1),
    Set(name="format 1, batches of 1", records=1, magic=1),
    Set(name="batches of 80, one replica diverges", records=80, diverges=True),
    Set(name="batches of 1, one replica diverges", records=1, diverges=True),
)


def entry_of(of: Set) -> Bytes:
    """One entry as brokers write it, at offset 0."""
    if of.magic == 2:
        return np.frombuffer(batch_of(of.records), dtype=np.uint8)
    checked = struct.pack(">bbqii", 1, 0, 1000, -1, RECORD_BYTES) + os.urandom(RECORD_BYTES)
    head = struct.pack(">qiI", 0, len(checked) + 4, zlib.crc32(checked))
    return np.frombuffer(head + checked, dtype=np.uint8)


class WrittenLog:
    """A partition directory that is being written, rolled as its broker would."""

    def __init__(self, directory: Path, segment_bytes: int) -> None:
        directory.mkdir(parents=True)
        self.directory = directory
        self.segment_bytes = segment_bytes
        self.offset = 0
        self._file = (directory / f"{0:020d}.log").open("wb")

    def append(self, entry: Bytes, count: int, records: int) -> None:
        """The same entry `count` times, at ascending offsets: no checksum covers those."""
        while count:
            room = max(1, (self.segment_bytes - self._file.tell()) // len(entry))
            some = min(count, room, max(1, (16 << 20) // len(entry)))
            block = np.tile(entry, (some, 1))
            offsets = self.offset + records * np.arange(some, dtype=np.int64)
            block[:, :8] = offsets.astype(">i8").view(np.uint8).reshape(-1, 8)
            self._file.write(block.data)
            self.offset += some * records
            count -= some
            if self._file.tell() + len(entry) > self.segment_bytes:
                self.close()
                self._file = (self.directory / f"{self.offset:020d}.log").open("wb")

    def close(self) -> None:
        self._file.close()


def write(scratch: Path, of: Set, megabytes: int) -> list[Path]:
    """The directories of three replicas of about `megabytes` each."""
    entry = entry_of(of)
    count = megabytes * 1_000_000 // len(entry)
    strays = min(STRAY_BATCHES, count // 4)
    found = []
    for number, segment_bytes in enumerate(SEGMENT_BYTES, start=1):
        log = WrittenLog(scratch / f"broker-{number}" / "t-0", segment_bytes)
        log.append(entry, count // 2, of.records)
        if of.diverges and number == len(SEGMENT_BYTES):
            log.append(_other(of), strays, of.records)
        else:
            log.append(entry, strays, of.records)
        log.append(entry, count - count // 2 - strays, of.records)
        log.close()
        found.append(log.directory)
    return found


def _other(of: Set) -> Bytes:
    """An entry that differs in everything but its number of records, its size included."""
    return np.frombuffer(batch_of(of.records, record_bytes=RECORD_BYTES + 3), dtype=np.uint8)


def files(directories: list[Path]) -> list[Path]:
    """All segments, in the order in which they are read."""
    return [path for directory in directories for path in sorted(directory.iterdir())]


def read_and_checksum(paths: list[Path], magic: int) -> int:
    """The yardstick."""
    checksum = google_crc32c.value if magic == 2 else zlib.crc32
    total = 0
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK_BYTES):
                total ^= checksum(block)
    return total


def drop_from_cache(paths: list[Path]) -> None:
    """Make the next reading come from the disk."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Processor and wall time that `work` takes."""
    processor, wall = time.process_time(), time.monotonic()
    work()
    return time.process_time() - processor, time.monotonic() - wall


def measure(scratch: Path, of: Set, options: argparse.Namespace) -> float:
    """Write, read in both ways, print; the ratio."""
    directories = write(scratch, of, options.megabytes)
    paths = files(directories)
    size = sum(path.stat().st_size for path in paths)

    def compared() -> None:
        (found,) = compare_directories(directories)
        assert (found.sound, found.more) == (not of.diverges, of.diverges), "this is not what was written"

    def all_differences() -> None:
        examined = examine({path.parent.name: path for path in directories})
        assert len(examined.differences) == of.diverges * STRAY_BATCHES * of.records, "this is not what was written"

    ways = {"read and checksum": lambda: read_and_checksum(paths, of.magic), "compare": compared}
    if of.diverges:
        ways["every difference"] = all_differences
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(options.repeat):
        for way, work in ways.items():
            if options.cold:
                drop_from_cache(paths)
            times[way].append(seconds(work))
    plain = min(times["read and checksum"])
    print(f"{of.name}: 3 x {size / 3e6:.0f} MB in {len(paths)} files, {'cold' if options.cold else 'warm'} cache")
    for way, found in times.items():
        processor, wall = min(found)
        ratio = "" if way == "read and checksum" else f"  ratio {plain[0] / processor:.2f}"
        print(f"  {way:<18} {processor:6.2f} s  {size / processor / 1e6:6.0f} MB/s  (wall {wall:.2f} s){ratio}")
    return plain[0] / min(times["compare"])[0]


def main() -> None:
    """The benchmark as a program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=400, help="size of each replica (default 400)")
    parser.add_argument("--repeat", type=int, default=3, help="times each way is measured (default 3)")
    parser.add_argument("--cold", action="store_true", help="drop the files from the page cache before each reading")
    parser.add_argument("--only", default="", metavar="TEXT", help="sets with this in their name")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where the files go (removed afterwards)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:  # loads what is compiled
        compare_directories(write(Path(scratch), SETS[0], 9))
    worst = float("inf")
    for of in (each for each in SETS if options.only in each.name):
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            worst = min(worst, measure(Path(scratch), of, options))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory at most {peak // 1024} MB, of which a session without files takes about 150")
    print(f"ratio_to_read_and_checksum: {worst:.2f}")


if __name__ == "__main__":
    main()
