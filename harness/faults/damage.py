"""What a disk does to files that nobody writes to: a byte that is another one (bit rot), an end that is not there or
is zeros (a file system that was cut off in the middle of a write).

A byte is flipped in place, in the file that the broker has open. Both go through the same kernel, so every reader from
then on, the broker included, is given the other byte. The broker may run or be down. A file is cut or extended only
while its broker is down.

The proof is in the file, read anew. The one byte is another and all others are as before. Or the file has the other
length, its remaining bytes are as before, and added bytes are zeros.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, HarnessError
from evidence.faults.files import FlipProof, ResizeProof
from harness.faults.files import OfOneThatIsDown
from kafkafiles.batches import BatchHeader, Record, records, scan_batches
from kafkafiles.indexes import INDEX_ENTRY_BYTES, base_offset_of, parse_index

if TYPE_CHECKING:
    from pathlib import Path

    from harness.cluster.docker import Node

MASK: Final = 0x40
"""The bit that is flipped: in a digit it makes a letter, in the first byte of a position it adds 1 GiB."""


def value_position(data: bytes, offset: int) -> int:
    """The place in a segment of the middle byte of the value of the record at `offset`, which is not compressed.

    Raises HarnessError if the segment has no such record, or one without a value.
    """
    for header in scan_batches(data):
        if not isinstance(header, BatchHeader) or header.last_offset < offset:
            continue
        batch = data[header.position : header.end]
        values = (one.value for one in records(batch) if isinstance(one, Record) and one.offset == offset)
        value = next(values, None)
        if value and (at := batch.find(value)) >= 0:
            return header.position + at + len(value) // 2
        break
    raise HarnessError(f"the segment has no uncompressed record with a value at offset {offset}")


def index_position(data: bytes, base_offset: int, offset: int) -> int:
    """The place in an offset index of the first byte of the file position that is looked up for `offset`.

    Raises HarnessError if no entry is at or below that offset, so that none is asked for it.
    """
    below = [number for number, entry in enumerate(parse_index(data, base_offset)) if entry.offset <= offset]
    if not below:
        raise HarnessError(f"the index of segment {base_offset} has no entry at or below offset {offset}")
    return below[-1] * INDEX_ENTRY_BYTES + INDEX_ENTRY_BYTES // 2


def middle_of_last_batch(data: bytes) -> int:
    """The place in the middle of a segment's last whole batch. Raises HarnessError if it has none."""
    last = next((one for one in reversed(list(scan_batches(data))) if isinstance(one, BatchHeader)), None)
    if last is None:
        raise HarnessError("the segment has no batch that could be torn")
    return (last.position + last.end) // 2


def segment_with(directory: Path, offset: int) -> Path:
    """The segment of a partition directory in which `offset` lies. Raises HarnessError if all begin above it."""
    below = [path for path in sorted(directory.glob("*.log")) if base_offset_of(path) <= offset]
    if not below:
        raise HarnessError(f"{directory.name}: no segment begins at or below offset {offset}")
    return below[-1]


def last_digit(data: bytes) -> int:
    """The place of the last digit in a text file. Raises HarnessError if it has none."""
    at = max((place for place, byte in enumerate(data) if chr(byte).isdigit()), default=None)
    if at is None:
        raise HarnessError("there is no number in the file")
    return at


@dataclass(slots=True)
class Flip:
    """One bit of a byte of a file is flipped, whether the node runs or not."""

    node: Node
    root: Path
    """The directory of its logs."""
    path: Path
    position: int
    offset: int | None = None
    """The offset that it strikes, in a segment or an index."""
    proof_type: ClassVar = FlipProof
    _before: bytes = field(default=b"", init=False)
    _ran: bool = field(default=False, init=False)

    @property
    def file(self) -> str:
        """The file, as seen from the directory of logs: "t-0/00000000000000000000.log"."""
        return str(self.path.relative_to(self.root))

    @property
    def description(self) -> str:
        return f"a bit flipped in byte {self.position} of {self.file} of {self.node.name}"

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    def inject(self) -> None:
        self._ran = bool(self.node.state()["Running"])
        self._before = self.path.read_bytes()
        if self.position < len(self._before):
            self._write(bytes([self._before[self.position] ^ MASK]))

    def _write(self, byte: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(descriptor, byte, self.position)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def verify(self) -> FlipProof:
        now = self.path.read_bytes()
        changed = [at for at, (was, is_) in enumerate(zip(self._before, now, strict=False)) if was != is_]
        if len(now) != len(self._before) or changed != [self.position]:
            raise FaultUnproved(
                f"{self.node.name}: {self.file} had {len(self._before)} bytes and has {len(now)}; changed are the "
                f"bytes at {changed[:5]}, to be flipped was the one at {self.position}"
            )
        return FlipProof(
            offset=self.offset,
            file=self.file,
            position=self.position,
            byte_before=self._before[self.position],
            byte=now[self.position],
            bytes=len(now),
            others_as_before=True,
            running=self._ran,
        )

    def heal(self) -> None:
        """Nobody repairs it: what the broker does about it is what is looked at."""


@dataclass(slots=True)
class Resize(OfOneThatIsDown):
    """A file of a node that is down gets another length: it is cut, or extended by zeros."""

    bytes: int
    """How long the file is to be."""
    proof_type: ClassVar = ResizeProof
    _before: int | None = field(default=None, init=False)
    _digest: str = field(default="", init=False)
    """Of what is to be left of it."""

    @property
    def description(self) -> str:
        return f"{self.path.name} of {self.node.name} made {self.bytes} bytes long"

    def _change(self) -> None:
        self._before = self.path.stat().st_size if self.path.exists() else None
        if self._before is not None:
            self._digest = self._kept()
            os.truncate(self.path, self.bytes)

    def _kept(self) -> str:
        """The checksum of what the two lengths have in common."""
        return hashlib.sha256(self.path.read_bytes()[: min(self.bytes, self._before or 0)]).hexdigest()

    def verify(self) -> ResizeProof:
        if self._before is None or self._before == self.bytes:
            raise FaultUnproved(f"{self.node.name}: {self.path.name} had {self._before} bytes: nothing to be changed")
        self._refuse_running(self.path.name)
        now = self.path.read_bytes()
        if len(now) != self.bytes:
            raise FaultUnproved(f"{self.node.name}: {self.path.name} has {len(now)} bytes, not {self.bytes}")
        if self._kept() != self._digest or any(now[self._before :]):
            raise FaultUnproved(f"{self.node.name}: {self.path.name} has other bytes than before, or no zeros added")
        file = f"{self.path.parent.name}/{self.path.name}"
        return ResizeProof(file=file, bytes_before=self._before, bytes=self.bytes, rest_as_before=True)
