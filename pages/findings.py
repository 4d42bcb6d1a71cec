"""docs/findings.md: what was found here that no document says.

Made of the registry (harness/discoveries.py) and of what runs showed (results/).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import results
from harness.discoveries import TAKEN_BACK, every
from harness.scenario import all_scenarios
from pages.museum import shown
from pages.render import render

PAGE: Final = "findings.md"
Value = Mapping[str, Any]


def counted(found: Value, data: Value) -> dict[str, Any]:
    """A discovery, each of its arms with how often it ended as documented, by version (`runs`)."""
    arms = {
        side: found[side]
        | {"runs": {on: shown(found[side]["scenario"], on, data, found[side]["case"]) for on in found[side]["on"]}}
        for side in ("seen", "control")
    }
    return {**found, **arms}


def all_counted(data: Value | None = None) -> list[dict[str, Any]]:
    """All of them, as plain values."""
    runs = results.by_scenario() if data is None else data
    return [counted(one, runs) for one in every(all_scenarios())]


def page(data: Value) -> str:
    """The page."""
    return render(PAGE, found=all_counted(data), taken_back=TAKEN_BACK)
