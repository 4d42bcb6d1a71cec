"""The scenarios as declared: every one documents every version it applies to, as the catalogue of claims has
it.
"""

from __future__ import annotations

import pytest

from evidence.errors import UsageError
from harness.cluster import versions
from harness.matrix import cells
from harness.scenario import all_scenarios, get_scenario

OLD = ("0.8.2.2", "0.9.0.1", "0.10.2.2")
PINNED = ("2.2.2-pinned", "2.8.2-pinned", "3.9.2-pinned")
EPOCH = ("0.11.0.3", "1.1.1", "2.2.2", "2.8.2", "3.9.2-zk")
KRAFT = ("3.9.2-kraft", "4.0.2", "4.1.2", "4.3.1")
LOST, DIVERGED = (frozenset({name}) for name in ("lost-write", "replica-divergence"))


def outcome(scenario: str, version: str) -> tuple[frozenset[str], frozenset[str]]:
    documented = get_scenario(scenario).documented_for(versions.get(version))
    return documented.required, documented.allowed


@pytest.mark.parametrize("version", [*OLD, *PINNED])
def test_old_truncation_loses(version: str) -> None:
    assert outcome("double-failover", version) == (LOST, DIVERGED)
    assert outcome("replica-divergence", version) == (LOST | DIVERGED, frozenset())


@pytest.mark.parametrize("version", [*EPOCH, *KRAFT])
def test_epochs_do_not(version: str) -> None:
    for name in (
        "double-failover",
        "follower-reboot",
        "follower-reboot-epoch",
        "leader-epoch-recovery",
        "baseline",
    ):
        assert outcome(name, version) == (frozenset(), frozenset())
    assert outcome("replica-divergence", version) == (LOST, frozenset())


@pytest.mark.parametrize("version", [*OLD, "2.2.2-pinned"])
def test_follower_reboot_loses_where_the_dead_controller_stays_in_the_isr(version: str) -> None:
    assert outcome("follower-reboot", version) == (LOST, DIVERGED)


@pytest.mark.parametrize("version", ["2.8.2-pinned", "3.9.2-pinned"])
def test_follower_reboot_does_not_where_it_leaves(version: str) -> None:
    assert outcome("follower-reboot", version) == (frozenset(), frozenset())


@pytest.mark.parametrize("name", ["leader-epoch-recovery", "follower-reboot-epoch"])
def test_epoch_scenarios_do_not_apply_to_old_truncation(name: str) -> None:
    with pytest.raises(UsageError, match=r"does not apply to 0\.10\.2\.2"):
        get_scenario(name).documented_for(versions.get("0.10.2.2"))


def test_every_scenario_documents_every_version_it_applies_to() -> None:
    for made in all_scenarios().values():
        for version in versions.ALL:
            if made.applies.holds(version):
                made.documented_for(version)


def test_a_misspelt_name_gets_near_ones() -> None:
    with pytest.raises(UsageError, match="did you mean double-failover"):
        get_scenario("double-failovr")
    with pytest.raises(UsageError, match="did you mean"):
        versions.get("0.10.2.1")


def test_cells_leave_out_what_does_not_apply_and_go_seed_by_seed() -> None:
    made = [get_scenario("double-failover"), get_scenario("leader-epoch-recovery")]
    chosen = [versions.get("0.10.2.2"), versions.get("4.3.1")]
    found = [(cell.scenario, cell.version, cell.seed) for cell in cells(made, chosen, seed=7, repeat=2)]
    one = [("double-failover", "0.10.2.2"), ("double-failover", "4.3.1"), ("leader-epoch-recovery", "4.3.1")]
    assert found == [(*pair, 7) for pair in one] + [(*pair, 8) for pair in one]


def test_no_cell_at_all_is_bad_input() -> None:
    with pytest.raises(UsageError, match="none of these scenarios applies"):
        cells([get_scenario("leader-epoch-recovery")], [versions.get("0.8.2.2")], seed=1, repeat=1)
