"""The version lines that the Atlas has a page for: each line of releases (2.8, 3.9), in each mode that it has.

Bugs and defaults differ between lines and between modes, so each pair has a page. ZooKeeper clusters whose
inter.broker.protocol.version is before 0.11 behave like old brokers (KIP-101 needs the newer protocol): they have one
page of their own, with the release that they were measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from audit.cells import line_of as audit_line
from evidence.borders import KRAFT_ONLY, KRAFT_SINCE
from evidence.errors import UsageError, unknown_name
from evidence.releases import line_of, numbers
from harness.cluster import apache, versions
from harness.cluster.versions import Mode, Version

PINNED: Final = "pinned"
MEASURED_PINNED: Final = "3.9.2-pinned"
"""The version that an older protocol was measured on."""
WAYS: Final = {"zk": "zookeeper", "zookeeper": "zookeeper", "kraft": "kraft", PINNED: PINNED}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLine:
    """A line of releases in one mode."""

    name: str
    """"2.8", "3.9-kraft"."""
    label: str
    """"2.8", "3.9 with KRaft"."""
    mode: Mode
    releases: tuple[str, ...]
    """Oldest first."""
    audit: str
    """The line of the audit's matrix that covers it (audit.cells.LINES)."""

    @property
    def newest(self) -> str:
        """Its newest release, which the page is about."""
        return self.releases[-1]

    @property
    def pinned(self) -> bool:
        """Whether brokers are held at a protocol before 0.11."""
        return self.audit == PINNED

    def version(self, release: str) -> Version:
        """One of its releases as a version that can be run."""
        if self.pinned:
            return versions.get(f"{release}-pinned")
        both = KRAFT_SINCE.release <= numbers(release) < KRAFT_ONLY.release
        suffix = ("-kraft" if self.mode == "kraft" else "-zk") if both else ""
        return versions.get(release + suffix)

    def with_release(self, release: str) -> ReleaseLine:
        """The same line as if it ended with one of its releases: what that one has."""
        index = self.releases.index(release)
        return ReleaseLine(
            name=self.name, label=self.label, mode=self.mode, releases=self.releases[: index + 1], audit=self.audit
        )


def every() -> tuple[ReleaseLine, ...]:
    """All lines, newest first; ZooKeeper after KRaft, and the one that is held at an older protocol last."""
    by_line: dict[tuple[int, ...], list[str]] = {}
    for release in apache.releases():
        by_line.setdefault(line_of(numbers(release)), []).append(release)
    found = []
    for numbered, releases in sorted(by_line.items(), reverse=True):
        name = ".".join(map(str, numbered))
        kraft, zookeeper = numbered >= KRAFT_SINCE.release, numbered < KRAFT_ONLY.release
        if kraft:
            found.append(_line(name, "kraft", releases, both=zookeeper))
        if zookeeper:
            found.append(_line(name, "zookeeper", releases, both=kraft))
    return (*found, _pinned())


def _line(name: str, mode: Mode, releases: Sequence[str], *, both: bool) -> ReleaseLine:
    suffix = {"kraft": "-kraft", "zookeeper": "-zk"}[mode] if both else ""
    words = {"kraft": " with KRaft", "zookeeper": " with ZooKeeper"}[mode] if both else ""
    return ReleaseLine(
        name=name + suffix,
        label=name + words,
        mode=mode,
        releases=tuple(releases),
        audit=audit_line(releases[-1], kraft=mode == "kraft"),
    )


def _pinned() -> ReleaseLine:
    release = MEASURED_PINNED.partition("-")[0]
    name = ".".join(map(str, line_of(numbers(release))))
    return ReleaseLine(
        name=f"{name}-{PINNED}",
        label=f"{name} with ZooKeeper, inter.broker.protocol.version before 0.11",
        mode="zookeeper",
        releases=(release,),
        audit=PINNED,
    )


def asked(name: str) -> tuple[ReleaseLine, ...]:
    """The lines that a name asks for: "2.8", "2.8.2", "3.9.2-kraft", "3.9" (ZooKeeper and KRaft).

    A release gives its line as it was at that release. Raises UsageError, in one line, for what is no release or a mode
    that the release does not have.
    """
    wanted, _, way = name.partition("-")
    if way and way not in WAYS:
        raise UsageError(f"{name!r} is no version: write 2.8, 2.8.2, 3.9-zk, 3.9-kraft or 3.9-pinned")
    found = []
    for line in every():
        short = ".".join(map(str, line_of(numbers(line.newest))))
        if way == PINNED and not line.pinned:
            continue
        if way != PINNED and line.pinned:
            continue
        if way and not line.pinned and WAYS[way] != line.mode:
            continue
        if wanted == short:
            found.append(line)
        elif wanted in line.releases:
            found.append(line.with_release(wanted))
    if not found:
        names = [one.name for one in every()]
        raise unknown_name("version", name, [*names, *apache.releases()], hint="`kafka-chaos atlas` lists them")
    return tuple(found)
