"""The figures of docs/trust.md, made from what runs showed (results/).

    python -m pages.trust

writes them anew (`make docs` does), and a test holds the page to them. They change only with what counts, not with each
run that is added as documented.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import results
from evidence import ledger
from evidence.ledger import AnyLine, RunEnded, RunJudged, RunStarted
from evidence.quiet import QUIET, load_of
from evidence.text import plural
from judgement import sampling
from pages import deviations
from results import explained

PAGE: Final = Path("docs/trust.md")
FIGURES: Final = re.compile(r"(?<=^<!-- figures -->\n).*?(?=^<!-- end of figures -->$)", re.DOTALL | re.MULTILINE)
RUNS: Final = 5
"""How many runs a cell has at least before it is taken for decided."""
WIDTH: Final = 130
GOOD: Final = ("as-documented", "observed", "not told")
"""Verdicts that are counted as nothing else. "not told" are runs of the audit's matrix (docs/ledger.md)."""


def machines(lines: Iterable[AnyLine]) -> Counter[str]:
    """How busy the machine was through each run that began with a line of its own and has a verdict, in the words of
    evidence/quiet.py.
    """
    started, ended, judged = dict[str, RunStarted](), dict[str, RunEnded](), dict[str, RunJudged]()
    for line in lines:
        if isinstance(line, RunStarted):
            started[line.run] = line
        elif isinstance(line, RunEnded):
            ended[line.run] = line
        elif isinstance(line, RunJudged):
            judged.setdefault(line.run, line)
    return Counter(load_of(started[run], ended.get(run), told) for run, told in judged.items() if run in started)


def in_ledger(root: Path = results.ROOT / results.LEDGER) -> Counter[str]:
    """The same of the ledger in a folder."""
    return machines(line for path in ledger.files_of(root) for _, line in ledger.read(path))


def figures(data: Mapping[str, Any], loads: Mapping[str, int]) -> list[str]:
    """The sentences with figures, of `results.by_scenario` and `machines`."""
    cells = [cell for one in data.values() for of_case in one["cases"].values() for cell in of_case.values()]
    restored, unnamed = (sum(cell[name] for cell in cells) for name in ("restored", "unnamed"))
    counted = sum(cell["runs"] for cell in cells)
    measured = list(results.MEASURED_ON.values())
    causes = deviations.by_cause(explained.entries())
    told = ". ".join(f"{words[0].upper()}{words[1:]}: {runs}" for words, runs in causes)
    otherwise = sum(n for cell in cells for verdict, n in cell.get("verdicts", {}).items() if verdict not in GOOD)
    nameless = otherwise - sum(runs for _, runs in causes)
    are = "is" if nameless == 1 else "are"
    known = f" {plural(nameless, 'run')} of them {are} known by a count alone." if nameless else ""
    return [
        f"Each count has its interval: {plural(RUNS, 'run')} without a loss leave it possible that up to "
        f"{sampling.percent(sampling.at_most(0, RUNS))} of attempts lose.",
        f"{plural(counted, 'run')} count, and {plural(restored, 'run')} of them were published as counts before there "
        f"was a ledger. Their lines are called restored, and {plural(unnamed, 'run')} of them have no name. Pages "
        "count them like the others.",
        f"{plural(otherwise, 'run')} that count did not end as documented.{known} "
        f"Each of the others has its cause on its scenario's page. {told}.",
        f"{plural(loads.get(QUIET, 0), 'run')} of the {plural(sum(loads.values()), 'run')} with lines of their own had "
        "a [quiet machine](ledger.md#a-quiet-machine), the others a busy one. Times of the latter say little of Kafka.",
        f"The grids of the Atlas were measured on {plural(len(measured), 'version')} ({', '.join(measured)}).",
    ]


def renewed(text: str, data: Mapping[str, Any], loads: Mapping[str, int]) -> str:
    """The page with its figures as the data has them."""
    told = "\n".join(textwrap.fill(f"- {one}", WIDTH, subsequent_indent="  ") for one in figures(data, loads))
    return FIGURES.sub(lambda _: f"\n{told}\n\n", text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), results.by_scenario(), in_ledger()), encoding="utf-8")
