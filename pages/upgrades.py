"""The table of docs/upgrades.md: which upgrades were run, and how these runs ended (results/).

    python -m pages.upgrades

writes it anew (`make docs` does), and a test holds the page to it. A pair or a case that has no row was never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import results
from harness.scenario import all_scenarios
from judgement.rates import telling
from judgement.verdict import AS_DOCUMENTED

PAGE: Final = Path("docs/upgrades.md")
RUNS: Final = re.compile(r"(?<=^<!-- runs -->\n).*?(?=^<!-- end of runs -->$)", re.DOTALL | re.MULTILINE)
SCENARIOS: Final = ("upgrade-double-failover", "upgrade-rolling", "upgrade-downgrade", "migration-to-kraft")
HEADING: Final = ("scenario", "case", "releases", "as documented", "lost acknowledged records", "not as documented")


def rows(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each cell that was run, of `results.by_scenario`."""
    for name in SCENARIOS:
        made = all_scenarios()[name]
        for case in made.cases:
            for version, cell in (data.get(name) or {"cases": {}})["cases"].get(case, {}).items():
                if cell["runs"]:
                    to = made.cluster.upgrades.get(version)
                    releases = f"{version} → {to}" if to else version
                    yield f"`{name}`", f"`{case}`", releases, *_ended(cell)


def _ended(cell: Mapping[str, Any]) -> tuple[str, str, str]:
    """How the runs of a cell ended."""
    others = (f"{count} {name}" for name, count in sorted(cell["verdicts"].items()) if name != AS_DOCUMENTED)
    said = max(telling(cell), cell["lost"])
    return f"{cell['good']} of {cell['runs']}", f"{cell['lost']} of {said}" if said else "–", ", ".join(others) or "–"


def renewed(text: str, data: Mapping[str, Any]) -> str:
    """The page with its table as the data has it."""
    table = [HEADING, ("---",) * len(HEADING), *rows(data)]
    told = "".join(f"| {' | '.join(row)} |\n" for row in table)
    return RUNS.sub(lambda _: f"\n{told}\n", text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), results.by_scenario()), encoding="utf-8")
