"""The Atlas in sentences, for its pages and for the terminal: each is made of the data, none states a result itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from audit.cells import Settings, covering_in
from audit.defaults import RULES
from audit.grade import cost
from audit.known import known
from evidence.releases import numbers
from evidence.text import plural
from harness.harms import HARM_ORDER
from judgement.sampling import at_most, between, percent
from pages.atlas import columns as columns_of
from pages.atlas.columns import ACKS_1, FLUSHED, RECOMMENDED, Column
from pages.atlas.events import EVENTS, NOTES, inside
from pages.atlas.lines import ReleaseLine
from pages.atlas.model import (
    HOLE,
    KEPT,
    LOST,
    WORDS,
    Atlas,
    BugOnPage,
    Data,
    GridCell,
    RowCell,
    RowOnPage,
    Step,
    grid,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What becomes of bugs that touch the same with a move to another release."""

    what: str
    """FIXED, STAYS or NEW."""
    touches: str
    bugs: tuple[BugOnPage, ...]
    by: str = ""
    """What else it takes: " by Java clients of 3.9.2"."""

    def __str__(self) -> str:
        named = [f"{bug.id} ({bug.harm})" if bug.harm == HARM_ORDER[0] else bug.id for bug in self.bugs]
        return f"{self.touches}: {', '.join(named)}"


FIXED: Final = "fixed"
STAYS: Final = "stays"
NEW: Final = "new there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One of the four answers at the top of a page."""

    heading: str
    first: str
    """The answer, in one sentence."""
    rest: str = ""
    """Why, or what else."""
    events: tuple[str, ...] = ()
    """The events that it is about, by name."""
    kept_by_flush: frozenset[str] = frozenset()
    """Those of them that lose nothing in a topic that is flushed with each record."""
    points: tuple[Point, ...] = ()
    """The bugs that it is about."""

    def __str__(self) -> str:
        events = [inside(one) + self.mark(one) for one in self.events]
        named = f"Events: {'; '.join(events)}." if events else ""
        of_each: dict[str, list[str]] = {}
        for point in self.points:
            of_each.setdefault(f"{point.what}{point.by}", []).append(str(point))
        bugs = [f"{what[:1].upper()}{what[1:]}: {'; '.join(points)}." for what, points in of_each.items()]
        return " ".join(filter(None, (self.first, self.rest, named, *bugs)))

    def mark(self, event: str) -> str:
        """What is said behind an event's name."""
        return " (unless flush.messages=1)" if event in self.kept_by_flush else ""


def lead(atlas: Atlas) -> str:
    """What the page rests on."""
    line = atlas.line
    here = f"Measured on {atlas.measured_on}" if atlas.measured_on else "Not measured"
    if atlas.measured_on and not atlas.measured_here:
        here += f", the nearest measured release, and not on {atlas.line.newest}"
    more = [one.release for one in atlas.counts if one.bugs > len(atlas.bugs)]
    others = f"; {listed(more)} {'has' if len(more) == 1 else 'have'} more bugs" if more else ""
    return f"{here}. Defaults and bugs are those of {line.newest}{others}."


def basis(atlas: Atlas) -> str:
    """How much was measured."""
    runs = {run.run for client in atlas.grids for cell in atlas.cells(client) for run in cell.runs}
    days = sorted({run.date for client in atlas.grids for cell in atlas.cells(client) for run in cell.runs})
    if not days:
        return ""
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"The grid rests on {plural(len(runs), 'run')}, {when}; a run measures all settings of an event at once."


def detail(cell: GridCell) -> tuple[str, ...]:
    """The small lines of a cell: "in 3 of 5 runs", "up to 5 of 318 records" (of the worst run), "also out of order"."""
    run = cell.worst_run
    if cell.worst == KEPT:
        return (f"in {plural(len(cell.runs), 'run')}",)
    if run is None:
        return ()
    of = run.acknowledged if cell.worst != "refuses" else run.acknowledged + run.refused
    other = [WORDS[outcome] for outcome in cell.outcomes[1:]]
    return (
        f"in {cell.times} of {plural(len(cell.runs), 'run')}",
        f"{'up to ' if cell.times > 1 else ''}{cell.count} of {plural(of, 'record')}",
        *([f"also {', '.join(other)}"] if other else ()),
        *([UNCLEAN] if stands_for(cell) else ()),
    )


UNCLEAN = "run with unclean elections on"
"""Said of a cell whose runs had what its column has not."""


def stands_for(cell: GridCell) -> bool:
    """Whether runs with unclean elections stand for a column without: the audit has the argument that it is the same.

    Releases without eligible leader replicas and the newest have the same runs as their basis, but not these cells.
    """
    return cell.cell is not None and cell.cell.key.unclean and not cell.column.unclean


def chance() -> str:
    """What five runs leave possible: how far a count can be trusted."""
    return (
        f"Runs are few: after 5 runs without a loss, up to {percent(at_most(0, 5))} of attempts may still lose "
        f"records, and “3 of 5 runs” stands for {between(3, 5)} of attempts (95 % confidence, one-sided and two-sided)."
    )


# The four answers


def answers(atlas: Atlas, client: str, column: Column) -> tuple[Answer, ...]:
    """What can be lost, what to set, which release to be on, and what no producer setting prevents."""
    last = not_prevented(atlas, client, flushed=column.flush_each)
    return *of_column(atlas, client, column), release(atlas, client), last


def of_column(atlas: Atlas, client: str, column: Column) -> tuple[Answer, Answer]:
    """The two answers that differ from column to column."""
    return lost(atlas, client, column), to_change(atlas, client, column)


def of_line(atlas: Atlas, client: str) -> tuple[Answer, ...]:
    """The two answers that are the same whatever a producer has; the last one is another for a flushed topic."""
    return release(atlas, client), not_prevented(atlas, client)


def lost(atlas: Atlas, client: str, column: Column) -> Answer:
    """What a column's settings can do, and the events that lose records."""
    heading = "What can be lost"
    figure = atlas.losing(client, column.id)
    cells = atlas.column(client, column.id)
    who = f"With {column.title}" + (f" and {column.topic}" if column.topic else "")
    if not figure.of:
        return Answer(heading=heading, first=f"{who}: not measured.")
    if sum(one.worst == "refuses" for one in cells) == figure.of:
        return Answer(
            heading=heading,
            first=f"{who}: brokers of this line refused every record, in all {figure.of} events.",
            rest="A producer cannot have these settings here.",
        )
    what = "acknowledged records" if column.acks != "0" else "records that the client reported as sent"
    if figure.count:
        told = f"{figure.count} of {figure.of} measured events {_lose(figure.count)} {what}"
    else:
        told = f"none of {figure.of} measured events lost {what}"
    names = tuple(EVENTS[one.fault] for one in cells if one.worst == LOST)
    return Answer(heading=heading, first=f"{who}, {told}.", rest=_other_harm(cells), events=names)


def _lose(count: int) -> str:
    return "loses" if count == 1 else "lose"


def _other_harm(cells: Sequence[GridCell]) -> str:
    """How many further events write records twice or reorder them, in a sentence; "" if none."""
    count = {
        outcome: sum(outcome in one.outcomes and one.worst != LOST for one in cells)
        for outcome in ("duplicates", "reorders")
    }
    more = [
        f"{number} more {'writes' if number == 1 else 'write'} records twice"
        if outcome == "duplicates"
        else f"{number} more {'reorders' if number == 1 else 'reorder'} them"
        for outcome, number in count.items()
        if number
    ]
    return f"{', '.join(more)}." if more else ""


FLUSH_PRICE = "Each write then waits for a flush to disk on every in-sync replica: measure yours."


def to_change(atlas: Atlas, client: str, column: Column) -> Answer:
    """What other settings do better for acknowledged records; made of the counts of both."""
    heading = "What to set"
    best = next(one for one in atlas.columns if one.id == RECOMMENDED)
    if column.id == FLUSHED:
        return Answer(heading=heading, first="Nothing more.", rest=FLUSH_PRICE)
    if column.id == RECOMMENDED:
        power = atlas.losing(client, FLUSHED)
        then = f"Then {power.count} of {power.of} events {_lose(power.count)} records. {FLUSH_PRICE}"
        told = "Nothing more in producers. Set flush.messages=1 in topics that must outlast a loss of power."
        return Answer(heading=heading, first=told, rest=then if power.of else "")
    figure = atlas.losing(client, best.id)
    rest = [_then(atlas, client, column, best)] if figure.of else []
    return Answer(heading=heading, first=f"Set {to_set(atlas, column, best)}.", rest=" ".join([*rest, *_takes(atlas)]))


def _then(atlas: Atlas, client: str, column: Column, best: Column) -> str:
    """What is left with the recommended settings."""
    figure, harm = atlas.losing(client, best.id), _other_harm(atlas.column(client, best.id))
    then = f"Then {figure.count} of {figure.of} events {_lose(figure.count)} records"
    if harm:
        return f"{then}. {harm}"
    mends = "; none is written twice or reordered" if _other_harm(atlas.column(client, column.id)) else ""
    return f"{then}{mends}."


def _takes(atlas: Atlas) -> list[str]:
    """What the recommended settings take, beside what is set."""
    if any(one.name == ELIGIBLE and one.default.startswith("1") for one in atlas.settings):
        return [f"Measured with {ELIGIBLE}=1, which clusters that were upgraded do not have."]
    return []


ELIGIBLE: Final = "eligible.leader.replicas.version"


def not_prevented(atlas: Atlas, client: str, *, flushed: bool = False) -> Answer:
    """The events that lose records with the recommended settings too, or also with `flushed` ones: of the grid, and
    others that were run.
    """
    left, still = (_losing(atlas, client, column) for column in (RECOMMENDED, FLUSHED))
    measured = atlas.losing(client, RECOMMENDED).of
    prevented = [fault for fault in left if atlas.losing(client, FLUSHED).of and fault not in still]
    left = [*([] if flushed else prevented), *(fault for fault in left if fault not in prevented)]
    names = dict.fromkeys([*(EVENTS[fault] for fault in left), *(one.row.event for one in atlas.further())])
    more = len(names) - len(left)
    parts = f": {len(left)} of the {measured} above and {more} more" if left and more else ""
    told = f"{plural(len(names), 'event')} {_lose(len(names))} records whatever producers set{parts}."
    return Answer(
        heading="What no producer setting prevents",
        first=told if names else "No event that was run loses records then.",
        events=tuple(names),
        kept_by_flush=frozenset(EVENTS[fault] for fault in prevented),
    )


def _losing(atlas: Atlas, client: str, column: str) -> list[str]:
    return [one.fault for one in atlas.column(client, column) if one.worst == LOST]


def to_set(atlas: Atlas, column: Column, best: Column) -> str:
    """What a column lacks of the best one, by the names that stand in files: in producers, then in topics."""
    producer = [
        *(["acks=all"] if column.acks != best.acks else []),
        *(["enable.idempotence=true"] if best.idempotence and not column.idempotence else []),
        *([f"{IN_FLIGHT}=1"] if best.in_flight == 1 < column.in_flight else []),
    ]
    opened = column.unclean or _unclean_by_default(atlas)
    topic = [
        *([f"min.insync.replicas={best.min_insync_replicas}"] if column.topic != best.topic else []),
        *([f"{UNCLEAN_ELECTIONS}=false"] if opened else []),
    ]
    if not producer:
        return f"{listed(topic)} in topics"
    return f"{listed(producer)} in producers" + (f", {listed(topic)} in topics" if topic else "")


def _unclean_by_default(atlas: Atlas) -> bool:
    return any(one.name == UNCLEAN_ELECTIONS and one.differs for one in atlas.settings)


def as_written(column: Column) -> str:
    """All of a column's settings by their names, as they stand in files."""
    written = {"idempotent": "enable.idempotence=true", "one in flight": f"{IN_FLIGHT}=1"}
    settings = [written.get(one, one) for one in column.title.split(", ")]
    return f"{', '.join(settings)} and {column.topic}"


IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
UNCLEAN_ELECTIONS: Final = "unclean.leader.election.enable"


def costs(data: Data, atlas: Atlas, client: str) -> dict[str, str]:
    """What each column's settings cost without a fault."""
    found = {}
    for column in atlas.columns:
        settings = column.settings(client, atlas.line.audit, atlas.line.newest)
        priced = cost(covering_in(data.measured, settings, ["none"]), {})
        found[column.id] = "" if priced is None else _cost(priced.latency_p50_ms, priced.latency_p99_ms)
    return found


def linger(client: str, atlas: Atlas) -> str:
    """That a client waits before it sends, where it does by default: latencies have that time in them."""
    if client == "librdkafka":
        waits: int | None = int(float(known("librdkafka").history["linger.ms"][-1].default or 0))
    else:
        waits = RULES["java"](atlas.measured_on.partition("-")[0]).linger_ms if atlas.measured_on else None
    return f"Up to {waits} ms of it is linger.ms, at its default." if waits else ""


def _cost(median: float | None, slow: float | None) -> str:
    return f"{median:.1f} ms, {slow:.0f} ms" if median is not None and slow is not None else ""


def row_detail(cell: RowCell, newest: str) -> str:
    """How many records in how many runs, and where that was."""
    if not cell.runs:
        return cell.why
    where = "" if cell.version.partition("-")[0] == newest else f", on {cell.version}"
    if cell.worst == KEPT:
        return f"{plural(cell.runs, 'run')} · ≤ {cell.possible}{where}"
    spread = f"{cell.least}" if cell.least == cell.most else f"{cell.least}–{cell.most}"
    of = f" of {cell.acknowledged}" if cell.acknowledged else ""
    return f"{spread}{of} · {cell.lost} of {plural(cell.runs, 'run')}{where}"


def backing(atlas: Atlas, one: RowOnPage) -> str:
    """The runs that an advice rests on: of the same scenario, of the grid, or of another release."""
    if one.cell.worst == KEPT:
        return ""
    if one.prevention is not None:
        return f"With {one.row.remedy or 'that'}, {plural(one.prevention.runs, 'run')} lost nothing."
    flushed = [cell for cell in atlas.column("java", FLUSHED) if cell.fault == one.row.same_as and cell.worst == KEPT]
    if flushed and one.row.same_as in _losing(atlas, "java", RECOMMENDED):
        return f"In the grid, {plural(len(flushed[0].runs), 'run')} with flush.messages=1 lost nothing."
    return f"Runs on {one.elsewhere} show that it helps." if one.elsewhere else ""


def not_run(atlas: Atlas) -> str:
    """The events that no run stands for on this line, and what was run that is like one of them."""
    holes = [fault for fault in EVENTS if all(one.worst == HOLE for one in atlas.grids["java"][fault])]
    if not holes:
        return ""
    like = next((one for one in atlas.rows if one.row.scenario == LIKE_DISK and one.cell.worst == LOST), None)
    also = (
        f" Run with another cluster: {inside(like.row.event)} "
        f"({like.cell.lost} of {plural(like.cell.runs, 'run')} lost records)."
        if like and "last-disk-lost" in holes
        else ""
    )
    named = "; ".join(inside(EVENTS[fault]) for fault in holes)
    return f"Not run on {atlas.line.newest} or a release that stands for it: {named}.{also}"


LIKE_DISK = "blank-disk-replacement"
"""The scenario in which a broker without its disk leads, where in the grid another replica leads."""


def note(atlas: Atlas, fault: str) -> str:
    """What an event's name leaves out; "" if nothing."""
    kept = all(one.worst != LOST for one in atlas.column("java", ACKS_1) if one.fault == fault)
    # A replica that left the ISR may lead here: the partition does not wait.
    return NOTES.get(fault, "") if fault != "shrunk-isr-crash" or kept else ""


def release(atlas: Atlas, client: str) -> Answer:
    """Which release to be on, and why."""
    mode = "KRaft" if atlas.line.mode == "kraft" else "ZooKeeper"
    step, newest = atlas.step, atlas.line.newest
    if step is not None:
        which = step.release if step.fixed else f"{newest} or {step.release}"
        last = "the last line with ZooKeeper" if atlas.line.mode == "zookeeper" else f"with {mode}"
        first, why = f"Be on {which}, {last}.", _why(atlas, step, client)
    elif atlas.free_of_mended:
        first, why = f"Be on {newest}, with {mode}.", [_none_fixes(newest, atlas)]
    else:
        has = _known(len(atlas.bugs), atlas.bugs_that_lose)
        first, why = f"No release with {mode} has all fixes. {newest} has {has}.", []
    if atlas.line.pinned:
        why.append("Finish the upgrade: raise inter.broker.protocol.version.")
    points = (*(_of_clients(atlas) if client == "java" else ()), *_points(atlas, step))
    return Answer(
        heading="Which release",
        first=first,
        rest=" ".join(filter(None, why)),
        points=tuple(sorted(points, key=_weight)),
    )


def _weight(point: Point) -> tuple[int, bool]:
    """Sort key: those without transactions, whom the rest does not touch, read the first of each kind."""
    return (FIXED, STAYS, NEW).index(point.what), point.touches.startswith(TRANSACTIONS)


def _none_fixes(newest: str, atlas: Atlas) -> str:
    return f"{newest} has {_known(len(atlas.bugs), atlas.bugs_that_lose)}; no release fixes them." if atlas.bugs else ""


def _why(atlas: Atlas, step: Step, client: str) -> list[str]:
    """What a move to another release brings, in sentences: first which events, then how many bugs."""
    better = [inside(EVENTS[cell.fault]) for cell in step.better[client]]
    told = [f"With the recommended settings it keeps records when: {'; '.join(better)}."] if better else []
    if step.fixed:
        bugs = plural(len(atlas.bugs), "known bug")
        told.append(f"It fixes {len(step.fixed)} of the {bugs} of {atlas.line.newest}’s brokers.")
    else:
        told.append("Both have every fix that a release has.")
    told += ["With acks=1, records are lost there too."] if step.acks_1[client].count else []
    worse = "; ".join(map(_worse, step.worse[client]))
    told += [f"On {step.release}, with {client} and the recommended settings, {worse}."] if worse else []
    return told


def _points(atlas: Atlas, step: Step | None) -> Iterator[Point]:
    """What becomes of the bugs of brokers."""
    if step is None:
        yield from _by_what_they_touch(STAYS, atlas.bugs)
        return
    for what, bugs in ((FIXED, step.fixed), (STAYS, step.stay), (NEW, step.added)):
        yield from _by_what_they_touch(what, bugs)


def _by_what_they_touch(what: str, bugs: Sequence[BugOnPage]) -> Iterator[Point]:
    """All bugs of transactions are one point: who has none passes over them at once."""
    groups: dict[str, list[BugOnPage]] = {}
    for bug in bugs:
        groups.setdefault(TRANSACTIONS if bug.touches.startswith(TRANSACTIONS) else bug.touches, []).append(bug)
    for touches, of in groups.items():
        yield Point(what=what, touches=of[0].touches if len(of) == 1 else touches, bugs=tuple(of))


TRANSACTIONS: Final = "transactions"


def _of_clients(atlas: Atlas) -> Iterator[Point]:
    """What becomes of each bug of Java clients of this release."""
    for bug in atlas.client_bugs:
        here = atlas.step.release if atlas.step and atlas.step.release in bug.fixed.split(", ") else bug.fixed
        by = f" by Java clients of {here}" if bug.fixed else " in Java clients"
        yield Point(what=FIXED if bug.fixed else STAYS, touches=bug.touches, bugs=(bug,), by=by)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _worse(cell: GridCell) -> str:
    runs = f"{cell.times} of {plural(len(cell.runs), 'run')}"
    return f"records were {WORDS[cell.worst]} in {runs} of “{inside(EVENTS[cell.fault])}”"


def _known(bugs: int, lose: int) -> str:
    which = {0: "none loses records", 1: "1 loses records"}.get(lose, f"{lose} lose records")
    return f"{plural(bugs, 'known bug')}, {which}" if bugs else "no known bug"


def bug_lead(atlas: Atlas) -> str:
    """How many bugs there are, in each release of the line."""
    if not atlas.bugs:
        return f"None of the bugs recorded here is in {atlas.line.newest}."
    groups: dict[tuple[int, int], list[str]] = {}
    for one in atlas.counts:
        groups.setdefault((one.bugs, one.lose), []).append(one.release)
    has = " ".join(
        f"{listed(of)} {'has' if len(of) == 1 else 'have'} {_known(*count)}." for count, of in groups.items()
    )
    return f"{has} Each was reproduced on a release that has it."


def sessions(atlas: Atlas) -> str:
    """How much longer than in the runs a pause takes with the release's own session time-out."""
    name, default = atlas.session_ms
    short = sorted({one.session_s for one in atlas.pauses})
    if not short or not default.isdigit():
        return ""
    ran = f"{short[0]:g} s" if len(short) == 1 else f"{short[0]:g} to {short[-1]:g} s"
    own = int(default) / 1000
    told = (
        f"After a crash other brokers lead when the session ends. The runs had sessions of {ran}. "
        f"The default ({name} of {atlas.line.newest}) is {own:g} s"
    )
    if own <= short[-1]:
        return f"{told}."
    more = f"{own - short[-1]:g}" + (f" to {own - short[0]:g}" if len(short) > 1 else "")
    return f"{told}: add {more} s at most."


def producer_properties(atlas: Atlas) -> str:
    """What to set in producers, as lines of a .properties file."""
    return "\n".join(f"{one.name}={one.value}" for one in atlas.settings if one.where == "producer")


TOPICS_BY_BROKERS = (2, 5)
"""The first release whose kafka-configs.sh changes topics through brokers (KIP-543)."""
HAS_CONFIGS = (0, 9)
"""The first release that has kafka-configs.sh (KIP-21)."""


def command(line: ReleaseLine) -> str:
    """How min.insync.replicas of a topic is set, with the tools of a line's newest release.

    Before 0.9 it is kafka-topics.sh that changes a topic.
    """
    at = numbers(line.newest)
    if at < HAS_CONFIGS:
        return "kafka-topics.sh --zookeeper HOST:2181 --alter --topic TOPIC --config min.insync.replicas=2"
    where = "--bootstrap-server HOST:9092" if at >= TOPICS_BY_BROKERS else "--zookeeper HOST:2181"
    topic = "--entity-type topics --entity-name TOPIC"
    return f"kafka-configs.sh {where} --alter {topic} --add-config min.insync.replicas=2"


def default_of(atlas: Atlas, client: str, data: Data) -> str:
    """What a client has if nothing is set, and where the page shows it."""
    if client == "java":
        name = next(one.title for one in atlas.columns if one.id == chosen(atlas))
        told = f"Shown first: {name}, the default of a Java producer of {atlas.line.newest}."
        on = " Unclean elections are off but where said; the default here is on."
        return told + on if _unclean_by_default(atlas) else told
    released = max((run.client_release for one in atlas.cells(client) for run in one.runs), key=numbers, default="")
    if not released:
        return ""
    rules = RULES[client](released)
    own = Settings(
        client=client,
        line=atlas.line.audit,
        version=atlas.line.newest,
        replication_factor=3,
        min_insync_replicas=1,
        unclean=False,
        acks=rules.acks,
        idempotence=bool(rules.idempotence),
        in_flight=rules.in_flight,
        retries=str(rules.retries),
    )
    told = f"Default of {columns_of.CLIENTS[client]} {released}: acks={rules.acks}, not idempotent."
    fits_in = columns_of.falls_in(data.measured, own, atlas.line)
    if fits_in:
        return f"{told} It is the column “{fits_in.title}, {fits_in.topic}”."
    (cells,) = zip(*grid(atlas.line, client, [columns_of.of(own, "")], data.measured).values(), strict=True)
    measured = [one for one in cells if one.worst != HOLE]
    count = sum(one.worst == LOST for one in measured)
    if not measured:
        return f"{told} It has no column here, and was not measured."
    return (
        f"{told} It has no column here. With min.insync.replicas=1, {count} of {len(measured)} measured events "
        f"{_lose(count)} records. {_other_harm(cells)}".strip()
    )


def chosen(atlas: Atlas) -> str:
    """The column that is shown first: the default of a Java producer of this release."""
    return columns_of.default_of_java(atlas.line.newest) or "all-min-1"
