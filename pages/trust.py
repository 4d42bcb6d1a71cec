"""The figures of docs/trust.md, made from what runs showed (results/).

    python -m pages.trust

writes them anew (`make docs` does), and a test holds the page to them. They change only with what counts, not with each
run that is added as documented.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import results
from evidence.text import plural
from judgement import sampling
from pages import deviations
from results import explained

PAGE: Final = Path("docs/trust.md")
FIGURES: Final = re.compile(r"(?<=^<!-- figures -->\n).*?(?=^<!-- end of figures -->$)", re.DOTALL | re.MULTILINE)
RUNS: Final = 5
"""How many runs a cell has at least before it is taken for decided."""
WIDTH: Final = 130


def figures(data: Mapping[str, Any]) -> list[str]:
    """The sentences with figures, of `results.by_scenario`."""
    cells = [cell for one in data.values() for of_case in one["cases"].values() for cell in of_case.values()]
    restored, unnamed = (sum(cell[name] for cell in cells) for name in ("restored", "unnamed"))
    counted = sum(cell["runs"] for cell in cells)
    measured = list(results.MEASURED_ON.values())
    causes = deviations.by_cause(explained.entries())
    told = ". ".join(f"{words[0].upper()}{words[1:]}: {runs}" for words, runs in causes)
    return [
        f"Each count has its interval: {plural(RUNS, 'run')} without a loss leave it possible that up to "
        f"{sampling.percent(sampling.at_most(0, RUNS))} of attempts lose.",
        f"{plural(counted, 'run')} count, and {plural(restored, 'run')} of them were published as counts before there "
        f"was a ledger. Their lines are called restored, and {plural(unnamed, 'run')} of them have no name. Pages "
        "count them like the others.",
        f"{plural(sum(runs for _, runs in causes), 'run')} that count did not end as documented. "
        f"Each has its cause on its scenario's page. {told}.",
        f"The grids of the Atlas were measured on {plural(len(measured), 'version')} ({', '.join(measured)}).",
    ]


def renewed(text: str, data: Mapping[str, Any]) -> str:
    """The page with its figures as the data has them."""
    told = "\n".join(textwrap.fill(f"- {one}", WIDTH, subsequent_indent="  ") for one in figures(data))
    return FIGURES.sub(lambda _: f"\n{told}\n\n", text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), results.by_scenario()), encoding="utf-8")
