"""An audit as SARIF 2.1.0 (OASIS), for code scanning: a result for each kind of harm to each producer's records.

A result points at the line to change, or at the producer if nothing is written that does it. What is only known of a
live cluster has no file: its result has a logical location. Loss is an error, duplicates and reordering are warnings;
notes are what is not measured, what was proved, and what was wrong with the configuration. With a baseline every harm
says whether it is new; one is unchanged if all its faults are accepted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from importlib import metadata
from typing import Any, Final
from urllib.parse import quote

from audit import baseline
from audit.cells import FAULTS, LAST_REPLICA, POWER_LOSS
from audit.grade import EFFECTS, NOT_MEASURED, REFUSED, AuditAnswer, Effect, MeasuredHarm, ProducerCase, ProducerRow
from audit.model import Origin
from audit.owners import owners_of
from audit.report import words
from evidence.text import visible

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final[dict[Effect, str]] = {"loss": "error", "duplicate": "warning", "reorder": "warning"}
RULES: Final = {
    "acknowledged-records-lost": "With these settings, a measured fault loses acknowledged records.",
    "acknowledged-records-duplicated": "With these settings, a measured fault writes acknowledged records twice.",
    "acknowledged-records-reordered": "With these settings, a measured fault reorders acknowledged records.",
    POWER_LOSS: "Acknowledged records are lost when all replicas lose power at one moment, whatever a producer sets.",
    LAST_REPLICA: "Acknowledged records are lost when the last replica in sync loses power and is back first.",
    "policy": "What is written cannot keep acknowledged records, by Kafka's documents or by measured refusals.",
    "proved": "This configuration itself was run through faults in containers.",
    "settings-refused": "The client refuses these settings and does not start.",
    "not-measured": "No cell of the measured matrix covers these settings: nothing is claimed.",
    "configuration": "Something in the configuration could not be read, or cannot be meant.",
}
GUIDE: Final = "docs/audit.md of kafka-chaos"
SEVERITY: Final = {
    "acknowledged-records-lost": ("error", "7.0"),
    "policy": ("error", "7.0"),
    "acknowledged-records-duplicated": ("warning", "4.0"),
    "acknowledged-records-reordered": ("warning", "4.0"),
    "settings-refused": ("warning", "4.0"),
}
"""The usual level of a rule's results, and the number by which code scanning sorts them; what is not here is a note."""
OF_EFFECT: Final[dict[Effect, str]] = {
    "loss": "acknowledged-records-lost",
    "duplicate": "acknowledged-records-duplicated",
    "reorder": "acknowledged-records-reordered",
}


def render(answer: AuditAnswer, *, accepted: Collection[str] = (), baselined: bool = False) -> str:
    """The answer as SARIF text."""
    results = [_owned(result, row) for row in answer.rows for result in _of_row(row, accepted, baselined)]
    results = list(_once(results))
    results += [
        _result("configuration", "note", f"{one.message}{': ' + one.do if one.do else ''}", one.origin, "")
        for one in answer.problems
    ]
    names = list(RULES)
    for result in results:
        result["ruleIndex"] = names.index(result["ruleId"])
    run = {
        "tool": {"driver": _driver()},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _owned(result: dict[str, Any], row: ProducerRow) -> dict[str, Any]:
    """A result with the owners of the producer's file, if anybody says who they are."""
    owners = owners_of(row.producer.origin.path)
    return {**result, "properties": result.get("properties", {}) | {"owners": list(owners)}} if owners else result


def _once(results: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Results with those of lost power once: they are the same for nearly every producer. If one is new, a new one."""
    of_power: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        if result["ruleId"] in (POWER_LOSS, LAST_REPLICA):
            of_power.setdefault(result["ruleId"], []).append(result)
        else:
            yield result
    for same in of_power.values():
        first = next((one for one in same if one.get("baselineState") == "new"), same[0])
        if len(same) > 1:
            first["message"]["text"] += f" So are {len(same) - 1} more."
        yield first


def _driver() -> dict[str, Any]:
    return {
        "name": "kafka-chaos audit",
        "version": metadata.version("kafka-chaos"),
        "rules": [_rule(name, sentence) for name, sentence in RULES.items()],
    }


def _rule(name: str, meaning: str) -> dict[str, Any]:
    level, severity = SEVERITY.get(name, ("note", "0.0"))
    return {
        "id": name,
        "shortDescription": {"text": meaning},
        "help": {"text": f"{meaning} What to change is in each result; grades and their evidence: {GUIDE}"},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["kafka", "durability"], "security-severity": severity},
    }


def _of_row(row: ProducerRow, accepted: Collection[str], baselined: bool) -> Iterator[dict[str, Any]]:
    for effect in EFFECTS:
        having = [case for case in row.cases if case.has(effect)]
        if not having:
            continue
        case = max(having, key=lambda each: len(each.has(effect)))
        found = case.has(effect)
        result = _result(
            OF_EFFECT[effect],
            LEVELS[effect] if row.certainly(effect) else "note",
            _message(row, case, effect),
            _cause(case, effect),
            row.name,
        )
        result["partialFingerprints"] = {"kafkaChaosAudit/v1": baseline.fingerprints(row, effect)[0]}
        if baselined:
            known = all(baseline.is_accepted(row, one, accepted) for each in having for one in each.has(effect))
            result["baselineState"] = "unchanged" if known else "new"
        result["properties"] = {
            "grade": row.grade,
            "faults": [one.fault for one in found],
            "runs": [one.run.run for one in found],
        }
        yield result
    for fault in FAULTS:
        if having := [case for case in row.cases if _ungraded(case, fault)]:
            yield _power_loss(row, having, fault, accepted, baselined)
    if proofs := [text for case in row.cases for text in words.proved(case)]:
        yield _result("proved", "note", f"{row.name}: {'; '.join(proofs)}", row.producer.origin, row.name)
    if row.worst.breaches:
        breach = row.worst.breaches[0]
        level = "error" if row.certainly(breach.kind) else "note"
        cause = row.worst.topic.origin or row.producer.origin
        result = _result(
            "policy", level, f"{row.name}, grade {breach.letter}: {breach.sentence} ({breach.source}).", cause, row.name
        )
        result["partialFingerprints"] = {
            "kafkaChaosAudit/v1": baseline.fingerprints(row, breach.effect, breach.fault)[0]
        }
        if baselined:
            known = all(baseline.is_accepted(row, one, accepted) for one in row.worst.breaches)
            result["baselineState"] = "unchanged" if known else "new"
        yield result
    if row.grade == REFUSED:
        yield _result("settings-refused", "warning", row.reason, row.producer.origin, row.name)
    elif row.grade == NOT_MEASURED and row.certain:
        text = f"{row.name}: {row.worst.reason}. To measure: {'; '.join(words.commands(row.worst))}"
        yield _result("not-measured", "note", text, row.producer.origin, row.name)


def _ungraded(case: ProducerCase, fault: str) -> list[MeasuredHarm]:
    return [one for one in case.ungraded if one.fault == fault]


def _power_loss(
    row: ProducerRow, having: Sequence[ProducerCase], fault: str, accepted: Collection[str], baselined: bool
) -> dict[str, Any]:
    """The note of what one fault does that is not in the grade."""
    case = having[0]
    found = _ungraded(case, fault)
    told = "; ".join(f"{words.ungraded(one)} ({words.evidence(one)})" for one in found)
    origin = next((change.origin for change in case.flushed.changes if change.origin), None) if case.flushed else None
    text = f"{row.name}: {told}. {words.against_power_loss(case)}."
    result = _result(fault, "note", text, origin or row.producer.origin, row.name)
    first = baseline.fingerprints(row, found[0].effect, fault)[0]
    result["partialFingerprints"] = {"kafkaChaosAudit/v1": first}
    if baselined:
        known = all(baseline.is_accepted(row, one, accepted) for each in having for one in _ungraded(each, fault))
        result["baselineState"] = "unchanged" if known else "new"
    result["properties"] = {"faults": [one.fault for one in found], "runs": [one.run.run for one in found]}
    return result


def _message(row: ProducerRow, case: ProducerCase, effect: Effect) -> str:
    found = case.has(effect)
    told = "; ".join(f"{one.sentence} by {one.fault} ({words.evidence(one)})" for one in found)
    when = f" if {case.when}" if case.when else ""
    fixes = [fix for fix in case.fixes if effect in {one.effect for one in fix.removes}]
    change = f" Change: {words.fix(case, fixes[0])}." if fixes else ""
    return f"{row.name}, grade {words.grade(case)}{when}: {told}.{change}"


def _cause(case: ProducerCase, effect: Effect) -> Origin:
    """The line that the smallest change is made in, of the producer's own; else the producer."""
    for fix in case.fixes:
        if effect in {one.effect for one in fix.removes}:
            for change in fix.changes:
                if change.origin is not None:
                    return change.origin
    return case.resolved.producer.origin


def _result(rule: str, level: str, text: str, origin: Origin, name: str) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": visible(text)},
        "locations": [_location(origin, name)],
    }


def _location(origin: Origin, name: str) -> dict[str, Any]:
    logical = [{"name": visible(name or origin.path), "kind": "resource"}]
    if origin.path.startswith(("cluster ", "--", "(")):
        return {"logicalLocations": logical}
    path = baseline.place(origin.path)
    uri = ("file://" if path.startswith("/") else "") + quote(path, errors="backslashreplace")
    region = {} if origin.line is None else {"region": {"startLine": origin.line}}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, **region}} | (
        {"logicalLocations": logical} if name else {}
    )
