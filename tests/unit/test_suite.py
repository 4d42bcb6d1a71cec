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


def test_the_first_rows_of_readmes_table_are_shown_on_an_old_version_and_on_a_new_one() -> None:
    """README says how many; power is taken away at night."""
    text = README.read_text()
    rows = re.findall(r"^\| [^|]+ \| \[`([a-z-]+)`\]\([^)]+\)(?:, `--case ([a-z0-9-]+)`)? \|", text, re.MULTILINE)
    (said,) = re.findall(r"runs the first (\w+) rows", text)
    first = {"five": 5, "six": 6, "seven": 7}[said]
    shown = [{(name, case or "default", version) for version in (OLD, NEW)} <= CELLS for name, case in rows]
    assert shown == [True] * first + [False] * (len(rows) - first)


def test_each_says_why() -> None:
    assert all(part.why and str(part).endswith(part.why) for part in SUITE.values())
    assert str(SUITE["leader-isolated"]).startswith(f"on {NEW}, case acks-1: ")


def test_it_has_both_arms_of_acks_and_seeds_follow_each_other() -> None:
    assert {case for scenario, case, _ in CELLS if scenario == "leader-crash"} == {"acks-1", "acks-all"}
    twice = suite_cells(all_scenarios(), seed=5, repeat=2)
    assert [cell.seed for cell in twice] == [5] * len(CELLS) + [6] * len(CELLS)
