"""docs/mutants.md: which runs notice which mutant, as what, and why the rest does not; of results/mutants.csv alone.

Of several runs of one mutant in one scenario the last counts, and how many noticed it stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from evidence.run import full_name
from tests.mutants.registry import MUTANTS, RELEASES, Where
from tests.mutants.rows import MISSED, NOT_REACHED, NOTICED, OTHERWISE, Row, told

WHY: Final[Mapping[tuple[str, str], str]] = {
    ("acknowledged-early", "high-watermark-visibility"): (
        "the follower that is behind is cut off, not frozen, and the scenario is not held to what acks=all waits for; "
        "`leader-crash` tells by the loss."
    ),
    ("acks-1-unwritten", "min-insync-refusal"): (
        "the brokers write the record and leave it unanswered, so a client that waits 45 s is the only witness; "
        "since duties are no longer preconditions this counts as Kafka's fault (earlier runs ended with *error*)."
    ),
    ("acks-1-unwritten", "leader-crash"): (
        "the sequence sends this record without waiting for 10 s and gives up as a failure of its own; "
        "`min-insync-refusal` tells."
    ),
    ("min-insync-ignored", "min-insync-refusal"): (
        "all three records were acknowledged within the 5 s in which a leader may not have heard of its smaller ISR; "
        "the scenario now waits until the leader goes by it, and holds an acknowledgement against Kafka."
    ),
    ("isr-never-shrinks", "isr-shrink-expand"): (
        "the follower left the ISR when its session ended, 20 s after it froze, and the claim looked at those alone "
        "that left during their session; it is now contradicted by one that was kept for longer than it may be."
    ),
    ("clean-stop-moves-no-leader", "controlled-shutdown"): (
        "with KRaft a broker waits for leave to end until its leaderships are moved. So this one never ends by itself, "
        "and is killed after 30 s. leader-moved-before-shutdown is contradicted, but the clean stop itself was none, "
        "and that doubt is put first. On 2.8.2 a broker leaves ZooKeeper 3 s before its process ends, and the "
        "leader that was elected for that passed for one that was moved. Since then the controller's own line counts, "
        "and tells."
    ),
    ("dead-broker-not-fenced", "offline-leader-election"): (
        "on 2.8.2 the dead leader was named and not registered, so nobody was held to what a client waits for, and the "
        "harness failed. Since then a leader that is named and dead is no leader (`no-leader`), which tells."
    ),
    ("isr-never-grows", "isr-shrink-expand"): (
        "on 2.8.2 the first run came to its limit of 400 s on a busy machine, before it was judged; the second tells."
    ),
    ("reassignment-never-ends", "reassignment"): (
        "on 2.8.2 the first run came to its limit of 400 s on a busy machine, before it was judged; the second tells."
    ),
    ("halts-at-second-leadership", "replica-divergence"): (
        "no broker led twice within one life of its process; the mutant has since been changed to remember."
    ),
    ("preferred-election-ignored", "preferred-leader-election"): (
        "the wait for the preferred leader was the sequence's own, and a wait that ends in vain was a failure of the "
        "harness; the scenario now holds it against Kafka where that replica is alive and in the ISR."
    ),
    ("elections-late", "offline-leader-election"): (
        "on 2.8.2 the leader was replaced 8.6 s after its death, and leader-replaced-in-time allowed 8.7 s, however "
        "long the session had lasted. Since then an election has 4.5 s from the end of the session on, and "
        "`leader-crash` is held to that too and tells."
    ),
    ("dead-broker-not-fenced", "leader-crash"): (
        "after 60 s the dead leader was still named and registered, and the wait for another took that for a partition "
        "that is led. This was a failure of the harness, and the run waited until its limit of time. Since then it "
        "counts as Kafka's fault: the second run found it undone, but its limit of 170 s ended it before the packet "
        "filters were read, and that doubt touches everything. `offline-leader-election` tells."
    ),
    ("commits-dropped", "exactly-once"): (
        "on 2.8.2 a request for the dropped offset gets a time-out and no other answer: group-unavailable. "
        "The right reasons name another offset than the acknowledged one."
    ),
    ("isr-never-grows", "follower-isolated"): "the run was ended by the limit of time while it waited.",
}
"""Why a mutant is not noticed in a scenario that reaches it, by both names: what the run showed, and the source."""
NO_ROW: Final = {
    "20261127t104402-replica-divergence-2-8-2-s1-20b8": "halts-at-second-leadership in replica-divergence on 2.8.2, "
    "which was noticed (broker-exit)"
}
"""Judged runs of a clean tree that have a line in the ledger and no row, and what they are."""
LONGEST: Final = 180


def page(every: Sequence[Row], suite: Sequence[Where]) -> str:
    """The page of these runs; `suite` are the runs of the default suite."""
    out = [
        "# Mutants: would it notice a broken Kafka?",
        "",
        "Made by `make mutants` from `results/mutants.csv`. Each mutant is a released broker of which one",
        "method was changed by a Java agent when its class was loaded (`tests/mutants/`). It is run in ordinary",
        "scenarios, and judged by what is documented of Kafka.",
        "",
        f"- **{NOTICED}**: the verdict is *unexpected*, and a right reason is named: an anomaly, a claim or a duty",
        "  that is about what was broken.",
        f"- **{OTHERWISE}**: the verdict is *unexpected*, for other reasons.",
        f"- **{MISSED}**: the brokers did other than Kafka, and the verdict is another one.",
        f"- **{NOT_REACHED}**: they never did: such a run says nothing about the harness.",
        "",
        "## How many",
        "",
        "| release | mutants | run | reached | noticed by any run, of these | by the default suite, of all |",
        "|---|---:|---:|---:|---:|---:|",
        *(share(release, [row for row in every if row.version == release], suite) for release in RELEASES),
        "",
        *(elsewhere(release, [row for row in every if row.version == release], suite) for release in RELEASES),
        "",
        "Not every mutant was run in every part of the suite: its share is the least that it can be. No row of it asks",
        "for a preferred election or a reassignment, so it cannot notice that they are not carried out.",
        "`exactly-once`, `isr-shrink-expand`, `lost-acknowledgement` with idempotence and `steady-load` came into it",
        "for mutants.",
        "Right reasons were added after a first run had named them: `stuck-isr` of epoch-not-raised (brokers take no",
        "election up whose epoch they know already), and records that readers are not given of markers-dropped and",
        "commit-marked-as-abort. The judge was made stricter in answer to misses: it times an election from the end of",
        "the session (elections-late), and holds a dead leader that is still named against Kafka",
        "(dead-broker-not-fenced). The machine was busy with other work: times are of no account.",
        "",
        "Some runs of 4.3.1 have no row. The checkout of 14 was changed while they ran. Those of one round did not",
        "come to their end. The directory of one was taken by another run, and Java refused the changed class of one.",
        "There were two runs of dead-broker-not-fenced in leader-crash: the harness crashed in one (mended since), and",
        "one was ended by hand. Two runs of exactly-once on 2.8.2 that were not reached are errors of the",
        "harness, mended too.",
        "",
        f"One judged run has a line in the ledger and no row, and nobody knows why: {'; '.join(NO_ROW.values())}.",
        "Rows of baseline (steady) are of before 2026-11-28: that case is the scenario `steady-load` since.",
        "",
    ]
    for release in RELEASES:
        of_release = [row for row in every if row.version == release]
        if of_release:
            out += [f"## On {release}", "", *mutants_table(release, of_release), ""]
    out += ["## Why the rest does not", "", *whys(every), ""]
    out += ["## Every run", "", *runs_table(every), ""]
    return "\n".join(out)


def share(release: str, of_release: Sequence[Row], suite: Sequence[Where]) -> str:
    """A line: how many mutants of a release were noticed."""
    mutants = {mutant.name for mutant in MUTANTS if mutant.changes_on(release)}
    reached = {row.mutant for row in of_release if row.hits}
    noticed = {row.mutant for row in of_release if row.outcome == NOTICED}
    places = {(where.scenario, where.case) for where in suite}
    by_suite = {row.mutant for row in of_release if row.outcome == NOTICED and (row.scenario, row.case) in places}
    ran = len({row.mutant for row in of_release})
    return (
        f"| {release} | {len(mutants)} | {ran} | {len(reached)} | {of(len(noticed), len(reached))} | "
        f"{of(len(by_suite), len(mutants))} |"
    )


def elsewhere(release: str, of_release: Sequence[Row], suite: Sequence[Where]) -> str:
    """A line: which mutants were noticed on a release, though not by the suite, and which were not run there."""
    places = {(where.scenario, where.case) for where in suite}
    noticed = {row.mutant for row in of_release if row.outcome == NOTICED}
    by_suite = {row.mutant for row in of_release if row.outcome == NOTICED and (row.scenario, row.case) in places}
    in_suite = {row.mutant for row in of_release if (row.scenario, row.case) in places}
    names = [
        mutant.name + ("" if mutant.name in in_suite else " (not run in the suite)")
        for mutant in MUTANTS
        if mutant.name in noticed - by_suite
    ]
    return f"- Noticed on {release} and not by the suite: {', '.join(names) or 'none'}."


def of(count: int, whole: int) -> str:
    """A part of a whole.

    >>> of(3, 4), of(0, 0)
    ('3 of 4 (75 %)', 'not measured')
    """
    return f"{count} of {whole} ({100 * count // whole} %)" if whole else "not measured"


def last_of_each(every: Iterable[Row]) -> dict[tuple[str, str, str, str], list[Row]]:
    """The runs of each mutant, scenario, case and version, the oldest first: a run's name begins with its time."""
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in sorted(every, key=lambda row: row.run):
        found.setdefault(row.cell, []).append(row)
    return found


def mutants_table(release: str, of_release: Sequence[Row]) -> list[str]:
    """A line for each mutant of a release: who notices it, and as what."""
    lines = ["| mutant | what is broken | noticed by | as | not by |", "|---|---|---|---|---|"]
    for mutant in MUTANTS:
        if not mutant.changes_on(release):
            continue
        cells = [rows for rows in last_of_each(of_release).values() if rows[-1].mutant == mutant.name]
        by = [rows for rows in cells if rows[-1].outcome == NOTICED]
        others = [rows for rows in cells if rows[-1].outcome != NOTICED]
        said = dict.fromkeys(one for rows in by for one in told(rows[-1]))
        not_by = ", ".join(f"{rows[-1].what} ({rows[-1].outcome})" for rows in others)
        lines.append(
            f"| {mutant.name} | {mutant.broken} | {', '.join(map(counted, by)) or '–'} | {', '.join(said) or '–'} | "
            f"{not_by or ('–' if cells else 'not run')} |"
        )
    return lines


def counted(rows: Sequence[Row]) -> str:
    """A cell's name, and how many of its runs noticed the mutant if there are several."""
    noticed = sum(row.outcome == NOTICED for row in rows)
    return rows[-1].what + (f" ({noticed} of {len(rows)} runs)" if len(rows) > 1 else "")


def whys(every: Iterable[Row]) -> list[str]:
    """A line for each mutant that a run reached and did not notice, and for each that is named and was not run."""
    lines = []
    for rows in last_of_each(every).values():
        row = rows[-1]
        if row.outcome in (MISSED, OTHERWISE):
            why = WHY.get((row.mutant, row.scenario), "not looked into yet")
            lines.append(f"- **{row.mutant}** in {row.what} on {row.version} ({row.verdict}): {why}")
    return lines or ["Nothing that was reached is missed."]


def runs_table(every: Iterable[Row]) -> list[str]:
    """A line for each run."""
    lines = [
        "| mutant | scenario | release | hits | outcome | verdict | what it said first | s | commit |",
        "|---|---|---|---:|---|---|---|---:|---|",
    ]
    order = {mutant.name: number for number, mutant in enumerate(MUTANTS)}
    for row in sorted(
        every, key=lambda row: (RELEASES.index(row.version), order.get(row.mutant, 99), row.what, row.run)
    ):
        first = row.reasons[0].replace("|", "\\|") if row.reasons else ""
        first = first if len(first) <= LONGEST else first[: LONGEST - 1] + "…"
        ended = "" if row.ended == "complete" else f" ({row.ended})"
        lines.append(
            f"| {row.mutant} | {full_name(row.scenario, row.case)} | {row.version} | {row.hits} | {row.outcome} | "
            f"{row.verdict}{ended} | {first} | {row.seconds} | {row.commit} |"
        )
    return lines
