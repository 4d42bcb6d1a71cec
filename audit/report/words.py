"""The sentences that all reports share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from audit.cells import FAULTS, LAST_DISK_LOST, LAST_REPLICA, POWER_LOSS, UNDER_LOAD
from audit.defaults import FOREVER, product
from audit.grade import (
    LOSE_NOTHING,
    NOT_MEASURED,
    ORDER,
    REFUSED,
    REFUSED_SENDS,
    AuditAnswer,
    Breach,
    Cost,
    Fix,
    MeasuredHarm,
    ProducerCase,
    ProducerRow,
    SettingChange,
)
from audit.model import InputProblem, Origin
from audit.proof import HARM, Proof, contradicts
from audit.resolve import Value, World, conditions
from audit.topics import IF_THREE, with_one_replica
from evidence.basis import OWN_RUNS, Basis
from evidence.text import plural
from results import MEASURED_ON, RATE_PER_S

VERB = {"loss": "loses", "duplicate": "duplicates", "reorder": "reorders"}
NOUN = {"loss": "losses", "duplicate": "duplicates", "reorder": "reordering"}


RUN = {"pinned": " (an upgrade never finished)", "kraft": " (KRaft)", "zk3": " (ZooKeeper)"}


def grade(case: ProducerCase | Fix) -> str:
    """The grade, with "at best" where a fault that could make it worse is not measured."""
    told = {NOT_MEASURED: "not measured", REFUSED: "refused"}.get(case.grade, case.grade)
    return f"{told} at best" if case.at_best else told


def row_grade(row: ProducerRow) -> str:
    """What is certain, and what is possible: "F", "A to F"."""
    if row.certain:
        return grade(row.shown)
    told = {NOT_MEASURED: "not measured", REFUSED: "refused"}
    best, worst = row.best.grade, row.worst.grade
    return f"{told.get(best, best)} to {told.get(worst, worst)}"


def producer(case: ProducerCase) -> list[tuple[str, str]]:
    """What the producer does, each with why: (what, why)."""
    one = case.resolved
    retries = "without end" if one.retries.value == FOREVER else str(one.retries.value)
    pairs: list[tuple[str, Any]] = [
        (f"acks={one.acks.value}", one.acks),
        (f"idempotence {'on' if one.idempotence.value else 'off'}", one.idempotence),
        (f"in flight {one.in_flight.value}", one.in_flight),
        (f"retries {retries}", one.retries),
    ]
    if one.delivery_timeout_ms.value is not None:
        limit = one.delivery_timeout_ms.value
        told = "without end" if limit == FOREVER else f"{limit} ms"
        pairs.append((f"delivery time-out {told}", one.delivery_timeout_ms))
    return [(what, _why(value, one.producer.origin)) for what, value in pairs]


def topic(case: ProducerCase) -> list[tuple[str, str]]:
    """What is in force for the topic, each with why."""
    one = case.topic
    pairs: list[tuple[str, Any]] = [
        (f"replication factor {one.replication_factor.value}", one.replication_factor),
        (f"min.insync.replicas {one.min_insync_replicas.value}", one.min_insync_replicas),
        (f"unclean elections {'on' if one.unclean.value else 'off'}", one.unclean),
        *([("a flush of each record", one.flush_each)] if one.flush_each.value else []),
        (
            f"brokers of {one.version.value}" + (f" ({one.line})" if one.line in ("pinned", "kraft") else ""),
            one.version,
        ),
    ]
    return [(what, _why(value, case.resolved.producer.origin)) for what, value in pairs]


def _why(value: Value[Any], home: Origin) -> str:
    """Where a value is written, or why it is so if it is written nowhere. `home` is the producer's place: its own file
    is not named again.
    """
    if value.origin is None:
        return value.why
    note = value.why.partition(", ")[2]
    return near(value.origin, home) + (f", {note}" if note else "")


def near(origin: Origin, home: Origin) -> str:
    """A place as it is told beside another one: "line 3" in the same file."""
    return f"line {origin.line}" if origin.path == home.path and origin.line is not None else str(origin)


def flat(pairs: Iterable[tuple[str, str]]) -> str:
    """Pairs in a line, what has the same reason together.

    >>> flat([("acks=1", "a:3"), ("in flight 5", "a default"), ("retries 0", "a default")])
    'acks=1 (a:3), in flight 5 and retries 0 (a default)'
    """
    groups: list[tuple[list[str], str]] = []
    for what, why in pairs:
        known = next((group for group in groups if group[1] == why), None)
        if known is not None:
            known[0].append(what)
        else:
            groups.append(([what], why))
    return ", ".join(f"{_and(whats)} ({why})" if why else _and(whats) for whats, why in groups)


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def evidence(finding: MeasuredHarm) -> str:
    """The measured cell behind a finding: "run r1, 2 of 2 did; measured on 2.2.2, asked for 2.4.1"."""
    seen = f"run {finding.run.run}" + (f"; {finding.times} of {finding.of} runs did this" if finding.of > 1 else "")
    return "; ".join([seen, *differs(finding), *_documented_nowhere(finding)])


def _documented_nowhere(finding: MeasuredHarm) -> tuple[str, ...]:
    """That nobody but our runs says that this may come of such settings."""
    stated = finding.covering.cell.stated
    return (f"documented nowhere, {OWN_RUNS} show it",) if stated.basis == Basis.MEASURED else ()


def differs(finding: MeasuredHarm) -> tuple[str, ...]:
    """What of the cell is not as asked for."""
    return finding.covering.differs


def where(finding: MeasuredHarm) -> str:
    """On what it was measured: "Kafka 2.8.2, kafka-clients 2.8.2"."""
    key, run = finding.covering.cell.key, finding.run
    return f"Kafka {key.version}, {product(key.client, run.client_release)}"


UNGRADED = {
    POWER_LOSS: "not in the grade, whatever the producer's settings: {} when all replicas lose power at one moment",
    LAST_REPLICA: "not in the grade: {} when the last replica in sync loses power and is back before the others",
}


def ungraded(finding: MeasuredHarm) -> str:
    """Harm that is no part of the grade."""
    return UNGRADED[finding.fault].format(finding.sentence)


def against_power_loss(case: ProducerCase) -> str:
    """What to change against it, and what that costs."""
    told = [
        f"{fix(case, one)}; {costs(one) or 'what it costs is not measured often enough'}"
        for one in (case.flushed, case.eligible)
        if one is not None
    ]
    return f"change {'; or '.join(told)}" if told else "no measured change removes it"


HARMED = {"loses": "lost", "duplicates": "written twice", "reorders": "reordered"}


def proved(case: ProducerCase) -> list[str]:
    """What was proved of a producer, a sentence for each fault, and what was not as configured."""
    if case.proved is None:
        return []
    return [_proof(case, one) for one in case.proved.proofs] + list(case.proved.notes)


def _proof(case: ProducerCase, one: Proof) -> str:
    where = f"; {one.run_dir}" if one.run_dir else ""
    if one.run is None:
        return f"{one.fault}: not measured: {one.why_not}{where}"
    counts = [f"{number} {HARMED[name]}" for name, count in HARM.items() if (number := getattr(one.run, count))]
    what = f"of {one.run.acknowledged} acknowledged records {_and(counts or ['none was harmed'])}"
    agrees = agreement(case, one)
    stated = "" if one.as_stated else "; not as stated beforehand"
    return "; ".join([f"{one.fault}: {what} ({agrees}{stated}; run {one.run_dir})", *one.differs])


def agreement(case: ProducerCase, one: Proof) -> str:
    """How a proof and the matrix stand to each other."""
    cell = case.measured.get(one.fault)
    if cell is None:
        return "the matrix has no such cell"
    against = contradicts(one, cell)
    if not against:
        return "as the matrix has it"
    runs = len(cell.cell.runs)
    told = [f"{name} in {cell.cell.times(name)} of {runs} runs" for name in against]
    return f"THE MATRIX HAS IT OTHERWISE: {', '.join(told)}"


def fix(case: ProducerCase, one: Fix) -> str:
    """What to change, what it removes and what it leaves or brings, in a line."""
    changes = " and ".join(_change(change, case.resolved.producer.origin) for change in one.changes)
    changes += _implied(case, one)
    removed = one.effects
    if one.leaves:
        left = sorted({finding.fault for finding in one.leaves})
        total = len(one.removes) + len(one.leaves)
        sentence = f"{changes}: removes {len(one.removes)} of {total} findings, leaves {', '.join(left)}"
    else:
        sentence = f"{changes}: removes the {_and([NOUN[each] for each in removed])}"
        if not any(finding.graded for finding in one.removes):
            sentence += f" by {_and(sorted({finding.fault for finding in one.removes}))}"
    remains = f", for {one.remains}" if one.remains else ""
    sentence += f" (then {grade(one)}{_if_three(case, one)}{remains})"
    if one.brings:
        brought = sorted({f"{NOUN[finding.effect]} by {finding.fault}" for finding in one.brings})
        sentence += f"; brings {', '.join(brought)}"
    if one.refuses:
        sentence += f"; records are refused in {', '.join(one.refuses)}"
    return sentence


def _if_three(case: ProducerCase, one: Fix) -> str:
    """On what the promise of a change rests, if the topic's replicas are assumed."""
    assumed = one.grade in LOSE_NOTHING and with_one_replica(case.topic) is not None
    return f" if {IF_THREE}" if assumed else ""


def _implied(case: ProducerCase, one: Fix) -> str:
    """What else a change does, if that is why it helps: idempotence asks for acks=all."""
    keys = {change.key for change in one.changes}
    implied = "enable.idempotence" in keys and "acks" not in keys and str(case.resolved.acks.value) != "all"
    return " (which implies acks=all)" if implied else ""


def _change(change: SettingChange, home: Origin) -> str:
    return f"{change.label} ({near(change.origin, home)})" if change.origin else change.label


def harmless(case: ProducerCase) -> str:
    """The faults that were measured and did no harm, in how many runs, with what is not as it was asked for."""
    differs = dict.fromkeys(text for name in case.harmless for text in case.covered[name].differs)
    by_runs: dict[int, list[str]] = {}
    for name in case.harmless:
        by_runs.setdefault(len(case.covered[name].cell.runs), []).append(name)
    told = (
        f"{', '.join(names)} (in {plural(runs, 'run')}{' each' if len(names) > 1 else ''})"
        for runs, names in sorted(by_runs.items(), reverse=True)
    )
    return "; ".join(told) + (f" ({'; '.join(differs)})" if differs else "")


def refused_sends(breaches: Sequence[Breach]) -> str:
    """The sends that failed for good and that the policy grades, in a line: "F: sends fail for good by rack-lost"."""
    by_letter: dict[str, list[str]] = {}
    for one in breaches:
        by_letter.setdefault(one.letter, []).append(one.fault.removeprefix(REFUSED_SENDS))
    first, *others = (f"{letter}: {_and(faults)}" for letter, faults in by_letter.items())
    return "; ".join([first.replace(": ", ": sends fail for good by ", 1), *others])


def refuses(case: ProducerCase) -> str:
    """The faults in which sends failed for good, in a line; empty if there is none."""
    return "; ".join(
        f"{one.fault}: {one.failed} of {one.sent} sends, for good "
        f"(run {one.run}; {one.times} of {one.of} runs did this)"
        for one in case.refusals
    )


def measured_with(case: ProducerCase) -> str:
    """Under what load and with what time-outs harm was measured; empty where neither matters to what was found."""
    harmful = {one.fault for one in case.findings} | {one.fault for one in case.refusals}
    if not harmful & (UNDER_LOAD | {"time-out"}):
        return ""
    loaded = sorted(harmful & UNDER_LOAD)
    load = f"{RATE_PER_S:.0f} records a second of this producer in {_and(loaded)}, a dozen in all elsewhere"
    given = case.covered[(loaded or ["time-out"])[0]].cell.overrides
    times = ", ".join(f"{key}={value}" for key, value in sorted(given.items()) if key in LIMITS)
    own = case.resolved.delivery_timeout_ms.value
    told = f"; time-outs of the runs: {times}" if times else ""
    if told and own is not None and str(own) not in given.values():
        told += f" (a delivery time-out of {'no end' if own == FOREVER else f'{own} ms'} was not measured)"
    return (load if loaded else "a dozen records of this producer") + told


LIMITS: Final = ("delivery.timeout.ms", "message.timeout.ms", "request.timeout.ms")


def not_measured(case: ProducerCase, most: int = 6) -> str:
    """The faults without a cell: by name if they are few, else how many of how many."""
    names = case.not_measured
    if len(names) == len(case.applies):
        return "every fault"
    return ", ".join(names) if len(names) <= most else f"{len(names)} of {len(case.applies)} faults"


ENOUGH: Final = 5
"""Runs without a fault that it takes to say what a change costs."""


def costs(one: Fix) -> str:
    """What a change costs, from the same cells without a fault: medians, the least and the most. Empty if fewer than
    `ENOUGH` runs measured it: the same cell differs from run to run by more than most changes do.
    """
    if one.before is None or one.after is None or min(len(one.before.runs), len(one.after.runs)) < ENOUGH:
        return ""
    names = {
        "latency_p50_ms": ("median latency", "ms"),
        "latency_p99_ms": ("99th percentile", "ms"),
        "records_per_s": ("throughput", "records/s"),
    }
    return ", ".join(
        f"{what} {_spread(one.before, name)} → {_spread(one.after, name)} {unit}"
        for name, (what, unit) in names.items()
        if name in one.before.spread and name in one.after.spread
    )


def _spread(cost: Cost, name: str) -> str:
    least, most = cost.spread[name]
    return f"{number(getattr(cost, name))} ({number(least)} to {number(most)})"


def cost_runs(cost: Cost | None) -> str:
    """The runs that a cost comes from."""
    return "" if cost is None else ", ".join(cost.runs)


def number(value: float) -> str:
    """A measured number with no more digits than it deserves.

    >>> number(41234.5), number(2.14), number(0.034)
    ('41 234', '2.1', '0.034')
    """
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def summary(answer: AuditAnswer) -> str:
    """How many have which grade, in a sentence."""
    count = len(answer.rows)
    ordered = sorted(answer.rows, key=lambda row: -ORDER.index(row.grade))
    graded = ", ".join(f"{number} × {letter}" for letter, number in Counter(row_grade(r) for r in ordered).items())
    pairs = "producer and topic" if count == 1 else "pairs of producer and topic"
    return f"{count} {pairs}: {graded}"


def measured(answer: AuditAnswer) -> str:
    """What the answers stand on."""
    if not answer.cells:
        return "nothing is measured yet: results/audit has no cells, `make audit-matrix` measures them"
    return f"looked up in {answer.cells} measured cells, {answer.runs} runs"


FEW: Final = 3
"""Up to so many remarks on releases that are not told each is told by itself."""


def remarks(problems: Sequence[InputProblem]) -> list[str]:
    """Problems as sentences; of releases that are not told, if they are many, one."""
    untold = [one for one in problems if one.kind == "release" and "is not told" in one.message]
    if len(untold) <= FEW:
        return [str(one) for one in problems]
    first = untold[0]
    folded = f"{first.origin} and {len(untold) - 1} more: the client's release is not told: say it with --client"
    return [*(str(one) for one in problems if one not in untold), folded]


def passed_over(answer: AuditAnswer) -> str:
    """What was not read, counted by reason; empty if nothing was."""
    told = ", ".join(f"{count} {reason}" for reason, count in answer.ignored.items())
    return f"passed over: {told}" if told else ""


def headline(row: ProducerRow) -> str:
    """Whose it is and the reason for its grade."""
    return f"{row.name}: {row_grade(row)}: {row.reason}"


def fault(name: str) -> str:
    """What a fault does."""
    return FAULTS.get(name, "")


def alternatives(row: ProducerRow) -> list[tuple[str, ProducerCase]]:
    """The cases of a row that end differently, each with all the conditions under which it holds; what is certain
    first.
    """
    groups: dict[tuple[object, ...], list[ProducerCase]] = {}
    for case in row.cases:
        ends = tuple((one.effect, one.fault, one.count) for one in case.every_finding)
        groups.setdefault((case.grade, case.at_best, ends, case.not_measured, case.proved), []).append(case)
    shown = row.shown
    ordered = sorted(groups.values(), key=lambda cases: shown not in cases)
    told = []
    for cases in ordered:
        first = shown if shown in cases else cases[0]
        told.append((_conditions(cases) if len(groups) > 1 else "", first))
    return told


def _conditions(cases: Sequence[ProducerCase]) -> str:
    """What several cases have in common of what was not told: of the producer, and of the topic's replicas."""
    worlds_of: dict[str, list[World]] = {}
    for case in cases:
        worlds_of.setdefault(case.topic.provided, []).extend(case.resolved.worlds)
    told = (" and ".join(filter(None, (conditions(worlds), if_so))) for if_so, worlds in worlds_of.items())
    return "; or ".join(filter(None, told))


OWN_SCENARIOS = frozenset({"follower-reboot"})
"""Faults that are measured of some topics only, and scenarios of their own, which run with any client."""

NEED_UNCLEAN_ELECTIONS = frozenset({"shrunk-isr-crash", LAST_REPLICA, LAST_DISK_LOST})
"""The faults that are measured of topics with unclean elections."""


def commands(case: ProducerCase) -> tuple[str, ...]:
    """What measures the faults that have no cell for these settings, on their line of versions."""
    if case.topic.replication_factor.value < case.topic.min_insync_replicas.value:
        return ()  # a topic that acks=all cannot write to is measured by nothing
    version = MEASURED_ON[case.topic.line]
    unclean = case.topic.unclean.value and case.topic.replication_factor.value > 1
    others = [fault for fault in case.not_measured if fault not in OWN_SCENARIOS]
    together = [fault for fault in others if not unclean or fault in NEED_UNCLEAN_ELECTIONS]
    told = [f'make audit-matrix FAULT="{" ".join(together)}" VERSION={version}'] if together else []
    if own := [fault for fault in others if fault not in together]:
        told.append(f"kafka-chaos audit PATH… --prove --faults {','.join(own)}")
    own_scenarios = [fault for fault in case.not_measured if fault in OWN_SCENARIOS]
    run = f"kafka-chaos run {{}} --version {version} --client {case.resolved.client}"
    if len(own_scenarios) == 1:
        told.append(run.format(*own_scenarios))
    elif own_scenarios:
        told.append(f"{run.format('FAULT')}, FAULT being {', '.join(own_scenarios)}")
    return tuple(told)
