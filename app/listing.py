"""`kafka-chaos list`: every scenario and case, and what is documented for each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import results
from evidence.basis import in_words
from evidence.run import DEFAULT_CASE
from harness.cluster import versions
from harness.scenario import Scenario
from harness.suite import SUITE
from pages.counted import allowed
from pages.scenarios import documented


def _row(made: Scenario) -> dict[str, Any]:
    cases = {
        case.name: case.as_json()
        | {
            "documented": {
                version.id: made.documented_for(version, case.name).as_json()
                for version in made.versions
                if made.applies_to(version, case)
            }
        }
        for case in made.cases.values()
    }
    part = SUITE.get(made.name)
    about: dict[str, Any] = {"scenario": made.name, "claim": made.claim, "source": made.source}
    about["suite"] = None if part is None else part.as_json()
    if made.exhibit is not None:
        about["exhibit"] = made.exhibit.as_json()
    plain = {"documented": cases[DEFAULT_CASE]["documented"]} if DEFAULT_CASE in cases else {}
    return about | plain | {"cases": cases}


def as_json(shown: Iterable[Scenario]) -> dict[str, Any]:
    """Scenarios and all versions, for programs."""
    known = [
        {"id": v.id, "kafka": v.kafka, "mode": v.mode, "java": v.java, "exhibits_only": v in versions.OF_EXHIBITS}
        for v in versions.KNOWN
    ]
    return {"scenarios": [_row(made) for made in shown], "versions": known}


def as_text(shown: Iterable[Scenario]) -> str:
    """The same for people: versions for which the same is documented stand together."""
    data = results.by_scenario()
    lines = [line for made in shown for line in (*_lines(made, data.get(made.name) or {}), "")]
    return "\n".join([*lines, *_known()])


def _known() -> Iterator[str]:
    yield "versions: " + " ".join(v.id for v in versions.ALL)
    yield "of exhibits alone: " + " ".join(v.id for v in versions.OF_EXHIBITS)


def _lines(made: Scenario, data: Mapping[str, Any]) -> Iterator[str]:
    yield from (made.name, f"  {made.claim}", f"  source: {made.source}")
    if part := SUITE.get(made.name):
        yield f"  in the default suite {part}"
    for case in made.cases.values():
        indent = "  "
        if case.name != DEFAULT_CASE:
            yield f"  case {case.name}: {' '.join(f'{key}={value}' for key, value in case.as_json().items())}"
            indent = "    "
        seen = data.get("cases", {}).get(case.name, {})
        for outcome in documented(made, case):
            text = ", ".join(outcome["required"]) or "none"
            if outcome["allowed"]:
                text += f" (allowed: {', '.join(allowed(outcome, seen))})"
            if outcome["claims"]:
                text += f"; claims {', '.join(outcome['claims'])}"
            yield f"{indent}{text}: {' '.join(outcome['versions'])}"
            if outcome.get("sentence"):
                yield f"{indent}  {outcome['sentence']}"
            yield f"{indent}  source: {in_words(outcome['source'], outcome['basis'])}"
