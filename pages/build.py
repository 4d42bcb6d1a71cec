"""Every page of docs/ that is generated, from the scenarios, the catalogues and what runs showed.

`kafka-chaos guide` (`make docs`) writes them. Those that README links are committed, and a test holds them to this; all
others are built where somebody wants to read them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import results
from audit import matrix
from evidence.rundir import write_atomically
from pages import audit_matrix, catalogues, findings, guide
from pages.scenarios import described
from pages.statements import page as statements

COMMITTED: Final = (catalogues.ANOMALIES, catalogues.CLAIMS)
"""The pages that are in the repository too, by their names in docs/."""


def pages(
    root: Path = results.ROOT, scenarios: results.Value | None = None, history: Collection[str] | None = None
) -> dict[str, str]:
    """Every page and picture that is made, by its path below docs/, of the results in a folder. `history` has the
    commits that there are, if that is known.
    """
    data = results.by_scenario(root)
    made = guide.pages(scenarios or described(), data, history) | {
        findings.PAGE: findings.page(data),
        statements.PAGE: statements.page(data),
    }
    return made | catalogues.pages() | audit_matrix.pages(matrix.load(root / results.AUDIT), data)


def write(docs: Path, made: dict[str, str]) -> list[str]:
    """Write pages; returns those that were not as they are now. Pages of scenarios that are gone are removed."""
    changed = []
    for path, text in made.items():
        file = docs / path
        if not file.exists() or file.read_text() != text:
            write_atomically(file, text)
            changed.append(path)
    for file in sorted((docs / guide.FOLDER).glob("*.md")):
        if f"{guide.FOLDER}/{file.name}" not in made:
            file.unlink()
            changed.append(f"{guide.FOLDER}/{file.name}")
    return changed
