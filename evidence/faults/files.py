"""Faults of files: removed, overwritten, damaged, cut off or extended; or all of a disk replaced by a blank one."""

from __future__ import annotations

from typing import ClassVar

from evidence.faults.base import FaultProof, Lasts, Mark


class FileProof(FaultProof, frozen=True, kw_only=True):
    """A file that is not what was written. Nobody repairs it: what the broker does about it is what is looked at."""

    lasts: ClassVar = Lasts.AT_ONCE


class WipeProof(FileProof, frozen=True, kw_only=True, tag="wipe"):
    """The disk had logs and has no file now. The node is down before and after."""

    mark: ClassVar = Mark(verb="wipe")

    files_before: int
    logs_before: tuple[str, ...]
    """The replicas that had segments ("t-0")."""
    files_after: int

    def missing(self) -> str | None:
        shown = 0 < len(self.logs_before) <= self.files_before and self.files_after == 0
        return None if shown else "its proof does not show a disk that had files and has none"


class RemoveProof(FileProof, frozen=True, kw_only=True, tag="remove"):
    """The file existed and is removed. The node is down before and after."""

    strikes: ClassVar = False
    mark: ClassVar = Mark(verb="remove")

    file: str
    bytes: int
    """So many it had."""
    there: bool
    """Whether it still is."""

    def missing(self) -> str | None:
        shown = self.file and self.bytes >= 0 and not self.there
        return None if shown else "its proof does not show a file that was there and is gone"


class OverwriteProof(FileProof, frozen=True, kw_only=True, tag="overwrite"):
    """The checkpoint has the new offset and is otherwise as before. The node is down before and after."""

    strikes: ClassVar = False
    mark: ClassVar = Mark(verb="overwrite")

    file: str
    replica: str
    """Whose offset it is ("t-0")."""
    offset_before: int | None
    """None if the file had none for this replica."""
    offset: int

    def missing(self) -> str | None:
        shown = self.file and self.replica and self.offset != self.offset_before
        return None if shown else "its proof does not show another offset"


class FlipProof(FileProof, frozen=True, kw_only=True, tag="flip"):
    """For a flipped bit: the file is read again, one byte has changed, and all others are as before."""

    mark: ClassVar = Mark(verb="flip")

    offset: int | None = None
    """The offset that it strikes, in a segment or an index."""
    file: str
    """As seen from the directory of logs: "t-0/00000000000000000000.log"."""
    position: int
    byte_before: int
    byte: int
    bytes: int
    """The length of the file."""
    others_as_before: bool
    running: bool | None = None
    """Whether the node ran."""

    def missing(self) -> str | None:
        another = self.byte != self.byte_before and self.file and 0 <= self.position < self.bytes
        shown = another and self.others_as_before
        return None if shown else "its proof does not show another byte, and all others as before"


class ResizeProof(FileProof, frozen=True, kw_only=True, tag="resize"):
    """For a file that is cut, or extended by zeros: it has the new length, its old bytes are as before, and added bytes
    are zeros. The node is down before and after.
    """

    mark: ClassVar = Mark(verb="resize")

    file: str
    bytes_before: int
    bytes: int
    rest_as_before: bool

    def missing(self) -> str | None:
        shown = self.file and self.bytes != self.bytes_before and self.rest_as_before
        return None if shown else "its proof does not show another length, and the rest as before"
