"""The sentence at the top of a report: what the run showed."""

from __future__ import annotations

import re

from checks.catalogue import consequence
from evidence.basis import OWN_RUNS, Basis
from evidence.findings import Finding
from evidence.run_state import acks_text
from judgement.outcome import RunOutcome
from judgement.outcome_of_findings import of_findings
from judgement.report.facts import JudgedRun
from judgement.report.steps import brokers_in, join
from judgement.verdict import ERROR, UNKNOWN


def outcome(facts: JudgedRun) -> RunOutcome:
    """What became of the records: as the verdict has it, or from the findings where it was given without them."""
    given, findings = facts.verdict, facts.findings
    sound = given.verdict not in (UNKNOWN, ERROR) and not (findings is not None and findings.problems)
    return given.outcome or of_findings(facts.run, findings, sound=sound)


def _what_was_seen(facts: JudgedRun) -> str:
    diverged = [_diverged(finding) for finding in facts.found("replica-divergence")]
    return "; ".join([*_lost(facts), *diverged, *_others(facts)])


def _lost(facts: JudgedRun) -> list[str]:
    """The lost records: the one, where it lay and how it was acknowledged, or how many."""
    total = sum(finding.count for finding in facts.found("lost-write"))
    rows = [(finding, row) for finding in facts.found("lost-write") for row in finding.evidence if row.records]
    if total == 1 and rows:
        finding, row = rows[0]
        at = f" at offset {row.offset} of {finding.place}" if row.offset is not None else f" on {finding.place}"
        name = facts.record_name(row.records[0].producer, row.records[0].sequence)
        return [f"{name}, acknowledged with acks={acks_text(row.acks)}{at}, is gone"]
    return [f"{total:,} acknowledged records are gone".replace(",", " ")] if total else []


def _diverged(finding: Finding) -> str:
    offsets = sorted({row.offset for row in finding.evidence if row.offset is not None})
    brokers = join(brokers_in(finding.evidence))
    if len(offsets) == 1:
        return f"{brokers} hold different records at offset {offsets[0]} of {finding.place}"
    return f"{brokers or 'replicas'} hold different records at {finding.count} offsets of {finding.place}"


def _others(facts: JudgedRun) -> list[str]:
    """Other findings that are neither permitted nor a loss seen from another side."""
    every, permitted = facts.everything_found, {one.partition(": ")[0] for one in facts.verdict.permitted}
    return [
        finding.named_summary
        for finding in every
        if finding.anomaly not in ("lost-write", "replica-divergence", *permitted)
        and not consequence(finding, every, facts.verdict.seen)
    ]


def headline(facts: JudgedRun) -> str:
    """What the run showed, in one or two plain sentences; of a mutant that first."""
    mutant = facts.run.mutant
    return (f"Not Kafka: these brokers were changed on purpose ({mutant}). " if mutant else "") + _shown(facts)


def _shown(facts: JudgedRun) -> str:
    verdict, version = facts.verdict, facts.run.version
    source = facts.run.documented.source or "the scenario"
    seen = _what_was_seen(facts)
    if verdict.verdict == "as-documented":
        return f"{_capital(seen)}, {_as_documented(facts)}." if seen else _all_is_well(facts)
    if facts.run.observed and verdict.verdict in ("observed", "unexpected", "not-reproduced"):
        return _of_own_settings(facts, seen)
    if verdict.verdict == "unexpected" and not verdict.unexpected:
        # Nothing is wrong with the records: documented behaviour is contradicted.
        return f"On {version} {verdict.reasons[0]}." + (f" {_capital(seen)}." if seen else "")
    if verdict.verdict == "unexpected":
        return f"{_capital(seen)}. Nothing documents {join(verdict.unexpected)} for {version}."
    if verdict.verdict == "not-reproduced":
        also = f" {_capital(seen)}." if seen else ""
        stated = f"stated from {OWN_RUNS}" if facts.run.documented.basis == Basis.MEASURED else "documented"
        return f"{_capital(join(verdict.missing))} is {stated} for {version} ({source}) and was not seen.{also}"
    if verdict.verdict == "error":
        return f"The harness failed, so nothing is known about Kafka: {facts.run.failure or join(verdict.reasons)}"
    seen_anyway = f" What was seen: {seen}." if seen else ""
    reason = verdict.reasons[0] if verdict.reasons else "no reason recorded"
    return f"This run proves nothing: {reason.rstrip('.')}.{seen_anyway}"


def _of_own_settings(facts: JudgedRun, seen: str) -> str:
    """What was seen under settings for which nothing is documented, and what the user had expected."""
    verdict = facts.verdict
    settings = join([f"{key}={value}" for key, value in sorted(facts.run.overridden.items())])
    under = f"on {facts.run.version}" + (f" with {settings}" if settings else "")
    told = f"{_capital(seen)} ({under})." if seen else f"No anomaly was seen {under}."
    other = f" {_capital(join(verdict.unexpected))}: not expected." if verdict.unexpected else ""
    return told + other + (f" {_capital(join(verdict.missing))}: expected and not seen." if verdict.missing else "")


def _as_documented(facts: JudgedRun) -> str:
    """The clause that names the source of what is documented; sources other than KIPs and tickets go in brackets."""
    source = facts.run.documented.source
    if facts.run.documented.basis == Basis.MEASURED:
        return f"as {OWN_RUNS} have shown before for {facts.run.version} ({source})"
    parts, version = [part.strip() for part in source.split(",")], facts.run.version
    if all(re.fullmatch(r"(KIP|KAFKA)-\d+", part) for part in parts):
        return f"as {join(parts)} document{'s' if len(parts) == 1 else ''} for {version}"
    return f"as documented for {version}" + (f" ({source})" if source else "")


def _all_is_well(facts: JudgedRun) -> str:
    acknowledged = None if facts.findings is None else facts.findings.acknowledged
    parts = [
        f"All {acknowledged:,} acknowledged records were read back".replace(",", " ")
        if acknowledged is not None
        else "Every acknowledged record was read back"
    ]
    if facts.findings is not None and facts.findings.passed("replica-divergence"):
        parts.append("the replicas agree")
    permitted = (
        f" Permitted: {join([p.partition(':')[0] for p in facts.verdict.permitted])}."
        if facts.verdict.permitted
        else ""
    )
    return f"{' and '.join(parts)}, {_as_documented(facts)}.{permitted}"


def _capital(text: str) -> str:
    # "m3" and "broker-1" are names and stay as they are.
    keeps = (text[:1] == "m" and text[1:2].isdigit()) or text.startswith("broker-")
    return text if keeps else text[:1].upper() + text[1:]
