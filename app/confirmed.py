"""Whether recorded runs showed what is documented on this very version, told in a sentence of the run's report.

An outcome is documented for a range of versions, and recorded runs (results/) showed it on some of them. A release that
nobody ran before is covered by the range; that says less than a run on it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidence.errors import UsageError
from harness.cluster import versions
from harness.cluster.versions import TO, Version
from harness.scenario import Scenario
from judgement.report.cells import version_key


def unconfirmed(made: Scenario, case: str, version: Version, data: Mapping[str, Any]) -> str:
    """A sentence if no run in `data` (results.of_scenario) ended as documented on this version in this case; "" if one
    did. It names the versions on which runs showed the same outcome. Of an upgrade both releases are named: what was
    shown on another pair is not confirmed on this one.
    """
    cells: Mapping[str, Any] = data["cases"].get(case, {})
    good = [name for name, cell in cells.items() if cell["good"]]
    if version.id in good:
        return ""
    stated = made.documented_for(version, case)
    alike = sorted((name for name in good if _states(made, case, name) is stated), key=version_key)
    shown = [_with_next(made, name) for name in alike]
    told = f"was shown by recorded runs on {', '.join(shown)}" if shown else "was not shown by a recorded run"
    here = _with_next(made, version.id)
    return f"What is documented here ({stated.on.label}) {told}; on {here} itself it was never confirmed."


def _with_next(made: Scenario, name: str) -> str:
    """A version's name, with the one that the scenario by itself upgrades it to."""
    then = made.cluster.upgrades.get(name)
    return f"{name}{TO}{then}" if then else name


def _states(made: Scenario, case: str, name: str) -> object:
    """What is documented for the version of this name; None if nothing is, or it is no version any more."""
    try:
        return made.documented_for(versions.get(name), case)
    except UsageError:
        return None
