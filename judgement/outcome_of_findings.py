"""The outcome of a run (judgement/outcome.py), made of its findings.

It is made of findings alone. That nothing is lost is said only if the check for it ran in a sound run, else that it is
not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from checks.catalogue import CATALOGUE, HISTORIES, LOST_WRITE, UNSEEN, consequence, permitted
from evidence.findings import Finding, Findings
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.text import plural
from judgement.outcome import BAD, GOOD, UNCERTAIN, RunOutcome, Tone, worst

DIVERGENCE: Final = "replica-divergence"


def of_findings(
    run: RunRecord,
    findings: Findings | None,
    run_state: RunState | None = None,
    *,
    sound: bool,
    unsupported: Sequence[Finding] = (),
) -> RunOutcome:
    """The outcome of a run from run.json, findings.json and what held when (None: nobody knows); pure.

    Only of a `sound` run, one whose verdict is in no doubt, is it said that nothing was lost. `unsupported` findings
    depend on files that other evidence contradicts: that they were made is all that is said.
    """
    if findings is None:
        return RunOutcome(text="not known what became of the records: there are no findings", tone=UNCERTAIN)
    found = [finding for finding in findings.findings if not any(finding is one for one in unsupported)]
    acknowledged, checked = findings.acknowledged, findings.passed(LOST_WRITE)
    lost, unread, offsets = _total(found, LOST_WRITE), _total(found, UNSEEN), _diverged(found)
    parts = [_records(acknowledged, lost, unread, known=sound and checked)]
    kept = parts[0][0] == GOOD
    if offsets:
        parts.append((BAD, f"replicas disagree at {plural(offsets, 'offset')}"))
    parts += _others(run, found, findings.findings, run_state)
    if unsupported:
        names = ", ".join(sorted({finding.anomaly for finding in unsupported}))
        parts.append((UNCERTAIN, f"{names} in files that other evidence contradicts"))
    return RunOutcome(
        text="; ".join(text for _, text in parts),
        tone=worst(tone for tone, _ in parts),
        acknowledged=acknowledged,
        lost=lost,
        unread=unread,
        diverged_offsets=offsets,
        kept=kept,
    )


def _total(found: Iterable[Finding], anomaly: str) -> int:
    return sum(finding.count for finding in found if finding.anomaly == anomaly)


def _diverged(found: Iterable[Finding]) -> int:
    """The number of offsets at which replicas differ; evidence has a row for each moment, and may be cut short."""
    return sum(
        len({row.offset for row in finding.evidence}) if finding.evidence and finding.whole else finding.count
        for finding in found
        if finding.anomaly == DIVERGENCE
    )


def _records(acknowledged: int | None, lost: int, unread: int, *, known: bool) -> tuple[Tone, str]:
    """The text about the acknowledged records, and its tone."""
    missing = [(lost, "LOST"), (unread, "not read back")]
    if lost or unread:
        of_all = f" of {plural(acknowledged, 'acknowledged record')}" if acknowledged else " acknowledged"
        first, *more = [(f"{number:,}".replace(",", " "), what) for number, what in missing if number]
        also = "".join(f", {number} {what}" for number, what in more)
        return BAD if lost else UNCERTAIN, f"{first[0]}{of_all} {first[1]}{also}"
    if acknowledged is None:
        return (
            (GOOD, "every acknowledged record kept") if known else (UNCERTAIN, "not known what became of the records")
        )
    records = plural(acknowledged, "acknowledged record")
    if not acknowledged:
        return UNCERTAIN, "no record was acknowledged"
    if not known:
        return UNCERTAIN, f"not known: {records}, none seen lost"
    return GOOD, f"all {records} kept" if acknowledged > 1 else f"{records} kept"


def _others(
    run: RunRecord, found: Sequence[Finding], everything: Sequence[Finding], run_state: RunState | None
) -> list[tuple[Tone, str]]:
    """What else was found, but for what is a loss seen from another side (one of `everything`), and for what concerns
    no record and Kafka permits.
    """
    counts: dict[tuple[Tone, str], int] = {}
    for finding in found:
        name = finding.anomaly
        if name in (LOST_WRITE, UNSEEN, DIVERGENCE) or consequence(finding, everything, {LOST_WRITE}):
            continue
        excused = permitted(run, finding, run_state) is not None
        of_records = name not in CATALOGUE or CATALOGUE[name].seen_in.startswith(HISTORIES)
        if of_records or not excused:
            key: tuple[Tone, str] = (UNCERTAIN if excused else BAD, name)
            counts[key] = counts.get(key, 0) + finding.count
    return [(tone, f"{name} × {count}" if count > 1 else name) for (tone, name), count in counts.items()]
