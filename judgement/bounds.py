"""Where and when a documented anomaly may be seen: in the run's own topics, at offsets that a fault can have touched,
and since the first fault.

A name alone is no bound. What happened before the first fault has another cause. A record that is there twice, or out
of order, was in flight when something happened, as where it is permitted and not documented (checks/disturbances.py).
Nothing at all is documented of a producer that sends beside a load to be held to idempotence. An input that is
processed again was handed over as often. A divergence in a topic that the scenario does not have is another divergence.
One at an offset that lay below the high watermark of every replica before anything happened has another cause: no
election and no truncation reaches so far. A high watermark goes back where a replica leads that had less, or truncates:
once for each, and never while one leader leads. Losses have closer bounds of their own (judgement/losses.py).

Faults that damage files, take what no disk has, or move a clock may do harm at any offset. A run with one of them has
no bound of offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final

from checks.catalogue import INCONSISTENT_OFFSETS, REPLICA_DIVERGENCE
from checks.disturbances import AFTER_NS, disturbances, flights, senders_of
from checks.excuses import handed_as_often
from evidence.events import Log, of
from evidence.faults.base import FaultProof
from evidence.faults.clients import WithheldProof
from evidence.faults.process import PowerLossProof
from evidence.findings import Finding, Row
from evidence.own_ends import MAY_END_IT
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.spans import overlap, widened
from evidence.text import plural
from judgement.losses import floors

OF_SENDS: Final = frozenset({"duplicate", "nonmonotonic-send", "internal-nonmonotonic-send"})
REPEATED_PROCESSING: Final = "repeated-processing"
HAPPENED: Final[Mapping[str, Callable[[Row], int | None]]] = {
    "aborted-read": attrgetter("completed_ns"),
    "resurrected": attrgetter("completed_ns"),
    "stale-commit-accepted": attrgetter("invoked_ns"),
}
"""When it happened by a row of evidence, of anomalies whose rows do not say it as `at_ns`: a record was read, or an
offset sent."""
OF_OFFSETS: Final = frozenset({INCONSISTENT_OFFSETS, REPLICA_DIVERGENCE})
"""Anomalies whose rows name the offset at which replicas, or readers, disagree."""
REACHES_EVERYTHING: Final[tuple[type[FaultProof], ...]] = (*MAY_END_IT, PowerLossProof)
HIGH_WATERMARK_REGRESSION: Final = "high-watermark-regression"
INTERNAL: Final = "__"
"""How the names of Kafka's own topics begin. A fault strikes them too."""


def out_of_bounds(run: RunRecord, run_state: RunState, finding: Finding) -> str | None:
    """Why what is documented of the run does not cover a finding of that name; None if it does."""
    topics = {topic.name for topic in run.topics}
    if finding.topic is not None and topics and finding.topic not in topics and not finding.topic.startswith(INTERNAL):
        return f"{finding.place} is no partition of the scenario's"
    if times := _before_any_fault(run_state, finding):
        return f"{plural(times, 'time')} before the first fault"
    if finding.anomaly in OF_SENDS:
        return _sent_without_reason(run, run_state, finding)
    if finding.anomaly == REPEATED_PROCESSING:
        often = [row.offset for row in finding.evidence if not handed_as_often(row)]
        return f"{plural(len(often), 'input')} more often than a member was given them" if often else None
    if finding.anomaly == HIGH_WATERMARK_REGRESSION:
        return _unexplained(run_state, finding)
    if finding.anomaly not in OF_OFFSETS or any(
        issubclass(fault.proof_type, REACHES_EVERYTHING) for fault in run_state.faults
    ):
        return None
    untouched = max((one.offset for one in floors(run_state, finding.where) if one.begin_ns == 0), default=0)
    early = [row.offset for row in finding.evidence if row.offset is not None and row.offset < untouched]
    if not early:
        return None
    return f"offset {min(early)} lay below every replica's high watermark before anything happened"


def _before_any_fault(run_state: RunState, finding: Finding) -> int:
    """How often it happened before the run's first fault; 0 of a run without one."""
    first_ns = min((fault.inject_ns for fault in run_state.faults), default=0)
    told = (HAPPENED.get(finding.anomaly, attrgetter("at_ns"))(row) for row in finding.evidence)
    return sum(at_ns is not None and at_ns < first_ns for at_ns in told)


def _sent_without_reason(run: RunRecord, run_state: RunState, finding: Finding) -> str | None:
    """Why nothing explains that records are there twice or out of order; None if something does, for each."""
    if beside := run.beside & senders_of(finding):
        return f"{', '.join(sorted(beside))} sends beside the load, to be held to idempotence"
    # One answer that is withheld strikes no node, and the client sends again.
    withheld = ((fault.inject_ns, fault.until_ns) for fault in run_state.faults if fault.proof_type is WithheldProof)
    times = disturbances(run, run_state, finding.where, senders_of(finding)) + widened(withheld, 0, AFTER_NS)
    without = sum(not any(overlap(one, time) for one in flights(row) for time in times) for row in finding.evidence)
    return f"{plural(without, 'record')} not in flight when something happened" if without else None


def _unexplained(run_state: RunState, finding: Finding) -> str | None:
    """Why elections do not explain that a partition's high watermark went back; None if they do (Kafka documentation,
    Design: unclean leader election; KIP-101).
    """
    states = run_state.states.get(finding.where, ()) if finding.where is not None else ()
    elected = {state.leader_epoch: state.at_ns for state in reversed(states)}
    if states:
        del elected[states[0].leader_epoch]
    for row in finding.evidence:
        if _epoch(row, "before") is not None:
            return "it went back while one leader led"
        if _epoch(row, "after") not in elected:
            return "no leader had been elected since"
    cut = [
        one
        for one in of(run_state.events, Log)
        if one.event == "truncate" and (one.topic, one.partition) == finding.where
        if one.at_ns >= min(elected.values(), default=one.at_ns + 1)
    ]
    owed = len(elected) + len(cut)
    return f"{owed} replicas began to lead or truncated" if finding.count > owed else None


def _epoch(row: Row, side: str) -> int | None:
    """The leader epoch of what was announced before, or after; None of what a reader was given."""
    found: int | None = row.detail.get(side, {}).get("leader_epoch")
    return found
