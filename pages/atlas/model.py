"""Everything on an Atlas page: pure functions from the audit's matrix, the ledger's cells and the museum's bugs.

**Grid.** A cell is the measured cell of the matrix that covers a column's settings on this line's newest release
(`audit.cells.covering_in`). Its outcome is the worst that any run showed; where another release was measured, the page
says so. **Rows of scenarios.** A cell of the ledger of the nearest release for which the same outcome is documented.
Where there is no such release, there is a hole: an outcome on 2.8 is not shown for 3.9 unless the documents say the
same of both. **Bugs** go by the releases that got the fix (harness/bugs.py), and their harm by what their exhibit must
show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import results
from audit import matrix
from audit.cells import OUTCOMES, Cell, Covering, Index, RunCounts, covering_in, indexed
from audit.defaults import RULES
from audit.known import known
from evidence.borders import ELIGIBLE_LEADERS_BY_DEFAULT, KRAFT_ONLY, KRAFT_SINCE
from evidence.errors import UsageError
from evidence.releases import numbers
from harness.cluster import apache, versions
from harness.cluster.builds import Build
from harness.cluster.ranges import EVERY_VERSION
from harness.cluster.versions import Version
from harness.harms import HARM_ORDER, harm_of
from harness.scenario import Scenario, all_scenarios
from judgement.rates import telling
from judgement.sampling import at_most, between, percent
from pages.atlas import columns as columns_of
from pages.atlas import events
from pages.atlas.columns import ACKS_1, FLUSHED, RECOMMENDED, Column
from pages.atlas.lines import ReleaseLine, every
from pages.counted import NOT_RUN, shown
from results import Value

LOST: Final = "loses"
KEPT: Final = ""
HOLE: Final = "?"
DOES_NOT_APPLY: Final = "does not apply here"
SYMBOLS: Final[Mapping[str, str]] = {
    "loses": "✕",
    "duplicates": "×2",
    "reorders": "⇅",
    "refuses": "⊘",
    KEPT: "✓",
    HOLE: "·",
}
WORDS: Final[Mapping[str, str]] = {
    "loses": "lost",
    "duplicates": "written twice",
    "reorders": "out of order",
    "refuses": "refused",
    KEPT: "kept",
    HOLE: "not measured",
}
MEANINGS: Final[Mapping[str, str]] = {
    "loses": "acknowledged records are lost",
    "duplicates": "records are in the log twice",
    "reorders": "records are in another order than they were sent in",
    "refuses": "records are refused, and the producer gets an error",
    KEPT: "every acknowledged record is there, once, in order",
    HOLE: "nothing was run that stands for this",
}
CLASSES: Final[Mapping[str, str]] = {
    "loses": "lost",
    "duplicates": "twice",
    "reorders": "order",
    "refuses": "refused",
    KEPT: "kept",
    HOLE: "hole",
}
HARMFUL: Final = ("loses", "duplicates", "reorders")
"""Outcomes that harm records; what is refused is told to the producer."""
FEW: Final = 3
"""Below so many runs a cell is drawn as unsure: two runs that keep all records leave a loss in 78 % possible."""
COUNTS: Final[Mapping[str, str]] = {
    "loses": "lost",
    "duplicates": "duplicated",
    "reorders": "reordered",
    "refuses": "refused",
}


@dataclass(frozen=True, kw_only=True)
class GridCell:
    """An event under a column's settings."""

    fault: str
    column: Column
    covering: Covering | None

    @property
    def cell(self) -> Cell | None:
        """The measured cell; None where there is none."""
        return self.covering.cell if self.covering else None

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """What any run showed, the worst first; () if all is well or nothing was measured."""
        seen = self.cell.seen if self.cell else frozenset()
        return tuple(one for one in OUTCOMES if one in seen)

    @property
    def worst(self) -> str:
        """The worst outcome; KEPT, or HOLE."""
        return HOLE if self.cell is None else next(iter(self.outcomes), KEPT)

    @property
    def runs(self) -> tuple[RunCounts, ...]:
        """Its runs."""
        return self.cell.runs if self.cell else ()

    @property
    def worst_run(self) -> RunCounts | None:
        """The run with the most of the worst outcome."""
        counted = COUNTS.get(self.worst, "lost")
        return max(self.runs, key=lambda run: int(getattr(run, counted)), default=None)

    @property
    def count(self) -> int:
        """How many records of the worst run had the worst outcome."""
        return int(getattr(self.worst_run, COUNTS[self.worst])) if self.worst in COUNTS else 0

    @property
    def times(self) -> int:
        """In how many runs the worst outcome was seen."""
        return self.cell.times(self.worst) if self.cell and self.worst in COUNTS else 0

    @property
    def few(self) -> bool:
        """Whether it rests on so few runs that a page must say so beside its outcome."""
        return 0 < len(self.runs) < FEW

    @property
    def possible(self) -> str:
        """What so many runs leave possible of what was not seen: "45 %" of runs may still lose; "" of a hole."""
        return percent(at_most(0, len(self.runs))) if self.worst == KEPT and self.runs else ""

    @property
    def interval(self) -> str:
        """The share of attempts that its runs leave possible for the worst outcome: "14 to 95 %"; "" of a hole."""
        return between(self.times, len(self.runs)) if self.runs else ""

    @property
    def anchor(self) -> str:
        """Where the page of its event tells its runs."""
        if self.cell is None:
            return ""
        key = self.cell.key
        topic = f"{key.replication_factor}-{key.min_insync_replicas}{'u' * key.unclean}{'f' * key.flush_each}"
        idempotent = "-idempotent" if key.idempotence else ""
        producer = f"acks-{key.acks}{idempotent}-{key.in_flight}-{key.retries}"
        return f"{key.version}-{key.client}-{producer}-{topic}".replace(".", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCell:
    """What runs of a scenario's case showed, on this release or on the nearest for which the same is documented."""

    version: str
    """"" where there were none."""
    runs: int = 0
    lost: int = 0
    least: int = 0
    most: int = 0
    acknowledged: int = 0
    ids: tuple[str, ...] = ()
    why: str = ""
    """Why there is nothing: "does not apply: …", "not run"."""

    @property
    def worst(self) -> str:
        """LOST, KEPT or HOLE."""
        return HOLE if not self.runs else LOST if self.lost else KEPT

    @property
    def few(self) -> bool:
        """As of a cell of the grid."""
        return 0 < self.runs < FEW

    @property
    def possible(self) -> str:
        """What runs that lost nothing leave possible: "14 %"."""
        return percent(at_most(0, self.runs)) if self.worst == KEPT else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOnPage:
    """An event that no producer setting decides, on a line."""

    row: events.EventRow
    cell: RowCell
    prevention: RowCell | None
    """The runs that back the advice on this line; None where none do."""
    elsewhere: str = ""
    """The version on which runs back it, where those of this line do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseOnPage:
    """How long writes stopped after an event."""

    pause: events.WritePause
    version: str
    runs: int
    least_s: float
    median_s: float
    most_s: float
    session_s: float
    """How long the runs' brokers may be silent before others are elected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOnPage:
    """What to set, and what the release does by itself."""

    name: str
    where: str
    """"producer", "topic or brokers", "brokers"."""
    value: str
    default: str
    why: str

    @property
    def differs(self) -> bool:
        """Whether the default is something else."""
        return self.value != self.default


@dataclass(frozen=True, slots=True)
class BugCount:
    """How many known bugs of brokers a release has."""

    release: str
    bugs: int
    lose: int
    """Of these, how many lose records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BugOnPage:
    """A known bug of a line."""

    id: str
    scenario: str
    title: str
    whom: str
    touches: str
    harm: str
    releases: tuple[str, ...]
    """Those of the line that have it."""
    fixed: str
    """The later releases that mend it, the first of each line: "3.0.2, 3.1.2, 3.2.1"; "" if none is."""
    status: str
    """Where it stands, if no release of brokers mends it."""
    shown: str
    """"5 of 5 on 2.8.2": runs on the release that has it."""
    until_then: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the figures at the top of a page."""

    count: int
    of: int
    """How many events were measured."""
    holes: int
    """How many were not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The release to move to, and what a move to it changes."""

    release: str
    first: str
    """The nearest release that fixes as much."""
    fixed: tuple[BugOnPage, ...]
    """Bugs that it does not have."""
    stay: tuple[BugOnPage, ...]
    added: tuple[BugOnPage, ...]
    """Bugs that it has and this release has not."""
    worse: Mapping[str, tuple[GridCell, ...]]
    """Client → cells of the recommended settings there that harm records, where none were harmed here."""
    better: Mapping[str, tuple[GridCell, ...]]
    """Client → those that keep records which are lost here, by more than chance explains."""
    acks_1: Mapping[str, Figure]
    """Client → in how many events acks=1 loses records there."""


def figure(cells: Sequence[GridCell]) -> Figure:
    """In how many of these events records are lost."""
    measured = [one for one in cells if one.worst != HOLE]
    return Figure(count=sum(one.worst == LOST for one in measured), of=len(measured), holes=len(cells) - len(measured))


@dataclass(frozen=True, kw_only=True)
class Atlas:
    """A page."""

    line: ReleaseLine
    columns: tuple[Column, ...]
    grids: Mapping[str, Mapping[str, tuple[GridCell, ...]]]
    """Client → event → a cell for each column."""
    rows: tuple[RowOnPage, ...]
    settings: tuple[SettingOnPage, ...]
    pauses: tuple[PauseOnPage, ...]
    bugs: tuple[BugOnPage, ...]
    client_bugs: tuple[BugOnPage, ...]
    """Bugs of Java's client, which go by the client's release."""
    counts: tuple[BugCount, ...]
    """Of each release of the line, the newest first."""
    step: Step | None
    """To the newest release of which the next is true; None if that is this release, or there is none."""
    free_of_mended: str
    """The nearest release from this one on, in this mode, without any bug that a release mends; "" if there is none."""

    @cached_property
    def measured_on(self) -> str:
        """The version that the grid was measured on."""
        return next((one.cell.key.version for one in self.cells("java") if one.cell), "")

    @property
    def measured_here(self) -> bool:
        """Whether that is the newest release of this line."""
        return self.measured_on.partition("-")[0] == self.line.newest

    def cells(self, client: str) -> Iterator[GridCell]:
        """Every cell of a client's grid."""
        for of_event in self.grids[client].values():
            yield from of_event

    def column(self, client: str, column: str) -> list[GridCell]:
        """The cells of one column."""
        return [one for one in self.cells(client) if one.column.id == column]

    def losing(self, client: str, column: str) -> Figure:
        """In how many events a column's settings lose acknowledged records."""
        return figure(self.column(client, column))

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Of acks=1, the recommended settings, and these with flushing."""
        return {name: self.losing("java", name) for name in (ACKS_1, RECOMMENDED, FLUSHED)}

    def further(self) -> tuple[RowOnPage, ...]:
        """Events that lose records with the recommended settings, and do not in the grid."""
        lost = {one.fault for one in self.column("java", RECOMMENDED) if one.worst == LOST}
        return tuple(
            one
            for one in self.rows
            if one.cell.worst == LOST and not one.row.decided_by and not one.row.needs and one.row.same_as not in lost
        )

    @property
    def bugs_that_lose(self) -> int:
        """How many of the bugs lose records."""
        return sum(one.harm == HARM_ORDER[0] for one in self.bugs)

    @property
    def session_ms(self) -> tuple[str, str]:
        """The setting that decides how fast a dead broker is noticed, and its default in this release."""
        name = "broker.session.timeout.ms" if self.line.mode == "kraft" else "zookeeper.session.timeout.ms"
        found = known("broker").at(self.line.newest).get(name)
        return name, found.default or "" if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What pages are made of."""

    measured: Index
    runs: Value
    """The ledger's cells by scenario, case and version (results.by_scenario)."""
    scenarios: Mapping[str, Scenario]


def load() -> Data:
    """The data of this checkout or wheel."""
    return Data(measured=indexed(matrix.measured()), runs=results.by_scenario(), scenarios=all_scenarios())


def atlas(line: ReleaseLine, data: Data, own: Column | None = None) -> Atlas:
    """The page of a line. `own` are somebody's settings, as one more column."""
    found = (*columns_of.columns(line.audit), *([own] if own else []))
    free = releases_free_of_mended(line, data)
    bugs = _by_harm(_bugs(line, data, "brokers"))
    return Atlas(
        line=line,
        columns=found,
        grids={client: grid(line, client, found, data.measured) for client in columns_of.CLIENTS},
        rows=tuple(_row(row, line, data) for row in events.ROWS),
        settings=tuple(_settings(line)),
        pauses=tuple(_pauses(line, data)),
        bugs=bugs,
        client_bugs=_by_harm(_bugs(line, data, "Java clients")),
        counts=tuple(bug_count(line.version(release), data) for release in reversed(line.releases)),
        step=_step(line, data, free, bugs) if free and free[-1] != line.newest else None,
        free_of_mended=free[0] if free else "",
    )


def _step(line: ReleaseLine, data: Data, free: Sequence[str], bugs: Sequence[BugOnPage]) -> Step:
    """To the last of these releases."""
    release = free[-1]
    to = next(one for one in every() if release in one.releases and one.mode == line.mode and one.pinned is line.pinned)
    then = _by_harm(_bugs(to.with_release(release), data, "brokers"))
    fixed, stay, added = bugs_between(bugs, then)
    cells = {
        client: (_column(line, RECOMMENDED, client, data), _column(to, RECOMMENDED, client, data))
        for client in columns_of.CLIENTS
    }
    return Step(
        release=release,
        first=free[0],
        fixed=fixed,
        stay=stay,
        added=added,
        worse={client: tuple(_worse(*of)) for client, of in cells.items()},
        better={client: tuple(_better(*of)) for client, of in cells.items()},
        acks_1={client: figure(_column(to, ACKS_1, client, data)) for client in columns_of.CLIENTS},
    )


def bugs_between(
    here: Sequence[BugOnPage], there: Sequence[BugOnPage]
) -> tuple[tuple[BugOnPage, ...], tuple[BugOnPage, ...], tuple[BugOnPage, ...]]:
    """Of the bugs of two releases: those of the first alone, those of both as the first tells them, those of the second
    alone.
    """
    of_here, of_there = {one.id for one in here}, {one.id for one in there}
    return (
        tuple(one for one in here if one.id not in of_there),
        tuple(one for one in here if one.id in of_there),
        tuple(one for one in there if one.id not in of_here),
    )


def _column(line: ReleaseLine, name: str, client: str, data: Data) -> list[GridCell]:
    """The cells of a column, in the order of events."""
    found = [one for one in columns_of.columns(line.audit) if one.id == name]
    return [cell for of_event in grid(line, client, found, data.measured).values() for cell in of_event]


def _worse(here: Sequence[GridCell], there: Sequence[GridCell]) -> Iterator[GridCell]:
    for before, after in zip(here, there, strict=True):
        if after.worst in HARMFUL and before.worst not in (*HARMFUL, HOLE):
            yield after


def _better(here: Sequence[GridCell], there: Sequence[GridCell]) -> Iterator[GridCell]:
    for before, after in zip(here, there, strict=True):
        keeps = before.worst == LOST and after.worst not in (LOST, HOLE)
        if keeps and differ((before.times, len(before.runs)), (0, len(after.runs))):
            yield after


def differ(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether so many of so many runs differ by more than chance: their intervals do not overlap.

    >>> differ((5, 5), (0, 5)), differ((2, 5), (0, 5))
    (True, False)
    """
    (least, most), (low, high) = (_share(*counts) for counts in (one, other))
    return most < low or high < least


def _share(times: int, runs: int) -> tuple[float, float]:
    return 1.0 - at_most(runs - times, runs), at_most(times, runs)


def grid(
    line: ReleaseLine,
    client: str,
    found: Sequence[Column],
    measured: Index,
    faults: Collection[str] = tuple(events.EVENTS),
) -> dict[str, tuple[GridCell, ...]]:
    """The cells of a client: a row for each event, or each of these, and a cell for each column."""
    covered = {
        column.id: covering_in(measured, column.settings(client, line.audit, line.newest), faults) for column in found
    }
    return {
        fault: tuple(GridCell(fault=fault, column=column, covering=covered[column.id].get(fault)) for column in found)
        for fault in faults
    }


# Scenarios


def distance(one: str, other: str) -> tuple[tuple[int, ...], str]:
    """Sort key: how far a release is from another, in its first number, then its second."""
    a, b = numbers(one), numbers(other)
    width = max(len(a), len(b))
    pairs = zip(a + (0,) * (width - len(a)), b + (0,) * (width - len(b)), strict=True)
    return tuple(abs(x - y) for x, y in pairs), one


def _documented(made: Scenario, version: Version, case: str) -> tuple[frozenset[str], frozenset[str]] | None:
    try:
        outcome = made.documented_for(version, case)
    except UsageError:
        return None
    return frozenset(outcome.required), frozenset(outcome.allowed)


def nearest(scenario: str, case: str, line: ReleaseLine, data: Data) -> tuple[str, Value | None, str]:
    """The version and the ledger's cell that tell of a case on a line: of its newest release, else of the nearest in
    the same mode for which the same outcome is documented. Otherwise why there is none.
    """
    made = data.scenarios.get(scenario)
    if made is None or case not in made.cases:
        return "", None, "no such case"
    version = line.version(line.newest)
    wanted = _documented(made, version, case)
    if wanted is None:
        labels = dict.fromkeys((made.cases[case].applies.label, made.applies.label))
        return "", None, f"{DOES_NOT_APPLY}, only on: {'; '.join(one for one in labels if one != EVERY_VERSION.label)}"
    ran = results.cells_of(data.runs, scenario, case)
    fits = [
        name
        for name, cell in ran.items()
        if telling(cell) and _alike(versions.get(name), line) and _documented(made, versions.get(name), case) == wanted
    ]
    if not fits:
        return "", None, "not run on a release for which the same is documented"
    best = min(fits, key=lambda name: distance(name.partition("-")[0], line.newest))
    return best, ran[best], ""


def _alike(version: Version, line: ReleaseLine) -> bool:
    """Whether a version is run in the same mode, at a protocol of the same age."""
    pinned = version.id not in versions.ways(version.kafka)
    return version.mode == line.mode and pinned is line.pinned


def _row_cell(scenario: str, case: str, line: ReleaseLine, data: Data) -> RowCell:
    version, cell, why = nearest(scenario, case, line, data)
    if cell is None:
        return RowCell(version="", why=why)
    least, most = cell["lost_records"] or (0, 0)
    return RowCell(
        version=version,
        runs=max(telling(cell), cell["lost"]),
        lost=cell["lost"],
        least=max(1, least) if cell["lost"] else 0,
        most=most,
        acknowledged=(cell["acknowledged"] or (0, 0))[1],
        ids=tuple(cell["ids"]),
    )


def _row(row: events.EventRow, line: ReleaseLine, data: Data) -> RowOnPage:
    """A row on a line, with the runs that back its advice."""
    cell = _row_cell(row.scenario, row.case, line, data)
    if row.prevented_by is None:
        return RowOnPage(row=row, cell=cell, prevention=None)
    arm = _row_cell(*row.prevented_by, line, data)
    if arm.worst == KEPT:
        return RowOnPage(row=row, cell=cell, prevention=arm)
    return RowOnPage(row=row, cell=cell, prevention=None, elsewhere=backed(row, data))


def backed(row: events.EventRow, data: Data) -> str:
    """The newest version on which the arm that backs a row's advice lost nothing; "" if there is none."""
    if row.prevented_by is None:
        return ""
    scenario, case = row.prevented_by
    ran = results.cells_of(data.runs, scenario, case)
    kept = [name for name, cell in ran.items() if telling(cell) and not cell["lost"]]
    return max(kept, key=lambda name: numbers(name.partition("-")[0]), default="")


def _pauses(line: ReleaseLine, data: Data) -> Iterator[PauseOnPage]:
    for pause in events.PAUSES:
        version, cell, _ = nearest(pause.scenario, pause.case, line, data)
        spread = (cell or {}).get("clients", {}).get("write_pause_ms")
        if not spread:
            continue
        made = data.scenarios[pause.scenario]
        yield PauseOnPage(
            pause=pause,
            version=version,
            runs=int(spread[0]),
            least_s=spread[1] / 1000,
            median_s=spread[2] / 1000,
            most_s=spread[3] / 1000,
            session_s=made.cluster_of(made.cases[pause.case]).session_timeout_ms / 1000,
        )


# What to set


def _settings(line: ReleaseLine) -> Iterator[SettingOnPage]:
    release = line.newest
    producer, rules = known("java-producer").at(release), RULES["java"](release)
    brokers = known("broker").at(release)

    def default(name: str) -> str:
        return (brokers[name].default or "none") if name in brokers else "not known to this release"

    yield SettingOnPage(
        name="acks", where="producer", value="all", default=rules.acks, why="every in-sync replica must have the record"
    )
    if line.audit not in columns_of.WITHOUT_IDEMPOTENCE:
        yield SettingOnPage(
            name="enable.idempotence",
            where="producer",
            value="true",
            default="true" if rules.idempotence else "false",
            why=rules.bug or "no duplicates and no reordering by retries; it requires acks=all",
        )
    else:
        name = "max.in.flight.requests.per.connection"
        yield SettingOnPage(
            name=name,
            where="producer",
            value="1",
            default=(producer[name].default or "5") if name in producer else str(rules.in_flight),
            why="there is no idempotence here: retries keep the order with one request in flight",
        )
    if rules.retries == 0:
        yield SettingOnPage(
            name="retries",
            where="producer",
            value=str(2**31 - 1),
            default="0",
            why="a record whose first attempt fails is sent again; 2.1 and later do so by themselves (KIP-91)",
        )
    yield SettingOnPage(
        name="min.insync.replicas",
        where="topic or brokers",
        value="2",
        default=default("min.insync.replicas"),
        why="acks=all means two replicas at least",
    )
    yield SettingOnPage(
        name="default.replication.factor",
        where="brokers",
        value="3",
        default=default("default.replication.factor"),
        why="one broker may fail, and writes continue",
    )
    yield SettingOnPage(
        name="unclean.leader.election.enable",
        where="topic or brokers",
        value="false",
        default=default("unclean.leader.election.enable"),
        why="no replica leads that lacks acknowledged records",
    )
    if line.pinned:
        yield SettingOnPage(
            name="inter.broker.protocol.version",
            where="brokers",
            value=release.rpartition(".")[0],
            default=default("inter.broker.protocol.version"),
            why="finish the upgrade: replicas then truncate by leader epoch (KIP-101)",
        )
    if line.mode == "kraft" and numbers(release) >= (4,):
        yield SettingOnPage(
            name="eligible.leader.replicas.version",
            where="cluster feature",
            value="1",
            default="1 in new clusters" if numbers(release) >= ELIGIBLE_LEADERS_BY_DEFAULT.release else "0",
            why="a replica that left the ISR cleanly may still lead (KIP-966)",
        )
    yield SettingOnPage(
        name="log.flush.interval.messages",
        where="brokers",
        value="1, if all replicas can lose power together",
        default=_forever(default("log.flush.interval.messages")),
        why="nothing else keeps what all replicas lose at one moment",
    )


def _forever(text: str) -> str:
    return f"never ({text})" if text == str(2**63 - 1) else text


# Bugs


def _bugs(line: ReleaseLine, data: Data, whose: str) -> Iterator[BugOnPage]:
    for made in data.scenarios.values():
        exhibit = made.exhibit
        if exhibit is None or exhibit.bug.whose != whose:
            continue
        bug = exhibit.bug
        own = [line.version(release) for release in line.releases]
        has = [version for version in own if bug.affects(version)]
        if line.version(line.newest) not in has:
            continue
        yield BugOnPage(
            id=bug.id,
            scenario=made.name,
            title=bug.title,
            whom=bug.whom,
            touches=bug.touches,
            harm=harm_of(made),
            releases=tuple(version.kafka for version in has),
            fixed=", ".join(fixed := bug.fixed_after(numbers(line.newest))),
            status="" if bug.status is None or fixed else f"{bug.status.state} (looked up {bug.status.on})",
            shown=_shown(made, exhibit.affected, line, data),
            until_then=made.operator,
        )


def bug_count(version: Version, data: Data) -> BugCount:
    """How many known bugs of brokers a version has."""
    has = [
        made
        for made in data.scenarios.values()
        if made.exhibit and made.exhibit.bug.whose == "brokers" and made.exhibit.bug.affects(version)
    ]
    return BugCount(version.kafka, len(has), sum(harm_of(made) == HARM_ORDER[0] for made in has))


def _in_mode(release: str, line: ReleaseLine) -> Version:
    return Version(id=release, build=Build(kafka=release), mode=line.mode)


def releases_free_of_mended(line: ReleaseLine, data: Data) -> list[str]:
    """The releases from a line's newest on, in the same mode, without any bug of brokers that some release mends. One
    that has come back with this line or before is mended by none from here on.
    """
    bugs = [one.exhibit.bug for one in data.scenarios.values() if one.exhibit and one.exhibit.bug.whose == "brokers"]
    mended = [bug for bug in bugs if bug.fixed and not bug.is_back(numbers(line.newest))]
    found = []
    for release in apache.releases():
        at = numbers(release)
        has_mode = at < KRAFT_ONLY.release if line.mode == "zookeeper" else at >= KRAFT_SINCE.release
        if at >= numbers(line.newest) and has_mode:
            then = _in_mode(release, line)
            if not any(bug.affects(then) for bug in mended):
                found.append(release)
    return found


def _shown(made: Scenario, affected: Iterable[str], line: ReleaseLine, data: Data) -> str:
    """How often the bug showed itself, on the version nearest to the line's."""
    ran = {name: seen for name in affected if (seen := shown(made.name, name, data.runs)) != NOT_RUN}
    if not ran:
        return NOT_RUN
    name = min(ran, key=lambda one: distance(one.partition("-")[0], line.newest))
    return f"{ran[name]} on {name}"


def _by_harm(found: Iterable[BugOnPage]) -> tuple[BugOnPage, ...]:
    return tuple(sorted(found, key=lambda one: (HARM_ORDER.index(one.harm), one.id)))


def fixed_in_line(line: ReleaseLine, data: Data) -> list[tuple[str, tuple[str, ...], str]]:
    """Bugs that earlier releases of the line have and its newest has not: id, those releases, the fixed release."""
    found = []
    for made in data.scenarios.values():
        if made.exhibit is None or made.exhibit.bug.whose != "brokers":
            continue
        bug = made.exhibit.bug
        has = tuple(release for release in line.releases if bug.affects(line.version(release)))
        if has and line.newest not in has:
            first = next(release for release in line.releases if numbers(release) > numbers(has[-1]))
            found.append((bug.id, has, first))
    return found
