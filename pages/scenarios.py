"""The scenarios as plain values, for the pages that are made of them (pages/guide.py).

A page is generated from its scenario. It has the claim, its source, the docstring that tells the sequence, the steps as
they are written, and the cases. It also has what is documented for which versions, and what an operator takes from it.
The folder that a scenario lies in is its section, which the docstring of the folder's package introduces.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from evidence.run import DEFAULT_CASE
from harness.bugs import Bug, numbers
from harness.case import Case
from harness.cluster import apache, versions
from harness.scenario import PACKAGE, Scenario, all_scenarios
from harness.suite import SUITE
from harness.workloads import connectors
from harness.workloads.processes import spark_program, streams_program
from harness.workloads.processes.programs import PROGRAMS
from harness.workloads.processes.share_programs import SHARE_PROGRAMS

COUNTS: Final = frozenset({"count_and_crash", "count_with_standby"})
"""The steps of scenarios/delivery in which an application of Kafka Streams counts."""


def described() -> dict[str, Any]:
    """Every scenario (`scenarios`), the docstrings of their folders (`sections`), and the versions in their order."""
    made = all_scenarios().values()
    folders = sorted({section_of(one) for one in made} - {""})
    return {
        "versions": [version.id for version in versions.KNOWN],
        "sections": {folder: told_of(folder) for folder in folders},
        "scenarios": [of(one) for one in made],
    }


def of(made: Scenario) -> dict[str, Any]:
    """One scenario."""
    module = sys.modules[made.file]
    return {
        "name": made.name,
        "section": section_of(made),
        "file": made.file.replace(".", "/") + ".py",
        "claim": made.claim,
        "source": made.source,
        "operator": made.operator,
        "applies": made.applies.label,
        "suite": str(SUITE[made.name]) if made.name in SUITE else "",
        "exhibit": exhibit_of(made),
        "told": inspect.getdoc(module) or "",
        "steps": steps_of(inspect.getsource(module)),
        "programs": programs_of(inspect.getsource(module)),
        "cases": [
            {"name": case.name, "changes": case.as_json(), "documented": documented(made, case)}
            for case in made.cases.values()
        ],
    }


def exhibit_of(made: Scenario) -> dict[str, Any] | None:
    """What makes it an exhibit, and what its bug can be shown with and on; None of another scenario."""
    if made.exhibit is None:
        return None
    return made.exhibit.as_json() | {"also": also(made), "borders": borders(made, made.exhibit.bug)}


def also(made: Scenario) -> list[str]:
    """The cases of an exhibit, beside the default one, that show its bug on the newest version that it is shown on."""
    if made.exhibit is None:
        return []
    newest = versions.get(made.exhibit.affected[-1])
    return [case.name for case in made.cases.values() if case.name != DEFAULT_CASE and made.shows(newest, case)]


def borders(made: Scenario, bug: Bug) -> list[list[dict[str, Any]]]:
    """The borders of an exhibit's bug, each with its two sides: the release, whether it has the bug, the versions that
    the exhibit can be run on there.
    """
    return [[_side(made, bug, release) for release in border] for border in bug.borders(apache.releases())]


def _side(made: Scenario, bug: Bug, release: str) -> dict[str, Any]:
    known = [versions.get(way) for way in versions.ways(release)] if release in apache.releases() else []
    ways = [one for one in known if bug.mode in (None, one.mode)]
    case = made.case(DEFAULT_CASE)
    return {
        "release": release,
        "has": bug.is_in(numbers(release)),
        "versions": [one.id for one in ways if made.applies_to(one, case)],
    }


def section_of(made: Scenario) -> str:
    """The folder that a scenario lies in; "" of one that lies in none."""
    _, *folders, _ = made.file.split(".")
    return ".".join(folders)


def told_of(section: str) -> str:
    """The docstring of a section, which introduces it; "" if it has none."""
    return inspect.getdoc(importlib.import_module(f"{PACKAGE}.{section}")) or ""


def steps_of(source: str) -> str:
    """The functions of a scenario's file, without what declares the scenario."""
    lines = source.splitlines()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return "\n\n\n".join("\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions)


def programs_of(source: str) -> str:
    """The applications that a scenario's file names, as they are written; of Kafka Connect how it is configured."""
    named: list[Any] = [
        program for name, program in (*PROGRAMS.items(), *SHARE_PROGRAMS.items()) if f'"{name}"' in source
    ]
    if "run.streams" in source:
        named += [streams_program.CopyProcessor, streams_program.topology]
    if COUNTS & set(re.findall(r"\w+", source)):
        counter, counts = streams_program.CountProcessor.__mro__[1::-1]
        named += [counter, counts, streams_program.topology]
    if "run.connect_source" in source:
        named += [connectors.worker_settings, connectors.source, connectors.sink]
    if "run.spark" in source:
        named += [spark_program.inputs, spark_program.to_kafka, spark_program.to_files, spark_program.ToStore]
    return "\n\n".join(inspect.getsource(program) for program in named).rstrip()


def documented(made: Scenario, case: Case) -> list[dict[str, Any]]:
    """What is documented for a case, each with the versions that it is stated for, in the order of these."""
    found: list[dict[str, Any]] = []
    for version in made.versions:
        if made.applies_to(version, case):
            outcome = made.documented_for(version, case.name)
            stated: Mapping[str, Any] = outcome.as_json() | {"on": outcome.on.label, "deletes": outcome.deletes}
            same = next((one for one in found if {**one, "versions": None} == {**stated, "versions": None}), None)
            if same is None:
                same = {**stated, "versions": []}
                found.append(same)
            same["versions"].append(version.id)
    return found
