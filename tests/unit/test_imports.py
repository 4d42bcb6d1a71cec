"""Who may import whom: scenarios → harness → evidence ← analysis; judgement → evidence; kafkafiles imports nobody.

The audit imports evidence.errors and evidence.text alone, and at import time nothing that needs Docker, Java or a
Kafka client.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAY = {
    "app": {"pages", "scenarios", "harness", "judgement", "analysis", "checks", "audit", "evidence", "kafkafiles"}
    | {"results"},
    "pages": {"scenarios", "harness", "judgement", "checks", "audit", "evidence", "results"},
    "scenarios": {"harness"},
    "harness": {"checks", "evidence", "kafkafiles"},
    "judgement": {"checks", "evidence", "kafkafiles"},
    "analysis": {"checks", "evidence", "kafkafiles"},
    "checks": {"evidence", "kafkafiles"},
    "audit": {"evidence"},
    "evidence": set(),
    "kafkafiles": set(),
    "results": set(),
}
HEAVY = ("confluent_kafka", "docker", "jpype", "numba", "numpy", "pandas", "pyarrow", "pyspark")


def imports() -> Iterator[tuple[str, str]]:
    """(module, what it imports of ours), imports inside functions included."""
    for path in (path for room in MAY for path in (ROOT / room).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                # What is imported from a package may be a module of it.
                inside = (f"{node.module}.{one.name}" for one in node.names)
                modules = [name for name in inside if (ROOT / name.replace(".", "/")).with_suffix(".py").exists()]
                names += modules or [node.module or ""]
            yield from ((module, name) for name in names if name.split(".")[0] in MAY)


def test_nobody_imports_upwards() -> None:
    rooms = [(a, b) for a, b in imports() if a.split(".")[0] != b.split(".")[0]]
    assert [(a, b) for a, b in rooms if b.split(".")[0] not in MAY[a.split(".")[0]]] == []


def test_the_audit_knows_nothing_of_runs() -> None:
    others = [(a, b) for a, b in imports() if a.startswith("audit") and not b.startswith("audit")]
    assert [(a, b) for a, b in others if b not in ("evidence.errors", "evidence.text")] == []


def test_an_audit_of_files_imports_nothing_that_needs_docker_java_or_a_client() -> None:
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "audit").rglob("*.py")]
    names = sorted(name.removesuffix(".__init__") for name in modules if ".examples." not in name)
    told = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {', '.join(names)}; print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) <= set(seen)
    assert [name for name in seen if name.split(".")[0] in {*HEAVY, "harness", "analysis", "judgement"}] == []


def test_the_cluster_does_not_know_who_watches_or_strikes_it() -> None:
    above = ("harness.faults", "harness.observers", "harness.run", "harness.workloads")
    assert [(a, b) for a, b in imports() if a.startswith("harness.cluster.") and b.startswith(above)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    below: dict[str, set[str]] = {}
    for module, name in imports():
        below.setdefault(module, set()).add(name)
    while free := {module for module, those in below.items() if not (those - {module}) & below.keys()}:
        for module in free:
            del below[module]
    assert below == {}
