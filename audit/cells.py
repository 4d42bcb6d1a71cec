"""The measured matrix: one cell for each (client, settings, topic, version line, fault), and the runs that measured it.

A cell states beforehand what must come of it (`Stated`, from documents) and has every run that measured it, each with
counts that were made from the run's judged histories and replicas. `make audit-matrix` measures them, and the files of
results/audit/ have them (audit/matrix.py).

**Looking up.** `covering` finds, for somebody's own settings (`Settings`), the cells of each fault that were measured
with just these, or with settings of which it is argued that they cannot differ (`EQUIVALENCES`). Every argument
used is given back in words, and so is every difference that is not covered by one: another release of the same line,
more replicas than were measured. Where nothing fits there is no cell, and whoever asked says "not measured".

Settings are compared in classes: `retries` 0 or many, `in_flight` 1 or several (5 stands for any number above 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from evidence.basis import Basis, fault_of
from evidence.borders import ELIGIBLE_LEADERS_BY_DEFAULT, ELIGIBLE_LEADERS_SUPPORTED
from evidence.errors import UsageError
from evidence.releases import numbers

Client = Literal["librdkafka", "java", "scala"]
Outcome = Literal["loses", "duplicates", "reorders", "refuses"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("loses", "duplicates", "reorders", "refuses")
"""What may come of acknowledged records (lost, twice in the log, in another order), and that sends are refused."""

LINES: Final[Mapping[str, str]] = {
    "old": "0.8 to 0.10.2: replicas truncate to the high watermark",
    "epoch": "0.11 to 2.8 with ZooKeeper: replicas truncate by leader epoch (KIP-101)",
    "zk3": "3.0 to 3.9 with ZooKeeper",
    "pinned": "ZooKeeper, inter.broker.protocol.version before 0.11: an upgrade that was never finished",
    "kraft": "KRaft",
}
FAULTS: Final[Mapping[str, str]] = {
    "none": "no fault: what the settings cost",
    "leader-crash-behind": "followers stand still, records are sent, the leader is killed, the followers continue",
    "leader-crash-under-load": "the leader is killed while producers send",
    "leader-cut-off": "the leader is cut from followers, ZooKeeper and controller, and keeps its clients",
    "zombie-leader": "the leader stands still until another is elected, and then continues",
    "shrunk-isr-crash": "the ISR shrinks to the leader, which is then killed",
    "whole-isr-down": "every replica is killed, and all are started again",
    "broker-restart": "the leader is stopped cleanly and started again while producers send",
    "rolling-restart": "all brokers are stopped cleanly and started again in turn while producers send",
    "double-failover": "the leader dies, and the next one before it can lead",
    "follower-reboot": "a follower restarts, and leads before it has caught up",
    "lost-acknowledgement": "records are written, and the answer never arrives",
    "refused-then-accepted": "one record is refused, the next one is accepted, the first is tried again",
    "time-out": "the broker answers later than the producer waits",
    "client-crash": "the producer is killed (kill -9)",
    "power-loss": "all replicas lose power at one moment, and with it what was on no disk yet",
    "last-replica": "the followers are stopped cleanly, the leader acknowledges alone, loses power, and is back first",
    "disk-lost": "the leader's disk is lost for good",
    "rack-lost": "the leader and a follower lose their disks for good",
    "last-disk-lost": "the followers are stopped cleanly, the leader acknowledges alone, and loses its disk for good",
}
"""The faults, and what each does in a few words."""
ELECTS_IN_SYNC: Final = frozenset(
    {"leader-crash-behind", "leader-crash-under-load", "leader-cut-off", "zombie-leader", "broker-restart",
     "rolling-restart", "double-failover", "follower-reboot"}
)  # fmt: skip
"""Faults in which an in-sync replica is alive at each election."""
TWO_DOWN: Final = frozenset({"double-failover", "follower-reboot"})
"""Those of them in which two replicas are down at once, or out of the ISR: it takes a third one."""
ELECTS_NOBODY: Final = frozenset({"none", "lost-acknowledgement", "refused-then-accepted", "time-out", "client-crash"})
"""Faults without an election."""
REPLICAS_STAND: Final = frozenset({"lost-acknowledgement", "time-out", "client-crash"})
"""Faults between a producer and its leader, in which no replica fails or leaves the ISR."""


UNDER_LOAD: Final = frozenset({"leader-crash-under-load", "broker-restart", "rolling-restart", "whole-isr-down"})
"""Faults that strike while each producer sends `results.RATE_PER_S` records a second; in others it sends a dozen."""
POWER_LOSS: Final = "power-loss"
LAST_REPLICA: Final = "last-replica"
LOSES_POWER: Final = frozenset({POWER_LOSS, LAST_REPLICA})
DISK_LOST: Final = "disk-lost"
RACK_LOST: Final = "rack-lost"
LAST_DISK_LOST: Final = "last-disk-lost"
LOST_REPLICAS: Final[Mapping[str, int]] = {DISK_LOST: 1, RACK_LOST: 2}
"""How many replicas a fault takes for good, all in sync."""
LOSES_DISKS: Final = frozenset({DISK_LOST, RACK_LOST, LAST_DISK_LOST})
"""Faults that take replicas for good."""
ASKS_FOR_FLUSHES: Final = LOSES_POWER | {"none"}
"""Whether a broker flushes what it writes is asked by a loss of power, and by what it costs."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Settings:
    """What a cell is about, but for the fault: a producer, a topic and a cluster, every value resolved.

    `retries` is "0" or "many", `in_flight` 1 or 5; `normal` makes these of any numbers.
    """

    client: str
    line: str
    version: str
    """Of the brokers: a version of `kafka-chaos list` in a measured cell ("3.9.2-zk"), a release in a question."""
    replication_factor: int
    min_insync_replicas: int
    unclean: bool
    acks: str
    """"0", "1" or "all"."""
    idempotence: bool
    in_flight: int
    retries: str
    flush_each: bool = False
    """flush.messages=1: each replica flushes a record before it counts."""

    @property
    def in_words(self) -> str:
        """Producer and topic, as people write them; without the version."""
        told = [
            self.client,
            f"acks={self.acks}",
            *(["idempotent"] if self.idempotence else []),
            f"in flight {self.in_flight}",
            f"retries {self.retries}",
            f"RF {self.replication_factor}",
            f"min.insync.replicas {self.min_insync_replicas}",
            f"unclean elections {'on' if self.unclean else 'off'}",
            *(["flush.messages 1"] if self.flush_each else []),
        ]
        return ", ".join(told)


def _values(settings: Settings) -> dict[str, Any]:
    """The settings by name, without a fault."""
    return {one.name: getattr(settings, one.name) for one in fields(Settings)}


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class CellKey(Settings):
    """Settings and the fault: what names a cell."""

    fault: str

    @property
    def settings(self) -> Settings:
        """Without the fault."""
        return Settings(**_values(self))

    def __str__(self) -> str:
        return f"{self.fault} on {self.version}: {self.in_words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What must come of a cell, stated before it is measured: `must` is seen in every run, `may` in any, nothing else
    in none.
    """

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    why: str
    source: str
    basis: Basis
    """Of what kind the source is; `measured` is our runs alone."""

    def __post_init__(self) -> None:
        if fault := fault_of(self.source, self.basis):
            raise UsageError(f"a cell's {fault}")
        for name in sorted(self.must | self.may):
            if name not in OUTCOMES:
                raise UsageError(f"no outcome {name!r} of a cell: {', '.join(OUTCOMES)}")


class RunCounts(NamedTuple):
    """One run of a cell: where it is from, and how many records came to which end.

    Counts are of records of this cell alone, from the judged histories and replicas. `acknowledged` are those that the
    producer was told are written (with acks=0: that it has handed over); `lost`, `duplicated` and `reordered` are of
    these. `unknown_*` are those whose sender was never told, by whether they were in the log at the end.
    """

    run: str
    date: str
    """The day, as 2026-11-22 (UTC)."""
    commit: str
    """Of the harness."""
    client_release: str
    broker_version: str
    acknowledged: int
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    refused: int = 0
    unknown_present: int = 0
    unknown_absent: int = 0
    latency_p50_ms: float | None = None
    """From the hand-over to the answer; only where there was no fault."""
    latency_p99_ms: float | None = None
    records_per_s: float | None = None
    """How fast records were acknowledged when as many were sent as the producer takes; only without a fault."""

    @property
    def seen(self) -> frozenset[str]:
        """The outcomes that this run shows."""
        counts = {
            "loses": self.lost,
            "duplicates": self.duplicated,
            "reorders": self.reordered,
            "refuses": self.refused,
        }
        return frozenset(name for name, count in counts.items() if count)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measured cell. Without slots, for `seen` is asked of each for every change that a producer might make."""

    key: CellKey
    stated: Stated
    runs: tuple[RunCounts, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the producer was given beside the cell's own settings: time-outs made short. All else is its default."""

    def times(self, outcome: str) -> int:
        """In how many runs an outcome was seen."""
        return sum(outcome in run.seen for run in self.runs)

    @cached_property
    def seen(self) -> frozenset[str]:
        """The outcomes that any run shows."""
        return frozenset().union(*(run.seen for run in self.runs))

    @property
    def as_stated(self) -> bool:
        """Whether every run shows what must come of it, and nothing that may not."""
        stated = self.stated
        return all(stated.must <= run.seen <= stated.must | stated.may for run in self.runs)


# Pruning: cells that cannot differ


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Why two cells cannot differ: those that `applies` holds for are measured as what `to` makes of them."""

    label: str
    """The reason, in words."""
    applies: Callable[[CellKey], bool]
    to: Callable[[CellKey], CellKey]


REFUSED: Final = "refused-then-accepted"


def _replicas(key: CellKey) -> tuple[int, int]:
    return key.replication_factor, key.min_insync_replicas


def _all_lost(key: CellKey) -> bool:
    """Whether a fault that takes replicas for good takes all of a topic's."""
    return key.replication_factor <= LOST_REPLICAS.get(key.fault, 0)


def _writable(key: CellKey) -> bool:
    """Whether there are as many replicas as must be in sync; a topic without is written by nobody with acks=all."""
    return key.replication_factor >= key.min_insync_replicas


def _has_eligible_leaders(key: CellKey) -> bool:
    return key.line == "kraft" and numbers(key.version) >= ELIGIBLE_LEADERS_SUPPORTED.release


def _waits_for_eligible(key: CellKey) -> bool:
    """Whether a partition may wait for another replica when the last one in sync is back."""
    by_default = key.line == "kraft" and numbers(key.version) >= ELIGIBLE_LEADERS_BY_DEFAULT.release
    return by_default and key.min_insync_replicas > 1


def _unclean_on_return(key: CellKey) -> bool:
    """The unclean elections with which `LAST_REPLICA` is measured for all that cannot differ."""
    return key.line == "old" or (key.line == "kraft" and key.min_insync_replicas > 1)


EQUIVALENCES: Final[tuple[Equivalence, ...]] = (
    Equivalence(
        "without retries a record is sent once, so no later one can overtake it: how many are in flight is the same",
        lambda key: key.retries == "0" and key.in_flight != 5,
        lambda key: replace(key, in_flight=5),
    ),
    Equivalence(
        "acks=0 asks for no answer, so nothing is ever sent again: retries and requests in flight are the same",
        lambda key: key.acks == "0" and (key.retries, key.in_flight) != ("many", 5),
        lambda key: replace(key, retries="many", in_flight=5),
    ),
    Equivalence(
        "min.insync.replicas is asked for by acks=all alone (before eligible leader replicas, which it decides on too)",
        lambda key: key.acks != "all" and key.min_insync_replicas != 1 and not _has_eligible_leaders(key),
        lambda key: replace(key, min_insync_replicas=1),
    ),
    Equivalence(
        "with one replica there is nobody else to elect, cleanly or not",
        lambda key: key.replication_factor == 1 and key.unclean,
        lambda key: replace(key, unclean=False),
    ),
    Equivalence(
        "nobody is elected here, so unclean elections change nothing",
        lambda key: key.fault in ELECTS_NOBODY and key.unclean,
        lambda key: replace(key, unclean=False),
    ),
    Equivalence(
        "an in-sync replica is alive at each election here, so none is unclean",
        lambda key: (
            key.fault in ELECTS_IN_SYNC and key.unclean and not (key.fault in TWO_DOWN and _replicas(key)[0] == 2)
        ),
        lambda key: replace(key, unclean=False),
    ),
    Equivalence(
        "no replica fails here, so how many there are, and how many must be in sync, is the same",
        lambda key: key.fault in REPLICAS_STAND and _writable(key) and _replicas(key) != (3, 1),
        lambda key: replace(key, replication_factor=3, min_insync_replicas=1),
    ),
    Equivalence(
        "what is refused is refused by acks=all alone",
        lambda key: key.fault == REFUSED and key.acks != "all" and key.min_insync_replicas != 1,
        lambda key: replace(key, min_insync_replicas=1),
    ),
    Equivalence(
        "the leader is alone in sync when it refuses, however many other replicas there are",
        lambda key: key.fault == REFUSED and _writable(key) and key.replication_factor != 3,
        lambda key: replace(key, replication_factor=3),
    ),
    Equivalence(
        "a disk that is lost takes along what was flushed to it",
        lambda key: key.flush_each and key.fault in LOSES_DISKS,
        lambda key: replace(key, flush_each=False),
    ),
    Equivalence(
        "every replica is lost: an empty one leads, by itself, by an unclean election, or by hand",
        lambda key: key.fault in LOST_REPLICAS and _all_lost(key) and not key.unclean,
        lambda key: replace(key, unclean=True),
    ),
    Equivalence(
        "a replica that is left is in sync, and is elected cleanly",
        lambda key: key.fault in LOST_REPLICAS and not _all_lost(key) and key.unclean,
        lambda key: replace(key, unclean=False),
    ),
    Equivalence(
        "the only replica in sync is gone for good: another one leads by an unclean election, by setting or by hand",
        lambda key: key.fault == LAST_DISK_LOST and key.replication_factor > 1 and not key.unclean,
        lambda key: replace(key, unclean=True),
    ),
    Equivalence(
        "a process that is killed leaves the page cache behind: what was flushed is asked by a loss of power alone",
        lambda key: key.flush_each and key.fault not in ASKS_FOR_FLUSHES,
        lambda key: replace(key, flush_each=False),
    ),
    Equivalence(
        "every replica is in sync when all lose power, and all have lost the same: who is elected is the same",
        lambda key: key.fault == POWER_LOSS and key.unclean,
        lambda key: replace(key, unclean=False),
    ),
    Equivalence(
        "all replicas lose power at one moment, two as well as three",
        lambda key: key.fault == POWER_LOSS and _writable(key) and key.replication_factor == 2,
        lambda key: replace(key, replication_factor=3),
    ),
    Equivalence(
        "the last replica in sync is alone when it is back, and is elected, by an unclean election or not",
        lambda key: (
            key.fault == LAST_REPLICA and not _waits_for_eligible(key) and key.unclean is not _unclean_on_return(key)
        ),
        lambda key: replace(key, unclean=_unclean_on_return(key)),
    ),
    Equivalence(
        "the followers that are stopped have the same records, one as well as two",
        lambda key: key.fault == LAST_REPLICA and _writable(key) and key.replication_factor == 2,
        lambda key: replace(key, replication_factor=3),
    ),
)
"""Each changes one thing; they are applied in this order, and to a question and the measured cells alike."""


def canonical(key: CellKey) -> tuple[CellKey, tuple[str, ...]]:
    """The key that stands for all that cannot differ from this one, and the labels of the equivalences used."""
    used = []
    for equivalence in EQUIVALENCES:
        if equivalence.applies(key):
            key = equivalence.to(key)
            used.append(equivalence.label)
    return key, tuple(used)


# Looking up


@dataclass(frozen=True, slots=True)
class Covering:
    """A measured cell that covers a question."""

    cell: Cell
    arguments: tuple[str, ...] = ()
    """Why settings that differ from those asked for cannot matter."""
    differs: tuple[str, ...] = ()
    """What differs and no argument covers, in words: "measured on 2.8.2, asked for 2.4.1". Always to be told."""


def normal(settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Settings in the classes of measured cells, and what differs by that: any number of retries is many, several in
    flight are 5, more replicas than three are three.
    """
    told = []
    retries = "0" if str(settings.retries) == "0" else "many"
    in_flight = 1 if settings.in_flight == 1 else 5
    factor, least = min(settings.replication_factor, 3), min(settings.min_insync_replicas, 2)
    if settings.replication_factor > factor:
        told.append(f"measured with replication factor {factor}, asked for {settings.replication_factor}")
    if settings.min_insync_replicas > least:
        told.append(f"measured with min.insync.replicas={least}, asked for {settings.min_insync_replicas}")
    made = replace(settings, retries=retries, in_flight=in_flight, replication_factor=factor, min_insync_replicas=least)
    return made, tuple(told)


Index = Mapping[tuple[str, CellKey], Sequence[Cell]]
"""Measured cells by what they stand for, so that many questions can be asked."""


def indexed(cells: Iterable[Cell]) -> Index:
    """The cells that were measured, by fault and by the key that they stand for."""
    measured: dict[tuple[str, CellKey], list[Cell]] = {}
    for cell in cells:
        if cell.runs:
            stands_for = replace(canonical(cell.key)[0], version="")
            measured.setdefault((cell.key.fault, stands_for), []).append(cell)
    return measured


def covering(settings: Settings, cells: Iterable[Cell], faults: Iterable[str] = FAULTS) -> dict[str, Covering]:
    """For each fault the measured cell that covers these settings, of the nearest release of the line; faults of which
    nothing was measured are not in it. `covering_in` asks an index, made once.
    """
    return covering_in(indexed(cells), settings, faults)


def covering_in(measured: Index, settings: Settings, faults: Iterable[str] = FAULTS) -> dict[str, Covering]:
    """As `covering`."""
    asked, differs = normal(settings)
    found: dict[str, Covering] = {}
    for fault in faults:
        key, arguments = canonical(CellKey(**_values(asked), fault=fault))
        fit = measured.get((fault, replace(key, version="")), ())
        if fit:
            cell = min(fit, key=lambda one: _distance(one.key, asked))
            used = tuple(dict.fromkeys((*arguments, *canonical(cell.key)[1]))) if _other(cell.key, asked) else ()
            found[fault] = Covering(cell, used, (*differs, *_release_differs(cell.key, settings)))
    return found


def _other(measured: CellKey, asked: Settings) -> bool:
    return _values(measured) | {"version": ""} != _values(asked) | {"version": ""}


def _distance(measured: CellKey, asked: Settings) -> tuple[bool, tuple[int, ...], bool, CellKey]:
    """Sort key: whether eligible leader replicas are in force in one alone (they are off in 4.0), the distance of the
    releases, then whether the settings differ.
    """
    one, other = numbers(measured.version), numbers(asked.version)
    width = max(len(one), len(other))
    apart = tuple(abs(a - b) for a, b in zip(_padded(one, width), _padded(other, width), strict=True))
    eligible = _eligible_by_default(measured) is not _eligible_by_default(asked)
    return eligible, apart, _other(measured, asked), measured


def _eligible_by_default(key: Settings) -> bool:
    return key.line == "kraft" and numbers(key.version) >= ELIGIBLE_LEADERS_BY_DEFAULT.release


def _padded(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))


RELEASES_DIFFER: Final = "measured on"
"""How it begins that the release asked for was not measured."""


def _release_differs(measured: CellKey, asked: Settings) -> tuple[str, ...]:
    if numbers(measured.version) == numbers(asked.version):
        return ()
    return (f"{RELEASES_DIFFER} {measured.version}, asked for {asked.version}",)


def line_of(release: str, *, kraft: bool, protocol: str = "") -> str:
    """The version line of a broker: `protocol` is its inter.broker.protocol.version, if one is set.

    >>> line_of("0.9.0.1", kraft=False), line_of("2.4.1", kraft=False), line_of("3.9.2", kraft=False, protocol="0.10.2")
    ('old', 'epoch', 'pinned')
    """
    if kraft:
        return "kraft"
    if numbers(release) < (0, 11):
        return "old"
    if protocol and numbers(protocol) < (0, 11):
        return "pinned"
    return "zk3" if numbers(release) >= (3,) else "epoch"


# Runs put together


def added(cells: Iterable[Cell], more: Iterable[Cell]) -> tuple[Cell, ...]:
    """Cells with the runs of `more` put in; a run that is there already is replaced, and what is stated now counts."""
    found = {cell.key: cell for cell in cells}
    for cell in more:
        known = found.get(cell.key)
        runs = {run.run: run for one in (known, cell) if one is not None for run in one.runs}
        found[cell.key] = replace(cell, runs=tuple(runs[name] for name in sorted(runs)))
    return tuple(sorted(found.values(), key=lambda cell: order(cell.key)))


def order(key: CellKey) -> tuple[Any, ...]:
    """Sorts cells: by fault and line as `FAULTS` and `LINES` have them, then by settings."""
    lines, faults = list(LINES), list(FAULTS)
    return (
        faults.index(key.fault) if key.fault in faults else len(faults),
        lines.index(key.line) if key.line in lines else len(lines),
        key,
    )


def changed(before: Sequence[Cell], after: Sequence[Cell]) -> list[str]:
    """The cells of `after` of which a run shows another outcome than the same cell showed `before`, a line each.

    An outcome that was seen in every run before must be seen in every run now, and one that was never seen in none. But
    not one that is stated as possible only: however often it was seen, it may come and may not.
    """
    known = {cell.key: cell for cell in before if cell.runs}
    lines = []
    for cell in after:
        was = known.get(cell.key)
        if was is None or not cell.runs:
            continue
        for outcome in (one for one in OUTCOMES if one not in cell.stated.may):
            then, now = (was.times(outcome), len(was.runs)), (cell.times(outcome), len(cell.runs))
            never, always = then[0] == 0, then[0] == then[1]
            if (never and now[0]) or (always and not never and now[0] < now[1]):
                lines.append(
                    f"{cell.key}: {outcome} in {then[0]} of {then[1]} runs before, in {now[0]} of {now[1]} now"
                )
    return lines
