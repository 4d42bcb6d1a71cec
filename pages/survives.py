"""docs/what-survives-what.md: events by version lines, and what became of acknowledged records in each.

Rows are cases of scenarios, told as what an operator sees: an event, and the settings it meets. Cells are made of the
data that runs left (results/): how many acknowledged records were lost, in how many runs of how many, and
which runs these were. Records are counted in runs that say something, also in one that contradicts what is documented;
how many ended as documented stands beside, and the page of the scenario says why others did not. What flushing costs is
measured in the same runs, in records that are sent one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from evidence.events import Acked
from evidence.rundir import DEFAULT_CASE
from evidence.timeline import read
from judgement.verdict import ERROR, UNKNOWN

if TYPE_CHECKING:
    from evidence.rundir import RunDir

Value = Mapping[str, Any]

PAGE: Final = "what-survives-what.md"
PRICED: Final = "page-cache-only"
"""The scenario whose cases differ in when brokers flush, and in nothing else."""
FLUSHES: Final = "flush-each"
"""Its case that flushes before each acknowledgement."""
MS_NS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case of a scenario, as an event and the settings that it meets."""

    event: str
    settings: str
    scenario: str
    case: str = DEFAULT_CASE


LEADER_DIES: Final = "the leader's process is killed, with a record that its followers do not have"
ALL_LOSE: Final = "all replicas lose power at one moment"
LAST_LOSES: Final = "the followers {}, then the leader loses power and is the first one back"
TWO: Final = "acks=all, min.insync.replicas=2"
RACK: Final = "the leader's rack is cut off from the other, and loses power"
ROWS: Final = (
    Row(event=LEADER_DIES, settings="acks=1", scenario="leader-crash", case="acks-1"),
    Row(event=LEADER_DIES, settings="acks=all", scenario="leader-crash", case="acks-all"),
    Row(event="two leaders in a row are killed", settings="acks=all", scenario="double-failover"),
    Row(event="the processes of all brokers are killed", settings=TWO, scenario="memory-survives", case="killed"),
    Row(event="the leader loses power", settings=TWO, scenario="memory-survives", case="leader"),
    Row(
        event="the leader and a follower lose power at one moment",
        settings=TWO,
        scenario="memory-survives",
        case="leader-and-follower",
    ),
    Row(event=ALL_LOSE, settings=TWO, scenario=PRICED),
    Row(event=ALL_LOSE, settings="the same, on xfs", scenario=PRICED, case="xfs"),
    Row(event=ALL_LOSE, settings="the same, log.flush.interval.ms=1000", scenario=PRICED, case="flush-interval"),
    Row(event=ALL_LOSE, settings="the same, log.flush.interval.messages=1", scenario=PRICED, case="flush-each"),
    *(
        Row(
            event=LAST_LOSES.format(gone),
            settings=f"acks=all, min.insync.replicas={least}" + words,
            scenario="last-replica-standing",
            case=f"min-{least}-{case}{suffix}",
        )
        for case, gone in (("stopped", "are stopped cleanly"), ("frozen", "stand still"), ("killed", "are killed"))
        for least, words, suffix in (
            (1, "", ""),
            (2, "", ""),
            (2, ", eligible leader replicas off", "-elr-off"),
            (2, ", eligible leader replicas on", "-elr-on"),
        )
    ),
    Row(event="one of two racks loses power", settings="all in sync", scenario="rack-loss", case="in-sync"),
    Row(event=RACK, settings="min.insync.replicas within a rack", scenario="rack-loss", case="within"),
    Row(event=RACK, settings="min.insync.replicas across racks", scenario="rack-loss", case="across"),
    Row(
        event="all brokers lose power, just after a transaction in two topics was committed",
        settings="flush.messages=1 in one of them",
        scenario="coordinator-power-loss",
        case="transaction",
    ),
    Row(
        event="all brokers lose power, just after a transaction in two topics was committed",
        settings="log.flush.interval.messages=1",
        scenario="coordinator-power-loss",
        case="transaction-flush-each",
    ),
    *(
        Row(event=event.format(role), settings=settings, scenario=of, case=role + suffix)
        for role in ("leader", "follower")
        for event, settings, of, suffix in (
            ("the disk of the {} is full", TWO, "disk-full", ""),
            ("the disk of the {} answers with errors", TWO, "disk-full", "-broken"),
            ("the disk of the {} is made read-only by the kernel", TWO, "disk-full", "-read-only"),
            ("one of the {}'s two log directories fails", TWO, "log-directory-failure", ""),
            ("the disk of the {} is slow", "acks=all, log.flush.interval.messages=1", "slow-disk", ""),
        )
    ),
    *(
        Row(
            event=f"the wall clock of the {role} is eight days ahead for a minute{then}",
            settings="acks=all, retention.ms of 7 days, the default",
            scenario="clock-step",
            case=f"{role}-ahead",
        )
        for role, then in (("leader", ""), ("follower", ", and later it is elected"))
    ),
    Row(event="one controller loses power", settings="a quorum of three", scenario="metadata-power-loss", case="one"),
    Row(
        event="two controllers lose power",
        settings="a quorum of three",
        scenario="metadata-power-loss",
        case="majority",
    ),
    Row(
        event="all controllers, or ZooKeeper, lose power",
        settings="a quorum of three; forceSync=yes",
        scenario="metadata-power-loss",
        case="all",
    ),
)

GUIDE: Final = """## What to set

- **A process that dies takes nothing along** of what it wrote: that is in the page cache of its machine. acks=1 is
  acknowledged by one replica, and lost if another is elected. Before 0.11 the elections that follow can truncate what
  was acknowledged with acks=all as well ([double-failover](scenarios/double-failover.md)).
- **A machine that loses power takes along what it has not flushed**: with default settings up to half a minute of
  records (vm.dirty_expire_centisecs and vm.dirty_writeback_centisecs). That is harmless as long as another replica in
  the ISR keeps its power ([memory-survives](scenarios/memory-survives.md); before 0.11 the last record is at stake if
  two go at once). So put replicas where they do not lose it together, and let min.insync.replicas be more than share
  one supply: with two racks of two replicas each that is 3.
- **If all can lose power at once, only a flush before the acknowledgement helps**: log.flush.interval.messages=1 on the
  broker, or flush.messages=1 on the topics that are worth its price. A flush each second (log.flush.interval.ms) bounds
  the loss and does not prevent it.
- **min.insync.replicas=1 lets the last replica acknowledge alone**, and these records are lost with its power, on every
  release.
- **min.insync.replicas=2 saves them only with eligible leader replicas** (KIP-966; on in new clusters from 4.1 on, a
  feature to turn on in 4.0 and in clusters that were upgraded): without them the broker that lost its records is
  elected for being the last in the ISR, and replicas that have the records throw them away. With them that still
  happens if the followers' processes were killed. So see which replicas have the records before you start a leader
  that lost power.
- **What Kafka keeps of itself is flushed** before it counts, by KRaft's controllers as by ZooKeeper, unless that is
  told not to (forceSync=no: a topic that was just created is forgotten, and every broker must be started again). What
  it keeps in topics is not: committed offsets and the state of transactions are lost like records, so groups go back
  and transactions are there in part ([coordinator-power-loss](scenarios/coordinator-power-loss.md)).
- **A disk that fails takes no acknowledged record along** where another replica in the ISR has it: the broker ends
  itself, or gives up the log directory (1.0 and later). A disk that is slow is worse to live with: nobody takes
  anything from its broker, and every acknowledgement that includes it waits ([slow-disk](scenarios/slow-disk.md)).
- **A clock that is wrong for a minute takes more than any disk**: with a broker's eight days ahead, retention deletes
  everything, on all replicas ([clock-step](scenarios/clock-step.md)). Nothing but retention.ms=-1 prevents that.
"""
INTRODUCTION: Final = """Made by `kafka-chaos guide` (`make docs`) from run directories; do not edit. What became of
records that had been acknowledged, on real brokers, each with a file system of its own where power is lost. “lost n”:
so many acknowledged records are gone, and no consumer can ever read them; “kept”: all are there. Then how many of how
many runs ended as documented; the run directories are named at the end. An empty cell was not run or does not apply.
"""
PRICE: Final = """The median time from sending a record to its acknowledgement by three replicas (ms), of records sent
one by one: of the run in which it was least, since other work on the machine only adds to it. Three brokers share one
disk of one machine here. With a flush it is that disk which is measured.
"""


def counts(runs: Sequence[Any]) -> dict[str, Any]:
    """How many records judged runs (`reproduced.Judged`) had acknowledged and lost, the least and the most, and their
    names. Of an error, or where it is not known whether the fault took effect, nothing follows; a run that contradicts
    what is documented counts, or a cell would say "kept" of records that it lost.
    """
    outcomes = [one.verdict.outcome for one in runs if one.verdict.verdict not in (UNKNOWN, ERROR)]
    outcomes = [one for one in outcomes if one is not None]
    acknowledged = [one.acknowledged for one in outcomes if one.acknowledged is not None]
    lost = [one.lost for one in outcomes]
    return {
        "acknowledged": [min(acknowledged), max(acknowledged)] if acknowledged else None,
        "lost_records": [min(lost), max(lost)] if lost else None,
        "ids": sorted(str(one.run.get("run")) for one in runs),
    }


def median_ack_ms(run_dir: RunDir) -> float | None:
    """The median time that an acknowledgement took of the records that a run sent one by one, in milliseconds; None if
    there is none.
    """
    acknowledged = read(run_dir.timeline).of(Acked)
    times = [
        (one.completed_ns - one.invoked_ns) / MS_NS
        for one in acknowledged
        if one.outcome == "ok" and one.completed_ns is not None and one.invoked_ns is not None
    ]
    return round(median(times), 2) if times else None


def page(described: Value, data: Value) -> str:
    """The page; its tables are empty where no runs were counted."""
    versions = [v for v in described["versions"] if any(_cell(data, row, v) for row in ROWS)]
    lines = [
        "# What survives what",
        "",
        INTRODUCTION,
        f"| event | with | {' | '.join(versions)} |",
        "|---|---|" + "---|" * len(versions),
    ]
    for row in ROWS:
        cells = [_told(_cell(data, row, version)) for version in versions]
        if any(cells):
            link = f"[{row.event}](scenarios/{row.scenario}.md)"
            lines.append(f"| {link} | {row.settings} | {' | '.join(cells)} |")
    lines += ["", *_price(data, versions), GUIDE, *_runs(data, versions)]
    return "\n".join(lines)


def _cell(data: Value, row: Row, version: str) -> Value | None:
    """The runs of a row on a version, if they were counted with what became of their records."""
    cell = ((data.get(row.scenario) or {}).get("cases") or {}).get(row.case, {}).get(version)
    return cell if cell and cell.get("lost_records") else None


def _told(cell: Value | None) -> str:
    if cell is None:
        return ""
    least, most = cell["lost_records"]
    ran = f"{cell['good']}/{cell['runs']}"
    if not most:
        return f"kept {ran}"
    all_ = f" of {cell['acknowledged'][1]}" if cell.get("acknowledged") else ""
    return f"**lost {least if least == most else f'{least}–{most}'}**{all_} {ran}"


def _price(data: Value, versions: Sequence[str]) -> Iterator[str]:
    """What flushing costs, by case and version."""
    cases = (data.get(PRICED) or {}).get("cases") or {}
    compared = [cases.get(case) or {} for case in (DEFAULT_CASE, FLUSHES)]
    priced = [v for v in versions if all((of.get(v) or {}).get("ack_ms") is not None for of in compared)]
    if not priced:
        return
    yield from ("## What a flush costs", "")
    yield PRICE
    yield f"| | {' | '.join(priced)} |"
    yield "|---|" + "---|" * len(priced)
    for case, of in zip((DEFAULT_CASE, FLUSHES), compared, strict=True):
        taken = [of[version]["ack_ms"] for version in priced]
        yield f"| {case} | {' | '.join(f'{ms:g}' for ms in taken)} |"
    yield ""


def _runs(data: Value, versions: Sequence[str]) -> Iterator[str]:
    """The run directories that cells were made of."""
    yield from ("## The runs", "")
    for row in ROWS:
        for version in versions:
            cell = _cell(data, row, version)
            if cell is not None:
                yield f"- {row.scenario} ({row.case}) on {version}: {', '.join(f'`{one}`' for one in cell['ids'])}"
