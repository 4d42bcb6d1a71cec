"""README's table of losses: in how many runs, of how many that say something, each scenario lost acknowledged records.

Rows are chosen and worded by hand. Their counts are made from results/: `make docs` renews them, a test holds them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import results
from evidence.run import DEFAULT_CASE
from judgement.rates import telling

PAGE: Final = Path("README.md")
HEADING: Final = re.compile(r"^\| what happens \| scenario \| (.*) \|$", re.MULTILINE)
ROW: Final = re.compile(r"^(\| [^|]+ \| \[`([\w-]+)`\]\([^)]+\)(?:, `--case ([\w-]+)`)?) \| .* \|$", re.MULTILINE)


def renewed(text: str, data: Mapping[str, Any]) -> str:
    """README with the counts of this data (`results.by_scenario`). Raises KeyError for a cell that was never run."""
    heading = HEADING.search(text)
    versions = heading[1].split(" | ") if heading else []

    def row(found: re.Match[str]) -> str:
        of_version = data[found[2]]["cases"][found[3] or DEFAULT_CASE]
        return " | ".join([found[1], *(_lost(of_version[version]) for version in versions)]) + " |"

    return ROW.sub(row, text)


def _lost(cell: Mapping[str, Any]) -> str:
    count = f"{cell['lost']} of {max(telling(cell), cell['lost'])}"
    return f"**{count}**" if cell["lost"] else count


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), results.by_scenario()), encoding="utf-8")
