"""`kafka-chaos list`: every scenario and case, and what is documented for each version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evidence.rundir import DEFAULT_CASE
from harness.cluster import versions
from harness.scenario import Scenario, all_scenarios


def _row(made: Scenario) -> dict[str, Any]:
    cases = {
        case.name: case.as_json()
        | {
            "documented": {
                version.id: made.documented_for(version, case.name).as_json()
                for version in versions.ALL
                if made.applies_to(version, case)
            }
        }
        for case in made.cases.values()
    }
    about = {"scenario": made.name, "claim": made.claim, "source": made.source, "suite": made.suite}
    plain = {"documented": cases[DEFAULT_CASE]["documented"]} if DEFAULT_CASE in cases else {}
    return about | plain | {"cases": cases}


def as_json() -> dict[str, Any]:
    """Scenarios and versions, for programs."""
    known = [{"id": v.id, "kafka": v.kafka, "mode": v.mode, "java": v.java} for v in versions.ALL]
    return {"scenarios": [_row(made) for made in all_scenarios().values()], "versions": known}


def as_text() -> str:
    """The same for people: versions for which the same is documented stand together."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for row in map(_row, all_scenarios().values()):
        yield from (row["scenario"], f"  {row['claim']}", f"  source: {row['source']}")
        for name, case in row["cases"].items():
            indent = "  "
            if name != DEFAULT_CASE:
                changed = " ".join(f"{key}={value}" for key, value in case.items() if key != "documented")
                yield f"  case {name}: {changed}"
                indent = "    "
            by_outcome: dict[tuple[str, str], list[str]] = {}
            for version_id, outcome in case["documented"].items():
                text = ", ".join(outcome["required"]) or "none"
                if outcome["allowed"]:
                    text += f" (allowed: {', '.join(outcome['allowed'])})"
                if outcome["claims"]:
                    text += f"; claims {', '.join(outcome['claims'])}"
                by_outcome.setdefault((text, outcome.get("says", "")), []).append(version_id)
            for (text, says), ids in by_outcome.items():
                yield f"{indent}{text}: {' '.join(ids)}"
                if says:
                    yield f"{indent}  {says}"
        yield ""
    yield "versions: " + " ".join(v.id for v in versions.ALL)
