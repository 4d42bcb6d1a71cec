"""What a broker wrote is gone or wrong when it starts again. A file, or all of its disk, is removed while the broker is
down, or an offset in a checkpoint is another one.

The proof: it was there and is not any more, or the file has the other offset and all else as before. The broker's
container was down before and after, so that nobody can have written it again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from evidence.errors import FaultUnproved
from evidence.faults.files import OverwriteProof, RemoveProof, WipeProof
from kafkafiles.checkpoints import encode_offset_checkpoint, read_offset_checkpoint

if TYPE_CHECKING:
    from harness.cluster.docker import Node


@dataclass(slots=True)
class OfOneThatIsDown:
    """What the faults here have in common: files of a node are changed while it is down, by `_change`."""

    node: Node
    path: Path
    """The file, or the directory of its logs."""
    _ran: bool = field(default=False, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    def inject(self) -> None:
        self._ran = bool(self.node.state()["Running"])
        self._change()

    def _change(self) -> None:
        raise NotImplementedError

    def _refuse_running(self, what: str) -> None:
        """FaultUnproved unless the node was down when the fault was injected, and is down."""
        if self._ran or self.node.state()["Running"]:
            raise FaultUnproved(f"{self.node.name}: its process runs, and may write {what} again")

    def heal(self) -> None:
        """The broker writes the file again by itself, or fetches again what the leaders have."""


@dataclass(slots=True)
class Remove(OfOneThatIsDown):
    """A file of a node that is down is removed, for good: the broker has to do without it."""

    proof_type: ClassVar = RemoveProof
    _bytes: int | None = field(default=None, init=False)

    @property
    def description(self) -> str:
        return f"removal of {self.path.name} of {self.node.name}"

    def _change(self) -> None:
        self._bytes = self.path.stat().st_size if self.path.exists() else None
        self.path.unlink(missing_ok=True)

    def verify(self) -> RemoveProof:
        if self._bytes is None:
            raise FaultUnproved(f"{self.node.name}: there was no {self.path.name} to be removed")
        self._refuse_running(self.path.name)
        if self.path.exists():
            raise FaultUnproved(f"{self.node.name}: {self.path.name} is still there")
        return RemoveProof(file=self.path.name, bytes=self._bytes, there=False)


@dataclass(slots=True)
class Overwrite(OfOneThatIsDown):
    """A checkpoint of a node that is down gets another offset for one replica, or one that it has none for yet."""

    topic: str
    partition: int
    offset: int
    proof_type: ClassVar = OverwriteProof
    _before: Mapping[tuple[str, int], int] = field(default_factory=dict, init=False)

    @property
    def description(self) -> str:
        return f"offset {self.offset} for {self.topic}-{self.partition} in {self.path.name} of {self.node.name}"

    def _change(self) -> None:
        self._before = read_offset_checkpoint(self.path).offsets if self.path.exists() else {}
        wrong = dict(self._before) | {(self.topic, self.partition): self.offset}
        self.path.write_bytes(encode_offset_checkpoint(wrong))

    def verify(self) -> OverwriteProof:
        key = (self.topic, self.partition)
        before = self._before.get(key)
        if before == self.offset:
            raise FaultUnproved(f"{self.node.name}: {self.path.name} had offset {before}: nothing to be made wrong")
        self._refuse_running(self.path.name)
        now = read_offset_checkpoint(self.path).offsets
        if now != dict(self._before) | {key: self.offset}:
            raise FaultUnproved(f"{self.node.name}: {self.path.name} has {dict(now)}")
        replica = f"{self.topic}-{self.partition}"
        return OverwriteProof(file=self.path.name, replica=replica, offset_before=before, offset=self.offset)


@dataclass(slots=True)
class Wipe(OfOneThatIsDown):
    """The disk of a node that is down is replaced by an empty one."""

    proof_type: ClassVar = WipeProof
    _there: list[str] = field(default_factory=list, init=False)
    """The files that were on it."""

    @property
    def description(self) -> str:
        return f"blank disk in place of that of {self.node.name}"

    def _change(self) -> None:
        self._there = self._files()
        for entry in self.path.iterdir() if self.path.exists() else ():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def verify(self) -> WipeProof:
        if not any(file.endswith(".log") for file in self._there):
            raise FaultUnproved(f"{self.node.name}: there was no log on its disk; there was {self._there}")
        self._refuse_running("its disk")
        if left := self._files():
            raise FaultUnproved(f"{self.node.name}: its disk still has {', '.join(left)}")
        return WipeProof(files_before=len(self._there), logs_before=_logs(self._there), files_after=0)

    def _files(self) -> list[str]:
        return sorted(str(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file())


def _logs(files: list[str]) -> tuple[str, ...]:
    """The directories among files that hold segments: the replicas, "t-0"."""
    return tuple(sorted({file.partition("/")[0] for file in files if file.endswith(".log") and "/" in file}))
