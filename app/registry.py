"""Everything that is stated about Kafka in a checkout, as JSON: `python registry.py`, begun in the checkout's folder.

It is run as a file by itself, in a process whose working directory is the checkout of some commit, so that the modules
of that commit are imported and none of this one (app/statements.py). So it imports nothing of ours at its top, and
asks a checkout by its files what its modules are called: it knows every layout since commit 6959c5e.

    scenarios   name → case → version → what must and may be seen, the claims, and what that rests on
    claims      name → definition, source, basis, bound
    anomalies   name → definition, source, basis, when it is permitted
    cells       a cell of the audit's matrix, in words → what must and may come of it, and what that rests on

Before there were bases the source is the scenario's, and the basis is empty.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

Stated = dict[str, Any]


def registry(checkout: Path) -> dict[str, Any]:
    """What is stated in a checkout, whose modules are those that are imported."""
    rooms = (checkout / "checks").is_dir()
    versions = import_module("harness.cluster.versions").KNOWN
    made = import_module("harness.scenario").all_scenarios()
    return {
        "scenarios": {name: scenario(one, versions) for name, one in sorted(made.items())},
        "claims": catalogue(import_module("checks.claims" if rooms else "evidence.claims")),
        "anomalies": catalogue(import_module("checks.catalogue" if rooms else "evidence.anomalies")),
        "cells": dict(sorted(cells(checkout))),
    }


def scenario(made: Any, versions: Iterable[Any]) -> dict[str, dict[str, Stated]]:
    """What is stated of each case on each version that it applies to."""
    return {
        case.name: {
            version.id: outcome(made.documented_for(version, case.name), made.source)
            for version in versions
            if made.applies_to(version, case)
        }
        for case in made.cases.values()
    }


def outcome(documented: Any, source: str) -> Stated:
    """One documented outcome. `source`: the scenario's, of before an outcome had one."""
    return {
        "required": sorted(documented.required),
        "allowed": sorted(documented.allowed),
        "claims": sorted(documented.claims),
        "out_of_sync": documented.out_of_sync,
        "source": getattr(documented, "source", source),
        "basis": str(getattr(documented, "basis", "")),
    }


def catalogue(module: Any) -> dict[str, Stated]:
    """A catalogue's entries, without their names."""
    return {name: with_todays_names(entry.as_json()) for name, entry in sorted(module.CATALOGUE.items())}


def with_todays_names(entry: Mapping[str, str]) -> Stated:
    """An entry as its own JSON has it, by the names of today: `definition` was `says`."""
    named = {"definition" if key in ("says", "claim") else key: value for key, value in entry.items()}
    return {key: value for key, value in named.items() if key != "name"}


def cells(checkout: Path) -> Iterable[tuple[str, Stated]]:
    """What is stated of each cell of the audit's matrix."""
    module = import_module("audit.matrix" if (checkout / "audit" / "matrix.py").exists() else "audit.cells")
    for cell in module.load():
        stated = cell.stated
        yield (
            str(cell.key),
            {
                "must": sorted(stated.must),
                "may": sorted(stated.may),
                "source": stated.source,
                "basis": str(getattr(stated, "basis", "")),
            },
        )


if __name__ == "__main__":
    # With `python FILE` the first place to import from is the folder of the file: it must be the checkout.
    sys.path[0] = str(Path.cwd())
    json.dump(registry(Path.cwd()), sys.stdout, sort_keys=True)
