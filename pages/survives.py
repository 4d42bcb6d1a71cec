"""docs/what-survives-what.md: events by version lines, and what became of acknowledged records in each.

Rows are cases of scenarios, told as what an operator sees: an event, and the settings it meets. Cells are made of the
ledger (results/): how many acknowledged records were lost, in how many runs of how many, and what that leaves possible.
Runs that say nothing about Kafka are told apart; one that contradicts what is documented says
something. What flushing costs is measured in the same runs, in records that are sent one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import results
from evidence.run import DEFAULT_CASE
from judgement.rates import telling
from pages.counted import interval, ran
from pages.render import render
from results import Value

PAGE: Final = "what-survives-what.md"
FLUSH_COST_SCENARIO: Final = "page-cache-only"
"""The scenario whose cases differ in when brokers flush, and in nothing else."""
FLUSH_EACH_CASE: Final = "flush-each"
"""Its case that flushes before each acknowledgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalRow:
    """A case of a scenario, as an event and the settings that it meets."""

    event: str
    settings: str
    scenario: str
    case: str = DEFAULT_CASE


LEADER_DIES: Final = "the leader's process is killed, with a record that its followers do not have"
ALL_LOSE: Final = "all replicas lose power at one moment"
LAST_LOSES: Final = "the followers {}, then the leader loses power and is the first one back"
ACKS_ALL_MIN_2: Final = "acks=all, min.insync.replicas=2"
RACK: Final = "the leader's rack is cut off from the other, and loses power"
ROWS: Final = (
    SurvivalRow(event=LEADER_DIES, settings="acks=1", scenario="leader-crash", case="acks-1"),
    SurvivalRow(event=LEADER_DIES, settings="acks=all", scenario="leader-crash", case="acks-all"),
    SurvivalRow(
        event="the leader is killed, then the follower that will be elected",
        settings="acks=all",
        scenario="double-failover",
    ),
    SurvivalRow(
        event="the processes of all brokers are killed",
        settings=ACKS_ALL_MIN_2,
        scenario="memory-survives",
        case="killed",
    ),
    SurvivalRow(event="the leader loses power", settings=ACKS_ALL_MIN_2, scenario="memory-survives", case="leader"),
    SurvivalRow(
        event="the leader and a follower lose power at one moment",
        settings=ACKS_ALL_MIN_2,
        scenario="memory-survives",
        case="leader-and-follower",
    ),
    SurvivalRow(event=ALL_LOSE, settings=ACKS_ALL_MIN_2, scenario=FLUSH_COST_SCENARIO),
    SurvivalRow(event=ALL_LOSE, settings="the same, on xfs", scenario=FLUSH_COST_SCENARIO, case="xfs"),
    SurvivalRow(
        event=ALL_LOSE,
        settings="the same, log.flush.interval.ms=1000",
        scenario=FLUSH_COST_SCENARIO,
        case="flush-interval",
    ),
    SurvivalRow(
        event=ALL_LOSE,
        settings="the same, log.flush.interval.messages=1",
        scenario=FLUSH_COST_SCENARIO,
        case="flush-each",
    ),
    *(
        SurvivalRow(
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
    SurvivalRow(event="one of two racks loses power", settings="all in sync", scenario="rack-loss", case="in-sync"),
    SurvivalRow(event=RACK, settings="min.insync.replicas within a rack", scenario="rack-loss", case="within"),
    SurvivalRow(event=RACK, settings="min.insync.replicas across racks", scenario="rack-loss", case="across"),
    SurvivalRow(
        event="all brokers lose power, just after a transaction in two topics was committed",
        settings="flush.messages=1 in one of them",
        scenario="coordinator-power-loss",
        case="transaction",
    ),
    SurvivalRow(
        event="all brokers lose power, just after a transaction in two topics was committed",
        settings="log.flush.interval.messages=1",
        scenario="coordinator-power-loss",
        case="transaction-flush-each",
    ),
    *(
        SurvivalRow(event=event.format(role), settings=settings, scenario=of, case=role + suffix)
        for role in ("leader", "follower")
        for event, settings, of, suffix in (
            ("the disk of the {} is full", ACKS_ALL_MIN_2, "disk-full", ""),
            ("the disk of the {} answers with errors", ACKS_ALL_MIN_2, "disk-full", "-broken"),
            ("the disk of the {} is made read-only by the kernel", ACKS_ALL_MIN_2, "disk-full", "-read-only"),
            ("one of the {}'s two log directories fails", ACKS_ALL_MIN_2, "log-directory-failure", ""),
            ("the disk of the {} is slow", "acks=all, log.flush.interval.messages=1", "slow-disk", ""),
        )
    ),
    *(
        SurvivalRow(
            event=f"the wall clock of the {role} is eight days ahead for a minute{then}",
            settings="acks=all, retention.ms of 7 days, the default; looked at each second (default: five minutes)",
            scenario="clock-step",
            case=f"{role}-ahead",
        )
        for role, then in (("leader", ""), ("follower", ", and later it is elected"))
    ),
    SurvivalRow(
        event="one controller loses power", settings="a quorum of three", scenario="metadata-power-loss", case="one"
    ),
    SurvivalRow(
        event="two controllers lose power",
        settings="a quorum of three",
        scenario="metadata-power-loss",
        case="majority",
    ),
    SurvivalRow(
        event="all controllers, or ZooKeeper, lose power",
        settings="a quorum of three; forceSync=yes",
        scenario="metadata-power-loss",
        case="all",
    ),
)


def page(described: Value, data: Value) -> str:
    """The page; its tables are empty where no runs were counted."""
    versions = [v for v in reversed(described["versions"]) if any(_cell(data, row, v) for row in ROWS)]
    rows = []
    for row in ROWS:
        cells = [cell_text(_cell(data, row, version)) for version in versions]
        if any(cells):
            rows.append([f"[{row.event}](scenarios/{row.scenario}.md)", row.settings, *cells])
    priced, prices = _prices(data, versions)
    return render(
        PAGE,
        headings=["event", "with", *versions],
        rows=rows,
        price_headings=["", *priced],
        prices=prices,
    )


def _cell(data: Value, row: SurvivalRow, version: str) -> Value | None:
    """The runs of a row on a version, if they were counted with what became of their records."""
    cell = results.cells_of(data, row.scenario, row.case).get(version)
    return cell if cell and cell.get("lost_records") else None


def cell_text(cell: Value | None) -> str:
    """What became of the records in the runs of a cell that say something: in how many acknowledged ones were lost, and
    how many records; what so many runs leave possible; how many runs were not as documented.
    """
    if cell is None:
        return ""
    runs, lost = telling(cell), cell["lost"]
    if not lost:
        told = f"kept {runs}/{runs}: {interval(0, runs, 'lose')}"
    else:
        least, most = max(1, cell["lost_records"][0]), cell["lost_records"][1]
        all_ = f" of {cell['acknowledged'][1]}" if cell.get("acknowledged") else ""
        told = f"**lost {least if least == most else f'{least}–{most}'}**{all_} in {lost}/{max(runs, lost)}"
    as_documented, *nothing = ran(cell).split(", ")
    beside = ", ".join([f"{as_documented} as documented", *nothing])
    return told + ("" if cell["good"] == cell["runs"] else f" ({beside})")


def _prices(data: Value, versions: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The versions on which it was measured what flushing costs, and a row for each case, in milliseconds."""
    compared = {case: results.cells_of(data, FLUSH_COST_SCENARIO, case) for case in (DEFAULT_CASE, FLUSH_EACH_CASE)}
    priced = [v for v in versions if all((of.get(v) or {}).get("ack_ms") is not None for of in compared.values())]
    rows = [[case, *(f"{of[version]['ack_ms']:g}" for version in priced)] for case, of in compared.items()]
    return priced, rows if priced else []
