"""Whether recorded runs showed an outcome on this very version."""

from __future__ import annotations

import pytest

import results
from app.confirmed import unconfirmed
from harness.cluster import versions
from harness.scenario import get_scenario

FAILOVER = get_scenario("double-failover")


def data(**cells: int) -> dict[str, object]:
    """Cells of double-failover, by version, and how many of five runs ended as documented."""
    return {"cases": {"default": {name: {"good": good, "runs": 5} for name, good in cells.items()}}}


def test_a_version_that_runs_confirmed_has_nothing_to_say() -> None:
    assert unconfirmed(FAILOVER, "default", versions.get("4.3.1"), data(**{"4.3.1": 5})) == ""


@pytest.mark.parametrize("cells", [{}, {"4.3.1": 0}, {"0.10.2.2": 5}])
def test_what_was_shown_nowhere_says_so(cells: dict[str, int]) -> None:
    told = unconfirmed(FAILOVER, "default", versions.get("3.7.1-kraft"), data(**cells))
    assert "was not shown by a recorded run; on 3.7.1-kraft itself it was never confirmed." in told


def test_what_was_shown_on_other_versions_of_the_same_outcome_names_them() -> None:
    cells = data(**{"4.3.1": 5, "0.10.2.2": 5, "2.8.2": 4, "no version": 5})
    told = unconfirmed(FAILOVER, "default", versions.get("3.7.1-kraft"), cells)
    assert "was shown by recorded runs on 2.8.2, 4.3.1; on 3.7.1-kraft itself" in told
    assert "\n" not in told


def test_a_scenario_without_recorded_runs_is_no_error() -> None:
    assert "never confirmed" in unconfirmed(FAILOVER, "default", versions.get("4.3.1"), results.NOT_RUN)


def test_an_upgrade_names_both_releases_and_is_confirmed_by_its_own_runs_alone() -> None:
    rolling = get_scenario("upgrade-rolling")
    cells = {"cases": {"plain": {"1.1.1": {"good": 3, "runs": 3}, "2.4.1-to-2.7.2": {"good": 1, "runs": 1}}}}
    told = unconfirmed(rolling, "plain", versions.get("2.4.1-to-2.8.1"), cells)
    assert "was shown by recorded runs on 1.1.1-to-2.8.2, 2.4.1-to-2.7.2; on 2.4.1-to-2.8.1 itself" in told
    assert unconfirmed(rolling, "plain", versions.get("2.4.1-to-2.7.2"), cells) == ""
    assert "on 2.8.2-to-3.9.2-zk itself it was never" in unconfirmed(rolling, "plain", versions.get("2.8.2"), cells)
