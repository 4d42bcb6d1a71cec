"""Bugs of Kafka as traits of a version: which releases have each one, and what an exhibit of the museum is made of.

A fix goes into several lines of releases, and into each with a release of its own: KAFKA-13727 is fixed in 2.8.2, 3.0.2
and 3.1.1, so 3.1.0 has the bug though it is newer than 2.8.2. Therefore a bug names the first fixed release of each
line that got the fix. A line is what Kafka numbers its bug-fix releases within: 2.8, and 0.11.0 before 1.0. The newest
of these releases is where the fix came from the development branch: all lines after it have it too.

Its first release is a border (evidence/borders.py), which has a source on both sides: what the code of a release before
did, and what the code does from there on. Where the release before lacks the whole feature, it says so. A border of a
bug stands with the bug, since nothing else is decided by it. Releases of KRaft before 3.3 count too: they had the code,
although KRaft was not ready for production.

A bug that was fixed may come back with a later change (`again`), which is a border too. The newest releases have it
then, so it has fixed releases and a status.

A bug without a fixed release of brokers has a status, its source, and the day of the look-up. It may be fixed in the
source and in no release, in Kafka and not in a client, or be a known limitation that is to be documented. All others
are open.

A bug of Java's client goes by the client's releases, whatever the brokers are. An exhibit of one runs the client of its
brokers' release, so the same numbers say where it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from evidence import releases
from evidence.borders import Border
from evidence.errors import UsageError
from evidence.releases import Release, line_of
from evidence.run import DEFAULT_CASE
from harness.cluster import versions
from harness.cluster.ranges import VersionRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.cluster.versions import Mode, Version


def numbers(release: str) -> Release:
    """A release as numbers. Raises UsageError for a text that is no release.

    >>> numbers("0.11.0.3")
    (0, 11, 0, 3)
    """
    parts = release.split(".")
    if len(parts) < 2 or not all(part.isdigit() for part in parts):
        raise UsageError(f"{release!r} is no release of Kafka; write it as 2.8.1 or 0.11.0.0")
    return releases.numbers(release)


class BugStatus(StrEnum):
    """Where a bug stands that no release of brokers mends."""

    OPEN = "not fixed"
    UNRELEASED = "fixed in the source, in no release"
    LIMITATION = "a known limitation, to be documented"
    IN_A_CLIENT = "fixed in Kafka, not in every client"


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is known of a bug that no release of brokers mends."""

    state: BugStatus
    told: str
    """In a sentence or two."""
    sources: tuple[str, ...]
    """Where that is said, or where it was looked for and not found."""
    on: str
    """The day on which it was looked up: "2026-11-23"."""
    looked_at: str
    """The newest release whose code was looked at, and has the bug."""

    def as_json(self) -> dict[str, Any]:
        """For `kafka-chaos museum`, `kafka-chaos findings` and the pages."""
        return {
            "state": str(self.state),
            "told": self.told,
            "sources": list(self.sources),
            "on": self.on,
            "looked_at": self.looked_at,
        }


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A bug that Kafka had or has.

    Raises UsageError if it came with a line and not with a release, if two fixed releases are of one line, for one that
    is neither fixed nor says where it stands, and for one that came back before it was fixed.
    """

    id: str
    """Its JIRA, such as "KAFKA-4893"."""
    title: str
    """What it does, in the words of somebody whom it bit."""
    whom: str
    """Whom it bites: what one must do, or have, to meet it."""
    since: Border
    """The first release that has it: what the source of the release before says, and what its own says."""
    fixed: tuple[str, ...]
    """The first fixed release of each line that got the fix, oldest first; empty if no release of brokers mends it."""
    again: Border | None = None
    """Where it came back after it was fixed: from there on every release has it."""
    status: Status | None = None
    """Of those that no release of brokers mends, or that came back."""
    whose: Literal["brokers", "Java clients"] = "brokers"
    """Whose releases these are."""
    commits: tuple[str, ...] = ()
    """The commits that fixed it, in apache/kafka."""
    also_known_as: tuple[str, ...] = ()
    """Other JIRAs of the same."""
    credit: str = ""
    """Who found it, where that is not we and not its JIRA alone."""
    mode: Mode | None = None
    """The mode it is of: ZooKeeper's, KRaft's, or both."""
    code: str = ""
    """What the code does, and where. Those that nobody has fixed say it."""
    touches: str = ""
    """What it touches, for lists: a few words, such as "transactions on compacted topics"."""
    log_patterns: tuple[str, ...] = ()
    """Patterns of the lines in which brokers' logs tell of it."""

    def __post_init__(self) -> None:
        if self.since.first != self.since.after.release:
            raise UsageError(f"{self.id}: it needs the first release that has it, not the line {self.since.first}")
        lines = [line_of(numbers(release)) for release in self.fixed]
        if lines != sorted(set(lines)):
            raise UsageError(f"{self.id}: one fixed release of each line, oldest first: {', '.join(self.fixed)}")
        if self.again is None and bool(self.fixed) is (self.status is not None):
            raise UsageError(f"{self.id}: either the releases that fixed it, or its status")
        if self.again is not None and not (self.status and self.fixed and self.again.release > numbers(self.fixed[-1])):
            raise UsageError(f"{self.id}: what came back was fixed before, and has a status")

    def affects(self, version: Version) -> bool:
        """Whether the version has the bug."""
        return self.mode in (None, version.mode) and self.is_in(version.release)

    def is_in(self, release: Release) -> bool:
        """Whether a release has the bug, in the mode that it is of."""
        return self.is_back(release) or self._is_not_fixed(release)

    def _is_not_fixed(self, release: Release) -> bool:
        return release >= self.since.release and not any(
            release >= fixed and (line_of(release) == line_of(fixed) or fixed == self._last_fix)
            for fixed in map(numbers, self.fixed)
        )

    def is_back(self, release: Release) -> bool:
        """Whether a release has it since it came back."""
        return self.again is not None and release >= self.again.release

    @property
    def _last_fix(self) -> Release | None:
        """The release with which the fix came from the development branch."""
        return numbers(self.fixed[-1]) if self.fixed else None

    def fixed_after(self, release: Release) -> tuple[str, ...]:
        """The releases that mend it and are later than one: the first of each line, since lines between may have it."""
        return tuple(fixed for fixed in self.fixed if numbers(fixed) > release)

    def borders(self, known: Sequence[str]) -> list[tuple[str, str]]:
        """Each two releases, neither with the other's state, between which it came, was fixed, or came back: the last
        one before and the first one after, oldest border first. `known` are the releases that there are, oldest first.
        """
        came = [(self.since.before.release, self.since.first)]
        back = [(self.again.before.release, self.again.first)] if self.again is not None else []
        return [*came, *((self._last_before(fixed, known), fixed) for fixed in self.fixed), *back]

    def _last_before(self, fixed: str, known: Sequence[str]) -> str:
        """The release before a fixed one: of its line, or else the last one of earlier lines that has the bug."""
        older = [one for one in known if numbers(one) < numbers(fixed)]
        line = [one for one in older if line_of(numbers(one)) == line_of(numbers(fixed))]
        return (line or [one for one in older if self.is_in(numbers(one))])[-1]

    @property
    def upgrade(self) -> str:
        """What to move to, in a sentence; "" if no release mends it."""
        back = f", and not to {self.again.first} or later, where it is back" if self.again else ""
        return f"Move {self.whose} to {', '.join(self.fixed)} or later{back}." if self.fixed else ""

    @property
    def releases(self) -> str:
        """The releases that have it, in words: "KRaft, from 3.3.0 on, fixed in 3.8.0"."""
        mode = {None: "", "kraft": "KRaft, ", "zookeeper": "ZooKeeper, "}[self.mode]
        whose = "" if self.whose == "brokers" else f"{self.whose} "
        fixed = f"fixed in {', '.join(self.fixed)}"
        end = fixed if self.status is None else f"{self.status.state} (looked up {self.status.on})"
        if self.again is not None:
            end = f"{fixed}, back in {self.again.first}: {end}"
        return f"{mode}{whose}from {self.since.first} on, {end}"

    @property
    def came(self) -> str:
        """Since when it is there, and what the source of either side says, in a sentence each."""
        sides = (f"In {side.release} {side.code}." for side in (self.since.before, self.since.after))
        told = [f"It is there since {self.since.first} ({self.since.reason}).", *sides]
        if self.again is not None:
            told.append(f"It is back since {self.again.first} ({self.again.reason}).")
            told += [f"In {side.release} {side.code}." for side in (self.again.before, self.again.after)]
        return " ".join(told)

    @property
    def open(self) -> bool:
        """Whether nobody has fixed it, and nobody has called it a limitation."""
        return self.status is not None and self.status.state is BugStatus.OPEN

    @cached_property
    def affected(self) -> VersionRange:
        """The versions that have it."""
        return VersionRange(f"{self.id}: {self.releases}", self.affects, ())

    @cached_property
    def unaffected(self) -> VersionRange:
        """All others: those that got the fix, and those of before."""
        return VersionRange(f"without {self.id}", lambda version: not self.affects(version), ())


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """What makes a scenario an exhibit of the museum: its bug, and the versions that it is shown on.

    The sequence can be run on any version that it applies to; these are those that it is run on if none is named.
    """

    bug: Bug
    affected: tuple[str, ...]
    fixed: tuple[str, ...]
    fixed_case: str = DEFAULT_CASE
    """The case that shows the fix, where a release alone does not have it: clients must have it too."""
    fixed_with: str = ""
    """What that case has beside the release, in words."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The ids of the versions that it is shown on: affected, then fixed, each once."""
        return tuple(dict.fromkeys((*self.affected, *self.fixed)))

    def as_json(self) -> dict[str, Any]:
        """For `kafka-chaos list` and the pages."""
        return {
            "bug": self.bug.id,
            "title": self.bug.title,
            "whom": self.bug.whom,
            "releases": self.bug.releases,
            "since": self.bug.since.first,
            "came": self.bug.came,
            "commits": list(self.bug.commits),
            "upgrade": self.bug.upgrade,
            "affected": list(self.affected),
            "fixed": list(self.fixed),
            "fixed_case": self.fixed_case,
            "fixed_with": self.fixed_with,
            "open": self.bug.open,
            "status": self.bug.status.as_json() if self.bug.status else None,
            "whose": self.bug.whose,
            "also_known_as": list(self.bug.also_known_as),
            "credit": self.bug.credit,
            "affects": [version.id for version in versions.KNOWN if self.bug.affects(version)],
        }
