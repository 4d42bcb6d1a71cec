"""The table of docs/upgrades.md: which upgrades were run, and how these runs ended (results/); and for how long writes
paused in a migration to KRaft.

    python -m pages.upgrades

writes it anew (`make docs` does), and a test holds the page to it. A pair or a case that has no row was never run.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import results
from evidence import ledger
from evidence.ledger import AnyLine, Excluded, RunJudged, RunStarted
from evidence.text import plural
from harness.cluster.versions import TO
from harness.scenario import all_scenarios
from judgement.rates import telling
from judgement.verdict import AS_DOCUMENTED

PAGE: Final = Path("docs/upgrades.md")
RUNS: Final = re.compile(r"(?<=^<!-- runs -->\n).*?(?=^<!-- end of runs -->$)", re.DOTALL | re.MULTILINE)
PAUSES: Final = re.compile(r"(?<=^<!-- pauses -->\n).*?(?=^<!-- end of pauses -->$)", re.DOTALL | re.MULTILINE)
MIGRATION: Final = "migration-to-kraft"
SCENARIOS: Final = ("upgrade-double-failover", "upgrade-rolling", "upgrade-downgrade", MIGRATION)
HEADING: Final = ("scenario", "case", "releases", "as documented", "lost acknowledged records", "not as documented")


def rows(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each cell that was run, of `results.by_scenario`."""
    for name in SCENARIOS:
        made = all_scenarios()[name]
        for case in made.cases:
            for version, cell in (data.get(name) or {"cases": {}})["cases"].get(case, {}).items():
                if cell["runs"]:
                    to = made.cluster.upgrades.get(version)
                    releases = f"{version} → {to}" if to else version.replace(TO, " → ")
                    yield f"`{name}`", f"`{case}`", releases, *_ended(cell)


def _ended(cell: Mapping[str, Any]) -> tuple[str, str, str]:
    """How the runs of a cell ended."""
    others = (f"{count} {name}" for name, count in sorted(cell["verdicts"].items()) if name != AS_DOCUMENTED)
    said = max(telling(cell), cell["lost"])
    return f"{cell['good']} of {cell['runs']}", f"{cell['lost']} of {said}" if said else "–", ", ".join(others) or "–"


def pauses(lines: Iterable[AnyLine]) -> str:
    """For how long writes paused at most in the runs of a migration that count, of the ledger's lines."""
    every = list(lines)
    excluded = {line.run for line in every if isinstance(line, Excluded)}
    case_of = {
        line.run: line.case
        for line in every
        if isinstance(line, RunStarted) and not line.aside and line.run not in excluded
    }
    longest_s: dict[str, float] = {}
    judged = [line for line in every if isinstance(line, RunJudged) and line.run in case_of]
    for line in judged:
        case = case_of[line.run]
        longest_s[case] = max(longest_s.get(case, 0.0), (line.write_pause_ms or 0.0) / 1000)
    leader_s, zookeeper_s = longest_s.pop("leader-dies", 0.0), longest_s.pop("zookeeper-dies", 0.0)
    lost = sum(line.lost for line in judged)
    told = f"{plural(len(judged), 'run')} on 3.9.2 lost {lost or 'no'} acknowledged records. Writes paused for at most "
    told += f"{leader_s:.1f} s when the leader died (a session is 4 s), for at most {zookeeper_s:.1f} s when ZooKeeper "
    told += f"died, and for at most {max(longest_s.values(), default=0.0):.1f} s otherwise. Other work ran beside them."
    return textwrap.fill(told, 130)


def of_ledger(root: Path = results.ROOT / results.LEDGER) -> list[AnyLine]:
    """The ledger's lines of a migration."""
    return [line for _, line in ledger.read(root / f"{MIGRATION}{ledger.SUFFIX}")]


def renewed(text: str, data: Mapping[str, Any], of_migration: Iterable[AnyLine] = ()) -> str:
    """The page with its table and its pauses as the data has them."""
    table = [HEADING, ("---",) * len(HEADING), *rows(data)]
    told = "".join(f"| {' | '.join(row)} |\n" for row in table)
    paused = pauses(of_migration)
    return PAUSES.sub(lambda _: f"{paused}\n", RUNS.sub(lambda _: f"\n{told}\n", text))


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), results.by_scenario(), of_ledger()), encoding="utf-8")
