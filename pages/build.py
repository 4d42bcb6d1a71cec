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
from audit.cells import FAULTS
from evidence.rundir import write_atomically
from pages import audit_matrix, catalogues, findings, guide
from pages.scenarios import described
from pages.statements import page as statements

COMMITTED: Final = (catalogues.ANOMALIES, catalogues.CLAIMS)
"""The pages that are in the repository too, by their names in docs/."""
HEAT_MAPS: Final = "audit-matrix-*.svg"
"""Pictures that were made until the Atlas took their place: an older tree may have left them."""


def pages(
    root: Path = results.ROOT, scenarios: results.Value | None = None, history: Collection[str] | None = None
) -> dict[str, str]:
    """Every page and picture that is made, by its path below docs/, of the results in a folder. `history` has the
    commits that there are, if that is known.
    """
    data, cells = results.by_scenario(root), matrix.load(root / results.AUDIT)
    faults = {fault: audit_matrix.of_fault(cells, fault) for fault in FAULTS}
    made = guide.pages(scenarios or described(), data, history, faults) | {
        findings.PAGE: findings.page(data),
        statements.PAGE: statements.page(data),
    }
    return made | catalogues.pages() | audit_matrix.pages(cells, data)


def write(docs: Path, made: dict[str, str]) -> list[str]:
    """Write pages; returns those that were not as they are now. Pages of scenarios that are gone are removed."""
    changed = []
    for path, text in made.items():
        file = docs / path
        if not file.exists() or file.read_text() != text:
            write_atomically(file, text)
            changed.append(path)
    for file in sorted((*(docs / guide.FOLDER).glob("*.md"), *docs.glob(HEAT_MAPS))):
        if (name := file.relative_to(docs).as_posix()) not in made:
            file.unlink()
            changed.append(name)
    return changed
