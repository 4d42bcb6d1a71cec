"""The default suite is of scenarios, versions and cases that there are, and shows what README says of each."""

from __future__ import annotations

import re
from pathlib import Path

from app.matrix import suite_cells
from harness.cluster import versions
from harness.scenario import all_scenarios
from harness.suite import DEFAULT_VERSIONS, NEW, OLD, PINNED, SUITE

README = Path(__file__).resolve().parents[2] / "README.md"
CELLS = {(cell.scenario, cell.case, cell.version) for cell in suite_cells(all_scenarios(), seed=1, repeat=1)}


def test_every_part_is_run_as_it_is_named() -> None:
    for name, part in SUITE.items():
        made = all_scenarios()[name]
        cases = part.cases or tuple(made.cases)
        for version in part.versions:
            applying = {case for case in cases if made.applies_to(versions.get(version), made.case(case))}
            assert applying, f"{name} on {version}"
            assert {case for scenario, case, on in CELLS if (scenario, on) == (name, version)} == applying


def test_its_images_are_those_that_setup_makes() -> None:
    assert {version for _, _, version in CELLS} == set(DEFAULT_VERSIONS) == {OLD, PINNED, NEW}


def test_every_row_of_readmes_table_is_shown_on_an_old_version_and_on_a_new_one() -> None:
    rows = re.findall(r"^\| `([a-z-]+)`: .*\| (.*) \| (.*) \|$", README.read_text(), re.MULTILINE)
    assert len(rows) >= 7
    shown = {(scenario, version) for scenario, _, version in CELLS}
    for scenario, before, after in rows:
        for version, told in ((OLD, before), (NEW, after)):
            assert ((scenario, version) in shown) == (told != "–"), (scenario, version)


def test_each_says_why() -> None:
    assert all(part.why and str(part).endswith(part.why) for part in SUITE.values())
    assert str(SUITE["leader-isolated"]).startswith(f"on {NEW}, case acks-1: ")


def test_it_has_both_arms_of_acks_and_seeds_follow_each_other() -> None:
    assert {case for scenario, case, _ in CELLS if scenario == "leader-crash"} == {"acks-1", "acks-all"}
    twice = suite_cells(all_scenarios(), seed=5, repeat=2)
    assert [cell.seed for cell in twice] == [5] * len(CELLS) + [6] * len(CELLS)
