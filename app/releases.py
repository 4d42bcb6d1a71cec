"""`kafka-chaos releases`: what Maven Central has and the committed list has not, and for each such release a page.

For a release: its jars and those of the release before it are resolved, their settings asked, a telling set of
scenarios run on both, and the page written (pages/release.py). Each part is kept, so the same command continues where
it was ended: jars and settings in the user's cache, runs in their folder (a finished cell is not run again). A release
is added to the committed list when its page is written, not before: until then it counts as new.

`TELLING` is the default suite, the museum's exhibits whose bug one of the two has or that are shown on one of them, and
what measures how long a cluster takes to come back.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from app import ledger
from app.matrix import Matrix, MatrixCell, cells, write_reports
from evidence.errors import UsageError, unknown_name
from evidence.releases import numbers
from evidence.rundir import write_atomically
from harness.cluster import apache, versions
from harness.cluster.builds import Build
from harness.cluster.versions import Version
from harness.scenario import Scenario, all_scenarios
from harness.setup import central, images, jars
from harness.setup import settings as settings_of
from harness.suite import SUITE
from pages import example_runs
from pages import release as pages_of

Echo = Callable[[str], None]
TIMED: Final = (
    "controlled-shutdown",
    "controller-failover",
    "broker-registration",
    "isr-shrink-expand",
    "unclean-election",
)
"""Scenarios that measure how long things take, or what is lost by choice."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be done for one release."""

    release: str
    before: str
    pairs: tuple[tuple[Version, Version], ...]
    """The ways to run that both have: (of the release before, of the release)."""


def new_releases(found: Iterable[str]) -> tuple[str, ...]:
    """Those of the releases found that the committed list lacks, oldest first."""
    known = set(apache.committed())
    return apache.ordered(one for one in found if one not in known)


def plan(release: str, before: str | None = None) -> Plan:
    """What to compare a release with: the one before it in the order of numbers, in each way to run that both have.

    Raises UsageError if there is none, or they have no way in common.
    """
    known = apache.releases()
    for name in filter(None, (release, before)):
        if name not in known:
            raise apache.UnknownRelease(name)
    older = [one for one in known if numbers(one) < numbers(release)]
    if before is None and not older:
        raise UsageError(f"there is no release before {release}: name one with --against")
    against = before or older[-1]
    if against == release:
        raise UsageError(f"--against {against}: a release is compared with another one")
    pairs = tuple(
        (old, new)
        for old in map(versions.get, versions.ways(against))
        for new in map(versions.get, versions.ways(release))
        if old.mode == new.mode
    )
    if not pairs:
        raise UsageError(f"Kafka {against} and {release} have no way to run in common: name another with --against")
    return Plan(release=release, before=against, pairs=pairs)


def telling(known: Iterable[Scenario], pairs: Sequence[tuple[Version, Version]]) -> list[Scenario]:
    """The scenarios that tell two releases apart, of those known."""
    return [
        one
        for one in known
        if one.name in SUITE or one.name in TIMED or (one.exhibit is not None and _shows(one, pairs))
    ]


def _shows(made: Scenario, pairs: Sequence[tuple[Version, Version]]) -> bool:
    """Whether an exhibit's bug is in one of the versions, or they are of a line that it is shown on."""
    both = [version for pair in pairs for version in pair]
    if made.exhibit is None:
        return False
    shown = {versions.get(name).release[:2] for name in made.exhibit.versions}
    return any(made.exhibit.bug.affects(one) or one.release[:2] in shown for one in both)


def chosen(names: Sequence[str], pairs: Sequence[tuple[Version, Version]]) -> list[Scenario]:
    """The scenarios of these names, all of them, or the telling set if none is named. Raises UsageError."""
    known = all_scenarios()
    if not names:
        return telling(known.values(), pairs)
    if list(names) == ["all"]:
        return list(known.values())
    for name in names:
        if name not in known:
            raise unknown_name("scenario", name, known, hint="`kafka-chaos list` lists them")
    return [known[name] for name in names]


@dataclass(kw_only=True)
class Telling:
    """Compares a release with the one before it, and writes the page."""

    root: Path
    """Where runs go."""
    docs: Path
    """Where pages go."""
    jobs: int
    repeat: int
    seed: int
    until: float = math.inf
    """When the last run may begin (time.monotonic)."""
    echo: Echo

    def tell(self, what: Plan, scenarios: Sequence[Scenario]) -> tuple[Path, Matrix]:
        """Do all that is not done yet; returns the page, and the matrix that ran what it is made of."""
        both = [version for pair in what.pairs for version in pair]
        self.echo(f"Kafka {what.release} beside {what.before}: {', '.join(version.id for version in both)}")
        images.ensure_images([version.build for version in both], self.echo)
        settings = [settings_of.defaults(Build(kafka=kafka), self.echo) for kafka in (what.before, what.release)]
        wanted = _in_turn(cells(scenarios, both, seed=self.seed, repeat=self.repeat))
        self.root.mkdir(parents=True, exist_ok=True)
        matrix = Matrix(self.root, {}, self.jobs, self.echo, None, self.until)
        runs = matrix.run(wanted)
        write_reports(self.root, list(runs.values()))
        gathered = example_runs.gather(runs.values())
        for line in gathered.left_out:
            self.echo(f"left out: {line}")
        page = pages_of.page(
            pages_of.ComparedReleases(
                release=what.release,
                before=what.before,
                versions=tuple((old.id, new.id) for old, new in what.pairs),
                made=f"{datetime.now(UTC):%Y-%m-%d}, on {os.cpu_count()} cores, Linux {platform.release()}",
                settings={kind: (settings[0][kind], settings[1][kind]) for kind in pages_of.KINDS},
                jars=(_libraries(what.before), _libraries(what.release)),
                data=ledger.shown_by(one.run_dir for one in gathered.runs),
                cells=tuple(dict.fromkeys((cell.scenario, cell.case, cell.version) for cell in wanted)),
            )
        )
        path = self.docs / f"{what.release}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, page)
        return path, matrix


def _in_turn(wanted: Sequence[MatrixCell]) -> list[MatrixCell]:
    """The same cells, both releases of a scenario's case one after the other: so a page that was cut short is even."""
    return sorted(wanted, key=lambda cell: (cell.seed, cell.scenario, cell.case))


def _libraries(kafka: str) -> dict[str, str]:
    return pages_of.versions_of_jars(jar.coordinate for jar in jars.read_lock(kafka))


def deadline(minutes: int | None) -> float:
    """When the last run may begin (time.monotonic); never too late without a limit."""
    return math.inf if minutes is None else time.monotonic() + 60.0 * minutes


def renew(found: Iterable[str]) -> bool:
    """Add releases to the committed list; whether that could be written (an installed copy's may not be)."""
    try:
        write_atomically(apache.COMMITTED, apache.render((*apache.committed(), *found)))
    except OSError:
        return False
    apache.releases.cache_clear()
    return True


def ask(echo: Echo) -> tuple[str, ...]:
    """What Maven Central has and the committed list has not; known from here on. Raises UsageError."""
    found = central.ask(echo)
    central.keep(found)
    return new_releases(found)
