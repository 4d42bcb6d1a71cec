"""Who may import whom: scenarios → harness → evidence ← analysis; judgement → evidence; kafkafiles and results nobody.
kafka_chaos, which other people's tests import, imports nothing of ours: it talks with the program.

Inside each room, and inside each of its folders, no two of what stands side by side import each other in a circle. The
harness has floors (HARNESS): each imports from the floors below its own.
The audit imports errors, releases, borders, text, results and the encoding of requests alone, and at import time
nothing that needs Docker, Java or a Kafka client. Scenarios import harness.words.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from app import extras

ROOT = Path(__file__).parents[2]
MAY = {
    "app": {"pages", "scenarios", "harness", "judgement", "analysis", "checks", "audit", "evidence", "kafkafiles"}
    | {"results"},
    "pages": {"scenarios", "harness", "judgement", "checks", "audit", "evidence", "results"},
    "scenarios": {"harness", "results"},
    "harness": {"checks", "evidence", "kafkafiles"},
    "judgement": {"results", "checks", "evidence", "kafkafiles"},
    "analysis": {"checks", "evidence", "kafkafiles"},
    "checks": {"evidence", "kafkafiles"},
    "audit": {"evidence", "kafkafiles", "results"},
    "evidence": set(),
    "kafkafiles": set(),
    "results": set(),
    "kafka_chaos": {"app"},
}
BEGIN = ("kafka_chaos.__main__", "app.__main__")
"""Where the program begins; nothing else of kafka_chaos/ imports any of ours."""
HARNESS = (
    {"load", "plan", "polling", "suite"},
    {"cluster", "patience", "processes"},
    {"setup", "observers", "removal"},
    {"faults", "workloads"},
    {"subjects"},
    {"run", "bugs"},
    {"case"},
    {"scenario"},
    {"runner", "words", "discoveries", "harms"},
    {"commanded"},
)
"""The folders and files of the harness from the ground up: nothing imports from its own floor or from one above."""
HEAVY = extras.RUN
"""What an installation without extras has not."""
SMALL = (
    "app.audit",
    "app.cli",
    "app.commands.atlas",
    "app.commands.catalogues",
    "app.commands.findings",
    "app.commands.museum",
    "checks.claims",
    "harness.words",
)
"""What such an installation loads, to answer what it can: each needs none of these packages when it is imported."""


@cache
def imports() -> tuple[tuple[str, str], ...]:
    """(module, what it imports of ours), imports inside functions included."""
    return tuple(_imports())


def _imports() -> Iterator[tuple[str, str]]:
    for path in (path for room in MAY for path in (ROOT / room).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                # What is imported from a package may be a module of it.
                inside = (f"{node.module}.{one.name}" for one in node.names)
                places = ((name, ROOT / name.replace(".", "/")) for name in inside)
                modules = [name for name, place in places if place.is_dir() or place.with_suffix(".py").exists()]
                names += modules or [node.module or ""]
            yield from ((module, name) for name in names if name.split(".")[0] in MAY)


def test_nobody_imports_upwards() -> None:
    rooms = [(a, b) for a, b in imports() if a.split(".")[0] != b.split(".")[0]]
    assert [(a, b) for a, b in rooms if b.split(".")[0] not in MAY[a.split(".")[0]]] == []


def test_other_peoples_tests_import_one_package_of_ours() -> None:
    assert [(a, b) for a, b in imports() if a.startswith("kafka_chaos") and not b.startswith("kafka_chaos")] == [BEGIN]


def test_the_audit_knows_nothing_of_runs() -> None:
    others = [(a, b) for a, b in imports() if a.startswith("audit") and not b.startswith("audit")]
    may = {
        "evidence.basis",
        "evidence.borders",
        "evidence.errors",
        "evidence.junit",
        "evidence.releases",
        "evidence.text",
        "kafkafiles.api_versions",
        "kafkafiles.encoding",
        "kafkafiles.errors",
        "results",
    }
    assert [(a, b) for a, b in others if b not in may] == []


def test_scenarios_import_one_module_of_words() -> None:
    of_the_harness = {b for a, b in imports() if a.startswith("scenarios") and b.startswith("harness")}
    assert of_the_harness == {"harness.words"}


def test_an_audit_of_files_imports_nothing_that_needs_docker_java_or_a_client() -> None:
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "audit").rglob("*.py")]
    names = sorted(name.removesuffix(".__init__") for name in modules if ".examples." not in name)
    told = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {', '.join(names)}; print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) <= set(seen)
    assert [name for name in seen if name.split(".")[0] in {*HEAVY, "harness", "analysis", "judgement"}] == []


@pytest.mark.parametrize("name", SMALL)
def test_an_answer_that_needs_no_extra_imports_none(name: str) -> None:
    told = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {name}; from harness.scenario import all_scenarios; "
    code = f"{told}all_scenarios(); print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name, "scenarios.museum.late_end"} <= set(seen)
    assert {one.split(".")[0] for one in seen} & HEAVY == set()


def inside(folder: str) -> set[tuple[str, str]]:
    """Which of what stands in a folder ("harness", "harness.run") imports which other of it."""
    depth = folder.count(".") + 1
    both = [(a, b) for a, b in imports() if a.startswith(f"{folder}.") and b.startswith(f"{folder}.")]
    return {(a, b) for a, b in ((a.split(".")[depth], b.split(".")[depth]) for a, b in both) if a != b}


def in_circles(arrows: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """What is left when all that imports nothing of the rest is taken away, again and again."""
    below: dict[str, set[str]] = {}
    for importer, imported in arrows:
        below.setdefault(importer, set()).add(imported)
    while free := {one for one, those in below.items() if not (those - {one}) & below.keys()}:
        for one in free:
            del below[one]
    return below


def test_no_files_import_each_other_in_a_circle() -> None:
    assert in_circles(imports()) == {}


def test_inside_no_folder_is_there_a_circle() -> None:
    folders = {module.rpartition(".")[0] for module, _ in imports()} - {""}
    folders |= {folder.rpartition(".")[0] for folder in folders} - {""}
    assert {"harness", "judgement.report", "harness.workloads"} <= folders
    assert {folder: circle for folder in sorted(folders) if (circle := in_circles(inside(folder)))} == {}


def test_a_circle_is_found() -> None:
    assert in_circles([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]) == {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}}


def test_the_harness_imports_downwards() -> None:
    floors = {name: number for number, names in enumerate(HARNESS) for name in names}
    there = {path.name for path in (ROOT / "harness").iterdir() if (path / "__init__.py").exists()}
    there |= {path.stem for path in (ROOT / "harness").glob("[!_]*.py")}
    assert there == floors.keys(), "each folder and file of the harness stands on a floor of HARNESS"
    assert [(a, b) for a, b in sorted(inside("harness")) if floors[a] <= floors[b]] == []
