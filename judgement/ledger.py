"""What the ledger is told of a judged run (evidence/ledger.py): its verdict, what was seen and what was measured."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Final

from evidence import ledger
from evidence.events import Acked, Machine, of
from evidence.ledger import ClaimLine, RunJudged, Throughout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evidence.events import Event
    from judgement.report.facts import JudgedRun

MS_NS: Final = 1e6


def judged(one: JudgedRun) -> RunJudged:
    """The line of a verdict."""
    run, verdict = one.run, one.verdict
    anomalies: Counter[str] = Counter()
    for finding in one.everything_found:
        anomalies[finding.anomaly] += finding.count
    outcome, figures = verdict.outcome, verdict.availability
    return RunJudged(
        schema=ledger.SCHEMA,
        run=run.run,
        at=ledger.now(),
        verdict=verdict.verdict,
        reasons=tuple(ledger.without_machine_paths(reason, run.run) for reason in verdict.reasons),
        sound=verdict.sound,
        text=ledger.without_machine_paths(outcome.text, run.run) if outcome else "",
        acknowledged=outcome.acknowledged if outcome else None,
        lost=outcome.lost if outcome else 0,
        unread=outcome.unread if outcome else 0,
        anomalies=dict(anomalies),
        permitted=tuple(dict.fromkeys(text.partition(": ")[0] for text in verdict.permitted)),
        unexpected=verdict.unexpected,
        missing=verdict.missing,
        claims=tuple(
            ClaimLine(name=each.name, outcome=each.outcome, measured_ms=each.measured_ms, bound_ms=each.bound_ms)
            for each in verdict.claims
        ),
        write_pause_ms=_most(figure.write_pause_ms for figure in figures),
        read_pause_ms=_most(figure.read_pause_ms for figure in figures),
        first_success_ms=_most(figure.first_success_ms for figure in figures),
        errors=max((figure.errors for figure in figures), default=None),
        ack_ms=_median_ack_ms(one),
        latency_p50_ms=_most(pace.latency_p50_ms for pace in verdict.paces),
        latency_p99_ms=_most(pace.latency_p99_ms for pace in verdict.paces),
        inputs_per_s=min((pace.inputs_per_s for pace in verdict.paces), default=None),
        throughout=_throughout(one.events),
        seconds=round(verdict.seconds, 1),
        documented=ledger.digest(run.documented),
        manifest=verdict.manifest,
    )


def tell(one: JudgedRun) -> None:
    """Enter a verdict in the ledger of the folder that the run lies in, if that run was entered there.

    A run that was copied elsewhere, or made before there was a ledger, has none to be entered in. Raises OSError.
    """
    path = one.run_dir.path.resolve().parent / ledger.FILE
    if path.exists():
        ledger.append(path, judged(one))


def _throughout(events: Iterable[Event]) -> Throughout | None:
    """How the machine was in the whole run; the busiest, should several be told. None if the timeline does not say."""
    told = max(of(events, Machine), key=lambda each: each.cpu, default=None)
    if told is None:
        return None
    shares = {name: round(100 * getattr(told, name), 1) for name in ("cpu", "memory", "io", "steal")}
    return Throughout(seconds=told.seconds, late_ms=told.late_ms, **shares)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _median_ack_ms(one: JudgedRun) -> float | None:
    """The median time that an acknowledgement took of the records that were sent one by one; None if there is none."""
    times = [
        (sent.completed_ns - sent.invoked_ns) / MS_NS
        for sent in of(one.events, Acked)
        if sent.outcome == "ok" and sent.completed_ns is not None and sent.invoked_ns is not None
    ]
    return round(median(times), 2) if times else None
