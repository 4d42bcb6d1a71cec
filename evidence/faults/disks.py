"""Faults of disks: a disk is slow, full, answers with errors, or is read-only."""

from __future__ import annotations

import errno
import os
from typing import ClassVar

from evidence.faults.base import FaultProof, Mark

SLOW_SHARE = 0.5
"""Of the time that a slow disk's rate asks for, a write must have taken so much: a first slice goes through at once."""


class DiskProof(FaultProof, frozen=True, kw_only=True):
    """A disk that does not do what it should."""


class SlowDiskProof(DiskProof, frozen=True, kw_only=True, tag="slow-disk"):
    """A write from within the node's control group takes as long as the rate says by the machine's clock, and the
    kernel's counter for the device has its bytes.
    """

    mark: ClassVar = Mark(verb="slow-disk")

    device: str
    """Its numbers, such as "253:0"."""
    bytes_per_s: int
    bytes: int
    """So many were written, flushed one block after the other."""
    bytes_counted: int
    """By the kernel, for the device."""
    took_ms: int

    def missing(self) -> str | None:
        if self.bytes_per_s <= 0 or self.took_ms < SLOW_SHARE * 1000 * self.bytes / self.bytes_per_s:
            return "its proof does not show a write that takes as long as it says"
        if not 0 < self.bytes <= self.bytes_counted or not self.device:
            return "its proof does not show bytes that the kernel counted"
        return None


class RefusingDiskProof(DiskProof, frozen=True, kw_only=True):
    """A file system that refuses what is written to it, while its node runs."""

    REFUSAL: ClassVar[int]
    """The error by which this kind of disk refuses."""

    file_system: str = ""
    refused: str
    """The error that was met."""
    running: bool
    """Whether the node ran when its disk was struck."""

    def missing(self) -> str | None:
        if self.refused != os.strerror(self.REFUSAL):
            return "its proof does not show a write that was refused"
        return None if self.running else "its proof does not show a node that ran"


class DiskFullProof(RefusingDiskProof, frozen=True, kw_only=True, tag="disk-full"):
    """The file system refuses writes, for lack of space."""

    REFUSAL: ClassVar = errno.ENOSPC
    mark: ClassVar = Mark(verb="disk-full")

    free_before: int | None = None
    ballast: int | None = None
    """So many bytes were allocated to a file of ours."""
    free: int | None = None


class BrokenDiskProof(RefusingDiskProof, frozen=True, kw_only=True):
    """A file system that takes no new file, until it is mounted anew."""

    replicas: tuple[str, ...] = ()
    """Those that it holds ("t-0")."""


class DiskFailureProof(BrokenDiskProof, frozen=True, kw_only=True, tag="disk-failure"):
    """The file system refuses a new file with an error of its device, while the node runs."""

    REFUSAL: ClassVar = errno.EIO
    mark: ClassVar = Mark(verb="disk-failure")


class DiskReadOnlyProof(BrokenDiskProof, frozen=True, kw_only=True, tag="disk-read-only"):
    """The file system refuses a new file as read-only, and its node ran until the kernel met an error in it (ext4)."""

    REFUSAL: ClassVar = errno.EROFS
    mark: ClassVar = Mark(verb="disk-read-only")
