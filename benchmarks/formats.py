"""How fast records are decoded into Arrow, beside reading and checksumming the same file by plain code, in one run.

    python -m benchmarks.formats [--megabytes 300]

A segment of format 2 is written to a temporary directory, 200-byte records of random bytes in batches of 80 and of one,
and read from the page cache. CPU seconds of one process, not wall time, because the machine that runs this is seldom
idle. (How fast replicas are compared: benchmarks.replicas.)
"""

from __future__ import annotations

import argparse
import os
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import google_crc32c

from kafkafiles.batches import V2_CRC_FROM, Corrupt
from kafkafiles.columns import read_arrow_batches
from kafkafiles.crc import crc32c

RECORD_BYTES = 200
CHUNK_BYTES = 1 << 20


def batch_of(records: int, *, record_bytes: int = RECORD_BYTES) -> bytearray:
    """A sound format 2 batch at offset 0. Written here and not with the tests' encoder: benchmarks import no tests."""
    body = b""
    for delta in range(records):
        fields = b"\x00\x00" + _varint(delta) + _varint(-1) + _varint(record_bytes) + os.urandom(record_bytes) + b"\x00"
        body += _varint(len(fields)) + fields
    checked = struct.pack(">hiqqqhii", 0, records - 1, 1000, 1000, -1, -1, -1, records) + body
    head = struct.pack(">qiibI", 0, 9 + len(checked), 0, 2, google_crc32c.value(checked))
    assert len(head) == V2_CRC_FROM
    return bytearray(head + checked)


def _varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 31)
    return bytes((zigzag,)) if zigzag < 0x80 else bytes((zigzag & 0x7F | 0x80, zigzag >> 7))


def write(directory: Path, megabytes: int, records: int, batch: bytearray) -> Path:
    """One replica with one segment of about `megabytes`, the same batch over and over at ascending offsets."""
    directory.mkdir(parents=True)
    path = directory / f"{0:020d}.log"
    with path.open("wb") as file:
        for number in range(megabytes * 1_000_000 // len(batch)):
            batch[0:8] = struct.pack(">q", number * records)  # no checksum covers the offset
            file.write(batch)
    return path


def read_and_checksum(path: Path) -> int:
    """The yardstick: plain reading, and a checksum over everything."""
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            total ^= crc32c(chunk)
    return total


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time that `work` takes in this process."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def decode(path: Path) -> int:
    """Every record into Arrow; how many there are."""
    rows = 0
    for found in read_arrow_batches(path):
        assert not isinstance(found, Corrupt)
        rows += found.num_rows
    return rows


def measure(scratch: Path, megabytes: int, records: int) -> None:
    """Write, read in both ways, print."""
    path = write(scratch / "t-0", megabytes, records, batch_of(records))
    decode(path)  # loads what is compiled, and the page cache
    size = path.stat().st_size
    plain = cpu_seconds(lambda: read_and_checksum(path))
    decoded = cpu_seconds(lambda: decode(path))
    print(f"batches of {records}, {size // 1_000_000} MB")
    print(f"  read and checksum  {plain:6.2f} s  {size / plain / 1e6:6.0f} MB/s")
    print(f"  decode into Arrow  {decoded:6.2f} s  {size / decoded / 1e6:6.0f} MB/s  ratio {plain / decoded:.2f}")


def main() -> None:
    """The benchmark as a program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=300, help="size of the segment")
    options = parser.parse_args()
    for records in (80, 1):
        with tempfile.TemporaryDirectory() as scratch:
            measure(Path(scratch), options.megabytes, records)


if __name__ == "__main__":
    main()
