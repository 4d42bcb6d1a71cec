"""Who may import whom: scenarios → harness → evidence ← analysis; judgement → evidence; kafkafiles imports nobody."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAY = {
    "scenarios": {"harness"},
    "harness": {"evidence", "kafkafiles"},
    "analysis": {"evidence", "kafkafiles"},
    "judgement": {"evidence", "kafkafiles"},
    "evidence": set(),
    "kafkafiles": set(),
}
SEE_ALL = {"harness.cli", "harness.matrix"}


def imports() -> Iterator[tuple[str, str]]:
    """(module, what it imports) between different rooms, imports inside functions included."""
    for room in MAY:
        for path in (ROOT / room).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text())):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                yield from ((module, name) for name in names if name.split(".")[0] in MAY.keys() - {room})


def test_nobody_imports_upwards() -> None:
    assert [(a, b) for a, b in imports() if a not in SEE_ALL and b.split(".")[0] not in MAY[a.split(".")[0]]] == []
