"""The sentence at the top of a report: what the run showed."""

from __future__ import annotations

import re

from checks.catalogue import consequence
from evidence.course import acks_text
from judgement.outcome import Outcome, of_findings
from judgement.report.facts import RunFacts
from judgement.report.steps import brokers_in, join
from judgement.verdict import ERROR, UNKNOWN, named_summary


def outcome(facts: RunFacts) -> Outcome:
    """What became of the records: as the verdict has it, or from the findings where the verdict is an old one."""
    given = facts.verdict
    return given.outcome or of_findings(
        facts.run,
        facts.findings,
        sound=given.verdict not in (UNKNOWN, ERROR) and not (facts.findings or {}).get("problems"),
    )


def _what_was_seen(facts: RunFacts) -> str:
    parts = []
    total = sum(int(f.get("count") or 0) for f in facts.found("lost-write"))
    lost = [(finding, row) for finding in facts.found("lost-write") for row in finding.get("evidence") or ()]
    if total == 1 and lost:
        (finding, row), *_ = lost
        where, offset = f"{finding.get('topic')}-{finding.get('partition')}", row.get("offset")
        at = f" at offset {offset} of {where}" if offset is not None else f" on {where}"
        name = facts.record_name(row.get("producer"), row.get("sequence"))
        parts.append(f"{name}, acknowledged with acks={acks_text(row.get('acks'))}{at}, is gone")
    elif total:
        parts.append(f"{total:,} acknowledged records are gone".replace(",", " "))
    for finding in facts.found("replica-divergence"):
        rows = finding.get("evidence") or ()
        offsets = sorted({int(row["offset"]) for row in rows if row.get("offset") is not None})
        brokers = brokers_in(rows)
        where = f"{finding.get('topic')}-{finding.get('partition')}"
        if len(offsets) == 1:
            parts.append(f"{join(brokers)} hold different records at offset {offsets[0]} of {where}")
        else:
            parts.append(
                f"{join(brokers) or 'replicas'} hold different records at {finding.get('count')} offsets of {where}"
            )
    every = (facts.findings or {}).get("findings") or ()
    for finding in every:
        name = finding.get("anomaly")
        told = name in ("lost-write", "replica-divergence") or consequence(finding, every, facts.verdict.seen)
        if not told and not any(p.startswith(f"{name}: ") for p in facts.verdict.permitted):
            parts.append(named_summary(finding))
    return "; ".join(parts)


def headline(facts: RunFacts) -> str:
    """What the run showed, in one or two plain sentences."""
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
        return f"{_capital(join(verdict.missing))} is documented for {version} ({source}) and was not seen.{also}"
    if verdict.verdict == "error":
        return f"The harness failed, so nothing is known about Kafka: {facts.run.failure or join(verdict.reasons)}"
    seen_anyway = f" What was seen: {seen}." if seen else ""
    reason = verdict.reasons[0] if verdict.reasons else "no reason recorded"
    return f"Nothing is shown: {reason.rstrip('.')}.{seen_anyway}"


def _of_own_settings(facts: RunFacts, seen: str) -> str:
    """What was seen under settings for which nothing is documented, and what the user had expected."""
    verdict = facts.verdict
    settings = join([f"{key}={value}" for key, value in sorted(facts.run.overridden.items())])
    under = f"on {facts.run.version}" + (f" with {settings}" if settings else "")
    told = f"{_capital(seen)} ({under})." if seen else f"No anomaly was seen {under}."
    other = f" {_capital(join(verdict.unexpected))}: not expected." if verdict.unexpected else ""
    return told + other + (f" {_capital(join(verdict.missing))}: expected and not seen." if verdict.missing else "")


def _as_documented(facts: RunFacts) -> str:
    """The clause that names the source of what is documented; sources other than KIPs and tickets go in brackets."""
    source = facts.run.documented.source
    parts, version = [part.strip() for part in source.split(",")], facts.run.version
    if all(re.fullmatch(r"(KIP|KAFKA)-\d+", part) for part in parts):
        return f"as {join(parts)} document{'s' if len(parts) == 1 else ''} for {version}"
    return f"as documented for {version}" + (f" ({source})" if source else "")


def _all_is_well(facts: RunFacts) -> str:
    findings = facts.findings or {}
    statistics = findings.get("statistics") or {}
    acknowledged = statistics.get("sends_ok")
    checks = {check.get("name"): check.get("status") for check in findings.get("checks") or ()}
    records = (
        f"all {acknowledged:,} acknowledged records".replace(",", " ")
        if isinstance(acknowledged, int)
        else "every acknowledged record"
    )
    parts = [
        f"{_capital(records)} were read back" if isinstance(acknowledged, int) else f"{_capital(records)} was read back"
    ]
    if checks.get("replica-divergence") == "ok":
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
