"""What runs showed, as data that is committed and that the wheel has too.

    told/NAME.json           the one run of a scenario that is told in full
    pictures/NAME.svg        that run as its report draws it; NAME.clients.svg is what clients saw in it
    ledger/SCENARIO.jsonl    a line for each run that was ever started, and for what became of it (docs/ledger.md)
    cells.jsonl              a row for each cell, made of these lines
    explained.toml           why runs that count did not end as documented (results/explained.py)
    mutants.csv              what came of runs of brokers that were changed on purpose (tests/mutants), a line each
    nights/                  what runs of nights with a regression planted showed (tests/planted), a file a night
    audit/                   the measurements of the audit's matrix (audit/matrix.py has their form)

The run directories that this is made of are not kept, so these files are the only copy: the pictures too. Whoever wants
to say what was run, or how it ended, reads it here: `kafka-chaos museum` and the pages of docs/. Nothing in this room
imports another one, so that every room may read it.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

Value = Mapping[str, Any]
"""Plain values by name, as JSON has them."""

ROOT: Final = Path(str(files(__name__)))
"""The folder of the data, in a checkout as in an installed copy."""
TOLD: Final = "told"
PICTURES: Final = "pictures"
AUDIT: Final = "audit"
LEDGER: Final = "ledger"
CELLS: Final = "cells.jsonl"
PACKED: Final = ".gz"
"""Behind the name of a file that is compressed."""
NIGHTS: Final = "nights"
NOT_RUN: Final[Mapping[str, Any]] = {"cases": {}}
"""What `by_scenario` would have of a scenario without runs."""
OWN_BUILD: Final = "@"
"""What the version of an own build has in its name, and no release (docs/own-builds.md)."""

RATE_PER_S: Final = 10.0
"""So many records a second each producer sends while brokers are struck under load (scenarios/audit/under_load.py)."""
MEASURED_ON: Final[Mapping[str, str]] = {
    "old": "0.10.2.2",
    "epoch": "2.8.2",
    "zk3": "3.9.2-zk",
    "pinned": "3.9.2-pinned",
    "kraft": "4.3.1",
}
"""The version that the audit's cells are measured on, for each line of versions (audit.cells.LINES)."""


def by_scenario(root: Path = ROOT) -> dict[str, Any]:
    """What runs showed, by the name of the scenario; empty if the folder has nothing.

    Of each scenario: `cases`, by case and version, each a row of cells.jsonl (evidence/cells.py has its fields);
    `shown`, the run that is told in full, if there is one. Rows of own builds are left out: they say nothing of a
    release, and the pages are about releases.
    """
    rows = map(json.loads, _lines(root / CELLS))
    found = of_rows(row for row in rows if OWN_BUILD not in row["version"])
    for path in sorted((root / TOLD).glob("*.json")):
        found.setdefault(path.stem, {"cases": {}})["shown"] = json.loads(path.read_text(encoding="utf-8"))
    return found


def of_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows of cells by scenario, `cases`, case and version."""
    found: dict[str, Any] = {}
    for row in rows:
        cases = found.setdefault(row["scenario"], {"cases": {}})["cases"]
        cases.setdefault(row["case"], {})[row["version"]] = row
    return found


def _lines(path: Path) -> list[str]:
    """The lines of a file, or of what an installed copy has in its place (results/packed.py)."""
    packed = path.with_name(f"{path.name}{PACKED}")
    if packed.exists():
        return gzip.decompress(packed.read_bytes()).decode().splitlines()
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.exists() else []


def of_scenario(name: str, root: Path = ROOT) -> Mapping[str, Any]:
    """What runs of one scenario showed, as `by_scenario` has it; without a cell if there were none."""
    return of(by_scenario(root), name)


def of(runs: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The same, of what `by_scenario` returned."""
    found: Mapping[str, Any] = runs.get(name, NOT_RUN)
    return found


def cells_of(runs: Mapping[str, Any], name: str, case: str) -> Mapping[str, Any]:
    """The cells of a scenario's case by version, of what `by_scenario` returned; empty if the case was never run.

    >>> cells_of({"s": {"cases": {"default": {"4.3.1": {"runs": 5}}}}}, "s", "default")
    {'4.3.1': {'runs': 5}}
    >>> cells_of({}, "s", "default")
    {}
    """
    found: Mapping[str, Any] = of(runs, name)["cases"].get(case, {})
    return found


def shown_of(runs: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The run of a scenario that is told in full, of what `by_scenario` returned; empty if no run is."""
    found: Mapping[str, Any] = of(runs, name).get("shown", {})
    return found


def picture(name: str, root: Path = ROOT) -> Path:
    """The file of a picture, by its name (`double-failover.svg`)."""
    return root / PICTURES / name
