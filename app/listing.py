"""`kafka-chaos list`: the sections of scenarios, on one screen; the scenarios of some, a line each; one in full, with
every case and what is documented for each version.

What is named and asked for is chosen first (`chosen`), and then told: `overview`, `as_lines`, `as_text` or `as_json`.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import results
from checks.names import validate_anomalies, validate_claims
from evidence.basis import in_words
from evidence.errors import unknown_name
from evidence.run import DEFAULT_CASE
from harness.case import Documented
from harness.cluster import versions
from harness.cluster.versions import Version
from harness.scenario import Scenario, all_scenarios
from harness.suite import SUITE
from pages.counted import allowed
from pages.scenarios import documented, section_of, told_of
from pages.sections import ORDER, introduced

ALL: Final = "all"
"""Stands for every section."""
WITHOUT_SECTION: Final = "baseline"
"""The section of scenarios that lie in no folder, as it is named here."""

LONGEST_ABOUT: Final = 84
"""So many columns has what a section is about, or it ends at the first comma."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which scenarios are asked for, beside their names; what is not given asks for nothing."""

    suite: bool = False
    on: Version | None = None
    seen: str | None = None
    """An anomaly that must be seen."""
    claim: str | None = None
    find: str | None = None

    def __post_init__(self) -> None:
        if self.seen is not None:
            validate_anomalies([self.seen])
        if self.claim is not None:
            validate_claims([self.claim])

    @property
    def nothing(self) -> bool:
        """Whether every scenario has what is asked for."""
        return self == Selection()

    def has(self, made: Scenario) -> bool:
        """Whether a scenario has all of it."""
        return (
            (not self.suite or made.name in SUITE)
            and (self.find is None or self.find.lower() in _texts(made).lower())
            and any(self._states(outcome) for outcome in _outcomes(made, self.on))
        )

    def _states(self, outcome: Documented) -> bool:
        return (self.seen is None or self.seen in outcome.required) and (
            self.claim is None or self.claim in outcome.claims
        )


def _texts(made: Scenario) -> str:
    """All that is told of a scenario."""
    sources = (outcome.source for case in made.cases.values() for outcome in case.documented)
    story = sys.modules[made.file].__doc__ or ""
    return " ".join((made.name, *made.also_called, made.claim, made.operator, made.source, *sources, *story.split()))


def _outcomes(made: Scenario, on: Version | None) -> Iterator[Documented]:
    """What is documented of a scenario on a version, or on any; nothing where it does not apply."""
    for case in made.cases.values():
        for version in made.versions if on is None else [on]:
            if made.applies_to(version, case):
                yield made.documented_for(version, case.name)


def sections() -> dict[str, list[Scenario]]:
    """Every scenario, by section, as they are read."""
    found: dict[str, list[Scenario]] = {}
    for made in all_scenarios().values():
        found.setdefault(section_of(made), []).append(made)
    read = sorted(found, key=lambda section: (ORDER.index(section) if section in ORDER else len(ORDER), section))
    return {section or WITHOUT_SECTION: found[section] for section in read}


def chosen(names: Iterable[str], asked: Selection) -> dict[str, list[Scenario]]:
    """The scenarios of these names and sections that have what is asked for, by section; without names, of all.

    Raises UsageError for a name that is neither a scenario's nor a section's.
    """
    every = sections()
    wanted = set(names) or {ALL}
    known = {name for those in every.values() for made in those for name in (made.name, *made.also_called)}
    for name in sorted(wanted - known - every.keys() - {ALL}):
        raise unknown_name("scenario or section", name, {*known, *every}, hint="`kafka-chaos list` has the sections")
    found = {
        section: [made for made in those if wanted & {ALL, section, made.name, *made.also_called} and asked.has(made)]
        for section, those in every.items()
    }
    return {section: those for section, those in found.items() if those}


def overview(shown: Mapping[str, Sequence[Scenario]]) -> str:
    """The sections, and how to see what is in them."""
    cases = sum(len(made.cases) for those in shown.values() for made in those)
    number = sum(map(len, shown.values()))
    width = max(map(len, shown))
    return "\n".join(
        [
            f"{number} scenarios with {cases} cases, on up to {len(versions.ALL)} versions",
            "",
            *(f"  {section:<{width}}  {len(those):>3}  {_about(section)}" for section, those in shown.items()),
            "",
            "kafka-chaos list truncation       scenarios of a section (all: of every), a line each",
            "kafka-chaos list double-failover  one in full: its cases, what is documented of each",
            "kafka-chaos list --suite          the default suite; also --on 2.8.2,",
            "                                  --seen lost-write, --claim NAME, --find KIP-101",
            "kafka-chaos list --versions       releases; also --anomalies, --claims, --settings 4.3.1",
        ]
    )


def _about(section: str) -> str:
    """What a section is about, in a few words."""
    if section == WITHOUT_SECTION:
        return "without any fault"
    heading, introduction = introduced(told_of(section), section)
    text = introduction[0] if introduction and introduction[0] else heading
    sentence = f"{text[:1].lower()}{text[1:]}".partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= LONGEST_ABOUT else sentence.partition(",")[0]


def why(section: str, width: int = 100) -> str:
    """The first paragraph that introduces a section: why its scenarios end as they do; "" if there is none."""
    if section == WITHOUT_SECTION:
        return ""
    _, introduction = introduced(told_of(section), section)
    paragraphs = [part for part in introduction[1:] if part]
    return textwrap.fill(paragraphs[0], width) if paragraphs else ""


def as_lines(shown: Mapping[str, Sequence[Scenario]], room: int | None) -> str:
    """A line for each scenario, below its section: its name and what it claims, as far as there is room for it."""
    width = max((len(made.name) for those in shown.values() for made in those), default=0)
    lines = []
    for section, those in shown.items():
        lines.append(f"{section}: {_about(section)}")
        for made in those:
            line = f"  {made.name:<{width}}  {made.claim}"
            lines.append(line if room is None or len(line) <= room else f"{line[: room - 1]}…")
        lines.append("")
    return "\n".join(lines[:-1]) if lines else "no scenario is like that"


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
    lines = [line for made in shown for line in (*_lines(made, results.of(data, made.name)), "")]
    return "\n".join([*lines, *_known()])


def _known() -> Iterator[str]:
    yield "versions: " + " ".join(v.id for v in versions.ALL)
    yield "of museum scenarios alone: " + " ".join(v.id for v in versions.OF_EXHIBITS)


def _lines(made: Scenario, data: Mapping[str, Any]) -> Iterator[str]:
    yield from (made.name, f"  {made.claim}", f"  source: {made.source}")
    if part := SUITE.get(made.name):
        yield f"  in the default suite {part}"
    for case in made.cases.values():
        indent = "  "
        if case.name != DEFAULT_CASE:
            yield f"  case {case.name}: {' '.join(f'{key}={value}' for key, value in case.as_json().items())}"
            indent = "    "
        seen = data["cases"].get(case.name, {})
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
